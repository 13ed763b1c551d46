// The life of contact groups: fusion, checks, fission, sleep, and their steps.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/contact/group.h"
#include "simulation/event/events.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/multibody.h"
#include "simulation/motion/search.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <stdlib.h>
#include <string.h>

#define RELEASE 5e-3 // of the smaller reach: further apart is no longer in contact
#define MARGIN 2e-2  // of the smaller reach: how far checks look for contacts
#define STILL 0.05   // of what is slow, at the surface: slower is still
enum { CHECKS_TO_SLEEP = 50, FIRST_CONTACTS = 64, MOST_STEPS = 200000 };

// --- Steps --------------------------------------------------------------------------------------------------------------------

static bool reserve_scratch(cal_world* world, size_t count) {
    if (count <= world->scratch_count) return true;
    cal_free(world->scratch);
    world->scratch = cal_allocate(count, sizeof *world->scratch);
    world->scratch_count = world->scratch != NULL ? count : 0;
    return world->scratch != NULL;
}

// The newest state of a group goes on by one step of the integrator; trial has room for a state.
static cal_status integrate(cal_world* world, int component, cal_group_interval* interval, double* trial,
                            cal_error* error) {
    const cal_queue* queue = &world->components[component].queue;
    cal_contact_group* g = world->components[component].group;
    double* numbers = cal_data_at(queue, queue->tail - 1);
    const size_t state_size = (size_t)g->at_arrival * sizeof *trial;
    cal_group_use(g, numbers);
    int capacity = g->last_contacts + g->last_contacts / 2 + FIRST_CONTACTS;
    for (;;) {
        cal_group_report report = {0};
        cal_group_interval reached = *interval;
        memcpy(trial, numbers, state_size);
        if (!reserve_scratch(world, world->group_ops->scratch_count(&g->group, capacity)))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group of %d bodies",
                            g->group.body_count);
        const cal_status status =
            world->group_ops->step(&g->group, &reached, trial, trial + g->at_v, trial + g->at_memory, world->scratch,
                                   capacity, &report, error);
        if (status == CAL_NO_MEMORY && report.contacts > capacity) {
            capacity = report.contacts + report.contacts / 2;
            continue;
        }
        if (status != CAL_OK) return status;
        g->last_contacts = report.contacts;
        world->report.group_steps += report.steps;
        if (report.contacts > world->report.largest_contacts) world->report.largest_contacts = report.contacts;
        memcpy(numbers, trial, state_size);
        *interval = reached;
        return CAL_OK;
    }
}

// All members get new boxes and predictions from a time on.
static cal_status settle_members(cal_world* world, int component, double time, cal_error* error) {
    const cal_contact_group* g = world->components[component].group;
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < g->group.body_count; i++)
        if (world->bodies[g->bodies[i]].component >= 0) status = cal_body_changed(world, g->bodies[i], time, error);
    return status;
}

// Where a group goes on from its newest state: in the interval that the state is in, or in a new one, which ends at the next check
// or where a callback gives one of its multibodies new forces.
static cal_group_interval interval_of(const cal_world* world, int component) {
    const cal_contact_group* g = world->components[component].group;
    const cal_queue* queue = &world->components[component].queue;
    const double *rest = cal_data_at(queue, queue->tail - 1) + g->at_rest,
                 from = cal_saved_state_at(queue, queue->tail - 1)->time;
    if (from < rest[CAL_REST_END]) return (cal_group_interval){rest[CAL_REST_BEGIN], rest[CAL_REST_END], from};
    double to = from + 1.0 / world->def.group_rate;
    for (int i = 0; i < g->group.unit_count; i++) {
        if (g->units[i].free) continue;
        const double next = cal_multibody_next_callback(world, g->members[i]);
        if (next > from) to = fmin(to, next);
    }
    return (cal_group_interval){from, to, from};
}

