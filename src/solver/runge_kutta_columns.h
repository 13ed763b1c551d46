// Runge-Kutta methods on the vectors of a column: what rides in the passes (runge_kutta.c has the methods and their control).
#pragma once
#ifdef CAL_THREAD_PER_LANE
#include "solver/one_step_columns.h"
#endif
#include "solver/vectors.h"
#include <assert.h>

enum { STAGES = 6 };
enum {
    VECTOR_NEXT = CAL_ONE_STEP_OWN, // the attempt's result
    VECTOR_FULL,                    // Y
    VECTOR_MIDDLE,
    VECTOR_K,
    VECTOR_COUNT = VECTOR_K + STAGES,
    VECTOR_FOURTH = VECTOR_COUNT, // with a middle: v⁽⁴⁾ of the last step
    VECTOR_COUNT_MIDDLE
};
typedef enum finish {
    FINISH_NOTHING,
    FINISH_FULL,
    FINISH_MIDDLE,
    FINISH_EMBEDDED,
    FINISH_DOUBLING,
    FINISH_INSIDE // the last step, with the derivative at its end: how good its polynomial is
} finish;
// What control sends down.
enum {
    DOWN_COMMIT, // 1: the attempt succeeded, its result is the new y₀
    DOWN_STAGE,
    DOWN_PASS,                         // 0, 1, 2
    DOWN_FINISH,                       // what the stage's follow-up completes
    DOWN_EXTRAPOLATE,                  // 1 / (2ᵖ − 1)
    DOWN_ROW,                          // h a_ij of the stage
    DOWN_RESULT = DOWN_ROW + STAGES,   // h b_j
    DOWN_ERROR = DOWN_RESULT + STAGES, // e_j
    DOWN_USED = DOWN_ERROR + STAGES,   // with a middle: the last step's size, and that of the one before it (0: none)
    DOWN_BEFORE,
    DOWN_UNHEARD, // h where the second stage has no weight in either formula; else 0
    DOWN_MIDDLE,
    DOWN_COUNT = DOWN_MIDDLE + STAGES + 1
};
static_assert((int)DOWN_COUNT <= CAL_MAX_DOWN, "numbers go down");

// Control's memory is written into checkpoints, so it names its method by a number: an address would be another one
// there.
typedef enum method_name { METHOD_iec, METHOD_rki, METHOD_rkg, METHOD_rkf, METHOD_rkck } method_name;
typedef struct rk_control {
    method_name method;
    cal_solver_settings settings;
    double time, step;
    double used;                     // size of the last successful step
    double before;                   // and of the one before it; 0: none
    bool chosen;                     // the first step's size
    bool pending;                    // a step succeeded and waits for the derivative at its end
    bool failed;                     // the present step, before
    bool has_middle, own_velocities; // of the method: for samples within a step
    int pass, stage, not_finite;
} rk_control;

// The first derivative of the first pass is dy/dt at y₀ and stays for the dense output.
CAL_DEVICE static int stage_vector(int pass, int stage) {
    return pass == 0 && stage == 0 ? CAL_ONE_STEP_F : VECTOR_K + stage;
}

CAL_DEVICE static int stage_vectors(int pass, int index[STAGES]) {
    for (int j = 0; j < STAGES; j++) index[j] = stage_vector(pass, j);
    return pass == 2 ? VECTOR_MIDDLE : CAL_ONE_STEP_Y;
}

