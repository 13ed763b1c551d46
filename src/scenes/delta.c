// A Delta robot without motors: three arms on hinges, each with a pair of parallel rods (without mass: distances) to a platform
// that cannot turn. Falling, it passes positions where arms and rods are in line: singular ones.
#include "model/angle.h"
#include "scenes/linkage.h"
#include <math.h>
#include <stdio.h>

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    NUMBER(base, 0.3, 0.001, 1000, "radius of the base, m")                                                            \
    NUMBER(radius, 0.1, 0.001, 1000, "of the platform, m")                                                             \
    NUMBER(arm, 0.4, 0.001, 1000, "length of an arm, m")                                                               \
    NUMBER(rod, 0.9, 0.001, 1000, "length of a rod, m")                                                                \
    NUMBER(mass, 0.5, 0.000001, 1000000, "of an arm and of the platform, kg")                                          \
    NUMBER(angle, 0.5, -1.5, 1.5, "of the arms above the base at the start, rad")                                      \
    NUMBER(gravity, 9.81, 0, 1000, "along -z, m/s^2")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    const double down[3] = {0.0, 0.0, -values[at_gravity]}, out[3] = {values[at_arm], 0.0, 0.0};
    const double radius = values[at_radius], width = 0.5 * radius;
    double sine, cosine;
    cal_sine_cosine(values[at_angle], &sine, &cosine);
    const double reach = values[at_base] + values[at_arm] * cosine - radius;
    const double square = values[at_rod] * values[at_rod] - reach * reach;
    if (!(square > 0.0))
        return cal_fail(error, CAL_BAD_ARGUMENT, "delta: rods of %g m do not reach over %g m", values[at_rod],
                        fabs(reach));
    cal_builder_set_gravity(builder, down);
    cal_body_def platform = cal_default_body_def();
    platform.name = "platform";
    platform.mass = values[at_mass];
    platform.inertia[0] = platform.inertia[1] = 0.25 * values[at_mass] * radius * radius;
    platform.inertia[2] = 2.0 * platform.inertia[0];
    platform.position[2] = values[at_arm] * sine - sqrt(square);
    cal_joint_def free = cal_default_joint_def();
    free.kind = CAL_FREE;
    const int plate = cal_builder_add_body(builder, &platform);
    cal_builder_add_joint(builder, plate, &free);
    for (int i = 0; i < 3; i++) {
        char name[32];
        double s, c;
        const double turn = 2.0 * CAL_PI / 3.0 * i;
        cal_sine_cosine(turn, &s, &c);
        cal_body_def arm = cal_default_body_def();
        arm.position[0] = values[at_base] * c, arm.position[1] = values[at_base] * s;
        cal_axis_quaternion(cal_axis_z, turn, arm.quaternion);
        cal_rod(&arm, out, values[at_mass]);
        snprintf(name, sizeof name, "arm_%d", i);
        const int number = cal_add_hinged(builder, &arm, name, cal_axis_y, -values[at_angle], 0.0);
        for (int side = -1; side <= 1; side += 2) {
            cal_constraint_def rod = cal_default_constraint_def();
            snprintf(name, sizeof name, "rod_%d%c", i, side < 0 ? 'a' : 'b');
            rod.name = name;
            rod.kind = CAL_DISTANCE;
            rod.length = values[at_rod];
            rod.body[0] = number, rod.body[1] = plate;
            rod.position[0][0] = values[at_arm], rod.position[0][1] = side * width;
            rod.position[1][0] = radius * c - side * width * s;
            rod.position[1][1] = radius * s + side * width * c;
            cal_builder_add_constraint(builder, &rod);
        }
    }
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(delta, PARAMETERS, "a Delta robot without motors: three arms, six rods, a platform")
