// MJCF files mean the same model here as in MuJoCo: one small file for each rule, and what MuJoCo 3.14 says of it in
// models/expected (written by scripts/compare-models.mjs --record). And what a reader must refuse, in one line.
#define _XOPEN_SOURCE 700
#include "place.h"
#include "support.h"

#include <dirent.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "calder/calder_read.h"
#include "math/vector.h"
#include "read/xml.h"

static const double tolerance = 1e-8;

static cal_model* read_text(const char* text, cal_read_report** report) {
    cal_model* model = NULL;
    cal_error error = {CAL_OK, ""};
    const cal_status status = cal_model_read_memory(text, strlen(text), "test.xml", NULL, &model, report, &error);
    if (status != CAL_OK) fail_msg("%s", error.text);
    return model;
}

// Says with which text a model is refused.
static void expect_refusal(const char* text, const char* part) {
    cal_model* model = NULL;
    cal_error error = {CAL_OK, ""};
    const cal_status status = cal_model_read_memory(text, strlen(text), "test.xml", NULL, &model, NULL, &error);
    if (status == CAL_OK) fail_msg("not refused: %s", text);
    assert_null(model);
    if (strstr(error.text, part) == NULL) fail_msg("'%s' does not say '%s'", error.text, part);
    if (strstr(error.text, "test.xml") == NULL) fail_msg("'%s' does not name the file", error.text);
    assert_null(strchr(error.text, '\n'));
}

// --- The same as MuJoCo -------------------------------------------------------------------------------------------------

// One line of an expected file: its first word, a name where the word is pose, and numbers.
typedef struct line {
    char word[32], name[128];
    double* numbers;
    int count;
} line;

static bool next_line(FILE* file, char** text, size_t* capacity, line* out) {
    do
        if (getline(text, capacity, file) < 0) return false;
    while ((*text)[0] == '#');
    char* rest;
    const char* word = strtok_r(*text, " \n", &rest);
    snprintf(out->word, sizeof out->word, "%s", word);
    out->name[0] = '\0';
    if (strcmp(word, "pose") == 0) snprintf(out->name, sizeof out->name, "%s", strtok_r(NULL, " \n", &rest));
    out->numbers = malloc((strlen(rest) + 1) * sizeof *out->numbers);
    assert_non_null(out->numbers);
    out->count = cal_read_numbers(rest, (int)strlen(rest) + 1, out->numbers);
    assert_true(out->count >= 0);
    return true;
}

typedef struct answers {
    double *q, *v, *tau, *control, *qdd, *mass;
    int qdd_count, mass_count;
    double total;
} answers;

static void compare_poses(const cal_model* model, FILE* file, const answers* expected, const char* name) {
    cal_test_engine engine = cal_test_open(model, "kinematics", 1);
    cal_state_set(engine.state, CAL_Q, expected->q);
    cal_test_execute(&engine);
    double* poses = cal_test_numbers(7 * (size_t)cal_model_body_count(model));
    cal_state_get(engine.state, CAL_POSE, poses);
    char* text = NULL;
    size_t capacity = 0;
    line l;
    rewind(file);
    while (next_line(file, &text, &capacity, &l)) {
        if (strcmp(l.word, "pose") == 0) {
            const int body = cal_model_find_body(model, l.name);
            assert_true(body >= 0);
            const double* ours = poses + 7 * (size_t)body;
            double sign = 0.0, worst = 0.0;
            for (int i = 3; i < 7; i++) sign += ours[i] * l.numbers[i];
            for (int i = 0; i < 7; i++)
                worst = fmax(worst, fabs(ours[i] - (i > 2 && sign < 0.0 ? -l.numbers[i] : l.numbers[i])));
            cal_test_expect_below(worst, 1e-10, l.name, name);
        }
        free(l.numbers);
    }
    free(text);
    free(poses);
    cal_test_close(&engine);
}

