// What a schedule's elements do for each other, one element at a time: how tips and bases move, what is known of both elements of a
// join, what parts are given. assembly.c has the mathematics. For cores and for devices, where a thread has an element.
#pragma once
#include "math/vector.h"
#include "pass/assembly.h"

// --- Kinematics along the joins ---------------------------------------------------------------------------------------------

CAL_DEVICE static inline cal_placing* motion_at(const cal_assembly* assembly, size_t at) {
    return (cal_placing*)(assembly->numbers + at);
}

CAL_DEVICE static inline void compose(const cal_placing* base, const cal_placing* tip, cal_placing* out) {
    const double *E = base->rotation, *w = base->angular;
    double spin[3], turn[3], arm[3], rate[3], pull[3], swing[3], term[3];
    const double* from[5] = {tip->angular, tip->turning, tip->position, tip->linear, tip->pulling};
    double* to[5] = {spin, turn, arm, rate, pull};
    for (int v = 0; v < 5; v++)
        for (int i = 0; i < 3; i++) to[v][i] = E[i] * from[v][0] + E[3 + i] * from[v][1] + E[6 + i] * from[v][2];
    cal_placing result;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            result.rotation[3 * k + i] =
                E[i] * tip->rotation[3 * k] + E[3 + i] * tip->rotation[3 * k + 1] + E[6 + i] * tip->rotation[3 * k + 2];
    for (int i = 0; i < 3; i++) {
        result.angular[i] = w[i] + spin[i];
        result.position[i] = base->position[i] + arm[i];
        result.pulling[i] = base->pulling[i] + pull[i];
    }
    cal_cross3(w, spin, term);
    for (int i = 0; i < 3; i++) result.turning[i] = base->turning[i] + turn[i] + term[i];
    cal_cross3(w, arm, swing);
    for (int i = 0; i < 3; i++) {
        result.linear[i] = base->linear[i] + swing[i] + rate[i];
        swing[i] += 2.0 * rate[i];
    }
    cal_cross3(w, swing, term);
    cal_cross3(base->turning, arm, spin);
    for (int i = 0; i < 3; i++) result.pulling[i] += term[i] + spin[i];
    *out = result;
}

CAL_DEVICE static inline cal_placing stand_still(void) {
    cal_placing out = {{0.0}, {0.0}, {0.0}, {0.0}, {0.0}, {0.0}};
    for (int i = 0; i < 3; i++) out.rotation[4 * i] = 1.0;
    return out;
}

// How an element's tips move, seen from its base.
CAL_DEVICE static inline void find_tips(const cal_assembly* assembly, const cal_element* e) {
    const cal_schedule* s = assembly->schedule;
    cal_placing* own = motion_at(assembly, e->tip_motion);
    if (e->kind == CAL_ELEMENT_PART) {
        const size_t first = (size_t)s->parts[e->index].first_port;
        const cal_placing* ports = (const cal_placing*)(assembly->ports + 24 * first);
        for (int t = 0; t < e->tip_count; t++) own[t] = ports[t];
    } else if (e->kind == CAL_ELEMENT_UNIT) {
        *own = stand_still();
    } else if (e->kind != CAL_ELEMENT_ROWS) {
        const cal_element *a = &s->elements[e->a], *b = &s->elements[e->b];
        const cal_placing *of_a = motion_at(assembly, a->tip_motion), *of_b = motion_at(assembly, b->tip_motion);
        for (int t = 0; t < a->tip_count; t++)
            if (e->kind != CAL_ELEMENT_BELOW || t != e->tip) *own++ = of_a[t];
        for (int t = 0; t < b->tip_count; t++, own++)
            if (e->kind == CAL_ELEMENT_BELOW)
                compose(&of_a[e->tip], &of_b[t], own);
            else
                *own = of_b[t];
    }
}

// Where columns on the ground read how the lanes' bases move (18), and later how they are accelerated (6).
CAL_DEVICE static inline double* base_of(const cal_context* context, int part, int* stride) {
    const int32_t seat = cal_assembly_of(context)->slots->seat[part];
    const cal_column* column = &context->layout->columns[seat / CAL_MAX_LANES];
    *stride = column->lanes;
    return context->scratch + column->base_slot + seat % CAL_MAX_LANES;
}

CAL_DEVICE static inline void give_motion(const cal_context* context, const cal_element* e) {
    int stride;
    double* out = base_of(context, e->index, &stride);
    const double* motion = cal_assembly_of(context)->numbers + e->motion;
    for (int i = 0; i < CAL_DOWN_COUNT; i++) out[i * stride] = motion[i];
}

