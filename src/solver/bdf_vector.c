// Vectors over the machine.
//
// What is component by component runs on the core that owns the column. What adds up goes up the tree as a solver's sums
// do (pass/sums.c), each node's share after its children's, in a program of its own without mechanics:
//
//      down   nothing
//      up     follow-up: a block's share, ∑ x_i y_i or ∑ (x_i w_i)² or max |x_i| of each node's own components
//
// so that a sum has the same bits for every number of lanes, threads and ranks, and CVODE, which decides by such sums
// alone, takes the same decision everywhere.
#include "solver/bdf_vector.h"

#ifdef CALDER_HAVE_SUNDIALS
#include "base/memory.h"
#include "pass/variants.h"
#include "plan/machine_ops.h"
#include "solver/bdf_plan.h"
#include "solver/vectors.h"

// Vectors that are smaller than this (doubles) are worked on by the caller's core alone: handing them out takes longer.
enum { FEWEST_TO_SHARE = 16384 };

static void rest(const cal_context* context, int column) { (void)context, (void)column; }

static const cal_pass passes[] = {
    {.name = "bdf.rest", .direction = CAL_OUTBOUND, .kernels = {rest, rest, rest, rest, rest}},
    CAL_SUMS_PASS,
};

static const cal_program program = {.name = "bdf.sums", .walked = true, .passes = passes, .pass_count = 2};

cal_status cal_bdf_space_open(cal_bdf_space* space, const cal_plan* plan, cal_state* state, int component_count) {
    *space =
        (cal_bdf_space){.plan = plan, .state = state, .component_count = component_count, .lost = {.space = space}};
    if (plan->layout->keep != CAL_KEEP_ALL) {
        space->room = cal_allocate((size_t)plan->machine->processors, sizeof *space->room);
        space->all = cal_allocate((size_t)plan->machine->processors, sizeof *space->all);
        if (!space->room || !space->all) return CAL_NO_MEMORY;
    }
    return cal_bdf_plan_create(plan, &program, plan->record_size, &space->sums);
}

void cal_bdf_space_close(cal_bdf_space* space) {
    cal_bdf_plan_destroy(space->sums);
    cal_free(space->room);
    cal_free(space->all);
    space->sums = NULL;
    space->room = NULL;
    space->all = NULL;
}

static void note(cal_bdf_space* space, cal_status status) {
    if (space->status == CAL_OK) space->status = status;
}

// --- Sums -------------------------------------------------------------------------------------------------------------

void cal_bdf_space_sum(cal_bdf_space* space, cal_follow_up* follow_up, cal_solver_context* context, int sum_count,
                       int max_count, double* sums) {
    for (int k = 0; k < sum_count; k++) sums[k] = (double)NAN;
    if (space->status) return;
    const cal_solver_ops ops = {.follow_up = follow_up, .sum_count = sum_count, .max_count = max_count};
    context->layout = space->plan->layout;
    const cal_status status = cal_plan_run(space->sums, space->state, &ops, context, true, sums);
    space->state->context.solver_ops = NULL;
    space->state->context.solver = NULL;
    note(space, status);
}

static void forget_dead_lanes(const cal_layout* layout, int block, int sum_count, double* shares) {
    const int W = layout->width;
    for (int l = 0; l < W; l++)
        for (int k = 0; k < sum_count && !cal_bdf_lane_lives(layout, block, l); k++) shares[k * W + l] = 0.0;
}

cal_status cal_bdf_space_agree(cal_bdf_space* space) {
    if (space->plan->layout->keep == CAL_KEEP_ALL) return space->status;
    cal_machine* machine = space->plan->machine;
    const double own = space->status;
    note(space, machine->ops->gather(machine, machine->keep, &own, 1, space->room, space->all));
    for (int p = 0; p < machine->processors && !space->status; p++) space->status = (cal_status)*space->all[p];
    return space->status;
}

