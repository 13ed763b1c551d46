// Worlds to images and back; see world_image.h.
//
// Reading fills another world that shares with the first one all that does not change, and a list of what bodies, hooks and
// multibodies are to get. When everything is there, and not before, the two change places.
#include "simulation/state/world_image.h"
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/event/events.h"
#include "simulation/event/log.h"
#include "simulation/event/pairs.h"
#include "simulation/members.h"
#include "simulation/motion/free_body.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/state/graph.h"
#include "simulation/state/image.h"
#include "simulation/state/world_parts.h"
#include "simulation/world.h"
#include <string.h>

// --- What there is --------------------------------------------------------------------------------------------------------------

// Numbers of what is in the places of a list, up to the last one that is in use.
static void move_identities(cal_image* image, const cal_world* own, int places,
                            uint64_t identity(const cal_world* world, int number), uint64_t* first, size_t step,
                            const char* what, cal_error* error) {
    int count = places;
    while (image->writes && count > 0 && identity(own, count - 1) == 0) count--;
    cal_image_count(image, &count);
    for (int i = 0; image->status == CAL_OK && i < count; i++) {
        uint64_t theirs = image->writes ? identity(own, i) : 0;
        cal_image_words(image, &theirs, 1);
        if (first == NULL || image->status != CAL_OK || theirs == 0) continue; // writing
        if (i >= places || identity(own, i) != theirs) {
            image->status =
                cal_fail(error, CAL_BAD_ARGUMENT,
                         "it has %s number %d, which is not in this world, or not any more: what was removed "
                         "since is to be added first, in the same order",
                         what, i);
            return;
        }
        *(uint64_t*)(void*)((unsigned char*)first + (size_t)i * step) = theirs;
    }
}

static void move_members(cal_image* image, cal_world_parts* p, const cal_world* own, cal_error* error) {
    move_identities(image, own, own->body_count, cal_body_identity, image->writes ? NULL : &p->bodies[0].identity,
                    sizeof *p->bodies, "body", error);
    move_identities(image, own, own->multibody_count, cal_multibody_identity,
                    image->writes ? NULL : &p->multibodies[0].identity, sizeof *p->multibodies, "multibody", error);
    move_identities(image, own, own->periodic_hook_count, cal_hook_identity,
                    image->writes ? NULL : &p->hooks[0].identity, sizeof *p->hooks, "periodic callback", error);
}

// --- Components ---------------------------------------------------------------------------------------------------------------

static void move_kind(cal_image* image, cal_world* world, int component) {
    cal_component* c = &world->components[component];
    int kind = c->ops != NULL ? (int)c->ops->kind : (int)CAL_UNUSED;
    cal_image_int(image, &kind);
    if (image->writes || !cal_image_check(image, kind >= CAL_UNUSED && kind <= CAL_GROUP)) return;
    *c = (cal_component){.ops = cal_component_table((cal_component_kind)kind), .number = component, .body = -1};
}

static void move_components(cal_image* image, cal_world* world, const cal_world* own, cal_error* error) {
    if (!cal_image_list(image, (void**)&world->components, &world->component_count, &world->component_capacity, 0,
                        sizeof *world->components))
        return;
    for (int i = 0; image->status == CAL_OK && i < world->component_count; i++) move_kind(image, world, i);
    // What groups are made of comes first.
    for (int grouped = 0; grouped < 2; grouped++)
        for (int i = 0; image->status == CAL_OK && i < world->component_count; i++) {
            const cal_component_ops* ops = world->components[i].ops;
            if (ops != NULL && (ops->member == NULL) == (grouped == 1))
                cal_image_component(image, world, i, own, error);
        }
    if (image->status != CAL_OK) return;
    // As many unused ones as there may be.
    if (cal_image_list(image, (void**)&world->unused_components, &world->unused_count, &world->unused_capacity,
                       world->component_capacity, sizeof *world->unused_components))
        cal_image_ints(image, world->unused_components, (size_t)world->unused_count);
    if (cal_image_list(image, (void**)&world->ended, &world->ended_count, &world->ended_capacity, 0,
                       sizeof *world->ended))
        cal_image_ints(image, world->ended, (size_t)world->ended_count);
}

