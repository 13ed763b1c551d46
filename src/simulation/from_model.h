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
    int *first_tendon, *next_tendon;         // of a system
    int* tendon_number;                      // in the model of the system that is being made
    double* place;                           // a body that does not move: its position and quaternion in the world
    int *joint_number, *mesh_number;         // in the model of the system that is being made
    int* mesh_tree;                          // the system that a mesh was last added for, −1: none
    int* part_of_shape;                      // the world's body that a shape is on, −1: none
    int *first_of_part, *next_of_part;       // shapes of a body of the world
} cal_import;

// Tells the world which bodies may not touch: categories and masks, exclusions, pairs, a root link and what carries it.
cal_status cal_import_pairs(cal_import* import, cal_error* error);
// What carries a place of the model: the body, or CAL_GROUND where it does not move; position and quaternion become the world's then.
int cal_import_settle(const cal_import* import, int body, double position[3], double quaternion[4]);
// Trees that two bodies are in are one system; either may be CAL_GROUND.
void cal_import_unite(cal_import* import, int body_a, int body_b);

// --- Tendons, and what acts on bodies (from_model_tendons.c) -----------------------------------------------------------------

// Trees that a tendon connects are one system.
void cal_import_unite_tendons(cal_import* import);
// Once systems are known: the tendons of each, and its motors. One that moves nothing belongs to none.
void cal_import_sort_tendons(cal_import* import);
// The system that a motor belongs to, −1: none.
int cal_import_motor_system(const cal_import* import, int motor);
// Bodies and frames of a motor, from the numbers of the whole model to those of its system.
void cal_import_place_motor(const cal_import* import, const int* body_number, cal_actuator_def* def);
// Copies the tendons of a system into the model that is being made; false: no memory.
bool cal_import_copy_tendons(cal_import* import, int system, const int* body_number, cal_builder* builder);
// Whether anything but gravity acts on the bodies of a tree that flies: a motor, a medium, what carries weight.
bool cal_import_acts_on(const cal_import* import, int tree);
// Copies the medium and the drags of a system; false: no memory.
bool cal_import_copy_drags(cal_import* import, int system, const int* body_number, cal_builder* builder);
