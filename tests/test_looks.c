// How models look: which shapes of a file are shown, as MuJoCo's viewers show them, and what is said of the rest.
#include "command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "record/drawing.h"

static cal_shape_def shape_of(const cal_model* model, const char* name) {
    cal_shape_def shape;
    const int number = cal_model_find_shape(model, name);
    if (number < 0) fail_msg("there is no shape %s", name);
    cal_model_shape(model, number, &shape);
    return shape;
}

static const char robot[] =
    "<mujoco><default><default class='visual'><geom group='2' contype='0' conaffinity='0'/></default>"
    "<default class='collision'><geom group='3'/></default></default>"
    "<worldbody><geom name='floor' type='plane' size='1 1 1'/><geom name='hidden' group='4' size='1'/>"
    "<body name='dressed'><freejoint/><geom name='look' class='visual' size='0.1'/>"
    "<geom name='hull' class='collision' size='0.2' rgba='1 0 0 0.5'/></body>"
    "<body name='bare'><freejoint/><geom name='only' class='collision' size='0.1'/>"
    "<geom name='mark' class='visual' group='5' size='0.3'/></body>"
    "</worldbody></mujoco>";

// Groups 0, 1 and 2 are shown, and of a body of which nothing would be, what it touches with.
static void groups_say_what_is_shown(void** unused) {
    (void)unused;
    const struct {
        const char* name;
        int group;
        bool visible, collides;
    } expected[] = {{"floor", 0, true, true}, {"hidden", 4, false, true}, {"look", 2, true, false},
                    {"hull", 3, false, true}, {"only", 3, true, true},    {"mark", 5, false, false}};
    cal_model* model = cal_test_read(robot, "robot.xml");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const cal_shape_def shape = shape_of(model, expected[i].name);
        assert_int_equal(shape.group, expected[i].group);
        assert_int_equal(shape.visible, expected[i].visible);
        assert_int_equal(shape.collides, expected[i].collides);
    }
    cal_drawing* drawing = NULL;
    cal_error error = {CAL_OK, ""};
    cal_run_sim_def def = cal_default_run_sim_def();
    cal_run* run = NULL;
    assert_int_equal(cal_run_create_sim(model, &def, &run, &error), CAL_OK);
    assert_int_equal(cal_drawing_create(run, &drawing, &error), CAL_OK);
    cal_run_destroy(run);
    assert_int_equal(drawing->instance_count, 3); // floor, look, only
    for (int i = 0; i < drawing->instance_count; i++) assert_true(drawing->instances[i].size[0] != 0.2);
    assert_int_equal(drawing->contact_count, 3); // hidden, hull, mark: for whoever shows their groups
    assert_int_equal(drawing->instances[3].group, 4);
    assert_int_equal(drawing->instances[5].group, 5);
    cal_drawing_destroy(drawing);
    cal_model_destroy(model);
}

static void groups_survive_a_conversion(void** unused) {
    (void)unused;
    cal_test_write_file("robot.xml", robot);
    cal_test_outcome o = cal_test_run_well("convert robot.xml copy.xml");
    cal_test_release(&o);
    char* text = cal_test_read_file("copy.xml");
    cal_model *before = cal_test_read(robot, "robot.xml"), *after = cal_test_read(text, "copy.xml");
    assert_int_equal(cal_model_shape_count(before), cal_model_shape_count(after));
    for (int i = 0; i < cal_model_shape_count(before); i++) {
        cal_shape_def a, b;
        cal_model_shape(before, i, &a);
        cal_model_shape(after, i, &b);
        assert_int_equal(a.group, b.group);
        assert_int_equal(a.visible, b.visible);
        assert_true(a.color[3] == b.color[3]);
    }
    free(text);
    cal_model_destroy(before);
    cal_model_destroy(after);
}

#define LINK(inside)                                                                                                   \
    "<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>" inside   \
    "</link></robot>"
