// Contact groups as data: what they are made of, where a body's numbers are, and how bodies move between two states.
#include "simulation/contact/contact_group.h"
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/group.h"
#include "simulation/contact/group_work.h"
#include "simulation/contact/impact.h"
#include "simulation/event/events.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/multibody.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <stdlib.h>
#include <string.h>

#define CREEP 0.01 // of what is slow: friction of the penalty method is full from here on

// --- Where things are ---------------------------------------------------------------------------------------------------------

static const cal_contact_group* group_of(const cal_world* world, int component) {
    return world->components[component].group;
}

// Members are in the order of their first bodies.
int cal_group_unit(const cal_world* world, const cal_contact_group* g, int body) {
    const cal_component* c = &world->components[world->bodies[body].component];
    if (c->unit < g->group.unit_count && g->members[c->unit] == c->number) return c->unit;
    const int first = c->body;
    int low = 0, high = g->group.unit_count - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (g->bodies[g->units[middle].first_body] < first)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int unit_of(const cal_world* world, const cal_contact_group* g, int body) {
    return cal_group_unit(world, g, body);
}

int cal_group_place(const cal_world* world, const cal_contact_group* g, int body) {
    if (world->bodies[body].component >= 0) {
        const int unit = cal_group_unit(world, g, body);
        if (g->members[unit] != world->bodies[body].component) return g->group.body_count;
        return g->units[unit].first_body + body - world->components[g->members[unit]].body;
    }
    int low = g->group.body_count - g->other_count, high = g->group.body_count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (g->bodies[middle] < body)
            low = middle + 1;
        else
            high = middle;
    }
    return low < g->group.body_count && g->bodies[low] == body ? low : g->group.body_count;
}

cal_state_numbers cal_group_locate(const cal_world* world, int component, int body, double* data) {
    const cal_contact_group* g = group_of(world, component);
    const int unit = unit_of(world, g, body);
    return (cal_state_numbers){data + g->units[unit].first_q, data + g->at_v + g->units[unit].first_v,
                               data + g->extras[unit]};
}

static double largest_restitution(const cal_world* world, int body) {
    const cal_sim_body* part = &world->bodies[body];
    double most = 0.0;
    for (int i = 0; i < part->shape_count; i++) most = fmax(most, part->shapes[i].restitution);
    return most;
}

bool cal_group_may_join(const cal_world* world, int a, int b) {
    const cal_sim_body *p = &world->bodies[a], *q = &world->bodies[b];
    if (!cal_body_ops(world, a)->single || !cal_body_ops(world, b)->single) return false;
    if (p->first_collision_callback >= 0 || q->first_collision_callback >= 0) return false;
    return world->group_ops->takes_impacts;
}

bool cal_group_is_inner(const cal_world* world, int a, int b) {
    if (!cal_group_may_join(world, a, b)) return false;
    const double given = world->def.restitution;
    return (given >= 0.0 ? given : fmax(largest_restitution(world, a), largest_restitution(world, b))) < 1.0;
}

double cal_group_pair_size(const cal_world* world, int a, int b) {
    double size = (double)INFINITY;
    if (world->bodies[a].component >= 0) size = world->bodies[a].reach;
    if (world->bodies[b].component >= 0) size = fmin(size, world->bodies[b].reach);
    return size;
}

double cal_group_rest_speed(const cal_world* world, double restitution, double size) {
    if (restitution < 1.0 || !(size < (double)INFINITY)) return world->contact_speed;
    const double none = CAL_WORK_OVERLAP * size, pull = sqrt(cal_dot3(world->def.gravity, world->def.gravity));
    return fmin(world->contact_speed, fmax(sqrt(2.0 * pull * none), none * world->def.group_rate));
}

