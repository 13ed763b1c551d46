// Robots on a floor that are driven from outside a thousand times per second: what a change of controls costs, and that it changes nothing but
// forces.
#include "calder/calder_read.h"
#include "support_world.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEGS = 4, JOINTS = 3 * LEGS, RATE = 1000 };

// A quadruped of 12 kg on round feet, with an actuator in each joint: kind is "motor", or "position kp='100'".
static cal_model* quadruped(const char* kind, double damping) {
    static const char* const legs[LEGS] = {"fl", "fr", "rl", "rr"};
    char text[12000];
    const size_t room = sizeof text;
    size_t n = (size_t)snprintf(
        text, room,
        "<mujoco><default><geom friction='0.8'/><joint damping='%g' armature='0.01'/></default><worldbody>"
        "<geom type='plane' size='0 0 1'/><body name='trunk' pos='0 0 0.43'><freejoint/>"
        "<geom type='box' size='0.2 0.1 0.05' mass='6'/>",
        damping);
    for (int i = 0; i < LEGS; i++) {
        const double x = i < 2 ? 0.19 : -0.19, side = i % 2 == 0 ? 1.0 : -1.0;
        n += (size_t)snprintf(text + n, room - n,
                              "<body pos='%g %g 0'><joint name='%s_a' axis='1 0 0'/>"
                              "<geom type='capsule' size='0.03' fromto='0 0 0 0 %g 0' mass='0.6'/>"
                              "<body pos='0 %g 0'><joint name='%s_h' axis='0 1 0'/>"
                              "<geom type='capsule' size='0.02' fromto='0 0 -0.03 0 0 -0.18' mass='0.8'/>"
                              "<body pos='0 0 -0.2'><joint name='%s_k' axis='0 1 0'/>"
                              "<geom type='capsule' size='0.015' fromto='0 0 -0.03 0 0 -0.17' mass='0.2'/>"
                              "<geom type='sphere' size='0.022' pos='0 0 -0.2' mass='0.06'/></body></body></body>",
                              x, 0.11 * side, legs[i], 0.04 * side, 0.05 * side, legs[i], legs[i]);
    }
    n += (size_t)snprintf(text + n, room - n, "</body></worldbody><actuator>");
    for (int i = 0; i < LEGS; i++)
        for (int k = 0; k < 3; k++)
            n += (size_t)snprintf(text + n, room - n, "<%s joint='%s_%c'/>", kind, legs[i], "ahk"[k]);
    n += (size_t)snprintf(text + n, room - n, "</actuator></mujoco>");
    cal_error error;
    cal_model* model = NULL;
    if (cal_model_read_memory(text, n, "quadruped.xml", NULL, &model, NULL, &error) != CAL_OK)
        fail_msg("%s", error.text);
    return model;
}

static cal_sim* open_sim(const cal_model* model, double forced) {
    cal_world_def events = cal_default_world_def();
    cal_sim_def def = cal_default_sim_def();
    events.forced_rollbacks = forced;
    def.events = &events;
    return cal_test_create_sim(model, &def);
}

// Where legs are held: bent at the knee.
static double pose(int joint) { return joint % 3 == 1 ? 0.7 : joint % 3 == 2 ? -1.4 : 0.0; }

typedef void law(const cal_sim* sim, double time, double control[JOINTS]);

static void hold(const cal_sim* sim, double time, double control[JOINTS]) {
    (void)time;
    for (int j = 0; j < JOINTS; j++)
        control[j] = 60.0 * (pose(j) - cal_sim_q(sim)[7 + j]) - 2.0 * cal_sim_v(sim)[6 + j];
}

static void switch_sign(const cal_sim* sim, double time, double control[JOINTS]) {
    (void)sim;
    for (int j = 0; j < JOINTS; j++) control[j] = (int)floor(time * RATE + 0.5) % 2 == 0 ? 20.0 : -20.0;
}

static void saturate(const cal_sim* sim, double time, double control[JOINTS]) {
    hold(sim, time, control);
    for (int j = 0; j < JOINTS; j++) control[j] = fmax(-25.0, fmin(25.0, 100.0 * control[j]));
}

static void aim(const cal_sim* sim, double time, double control[JOINTS]) {
    (void)sim, (void)time;
    for (int j = 0; j < JOINTS; j++) control[j] = pose(j);
}

// From one number of milliseconds to another one.
static void drive(cal_sim* sim, law* find, int from, int to) {
    cal_error error;
    for (int i = from; i < to; i++) {
        double control[JOINTS];
        find(sim, (double)i / RATE, control);
        if (cal_sim_drive(sim, NULL, control, &error) != CAL_OK ||
            cal_sim_advance(sim, (double)(i + 1) / RATE, &error) != CAL_OK)
            fail_msg("%s", error.text);
    }
}

