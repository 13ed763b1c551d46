// URDF: what each of its rules makes of a robot, what real files contain, and broken files.
#include "base/memory.h"
#include "calder/calder_read.h"
#include "math/vector.h"
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* const folder = CALDER_TEST_MODELS;

// A robot from text; options may be NULL. *report may be NULL.
static cal_model* read_text(const char* text, const cal_read_options* options, cal_read_report** report) {
    cal_model* model;
    cal_error error = {CAL_OK, ""};
    if (cal_model_read_memory(text, strlen(text), "robot.urdf", options, &model, report, &error) != CAL_OK)
        fail_msg("%s", error.text);
    return model;
}

static cal_model* read_file(const char* name, const cal_read_options* options, cal_read_report** report) {
    char path[1024];
    cal_model* model;
    cal_error error = {CAL_OK, ""};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (cal_model_read(path, options, &model, report, &error) != CAL_OK) fail_msg("%s", error.text);
    return model;
}

// Whether an issue speaks of an element, at a line (0: any).
static bool speaks_of(const cal_read_report* report, cal_issue_kind kind, const char* element, int line) {
    for (int i = 0; i < cal_read_report_count(report); i++) {
        cal_issue issue;
        cal_read_report_issue(report, i, &issue);
        if (issue.kind == kind && strcmp(issue.element, element) == 0 && (line == 0 || issue.line == line)) return true;
    }
    return false;
}

static cal_joint_def joint_of(const cal_model* model, const char* name) {
    cal_joint_def def;
    const int number = cal_model_find_joint(model, name);
    if (number < 0) fail_msg("there is no joint %s", name);
    cal_model_joint(model, number, &def, NULL, NULL, NULL);
    return def;
}

static cal_body_def body_of(const cal_model* model, const char* name) {
    cal_body_def def;
    const int number = cal_model_find_body(model, name);
    if (number < 0) fail_msg("there is no body %s", name);
    cal_model_body(model, number, &def);
    return def;
}

// --- A whole robot ------------------------------------------------------------------------------------------------------

static void test_arm(void** state) {
    (void)state;
    cal_read_report* report;
    cal_model* model = read_file("robot_description/urdf/arm.urdf", NULL, &report);
    assert_string_equal(cal_model_name(model), "arm");
    assert_int_equal(cal_model_body_count(model), 6);
    assert_int_equal(cal_model_joint_count(model), 4);
    assert_int_equal(cal_model_constraint_count(model), 1);
    const cal_joint_def shoulder = joint_of(model, "shoulder"), elbow = joint_of(model, "elbow");
    assert_int_equal(shoulder.kind, CAL_REVOLUTE);
    assert_true(shoulder.limited && shoulder.range[0] == -1.5 && shoulder.range[1] == 2.5);
    assert_true(shoulder.damping == 0.4 && shoulder.friction_loss == 0.2 && shoulder.axis[2] == 1.0);
    assert_true(!elbow.limited && elbow.damping == 0.1 && elbow.axis[1] == 1.0);
    assert_int_equal(joint_of(model, "left_finger_joint").kind, CAL_PRISMATIC);
    // Roll, pitch and yaw about fixed axes: R = Rz(0.3) Ry(-0.2) Rx(0.1), written out.
    const cal_body_def upper = body_of(model, "upper");
    double R[9];
    cal_quaternion_matrix(upper.quaternion, R);
    const double cr = cos(0.1), sr = sin(0.1), cp = cos(-0.2), sp = sin(-0.2), cy = cos(0.3), sy = sin(0.3);
    const double expected[9] = {cy * cp,
                                cy * sp * sr - sy * cr,
                                cy * sp * cr + sy * sr,
                                sy * cp,
                                sy * sp * sr + cy * cr,
                                sy * sp * cr - cy * sr,
                                -sp,
                                cp * sr,
                                cp * cr};
    cal_test_expect_below(cal_test_largest_difference(R, expected, 9), 1e-15, "rotation", "shoulder");
    assert_true(upper.position[2] == 0.3 && upper.mass == 3.0 && upper.center[1] == 0.1);
    // The inertia keeps its trace, determinant and what it is along the inertial frame's axes.
    const double turn[3] = {0.4, 0.5, -0.6};
    const double ca = cos(turn[0]), sa = sin(turn[0]), cb = cos(turn[1]), sb = sin(turn[1]), cc = cos(turn[2]),
                 sc = sin(turn[2]);
    const double x[3] = {cc * cb, sc * cb, -sb};
    const double z[3] = {cc * sb * ca + sc * sa, sc * sb * ca - cc * sa, cb * ca};
    const double* I = upper.inertia;
    const double Ix[3] = {I[0] * x[0] + I[3] * x[1] + I[4] * x[2], I[3] * x[0] + I[1] * x[1] + I[5] * x[2],
                          I[4] * x[0] + I[5] * x[1] + I[2] * x[2]};
    cal_test_expect_below(fabs(cal_dot3(x, Ix) - 0.30), 1e-15, "ixx", "upper");
    cal_test_expect_below(fabs(cal_dot3(z, Ix) + 0.02), 1e-15, "ixz", "upper");
    cal_test_expect_below(fabs(I[0] + I[1] + I[2] - 0.90), 1e-15, "trace", "upper");
    // A frame without mass is a body that others can ask for, and adds nothing.
    assert_true(body_of(model, "tool0").mass == 0.0);
    cal_constraint_def mimic;
    cal_model_constraint(model, 0, &mimic);
    assert_int_equal(mimic.kind, CAL_COUPLING);
    assert_int_equal(mimic.joint[0], cal_model_find_joint(model, "right_finger_joint"));
    assert_int_equal(mimic.joint[1], cal_model_find_joint(model, "left_finger_joint"));
    assert_true(mimic.polynomial[0] == 0.01 && mimic.polynomial[1] == 1.5 && mimic.polynomial[2] == 0.0);
    assert_true(speaks_of(report, CAL_ISSUE_NOT_SIMULATED, "<transmission>", 89));
    assert_true(speaks_of(report, CAL_ISSUE_NOT_SIMULATED, "<gazebo>", 90));
    cal_read_report_destroy(report);
    cal_model_destroy(model);
}

