// Limbs on a device: columns that go up as soon as they have gone down. What a node keeps from its way down to its way up (Θ, h, n⁰, f⁰, z
// and d) would be most of what a launch moves through memory, so a limb is walked in *segments* of a few nodes:
//
//     down          motions alone; those that segments begin with are kept, but for the last one's, which is at hand
//     last segment  down again, all that its nodes keep into memory on chip, and up
//     the one before …
//
// The numbers are those of the plain walks, and so are the bits: motions are computed twice instead of being kept. Accelerations
// find z and d again from positions. Include after pass/aba_columns.h.
#pragma once
#include <assert.h>

// Rows on chip of each node of a segment: those of the scratch memory (aba_body.h), then z, d and the joint's force.
enum { LIMB_Z = CAL_SCRATCH_COUNT, LIMB_D = LIMB_Z + 3, LIMB_FORCE = LIMB_D + 3 };
static_assert((int)LIMB_FORCE + 1 == (int)CAL_LIMB_ROWS, "a warp's memory on chip has these rows");

CAL_DEVICE static inline bool has_segments(const cal_column* column) {
    return column->child_count == 0 && !column->is_long &&
           (column->kind == CAL_REVOLUTE || column->kind == CAL_PRISMATIC);
}

// Where the numbers of a step of a column are, of which the first one's are known.
LANE_INLINE place steps_below(const place* top, const cal_context* context, const cal_column* column, int kind,
                              int steps) {
    place at = *top;
    at.y += steps * 2 * CAL_WIDTH, at.ydot += steps * 2 * CAL_WIDTH, at.force += steps * CAL_WIDTH;
    at.record += steps * cal_aba_record(kind) * CAL_WIDTH;
    at.constants = find_constants(context->layout, column, steps, CAL_OWN_LANE);
    if (at.external) at.external += steps * 15 * CAL_WIDTH;
    if (at.implicit) at.implicit += steps * 2 * CAL_WIDTH;
    return at;
}

// Where the motion is kept that a segment begins with: in the scratch memory that its nodes do not need, and which a whole segment has.
static_assert((int)CAL_LIMB_STEPS * (int)CAL_SCRATCH_COUNT >= (int)CAL_DOWN_COUNT, "a motion has room there");
LANE_INLINE double* kept_motion(const cal_context* context, const cal_column* column, int first) {
    return FRAME_IN_MEMORY(context, column, first) + CAL_OWN_LANE;
}

LANE_INLINE void keep_motion(double* to, const motion* m) {
    slot_store_columns(to, 0, m->E);
    slot_store3(to, 9, m->w), slot_store3(to, 12, m->al), slot_store3(to, 15, m->a);
}

LANE_INLINE motion take_motion(const double* from) {
    motion m = {.E = slot_load_columns(from, 0),
                .w = slot_load3(from, 9),
                .al = slot_load3(from, 12),
                .a = slot_load3(from, 15)};
    m.A = spin_matrix(m.w, m.al);
    return m;
}

// A joint's position and velocity, read some steps ahead of their use; beyond the end the last one's, since what is read under a
// condition is waited for at once.
typedef struct joint_motion {
    lane q, v;
} joint_motion;
LANE_INLINE joint_motion read_joint(const place* top, int step, int count) {
    const double* y = top->y + (step < count ? step : count - 1) * 2 * CAL_WIDTH;
    return (joint_motion){LOAD_FAR(y, 0), LOAD_FAR(y, 1)};
}

LANE_INLINE void limb_run(int kind, const cal_context* context, const cal_column* column) {
    enum { STEPS = CAL_LIMB_STEPS };
    const int count = column->block_count, last = (count - 1) / STEPS * STEPS;
    double* const chip = context->workspace + CAL_OWN_LANE;
    const place top = find_place(context, column, kind, cal_aba_record(kind), 0);
    joint_motion next = read_joint(&top, 0, count), second = read_joint(&top, 1, count);
    motion m = load_motion(context, column);
    v3 d;
    for (int i = 0; i < last; i++) {
        const joint_motion own = next;
        next = second;
        second = read_joint(&top, i + 2, count);
        move_on(kind, &m, own.q, own.v, find_constants(context->layout, column, i, CAL_OWN_LANE), &d);
        if ((i + 1) % STEPS == 0 && i + 1 < last) keep_motion(kept_motion(context, column, i + 1), &m);
    }
    articulated I = {0};
    for (int first = last; first >= 0; first -= STEPS) {
        const int end = first + STEPS < count ? first + STEPS : count;
        if (first < last) {
            next = read_joint(&top, first, count), second = read_joint(&top, first + 1, count);
            m = first > 0 ? take_motion(kept_motion(context, column, first)) : load_motion(context, column);
        }
        for (int i = first; i < end; i++) {
            const joint_motion own = next;
            const place at = steps_below(&top, context, column, kind, i);
            const lane force = LOAD_FAR(at.force, 0);
            next = second;
            second = read_joint(&top, i + 2, count);
            double* rows = chip + (i - first) * CAL_LIMB_ROWS * CAL_WIDTH;
            move_on(kind, &m, own.q, own.v, at.constants, &d);
            store3(rows, LIMB_Z, m.E.z);
            store3(rows, LIMB_D, d);
            bias(kind, m.E, m.A, m.a, at.constants, at.external, rows);
            STORE(rows, LIMB_FORCE, force);
        }
        for (int i = end - 1; i >= first; i--) {
            const place at = steps_below(&top, context, column, kind, i);
            const double* rows = chip + (i - first) * CAL_LIMB_ROWS * CAL_WIDTH;
            lane armature = LOAD(at.constants, CAL_CONSTANT_ARMATURE);
            if (at.implicit) armature = armature + LOAD(at.implicit, 0);
            add_own(&I, at.constants, rows);
            inbound_joint(kind, &I, load3(rows, LIMB_Z), load3(rows, LIMB_D), LOAD(rows, LIMB_FORCE), armature,
                          at.record, NULL);
        }
    }
    leave_up(context, column, &I);
}