static void compare_dynamics(const cal_model* model, const answers* expected, const char* name) {
    const size_t count = (size_t)cal_model_v_count(model);
    double* numbers = cal_test_numbers(count * count + 1);
    cal_test_motion motion = {expected->q, expected->v, expected->tau, expected->tau, expected->control};
    cal_test_engine forward = cal_test_open(model, "aba", 0), mass = cal_test_open(model, "crba", 1);
    assert_int_equal(expected->qdd_count, count);
    cal_test_load(&forward, &motion);
    cal_test_execute(&forward);
    cal_state_get(forward.state, CAL_QDD, numbers);
    double scale = cal_test_largest(expected->qdd, count);
    cal_test_expect_below(cal_test_largest_difference(numbers, expected->qdd, count) / scale, tolerance, "qdd", name);
    cal_test_load(&mass, &motion);
    cal_test_execute(&mass);
    cal_state_get(mass.state, CAL_MASS, numbers);
    scale = cal_test_largest(expected->mass, count * count);
    cal_test_expect_below(cal_test_largest_difference(numbers, expected->mass, count * count) / scale, tolerance,
                          "mass", name);
    cal_test_expect_below(fabs(cal_model_total_mass(model) / expected->total - 1.0), tolerance, "total mass", name);
    cal_test_close(&forward);
    cal_test_close(&mass);
    free(numbers);
}

static void compare_model(const char* name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.xml", CALDER_TEST_MODELS, name);
    cal_model *read = NULL, *model = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_model_read(path, NULL, &read, NULL, &error) != CAL_OK) fail_msg("%s", error.text);
    assert_int_equal(cal_model_variant(read, CAL_PART_CONSTRAINT, CAL_NONE, &model, &error), CAL_OK);
    snprintf(path, sizeof path, "%s/expected/%s.expected", CALDER_TEST_MODELS, name);
    FILE* file = fopen(path, "r");
    assert_non_null(file);
    answers expected = {0};
    char* text = NULL;
    size_t capacity = 0;
    line l;
    while (next_line(file, &text, &capacity, &l)) {
        const struct {
            const char* word;
            double** numbers;
        } kept[] = {{"q", &expected.q},
                    {"v", &expected.v},
                    {"tau", &expected.tau},
                    {"qdd", &expected.qdd},
                    {"control", &expected.control},
                    {"mass", &expected.mass}};
        bool used = false;
        for (size_t i = 0; i < sizeof kept / sizeof kept[0] && !used; i++)
            if (strcmp(l.word, kept[i].word) == 0) {
                *kept[i].numbers = l.numbers;
                used = true;
            }
        if (strcmp(l.word, "qdd") == 0) expected.qdd_count = l.count;
        if (strcmp(l.word, "total") == 0) expected.total = l.numbers[0];
        if (!used) free(l.numbers);
    }
    compare_dynamics(model, &expected, name);
    compare_poses(model, file, &expected, name);
    fclose(file);
    free(text);
    free(expected.q);
    free(expected.v);
    free(expected.tau);
    free(expected.control);
    free(expected.qdd);
    free(expected.mass);
    cal_model_destroy(model);
    cal_model_destroy(read);
}

static void files_mean_what_they_mean_in_mujoco(void** unused) {
    (void)unused;
    DIR* folder = opendir(CALDER_TEST_MODELS "/expected");
    assert_non_null(folder);
    int count = 0;
    for (const struct dirent* entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char name[256];
        snprintf(name, sizeof name, "%s", entry->d_name);
        char* ending = strstr(name, ".expected");
        if (ending == NULL) continue;
        *ending = '\0';
        compare_model(name);
        count++;
    }
    closedir(folder);
    assert_true(count >= 29);
}

// --- What is kept -------------------------------------------------------------------------------------------------------

#define TWO_ARMS                                                                                                       \
    "<body name='a' pos='0 0 1'><joint name='ja' axis='0 1 0' ref='30'/><geom name='ga' size='0.1' pos='0.3 0 0'/>"    \
    "<site name='sa' pos='0.5 0 0' euler='0 0 90'/></body>"                                                            \
    "<body name='b' pos='1 0 1' euler='0 0 180'><joint name='jb' axis='0 1 0'/><geom name='gb' size='0.1' pos='0.3 0 " \
    "0'/><site name='sb' pos='0.5 0 0' euler='0 0 -90'/></body>"

