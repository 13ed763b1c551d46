// Agreement with another engine: accelerations, poses and energies of random states, against MuJoCo.
#include <math.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "mjcf.h"

enum { STATES = 5 };
static const double tolerance = 1e-9; // relative to the largest component

typedef struct numbers {
    double *q, *v, *tau, *calder, *mujoco; // the last two: whatever is compared
} numbers;

static numbers numbers_create(const peer_tree* tree) {
    const size_t most = (size_t)(7 * tree->body_count + 7 * tree->joint_count + 1);
    numbers n;
    double** const all[] = {&n.q, &n.v, &n.tau, &n.calder, &n.mujoco};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *all[i] = calloc(most, sizeof(double));
        assert_non_null(*all[i]);
    }
    return n;
}

static void numbers_destroy(numbers* n) {
    free(n->q);
    free(n->v);
    free(n->tau);
    free(n->calder);
    free(n->mujoco);
}

static void assert_equal(const char* model, const char* what, const double* a, const double* b, int count) {
    double scale = 0.0, difference = 0.0;
    int worst = 0;
    for (int i = 0; i < count; i++) {
        const double here = fabs(a[i] - b[i]);
        scale = fmax(scale, fabs(b[i]));
        if (!(here <= difference)) difference = here, worst = i;
    }
    if (!(difference <= tolerance * fmax(scale, 1e-6)))
        fail_msg("%s: %s %d of %d is %.17g, MuJoCo has %.17g (largest %g)", model, what, worst, count, a[worst],
                 b[worst], scale);
}

// q and -q are one rotation.
static void align_signs(double* poses, const double* like, int body_count) {
    for (int i = 0; i < body_count; i++) {
        double* const q = poses + 7 * i + 3;
        const double* const p = like + 7 * i + 3;
        if (q[0] * p[0] + q[1] * p[1] + q[2] * p[2] + q[3] * p[3] < 0.0)
            for (int k = 0; k < 4; k++) q[k] = -q[k];
    }
}

static void get_from_calder(const cal_model* model, cal_machine* machine, const char* algorithm, const numbers* n,
                            cal_field field, double* out) {
    cal_error error = {CAL_OK, ""};
    cal_plan* plan = NULL;
    cal_state* state = NULL;
    if (cal_plan_create(model, algorithm, machine, &plan, &error)) fail_msg("%s", error.text);
    assert_int_equal(cal_state_create(plan, &state), CAL_OK);
    assert_int_equal(cal_state_set(state, CAL_Q, n->q), CAL_OK);
    assert_int_equal(cal_state_set(state, CAL_V, n->v), CAL_OK);
    if (field == CAL_QDD) assert_int_equal(cal_state_set(state, CAL_TAU, n->tau), CAL_OK);
    if (cal_plan_execute(plan, state, &error)) fail_msg("%s", error.text);
    assert_int_equal(cal_state_get(state, field, out), CAL_OK);
    cal_state_destroy(state);
    cal_plan_destroy(plan);
}

static void agrees_with_mujoco(const cal_model* model, const char* name) {
    cal_error error = {CAL_OK, ""};
    cal_machine* machine = NULL;
    assert_int_equal(cal_machine_serial(0, &machine, &error), CAL_OK);
    peer_tree tree;
    assert_int_equal(peer_tree_create(model, &tree), CAL_OK);
    peer_mujoco* mujoco = NULL;
    if (peer_mujoco_create(&tree, &mujoco, &error)) fail_msg("%s: %s", name, error.text);
    numbers n = numbers_create(&tree);
    for (uint64_t seed = 1; seed <= STATES; seed++) {
        peer_random_state(&tree, seed, n.q, n.v, n.tau);
        peer_mujoco_set(mujoco, n.q, n.v, n.tau);
        peer_mujoco_evaluate(mujoco);

        get_from_calder(model, machine, "aba", &n, CAL_QDD, n.calder);
        peer_mujoco_get(mujoco, n.mujoco);
        assert_equal(name, "acceleration", n.calder, n.mujoco, tree.v_count);

        get_from_calder(model, machine, "kinematics", &n, CAL_POSE, n.calder);
        peer_mujoco_poses(mujoco, n.mujoco);
        align_signs(n.calder, n.mujoco, tree.body_count);
        assert_equal(name, "pose component", n.calder, n.mujoco, 7 * tree.body_count);

        get_from_calder(model, machine, "energy", &n, CAL_ENERGY, n.calder);
        peer_mujoco_energy(mujoco, &n.mujoco[0], &n.mujoco[1]);
        assert_equal(name, "kinetic energy", n.calder, n.mujoco, 1);
        assert_equal(name, "potential energy", n.calder + 1, n.mujoco + 1, 1);
    }
    numbers_destroy(&n);
    peer_mujoco_destroy(mujoco);
    peer_tree_destroy(&tree);
    cal_machine_destroy(machine);
}

