// Conservative advancement: for each pair a time before which it cannot collide. Every body is advanced to the earliest of these;
// the pair is looked at, and gets a later time or collides. Nobody is ever backed up, and everybody stops at every look.
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/contact/impact.h"
#include "simulation/event/callbacks.h"
#include "simulation/event/events.h"
#include "simulation/event/loops.h"
#include "simulation/event/pairs.h"
#include "simulation/world.h"

static cal_status advance_all(cal_world* world, double time, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < world->component_count; i++)
        if (world->components[i].ops != NULL) status = cal_step_component(world, i, time, error);
    return status;
}

cal_status cal_advance_conservative(cal_world* world, double* time, cal_error* error) {
    cal_status status = CAL_OK;
    bool interrupted = false;
    cal_progress_begin(world);
    while (status == CAL_OK) {
        const int event = cal_events_first(&world->events);
        if (event < 0 || cal_events_due(&world->events) > *time) break;
        interrupted =
            world->now > world->time && cal_events_due(&world->events) > world->now && cal_world_is_interrupted(world);
        if (interrupted) *time = world->now;
        if (interrupted) break;
        const cal_event_slot slot = world->events.slots[event];
        const cal_event_kind kind = cal_event_kind_of(&slot);
        const double when = cal_events_due(&world->events);
        cal_events_schedule(&world->events, event, (double)INFINITY, 0);
        world->report.events++;
        if (kind != CAL_EVENT_BOX && when > world->now) status = advance_all(world, when, error);
        world->now = world->gvt = when;
        if (status == CAL_OK) status = cal_progress_check(world, &slot, world->window, error);
        if (status != CAL_OK) break;
        switch (kind) {
        case CAL_EVENT_BOX: status = cal_box_renew(world, slot.owner, when, error); break;
        case CAL_EVENT_GROUP: status = cal_group_check(world, slot.owner, when, error); break;
        case CAL_EVENT_STEP: status = cal_group_step(world, slot.owner, error); break;
        case CAL_EVENT_CALLBACK: status = cal_call_periodic(world, slot.owner, error); break;
        case CAL_EVENT_PAIR:
            status = world->table.pairs[slot.owner].hit ? cal_world_collide(world, slot.owner, when, error)
                                                        : cal_pair_predict(world, slot.owner, when, error);
            break;
        }
    }
    if (status != CAL_OK) return status;
    world->now = world->gvt = *time;
    return interrupted ? CAL_INTERRUPTED : CAL_OK;
}
