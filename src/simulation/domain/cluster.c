// What stays together when a component goes to another domain: the groups that it was in as far as states are kept, with their
// members; what may go back with it, by junctions; who shares a callback with it; and what it has met in this window.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/domain/domain.h"
#include "simulation/event/fetch.h"
#include "simulation/event/callbacks.h"
#include "simulation/motion/free_body.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"

cal_status cal_domains_reserve_marks(cal_domains* d, cal_error* error) {
    while (d->mark_capacity < d->whole->component_count)
        if (!cal_grow((void**)&d->mark, &d->mark_capacity, d->mark_capacity, sizeof *d->mark))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
    return CAL_OK;
}

cal_status cal_domains_add_to_cluster(cal_domains* d, int component, cal_error* error) {
    const cal_status status = cal_domains_reserve_marks(d, error);
    if (status != CAL_OK) return status;
    if (component < 0 || d->mark[component] == d->marked) return CAL_OK;
    if (!cal_grow((void**)&d->cluster, &d->cluster_capacity, d->cluster_count, sizeof *d->cluster))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
    d->mark[component] = d->marked;
    d->cluster[d->cluster_count++] = component;
    return CAL_OK;
}

bool cal_domain_group_has(const cal_world* world, int group, int component) {
    return cal_group_has(world, group, component) &&
           world->components[group].domain == world->components[component].domain;
}

// Groups that a component was in as far as states are kept, and what may go back with it.
static cal_status add_linked(cal_domains* d, int component, cal_error* error) {
    const cal_component* c = &d->whole->components[component];
    const cal_world* view = cal_domain_world(d, c->domain);
    cal_status status = CAL_OK;
    for (int64_t n = c->queue.head; status == CAL_OK && n < c->queue.tail; n++) {
        const cal_saved_state* knot = cal_saved_state_at(&c->queue, n);
        if (knot->kind == CAL_FUSED && cal_domain_group_has(d->whole, knot->group, component))
            status = cal_domains_add_to_cluster(d, knot->group, error);
        if (knot->junction < 0 || knot->time < view->gvt) continue;
        const cal_junction* junction = &view->junctions[knot->junction];
        for (int i = 0; status == CAL_OK && i < junction->count; i++)
            status = cal_domains_add_to_cluster(d, junction->links[i].component, error);
    }
    // Of a group that has ended some may be in other domains by now; of another rank's it is not known whether it has.
    for (int i = 0; status == CAL_OK && c->group != NULL && i < c->group->group.unit_count; i++)
        if (d->whole->components[c->group->members[i]].domain == c->domain)
            status = cal_domains_add_to_cluster(d, c->group->members[i], error);
    return status;
}

// What it has met in this window.
static cal_status add_tied(cal_domains* d, int component, cal_error* error) {
    const bool tied = component < d->ring_capacity && d->ring[component] > 0;
    return tied ? cal_domains_add_to_cluster(d, d->ring[component] - 1, error) : CAL_OK;
}

// Whether two bodies may become members of one contact group soon: what they are near to each other, and how fast.
static bool may_group(const cal_domains* d, int a, int b, double time) {
    cal_world* whole = d->whole;
    const cal_sim_body *p = &whole->bodies[a], *q = &whole->bodies[b];
    if (p->component < 0 || q->component < 0) return false;
    if (p->multibody < 0 && q->multibody < 0 && !cal_group_is_inner(whole, a, b)) return false;
    cal_motion at[2];
    if (cal_body_at(whole, a, time, &at[0]) != CAL_OK || cal_body_at(whole, b, time, &at[1]) != CAL_OK) return true;
    double apart[3], closing[3];
    for (int i = 0; i < 3; i++) {
        apart[i] = at[0].pose.position[i] - at[1].pose.position[i];
        closing[i] = at[0].u[i] - at[1].u[i];
    }
    const double reach = p->reach + q->reach + sqrt(cal_dot3(closing, closing)) / whole->def.group_rate;
    return cal_dot3(apart, apart) <= reach * reach;
}

// Of a world that is whole: who is near a component, and may be in a group with it before long.
static cal_status add_near(cal_domains* d, int component, cal_error* error) {
    const cal_world* whole = d->whole;
    const cal_component* c = &whole->components[component];
    cal_status status = CAL_OK;
    for (int k = 0; c->body >= 0 && k < c->weight; k++) {
        const cal_sim_body* part = &whole->bodies[c->body + k];
        for (int i = 0; status == CAL_OK && i < part->pair_count; i++) {
            const int* pair = whole->table.pairs[part->pairs[i]].body;
            const int other = pair[0] == c->body + k ? pair[1] : pair[0];
            if (may_group(d, c->body + k, other, whole->time))
                status = cal_domains_add_to_cluster(d, whole->bodies[other].component, error);
        }
    }
    return status;
}

