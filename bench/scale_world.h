// `calder bench scale` of a world (scale_world.c).
#pragma once
#include "bench.h"

enum { CAL_SCALE_RUNS = 100 };

typedef struct cal_scale_world {
    const char *name, *lanes;
    const int* counts; // of threads
    int count, runs;   // runs: CAL_SCALE_RUNS at most
    double time;       // 0: chosen
    bool pinned, json;
} cal_scale_world;

// Returns CAL_EXIT_DONE or complains: also where a row ends in another state than the first.
int cal_bench_scale_world(cal_scale_world* scale);
