// Gear's method on the vectors of a column: what rides in the passes (gear.c has the method and its control).
#pragma once
#ifdef CAL_THREAD_PER_LANE
#include "solver/one_step_columns.h"
#endif
#include "solver/vectors.h"
#include <assert.h>

enum { LARGEST_ORDER = CAL_MAX_ORDER, ROWS = LARGEST_ORDER + 1 };
// CORRECTION is the predicted slope (P z)₁ from a step's prediction to its first follow-up, and e from then on; a further
// correction, which is rare, keeps the slope apart. What big models lack is memory's speed, so a vector less counts.
enum { CORRECTION = ROWS, SAVED, SLOPE_AGAIN, VECTOR_COUNT };
enum { MAX_CHANGE, SUM_CORRECTION, SUM_LAST, SUM_CHANGE, SUM_SECOND_CHANGE, SUM_COUNT };
// What control sends down.
enum {
    DOWN_MODE,
    DOWN_COMMIT, // 1: the last step succeeded, move the history on
    DOWN_OLD_ORDER,
    DOWN_INCREASE, // where the order grows: the new last row is e times this
    DOWN_SAVE,     // 1: keep e for ∇² of the next step
    DOWN_RATIO,    // new step size / old one
    DOWN_ORDER,    // one above the old order: a new last row, zero; one below: the last row is taken out of the others
    DOWN_STEP,
    DOWN_FIRST,  // l₀ of the present step
    DOWN_LAST,   // its l_q; 0: the sum of a_q is to be that of the old one; below 0: nobody asks for that sum
    DOWN_SECOND, // ≠ 0: ∇²a_q is wanted, since the order may change after this step: e less so much of the kept one
    DOWN_OLD,    // l of the old step
    DOWN_LOWER = DOWN_OLD + ROWS, // how much of the last row goes out of row j
    DOWN_COUNT = DOWN_LOWER + ROWS
};
static_assert((int)DOWN_COUNT <= CAL_MAX_DOWN, "numbers go down");
typedef enum gear_mode { MODE_EVALUATE, MODE_PREDICT, MODE_CORRECT } gear_mode;

typedef struct gear_control {
    cal_solver_settings settings;
    gear_mode mode;
    bool started;
    int largest_order, order, wait; // wait: steps before the next change of order is considered
    int iteration, failures, convergence_failures, not_finite;
    double time, step, largest_change, rate, last_correction;
    double past[ROWS];                         // past[i]: size of the i-th last step
    double l[ROWS], test, test_lower, test_up; // of the present step, and of its error tests
    double spread, kept_spread; // ξ_q / l_q, of the present step and of the one whose e is kept; 0: none is
    double failed_rate, failed_step,
        failed_until;               // the last step that failed: e/h, h and its end; 0: time is beyond it
    double used_l[ROWS], used_step; // of the last accepted step
    int used_order;
} gear_control;

// --- Preparation -----------------------------------------------------------------------------------------------------

// z ← P z + l e, the saved e; then the order changes.
CAL_WIDE_INLINE void commit(const cal_solver_context* context, int first, int end) {
    const double* down = context->down;
    double* const* z = context->vectors;
    const int order = (int)down[DOWN_OLD_ORDER], n = end - first;
    const double* restrict e = z[CORRECTION] + first;
    for (int k = 0; k < order; k++)
        for (int j = order - 1; j >= k; j--) {
            double* restrict row = z[j] + first;
            const double* restrict above = z[j + 1] + first;
            CAL_EACH(i, 0, n) row[i] += above[i];
        }
    for (int j = 0; j <= order; j++) {
        double* restrict row = z[j] + first;
        const double l = down[DOWN_OLD + j];
        CAL_EACH(i, 0, n) row[i] += l * e[i];
    }
    if (down[DOWN_SAVE] != 0.0) cal_range_copy(z[SAVED], z[CORRECTION], first, end);
    if ((int)down[DOWN_ORDER] > order) {
        double* restrict row = z[order + 1] + first;
        CAL_EACH(i, 0, n) row[i] = e[i] * down[DOWN_INCREASE];
    }
}

