// The events of a domain in a run: to the end of the window, and beyond it while others have not come so far.
//
//     T ──────────── window ──────────── T + w
//     domain 1  ●──●────●──────────●─────┼───●────●──▸          has gone ahead while domain 2, which has more to do or a slower core, came to the end
//     domain 2  ───●──●─●─●───●──●───●──●┼
//
// What is beyond the end is no different from what is before it: it can be taken back since T, boxes and pasts hold it, and who stays together does. Only
// what is before the end becomes final. So who is ahead of whom changes no bit, as the length of windows does not.
#include "simulation/component.h"
#include "simulation/domain/ranks.h"
#include "simulation/event/events.h"
#include "simulation/event/fetch.h"
#include "simulation/event/loops.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include "plan/machine_ops.h"
#include <math.h>

// How many windows a domain may be ahead of the others: of a gas some hundredth is handed over in a window, and what is done so far ahead is undone in one of
// twenty-five. And the part of one after which a worker goes on with another one of its domains.
enum { FURTHEST = 4 };
#define SLICE 0.125

// Whether a domain has places for the groups that an event may make.
static bool has_places(const cal_world* view, const cal_event_slot* slot) {
    int needed = 2;
    if (cal_event_kind_of(slot) == CAL_EVENT_GROUP) needed += view->components[slot->owner].weight;
    return view->unused_count >= needed;
}

// What events have done so far, each of which takes about as long as an event with none: looks at the distance of two bodies, and iterations of the
// contact problem. Counts, the same on all ranks; on threads searches with help may end a little sooner.
static int64_t work_of(const cal_world* view) { return view->report.checks + view->report.group_newton; }

// How far a domain may go beyond the end of the window. Of worlds whose windows were given, each another way.
static double ahead_of(const cal_domains* d, int domain) {
    enum { PARTS = 8 };
    if (!d->given) return d->latest;
    return d->end + (d->latest - d->end) * (double)((7 * d->runs + 5 * domain) % PARTS) / PARTS;
}

// Whether all domains have come to the end of the window: nobody waits for who is ahead.
static bool have_all_run(const cal_domains* d) {
    return !d->given && !d->priced && atomic_load_explicit(&d->behind, memory_order_relaxed) == 0;
}

// Of a world that is priced: whether a domain has had what it would have waited.
static bool is_time_up(const cal_domains* d, const cal_domain* own) {
    return d->priced && own->ahead_s + (cal_processor_time() - own->ahead_began) >= own->ahead_until;
}

// Whether an event is one that every domain has: what they have of driven bodies is the same in all of them when bodies are handed over.
static bool is_of_all(const cal_world* view, const cal_event_slot* slot) {
    return cal_event_kind_of(slot) == CAL_EVENT_BOX && view->bodies[slot->owner].component < 0;
}

static cal_status run_domain(cal_domains* d, cal_domain* domain, double end, bool ahead, cal_error* error) {
    cal_world* view = domain->world;
    cal_status status = CAL_OK;
    cal_progress_begin(view);
    if (d->priced) d->clock = cal_processor_time();
    while (status == CAL_OK) {
        const int event = cal_events_first(&view->events);
        if (event < 0 || !(cal_events_due(&view->events) < end)) break;
        const cal_event_slot slot = view->events.slots[event];
        if (ahead && (have_all_run(d) || is_of_all(view, &slot) || is_time_up(d, domain))) break;
        if (!has_places(view, &slot)) {
            domain->starved = !ahead;
            break;
        }
        view->now = cal_events_due(&view->events);
        view->reached = fmax(view->reached, view->now);
        view->report.events++;
        domain->events++;
        cal_events_schedule(&view->events, event, (double)INFINITY, 0);
        cal_fetch_events(view);
        const int owner = cal_price_owner(view, &slot);
        const int64_t before = work_of(view);
        status = cal_progress_check(view, &slot, view->window, error);
        if (status == CAL_OK) status = cal_event_process(view, &slot, view->now, error);
        if (status == CAL_OK) status = cal_world_update_changed(view, error); // groups that decide again
        if (status == CAL_OK && view->narrow && view->report.groups > 0) status = cal_late_widen(view, error);
        if (status == CAL_OK && view->def.forced_rollbacks > 0.0) status = cal_force_rollback(view, error);
        domain->work += 1 + work_of(view) - before;
        if (owner >= 0) view->components[owner].done += (int)(1 + work_of(view) - before);
        if (status == CAL_OK && d->priced) status = cal_price_event(d, owner, error);
    }
    return status;
}

