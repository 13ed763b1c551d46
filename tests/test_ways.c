// Between two states of a contact group bodies are on curves. Whatever happens in the step, nothing overlaps on them by more than a
// millionth of its size.
#include "calder/calder_read.h"
#include "support_world.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static cal_model* read(const char* text) {
    cal_error error;
    cal_model* model = NULL;
    if (cal_model_read_memory(text, strlen(text), "way.xml", NULL, &model, NULL, &error) != CAL_OK)
        fail_msg("%s", error.text);
    return model;
}

// Looks at a file's contacts so many times within a time: none overlaps by more than a millionth of the size, nor at the end of any step. Energy never grows by
// more than the share, beside what is worked, and nothing is missing in its account.
static void look(const char* text, const char* name, double time, int looks, double size, double share) {
    static cal_contact_point points[200];
    cal_error error;
    cal_model* model = read(text);
    cal_sim_def def = cal_default_sim_def();
    cal_energy_balance balance;
    double last = (double)INFINITY, most = 0.0;
    int seen = 0;
    cal_sim* sim = cal_test_create_sim(model, &def);
    for (int i = 1; i <= looks; i++) {
        int count = 0;
        if (cal_sim_advance(sim, time * i / looks, &error) != CAL_OK) fail_msg("%s: %s", name, error.text);
        assert_int_equal(cal_sim_contacts(sim, points, 200, &count, NULL), CAL_OK);
        for (int k = 0; k < count && k < 200; k++)
            cal_test_expect_below(-points[k].gap, 1.05e-6 * size, "overlap", name);
        seen += count;
        assert_int_equal(cal_sim_balance(sim, &balance), CAL_OK);
        const double energy = balance.kinetic + balance.potential - balance.work - balance.closing;
        most = fmax(most, balance.kinetic);
        cal_test_expect_below(energy - last, share * most, "energy that comes from nowhere", name);
        last = energy;
    }
    assert_true(seen > 0);
    const cal_world_report report = cal_test_report(cal_sim_world(sim));
    cal_test_expect_below(report.penetration, 1.05e-6 * size, "overlap at the end of a step", name);
    cal_test_expect_below(fabs(balance.error), 1e-6 * balance.exchanged, "error of the account", name);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// A frame of four links that is a closed loop falls on its side; its lower link went into the floor by 4 mm, since the way after the
// impact began with the speed before it.
static void a_frame_that_lands_does_not_sink(void** unused) {
    (void)unused;
    look("<mujoco><custom><numeric name='friction' data='0.6'/></custom><worldbody><geom type='plane' size='0 0 1'/>"
         "<body name='a' pos='0 0 .8'><freejoint/><geom type='capsule' size='.02' fromto='0 0 0 .4 0 0' mass='.5'/>"
         "<body name='b'><joint type='hinge' axis='0 1 0'/>"
         "<geom type='capsule' size='.02' fromto='0 0 0 0 0 -.4' mass='.3'/></body>"
         "<body name='c' pos='.4 0 0'><joint type='hinge' axis='0 1 0'/>"
         "<geom type='capsule' size='.02' fromto='0 0 0 0 0 -.4' mass='.3'/>"
         "<body name='d' pos='0 0 -.4'><joint type='hinge' axis='0 1 0'/>"
         "<geom type='capsule' size='.02' fromto='0 0 0 -.4 0 0' mass='.3'/></body></body></body></worldbody>"
         "<equality><connect body1='b' body2='d' anchor='0 0 -.4'/></equality></mujoco>",
         "a frame that lands", 0.5, 300, 0.2, 1e-6);
}

// Two driven fingers close on nothing: they went into each other by 16 mm.
static void fingers_that_meet_stop(void** unused) {
    (void)unused;
    look("<mujoco><option gravity='0 0 0'/><worldbody><body name='l' pos='-.08 0 0'>"
         "<joint name='l' type='slide' axis='1 0 0'/><geom type='box' size='.01 .03 .1' mass='.1'/></body>"
         "<body name='r' pos='.08 0 0'><joint name='r' type='slide' axis='-1 0 0' springref='1' stiffness='20'/>"
         "<geom type='box' size='.01 .03 .1' mass='.1'/></body></worldbody></mujoco>",
         "fingers that meet", 0.2, 400, 0.1, 1e-4);
}

// A ball falls on one end of a seesaw, another one lies on the other end: 7 % of a ball's size, as it was.
static void balls_on_a_seesaw_do_not_sink(void** unused) {
    (void)unused;
    look("<mujoco><custom><numeric name='friction' data='0.5'/><numeric name='restitution' data='0.3'/></custom>"
         "<worldbody><geom type='plane' size='0 0 1'/><body name='saw' pos='0 0 .3'>"
         "<joint type='hinge' axis='0 1 0' damping='.01'/><geom type='box' size='.5 .1 .02' mass='2'/></body>"
         "<body pos='.4 0 .8'><freejoint/><geom type='sphere' size='.05' mass='1'/></body>"
         "<body pos='-.4 0 .371'><freejoint/><geom type='sphere' size='.05' mass='1'/></body></worldbody></mujoco>",
         "a seesaw", 1.0, CAL_TEST_SANITIZED ? 500 : 2000, 0.05, 1e-3);
}

// A ball of a millimetre comes down on a floor within a step that is smooth to the tolerance: 0.2 % of its size.
static void a_tiny_ball_does_not_sink(void** unused) {
    (void)unused;
    char text[2000];
    int at = snprintf(text, sizeof text,
                      "<mujoco><custom><numeric name='friction' data='0.5'/><numeric name='restitution' data='0.3'/>"
                      "</custom><worldbody><geom type='plane' size='0 0 1'/>");
    for (int i = 0; i < 6; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "<body pos='%g %g %g'><freejoint/><geom type='sphere' size='.001'/></body>",
                       1e-4 * (i * 7 % 5 - 2), 1e-4 * (i * 3 % 5 - 2), 2e-3 + 2.5e-3 * i);
    snprintf(text + at, sizeof text - (size_t)at, "</worldbody></mujoco>");
    look(text, "tiny balls", 0.2, CAL_TEST_SANITIZED ? 400 : 2000, 0.001, 1e-6);
}

// A chain of ball joints falls over a bar and slides off it: links turn about their own axes, and masses change within a step. It gained 4e-3
// of its kinetic energy between two looks, its account was off by 2 % in the end, and a link went into the bar by 1.7e-6 of its size.
static void a_chain_over_a_bar_gains_nothing(void** unused) {
    (void)unused;
    char text[4000];
    int at = snprintf(text, sizeof text,
                      "<mujoco><custom><numeric name='friction' data='0.4'/></custom><worldbody>"
                      "<geom type='plane' size='0 0 1'/><geom type='capsule' size='.03' fromto='0 -1 .5 0 1 .5'/>");
    for (int i = 0; i < 10; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "<body pos='%g 0 %g'>%s<geom type='capsule' size='.02' fromto='0 0 0 .09 0 0' mass='.1'/>",
                       i == 0 ? -0.4 : 0.1, i == 0 ? 0.7 : 0.0, i == 0 ? "<freejoint/>" : "<joint type='ball'/>");
    for (int i = 0; i < 10; i++) at += snprintf(text + at, sizeof text - (size_t)at, "</body>");
    snprintf(text + at, sizeof text - (size_t)at, "</worldbody></mujoco>");
    look(text, "a chain over a bar", 1.5, CAL_TEST_SANITIZED ? 300 : 1500, 0.065, 1e-5);
}

// A quaternion that is different for each number.
static void turn(int number, double q[4]) {
    for (int k = 0; k < 4; k++) q[k] = (number * (7 + 4 * k) + 3 * k) % 13 - 6.5;
}

// A heavy box falls on a pile of small ones, which roll over each other's edges: contacts go from one face to another within a step. Boxes
// went into each other by a thousandth of their size on the way.
static void boxes_that_roll_over_edges_do_not_overlap(void** unused) {
    (void)unused;
    static char text[20000];
    double q[4];
    int at = snprintf(
        text, sizeof text,
        "<mujoco><custom><numeric name='friction' data='0.5'/></custom><worldbody>"
        "<geom type='plane' size='0 0 1'/>"
        "<geom type='box' size='.05 .4 .6' pos='.35 0 .6'/><geom type='box' size='.05 .4 .6' pos='-.35 0 .6'/>"
        "<geom type='box' size='.4 .05 .6' pos='0 .35 .6'/><geom type='box' size='.4 .05 .6' pos='0 -.35 .6'/>");
    for (int i = 0; i < 36; i++) {
        turn(i, q);
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "<body pos='%g %g %g' quat='%g %g %g %g'><freejoint/>"
                       "<geom type='box' size='.05 .04 .03' mass='.01'/></body>",
                       0.15 * (i % 3 - 1) + 0.004 * (i * 7 % 5 - 2), 0.15 * (i / 3 % 3 - 1) + 0.004 * (i * 3 % 5 - 2),
                       0.1 + 0.14 * (i / 9), q[0], q[1], q[2], q[3]);
    }
    snprintf(text + at, sizeof text - (size_t)at,
             "<body pos='0 0 1.1'><freejoint/><geom type='box' size='.15 .15 .1' mass='100'/></body>"
             "</worldbody></mujoco>");
    look(text, "boxes under a heavy one", CAL_TEST_SANITIZED ? 0.2 : 0.8, CAL_TEST_SANITIZED ? 200 : 1600, 0.0707,
         1e-5);
}

