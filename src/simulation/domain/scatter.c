// From the whole to all domains at once: every domain takes its own components, with their boxes, pairs, events and states, while the others
// take theirs. Nobody changes the tables of the whole meanwhile; afterwards they are emptied, but for what fixed and driven bodies have there.
// What is between domains, pairs and states that are linked, is put in its place by one core.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/domain/ranks.h"
#include "simulation/event/events.h"
#include "simulation/event/log.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"

// --- By each domain ---------------------------------------------------------------------------------------------------------------

static bool copy_event(const cal_world* whole, cal_world* view, int* event, uint64_t who) {
    if (*event < 0) return true;
    const cal_event_slot* slot = &whole->events.slots[*event];
    const int made = cal_events_add(&view->events, cal_event_kind_of(slot), slot->owner);
    if (made < 0) return false;
    cal_events_schedule(&view->events, made, cal_events_time(&whole->events, *event), who);
    *event = made;
    return true;
}

// Of a pair's two bodies the lower one takes it; where they are in two domains, the one that keeps it for the border.
static cal_status take_pair(cal_domains* d, cal_domain* own, int body, const cal_pair* p, cal_error* error) {
    const cal_world* whole = d->whole;
    const int other = p->body[0] == body ? p->body[1] : p->body[0];
    const bool fixed = whole->bodies[other].component < 0;
    const bool crosses = !fixed && cal_domain_of_body(whole, other) != own->world->domain;
    if (crosses ? cal_border_keeper(d, body, other) != own->world->domain : !fixed && other < body) return CAL_OK;
    const double time = cal_events_time(&whole->events, p->event);
    if (crosses) {
        if (!cal_grow((void**)&own->crossing, &own->crossing_capacity, own->crossing_count, sizeof *own->crossing))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs of bodies");
        own->crossing[own->crossing_count++] = (cal_carried_pair){
            .body = {p->body[0], p->body[1]}, .home = CAL_DOMAIN_BORDER, .hit = p->hit, .off = p->off, .time = time};
        return CAL_OK;
    }
    int made;
    const cal_status status = cal_pair_add(own->world, body, other, &made, error);
    if (status != CAL_OK) return status;
    own->world->table.pairs[made].hit = p->hit, own->world->table.pairs[made].off = p->off;
    cal_events_schedule(&own->world->events, own->world->table.pairs[made].event, time, cal_pair_key(body, other));
    return CAL_OK;
}

static cal_status take_body(cal_domains* d, cal_domain* own, int body, cal_error* error) {
    const cal_world* whole = d->whole;
    cal_sim_body* part = &whole->bodies[body];
    if (!copy_event(whole, own->world, &part->box_event, (uint64_t)body))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for events");
    if (!cal_broad_has(whole->broad, body)) return CAL_OK;
    const cal_box* box = cal_broad_box(whole->broad, body);
    cal_box_extend(&own->extent, box);
    if (cal_broad_move(own->world->broad, body, box, NULL) != CAL_OK)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for boxes");
    return CAL_OK;
}

// Each body's list of pairs becomes the domain's: so the old one is taken away first.
static cal_status take_pairs(cal_domains* d, cal_domain* own, cal_error* error) {
    const cal_world* whole = d->whole;
    cal_status status = CAL_OK;
    int* list = NULL; // pairs of the whole, of all bodies
    int count = 0, capacity = 0;
    for (int i = 0; status == CAL_OK && i < own->member_count; i++) {
        const cal_component* c = &whole->components[own->members[i]];
        for (int k = 0; status == CAL_OK && k < c->weight; k++) {
            cal_sim_body* part = &whole->bodies[c->body + k];
            for (int n = 0; status == CAL_OK && n < part->pair_count; n++) {
                if (!cal_grow((void**)&list, &capacity, count + 1, sizeof *list))
                    status = cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs of bodies");
                else
                    list[count++] = c->body + k, list[count++] = part->pairs[n];
            }
            part->pair_count = 0;
        }
    }
    if (status == CAL_OK && !(cal_pair_table_reserve(&own->world->table, count / 4) &&
                              cal_events_reserve(&own->world->events, own->world->events.slot_count + count / 4)))
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs of bodies");
    for (int i = 0; status == CAL_OK && i < count; i += 2)
        status = take_pair(d, own, list[i], &whole->table.pairs[list[i + 1]], error);
    cal_free(list);
    return status;
}

