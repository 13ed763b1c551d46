// Forward dynamics by assembly on a device, what is done along columns: pass/assembly_columns.h's mechanics, a thread per lane of a
// column of parts.
#include "cuda/kernel.h"
#include "cuda/kernels.h"
#include "pass/aba.h"
#include "pass/assembly.h"

#define CAL_LANES 1
#include "math/lanes.h"
#include "math/lane_algebra.h"
#include "math/lane_memory.h"
#include "pass/assembly_body.h"
#include "pass/columns.h"
#include "pass/assembly_columns.h"
#include "pass/aba_outbound.h"
#include "cuda/pull.h"
#include "cuda/ahead.h"
#include "cuda/part.h"
#include "cuda/near.h"

// Below its port a slot carries nothing.
CAL_DEVICE static void clear_area(const cal_context* context, const cal_column* column, const cal_slots* slots) {
    double* area = area_of(context, column, slots) + own_lane(column);
    const size_t count = cal_area_doubles(slots->count);
    for (size_t i = 0; i < count; i++) area[i * CAL_WIDTH] = 0.0;
}

// Where the slots of the thread's column are, and the step of its port, of a part that is a limb: constant.
typedef struct own_slots {
    const cal_slots* slots;
    bool limb;
    int on;
} own_slots;
CAL_DEVICE static inline own_slots find_slots(const cal_context* context, const cal_column* column) {
    const cal_slots* slots = slots_of(context, column);
    const bool limb = is_limb_part(column, slots);
    return (own_slots){slots, limb, limb ? port_step(context, slots) : -1};
}

CAL_KERNEL void CAL_BOUNDS(CAL_WIDTH, CAL_PART_WARPS) place_kernel(const cal_device_work work) {
    const cal_column* column = own_column(&work);
    cal_context context = own_context(&work, 0);
    CAL_OWN_ASSEMBLY(&work, context);
    const own_slots own = column ? find_slots(&context, column) : (own_slots){0};
    CAL_AFTER_OTHERS;
    CAL_BEFORE_OTHERS;
    if (is_idle(column) || own.slots->count == 0) return;
    if (own.limb) {
        place_part(&context, column, own.slots, own.on);
        return;
    }
    // That of one slot of a limb is on chip, where it is cleared.
    if (own.slots->count > 1 || column->child_count > 0 || column->is_long) clear_area(&context, column, own.slots);
    LANE(place_column)(&context, column);
}

// A part's way down and up again.
CAL_KERNEL void CAL_BOUNDS(CAL_WIDTH, CAL_PART_WARPS) part_kernel(const cal_device_work work) {
    const cal_column* column = own_column(&work);
    cal_context context = own_context(&work, 0);
    CAL_OWN_ASSEMBLY(&work, context);
    const own_slots own = column ? find_slots(&context, column) : (own_slots){0};
    CAL_AFTER_OTHERS;
    if (!column) return;
    context.workspace = CAL_FAST_MEMORY;
    if (own.limb) {
        walk_part(&context, column, own.slots, own.on);
        return;
    }
    if (own.slots->count == 1) clear_area(&context, column, own.slots);
    LANE(outbound_column)(&context, column);
    LANE(inbound_column)(&context, column);
    if (column->parent >= 0) carry_slots(&context, column, own_lane(column));
}

// Both where all of a launch are limbs: a team's warps have a role each.
#ifdef CAL_CUDA_EMULATED
enum { ROLE_WARPS = 1 };
#define BY_ROLE(walk) walk(PART_DOES_ALL, &context, column, own.slots, own.on)
#else
enum { ROLE_WARPS = CAL_PART_ROLES };
#define BY_ROLE(walk)                                                                                                  \
    do {                                                                                                               \
        const int role = CAL_OWN_WARP % CAL_PART_ROLES;                                                                \
        if (role == 0)                                                                                                 \
            walk(PART_FILLS, &context, column, own.slots, own.on);                                                     \
        else if (role == 1)                                                                                            \
            walk(PART_ELIMINATES, &context, column, own.slots, own.on);                                                \
        else                                                                                                           \
            walk(PART_PUSHES, &context, column, own.slots, own.on);                                                    \
    } while (0)
