// Speeds of members of a group between two of its states, as users see them, and as a motion begins with that an event begins there.
//
// Ways are cubics through q and v at both ends, straight lines or bows. Their own speeds are good to the third order at best, and the energy
// with them: it would rise and fall between two states that have the same. So speeds are multiplied with one factor f for all members,
//
//     f² = (E(t) − U) / T        E(t): the energy of the group, which never grows from the one state to the other;
//                                U, T: its potential and kinetic energy on the way
//
// by which contacts and constraints that hold at rest still hold, and which changes momentum by as little as f is from 1. E is that of the way's own
// speeds where that does not grow: half-way it is between those of both ends, half-way from there to an end between those of these two, and
// so on. (In proportion to time it would not do: what begins to slide loses more to friction than it has of kinetic energy, with the square of
// time.) On straight lines each free body has an energy that is in proportion to time by itself (units.c). Where somebody works on the way, a hand, a motor or a body that is moved,
// energy is not in proportion to time: there it goes its own way between those of the two states, and no further.
#include "base/memory.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/contact/group.h"
#include "simulation/flow.h"
#include "simulation/world.h"
#include <string.h>

enum { HALVINGS = 8 };                // of a way: what energies are compared with is that of places so near
static const double rounding = 1e-12; // of energies: differences that are not larger are none

static bool is_bowed(const cal_group_member* unit, const cal_member_span* s) {
    bool bowed = false;
    for (int i = 0; s->bow != NULL && !bowed && i < unit->v_count; i++) bowed = s->bow[i] != 0.0;
    return bowed;
}

// q and v of all members before they are multiplied.
static cal_status find_numbers(const cal_world* world, const cal_contact_group* g, const cal_group_span* s,
                               double* out) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < g->group.unit_count; i++) {
        const cal_group_member* unit = &g->units[i];
        const cal_member_span own = cal_group_member_span(g, i, s);
        double* v = out + g->at_v + unit->first_v;
        status = unit->ops->state(unit, &own, out + unit->first_q, v);
        if (status == CAL_OK) status = unit->ops->shown_numbers(unit, world, &own, v);
    }
    return status;
}

static cal_status is_worked_on(cal_world* world, int component, const cal_group_span* s, double energy, bool* out) {
    const cal_contact_group* g = world->components[component].group;
    cal_status status = CAL_OK;
    double moved = 0.0;
    for (int i = 0; status == CAL_OK && i < g->group.unit_count; i++) {
        const cal_member_span own = cal_group_member_span(g, i, s);
        double work = 0.0;
        status = world->components[g->members[i]].ops->work(world, g->members[i], &own, &work);
        moved += fabs(work);
    }
    *out = g->restless || moved > rounding * energy;
    return status;
}

// The energy of the way's own speeds; potential: what it is without them, may be NULL.
static cal_status find_own(cal_world* world, int component, const cal_group_span* s, double* numbers, double* out,
                           double* potential) {
    const cal_contact_group* g = world->components[component].group;
    cal_status status = find_numbers(world, g, s, numbers);
    if (status == CAL_OK) status = cal_group_energy(world, component, numbers, out);
    memset(numbers + g->at_v, 0, (size_t)g->group.v_count * sizeof *numbers);
    if (status == CAL_OK && potential != NULL) status = cal_group_energy(world, component, numbers, potential);
    return status;
}

// Between which two energies that at a time is, so that none before it is less and none after it is more.
static cal_status find_limits(cal_world* world, int component, const cal_group_span* s, double* numbers, double* most,
                              double* least) {
    double begin = 0.0, end = s->length, own = 0.0;
    const double known = rounding * (fabs(*most) + fabs(*least));
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i<HALVINGS&& * most - *least> known; i++) {
        cal_group_span half = *s;
        half.t = 0.5 * (begin + end);
        status = find_own(world, component, &half, numbers, &own, NULL);
        own = fmin(fmax(own, *least), *most);
        if (s->t < half.t)
            end = half.t, *least = own;
        else
            begin = half.t, *most = own;
    }
    return status;
}

static cal_status find_factor(const cal_world* world, int component, const cal_group_span* s, double* numbers,
                              double* out) {
    cal_world* owner = (cal_world*)world; // energies need its room for numbers
    double from = 0.0, to = 0.0, there = 0.0, potential = 0.0;
    *out = 1.0;
    cal_status status = cal_group_energy(owner, component, s->from, &from);
    if (status == CAL_OK) status = cal_group_energy(owner, component, s->to, &to);
    bool worked = false;
    if (status == CAL_OK) status = is_worked_on(owner, component, s, fabs(from) + fabs(to), &worked);
    double most = fmax(from, to), least = fmin(from, to);
    if (status == CAL_OK && !worked && from > to) status = find_limits(owner, component, s, numbers, &most, &least);
    if (status == CAL_OK) status = find_own(owner, component, s, numbers, &there, &potential);
    const double kinetic = there - potential, wanted = fmin(fmax(there, least), most);
    if (status != CAL_OK || !(kinetic > 0.0) ||
        fabs(wanted - there) <= rounding * (fabs(wanted) + fabs(there) + fabs(potential)))
        return status;
    *out = sqrt(fmax(wanted - potential, 0.0) / kinetic);
    return CAL_OK;
}

