// Retroactive detection: all bodies take a step of one size; then all pairs are looked at. When one of them collided, every
// body is backed up to the first collision, it is resolved, and the next step begins there.
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/contact/impact.h"
#include "simulation/event/callbacks.h"
#include "simulation/event/events.h"
#include "simulation/event/loops.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/search.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"

// Everybody goes to a time: states are computed, boxes swept, pairs found.
static cal_status step_all(cal_world* world, double from, double to, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < world->body_count; i++) {
        const cal_sim_body* part = &world->bodies[i];
        if (part->def.motion != CAL_FIXED && part->form != CAL_FORM_NONE)
            status = cal_box_sweep(world, i, from, to, error);
    }
    for (int i = 0; status == CAL_OK && i < world->component_count; i++)
        if (world->components[i].ops != NULL) status = cal_step_component(world, i, to, error);
    return status;
}

static cal_status back_up_all(cal_world* world, double time, cal_error* error) {
    for (int i = 0; i < world->component_count; i++) {
        cal_component* c = &world->components[i];
        if (c->ops == NULL || c->local_time <= time) continue;
        world->report.rolled_back += (c->local_time - time) * c->weight;
        world->report.rollbacks++;
        c->local_time = time;
        if (c->ops->step == NULL || cal_component_is_fused(c)) continue;
        const cal_status status = cal_rollback_to(world, i, time, error);
        if (status != CAL_OK) return status;
        world->change_count = 0; // the motion up to there is what it was
    }
    return CAL_OK;
}

// The first collision of any pair in a step, −1: none.
static cal_status first_collision(cal_world* world, double from, double to, int* first, double* when,
                                  cal_error* error) {
    *first = -1;
    *when = (double)INFINITY;
    for (int i = 0; world->table.pairs != NULL && i < world->table.pair_count; i++) {
        const cal_pair* pair = &world->table.pairs[i];
        // What a pair is told of a group holds until that ends, of which nobody tells it here.
        if (pair->event < 0 || cal_component_holds(world, pair->body[0], pair->body[1], from)) continue;
        cal_hit hit;
        const cal_status status = cal_find_hit(world, pair, from, to, &hit, NULL, error);
        if (status != CAL_OK) return status;
        if (hit.time > to) continue; // rounded up: they touch as the next step begins
        const cal_pair* best = *first >= 0 ? &world->table.pairs[*first] : NULL;
        if (hit.time < *when ||
            (hit.time == *when && best != NULL &&
             cal_pair_key(pair->body[0], pair->body[1]) < cal_pair_key(best->body[0], best->body[1]))) {
            *first = i;
            *when = hit.time;
        }
    }
    return CAL_OK;
}

static cal_status process_due(cal_world* world, cal_error* error) {
    cal_status status = CAL_OK;
    while (status == CAL_OK) {
        const int event = cal_events_first(&world->events);
        if (event < 0 || cal_events_due(&world->events) > world->now) break;
        world->report.events++;
        const cal_event_slot slot = world->events.slots[event];
        const cal_event_kind kind = cal_event_kind_of(&slot);
        status = cal_progress_check(world, &slot, world->def.step, error);
        if (status != CAL_OK) break;
        cal_events_schedule(&world->events, event, (double)INFINITY, 0);
        if (kind == CAL_EVENT_GROUP) status = cal_group_check(world, slot.owner, world->now, error);
        if (kind == CAL_EVENT_STEP) status = cal_group_step(world, slot.owner, error);
        if (kind == CAL_EVENT_CALLBACK) status = cal_call_periodic(world, slot.owner, error);
    }
    return status;
}

// How far a step from a time goes, at most to another: a component that takes many short steps of its own on the way is not followed through all of them, most
// of which a collision would throw away.
static double end_of_step(cal_world* world, double from, double to) {
    double end = to;
    for (int i = 0; i < world->component_count; i++) {
        const cal_component* c = &world->components[i];
        if (c->ops == NULL || c->ops->ahead == NULL || cal_component_is_fused(c)) continue;
        const double length = c->ops->ahead(world, i, from, end - from);
        if (length > 0.0 && length < end - from) end = from + length;
    }
    return end > from ? end : to;
}

cal_status cal_advance_retroactive(cal_world* world, double* time, cal_error* error) {
    cal_progress_begin(world);
    cal_status status = process_due(world, error);
    while (status == CAL_OK && world->now < *time) {
        const double from = world->now, due = cal_events_due(&world->events);
        if (from > world->time && due > from && cal_world_is_interrupted(world)) {
            *time = from;
            return CAL_INTERRUPTED;
        }
        const double to = end_of_step(world, from, fmin(fmin(from + world->def.step, *time), due));
        int pair;
        double when;
        world->gvt = from;
        status = step_all(world, from, to, error);
        if (status == CAL_OK) status = first_collision(world, from, to, &pair, &when, error);
        if (status != CAL_OK) break;
        world->now = pair >= 0 ? when : to;
        status = cal_progress_check(world, NULL, world->def.step, error);
        if (status != CAL_OK) break;
        if (pair >= 0) {
            status = back_up_all(world, when, error);
            world->report.events++;
            if (status == CAL_OK) status = cal_world_collide(world, pair, when, error);
        } else {
            status = process_due(world, error);
        }
    }
    return status;
}
