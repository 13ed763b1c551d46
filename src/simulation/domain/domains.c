// Domains as data: what a domain has of its own, and what it shares with the whole.
#include "simulation/domain/ranks.h"
#include "base/memory.h"
#include "plan/machine_ops.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/world.h"
#include <string.h>

// Places for components that a domain has in store. A domain that runs out of them waits for the others: as many as it has members, up to a
// number that is little beside what large domains have.
enum { PLACES = 64, MOST_PLACES = 256 };

int cal_domain_of_body(const cal_world* world, int body) {
    const int component = world->bodies[body].component;
    return component >= 0 ? world->components[component].domain : CAL_DOMAIN_WHOLE;
}

// --- Making and destroying ----------------------------------------------------------------------------------------------------

static void share(const cal_world* whole, cal_world* view) {
    view->def = whole->def;
    view->systems = whole->systems;
    view->systems.machine = NULL;
    view->group_ops = whole->group_ops;
    view->bodies = whole->bodies, view->body_count = whole->body_count;
    view->first_id = whole->first_id;
    view->components = whole->components;
    view->component_count = whole->component_count, view->component_capacity = whole->component_capacity;
    view->multibodies = whole->multibodies, view->multibody_count = whole->multibody_count;
    view->ignored = whole->ignored, view->ignored_count = whole->ignored_count;
    view->collision_hooks = whole->collision_hooks, view->collision_hook_count = whole->collision_hook_count;
    view->periodic_hooks = whole->periodic_hooks, view->periodic_hook_count = whole->periodic_hook_count;
    view->window = whole->window;
    view->contact_speed = whole->contact_speed, view->slow = whole->slow;
    view->started = whole->started;
    view->domains = whole->domains;
    view->time = whole->time;
}

// Also those that are not in use: the next division may have more.
void cal_domains_keep_events(cal_domains* d) {
    d->committed.keep = d->whole->log.keep;
    for (int i = 1; i <= d->capacity; i++) d->domains[i].world->log.keep = d->whole->log.keep;
}

void cal_domains_share(cal_domains* d) {
    for (int i = 1; i <= d->count; i++) {
        share(d->whole, d->domains[i].world);
        share(d->whole, d->domains[i].border);
    }
}

void cal_domain_clear(cal_world* view) {
    for (int i = 0; i < view->prescribed_count; i++) cal_free(view->prescribed[i].pairs);
    cal_free(view->prescribed);
    view->prescribed = NULL;
    view->prescribed_count = 0;
    cal_pair_table_destroy(&view->table);
    cal_events_destroy(&view->events);
    cal_broad_destroy(view->broad);
    view->broad = NULL;
    for (int i = 0; i < view->junction_count; i++) cal_free(view->junctions[i].links);
    view->junction_count = view->unused_junction_count = 0;
    view->noted_count = view->ended_count = 0;
}

static void destroy_view(cal_world* view) {
    if (view == NULL) return;
    cal_domain_clear(view);
    void* const lists[] = {view->unused_components,
                           view->ended,
                           view->junctions,
                           view->unused_junctions,
                           view->changes,
                           view->stack,
                           view->partners,
                           view->searches,
                           view->scratch,
                           view->impacts,
                           view->log.events,
                           view->log.junctions,
                           view->noted,
                           view};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) cal_free(lists[i]);
}

static void free_engines(cal_domain* domain) {
    for (int k = 0; k < domain->engine_count; k++) cal_multibody_model_release(domain->engines[k]);
    domain->engine_count = 0;
}

void cal_domains_forget_engines(cal_world* world) {
    for (int i = 1; world->domains != NULL && i <= world->domains->capacity; i++)
        free_engines(&world->domains->domains[i]);
}

void cal_domains_destroy(cal_world* world) {
    cal_domains* d = world->domains;
    if (d == NULL) return;
    for (int i = 0; i < world->multibody_count; i++) {
        cal_multibody* m = world->multibodies[i];
        if (m->home != NULL) m->engine = m->home;
        m->home = NULL;
    }
    for (int i = 1; d->domains != NULL && i <= d->capacity; i++) {
        destroy_view(d->domains[i].world);
        destroy_view(d->domains[i].border);
        free_engines(&d->domains[i]);
        cal_free(d->domains[i].engines);
        cal_free(d->domains[i].outer);
        cal_free(d->domains[i].later);
        cal_free(d->domains[i].members);
        cal_free(d->domains[i].near);
        cal_free(d->domains[i].coming);
        cal_free(d->domains[i].linked);
        cal_free(d->domains[i].crossing);
        cal_free(d->domains[i].leaving);
        cal_free(d->domains[i].released);
        cal_free(d->domains[i].strays);
        cal_broad_scratch_free(&d->domains[i].scratch);
    }
    for (int i = 0; d->looks != NULL && i < d->look_capacity; i++) cal_look_free(&d->looks[i]);
    cal_mail_destroy(d);
    pthread_mutex_destroy(&d->calling);
    pthread_mutex_destroy(&d->meeting);
    void* const lists[] = {d->domains,
                           d->handings,
                           d->departures,
                           d->cluster,
                           d->mark,
                           d->carried,
                           d->ring,
                           d->called,
                           d->joined,
                           d->prescribed,
                           d->order,
                           d->offers,
                           d->looks,
                           d->loads,
                           d->component_s,
                           d->timed,
                           d->wanted,
                           d->moves,
                           d->committed.events,
                           d->committed.junctions,
                           d};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) cal_free(lists[i]);
    world->domains = NULL;
}