CAL_WIDE static void rk_prepare(const cal_solver_context* context, const cal_column* column) {
    const double* down = context->down;
    double* const* x = context->vectors;
    const int first = cal_column_first(context->layout, column), end = cal_column_end(context->layout, column);
    const int stage = (int)down[DOWN_STAGE];
    if (down[DOWN_COMMIT] != 0.0) {
        cal_range_copy(x[CAL_ONE_STEP_PREVIOUS], x[CAL_ONE_STEP_Y], first, end);
        cal_range_copy(x[CAL_ONE_STEP_PREVIOUS_F], x[CAL_ONE_STEP_F], first, end);
        cal_range_copy(x[CAL_ONE_STEP_Y], x[VECTOR_NEXT], first, end);
        cal_normalize_column(context->layout, column, x[CAL_ONE_STEP_Y]);
    }
    int index[STAGES];
    const int base = stage_vectors((int)down[DOWN_PASS], index);
    cal_range_combine(context->y, x[base], x, stage, index, down + DOWN_ROW, first, end);
}

// The largest of a lane's components of `error` by their weights.
CAL_WIDE_INLINE void largest(const cal_solver_context* context, const double* error, int first, int end,
                             double* shares) {
    const int W = context->layout->width;
    const double* y = context->vectors[CAL_ONE_STEP_Y];
    CAL_EACH_LANE(l, W) shares[CAL_SHARE(0, W, l)] = 0.0;
    for (int i = first; i < end; i += W) CAL_EACH_LANE(l, W) {
            const double size = cal_size(error[CAL_OWN(i - first + l)] / cal_weight(context, i + l, y[i + l]));
            double* share = &shares[CAL_SHARE(0, W, l)];
            *share = size > *share ? size : *share;
        }
}

// v(½) of the last step less the cubic of its ends there; the stages are still there until this step's second
// evaluation.
CAL_WIDE_INLINE double middle_rest(const cal_solver_context* context, int i) {
    double* const* x = context->vectors;
    const double* d = context->down + DOWN_MIDDLE;
    const double f0 = x[CAL_ONE_STEP_PREVIOUS_F][i], f1 = x[CAL_ONE_STEP_F][i];
    double sum = d[0] * f0;
    for (int j = 1; j < STAGES; j++) sum += d[j] * x[stage_vector(0, j)][i];
    sum += d[STAGES] * f1;
    return context->down[DOWN_USED] * (sum - (f0 - f1) / 8.0) -
           0.5 * (x[CAL_ONE_STEP_Y][i] - x[CAL_ONE_STEP_PREVIOUS][i]);
}

// What the polynomial of the last step's velocities lacks, of a block; positions' is much better.
CAL_WIDE_INLINE void find_inside(const cal_solver_context* context, const cal_column* column, int first, int end,
                                 double* error) {
    const double h = context->down[DOWN_USED], before = context->down[DOWN_BEFORE];
    const int v = first + cal_kind_q(column->kind) * context->layout->width;
    double* fourth = context->vectors[VECTOR_FOURTH];
    CAL_EACH(i, first, v) error[CAL_OWN(i - first)] = 0.0 * context->ydot[i];
    CAL_EACH(i, v, end) {
        const double here = 384.0 * middle_rest(context, i) / (h * h * h * h);
        const double fifth = before > 0.0 ? (here - fourth[i]) / (0.5 * (h + before)) : 0.0 * here;
        error[CAL_OWN(i - first)] = h * h * h * h * h * fifth / 13416.0;
        fourth[i] = here;
    }
}

// What the second stage alone has seen of a step, where that is more than the error: it has no weight in the formulas that are compared.
CAL_WIDE_INLINE void hear_second(const cal_solver_context* context, const int* index, int count, int first, int end,
                                 double* error) {
    double* const* x = context->vectors;
    const double h = context->down[DOWN_UNHEARD];
    CAL_EACH(i, first, end) {
        const double k1 = x[index[0]][i];
        double most = 0.0;
        for (int j = 2; j < count; j++) {
            const double change = cal_size(x[index[j]][i] - k1);
            most = change > most ? change : most;
        }
        const double alone = h * (cal_size(x[index[1]][i] - k1) - 2.0 * most);
        double* own = &error[CAL_OWN(i - first)];
        *own = alone > cal_size(*own) ? alone : *own;
    }
}

