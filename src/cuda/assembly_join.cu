// Forward dynamics by assembly on a device, what is done along the tree of joins: pass/assembly_join_body.h, a warp per element. (Half a warp
// has a thread for every row as well, but a single join takes it longer: assembly_pairs.cu has those that fill a device.)
#include "cuda/kernel.h"
#define TEAM_WORKERS CAL_TEAM_WARPS
#define GROUP_WARPS CAL_TEAM_WARPS
#define WORKER_OF_TEAM CAL_TEAM_WARP
#define WORKER_MEMBER CAL_OWN_LANE
#define WORKER_MEMBERS CAL_WIDTH
#include "cuda/bands.h"
#include <float.h>
#include <stddef.h>

#define CAL_LANES 1
#include "math/lanes.h"
#include "math/lane_algebra.h"
#include "math/lane_memory.h"
#include "pass/assembly_join_body.h"
#define CAL_TEAM_OF_ONE_JOIN // no batches: a warp has one join
#include "pass/assembly_join_batches.h"
#include "cuda/chain_join.h"

// Shared memory of a warp: for all of a join's numbers but those of its result, where elements have up to three open joints; those of
// larger ones stay where they are.
enum { CAL_JOIN_DOUBLES = CAL_TEAM_DOUBLES / CAL_TEAM_WARPS };
// The way back needs no factors: what it brings is where they were.
enum { BACK_ROOM_DOUBLES = offsetof(join_room, side) / sizeof(double), BACK_DOUBLES = 640 };

CAL_DEVICE static inline double touch_joined(const cal_device_work* work, const cal_element* e, const cal_element* a,
                                             const cal_element* b) {
    const double* numbers = work->assembly.numbers;
    return touch_numbers(numbers + a->numbers + CAL_ELEMENT_COLUMNS, (int)cal_element_size(a) - CAL_ELEMENT_COLUMNS) +
           touch_numbers(numbers + b->numbers, CAL_ELEMENT_COLUMNS + 6 * b->columns) +
           touch_numbers(numbers + e->join, CAL_JOIN_NUMBERS) + touch_base(work, a) + touch_base(work, b);
}

// --- Assembly and disassembly ------------------------------------------------------------------------------------------------

// Where the chip's memory is too small it has the warp's work in the device's. A function by itself, so that elsewhere the compiler knows
// which memory it is; by value: what a pointer leads to would be in memory.
typedef struct far_join {
    double *a, *b, *out, *join, *work;
    const int32_t* map;
    int a_columns, b_columns, columns, tip;
} far_join;
CAL_DEVICE static CAL_APART void join_far(const far_join own, join_room* room) {
    const element_view a = look_at(own.a, own.a_columns), b = look_at(own.b, own.b_columns),
                       out = look_at(own.out, own.columns);
    LANE(cal_join_below)(&a, &b, own.tip, false, own.map, &out, own.join, room, own.work);
}

// Of parts of a chain: with what hangs below b, and without.
CAL_DEVICE static inline void join_chain(double* numbers, const cal_element* e, const cal_element* a,
                                         const cal_element* b, int columns, double* chip) {
    double *a_chip = chip + ROOM_DOUBLES, *b_chip = a_chip + CHAIN_DOUBLES;
    bring_elements(numbers + a->numbers, CHAIN_DOUBLES, numbers + b->numbers,
                   columns > 0 ? (int)CHAIN_DOUBLES : (int)CAL_ELEMENT_COLUMNS, a_chip, b_chip);
    CAL_TEAM_WAIT();
    const element_view left = look_at(a_chip, 6), right = look_at(b_chip, columns),
                       out = look_at(numbers + e->numbers, columns);
    LANE(cal_join_below)
    (&left, &right, 0, true, NULL, &out, numbers + e->join, (join_room*)chip, b_chip + CHAIN_DOUBLES);
}

CAL_DEVICE static inline void join_below(const cal_assembly* assembly, const cal_element* e, double* chip) {
    const cal_element *a = &assembly->schedule->elements[e->a], *b = &assembly->schedule->elements[e->b];
    double* numbers = assembly->numbers;
    if (cal_joins_chain(e, a, b)) {
        if (b->columns > 0)
            join_chain(numbers, e, a, b, 6, chip);
        else
            join_chain(numbers, e, a, b, 0, chip);
        return;
    }
    far_join own = {.a = numbers + a->numbers,
                    .b = numbers + b->numbers,
                    .out = numbers + e->numbers,
                    .join = numbers + e->join,
                    .work = assembly->work + (size_t)CAL_OWN_WARP * assembly->work_size,
                    .map = assembly->schedule->maps + e->first_map,
                    .a_columns = a->columns,
                    .b_columns = b->columns,
                    .columns = e->columns,
                    .tip = e->tip};
    const int a_size = (int)cal_element_size(a), b_size = (int)cal_element_size(b);
    if (ROOM_DOUBLES + a_size + b_size + 12 * (a->columns + b->columns) <= CAL_JOIN_DOUBLES) {
        double *a_chip = chip + ROOM_DOUBLES, *b_chip = a_chip + a_size;
        bring_elements(own.a, a_size, own.b, b_size, a_chip, b_chip);
        CAL_TEAM_WAIT();
        own.a = a_chip, own.b = b_chip, own.work = b_chip + b_size;
    }
    join_far(own, (join_room*)chip);
}

