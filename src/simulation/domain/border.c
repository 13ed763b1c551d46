// The border: pairs of bodies of different domains. Nothing happens there; two that are about to collide come into one domain.
//
// A domain has a region, and regions share nothing. A body whose box is inside its own domain's region is met by none that is inside of
// another one. So bodies whose boxes stick out are in a broad phase of their own, in which those that have a new box look for
// partners; and those that stick out look into the domains whose regions they reach into.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/domain/domain.h"
#include "simulation/event/events.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/free_body.h"
#include "simulation/motion/search.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <string.h>

static bool is_inside(const cal_box* box, const cal_box* region) {
    for (int i = 0; i < 3; i++)
        if (!(box->low[i] > region->low[i] && box->high[i] < region->high[i])) return false;
    return true;
}

static const cal_box* box_of(const cal_domains* d, int body) {
    return cal_broad_box(cal_domain_world(d, cal_domain_of_body(d->whole, body))->broad, body);
}

// --- Who overlaps whom ----------------------------------------------------------------------------------------------------------

// Where the pair of two bodies is to be predicted from. One that is new: from the beginning of the window. A search that had come to
// the end of a box goes on.
static double start_of(const cal_domains* d, int body, int other) {
    const cal_world* border = d->border;
    const cal_sim_body *a = &d->whole->bodies[body], *b = &d->whole->bodies[other];
    const int number = cal_pair_find(border, body, other);
    if (number < 0) return d->begin;
    const double from = fmin(a->changed_from, b->noted ? b->changed_from : (double)INFINITY);
    const cal_pair* pair = &border->table.pairs[number];
    const double due = cal_events_time(&border->events, pair->event);
    if (!pair->hit && due < d->end) return fmin(from, due);
    return pair->kind > CAL_PAIR_BALL_PLANE && !(due < (double)INFINITY) ? fmin(from, d->begin) : from;
}

// A pair of free bodies that nobody has to be advanced for is predicted by the worker that has found it. Of a pair that is known,
// what is due before stays.
static void predict(cal_domains* d, int domain, cal_border_find* find) {
    cal_world* view = d->domains[domain].world;
    const int low = find->body < find->other ? find->body : find->other,
              high = find->body < find->other ? find->other : find->body;
    const double until = fmin(d->whole->bodies[low].box_end, d->whole->bodies[high].box_end);
    const int number = cal_pair_find(d->border, low, high);
    if (number >= 0 && cal_events_time(&d->border->events, d->border->table.pairs[number].event) < find->from) return;
    if (!cal_free_body_is_known(view, low, until) || !cal_free_body_is_known(view, high, until)) return;
    const cal_pair pair = {.body = {low, high}, .kind = (int32_t)cal_classify(view, low, high)};
    find->done = cal_pair_look(view, &pair, fmax(find->from, view->gvt), &find->prediction, NULL) == CAL_OK;
}

static bool keep_finds(cal_domains* d, int domain, int body, const int32_t* ids, int count) {
    cal_domain* own = &d->domains[domain];
    for (int i = 0; i < count; i++) {
        const int other = ids[i];
        const cal_sim_body* part = &d->whole->bodies[other];
        if (part->component < 0 || cal_domain_of_body(d->whole, other) == cal_domain_of_body(d->whole, body)) continue;
        if ((part->noted && other < body) || !cal_may_collide(own->world, body, other))
            continue; // the other one finds it
        if (!cal_grow((void**)&own->finds, &own->find_capacity, own->find_count, sizeof *own->finds)) return false;
        cal_border_find* find = &own->finds[own->find_count++];
        *find = (cal_border_find){.body = body, .other = other, .from = start_of(d, body, other)};
        if (find->from < (double)INFINITY) predict(d, domain, find);
    }
    return count >= 0;
}

// What the bodies that a domain has noted overlap in others.
static void look_around(cal_domains* d, int domain) {
    cal_domain* own = &d->domains[domain];
    bool enough = true;
    own->find_count = 0;
    for (int k = 0; enough && k < own->world->noted_count; k++) {
        const int body = own->world->noted[k], home = cal_domain_of_body(d->whole, body);
        const cal_box* box = box_of(d, body);
        const int32_t* ids;
        if (box == NULL) continue;
        int count = cal_broad_look(d->border->broad, box, &own->scratch, &ids);
        enough = keep_finds(d, domain, body, ids, count);
        const bool inside = is_inside(box, &d->domains[home].region);
        for (int i = 1; enough && !inside && i <= d->count; i++) {
            if (i == home || !cal_box_overlap(box, &d->domains[i].region)) continue;
            count = cal_broad_look(d->domains[i].world->broad, box, &own->scratch, &ids);
            enough = keep_finds(d, domain, body, ids, count);
        }
    }
    own->status = enough ? CAL_OK : cal_fail(&own->error, CAL_NO_MEMORY, "out of memory for boxes");
}

