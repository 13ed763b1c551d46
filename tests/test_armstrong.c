// Armstrong's algorithm gives what the articulated-body algorithm gives, and its check knows a right answer from a
// wrong one.
#include "support.h"
#include "pass/armstrong.h"
#include "plan/plan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char* const names[] = {"stickman",
                                    "tree:height=4,fanout=3,joint=ball",
                                    "tree:height=3,fanout=7,joint=ball",
                                    "chain:n=20,joint=ball",
                                    "chain:n=1,joint=ball",
                                    "random:n=40,seed=7,joints=ball",
                                    "random:n=90,seed=11,joints=ball,branching=1,passive=1"};

// A free body from which chains of 1, 2, … 7 links hang: lanes die on the way down.
static cal_model* make_comb(void) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error;
    cal_body_def link = cal_default_body_def();
    cal_joint_def joint = cal_default_joint_def();
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    link.mass = 1.0, link.center[2] = -0.25;
    for (int i = 0; i < 3; i++) link.inertia[i] = 0.02 + 0.005 * i;
    joint.kind = CAL_FREE;
    const int root = cal_builder_add_body(builder, &link);
    cal_builder_add_joint(builder, root, &joint);
    joint.kind = CAL_BALL;
    for (int chain = 1; chain <= 7; chain++) {
        link.parent = root;
        link.position[0] = 0.1 * chain, link.position[2] = 0.0;
        for (int i = 0; i < chain; i++) {
            joint.initial_v[i % 3] = 0.3 * chain;
            cal_builder_add_joint(builder, link.parent = cal_builder_add_body(builder, &link), &joint);
            link.position[0] = 0.0, link.position[2] = -0.5;
        }
    }
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

// Runs a check on the models, as they are and with dampers, springs and armature.
static void on_every_tree(cal_test_check* check) {
    const size_t count = sizeof names / sizeof names[0];
    for (size_t i = 0; i <= count; i++) {
        const char* name = i < count ? names[i] : "comb";
        cal_model* model = i < count ? cal_test_model(name) : make_comb();
        cal_model* dressed = cal_test_dress(model, i + 1);
        check(model, name);
        check(dressed, name);
        cal_model_destroy(dressed);
        cal_model_destroy(model);
    }
}

// A motion at random; even seeds are pushed as well.
static cal_test_engine execute(const cal_model* model, const char* algorithm, int lanes, uint64_t seed) {
    cal_test_engine engine = cal_test_open(model, algorithm, lanes);
    cal_test_motion motion = cal_test_random_motion(model, seed);
    cal_test_load(&engine, &motion);
    if (seed % 2 == 0) cal_test_push(&engine, seed);
    cal_test_execute(&engine);
    cal_test_motion_free(&motion);
    return engine;
}

static double* get_accelerations(const cal_test_engine* engine) {
    double* out = cal_test_numbers((size_t)cal_model_v_count(engine->model));
    assert_int_equal(cal_state_get(engine->state, CAL_QDD, out), CAL_OK);
    return out;
}

static void check_against_aba(const cal_model* model, const char* name) {
    const size_t size = (size_t)cal_model_v_count(model);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        cal_test_engine other = execute(model, "aba", 1, seed);
        double* expected = get_accelerations(&other);
        for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) {
            cal_test_engine engine = execute(model, "armstrong", lanes, seed);
            double* qdd = get_accelerations(&engine);
            cal_test_expect_below(cal_test_largest_difference(qdd, expected, size) / cal_test_largest(expected, size),
                                  1e-10, "difference to aba", name);
            free(qdd);
            cal_test_close(&engine);
        }
        free(expected);
        cal_test_close(&other);
    }
}

static void check_lanes(const cal_model* model, const char* name) {
    const size_t size = (size_t)cal_model_v_count(model);
    for (uint64_t seed = 1; seed <= 2; seed++) {
        double* first = NULL;
        for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) {
            cal_test_engine engine = execute(model, "armstrong", lanes, seed);
            double* qdd = get_accelerations(&engine);
            if (!first)
                first = qdd;
            else if (memcmp(first, qdd, size * sizeof(double)))
                fail_msg("%s: accelerations differ with %d lanes", name, lanes);
            if (qdd != first) free(qdd);
            cal_test_close(&engine);
        }
        free(first);
    }
}