// In the start position both frames of a weld, and both points of a connect, are at the same place.
static void check_frames_meet(const cal_model* model, int number, bool turn) {
    cal_constraint_def def;
    cal_model_constraint(model, number, &def);
    double places[2][3], quaternions[2][4];
    cal_test_engine engine = cal_test_open(model, "kinematics", 1);
    cal_test_execute(&engine);
    double* poses = cal_test_numbers(7 * (size_t)cal_model_body_count(model));
    cal_state_get(engine.state, CAL_POSE, poses);
    for (int i = 0; i < 2; i++) {
        const double world[7] = {0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0};
        const double* pose = def.body[i] == CAL_GROUND ? world : poses + 7 * (size_t)def.body[i];
        double rotation[9];
        cal_quaternion_matrix(pose + 3, rotation);
        cal_rotate3(rotation, def.position[i], places[i]);
        for (int k = 0; k < 3; k++) places[i][k] += pose[k];
        cal_quaternion_multiply(pose + 3, def.quaternion[i], quaternions[i]);
    }
    cal_test_expect_below(cal_test_largest_difference(places[0], places[1], 3), 1e-12, "places", "a constraint");
    double cosine = 0.0;
    for (int k = 0; k < 4; k++) cosine += quaternions[0][k] * quaternions[1][k];
    if (turn) cal_test_expect_below(1.0 - fabs(cosine), 1e-12, "turn", "a constraint");
    free(poses);
    cal_test_close(&engine);
}

static void equality_becomes_constraints(void** unused) {
    (void)unused;
    cal_model* model = read_text(
        "<mujoco><default><equality active='false'/><default class='on'><equality active='true'/></default></default>"
        "<worldbody>" TWO_ARMS "</worldbody><equality>"
        "<connect name='point' body1='a' body2='b' anchor='0.5 0.1 0' class='on'/>"
        "<connect body1='a' anchor='0.5 0.1 0' active='true'/>"
        "<weld name='weld' body1='a' body2='b' anchor='0.1 0.2 0.3' class='on'/>"
        "<weld name='pose' body1='a' body2='b' relpose='1 0 0 0 0 0 2'/>"
        "<weld name='sites' site1='sa' site2='sb'/>"
        "<joint name='gear' joint1='jb' joint2='ja' polycoef='0.1 2 0.5 0 0'/>"
        "<joint joint1='jb' polycoef='0.25'/></equality></mujoco>",
        NULL);
    assert_int_equal(cal_model_constraint_count(model), 7);
    check_frames_meet(model, 0, false);
    check_frames_meet(model, 1, false);
    check_frames_meet(model, 2, true);
    check_frames_meet(model, 3, true);
    check_frames_meet(model, 4, true);
    cal_constraint_def def;
    cal_model_constraint(model, 0, &def);
    assert_int_equal(def.kind, CAL_LOOP_BALL);
    assert_false(def.inactive);
    cal_model_constraint(model, 3, &def);
    assert_int_equal(def.kind, CAL_WELD);
    assert_true(def.inactive);
    cal_model_constraint(model, cal_model_find_constraint(model, "gear"), &def);
    assert_int_equal(def.kind, CAL_COUPLING);
    assert_int_equal(def.joint[0], cal_model_find_joint(model, "jb"));
    assert_int_equal(def.joint[1], cal_model_find_joint(model, "ja"));
    assert_true(def.polynomial[0] == 0.1 && def.polynomial[1] == 2.0 && def.polynomial[2] == 0.5);
    cal_model_constraint(model, 6, &def);
    assert_int_equal(def.joint[1], CAL_NONE);
    cal_model* open = NULL;
    assert_int_equal(cal_model_variant(model, CAL_PART_EQUALITY, CAL_NONE, &open, NULL), CAL_OK);
    assert_int_equal(cal_model_constraint_count(open), 0);
    cal_model_destroy(open);
    cal_model_destroy(model);
}