// One order down: the last row is taken out of the others.
CAL_WIDE_INLINE void lower_order(const cal_solver_context* context, int old, int first, int end) {
    double* const* z = context->vectors;
    const double* restrict last = z[old];
    for (int j = 2; j < old; j++) {
        const double share = context->down[DOWN_LOWER + j];
        double* restrict row = z[j];
        CAL_EACH(i, first, end) row[i] -= share * last[i];
    }
}

CAL_WIDE_INLINE void rescale(double* const* z, int order, double ratio, int first, int end) {
    double factor = 1.0;
    for (int j = 1; j <= order; j++) {
        factor *= ratio;
        double* restrict row = z[j];
        CAL_EACH(i, first, end) row[i] *= factor;
    }
}

// dq/dt is linear in q: a history divided by |q| is the history of the unit solution.
CAL_DEVICE static void normalize_history(const cal_solver_context* context, const cal_column* column, int order) {
    const int component = cal_joint_quaternion(column->kind), W = context->layout->width;
    if (component < 0) return;
    double* const* z = context->vectors;
    for (int b = column->first_block; b < column->first_block + column->block_count; b++) {
        const int first = context->layout->block_y[b] + component * W;
        CAL_EACH_LANE(l, W) {
            const double* q = z[0] + first + l;
            const double scale = 1.0 / sqrt(q[0] * q[0] + q[W] * q[W] + q[2 * W] * q[2 * W] + q[3 * W] * q[3 * W]);
            for (int c = 0; c < 4; c++) {
                const int at = first + c * W + l;
                for (int j = 0; j <= order; j++) z[j][at] *= scale;
                z[SAVED][at] *= scale;
            }
        }
    }
}

// (P z)₀ into y, (P z)₁ into the given vector.
CAL_WIDE_INLINE void predict(const cal_solver_context* context, int order, int slope_vector, int first, int end) {
    double* const* z = context->vectors;
    const int n = end - first;
    double value[CAL_OWN_CHUNK], slope[CAL_OWN_CHUNK];
    CAL_EACH(i, 0, n) value[CAL_IN_CHUNK(i)] = slope[CAL_IN_CHUNK(i)] = 0.0;
    for (int j = order; j > 0; j--) {
        const double* restrict row = z[j] + first;
        CAL_EACH(i, 0, n) {
            value[CAL_IN_CHUNK(i)] += row[i];
            slope[CAL_IN_CHUNK(i)] += j * row[i];
        }
    }
    const double* restrict row = z[0] + first;
    double* restrict y = context->y + first;
    double* restrict predicted_slope = z[slope_vector] + first;
    CAL_EACH(i, 0, n) {
        y[i] = value[CAL_IN_CHUNK(i)] + row[i];
        predicted_slope[i] = slope[CAL_IN_CHUNK(i)];
    }
}

#ifndef CAL_THREAD_PER_LANE
// What commit, rescale and predict do, in the same order, with all rows of a number in registers: rows are read once and written once. old: the
// order of the step that succeeded, known to the compiler; grows: the next one has one more.
#define EACH_ROW _Pragma("GCC unroll 16")
CAL_WIDE_INLINE void move_on_by_order(const cal_solver_context* context, int old, bool grows, int first, int end) {
    const double* down = context->down;
    const int order = grows ? old + 1 : old;
    double *const y = context->y, *const correction = context->vectors[CORRECTION];
    double *z[ROWS + 1], l[ROWS], factors[ROWS + 1], factor = 1.0;
    const double increase = down[DOWN_INCREASE];
    EACH_ROW for (int j = 0; j <= order; j++) {
        z[j] = context->vectors[j];
        factors[j] = factor;
        factor *= down[DOWN_RATIO];
    }
    EACH_ROW for (int j = 0; j <= old; j++) l[j] = down[DOWN_OLD + j];
    if (down[DOWN_SAVE] != 0.0) cal_range_copy(context->vectors[SAVED], correction, first, end);
    CAL_INDEPENDENT for (int i = first; i < end; i++) {
        double row[ROWS + 1], value = 0.0, slope = 0.0;
        const double e = correction[i];
        EACH_ROW for (int j = 0; j <= old; j++) row[j] = z[j][i];
        EACH_ROW for (int k = 0; k < old; k++) { EACH_ROW for (int j = old - 1; j >= k; j--) row[j] += row[j + 1]; }
        EACH_ROW for (int j = 0; j <= old; j++) row[j] += l[j] * e;
        if (grows) row[order] = e * increase;
        EACH_ROW for (int j = 1; j <= order; j++) row[j] *= factors[j];
        EACH_ROW for (int j = order; j > 0; j--) {
            value += row[j];
            slope += j * row[j];
        }
        EACH_ROW for (int j = 0; j <= order; j++) z[j][i] = row[j];
        y[i] = value + row[0];
        correction[i] = slope;
    }
}

