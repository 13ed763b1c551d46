// What a world looks like.
#pragma once
#include "calder/calder_world.h"
#include "drawing/drawing.h"

// The visible shapes of a world that was advanced to its start; those of fixed bodies belong to the ground. It keeps nothing
// of the world. up is z.
cal_status cal_world_drawing_create(const cal_world* world, cal_drawing** out, cal_error* error);
