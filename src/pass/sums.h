// Adds a solver's sums up the tree, in the last inbound pass.
#pragma once
#include "pass/pass.h"

cal_kernel cal_sums_add, cal_sums_pull;
// The sums of the whole tree, after the pass.
void cal_sums_end(const cal_context* context, double* sums);
