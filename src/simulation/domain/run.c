// Windows: all domains run to the end of one, and meet, until nothing is left to do in it.
#define _POSIX_C_SOURCE 200809L
#include "base/memory.h"
#include "plan/machine_ops.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/domain/ranks.h"
#include "simulation/event/events.h"
#include "simulation/event/fetch.h"
#include "simulation/event/log.h"
#include "simulation/event/loops.h"
#include "simulation/motion/multibody.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <math.h>
#include <time.h>

// Events of a window that are worth a meeting, for each processor: a meeting takes the time of a few, and domains that have more of them
// than others, by chance, keep those waiting. In a large world there may be one for each sixteenth component: few of them are near a border.
enum { FEW_EVENTS = 100, FEW_OF = 16, FIRST_SHARE = 8, LONGEST = 4 };
// Components below which a processor is not worth having: events of one are then rarely apart from those of the others.
enum { FEW_COMPONENTS = 48 };
// Windows after which it is looked whether a division is worth it, and for how many windows of the world (world.h) one core then goes on
// before the next attempt, which is twice as long after each. A division pays for itself where it saves a tenth.
enum { FEW_WINDOWS = 16, FIRST_ALONE = 64 };
#define WORTH 1.1
#define TOO_SHORT 0.02 // s of processor time: what took less says nothing about a division, and costs nothing

// --- Whether --------------------------------------------------------------------------------------------------------------------

// Threads, or ranks.
static int processors_of(const cal_world* world) {
    if (world->machine != NULL) return cal_machine_processors(world->machine);
    return world->ranks != NULL ? cal_ranks_at_work(world->ranks) : 1;
}

static int moving_components(const cal_world* world) {
    int count = 0;
    for (int i = 0; i < world->component_count; i++) {
        const cal_component* c = &world->components[i];
        count += c->ops != NULL && c->body >= 0;
    }
    return count;
}

bool cal_world_is_divided(const cal_world* world) {
    if (world->domains != NULL) return world->domains->divided || !(world->time < world->domains->alone_until);
    if (processors_of(world) < 2 || world->domain != CAL_DOMAIN_WHOLE || world->def.loop != CAL_TIMEWARP) return false;
    return moving_components(world) >= 2 * FEW_COMPONENTS && cal_multibodies_processors(world) == 1;
}

// How many of so many processors are worth having.
int cal_domains_worth(const cal_world* world, int processors) {
    const int most = moving_components(world) / FEW_COMPONENTS;
    return most < processors ? most : processors;
}

cal_status cal_world_divide_among(cal_world* world, int processors, int turns, cal_error* error) {
    const cal_status status = cal_world_gather(world, error);
    if (status != CAL_OK) return status;
    cal_domains_destroy(world);
    const int threads = world->machine != NULL ? cal_machine_processors(world->machine) : 1;
    return cal_domains_create(world, processors, turns, threads < processors ? threads : processors, error);
}

cal_status cal_world_divide(cal_world* world, int domains, double window, cal_error* error) {
    const cal_status status = cal_world_divide_among(world, domains, 1, error);
    if (status == CAL_OK && window > 0.0) world->domains->window = window, world->domains->given = true;
    return status;
}

// --- A run ----------------------------------------------------------------------------------------------------------------------

// Whether a domain has places for the groups that an event may make.
static bool has_places(const cal_world* view, const cal_event_slot* slot) {
    int needed = 2;
    if (cal_event_kind_of(slot) == CAL_EVENT_GROUP) needed += view->components[slot->owner].weight;
    return view->unused_count >= needed;
}

// What events have done so far, each of which takes about as long as an event with none: looks at the distance of two bodies, and iterations of the
// contact problem. Counts, the same on all ranks; on threads searches with help may end a little sooner.
static int64_t work_of(const cal_world* view) { return view->report.checks + view->report.group_newton; }

