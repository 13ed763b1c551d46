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

enum { JOINTS_AT_ONCE = 10, MOST_ROWS = 13 }; // rows: of a free joint

// The k of stage j = 1 … 4.
CAL_DEVICE static inline int rk4_k(int j) { return j == 1 ? (int)CAL_ONE_STEP_F : (int)VECTOR_K + j - 2; }

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

// Joint number i + n of a range, or its last one.
#define JOINT(i, n, range) ((i) + (n) < (range).count ? (i) + (n) : (range).count - 1)

CAL_DEVICE static inline void keep_joint(const cal_solver_context* context, int at, int joint, double q, double v,
                                         double a) {
    double *y = context->vectors[CAL_ONE_STEP_PREVIOUS] + at, *f = context->vectors[CAL_ONE_STEP_PREVIOUS_F] + at;
    STORE_ONCE(y, 2 * joint, q), STORE_ONCE(y, 2 * joint + 1, v);
    STORE_ONCE(f, 2 * joint, v), STORE_ONCE(f, 2 * joint + 1, a);
}

// Where stage 1, 2 or 3 (counted from 0) is evaluated.
CAL_DEVICE static inline void rk4_stage_joints(const cal_solver_context* context, joint_range range, int stage) {
    const int at = range.first + CAL_OWN_LANE;
    const double h = context->down[DOWN_STEP], half = 0.5 * h, weight = stage == 3 ? h : half;
    const double *y = context->vectors[CAL_ONE_STEP_Y] + at, *k = context->vectors[rk4_k(stage)] + at,
                 *before = context->vectors[rk4_k(stage == 1 ? 1 : stage - 1)] + at;
    double* out = context->y + at;
    for (int i = 0; i < range.count; i += JOINTS_AT_ONCE) {
        double q[JOINTS_AT_ONCE], v[JOINTS_AT_ONCE], a[JOINTS_AT_ONCE], b[JOINTS_AT_ONCE];
        CAL_UNROLL for (int n = 0; n < JOINTS_AT_ONCE; n++) {
            const int joint = JOINT(i, n, range);
            q[n] = LOAD_ONCE(y, 2 * joint), v[n] = LOAD_ONCE(y, 2 * joint + 1);
            a[n] = LOAD_ONCE(k, 2 * joint + 1), b[n] = LOAD_ONCE(before, 2 * joint + 1);
        }
        CAL_UNROLL for (int n = 0; n < JOINTS_AT_ONCE; n++) {
            if (i + n >= range.count) break;
            const double rate = stage == 1 ? v[n] : v[n] + (0.0 + half * b[n]);
            STORE_FAR(out, 2 * (i + n), q[n] + (0.0 + weight * rate));
            STORE_FAR(out, 2 * (i + n) + 1, v[n] + (0.0 + weight * a[n]));
        }
    }
}

CAL_DEVICE static inline void rk4_commit_joints(const cal_solver_context* context, joint_range range) {
    const int at = range.first + CAL_OWN_LANE;
    const double h = context->down[DOWN_STEP], half = 0.5 * h, outer = h / 6.0, inner = h / 3.0;
    double* y = context->vectors[CAL_ONE_STEP_Y] + at;
    for (int i = 0; i < range.count; i += JOINTS_AT_ONCE) {
        double q[JOINTS_AT_ONCE], v[JOINTS_AT_ONCE], a[JOINTS_AT_ONCE][4];
        CAL_UNROLL for (int n = 0; n < JOINTS_AT_ONCE; n++) {
            const int joint = JOINT(i, n, range);
            q[n] = LOAD_ONCE(y, 2 * joint), v[n] = LOAD_ONCE(y, 2 * joint + 1);
            CAL_UNROLL for (int j = 0; j < 4; j++)
                a[n][j] = LOAD_ONCE(context->vectors[rk4_k(j + 1)] + at, 2 * joint + 1);
        }
        CAL_UNROLL for (int n = 0; n < JOINTS_AT_ONCE; n++) {
            if (i + n >= range.count) break;
            const double second = v[n] + (0.0 + half * a[n][0]), third = v[n] + (0.0 + half * a[n][1]),
                         fourth = v[n] + (0.0 + h * a[n][2]);
            const double moved = 0.0 + outer * v[n] + inner * second + inner * third + outer * fourth;
            const double gained = 0.0 + outer * a[n][0] + inner * a[n][1] + inner * a[n][2] + outer * a[n][3];
            if (context->down[DOWN_COMMIT] != COMMIT_UNSEEN) keep_joint(context, at, i + n, q[n], v[n], a[n][0]);
            STORE_FAR(y, 2 * (i + n), q[n] + moved);
            STORE_FAR(y, 2 * (i + n) + 1, v[n] + gained);
        }
    }
}

