// Worlds from models: MJCF texts against closed forms, and against the simulation of the same model without contact, which
// shares no integrator with a world.
#include "base/memory.h"
#include "support_world.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cal_model* read_text(const char* text, const char* key) {
    cal_model* model = cal_test_read(text, "test");
    if (key == NULL) return model;
    cal_model* started = NULL;
    assert_int_equal(cal_model_variant(model, 0, cal_model_find_keyframe(model, key), &started, NULL), CAL_OK);
    cal_model_destroy(model);
    return started;
}

// The model is gone before the world begins: nothing of it may be needed.
static cal_world* open_world(const char* text, const char* key, const cal_world_def* def) {
    cal_model* model = read_text(text, key);
    cal_world* world = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_world_from_model(model, def, &world, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_model_destroy(model);
    return world;
}

static void expect_near(const double* a, const double* b, int count, double bound, const char* what) {
    cal_test_expect_below(cal_test_largest_difference(a, b, (size_t)count), bound, what, "a world from a file");
}

// --- Closed forms -------------------------------------------------------------------------------------------------------------

#define TWO_BALLS(CUSTOM)                                                                                              \
    "<mujoco><option gravity='0 0 0'/>" CUSTOM                                                                         \
    "<worldbody><geom name='wall' type='plane' pos='-2 0 0' zaxis='1 0 0' size='1 1 1'/>"                              \
    "<body name='left' pos='-1 0 0'><freejoint/><geom type='sphere' size='0.1' mass='1'/></body>"                      \
    "<body name='right' pos='1 0 0'><freejoint/><geom type='sphere' size='0.1' mass='2'/></body></worldbody>"          \
    "<keyframe><key name='go' qpos='-1 0 0 1 0 0 0 1 0 0 1 0 0 0' qvel='1 0 0 0 0 0 -1 0 0 0 0 0'/></keyframe>"        \
    "</mujoco>"

// They meet at 0.9 s at a relative speed of 2; with v the mean velocity −1/3, v₁ = v − (2/3) 2 e, v₂ = v + (1/3) 2 e.
static void check_balls(cal_world* world, double e) {
    cal_world_keep_events(world, true);
    cal_test_advance(world, 1.5);
    cal_world_event event;
    assert_true(cal_world_next_event(world, &event));
    const double v[2] = {-1.0 / 3 - 4.0 / 3 * e, -1.0 / 3 + 2.0 / 3 * e};
    expect_near(&event.time, &(double){0.9}, 1, 1e-12, "time of impact");
    expect_near(&event.impulse, &(double){1.0 - v[0]}, 1, 1e-12, "impulse");
    for (int i = 0; i < 2; i++) {
        double position[3], velocity[3];
        cal_world_get_body(world, cal_test_body(world, i == 0 ? "left" : "right"), position, NULL, velocity, NULL);
        expect_near(velocity, (const double[]){v[i], 0.0, 0.0}, 3, 1e-12, "velocity");
        expect_near(position, (const double[]){(i == 0 ? -0.1 : 0.1) + 0.6 * v[i], 0.0, 0.0}, 3, 1e-12, "position");
    }
    cal_world_destroy(world);
}

static void balls_bounce_as_the_file_or_the_caller_says(void** unused) {
    (void)unused;
    static const cal_world_loop loops[] = {CAL_TIMEWARP, CAL_RETROACTIVE, CAL_CONSERVATIVE};
    const char* text = TWO_BALLS("<custom><numeric name='restitution' data='0.5'/></custom>");
    for (int i = 0; i < 3; i++) {
        cal_world_def def = cal_default_world_def();
        def.loop = loops[i];
        check_balls(open_world(text, "go", &def), 0.5);
        def.restitution = 0.75;
        check_balls(open_world(text, "go", &def), 0.75);
        def.restitution = 1.0;
        check_balls(open_world(TWO_BALLS(""), "go", &def), 1.0);
    }
    cal_world* still = open_world(text, NULL, NULL);
    double velocity[3];
    cal_test_advance(still, 1.0);
    cal_world_get_body(still, cal_test_body(still, "left"), NULL, NULL, velocity, NULL);
    expect_near(velocity, (const double[3]){0}, 3, 0.0, "velocity without a keyframe");
    cal_world_destroy(still);
}

// A box on a slope of 30°, cos 30° (0.1 m) above its foot: tan 30° = 0.577.
#define SLOPE(CUSTOM)                                                                                                  \
    "<mujoco><compiler angle='degree'/><option gravity='0 0 -10'/>" CUSTOM                                             \
    "<worldbody><body name='hill' euler='0 30 0'>"                                                                     \
    "<geom type='plane' size='5 5 1' friction='0.25 0 0'/></body>"                                                     \
    "<body name='box' pos='0.05 0 0.08660254037844387' euler='0 30 0'><freejoint/>"                                    \
    "<geom type='box' size='0.2 0.2 0.1' mass='3' friction='0.1 0 0'/></body></worldbody></mujoco>"

static double way_after(const char* text, const cal_world_def* def, double time) {
    cal_world* world = open_world(text, NULL, def);
    double position[3];
    cal_test_advance(world, time);
    cal_world_get_body(world, cal_test_body(world, "box"), position, NULL, NULL, NULL);
    cal_world_destroy(world);
    const double x = position[0] - 0.05, z = position[2] - 0.08660254037844387;
    return x * cos(acos(-1.0) / 6.0) - z * 0.5;
}

static void a_box_slides_or_holds(void** unused) {
    (void)unused;
    const double cosine = sqrt(0.75);
    cal_test_expect_below(fabs(way_after(SLOPE(""), NULL, 1.0) - 5.0 * (0.5 - 0.25 * cosine)), 1e-6,
                          "way with the larger friction of the two shapes", "slope");
    const char* numbered = SLOPE("<custom><numeric name='friction' data='0.4'/></custom>");
    cal_test_expect_below(fabs(way_after(numbered, NULL, 1.0) - 5.0 * (0.5 - 0.4 * cosine)), 1e-6,
                          "way with the file's number", "slope");
    cal_world_def def = cal_default_world_def();
    def.friction = 0.6;
    cal_test_expect_below(fabs(way_after(numbered, &def, 1.0)), 1e-6, "way below the friction angle", "slope");
}

// A ball of mass m and speed u meets a rod of inertia J about its hinge, d below it, without friction: its end turns at
// ω = (1 + e) m u d / (J + m d²). The hinge is where the post is, which the rod must not touch.
static void a_ball_hits_a_pendulum(void** unused) {
    (void)unused;
    const char* text = "<mujoco><option gravity='0 0 0'/>"
                       "<custom><numeric name='restitution' data='0.5'/><numeric name='friction' data='0'/></custom>"
                       "<worldbody><body name='post' pos='0 0 2'><geom type='box' size='.05 .05 .05'/>"
                       "<body name='rod'><inertial pos='0 0 -0.5' mass='1' diaginertia='0.1 0.1 0.01'/>"
                       "<joint type='hinge' axis='0 1 0'/><geom type='capsule' fromto='0 0 0 0 0 -1' size='0.03'/>"
                       "</body></body><body name='ball' pos='-1 0 1.2'><freejoint/>"
                       "<geom type='sphere' size='0.05' mass='0.2'/></body></worldbody>"
                       "<keyframe><key name='go' qpos='0 -1 0 1.2 1 0 0 0' qvel='0 4 0 0 0 0 0'/></keyframe></mujoco>";
    const double m = 0.2, u = 4.0, d = 0.8, J = 0.1 + 0.25, e = 0.5;
    cal_world* world = open_world(text, "go", NULL);
    cal_world_keep_events(world, true);
    cal_test_advance(world, 0.3);
    cal_world_event event;
    assert_true(cal_world_next_event(world, &event));
    expect_near(&event.time, &(double){0.92 / u}, 1, 1e-10, "time of impact");
    double spin[3], velocity[3];
    cal_world_get_body(world, cal_test_body(world, "rod"), NULL, NULL, NULL, spin);
    cal_world_get_body(world, cal_test_body(world, "ball"), NULL, NULL, velocity, NULL);
    const double omega = (1.0 + e) * m * u * d / (J + m * d * d);
    // A turn about y moves what is below the hinge towards −x.
    expect_near(spin, (const double[]){0.0, -omega, 0.0}, 3, 1e-9, "the rod's rate");
    expect_near(velocity, (const double[]){u - J * omega / (m * d), 0.0, 0.0}, 3, 1e-9, "the ball's velocity");
    cal_world_destroy(world);
}

// --- Against the simulation of the same model ---------------------------------------------------------------------------------

static void compare_with_simulation(const char* text, const char* key, double time) {
    cal_model *model = read_text(text, key), *smooth = NULL;
    cal_world_def how = cal_default_world_def();
    how.tolerance = 1e-10;
    cal_world* world = open_world(text, key, &how);
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    cal_error error = {CAL_OK, ""};
    def.relative = def.absolute = 1e-10;
    // In worlds dry friction of joints is smooth.
    assert_int_equal(cal_model_variant(model, CAL_PART_STICTION, cal_model_find_keyframe(model, key), &smooth, &error),
                     CAL_OK);
    assert_int_equal(cal_sim_create(smooth, &def, &sim, &error), CAL_OK);
    assert_int_equal(cal_sim_advance(sim, time, &error), CAL_OK);
    double* poses = cal_test_numbers(7 * (size_t)cal_model_body_count(model));
    assert_int_equal(cal_sim_poses(sim, poses), CAL_OK);
    cal_test_advance(world, time);
    int compared = 0;
    for (int body = 0; body < cal_model_body_count(model); body++) {
        char name[64];
        if (cal_model_body_name(model, body, name, sizeof name)[0] == '_') continue; // part of another body there
        double pose[7];
        cal_world_get_body(world, cal_test_body(world, name), pose, pose + 3, NULL, NULL);
        const double* expected = poses + 7 * body;
        double sign = 0.0;
        for (int i = 3; i < 7; i++) sign += pose[i] * expected[i];
        for (int i = 3; i < 7; i++) pose[i] *= sign < 0.0 ? -1.0 : 1.0;
        expect_near(pose, expected, 7, 1e-6, name);
        compared++;
    }
    assert_true(compared >= 2);
    free(poses);
    cal_sim_destroy(sim);
    cal_world_destroy(world);
    cal_model_destroy(smooth);
    cal_model_destroy(model);
}

// Crooked bodies that tumble, alone and with others welded to them, and numbers that a mistake in any of center, inertia,
// frame or velocity would change.
static void free_bodies_move_as_the_model_does(void** unused) {
    (void)unused;
    compare_with_simulation(
        "<mujoco><option gravity='0.3 0 -9.81'/><worldbody>"
        "<body name='one' pos='1 2 3' quat='0.8 0.2 -0.4 0.3'><freejoint/>"
        "<inertial pos='0.1 -0.2 0.3' mass='2' fullinertia='0.2 0.3 0.25 0.01 -0.02 0.03'/>"
        "<geom type='sphere' size='0.01'/></body>"
        "<body name='two' pos='-4 0 3'><freejoint/>"
        "<inertial pos='0.05 0 0' mass='1' diaginertia='0.02 0.03 0.04'/><geom type='sphere' size='0.02'/>"
        "<body name='_welded' pos='0.3 0.1 0' quat='0.9 0.1 0.3 -0.2'>"
        "<inertial pos='0 0.1 0.2' mass='0.7' diaginertia='0.01 0.02 0.025'/><geom type='box' size='.1 .1 .1'/>"
        "<body name='_further' pos='0 0.2 0.1' quat='0.7 0 0.7 0'>"
        "<inertial pos='0.02 0 0' mass='0.4' diaginertia='0.01 0.012 0.008'/></body></body></body></worldbody>"
        "<keyframe><key name='go' qpos='1 2 3 0.5 0.5 -0.5 0.5 -4 0 3 1 0 0 0'"
        " qvel='0.1 0.2 0.3 2 -3 1 0 1 0 -1 2 4'/></keyframe></mujoco>",
        "go", 1.0);
}

// A free root with joints below, and arms on a pedestal with springs, dampers, stops and motors, two on one pedestal.
static void multibodies_move_as_the_model_does(void** unused) {
    (void)unused;
    compare_with_simulation(
        "<mujoco><worldbody>"
        "<body name='_pedestal' pos='0 0 1' quat='0.9 0 0.3 0.1'><geom type='box' size='.2 .2 .2'/>"
        "<body name='upper' pos='0.1 0.2 0' quat='1 0.2 0 0'>"
        "<inertial pos='0 0 -0.2' mass='1' diaginertia='.02 .03 .01'/>"
        "<joint name='a' type='hinge' axis='1 0 0' damping='0.05' stiffness='2'/>"
        "<joint name='b' type='hinge' axis='0 1 0.2' ref='0.1'/><geom type='capsule' size='.02 .1'/>"
        "<body name='lower' pos='0 0 -0.4'><inertial pos='0 0 -0.1' mass='0.5' diaginertia='.01 .01 .005'/>"
        "<joint name='c' type='slide' axis='0 0 1' stiffness='50'/></body></body>"
        "<body name='ball' pos='0 -0.3 0'><inertial pos='0 0.1 -0.2' mass='1' diaginertia='.02 .03 .01'/>"
        "<joint name='d' type='ball'/></body></body>"
        "<body name='trunk' pos='3 0 2'><freejoint/><inertial pos='0 0 0' mass='3' diaginertia='.1 .2 .3'/>"
        "<body name='tail' pos='0.2 0 0'><inertial pos='0.1 0 0' mass='0.5' diaginertia='.01 .01 .005'/>"
        "<joint name='e' type='hinge' axis='0 0 1'/></body></body></worldbody>"
        "<actuator><motor joint='e' ctrlrange='-1 1'/><motor joint='a' gear='2'/></actuator>"
        "<keyframe><key name='go' qpos='0.2 -0.3 0.05 0.8 0.6 0 0 3 1 2 0 1 0 0 0.4'"
        " qvel='1 -1 0.2 0.5 1 -0.5 0 1 0 1 2 -1 0.3' ctrl='0.1 0.2'/></keyframe></mujoco>",
        "go", 0.5);
}

// Light hands on strong servos, dampers and dry friction, on a body that tumbles: an explicit method would need
// thousands of steps.
static void stiff_multibodies_move_as_the_model_does(void** unused) {
    (void)unused;
    const char* text =
        "<mujoco><worldbody><body name='trunk' pos='0 0 2'><freejoint/>"
        "<inertial pos='0 0 0' mass='3' diaginertia='.1 .2 .3'/>"
        "<body name='arm' pos='.2 0 0'><inertial pos='.1 0 .05' mass='.5' diaginertia='.01 .01 .005'/>"
        "<joint name='a' type='hinge' axis='0 0 1' damping='.1' frictionloss='.05'/>"
        "<body name='hand' pos='.2 0 0'><inertial pos='.02 0 0' mass='.02' diaginertia='.0001 .0001 .0001'/>"
        "<joint name='b' type='hinge' axis='0 1 0' damping='2'/>"
        "<body name='finger' pos='.1 0 0'><inertial pos='.02 0 0' mass='.02' diaginertia='.0001 .0001 .0001'/>"
        "<joint name='c' type='ball' stiffness='.5' damping='3'/></body></body></body></body></worldbody>"
        "<actuator><position joint='a' kp='20' kv='2'/><position joint='b' kp='200' kv='4' forcerange='-20 "
        "20'/></actuator>"
        "<keyframe><key name='go' qpos='0 0 2 .8 .6 0 0 .3 .1 1 0 0 0' qvel='0 0 0 2 -3 1 4 0 1 0 1' ctrl='.5 -.4'/>"
        "</keyframe></mujoco>";
    compare_with_simulation(text, "go", 0.4);
    cal_world* world = open_world(text, "go", NULL);
    cal_test_advance(world, 0.4);
    assert_true(cal_test_report(world).series < 1000);
    cal_world_destroy(world);
}

// The hull of a mesh of a free body and of a link that slides: both lie on the floor with their lowest points, and the mesh
// that both share is the world's own by then.
static void meshes_come_along(void** unused) {
    (void)unused;
    cal_world* world = open_world(
        "<mujoco><asset><mesh name='cube' vertex='-.1 -.1 -.1 .1 -.1 -.1 -.1 .1 -.1 .1 .1 -.1"
        " -.1 -.1 .1 .1 -.1 .1 -.1 .1 .1 .1 .1 .1'/></asset>"
        "<worldbody><geom name='floor' type='plane' size='5 5 1'/>"
        "<body name='free' pos='0 0 0.3'><freejoint/><geom type='mesh' mesh='cube' mass='1'/></body>"
        "<body name='slider' pos='1 0 0.3'><joint type='slide' axis='0 0 1'/><geom type='mesh' mesh='cube' mass='1'/>"
        "</body></worldbody></mujoco>",
        NULL, NULL);
    cal_test_advance(world, 2.0);
    for (int i = 0; i < 2; i++) {
        double position[3];
        cal_world_get_body(world, cal_test_body(world, i == 0 ? "free" : "slider"), position, NULL, NULL, NULL);
        cal_test_expect_below(fabs(position[2] - 0.1), 1e-6, "height", i == 0 ? "free" : "slider");
    }
    cal_world_destroy(world);
}

// --- Who touches whom -----------------------------------------------------------------------------------------------------------

static double height_after(const char* floor, const char* ball, const char* more) {
    char text[1024];
    snprintf(text, sizeof text,
             "<mujoco><worldbody><geom name='floor' type='plane' size='5 5 1' %s/>"
             "<body name='stone' pos='0 0 0.2'><freejoint/><geom type='sphere' size='0.1' mass='1' %s/></body>"
             "<body name='table' pos='0 0 -0.5'><geom type='box' size='1 1 .1'/></body></worldbody>%s</mujoco>",
             floor, ball, more);
    cal_world* world = open_world(text, NULL, NULL);
    double position[3];
    cal_test_advance(world, 1.5);
    cal_world_get_body(world, cal_test_body(world, "stone"), position, NULL, NULL, NULL);
    cal_world_destroy(world);
    return position[2];
}

static void masks_and_exclusions_hold(void** unused) {
    (void)unused;
    const double fallen = 0.2 - 0.5 * 9.81 * 2.25;
    cal_test_expect_below(fabs(height_after("", "", "") - 0.1), 1e-6, "height", "on the floor");
    cal_test_expect_below(fabs(height_after("contype='2' conaffinity='2'", "", "") + 0.3), 1e-6, "height",
                          "through the floor, on the table");
    cal_test_expect_below(fabs(height_after("contype='0' conaffinity='0'", "contype='4' conaffinity='0'", "") - fallen),
                          1e-9, "height", "through everything");
    cal_test_expect_below(fabs(height_after("contype='2' conaffinity='2'", "",
                                            "<contact><exclude body1='stone' body2='table'/></contact>") -
                               fallen),
                          1e-9, "height", "with an exclusion");
}

// Two shapes of one body fall past two of another: what may touch stops them, where the others would do so earlier.
static void shapes_of_one_body_are_told_apart(void** unused) {
    (void)unused;
    const char* scene =
        "<mujoco><worldbody><geom name='low' type='box' size='1 1 .1' pos='0 0 -.1'/>"
        "<geom name='high' type='box' size='1 1 .1' pos='0 0 .9' contype='4' conaffinity='4'/>"
        "<body name='stone' pos='0 0 2'><freejoint/><geom name='small' type='sphere' size='.1' mass='1'/>"
        "<geom name='large' type='sphere' size='.5' mass='1' contype='%d' conaffinity='%d'/></body>"
        "</worldbody>%s</mujoco>";
    const struct {
        int category;
        const char* contact;
        double height;
    } cases[] = {
        {2, "", 0.1},                                                                   // the small ball on the low box
        {4, "", 1.5},                                                                   // the large one on the high box
        {2, "<contact><pair geom1='large' geom2='low' friction='1'/></contact>", 0.5},  // the large one on the low box
        {0, "<contact><pair geom1='high' geom2='large' friction='1'/></contact>", 1.5}, // a shape for nobody else
        {4, "<contact><pair geom1='high' geom2='small' friction='1'/></contact>", 1.5}, // both, the large one first
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        snprintf(text, sizeof text, scene, cases[i].category, cases[i].category, cases[i].contact);
        cal_world* world = open_world(text, NULL, NULL);
        double position[3];
        cal_test_advance(world, 2.0);
        cal_world_get_body(world, cal_test_body(world, "stone"), position, NULL, NULL, NULL);
        cal_test_expect_below(fabs(position[2] - cases[i].height), 1e-6, "height", text);
        cal_world_destroy(world);
    }
}

// On a slope of 1.5 a block stays by the friction of its pair, 2, where its shapes' own, 1, would let it slide: by ½ (9 − 6) 0.5² m.
static void pairs_have_their_own_friction(void** unused) {
    (void)unused;
    for (int own = 0; own < 2; own++) {
        char text[512];
        snprintf(text, sizeof text,
                 "<mujoco><option gravity='9 0 -6'/><worldbody><geom name='floor' type='plane' size='5 5 1'/>"
                 "<body name='block' pos='0 0 .05'><freejoint/><geom name='box' type='box' size='.2 .2 .05' mass='1' "
                 "contype='0' conaffinity='0'/></body></worldbody>"
                 "<contact><pair geom1='box' geom2='floor' friction='%d'/></contact></mujoco>",
                 own == 1 ? 2 : 1);
        cal_world* world = open_world(text, NULL, NULL);
        double position[3];
        cal_test_advance(world, 0.5);
        cal_world_get_body(world, cal_test_body(world, "block"), position, NULL, NULL, NULL);
        cal_test_expect_below(fabs(position[0] - (own == 1 ? 0.0 : 0.375)), 0.01, "way", own == 1 ? "2" : "1");
        cal_world_destroy(world);
    }
}

// A base of 1e-3 kg m² turns about the axis about which the arm on it turns: their servos are over in 1 µs, though the base's joint carries
// a third of 1 kg m². An explicit method would need some 300,000 steps for 1 s.
static void a_light_body_between_two_joints_is_stiff(void** unused) {
    (void)unused;
    const char* text =
        "<mujoco><option gravity='0 0 0'/><worldbody><geom type='plane' size='5 5 1' pos='0 0 -1'/><body><joint "
        "name='a' axis='0 0 1'/>"
        "<inertial mass='1' pos='0 0 0' diaginertia='1e-3 1e-3 1e-3'/><body><joint name='b' axis='0 0 1'/>"
        "<geom type='capsule' fromto='0 0 0 1 0 0' size='.05' mass='1'/></body></body></worldbody>"
        "<actuator><position joint='a' kp='5e4' kv='1000'/><position joint='b' kp='2000' kv='100'/></actuator>"
        "<keyframe><key name='bent' qpos='0.1 -0.2'/></keyframe></mujoco>";
    cal_world* world = open_world(text, "bent", NULL);
    cal_test_advance(world, 1.0);
    assert_true(cal_test_report(world).series < 1000);
    cal_world_destroy(world);
}

// A rod that hangs by both ends, 30 nm too short for that: the six rows contradict each other, and hold as well as they can.
static void constraints_may_contradict_by_rounding(void** unused) {
    (void)unused;
    cal_world* world = open_world(
        "<mujoco><worldbody><geom type='plane' size='5 5 1'/><site name='a' pos='-.5 0 1'/>"
        "<site name='b' pos='.50000003 0 1'/><body name='rod' pos='0 0 1'><freejoint/><geom type='capsule' fromto='-.5 "
        "0 0 .5 0 0' "
        "size='.02' mass='1'/><geom type='sphere' size='.1' pos='0 0 -.3' mass='1'/><site name='c' pos='-.5 0 0'/>"
        "<site name='d' pos='.5 0 0'/></body></worldbody>"
        "<equality><connect site1='c' site2='a'/><connect site1='d' site2='b'/></equality></mujoco>",
        NULL, NULL);
    double position[3];
    cal_test_advance(world, 0.2);
    cal_world_get_body(world, cal_test_body(world, "rod"), position, NULL, NULL, NULL);
    cal_test_expect_below(fabs(position[0]), 1e-7, "middle", "rod");
    cal_world_destroy(world);
}

// A chain of three balls on slides: the outer two meet, neighbours never do, whatever the file says of them otherwise.
static double gap_of_links(const char* inner, const char* contact) {
    char text[1024];
    snprintf(text, sizeof text,
             "<mujoco><option gravity='-10 0 0'/><worldbody><body name='one'><joint type='slide' axis='0 1 0'/>"
             "<geom name='x' type='sphere' size='.1' mass='1' condim='1'/>"
             "<body name='two' pos='.1 0 0'><joint type='slide' axis='1 0 0' damping='1'/>"
             "<geom name='y' type='sphere' size='.05' mass='1' %s/>"
             "<body name='three' pos='.5 0 0'><joint type='slide' axis='1 0 0' damping='1'/>"
             "<geom name='z' type='sphere' size='.1' mass='1'/></body></body></body></worldbody>%s</mujoco>",
             inner, contact);
    cal_world* world = open_world(text, NULL, NULL);
    double one[3], three[3];
    cal_test_advance(world, 1.0);
    cal_world_get_body(world, cal_test_body(world, "one"), one, NULL, NULL, NULL);
    cal_world_get_body(world, cal_test_body(world, "three"), three, NULL, NULL, NULL);
    cal_world_destroy(world);
    return three[0] - one[0];
}

static void links_touch_as_the_file_says(void** unused) {
    (void)unused;
    cal_test_expect_below(fabs(gap_of_links("", "") - 0.2), 1e-6, "distance", "of links that touch");
    assert_true(gap_of_links("", "<contact><exclude body1='one' body2='three'/></contact>") < 0.0);
    // Neighbours that a pair lists: the third slides on through the first, which stops the second one.
    const double listed = gap_of_links("pos='1 0 0'", "<contact><exclude body1='one' body2='three'/>"
                                                      "<pair geom1='x' geom2='y' friction='1'/></contact>");
    assert_true(listed < 0.0);
}

// Links that overlap at the start pass through each other, and are named.
static void links_that_overlap_are_left_out(void** unused) {
    (void)unused;
    cal_world* world =
        open_world("<mujoco><option gravity='0 0 0'/><worldbody><body name='one'><joint type='slide' axis='1 0 0'/>"
                   "<geom type='sphere' size='.1'/><body name='two' pos='.3 0 0'><joint type='slide' axis='1 0 0'/>"
                   "<geom type='sphere' size='.1'/><body name='three' pos='-.15 0 0'><joint type='slide' axis='1 0 0'/>"
                   "<geom type='sphere' size='.1'/></body></body></body></worldbody>"
                   "<keyframe><key name='go' qvel='0 0 -1'/></keyframe></mujoco>",
                   "go", NULL);
    cal_body_id pair[2];
    double depth, three[3];
    assert_false(cal_world_ignored_overlap(world, 0, pair, &depth));
    cal_test_advance(world, 1.0);
    assert_true(cal_world_ignored_overlap(world, 0, pair, &depth));
    cal_test_expect_below(fabs(depth - 0.05), 1e-12, "depth", "of one and three");
    assert_false(cal_world_ignored_overlap(world, 1, pair, &depth));
    cal_world_get_body(world, cal_test_body(world, "three"), three, NULL, NULL, NULL);
    assert_true(three[0] < -0.5);
    cal_world_destroy(world);
}

// A free root sunk into the floor by 0.3 takes its leg along; a hinge on the ground takes nobody anywhere, so that what it
// holds passes through the floor.
static void what_overlaps_is_moved_apart(void** unused) {
    (void)unused;
    const char* text = "<mujoco><option gravity='0 0 0'/><worldbody><geom name='floor' type='plane' size='5 5 1'/>"
                       "<body name='trunk' pos='0 0 0.5'><freejoint/><geom type='sphere' size='.1' mass='1'/>"
                       "<body name='leg' pos='0 0 -.5'><joint type='hinge' axis='0 1 0'/>"
                       "<geom type='sphere' size='.3' mass='1'/></body></body></worldbody></mujoco>";
    cal_world_def def = cal_default_world_def();
    def.separate = true;
    cal_world* world = open_world(text, NULL, &def);
    double trunk[3], leg[3];
    cal_test_advance(world, 0.0);
    cal_world_get_body(world, cal_test_body(world, "trunk"), trunk, NULL, NULL, NULL);
    cal_world_get_body(world, cal_test_body(world, "leg"), leg, NULL, NULL, NULL);
    expect_near(trunk, (const double[]){0.0, 0.0, 0.8}, 3, 1e-5, "the root");
    expect_near(leg, (const double[]){0.0, 0.0, 0.3}, 3, 1e-5, "the leg");
    assert_true(leg[2] >= 0.3);
    cal_world_destroy(world);
    world = open_world("<mujoco><worldbody><geom type='plane' size='5 5 1'/><body name='flap' pos='0 0 0.1'>"
                       "<joint type='hinge' axis='0 1 0'/><geom type='sphere' size='.3'/></body></worldbody></mujoco>",
                       NULL, &def);
    cal_body_id pair[2];
    double depth;
    cal_test_advance(world, 0.0);
    assert_true(cal_world_ignored_overlap(world, 0, pair, &depth));
    assert_int_equal(pair[1].index, cal_test_body(world, "flap").index);
    cal_test_expect_below(fabs(depth - 0.2), 1e-12, "depth", "of the flap");
    assert_false(cal_world_ignored_overlap(world, 1, pair, &depth));
    cal_world_destroy(world);
}

// --- What cannot be -------------------------------------------------------------------------------------------------------------

static void expect_refusal(const char* text, const char* words) {
    cal_model* model = read_text(text, NULL);
    cal_world* world = NULL;
    cal_error error = {CAL_OK, ""};
    cal_status status = cal_world_from_model(model, NULL, &world, &error);
    if (status == CAL_OK) status = cal_world_advance(world, 0.0, &error);
    assert_int_equal(status, CAL_BAD_MODEL);
    if (strstr(error.text, words) == NULL) fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    cal_world_destroy(world);
    cal_model_destroy(model);
}

#define BODY(NAME, MORE)                                                                                               \
    "<body name='" NAME "'><freejoint/><geom name='" NAME " ball' type='sphere' size='1' mass='1'/>" MORE "</body>"

static void says_what_cannot_be(void** unused) {
    (void)unused;
    expect_refusal(
        "<mujoco><worldbody>" BODY("a", "<geom name='sheet' type='plane' size='1 1 1'/>") "</worldbody></mujoco>",
        "sheet");
    expect_refusal("<mujoco><worldbody>" BODY("a", "") BODY("b", "") "</worldbody></mujoco>", "a and b by 2 m");
    expect_refusal("<mujoco><worldbody><body name='a'><freejoint/><geom name='x' size='.1'/><geom size='.2'/></body>"
                   "<body name='b' pos='1 0 0'><freejoint/><geom name='y' size='.1'/></body></worldbody><contact>"
                   "<exclude body1='a' body2='b'/><pair geom1='x' geom2='y' friction='1'/></contact></mujoco>",
                   "some may touch");
    expect_refusal("<mujoco><custom><numeric name='restitution' data='2'/></custom><worldbody>" BODY(
                       "a", "") "</worldbody></mujoco>",
                   "restitution");
    expect_refusal("<mujoco><custom><numeric name='friction' data='1 2'/></custom><worldbody>" BODY(
                       "a", "") "</worldbody></mujoco>",
                   "friction");
    expect_refusal(
        "<mujoco><worldbody>" BODY("a", "") BODY(
            "b", "") "</worldbody><contact><pair geom1='a ball' geom2='b ball' friction='0.125'/></contact></mujoco>",
        "0.125");
}

static void survives_without_memory(void** unused) {
    (void)unused;
    cal_model* model = read_text("<mujoco><worldbody><geom name='floor' type='plane' size='5 5 1' pos='0 0 -3'/>"
                                 "<body name='p'><geom type='box' size='.1 .1 .1'/><body name='q'><joint name='j'/>"
                                 "<geom type='box' size='.1 .1 .1'/></body></body>"
                                 "<body name='r' pos='3 0 0'><freejoint/><geom type='sphere' size='.1'/></body>"
                                 "</worldbody><actuator><motor joint='j'/></actuator></mujoco>",
                                 NULL);
    const int64_t before = cal_live_allocations();
    cal_status status = CAL_NO_MEMORY;
    for (int64_t after = 0; status != CAL_OK; after++) {
        assert_true(after < 10000);
        cal_world* world = NULL;
        cal_error error = {CAL_OK, ""};
        cal_fail_allocation(after);
        status = cal_world_from_model(model, NULL, &world, &error);
        cal_fail_allocation(-1);
        assert_true(status == CAL_OK || (status == CAL_NO_MEMORY && world == NULL));
        cal_world_destroy(world);
        assert_int_equal(cal_live_allocations(), before);
    }
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balls_bounce_as_the_file_or_the_caller_says),
        cmocka_unit_test(a_box_slides_or_holds),
        cmocka_unit_test(a_ball_hits_a_pendulum),
        cmocka_unit_test(free_bodies_move_as_the_model_does),
        cmocka_unit_test(multibodies_move_as_the_model_does),
        cmocka_unit_test(stiff_multibodies_move_as_the_model_does),
        cmocka_unit_test(meshes_come_along),
        cmocka_unit_test(masks_and_exclusions_hold),
        cmocka_unit_test(shapes_of_one_body_are_told_apart),
        cmocka_unit_test(pairs_have_their_own_friction),
        cmocka_unit_test(constraints_may_contradict_by_rounding),
        cmocka_unit_test(a_light_body_between_two_joints_is_stiff),
        cmocka_unit_test(links_touch_as_the_file_says),
        cmocka_unit_test(links_that_overlap_are_left_out),
        cmocka_unit_test(what_overlaps_is_moved_apart),
        cmocka_unit_test(says_what_cannot_be),
        cmocka_unit_test(survives_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
