// Components to images and back; see world_image.h.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/motion/free_body.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/state/graph.h"
#include "simulation/state/image.h"
#include "simulation/state/world_image.h"
#include "simulation/world.h"
#include <string.h>

enum { KIND, JUNCTION, CALLBACK, GROUP, TICK, WORDS };

// A word each, all at once: there are many of them.
static void move_knot(cal_image* image, cal_saved_state* knot) {
    int64_t words[WORDS] = {knot->kind, knot->junction, knot->callback, knot->group, knot->tick};
    cal_image_number(image, &knot->time);
    cal_image_words(image, words, WORDS);
    if (image->writes) return;
    bool sound = true;
    for (int i = 0; i < TICK; i++) sound &= words[i] >= INT32_MIN && words[i] <= INT32_MAX;
    if (!cal_image_check(image, sound)) return;
    knot->kind = (int32_t)words[KIND], knot->junction = (int32_t)words[JUNCTION];
    knot->callback = (int32_t)words[CALLBACK], knot->group = (int32_t)words[GROUP];
    knot->tick = words[TICK];
}

// first: of those that are written.
static void move_states(cal_image* image, cal_queue* queue, int64_t first) {
    cal_image_long(image, image->writes ? &first : &queue->head);
    cal_image_long(image, &queue->tail);
    if (!image->writes) {
        const int64_t head = queue->head, tail = queue->tail, count = tail > head && head >= 0 ? tail - head : 0;
        const size_t words = 1 + (size_t)WORDS + (size_t)queue->stride; // of a state, with its time
        const bool sound = count > 0 && tail < INT64_MAX / 2 && (uint64_t)count <= (image->count - image->at) / words;
        queue->head = queue->tail = 0; // there is nothing to be moved where room is made
        if (!cal_image_check(image, sound)) return;
        if (!cal_queue_reserve(queue, count)) image->status = CAL_NO_MEMORY;
        if (image->status != CAL_OK) return;
        queue->head = first = head, queue->tail = tail;
    }
    for (int64_t n = first; image->status == CAL_OK && n < queue->tail; n++) {
        move_knot(image, cal_saved_state_at(queue, n));
        cal_image_numbers(image, cal_data_at(queue, n), (size_t)queue->stride);
    }
}

static bool are_below(const int* numbers, int count, int end) {
    for (int i = 0; i < count; i++)
        if (numbers[i] < 0 || numbers[i] >= end) return false;
    return true;
}

// Members of a group are components that came before: all that are no groups.
static bool are_members(const cal_world* world, const int* numbers, int count) {
    for (int i = 0; i < count; i++) {
        if (numbers[i] < 0 || numbers[i] >= world->component_count) return false;
        const cal_component_ops* ops = world->components[numbers[i]].ops;
        if (ops == NULL || ops->member == NULL) return false;
    }
    return true;
}

// Whether a component is a group of just these already: what a group is made of does not change.
static bool is_same(const cal_contact_group* g, const int* members, int member_count, int (*pairs)[2], int pair_count) {
    return g != NULL && g->group.unit_count == member_count && g->pair_count == pair_count &&
           memcmp(g->members, members, (size_t)member_count * sizeof *members) == 0 &&
           memcmp(g->pairs, pairs, (size_t)pair_count * sizeof *pairs) == 0;
}

// The group of a component, of which the members came before.
static void read_group(cal_image* image, cal_world* world, int component, cal_error* error) {
    cal_component* c = &world->components[component];
    int *members = NULL, (*pairs)[2] = NULL;
    int member_count = 0, pair_count = 0, stride = 0;
    if (cal_image_list(image, (void**)&members, &member_count, NULL, 1, sizeof *members))
        cal_image_ints(image, members, (size_t)member_count);
    if (cal_image_list(image, (void**)&pairs, &pair_count, NULL, 1, sizeof *pairs))
        cal_image_ints(image, pairs[0], 2 * (size_t)pair_count);
    const bool sound = cal_image_check(image, image->status == CAL_OK && are_members(world, members, member_count) &&
                                                  are_below(pairs[0], 2 * pair_count, world->body_count));
    if (sound && !is_same(c->group, members, member_count, pairs, pair_count)) {
        cal_group_free(c->group);
        cal_queue_destroy(&c->queue);
        c->group = cal_group_make(world, members, member_count, pairs, pair_count, &stride, error);
        if (c->group == NULL) image->status = CAL_NO_MEMORY;
        cal_queue_create(&c->queue, stride);
        c->weight = 0;
        for (int i = 0; i < member_count; i++) c->weight += world->components[members[i]].weight;
    }
    if (image->status == CAL_OK && c->group != NULL) c->queue.copied = c->group->at_arrival;
    cal_free(members);
    cal_free(pairs);
}

