// The preparation of fixed steps for all groups of a batch: what rk4_prepare and euler_prepare (solver/fixed_step_columns.h) do, of which
// nothing counts but bytes. A warp has a few blocks of a group, and asks for all of their numbers before it uses the first.
//
// Joints with one degree of freedom are most of a model, and of these the k are accelerations alone. The rates of positions are the velocities at
// which a stage was evaluated, which follow from the accelerations of the stage before by the operations that found them then:
//
//   v₁ = v,  v₂ = v + ½h a₁,  v₃ = v + ½h a₂,  v₄ = v + h a₃
//
// The state at the end of a step is evaluated where it is kept (CAL_ONE_STEP_Y), only the places of stages are written to y. Groups are taken from the
// last one to the first, and walked from the first one on: so each kernel begins with what the one before has left in the cache.
#include "cuda/kernel.h"
#include "cuda/kernels.h"
#include "solver/fixed_step_columns.h"

#define CAL_LANES 1
#include "math/lanes.h"
#include "math/lane_algebra.h"
#include "math/lane_memory.h"

// How many blocks a warp has: as many numbers as are on their way at once.
enum { STEP_BLOCKS = 4 };

// The rows of a warp's joints, side by side in registers; of a block of another kind numbers that nobody uses.
typedef struct step_joints {
    int at[STEP_BLOCKS];
    bool own[STEP_BLOCKS];
} step_joints;

#define EACH_JOINT(n) CAL_UNROLL for (int n = 0; n < STEP_BLOCKS; n++)

CAL_DEVICE static inline void load_joints(const step_joints* j, const double* vector, int row, double* out) {
    EACH_JOINT(n) out[n] = LOAD_FAR(vector + j->at[n], row);
}

CAL_DEVICE static inline void store_joints(const step_joints* j, double* vector, int row, const double* values) {
    EACH_JOINT(n) if (j->own[n]) STORE_FAR(vector + j->at[n], row, values[n]);
}

// The begin of a step that somebody will look into: y, and its derivative.
CAL_DEVICE static inline void keep_joints(const cal_solver_context* context, const step_joints* j, const double* q,
                                          const double* v, const double* a) {
    double* const* x = context->vectors;
    if (context->down[DOWN_COMMIT] == COMMIT_UNSEEN) return;
    store_joints(j, x[CAL_ONE_STEP_PREVIOUS], 0, q);
    store_joints(j, x[CAL_ONE_STEP_PREVIOUS], 1, v);
    store_joints(j, x[CAL_ONE_STEP_PREVIOUS_F], 0, v);
    store_joints(j, x[CAL_ONE_STEP_PREVIOUS_F], 1, a);
}

// Where stage 1, 2 or 3 (counted from 0) is evaluated.
CAL_DEVICE static inline void rk4_place_joints(const cal_solver_context* context, const step_joints* j, int stage) {
    const double h = context->down[DOWN_STEP], half = 0.5 * h, weight = stage == 3 ? h : half;
    double* const* x = context->vectors;
    double q[STEP_BLOCKS], v[STEP_BLOCKS], a[STEP_BLOCKS], rate[STEP_BLOCKS];
    load_joints(j, x[CAL_ONE_STEP_Y], 0, q);
    load_joints(j, x[CAL_ONE_STEP_Y], 1, v);
    load_joints(j, x[rk4_k(stage)], 1, a);
    if (stage > 1) load_joints(j, x[rk4_k(stage - 1)], 1, rate);
    EACH_JOINT(n) {
        rate[n] = stage == 1 ? v[n] : v[n] + (0.0 + half * rate[n]);
        q[n] = q[n] + (0.0 + weight * rate[n]);
        v[n] = v[n] + (0.0 + weight * a[n]);
    }
    store_joints(j, context->y, 0, q);
    store_joints(j, context->y, 1, v);
}

