// The border: pairs of bodies of different domains. Nothing happens there; two that are about to collide come into one domain.
//
// A domain has an extent, which holds the boxes of all its bodies. A body that has a new box looks for partners in those domains whose extents
// its box meets: one that is in the middle of its domain looks nowhere.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/domain/ranks.h"
#include "simulation/event/events.h"
#include "simulation/event/fetch.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/free_body.h"
#include "simulation/motion/search.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <string.h>

#define CORE_MARGIN                                                                                                    \
    0.05 // of a domain's length: by so much others may come nearer before all that it has noted is looked at again

static const cal_box* box_of(const cal_domains* d, int body) {
    return cal_broad_box(cal_domain_world(d, cal_domain_of_body(d->whole, body))->broad, body);
}

// The box of a noted body; NULL: it has none, or has gone over to another domain, which has noted it, too.
static const cal_box* noted_box(const cal_domains* d, const cal_domain* own, int k) {
    const int body = own->world->noted[k];
    return cal_domain_of_body(d->whole, body) == own->world->domain ? cal_broad_box(own->world->broad, body) : NULL;
}

// The extent from the boxes that there are now.
static void measure_extent(const cal_domains* d, cal_domain* own) {
    own->extent = cal_box_of_nothing;
    own->renewed = 0;
    for (int i = 0; i < own->member_count; i++) {
        const cal_component* c = &d->whole->components[own->members[i]];
        for (int k = 0; k < c->weight; k++) {
            const cal_box* box = cal_broad_box(own->world->broad, c->body + k);
            if (box != NULL) cal_box_extend(&own->extent, box);
        }
    }
}

static bool is_within(const cal_box* inner, const cal_box* outer) {
    for (int i = 0; i < 3; i++)
        if (inner->low[i] < outer->low[i] || inner->high[i] > outer->high[i]) return false;
    return true;
}

// A body that may be near those of another domain is followed as far as its box goes, so that all workers can look at it: that changes nothing then.
static void follow(const cal_domains* d, const cal_domain* own, int body, const cal_box* box) {
    const cal_sim_body* part = &d->whole->bodies[body];
    const cal_component* c = &d->whole->components[part->component];
    cal_motion at;
    if (!c->ops->single || cal_component_is_fused(c) || cal_free_body_is_known(d->whole, body, part->box_end)) return;
    for (int i = 0; i < own->near_count; i++) {
        if (!cal_box_overlap(box, &d->domains[own->near[i]].shown)) continue;
        (void)cal_body_at(own->world, body, part->box_end, &at); // what cannot be followed fails where it is looked at
        return;
    }
}

static bool keep_outer(cal_domain* own, int body, const cal_box* box) {
    if (!cal_grow((void**)&own->outer, &own->outer_capacity, own->outer_count, sizeof *own->outer)) return false;
    own->outer[own->outer_count++] = (cal_outer){.body = body, .box = *box};
    return true;
}

// Boxes that are new since the last look are in the extent; when as many were made as there are bodies, it is measured anew. The extent of another rank's
// domain is what that says.
cal_status cal_border_extend(cal_domains* d, int domain, cal_error* error) {
    cal_domain* own = &d->domains[domain];
    const cal_world* view = own->world;
    const bool ours = cal_domain_is_own(d, domain);
    bool enough = true;
    own->renewed += view->noted_count - own->extended_count;
    for (; enough && own->extended_count < view->noted_count; own->extended_count++) {
        const int body = view->noted[own->extended_count];
        const cal_box* box = noted_box(d, own, own->extended_count);
        cal_domain_fetch_noted(own, own->extended_count);
        if (box == NULL) continue;
        if (ours) cal_box_extend(&own->extent, box);
        enough = !ours || cal_domain_keep_stray(d, domain, body, box);
        if (is_within(box, &own->core)) continue;
        if (ours) follow(d, own, body, box);
        enough = enough && keep_outer(own, body, box);
    }
    if (ours && own->renewed > own->member_count) measure_extent(d, own);
    return enough ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "out of memory for boxes");
}

