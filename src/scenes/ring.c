// A ring of rods that hangs by one of its corners: a regular polygon at the start, cut at that corner, and closed there.
#include "model/angle.h"
#include "scenes/linkage.h"

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    INTEGER(n, 12, 3, 10000000, "rods")                                                                                \
    CHOICE(joint, "revolute|ball", "kind of joint; hinges keep the ring in its plane")                                 \
    NUMBER(length, 0.2, 0.001, 1000, "of a rod, m")                                                                    \
    NUMBER(radius, 0.02, 0, 1000, "of a rod, m")                                                                       \
    NUMBER(mass, 0.5, 0.000001, 1000000, "of a rod, kg")                                                               \
    NUMBER(gravity, 9.81, 0, 1000, "along -y, m/s^2")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    (void)error;
    const int count = (int)values[at_n];
    const double origin[3] = {0.0, 0.0, 0.0}, end[3] = {values[at_length], 0.0, 0.0}, corner = 2.0 * CAL_PI / count;
    cal_body_def rod = cal_default_body_def();
    cal_shape_capsule(&rod, origin, end, values[at_radius], values[at_mass]);
    cal_joint_def joint = cal_default_joint_def();
    joint.kind = values[at_joint] == 0.0 ? CAL_REVOLUTE : CAL_BALL;
    cal_set_planar_gravity(builder, values[at_gravity]);
    int last = CAL_GROUND;
    for (int i = 0; i < count; i++) {
        // The first rod leaves the corner so that the polygon hangs straight down from it; the others turn on from rod to rod.
        const double angle = i == 0 ? -0.5 * CAL_PI - 0.5 * (CAL_PI - corner) : corner;
        rod.parent = last;
        rod.position[0] = i == 0 ? 0.0 : values[at_length];
        cal_axis_quaternion(cal_axis_z, angle, rod.quaternion);
        last = cal_builder_add_body(builder, &rod);
        cal_builder_add_joint(builder, last, &joint);
    }
    cal_close_loop(builder, "clasp", CAL_GROUND, origin, last, end,
                   CAL_ROW_X | CAL_ROW_Y | (joint.kind == CAL_BALL ? CAL_ROW_Z : 0));
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(ring, PARAMETERS, "a ring of rods that hangs by a corner")