static void keyframes_start_a_model(void** unused) {
    (void)unused;
    cal_model* model =
        read_text("<mujoco><worldbody>" TWO_ARMS "<body name='c'><freejoint/><geom size='0.1'/></body></worldbody>"
                  "<actuator><motor joint='ja'/><muscle joint='ja'/><motor joint='jb'/></actuator>"
                  "<keyframe><key name='home' time='2' qpos='1 2 3 4 5 0 0 0 2' ctrl='7 8 9'/>"
                  "<key qvel='1 2 3 4 5 6 7 8'/></keyframe></mujoco>",
                  NULL);
    cal_model* home = NULL;
    double q[9], control[2];
    assert_int_equal(cal_model_keyframe_count(model), 2);
    assert_int_equal(cal_model_actuator_count(model), 2);
    cal_model_initial(model, q, NULL, NULL);
    assert_true(fabs(q[0] - 0.52359877559829887) < 1e-15); // ref
    const int key = cal_model_find_keyframe(model, "home");
    assert_int_equal(cal_model_variant(model, 0, key, &home, NULL), CAL_OK);
    cal_model_initial(home, q, NULL, control);
    const double expected[9] = {1, 2, 3, 4, 5, 0, 0, 0, 1};
    for (int i = 0; i < 9; i++) assert_true(q[i] == expected[i]);
    assert_true(control[0] == 7.0 && control[1] == 9.0);
    cal_model* again = NULL;
    cal_error error;
    assert_int_equal(cal_model_variant(home, CAL_PART_GRAVITY, CAL_NONE, &again, NULL), CAL_OK);
    cal_model_initial(again, q, NULL, NULL);
    assert_true(q[1] == 2.0);
    cal_model_destroy(again);
    assert_int_equal(cal_model_variant(model, 0, 2, &again, &error), CAL_BAD_ARGUMENT);
    cal_model_destroy(home);
    cal_model_destroy(model);
}

static void data_for_others_is_kept(void** unused) {
    (void)unused;
    cal_model* model = read_text(
        "<mujoco model='kept'><option timestep='0.004'/><custom><numeric name='restitution' data='0.3'/><numeric "
        "name='list' size='3' data='1 2'/></custom><asset><material name='red' rgba='1 0 0 1'/></asset>"
        "<worldbody>" TWO_ARMS "<geom name='floor' type='plane' size='1 1 1' material='red'/><geom name='ghost' "
        "contype='0' conaffinity='0' size='0.1' friction='0.4' rgba='0 0 1 0.5'/></worldbody>"
        "<contact><exclude body1='a' body2='b'/><pair geom1='ga' geom2='gb' friction='0.7'/></contact></mujoco>",
        NULL);
    assert_string_equal(cal_model_name(model), "kept");
    assert_true(cal_model_timestep(model) == 0.004);
    int count;
    const double* list = cal_model_numbers(model, "list", &count);
    assert_int_equal(count, 3);
    assert_true(list[0] == 1.0 && list[1] == 2.0 && list[2] == 0.0);
    int bodies[2];
    assert_int_equal(cal_model_exclusion_count(model), 1);
    cal_model_exclusion(model, 0, bodies);
    assert_int_equal(bodies[1], cal_model_find_body(model, "b"));
    cal_pair_def pair;
    assert_int_equal(cal_model_pair_count(model), 1);
    cal_model_pair(model, 0, &pair);
    assert_int_equal(pair.shape[0], cal_model_find_shape(model, "ga"));
    assert_true(pair.friction == 0.7);
    cal_shape_def shape;
    cal_model_shape(model, cal_model_find_shape(model, "floor"), &shape);
    assert_int_equal(shape.kind, CAL_PLANE);
    assert_true(shape.color[0] == 1.0F && shape.color[1] == 0.0F && shape.collides && shape.restitution == 0.3);
    cal_model_shape(model, cal_model_find_shape(model, "ghost"), &shape);
    assert_true(!shape.collides && shape.visible && shape.friction == 0.4 && shape.color[3] == 0.5F);
    cal_site_def site;
    cal_model_site(model, cal_model_find_site(model, "sa"), &site);
    assert_true(site.position[0] == 0.5 && site.body == cal_model_find_body(model, "a"));
    assert_true(cal_model_find_site(model, "none") == CAL_NONE);
    cal_model_destroy(model);
}

static void what_has_no_name_gets_one(void** unused) {
    (void)unused;
    cal_model* model = read_text("<mujoco><worldbody><body><joint/><geom size='1'/><body><joint/><joint axis='1 0 0'/>"
                                 "<geom size='1'/></body></body><body name='body0'><joint/><geom size='1'/></body>"
                                 "</worldbody></mujoco>",
                                 NULL);
    char text[64];
    assert_string_equal(cal_model_body_name(model, 0, text, sizeof text), "body0_");
    assert_int_equal(cal_model_find_body(model, "body0"), 2);
    assert_string_equal(cal_model_body_name(model, 1, text, sizeof text), "body0_body0");
    assert_string_equal(cal_model_joint_name(model, 2, text, sizeof text), "body0_body0_joint1");
    cal_model_destroy(model);
}