static void test_shapes(void** state) {
    (void)state;
    cal_model* model = read_file("robot_description/urdf/arm.urdf", NULL, NULL);
    cal_shape_def shape;
    assert_int_equal(cal_model_shape_count(model), 4);
    cal_model_shape(model, 0, &shape);
    assert_true(shape.kind == CAL_CYLINDER && shape.visible && !shape.collides);
    assert_true(shape.size[0] == 0.1 && shape.size[1] == 0.1 && shape.color[2] == 0.7F);
    assert_string_equal(shape.name, "foot");
    cal_model_shape(model, 1, &shape);
    assert_true(shape.collides && !shape.visible);
    // From the package that the file lies in, mirrored: the prism's volume is still positive.
    cal_model_shape(model, 2, &shape);
    assert_true(shape.kind == CAL_MESH && shape.color[0] == 0.9F && shape.position[2] == 0.1);
    cal_mesh_def mesh;
    cal_model_mesh(model, shape.mesh, &mesh);
    double volume = 0.0, lowest = 0.0;
    for (int t = 0; t < mesh.triangle_count; t++) {
        double cross[3];
        cal_cross3(mesh.vertices + 3 * mesh.triangles[3 * t + 1], mesh.vertices + 3 * mesh.triangles[3 * t + 2], cross);
        volume += cal_dot3(mesh.vertices + 3 * mesh.triangles[3 * t], cross) / 6.0;
    }
    for (int v = 0; v < mesh.vertex_count; v++) lowest = fmin(lowest, mesh.vertices[3 * v + 2]);
    cal_test_expect_below(fabs(volume - 0.3 * 0.2 / 2.0 * 0.1 * 2.0), 1e-9, "volume", "wedge");
    cal_test_expect_below(fabs(lowest + 0.2), 1e-8, "lowest point", "wedge");
    cal_model_shape(model, 3, &shape);
    cal_model_mesh(model, shape.mesh, &mesh);
    assert_int_equal(mesh.vertex_count, 4);
    cal_model_destroy(model);
}

