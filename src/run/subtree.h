// Which bodies hang on a body.
#pragma once
#include "calder/calder.h"

// Marks every body: 1 in the subtree of `body`, itself included, 2 not. Returns the subtree's mass.
double cal_mark_subtree(const cal_model* model, int body, uint8_t* member);
