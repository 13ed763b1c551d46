// Dynamics of models with constraints in one call: what constraints add to accelerations, the forces of a motion that they guide,
// and the rows that follow from others. For one look; a simulation keeps its memory (constraint.h).
#include "base/error.h"
#include "base/finite.h"
#include "base/memory.h"
#include "constraint/constraint.h"
#include "constraint/projector.h"
#include "model/coordinates.h"
#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE = 100, NAME = 80 };
// Accelerations that are asked for may come from a file, and need not keep the constraints to the last digit.
static const double ASKED = 1e-8;
static const size_t MOST_NUMBERS = 30000000; // of a dense matrix: 240 MB

static cal_status no_memory(const cal_model* model, cal_error* error) {
    return cal_fail(error, CAL_NO_MEMORY, "no memory for %d constraints", model->constraint_count);
}

cal_status cal_loops_forward(const cal_model* model, const double* q, const double* v, double* qdd, cal_error* error) {
    if (!model || !q || !v || !qdd) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_loops_forward: something is NULL");
    cal_constraints* set = NULL;
    if (model->constraint_count == 0) return CAL_OK;
    if (cal_constraints_create(model, &set)) return no_memory(model, error);
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

cal_status cal_loops_inverse(const cal_model* model, const double* q, const double* v, const double* qdd, double* tau,
                             cal_error* error) {
    if (!model || !q || !v || !qdd || !tau)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_loops_inverse: something is NULL");
    cal_constraints* set = NULL;
    if (model->constraint_count == 0) return CAL_OK;
    if (cal_constraints_create(model, &set)) return no_memory(model, error);
    const size_t n = (size_t)model->v_count, m = (size_t)set->row_count;
    if (n * (n + m) > MOST_NUMBERS) {
        cal_constraints_destroy(set);
        return cal_fail(error, CAL_NOT_AVAILABLE,
                        "inverse dynamics with constraints is dense: %d rows and %d degrees of freedom are too many",
                        (int)m, model->v_count);
    }
    double *A = cal_allocate(m * n, sizeof *A), *numbers = cal_allocate(2 * m, sizeof *numbers),
           *one = cal_allocate(n * n, sizeof *one),
           *memory = cal_allocate(cal_projector_size((int)m, (int)n), sizeof *memory);
    cal_status status = A && numbers && one && memory ? CAL_OK : no_memory(model, error);
    if (!status && m > 0) {
        cal_projector projector;
        for (size_t i = 0; i < n; i++) one[i * n + i] = 1.0;
        cal_constraints_dense(set, q, v, A, numbers, numbers + m);
        status = check_asked(set, A, numbers + m, qdd, error);
        cal_projector_make(&projector, A, numbers, (int)m, one, (int)n, memory);
        // Of all forces that differ by Aᵀλ the smallest are those that have no part along A's rows.
        cal_projector_apply(&projector, tau);
    }
    cal_free(A), cal_free(numbers), cal_free(one), cal_free(memory);
    cal_constraints_destroy(set);
    return status;
}

cal_status cal_loops_redundant(const cal_model* model, const double* q, bool* rows, int* rank, cal_error* error) {
    if (!model || !q || !rows || !rank)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_loops_redundant: something is NULL");
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