#define INERTIAL "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
#define LINK(name) "<link name='" name "'>" INERTIAL "</link>"
#define JOINT(name, type, parent, child, inside)                                                                       \
    "<joint name='" name "' type='" type "'><parent link='" parent "'/><child link='" child "'/>" inside "</joint>"

static void test_several_degrees(void** state) {
    (void)state;
    cal_model* model = read_file("planar.urdf", NULL, NULL);
    assert_int_equal(cal_model_v_count(model), 4);
    // The plane's two directions and its normal are at right angles.
    const cal_joint_def x = joint_of(model, "slide_TX"), y = joint_of(model, "slide_TY"),
                        z = joint_of(model, "slide_RZ");
    double cross[3];
    cal_cross3(x.axis, y.axis, cross);
    assert_true(cal_test_largest_difference(cross, z.axis, 3) < 1e-15);
    assert_true(x.damping == 0.7 && y.damping == 0.7 && z.damping == 0.7);
    assert_int_equal(cal_model_body_count(model), 2); // the world is no body
    cal_model_destroy(model);

    // A free joint starts where the tower puts it.
    model = read_file("floating.urdf", NULL, NULL);
    double q[8];
    cal_model_initial(model, q, NULL, NULL);
    assert_int_equal(cal_model_q_count(model), 8);
    const double there[3] = {cos(0.5), sin(0.5), 10.0};
    assert_true(cal_test_largest_difference(q, there, 3) < 1e-15);
    cal_model_destroy(model);

    // Below a link that moves: three slides and a ball.
    model = read_text("<robot>" LINK("a") LINK("b") LINK("c") JOINT("j", "revolute", "a", "b", "")
                          JOINT("f", "floating", "b", "c", "") "</robot>",
                      NULL, NULL);
    assert_int_equal(cal_model_v_count(model), 7);
    assert_int_equal(joint_of(model, "f").kind, CAL_BALL);
    assert_int_equal(joint_of(model, "f_TZ").kind, CAL_PRISMATIC);
    cal_model_destroy(model);

    model = read_text("<robot>" LINK("a") LINK("b") JOINT("s", "spherical", "a", "b", "") "</robot>", NULL, NULL);
    assert_int_equal(joint_of(model, "s").kind, CAL_BALL);
    cal_model_destroy(model);
}

static void test_base(void** state) {
    (void)state;
    const char* text = "<robot>" LINK("a") LINK("b") JOINT("j", "revolute", "a", "b", "") "</robot>";
    cal_model* model = read_text(text, NULL, NULL);
    assert_int_equal(cal_model_v_count(model), 1);
    cal_model_destroy(model);
    cal_read_options options = cal_default_read_options();
    options.free_base = true;
    model = read_text(text, &options, NULL);
    assert_int_equal(cal_model_v_count(model), 7);
    assert_int_equal(joint_of(model, "a_free").kind, CAL_FREE);
    cal_model_destroy(model);
    // A thing without joints floats, and the report says so. A "world" that nobody defined is the ground.
    cal_read_report* report;
    model = read_text("<robot>" LINK("cup") LINK("handle") JOINT("j", "fixed", "cup", "handle", "") "</robot>", NULL,
                      &report);
    assert_int_equal(cal_model_v_count(model), 6);
    assert_true(cal_model_mass(model) == 2.0);
    assert_true(speaks_of(report, CAL_ISSUE_NOTE, "root link", 1));
    cal_read_report_destroy(report);
    cal_model_destroy(model);
    model = read_text("<robot>" LINK("a") JOINT("j", "revolute", "world", "a", "") "</robot>", NULL, NULL);
    assert_int_equal(cal_model_body_count(model), 1);
    cal_model_destroy(model);
}

static void test_limits(void** state) {
    (void)state;
    static const struct {
        const char* inside;
        bool limited;
    } cases[] = {{"", false},
                 {"<limit lower='-1' upper='1' effort='1' velocity='1'/>", true},
                 {"<limit effort='1' velocity='1'/>", false},
                 {"<limit lower='0' upper='0'/>", false},
                 {"<limit lower='1' upper='-1'/>", false},
                 {"<limit lower='-inf' upper='inf'/>", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2000];
        snprintf(text, sizeof text, "<robot>" LINK("a") LINK("b") JOINT("j", "revolute", "a", "b", "%s") "</robot>",
                 cases[i].inside);
        cal_model* model = read_text(text, NULL, NULL);
        assert_int_equal(joint_of(model, "j").limited, cases[i].limited);
        cal_model_destroy(model);
    }
}