// The products of vectors[0] with the down[0] vectors after it.
CAL_WIDE static void multiply_blocks(const cal_solver_context* context, const cal_column* column, int block,
                                     double* shares) {
    (void)column;
    const cal_layout* layout = context->layout;
    const int first = layout->block_y[block], end = layout->block_y[block + 1], W = layout->width;
    const int count = (int)context->down[0];
    const double* x = context->vectors[0];
    for (int k = 0; k < count; k++) {
        const double* y = context->vectors[1 + k];
        double* share = shares + k * W;
        for (int l = 0; l < W; l++) share[l] = x[first + l] * y[first + l];
        for (int i = first + W; i < end; i += W)
            for (int l = 0; l < W; l++) share[l] += x[i + l] * y[i + l];
    }
    forget_dead_lanes(layout, block, count, shares);
}

CAL_WIDE static void square_block(const cal_solver_context* context, const cal_column* column, int block,
                                  double* shares) {
    (void)column;
    const cal_layout* layout = context->layout;
    const int first = layout->block_y[block], end = layout->block_y[block + 1], W = layout->width;
    const double *x = context->vectors[0], *weights = context->vectors[1];
    for (int l = 0; l < W; l++) shares[l] = 0.0;
    for (int i = first; i < end; i += W)
        for (int l = 0; l < W; l++) {
            const double ratio = x[i + l] * weights[i + l];
            shares[l] += ratio * ratio;
        }
    forget_dead_lanes(layout, block, 1, shares);
}

CAL_WIDE static void largest_in_block(const cal_solver_context* context, const cal_column* column, int block,
                                      double* shares) {
    (void)column;
    const cal_layout* layout = context->layout;
    const int first = layout->block_y[block], end = layout->block_y[block + 1], W = layout->width;
    const double* x = context->vectors[0];
    for (int l = 0; l < W; l++) shares[l] = 0.0;
    for (int i = first; i < end; i += W)
        for (int l = 0; l < W; l++) {
            const double size = cal_size(x[i + l]);
            shares[l] = size > shares[l] ? size : shares[l];
        }
    forget_dead_lanes(layout, block, 1, shares);
}

// --- Component by component -------------------------------------------------------------------------------------------

typedef struct operation {
    void (*run)(const struct operation* operation, int first, int end);
    const cal_layout* layout;
    double a, b;
    const double *x, *y;
    double* z;
    int count;
    const double* factors;
    N_Vector *many, *results;
} operation;

static void run_column(void* argument, const cal_column* column) {
    const operation* o = argument;
    o->run(o, cal_column_first(o->layout, column), cal_column_end(o->layout, column));
}

// What this memory holds is one range.
static void run(cal_bdf_space* space, operation o) {
    const cal_plan* plan = space->plan;
    o.layout = plan->layout;
    if (space->status) return;
    if (plan->used > 1 && o.layout->keep == CAL_KEEP_ALL && o.layout->y_size >= FEWEST_TO_SHARE)
        note(space, cal_plan_each(plan, run_column, &o));
    else
        o.run(&o, 0, (int)o.layout->y_size);
}

CAL_WIDE static void add_range(const operation* o, int first, int end) {
    const double a = o->a, b = o->b, *x = o->x, *y = o->y;
    double* z = o->z;
    for (int i = first; i < end; i++) z[i] = a * x[i] + b * y[i];
}

CAL_WIDE static void fill_range(const operation* o, int first, int end) {
    for (int i = first; i < end; i++) o->z[i] = o->a;
}

CAL_WIDE static void multiply_range(const operation* o, int first, int end) {
    const double *x = o->x, *y = o->y;
    double* z = o->z;
    for (int i = first; i < end; i++) z[i] = x[i] * y[i];
}

CAL_WIDE static void divide_range(const operation* o, int first, int end) {
    const double *x = o->x, *y = o->y;
    double* z = o->z;
    for (int i = first; i < end; i++) z[i] = x[i] / y[i];
}

CAL_WIDE static void scale_range(const operation* o, int first, int end) {
    const double a = o->a, *x = o->x;
    double* z = o->z;
    for (int i = first; i < end; i++) z[i] = a * x[i];
}

CAL_WIDE static void size_range(const operation* o, int first, int end) {
    const double* x = o->x;
    double* z = o->z;
    for (int i = first; i < end; i++) z[i] = fabs(x[i]);
}