// All of the integrator's steps to the end of an interval, a state for each.
static cal_status push_steps(cal_world* world, int component, cal_group_interval interval, cal_error* error) {
    const cal_contact_group* g = world->components[component].group;
    double* trial = cal_allocate((size_t)g->at_arrival, sizeof *trial);
    cal_status status = trial != NULL ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    for (int steps = 0; status == CAL_OK && interval.time < interval.end; steps++) {
        if (steps == MOST_STEPS)
            status =
                cal_fail(error, CAL_NOT_CONVERGED, "a contact group took %d steps from time %g", steps, interval.begin);
        else if (cal_queue_push(world, component, CAL_STEP, interval.end) == NULL)
            status = cal_fail(error, CAL_NO_MEMORY, "out of memory for states");
        else
            status = integrate(world, component, &interval, trial, error);
        if (status != CAL_OK) break;
        const cal_queue* queue = &world->components[component].queue;
        double* rest = cal_data_at(queue, queue->tail - 1) + g->at_rest;
        cal_saved_state_at(queue, queue->tail - 1)->time = interval.time;
        rest[CAL_REST_BEGIN] = interval.begin, rest[CAL_REST_END] = interval.end, rest[CAL_REST_CHECKED] = 0.0;
        cal_group_arrive(world, component);
    }
    cal_free(trial);
    return status;
}

cal_status cal_group_step(cal_world* world, int component, cal_error* error) {
    const cal_queue* queue = &world->components[component].queue;
    const double from = cal_saved_state_at(queue, queue->tail - 1)->time;
    if (cal_group_is_asleep(world, component)) return settle_members(world, component, fmax(from, world->now), error);
    const cal_group_interval interval = interval_of(world, component);
    const cal_status status = push_steps(world, component, interval, error);
    if (status != CAL_OK) return status;
    cal_component_mark_used(world, component, interval.end);
    cal_events_schedule(&world->events, world->components[component].group->check_event, interval.end,
                        (uint64_t)component);
    return settle_members(world, component, from, error);
}

