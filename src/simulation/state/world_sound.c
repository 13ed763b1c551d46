// Whether what was read from an image is a world; see world_parts.h.
//
// A checksum says that an image is as somebody wrote it, not that a simulation has. So whatever is used as an index is compared with what is
// there, and lists that name each other are compared with each other, once, before anything is used. How fast and where bodies are may be
// anything finite: a run goes on from there, or ends with a line.
#include "base/finite.h"
#include "base/memory.h"
#include "base/sound.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/members.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/motion/search.h"
#include "simulation/state/world_image.h"
#include "simulation/state/world_parts.h"
#include <string.h>

enum { EVENT_KINDS = CAL_EVENT_STEP + 1 };

static bool is_below(int number, int end) { return number >= 0 && number < end; }
static bool is_none_or_below(int number, int end) { return number >= -1 && number < end; }

static bool is_group(const cal_world* world, int component) {
    return is_below(component, world->component_count) && world->components[component].group != NULL;
}

// Numbers of a list: each is below `end`, and is marked, at most once.
static bool mark_each(const int* numbers, int count, int end, unsigned char* marks) {
    bool sound = true;
    for (int i = 0; sound && i < count; i++) {
        sound = is_below(numbers[i], end) && marks[numbers[i]] == 0;
        if (sound) marks[numbers[i]] = 1;
    }
    return sound;
}

// --- Numbers of states, for the tables of components (a free body's: motion/trajectory.c) --------------------------------------

// The memory of a system is looked at where it is used (cal_system_load_motion).
bool cal_multibody_sound(const cal_world* world, int component, const cal_saved_state* state) {
    const double* data = (const double*)(const void*)(state + 1);
    const cal_multibody* m = world->components[component].multibody;
    const cal_multibody_places* at = &m->at;
    return cal_all_finite(data, at->memory) && cal_all_finite(data + at->length, at->stride - at->length) &&
           cal_is_index(data[at->system], CAL_FLIGHT_SYSTEMS - 1) &&
           m->engine->systems[(int)data[at->system]] != NULL && data[at->step] >= 0.0 && data[at->repeats] >= 0.0 &&
           data[at->length] >= 0.0 && cal_is_index(data[at->degree], m->engine->terms - 1);
}

bool cal_group_sound(const cal_world* world, int component, const cal_saved_state* state) {
    const double* data = (const double*)(const void*)(state + 1);
    const cal_component* c = &world->components[component];
    const cal_contact_group* g = c->group;
    const double* arrival = data + g->at_arrival;
    return cal_all_finite(data, g->at_memory) && cal_all_finite(data + g->at_rest, g->at_arrival - g->at_rest) &&
           world->group_ops->sound(&g->group, data + g->at_memory) && cal_all_finite(arrival, g->at_memory) &&
           cal_all_finite(arrival + g->at_rest, c->queue.stride - g->at_arrival - g->at_rest) &&
           world->group_ops->sound(&g->group, arrival + g->at_memory);
}

// --- Who is there -------------------------------------------------------------------------------------------------------------------

// A multibody with all of its links and its ground, or none of them; a callback with its bodies; and the model of a simulation.
static bool are_members_sound(const cal_world_parts* p, const cal_world* own) {
    for (int i = 0; i < own->multibody_count; i++) {
        const cal_multibody* m = own->multibodies[i];
        const bool there = p->multibodies[i].identity != 0;
        if (m->stage != CAL_BEGUN) continue;
        if (m->ground >= 0 && (p->bodies[m->ground].identity != 0) != there) return false;
        for (int k = 0; k < m->engine->body_count; k++)
            if ((p->bodies[m->bodies[k]].identity != 0) != there) return false;
    }
    for (int i = 0; i < own->periodic_hook_count; i++)
        for (int k = 0; p->hooks[i].identity != 0 && k < own->periodic_hooks[i].count; k++)
            if (p->bodies[own->periodic_hooks[i].bodies[k]].identity == 0) return false;
    for (int i = 0; i < own->body_count; i++)
        if (own->bodies[i].of_model && p->bodies[i].identity == 0) return false;
    return true;
}

// --- Components -----------------------------------------------------------------------------------------------------------------

