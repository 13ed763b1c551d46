// Adds a solver's sums up the tree, in the last inbound pass.
#pragma once
#include "base/per_lane.h"
#include "pass/pass.h"

// Two shares of a sum, or of a maximum: there what is no number wins, so that control sees it.
CAL_DEVICE static inline double cal_join_sums(double a, double b, bool largest) {
    return largest ? (a > b || a != a ? a : b) : a + b;
}

cal_kernel cal_sums_add, cal_sums_pull;
// The sums of the whole tree, after the pass.
void cal_sums_end(const cal_context* context, double* sums);
