// A pendulum with a closed form: (m l² + I) q̈ = −m g l sin q − d q̇, about y, hanging along −z. As a body on a hinge, or as a
// particle on two slides that stays `length` from the origin (the IFToMM library's A01), without inertia and friction.
#include "model/angle.h"
#include "scenes/linkage.h"
#include <string.h>

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    NUMBER(length, 1, 0.000001, 1000000, "from the axis to the centre of mass, m")                                     \
    NUMBER(mass, 1, 0.000001, 1000000, "of the bob, kg")                                                               \
    NUMBER(inertia, 0, 0, 1000000, "of the bob about its centre of mass, kg m^2")                                      \
    NUMBER(start, 0.5, -1000, 1000, "start angle, rad")                                                                \
    NUMBER(speed, 0, -1000, 1000, "start angular velocity, rad/s")                                                     \
    NUMBER(damping, 0, 0, 1000000, "viscous friction, N m s/rad")                                                      \
    CHOICE(form, "hinge|distance", "a body on a hinge, or a particle at a distance")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

static void build_particle(const double* values, cal_builder* builder) {
    double sine, cosine;
    cal_sine_cosine(values[at_start], &sine, &cosine);
    const double length = values[at_length], speed = length * values[at_speed];
    cal_body_def bob = cal_default_body_def();
    bob.name = "bob";
    bob.mass = values[at_mass];
    const int number = cal_builder_add_body(builder, &bob);
    for (int i = 0; i < 2; i++) {
        cal_joint_def slide = cal_default_joint_def();
        slide.name = i == 0 ? "x" : "z";
        slide.kind = CAL_PRISMATIC;
        memcpy(slide.axis, i == 0 ? cal_axis_x : cal_axis_z, sizeof slide.axis);
        slide.initial_q[0] = -length * (i == 0 ? sine : cosine);
        slide.initial_v[0] = i == 0 ? -speed * cosine : speed * sine;
        cal_builder_add_joint(builder, number, &slide);
    }
    cal_constraint_def string = cal_default_constraint_def();
    string.name = "string";
    string.kind = CAL_DISTANCE;
    string.body[1] = number;
    string.length = length;
    cal_builder_add_constraint(builder, &string);
}

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    if (values[at_form] != 0.0) {
        if (values[at_inertia] > 0.0 || values[at_damping] > 0.0)
            return cal_fail(error, CAL_BAD_ARGUMENT, "pendulum: form=distance has neither inertia nor damping");
        build_particle(values, builder);
        return CAL_OK;
    }
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

CAL_DEFINE_GENERATOR(pendulum, PARAMETERS, "one body on a hinge, or a particle on a string (IFToMM A01)")
