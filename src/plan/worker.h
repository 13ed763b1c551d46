// Work that the processors of a machine share where they share memory: one function, which each of them runs for a part of what there is to do, and
// in which they meet where one needs what another has made.
//
//     worker 0   rows 0 … 99     ┐ meet ┌  chain 0 ┐ meet ┌ …
//     worker 1   rows 100 … 199  ┘      └  chain 1 ┘      └ …
//
// Who writes what follows from the index alone, and nothing is summed up by who comes first: bits are those of one worker, who does all. That
// is what happens on a machine of one processor, and where it is faster (plan/pace.h).
#pragma once
#include "base/per_lane.h"
#include "plan/pace.h"
#include <calder/calder.h>
#include <stdint.h>

// One of them, as its function sees it.
enum { CAL_WORKER_NUMBERS = 4 };
struct cal_shown;
typedef struct cal_worker {
    int index, count;
    struct cal_shown* shown; // what it tells the others; NULL where it is alone
} cal_worker;
#define CAL_ALONE_WORKER                                                                                               \
    { 0, 1, NULL }
typedef void cal_work(void* argument, cal_worker* worker);

// All of a machine.
typedef struct cal_workers {
    cal_machine* machine;
    int count;
    struct cal_shown* shown;
    const double** all;
} cal_workers;

// machine NULL, or without memory that its processors share: one worker, as of zeros.
cal_status cal_workers_create(cal_machine* machine, cal_workers* out);
void cal_workers_destroy(cal_workers* workers); // its arrays; zeros are allowed
// pace: of this work.
void cal_workers_run(cal_workers* workers, cal_pace* pace, cal_work* work, void* argument);

// Where there are several: numbers become the largest of all, CAL_WORKER_NUMBERS at most, as below.
void cal_worker_show(const cal_worker* worker, double* numbers, int count);

// The first of `count` things of a worker's part; its part ends where the next one's begins.
CAL_DEVICE static inline int cal_worker_first(const cal_worker* worker, int index, int count) {
    return worker->count == 1 ? (index > 0 ? count : 0) : (int)((int64_t)count * index / worker->count);
}
// Waits until all have come here: what they have written before is there.
CAL_DEVICE static inline void cal_worker_meet(const cal_worker* worker) {
#ifndef CAL_THREAD_PER_LANE
    if (worker->count > 1) cal_worker_show(worker, NULL, 0);
#else
    (void)worker;
#endif
}
// The same, and numbers become the largest of all workers'; what is not a number counts as the largest.
CAL_DEVICE static inline void cal_worker_largest(const cal_worker* worker, double* numbers, int count) {
#ifndef CAL_THREAD_PER_LANE
    if (worker->count > 1) cal_worker_show(worker, numbers, count);
#else
    (void)worker, (void)numbers, (void)count;
#endif
}
