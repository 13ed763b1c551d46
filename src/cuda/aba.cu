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
    CAL_LET_START(work);
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
    CAL_LET_START(work);
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
    CAL_LET_START(work);
    if (is_idle(column)) return;
    const cal_context context = own_context(&work, 0);
    const double touched = touch_bodies(&work, &context, column);
    pull_children(&work, &context, column);
    LANE(inbound_column)(&context, column);
    use_touched(&context.scratch[column->up_slot], constant + places + touched);
}

CAL_KERNEL void acceleration_kernel(const cal_device_work work) {
    const cal_column* column = own_column(&work);
    const double constant = touch_constants(&work, column, 0, 0, false);
    CAL_AFTER_OTHERS;
    CAL_LET_START(work);
    if (is_idle(column)) return;
    const cal_context context = own_context(&work, 0);
    if (has_segments(column)) {
        accelerate_joints(&context, column);
        return;
    }
    const double touched = touch_records(&work, &context, column);
    LANE(accelerate_column)(&context, column);
    use_touched(&context.scratch[column->up_slot], constant + touched);
}

// --- Teams: where columns are too few to fill a device, what does not recur along one is done by several warps ----------------

// Whether a team's warps share the column's work; else the first one does it alone.
CAL_DEVICE static bool is_shared(const cal_column* column) {
    return column->kind == CAL_REVOLUTE && !column->is_long && column->block_count <= CAL_TEAM_BLOCKS;
}

enum { TEAM_E = 0, TEAM_D = 9, TEAM_W = 12, TEAM_AL = 15, TEAM_A = 18 };
// The rows of shared memory of a block of the team's column.
CAL_PHASE double* team_rows(int block) { return CAL_FAST_MEMORY + block * CAL_TEAM_ROWS * CAL_WIDTH + CAL_OWN_LANE; }

// Rotations in parents; all motions, which is what recurs; moments and bias forces.
CAL_PHASE void velocity_phase(const cal_device_work* work, int phase) {
    const cal_column* column = team_column(work);
    const int warp = CAL_TEAM_WARP;
    const cal_context context = own_context(work, 0);
    if (!is_shared(column)) {
        if (phase == 0 && warp == 0 && !is_idle(column)) LANE(outbound_column)(&context, column);
        return;
    }
    if (phase == 1 && warp > 0) return;
    const int record = cal_aba_record(CAL_REVOLUTE), stride = phase == 1 ? 1 : CAL_TEAM_WARPS;
    motion m;
    if (phase == 1) m = load_motion(&context, column);
    for (int b = phase == 1 ? 0 : warp; b < column->block_count; b += stride) {
        const place at = find_place(&context, column, CAL_REVOLUTE, record, b);
        double* rows = team_rows(b);
        v3 d;
        if (phase == 0) {
            store_columns(rows, TEAM_E, revolute_rotation(at.constants, LOAD(at.y, 0)));
            store3(rows, TEAM_D, load3(at.constants, CAL_CONSTANT_OFFSET));
            STORE(rows, TEAM_W, LOAD(at.y, 1));
            continue;
        }
        if (phase == 1) {
            turn_motion(&m, load_columns(rows, TEAM_E), load3(rows, TEAM_D), LOAD(rows, TEAM_W), &d);
            m.A = spin_matrix(m.w, m.al);
            store_columns(rows, TEAM_E, m.E);
            store3(rows, TEAM_D, d), store3(rows, TEAM_W, m.w), store3(rows, TEAM_AL, m.al), store3(rows, TEAM_A, m.a);
            continue;
        }
        m.E = load_columns(rows, TEAM_E);
        m.w = load3(rows, TEAM_W), m.al = load3(rows, TEAM_AL), m.a = load3(rows, TEAM_A);
        m.A = spin_matrix(m.w, m.al);
        d = load3(rows, TEAM_D);
        store3(at.record, LANE(RECORD_Z), m.E.z);
        store3(at.record, LANE(RECORD_D), d);
        bias(CAL_REVOLUTE, m.E, m.A, m.a, at.constants, at.external, at.scratch);
        if (b == column->block_count - 1) leave_end(&context, column, &m, &at);
    }
}
CAL_TEAM_KERNEL(velocity_team_kernel, velocity_phase, 3, 2)