static bool is_state_sound(const cal_world* world, int component, int64_t number) {
    const cal_component* c = &world->components[component];
    const cal_saved_state* state = cal_saved_state_at(&c->queue, number);
    const bool newest = number == c->queue.tail - 1, first = number == c->queue.head;
    if (!isfinite(state->time) || (!first && state->time < cal_saved_state_at(&c->queue, number - 1)->time) ||
        !is_none_or_below(state->junction, world->junction_count) ||
        !is_none_or_below(state->callback, world->periodic_hook_count))
        return false;
    switch (state->kind) {
    case CAL_SEGMENT:
    case CAL_STEP: break;
    case CAL_ENDED:
        if (c->group == NULL || !newest) return false;
        break;
    case CAL_FUSED:
        // An old one may name a place that another group has by now, or nobody.
        if (c->group != NULL || !is_below(state->group, world->component_count) ||
            (newest && !cal_group_has(world, state->group, component)))
            return false;
        break;
    default: return false;
    }
    return c->ops->sound(world, component, state);
}

// Whether a body is one of a group's members, which are in the order of their first bodies. Numbers of components are the image's, and not
// those that bodies of the world as it is have.
static bool is_of_member(const cal_world* world, const cal_contact_group* g, int body) {
    int low = 0, high = g->group.unit_count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (world->components[g->members[middle]].body <= body)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) return false;
    const cal_component* last = &world->components[g->members[low - 1]];
    return body < last->body + last->weight;
}

// No member is twice in a group, and what moves in its pairs is of a member. What does not move may have been removed since it ended.
static bool is_group_sound(const cal_world_parts* p, const cal_component* c) {
    const cal_world* world = &p->world;
    const cal_contact_group* g = c->group;
    const int count = g->group.unit_count;
    const bool is_past =
        cal_component_has_ended(c) && cal_saved_state_at(&c->queue, c->queue.tail - 1)->time <= world->gvt;
    if (count < 1 || g->last_contacts < 0) return false;
    for (int i = 1; i < count; i++)
        if (world->components[g->members[i]].body <= world->components[g->members[i - 1]].body) return false;
    for (int i = 0; i < g->pair_count; i++)
        for (int k = 0; k < 2; k++) {
            const int body = g->pairs[i][k];
            if (!is_past && p->bodies[body].identity == 0) return false;
            if (world->bodies[body].component >= 0 && !is_of_member(world, g, body)) return false;
        }
    return true;
}

// marks: room for a mark per body.
static bool are_components_sound(const cal_world_parts* p, const cal_world* own, unsigned char* marks) {
    const cal_world* world = &p->world;
    int64_t states = 0;
    for (int i = 0; i < world->component_count; i++) {
        const cal_component* c = &world->components[i];
        if (c->ops == NULL) continue;
        if (isnan(c->local_time) || (c->group != NULL && !is_group_sound(p, c))) return false;
        for (int k = 0; c->group == NULL && k < c->weight; k++) {
            const int body = c->body + k;
            if (!is_below(body, own->body_count) || p->bodies[body].identity == 0 || marks[body]) return false;
            marks[body] = 1;
        }
        for (int64_t n = c->queue.head; n < c->queue.tail; n++)
            if (!is_state_sound(world, i, n)) return false;
        // Somebody may look at what is not of a group at any time from now on.
        if (c->group == NULL && cal_saved_state_at(&c->queue, c->queue.head)->time > world->time) return false;
        states += c->queue.tail - c->queue.head;
    }
    // Whatever moves by itself belongs to one.
    for (int i = 0; i < own->body_count; i++)
        if (p->bodies[i].identity != 0 && (own->bodies[i].component >= 0) != (marks[i] != 0)) return false;
    return states == world->states;
}

// Unused places are unused, each once; groups that ended are groups, or gone.
static bool are_places_sound(const cal_world* world, unsigned char* marks) {
    if (!mark_each(world->unused_components, world->unused_count, world->component_count, marks)) return false;
    for (int i = 0; i < world->component_count; i++)
        if ((world->components[i].ops == NULL) != (marks[i] != 0)) return false;
    for (int i = 0; i < world->ended_count; i++)
        if (!is_below(world->ended[i], world->component_count) ||
            (world->components[world->ended[i]].ops != NULL && world->components[world->ended[i]].group == NULL))
            return false;
    return true;
}

