// What a world would take on so many processors, and what it cannot go below: all domains run on one core, one after the other, and the processor
// time of each event is its component's.
//
// A component takes its events one after the other. So on any number of processors a window takes as long as its busiest component does, and what
// is done between runs: the critical path.
#define _POSIX_C_SOURCE 200809L
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/domain/domain.h"
#include "simulation/event/callbacks.h"
#include "simulation/event/events.h"
#include "simulation/members.h"
#include "simulation/world.h"
#include <time.h>

enum { MOST_PROCESSORS = 1024 };

double cal_processor_time(void) {
    struct timespec time;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return 0.0;
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int moving_of(const cal_world* view, const int* bodies, int count) {
    for (int i = 0; i < count; i++)
        if (view->bodies[bodies[i]].component >= 0) return view->bodies[bodies[i]].component;
    return -1;
}

int cal_price_owner(const cal_world* view, const cal_event_slot* slot) {
    switch (cal_event_kind_of(slot)) {
    case CAL_EVENT_BOX: return view->bodies[slot->owner].component;
    case CAL_EVENT_GROUP:
    case CAL_EVENT_STEP: return slot->owner;
    case CAL_EVENT_CALLBACK: {
        const cal_periodic_hook* hook = &view->periodic_hooks[slot->owner];
        return moving_of(view, hook->bodies, hook->count);
    }
    case CAL_EVENT_PAIR: break;
    }
    return moving_of(view, view->table.pairs[slot->owner].body, 2);
}

cal_status cal_price_event(cal_domains* d, int component, cal_error* error) {
    const double before = d->clock + d->spared_most_s;
    d->clock = cal_processor_time(), d->spared_most_s = 0.0;
    if (component < 0) return CAL_OK;
    if (component >= d->component_s_count) {
        const int count = d->whole->component_capacity;
        double* grown = cal_allocate((size_t)count, sizeof *grown);
        if (grown == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for the price of a world");
        for (int i = 0; i < d->component_s_count; i++) grown[i] = d->component_s[i];
        cal_free(d->component_s);
        d->component_s = grown, d->component_s_count = count;
    }
    if (d->component_s[component] == 0.0) {
        if (!cal_grow((void**)&d->timed, &d->timed_capacity, d->timed_count, sizeof *d->timed))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for the price of a world");
        d->timed[d->timed_count++] = component;
    }
    d->component_s[component] += fmax(d->clock - before, 0.0);
    return CAL_OK;
}

void cal_price_window(cal_domains* d) {
    double most = 0.0;
    for (int i = 0; i < d->timed_count; i++) {
        most = fmax(most, d->component_s[d->timed[i]]);
        d->component_s[d->timed[i]] = 0.0;
    }
    d->timed_count = 0;
    d->largest_s += most;
}

cal_status cal_world_price(cal_world* world, int processors, double time, cal_world_report* out, cal_error* error) {
    if (processors < 1 || processors > MOST_PROCESSORS)
        return cal_fail(error, CAL_BAD_ARGUMENT, "a world is priced for 1 to %d processors, not %d",
                        (int)MOST_PROCESSORS, processors);
    if (world->def.loop != CAL_TIMEWARP)
        return cal_fail(error, CAL_NOT_AVAILABLE, "only the timewarp loop is divided among processors");
    cal_status status = cal_check_changeable(world, error);
    if (status == CAL_OK) status = cal_world_advance(world, world->time, error); // what is new is taken in
    const int count = status == CAL_OK ? cal_domains_worth(world, processors) : 0;
    if (status == CAL_OK) status = cal_world_divide_among(world, count > 1 ? count : 1, CAL_TURNS, error);
    if (status != CAL_OK) return status;
    cal_domains* d = world->domains;
    d->workers = 1;
    d->ranks = NULL; // every rank prices for itself
    d->priced = true;
    if (count < 2) d->alone_until = (double)INFINITY;
    const double before = cal_processor_time();
    status = cal_world_advance(world, time, error);
    const double spent = cal_processor_time() - before;
    const cal_status known = status == CAL_OK ? cal_world_get_report(world, out) : CAL_OK;
    if (known != CAL_OK) status = cal_fail(error, known, "what a world did: %s", cal_status_text(known));
    if (count < 2) {
        out->domains_s = out->busiest_s = spent;
        out->between_s = out->largest_s = 0.0;
        out->windows = out->runs = out->handed_over = 0;
    }
    if (count < 2 || !cal_domains_pay(d)) out->domains = out->processors = 0;
    if (status == CAL_OK) status = cal_world_gather(world, error);
    cal_domains_destroy(world);
    return status;
}
