// Who joins a group before it goes on: what touches it, or comes near enough to touch it before its next check. Impacts are then
// part of its steps, and not events that each begin it anew. A large group looks around before every step, since what its members have
// been thrown towards would hit it in the middle of one, which is then computed for nothing.
//
// The decision is made from the states at that time and nothing else, so that it is the same after a rollback: two bodies that
// are a gap g apart and close at a speed c join where
//
//     g ≤ c T + G T²/2        T: the interval between checks, G: gravity
//
// and neither goes further than its own size in T: what is faster is left to the search for impacts, which no speed deceives. Two
// convex bodies that go straight come nearer at most as fast as at first, so g ≤ c T alone says little of those that pass each other:
// boxes about them as they are and as they are after T overlap, too. Boxes of bodies hold them that much longer than they say (boxes.c),
// so that all such pairs are known, whenever boxes were made. A group that sleeps is not woken by what does not come to it.
//
// Elastic bodies join where they rest on a member, as they would after a collision of their own (collision.c): where they touch, a bounce would
// go no further than a gap that is none, and gravity presses them together by more than that before the next check. What touches
// beside each other, as the balls of a cradle, does not. Such a pair is one of the group's from there on, also of two that are members already.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/contact/group.h"
#include "simulation/contact/group_work.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/search.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <string.h>

#define TOUCHING 1e-7 // of the smaller reach: a gap that is none

typedef struct approach {
    double gap, closing, size, speed;
    double
        pull; // gravity along the normal, towards the first body, or from it where the other one does not move by itself
    cal_motion at[2];
} approach;

static double fall(const cal_world* world) {
    const double interval = 1.0 / world->def.group_rate;
    return 0.5 * sqrt(cal_dot3(world->def.gravity, world->def.gravity)) * interval * interval;
}

static cal_status look(cal_world* world, int a, int b, double time, approach* out) {
    const int bodies[2] = {a, b};
    cal_motion* at = out->at;
    const double interval = 1.0 / world->def.group_rate;
    *out = (approach){.size = (double)INFINITY};
    for (int i = 0; i < 2; i++) {
        cal_status status = cal_body_at(world, bodies[i], time, &at[i]);
        const cal_sim_body* part = &world->bodies[bodies[i]];
        if (status == CAL_OK && part->component >= 0) status = cal_group_own_speeds(world, bodies[i], time, &at[i]);
        if (status != CAL_OK) return status;
        if (part->component < 0) continue;
        out->size = fmin(out->size, part->reach);
        out->speed = fmax(out->speed, sqrt(cal_dot3(at[i].u, at[i].u)));
    }
    // Nobody joins from further away; beyond that, only that it is further away is known.
    const double limit = out->size + fall(world) + out->speed * interval;
    cal_separation near;
    cal_world_distance(world, a, &at[0], b, &at[1], limit, NULL, &near);
    out->gap = near.distance;
    out->closing = -(double)INFINITY;
    if (!(near.distance < limit)) return CAL_OK;
    double u[3], v[3];
    cal_point_velocity(&at[0], near.point_a, u);
    cal_point_velocity(&at[1], near.point_b, v);
    for (int i = 0; i < 3; i++) u[i] -= v[i];
    out->closing = -cal_dot3(near.normal, u);
    out->pull = cal_dot3(near.normal, world->def.gravity) * (world->bodies[b].component >= 0 ? 1.0 : -1.0);
    return CAL_OK;
}

static bool comes(const cal_world* world, const approach* a) {
    const double interval = 1.0 / world->def.group_rate;
    return a->gap <= a->closing * interval + fall(world) + TOUCHING * a->size && a->speed * interval <= a->size;
}

// Of two that are elastic, whether the second one rests on the first one, or that on what does not move by itself.
static bool presses(const cal_world* world, const approach* a) {
    const double interval = 1.0 / world->def.group_rate, none = CAL_WORK_OVERLAP * a->size,
                 slow = cal_group_rest_speed(world, 1.0, a->size);
    return a->gap <= none && 0.5 * a->pull * interval * interval >= none &&
           a->closing * a->closing + 2.0 * a->pull * fmax(a->gap, 0.0) <= slow * slow;
}

// Whether two bodies, of which the second one may rest or not move by itself, may touch before the next check; then they are a pair.
static bool may_meet(const cal_world* world, int a, int b, const approach* way, bool rests) {
    const cal_sim_body* other = &world->bodies[b];
    cal_box boxes[2];
    cal_box_ahead(world, a, &way->at[0], &boxes[0]);
    if (other->component < 0 || rests)
        cal_box_of_pose(world, b, &way->at[1].pose, &boxes[1]);
    else
        cal_box_ahead(world, b, &way->at[1], &boxes[1]);
    return cal_box_meets(world, &boxes[0], b, &boxes[1]);
}

cal_status cal_group_will_touch(cal_world* world, int a, int b, double time, bool* out) {
    approach way;
    const cal_status status = look(world, a, b, time, &way);
    *out = status == CAL_OK && comes(world, &way);
    return status;
}

// Who has joined so far: components, whose bodies are looked at in turn.
typedef struct crowd {
    int *components, count, capacity;
    cal_group_merge merge;
    bool* in; // of each component
} crowd;

static cal_status add(cal_world* world, crowd* c, int component, double time, cal_error* error) {
    if (component < 0 || c->in[component]) return CAL_OK;
    if (!cal_grow((void**)&c->components, &c->capacity, c->count, sizeof *c->components))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    c->in[component] = true;
    c->components[c->count++] = component;
    // Its motion begins anew here, unless it does already.
    cal_status status = c->count > 1 ? cal_begin_segment(world, component, time, error) : CAL_OK;
    return status == CAL_OK ? cal_merge_add(world, &c->merge, component, error) : status;
}

