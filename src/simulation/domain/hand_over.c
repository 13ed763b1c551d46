// Components go from one domain to another, with their boxes, pairs, events, states, and what goes on under their names in the log.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/domain/ranks.h"
#include "simulation/event/callbacks.h"
#include "simulation/event/events.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <string.h>

// Below this, one core has handed over what there is, or looked through pairs of the border, before the others are awake (some 10 µs, share.h).
enum { FEW_HANDINGS = 4, MANY_PAIRS = 4096 };

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
bool cal_domains_carry(cal_world* from, int pair, int home, cal_carried_pair** list, int* count, int* capacity) {
    if (!cal_grow((void**)list, capacity, *count, sizeof **list)) return false;
    const cal_pair* p = &from->table.pairs[pair];
    (*list)[(*count)++] = (cal_carried_pair){.body = {p->body[0], p->body[1]},
                                             .home = home,
                                             .hit = p->hit,
                                             .off = p->off,
                                             .open = p->open && from->domain == CAL_DOMAIN_BORDER,
                                             .time = cal_events_time(&from->events, p->event)};
    cal_pair_remove(from, pair);
    return true;
}

cal_status cal_domains_add_handing(cal_domains* d, int component, int to, cal_error* error) {
    if (!cal_grow((void**)&d->handings, &d->handing_capacity, d->handing_count, sizeof *d->handings))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
    d->handings[d->handing_count++] = (cal_handing){component, to};
    return CAL_OK;
}

static int destination(const cal_domains* d, int body) {
    const int component = d->whole->bodies[body].component;
    const cal_component* c = &d->whole->components[component];
    return component >= 0 && c->going > CAL_DOMAIN_WHOLE ? c->going : cal_domain_of_body(d->whole, body);
}

// Where a pair belongs, when those that are going somewhere are there.
int cal_domains_home(const cal_domains* d, const int body[2]) {
    if (d->whole->bodies[body[0]].component < 0) return destination(d, body[1]);
    const int first = destination(d, body[0]);
    return d->whole->bodies[body[1]].component < 0 || first == destination(d, body[1]) ? first : CAL_DOMAIN_BORDER;
}

bool cal_domains_mark_moves(cal_domains* d, int component, bool moves) {
    const cal_component* c = &d->whole->components[component];
    while (d->moves_capacity < d->whole->body_count)
        if (!cal_grow((void**)&d->moves, &d->moves_capacity, d->moves_capacity, sizeof *d->moves)) return false;
    for (int k = 0; c->body >= 0 && k < c->weight; k++) d->moves[c->body + k] = moves;
    return true;
}

bool cal_domain_release(cal_domains* d, cal_domain* own) {
    cal_world* border = own->border;
    bool enough = true;
    own->released_count = 0;
    for (int i = 0; enough && i < border->table.pair_count; i++) {
        const cal_pair* p = &border->table.pairs[i];
        if (p->event < 0 || !(d->moves[p->body[0]] || d->moves[p->body[1]])) continue;
        const int home = cal_domains_home(d, p->body);
        if (home != CAL_DOMAIN_BORDER ||
            cal_border_side(destination(d, p->body[0]), destination(d, p->body[1])) != own->world->domain)
            enough = cal_domains_carry(border, i, home, &own->released, &own->released_count, &own->released_capacity);
    }
    return enough;
}

cal_status cal_domains_put_pair(cal_domains* d, const cal_carried_pair* c, cal_error* error) {
    const bool between = c->home == CAL_DOMAIN_BORDER;
    cal_world* to =
        between ? d->domains[cal_border_keeper(d, c->body[0], c->body[1])].border : cal_domain_world(d, c->home);
    int pair;
    const cal_status status = cal_pair_add(to, c->body[0], c->body[1], &pair, error);
    if (status != CAL_OK) return status;
    to->table.pairs[pair].hit = c->hit, to->table.pairs[pair].off = c->off, to->table.pairs[pair].open = c->open;
    // A search that waits for a new box in the border, which its bodies may have by now, has nobody to tell of it in a domain.
    const bool waits = c->open && !between && !(c->time < (double)INFINITY);
    cal_events_schedule(&to->events, to->table.pairs[pair].event, waits ? d->begin : c->time,
                        cal_pair_key(c->body[0], c->body[1]));
    return CAL_OK;
}

cal_status cal_domain_welcome(cal_domains* d, cal_world* to, int body, const cal_box* box, cal_error* error) {
    cal_sim_body* part = &d->whole->bodies[body];
    part->past_from = (double)NAN; // this rank may have seen it go another way
    if (to->domain == CAL_DOMAIN_WHOLE) return CAL_OK;
    cal_box_extend(&d->domains[to->domain].extent, box);
    const bool noted = part->noted == d->round;
    if (!noted && d->ranks == NULL) return CAL_OK;
    // What it was noted for is still to be looked at; and other ranks may look for it now.
    const double changed_from = noted ? part->changed_from : (double)INFINITY;
    part->noted = 0;
    const cal_status status = cal_domain_note_box(to, body, error);
    part->changed_from = changed_from;
    return status;
}

