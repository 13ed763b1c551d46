// Work that processors share (worker.h).
#include "plan/worker.h"
#include "base/memory.h"
#include "plan/machine_ops.h"
#include <stdalign.h>

// In cache lines of its own: what the others read, now and the last time, and where theirs is.
struct cal_shown {
    alignas(64) double numbers[2][CAL_WORKER_NUMBERS];
    cal_machine* machine;
    const double** all;
    int turn;
};

cal_status cal_workers_create(cal_machine* machine, cal_workers* out) {
    const bool shares = machine && machine->ops->paced && machine->processors > 1;
    *out = (cal_workers){.machine = machine, .count = shares ? machine->processors : 1};
    if (!shares) return CAL_OK;
    const size_t count = (size_t)out->count;
    out->shown = cal_allocate(count, sizeof *out->shown);
    out->all = cal_allocate(count * count, sizeof *out->all);
    if (!out->shown || !out->all) {
        cal_workers_destroy(out);
        return CAL_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        out->shown[i] = (struct cal_shown){.machine = machine, .all = out->all + i * count};
    return CAL_OK;
}

void cal_workers_destroy(cal_workers* workers) {
    cal_free(workers->shown);
    cal_free((void*)workers->all);
    *workers = (cal_workers){.count = 1};
}

typedef struct shared_work {
    cal_workers* workers;
    cal_work* work;
    void* argument;
} shared_work;

static void run_alone(cal_work* work, void* argument) {
    cal_worker alone = CAL_ALONE_WORKER;
    work(argument, &alone);
}

static void run_part(void* argument, int processor) {
    const shared_work* shared = argument;
    if (processor == CAL_EVERY_PROCESSOR) {
        run_alone(shared->work, shared->argument);
        return;
    }
    cal_worker worker = {processor, shared->workers->count, &shared->workers->shown[processor]};
    shared->work(shared->argument, &worker);
}

void cal_workers_run(cal_workers* workers, cal_pace* pace, cal_work* work, void* argument) {
    shared_work shared = {workers, work, argument};
    if (workers->count == 1)
        run_alone(work, argument);
    else
        workers->machine->ops->paced(workers->machine, run_part, &shared, workers->count, pace);
}

void cal_worker_show(const cal_worker* worker, double* numbers, int count) {
    struct cal_shown* own = worker->shown;
    double* mine = own->numbers[own->turn];
    own->turn = 1 - own->turn;
    for (int k = 0; k < count; k++) mine[k] = numbers[k];
    // Of one machine all processors are there: it cannot fail.
    (void)own->machine->ops->gather(own->machine, worker->index, mine, count, NULL, own->all);
    for (int p = 0; p < worker->count; p++)
        for (int k = 0; k < count; k++) {
            const double x = own->all[p][k];
            if (x != x || x > numbers[k]) numbers[k] = x;
        }
}