CAL_DEVICE static inline void rk4_complete_joints(const cal_solver_context* context, const step_joints* j) {
    const double h = context->down[DOWN_STEP], half = 0.5 * h, outer = h / 6.0, inner = h / 3.0;
    double* const* x = context->vectors;
    double q[STEP_BLOCKS], v[STEP_BLOCKS], a[4][STEP_BLOCKS];
    load_joints(j, x[CAL_ONE_STEP_Y], 0, q);
    load_joints(j, x[CAL_ONE_STEP_Y], 1, v);
    CAL_UNROLL for (int k = 0; k < 4; k++) load_joints(j, x[rk4_k(k + 1)], 1, a[k]);
    keep_joints(context, j, q, v, a[0]);
    EACH_JOINT(n) {
        const double second = v[n] + (0.0 + half * a[0][n]), third = v[n] + (0.0 + half * a[1][n]),
                     fourth = v[n] + (0.0 + h * a[2][n]);
        q[n] = q[n] + (0.0 + outer * v[n] + inner * second + inner * third + outer * fourth);
        v[n] = v[n] + (0.0 + outer * a[0][n] + inner * a[1][n] + inner * a[2][n] + outer * a[3][n]);
    }
    store_joints(j, x[CAL_ONE_STEP_Y], 0, q);
    store_joints(j, x[CAL_ONE_STEP_Y], 1, v);
}

CAL_DEVICE static inline void euler_complete_joints(const cal_solver_context* context, const step_joints* j) {
    const double h = context->down[DOWN_STEP];
    double* const* x = context->vectors;
    double q[STEP_BLOCKS], v[STEP_BLOCKS], a[STEP_BLOCKS];
    load_joints(j, x[CAL_ONE_STEP_Y], 0, q);
    load_joints(j, x[CAL_ONE_STEP_Y], 1, v);
    load_joints(j, x[CAL_ONE_STEP_F], 1, a);
    keep_joints(context, j, q, v, a);
    EACH_JOINT(n) {
        v[n] = v[n] + h * a[n];
        q[n] = q[n] + h * v[n];
    }
    store_joints(j, x[CAL_ONE_STEP_Y], 0, q);
    store_joints(j, x[CAL_ONE_STEP_Y], 1, v);
}

// y + ∑ weight_j k_j of the rows of a block with quaternions, j = first … first + count - 1, a few rows at once; count is a constant.
CAL_DEVICE static inline void combine_rows(const cal_solver_context* context, int at, int rows, int first, int count,
                                           const double* weights) {
    enum { AT_ONCE = 7 };
    for (int row = 0; row < rows; row += AT_ONCE) {
        double base[AT_ONCE], k[4][AT_ONCE];
        CAL_UNROLL for (int n = 0; n < AT_ONCE; n++) {
            const int own = row + n < rows ? row + n : rows - 1;
            base[n] = LOAD_FAR(context->vectors[CAL_ONE_STEP_Y] + at, own);
            CAL_UNROLL for (int j = 0; j < count; j++) k[j][n] = LOAD_FAR(context->vectors[rk4_k(first + j)] + at, own);
        }
        CAL_UNROLL for (int n = 0; n < AT_ONCE; n++) {
            double sum = 0.0;
            CAL_UNROLL for (int j = 0; j < count; j++) sum += weights[j] * k[j][n];
            if (row + n < rows) STORE_FAR(context->y + at, row + n, base[n] + sum);
        }
    }
}

CAL_DEVICE static void rk4_prepare_turning(const cal_solver_context* context, const cal_column* piece, int stage) {
    const int rows = cal_kind_q(piece->kind) + cal_kind_v(piece->kind),
              first = cal_column_first(context->layout, piece), at = first + CAL_OWN_LANE;
    const double h = context->down[DOWN_STEP], weights[4] = {h / 6.0, h / 3.0, h / 3.0, h / 6.0},
                 weight = stage == 3 ? h : 0.5 * h;
    if (stage != 0) {
        combine_rows(context, at, rows, stage, 1, &weight);
        rk4_turn(context, piece, h, stage, context->y);
        return;
    }
    combine_rows(context, at, rows, 1, 4, weights);
    rk4_turn(context, piece, h, 0, context->y);
    keep_previous(context, first, first + rows * CAL_WIDTH);
    cal_normalize_column(context->layout, piece, context->y);
    cal_range_copy(context->vectors[CAL_ONE_STEP_Y], context->y, first, first + rows * CAL_WIDTH);
}

