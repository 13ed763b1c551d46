// Forward dynamics by articulated bodies on a device: pass/aba_body.h's mechanics, a thread per lane.
#include "cuda/kernel.h"
#include "cuda/kernels.h"
#include "pass/aba.h"
#include "pass/joint_force_columns.h"

#define CAL_LANES 1
#include "math/lanes.h"
#include "math/lane_algebra.h"
#include "math/lane_memory.h"
#include "pass/aba_body.h"
#include "pass/columns.h"
#include "pass/aba_columns.h"
#include "cuda/pull.h"
#include "cuda/ahead.h"
#include "cuda/limb.h"
#include "cuda/team_walks.h"

CAL_KERNEL void forces_kernel(const cal_device_work work) {
    const cal_column* column = own_column(&work);
    CAL_AFTER_OTHERS;
    if (!column) return;
    cal_context context = own_context(&work, 0);
    cal_solver_context solver = {0};
    solver.down = work.down ? work.down : work.numbers; // which implicit solvers' forces read
    context.solver = &solver;
    find_joint_forces(&context, column);
}

// What the walks of a column read that others have written (ahead.h), of the blocks that they come to first.
CAL_DEVICE static double touch_motion(const cal_device_work* work, const cal_context* context,
                                      const cal_column* column) {
    double sum = 0.0;
    for (int i = 1; i < early_steps(work, column); i++) {
        const place at = find_place(context, column, column->kind, cal_aba_record(column->kind), i);
        sum += touch(at.y, cal_kind_q(column->kind) + cal_kind_v(column->kind));
    }
    return sum;
}
CAL_DEVICE static double touch_bodies(const cal_device_work* work, const cal_context* context,
                                      const cal_column* column) {
    double sum = 0.0;
    for (int i = 0; i < early_steps(work, column); i++) {
        const int kind = column->kind, step = early_step(column, i, true);
        const place at = find_place(context, column, kind, cal_aba_record(kind), step);
        sum += touch(at.scratch, CAL_SCRATCH_COUNT) + touch(at.force, cal_kind_v(kind));
        sum += touch(at.record, kind == CAL_BALL ? LANE(BALL_K) : kind == CAL_FREE ? LANE(FREE_AL) : LANE(RECORD_G));
    }
    return sum;
}
CAL_DEVICE static double touch_records(const cal_device_work* work, const cal_context* context,
                                       const cal_column* column) {
    double sum = 0.0;
    for (int i = 1; i < early_steps(work, column); i++) {
        const int kind = column->kind;
        const place at = find_place(context, column, kind, cal_aba_record(kind), i);
        sum += touch(at.record, cal_aba_record(kind)) + touch(at.y, cal_kind_q(kind) + cal_kind_v(kind));
    }
    return sum;
}
CAL_KERNEL void velocity_kernel(const cal_device_work work) {
    const cal_column* column = own_column(&work);
    const double constant = touch_constants(&work, column, 0, CAL_CONSTANT_COUNT, false);
    CAL_AFTER_OTHERS;
    CAL_BEFORE_OTHERS;
    if (is_idle(column)) return;
    const cal_context context = own_context(&work, 0);
    const double touched = touch_motion(&work, &context, column);
    LANE(outbound_column)(&context, column);
    use_touched(&context.scratch[column->up_slot], constant + touched);
}

// Down and up again at once, a warp per block of threads.
CAL_KERNEL void CAL_BOUNDS(CAL_WIDTH, CAL_LIMB_WARPS) limb_kernel(const cal_device_work work) {
    const cal_column* column = own_column(&work);
    const double constant = touch_constants(&work, column, 0, CAL_CONSTANT_COUNT, false);
    CAL_AFTER_OTHERS;
    CAL_BEFORE_OTHERS;
    if (!column) return;
    cal_context context = own_context(&work, 0);
    context.workspace = CAL_FAST_MEMORY;
    const double touched = touch_motion(&work, &context, column);
    if (has_segments(column)) {
        walk_limb(&context, column);
    } else {
        LANE(outbound_column)(&context, column);
        LANE(inbound_column)(&context, column);
    }
    use_touched(&context.scratch[column->up_slot], constant + touched);
}

