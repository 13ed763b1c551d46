// The power of forces on bodies.
#pragma once
#include "plan/plan.h"

// The nodes between the ground and what is pushed, and their motion; zero is empty. It is made anew where other bodies are pushed.
typedef struct cal_push_paths {
    int *bodies, body_count;   // that it was made for, in the order of the pushes
    int *nodes, *above, count; // nodes, parents first; the place of each one's parent in this list, −1: the ground
    int* place;                // of each body's node in the list
    double* motions;           // of each node: rotation (9), angular and linear velocity, world's axes
} cal_push_paths;

void cal_push_paths_destroy(cal_push_paths* paths);
// ∑ F·(velocity of the point) + T·ω at q and v, the user's order.
cal_status cal_push_power(cal_push_paths* paths, const cal_model* model, const cal_outer_force* pushes, int count,
                          const double* q, const double* v, double* power);
