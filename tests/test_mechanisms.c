// Accelerations of closed mechanisms against a dense solve of Lagrange's equations in extended precision
// (support_lagrange.h).
#include "support.h"
#include "support_lagrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// --- Mechanisms -----------------------------------------------------------------------------------------------------------

// Of the largest acceleration: rounding, times what the conditions of these mechanisms make of it. Measured: 2e-14 at most.
static const double MISFIT = 1e-12;

// After some motion, so that there are speeds, the simulation's accelerations are the reference's.
static void check(const cal_model* model, const char* name, double time) {
    const int n = cal_model_v_count(model);
    double* qdd = cal_test_numbers((size_t)n);
    cal_sim* sim = cal_test_open_sim(model, "rkf", 1e-10, NULL, 0.0);
    for (int look = 1; look <= 3; look++) {
        cal_test_advance_sim(sim, look * time);
        assert_int_equal(cal_sim_accelerations(sim, qdd), CAL_OK);
        cal_test_real* exact = cal_test_lagrange(model, cal_sim_q(sim), cal_sim_v(sim), 0.0);
        double error = 0.0, largest = 1.0;
        for (int i = 0; i < n; i++) {
            assert_true(isfinite(qdd[i]) && isfinite(exact[i]));
            error = fmax(error, fabs(qdd[i] - (double)exact[i]));
            largest = fmax(largest, fabs((double)exact[i]));
        }
        cal_test_expect_below(error, MISFIT * largest, "accelerations", name);
        free(exact);
    }
    cal_sim_destroy(sim);
    free(qdd);
}

static void test_mechanisms_have_the_accelerations_of_a_dense_solve(void** unused) {
    (void)unused;
    static const struct {
        const char* name;
        double time;
    } mechanisms[] = {{"bennett", 0.1},
                      {"bricard", 0.1},
                      {"sarrus:gravity=9.81", 0.05},
                      {"delta", 0.05},
                      {"scissor:n=8", 0.1},
                      {"scissor:n=8,length=0.001", 0.003},
                      {"track:n=12", 0.1},
                      {"net:wide=3,tall=3", 0.1},
                      {"fourbar:n=5", 0.05},
                      {"fourbar:n=5,length=0.001,speed=0.03", 0.0015},
                      {"ring:n=12", 0.1},
                      {"fivebar", 0.1},
                      {"slidercrank", 0.1}};
    for (size_t i = 0; i < sizeof mechanisms / sizeof mechanisms[0]; i++) {
        cal_model* model = cal_test_model(mechanisms[i].name);
        check(model, mechanisms[i].name, mechanisms[i].time);
        cal_model_destroy(model);
    }
}

// Six legs, each on a universal joint and with a slide along it, carry a platform on balls: 24 degrees of freedom, 18 rows.
static void test_a_stewart_platform_has_the_accelerations_of_a_dense_solve(void** unused) {
    (void)unused;
    cal_builder* builder;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, (const double[3]){0.0, 0.0, -9.81});
    cal_body_def body = cal_default_body_def();
    cal_joint_def joint = cal_default_joint_def();
    body.mass = 5.0, body.position[2] = 1.0, body.center[0] = 0.02;
    body.inertia[0] = 0.2, body.inertia[1] = 0.25, body.inertia[2] = 0.4;
    joint.kind = CAL_FREE;
    const int platform = cal_builder_add_body(builder, &body);
    cal_builder_add_joint(builder, platform, &joint);
    for (int leg = 0; leg < 6; leg++) {
        const double low = 1.05 * leg + (leg % 2) * 0.3, high = 1.05 * leg - (leg % 2) * 0.4;
        const double foot[3] = {cos(low), sin(low), 0.0}, ball[3] = {0.5 * cos(high), 0.5 * sin(high), 0.0};
        const double along[3] = {ball[0] - foot[0], ball[1] - foot[1], 1.0};
        const double length = sqrt(along[0] * along[0] + along[1] * along[1] + along[2] * along[2]);
        body = cal_default_body_def();
        memcpy(body.position, foot, sizeof foot);
        // The turn that takes z to the leg's direction, about their half.
        body.quaternion[0] = 1.0 + along[2] / length, body.quaternion[1] = -along[1] / length;
        body.quaternion[2] = along[0] / length, body.quaternion[3] = 0.0;
        body.mass = 0.5, body.center[2] = 0.3;
        body.inertia[0] = body.inertia[1] = 0.02, body.inertia[2] = 0.001;
        const int lower = cal_builder_add_body(builder, &body);
        joint = cal_default_joint_def();
        joint.axis[0] = 1.0, joint.axis[1] = joint.axis[2] = 0.0;
        cal_builder_add_joint(builder, lower, &joint);
        joint.axis[0] = 0.0, joint.axis[1] = 1.0;
        cal_builder_add_joint(builder, lower, &joint);
        body.parent = lower;
        memset(body.position, 0, sizeof body.position);
        body.quaternion[0] = 1.0, body.quaternion[1] = body.quaternion[2] = 0.0;
        body.position[2] = length;
        body.center[2] = -0.3;
        const int upper = cal_builder_add_body(builder, &body);
        joint = cal_default_joint_def();
        joint.kind = CAL_PRISMATIC;
        joint.axis[0] = joint.axis[1] = 0.0, joint.axis[2] = 1.0;
        joint.stiffness = 300.0, joint.damping = 4.0, joint.armature = 0.1;
        cal_builder_add_joint(builder, upper, &joint);
        cal_constraint_def loop = cal_default_constraint_def();
        loop.kind = CAL_LOOP_BALL;
        loop.body[0] = platform, loop.body[1] = upper;
        memcpy(loop.position[0], ball, sizeof ball);
        cal_builder_add_constraint(builder, &loop);
    }
    cal_model* model;
    cal_error error;
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    check(model, "Stewart platform", 0.1);
    cal_model_destroy(model);
}

