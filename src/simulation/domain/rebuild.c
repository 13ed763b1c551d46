// A world on ranks becomes whole on one of them, and the same on all; see ranks.h.
//
// What a rank does not have of others' components follows from their states: new boxes, pairs and events from the committed time on. That is the same
// history, but not the same world to the last bit: boxes end at other times. So before a world is divided again, all ranks take over the image of the first one's.
#include "base/memory.h"
#include "plan/machine_ops.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/domain/ranks.h"
#include "simulation/event/callbacks.h"
#include "simulation/event/events.h"
#include "simulation/event/log.h"
#include "simulation/event/loops.h"
#include "simulation/state/graph.h"
#include "simulation/state/world_image.h"
#include "simulation/world.h"
#include <limits.h>

// --- On one rank --------------------------------------------------------------------------------------------------------------------

// What a group has computed after a time it computes again, and writes into the log what happens there.
static void forget_ahead(cal_queue* queue, double time) {
    while (queue->tail - 1 > queue->head && cal_saved_state_at(queue, queue->tail - 1)->time > time) queue->tail--;
}

static bool add_event(cal_world* whole, int* event, cal_event_kind kind, int owner) {
    *event = cal_events_add(&whole->events, kind, owner);
    return *event >= 0;
}

static bool adopt_group(cal_world* whole, int component, double time) {
    cal_component* c = &whole->components[component];
    forget_ahead(&c->queue, time);
    c->local_time = fmin(c->local_time, cal_saved_state_at(&c->queue, c->queue.tail - 1)->time);
    c->group->group.world = whole;
    if (!add_event(whole, &c->group->check_event, CAL_EVENT_GROUP, component) ||
        !add_event(whole, &c->group->step_event, CAL_EVENT_STEP, component))
        return false;
    if (!cal_component_has_ended(c)) return true;
    if (!cal_grow((void**)&whole->ended, &whole->ended_capacity, whole->ended_count, sizeof *whole->ended))
        return false;
    whole->ended[whole->ended_count++] = component;
    return true;
}

// Components of other ranks' domains are the whole's.
static bool adopt(cal_world* whole, int component, double time) {
    cal_component* c = &whole->components[component];
    bool enough = c->group == NULL || adopt_group(whole, component, time);
    for (int k = 0; enough && c->body >= 0 && k < c->weight; k++)
        enough = add_event(whole, &whole->bodies[c->body + k].box_event, CAL_EVENT_BOX, c->body + k);
    c->domain = CAL_DOMAIN_WHOLE;
    return enough;
}

static bool adopt_hooks(cal_world* whole) {
    bool enough = true;
    for (int h = 0; enough && h < whole->periodic_hook_count; h++) {
        cal_periodic_hook* hook = &whole->periodic_hooks[h];
        if (hook->count == 0 || hook->domain == CAL_DOMAIN_WHOLE) continue;
        hook->domain = CAL_DOMAIN_WHOLE;
        enough = add_event(whole, &hook->event, CAL_EVENT_CALLBACK, h);
        if (enough) cal_schedule_periodic(whole, h);
    }
    return enough;
}

// Places that no component has, and the states that there are.
static void take_stock(cal_world* whole) {
    whole->unused_count = 0;
    whole->states = 0;
    for (int i = whole->component_count - 1; i >= 0; i--) {
        const cal_component* c = &whole->components[i];
        if (c->ops == NULL)
            whole->unused_components[whole->unused_count++] = i;
        else
            whole->states += c->queue.tail - c->queue.head;
    }
}

// Where bodies of groups are at a time is known from the step over it: what was forgotten of groups is computed again, before somebody looks, or begins something
// anew there.
static cal_status catch_up(cal_world* whole, double time, cal_error* error) {
    cal_status status = CAL_OK;
    cal_progress_begin(whole);
    for (int event; status == CAL_OK && (event = cal_events_first(&whole->events)) >= 0;) {
        if (cal_events_due(&whole->events) > time) break;
        whole->now = cal_events_due(&whole->events);
        const cal_event_slot slot = whole->events.slots[event];
        cal_events_schedule(&whole->events, event, (double)INFINITY, 0);
        status = cal_progress_check(whole, &slot, whole->window, error);
        if (status == CAL_OK) status = cal_event_process(whole, &slot, whole->now, error);
    }
    whole->now = time;
    return status;
}

cal_status cal_rank_rebuild(cal_domains* d, cal_error* error) {
    cal_world* whole = d->whole;
    int *adopted = NULL, adopted_count = 0, capacity = 0;
    bool enough = true;
    whole->rebuilt = true;
    for (int i = 0; enough && i < whole->component_count; i++) {
        if (whole->components[i].domain == CAL_DOMAIN_WHOLE || whole->components[i].ops == NULL) continue;
        enough = adopt(whole, i, d->begin) && cal_grow((void**)&adopted, &capacity, adopted_count, sizeof *adopted);
        if (enough) adopted[adopted_count++] = i;
    }
    enough = enough && adopt_hooks(whole);
    take_stock(whole);
    cal_status status = enough ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "out of memory for a world");
    for (int i = 0; status == CAL_OK && i < adopted_count; i++) {
        const cal_component* c = &whole->components[adopted[i]];
        if (cal_component_is_fused(c)) continue; // its group sees to it
        status = c->ops->changed(whole, adopted[i], d->begin, error);
        if (status == CAL_OK) status = cal_world_update_changed(whole, error);
    }
    cal_free(adopted);
    return status == CAL_OK ? catch_up(whole, d->begin, error) : status;
}