// Where the order does not fall, and nothing comes in between.
CAL_WIDE_INLINE void move_on(const cal_solver_context* context, int first, int end) {
    const int old = (int)context->down[DOWN_OLD_ORDER];
    const bool grows = (int)context->down[DOWN_ORDER] > old;
#define MOVE_ON(order)                                                                                                 \
    case order:                                                                                                        \
        grows ? move_on_by_order(context, order, true, first, end)                                                     \
              : move_on_by_order(context, order, false, first, end);                                                   \
        break;
    switch (old) {
        MOVE_ON(1)
        MOVE_ON(2)
        MOVE_ON(3)
        MOVE_ON(4)
        MOVE_ON(5)
        MOVE_ON(6)
        MOVE_ON(7)
        MOVE_ON(8)
        MOVE_ON(9)
        MOVE_ON(10)
        MOVE_ON(11)
    default: move_on_by_order(context, LARGEST_ORDER, false, first, end); break;
    }
#undef MOVE_ON
}
#undef EACH_ROW
static_assert((int)LARGEST_ORDER == 12, "every order has a case");

// What a preparation of the next numbers will read, while others are computed with.
static void gear_fetch(const cal_solver_context* context, size_t first, int count) {
    double* const* z = context->vectors;
    const int order = (int)context->down[DOWN_OLD_ORDER];
    for (int i = 0; i < count; i += CAL_LINE) {
        for (int j = 0; j <= order; j++) __builtin_prefetch(z[j] + first + i, 1);
        __builtin_prefetch(z[CORRECTION] + first + i, 1);
        __builtin_prefetch(context->y + first + i, 1);
    }
}
#endif

CAL_WIDE static void gear_prepare(const cal_solver_context* context, const cal_column* column) {
    const double* down = context->down;
    double* const* z = context->vectors;
    const int first = cal_column_first(context->layout, column), end = cal_column_end(context->layout, column);
    const int order = (int)down[DOWN_ORDER];
    switch ((gear_mode)down[DOWN_MODE]) {
    case MODE_EVALUATE: cal_range_copy(context->y, z[0], first, end); break;
    case MODE_PREDICT:
#ifndef CAL_THREAD_PER_LANE
        if (down[DOWN_COMMIT] != 0.0 && order >= (int)down[DOWN_OLD_ORDER] && cal_joint_quaternion(column->kind) < 0) {
            move_on(context, first, end);
            break;
        }
#endif
        if (down[DOWN_COMMIT] != 0.0) {
            for (int i = first, next; i < end; i = next) {
                next = cal_chunk_end(i, end);
                commit(context, i, next);
            }
            normalize_history(context, column, order > (int)down[DOWN_OLD_ORDER] ? order : (int)down[DOWN_OLD_ORDER]);
        }
        for (int i = first, next; i < end; i = next) {
            next = cal_chunk_end(i, end);
            if (order < (int)down[DOWN_OLD_ORDER]) lower_order(context, (int)down[DOWN_OLD_ORDER], i, next);
            if (down[DOWN_RATIO] != 1.0) rescale(z, order, down[DOWN_RATIO], i, next);
            predict(context, order, CORRECTION, i, next);
        }
        break;
    case MODE_CORRECT: {
        // The prediction is made again rather than kept.
        const double* restrict e = z[CORRECTION];
        double* restrict y = context->y;
        for (int i = first, next; i < end; i = next) {
            next = cal_chunk_end(i, end);
            predict(context, order, SLOPE_AGAIN, i, next);
        }
        CAL_EACH(i, first, end) y[i] += down[DOWN_FIRST] * e[i];
        break;
    }
    }
}

