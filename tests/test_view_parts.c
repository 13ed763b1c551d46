// The parts of the viewer that need no network: who may connect, what a message may say, kinematics along a path, the hand.
#define _POSIX_C_SOURCE 200809L
#include "place.h"
#include "support.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "record/drawing.h"
#include "math/vector.h"
#include "view/access.h"
#include "view/command.h"
#include "record/drawing.h"
#include "view/pace.h"
#include "view/describe.h"
#include "view/probes.h"
#include "view/runner.h"
#include "view/upload.h"
#include "run/path.h"
#include "run/pull.h"

// --- Who may connect ------------------------------------------------------------------------------------------------------

static void test_hosts_that_are_not_ours_are_refused(void** unused) {
    (void)unused;
    const char* const good[] = {"127.0.0.1:7878", "localhost:7878", "LOCALHOST:7878", "[::1]:7878", "127.9.9.9:7878"};
    const char* const bad[] = {"",
                               "localhost",
                               "localhost:80",
                               "localhost:7878x",
                               "localhost:78780",
                               "localhost:-7878",
                               "evil.example:7878",
                               "127.0.0.1.evil.example:7878",
                               "localhost.evil.example:7878",
                               "192.168.0.7:7878",
                               "box:7878",
                               "[::1:7878",
                               "[]:7878",
                               ":7878",
                               "::1:7878",
                               "user@localhost:7878"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(cal_access_host(good[i], "127.0.0.1", "box", 7878));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(cal_access_host(bad[i], "127.0.0.1", "box", 7878));
    assert_false(cal_access_host(NULL, "127.0.0.1", "box", 7878));
    char longest[600];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_false(cal_access_host(longest, "127.0.0.1", "box", 7878));
    // One that listens to others answers to its addresses and its own name, and to no name that somebody made up.
    assert_true(cal_access_host("192.168.0.7:7878", "0.0.0.0", "box", 7878));
    assert_true(cal_access_host("box.local:7878", "0.0.0.0", "box", 7878));
    assert_true(cal_access_host("Box:7878", "0.0.0.0", "box", 7878));
    assert_false(cal_access_host("boxer:7878", "0.0.0.0", "box", 7878));
    assert_false(cal_access_host("box.evil.example:7878", "0.0.0.0", "box", 7878));
    assert_false(cal_access_host("evil.example:7878", "0.0.0.0", "", 7878));
    assert_true(cal_access_host("localhost:80", "127.0.0.1", "box", 80) &&
                cal_access_host("localhost", "127.0.0.1", "box", 80));
}

static void test_only_pages_of_the_same_host_may_connect(void** unused) {
    (void)unused;
    assert_true(cal_access_origin("http://localhost:7878", "localhost:7878"));
    assert_true(cal_access_origin("http://[::1]:7878", "[::1]:7878"));
    const char* const bad[] = {"null",
                               "",
                               "localhost:7878",
                               "https://localhost:7878",
                               "http://localhost:7879",
                               "http://127.0.0.1:7878",
                               "http://evil.example",
                               "http://localhost:7878.evil.example"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(cal_access_origin(bad[i], "localhost:7878"));
    assert_false(cal_access_origin(NULL, "localhost:7878"));
}

// --- Messages -------------------------------------------------------------------------------------------------------------

static const char* const good_messages[] = {
    "{\"do\":\"run\"}",
    "{\"do\":\"pause\"}",
    "{\"do\":\"step\"}",
    "{\"do\":\"reset\"}",
    "{\"do\":\"drop\"}",
    "{\"do\":\"speed\",\"speed\":0.5}",
    "{\"do\":\"watch\",\"body\":-1}",
    "{\"do\":\"grab\",\"body\":3,\"point\":[0,0.5,-1e3]}",
    "{\"do\":\"drag\",\"target\":[1,2,3]}",
    "{\"do\":\"pose\",\"index\":3,\"value\":-0.5}",
    "{\"do\":\"control\",\"index\":0,\"value\":1}",
    "{\"do\":\"key\",\"index\":0}",
    "{\"do\":\"probe\",\"kind\":\"force\",\"index\":2}",
    "{\"do\":\"show\",\"kind\":\"contacts\",\"index\":1}",
    "{\"do\":\"open\",\"index\":4}",
    "{\"do\":\"load\",\"file\":\"robot/scene.xml\"}",
    "{\"do\":\"set\",\"solver\":\"gear\",\"tolerance\":1e-6,\"algorithm\":\"aba\",\"machine\":\"threads:4\"}",
};
enum { GOOD = sizeof good_messages / sizeof good_messages[0] };

static bool parse(const char* text, cal_view_command* command) {
    cal_error error = {CAL_OK, ""};
    const bool good = cal_view_command_parse(text, strlen(text), 10, command, &error);
    // Whoever is refused is told why.
    assert_true(good || error.text[0]);
    return good;
}

static void test_messages_are_checked(void** unused) {
    (void)unused;
    cal_view_command command;
    for (int i = 0; i < GOOD; i++) assert_true(parse(good_messages[i], &command));
    assert_int_equal(command.verb, CAL_VIEW_SET);
    assert_string_equal(command.machine, "threads:4");
    assert_true(parse(good_messages[7], &command));
    assert_int_equal(command.body, 3);
    assert_true(command.vector[2] == -1e3);
    const char* const bad[] = {
        "",
        "x",
        "{}",
        "[]",
        "null",
        "\"run\"",
        "{\"do\":1}",
        "{\"do\":\"fly\"}",
        "{\"do\":\"run\",\"do\":\"pause\"}",
        "{\"do\":\"run\",\"more\":1}",
        "{\"do\":\"speed\"}",
        "{\"do\":\"speed\",\"speed\":0}",
        "{\"do\":\"speed\",\"speed\":-1}",
        "{\"do\":\"speed\",\"speed\":1e9}",
        "{\"do\":\"speed\",\"speed\":\"1\"}",
        "{\"do\":\"speed\",\"speed\":1e999}",
        "{\"do\":\"grab\",\"body\":3}",
        "{\"do\":\"grab\",\"body\":10,\"point\":[0,0,0]}",
        "{\"do\":\"grab\",\"body\":-1,\"point\":[0,0,0]}",
        "{\"do\":\"grab\",\"body\":1.5,\"point\":[0,0,0]}",
        "{\"do\":\"grab\",\"body\":4294967296,\"point\":[0,0,0]}",
        "{\"do\":\"grab\",\"body\":3,\"point\":[0,0]}",
        "{\"do\":\"grab\",\"body\":3,\"point\":[0,0,0,0]}",
        "{\"do\":\"grab\",\"body\":3,\"point\":[0,0,null]}",
        "{\"do\":\"drag\",\"target\":[1e300,0,0]}",
        "{\"do\":\"set\"}",
        "{\"do\":\"set\",\"solver\":\"\"}",
        "{\"do\":\"set\",\"solver\":\"a name that is far too long for a solver\"}",
        "{\"do\":\"set\",\"tolerance\":0}",
        "{\"do\":\"set\",\"solver\":\"ge\\u0000ar\"}",
        "{\"do\":\"watch\",\"body\":-2}",
        "{\"do\":\"pose\",\"index\":-1,\"value\":0}",
        "{\"do\":\"pose\",\"index\":0,\"value\":\"0\"}",
        "{\"do\":\"pose\",\"index\":9e99,\"value\":0}",
        "{\"do\":\"control\",\"value\":0}",
        "{\"do\":\"probe\",\"index\":0}",
        "{\"do\":\"probe\",\"kind\":\"a kind that is too long\",\"index\":0}",
        "{\"do\":\"load\",\"file\":\"\"}",
        "{\"do\":\"open\"}",
        "{\"do\":\"run\"} {\"do\":\"run\"}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(parse(bad[i], &command));
    char long_message[CAL_VIEW_MESSAGE_LIMIT + 2];
    memset(long_message, ' ', sizeof long_message);
    assert_false(cal_view_command_parse(long_message, sizeof long_message, 10, &command, NULL));
}

// A hundred thousand messages with bytes changed, cut, doubled: whatever is let through is in range.
static void test_damaged_messages_are_harmless(void** unused) {
    (void)unused;
    cal_random seed = {8};
    int accepted = 0;
    for (int round = 0; round < 100000; round++) {
        char text[512];
        size_t length = (size_t)snprintf(text, sizeof text, "%s", good_messages[cal_random_bits(&seed) % GOOD]);
        const int changes = 1 + (int)(cal_random_bits(&seed) % 4);
        for (int i = 0; i < changes; i++) {
            const size_t at = cal_random_bits(&seed) % length;
            switch (cal_random_bits(&seed) % 4) {
            case 0: text[at] = (char)cal_random_bits(&seed); break;
            case 1: text[at] = "{}[]\",:0123456789.e-"[cal_random_bits(&seed) % 20]; break;
            case 2: length = at + 1; break;
            default:
                if (2 * length < sizeof text) memmove(text + length, text + at, length - at), length += length - at;
            }
        }
        cal_view_command command;
        if (!cal_view_command_parse(text, length, 10, &command, NULL)) continue;
        accepted++;
        assert_in_range(command.verb, CAL_VIEW_RUN, CAL_VIEW_LOAD);
        assert_true(command.body >= CAL_NONE && command.body < 10);
        for (int k = 0; k < 3; k++) assert_true(fabs(command.vector[k]) <= 1e9);
        assert_true(strlen(command.solver) < sizeof command.solver && strlen(command.machine) < sizeof command.machine);
    }
    assert_true(accepted > 0);
}

// --- Kinematics along a path --------------------------------------------------------------------------------------------------

static void check_paths(const cal_model* model, const char* name) {
    cal_test_engine engine = cal_test_open(model, "kinematics", 1);
    cal_test_motion motion = cal_test_random_motion(model, 5);
    cal_test_load(&engine, &motion);
    cal_test_execute(&engine);
    const int bodies = cal_model_body_count(model), v_count = cal_model_v_count(model);
    double *poses = cal_test_numbers(7 * (size_t)bodies), *jacobian = cal_test_numbers(6 * (size_t)v_count + 1);
    assert_int_equal(cal_state_get(engine.state, CAL_POSE, poses), CAL_OK);
    for (int body = 0; body < bodies; body++) {
        const double origin[3] = {0, 0, 0}, *pose = poses + 7 * body;
        cal_path* path = cal_path_create(model, body);
        cal_body_course seen;
        cal_path_follow(path, motion.q, motion.v, &seen);
        cal_path_destroy(path);
        cal_test_expect_below(cal_test_largest_difference(seen.position, pose, 3), 1e-11, "position", name);
        double same = 0;
        for (int k = 0; k < 4; k++) same += seen.quaternion[k] * pose[3 + k];
        cal_test_expect_below(1 - fabs(same), 1e-11, "quaternion", name);
        // Against the Jacobian, which is computed in another way.
        assert_int_equal(cal_state_jacobian(engine.state, body, origin, jacobian), CAL_OK);
        double expected[6] = {0};
        for (int row = 0; row < 6; row++)
            for (int i = 0; i < v_count; i++) expected[row] += jacobian[row * v_count + i] * motion.v[i];
        cal_test_expect_below(cal_test_largest_difference(seen.velocity, expected, 3), 1e-10, "velocity", name);
        cal_test_expect_below(cal_test_largest_difference(seen.angular, expected + 3, 3), 1e-10, "turning", name);
    }
    free(poses);
    free(jacobian);
    cal_test_motion_free(&motion);
    cal_test_close(&engine);
}

static void test_a_path_gives_what_kinematics_gives(void** unused) {
    (void)unused;
    cal_test_on_every_model(check_paths);
}

// --- The hand -----------------------------------------------------------------------------------------------------------------

// The hand feels a free body's mass, and on a pendulum what the hinge lets it feel: m at the mass, along one direction of three.
static void test_the_hand_feels_the_mass(void** unused) {
    (void)unused;
    cal_pull pull = {.body = CAL_NONE};
    cal_model* model = cal_test_model("pendulum:mass=2,length=1,start=0");
    double q[1] = {0};
    cal_body_def body;
    cal_model_body(model, 0, &body);
    assert_int_equal(cal_pull_start(&pull, model, 0, body.center, 0, q, NULL), CAL_OK);
    // d = 2 ω m with m = 3 / trace Λ⁻¹ = 3 · 2 kg, and k = ω² m.
    const double omega = 2 * pull.stiffness / pull.damping;
    cal_test_expect_below(fabs(pull.damping / (2 * omega) - 6), 1e-9, "mass that is felt", "pendulum");
    double force[3];
    cal_pull_force(&pull, 0, q, (const double[1]){0}, force, NULL);
    cal_test_expect_below(cal_test_largest(force, 3), 1e-12, "force at rest", "pendulum");
    // A hand very far away does not pull without bound.
    cal_pull_move(&pull, (const double[3]){1e6, 0, 0}, 0);
    cal_pull_force(&pull, 1, q, (const double[1]){0}, force, NULL);
    assert_true(force[0] > 0 && force[0] <= pull.most);
    cal_pull_end(&pull);
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_pull_start(&pull, model, 7, body.center, 0, q, &error), CAL_BAD_ARGUMENT);
    assert_int_equal(pull.body, CAL_NONE);
    cal_model_destroy(model);
}

static cal_run* open_run(const cal_model* model, double tolerance) {
    cal_run_sim_def def = cal_default_run_sim_def();
    cal_run* run = NULL;
    cal_error error = {CAL_OK, ""};
    def.sim.relative = tolerance;
    def.rests = true;
    if (cal_run_create_sim(model, &def, &run, &error) || cal_run_begin(run, false, NULL, &error))
        fail_msg("%s", error.text);
    return run;
}

static cal_status sample(cal_run* run, double* poses, double* channels, cal_run_pull* pull) {
    cal_status status = cal_run_poses(run, poses, NULL);
    if (!status) status = cal_run_read(run, channels, NULL);
    cal_run_get_pull(run, pull);
    return status;
}

static void advance_to(cal_run* run, double time) {
    cal_error error = {CAL_OK, ""};
    for (bool reached = false; !reached;)
        if (cal_run_approach(run, time, &reached, &error)) fail_msg("%s", error.text);
}

// Nobody reaches out of the folder for uploads.
static void test_paths_of_dropped_files_are_checked(void** unused) {
    (void)unused;
    const char* const good[] = {"scene.xml", "robot/scene.xml", "robot/meshes/left hip.stl", "a..b/c",
                                "gr\xc3\xbc\xc3\x9f.xml"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(cal_upload_path_is_good(good[i]));
    const char* const bad[] = {"",     "/etc/passwd", "../x", "a/../../x", "a//b", "a/",    ".ssh/config",
                               "a/.b", "a\\b",        "a\nb", "a\177b",    "./a",  "a/./b", ".."};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (cal_upload_path_is_good(bad[i])) fail_msg("'%s' passes", bad[i]);
    char longest[CAL_UPLOAD_PATH + 2];
    memset(longest, 'a', sizeof longest);
    longest[CAL_UPLOAD_PATH + 1] = '\0';
    assert_false(cal_upload_path_is_good(longest));
    longest[CAL_UPLOAD_PATH] = '\0';
    assert_true(cal_upload_path_is_good(longest));
}

// One viewer after the other over one folder takes what one may take, and no more.
static void test_uploads_are_bounded_over_viewers(void** unused) {
    (void)unused;
    const char* folder = cal_test_folder();
    assert_non_null(folder);
    cal_upload_sum sum = {.folder = folder};
    for (int i = 0; i < 2; i++) {
        cal_upload upload = {.failed = false};
        char text[32];
        const int length = snprintf(text, sizeof text, "a/%d.xml\n0123456789", i);
        cal_upload_take(&upload, &sum, text, (size_t)length);
        assert_true(cal_upload_end(&upload));
    }
    cal_upload_sum next = {.folder = folder};
    cal_upload_measure(&next);
    assert_int_equal(next.files, 2);
    assert_int_equal(next.bytes, 20);
    next.bytes = CAL_UPLOAD_BYTES;
    cal_upload upload = {.failed = false};
    cal_upload_take(&upload, &next, "b.xml\n0", 7);
    assert_false(cal_upload_end(&upload));
}

static void test_tokens(void** unused) {
    (void)unused;
    char a[CAL_TOKEN_MOST + 1], b[CAL_TOKEN_MOST + 1];
    assert_true(cal_access_make_token(a) && cal_access_make_token(b));
    assert_string_not_equal(a, b);
    assert_true(cal_access_token_is_good(a) && strlen(a) == CAL_TOKEN_BITS / 4);
    assert_true(cal_access_token(a, a));
    assert_false(cal_access_token(a, b) || cal_access_token("", a));
    memcpy(b, a, sizeof b);
    b[CAL_TOKEN_BITS / 4 - 1] = '\0';
    assert_false(cal_access_token(b, a) || cal_access_token(a, b));
    assert_false(cal_access_token_is_good("short") || cal_access_token_is_good("0123456789abcdef&x=1"));
}

static cal_status draw(const cal_model* model, cal_drawing** out);

// --- Names --------------------------------------------------------------------------------------------------------------------

// A chain whose names are of one kind each: all quotes, cut in the middle of a character wherever they are cut, of another encoding.
static cal_model* make_chain_of_names(int count, const char* repeated, const char* first) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    for (int i = 0; i < count; i++) {
        char name[512];
        int length = snprintf(name, sizeof name, "%d%s", i, first);
        while (length < 400) length += snprintf(name + length, sizeof name - (size_t)length, "%s", repeated);
        cal_body_def body = cal_default_body_def();
        cal_joint_def joint = cal_default_joint_def();
        body.name = joint.name = name;
        body.parent = i - 1, body.mass = 1.0;
        for (int k = 0; k < 3; k++) body.inertia[k] = 1.0;
        cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &joint);
    }
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

// jansson takes nothing but well-formed UTF-8, as browsers do.
static json_t* expect_json(const char* text, size_t length) {
    json_error_t where;
    json_t* root = json_loadb(text, length, 0, &where);
    if (!root) fail_msg("%s: %.*s", where.text, (int)length, text);
    return root;
}

static void wake_nobody(void* unused) { (void)unused; }

static void expect_names_to_arrive(const cal_model* model) {
    cal_run* run = open_run(model, 1e-6);
    cal_drawing* drawing = NULL;
    assert_int_equal(draw(model, &drawing), CAL_OK);
    char *scene = NULL, *text = malloc(CAL_VIEW_STATUS);
    size_t length;
    assert_non_null(text);
    FILE* file = open_memstream(&scene, &length);
    fputs("{\"is\":1", file);
    assert_true(cal_describe_bodies(drawing, run, file));
    fputc('}', file);
    fclose(file);
    json_decref(expect_json(scene, length));
    free(scene);

    const cal_runner_def def = {.run = run, .shown = true, .wake = wake_nobody, .note = "\xe2\x82"};
    cal_runner* runner = NULL;
    assert_int_equal(cal_runner_create(&def, &runner, NULL), CAL_OK);
    for (int i = 0; i < CAL_PROBES; i++) {
        cal_view_command probe = {.verb = CAL_VIEW_PROBE, .index = i, .kind = "q"};
        assert_true(cal_runner_post(runner, &probe));
    }
    cal_view_command watch = {.verb = CAL_VIEW_WATCH, .body = 1};
    assert_true(cal_runner_post(runner, &watch));
    assert_int_equal(cal_runner_show(runner, NULL), CAL_OK);
    cal_runner_status(runner, text, CAL_VIEW_STATUS, &length);
    json_t* status = expect_json(text, length);
    assert_int_equal(json_array_size(json_object_get(status, "probes")), CAL_PROBES);
    json_decref(status);
    cal_runner_watched(runner, 0, text, CAL_VIEW_STATUS, &length);
    json_decref(expect_json(text, length));
    cal_runner_destroy(runner);
    free(text);
    cal_drawing_destroy(drawing);
    cal_run_destroy(run);
}

static void test_names_of_every_kind_arrive(void** unused) {
    (void)unused;
    static const char* const kinds[][2] = {
        {"\"", ""},           {"\xc3\xa4", ""},          {"\xc3\xa4", "x"}, {"\xe2\x82\xac", "x"},
        {"\xe2\x82\xac", ""}, {"\xf0\x9f\xa6\x80", "x"}, {"\xe4", ""},      {"\xed\xa0\x80", ""},
        {"</script>", ""}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        cal_model* model = make_chain_of_names(CAL_PROBES, kinds[i][0], kinds[i][1]);
        expect_names_to_arrive(model);
        cal_model_destroy(model);
    }
}

// What is plotted is what the run has: q and v by their numbers, and of a pendulum at rest the weight in its joint.
static void test_probes_read_what_the_run_has(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("pendulum:mass=2,start=0");
    cal_run* run = open_run(model, 1e-8);
    cal_probes probes = {0};
    double values[CAL_PROBES];
    assert_int_equal(cal_run_set(run, 0, (const double[]){0.0}, (const double[]){0.0}, NULL), CAL_OK);
    assert_int_equal(cal_probes_toggle(&probes, run, "force", 0, NULL), CAL_OK);
    assert_int_equal(cal_probes_toggle(&probes, run, "q", 0, NULL), CAL_OK);
    assert_int_equal(cal_probes_toggle(&probes, run, "v", 1, NULL), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_probes_toggle(&probes, run, "w", 0, NULL), CAL_BAD_ARGUMENT);
    cal_probes_read(&probes, run, values);
    cal_test_expect_below(fabs(values[0] - 2 * 9.81), 1e-9, "force", "pendulum");
    assert_true(values[1] == 0.0);
    assert_int_equal(cal_probes_toggle(&probes, run, "force", 0, NULL), CAL_OK); // again: no longer
    assert_int_equal(probes.count, 1);
    cal_probes_release(&probes);
    cal_run_destroy(run);
    cal_model_destroy(model);
}

// A hand on one of its hands holds all of a robot of 60 kg that nothing else holds.
static void test_a_robot_is_held_by_its_hand(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("humanoid:floor=0");
    cal_run* run = open_run(model, 1e-4);
    int hand = 0;
    char name[64];
    while (strcmp(cal_model_body_name(model, hand, name, sizeof name), "left_hand") != 0) hand++;
    cal_run_pull pull;
    assert_int_equal(cal_run_grab(run, hand, (const double[3]){0, 0, 0}, NULL), CAL_OK);
    cal_run_get_pull(run, &pull);
    const double target[3] = {pull.position[0], pull.position[1], pull.position[2]};
    cal_run_drag(run, target);
    advance_to(run, 3);
    cal_run_get_pull(run, &pull);
    double away[3];
    for (int i = 0; i < 3; i++) away[i] = pull.position[i] - target[i];
    cal_test_expect_below(sqrt(cal_dot3(away, away)), 1.5, "distance from the mouse", "humanoid");
    cal_run_destroy(run);
    cal_model_destroy(model);
}

// A damped pull of a pendulum ends at the angle where spring and weight balance, which statics gives.
static void test_a_pull_settles_where_it_balances(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("pendulum:mass=1,length=1,start=0");
    cal_run* run = open_run(model, 1e-8);
    cal_body_def body;
    double poses[7];
    double channels[CAL_RUN_CHANNELS];
    cal_run_pull pull;
    cal_model_body(model, 0, &body);
    assert_int_equal(sample(run, poses, channels, &pull), CAL_OK);
    assert_int_equal(cal_run_grab(run, 0, body.center, NULL), CAL_OK);
    assert_int_equal(sample(run, poses, channels, &pull), CAL_OK);
    double target[3], gravity[3], up[3];
    cal_model_gravity(model, gravity);
    for (int k = 0; k < 3; k++) up[k] = -gravity[k] / 9.81, target[k] = pull.position[k] + 0.5 * up[k];
    // Half a metre up and half to every side.
    for (int k = 0; k < 3; k++) target[k] += up[k] == 0 ? 0.5 : 0;
    cal_run_drag(run, target);
    advance_to(run, 20);
    assert_int_equal(sample(run, poses, channels, &pull), CAL_OK);
    assert_true(channels[0] < 1e-9);
    // At rest the hand's force and the weight have no moment about the hinge: along the circle their sum is zero.
    cal_joint_def joint;
    double along[3], sum = 0;
    cal_model_joint(model, 0, &joint, NULL, NULL, NULL);
    cal_cross3(joint.axis, pull.position, along); // the hinge is in the origin
    for (int k = 0; k < 3; k++) sum += (pull.force[k] + body.mass * gravity[k]) * along[k];
    cal_test_expect_below(fabs(sum), 1e-4, "moment of hand and weight", "pendulum");
    assert_true(cal_dot3(pull.force, pull.force) > 1);
    cal_run_drop(run);
    cal_run_destroy(run);
    cal_model_destroy(model);
}

static void test_after_a_pull_the_energy_stays(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("mobile:s=2,l=3,o=4,plateau=printed,start=0.8");
    cal_run* run = open_run(model, 1e-8);
    double* poses = malloc(7 * sizeof *poses * (size_t)cal_model_body_count(model));
    double before[CAL_RUN_CHANNELS], after[CAL_RUN_CHANNELS];
    cal_run_pull pull;
    assert_int_equal(cal_run_grab(run, 5, (const double[3]){0, -0.5, 0}, NULL), CAL_OK);
    cal_run_drag(run, (const double[3]){3, 1, 2});
    advance_to(run, 1);
    cal_run_drop(run);
    assert_int_equal(sample(run, poses, before, &pull), CAL_OK);
    assert_int_equal(pull.body, CAL_NONE);
    advance_to(run, 3);
    assert_int_equal(sample(run, poses, after, &pull), CAL_OK);
    cal_test_expect_below(fabs(after[2] - before[2]) / fmax(before[0], after[0]), 1e-5, "energy", "mobile");
    free(poses);
    cal_run_destroy(run);
    cal_model_destroy(model);
}

// Jerked about at random sixty times a second, taken and let go again and again: it stays finite, and starts anew as it began.
static void test_a_jerked_mobile_stays_finite(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("mobile:s=3,l=11,o=9,plateau=printed,start=0.8");
    cal_run* run = open_run(model, 1e-4);
    const int bodies = cal_model_body_count(model);
    assert_true(cal_model_joint_count(model) >= 1000);
    double* poses = malloc(7 * sizeof *poses * (size_t)bodies);
    const uint64_t start = cal_run_hash(run);
    cal_random seed = {11};
    cal_run_pull pull;
    double channels[CAL_RUN_CHANNELS];
    for (int frame = 0; frame < (CAL_TEST_SANITIZED ? 60 : 120); frame++) {
        const int body = cal_random_below(&seed, bodies);
        if (frame % 20 == 0) assert_int_equal(cal_run_grab(run, body, (const double[3]){0, 0, 0}, NULL), CAL_OK);
        if (frame % 60 == 50) cal_run_drop(run);
        double target[3];
        for (int k = 0; k < 3; k++) target[k] = cal_random_between(&seed, -40, 40);
        cal_run_drag(run, target);
        advance_to(run, (frame + 1) / 60.0);
        assert_int_equal(sample(run, poses, channels, &pull), CAL_OK);
        for (int i = 0; i < 7 * bodies; i++) assert_true(isfinite(poses[i]));
    }
    cal_run_drop(run);
    assert_int_equal(cal_run_reset(run, NULL), CAL_OK);
    assert_true(cal_run_hash(run) == start);
    free(poses);
    cal_run_destroy(run);
    cal_model_destroy(model);
}

// An advance that rested goes on, also when the next one asks for less: its steps are not taken twice.
static void test_a_rest_loses_nothing(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("mobile:s=3,l=11,o=9,plateau=printed,start=0.8");
    int stretches[2] = {0, 0};
    uint64_t hashes[2];
    for (int k = 0; k < 2; k++) {
        cal_run* run = open_run(model, 1e-9);
        for (bool reached = false; !reached && stretches[k] < 100; stretches[k]++) {
            const double time = k == 0 || stretches[k] == 0 ? 0.5 : 1e-3;
            assert_int_equal(cal_run_approach(run, time, &reached, NULL), CAL_OK);
        }
        assert_true(cal_run_time(run) == 0.5);
        hashes[k] = cal_run_hash(run);
        cal_run_destroy(run);
    }
    assert_true(stretches[0] > 1);
    assert_int_equal(stretches[1], stretches[0]);
    assert_true(hashes[0] == hashes[1]);
    cal_model_destroy(model);
}

// Three seconds behind, and it is slow; three seconds in time, and it is not.
static void test_slowness_is_noticed(void** unused) {
    (void)unused;
    cal_pace pace;
    double time = 0;
    int changes = 0;
    cal_pace_start(&pace, 100, time);
    for (int frame = 1; frame <= 60 * 20; frame++) {
        const double wall = frame / 60.0;
        // Full speed, then a fifth of it, then a pause, in which nothing is behind.
        const double asked = wall < 15 ? 1 : 0;
        time += (wall < 5 ? 1 : wall < 15 ? 0.2 : 0) / 60;
        if (cal_pace_measure(&pace, 100 + wall, time, asked)) {
            changes++;
            assert_true(pace.slow == (changes == 1));
            cal_test_expect_below(fabs(wall - (changes == 1 ? 8.2 : 18.2)), 0.4, "noticed", "pace");
        }
        if (wall > 6 && wall < 15) cal_test_expect_below(fabs(pace.factor - 0.2), 0.02, "factor", "pace");
    }
    assert_int_equal(changes, 2);
}

static void test_settings_change_on_the_way(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("chain:n=6");
    cal_run* run = open_run(model, 1e-6);
    cal_error error = {CAL_OK, ""};
    advance_to(run, 0.5);
    const uint64_t hash = cal_run_hash(run);
    const cal_run_settings good = {"rk4", "aba", "threads:2", 1e-4};
    assert_int_equal(cal_run_change(run, &good, &error), CAL_OK);
    assert_true(cal_run_hash(run) == hash);
    const cal_run_settings bad[] = {{"gearbox", "aba", "serial", 1e-4},    {"gear", "magic", "serial", 1e-4},
                                    {"gear", "armstrong", "serial", 1e-4}, {"gear", "aba", "mpi", 1e-4},
                                    {"gear", "aba", "threads:0", 1e-4},    {"gear", "aba", "serial", 5}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        error.text[0] = '\0';
        assert_int_not_equal(cal_run_change(run, &bad[i], &error), CAL_OK);
        assert_true(error.text[0]);
        assert_true(cal_run_hash(run) == hash);
    }
    advance_to(run, 0.6);
    cal_run_destroy(run);
    cal_model_destroy(model);
}

// Constraints: their error is a channel, which stabilisation keeps small; a start that is off them is moved or refused.
static void test_constraints_are_watched(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("fivebar");
    double errors[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        cal_run_sim_def def = cal_default_run_sim_def();
        cal_run* run = NULL;
        cal_error error = {CAL_OK, ""};
        int count;
        def.sim.solver = "rk4";
        def.sim.step = 0.002;
        if (i == 0) def.sim.stabilize = "none";
        if (cal_run_create_sim(model, &def, &run, &error) || cal_run_begin(run, false, NULL, &error))
            fail_msg("%s", error.text);
        memset(&def, 0, sizeof def); // it is the caller's, and may go
        const cal_channel* names = cal_run_channels(run, &count);
        assert_string_equal(names[count - 1].name, "constraint error");
        const uint64_t start = cal_run_hash(run);
        double* poses = malloc(7 * sizeof *poses * (size_t)cal_model_body_count(model));
        double channels[CAL_RUN_CHANNELS];
        cal_run_pull pull;
        assert_int_equal(sample(run, poses, channels, &pull), CAL_OK);
        for (int frame = 1; frame <= 120; frame++) advance_to(run, frame / 60.0);
        assert_int_equal(sample(run, poses, channels, &pull), CAL_OK);
        errors[i] = channels[count - 1];
        assert_int_equal(cal_run_reset(run, &error), CAL_OK);
        assert_true(cal_run_hash(run) == start);
        free(poses);
        cal_run_destroy(run);
    }
    assert_true(errors[0] > 1e-9);
    cal_test_expect_below(errors[1], 1e-10, "constraint error", "fivebar"); // a share of the tolerance, 1e-4
    cal_model_destroy(model);
    model = cal_test_model("chain:n=3");
    cal_run* run = open_run(model, 1e-4);
    int count;
    const cal_channel* names = cal_run_channels(run, &count);
    for (int i = 0; i < count; i++) assert_string_not_equal(names[i].name, "constraint error");
    cal_run_destroy(run);
    cal_model_destroy(model);
}

// --- Drawings -----------------------------------------------------------------------------------------------------------------

static cal_status draw(const cal_model* model, cal_drawing** out) {
    cal_run_sim_def def = cal_default_run_sim_def();
    cal_run* run = NULL;
    assert_int_equal(cal_run_create_sim(model, &def, &run, NULL), CAL_OK);
    const cal_status status = cal_drawing_create(run, out, NULL);
    cal_run_destroy(run);
    return status;
}

// The default solid has the body's mass and inertia: checked where its kind's own formula is known, a box.
static void test_a_default_box_has_the_bodys_inertia(void** unused) {
    (void)unused;
    cal_builder* builder;
    cal_model* model = NULL;
    cal_drawing* drawing;
    cal_builder_create(&builder);
    cal_body_def body = cal_default_body_def();
    const double edge[3] = {0.4, 1.0, 0.2};
    body.mass = 3;
    for (int i = 0; i < 3; i++) {
        const double a = edge[(i + 1) % 3], b = edge[(i + 2) % 3];
        body.inertia[i] = body.mass / 12 * (a * a + b * b);
    }
    cal_joint_def joint = cal_default_joint_def();
    cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &joint);
    assert_int_equal(cal_builder_finish(builder, &model, NULL), CAL_OK);
    cal_builder_destroy(builder);
    assert_int_equal(draw(model, &drawing), CAL_OK);
    assert_int_equal(drawing->instance_count, 1);
    assert_int_equal(drawing->instances[0].kind, CAL_BOX);
    double R[9], size[3];
    cal_quaternion_matrix(drawing->instances[0].quaternion, R);
    cal_rotate3(R, drawing->instances[0].size, size);
    for (int i = 0; i < 3; i++) cal_test_expect_below(fabs(fabs(size[i]) - edge[i] / 2), 1e-12, "half edge", "box");
    cal_drawing_destroy(drawing);
    cal_model_destroy(model);
}

// A ball of triangles with far fewer of them is still that ball: its corners near the sphere, its area near 4 π.
static void test_a_coarser_ball_is_a_ball(void** unused) {
    (void)unused;
    enum { AROUND = 100, RINGS = 100, WANTED = 1500 };
    const double pi = 3.14159265358979323846;
    double* vertices = cal_test_numbers(3 * AROUND * (RINGS + 1));
    int32_t* triangles = calloc(6 * AROUND * RINGS, sizeof *triangles);
    assert_non_null(triangles);
    for (int ring = 0; ring <= RINGS; ring++)
        for (int k = 0; k < AROUND; k++) {
            double* at = vertices + 3 * (AROUND * ring + k);
            at[0] = sin(pi * ring / RINGS) * cos(2 * pi * k / AROUND);
            at[1] = sin(pi * ring / RINGS) * sin(2 * pi * k / AROUND);
            at[2] = cos(pi * ring / RINGS);
            if (ring == RINGS) continue;
            const int32_t a = AROUND * ring + k, b = AROUND * ring + (k + 1) % AROUND;
            const int32_t corners[6] = {a, a + AROUND, b, b, a + AROUND, b + AROUND};
            memcpy(triangles + 6 * (AROUND * ring + k), corners, sizeof corners);
        }
    const cal_mesh_def mesh = {.vertices = vertices,
                               .triangles = triangles,
                               .vertex_count = AROUND * (RINGS + 1),
                               .triangle_count = 2 * AROUND * RINGS};
    cal_mesh_def coarse;
    assert_true(cal_mesh_coarsen(&mesh, WANTED, &coarse));
    assert_in_range(coarse.triangle_count, WANTED / 3, WANTED);
    double area = 0;
    for (int i = 0; i < coarse.triangle_count; i++) {
        double u[3], v[3], n[3];
        for (int k = 0; k < 3; k++) {
            assert_in_range(coarse.triangles[3 * i + k], 0, coarse.vertex_count - 1);
            u[k] =
                coarse.vertices[3 * coarse.triangles[3 * i + 1] + k] - coarse.vertices[3 * coarse.triangles[3 * i] + k];
            v[k] =
                coarse.vertices[3 * coarse.triangles[3 * i + 2] + k] - coarse.vertices[3 * coarse.triangles[3 * i] + k];
        }
        cal_cross3(u, v, n);
        area += 0.5 * sqrt(cal_dot3(n, n));
    }
    cal_test_expect_below(fabs(area / (4 * pi) - 1), 0.05, "area", "ball");
    for (int i = 0; i < coarse.vertex_count; i++) {
        const double* at = coarse.vertices + 3 * i;
        cal_test_expect_below(fabs(sqrt(cal_dot3(at, at)) - 1), 0.03, "radius", "ball");
    }
    free(triangles);
    cal_free((void*)(uintptr_t)coarse.vertices);
    cal_free((void*)(uintptr_t)coarse.triangles);
    // What has no extent has no shape.
    memset(vertices, 0, 9 * sizeof *vertices);
    const cal_mesh_def point = {
        .vertices = vertices, .triangles = (const int32_t[]){0, 1, 2}, .vertex_count = 3, .triangle_count = 1};
    assert_false(cal_mesh_coarsen(&point, 10, &coarse));
    free(vertices);
}

// Of a body with a mesh for the eye, shapes for contact are not drawn; of others they are.
static void test_shapes_for_contact_stay_behind(void** unused) {
    (void)unused;
    cal_builder* builder;
    cal_model* model = NULL;
    cal_drawing* drawing;
    cal_builder_create(&builder);
    const double corners[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    const int32_t sides[] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
    cal_mesh_def mesh = cal_default_mesh_def();
    mesh.vertices = corners, mesh.triangles = sides, mesh.vertex_count = 4, mesh.triangle_count = 4;
    const int number = cal_builder_add_mesh(builder, &mesh);
    for (int i = 0; i < 2; i++) {
        cal_body_def body = cal_default_body_def();
        body.mass = 1;
        for (int k = 0; k < 3; k++) body.inertia[k] = 1;
        cal_joint_def joint = cal_default_joint_def();
        const int here = cal_builder_add_body(builder, &body);
        cal_builder_add_joint(builder, here, &joint);
        cal_shape_def shape = cal_default_shape_def();
        shape.body = here;
        shape.kind = CAL_BOX;
        for (int k = 0; k < 3; k++) shape.size[k] = 0.1;
        cal_builder_add_shape(builder, &shape);
        shape.kind = CAL_MESH;
        shape.mesh = number;
        shape.collides = false;
        if (i == 0) cal_builder_add_shape(builder, &shape);
    }
    assert_int_equal(cal_builder_finish(builder, &model, NULL), CAL_OK);
    cal_builder_destroy(builder);
    assert_int_equal(draw(model, &drawing), CAL_OK);
    assert_int_equal(drawing->instance_count, 2);
    assert_true(drawing->instances[0].body == 0 && drawing->instances[0].kind == CAL_MESH);
    assert_true(drawing->instances[1].body == 1 && drawing->instances[1].kind == CAL_BOX);
    cal_drawing_destroy(drawing);
    cal_model_destroy(model);
}

// Every body of every model is drawn with finite numbers; shapes that the model has are drawn instead of the default.
static void check_drawing(const cal_model* model, const char* name) {
    cal_drawing* drawing;
    assert_int_equal(draw(model, &drawing), CAL_OK);
    bool* drawn = calloc((size_t)cal_model_body_count(model) + 1, sizeof *drawn);
    for (int i = 0; i < drawing->instance_count; i++) {
        const cal_drawn* instance = &drawing->instances[i];
        if (instance->body >= 0) drawn[instance->body] = true; // else the ground
        for (int k = 0; k < 3; k++) assert_true(isfinite(instance->position[k]) && instance->size[k] >= 0);
        double square = 0;
        for (int k = 0; k < 4; k++) square += instance->quaternion[k] * instance->quaternion[k];
        cal_test_expect_below(fabs(square - 1), 1e-9, "quaternion", name);
    }
    for (int i = 0; i < cal_model_body_count(model); i++) {
        cal_body_def body;
        cal_model_body(model, i, &body);
        assert_true(drawn[i] || !(body.mass > 0));
    }
    free(drawn);
    cal_drawing_destroy(drawing);
}

static void test_every_body_is_drawn(void** unused) {
    (void)unused;
    cal_test_on_every_model(check_drawing);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts_that_are_not_ours_are_refused),
        cmocka_unit_test(test_only_pages_of_the_same_host_may_connect),
        cmocka_unit_test(test_messages_are_checked),
        cmocka_unit_test(test_damaged_messages_are_harmless),
        cmocka_unit_test(test_a_path_gives_what_kinematics_gives),
        cmocka_unit_test(test_the_hand_feels_the_mass),
        cmocka_unit_test(test_paths_of_dropped_files_are_checked),
        cmocka_unit_test(test_uploads_are_bounded_over_viewers),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_names_of_every_kind_arrive),
        cmocka_unit_test(test_probes_read_what_the_run_has),
        cmocka_unit_test(test_a_robot_is_held_by_its_hand),
        cmocka_unit_test(test_a_pull_settles_where_it_balances),
        cmocka_unit_test(test_after_a_pull_the_energy_stays),
        cmocka_unit_test(test_a_jerked_mobile_stays_finite),
        cmocka_unit_test(test_a_rest_loses_nothing),
        cmocka_unit_test(test_slowness_is_noticed),
        cmocka_unit_test(test_settings_change_on_the_way),
        cmocka_unit_test(test_constraints_are_watched),
        cmocka_unit_test(test_a_default_box_has_the_bodys_inertia),
        cmocka_unit_test(test_a_coarser_ball_is_a_ball),
        cmocka_unit_test(test_shapes_for_contact_stay_behind),
        cmocka_unit_test(test_every_body_is_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
