// Pairs of the border that are to come into one domain are brought together: one of the two goes to the other's domain, with what stays with it.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/domain/ranks.h"
#include "simulation/event/fetch.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"

// Where a component is going to be.
static int destination(const cal_domains* d, int component) {
    const cal_component* c = &d->whole->components[component];
    return c->going > CAL_DOMAIN_WHOLE ? c->going : c->domain;
}

static cal_status list_cluster(cal_domains* d, int component, int to, cal_error* error) {
    cal_status status = cal_domains_collect(d, component, error);
    for (int i = 0; status == CAL_OK && i < d->cluster_count; i++) {
        cal_component* c = &d->whole->components[d->cluster[i]];
        if (c->going == CAL_DOMAIN_WHOLE) status = cal_domains_add_handing(d, d->cluster[i], to, error);
        c->going = to;
    }
    return status;
}

cal_status cal_domains_want(cal_domains* d, const cal_wanted* wanted, cal_error* error) {
    if (!cal_grow((void**)&d->wanted, &d->wanted_capacity, d->wanted_count, sizeof *d->wanted))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
    d->wanted[d->wanted_count++] = *wanted;
    return CAL_OK;
}

// Two bodies are to come into one domain: that of the one which has more that stays with it.
static cal_status plan_join(cal_domains* d, const cal_wanted* wanted, cal_error* error) {
    const int one = d->whole->bodies[wanted->body[0]].component, two = d->whole->bodies[wanted->body[1]].component;
    const int domain[2] = {destination(d, one), destination(d, two)};
    cal_status status = CAL_OK;
    if (domain[0] != domain[1]) {
        status = cal_domains_collect(d, one, error);
        const int first = d->cluster_count;
        if (status == CAL_OK) status = cal_domains_collect(d, two, error);
        // Of equal ones that which is where it goes.
        const bool stays = first > d->cluster_count ||
                           (first == d->cluster_count && wanted->home[1] == domain[0] && wanted->home[0] != domain[1]);
        if (status == CAL_OK) status = list_cluster(d, stays ? two : one, domain[stays ? 0 : 1], error);
    }
    return status == CAL_OK ? cal_domains_tie(d, one, two, error) : status;
}

// What others have written of the bodies that are wanted next is on its way while these are brought together: bodies, then components and boxes, then states.
static void fetch_wanted(const cal_domains* d, int i) {
    enum { BODY = 12, COMPONENT = 8, STATE = 4 };
    const cal_world* whole = d->whole;
    for (int k = 0; k < 2; k++) {
        if (i + BODY < d->wanted_count) __builtin_prefetch(&whole->bodies[d->wanted[i + BODY].body[k]]);
        if (i + COMPONENT < d->wanted_count)
            __builtin_prefetch(&whole->components[whole->bodies[d->wanted[i + COMPONENT].body[k]].component]);
        if (i + STATE >= d->wanted_count) continue;
        const int body = d->wanted[i + STATE].body[k];
        cal_fetch_state(whole, whole->bodies[body].component);
        cal_broad_fetch(cal_domain_world(d, cal_domain_of_body(whole, body))->broad, body);
    }
}

// Brings together what is wanted. Ranks have told each other what stays together.
cal_status cal_domains_join_wanted(cal_domains* d, cal_status status, cal_error* error) {
    d->planned = d->ranks != NULL;
    for (int i = 0; status == CAL_OK && i < d->wanted_count; i++) {
        cal_wanted* wanted = &d->wanted[i];
        if (d->ranks == NULL) fetch_wanted(d, i);
        for (int k = 0; d->ranks == NULL && k < 2; k++) wanted->home[k] = cal_domain_home_of(d, wanted->body[k]);
        status = plan_join(d, wanted, error);
    }
    d->planned = false;
    for (int i = 0; i < d->handing_count; i++) {
        cal_component* c = &d->whole->components[d->handings[i].component];
        d->handings[i].to = c->going;
        c->going = CAL_DOMAIN_WHOLE;
    }
    if (d->ranks != NULL || d->handing_count > 0) status = cal_domains_hand_over(d, status, error);
    // Groups that someone would have joined decide again.
    for (int i = 0; status == CAL_OK && i < d->wanted_count; i++) {
        const cal_wanted* wanted = &d->wanted[i];
        const int domain = cal_domain_of_body(d->whole, wanted->body[0]);
        if (!(wanted->missed < (double)INFINITY) || !cal_domain_is_own(d, domain)) continue;
        cal_world* view = cal_domain_world(d, domain);
        status = cal_domain_decide_again(view, wanted->body[0], wanted->missed, error);
        if (status == CAL_OK) status = cal_world_update_changed(view, error);
    }
    return status;
}