#ifdef CAL_THREAD_PER_LANE
// A device's thread has the two numbers of a joint of one degree of freedom, and the rows of their history in registers from the step's end
// to the next prediction: what commit, lower_order, rescale and predict do, in the same order. old: the order of the step that
// succeeded, known to the compiler. All is read before anything is written: what is written may be what is read next, for all that the
// compiler knows.
enum { JOINT_NUMBERS = 2, MOST_IN_REGISTERS = 6 };
CAL_WIDE_INLINE void move_joint_on(const cal_solver_context* context, int old, int first) {
    const double* down = context->down;
    double* const* z = context->vectors;
    const int order = (int)down[DOWN_ORDER], at = first + CAL_OWN_LANE;
    const double ratio = down[DOWN_RATIO];
    double rows[JOINT_NUMBERS][MOST_IN_REGISTERS + 2], corrections[JOINT_NUMBERS];
    CAL_UNROLL for (int i = 0; i < JOINT_NUMBERS; i++) {
        corrections[i] = z[CORRECTION][at + i * CAL_WIDTH];
        CAL_UNROLL for (int j = 0; j <= old; j++) rows[i][j] = z[j][at + i * CAL_WIDTH];
    }
    CAL_UNROLL for (int i = 0; i < JOINT_NUMBERS; i++) {
        double* row = rows[i];
        const double e = corrections[i];
        const int to = at + i * CAL_WIDTH;
        CAL_UNROLL for (int k = 0; k < old; k++) CAL_UNROLL for (int j = old - 1; j >= k; j--) row[j] += row[j + 1];
        CAL_UNROLL for (int j = 0; j <= old; j++) row[j] += down[DOWN_OLD + j] * e;
        row[old + 1] = e * down[DOWN_INCREASE];
        if (down[DOWN_SAVE] != 0.0) z[SAVED][to] = e;
        if (order < old) CAL_UNROLL for (int j = 2; j < old; j++) row[j] -= down[DOWN_LOWER + j] * row[old];
        double factor = 1.0, value = 0.0, slope = 0.0;
        CAL_UNROLL for (int j = 1; j <= old + 1; j++) {
            factor *= ratio;
            if (ratio != 1.0 && j <= order) row[j] *= factor;
        }
        CAL_UNROLL for (int j = old + 1; j > 0; j--) {
            if (j > order) continue;
            value += row[j];
            slope += j * row[j];
        }
        CAL_UNROLL for (int j = 0; j <= old; j++) z[j][to] = row[j];
        if (order > old) z[old + 1][to] = row[old + 1];
        context->y[to] = value + row[0];
        z[CORRECTION][to] = slope;
    }
}

// Whether the block is one of such joints, and the order has its rows in registers.
CAL_DEVICE static inline bool move_joint_on_by_order(const cal_solver_context* context, const cal_column* block) {
    const int first = cal_column_first(context->layout, block);
    if (block->kind != CAL_REVOLUTE && block->kind != CAL_PRISMATIC) return false;
    switch ((int)context->down[DOWN_OLD_ORDER]) {
    case 1: move_joint_on(context, 1, first); return true;
    case 2: move_joint_on(context, 2, first); return true;
    case 3: move_joint_on(context, 3, first); return true;
    case 4: move_joint_on(context, 4, first); return true;
    case 5: move_joint_on(context, 5, first); return true;
    case MOST_IN_REGISTERS: move_joint_on(context, MOST_IN_REGISTERS, first); return true;
    default: return false;
    }
}
static_assert((int)MOST_IN_REGISTERS < (int)LARGEST_ORDER, "the row above has a place");