static void move_junctions(cal_image* image, cal_world* world) {
    if (!cal_image_list(image, (void**)&world->junctions, &world->junction_count, &world->junction_capacity, 0,
                        sizeof *world->junctions))
        return;
    for (int i = 0; i < world->junction_count; i++) {
        cal_junction* j = &world->junctions[i];
        cal_image_int(image, &j->references);
        if (!cal_image_list(image, (void**)&j->links, &j->count, &j->capacity, 0, sizeof *j->links)) return;
        for (int k = 0; k < j->count; k++) {
            cal_image_int(image, &j->links[k].component);
            cal_image_long(image, &j->links[k].number);
        }
    }
    if (cal_image_list(image, (void**)&world->unused_junctions, &world->unused_junction_count, NULL,
                       world->junction_capacity, sizeof *world->unused_junctions))
        cal_image_ints(image, world->unused_junctions, (size_t)world->unused_junction_count);
}

// --- Pairs, events, the log -----------------------------------------------------------------------------------------------------

static void move_pairs(cal_image* image, cal_pair_table* table) {
    int count = table->pair_count;
    cal_image_count(image, &count);
    if (!image->writes && !cal_pair_table_reserve(table, count)) image->status = CAL_NO_MEMORY;
    if (image->status != CAL_OK) return;
    table->pair_count = count;
    for (int i = 0; i < count; i++) {
        cal_pair* pair = &table->pairs[i];
        cal_image_ints(image, pair->body, 2);
        cal_image_ints(image, pair->place, 2);
        cal_image_int(image, &pair->kind);
        cal_image_int(image, &pair->event);
        cal_image_bool(image, &pair->hit);
        cal_image_bool(image, &pair->off);
    }
    cal_image_count(image, &table->free_count);
    if (!cal_image_check(image, table->free_count <= count)) return;
    cal_image_ints(image, table->free, (size_t)table->free_count);
}

static void move_events(cal_image* image, cal_event_queue* queue) {
    int slots = queue->slot_count, count = queue->count, unused = queue->free_count;
    cal_image_count(image, &slots);
    cal_image_count(image, &count);
    cal_image_count(image, &unused);
    if (!cal_image_check(image, count <= slots && unused <= slots)) return;
    if (!image->writes && !cal_events_reserve(queue, slots)) image->status = CAL_NO_MEMORY;
    if (image->status != CAL_OK) return;
    queue->slot_count = slots, queue->count = count, queue->free_count = unused;
    for (int i = 0; i < slots; i++) {
        cal_image_words(image, &queue->slots[i].order, 1);
        cal_image_int(image, &queue->slots[i].position);
        cal_image_int(image, &queue->slots[i].owner);
    }
    for (int i = 0; i < count; i++) {
        cal_image_number(image, &queue->heap[CAL_HEAP_ROOT + i].time);
        cal_image_int(image, &queue->heap[CAL_HEAP_ROOT + i].event);
    }
    cal_image_ints(image, queue->free, (size_t)unused);
}

// first_id: of the world, since ids are its own.
void cal_image_event(cal_image* image, uint32_t first_id, cal_world_event* event) {
    cal_image_number(image, &event->time);
    for (int i = 0; i < 2; i++) {
        int64_t generation = (uint32_t)(event->body[i].generation - first_id);
        cal_image_int(image, &event->body[i].index);
        cal_image_long(image, &generation);
        event->body[i].generation = (uint32_t)generation + first_id;
    }
    cal_image_number(image, &event->impulse);
    cal_image_numbers(image, event->normal, 3);
    cal_image_numbers(image, event->point, 3);
    cal_image_bool(image, &event->fusion);
}

// Collisions that nobody has taken yet. Whether more of them are kept is the watcher's business, not the state's.
static void move_log(cal_image* image, uint32_t first_id, cal_event_log* log) {
    int count = (int)(log->tail - log->head);
    cal_image_count(image, &count);
    if (!image->writes && count > 0) {
        log->events = cal_allocate((size_t)count, sizeof *log->events);
        log->junctions = cal_allocate((size_t)count, sizeof *log->junctions);
        log->capacity = count;
        if (log->events == NULL || log->junctions == NULL) image->status = CAL_NO_MEMORY;
    }
    if (image->status != CAL_OK) return;
    if (!image->writes) log->tail = count;
    for (int64_t i = log->head; i < log->tail; i++) {
        const size_t at = (size_t)i % (size_t)log->capacity;
        cal_image_event(image, first_id, &log->events[at]);
        cal_image_int(image, &log->junctions[at]);
    }
}

