// What a schedule's elements do for each other, one element at a time: how tips and bases move, what is known of both elements of a
// join, what parts are given. assembly.c has the mathematics. For cores and for devices, where a warp has an element (team.h).
#pragma once
#include "math/vector.h"
#include "pass/assembly.h"
#include "pass/team.h"

// --- Kinematics along the joins ---------------------------------------------------------------------------------------------

CAL_DEVICE static inline cal_placing* motion_at(const cal_assembly* assembly, size_t at) {
    return (cal_placing*)(assembly->numbers + at);
}

CAL_DEVICE static inline double cross_at(const double* a, const double* b, int i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    return a[j] * b[k] - a[k] * b[j];
}

// What the members of a team leave for each other: the tip's vectors, turned as its base is; what Coriolis' law takes. And what they
// bring, all at once.
typedef struct cal_compose_room {
    double spin[3], turn[3], pull[3], arm[3], rate[3], swing[3];
    cal_placing base, tip;
} cal_compose_room;

enum { CAL_PLACING_NUMBERS = sizeof(cal_placing) / sizeof(double) };
CAL_DEVICE static inline void copy_motion(const cal_placing* from, cal_placing* to) {
    CAL_ENTRIES(i, CAL_PLACING_NUMBERS)((double*)to)[i] = ((const double*)from)[i];
}

CAL_DEVICE static inline void compose(const cal_placing* its_base, const cal_placing* its_tip, cal_placing* out,
                                      cal_compose_room* room) {
    const cal_placing *base = &room->base, *tip = &room->tip;
    copy_motion(its_base, &room->base);
    copy_motion(its_tip, &room->tip);
    CAL_TEAM_WAIT();
    const double *E = base->rotation, *w = base->angular;
    const double* moves = (const double*)tip + 9;
    double* turned = (double*)room;
    CAL_ENTRIES2(v, 5, i, 3) {
        const double* from = moves + 3 * v;
        turned[3 * v + i] = E[i] * from[0] + E[3 + i] * from[1] + E[6 + i] * from[2];
    }
    CAL_ENTRIES2(k, 3, i, 3) {
        const double* from = tip->rotation + 3 * k;
        out->rotation[3 * k + i] = E[i] * from[0] + E[3 + i] * from[1] + E[6 + i] * from[2];
    }
    CAL_TEAM_WAIT();
    CAL_ENTRIES(i, 3) {
        const double swing = cross_at(w, room->arm, i);
        out->angular[i] = w[i] + room->spin[i];
        out->position[i] = base->position[i] + room->arm[i];
        out->turning[i] = base->turning[i] + room->turn[i] + cross_at(w, room->spin, i);
        out->linear[i] = base->linear[i] + swing + room->rate[i];
        room->swing[i] = swing + 2.0 * room->rate[i];
    }
    CAL_TEAM_WAIT();
    CAL_ENTRIES(i, 3) {
        out->pulling[i] =
            base->pulling[i] + room->pull[i] + (cross_at(w, room->swing, i) + cross_at(base->turning, room->arm, i));
    }
    CAL_TEAM_WAIT();
}

// At rest on the ground, which gravity pulls.
CAL_DEVICE static inline void stand_still(const double* gravity, cal_placing* out) {
    CAL_ENTRIES(i, CAL_PLACING_NUMBERS)((double*)out)[i] = i < 9 && i % 4 == 0 ? 1.0 : 0.0;
    CAL_TEAM_WAIT();
    CAL_ENTRIES(i, 3) out->pulling[i] = gravity ? -gravity[i] : 0.0;
    CAL_TEAM_WAIT();
}

// How an element's tips move, seen from its base.
CAL_DEVICE static inline void find_tips(const cal_assembly* assembly, const cal_element* e, cal_compose_room* room) {
    const cal_schedule* s = assembly->schedule;
    cal_placing* own = motion_at(assembly, e->tip_motion);
    if (e->kind == CAL_ELEMENT_PART) {
        const size_t first = (size_t)s->parts[e->index].first_port;
        const cal_placing* ports = (const cal_placing*)(assembly->ports + 24 * first);
        for (int t = 0; t < e->tip_count; t++) copy_motion(&ports[t], &own[t]);
    } else if (e->kind == CAL_ELEMENT_UNIT) {
        stand_still(NULL, own);
    } else if (e->kind != CAL_ELEMENT_ROWS) {
        const cal_element *a = &s->elements[e->a], *b = &s->elements[e->b];
        const cal_placing *of_a = motion_at(assembly, a->tip_motion), *of_b = motion_at(assembly, b->tip_motion);
        for (int t = 0; t < a->tip_count; t++)
            if (e->kind != CAL_ELEMENT_BELOW || t != e->tip) copy_motion(&of_a[t], own++);
        for (int t = 0; t < b->tip_count; t++, own++)
            if (e->kind == CAL_ELEMENT_BELOW)
                compose(&of_a[e->tip], &of_b[t], own, room);
            else
                copy_motion(&of_b[t], own);
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
    CAL_ENTRIES(i, CAL_DOWN_COUNT) out[i * stride] = motion[i];
}

// How the bases of what an element is made of move.
CAL_DEVICE static inline void pass_motion(const cal_context* context, const cal_element* e, cal_compose_room* room) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_schedule* s = assembly->schedule;
    if (e->kind == CAL_ELEMENT_PART) give_motion(context, e);
    if (e->a < 0) return;
    const cal_placing* base = motion_at(assembly, e->motion);
    copy_motion(base, motion_at(assembly, s->elements[e->a].motion));
    if (e->kind == CAL_ELEMENT_BELOW)
        compose(base, motion_at(assembly, s->elements[e->a].tip_motion) + e->tip,
                motion_at(assembly, s->elements[e->b].motion), room);
    else
        copy_motion(base, motion_at(assembly, s->elements[e->b].motion));
}

