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
#include <stdlib.h>
#include <string.h>

#define UNEVEN 0.1 // of the bodies: how far from the middle a gap is looked for, and what is not worth a core

// What stays together: components of d->cluster from `first` on.
typedef struct cluster {
    cal_box box;
    double at; // its middle, along the present axis
    int first, count, weight, domain;
} cluster;

typedef struct clusters {
    cluster* list;
    int count, capacity;
} clusters;

static cal_status find_clusters(cal_domains* d, clusters* out, cal_error* error) {
    const cal_world* whole = d->whole;
    d->marked++;
    d->cluster_count = 0;
    for (int i = 0; i < whole->component_count; i++) {
        if (whole->components[i].ops == NULL) continue;
        const int first = d->cluster_count;
        const cal_status status = cal_domains_collect_from(d, i, first, error);
        if (status != CAL_OK) return status;
        if (d->cluster_count == first) continue;
        if (!cal_grow((void**)&out->list, &out->capacity, out->count, sizeof *out->list))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
        cluster* c = &out->list[out->count++];
        *c = (cluster){.box = cal_box_of_nothing, .first = first, .count = d->cluster_count - first};
        for (int k = first; k < d->cluster_count; k++) {
            const cal_component* own = &whole->components[d->cluster[k]];
            for (int b = 0; own->body >= 0 && b < own->weight; b++, c->weight++)
                if (cal_broad_has(whole->broad, own->body + b))
                    cal_box_extend(&c->box, cal_broad_box(whole->broad, own->body + b));
        }
    }
    return CAL_OK;
}

// Whether one of them has nearly everything: a pile.
static bool is_one(const clusters* found) {
    int64_t all = 0, most = 0;
    for (int i = 0; i < found->count; i++) {
        all += found->list[i].weight;
        if (found->list[i].weight > most) most = found->list[i].weight;
    }
    return (double)most > (1.0 - UNEVEN) * (double)all;
}

static int order_of_cluster(const void* a, const void* b) {
    const cluster *p = a, *q = b;
    if (p->at != q->at) return p->at < q->at ? -1 : 1;
    return p->first < q->first ? -1 : p->first > q->first;
}

// Sorts clusters along the axis along which they are spread most.
static int sort_clusters(cluster* list, int count) {
    cal_box all = cal_box_of_nothing;
    int axis = 0;
    if (list == NULL) return axis;
    for (int i = 0; i < count; i++) cal_box_extend(&all, &list[i].box);
    for (int i = 1; i < 3; i++)
        if (all.high[i] - all.low[i] > all.high[axis] - all.low[axis]) axis = i;
    for (int i = 0; i < count; i++) {
        const double middle = 0.5 * list[i].box.low[axis] + 0.5 * list[i].box.high[axis];
        list[i].at = isfinite(middle) ? middle : 0.0;
    }
    qsort(list, (size_t)count, sizeof *list, order_of_cluster);
    return axis;
}

// Where sorted clusters are cut: how many are below, and the plane. The widest gap near the share of the weight that is below, or where
// boxes overlap least.
static int cut(const cluster* list, int count, int axis, double share, double* plane) {
    double total = 0.0, below = 0.0, best = -(double)INFINITY, reach = -(double)INFINITY;
    int at = count / 2;
    for (int i = 0; i < count; i++) total += list[i].weight;
    *plane = count > 0 ? list[at].at : 0.0;
    double* low = NULL; // the least of what is above is found from the back
    low = cal_allocate((size_t)count + 1, sizeof *low);
    if (low == NULL) return at;
    low[count] = (double)INFINITY;
    for (int i = count - 1; i >= 0; i--) low[i] = fmin(low[i + 1], list[i].box.low[axis]);
    for (int i = 1; i < count; i++) {
        below += list[i - 1].weight;
        reach = fmax(reach, list[i - 1].box.high[axis]);
        const double off = fabs(below - share * total);
        if (off > UNEVEN * total && !(off <= list[i - 1].weight)) continue;
        const double gap = low[i] - reach, value = gap > 0.0 ? gap : -(double)INFINITY;
        // Without a gap: the middle.
        const double rank = gap > 0.0 ? value : -1.0 - off;
        if (rank <= best) continue;
        best = rank;
        at = i;
        *plane = gap > 0.0 ? 0.5 * (low[i] + reach) : 0.5 * (list[i - 1].at + list[i].at);
    }
    cal_free(low);
    return at;
}

