// A model on its way into a world: what belongs together, and what became of it.
#pragma once
#include "simulation/model_map.h"

// Lists are chains of numbers, ended by −1: a first one each, and for each the next.
typedef struct cal_import {
    const cal_model* model;
    cal_world* world;
    int body_count, joint_count, shape_count, actuator_count, constraint_count;
    double *q, *v;
    const double* control; // that motors start with; NULL: their own
    cal_model_map* map;
    int* order;                  // bodies, every one after its parent
    int* top;                    // a body: the root of the tree that it moves with; CAL_GROUND: it does not move
    int* system;                 // a tree's root: the first root of all trees that constraints connect it to
    int *first_body, *next_body; // of a system, parents first
    int *first_constraint, *next_constraint; // of a system
    int *first_joint, *next_joint;           // of a body
    int *first_shape, *next_shape;           // of a body; entry body_count: of the ground
    int *first_motor, *next_motor;           // of a system
    double* place;                           // a body that does not move: its position and quaternion in the world
    int *joint_number, *mesh_number;         // in the model of the system that is being made
    int* mesh_tree;                          // the system that a mesh was last added for, −1: none
    int* part_of_shape;                      // the world's body that a shape is on, −1: none
    int *first_of_part, *next_of_part;       // shapes of a body of the world
} cal_import;

// Tells the world which bodies may not touch: categories and masks, exclusions, pairs, a root link and what carries it.
cal_status cal_import_pairs(cal_import* import, cal_error* error);
