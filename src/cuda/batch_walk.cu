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

// What a slot's walk of a group sees: records, scratch memory and joint forces are the slot's.
CAL_DEVICE static inline cal_context slot_context(const cal_device_work* work, int group, int slot) {
    const size_t s = (size_t)slot;
    cal_context c = own_context(work, group);
    c.records = work->context.records + s * work->record_stride;
    c.scratch = work->context.scratch + s * work->scratch_stride;
    if (work->context.force != work->context.tau) c.force = work->context.force + s * work->v_stride;
    c.workspace = CAL_FAST_MEMORY;
    return c;
}

// Both walks, depth first: scratch memory is a stack. Limbs are walked by segments, which shared memory is for; it and the
// registers leave room for CAL_LIMB_WARPS warps per multiprocessor. What ends of columns keep of axes has been written over by other
// limbs when accelerations are due, so that all columns find them anew; the last ones first, whose records the cache still has.
LANE_INLINE void walk_group(const cal_device_work* work, const cal_context* context, bool rates) {
    const cal_column* columns = work->layout.columns;
    for (int i = 0; i < work->walk_length; i++) {
        const cal_column* column = &columns[work->steps[i].index];
        const int kind = work->steps[i].kind;
        if (has_segments(column)) {
            if (kind == CAL_STEP_DOWN) walk_limb(context, column); // its way up is the next step
        } else if (kind == CAL_STEP_DOWN)
            LANE(outbound_column)(context, column);
        else if (kind == CAL_STEP_UP)
            LANE(inbound_column)(context, column);
    }
    for (int i = work->walk_length - 1; i >= 0; i--)
        if (work->steps[i].kind == CAL_STEP_UP) accelerate_turning(context, &columns[work->steps[i].index], rates);
}

CAL_KERNEL void CAL_BOUNDS(CAL_WIDTH, CAL_LIMB_WARPS) batch_walk_kernel(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    const int slot = CAL_OWN_SLOT;
    for (int group = slot; group < work.groups; group += work.slot_count) {
        if (is_chosen(&work, group)) {
            cal_context context = slot_context(&work, group, slot);
            for (int i = 0; i < work.evaluations; i++) {
                const bool rates =
                    work.stepping == CAL_STEPPING_NONE || prepare_group(&work, &context, group, slot, i);
                for (int c = 0; context.force != context.tau && c < work.layout.column_count; c++)
                    find_joint_forces(&context, &work.layout.columns[c]);
                CAL_WRITTEN;
                walk_group(&work, &context, rates);
                CAL_WRITTEN;
            }
        }
        CAL_WARP_MEETS;
    }
}

CAL_EXTERN_C void cal_device_batch_walk(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH_FAST(batch_walk_kernel, device, warps, CAL_LIMB_DOUBLES, work);
}
