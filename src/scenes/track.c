// An endless track of shoes, as of a crawler without its wheels: two straights and two bends, hinge by hinge. It runs along itself. A
// chain that can be bent freely keeps any shape while it does so, under the tension (mass per length) · speed².
//
// The track is symmetric about its middle: its second half is the first one, turned by π. So it is closed, and it stays closed when every
// shoe turns towards the next one, θ̇ᵢ = speed (θᵢ₊₁ − θᵢ₋₁) / 2 lengths.
#include "base/error.h"
#include "model/angle.h"
#include "scenes/linkage.h"

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    INTEGER(n, 40, 8, 10000000, "shoes, an even number")                                                               \
    NUMBER(length, 0.15, 0.001, 1000, "of a shoe, m")                                                                  \
    NUMBER(radius, 0.02, 0, 1000, "of a shoe, m")                                                                      \
    NUMBER(mass, 5, 0.000001, 1000000, "of a shoe, kg")                                                                \
    NUMBER(speed, 3, -1000, 1000, "along itself at the start, m/s")                                                    \
    NUMBER(gravity, 0, 0, 1000, "along -y, m/s^2")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

// By what the track turns from shoe i to the next one: half of a half's shoes are in its bend.
static double turn_after(int i, int count) {
    const int half = count / 2, bend = half / 2;
    return i % half >= half - bend ? CAL_PI / bend : 0.0;
}

// θ̇ of shoe i.
static double rate_of(const double* values, int i) {
    const int count = (int)values[at_n];
    return values[at_speed] * (turn_after((i + count - 1) % count, count) + turn_after(i, count)) /
           (2.0 * values[at_length]);
}

// The velocity of the first shoe's beginning with which the middle of the track rests: half a track away it is the opposite.
static void find_velocity(const double* values, double out[2]) {
    const int count = (int)values[at_n];
    double angle = 0.0;
    out[0] = out[1] = 0.0;
    for (int i = 0; i < count / 2; i++) {
        double sine, cosine;
        cal_sine_cosine(angle, &sine, &cosine);
        const double half = 0.5 * values[at_length] * rate_of(values, i);
        out[0] += half * sine, out[1] -= half * cosine;
        angle += turn_after(i, count);
    }
}

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    const int count = (int)values[at_n];
    if (count % 2 != 0) return cal_fail(error, CAL_BAD_ARGUMENT, "track: n=%d is odd: its halves are alike", count);
    const double origin[3] = {0.0, 0.0, 0.0}, end[3] = {values[at_length], 0.0, 0.0};
    cal_body_def shoe = cal_default_body_def();
    cal_shape_capsule(&shoe, origin, end, values[at_radius], values[at_mass]);
    cal_joint_def hinge = cal_default_joint_def(), slide = cal_default_joint_def();
    slide.kind = CAL_PRISMATIC;
    cal_set_planar_gravity(builder, values[at_gravity]);
    int last = CAL_GROUND, first = CAL_GROUND;
    double before = 0.0, velocity[2]; // θ̇ of the shoe before
    find_velocity(values, velocity);
    for (int i = 0; i < count; i++) {
        const double rate = rate_of(values, i);
        shoe.parent = last;
        shoe.position[0] = i == 0 ? 0.0 : values[at_length];
        cal_axis_quaternion(cal_axis_z, i == 0 ? 0.0 : turn_after(i - 1, count), shoe.quaternion);
        last = cal_builder_add_body(builder, &shoe);
        for (int k = 0; i == 0 && k < 2; k++) {
            slide.axis[0] = k == 0 ? 1.0 : 0.0, slide.axis[1] = k == 0 ? 0.0 : 1.0, slide.axis[2] = 0.0;
            slide.initial_v[0] = velocity[k];
            cal_builder_add_joint(builder, last, &slide);
        }
        if (i == 0) first = last;
        hinge.initial_v[0] = rate - before;
        cal_builder_add_joint(builder, last, &hinge);
        before = rate;
    }
    cal_close_loop(builder, "clasp", first, origin, last, end, CAL_ROW_X | CAL_ROW_Y);
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(track, PARAMETERS, "an endless track of n shoes that runs along itself")
