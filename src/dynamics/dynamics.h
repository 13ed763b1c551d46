// What answers questions about a model's dynamics has: each part is made when it is first asked for.
#pragma once
#include "machine/machine.h"
#include "pass/coupled_force.h"
#include "pass/dynamics_slopes.h"

typedef enum algorithm { FORWARD, INVERSE, MASS, KINEMATICS, ENERGY, ALGORITHMS } algorithm;

struct cal_dynamics {
    const cal_model* model;
    cal_machine* machine;
    cal_plan* plans[ALGORITHMS];
    cal_state* states[ALGORITHMS];
    double *zeros, *control;     // v_count; the motors' start controls, or activations
    cal_dynamics_slopes* slopes; // of derivatives
    cal_coupled* coupled;        // of derivatives, where forces depend on several joints
};