// States that are final are linked to nothing any more. Who has others is kept for later, and so are groups, whose impacts the log has, and
// multibodies, whose models have engines in each domain.
static cal_status take_states(cal_domains* d, cal_domain* own, int component, cal_error* error) {
    const cal_component* c = &d->whole->components[component];
    bool linked = c->group != NULL || c->multibody != NULL;
    for (int64_t n = c->queue.head; n < c->queue.tail; n++) {
        cal_saved_state* knot = cal_saved_state_at(&c->queue, n);
        if (knot->junction < 0) continue;
        if (knot->time > d->whole->gvt)
            linked = true;
        else
            knot->junction = -1;
    }
    if (!linked) {
        own->world->states += c->queue.tail - c->queue.head;
        return CAL_OK;
    }
    if (!cal_grow((void**)&own->linked, &own->linked_capacity, own->linked_count, sizeof *own->linked))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for the state graph");
    own->linked[own->linked_count++] = component;
    return CAL_OK;
}

static cal_status take_component(cal_domains* d, cal_domain* own, int component, cal_error* error) {
    cal_component* c = &d->whole->components[component];
    cal_contact_group* g = c->group;
    if (g != NULL) {
        const uint64_t who = (uint64_t)g->bodies[0];
        if (!copy_event(d->whole, own->world, &g->check_event, who) ||
            !copy_event(d->whole, own->world, &g->step_event, who))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for events");
        g->group.world = own->world;
    }
    cal_status status = take_states(d, own, component, error);
    for (int k = 0; status == CAL_OK && c->body >= 0 && k < c->weight; k++)
        status = take_body(d, own, c->body + k, error);
    if (status == CAL_OK && !cal_domain_list_member(d, component))
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
    return status;
}

// A multibody that comes, with all that it is linked to (put_linked), finds an engine: to make one takes as long as many events do.
static cal_status make_engine(cal_domains* d, int domain, int component, cal_error* error) {
    const cal_multibody* m = d->whole->components[component].multibody;
    cal_multibody_model* engine;
    return m != NULL ? cal_domain_engine(d, domain, m->engine->user, &engine, error) : CAL_OK;
}

// Of another rank's component its states are known, and nothing else.
static bool let_go(cal_domains* d, int component) {
    cal_component* c = &d->whole->components[component];
    if (c->group != NULL) c->group->check_event = c->group->step_event = -1;
    for (int k = 0; c->body >= 0 && k < c->weight; k++) {
        cal_sim_body* part = &d->whole->bodies[c->body + k];
        part->box_event = -1;
        part->pair_count = 0;
    }
    for (int64_t n = c->queue.head; n < c->queue.tail; n++) {
        cal_saved_state* knot = cal_saved_state_at(&c->queue, n);
        if (knot->junction >= 0 && knot->time > d->whole->gvt)
            cal_log_forget(&d->whole->log, knot->junction, d->whole->gvt, (double)INFINITY);
        knot->junction = -1;
    }
    if (c->group != NULL) cal_log_forget(&d->whole->log, cal_log_group(component), d->whole->gvt, (double)INFINITY);
    if (c->group != NULL) c->group->group.world = cal_domain_world(d, c->domain);
    return cal_domain_list_member(d, component);
}

static void let_go_all(cal_domains* d, int domain) {
    cal_domain* own = &d->domains[domain];
    if (cal_domain_is_own(d, domain)) return;
    own->crossing_count = own->linked_count = 0;
    bool enough = cal_broad_create(d->whole->body_count + 1, &own->world->broad) == CAL_OK;
    for (int i = 0; enough && i < own->coming_count; i++) enough = let_go(d, own->coming[i]);
    own->status = enough ? CAL_OK : cal_fail(&own->error, CAL_NO_MEMORY, "out of memory for domains");
}

