// Forward dynamics by assembly on a device, how tips and bases move: pass/assembly_elements.h along the tree of joins. For an element there is
// little to do, and a thread has it in registers. Those of a team are spread over its warps, since threads of one warp read one line after
// the other.
#include "cuda/kernel.h"
#define TEAM_WORKERS CAL_PLACERS
#define WORKER_OF_TEAM (CAL_OWN_LANE * CAL_TEAM_WARPS + CAL_TEAM_WARP)
#define IS_MEMBER (WORKER_OF_TEAM < TEAM_WORKERS)
#define WORKER_MEMBER 0
#define WORKER_MEMBERS 1
#include "cuda/bands.h"

CAL_DEVICE static inline double touch_placed(const cal_device_work* work, const cal_element* e, const cal_element* a,
                                             const cal_element* b) {
    return touch_numbers(work->assembly.numbers + a->tip_motion + e->tip * CAL_PLACING_NUMBERS, CAL_PLACING_NUMBERS) +
           touch_base(work, a) + touch_base(work, b);
}

CAL_DEVICE static inline void find_tips_of(const cal_context* context, int index) {
    const cal_assembly* assembly = cal_assembly_of(context);
    cal_compose_room room;
    find_tips(assembly, &assembly->schedule->elements[index], &room);
}

CAL_DEVICE static inline void find_bases_of(const cal_context* context, int index) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_element* e = &assembly->schedule->elements[index];
    cal_compose_room room;
    if (e->parent < 0) stand_on_ground(context, e);
    pass_motion(context, e, &room);
    if (e->a < 0) return;
    const cal_element *a = &assembly->schedule->elements[e->a], *b = &assembly->schedule->elements[e->b];
    const bool below = e->kind == CAL_ELEMENT_BELOW;
    // A choice among addresses would keep the room out of registers.
    if (a->kind == CAL_ELEMENT_PART && below) give_motion(context, a, &room.base);
    if (b->kind == CAL_ELEMENT_PART && below) give_motion(context, b, &room.out);
    if (a->kind == CAL_ELEMENT_PART && !below) give_motion(context, a, motion_at(assembly, e->motion));
    if (b->kind == CAL_ELEMENT_PART && !below) give_motion(context, b, motion_at(assembly, e->motion));
}

#define PLACE ((void)chip, up ? find_tips_of(&context, index) : find_bases_of(&context, index))
BAND_KERNEL(tips, 0, true, false, NULL, PLACE)
BAND_KERNEL(bases, 0, false, true, touch_placed, PLACE)
BAND_KERNEL(last_placing, 0, true, true, NULL, PLACE)

CAL_EXTERN_C const cal_device_joins cal_device_placing = {.up = tips, .down = bases, .last = last_placing};
