// The life of contact groups: fusion, checks, fission, sleep, and their steps.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/contact/contact_problem.h"
#include "simulation/contact/group.h"
#include "simulation/domain/domain.h"
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
#define STILL 0.05   // of what is slow, at the surface: slower is still where nothing better is known
enum { CHECKS_TO_SLEEP = 50, FIRST_CONTACTS = 64, MOST_STEPS = 200000 };

// --- Steps --------------------------------------------------------------------------------------------------------------------

// Impacts within the step to the newest state, which they belong to.
static cal_status log_impacts(cal_world* world, int component, const cal_group_report* report, cal_error* error) {
    if (report->impact_count == 0) return CAL_OK;
    const cal_contact_group* g = world->components[component].group;
    const int junction = cal_junction_create(world);
    if (junction < 0 || !cal_junction_add(world, junction, component, world->components[component].queue.tail - 1))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for the state graph");
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < report->impact_count; i++) {
        const cal_group_impact* impact = &report->impacts[i];
        cal_world_event event = {.time = impact->time,
                                 .impulse = sqrt(cal_dot3(impact->impulse, impact->impulse)),
                                 .fusion = !impact->bounces};
        // A group's contacts have the second body of the pair first.
        for (int side = 0; side < 2; side++)
            event.body[side] = cal_world_body(world, g->bodies[impact->contact.body[1 - side]]);
        memcpy(event.normal, impact->contact.normal, sizeof event.normal);
        for (int k = 0; k < 3; k++) event.point[k] = 0.5 * (impact->contact.point[0][k] + impact->contact.point[1][k]);
        world->report.discontinuities++;
        world->report.collisions++;
        // A step that is repeated may begin before GVT: what happened before that is written down for good.
        if (!(event.time < world->gvt)) status = cal_log_add(&world->log, &event, junction, error);
    }
    return status;
}

// The newest state of a group goes on by one step of the integrator; trial has room for a state.
static cal_status integrate(cal_world* world, int component, cal_group_interval* interval, double* trial,
                            cal_error* error) {
    const cal_queue* queue = &world->components[component].queue;
    cal_contact_group* g = world->components[component].group;
    double* numbers = cal_data_at(queue, queue->tail - 1);
    cal_group_report report = {0};
    cal_group_use(g, numbers);
    const cal_status status = cal_group_take_step(world, component, numbers, interval, trial, &report, error);
    if (status != CAL_OK) return status;
    g->last_contacts = report.contacts;
    world->report.group_steps += report.steps;
    world->report.group_rejected += report.rejected;
    world->report.group_solves += report.solves;
    world->report.group_newton += report.newton;
    world->report.penetration = fmax(world->report.penetration, report.penetration);
    if (report.contacts > world->report.largest_contacts) world->report.largest_contacts = report.contacts;
    memcpy(numbers, trial, (size_t)g->at_arrival * sizeof *numbers);
    numbers[g->at_rest + CAL_REST_STRAIGHT] = report.straight ? 1.0 : 0.0;
    return log_impacts(world, component, &report, error);
}

// All members get new boxes and predictions from a time on.
static cal_status settle_members(cal_world* world, int component, double time, cal_error* error) {
    const cal_contact_group* g = world->components[component].group;
    cal_status status = CAL_OK;
    cal_pairs_gather(world);
    for (int i = 0; status == CAL_OK && i < g->group.body_count; i++)
        if (world->bodies[g->bodies[i]].component >= 0)
            status = cal_body_stepped(world, g->bodies[i], component, time, error);
    return cal_pairs_predict(world, status, error);
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
        if (g->units[i].ops->next_callback == NULL) continue;
        const double next = g->units[i].ops->next_callback(&g->units[i]);
        if (next > from) to = fmin(to, next);
    }
    return (cal_group_interval){from, to, from};
}

// When something is likely to change from outside what acts on a member.
static double next_change(const cal_world* world, const cal_contact_group* g, double time) {
    double next = (double)INFINITY;
    for (int i = 0; i < g->group.unit_count; i++)
        next = fmin(next, cal_component_next_change(&world->components[g->members[i]], time));
    return next;
}