// --- The report ---------------------------------------------------------------------------------------------------------

static bool reported(const cal_read_report* report, cal_issue_kind kind, const char* element, int line_number,
                     int count) {
    for (int i = 0; i < cal_read_report_count(report); i++) {
        cal_issue issue;
        cal_read_report_issue(report, i, &issue);
        if (issue.kind == kind && strcmp(issue.element, element) == 0 && issue.line == line_number &&
            issue.count == count)
            return true;
    }
    return false;
}

static void nothing_is_dropped_silently(void** unused) {
    (void)unused;
    const char* text =
        "<mujoco>\n<worldbody>\n<body><joint type='ball' range='0 30' wobble='3'/>\n"
        "<geom size='1' solref='0.1 1'/><geom size='1' solref='0.1 1'/>\n<thing/></body>\n</worldbody>\n"
        "<deformable><flex/></deformable>\n"
        "<sensor><camprojection site='x'/></sensor>\n"
        "<worldbody><geom type='capsule' size='1' fromto='0 0 0 0 0 1' pos='1 0 0'/></worldbody>\n</mujoco>";
    cal_read_report* report = NULL;
    cal_model* model = read_text(text, &report);
    assert_true(reported(report, CAL_ISSUE_NOT_SIMULATED, "joint range", 3, 1));
    assert_true(reported(report, CAL_ISSUE_NOT_UNDERSTOOD, "joint wobble", 3, 1));
    assert_true(reported(report, CAL_ISSUE_NOT_SIMULATED, "geom solref", 4, 2));
    assert_true(reported(report, CAL_ISSUE_NOT_UNDERSTOOD, "<thing>", 5, 1));
    assert_true(reported(report, CAL_ISSUE_NOT_SIMULATED, "<deformable>", 7, 1));
    assert_true(reported(report, CAL_ISSUE_NOT_SIMULATED, "sensor camprojection", 8, 1));
    assert_true(reported(report, CAL_ISSUE_NOT_UNDERSTOOD, "geom pos", 9, 1));
    assert_int_equal(cal_read_report_count(report), 7);
    cal_read_report_destroy(report);
    cal_model_destroy(model);
    cal_read_options options = cal_default_read_options();
    cal_error error;
    options.strict = true;
    assert_int_equal(cal_model_read_memory(text, strlen(text), "test.xml", &options, &model, NULL, &error),
                     CAL_BAD_MODEL);
    assert_non_null(strstr(error.text, "test.xml:3"));
}

// --- Refusals -----------------------------------------------------------------------------------------------------------

#define BODY(inside) "<mujoco><worldbody>\n<body>" inside "</body></worldbody></mujoco>"

