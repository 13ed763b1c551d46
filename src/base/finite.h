// Whether numbers are neither infinite nor NaN.
#pragma once
#include <math.h>
#include <stdbool.h>

static inline bool cal_all_finite(const double* values, int count) {
    for (int i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

// The larger one of two sizes; what is not a number counts as infinite, so that a test of it fails instead of passing.
static inline double cal_larger(double a, double b) { return b <= a ? a : isnan(b) ? (double)INFINITY : b; }
