// Unit quaternions, and the dense output of one-step methods, on the vectors of a column.
#pragma once
#include "solver/vectors.h"

// The host's are in solver.c; on a device every kernel has its own.
#ifdef CAL_THREAD_PER_LANE
#define CAL_COLUMN_FUNCTION CAL_DEVICE static
#else
#define CAL_COLUMN_FUNCTION
#endif

CAL_COLUMN_FUNCTION void cal_normalize_column(const cal_layout* layout, const cal_column* column, double* y) {
    const int component = cal_joint_quaternion(column->kind), W = layout->width;
    if (component < 0) return;
    for (int b = column->first_block; b < column->first_block + column->block_count; b++) {
        double* q = y + layout->block_y[b] + component * W;
        CAL_EACH_LANE(l, W) {
            const double w = q[l], x = q[W + l], u = q[2 * W + l], z = q[3 * W + l];
            const double scale = 1.0 / sqrt(w * w + x * x + u * u + z * z);
            q[l] = w * scale, q[W + l] = x * scale, q[2 * W + l] = u * scale, q[3 * W + l] = z * scale;
        }
    }
}

// The degree-five Hermite polynomial through value, first and second derivative at both ends, and its derivative.
typedef struct quintic {
    double value[6], slope[6]; // factors of x₀, x₁, x₀′, x₁′, x₀″, x₁″
} quintic;

CAL_DEVICE static quintic quintic_at(double s, double h) {
    const double s2 = s * s, s3 = s2 * s, s4 = s3 * s, s5 = s4 * s;
    const double rise = 10.0 * s3 - 15.0 * s4 + 6.0 * s5, steep = (30.0 * s2 - 60.0 * s3 + 30.0 * s4) / h;
    return (quintic){
        .value = {1.0 - rise, rise, h * (s - 6.0 * s3 + 8.0 * s4 - 3.0 * s5), h * (-4.0 * s3 + 7.0 * s4 - 3.0 * s5),
                  h * h * 0.5 * (s2 - 3.0 * s3 + 3.0 * s4 - s5), h * h * 0.5 * (s3 - 2.0 * s4 + s5)},
        .slope = {-steep, steep, 1.0 - 18.0 * s2 + 32.0 * s3 - 15.0 * s4, -12.0 * s2 + 28.0 * s3 - 15.0 * s4,
                  h * 0.5 * (2.0 * s - 9.0 * s2 + 12.0 * s3 - 5.0 * s4), h * 0.5 * (3.0 * s2 - 8.0 * s3 + 5.0 * s4)},
    };
}

CAL_DEVICE static inline double quintic_sum(const double c[6], double x0, double x1, double u0, double u1, double a0,
                                            double a1) {
    return (c[0] * x0 + c[1] * x1) + (c[2] * u0 + c[3] * u1) + (c[4] * a0 + c[5] * a1);
}

// d/dt (½ q ∘ ω) = ½ (q′ ∘ ω + q ∘ ω′)
CAL_DEVICE static void quaternion_second(const double q[4], const double u[4], const double w[3], const double a[3],
                                         double out[4]) {
    const double rate[4] = {0.0, w[0], w[1], w[2]}, change[4] = {0.0, a[0], a[1], a[2]};
    double first[4], second[4];
    cal_quaternion_multiply(u, rate, first);
    cal_quaternion_multiply(q, change, second);
    for (int i = 0; i < 4; i++) out[i] = 0.5 * (first[i] + second[i]);
}