static void divide(cal_domains* d, cluster* list, int count, int first, int domains, const cal_box* region) {
    if (domains == 1) {
        d->domains[first].region = *region;
        for (int i = 0; i < count; i++) list[i].domain = first;
        return;
    }
    const int half = domains / 2, axis = sort_clusters(list, count);
    double plane;
    const int at = cut(list, count, axis, (double)half / domains, &plane);
    cal_box below = *region, above = *region;
    below.high[axis] = above.low[axis] = fmin(fmax(plane, region->low[axis]), region->high[axis]);
    divide(d, list, at, first, half, &below);
    divide(d, list + at, count - at, first + half, domains - half, &above);
}

// --- Fixed and driven bodies --------------------------------------------------------------------------------------------------

// Every domain has its own boxes of them.
static cal_status place_prescribed(cal_domains* d, cal_world* view, int count, cal_error* error) {
    const cal_world* whole = d->whole;
    view->prescribed = cal_allocate((size_t)count + 1, sizeof *view->prescribed);
    view->prescribed_count = view->prescribed != NULL ? count : 0;
    cal_status status =
        view->prescribed != NULL ? cal_broad_create(whole->body_count + 1, &view->broad) : CAL_NO_MEMORY;
    for (int i = 0; status == CAL_OK && i < whole->body_count; i++) {
        const cal_sim_body* part = &whole->bodies[i];
        if (part->prescribed < 0) continue;
        cal_prescribed* own = &view->prescribed[part->prescribed];
        own->box_end = part->box_end;
        own->box_event = -1;
        if (part->box_event >= 0) {
            own->box_event = cal_events_add(&view->events, CAL_EVENT_BOX, i);
            if (own->box_event < 0) return cal_fail(error, CAL_NO_MEMORY, "out of memory for events");
            cal_events_schedule(&view->events, own->box_event, cal_events_time(&whole->events, part->box_event),
                                (uint64_t)i);
        }
        if (!cal_broad_has(whole->broad, i)) continue;
        const bool plane = part->form == CAL_FORM_PLANE && part->def.motion == CAL_FIXED;
        status = plane ? cal_broad_move_plane(view->broad, i, part->balls[0], part->balls[0][3], NULL)
                       : cal_broad_move(view->broad, i, cal_broad_box(whole->broad, i), NULL);
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
    int prescribed = 0;
    for (int i = 0; i < whole->body_count; i++) {
        cal_sim_body* part = &whole->bodies[i];
        part->prescribed = part->component < 0 && part->stage == CAL_BEGUN ? prescribed++ : -1;
        part->noted = 0;
    }
    cal_domains_share(d);
    cal_status status = CAL_OK;
    for (int i = 1; status == CAL_OK && i <= d->count; i++) {
        d->domains[i].world->gvt = d->domains[i].world->now = whole->time;
        d->domains[i].extent = cal_box_of_nothing;
        d->domains[i].renewed = d->domains[i].member_count = 0;
        status = place_prescribed(d, d->domains[i].world, prescribed, error);
    }
    d->border->gvt = d->border->now = whole->time;
    return status;
}

static cal_status add_handing(cal_domains* d, int component, int to, cal_error* error) {
    if (!cal_grow((void**)&d->handings, &d->handing_capacity, d->handing_count, sizeof *d->handings))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
    d->handings[d->handing_count++] = (cal_handing){component, to};
    return CAL_OK;
}

cal_status cal_domains_divide(cal_domains* d, cal_error* error) {
    const cal_box everywhere = {{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
    clusters found = {0};
    d->whole->gvt = fmax(d->whole->gvt, d->whole->time);
    d->calls_together = false;
    for (int h = 0; h < d->whole->periodic_hook_count; h++) d->calls_together |= d->whole->periodic_hooks[h].count > 1;
    cal_status status = find_clusters(d, &found, error);
    if (status == CAL_OK && !d->given && !d->priced && is_one(&found)) {
        cal_free(found.list);
        return CAL_OK;
    }
    if (status == CAL_OK) status = begin_domains(d, error);
    if (status == CAL_OK) divide(d, found.list, found.count, 1, d->count, &everywhere);
    for (int i = 0; i < found.count; i++)
        for (int k = 0; status == CAL_OK && k < found.list[i].count; k++)
            status = add_handing(d, d->cluster[found.list[i].first + k], found.list[i].domain, error);
    cal_free(found.list);
    if (status == CAL_OK) status = cal_domains_hand_over(d, error);
    d->handed = 0;
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