// Whether a group was in charge of a body at any time of the window.
static bool was_grouped(const cal_domains* d, int body) {
    const cal_queue* queue = &d->whole->components[d->whole->bodies[body].component].queue;
    for (int64_t n = queue->tail - 1; n >= queue->head; n--) {
        if (cal_saved_state_at(queue, n)->kind == CAL_FUSED) return true;
        if (cal_saved_state_at(queue, n)->time <= d->begin) break;
    }
    return false;
}

// --- Joining domains ----------------------------------------------------------------------------------------------------------

static cal_status list_cluster(cal_domains* d, int component, int to, cal_error* error) {
    const cal_status status = cal_domains_collect(d, component, error);
    if (status != CAL_OK) return status;
    for (int i = 0; i < d->cluster_count; i++) {
        if (!cal_grow((void**)&d->handings, &d->handing_capacity, d->handing_count, sizeof *d->handings))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
        d->handings[d->handing_count++] = (cal_handing){d->cluster[i], to};
    }
    return CAL_OK;
}

// Two bodies come into one domain: that of the one which has more that stays with it. decided: groups that have gone on without
// knowing of the other one decide again.
static cal_status join(cal_domains* d, int a, int b, bool decided, cal_error* error) {
    const cal_world* whole = d->whole;
    const int domain[2] = {cal_domain_of_body(whole, a), cal_domain_of_body(whole, b)};
    cal_status status = CAL_OK;
    if (domain[0] != domain[1]) {
        status = cal_domains_collect(d, whole->bodies[a].component, error);
        const int first = d->cluster_count;
        if (status == CAL_OK) status = cal_domains_collect(d, whole->bodies[b].component, error);
        const bool stays = first > d->cluster_count;
        if (status == CAL_OK)
            status = list_cluster(d, whole->bodies[stays ? b : a].component, domain[stays ? 0 : 1], error);
        if (status == CAL_OK) status = cal_domains_hand_over(d, error);
    }
    if (status == CAL_OK) status = cal_domains_tie(d, whole->bodies[a].component, whole->bodies[b].component, error);
    cal_world* view = cal_domain_world(d, cal_domain_of_body(whole, a));
    if (status == CAL_OK && decided) status = cal_domain_reconsider(view, a, d->begin, true, error);
    if (status == CAL_OK && decided) status = cal_domain_reconsider(view, b, d->begin, true, error);
    return status == CAL_OK && decided ? cal_world_update_changed(view, error) : status;
}

// --- Pairs --------------------------------------------------------------------------------------------------------------------

// Boxes that ceased to overlap end a pair.
static void end_pairs(cal_domains* d, int body, const cal_box* box) {
    const cal_sim_body* part = &d->whole->bodies[body];
    for (int i = part->border_count - 1; i >= 0; i--) {
        const cal_pair* pair = &d->border->table.pairs[part->border_pairs[i]];
        const int other = pair->body[0] == body ? pair->body[1] : pair->body[0];
        if (!cal_box_overlap(box, box_of(d, other))) cal_pair_remove(d->border, part->border_pairs[i]);
    }
}

// What a domain has found becomes pairs of the border.
static cal_status take_finds(cal_domains* d, int domain, cal_error* error) {
    cal_world* border = d->border;
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < d->domains[domain].find_count; i++) {
        const cal_border_find* find = &d->domains[domain].finds[i];
        int pair = cal_pair_find(border, find->body, find->other);
        if (pair < 0) status = cal_pair_add(border, find->body, find->other, &pair, error);
        if (status != CAL_OK || !(find->from < (double)INFINITY)) continue;
        if (find->done)
            cal_pair_take(border, pair, &find->prediction);
        else
            status = cal_pair_predict(border, pair, find->from, error);
    }
    return status;
}