// --- Bodies, hooks, multibodies -------------------------------------------------------------------------------------------------

static cal_body_part part_of_body(const cal_world* world, int body) {
    const cal_sim_body* b = &world->bodies[body];
    cal_body_part part = {.box_end = b->box_end,
                          .hit_at = b->hit_at,
                          .came = b->came,
                          .box_event = b->box_event,
                          .hits_at_time = b->hits_at_time,
                          .pairs = b->pairs,
                          .pair_count = b->pair_count,
                          .pair_capacity = b->pair_capacity,
                          .boxed = cal_broad_has(world->broad, body)};
    if (part.boxed) part.box = *cal_broad_box(world->broad, body);
    return part;
}

static void move_body(cal_image* image, cal_body_part* part) {
    cal_image_number(image, &part->box_end);
    cal_image_number(image, &part->hit_at);
    cal_image_number(image, &part->came);
    cal_image_int(image, &part->box_event);
    cal_image_int(image, &part->hits_at_time);
    if (cal_image_list(image, (void**)&part->pairs, &part->pair_count, &part->pair_capacity, 0, sizeof *part->pairs))
        cal_image_ints(image, part->pairs, (size_t)part->pair_count);
    cal_image_bool(image, &part->boxed);
    if (!part->boxed) return;
    cal_image_numbers(image, part->box.low, 3);
    cal_image_numbers(image, part->box.high, 3);
}

static cal_multibody_part part_of_multibody(const cal_multibody* m) {
    return (cal_multibody_part){.pushes = m->pushes,
                                .push_count = m->push_count,
                                .push_capacity = m->push_capacity,
                                .start_moved = m->start_moved,
                                .scale = m->engine->scale,
                                .stops = m->engine->stop_numbers};
}

static void move_multibody(cal_image* image, const cal_multibody* m, cal_multibody_part* part) {
    const size_t scales = (size_t)(m->engine->q_count + m->engine->v_count),
                 stops = m->engine->stop_count > 0 ? 2 * (size_t)m->engine->v_count : 0;
    cal_image_number(image, &part->start_moved);
    if (!image->writes && image->status == CAL_OK) {
        part->scale = cal_allocate(scales + stops + 1, sizeof *part->scale);
        if (part->scale == NULL) image->status = CAL_NO_MEMORY;
        part->stops = part->scale != NULL ? part->scale + scales : NULL;
    }
    cal_image_numbers(image, part->scale, scales);
    cal_image_numbers(image, part->stops, stops);
    if (!cal_image_list(image, (void**)&part->pushes, &part->push_count, &part->push_capacity, 0, sizeof *part->pushes))
        return;
    for (int i = 0; i < part->push_count; i++) {
        cal_outer_force* push = &part->pushes[i];
        cal_image_int(image, &push->body);
        cal_image_numbers(image, push->force, 3);
        cal_image_numbers(image, push->torque, 3);
        cal_image_numbers(image, push->point, 3);
        cal_image_check(image, push->body >= 0 && push->body < m->engine->body_count);
    }
}

// --- The whole ------------------------------------------------------------------------------------------------------------------

void cal_image_report(cal_image* image, cal_world_report* r) {
    int64_t* const longs[] = {&r->discontinuities, &r->collisions,   &r->fusions,     &r->fissions,
                              &r->checks,          &r->predictions,  &r->events,      &r->series,
                              &r->integrations,    &r->rollbacks,    &r->undone,      &r->forced,
                              &r->callbacks,       &r->group_steps,  &r->groups,      &r->peak_states,
                              &r->group_rejected,  &r->group_solves, &r->group_newton};
    for (size_t i = 0; i < sizeof longs / sizeof longs[0]; i++) cal_image_long(image, longs[i]);
    double* const numbers[] = {&r->intervals,   &r->integrated,  &r->rolled_back,
                               &r->start_depth, &r->start_moved, &r->penetration};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) cal_image_number(image, numbers[i]);
    int* const ints[] = {&r->largest_group, &r->largest_contacts, &r->start_overlaps};
    for (size_t i = 0; i < sizeof ints / sizeof ints[0]; i++) cal_image_int(image, ints[i]);
}

