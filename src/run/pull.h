// A hand on a body: a damped spring from a point of the body to a target in the world.
#pragma once
#include "run/path.h"

typedef struct cal_pull {
    int body; // CAL_NONE: nothing is pulled
    cal_path* path;
    double point[3];                 // of the body, body's frame
    double target[3];                // where the hand is
    double previous[3];              // where it came from
    double moved;                    // when it began to move to target, simulated s
    double stiffness, damping, most; // N/m, N s/m, N
} cal_pull;

// Takes hold of a body at a point (body's frame), as it is at q. On an error nothing is held.
cal_status cal_pull_start(cal_pull* pull, const cal_model* model, int body, const double point[3], double time,
                          const double* q, cal_error* error);
void cal_pull_move(cal_pull* pull, const double target[3], double time);
void cal_pull_end(cal_pull* pull);
// The force on the body, N, world's axes, and where it acts (may be NULL).
void cal_pull_force(const cal_pull* pull, double time, const double* q, const double* v, double force[3],
                    double position[3]);
