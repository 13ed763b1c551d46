// The preconditioner's mechanics (bdf_preconditioner_body.h) of whole columns. Include once a width, after
// pass/columns.h.
#define stiff_place LANE(cal_stiff_places)
#define find_stiff_place LANE(cal_find_stiff_place)

// Where the numbers of one step of a column are: those of pass/columns.h, and what is the preconditioner's own.
typedef struct stiff_place {
    const double *y, *constants, *damping, *stiffness, *in;
    double *out, *record, *scratch;
} stiff_place;

LANE_INLINE stiff_place find_stiff_place(const cal_context* context, const cal_column* column, int kind, int step) {
    const place at = find_place(context, column, kind, 0, step);
    const ptrdiff_t y = at.y - context->y, l = CAL_LANES == 1 ? step % CAL_WIDTH : 0;
    double* const* vectors = context->solver->vectors;
    return (stiff_place){.y = at.y,
                         .constants = at.constants,
                         .damping = context->tau + (at.force - context->force),
                         .stiffness = at.force,
                         .in = vectors[CAL_STIFF_IN] + y,
                         .out = vectors[CAL_STIFF_OUT] ? vectors[CAL_STIFF_OUT] + y : NULL,
                         .record = context->records + CAL_STIFF_RECORD * (y - l) + l,
                         .scratch = at.scratch};
}

// Runs a function with the column's kind as a constant.
#define FOR_KIND(run, context, column)                                                                                 \
    switch ((column)->kind) {                                                                                          \
    case CAL_REVOLUTE: run(CAL_REVOLUTE, context, column); break;                                                      \
    case CAL_PRISMATIC: run(CAL_PRISMATIC, context, column); break;                                                    \
    case CAL_BALL: run(CAL_BALL, context, column); break;                                                              \
    default: run(CAL_FREE, context, column); break;                                                                    \
    }

// --- Factors ------------------------------------------------------------------------------------------------------------

// What crosses an edge inbound: Θ (6), H (9), M (6), ∑ m d (3), mass, and nothing (2).
#define store_hanging LANE(cal_store_hanging)
LANE_INLINE void store_hanging(double* slot, const hanging* w) {
    slot_store_symmetric(slot, 0, w->I.T), slot_store_columns(slot, 6, w->I.H), slot_store_symmetric(slot, 15, w->I.M);
    slot_store3(slot, 21, w->below);
    slot_store3(slot, 24, (v3){w->mass, lane_set(0.0), lane_set(0.0)});
}

#define load_hanging LANE(cal_load_hanging)
LANE_INLINE hanging load_hanging(const double* slot) {
    hanging w = {0};
    w.I.T = slot_load_symmetric(slot, 0), w.I.H = slot_load_columns(slot, 6), w.I.M = slot_load_symmetric(slot, 15);
    w.below = slot_load3(slot, 21);
    w.mass = slot_load(slot, 24);
    return w;
}

#define add_hanging LANE(cal_add_hanging)
LANE_INLINE void add_hanging(hanging* w, const stiff_place* at) {
    add_own(&w->I, at->constants, at->scratch);
    w->mass = w->mass + LOAD(at->constants, CAL_CONSTANT_MASS);
}

#define place_run LANE(cal_place_run)
LANE_INLINE void place_run(int kind, const cal_context* context, const cal_column* column) {
    parent_slot slot;
    find_parent(context, column, 9, &slot);
    m3 E = {from_parent3(&slot, 0), from_parent3(&slot, 3), from_parent3(&slot, 6)};
    const int count = step_count(column);
    stiff_place at = find_stiff_place(context, column, kind, 0);
    for (int i = 0; i < count; i++) {
        at = find_stiff_place(context, column, kind, i);
        place_node(kind, &E, at.y, at.constants, at.record, at.scratch);
    }
    if (column->child_count == 0) return;
    hanging w = {0};
    slot_room room;
    slot_store_columns(end_room(context, column, &room), 0, E);
    close_end(context, column, &room, 9);
    if (gathers_rows(column)) return;
    add_hanging(&w, &at);
    store_hanging(end_sums(context, column), &w);
}

static void LANE(place_column)(const cal_context* context,
                               const cal_column* column){FOR_KIND(place_run, context, column)}

