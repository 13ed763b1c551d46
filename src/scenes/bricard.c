// Bricard's mechanism (the IFToMM library's A04): five rods along edges of a cube, six hinges, the last two on the ground.
//
//     (0,0,0) ─x─ (1,0,0) ─(−y)─ (1,−1,0) ─z─ (1,−1,1) ─(−x)─ (0,−1,1) ─y─ (0,0,1)
//        y           z              x            y               z           x         axes of the hinges
//
// Grübler's formula gives it no freedom; it has one. One of the last loop's five equations follows from the others.
#include "scenes/linkage.h"
#include <string.h>

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    NUMBER(length, 1, 0.001, 1000, "of a rod, m")                                                                      \
    NUMBER(mass, 1, 0.000001, 1000000, "of a rod, kg")                                                                 \
    NUMBER(gravity, 9.81, 0, 1000, "along -y, m/s^2")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    (void)error;
    static const double along[5][3] = {{1, 0, 0}, {0, -1, 0}, {0, 0, 1}, {-1, 0, 0}, {0, 1, 0}};
    const double* const axes[5] = {cal_axis_y, cal_axis_z, cal_axis_x, cal_axis_y, cal_axis_z};
    static const char* const names[5] = {"rod_1", "rod_2", "rod_3", "rod_4", "rod_5"};
    double end[3] = {0.0, 0.0, 0.0};
    int last = CAL_GROUND;
    cal_set_planar_gravity(builder, values[at_gravity]);
    for (int i = 0; i < 5; i++) {
        cal_body_def rod = cal_default_body_def();
        rod.parent = last;
        memcpy(rod.position, end, sizeof end);
        for (int k = 0; k < 3; k++) end[k] = values[at_length] * along[i][k];
        cal_rod(&rod, end, values[at_mass]);
        last = cal_add_hinged(builder, &rod, names[i], axes[i], 0.0, 0.0);
    }
    // A hinge about x: both frames' z is turned to x, by a quarter about y.
    cal_constraint_def hinge = cal_default_constraint_def();
    hinge.name = "hinge_6";
    hinge.kind = CAL_LOOP_REVOLUTE;
    hinge.body[0] = CAL_GROUND, hinge.body[1] = last;
    hinge.position[0][2] = values[at_length];
    memcpy(hinge.position[1], end, sizeof end);
    for (int k = 0; k < 2; k++) hinge.quaternion[k][0] = hinge.quaternion[k][2] = 1.0;
    cal_builder_add_constraint(builder, &hinge);
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(bricard, PARAMETERS, "Bricard's overconstrained loop of five rods (IFToMM A04)")
