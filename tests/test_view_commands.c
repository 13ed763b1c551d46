// What a page's messages do to a run, without a network and without a thread: poses, controls, keyframes, settings, plots; and what is
// said where something is not there.
#define _POSIX_C_SOURCE 200809L
#include "support.h"

#include <math.h>
#include <string.h>

#include "calder/calder_read.h"
#include "view/runner_inner.h"

// A pendulum with a motor, a keyframe and a sensor, and a ball joint below it.
static const char robot[] =
    "<mujoco><worldbody><body name='a'><joint name='hinge' axis='0 1 0'/><geom size='.1' pos='0 0 -1'/>"
    "<body name='b' pos='0 0 -1'><joint name='ball' type='ball'/><geom size='.1' pos='0 0 "
    "-1'/></body></body></worldbody>"
    "<actuator><motor name='m' joint='hinge'/></actuator>"
    "<sensor><jointpos name='angle' joint='hinge'/><ballquat name='turn' joint='ball'/></sensor>"
    "<keyframe><key name='up' qpos='2 1 0 0 0' qvel='0 0 0 0' ctrl='0.5'/></keyframe></mujoco>";

typedef struct scene {
    cal_model* model;
    cal_run* run;
    cal_runner* runner;
} scene;

static void nobody_wakes(void* unused) { (void)unused; }

static scene open_scene(cal_model* model) {
    scene s = {.model = model};
    cal_error error = {CAL_OK, ""};
    const cal_run_sim_def def = cal_default_run_sim_def();
    if (cal_run_create_sim(s.model, &def, &s.run, &error) || cal_run_begin(s.run, false, NULL, &error))
        fail_msg("%s", error.text);
    const cal_runner_def how = {.run = s.run, .paused = true, .wake = nobody_wakes};
    if (cal_runner_create(&how, &s.runner, &error)) fail_msg("%s", error.text);
    return s;
}

static cal_model* read_robot(void) {
    cal_model* model = NULL;
    cal_error error = {CAL_OK, ""};
    const cal_status status = cal_model_read_memory(robot, strlen(robot), "robot", NULL, &model, NULL, &error);
    if (status == CAL_NOT_AVAILABLE) skip(); // a build without readers
    if (status) fail_msg("%s", error.text);
    return model;
}

static void close_scene(scene* s) {
    cal_runner_destroy(s->runner);
    cal_run_destroy(s->run);
    cal_model_destroy(s->model);
}

// Does what a message says; returns what the page is told.
static const char* say(const scene* s, const char* message) {
    cal_view_command command = {0};
    cal_error error = {CAL_OK, ""};
    if (!cal_view_command_parse(message, strlen(message), cal_run_body_count(s->run), &command, &error))
        fail_msg("%s: %s", message, error.text);
    cal_runner_apply(s->runner, &command);
    return s->runner->note;
}

static void expect_said(const scene* s, const char* message, const char* part) {
    const char* said = say(s, message);
    if (!strstr(said, part)) fail_msg("%s: '%s' instead of '%s'", message, said, part);
}

static void joints_and_motors_are_moved_by_hand(void** unused) {
    (void)unused;
    scene s = open_scene(read_robot());
    assert_string_equal(say(&s, "{\"do\":\"pose\",\"index\":0,\"value\":0.25}"), "");
    assert_true(cal_run_q(s.run)[0] == 0.25);
    expect_said(&s, "{\"do\":\"pose\",\"index\":5,\"value\":0}", "no q 5");
    // Its motor is stronger than the weight.
    assert_string_equal(say(&s, "{\"do\":\"control\",\"index\":0,\"value\":1000}"), "");
    assert_string_equal(say(&s, "{\"do\":\"step\"}"), "");
    assert_true(cal_run_time(s.run) > 0.0 && cal_run_v(s.run)[0] > 0.0);
    expect_said(&s, "{\"do\":\"control\",\"index\":1,\"value\":0}", "no actuator 1");
    say(&s, "{\"do\":\"run\"}");
    expect_said(&s, "{\"do\":\"pose\",\"index\":0,\"value\":0}", "paused");
    say(&s, "{\"do\":\"pause\"}");
    assert_string_equal(say(&s, "{\"do\":\"key\",\"index\":0}"), "");
    assert_true(cal_run_q(s.run)[0] == 2.0 && cal_run_time(s.run) == 0.0 && s.runner->control[0] == 0.5);
    expect_said(&s, "{\"do\":\"key\",\"index\":1}", "no such keyframe");
    assert_string_equal(say(&s, "{\"do\":\"reset\"}"), "");
    assert_true(cal_run_q(s.run)[0] == 0.0);
    close_scene(&s);
}

