// Constraints at work (constraint.h): rows, their matrix, multipliers and projection. Who meets whom is in order.c.
#include "constraint/constraint.h"
#include "base/memory.h"
#include "constraint/elimination_order.h"
#include "layout/layout.h"
#include "model/coordinates.h"
#include "plan/machine_ops.h"
#include <float.h>
#include <string.h>

// Squares of pivots of rows of length one that count as dependent where that is only shown, and of rows that nothing can move: twice
// the digits that y has, and a few for a long way.
static const double THRESHOLD = 1e-8, IMMOVABLE = 1e-24;
// The smallest and the largest shift of a projection, and how much it is above the square of what is open.
static const double LEAST_SHIFT = 1e-12, MOST_SHIFT = 1e-4, WARY = 1e4;
// What is left of a gap of one in the last place of numbers of size one, and of the few that make it.
static const double ROUNDING = 1e-15;
enum { MOST_REFINEMENTS = 8 };

void cal_constraints_destroy(cal_constraints* set) {
    if (!set) return;
    cal_order_destroy(set);
    cal_mass_factor_destroy(&set->tree);
    cal_state_destroy(set->state);
    cal_loop_factor_destroy(set->loop_factor);
    cal_free(set->row_of);
    cal_free(set->factored_q);
    cal_plan_destroy(set->plan);
    cal_machine_destroy(set->machine);
    void* arrays[] = {set->frames, set->active, set->motions, set->rows,  set->y,      set->scale,
                      set->lambda, set->right,  set->work,    set->rest,  set->effort, set->accelerations,
                      set->change, set->at_q,   set->at_v,    set->before};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
    cal_free(set);
}

static bool allocate(cal_constraints* set) {
    const cal_model* model = set->model;
    const size_t rows = (size_t)set->most_rows, nodes = (size_t)model->node_count;
    set->motions = cal_allocate(nodes, sizeof *set->motions);
    set->rows = cal_allocate(rows + CAL_CONSTRAINT_ROWS, sizeof *set->rows);
    set->y = cal_allocate(set->y_start[model->constraint_count], sizeof(double));
    set->frames = cal_allocate(2 * (size_t)model->constraint_count, sizeof *set->frames);
    for (int c = 0; set->frames && c < model->constraint_count; c++)
        cal_constraint_find_frames(model, c, set->frames + 2 * (size_t)c);
    set->scale = cal_allocate(rows, sizeof(double));
    set->lambda = cal_allocate(rows, sizeof(double));
    set->right = cal_allocate(rows, sizeof(double));
    set->work = cal_allocate(rows, sizeof(double));
    set->rest = cal_allocate(rows, sizeof(double));
    set->effort = cal_allocate((size_t)model->v_count, sizeof(double));
    set->accelerations = cal_allocate(6 * nodes, sizeof(double));
    set->change = cal_allocate((size_t)model->v_count, sizeof(double));
    set->at_q = cal_allocate((size_t)model->q_count, sizeof(double));
    set->at_v = cal_allocate((size_t)model->v_count, sizeof(double));
    set->before = cal_allocate((size_t)model->q_count + (size_t)model->v_count, sizeof(double));
    return set->frames && set->motions && set->rows && set->y && set->scale && set->lambda && set->right && set->work &&
           set->rest && set->effort && set->accelerations && set->change && set->at_q && set->at_v && set->before &&
           cal_mass_factor_create(model, &set->tree) == CAL_OK;
}

static cal_status plan_mass(cal_constraints* set, cal_machine* machine) {
    // Ranks have all constraints, each for itself; a modelled machine computes nothing.
    cal_status status = CAL_OK;
    if (!machine || !machine->ops->together) status = cal_machine_serial(0, &set->machine, NULL);
    const cal_plan_def def = {.model = set->model,
                              .program = &cal_program_mass_factor,
                              .machine = set->machine ? set->machine : machine,
                              .copies = 1};
    if (status == CAL_OK) status = cal_plan_create_def(&def, &set->plan, NULL);
    if (status == CAL_OK) status = cal_state_create(set->plan, &set->state);
    if (status != CAL_OK) return status;
    set->tree.motions = set->motions;
    set->state->context.own = &set->tree;
    return CAL_OK;
}