// --- On all -------------------------------------------------------------------------------------------------------------------------

// Whether some rank has a world that is not the others': it was made whole there. And whether some rank takes what is written down, and
// all have taken what was shown.
static cal_status compare(cal_domains* d, bool* same, bool* all_taken, cal_status status, cal_error* error) {
    enum { DIVIDED, WINDOWS, RUNS, REBUILT, ALIKE, TAKES = ALIKE, PENDING, NUMBERS };
    const double mine[NUMBERS] = {
        [DIVIDED] = d->divided,        [WINDOWS] = (double)d->windows, [RUNS] = (double)d->runs,
        [REBUILT] = d->whole->rebuilt, [TAKES] = d->whole->log.taken,  [PENDING] = d->mail->pending};
    cal_mail* m = d->mail;
    cal_mail_begin(&m->own);
    cal_image_words(&m->own, (void*)(uintptr_t)mine, NUMBERS);
    status = cal_rank_gather(d, status, error);
    if (status != CAL_OK) return status;
    *same = *all_taken = true;
    d->whole->log.keep = false;
    for (int p = 0; p < m->ranks; p++) {
        double theirs[NUMBERS], first[NUMBERS];
        m->shown[0].at = 0;
        cal_image_numbers(&m->shown[0], first, NUMBERS);
        m->shown[p].at = 0;
        cal_image_numbers(&m->shown[p], theirs, NUMBERS);
        *same &= theirs[REBUILT] == 0.0;
        d->whole->log.keep |= theirs[TAKES] != 0.0;
        *all_taken &= theirs[PENDING] == 0.0;
        for (int i = 0; i < ALIKE; i++) *same &= theirs[i] == first[i];
    }
    return status;
}

// The words of the first rank's image to all.
static cal_status share_words(cal_domains* d, cal_image* image, cal_status status, cal_error* error) {
    cal_machine* ranks = d->ranks;
    double count = (double)image->count;
    status = cal_rank_agree(d, status, error);
    if (status != CAL_OK) return status;
    status = ranks->ops->share(ranks, &count, 1);
    if (status == CAL_OK && !cal_image_reserve(image, (size_t)count))
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for a world");
    status = cal_rank_agree(d, status, error);
    image->count = (size_t)count;
    for (size_t at = 0; status == CAL_OK && at < image->count; at += INT_MAX) {
        const size_t left = image->count - at;
        status = ranks->ops->share(ranks, (double*)(void*)(image->words + at), left < INT_MAX ? (int)left : INT_MAX);
    }
    return status;
}

// What was written down before the committed time is the same everywhere, but for what somebody has taken; what comes later is the image's.
static cal_status keep_log(cal_world* world, cal_event_log own, cal_error* error) {
    cal_event_log image = world->log;
    cal_status status = CAL_OK;
    world->log = own;
    while (world->log.tail > world->log.head &&
           world->log.events[(size_t)(world->log.tail - 1) % (size_t)world->log.capacity].time > world->time)
        world->log.tail--;
    for (int64_t i = image.head; status == CAL_OK && i < image.tail; i++) {
        const size_t at = (size_t)i % (size_t)image.capacity;
        if (image.events[at].time > world->time)
            status = cal_log_add(&world->log, &image.events[at], image.junctions[at], error);
    }
    cal_free(image.events);
    cal_free(image.junctions);
    return status;
}

static cal_status load(cal_world* world, cal_image* image, cal_error* error) {
    const cal_event_log log = world->log;
    for (int i = 0; i < world->component_count; i++) world->components[i].domain = CAL_DOMAIN_WHOLE;
    for (int h = 0; h < world->periodic_hook_count; h++) world->periodic_hooks[h].domain = CAL_DOMAIN_WHOLE;
    world->log.events = NULL, world->log.junctions = NULL;
    world->log.head = world->log.tail = 0, world->log.capacity = 0;
    image->writes = false;
    const cal_status status = cal_world_load(world, image, error);
    if (status == CAL_OK) return keep_log(world, log, error);
    world->log = log;
    return status;
}

cal_status cal_rank_restore(cal_world* world, cal_error* error) {
    cal_domains* d = world->domains;
    bool same = true, all_taken = true;
    cal_status status = compare(d, &same, &all_taken, CAL_OK, error);
    if (status == CAL_OK && same) cal_rank_begin_news(d, all_taken);
    if (status != CAL_OK || same) return status;
    cal_image image = {.writes = true};
    const bool first = d->ranks->keep == 0;
    if (first) status = cal_world_gather(world, error);
    if (first && status == CAL_OK) cal_world_store(world, &image);
    if (image.status != CAL_OK) status = cal_fail(error, image.status, "out of memory for a world");
    status = share_words(d, &image, status, error);
    const int processors = d->processors, turns = d->turns;
    if (status == CAL_OK) d->divided = false;
    if (status == CAL_OK && !first) {
        cal_domains_destroy(world);
        status = load(world, &image, error);
    }
    cal_image_free(&image);
    world->rebuilt = false;
    if (status != CAL_OK) world->failed = status;
    if (status == CAL_OK) status = cal_world_divide_among(world, processors, turns, error);
    return cal_rank_agree_early(world->ranks, status, error);
}
