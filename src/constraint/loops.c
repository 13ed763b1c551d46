// Dynamics of models with constraints in one call: what constraints add to accelerations, the forces of a motion that they guide,
// and the rows that follow from others. For one look; a simulation keeps its memory (constraint.h).
#include "base/error.h"
#include "base/finite.h"
#include "base/memory.h"
#include "constraint/constraint.h"
#include "constraint/projector.h"
#include "model/coordinates.h"
#include <string.h>

enum { PATIENCE = 100, NAME = 80 };
// Accelerations that are asked for may come from a file, and need not keep the constraints to the last digit.
static const double ASKED = 1e-8;
static const size_t MOST_NUMBERS = 30000000; // of a dense matrix: 240 MB

static cal_status no_memory(const cal_model* model, cal_error* error) {
    return cal_fail(error, CAL_NO_MEMORY, "no memory for %d constraints", model->constraint_count);
}

cal_status cal_loops_forward(const cal_model* model, double time, const double* q, const double* v, double* qdd,
                             cal_error* error) {
    if (!model || !q || !v || !qdd) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_loops_forward: something is NULL");
    if (!isfinite(time)) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_loops_forward: the time must be finite");
    cal_constraints* set = NULL;
    if (model->constraint_count == 0) return CAL_OK;
    if (cal_constraints_create(model, &set)) return no_memory(model, error);
    set->time = time;
    cal_constraints_accelerate(set, q, v, qdd, CAL_STABILIZE_NONE, 0.0, NULL);
    cal_constraints_destroy(set);
    return cal_all_finite(qdd, model->v_count)
               ? CAL_OK
               : cal_fail(error, CAL_NOT_FINITE, "the accelerations that the constraints allow are not finite");
}

// Whether A q̈ + Ȧ q̇ = 0, row by row, up to the sizes of what is added up.
static cal_status check_asked(const cal_constraints* set, const double* A, const double* bias, const double* qdd,
                              cal_error* error) {
    const int count = set->model->v_count;
    double worst = 0.0, missed = 0.0;
    int of = CAL_NONE;
    for (int i = 0; i < set->row_count; i++) {
        double sum = bias[i], size = 1.0 + fabs(bias[i]);
        for (int k = 0; k < count; k++) {
            const double term = A[(size_t)i * (size_t)count + (size_t)k] * qdd[k];
            sum += term, size += fabs(term);
        }
        if (fabs(sum) > worst * size) worst = fabs(sum) / size, missed = fabs(sum), of = set->rows[i].constraint;
    }
    char name[NAME];
    if (worst <= ASKED) return CAL_OK;
    return cal_fail(error, CAL_BAD_ARGUMENT,
                    "constraint '%s' does not allow these accelerations: it is missed by %g; those of a motion that it "
                    "allows come from --what forward, or cal_sim_accelerations",
                    cal_model_constraint_name(set->model, of, name, sizeof name), missed);
}

// What is left of a row below this part of the longest is rounding: projections of n numbers err by n ε, 1e-12 for the largest models
// that are allowed here.
static const double LEFT = 1e-9;

static double dot(const double* a, const double* b, size_t count) {
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

// Row i of G: what unit forces of the actuated degrees come to at degree i, beside what the constraints take: P S, P symmetric.
static size_t make_actuated_rows(const cal_projector* projector, const bool* actuated, size_t n, double* one,
                                 double* G) {
    size_t count = 0;
    for (size_t k = 0; k < n; k++) {
        if (!actuated[k]) continue;
        memset(one, 0, n * sizeof *one);
        one[k] = 1.0;
        cal_projector_apply(projector, one);
        for (size_t i = 0; i < n; i++) G[i * n + count] = one[i];
        count++;
    }
    return count;
}

// Of all x with G x = b, n rows of which some follow from others, the least: it is in the span of G's rows, an orthonormal basis of
// which is made (Gram and Schmidt; the row of which most is left is next). What is left of b is in b. Returns where most of it is.
static size_t solve_least(double* G, double* b, size_t n, size_t count, double* x) {
    double longest = 0.0;
    memset(x, 0, n * sizeof *x);
    for (size_t turn = 0; turn < n; turn++) {
        size_t next = 0;
        double most = 0.0;
        for (size_t i = 0; i < n; i++) {
            const double square = dot(G + i * n, G + i * n, count);
            if (square > most) most = square, next = i;
        }
        longest = fmax(longest, sqrt(most));
        if (!(sqrt(most) > LEFT * longest)) break;
        double* u = G + next * n;
        const double length = sqrt(most), along = b[next] / length;
        for (size_t k = 0; k < count; k++) u[k] /= length, x[k] += along * u[k];
        for (size_t i = 0; i < n; i++) {
            if (i == next) continue;
            const double part = dot(G + i * n, u, count);
            b[i] -= part * along;
            for (size_t k = 0; k < count; k++) G[i * n + k] -= part * u[k];
        }
        b[next] = 0.0;
        memset(u, 0, n * sizeof *u);
    }
    size_t worst = 0;
    for (size_t i = 1; i < n; i++)
        if (fabs(b[i]) > fabs(b[worst])) worst = i;
    return worst;
}

// tau, which has no part along A's rows, becomes forces of the actuated degrees alone. G, one: room for n × n and n numbers.
static cal_status actuate(const cal_model* model, const cal_projector* projector, const bool* actuated, double* G,
                          double* one, double* x, double* tau, cal_error* error) {
    const size_t n = (size_t)model->v_count;
    double size = 0.0;
    for (size_t i = 0; i < n; i++) size = fmax(size, fabs(tau[i]));
    const size_t count = make_actuated_rows(projector, actuated, n, one, G), worst = solve_least(G, tau, n, count, x);
    if (fabs(tau[worst]) > ASKED * (1.0 + size)) {
        char name[NAME];
        int joint = 0;
        for (int i = 0; i < model->joint_count; i++)
            if ((size_t)model->joints[i].first_v <= worst && model->joints[i].first_v >= model->joints[joint].first_v)
                joint = i;
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "the actuated joints cannot give these accelerations: joint '%s' misses a force of %g",
                        cal_model_joint_name(model, joint, name, sizeof name), tau[worst]);
    }
    for (size_t i = 0, k = 0; i < n; i++) tau[i] = actuated[i] ? x[k++] : 0.0;
    return CAL_OK;
}