// The part of a domain's extent that no other domain comes to, and will not soon: a box, from which what others have is cut off where that leaves most.
static void find_core(const cal_domains* d, cal_domain* own) {
    cal_box core = own->extent;
    for (int k = 0; k < own->near_count; k++) {
        const cal_box* other = &d->domains[own->near[k]].extent;
        if (!cal_box_overlap(&core, other)) continue;
        double most = 0.0;
        cal_box best = cal_box_of_nothing;
        for (int i = 0; i < 3; i++) {
            const double length = core.high[i] - core.low[i], margin = CORE_MARGIN * length;
            cal_box below = core, above = core;
            below.high[i] = fmin(other->low[i] - margin, core.high[i]);
            above.low[i] = fmax(other->high[i] + margin, core.low[i]);
            const double shares[2] = {(below.high[i] - core.low[i]) / length, (core.high[i] - above.low[i]) / length};
            for (int side = 0; side < 2; side++)
                if (shares[side] > most) most = shares[side], best = side == 0 ? below : above;
        }
        core = best;
    }
    own->core = core;
}

// --- Who overlaps whom ----------------------------------------------------------------------------------------------------------

static bool is_noted(const cal_domains* d, const cal_sim_body* part) { return part->noted == d->round; }

// Where the pair of two bodies is to be predicted from. One that is new, −1: from the beginning of the window. A search that had come to
// the end of a box goes on.
static double start_of(const cal_domains* d, const cal_world* border, int body, int other, int number) {
    const cal_sim_body *a = &d->whole->bodies[body], *b = &d->whole->bodies[other];
    if (number < 0) return d->begin;
    const double from = fmin(a->changed_from, is_noted(d, b) ? b->changed_from : (double)INFINITY);
    const cal_pair* pair = &border->table.pairs[number];
    const double due = cal_events_time(&border->events, pair->event);
    if (!pair->hit && due < d->end) return fmin(from, due);
    return pair->open && !(due < (double)INFINITY) ? fmin(from, d->begin) : from;
}

// Whether where a body is until a time is known to whoever looks: in a group it is as far as that has come.
static bool is_known(const cal_world* world, int body, double until) {
    const cal_component* c = &world->components[world->bodies[body].component];
    return (c->ops->single && cal_component_is_fused(c)) || cal_free_body_is_known(world, body, until);
}

// Whether nobody has to be advanced for a look at a pair: then several can look at the same time.
static bool can_look(const cal_world* world, int a, int b) {
    const double until = fmin(world->bodies[a].box_end, world->bodies[b].box_end);
    return is_known(world, a, until) && is_known(world, b, until);
}