static void what_is_not_there_is_said(void** unused) {
    (void)unused;
    scene s = open_scene(cal_test_model("pendulum"));
    expect_said(&s, "{\"do\":\"control\",\"index\":0,\"value\":1}", "no actuator");
    expect_said(&s, "{\"do\":\"key\",\"index\":0}", "no such keyframe");
    expect_said(&s, "{\"do\":\"show\",\"kind\":\"colours\",\"index\":1}", "contacts and q");
    expect_said(&s, "{\"do\":\"probe\",\"kind\":\"sensor\",\"index\":0}", "no sensor 0");
    expect_said(&s, "{\"do\":\"set\",\"solver\":\"gaer\"}", "gaer");
    // Settings that are good take effect, and are marked in the plots; no more than there is room for.
    for (int i = 0; i < MARKS + 1; i++)
        assert_string_equal(say(&s, "{\"do\":\"set\",\"solver\":\"rkf\",\"tolerance\":1e-6}"), "");
    assert_int_equal(s.runner->mark_count, MARKS);
    cal_run_settings now;
    cal_run_get_settings(s.run, &now);
    assert_string_equal(now.solver, "rkf");
    close_scene(&s);
}

// What a page plots: it is named in the status and has its number in every frame.
static void plots_are_named_and_filled(void** unused) {
    (void)unused;
    static const char* const kinds[] = {"q", "v", "force", "sensor"};
    scene s = open_scene(read_robot());
    char message[80], text[CAL_VIEW_STATUS];
    size_t length = 0;
    say(&s, "{\"do\":\"pose\",\"index\":0,\"value\":0.25}");
    for (int i = 0; i < 4; i++) {
        snprintf(message, sizeof message, "{\"do\":\"probe\",\"kind\":\"%s\",\"index\":%d}", kinds[i], i == 1 ? 2 : 0);
        assert_string_equal(say(&s, message), "");
    }
    assert_string_equal(say(&s, "{\"do\":\"probe\",\"kind\":\"sensor\",\"index\":4}"), "");
    assert_true(cal_runner_status(s.runner, text, sizeof text, &length) > 0);
    static const char* const names[] = {"\"q hinge\"", "\"v ball[1]\"", "\"force hinge\"", "\"angle\"", "\"turn[3]\""};
    for (int i = 0; i < 5; i++)
        if (!strstr(text, names[i])) fail_msg("%s is not in %s", names[i], text);
    double values[CAL_PROBES];
    cal_probes_read(&s.runner->probes, s.run, values);
    assert_true(values[0] == 0.25 && values[3] == 0.25 && values[1] == 0.0 && values[4] == 0.0);
    cal_test_expect_below(-values[2], 0.0, "force", "the weight of two balls hangs on the hinge");
    for (int i = 1; i < CAL_PROBES - 4; i++) {
        snprintf(message, sizeof message, "{\"do\":\"probe\",\"kind\":\"q\",\"index\":%d}", i);
        assert_string_equal(say(&s, message), "");
    }
    expect_said(&s, "{\"do\":\"probe\",\"kind\":\"v\",\"index\":0}", "the most that are possible");
    close_scene(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joints_and_motors_are_moved_by_hand),
        cmocka_unit_test(what_is_not_there_is_said),
        cmocka_unit_test(plots_are_named_and_filled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