bool cal_group_lists(const cal_contact_group* g, int a, int b) {
    const uint64_t key = cal_pair_key(a, b);
    int low = 0, high = g->pair_count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (cal_pair_key(g->pairs[middle][0], g->pairs[middle][1]) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < g->pair_count && cal_pair_key(g->pairs[low][0], g->pairs[low][1]) == key;
}

bool cal_group_holds(const cal_world* world, int component, int a, int b) {
    const cal_contact_group* g = group_of(world, component);
    for (int i = 0; i < 2; i++)
        if (cal_group_place(world, g, i == 0 ? a : b) == g->group.body_count) return false;
    return cal_group_is_inner(world, a, b) || cal_group_lists(g, a, b);
}

static const double* newest(const cal_world* world, int component) {
    const cal_queue* queue = &world->components[component].queue;
    return cal_data_at(queue, queue->tail - 1);
}

bool cal_group_is_asleep(const cal_world* world, int component) {
    return newest(world, component)[group_of(world, component)->at_rest + CAL_REST_ASLEEP] != 0.0;
}

bool cal_group_sleeps_at(const cal_world* world, int component, double time) {
    const cal_queue* queue = &world->components[component].queue;
    int64_t n = cal_queue_find(queue, time);
    if (n < queue->head) n = queue->head;
    return cal_data_at(queue, n)[group_of(world, component)->at_rest + CAL_REST_ASLEEP] != 0.0;
}

double cal_group_horizon(const cal_world* world, int component) {
    const cal_queue* queue = &world->components[component].queue;
    if (cal_group_is_asleep(world, component)) return 1e12;
    return cal_saved_state_at(queue, queue->tail - 1)->time;
}

// --- Motion -------------------------------------------------------------------------------------------------------------------

static int arrival_time(const cal_contact_group* g) { return g->at_arrival + g->at_rest + CAL_ARRIVAL_TIME; }

cal_group_span cal_group_span_at(const cal_world* world, int component, double time) {
    const cal_contact_group* g = group_of(world, component);
    const cal_queue* queue = &world->components[component].queue;
    int64_t n = cal_queue_find(queue, time);
    if (n < queue->head) n = queue->head;
    const double start = cal_saved_state_at(queue, n)->time;
    cal_group_span s = {
        .from = cal_data_at(queue, n), .number = n, .start = start, .t = time - start, .end = (double)INFINITY};
    const bool asleep = s.from[g->at_rest + CAL_REST_ASLEEP] != 0.0;
    if (n + 1 < queue->tail && cal_saved_state_at(queue, n + 1)->time > start) {
        const double* next = cal_data_at(queue, n + 1);
        s.end = cal_saved_state_at(queue, n + 1)->time;
        s.length = s.end - start;
        if (!asleep) {
            s.to = next + g->at_arrival, s.bounds = next + g->at_bounds;
            s.length = next[arrival_time(g)] - start;
        }
        s.straight = next[g->at_rest + CAL_REST_STRAIGHT] != 0.0;
    }
    if (asleep) s.t = 0.0;
    return s;
}

cal_member_span cal_group_member_span(const cal_contact_group* g, int unit, const cal_group_span* s) {
    const cal_group_member* u = &g->units[unit];
    return (cal_member_span){.q = s->from + u->first_q,
                             .v = s->from + g->at_v + u->first_v,
                             .to_q = s->to != NULL ? s->to + u->first_q : NULL,
                             .to_v = s->to != NULL ? s->to + g->at_v + u->first_v : NULL,
                             .extras = s->from + g->extras[unit],
                             .world = g->group.world,
                             .length = s->length,
                             .from = s->start,
                             .t = s->t,
                             .straight = s->straight,
                             .bow = s->to != NULL ? s->to + g->at_bow + u->first_v : NULL};
}

void cal_group_arrive(cal_world* world, int component) {
    const cal_contact_group* g = group_of(world, component);
    const cal_queue* queue = &world->components[component].queue;
    double* data = cal_data_at(queue, queue->tail - 1);
    const double end = cal_saved_state_at(queue, queue->tail - 1)->time;
    memcpy(data + g->at_arrival, data, (size_t)g->at_rest * sizeof *data);
    data[arrival_time(g)] = end;
    data[g->at_arrival + g->at_rest + CAL_ARRIVAL_BEGIN] = data[g->at_rest + CAL_REST_BEGIN];
    data[g->at_arrival + g->at_rest + CAL_ARRIVAL_END] = data[g->at_rest + CAL_REST_END];
    if (queue->tail - queue->head < 2) return;
    const double start = cal_saved_state_at(queue, queue->tail - 2)->time;
    const cal_group_span s = {.from = cal_data_at(queue, queue->tail - 2),
                              .to = data,
                              .start = start,
                              .length = end - start,
                              .straight = data[g->at_rest + CAL_REST_STRAIGHT] != 0.0};
    if (!(s.length > 0.0) || s.from[g->at_rest + CAL_REST_ASLEEP] != 0.0) return;
    for (int i = 0; i < g->group.unit_count; i++) {
        const cal_member_span own = cal_group_member_span(g, i, &s);
        g->units[i].ops->bounds(&g->units[i], &own, data + g->at_bounds + CAL_BODY_BOUNDS * g->units[i].first_body);
    }
}

// Which of its unit's bodies a body is.
int cal_group_body_of_unit(const cal_world* world, int body) {
    return body - world->components[world->bodies[body].component].body;
}

bool cal_group_goes_straight(const cal_world* world, int component, double time) {
    return cal_group_span_at(world, component, time).straight;
}

cal_status cal_group_motion(cal_world* world, int component, int body, double from, double time, bool turning,
                            cal_motion* out) {
    const cal_contact_group* g = group_of(world, component);
    const int unit = unit_of(world, g, body);
    cal_group_span s = cal_group_span_at(world, component, from);
    if (s.from[g->at_rest + CAL_REST_ASLEEP] == 0.0)
        s.t = time - cal_saved_state_at(&world->components[component].queue, s.number)->time;
    cal_member_span own = cal_group_member_span(g, unit, &s);
    own.unturned = !turning;
    return g->units[unit].ops->motion(&g->units[unit], cal_group_body_of_unit(world, body), &own, out);
}

cal_flows* cal_group_flows(const cal_world* world, int component, double* data) {
    return (cal_flows*)(void*)(data + group_of(world, component)->at_rest + CAL_REST_FLOWS);
}

// Inside a step work and closing are those of the step, in proportion to time, and what is missing of the energy is lost: bodies are
// on curves between its states, and not where forces would have put them.
cal_status cal_group_flowed(cal_world* world, int component, double time, cal_flows* out) {
    const cal_contact_group* g = group_of(world, component);
    const cal_group_span s = cal_group_span_at(world, component, time);
    const cal_queue* queue = &world->components[component].queue;
    int64_t n = cal_queue_find(queue, time);
    if (n < queue->head) n = queue->head;
    *out = *cal_group_flows(world, component, cal_data_at(queue, n));
    if (s.to == NULL || !(s.t > 0.0)) return CAL_OK;
    const cal_flows* end = cal_group_flows(world, component, cal_data_at(queue, n + 1));
    const double part = s.t / (s.end - cal_saved_state_at(queue, n)->time);
    double *numbers = cal_allocate((size_t)(g->at_v + g->group.v_count), sizeof *numbers), energy[2] = {0.0, 0.0};
    if (numbers == NULL) return CAL_NO_MEMORY;
    cal_status status = cal_group_state(world, component, time, numbers);
    if (status == CAL_OK) status = cal_group_energy(world, component, s.from, &energy[0]);
    if (status == CAL_OK) status = cal_group_energy(world, component, numbers, &energy[1]);
    cal_free(numbers);
    const double work = part * (end->work - out->work), gone = energy[0] - energy[1] + work;
    double closing = end->closing - out->closing;
    // Of what is gone so far, closing constraints has taken as large a share as of all of it.
    closing *= closing < 0.0 ? fmin(fmax(gone / (end->loss - out->loss - closing), 0.0), 1.0) : part;
    out->work += work;
    out->moved += fabs(work);
    out->closing += closing;
    out->loss += gone + closing;
    return status;
}

cal_status cal_group_limits(cal_world* world, int component, int body, double from, double until,
                            cal_motion_bounds* out) {
    (void)until;
    const cal_contact_group* g = group_of(world, component);
    const cal_group_span s = cal_group_span_at(world, component, from);
    out->until = s.end;
    out->begin = cal_saved_state_at(&world->components[component].queue, s.number)->time;
    out->still = s.from[g->at_rest + CAL_REST_ASLEEP] != 0.0;
    if (s.to == NULL) return CAL_OK;                // nothing moves, or nobody knows yet: boxes end here
    out->end = s.to[g->at_rest + CAL_ARRIVAL_TIME]; // when it arrives there
    const int number = unit_of(world, g, body),
              place = g->units[number].first_body + cal_group_body_of_unit(world, body);
    const cal_member_span own = cal_group_member_span(g, number, &s);
    const double* bounds = s.bounds + CAL_BODY_BOUNDS * place;
    memcpy(out->acceleration, bounds, sizeof out->acceleration);
    out->slack = bounds[3], out->turn = bounds[4], out->twist = bounds[5];
    out->unspun = g->units[number].ops->is_unspun != NULL && world->bodies[body].symmetric > 0 &&
                  g->units[number].ops->is_unspun(&g->units[number], &own);
    return CAL_OK;
}

void cal_group_use(cal_contact_group* g, const double* numbers) {
    g->used = numbers;
    for (int i = 0; i < g->group.unit_count; i++)
        g->units[i].ops->use(&g->units[i], g->group.world, numbers + g->extras[i]);
}

// --- For the integrator -------------------------------------------------------------------------------------------------------

static cal_status driven(const cal_group* group, int body, double time, double pose[7], double velocity[6]) {
    const cal_contact_group* g = (const cal_contact_group*)group;
    cal_motion at;
    const cal_status status = cal_body_at(group->world, g->bodies[body], time, &at);
    if (status != CAL_OK) return status;
    memcpy(pose, at.pose.position, 3 * sizeof *pose);
    memcpy(pose + 3, at.quaternion, 4 * sizeof *pose);
    memcpy(velocity, at.u, 3 * sizeof *velocity);
    memcpy(velocity + 3, at.w, 3 * sizeof *velocity);
    return CAL_OK;
}

static const char* body_name(const cal_group* group, int body, char* text, size_t capacity) {
    return cal_body_name_at(group->world, ((const cal_contact_group*)group)->bodies[body], text, capacity);
}

// --- Making and destroying ----------------------------------------------------------------------------------------------------

static void free_group(cal_contact_group* g) {
    for (int i = 0; i < g->group.unit_count; i++)
        if (g->units[i].ops->end != NULL) g->units[i].ops->end(&g->units[i]);
    cal_group_search_end(g);
    void* const lists[] = {g->units, g->members, g->extras, g->bodies, g->unit_of_body, g->pairs, g};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) cal_free(lists[i]);
}

