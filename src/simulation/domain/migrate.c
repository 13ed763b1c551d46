// Ownership moves with the bodies: what has gone over into the region of another domain becomes that domain's, at the beginning of a window,
// when nothing is left that could be taken back. Otherwise domains would mix, and ever more pairs be of two of them. A body goes over when
// all of its box is outside. One that is on its way across may turn round, and when it collides there it is handed over anyway.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/domain/ranks.h"
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

bool cal_domain_keep_stray(cal_domains* d, int domain, int body, const cal_box* box) {
    cal_domain* own = &d->domains[domain];
    if (cal_box_overlap(box, &own->region)) return true;
    if (!cal_grow((void**)&own->strays, &own->stray_capacity, own->stray_count, sizeof *own->strays)) return false;
    own->strays[own->stray_count++] = body;
    return true;
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

// What is held together goes over together.
static cal_status list_strays(cal_domains* d, cal_domain* own, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < own->stray_count; i++) {
        const int body = own->strays[i], component = d->whole->bodies[body].component,
                  domain = d->whole->components[component].domain;
        if (!cal_domain_is_own(d, domain)) continue; // another rank has it by now, and has noted it
        status = cal_domains_collect(d, component, error);
        if (status != CAL_OK) break;
        const cal_box box = box_of_cluster(d, domain);
        const int to = region_of(d, body, &box);
        if (to == domain || goes_already(d)) continue; // it has gone back
        for (int k = 0; k < d->cluster_count; k++) {
            status = cal_domains_add_handing(d, d->cluster[k], to, error);
            if (status != CAL_OK) return status;
            d->whole->components[d->cluster[k]].going = to;
        }
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
