// Constrained motion in as many accelerations as there are degrees of freedom left (minimal.h).
#include "constraint/minimal.h"
#include "base/memory.h"
#include "machine/machine.h"
#include <math.h>
#include <string.h>

void cal_minimal_destroy(cal_minimal* minimal) {
    if (!minimal) return;
    cal_state_destroy(minimal->state);
    cal_plan_destroy(minimal->plan);
    cal_machine_destroy(minimal->machine);
    void* arrays[] = {minimal->mass,  minimal->rows,   minimal->length, minimal->scale,
                      minimal->order, minimal->factor, minimal->basis,  minimal->reduced,
                      minimal->u,     minimal->force,  minimal->rates,  minimal->unit};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
    cal_free(minimal);
}

cal_status cal_minimal_create(const cal_constraints* set, cal_minimal** out) {
    const size_t n = (size_t)set->model->v_count, m = (size_t)set->most_rows;
    cal_minimal* minimal = *out = cal_allocate(1, sizeof *minimal);
    if (!minimal) return CAL_NO_MEMORY;
    minimal->model = set->model;
    minimal->mass = cal_allocate(n * n, sizeof(double));
    minimal->rows = cal_allocate(m * n, sizeof(double));
    minimal->length = cal_allocate(m, sizeof(double));
    minimal->scale = cal_allocate(m, sizeof(double));
    minimal->order = cal_allocate(m, sizeof *minimal->order);
    minimal->factor = cal_allocate(n, sizeof(double));
    minimal->basis = cal_allocate(n * n, sizeof(double));
    minimal->reduced = cal_allocate(n * n, sizeof(double));
    minimal->u = cal_allocate(n, sizeof(double));
    minimal->force = cal_allocate(n, sizeof(double));
    minimal->rates = cal_allocate(n, sizeof(double));
    minimal->unit = cal_allocate(n, sizeof(double));
    cal_status status = minimal->mass && minimal->rows && minimal->length && minimal->scale && minimal->order &&
                                minimal->factor && minimal->basis && minimal->reduced && minimal->u && minimal->force &&
                                minimal->rates && minimal->unit
                            ? CAL_OK
                            : CAL_NO_MEMORY;
    if (!status) status = cal_machine_serial(1, &minimal->machine, NULL);
    if (!status) status = cal_plan_create(set->model, "crba", minimal->machine, &minimal->plan, NULL);
    if (!status) status = cal_state_create(minimal->plan, &minimal->state);
    if (status) {
        cal_minimal_destroy(minimal);
        *out = NULL;
    }
    return status;
}

