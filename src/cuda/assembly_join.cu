// Forward dynamics by assembly on a device, what is done along the tree of joins: pass/assembly_elements.h and
// pass/assembly_join_body.h, a warp per element, whose threads share its entries (pass/team.h). Emulated, a team has one member.
#include "cuda/kernel.h"
#ifdef CAL_CUDA_EMULATED
#define IS_MEMBER (CAL_OWN_LANE == 0)
#else
#define IS_MEMBER true
#define CAL_TEAM_MEMBER CAL_OWN_LANE
#define CAL_TEAM_MEMBERS CAL_WIDTH
#ifdef __CUDA_ARCH__
#define CAL_TEAM_WAIT() __syncwarp()
#else
#define CAL_TEAM_WAIT() ((void)0)
#endif
#endif
#include "cuda/kernels.h"
#include "pass/assembly_elements.h"
#include <float.h>

#define CAL_LANES 1
#include "math/lanes.h"
#include "math/lane_algebra.h"
#include "math/lane_memory.h"
#include "pass/assembly_join_body.h"
#define CAL_TEAM_OF_ONE_JOIN // no batches: a warp has one join
#include "pass/assembly_join_batches.h"

// Shared memory of a warp: for all of a join's numbers but those of its result, where elements have up to three open joints; those of
// larger ones stay where they are.
enum { CAL_JOIN_DOUBLES = CAL_TEAM_DOUBLES / CAL_TEAM_WARPS, ROOM_DOUBLES = sizeof(join_room) / sizeof(double) };
enum { COMPOSE_DOUBLES = sizeof(cal_compose_room) / sizeof(double) };

// The element with this number of those in first … end - 1; -1: there is none.
CAL_DEVICE static inline int find_element(const cal_context* context, int first, int end, int number) {
    return IS_MEMBER && first + number < end ? cal_assembly_of(context)->schedule->order[first + number] : -1;
}

// Reads what is constant of an element and of what it joins ahead (ahead.h), while the kernel before it still works.
enum { MOST_AHEAD = 8 * CAL_MULTIPROCESSORS }; // each has room for so many joins
CAL_DEVICE static inline double touch_element(const cal_device_work* work, int index) {
    double sum = 0.0;
#ifdef __CUDA_ARCH__
    if (work->ahead == 0 || index < 0) return sum;
    const cal_schedule* s = &work->schedule;
    const cal_element* e = &s->elements[index];
    if (e->a < 0) return (double)(e->numbers + e->motion);
    const cal_element *a = &s->elements[e->a], *b = &s->elements[e->b];
    const int maps = a->columns + b->columns + 2 * e->columns;
    sum = (double)(e->numbers + a->numbers + b->numbers) + (double)(a->motion + b->motion + a->base + b->base);
    if (CAL_OWN_LANE < maps) sum += (double)s->maps[e->first_map + CAL_OWN_LANE];
#else
    (void)work, (void)index;
#endif
    return sum;
}

// --- How tips move, seen from bases; then how bases move ------------------------------------------------------------------

CAL_DEVICE static inline void find_tips_of(const cal_context* context, int index, double* chip) {
    const cal_assembly* assembly = cal_assembly_of(context);
    find_tips(assembly, &assembly->schedule->elements[index], (cal_compose_room*)chip);
}

CAL_DEVICE static inline void find_bases_of(const cal_context* context, int index, double* chip) {
    const cal_element* e = &cal_assembly_of(context)->schedule->elements[index];
    if (e->parent < 0) stand_on_ground(context, e);
    pass_motion(context, e, (cal_compose_room*)chip);
}

// --- Assembly and disassembly ------------------------------------------------------------------------------------------------

// Brings the numbers of two elements on chip, all of them at once.
CAL_DEVICE static inline void bring_elements(const double* a, int a_size, const double* b, int b_size, double* a_chip,
                                             double* b_chip) {
#ifdef __CUDA_ARCH__
    enum { EACH = 4 }; // elements with one tip have 90 numbers
    for (int first = CAL_OWN_LANE; first < a_size || first < b_size; first += EACH * CAL_WIDTH) {
        double of_a[EACH], of_b[EACH];
        CAL_UNROLL for (int k = 0; k < EACH; k++) {
            const int i = first + k * CAL_WIDTH;
            of_a[k] = i < a_size ? a[i] : 0.0, of_b[k] = i < b_size ? b[i] : 0.0;
        }
        CAL_UNROLL for (int k = 0; k < EACH; k++) {
            const int i = first + k * CAL_WIDTH;
            if (i < a_size) a_chip[i] = of_a[k];
            if (i < b_size) b_chip[i] = of_b[k];
        }
    }
#else
    CAL_ENTRIES(i, a_size) a_chip[i] = a[i];
    CAL_ENTRIES(i, b_size) b_chip[i] = b[i];
#endif
}