// Down and up again; of a column that has segments.
LANE_FUNCTION void walk_limb(const cal_context* context, const cal_column* column) {
    if (column->kind == CAL_REVOLUTE)
        limb_run(CAL_REVOLUTE, context, column);
    else
        limb_run(CAL_PRISMATIC, context, column);
}

// What an acceleration reads of a node's record and motion, some steps ahead of its use.
typedef struct joint_answer {
    v3 gn, gf;
    lane k, q, v;
} joint_answer;
LANE_INLINE joint_answer read_answer(const place* top, int kind, int wanted, int count) {
    const int step = wanted < count ? wanted : count - 1;
    const double *y = top->y + step * 2 * CAL_WIDTH, *record = top->record + step * cal_aba_record(kind) * CAL_WIDTH;
    return (joint_answer){.gn = load3_once(record, LANE(RECORD_G)),
                          .gf = load3_once(record, LANE(RECORD_G) + 3),
                          .k = LOAD_ONCE(record, LANE(RECORD_K)),
                          .q = LOAD_FAR(y, 0),
                          .v = LOAD_FAR(y, 1)};
}

LANE_INLINE void accelerate_turning_run(int kind, const cal_context* context, const cal_column* column) {
    enum { AHEAD = 2 };
    const int count = column->block_count;
    const place top = find_place(context, column, kind, cal_aba_record(kind), 0);
    parent_slot slot;
    find_parent(context, column, CAL_DOWN_COUNT, &slot);
    joint_answer answers[AHEAD];
    CAL_UNROLL for (int k = 0; k < AHEAD; k++) answers[k] = read_answer(&top, kind, k, count);
    v3 al = {0}, a = {0}, d;
    m3 E = {from_parent3(&slot, 0), from_parent3(&slot, 3), from_parent3(&slot, 6)};
    if (column->parent >= 0) al = from_parent3(&slot, ACCELERATION), a = from_parent3(&slot, ACCELERATION + 3);
    for (int first = 0; first < count; first += AHEAD) {
        CAL_UNROLL for (int k = 0; k < AHEAD; k++) {
            const int i = first + k;
            if (i >= count) break;
            const joint_answer own = answers[k];
            answers[k] = read_answer(&top, kind, i + AHEAD, count);
            turn_axes(kind, &E, own.q, find_constants(context->layout, column, i, CAL_OWN_LANE), &d);
            const lane qdd = accelerate_joint(kind, &al, &a, E.z, d, own.gn, own.gf, own.k);
            double* ydot = top.ydot + i * 2 * CAL_WIDTH;
            STORE_FAR(ydot, 0, own.v);
            STORE_FAR(ydot, 1, qdd);
        }
    }
    if (column->child_count == 0) return;
    slot_store_columns(context->scratch + column->end_slot + CAL_OWN_LANE, 0, E);
    store_acceleration(context, column, al, a);
}

// Of a wide column whose joints have one degree of freedom.
LANE_FUNCTION void accelerate_joints(const cal_context* context, const cal_column* column) {
    if (column->kind == CAL_REVOLUTE)
        accelerate_turning_run(CAL_REVOLUTE, context, column);
    else
        accelerate_turning_run(CAL_PRISMATIC, context, column);
}

// Accelerations of a wide column, and the axes at its end, which are found anew where the joints have one degree of freedom.
LANE_FUNCTION void accelerate_turning(const cal_context* context, const cal_column* column) {
    if (column->kind == CAL_REVOLUTE || column->kind == CAL_PRISMATIC) {
        accelerate_joints(context, column);
    } else {
        LANE(accelerate_column)(context, column);
        if (column->child_count == 0) return;
        const bool ball = column->kind == CAL_BALL;
        const place at =
            find_place(context, column, column->kind, cal_aba_record(column->kind), column->block_count - 1);
        const double* E = at.record + (ball ? (int)LANE(BALL_E) : (int)LANE(FREE_E)) * CAL_WIDTH;
        slot_store_columns(context->scratch + column->end_slot + CAL_OWN_LANE, 0, load_columns(E, 0));
    }
}
