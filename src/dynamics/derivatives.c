// Motions of points, and derivatives of inverse and forward dynamics, from bodies in the world's axes (pass/dynamics_slopes.h).
//
//   τ = ID(q, v, q̈) − F(q, v, u)         F: what springs, dampers, stops, motors, tendons and a medium give
//   ∂q̈/∂x = M⁻¹ (∂F/∂x − ∂ID/∂x)         x = q, v, at the q̈ that τ gives; ∂q̈/∂τ = M⁻¹, ∂q̈/∂u = M⁻¹ ∂F/∂u
#include "base/error.h"
#include "base/memory.h"
#include "dynamics/dynamics.h"
#include "pass/force_slopes.h"
#include <math.h>
#include <string.h>

static cal_status make_slopes(cal_dynamics* d) {
    if (!d->slopes) d->slopes = cal_dynamics_slopes_create(d->model);
    return d->slopes ? CAL_OK : CAL_NO_MEMORY;
}

cal_status cal_dynamics_motion(cal_dynamics* dynamics, const double* q, const double* v, const double* qdd, int body,
                               const double point[3], double velocity[6], double acceleration[6]) {
    if (!dynamics || !q || !point || body < 0 || body >= dynamics->model->body_count) return CAL_BAD_ARGUMENT;
    const cal_mount* mount = &dynamics->model->mounts[body];
    if (velocity) memset(velocity, 0, 6 * sizeof *velocity);
    if (acceleration) memset(acceleration, 0, 6 * sizeof *acceleration);
    if (mount->node < 0) return CAL_OK;
    const cal_status status = make_slopes(dynamics);
    if (status) return status;
    cal_dynamics_slopes_move(dynamics->slopes, q, v ? v : dynamics->zeros, qdd ? qdd : dynamics->zeros);
    cal_dynamics_slopes_point(dynamics->slopes, mount, point, velocity, acceleration);
    return CAL_OK;
}

static cal_status make(cal_dynamics* d) {
    if (d->model->v_count > CAL_MOST_DENSE) return CAL_NOT_AVAILABLE;
    if (make_slopes(d)) return CAL_NO_MEMORY;
    if (!d->coupled && cal_model_has_coupled_forces(d->model) && !(d->coupled = cal_coupled_create(d->model)))
        return CAL_NO_MEMORY;
    return CAL_OK;
}

// ∂F into what is asked for.
static cal_status find_forces(cal_dynamics* d, const double* q, const double* v, const double* control,
                              const cal_force_slopes* out) {
    const size_t count = (size_t)d->model->v_count;
    if (out->by_q) memset(out->by_q, 0, count * count * sizeof(double));
    if (out->by_v) memset(out->by_v, 0, count * count * sizeof(double));
    if (out->by_control) memset(out->by_control, 0, count * (size_t)d->model->actuator_count * sizeof(double));
    cal_joint_force_slopes(d->model, q, v, control, out);
    if (d->coupled && !cal_coupled_force_slopes(d->coupled, q, v, control, out)) return CAL_NO_MEMORY;
    return CAL_OK;
}

// out = a·out + b·own, own in the order of degrees; NULL is allowed.
static void combine(const cal_dynamics* d, double a, double b, const double* own, double* out) {
    const size_t count = (size_t)d->model->v_count;
    const cal_slope_degree* degrees = d->slopes->degrees;
    for (size_t i = 0; out && i < count; i++)
        for (size_t k = 0; k < count; k++) {
            double* number = &out[(size_t)degrees[i].v * count + (size_t)degrees[k].v];
            *number = a * *number + b * own[i * count + k];
        }
}

static cal_status check_numbers(const double* numbers, size_t count) {
    for (size_t i = 0; numbers && i < count; i++)
        if (!isfinite(numbers[i])) return CAL_NOT_FINITE;
    return CAL_OK;
}

