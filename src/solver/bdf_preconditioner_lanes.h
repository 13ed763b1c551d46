// What the preconditioner's kernels of all widths share with the rest.
#pragma once
#include "pass/variants.h"
#include "solver/solver.h"

// What an execution is given, in a solver's context: the vectors and the number that comes down.
enum { CAL_STIFF_IN, CAL_STIFF_OUT, CAL_STIFF_VECTORS }; // y, or r and z
enum { CAL_STIFF_GAMMA, CAL_STIFF_DOWN };

// What a node keeps of the factors is found by its place in y-shaped vectors: so many doubles for each component of y are
// enough for every kind of joint.
enum { CAL_STIFF_RECORD = 9 };

// Takes y over, and finds the dampers (context->tau) and springs (context->force) of one column.
void cal_stiff_prepare(const cal_context* context, const cal_column* column);

CAL_DECLARE_VARIANTS(cal_stiff_place);
CAL_DECLARE_VARIANTS(cal_stiff_factor);
CAL_DECLARE_VARIANTS(cal_stiff_turn);
CAL_DECLARE_VARIANTS(cal_stiff_force);
CAL_DECLARE_VARIANTS(cal_stiff_pull);
CAL_DECLARE_VARIANTS(cal_stiff_accelerate);
