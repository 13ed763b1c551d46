// How the forces of joints, motors and what is coupled change with positions, velocities and controls: derivatives, where joint_law.h's
// slopes are what an implicit step takes.
#pragma once
#include "pass/coupled_force.h"

// v_count × v_count, and v_count × actuator_count; rows, the user's order; what is found is added. Each may be NULL.
typedef struct cal_force_slopes {
    double *by_q, *by_v, *by_control;
} cal_force_slopes;

// Of joints and their own motors, without differences.
void cal_joint_force_slopes(const cal_model* model, const double* q, const double* v, const double* control,
                            const cal_force_slopes* out);
// Of what depends on several joints at once (coupled_force.h): differences of fourth order. False: no memory.
bool cal_coupled_force_slopes(cal_coupled* coupled, const double* q, const double* v, const double* control,
                              const cal_force_slopes* out);
