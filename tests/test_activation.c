// Activations that follow controls in time: as MuJoCo's, by their differential equations, to the same bits after snapshots and from files,
// with every solver, in flight and in contact.
#include "calder/calder_read.h"
#include "place.h"
#include "support.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { MOTORS = 10, MUSCLE = 3, PLAIN = 9 };
static const double LATER[MOTORS] = {2.0, -0.5, 0.9, 0.9, 0.0, -0.3, 2.0, -1.0, -1.0, -0.2};

static cal_model* read_ready(void) {
    cal_model *model = NULL, *ready = NULL;
    cal_error error = {0};
    if (cal_model_read(CALDER_TEST_MODELS "/activations.xml", NULL, &model, NULL, &error) ||
        cal_model_variant(model, CAL_PART_CONTACT, 0, &ready, &error))
        fail_msg("%s", error.text);
    cal_model_destroy(model);
    return ready;
}

static cal_sim* make_sim(const cal_model* model, const char* solver, double tolerance) {
    cal_sim* sim = NULL;
    cal_error error = {0};
    cal_sim_def def = cal_default_sim_def();
    def.solver = solver;
    def.relative = tolerance;
    def.step = 2e-4;
    const cal_status status = cal_sim_create(model, &def, &sim, &error);
    if (status != CAL_OK && status != CAL_NOT_AVAILABLE && status != CAL_BAD_ARGUMENT) fail_msg("%s", error.text);
    return sim; // NULL: a build without SUNDIALS
}