// y + ∑ weight_j k_j of all rows of a block, j = first … first + count - 1, into the slot's y.
CAL_DEVICE static inline void combine_block(const cal_solver_context* context, int at, int rows, int first, int count,
                                            const double* weights) {
    double base[MOST_ROWS], k[4][MOST_ROWS];
    CAL_UNROLL for (int r = 0; r < MOST_ROWS; r++) {
        const int row = r < rows ? r : rows - 1;
        base[r] = LOAD_ONCE(context->vectors[CAL_ONE_STEP_Y] + at, row);
        CAL_UNROLL for (int j = 0; j < count; j++) k[j][r] = LOAD_ONCE(context->vectors[rk4_k(first + j)] + at, row);
    }
    CAL_UNROLL for (int r = 0; r < MOST_ROWS; r++) {
        if (r >= rows) break;
        double sum = 0.0;
        CAL_UNROLL for (int j = 0; j < count; j++) sum += weights[j] * k[j][r];
        STORE_FAR(context->y + at, r, base[r] + sum);
    }
}

// A column whose joints have quaternions.
CAL_DEVICE static inline void rk4_prepare_turning(const cal_solver_context* context, const cal_column* column,
                                                  int stage) {
    const cal_layout* layout = context->layout;
    const int rows = cal_kind_q(column->kind) + cal_kind_v(column->kind);
    const double h = context->down[DOWN_STEP], weights[4] = {h / 6.0, h / 3.0, h / 3.0, h / 6.0},
                 weight = stage == 3 ? h : 0.5 * h;
    for (int block = column->first_block; block < column->first_block + column->block_count; block++) {
        const int at = layout->block_y[block] + CAL_OWN_LANE;
        if (stage == 0)
            combine_block(context, at, rows, 1, 4, weights);
        else
            combine_block(context, at, rows, stage, 1, &weight);
    }
    rk4_turn(context, column, h, stage, context->y);
    if (stage != 0) return;
    keep_previous(context, cal_column_first(layout, column), cal_column_end(layout, column));
    cal_normalize_column(layout, column, context->y);
    for (int block = column->first_block; block < column->first_block + column->block_count; block++) {
        const int at = layout->block_y[block] + CAL_OWN_LANE;
        double y[MOST_ROWS];
        CAL_UNROLL for (int r = 0; r < MOST_ROWS; r++) y[r] = LOAD(context->y + at, r < rows ? r : rows - 1);
        CAL_UNROLL for (int r = 0; r < MOST_ROWS; r++) if (r < rows)
            STORE_FAR(context->vectors[CAL_ONE_STEP_Y] + at, r, y[r]);
    }
}

CAL_DEVICE static inline void euler_joints(const cal_solver_context* context, joint_range range) {
    const int at = range.first + CAL_OWN_LANE;
    const double h = context->down[DOWN_STEP];
    double *y = context->vectors[CAL_ONE_STEP_Y] + at, *f = context->vectors[CAL_ONE_STEP_F] + at;
    for (int i = 0; i < range.count; i += JOINTS_AT_ONCE) {
        double q[JOINTS_AT_ONCE], v[JOINTS_AT_ONCE], a[JOINTS_AT_ONCE];
        CAL_UNROLL for (int n = 0; n < JOINTS_AT_ONCE; n++) {
            const int joint = JOINT(i, n, range);
            q[n] = LOAD_ONCE(y, 2 * joint), v[n] = LOAD_ONCE(y, 2 * joint + 1), a[n] = LOAD_ONCE(f, 2 * joint + 1);
        }
        CAL_UNROLL for (int n = 0; n < JOINTS_AT_ONCE; n++) {
            if (i + n >= range.count) break;
            const double after = v[n] + h * a[n];
            if (context->down[DOWN_COMMIT] != COMMIT_UNSEEN) keep_joint(context, at, i + n, q[n], v[n], a[n]);
            STORE_FAR(y, 2 * (i + n), q[n] + h * after);
            STORE_FAR(y, 2 * (i + n) + 1, after);
        }
    }
}

// Where evaluation number i of a group is evaluated, what it writes, and whether rates of positions are wanted: context->y, context->ydot.
CAL_DEVICE static inline bool prepare_group(const cal_device_work* work, cal_context* context, int group, int slot,
                                            int i) {
    const bool rk4 = work->stepping == CAL_STEPPING_RK4;
    const cal_layout* layout = &work->layout;
    const double* down = work->numbers + i * work->down_count;
    const int stage = rk4 ? (int)down[DOWN_STAGE] : 0;
    double* vectors[VECTOR_COUNT_RK4];
    CAL_UNROLL for (int k = 0; k < VECTOR_COUNT_RK4; k++) vectors[k] =
        work->vectors[k] + (size_t)group * work->y_stride;
    const cal_solver_context own = {
        .layout = layout, .y = work->slot_y + (size_t)slot * work->y_stride, .vectors = vectors, .down = down};
    if (stage != 0 || down[DOWN_COMMIT] != COMMIT_NOTHING)
        for (int column = 0; column < layout->column_count;) {
            const cal_column* first = &layout->columns[column];
            if (is_joint_column(first)) {
                const joint_range range = next_joints(layout, &column);
                if (!rk4)
                    euler_joints(&own, range);
                else if (stage == 0)
                    rk4_commit_joints(&own, range);
                else
                    rk4_stage_joints(&own, range, stage);
            } else {
                column++;
                if (rk4)
                    rk4_prepare_turning(&own, first, stage);
                else
                    euler_prepare(&own, first);
            }
        }
    context->y = stage == 0 ? vectors[CAL_ONE_STEP_Y] : own.y;
    context->ydot = vectors[rk4 ? rk4_derivative(down) : euler_derivative(down)];
    return stage == 0;
}
