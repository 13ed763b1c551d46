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

static int create_files(void** state) {
    if (cal_test_create_folder(state) != 0) return -1;
    cal_test_write_file("arm.xml", arm);
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
    assert_string_equal(o.err, "");
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
    assert_non_null(strstr(o.err, "one thing"));
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

static void names_file_line_and_cause(void** unused) {
    (void)unused;
    cal_test_expect_mistake("info bad.xml", "not XML");
    cal_test_expect_mistake("info arm.xml --strict", "arm.xml:4: joint wobble");
    cal_test_expect_mistake("sim gone.mjcf", "cannot open 'gone.mjcf'");
    cal_test_expect_mistake("info .xml", "cannot open");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is_in_a_file),
        cmocka_unit_test(leaves_out_what_it_is_told_to),
        cmocka_unit_test(names_file_line_and_cause),
    };
    return cmocka_run_group_tests(tests, create_files, cal_test_remove_folder);
}
