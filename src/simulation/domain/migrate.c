// Ownership moves with the bodies: what has gone over into the region of another domain becomes that domain's, at the beginning of a window,
// when nothing is left that could be taken back. Otherwise domains would mix, and ever more pairs be of two of them. A body goes over when
// all of its box is outside. One that is on its way across may turn round, and when it collides there it is handed over anyway.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/domain/ranks.h"
#include "simulation/event/fetch.h"
#include "simulation/world.h"

static bool is_in(const double point[3], const cal_box* region) {
    for (int i = 0; i < 3; i++)
        if (!(point[i] >= region->low[i] && point[i] <= region->high[i])) return false;
    return true;
}

// The domain in whose region the middle of a body's box is; its own where that is nowhere, as of a box without end.
static int region_of(const cal_domains* d, int body, const cal_box* box) {
    const int own = cal_domain_of_body(d->whole, body);
    double middle[3];
    for (int i = 0; i < 3; i++) middle[i] = 0.5 * box->low[i] + 0.5 * box->high[i];
    if (is_in(middle, &d->domains[own].region)) return own;
    for (int i = 1; i <= d->count; i++)
        if (is_in(middle, &d->domains[i].region)) return i;
    return own;
}

int cal_domain_home_of(const cal_domains* d, int body) {
    const cal_box* box = cal_broad_box(cal_domain_world(d, cal_domain_of_body(d->whole, body))->broad, body);
    return box != NULL ? region_of(d, body, box) : CAL_DOMAIN_WHOLE;
}

bool cal_domain_add_stray(cal_domain* own, int body, int to) {
    if (!cal_grow((void**)&own->strays, &own->stray_capacity, own->stray_count, sizeof *own->strays)) return false;
    own->strays[own->stray_count++] = (cal_stray){body, to};
    return true;
}

bool cal_domain_keep_stray(cal_domains* d, int domain, int body, const cal_box* box) {
    cal_domain* own = &d->domains[domain];
    return cal_box_overlap(box, &own->region) || cal_domain_add_stray(own, body, region_of(d, body, box));
}

// The box of all that stays with a component.
static cal_box box_of_cluster(const cal_domains* d, int domain) {
    cal_box all = cal_box_of_nothing;
    for (int i = 0; i < d->cluster_count; i++) {
        const cal_component* c = &d->whole->components[d->cluster[i]];
        for (int k = 0; c->body >= 0 && k < c->weight; k++) {
            const cal_box* box = cal_broad_box(d->domains[domain].world->broad, c->body + k);
            if (box != NULL) cal_box_extend(&all, box);
        }
    }
    return all;
}

static bool goes_already(const cal_domains* d) {
    for (int i = 0; i < d->cluster_count; i++)
        if (d->whole->components[d->cluster[i]].going > CAL_DOMAIN_WHOLE) return true;
    return false;
}

static cal_status add_stray(cal_domains* d, int component, int to, cal_error* error) {
    d->whole->components[component].going = to;
    return cal_domains_add_handing(d, component, to, error);
}

// What is held together goes over together.
static cal_status list_cluster(cal_domains* d, int body, int component, int domain, cal_error* error) {
    cal_status status = cal_domains_collect(d, component, error);
    if (status != CAL_OK) return status;
    const cal_box box = box_of_cluster(d, domain);
    const int to = region_of(d, body, &box);
    if (to == domain || goes_already(d)) return CAL_OK; // it has gone back
    for (int k = 0; status == CAL_OK && k < d->cluster_count; k++) status = add_stray(d, d->cluster[k], to, error);
    return status;
}

// What a stray's component is read from is on its way while those before it are listed.
static void fetch_stray(const cal_domains* d, const cal_domain* own, int i) {
    enum { BODY = 12, COMPONENT = 8, STATE = 4 };
    const cal_world* whole = d->whole;
    if (i + BODY < own->stray_count) __builtin_prefetch(&whole->bodies[own->strays[i + BODY].body]);
    if (i + COMPONENT < own->stray_count)
        __builtin_prefetch(&whole->components[whole->bodies[own->strays[i + COMPONENT].body].component]);
    if (i + STATE < own->stray_count) cal_fetch_state(whole, whole->bodies[own->strays[i + STATE].body].component);
}

// Whether nothing has to go over with a component.
static bool is_alone(const cal_domains* d, int component) {
    const cal_queue* queue = &d->whole->components[component].queue;
    if (d->calls_together || !cal_domains_can_exchange(d, component)) return false;
    for (int64_t n = queue->head; n < queue->tail; n++)
        if (cal_saved_state_at(queue, n)->kind == CAL_FUSED) return false;
    return true;
}

static cal_status list_strays(cal_domains* d, cal_domain* own, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < own->stray_count; i++) {
        const int body = own->strays[i].body, component = d->whole->bodies[body].component,
                  domain = d->whole->components[component].domain;
        fetch_stray(d, own, i);
        if (!cal_domain_is_own(d, domain)) continue; // another rank has it by now, and has noted it
        if (!is_alone(d, component))
            status = list_cluster(d, body, component, domain, error);
        else if (own->strays[i].to != domain && d->whole->components[component].going <= CAL_DOMAIN_WHOLE)
            status = add_stray(d, component, own->strays[i].to, error);
    }
    own->stray_count = 0;
    return status;
}

cal_status cal_domains_migrate(cal_domains* d, cal_status status, cal_error* error) {
    for (int i = 1; status == CAL_OK && i <= d->count; i++)
        if (cal_domain_is_own(d, i)) status = list_strays(d, &d->domains[i], error);
    for (int i = 0; i < d->handing_count; i++) d->whole->components[d->handings[i].component].going = CAL_DOMAIN_WHOLE;
    bool any = status == CAL_OK && d->handing_count > 0;
    if (d->ranks != NULL) status = cal_rank_share_handings(d, &any, status, error);
    return any ? cal_domains_hand_over(d, status, error) : status;
}
