// Joins (assembly_join_body.h) of whole batches of a schedule. Include once a width.
//
// Elements lie one after the other in memory; a batch is turned so that lane lies beside lane, and turned back.

#define turn_in LANE(cal_turn_in)
#define turn_out LANE(cal_turn_out)

// A lane for each of the members; those without one repeat the first.
LANE_INLINE void turn_in(const double* const* from, int count, double* to) {
    for (int i = 0; i < count; i++)
        for (int l = 0; l < CAL_LANES; l++) to[i * CAL_LANES + l] = from[l][i];
}

LANE_INLINE void turn_out(const double* from, int count, double* const* to, int members) {
    for (int l = 0; l < members; l++)
        for (int i = 0; i < count; i++) to[l][i] = from[i * CAL_LANES + l];
}

#if CAL_LANES == 1
// One element where its numbers are.
LANE_INLINE void LANE(join_one)(const cal_assembly* assembly, const cal_element* e, join_room* room, double* work) {
    const cal_schedule* s = assembly->schedule;
    const cal_element *a = &s->elements[e->a], *b = &s->elements[e->b];
    const element_view left = look_at(assembly->numbers + a->numbers, a->columns);
    const element_view right = look_at(assembly->numbers + b->numbers, b->columns);
    const element_view out = look_at(assembly->numbers + e->numbers, e->columns);
    LANE(cal_join_below)
    (&left, &right, e->tip, false, s->maps + e->first_map, &out, assembly->numbers + e->join, room, work);
}

LANE_INLINE void LANE(part_one)(const cal_assembly* assembly, const cal_element* e, join_room* room) {
    const cal_element *a = &assembly->schedule->elements[e->a], *b = &assembly->schedule->elements[e->b];
    double* numbers = assembly->numbers;
    const element_view left = look_at(numbers + a->numbers, a->columns);
    const element_view right = look_at(numbers + b->numbers, b->columns);
    LANE(cal_part_below)
    (&left, &right, e->tip, numbers + e->join, numbers + e->base, numbers + a->force, numbers + b->force,
     numbers + a->force + 6 * e->tip, numbers + b->base, room);
}
#endif

#ifndef CAL_TEAM_OF_ONE_JOIN
LANE_FUNCTION void LANE(join_batch)(const cal_assembly* assembly, const int32_t* members, int count, double* work) {
    const cal_schedule* s = assembly->schedule;
    const cal_element* e = &s->elements[members[0]];
    join_room room;
#if CAL_LANES == 1
    (void)count;
    LANE(join_one)(assembly, e, &room, work);
#else
    const cal_element *a = &s->elements[e->a], *b = &s->elements[e->b];
    const int32_t* map = s->maps + e->first_map;
    const int a_size = (int)cal_element_size(a), b_size = (int)cal_element_size(b), size = (int)cal_element_size(e);
    double *a_at = work, *b_at = a_at + a_size * CAL_LANES, *at = b_at + b_size * CAL_LANES;
    double *join = at + size * CAL_LANES, *columns = join + CAL_JOIN_NUMBERS * CAL_LANES;
    const double *from_a[CAL_LANES], *from_b[CAL_LANES];
    double *to[CAL_LANES], *to_join[CAL_LANES];
    for (int l = 0; l < CAL_LANES; l++) {
        const cal_element* own = &s->elements[members[l < count ? l : 0]];
        from_a[l] = assembly->numbers + s->elements[own->a].numbers;
        from_b[l] = assembly->numbers + s->elements[own->b].numbers;
        to[l] = assembly->numbers + own->numbers;
        to_join[l] = assembly->numbers + own->join;
    }
    turn_in(from_a, a_size, a_at);
    turn_in(from_b, b_size, b_at);
    const element_view left = look_at(a_at, a->columns), right = look_at(b_at, b->columns),
                       out = look_at(at, e->columns);
    LANE(cal_join_below)(&left, &right, e->tip, false, map, &out, join, &room, columns);
    turn_out(at, size, to, count);
    turn_out(join, CAL_JOIN_NUMBERS, to_join, count);
#endif
}

// The forces that are known already are in the two elements' own numbers.
LANE_FUNCTION void LANE(part_batch)(const cal_assembly* assembly, const int32_t* members, int count, double* work) {
    const cal_schedule* s = assembly->schedule;
    const cal_element* e = &s->elements[members[0]];
    join_room room;
#if CAL_LANES == 1
    (void)count, (void)work;
    LANE(part_one)(assembly, e, &room);
#else
    const cal_element *a = &s->elements[e->a], *b = &s->elements[e->b];
    double* numbers = assembly->numbers;
    // Of a not its I and p, of b nothing after its E.
    enum { WHAT = 6 };
    const int sizes[WHAT] = {(int)cal_element_size(a) - CAL_ELEMENT_COLUMNS,
                             CAL_ELEMENT_COLUMNS + 6 * b->columns,
                             CAL_JOIN_NUMBERS,
                             6,
                             a->columns,
                             b->columns};
    const double* from[WHAT][CAL_LANES];
    double *w[CAL_LANES], *x[CAL_LANES], *at[WHAT], *next = work;
    for (int l = 0; l < CAL_LANES; l++) {
        const cal_element* own = &s->elements[members[l < count ? l : 0]];
        const cal_element *upper = &s->elements[own->a], *lower = &s->elements[own->b];
        from[0][l] = numbers + upper->numbers + CAL_ELEMENT_COLUMNS;
        from[1][l] = numbers + lower->numbers;
        from[2][l] = numbers + own->join, from[3][l] = numbers + own->base;
        from[4][l] = numbers + upper->force, from[5][l] = numbers + lower->force;
        w[l] = numbers + upper->force + 6 * own->tip, x[l] = numbers + lower->base;
    }
    for (int i = 0; i < WHAT; i++) {
        turn_in(from[i], sizes[i], next);
        at[i] = next, next += sizes[i] * CAL_LANES;
    }
    const element_view left = {.E = at[0],
                               .c = at[0] + 6 * a->columns * CAL_LANES,
                               .L = at[0] + 7 * a->columns * CAL_LANES,
                               .count = a->columns};
    const element_view right = {.I = at[1],
                                .p = at[1] + CAL_ELEMENT_BIAS * CAL_LANES,
                                .E = at[1] + CAL_ELEMENT_COLUMNS * CAL_LANES,
                                .count = b->columns};
    double *found_w = next, *found_x = next + 6 * CAL_LANES;
    LANE(cal_part_below)(&left, &right, e->tip, at[2], at[3], at[4], at[5], found_w, found_x, &room);
    turn_out(found_w, 6, w, count);
    turn_out(found_x, 6, x, count);
#endif
}
#endif