static void take_all(cal_domains* d, int domain) {
    cal_domain* own = &d->domains[domain];
    own->crossing_count = own->linked_count = 0;
    own->cost = 0.0;
    own->status = cal_domain_place_prescribed(d, own->world, &own->error);
    for (int i = 0; own->status == CAL_OK && i < own->coming_count; i++) {
        own->status = take_component(d, own, own->coming[i], &own->error);
        if (own->status == CAL_OK) own->status = make_engine(d, domain, own->coming[i], &own->error);
    }
    for (int i = 0; i < own->member_count; i++) own->cost += d->whole->components[own->members[i]].weight;
    if (own->status == CAL_OK) own->status = take_pairs(d, own, &own->error);
}

// Pairs of two domains that it keeps.
static void keep_crossing(cal_domains* d, int domain) {
    cal_domain* own = &d->domains[domain];
    own->status = CAL_OK;
    for (int i = 0; own->status == CAL_OK && i < own->crossing_count; i++)
        own->status = cal_domains_put_pair(d, &own->crossing[i], &own->error);
}

// --- By one core --------------------------------------------------------------------------------------------------------------

static cal_status put_linked(cal_domains* d, const cal_domain* own, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < own->linked_count; i++) {
        const cal_component* c = &d->whole->components[own->linked[i]];
        status = cal_queue_hand_over(d->whole, own->world, own->linked[i], error);
        if (status == CAL_OK && c->multibody != NULL)
            status = cal_multibody_hand_over(d, c->multibody, c->domain, error);
    }
    return status;
}

// Groups that have ended.
static cal_status put_ended(cal_domains* d, cal_error* error) {
    cal_world* whole = d->whole;
    for (int i = 0; i < whole->ended_count; i++) {
        const int domain = whole->components[whole->ended[i]].domain;
        if (!cal_group_is_over(whole, whole->ended[i]) || !cal_domain_is_own(d, domain)) continue;
        cal_world* view = cal_domain_world(d, domain);
        if (!cal_grow((void**)&view->ended, &view->ended_capacity, view->ended_count, sizeof *view->ended))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
        view->ended[view->ended_count++] = whole->ended[i];
    }
    whole->ended_count = 0;
    return CAL_OK;
}

// What is left in the whole: boxes of fixed and driven bodies, and the events at which they end.
static cal_status empty_whole(cal_domains* d, cal_error* error) {
    cal_world* whole = d->whole;
    cal_event_queue events = {0};
    cal_status status = CAL_OK;
    for (int k = 0; k < d->prescribed_count; k++) {
        cal_sim_body* part = &whole->bodies[d->prescribed[k]];
        part->pair_count = 0;
        if (part->box_event < 0) continue;
        const int made = cal_events_add(&events, CAL_EVENT_BOX, d->prescribed[k]);
        if (made < 0) {
            cal_events_destroy(&events);
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for events");
        }
        cal_events_schedule(&events, made, cal_events_time(&whole->events, part->box_event),
                            (uint64_t)d->prescribed[k]);
        part->box_event = made;
    }
    cal_events_destroy(&whole->events);
    whole->events = events;
    cal_pair_table_destroy(&whole->table);
    cal_broad* broad;
    if (cal_broad_create(whole->body_count + 1, &broad) != CAL_OK)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for boxes");
    for (int k = 0; status == CAL_OK && k < d->prescribed_count; k++)
        status = cal_domain_copy_box(whole, broad, d->prescribed[k]);
    cal_broad_destroy(whole->broad);
    whole->broad = broad;
    whole->unused_junction_count = 0;
    for (int i = 0; i < whole->junction_count; i++) {
        whole->junctions[i].count = whole->junctions[i].references = whole->junctions[i].moved = 0;
        whole->unused_junctions[whole->unused_junction_count++] = i;
    }
    whole->states = 0;
    return status == CAL_OK ? CAL_OK : cal_fail(error, status, "out of memory for boxes");
}

cal_status cal_domains_scatter(cal_domains* d, cal_error* error) {
    cal_status status = cal_domains_run(d, take_all, error);
    if (status == CAL_OK && d->ranks != NULL) status = cal_domains_run_all(d, let_go_all, error);
    if (status == CAL_OK) status = cal_domains_run(d, keep_crossing, error);
    for (int i = 1; status == CAL_OK && i <= d->count; i++) status = put_linked(d, &d->domains[i], error);
    if (status == CAL_OK) status = put_ended(d, error);
    if (status == CAL_OK) status = cal_domains_hand_over_hooks(d, 1, error);
    return status == CAL_OK ? empty_whole(d, error) : status;
}