CAL_DEVICE static inline void assemble(const cal_context* context, int index, double* chip) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_element* e = &assembly->schedule->elements[index];
    if (e->kind == CAL_ELEMENT_UNIT) fill_unit(assembly, e);
    if (e->kind == CAL_ELEMENT_BESIDE) join_beside(assembly, e);
    if (e->kind == CAL_ELEMENT_BELOW) join_below(assembly, e, chip);
}

// What the way back of a join needs of a, of b, of the join and of what is known above it: lists that follow each other on chip.
typedef struct back_lists {
    const double* from[5];
    int end[5]; // of each on chip
} back_lists;
CAL_DEVICE static inline double back_number(const back_lists* lists, int i) {
    int list = 0, begin = 0;
    CAL_UNROLL for (int k = 0; k < 4; k++) {
        if (i >= lists->end[k]) list = k + 1, begin = lists->end[k];
    }
    const double* from = lists->from[0];
    CAL_UNROLL for (int k = 1; k < 5; k++) from = list == k ? lists->from[k] : from;
    return from[i - begin];
}
// Brings them, many at once: nobody waits for one after the other.
CAL_DEVICE static inline void bring_back(const back_lists* lists, double* to) {
    const int count = lists->end[4];
#ifdef __CUDA_ARCH__
    enum { EACH = (159 + WORKER_MEMBERS - 1) / WORKER_MEMBERS }; // of a chain's
    for (int first = WORKER_MEMBER; first < count; first += EACH * WORKER_MEMBERS) {
        double of[EACH];
        CAL_UNROLL for (int k = 0; k < EACH; k++) {
            const int i = first + k * WORKER_MEMBERS;
            of[k] = i < count ? back_number(lists, i) : 0.0;
        }
        CAL_UNROLL for (int k = 0; k < EACH; k++) {
            const int i = first + k * WORKER_MEMBERS;
            if (i < count) to[i] = of[k];
        }
    }
#else
    CAL_ENTRIES(i, count) to[i] = back_number(lists, i);
#endif
}

// What is known of a and b afterwards: how their bases are accelerated, and the forces on their columns.
typedef struct known_sides {
    const double *base[2], *force[2];
} known_sides;

// b, which hangs below a tip of a, from a again: what is known of both goes on to them, then w and x of the tip are found. On chip; map as in
// cal_join_below, NULL: plain.
CAL_DEVICE static inline known_sides part_on_chip(double* numbers, const cal_element* e, const cal_element* a,
                                                  const cal_element* b, int a_columns, int b_columns, int columns,
                                                  const int32_t* map, double* chip) {
    const int a_end = 7 * a_columns + a_columns * (a_columns + 1) / 2,
              b_end = a_end + CAL_ELEMENT_COLUMNS + 6 * b_columns, join_end = b_end + CAL_JOIN_NUMBERS;
    const back_lists lists = {{numbers + a->numbers + CAL_ELEMENT_COLUMNS, numbers + b->numbers, numbers + e->join,
                               numbers + e->base, numbers + e->force},
                              {a_end, b_end, join_end, join_end + 6, join_end + 6 + columns}};
    join_room* room = (join_room*)chip;
    double *E = chip + BACK_ROOM_DOUBLES, *I = E + a_end, *join = E + b_end, *base = E + join_end, *known = base + 6,
           *a_force = known + columns, *b_force = a_force + a_columns;
    bring_back(&lists, E);
    CAL_TEAM_WAIT();
    CAL_ENTRIES(i, 6) numbers[a->base + (size_t)i] = base[i];
    CAL_ENTRIES(i, a_columns + b_columns) {
        const int of = map ? map[i] : i - a_columns;
        const double force = of < 0 ? 0.0 : known[of];
        a_force[i] = force;
        numbers[(i < a_columns ? a->force + (size_t)i : b->force + (size_t)(i - a_columns))] = force;
    }
    CAL_TEAM_WAIT();
    const element_view left = {NULL, NULL, E, E + 6 * a_columns, E + 7 * a_columns, a_columns};
    const element_view right = look_at(I, b_columns);
    const int tip = map ? e->tip : 0;
    LANE(cal_part_below)
    (&left, &right, tip, join, base, a_force, b_force, numbers + a->force + 6 * tip, numbers + b->base, room);
    CAL_ENTRIES(i, 6) a_force[6 * tip + i] = room->w[i];
    CAL_TEAM_WAIT();
    return (known_sides){{base, room->x}, {a_force, b_force}};
}