static void test_mimics(void** state) {
    (void)state;
    // One that follows a fixed joint stays where the offset says; one that is fixed itself follows nobody.
    cal_model* model = read_text("<robot>" LINK("a") LINK("b") LINK("c")
                                     JOINT("j", "revolute", "a", "b", "<mimic joint='f' offset='0.3'/>")
                                         JOINT("f", "fixed", "b", "c", "<mimic joint='j'/>") "</robot>",
                                 NULL, NULL);
    cal_constraint_def def;
    assert_int_equal(cal_model_constraint_count(model), 1);
    cal_model_constraint(model, 0, &def);
    assert_int_equal(def.joint[1], CAL_NONE);
    assert_true(def.polynomial[0] == 0.3 && def.polynomial[1] == 0.0);
    cal_model_destroy(model);
}

// --- What real files contain --------------------------------------------------------------------------------------------

// A simple transmission is a motor with a gear, and the joint's effort is all that it gives: I q̈ = reduction · control.
static void test_transmissions(void** state) {
    (void)state;
#define TRANSMISSION(joint, motor, inside)                                                                             \
    "<transmission name='t'><type>transmission_interface/SimpleTransmission</type><joint name='" joint                 \
    "'><hardwareInterface>EffortJointInterface</hardwareInterface></joint><actuator name='" motor "'>" inside          \
    "</actuator></transmission>"
    const char* text =
        "<robot name='r'><link name='a'/><link name='b'><inertial><mass value='1'/><inertia ixx='0.5' iyy='0.5' "
        "izz='0.5' ixy='0' ixz='0' iyz='0'/></inertial></link>"
        "<joint name='j' type='revolute'><parent link='a'/><child link='b'/><axis xyz='0 0 1'/>"
        "<limit lower='-3' upper='3' effort='30' velocity='1'/></joint>"
        "<joint name='f' type='fixed'><parent link='b'/><child link='c'/></joint><link name='c'/>" TRANSMISSION(
            "j", "m", "<mechanicalReduction>50</mechanicalReduction>") TRANSMISSION("j", "m", "")
            TRANSMISSION("f", "n", "") "</robot>";
    cal_read_report* report;
    cal_model* model = read_text(text, NULL, &report);
    assert_int_equal(cal_model_actuator_count(model), 2);
    assert_int_equal(cal_model_find_actuator(model, "m"), 0);
    // Of a fixed joint there is no motor, and the report says so.
    assert_true(speaks_of(report, CAL_ISSUE_NOT_SIMULATED, "<transmission>", 0));
    cal_dynamics* dynamics = NULL;
    assert_int_equal(cal_dynamics_create(model, &dynamics, NULL), CAL_OK);
    const double q = 0.0, v = 0.0, controls[3][2] = {{0.2, 1.0}, {7.0, 0.0}, {0.0, -99.0}},
                 forces[3] = {11.0, 30.0, -30.0};
    for (int i = 0; i < 3; i++) {
        double qdd;
        assert_int_equal(cal_dynamics_forward(dynamics, &q, &v, NULL, controls[i], &qdd), CAL_OK);
        cal_test_expect_below(fabs(qdd - forces[i] / 0.5), 1e-12, "acceleration", "transmission");
    }
    cal_dynamics_destroy(dynamics);
    cal_read_report_destroy(report);
    cal_model_destroy(model);
    cal_error error = {CAL_OK, ""};
    text = "<robot name='r'>" LINK("a") LINK("b") JOINT("j", "revolute", "a", "b", "")
        TRANSMISSION("j", "m", "<mechanicalReduction>none</mechanicalReduction>") "</robot>";
    assert_int_equal(cal_model_read_memory(text, strlen(text), "r", NULL, &model, NULL, &error), CAL_BAD_MODEL);
    assert_non_null(strstr(error.text, "'none' is no reduction"));
}

