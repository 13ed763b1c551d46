// Queues of states, the junctions between them, and rollback over both.
#include "simulation/state/graph.h"
#include "base/memory.h"
#include "simulation/component.h"
#include "simulation/domain/domain.h"
#include "simulation/event/callbacks.h"
#include "simulation/event/log.h"
#include "simulation/event/pairs.h"
#include "simulation/world.h"
#include <string.h>

enum { LINE = 64 };

// --- Queues -----------------------------------------------------------------------------------------------------------------

void cal_queue_create(cal_queue* queue, int stride) {
    const size_t size = sizeof(cal_saved_state) + (size_t)stride * sizeof(double);
    *queue = (cal_queue){.size = (int)((size + LINE - 1) / LINE * LINE), .stride = stride, .copied = stride};
}

void cal_queue_destroy(cal_queue* queue) {
    cal_free(queue->states);
    *queue = (cal_queue){0};
}

bool cal_queue_reserve(cal_queue* queue, int64_t count) {
    if (queue->capacity >= count) return true;
    cal_queue more = *queue;
    if (more.capacity == 0) more.capacity = 1;
    while (more.capacity < count) more.capacity *= 2;
    more.states = cal_allocate((size_t)more.capacity, (size_t)more.size);
    if (more.states == NULL) return false;
    for (int64_t n = queue->head; n < queue->tail; n++)
        memcpy(cal_saved_state_at(&more, n), cal_saved_state_at(queue, n), (size_t)queue->size);
    cal_free(queue->states);
    *queue = more;
    return true;
}

static void release_junction(cal_world* world, int junction) {
    if (junction < 0 || --world->junctions[junction].references > 0) return;
    world->junctions[junction].count = world->junctions[junction].moved = 0;
    world->unused_junctions[world->unused_junction_count++] = junction;
}

void cal_queue_release(cal_world* world, int component) {
    cal_queue* queue = &world->components[component].queue;
    for (int64_t n = queue->head; n < queue->tail; n++) {
        release_junction(world, cal_saved_state_at(queue, n)->junction);
        world->states--;
    }
    cal_queue_destroy(queue);
}

double cal_kept_from(const cal_world* world) {
    const bool groups = world->report.groups > 0 || world->domains != NULL; // of any domain
    return fmin(world->gvt, world->now) - (groups ? 1.0 / world->def.group_rate : 0.0);
}

// States before the last one that is not after that: nobody can go back to them.
static void forget(cal_world* world, cal_queue* queue) {
    const double from = cal_kept_from(world);
    while (queue->head + 1 < queue->tail && cal_saved_state_at(queue, queue->head + 1)->time <= from) {
        release_junction(world, cal_saved_state_at(queue, queue->head)->junction);
        queue->head++;
        world->states--;
    }
}

// What is known of the course of a free body (motion/free_body.h) is not that of its newest state any more.
static void end_course(cal_world* world, const cal_component* c) {
    if (c->ops != NULL && c->ops->single && c->body >= 0) world->bodies[c->body].flying = false;
}

static cal_saved_state new_state(cal_saved_state_kind kind, double time) {
    return (cal_saved_state){.time = time, .kind = (int32_t)kind, .junction = -1, .callback = -1, .group = -1};
}

cal_saved_state* cal_queue_push(cal_world* asking, int component, cal_saved_state_kind kind, double time) {
    cal_world* world = cal_domain_keeper(asking, &asking->components[component]);
    cal_queue* queue = &world->components[component].queue;
    forget(world, queue);
    if (!cal_queue_reserve(queue, queue->tail - queue->head + 1)) return NULL;
    const int64_t n = queue->tail++;
    if (n > queue->head)
        memcpy(cal_data_at(queue, n), cal_data_at(queue, n - 1), (size_t)queue->copied * sizeof(double));
    else
        memset(cal_data_at(queue, n), 0, (size_t)queue->stride * sizeof(double));
    cal_saved_state* knot = cal_saved_state_at(queue, n);
    *knot = new_state(kind, time);
    world->components[component].news = CAL_NEWS_NEAR | CAL_NEWS_ALL;
    if (kind != CAL_STEP) end_course(world, &world->components[component]);
    world->states++;
    if (world->states > world->report.peak_states) world->report.peak_states = world->states;
    return knot;
}