// How the bases of what an element is made of move.
CAL_DEVICE static inline void pass_motion(const cal_context* context, const cal_element* e) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_schedule* s = assembly->schedule;
    if (e->kind == CAL_ELEMENT_PART) give_motion(context, e);
    if (e->a < 0) return;
    const cal_placing* base = motion_at(assembly, e->motion);
    *motion_at(assembly, s->elements[e->a].motion) = *base;
    if (e->kind == CAL_ELEMENT_BELOW)
        compose(base, motion_at(assembly, s->elements[e->a].tip_motion) + e->tip,
                motion_at(assembly, s->elements[e->b].motion));
    else
        *motion_at(assembly, s->elements[e->b].motion) = *base;
}

CAL_DEVICE static inline void stand_on_ground(const cal_context* context, const cal_element* e) {
    cal_placing ground = stand_still();
    for (int i = 0; i < 3; i++) ground.pulling[i] = -context->model->gravity[i];
    *motion_at(cal_assembly_of(context), e->motion) = ground;
}

// --- Assembly and disassembly ------------------------------------------------------------------------------------------------

CAL_DEVICE static inline void fill_unit(const cal_assembly* assembly, const cal_element* e) {
    double* numbers = assembly->numbers + e->numbers;
    for (int i = 0; i < CAL_ELEMENT_COLUMNS + 7 * 6 + 21; i++) numbers[i] = 0.0;
    for (int i = 0; i < 6; i++) numbers[CAL_ELEMENT_COLUMNS + 7 * i] = 1.0;
}

// I and p add up, columns are put together, and those of a row that both have are added.
CAL_DEVICE static inline void join_beside(const cal_assembly* assembly, const cal_element* e) {
    const cal_schedule* s = assembly->schedule;
    const int32_t* map = s->maps + e->first_map;
    double *out = assembly->numbers + e->numbers, *E = out + CAL_ELEMENT_COLUMNS, *c = E + 6 * e->columns,
           *L = c + e->columns;
    const size_t size = cal_element_size(e);
    for (size_t i = 0; i < size; i++) out[i] = 0.0;
    for (int side = 0; side < 2; side++) {
        const int index = side ? e->b : e->a, count = s->elements[index].columns;
        const double *own = cal_element_numbers(assembly, index), *own_E = own + CAL_ELEMENT_COLUMNS,
                     *own_c = own_E + 6 * count, *own_L = own_c + count;
        for (int i = 0; i < CAL_ELEMENT_COLUMNS; i++) out[i] += own[i];
        for (int i = 0; i < count; i++) {
            for (int m = 0; m < 6; m++) E[6 * map[i] + m] += own_E[6 * i + m];
            c[map[i]] += own_c[i];
            for (int j = 0; j < count; j++)
                if (map[i] >= map[j])
                    L[cal_packed((size_t)map[i], (size_t)map[j])] += own_L[cal_packed((size_t)i, (size_t)j)];
        }
        map += count;
    }
}

// What is known of both elements: forces on columns that are still open, and how a's base, or both, are accelerated.
CAL_DEVICE static inline void pass_on(const cal_assembly* assembly, const cal_element* e) {
    const cal_element *a = &assembly->schedule->elements[e->a], *b = &assembly->schedule->elements[e->b];
    const int32_t* map = assembly->schedule->maps + e->first_map;
    const double *base = assembly->numbers + e->base, *known = assembly->numbers + e->force;
    double *a_force = assembly->numbers + a->force, *b_force = assembly->numbers + b->force;
    for (int i = 0; i < 6; i++) assembly->numbers[a->base + (size_t)i] = base[i];
    for (int i = 0; i < 6 && e->kind == CAL_ELEMENT_BESIDE; i++) assembly->numbers[b->base + (size_t)i] = base[i];
    for (int i = 0; i < a->columns; i++) a_force[i] = map[i] < 0 ? 0.0 : known[map[i]];
    for (int i = 0; i < b->columns; i++) b_force[i] = known[map[a->columns + i]];
}

// What disassembly has found out about a part, for its kernel.
CAL_DEVICE static inline void give_forces(const cal_context* context, const cal_element* e) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_schedule_part* part = &assembly->schedule->parts[e->index];
    int stride;
    double* out = base_of(context, e->index, &stride);
    for (int i = 0; i < 6; i++) out[(CAL_DOWN_COUNT + i) * stride] = assembly->numbers[e->base + (size_t)i];
    double* forces = assembly->forces + 6 * (size_t)part->first_port;
    for (int i = 0; i < 6 * part->port_count; i++) forces[i] = assembly->numbers[e->force + (size_t)i];
}

// The ground holds the base.
CAL_DEVICE static inline void hold_base(const cal_assembly* assembly, const cal_element* e) {
    for (size_t i = 0; i < 6; i++) assembly->numbers[e->base + i] = 0.0;
}