static void test_tolerance(void** state) {
    (void)state;
    const char body[] = "<robot name='r'>" LINK("a") LINK("b") JOINT("j", "continuous", "a", "b", "") "</robot>";
    char text[2000];
    static const char* const before[] = {"", "\xef\xbb\xbf", "\n<?xml version='1.0'?>\n",
                                         "\xef\xbb\xbf\n<?xml version='1.0'?>"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        memset(text, 0, sizeof text);
        snprintf(text, sizeof text, "%s%s", before[i], body);
        for (size_t nuls = 0; nuls < 3; nuls++) {
            cal_model* model;
            cal_error error = {CAL_OK, ""};
            if (cal_model_read_memory(text, strlen(text) + nuls, "r", NULL, &model, NULL, &error) != CAL_OK)
                fail_msg("%zu: %s", i, error.text);
            cal_model_destroy(model);
        }
    }
}

static void test_nothing_is_dropped_silently(void** state) {
    (void)state;
    const char* text = "<robot name='r' colour='red' xmlns:x='y'>\n" LINK(
        "a") "\n<link name='b' shiny='no'>" INERTIAL
             "\n<sparkle/></link>\n" JOINT("j", "continuous", "a", "b",
                                           "<axis xyz='0 0 1' abc='1'/><hum/>") "\n<sensor/></robot>";
    cal_read_report* report;
    cal_model* model = read_text(text, NULL, &report);
    assert_true(speaks_of(report, CAL_ISSUE_NOT_UNDERSTOOD, "robot colour", 1));
    assert_true(speaks_of(report, CAL_ISSUE_NOT_UNDERSTOOD, "link shiny", 3));
    assert_true(speaks_of(report, CAL_ISSUE_NOT_UNDERSTOOD, "<sparkle>", 4));
    assert_true(speaks_of(report, CAL_ISSUE_NOT_UNDERSTOOD, "axis abc", 5));
    assert_true(speaks_of(report, CAL_ISSUE_NOT_UNDERSTOOD, "<hum>", 5));
    assert_true(speaks_of(report, CAL_ISSUE_NOT_SIMULATED, "<sensor>", 6));
    assert_int_equal(cal_read_report_count(report), 6);
    cal_read_report_destroy(report);
    cal_model_destroy(model);
    cal_read_options options = cal_default_read_options();
    options.strict = true;
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_model_read_memory(text, strlen(text), "r", &options, &model, NULL, &error), CAL_BAD_MODEL);
}

#define WITH_INERTIA(mass, numbers)                                                                                    \
    "<robot>" LINK("a") "<link name='b'><inertial><mass value='" mass "'/><inertia " numbers                           \
                        "/></inertial></link>" JOINT("j", "revolute", "a", "b", "<axis xyz='0 0 1'/>") "</robot>"

static void test_repair(void** state) {
    (void)state;
    static const char* const texts[] = {WITH_INERTIA("1", "ixx='1' iyy='1' izz='3'"),
                                        WITH_INERTIA("1", "ixx='-1' iyy='1' izz='1'"),
                                        WITH_INERTIA("-1", "ixx='1' iyy='1' izz='1'")};
    cal_read_options options = cal_default_read_options();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cal_model* model;
        cal_error error = {CAL_OK, ""};
        options.repair = false;
        assert_int_equal(cal_model_read_memory(texts[i], strlen(texts[i]), "r", &options, &model, NULL, &error),
                         CAL_BAD_MODEL);
        assert_non_null(strstr(error.text, "--repair"));
        options.repair = true;
        cal_read_report* report;
        model = read_text(texts[i], &options, &report);
        assert_true(speaks_of(report, CAL_ISSUE_REPAIRED, i < 2 ? "inertia" : "mass", 0));
        cal_read_report_destroy(report);
        cal_model_destroy(model);
    }
    // A link that cannot move may have any inertia. Placeholders for nothing are nothing.
    cal_model* model = read_text(
        "<robot><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='9'/></inertial></link>" LINK(
            "b") "<link name='t'><inertial><mass value='0'/><inertia ixx='-2e-35' iyy='1e-35' "
                 "izz='1e-35'/></inertial></link>" JOINT("j", "revolute", "a", "b", "")
                     JOINT("k", "fixed", "b", "t", "") "</robot>",
        NULL, NULL);
    assert_true(body_of(model, "t").inertia[0] == 0.0);
    cal_model_destroy(model);
    // What has no inertial at all weighs what its shape does at the density of water, when a repair is asked for.
    const char* massless =
        "<robot>" LINK("a") "<link name='b'><collision><origin xyz='0 0 1'/><geometry><box size='0.1 0.2 "
                            "0.3'/></geometry></collision></link>" JOINT("j", "revolute", "a", "b", "") "</robot>";
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_model_read_memory(massless, strlen(massless), "r", NULL, &model, NULL, &error), CAL_BAD_MODEL);
    model = read_text(massless, &options, NULL);
    const cal_body_def b = body_of(model, "b");
    cal_test_expect_below(fabs(b.mass - 6.0), 1e-12, "mass", "b");
    cal_test_expect_below(fabs(b.inertia[0] - 6.0 * (0.04 + 0.09) / 12.0), 1e-14, "inertia", "b");
    assert_true(b.center[2] == 1.0);
    cal_model_destroy(model);
}

