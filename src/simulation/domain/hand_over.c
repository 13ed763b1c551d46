// Components go from one domain to another, with their boxes, pairs, events, states, and what goes on under their names in the log.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/domain/domain.h"
#include "simulation/event/callbacks.h"
#include "simulation/event/events.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <string.h>

// Below this, one core has handed over what there is before the others are awake (some 10 µs, share.h).
enum { FEW_HANDINGS = 4 };

// --- Handing over -------------------------------------------------------------------------------------------------------------

cal_status cal_event_hand_over(cal_world* from, cal_world* to, int* event, uint64_t who, cal_error* error) {
    if (*event < 0) return CAL_OK;
    const cal_event_slot slot = from->events.slots[*event];
    const double time = cal_events_time(&from->events, *event);
    const int made = cal_events_add(&to->events, cal_event_kind_of(&slot), slot.owner);
    if (made < 0) return cal_fail(error, CAL_NO_MEMORY, "out of memory for events");
    cal_events_remove(&from->events, *event);
    cal_events_schedule(&to->events, made, time, who);
    *event = made;
    return CAL_OK;
}

// Takes a pair out of its table.
cal_status cal_domains_carry(cal_domains* d, cal_world* from, int pair, cal_error* error) {
    if (!cal_grow((void**)&d->carried, &d->carried_capacity, d->carried_count, sizeof *d->carried))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs of bodies");
    const cal_pair* p = &from->table.pairs[pair];
    d->carried[d->carried_count++] = (cal_carried_pair){.body = {p->body[0], p->body[1]},
                                                        .hit = p->hit,
                                                        .off = p->off,
                                                        .open = p->open && from->domain == CAL_DOMAIN_BORDER,
                                                        .time = cal_events_time(&from->events, p->event)};
    cal_pair_remove(from, pair);
    return CAL_OK;
}

int cal_domains_home(const cal_domains* d, const cal_carried_pair* pair) {
    int domain[2];
    for (int k = 0; k < 2; k++) domain[k] = cal_domain_of_body(d->whole, pair->body[k]);
    if (d->whole->bodies[pair->body[0]].component < 0) return domain[1];
    return d->whole->bodies[pair->body[1]].component < 0 || domain[0] == domain[1] ? domain[0] : CAL_DOMAIN_BORDER;
}

cal_status cal_domains_put_pair(cal_domains* d, int home, const cal_carried_pair* c, cal_error* error) {
    cal_world* to = cal_domain_world(d, home);
    int pair;
    const cal_status status = cal_pair_add(to, c->body[0], c->body[1], &pair, error);
    if (status != CAL_OK) return status;
    to->table.pairs[pair].hit = c->hit, to->table.pairs[pair].off = c->off, to->table.pairs[pair].open = c->open;
    // A search that waits for a new box in the border, which its bodies may have by now, has nobody to tell of it in a domain.
    const bool waits = c->open && home != CAL_DOMAIN_BORDER && !(c->time < (double)INFINITY);
    cal_events_schedule(&to->events, to->table.pairs[pair].event, waits ? d->begin : c->time,
                        cal_pair_key(c->body[0], c->body[1]));
    return CAL_OK;
}

// Puts pairs where their bodies are.
static cal_status put_pairs(cal_domains* d, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < d->carried_count; i++)
        status = cal_domains_put_pair(d, cal_domains_home(d, &d->carried[i]), &d->carried[i], error);
    d->carried_count = 0;
    return status;
}

cal_status cal_domain_welcome(cal_domains* d, cal_world* to, int body, const cal_box* box, cal_error* error) {
    cal_sim_body* part = &d->whole->bodies[body];
    if (to->domain == CAL_DOMAIN_WHOLE) return CAL_OK;
    cal_box_extend(&d->domains[to->domain].extent, box);
    if (part->noted != d->round) return CAL_OK;
    // What it was noted for is still to be looked at.
    const double changed_from = part->changed_from;
    part->noted = 0;
    const cal_status status = cal_domain_note_box(to, body, error);
    part->changed_from = changed_from;
    return status;
}

static cal_status hand_over_body(cal_domains* d, cal_world* from, cal_world* to, int body, cal_error* error) {
    cal_sim_body* part = &d->whole->bodies[body];
    cal_status status = cal_event_hand_over(from, to, &part->box_event, (uint64_t)body, error);
    while (status == CAL_OK && part->pair_count > 0)
        status = cal_domains_carry(d, from, part->pairs[part->pair_count - 1], error);
    while (status == CAL_OK && part->border_count > 0)
        status = cal_domains_carry(d, d->border, part->border_pairs[part->border_count - 1], error);
    if (status != CAL_OK || !cal_broad_has(from->broad, body)) return status;
    const cal_box box = *cal_broad_box(from->broad, body);
    cal_broad_remove(from->broad, body, NULL);
    if (cal_broad_move(to->broad, body, &box, NULL) != CAL_OK)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for boxes");
    return cal_domain_welcome(d, to, body, &box, error);
}