CAL_WIDE static void invert_range(const operation* o, int first, int end) {
    const double* x = o->x;
    double* z = o->z;
    for (int i = first; i < end; i++) z[i] = 1.0 / x[i];
}

CAL_WIDE static void shift_range(const operation* o, int first, int end) {
    const double a = o->a, *x = o->x;
    double* z = o->z;
    for (int i = first; i < end; i++) z[i] = x[i] + a;
}

// z = ∑ factor_j many_j; z may be one of them.
CAL_WIDE static void combine_range(const operation* o, int first, int end) {
    double sum[CAL_CHUNK];
    for (int i = first; i < end;) {
        const int n = cal_chunk_end(i, end) - i;
        for (int k = 0; k < n; k++) sum[k] = 0.0;
        for (int j = 0; j < o->count; j++) {
            const double factor = o->factors[j], *x = cal_bdf_vector_numbers(o->many[j]) + i;
            for (int k = 0; k < n; k++) sum[k] += factor * x[k];
        }
        for (int k = 0; k < n; k++) o->z[i + k] = sum[k];
        i += n;
    }
}

// result_j = factor_j x + many_j
CAL_WIDE static void spread_range(const operation* o, int first, int end) {
    const double* x = o->x;
    for (int j = 0; j < o->count; j++) {
        const double factor = o->factors[j], *y = cal_bdf_vector_numbers(o->many[j]);
        double* z = cal_bdf_vector_numbers(o->results[j]);
        for (int i = first; i < end; i++) z[i] = factor * x[i] + y[i];
    }
}

// --- SUNDIALS' table --------------------------------------------------------------------------------------------------

static cal_bdf_space* space_of(N_Vector vector) { return ((const cal_bdf_content*)vector->content)->space; }

static N_Vector_ID identify(N_Vector vector) {
    (void)vector;
    return SUNDIALS_NVEC_CUSTOM;
}

static sunindextype count_components(N_Vector vector) { return space_of(vector)->component_count; }

static void destroy(N_Vector vector) {
    if (!vector) return;
    cal_bdf_content* own = vector->content;
    if (own != &own->space->lost) {
        cal_free(own->numbers);
        cal_free(own);
    }
    vector->content = NULL;
    N_VFreeEmpty(vector);
}

// A vector without numbers where there is no memory, since SUNDIALS does not look at what it gets. The space's status says
// so, and nobody works with its vectors any more.
static N_Vector fill(N_Vector vector, cal_bdf_space* space) {
    cal_bdf_content* own = cal_allocate(1, sizeof *own);
    double* numbers = cal_allocate(space->plan->layout->y_size, sizeof(double));
    vector->content = own;
    if (own && numbers) {
        *own = (cal_bdf_content){.space = space, .numbers = numbers};
        return vector;
    }
    cal_free(own);
    cal_free(numbers);
    vector->content = &space->lost;
    note(space, CAL_NO_MEMORY);
    return vector;
}

static N_Vector copy_kind(N_Vector vector) {
    N_Vector out = N_VNewEmpty(vector->sunctx);
    if (!out) return NULL;
    N_VCopyOps(vector, out);
    return fill(out, space_of(vector));
}

static void add(realtype a, N_Vector x, realtype b, N_Vector y, N_Vector z) {
    run(space_of(z), (operation){.run = add_range,
                                 .a = a,
                                 .b = b,
                                 .x = cal_bdf_vector_numbers(x),
                                 .y = cal_bdf_vector_numbers(y),
                                 .z = cal_bdf_vector_numbers(z)});
}

static void set(realtype a, N_Vector z) {
    run(space_of(z), (operation){.run = fill_range, .a = a, .z = cal_bdf_vector_numbers(z)});
}

static void multiply(N_Vector x, N_Vector y, N_Vector z) {
    run(space_of(z), (operation){.run = multiply_range,
                                 .x = cal_bdf_vector_numbers(x),
                                 .y = cal_bdf_vector_numbers(y),
                                 .z = cal_bdf_vector_numbers(z)});
}