cal_status cal_dynamics_inverse_derivatives(cal_dynamics* dynamics, const double* q, const double* v, const double* qdd,
                                            double* by_q, double* by_v, double* by_qdd) {
    if (!dynamics || !q) return CAL_BAD_ARGUMENT;
    const size_t size = (size_t)dynamics->model->v_count * (size_t)dynamics->model->v_count;
    cal_status status = make(dynamics);
    if (!v) v = dynamics->zeros;
    if (!status) status = find_forces(dynamics, q, v, dynamics->control, &(cal_force_slopes){by_q, by_v, NULL});
    if (status) return status;
    if (!cal_dynamics_slopes_find(dynamics->slopes, q, v, qdd ? qdd : dynamics->zeros)) return CAL_NO_MEMORY;
    combine(dynamics, -1.0, 1.0, dynamics->slopes->by_q, by_q);
    combine(dynamics, -1.0, 1.0, dynamics->slopes->by_v, by_v);
    if (by_qdd) memset(by_qdd, 0, size * sizeof *by_qdd);
    combine(dynamics, 0.0, 1.0, dynamics->slopes->mass, by_qdd);
    status = check_numbers(by_q, size);
    if (!status) status = check_numbers(by_v, size);
    return status ? status : check_numbers(by_qdd, size);
}

// M⁻¹ times a matrix of v_count rows in the user's order, where it is; rows: room for one as large.
static cal_status divide(const cal_dynamics* d, int columns, double* rows, double* matrix) {
    const size_t count = (size_t)d->model->v_count, width = (size_t)columns;
    const cal_slope_degree* degrees = d->slopes->degrees;
    if (!matrix) return CAL_OK;
    for (size_t i = 0; i < count; i++)
        memcpy(rows + i * width, matrix + (size_t)degrees[i].v * width, width * sizeof *rows);
    cal_dynamics_slopes_solve(d->slopes, columns, rows);
    for (size_t i = 0; i < count; i++)
        memcpy(matrix + (size_t)degrees[i].v * width, rows + i * width, width * sizeof *rows);
    return check_numbers(matrix, count * width);
}

static cal_status find_forward(cal_dynamics* d, const double* q, const double* v, double* room, double* by_q,
                               double* by_v, double* by_tau, double* by_control) {
    const int count = d->model->v_count;
    if (!cal_dynamics_slopes_find(d->slopes, q, v, room)) return CAL_NO_MEMORY;
    combine(d, 1.0, -1.0, d->slopes->by_q, by_q);
    combine(d, 1.0, -1.0, d->slopes->by_v, by_v);
    if (!cal_dynamics_slopes_factor(d->slopes)) return CAL_NOT_FINITE;
    if (by_tau) memset(by_tau, 0, (size_t)count * (size_t)count * sizeof *by_tau);
    for (size_t i = 0; by_tau && i < (size_t)count; i++) by_tau[i * ((size_t)count + 1)] = 1.0;
    cal_status status = divide(d, count, room, by_q);
    if (!status) status = divide(d, count, room, by_v);
    if (!status) status = divide(d, count, room, by_tau);
    return status ? status : divide(d, d->model->actuator_count, room, by_control);
}

cal_status cal_dynamics_forward_derivatives(cal_dynamics* dynamics, const double* q, const double* v, const double* tau,
                                            const double* control, double* by_q, double* by_v, double* by_tau,
                                            double* by_control) {
    if (!dynamics || !q) return CAL_BAD_ARGUMENT;
    const cal_model* model = dynamics->model;
    const size_t count = (size_t)model->v_count;
    const size_t width = (size_t)(model->v_count > model->actuator_count ? model->v_count : model->actuator_count);
    cal_status status = make(dynamics);
    double* room = status ? NULL : cal_allocate(count * width + 1, sizeof *room);
    if (!status && !room) status = CAL_NO_MEMORY;
    if (!v) v = dynamics->zeros;
    if (!control) control = dynamics->control;
    if (!status) status = cal_dynamics_forward(dynamics, q, v, tau, control, room);
    if (!status) status = find_forces(dynamics, q, v, control, &(cal_force_slopes){by_q, by_v, by_control});
    if (!status) status = find_forward(dynamics, q, v, room, by_q, by_v, by_tau, by_control);
    cal_free(room);
    return status;
}