// From a keyframe with controls and activations, other controls at 0.2 s; at 0.5 s. MuJoCo 3.14's RK4: activations do not change with its
// steps any more, q and v are the limit of 20,000 and 50,000 of them, which differ by 2e-6 and 3e-5.
static void test_motion_is_mujocos(void** state) {
    (void)state;
    static const double activations[MOTORS] = {0.2,
                                               -0.49755302777416754,
                                               0.6673902908437772,
                                               0.8981869257974934,
                                               0.00539642948737921,
                                               -0.27282293777891686,
                                               -0.4,
                                               -0.5048435190941039,
                                               -0.9539297353560937,
                                               0.0};
    static const double q[2] = {0.8557160890, -1.0618374773}, v[2] = {1.0945581416, -0.3957099529};
    static const char* const solvers[] = {"gear", "rkf", "implicit", "bdf", "rk4"};
    cal_model* model = read_ready();
    for (int k = 0; k < 5; k++) {
        cal_error error = {0};
        cal_sim* sim = make_sim(model, solvers[k], k == 2 ? 1e-7 : 1e-9);
        double found[MOTORS];
        if (!sim) continue;
        cal_test_advance_sim(sim, 0.2);
        assert_int_equal(cal_sim_drive(sim, NULL, LATER, &error), CAL_OK);
        cal_test_advance_sim(sim, 0.5);
        assert_int_equal(cal_sim_get_activations(sim, found), CAL_OK);
        for (int i = 0; i < MOTORS; i++)
            cal_test_expect_below(fabs(found[i] - activations[i]), 1e-12, "activation", solvers[k]);
        for (int i = 0; i < 2; i++) {
            cal_test_expect_below(fabs(cal_sim_q(sim)[i] - q[i]), 2e-6, "q", solvers[k]);
            cal_test_expect_below(fabs(cal_sim_v(sim)[i] - v[i]), 3e-5, "v", solvers[k]);
        }
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

static double muscle_rate(double u, double a) {
    const double by = 0.5 + 1.5 * a;
    return u > a ? (u - a) / (0.03 * by) : (u - a) * by / 0.09;
}

// Rising, falling and at rest, in closed form: the differential equation in 20,000 steps of Runge and Kutta's.
static void test_muscles_keep_their_equation(void** state) {
    (void)state;
    static const double from[] = {0.0, 0.1, 0.999, 0.5, 0.3, 0.0, 1.0}, to[] = {1.0, 0.9, 1.0, 0.0, 0.3, 1e-3, 0.999};
    cal_model* model = read_ready();
    for (size_t k = 0; k < sizeof from / sizeof from[0]; k++) {
        double control[MOTORS] = {0.0}, activations[MOTORS] = {0.0}, a = from[k];
        const int steps = 20000;
        const double time = 0.07, h = time / steps;
        cal_error error = {0};
        cal_sim* sim = make_sim(model, "rk4", 1e-4);
        control[MUSCLE] = to[k], activations[MUSCLE] = from[k];
        assert_int_equal(cal_sim_drive(sim, NULL, control, &error), CAL_OK);
        assert_int_equal(cal_sim_set_activations(sim, activations, &error), CAL_OK);
        cal_test_advance_sim(sim, time);
        assert_int_equal(cal_sim_get_activations(sim, activations), CAL_OK);
        for (int i = 0; i < steps; i++) {
            const double k1 = muscle_rate(to[k], a), k2 = muscle_rate(to[k], a + 0.5 * h * k1),
                         k3 = muscle_rate(to[k], a + 0.5 * h * k2), k4 = muscle_rate(to[k], a + h * k3);
            a += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
        }
        cal_test_expect_below(fabs(activations[MUSCLE] - a), 1e-12, "activation", "muscle");
        assert_true(activations[PLAIN] == 0.0);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// An arm on a slow servo that lets it down onto a floor, with a body that lies there already.
static cal_model* make_arm(void) {
    return cal_test_read(
        "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 0.4'><joint name='a' axis='0 1 0' "
        "damping='0.5'/>"
        "<geom type='capsule' fromto='0 0 0 0.6 0 0' size='0.05'/></body><body pos='2 0 0.101'><freejoint/>"
        "<geom type='box' size='0.1 0.1 0.1'/></body></worldbody><actuator><position joint='a' kp='60' kv='6' "
        "timeconst='0.3'/><general joint='a' dyntype='integrator' gainprm='3' actrange='-1 1'/></actuator></mujoco>",
        "arm.xml");
}

static uint64_t hash_at(cal_sim* sim, double time) {
    cal_test_advance_sim(sim, time);
    return cal_sim_hash(sim);
}

// After a snapshot, from a file, and in a fork: the same bits, of activations too; on the floor as in the air.
static void test_activations_are_kept(void** state) {
    (void)state;
    static const double control[2] = {0.9, -0.4}, other[2] = {-0.3, 1.0};
    cal_model* model = make_arm();
    for (int contact = 0; contact < 2; contact++) {
        cal_error error = {0};
        cal_sim_def def = cal_default_sim_def();
        cal_sim *sim = NULL, *again = NULL;
        cal_snapshot* snapshot = NULL;
        double activations[2], restored[2];
        char path[CAL_TEST_PATH];
        def.contact = contact == 1;
        assert_int_equal(cal_sim_create(model, &def, &sim, &error), CAL_OK);
        assert_int_equal(cal_sim_create(model, &def, &again, &error), CAL_OK);
        assert_int_equal(cal_sim_drive(sim, NULL, control, &error), CAL_OK);
        cal_test_advance_sim(sim, 0.6);
        if (contact) assert_true(cal_sim_q(sim)[0] > 0.5 && cal_sim_q(sim)[0] < 0.7); // it lies on the floor
        assert_int_equal(cal_sim_drive(sim, NULL, other, &error), CAL_OK);
        cal_test_advance_sim(sim, 0.7);
        assert_int_equal(cal_sim_snapshot(sim, &snapshot, &error), CAL_OK);
        assert_int_equal(cal_sim_get_activations(sim, activations), CAL_OK);
        cal_test_path(path, "activations");
        if (cal_sim_save(sim, path, &error)) fail_msg("%s", error.text);
        const uint64_t then = hash_at(sim, 1.1);
        if (cal_sim_restore(sim, snapshot, &error)) fail_msg("%s", error.text);
        assert_int_equal(cal_sim_get_activations(sim, restored), CAL_OK);
        assert_memory_equal(restored, activations, sizeof activations);
        assert_true(hash_at(sim, 1.1) == then);
        if (cal_sim_load(again, path, &error)) fail_msg("%s", error.text);
        assert_true(hash_at(again, 1.1) == then);
        // Other activations are another state, and closed forms give those of the controls so far.
        const double first = 0.9 - 0.9 * exp(-0.6 / 0.3), second = -0.3 + (first + 0.3) * exp(-0.1 / 0.3);
        cal_test_expect_below(fabs(activations[0] - second), 1e-15, "activation", "servo");
        cal_test_expect_below(fabs(activations[1] - (-0.24 + 0.1)), 1e-15, "activation", "integrator");
        assert_int_equal(cal_sim_set_activations(again, activations, &error), CAL_OK);
        assert_true(cal_sim_hash(again) != then);
        // Another time for the same state has the same activations.
        assert_int_equal(cal_sim_set(again, 5.0, NULL, NULL, &error), CAL_OK);
        assert_int_equal(cal_sim_get_activations(again, restored), CAL_OK);
        assert_memory_equal(restored, activations, sizeof activations);
        unlink(path);
        cal_snapshot_destroy(snapshot);
        cal_sim_destroy(sim);
        cal_sim_destroy(again);
    }
    cal_model_destroy(model);
}

// Work of motors with activations is what the motion gains, in flight and on the floor.
static void test_energy_is_accounted_for(void** state) {
    (void)state;
    static const double control[2] = {0.9, -0.4};
    cal_model* model = make_arm();
    for (int contact = 0; contact < 2; contact++) {
        cal_error error = {0};
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim = NULL;
        cal_energy_balance balance;
        def.contact = contact == 1;
        assert_int_equal(cal_sim_create(model, &def, &sim, &error), CAL_OK);
        assert_int_equal(cal_sim_drive(sim, NULL, control, &error), CAL_OK);
        cal_test_advance_sim(sim, 1.0);
        assert_int_equal(cal_sim_balance(sim, &balance), CAL_OK);
        assert_true(balance.work != 0.0);
        cal_test_expect_below(fabs(balance.error) / balance.exchanged, 1e-3, "energy", contact ? "floor" : "air");
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// Instances of an ensemble have activations of their own.
static void test_ensembles_have_them(void** state) {
    (void)state;
    cal_model* model = read_ready();
    cal_ensemble_def def = cal_default_ensemble_def();
    cal_ensemble* ensemble = NULL;
    cal_error error = {0};
    def.count = 2;
    def.sim.solver = "rk4";
    assert_int_equal(cal_ensemble_create_def(model, &def, &ensemble, &error), CAL_OK);
    assert_int_equal(cal_ensemble_drive(ensemble, 1, NULL, LATER, &error), CAL_OK);
    assert_int_equal(cal_ensemble_advance(ensemble, 0.3, &error), CAL_OK);
    for (int i = 0; i < 2; i++) {
        cal_sim* sim = NULL;
        double q[2];
        assert_int_equal(cal_sim_create(model, &def.sim, &sim, &error), CAL_OK);
        if (i == 1) assert_int_equal(cal_sim_drive(sim, NULL, LATER, &error), CAL_OK);
        cal_test_advance_sim(sim, 0.3);
        assert_int_equal(cal_ensemble_get(ensemble, i, q, NULL), CAL_OK);
        assert_memory_equal(q, cal_sim_q(sim), sizeof q);
        cal_sim_destroy(sim);
    }
    cal_ensemble_destroy(ensemble);
    cal_model_destroy(model);
}

static void test_bad_ones_are_refused(void** state) {
    (void)state;
#define ARM "<mujoco><worldbody><body><joint name='a'/><geom size='1'/></body></worldbody>"
    static const struct {
        const char *text, *says;
    } cases[] = {
        {ARM "<actuator><intvelocity joint='a'/></actuator></mujoco>", "actrange"},
        {ARM "<actuator><motor joint='a' actrange='0 1'/></actuator></mujoco>", "no activation"},
        {ARM "<actuator><general joint='a' dyntype='filter' dynprm='-1'/></actuator></mujoco>", "time constant"},
        {ARM "<actuator><general joint='a' dyntype='muscle' dynprm='0.1 0.1'/></actuator>"
             "<keyframe><key act='1.5'/></keyframe></mujoco>",
         "from 0 to 1"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cal_model* model = NULL;
        cal_error error = {0};
        assert_int_equal(
            cal_model_read_memory(cases[i].text, strlen(cases[i].text), "bad.xml", NULL, &model, NULL, &error),
            CAL_BAD_MODEL);
        if (!strstr(error.text, cases[i].says)) fail_msg("%s", error.text);
    }
    cal_model* model = read_ready();
    cal_sim* sim = make_sim(model, "rk4", 1e-4);
    cal_error error = {0};
    double activations[MOTORS] = {0.0};
    activations[MUSCLE] = 2.0;
    assert_int_equal(cal_sim_set_activations(sim, activations, &error), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_sim_set_activations(sim, NULL, &error), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_sim_get_activations(NULL, activations), CAL_BAD_ARGUMENT);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_motion_is_mujocos),    cmocka_unit_test(test_muscles_keep_their_equation),
        cmocka_unit_test(test_activations_are_kept), cmocka_unit_test(test_energy_is_accounted_for),
        cmocka_unit_test(test_ensembles_have_them),  cmocka_unit_test(test_bad_ones_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
