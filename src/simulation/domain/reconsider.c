// Decisions of contact groups that come before their time. A group decides at the beginning of an interval who joins it, from where all
// bodies near it are then (contact/joining.c). Who does not join is linked to nothing; so when such a body turns out to have moved
// otherwise before that, the decision is made again. Where nothing has changed for the group it comes to the same bits.
//
// In a domain that is done where a body's motion changes. Across a border a group decides without the bodies of other domains, and what it
// has decided is looked at when domains meet: a body that would have joined comes into the group's domain, and the decision is made again.
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/domain/domain.h"
#include "simulation/event/pairs.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"

static bool is_after(double time, double limit, bool inclusive) { return inclusive ? time >= limit : time > limit; }

// Whether a group has decided at a state who joins it, and gone on: not one that sleeps, or that is between two steps of one interval. What it stepped
// to may have been cut short by a collision.
static bool decided_at(const cal_world* world, int component, int64_t n) {
    const cal_component* c = &world->components[component];
    const double *data = cal_data_at(&c->queue, n), time = cal_saved_state_at(&c->queue, n)->time;
    return n + 1 < c->queue.tail && cal_saved_state_at(&c->queue, n + 1)->time > time &&
           cal_group_decides(c->group, data, time) && data[c->group->at_rest + CAL_REST_ASLEEP] == 0.0;
}

// The first decision of a group after a time; infinite when there is none.
static double first_decision(const cal_world* world, int component, double time, bool inclusive) {
    const cal_queue* queue = &world->components[component].queue;
    double first = (double)INFINITY;
    for (int64_t n = queue->tail - 1; n >= queue->head; n--) {
        const double at = cal_saved_state_at(queue, n)->time;
        if (!is_after(at, time, inclusive)) break;
        if (decided_at(world, component, n)) first = at;
    }
    return first;
}

// Of the groups that were in charge of a body after a time, in the order of time: with the first decision goes what came after it. A
// group that began after the time is undone, and with it what ended then. One that had ended by then decides nothing, and may be another
// domain's, which destroys it.
static cal_status reconsider(cal_world* world, int body, double time, bool inclusive, cal_error* error) {
    const int component = world->bodies[body].component;
    const cal_queue* own = &world->components[component].queue;
    int64_t n = cal_queue_find(own, time);
    for (n = n > own->head ? n - 1 : own->head; n < own->tail; n++) {
        const cal_saved_state* knot = cal_saved_state_at(own, n);
        if (knot->kind != CAL_FUSED || (n + 1 < own->tail && cal_saved_state_at(own, n + 1)->time <= time)) continue;
        if (!cal_group_has(world, knot->group, component)) continue;
        const cal_queue* queue = &world->components[knot->group].queue;
        if (queue->head == queue->tail) continue;
        const cal_saved_state* begin = cal_saved_state_at(queue, queue->head);
        if (is_after(begin->time, time, inclusive) && begin->junction >= 0)
            return cal_rollback(world, knot->group, queue->head, error);
        const double first = first_decision(world, knot->group, time, inclusive);
        if (first < (double)INFINITY) return cal_rollback_to(world, knot->group, first, error);
    }
    return CAL_OK;
}

cal_status cal_domain_decide_again(cal_world* world, int member, double time, cal_error* error) {
    return reconsider(world, member, time, true, error);
}

// Whether a body's motion begins anew at just that time, or its group falls asleep then: what a decision sees depends on the order of events.
static bool begins_at(const cal_world* world, int body, double time) {
    for (int component = world->bodies[body].component, depth = 0; depth < 2; depth++) {
        const cal_queue* queue = &world->components[component].queue;
        const int64_t n = cal_queue_find(queue, time);
        if (n < queue->head) return false;
        const cal_saved_state* knot = cal_saved_state_at(queue, n);
        if (knot->time == time &&
            (knot->kind != CAL_STEP || (depth > 0 && cal_group_sleeps_at(world, component, time))))
            return true;
        if (knot->kind != CAL_FUSED || !cal_group_has(world, knot->group, component)) return false;
        component = knot->group;
    }
    return false;
}

// The first decision of a group from a time on from which a body would have joined because of a member; infinite: none.
static cal_status first_missed(cal_world* world, int group, int member, int other, double from, double* out,
                               cal_error* error) {
    const cal_queue* queue = &world->components[group].queue;
    for (int64_t n = queue->tail - 1; n >= queue->head && cal_saved_state_at(queue, n)->time >= from; n--) {
        const double time = cal_saved_state_at(queue, n)->time;
        if (!decided_at(world, group, n)) continue;
        bool joins = begins_at(world, other, time);
        const cal_status status = joins ? CAL_OK : cal_group_attracts(world, member, other, time, &joins, error);
        if (status != CAL_OK) return status;
        if (joins) *out = time;
    }
    return CAL_OK;
}

cal_status cal_domain_find_missed(cal_world* world, int member, int other, double from, double* out, cal_error* error) {
    const int component = world->bodies[member].component;
    const cal_queue* own = &world->components[component].queue;
    cal_status status = CAL_OK;
    *out = (double)INFINITY;
    if (!cal_group_may_join(world, member, other)) return CAL_OK;
    for (int64_t n = own->tail - 1; status == CAL_OK && n >= own->head; n--) {
        const cal_saved_state* knot = cal_saved_state_at(own, n);
        if (knot->kind == CAL_FUSED && cal_group_has(world, knot->group, component))
            status = first_missed(world, knot->group, member, other, from, out, error);
        if (knot->time < from) break;
    }
    return status;
}

cal_status cal_domain_reconsider(cal_world* world, int body, double time, bool inclusive, cal_error* error) {
    const cal_presence here = cal_body_presence(world, body);
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < *here.pair_count; i++) {
        const cal_pair* pair = &world->table.pairs[(*here.pairs)[i]];
        const int other = pair->body[0] == body ? pair->body[1] : pair->body[0];
        if (world->bodies[other].component >= 0) status = reconsider(world, other, time, inclusive, error);
    }
    return status;
}
