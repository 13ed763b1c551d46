// A tower of four-bars in one tree: two bars stand on each coupler and carry the next one.
//
//     ────────  coupler_1     The left bar carries the coupler; the right one closes a loop with it. Each loop lies between
//     │      │  left, right   a coupler and the next: its lowest common ancestor is the coupler below, whatever n. One degree
//     ────────  coupler_0     of freedom a floor.
//     │      │
#include "scenes/linkage.h"
#include <stdio.h>

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    INTEGER(n, 10, 1, 1000000, "floors")                                                                               \
    NUMBER(length, 1, 0.001, 1000, "of a bar and a coupler, m")                                                        \
    NUMBER(mass, 1, 0.000001, 1000000, "of a bar and a coupler, kg")                                                   \
    NUMBER(lean, 0.1, -1.5, 1.5, "of the bars at the start, to the left and to the right in turn, rad")                \
    NUMBER(gravity, 9.81, 0, 1000, "along -y, m/s^2")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    (void)error;
    const double length = values[at_length];
    const double up[3] = {0.0, length, 0.0}, right[3] = {length, 0.0, 0.0};
    cal_body_def bar = cal_default_body_def(), coupler = cal_default_body_def();
    cal_rod(&bar, up, values[at_mass]);
    cal_rod(&coupler, right, values[at_mass]);
    coupler.position[1] = length;
    cal_set_planar_gravity(builder, values[at_gravity]);
    for (int i = 0; i < (int)values[at_n]; i++) {
        const double lean = i % 2 == 0 ? values[at_lean] : -values[at_lean];
        char name[32];
        bar.position[0] = 0.0;
        snprintf(name, sizeof name, "left_%d", i);
        coupler.parent = cal_add_hinged(builder, &bar, name, cal_axis_z, lean, 0.0);
        bar.position[0] = length;
        snprintf(name, sizeof name, "right_%d", i);
        const int other = cal_add_hinged(builder, &bar, name, cal_axis_z, lean, 0.0);
        snprintf(name, sizeof name, "coupler_%d", i);
        bar.parent = cal_add_hinged(builder, &coupler, name, cal_axis_z, -lean, 0.0);
        snprintf(name, sizeof name, "loop_%d", i);
        cal_close_loop(builder, name, bar.parent, right, other, up, CAL_ROW_X | CAL_ROW_Y);
    }
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(tower, PARAMETERS, "n four-bars on top of each other: one tree with n loops")