// The integrator's steps to the end of an interval, a state for each: all of them; those to where a loop that controls a member is likely to change
// it next; or one of a large group, which is then hit before the next one more often than not. interval->time: how far they came.
static cal_status push_steps(cal_world* world, int component, cal_group_interval* way, cal_error* error) {
    cal_group_interval interval = *way;
    const cal_contact_group* g = world->components[component].group;
    double *trial = cal_allocate((size_t)g->at_arrival, sizeof *trial), change = next_change(world, g, way->time);
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
        if (g->group.unit_count > CAL_GROUP_LARGE || interval.time >= change) break;
    }
    cal_free(trial);
    *way = interval;
    return status;
}

// Among groups at one time: by their first bodies, which no rollback changes.
static uint64_t order_of(const cal_world* world, int component) {
    return (uint64_t)world->components[component].group->bodies[0];
}

// Whether a group that others have just joined goes on at once: nothing comes before its own step, and it would look around as it has. Of
// domains not, whose decisions are made again, nor where a rollback may come and boxes hold what was before.
static bool goes_on(const cal_world* world, int component) {
    return world->domain == CAL_DOMAIN_WHOLE && !(world->lag > 0.0) &&
           cal_events_first(&world->events) == world->components[component].group->step_event;
}

// The newest state of a group goes on by what the integrator does at a time.
static cal_status go_on(cal_world* world, int component, cal_error* error) {
    const cal_queue* queue = &world->components[component].queue;
    const double from = cal_saved_state_at(queue, queue->tail - 1)->time;
    cal_group_interval interval = interval_of(world, component);
    cal_status status = push_steps(world, component, &interval, error);
    if (status != CAL_OK) return status;
    cal_component_mark_used(world, component, interval.time);
    const cal_contact_group* g = world->components[component].group;
    cal_events_schedule(&world->events, interval.time < interval.end ? g->step_event : g->check_event, interval.time,
                        order_of(world, component));
    return settle_members(world, component, from, error);
}

cal_status cal_group_step(cal_world* world, int component, cal_error* error) {
    const cal_queue* queue = &world->components[component].queue;
    const double from = cal_saved_state_at(queue, queue->tail - 1)->time;
    if (cal_group_is_asleep(world, component)) return settle_members(world, component, fmax(from, world->now), error);
    int made = -1;
    const cal_status status = cal_group_join(world, component, &made, error);
    if (status != CAL_OK || (made >= 0 && !goes_on(world, made))) return status;
    if (made >= 0) cal_events_schedule(&world->events, world->components[made].group->step_event, (double)INFINITY, 0);
    return go_on(world, made >= 0 ? made : component, error);
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
    const bool has_none = last->kind != CAL_STEP && rest[CAL_REST_BEGIN] == rest[CAL_REST_END], // interval
        checked = has_none || rest[CAL_REST_CHECKED] != 0.0 || last->time < rest[CAL_REST_END];
    cal_events_schedule(&world->events, c->group->check_event, checked ? (double)INFINITY : next,
                        order_of(world, component));
    cal_events_schedule(&world->events, c->group->step_event, checked ? next : (double)INFINITY,
                        order_of(world, component));
    // Until then nobody knows where its bodies go; only what they touch now can be hit now.
    cal_status status = CAL_OK;
    const cal_contact_group* g = c->group;
    for (int i = 0; status == CAL_OK && !ended && i < g->group.body_count; i++)
        if (world->bodies[g->bodies[i]].component >= 0) {
            world->bodies[g->bodies[i]].box_end = now;
            status = cal_domain_note_change(world, g->bodies[i], now, error);
        }
    for (int i = 0; !ended && i < g->group.body_count; i++) {
        const cal_sim_body* part = &world->bodies[g->bodies[i]];
        for (int k = 0; status == CAL_OK && part->component >= 0 && k < part->pair_count; k++) {
            // Of two members once.
            const int other = world->table.pairs[part->pairs[k]].body[0], member = world->bodies[other].component;
            if (other < g->bodies[i] && member >= 0 && cal_group_has(world, component, member)) continue;
            // What was a group's is still, as a rule, where others have joined it.
            const cal_pair* pair = &world->table.pairs[part->pairs[k]];
            if (pair->off && cal_component_holds(world, pair->body[0], pair->body[1], now)) continue;
            status = cal_pair_predict(world, part->pairs[k], now, error);
        }
    }
    return status;
}

// --- Fusion -------------------------------------------------------------------------------------------------------------------