static void what_is_wrong_is_refused_in_one_line(void** unused) {
    (void)unused;
    expect_refusal("", "empty");
    expect_refusal("hello", "not XML");
    expect_refusal("<mujoco><worldbody>", "not XML");
    expect_refusal("<mujoco/><mujoco/>", "not XML");
    expect_refusal("<sdf/>", "no model");
    expect_refusal("<!DOCTYPE m [<!ENTITY a 'b'>]><mujoco model='&a;'/>", "entities");
    expect_refusal(BODY("<joint axis='1 2'/>"), ":2: <joint>: axis has 2 numbers, but needs 3");
    expect_refusal(BODY("<joint axis='0 0 0'/><geom size='1'/>"), "axis is zero");
    expect_refusal(BODY("<joint axis='1 x 0'/>"), "not made of numbers");
    expect_refusal(BODY("<joint pos='0 nan 0'/>"), "not made of numbers");
    expect_refusal(BODY("<joint type='screw'/>"), "free|ball|slide|hinge");
    expect_refusal(BODY("<joint class='x'/>"), "no default class \"x\"");
    expect_refusal(BODY("<joint range='1 0' limited='true'/><geom size='1'/>"), "smaller number comes first");
    expect_refusal(BODY("<joint/><geom type='box' size='1 2'/>"), "3 sizes");
    expect_refusal(BODY("<joint/><geom type='mesh'/>"), "names none");
    expect_refusal(BODY("<joint/><geom type='mesh' mesh='m'/>"), "no mesh \"m\"");
    expect_refusal(BODY("<joint/><geom size='1' mass='-1'/>"), "negative");
    expect_refusal(BODY("<joint/><geom size='1' quat='0 0 0 0'/>"), "quat is zero");
    expect_refusal(BODY("<joint/><geom size='1' zaxis='0 0 0'/>"), "zaxis");
    expect_refusal(BODY("<joint/><geom size='1' euler='1 2 3' quat='1 0 0 0'/>"), "more than one orientation");
    expect_refusal(BODY("<joint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 3'/>"), "inertia");
    expect_refusal(BODY("<joint/><inertial pos='0 0 0'/>"), "mass");
    expect_refusal(BODY("<joint/><geom size='1'/><body><freejoint/><geom size='1'/></body>"), "free joint");
    expect_refusal(BODY("<joint name='a'/><joint name='a'/><geom size='1'/>"), "taken");
    expect_refusal("<mujoco><worldbody><joint/></worldbody></mujoco>", "the world has no joints");
    expect_refusal("<mujoco><default><default/></default></mujoco>", "class name");
    expect_refusal("<mujoco><compiler coordinate='global'/></mujoco>", "global");
    expect_refusal("<mujoco><compiler eulerseq='abc'/></mujoco>", "eulerseq");
    expect_refusal("<mujoco><include file='x.xml'/></mujoco>", "from memory");
    expect_refusal("<mujoco><worldbody>" TWO_ARMS "</worldbody><equality><weld body1='x'/></equality></mujoco>",
                   "no body \"x\"");
    expect_refusal("<mujoco><worldbody>" TWO_ARMS
                   "</worldbody><equality><weld body1='a' body2='a'/></equality></mujoco>",
                   "to itself");
    expect_refusal("<mujoco><worldbody>" TWO_ARMS "</worldbody><actuator><motor joint='x'/></actuator></mujoco>",
                   "no joint \"x\"");
    // A joint's number is not taken for a site's.
    expect_refusal("<mujoco><worldbody>" TWO_ARMS
                   "</worldbody><actuator><position joint='ja' site='s'/></actuator></mujoco>",
                   "it has a joint and a site");
    expect_refusal("<mujoco><compiler autolimits='false'/><worldbody>" TWO_ARMS
                   "</worldbody><actuator><motor joint='ja' ctrlrange='0 1'/></actuator></mujoco>",
                   "autolimits");
    expect_refusal("<mujoco><worldbody><replicate count='100000000'/></worldbody></mujoco>", "count");
    expect_refusal("<mujoco><worldbody><body name='a'><attach body='a' prefix='x'/></body></worldbody></mujoco>",
                   "attaches itself");
    expect_refusal("<mujoco><worldbody><body name='a'><attach body='b' prefix='x'/></body><body name='b'>"
                   "<attach body='a' prefix='y'/></body></worldbody></mujoco>",
                   "without end");
    // A few bytes that would take years: copies of nothing, and each part twice in the one before.
    expect_refusal(
        "<mujoco><worldbody><replicate count='100000'><replicate count='100000'/></replicate></worldbody></mujoco>",
        "too many for a file of");
    char doubling[4096] = "<mujoco><worldbody>";
    for (int i = 0; i < 40; i++) {
        const size_t used = strlen(doubling);
        snprintf(doubling + used, sizeof doubling - used,
                 "<frame name='f%d'><attach frame='f%d'/><attach frame='f%d'/></frame>", i, i + 1, i + 1);
    }
    strcat(doubling, "<frame name='f40'/></worldbody></mujoco>");
    expect_refusal(doubling, "too many for a file of");
}

static void files_stay_in_their_folder(void** unused) {
    (void)unused;
    char path[CAL_TEST_PATH], other[CAL_TEST_PATH];
    cal_test_path(path, "main.xml");
    cal_test_path(other, "other.xml");
    const struct {
        const char *text, *part;
    } files[] = {
        {"<mujoco><include file='/etc/passwd'/></mujoco>", "outside"},
        {"<mujoco><include file='sub/../../x.xml'/></mujoco>", "outside"},
        {"<mujoco><include file='main.xml'/></mujoco>", "includes itself"},
        {"<mujoco><include file='other.xml'/></mujoco>", "includes itself"},
        {"<mujoco><include file='gone.xml'/></mujoco>", "cannot open"},
        {"<mujoco><asset><mesh file='gone.stl'/></asset><worldbody><body><joint/><geom type='mesh' mesh='gone'/>"
         "</body></worldbody></mujoco>",
         "cannot open"}};
    FILE* file = fopen(other, "w");
    fputs("<mujoco><include file='./main.xml'/></mujoco>", file);
    fclose(file);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        file = fopen(path, "w");
        fputs(files[i].text, file);
        fclose(file);
        cal_model* model;
        cal_error error;
        assert_int_equal(cal_model_read(path, NULL, &model, NULL, &error), CAL_BAD_MODEL);
        if (strstr(error.text, files[i].part) == NULL) fail_msg("'%s' does not say '%s'", error.text, files[i].part);
    }
}