CAL_WIDE static void rk_follow_up(const cal_solver_context* context, const cal_column* column, int block,
                                  double* shares) {
    const double* down = context->down;
    double* const* x = context->vectors;
    const int first = context->layout->block_y[block], end = context->layout->block_y[block + 1], n = end - first;
    const int pass = (int)down[DOWN_PASS], stage = (int)down[DOWN_STAGE];
    const finish what = (finish)down[DOWN_FINISH];
    double error[(7 + 6) * CAL_OWN_LANES(CAL_MAX_LANES)];
    int index[STAGES];
    const int base = stage_vectors(pass, index), count = stage + 1;
    cal_range_copy(x[index[stage]], context->ydot, first, end);

    double* result = x[what == FINISH_FULL ? VECTOR_FULL : what == FINISH_MIDDLE ? VECTOR_MIDDLE : VECTOR_NEXT];
    if (what != FINISH_NOTHING && what != FINISH_INSIDE)
        cal_range_combine(result, x[base], x, count, index, down + DOWN_RESULT, first, end);
    if (what == FINISH_EMBEDDED) {
        CAL_EACH(i, 0, n) error[CAL_OWN(i)] = 0.0;
        for (int j = 0; j < count; j++)
            CAL_EACH(i, 0, n) error[CAL_OWN(i)] += down[DOWN_ERROR + j] * x[index[j]][first + i];
        if (down[DOWN_UNHEARD] > 0.0) hear_second(context, index, count, first, end, error);
    } else if (what == FINISH_DOUBLING) {
        const double* full = x[VECTOR_FULL];
        CAL_EACH(i, 0, n) {
            error[CAL_OWN(i)] = (result[first + i] - full[first + i]) * down[DOWN_EXTRAPOLATE];
            result[first + i] += error[CAL_OWN(i)];
        }
    } else if (what == FINISH_INSIDE) {
        find_inside(context, column, first, end, error);
    } else {
        CAL_EACH(i, 0, n) error[CAL_OWN(i)] = context->ydot[first + i];
    }
    largest(context, error, first, end, shares);
}

// Velocities at the fraction s of the last step: the cubic of values and slopes at both ends, and 16 s² (1 − s)² times
// what it lacks in the middle. The stages are still there, until the next execution; the first has become the previous
// derivative.
CAL_DEVICE static void interpolate_velocities(const cal_solver_context* context, const cal_column* column, double s,
                                              double h, bool has_middle, double* out) {
    const cal_layout* layout = context->layout;
    double* const* x = context->vectors;
    const double *y0 = x[CAL_ONE_STEP_PREVIOUS], *y1 = x[CAL_ONE_STEP_Y];
    const double *f0 = x[CAL_ONE_STEP_PREVIOUS_F], *f1 = x[CAL_ONE_STEP_F];
    const double rise = s * s * (3.0 - 2.0 * s), bump = 16.0 * s * s * (1.0 - s) * (1.0 - s);
    const double c0 = h * s * (1.0 - s) * (1.0 - s), c1 = h * s * s * (s - 1.0);
    for (int b = column->first_block; b < column->first_block + column->block_count; b++)
        CAL_EACH(i, layout->block_y[b] + cal_kind_q(column->kind) * layout->width, layout->block_y[b + 1]) {
            out[i] = (y0[i] + rise * (y1[i] - y0[i])) + (c0 * f0[i] + c1 * f1[i]);
            if (has_middle) out[i] += bump * middle_rest(context, i);
        }
}

CAL_DEVICE static void rk_interpolate(const void* memory, const cal_solver_context* context, const cal_column* column,
                                      double time, double* out) {
    const rk_control* c = (const rk_control*)memory;
    const double s = 1.0 + (time - c->time) / c->used;
    cal_one_step_interpolate(context, column, s, c->used, true, out);
    if (c->has_middle || c->own_velocities) interpolate_velocities(context, column, s, c->used, c->has_middle, out);
}
