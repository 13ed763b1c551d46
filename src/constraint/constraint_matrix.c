// Matrices of constraints (constraint_matrix.h).
#include "constraint/constraint_matrix.h"
#include "base/memory.h"
#include "base/wide.h"
#include "constraint/directions.h"
#include <math.h>
#include <string.h>

// Squares of pivots of rows of length one that count as dependent where that is only shown, and of rows that nothing can move: twice
// the digits that y has, and a few for a long way.
static const double THRESHOLD = 1e-8, IMMOVABLE = 1e-24;
// What is left of a gap of one in the last place of numbers of size one, and of the few that make it.
static const double ROUNDING = 1e-15;
enum { MOST_REFINEMENTS = 8, SUMS = 8 };

// --- Degrees of freedom -------------------------------------------------------------------------------------------------

void cal_matrix_destroy(cal_constraints* set) {
    void* arrays[] = {set->degree_start, set->degree_v, set->alone_start, set->alone,
                      set->columns,      set->ease,     set->nearness,    set->turns};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
}

// Of each constraint the degrees of freedom that its forces pass, and which of them no other constraint's do.
bool cal_matrix_create(cal_constraints* set) {
    const cal_model* model = set->model;
    const size_t count = (size_t)model->constraint_count, rows = (size_t)set->most_rows;
    size_t total = 0, most = 0;
    for (size_t c = 0; c < count && !set->loops; c++) {
        const size_t degrees = (size_t)set->degrees[c];
        total += degrees;
        most = degrees > most ? degrees : most;
    }
    set->degree_start = cal_allocate(count + 1, sizeof *set->degree_start);
    set->alone_start = cal_allocate(count + 1, sizeof *set->alone_start);
    set->degree_v = cal_allocate(total, sizeof *set->degree_v);
    set->alone = cal_allocate(total, sizeof *set->alone);
    set->columns = cal_allocate(most * CAL_CONSTRAINT_ROWS, sizeof(double));
    set->ease = cal_allocate(rows, sizeof(double));
    set->nearness = cal_allocate(rows, sizeof(double));
    set->turns = cal_allocate(rows, sizeof *set->turns);
    if (!set->degree_start || !set->alone_start || !set->degree_v || !set->alone || !set->columns || !set->ease ||
        !set->nearness || !set->turns)
        return false;
    size_t at = 0, alone = 0;
    for (size_t c = 0; c < count && !set->loops; c++) {
        const size_t first = at;
        for (int i = set->support_start[c]; i < set->support_start[c + 1]; i++) {
            const int n = set->support[i];
            for (int k = 0; k < cal_kind_v(model->nodes[n].kind); k++, at++) {
                set->degree_v[at] = model->nodes[n].first_v + k;
                if (set->user_start[n + 1] - set->user_start[n] == 1) set->alone[alone++] = (int32_t)(at - first);
            }
        }
        set->degree_start[c + 1] = at;
        set->alone_start[c + 1] = alone;
    }
    return true;
}

