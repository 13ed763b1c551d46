// Which constraints of a set are alike, and go in lanes side by side (pass/loop_pack.h).
#pragma once
#include "constraint/constraint.h"

// Shapes, found once.
bool cal_packs_create(cal_constraints* set);
void cal_packs_destroy(cal_constraints* set);
// Packs of the constraints that hold: after rows have got their places.
void cal_packs_fill(cal_constraints* set);