void cal_group_destroy(cal_world* world, int component) {
    cal_component* c = &world->components[component];
    cal_contact_group* g = c->group;
    if (g != NULL) {
        if (g->check_event >= 0) cal_events_remove(&world->events, g->check_event);
        if (g->step_event >= 0) cal_events_remove(&world->events, g->step_event);
        free_group(g);
        c->group = NULL;
    }
    cal_queue_release(world, component);
    c->ops = NULL;
}

bool cal_group_has(const cal_world* world, int component, int member) {
    const cal_contact_group* g = world->components[component].group;
    const int unit = world->components[member].unit;
    if (g != NULL && unit < g->group.unit_count && g->members[unit] == member) return true;
    int low = 0, high = g != NULL ? g->group.unit_count : 0;
    while (low < high) { // in the order of first bodies
        const int middle = (low + high) / 2;
        if (world->components[g->members[middle]].body < world->components[member].body)
            low = middle + 1;
        else
            high = middle;
    }
    return g != NULL && low < g->group.unit_count && g->members[low] == member;
}

int cal_order_of_pair(const void* a, const void* b) {
    const int *p = a, *q = b;
    const uint64_t x = cal_pair_key(p[0], p[1]), y = cal_pair_key(q[0], q[1]);
    return x < y ? -1 : x > y;
}