#define factor_run LANE(cal_factor_run)
LANE_INLINE void factor_run(int kind, const cal_context* context, const cal_column* column) {
    const double *g = context->model->gravity, gamma = context->solver->down[CAL_STIFF_GAMMA];
    const v3 gravity = {lane_set(g[0]), lane_set(g[1]), lane_set(g[2])};
    hanging w = {0};
    int i = step_count(column) - 1;
    stiff_place at = find_stiff_place(context, column, kind, i);
    if (column->child_count > 0 && !gathers_rows(column)) {
        w = load_hanging(end_sums(context, column));
    } else {
        add_hanging(&w, &at);
        if (column->child_count > 0) {
            sum_room sums;
            store_hanging(sums.numbers, &w);
            gather_children(context, column, CAL_UP_COUNT, &sums);
            w = load_hanging(sums.numbers);
        }
    }
    for (;;) {
        factor_node(kind, gamma, gravity, &w, at.damping, at.stiffness, at.constants, at.record, at.scratch);
        if (--i < 0) break;
        at = find_stiff_place(context, column, kind, i);
        add_hanging(&w, &at);
    }
    if (column->parent < 0) return;
    slot_room room;
    store_hanging(up_room(context, column, &room), &w);
    close_up(context, column, &room, CAL_UP_COUNT);
}

static void LANE(factor_column)(const cal_context* context,
                                const cal_column* column){FOR_KIND(factor_run, context, column)}

// --- Solutions ------------------------------------------------------------------------------------------------------------

#define turn_run LANE(cal_turn_run)
LANE_INLINE void turn_run(int kind, const cal_context* context, const cal_column* column) {
    const double gamma = context->solver->down[CAL_STIFF_GAMMA];
    v3 al = {0};
    if (column->parent >= 0) {
        parent_slot slot;
        find_parent(context, column, 3, &slot);
        al = from_parent3(&slot, 0);
    }
    const int count = step_count(column);
    stiff_place at = find_stiff_place(context, column, kind, 0);
    for (int i = 0; i < count; i++) {
        at = find_stiff_place(context, column, kind, i);
        turn_node(kind, gamma, &al, at.y, at.in, at.damping, at.stiffness, at.record, at.scratch);
    }
    if (column->child_count == 0) return;
    slot_room room;
    slot_store3(end_room(context, column, &room), 0, al);
    close_end(context, column, &room, 3);
    if (gathers_rows(column)) return;
    double* sum = end_sums(context, column);
    slot_store3(sum, 0, load3(at.scratch, LANE(STIFF_N)));
    slot_store3(sum, 3, (v3){lane_set(0.0), lane_set(0.0), lane_set(0.0)});
}

static void LANE(turn_column)(const cal_context* context, const cal_column* column){FOR_KIND(turn_run, context, column)}

#define force_run LANE(cal_force_run)
LANE_INLINE void force_run(int kind, const cal_context* context, const cal_column* column) {
    int i = step_count(column) - 1;
    stiff_place at = find_stiff_place(context, column, kind, i);
    v3 n = load3(at.scratch, LANE(STIFF_N)), f = {0};
    if (column->child_count > 0) {
        sum_room room;
        const double* sum = room.numbers;
        if (gathers_rows(column)) {
            slot_store3(room.numbers, 0, n), slot_store3(room.numbers, 3, f);
            gather_children(context, column, 6, &room);
        } else {
            sum = end_sums(context, column);
        }
        n = slot_load3(sum, 0), f = slot_load3(sum, 3);
    }
    for (;;) {
        force_node(kind, &n, &f, at.scratch, at.record);
        if (--i < 0) break;
        at = find_stiff_place(context, column, kind, i);
        n = v3_add(load3(at.scratch, LANE(STIFF_N)), n);
    }
    if (column->parent < 0) return;
    slot_room room;
    double* up = up_room(context, column, &room);
    slot_store3(up, 0, n), slot_store3(up, 3, f);
    close_up(context, column, &room, 6);
}

static void LANE(force_column)(const cal_context* context,
                               const cal_column* column){FOR_KIND(force_run, context, column)}

#define stiff_run LANE(cal_stiff_run)
LANE_INLINE void stiff_run(int kind, const cal_context* context, const cal_column* column) {
    const double gamma = context->solver->down[CAL_STIFF_GAMMA];
    v3 al = {0}, a = {0};
    if (column->parent >= 0) {
        parent_slot slot;
        find_parent(context, column, 6, &slot);
        al = from_parent3(&slot, 0), a = from_parent3(&slot, 3);
    }
    const int count = step_count(column);
    for (int i = 0; i < count; i++) {
        const stiff_place at = find_stiff_place(context, column, kind, i);
        accelerate_node(kind, gamma, &al, &a, at.y, at.in, at.record, at.out);
    }
    if (column->child_count == 0) return;
    slot_room room;
    double* end = end_room(context, column, &room);
    slot_store3(end, 0, al), slot_store3(end, 3, a);
    close_end(context, column, &room, 6);
}

static void LANE(stiff_column)(const cal_context* context, const cal_column* column) {
    FOR_KIND(stiff_run, context, column)
}
#undef FOR_KIND
