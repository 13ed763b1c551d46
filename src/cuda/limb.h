// Wide columns of articulated bodies on a device whose joints have one degree of freedom: limbs, walked in segments (segment.h), and those
// with children. Include after pass/aba_columns.h.
#pragma once
enum { SEGMENT_STEPS = CAL_LIMB_STEPS };
#include "cuda/segment.h"

LANE_INLINE void limb_run(int kind, const cal_context* context, const cal_column* column) {
    double* const chip = context->workspace + CAL_OWN_LANE;
    limb_walk w = begin_limb(kind, context, column);
    articulated I = {0};
    for (int first = w.last; first >= 0; first -= SEGMENT_STEPS) {
        for (int i = fill_segment(kind, context, column, &w, first, chip) - 1; i >= first; i--) {
            const place at = steps_below(&w.top, context, column, kind, i);
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

// waits: for the kernel before, which leaves what the parent's numbers are. rates: whether ydot gets the rates of positions too, which are the
// velocities.
LANE_INLINE void accelerate_turning_run(int kind, bool waits, const cal_context* context, const cal_column* column,
                                        bool rates) {
    enum { AHEAD = 2 };
    const int count = column->block_count;
    const place top = find_place(context, column, kind, cal_aba_record(kind), 0);
    const cal_column here = *column; // read once, in spite of all that is written meanwhile
    parent_slot slot;
    find_parent(context, column, CAL_DOWN_COUNT, &slot);
    joint_answer answers[AHEAD];
    CAL_UNROLL for (int k = 0; k < AHEAD; k++) answers[k] = read_answer(&top, kind, k, count);
    joint_turn turn = read_turn(kind, context, column, (joint_motion){answers[0].q, answers[0].v}, 0, count);
    v3 al = {0}, a = {0}, d;
    if (waits) {
        CAL_AFTER_OTHERS;
        CAL_BEFORE_OTHERS;
    }
    m3 E = {from_parent3(&slot, 0), from_parent3(&slot, 3), from_parent3(&slot, 6)};
    if (column->parent >= 0) al = from_parent3(&slot, ACCELERATION), a = from_parent3(&slot, ACCELERATION + 3);
    for (int first = 0; first < count; first += AHEAD) {
        CAL_UNROLL for (int k = 0; k < AHEAD; k++) {
            const int i = first + k;
            if (i >= count) break;
            const joint_answer own = answers[k];
            const joint_turn turned = turn;
            const turn_constants next = read_turn_constants(context, &here, i + 1, count);
            answers[k] = read_answer(&top, kind, i + AHEAD, count);
            const joint_answer* after = &answers[(k + 1) % AHEAD];
            turn = turn_joint(kind, after->q, after->v, &next);
            turn_axes(kind, &E, &turned, &d);
            const lane qdd = accelerate_joint(kind, &al, &a, E.z, d, own.gn, own.gf, own.k);
            double* ydot = top.ydot + i * 2 * CAL_WIDTH;
            if (rates) STORE_FAR(ydot, 0, own.v);
            STORE_FAR(ydot, 1, qdd);
        }
    }
    if (column->child_count == 0) return;
    slot_store_columns(context->scratch + column->end_slot + CAL_OWN_LANE, 0, E);
    store_acceleration(context, column, al, a);
}

// Of a wide column whose joints have one degree of freedom.
LANE_FUNCTION void accelerate_joints(const cal_context* context, const cal_column* column, bool rates) {
    if (column->kind == CAL_REVOLUTE)
        accelerate_turning_run(CAL_REVOLUTE, false, context, column, rates);
    else
        accelerate_turning_run(CAL_PRISMATIC, false, context, column, rates);
}

// The same, which reads its own numbers before it waits for the kernel before.
LANE_FUNCTION void accelerate_joints_ahead(const cal_context* context, const cal_column* column) {
    if (column->kind == CAL_REVOLUTE)
        accelerate_turning_run(CAL_REVOLUTE, true, context, column, true);
    else
        accelerate_turning_run(CAL_PRISMATIC, true, context, column, true);
}

// Accelerations of a wide column, and the axes at its end, which are found anew where the joints have one degree of freedom.
LANE_FUNCTION void accelerate_turning(const cal_context* context, const cal_column* column, bool rates) {
    if (column->kind == CAL_REVOLUTE || column->kind == CAL_PRISMATIC) {
        accelerate_joints(context, column, rates);
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

// --- Columns with children: up, after these were pulled -----------------------------------------------------------------------

CAL_DEVICE static inline bool has_children_and_joints(const cal_column* column) {
    return column->child_count > 0 && (column->kind == CAL_REVOLUTE || column->kind == CAL_PRISMATIC);
}

// What a node has left on its way down, and what it is made of: read one step ahead of its use.
typedef struct joint_body {
    s3 T;
    v3 h, n, f, z, d;
    lane mass, force, armature;
    double* record;
} joint_body;
LANE_INLINE joint_body read_body(const place* top, const cal_context* context, const cal_column* column, int kind,
                                 bool is_long, int wanted) {
    const int step = wanted < 0 ? 0 : wanted;
    place at = is_long ? find_place(context, column, kind, cal_aba_record(kind), step)
                       : steps_below(top, context, column, kind, step);
    if (!is_long) at.scratch += step * CAL_SCRATCH_COUNT * CAL_WIDTH;
    lane armature = LOAD(at.constants, CAL_CONSTANT_ARMATURE);
    if (at.implicit) armature = armature + LOAD(at.implicit, 0);
    return (joint_body){.T = load_symmetric(at.scratch, LANE(SCRATCH_T)),
                        .h = load3(at.scratch, LANE(SCRATCH_H)),
                        .n = load3(at.scratch, LANE(SCRATCH_N)),
                        .f = load3(at.scratch, LANE(SCRATCH_F)),
                        .z = load3(at.record, LANE(RECORD_Z)),
                        .d = load3(at.record, LANE(RECORD_D)),
                        .mass = LOAD(at.constants, CAL_CONSTANT_MASS),
                        .force = LOAD(at.force, 0),
                        .armature = armature,
                        .record = at.record};
}

LANE_INLINE void assemble_joints_run(int kind, bool is_long, const cal_context* context, const cal_column* column) {
    const int last = (is_long ? column->node_count : column->block_count) - 1;
    const place top = find_place(context, column, kind, cal_aba_record(kind), 0);
    joint_body next = read_body(&top, context, column, kind, is_long, last);
    articulated I = load_articulated(end_sums(context, column));
    for (int i = last; i >= 0; i--) {
        const joint_body own = next;
        next = read_body(&top, context, column, kind, is_long, i - 1);
        if (i < last) add_body(&I, own.T, own.h, own.mass, own.n, own.f);
        inbound_joint(kind, &I, own.z, own.d, own.force, own.armature, own.record, NULL);
    }
    leave_up(context, column, &I);
}

LANE_FUNCTION void assemble_joints(const cal_context* context, const cal_column* column) {
    if (column->kind == CAL_PRISMATIC)
        assemble_joints_run(CAL_PRISMATIC, column->is_long, context, column);
    else if (column->is_long)
        assemble_joints_run(CAL_REVOLUTE, true, context, column);
    else
        assemble_joints_run(CAL_REVOLUTE, false, context, column);
}