// --- Files --------------------------------------------------------------------------------------------------------------

#define WITH_MESH(name)                                                                                                \
    "<robot>" LINK("a") "<link name='b'>" INERTIAL "<collision><geometry><mesh filename='" name                        \
                        "'/></geometry></collision></link>" JOINT("j", "revolute", "a", "b", "") "</robot>"

static void test_packages(void** state) {
    (void)state;
    char inside[1024];
    snprintf(inside, sizeof inside, "%s/robot_description/", folder);
    const char* beside[] = {"/does/not/exist", folder};
    const char* itself[] = {inside};
    cal_read_options options = cal_default_read_options();
    static const char* const texts[] = {WITH_MESH("package://robot_description/meshes/wedge.obj"),
                                        WITH_MESH("model://robot_description/meshes/wedge.obj"),
                                        WITH_MESH("package:///robot_description/meshes/wedge.obj")};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int way = 0; way < 2; way++) {
            options.package_paths = way == 0 ? beside : itself;
            options.package_path_count = way == 0 ? 2 : 1;
            cal_model* model = read_text(texts[i], &options, NULL);
            assert_int_equal(cal_model_mesh_count(model), 1);
            cal_model_destroy(model);
        }
    // In no package path: left out, and said. The same for kinds of files that are not read.
    options.package_path_count = 0;
    cal_read_report* report;
    cal_model* model = read_text(texts[0], &options, &report);
    assert_int_equal(cal_model_shape_count(model), 0);
    assert_true(speaks_of(report, CAL_ISSUE_NOT_SIMULATED, "<mesh>", 1));
    cal_read_report_destroy(report);
    cal_model_destroy(model);
    model = read_text(WITH_MESH("package://robot_description/meshes/missing.ply"), &options, &report);
    assert_true(speaks_of(report, CAL_ISSUE_NOT_SIMULATED, "<mesh>", 1));
    cal_read_report_destroy(report);
    cal_model_destroy(model);
}

static void test_bad_meshes(void** state) {
    (void)state;
    const char* paths[] = {folder};
    cal_read_options options = cal_default_read_options();
    options.package_paths = paths;
    options.package_path_count = 1;
    options.folder = folder;
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        {WITH_MESH("package://robot_description/meshes/missing.stl"), "has no file 'meshes/missing.stl'"},
        {WITH_MESH("package://robot_description/../../secret.stl"), "leads out of its package"},
        {WITH_MESH("package://robot.stl"), "no file in it"},
        {WITH_MESH("../outside.stl"), "outside the model's folder"},
        {WITH_MESH("/etc/outside.stl"), "outside the model's folder"},
        {WITH_MESH("file:///etc/outside.stl"), "outside the model's folder"},
        {WITH_MESH("http://host/file.stl"), "no name of a file"},
        {WITH_MESH("missing.stl"), "missing.stl"},
        {WITH_MESH("robot_description/package.xml.stl"), "cannot open"},
        {WITH_MESH(""), "no filename"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cal_model* model = NULL;
        cal_error error = {CAL_OK, ""};
        const char* text = cases[i].text;
        if (cal_model_read_memory(text, strlen(text), "r.urdf", &options, &model, NULL, &error) != CAL_BAD_MODEL)
            fail_msg("not refused: %s", text);
        if (strstr(error.text, cases[i].complaint) == NULL || strncmp(error.text, "r.urdf:1: <mesh>", 16) != 0)
            fail_msg("'%s' instead of '%s'", error.text, cases[i].complaint);
        assert_null(model);
    }
}