// A pair of free bodies that nobody has to be advanced for is predicted by the worker that has found it. Of a pair that is known,
// what is due before stays.
static void predict(cal_world* view, const cal_world* border, cal_border_find* find) {
    const int low = find->body < find->other ? find->body : find->other,
              high = find->body < find->other ? find->other : find->body;
    if (find->pair >= 0 && cal_events_time(&border->events, border->table.pairs[find->pair].event) < find->from) return;
    if (!can_look(view, low, high)) return;
    const cal_pair pair = {.body = {low, high}, .kind = (int32_t)cal_classify(view, low, high)};
    find->done = cal_pair_look(view, &pair, fmax(find->from, view->gvt), true, &find->prediction, NULL) == CAL_OK;
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

// Decisions of groups from which the other one of two would have joined; whether they could be looked at by the worker that has found the two.
static bool look_for_missed(cal_domains* d, cal_world* view, bool alone, cal_border_find* find) {
    const int bodies[2] = {find->body, find->other};
    for (int k = 0; k < 2; k++) {
        find->missed[k] = (double)INFINITY;
        if (!d->grouping || !was_grouped(d, bodies[k])) continue;
        if (!alone && !is_known(view, bodies[1 - k], d->end)) return false;
        if (cal_domain_find_missed(view, bodies[k], bodies[1 - k], d->begin, &find->missed[k], NULL) != CAL_OK)
            return false;
    }
    return true;
}

static bool keep_finds(cal_domains* d, cal_border_look* look, cal_world* view, int body, const int32_t* ids,
                       int count) {
    const cal_world* border = d->domains[look->keeper].border;
    cal_fetch_bodies(view, &(cal_fetched){{ids}, {count}});
    for (int i = 0; i < count; i++) {
        const int other = ids[i];
        const cal_sim_body* part = &d->whole->bodies[other];
        if (part->component < 0 || (is_noted(d, part) && other < body)) continue; // the other one finds it
        if (!cal_may_collide(view, body, other)) continue;
        cal_border_find find = {.body = body, .other = other, .pair = cal_pair_find(border, body, other)};
        find.from = start_of(d, border, body, other, find.pair);
        if (!(find.from < (double)INFINITY)) continue; // it is known, and nothing has changed
        predict(view, border, &find);
        find.looked = look_for_missed(d, view, false, &find);
        if (!cal_grow((void**)&look->finds, &look->find_capacity, look->find_count, sizeof *look->finds)) return false;
        look->finds[look->find_count++] = find;
    }
    return count >= 0;
}

// Domains that the bodies of a domain may meet; of another rank's domain those of this one.
cal_status cal_border_list_near(cal_domains* d, int domain, cal_error* error) {
    cal_domain* own = &d->domains[domain];
    const bool ours = cal_domain_is_own(d, domain);
    own->near_count = 0;
    for (int i = 1; i <= d->count; i++) {
        if (i == domain || !(ours || cal_domain_is_own(d, i)) || !cal_box_overlap(&own->extent, &d->domains[i].extent))
            continue;
        if (!cal_grow((void**)&own->near, &own->near_capacity, own->near_count, sizeof *own->near))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
        own->near[own->near_count++] = i;
    }
    return CAL_OK;
}

// Of what a domain has noted, what is not inside of a box that no other domain came to; where one has since, all of it.
static int outer_count(const cal_domain* own, const cal_domain* other, bool* inside) {
    *inside = cal_box_overlap(&own->core, &other->extent);
    return *inside ? own->world->noted_count : own->outer_count;
}

static const cal_box* outer_box(const cal_domains* d, const cal_domain* own, int k, bool inside, int* body) {
    *body = inside ? own->world->noted[k] : own->outer[k].body;
    return inside ? noted_box(d, own, k) : &own->outer[k].box;
}

// What the bodies that one of two domains has noted overlap in the other one. Counts go into a world of the look's own: another worker may look from the same
// domain into a third one.
static bool look_from(cal_domains* d, cal_border_look* look, int side) {
    const cal_domain *own = &d->domains[look->domain[side]], *other = &d->domains[look->domain[1 - side]];
    bool inside, any = false, enough = true;
    const int count = outer_count(own, other, &inside);
    int body;
    double volume = 0.0;
    cal_box all = cal_box_of_nothing;
    for (int k = 0; k < count; k++) {
        const cal_box* box = outer_box(d, own, k, inside, &body);
        if (box == NULL || !cal_box_overlap(box, &other->extent)) continue;
        cal_box_extend(&all, box);
        volume += cal_box_volume(box);
        any = true;
    }
    if (!any) return true;
    for (int i = 0; i < 3; i++) {
        all.low[i] = fmax(all.low[i], other->extent.low[i]);
        all.high[i] = fmin(all.high[i], other->extent.high[i]);
    }
    if (!cal_look_begin(d, look, other, volume, &all)) return false;
    cal_world view = *own->world;
    view.report.checks = view.report.predictions = 0;
    for (int k = 0; enough && k < count; k++) {
        const cal_box* box = outer_box(d, own, k, inside, &body);
        if (box == NULL || !cal_box_overlap(box, &other->extent)) continue;
        const int32_t* ids;
        const int found = cal_look_overlaps(look, other, box, &ids);
        enough = keep_finds(d, look, &view, body, ids, found);
    }
    look->checks += view.report.checks, look->predictions += view.report.predictions;
    return enough;
}

// Takes looks, one after the other, until there is none.
bool cal_border_look_some(cal_domains* d) {
    int next = atomic_load_explicit(&d->looks_taken, memory_order_relaxed);
    double begin = 0.0;
    bool any = false;
    while (next < atomic_load_explicit(&d->look_count, memory_order_acquire)) {
        if (!atomic_compare_exchange_weak(&d->looks_taken, &next, next + 1)) continue;
        cal_border_look* look = &d->looks[next++];
        if (!any) begin = cal_processor_time();
        any = true;
        look->failed = !(look_from(d, look, 0) && look_from(d, look, 1));
    }
    if (any) atomic_fetch_add(&d->looked_ns, (long long)(1e9 * (cal_processor_time() - begin)));
    return any;
}

static void forget_looks(cal_domains* d) {
    atomic_store(&d->look_count, 0);
    atomic_store(&d->looks_taken, 0);
}

void cal_border_begin_run(cal_domains* d) {
    for (int i = 1; i <= d->count; i++) d->domains[i].ran = false;
    forget_looks(d);
    d->looked = d->ranks == NULL && !d->grouping;
}

// A look from one domain into another and back, where there is something to be looked at; others may take it from now on.
static void list_look(cal_domains* d, int one, int two) {
    const cal_domain *a = &d->domains[one], *b = &d->domains[two];
    const int keeper = cal_border_side(one, two), number = atomic_load_explicit(&d->look_count, memory_order_relaxed);
    if (a->world->noted_count + b->world->noted_count == 0 || !cal_domain_is_own(d, keeper)) return;
    if (!cal_box_overlap(&a->extent, &b->extent)) return;
    cal_border_look* look = &d->looks[number];
    look->domain[0] = one, look->domain[1] = two, look->keeper = keeper;
    look->find_count = 0;
    look->checks = look->predictions = 0;
    look->failed = false;
    atomic_store_explicit(&d->look_count, number + 1, memory_order_release);
}

// Two domains look at each other when both have run, while others still run. Not where there are groups: those that have ended have members in other domains,
// which may still run.
void cal_border_end_run(cal_domains* d, int domain) {
    if (!d->looked) return;
    pthread_mutex_lock(&d->meeting);
    for (int i = 1; i <= d->count; i++)
        if (d->domains[i].ran) list_look(d, domain, i);
    d->domains[domain].ran = true;
    pthread_mutex_unlock(&d->meeting);
}

// All domains look at each other, by all workers.
static cal_status look_across(cal_domains* d, cal_error* error) {
    forget_looks(d);
    for (int i = 1; i <= d->count; i++)
        for (int k = i + 1; k <= d->count; k++)
            if (cal_domain_is_own(d, i) || cal_domain_is_own(d, k)) list_look(d, i, k);
    return cal_domains_run_looks(d, error);
}

// --- What is due ----------------------------------------------------------------------------------------------------------------

static cal_status keep_later(cal_domain* own, int number, cal_error* error) {
    if (!cal_grow((void**)&own->later, &own->later_capacity, own->later_count, sizeof *own->later))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs of bodies");
    own->later[own->later_count++] = number;
    return CAL_OK;
}

// Pairs that a domain keeps which are due before a time, and not known to collide. shared: those that it can look at while others look.
static cal_status list_due(cal_domain* own, double end, bool shared, cal_error* error) {
    const cal_event_queue* events = &own->border->events;
    cal_status status = CAL_OK;
    own->later_count = 0;
    for (int i = 0; status == CAL_OK && i < events->count; i++) {
        const cal_heap_entry* due = &events->heap[CAL_HEAP_ROOT + i];
        if (!(due->time < end)) continue;
        const int number = events->slots[due->event].owner;
        const cal_pair* pair = &own->border->table.pairs[number];
        if (pair->hit || (shared && !can_look(own->border, pair->body[0], pair->body[1]))) continue;
        status = keep_later(own, number, error);
    }
    return status;
}

// Looks at them until none is left.
static cal_status look_at_due(cal_domain* own, double end, bool shared, cal_error* error) {
    cal_world* border = own->border;
    cal_status status = list_due(own, end, shared, error);
    while (status == CAL_OK && own->later_count > 0) {
        for (int i = 0; status == CAL_OK && i < own->later_count; i++) {
            const cal_pair* pair = &border->table.pairs[own->later[i]];
            const double due = cal_events_time(&border->events, pair->event);
            status = cal_pair_predict(border, own->later[i], due, error);
            // A search that comes no further goes on with the next box, of which its domain tells.
            if (status == CAL_OK && !pair->hit && cal_events_time(&border->events, pair->event) <= due)
                cal_events_schedule(&border->events, pair->event, (double)INFINITY, 0);
        }
        if (status == CAL_OK) status = list_due(own, end, shared, error);
    }
    return status;
}

static void look_at_own(cal_domains* d, int domain) {
    cal_domain* own = &d->domains[domain];
    own->status = look_at_due(own, d->end, true, &own->error);
}

// --- Pairs --------------------------------------------------------------------------------------------------------------------

static cal_status want_pair(cal_domains* d, const cal_pair* pair, cal_error* error) {
    const cal_wanted wanted = {.body = {pair->body[0], pair->body[1]}, .missed = (double)INFINITY};
    return cal_domains_want(d, &wanted, error);
}

// Decisions that groups have made in this window without a body of another domain, which would have joined.
static cal_status take_missed(cal_domains* d, cal_border_find* find, cal_error* error) {
    const int bodies[2] = {find->body, find->other};
    if (!find->looked && !look_for_missed(d, d->border, true, find))
        return cal_fail(error, CAL_NOT_FINITE, "bodies near a contact group cannot be followed from %g s", d->begin);
    cal_status status = CAL_OK;
    for (int k = 0; status == CAL_OK && k < 2; k++) {
        const cal_wanted wanted = {.body = {bodies[k], bodies[1 - k]}, .missed = find->missed[k]};
        if (wanted.missed < (double)INFINITY) status = cal_domains_want(d, &wanted, error);
    }
    return status;
}

// Whether a body is another rank's, and not near any more.
static bool is_gone(const cal_domains* d, int body) {
    return box_of(d, body) == NULL && !cal_domain_is_own(d, cal_domain_of_body(d->whole, body));
}

// Pairs whose boxes have ceased to overlap.
static void drop_ended(const cal_domains* d, cal_world* border) {
    for (int i = 0; i < border->table.pair_count; i++) {
        const cal_pair* pair = &border->table.pairs[i];
        if (pair->event < 0) continue;
        const cal_sim_body *a = &d->whole->bodies[pair->body[0]], *b = &d->whole->bodies[pair->body[1]];
        if (!is_noted(d, a) && !is_noted(d, b)) continue;
        const cal_box *one = box_of(d, pair->body[0]), *two = box_of(d, pair->body[1]);
        const bool gone = is_gone(d, pair->body[0]) || is_gone(d, pair->body[1]);
        if (gone || (one != NULL && two != NULL && !cal_box_overlap(one, two))) cal_pair_remove(border, i);
    }
}

// What was found becomes pairs of the border. What could not be predicted then is later.
static cal_status take_find(cal_domain* own, cal_border_find* find, cal_error* error) {
    cal_world* border = own->border;
    cal_status status = CAL_OK;
    if (find->pair < 0) find->pair = cal_pair_find(border, find->body, find->other);
    if (find->pair < 0) status = cal_pair_add(border, find->body, find->other, &find->pair, error);
    if (status == CAL_OK && find->done) cal_pair_take(border, find->pair, &find->prediction);
    return status;
}

static cal_status take_look(cal_domains* d, cal_domain* own, int number, cal_error* error) {
    cal_border_look* look = &d->looks[number];
    cal_status status = look->failed ? cal_fail(error, CAL_NO_MEMORY, "out of memory for boxes") : CAL_OK;
    own->border->report.checks += look->checks, own->border->report.predictions += look->predictions;
    for (int i = 0; status == CAL_OK && i < look->find_count; i++) {
        status = take_find(own, &look->finds[i], error);
        if (status == CAL_OK && !look->finds[i].done) status = keep_later(own, number, error);
        if (status == CAL_OK && !look->finds[i].done) status = keep_later(own, i, error);
    }
    return status;
}

// What a domain keeps, after all have looked; and what it has to know of others before it runs again. What is due is looked at along with it, where that waits for nobody.
static void keep_pairs(cal_domains* d, int domain) {
    cal_domain* own = &d->domains[domain];
    own->later_count = 0;
    drop_ended(d, own->border);
    own->status = cal_border_list_near(d, domain, &own->error);
    if (own->status == CAL_OK) find_core(d, own);
    for (int k = 0; own->status == CAL_OK && k < d->look_count; k++)
        if (d->looks[k].keeper == domain) own->status = take_look(d, own, k, &own->error);
    own->seen_due = own->status == CAL_OK && d->ran && !d->grouping && own->later_count == 0;
    if (own->seen_due) look_at_own(d, domain);
    own->later_count = own->seen_due ? 0 : own->later_count;
}

// By one core: for these somebody has to be advanced.
static cal_status predict_later(cal_domains* d, const cal_domain* own, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < own->later_count; i += 2) {
        const cal_border_find* find = &d->looks[own->later[i]].finds[own->later[i + 1]];
        status = cal_pair_predict(own->border, find->pair, find->from, error);
    }
    return status;
}

