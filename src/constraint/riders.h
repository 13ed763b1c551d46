// Rows that go with an execution of aba (pass/riding.h): those of a set of one constraint, which acts on one chain.
#pragma once
#include "constraint/constraint_matrix.h"

// Room for what executions leave at joints.
bool cal_riders_create(cal_constraints* set);
void cal_riders_destroy(cal_constraints* set);
