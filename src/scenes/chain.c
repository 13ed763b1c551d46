// Chains of capsules that hang along −z, joint axes alternating between x and y: generic motion in space.
#include "model/angle.h"
#include "scenes/generate.h"

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    INTEGER(n, 36, 1, 10000000, "links")                                                                               \
    CHOICE(joint, "revolute|ball|prismatic", "kind of joint")                                                          \
    NUMBER(length, 0.2, 0.001, 1000, "of a link, m")                                                                   \
    NUMBER(radius, 0.03, 0.0001, 1000, "of a link, m")                                                                 \
    NUMBER(mass, 0.5, 0.000001, 1000000, "of a link, kg")                                                              \
    NUMBER(start, 0.1, -1000, 1000, "start value of every joint, rad or m")                                            \
    NUMBER(stiffness, 0, 0, 1000000000, "of a spring in every joint, N m/rad or N/m")                                  \
    NUMBER(damping, 0, 0, 1000000, "viscous friction of every joint, N m s/rad or N s/m")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    (void)error;
    static const cal_joint_kind kinds[] = {CAL_REVOLUTE, CAL_BALL, CAL_PRISMATIC};
    cal_body_def link = cal_default_body_def();
    const double top[3] = {0.0, 0.0, 0.0}, bottom[3] = {0.0, 0.0, -values[at_length]};
    cal_shape_capsule(&link, top, bottom, values[at_radius], values[at_mass]);
    cal_joint_def joint = cal_default_joint_def();
    joint.kind = kinds[(int)values[at_joint]];
    joint.stiffness = values[at_stiffness];
    joint.damping = values[at_damping];
    for (int i = 0; i < (int)values[at_n]; i++) {
        const double x = i % 2 == 0, y = 1.0 - x;
        link.parent = i > 0 ? i - 1 : CAL_GROUND;
        link.position[2] = i > 0 ? -values[at_length] : 0.0;
        joint.axis[0] = x, joint.axis[1] = y, joint.axis[2] = 0.0;
        joint.initial_q[0] = values[at_start];
        if (joint.kind == CAL_BALL) cal_axis_quaternion(joint.axis, values[at_start], joint.initial_q);
        cal_builder_add_joint(builder, cal_builder_add_body(builder, &link), &joint);
    }
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(chain, PARAMETERS, "a hanging chain of capsules")
