// One answer: the lanes change the speed and nothing else.
#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define CAL_LANES 1
#include "math/lanes.h"

// Accelerations at random motions with pushes, and the states' hashes, have the same bits at every width.
static void check_forward(const cal_model* model, const char* name) {
    const size_t size = (size_t)cal_model_v_count(model);
    double *first = cal_test_numbers(size), *qdd = cal_test_numbers(size);
    for (uint64_t seed = 1; seed <= 2; seed++) {
        cal_test_motion motion = cal_test_random_motion(model, seed);
        uint64_t hash = 0;
        for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) {
            cal_test_engine engine = cal_test_open(model, "aba", lanes);
            cal_test_load(&engine, &motion);
            if (seed == 2) cal_test_push(&engine, seed);
            cal_test_execute(&engine);
            assert_int_equal(cal_state_get(engine.state, CAL_QDD, lanes == 1 ? first : qdd), CAL_OK);
            if (lanes == 1) hash = cal_state_hash(engine.state);
            if (lanes > 1 && memcmp(first, qdd, size * sizeof(double)))
                fail_msg("%s: accelerations differ with %d lanes", name, lanes);
            if (cal_state_hash(engine.state) != hash) fail_msg("%s: the hash differs with %d lanes", name, lanes);
            cal_test_close(&engine);
        }
        cal_test_motion_free(&motion);
    }
    free(first), free(qdd);
}

// So has the end of a simulation: the solver rides in the passes, and its sums are added in the order of the tree.
static void check_simulation(const cal_model* model, const char* name) {
    uint64_t hash = 0;
    cal_test_motion motion = cal_test_random_motion(model, 3);
    for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) {
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim = NULL;
        cal_error error;
        if (cal_machine_serial(lanes, &def.machine, &error)) fail_msg("%s", error.text);
        if (cal_sim_create(model, &def, &sim, &error) || cal_sim_set(sim, 0.0, motion.q, motion.v, &error) ||
            cal_sim_advance(sim, 0.05, &error))
            fail_msg("%s: %s", name, error.text);
        if (lanes == 1) hash = cal_sim_hash(sim);
        if (cal_sim_hash(sim) != hash) fail_msg("%s: the simulation differs with %d lanes", name, lanes);
        cal_sim_destroy(sim);
        cal_machine_destroy(def.machine);
    }
    cal_test_motion_free(&motion);
}

static void test_accelerations_do_not_depend_on_lanes(void** unused) {
    (void)unused;
    cal_test_on_every_model(check_forward);
}

static void test_large_models_do_not_depend_on_lanes(void** unused) {
    (void)unused;
    static const char* const names[] = {
        "chain:n=1003", "chain:n=1001,joint=ball", "mobile:l=5,o=9,plateau=printed,start=0.8", "tree:height=5,fanout=4",
        "random:n=3000,seed=8",
        // Lanes whose parents are in other lanes of a column with as many, or with half of them.
        "mobile:s=4,l=2,o=2", "mobile:s=4,l=3,o=3", "mobile:s=3,l=2,o=5", "mobile:s=3,l=2,o=7", "mobile:s=3,l=1,o=12"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cal_model* model = cal_test_model(names[i]);
        check_forward(model, names[i]);
        cal_model_destroy(model);
    }
}

static void test_simulations_do_not_depend_on_lanes(void** unused) {
    (void)unused;
    cal_test_on_every_model(check_simulation);
}

static void test_mobile_at_rest_stays(void** unused) {
    (void)unused;
    static const char* const names[] = {"mobile:start=0,l=5,o=9,plateau=printed",
                                        "mobile:s=2,l=4,o=7,start=0,plateau=printed",
                                        "mobile:plateau=leaf,start=0,l=5,o=9"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cal_model* model = cal_test_model(names[i]);
        const size_t size = (size_t)cal_model_v_count(model);
        double* qdd = cal_test_numbers(size);
        for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) {
            cal_test_engine engine = cal_test_open(model, "aba", lanes);
            cal_test_execute(&engine);
            assert_int_equal(cal_state_get(engine.state, CAL_QDD, qdd), CAL_OK);
            cal_test_expect_below(cal_test_largest(qdd, size), 1e-12, "acceleration", names[i]);
            cal_test_close(&engine);
        }
        free(qdd);
        cal_model_destroy(model);
    }
}

// All passes share our own sine and cosine, so their agreement says nothing about them.
static void test_sine_and_cosine_are_those_of_the_library(void** unused) {
    (void)unused;
    for (int i = -200000; i <= 200000; i++) {
        const double x = i % 2 ? 1e-4 * i : 37.0 * i + 0.1;
        double s, c;
        cal_lane_sincos_1(x, &s, &c);
        if (!(fabs(s - sin(x)) <= 0x1p-52 && fabs(c - cos(x)) <= 0x1p-52)) fail_msg("sine or cosine of %.17g", x);
    }
}

// As far as an angle says where something points, and no numbers beyond: on every lane.
static void test_large_angles_are_right_or_no_numbers(void** unused) {
    (void)unused;
    double s, c;
    for (int power = 30; power < 50; power++)
        for (int i = 0; i < 100; i++) {
            const double x = ldexp(1.0 + 0.00993 * i, power);
            cal_lane_sincos_1(x, &s, &c);
            if (!(fabs(s - sin(x)) <= 0x1p-51 && fabs(c - cos(x)) <= 0x1p-51)) fail_msg("sine or cosine of %.17g", x);
        }
    for (int power = 51; power < 1024; power++) {
        cal_lane_sincos_1(ldexp(-1.1, power), &s, &c);
        if (!isnan(s) || !isnan(c)) fail_msg("sine and cosine of -1.1 2^%d are %g and %g", power, s, c);
    }
    cal_model* model = cal_test_model("mobile:s=2,l=3,o=9");
    const size_t size = (size_t)cal_model_v_count(model), places = (size_t)cal_model_q_count(model);
    double *q = cal_test_numbers(places), *qdd = cal_test_numbers(size);
    q[0] = 1e16;
    for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) {
        cal_test_engine engine = cal_test_open(model, "aba", lanes);
        assert_int_equal(cal_state_set(engine.state, CAL_Q, q), CAL_OK);
        cal_test_execute(&engine);
        assert_int_equal(cal_state_get(engine.state, CAL_QDD, qdd), CAL_OK);
        assert_true(isnan(qdd[0]));
        cal_test_close(&engine);
    }
    free(q), free(qdd);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sine_and_cosine_are_those_of_the_library),
        cmocka_unit_test(test_large_angles_are_right_or_no_numbers),
        cmocka_unit_test(test_mobile_at_rest_stays),
        cmocka_unit_test(test_accelerations_do_not_depend_on_lanes),
        cmocka_unit_test(test_large_models_do_not_depend_on_lanes),
        cmocka_unit_test(test_simulations_do_not_depend_on_lanes),
    };
    return cmocka_run_group_tests_name("lanes", tests, NULL, NULL);
}
