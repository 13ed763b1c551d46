// Components that go from a rank to another one, with what belongs to them; see ranks.h. What a rank sends it does not have any more.
#include "base/memory.h"
#include "plan/machine_ops.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/domain/ranks.h"
#include "simulation/event/callbacks.h"
#include "simulation/event/events.h"
#include "simulation/event/log.h"
#include "simulation/state/graph.h"
#include "simulation/state/world_image.h"
#include "simulation/world.h"

typedef enum tag { COMPONENT, PAIR, HOOK } tag;

static void put_tag(cal_image* out, tag what) {
    int number = (int)what;
    cal_image_int(out, &number);
}

static void put_int(cal_image* out, int number) { cal_image_int(out, &number); }

static int take_int(cal_image* in) {
    int number = 0;
    cal_image_int(in, &number);
    return number;
}

// --- What leaves --------------------------------------------------------------------------------------------------------------------

// An event leaves its queue: when it was due.
static void put_event(cal_image* out, cal_world* from, int* event) {
    double due = *event >= 0 ? cal_events_time(&from->events, *event) : (double)INFINITY;
    put_int(out, *event >= 0);
    cal_image_number(out, &due);
    if (*event >= 0) cal_events_remove(&from->events, *event);
    *event = -1;
}

// What a junction, or a group, wrote into the log, which leaves it, too.
static cal_status put_logged(cal_image* out, cal_world* from, int label, cal_error* error) {
    cal_event_log taken = {.keep = true};
    const cal_status status = cal_log_hand_over(&from->log, &taken, label, label, from->gvt, error);
    put_int(out, (int)taken.tail);
    for (int64_t i = 0; i < taken.tail; i++) cal_image_event(out, from->first_id, &taken.events[i]);
    cal_free(taken.events);
    cal_free(taken.junctions);
    return status;
}

// States that may be taken back, each with the number of its junction and what that has written.
static cal_status put_links(cal_image* out, cal_world* from, int component, cal_error* error) {
    const cal_queue* queue = &from->components[component].queue;
    cal_status status = CAL_OK;
    for (int64_t n = queue->head; status == CAL_OK && n < queue->tail; n++) {
        const cal_saved_state* knot = cal_saved_state_at(queue, n);
        if (knot->junction < 0 || knot->time < from->gvt) continue; // others are final
        put_int(out, knot->junction);
        cal_image_long(out, &n);
        status = put_logged(out, from, knot->junction, error);
    }
    put_int(out, -1);
    cal_queue_unlink(from, component);
    return status;
}

static cal_status put_group(cal_image* out, cal_world* from, int component, cal_error* error) {
    cal_contact_group* g = from->components[component].group;
    bool ended = false;
    put_event(out, from, &g->check_event);
    put_event(out, from, &g->step_event);
    for (int i = 0; i < from->ended_count; i++) {
        if (from->ended[i] != component) continue;
        ended = true;
        from->ended[i--] = from->ended[--from->ended_count];
    }
    cal_image_bool(out, &ended);
    return put_logged(out, from, cal_log_group(component), error);
}

cal_status cal_letter_write(cal_domains* d, int component, int to, cal_error* error) {
    cal_component* c = &d->whole->components[component];
    cal_world* from = cal_domain_world(d, c->domain);
    const int rank = d->domains[to].worker;
    cal_image* out = &d->mail->out[rank];
    put_tag(out, COMPONENT);
    put_int(out, c->domain);
    cal_ghost_put(d, out, component, to, true);
    // Groups are told with their members.
    uint64_t told = c->group == NULL ? (c->told | cal_rank_bit(d->ranks->keep)) & ~cal_rank_bit(rank) : 0;
    int64_t news = c->news;
    cal_image_words(out, &told, 1);
    cal_image_long(out, &news);
    cal_image_int(out, &c->done);
    for (int k = 0; c->body >= 0 && k < c->weight; k++) {
        cal_sim_body* part = &d->whole->bodies[c->body + k];
        cal_image_number(out, &part->hit_at);
        cal_image_int(out, &part->hits_at_time);
        put_event(out, from, &part->box_event);
    }
    const cal_status status = c->group != NULL ? put_group(out, from, component, error) : CAL_OK;
    return status == CAL_OK ? put_links(out, from, component, error) : status;
}