// The same of one block, for the device's many threads.
CAL_DEVICE static inline void gear_prepare_block(const cal_solver_context* context, const cal_column* block) {
    const double* down = context->down;
    const bool moves = (gear_mode)down[DOWN_MODE] == MODE_PREDICT && down[DOWN_COMMIT] != 0.0;
    if (!moves || !move_joint_on_by_order(context, block)) gear_prepare(context, block);
}
#endif

// --- Follow-up -------------------------------------------------------------------------------------------------------

// What the loops over one component's lanes read and write.
typedef struct correction_rows {
    double h, last_l, second, relative, absolute;
    const double* scale; // NULL: 1
    const double *y, *last, *slope_again, *saved, *ydot;
    double* correction;
} correction_rows;

// One number's correction, and its shares of the sums. again: not the step's first correction; lower: a_q is wanted;
// twice: ∇² is.
typedef struct number_correction {
    double e, actual, changed, change, second;
} number_correction;
CAL_WIDE_INLINE number_correction correct_number(const correction_rows* rows, double floor, double y, double last,
                                                 double saved, double ydot, double slope, double before, bool again,
                                                 bool lower, bool twice) {
    const double scale = 1.0 / (rows->relative * fabs(y) + floor), e = rows->h * ydot - slope;
    return (number_correction){.e = e,
                               .actual = (again ? e - before : e) * scale,
                               .changed = lower ? (last + rows->last_l * e) * scale : 0.0,
                               .change = e * scale,
                               .second = twice ? (e - rows->second * saved) * scale : 0.0};
}

// begins: the first component of a block.
CAL_WIDE_INLINE void add_correction(number_correction of, bool begins, int W, int l, double* restrict shares) {
    (void)W, (void)l;
    const double largest = begins ? 0.0 : shares[CAL_SHARE(MAX_CHANGE, W, l)];
    shares[CAL_SHARE(MAX_CHANGE, W, l)] = largest > of.change * of.change ? largest : of.change * of.change;
    shares[CAL_SHARE(SUM_CORRECTION, W, l)] =
        of.actual * of.actual + (begins ? 0.0 : shares[CAL_SHARE(SUM_CORRECTION, W, l)]);
    shares[CAL_SHARE(SUM_LAST, W, l)] = of.changed * of.changed + (begins ? 0.0 : shares[CAL_SHARE(SUM_LAST, W, l)]);
    shares[CAL_SHARE(SUM_CHANGE, W, l)] = of.change * of.change + (begins ? 0.0 : shares[CAL_SHARE(SUM_CHANGE, W, l)]);
    shares[CAL_SHARE(SUM_SECOND_CHANGE, W, l)] =
        of.second * of.second + (begins ? 0.0 : shares[CAL_SHARE(SUM_SECOND_CHANGE, W, l)]);
}

// One component of W lanes, `at` its first. scaled: components have scales of their own. What is a constant here leaves a loop without
// conditions, which a compiler turns into wide instructions.
CAL_WIDE_INLINE void correct_lanes(const correction_rows* rows, int at, int W, bool scaled, bool begins, bool again,
                                   bool lower, bool twice, double* restrict shares) {
    const double* restrict y = rows->y + at;
    const double* restrict last = rows->last + at;
    const double* restrict slope_again = rows->slope_again + at;
    const double* restrict saved = rows->saved + at;
    const double* restrict ydot = rows->ydot + at;
    double* restrict correction = rows->correction + at;
    CAL_INDEPENDENT CAL_EACH_LANE(l, W) {
        const double floor = scaled ? rows->absolute * rows->scale[at + l] : rows->absolute;
        const number_correction of =
            correct_number(rows, floor, y[l], lower ? last[l] : 0.0, twice ? saved[l] : 0.0, ydot[l],
                           again ? slope_again[l] : correction[l], correction[l], again, lower, twice);
        correction[l] = of.e;
        add_correction(of, begins, W, l, shares);
    }
}

