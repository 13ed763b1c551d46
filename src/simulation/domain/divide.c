// Which component goes to which domain, and back again. Space is halved, again and again, across the axis along which the components
// that are left are spread most, in a gap between them where there is one near the middle: an island of bodies that touch nobody else
// stays whole, and a gas is cut into blocks.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/domain/domain.h"
#include "simulation/event/events.h"
#include "simulation/event/pairs.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <string.h>

#define UNEVEN 0.1 // of the bodies: how far from the middle a gap is looked for, and what is not worth a core
enum {
    FEW_WINDOWS = 64,
    FEW_EVENTS = 8
}; // of each component: after so many of either the loads of domains are looked at

// What stays together: components of d->cluster from `first` on.
typedef struct cal_cluster {
    cal_box box;
    double at;     // its middle, along the present axis
    double weight; // bodies, or what they are expected to do
    int first, count, domain;
} cluster;

typedef struct clusters {
    cluster* list;
    int count;
} clusters;

static void add_boxes(const cal_world* whole, int component, cluster* c) {
    const cal_component* own = &whole->components[component];
    for (int b = 0; own->body >= 0 && b < own->weight; b++, c->weight++)
        if (cal_broad_has(whole->broad, own->body + b))
            cal_box_extend(&c->box, cal_broad_box(whole->broad, own->body + b));
}

// Of the components of the whole as many belong to a domain's task as to any other's: those that are alone become clusters.
static void find_alone(cal_domains* d, int domain) {
    const cal_world* whole = d->whole;
    const int64_t count = whole->component_count;
    const int first = (int)(count * (domain - 1) / d->count), end = (int)(count * domain / d->count);
    for (int i = first; i < end; i++) {
        cluster* c = &d->alone[i];
        *c = (cluster){.box = cal_box_of_nothing};
        if (whole->components[i].ops == NULL || !cal_domains_are_alone(d, i)) continue;
        c->count = 1;
        add_boxes(whole, i, c);
    }
    d->domains[domain].status = CAL_OK;
}

static cal_status add_cluster(cal_domains* d, int component, clusters* out, cal_error* error) {
    const int first = d->cluster_count;
    const cluster* alone = &d->alone[component];
    const cal_status status = alone->count > 0 ? cal_domains_add_to_cluster(d, component, error)
                                               : cal_domains_collect_from(d, component, first, error);
    if (status != CAL_OK || d->cluster_count == first) return status;
    cluster* c = &out->list[out->count++];
    *c = *alone;
    c->first = first, c->count = d->cluster_count - first;
    if (alone->count > 0) return CAL_OK;
    for (int k = first; k < d->cluster_count; k++) add_boxes(d->whole, d->cluster[k], c);
    return CAL_OK;
}

static cal_status find_clusters(cal_domains* d, clusters* out, cal_error* error) {
    const cal_world* whole = d->whole;
    d->marked++;
    d->cluster_count = 0;
    out->list = cal_allocate((size_t)whole->component_count + 1, sizeof *out->list);
    d->alone = cal_allocate((size_t)whole->component_count + 1, sizeof *d->alone);
    cal_status status =
        out->list != NULL && d->alone != NULL ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
    if (status == CAL_OK) status = cal_domains_run(d, find_alone, error);
    for (int i = 0; status == CAL_OK && i < whole->component_count; i++)
        if (whole->components[i].ops != NULL) status = add_cluster(d, i, out, error);
    cal_free(d->alone);
    d->alone = NULL;
    return status;
}

// Whether one of them has nearly everything: a pile.
static bool is_one(const clusters* found) {
    double all = 0.0, most = 0.0;
    for (int i = 0; i < found->count; i++) {
        all += found->list[i].weight;
        most = fmax(most, found->list[i].weight);
    }
    return most > (1.0 - UNEVEN) * all;
}

// A cluster by its middle along an axis, as a number whose order is that of doubles.
typedef struct key {
    uint64_t at;
    int cluster;
} key;

typedef struct halving {
    cal_domains* d;
    cluster* list;
    key *keys, *others; // of all clusters, and as many for sorting
    double* low;        // scratch of a cut
    int turns;          // into how many domains a processor's region is divided, where there are gaps or
    bool anywhere;      // anywhere
    int count;          // of domains so far
} halving;

// A part of what is divided: sorted keys of its clusters, as many for sorting, and where they are.
typedef struct section {
    key *keys, *others;
    int count;
    cal_box region;
} section;

