// Forward dynamics of a batch by articulated bodies: pass/aba_body.h's mechanics, a thread per instance, a warp per group, with the
// preparation of fixed steps and joint forces riding along.
#define CAL_RECORDS_SOON
#include "cuda/kernel.h"
#include "cuda/kernels.h"
#include "pass/aba.h"
#include "pass/joint_force_columns.h"
#include "solver/fixed_step_columns.h"

#define CAL_LANES 1
#include "math/lanes.h"
#include "math/lane_algebra.h"
#include "math/lane_memory.h"
#include "cuda/batch_steps.h"
#include "pass/aba_body.h"
#include "pass/columns.h"
#include "pass/aba_columns.h"
#include "cuda/limb.h"

// What evaluation i of a group by a slot sees: records, scratch memory and joint forces are the slot's.
CAL_PHASE cal_context slot_context(const cal_device_work* work, int group, int slot, int i) {
    const size_t s = (size_t)slot;
    cal_context c = own_context(work, group);
    if (work->stepping != CAL_STEPPING_NONE) {
        c.y = stage_y(work, group, slot, i);
        c.ydot = stage_ydot(work, group, i);
    }
    if (work->context.force != work->context.tau) c.force = work->context.force + s * work->v_stride;
    c.records = work->context.records + s * work->record_stride;
    c.scratch = work->context.scratch + s * work->scratch_stride;
    c.workspace = CAL_FAST_MEMORY;
    return c;
}

CAL_PHASE void find_forces(const cal_device_work* work, int group, int slot, int i) {
    if (work->context.force == work->context.tau) return;
    const cal_context context = slot_context(work, group, slot, i);
    for (int c = 0; c < work->layout.column_count; c++) find_joint_forces(&context, &work->layout.columns[c]);
}

// Both walks, depth first: scratch memory is a stack. Limbs are walked by segments, which shared memory is for; it and the
// registers leave room for CAL_LIMB_WARPS warps per multiprocessor.
CAL_PHASE void walk_down_and_up(const cal_device_work* work, int group, int slot, int i) {
    const cal_context context = slot_context(work, group, slot, i);
    const cal_column* columns = work->layout.columns;
    for (int s = 0; s < work->walk_length; s++) {
        const cal_column* column = &columns[work->steps[s].index];
        const int kind = work->steps[s].kind;
        if (has_segments(column)) {
            if (kind == CAL_STEP_DOWN) walk_limb(&context, column); // its way up is the next step
        } else if (kind == CAL_STEP_DOWN)
            LANE(outbound_column)(&context, column);
        else if (kind == CAL_STEP_UP)
            LANE(inbound_column)(&context, column);
    }
}

// What ends of columns keep of axes has been written over by other limbs when accelerations are due, so that all columns find them anew; the
// last ones first, whose records the cache still has.
CAL_PHASE void find_accelerations(const cal_device_work* work, int group, int slot, int i) {
    const cal_context context = slot_context(work, group, slot, i);
    const bool rates = work->stepping == CAL_STEPPING_NONE || stage_of(work, i) == 0;
    for (int s = work->walk_length - 1; s >= 0; s--)
        if (work->steps[s].kind == CAL_STEP_UP)
            accelerate_turning(&context, &work->layout.columns[work->steps[s].index], rates);
}

// A walk needs all registers, so a thread counts on chip.
enum { COUNT_DOUBLES = 2 * CAL_WIDTH };
CAL_KERNEL void CAL_BOUNDS(CAL_WIDTH, CAL_LIMB_WARPS) batch_walk_kernel(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    volatile double* const group = CAL_FAST_MEMORY + CAL_LIMB_DOUBLES + CAL_OWN_LANE;
    volatile double* const evaluation = group + CAL_WIDTH;
#define WORK &work, (int)*group, CAL_OWN_SLOT, (int)*evaluation
    *group = CAL_OWN_SLOT;
    *evaluation = 0.0;
    while (*group < work.groups) {
        if (is_chosen(&work, (int)*group)) {
            if (work.stepping != CAL_STEPPING_NONE) prepare_joints(WORK);
            find_forces(WORK);
            CAL_WRITTEN;
            walk_down_and_up(WORK);
            CAL_WRITTEN;
            find_accelerations(WORK);
            CAL_WRITTEN;
        }
        CAL_WARP_MEETS;
        *evaluation += 1.0;
        if (*evaluation < work.evaluations) continue;
        *evaluation = 0.0;
        *group += work.slot_count;
    }
#undef WORK
}

// Of each column with quaternions, before the walk, whose registers would not do.
CAL_KERNEL void batch_turn_kernel(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    const int group = CAL_OWN_WARP / work.turning_columns, column = CAL_OWN_WARP % work.turning_columns;
    if (group < work.groups && is_chosen(&work, group)) prepare_turning(&work, group, &work.layout.columns[column]);
}

CAL_EXTERN_C void cal_device_batch_walk(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH_FAST(batch_walk_kernel, device, warps, CAL_LIMB_DOUBLES + COUNT_DOUBLES, work);
}
CAL_EXTERN_C void cal_device_batch_turn(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH(batch_turn_kernel, device, warps, work);
}
