// Joins of chains side by side, as many as fill a device: half a warp has one. What takes time there is instructions, and most of those of a join
// have six or twelve numbers to find. Both halves do the same at the same time, whatever their numbers: they wait for each other as one
// warp.
#include "cuda/kernel.h"
enum { PAIR_MEMBERS = CAL_WIDTH / 2 };
#define TEAM_WORKERS 2
#define GROUP_WARPS 1
#define WORKER_OF_TEAM (CAL_OWN_LANE / PAIR_MEMBERS)
#define WORKER_MEMBER (CAL_OWN_LANE % PAIR_MEMBERS)
#define WORKER_MEMBERS PAIR_MEMBERS
#include "cuda/bands.h"
#include <float.h>

#define CAL_LANES 1
#include "math/lanes.h"
#include "math/lane_algebra.h"
#include "math/lane_memory.h"
#include "pass/assembly_join_body.h"
#include "cuda/chain_join.h"

// What is read and written after the factors were needed has their place: forces and responses of twelve columns, and what nobody needs of a
// result.
enum {
    PAIR_WORK = offsetof(join_room, side) / sizeof(double),
    PAIR_NOWHERE = PAIR_WORK + 12 * 12, // numbers of each column (cal_join_below)
    PAIR_DOUBLES = ROOM_DOUBLES + 2 * CHAIN_DOUBLES
};
static_assert((int)PAIR_NOWHERE + (int)CHAIN_DOUBLES + (int)CAL_JOIN_NUMBERS <= (int)ROOM_DOUBLES, "there is room");

CAL_KERNEL void CAL_BOUNDS(CAL_WIDTH, CAL_PAIR_WARPS) join_pairs_kernel(const cal_device_work work) {
    cal_context context = own_context(&work, 0);
    CAL_OWN_ASSEMBLY(&work, context);
    const int first = 2 * CAL_OWN_WARP, own = first + WORKER_OF_TEAM;
    const bool real = own < work.count; // the last one may be alone: its other half does the same for nothing
    const int number = work.first + (real ? own : first);
    double touched = 0.0;
    if (IS_REAL && first < work.count) touched = touch_element(&work, number, NULL);
    CAL_AFTER_OTHERS;
    CAL_BEFORE_OTHERS;
    if (first >= work.count || !IS_MEMBER) return;
    const cal_assembly* assembly = cal_assembly_of(&context);
    const cal_element* elements = assembly->schedule->elements;
    const cal_element *e = &elements[work.schedule.order[number]], *a = &elements[e->a], *b = &elements[e->b];
    double *numbers = assembly->numbers, *chip = CAL_FAST_MEMORY + WORKER_OF_TEAM * PAIR_DOUBLES;
    double *a_chip = chip + ROOM_DOUBLES, *b_chip = a_chip + CHAIN_DOUBLES, *nowhere = chip + PAIR_NOWHERE;
    bring_elements(numbers + a->numbers, CHAIN_DOUBLES, numbers + b->numbers,
                   b->columns > 0 ? (int)CHAIN_DOUBLES : (int)CAL_ELEMENT_COLUMNS, a_chip, b_chip);
    if (b->columns == 0) CAL_ENTRIES(i, CHAIN_DOUBLES - CAL_ELEMENT_COLUMNS) b_chip[CAL_ELEMENT_COLUMNS + i] = 0.0;
    CAL_TEAM_WAIT();
    const element_view left = look_at(a_chip, 6), right = look_at(b_chip, 6);
    element_view out = look_at(real ? numbers + e->numbers : nowhere, 6);
    const element_view none = look_at(nowhere, 6);
    if (b->columns == 0) out.E = none.E, out.c = none.c, out.L = none.L;
    LANE(cal_join_below)
    (&left, &right, 0, true, NULL, &out, real ? numbers + e->join : nowhere + CHAIN_DOUBLES, (join_room*)chip,
     chip + PAIR_WORK);
    use_touched(work.assembly.numbers, touched);
}

CAL_EXTERN_C void cal_device_join_pairs(cal_device* device, const cal_device_work* work, int elements) {
    CAL_LAUNCH_FAST(join_pairs_kernel, device, (elements + 1) / 2, 2 * PAIR_DOUBLES, work);
}
