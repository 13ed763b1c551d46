// The kernels, as the host asks for them: a table each for the mechanics and for a solver. `warps`: columns or groups.
#pragma once
#include "cuda/device.h"
#include "cuda/work.h"

typedef void cal_device_launch(cal_device* device, const cal_device_work* work, int warps);

typedef struct cal_device_mechanics {
    cal_device_launch *inertia, *acceleration; // of columns
    cal_device_launch* limb;                   // of columns without children that are wide: velocity and inertia
    // Of articulated bodies, and of the parts of assembly as well.
    cal_device_launch *forces, *velocity;
    cal_device_launch* descent;                   // velocities of its columns; NULL: none
    cal_device_launch* trunk_turn;                // inertias and accelerations of a trunk, of its teams; NULL: none
    cal_device_launch *batch_forces, *batch_walk; // of groups' columns; of groups: all of forward dynamics
    cal_device_launch* ports;                     // of assembly: how ports move as seen from bases
} cal_device_mechanics;

// Walks of assembly's tree of joins, up and down again: of the groups of a band of heights; of the last one, which turns; of elements
// with a warp each.
typedef struct cal_device_joins {
    cal_device_launch *up, *down, *last, *wide_up, *pairs_up, *wide_down;
} cal_device_joins;

// Energy and momentum at work.out, a y-shaped vector: of the columns of a level, down and up again; the ground's, into work.sums.
typedef struct cal_device_energy {
    cal_device_launch *down, *up, *end;
} cal_device_energy;

typedef struct cal_device_solver {
    cal_device_launch *prepare, *interpolate; // of blocks
    cal_device_launch* follow;                // of columns, before the sums
    cal_device_launch* sums;     // of the columns of a level that have children or are long, the deepest first
    cal_device_launch* end_sums; // the ground's: how many it pulls
    cal_device_launch *batch_prepare, *batch_interpolate; // of groups' columns
    cal_device_launch* batch_held; // of groups: an evaluation with constraints (loops.cu); NULL: it has none
    cal_device_launch* batch_step; // of groups: the preparation of fixed steps (batch_steps.cu); NULL: it has none
    // Of groups whose instances have steps of their own: their follow-up with its sums; control; what begins. NULL: they cannot.
    cal_device_launch *batch_sums, *batch_steer, *batch_begin;
} cal_device_solver;

#ifdef __cplusplus
extern "C" {
#endif
extern const cal_device_mechanics cal_device_aba, cal_device_assembly;
extern const cal_device_energy cal_device_energies;
cal_device_launch cal_device_place; // of work.gathered, in the user's order, into work.out
cal_device_launch cal_device_fetch; // work.sent, of the host, into work.fetched
cal_device_launch
    cal_device_gather; // q and v of work.out in the user's order; work.sums[0] is set where they are not finite
cal_device_launch cal_device_rk4_step, cal_device_euler_step;
cal_device_launch cal_device_rk4_held, cal_device_euler_held; // loops.cu
cal_device_launch cal_device_held_make, cal_device_held_begin, cal_device_held_close, cal_device_held_ends,
    cal_device_held_leave, cal_device_held_take, cal_device_held_steered, cal_device_held_close_kept,
    cal_device_held_close_sampled;
cal_device_launch cal_device_join_pairs; // joins of chains, side by side
extern const cal_device_joins cal_device_placing, cal_device_joining;
extern const cal_device_solver cal_device_gear, cal_device_runge_kutta, cal_device_rk4, cal_device_euler,
    cal_device_implicit;
#ifdef __cplusplus
}
#endif