CAL_KERNEL void inertia_kernel(const cal_device_work work) {
    const cal_column* column = own_column(&work);
    const double constant = touch_constants(&work, column, CAL_CONSTANT_MASS, 1, true) +
                            touch_constants(&work, column, CAL_CONSTANT_ARMATURE, 1, true);
    const double places =
        early_steps(&work, column) > 0 ? touch_pulls(&work, pull_list(&work, column, own_lane(column))) : 0.0;
    CAL_AFTER_OTHERS;
    CAL_BEFORE_OTHERS;
    if (is_idle(column)) return;
    const cal_context context = own_context(&work, 0);
    const double touched = touch_bodies(&work, &context, column);
    pull_children(&work, &context, column);
    if (has_children_and_joints(column))
        assemble_joints(&context, column);
    else
        LANE(inbound_column)(&context, column);
    use_touched(&context.scratch[column->up_slot], constant + places + touched);
}

CAL_KERNEL void acceleration_kernel(const cal_device_work work) {
    const cal_column* column = own_column(&work);
    const double constant = touch_constants(&work, column, 0, 0, false);
    const cal_context context = own_context(&work, 0);
    if (column && work.settled && has_segments(column)) {
        accelerate_joints_ahead(&context, column);
        return;
    }
    CAL_AFTER_OTHERS;
    CAL_BEFORE_OTHERS;
    if (is_idle(column)) return;
    if (has_segments(column)) {
        accelerate_joints(&context, column, true);
        return;
    }
    const double touched = touch_records(&work, &context, column);
    LANE(accelerate_column)(&context, column);
    use_touched(&context.scratch[column->up_slot], constant + touched);
}

// --- Teams (team_walks.h) -----------------------------------------------------------------------------------------------------

CAL_TEAM_KERNEL(velocity_team_kernel, velocity_ahead, velocity_phase, 3, CAL_TEAM_WARPS, 2)
CAL_TEAM_KERNEL(inertia_team_kernel, inertia_ahead, inertia_phase, 2, CAL_TEAM_WARPS, 1)
CAL_TEAM_KERNEL(inertia_half_kernel, inertia_ahead, inertia_phase, 2, CAL_HALF_TEAM, 2)
CAL_TEAM_KERNEL(acceleration_team_kernel, acceleration_ahead, acceleration_phase, 2, CAL_HALF_TEAM, 2)

CAL_DESCENT_KERNEL(descent_kernel, velocity_ahead, descent_phase, 3)
CAL_TRUNK_KERNEL(trunk_turn_kernel, turn_ahead, trunk_turn_stage, 2 * work->trunk_levels)

// --- Batches -----------------------------------------------------------------------------------------------------------

CAL_KERNEL void batch_forces_kernel(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    const cal_column* column;
    const int group = own_part(&work, &column);
    if (group < 0) return;
    const cal_context context = own_context(&work, group);
    find_joint_forces(&context, column);
}

// Both walks of a group, depth first: scratch memory is a stack. Limbs are walked by segments, which shared memory is for; it and the
// registers leave room for CAL_LIMB_WARPS warps per multiprocessor. What ends of columns keep of axes has been written over by other
// limbs when accelerations are due, so that all columns find them anew.
CAL_KERNEL void CAL_BOUNDS(CAL_WIDTH, CAL_LIMB_WARPS) batch_walk_kernel(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    const int group = own_group(&work);
    if (group < 0) return;
    cal_context context = own_context(&work, group);
    context.workspace = CAL_FAST_MEMORY;
    const cal_column* columns = work.layout.columns;
    for (int i = 0; i < work.walk_length; i++) {
        const cal_column* column = &columns[work.steps[i].index];
        const int kind = work.steps[i].kind;
        if (has_segments(column)) {
            if (kind == CAL_STEP_DOWN) walk_limb(&context, column); // its way up is the next step
        } else if (kind == CAL_STEP_DOWN)
            LANE(outbound_column)(&context, column);
        else if (kind == CAL_STEP_UP)
            LANE(inbound_column)(&context, column);
    }
    for (int i = 0; i < work.layout.column_count; i++) accelerate_turning(&context, &columns[i], work.rates);
}