void cal_letter_add_pair(cal_domains* d, const cal_carried_pair* pair, int to) {
    cal_image* out = &d->mail->out[d->domains[to].worker];
    cal_carried_pair p = *pair;
    put_tag(out, PAIR);
    cal_image_ints(out, p.body, 2);
    cal_image_bool(out, &p.hit);
    cal_image_bool(out, &p.off);
    cal_image_bool(out, &p.open);
    cal_image_number(out, &p.time);
}

void cal_letter_add_hook(cal_domains* d, int hook, int to) {
    cal_image* out = &d->mail->out[d->domains[to].worker];
    put_tag(out, HOOK);
    put_int(out, hook);
    cal_image_long(out, &d->whole->periodic_hooks[hook].tick);
}

// --- What comes -----------------------------------------------------------------------------------------------------------------------

// Junctions of other ranks' domains, and what they have become here.
typedef struct new_junction {
    int rank, domain, number, made;
} new_junction;

typedef struct arrivals {
    new_junction* junctions;
    int junction_count, junction_capacity;
} arrivals;

static int find_junction(arrivals* a, cal_world* to, int rank, int domain, int number) {
    for (int i = a->junction_count - 1; i >= 0; i--)
        if (a->junctions[i].number == number && a->junctions[i].domain == domain && a->junctions[i].rank == rank)
            return a->junctions[i].made;
    const int made = cal_junction_create(to);
    if (made < 0 || !cal_grow((void**)&a->junctions, &a->junction_capacity, a->junction_count, sizeof *a->junctions))
        return -1;
    a->junctions[a->junction_count++] = (new_junction){rank, domain, number, made};
    return made;
}

static cal_status take_logged(cal_image* in, cal_world* to, int label, cal_error* error) {
    cal_status status = CAL_OK;
    const int count = take_int(in);
    for (int i = 0; status == CAL_OK && in->status == CAL_OK && i < count; i++) {
        cal_world_event event = {0};
        cal_image_event(in, to->first_id, &event);
        if (in->status == CAL_OK) status = cal_log_add(&to->log, &event, label, error);
    }
    return status;
}

static cal_status take_links(cal_image* in, arrivals* a, cal_world* to, int rank, int domain, int component,
                             cal_error* error) {
    const cal_queue* queue = &to->components[component].queue;
    cal_status status = CAL_OK;
    while (status == CAL_OK) {
        const int number = take_int(in);
        int64_t n = 0;
        if (in->status != CAL_OK || number < 0) break;
        cal_image_long(in, &n);
        if (!cal_image_check(in, n >= queue->head && n < queue->tail)) break;
        const int made = find_junction(a, to, rank, domain, number);
        if (made < 0 || !cal_junction_add(to, made, component, n))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for the state graph");
        status = take_logged(in, to, made, error);
    }
    return status;
}

static cal_status take_event(cal_image* in, cal_world* to, cal_event_kind kind, int owner, uint64_t who, int* event,
                             cal_error* error) {
    const bool there = take_int(in) != 0;
    double due = (double)INFINITY;
    cal_image_number(in, &due);
    *event = -1;
    if (!there || in->status != CAL_OK) return CAL_OK;
    *event = cal_events_add(&to->events, kind, owner);
    if (*event < 0) return cal_fail(error, CAL_NO_MEMORY, "out of memory for events");
    cal_events_schedule(&to->events, *event, due, who);
    return CAL_OK;
}

static cal_status take_group(cal_image* in, cal_world* to, int component, cal_error* error) {
    cal_contact_group* g = to->components[component].group;
    const uint64_t who = (uint64_t)g->bodies[0];
    bool ended = false;
    cal_status status = take_event(in, to, CAL_EVENT_GROUP, component, who, &g->check_event, error);
    if (status == CAL_OK) status = take_event(in, to, CAL_EVENT_STEP, component, who, &g->step_event, error);
    cal_image_bool(in, &ended);
    g->group.world = to;
    if (status != CAL_OK) return status;
    if (ended) {
        if (!cal_grow((void**)&to->ended, &to->ended_capacity, to->ended_count, sizeof *to->ended))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
        to->ended[to->ended_count++] = component;
    }
    return take_logged(in, to, cal_log_group(component), error);
}

