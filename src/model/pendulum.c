// A pendulum with a closed form: (m l² + I) q̈ = −m g l sin q − d q̇, about y, hanging along −z.
#include "model/generate.h"

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    NUMBER(length, 1, 0.000001, 1000000, "from the axis to the centre of mass, m")                                     \
    NUMBER(mass, 1, 0.000001, 1000000, "of the bob, kg")                                                               \
    NUMBER(inertia, 0, 0, 1000000, "of the bob about its centre of mass, kg m^2")                                      \
    NUMBER(start, 0.5, -1000, 1000, "start angle, rad")                                                                \
    NUMBER(speed, 0, -1000, 1000, "start angular velocity, rad/s")                                                     \
    NUMBER(damping, 0, 0, 1000000, "viscous friction, N m s/rad")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    (void)error;
    cal_body_def bob = cal_default_body_def();
    bob.name = "bob";
    bob.mass = values[at_mass];
    bob.center[2] = -values[at_length];
    for (int i = 0; i < 3; i++) bob.inertia[i] = values[at_inertia];
    cal_joint_def hinge = cal_default_joint_def();
    hinge.name = "hinge";
    hinge.axis[1] = 1.0, hinge.axis[2] = 0.0;
    hinge.damping = values[at_damping];
    hinge.initial_q[0] = values[at_start];
    hinge.initial_v[0] = values[at_speed];
    cal_builder_add_joint(builder, cal_builder_add_body(builder, &bob), &hinge);
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(pendulum, PARAMETERS, "one body on a hinge")