static uint64_t key_of(double at) {
    uint64_t bits;
    memcpy(&bits, &at, sizeof bits);
    return bits >> 63 != 0 ? ~bits : bits | UINT64_C(1) << 63;
}

// By eleven bits after the other, the lowest first: equal ones stay in their order.
static void sort_keys(key* keys, key* others, int count) {
    enum { BITS = 11, KINDS = 1 << BITS, PASSES = (64 + BITS - 1) / BITS };
    int starts[KINDS];
    key *from = keys, *to = others;
    for (int pass = 0; pass < PASSES; pass++) {
        const int shift = BITS * pass;
        memset(starts, 0, sizeof starts);
        for (int i = 0; i < count; i++) starts[(from[i].at >> shift) & (KINDS - 1)]++;
        for (int k = 0, sum = 0; k < KINDS; k++) {
            const int kind = starts[k];
            starts[k] = sum;
            sum += kind;
        }
        for (int i = 0; i < count; i++) to[starts[(from[i].at >> shift) & (KINDS - 1)]++] = from[i];
        key* last = from;
        from = to;
        to = last;
    }
    if (from != keys) memcpy(keys, from, (size_t)count * sizeof *keys);
}

// Sorts clusters along the axis along which they are spread most.
static int sort_clusters(const halving* h, section p) {
    key* keys = p.keys;
    const int count = p.count;
    cal_box all = cal_box_of_nothing;
    int axis = 0;
    for (int i = 0; i < count; i++) cal_box_extend(&all, &h->list[keys[i].cluster].box);
    for (int i = 1; i < 3; i++)
        if (all.high[i] - all.low[i] > all.high[axis] - all.low[axis]) axis = i;
    for (int i = 0; i < count; i++) {
        cluster* c = &h->list[keys[i].cluster];
        const double middle = 0.5 * c->box.low[axis] + 0.5 * c->box.high[axis];
        c->at = isfinite(middle) ? middle : 0.0;
        keys[i].at = key_of(c->at);
    }
    sort_keys(keys, p.others, count);
    return axis;
}

// Where sorted clusters are cut: how many are below, and the plane. A wide gap near the share of the weight that is below: of two that are
// equally wide the nearer one, and none that is further off than what is uneven. Without one: the middle.
static int cut(const halving* h, const key* keys, int count, int axis, double share, double* plane, bool* gap_found) {
    double total = 0.0, below = 0.0, best = -(double)INFINITY, reach = -(double)INFINITY;
    int at = count / 2;
    *gap_found = false;
    for (int i = 0; i < count; i++) total += h->list[keys[i].cluster].weight;
    *plane = count > 0 ? h->list[keys[at].cluster].at : 0.0;
    double* low = h->low; // the least of what is above is found from the back
    low[count] = (double)INFINITY;
    for (int i = count - 1; i >= 0; i--) low[i] = fmin(low[i + 1], h->list[keys[i].cluster].box.low[axis]);
    for (int i = 1; i < count; i++) {
        const cluster *last = &h->list[keys[i - 1].cluster], *next = &h->list[keys[i].cluster];
        below += last->weight;
        reach = fmax(reach, last->box.high[axis]);
        const double off = fabs(below - share * total);
        if (off > UNEVEN * total && !(off <= last->weight)) continue;
        const double gap = low[i] - reach, rank = gap > 0.0 ? gap * (1.0 - off / total) : -1.0 - off;
        if (rank <= best) continue;
        best = rank;
        at = i;
        *gap_found = gap > 0.0;
        *plane = gap > 0.0 ? 0.5 * (low[i] + reach) : 0.5 * (last->at + next->at);
    }
    return at;
}

// Two parts, of which the first one has a share of the weight; whether there is a gap between them.
static bool halve(const halving* h, section whole, double share, section out[2]) {
    const int axis = sort_clusters(h, whole);
    bool gap;
    double plane;
    const int at = cut(h, whole.keys, whole.count, axis, share, &plane, &gap);
    out[0] = out[1] = whole;
    out[0].count = at, out[1].count = whole.count - at;
    out[1].keys += at, out[1].others += at;
    out[0].region.high[axis] = out[1].region.low[axis] =
        fmin(fmax(plane, whole.region.low[axis]), whole.region.high[axis]);
    return gap;
}

// What a processor gets becomes several domains, of which other processors can take some: where nothing lies across, so that they have nothing to
// tell each other, and anywhere where that is little beside what events take.
static void divide_further(halving* h, section whole, int domains) {
    section halves[2];
    if (domains > 1 && whole.count > 1 && (halve(h, whole, 0.5, halves) || h->anywhere)) {
        divide_further(h, halves[0], domains / 2);
        divide_further(h, halves[1], domains - domains / 2);
        return;
    }
    h->d->domains[++h->count].region = whole.region;
    for (int i = 0; i < whole.count; i++) h->list[whole.keys[i].cluster].domain = h->count;
}