static cal_status take_all_missed(cal_domains* d, cal_error* error) {
    cal_status status = CAL_OK;
    for (int k = 0; d->grouping && k < d->look_count; k++)
        for (int i = 0; status == CAL_OK && i < d->looks[k].find_count; i++)
            status = take_missed(d, &d->looks[k].finds[i], error);
    return status;
}

// Extents and boxes as they are now, known to all who look at them. *any: there is something to be looked at.
static cal_status update_boxes(cal_domains* d, bool* any, cal_status status, cal_error* error) {
    d->noted = 0;
    for (int i = 1; status == CAL_OK && i <= d->count; i++) {
        if (!cal_domain_is_own(d, i)) continue;
        d->noted += d->domains[i].world->noted_count;
        status = cal_border_extend(d, i, error);
    }
    if (d->ranks != NULL) status = cal_rank_summarize(d, status, error);
    if (status != CAL_OK) return status;
    *any = d->noted > 0;
    for (int i = 1; i <= d->count; i++) {
        cal_domain* own = &d->domains[i];
        own->grown = d->ranks != NULL && !is_within(&own->extent, &own->shown);
        own->before = own->shown;
        *any |= own->grown;
    }
    if (!*any) return CAL_OK;
    for (int i = 1; i <= d->count; i++) d->domains[i].shown = d->domains[i].extent;
    if (d->ranks == NULL) return CAL_OK;
    status = cal_rank_tell(d, status, error);
    for (int i = 1; status == CAL_OK && i <= d->count; i++)
        if (!cal_domain_is_own(d, i)) status = cal_border_extend(d, i, error);
    return status;
}

