// Figure 3 of Bicchi's paper, for `calder bench rps --figure 3`: two intervals of a run of four processors from close up.
#pragma once
#include <calder/calder.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct cal_rps_runs {
    const cal_model* model;
    const char* model_name;
    cal_machine* machine;
    const char *plot, *stabilize;
    double radius; // times the radii of the perturbations
    int interval;
    uint64_t seed;
    bool json;
} cal_rps_runs;

// Runs, prints and draws. Returns CAL_EXIT_DONE or complains.
int cal_bench_rps_runs(const cal_rps_runs* runs);
