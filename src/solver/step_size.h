// How large a step may be: what the controls of several solvers share, on the host and on a device.
#pragma once
#include "base/per_lane.h"
#include "math/power.h"
#include "pass/solver_ops.h"
#include <float.h>

// By how much the next step is larger, after one whose error was `size` times what is allowed and grows with the given
// power of the step: 0.9 size^(−1/power), from 0.2 to 5; after a failure not above 1, and after size > 1 not above 0.9.
CAL_DEVICE static inline double cal_step_ratio(double size, int power, bool failed) {
    const double safety = 0.9, smallest = 0.2, largest = 5.0;
    const double most = size > 1.0 ? safety : failed ? 1.0 : largest;
    return fmax(smallest, fmin(safety / cal_root(size, power), most));
}

// A step as small as time can tell: four units in its last place. Where a force jumps, an error that is left in such a step cannot be
// made smaller, and is accepted.
CAL_DEVICE static inline double cal_smallest_step(double time) { return 4.0 * DBL_EPSILON * fabs(time); }

// The size of a first step (LSODE's) that changes a component by about √tolerance: norm is that of dy/dt by the
// weights.
CAL_DEVICE static inline double cal_first_step(const cal_solver_settings* settings, double norm) {
    const double tolerance = fmin(fmax(settings->relative, 100.0 * DBL_EPSILON), 1e-3), w = settings->horizon;
    const double h = 1.0 / sqrt(1.0 / (tolerance * w * w) + tolerance * norm * norm);
    return settings->largest_step > 0.0 ? fmin(h, settings->largest_step) : h;
}

// The same for a one-step method, which may begin with the size that the settings name.
CAL_DEVICE static inline double cal_first_step_named(const cal_solver_settings* settings, double norm) {
    const double h = settings->first_step;
    if (!(h > 0.0)) return cal_first_step(settings, norm);
    return settings->largest_step > 0.0 ? fmin(h, settings->largest_step) : h;
}