void cal_constraints_factor_mass(cal_constraints* set) {
    set->factored = false; // the tree's numbers are those without loops now
    if (cal_plan_run(set->plan, set->state, NULL, NULL, true, NULL) == CAL_OK) return;
    // The machine is busy with something else: here, then, children first. Same bits.
    for (int i = set->plan->layout->column_count - 1; i >= 0; i--)
        cal_program_mass_factor.passes[0].kernels[set->plan->variant](&set->state->context, i);
}

cal_status cal_constraints_create(const cal_model* model, cal_constraints** out) {
    return cal_constraints_create_on(model, NULL, out);
}

cal_status cal_constraints_create_on(const cal_model* model, cal_machine* machine, cal_constraints** out) {
    *out = NULL;
    cal_constraints* set = cal_allocate(1, sizeof *set);
    if (!set) return CAL_NO_MEMORY;
    set->model = model;
    set->closed = ROUNDING;
    set->moved = cal_model_is_moved(model);
    set->loops = cal_loop_factor_pays(model);
    set->active = cal_allocate((size_t)model->constraint_count, sizeof *set->active);
    set->row_of = cal_allocate((size_t)model->constraint_count, sizeof *set->row_of);
    set->factored_q = cal_allocate((size_t)model->q_count, sizeof(double));
    if (!set->active || !set->row_of || !set->factored_q || cal_order_create(set) != CAL_OK || !allocate(set) ||
        plan_mass(set, machine) != CAL_OK ||
        (set->loops && cal_loop_factor_create(model, set->most_rows, &set->tree, &set->loop_factor) != CAL_OK)) {
        cal_constraints_destroy(set);
        return CAL_NO_MEMORY;
    }
    for (int i = 0; i < model->constraint_count; i++) set->active[i] = !model->constraints[i].inactive;
    cal_order_rows(set);
    *out = set;
    return CAL_OK;
}

void cal_constraints_activate(cal_constraints* set, int constraint, bool active) {
    if (set->active[constraint] == active) return;
    set->active[constraint] = active;
    set->evaluated = set->factored = false;
    cal_order_rows(set);
}

// --- Rows and their matrix ---------------------------------------------------------------------------------------------

void cal_constraints_evaluate(cal_constraints* set, const double* q, const double* v) {
    const size_t q_size = (size_t)set->model->q_count * sizeof(double),
                 v_size = (size_t)set->model->v_count * sizeof(double);
    // Projections and forces ask for the same place in turn.
    const bool now = !set->moved || set->at_time == set->time;
    const bool moved = !set->evaluated || !cal_same_bits(set->at_q, q, q_size);
    if (!moved && now && cal_same_bits(set->at_v, v, v_size)) return;
    set->at_time = set->time;
    memcpy(set->at_q, q, q_size);
    memcpy(set->at_v, v, v_size);
    set->evaluated = true;
    cal_node_motions(set->model, set->plan->variant, q, v, moved, set->motions);
    for (int place = 0; place < set->model->constraint_count; place++) {
        const int constraint = set->order[place];
        if (!set->active[constraint]) continue;
        cal_constraint_make_rows_at(set->model, constraint, set->frames + 2 * (size_t)constraint, set->time,
                                    set->motions, q, v, set->rows + set->first_row[place]);
    }
}

cal_violation cal_constraints_violation(const cal_constraints* set, int only) {
    cal_violation out = {.error_of = CAL_NONE, .speed_of = CAL_NONE};
    int count = 0;
    for (int i = 0; i < set->row_count; i++) {
        const cal_row* row = &set->rows[i];
        if (only != CAL_NONE && row->constraint != only) continue;
        const double error = fabs(row->error), speed = fabs(row->speed);
        // What is not a number counts as the largest.
        if (!(error <= out.error) || out.error_of == CAL_NONE) out.error = error, out.error_of = row->constraint;
        if (!(speed <= out.speed) || out.speed_of == CAL_NONE) out.speed = speed, out.speed_of = row->constraint;
        out.squares += error * error;
        count++;
    }
    if (count > 0) out.squares /= count;
    return out;
}