void cal_merge_free(cal_group_merge* m) {
    cal_free(m->members);
    cal_free(m->pairs);
}

cal_status cal_merge_add_pair(cal_group_merge* m, int a, int b, cal_error* error) {
    if (!cal_grow((void**)&m->pairs, &m->pair_capacity, m->pair_count, sizeof *m->pairs))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    m->pairs[m->pair_count][0] = a < b ? a : b;
    m->pairs[m->pair_count++][1] = a < b ? b : a;
    return CAL_OK;
}

cal_status cal_merge_add(const cal_world* world, cal_group_merge* m, int component, cal_error* error) {
    if (component < 0) return CAL_OK;
    const cal_members in = world->components[component].ops->members(world, component);
    for (int i = 0; i < in.count; i++) {
        if (!cal_grow((void**)&m->members, &m->member_capacity, m->member_count, sizeof *m->members))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
        m->members[m->member_count++] = in.components[i];
    }
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < in.pair_count; i++)
        status = cal_merge_add_pair(m, in.pairs[i][0], in.pairs[i][1], error);
    return status;
}

// Members are in the order of their first bodies.
static void sort_members(const cal_world* world, cal_group_merge* m) {
    for (int gap = m->member_count / 2; gap > 0; gap /= 2)
        for (int i = gap; i < m->member_count; i++) {
            const int member = m->members[i], body = world->components[member].body;
            int at = i;
            for (; at >= gap && world->components[m->members[at - gap]].body > body; at -= gap)
                m->members[at] = m->members[at - gap];
            m->members[at] = member;
        }
}

// Pairs of two members that do not collide by events say nothing; others are needed once.
static void sort_pairs(const cal_world* world, cal_group_merge* m) {
    int kept = 0;
    for (int i = 0; i < m->pair_count; i++) {
        const int a = m->pairs[i][0], b = m->pairs[i][1];
        if (world->bodies[a].component >= 0 && world->bodies[b].component >= 0 && cal_group_is_inner(world, a, b))
            continue;
        m->pairs[kept][0] = a, m->pairs[kept++][1] = b;
    }
    m->pair_count = kept;
    if (kept > 1) qsort(m->pairs, (size_t)kept, sizeof *m->pairs, cal_order_of_pair);
    kept = 0;
    for (int i = 0; i < m->pair_count; i++) {
        if (kept > 0 && cal_order_of_pair(m->pairs[kept - 1], m->pairs[i]) == 0) continue;
        memmove(m->pairs[kept++], m->pairs[i], sizeof m->pairs[i]);
    }
    m->pair_count = kept;
}

cal_status cal_merge_create(cal_world* world, cal_group_merge* m, double time, int junction, int* out,
                            cal_error* error) {
    sort_members(world, m);
    sort_pairs(world, m);
    return cal_group_create(world, m->members, m->member_count, m->pairs, m->pair_count, time, junction, out, error);
}

cal_status cal_fuse(cal_world* world, const int* pairs, int count, double time, int junction, cal_error* error) {
    cal_groups_clear(world);
    const int bodies[2] = {world->table.pairs[pairs[0]].body[0], world->table.pairs[pairs[0]].body[1]};
    int components[2], component = -1;
    for (int i = 0; i < 2; i++) components[i] = cal_body_component(world, bodies[i], time);
    const bool same = components[0] == components[1]; // a group's pair, or two links of a multibody
    const bool grows = same && world->components[components[0]].ops->stepped;
    cal_group_merge m = {0};
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < (same ? 1 : 2); i++)
        status = cal_merge_add(world, &m, components[i], error);
    for (int i = 0; status == CAL_OK && i < count; i++) {
        const int* pair = world->table.pairs[pairs[i]].body;
        status = cal_merge_add_pair(&m, pair[0], pair[1], error);
    }
    if (status == CAL_OK) status = cal_merge_create(world, &m, time, junction, &component, error);
    cal_merge_free(&m);
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

// Poses of all bodies of a group at its newest state.
static cal_status newest_poses(cal_world* world, const cal_contact_group* g, double time, double* poses) {
    for (int i = 0; i < g->group.body_count; i++) {
        cal_motion at;
        const cal_status status = cal_body_at(world, g->bodies[i], time, &at);
        if (status != CAL_OK) return status;
        memcpy(poses + 7 * i, at.pose.position, 3 * sizeof *poses);
        memcpy(poses + 7 * i + 3, at.quaternion, 4 * sizeof *poses);
    }
    return CAL_OK;
}