cal_saved_state* cal_queue_renew(cal_world* asking, int component, cal_saved_state_kind kind, double time) {
    cal_world* world = cal_domain_keeper(asking, &asking->components[component]);
    cal_queue* queue = &world->components[component].queue;
    forget(world, queue);
    if (queue->tail - queue->head != 1 || time > cal_kept_from(world))
        return cal_queue_push(asking, component, kind, time);
    cal_saved_state* knot = cal_saved_state_at(queue, queue->head);
    release_junction(world, knot->junction);
    *knot = new_state(kind, time);
    world->components[component].news = CAL_NEWS_NEAR | CAL_NEWS_ALL;
    end_course(world, &world->components[component]);
    return knot;
}

// A stiff multibody has thousands of states: the way back doubles until it is too far, and is halved again.
int64_t cal_queue_find_earlier(const cal_queue* queue, double time) {
    int64_t later = queue->tail, n = later - 1;
    for (int64_t way = 1; n >= queue->head && cal_saved_state_at(queue, n)->time > time; way *= 2) {
        later = n;
        n -= way;
    }
    if (n < queue->head) n = queue->head - 1;
    while (later - n > 1) {
        const int64_t middle = n + (later - n) / 2;
        if (cal_saved_state_at(queue, middle)->time > time)
            later = middle;
        else
            n = middle;
    }
    return n >= queue->head ? n : -1;
}

static void count_integration(cal_world* world, const cal_component* c, double length, int steps) {
    world->report.integrations += steps;
    world->report.intervals += length;
    world->report.integrated += length * c->weight;
}

void cal_component_mark_used(cal_world* world, int component, double time) {
    cal_component* c = &world->components[component];
    if (time <= c->local_time) return;
    count_integration(world, c, time - c->local_time, 1);
    c->local_time = time;
}

// --- Junctions --------------------------------------------------------------------------------------------------------------

int cal_junction_create(cal_world* world) {
    if (world->unused_junction_count > 0) return world->unused_junctions[--world->unused_junction_count];
    int capacity = world->junction_capacity;
    if (!cal_grow((void**)&world->unused_junctions, &capacity, world->junction_count, sizeof(int))) return -1;
    if (!cal_grow((void**)&world->junctions, &world->junction_capacity, world->junction_count,
                  sizeof *world->junctions))
        return -1;
    world->junctions[world->junction_count] = (cal_junction){0};
    return world->junction_count++;
}

bool cal_junction_add(cal_world* world, int junction, int component, int64_t number) {
    cal_junction* j = &world->junctions[junction];
    if (!cal_grow_few((void**)&j->links, &j->capacity, j->count, sizeof *j->links)) return false;
    j->links[j->count++] = (cal_state_ref){component, number};
    j->references++;
    cal_saved_state_at(&world->components[component].queue, number)->junction = junction;
    return true;
}

// --- Handing over -----------------------------------------------------------------------------------------------------------

// The number of a junction in another domain, made where it is not there yet; −1: no memory.
static int hand_over_junction(cal_world* from, cal_world* to, int junction, cal_error* error) {
    if (from->junctions[junction].moved == 0) {
        const int made = cal_junction_create(to);
        if (made < 0 || cal_log_hand_over(&from->log, &to->log, junction, made, from->gvt, error) != CAL_OK) return -1;
        from->junctions[junction].moved = made + 1;
    }
    return from->junctions[junction].moved - 1;
}

cal_status cal_queue_hand_over(cal_world* from, cal_world* to, int component, cal_error* error) {
    const cal_queue* queue = &from->components[component].queue;
    const int label = cal_log_group(component);
    cal_status status = from->components[component].group != NULL
                            ? cal_log_hand_over(&from->log, &to->log, label, label, from->gvt, error)
                            : CAL_OK;
    for (int64_t n = queue->head; status == CAL_OK && n < queue->tail; n++) {
        cal_saved_state* knot = cal_saved_state_at(queue, n);
        const int old = knot->junction;
        if (old < 0) continue;
        knot->junction = -1;
        if (knot->time >= from->gvt) { // others are final, and nothing is undone that came from them
            const int made = hand_over_junction(from, to, old, error);
            if (made < 0 || !cal_junction_add(to, made, component, n))
                status = cal_fail(error, CAL_NO_MEMORY, "out of memory for the state graph");
        }
        release_junction(from, old);
    }
    from->states -= queue->tail - queue->head;
    to->states += queue->tail - queue->head;
    return status;
}