static int row_total(const cal_constraints* set, int place) {
    return set->first_row[place + 1] - set->first_row[place];
}

static void find_y(cal_constraints* set, int place) {
    const int constraint = set->order[place], first = set->support_start[constraint];
    const int count = set->support_start[constraint + 1] - first, degrees = set->degrees[constraint];
    for (int i = 0; i < row_total(set, place); i++) {
        cal_mass_factor_add(&set->tree, &set->rows[set->first_row[place] + i], 1.0);
        cal_mass_factor_inbound(&set->tree, set->support + first, count,
                                set->y + set->y_start[constraint] + (size_t)i * (size_t)degrees);
    }
}

static double row_square(const cal_row* row) {
    double sum = 0.0;
    for (int i = 0; i < row->node_count; i++)
        sum += cal_dot3(row->moment[i], row->moment[i]) + cal_dot3(row->force[i], row->force[i]);
    return sum;
}

// The y of a row, and how many there are.
static double* row_y(const cal_constraints* set, int place, int row, int* count) {
    const int constraint = set->order[place];
    *count = set->degrees[constraint];
    return set->y + set->y_start[constraint] + (size_t)row * (size_t)*count;
}

// Divides the rows' y by their lengths. A row that nothing in the mechanism can move (across the plane of a planar one) has only
// rounding there.
static void scale_rows(cal_constraints* set) {
    double easiest = 0.0;
    for (int place = 0; place < set->model->constraint_count; place++)
        for (int r = 0; r < row_total(set, place); r++) {
            const int i = set->first_row[place] + r;
            int count;
            const double *y = row_y(set, place, r, &count), square = row_square(&set->rows[i]);
            double sum = 0.0;
            for (int k = 0; k < count; k++) sum += y[k] * y[k];
            set->scale[i] = sum;
            if (square > 0.0) easiest = fmax(easiest, sum / square);
        }
    for (int place = 0; place < set->model->constraint_count; place++)
        for (int r = 0; r < row_total(set, place); r++) {
            const int i = set->first_row[place] + r;
            int count;
            double *y = row_y(set, place, r, &count), scale = set->scale[i];
            scale = scale > IMMOVABLE * easiest * row_square(&set->rows[i]) ? 1.0 / sqrt(scale) : 0.0;
            for (int k = 0; k < count; k++) y[k] *= scale;
            set->scale[i] = scale;
        }
}

static void make_matrix(cal_constraints* set) {
    if (set->loops) return;
    cal_constraints_factor_mass(set);
    for (int place = 0; place < set->model->constraint_count; place++)
        if (set->active[set->order[place]]) find_y(set, place);
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
            for (int r = 0; r < row_total(set, place); r++)
                m->row[set->first_row[place] + r] = row_y(set, place, r, &count)[set->user_at[u] + d];
        }
        cal_skyline_add(m, first);
    }
}

// Whether a row is one of turns only.
static bool turns(const cal_row* row) {
    double sum = 0.0;
    for (int i = 0; i < row->node_count; i++) sum += cal_dot3(row->force[i], row->force[i]);
    return sum == 0.0;
}

// How easily a row is moved: the square of y for forces and moments of size one.
static double ease_of(const cal_constraints* set, int row) {
    const double scale = set->scale[row];
    return scale > 0.0 ? 1.0 / (scale * scale * row_square(&set->rows[row])) : 0.0;
}

// Of a constraint the most easily moved of its displacements, and of its turns.
static void easiest_of(const cal_constraints* set, int place, double easiest[2]) {
    easiest[0] = easiest[1] = 0.0;
    for (int i = set->first_row[place]; i < set->first_row[place + 1]; i++) {
        const int kind = turns(&set->rows[i]) ? 1 : 0;
        easiest[kind] = fmax(easiest[kind], ease_of(set, i));
    }
}