// What the children left, each component by one warp, while the others read ahead what the recurrence needs; that.
CAL_PHASE void inertia_phase(const cal_device_work* work, int phase) {
    const cal_column* column = team_column(work);
    const int warp = CAL_TEAM_WARP;
    const cal_context context = own_context(work, 0);
    if (is_idle(column)) return;
    if (phase == 1) {
        if (warp == 0) LANE(inbound_column)(&context, column);
        return;
    }
    const int own = own_lane(column), list = pull_list(work, column, own);
    const int first = work->first_pull[list], end = work->first_pull[list + 1];
    double* to = context.scratch + column->end_slot + CAL_DOWN_COUNT * CAL_WIDTH + own;
    for (int i = warp; i < CAL_UP_COUNT && first < end; i += CAL_TEAM_WARPS) {
        double sum = to[i * CAL_WIDTH];
        // Read some ahead of the sum, which is a chain.
        enum { AHEAD = 4 };
        for (int next = first; next < end; next += AHEAD) {
            double ahead[AHEAD];
            CAL_UNROLL for (int k = 0; k < AHEAD; k++) {
                const int child = next + k < end ? next + k : next;
                ahead[k] = (context.scratch + work->pulls[child])[i * CAL_WIDTH];
            }
            CAL_UNROLL for (int k = 0; k < AHEAD; k++) if (next + k < end) sum += ahead[k];
        }
        to[i * CAL_WIDTH] = sum;
    }
    if (!is_shared(column)) return;
    double sum = 0.0;
    for (int b = warp; b < column->block_count; b += CAL_TEAM_WARPS) {
        const place at = find_place(&context, column, CAL_REVOLUTE, cal_aba_record(CAL_REVOLUTE), b);
        sum += touch(at.scratch, CAL_SCRATCH_COUNT) + touch(at.record, LANE(RECORD_G)) + touch(at.force, 1);
        sum += touch(at.constants + CAL_CONSTANT_MASS * CAL_WIDTH, 1);
        sum += touch(at.constants + CAL_CONSTANT_ARMATURE * CAL_WIDTH, 1);
    }
    use_touched(&context.scratch[column->up_slot], sum);
}
CAL_TEAM_KERNEL(inertia_team_kernel, inertia_phase, 2, 1)

CAL_PHASE void acceleration_phase(const cal_device_work* work, int phase) {
    const cal_column* column = team_column(work);
    const int warp = CAL_TEAM_WARP;
    const cal_context context = own_context(work, 0);
    if (is_idle(column)) return;
    if (phase == 1) {
        if (warp == 0 && has_segments(column))
            accelerate_joints(&context, column);
        else if (warp == 0)
            LANE(accelerate_column)(&context, column);
        return;
    }
    double sum = 0.0;
    for (int b = warp; is_shared(column) && b < column->block_count; b += CAL_TEAM_WARPS) {
        const place at = find_place(&context, column, CAL_REVOLUTE, cal_aba_record(CAL_REVOLUTE), b);
        sum += touch(at.record, cal_aba_record(CAL_REVOLUTE)) + touch(at.y, 2);
    }
    use_touched(&context.scratch[column->up_slot], sum);
}
CAL_TEAM_KERNEL(acceleration_team_kernel, acceleration_phase, 2, 2)

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
    for (int i = 0; i < work.layout.column_count; i++) accelerate_turning(&context, &columns[i]);
}

static void forces(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH(forces_kernel, device, warps, work);
}
// More columns than that fill a device by themselves: a multiprocessor has room for two teams, of inertia for one.
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
        CAL_LAUNCH_TEAMS(velocity_team_kernel, velocity_phase, 3, device, columns, work);
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
        CAL_LAUNCH_TEAMS(inertia_team_kernel, inertia_phase, 2, device, columns, work);
    else
        CAL_LAUNCH(inertia_kernel, device, columns, &own);
}
static void acceleration(cal_device* device, const cal_device_work* work, int columns) {
    const cal_device_work own = reading_ahead(work, columns);
    if (columns <= 2 * MOST_TEAMS)
        CAL_LAUNCH_TEAMS(acceleration_team_kernel, acceleration_phase, 2, device, columns, work);
    else
        CAL_LAUNCH(acceleration_kernel, device, columns, &own);
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
                                                          .batch_forces = batch_forces,
                                                          .batch_walk = batch_walk};
