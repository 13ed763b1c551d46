// Balanced trees, as in Armstrong's experiments: every link but the last generation carries `fanout` links at its tip,
// spread like the ribs of an umbrella. Link i > 0 hangs on link (i − 1) / fanout.
#include "model/angle.h"
#include "scenes/generate.h"

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    INTEGER(height, 5, 1, 10000000, "generations of links")                                                            \
    INTEGER(fanout, 3, 1, 10000000, "links at a link's tip")                                                           \
    CHOICE(joint, "revolute|ball", "kind of joint")                                                                    \
    NUMBER(length, 0.3, 0.001, 1000, "of a link, m")                                                                   \
    NUMBER(mass, 0.5, 0.000001, 1000000, "of a link, kg")                                                              \
    NUMBER(start, 0.2, -1000, 1000, "start angle of every joint, rad")                                                 \
    NUMBER(damping, 0, 0, 1000000, "viscous friction of every joint, N m s/rad")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

static const double tilt = 0.5; // of a rib from its parent's direction, rad
static const double slenderness = 0.1;

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    const double fanout = values[at_fanout], length = values[at_length];
    double links = 0.0;
    for (int i = 0; i < (int)values[at_height] && links <= CAL_GENERATED_LIMIT; i++) links = links * fanout + 1.0;
    if (links > CAL_GENERATED_LIMIT)
        return cal_fail(error, CAL_BAD_ARGUMENT, "tree: height=%g, fanout=%g make more than %d links",
                        values[at_height], fanout, CAL_GENERATED_LIMIT);
    const double top[3] = {0.0, 0.0, 0.0}, bottom[3] = {0.0, 0.0, -length};
    cal_body_def link = cal_default_body_def();
    cal_shape_capsule(&link, top, bottom, slenderness * length, values[at_mass]);
    cal_joint_def joint = cal_default_joint_def();
    joint.kind = (int)values[at_joint] == 0 ? CAL_REVOLUTE : CAL_BALL;
    joint.axis[0] = 1.0, joint.axis[2] = 0.0;
    joint.damping = values[at_damping];
    joint.initial_q[0] = values[at_start];
    if (joint.kind == CAL_BALL) cal_axis_quaternion(joint.axis, values[at_start], joint.initial_q);
    for (int i = 0; i < (int)links; i++) {
        if (i > 0) {
            const double upwards[3] = {0.0, 0.0, 1.0};
            double around[4], outwards[4];
            cal_axis_quaternion(upwards, 2.0 * CAL_PI * ((i - 1) % (int)fanout) / fanout, around);
            cal_axis_quaternion(joint.axis, tilt, outwards);
            link.parent = (i - 1) / (int)fanout;
            link.position[2] = -length;
            cal_quaternion_multiply(around, outwards, link.quaternion);
        }
        cal_builder_add_joint(builder, cal_builder_add_body(builder, &link), &joint);
    }
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(tree, PARAMETERS, "a balanced tree of capsules (Armstrong)")