#endif
#define ROLES_KERNEL(name, walk)                                                                                       \
    CAL_KERNEL void CAL_BOUNDS(CAL_PART_ROLES* CAL_WIDTH, CAL_PART_TEAMS) name(const cal_device_work work) {           \
        const cal_column* column = team_column(&work, ROLE_WARPS);                                                     \
        cal_context context = own_context(&work, 0);                                                                   \
        CAL_OWN_ASSEMBLY(&work, context);                                                                              \
        const own_slots own = find_slots(&context, column);                                                            \
        CAL_AFTER_OTHERS;                                                                                              \
        CAL_BEFORE_OTHERS;                                                                                             \
        context.workspace = CAL_FAST_MEMORY;                                                                           \
        BY_ROLE(walk);                                                                                                 \
    }
ROLES_KERNEL(place_roles_kernel, place_roles)
ROLES_KERNEL(part_roles_kernel, walk_roles)

CAL_KERNEL void part_inertia_kernel(const cal_device_work work) {
    const cal_column* column = own_column(&work);
    CAL_AFTER_OTHERS;
    if (is_idle(column)) return;
    cal_context context = own_context(&work, 0);
    CAL_OWN_ASSEMBLY(&work, context);
    pull_children(&work, &context, column);
    LANE(inbound_column)(&context, column);
    if (column->parent >= 0) carry_slots(&context, column, own_lane(column));
}

CAL_KERNEL void part_acceleration_kernel(const cal_device_work work) {
    const cal_column* column = own_column(&work);
    CAL_AFTER_OTHERS;
    CAL_BEFORE_OTHERS;
    if (is_idle(column)) return;
    cal_context context = own_context(&work, 0);
    CAL_OWN_ASSEMBLY(&work, context);
    const cal_slots* slots = slots_of(&context, column);
    if (is_limb_part(column, slots))
        accelerate_part(&context, column, slots);
    else
        LANE(accelerate_column)(&context, column);
}

CAL_TEAM_KERNEL(place_near_kernel, place_near_ahead, place_near_phase, 2, CAL_TEAM_WARPS, 1)
CAL_TEAM_KERNEL(part_near_kernel, part_near_ahead, part_near_phase, 4, CAL_TEAM_WARPS, 1)
CAL_TEAM_KERNEL(acceleration_near_kernel, acceleration_near_ahead, acceleration_near_phase, 2, CAL_TEAM_WARPS, 1)

static int near_doubles(const cal_device_work* work) {
    return (work->near_steps > 4 ? work->near_steps : 4) * CAL_NEAR_ROWS * CAL_WIDTH;
}
#define LAUNCH_NEAR(name, phases)                                                                                      \
    CAL_LAUNCH_TEAMS(name##_kernel, name##_phase, phases, CAL_TEAM_WARPS, device, columns, near_doubles(work), work)

static void place_parts(cal_device* device, const cal_device_work* work, int columns) {
    if (work->near_steps > 0)
        LAUNCH_NEAR(place_near, 2);
    else if (work->all_limb_parts)
        CAL_LAUNCH_ROLES(place_roles_kernel, device, columns, CAL_PART_ROLES, 3 * CAL_SEGMENT_DOUBLES, work);
    else
        CAL_LAUNCH_BLOCKS(place_kernel, device, columns, 1, work);
}
static void limb(cal_device* device, const cal_device_work* work, int columns) {
    if (work->near_steps > 0)
        LAUNCH_NEAR(part_near, 4);
    else if (work->limb_parts)
        CAL_LAUNCH_ROLES(part_roles_kernel, device, columns, CAL_PART_ROLES, CAL_ROLES_DOUBLES, work);
    else
        CAL_LAUNCH_FAST(part_kernel, device, columns, CAL_PART_DOUBLES, work);
}
static void inertia(cal_device* device, const cal_device_work* work, int columns) {
    CAL_LAUNCH_BLOCKS(part_inertia_kernel, device, columns, 1, work);
}
static void acceleration(cal_device* device, const cal_device_work* work, int columns) {
    if (work->near_steps > 0)
        LAUNCH_NEAR(acceleration_near, 2);
    else
        CAL_LAUNCH_BLOCKS(part_acceleration_kernel, device, columns, 1, work);
}

// C++ wants a table's members in their order.
CAL_EXTERN_C const cal_device_mechanics cal_device_assembly = {
    .inertia = inertia, .acceleration = acceleration, .limb = limb, .ports = place_parts};
