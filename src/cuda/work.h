// What a kernel is given, by value: where everything lives in the device's memory, and which columns or groups it is about.
//
// A warp has a column: its 32 threads have a lane each; where columns are few, a team of warps has one. One model is worked on
// level by level, all columns of one depth at the same time, and every column has a frame of its own (layout.h, lasting):
//
//     down   level 0 ─▸ 1 ─▸ 2 …         rotations, velocities, forces of columns with children; the first levels at once (descent)
//     limbs                              columns without children, of all levels: down, and up again at once
//     up     … 2 ─▸ 1 ─▸ 0               a column's threads pull what its children left, in the order of the tree
//     down   level 0 ─▸ 1 ─▸ 2 …         accelerations
//     limbs                              theirs; then the solver's follow-up of all columns
//     up     … 2 ─▸ 1 ─▸ 0               the solver's sums
//
// Assembly (pass/assembly.c) has its parts in the lanes of columns, and between the walks of these its elements: a thread or a warp has one. Heights
// that fill a device by themselves are a launch each; of others a launch has a *band* of several, and a team of warps a group of
// subtrees of it, height after height, whose numbers never leave its multiprocessor's cache in between:
//
//     last band    ───────── one team, up and down again ─────────
//     band 2       ── group ──  ── group ──  ── group ──  ── group
//     band 1, 0    joins side by side, each with a warp of its own
//
// Many instances (a batch) are groups of 32: a warp has a group, a thread an instance, and walks the plan's steps.
#pragma once
#include "pass/assembly.h"
#include "pass/pass.h"
#include "pass/solver_ops.h"
#include "schedule/schedule_bands.h"

enum { CAL_DEVICE_LANES = 32, CAL_DEVICE_VECTORS = 16 };
enum { CAL_HALF_TEAM = 4, CAL_TEAM_STEPS = 16 }; // warps of half of a team; blocks of a column that one has on chip
enum { CAL_NEAR_ROWS = 26 };                     // of a node of a part that is on chip (near.h)
enum {
    CAL_TRUNK_LEVELS = 8,
    CAL_TRUNK_TEAMS = 8,
    CAL_STAGE_PHASES = 2
}; // as many teams as a cluster has on every GPU that has clusters

// What there is to do for an element on the way from tips to bases. Of a join of two parts of a chain, or of what such parts became: where the motions
// are of its own tip, of those of both, of its base and of b's, in the numbers of elements; and where the columns of those that are parts read theirs,
// in the scratch memory.
enum { CAL_PLACING_STRIDES = 64 };
#define CAL_NOWHERE UINT32_MAX
typedef struct cal_placing_step {
    int32_t
        element; // of other kinds: which one; else −1 − (how far apart numbers of a part are: a's and, times CAL_PLACING_STRIDES, b's)
    uint32_t tip, a_tip, b_tip, base, b_base, a_seat, b_seat;
} cal_placing_step;

typedef struct cal_device_work {
    cal_layout layout;   // its arrays are the device's
    cal_context context; // dito; but its layout, which is this one
    // One model: the columns order[first] … order[first + count - 1].
    const int32_t* order;
    const uint8_t* block_kind; // of each block: its joints
    const int32_t* blocks;     // those of a descent first, then all others
    // What lane l of column c pulls, in the order of the tree: the places pulls[first_pull[i]] … pulls[first_pull[i + 1] - 1] of
    // the scratch memory, i = 32 (c + 1) + l; the ground is column -1.
    const int32_t* first_pull;
    const uint32_t* pulls;
    int first, count;
    // From the last to the first. What the kernel before wrote last is still in the device's cache: kernels that go through everything take
    // turns in their direction, so that each begins with it. Who is first changes no number.
    bool reversed;
    bool settled; // of accelerations: what they read but their parents' was there before the kernel before began
    // The first levels, if they have few columns and all of these have children: level i has order[trunk[i]] … order[trunk[i + 1] - 1].
    // They are one launch, and each column has a team: what takes time there is that each level waits for the one before it.
    int trunk_levels, trunk[CAL_TRUNK_LEVELS + 1];
    // The first levels on their way down, as many as have no more columns than a device has teams at once, limbs apart: the descent,
    // order[descent_first] … order[descent_first + descent_count - 1], parents before children. It is one launch, in which each column has a team;
    // a column tells its children by a flag that its motions are there.
    int descent_first, descent_count;
    uint32_t* flags; // of each column
    int ahead;       // how many blocks of a column are read ahead (ahead.h); 0: none, launches that fill a device
    // Assembly, by value: nobody waits for where things are. Its schedule and slots are these.
    cal_assembly assembly;
    cal_schedule schedule;
    cal_slot_layout slots;
    // Assembly: of group g of a band, the elements of its height h are schedule.order[starts[i]] … order[starts[i + 1] - 1],
    // i = first + g (heights + 1) + h; the launch goes down again after `turn` phases.
    const int32_t* starts;
    const cal_placing_step* placings; // of schedule.order, on the way from tips to bases
    int heights, turn;
    int phase_count; // of kernels with phases (kernel.h)
    bool
        limb_parts; // all columns are parts with joints of one degree, without branches and with one port at most (part.h)
    bool all_limb_parts; // and no others
    int near_steps; // of the longest of them, where they are so few and short that each has a multiprocessor for itself (near.h); else 0
    int ground_pulls; // how many the ground has
    // The first levels, whose sums are one launch with the ground's: columns order[sum_first[i]] … that have children or are long.
    int sum_levels, sum_first[CAL_TRUNK_LEVELS], sum_count[CAL_TRUNK_LEVELS];
    // A batch: groups, and how far apart their numbers are.
    int groups, walk_length;
    const cal_step* steps;
    size_t y_stride, v_stride, control_stride, record_stride, scratch_stride;
    const uint8_t* chosen; // instances; NULL: all
    bool rates;            // whether ydot gets the rates of positions of joints with one degree of freedom, too
    // Where each instance has steps of its own: its clock, control's memory and what that sends down; else NULL.
    cal_batch_clock* clocks;
    char* controls;
    double* downs;
    size_t control_bytes;
    bool at_ends;       // interpolation: each at the end of the step that it has just accepted; who has not rests
    const char* begins; // a clock, control's memory and what it sends down, of instances that begin
    uint8_t* moves;     // writes what `chosen` reads
    int32_t* moving;    // set where some instance has not arrived
    double horizon;
    // Instances with constraints (held.h): what each has of them; NULL: there are none.
    char* held;
    size_t held_stride;
    const struct cal_held_image* image; // what all share
    double accepted;                    // the end of the last accepted step
    int held_task;                      // of loops.cu
    size_t left_stride;                 // numbers of what each leaves for its next step, in `out`
    // The solver.
    double* vectors[CAL_DEVICE_VECTORS];
    const double* down; // what control sent; NULL: `numbers`
    double numbers[CAL_MAX_DOWN];
    const double* sent; // of the host, where control leaves it; and where it goes to
    double* fetched;
    double relative, absolute;
    const double* scale;
    double* sums;
    const void* control; // what interpolate reads
    double time;
    double* out;
    const int32_t* positions; // of `count` numbers in `out`, and where they go
    double* gathered;
} cal_device_work;