static void nesting_is_bounded(void** unused) {
    (void)unused;
    enum { DEEP = 3000000 };
    char* text = malloc(3 * DEEP + 100);
    assert_non_null(text);
    char* end = text + sprintf(text, "<mujoco><worldbody>");
    for (int i = 0; i < DEEP; i++) end += sprintf(end, "<b>");
    expect_refusal(text, "nested");
    free(text);
}

static void numbers_are_read_exactly(void** unused) {
    (void)unused;
    static const char* const texts[] = {"0",
                                        "-0.0",
                                        "1e22",
                                        "1e23",
                                        "0.1",
                                        ".5",
                                        "5.",
                                        "1e-22",
                                        "3e-23",
                                        "+1E+02",
                                        "2.2250738585072014e-308",
                                        "1e400",
                                        "4.9e-324",
                                        "123456789012345678901234567890",
                                        "0.30000000000000004"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double value;
        assert_int_equal(cal_read_numbers(texts[i], 1, &value), 1);
        assert_true(value == strtod(texts[i], NULL));
    }
    double pair[2];
    assert_int_equal(cal_read_numbers(" 1 \n 2\t", 2, pair), 2);
    assert_int_equal(cal_read_numbers("inf -Infinity", 2, pair), 2);
    assert_true(isinf(pair[0]) && pair[1] < 0.0);
    assert_int_equal(cal_read_numbers("1,2", 2, pair), -1);
    assert_int_equal(cal_read_numbers("0x10", 2, pair), -1);
    assert_int_equal(cal_read_numbers("nan", 2, pair), -1);
    assert_int_equal(cal_read_numbers("1e", 2, pair), -1);
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL) {
        assert_int_equal(cal_read_numbers("1.5 1.23456789012345678901", 2, pair), 2);
        assert_true(pair[0] == 1.5 && pair[1] > 1.2);
        setlocale(LC_NUMERIC, "C");
    }
}

static void lost_memory_is_told(void** unused) {
    (void)unused;
    const char* text =
        "<mujoco><default><default class='c'/></default><asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 "
        "1'/><material name='r'/></asset><worldbody>" TWO_ARMS
        "<replicate count='2'><body><joint/><geom type='mesh' mesh='m'/></body></replicate></worldbody>"
        "<equality><weld body1='a' body2='b'/></equality><actuator><position joint='ja' dampratio='1'/>"
        "</actuator><keyframe><key qpos='0 0 0 0'/></keyframe></mujoco>";
    const int64_t before = cal_live_allocations();
    cal_status status = CAL_NO_MEMORY;
    for (int after = 0; status != CAL_OK && after < 1000; after++) {
        cal_model* model = NULL;
        cal_error error;
        cal_fail_allocation(after);
        status = cal_model_read_memory(text, strlen(text), "test.xml", NULL, &model, NULL, &error);
        cal_fail_allocation(-1);
        if (status != CAL_OK && status != CAL_NO_MEMORY) fail_msg("after %d: %s", after, error.text);
        cal_model_destroy(model);
        assert_int_equal(cal_live_allocations(), before);
    }
    assert_int_equal(status, CAL_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_mean_what_they_mean_in_mujoco),
        cmocka_unit_test(equality_becomes_constraints),
        cmocka_unit_test(keyframes_start_a_model),
        cmocka_unit_test(data_for_others_is_kept),
        cmocka_unit_test(what_has_no_name_gets_one),
        cmocka_unit_test(nothing_is_dropped_silently),
        cmocka_unit_test(what_is_wrong_is_refused_in_one_line),
        cmocka_unit_test(files_stay_in_their_folder),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(numbers_are_read_exactly),
        cmocka_unit_test(lost_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
