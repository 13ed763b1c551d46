// A machine's ceiling: cores that share power, caches or a processor with others are slower together than one alone. Every
// thread evaluates a copy of the model again and again; what all of them do in the time in which all are at it counts.
#define _GNU_SOURCE
#include "copies.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

static const double SECONDS = 0.1;
enum { BATCH = 8 };

typedef struct copy {
    const cal_model* model;
    int lanes;
    atomic_int *waiting, *failed; // shared by all
    double rate;
    pthread_t thread;
} copy;

// A thread that a pinned one started would stay on its core.
static void leave_core(void) {
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all);
}

static void* run_copy(void* argument) {
    copy* own = argument;
    leave_core();
    cal_machine* machine = NULL;
    cal_plan* plan = NULL;
    cal_state* state = NULL;
    cal_status status = cal_machine_serial(own->lanes, &machine, NULL);
    if (status == CAL_OK) status = cal_plan_create(own->model, "aba", machine, &plan, NULL);
    if (status == CAL_OK) status = cal_state_create(plan, &state);
    for (int i = 0; i < 3 && status == CAL_OK; i++) status = cal_plan_execute(plan, state, NULL);
    if (status != CAL_OK) atomic_store(own->failed, 1);
    atomic_fetch_sub(own->waiting, 1);
    while (atomic_load(own->waiting) > 0) continue;
    const double started = cal_wall_seconds();
    double now = started, count = 0;
    for (; status == CAL_OK && now < started + SECONDS; now = cal_wall_seconds(), count += BATCH)
        for (int i = 0; i < BATCH && status == CAL_OK; i++) status = cal_plan_execute(plan, state, NULL);
    own->rate = now > started ? count / (now - started) : 0;
    cal_state_destroy(state);
    cal_plan_destroy(plan);
    cal_machine_destroy(machine);
    return NULL;
}

double cal_copies_rate(const cal_model* model, int lanes, int count) {
    copy* copies = calloc((size_t)count, sizeof *copies);
    if (!copies) return 0;
    atomic_int waiting = count, failed = 0;
    int started = 0;
    for (; started < count; started++) {
        copies[started] = (copy){.model = model, .lanes = lanes, .waiting = &waiting, .failed = &failed};
        if (pthread_create(&copies[started].thread, NULL, run_copy, &copies[started]) != 0) break;
    }
    if (started < count) {
        atomic_store(&failed, 1);
        atomic_fetch_sub(&waiting, count - started);
    }
    double rate = 0;
    for (int i = 0; i < started; i++) {
        pthread_join(copies[i].thread, NULL);
        rate += copies[i].rate;
    }
    free(copies);
    return atomic_load(&failed) ? 0 : rate;
}

double cal_copies_crowding(const cal_model* model, int lanes, int count) {
    const double alone = cal_copies_rate(model, lanes, 1), together = cal_copies_rate(model, lanes, count);
    return together > 0 ? count * alone / together : 0;
}