// The units' shape of things: where each begins.
static cal_status lay_out(cal_world* world, cal_contact_group* g, const int* members, int count, cal_error* error) {
    int q = 0, v = 0, bodies = 0;
    for (int i = 0; i < count; i++) {
        cal_component* c = &world->components[members[i]];
        c->unit = i;
        cal_group_member* unit = &g->units[i];
        const cal_status status = c->ops->member(world, members[i], unit, error);
        if (status != CAL_OK) return status;
        g->members[i] = members[i];
        g->restless |= unit->moved;
        unit->first_q = q, unit->first_v = v, unit->first_body = bodies;
        for (int k = 0; k < unit->body_count; k++) {
            g->bodies[bodies + k] = c->body + k;
            g->unit_of_body[bodies + k] = i;
        }
        q += unit->q_count, v += unit->v_count, bodies += unit->body_count;
        g->group.unit_count = i + 1;
    }
    g->group.q_count = q, g->group.v_count = v, g->group.body_count = bodies;
    g->at_v = q;
    return CAL_OK;
}

static int order_of_integer(const void* a, const void* b) {
    const int p = *(const int*)a, q = *(const int*)b;
    return p < q ? -1 : p > q;
}

// Fixed and driven bodies that members touch, at the end of the list of bodies, each once.
static void add_others(const cal_world* world, cal_contact_group* g) {
    const int first = g->group.body_count;
    int count = first;
    for (int i = 0; i < g->pair_count; i++)
        for (int k = 0; k < 2; k++)
            if (world->bodies[g->pairs[i][k]].component < 0) g->bodies[count++] = g->pairs[i][k];
    qsort(g->bodies + first, (size_t)(count - first), sizeof *g->bodies, order_of_integer);
    for (int i = first; i < count; i++) {
        const int body = g->bodies[i];
        if (g->group.body_count > first && g->bodies[g->group.body_count - 1] == body) continue;
        g->unit_of_body[g->group.body_count] = CAL_NONE;
        g->bodies[g->group.body_count++] = body;
        g->group.driven_moves |=
            world->bodies[body].def.motion == CAL_DRIVEN && world->bodies[body].def.path_speed > 0.0;
    }
    g->restless |= g->group.driven_moves;
    g->other_count = g->group.body_count - first;
}