#define BALL "<geometry><sphere radius='1'/></geometry>"

// Collision geometry is hidden where there is something to see, and only there.
static void urdf_shows_what_is_visual(void** unused) {
    (void)unused;
    const struct {
        const char* text;
        bool shown;
    } cases[] = {
        {LINK("<collision name='c'>" BALL "</collision><visual>" BALL "</visual>"), false},
        {LINK("<collision name='c'>" BALL "</collision>"), true},
        {LINK("<visual><geometry><mesh filename='x.ply'/></geometry></visual><collision name='c'>" BALL "</collision>"),
         true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cal_model* model = cal_test_read(cases[i].text, "r.urdf");
        assert_int_equal(shape_of(model, "c").visible, cases[i].shown);
        cal_model_destroy(model);
    }
}

// Contacts of one dimension have no friction; a pair that does not say has that of its geoms (MuJoCo's rules).
static void friction_is_that_of_mujoco(void** unused) {
    (void)unused;
    cal_model* model =
        cal_test_read("<mujoco><default><geom friction='0.4'/></default><worldbody>"
                      "<geom name='floor' type='plane' size='1 1 1' friction='0.9'/>"
                      "<body><freejoint/><geom name='ice' size='1' condim='1'/></body>"
                      "<body><freejoint/><geom name='wood' size='1'/></body>"
                      "<body><freejoint/><geom name='first' size='1' friction='0.2' priority='1'/></body>"
                      "</worldbody><contact><pair geom1='floor' geom2='wood'/>"
                      "<pair geom1='floor' geom2='first'/><pair geom1='floor' geom2='wood' condim='1'/>"
                      "<pair geom1='ice' geom2='wood' friction='0.7'/></contact></mujoco>",
                      "friction.xml");
    assert_true(shape_of(model, "floor").friction == 0.9);
    assert_true(shape_of(model, "ice").friction == 0.0);
    assert_true(shape_of(model, "wood").friction == 0.4);
    assert_int_equal(shape_of(model, "first").priority, 1);
    const double expected[] = {0.9, 0.2, 0.0, 0.7};
    for (int i = 0; i < 4; i++) {
        cal_pair_def pair;
        cal_model_pair(model, i, &pair);
        assert_true(pair.friction == expected[i]);
    }
    cal_model_destroy(model);
}

// What is not simulated is said in one line by every command that uses the file.
static void says_what_is_left_out(void** unused) {
    (void)unused;
    cal_test_write_file("arm.xml",
                        "<mujoco><worldbody><body><joint name='j'/><geom size='1' solref='0.1 1'/></body></worldbody>"
                        "<deformable><flex/><flex/></deformable>"
                        "<extension><plugin/><plugin/><plugin/></extension></mujoco>");
    static const char* const calls[] = {"info arm.xml", "sim arm.xml --time 0.01", "eval arm.xml --what pose"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        cal_test_outcome o = cal_test_run_well(calls[i]);
        assert_int_equal(cal_test_count_lines(o.err), 1);
        if (strstr(o.err, "arm.xml: not simulated: 2 deformables, 3 extensions, geom solref") == NULL)
            fail_msg("%s: %s", calls[i], o.err);
        assert_true((strstr(o.err, "'calder info arm.xml' lists them") == NULL) == (i == 0));
        if (i == 0) assert_non_null(strstr(o.out, "ignored: Calder uses its own contact model"));
        cal_test_release(&o);
    }
}

// Motors follow the controls of the keyframe that a model starts from.
static void keyframes_set_controls(void** unused) {
    (void)unused;
    cal_model* model =
        cal_test_read("<mujoco><worldbody><body><joint name='a' axis='0 0 1'/><geom size='0.1'/></body></worldbody>"
                      "<actuator><motor joint='a' gear='2'/></actuator>"
                      "<keyframe><key name='home' qpos='0.5' qvel='0.25' ctrl='3'/></keyframe></mujoco>",
                      "key.xml");
    cal_model* started = NULL;
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_model_variant(model, 0, cal_model_find_keyframe(model, "home"), &started, &error), CAL_OK);
    double q, v, control, qdd[2];
    cal_model_initial(started, &q, &v, &control);
    assert_true(q == 0.5 && v == 0.25 && control == 3.0);
    // A ball of radius 0.1 and density 1000 about its centre: M = 2/5 m r².
    const double inertia = 0.4 * 1000.0 * 4.0 / 3.0 * 3.14159265358979323846 * 1e-3 * 0.01;
    const cal_sim_def def = cal_default_sim_def();
    const cal_model* models[2] = {model, started};
    for (int i = 0; i < 2; i++) {
        cal_sim* sim = NULL;
        assert_int_equal(cal_sim_create(models[i], &def, &sim, &error), CAL_OK);
        assert_int_equal(cal_sim_accelerations(sim, &qdd[i]), CAL_OK);
        cal_sim_destroy(sim);
    }
    assert_true(qdd[0] == 0.0);
    cal_test_expect_below(fabs(qdd[1] * inertia / 6.0 - 1.0), 1e-12, "acceleration", "home");
    cal_model_destroy(started);
    cal_model_destroy(model);
}