cal_status cal_domains_create(cal_world* whole, int processors, int turns, int workers, cal_error* error) {
    const int count = processors * turns;
    cal_domains* d = cal_allocate(1, sizeof *d);
    if (d == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for %d domains", count);
    const bool made = pthread_mutex_init(&d->calling, NULL) == 0;
    if (!made || pthread_mutex_init(&d->meeting, NULL) != 0) {
        if (made) pthread_mutex_destroy(&d->calling);
        cal_free(d);
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for %d domains", count);
    }
    whole->domains = d;
    d->whole = whole, d->count = d->capacity = count, d->processors = processors;
    d->turns = turns, d->workers = workers, d->round = 1;
    d->ranks = whole->ranks;
    d->domains = cal_allocate((size_t)count + 1, sizeof *d->domains);
    d->order = cal_allocate((size_t)count + 1, sizeof *d->order);
    const int ranks = d->ranks != NULL ? d->ranks->processors : 1;
    d->loads = cal_allocate((size_t)(processors > ranks ? processors : ranks), sizeof *d->loads);
    d->look_capacity = count * (count - 1) / 2;
    d->looks = cal_allocate((size_t)d->look_capacity + 1, sizeof *d->looks);
    bool enough = d->domains != NULL && d->order != NULL && d->loads != NULL && d->looks != NULL;
    for (int i = 1; enough && i <= count; i++) {
        d->domains[i].world = cal_allocate(1, sizeof *d->domains[i].world);
        d->domains[i].border = cal_allocate(1, sizeof *d->domains[i].border);
        enough = d->domains[i].world != NULL && d->domains[i].border != NULL;
        if (enough) d->domains[i].world->domain = i, d->domains[i].border->domain = CAL_DOMAIN_BORDER;
        // Forced rollbacks: of other components than in the next domain.
        if (enough) d->domains[i].world->random.state = whole->def.seed + (uint64_t)i;
    }
    if (enough) {
        d->border = d->domains[1].border;
        cal_domains_begin_turns(d);
        cal_status status = cal_domains_begin_help(d, error);
        if (status == CAL_OK && d->ranks != NULL) status = cal_mail_create(d, error);
        if (status != CAL_OK) cal_domains_destroy(whole);
        return status;
    }
    cal_domains_destroy(whole);
    return cal_fail(error, CAL_NO_MEMORY, "out of memory for %d domains", count);
}

// --- Members ------------------------------------------------------------------------------------------------------------------

bool cal_domain_list_member(cal_domains* d, int component) {
    cal_component* c = &d->whole->components[component];
    if (c->domain <= CAL_DOMAIN_WHOLE || c->body < 0) return true;
    cal_domain* own = &d->domains[c->domain];
    if (!cal_grow((void**)&own->members, &own->member_capacity, own->member_count, sizeof *own->members)) return false;
    c->member = own->member_count;
    own->members[own->member_count++] = component;
    return true;
}

void cal_domain_unlist_member(cal_domains* d, int component, int domain) {
    const cal_component* c = &d->whole->components[component];
    if (domain <= CAL_DOMAIN_WHOLE || c->body < 0) return;
    cal_domain* own = &d->domains[domain];
    const int last = own->members[--own->member_count];
    own->members[c->member] = last;
    d->whole->components[last].member = c->member;
}

// --- Places for components ----------------------------------------------------------------------------------------------------

// One that is not in use, of the whole; −1: no memory.
static int take_place(cal_domains* d) {
    cal_world* whole = d->whole;
    if (whole->unused_count > 0) return whole->unused_components[--whole->unused_count];
    int capacity = whole->component_capacity;
    if (!cal_grow((void**)&whole->unused_components, &whole->unused_capacity, whole->component_count, sizeof(int)) ||
        !cal_grow((void**)&whole->components, &capacity, whole->component_count, sizeof *whole->components))
        return -1;
    whole->component_capacity = capacity;
    whole->components[whole->component_count] = (cal_component){.number = whole->component_count, .body = -1};
    d->group_places++;
    return whole->component_count++;
}

int cal_domain_most_members(const cal_world* view) {
    int most = 0;
    for (int i = 0; i < view->events.slot_count; i++) {
        const cal_event_slot* slot = &view->events.slots[i];
        if (cal_event_kind_of(slot) != CAL_EVENT_GROUP || slot->position < 0) continue;
        if (view->components[slot->owner].weight > most) most = view->components[slot->owner].weight;
    }
    return most;
}

// A domain may end any group, and so list any place as unused.
static bool reserve_places(cal_world* view, int count) {
    if (view->unused_capacity >= count) return true;
    const int capacity = count + count / 2;
    int* grown = cal_allocate((size_t)capacity, sizeof *grown);
    if (grown == NULL) return false;
    if (view->unused_count > 0) memcpy(grown, view->unused_components, (size_t)view->unused_count * sizeof *grown);
    cal_free(view->unused_components);
    view->unused_components = grown;
    view->unused_capacity = capacity;
    return true;
}

// How many places a domain has, and members of its largest group: on ranks what all know of it.
static void look_at_places(const cal_domains* d, cal_domain* own) {
    if (d->ranks != NULL) return;
    own->places = own->world->unused_count;
    own->most_members = own->starved ? cal_domain_most_members(own->world) : 0;
}

// All ranks count out the same places.
cal_status cal_domains_feed(cal_domains* d, cal_error* error) {
    bool enough = true;
    for (int i = 1; enough && i <= d->count; i++) {
        cal_domain* own = &d->domains[i];
        cal_world* view = own->world;
        const int members = own->member_count;
        int wanted = members > MOST_PLACES ? MOST_PLACES : members > PLACES ? members : PLACES;
        look_at_places(d, own);
        if (own->starved)
            wanted += members + 2 * own->most_members;
        else if (own->places >= wanted / 2)
            wanted = 0;
        own->starved = false;
        enough = reserve_places(view, d->group_places + wanted);
        for (; enough && own->places < wanted; own->places++) {
            const int place = take_place(d);
            enough = place >= 0;
            if (enough && cal_domain_is_own(d, i)) view->unused_components[view->unused_count++] = place;
        }
    }
    // What was given to one is a place that all may have to list.
    for (int i = 1; enough && i <= d->count; i++) enough = reserve_places(d->domains[i].world, d->group_places);
    if (!enough) return cal_fail(error, CAL_NO_MEMORY, "out of memory for components");
    cal_domains_share(d);
    return CAL_OK;
}

// --- Engines ------------------------------------------------------------------------------------------------------------------

cal_status cal_domain_engine(cal_domains* d, int domain, const cal_model* model, cal_multibody_model** out,
                             cal_error* error) {
    cal_domain* own = &d->domains[domain];
    for (int i = 0; i < own->engine_count; i++)
        if (own->engines[i]->user == model) {
            *out = own->engines[i];
            return CAL_OK;
        }
    if (!cal_grow((void**)&own->engines, &own->engine_capacity, own->engine_count, sizeof *own->engines))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for a multibody");
    const cal_status status = cal_multibody_model_create(own->world, model, out, error);
    if (status == CAL_OK) own->engines[own->engine_count++] = *out;
    return status;
}

// --- For events ---------------------------------------------------------------------------------------------------------------

cal_status cal_domain_note_box(cal_world* world, int body, cal_error* error) {
    cal_sim_body* part = &world->bodies[body];
    if (world->domain <= CAL_DOMAIN_WHOLE || part->component < 0) return CAL_OK;
    if (part->noted == world->domains->round) return CAL_OK;
    if (!cal_grow((void**)&world->noted, &world->noted_capacity, world->noted_count, sizeof *world->noted))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for boxes");
    part->noted = world->domains->round;
    part->changed_from = (double)INFINITY;
    world->noted[world->noted_count++] = body;
    return CAL_OK;
}

cal_status cal_domain_note_change(cal_world* world, int body, double time, cal_error* error) {
    if (world->domain <= CAL_DOMAIN_WHOLE) return CAL_OK;
    const cal_status status = cal_domain_note_box(world, body, error);
    if (status != CAL_OK || world->bodies[body].component < 0) return status;
    world->bodies[body].changed_from = fmin(world->bodies[body].changed_from, time);
    if (!(world->now < world->reached)) return CAL_OK;
    // A group that repeats a step from before the window does what it did there: what others decided then is final.
    return cal_domain_reconsider(world, body, fmax(time, world->gvt), time < world->gvt, error);
}

void cal_domain_begin_call(cal_world* world) {
    if (world->domains != NULL && world->domain > CAL_DOMAIN_WHOLE) pthread_mutex_lock(&world->domains->calling);
    (world->domains != NULL ? world->domains->whole : world)->calling++;
}

void cal_domain_end_call(cal_world* world) {
    (world->domains != NULL ? world->domains->whole : world)->calling--;
    if (world->domains != NULL && world->domain > CAL_DOMAIN_WHOLE) pthread_mutex_unlock(&world->domains->calling);
}
