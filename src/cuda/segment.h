// Limbs on a device: columns that go up as soon as they have gone down. What a node keeps from its way down to its way up (Θ, h, n⁰, f⁰, z
// and d) would be most of what a launch moves through memory, so a limb is walked in *segments* of a few nodes:
//
//     down          motions alone; those that segments begin with are kept, but for the last one's, which is at hand
//     last segment  down again, all that its nodes keep into memory on chip, and up
//     the one before …
//
// The numbers are those of the plain walks, and so are the bits: motions are computed twice instead of being kept. Accelerations
// find z and d again from positions. Here is what limbs of articulated bodies (limb.h) and parts of assembly (part.h) have in common; include
// after pass/aba_outbound.h, with SEGMENT_STEPS: how many nodes a segment has.
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
static_assert((int)SEGMENT_STEPS * (int)CAL_SCRATCH_COUNT >= (int)CAL_DOWN_COUNT, "a motion has room there");
LANE_INLINE double* kept_motion(const cal_context* context, const cal_column* column, int first) {
    return FRAME_IN_MEMORY(context, column, first) + CAL_OWN_LANE;
}

LANE_INLINE void keep_motion(double* to, const motion* m) {
    slot_store_columns(to, 0, m->E);
    slot_store3(to, 9, m->w), slot_store3(to, 12, m->al), slot_store3(to, 15, m->a);
}

// But for A.
LANE_INLINE motion read_motion(const double* from) {
    return (motion){.E = slot_load_columns(from, 0),
                    .w = slot_load3(from, 9),
                    .al = slot_load3(from, 12),
                    .a = slot_load3(from, 15)};
}
LANE_INLINE motion take_motion(const double* from) {
    motion m = read_motion(from);
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

// What is constant of a joint's turn comes from a multiprocessor's cache, but behind all that was asked of memory before it: it is read first.
LANE_INLINE turn_constants read_turn_constants(const cal_context* context, const cal_column* column, int step,
                                               int count) {
    return load_turn_constants(find_constants(context->layout, column, step < count ? step : count - 1, CAL_OWN_LANE));
}

// A joint's turn is found while the one before it is used, which does not wait for it: sines and cosines take as long as a step.
LANE_INLINE joint_turn read_turn(int kind, const cal_context* context, const cal_column* column, joint_motion of,
                                 int step, int count) {
    const turn_constants own = read_turn_constants(context, column, step, count);
    return turn_joint(kind, of.q, of.v, &own);
}

// A limb's way down, segment by segment from the last one on.
typedef struct limb_walk {
    place top;
    motion m;          // where the next step begins
    joint_turn turn;   // of that step
    joint_motion next; // of the one after it
    int count, last;   // steps; the first one of the last segment
} limb_walk;

// Where the walk goes on with a step.
LANE_INLINE void begin_steps(int kind, const cal_context* context, const cal_column* column, limb_walk* w, int step) {
    w->turn = read_turn(kind, context, column, read_joint(&w->top, step, w->count), step, w->count);
    w->next = read_joint(&w->top, step + 1, w->count);
}

// One step on; d: the node's origin as seen from its parent's.
LANE_INLINE void walk_step(int kind, const cal_context* context, const cal_column* column, limb_walk* w, int step,
                           v3* d) {
    const joint_turn own = w->turn;
    const joint_motion next = w->next;
    w->next = read_joint(&w->top, step + 2, w->count);
    w->turn = read_turn(kind, context, column, next, step + 1, w->count);
    move_on(kind, &w->m, &own, d);
}

// Motions to the beginning of the last segment.
LANE_INLINE limb_walk begin_limb(int kind, const cal_context* context, const cal_column* column) {
    const int count = column->block_count;
    limb_walk w = {.top = find_place(context, column, kind, cal_aba_record(kind), 0),
                   .count = count,
                   .last = (count - 1) / SEGMENT_STEPS * SEGMENT_STEPS};
    begin_steps(kind, context, column, &w, 0);
    w.m = load_motion(context, column);
    v3 d;
    for (int i = 0; i < w.last; i++) {
        walk_step(kind, context, column, &w, i, &d);
        if ((i + 1) % SEGMENT_STEPS == 0 && i + 1 < w.last) keep_motion(kept_motion(context, column, i + 1), &w.m);
    }
    return w;
}

// What a node keeps, into its rows on chip; but for the joint's force.
LANE_INLINE void fill_node(int kind, const motion* m, v3 d, const place* at, double* rows) {
    store3(rows, LIMB_Z, m->E.z);
    store3(rows, LIMB_D, d);
    bias(kind, m->E, m->A, m->a, at->constants, at->external, rows);
}

// Down the segment that begins with step `first`, into the rows on chip; returns its end.
LANE_INLINE int fill_segment(int kind, const cal_context* context, const cal_column* column, limb_walk* w, int first,
                             double* chip) {
    const int end = first + SEGMENT_STEPS < w->count ? first + SEGMENT_STEPS : w->count;
    if (first < w->last) {
        begin_steps(kind, context, column, w, first);
        w->m = first > 0 ? take_motion(kept_motion(context, column, first)) : load_motion(context, column);
    }
    for (int i = first; i < end; i++) {
        const place at = steps_below(&w->top, context, column, kind, i);
        const lane force = LOAD_FAR(at.force, 0);
        v3 d;
        walk_step(kind, context, column, w, i, &d);
        double* rows = chip + (i - first) * CAL_LIMB_ROWS * CAL_WIDTH;
        fill_node(kind, &w->m, d, &at, rows);
        STORE(rows, LIMB_FORCE, force);
    }
    return end;
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