// The factor at a time on a way; it is kept until another one is asked for.
static cal_status factor_of(const cal_world* world, int component, double time, const cal_group_span* s, double* out) {
    cal_contact_group* g = world->components[component].group;
    const cal_queue* queue = &world->components[component].queue;
    *out = 1.0;
    if (s->to == NULL || s->straight || !(s->t > 0.0) || cal_group_is_moved(&g->group)) return CAL_OK;
    const double begin = cal_saved_state_at(queue, s->number)->time;
    if (g->shown.known && g->shown.time == time && g->shown.number == s->number && g->shown.tail == queue->tail &&
        g->shown.begin == begin && g->shown.end == begin + s->length) {
        *out = g->shown.factor;
        return CAL_OK;
    }
    double* numbers = cal_allocate((size_t)(g->at_v + g->group.v_count), sizeof *numbers);
    if (numbers == NULL) return CAL_NO_MEMORY;
    const cal_status status = find_factor(world, component, s, numbers, out);
    cal_free(numbers);
    g->shown.known = status == CAL_OK;
    g->shown.time = time, g->shown.number = s->number, g->shown.tail = queue->tail;
    g->shown.begin = begin, g->shown.end = begin + s->length, g->shown.factor = *out;
    return status;
}

cal_status cal_groups_prepare_shown(cal_world* world, double time) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < world->component_count; i++) {
        const cal_component* c = &world->components[i];
        double factor;
        if (c->ops == NULL || !c->ops->stepped || c->group == NULL || c->queue.tail == c->queue.head) continue;
        const cal_group_span s = cal_group_span_at(world, i, time);
        if (time >= cal_saved_state_at(&c->queue, s.number)->time) status = factor_of(world, i, time, &s, &factor);
    }
    return status;
}

static cal_status show_speeds(const cal_world* world, int body, double time, bool between, cal_motion* motion) {
    const int component = cal_body_component(world, body, time);
    if (component < 0 || !world->components[component].ops->stepped) return CAL_OK;
    const cal_contact_group* g = world->components[component].group;
    const int number = cal_group_unit(world, g, body);
    const cal_group_member* unit = &g->units[number];
    const cal_group_span s = cal_group_span_at(world, component, time);
    const cal_member_span own = cal_group_member_span(g, number, &s);
    const bool bowed = is_bowed(unit, &own), begins = !(s.t > 0.0);
    // Speeds of a way that is not bowed are at its begin those of the state, but for rounding; of a multibody that is as good.
    if (own.to_q == NULL || (!between && (!begins || (unit->varying && !bowed)))) return CAL_OK;
    double factor = 1.0;
    cal_status status = CAL_OK;
    if (s.straight || bowed || begins || unit->varying)
        status = unit->ops->shown_speeds(unit, world, cal_group_body_of_unit(world, body), &own, motion);
    if (status == CAL_OK) status = factor_of(world, component, time, &s, &factor);
    for (int i = 0; i < 3; i++) motion->u[i] *= factor, motion->w[i] *= factor;
    return status;
}

cal_status cal_group_own_speeds(const cal_world* world, int body, double time, cal_motion* motion) {
    return show_speeds(world, body, time, false, motion);
}

cal_status cal_group_shown_speeds(const cal_world* world, int body, double time, cal_motion* motion) {
    return show_speeds(world, body, time, true, motion);
}

cal_status cal_group_numbers(const cal_world* world, int component, int body, double time, double* q, double* v) {
    const cal_contact_group* g = world->components[component].group;
    const int number = cal_group_unit(world, g, body);
    const cal_group_member* unit = &g->units[number];
    const cal_group_span s = cal_group_span_at(world, component, time);
    const cal_member_span own = cal_group_member_span(g, number, &s);
    double factor = 1.0;
    cal_status status = factor_of(world, component, time, &s, &factor);
    if (status == CAL_OK) status = unit->ops->state(unit, &own, q, v);
    if (status == CAL_OK && own.to_q != NULL) status = unit->ops->shown_numbers(unit, world, &own, v);
    for (int i = 0; i < unit->v_count; i++) v[i] *= factor;
    return status;
}

cal_status cal_group_state(const cal_world* world, int component, double time, double* out) {
    const cal_contact_group* g = world->components[component].group;
    const cal_group_span s = cal_group_span_at(world, component, time);
    memcpy(out, s.from, (size_t)(g->at_v + g->group.v_count) * sizeof *out);
    if (s.to == NULL || !(s.t > 0.0)) return CAL_OK;
    double factor = 1.0;
    cal_status status = factor_of(world, component, time, &s, &factor);
    if (status == CAL_OK) status = find_numbers(world, g, &s, out);
    for (int i = 0; i < g->group.v_count; i++) out[g->at_v + i] *= factor;
    return status;
}
