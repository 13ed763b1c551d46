// The mechanics of assembly (assembly_body.h) along whole columns. Include once a width, after columns.h.
#include "pass/articulated_ends.h"

#define find_answer LANE(cal_find_answer)
LANE_INLINE double* find_answer(const cal_context* context, const cal_column* column, const cal_slots* slots,
                                int degrees, int step) {
    const step_place at = find_step(column, step);
    return cal_assembly_of(context)->answer + slots->answer +
           (size_t)at.block * (size_t)(6 * slots->count * degrees) * CAL_WIDTH + (size_t)at.lane;
}

// Where forces on the ports of a column's lanes are on their way inbound; as FRAME_OF on a device.
#define area_of LANE(cal_area_of)
LANE_INLINE double* area_of(const cal_context* context, const cal_column* column, const cal_slots* slots) {
#ifdef CAL_THREAD_PER_LANE
    if (context->workspace && column->child_count == 0 && slots->count == 1) return context->workspace + CAL_PART_AREA;
#endif
    (void)column;
    return cal_assembly_of(context)->area + slots->area;
}

#define write_port LANE(cal_write_port)
LANE_INLINE void write_port(const placing* p, int l, double* out) {
    const lane values[24] = {p->m.E.x.x, p->m.E.x.y, p->m.E.x.z, p->m.E.y.x, p->m.E.y.y, p->m.E.y.z,
                             p->m.E.z.x, p->m.E.z.y, p->m.E.z.z, p->m.w.x,   p->m.w.y,   p->m.w.z,
                             p->m.al.x,  p->m.al.y,  p->m.al.z,  p->m.a.x,   p->m.a.y,   p->m.a.z,
                             p->r.x,     p->r.y,     p->r.z,     p->u.x,     p->u.y,     p->u.z};
#if CAL_LANES == 1
    (void)l;
    for (int i = 0; i < 24; i++) out[i] = values[i];
#else
    for (int i = 0; i < 24; i++) out[i] = values[i][l];
#endif
}

// --- Where ports are, seen from their parts' bases --------------------------------------------------------------------

#define place_run LANE(cal_place_run)
LANE_INLINE void place_run(int kind, const cal_context* context, const cal_column* column) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_slots* slots = &assembly->slots->columns[column - context->layout->columns];
    const lane zero = lane_set(0.0), one = lane_set(1.0);
    placing p = {.m = {.E = {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}}}};
    if (column->parent >= 0) {
        parent_slot slot;
        find_parent(context, column, 24, &slot);
        p.m.E = (m3){from_parent3(&slot, 0), from_parent3(&slot, 3), from_parent3(&slot, 6)};
        p.m.w = from_parent3(&slot, 9), p.m.al = from_parent3(&slot, 12), p.m.a = from_parent3(&slot, 15);
        p.r = from_parent3(&slot, 18), p.u = from_parent3(&slot, 21);
    }
    // Starts are listed last step first.
    int next = slots->first_start + slots->start_count - 1;
    const int count = step_count(column);
    for (int i = 0; i < count; i++) {
        const place at = find_place(context, column, kind, cal_aba_record(kind), i);
        displace(kind, &p, at.y, at.constants);
        for (; next >= slots->first_start && assembly->slots->starts[next].step == i; next--) {
            const cal_slot_start* start = &assembly->slots->starts[next];
            if (is_own_lane(column, start->row)) write_port(&p, start->row, assembly->ports + 24 * (size_t)start->port);
        }
    }
    if (column->child_count == 0) return;
    double* end = context->scratch + column->end_slot + own_lane(column);
    slot_store_columns(end, 0, p.m.E);
    slot_store3(end, 9, p.m.w), slot_store3(end, 12, p.m.al), slot_store3(end, 15, p.m.a);
    slot_store3(end, 18, p.r), slot_store3(end, 21, p.u);
}

LANE_FUNCTION void LANE(place_column)(const cal_context* context, const cal_column* column) {
    BY_KIND(place_run, context, column);
}

// --- Inbound ------------------------------------------------------------------------------------------------------------

// Unit forces on a port; the area holds zeros until then.
#define start_slot LANE(cal_start_slot)
LANE_INLINE void start_slot(double* area, int slot, int l) {
    for (int i = 0; i < 6; i++) area[(36 * slot + 7 * i) * CAL_WIDTH + l] = 1.0;
}