// Puts a constraint's rows in order: rows that can hardly be moved come last, as what they hold follows from others as a rule. What
// is left of a row must be above the shift's root, and above the rounding of y, which does not become less with y.
static int reveal(cal_constraints* set, int place, double shift, double easiest) {
    const int first = set->first_row[place], count = row_total(set, place);
    cal_skyline_choice how;
    double own[2];
    easiest_of(set, place, own);
    for (int r = 0; r < count; r++) {
        const double ease = ease_of(set, first + r);
        how.weight[r] = ease > 0.0 ? sqrt(ease / own[turns(&set->rows[first + r])]) : 0.0;
        how.least[r] = ease > 0.0 ? sqrt(fmax(shift, IMMOVABLE * easiest / ease)) : 1.0;
    }
    return cal_skyline_reveal(&set->matrix, first, count, &how);
}

static void count_rank(cal_constraints* set) {
    set->rank = 0;
    for (int i = 0; i < set->row_count; i++) set->rank += cal_constraints_depends(set, i) ? 0 : 1;
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
        set->row_of[set->order[place]] = row_total(set, place) > 0 ? set->first_row[place] : -1;
    cal_loop_factor_compute(set->loop_factor, set->motions, set->rows, set->row_of, shift);
    double easiest = 0.0;
    for (int i = 0; i < set->row_count; i++) {
        const double square = row_square(&set->rows[i]);
        if (square > 0.0) easiest = fmax(easiest, f->gross[i] / square);
    }
    for (int i = 0; i < set->row_count; i++) {
        const bool moves = f->gross[i] > IMMOVABLE * easiest * row_square(&set->rows[i]);
        set->scale[i] = moves ? 1.0 / sqrt(f->gross[i]) : 0.0;
        set->matrix.left[i] = f->left[i];
    }
    count_rank(set);
}

// R of Y, in the order of first columns. Rows of which less than √shift is left are dropped.
static void factor(cal_constraints* set, double shift) {
    if (set->loops) {
        factor_loops(set, shift);
        return;
    }
    cal_skyline* m = &set->matrix;
    double easiest = 0.0;
    for (int i = 0; i < set->row_count; i++) easiest = fmax(easiest, ease_of(set, i));
    cal_skyline_clear(m);
    for (int place = 0; place < set->model->constraint_count; place++) {
        const int constraint = set->order[place];
        if (!set->active[constraint]) continue;
        for (int i = set->support_start[constraint]; i < set->support_start[constraint + 1]; i++) {
            const int node = set->support[i];
            int user = set->user_start[node];
            while (!set->active[set->order[set->user[user]]]) user++;
            if (set->user[user] == place) add_node(set, node, user);
        }
        (void)reveal(set, place, shift, easiest);
    }
    count_rank(set);
}

bool cal_constraints_depends(const cal_constraints* set, int row) {
    const double left = set->matrix.left[row];
    return !(left > 0.0 && left * left > THRESHOLD);
}

// out = Yᵀ Y x
static void multiply(cal_constraints* set, const double* x, double* out) {
    const cal_model* model = set->model;
    memset(set->effort, 0, (size_t)model->v_count * sizeof(double));
    for (int turn = 0; turn < 2; turn++)
        for (int place = 0; place < model->constraint_count; place++) {
            const int constraint = set->order[place];
            for (int r = 0; r < row_total(set, place); r++) {
                const int row = set->first_row[place] + r;
                int count, at = 0;
                const double* y = row_y(set, place, r, &count);
                double sum = 0.0;
                for (int i = set->support_start[constraint]; at < count; i++) {
                    const cal_node* node = &model->nodes[set->support[i]];
                    double* effort = set->effort + node->first_v;
                    for (int k = 0; k < cal_kind_v(node->kind); k++, at++)
                        if (turn == 0)
                            effort[k] += y[at] * x[row];
                        else
                            sum += y[at] * effort[k];
                }
                if (turn == 1) out[row] = sum;
            }
        }
}