static void generated_models_agree(void** test) {
    const char* const specification = *test;
    cal_error error = {CAL_OK, ""};
    cal_model* model = NULL;
    if (cal_model_generate(specification, &model, &error)) fail_msg("%s", error.text);
    agrees_with_mujoco(model, specification);
    cal_model_destroy(model);
}

// Everything that a joint can have at once: several joints on one body, anchors and zeros, springs, dampers, rotors, a
// servo, a body that is fixed, and children that were added before their parents.
static void everything_at_once_agrees(void** test) {
    (void)test;
    cal_builder* builder = NULL;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, (const double[3]){0.3, -0.4, -9.7});
    cal_body_def body = cal_default_body_def();
    body.mass = 1.5;
    const double inertia[6] = {0.05, 0.06, 0.07, 0.004, -0.003, 0.002}, center[3] = {0.02, -0.03, 0.1};
    for (int k = 0; k < 6; k++) body.inertia[k] = inertia[k];
    for (int k = 0; k < 3; k++) body.center[k] = center[k];
    const int parents[] = {3, 0, CAL_GROUND, 2, 1, 0};
    const double turns[][4] = {{0.9, 0.1, -0.2, 0.3}, {1, 0, 0, 0}, {0.2, 0.3, 0.4, 0.8},
                               {0.5, 0.5, -0.5, 0.5}, {1, 1, 0, 0}, {0.7, 0, 0.7, 0}};
    for (int i = 0; i < 6; i++) {
        body.parent = parents[i];
        body.mass += 0.1;
        for (int k = 0; k < 3; k++) body.position[k] = 0.1 * (i + 1) - 0.15 * k;
        for (int k = 0; k < 4; k++) body.quaternion[k] = turns[i][k];
        assert_int_equal(cal_builder_add_body(builder, &body), i);
    }
    const struct {
        int body;
        cal_joint_kind kind;
        double axis[3];
    } joints[] = {{2, CAL_FREE, {0, 0, 1}},      {4, CAL_PRISMATIC, {1, 1, 0}}, {3, CAL_REVOLUTE, {1, 2, 3}},
                  {3, CAL_REVOLUTE, {0, 1, 0}},  {3, CAL_PRISMATIC, {0, 1, 1}}, {0, CAL_BALL, {0, 0, 1}},
                  {4, CAL_REVOLUTE, {-1, 0, 2}}, {5, CAL_PRISMATIC, {1, 0, 0}}, {5, CAL_BALL, {0, 0, 1}}};
    for (size_t i = 0; i < sizeof joints / sizeof *joints; i++) {
        cal_joint_def joint = cal_default_joint_def();
        const bool has_one_degree = joints[i].kind == CAL_REVOLUTE || joints[i].kind == CAL_PRISMATIC;
        joint.kind = joints[i].kind;
        joint.damping = 0.1 + 0.05 * (double)i;
        joint.armature = 0.01 * (double)i;
        if (joint.kind != CAL_FREE) joint.stiffness = 0.4 * (double)i;
        for (int k = 0; k < 3; k++) {
            joint.axis[k] = joints[i].axis[k];
            if (joint.kind != CAL_FREE) joint.anchor[k] = 0.03 * (k + 1) - 0.02 * (double)i;
        }
        if (has_one_degree) joint.zero = 0.2, joint.spring_reference = -0.3;
        assert_int_equal(cal_builder_add_joint(builder, joints[i].body, &joint), (int)i);
    }
    cal_actuator_def servo = cal_default_actuator_def();
    servo.joint = 3;
    servo.gear = 2.0;
    servo.gain = 5.0;
    servo.bias[0] = 0.1, servo.bias[1] = -5.0, servo.bias[2] = -0.4;
    servo.control_range[0] = -1.0, servo.control_range[1] = 0.5;
    servo.force_range[0] = -3.0, servo.force_range[1] = 4.0;
    servo.initial_control = 0.7;
    assert_int_equal(cal_builder_add_actuator(builder, &servo), 0);
    cal_error error = {CAL_OK, ""};
    cal_model* model = NULL;
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    agrees_with_mujoco(model, "everything at once");
    cal_model_destroy(model);
    cal_builder_destroy(builder);
}

#define GENERATED(specification)                                                                                       \
    { specification, generated_models_agree, NULL, NULL, (void*)(uintptr_t)(specification) }

int main(void) {
    const struct CMUnitTest tests[] = {
        GENERATED("chain:n=20"),
        GENERATED("pendulum"),
        GENERATED("mobile:s=2,l=3,o=4,plateau=printed,start=0.8"),
        GENERATED("stickman"),
        GENERATED("humanoid"),
        GENERATED("figure:dof=34"),
        GENERATED("figure:dof=48"),
        GENERATED("random:n=30"),
        GENERATED("random:n=60,seed=2,passive=1"),
        cmocka_unit_test(everything_at_once_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