CAL_DEVICE static inline known_sides part_below(const cal_assembly* assembly, const cal_element* e,
                                                const cal_element* a, const cal_element* b, double* chip) {
    double* numbers = assembly->numbers;
    const int most = BACK_ROOM_DOUBLES + (int)cal_element_size(a) + 6 * b->columns + CAL_JOIN_NUMBERS + 6 + e->columns +
                     a->columns + b->columns;
    if (cal_joins_chain(e, a, b) && b->columns > 0) return part_on_chip(numbers, e, a, b, 6, 6, 6, NULL, chip);
    if (cal_joins_chain(e, a, b)) return part_on_chip(numbers, e, a, b, 6, 0, 0, NULL, chip);
    if (most <= BACK_DOUBLES)
        return part_on_chip(numbers, e, a, b, a->columns, b->columns, e->columns,
                            assembly->schedule->maps + e->first_map, chip);
    pass_on(assembly, e);
    LANE(part_one)(assembly, e, (join_room*)chip);
    CAL_TEAM_WAIT();
    return (known_sides){{numbers + a->base, numbers + b->base}, {numbers + a->force, numbers + b->force}};
}

CAL_DEVICE static inline void take_apart(const cal_context* context, int index, double* chip) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_element* e = &assembly->schedule->elements[index];
    double* numbers = assembly->numbers;
    if (e->parent < 0) hold_base(assembly, e);
    if (e->kind == CAL_ELEMENT_PART) give_forces(context, e, numbers + e->base, numbers + e->force);
    if (e->a < 0) return;
    const cal_element *a = &assembly->schedule->elements[e->a], *b = &assembly->schedule->elements[e->b];
    known_sides known = {{numbers + a->base, numbers + b->base}, {numbers + a->force, numbers + b->force}};
    if (e->kind == CAL_ELEMENT_BELOW)
        known = part_below(assembly, e, a, b, chip);
    else
        pass_on(assembly, e);
    if (a->kind == CAL_ELEMENT_PART) give_forces(context, a, known.base[0], known.force[0]);
    if (b->kind == CAL_ELEMENT_PART) give_forces(context, b, known.base[1], known.force[1]);
    CAL_TEAM_WAIT(); // the chip is the next one's
}

// Of elements side by side: a block has one.
#define WIDE_KERNEL(name, doubles, left, act)                                                                          \
    CAL_KERNEL void name##_kernel(const cal_device_work work) {                                                        \
        cal_context context = own_context(&work, 0);                                                                   \
        CAL_OWN_ASSEMBLY(&work, context);                                                                              \
        const int number = CAL_OWN_WARP;                                                                               \
        double *chip = CAL_FAST_MEMORY, touched = 0.0;                                                                 \
        if (IS_REAL && number < work.count) touched = touch_element(&work, work.first + number, left);                 \
        CAL_AFTER_OTHERS;                                                                                              \
        CAL_BEFORE_OTHERS;                                                                                             \
        if (number >= work.count || !IS_MEMBER) return;                                                                \
        const int index = work.schedule.order[work.first + number];                                                    \
        act;                                                                                                           \
        use_touched(work.assembly.numbers, touched);                                                                   \
    }                                                                                                                  \
    static void name(cal_device* device, const cal_device_work* work, int elements) {                                  \
        CAL_LAUNCH_FAST(name##_kernel, device, elements, doubles, work);                                               \
    }
#define JOIN up ? assemble(&context, index, chip) : take_apart(&context, index, chip)
BAND_KERNEL(join, CAL_JOIN_DOUBLES, true, false, NULL, JOIN)
BAND_KERNEL(disassembly, BACK_DOUBLES, false, true, touch_joined, JOIN)
BAND_KERNEL(last_joining, CAL_JOIN_DOUBLES, true, true, NULL, JOIN)
WIDE_KERNEL(wide_join, CAL_JOIN_DOUBLES, NULL, assemble(&context, index, chip))
WIDE_KERNEL(wide_disassembly, BACK_DOUBLES, touch_joined, take_apart(&context, index, chip))

CAL_EXTERN_C const cal_device_joins cal_device_joining = {.up = join,
                                                          .down = disassembly,
                                                          .last = last_joining,
                                                          .wide_up = wide_join,
                                                          .pairs_up = cal_device_join_pairs,
                                                          .wide_down = wide_disassembly};
