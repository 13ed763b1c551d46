// A thin disk that rolls on the ground without slipping.
//
// Its axis is the body's z. `tilt` is how far it leans from upright towards +y; it rolls along x with `speed`, and its
// axis turns about the vertical with `turn`: for turn = 0 and tilt = 0 it rolls straight, and a leaning one rolls in circles.
#include "model/angle.h"
#include "scenes/linkage.h"

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    NUMBER(radius, 0.5, 0.001, 1000, "m")                                                                              \
    NUMBER(mass, 1, 0.000001, 1000000, "kg")                                                                           \
    NUMBER(tilt, 0.2, -1.5, 1.5, "from upright at the start, rad")                                                     \
    NUMBER(speed, 2, -1000, 1000, "of the centre along x at the start, m/s")                                           \
    NUMBER(turn, 0, -1000, 1000, "of the axis about the vertical at the start, rad/s")                                 \
    NUMBER(gravity, 9.81, 0, 1000, "along -z, m/s^2")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    (void)error;
    const double radius = values[at_radius], mass = values[at_mass];
    double sine, cosine;
    cal_sine_cosine(values[at_tilt], &sine, &cosine);
    cal_body_def disk = cal_default_body_def();
    disk.name = "disk";
    disk.mass = mass;
    disk.inertia[0] = disk.inertia[1] = 0.25 * mass * radius * radius;
    disk.inertia[2] = 0.5 * mass * radius * radius;
    cal_joint_def joint = cal_default_joint_def();
    joint.kind = CAL_FREE;
    joint.initial_q[2] = radius * cosine;
    // Body's z to (0, cos, −sin) of the tilt: a turn about x by −(90° + tilt). The way down is then (0, −sin, −cos).
    cal_axis_quaternion(cal_axis_x, -(0.5 * CAL_PI + values[at_tilt]), joint.initial_q + 3);
    // ω = turn ẑ + spin k with k = (0, cos, −sin); the point of contact, c − R m with m = (0, sin, cos), rests:
    // v = ω × R m = R (turn (−sin) + spin (cos² + sin²), 0, 0).
    const double spin = values[at_speed] / radius + values[at_turn] * sine;
    const double omega[3] = {0.0, spin * cosine, values[at_turn] - spin * sine};
    double R[9];
    cal_quaternion_matrix(joint.initial_q + 3, R);
    cal_unrotate3(R, omega, joint.initial_v + 3);
    joint.initial_v[0] = values[at_speed];
    const int number = cal_builder_add_body(builder, &disk);
    cal_builder_add_joint(builder, number, &joint);
    const double down[3] = {0.0, 0.0, -values[at_gravity]};
    cal_builder_set_gravity(builder, down);
    cal_constraint_def rolling = cal_default_constraint_def();
    rolling.name = "ground";
    rolling.kind = CAL_ROLLING;
    rolling.body[1] = number;
    rolling.length = radius;
    cal_builder_add_constraint(builder, &rolling);
    return CAL_OK;
}

const cal_generator cal_generator_rolling_disk = {
    "rolling-disk", "a thin disk that rolls on the ground" PARAMETERS(CAL_TEXT_RANGE, CAL_TEXT_RANGE, CAL_TEXT_CHOICE),
    parameters, parameter_count, build};