// --- Broken robots ------------------------------------------------------------------------------------------------------

static void test_broken(void** state) {
    (void)state;
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        {"<robot/>", "r.urdf:1: <robot>: this robot is empty"},
        {"<robot name='x'><joint/></robot>", "this robot is empty"},
        {"<robot><link/></robot>", "it has no name"},
        {"<robot>\n" LINK("a") "\n" LINK("a") "</robot>",
         "r.urdf:3: <link name=\"a\">: there is another link of this name"},
        {"<robot>" LINK("a") LINK("b") LINK("c") JOINT("j", "fixed", "a", "b", "")
             JOINT("j", "fixed", "b", "c", "") "</robot>",
         "there is another joint of this name"},
        {"<robot>\n" LINK("a") "\n" LINK("b") "</robot>",
         "r.urdf:3: <link name=\"b\">: no joint carries this link, nor 'a'"},
        {"<robot>" LINK("a") LINK("b") JOINT("j", "revolute", "a", "b", "")
             JOINT("k", "revolute", "b", "a", "") "</robot>",
         "every link hangs from another"},
        {"<robot>" LINK("r") LINK("a") LINK("b") JOINT("j", "revolute", "a", "b", "")
             JOINT("k", "revolute", "b", "a", "") "</robot>",
         "from itself"},
        {"<robot>" LINK("a") LINK("b") LINK("c") JOINT("j", "revolute", "a", "b", "")
             JOINT("k", "revolute", "c", "b", "") "</robot>",
         "a link has one parent"},
        {"<robot>" LINK("a") JOINT("j", "revolute", "a", "a", "") "</robot>", "to itself"},
        {"<robot>" LINK("a") JOINT("j", "revolute", "a", "b", "") "</robot>", "the link 'b' is not in this robot"},
        {"<robot>" LINK("a") LINK("b") "<joint name='j' type='fixed'><parent link='a'/></joint></robot>",
         "what its child link is"},
        {"<robot>" LINK("a") LINK("b") JOINT("j", "wobbly", "a", "b", "") "</robot>", "'wobbly' is no type of joint"},
        {"<robot>" LINK("a") LINK("b") JOINT("j", "revolute", "a", "b", "<axis xyz='0 0 0'/>") "</robot>",
         "the axis is zero"},
        {"<robot>" LINK("a") LINK("b") JOINT("j", "revolute", "a", "b", "<axis xyz='0 0'/>") "</robot>", "xyz"},
        {"<robot>" LINK("a") LINK("b") JOINT("j", "revolute", "a", "b", "<origin xyz='0 nan 0'/>") "</robot>", "xyz"},
        {"<robot>" LINK("a") LINK("b") JOINT("j", "revolute", "a", "b", "<origin rpy='0 inf 0'/>") "</robot>",
         "its rpy is not finite"},
        {"<robot>" LINK("a") LINK("b") JOINT("j", "revolute", "a", "b", "<origin/><origin/>") "</robot>",
         "a second <origin>"},
        {"<robot>" LINK("a") LINK("b") JOINT("j", "revolute", "a", "b", "<dynamics damping='-1'/>") "</robot>",
         "must not be negative"},
        {"<robot>" LINK("a") LINK("b") JOINT("j", "revolute", "a", "b", "<mimic joint='k'/>") "</robot>",
         "not in this robot"},
        {"<robot>" LINK("a") LINK("b") JOINT("j", "revolute", "a", "b", "<mimic joint='j'/>") "</robot>",
         "follows itself"},
        {"<robot>" LINK("a") LINK("b") JOINT("j", "revolute", "a", "b", "<mimic/>") "</robot>",
         "which joint is followed"},
        {"<robot>" LINK("a") LINK("b") LINK("c") JOINT("j", "planar", "a", "b", "")
             JOINT("k", "revolute", "b", "c", "<mimic joint='j'/>") "</robot>",
         "both must be revolute"},
        {"<robot>" LINK("a") "<link name='b'/>" JOINT("j", "revolute", "a", "b", "") "</robot>",
         "no inertia along its motion"},
        {"<robot>" LINK("a") "<link name='b'><inertial/></link></robot>", "no joint carries"},
        {"<robot><link name='b'><inertial/></link></robot>", "it has no <mass>"},
        {"<robot><link name='b'><inertial><mass/></inertial></link></robot>", "it has no value"},
        {"<robot><link name='b'><inertial><mass value='1'/><inertia/></inertial></link></robot>", "it has no ixx"},
        {"<robot><link name='b'><visual><geometry><box size='1 2'/></geometry></visual></link></robot>", "size"},
        {"<robot><link name='b'>" INERTIAL "<visual><geometry><box size='1 2 0'/></geometry></visual></link></robot>",
         "above zero"},
        {"<robot><link name='b'>" INERTIAL "<visual><geometry><sphere/></geometry></visual></link></robot>",
         "no radius"},
        {"<robot><xacro:include filename='x'/></robot>", "xacro"},
        {"<robot><link name='a'>", "r.urdf:1"},
        {"", "r.urdf"},
        {"not a robot", "r.urdf:1"},
        {"<sdf/>", "this is no model"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cal_model* model = NULL;
        cal_read_report* report = NULL;
        cal_error error = {CAL_OK, ""};
        const int64_t live = cal_live_allocations();
        const char* text = cases[i].text;
        assert_int_equal(cal_model_read_memory(text, strlen(text), "r.urdf", NULL, &model, &report, &error),
                         CAL_BAD_MODEL);
        if (strstr(error.text, cases[i].complaint) == NULL)
            fail_msg("'%s' instead of '%s'", error.text, cases[i].complaint);
        if (strchr(error.text, '\n') != NULL) fail_msg("more than a line: %s", error.text);
        assert_null(model);
        cal_read_report_destroy(report);
        assert_int_equal(cal_live_allocations(), live);
    }
}