// Of a robot that stands each change costs one step of its group, and what is taken again. It was four to ten: all of 10 ms was computed after each change,
// from what was known when the robot had landed.
static void a_change_costs_a_step(void** state) {
    (void)state;
    static law* const laws[] = {hold, saturate, switch_sign};
    enum { LANDED = 200, UNTIL = 400 };
    cal_model* model = quadruped("motor", 0.2);
    for (size_t k = 0; k < sizeof laws / sizeof laws[0]; k++) {
        cal_sim* sim = open_sim(model, 0.0);
        drive(sim, hold, 0, LANDED);
        const cal_world_report before = cal_test_report(cal_sim_world(sim));
        assert_true(before.groups_now == 1);
        drive(sim, laws[k], LANDED, UNTIL);
        const cal_world_report after = cal_test_report(cal_sim_world(sim));
        const double changes = UNTIL - LANDED;
        cal_test_expect_below((double)(after.group_steps - before.group_steps), 2.0 * changes, "steps", "a quadruped");
        cal_test_expect_balanced(sim, "a quadruped");
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// Who is told the same each time moves as one that is told once.
static void the_same_controls_change_nothing(void** state) {
    (void)state;
    enum { UNTIL = 500 };
    cal_model* model = quadruped("position kp='100'", 2.0);
    cal_sim *told = open_sim(model, 0.0), *once = open_sim(model, 0.0);
    double control[JOINTS];
    cal_error error;
    aim(once, 0.0, control);
    if (cal_sim_drive(once, NULL, control, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_test_advance_sim(once, (double)UNTIL / RATE);
    drive(told, aim, 0, UNTIL);
    const int count = cal_model_q_count(model);
    cal_test_expect_below(cal_test_largest_difference(cal_sim_q(told), cal_sim_q(once), (size_t)count), 2e-3, "q",
                          "a quadruped");
    cal_sim_destroy(told);
    cal_sim_destroy(once);
    cal_model_destroy(model);
}

static uint64_t hash_of(cal_sim* sim) { return cal_test_report(cal_sim_world(sim)).hash; }

// What is computed ahead, and thrown away, is in no bit of the history; nor is where a run was saved.
static void the_history_is_that_of_the_calls(void** state) {
    (void)state;
    enum { SAVED = 217, UNTIL = 300 };
    cal_error error;
    cal_model* model = quadruped("motor", 0.2);
    uint64_t wanted = 0;
    for (int run = 0; run < 3; run++) {
        cal_sim* sim = open_sim(model, run == 1 ? 0.2 : 0.0);
        drive(sim, hold, 0, SAVED);
        if (run == 2) {
            cal_snapshot* snapshot = NULL;
            cal_sim *other = open_sim(model, 0.0), *fork = NULL;
            if (cal_sim_snapshot(sim, &snapshot, &error) != CAL_OK ||
                cal_sim_restore(other, snapshot, &error) != CAL_OK || cal_sim_fork(sim, &fork, &error) != CAL_OK)
                fail_msg("%s", error.text);
            drive(other, switch_sign, SAVED, UNTIL);
            drive(fork, switch_sign, SAVED, UNTIL);
            assert_true(hash_of(other) == wanted);
            assert_true(hash_of(fork) == wanted);
            cal_sim_destroy(other);
            cal_sim_destroy(fork);
            cal_snapshot_destroy(snapshot);
        }
        drive(sim, switch_sign, SAVED, UNTIL);
        if (run == 0) wanted = hash_of(sim);
        assert_true(hash_of(sim) == wanted);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// Groups are checked a hundred times per second, however often their members are changed: what has jumped flies by itself.
static void who_jumps_is_let_go(void** state) {
    (void)state;
    enum { STANDS = 300, JUMPS = 360, FLIES = 400 };
    cal_model* model = quadruped("position kp='100'", 2.0);
    cal_sim* sim = open_sim(model, 0.0);
    drive(sim, aim, 0, STANDS);
    assert_true(cal_test_report(cal_sim_world(sim)).groups_now == 1);
    cal_error error;
    for (int i = STANDS; i < FLIES; i++) {
        // The legs are stretched, and then pulled up.
        double control[JOINTS];
        for (int j = 0; j < JOINTS; j++)
            control[j] = i < JUMPS ? (j % 3 == 0 ? 0.0 : 6.0 * (pose(j) > 0.0 ? -1.0 : 2.0)) : pose(j);
        if (cal_sim_drive(sim, NULL, control, &error) != CAL_OK ||
            cal_sim_advance(sim, (double)(i + 1) / RATE, &error) != CAL_OK)
            fail_msg("%s", error.text);
    }
    assert_true(cal_test_report(cal_sim_world(sim)).groups_now == 0);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_costs_a_step), cmocka_unit_test(the_same_controls_change_nothing),
        cmocka_unit_test(the_history_is_that_of_the_calls), cmocka_unit_test(who_jumps_is_let_go)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
