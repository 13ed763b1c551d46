// Fixed steps of a group of a batch: rk4_prepare and euler_prepare (solver/fixed_step_columns.h) of all columns of a group, by the warp that
// walks it afterwards. A warp alone would wait for each number, so it asks for those of many rows before it uses the first.
//
// Joints with one degree of freedom are most of a model, and stages leave the rates of their positions out: these are the velocities
// at which a stage was evaluated, which follow from the accelerations of the stage before by the operations that found them then,
//
//   v₁ = v,  v₂ = v + ½h a₁,  v₃ = v + ½h a₂,  v₄ = v + h a₃
//
// The state at the end of a step is evaluated where it is kept (CAL_ONE_STEP_Y), the places of stages in the slot's y.
// Include after solver/fixed_step_columns.h and math/lane_memory.h.
#pragma once

CAL_DEVICE static inline bool is_joint_column(const cal_column* column) {
    return column->kind == CAL_REVOLUTE || column->kind == CAL_PRISMATIC;
}

// Joints whose rows follow each other in y: where they begin, and how many.
typedef struct joint_range {
    int first, count;
} joint_range;

// Of the joint columns from number `column` on, which moves to the one after them.
CAL_DEVICE static inline joint_range next_joints(const cal_layout* layout, int* column) {
    const int first = cal_column_first(layout, &layout->columns[*column]);
    int end = first;
    while (*column < layout->column_count && is_joint_column(&layout->columns[*column]) &&
           cal_column_first(layout, &layout->columns[*column]) == end)
        end = cal_column_end(layout, &layout->columns[(*column)++]);
    return (joint_range){first, (end - first) / (2 * CAL_WIDTH)};
}

// at_once(context, first row, …) of the joints of a range, as many at once as registers allow: `count`, a constant, is 10, 3 or 1.
#define CAL_AT_ONCE static inline __attribute__((always_inline))
#define EACH_JOINTS(at_once, context, range, ...)                                                                      \
    do {                                                                                                               \
        int joint = 0;                                                                                                 \
        for (; joint + 8 <= (range).count; joint += 8)                                                               \
            at_once(context, (range).first + 2 * CAL_WIDTH * joint + CAL_OWN_LANE, 8, __VA_ARGS__);                   \
        for (; joint + 3 <= (range).count; joint += 3)                                                                 \
            at_once(context, (range).first + 2 * CAL_WIDTH * joint + CAL_OWN_LANE, 3, __VA_ARGS__);                    \
        for (; joint < (range).count; joint++)                                                                         \
            at_once(context, (range).first + 2 * CAL_WIDTH * joint + CAL_OWN_LANE, 1, __VA_ARGS__);                    \
    } while (0)
enum { MOST_AT_ONCE = 10 };

CAL_DEVICE static inline void keep_joint(const cal_solver_context* context, int at, int joint, double q, double v,
                                         double a) {
    double *y = context->vectors[CAL_ONE_STEP_PREVIOUS] + at, *f = context->vectors[CAL_ONE_STEP_PREVIOUS_F] + at;
    STORE_ONCE(y, 2 * joint, q), STORE_ONCE(y, 2 * joint + 1, v);
    STORE_ONCE(f, 2 * joint, v), STORE_ONCE(f, 2 * joint + 1, a);
}

// Where stage 1, 2 or 3 (counted from 0) is evaluated.
CAL_DEVICE CAL_AT_ONCE void rk4_stage_joints(const cal_solver_context* context, int at, int count, int stage) {
    const double h = context->down[DOWN_STEP], half = 0.5 * h, weight = stage == 3 ? h : half;
    const double *y = context->vectors[CAL_ONE_STEP_Y] + at, *k = context->vectors[rk4_k(stage)] + at,
                 *before = context->vectors[rk4_k(stage == 1 ? 1 : stage - 1)] + at;
    double *out = context->y + at, q[MOST_AT_ONCE], v[MOST_AT_ONCE], a[MOST_AT_ONCE], b[MOST_AT_ONCE];
    CAL_UNROLL for (int n = 0; n < count; n++) {
        q[n] = LOAD_ONCE(y, 2 * n), v[n] = LOAD_ONCE(y, 2 * n + 1);
        a[n] = LOAD_ONCE(k, 2 * n + 1), b[n] = LOAD_ONCE(before, 2 * n + 1);
    }
    CAL_UNROLL for (int n = 0; n < count; n++) {
        const double rate = stage == 1 ? v[n] : v[n] + (0.0 + half * b[n]);
        STORE_FAR(out, 2 * n, q[n] + (0.0 + weight * rate));
        STORE_FAR(out, 2 * n + 1, v[n] + (0.0 + weight * a[n]));
    }
}

