// Many free bodies go to other domains at once: their old domains let go of them at the same time, then their new domains take them in at the same
// time. So do the keepers of pairs of the border, with pairs that are now inside of a domain, and the other way round.
//
//     depart   by each old domain: events, boxes, pairs inside of it; by each keeper: pairs of the border; pairs are kept as data
//     arrive   by each new domain: events, boxes, pairs; by each keeper: pairs of the border
//
// That is for bodies alone whose states are linked to nothing that could be undone: at the beginning of a window, nearly all.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/domain/domain.h"
#include "simulation/event/events.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"

bool cal_domains_can_exchange(const cal_domains* d, int component) {
    const cal_component* c = &d->whole->components[component];
    if (c->domain <= CAL_DOMAIN_WHOLE) return false;
    if (c->body < 0 || c->weight != 1 || c->group != NULL || c->multibody != NULL) return false;
    const double gvt = d->domains[c->domain].world->gvt;
    for (int64_t n = c->queue.tail - 1; n >= c->queue.head; n--) {
        const cal_saved_state* knot = cal_saved_state_at(&c->queue, n);
        if (knot->time < gvt) break;
        if (knot->junction >= 0) return false;
    }
    return true;
}

// --- By old domains ---------------------------------------------------------------------------------------------------------------

static bool let_go(cal_domains* d, cal_domain* own, cal_departure* departure) {
    cal_world* view = own->world;
    const cal_component* c = &d->whole->components[departure->component];
    cal_sim_body* part = &d->whole->bodies[c->body];
    departure->boxed = part->box_event >= 0;
    if (departure->boxed) {
        departure->due = cal_events_time(&view->events, part->box_event);
        cal_events_remove(&view->events, part->box_event);
    }
    while (part->pair_count > 0) {
        const int pair = part->pairs[part->pair_count - 1], home = cal_domains_home(d, view->table.pairs[pair].body);
        if (!cal_domains_carry(view, pair, home, &own->crossing, &own->crossing_count, &own->crossing_capacity))
            return false;
    }
    departure->there = cal_broad_has(view->broad, c->body);
    if (departure->there) departure->box = *cal_broad_box(view->broad, c->body);
    cal_broad_remove(view->broad, c->body, NULL);
    cal_queue_unlink(view, departure->component);
    cal_domain_unlist_member(d, departure->component, departure->from);
    return true;
}

static void depart(cal_domains* d, int domain) {
    cal_domain* own = &d->domains[domain];
    bool enough = true;
    own->crossing_count = 0;
    for (int i = 0; enough && i < own->leaving_count; i++) enough = let_go(d, own, &d->departures[own->leaving[i]]);
    enough = enough && cal_domain_release(d, own);
    own->status = enough ? CAL_OK : cal_fail(&own->error, CAL_NO_MEMORY, "out of memory for pairs of bodies");
}

// --- By new domains ---------------------------------------------------------------------------------------------------------------

static cal_status take_in(cal_domains* d, cal_domain* own, const cal_departure* departure, cal_error* error) {
    cal_world* view = own->world;
    const cal_component* c = &d->whole->components[departure->component];
    cal_sim_body* part = &d->whole->bodies[c->body];
    if (departure->boxed) {
        part->box_event = cal_events_add(&view->events, CAL_EVENT_BOX, c->body);
        if (part->box_event < 0) return cal_fail(error, CAL_NO_MEMORY, "out of memory for events");
        cal_events_schedule(&view->events, part->box_event, departure->due, (uint64_t)c->body);
    }
    view->states += c->queue.tail - c->queue.head;
    if (!cal_domain_list_member(d, departure->component))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
    if (!departure->there) return CAL_OK;
    if (cal_broad_move(view->broad, c->body, &departure->box, NULL) != CAL_OK)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for boxes");
    return cal_domain_welcome(d, view, c->body, &departure->box, error);
}

// Of pairs on their way those that a domain takes in, or keeps for the border.
static cal_status take_pairs(cal_domains* d, int domain, const cal_carried_pair* list, int count, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < count; i++) {
        const int home =
            list[i].home == CAL_DOMAIN_BORDER ? cal_border_keeper(d, list[i].body[0], list[i].body[1]) : list[i].home;
        if (home == domain) status = cal_domains_put_pair(d, &list[i], error);
    }
    return status;
}

static void arrive(cal_domains* d, int domain) {
    cal_domain* own = &d->domains[domain];
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < own->coming_count; i++)
        status = take_in(d, own, &d->departures[own->coming[i]], &own->error);
    for (int k = 1; k <= d->count; k++) {
        const cal_domain* from = &d->domains[k];
        if (status == CAL_OK) status = take_pairs(d, domain, from->released, from->released_count, &own->error);
        if (status == CAL_OK) status = take_pairs(d, domain, from->crossing, from->crossing_count, &own->error);
    }
    own->status = status;
}

// --- By one core --------------------------------------------------------------------------------------------------------------

static bool add_number(int** list, int* count, int* capacity, int number) {
    if (!cal_grow((void**)list, capacity, *count, sizeof **list)) return false;
    (*list)[(*count)++] = number;
    return true;
}

// Who leaves and who comes; the others go on as they are.
static bool list_departures(cal_domains* d) {
    int others = 0;
    d->departure_count = 0;
    for (int i = 1; i <= d->count; i++) {
        cal_domain* own = &d->domains[i];
        own->leaving_count = own->coming_count = 0;
    }
    for (int i = 0; i < d->handing_count; i++) {
        const cal_handing handing = d->handings[i];
        cal_component* c = &d->whole->components[handing.component];
        if (c->domain == handing.to || c->going > CAL_DOMAIN_WHOLE) continue; // it is listed twice
        if (handing.to <= CAL_DOMAIN_WHOLE || !cal_domains_can_exchange(d, handing.component)) {
            d->handings[others++] = handing;
            continue;
        }
        cal_domain *from = &d->domains[c->domain], *to = &d->domains[handing.to];
        if (!cal_grow((void**)&d->departures, &d->departure_capacity, d->departure_count, sizeof *d->departures) ||
            !add_number(&from->leaving, &from->leaving_count, &from->leaving_capacity, d->departure_count) ||
            !add_number(&to->coming, &to->coming_count, &to->coming_capacity, d->departure_count) ||
            !cal_domains_mark_moves(d, handing.component, true))
            return false;
        c->going = handing.to;
        d->departures[d->departure_count++] =
            (cal_departure){.component = handing.component, .from = c->domain, .to = handing.to};
    }
    d->handing_count = others;
    return true;
}

cal_status cal_domains_exchange(cal_domains* d, cal_error* error) {
    if (!list_departures(d)) return cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
    if (d->departure_count == 0) return CAL_OK;
    cal_status status = cal_domains_run(d, depart, error);
    for (int i = 0; i < d->departure_count; i++) {
        cal_component* c = &d->whole->components[d->departures[i].component];
        c->domain = d->departures[i].to;
        c->going = CAL_DOMAIN_WHOLE;
        cal_domains_mark_moves(d, d->departures[i].component, false);
    }
    if (status == CAL_OK) status = cal_domains_run(d, arrive, error);
    for (int i = 1; i <= d->count; i++) d->domains[i].released_count = 0;
    d->departure_count = 0;
    return status;
}
