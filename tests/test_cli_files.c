// Commands on model files: what a report looks like to a user and to a script, options, and complaints.
#define _POSIX_C_SOURCE 200809L
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char arm[] =
    "<mujoco>\n<worldbody>\n<body name='arm' pos='0 0 1'>\n<joint name='j' axis='0 1 0' damping='0.1' wobble='1'/>\n"
    "<geom type='capsule' fromto='0 0 0 0 0 -0.5' size='0.05'/>\n</body>\n<body name='other' pos='1 0 1'><joint "
    "name='k' "
    "axis='0 1 0'/><geom type='capsule' fromto='0 0 0 0 0 -0.5' size='0.05'/></body></worldbody>\n"
    "<equality><connect body1='arm' body2='other' anchor='0 0 -0.5'/></equality>\n"
    "<actuator><motor joint='j'/></actuator>\n<keyframe><key name='up' qpos='0.5 0.25' ctrl='2'/></keyframe></mujoco>";

static const char balls[] =
    "<mujoco><option gravity='0 0 0'/><worldbody>"
    "<body name='left' pos='-1 0 0'><freejoint/><geom type='sphere' size='0.1' mass='1'/></body>"
    "<body name='right' pos='1 0 0'><freejoint/><geom type='sphere' size='0.1' mass='1'/></body></worldbody>"
    "<keyframe><key name='go' qpos='-1 0 0 1 0 0 0 1 0 0 1 0 0 0' qvel='1 0 0 0 0 0 -1 0 0 0 0 "
    "0'/></keyframe></mujoco>";

static int create_files(void** state) {
    if (cal_test_create_folder(state) != 0) return -1;
    cal_test_write_file("arm.xml", arm);
    cal_test_write_file("balls.xml", balls);
    cal_test_write_file("bad.xml", "<mujoco>\n<worldbody>\n<body>\n<joint axis='1 2'/>");
    return 0;
}

static double first_of(const char* text, const char* key) {
    const char* found = strstr(text, key);
    if (!found) fail_msg("no %s in %s", key, text);
    return strtod(found + strlen(key), NULL);
}

static void says_what_is_in_a_file(void** unused) {
    (void)unused;
    cal_test_outcome o = cal_test_run_well("info arm.xml");
    assert_non_null(strstr(o.out, "constraints          1, of 3 rows"));
    assert_non_null(strstr(o.out, "keyframes            1: up"));
    assert_non_null(strstr(o.out, "not understood\n  arm.xml:4: joint wobble: the attribute has no effect"));
    assert_string_equal(o.err, "calder: arm.xml: not understood: joint wobble\n");
    cal_test_release(&o);
    cal_test_expect_json("info arm.xml --json",
                         "bodies joints dof loops shapes mass total_mass tree constraints issues keyframes");
    o = cal_test_run_well("info arm.xml --json");
    assert_non_null(strstr(o.out, "\"line\": 4"));
    cal_test_release(&o);
}

static void leaves_out_what_it_is_told_to(void** unused) {
    (void)unused;
    cal_test_outcome o = cal_test_run_well("eval arm.xml --what forward --disable equality,gravity --json");
    assert_true(first_of(o.out, "\"qdd\": [") == 0.0);
    // The user hears of what is not simulated, once, beside the answer.
    assert_int_equal(cal_test_count_lines(o.err), 1);
    assert_non_null(strstr(o.err, "arm.xml: not understood: joint wobble; 'calder info arm.xml' lists them"));
    cal_test_release(&o);
    o = cal_test_run_well("eval arm.xml --what forward --disable constraint --key up --json");
    assert_true(first_of(o.out, "\"q\": [") == 0.5);
    assert_true(first_of(o.out, "\"qdd\": [") != 0.0);
    cal_test_release(&o);
    cal_test_expect_mistake("eval arm.xml --what mass --disable wind", "'wind' is not known");
    cal_test_expect_mistake("eval arm.xml --what mass --key down", "no keyframe 'down'");
    o = cal_test_run_well("sim chain:n=2 --disable gravity --time 1 --json");
    assert_true(first_of(o.out, "\"energy_end\": ") < 1e-12);
    cal_test_release(&o);
}

// A share of next to nothing would say that the energy is off by many times what was exchanged.
static void what_hardly_moves_has_no_share_of_its_energy(void** unused) {
    (void)unused;
    cal_test_write_file("rest.xml",
                        "<mujoco><option gravity='0 0 0'/><worldbody>"
                        "<body><joint axis='0 1 0' stiffness='1e3' damping='1'/><geom size='.1'/>"
                        "<body pos='0 0 .3'><joint axis='0 1 0' stiffness='1'/><geom size='.1'/></body>"
                        "</body></worldbody><keyframe><key name='near' qpos='1e-18 0'/></keyframe></mujoco>");
    cal_test_outcome o = cal_test_run_well("sim rest.xml --key near --time 1");
    assert_non_null(strstr(o.out, "next to nothing was exchanged"));
    cal_test_release(&o);
    o = cal_test_run_well("sim humanoid:drop=0.2 --time 0.5");
    assert_null(strstr(o.out, "next to nothing"));
    assert_non_null(strstr(o.out, "J that were exchanged"));
    cal_test_release(&o);
}

static void names_file_line_and_cause(void** unused) {
    (void)unused;
    cal_test_expect_mistake("info bad.xml", "not XML");
    cal_test_expect_mistake("info arm.xml --strict", "arm.xml:4: joint wobble");
    cal_test_expect_mistake("sim gone.mjcf", "cannot open 'gone.mjcf'");
    cal_test_expect_mistake("info .xml", "cannot open");
}