CAL_DEVICE CAL_AT_ONCE void rk4_commit_joints(const cal_solver_context* context, int at, int count, bool keeps) {
    const double h = context->down[DOWN_STEP], half = 0.5 * h, outer = h / 6.0, inner = h / 3.0;
    double *y = context->vectors[CAL_ONE_STEP_Y] + at, q[MOST_AT_ONCE], v[MOST_AT_ONCE], a[4][MOST_AT_ONCE];
    CAL_UNROLL for (int n = 0; n < count; n++) q[n] = LOAD_ONCE(y, 2 * n), v[n] = LOAD_ONCE(y, 2 * n + 1);
    CAL_UNROLL for (int j = 0; j < 4; j++) {
        const double* k = context->vectors[rk4_k(j + 1)] + at;
        CAL_UNROLL for (int n = 0; n < count; n++) a[j][n] = LOAD_ONCE(k, 2 * n + 1);
    }
    CAL_UNROLL for (int n = 0; n < count; n++) {
        const double second = v[n] + (0.0 + half * a[0][n]), third = v[n] + (0.0 + half * a[1][n]),
                     fourth = v[n] + (0.0 + h * a[2][n]);
        const double moved = 0.0 + outer * v[n] + inner * second + inner * third + outer * fourth;
        const double gained = 0.0 + outer * a[0][n] + inner * a[1][n] + inner * a[2][n] + outer * a[3][n];
        if (keeps) keep_joint(context, at, n, q[n], v[n], a[0][n]);
        STORE_FAR(y, 2 * n, q[n] + moved);
        STORE_FAR(y, 2 * n + 1, v[n] + gained);
    }
}

CAL_DEVICE CAL_AT_ONCE void euler_joints(const cal_solver_context* context, int at, int count, bool keeps) {
    const double h = context->down[DOWN_STEP], *f = context->vectors[CAL_ONE_STEP_F] + at;
    double *y = context->vectors[CAL_ONE_STEP_Y] + at, q[MOST_AT_ONCE], v[MOST_AT_ONCE], a[MOST_AT_ONCE];
    CAL_UNROLL for (int n = 0; n < count; n++) {
        q[n] = LOAD_ONCE(y, 2 * n), v[n] = LOAD_ONCE(y, 2 * n + 1), a[n] = LOAD_ONCE(f, 2 * n + 1);
    }
    CAL_UNROLL for (int n = 0; n < count; n++) {
        const double after = v[n] + h * a[n];
        if (keeps) keep_joint(context, at, n, q[n], v[n], a[n]);
        STORE_FAR(y, 2 * n, q[n] + h * after);
        STORE_FAR(y, 2 * n + 1, after);
    }
}

// y + ∑ weight_j k_j of some rows, j = first … first + count - 1, into the slot's y; rows and count are constants.
enum { MOST_ROWS = 7 };
CAL_DEVICE CAL_AT_ONCE void combine_rows(const cal_solver_context* context, int at, int rows, int first, int count,
                                         const double* weights) {
    double base[MOST_ROWS], k[4][MOST_ROWS];
    CAL_UNROLL for (int r = 0; r < rows; r++) base[r] = LOAD_ONCE(context->vectors[CAL_ONE_STEP_Y] + at, r);
    CAL_UNROLL for (int j = 0; j < count; j++) {
        const double* from = context->vectors[rk4_k(first + j)] + at;
        CAL_UNROLL for (int r = 0; r < rows; r++) k[j][r] = LOAD_ONCE(from, r);
    }
    CAL_UNROLL for (int r = 0; r < rows; r++) {
        double sum = 0.0;
        CAL_UNROLL for (int j = 0; j < count; j++) sum += weights[j] * k[j][r];
        STORE_FAR(context->y + at, r, base[r] + sum);
    }
}

// Rows of the slot's y become the state's.
CAL_DEVICE CAL_AT_ONCE void take_state(const cal_solver_context* context, int at, int rows) {
    double y[MOST_ROWS];
    CAL_UNROLL for (int r = 0; r < rows; r++) y[r] = LOAD(context->y + at, r);
    CAL_UNROLL for (int r = 0; r < rows; r++) STORE_FAR(context->vectors[CAL_ONE_STEP_Y] + at, r, y[r]);
}