// --- Junctions --------------------------------------------------------------------------------------------------------------------

// Each is named by as many states as it says, and what nobody names is in the list of unused ones. States that it names may be gone, and
// their places others': they are before GVT, and a rollback that comes to them ends there (graph.c).
static bool are_junctions_sound(const cal_world* world, int* named, unsigned char* marks) {
    for (int i = 0; i < world->component_count; i++) {
        const cal_queue* queue = &world->components[i].queue;
        for (int64_t n = queue->head; n < queue->tail; n++) {
            const int junction = cal_saved_state_at(queue, n)->junction;
            if (junction >= 0) named[junction]++;
        }
    }
    if (!mark_each(world->unused_junctions, world->unused_junction_count, world->junction_count, marks)) return false;
    for (int i = 0; i < world->junction_count; i++) {
        const cal_junction* j = &world->junctions[i];
        if (j->references != named[i] || (named[i] == 0) != (marks[i] != 0) || (marks[i] && j->count != 0))
            return false;
        for (int k = 0; k < j->count; k++)
            if (!is_below(j->links[k].component, world->component_count)) return false;
    }
    return true;
}

// --- Pairs and events -------------------------------------------------------------------------------------------------------------

// Whether another pair has the same bodies.
static bool is_twice(const cal_world_parts* p, const cal_pair* pair) {
    const cal_body_part *a = &p->bodies[pair->body[0]], *b = &p->bodies[pair->body[1]];
    const cal_body_part* shorter = a->pair_count <= b->pair_count ? a : b;
    for (int i = 0; i < shorter->pair_count; i++) {
        if (!is_below(shorter->pairs[i], p->world.table.pair_count)) return true;
        const cal_pair* other = &p->world.table.pairs[shorter->pairs[i]];
        if (other != pair && other->body[0] == pair->body[0] && other->body[1] == pair->body[1]) return true;
    }
    return false;
}

static bool is_pair_sound(const cal_world_parts* p, const cal_world* own, int number) {
    const cal_pair* pair = &p->world.table.pairs[number];
    for (int k = 0; k < 2; k++) {
        if (!is_below(pair->body[k], own->body_count) || p->bodies[pair->body[k]].identity == 0) return false;
        const cal_body_part* body = &p->bodies[pair->body[k]];
        if (!is_below(pair->place[k], body->pair_count) || body->pairs[pair->place[k]] != number) return false;
    }
    return pair->body[0] < pair->body[1] && pair->kind == (int)cal_classify(own, pair->body[0], pair->body[1]) &&
           !is_twice(p, pair);
}

// A pair is in use or in the list of free ones, and the lists of bodies have no other.
static bool are_pairs_sound(const cal_world_parts* p, const cal_world* own, unsigned char* marks) {
    const cal_pair_table* table = &p->world.table;
    int64_t used = 0, listed = 0;
    if (!mark_each(table->free, table->free_count, table->pair_count, marks)) return false;
    for (int i = 0; i < table->pair_count; i++) {
        if ((table->pairs[i].event < 0) != (marks[i] != 0)) return false;
        if (marks[i]) continue;
        if (!is_pair_sound(p, own, i)) return false;
        used += 2;
    }
    for (int i = 0; i < own->body_count; i++) listed += p->bodies[i].pair_count;
    return used == listed;
}

// An event of somebody: in a slot of its own, which says so.
static bool claim_event(const cal_event_queue* queue, int event, cal_event_kind kind, int owner, unsigned char* marks) {
    if (!is_below(event, queue->slot_count) || marks[event]) return false;
    marks[event] = 1;
    return cal_event_kind_of(&queue->slots[event]) == kind && queue->slots[event].owner == owner;
}

