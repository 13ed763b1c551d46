// Many loops in one tree, closed in the order of the tree: against assembly, which closes them another way; connecting and letting
// go; redundant rows; motion.
#include "constraint/constraint.h"
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool in_order_of_tree(const cal_model* model) {
    cal_constraints* set = NULL;
    assert_int_equal(cal_constraints_create(model, &set), CAL_OK);
    const bool out = set->loops;
    cal_constraints_destroy(set);
    return out;
}

static cal_sim* open_sim(const cal_model* model, const char* algorithm, double tolerance) {
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    cal_error error;
    def.algorithm = algorithm;
    def.relative = tolerance;
    if (cal_sim_create(model, &def, &sim, &error)) fail_msg("%s", error.text);
    return sim;
}

// Where a mechanism is after a while, with joint forces of all sizes.
static void agrees_with_assembly(void** state) {
    (void)state;
    static const char* const names[] = {"tower:n=30", "tower:n=59,lean=0.4", "scissor:n=40", "scissor:n=60,angle=0.5"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cal_model* model = cal_test_model(names[i]);
        assert_true(in_order_of_tree(model));
        const size_t n = (size_t)cal_model_v_count(model);
        double *tau = cal_test_numbers(n), *own = cal_test_numbers(n), *other = cal_test_numbers(n);
        cal_sim *sim = open_sim(model, "aba", 1e-8), *with = open_sim(model, "aba", 1e-8);
        cal_error error;
        for (size_t k = 0; k < n; k++) tau[k] = 30.0 * sin(1.0 + 1.7 * (double)k);
        assert_int_equal(cal_sim_drive(sim, tau, NULL, NULL), CAL_OK);
        if (cal_sim_advance(sim, 0.02, &error)) fail_msg("%s: %s", names[i], error.text);
        assert_int_equal(cal_sim_accelerations(sim, own), CAL_OK);
        cal_test_engine assembly = cal_test_open(model, "assembly", 0);
        assert_int_equal(cal_state_set(assembly.state, CAL_Q, cal_sim_q(sim)), CAL_OK);
        assert_int_equal(cal_state_set(assembly.state, CAL_V, cal_sim_v(sim)), CAL_OK);
        assert_int_equal(cal_state_set(assembly.state, CAL_TAU, tau), CAL_OK);
        assert_int_equal(cal_state_hold(assembly.state, 0, 0), CAL_OK);
        cal_test_execute(&assembly);
        assert_int_equal(cal_state_get(assembly.state, CAL_QDD, other), CAL_OK);
        const double scale = cal_test_largest(other, n);
        cal_test_expect_below(cal_test_largest_difference(own, other, n), 1e-8 * scale, "accelerations", names[i]);
        cal_constraint_report c;
        assert_int_equal(cal_sim_constraints(sim, &c), CAL_OK);
        assert_int_equal(c.rank, c.rows);
        cal_test_expect_below(c.error_max, 1e-12, "loops", names[i]);
        cal_test_close(&assembly);
        cal_sim_destroy(sim), cal_sim_destroy(with);
        free(tau), free(own), free(other);
        cal_model_destroy(model);
    }
}

// Loops that are let go do not act, whatever is closed above and below them.
static void lets_go(void** state) {
    (void)state;
    cal_model* model = cal_test_model("tower:n=40");
    assert_true(in_order_of_tree(model));
    const size_t n = (size_t)cal_model_v_count(model);
    double *own = cal_test_numbers(n), *other = cal_test_numbers(n);
    cal_sim *sim = open_sim(model, "aba", 1e-8), *with = open_sim(model, "assembly", 1e-8);
    static const int gone[] = {0, 17, 18, 39};
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++) {
        assert_int_equal(cal_sim_disconnect(sim, gone[i], NULL), CAL_OK);
        assert_int_equal(cal_sim_disconnect(with, gone[i], NULL), CAL_OK);
    }
    assert_int_equal(cal_sim_connect(sim, 18, CAL_CONNECT_SMOOTH, NULL), CAL_OK);
    assert_int_equal(cal_sim_connect(with, 18, CAL_CONNECT_SMOOTH, NULL), CAL_OK);
    assert_int_equal(cal_sim_advance(sim, 0.05, NULL), CAL_OK);
    assert_int_equal(cal_sim_advance(with, 0.05, NULL), CAL_OK);
    cal_test_expect_below(cal_test_largest_difference(cal_sim_q(sim), cal_sim_q(with), n), 1e-8, "positions", "tower");
    free(own), free(other);
    cal_sim_destroy(sim), cal_sim_destroy(with);
    cal_model_destroy(model);
}

// A tower whose loops are hinges: three of the five rows of each follow from the tree's own plane. The motion is that of two rows.
static void redundant_rows_are_dropped(void** state) {
    (void)state;
    cal_model *plain = cal_test_model("tower:n=20"), *model = NULL;
    cal_builder* builder = cal_test_same_bodies(plain);
    cal_error error;
    for (int i = 0; i < cal_model_joint_count(plain); i++) {
        cal_joint_def joint;
        int body;
        cal_model_joint(plain, i, &joint, &body, NULL, NULL);
        cal_builder_add_joint(builder, body, &joint);
    }
    for (int i = 0; i < cal_model_constraint_count(plain); i++) {
        cal_constraint_def def;
        cal_model_constraint(plain, i, &def);
        def.kind = CAL_LOOP_REVOLUTE;
        cal_builder_add_constraint(builder, &def);
    }
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    assert_true(in_order_of_tree(model));
    const size_t n = (size_t)cal_model_v_count(model);
    cal_sim *sim = open_sim(model, "aba", 1e-8), *with = open_sim(plain, "aba", 1e-8);
    if (cal_sim_advance(sim, 0.1, &error)) fail_msg("%s", error.text);
    if (cal_sim_advance(with, 0.1, &error)) fail_msg("%s", error.text);
    cal_constraint_report c;
    assert_int_equal(cal_sim_constraints(sim, &c), CAL_OK);
    assert_int_equal(c.rows, 100);
    assert_int_equal(c.rank, 40);
    cal_test_expect_below(cal_test_largest_difference(cal_sim_q(sim), cal_sim_q(with), n), 1e-7, "positions", "hinges");
    cal_sim_destroy(sim), cal_sim_destroy(with);
    cal_model_destroy(model), cal_model_destroy(plain);
}

// A thousand loops in one tree run.
static void a_thousand_loops_run(void** state) {
    (void)state;
    cal_model* model = cal_test_model("tower:n=1000");
    cal_sim* sim = open_sim(model, "aba", 1e-6);
    cal_error error;
    cal_constraint_report c;
    if (cal_sim_advance(sim, 0.001, &error)) fail_msg("%s", error.text);
    assert_int_equal(cal_sim_constraints(sim, &c), CAL_OK);
    assert_int_equal(c.rank, 2000);
    cal_test_expect_below(c.error_max, 1e-10, "loops", "tower:n=1000");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_assembly),
        cmocka_unit_test(lets_go),
        cmocka_unit_test(redundant_rows_are_dropped),
        cmocka_unit_test(a_thousand_loops_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