// I and p as an element has them.
#define list_inertia LANE(cal_list_inertia)
LANE_INLINE void list_inertia(const articulated* I, lane* out) {
    const lane values[CAL_ELEMENT_COLUMNS] = {I->T.xx,  I->T.xy,  I->T.yy,  I->T.xz,  I->T.yz,  I->T.zz,  I->H.x.x,
                                              I->H.x.y, I->H.x.z, I->M.xx,  I->H.y.x, I->H.y.y, I->H.y.z, I->M.xy,
                                              I->M.yy,  I->H.z.x, I->H.z.y, I->H.z.z, I->M.xz,  I->M.yz,  I->M.zz,
                                              I->n.x,   I->n.y,   I->n.z,   I->f.x,   I->f.y,   I->f.z};
    for (int i = 0; i < CAL_ELEMENT_COLUMNS; i++) out[i] = values[i];
}

// Leaves the parts' own elements: I, p, and E, c, Λ of their ports, which are in the order of their slots.
#define leave_parts LANE(cal_leave_parts)
LANE_INLINE void leave_parts(const cal_context* context, const cal_column* column, const articulated* I,
                             const double* area, int slots) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_schedule* schedule = assembly->schedule;
    const size_t index = (size_t)(column - context->layout->columns);
    lane values[CAL_ELEMENT_COLUMNS];
    list_inertia(I, values);
    CAL_EACH_LANE(l, CAL_LANES) {
        const int part = assembly->slots->part[index * CAL_WIDTH + (size_t)l];
        if (part < 0) continue;
        const cal_schedule_part* own = &schedule->parts[part];
        const int32_t* port = assembly->slots->table + assembly->slots->columns[index].table + l;
        double* out = cal_element_numbers(assembly, own->element);
#if CAL_LANES == 1
        for (int i = 0; i < CAL_ELEMENT_COLUMNS; i++) out[i] = values[i];
#else
        for (int i = 0; i < CAL_ELEMENT_COLUMNS; i++) out[i] = values[i][l];
#endif
        // Slots of a lane are the part's ports, but in an order of their own.
        const int columns = 6 * slots, kept = 6 * own->port_count;
        const double *c = area + (size_t)(6 * columns) * CAL_WIDTH + l, *L = c + (size_t)columns * CAL_WIDTH;
        double *E = out + CAL_ELEMENT_COLUMNS, *acceleration = E + 6 * kept, *lambda = acceleration + kept;
        for (int s = 0; s < slots; s++) {
            if (port[s * CAL_WIDTH] < 0) continue;
            const int first = 6 * (port[s * CAL_WIDTH] - own->first_port);
            for (int i = 0; i < 6; i++) {
                for (int m = 0; m < 6; m++) E[6 * (first + i) + m] = area[(6 * (6 * s + i) + m) * CAL_WIDTH + l];
                acceleration[first + i] = c[(6 * s + i) * CAL_WIDTH];
            }
            for (int t = 0; t < slots; t++) {
                if (port[t * CAL_WIDTH] < 0) continue;
                const int second = 6 * (port[t * CAL_WIDTH] - own->first_port);
                for (int i = 0; i < 6; i++)
                    for (int j = 0; j < 6; j++)
                        lambda[cal_packed((size_t)(first + i), (size_t)(second + j))] =
                            L[cal_packed((size_t)(6 * s + i), (size_t)(6 * t + j)) * CAL_WIDTH];
            }
        }
    }
}

#define inbound_parts LANE(cal_inbound_parts)
LANE_INLINE void inbound_parts(int kind, const cal_context* context, const cal_column* column) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_slots* slots = &assembly->slots->columns[column - context->layout->columns];
    const cal_slot_start *start = assembly->slots->starts + slots->first_start, *last = start + slots->start_count;
    double* area = area_of(context, column, slots);
    int i = step_count(column) - 1;
    place at = find_place(context, column, kind, cal_aba_record(kind), i);
    articulated I = begin_inbound(context, column, &at);
    for (;;) {
        for (; start < last && start->step == i; start++)
            if (is_own_lane(column, start->row)) start_slot(area, start->slot, start->row);
        inbound_part(kind, slots->count, &I, at.force, at.constants, at.record, area + own_lane(column),
                     find_answer(context, column, slots, cal_kind_v(kind), i));
        if (--i < 0) break;
        at = find_place(context, column, kind, cal_aba_record(kind), i);
        add_own(&I, at.constants, at.scratch);
    }
    if (column->parent < 0) {
        leave_parts(context, column, &I, area, slots->count);
        return;
    }
    store_articulated(context->scratch + column->up_slot + own_lane(column), &I);
}

LANE_FUNCTION void LANE(inbound_column)(const cal_context* context, const cal_column* column) {
    BY_KIND(inbound_parts, context, column);
}