// The box of a body, where there is one.
static cal_status hand_over_box(cal_world* from, cal_world* to, int body, cal_error* error) {
    if (!cal_broad_has(from->broad, body)) return CAL_OK;
    const cal_box box = *cal_broad_box(from->broad, body);
    cal_broad_remove(from->broad, body, NULL);
    if (cal_broad_move(to->broad, body, &box, NULL) == CAL_OK) return CAL_OK;
    return cal_fail(error, CAL_NO_MEMORY, "out of memory for boxes");
}

static cal_status carry_pairs(cal_domains* d, cal_world* from, int body, cal_error* error) {
    const cal_sim_body* part = &d->whole->bodies[body];
    while (part->pair_count > 0)
        if (!cal_domains_carry(from, part->pairs[part->pair_count - 1], CAL_DOMAIN_WHOLE, &d->carried,
                               &d->carried_count, &d->carried_capacity))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs of bodies");
    return CAL_OK;
}

static cal_status hand_over_body(cal_domains* d, cal_world* from, cal_world* to, int body, cal_error* error) {
    cal_sim_body* part = &d->whole->bodies[body];
    cal_status status = cal_event_hand_over(from, to, &part->box_event, (uint64_t)body, error);
    if (status == CAL_OK) status = carry_pairs(d, from, body, error);
    if (status == CAL_OK) status = hand_over_box(from, to, body, error);
    const cal_box* box = cal_broad_box(to->broad, body);
    return status == CAL_OK && box != NULL ? cal_domain_welcome(d, to, body, box, error) : status;
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
        if (hook->count == 0 || hook->domain == to) continue;
        cal_world* from = cal_domain_world(d, hook->domain);
        if (hook->event >= 0 && !cal_domain_is_own(d, to)) {
            cal_events_remove(&from->events, hook->event);
            hook->event = -1;
            if (d->divided) cal_letter_add_hook(d, h, to);
        }
        status = cal_event_hand_over(from, cal_domain_world(d, to), &hook->event, (uint64_t)h, error);
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

static void release_own(cal_domains* d, int domain) {
    cal_domain* own = &d->domains[domain];
    own->status =
        cal_domain_release(d, own) ? CAL_OK : cal_fail(&own->error, CAL_NO_MEMORY, "out of memory for pairs of bodies");
}

// What is going somewhere lets go of the pairs of the border that are in one domain then; to the whole, of all. Where the border has many, each domain
// looks through those that it keeps.
static bool release_pairs(cal_domains* d) {
    bool enough = true;
    int pairs = 0;
    for (int i = 0; enough && i < d->handing_count; i++) {
        cal_component* c = &d->whole->components[d->handings[i].component];
        c->going = d->handings[i].to == c->domain ? CAL_DOMAIN_WHOLE : d->handings[i].to;
        enough = cal_domains_mark_moves(d, d->handings[i].component, true);
    }
    for (int i = 1; i <= d->count; i++) pairs += d->domains[i].border->table.pair_count;
    if (enough && d->ranks == NULL && pairs > MANY_PAIRS)
        enough = cal_domains_run(d, release_own, NULL) == CAL_OK;
    else
        for (int i = 1; enough && i <= d->count; i++)
            if (cal_domain_is_own(d, i)) enough = cal_domain_release(d, &d->domains[i]);
    for (int i = 0; enough && i < d->handing_count; i++) cal_domains_mark_moves(d, d->handings[i].component, false);
    return enough;
}

static bool release_all(cal_domains* d) {
    bool enough = true;
    for (int k = 1; k <= d->count; k++) {
        cal_domain* own = &d->domains[k];
        own->released_count = 0;
        for (int i = 0; enough && i < own->border->table.pair_count; i++)
            if (own->border->table.pairs[i].event >= 0)
                enough = cal_domains_carry(own->border, i, CAL_DOMAIN_WHOLE, &own->released, &own->released_count,
                                           &own->released_capacity);
    }
    return enough;
}

// Pairs that are other ranks' go into letters.
static int post_pairs(cal_domains* d, cal_carried_pair* list, int count) {
    int kept = 0;
    for (int i = 0; i < count; i++) {
        const int home = cal_domains_home(d, list[i].body),
                  to = home == CAL_DOMAIN_BORDER ? cal_border_keeper(d, list[i].body[0], list[i].body[1]) : home;
        if (cal_domain_is_own(d, to))
            list[kept++] = list[i];
        else
            cal_letter_add_pair(d, &list[i], to);
    }
    return kept;
}

// Letters bring components, and pairs to be put with the others.
static cal_status exchange_letters(cal_domains* d, cal_status status, cal_error* error) {
    if (status == CAL_OK) {
        d->carried_count = post_pairs(d, d->carried, d->carried_count);
        for (int k = 1; k <= d->count; k++)
            d->domains[k].released_count = post_pairs(d, d->domains[k].released, d->domains[k].released_count);
    }
    return cal_letters_send(d, status, error);
}

// Puts pairs where their bodies are.
static cal_status put_pairs(cal_domains* d, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < d->carried_count; i++) {
        d->carried[i].home = cal_domains_home(d, d->carried[i].body);
        status = cal_domains_put_pair(d, &d->carried[i], error);
    }
    d->carried_count = 0;
    for (int k = 1; k <= d->count; k++) {
        cal_domain* own = &d->domains[k];
        for (int i = 0; status == CAL_OK && i < own->released_count; i++)
            status = cal_domains_put_pair(d, &own->released[i], error);
        own->released_count = 0;
    }
    return status;
}