static void write_group(cal_image* image, const cal_contact_group* g) {
    int members = g->group.unit_count, pairs = g->pair_count;
    cal_image_count(image, &members);
    cal_image_ints(image, g->members, (size_t)members);
    cal_image_count(image, &pairs);
    cal_image_ints(image, g->pairs[0], 2 * (size_t)pairs);
}

static void move_members(cal_image* image, cal_world* world, int component, cal_error* error) {
    if (image->writes)
        write_group(image, world->components[component].group);
    else
        read_group(image, world, component, error);
}

void cal_image_group(cal_image* image, cal_world* world, int component, const cal_world* own, cal_error* error) {
    (void)own;
    move_members(image, world, component, error);
    cal_contact_group* g = world->components[component].group;
    if (image->status != CAL_OK || g == NULL) return;
    cal_image_int(image, &g->check_event);
    cal_image_int(image, &g->step_event);
    cal_image_int(image, &g->last_contacts);
}

// It goes by its first body, since the number of a component depends on when it was made.
void cal_image_own(cal_image* image, cal_world* world, int component, const cal_world* own, cal_error* error) {
    (void)error;
    cal_component* c = &world->components[component];
    int body = c->body;
    cal_image_int(image, &body);
    if (image->writes || image->status != CAL_OK) return;
    const bool is_there = body >= 0 && body < own->body_count && own->bodies[body].component >= 0;
    if (!cal_image_check(image, is_there) || !is_there) return;
    const cal_component* same = &own->components[own->bodies[body].component];
    if (!cal_image_check(image, same->ops == c->ops && same->body == body)) return;
    *c = *same;
    c->number = component;
    cal_queue_create(&c->queue, same->queue.stride);
    c->queue.copied = same->queue.copied;
}

static void move_queue(cal_image* image, cal_component* c, int64_t first, cal_error* error) {
    int stride = c->queue.stride;
    cal_image_int(image, &stride);
    if (stride != c->queue.stride && image->status == CAL_OK && error != NULL)
        cal_explain(error, CAL_BAD_ARGUMENT,
                    "states have %d numbers there and %d here, as with another number of lanes, or another solver",
                    stride, c->queue.stride);
    if (cal_image_check(image, stride == c->queue.stride)) move_states(image, &c->queue, first);
}

void cal_image_component(cal_image* image, cal_world* world, int component, const cal_world* own, cal_error* error) {
    cal_component* c = &world->components[component];
    const cal_component_ops* ops = c->ops;
    double local_time = c->local_time;
    cal_image_number(image, &local_time);
    ops->image(image, world, component, own, error);
    if (image->status != CAL_OK) return;
    c->local_time = local_time;
    move_queue(image, c, c->queue.head, error);
}

// A place in which there was another kind of component, or none.
static void take_place(cal_world* world, int component, cal_component_kind kind) {
    cal_component* c = &world->components[component];
    const int domain = c->domain;
    cal_group_free(c->group);
    cal_queue_destroy(&c->queue);
    *c = (cal_component){.ops = cal_component_table(kind), .number = component, .body = -1, .domain = domain};
}

void cal_image_states(cal_image* image, cal_world* world, int component, double since, cal_error* error) {
    cal_component* c = &world->components[component];
    int kind = c->ops != NULL ? (int)c->ops->kind : (int)CAL_UNUSED;
    cal_image_int(image, &kind);
    // Whatever is there as long as its bodies is there already.
    const bool same = c->ops != NULL && (int)c->ops->kind == kind;
    if (!cal_image_check(image, same || kind == CAL_GROUP)) return;
    if (!same) take_place(world, component, CAL_GROUP);
    cal_image_number(image, &c->local_time);
    if (kind == CAL_GROUP) move_members(image, world, component, error);
    if (image->status == CAL_OK && c->group != NULL) cal_image_int(image, &c->group->last_contacts);
    const int64_t holds = cal_queue_find(&c->queue, since), head = c->queue.head;
    if (image->status == CAL_OK) move_queue(image, c, holds > head ? holds : head, error);
    if (image->writes || image->status != CAL_OK) return;
    for (int64_t n = c->queue.head; n < c->queue.tail; n++) cal_saved_state_at(&c->queue, n)->junction = -1;
    if (c->ops->single) cal_free_body_note_course(world, component);
    cal_multibody* m = c->multibody;
    if (m == NULL) return;
    if (m->engine->current == m) m->engine->current = NULL;
    for (int k = 0; k < m->known_count; k++) m->known[k].source = CAL_LINKS_UNKNOWN;
}
