// Which component goes to which domain, and back again: what stays together, and regions of space by bodies, or by load (halve.c).
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/domain/ranks.h"
#include "simulation/domain/halve.h"
#include "simulation/event/events.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <string.h>

enum { FEW_WINDOWS = 64 }; // after so many loads of domains are looked at in any case

static void add_boxes(const cal_world* whole, int component, cal_cluster* c) {
    const cal_component* own = &whole->components[component];
    for (int b = 0; own->body >= 0 && b < own->weight; b++, c->weight++)
        if (cal_broad_has(whole->broad, own->body + b))
            cal_box_extend(&c->box, cal_broad_box(whole->broad, own->body + b));
}

static bool add_number(int** list, int* count, int* capacity, int number) {
    if (!cal_grow((void**)list, capacity, *count, sizeof **list)) return false;
    (*list)[(*count)++] = number;
    return true;
}

// Of the components of the whole as many belong to a domain's task as to any other's: those that are alone become clusters, each with its own
// number, and others are linked to something.
static bool sort_components(cal_domains* d, cal_domain* own, int first, int end) {
    cal_world* whole = d->whole;
    bool enough = true;
    for (int i = first; enough && i < end; i++) {
        cal_component* c = &whole->components[i];
        c->done = 0;
        own->place_count += c->body < 0;
        d->cluster[i] = i;
        if (c->ops == NULL) continue;
        if (!cal_domains_are_alone(d, i)) {
            enough = add_number(&own->linked, &own->linked_count, &own->linked_capacity, i);
            continue;
        }
        cal_cluster* one = &d->found->list[i];
        *one = (cal_cluster){.box = cal_box_of_nothing, .first = i, .count = 1};
        add_boxes(whole, i, one);
        d->mark[i] = d->marked;
        enough = add_number(&own->coming, &own->coming_count, &own->coming_capacity, i);
    }
    return enough;
}

// The same of bodies: fixed and driven ones are kept apart.
static bool sort_bodies(cal_domains* d, cal_domain* own, int first, int end) {
    bool enough = true;
    for (int i = first; enough && i < end; i++) {
        cal_sim_body* part = &d->whole->bodies[i];
        part->noted = 0;
        part->past_from = (double)NAN;
        part->prescribed = -1;
        own->moving += part->component >= 0;
        own->balls += part->component >= 0 && part->form == CAL_FORM_BALLS;
        if (part->component < 0 && part->stage == CAL_BEGUN)
            enough = add_number(&own->leaving, &own->leaving_count, &own->leaving_capacity, i);
    }
    return enough;
}

static void sort_some(cal_domains* d, int domain) {
    cal_domain* own = &d->domains[domain];
    const int64_t components = d->whole->component_count, bodies = d->whole->body_count;
    own->coming_count = own->linked_count = own->leaving_count = own->place_count = own->moving = own->balls = 0;
    const bool enough =
        sort_components(d, own, (int)(components * (domain - 1) / d->count), (int)(components * domain / d->count)) &&
        sort_bodies(d, own, (int)(bodies * (domain - 1) / d->count), (int)(bodies * domain / d->count));
    own->status = enough ? CAL_OK : cal_fail(&own->error, CAL_NO_MEMORY, "out of memory for domains");
}

// What is linked to something becomes a cluster under the number of the first of its components.
static cal_status add_linked(cal_domains* d, const cal_domain* own, cal_clusters* out, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < own->linked_count; i++) {
        const int first = d->cluster_count;
        status = cal_domains_collect_from(d, own->linked[i], first, error);
        if (status != CAL_OK || d->cluster_count == first) continue;
        cal_cluster* c = &out->list[own->linked[i]];
        *c = (cal_cluster){.box = cal_box_of_nothing, .first = first, .count = d->cluster_count - first};
        for (int k = first; k < d->cluster_count; k++) add_boxes(d->whole, d->cluster[k], c);
        out->numbers[out->count++] = own->linked[i];
    }
    return status;
}

static bool reserve_numbers(int** list, int* capacity, int count) {
    while (*capacity < count)
        if (!cal_grow((void**)list, capacity, *capacity, sizeof **list)) return false;
    return true;
}