static void move_scalars(cal_image* image, cal_world* world) {
    cal_image_number(image, &world->time);
    cal_image_number(image, &world->now);
    cal_image_number(image, &world->gvt);
    cal_image_words(image, &world->random.state, 1);
    cal_image_number(image, &world->first_rate);
    cal_image_number(image, &world->start_rate);
    cal_image_number(image, &world->frontier);
    cal_image_number(image, &world->last_event);
    cal_image_long(image, &world->frontier_count);
    cal_image_long(image, &world->frontier_most);
    cal_image_long(image, &world->repeats_left);
    cal_image_long(image, &world->halvings);
    cal_image_long(image, &world->states);
    cal_image_report(image, &world->report);
    cal_image_words(image, &world->account, sizeof world->account / sizeof(uint64_t));
}

static void move_ignored(cal_image* image, cal_world* world) {
    if (cal_image_list(image, (void**)&world->ignored, &world->ignored_count, &world->ignored_capacity, 0,
                       sizeof *world->ignored))
        cal_image_words(image, world->ignored, (size_t)world->ignored_count);
    if (!cal_image_list(image, (void**)&world->ignored_overlaps, &world->ignored_overlap_count,
                        &world->ignored_overlap_capacity, 0, sizeof *world->ignored_overlaps))
        return;
    for (int i = 0; i < world->ignored_overlap_count; i++) {
        cal_image_ints(image, world->ignored_overlaps[i].body, 2);
        cal_image_number(image, &world->ignored_overlaps[i].depth);
    }
}

// own: the world as it is; writing, parts->world shares everything with it.
static void move_world(cal_image* image, cal_world_parts* p, const cal_world* own, cal_error* error) {
    cal_world* world = &p->world;
    move_scalars(image, world);
    move_members(image, p, own, error);
    if (image->status == CAL_OK) move_components(image, world, own, error);
    if (image->status == CAL_OK) move_junctions(image, world);
    if (image->status == CAL_OK) move_ignored(image, world);
    if (image->status == CAL_OK) move_pairs(image, &world->table);
    if (image->status == CAL_OK) move_events(image, &world->events);
    if (image->status == CAL_OK) move_log(image, own->first_id, &world->log);
    for (int i = 0; image->status == CAL_OK && i < own->body_count; i++) {
        if (image->writes ? own->bodies[i].stage != CAL_BEGUN : p->bodies[i].identity == 0) continue;
        cal_body_part written = image->writes ? part_of_body(own, i) : (cal_body_part){0};
        move_body(image, image->writes ? &written : &p->bodies[i]);
    }
    for (int i = 0; image->status == CAL_OK && i < own->periodic_hook_count; i++) {
        if (image->writes ? own->periodic_hooks[i].count == 0 : p->hooks[i].identity == 0) continue;
        cal_hook_part written = {.event = own->periodic_hooks[i].event, .tick = own->periodic_hooks[i].tick};
        cal_hook_part* hook = image->writes ? &written : &p->hooks[i];
        cal_image_int(image, &hook->event);
        cal_image_long(image, &hook->tick);
    }
    for (int i = 0; image->status == CAL_OK && i < own->multibody_count; i++) {
        if (image->writes ? own->multibodies[i]->stage != CAL_BEGUN : p->multibodies[i].identity == 0) continue;
        cal_multibody_part written = part_of_multibody(own->multibodies[i]);
        move_multibody(image, own->multibodies[i], image->writes ? &written : &p->multibodies[i]);
    }
}

void cal_world_store(const cal_world* world, cal_image* image) {
    cal_world_parts p = {.world = *world};
    move_world(image, &p, world, NULL);
}

// --- Changing places --------------------------------------------------------------------------------------------------------------

