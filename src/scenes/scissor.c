// A scissor lift: n pairs of bars that cross in their middles, each pair on the ends of the one below.
//
//      ╲ ╱       B A        A goes up to the right, B up to the left. The left foot is a hinge on the ground, the right one
//       ╳                   slides along x. The tree is A – B – A – B …: B hangs in A's middle, the next A on B's upper end;
//      ╱ ╲                  each next B closes a loop with the A below. One degree of freedom, whatever n.
//      ╲ ╱       B A
//       ╳
//      ╱ ╲       A B
#include "model/angle.h"
#include "scenes/linkage.h"
#include <stdio.h>

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    INTEGER(n, 5, 1, 1000000, "stages")                                                                                \
    NUMBER(length, 1, 0.001, 1000, "of a bar, m")                                                                      \
    NUMBER(mass, 1, 0.000001, 1000000, "of a bar, kg")                                                                 \
    NUMBER(angle, 1, -1.5, 1.5, "of the bars above the ground at the start, rad; 0 is flat, a singular position")      \
    NUMBER(gravity, 9.81, 0, 1000, "along -y, m/s^2")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    (void)error;
    const double length = values[at_length], angle = values[at_angle], origin[3] = {0.0, 0.0, 0.0};
    const double end[3] = {length, 0.0, 0.0}, upper[3] = {0.5 * length, 0.0, 0.0}, lower[3] = {-0.5 * length, 0.0, 0.0};
    cal_body_def a = cal_default_body_def(), b = cal_default_body_def();
    cal_rod(&a, end, values[at_mass]);
    cal_shape_capsule(&b, lower, upper, 0.0, values[at_mass]);
    b.position[0] = 0.5 * length;
    cal_set_planar_gravity(builder, values[at_gravity]);
    for (int i = 0; i < (int)values[at_n]; i++) {
        char name[32];
        const int below = b.parent; // A of the stage below
        snprintf(name, sizeof name, "a_%d", i);
        b.parent = cal_add_hinged(builder, &a, name, cal_axis_z, i == 0 ? angle : 2.0 * angle - CAL_PI, 0.0);
        snprintf(name, sizeof name, "b_%d", i);
        a.parent = cal_add_hinged(builder, &b, name, cal_axis_z, CAL_PI - 2.0 * angle, 0.0);
        a.position[0] = 0.5 * length;
        snprintf(name, sizeof name, "foot_%d", i);
        if (i == 0)
            cal_close_loop(builder, name, CAL_GROUND, origin, a.parent, lower, CAL_ROW_Y);
        else
            cal_close_loop(builder, name, below, end, a.parent, lower, CAL_ROW_X | CAL_ROW_Y);
    }
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(scissor, PARAMETERS, "a scissor lift of n stages, one tree with n loops; it falls flat")