static cal_sim* simulate(const cal_model* model, const char* solver, const char* algorithm, cal_machine* machine,
                         double tolerance, double time) {
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    cal_error error;
    def.solver = solver;
    def.algorithm = algorithm;
    def.machine = machine;
    def.relative = tolerance;
    if (cal_sim_create(model, &def, &sim, &error) || cal_sim_advance(sim, time, &error))
        fail_msg("%s: %s", solver, error.text);
    return sim;
}

static void test_accelerations_are_those_of_aba(void** unused) {
    (void)unused;
    on_every_tree(check_against_aba);
}

static void test_accelerations_do_not_depend_on_lanes(void** unused) {
    (void)unused;
    on_every_tree(check_lanes);
    cal_model* model = cal_test_model("chain:n=1001,joint=ball");
    check_lanes(model, "chain:n=1001,joint=ball");
    cal_model_destroy(model);
}

static void test_every_solver_gives_the_trajectory_of_aba(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("stickman");
    cal_model* dressed = cal_test_dress(model, 3);
    const size_t size = (size_t)cal_model_q_count(dressed);
    for (int i = 0; cal_solver_name(i); i++) {
        if (strcmp(cal_solver_name(i), "implicit") == 0) continue; // for aba alone, as test_stiff.c says
        cal_sim* expected = simulate(dressed, cal_solver_name(i), "aba", NULL, 1e-8, 0.3);
        cal_sim* sim = simulate(dressed, cal_solver_name(i), "armstrong", NULL, 1e-8, 0.3);
        cal_test_expect_below(cal_test_largest_difference(cal_sim_q(sim), cal_sim_q(expected), size), 1e-7,
                              "difference to aba", cal_solver_name(i));
        cal_sim_destroy(sim);
        cal_sim_destroy(expected);
    }
    cal_model_destroy(dressed);
    cal_model_destroy(model);
}

// Dead lanes stay at rest, so that the solver's sums see nothing of them.
static void check_simulation_lanes(const cal_model* model, const char* name) {
    uint64_t hash = 0;
    for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) {
        cal_machine* machine = NULL;
        assert_int_equal(cal_machine_serial(lanes, &machine, NULL), CAL_OK);
        cal_sim* sim = simulate(model, "gear", "armstrong", machine, 1e-3, 0.02);
        if (lanes == 1) hash = cal_sim_hash(sim);
        if (cal_sim_hash(sim) != hash) fail_msg("%s: the simulation differs with %d lanes", name, lanes);
        cal_sim_destroy(sim);
        cal_machine_destroy(machine);
    }
}

static void test_simulations_do_not_depend_on_lanes(void** unused) {
    (void)unused;
    on_every_tree(check_simulation_lanes);
}

// The fast band after a slow one that saw other hinge torques is the whole evaluation, to the bit: torques are fast.
static void check_bands(const cal_model* model, const char* name) {
    const size_t size = (size_t)cal_model_v_count(model);
    for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) {
        cal_test_engine whole = execute(model, "armstrong", lanes, 2), banded = execute(model, "armstrong", lanes, 2);
        double *tau = cal_test_numbers(size), *expected = get_accelerations(&whole);
        assert_int_equal(cal_state_get(banded.state, CAL_TAU, tau), CAL_OK);
        for (size_t i = 0; i < size; i++) tau[i] += 1.0 + (double)i;
        assert_int_equal(cal_state_set(banded.state, CAL_TAU, tau), CAL_OK);
        banded.state->context.reuse = CAL_REUSE_KEEP;
        cal_test_execute(&banded);
        double* other = get_accelerations(&banded);
        assert_int_equal(cal_state_get(whole.state, CAL_TAU, tau), CAL_OK);
        assert_int_equal(cal_state_set(banded.state, CAL_TAU, tau), CAL_OK);
        banded.state->context.reuse = CAL_REUSE_KEPT;
        cal_test_execute(&banded);
        double* qdd = get_accelerations(&banded);
        assert_true(cal_test_largest_difference(other, expected, size) > 0.0);
        if (memcmp(qdd, expected, size * sizeof(double)))
            fail_msg("%s: the fast band differs with %d lanes", name, lanes);
        free(tau), free(expected), free(other), free(qdd);
        cal_test_close(&whole), cal_test_close(&banded);
    }
}

