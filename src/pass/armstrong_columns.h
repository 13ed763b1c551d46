// Armstrong's mechanics (armstrong_body.h) of whole columns. Include once a width, after columns.h.

// Leaves what the children read, and begins the sums that they add to with the last link's own terms.
#define leave_posture LANE(cal_leave_posture)
LANE_INLINE void leave_posture(const cal_context* context, const cal_column* column, const posture* p,
                               const place* last) {
    if (column->child_count == 0) return;
    double* end = context->scratch + column->end_slot;
    slot_store_columns(end, 0, p->R_I), slot_store3(end, 9, p->w);
    answers s = {0};
    begin_answers(&s, last->constants, last->scratch);
    double* sum = end + CAL_DOWN_COUNT * CAL_WIDTH;
    slot_store_symmetric(sum, 0, s.J), slot_store_columns(sum, 6, s.C), slot_store_symmetric(sum, 15, s.M);
    slot_store3(sum, 21, s.g), slot_store3(sum, 24, s.f);
}

#define control_run LANE(control_run)
LANE_INLINE void control_run(int kind, const cal_context* context, const cal_column* column) {
    const double* slot = parent_end(context, column);
    const double* gravity = context->model->gravity;
    const v3 a_G = {lane_set(gravity[0]), lane_set(gravity[1]), lane_set(gravity[2])};
    posture p;
    p.R_I = (m3){from_parent3(slot, column, 0), from_parent3(slot, column, 3), from_parent3(slot, column, 6)};
    p.w = from_parent3(slot, column, 9);
    const int count = step_count(column);
    place at = find_place(context, column, kind, cal_armstrong_record(kind), 0);
    for (int i = 0; i < count; i++) {
        at = find_place(context, column, kind, cal_armstrong_record(kind), i);
        control(kind, &p, a_G, at.y, at.constants, at.external, at.record, at.scratch);
    }
    leave_posture(context, column, &p, &at);
}

static void LANE(control_column)(const cal_context* context, const cal_column* column) {
    if (column->kind == CAL_BALL)
        control_run(CAL_BALL, context, column);
    else
        control_run(CAL_FREE, context, column);
}

#define coefficients_run LANE(coefficients_run)
LANE_INLINE void coefficients_run(int kind, bool rotors, const cal_context* context, const cal_column* column) {
    answers s = {0};
    int i = step_count(column) - 1;
    place at = find_place(context, column, kind, cal_armstrong_record(kind), i);
    if (column->child_count > 0) {
        const double* sum = context->scratch + column->end_slot + CAL_DOWN_COUNT * CAL_WIDTH;
        s.J = slot_load_symmetric(sum, 0), s.C = slot_load_columns(sum, 6), s.M = slot_load_symmetric(sum, 15);
        s.g = slot_load3(sum, 21), s.f = slot_load3(sum, 24);
    } else {
        begin_answers(&s, at.constants, at.scratch);
    }
    for (;;) {
        coefficients(kind, rotors, &s, at.force, at.constants, at.record);
        if (--i < 0) break;
        at = find_place(context, column, kind, cal_armstrong_record(kind), i);
        begin_answers(&s, at.constants, at.scratch);
    }
    if (column->parent < 0) return;
    double* up = context->scratch + column->up_slot;
    slot_store_symmetric(up, 0, s.J), slot_store_columns(up, 6, s.C), slot_store_symmetric(up, 15, s.M);
    slot_store3(up, 21, s.g), slot_store3(up, 24, s.f);
}

static void LANE(coefficients_column)(const cal_context* context, const cal_column* column) {
    if (column->kind == CAL_FREE)
        coefficients_run(CAL_FREE, false, context, column);
    else if (has_rotors(context, column))
        coefficients_run(CAL_BALL, true, context, column);
    else
        coefficients_run(CAL_BALL, false, context, column);
}

#define advance_run LANE(advance_run)
LANE_INLINE void advance_run(int kind, bool rotors, const cal_context* context, const cal_column* column) {
    v3 wd = {0}, a = {0};
    if (column->parent >= 0) {
        const double* slot = parent_end(context, column);
        wd = from_parent3(slot, column, 0), a = from_parent3(slot, column, 3);
    }
    const int count = step_count(column);
    for (int i = 0; i < count; i++) {
        const place at = find_place(context, column, kind, cal_armstrong_record(kind), i);
        advance(kind, rotors, &wd, &a, at.y, at.constants, at.record, at.ydot);
    }
    if (column->child_count == 0) return;
    double* end = context->scratch + column->end_slot;
    slot_store3(end, 0, wd), slot_store3(end, 3, a);
}

static void LANE(advance_column)(const cal_context* context, const cal_column* column) {
    if (column->kind == CAL_FREE)
        advance_run(CAL_FREE, false, context, column);
    else if (has_rotors(context, column))
        advance_run(CAL_BALL, true, context, column);
    else
        advance_run(CAL_BALL, false, context, column);
}
