// What crosses the ends of columns in algorithms with articulated inertias (aba, assembly). Include once a width, after
// aba_body.h and columns.h.
#define load_articulated LANE(cal_load_articulated)
#define store_articulated LANE(cal_store_articulated)
#define begin_inbound LANE(cal_begin_inbound)
#define store_acceleration LANE(cal_store_acceleration)

LANE_INLINE articulated load_articulated(const double* slot) {
    return (articulated){.T = slot_load_symmetric(slot, 0),
                         .H = slot_load_columns(slot, 6),
                         .M = slot_load_symmetric(slot, 15),
                         .n = slot_load3(slot, 21),
                         .f = slot_load3(slot, 24)};
}

LANE_INLINE void store_articulated(double* slot, const articulated* I) {
    slot_store_symmetric(slot, 0, I->T), slot_store_columns(slot, 6, I->H), slot_store_symmetric(slot, 15, I->M);
    slot_store3(slot, 21, I->n), slot_store3(slot, 24, I->f);
}

// Leaves what the column above pulls. On a device the copies of a batch lie lane under lane, and a walk pulls a column as soon as it
// has gone up: there the parent's sums take it at once.
#define leave_up LANE(cal_leave_up)
LANE_INLINE void leave_up(const cal_context* context, const cal_column* column, const articulated* I) {
    if (column->parent < 0) return;
#ifdef CAL_THREAD_PER_LANE
    if (context->layout->uniform) {
        const cal_column* parent = &context->layout->columns[column->parent];
        double* sums = context->scratch + parent->end_slot + CAL_DOWN_COUNT * CAL_WIDTH + CAL_OWN_LANE;
        articulated all = load_articulated(sums);
        all.T = s3_add(all.T, I->T);
        all.H = (m3){v3_add(all.H.x, I->H.x), v3_add(all.H.y, I->H.y), v3_add(all.H.z, I->H.z)};
        all.M = s3_add(all.M, I->M);
        all.n = v3_add(all.n, I->n), all.f = v3_add(all.f, I->f);
        store_articulated(sums, &all);
        return;
    }
#endif
    slot_room room;
    store_articulated(up_room(context, column, &room), I);
    close_up(context, column, &room, CAL_UP_COUNT);
}

// Of a column's last node: what its children have added to its own, or its own alone.
LANE_INLINE articulated begin_inbound(const cal_context* context, const cal_column* column, const place* last) {
    if (column->child_count > 0 && !gathers_rows(column)) return load_articulated(end_sums(context, column));
    articulated I = {0};
    add_own(&I, last->constants, last->scratch);
    if (column->child_count == 0) return I;
    sum_room sums;
    store_articulated(sums.numbers, &I);
    gather_children(context, column, CAL_UP_COUNT, &sums);
    return load_articulated(sums.numbers);
}

// For the columns below, where there are any: on a device behind the motion, which limbs read once more (cuda/limb.h).
#undef ACCELERATION
#ifdef CAL_THREAD_PER_LANE
#define ACCELERATION CAL_DOWN_COUNT
#else
#define ACCELERATION 0
#endif
LANE_INLINE void store_acceleration(const cal_context* context, const cal_column* column, v3 al, v3 a) {
    if (column->child_count == 0) return;
    slot_room room;
    double* end = end_room(context, column, &room);
    slot_store3(end, ACCELERATION, al), slot_store3(end, ACCELERATION + 3, a);
    close_end(context, column, &room, 6);
}
