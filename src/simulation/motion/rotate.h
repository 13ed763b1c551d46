// Rotations at a constant rate, with a sine and cosine that have the same bits everywhere.
#pragma once
#define CAL_LANES 1
#include "math/lanes.h"
#undef CAL_LANES
#include "math/vector.h"

static inline void cal_sine_cosine(double x, double* sine, double* cosine) { cal_lane_sincos_1(x, sine, cosine); }

// out = q ∘ exp(w t / 2): a frame that turns at the rate w in its own axes. In place is allowed.
static inline void cal_quaternion_turn(const double q[4], const double w[3], double t, double out[4]) {
    const double rate = sqrt(cal_dot3(w, w));
    double sine = 0.0, cosine = 1.0;
    if (rate > 0.0) cal_sine_cosine(0.5 * rate * t, &sine, &cosine);
    const double scale = rate > 0.0 ? sine / rate : 0.0;
    const double step[4] = {cosine, scale * w[0], scale * w[1], scale * w[2]};
    cal_quaternion_multiply(q, step, out);
    cal_quaternion_normalize(out);
}
