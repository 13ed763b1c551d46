// Matrices of constraints (constraint_matrix.h).
#include "constraint/constraint_matrix.h"
#include "base/memory.h"
#include <math.h>
#include <string.h>

// In the order of the tree, below.
static void factor_loops(cal_constraints* set, double shift);
static void solve_loops(cal_constraints* set, bool loaded);
#include "constraint/triangle_solve_body.h"

// --- Degrees of freedom -------------------------------------------------------------------------------------------------

void cal_matrix_destroy(cal_constraints* set) {
    void* arrays[] = {set->degree_start, set->degree_v, set->alone_start, set->alone, set->columns, set->ease,
                      set->nearness,     set->turns,    set->follows,     set->least, set->noise};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
    cal_row_rounding_destroy(&set->rounding);
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
    set->columns_size = (most * CAL_CONSTRAINT_ROWS + 7) & ~(size_t)7;
    set->columns = cal_allocate((size_t)set->workers.count * set->columns_size, sizeof(double));
    set->ease = cal_allocate(rows, sizeof(double));
    set->least = cal_allocate(rows, sizeof(double));
    set->noise = cal_allocate(rows, sizeof(double));
    set->nearness = cal_allocate(rows, sizeof(double));
    set->turns = cal_allocate(rows, sizeof *set->turns);
    set->follows = cal_allocate(count, sizeof *set->follows);
    if (!set->follows || !set->degree_start || !set->alone_start || !set->degree_v || !set->alone || !set->columns ||
        !set->ease || !set->least || !set->noise || !set->nearness || !set->turns ||
        !cal_row_rounding_create(model, CAL_SHIFT_CLOSED, set->length, set->loops ? cal_loop_meeting : NULL,
                                 &set->rounding))
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
        set->follows[c] = true;
        for (size_t i = first + 1; i < at; i++)
            set->follows[c] = set->follows[c] && set->degree_v[i] == set->degree_v[i - 1] + 1;
        set->degree_start[c + 1] = at;
        set->alone_start[c + 1] = alone;
    }
    return true;
}

// --- The triangle ----------------------------------------------------------------------------------------------------------

// The same in the order of the tree.
typedef struct loop_work {
    cal_constraints* set;
    double shift;
    bool loaded;
} loop_work;

static void factor_loops_shared(void* argument, cal_worker* worker) {
    const loop_work* work = argument;
    cal_constraints* set = work->set;
    const int first = cal_worker_first(worker, worker->index, set->row_count),
              end = cal_worker_first(worker, worker->index + 1, set->row_count);
    size_rows(set, first, end);
    cal_loop_factor_weigh(set->loop_factor, set->nearness, first, end);
    cal_worker_meet(worker);
    cal_loop_factor_compute(set->loop_factor, set->motions, set->rows, set->row_of, work->shift, &set->limbs, worker);
}

static void factor_loops(cal_constraints* set, double shift) {
    cal_loop_factor* f = set->loop_factor;
    const size_t size = (size_t)set->model->q_count * sizeof(double);
    // Projections and forces ask for the same place in turn; an implicit step adds to the mass matrix.
    if (set->factored && !set->tree.added && set->factored_shift == shift &&
        memcmp(set->factored_q, set->at_q, size) == 0)
        return;
    memcpy(set->factored_q, set->at_q, size);
    set->factored = !set->tree.added;
    set->factored_shift = shift;
    const int places = set->model->constraint_count;
    for (int place = 0; place < places; place++)
        set->row_of[set->order[place]] = cal_row_total(set, place) > 0 ? set->first_row[place] : -1;
    f->q = set->at_q;
    loop_work work = {set, shift, false};
    cal_workers_run(&set->workers, &set->paces[CAL_WORK_FACTOR], factor_loops_shared, &work);
    set->easiest = divide_places(set, f->gross, 0, places);
    (void)weigh_places(set, f->gross, f->noise, set->easiest, 0, places);
    memcpy(set->left, f->left, (size_t)set->row_count * sizeof(double));
    count_rank(set);
}

// --- Solutions -------------------------------------------------------------------------------------------------------------

// One solution for set->work, added to set->lambda and set->change; what is left goes into set->work. Returns the largest of what each node's
// motion has along a row.
static double add_solution(cal_constraints* set, bool loaded, cal_worker* worker) {
    const int rows = set->row_count, degrees = set->model->v_count;
    const int first = cal_worker_first(worker, worker->index, rows),
              end = cal_worker_first(worker, worker->index + 1, rows);
    double *r = set->work, *lambda = set->rest, *change = set->effort, largest = 0.0;
    cal_loop_factor_solve(set->loop_factor, set->row_of, r, loaded, lambda, change, &set->limbs, worker);
    cal_worker_meet(worker);
    for (int i = first; i < end; i++) {
        const cal_row* row = &set->rows[i];
        set->lambda[i] += lambda[i];
        for (int n = 0; n < row->node_count; n++) {
            const double along = cal_loop_along(set->loop_factor, row, n);
            largest = fabs(along) > largest ? fabs(along) : largest;
            r[i] -= along;
        }
    }
    for (int i = cal_worker_first(worker, worker->index, degrees),
             after = cal_worker_first(worker, worker->index + 1, degrees);
         i < after; i++)
        set->change[i] += change[i];
    return largest;
}

// set->lambda and set->change ← λ and M⁻¹ Aᵀ λ for set->right, in the order of the tree; loaded: q̈.
static void solve_loops_shared(void* argument, cal_worker* worker) {
    const loop_work* work = argument;
    cal_constraints* set = work->set;
    const int rows = set->row_count, degrees = set->model->v_count;
    const int first = cal_worker_first(worker, worker->index, rows),
              end = cal_worker_first(worker, worker->index + 1, rows),
              first_v = cal_worker_first(worker, worker->index, degrees),
              end_v = cal_worker_first(worker, worker->index + 1, degrees);
    double before = (double)INFINITY;
    memset(set->lambda + first, 0, (size_t)(end - first) * sizeof(double));
    memset(set->change + first_v, 0, (size_t)(end_v - first_v) * sizeof(double));
    memcpy(set->work + first, set->right + first, (size_t)(end - first) * sizeof(double));
    double size = largest_kept(set, first, end, set->work);
    cal_worker_meet(worker);
    if (work->loaded) size = fmax(size, add_solution(set, true, worker));
    cal_worker_largest(worker, &size, 1);
    const double negligible = REFINED * size;
    for (int k = work->loaded ? 1 : 0; k < MOST_REFINEMENTS; k++) {
        double now = largest_kept(set, first, end, set->work);
        cal_worker_largest(worker, &now, 1);
        // What does not become smaller is rounding.
        if (!(now > negligible && now < 0.5 * before)) break;
        before = now;
        (void)add_solution(set, false, worker);
    }
}

static void solve_loops(cal_constraints* set, bool loaded) {
    loop_work work = {set, 0.0, loaded};
    cal_workers_run(&set->workers, &set->paces[CAL_WORK_SOLVE], solve_loops_shared, &work);
}

void cal_matrix_solve_loaded(cal_constraints* set) { solve_loops(set, true); }