// A link from its parent's `at` on, turned by an angle about y.
static int add_link(cal_builder* builder, int parent, double at, double angle, double length) {
    cal_body_def body = cal_default_body_def();
    cal_joint_def hinge = cal_default_joint_def();
    body.parent = parent;
    body.position[0] = at;
    body.quaternion[0] = cos(0.5 * angle), body.quaternion[2] = sin(0.5 * angle);
    body.mass = 10.0 * length * length * length;
    body.center[0] = 0.5 * length;
    body.inertia[0] = body.mass * length * length / 1200.0;
    body.inertia[1] = body.inertia[2] = 100.0 * body.inertia[0];
    hinge.axis[0] = hinge.axis[2] = 0.0, hinge.axis[1] = 1.0;
    const int number = cal_builder_add_body(builder, &body);
    cal_builder_add_joint(builder, number, &hinge);
    return number;
}

// Rhombi in one tree, each at the end of the last one: loops that pass flat positions, a row each of which depends on the others. What
// evaluations they take does not depend on the unit of length, for as long as a link would fall through its own length a few times.
static int64_t follow_rhombi(int count, double length) {
    cal_builder* builder;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, (const double[3]){0.0, 0.0, -9.81});
    int corner = add_link(builder, CAL_GROUND, 0.0, 0.0, length);
    for (int i = 0; i < count; i++) {
        const double half = 0.4 + 0.3 * (i * 7 % 10) / 10.0;
        const int a = add_link(builder, corner, length, -half, length),
                  b = add_link(builder, corner, length, half, length);
        const int d = add_link(builder, b, length, -2.0 * half, length);
        cal_constraint_def loop = cal_default_constraint_def();
        corner = add_link(builder, a, length, 2.0 * half, length);
        loop.kind = CAL_LOOP_BALL;
        loop.body[0] = corner, loop.body[1] = d;
        loop.position[0][0] = loop.position[1][0] = length;
        cal_builder_add_constraint(builder, &loop);
    }
    cal_model* model;
    cal_error error;
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    const double time = sqrt(length);
    check(model, length < 1.0 ? "small rhombi" : "rhombi", 0.1 * time);
    cal_sim* sim = cal_test_open_sim(model, "gear", 1e-6, NULL, 0.0);
    cal_sim_report report;
    cal_test_advance_sim(sim, time);
    cal_sim_get_report(sim, &report);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    return report.evaluations;
}

static void test_rhombi_of_a_millimetre_are_followed_as_those_of_a_metre(void** unused) {
    (void)unused;
    const int64_t large = follow_rhombi(12, 1.0), small = follow_rhombi(12, 0.001);
    assert_true(small < 2 * large);
}

// A four-bar that falls, closed by a hinge at the ground: in any unit its loop is closed to the same part of its size, so that bdf takes as many evaluations.
static int64_t follow_four_bar(double length, double* angle) {
    static const double sizes[3] = {1.0, 1.6, 0.8}, turns[3] = {-0.7, 1.0, 2.6};
    cal_builder* builder;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, (const double[3]){0.0, 0.0, -9.81});
    double end[2] = {0.0, 0.0}, direction = 0.0; // x and z
    int link = CAL_GROUND;
    for (int i = 0; i < 3; i++) {
        link = add_link(builder, link, i == 0 ? 0.0 : sizes[i - 1] * length, turns[i], sizes[i] * length);
        direction += turns[i];
        end[0] += sizes[i] * length * cos(direction), end[1] -= sizes[i] * length * sin(direction);
    }
    cal_constraint_def loop = cal_default_constraint_def();
    loop.kind = CAL_LOOP_REVOLUTE;
    loop.body[0] = link, loop.body[1] = CAL_GROUND;
    loop.position[0][0] = sizes[2] * length, loop.position[1][0] = end[0], loop.position[1][2] = end[1];
    for (int side = 0; side < 2; side++) loop.quaternion[side][0] = sqrt(0.5), loop.quaternion[side][1] = -sqrt(0.5);
    cal_builder_add_constraint(builder, &loop);
    cal_model* model;
    cal_error error;
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    cal_sim* sim = cal_test_open_sim(model, "bdf", 1e-9, NULL, 0.0);
    cal_sim_report report;
    cal_test_advance_sim(sim, 2.0 * sqrt(length));
    cal_sim_get_report(sim, &report);
    *angle = cal_sim_q(sim)[0];
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    return report.evaluations;
}

static void test_small_loops_are_followed_as_large_ones(void** unused) {
    (void)unused;
    double large, small;
    if (!cal_solver_help("bdf")) return;
    const int64_t most = follow_four_bar(1.0, &large);
    static const double lengths[] = {1e-3, 1e-4, 1e-5, 1e-6};
    for (int i = 0; i < 4; i++) {
        const int64_t taken = follow_four_bar(lengths[i], &small);
        assert_true(taken < most + most / 2);
        cal_test_expect_below(fabs(small - large), 1e-6, "angle", "a small four-bar");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mechanisms_have_the_accelerations_of_a_dense_solve),
        cmocka_unit_test(test_a_stewart_platform_has_the_accelerations_of_a_dense_solve),
        cmocka_unit_test(test_rhombi_of_a_millimetre_are_followed_as_those_of_a_metre),
        cmocka_unit_test(test_small_loops_are_followed_as_large_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