static void test_no_memory(void** state) {
    (void)state;
    char path[1024];
    snprintf(path, sizeof path, "%s/robot_description/urdf/arm.urdf", folder);
    const int64_t live = cal_live_allocations();
    cal_status status = CAL_NO_MEMORY;
    for (int64_t after = 0; status != CAL_OK; after++) {
        cal_model* model = NULL;
        cal_fail_allocation(after);
        status = cal_model_read(path, NULL, &model, NULL, NULL);
        cal_fail_allocation(-1);
        if (status != CAL_OK) assert_int_equal(status, CAL_NO_MEMORY);
        cal_model_destroy(model);
        assert_int_equal(cal_live_allocations(), live);
        assert_true(after < 100000);
    }
}

// A chain that is as deep as it is long, and a star as wide, in any order of links.
static void test_large(void** state) {
    (void)state;
    enum { COUNT = 20000 };
    for (int star = 0; star < 2; star++) {
        char* text = malloc(COUNT * 400 + 100);
        assert_non_null(text);
        char* p = text + sprintf(text, "<robot>");
        for (int i = COUNT - 1; i >= 0; i--) {
            p += sprintf(p, "<link name='l%d'>" INERTIAL "</link>", i);
            if (i > 0)
                p += sprintf(p,
                             "<joint name='j%d' type='continuous'><parent link='l%d'/><child link='l%d'/><origin "
                             "xyz='0 0 1'/></joint>",
                             i, star ? 0 : i - 1, i);
        }
        sprintf(p, "</robot>");
        cal_model* model = read_text(text, NULL, NULL);
        assert_int_equal(cal_model_body_count(model), COUNT);
        assert_int_equal(cal_model_depth(model), star ? 1 : COUNT - 1);
        cal_model_destroy(model);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arm),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_several_degrees),
        cmocka_unit_test(test_base),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_mimics),
        cmocka_unit_test(test_transmissions),
        cmocka_unit_test(test_tolerance),
        cmocka_unit_test(test_nothing_is_dropped_silently),
        cmocka_unit_test(test_repair),
        cmocka_unit_test(test_packages),
        cmocka_unit_test(test_bad_meshes),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