void cal_queue_unlink(cal_world* from, int component) {
    const cal_queue* queue = &from->components[component].queue;
    for (int64_t n = queue->head; n < queue->tail; n++) {
        cal_saved_state* knot = cal_saved_state_at(queue, n);
        release_junction(from, knot->junction);
        knot->junction = -1;
    }
    from->states -= queue->tail - queue->head;
}

// --- Rollback ---------------------------------------------------------------------------------------------------------------

// Changes are a heap, with the latest at its top, and of those at one time the first that was noted: a world may change as a whole.
static bool is_settled_before(const cal_change* a, const cal_change* b) {
    return a->time > b->time || (a->time == b->time && a->order < b->order);
}

static void put_change(cal_world* world, int place, const cal_change* change) {
    world->changes[place] = *change;
    world->components[change->component].change = place;
}

static void lift_change(cal_world* world, int place) {
    const cal_change moved = world->changes[place];
    while (place > 0 && is_settled_before(&moved, &world->changes[(place - 1) / 2])) {
        put_change(world, place, &world->changes[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put_change(world, place, &moved);
}

static void lower_change(cal_world* world, int place) {
    const cal_change moved = world->changes[place];
    for (int below = 2 * place + 1; below < world->change_count; below = 2 * place + 1) {
        if (below + 1 < world->change_count && is_settled_before(&world->changes[below + 1], &world->changes[below]))
            below++;
        if (!is_settled_before(&world->changes[below], &moved)) break;
        put_change(world, place, &world->changes[below]);
        place = below;
    }
    put_change(world, place, &moved);
}

cal_change* cal_find_change(const cal_world* world, int component) {
    const int place = world->components[component].change;
    if (place >= world->change_count || world->changes[place].component != component) return NULL;
    return &world->changes[place];
}

cal_status cal_note_change(cal_world* world, int component, double time, cal_error* error) {
    cal_change* known = cal_find_change(world, component);
    if (known != NULL) {
        known->time = fmin(known->time, time);
        lower_change(world, world->components[component].change);
        return CAL_OK;
    }
    if (!cal_grow((void**)&world->changes, &world->change_capacity, world->change_count, sizeof *world->changes))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for a rollback");
    world->changes[world->change_count] =
        (cal_change){.component = component, .time = time, .reached = time, .order = world->change_order++};
    lift_change(world, world->change_count++);
    return CAL_OK;
}

static cal_change take_latest_change(cal_world* world) {
    const cal_change latest = world->changes[0], last = world->changes[--world->change_count];
    if (world->change_count == 0) return latest;
    put_change(world, 0, &last);
    lower_change(world, 0);
    return latest;
}

static bool push_link(cal_world* world, cal_state_ref link) {
    if (!cal_grow((void**)&world->stack, &world->stack_capacity, world->stack_count, sizeof *world->stack))
        return false;
    world->stack[world->stack_count++] = link;
    return true;
}

// A callback that made a deleted state must be called again.
static void undo_callback(cal_world* world, const cal_saved_state* knot) {
    if (knot->callback < 0) return;
    cal_periodic_hook* hook = &world->periodic_hooks[knot->callback];
    if (knot->tick >= hook->tick) return;
    hook->tick = knot->tick;
    cal_schedule_periodic(world, knot->callback);
}

// Takes back the collisions that made a state which was just deleted, with those inside a group's step to it. Those up to where the group
// begins anew have happened, and go with the state that it begins with, also where that is before a state with which it had begun anew in the same
// step. What is before GVT is written down for good (contact/fusion.c), and numbers of junctions from then are used again.
static void forget_collisions(cal_world* world, int component, const cal_saved_state* knot) {
    const cal_queue* queue = &world->components[component].queue;
    if (world->log.tail == world->log.head) return;
    if (!world->components[component].ops->stepped || queue->tail == queue->head) {
        if (knot->junction >= 0) cal_log_forget(&world->log, knot->junction, knot->time, knot->time);
        return;
    }
    const double begin = fmax(cal_saved_state_at(queue, queue->tail - 1)->time, world->gvt);
    const int group = cal_log_group(component);
    const bool anew = world->beginning == component + 1;
    if (anew && knot->junction >= 0) cal_log_pass(&world->log, knot->junction, group, begin, world->begins);
    if (knot->junction >= 0) cal_log_forget(&world->log, knot->junction, begin, knot->time);
    const double stays = anew ? nextafter(world->begins, (double)INFINITY) : begin;
    if (knot->kind == CAL_SEGMENT) cal_log_forget(&world->log, group, fmax(begin, stays), knot->time);
}

// Deletes the states of one queue from a number on and puts what they are linked to on the stack.
static cal_status delete_states(cal_world* world, cal_state_ref link, cal_error* error) {
    cal_queue* queue = &world->components[link.component].queue;
    if (link.number >= queue->tail) return CAL_OK;
    // Of a group all states may go, and with them the group. Others keep one: what is before it is final, unless an image says otherwise.
    if (link.number < queue->head + (world->components[link.component].group == NULL))
        return cal_fail(error, CAL_BAD_ARGUMENT, "a rollback at %.9g s goes beyond the states that are kept",
                        world->now);
    const double time = cal_saved_state_at(queue, link.number)->time,
                 reached = cal_saved_state_at(queue, queue->tail - 1)->time;
    const int deleted = (int)(queue->tail - link.number);
    world->components[link.component].news = CAL_NEWS_NEAR | CAL_NEWS_ALL;
    end_course(world, &world->components[link.component]);
    while (queue->tail > link.number) {
        const cal_saved_state knot = *cal_saved_state_at(queue, --queue->tail);
        world->states--;
        undo_callback(world, &knot);
        forget_collisions(world, link.component, &knot);
        if (knot.junction < 0) continue;
        const cal_junction* junction = &world->junctions[knot.junction];
        for (int i = 0; i < junction->count; i++)
            if (junction->links[i].component != link.component && !push_link(world, junction->links[i]))
                return cal_fail(error, CAL_NO_MEMORY, "out of memory for a rollback");
        world->report.undone += junction->references == junction->count;
        release_junction(world, knot.junction);
    }
    const cal_status status = cal_note_change(world, link.component, time, error);
    if (status != CAL_OK) return status;
    cal_change* change = cal_find_change(world, link.component);
    change->reached = fmax(change->reached, reached);
    change->deleted += deleted;
    return CAL_OK;
}

cal_status cal_rollback(cal_world* world, int component, int64_t number, cal_error* error) {
    world->stack_count = 0;
    if (!push_link(world, (cal_state_ref){component, number}))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for a rollback");
    while (world->stack_count > 0) {
        const cal_status status = delete_states(world, world->stack[--world->stack_count], error);
        if (status != CAL_OK) return status;
    }
    return CAL_OK;
}

cal_status cal_rollback_to(cal_world* world, int component, double time, cal_error* error) {
    const cal_queue* queue = &world->components[component].queue;
    int64_t n = cal_queue_find(queue, time) + 1;
    if (n <= queue->head) n = queue->head + 1;
    if (n < queue->tail) {
        const cal_status status = cal_rollback(world, component, n, error);
        if (status != CAL_OK) return status;
    }
    return cal_note_change(world, component, time, error);
}

static cal_status settle_component(cal_world* world, const cal_change* change, cal_error* error) {
    cal_component* c = &world->components[change->component];
    // A multibody computes ahead of what events have used of it: what was never used was integrated, too. A free body's motion is
    // evaluated, not integrated.
    const bool ahead = c->ops != NULL && !c->ops->single && change->reached > c->local_time;
    if (ahead) {
        count_integration(world, c, change->reached - fmax(c->local_time, change->time), change->deleted);
        c->local_time = change->reached;
    }
    if (c->local_time > change->time) {
        world->report.rolled_back += (c->local_time - change->time) * c->weight;
        world->report.rollbacks++;
        c->local_time = change->time;
    }
    if (cal_component_is_fused(c)) return CAL_OK; // its group settles
    return c->ops != NULL ? c->ops->changed(world, change->component, change->time, error) : CAL_OK;
}

cal_status cal_world_update_changed(cal_world* world, cal_error* error) {
    cal_status status = CAL_OK;
    cal_pairs_gather(world);
    // The latest change first: of a pair of which both sides have changed, what is predicted last is from where the first one did.
    while (status == CAL_OK && world->change_count > 0) {
        const cal_change change = take_latest_change(world);
        status = settle_component(world, &change, error);
    }
    return cal_pairs_predict(world, status, error);
}
