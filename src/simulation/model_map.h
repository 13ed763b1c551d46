// Where the parts of a model are in a world that was made of it.
#pragma once
#include "calder/calder_world.h"

// A part of a multibody: which one, and its number there.
typedef struct cal_mapped {
    int multibody; // −1: none
    int number;
} cal_mapped;

typedef struct cal_model_map {
    int* body;         // of each body: the world's body that it moves with, −1: it does not move
    double* place;     // 7 a body: in the frame of that body; in the world where it does not move
    cal_mapped* joint; // of each joint; multibody −1: `number` is a free body of the world
    cal_mapped* motor; // of each actuator
    cal_mapped* constraint;
    double* numbers; // room for q and v of a multibody, so that looking at what is there takes no memory
} cal_model_map;

cal_status cal_model_map_create(const cal_model* model, cal_model_map** out);
void cal_model_map_destroy(cal_model_map* map); // NULL is allowed

// What a world begins with; NULL: the model's own start.
typedef struct cal_start {
    double time;
    const double *q, *v, *control;
} cal_start;
// As cal_world_from_model, from another start, with the map of it, which is the caller's.
cal_status cal_world_from_start(const cal_model* model, const cal_world_def* def, const cal_start* start,
                                cal_world** out, cal_model_map** map, cal_error* error);

// The state of the whole model at the world's time, in the order of its q and v; each may be NULL.
cal_status cal_map_state(cal_world* world, const cal_model* model, const cal_model_map* map, double* q, double* v);
// Positions and quaternions of all its bodies.
cal_status cal_map_poses(const cal_world* world, const cal_model* model, const cal_model_map* map, double* poses);
// Activations from the world's time on, a number per actuator.
cal_status cal_map_activate(cal_world* world, const cal_model* model, const cal_model_map* map,
                            const double* activations, cal_error* error);
// Joint forces and controls from the world's time on; each may be NULL: kept.
cal_status cal_map_drive(cal_world* world, const cal_model* model, const cal_model_map* map, const double* tau,
                         const double* control, cal_error* error);