static cal_status run_domain(cal_domains* d, cal_domain* domain, double end, cal_error* error) {
    cal_world* view = domain->world;
    cal_status status = CAL_OK;
    cal_progress_begin(view);
    if (d->priced) d->clock = cal_processor_time();
    while (status == CAL_OK) {
        const int event = cal_events_first(&view->events);
        if (event < 0 || !(cal_events_due(&view->events) < end)) break;
        const cal_event_slot slot = view->events.slots[event];
        if (!has_places(view, &slot)) {
            domain->starved = true;
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
        if (status == CAL_OK && view->def.forced_rollbacks > 0.0) status = cal_force_rollback(view, error);
        domain->work += 1 + work_of(view) - before;
        if (owner >= 0) view->components[owner].done += (int)(1 + work_of(view) - before);
        if (status == CAL_OK && d->priced) status = cal_price_event(d, owner, error);
    }
    return status;
}

static void run_one(cal_domains* d, int domain) {
    cal_domain* own = &d->domains[domain];
    own->status = run_domain(d, own, d->end, &own->error);
    if (own->status == CAL_OK) own->status = cal_border_extend(d, domain, &own->error);
    if (d->ranks == NULL) cal_border_end_run(d, domain);
}

double cal_elapsed_time(void) {
    struct timespec time;
    if (clock_gettime(CLOCK_MONOTONIC, &time) != 0) return 0.0;
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void run_if_free(cal_domains* d, int domain, int worker) {
    cal_domain* own = &d->domains[domain];
    if (atomic_exchange(&own->taken, 1)) return;
    const double begin = cal_processor_time(), spared = d->priced ? d->spared_s : 0.0;
    own->runner = worker;
    d->task(d, domain);
    own->spent = cal_processor_time() - begin;
    if (d->priced) own->spared = d->spared_s - spared;
}

// Who has no domain left takes looks across the border, of which whoever runs last leaves the rest for all, and helps.
static void run_some(void* argument, int worker) {
    cal_domains_run_some(argument, worker, run_if_free);
    (void)cal_border_look_some(argument);
    cal_domains_help(argument, worker);
}

// On ranks one core runs all domains of its own, or of all.
static void run_alone(cal_domains* d, bool all) {
    for (int i = 1; i <= d->count; i++)
        if (all || cal_domain_is_own(d, i)) run_if_free(d, i, 0);
    (void)cal_border_look_some(d);
}

// To wake workers and to wait for the last one takes some microseconds, whatever they do: the least that it has taken here. What is more was waited for cores that
// others use, and says nothing of the next time.
static void note_meeting(cal_domains* d, double waited) {
    if (d->meetings == 0 || waited < d->meeting_s) d->meeting_s = fmax(waited, 0.0);
    d->meetings++;
}

// No task: looks across the border that were listed, and nothing else.
static cal_status run_tasks(cal_domains* d, cal_domain_task* task, bool all, cal_error* error) {
    const double begin = cal_processor_time(), began = cal_elapsed_time();
    for (int i = 1; i <= d->count; i++) {
        atomic_store_explicit(&d->domains[i].taken, task == NULL, memory_order_relaxed);
        d->domains[i].spent = d->domains[i].spared = 0.0;
    }
    d->task = task;
    const cal_machine* machine = d->whole->machine;
    const bool threads = d->ranks == NULL && d->workers > 1 && machine != NULL;
    if (threads) {
        // Where threads share cores, one would wait for a helper that has none.
        d->helps = task == run_one && (d->given || !machine->crowded);
        atomic_store(&d->at_work, d->workers);
        const cal_status status = machine->ops->together(d->whole->machine, run_some, d, d->workers);
        if (status != CAL_OK) return cal_fail(error, status, "the threads of a world are in use");
    } else {
        run_alone(d, all);
    }
    const double looked = 1e-9 * (double)atomic_exchange(&d->looked_ns, 0);
    double sum = d->helped_s = 1e-9 * (double)atomic_exchange(&d->helped_ns, 0);
    for (int i = 1; i <= d->count; i++) {
        sum += d->domains[i].spent;
        if (task == run_one) d->domains[i].next_cost += d->domains[i].spent;
    }
    if (task == run_one) d->own_s += sum;
    d->border_s += task == run_one ? looked : sum + looked;
    d->domains_s += sum + looked;
    // Looks are many, and wait for nobody but the two that have run.
    const double busiest = fmax(cal_domains_span(d), (sum + looked) / d->processors),
                 together = cal_elapsed_time() - began;
    if (d->ranks == NULL) d->busiest_s += busiest;
    if (d->ranks == NULL && threads) note_meeting(d, together - busiest);
    d->together_s += together;
    d->between_s -= cal_processor_time() - begin;
    // The first of those that failed.
    const cal_domain* failed = NULL;
    for (int i = 1; i <= d->count; i++)
        if (d->domains[i].status != CAL_OK && (failed == NULL || d->domains[i].world->now < failed->world->now))
            failed = &d->domains[i];
    if (failed == NULL) return CAL_OK;
    d->failed_at = failed->world->now;
    const char* said = failed->world->trouble.text[0] != '\0' ? failed->world->trouble.text : failed->error.text;
    return cal_fail(error, failed->status, "%s", said);
}

cal_status cal_domains_run(cal_domains* d, cal_domain_task* task, cal_error* error) {
    return run_tasks(d, task, false, error);
}

cal_status cal_domains_run_all(cal_domains* d, cal_domain_task* task, cal_error* error) {
    return run_tasks(d, task, true, error);
}

cal_status cal_domains_run_looks(cal_domains* d, cal_error* error) { return run_tasks(d, NULL, false, error); }

// --- The end of a window ----------------------------------------------------------------------------------------------------------

void cal_world_add_report(cal_world_report* to, cal_world_report* from) {
    int64_t* const sums[][2] = {{&to->discontinuities, &from->discontinuities},
                                {&to->collisions, &from->collisions},
                                {&to->fusions, &from->fusions},
                                {&to->fissions, &from->fissions},
                                {&to->checks, &from->checks},
                                {&to->predictions, &from->predictions},
                                {&to->events, &from->events},
                                {&to->series, &from->series},
                                {&to->integrations, &from->integrations},
                                {&to->rollbacks, &from->rollbacks},
                                {&to->undone, &from->undone},
                                {&to->forced, &from->forced},
                                {&to->callbacks, &from->callbacks},
                                {&to->group_steps, &from->group_steps},
                                {&to->groups, &from->groups},
                                {&to->group_rejected, &from->group_rejected},
                                {&to->group_solves, &from->group_solves},
                                {&to->group_newton, &from->group_newton}};
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) *sums[i][0] += *sums[i][1];
    to->intervals += from->intervals;
    to->integrated += from->integrated;
    to->rolled_back += from->rolled_back;
    to->penetration = fmax(to->penetration, from->penetration);
    if (from->largest_group > to->largest_group) to->largest_group = from->largest_group;
    if (from->largest_contacts > to->largest_contacts) to->largest_contacts = from->largest_contacts;
    *from = (cal_world_report){0};
}

// What bodies have done since their last events is counted by those that have them.
static void follow_members(cal_domains* d, int domain) {
    enum { COMPONENT = 8 };
    const cal_domain* own = &d->domains[domain];
    for (int k = 0; k < own->member_count; k++) {
        if (k + COMPONENT < own->member_count) __builtin_prefetch(&d->whole->components[own->members[k + COMPONENT]]);
        if (!d->grouping || !cal_component_is_fused(&d->whole->components[own->members[k]]))
            cal_component_mark_used(own->world, own->members[k], d->begin);
    }
}

cal_status cal_domains_follow(cal_domains* d, cal_error* error) {
    const cal_status status = cal_domains_run(d, follow_members, error);
    for (int i = 1; i <= d->count; i++)
        cal_world_add_report(d->ranks != NULL ? &d->counted : &d->whole->report, &d->domains[i].world->report);
    return status;
}

static const cal_world_event* first_logged(const cal_event_log* log) {
    return log->head < log->tail ? &log->events[(size_t)log->head % (size_t)log->capacity] : NULL;
}

// What is before a time goes into the log of the whole, or of a rank, in order.
static cal_status merge_logs(cal_domains* d, double end, cal_error* error) {
    size_t most = 0, count = 0;
    for (int i = 1; i <= d->count; i++) most += (size_t)(d->domains[i].world->log.tail - d->domains[i].world->log.head);
    if (most == 0) return CAL_OK;
    cal_world_event* events = cal_allocate(most, sizeof *events);
    if (events == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for events");
    for (int i = 1; i <= d->count; i++) {
        cal_event_log* own = &d->domains[i].world->log;
        for (const cal_world_event* next; (next = first_logged(own)) != NULL && next->time < end; own->head++)
            events[count++] = *next;
    }
    const cal_status status = cal_log_add_all(d->ranks != NULL ? &d->committed : &d->whole->log, events, count, error);
    cal_free(events);
    return status;
}

static cal_status end_window(cal_domains* d, double end, double until, cal_error* error) {
    int64_t states = 0;
    cal_world_report* report = d->ranks != NULL ? &d->counted : &d->whole->report;
    for (int i = 1; i <= d->count; i++) {
        cal_world* view = d->domains[i].world;
        cal_world_add_report(report, &view->report);
        cal_world_add_report(report, &d->domains[i].border->report);
        states += view->states;
    }
    d->whole->states = states;
    if (states > d->whole->report.peak_states) d->whole->report.peak_states = states;
    d->whole->gvt = fmax(d->whole->gvt, end);
    d->whole->now = end;
    return merge_logs(d, until, error);
}

// --- Windows ----------------------------------------------------------------------------------------------------------------------

// And whether the advance shall end, of which ranks are told together.
static cal_status find_first_due(cal_domains* d, double* due, bool* interrupted, cal_status status, cal_error* error) {
    *due = (double)INFINITY;
    *interrupted = d->ranks == NULL && cal_world_is_interrupted(d->whole);
    for (int i = 1; i <= d->count; i++)
        *due = fmin(*due,
                    fmin(cal_events_due(&d->domains[i].world->events), cal_events_due(&d->domains[i].border->events)));
    return d->ranks != NULL ? cal_rank_first_due(d, due, interrupted, status, error) : status;
}

static void begin_window(cal_domains* d) {
    cal_domains_untie(d);
    for (int i = 1; i <= d->count; i++) {
        cal_world* view = d->domains[i].world;
        view->gvt = view->now = view->reached = d->begin;
        view->time = d->whole->time;
        view->lag = (double)INFINITY;
        d->domains[i].border->gvt = d->domains[i].border->now = d->begin;
    }
}

static int64_t count_events(const cal_domains* d) {
    int64_t events = 0;
    for (int i = 1; i <= d->count; i++) events += d->domains[i].events;
    return events;
}

static int64_t count_work(const cal_domains* d) {
    int64_t work = 0;
    for (int i = 1; i <= d->count; i++) work += d->domains[i].work;
    return work;
}

// A window is as long as there are events enough in it, unless too much is handed over, or done after the first run: again, or by few domains. A quarter
// of that is less than what others wait in more windows for the busiest component of each. In a gas of balls little is done again, and windows are twice as long; the
// first ones are short, and grow sooner. With more than twice as many events a window only makes boxes hold more of what is past: lengths change by a fourth, or by a
// half, at a time, so that one of them is within these bounds. One that an advance cuts short does not say that there are few. What a window is has no influence on
// results.
static void adapt(cal_domains* d, int64_t events, int64_t handed, int64_t first, int64_t later) {
    if (d->given) return;
    const int longer = d->grouping || !d->by_formula ? 1 : 2;
    const double longest = longer * LONGEST * d->whole->window;
    const int64_t few = (int64_t)longer * FEW_EVENTS * d->processors, of_all = d->whole->component_count / FEW_OF,
                  worth = few > of_all ? few : of_all;
    if ((8 * handed > events || 4 * later > first) && events > d->count)
        d->window *= 0.8;
    else if (events < worth && !d->cut_short)
        d->window = fmin((longer * events < worth ? longer : 1.0) * 1.25 * d->window, longest);
    else if (events > 2 * worth)
        d->window *= 0.8;
}

// Until nobody meets anybody any more. What is exchanged between ranks is exchanged by all, also by one that has failed: where somebody has met, all have, and
// others do not know yet; where nobody has, all know how all have fared.
static cal_status run_window(cal_domains* d, double end, int64_t* first_work, cal_status status, cal_error* error) {
    for (bool met = true, first = true; met && (d->ranks != NULL || status == CAL_OK); first = false) {
        if (status == CAL_OK) status = cal_domains_feed(d, error);
        cal_border_begin_run(d);
        if (status == CAL_OK) status = cal_domains_run(d, run_one, error);
        for (int i = 1; i <= d->count; i++) {
            if (d->ranks == NULL && d->domains[i].goes_on) d->first_s += d->domains[i].spent;
            d->domains[i].goes_on = d->domains[i].starved;
            d->grouping |= d->domains[i].world->report.groups > 0;
        }
        if (first && d->ranks == NULL) d->first_s += d->helped_s, *first_work = count_work(d);
        if (d->ranks != NULL || status == CAL_OK) status = cal_border_meet(d, end, true, &met, status, error);
        if (first && d->ranks != NULL) d->first_s += d->shown_s, *first_work = count_work(d);
        d->shown_s = 0.0;
        for (int i = 1; status == CAL_OK && i <= d->count; i++) met |= d->domains[i].starved;
        d->runs++;
    }
    return status;
}

static cal_status pass_window(cal_domains* d, double end, cal_status status, cal_error* error) {
    d->grouping = d->grouping || d->whole->report.groups > 0;
    d->end = end;
    begin_window(d);
    cal_domains_take_turns(d);
    bool met = false;
    status = cal_domains_balance(d, status, error);
    if (d->ranks != NULL || status == CAL_OK) status = cal_domains_migrate(d, status, error);
    const int64_t events = count_events(d), handed = d->handed;
    const int64_t work = count_work(d);
    int64_t first_work = work;
    for (int i = 1; i <= d->count; i++) d->domains[i].goes_on = true;
    if (d->ranks != NULL || status == CAL_OK) status = cal_border_meet(d, end, false, &met, status, error);
    status = run_window(d, end, &first_work, status, error);
    d->windows++;
    if (d->priced) cal_price_window(d);
    for (int i = 1; i <= d->count; i++) d->domains[i].cost = d->domains[i].next_cost, d->domains[i].next_cost = 0.0;
    adapt(d, count_events(d) - events, d->handed - handed, first_work - work, count_work(d) - first_work);
    return status;
}

// Of ranks, what all have seen counts.
static void take_rank_times(cal_domains* d) {
    if (d->ranks == NULL) return;
    d->domains_s = d->first_s;
    d->busiest_s = d->rank_busiest_s;
    d->between_s = d->rank_other_s;
}

// How much faster a world was since the last look than on one core, from processor times and the time that meetings of threads take at least: that would have taken
// what the first run of each window did, and those that went on where a domain had no places left. Others repeat, or go on with, what was handed over.
static double gain(cal_domains* d) {
    take_rank_times(d);
    const double first = d->first_s - d->seen_first_s, busiest = d->busiest_s - d->seen_busiest_s,
                 between = d->between_s - d->seen_between_s,
                 waited = (double)(d->meetings - d->seen_meetings) * d->meeting_s;
    d->seen_meetings = d->meetings;
    d->seen_windows = d->windows, d->seen_first_s = d->first_s;
    d->seen_busiest_s = d->busiest_s, d->seen_between_s = d->between_s;
    return first / (busiest + between + waited);
}

bool cal_domains_pay(cal_domains* d) { return gain(d) >= WORTH; }

// One core goes on from here for a while.
static cal_status retreat(cal_domains* d, cal_error* error) {
    d->alone_for = fmax(2.0 * d->alone_for, FIRST_ALONE * d->whole->window);
    d->alone_until = d->begin + d->alone_for;
    return cal_world_gather(d->whole, error);
}

// What it took, for whoever asks.
static void tell(const cal_domains* d) {
    cal_world_report* report = &d->whole->report;
    report->domains = d->divided ? d->count : 0;
    report->processors = d->divided ? d->processors : 0;
    report->largest_s = d->largest_s;
    report->windows = d->windows, report->runs = d->runs, report->handed_over = d->handed;
    report->domains_s = d->domains_s, report->busiest_s = d->busiest_s, report->between_s = d->between_s;
    report->border_s = d->border_s, report->divide_s = d->divide_s, report->together_s = d->together_s;
}

// All bodies are in domains after this, unless one core is better.
static cal_status divide(cal_domains* d, cal_error* error) {
    const double before = cal_processor_time(), between_s = d->between_s;
    const cal_status status = cal_domains_divide(d, error);
    d->begin = d->whole->time;
    d->between_s += cal_processor_time() - before;
    d->divide_s += d->between_s - between_s;
    take_rank_times(d);
    d->seen_meetings = d->meetings;
    d->seen_busiest_s = d->busiest_s, d->seen_between_s = d->between_s; // windows must be worth it, once divided
    return status;
}

// Events at the very time at which a window has ended: as at the end of an advance, all that was written down is final then, and nothing of it
// is left in the log of one rank alone.
static cal_status pass_instant(cal_domains* d, cal_status status, cal_error* error) {
    const double until = nextafter(d->begin, (double)INFINITY);
    d->cut_short = true;
    status = pass_window(d, until, status, error);
    return status == CAL_OK ? end_window(d, d->begin, until, error) : status;
}

// What is left of an advance is divided evenly, so that none of its windows is a short one that all meet for nothing.
static double length_of_window(const cal_domains* d, double left) {
    return d->given ? d->window : left / fmax(ceil(left / d->window), 1.0);
}

// One window after the other up to a time; or until one core is better, and has the world again. Where it is interrupted the next window is
// the last, so that what is at its very end is taken as well.
static cal_status pass_windows(cal_domains* d, double* goal, cal_status status, cal_error* error) {
    double before = cal_processor_time();
    d->rank_mark = before;
    d->own_s = d->waited_s = d->shown_s = 0.0;
    for (bool last = false; !last && (d->ranks != NULL || status == CAL_OK);) {
        double due;
        bool interrupted;
        status = find_first_due(d, &due, &interrupted, status, error);
        if (status != CAL_OK) return status;
        const double next = fmin(fmax(due, d->begin), *goal);
        if (interrupted) *goal = fmin(next + d->window, *goal);
        const double time = *goal, length = length_of_window(d, time - next), end = next + length;
        last = !(end < time) || !(length < time - next);
        d->cut_short = last && 1.25 * length < d->window;
        const double until = last ? nextafter(time, (double)INFINITY) : end;
        status = pass_window(d, until, status, error);
        if (status == CAL_OK) status = end_window(d, last ? time : end, until, error);
        d->begin = last ? time : end;
        d->between_s += cal_processor_time() - before;
        before = cal_processor_time();
        if (d->ranks == NULL && status != CAL_OK) return status;
        if (last && d->ranks != NULL) break;
        if (d->given || d->priced || d->windows - d->seen_windows < FEW_WINDOWS) continue;
        take_rank_times(d);
        if (d->busiest_s - d->seen_busiest_s + d->between_s - d->seen_between_s < TOO_SHORT) continue;
        if (cal_domains_pay(d)) continue;
        begin_window(d);
        // What is before `begin`, and at it, is what all ranks have to know before each goes on alone.
        if (d->ranks != NULL) status = pass_instant(d, status, error);
        if (d->ranks != NULL) status = cal_rank_show(d, status, error);
        if (status == CAL_OK) status = retreat(d, error);
        return d->ranks != NULL ? cal_rank_agree(d, status, error) : status;
    }
    if (d->ranks != NULL) return cal_rank_show(d, status, error);
    return status == CAL_OK ? cal_domains_follow(d, error) : status;
}

cal_status cal_advance_domains(cal_world* world, double* time, cal_error* error) {
    const double asked = *time;
    cal_error said = {CAL_OK, ""}; // ranks tell each other what went wrong
    cal_status status = CAL_OK;
    if (error == NULL) error = &said;
    if (world->domains == NULL) {
        const int processors = cal_domains_worth(world, processors_of(world));
        status = cal_world_divide_among(world, processors, CAL_TURNS, error);
    }
    if (world->ranks != NULL) status = cal_rank_agree_early(world->ranks, status, error);
    if (world->ranks != NULL && status == CAL_OK) status = cal_rank_restore(world, error);
    cal_domains* d = world->domains;
    if (status == CAL_OK) cal_domains_keep_events(d);
    const bool divides = status == CAL_OK && !d->divided;
    if (divides) status = divide(d, error);
    if (divides && d->ranks != NULL) status = cal_rank_agree(d, status, error);
    if (status != CAL_OK) return status;
    if (!d->divided) return retreat(d, error);
    if (!(d->window > 0.0)) d->window = world->window / FIRST_SHARE;
    status = pass_windows(d, time, status, error);
    if (status == CAL_OK && d->divided) begin_window(d); // for whoever asks between two advances
    take_rank_times(d);
    tell(d);
    return status == CAL_OK && *time < asked ? CAL_INTERRUPTED : status;
}