// ∑ a_k b_k in interleaved sums, so that the compiler may use vectors and the bits stay the same.
CAL_WIDE_INLINE double dot(const double* restrict a, const double* restrict b, int count) {
    double sum[SUMS] = {0.0};
    int k = 0;
    for (; k + SUMS <= count; k += SUMS)
        for (int l = 0; l < SUMS; l++) sum[l] += a[k + l] * b[k + l];
    for (int l = 0; k < count; k++, l++) sum[l] += a[k] * b[k];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

// The y of a row, and how many there are.
CAL_WIDE_INLINE double* row_y(const cal_constraints* set, int place, int row, int* count) {
    const int constraint = set->order[place];
    *count = set->degrees[constraint];
    return set->y + set->y_start[constraint] + (size_t)row * (size_t)*count;
}

// --- How easily rows are moved --------------------------------------------------------------------------------------------

// The square of a row's wrenches; turns: it is one of turns only.
static double row_square(const cal_row* row, bool* turns) {
    double moments = 0.0, forces = 0.0;
    for (int i = 0; i < row->node_count; i++) {
        moments += cal_dot3(row->moment[i], row->moment[i]);
        forces += cal_dot3(row->force[i], row->force[i]);
    }
    *turns = forces == 0.0;
    return moments + forces;
}

// From the squares of rows' y: how easily each is moved (of wrenches of size one), beside the most easily moved of its constraint's
// displacements, or turns. A row that nothing in the mechanism can move (across the plane of a planar one) has only rounding there.
static void weigh_rows(cal_constraints* set, const double* squares) {
    double easiest = 0.0;
    bool turns;
    for (int i = 0; i < set->row_count; i++) {
        const double square = row_square(&set->rows[i], &turns);
        set->ease[i] = square > 0.0 ? squares[i] / square : 0.0;
        set->turns[i] = turns;
        if (set->ease[i] > easiest) easiest = set->ease[i];
    }
    set->easiest = easiest;
    for (int place = 0; place < set->model->constraint_count; place++) {
        double own[2] = {0.0, 0.0};
        for (int i = set->first_row[place]; i < set->first_row[place + 1]; i++) {
            const bool moves = set->ease[i] > IMMOVABLE * easiest;
            const int kind = set->turns[i] ? 1 : 0;
            set->scale[i] = moves ? 1.0 / sqrt(squares[i]) : 0.0;
            if (!moves) set->ease[i] = 0.0;
            if (set->ease[i] > own[kind]) own[kind] = set->ease[i];
        }
        for (int i = set->first_row[place]; i < set->first_row[place + 1]; i++) {
            const int kind = set->turns[i] ? 1 : 0;
            set->nearness[i] = set->ease[i] > 0.0 ? set->ease[i] / own[kind] : 0.0;
        }
    }
}

double cal_constraints_margin(const cal_constraints* set) {
    double least = 1.0;
    for (int i = 0; i < set->row_count; i++) {
        const double left = set->matrix.left[i];
        if (set->scale[i] > 0.0) least = fmin(least, left * left * set->ease[i] / set->easiest);
    }
    return least;
}

double cal_constraints_distance(const cal_constraints* set) {
    double least = 1.0;
    for (int i = 0; i < set->row_count; i++) {
        const double left = set->matrix.left[i], part = left * left * set->nearness[i];
        if (left > 0.0 && part < least) least = part;
    }
    return sqrt(least);
}

int cal_constraints_rank(cal_constraints* set) {
    if (set->row_count == 0) return 0;
    cal_matrix_make(set);
    cal_matrix_factor(set, CAL_SHIFT_CLOSED);
    return set->rank;
}

bool cal_constraints_depends(const cal_constraints* set, int row) {
    const double left = set->matrix.left[row];
    return !(left > 0.0 && left * left > THRESHOLD);
}

static void count_rank(cal_constraints* set) {
    set->rank = 0;
    for (int i = 0; i < set->row_count; i++) set->rank += cal_constraints_depends(set, i) ? 0 : 1;
}

// --- The triangle ----------------------------------------------------------------------------------------------------------

// Squares of the y of constraints that are in no pack.
CAL_WIDE static void square_singles(const cal_constraints* set, double* out) {
    for (int i = 0; i < set->single_count; i++) {
        const int place = set->singles[i];
        for (int r = 0; r < cal_row_total(set, place); r++) {
            int count;
            const double* y = row_y(set, place, r, &count);
            out[set->first_row[place] + r] = dot(y, y, count);
        }
    }
}

CAL_WIDE static void scale_rows(const cal_constraints* set) {
    for (int place = 0; place < set->model->constraint_count; place++)
        for (int r = 0; r < cal_row_total(set, place); r++) {
            int count;
            double *y = row_y(set, place, r, &count), scale = set->scale[set->first_row[place] + r];
            for (int k = 0; k < count; k++) y[k] *= scale;
        }
}

void cal_matrix_make(cal_constraints* set) {
    if (set->loops) return;
    cal_directions_lose(set);
    cal_constraints_factor_mass(set);
    for (int i = 0; i < set->pack_count; i++)
        cal_pack_inbound(&set->packs[i], set->plan->variant, &set->tree, set->y, set->work);
    for (int i = 0; i < set->single_count; i++) {
        const int place = set->singles[i], constraint = set->order[place], first = set->support_start[constraint];
        cal_mass_factor_inbound(&set->tree, set->plan->variant, set->rows + set->first_row[place],
                                cal_row_total(set, place), set->support + first,
                                set->support_start[constraint + 1] - first, set->y + set->y_start[constraint],
                                (size_t)set->degrees[constraint]);
    }
    square_singles(set, set->work);
    weigh_rows(set, set->work);
    scale_rows(set);
}

// What a node's joint feels of all rows, degree by degree, goes into the triangle.
static void add_node(cal_constraints* set, int node, int first_user) {
    cal_skyline* m = &set->matrix;
    const int first = set->first_row[set->user[first_user]];
    for (int d = 0; d < cal_kind_v(set->model->nodes[node].kind); d++) {
        for (int u = first_user; u < set->user_start[node + 1]; u++) {
            const int place = set->user[u];
            int count;
            for (int r = 0; r < cal_row_total(set, place); r++)
                m->row[set->first_row[place] + r] = row_y(set, place, r, &count)[set->user_at[u] + d];
        }
        cal_skyline_add(m, first);
    }
}

// The triangle of columns of `length` each, by Gram and Schmidt's method, modified: its R has the digits of one by rotations or
// reflections (Björck 1967), and it costs two sums of products per pair of columns. The columns are used up. R: rows, one after the other.
CAL_WIDE static void make_corner(double* columns, int count, int length, double* R) {
    for (int j = 0; j < count; j++) {
        double* own = columns + (size_t)j * (size_t)length;
        const double size = sqrt(dot(own, own, length)), over = size > 0.0 ? 1.0 / size : 0.0;
        R[j * count + j] = size;
        for (int k = 0; k < length; k++) own[k] *= over;
        for (int l = j + 1; l < count; l++) {
            double* other = columns + (size_t)l * (size_t)length;
            const double part = R[j * count + l] = dot(own, other, length);
            for (int k = 0; k < length; k++) other[k] -= part * own[k];
        }
    }
}

// What joints feel that no other constraint's forces pass: first a triangle of its own, which goes into the other one.
static void add_alone(cal_constraints* set, int place) {
    cal_skyline* m = &set->matrix;
    const int constraint = set->order[place], first = set->first_row[place], rows = cal_row_total(set, place);
    const int32_t* alone = set->alone + set->alone_start[constraint];
    const int length = (int)(set->alone_start[constraint + 1] - set->alone_start[constraint]);
    double corner[CAL_CONSTRAINT_ROWS * CAL_CONSTRAINT_ROWS];
    const bool reduces = length > rows;
    for (int r = 0; r < rows; r++) {
        int count;
        const double* y = row_y(set, place, r, &count);
        double* column = set->columns + (size_t)r * (size_t)length;
        if (length == count)
            memcpy(column, y, (size_t)count * sizeof *y);
        else
            for (int k = 0; k < length; k++) column[k] = y[alone[k]];
    }
    if (reduces) make_corner(set->columns, rows, length, corner);
    for (int k = 0; k < (reduces ? rows : length); k++) {
        for (int r = 0; r < rows; r++)
            m->row[first + r] = !reduces ? set->columns[r * length + k] : r < k ? 0.0 : corner[k * rows + r];
        cal_skyline_add(m, first);
    }
}

// Puts a constraint's rows in order: rows that can hardly be moved come last, as what they hold follows from others as a rule. What
// is left of a row must be above the shift's root, and above the rounding of y, which does not become less with y.
static int reveal(cal_constraints* set, int place, double shift) {
    const int first = set->first_row[place], count = cal_row_total(set, place);
    cal_skyline_choice how;
    for (int r = 0; r < count; r++) {
        const double ease = set->ease[first + r];
        how.weight[r] = sqrt(set->nearness[first + r]);
        const double rounding = IMMOVABLE * set->easiest / ease;
        how.least[r] = ease > 0.0 ? sqrt(rounding > shift ? rounding : shift) : 1.0;
    }
    return cal_skyline_reveal(&set->matrix, first, count, &how);
}

// The same in the order of the tree.
static void factor_loops(cal_constraints* set, double shift) {
    const cal_loop_factor* f = set->loop_factor;
    const size_t size = (size_t)set->model->q_count * sizeof(double);
    // Projections and forces ask for the same place in turn; an implicit step adds to the mass matrix.
    if (set->factored && !set->tree.added && set->factored_shift == shift &&
        memcmp(set->factored_q, set->at_q, size) == 0)
        return;
    memcpy(set->factored_q, set->at_q, size);
    set->factored = !set->tree.added;
    set->factored_shift = shift;
    for (int place = 0; place < set->model->constraint_count; place++)
        set->row_of[set->order[place]] = cal_row_total(set, place) > 0 ? set->first_row[place] : -1;
    cal_loop_factor_compute(set->loop_factor, set->motions, set->rows, set->row_of, shift);
    weigh_rows(set, f->gross);
    memcpy(set->matrix.left, f->left, (size_t)set->row_count * sizeof(double));
    count_rank(set);
}

void cal_matrix_factor(cal_constraints* set, double shift) {
    if (set->loops) {
        factor_loops(set, shift);
        return;
    }
    cal_skyline_clear(&set->matrix);
    for (int place = 0; place < set->model->constraint_count; place++) {
        const int constraint = set->order[place];
        if (!set->active[constraint]) continue;
        add_alone(set, place);
        for (int i = set->support_start[constraint]; i < set->support_start[constraint + 1]; i++) {
            const int node = set->support[i];
            int user = set->user_start[node];
            if (set->user_start[node + 1] == user + 1) continue;
            while (!set->active[set->order[set->user[user]]]) user++;
            if (set->user[user] == place) add_node(set, node, user);
        }
        (void)reveal(set, place, shift);
    }
    count_rank(set);
}

// --- Solutions -------------------------------------------------------------------------------------------------------------

// Of one constraint: effort += Y x, out = Yᵀ effort. v: where its degrees of freedom are; all rows of one at a time, so that a row's sum
// waits for itself only.
CAL_WIDE_INLINE void add_effort(const double* y, int degrees, int rows, const int32_t* v, const double* x,
                                double* effort) {
    for (int k = 0; k < degrees; k++) {
        double sum = effort[v[k]];
        for (int r = 0; r < rows; r++) sum += y[r * degrees + k] * x[r];
        effort[v[k]] = sum;
    }
}
CAL_WIDE_INLINE void feel_effort(const double* y, int degrees, int rows, const int32_t* v, const double* effort,
                                 double* out) {
    double sum[CAL_CONSTRAINT_ROWS] = {0.0};
    for (int k = 0; k < degrees; k++)
        for (int r = 0; r < rows; r++) sum[r] += y[r * degrees + k] * effort[v[k]];
    for (int r = 0; r < rows; r++) out[r] = sum[r];
}

// set->effort ← Y x
CAL_WIDE static void add_efforts(cal_constraints* set, const double* x) {
    memset(set->effort, 0, (size_t)set->model->v_count * sizeof(double));
    for (int place = 0; place < set->model->constraint_count; place++) {
        int degrees;
        const double* y = row_y(set, place, 0, &degrees);
        const int32_t* v = set->degree_v + set->degree_start[set->order[place]];
        if (cal_row_total(set, place) == 2)
            add_effort(y, degrees, 2, v, x + set->first_row[place], set->effort);
        else
            add_effort(y, degrees, cal_row_total(set, place), v, x + set->first_row[place], set->effort);
    }
}

// out ← Yᵀ set->effort
CAL_WIDE static void feel_efforts(const cal_constraints* set, double* out) {
    for (int place = 0; place < set->model->constraint_count; place++) {
        int degrees;
        const double* y = row_y(set, place, 0, &degrees);
        const int32_t* v = set->degree_v + set->degree_start[set->order[place]];
        if (cal_row_total(set, place) == 2)
            feel_effort(y, degrees, 2, v, set->effort, out + set->first_row[place]);
        else
            feel_effort(y, degrees, cal_row_total(set, place), v, set->effort, out + set->first_row[place]);
    }
}

void cal_matrix_feel(const cal_constraints* set, double* out) { feel_efforts(set, out); }

// The largest of those rows that are kept.
static double largest_kept(const cal_constraints* set, const double* values) {
    double out = 0.0;
    for (int i = 0; i < set->row_count; i++)
        if (set->matrix.left[i] > 0.0 && fabs(values[i]) > out) out = fabs(values[i]);
    return out;
}

// set->lambda and set->change ← λ and M⁻¹ Aᵀ λ for set->right, in the order of the tree.
static void solve_loops(cal_constraints* set) {
    const int count = set->row_count, degrees = set->model->v_count;
    double *r = set->work, *lambda = set->rest, *change = set->effort, before = (double)INFINITY;
    memset(set->lambda, 0, (size_t)count * sizeof(double));
    memset(set->change, 0, (size_t)degrees * sizeof(double));
    memcpy(r, set->right, (size_t)count * sizeof(double));
    const double negligible = ROUNDING * largest_kept(set, r);
    for (int k = 0; k < MOST_REFINEMENTS; k++) {
        const double now = largest_kept(set, r);
        // What does not become smaller is rounding.
        if (!(now > negligible && now < 0.5 * before)) break;
        before = now;
        cal_loop_factor_solve(set->loop_factor, set->row_of, r, lambda, change);
        for (int i = 0; i < count; i++) {
            const cal_row* row = &set->rows[i];
            set->lambda[i] += lambda[i];
            for (int n = 0; n < row->node_count; n++) {
                const double* a = set->loop_factor->motion + 6 * (size_t)row->node[n];
                r[i] -= cal_dot3(row->moment[n], a) + cal_dot3(row->force[n], a + 3);
            }
        }
        for (int i = 0; i < degrees; i++) set->change[i] += change[i];
    }
}

void cal_matrix_solve(cal_constraints* set) {
    if (set->loops) {
        solve_loops(set);
        return;
    }
    const int count = set->row_count;
    double *x = set->lambda, *r = set->work, *product = set->rest;
    for (int i = 0; i < count; i++) r[i] = set->right[i] *= set->scale[i], x[i] = 0.0;
    memset(set->effort, 0, (size_t)set->model->v_count * sizeof(double));
    double before = largest_kept(set, r);
    const double negligible = ROUNDING * before;
    for (int k = 0; k < MOST_REFINEMENTS && before > negligible; k++) {
        cal_skyline_solve(&set->matrix, r);
        for (int i = 0; i < count; i++) x[i] += r[i];
        add_efforts(set, x);
        feel_efforts(set, product);
        for (int i = 0; i < count; i++) r[i] = set->right[i] - product[i];
        const double now = largest_kept(set, r);
        // What does not become smaller is rounding.
        if (!(now < 0.5 * before)) break;
        before = now;
    }
    for (int i = 0; i < count; i++) set->unknown[i] = x[i], x[i] *= set->scale[i];
}

void cal_matrix_find_change(cal_constraints* set) {
    if (!set->loops && !cal_directions_find_change(set)) cal_mass_factor_outbound(&set->tree, set->effort, set->change);
}

void cal_matrix_correct(cal_constraints* set) {
    if (set->loops) {
        solve_loops(set);
        return;
    }
    cal_skyline_solve(&set->matrix, set->right);
    add_efforts(set, set->right);
    cal_mass_factor_outbound(&set->tree, set->effort, set->change);
}
