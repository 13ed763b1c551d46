// What a servo does to its joint: how much its force falls.
#pragma once
#include "base/per_lane.h"
#include "model/model.h"

// How much a force falls: with velocity and with position, neither below zero.
typedef struct cal_slopes {
    double damping, stiffness;
} cal_slopes;

CAL_DEVICE static inline double cal_positive(double value) { return value > 0.0 ? value : 0.0; }

CAL_DEVICE static inline cal_slopes cal_servo_slopes(const cal_actuator_def* motor) {
    const double square = motor->gear * motor->gear;
    return (cal_slopes){.damping = cal_positive(-square * motor->bias[2]),
                        .stiffness = cal_positive(-square * motor->bias[1])};
}