static void divide(N_Vector x, N_Vector y, N_Vector z) {
    run(space_of(z), (operation){.run = divide_range,
                                 .x = cal_bdf_vector_numbers(x),
                                 .y = cal_bdf_vector_numbers(y),
                                 .z = cal_bdf_vector_numbers(z)});
}

static void change(void (*how)(const operation*, int, int), double a, N_Vector x, N_Vector z) {
    run(space_of(z), (operation){.run = how, .a = a, .x = cal_bdf_vector_numbers(x), .z = cal_bdf_vector_numbers(z)});
}

static void scale(realtype a, N_Vector x, N_Vector z) { change(scale_range, a, x, z); }
static void take_size(N_Vector x, N_Vector z) { change(size_range, 0.0, x, z); }
static void invert(N_Vector x, N_Vector z) { change(invert_range, 0.0, x, z); }
static void shift(N_Vector x, realtype a, N_Vector z) { change(shift_range, a, x, z); }

static int combine(int count, realtype* factors, N_Vector* vectors, N_Vector z) {
    run(space_of(z),
        (operation){
            .run = combine_range, .z = cal_bdf_vector_numbers(z), .count = count, .factors = factors, .many = vectors});
    return 0;
}

static int spread(int count, realtype* factors, N_Vector x, N_Vector* y, N_Vector* z) {
    run(space_of(x), (operation){.run = spread_range,
                                 .x = cal_bdf_vector_numbers(x),
                                 .count = count,
                                 .factors = factors,
                                 .many = y,
                                 .results = z});
    return 0;
}

// As many products in a walk as it can carry.
static int multiply_many(int count, N_Vector x, N_Vector* y, realtype* products) {
    for (int done = 0; done < count;) {
        const int now = count - done < CAL_MAX_SUMS ? count - done : CAL_MAX_SUMS;
        double *vectors[1 + CAL_MAX_SUMS] = {cal_bdf_vector_numbers(x)}, down[1] = {now};
        for (int k = 0; k < now; k++) vectors[1 + k] = cal_bdf_vector_numbers(y[done + k]);
        cal_solver_context context = {.vectors = vectors, .down = down};
        cal_bdf_space_sum(space_of(x), multiply_blocks, &context, now, 0, products + done);
        done += now;
    }
    return 0;
}

static realtype find_product(N_Vector x, N_Vector y) {
    double product;
    multiply_many(1, x, &y, &product);
    return product;
}

static realtype find_weighted_norm(N_Vector x, N_Vector weights) {
    double *vectors[] = {cal_bdf_vector_numbers(x), cal_bdf_vector_numbers(weights)}, sum;
    cal_solver_context context = {.vectors = vectors};
    cal_bdf_space_sum(space_of(x), square_block, &context, 1, 0, &sum);
    return sqrt(sum / space_of(x)->component_count);
}

static realtype find_largest(N_Vector x) {
    double *vectors[] = {cal_bdf_vector_numbers(x)}, largest;
    cal_solver_context context = {.vectors = vectors};
    cal_bdf_space_sum(space_of(x), largest_in_block, &context, 1, 1, &largest);
    return largest;
}

N_Vector cal_bdf_vector_create(cal_bdf_space* space, SUNContext sundials) {
    N_Vector out = N_VNewEmpty(sundials);
    if (!out) return NULL;
    struct _generic_N_Vector_Ops* ops = out->ops;
    ops->nvgetvectorid = identify;
    ops->nvclone = copy_kind;
    ops->nvdestroy = destroy;
    ops->nvgetlength = count_components;
    ops->nvlinearsum = add;
    ops->nvconst = set;
    ops->nvprod = multiply;
    ops->nvdiv = divide;
    ops->nvscale = scale;
    ops->nvabs = take_size;
    ops->nvinv = invert;
    ops->nvaddconst = shift;
    ops->nvdotprod = find_product;
    ops->nvmaxnorm = find_largest;
    ops->nvwrmsnorm = find_weighted_norm;
    ops->nvlinearcombination = combine;
    ops->nvscaleaddmulti = spread;
    ops->nvdotprodmulti = multiply_many;
    return fill(out, space);
}
#endif
