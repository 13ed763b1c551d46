// Whether numbers are neither infinite nor NaN, and how large they are.
#pragma once
#include "base/per_lane.h"
#include <math.h>
#include <stdbool.h>

enum { CAL_FINITE_LANES = 8 }; // side by side: none waits for the one before

CAL_DEVICE static inline bool cal_all_finite(const double* values, int count) {
    double sum[CAL_FINITE_LANES] = {0.0}; // of zeros, unless something is not finite
    int i = 0;
    for (; i + CAL_FINITE_LANES <= count; i += CAL_FINITE_LANES)
        for (int l = 0; l < CAL_FINITE_LANES; l++) sum[l] += 0.0 * values[i + l];
    for (int l = 0; i < count; i++, l++) sum[l] += 0.0 * values[i];
    for (int l = 1; l < CAL_FINITE_LANES; l++) sum[0] += sum[l];
    return sum[0] == 0.0;
}

// The largest size; what is not a number does not count.
CAL_DEVICE static inline double cal_largest_size(const double* values, int count) {
    double most[CAL_FINITE_LANES] = {0.0};
    int i = 0;
    for (; i + CAL_FINITE_LANES <= count; i += CAL_FINITE_LANES)
        for (int l = 0; l < CAL_FINITE_LANES; l++) {
            const double size = fabs(values[i + l]);
            most[l] = size > most[l] ? size : most[l];
        }
    for (int l = 0; i < count; i++, l++)
        if (fabs(values[i]) > most[l]) most[l] = fabs(values[i]);
    for (int l = 1; l < CAL_FINITE_LANES; l++)
        if (most[l] > most[0]) most[0] = most[l];
    return most[0];
}

// The larger one of two sizes; what is not a number counts as infinite, so that a test of it fails instead of passing.
static inline double cal_larger(double a, double b) { return b <= a ? a : isnan(b) ? (double)INFINITY : b; }
