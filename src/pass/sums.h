// Adds a solver's sums up the tree, in the last inbound pass.
#pragma once
#include "base/parts.h"
#include "pass/pass.h"

cal_kernel cal_sums_add, cal_sums_pull;
// How many there are: the solver's own, and the powers.
CAL_FOR_PARTS int cal_sums_count(const cal_solver_ops* ops, const cal_solver_context* solver);
// The sums of the whole tree, after the pass.
void cal_sums_end(const cal_context* context, double* sums);