double cal_constraints_margin(const cal_constraints* set) {
    double easiest = 0.0, least = 1.0;
    for (int i = 0; i < set->row_count; i++) easiest = fmax(easiest, ease_of(set, i));
    for (int i = 0; i < set->row_count; i++) {
        const double left = set->matrix.left[i];
        if (set->scale[i] > 0.0) least = fmin(least, left * left * ease_of(set, i) / easiest);
    }
    return least;
}

double cal_constraints_distance(const cal_constraints* set) {
    double least = 1.0;
    for (int place = 0; place < set->model->constraint_count; place++) {
        double easiest[2];
        easiest_of(set, place, easiest);
        for (int i = set->first_row[place]; i < set->first_row[place + 1]; i++) {
            const double left = set->matrix.left[i];
            if (left > 0.0) least = fmin(least, left * left * ease_of(set, i) / easiest[turns(&set->rows[i])]);
        }
    }
    return sqrt(least);
}

static double largest(const double* values, int count) {
    double out = 0.0;
    for (int i = 0; i < count; i++) out = fmax(out, fabs(values[i]));
    return out;
}

int cal_constraints_rank(cal_constraints* set) {
    if (set->row_count == 0) return 0;
    make_matrix(set);
    factor(set, CAL_SHIFT_CLOSED);
    return set->rank;
}

// --- Forces ------------------------------------------------------------------------------------------------------------