static void free_changing(cal_world* world) {
    for (int i = 0; i < world->component_count; i++) {
        cal_group_free(world->components[i].group);
        cal_queue_destroy(&world->components[i].queue);
    }
    for (int i = 0; i < world->junction_count; i++) cal_free(world->junctions[i].links);
    cal_pair_table_destroy(&world->table);
    cal_events_destroy(&world->events);
    cal_broad_destroy(world->broad);
    void* const lists[] = {world->components,       world->unused_components, world->ended,
                           world->junctions,        world->unused_junctions,  world->ignored,
                           world->ignored_overlaps, world->log.events,        world->log.junctions};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) cal_free(lists[i]);
}

static void free_parts(cal_world_parts* p) {
    for (int i = 0; p->bodies != NULL && i < p->world.body_count; i++) cal_free(p->bodies[i].pairs);
    for (int i = 0; p->multibodies != NULL && i < p->world.multibody_count; i++) {
        cal_free(p->multibodies[i].pushes);
        cal_free(p->multibodies[i].scale);
    }
    cal_free(p->bodies);
    cal_free(p->hooks);
    cal_free(p->multibodies);
}

// A world that shares what does not change, and has nothing else.
static bool begin_parts(cal_world_parts* p, const cal_world* world) {
    *p = (cal_world_parts){.world = *world};
    cal_world* w = &p->world;
    w->components = NULL, w->component_count = w->component_capacity = 0;
    w->unused_components = NULL, w->unused_count = w->unused_capacity = 0;
    w->ended = NULL, w->ended_count = w->ended_capacity = 0;
    w->junctions = NULL, w->junction_count = w->junction_capacity = 0;
    w->unused_junctions = NULL, w->unused_junction_count = 0;
    w->ignored = NULL, w->ignored_count = w->ignored_capacity = 0;
    w->ignored_overlaps = NULL, w->ignored_overlap_count = w->ignored_overlap_capacity = 0;
    w->table = (cal_pair_table){0};
    w->events = (cal_event_queue){0};
    w->broad = NULL;
    w->log = (cal_event_log){.keep = world->log.keep, .taken = world->log.taken};
    w->change_count = w->stack_count = 0;
    w->failed = CAL_OK;
    w->placing = false;
    p->bodies = cal_allocate((size_t)world->body_count + 1, sizeof *p->bodies);
    p->hooks = cal_allocate((size_t)world->periodic_hook_count + 1, sizeof *p->hooks);
    p->multibodies = cal_allocate((size_t)world->multibody_count + 1, sizeof *p->multibodies);
    return p->bodies != NULL && p->hooks != NULL && p->multibodies != NULL;
}

// Boxes of the broad phase: which of them overlap is decided by the boxes alone.
static cal_status insert_boxes(cal_world_parts* p) {
    cal_world* world = &p->world;
    cal_status status = cal_broad_create(world->body_count + 1, &world->broad);
    for (int i = 0; status == CAL_OK && i < world->body_count; i++) {
        const cal_sim_body* body = &world->bodies[i];
        if (!p->bodies[i].boxed) continue;
        const bool plane = body->form == CAL_FORM_PLANE && body->def.motion == CAL_FIXED;
        status = plane ? cal_broad_move_plane(world->broad, i, body->balls[0], body->balls[0][3], NULL)
                       : cal_broad_move(world->broad, i, &p->bodies[i].box, NULL);
    }
    return status;
}

static void take_body(cal_world* world, int number, cal_body_part* part) {
    cal_sim_body* body = &world->bodies[number];
    cal_free(body->pairs);
    body->box_end = part->box_end, body->box_event = part->box_event;
    body->past_from = (double)NAN;
    body->came = part->came;
    body->hit_at = part->hit_at, body->hits_at_time = part->hits_at_time;
    body->pairs = part->pairs, body->pair_count = part->pair_count, body->pair_capacity = part->pair_capacity;
    part->pairs = NULL;
}

