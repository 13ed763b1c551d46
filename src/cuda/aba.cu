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

// Adds what the children of the thread's lane left to the sums at its end, in the order of the tree.
CAL_DEVICE static void pull_children(const cal_device_work* work, const cal_context* context,
                                     const cal_column* column) {
    const int own = own_lane(column), list = CAL_WIDTH * (int)(column - work->layout.columns + 1) + own;
    const int end = work->first_pull[list + 1];
    int next = work->first_pull[list];
    if (next == end) return;
    double* to = context->scratch + column->end_slot + CAL_DOWN_COUNT * CAL_WIDTH + own;
    double sum[CAL_UP_COUNT]; // in registers: what is read and what is written may not be told apart in memory
    for (int i = 0; i < CAL_UP_COUNT; i++) sum[i] = to[i * CAL_WIDTH];
    for (; next < end; next++) {
        const double* from = context->scratch + work->pulls[next];
        for (int i = 0; i < CAL_UP_COUNT; i++) sum[i] += from[i * CAL_WIDTH];
    }
    for (int i = 0; i < CAL_UP_COUNT; i++) to[i * CAL_WIDTH] = sum[i];
}

// The same for one child of a batch, whose instances lie lane under lane.
CAL_DEVICE static void pull_child(const cal_context* context, const cal_column* column, const cal_column* child) {
    const double* from = context->scratch + child->up_slot + CAL_OWN_LANE;
    double* to = context->scratch + column->end_slot + CAL_DOWN_COUNT * CAL_WIDTH + CAL_OWN_LANE;
    double sum[CAL_UP_COUNT];
    for (int i = 0; i < CAL_UP_COUNT; i++) sum[i] = to[i * CAL_WIDTH] + from[i * CAL_WIDTH];
    for (int i = 0; i < CAL_UP_COUNT; i++) to[i * CAL_WIDTH] = sum[i];
}

// A long column is one thread's.
CAL_DEVICE static bool is_idle(const cal_column* column) { return !column || (column->is_long && CAL_OWN_LANE != 0); }

CAL_KERNEL void forces_kernel(const cal_device_work work) {
    const cal_column* column = own_column(&work);
    if (!column) return;
    cal_context context = own_context(&work, 0);
    cal_solver_context solver = {0};
    solver.down = work.down ? work.down : work.numbers; // which implicit solvers' forces read
    context.solver = &solver;
    find_joint_forces(&context, column);
}

CAL_KERNEL void velocity_kernel(const cal_device_work work) {
    const cal_column* column = own_column(&work);
    if (is_idle(column)) return;
    const cal_context context = own_context(&work, 0);
    LANE(outbound_column)(&context, column);
    if (column->child_count == 0 && !column->is_long) LANE(inbound_column)(&context, column);
}

CAL_KERNEL void inertia_kernel(const cal_device_work work) {
    const cal_column* column = own_column(&work);
    if (is_idle(column)) return;
    const cal_context context = own_context(&work, 0);
    pull_children(&work, &context, column);
    LANE(inbound_column)(&context, column);
}

CAL_KERNEL void acceleration_kernel(const cal_device_work work) {
    const cal_column* column = own_column(&work);
    if (is_idle(column)) return;
    const cal_context context = own_context(&work, 0);
    LANE(accelerate_column)(&context, column);
}

CAL_KERNEL void batch_forces_kernel(const cal_device_work work) {
    const cal_column* column;
    const int group = own_part(&work, &column);
    if (group < 0) return;
    const cal_context context = own_context(&work, group);
    find_joint_forces(&context, column);
}

// Both walks of a group, depth first: scratch memory is a stack. The scratch of limbs is in shared memory, which
// and the registers leave room for CAL_BATCH_WARPS warps per multiprocessor.
CAL_KERNEL void CAL_BOUNDS(CAL_WIDTH, CAL_BATCH_WARPS) batch_walk_kernel(const cal_device_work work) {
    const int group = own_group(&work);
    if (group < 0) return;
    cal_context context = own_context(&work, group);
    context.workspace = CAL_FAST_MEMORY;
    const cal_column* columns = work.layout.columns;
    for (int i = 0; i < work.walk_length; i++) {
        const cal_column* column = &columns[work.steps[i].index];
        if (work.steps[i].kind == CAL_STEP_DOWN)
            LANE(outbound_column)(&context, column);
        else if (work.steps[i].kind == CAL_STEP_UP)
            LANE(inbound_column)(&context, column);
        else if (column->parent >= 0)
            pull_child(&context, &columns[column->parent], column);
    }
    for (int i = 0; i < work.layout.column_count; i++) LANE(accelerate_column)(&context, &columns[i]);
}

static void forces(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH(forces_kernel, device, warps, work);
}
static void velocity(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH(velocity_kernel, device, warps, work);
}
static void inertia(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH(inertia_kernel, device, warps, work);
}
static void acceleration(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH(acceleration_kernel, device, warps, work);
}
static void batch_forces(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH(batch_forces_kernel, device, warps, work);
}
static void batch_walk(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH_FAST(batch_walk_kernel, device, warps, work);
}

CAL_EXTERN_C const cal_device_mechanics cal_device_aba = {.forces = forces,
                                                          .velocity = velocity,
                                                          .inertia = inertia,
                                                          .acceleration = acceleration,
                                                          .batch_forces = batch_forces,
                                                          .batch_walk = batch_walk};
