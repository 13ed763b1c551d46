// Changes from outside, at the committed time.
#pragma once
#include "simulation/world.h"

// A new motion of whatever is in charge of a body begins at the world's time; the caller changes its numbers
// (cal_body_numbers) and ends the change.
cal_status cal_change_begin(cal_world* world, int body, int* component, cal_error* error);
cal_status cal_change_end(cal_world* world, int component, cal_error* error);
