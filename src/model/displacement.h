// How a joint is displaced (coordinates.h). Include after math/lanes.h at width 1.
#pragma once
#include "math/vector.h"
#include "model/coordinates.h"
#include <math.h>

// q ← q ∘ exp(½ by)
CAL_DEVICE static inline void cal_displace_quaternion(double q[4], const double by[3]) {
    const double angle = sqrt(cal_dot3(by, by));
    double sine, move[4];
    cal_lane_sincos_1(0.5 * angle, &sine, &move[0]);
    for (int i = 0; i < 3; i++) move[1 + i] = angle > 0.0 ? sine / angle * by[i] : 0.0;
    cal_quaternion_multiply(q, move, q);
    cal_quaternion_normalize(q);
}

// As cal_joint_displace.
CAL_DEVICE static inline void cal_displace_joint(int kind, const double* change, double factor, double* q) {
    const int plain = cal_joint_plain(kind);
    for (int i = 0; i < plain; i++) q[i] += factor * change[i];
    if (cal_joint_quaternion(kind) < 0) return;
    const double by[3] = {factor * change[plain], factor * change[plain + 1], factor * change[plain + 2]};
    cal_displace_quaternion(q + plain, by);
}
