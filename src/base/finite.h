// Whether numbers are neither infinite nor NaN.
#pragma once
#include <math.h>
#include <stdbool.h>

static inline bool cal_all_finite(const double* values, int count) {
    for (int i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}
