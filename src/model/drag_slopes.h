// How much the forces of a medium fall with the velocity of a body in it (pass/drag.c has the forces).
#pragma once
#include "model/model.h"

// velocity: angular and linear, relative to the medium, in the drag's own axes; out: the same, each component's own slope, none below zero. Drag
// with the square of a speed falls twice as fast as its quotient by the speed; lift and added mass take no energy, and are left out.
void cal_drag_slopes(const cal_drag_def* drag, const cal_medium* medium, const double velocity[6], double out[6]);
// What all drags of a model, whose medium has its wind and whose bodies are at rest, do to the six degrees of freedom of each node, in its
// axes: node_count × 6 numbers, turns first, to be freed with cal_free. NULL: no memory.
double* cal_drag_damping_of_nodes(const cal_model* model);