static cal_status find_clusters(cal_domains* d, cal_clusters* out, cal_error* error) {
    const int count = d->whole->component_count;
    d->marked++;
    if (!cal_clusters_begin(out, count) || !reserve_numbers(&d->mark, &d->mark_capacity, count) ||
        !reserve_numbers(&d->cluster, &d->cluster_capacity, count))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
    d->cluster_count = count; // alone ones are where their numbers are
    d->found = out;
    cal_status status = cal_domains_run_all(d, sort_some, error);
    for (int i = 1; status == CAL_OK && i <= d->count; i++) {
        const cal_domain* own = &d->domains[i];
        if (own->coming_count > 0)
            memcpy(out->numbers + out->count, own->coming, (size_t)own->coming_count * sizeof *out->numbers);
        out->count += own->coming_count;
    }
    for (int i = 1; status == CAL_OK && i <= d->count; i++) status = add_linked(d, &d->domains[i], out, error);
    return status;
}

// --- By load ------------------------------------------------------------------------------------------------------------------

// What the domains have done since the last look: counts, the same on all ranks, and no times.
static void find_loads(cal_domains* d) {
    for (int i = 1; i <= d->count; i++) d->domains[i].load = (double)(d->domains[i].work - d->domains[i].seen_work);
}

static void begin_loads(cal_domains* d) {
    for (int i = 1; i <= d->count; i++) d->domains[i].seen_work = d->domains[i].work;
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

// A component where it is, and what it has done.
typedef struct load {
    int component;
    double done;
    cal_box box;
} load;

static load load_of(const cal_domains* d, const cal_domain* own, int member) {
    load l = {.component = own->members[member], .box = cal_box_of_nothing};
    const cal_component* c = &d->whole->components[l.component];
    l.done = done_by(d->whole, l.component);
    for (int b = 0; b < c->weight; b++) {
        const cal_box* box = cal_broad_box(own->world->broad, c->body + b);
        if (box != NULL) cal_box_extend(&l.box, box);
    }
    return l;
}

static void move_load(cal_image* image, load* l) {
    cal_image_int(image, &l->component);
    cal_image_number(image, &l->done);
    cal_image_words(image, &l->box, sizeof l->box / sizeof(double));
}

// Ranks know what their own domains have done.
static cal_status show_loads(cal_domains* d, cal_status status, cal_error* error) {
    if (d->ranks == NULL) return status;
    cal_mail_begin(&d->mail->own);
    for (int i = 1; status == CAL_OK && i <= d->count; i++) {
        const cal_domain* own = &d->domains[i];
        for (int k = 0; cal_domain_is_own(d, i) && k < own->member_count; k++) {
            load l = load_of(d, own, k);
            move_load(&d->mail->own, &l);
        }
    }
    return cal_rank_gather(d, status, error);
}

// Components where they are, each with its part of what its domain has done: half of that by its own work, of which it may have had little by chance, and
// half like all others there. Who does nothing now may do something soon: it has a part of the mean.
static void weigh_components(const cal_domains* d, cal_clusters* out) {
    double all = 0.0, bodies = 0.0;
    for (int i = 1; i <= d->count; i++) all += d->domains[i].load;
    for (int i = 0; i < d->whole->component_count; i++)
        if (d->whole->components[i].body >= 0) bodies += d->whole->components[i].weight;
    for (int i = 1; i <= d->count; i++) {
        const cal_domain* own = &d->domains[i];
        const double work = fmax(own->load, 1.0);
        for (int k = 0; k < own->member_count; k++) {
            load l = {0};
            if (d->ranks != NULL)
                move_load(&d->mail->shown[own->worker], &l);
            else
                l = load_of(d, own, k);
            out->numbers[out->count] = out->count;
            cal_cluster* one = &out->list[out->count++];
            *one = (cal_cluster){.box = l.box, .first = l.component};
            one->weight = CAL_UNEVEN * d->whole->components[l.component].weight * all / fmax(bodies, 1.0) +
                          0.5 * own->load * (l.done / work + 1.0 / own->member_count);
        }
    }
}

// Who is in another region now has left the one of its domain.
static bool list_moved(cal_domains* d, const cal_clusters* found) {
    for (int i = 1; i <= d->count; i++) d->domains[i].stray_count = 0;
    for (int i = 0; i < found->count; i++) {
        const cal_component* c = &d->whole->components[found->list[i].first];
        if (found->domains[i] == c->domain || !cal_domain_is_own(d, c->domain)) continue;
        if (!cal_domain_add_stray(&d->domains[c->domain], c->body, found->domains[i])) return false;
    }
    return true;
}

// Whether what others wait for the busiest processor since the last look is worth new regions: to find these takes a core as long as an event for
// some sixteen components, while others wait. Loads differ by chance, too, by a part of 1/√n for n events: three of these say that it is none.
static bool is_uneven(const cal_domains* d, double mean, double span) {
    return span - mean > d->whole->component_count / 16.0 &&
           span > (1.0 + 2.0 * CAL_UNEVEN + 3.0 / sqrt(fmax(mean, 1.0))) * mean;
}

static cal_status divide_again(cal_domains* d, cal_status status, cal_error* error) {
    int members = 0, count;
    status = show_loads(d, status, error);
    if (status != CAL_OK) return status;
    for (int i = 1; i <= d->count; i++) members += d->domains[i].member_count;
    cal_clusters found = {0};
    status = cal_clusters_begin(&found, members) ? CAL_OK : CAL_NO_MEMORY;
    if (status == CAL_OK) weigh_components(d, &found);
    if (status == CAL_OK) status = cal_domains_halve(d, &found, d->count, 1, false, (double)INFINITY, &count, error);
    if (status == CAL_OK && !list_moved(d, &found)) status = CAL_NO_MEMORY;
    cal_clusters_free(&found);
    d->divisions++;
    return status == CAL_OK ? CAL_OK : cal_fail(error, status, "out of memory for domains");
}

static void forget_done(cal_domains* d, int domain) {
    const cal_domain* own = &d->domains[domain];
    for (int k = 0; k < own->member_count; k++) d->whole->components[own->members[k]].done = 0;
}

cal_status cal_domains_balance(cal_domains* d, cal_status status, cal_error* error) {
    if (d->windows - d->balanced < d->patience) return status;
    double all = 0.0;
    find_loads(d);
    for (int i = 1; i <= d->count; i++) all += d->domains[i].load;
    const double mean = all / d->processors, span = cal_domains_span_of_loads(d), uneven = span / fmax(mean, 1.0);
    const bool worth = is_uneven(d, mean, span);
    if (!worth && d->windows - d->balanced < FEW_WINDOWS) return status;
    // What is held together stays where it is: then the next look is later.
    const bool helped = !(d->uneven > 0.0) || uneven < (1.0 - CAL_UNEVEN) * d->uneven;
    d->patience = !worth || helped ? 1 : d->patience < FEW_WINDOWS ? 2 * d->patience : FEW_WINDOWS;
    d->balanced = d->windows;
    d->uneven = worth ? uneven : 0.0;
    if (worth) status = divide_again(d, status, error);
    begin_loads(d);
    for (int i = 0; d->grouping && i < d->whole->component_count; i++)
        if (d->whole->components[i].group != NULL) d->whole->components[i].done = 0;
    return status == CAL_OK ? cal_domains_run(d, forget_done, error) : status;
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
    int own_domain = 1;
    while (own_domain <= d->count && !cal_domain_is_own(d, own_domain)) own_domain++;
    if (own_domain > d->count) return CAL_OK;
    cal_world *whole = d->whole, *view = d->domains[own_domain].world;
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
    for (int i = 1; i <= d->count; i++) {
        const cal_domain* own = &d->domains[i];
        d->group_places += own->place_count;
        for (int k = 0; k < own->leaving_count; k++) {
            whole->bodies[own->leaving[k]].prescribed = d->prescribed_count;
            if (!add_number(&d->prescribed, &d->prescribed_count, &d->prescribed_capacity, own->leaving[k]))
                return cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
        }
    }
    return CAL_OK;
}

static void open_domains(cal_domains* d) {
    cal_domains_share(d);
    for (int i = 1; i <= d->count; i++) {
        cal_domain* own = &d->domains[i];
        own->world->gvt = own->world->now = own->border->gvt = own->border->now = d->whole->time;
        own->extent = own->shown = own->core = cal_box_of_nothing;
        own->renewed = own->member_count = own->near_count = own->coming_count = 0;
    }
}

// Whether several domains for each processor are worth what they tell each other: where the impacts of most bodies that move are searched for, which
// takes several times as long as a formula.
static bool are_several_worth(const cal_domains* d) {
    int moving = 0, balls = 0;
    for (int i = 1; i <= d->count; i++) moving += d->domains[i].moving, balls += d->domains[i].balls;
    return 2 * balls < moving;
}

// Components that come to a domain, in the order of their numbers, which is that of memory.
static void list_coming(cal_domains* d, int domain) {
    cal_domain* own = &d->domains[domain];
    bool enough = true;
    for (int i = 0; enough && i < d->found->count; i++) {
        const int number = d->found->numbers[i];
        if (d->found->domains[number] != domain) continue;
        const cal_cluster* c = &d->found->list[number];
        for (int k = 0; enough && k < c->count; k++) {
            const int component = d->cluster[c->first + k];
            cal_component* one = &d->whole->components[component];
            one->domain = domain;
            one->told = 0, one->news = 0; // all ranks have the same whole
            enough = add_number(&own->coming, &own->coming_count, &own->coming_capacity, component);
        }
    }
    own->status = enough ? CAL_OK : cal_fail(&own->error, CAL_NO_MEMORY, "out of memory for domains");
}

cal_status cal_domains_divide(cal_domains* d, cal_error* error) {
    cal_clusters found = {0};
    d->whole->gvt = fmax(d->whole->gvt, d->whole->time);
    cal_status status = cal_domains_find_calls(d, error);
    if (status == CAL_OK) status = find_clusters(d, &found, error);
    if (status == CAL_OK) status = begin_domains(d, error);
    const double most = d->given || d->priced ? (double)INFINITY : 1.0 - CAL_UNEVEN;
    int count = 0;
    d->by_formula = !are_several_worth(d);
    if (status == CAL_OK)
        status = cal_domains_halve(d, &found, d->capacity / d->turns, d->turns, !d->by_formula, most, &count, error);
    if (status != CAL_OK || count == 0) { // nearly all of it is one: a pile
        d->found = NULL;
        cal_clusters_free(&found);
        return status;
    }
    d->count = count;
    open_domains(d);
    cal_domains_begin_turns(d);
    status = cal_domains_run_all(d, list_coming, error);
    d->found = NULL;
    cal_clusters_free(&found);
    if (status == CAL_OK) status = cal_domains_scatter(d, error);
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
    cal_status status = cal_world_complete(world);
    if (status != CAL_OK) return cal_fail(error, status, "states of other ranks' bodies cannot be taken");
    status = take_prescribed(d, error);
    world->states = 0; // it had the number of all domains, for whoever asks; they come with their components
    for (int i = 0; status == CAL_OK && i < world->component_count; i++)
        if (world->components[i].ops != NULL && cal_domain_is_own(d, world->components[i].domain))
            status = cal_domains_add_handing(d, i, CAL_DOMAIN_WHOLE, error);
    if (status == CAL_OK) status = cal_domains_hand_home(d, error);
    for (int i = 1; i <= d->count; i++) {
        cal_world* view = d->domains[i].world;
        while (view->unused_count > 0)
            world->unused_components[world->unused_count++] = view->unused_components[--view->unused_count];
        cal_domain_clear(view);
        cal_domain_clear(d->domains[i].border);
        d->domains[i].stray_count = d->domains[i].extended_count = d->domains[i].outer_count = d->domains[i].places = 0;
    }
    d->divided = false;
    if (status == CAL_OK && d->ranks != NULL) status = cal_rank_rebuild(d, error);
    if (status != CAL_OK) world->failed = status;
    return status;
}