static void forces(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH(forces_kernel, device, warps, work);
}
// More columns than that fill a device by themselves: a multiprocessor has room for two teams, of inertia for one, or two halves.
enum { MOST_TEAMS = CAL_MULTIPROCESSORS };
// How many blocks of each column are read ahead: the rows of one are 13 KB, and a multiprocessor has about 110 KB for its cache where it has
// 12 warps; none where there are more columns than it has warps at a time.
enum { AHEAD_BLOCKS = 8, MOST_AHEAD = 12 * MOST_TEAMS };
static cal_device_work reading_ahead(const cal_device_work* work, int columns) {
    cal_device_work own = *work;
    const int each = (columns + MOST_TEAMS - 1) / MOST_TEAMS;
    own.ahead = columns > MOST_AHEAD ? 0 : each > AHEAD_BLOCKS ? 1 : AHEAD_BLOCKS / each;
    return own;
}
static void velocity(cal_device* device, const cal_device_work* work, int columns) {
    const cal_device_work own = reading_ahead(work, columns);
    if (columns <= 2 * MOST_TEAMS)
        CAL_LAUNCH_TEAMS(velocity_team_kernel, velocity_phase, 3, CAL_TEAM_WARPS, device, columns, CAL_COLUMN_DOUBLES,
                         work);
    else
        CAL_LAUNCH(velocity_kernel, device, columns, &own);
}
static void limb(cal_device* device, const cal_device_work* work, int columns) {
    const cal_device_work own = reading_ahead(work, columns);
    CAL_LAUNCH_FAST(limb_kernel, device, columns, CAL_LIMB_DOUBLES, &own);
}
static void inertia(cal_device* device, const cal_device_work* work, int columns) {
    const cal_device_work own = reading_ahead(work, columns);
    if (columns <= MOST_TEAMS)
        CAL_LAUNCH_TEAMS(inertia_team_kernel, inertia_phase, 2, CAL_TEAM_WARPS, device, columns, CAL_COLUMN_DOUBLES,
                         work);
    else if (columns <= 2 * MOST_TEAMS)
        CAL_LAUNCH_TEAMS(inertia_half_kernel, inertia_phase, 2, CAL_HALF_TEAM, device, columns, CAL_COLUMN_DOUBLES,
                         work);
    else
        CAL_LAUNCH(inertia_kernel, device, columns, &own);
}
static void acceleration(cal_device* device, const cal_device_work* work, int columns) {
    const cal_device_work own = reading_ahead(work, columns);
    if (columns <= 2 * MOST_TEAMS)
        CAL_LAUNCH_TEAMS(acceleration_team_kernel, acceleration_phase, 2, CAL_HALF_TEAM, device, columns,
                         CAL_COLUMN_DOUBLES, work);
    else
        CAL_LAUNCH_BLOCKS(acceleration_kernel, device, columns, 1, &own); // of more there would be room for fewer warps
}
static void descent(cal_device* device, const cal_device_work* work, int teams) {
    (void)teams;
    CAL_LAUNCH_DESCENT(descent_kernel, descent_phase, 3, device, work);
}
static void trunk_turn(cal_device* device, const cal_device_work* work, int teams) {
    CAL_LAUNCH_TRUNK(trunk_turn_kernel, device, teams, work);
}
static void batch_forces(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH(batch_forces_kernel, device, warps, work);
}
static void batch_walk(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH_FAST(batch_walk_kernel, device, warps, CAL_LIMB_DOUBLES, work);
}

CAL_EXTERN_C const cal_device_mechanics cal_device_aba = {.inertia = inertia,
                                                          .acceleration = acceleration,
                                                          .limb = limb,
                                                          .forces = forces,
                                                          .velocity = velocity,
                                                          .descent = descent,
                                                          .trunk_turn = trunk_turn,
                                                          .batch_forces = batch_forces,
                                                          .batch_walk = batch_walk};
