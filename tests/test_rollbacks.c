// No rollback changes history: random worlds of free bodies and multibodies, with every shape, with and without gravity, restitution,
// friction, contact groups and callbacks, have one hash and one list of collisions, whatever goes back and how often.
//
// CAL_WORLDS in the environment: how many worlds; CAL_FIRST: from which on.
#include "calder/calder_read.h"
#include "support_history.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number_of(const char* name, int usual) {
    const char* text = getenv(name);
    return text != NULL ? atoi(text) : usual;
}

static void random_worlds_have_one_history(void** state) {
    (void)state;
    static const double odds[] = {0.01, 0.1, 0.5};
    static cal_test_history wanted, found;
    const int count = number_of("CAL_WORLDS", CAL_TEST_SANITIZED ? 5 : 60), first = number_of("CAL_FIRST", 0);
    const double time = number_of("CAL_MILLISECONDS", 700) * 1e-3;
    int64_t forced = 0, events = 0;
    for (int i = first; i < first + count; i++) {
        cal_test_made m = cal_test_random_world(i, 0.0, 0);
        cal_test_take_history(m.world, time, &wanted);
        cal_test_destroy_made(&m);
        events += wanted.count;
        for (int run = 0; run < 3; run++) {
            char who[64];
            snprintf(who, sizeof who, "world %d, forced %g", i, odds[run]);
            m = cal_test_random_world(i, odds[run], (uint64_t)run + 1);
            cal_test_take_history(m.world, time, &found);
            cal_test_destroy_made(&m);
            forced += found.forced;
            cal_test_compare_histories(&wanted, &found, who);
        }
    }
    assert_true(forced > 20 * count && events > 5 * count);
}

static void scenes_have_one_history(void** state) {
    (void)state;
    if (CAL_TEST_SANITIZED) skip(); // takes most of a minute there
    static const struct {
        const char* scene;
        double time;
    } runs[] = {{"atoms:n=60", 1.0},         {"avalanche:n=30", 1.5},      {"cars:cars=1,rows=2", 0.5},
                {"robots:n=2,boxes=2", 1.0}, {"stack:kind=wall,n=3", 0.7}, {"stack:kind=dominoes,n=5", 0.7}};
    static const double odds[] = {0.01, 0.1, 0.5};
    static cal_test_history wanted, found;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
        for (int run = 0; run < 4; run++) {
            cal_world_def def = cal_default_world_def();
            def.forced_rollbacks = run == 0 ? 0.0 : odds[run - 1];
            def.seed = (uint64_t)run;
            cal_world* world = cal_test_scene(runs[i].scene, &def);
            cal_test_take_history(world, runs[i].time, run == 0 ? &wanted : &found);
            cal_world_destroy(world);
            if (run > 0) cal_test_compare_histories(&wanted, &found, runs[i].scene);
        }
}

// Boxes that overlap at the start are moved apart; then they fly on from there, whatever was computed of them before.
static void bodies_that_are_moved_apart_stay_apart(void** state) {
    (void)state;
    cal_world_def def = cal_default_world_def();
    memset(def.gravity, 0, sizeof def.gravity);
    def.separate = true;
    cal_world* world = cal_test_world(&def);
    cal_body_id ids[2];
    for (int i = 0; i < 2; i++) {
        cal_world_body_def body = cal_default_world_body_def();
        body.position[0] = i == 0 ? -0.09 : 0.09;
        body.velocity[0] = i == 0 ? -1.0 : 1.0;
        body.angular_velocity[0] = 40.0;
        ids[i] = cal_test_add(world, &body, CAL_BOX, 0.1, 0.15, 0.2);
    }
    double start[2][3], x[3], u[3];
    cal_test_advance(world, 0.0);
    for (int i = 0; i < 2; i++) cal_world_get_body(world, ids[i], start[i], NULL, NULL, NULL);
    assert_true(start[1][0] - start[0][0] > 0.2 - 1e-9);
    for (int k = 1; k <= 50; k++) {
        cal_test_advance(world, 0.02 * k);
        for (int i = 0; i < 2; i++) {
            cal_world_get_body(world, ids[i], x, NULL, u, NULL);
            cal_test_expect_below(fabs(x[0] - start[i][0] - 0.02 * k * u[0]), 1e-12, "jump", "a box");
        }
    }
    cal_world_destroy(world);
}

// A ball that bounces hundreds of times in the time that may come back: what forced rollbacks have repeated is a bounded share of what happens.
static void many_impacts_are_not_repeated_without_end(void** state) {
    (void)state;
    enum { BOUNCES = 600, SHARE = 24 }; // once, repeated sixteen times, and a few rollbacks of all; 75 without a bound
    const double g = 1e4, height = 8e-8, period = 2.0 * sqrt(2.0 * height / g);
    uint64_t hash = 0;
    double events = 0.0;
    for (int run = 0; run < 3; run++) {
        cal_world_def def = cal_default_world_def();
        def.gravity[2] = -g;
        def.restitution = 1.0;
        def.forced_rollbacks = 0.25 * run;
        cal_world* world = cal_test_world(&def);
        cal_world_body_def floor = cal_default_world_body_def(), ball = cal_default_world_body_def();
        floor.motion = CAL_FIXED;
        cal_test_add(world, &floor, CAL_PLANE, 0.0, 0.0, 0.0);
        ball.position[2] = 2e-5 + height;
        cal_test_add(world, &ball, CAL_SPHERE, 2e-5, 0.0, 0.0);
        cal_test_advance(world, BOUNCES * period);
        const cal_world_report report = cal_test_report(world);
        if (run == 0) hash = report.hash, events = (double)report.events;
        assert_true(report.hash == hash);
        assert_true(run == 0 || report.forced > BOUNCES / 8);
        cal_test_expect_below((double)report.events, (run == 0 ? 1.0 : SHARE) * events + 1.0, "events", "a ball");
        cal_world_destroy(world);
    }
}

