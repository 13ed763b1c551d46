// Forward dynamics by assembly on a device, how tips and bases move: pass/assembly_elements.h along the tree of joins. What there is to do for
// an element is little, so a few threads have it.
#include "cuda/work.h"
enum { WORKER = CAL_PLACE_MEMBERS };
#include "cuda/bands.h"

enum { COMPOSE_DOUBLES = sizeof(cal_compose_room) / sizeof(double) };

CAL_DEVICE static inline double touch_placed(const cal_device_work* work, const cal_element* e, const cal_element* a,
                                             const cal_element* b) {
    return touch_numbers(work->assembly.numbers + a->tip_motion + e->tip * CAL_PLACING_NUMBERS, CAL_PLACING_NUMBERS) +
           touch_base(work, a) + touch_base(work, b);
}

CAL_DEVICE static inline void find_tips_of(const cal_context* context, int index, double* chip) {
    const cal_assembly* assembly = cal_assembly_of(context);
    find_tips(assembly, &assembly->schedule->elements[index], (cal_compose_room*)chip);
    CAL_TEAM_WAIT(); // the room is the next one's
}

CAL_DEVICE static inline void find_bases_of(const cal_context* context, int index, double* chip) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_element* e = &assembly->schedule->elements[index];
    cal_compose_room* room = (cal_compose_room*)chip;
    if (e->parent < 0) stand_on_ground(context, e);
    pass_motion(context, e, room);
    for (int side = 0; side < 2 && e->a >= 0; side++) {
        const cal_element* joined = &assembly->schedule->elements[side ? e->b : e->a];
        if (joined->kind != CAL_ELEMENT_PART) continue;
        give_motion(context, joined,
                    e->kind != CAL_ELEMENT_BELOW ? motion_at(assembly, e->motion)
                    : side                       ? &room->out
                                                 : &room->base);
    }
    CAL_TEAM_WAIT(); // the room is the next one's
}

#define PLACE up ? find_tips_of(&context, index, chip) : find_bases_of(&context, index, chip)
BAND_KERNEL(tips, COMPOSE_DOUBLES, true, false, NULL, PLACE)
BAND_KERNEL(bases, COMPOSE_DOUBLES, false, true, touch_placed, PLACE)
BAND_KERNEL(last_placing, COMPOSE_DOUBLES, true, true, NULL, PLACE)
WIDE_KERNEL(wide_tips, COMPOSE_DOUBLES, NULL, find_tips_of(&context, index, chip))
WIDE_KERNEL(wide_bases, COMPOSE_DOUBLES, touch_placed, find_bases_of(&context, index, chip))

CAL_EXTERN_C const cal_device_joins cal_device_placing = {
    .up = tips, .down = bases, .last = last_placing, .wide_up = wide_tips, .wide_down = wide_bases};
