// Brief columns (layout.h) of articulated bodies. In models that are larger than the caches a walk waits for memory, not for
// arithmetic: what a joint keeps from the way up to the accelerations is written once and read once, from far away. A column without
// children keeps g and k alone, 7 numbers of 13. Its z and d lie on the stack on the way up, and are found anew, with the same bits, on the
// last way down: from q, and from the axes that the column above has kept at its end. Include once a width, after aba_outbound.h.
//
//   down          y ▸ z, d ▸ stack
//   up            stack ▸ g, k ▸ records, past the caches
//   accelerations y, records ▸ z, d, q̈ ▸ ydot; on the stack where a solver follows up at once (cal_brief_rates)
#include "pass/solver_ops.h"

#define brief_axes LANE(cal_brief_axes)
LANE_INLINE double* brief_axes(const cal_context* context, const cal_column* column, int step) {
    return context->scratch + column->end_slot + (size_t)step * CAL_BRIEF_SCRATCH * CAL_WIDTH;
}

// What is not read before all other columns have been walked: caches need not keep it, nor read what it replaces. Only whole lines.
#undef STORE_AWAY
#if CAL_LANES == 8 && defined(__AVX512F__)
#include <immintrin.h>
#define STORE_AWAY(p, i, value) _mm512_stream_pd((p) + (i)*CAL_WIDTH, (__m512d)(value))
#else
#define STORE_AWAY(p, i, value) STORE(p, i, value)
#endif
#define store3_away LANE(cal_store3_away)
LANE_INLINE void store3_away(double* p, int i, v3 v) {
    STORE_AWAY(p, i, v.x);
    STORE_AWAY(p, i + 1, v.y);
    STORE_AWAY(p, i + 2, v.z);
}

#define brief_down LANE(cal_brief_down)
LANE_INLINE void brief_down(int kind, const cal_context* context, const cal_column* column) {
    motion m = load_motion(context, column);
    // Of the next column, which is most often as long and lies behind this one.
    const size_t ahead = (size_t)column->block_count * 2 * CAL_WIDTH;
    void (*const fetch)(const cal_solver_context*, size_t, int) = context->solver ? context->solver_ops->fetch : NULL;
    for (int i = 0; i < column->block_count; i++) {
        const place at = find_place(context, column, kind, CAL_ABA_BRIEF, i);
        if (fetch) fetch(context->solver, (size_t)(at.y - context->y) + ahead, 2 * CAL_WIDTH);
        outbound(kind, &m, at.y, at.constants, at.external, brief_axes(context, column, i), at.scratch);
    }
}

#define brief_up LANE(cal_brief_up)
LANE_INLINE void brief_up(int kind, const cal_context* context, const cal_column* column) {
    articulated I = {0};
    const bool resists = context->resisting != NULL;
    for (int i = column->block_count - 1; i >= 0; i--) {
        const place at = find_place(context, column, kind, CAL_ABA_BRIEF, i);
        const double* axes = brief_axes(context, column, i);
        add_own(&I, at.constants, at.scratch);
        if (resists) add_resisting(&I, find_resisting(context, column, i));
        lane armature = LOAD(at.constants, CAL_CONSTANT_ARMATURE);
        if (at.implicit) armature = armature + LOAD(at.implicit, 0);
        joint_response own;
        eliminate_joint(kind, &I, load3(axes, LANE(RECORD_Z)), load3(axes, LANE(RECORD_D)), LOAD(at.force, 0), armature,
                        &own);
        store3_away(at.record, 0, own.gn);
        store3_away(at.record, 3, own.gf);
        STORE_AWAY(at.record, 6, own.k);
    }
    leave_up(context, column, &I);
}

#define brief_last LANE(cal_brief_last)
LANE_INLINE void brief_last(int kind, const cal_context* context, const cal_column* column) {
    parent_slot slot, above;
    find_parent(context, column, 6, &slot);
    v3 al = from_parent3(&slot, ACCELERATION), a = from_parent3(&slot, ACCELERATION + 3);
    const double* kept = context->records + context->layout->columns[column->parent].axes;
    find_above(context, column, kept, CAL_ABA_AXES, &above);
    m3 E = {from_parent3(&above, 0), from_parent3(&above, 3), from_parent3(&above, 6)};
    double* rates = cal_brief_rates(context, column);
    const size_t numbers = 2 * (size_t)column->block_count, records = CAL_ABA_BRIEF * (size_t)column->block_count;
    for (int i = 0; i < column->block_count; i++) {
        const place at = find_place(context, column, kind, CAL_ABA_BRIEF, i);
        for (size_t k = 0; k < CAL_ABA_BRIEF; k++) __builtin_prefetch(at.record + (records + k) * CAL_WIDTH);
        for (size_t k = 0; k < 2; k++) __builtin_prefetch(at.y + (numbers + k) * CAL_WIDTH);
        const joint_turn turn = find_turn(kind, LOAD(at.y, 0), LOAD(at.y, 1), at.constants);
        v3 d;
        turn_axes(kind, &E, &turn, &d);
        const lane qdd =
            accelerate_joint(kind, &al, &a, E.z, d, load3(at.record, 0), load3(at.record, 3), LOAD(at.record, 6));
        double* ydot = rates ? rates + (size_t)i * 2 * CAL_WIDTH : at.ydot;
        STORE(ydot, 0, turn.v);
        STORE(ydot, 1, qdd);
    }
}

#define BY_DEGREE(run, context, column)                                                                                \
    if ((column)->kind == CAL_REVOLUTE)                                                                                \
        run(CAL_REVOLUTE, (context), (column));                                                                        \
    else                                                                                                               \
        run(CAL_PRISMATIC, (context), (column))
LANE_FUNCTION void LANE(brief_outbound)(const cal_context* context, const cal_column* column) {
    BY_DEGREE(brief_down, context, column);
}
LANE_FUNCTION void LANE(brief_inbound)(const cal_context* context, const cal_column* column) {
    BY_DEGREE(brief_up, context, column);
}
LANE_FUNCTION void LANE(brief_accelerate)(const cal_context* context, const cal_column* column) {
    BY_DEGREE(brief_last, context, column);
}
#undef BY_DEGREE