// Whether nothing stays with a component of a whole world, which is looked at without changing anything: where that is not possible, the answer is
// that something may.
bool cal_domains_are_alone(const cal_domains* d, int component) {
    const cal_world* whole = d->whole;
    const cal_component* c = &whole->components[component];
    if (c->group != NULL || d->calls_together) return false;
    if (component < d->ring_capacity && d->ring[component] > 0) return false;
    for (int64_t n = c->queue.head; n < c->queue.tail; n++) {
        const cal_saved_state* knot = cal_saved_state_at(&c->queue, n);
        if (knot->kind == CAL_FUSED || (knot->junction >= 0 && knot->time >= whole->gvt)) return false;
    }
    // Where nothing loses speed in a collision, and all are free bodies, hardly anybody joins anybody.
    if (d->given || (whole->multibody_count == 0 && whole->def.restitution >= 1.0)) return true;
    for (int k = 0; c->body >= 0 && k < c->weight; k++) {
        const int body = c->body + k;
        const cal_sim_body* part = &whole->bodies[body];
        cal_fetch_partners(whole, &body, 1);
        for (int i = 0; i < part->pair_count; i++) {
            const int* pair = whole->table.pairs[part->pairs[i]].body;
            const cal_sim_body* other = &whole->bodies[pair[0] == body ? pair[1] : pair[0]];
            if (other->component < 0) continue;
            if (part->multibody >= 0 || other->multibody >= 0) return false;
            if (!cal_group_is_inner(whole, pair[0], pair[1])) continue;
            if (!cal_free_body_is_known(whole, pair[0], whole->time) ||
                !cal_free_body_is_known(whole, pair[1], whole->time) || may_group(d, pair[0], pair[1], whole->time))
                return false;
        }
    }
    return true;
}

// The first of those that a component is in one set with; ways there become shorter.
static int first_of(int* set, int component) {
    while (set[component] != component) {
        set[component] = set[set[component]];
        component = set[component];
    }
    return component;
}

// Sets of components, each named by its first one; −1: in none.
static void find_sets(const cal_world* whole, int* set) {
    for (int i = 0; i < whole->component_count; i++) set[i] = i;
    for (int h = 0; h < whole->periodic_hook_count; h++) {
        const cal_periodic_hook* hook = &whole->periodic_hooks[h];
        int first = -1;
        for (int i = 0; i < hook->count; i++) {
            const int component = whole->bodies[hook->bodies[i]].component;
            if (component < 0) continue;
            const int own = first_of(set, component);
            if (first >= 0 && own != first) set[own > first ? own : first] = own > first ? first : own;
            first = first_of(set, component);
        }
    }
    for (int i = 0; i < whole->component_count; i++) set[i] = first_of(set, i);
}

cal_status cal_domains_find_calls(cal_domains* d, cal_error* error) {
    const cal_world* whole = d->whole;
    const int count = whole->component_count;
    d->calls_together = false;
    for (int h = 0; h < whole->periodic_hook_count; h++) d->calls_together |= whole->periodic_hooks[h].count > 1;
    if (!d->calls_together) return CAL_OK;
    cal_free(d->called);
    d->called_capacity = 0;
    d->called = cal_allocate((size_t)count + 1, sizeof *d->called);
    int* set = cal_allocate((size_t)count + 1, sizeof *set);
    if (d->called != NULL && set != NULL) {
        d->called_capacity = count;
        find_sets(whole, set);
        for (int i = 0; i < count; i++) { // after the first one of its set
            d->called[i] = set[i] == i ? i + 1 : d->called[set[i]];
            d->called[set[i]] = i + 1;
        }
    }
    cal_free(set);
    return d->called_capacity == count ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
}

// Whoever shares a callback with a component: the next one in its ring, and so on.
static cal_status add_called(cal_domains* d, int component, cal_error* error) {
    if (component >= d->called_capacity) return CAL_OK;
    return cal_domains_add_to_cluster(d, d->called[component] - 1, error);
}

cal_status cal_domains_collect(cal_domains* d, int component, cal_error* error) {
    d->marked++;
    d->cluster_count = 0;
    return cal_domains_collect_from(d, component, 0, error);
}

cal_status cal_domains_collect_from(cal_domains* d, int component, int first, cal_error* error) {
    cal_status status = cal_domains_add_to_cluster(d, component, error);
    for (int i = first; status == CAL_OK && i < d->cluster_count; i++) {
        status = add_tied(d, d->cluster[i], error);
        if (d->planned) continue;
        if (status == CAL_OK) status = add_linked(d, d->cluster[i], error);
        if (status == CAL_OK && d->calls_together) status = add_called(d, d->cluster[i], error);
        if (status == CAL_OK && !d->divided && !d->given) status = add_near(d, d->cluster[i], error);
    }
    return status;
}

// --- Until the end of a window ------------------------------------------------------------------------------------------------

static cal_status begin_ring(cal_domains* d, int component, cal_error* error) {
    while (d->ring_capacity <= component)
        if (!cal_grow((void**)&d->ring, &d->ring_capacity, d->ring_capacity, sizeof *d->ring))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
    if (d->ring[component] > 0) return CAL_OK;
    if (!cal_grow((void**)&d->joined, &d->joined_capacity, d->joined_count, sizeof *d->joined))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
    d->joined[d->joined_count++] = component;
    d->ring[component] = component + 1;
    return CAL_OK;
}

cal_status cal_domains_tie(cal_domains* d, int a, int b, cal_error* error) {
    cal_status status = begin_ring(d, a, error);
    if (status == CAL_OK) status = begin_ring(d, b, error);
    if (status != CAL_OK) return status;
    for (int i = d->ring[a] - 1; d->ring[b] != b + 1 && i != a; i = d->ring[i] - 1)
        if (i == b) return CAL_OK;
    const int next = d->ring[a]; // two rings become one
    d->ring[a] = d->ring[b];
    d->ring[b] = next;
    return CAL_OK;
}

void cal_domains_untie(cal_domains* d) {
    for (int i = 0; i < d->joined_count; i++) d->ring[d->joined[i]] = 0;
    d->joined_count = 0;
}