static void take_multibody(cal_multibody* m, cal_multibody_part* part) {
    cal_free(m->pushes);
    m->pushes = part->pushes, m->push_count = part->push_count, m->push_capacity = part->push_capacity;
    m->start_moved = part->start_moved;
    if (m->engine->current == m)
        m->engine->current = NULL; // a system may hold the motion after another state of the same number
    const size_t scales = (size_t)(m->engine->q_count + m->engine->v_count) * sizeof(double),
                 stops = m->engine->stop_count > 0 ? 2 * (size_t)m->engine->v_count * sizeof(double) : 0;
    if (!cal_same_bits(m->engine->scale, part->scale, scales) ||
        (stops > 0 && !cal_same_bits(m->engine->stop_numbers, part->stops, stops))) {
        memcpy(m->engine->scale, part->scale, scales);
        if (stops > 0) memcpy(m->engine->stop_numbers, part->stops, stops);
        (void)cal_multibody_model_scale(m->engine); // there is room since the multibody was prepared
    }
    part->pushes = NULL;
    for (int k = 0; k < m->known_count; k++) m->known[k].source = CAL_LINKS_UNKNOWN;
}

// What was added since the image was made.
static void drop_others(cal_world* world, const cal_world_parts* p) {
    for (int i = 0; i < world->periodic_hook_count; i++)
        if (p->hooks[i].identity == 0) {
            world->periodic_hooks[i].event = -1; // its event is not there any more
            cal_periodic_hook_remove(world, i);
        }
    for (int i = 0; i < world->multibody_count; i++)
        if (p->multibodies[i].identity == 0) cal_multibody_free(world, i);
    for (int i = 0; i < world->body_count; i++)
        if (p->bodies[i].identity == 0) cal_body_free(world, i);
}

// The numbers of components are those of the image.
static void number_components(cal_world* world) {
    for (int i = 0; i < world->component_count; i++) {
        const cal_component* c = &world->components[i];
        if (c->ops == NULL || c->body < 0) continue;
        for (int k = 0; k < c->weight; k++) world->bodies[c->body + k].component = i;
        if (c->multibody != NULL) c->multibody->component = i;
        if (c->ops->single) cal_free_body_note_course(world, i);
    }
}

// Nothing here can fail.
static void take_over(cal_world* world, cal_world_parts* p) {
    free_changing(world);
    *world = p->world;
    drop_others(world, p);
    number_components(world);
    for (int i = 0; i < world->component_count; i++)
        if (world->components[i].group != NULL) world->components[i].group->group.world = world;
    for (int i = 0; i < world->body_count; i++)
        if (p->bodies[i].identity != 0) take_body(world, i, &p->bodies[i]);
    for (int i = 0; i < world->periodic_hook_count; i++)
        if (p->hooks[i].identity != 0)
            world->periodic_hooks[i].event = p->hooks[i].event, world->periodic_hooks[i].tick = p->hooks[i].tick;
    for (int i = 0; i < world->multibody_count; i++)
        if (p->multibodies[i].identity != 0) take_multibody(world->multibodies[i], &p->multibodies[i]);
    cal_world_set_window(world);
    cal_world_set_rate(world); // of what there is now, and so on
    world->smallest_count = 0;
    (void)cal_world_set_speeds(world);
    cal_world_count_bodies(world);
    world->rebuilt = true; // each rank may have made the image of a world of its own, and be among ranks only later
}

cal_status cal_world_load(cal_world* world, cal_image* image, cal_error* error) {
    cal_world_parts p;
    cal_error trouble = {CAL_OK, ""};
    if (!begin_parts(&p, world)) image->status = CAL_NO_MEMORY;
    if (image->status == CAL_OK) move_world(image, &p, world, &trouble);
    if (image->status == CAL_OK) image->status = cal_world_parts_check(&p, world);
    if (image->status == CAL_OK) image->status = insert_boxes(&p);
    const cal_status status = image->status;
    if (status == CAL_OK)
        take_over(world, &p);
    else
        free_changing(&p.world);
    free_parts(&p);
    if (status == CAL_OK) return CAL_OK;
    if (status == CAL_BAD_ARGUMENT && trouble.text[0] != '\0')
        return cal_fail(error, status, "the state cannot be taken over: %s", trouble.text);
    return cal_fail(error, status,
                    status == CAL_NO_MEMORY ? "out of memory for a snapshot of %d bodies"
                                            : "a snapshot of %d bodies is damaged",
                    world->body_count);
}