// Equal balls that meet head-on at 0.9 s, whatever the options.
static void a_file_becomes_a_world(void** unused) {
    (void)unused;
    static const char* const loops[] = {"timewarp", "retroactive", "conservative"};
    for (int i = 0; i < 3; i++) {
        char call[128];
        snprintf(call, sizeof call, "sim balls.xml --key go --restitution 0.5 --loop=%s --time 2 --events e.csv --json",
                 loops[i]);
        cal_test_outcome o = cal_test_run_well(call);
        assert_true(first_of(o.out, "\"collisions\": ") == 1);
        assert_true(first_of(o.out, "\"energy_start\": ") == 1);
        const double energy = first_of(o.out, "\"energy_end\": ");
        assert_true(energy > 0.25 - 1e-12 && energy < 0.25 + 1e-12);
        cal_test_release(&o);
        char* events = cal_test_read_file("e.csv");
        const double time = first_of(events, "kind\n");
        assert_true(time > 0.9 - 1e-12 && time < 0.9 + 1e-12);
        assert_non_null(strstr(events, ",left,right,1.5"));
        free(events);
    }
    cal_test_outcome o = cal_test_run_well("sim balls.xml --key go --time 2 --json");
    assert_true(first_of(o.out, "\"collisions\": ") == 1); // the file's shapes touch without being asked
    cal_test_release(&o);
    o = cal_test_run_well("sim balls.xml --key go --disable contact --time 2 --json");
    assert_non_null(strstr(o.out, "\"solver\": "));
    cal_test_release(&o);
    cal_test_expect_mistake("sim arm.xml --loop sideways", "timewarp");
    cal_test_expect_mistake("sim balls.xml --separate --key stop", "no keyframe 'stop'");
    cal_test_expect_mistake("sim balls.xml --loop timewarp --placement p.json", "--placement");
    cal_test_expect_mistake("sim balls.xml --loop timewarp --out a.glb --out b.glb", "one file of a kind");
    cal_test_expect_mistake("sim balls.xml --loop timewarp --out nowhere/a.glb", "nowhere/a.glb");
    cal_test_write_file(
        "sunk.xml", "<mujoco><worldbody><geom name='floor' type='plane' size='5 5 1'/><body name='flap' pos='0 0 .1'>"
                    "<joint type='hinge' axis='0 1 0'/><geom type='sphere' size='.3'/></body></worldbody></mujoco>");
    cal_test_outcome sunk = cal_test_run_well("sim sunk.xml --time 0.1 --json");
    assert_non_null(strstr(sunk.err, "passes through each other: floor and flap by 0.2 m"));
    cal_test_release(&sunk);
    cal_test_expect_mistake("sim atoms:n=5 --key go", "is a scene");
    cal_test_expect_mistake("sim gone.xml --events e.csv", "cannot open 'gone.xml'");
    o = cal_test_run_well("sim arm.xml --time 0.1"); // its constraint holds
    cal_test_release(&o);
    o = cal_test_run_well("sim arm.xml --loop timewarp --disable equality --time 0.1");
    assert_non_null(strstr(o.err, "not understood: joint wobble"));
    cal_test_release(&o);
}

// What is said goes to no file that was opened in the place of a closed stream, and nothing waits for a pipe that nobody writes to.
static void streams_that_are_closed_are_no_files(void** unused) {
    (void)unused;
    const char* const exploding = "sim chain:n=30 --solver euler --step 0.3 --time 400 --out rows.csv --json";
    cal_test_outcome o = cal_test_run_after("sh -c 'exec \"$@\" 2>&-' sh", exploding);
    assert_int_equal(o.status, 1);
    char* rows = cal_test_read_file("rows.csv");
    assert_null(strstr(rows, "calder:"));
    free(rows);
    cal_test_release(&o);
    o = cal_test_run_after("sh -c 'exec \"$@\" >&-' sh", "sim chain:n=3 --time 0.1 --out rows.csv");
    assert_int_equal(o.status, 1);
    assert_string_equal(o.err, "calder: cannot write to standard output: Bad file descriptor\n");
    cal_test_release(&o);
    o = cal_test_run_after("rm -f pipe && mkfifo pipe && timeout 60", "sim chain:n=3 --time 0.1 --resume pipe");
    assert_int_equal(o.status, 2);
    assert_string_equal(o.err, "calder: 'pipe' is not a checkpoint of Calder\n");
    cal_test_release(&o);
}

// A joint that begins beyond its range is held there by its stop, and a line says so; springs push it back.
static void says_which_joints_begin_beyond_their_ranges(void** unused) {
    (void)unused;
    cal_test_write_file("beyond.xml",
                        "<mujoco><compiler angle='radian'/><worldbody><body>"
                        "<joint name='knee' axis='0 1 0' range='-2 -.3' limited='true'/>"
                        "<geom type='capsule' size='.05' fromto='0 0 0 0 0 -1'/></body></worldbody></mujoco>");
    cal_test_outcome o = cal_test_run_well("sim beyond.xml --time 0.1");
    assert_non_null(strstr(o.err, "1 joint begins beyond its range, 'knee' by 0.3"));
    cal_test_release(&o);
    o = cal_test_run_well("sim beyond.xml --time 0.1 --disable stiction");
    assert_null(strstr(o.err, "beyond"));
    cal_test_release(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_which_joints_begin_beyond_their_ranges),
        cmocka_unit_test(says_what_is_in_a_file),
        cmocka_unit_test(leaves_out_what_it_is_told_to),
        cmocka_unit_test(what_hardly_moves_has_no_share_of_its_energy),
        cmocka_unit_test(names_file_line_and_cause),
        cmocka_unit_test(a_file_becomes_a_world),
        cmocka_unit_test(streams_that_are_closed_are_no_files),
    };
    return cmocka_run_group_tests(tests, create_files, NULL);
}