// Two gears, of which a spring drives one: teeth of links that turn faster within a step come into each other by the fourth order of their way,
// 1.2e-5 of a gear's size half-way to where nothing overlaps.
static void teeth_of_gears_do_not_overlap(void** unused) {
    (void)unused;
    enum { TEETH = 12 };
    static char text[8000];
    int at = snprintf(text, sizeof text,
                      "<mujoco><custom><numeric name='friction' data='0.5'/><numeric name='restitution' data='0'/>"
                      "</custom><worldbody>");
    for (int gear = 0; gear < 2; gear++) {
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "<body pos='%g 0 .4'><joint type='hinge' axis='0 1 0' damping='.02'%s/>"
                       "<geom type='cylinder' size='.1 .02' mass='1' euler='90 0 0'/>",
                       0.247 * gear, gear == 0 ? " stiffness='3' springref='400'" : "");
        for (int i = 0; i < TEETH; i++) {
            const double turned = 360.0 / TEETH * (i + 0.5 * gear), angle = turned * 3.14159265358979 / 180.0;
            at += snprintf(text + at, sizeof text - (size_t)at,
                           "<geom type='box' size='.02 .018 .012' pos='%g 0 %g' euler='0 %g 0' mass='.02'/>",
                           0.118 * cos(angle), 0.118 * sin(angle), -turned);
        }
        at += snprintf(text + at, sizeof text - (size_t)at, "</body>");
    }
    snprintf(text + at, sizeof text - (size_t)at, "</worldbody></mujoco>");
    look(text, "gears", 1.0, CAL_TEST_SANITIZED ? 1000 : 2000, 0.138, 1e-2);
}

