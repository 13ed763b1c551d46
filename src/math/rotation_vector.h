// The rotation vector (axis times angle, at most π) of a quaternion, with an arc tangent of our own so that its bits are the
// same everywhere.
#pragma once
#include "base/per_lane.h"
#include <math.h>

// atan(x) for 0 ≤ x ≤ 1: reduced to |x| ≤ tan(π/16) by two known angles, then the Taylor series; good to a few units in the
// last place.
CAL_DEVICE static inline double cal_arctangent(double x) {
    const double eighth = 0.41421356237309503, sixteenth = 0.1989123673796580; // tan π/8, tan π/16
    double offset = 0.0;
    if (x > 0.66817863791929890) { // tan 3π/16
        offset = 0.78539816339744828;
        x = (x - 1.0) / (1.0 + x);
    } else if (x > sixteenth) {
        offset = 0.39269908169872414;
        x = (x - eighth) / (1.0 + eighth * x);
    }
    const double z = x * x;
    double sum = 1.0 / 23.0;
    for (int n = 21; n >= 1; n -= 2) sum = 1.0 / n - z * sum;
    return offset + x * sum;
}

CAL_DEVICE static inline void cal_rotation_vector(const double q[4], double out[3]) {
    const double sign = q[0] < 0.0 ? -1.0 : 1.0, w = sign * q[0];
    const double s = sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    double scale = 0.0;
    if (s > 0.0) {
        const double half = s <= w ? cal_arctangent(s / w) : 1.5707963267948966 - cal_arctangent(w / s);
        scale = sign * 2.0 * half / s;
    }
    for (int i = 0; i < 3; i++) out[i] = scale * q[i + 1];
}