cal_status cal_group_attracts(cal_world* world, int body, int other, double time, bool* out, cal_error* error) {
    *out = false;
    if (!cal_group_may_join(world, body, other)) return CAL_OK;
    const int component = cal_body_component(world, other, time);
    const bool group = component >= 0 && world->components[component].ops->stepped;
    approach way;
    const cal_status status = look(world, body, other, time, &way);
    char name[64];
    if (status != CAL_OK)
        return cal_fail(error, status, "%s cannot be followed at %g s: %s",
                        cal_body_name_at(world, other, name, sizeof name), time, cal_status_text(status));
    const bool rests = group && cal_group_sleeps_at(world, component, time);
    *out = comes(world, &way) && may_meet(world, body, other, &way, rests);
    if (!cal_group_is_inner(world, body, other)) *out &= presses(world, &way);
    if (rests) *out &= way.closing > 0.0 && way.gap <= way.closing / world->def.group_rate;
    return CAL_OK;
}

// Whether a pair is a matter of the crowd already.
static bool is_settled(const cal_world* world, const crowd* c, const cal_contact_group* g, int body, int other,
                       int component) {
    const bool there =
        component >= 0 ? c->in[component] : g != NULL && cal_group_place(world, g, other) < g->group.body_count;
    return there && (cal_group_is_inner(world, body, other) ||
                     (g != NULL && cal_group_lists(g, body < other ? body : other, body < other ? other : body)));
}

// All that joins because of one body.
static cal_status look_around(cal_world* world, crowd* c, const cal_contact_group* g, int body, double time,
                              cal_error* error) {
    const cal_sim_body* part = &world->bodies[body];
    cal_status status = CAL_OK;
    for (int k = 0; status == CAL_OK && k < part->pair_count; k++) {
        const cal_pair* pair = &world->table.pairs[part->pairs[k]];
        const int other = pair->body[0] == body ? pair->body[1] : pair->body[0],
                  component = cal_body_component(world, other, time);
        if (is_settled(world, c, g, body, other, component)) continue;
        bool near = false;
        status = cal_group_attracts(world, body, other, time, &near, error);
        if (!near || status != CAL_OK) continue;
        status = cal_merge_add_pair(&c->merge, body, other, error);
        if (status == CAL_OK) status = add(world, c, component, time, error);
    }
    return status;
}

// All bodies of a component in turn.
static cal_status look_around_all(cal_world* world, crowd* c, int component, double time, cal_error* error) {
    const cal_contact_group* g = world->components[component].group;
    if (g == NULL) return look_around(world, c, NULL, world->components[component].body, time, error);
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < g->group.body_count - g->other_count; i++)
        if (cal_body_ops(world, g->bodies[i])->single) status = look_around(world, c, g, g->bodies[i], time, error);
    return status;
}

static cal_status create(cal_world* world, crowd* c, double time, int* made, cal_error* error) {
    const int junction = cal_junction_create(world);
    bool linked = junction >= 0;
    // The states that begin here go when the group goes.
    for (int i = 1; linked && i < c->count; i++)
        linked =
            cal_junction_add(world, junction, c->components[i], world->components[c->components[i]].queue.tail - 1);
    if (!linked) return cal_fail(error, CAL_NO_MEMORY, "out of memory for the state graph");
    cal_status status = cal_merge_create(world, &c->merge, time, junction, made, error);
    if (status == CAL_OK) status = cal_note_change(world, *made, time, error);
    world->report.fusions++;
    return status == CAL_OK ? cal_world_update_changed(world, error) : status;
}

bool cal_group_decides(const cal_contact_group* g, const double* data, double time) {
    return g->group.unit_count > CAL_GROUP_LARGE || time >= data[g->at_rest + CAL_REST_END];
}

cal_status cal_group_join(cal_world* world, int component, int* made, cal_error* error) {
    *made = -1;
    if (world->def.loop == CAL_RETROACTIVE || !world->group_ops->takes_impacts) return CAL_OK;
    const cal_queue* queue = &world->components[component].queue;
    const double time = cal_saved_state_at(queue, queue->tail - 1)->time;
    const cal_contact_group* g = world->components[component].group;
    crowd c = {0};
    cal_status status = CAL_OK;
    c.in = cal_allocate((size_t)world->component_count, sizeof *c.in);
    if (c.in == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    // An interval that was begun before a rollback goes on as it was.
    if (!cal_group_decides(g, cal_data_at(queue, queue->tail - 1), time)) {
        cal_free(c.in);
        return CAL_OK;
    }
    // What a body met since its box was made may have turned it. After a step, to whose end boxes go, nothing has: they hold bodies for
    // an interval longer.
    const double from = world->lag > 0.0 ? fmin(time, fmax(time - world->lag, world->gvt)) : time;
    const bool stepped = cal_saved_state_at(queue, queue->tail - 1)->kind == CAL_STEP && from == time;
    cal_pairs_gather(world);
    for (int i = 0; status == CAL_OK && i < g->group.body_count - g->other_count; i++)
        if (world->bodies[g->bodies[i]].form != CAL_FORM_NONE &&
            !(stepped && *cal_body_presence(world, g->bodies[i]).box_end == time))
            status = cal_box_sweep(world, g->bodies[i], from, time, error);
    status = cal_pairs_predict(world, status, error);
    if (status == CAL_OK) status = add(world, &c, component, time, error);
    const int pairs = c.merge.pair_count;
    for (int i = 0; status == CAL_OK && i < c.count; i++)
        status = look_around_all(world, &c, c.components[i], time, error);
    if (status == CAL_OK && c.merge.pair_count > pairs) status = create(world, &c, time, made, error);
    cal_merge_free(&c.merge);
    cal_free(c.components);
    cal_free(c.in);
    return status;
}