// Who sticks out of its region.
static cal_status place_noted(cal_domains* d, cal_world* view, cal_error* error) {
    for (int i = 0; i < view->noted_count; i++) {
        const int body = view->noted[i], own = cal_domain_of_body(d->whole, body);
        const cal_box* box = box_of(d, body);
        cal_status status = CAL_OK;
        if (box != NULL && !is_inside(box, &d->domains[own].region))
            status = cal_broad_put(d->border->broad, body, box);
        else
            cal_broad_remove(d->border->broad, body, NULL);
        if (status != CAL_OK) return cal_fail(error, status, "out of memory for boxes");
    }
    return CAL_OK;
}

static cal_status update_pairs(cal_domains* d, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 1; status == CAL_OK && i <= d->count; i++) status = place_noted(d, d->domains[i].world, error);
    int noted = 0;
    for (int i = 1; i <= d->count; i++) noted += d->domains[i].world->noted_count;
    if (status == CAL_OK && noted > 0) status = cal_domains_run(d, look_around, error);
    for (int i = 1; status == CAL_OK && noted > 0 && i <= d->count; i++) {
        const cal_world* view = d->domains[i].world;
        for (int k = 0; k < view->noted_count; k++)
            if (box_of(d, view->noted[k]) != NULL) end_pairs(d, view->noted[k], box_of(d, view->noted[k]));
    }
    for (int i = 1; status == CAL_OK && noted > 0 && i <= d->count; i++) status = take_finds(d, i, error);
    for (int i = 1; i <= d->count; i++) {
        cal_world* view = d->domains[i].world;
        for (int k = 0; k < view->noted_count; k++) d->whole->bodies[view->noted[k]].noted = false;
        view->noted_count = 0;
    }
    return status;
}

// Pairs near groups, of which none may stay; they come into one domain.
static cal_status join_groups(cal_domains* d, bool ran, bool* met, cal_error* error) {
    cal_status status = CAL_OK;
    const cal_pair_table* table = &d->border->table;
    for (int i = 0; status == CAL_OK && d->grouping && i < table->pair_count; i++) {
        const cal_pair pair = table->pairs[i];
        if (pair.event < 0 || !(was_grouped(d, pair.body[0]) || was_grouped(d, pair.body[1]))) continue;
        *met = true;
        status = join(d, pair.body[0], pair.body[1], ran, error);
    }
    return status;
}

// Pairs that are known to collide before a time. Others may have boxes that end before, and are looked at when these are renewed.
static cal_status join_known(cal_domains* d, double end, bool* met, cal_error* error) {
    const cal_world* border = d->border;
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < border->table.pair_count; i++) {
        const cal_pair pair = border->table.pairs[i];
        if (pair.event < 0 || !pair.hit || !(cal_events_time(&border->events, pair.event) < end)) continue;
        *met = true;
        status = join(d, pair.body[0], pair.body[1], false, error);
    }
    return status;
}

// Pairs that collide before a time.
static cal_status join_colliding(cal_domains* d, double end, bool* met, cal_error* error) {
    cal_world* border = d->border;
    cal_status status = CAL_OK;
    while (status == CAL_OK) {
        const int event = cal_events_first(&border->events);
        if (event < 0 || !(cal_events_due(&border->events) < end)) break;
        const int number = border->events.slots[event].owner;
        const cal_pair pair = border->table.pairs[number];
        if (pair.hit) {
            *met = true;
            status = join(d, pair.body[0], pair.body[1], false, error);
            continue;
        }
        const double due = cal_events_due(&border->events);
        status = cal_pair_predict(border, number, due, error);
        // A search that comes no further goes on with the next box, of which its domain tells.
        if (status == CAL_OK && !border->table.pairs[number].hit && cal_events_time(&border->events, event) <= due)
            cal_events_schedule(&border->events, event, (double)INFINITY, 0);
    }
    return status;
}

cal_status cal_border_meet(cal_domains* d, double end, bool ran, bool* met, cal_error* error) {
    *met = false;
    cal_status status = CAL_OK;
    for (bool again = true; status == CAL_OK && again; *met |= again) {
        again = false;
        status = update_pairs(d, error);
        if (status == CAL_OK) status = join_groups(d, ran, &again, error);
        if (status == CAL_OK && !again) status = (ran ? join_colliding : join_known)(d, end, &again, error);
    }
    return status;
}