static cal_contact_group* allocate_group(cal_world* world, const int* members, int count, int pair_count) {
    cal_contact_group* g = cal_allocate(1, sizeof *g);
    if (g == NULL) return NULL;
    int bodies = 2 * pair_count;
    for (int i = 0; i < count; i++) bodies += world->components[members[i]].weight;
    g->check_event = g->step_event = -1;
    g->units = cal_allocate((size_t)count, sizeof *g->units);
    g->members = cal_allocate((size_t)count, sizeof *g->members);
    g->extras = cal_allocate((size_t)count, sizeof *g->extras);
    g->bodies = cal_allocate((size_t)bodies, sizeof *g->bodies);
    g->unit_of_body = cal_allocate((size_t)bodies, sizeof *g->unit_of_body);
    g->pairs = cal_allocate((size_t)pair_count + 1, sizeof *g->pairs);
    if (g->units && g->members && g->extras && g->bodies && g->unit_of_body && g->pairs) return g;
    free_group(g);
    return NULL;
}

void cal_group_describe(cal_world* world, cal_contact_group* g) {
    g->group.units = g->units;
    g->group.unit_of_body = g->unit_of_body;
    g->group.driven = driven;
    g->group.contacts = cal_group_contacts;
    g->group.pair_contacts = cal_group_pair_contacts;
    g->group.body_name = body_name;
    g->group.energy = cal_group_energy_at;
    g->group.work = cal_group_find_work;
    g->group.world = world;
    memcpy(g->group.gravity, world->def.gravity, sizeof g->group.gravity);
    g->group.tolerance = world->def.group_tolerance;
    g->group.creep = CREEP * world->slow;
    g->size = (double)INFINITY;
    g->group.folded = false;
    for (int i = 0; i < g->group.body_count; i++) {
        const cal_sim_body* part = &world->bodies[g->bodies[i]];
        g->group.folded |= part->geometry != NULL && cal_geometry_has_field(part->geometry);
        if (part->component >= 0 && part->reach > 0.0) g->size = fmin(g->size, part->reach);
    }
    g->group.length = g->size;
    g->group.bounce_speed = world->contact_speed;
    g->group.rest_speed = cal_group_rest_speed(world, 1.0, g->size);
}

// The numbers of a member's newest state into the group's first one.
static void copy_member(const cal_world* world, const cal_contact_group* g, int unit, double time, double* data) {
    const cal_group_member* u = &g->units[unit];
    const int body = world->components[g->members[unit]].body, charge = cal_body_component(world, body, time);
    const cal_component* c = &world->components[charge];
    const cal_state_numbers from = c->ops->locate(world, charge, body, cal_data_at(&c->queue, c->queue.tail - 1));
    memcpy(data + u->first_q, from.q, (size_t)u->q_count * sizeof *data);
    memcpy(data + g->at_v + u->first_v, from.v, (size_t)u->v_count * sizeof *data);
    memcpy(data + g->extras[unit], from.extras, (size_t)u->extras_count * sizeof *data);
}

