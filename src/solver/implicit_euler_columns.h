// Implicit Euler steps on the vectors of a column: what rides in the passes (implicit_euler.c has the method and its control).
#pragma once
#ifdef CAL_THREAD_PER_LANE
#include "solver/one_step_columns.h"
#endif
#include "solver/vectors.h"

enum { ROWS = 6, DERIVATIVES = 5, SUMS = 2 + DERIVATIVES };
enum {
    VECTOR_Y, // at the beginning of the step
    VECTOR_CURRENT,
    VECTOR_IMPLICIT,
    VECTOR_SLOPES,
    VECTOR_CHANGE,                                 // the sums: y₁ − y₀ …
    VECTOR_ERROR,                                  // … less that of order 5 …
    VECTOR_DERIVATIVE,                             // … and d_k
    VECTOR_JUMP = VECTOR_DERIVATIVE + DERIVATIVES, // h ∇⁵ (Δv/h)
    VECTOR_COUNT
};
enum {
    DOWN_COMMIT = CAL_DOWN_IMPLICIT_COUNT, // 1: y₁ is the new y₀
    DOWN_FIRST,                            // 1: the first Euler step of an n, from y₀
    DOWN_BEGIN,                            // 1: the sums begin with this one
    DOWN_LAST,                             // 1: the sums end with this one
    DOWN_JUMP,                             // what Δv/h counts in the differences
    DOWN_WEIGHT,
    DOWN_COUNT = DOWN_WEIGHT + SUMS
};

typedef struct implicit_control {
    cal_solver_settings settings;
    double time, step;
    double end, used; // of the last successful step: where it ends, its size
    bool chosen;      // the first step's size
    int n, index;     // of the Euler step that is evaluated: index 0 … n − 1
    bool failed;      // the present step, before
    int not_finite;
} implicit_control;

CAL_DEVICE static void implicit_prepare(const cal_solver_context* context, const cal_column* column) {
    const double* down = context->down;
    double* const* x = context->vectors;
    const int first = cal_column_first(context->layout, column), end = cal_column_end(context->layout, column);
    if (down[DOWN_COMMIT] != 0.0) {
        CAL_EACH(i, first, end) x[VECTOR_Y][i] += x[VECTOR_CHANGE][i];
        cal_normalize_column(context->layout, column, x[VECTOR_Y]);
    }
    cal_range_copy(context->y, x[down[DOWN_FIRST] != 0.0 ? VECTOR_Y : VECTOR_CURRENT], first, end);
}

// q⁺ of a block from v⁺, which out has: q̇ is v, or ½ q ∘ ω.
CAL_DEVICE static void move_block(int kind, int W, double h, const double* y, double* out) {
    const int plain = kind == CAL_BALL ? 0 : kind == CAL_FREE ? 3 : 1, v = cal_kind_q(kind) * W;
    CAL_EACH(i, 0, plain * W) out[i] = y[i] + h * out[v + i];
    const int at_q = cal_joint_quaternion(kind) * W, at_w = cal_angular_component(kind) * W;
    if (at_q < 0) return;
    CAL_EACH_LANE(l, W) {
        const double q[4] = {y[at_q + l], y[at_q + W + l], y[at_q + 2 * W + l], y[at_q + 3 * W + l]};
        const double w[4] = {0.0, out[at_w + l], out[at_w + W + l], out[at_w + 2 * W + l]};
        double turned[4];
        cal_quaternion_multiply(q, w, turned);
        for (int i = 0; i < 4; i++) turned[i] = q[i] + 0.5 * h * turned[i];
        const double scale =
            1.0 / sqrt(turned[0] * turned[0] + turned[1] * turned[1] + turned[2] * turned[2] + turned[3] * turned[3]);
        for (int i = 0; i < 4; i++) out[at_q + i * W + l] = turned[i] * scale;
    }
}