cal_status cal_multibody_hand_over(cal_domains* d, cal_multibody* m, int to, cal_error* error) {
    if (m->engine->current == m) m->engine->current = NULL;
    if (m->home == NULL) m->home = m->engine;
    if (to == CAL_DOMAIN_WHOLE) {
        m->engine = m->home;
        m->home = NULL;
        return CAL_OK;
    }
    cal_multibody_model* e;
    cal_status status = cal_domain_engine(d, to, m->home->user, &e, error);
    if (status != CAL_OK) return status;
    m->engine = e;
    const size_t size = (size_t)(e->q_count + e->v_count) * sizeof *e->scale;
    if (cal_same_bits(e->scale, m->home->scale, size)) return CAL_OK;
    memcpy(e->scale, m->home->scale, size);
    if (e->stop_count > 0)
        memcpy(e->stop_numbers, m->home->stop_numbers, 2 * (size_t)e->v_count * sizeof *e->stop_numbers);
    status = cal_multibody_model_scale(e);
    return status == CAL_OK ? CAL_OK : cal_fail(error, status, "out of memory for a multibody");
}

static cal_status hand_over_group(cal_world* from, cal_world* to, int component, cal_error* error) {
    cal_contact_group* g = from->components[component].group;
    const uint64_t who = (uint64_t)g->bodies[0];
    cal_status status = cal_event_hand_over(from, to, &g->check_event, who, error);
    if (status == CAL_OK) status = cal_event_hand_over(from, to, &g->step_event, who, error);
    g->group.world = to;
    for (int i = 0; status == CAL_OK && i < from->ended_count; i++) {
        if (from->ended[i] != component) continue;
        from->ended[i--] = from->ended[--from->ended_count];
        if (!cal_grow((void**)&to->ended, &to->ended_capacity, to->ended_count, sizeof *to->ended))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
        to->ended[to->ended_count++] = component;
    }
    return status;
}

cal_status cal_domains_hand_over_hooks(cal_domains* d, int without, cal_error* error) {
    cal_status status = CAL_OK;
    for (int h = 0; status == CAL_OK && h < d->whole->periodic_hook_count; h++) {
        cal_periodic_hook* hook = &d->whole->periodic_hooks[h];
        int to = without;
        for (int i = hook->count - 1; i >= 0; i--)
            if (d->whole->bodies[hook->bodies[i]].component >= 0) to = cal_domain_of_body(d->whole, hook->bodies[i]);
        if (hook->count == 0 || hook->event < 0 || hook->domain == to) continue;
        status = cal_event_hand_over(cal_domain_world(d, hook->domain), cal_domain_world(d, to), &hook->event,
                                     (uint64_t)h, error);
        hook->domain = to;
    }
    return status;
}

// How far what comes to a domain has been run there: a group may have decided later than any event that the domain has had.
static void bring_reached(cal_domains* d) {
    for (int i = 0; i < d->handing_count; i++) {
        const cal_world* from = cal_domain_world(d, d->whole->components[d->handings[i].component].domain);
        cal_world* to = cal_domain_world(d, d->handings[i].to);
        to->reached = fmax(to->reached, from->reached);
    }
}

cal_status cal_domains_hand_over(cal_domains* d, cal_error* error) {
    bring_reached(d);
    const bool many = d->divided && d->handing_count >= FEW_HANDINGS;
    cal_status status = many ? cal_domains_exchange(d, error) : CAL_OK;
    int last = many ? 1 : CAL_DOMAIN_WHOLE;
    for (int i = 0; status == CAL_OK && i < d->handing_count; i++) {
        const int component = d->handings[i].component;
        cal_component* c = &d->whole->components[component];
        cal_world *from = cal_domain_world(d, c->domain), *to = cal_domain_world(d, d->handings[i].to);
        last = d->handings[i].to;
        if (from == to) continue;
        if (c->group != NULL) status = hand_over_group(from, to, component, error);
        for (int k = 0; status == CAL_OK && c->body >= 0 && k < c->weight; k++)
            status = hand_over_body(d, from, to, c->body + k, error);
        if (status == CAL_OK && c->multibody != NULL) status = cal_multibody_hand_over(d, c->multibody, last, error);
        if (status == CAL_OK) status = cal_queue_hand_over(from, to, component, error);
        cal_domain_unlist_member(d, component, c->domain);
        c->domain = last;
        if (status == CAL_OK && !cal_domain_list_member(d, component))
            status = cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
        d->handed++;
    }
    d->handing_count = 0;
    if (status == CAL_OK)
        status = cal_domains_hand_over_hooks(d, last == CAL_DOMAIN_WHOLE ? CAL_DOMAIN_WHOLE : 1, error);
    return status == CAL_OK ? put_pairs(d, error) : status;
}
