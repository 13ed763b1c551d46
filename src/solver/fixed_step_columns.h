// Fixed steps on the vectors of a column: what rides in the passes (fixed_step.c has the methods and their control).
#pragma once
#ifdef CAL_THREAD_PER_LANE
#include "solver/one_step_columns.h"
#endif
#include "solver/vectors.h"

enum { VECTOR_K = CAL_ONE_STEP_OWN, VECTOR_COUNT_RK4 = VECTOR_K + 3 };
enum { DOWN_COMMIT, DOWN_STAGE, DOWN_STEP, DOWN_COUNT };
// What DOWN_COMMIT says: no step is completed; one is; one is, inside of which nobody will look, so that its beginning need not be kept.
enum { COMMIT_NOTHING, COMMIT_STEP, COMMIT_UNSEEN };

typedef struct fixed_control {
    double start, time, step;
    double accepted; // end of the last accepted step
    int64_t steps;   // completed: time = start + steps · step, without a growing error
    int stage;
} fixed_control;

// exp of half of a rotation vector, from the Taylor series of a small part of it, squared again: plain arithmetic, the
// same bits everywhere.
CAL_DEVICE static void exponential(const double rotation[3], double out[4]) {
    double half[3] = {0.5 * rotation[0], 0.5 * rotation[1], 0.5 * rotation[2]};
    double angle2 = cal_dot3(half, half);
    int halvings = 0;
    for (; angle2 > 0.0625 && halvings < 64; halvings++) {
        angle2 *= 0.25;
        for (int i = 0; i < 3; i++) half[i] *= 0.5;
    }
    double cosine = 1.0, sine = 1.0; // of sin x / x
    for (int n = 14; n >= 2; n -= 2) {
        cosine = 1.0 - cosine * angle2 / (n * (n - 1));
        sine = 1.0 - sine * angle2 / (n * (n + 1));
    }
    out[0] = cosine;
    for (int i = 0; i < 3; i++) out[1 + i] = sine * half[i];
    for (; halvings > 0; halvings--) cal_quaternion_multiply(out, out, out);
}

// One lane's rotation: its quaternion, and its angular velocities at the stages.
typedef struct lane_turn {
    double q[4], w[4][3];
} lane_turn;

// q ← q ∘ exp(h ∑ factor_j ω_j)
CAL_DEVICE static void turn(lane_turn* r, double h, const double factors[4]) {
    double vector[3], move[4];
    for (int i = 0; i < 3; i++)
        vector[i] = h * (((factors[0] * r->w[0][i] + factors[1] * r->w[1][i]) + factors[2] * r->w[2][i]) +
                         factors[3] * r->w[3][i]);
    exponential(vector, move);
    cal_quaternion_multiply(r->q, move, r->q);
}

// The angular velocities ω₁ … ω₄ at the stages' places: y's own, and y's moved on by the k so far.
CAL_DEVICE static lane_turn read_rotation(const cal_solver_context* context, int kind, int first, int lane, double h,
                                          int count) {
    const int W = context->layout->width;
    const int at_q = first + cal_joint_quaternion(kind) * W + lane,
              at_w = first + cal_angular_component(kind) * W + lane;
    const double* y = context->vectors[CAL_ONE_STEP_Y];
    const double moved[4] = {0.0, 0.5 * h, 0.5 * h, h};
    lane_turn r = {0};
    for (int i = 0; i < 4; i++) r.q[i] = y[at_q + i * W];
    for (int j = 0; j < count; j++) {
        const double* k = context->vectors[j <= 1 ? CAL_ONE_STEP_F : VECTOR_K + j - 2];
        for (int i = 0; i < 3; i++) r.w[j][i] = y[at_w + i * W] + moved[j] * k[at_w + i * W];
    }
    return r;
}

CAL_DEVICE static void write_quaternion(const cal_layout* layout, int kind, int first, int lane, const double q[4],
                                        double* out) {
    const int W = layout->width;
    for (int i = 0; i < 4; i++) out[first + (cal_joint_quaternion(kind) + i) * W + lane] = q[i];
}

