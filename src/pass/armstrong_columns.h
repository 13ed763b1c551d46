// Armstrong's mechanics (armstrong_body.h) of whole columns. Include once a width, after columns.h.

#define store_answers LANE(cal_store_answers)
LANE_INLINE void store_answers(const answers* s, double* slot) {
    slot_store_symmetric(slot, 0, s->J), slot_store_columns(slot, 6, s->C), slot_store_symmetric(slot, 15, s->M);
    slot_store3(slot, 21, s->g), slot_store3(slot, 24, s->f);
}
#define load_answers LANE(cal_load_answers)
LANE_INLINE answers load_answers(const double* slot) {
    return (answers){slot_load_symmetric(slot, 0), slot_load_columns(slot, 6), slot_load_symmetric(slot, 15),
                     slot_load3(slot, 21), slot_load3(slot, 24)};
}

// Leaves what the children read, and begins the sums that they add to with the last link's own terms.
#define leave_posture LANE(cal_leave_posture)
LANE_INLINE void leave_posture(int kind, cal_reuse reuse, const cal_context* context, const cal_column* column,
                               const posture* p, const place* last) {
    if (column->child_count == 0) return;
    slot_room room;
    double* end = end_room(context, column, &room);
    slot_store_columns(end, 0, p->R_I);
    slot_store3(end, 9, p->w);
    close_end(context, column, &room, 12);
    if (gathers_rows(column)) return;
    answers s = {0};
    begin_answers(kind, reuse, &s, last->constants, last->record, last->scratch);
    store_answers(&s, end_sums(context, column));
}

#define control_run LANE(control_run)
LANE_INLINE void control_run(int kind, cal_reuse reuse, const cal_context* context, const cal_column* column) {
    parent_slot slot;
    find_parent(context, column, 12, &slot);
    const double* gravity = context->model->gravity;
    const v3 a_G = {lane_set(gravity[0]), lane_set(gravity[1]), lane_set(gravity[2])};
    posture p = {0};
    if (reuse != CAL_REUSE_KEPT) p.R_I = (m3){from_parent3(&slot, 0), from_parent3(&slot, 3), from_parent3(&slot, 6)};
    p.w = from_parent3(&slot, 9);
    const int count = step_count(column);
    place at = find_place(context, column, kind, cal_armstrong_record(kind), 0);
    for (int i = 0; i < count; i++) {
        at = find_place(context, column, kind, cal_armstrong_record(kind), i);
        control(kind, reuse, &p, a_G, at.y, at.constants, at.external, at.record, at.scratch);
    }
    leave_posture(kind, reuse, context, column, &p, &at);
}

#define control_band LANE(control_band)
LANE_INLINE void control_band(int kind, const cal_context* context, const cal_column* column) {
    switch (context->reuse) {
    case CAL_REUSE_NONE: control_run(kind, CAL_REUSE_NONE, context, column); break;
    case CAL_REUSE_KEEP: control_run(kind, CAL_REUSE_KEEP, context, column); break;
    default: control_run(kind, CAL_REUSE_KEPT, context, column); break;
    }
}

static void LANE(control_column)(const cal_context* context, const cal_column* column) {
    if (column->kind == CAL_BALL)
        control_band(CAL_BALL, context, column);
    else
        control_band(CAL_FREE, context, column);
}

#define coefficients_run LANE(coefficients_run)
LANE_INLINE void coefficients_run(int kind, bool rotors, cal_reuse reuse, const cal_context* context,
                                  const cal_column* column) {
    answers s = {0};
    int i = step_count(column) - 1;
    place at = find_place(context, column, kind, cal_armstrong_record(kind), i);
    if (column->child_count > 0 && !gathers_rows(column)) {
        s = load_answers(end_sums(context, column));
    } else {
        begin_answers(kind, reuse, &s, at.constants, at.record, at.scratch);
        if (column->child_count > 0) {
            sum_room sums;
            store_answers(&s, sums.numbers);
            gather_children(context, column, CAL_UP_COUNT, &sums);
            s = load_answers(sums.numbers);
        }
    }
    for (;;) {
        coefficients(kind, rotors, reuse, &s, at.force, at.constants, at.record);
        if (--i < 0) break;
        at = find_place(context, column, kind, cal_armstrong_record(kind), i);
        begin_answers(kind, reuse, &s, at.constants, at.record, at.scratch);
    }
    if (column->parent < 0) return;
    slot_room room;
    store_answers(&s, up_room(context, column, &room));
    close_up(context, column, &room, CAL_UP_COUNT);
}

#define coefficients_band LANE(coefficients_band)
LANE_INLINE void coefficients_band(int kind, bool rotors, const cal_context* context, const cal_column* column) {
    switch (context->reuse) {
    case CAL_REUSE_NONE: coefficients_run(kind, rotors, CAL_REUSE_NONE, context, column); break;
    case CAL_REUSE_KEEP: coefficients_run(kind, rotors, CAL_REUSE_KEEP, context, column); break;
    default: coefficients_run(kind, rotors, CAL_REUSE_KEPT, context, column); break;
    }
}

static void LANE(coefficients_column)(const cal_context* context, const cal_column* column) {
    if (column->kind == CAL_FREE)
        coefficients_band(CAL_FREE, false, context, column);
    else if (has_rotors(context, column))
        coefficients_band(CAL_BALL, true, context, column);
    else
        coefficients_band(CAL_BALL, false, context, column);
}

#define advance_run LANE(advance_run)
LANE_INLINE void advance_run(int kind, bool rotors, const cal_context* context, const cal_column* column) {
    v3 wd = {0}, a = {0};
    if (column->parent >= 0) {
        parent_slot slot;
        find_parent(context, column, 6, &slot);
        wd = from_parent3(&slot, 0), a = from_parent3(&slot, 3);
    }
    const int count = step_count(column);
    for (int i = 0; i < count; i++) {
        const place at = find_place(context, column, kind, cal_armstrong_record(kind), i);
        advance(kind, rotors, &wd, &a, at.y, at.constants, at.record, at.ydot);
    }
    if (column->child_count == 0) return;
    slot_room room;
    double* end = end_room(context, column, &room);
    slot_store3(end, 0, wd), slot_store3(end, 3, a);
    close_end(context, column, &room, 6);
}

static void LANE(advance_column)(const cal_context* context, const cal_column* column) {
    if (column->kind == CAL_FREE)
        advance_run(CAL_FREE, false, context, column);
    else if (has_rotors(context, column))
        advance_run(CAL_BALL, true, context, column);
    else
        advance_run(CAL_BALL, false, context, column);
}
