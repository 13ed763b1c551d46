// What is looked at of constraints (constraint.h): multipliers of least norm, rows as a dense matrix, limits of gains.
#include "constraint/constraint_matrix.h"
#include <float.h>
#include <math.h>
#include <string.h>

// A few units in the last place of numbers of size one.
static const double ROUNDING = 1e-15;

// --- Multipliers of least norm ------------------------------------------------------------------------------------------

static double dot(const double* a, const double* b, int count) {
    double sum = 0.0;
    for (int i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

// With Y_dropped = Y_kept T all λ_kept + T λ_dropped = x have the same forces. The least of them are λ_kept = z, λ_dropped = Tᵀ z with
// (1 + T Tᵀ) z = x, which is found by conjugate gradients: its eigenvalues are one but for as many as there are rows
// that were dropped, so that they end after as many turns and one.
void cal_constraints_share(cal_constraints* set) {
    if (set->loops) return;
    const int count = set->row_count;
    double *z = set->lambda, *r = set->right, *p = set->work, *product = set->rest;
    int dropped = 0;
    for (int i = 0; i < count; i++) {
        const bool kept = set->left[i] > 0.0;
        dropped += kept ? 0 : 1;
        r[i] = p[i] = kept ? set->lambda[i] / set->scale[i] : 0.0;
        z[i] = 0.0;
    }
    double square = dot(r, r, count);
    const double least = ROUNDING * ROUNDING * square;
    for (int turn = 0; turn <= 2 * dropped && square > least; turn++) {
        memcpy(product, p, (size_t)count * sizeof *p);
        cal_matrix_depend(set, product);
        for (int i = 0; i < count; i++) product[i] = set->left[i] > 0.0 ? product[i] + p[i] : 0.0;
        const double step = square / dot(p, product, count);
        for (int i = 0; i < count; i++) z[i] += step * p[i], r[i] -= step * product[i];
        const double now = dot(r, r, count), share = now / square;
        for (int i = 0; i < count; i++) p[i] = r[i] + share * p[i];
        square = now;
    }
    memcpy(product, z, (size_t)count * sizeof *z);
    cal_matrix_depend(set, product);
    for (int i = 0; i < count; i++) z[i] = (set->left[i] > 0.0 ? z[i] : -product[i]) * set->scale[i];
}

double cal_constraints_motion_power(const cal_constraints* set, double later) {
    double sum = 0.0;
    for (int i = 0; i < set->row_count && set->moved; i++)
        sum += set->lambda[i] * (set->rows[i].rate + later * set->rows[i].change);
    return sum;
}

double cal_constraints_power(const cal_constraints* set) {
    double sum = 0.0;
    for (int i = 0; i < set->row_count; i++) sum += set->lambda[i] * (set->rows[i].speed + set->rows[i].rate);
    return sum;
}

// --- Dense rows -----------------------------------------------------------------------------------------------------------

// An entry is a wrench, carried over at most all nodes, times a joint's axis: so many products, none larger than the moment or the
// force times the longest arm, and than the force alone where the joint slides.
static double row_noise(const cal_constraints* set, const cal_row* row, double extent) {
    double size = 0.0;
    for (int i = 0; i < row->node_count; i++)
        size += sqrt(cal_dot3(row->moment[i], row->moment[i])) +
                (1.0 + extent) * sqrt(cal_dot3(row->force[i], row->force[i]));
    return set->model->node_count * CAL_CONSTRAINT_ROWS * DBL_EPSILON * size;
}

void cal_constraints_dense(cal_constraints* set, const double* q, const double* v, double* A, double* noise,
                           double* bias) {
    const size_t count = (size_t)set->model->v_count;
    if (set->row_count == 0) return;
    cal_constraints_evaluate(set, q, v);
    cal_constraints_factor_mass(set);
    double extent = 0.0;
    for (int n = 0; n < set->model->node_count; n++)
        extent = fmax(extent, cal_dot3(set->motions[n].origin, set->motions[n].origin));
    memset(A, 0, (size_t)set->row_count * count * sizeof *A);
    memset(set->change, 0, count * sizeof *set->change);
    cal_constraints_demand(set, v, set->change, CAL_STABILIZE_NONE, 0.0, NULL);
    for (int i = 0; i < set->row_count; i++) {
        cal_mass_factor_add(&set->tree, &set->rows[i], 1.0);
        cal_mass_factor_joint_forces(&set->tree, A + (size_t)i * count);
        noise[i] = row_noise(set, &set->rows[i], 2.0 * sqrt(extent));
        bias[i] = -set->right[i];
    }
}

// --- Limits ------------------------------------------------------------------------------------------------------------

// An explicit method is stable on the real axis to −reach/h; the faster pole of the literal law is K + √(K² − K).
double cal_explicit_limit(double reach, double step, cal_stabilization law) {
    if (law == CAL_STABILIZE_NONE) return (double)INFINITY;
    return law == CAL_STABILIZE_LITERAL ? reach * reach / (2.0 * reach - step) / step : reach / step;
}

// With x = K h, semi-implicit Euler has the eigenvalues' product 1 − 2x and their sum 2 − 2x − c h², c = K or K²: both are
// inside the unit circle while 4 − 4x − c h² > 0.
double cal_semi_implicit_limit(double step, cal_stabilization law) {
    if (law == CAL_STABILIZE_NONE) return (double)INFINITY;
    return law == CAL_STABILIZE_LITERAL ? 4.0 / (4.0 * step + step * step) : (sqrt(8.0) - 2.0) / step;
}
