// A simulation that is given another state goes on from there as the same simulation: who touches whom, what its joints stop at and
// what its snapshots belong to are matters of its model.
#include "calder/calder_read.h"
#include "support.h"
#include <math.h>
#include <string.h>

enum { MOST = 32 };

static cal_sim* make(const cal_model* model) {
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_sim_create(model, &def, &sim, &error)) fail_msg("%s", error.text);
    return sim;
}

static cal_sim* fork_of(cal_sim* sim) {
    cal_sim* other = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_sim_fork(sim, &other, &error)) fail_msg("%s", error.text);
    return other;
}

static void advance(cal_sim* sim, double time) {
    cal_error error = {CAL_OK, ""};
    if (cal_sim_advance(sim, time, &error)) fail_msg("%s", error.text);
}

static void set(cal_sim* sim, const double* q, const double* v) {
    cal_error error = {CAL_OK, ""};
    if (cal_sim_set(sim, cal_sim_time(sim), q, v, &error)) fail_msg("%s", error.text);
}

static void drive(cal_sim* sim, const double* control) {
    cal_error error = {CAL_OK, ""};
    if (cal_sim_drive(sim, NULL, control, &error)) fail_msg("%s", error.text);
}

// Speeds of all degrees of freedom, changed by as much.
static void nudge(cal_sim* sim, double by) {
    double v[MOST];
    const int count = cal_model_v_count(cal_sim_model(sim));
    memcpy(v, cal_sim_v(sim), (size_t)count * sizeof *v);
    for (int i = 0; i < count; i++) v[i] += by;
    set(sim, NULL, v);
}

// A snapshot of this one, in another simulation of its model, goes on as this one does; and so does a fork.
static void expect_snapshot_to_go_on(cal_sim* sim, double until, const char* what) {
    cal_snapshot* snapshot = NULL;
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_sim_snapshot(sim, &snapshot, &error), CAL_OK);
    cal_sim *other = make(cal_sim_model(sim)), *forked = fork_of(sim);
    if (cal_sim_restore(other, snapshot, &error)) fail_msg("%s: %s", what, error.text);
    advance(sim, until), advance(other, until), advance(forked, until);
    if (cal_sim_hash(other) != cal_sim_hash(sim)) fail_msg("%s: the other simulation differs", what);
    if (cal_sim_hash(forked) != cal_sim_hash(sim)) fail_msg("%s: the fork differs", what);
    cal_sim_destroy(other);
    cal_sim_destroy(forked);
    cal_snapshot_destroy(snapshot);
}