// What old groups remember goes on in the new one.
static void copy_memory(const cal_world* world, const cal_contact_group* g, double time, double* data) {
    int last = -1;
    for (int i = 0; i < g->group.unit_count; i++) {
        const int charge = cal_body_component(world, g->bodies[g->units[i].first_body], time);
        if (charge == last || !world->components[charge].ops->stepped) continue;
        last = charge;
        const cal_queue* queue = &world->components[charge].queue;
        const cal_contact_group* old = group_of(world, charge);
        if (world->group_ops->add_memory != NULL)
            world->group_ops->add_memory(&g->group, &old->group, cal_data_at(queue, queue->tail - 1) + old->at_memory,
                                         data + g->at_memory);
    }
}

// The largest group whose members go on in another one hands over what it knows of who is near, if most of them do.
static cal_status take_search(cal_world* world, cal_contact_group* g, double time) {
    cal_contact_group* largest = NULL;
    int last = -1;
    for (int i = 0; i < g->group.unit_count; i++) {
        const int charge = cal_body_component(world, g->bodies[g->units[i].first_body], time);
        if (charge == last || !world->components[charge].ops->stepped) continue;
        last = charge;
        cal_contact_group* old = world->components[charge].group;
        if (largest == NULL || old->group.unit_count > largest->group.unit_count) largest = old;
    }
    if (largest == NULL || 2 * g->group.unit_count < largest->group.unit_count) return CAL_OK;
    return cal_group_search_take(world, g, largest, time);
}

