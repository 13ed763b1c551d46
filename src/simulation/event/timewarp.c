// The timewarp loop: takes the earliest event, brings its receivers to its time, processes it, and puts what follows from it
// into the queue. Nobody else is stopped.
//
// Because motions are polynomials, a collision is found before its time, and what a body has computed beyond it is thrown
// away: that is the common rollback, of one component by a part of a step. A rollback that goes further, over junctions into
// other queues, follows when a state is deleted that others came from.
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/contact/impact.h"
#include "simulation/domain/domain.h"
#include "simulation/event/callbacks.h"
#include "simulation/event/events.h"
#include "simulation/event/fetch.h"
#include "simulation/event/loops.h"
#include "simulation/event/pairs.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"

cal_status cal_event_process(cal_world* world, const cal_event_slot* slot, double time, cal_error* error) {
    switch (cal_event_kind_of(slot)) {
    case CAL_EVENT_BOX: {
        const int component = cal_body_component(world, slot->owner, time);
        if (component >= 0) cal_component_mark_used(world, component, time);
        return cal_box_renew(world, slot->owner, time, error);
    }
    case CAL_EVENT_GROUP: return cal_group_check(world, slot->owner, time, error);
    case CAL_EVENT_STEP: return cal_group_step(world, slot->owner, error);
    case CAL_EVENT_CALLBACK: return cal_call_periodic(world, slot->owner, error);
    case CAL_EVENT_PAIR: break;
    }
    if (world->table.pairs[slot->owner].hit) return cal_world_collide(world, slot->owner, time, error);
    return cal_pair_predict(world, slot->owner, time, error);
}

// Events that forced rollbacks may have repeated for each that was not come to before: a run with them takes at most 1 + so many times as long, and the
// time of one rollback. Where more were, as with thousands of impacts in the time that may come back, rollbacks go back by half as much until that is made
// up for: by a millionth at least, which still takes back the present event.
enum { MOST_REPEATED = 16, MOST_HALVINGS = 20 };

// Whether the present event is one that was not come to before. Only those force rollbacks: if what is repeated did so too, a
// component with many events in the time that may come back would lose more of them than it gets on, and never end.
static bool is_new(cal_world* world) {
    const bool same = world->last_event == world->now;
    world->last_event = world->now;
    if (world->now > world->frontier) {
        world->frontier = world->now;
        world->frontier_count = world->frontier_most = 1;
        return true;
    }
    if (world->now < world->frontier) return false;
    world->frontier_count = same ? world->frontier_count + 1 : 1;
    if (world->frontier_count <= world->frontier_most) return false;
    world->frontier_most = world->frontier_count;
    return true;
}

// Whether a component has something after a time that a rollback deletes.
static bool goes_back(const cal_world* world, int component, double time) {
    const cal_component* c = &world->components[component];
    if (c->queue.tail == c->queue.head) return false; // unused
    // While a group is in charge, the group is what goes back.
    const cal_saved_state* last = cal_saved_state_at(&c->queue, c->queue.tail - 1);
    if (last->kind == CAL_FUSED && last->time <= time) return false;
    return cal_saved_state_at(&c->queue, c->queue.head)->time <= time;
}

// One that goes back; −1: none. In a domain the next one of its members, or the group that is in charge of it: places of others, and in store,
// change meanwhile.
static int choose(const cal_world* world, int first, double time) {
    if (world->domain == CAL_DOMAIN_WHOLE) return goes_back(world, first, time) ? first : -1;
    const cal_domain* own = &world->domains->domains[world->domain];
    for (int i = 0; i < own->member_count; i++) {
        const int member = own->members[(first + i) % own->member_count];
        if (goes_back(world, member, time)) return member;
        const cal_queue* queue = &world->components[member].queue;
        if (queue->tail == queue->head) continue;
        const cal_saved_state* last = cal_saved_state_at(queue, queue->tail - 1);
        if (last->kind == CAL_FUSED && goes_back(world, last->group, time)) return last->group;
    }
    return -1;
}

cal_status cal_force_rollback(cal_world* world, cal_error* error) {
    const bool new = is_new(world);
    world->repeats_left += new ? MOST_REPEATED : -1;
    if (!new || cal_random_between(&world->random, 0.0, 1.0) >= world->def.forced_rollbacks) return CAL_OK;
    const int first = cal_random_below(&world->random, world->component_count);
    if (world->repeats_left < 0 && world->halvings < MOST_HALVINGS)
        world->halvings++;
    else if (world->repeats_left >= 0 && world->halvings > 0)
        world->halvings--;
    const double most = ldexp(world->now - fmax(world->gvt, world->time), -(int)world->halvings);
    const double floor = fmax(fmax(world->gvt, world->time), world->now - most);
    const double time = cal_random_between(&world->random, floor, fmax(floor, world->now));
    const int component = choose(world, first, time);
    if (component < 0) return CAL_OK;
    world->report.forced++;
    const cal_status status = cal_rollback_to(world, component, time, error);
    return status == CAL_OK ? cal_world_update_changed(world, error) : status;
}

cal_status cal_advance_timewarp(cal_world* world, double* time, cal_error* error) {
    cal_status status = CAL_OK;
    bool interrupted = false;
    if (cal_world_is_divided(world)) {
        status = cal_advance_domains(world, time, error);
        if (status != CAL_OK || world->domains->divided) return status; // otherwise it goes on here, on one core
    }
    cal_progress_begin(world);
    double reached = world->time; // the latest event: what was taken back since is taken again before that is the end
    while (status == CAL_OK) {
        const int event = cal_events_first(&world->events);
        if (event < 0 || cal_events_due(&world->events) > *time) break;
        interrupted =
            reached > world->time && cal_events_due(&world->events) > reached && cal_world_is_interrupted(world);
        if (interrupted) *time = reached;
        if (interrupted) break;
        world->now = cal_events_due(&world->events);
        reached = fmax(reached, world->now);
        world->gvt = fmax(world->gvt, world->now - world->lag);
        world->report.events++;
        const cal_event_slot slot = world->events.slots[event];
        cal_events_schedule(&world->events, event, (double)INFINITY, 0);
        cal_fetch_events(world);
        status = cal_progress_check(world, &slot, world->window, error);
        if (status == CAL_OK) status = cal_event_process(world, &slot, world->now, error);
        if (status == CAL_OK && world->def.forced_rollbacks > 0.0) status = cal_force_rollback(world, error);
    }
    if (status != CAL_OK) return status;
    world->now = *time;
    world->gvt = fmax(world->gvt, *time - world->lag);
    return interrupted ? CAL_INTERRUPTED : CAL_OK;
}
