// The list of solvers, and what several of them need: the first step, unit quaternions, dense output of one-step
// methods.
#include "solver/bdf.h"
#include "solver/vectors.h"
#include "base/error.h"
#include "math/power.h"
#include "pass/pass.h"
#include <string.h>

static const cal_solver_ops* const solvers[] = {
    &cal_solver_gear, &cal_solver_iec,      &cal_solver_rki, &cal_solver_rkg,   &cal_solver_rkf,
    &cal_solver_rkck, &cal_solver_implicit, &cal_solver_rk4, &cal_solver_euler,
};

const cal_solver_ops* cal_find_solver(const char* name) {
    if (strcmp(name, "auto") == 0) return &cal_solver_gear;
    for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++)
        if (strcmp(solvers[i]->name, name) == 0) return solvers[i];
    return NULL;
}

static const char* const names[] = {"auto", "gear",     "iec", "rki",   "rkg", "rkf",
                                    "rkck", "implicit", "rk4", "euler", "bdf"};

const char* cal_solver_name(int index) {
    const int count = (int)(sizeof names / sizeof names[0]) - (cal_bdf_available() ? 0 : 1);
    return index >= 0 && index < count ? names[index] : NULL;
}

const char* cal_solver_help(const char* name) {
    if (!name) return NULL;
    if (strcmp(name, "auto") == 0) return "gear; where bodies collide rkck, and implicit where joint forces are stiff";
    const cal_solver_ops* ops = cal_find_solver(name);
    return ops ? ops->help : cal_bdf_available() && strcmp(name, "bdf") == 0 ? cal_bdf_help : NULL;
}

bool cal_solver_has_fixed_step(const char* name) {
    const cal_solver_ops* ops = name ? cal_find_solver(name) : NULL;
    return ops && ops->fixed_step;
}

cal_status cal_solver_check(const cal_solver_ops* solver, const char* algorithm, cal_error* error) {
    if (!solver || solver->implicit == 0) return CAL_OK;
    if (!cal_find_program(algorithm)->implicit)
        return cal_fail(error, CAL_BAD_ARGUMENT, "solver %s needs algorithm aba, not %s", solver->name, algorithm);
    return CAL_OK;
}

static const double SAFETY = 0.9, SMALLEST_RATIO = 0.2, LARGEST_RATIO = 5.0;

double cal_step_ratio(double size, int power, bool failed) {
    const double most = size > 1.0 ? SAFETY : failed ? 1.0 : LARGEST_RATIO;
    return fmax(SMALLEST_RATIO, fmin(SAFETY / cal_root(size, power), most));
}

double cal_smallest_step(double time) { return 4.0 * DBL_EPSILON * fabs(time); }

double cal_first_step(const cal_solver_settings* settings, double norm) {
    const double tolerance = fmin(fmax(settings->relative, 100.0 * DBL_EPSILON), 1e-3), w = settings->horizon;
    const double h = 1.0 / sqrt(1.0 / (tolerance * w * w) + tolerance * norm * norm);
    return settings->largest_step > 0.0 ? fmin(h, settings->largest_step) : h;
}

double cal_first_step_named(const cal_solver_settings* settings, double norm) {
    const double h = settings->first_step;
    if (!(h > 0.0)) return cal_first_step(settings, norm);
    return settings->largest_step > 0.0 ? fmin(h, settings->largest_step) : h;
}