cal_status cal_loops_inverse(const cal_model* model, double time, const double* q, const double* v, const double* qdd,
                             const bool* actuated, double* tau, cal_error* error) {
    if (!model || !q || !v || !qdd || !tau)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_loops_inverse: something is NULL");
    if (!isfinite(time) || !cal_all_finite(q, model->q_count) || !cal_all_finite(v, model->v_count) ||
        !cal_all_finite(qdd, model->v_count))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_loops_inverse: time, q, v and qdd must be finite");
    cal_constraints* set = NULL;
    if (model->constraint_count == 0 && !actuated) return CAL_OK;
    if (cal_constraints_create(model, &set)) return no_memory(model, error);
    set->time = time;
    const size_t n = (size_t)model->v_count, m = (size_t)set->row_count;
    if (n * (n + m) > MOST_NUMBERS) {
        cal_constraints_destroy(set);
        return cal_fail(error, CAL_NOT_AVAILABLE,
                        "inverse dynamics with constraints is dense: %d rows and %d degrees of freedom are too many",
                        (int)m, model->v_count);
    }
    double *A = cal_allocate(m * n, sizeof *A), *numbers = cal_allocate(2 * m, sizeof *numbers),
           *one = cal_allocate(n * n, sizeof *one), *room = cal_allocate(2 * n, sizeof *room),
           *memory = cal_allocate(cal_projector_size((int)m, (int)n), sizeof *memory);
    cal_status status = A && numbers && one && room && memory ? CAL_OK : no_memory(model, error);
    if (!status) {
        cal_projector projector;
        for (size_t i = 0; i < n; i++) one[i * n + i] = 1.0;
        cal_constraints_dense(set, q, v, A, numbers, numbers + m);
        status = check_asked(set, A, numbers + m, qdd, error);
        cal_projector_make(&projector, A, numbers, (int)m, one, (int)n, memory);
        // Of all forces that differ by Aᵀλ the smallest are those that have no part along A's rows.
        cal_projector_apply(&projector, tau);
        if (!status && actuated) status = actuate(model, &projector, actuated, one, room, room + n, tau, error);
        if (!status && !cal_all_finite(tau, model->v_count))
            status = cal_fail(error, CAL_NOT_FINITE, "the forces are not finite");
    }
    cal_free(A), cal_free(numbers), cal_free(one), cal_free(room), cal_free(memory);
    cal_constraints_destroy(set);
    return status;
}

cal_status cal_loops_redundant(const cal_model* model, const double* q, bool* rows, int* rank, cal_error* error) {
    if (!model || !q || !rows || !rank)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_loops_redundant: something is NULL");
    if (!cal_all_finite(q, model->q_count))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_loops_redundant: positions must be finite");
    cal_constraints* set = NULL;
    *rank = 0;
    if (model->constraint_count == 0) return CAL_OK;
    if (cal_constraints_create(model, &set)) return no_memory(model, error);
    double *place = cal_allocate((size_t)model->q_count, sizeof *place),
           *still = cal_allocate((size_t)model->v_count, sizeof *still);
    if (place && still) {
        memcpy(place, q, (size_t)model->q_count * sizeof *q);
        // Beside the constraints all rows are independent.
        cal_constraints_project(set, place, still, CAL_PROJECT_POSITION, PATIENCE);
        *rank = cal_constraints_rank(set);
        int first = 0;
        for (int c = 0; c < model->constraint_count; c++) {
            const int count = cal_constraint_rows(&model->constraints[c], NULL);
            for (int r = 0; r < count; r++) rows[first + r] = false;
            for (int i = 0, r = 0; i < set->row_count; i++)
                if (set->rows[i].constraint == c) rows[first + r++] = cal_constraints_depends(set, i);
            first += count;
        }
    }
    const bool good = place && still;
    cal_free(place), cal_free(still);
    cal_constraints_destroy(set);
    return good ? CAL_OK : no_memory(model, error);
}