static void divide(halving* h, section whole, int processors) {
    if (processors == 1) {
        divide_further(h, whole, h->turns);
        return;
    }
    const int half = processors / 2;
    section halves[2];
    halve(h, whole, (double)half / processors, halves);
    divide(h, halves[0], half);
    divide(h, halves[1], processors - half);
}

// Whether the impacts of most bodies that move are searched for: that takes several times as long as a formula, and what domains tell each other
// does not.
static bool are_searched(const cal_world* whole) {
    int moving = 0, balls = 0;
    for (int i = 0; i < whole->body_count; i++) {
        moving += whole->bodies[i].component >= 0;
        balls += whole->bodies[i].component >= 0 && whole->bodies[i].form == CAL_FORM_BALLS;
    }
    return 2 * balls < moving;
}

// Gives every cluster its domain, and every domain its region: so many regions, and up to so many domains in each; false: no memory.
static bool divide_space(cal_domains* d, const clusters* found, int regions, int turns, int* domains) {
    const cal_box everywhere = {{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
    const size_t count = (size_t)found->count + 1;
    halving h = {d,
                 found->list,
                 cal_allocate(count, sizeof *h.keys),
                 cal_allocate(count, sizeof *h.others),
                 cal_allocate(count, sizeof *h.low),
                 turns,
                 are_searched(d->whole),
                 0};
    const bool enough = h.keys != NULL && h.others != NULL && h.low != NULL;
    for (int i = 0; enough && i < found->count; i++) h.keys[i].cluster = i;
    if (enough) divide(&h, (section){h.keys, h.others, found->count, everywhere}, regions);
    cal_free(h.keys);
    cal_free(h.others);
    cal_free(h.low);
    *domains = h.count;
    return enough;
}

// --- By load ------------------------------------------------------------------------------------------------------------------

// What the domains have done since the last look: counts, the same in every run and on all ranks, and no times.
static void find_loads(cal_domains* d) {
    for (int i = 1; i <= d->count; i++) d->domains[i].load = (double)(d->domains[i].work - d->domains[i].seen_work);
}

static void begin_loads(cal_domains* d) {
    for (int i = 1; i <= d->count; i++) d->domains[i].seen_work = d->domains[i].work;
    for (int i = 0; i < d->whole->component_count; i++) d->whole->components[i].done = 0;
}

// The work of a component, that of the group that it is in among its members.
static double done_by(const cal_world* whole, int component) {
    const cal_component* c = &whole->components[component];
    double done = c->done;
    if (!cal_component_is_fused(c)) return done;
    const int group = cal_saved_state_at(&c->queue, c->queue.tail - 1)->group;
    if (!cal_group_has(whole, group, component)) return done;
    return done + (double)whole->components[group].done / whole->components[group].group->group.unit_count;
}

// Components where they are, each with its part of what its domain has done: half of that by its own work, of which it may have had little by chance, and
// half like all others there. Who does nothing now may do something soon: it has a part of the mean.
static void weigh_components(const cal_domains* d, clusters* out) {
    double all = 0.0, bodies = 0.0;
    for (int i = 1; i <= d->count; i++) all += d->domains[i].load;
    for (int i = 0; i < d->whole->component_count; i++)
        if (d->whole->components[i].body >= 0) bodies += d->whole->components[i].weight;
    for (int i = 1; i <= d->count; i++) {
        const cal_domain* own = &d->domains[i];
        const double work = fmax(own->load, 1.0);
        for (int k = 0; k < own->member_count; k++) {
            const cal_component* c = &d->whole->components[own->members[k]];
            cluster* one = &out->list[out->count++];
            *one = (cluster){.box = cal_box_of_nothing, .first = own->members[k]};
            one->weight = UNEVEN * c->weight * all / fmax(bodies, 1.0) +
                          0.5 * own->load * (done_by(d->whole, one->first) / work + 1.0 / own->member_count);
            for (int b = 0; b < c->weight; b++) {
                const cal_box* box = cal_broad_box(own->world->broad, c->body + b);
                if (box != NULL) cal_box_extend(&one->box, box);
            }
        }
    }
}

// Who is in another region now has left the one of its domain.
static bool list_moved(cal_domains* d, const clusters* found) {
    for (int i = 0; i < found->count; i++) {
        const cal_component* c = &d->whole->components[found->list[i].first];
        cal_domain* own = &d->domains[c->domain];
        if (found->list[i].domain == c->domain) continue;
        if (!cal_grow((void**)&own->strays, &own->stray_capacity, own->stray_count, sizeof *own->strays)) return false;
        own->strays[own->stray_count++] = c->body;
    }
    return true;
}

// Whether what others wait for the busiest processor since the last look is worth new regions: to find these takes a core as long as an event for
// some sixteen components, while others wait. Loads differ by chance, too, by a part of 1/√n for n events: three of these say that it is none.
static bool is_uneven(const cal_domains* d, double mean, double span) {
    return span - mean > d->whole->component_count / 16.0 &&
           span > (1.0 + 2.0 * UNEVEN + 3.0 / sqrt(fmax(mean, 1.0))) * mean;
}

static cal_status divide_again(cal_domains* d, cal_error* error) {
    int members = 0, count;
    for (int i = 1; i <= d->count; i++) members += d->domains[i].member_count;
    clusters found = {.list = cal_allocate((size_t)members + 1, sizeof *found.list)};
    if (found.list != NULL) weigh_components(d, &found);
    const bool enough = found.list != NULL && divide_space(d, &found, d->count, 1, &count) && list_moved(d, &found);
    cal_free(found.list);
    d->divisions++;
    return enough ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
}

cal_status cal_domains_balance(cal_domains* d, cal_error* error) {
    if (d->windows - d->balanced < d->patience) return CAL_OK;
    double all = 0.0;
    find_loads(d);
    for (int i = 1; i <= d->count; i++) all += d->domains[i].load;
    const double mean = all / d->processors, span = cal_domains_span_of_loads(d), uneven = span / fmax(mean, 1.0);
    const bool worth = is_uneven(d, mean, span);
    if (!worth && d->windows - d->balanced < FEW_WINDOWS) return CAL_OK;
    // What is held together stays where it is: then the next look is later.
    const bool helped = !(d->uneven > 0.0) || uneven < (1.0 - UNEVEN) * d->uneven;
    d->patience = !worth || helped ? 1 : d->patience < FEW_WINDOWS ? 2 * d->patience : FEW_WINDOWS;
    d->balanced = d->windows;
    d->uneven = worth ? uneven : 0.0;
    const cal_status status = worth ? divide_again(d, error) : CAL_OK;
    begin_loads(d);
    return status;
}

// --- Fixed and driven bodies --------------------------------------------------------------------------------------------------

cal_status cal_domain_copy_box(const cal_world* from, cal_broad* to, int body) {
    const cal_sim_body* part = &from->bodies[body];
    if (!cal_broad_has(from->broad, body)) return CAL_OK;
    if (part->form == CAL_FORM_PLANE && part->def.motion == CAL_FIXED)
        return cal_broad_move_plane(to, body, part->balls[0], part->balls[0][3], NULL);
    return cal_broad_move(to, body, cal_broad_box(from->broad, body), NULL);
}

// Every domain has its own boxes of them.
cal_status cal_domain_place_prescribed(cal_domains* d, cal_world* view, cal_error* error) {
    const cal_world* whole = d->whole;
    view->prescribed = cal_allocate((size_t)d->prescribed_count + 1, sizeof *view->prescribed);
    view->prescribed_count = view->prescribed != NULL ? d->prescribed_count : 0;
    cal_status status =
        view->prescribed != NULL ? cal_broad_create(whole->body_count + 1, &view->broad) : CAL_NO_MEMORY;
    for (int k = 0; status == CAL_OK && k < d->prescribed_count; k++) {
        const int i = d->prescribed[k];
        const cal_sim_body* part = &whole->bodies[i];
        cal_prescribed* own = &view->prescribed[part->prescribed];
        own->box_end = part->box_end;
        own->box_event = -1;
        if (part->box_event >= 0) {
            own->box_event = cal_events_add(&view->events, CAL_EVENT_BOX, i);
            if (own->box_event < 0) return cal_fail(error, CAL_NO_MEMORY, "out of memory for events");
            cal_events_schedule(&view->events, own->box_event, cal_events_time(&whole->events, part->box_event),
                                (uint64_t)i);
        }
        status = cal_domain_copy_box(whole, view->broad, i);
    }
    return status == CAL_OK ? CAL_OK : cal_fail(error, status, "out of memory for a domain");
}

// What domains have of driven bodies is the same in all of them between two windows.
static cal_status take_prescribed(cal_domains* d, cal_error* error) {
    cal_world *whole = d->whole, *view = d->domains[1].world;
    for (int i = 0; i < whole->body_count; i++) {
        cal_sim_body* part = &whole->bodies[i];
        if (part->prescribed < 0 || part->box_event < 0) continue;
        const cal_prescribed* own = &view->prescribed[part->prescribed];
        part->box_end = own->box_end;
        cal_events_schedule(&whole->events, part->box_event, cal_events_time(&view->events, own->box_event),
                            (uint64_t)i);
        if (cal_broad_has(view->broad, i) &&
            cal_broad_move(whole->broad, i, cal_broad_box(view->broad, i), NULL) != CAL_OK)
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for boxes");
    }
    return CAL_OK;
}

// --- There and back -----------------------------------------------------------------------------------------------------------

static cal_status begin_domains(cal_domains* d, cal_error* error) {
    cal_world* whole = d->whole;
    d->prescribed_count = d->group_places = 0;
    for (int i = 0; i < whole->component_count; i++) d->group_places += whole->components[i].body < 0;
    for (int i = 0; i < whole->body_count; i++) {
        cal_sim_body* part = &whole->bodies[i];
        part->noted = 0;
        part->prescribed = -1;
        if (part->component >= 0 || part->stage != CAL_BEGUN) continue;
        if (!cal_grow((void**)&d->prescribed, &d->prescribed_capacity, d->prescribed_count, sizeof *d->prescribed))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
        part->prescribed = d->prescribed_count;
        d->prescribed[d->prescribed_count++] = i;
    }
    cal_domains_share(d);
    for (int i = 1; i <= d->count; i++) {
        d->domains[i].world->gvt = d->domains[i].world->now = whole->time;
        d->domains[i].extent = cal_box_of_nothing;
        d->domains[i].renewed = d->domains[i].member_count = 0;
    }
    d->border->gvt = d->border->now = whole->time;
    return CAL_OK;
}

static cal_status add_handing(cal_domains* d, int component, int to, cal_error* error) {
    if (!cal_grow((void**)&d->handings, &d->handing_capacity, d->handing_count, sizeof *d->handings))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
    d->handings[d->handing_count++] = (cal_handing){component, to};
    return CAL_OK;
}

cal_status cal_domains_divide(cal_domains* d, cal_error* error) {
    clusters found = {0};
    d->whole->gvt = fmax(d->whole->gvt, d->whole->time);
    cal_status status = cal_domains_find_calls(d, error);
    if (status == CAL_OK) status = find_clusters(d, &found, error);
    if (status == CAL_OK && !d->given && !d->priced && is_one(&found)) {
        cal_free(found.list);
        return CAL_OK;
    }
    if (status == CAL_OK && !divide_space(d, &found, d->capacity / d->turns, d->turns, &d->count))
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
    if (status == CAL_OK) status = begin_domains(d, error);
    for (int i = 0; i < found.count; i++)
        for (int k = 0; status == CAL_OK && k < found.list[i].count; k++)
            status = add_handing(d, d->cluster[found.list[i].first + k], found.list[i].domain, error);
    cal_free(found.list);
    cal_domains_begin_turns(d);
    if (status == CAL_OK) status = cal_domains_scatter(d, error);
    if (status == CAL_OK) cal_domains_begin_turns(d);
    d->handed = 0;
    d->uneven = 0.0, d->patience = 1, d->balanced = d->windows;
    begin_loads(d);
    if (status == CAL_OK) status = cal_domains_feed(d, error);
    d->divided = status == CAL_OK;
    return status;
}

cal_status cal_world_gather(cal_world* world, cal_error* error) {
    cal_domains* d = world->domains;
    if (d == NULL || !d->divided) return CAL_OK;
    cal_status status = take_prescribed(d, error);
    for (int i = 0; status == CAL_OK && i < world->component_count; i++)
        if (world->components[i].ops != NULL) status = add_handing(d, i, CAL_DOMAIN_WHOLE, error);
    if (status == CAL_OK) status = cal_domains_hand_over(d, error);
    for (int i = 1; i <= d->count; i++) {
        cal_world* view = d->domains[i].world;
        while (view->unused_count > 0)
            world->unused_components[world->unused_count++] = view->unused_components[--view->unused_count];
        cal_domain_clear(view);
        d->domains[i].stray_count = d->domains[i].extended_count = 0;
    }
    cal_domain_clear(d->border);
    d->divided = false;
    if (status != CAL_OK) world->failed = status;
    return status;
}
