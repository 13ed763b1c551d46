// What the forces in the joints do, for the account of energy: one number of each kind per lane.
#pragma once
#include "pass/pass.h"
#include "pass/solver_ops.h"

// Writes the powers of a block's lanes, CAL_POWERS × W, after the accelerations are known. Blocks of a column come last one first;
// extra: one past the last of the column's rare forces that were not counted yet, at first the end of its list.
void cal_joint_powers_of_block(const cal_context* context, const cal_column* column, int block, int* extra,
                               double* powers);