CAL_DEVICE static void interpolate_rotation(const cal_solver_context* context, int kind, int first, int lane,
                                            const quintic* c, double* out) {
    const int W = context->layout->width;
    const int at_q = first + cal_joint_quaternion(kind) * W + lane,
              at_w = first + cal_angular_component(kind) * W + lane;
    double q[2][4], u[2][4], second[2][4];
    for (int end = 0; end < 2; end++) {
        const double* y = context->vectors[end == 0 ? CAL_ONE_STEP_PREVIOUS : CAL_ONE_STEP_Y];
        const double* f = context->vectors[end == 0 ? CAL_ONE_STEP_PREVIOUS_F : CAL_ONE_STEP_F];
        double w[3], a[3];
        for (int i = 0; i < 4; i++) q[end][i] = y[at_q + i * W], u[end][i] = f[at_q + i * W];
        for (int i = 0; i < 3; i++) w[i] = y[at_w + i * W], a[i] = f[at_w + i * W];
        quaternion_second(q[end], u[end], w, a, second[end]);
    }
    double value[4], slope[4], rate[4], norm = 0.0;
    for (int i = 0; i < 4; i++) {
        value[i] = quintic_sum(c->value, q[0][i], q[1][i], u[0][i], u[1][i], second[0][i], second[1][i]);
        slope[i] = quintic_sum(c->slope, q[0][i], q[1][i], u[0][i], u[1][i], second[0][i], second[1][i]);
        norm += value[i] * value[i];
    }
    // ω = 2 q̄ ∘ q′ / |q|²: the angular velocity of the polynomial's own direction.
    const double conjugate[4] = {value[0], -value[1], -value[2], -value[3]};
    cal_quaternion_multiply(conjugate, slope, rate);
    for (int i = 0; i < 4; i++) out[at_q + i * W] = value[i];
    for (int i = 0; i < 3; i++) out[at_w + i * W] = 2.0 * rate[1 + i] / norm;
}

CAL_DEVICE static void interpolate_smooth(const cal_solver_context* context, const cal_column* column, double s,
                                          double h, double* out) {
    const cal_layout* layout = context->layout;
    const int W = layout->width, kind = column->kind;
    const quintic c = quintic_at(s, h);
    const double *y0 = context->vectors[CAL_ONE_STEP_PREVIOUS], *y1 = context->vectors[CAL_ONE_STEP_Y];
    const double *f0 = context->vectors[CAL_ONE_STEP_PREVIOUS_F], *f1 = context->vectors[CAL_ONE_STEP_F];
    const int plain = cal_joint_plain(kind);
    for (int b = column->first_block; b < column->first_block + column->block_count; b++) {
        const int first = layout->block_y[b];
        CAL_EACH(k, 0, plain * W) {
            const int x = first + k, v = x + cal_kind_q(kind) * W;
            out[x] = quintic_sum(c.value, y0[x], y1[x], f0[x], f1[x], f0[v], f1[v]);
            out[v] = quintic_sum(c.slope, y0[x], y1[x], f0[x], f1[x], f0[v], f1[v]);
        }
        if (cal_joint_quaternion(kind) >= 0) CAL_EACH_LANE(l, W) interpolate_rotation(context, kind, first, l, &c, out);
    }
}

CAL_DEVICE static void interpolate_cubic(const cal_solver_context* context, const cal_column* column, double s,
                                         double h, double* out) {
    const double *y0 = context->vectors[CAL_ONE_STEP_PREVIOUS], *y1 = context->vectors[CAL_ONE_STEP_Y];
    const double *f0 = context->vectors[CAL_ONE_STEP_PREVIOUS_F], *f1 = context->vectors[CAL_ONE_STEP_F];
    const double s2 = s * s, s3 = s2 * s, rise = 3.0 * s2 - 2.0 * s3;
    const double c0 = h * (s - 2.0 * s2 + s3), c1 = h * (s3 - s2);
    const int first = cal_column_first(context->layout, column), end = cal_column_end(context->layout, column);
    CAL_EACH(i, first, end)
    out[i] = ((1.0 - rise) * y0[i] + rise * y1[i]) + (c0 * f0[i] + c1 * f1[i]);
}

CAL_COLUMN_FUNCTION void cal_one_step_interpolate(const cal_solver_context* context, const cal_column* column, double s,
                                                  double h, bool smooth, double* out) {
    if (smooth)
        interpolate_smooth(context, column, s, h, out);
    else
        interpolate_cubic(context, column, s, h, out);
    cal_normalize_column(context->layout, column, out);
}
