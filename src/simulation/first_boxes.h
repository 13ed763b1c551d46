// First boxes of what is new, and the pairs that they make: of many bodies by all processors of the world's machine.
#pragma once
#include "base/error.h"
#include "calder/calder_world.h"

// Gives everything that is new and moves, or is driven, an event at the end of its box, its box, and pairs with what has one: the pairs, and their order, that
// come of one body after the other. Nobody looks ahead: for a world that places what is new.
cal_status cal_world_first_boxes(cal_world* world, cal_error* error);