static cal_status update_pairs(cal_domains* d, cal_status status, cal_error* error) {
    bool any = false;
    for (int i = 1; i <= d->count; i++) d->domains[i].seen_due = false;
    status = update_boxes(d, &any, status, error);
    const bool looked = d->looked && !d->grouping; // a group that came in this run may have missed somebody
    d->looked = false;
    if (!any) return status;
    if (status == CAL_OK && !looked) status = look_across(d, error);
    if (status == CAL_OK) status = cal_domains_run(d, keep_pairs, error);
    if (status == CAL_OK) status = take_all_missed(d, error);
    for (int i = 1; status == CAL_OK && i <= d->count; i++)
        if (cal_domain_is_own(d, i)) status = predict_later(d, &d->domains[i], error);
    d->round++; // what was noted is no longer
    for (int i = 1; i <= d->count; i++)
        d->domains[i].world->noted_count = d->domains[i].extended_count = d->domains[i].outer_count = 0;
    return status;
}

// Whether a group is in charge of one of two bodies, and would be of both.
static bool has_group(const cal_world* whole, const cal_pair* pair) {
    const cal_sim_body *a = &whole->bodies[pair->body[0]], *b = &whole->bodies[pair->body[1]];
    return (cal_component_is_fused(&whole->components[a->component]) ||
            cal_component_is_fused(&whole->components[b->component])) &&
           cal_group_is_inner(whole, pair->body[0], pair->body[1]);
}

