// Which shapes of a model may touch, and with which friction. Everything that looks for contacts asks here.
#pragma once
#include "model/model.h"

// Whether a model allows two of its shapes to touch (touch.c says by which rules).
bool cal_model_shapes_may_touch(const cal_model* model, int shape_a, int shape_b);

// Whether two shapes would touch by themselves, whatever carries them: both collide, and one's category has a bit of the other's
// mask.
bool cal_shapes_match(const cal_shape_def* a, const cal_shape_def* b);

// Coulomb's coefficient of two shapes that no pair lists: of the one with the higher priority, or the larger one.
double cal_shapes_friction(const cal_shape_def* a, const cal_shape_def* b);
