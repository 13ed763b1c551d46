// A machine's ceiling: cores that share power, caches or a processor with others are slower together than one alone. Every
// thread evaluates a copy of the model again and again; what all of them do in the time in which all are at it counts.
//
// Who shares one model's work waits for the slowest core in every evaluation, and that is another one from moment to moment. So copies can
// also meet after each evaluation.
#define _GNU_SOURCE
#include "copies.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

static const double SECONDS = 0.1;
enum { BATCH = 8, SPINS_BEFORE_YIELD = 20000 };

// What all copies share.
typedef struct gathering {
    const cal_model* model;
    int lanes, count;
    bool meets; // after each evaluation
    atomic_int waiting, failed;
    atomic_uint met, last; // who has come to a meeting, in all; the number of the last one, 0: not known yet
} gathering;

typedef struct copy {
    gathering* all;
    int index;
    double rate;
    pthread_t thread;
} copy;

// A thread that a pinned one started would stay on its core.
static void leave_core(void) {
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all);
}

static cal_status run_free(const cal_plan* plan, cal_state* state, double until, double* count) {
    cal_status status = CAL_OK;
    for (; status == CAL_OK && cal_wall_seconds() < until; *count += BATCH)
        for (int i = 0; i < BATCH && status == CAL_OK; i++) status = cal_plan_execute(plan, state, NULL);
    return status;
}

// The first one says which meeting is the last, before it comes there.
static cal_status run_meeting(copy* own, const cal_plan* plan, cal_state* state, double until, double* count) {
    gathering* all = own->all;
    cal_status status = CAL_OK;
    for (unsigned round = 1; atomic_load(&all->last) != round - 1 || round == 1; round++, ++*count) {
        if (status == CAL_OK) status = cal_plan_execute(plan, state, NULL);
        if (own->index == 0 && cal_wall_seconds() >= until) atomic_store(&all->last, round);
        atomic_fetch_add(&all->met, 1);
        for (int spins = 0; atomic_load(&all->met) < round * (unsigned)all->count; spins++)
            if (spins >= SPINS_BEFORE_YIELD) sched_yield();
    }
    return status;
}

static void* run_copy(void* argument) {
    copy* own = argument;
    gathering* all = own->all;
    leave_core();
    cal_machine* machine = NULL;
    cal_plan* plan = NULL;
    cal_state* state = NULL;
    cal_status status = cal_machine_serial(all->lanes, &machine, NULL);
    if (status == CAL_OK) status = cal_plan_create(all->model, "aba", machine, &plan, NULL);
    if (status == CAL_OK) status = cal_state_create(plan, &state);
    for (int i = 0; i < 3 && status == CAL_OK; i++) status = cal_plan_execute(plan, state, NULL);
    if (status != CAL_OK) atomic_store(&all->failed, 1);
    atomic_fetch_sub(&all->waiting, 1);
    while (atomic_load(&all->waiting) > 0) continue;
    const double started = cal_wall_seconds();
    double count = 0;
    if (!atomic_load(&all->failed))
        status = all->meets ? run_meeting(own, plan, state, started + SECONDS, &count)
                            : run_free(plan, state, started + SECONDS, &count);
    if (status != CAL_OK) atomic_store(&all->failed, 1);
    const double now = cal_wall_seconds();
    own->rate = now > started ? count / (now - started) : 0;
    cal_state_destroy(state);
    cal_plan_destroy(plan);
    cal_machine_destroy(machine);
    return NULL;
}

static double find_rate(const cal_model* model, int lanes, int count, bool meets) {
    copy* copies = calloc((size_t)count, sizeof *copies);
    if (!copies) return 0;
    gathering all = {.model = model, .lanes = lanes, .count = count, .meets = meets, .waiting = count};
    int started = 0;
    for (; started < count; started++) {
        copies[started] = (copy){.all = &all, .index = started};
        if (pthread_create(&copies[started].thread, NULL, run_copy, &copies[started]) != 0) break;
    }
    if (started < count) {
        atomic_store(&all.failed, 1);
        atomic_fetch_sub(&all.waiting, count - started);
    }
    double rate = 0;
    for (int i = 0; i < started; i++) {
        pthread_join(copies[i].thread, NULL);
        rate += copies[i].rate;
    }
    free(copies);
    return atomic_load(&all.failed) ? 0 : rate;
}

double cal_copies_rate(const cal_model* model, int lanes, int count) { return find_rate(model, lanes, count, false); }

double cal_copies_crowding(const cal_model* model, int lanes, int count) {
    const double alone = find_rate(model, lanes, 1, false), together = find_rate(model, lanes, count, true);
    return together > 0 ? count * alone / together : 0;
}
