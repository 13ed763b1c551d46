// What is removed from a world, at its committed time: nothing goes back before that, so that nobody will ask for it again.
//
// A contact group that it touches in ends, and the rest goes on as new groups and bodies by themselves; its pairs, boxes, events
// and callbacks end; what it did up to now stays in the log.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/event/callbacks.h"
#include "simulation/event/events.h"
#include "simulation/event/pairs.h"
#include "simulation/members.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <string.h>

// Bodies that follow each other.
typedef struct range {
    int first, end;
} range;

static bool is_in(range bodies, int body) { return body >= bodies.first && body < bodies.end; }

void cal_component_remove(cal_world* world, int component) {
    cal_queue_release(world, component);
    world->components[component] = (cal_component){.number = component, .body = -1};
    world->unused_components[world->unused_count++] = component;
}

void cal_periodic_hook_remove(cal_world* world, int hook) {
    cal_periodic_hook* h = &world->periodic_hooks[hook];
    if (h->event >= 0) cal_events_remove(&world->events, h->event);
    cal_periodic_hook_unlink(world, hook);
    if (hook < world->free_hook_from) world->free_hook_from = hook;
    *h = (cal_periodic_hook){.event = -1};
}

void cal_body_withdraw(cal_world* world, int body) {
    cal_sim_body* part = &world->bodies[body];
    if (part->stage == CAL_BEGUN) {
        world->report.moving -= part->component >= 0;
        world->report.driven -= part->def.motion == CAL_DRIVEN;
        if (part->component >= 0 && part->reach == world->smallest && world->smallest_count > 0)
            world->smallest_count--;
    }
    while (part->pair_count > 0) cal_pair_remove(world, part->pairs[part->pair_count - 1]);
    if (world->broad != NULL) cal_broad_remove(world->broad, body, NULL);
    if (part->box_event >= 0) cal_events_remove(&world->events, part->box_event);
    // Of a link, the multibody's component goes with the multibody.
    if (part->component >= 0 && cal_body_ops(world, body)->single) cal_component_remove(world, part->component);
    cal_geometry_destroy(part->geometry);
    cal_free(part->balls);
    part->geometry = NULL;
    part->balls = NULL;
    part->form = CAL_FORM_NONE;
    part->component = part->box_event = -1;
}

// --- What others know of it -----------------------------------------------------------------------------------------------------

static void forget_ignored(cal_world* world, range bodies) {
    int kept = 0;
    for (int i = 0; i < world->ignored_count; i++) {
        const int a = (int)(world->ignored[i] >> 29), b = (int)(world->ignored[i] & ((UINT64_C(1) << 29) - 1));
        if (!is_in(bodies, a) && !is_in(bodies, b)) world->ignored[kept++] = world->ignored[i];
    }
    world->ignored_count = kept;
    kept = 0;
    for (int i = 0; i < world->ignored_overlap_count; i++) {
        const cal_ignored_overlap* overlap = &world->ignored_overlaps[i];
        if (!is_in(bodies, overlap->body[0]) && !is_in(bodies, overlap->body[1]))
            world->ignored_overlaps[kept++] = *overlap;
    }
    world->ignored_overlap_count = kept;
}

void cal_collision_hooks_remove(cal_world* world, int body) {
    int* first = &world->bodies[body].first_collision_callback;
    while (*first >= 0) {
        const int hook = *first;
        *first = world->collision_hooks[hook].next;
        world->collision_hooks[hook] = (cal_collision_hook){.body = -1, .next = world->unused_collision_hook};
        world->unused_collision_hook = hook;
    }
}

// A callback sees all of its bodies or none. The others begin anew: their steps end where a callback is due.
static cal_status end_periodic_hooks(cal_world* world, range bodies, cal_error* error) {
    cal_status status = CAL_OK;
    for (int h = -1; (h = cal_periodic_hook_after(world, bodies.first, bodies.end, h)) >= 0;) {
        const cal_periodic_hook hook = world->periodic_hooks[h];
        cal_periodic_hook_remove(world, h);
        for (int i = 0; status == CAL_OK && i < hook.count; i++) {
            if (is_in(bodies, hook.bodies[i]) || world->bodies[hook.bodies[i]].stage != CAL_BEGUN) continue;
            const int component = cal_body_component(world, hook.bodies[i], world->time);
            status = cal_begin_segment(world, component, world->time, error);
            if (status == CAL_OK) status = cal_component_refresh(world, component, error);
        }
    }
    return status;
}

static cal_status leave_groups(cal_world* world, range bodies, cal_error* error) {
    cal_status status = CAL_OK;
    const int count = world->report.groups > 0 ? world->component_count
                                               : 0; // groups that are made on the way have none of the bodies
    for (int i = 0; status == CAL_OK && i < count; i++) {
        const cal_component* c = &world->components[i];
        if (c->ops == NULL || c->group == NULL || cal_component_has_ended(c)) continue;
        status = cal_group_part_with(world, i, bodies.first, bodies.end - bodies.first, error);
    }
    return status;
}