// An arm that motors fold until its links press on each other, and rest. They touch with overlaps of rounding.
static void links_that_press_on_each_other_still_do(void** state) {
    (void)state;
    cal_model* model = cal_test_read(
        "<mujoco><worldbody><body name='base' pos='0 0 1'><joint axis='0 0 1' damping='1'/>"
        "<geom type='box' size='.1 .1 .1' mass='5'/>"
        "<body pos='.2 0 0'><joint name='ja' axis='0 1 0' damping='.1'/>"
        "<geom type='capsule' fromto='.1 0 0 .6 0 0' size='.03' mass='1'/>"
        "<body pos='.6 0 0'><joint name='jb' axis='0 1 0' damping='.1'/>"
        "<geom type='capsule' fromto='.1 0 0 .3 0 0' size='.03' mass='.5'/>"
        "<body pos='.3 0 0'><joint name='jc' axis='0 1 0' damping='.1'/>"
        "<geom type='capsule' fromto='.1 0 0 .5 0 0' size='.03' mass='.5'/></body></body></body></body></worldbody>"
        "<actuator><motor joint='ja'/><motor joint='jb'/><motor joint='jc'/></actuator></mujoco>",
        "fold.xml");
    cal_sim* sim = make(model);
    drive(sim, (const double[]){-10, -15, -8});
    advance(sim, 1.6);
    double q[MOST];
    memcpy(q, cal_sim_q(sim), (size_t)cal_model_q_count(model) * sizeof *q);
    for (int i = 0; i < 4; i++) cal_test_expect_below(fabs(cal_sim_v(sim)[i]), 1e-6, "speed", "at rest");
    nudge(sim, 1e-9);
    advance(sim, 2.1);
    for (int i = 0; i < 4; i++) cal_test_expect_below(fabs(cal_sim_q(sim)[i] - q[i]), 1e-5, "way", "at rest");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// Two links that are drawn into each other pass through each other, also where a state is set in which they are apart.
static void links_that_are_drawn_into_each_other_pass(void** state) {
    (void)state;
    cal_model* model = cal_test_read(
        "<mujoco><option gravity='0 0 0'/><worldbody><body pos='0 0 1'><joint type='slide' axis='0 0 1'/>"
        "<geom type='box' size='.1 .1 .1' mass='5'/>"
        "<body pos='.15 0 0'><joint axis='0 0 1' damping='.2'/><geom type='sphere' size='.02' mass='.2'/>"
        "<body><joint name='jb' axis='0 0 1' damping='.2'/>"
        "<geom type='capsule' fromto='-.06 0 0 -.3 0 0' size='.03' mass='.5'/></body></body></body></worldbody>"
        "<actuator><position joint='jb' kp='5'/></actuator></mujoco>",
        "drawn.xml");
    cal_sim* sim = make(model);
    drive(sim, (const double[]){2.0});
    advance(sim, 2.0);
    assert_true(cal_sim_q(sim)[2] > 1.9);
    nudge(sim, 1e-6);
    drive(sim, (const double[]){0.0});
    advance(sim, 6.0);
    cal_test_expect_below(fabs(cal_sim_q(sim)[1]) + fabs(cal_sim_q(sim)[2]), 1e-4, "angle", "where they were drawn");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// The springs of rigid stops and the rate of group checks are chosen at a start; snapshots say which.
static void snapshots_of_a_set_state_are_of_the_model(void** state) {
    (void)state;
    cal_model* legs =
        cal_test_read("<mujoco><compiler angle='radian'/><worldbody><geom type='plane' size='5 5 .1'/>"
                      "<body pos='0 0 1'><freejoint/><geom type='box' size='.2 .1 .05' mass='6'/>"
                      "<body pos='.2 0 0'><joint axis='0 1 0' damping='.3' range='-1.5 1.5' limited='true'/>"
                      "<geom type='capsule' fromto='0 0 -.1 0 0 -.3' size='.03' mass='.6'/>"
                      "<body pos='0 0 -.3'><joint axis='0 1 0' damping='.3' range='-2.5 -.3' limited='true'/>"
                      "<geom type='capsule' fromto='0 0 -.1 0 0 -.3' size='.02' "
                      "mass='.2'/></body></body></body></worldbody></mujoco>",
                      "legs.xml");
    cal_sim* sim = make(legs);
    double q[MOST];
    memcpy(q, cal_sim_q(sim), (size_t)cal_model_q_count(legs) * sizeof *q);
    q[0] = 40.0, q[7] = 1.0, q[8] = -2.0;
    advance(sim, 0.01);
    set(sim, q, (const double[]){0, 0, 0, 0, 0, 0, 5.0, 9.0});
    advance(sim, 0.05);
    expect_snapshot_to_go_on(sim, 0.8, "legs with stops");
    cal_sim_destroy(sim);
    cal_model_destroy(legs);

    cal_model* large =
        cal_test_read("<mujoco><option gravity='0 0 -.001'/><worldbody>"
                      "<geom type='plane' size='5 5 .1'/>"
                      "<body pos='0 0 60'><freejoint/><geom type='box' size='50 50 50' mass='1e3'/></body>"
                      "<body pos='0 200 60'><freejoint/><geom type='sphere' size='50' mass='1e3'/></body>"
                      "</worldbody></mujoco>",
                      "large.xml");
    sim = make(large);
    advance(sim, 0.01);
    set(sim, NULL, (const double[]){0, 1000.0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    advance(sim, 0.1);
    expect_snapshot_to_go_on(sim, 2.0, "large bodies that move fast");
    cal_sim_destroy(sim);
    cal_model_destroy(large);
}

// What begins hits the stops that it moves into, and decides who rests, by the forces of that time. A look before sees that, and leaves the
// state and the forces that are still to come.
static void a_look_before_it_begins_changes_nothing(void** state) {
    (void)state;
    cal_model* model = cal_test_read(
        "<mujoco><compiler angle='radian'/><worldbody><body pos='0 0 1'><freejoint/>"
        "<geom type='box' size='.2 .1 .05' mass='6'/>"
        "<body pos='.2 0 0'><joint name='hip' axis='0 1 0' range='-1 1' limited='true'/>"
        "<geom type='capsule' fromto='0 0 -.1 0 0 -.3' size='.03' mass='.6'/>"
        "<body pos='0 0 -.3'><joint name='knee' axis='0 1 0' range='-2 -.3' limited='true'/>"
        "<geom type='capsule' fromto='0 0 -.1 0 0 -.3' size='.02' mass='.2'/></body></body></body></worldbody>"
        "<actuator><motor joint='hip'/><motor joint='knee'/></actuator></mujoco>",
        "look.xml");
    cal_sim_def def = cal_default_sim_def();
    def.contact = false;
    double q[MOST], v[MOST] = {0, 0, 0, 0, 0.1, 0, 0.5, 1e-3}, qdd[MOST], forces[6 * MOST];
    uint64_t hash[2];
    for (int looks = 0; looks < 2; looks++) {
        cal_sim* sim = NULL;
        cal_error error = {CAL_OK, ""};
        if (cal_sim_create(model, &def, &sim, &error)) fail_msg("%s", error.text);
        memcpy(q, cal_sim_q(sim), (size_t)cal_model_q_count(model) * sizeof *q);
        q[7] = 1.0, q[8] = -0.3;
        set(sim, q, v);
        const uint64_t before = cal_sim_hash(sim);
        if (looks) {
            assert_int_equal(cal_sim_accelerations(sim, qdd), CAL_OK);
            assert_int_equal(cal_sim_joint_forces(sim, forces), CAL_OK);
            assert_true(cal_sim_hash(sim) == before);
            assert_memory_equal(cal_sim_v(sim), v, 8 * sizeof *v);
        }
        drive(sim, (const double[]){0.0, 0.5}); // presses the knee against its stop
        advance(sim, 0.3);
        hash[looks] = cal_sim_hash(sim);
        cal_sim_destroy(sim);
    }
    assert_true(hash[0] == hash[1]);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_that_press_on_each_other_still_do),
        cmocka_unit_test(links_that_are_drawn_into_each_other_pass),
        cmocka_unit_test(snapshots_of_a_set_state_are_of_the_model),
        cmocka_unit_test(a_look_before_it_begins_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