// A column of balls, or a free joint, with so many rows of positions and of velocities.
CAL_DEVICE CAL_AT_ONCE void rk4_prepare_turning(const cal_solver_context* context, const cal_column* column, int stage,
                                                int q_rows, int v_rows) {
    const cal_layout* layout = context->layout;
    const int end = column->first_block + column->block_count;
    const double h = context->down[DOWN_STEP], weights[4] = {h / 6.0, h / 3.0, h / 3.0, h / 6.0},
                 weight = stage == 3 ? h : 0.5 * h;
    for (int block = column->first_block; block < end; block++) {
        const int q = layout->block_y[block] + CAL_OWN_LANE, v = q + q_rows * CAL_WIDTH;
        if (stage == 0) {
            combine_rows(context, q, q_rows, 1, 4, weights);
            combine_rows(context, v, v_rows, 1, 4, weights);
        } else {
            combine_rows(context, q, q_rows, stage, 1, &weight);
            combine_rows(context, v, v_rows, stage, 1, &weight);
        }
    }
    rk4_turn(context, column, h, stage, context->y);
    if (stage != 0) return;
    keep_previous(context, cal_column_first(layout, column), cal_column_end(layout, column));
    cal_normalize_column(layout, column, context->y);
    for (int block = column->first_block; block < end; block++) {
        const int q = layout->block_y[block] + CAL_OWN_LANE;
        take_state(context, q, q_rows);
        take_state(context, q + q_rows * CAL_WIDTH, v_rows);
    }
}

// What control sends down with evaluation i, and of which stage that is.
CAL_DEVICE static inline const double* sent_down(const cal_device_work* work, int i) {
    return work->numbers + i * work->down_count;
}
CAL_DEVICE static inline int stage_of(const cal_device_work* work, int i) {
    return work->stepping == CAL_STEPPING_RK4 ? (int)sent_down(work, i)[DOWN_STAGE] : 0;
}

// Where evaluation i of a group is evaluated, and what it writes.
CAL_DEVICE static inline double* group_vector(const cal_device_work* work, int vector, int group) {
    return work->vectors[vector] + (size_t)group * work->y_stride;
}
CAL_DEVICE static inline double* stage_room(const cal_device_work* work, int group, int slot) {
    return work->slot_y ? work->slot_y + (size_t)slot * work->y_stride
                        : work->context.y + (size_t)group * work->y_stride;
}
CAL_DEVICE static inline double* stage_y(const cal_device_work* work, int group, int slot, int i) {
    return stage_of(work, i) == 0 ? group_vector(work, CAL_ONE_STEP_Y, group) : stage_room(work, group, slot);
}
CAL_DEVICE static inline double* stage_ydot(const cal_device_work* work, int group, int i) {
    return group_vector(work, rk4_k(stage_of(work, i) + 1), group);
}

// What the solver's functions see of a group for evaluation i. vectors: room for where they are.
CAL_DEVICE static inline cal_solver_context step_context(const cal_device_work* work, int group, int slot, int i,
                                                         double** vectors) {
    CAL_UNROLL for (int k = 0; k < VECTOR_COUNT_RK4; k++) vectors[k] = group_vector(work, k, group);
    return (cal_solver_context){.layout = &work->layout,
                                .y = stage_room(work, group, slot),
                                .vectors = vectors,
                                .down = sent_down(work, i)};
}

// Whether evaluation i moves anything: all do but the first one of a run.
CAL_DEVICE static inline bool is_prepared(const cal_device_work* work, int i) {
    return stage_of(work, i) != 0 || sent_down(work, i)[DOWN_COMMIT] != COMMIT_NOTHING;
}

// Columns of joints with one degree of freedom.
CAL_DEVICE static inline void prepare_joints(const cal_device_work* work, int group, int slot, int i) {
    const cal_layout* layout = &work->layout;
    double* vectors[VECTOR_COUNT_RK4];
    const cal_solver_context own = step_context(work, group, slot, i, vectors);
    const int stage = stage_of(work, i);
    const bool keeps = own.down[DOWN_COMMIT] != COMMIT_UNSEEN;
    for (int column = 0; is_prepared(work, i) && column < layout->column_count;) {
        if (!is_joint_column(&layout->columns[column])) {
            column++;
            continue;
        }
        const joint_range range = next_joints(layout, &column);
        if (work->stepping == CAL_STEPPING_EULER)
            EACH_JOINTS(euler_joints, &own, range, keeps);
        else if (stage == 0)
            EACH_JOINTS(rk4_commit_joints, &own, range, keeps);
        else
            EACH_JOINTS(rk4_stage_joints, &own, range, stage);
    }
}

// Of a column with quaternions.
CAL_DEVICE static inline void prepare_turning(const cal_device_work* work, int group, const cal_column* column) {
    double* vectors[VECTOR_COUNT_RK4];
    const cal_solver_context own = step_context(work, group, 0, 0, vectors);
    if (is_joint_column(column) || !is_prepared(work, 0)) return;
    if (work->stepping == CAL_STEPPING_EULER)
        euler_prepare(&own, column);
    else if (column->kind == CAL_FREE)
        rk4_prepare_turning(&own, column, stage_of(work, 0), 7, 6);
    else
        rk4_prepare_turning(&own, column, stage_of(work, 0), 4, 3);
}
