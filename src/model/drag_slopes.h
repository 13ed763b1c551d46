// How much the forces of a medium fall with the velocity of a body in it (pass/drag.c has the forces).
#pragma once
#include "model/model.h"

// A symmetric matrix of a body, rows of its blocks: by how much torque and force about the origin of some axes fall with the angular velocity and
// with the velocity of that origin,
//
//     torque   turning ω + coupling v        force   couplingᵀ ω + moving v
//
// None of its eigenvalues is below zero.
typedef struct cal_resistance {
    double turning[9], coupling[9], moving[9];
} cal_resistance;

// In the drag's own axes. velocity: angular and linear, relative to the medium. What is left out does not change how fast anything dies away: lift and
// added mass, which take no energy, and what a turn of the velocity does to the area that an ellipsoid shows, which is across it.
void cal_drag_slopes(const cal_drag_def* drag, const cal_medium* medium, const double velocity[6], cal_resistance* out);
// Adds it to that of the node, in the node's axes, about its origin.
void cal_drag_add_slopes(const cal_model* model, const cal_drag_def* drag, const double velocity[6],
                         cal_resistance* node);
// The same in axes of which R has the node's as its columns.
void cal_resistance_turn(const cal_resistance* own, const double R[9], cal_resistance* out);
// What all drags of a model, whose medium has its wind and whose bodies are at rest, do to the six degrees of freedom of each node, in its
// axes: node_count × 6 numbers, turns first, to be freed with cal_free. NULL: no memory.
double* cal_drag_damping_of_nodes(const cal_model* model);