static double dot(const double* a, const double* b, int count) {
    double sum = 0.0;
    for (int i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

// --- Rows and their reflections ----------------------------------------------------------------------------------------

// B, of which the diagonal becomes one.
static void measure_mass(cal_minimal* minimal) {
    const size_t n = (size_t)minimal->model->v_count;
    for (size_t i = 0; i < n; i++) minimal->unit[i] = 1.0 / sqrt(minimal->mass[i * n + i]);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) minimal->mass[i * n + j] *= minimal->unit[i] * minimal->unit[j];
}

// A, a row of unit length after the other.
static void find_rows(cal_minimal* minimal, cal_constraints* set) {
    const int n = minimal->model->v_count;
    double longest = 0.0;
    memset(minimal->rows, 0, (size_t)set->row_count * (size_t)n * sizeof(double));
    for (int i = 0; i < set->row_count; i++) {
        const cal_row* row = &set->rows[i];
        double* a = minimal->rows + (size_t)i * (size_t)n;
        cal_mass_factor_add(&set->tree, row, 1.0);
        cal_mass_factor_joint_forces(&set->tree, a);
        double size = 0.0;
        for (int k = 0; k < row->node_count; k++)
            size += cal_dot3(row->moment[k], row->moment[k]) + cal_dot3(row->force[k], row->force[k]);
        minimal->scale[i] = sqrt(size);
        minimal->length[i] = sqrt(dot(a, a, n));
        if (size > 0.0) longest = fmax(longest, minimal->length[i] / minimal->scale[i]);
    }
    for (int i = 0; i < set->row_count; i++) {
        double* a = minimal->rows + (size_t)i * (size_t)n;
        // Else it is one that nothing in the mechanism can move.
        const double least = sqrt(CAL_ROW_ROUNDING) * longest * minimal->scale[i],
                     noise = sqrt(cal_row_noise(&set->rounding, &set->rows[i], -1, set->at_q, NULL, NULL));
        const bool moves = minimal->length[i] > least && minimal->length[i] > noise;
        for (int k = 0; k < n; k++) a[k] *= minimal->unit[k];
        minimal->scale[i] = moves ? 1.0 / sqrt(dot(a, a, n)) : 0.0;
        for (int k = 0; k < n; k++) a[k] *= minimal->scale[i];
        minimal->order[i] = i;
    }
}

static double* row_at(const cal_minimal* minimal, int place) {
    return minimal->rows + (size_t)minimal->order[place] * (size_t)minimal->model->v_count;
}

// x ← (1 − factor w wᵀ) x of reflection k, whose w begins at k with a one that is not stored.
static void reflect(const cal_minimal* minimal, int k, double* x) {
    const int n = minimal->model->v_count;
    const double* w = row_at(minimal, k);
    const double amount = minimal->factor[k] * (x[k] + dot(w + k + 1, x + k + 1, n - k - 1));
    x[k] -= amount;
    for (int i = k + 1; i < n; i++) x[i] -= amount * w[i];
}

// What a row has left is computed anew each time: sums that are only reduced lose their digits just where ranks are decided.
static int find_pivot(const cal_minimal* minimal, int k, int count, double* length) {
    const int n = minimal->model->v_count;
    int best = k;
    *length = -1.0;
    for (int i = k; i < count; i++) {
        const double* a = row_at(minimal, i);
        const double left = dot(a + k, a + k, n - k);
        if (left > *length) *length = left, best = i;
    }
    *length = sqrt(fmax(*length, 0.0));
    return best;
}

// Aᵀ P = Q R. In row k of the order: R's column k down to its diagonal (which `length` holds), then the reflection.
static void factor_rows(cal_minimal* minimal, int count, double threshold) {
    const int n = minimal->model->v_count;
    minimal->rank = 0;
    for (int k = 0; k < count && k < n; k++) {
        double length;
        const int pivot = find_pivot(minimal, k, count, &length);
        if (!(length > threshold)) break;
        const int32_t swap = minimal->order[k];
        minimal->order[k] = minimal->order[pivot];
        minimal->order[pivot] = swap;
        double* w = row_at(minimal, k);
        const double diagonal = w[k] > 0.0 ? -length : length, head = w[k] - diagonal;
        minimal->factor[k] = -head / diagonal;
        minimal->length[k] = diagonal;
        for (int i = k + 1; i < n; i++) w[i] /= head;
        minimal->rank = k + 1;
        for (int i = k + 1; i < count; i++) reflect(minimal, k, row_at(minimal, i));
    }
    minimal->freedom = n - minimal->rank;
}

// S: the last columns of Q.
static void find_basis(cal_minimal* minimal) {
    const int n = minimal->model->v_count;
    for (int c = 0; c < minimal->freedom; c++) {
        double* s = minimal->basis + (size_t)c * (size_t)n;
        memset(s, 0, (size_t)n * sizeof *s);
        s[minimal->rank + c] = 1.0;
        for (int k = minimal->rank - 1; k >= 0; k--) reflect(minimal, k, s);
    }
}

// --- Motion ------------------------------------------------------------------------------------------------------------

// u_r = Q₁ R⁻ᵀ Pᵀ r: row k of the order says ∑ⱼ Rⱼₖ yⱼ = r_k.
static void find_particular(cal_minimal* minimal, const double* right) {
    const int n = minimal->model->v_count;
    double* y = minimal->u;
    memset(y, 0, (size_t)n * sizeof *y);
    for (int k = 0; k < minimal->rank; k++) {
        const int row = minimal->order[k];
        y[k] = (right[row] * minimal->scale[row] - dot(row_at(minimal, k), y, k)) / minimal->length[k];
    }
    for (int k = minimal->rank - 1; k >= 0; k--) reflect(minimal, k, y);
}

static void multiply_mass(const cal_minimal* minimal, const double* x, double* out) {
    const int n = minimal->model->v_count;
    for (int i = 0; i < n; i++) out[i] = dot(minimal->mass + (size_t)i * (size_t)n, x, n);
}

// The root of Sᵀ B S, by Cholesky's method: B is positive, and S has independent columns.
static void reduce_mass(cal_minimal* minimal) {
    const int n = minimal->model->v_count, p = minimal->freedom;
    for (int i = 0; i < p; i++) {
        double* row = minimal->reduced + (size_t)i * (size_t)p;
        multiply_mass(minimal, minimal->basis + (size_t)i * (size_t)n, minimal->force);
        for (int j = 0; j <= i; j++) row[j] = dot(minimal->basis + (size_t)j * (size_t)n, minimal->force, n);
    }
    for (int i = 0; i < p; i++) {
        double* row = minimal->reduced + (size_t)i * (size_t)p;
        for (int j = 0; j <= i; j++) {
            const double* other = minimal->reduced + (size_t)j * (size_t)p;
            const double rest = row[j] - dot(row, other, j);
            row[j] = i == j ? sqrt(rest) : rest / other[j];
        }
    }
}

// w = −(Sᵀ B S)⁻¹ Sᵀ B u_r, and u = u_r + S w.
static void add_free_part(cal_minimal* minimal) {
    const int n = minimal->model->v_count, p = minimal->freedom;
    double* w = minimal->rates;
    multiply_mass(minimal, minimal->u, minimal->force);
    for (int i = 0; i < p; i++) {
        const double* row = minimal->reduced + (size_t)i * (size_t)p;
        w[i] = (-dot(minimal->basis + (size_t)i * (size_t)n, minimal->force, n) - dot(row, w, i)) / row[i];
    }
    for (int i = p - 1; i >= 0; i--) {
        for (int j = i + 1; j < p; j++) w[i] -= minimal->reduced[(size_t)j * (size_t)p + (size_t)i] * w[j];
        w[i] /= minimal->reduced[(size_t)i * (size_t)p + (size_t)i];
    }
    for (int i = 0; i < p; i++)
        for (int k = 0; k < n; k++) minimal->u[k] += minimal->basis[(size_t)i * (size_t)n + (size_t)k] * w[i];
}

cal_status cal_minimal_hold(cal_minimal* minimal, cal_constraints* set, const double* q, const double* v,
                            const double* qdd, cal_stabilization law, double gain, double shift, double* tau) {
    cal_status status = cal_state_set(minimal->state, CAL_Q, q);
    if (!status) status = cal_plan_execute(minimal->plan, minimal->state, NULL);
    if (!status) status = cal_state_get(minimal->state, CAL_MASS, minimal->mass);
    if (status) return status;
    cal_constraints_evaluate(set, q, v);
    cal_constraints_factor_mass(set);
    cal_constraints_demand(set, v, qdd, law, gain, NULL);
    measure_mass(minimal);
    find_rows(minimal, set);
    factor_rows(minimal, set->row_count, sqrt(shift));
    find_basis(minimal);
    find_particular(minimal, set->right);
    reduce_mass(minimal);
    add_free_part(minimal);
    multiply_mass(minimal, minimal->u, minimal->force);
    for (int i = 0; i < minimal->model->v_count; i++) {
        tau[i] += minimal->force[i] / minimal->unit[i];
        minimal->u[i] *= minimal->unit[i];
    }
    return CAL_OK;
}

// --- What is shown ---------------------------------------------------------------------------------------------------------------

// In the user's units, by Gram and Schmidt's method; once more, so that what rounding leaves is rounding of the result.
static void make_orthonormal(cal_minimal* minimal) {
    const int n = minimal->model->v_count;
    for (int c = 0; c < minimal->freedom; c++) {
        double* s = minimal->basis + (size_t)c * (size_t)n;
        for (int k = 0; k < n; k++) s[k] *= minimal->unit[k];
        for (int again = 0; again < 2; again++) {
            for (int b = 0; b < c; b++) {
                const double *other = minimal->basis + (size_t)b * (size_t)n, part = dot(s, other, n);
                for (int k = 0; k < n; k++) s[k] -= part * other[k];
            }
            const double over = 1.0 / sqrt(dot(s, s, n));
            for (int k = 0; k < n; k++) s[k] *= over;
        }
    }
}

void cal_minimal_show(cal_minimal* minimal, double* basis, double* mass) {
    const int n = minimal->model->v_count, p = minimal->freedom;
    make_orthonormal(minimal);
    if (basis) memcpy(basis, minimal->basis, (size_t)p * (size_t)n * sizeof *basis);
    for (int i = 0; mass && i < p; i++) {
        for (int k = 0; k < n; k++)
            minimal->u[k] = minimal->basis[(size_t)i * (size_t)n + (size_t)k] / minimal->unit[k];
        multiply_mass(minimal, minimal->u, minimal->force);
        for (int k = 0; k < n; k++) minimal->force[k] /= minimal->unit[k];
        for (int j = 0; j <= i; j++)
            mass[i * p + j] = mass[j * p + i] = dot(minimal->basis + (size_t)j * (size_t)n, minimal->force, n);
    }
}