// Pairs of a group that touch, or are about to, in the order of pairs.
static cal_status touching_pairs(cal_world* world, const cal_contact_group* g, double time, cal_group_merge* out,
                                 cal_error* error) {
    double* poses = cal_allocate(7 * (size_t)g->group.body_count, sizeof *poses);
    int capacity = g->last_contacts + FIRST_CONTACTS, count = 0;
    cal_group_contact* contacts = NULL;
    double margin = 0.0;
    for (int i = 0; i < g->group.body_count - g->other_count; i++)
        margin = fmax(margin, world->bodies[g->bodies[i]].reach);
    cal_status status = poses != NULL ? newest_poses(world, g, time, poses) : CAL_NO_MEMORY;
    while (status == CAL_OK) {
        contacts = cal_allocate((size_t)capacity, sizeof *contacts);
        status = contacts == NULL
                     ? CAL_NO_MEMORY
                     : cal_group_contacts(&g->group, time, poses, MARGIN * margin, contacts, capacity, &count);
        if (status != CAL_OK || count <= capacity) break;
        capacity = count;
        cal_free(contacts);
        contacts = NULL;
    }
    for (int i = 0; status == CAL_OK && i < count; i++) {
        const int a = g->bodies[contacts[i].body[1]], b = g->bodies[contacts[i].body[0]], low = a < b ? a : b,
                  high = a < b ? b : a, *last = out->pair_count > 0 ? out->pairs[out->pair_count - 1] : NULL;
        if (last != NULL && last[0] == low && last[1] == high) continue;
        // What is elastic and apart flies: it does not come to rest, and what groups know of its bounces is not as good.
        const double release = contacts[i].restitution < 1.0 ? RELEASE : CAL_WORK_CLOSED;
        bool near = contacts[i].gap <= release * cal_group_pair_size(world, a, b);
        if (!near && cal_group_is_inner(world, a, b)) status = cal_group_will_touch(world, a, b, time, &near);
        if (near && status == CAL_OK) status = cal_merge_add_pair(out, a, b, error);
    }
    cal_free(poses);
    cal_free(contacts);
    return status == CAL_NO_MEMORY ? cal_fail(error, status, "out of memory for a contact group") : status;
}

static int root_of(int* parents, int i) {
    while (parents[i] != i) i = parents[i] = parents[parents[i]];
    return i;
}

// The unit of a body; −1: it does not move by itself.
static int unit_of(const cal_world* world, const cal_contact_group* g, int body) {
    return world->bodies[body].component >= 0 ? cal_group_unit(world, g, body) : -1;
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
    cal_group_take_flows(world, component, c->ops->flows(world, member, cal_data_at(&c->queue, c->queue.tail - 1)));
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

// Which units pairs connect: roots in `parents`; returns how many pieces there are.
static int connect_units(const cal_world* world, const cal_contact_group* g, const cal_group_merge* near,
                         int* parents) {
    const int units = g->group.unit_count;
    int pieces = units;
    for (int i = 0; i < units; i++) parents[i] = i;
    for (int i = 0; i < near->pair_count; i++) {
        const int a = unit_of(world, g, near->pairs[i][0]), b = unit_of(world, g, near->pairs[i][1]);
        if (a < 0 || b < 0) continue;
        const int x = root_of(parents, a), y = root_of(parents, b);
        pieces -= x != y;
        parents[x > y ? x : y] = x < y ? x : y;
    }
    return pieces;
}

static int order_of_tagged(const void* a, const void* b) {
    const int *p = a, *q = b;
    for (int i = 0; i < 2; i++)
        if (p[i] != q[i]) return p[i] < q[i] ? -1 : 1;
    return 0;
}

// One piece of a group becomes a group, or goes on alone. units: (root, unit) of its own; pairs: (root, number in near).
static cal_status make_piece(cal_world* world, int component, double time, const int (*units)[2], int unit_count,
                             const int (*pairs)[2], int pair_count, const cal_group_merge* near, int junction,
                             cal_error* error) {
    const cal_contact_group* g = world->components[component].group;
    if (pair_count == 0) return release(world, component, units[0][1], time, junction, error);
    cal_group_merge m = {0};
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < unit_count; i++)
        status = cal_merge_add(world, &m, g->members[units[i][1]], error);
    for (int i = 0; status == CAL_OK && i < pair_count; i++)
        status = cal_merge_add_pair(&m, near->pairs[pairs[i][1]][0], near->pairs[pairs[i][1]][1], error);
    int made = -1;
    if (status == CAL_OK) status = cal_merge_create(world, &m, time, junction, &made, error);
    cal_merge_free(&m);
    if (status == CAL_OK) status = cal_note_change(world, made, time, error);
    world->report.groups += unit_count != g->group.unit_count;
    return status;
}