// Boxes fall on steep ground, and come to touch others of its faces on the way: 6.5e-6 of their size. Where an edge of a box crosses the bottom of a
// valley, it touches both sides: one of them was seen only where it was overlapped, so that the box gathered speed and stayed where it was, 1e-4
// of the kinetic energy from one look to the next.
static void boxes_fall_on_steep_ground(int first, double share) {
    enum { SIDE = 9 };
    static char text[8000];
    double q[4];
    int at = snprintf(
        text, sizeof text,
        "<mujoco><custom><numeric name='friction' data='0.3'/></custom><asset><hfield name='h' nrow='%d' ncol='%d' "
        "size='.6 .6 .15 .1' elevation='",
        SIDE, SIDE);
    for (int i = 0; i < SIDE * SIDE; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%g ", (i * i * 37 + i * 25) % 101 / 100.0);
    at += snprintf(text + at, sizeof text - (size_t)at, "'/></asset><worldbody><geom type='hfield' hfield='h'/>");
    for (int i = 0; i < 12; i++) {
        turn(i + first, q);
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "<body pos='%g %g %g' quat='%g %g %g %g'><freejoint/>"
                       "<geom type='box' size='.05 .04 .03' mass='.1'/></body>",
                       0.13 * (i % 3 - 1), 0.13 * (i / 3 % 3 - 1), 0.35 + 0.15 * (i / 9), q[0], q[1], q[2], q[3]);
    }
    snprintf(text + at, sizeof text - (size_t)at, "</worldbody></mujoco>");
    look(text, "boxes on steep ground", 1.0, CAL_TEST_SANITIZED ? 200 : 1600, 0.0707, share);
}