// Moves the slots of a column's lane to its parent's; a port has one way up, so nothing is added.
#define carry_slots LANE(cal_carry_slots)
LANE_INLINE void carry_slots(const cal_context* context, const cal_column* column, int l) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_slots* own = &assembly->slots->columns[column - context->layout->columns];
    const int up = column->parent_lane[l];
    if (own->count == 0 || up < 0) return;
    const cal_column* parent = &context->layout->columns[column->parent];
    const cal_slots* upper = &assembly->slots->columns[column->parent];
    const double* from = area_of(context, column, own) + l;
    double* to = area_of(context, parent, upper) + up;
    const size_t K = 6 * (size_t)own->count, N = 6 * (size_t)upper->count;
    const int32_t* port = assembly->slots->table + own->table + l;
    const int8_t* slot = assembly->slots->pulls + own->pull + l;
    for (size_t s = 0; s < (size_t)own->count; s++) {
        if (port[s * CAL_WIDTH] < 0) continue;
        const size_t first = 6 * (size_t)slot[s * CAL_WIDTH];
        for (size_t i = 0; i < 36; i++) to[(6 * first + i) * CAL_WIDTH] = from[(36 * s + i) * CAL_WIDTH];
        for (size_t i = 0; i < 6; i++) to[(6 * N + first + i) * CAL_WIDTH] = from[(6 * K + 6 * s + i) * CAL_WIDTH];
        for (size_t t = 0; t < (size_t)own->count; t++) {
            if (port[t * CAL_WIDTH] < 0) continue;
            const size_t second = 6 * (size_t)slot[t * CAL_WIDTH];
            for (size_t i = 0; i < 6; i++)
                for (size_t j = 0; j < 6; j++)
                    to[(7 * N + cal_packed(first + i, second + j)) * CAL_WIDTH] =
                        from[(7 * K + cal_packed(6 * s + i, 6 * t + j)) * CAL_WIDTH];
        }
    }
}

// --- Outbound with what the joins found -----------------------------------------------------------------------------------

#define load_forces LANE(cal_load_forces)
LANE_INLINE void load_forces(const cal_context* context, const cal_column* column, const cal_slots* slots, int count,
                             lane* lambda) {
    const cal_assembly* assembly = cal_assembly_of(context);
    for (int s = 0; s < count; s++) {
        const int32_t* port = assembly->slots->table + slots->table + (size_t)s * CAL_WIDTH + own_lane(column);
        for (int i = 0; i < 6; i++) {
#if CAL_LANES == 1
            lambda[6 * s + i] = port[0] < 0 ? 0.0 : assembly->forces[6 * (size_t)port[0] + (size_t)i];
#else
            for (int l = 0; l < CAL_LANES; l++)
                lambda[6 * s + i][l] = port[l] < 0 ? 0.0 : assembly->forces[6 * (size_t)port[l] + (size_t)i];
#endif
        }
    }
}

// most: of the column's slots.
#define accelerate_slots LANE(cal_accelerate_slots)
LANE_INLINE void accelerate_slots(int kind, int most, const cal_context* context, const cal_column* column,
                                  const cal_slots* slots) {
    const int at_base = column->parent < 0 ? CAL_DOWN_COUNT : ACCELERATION;
    parent_slot slot;
    find_parent(context, column, at_base + 6, &slot);
    v3 al = from_parent3(&slot, at_base), a = from_parent3(&slot, at_base + 3);
    lane lambda[6 * CAL_SCHEDULE_MOST_TIPS];
    load_forces(context, column, slots, most, lambda);
    const int count = step_count(column), degrees = cal_kind_v(kind);
    // Where a node's own acceleration is in its record, before what ports add to it.
    const int first = kind == CAL_FREE ? LANE(FREE_AL) : kind == CAL_BALL ? LANE(BALL_K) : LANE(RECORD_K);
    for (int i = 0; i < count; i++) {
        const place at = find_place(context, column, kind, cal_aba_record(kind), i);
        if (most > 0) {
            lane own[6];
            answer_part(most, degrees, lambda, find_answer(context, column, slots, degrees, i), own);
            for (int m = 0; m < degrees; m++) STORE(at.record, first + m, LOAD(at.record, first + m) + own[m]);
        }
        accelerate(kind, &al, &a, at.y, at.record, at.ydot);
    }
    store_acceleration(context, column, al, a);
}

// One slot, which the parts of a chain have, is a number that the compiler knows.
#define accelerate_parts LANE(cal_accelerate_parts)
LANE_INLINE void accelerate_parts(int kind, const cal_context* context, const cal_column* column) {
    const cal_slots* slots = &cal_assembly_of(context)->slots->columns[column - context->layout->columns];
    if (slots->count == 1 && cal_kind_v(kind) == 1)
        accelerate_slots(kind, 1, context, column, slots);
    else
        accelerate_slots(kind, slots->count, context, column, slots);
}

LANE_FUNCTION void LANE(accelerate_column)(const cal_context* context, const cal_column* column) {
    BY_KIND(accelerate_parts, context, column);
}
