// A hand on a body: a damped spring from a point of the body to a target in the world.
#pragma once
#include "calder/calder_world.h"
#include "run/path.h"

typedef struct cal_pull {
    int body;                        // CAL_NONE: nothing is pulled
    cal_path* path;                  // NULL: of a body of a world
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
// The same of a body of a world, at the world's time.
cal_status cal_pull_start_world(cal_pull* pull, cal_world* world, int body, const double point[3], cal_error* error);
// Where there are events, a force is renewed at multiples of a time: the next one after a time.
double cal_pull_next(double time);
// The force on the body, N, world's axes, and where it acts (may be NULL).
void cal_pull_force(const cal_pull* pull, double time, const double* q, const double* v, double force[3],
                    double position[3]);
void cal_pull_world_force(const cal_pull* pull, const cal_world* world, double force[3], double position[3]);
// Lets that force act from the world's time on, in place of the one before; a pull that has ended: nothing acts any more.
cal_status cal_pull_apply(const cal_pull* pull, cal_world* world, int body, cal_error* error);
