// Sarrus' linkage: a plate on two pairs of hinged links in planes across each other moves straight up and down. One of the
// loop's five equations follows from the others. Falling, it passes the position where all links lie flat: a singular one.
//
//                 plate                    in the xz plane, hinges along y: lower_x, upper_x, then the plate
//            ╲  ┌───────┐  ╱               in the yz plane, hinges along x: lower_y, upper_y, closed with the plate
//             ╱   ground  ╲
#include "model/angle.h"
#include "scenes/linkage.h"

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    NUMBER(length, 1, 0.001, 1000, "of a link, m")                                                                     \
    NUMBER(mass, 1, 0.000001, 1000000, "of a link, kg")                                                                \
    NUMBER(plate, 2, 0.000001, 1000000, "mass of the plate, kg")                                                       \
    NUMBER(angle, 0.8, -1.5, 1.5, "of the links above the ground at the start, rad")                                   \
    NUMBER(gravity, 9.81, 0, 1000, "along -z, m/s^2")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    (void)error;
    const double length = values[at_length], angle = values[at_angle], half = 0.5 * length;
    const double down[3] = {0.0, 0.0, -values[at_gravity]}, out[3] = {length, 0.0, 0.0}, aside[3] = {0.0, length, 0.0};
    cal_body_def along_x = cal_default_body_def(), along_y = cal_default_body_def(), plate = cal_default_body_def();
    cal_builder_set_gravity(builder, down);
    cal_rod(&along_x, out, values[at_mass]);
    cal_rod(&along_y, aside, values[at_mass]);
    along_x.position[0] = half;
    along_x.parent = cal_add_hinged(builder, &along_x, "lower_x", cal_axis_y, -angle, 0.0);
    along_x.position[0] = length;
    plate.parent = cal_add_hinged(builder, &along_x, "upper_x", cal_axis_y, 2.0 * angle - CAL_PI, 0.0);
    // A square of side `length`, whose hinge is in the middle of an edge.
    plate.position[0] = length;
    plate.mass = values[at_plate];
    plate.center[0] = -half;
    plate.inertia[0] = plate.inertia[1] = values[at_plate] * length * length / 12.0;
    plate.inertia[2] = 2.0 * plate.inertia[0];
    const int square = cal_add_hinged(builder, &plate, "plate", cal_axis_y, CAL_PI - angle, 0.0);
    along_y.position[1] = half;
    along_y.parent = cal_add_hinged(builder, &along_y, "lower_y", cal_axis_x, angle, 0.0);
    along_y.position[1] = length;
    const int upper = cal_add_hinged(builder, &along_y, "upper_y", cal_axis_x, CAL_PI - 2.0 * angle, 0.0);
    // A hinge about x: both frames' z is turned to x, by a quarter about y.
    cal_constraint_def hinge = cal_default_constraint_def();
    hinge.name = "top";
    hinge.kind = CAL_LOOP_REVOLUTE;
    hinge.body[0] = square, hinge.body[1] = upper;
    hinge.position[0][0] = -half, hinge.position[0][1] = half;
    hinge.position[1][1] = length;
    for (int k = 0; k < 2; k++) hinge.quaternion[k][0] = hinge.quaternion[k][2] = 1.0;
    cal_builder_add_constraint(builder, &hinge);
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(sarrus, PARAMETERS, "Sarrus' overconstrained linkage: a plate that moves straight up and down")