// Whether a body is likely to meet the group of another one before a time. Nobody knows how a group goes on: if both go on as they do, the balls about
// the two overlap by then, or so soon after that one joins. To be wrong costs a rollback.
static bool is_likely(const cal_domains* d, cal_world* border, const cal_pair* pair, double end) {
    const cal_world* whole = d->whole;
    const cal_sim_body *a = &whole->bodies[pair->body[0]], *b = &whole->bodies[pair->body[1]];
    cal_motion at[2];
    double apart = 0.0, closing = 0.0;
    for (int k = 0; k < 2; k++)
        if (cal_body_at(border, pair->body[k], d->begin, &at[k]) != CAL_OK) return false;
    for (int i = 0; i < 3; i++) {
        const double way = at[1].pose.position[i] - at[0].pose.position[i];
        apart += way * way;
        closing += way * (at[0].u[i] - at[1].u[i]);
    }
    apart = sqrt(apart);
    return apart - a->reach - b->reach <= closing / apart * (end - d->begin + 1.0 / whole->def.group_rate);
}

// Pairs that are known to collide before a time come into one domain: they are among the few that are due then.
static cal_status want_known(cal_domains* d, const cal_world* border, double end, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < border->events.count; i++) {
        const cal_heap_entry* due = &border->events.heap[CAL_HEAP_ROOT + i];
        if (!(due->time < end)) continue;
        const cal_pair* pair = &border->table.pairs[border->events.slots[due->event].owner];
        if (pair->hit) status = want_pair(d, pair, error);
    }
    return status;
}