static cal_status take_component(cal_domains* d, cal_image* in, arrivals* a, int rank, cal_error* error) {
    const int from = take_int(in), component = cal_ghost_take(d, in, error);
    if (component < 0 || in->status != CAL_OK) return CAL_OK; // seen to by whoever reads on
    cal_component* c = &d->whole->components[component];
    const int domain = c->domain;
    cal_world* to = cal_domain_world(d, domain);
    int64_t news = 0;
    cal_image_words(in, &c->told, 1);
    cal_image_long(in, &news);
    c->news = (unsigned)news;
    cal_image_int(in, &c->done);
    cal_status status = CAL_OK;
    for (int k = 0; status == CAL_OK && c->body >= 0 && k < c->weight; k++) {
        const int body = c->body + k;
        cal_sim_body* part = &d->whole->bodies[body];
        cal_image_number(in, &part->hit_at);
        cal_image_int(in, &part->hits_at_time);
        status = take_event(in, to, CAL_EVENT_BOX, body, (uint64_t)body, &part->box_event, error);
        const cal_box* box = cal_broad_box(to->broad, body);
        if (box != NULL) cal_box_extend(&d->domains[domain].extent, box);
        if (status == CAL_OK) status = cal_domain_note_box(to, body, error); // other ranks may look for it now
    }
    if (status == CAL_OK && c->group != NULL) status = take_group(in, to, component, error);
    if (status == CAL_OK && c->multibody != NULL) status = cal_multibody_hand_over(d, c->multibody, domain, error);
    to->states += c->queue.tail - c->queue.head;
    return status == CAL_OK ? take_links(in, a, to, rank, from, component, error) : status;
}

static cal_status take_pair(cal_domains* d, cal_image* in, cal_error* error) {
    cal_carried_pair p = {.home = 0};
    cal_image_ints(in, p.body, 2);
    cal_image_bool(in, &p.hit);
    cal_image_bool(in, &p.off);
    cal_image_bool(in, &p.open);
    cal_image_number(in, &p.time);
    if (in->status != CAL_OK) return CAL_OK;
    if (!cal_grow((void**)&d->carried, &d->carried_capacity, d->carried_count, sizeof *d->carried))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs of bodies");
    d->carried[d->carried_count++] = p;
    return CAL_OK;
}

static cal_status take_hook(cal_domains* d, cal_image* in, cal_error* error) {
    const int number = take_int(in);
    if (!cal_image_check(in, number >= 0 && number < d->whole->periodic_hook_count)) return CAL_OK;
    cal_periodic_hook* hook = &d->whole->periodic_hooks[number];
    cal_world* to = cal_domain_world(d, hook->domain);
    cal_image_long(in, &hook->tick);
    hook->event = cal_events_add(&to->events, CAL_EVENT_CALLBACK, number);
    if (hook->event < 0) return cal_fail(error, CAL_NO_MEMORY, "out of memory for events");
    cal_schedule_periodic(to, number);
    return CAL_OK;
}

static cal_status take_letters(cal_domains* d, cal_image* in, arrivals* a, int rank, cal_error* error) {
    cal_status status = CAL_OK;
    while (status == CAL_OK && in->status == CAL_OK && in->at < in->count) {
        switch (take_int(in)) {
        case COMPONENT: status = take_component(d, in, a, rank, error); break;
        case PAIR: status = take_pair(d, in, error); break;
        case HOOK: status = take_hook(d, in, error); break;
        default: cal_image_check(in, false);
        }
    }
    return status == CAL_OK ? cal_rank_check(in, error) : status;
}

void cal_letters_begin(cal_domains* d) {
    for (int r = 0; r < d->mail->ranks; r++) cal_mail_begin(&d->mail->out[r]);
}

cal_status cal_letters_send(cal_domains* d, cal_status status, cal_error* error) {
    arrivals a = {0};
    status = cal_rank_exchange(d, status, error);
    for (int p = 0; status == CAL_OK && p < d->mail->ranks; p++)
        status = take_letters(d, &d->mail->in[p], &a, p, error);
    cal_free(a.junctions);
    return status;
}
