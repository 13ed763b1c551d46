// Adding what a column left in its slot to the sums at its parent's end, all lanes at a time. Each lane of the parent adds its children in
// the order of the tree, so that the bits are those of one lane after the other. Include once a width, after columns.h.
//
//     lane under lane         as it is
//     below a wide column     a round for each child that a lane has in this column: the child's lane is brought under its parent's
//     below a chain's end     which has one lane: numbers are turned into a row per lane, and rows added one after the other
#if CAL_LANES > 1
#define pull_aligned LANE(cal_pull_aligned)
#define pull_rounds LANE(cal_pull_rounds)
#define pull_rows LANE(cal_pull_rows)
LANE_INLINE void pull_aligned(const double* from, double* to) {
    for (int i = 0; i < CAL_UP_COUNT; i++) slot_store(to, i, slot_load(to, i) + slot_load(from, i));
}

LANE_INLINE void pull_rounds(const cal_layout* layout, const cal_column* column, const double* from, double* to) {
    for (int round = 0; round < column->round_count; round++) {
        const lane_bits choice = lane_choice(layout->rounds + (size_t)(column->first_round + round) * CAL_WIDTH);
#define CHOSEN(i) lane_or_nothing(lane_permute(slot_load(from, i), choice), choice)
#if CAL_LANES == 8 && CAL_WIDTH == 8
        if (column->parent_lanes == 4) {
            for (int i = 0; i < CAL_UP_COUNT; i++)
                cal_slot_store_4(to, i, cal_slot_load_4(to, i) + cal_lanes_halve(CHOSEN(i)));
            continue;
        }
#endif
        for (int i = 0; i < CAL_UP_COUNT; i++) slot_store(to, i, slot_load(to, i) + CHOSEN(i));
#undef CHOSEN
    }
}

LANE_INLINE void pull_rows(const cal_column* column, const double* from, double* to) {
    int i = 0;
    for (; i + CAL_LANES <= CAL_UP_COUNT; i += CAL_LANES) {
        lane rows[CAL_LANES], sum = *(const memory*)(to + i);
        for (int k = 0; k < CAL_LANES; k++) rows[k] = slot_load(from, i + k);
        exchange_lanes(rows);
        for (int k = 0; k < column->pull_count; k++) sum = sum + rows[column->pull_order[k]];
        *(memory*)(to + i) = sum;
    }
    for (; i < CAL_UP_COUNT; i++)
        for (int k = 0; k < column->pull_count; k++) to[i] += from[i * CAL_LANES + column->pull_order[k]];
}
#endif

LANE_FUNCTION void LANE(pull_column)(const cal_context* context, const cal_column* column) {
    const cal_column* parent = &context->layout->columns[column->parent];
    const double* from = context->scratch + column->up_slot;
    double* to = context->scratch + parent->end_slot + CAL_DOWN_COUNT * CAL_WIDTH;
#if CAL_LANES > 1
    if (column->aligned && parent->lanes == CAL_LANES) {
        pull_aligned(from, to);
        return;
    }
    if (column->round_count > 0) {
        pull_rounds(context->layout, column, from, to);
        return;
    }
    if (parent->lanes == 1) {
        pull_rows(column, from, to);
        return;
    }
#endif
    for (int k = 0; k < column->pull_count; k++) {
        const int l = column->pull_order[k];
        double* own = to + column->parent_lane[l];
        for (int i = 0; i < CAL_UP_COUNT; i++) own[i * parent->lanes] += from[i * CAL_LANES + l];
    }
}