CAL_WIDE_INLINE void add_to_sums(const cal_solver_context* context, int first, int end) {
    double* const* x = context->vectors;
    const bool begins = context->down[DOWN_BEGIN] != 0.0;
    for (int k = 0; k < SUMS; k++) {
        const double weight = context->down[DOWN_WEIGHT + k];
        double* restrict sum = x[VECTOR_CHANGE + k];
        const double* restrict y = x[VECTOR_Y], * restrict reached = x[VECTOR_CURRENT];
        if (begins) CAL_EACH(i, first, end) sum[i] = 0.0;
        if (weight == 0.0) continue;
        CAL_EACH(i, first, end) sum[i] += weight * (reached[i] - y[i]);
    }
}

// 5⁵/6⁶ g / 64 of one component, or what jumps.
CAL_WIDE_INLINE double inner_error(double* const* x, int i) {
    double const* const* d = (double const* const*)(x + VECTOR_DERIVATIVE);
    const double g =
        (((x[VECTOR_CHANGE][i] - d[0][i]) + d[1][i] / 2.0) + (d[3][i] / 24.0 - d[2][i] / 6.0)) - d[4][i] / 120.0;
    return fmax(cal_size((3125.0 / 46656.0) * g), cal_size(x[VECTOR_JUMP][i])) / 64.0;
}

CAL_WIDE static void implicit_follow_up(const cal_solver_context* context, const cal_column* column, int block,
                                        double* shares) {
    const cal_layout* layout = context->layout;
    double* const* x = context->vectors;
    const int first = layout->block_y[block], end = layout->block_y[block + 1], W = layout->width;
    const int v = first + cal_kind_q(column->kind) * W;
    const double h = context->down[CAL_DOWN_IMPLICIT_STEP];
    double* reached = x[VECTOR_CURRENT];
    CAL_EACH(i, v, end) reached[i] = context->y[i] + h * context->ydot[i];
    move_block(column->kind, W, h, context->y + first, reached + first);
    add_to_sums(context, first, end);
    CAL_EACH(i, first, end)
    x[VECTOR_JUMP][i] = i < v || context->down[DOWN_BEGIN] != 0.0
                            ? 0.0
                            : x[VECTOR_JUMP][i] + context->down[DOWN_JUMP] * context->ydot[i];
    // The error at the end of a step; before it, whether all is finite, and how fast y changes.
    const bool last = context->down[DOWN_LAST] != 0.0;
    CAL_EACH_LANE(l, W) shares[CAL_SHARE(0, W, l)] = 0.0;
    for (int i = first; i < end; i += W) CAL_EACH_LANE(l, W) {
            const double error =
                last ? fmax(cal_size(x[VECTOR_ERROR][i + l]), cal_size(inner_error(x, i + l))) : context->ydot[i + l];
            const double size = cal_size(error / cal_weight(context, i + l, x[VECTOR_Y][i + l]));
            double* share = &shares[CAL_SHARE(0, W, l)];
            *share = size > *share ? size : *share;
        }
}

CAL_DEVICE static void implicit_interpolate(const void* memory, const cal_solver_context* context,
                                            const cal_column* column, double time, double* out) {
    const implicit_control* c = (const implicit_control*)memory;
    int vectors[1 + DERIVATIVES] = {VECTOR_CHANGE};
    const double u = (time - c->end) / c->used, sixth = u * u * u * u * u * u;
    double factors[1 + DERIVATIVES] = {1.0 - sixth}, power = 1.0, sign = 1.0, factorial = 1.0;
    for (int k = 1; k <= DERIVATIVES; k++) {
        power *= u, sign = -sign, factorial *= k;
        factors[k] = (power - sign * sixth) / factorial;
        vectors[k] = VECTOR_DERIVATIVE + k - 1;
    }
    cal_range_combine(out, context->vectors[VECTOR_Y], context->vectors, 1 + DERIVATIVES, vectors, factors,
                      cal_column_first(context->layout, column), cal_column_end(context->layout, column));
    cal_normalize_column(context->layout, column, out);
}