CAL_WIDE_INLINE void correct_component(const correction_rows* rows, int at, int W, bool begins, bool again, bool lower,
                                       bool twice, double* restrict shares) {
    if (rows->scale)
        correct_lanes(rows, at, W, true, begins, again, lower, twice, shares);
    else
        correct_lanes(rows, at, W, false, begins, again, lower, twice, shares);
}

CAL_WIDE_INLINE correction_rows find_correction_rows(const cal_solver_context* context) {
    const double* down = context->down;
    double* const* z = context->vectors;
    return (correction_rows){.h = down[DOWN_STEP],
                             .last_l = down[DOWN_LAST],
                             .second = down[DOWN_SECOND],
                             .relative = context->relative,
                             .absolute = context->absolute,
                             .scale = context->scale,
                             .y = z[0],
                             .last = z[(int)down[DOWN_ORDER]],
                             .slope_again = z[SLOPE_AGAIN],
                             .saved = z[SAVED],
                             .ydot = context->ydot,
                             .correction = z[CORRECTION]};
}

CAL_WIDE_INLINE void follow_up_correct(const cal_solver_context* context, int first, int end, int W, bool again,
                                       bool lower, bool twice, double* shares) {
    const correction_rows rows = find_correction_rows(context);
    correct_component(&rows, first, W, true, again, lower, twice, shares);
    for (int i = first + W; i < end; i += W) correct_component(&rows, i, W, false, again, lower, twice, shares);
}

// The same with constants, for the compiler. twice only together with lower.
CAL_WIDE_INLINE void follow_up_by_case(const cal_solver_context* context, int first, int end, int W, bool again,
                                       bool lower, bool twice, double* shares) {
    if (!lower)
        follow_up_correct(context, first, end, W, again, false, false, shares);
    else if (!twice)
        follow_up_correct(context, first, end, W, again, true, false, shares);
    else
        follow_up_correct(context, first, end, W, again, true, true, shares);
}

#ifdef CAL_THREAD_PER_LANE
// What the first correction of a step reads of a joint of one degree of freedom, a block ahead of its use: all of it is asked for at once.
typedef struct gear_ahead {
    double y[JOINT_NUMBERS], last[JOINT_NUMBERS], saved[JOINT_NUMBERS], ydot[JOINT_NUMBERS], slope[JOINT_NUMBERS],
        scale[JOINT_NUMBERS];
} gear_ahead;

CAL_DEVICE static inline bool gear_reads_ahead(const cal_solver_context* context, const cal_column* column) {
    return (column->kind == CAL_REVOLUTE || column->kind == CAL_PRISMATIC) &&
           (gear_mode)context->down[DOWN_MODE] == MODE_PREDICT;
}

// What is not wanted is read where something else is: what is read under a condition is waited for at once. first: where the column's
// numbers begin.
CAL_WIDE_INLINE gear_ahead gear_read_ahead(const correction_rows* rows, int first, int block) {
    const double *last = rows->last_l >= 0.0 ? rows->last : rows->y,
                 *saved = rows->second != 0.0 ? rows->saved : rows->y, *scale = rows->scale ? rows->scale : rows->y;
    gear_ahead out;
    CAL_UNROLL for (int i = 0; i < JOINT_NUMBERS; i++) {
        const int at = first + (JOINT_NUMBERS * block + i) * CAL_WIDTH + CAL_OWN_LANE;
        out.y[i] = rows->y[at], out.last[i] = last[at], out.saved[i] = saved[at];
        out.ydot[i] = rows->ydot[at], out.slope[i] = rows->correction[at], out.scale[i] = scale[at];
    }
    return out;
}