// The humanoid's lowest point is on its floor at the start, whatever its start angles; its mechanics do not know of it.
static void the_humanoid_stands_on_its_floor(void** unused) {
    (void)unused;
    static const char* const starts[] = {"humanoid", "humanoid:start=0", "humanoid:start=-0.4", "figure:floor=1",
                                         "stickman:floor=1,start=0.3"};
    for (size_t n = 0; n < sizeof starts / sizeof *starts; n++) {
        cal_model* model = cal_test_model(starts[n]);
        cal_test_engine engine = cal_test_open(model, "kinematics", 1);
        double* poses = cal_test_numbers(7 * (size_t)cal_model_body_count(model));
        double lowest = INFINITY;
        cal_test_execute(&engine);
        assert_int_equal(cal_state_get(engine.state, CAL_POSE, poses), CAL_OK);
        for (int i = 0; i < cal_model_shape_count(model); i++) {
            cal_shape_def shape;
            cal_model_shape(model, i, &shape);
            if (shape.body < 0) continue;
            assert_int_equal(shape.kind, CAL_CAPSULE);
            // From the body's origin to its tip, which is twice as far as the capsule's centre.
            const double *pose = poses + 7 * shape.body, *p = pose + 3;
            const double* c = shape.position;
            const double rise = 2.0 * (p[1] * p[3] - p[0] * p[2]) * c[0] + 2.0 * (p[2] * p[3] + p[0] * p[1]) * c[1] +
                                (1.0 - 2.0 * (p[1] * p[1] + p[2] * p[2])) * c[2];
            lowest = fmin(lowest, pose[2] + fmin(0.0, 2.0 * rise) - shape.size[0]);
        }
        cal_test_expect_below(fabs(lowest - shape_of(model, "floor").position[2]), 1e-14, "floor", starts[n]);
        assert_true(cal_model_can_touch(model));
        free(poses);
        cal_test_close(&engine);
        cal_model_destroy(model);
    }
    cal_model* without = cal_test_model("humanoid:floor=0");
    assert_int_equal(cal_model_find_shape(without, "floor"), CAL_NONE);
    assert_false(cal_model_can_touch(without));
    cal_model_destroy(without);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_say_what_is_shown),
        cmocka_unit_test(groups_survive_a_conversion),
        cmocka_unit_test(urdf_shows_what_is_visual),
        cmocka_unit_test(friction_is_that_of_mujoco),
        cmocka_unit_test(says_what_is_left_out),
        cmocka_unit_test(keyframes_set_controls),
        cmocka_unit_test(the_humanoid_stands_on_its_floor),
    };
    return cmocka_run_group_tests(tests, cal_test_create_folder, NULL);
}