// Splits a group into what its remaining pairs connect; parents are the roots of its units.
static cal_status split(cal_world* world, int component, double time, int* parents, const cal_group_merge* near,
                        cal_error* error) {
    const cal_contact_group* g = world->components[component].group;
    const int units = g->group.unit_count, pairs = near->pair_count, junction = cal_junction_create(world);
    int(*own)[2] = cal_allocate((size_t)units, sizeof *own),
    (*touch)[2] = cal_allocate((size_t)pairs + 1, sizeof *touch);
    cal_status status = CAL_OK;
    if (own == NULL || touch == NULL || junction < 0)
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    if (status == CAL_OK) status = end_group(world, component, time, junction, error);
    int pieces = 0;
    if (status == CAL_OK) {
        for (int i = 0; i < units; i++) own[i][0] = root_of(parents, i), own[i][1] = i;
        for (int i = 0; i < pairs; i++) {
            const int a = unit_of(world, g, near->pairs[i][0]), b = unit_of(world, g, near->pairs[i][1]);
            touch[i][0] = root_of(parents, a >= 0 ? a : b), touch[i][1] = i;
        }
        qsort(own, (size_t)units, sizeof *own, order_of_tagged);
        qsort(touch, (size_t)pairs, sizeof *touch, order_of_tagged);
    }
    for (int u = 0, p = 0; status == CAL_OK && u < units; pieces++) {
        const int root = own[u][0], first_u = u, first_p = p;
        while (u < units && own[u][0] == root) u++;
        while (p < pairs && touch[p][0] == root) p++;
        status = make_piece(world, component, time, (const int(*)[2])own + first_u, u - first_u,
                            (const int(*)[2])touch + first_p, p - first_p, near, junction, error);
    }
    cal_free(own);
    cal_free(touch);
    world->report.fissions++;
    world->report.discontinuities += pieces > 1 || pairs == 0;
    return status;
}

cal_status cal_group_part_with(cal_world* world, int component, int first_body, int count, cal_error* error) {
    const int end = first_body + count;
    const cal_contact_group* g = world->components[component].group;
    bool is_in = false;
    for (int i = 0; i < g->group.body_count; i++) is_in |= g->bodies[i] >= first_body && g->bodies[i] < end;
    if (!is_in) return CAL_OK;
    cal_group_merge near = {0};
    int* parents = cal_allocate((size_t)g->group.unit_count, sizeof *parents);
    cal_status status = CAL_OK;
    if (parents == NULL) status = cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    if (status == CAL_OK) status = cal_begin_segment(world, component, world->time, error);
    if (status == CAL_OK) status = touching_pairs(world, g, world->time, &near, error);
    int kept = 0;
    for (int i = 0; i < near.pair_count; i++) {
        const int* p = near.pairs[i];
        const bool gone = (p[0] >= first_body && p[0] < end) || (p[1] >= first_body && p[1] < end);
        if (!gone && kept++ != i) memcpy(near.pairs[kept - 1], p, sizeof near.pairs[i]);
    }
    near.pair_count = kept;
    if (status == CAL_OK) {
        (void)connect_units(world, g, &near, parents); // the pieces are found again
        status = split(world, component, world->time, parents, &near, error);
    }
    cal_merge_free(&near);
    cal_free(parents);
    return status;
}

// Whether a pair that collides by events and stayed in touch has parted.
static bool has_parted(const cal_world* world, const cal_contact_group* g, const cal_group_merge* near) {
    for (int i = 0; i < g->pair_count; i++) {
        const int* pair = g->pairs[i];
        if (cal_group_is_inner(world, pair[0], pair[1])) continue;
        if (bsearch(pair, near->pairs, (size_t)near->pair_count, sizeof *near->pairs, cal_order_of_pair) == NULL)
            return true;
    }
    return false;
}