static bool are_events_claimed(const cal_world_parts* p, const cal_world* own, unsigned char* marks) {
    const cal_world* world = &p->world;
    const cal_event_queue* queue = &world->events;
    bool sound = mark_each(queue->free, queue->free_count, queue->slot_count, marks);
    int claimed = queue->free_count;
    for (int i = 0; sound && i < own->body_count; i++)
        if (p->bodies[i].identity != 0 && p->bodies[i].box_event >= 0)
            sound = claim_event(queue, p->bodies[i].box_event, CAL_EVENT_BOX, i, marks), claimed++;
    for (int i = 0; sound && i < own->periodic_hook_count; i++)
        if (p->hooks[i].identity != 0)
            sound = claim_event(queue, p->hooks[i].event, CAL_EVENT_CALLBACK, i, marks), claimed++;
    for (int i = 0; sound && i < world->component_count; i++)
        if (is_group(world, i)) {
            sound = claim_event(queue, world->components[i].group->check_event, CAL_EVENT_GROUP, i, marks) &&
                    claim_event(queue, world->components[i].group->step_event, CAL_EVENT_STEP, i, marks);
            claimed += 2;
        }
    for (int i = 0; sound && i < world->table.pair_count; i++)
        if (world->table.pairs[i].event >= 0)
            sound = claim_event(queue, world->table.pairs[i].event, CAL_EVENT_PAIR, i, marks), claimed++;
    return sound && claimed == queue->slot_count;
}

// Whether an event is none that a world has passed. A group that comes from another rank repeats its step from the beginning (domain/rebuild.c), which is no
// longer than the interval of its checks.
static bool is_to_come(const cal_event_slot* slot, double due, double time, double interval) {
    return due >= (cal_event_kind_of(slot) == CAL_EVENT_STEP ? time - interval : time);
}

// The heap and the slots name each other, and what is due comes first.
static bool is_heap_sound(const cal_event_queue* queue, double time, double interval) {
    int scheduled = 0;
    for (int i = 0; i < queue->count; i++) {
        const cal_heap_entry* entry = &queue->heap[CAL_HEAP_ROOT + i];
        if (!isfinite(entry->time) || !is_below(entry->event, queue->slot_count) ||
            queue->slots[entry->event].position != i ||
            !is_to_come(&queue->slots[entry->event], entry->time, time, interval) ||
            (i > 0 && entry->time < queue->heap[CAL_HEAP_ROOT + (i - 1) / 4].time))
            return false;
    }
    for (int i = 0; i < queue->slot_count; i++) {
        if (!is_none_or_below(queue->slots[i].position, queue->count)) return false;
        scheduled += queue->slots[i].position >= 0;
    }
    for (int i = 0; i < queue->free_count; i++)
        if (queue->slots[queue->free[i]].position >= 0) return false;
    return scheduled == queue->count;
}

// --- The rest ---------------------------------------------------------------------------------------------------------------------

static bool are_bodies_sound(const cal_world_parts* p, const cal_world* own) {
    for (int i = 0; i < own->body_count; i++) {
        const cal_body_part* body = &p->bodies[i];
        if (body->identity == 0) continue;
        if (isnan(body->box_end) || isnan(body->hit_at) || isnan(body->came) || !cal_is_count(body->hits_at_time))
            return false;
        for (int k = 0; body->boxed && k < 3; k++)
            if (!(body->box.low[k] <= body->box.high[k])) return false;
    }
    for (int i = 0; i < own->periodic_hook_count; i++)
        if (p->hooks[i].identity != 0 && !cal_is_count(p->hooks[i].tick)) return false;
    for (int i = 0; i < own->multibody_count; i++) {
        const cal_multibody_part* m = &p->multibodies[i];
        if (m->identity == 0) continue;
        const int scales = own->multibodies[i]->engine->q_count + own->multibodies[i]->engine->v_count;
        for (int k = 0; k < scales; k++)
            if (!(m->scale[k] > 0.0 && m->scale[k] < INFINITY)) return false;
        const cal_multibody_model* engine = own->multibodies[i]->engine;
        for (int k = 0; engine->stop_count > 0 && k < 2 * engine->v_count; k++)
            if (!(m->stops[k] >= 0.0 && m->stops[k] < INFINITY)) return false;
        for (int k = 0; k < m->push_count; k++)
            if (!cal_all_finite(m->pushes[k].force, 3) || !cal_all_finite(m->pushes[k].torque, 3) ||
                !cal_all_finite(m->pushes[k].point, 3))
                return false;
    }
    const cal_world* world = &p->world;
    for (int i = 1; i < world->ignored_count; i++)
        if (world->ignored[i] <= world->ignored[i - 1]) return false;
    for (int i = 0; i < world->ignored_overlap_count; i++)
        for (int k = 0; k < 2; k++)
            if (!is_below(world->ignored_overlaps[i].body[k], own->body_count)) return false;
    return true;
}