static void boxes_do_not_sink_into_steep_ground(void** unused) {
    (void)unused;
    for (int first = 25; first < 29; first++) boxes_fall_on_steep_ground(first, 1e-5);
}

// A box of 100 kg lies on 40 ellipsoids of 10 g, ten thousand times lighter: they carry it, and the floor carries all.
static void light_ellipsoids_carry_a_heavy_box(void** unused) {
    (void)unused;
    enum { COUNT = 40 };
    static char text[8000];
    static cal_contact_point points[200];
    cal_error error;
    cal_sim_def def = cal_default_sim_def();
    double up = 0.0, poses[7 * (COUNT + 1)];
    int count = 0;
    int at = snprintf(text, sizeof text,
                      "<mujoco><option gravity='0 0 -10'/><custom><numeric name='friction' data='0.5'/>"
                      "</custom><worldbody><geom type='plane' size='0 0 1'/>");
    for (int i = 0; i < COUNT; i++)
        at += snprintf(
            text + at, sizeof text - (size_t)at,
            "<body pos='%g %g .0201'><freejoint/><geom type='ellipsoid' size='.03 .025 .02' mass='.01'/></body>",
            0.075 * (i % 7 - 3), 0.075 * floor(i / 7.0) - 0.1875);
    snprintf(
        text + at, sizeof text - (size_t)at,
        "<body pos='0 0 .1402'><freejoint/><geom type='box' size='.3 .3 .1' mass='100'/></body></worldbody></mujoco>");
    cal_model* model = read(text);
    cal_sim* sim = cal_test_create_sim(model, &def);
    if (cal_sim_advance(sim, 1.0, &error) != CAL_OK) fail_msg("%s", error.text);
    assert_int_equal(cal_sim_contacts(sim, points, 200, &count, NULL), CAL_OK);
    for (int k = 0; k < count; k++) {
        cal_test_expect_below(-points[k].gap, 1.05e-6 * 0.03, "overlap", "ellipsoids under a box");
        const bool floor_first = points[k].body[0].index == 0, floor_second = points[k].body[1].index == 0;
        if (floor_first || floor_second) up += (floor_first ? -1.0 : 1.0) * points[k].force[2];
    }
    cal_test_expect_below(fabs(up - 10.0 * (100.0 + 0.01 * COUNT)), 1e-2, "force", "the floor");
    assert_int_equal(cal_sim_poses(sim, poses), CAL_OK);
    cal_test_expect_below(fabs(poses[(size_t)7 * COUNT + 2] - 0.14), 1e-6, "height", "the box");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// A cylinder that another one has hit turns from one side of its rim over its face to the other, and comes to lie: 7e-6 of the size on the way, between
// two points that are the deepest at its ends.
static void a_face_that_comes_to_lie_does_not_overlap(void** unused) {
    (void)unused;
    look("<mujoco><custom><numeric name='friction' data='0.5'/><numeric name='restitution' data='0'/></custom>"
         "<worldbody><geom type='plane' size='0 0 1'/>"
         "<body pos='0.16775 -0.17298 0.3' quat='-1.2002 -1.3369 2.4649 -0.89224'><freejoint/>"
         "<geom type='cylinder' size='0.040292 0.02097' mass='0.1'/></body>"
         "<body pos='0.16614 -0.17788 0.5' quat='-0.29245 -0.43991 -0.80579 1.6905'><freejoint/>"
         "<geom type='cylinder' size='0.0055881 0.039557' mass='0.1'/></body></worldbody></mujoco>",
         "a face that comes to lie", 0.34, 1000, 0.03995, 1e-5);
}

// A body with a link is hit between others: it overlapped after the hit, by 1.35e-6 of the size, until the next step.
static void what_is_hit_does_not_overlap(void** unused) {
    (void)unused;
    cal_error error;
    cal_model* model =
        read("<mujoco><custom><numeric name='friction' data='0'/><numeric name='restitution' data='0'/></custom>"
             "<worldbody><geom type='plane' size='0 0 1'/><geom type='box' size='0.05 0.4 .6' pos='0.35 0 .6'/>"
             "<geom type='box' size='0.05 0.4 .6' pos='-0.35 0 .6'/>"
             "<geom type='box' size='0.4 0.05 .6' pos='0 0.35 .6'/>"
             "<geom type='box' size='0.4 0.05 .6' pos='0 -0.35 .6'/>"
             "<body pos='-0.1728 -0.16513 0.3' quat='-1.117 -0.50868 0.49173 1.3601'><freejoint/>"
             "<geom type='ellipsoid' size='0.0172 0.013018 0.017578' mass='0.1'/><body pos='0 0 .0'>"
             "<joint type='hinge' axis='-1.08474 -0.795814 -0.586868' damping='.001'/>"
             "<geom type='capsule' size='0.040731 0.038916' mass='0.1'/></body></body>"
             "<body pos='-0.17601 -0.17625 0.64641' quat='-0.53066 0.41916 -0.03253 0.43776'><freejoint/>"
             "<geom type='ellipsoid' size='0.074534 0.063332 0.037472' mass='1'/></body>"
             "<body pos='-0.17533 -0.16548 0.99282' quat='-0.18666 -0.085289 0.99011 0.9618'><freejoint/>"
             "<geom type='ellipsoid' size='0.033038 0.016727 0.019582' mass='0.1'/></body></worldbody></mujoco>");
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = cal_test_create_sim(model, &def);
    // Then larger ones fall on each other, which may overlap by more.
    if (cal_sim_advance(sim, 0.4, &error) != CAL_OK) fail_msg("%s", error.text);
    const cal_world_report report = cal_test_report(cal_sim_world(sim));
    cal_test_expect_below(report.penetration, 1.05e-6 * 0.017578, "overlap at the end of a step", "a body that is hit");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// Ellipsoids that fly low over a floor: one is well above it at both ends of a way, and where it is nearest between them its cubic was off by 3.3e-6 of
// the size.
static void what_flies_low_does_not_overlap(void** unused) {
    (void)unused;
    look("<mujoco><custom><numeric name='friction' data='0'/><numeric name='restitution' data='0.3'/></custom>"
         "<worldbody><geom type='plane' size='0 0 1'/>"
         "<body pos='-0.0036935 0.0045957 0.3' quat='1.5591 1.3716 1.4518 0.018243'><freejoint/>"
         "<geom type='ellipsoid' size='0.040275 0.050043 0.020283' mass='0.1'/></body>"
         "<body pos='0.16666 0.0028539 0.3' quat='-0.14948 -0.056243 -0.42884 -0.21453'><freejoint/>"
         "<geom type='ellipsoid' size='0.045873 0.05108 0.026165' mass='0.1'/></body>"
         "<body pos='0.0038117 0.0068179 0.5' quat='-0.99536 0.44853 2.4679 -1.2847'><freejoint/>"
         "<geom type='ellipsoid' size='0.039248 0.045258 0.059695' mass='0.1'/></body></worldbody></mujoco>",
         "ellipsoids that fly low", 0.47, 1000, 0.050043, 1e-5);
}

// What is up to a thousand million times heavier lies on a body of 1 kg, which carries it: the contact problem was solved to mass ratios of a million,
// 20 % of the energy were missing at 10⁷, and from 10⁸ on there was none.
static void light_bodies_carry_what_is_a_billion_times_heavier(void** unused) {
    (void)unused;
    static const char* const kinds[] = {"type='sphere' size='.1'", "type='box' size='.1 .1 .1'"};
    for (int kind = 0; kind < 2; kind++)
        for (double ratio = 1e7; ratio < 2e9; ratio *= 10.0) {
            char text[1000], name[64];
            cal_error error;
            cal_sim_def def = cal_default_sim_def();
            cal_sim* sim = NULL;
            cal_energy_balance balance;
            double poses[14];
            snprintf(name, sizeof name, "%s %g", kind == 0 ? "balls" : "boxes", ratio);
            snprintf(text, sizeof text,
                     "<mujoco><option gravity='0 0 -10'/><custom><numeric name='friction' data='0.5'/></custom>"
                     "<worldbody><geom type='plane' size='0 0 1'/>"
                     "<body pos='0 0 .1001'><freejoint/><geom %s mass='1'/></body>"
                     "<body pos='0 0 .3002'><freejoint/><geom %s mass='%g'/></body></worldbody></mujoco>",
                     kinds[kind], kinds[kind], ratio);
            cal_model* model = read(text);
            sim = cal_test_create_sim(model, &def);
            if (cal_sim_advance(sim, 2.0, &error) != CAL_OK) fail_msg("%s: %s", name, error.text);
            assert_int_equal(cal_sim_poses(sim, poses), CAL_OK);
            cal_test_expect_below(fabs(poses[2] - 0.1), 1e-6, "height of the light one of", name);
            cal_test_expect_below(fabs(poses[9] - 0.3), 1e-6, "height of the heavy one of", name);
            assert_int_equal(cal_sim_balance(sim, &balance), CAL_OK);
            cal_test_expect_below(fabs(balance.error), 1e-3 * balance.exchanged, "error of the account", name);
            cal_sim_destroy(sim);
            cal_model_destroy(model);
        }
}

// Of seven balls on each other each is ten to a hundred times heavier than the one below it, the last one 10⁹ times than the first.
static void balls_carry_ever_heavier_ones(void** unused) {
    (void)unused;
    enum { COUNT = 7 };
    static const double masses[COUNT] = {1.0, 10.0, 1e2, 1e3, 1e5, 1e7, 1e9};
    char text[2000];
    cal_error error;
    cal_sim_def def = cal_default_sim_def();
    double poses[7 * COUNT];
    int at = snprintf(text, sizeof text, "<mujoco><worldbody><geom type='plane' size='0 0 1'/>");
    for (int i = 0; i < COUNT; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "<body pos='0 0 %g'><freejoint/><geom type='sphere' size='.1' mass='%g'/></body>",
                       0.1001 + 0.2001 * i, masses[i]);
    snprintf(text + at, sizeof text - (size_t)at, "</worldbody></mujoco>");
    cal_model* model = read(text);
    cal_sim* sim = cal_test_create_sim(model, &def);
    if (cal_sim_advance(sim, 1.0, &error) != CAL_OK) fail_msg("%s", error.text);
    assert_int_equal(cal_sim_poses(sim, poses), CAL_OK);
    for (int i = 0; i < COUNT; i++)
        cal_test_expect_below(fabs(poses[7 * i + 2] - 0.1 - 0.2 * i), 1e-6, "height", "a ball");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// What parts from a group is hit again, whichever loop looks for it: the retroactive one took pairs for a group's that had ended.
static void nothing_falls_through_the_floor_in_any_loop(void** unused) {
    (void)unused;
    static const cal_world_loop loops[] = {CAL_TIMEWARP, CAL_RETROACTIVE, CAL_CONSERVATIVE};
    for (int k = 0; k < 3; k++) {
        cal_world_def def = cal_default_world_def();
        def.loop = loops[k];
        cal_world* world = cal_test_world(&def);
        cal_test_add_floor(world);
        for (int i = 0; i < 6; i++) {
            cal_world_body_def body = cal_default_world_body_def();
            body.position[0] = 0.02 * (i * 7 % 5 - 2), body.position[1] = 0.02 * (i * 3 % 5 - 2);
            body.position[2] = 0.2 + 0.25 * i;
            body.quaternion[1] = 0.3 * i, body.quaternion[2] = 0.7 - 0.2 * i;
            cal_test_add(world, &body, CAL_ELLIPSOID, 0.1, 0.05, 0.03);
        }
        cal_test_advance(world, 1.0);
        for (int i = 1; i <= 6; i++) {
            double position[3];
            assert_int_equal(cal_world_get_body(world, cal_world_body(world, i), position, NULL, NULL, NULL), CAL_OK);
            cal_test_expect_below(0.03 - position[2], 1e-6, "depth", "an ellipsoid's centre");
        }
        assert_true(cal_test_report(world).fissions > 0);
        cal_world_destroy(world);
    }
}

// A thin disk rocks under a block that rests on it, 2000 times heavier: it is moved apart from both and is slowed down for that, after its way had been looked at,
// and went into the floor by 2.5e-6 of its size on another way.
static void a_disk_under_a_block_does_not_overlap(void** unused) {
    (void)unused;
    enum { CORNERS = 12, LOOKS = 6000 };
    static const double corners[3 * CORNERS] = {
        -0.0316, -0.0601, -0.0113, -0.0141, -0.0592, 0.0298,  0.0647, 0.0269,  -0.0187, -0.0259, 0.0617,  -0.0143,
        -0.0492, 0.0391,  -0.0316, 0.0655,  0.0272,  -0.0159, 0.0135, -0.0666, -0.0007, -0.0637, 0.0346,  0.0022,
        -0.0597, -0.0037, 0.0393,  0.0157,  0.0185,  0.0626,  0.0247, -0.0562, 0.0298,  -0.0358, -0.0486, -0.0334};
    static const double radius = 0.02265, half = 0.00036;
    static cal_contact_point points[200];
    cal_error error;
    cal_world_def def = cal_default_world_def();
    def.separate = true;
    cal_world* world = cal_test_world(&def);
    cal_test_add_floor(world);
    cal_world_body_def disk = cal_default_world_body_def(), block = cal_default_world_body_def();
    cal_shape_def shape = cal_default_shape_def();
    cal_mesh_def mesh = cal_default_mesh_def();
    cal_body_id id;
    const double place[7] = {0.1851, -0.06437, 0.000409, -0.00058, -0.44565, -0.8952, -0.001},
                 speed[6] = {8.7e-6, 7.2e-5, -0.0027, -0.0551, 0.1694, 0.0045},
                 other[7] = {0.14236, -0.07613, 0.05187, 0.22879, 0.64251, -0.03337, 0.73056};
    memcpy(disk.position, place, sizeof disk.position);
    memcpy(disk.quaternion, place + 3, sizeof disk.quaternion);
    memcpy(disk.velocity, speed, sizeof disk.velocity);
    memcpy(disk.angular_velocity, speed + 3, sizeof disk.angular_velocity);
    memcpy(block.position, other, sizeof block.position);
    memcpy(block.quaternion, other + 3, sizeof block.quaternion);
    disk.density = 1000.0, block.density = 4000.0;
    cal_test_add(world, &disk, CAL_CYLINDER, radius, half, 0.0);
    shape.kind = CAL_MESH;
    shape.friction = 0.4;
    mesh.vertices = corners;
    mesh.vertex_count = CORNERS;
    if (cal_world_add_body(world, &block, &id, &error) != CAL_OK) fail_msg("%s", error.text);
    if (cal_world_add_shape(world, id, &shape, &mesh, &error) != CAL_OK) fail_msg("%s", error.text);
    for (int i = 1; i <= LOOKS; i++) {
        int count = 0;
        cal_test_advance(world, 0.3 * i / LOOKS);
        assert_int_equal(cal_world_contacts(world, points, 200, &count, &error), CAL_OK);
        for (int k = 0; k < count; k++)
            cal_test_expect_below(-points[k].gap, 1.05e-6 * radius, "overlap", "a disk under a block");
    }
    cal_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_that_lands_does_not_sink),
        cmocka_unit_test(fingers_that_meet_stop),
        cmocka_unit_test(balls_on_a_seesaw_do_not_sink),
        cmocka_unit_test(a_tiny_ball_does_not_sink),
        cmocka_unit_test(a_chain_over_a_bar_gains_nothing),
        cmocka_unit_test(boxes_that_roll_over_edges_do_not_overlap),
        cmocka_unit_test(teeth_of_gears_do_not_overlap),
        cmocka_unit_test(boxes_do_not_sink_into_steep_ground),
        cmocka_unit_test(light_ellipsoids_carry_a_heavy_box),
        cmocka_unit_test(a_face_that_comes_to_lie_does_not_overlap),
        cmocka_unit_test(what_is_hit_does_not_overlap),
        cmocka_unit_test(what_flies_low_does_not_overlap),
        cmocka_unit_test(a_disk_under_a_block_does_not_overlap),
        cmocka_unit_test(light_bodies_carry_what_is_a_billion_times_heavier),
        cmocka_unit_test(balls_carry_ever_heavier_ones),
        cmocka_unit_test(nothing_falls_through_the_floor_in_any_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
