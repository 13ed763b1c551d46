// Motions that pass a singular position by the side: a parallelogram whose lengths were rounded, as those of most files are. Its two motions, as a parallelogram
// and as a crossed one, do not meet where it is flat: it turns from one to the other within c = √(gap) or so, in microseconds.
#include "support.h"

#include <math.h>
#include <stdio.h>

// A bar on a hinge about y, at (x, 0, 0) of its parent.
static int add_bar(cal_builder* builder, int parent, double x, double angle, double length, double speed,
                   double damping) {
    cal_body_def body = cal_default_body_def();
    cal_joint_def hinge = cal_default_joint_def();
    body.parent = parent;
    body.position[0] = x;
    body.quaternion[0] = cos(0.5 * angle), body.quaternion[2] = sin(0.5 * angle);
    body.mass = 1.0;
    body.center[0] = 0.5 * length;
    body.inertia[1] = body.inertia[2] = length * length / 12.0;
    body.inertia[0] = 0.01 * body.inertia[1];
    hinge.axis[0] = hinge.axis[2] = 0.0, hinge.axis[1] = 1.0;
    hinge.initial_v[0] = speed;
    hinge.damping = damping;
    const int number = cal_builder_add_body(builder, &body);
    cal_builder_add_joint(builder, number, &hinge);
    return number;
}

// Cranks of 1 m, 1.5 m apart, and a coupler that is longer by `gap`.
static cal_model* make_parallelogram(double gap, double damping) {
    static const double START = -0.7, SPEED = 9.0;
    cal_builder* builder = cal_test_builder(9.81);
    const int left = add_bar(builder, CAL_GROUND, 0.0, START, 1.0, SPEED, damping),
              coupler = add_bar(builder, left, 1.0, -START, 1.5 + gap, 0.0, 0.0),
              right = add_bar(builder, CAL_GROUND, 1.5, START, 1.0, 0.0, damping);
    cal_constraint_def pin = cal_default_constraint_def();
    pin.kind = CAL_ROWS, pin.rows = CAL_ROW_X | CAL_ROW_Z;
    pin.body[0] = coupler, pin.body[1] = right;
    pin.position[0][0] = 1.5 + gap, pin.position[1][0] = 1.0;
    cal_builder_add_constraint(builder, &pin);
    return cal_test_finish(builder);
}

// From the start to 0.3 s; q: where it is then.
static void turn(double gap, const char* solver, double tolerance, double* q) {
    cal_model* model = make_parallelogram(gap, 0.0);
    cal_sim* sim = cal_test_open_sim(model, solver, tolerance, NULL, 0.0);
    cal_error error;
    double before[2], after[2];
    char name[80];
    if (cal_sim_project(sim, &error)) fail_msg("%s", error.text);
    assert_int_equal(cal_sim_energy(sim, &before[0], &before[1]), CAL_OK);
    cal_test_advance_sim(sim, 0.3);
    assert_int_equal(cal_sim_energy(sim, &after[0], &after[1]), CAL_OK);
    snprintf(name, sizeof name, "%g m, %s at %g", gap, solver, tolerance);
    // Measured: 4e-4.
    cal_test_expect_below(fabs((after[0] + after[1]) - (before[0] + before[1])), 2e-3 * before[0], "energy", name);
    for (int i = 0; i < 3; i++) q[i] = cal_sim_q(sim)[i];
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

static void test_a_parallelogram_that_is_rounded_keeps_its_energy(void** unused) {
    (void)unused;
    static const double gaps[] = {-1e-8, 1e-9, 1e-10};
    double q[3];
    for (size_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++) {
        turn(gaps[i], "gear", 1e-6, q);
        turn(gaps[i], "rkf", 1e-6, q);
    }
}

// It turns into the crossed motion and back as the lengths say: what two tolerances find comes together.
static void test_a_parallelogram_that_is_rounded_turns_where_it_is_flat(void** unused) {
    (void)unused;
    double coarse[3], fine[3];
    turn(1e-8, "gear", 1e-6, coarse);
    turn(1e-8, "gear", 1e-8, fine);
    cal_test_expect_below(cal_test_largest_difference(coarse, fine, 3), 1e-3, "angles at two tolerances", "1e-8 m");
    assert_true(fabs(fine[1] + fine[0]) > 0.1); // a parallelogram's coupler does not turn
}

// What dampers take while a position is passed is not what the passage changed.
static void test_a_passage_is_not_blamed_for_what_dampers_take(void** unused) {
    (void)unused;
    static const char* const solvers[] = {"gear", "rkf", "bdf"};
    for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++) {
        if (!cal_solver_help(solvers[i])) continue;
        cal_model* model = make_parallelogram(0.0, 0.5);
        cal_sim* sim = cal_test_open_sim(model, solvers[i], 1e-8, NULL, 0.0);
        cal_constraint_report report;
        cal_energy_balance balance;
        cal_error error;
        if (cal_sim_project(sim, &error)) fail_msg("%s", error.text);
        cal_test_advance_sim(sim, 0.3);
        assert_int_equal(cal_sim_constraints(sim, &report), CAL_OK);
        assert_int_equal(cal_sim_balance(sim, &balance), CAL_OK);
        assert_true(report.singular_count > 0 && balance.loss > 1.0);
        cal_test_expect_below(fabs(report.singular[0].energy), 1e-5 * balance.exchanged, "a passage's energy",
                              solvers[i]);
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_passage_is_not_blamed_for_what_dampers_take),
        cmocka_unit_test(test_a_parallelogram_that_is_rounded_keeps_its_energy),
        cmocka_unit_test(test_a_parallelogram_that_is_rounded_turns_where_it_is_flat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
