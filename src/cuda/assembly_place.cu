// Forward dynamics by assembly on a device, how tips and bases move: pass/assembly_elements.h along the tree of joins, a warp per element.
#include "cuda/kernel.h"
#define GROUP_WARPS CAL_PLACE_WARPS
#define TEAM_WORKERS GROUP_WARPS
#define WORKER_OF_TEAM (CAL_OWN_WARP % GROUP_WARPS)
#define WORKER_MEMBER CAL_OWN_LANE
#define WORKER_MEMBERS CAL_WIDTH
#include "cuda/bands.h"

enum { COMPOSE_DOUBLES = sizeof(cal_compose_room) / sizeof(double) };

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

// A join of two parts of a chain, or of what such parts became: where everything is came with it.
CAL_DEVICE static inline void find_tip(const cal_context* context, const cal_placing_step* step,
                                       cal_compose_room* room) {
    const cal_assembly* assembly = cal_assembly_of(context);
    if (step->b_tip == CAL_NOWHERE) return;
    compose(motion_at(assembly, step->a_tip), motion_at(assembly, step->b_tip), motion_at(assembly, step->tip), room);
    CAL_TEAM_WAIT(); // the room is the next one's
}
CAL_DEVICE static inline void tell_part(const cal_context* context, uint32_t seat, int stride,
                                        const cal_placing* motion) {
    double* out = context->scratch + seat;
    if (seat != CAL_NOWHERE) CAL_SET_ENTRIES(i, CAL_DOWN_COUNT, out[i * stride], ((const double*)motion)[i]);
}
CAL_DEVICE static inline void find_base(const cal_context* context, const cal_placing_step* step,
                                        cal_compose_room* room) {
    const cal_assembly* assembly = cal_assembly_of(context);
    compose(motion_at(assembly, step->base), motion_at(assembly, step->a_tip), motion_at(assembly, step->b_base), room);
    const int strides = -1 - step->element;
    tell_part(context, step->a_seat, strides % CAL_PLACING_STRIDES, &room->base);
    tell_part(context, step->b_seat, strides / CAL_PLACING_STRIDES, &room->out);
    CAL_TEAM_WAIT();
}
CAL_DEVICE static inline void place(const cal_context* context, const cal_placing_step* step, bool up, double* chip) {
    cal_compose_room* room = (cal_compose_room*)chip;
    if (step->element >= 0) {
        if (up)
            find_tips_of(context, step->element, chip);
        else
            find_bases_of(context, step->element, chip);
    } else if (up)
        find_tip(context, step, room);
    else
        find_base(context, step, room);
}

// What a warp works on one after the other, in all phases, is constant. A thread holds what there is to do in the round of its own number, and which
// elements the phase of its own number has: nobody waits for memory between phases to know what to do.
typedef struct held_rounds {
    cal_placing_step step;
    int first, end;
    int round; // the next one
} held_rounds;
#ifdef __CUDA_ARCH__
CAL_DEVICE static inline held_rounds hold_rounds(const cal_device_work* work) {
    held_rounds own = {};
    int number = -1;
    if (CAL_OWN_LANE < work->phase_count) {
        const phase_elements of = elements_of(work, CAL_OWN_LANE);
        own.first = of.first + WORKER_OF_TEAM, own.end = of.end;
    }
    for (int phase = 0, round = 0; phase < work->phase_count && phase < CAL_WIDTH; phase++) {
        const int first = __shfl_sync(~0u, own.first, phase), end = __shfl_sync(~0u, own.end, phase);
        const int count = first < end ? (end - first + TEAM_WORKERS - 1) / TEAM_WORKERS : 0, at = CAL_OWN_LANE - round;
        if (at >= 0 && at < count) number = first + at * TEAM_WORKERS;
        round += count;
    }
    if (number >= 0) own.step = work->placings[number];
    return own;
}
CAL_DEVICE static inline cal_placing_step held_step(const cal_device_work* work, held_rounds* own, int number) {
    enum { WORDS = sizeof(cal_placing_step) / sizeof(int) };
    const int round = own->round++;
    if (round >= CAL_WIDTH || work->phase_count > CAL_WIDTH) return work->placings[number];
    union {
        cal_placing_step step;
        int words[WORDS];
    } held = {own->step}, out;
    CAL_UNROLL for (int i = 0; i < WORDS; i++) out.words[i] = __shfl_sync(~0u, held.words[i], round);
    return out.step;
}
CAL_DEVICE static inline phase_elements held_phase(const cal_device_work* work, const held_rounds* own, int phase) {
    if (phase >= CAL_WIDTH) return elements_of(work, phase);
    return (phase_elements){__shfl_sync(~0u, own->first, phase) - WORKER_OF_TEAM, __shfl_sync(~0u, own->end, phase),
                            phase < work->turn};
}
#else
CAL_DEVICE static inline cal_placing_step held_step(const cal_device_work* work, held_rounds* own, int number) {
    (void)own;
    return work->placings[number];
}
CAL_DEVICE static inline phase_elements held_phase(const cal_device_work* work, const held_rounds* own, int phase) {
    (void)own;
    return elements_of(work, phase);
}
#endif