// Between two domains of which one at least is another rank's: what leaves goes into a letter, and boxes of ghosts to the new domain.
static cal_status hand_over_afar(cal_domains* d, int component, int domain, cal_error* error) {
    const cal_component* c = &d->whole->components[component];
    cal_world *from = cal_domain_world(d, c->domain), *to = cal_domain_world(d, domain);
    const bool leaves = cal_domain_is_own(d, c->domain) && c->ops != NULL; // not a group that was undone
    cal_status status = leaves ? cal_letter_write(d, component, domain, error) : CAL_OK;
    for (int k = 0; status == CAL_OK && c->body >= 0 && k < c->weight; k++) {
        if (leaves) status = carry_pairs(d, from, c->body + k, error);
        if (status == CAL_OK) status = hand_over_box(from, to, c->body + k, error);
    }
    if (status == CAL_OK && leaves && c->multibody != NULL)
        status = cal_multibody_hand_over(d, c->multibody, CAL_DOMAIN_WHOLE, error);
    if (leaves && c->group != NULL) c->group->group.world = to;
    return status;
}

static cal_status hand_over_near(cal_domains* d, int component, int domain, cal_error* error) {
    const cal_component* c = &d->whole->components[component];
    cal_world *from = cal_domain_world(d, c->domain), *to = cal_domain_world(d, domain);
    cal_status status = c->group != NULL ? hand_over_group(from, to, component, error) : CAL_OK;
    for (int k = 0; status == CAL_OK && c->body >= 0 && k < c->weight; k++)
        status = hand_over_body(d, from, to, c->body + k, error);
    if (status == CAL_OK && c->multibody != NULL) status = cal_multibody_hand_over(d, c->multibody, domain, error);
    return status == CAL_OK ? cal_queue_hand_over(from, to, component, error) : status;
}

static cal_status hand_over_component(cal_domains* d, int component, int domain, cal_error* error) {
    cal_component* c = &d->whole->components[component];
    const bool near = domain == CAL_DOMAIN_WHOLE || (cal_domain_is_own(d, c->domain) && cal_domain_is_own(d, domain));
    cal_status status = (near ? hand_over_near : hand_over_afar)(d, component, domain, error);
    cal_domain_unlist_member(d, component, c->domain);
    // Of a group that was undone only its own rank knows that: others hear where it is from whoever has it.
    if (near || c->body >= 0 || cal_domain_is_own(d, c->domain)) c->domain = domain;
    if (status == CAL_OK && !cal_domain_list_member(d, component))
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
    return status;
}

// home: to the whole.
static cal_status hand_over(cal_domains* d, bool home, cal_status status, cal_error* error) {
    bring_reached(d);
    const bool afar = d->ranks != NULL && !home, many = !home && d->handing_count >= FEW_HANDINGS;
    if (afar) cal_letters_begin(d);
    d->handed += d->handing_count;
    if (status == CAL_OK && many && !afar) status = cal_domains_exchange(d, error);
    if (status == CAL_OK && d->handing_count > 0 && !(home ? release_all : release_pairs)(d))
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs of bodies");
    for (int i = 0; status == CAL_OK && i < d->handing_count; i++)
        if (d->whole->components[d->handings[i].component].domain != d->handings[i].to)
            status = hand_over_component(d, d->handings[i].component, d->handings[i].to, error);
    for (int i = 0; i < d->handing_count; i++) d->whole->components[d->handings[i].component].going = CAL_DOMAIN_WHOLE;
    d->handing_count = 0;
    if (status == CAL_OK) status = cal_domains_hand_over_hooks(d, home ? CAL_DOMAIN_WHOLE : 1, error);
    if (afar) status = exchange_letters(d, status, error);
    return status == CAL_OK ? put_pairs(d, error) : status;
}

cal_status cal_domains_hand_over(cal_domains* d, cal_status status, cal_error* error) {
    return hand_over(d, false, status, error);
}

cal_status cal_domains_hand_home(cal_domains* d, cal_error* error) { return hand_over(d, true, CAL_OK, error); }