// A loop that controls an arm a thousand times per second changes it each time: what is computed ahead of the next change is thrown away, and is a step
// of the solver at most. It was sixty times as long as what stayed.
static void what_is_controlled_is_not_computed_far_ahead(void** state) {
    (void)state;
    static const char text[] = "<mujoco><worldbody><geom type='plane' size='0 0 1'/><body pos='0 0 1'><joint name='a' "
                               "type='hinge' axis='0 1 0'/>"
                               "<geom type='capsule' size='.03' fromto='0 0 0 .4 0 0'/><body pos='.4 0 0'><joint "
                               "name='b' type='hinge' axis='0 1 0'/>"
                               "<geom type='capsule' size='.03' fromto='0 0 0 .3 0 0'/></body></body></worldbody>"
                               "<actuator><motor joint='a' gear='20'/><motor joint='b' gear='5'/></actuator></mujoco>";
    enum { CHANGES = 200 };
    const double time = 0.2;
    uint64_t hash = 0;
    cal_error error;
    cal_model* model = NULL;
    if (cal_model_read_memory(text, strlen(text), "arm.xml", NULL, &model, NULL, &error) != CAL_OK)
        fail_msg("%s", error.text);
    for (int run = 0; run < 2; run++) {
        cal_world_def events = cal_default_world_def();
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim = NULL;
        events.forced_rollbacks = 0.2 * run;
        def.events = &events;
        sim = cal_test_create_sim(model, &def);
        for (int i = 0; i < CHANGES; i++) {
            const double control[2] = {i % 3 - 1.0, i % 5 - 2.0};
            if (cal_sim_drive(sim, NULL, control, &error) != CAL_OK ||
                cal_sim_advance(sim, time * (i + 1) / CHANGES, &error) != CAL_OK)
                fail_msg("%s", error.text);
        }
        const cal_world_report report = cal_test_report(cal_sim_world(sim));
        if (run == 0) hash = report.hash;
        assert_true(report.hash == hash);
        if (run == 0) cal_test_expect_below(report.integrated, 8.0 * report.moving * time, "integrated", "an arm");
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// Two boxes that are too far apart for one contact group, and near enough for each decision of one to look at the other; a ball on the first one; and a ball
// between two plates, for events to force rollbacks after.
static cal_world* make_boxes(double forced, uint64_t seed, cal_body_id* ball) {
    cal_world_def def = cal_default_world_def();
    def.forced_rollbacks = forced, def.seed = seed;
    cal_world* world = cal_test_world(&def);
    cal_test_add_floor(world);
    cal_world_body_def body = cal_default_world_body_def();
    body.position[2] = 0.1;
    cal_test_add(world, &body, CAL_BOX, 0.1, 0.1, 0.1);
    body.position[0] = 0.2008;
    cal_test_add(world, &body, CAL_BOX, 0.1, 0.1, 0.1);
    body.position[0] = 0.0, body.position[2] = 0.25;
    *ball = cal_test_add(world, &body, CAL_SPHERE, 0.05, 0.0, 0.0);
    body.position[0] = 3.0;
    for (int i = 0; i < 3; i++) {
        body.motion = i < 2 ? CAL_FIXED : CAL_MOVING;
        body.position[2] = i == 0 ? 0.5 : i == 1 ? 0.9 : 0.7;
        body.velocity[2] = i == 2 ? 100.0 : 0.0;
        cal_test_add(world, &body, i < 2 ? CAL_BOX : CAL_SPHERE, 0.1, 0.1, 0.05);
    }
    return world;
}

// What is removed takes the group along in which it was; another group that goes back to before that does not ask where its members were.
static void what_is_removed_is_not_asked_for(void** state) {
    (void)state;
    uint64_t hash = 0;
    for (uint64_t seed = 0; seed <= 8; seed++) {
        cal_body_id ball;
        cal_error error = {CAL_OK, ""};
        cal_world* world = make_boxes(seed == 0 ? 0.0 : 0.9, seed, &ball);
        cal_test_advance(world, 0.103);
        assert_int_equal(cal_test_report(world).groups_now, 2);
        if (cal_world_remove_body(world, ball, &error) != CAL_OK) fail_msg("%s", error.text);
        cal_test_advance(world, 0.15);
        if (seed == 0) hash = cal_test_report(world).hash;
        assert_true(cal_test_report(world).hash == hash);
        cal_world_destroy(world);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_worlds_have_one_history),
                                       cmocka_unit_test(scenes_have_one_history),
                                       cmocka_unit_test(bodies_that_are_moved_apart_stay_apart),
                                       cmocka_unit_test(many_impacts_are_not_repeated_without_end),
                                       cmocka_unit_test(what_is_controlled_is_not_computed_far_ahead),
                                       cmocka_unit_test(what_is_removed_is_not_asked_for)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