static void test_fast_band_solves_for_new_torques(void** unused) {
    (void)unused;
    on_every_tree(check_bands);
}

// Positions are slow: with them grown old by a step of 1 ms, the accelerations are nearly right, and not quite.
static void test_slow_band_grows_old(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("stickman");
    const size_t size = (size_t)cal_model_v_count(model);
    cal_test_engine whole = execute(model, "armstrong", 0, 1), banded = execute(model, "armstrong", 0, 1);
    cal_test_motion motion = cal_test_random_motion(model, 1);
    banded.state->context.reuse = CAL_REUSE_KEEP;
    cal_test_execute(&banded);
    double* q = cal_test_numbers((size_t)cal_model_q_count(model));
    cal_test_displace(model, motion.q, motion.v, 1e-3, q);
    cal_state_set(whole.state, CAL_Q, q), cal_state_set(banded.state, CAL_Q, q);
    banded.state->context.reuse = CAL_REUSE_KEPT;
    cal_test_execute(&whole), cal_test_execute(&banded);
    double *expected = get_accelerations(&whole), *qdd = get_accelerations(&banded);
    const double error = cal_test_largest_difference(qdd, expected, size) / cal_test_largest(expected, size);
    assert_true(error > 1e-6 && error < 1e-2);
    free(q), free(expected), free(qdd);
    cal_test_motion_free(&motion);
    cal_test_close(&whole), cal_test_close(&banded);
    cal_model_destroy(model);
}

// What is checked in a run with a slow band is what was computed: its accelerations are off by what the band's age makes, and more with
// a longer one.
static void test_a_slow_band_is_checked_as_computed(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("chain:n=3,joint=ball,start=0.8");
    double residual[3];
    for (int i = 0; i < 3; i++) {
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim = NULL;
        int body;
        def.solver = "rk4", def.algorithm = "armstrong", def.slow_band = i == 0 ? 1 : i == 1 ? 5 : 50;
        assert_int_equal(cal_sim_create(model, &def, &sim, NULL), CAL_OK);
        assert_int_equal(cal_sim_advance(sim, 0.5 + 0.0485, NULL), CAL_OK);
        assert_int_equal(cal_sim_check(sim, &residual[i], &body), CAL_OK);
        cal_sim_destroy(sim);
    }
    assert_true(residual[0] < 1e-12 && residual[1] > 1e-6 && residual[2] > 2.0 * residual[1]);
    cal_model_destroy(model);
}

static void test_other_joints_are_refused(void** unused) {
    (void)unused;
    static const struct {
        const char *model, *names;
    } wrong[] = {{"chain:n=3", "revolute"}, {"chain:n=2,joint=prismatic", "prismatic"}, {"humanoid", "joint '"}};
    cal_machine* machine = NULL;
    assert_int_equal(cal_machine_serial(1, &machine, NULL), CAL_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cal_model* model = cal_test_model(wrong[i].model);
        cal_plan* plan = NULL;
        cal_error error;
        assert_int_equal(cal_plan_create(model, "armstrong", machine, &plan, &error), CAL_BAD_MODEL);
        assert_null(plan);
        assert_non_null(strstr(error.text, wrong[i].names));
        cal_model_destroy(model);
    }
    cal_machine_destroy(machine);
}

// The misfit that the check sees in a state whose acceleration `index` is made wrong by `error`.
static double check_wrong(const cal_test_engine* engine, const double* qdd, size_t index, double error, int* body) {
    const size_t size = (size_t)cal_model_v_count(engine->model);
    double *wrong = cal_test_numbers(size), residual = NAN;
    memcpy(wrong, qdd, size * sizeof(double));
    wrong[index] += error;
    assert_int_equal(cal_state_set(engine->state, CAL_QDD, wrong), CAL_OK);
    assert_int_equal(cal_armstrong_check(&engine->state->context, &residual, body), CAL_OK);
    free(wrong);
    return residual;
}

