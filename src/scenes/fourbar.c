// N four-bars side by side (the IFToMM library's A02): n + 1 bars stand on the ground, a coupler joins each to the next.
//
//     B0 ── B1 ── B2          Bars are one apart and as long as the couplers, so that all fall flat at once: there the
//     │     │     │           mechanism has n + 1 degrees of freedom for an instant, and goes on with one.
//     A0    A1    A2
//
// Each bar is a tree of its own that carries the coupler to its right.
#include "scenes/linkage.h"
#include <stdio.h>
#include <string.h>

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    INTEGER(n, 2, 1, 1000000, "four-bars")                                                                             \
    NUMBER(length, 1, 0.001, 1000, "of a bar, and from one to the next, m")                                            \
    NUMBER(mass, 1, 0.000001, 1000000, "of a bar, kg")                                                                 \
    NUMBER(speed, 1, -1000, 1000, "of B0 along x at the start, m/s")                                                   \
    NUMBER(gravity, 9.81, 0, 1000, "along -y, m/s^2")                                                                  \
    NUMBER(stiffness, 0, 0, 1e9, "of springs in the pins that close the loops, N m/rad")                               \
    NUMBER(damping, 0, 0, 1e9, "of dampers there, N m s/rad")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

// A pin with a spring and a damper: a joint that closes a loop.
static void add_pin(cal_builder* builder, const char* name, const double* values, int a, const double in_a[3], int b,
                    const double in_b[3]) {
    cal_constraint_def loop = cal_default_constraint_def();
    cal_joint_def pin = cal_default_joint_def();
    loop.name = name;
    loop.kind = CAL_LOOP_REVOLUTE;
    loop.body[0] = a, loop.body[1] = b;
    memcpy(loop.position[0], in_a, sizeof loop.position[0]);
    memcpy(loop.position[1], in_b, sizeof loop.position[1]);
    pin.stiffness = values[at_stiffness];
    pin.damping = values[at_damping];
    (void)cal_builder_add_loop_joint(builder, &loop, &pin);
}

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    (void)error;
    const double length = values[at_length], rate = values[at_speed] / length;
    const double up[3] = {0.0, length, 0.0}, right[3] = {length, 0.0, 0.0};
    cal_body_def bar = cal_default_body_def(), coupler = cal_default_body_def();
    cal_rod(&bar, up, values[at_mass]);
    cal_rod(&coupler, right, values[at_mass]);
    coupler.position[1] = length;
    cal_set_planar_gravity(builder, values[at_gravity]);
    int before = CAL_NONE;
    for (int i = 0; i <= (int)values[at_n]; i++) {
        char name[32];
        bar.position[0] = i * length;
        snprintf(name, sizeof name, "bar_%d", i);
        const int number = cal_add_hinged(builder, &bar, name, cal_axis_z, 0.0, -rate);
        if (before != CAL_NONE) {
            snprintf(name, sizeof name, "B%d", i);
            if (values[at_stiffness] > 0.0 || values[at_damping] > 0.0)
                add_pin(builder, name, values, before, right, number, up);
            else
                cal_close_loop(builder, name, number, up, before, right, CAL_ROW_X | CAL_ROW_Y);
        }
        if (i == (int)values[at_n]) break;
        coupler.parent = number;
        snprintf(name, sizeof name, "coupler_%d", i);
        before = cal_add_hinged(builder, &coupler, name, cal_axis_z, 0.0, rate);
    }
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(fourbar, PARAMETERS, "n four-bars side by side, which fall flat together (IFToMM A02)")
