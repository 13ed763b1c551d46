// Bicchi's five-bar: two arms of two rods each, on the ground side by side, hold hands. Two degrees of freedom.
//
//          P
//         / \           The start is symmetric: both upper arms point outwards by `start` from the vertical, and the hands meet
//        /   \          above.
//       ·     ·
//        \   /
//         A B
#include "model/angle.h"
#include "scenes/linkage.h"

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    NUMBER(base, 0.5, 0, 1000, "from A to B, m")                                                                       \
    NUMBER(upper, 1, 0.001, 1000, "length of the rods on the ground, m")                                               \
    NUMBER(lower, 1, 0.001, 1000, "length of the rods that meet, m")                                                   \
    NUMBER(mass, 1, 0.000001, 1000000, "of a rod, kg")                                                                 \
    NUMBER(start, 0.5, -3, 3, "start angle of the upper arms from the vertical, rad")                                  \
    NUMBER(gravity, 9.81, 0, 1000, "along -y, m/s^2")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    const double upper = values[at_upper], lower = values[at_lower];
    const double to_elbow[3] = {upper, 0.0, 0.0}, to_hand[3] = {lower, 0.0, 0.0};
    double sine, cosine;
    cal_sine_cosine(values[at_start], &sine, &cosine);
    const double out = 0.5 * values[at_base] + upper * sine; // from the middle to the elbow
    if (fabs(out) > lower)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "fivebar: at start=%g the elbows are %g from the middle, more than lower=%g reaches",
                        values[at_start], fabs(out), lower);
    const double rise = sqrt(lower * lower - out * out);
    cal_set_planar_gravity(builder, values[at_gravity]);
    int hands[2];
    for (int side = 0; side < 2; side++) {
        const double sign = side == 0 ? -1.0 : 1.0;
        cal_body_def arm = cal_default_body_def(), forearm = cal_default_body_def();
        cal_rod(&arm, to_elbow, values[at_mass]);
        cal_rod(&forearm, to_hand, values[at_mass]);
        arm.position[0] = sign * 0.5 * values[at_base];
        // Directions (cosine, sine) of the upper arm, and of the forearm seen from it.
        const double x = sign * sine, y = cosine, u = -sign * out / lower, w = rise / lower;
        cal_turn_about_z(x, y, arm.quaternion);
        cal_turn_about_z(x * u + y * w, x * w - y * u, forearm.quaternion);
        forearm.position[0] = upper;
        forearm.parent = cal_add_hinged(builder, &arm, side == 0 ? "left_arm" : "right_arm", cal_axis_z, 0.0, 0.0);
        hands[side] =
            cal_add_hinged(builder, &forearm, side == 0 ? "left_forearm" : "right_forearm", cal_axis_z, 0.0, 0.0);
    }
    cal_close_loop(builder, "hands", hands[0], to_hand, hands[1], to_hand, CAL_ROW_X | CAL_ROW_Y);
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(fivebar, PARAMETERS, "two arms of two rods that hold hands (Bicchi)")