// --- Removing -----------------------------------------------------------------------------------------------------------------

// Bodies that have begun, and their component (−1: they do not move by themselves), leave everything that they are in.
static cal_status leave(cal_world* world, range bodies, int component, cal_error* error) {
    world->gvt = fmax(world->gvt, world->time);
    cal_status status = leave_groups(world, bodies, error);
    if (status == CAL_OK) status = end_periodic_hooks(world, bodies, error);
    if (status == CAL_OK && component >= 0) status = cal_rollback_to(world, component, world->time, error);
    if (status == CAL_OK && component >= 0) status = cal_world_begin_groups(world, error);
    if (status == CAL_OK && cal_world_remove_energy(world, component) != CAL_OK)
        status = cal_fail(error, CAL_NOT_FINITE, "the energy of what is removed is not known at %g s", world->time);
    if (status != CAL_OK) return status;
    if (component >= 0) cal_groups_forget(world, component);
    for (int i = bodies.first; i < bodies.end; i++) cal_body_withdraw(world, i);
    forget_ignored(world, bodies);
    return CAL_OK;
}

// After the last body went: what moved with it moves without it.
static cal_status settle(cal_world* world, cal_status status, cal_error* error) {
    if (status == CAL_OK) status = cal_world_update_changed(world, error);
    if (status == CAL_OK && cal_world_set_speeds(world)) status = cal_world_begin_all(world, error);
    world->report.bodies = world->body_count - world->removed_count;
    if (status != CAL_OK) world->failed = status;
    return status;
}

// New ones have nothing but what the user said about them.
static void forget_new(cal_world* world, range bodies) {
    for (int h = -1; (h = cal_periodic_hook_after(world, bodies.first, bodies.end, h)) >= 0;)
        cal_periodic_hook_remove(world, h);
    forget_ignored(world, bodies);
}

static bool is_ground(const cal_world* world, int body) {
    if (world->bodies[body].def.motion != CAL_FIXED) return false;
    for (int i = 0; i < world->multibody_count; i++)
        if (world->multibodies[i]->stage != CAL_REMOVED && world->multibodies[i]->ground == body) return true;
    return false;
}

static cal_status refuse_model(const cal_world* world, int body, cal_error* error) {
    char name[64];
    return cal_fail(error, CAL_BAD_ARGUMENT, "%s belongs to the model of the simulation, and stays",
                    cal_body_name_at(world, body, name, sizeof name));
}

cal_status cal_world_remove_body(cal_world* world, cal_body_id body, cal_error* error) {
    if (!world) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_remove_body: world must not be NULL");
    cal_status status = cal_check_changeable(world, error);
    if (status == CAL_OK) status = cal_check_body(world, body, error);
    if (status != CAL_OK) return status;
    const cal_sim_body* part = &world->bodies[body.index];
    char name[64];
    if (part->of_model) return refuse_model(world, body.index, error);
    if (part->multibody >= 0 || is_ground(world, body.index))
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "%s is a part of a multibody: remove that (cal_world_remove_multibody)",
                        cal_body_name_at(world, body.index, name, sizeof name));
    const range bodies = {body.index, body.index + 1};
    const bool begun = part->stage == CAL_BEGUN;
    if (begun)
        status = leave(world, bodies, part->component, error);
    else
        forget_new(world, bodies);
    if (status == CAL_OK) cal_body_free(world, body.index);
    return begun ? settle(world, status, error) : status;
}

cal_status cal_world_remove_multibody(cal_world* world, cal_multibody_id multibody, cal_error* error) {
    if (!world) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_remove_multibody: world must not be NULL");
    cal_status status = cal_check_changeable(world, error);
    if (status != CAL_OK) return status;
    const cal_multibody* m = cal_find_multibody(world, multibody);
    if (m == NULL) return cal_fail(error, CAL_BAD_ARGUMENT, "there is no such multibody in this world (any more)");
    if (m->of_model) return refuse_model(world, m->first_body, error);
    const range links = {m->first_body, m->first_body + m->engine->body_count};
    const range ground = {m->ground, m->ground + (m->ground >= 0)};
    const bool begun = m->stage == CAL_BEGUN;
    const int component = m->component;
    if (begun) {
        status = leave(world, links, component, error);
        if (status == CAL_OK && m->ground >= 0) status = leave(world, ground, -1, error);
        if (status == CAL_OK) cal_component_remove(world, component);
    } else {
        forget_new(world, links);
        forget_new(world, ground);
    }
    if (status == CAL_OK) cal_multibody_free(world, multibody.index);
    return begun ? settle(world, status, error) : status;
}