CAL_WIDE_INLINE void gear_follow_ahead(const correction_rows* rows, int first, int block, const gear_ahead* own,
                                       double* shares) {
    CAL_UNROLL for (int i = 0; i < JOINT_NUMBERS; i++) {
        const double floor = rows->scale ? rows->absolute * own->scale[i] : rows->absolute;
        const number_correction of =
            correct_number(rows, floor, own->y[i], own->last[i], own->saved[i], own->ydot[i], own->slope[i],
                           own->slope[i], false, rows->last_l >= 0.0, rows->second != 0.0);
        rows->correction[first + (JOINT_NUMBERS * block + i) * CAL_WIDTH + CAL_OWN_LANE] = of.e;
        add_correction(of, i == 0, CAL_WIDTH, CAL_OWN_LANE, shares);
    }
}
#endif

// The derivative by itself, for a start.
CAL_DEVICE static void follow_up_evaluate(const cal_solver_context* context, int first, int end, int W,
                                          double* shares) {
    const double* y = context->vectors[0];
    double* row = context->vectors[1];
    const double h = context->down[DOWN_STEP];
    for (int k = 0; k < SUM_COUNT; k++) CAL_EACH_LANE(l, W) shares[CAL_SHARE(k, W, l)] = 0.0;
    for (int i = first; i < end; i += W) CAL_EACH_LANE(l, W) {
            const double f = context->ydot[i + l], part = f / cal_weight(context, i + l, y[i + l]);
            row[i + l] = h * f;
            shares[CAL_SHARE(SUM_CORRECTION, W, l)] += part * part;
        }
}

CAL_WIDE static void gear_follow_up(const cal_solver_context* context, const cal_column* column, int block,
                                    double* shares) {
    const int first = context->layout->block_y[block], end = context->layout->block_y[block + 1];
    const int W = context->layout->width;
#ifndef CAL_THREAD_PER_LANE
    if (column->brief) {
        // The same block of the next column, which is most often as long.
        const size_t next = (size_t)first + (size_t)(cal_column_end(context->layout, column) -
                                                     cal_column_first(context->layout, column));
        for (int i = 0; i < end - first; i += CAL_LINE) {
            __builtin_prefetch(context->vectors[0] + next + i);
            __builtin_prefetch(context->vectors[CORRECTION] + next + i, 1);
        }
    }
#else
    (void)column;
#endif
    const gear_mode mode = (gear_mode)context->down[DOWN_MODE];
    const bool lower = context->down[DOWN_LAST] >= 0.0, twice = context->down[DOWN_SECOND] != 0.0;
    const bool again = mode == MODE_CORRECT;
    if (mode == MODE_EVALUATE)
        follow_up_evaluate(context, first, end, W, shares);
    else if (W == 8 && !again)
        follow_up_by_case(context, first, end, 8, false, lower, twice, shares);
    else if (W == 8)
        follow_up_by_case(context, first, end, 8, true, lower, twice, shares);
    else if (W == 4 && !again)
        follow_up_by_case(context, first, end, 4, false, lower, twice, shares);
    else if (W == 4)
        follow_up_by_case(context, first, end, 4, true, lower, twice, shares);
    else
        follow_up_correct(context, first, end, W, again, lower, twice, shares);
}

CAL_DEVICE static void gear_interpolate(const void* memory, const cal_solver_context* context, const cal_column* column,
                                        double time, double* out) {
    const gear_control* g = (const gear_control*)memory;
    double* const* z = context->vectors;
    const double s = (time - g->time) / g->used_step;
    double factors[ROWS + 1], power = 1.0, moved = 1.0;
    int rows[ROWS + 1];
    const int q = g->used_order;
    factors[q] = 0.0;
    rows[q] = CORRECTION;
    for (int j = 0; j <= q; j++) {
        factors[q] += g->used_l[j] * power;
        power *= s;
        if (j == q) break;
        moved *= 1.0 + s;
        factors[j] = moved;
        rows[j] = j + 1;
    }
    cal_range_combine(out, z[0], z, q + 1, rows, factors, cal_column_first(context->layout, column),
                      cal_column_end(context->layout, column));
    cal_normalize_column(context->layout, column, out);
}