// Whether a group rests: it moves by less than its tolerance in all the time in which it is watched, and nothing would set it in
// motion if it stood still. A body that rolls on, slowly, moves, and so does one that is about to.
static cal_status rests(cal_world* world, int component, double time, bool* out, cal_error* error) {
    cal_contact_group* g = world->components[component].group;
    double speed = 0.0;
    *out = false;
    cal_status status = largest_speed(world, g, time, &speed);
    if (g->restless || status != CAL_OK) return status;
    if (world->group_ops->start == NULL) {
        *out = speed < STILL * world->slow;
        return CAL_OK;
    }
    const double watched = CHECKS_TO_SLEEP / world->def.group_rate;
    if (speed * watched > world->def.group_tolerance * g->size) return CAL_OK;
    const cal_queue* queue = &world->components[component].queue;
    const double* numbers = cal_data_at(queue, queue->tail - 1);
    cal_group_use(g, numbers);
    for (int capacity = g->last_contacts + g->last_contacts / 2 + FIRST_CONTACTS;;) {
        cal_group_report report = {0};
        if (!cal_group_reserve_scratch(world, world->group_ops->scratch_count(&g->group, capacity)))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group of %d bodies",
                            g->group.body_count);
        status = world->group_ops->start(&g->group, time, 1.0 / world->def.group_rate, numbers, numbers + g->at_memory,
                                         world->scratch, capacity, &speed, &report, error);
        if (status != CAL_NO_MEMORY || report.contacts <= capacity) break;
        capacity = report.contacts + report.contacts / 2;
    }
    *out = status == CAL_OK && speed <= CAL_GROUP_HELD * world->slow;
    return status;
}

cal_status cal_group_check(cal_world* world, int component, double time, cal_error* error) {
    cal_groups_clear(world);
    cal_contact_group* g = world->components[component].group;
    cal_group_merge near = {0};
    int* parents = cal_allocate((size_t)g->group.unit_count, sizeof *parents);
    cal_status status = CAL_OK;
    if (parents == NULL) status = cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    if (status == CAL_OK) status = touching_pairs(world, g, time, &near, error);
    const int pieces = status == CAL_OK ? connect_units(world, g, &near, parents) : 0;
    const bool parts = status == CAL_OK && (pieces > 1 || near.pair_count == 0 || has_parted(world, g, &near));
    if (parts) status = split(world, component, time, parents, &near, error);
    if (parts && status == CAL_OK) status = cal_world_update_changed(world, error);
    cal_merge_free(&near);
    cal_free(parents);
    if (parts || status != CAL_OK) return status;
    bool still = false;
    status = rests(world, component, time, &still, error);
    char name[64];
    if (status != CAL_OK)
        return cal_fail(error, status, "the contact group of %s cannot be followed at %g s: %s",
                        cal_body_name_at(world, g->bodies[0], name, sizeof name), time, cal_status_text(status));
    cal_queue* queue = &world->components[component].queue;
    double *data = cal_data_at(queue, queue->tail - 1), *rest = data + g->at_rest;
    world->components[component].news = CAL_NEWS_NEAR | CAL_NEWS_ALL;
    rest[CAL_REST_CHECKED] = 1.0;
    rest[CAL_REST_QUIET] = still ? rest[CAL_REST_QUIET] + 1.0 : 0.0;
    if (rest[CAL_REST_QUIET] >= CHECKS_TO_SLEEP) {
        rest[CAL_REST_ASLEEP] = 1.0;
        double moving = 0.0, resting = 0.0;
        status = cal_group_energy(world, component, data, &moving);
        memset(data + g->at_v, 0, (size_t)g->group.v_count * sizeof *data);
        if (status == CAL_OK) status = cal_group_energy(world, component, data, &resting);
        if (status != CAL_OK)
            return cal_fail(error, status, "the energy of a contact group is not known at %g s", time);
        cal_group_flows(world, component, data)->loss += moving - resting;
    }
    cal_events_schedule(&world->events, g->step_event, time, order_of(world, component));
    return CAL_OK;
}
