// Decisions of contact groups that come before their time. A group decides at the beginning of an interval who joins it, from where all
// bodies near it are then (contact/joining.c). Who does not join is linked to nothing; so when such a body turns out to have moved
// otherwise before that, the decision is made again. Where nothing has changed for the group it comes to the same bits.
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/domain/domain.h"
#include "simulation/event/pairs.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"

static bool is_after(double time, double limit, bool inclusive) { return inclusive ? time >= limit : time > limit; }

// The first decision of a group after a time; infinite when there is none.
static double first_decision(const cal_world* world, int component, double time, bool inclusive) {
    const cal_component* c = &world->components[component];
    double first = (double)INFINITY;
    for (int64_t n = c->queue.tail - 1; n >= c->queue.head; n--) {
        if (!is_after(cal_saved_state_at(&c->queue, n)->time, time, inclusive)) break;
        const double begin = cal_data_at(&c->queue, n)[c->group->at_rest + CAL_REST_BEGIN];
        if (cal_saved_state_at(&c->queue, n)->kind == CAL_STEP && is_after(begin, time, inclusive)) first = begin;
    }
    return first;
}

// Of the groups that were in charge of a body from a time on, in the order of time: with the first decision goes what came after it. A
// group that began after the time is undone, and with it what ended then.
static cal_status reconsider(cal_world* world, int body, double time, bool inclusive, cal_error* error) {
    const int component = world->bodies[body].component;
    const cal_queue* own = &world->components[component].queue;
    int64_t n = cal_queue_find(own, time);
    for (n = n > own->head ? n - 1 : own->head; n < own->tail; n++) {
        const cal_saved_state* knot = cal_saved_state_at(own, n);
        if (knot->kind != CAL_FUSED || !cal_group_has(world, knot->group, component)) continue;
        const cal_queue* queue = &world->components[knot->group].queue;
        if (queue->head == queue->tail) continue;
        if (is_after(cal_saved_state_at(queue, queue->head)->time, time, inclusive))
            return cal_rollback(world, knot->group, queue->head, error);
        const double first = first_decision(world, knot->group, time, inclusive);
        if (first < (double)INFINITY) return cal_rollback_to(world, knot->group, first, error);
    }
    return CAL_OK;
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
