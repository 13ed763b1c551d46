// What a schedule's elements do for each other, one element at a time: how tips and bases move, what is known of both elements of a
// join, what parts are given. assembly.c has the mathematics. For cores and for devices, where a thread or a warp has an element (team.h).
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

// What the members of a team bring, all at once, and leave for each other: the tip's vectors, turned as its base is; and the result.
typedef struct cal_compose_room {
    cal_placing base, tip, turned, out;
} cal_compose_room;

enum { CAL_PLACING_NUMBERS = sizeof(cal_placing) / sizeof(double) };
CAL_DEVICE static inline void copy_motion(const cal_placing* from, cal_placing* to) {
    CAL_SET_ENTRIES(i, CAL_PLACING_NUMBERS, ((double*)to)[i], ((const double*)from)[i]);
}

// Number i of a vector, turned as E is.
CAL_DEVICE static inline double turned_number(const double* E, const double* from, int i) {
    return E[i] * from[0] + E[3 + i] * from[1] + E[6 + i] * from[2];
}

// A tip's motion and its base's, as the ground sees them; what there is in the room stays.
CAL_DEVICE static inline void compose(const cal_placing* its_base, const cal_placing* its_tip, cal_placing* out,
                                      cal_compose_room* room) {
    const cal_placing *base = &room->base, *turned = &room->turned;
    cal_placing* own = &room->out;
    CAL_COPY_TWO(CAL_PLACING_NUMBERS, (const double*)its_base, (double*)&room->base, (const double*)its_tip,
                 (double*)&room->tip);
    CAL_TEAM_WAIT();
    const double *E = base->rotation, *w = base->angular;
    CAL_SET_ENTRIES(i, CAL_PLACING_NUMBERS, ((double*)&room->turned)[i],
                    turned_number(E, (const double*)&room->tip + i / 3 * 3, i % 3));
    CAL_TEAM_WAIT();
    CAL_SET_ENTRIES(i, 9, own->rotation[i], turned->rotation[i]);
    CAL_ENTRIES(i, 3) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        const double swing = cross_at(w, turned->position, i);
        // What Coriolis' law takes.
        const double twice_j = cross_at(w, turned->position, j) + 2.0 * turned->linear[j],
                     twice_k = cross_at(w, turned->position, k) + 2.0 * turned->linear[k];
        own->angular[i] = w[i] + turned->angular[i];
        own->position[i] = base->position[i] + turned->position[i];
        own->turning[i] = base->turning[i] + turned->turning[i] + cross_at(w, turned->angular, i);
        own->linear[i] = base->linear[i] + swing + turned->linear[i];
        own->pulling[i] = base->pulling[i] + turned->pulling[i] +
                          (w[j] * twice_k - w[k] * twice_j + cross_at(base->turning, turned->position, i));
    }
    CAL_TEAM_WAIT();
    copy_motion(own, out);
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

// How a part's base moves, for its kernels.
CAL_DEVICE static inline void give_motion(const cal_context* context, const cal_element* e, const cal_placing* motion) {
    int stride;
    double* out = base_of(context, e->index, &stride);
    CAL_SET_ENTRIES(i, CAL_DOWN_COUNT, out[i * stride], ((const double*)motion)[i]);
}

// How the bases of what an element is made of move; where one is below the other, they are in the room afterwards, a's as the base.
CAL_DEVICE static inline void pass_motion(const cal_context* context, const cal_element* e, cal_compose_room* room) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_schedule* s = assembly->schedule;
    const cal_placing* base = motion_at(assembly, e->motion);
    if (e->kind == CAL_ELEMENT_PART) give_motion(context, e, base);
    if (e->a < 0) return;
    cal_placing *of_a = motion_at(assembly, s->elements[e->a].motion),
                *of_b = motion_at(assembly, s->elements[e->b].motion);
    if (e->kind == CAL_ELEMENT_BELOW) {
        compose(base, motion_at(assembly, s->elements[e->a].tip_motion) + e->tip, of_b, room);
        if (of_a != base) copy_motion(&room->base, of_a);
    } else {
        if (of_a != base) copy_motion(base, of_a);
        copy_motion(base, of_b);
    }
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

// What disassembly has found out about a part, for its kernel: how its base is accelerated, and the forces on its ports.
CAL_DEVICE static inline void give_forces(const cal_context* context, const cal_element* e, const double* base,
                                          const double* force) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_schedule_part* part = &assembly->schedule->parts[e->index];
    int stride;
    double* out = base_of(context, e->index, &stride);
    CAL_ENTRIES(i, 6) out[(CAL_DOWN_COUNT + i) * stride] = base[i];
    double* forces = assembly->forces + 6 * (size_t)part->first_port;
    CAL_ENTRIES(i, 6 * part->port_count) forces[i] = force[i];
}

// The ground holds the base.
CAL_DEVICE static inline void hold_base(const cal_assembly* assembly, const cal_element* e) {
    CAL_ENTRIES(i, 6) assembly->numbers[e->base + (size_t)i] = 0.0;
    CAL_TEAM_WAIT();
}