// number: of the element in its launch, whose work it has where the chip's memory is too small.
CAL_DEVICE static inline void join_below(const cal_assembly* assembly, const cal_element* e, int number, double* chip) {
    const cal_schedule* s = assembly->schedule;
    const cal_element *a = &s->elements[e->a], *b = &s->elements[e->b];
    const int a_size = (int)cal_element_size(a), b_size = (int)cal_element_size(b);
    double *a_at = assembly->numbers + a->numbers, *b_at = assembly->numbers + b->numbers;
    double* work = assembly->work + (size_t)number * assembly->work_size;
    if (ROOM_DOUBLES + a_size + b_size + 12 * (a->columns + b->columns) <= CAL_JOIN_DOUBLES) {
        double *a_chip = chip + ROOM_DOUBLES, *b_chip = a_chip + a_size;
        bring_elements(a_at, a_size, b_at, b_size, a_chip, b_chip);
        a_at = a_chip, b_at = b_chip, work = b_chip + b_size;
        CAL_TEAM_WAIT();
    }
    LANE(join_one)(assembly, e, a_at, b_at, (join_room*)chip, work);
}

CAL_DEVICE static inline void assemble(const cal_context* context, int index, int number, double* chip) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_element* e = &assembly->schedule->elements[index];
    if (e->kind == CAL_ELEMENT_UNIT) fill_unit(assembly, e);
    if (e->kind == CAL_ELEMENT_BESIDE) join_beside(assembly, e);
    if (e->kind == CAL_ELEMENT_BELOW) join_below(assembly, e, number, chip);
}

CAL_DEVICE static inline void take_apart(const cal_context* context, int index, double* chip) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_element* e = &assembly->schedule->elements[index];
    if (e->parent < 0) hold_base(assembly, e);
    if (e->kind == CAL_ELEMENT_PART) give_forces(context, e);
    if (e->a < 0) return;
    pass_on(assembly, e);
    if (e->kind == CAL_ELEMENT_BELOW) LANE(part_one)(assembly, e, (join_room*)chip);
}

// --- Kernels: of one height; of the last ones, up and down again, in phases ------------------------------------------------

#define ELEMENT_KERNEL(name, doubles, act)                                                                             \
    CAL_KERNEL void name##_kernel(const cal_device_work work) {                                                        \
        cal_context context = own_context(&work, 0);                                                                   \
        CAL_OWN_ASSEMBLY(&work, context);                                                                              \
        const int number = CAL_OWN_WARP, index = find_element(&context, work.first, work.first + work.count, number);  \
        const double touched = touch_element(&work, index);                                                            \
        CAL_AFTER_OTHERS;                                                                                              \
        CAL_LET_START(work);                                                                                           \
        if (index < 0) return;                                                                                         \
        act;                                                                                                           \
        use_touched(work.assembly.numbers, touched);                                                                   \
    }                                                                                                                  \
    static void name(cal_device* device, const cal_device_work* work, int elements) {                                  \
        cal_device_work own = *work;                                                                                   \
        own.ahead = elements <= MOST_AHEAD ? 1 : 0;                                                                    \
        CAL_LAUNCH_FAST(name##_kernel, device, elements, doubles, &own);                                               \
    }
ELEMENT_KERNEL(tips, COMPOSE_DOUBLES, find_tips_of(&context, index, CAL_FAST_MEMORY))
ELEMENT_KERNEL(bases, COMPOSE_DOUBLES, find_bases_of(&context, index, CAL_FAST_MEMORY))
ELEMENT_KERNEL(join, CAL_JOIN_DOUBLES, assemble(&context, index, number, CAL_FAST_MEMORY))
ELEMENT_KERNEL(disassembly, ROOM_DOUBLES, take_apart(&context, index, CAL_FAST_MEMORY))

// The height of a phase.
CAL_DEVICE static inline int height_of(const cal_device_work* work, int phase) {
    return work->first + (phase < work->count ? phase : 2 * work->count - 1 - phase);
}

#define LAST_KERNEL(name, up, down)                                                                                    \
    CAL_PHASE void name##_phase(const cal_device_work* work, int phase) {                                              \
        cal_context context = own_context(work, 0);                                                                    \
        CAL_OWN_ASSEMBLY(work, context);                                                                               \
        const int first = work->heights[height_of(work, phase)], end = work->heights[height_of(work, phase) + 1];      \
        double* chip = CAL_FAST_MEMORY + (size_t)CAL_TEAM_WARP * CAL_JOIN_DOUBLES;                                     \
        for (int number = CAL_TEAM_WARP; first + number < end; number += CAL_TEAM_WARPS) {                             \
            const int index = find_element(&context, first, end, number);                                              \
            if (index >= 0 && phase < work->count) up;                                                                 \
            if (index >= 0 && phase >= work->count) down;                                                              \
        }                                                                                                              \
    }                                                                                                                  \
    CAL_PHASED_KERNEL(name##_kernel, name##_phase)                                                                     \
    static void name(cal_device* device, const cal_device_work* work, int heights) {                                   \
        cal_device_work own = *work;                                                                                   \
        own.phase_count = 2 * heights;                                                                                 \
        CAL_LAUNCH_PHASED(name##_kernel, name##_phase, device, &own);                                                  \
    }
LAST_KERNEL(last_placing, find_tips_of(&context, index, chip), find_bases_of(&context, index, chip))
LAST_KERNEL(last_joining, assemble(&context, index, number, chip), take_apart(&context, index, chip))

CAL_EXTERN_C const cal_device_joins cal_device_placing = {.up = tips, .down = bases, .last = last_placing};
CAL_EXTERN_C const cal_device_joins cal_device_joining = {.up = join, .down = disassembly, .last = last_joining};