// What others have to know of a domain that has run.
static void end_run(cal_domains* d, int domain) {
    cal_domain* own = &d->domains[domain];
    if (own->status == CAL_OK) own->status = cal_border_extend(d, domain, &own->error);
    if (d->ranks == NULL) cal_border_end_run(d, domain);
}

void cal_domain_take_events(cal_domains* d, int domain) {
    cal_domain* own = &d->domains[domain];
    if (own->world->narrow) cal_late_trim(own->world);
    own->status = run_domain(d, own, d->end, false, &own->error);
    if (d->latest > d->end)
        atomic_fetch_sub(&d->behind, 1);
    else
        end_run(d, domain);
}

// --- Ahead ----------------------------------------------------------------------------------------------------------------------

// In this run.
static bool is_run_by(const cal_domains* d, int domain, int worker) {
    return atomic_load_explicit(&d->domains[domain].runner, memory_order_relaxed) == worker;
}

static double next_due(const cal_domains* d, int domain) {
    const cal_domain* own = &d->domains[domain];
    const bool goes_on = own->status == CAL_OK && !own->starved && !own->stopped;
    const double due = goes_on ? cal_events_due(&own->world->events) : (double)INFINITY;
    return due < ahead_of(d, domain) ? due : (double)INFINITY;
}

// The domain of a worker that has come least far, 0: none goes on; and how far it may get before another one is that.
static int find_last(const cal_domains* d, int worker, double* until) {
    int last = 0;
    double least = (double)INFINITY, next = (double)INFINITY;
    for (int i = 1; i <= d->count; i++) {
        if (!is_run_by(d, i, worker)) continue;
        const double due = next_due(d, i);
        if (due < least)
            next = least, least = due, last = i;
        else
            next = fmin(next, due);
    }
    if (last > 0) *until = fmin(ahead_of(d, last), next + SLICE * d->window);
    return last;
}

static void run_ahead(cal_domains* d, int domain, double until) {
    cal_domain* own = &d->domains[domain];
    const int64_t work = own->work, events = own->events;
    const double begin = own->ahead_began = cal_processor_time();
    own->status = run_domain(d, own, until, true, &own->error);
    own->stopped = cal_events_due(&own->world->events) < until;
    own->ahead_work += own->work - work, own->ahead_events += own->events - events;
    const double spent = cal_processor_time() - begin;
    own->ahead_s += spent, own->spent += spent;
}

// Where others still run, a worker goes on beyond the end of the window with the domains that it has run: what they do there can be taken back as all that is in the
// window, and most of it is not.
void cal_domains_go_ahead(cal_domains* d, int worker) {
    double until;
    if (d->task != cal_domain_take_events || !(d->latest > d->end)) return;
    for (int i = 1; i <= d->count; i++)
        if (is_run_by(d, i, worker)) d->domains[i].stopped = false;
    for (int last; (last = find_last(d, worker, &until)) > 0;) run_ahead(d, last, until);
    for (int i = 1; i <= d->count; i++)
        if (is_run_by(d, i, worker)) end_run(d, i);
}

// Of a world that is priced each domain has its share of what processors would have waited.
void cal_domains_share_waits(cal_domains* d) {
    double all = 0.0;
    for (int i = 1; i <= d->count; i++) all += d->domains[i].spent;
    const double share = fmax(0.0, cal_domains_span(d) * d->processors - all) / d->count;
    for (int i = 1; i <= d->count; i++) d->domains[i].ahead_until = d->domains[i].ahead_s + share;
}

double cal_domains_latest(const cal_domains* d) {
    double latest = d->begin;
    for (int i = 1; i <= d->count; i++) latest = fmax(latest, d->domains[i].world->reached);
    return latest;
}

// Domains go on while others run where their cores wait otherwise. Not where a user is called: how often would depend on who waits for how long.
void cal_domains_begin_ahead(cal_domains* d) {
    const cal_machine* machine = d->whole->machine;
    const bool called = d->whole->periodic_hook_count + d->whole->collision_hook_count > 0;
    const bool waits = d->priced || (machine != NULL && !machine->crowded);
    const bool ahead =
        d->ranks == NULL && (d->given || (waits && !called)) && !d->grouping && !d->settles && !d->leaves;
    d->latest = ahead ? fmin(d->end + FURTHEST * d->window, d->time) : d->end;
    atomic_store_explicit(&d->behind, d->count, memory_order_relaxed);
    for (int i = 1; i <= d->count; i++) d->domains[i].ahead_s = 0.0;
}
