// Which constraints meet, and in which order they are eliminated: the parts of cal_constraints that only depend on the model,
// and the rows that follow from who is active.
#pragma once
#include "constraint/constraint.h"

cal_status cal_order_create(cal_constraints* set); // what it made is freed by cal_order_destroy also after a failure
void cal_order_destroy(cal_constraints* set);
// Numbers the rows of the active constraints and draws the triangle's skyline. Takes no memory.
void cal_order_rows(cal_constraints* set);