CAL_DEVICE static void rk4_turn(const cal_solver_context* context, const cal_column* column, double h, int stage,
                                double* out) {
    static const double factors[4][2][4] = {
        {{3.0 / 12.0, 2.0 / 12.0, 2.0 / 12.0, -1.0 / 12.0}, {-1.0 / 12.0, 2.0 / 12.0, 2.0 / 12.0, 3.0 / 12.0}},
        {{0.5}, {0.0}},
        {{0.0, 0.5}, {0.0}},
        {{0.5}, {-0.5, 0.0, 1.0}},
    };
    if (cal_joint_quaternion(column->kind) < 0) return;
    const int count = stage == 0 ? 4 : stage; // stage 0 completes a step
    for (int b = column->first_block; b < column->first_block + column->block_count; b++)
        CAL_EACH_LANE(l, context->layout->width) {
            const int first = context->layout->block_y[b];
            lane_turn r = read_rotation(context, column->kind, first, l, h, count);
            turn(&r, h, factors[stage][0]);
            if (stage == 0 || stage == 3) turn(&r, h, factors[stage][1]);
            write_quaternion(context->layout, column->kind, first, l, r.q, out);
        }
}

CAL_WIDE_INLINE void keep_previous(const cal_solver_context* context, int first, int end) {
    double* const* x = context->vectors;
    if (context->down[DOWN_COMMIT] == COMMIT_UNSEEN) return;
    cal_range_copy(x[CAL_ONE_STEP_PREVIOUS], x[CAL_ONE_STEP_Y], first, end);
    cal_range_copy(x[CAL_ONE_STEP_PREVIOUS_F], x[CAL_ONE_STEP_F], first, end);
}

CAL_WIDE static void rk4_prepare(const cal_solver_context* context, const cal_column* column) {
    static const int k[4] = {CAL_ONE_STEP_F, VECTOR_K, VECTOR_K + 1, VECTOR_K + 2};
    double* const* x = context->vectors;
    const int first = cal_column_first(context->layout, column), end = cal_column_end(context->layout, column);
    const int stage = (int)context->down[DOWN_STAGE];
    const double h = context->down[DOWN_STEP];
    double* y = context->y;
    if (stage == 0) {
        if (context->down[DOWN_COMMIT] == COMMIT_NOTHING) {
            cal_range_copy(y, x[CAL_ONE_STEP_Y], first, end);
            return;
        }
        const double weights[4] = {h / 6.0, h / 3.0, h / 3.0, h / 6.0};
        if (cal_joint_quaternion(column->kind) < 0) {
            // Number by number, while they are at hand.
            for (int i = first, next; i < end; i = next) {
                next = cal_chunk_end(i, end);
                cal_range_combine(y, x[CAL_ONE_STEP_Y], x, 4, k, weights, i, next);
                keep_previous(context, i, next);
                cal_range_copy(x[CAL_ONE_STEP_Y], y, i, next);
            }
            return;
        }
        cal_range_combine(y, x[CAL_ONE_STEP_Y], x, 4, k, weights, first, end);
        rk4_turn(context, column, h, 0, y);
        keep_previous(context, first, end);
        cal_normalize_column(context->layout, column, y);
        cal_range_copy(x[CAL_ONE_STEP_Y], y, first, end);
        return;
    }
    const double weight = stage == 3 ? h : 0.5 * h;
    cal_range_combine(y, x[CAL_ONE_STEP_Y], x, 1, k + stage - 1, &weight, first, end);
    rk4_turn(context, column, h, stage, y);
}