// What was predicted for a group comes from the motion between its states; so a state that begins in between is on that motion,
// and not on an integration of its own, which would come to another place than the one that was looked at.
cal_status cal_group_begin(cal_world* world, int component, double time, cal_error* error) {
    const cal_contact_group* g = world->components[component].group;
    const size_t size = (size_t)(g->at_v + g->group.v_count);
    double* numbers = cal_allocate(size, sizeof *numbers);
    if (numbers == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    cal_status status = cal_group_state(world, component, time, numbers);
    if (status != CAL_OK) status = cal_fail(error, status, "a contact group cannot be followed to %g s", time);
    if (status == CAL_OK) status = cal_rollback_to(world, component, time, error);
    if (status == CAL_OK && cal_queue_push(world, component, CAL_SEGMENT, time) == NULL)
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for states");
    if (status == CAL_OK) {
        const cal_queue* queue = &world->components[component].queue;
        double *data = cal_data_at(queue, queue->tail - 1), *rest = data + g->at_rest;
        memcpy(data, numbers, size * sizeof *data);
        cal_group_arrive(world, component);
        rest[CAL_REST_ASLEEP] = 0.0, rest[CAL_REST_QUIET] = 0.0, rest[CAL_REST_CHECKED] = 1.0;
        rest[CAL_REST_BEGIN] = rest[CAL_REST_END] = 0.0;
    }
    cal_free(numbers);
    return status;
}

cal_status cal_group_changed(cal_world* world, int component, double time, cal_error* error) {
    cal_component* c = &world->components[component];
    if (c->queue.tail == c->queue.head) { // its beginning was undone
        cal_group_destroy(world, component);
        world->unused_components[world->unused_count++] = component;
        return CAL_OK;
    }
    const cal_saved_state* last = cal_saved_state_at(&c->queue, c->queue.tail - 1);
    const bool ended = last->kind == CAL_ENDED;
    // One that sleeps again goes on from where it was woken: what others did since it fell asleep may be forgotten.
    const double now = cal_group_is_asleep(world, component) ? fmax(last->time, time) : last->time;
    const double *data = cal_data_at(&c->queue, c->queue.tail - 1), next = ended ? (double)INFINITY : now;
    const double* rest = data + c->group->at_rest;
    const bool checked = last->kind != CAL_STEP || rest[CAL_REST_CHECKED] != 0.0 || last->time < rest[CAL_REST_END];
    cal_events_schedule(&world->events, c->group->check_event, checked ? (double)INFINITY : next, (uint64_t)component);
    cal_events_schedule(&world->events, c->group->step_event, checked ? next : (double)INFINITY, (uint64_t)component);
    // Until then nobody knows where its bodies go; only what they touch now can be hit now.
    cal_status status = CAL_OK;
    const cal_contact_group* g = c->group;
    for (int i = 0; !ended && i < g->group.body_count; i++)
        if (world->bodies[g->bodies[i]].component >= 0) world->bodies[g->bodies[i]].box_end = now;
    for (int i = 0; !ended && i < g->group.body_count; i++) {
        const cal_sim_body* part = &world->bodies[g->bodies[i]];
        for (int k = 0; status == CAL_OK && part->component >= 0 && k < part->pair_count; k++)
            status = cal_pair_predict(world, part->pairs[k], now, error);
    }
    return status;
}

// --- Fusion -------------------------------------------------------------------------------------------------------------------

typedef struct merge {
    int* members;
    int (*pairs)[2];
    int member_count, pair_count;
} merge;

static bool allocate_merge(merge* m, int members, int pairs) {
    m->members = cal_allocate((size_t)members, sizeof *m->members);
    m->pairs = cal_allocate((size_t)pairs + 1, sizeof *m->pairs);
    return m->members != NULL && m->pairs != NULL;
}

static void free_merge(merge* m) {
    cal_free(m->members);
    cal_free(m->pairs);
}

// Members stay in the order of their first bodies.
static void add_member(const cal_world* world, merge* m, int member) {
    int at = m->member_count++;
    while (at > 0 && world->components[m->members[at - 1]].body > world->components[member].body) {
        m->members[at] = m->members[at - 1];
        at--;
    }
    m->members[at] = member;
}

static cal_members members_of(const cal_world* world, int component) {
    if (component < 0) return (cal_members){0};
    return world->components[component].ops->members(world, component);
}

static void add_component(const cal_world* world, merge* m, int component) {
    const cal_members in = members_of(world, component);
    for (int i = 0; i < in.count; i++) add_member(world, m, in.components[i]);
    if (in.pair_count > 0) memcpy(m->pairs + m->pair_count, in.pairs, (size_t)in.pair_count * sizeof *m->pairs);
    m->pair_count += in.pair_count;
}

cal_status cal_fuse(cal_world* world, int pair, double time, int junction, cal_error* error) {
    cal_groups_clear(world);
    const int bodies[2] = {world->table.pairs[pair].body[0], world->table.pairs[pair].body[1]};
    int components[2], pairs = 1, members = 0;
    for (int i = 0; i < 2; i++) components[i] = cal_body_component(world, bodies[i], time);
    const bool same = components[0] == components[1]; // a group's pair, or two links of a multibody
    const bool grows = same && members_of(world, components[0]).pair_count > 0;
    for (int i = 0; i < (same ? 1 : 2); i++) {
        members += members_of(world, components[i]).count;
        pairs += members_of(world, components[i]).pair_count;
    }
    merge m = {0};
    cal_status status = CAL_OK;
    if (!allocate_merge(&m, members, pairs))
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    int component = -1;
    if (status == CAL_OK) {
        for (int i = 0; i < (same ? 1 : 2); i++) add_component(world, &m, components[i]);
        m.pairs[m.pair_count][0] = bodies[0];
        m.pairs[m.pair_count++][1] = bodies[1];
        status = cal_group_create(world, m.members, m.member_count, m.pairs, m.pair_count, time, junction, &component,
                                  error);
    }
    free_merge(&m);
    if (status != CAL_OK) return status;
    world->report.fusions++;
    world->report.groups += !grows;
    return cal_note_change(world, component, time, error);
}

// --- Checks -------------------------------------------------------------------------------------------------------------------

// How fast the fastest point of a group is.
static cal_status largest_speed(cal_world* world, const cal_contact_group* g, double time, double* most) {
    *most = 0.0;
    for (int i = 0; i < g->group.body_count; i++) {
        const cal_sim_body* part = &world->bodies[g->bodies[i]];
        if (part->component < 0) continue;
        cal_motion at;
        const cal_status status = cal_body_at(world, g->bodies[i], time, &at);
        if (status != CAL_OK) return status;
        *most = fmax(*most, sqrt(cal_dot3(at.u, at.u)) + part->reach * sqrt(cal_dot3(at.w, at.w)));
    }
    return CAL_OK;
}

// Which pairs still touch, in place; returns how many.
static int touching_pairs(cal_world* world, const cal_contact_group* g, double time, int (*out)[2],
                          cal_status* status) {
    int count = 0;
    for (int i = 0; *status == CAL_OK && i < g->pair_count; i++) {
        cal_motion at[2];
        double size = (double)INFINITY;
        for (int k = 0; *status == CAL_OK && k < 2; k++) {
            *status = cal_body_at(world, g->pairs[i][k], time, &at[k]);
            if (world->bodies[g->pairs[i][k]].component >= 0) size = fmin(size, world->bodies[g->pairs[i][k]].reach);
        }
        if (*status != CAL_OK) break;
        cal_separation gap;
        cal_world_distance(world, g->pairs[i][0], &at[0], g->pairs[i][1], &at[1], MARGIN * size, NULL, &gap);
        if (gap.distance > RELEASE * size) continue;
        memcpy(out[count++], g->pairs[i], sizeof g->pairs[i]);
    }
    return count;
}

static int root_of(int* parents, int i) {
    while (parents[i] != i) i = parents[i] = parents[parents[i]];
    return i;
}

static int unit_of(const cal_world* world, const cal_contact_group* g, int body) {
    const int member = world->bodies[body].component;
    for (int i = 0; i < g->group.unit_count; i++)
        if (g->members[i] == member) return i;
    return -1;
}

// A member that is alone goes on by itself.
static cal_status release(cal_world* world, int component, int unit, double time, int junction, cal_error* error) {
    const cal_contact_group* g = world->components[component].group;
    const int member = g->members[unit];
    if (cal_queue_push(world, member, CAL_SEGMENT, time) == NULL ||
        !cal_junction_add(world, junction, member, world->components[member].queue.tail - 1))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for states");
    cal_component* c = &world->components[member];
    const cal_queue* queue = &world->components[component].queue;
    const double* from = cal_data_at(queue, queue->tail - 1);
    const cal_group_member* u = &g->units[unit];
    const cal_state_numbers to = c->ops->locate(world, member, c->body, cal_data_at(&c->queue, c->queue.tail - 1));
    memcpy(to.q, from + u->first_q, (size_t)u->q_count * sizeof *from);
    memcpy(to.v, from + g->at_v + u->first_v, (size_t)u->v_count * sizeof *from);
    memcpy(to.extras, from + g->extras[unit], (size_t)u->extras_count * sizeof *from);
    c->local_time = time;
    const cal_status status = cal_component_refresh(world, member, error);
    if (status != CAL_OK) return status;
    return cal_note_change(world, member, time, error);
}

static cal_status end_group(cal_world* world, int component, double time, int junction, cal_error* error) {
    const cal_queue* queue = &world->components[component].queue;
    if (cal_saved_state_at(queue, queue->tail - 1)->kind == CAL_ENDED) return CAL_OK;
    if (cal_queue_push(world, component, CAL_ENDED, time) == NULL ||
        !cal_junction_add(world, junction, component, world->components[component].queue.tail - 1) ||
        !cal_grow((void**)&world->ended, &world->ended_capacity, world->ended_count, sizeof *world->ended))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    world->ended[world->ended_count++] = component;
    return CAL_OK;
}

// Splits a group into what its remaining pairs connect.
static cal_status split(cal_world* world, int component, double time, int (*pairs)[2], int pair_count,
                        cal_error* error) {
    cal_contact_group* g = world->components[component].group;
    const int units = g->group.unit_count;
    int* parents = cal_allocate(3 * (size_t)units + 1, sizeof *parents);
    int(*own)[2] = cal_allocate((size_t)pair_count + 1, sizeof *own);
    const int junction = cal_junction_create(world);
    if (parents == NULL || own == NULL || junction < 0) {
        cal_free(parents);
        cal_free(own);
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    }
    int *members = parents + units, pieces = 0;
    for (int i = 0; i < units; i++) parents[i] = i;
    for (int i = 0; i < pair_count; i++) {
        const int a = unit_of(world, g, pairs[i][0]), b = unit_of(world, g, pairs[i][1]);
        if (a >= 0 && b >= 0) parents[root_of(parents, a)] = root_of(parents, b);
    }
    cal_status status = end_group(world, component, time, junction, error);
    for (int root = 0; status == CAL_OK && root < units; root++) {
        if (root_of(parents, root) != root) continue;
        int count = 0, own_count = 0;
        for (int i = 0; i < units; i++)
            if (root_of(parents, i) == root) members[count++] = g->members[i];
        for (int i = 0; i < pair_count; i++) {
            const int a = unit_of(world, g, pairs[i][0]), b = unit_of(world, g, pairs[i][1]);
            if (root_of(parents, a >= 0 ? a : b) == root) memcpy(own[own_count++], pairs[i], sizeof pairs[i]);
        }
        pieces++;
        if (own_count == 0) {
            for (int i = 0; status == CAL_OK && i < units; i++)
                if (root_of(parents, i) == root) status = release(world, component, i, time, junction, error);
            continue;
        }
        int made = -1;
        status = cal_group_create(world, members, count, own, own_count, time, junction, &made, error);
        if (status == CAL_OK) status = cal_note_change(world, made, time, error);
        world->report.groups += count != units;
    }
    cal_free(parents);
    cal_free(own);
    world->report.fissions++;
    world->report.discontinuities += pieces > 1 || pair_count == 0;
    return status;
}

cal_status cal_group_part_with(cal_world* world, int component, int first_body, int count, cal_error* error) {
    const int end = first_body + count;
    const cal_contact_group* g = world->components[component].group;
    bool is_in = false;
    for (int i = 0; i < g->group.body_count; i++) is_in |= g->bodies[i] >= first_body && g->bodies[i] < end;
    if (!is_in) return CAL_OK;
    int(*pairs)[2] = cal_allocate((size_t)g->pair_count + 1, sizeof *pairs);
    if (pairs == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    int kept = 0;
    for (int i = 0; i < g->pair_count; i++) {
        const int *p = g->pairs[i], gone = (p[0] >= first_body && p[0] < end) || (p[1] >= first_body && p[1] < end);
        if (!gone) memcpy(pairs[kept++], p, sizeof g->pairs[i]);
    }
    cal_status status = cal_begin_segment(world, component, world->time, error);
    if (status == CAL_OK) status = split(world, component, world->time, pairs, kept, error);
    cal_free(pairs);
    return status;
}

cal_status cal_group_check(cal_world* world, int component, double time, cal_error* error) {
    cal_groups_clear(world);
    cal_contact_group* g = world->components[component].group;
    int(*pairs)[2] = cal_allocate((size_t)g->pair_count + 1, sizeof *pairs);
    if (pairs == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    cal_status status = CAL_OK;
    const int count = touching_pairs(world, g, time, pairs, &status);
    if (status == CAL_OK && count < g->pair_count) {
        status = split(world, component, time, pairs, count, error);
        if (status == CAL_OK) status = cal_world_update_changed(world, error);
        cal_free(pairs);
        return status;
    }
    cal_free(pairs);
    double speed = 0.0;
    if (status == CAL_OK) status = largest_speed(world, g, time, &speed);
    char name[64];
    if (status != CAL_OK)
        return cal_fail(error, status, "the contact group of %s cannot be followed at %g s: %s",
                        cal_body_name_at(world, g->bodies[0], name, sizeof name), time, cal_status_text(status));
    cal_queue* queue = &world->components[component].queue;
    double *data = cal_data_at(queue, queue->tail - 1), *rest = data + g->at_rest;
    const bool still = !g->restless && speed < STILL * world->slow;
    rest[CAL_REST_CHECKED] = 1.0;
    rest[CAL_REST_QUIET] = still ? rest[CAL_REST_QUIET] + 1.0 : 0.0;
    if (rest[CAL_REST_QUIET] >= CHECKS_TO_SLEEP) {
        rest[CAL_REST_ASLEEP] = 1.0;
        memset(data + g->at_v, 0, (size_t)g->group.v_count * sizeof *data);
    }
    cal_events_schedule(&world->events, g->step_event, time, (uint64_t)component);
    return CAL_OK;
}
