// Random trees of every kind of joint, for checking properties: several joints on a body, fixed bodies, free roots,
// anchors away from origins, zeros, armatures. Every body has mass and inertia, and axes of one body are at right
// angles, so that mass matrices are well conditioned.
#include "base/random.h"
#include "scenes/generate.h"
#include "model/symmetric.h"
#include <string.h>

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    INTEGER(n, 20, 1, 10000000, "bodies")                                                                              \
    INTEGER(seed, 1, 0, 4294967295, "another number, another tree")                                                    \
    CHOICE(joints, "all|revolute|prismatic|ball", "kinds of joint")                                                    \
    NUMBER(branching, 0.5, 0, 1, "0 is a chain, 1 hangs each body from any earlier one")                               \
    INTEGER(passive, 0, 0, 1, "1 adds friction, springs, stops and motors")                                            \
    NUMBER(stop, 0, 0, 1e9, "stiffness of stops, N/m or N m/rad; 0: none was given")                                   \
    NUMBER(speed, 1, 0, 1000, "largest start velocity, rad/s or m/s")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

enum { ALL, REVOLUTE, PRISMATIC, BALL, MOST_JOINTS = 3 };

// The joints of one body.
typedef struct pattern {
    int count;
    cal_joint_kind kinds[MOST_JOINTS];
} pattern;

static const pattern patterns[] = {
    {0, {0}},
    {1, {CAL_REVOLUTE}},
    {1, {CAL_PRISMATIC}},
    {1, {CAL_BALL}},
    {2, {CAL_REVOLUTE, CAL_REVOLUTE}},
    {3, {CAL_REVOLUTE, CAL_REVOLUTE, CAL_REVOLUTE}},
    {2, {CAL_PRISMATIC, CAL_REVOLUTE}},
    {3, {CAL_PRISMATIC, CAL_PRISMATIC, CAL_REVOLUTE}},
    {2, {CAL_PRISMATIC, CAL_BALL}},
    {1, {CAL_FREE}},
};
enum { PATTERN_COUNT = (int)(sizeof patterns / sizeof *patterns), FREE_PATTERN = PATTERN_COUNT - 1 };

static void random_vector(cal_random* random, double size, double* out, int count) {
    for (int i = 0; i < count; i++) out[i] = cal_random_between(random, -size, size);
}

static void random_quaternion(cal_random* random, double out[4]) {
    random_vector(random, 1.0, out, 4);
    out[0] += copysign(0.1, out[0]);
    cal_quaternion_normalize(out);
}

// Inertia with positive second moments along random axes.
static void random_mass(cal_random* random, cal_body_def* def) {
    double q[4], R[9], sigma[3];
    random_quaternion(random, q);
    cal_quaternion_matrix(q, R);
    def->mass = cal_random_between(random, 0.5, 2.0);
    random_vector(random, 0.2, def->center, 3);
    for (int i = 0; i < 3; i++) sigma[i] = def->mass * cal_random_between(random, 0.01, 0.05);
    const double trace = sigma[0] + sigma[1] + sigma[2];
    const size_t *rows = cal_symmetric_row, *columns = cal_symmetric_column;
    for (int i = 0; i < 6; i++) {
        const double *a = &R[3 * rows[i]], *b = &R[3 * columns[i]];
        def->inertia[i] =
            (i < 3 ? trace : 0.0) - (a[0] * b[0] * sigma[0] + a[1] * b[1] * sigma[1] + a[2] * b[2] * sigma[2]);
    }
}

static int choose_pattern(cal_random* random, int joints, bool on_ground) {
    if (joints != ALL) return joints;
    return cal_random_below(random, on_ground ? PATTERN_COUNT : FREE_PATTERN);
}

static void add_passive(cal_random* random, double stop, cal_builder* builder, cal_joint_def* joint, int body) {
    joint->damping = cal_random_between(random, 0.0, 0.1);
    if (joint->kind != CAL_FREE) joint->stiffness = cal_random_between(random, 0.0, 5.0);
    const bool single = cal_joint_v_count(joint->kind) == 1;
    if (single) {
        joint->spring_reference = cal_random_between(random, -0.3, 0.3);
        joint->limited = cal_random_below(random, 2) == 0;
        joint->range[0] = -0.4, joint->range[1] = 0.4;
        joint->limit_stiffness = stop;
    }
    const int number = cal_builder_add_joint(builder, body, joint);
    if (!single || cal_random_below(random, 2) == 0) return;
    cal_actuator_def motor = cal_default_actuator_def();
    motor.joint = number;
    motor.gear = cal_random_between(random, 0.5, 2.0);
    motor.bias[2] = -0.1;
    motor.initial_control = cal_random_between(random, -1.0, 1.0);
    cal_builder_add_actuator(builder, &motor);
}

static void add_joints(cal_random* random, const double* values, cal_builder* builder, int body,
                       const pattern* joints) {
    double q[4], R[9];
    random_quaternion(random, q);
    cal_quaternion_matrix(q, R);
    for (size_t i = 0; i < (size_t)joints->count; i++) {
        cal_joint_def joint = cal_default_joint_def();
        joint.kind = joints->kinds[i];
        memcpy(joint.axis, &R[3 * i], sizeof joint.axis);
        if (joint.kind != CAL_FREE) random_vector(random, 0.1, joint.anchor, 3);
        if (cal_random_below(random, 3) == 0) joint.armature = cal_random_between(random, 0.0, 0.1);
        random_vector(random, 0.5, joint.initial_q, 7);
        random_vector(random, values[at_speed], joint.initial_v, 6);
        if (joint.kind == CAL_BALL)
            random_quaternion(random, joint.initial_q);
        else if (joint.kind == CAL_FREE)
            random_quaternion(random, joint.initial_q + 3);
        else if (cal_random_below(random, 3) == 0)
            joint.zero = cal_random_between(random, -0.2, 0.2);
        if (values[at_passive] != 0.0)
            add_passive(random, values[at_stop], builder, &joint, body);
        else
            cal_builder_add_joint(builder, body, &joint);
    }
}

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    (void)error;
    cal_random random = {(uint64_t)values[at_seed]};
    for (int i = 0; i < (int)values[at_n]; i++) {
        cal_body_def body = cal_default_body_def();
        if (i > 0 && cal_random_below(&random, 50) > 0)
            body.parent =
                cal_random_between(&random, 0.0, 1.0) < values[at_branching] ? cal_random_below(&random, i) : i - 1;
        random_vector(&random, 0.4, body.position, 3);
        random_quaternion(&random, body.quaternion);
        random_mass(&random, &body);
        // The first body always moves, so that every tree does.
        int choice = choose_pattern(&random, (int)values[at_joints], body.parent == CAL_GROUND);
        if (i == 0 && choice == 0) choice = REVOLUTE;
        add_joints(&random, values, builder, cal_builder_add_body(builder, &body), &patterns[choice]);
    }
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(random, PARAMETERS, "a random tree of every kind of joint")