// Old groups end, members' own queues say who is in charge from now on.
static cal_status hand_over(cal_world* world, int component, double time, int junction, cal_error* error) {
    const cal_contact_group* g = group_of(world, component);
    for (int i = 0; i < g->group.unit_count; i++) {
        const int member = g->members[i];
        const cal_queue* queue = &world->components[member].queue;
        const cal_saved_state* last = cal_saved_state_at(queue, queue->tail - 1);
        const int old = last->kind == CAL_FUSED ? last->group : -1;
        if (old >= 0) {
            const cal_queue* ended = &world->components[old].queue;
            if (cal_saved_state_at(ended, ended->tail - 1)->kind != CAL_ENDED) {
                if (cal_queue_push(world, old, CAL_ENDED, time) == NULL ||
                    !cal_junction_add(world, junction, old, ended->tail - 1) ||
                    !cal_grow((void**)&world->ended, &world->ended_capacity, world->ended_count, sizeof *world->ended))
                    return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
                world->ended[world->ended_count++] = old;
                cal_events_schedule(&world->events, group_of(world, old)->check_event, (double)INFINITY, 0);
                cal_events_schedule(&world->events, group_of(world, old)->step_event, (double)INFINITY, 0);
            }
        }
        if (old >= 0) {
            const cal_queue* own = &world->components[component].queue;
            cal_group_take_flows(world, old, cal_group_flows(world, component, cal_data_at(own, own->tail - 1)));
        }
        cal_saved_state* knot = cal_queue_push(world, member, CAL_FUSED, time);
        if (knot == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for states");
        knot->group = component;
        if (!cal_junction_add(world, junction, member, world->components[member].queue.tail - 1))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for the state graph");
    }
    return CAL_OK;
}

cal_contact_group* cal_group_make(cal_world* world, const int* members, int member_count, int (*pairs)[2],
                                  int pair_count, int* stride, cal_error* error) {
    cal_contact_group* g = allocate_group(world, members, member_count, pair_count);
    if (g == NULL) {
        cal_explain(error, CAL_NO_MEMORY, "out of memory for a contact group");
        return NULL;
    }
    memcpy(g->pairs, pairs, (size_t)pair_count * sizeof *pairs);
    g->pair_count = pair_count;
    qsort(g->pairs, (size_t)pair_count, sizeof *g->pairs, cal_order_of_pair);
    if (lay_out(world, g, members, member_count, error) != CAL_OK) {
        free_group(g);
        return NULL;
    }
    add_others(world, g);
    cal_group_describe(world, g);
    if (!cal_group_search_begin(g)) {
        cal_explain(error, CAL_NO_MEMORY, "out of memory for a contact group");
        free_group(g);
        return NULL;
    }
    g->memory_count = world->group_ops->memory_count(&g->group);
    g->at_bow = g->at_v + g->group.v_count;
    g->at_memory = g->at_bow + g->group.v_count;
    g->at_rest = g->at_memory + (int)g->memory_count;
    *stride = g->at_rest + CAL_REST_NUMBERS;
    for (int i = 0; i < member_count; i++) {
        g->extras[i] = *stride;
        *stride += g->units[i].extras_count;
    }
    g->at_arrival = *stride;
    g->at_bounds = g->at_arrival + g->at_rest + CAL_ARRIVAL_NUMBERS;
    *stride = g->at_bounds;
    for (int i = 0; i < member_count; i++) *stride += CAL_BODY_BOUNDS * g->units[i].body_count;
    return g;
}

void cal_group_free(cal_contact_group* group) {
    if (group != NULL) free_group(group);
}

cal_status cal_group_create(cal_world* world, const int* members, int member_count, int (*pairs)[2], int pair_count,
                            double time, int junction, int* out, cal_error* error) {
    int stride, weight = 0;
    cal_contact_group* g = cal_group_make(world, members, member_count, pairs, pair_count, &stride, error);
    if (g == NULL) return CAL_NO_MEMORY;
    for (int i = 0; i < member_count; i++) weight += world->components[members[i]].weight;
    const int component = cal_component_add(world, CAL_GROUP, stride, 2);
    if (component >= 0) world->components[component].queue.copied = g->at_arrival;
    if (component < 0) {
        free_group(g);
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    }
    cal_component* c = &world->components[component];
    c->group = g;
    c->weight = weight;
    c->local_time = time;
    *out = component;
    g->check_event = cal_events_add(&world->events, CAL_EVENT_GROUP, component);
    g->step_event = cal_events_add(&world->events, CAL_EVENT_STEP, component);
    if (g->check_event < 0 || g->step_event < 0 || cal_queue_push(world, component, CAL_SEGMENT, time) == NULL ||
        !cal_junction_add(world, junction, component, 0))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    double* data = cal_data_at(&world->components[component].queue, 0);
    for (int i = 0; i < member_count; i++) copy_member(world, g, i, time, data);
    copy_memory(world, g, time, data);
    cal_status status = take_search(world, g, time);
    if (status != CAL_OK) return cal_fail(error, status, "a contact group cannot be followed at %g s", time);
    status = hand_over(world, component, time, junction, error);
    world->report.largest_group = world->report.largest_group > weight ? world->report.largest_group : weight;
    return status;
}

// Of lists of groups that have ended: a rollback may have revived one, or undone it, and another one may have its place.
bool cal_group_is_over(const cal_world* world, int component) {
    const cal_component* c = &world->components[component];
    return c->ops != NULL && c->group != NULL && cal_component_has_ended(c);
}

static void destroy_ended(cal_world* world, int component) {
    cal_group_destroy(world, component);
    world->unused_components[world->unused_count++] = component;
}

void cal_groups_forget(cal_world* world, int member) {
    int kept = 0;
    for (int i = 0; i < world->ended_count; i++) {
        const int component = world->ended[i];
        if (!cal_group_is_over(world, component)) continue;
        const cal_contact_group* g = group_of(world, component);
        bool has = false;
        for (int k = 0; k < g->group.unit_count; k++) has |= g->members[k] == member;
        if (has)
            destroy_ended(world, component);
        else
            world->ended[kept++] = component;
    }
    world->ended_count = kept;
}

void cal_groups_clear(cal_world* world) {
    int kept = 0;
    for (int i = 0; i < world->ended_count; i++) {
        const int component = world->ended[i];
        if (!cal_group_is_over(world, component)) continue;
        const cal_queue* queue = &world->components[component].queue;
        if (cal_saved_state_at(queue, queue->tail - 1)->time >= cal_kept_from(world))
            world->ended[kept++] = component;
        else
            destroy_ended(world, component);
    }
    world->ended_count = kept;
}