// Collisions that nobody has taken yet, in the order of time. Their bodies may have been removed since.
static bool is_log_sound(const cal_world* world) {
    const cal_event_log* log = &world->log;
    for (int64_t i = log->head; i < log->tail; i++) {
        const cal_world_event* event = &log->events[(size_t)i % (size_t)log->capacity];
        if (!isfinite(event->time) || !isfinite(event->impulse) || !cal_all_finite(event->normal, 3) ||
            !cal_all_finite(event->point, 3) || event->body[0].index < 0 || event->body[1].index < 0 ||
            (i > log->head && event->time < log->events[(size_t)(i - 1) % (size_t)log->capacity].time))
            return false;
    }
    return true;
}

static bool are_counts_sound(const cal_world* world) {
    const cal_world_report* r = &world->report;
    const int64_t counts[] = {
        r->discontinuities,  r->collisions,     r->fusions,        r->fissions,         r->checks,
        r->predictions,      r->events,         r->series,         r->integrations,     r->rollbacks,
        r->undone,           r->forced,         r->callbacks,      r->group_steps,      r->groups,
        r->peak_states,      r->group_rejected, r->group_solves,   r->group_newton,     world->frontier_count,
        world->states,       r->largest_group,  r->start_overlaps, r->largest_contacts, world->account.steps,
        world->frontier_most};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (counts[i] < 0 || counts[i] > INT64_MAX / 2) return false;
    return isfinite(world->time) && isfinite(world->now) && isfinite(world->gvt) && !isnan(world->frontier) &&
           !isnan(world->last_event) && world->halvings >= 0 && world->halvings <= INT32_MAX &&
           world->repeats_left >= -INT64_MAX / 2 && world->repeats_left <= INT64_MAX / 2;
}

// The rate of group checks is the user's, or one that slow motions allow; small bodies, which this world has too, may raise it.
static bool are_rates_sound(const cal_world* world, const cal_world* own) {
    const bool first = own->given_rate > 0.0
                           ? world->first_rate == own->given_rate
                           : world->first_rate >= CAL_LEAST_CHECKS && world->first_rate <= CAL_MOST_CHECKS;
    return first && world->start_rate >= world->first_rate &&
           world->start_rate <= fmax(world->first_rate, own->start_rate);
}

cal_status cal_world_parts_check(const cal_world_parts* parts, const cal_world* own) {
    const cal_world* world = &parts->world;
    size_t most = (size_t)own->body_count;
    const int counts[] = {world->component_count, world->junction_count, world->table.pair_count,
                          world->events.slot_count};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        most = (size_t)counts[i] > most ? (size_t)counts[i] : most;
    enum { LISTS = 5 };
    unsigned char* marks = cal_allocate(LISTS * (most + 1), sizeof *marks);
    int* named = cal_allocate((size_t)world->junction_count + 1, sizeof *named);
    cal_status status = CAL_NO_MEMORY;
    if (marks != NULL && named != NULL) {
        const bool sound = are_counts_sound(world) && are_rates_sound(world, own) && are_members_sound(parts, own) &&
                           are_components_sound(parts, own, marks) && are_places_sound(world, marks + most) &&
                           are_junctions_sound(world, named, marks + 2 * most) &&
                           are_pairs_sound(parts, own, marks + 3 * most) &&
                           are_events_claimed(parts, own, marks + 4 * most) &&
                           is_heap_sound(&world->events, world->time, 1.0 / world->start_rate) &&
                           are_bodies_sound(parts, own) && is_log_sound(world);
        status = sound ? CAL_OK : CAL_BAD_ARGUMENT;
    }
    cal_free(marks);
    cal_free(named);
    return status;
}
