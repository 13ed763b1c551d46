// Stiff multibodies, alone: linearly implicit Euler steps, extrapolated (Deuflhard, Hairer and Zugck 1987).
//
// A servo on a light link asks for steps of microseconds from any explicit method, long after what it does has died away. With
// D and K what forces in joints fall by (pass/joint_law.h), a step of size h is
//
//     (M + h D + h² K) Δv = h (M a(q, v) − h K v),    v⁺ = v + Δv,    q⁺ = q moved along v⁺
//
// with M, D and K of the beginning. Whatever these are, what n such steps of size H/n give has an expansion in powers of 1/n; so
// the results for n = 1 … 6 are extrapolated to order 6, and the last two columns differ by the error:
//
//     T₁₁
//     T₂₁ T₂₂             T_j,k+1 = T_j,k + (T_j,k − T_j−1,k) / (n_j / n_j−k − 1)
//     T₃₁ T₃₂ T₃₃
//
// With constraints, v⁺ is corrected, by M + h D + h² K, to A v⁺ = −h Ȧ v, and q⁺ is projected: both are smooth, so the expansion
// stays.
#include "model/coordinates.h"
#include "pass/joint_law.h"
#include "simulation/contact/block_cholesky.h"
#include "simulation/motion/multibody_data.h"
#include <string.h>

enum { ROWS = 6 };

// n Euler steps over an interval, from data into out; work: v + q numbers.
static cal_status euler(cal_multibody_model* e, double time, double interval, int n, const double* data,
                        const double* tau, const double* damping, const double* stiffness, double* work, double* out) {
    const int q_count = e->q_count, v_count = e->v_count;
    const double h = interval / n;
    double *change = work, *rate = work + v_count, *q = out, *v = out + q_count;
    memcpy(e->factor, e->mass, (size_t)(v_count * v_count) * sizeof *e->factor);
    for (int i = 0; i < v_count; i++) e->factor[i * (v_count + 1)] += h * (damping[i] + h * stiffness[i]);
    if (!cal_dense_factor(e->factor, v_count)) return CAL_NOT_FINITE;
    memcpy(out, data, (size_t)(q_count + v_count) * sizeof *out);
    for (int step = 0; step < n; step++) {
        const cal_status status = cal_multibody_model_acceleration(e, time + step * h, q, v, tau, rate);
        if (status != CAL_OK) return status;
        for (int i = 0; i < v_count; i++) {
            change[i] = -h * stiffness[i] * v[i];
            for (int k = 0; k < v_count; k++) change[i] += e->mass[i * v_count + k] * rate[k];
        }
        cal_dense_solve(e->factor, v_count, change);
        const bool held = cal_loops_make_projector(e, q, v, e->factor);
        for (int i = 0; i < v_count; i++) v[i] += h * change[i];
        if (held) cal_loops_bend(e, h, v);
        cal_model_rate(e->model, q, v, rate);
        for (int i = 0; i < q_count; i++) q[i] += h * rate[i];
        cal_model_normalize(e->model, q);
        // Too far beside the constraints: the step is too long.
        if (cal_loops_project(e, q, v, CAL_PROJECT_POSITION) != CAL_OK) return CAL_NOT_FINITE;
    }
    return CAL_OK;
}

cal_status cal_stiff_attempt(cal_multibody_model* e, double time, double h, const double* data, const double* tau,
                             double tolerance, double* next, double* last_acceleration, double* error) {
    const int q_count = e->q_count, v_count = e->v_count, size = q_count + v_count;
    double *table = e->work, *work = table + ROWS * size, *damping = work + size, *stiffness = damping + v_count;
    cal_joint_slopes(e->model, NULL, data, data + q_count, damping, stiffness);
    cal_status status = cal_multibody_model_mass(e, data, e->mass);
    *error = 0.0;
    // The table keeps one row: T_j,k+1 takes the place of T_j−1,k+1, with which T_j,k+2 was made.
    for (int j = 0; status == CAL_OK && j < ROWS; j++) {
        status = euler(e, time, h, j + 1, data, tau, damping, stiffness, work, next);
        for (int k = 0; status == CAL_OK && k < j; k++) {
            double* before = table + k * size;
            const double weight = 1.0 / ((j + 1.0) / (j - k) - 1.0);
            for (int i = 0; i < size; i++) {
                const double own = next[i], better = own + weight * (own - before[i]);
                if (k == ROWS - 2)
                    *error = fmax(*error, fabs(better - own) / (tolerance * (e->scale[i] + fabs(better))));
                before[i] = own;
                next[i] = better;
            }
        }
        if (status == CAL_OK) memcpy(table + j * size, next, (size_t)size * sizeof *next);
    }
    if (status == CAL_OK)
        status = cal_multibody_held_acceleration(e, time + h, next, next + q_count, tau, last_acceleration);
    if (status != CAL_OK) return status;
    return isfinite(*error) ? CAL_OK : CAL_NOT_FINITE;
}
