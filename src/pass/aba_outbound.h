// The way down of articulated bodies (aba_body.h) along whole columns: of aba, and of the parts of assembly. Include once a width,
// after articulated_ends.h.
#define load_motion LANE(cal_load_motion)
LANE_INLINE motion load_motion(const cal_context* context, const cal_column* column) {
    parent_slot slot;
    find_parent(context, column, CAL_DOWN_COUNT, &slot);
    motion m;
    m.E = (m3){from_parent3(&slot, 0), from_parent3(&slot, 3), from_parent3(&slot, 6)};
    m.w = from_parent3(&slot, 9);
    m.al = from_parent3(&slot, 12);
    m.a = from_parent3(&slot, 15);
    m.A = spin_matrix(m.w, m.al);
    return m;
}

// Leaves what the children read, and begins the sums that they add to with the last node's own inertia.
#define leave_motion LANE(cal_leave_motion)
LANE_INLINE void leave_motion(const cal_context* context, const cal_column* column, const motion* m) {
    if (column->child_count == 0) return;
    slot_room room;
    double* end = end_room(context, column, &room);
    slot_store_columns(end, 0, m->E);
    slot_store3(end, 9, m->w), slot_store3(end, 12, m->al), slot_store3(end, 15, m->a);
    close_end(context, column, &room, CAL_DOWN_COUNT);
#ifndef CAL_THREAD_PER_LANE
    if (column->axes) slot_store_columns(context->records + column->axes, 0, m->E);
#endif
}

#define leave_own LANE(cal_leave_own)
LANE_INLINE void leave_own(const cal_context* context, const cal_column* column, const place* last) {
    if (column->child_count == 0 || gathers_rows(column)) return;
    articulated I = {0};
    add_own(&I, last->constants, last->scratch);
    store_articulated(end_sums(context, column), &I);
}

#define leave_end LANE(cal_leave_end)
LANE_INLINE void leave_end(const cal_context* context, const cal_column* column, const motion* m, const place* last) {
    leave_motion(context, column, m);
    leave_own(context, column, last);
}

#define find_response LANE(cal_find_response)
LANE_INLINE double* find_response(const cal_context* context, const cal_column* column, int step) {
    if (!context->responses) return NULL;
    const step_place of = find_step(column, step);
    return context->responses + (size_t)(column->first_block + of.block) * (CAL_ABA_RESPONSE * CAL_WIDTH) +
           (size_t)of.lane;
}

// What a medium adds to a node in an implicit step, where there is one (pass.h).
#define find_resisting LANE(cal_find_resisting)
LANE_INLINE const double* find_resisting(const cal_context* context, const cal_column* column, int step) {
    const step_place of = find_step(column, step);
    return context->resisting + (size_t)(column->first_block + of.block) * (CAL_RESISTING * CAL_WIDTH) +
           (size_t)of.lane;
}

#define leave_accelerations LANE(cal_leave_accelerations)
LANE_INLINE void leave_accelerations(double* response, v3 al, v3 a) {
    if (!response) return;
    store3(response, CAL_ABA_ALPHA, al);
    store3(response, CAL_ABA_A, a);
}

#define outbound_run LANE(outbound_run)
LANE_INLINE void outbound_run(int kind, const cal_context* context, const cal_column* column) {
    motion m = load_motion(context, column);
    const int count = step_count(column);
    place at = find_place(context, column, kind, cal_aba_record(kind), 0);
    for (int i = 0; i < count; i++) {
        at = find_place(context, column, kind, cal_aba_record(kind), i);
        outbound(kind, &m, at.y, at.constants, at.external, at.record, at.scratch);
        leave_accelerations(find_response(context, column, i), m.al, m.a);
    }
    leave_end(context, column, &m, &at);
}

LANE_FUNCTION void LANE(outbound_column)(const cal_context* context, const cal_column* column) {
    BY_KIND(outbound_run, context, column);
}
