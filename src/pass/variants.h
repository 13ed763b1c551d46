// What the tables of walked programs have in common. A kernel's names at every width, in the order of cal_pass.kernels:
// *_lanes.c is compiled once for each.
#pragma once
#include "pass/sums.h"

#ifdef CAL_PORTABLE_LANES
#define CAL_VARIANTS_OF(name)                                                                                          \
    { name##_w1, name##_w2, name##_w4, name##_w8, name##_w1 }
#else
#define CAL_VARIANTS_OF(name)                                                                                          \
    { name##_w1, name##_w2, name##_w4, name##_w8, name##_w1_fma }
#endif
#define CAL_DECLARE_VARIANTS(name) cal_kernel name##_w1, name##_w1_fma, name##_w2, name##_w4, name##_w8

// The last pass of every program that a solver can ride in.
#define CAL_SUMS_PASS                                                                                                  \
    {                                                                                                                  \
        .name = "solver.sums", .direction = CAL_INBOUND,                                                               \
        .kernels = {cal_sums_add, cal_sums_add, cal_sums_add, cal_sums_add, cal_sums_add},                             \
        .pulls = {cal_sums_pull, cal_sums_pull, cal_sums_pull, cal_sums_pull, cal_sums_pull}, .for_solver = true,      \
        .crosses = 5                                                                                                   \
    }
