// The loops that take events in their order (timewarp.c), and the two that it is compared with (retroactive.c, conservative.c).
#pragma once
#include "base/error.h"
#include "calder/calder_world.h"

cal_status cal_advance_timewarp(cal_world* world, double time, cal_error* error);
cal_status cal_advance_retroactive(cal_world* world, double time, cal_error* error);
cal_status cal_advance_conservative(cal_world* world, double time, cal_error* error);