CAL_PHASE void place_elements(const cal_device_work* work, int phase, bool goes_up, bool goes_down, held_rounds* held) {
    cal_context context = own_context(work, 0);
    CAL_OWN_ASSEMBLY(work, context);
    const phase_elements own = held_phase(work, held, phase);
    const bool up = goes_up && (!goes_down || own.up);
    double* chip = CAL_FAST_MEMORY + (size_t)WORKER_OF_TEAM * COMPOSE_DOUBLES;
    for (int i = own.first + WORKER_OF_TEAM; IS_MEMBER && i < own.end; i += TEAM_WORKERS) {
        const cal_placing_step step = held_step(work, held, i);
        place(&context, &step, up, chip);
    }
}
#ifdef CAL_CUDA_EMULATED
#define PLACING_KERNEL(name, goes_up, goes_down)                                                                       \
    static void name##_phase(const cal_device_work* work, int phase) {                                                 \
        held_rounds held = {.round = 0};                                                                               \
        place_elements(work, phase, goes_up, goes_down, &held);                                                        \
    }
#else
#define PLACING_KERNEL(name, goes_up, goes_down)                                                                       \
    CAL_KERNEL void CAL_BOUNDS(GROUP_WARPS* CAL_WIDTH, 1) name##_kernel(const cal_device_work work) {                  \
        held_rounds held = HOLD_ROUNDS;                                                                                \
        CAL_AFTER_OTHERS;                                                                                              \
        CAL_BEFORE_OTHERS;                                                                                             \
        for (int phase = 0; phase < work.phase_count; phase++) {                                                       \
            if (phase > 0) __syncthreads();                                                                            \
            place_elements(&work, phase, goes_up, goes_down, &held);                                                   \
        }                                                                                                              \
    }
#ifdef __CUDA_ARCH__
#define HOLD_ROUNDS hold_rounds(&work)
#else
#define HOLD_ROUNDS                                                                                                    \
    {}
#endif
#endif
#define PLACING(name, goes_up, goes_down)                                                                              \
    PLACING_KERNEL(name, goes_up, goes_down)                                                                           \
    static void name(cal_device* device, const cal_device_work* work, int groups) {                                    \
        CAL_LAUNCH_PHASED(name##_kernel, name##_phase, GROUP_WARPS, device, groups, COMPOSE_DOUBLES* TEAM_WORKERS,     \
                          work);                                                                                       \
    }
PLACING(tips, true, false)
PLACING(bases, false, true)
PLACING(last_placing, true, true)

CAL_EXTERN_C const cal_device_joins cal_device_placing = {.up = tips, .down = bases, .last = last_placing};