void cal_normalize_column(const cal_layout* layout, const cal_column* column, double* y) {
    const int component = cal_joint_quaternion(column->kind), W = layout->width;
    if (component < 0) return;
    for (int b = column->first_block; b < column->first_block + column->block_count; b++) {
        double* q = y + layout->block_y[b] + component * W;
        for (int l = 0; l < W; l++) {
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

static quintic quintic_at(double s, double h) {
    const double s2 = s * s, s3 = s2 * s, s4 = s3 * s, s5 = s4 * s;
    const double rise = 10.0 * s3 - 15.0 * s4 + 6.0 * s5, steep = (30.0 * s2 - 60.0 * s3 + 30.0 * s4) / h;
    return (quintic){
        .value = {1.0 - rise, rise, h * (s - 6.0 * s3 + 8.0 * s4 - 3.0 * s5), h * (-4.0 * s3 + 7.0 * s4 - 3.0 * s5),
                  h * h * 0.5 * (s2 - 3.0 * s3 + 3.0 * s4 - s5), h * h * 0.5 * (s3 - 2.0 * s4 + s5)},
        .slope = {-steep, steep, 1.0 - 18.0 * s2 + 32.0 * s3 - 15.0 * s4, -12.0 * s2 + 28.0 * s3 - 15.0 * s4,
                  h * 0.5 * (2.0 * s - 9.0 * s2 + 12.0 * s3 - 5.0 * s4), h * 0.5 * (3.0 * s2 - 8.0 * s3 + 5.0 * s4)},
    };
}

static inline double quintic_sum(const double c[6], double x0, double x1, double u0, double u1, double a0, double a1) {
    return (c[0] * x0 + c[1] * x1) + (c[2] * u0 + c[3] * u1) + (c[4] * a0 + c[5] * a1);
}

// d/dt (½ q ∘ ω) = ½ (q′ ∘ ω + q ∘ ω′)
static void quaternion_second(const double q[4], const double u[4], const double w[3], const double a[3],
                              double out[4]) {
    const double rate[4] = {0.0, w[0], w[1], w[2]}, change[4] = {0.0, a[0], a[1], a[2]};
    double first[4], second[4];
    cal_quaternion_multiply(u, rate, first);
    cal_quaternion_multiply(q, change, second);
    for (int i = 0; i < 4; i++) out[i] = 0.5 * (first[i] + second[i]);
}

static void interpolate_rotation(const cal_solver_context* context, int kind, int first, int lane, const quintic* c,
                                 double* out) {
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

static void interpolate_smooth(const cal_solver_context* context, const cal_column* column, double s, double h,
                               double* out) {
    const cal_layout* layout = context->layout;
    const int W = layout->width, kind = column->kind;
    const quintic c = quintic_at(s, h);
    const double *y0 = context->vectors[CAL_ONE_STEP_PREVIOUS], *y1 = context->vectors[CAL_ONE_STEP_Y];
    const double *f0 = context->vectors[CAL_ONE_STEP_PREVIOUS_F], *f1 = context->vectors[CAL_ONE_STEP_F];
    const int plain = cal_joint_plain(kind);
    for (int b = column->first_block; b < column->first_block + column->block_count; b++) {
        const int first = layout->block_y[b];
        for (int k = 0; k < plain * W; k++) {
            const int x = first + k, v = x + cal_kind_q(kind) * W;
            out[x] = quintic_sum(c.value, y0[x], y1[x], f0[x], f1[x], f0[v], f1[v]);
            out[v] = quintic_sum(c.slope, y0[x], y1[x], f0[x], f1[x], f0[v], f1[v]);
        }
        if (cal_joint_quaternion(kind) >= 0)
            for (int l = 0; l < W; l++) interpolate_rotation(context, kind, first, l, &c, out);
    }
}

static void interpolate_cubic(const cal_solver_context* context, const cal_column* column, double s, double h,
                              double* out) {
    const double *y0 = context->vectors[CAL_ONE_STEP_PREVIOUS], *y1 = context->vectors[CAL_ONE_STEP_Y];
    const double *f0 = context->vectors[CAL_ONE_STEP_PREVIOUS_F], *f1 = context->vectors[CAL_ONE_STEP_F];
    const double s2 = s * s, s3 = s2 * s, rise = 3.0 * s2 - 2.0 * s3;
    const double c0 = h * (s - 2.0 * s2 + s3), c1 = h * (s3 - s2);
    const int end = cal_column_end(context->layout, column);
    for (int i = cal_column_first(context->layout, column); i < end; i++)
        out[i] = ((1.0 - rise) * y0[i] + rise * y1[i]) + (c0 * f0[i] + c1 * f1[i]);
}

void cal_one_step_interpolate(const cal_solver_context* context, const cal_column* column, double s, double h,
                              bool smooth, double* out) {
    if (smooth)
        interpolate_smooth(context, column, s, h, out);
    else
        interpolate_cubic(context, column, s, h, out);
    cal_normalize_column(context->layout, column, out);
}
