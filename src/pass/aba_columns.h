// The articulated-body mechanics (aba_body.h) of whole columns. Include once a width, after columns.h.
#include "pass/articulated_ends.h"
#include "pass/aba_outbound.h"

#define inbound_run LANE(inbound_run)
LANE_INLINE void inbound_run(int kind, const cal_context* context, const cal_column* column) {
    const bool resists = context->resisting != NULL;
    int i = step_count(column) - 1;
    place at = find_place(context, column, kind, cal_aba_record(kind), i);
    articulated I = begin_inbound(context, column, &at);
    for (;;) {
        if (resists) add_resisting(&I, find_resisting(context, column, i));
        inbound(kind, &I, at.force, at.constants, at.implicit, at.record, find_response(context, column, i));
        if (--i < 0) break;
        at = find_place(context, column, kind, cal_aba_record(kind), i);
        add_own(&I, at.constants, at.scratch);
    }
    leave_up(context, column, &I);
}

LANE_FUNCTION void LANE(inbound_column)(const cal_context* context, const cal_column* column) {
    BY_KIND(inbound_run, context, column);
}

#ifndef CAL_THREAD_PER_LANE
#include "pass/aba_brief.h"
#include "pass/pull_columns.h"
#endif

#define accelerate_run LANE(accelerate_run)
LANE_INLINE void accelerate_run(int kind, const cal_context* context, const cal_column* column) {
    v3 al = {0}, a = {0};
    if (column->parent >= 0) {
        parent_slot slot;
        find_parent(context, column, 6, &slot);
        al = from_parent3(&slot, ACCELERATION), a = from_parent3(&slot, ACCELERATION + 3);
    }
    const int count = step_count(column);
    for (int i = 0; i < count; i++) {
        const place at = find_place(context, column, kind, cal_aba_record(kind), i);
        accelerate(kind, &al, &a, at.y, at.record, at.ydot);
    }
    store_acceleration(context, column, al, a);
}

LANE_FUNCTION void LANE(accelerate_column)(const cal_context* context, const cal_column* column) {
    BY_KIND(accelerate_run, context, column);
}
