// Work that processors share (worker.h).
#include "plan/worker.h"
#include "base/memory.h"
#include "plan/distribution.h"
#include "plan/machine_ops.h"

cal_status cal_workers_create(cal_machine* machine, cal_workers* out) {
    const bool shares = machine && machine->ops->paced && machine->processors > 1;
    *out = (cal_workers){.machine = machine, .count = shares ? machine->processors : 1};
    if (!shares) return CAL_OK;
    const size_t count = (size_t)out->count;
    out->workers = cal_allocate(count, sizeof *out->workers);
    out->all = cal_allocate(count * count, sizeof *out->all);
    if (!out->workers || !out->all) {
        cal_workers_destroy(out);
        return CAL_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        out->workers[i] =
            (cal_worker){.index = (int)i, .count = out->count, .machine = machine, .all = out->all + i * count};
    return CAL_OK;
}

void cal_workers_destroy(cal_workers* workers) {
    cal_free(workers->workers);
    cal_free((void*)workers->all);
    *workers = (cal_workers){.count = 1};
}

typedef struct shared_work {
    cal_workers* workers;
    cal_work* work;
    void* argument;
} shared_work;

static void run_alone(cal_work* work, void* argument) {
    cal_worker alone = {.count = 1};
    work(argument, &alone);
}

static void run_part(void* argument, int processor) {
    const shared_work* shared = argument;
    if (processor == CAL_EVERY_PROCESSOR)
        run_alone(shared->work, shared->argument);
    else
        shared->work(shared->argument, &shared->workers->workers[processor]);
}

void cal_workers_run(cal_workers* workers, cal_pace* pace, cal_work* work, void* argument) {
    shared_work shared = {workers, work, argument};
    if (workers->count == 1)
        run_alone(work, argument);
    else
        workers->machine->ops->paced(workers->machine, run_part, &shared, workers->count, pace);
}

void cal_worker_show(cal_worker* worker, double* numbers, int count) {
    double* own = worker->shown[worker->turn];
    worker->turn = 1 - worker->turn;
    for (int k = 0; k < count; k++) own[k] = numbers[k];
    // Of one machine all processors are there: it cannot fail.
    (void)worker->machine->ops->gather(worker->machine, worker->index, own, count, NULL, worker->all);
    for (int p = 0; p < worker->count; p++)
        for (int k = 0; k < count; k++) {
            const double x = worker->all[p][k];
            if (x != x || x > numbers[k]) numbers[k] = x;
        }
}
