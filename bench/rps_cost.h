// The other half of `calder bench rps`: what randomization costs, `--cost`.
#pragma once
#include "options.h"

typedef struct cal_rps_cost {
    cal_texts models;     // none: a few of different sizes
    const int* instances; // how many there are of each run
    int count;
    const char *machine, *stabilize; // NULL: as many threads as instances
    double time;
    int interval, runs;
    bool json;
} cal_rps_cost;

// Measures and prints. Returns CAL_EXIT_DONE or complains.
int cal_bench_rps_cost(const cal_rps_cost* cost);
