// The one-lane sine and cosine for those who build models.
#include "model/angle.h"
#define CAL_LANES 1
#include "math/lanes.h"
#include <float.h>

// Every sum and product of the library is that of doubles, and has their bits.
_Static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 1,
               "doubles are computed with more bits than they have: on i686 compile with -msse2 -mfpmath=sse");

void cal_sine_cosine(double angle, double* sine, double* cosine) { lane_sincos(angle, sine, cosine); }

void cal_axis_quaternion(const double axis[3], double angle, double out[4]) {
    double sine;
    cal_sine_cosine(0.5 * angle, &sine, &out[0]);
    for (int i = 0; i < 3; i++) out[i + 1] = sine * axis[i];
}