CAL_WIDE static void euler_prepare(const cal_solver_context* context, const cal_column* column) {
    const cal_layout* layout = context->layout;
    double* restrict old = context->vectors[CAL_ONE_STEP_Y], * restrict y = context->y;
    const double* restrict f = context->vectors[CAL_ONE_STEP_F];
    const int first = cal_column_first(layout, column), end = cal_column_end(layout, column), W = layout->width;
    const int kind = column->kind, plain = cal_joint_plain(kind);
    const double h = context->down[DOWN_STEP];
    if (context->down[DOWN_COMMIT] == COMMIT_NOTHING) {
        cal_range_copy(y, old, first, end);
        return;
    }
    CAL_EACH(i, first, end) y[i] = old[i] + h * f[i];
    for (int b = column->first_block; b < column->first_block + column->block_count; b++) {
        const int at = layout->block_y[b], v = at + cal_kind_q(kind) * W, w = at + cal_angular_component(kind) * W;
        CAL_EACH(i, 0, plain * W) y[at + i] = old[at + i] + h * y[v + i];
        if (cal_joint_quaternion(kind) < 0) continue;
        CAL_EACH_LANE(l, W) {
            static const double all[4] = {1.0};
            lane_turn r = {.w = {{y[w + l], y[w + W + l], y[w + 2 * W + l]}}};
            for (int i = 0; i < 4; i++) r.q[i] = old[at + (cal_joint_quaternion(kind) + i) * W + l];
            turn(&r, h, all);
            write_quaternion(layout, kind, at, l, r.q, y);
        }
    }
    keep_previous(context, first, end);
    cal_normalize_column(layout, column, y);
    cal_range_copy(old, y, first, end);
}

// Keeps the derivative; the only sum is zero unless something is infinite or not a number.
CAL_WIDE_INLINE void keep_components(const double* restrict ydot, double* restrict out, int first, int end, int W,
                                     double* restrict shares) {
    CAL_EACH_LANE(l, W) shares[CAL_SHARE(0, W, l)] = 0.0;
    for (int i = first; i < end; i += W) {
        CAL_INDEPENDENT CAL_EACH_LANE(l, W) {
            out[i + l] = ydot[i + l];
            shares[CAL_SHARE(0, W, l)] += 0.0 * ydot[i + l];
        }
    }
}
CAL_WIDE_INLINE void keep_derivative(const cal_solver_context* context, double* out, int block, double* shares) {
    const int first = context->layout->block_y[block], end = context->layout->block_y[block + 1],
              W = context->layout->width;
    // The usual widths as constants, for the compiler.
    if (W == 8)
        keep_components(context->ydot, out, first, end, 8, shares);
    else if (W == 4)
        keep_components(context->ydot, out, first, end, 4, shares);
    else
        keep_components(context->ydot, out, first, end, W, shares);
}

// The k of stage j = 1 … 4.
CAL_DEVICE static inline int rk4_k(int j) { return j == 1 ? (int)CAL_ONE_STEP_F : (int)VECTOR_K + j - 2; }

// Into which vector that is.
CAL_DEVICE static inline int rk4_derivative(const double* down) { return rk4_k((int)down[DOWN_STAGE] + 1); }

CAL_DEVICE static inline int euler_derivative(const double* down) {
    (void)down;
    return CAL_ONE_STEP_F;
}

CAL_WIDE static void rk4_follow_up(const cal_solver_context* context, const cal_column* column, int block,
                                   double* shares) {
    (void)column;
    keep_derivative(context, context->vectors[rk4_derivative(context->down)], block, shares);
}

CAL_WIDE static void euler_follow_up(const cal_solver_context* context, const cal_column* column, int block,
                                     double* shares) {
    (void)column;
    keep_derivative(context, context->vectors[euler_derivative(context->down)], block, shares);
}

CAL_DEVICE static void rk4_interpolate(const void* memory, const cal_solver_context* context, const cal_column* column,
                                       double time, double* out) {
    const fixed_control* c = (const fixed_control*)memory;
    cal_one_step_interpolate(context, column, 1.0 + (time - c->accepted) / c->step, c->step, true, out);
}

CAL_DEVICE static void euler_interpolate(const void* memory, const cal_solver_context* context,
                                         const cal_column* column, double time, double* out) {
    const fixed_control* c = (const fixed_control*)memory;
    cal_one_step_interpolate(context, column, 1.0 + (time - c->accepted) / c->step, c->step, false, out);
}