static void check_the_check(const cal_model* model, const char* name) {
    const size_t size = (size_t)cal_model_v_count(model);
    for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) {
        cal_test_engine engine = execute(model, "armstrong", lanes, 2);
        double* qdd = get_accelerations(&engine);
        const double largest = cal_test_largest(qdd, size);
        int body = CAL_NONE;
        cal_test_expect_below(check_wrong(&engine, qdd, 0, 0.0, &body), 1e-12, "misfit", name);
        for (size_t i = 0; i < size; i++) {
            if (!(check_wrong(&engine, qdd, i, 1e-5 * largest, &body) > 1e-9))
                fail_msg("%s: acceleration %zu is wrong, and the check does not see it", name, i);
            assert_true(body >= 0 && body < cal_model_body_count(model));
        }
        assert_true(isnan(check_wrong(&engine, qdd, size - 1, NAN, &body)));
        free(qdd);
        cal_test_close(&engine);
    }
}

static void test_check_sees_every_wrong_acceleration(void** unused) {
    (void)unused;
    on_every_tree(check_the_check);
}

// Three bodies side by side: nothing of one is in the other's equations.
static void test_check_names_the_body(void** unused) {
    (void)unused;
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    for (int i = 0; i < 3; i++) {
        cal_body_def body = cal_default_body_def();
        cal_joint_def joint = cal_default_joint_def();
        body.mass = 1.0, body.center[2] = -0.5;
        for (int k = 0; k < 3; k++) body.inertia[k] = 0.1;
        joint.kind = i == 1 ? CAL_FREE : CAL_BALL;
        cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &joint);
    }
    assert_int_equal(cal_builder_finish(builder, &model, NULL), CAL_OK);
    cal_builder_destroy(builder);
    cal_test_engine engine = execute(model, "armstrong", 0, 1);
    double* qdd = get_accelerations(&engine);
    for (int joint = 0; joint < 3; joint++) {
        int expected, first, body;
        cal_joint_def def;
        cal_model_joint(model, joint, &def, &expected, NULL, &first);
        assert_true(check_wrong(&engine, qdd, (size_t)first + 1, 0.01, &body) > 1e-5);
        assert_int_equal(body, expected);
    }
    free(qdd);
    cal_test_close(&engine);
    cal_model_destroy(model);
}

static void test_check_wants_accelerations_of_ball_trees(void** unused) {
    (void)unused;
    double residual;
    int body;
    cal_model* balls = cal_test_model("stickman");
    cal_model* hinges = cal_test_model("pendulum");
    cal_test_engine articulated = execute(balls, "aba", 0, 1), energy = execute(balls, "energy", 1, 1);
    cal_test_engine other = execute(hinges, "aba", 0, 1);
    assert_int_equal(cal_armstrong_check(&articulated.state->context, &residual, &body), CAL_OK);
    assert_true(residual < 1e-12);
    assert_int_equal(cal_armstrong_check(&energy.state->context, &residual, &body), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_armstrong_check(&other.state->context, &residual, &body), CAL_BAD_MODEL);
    cal_test_close(&articulated), cal_test_close(&energy), cal_test_close(&other);
    cal_model_destroy(balls), cal_model_destroy(hinges);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accelerations_are_those_of_aba),
        cmocka_unit_test(test_accelerations_do_not_depend_on_lanes),
        cmocka_unit_test(test_every_solver_gives_the_trajectory_of_aba),
        cmocka_unit_test(test_simulations_do_not_depend_on_lanes),
        cmocka_unit_test(test_fast_band_solves_for_new_torques),
        cmocka_unit_test(test_slow_band_grows_old),
        cmocka_unit_test(test_a_slow_band_is_checked_as_computed),
        cmocka_unit_test(test_other_joints_are_refused),
        cmocka_unit_test(test_check_sees_every_wrong_acceleration),
        cmocka_unit_test(test_check_names_the_body),
        cmocka_unit_test(test_check_wants_accelerations_of_ball_trees),
    };
    return cmocka_run_group_tests_name("armstrong", tests, NULL, NULL);
}