// The warp's blocks. What was sent down is everybody's. The first blocks of all groups, among which are free bodies, which take ten times as long as
// others, come first: beside them a warp with hinges would wait, and hold its place, until they are done.
CAL_DEVICE static inline void prepare_blocks(const cal_device_work* work, bool rk4) {
    const cal_layout* layout = &work->layout;
    const int units = (layout->block_count + STEP_BLOCKS - 1) / STEP_BLOCKS, others = units > 1 ? units - 1 : 1;
    const int after = CAL_OWN_WARP - work->groups, number = after < 0 ? CAL_OWN_WARP : after / others;
    const int group = work->groups - 1 - number, first = after < 0 ? 0 : (1 + after % others) * STEP_BLOCKS;
    const double* down = work->numbers;
    const int stage = rk4 ? (int)down[DOWN_STAGE] : 0;
    if (group < 0 || !is_chosen(work, group)) return;
    if (stage == 0 && down[DOWN_COMMIT] == COMMIT_NOTHING) return;
    double* vectors[VECTOR_COUNT_RK4];
    const size_t begin = (size_t)group * work->y_stride;
    CAL_UNROLL for (int k = 0; k < VECTOR_COUNT_RK4; k++) vectors[k] = work->vectors[k] + begin;
    const cal_solver_context own = {.layout = layout, .y = work->context.y + begin, .vectors = vectors, .down = down};
    step_joints joints;
    int kinds[STEP_BLOCKS];
    EACH_JOINT(n) {
        const int block = first + n < layout->block_count ? first + n : layout->block_count - 1;
        kinds[n] = work->block_kind[block];
        joints.at[n] = layout->block_y[block] + CAL_OWN_LANE;
        joints.own[n] = first + n < layout->block_count && (kinds[n] == CAL_REVOLUTE || kinds[n] == CAL_PRISMATIC);
    }
    if (!rk4)
        euler_complete_joints(&own, &joints);
    else if (stage == 0)
        rk4_complete_joints(&own, &joints);
    else
        rk4_place_joints(&own, &joints, stage);
    EACH_JOINT(n) {
        if (first + n >= layout->block_count || joints.own[n]) continue;
        cal_column piece;
        piece.first_block = first + n;
        piece.block_count = 1;
        piece.kind = kinds[n];
        if (rk4)
            rk4_prepare_turning(&own, &piece, stage);
        else
            euler_prepare(&own, &piece);
    }
}

CAL_KERNEL void CAL_BOUNDS(CAL_WIDTH* CAL_BLOCK_WARPS, 5) rk4_step_kernel(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    prepare_blocks(&work, true);
}
CAL_KERNEL void CAL_BOUNDS(CAL_WIDTH* CAL_BLOCK_WARPS, 5) euler_step_kernel(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    prepare_blocks(&work, false);
}

CAL_DEVICE static inline int step_warps(const cal_device_work* work, int groups) {
    return groups * ((work->layout.block_count + STEP_BLOCKS - 1) / STEP_BLOCKS);
}
CAL_EXTERN_C void cal_device_rk4_step(cal_device* device, const cal_device_work* work, int groups) {
    CAL_LAUNCH(rk4_step_kernel, device, step_warps(work, groups), work);
}
CAL_EXTERN_C void cal_device_euler_step(cal_device* device, const cal_device_work* work, int groups) {
    CAL_LAUNCH(euler_step_kernel, device, step_warps(work, groups), work);
}