// The largest of those rows that are kept.
static double largest_kept(const cal_constraints* set, const double* values) {
    double out = 0.0;
    for (int i = 0; i < set->row_count; i++)
        if (set->matrix.left[i] > 0.0) out = fmax(out, fabs(values[i]));
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

// set->lambda ← a solution for set->right, with zeros for rows that were dropped.
static void solve(cal_constraints* set) {
    if (set->loops) {
        solve_loops(set);
        return;
    }
    const int count = set->row_count;
    double *x = set->lambda, *r = set->work, *product = set->rest;
    for (int i = 0; i < count; i++) r[i] = set->right[i] *= set->scale[i], x[i] = 0.0;
    double before = largest_kept(set, r);
    const double negligible = ROUNDING * before;
    for (int k = 0; k < MOST_REFINEMENTS && before > negligible; k++) {
        cal_skyline_solve(&set->matrix, r);
        for (int i = 0; i < count; i++) x[i] += r[i];
        multiply(set, x, product);
        for (int i = 0; i < count; i++) r[i] = set->right[i] - product[i];
        const double now = largest_kept(set, r);
        // What does not become smaller is rounding.
        if (!(now < 0.5 * before)) break;
        before = now;
    }
    for (int i = 0; i < count; i++) x[i] *= set->scale[i];
}

static double stabilize(const cal_row* row, cal_stabilization law, double gain) {
    if (law == CAL_STABILIZE_NONE) return 0.0;
    if (!row->holonomic) return -gain * row->speed;
    return -2.0 * gain * row->speed - (law == CAL_STABILIZE_LITERAL ? gain : gain * gain) * row->error;
}

void cal_constraints_demand(cal_constraints* set, const double* v, const double* qdd, cal_stabilization law,
                            double gain, const double* forcing) {
    cal_node_accelerations(set->model, set->motions, v, qdd, set->accelerations);
    for (int i = 0; i < set->row_count; i++) {
        const cal_row* row = &set->rows[i];
        double sum = row->bias;
        for (int k = 0; k < row->node_count; k++) {
            const double* a = set->accelerations + 6 * (size_t)row->node[k];
            sum += cal_dot3(row->moment[k], a) + cal_dot3(row->force[k], a + 3);
        }
        set->right[i] = stabilize(row, law, gain) + (forcing ? forcing[i] : 0.0) - sum;
    }
}

// How far the constraints are open, or open up, in the size of the coordinates that a row is made from, those of all nodes between
// it and its roots. Each of n nodes rounds, which adds up to √n ε as a rule (Higham, Accuracy and Stability, 2.6). Near a singular position what is left open comes back divided by the square of the distance to it.
static double openness(const cal_constraints* set, bool of_speed) {
    double out = 0.0;
    for (int place = 0; place < set->model->constraint_count; place++) {
        const int constraint = set->order[place], first = set->first_row[place], count = row_total(set, place);
        double scale = 1.0, open = 0.0;
        for (int i = set->support_start[constraint]; i < set->support_start[constraint + 1] && count > 0; i++) {
            const cal_node_motion* m = &set->motions[set->support[i]];
            for (int k = 0; k < 3; k++) {
                const double size = fabs(of_speed ? m->linear[k] : m->origin[k]), turn = fabs(m->angular[k]);
                if (size > scale) scale = size;
                if (of_speed && turn > scale) scale = turn;
            }
        }
        const int nodes = set->support_start[constraint + 1] - set->support_start[constraint];
        scale *= fmax(1.0, sqrt(nodes) * DBL_EPSILON / ROUNDING);
        for (int r = 0; r < count; r++) {
            const double size = fabs(of_speed ? set->rows[first + r].speed : set->rows[first + r].error);
            // What is not a number counts as the largest.
            if (!(size <= open)) open = size;
        }
        if (!(open / scale <= out)) out = open / scale;
    }
    return out;
}

// Rows that depend on each other do so up to how far the constraints are open.
static double shift_for(const cal_constraints* set) {
    double open = set->loops ? openness(set, false) : 0.0;
    for (int i = 0; i < set->row_count && !set->loops; i++) open = fmax(open, fabs(set->rows[i].error) * set->scale[i]);
    return fmin(fmax(WARY * open * open, LEAST_SHIFT), MOST_SHIFT);
}

// Leaves Aᵀλ in the tree's wrenches.
static void find_multipliers(cal_constraints* set, const double* q, const double* v, const double* qdd,
                             cal_stabilization law, double gain, double shift, const double* forcing) {
    cal_constraints_evaluate(set, q, v);
    make_matrix(set);
    factor(set, fmin(shift, shift_for(set)));
    cal_constraints_demand(set, v, qdd, law, gain, forcing);
    solve(set);
    for (int i = 0; i < set->row_count && !set->loops; i++)
        cal_mass_factor_add(&set->tree, &set->rows[i], set->lambda[i]);
}

void cal_constraints_hold(cal_constraints* set, const double* q, const double* v, const double* qdd,
                          cal_stabilization law, double gain, double shift, double* tau) {
    if (set->row_count == 0) return;
    find_multipliers(set, q, v, qdd, law, gain, shift, NULL);
    if (set->loops)
        cal_loop_factor_forces(set->loop_factor, set->motions, set->change, tau);
    else
        cal_mass_factor_joint_forces(&set->tree, tau);
}

void cal_constraints_find_change(cal_constraints* set, const double* q, const double* v, const double* qdd,
                                 cal_stabilization law, double gain, double shift) {
    if (set->row_count == 0) return;
    find_multipliers(set, q, v, qdd, law, gain, shift, NULL);
    if (!set->loops) cal_mass_factor_solve(&set->tree, set->change);
}

void cal_constraints_accelerate(cal_constraints* set, const double* q, const double* v, double* qdd,
                                cal_stabilization law, double gain, const double* forcing) {
    if (set->row_count == 0) return;
    find_multipliers(set, q, v, qdd, law, gain, CAL_SHIFT_OPEN, forcing);
    if (!set->loops) cal_mass_factor_solve(&set->tree, set->change);
    for (int i = 0; i < set->model->v_count; i++) qdd[i] += set->change[i];
}

// --- Projection --------------------------------------------------------------------------------------------------------

// set->change ← B⁻¹ Aᵀ (A B⁻¹ Aᵀ)⁻¹ set->right, with the last factorisation; set->right is scaled already.
static void correct(cal_constraints* set) {
    if (set->loops) {
        solve_loops(set);
        return;
    }
    cal_skyline_solve(&set->matrix, set->right);
    for (int i = 0; i < set->row_count; i++)
        cal_mass_factor_add(&set->tree, &set->rows[i], set->scale[i] * set->right[i]);
    cal_mass_factor_solve(&set->tree, set->change);
}

// Scales set->right, and factors the matrix anew where it is new. The shift is as large as what is to be corrected (Levenberg and
// Marquardt's method, with Yamashita and Fukushima's choice, the square): rows that are independent only because the constraints
// are open (Bricard's loop), by as much, are left alone; near a singular position what is open shrinks with the distance to
// it, and nothing is held back.
static void scale_right(cal_constraints* set, bool factored) {
    if (set->loops) {
        if (!factored) factor(set, shift_for(set));
        return;
    }
    for (int i = 0; i < set->row_count; i++) set->right[i] *= set->scale[i];
    if (factored) return;
    const double open = largest(set->right, set->row_count);
    factor(set, fmin(fmax(WARY * open * open, LEAST_SHIFT), MOST_SHIFT));
}

static const double LONGEST = 0.3, NEAR = 1e-5, LITTLE = 1e-10;

// Whether what is open had better stay so: it is little, and what would close it is rounding for the most part.
static bool too_near(const cal_constraints* set, double blind) {
    return blind > 0.0 && cal_constraints_violation(set, CAL_NONE).error <= LITTLE &&
           cal_constraints_distance(set) < blind;
}

// Returns whether the last factorisation still serves. What a correction makes worse is taken back: it was rounding.
static bool project_position(cal_constraints* set, double* q, const double* v, int patience) {
    const size_t size = (size_t)set->model->q_count * sizeof *q;
    bool factored = false;
    cal_constraints_evaluate(set, q, v);
    double now = openness(set, false);
    for (int k = 0; k < patience && now > set->closed && isfinite(now); k++) {
        if (!factored) make_matrix(set);
        for (int i = 0; i < set->row_count; i++) set->right[i] = -set->rows[i].error;
        scale_right(set, factored);
        if (too_near(set, set->blind * set->blind)) return true;
        correct(set);
        const double change = largest(set->change, set->model->v_count);
        if (!isfinite(change)) return false;
        memcpy(set->before, q, size);
        cal_model_displace(set->model, set->change, change > LONGEST ? LONGEST / change : 1.0, q);
        // Near the solution the matrix need not be found anew: what is left is of second order.
        factored = change < NEAR;
        const double before = now;
        cal_constraints_evaluate(set, q, v);
        now = openness(set, false);
        // Far off a correction may open before it closes.
        if (now < before || before > LITTLE) continue;
        memcpy(q, set->before, size);
        cal_constraints_evaluate(set, q, v);
        break;
    }
    return factored;
}

static void project_velocity(cal_constraints* set, const double* q, double* v, int patience, bool factored) {
    const size_t size = (size_t)set->model->v_count * sizeof *v;
    cal_constraints_evaluate(set, q, v);
    double now = openness(set, true);
    for (int k = 0; k < patience && now > set->closed && isfinite(now); k++) {
        if (!factored) make_matrix(set);
        for (int i = 0; i < set->row_count; i++) set->right[i] = -set->rows[i].speed;
        scale_right(set, factored);
        if (too_near(set, set->blind)) return;
        factored = true;
        correct(set);
        memcpy(set->before, v, size);
        for (int i = 0; i < set->model->v_count; i++) v[i] += set->change[i];
        const double before = now;
        cal_constraints_evaluate(set, q, v);
        now = openness(set, true);
        if (now < before) continue;
        memcpy(v, set->before, size);
        cal_constraints_evaluate(set, q, v);
        break;
    }
}

void cal_constraints_keep_normal(cal_constraints* set, const double* q, double* change) {
    if (set->row_count == 0) return;
    cal_constraints_evaluate(set, q, change);
    make_matrix(set);
    for (int i = 0; i < set->row_count; i++) set->right[i] = set->rows[i].speed + set->rows[i].rate;
    scale_right(set, false);
    correct(set);
    memcpy(change, set->change, (size_t)set->model->v_count * sizeof *change);
}

void cal_constraints_project(cal_constraints* set, double* q, double* v, cal_projection what, int patience) {
    if (set->row_count == 0) return;
    bool factored = false;
    if (what & CAL_PROJECT_POSITION) factored = project_position(set, q, v, patience);
    if (what & CAL_PROJECT_VELOCITY) project_velocity(set, q, v, patience, factored);
}