// Pairs that a domain keeps which are likely to meet, or of which somebody has to be advanced to tell.
static void list_likely(cal_domains* d, int domain) {
    cal_domain* own = &d->domains[domain];
    cal_world* border = own->border;
    cal_status status = CAL_OK;
    own->later_count = 0;
    for (int i = 0; status == CAL_OK && i < border->table.pair_count; i++) {
        const cal_pair* pair = &border->table.pairs[i];
        if (pair->event < 0 || !has_group(d->whole, pair)) continue;
        const bool known = is_known(border, pair->body[0], d->begin) && is_known(border, pair->body[1], d->begin);
        if (!known || is_likely(d, border, pair, d->end)) status = keep_later(own, i, &own->error);
    }
    own->status = status;
}

static cal_status want_likely(cal_domains* d, const cal_domain* own, double end, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < own->later_count; i++) {
        const cal_pair* pair = &own->border->table.pairs[own->later[i]];
        if (is_likely(d, own->border, pair, end)) status = want_pair(d, pair, error);
    }
    return status;
}

// Before domains run: pairs that are known to collide before a time, or likely to. Others may have boxes that end before, and are looked at when these are
// renewed. After that: pairs that collide.
static cal_status want_pairs(cal_domains* d, double end, bool ran, cal_error* error) {
    bool due = false;
    for (int i = 1; i <= d->count; i++)
        due |= !d->domains[i].seen_due && cal_events_due(&d->domains[i].border->events) < end;
    const bool likely = !ran && d->grouping;
    cal_status status = ran && due ? cal_domains_run(d, look_at_own, error)
                        : likely   ? cal_domains_run(d, list_likely, error)
                                   : CAL_OK;
    for (int i = 1; status == CAL_OK && i <= d->count; i++) {
        const cal_world* border = d->domains[i].border;
        if (!cal_domain_is_own(d, i)) continue;
        if (ran && cal_events_due(&border->events) < end) status = look_at_due(&d->domains[i], end, false, error);
        if (status == CAL_OK) status = want_known(d, border, end, error);
        if (status == CAL_OK && likely) status = want_likely(d, &d->domains[i], end, error);
    }
    return status;
}

// What comes of it is seen when domains have run; but groups that decide again, and what is handed over with them, would have them run in vain. All ranks
// come to the same *met. One that fails while it takes in what came says so with what it tells next: after a run of the others, where something was.
cal_status cal_border_meet(cal_domains* d, double end, bool ran, bool* met, cal_status status, cal_error* error) {
    *met = false;
    d->ran = ran;
    for (bool again = true; again; again = again && d->grouping) {
        d->wanted_count = 0;
        status = update_pairs(d, status, error);
        if (status == CAL_OK && d->wanted_count == 0) status = want_pairs(d, end, ran, error);
        again = status == CAL_OK && d->wanted_count > 0;
        if (d->ranks != NULL) status = cal_rank_share_wanted(d, &again, status, error);
        if (again) status = cal_domains_join_wanted(d, status, error);
        again = again && (d->ranks != NULL || status == CAL_OK);
        *met |= again;
    }
    return status;
}