CAL_DEVICE static inline void stand_on_ground(const cal_context* context, const cal_element* e) {
    stand_still(context->model->gravity, motion_at(cal_assembly_of(context), e->motion));
}

// --- Assembly and disassembly ------------------------------------------------------------------------------------------------

CAL_DEVICE static inline void fill_unit(const cal_assembly* assembly, const cal_element* e) {
    double* numbers = assembly->numbers + e->numbers;
    CAL_ENTRIES(i, CAL_ELEMENT_COLUMNS + 7 * 6 + 21) numbers[i] = 0.0;
    CAL_TEAM_WAIT();
    CAL_ENTRIES(i, 6) numbers[CAL_ELEMENT_COLUMNS + 7 * i] = 1.0;
}

// I and p add up, columns are put together, and those of a row that both have are added.
CAL_DEVICE static inline void join_beside(const cal_assembly* assembly, const cal_element* e) {
    const cal_schedule* s = assembly->schedule;
    const int32_t* map = s->maps + e->first_map;
    double *out = assembly->numbers + e->numbers, *E = out + CAL_ELEMENT_COLUMNS, *c = E + 6 * e->columns,
           *L = c + e->columns;
    CAL_ENTRIES(i, (int)cal_element_size(e)) out[i] = 0.0;
    CAL_TEAM_WAIT();
    for (int side = 0; side < 2; side++) {
        const int index = side ? e->b : e->a, count = s->elements[index].columns;
        const double *own = cal_element_numbers(assembly, index), *own_E = own + CAL_ELEMENT_COLUMNS,
                     *own_c = own_E + 6 * count, *own_L = own_c + count;
        CAL_ENTRIES(i, CAL_ELEMENT_COLUMNS) out[i] += own[i];
        CAL_ENTRIES2(i, count, m, 6) E[6 * map[i] + m] += own_E[6 * i + m];
        CAL_ENTRIES(i, count) c[map[i]] += own_c[i];
        CAL_ENTRIES2(i, count, j, count) {
            if (map[i] >= map[j])
                L[cal_packed((size_t)map[i], (size_t)map[j])] += own_L[cal_packed((size_t)i, (size_t)j)];
        }
        CAL_TEAM_WAIT();
        map += count;
    }
}

// What is known of both elements: forces on columns that are still open, and how a's base, or both, are accelerated.
CAL_DEVICE static inline void pass_on(const cal_assembly* assembly, const cal_element* e) {
    const cal_element *a = &assembly->schedule->elements[e->a], *b = &assembly->schedule->elements[e->b];
    const int32_t* map = assembly->schedule->maps + e->first_map;
    const double *base = assembly->numbers + e->base, *known = assembly->numbers + e->force;
    double *a_force = assembly->numbers + a->force, *b_force = assembly->numbers + b->force;
    CAL_ENTRIES(i, 6) {
        assembly->numbers[a->base + (size_t)i] = base[i];
        if (e->kind == CAL_ELEMENT_BESIDE) assembly->numbers[b->base + (size_t)i] = base[i];
    }
    CAL_ENTRIES(i, a->columns) a_force[i] = map[i] < 0 ? 0.0 : known[map[i]];
    CAL_ENTRIES(i, b->columns) b_force[i] = known[map[a->columns + i]];
    CAL_TEAM_WAIT();
}

// What disassembly has found out about a part, for its kernel.
CAL_DEVICE static inline void give_forces(const cal_context* context, const cal_element* e) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_schedule_part* part = &assembly->schedule->parts[e->index];
    int stride;
    double* out = base_of(context, e->index, &stride);
    CAL_ENTRIES(i, 6) out[(CAL_DOWN_COUNT + i) * stride] = assembly->numbers[e->base + (size_t)i];
    double* forces = assembly->forces + 6 * (size_t)part->first_port;
    CAL_ENTRIES(i, 6 * part->port_count) forces[i] = assembly->numbers[e->force + (size_t)i];
}

// The ground holds the base.
CAL_DEVICE static inline void hold_base(const cal_assembly* assembly, const cal_element* e) {
    CAL_ENTRIES(i, 6) assembly->numbers[e->base + (size_t)i] = 0.0;
    CAL_TEAM_WAIT();
}
