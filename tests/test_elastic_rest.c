// What rests on something elastic rests, on one point or on many, and what bounces elastically keeps its energy, also beside what rests, in every loop
// and whatever is rolled back.
#include "calder/calder_read.h"
#include "support_world.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FLOOR "<geom type='plane' size='0 0 1'/>"
#define BODY(x, y, z) "<body pos='" #x " " #y " " #z "'><freejoint/>"
#define BALL(x, y, z, r, m) BODY(x, y, z) "<geom type='sphere' size='" #r "' mass='" #m "'/></body>"
#define BOX(x, y, z, a, b, c, m) BODY(x, y, z) "<geom type='box' size='" #a " " #b " " #c "' mass='" #m "'/></body>"
#define LEG(x, y) "<geom type='box' size='.02 .02 .25' pos='" #x " " #y " -.25' mass='.5'/>"
#define FOOT(x, y)                                                                                                     \
    "<body pos='" #x " " #y " 0'><joint type='hinge' axis='0 1 0' stiffness='10' springref='10'/>"                     \
    "<geom type='capsule' fromto='0 0 0 0 0 -.4' size='.02' mass='.2'/></body>"
#define LINK(children)                                                                                                 \
    "<body pos='.25 0 0'><joint type='hinge' axis='0 1 0' pos='-.025 0 0'/>"                                           \
    "<geom type='capsule' fromto='0 0 0 .2 0 0' size='.02' mass='.3'/>" children "</body>"

static cal_model* read(const char* bodies) {
    char text[4096];
    cal_error error = {CAL_OK, ""};
    cal_model* model = NULL;
    const int length = snprintf(text, sizeof text, "<mujoco><worldbody>%s</worldbody></mujoco>", bodies);
    assert_true(length > 0 && (size_t)length < sizeof text);
    if (cal_model_read_memory(text, (size_t)length, "elastic.xml", NULL, &model, NULL, &error) != CAL_OK)
        fail_msg("%s", error.text);
    return model;
}

static cal_world* open_world(const cal_model* model, int loop, double friction, double rollbacks) {
    cal_world_def def = cal_default_world_def();
    def.loop = (cal_world_loop)loop;
    def.restitution = 1.0, def.friction = friction;
    def.forced_rollbacks = rollbacks;
    return cal_test_world_of(model, &def);
}

static double energy_of(cal_world* world) {
    const cal_world_report report = cal_test_report(world);
    return report.kinetic + report.potential;
}

typedef struct scene {
    const char *name, *bodies;
    double time, off; // off: by how much the energy may change, of what falls and bounces
} scene;

static void what_rests_on_an_elastic_floor_stays(void** state) {
    (void)state;
    static const scene scenes[] = {
        {"a ball", FLOOR BALL(0, 0, .1, .1, 1), 1.0, 0.0},
        {"a box", FLOOR BOX(0, 0, .1, .1, .1, .1, 1), 1.0, 0.0},
        {"balls on each other", FLOOR BALL(0, 0, .1, .1, 1) BALL(0, 0, .3, .1, 2) BALL(0, 0, .5, .1, .1), 1.0, 0.0},
        {"a table",
         FLOOR BODY(0, 0, .5) "<geom type='box' size='.5 .3 .02' mass='5'/>" LEG(.45, .25) LEG(.45, -.25) LEG(-.45, .25)
             LEG(-.45, -.25) "</body>",
         1.0, 0.0},
        {"a bridge", FLOOR BOX(-.5, 0, .1, .1, .1, .1, 1) BOX(.5, 0, .1, .1, .1, .1, 1) BOX(0, 0, .22, .7, .1, .02, 1),
         1.0, 0.0},
        {"a stack of six",
         FLOOR BOX(0, 0, .1, .1, .1, .1, 1) BOX(0, 0, .3, .1, .1, .1, 1) BOX(0, 0, .5, .1, .1, .1, 1)
             BOX(0, 0, .7, .1, .1, .1, 1) BOX(0, 0, .9, .1, .1, .1, 1) BOX(0, 0, 1.1, .1, .1, .1, 1),
         0.5, 0.0},
        {"a chain that lies",
         FLOOR BODY(0, 0, .02) "<geom type='capsule' fromto='0 0 0 .2 0 0' size='.02' mass='.3'/>" LINK(
             LINK(LINK(""))) "</body>",
         0.5, 0.0},
    };
    for (size_t k = 0; k < sizeof scenes / sizeof scenes[0]; k++) {
        cal_model* model = read(scenes[k].bodies);
        for (int loop = CAL_TIMEWARP; loop <= CAL_CONSERVATIVE; loop++) {
            cal_world* world = open_world(model, loop, 0.5, 0.0);
            double before[3], after[3];
            cal_test_advance(world, 0.0);
            const int last = cal_world_body_count(world) - 1;
            cal_world_get_body(world, cal_world_body(world, last), before, NULL, NULL, NULL);
            cal_test_advance(world, scenes[k].time);
            cal_world_get_body(world, cal_world_body(world, last), after, NULL, NULL, NULL);
            cal_test_expect_below(cal_test_largest_difference(before, after, 3), 1e-6, "a way", scenes[k].name);
            cal_world_destroy(world);
        }
        cal_model_destroy(model);
    }
}

static const scene lively[] = {
    {"a ball that bounces a little", FLOOR BALL(0, 0, .10001, .1, 1), 0.2, 1e-12},
    {"a ball on a box that rests", FLOOR BOX(0, 0, .1, .1, .1, .1, 10) BALL(.02, .01, .5, .05, .5), 2.0, 1e-7},
    {"a ball on a pile of balls",
     FLOOR BALL(0, 0, .1, .1, 1) BALL(0, 0, .3, .1, 1) BALL(0, 0, .5, .1, 1) BALL(0, 0, 1, .1, 1), 1.0, 1e-7},
    {"a heavy ball on three boxes",
     FLOOR BOX(0, 0, .1, .1, .1, .1, 1) BOX(0, 0, .3, .1, .1, .1, 1) BOX(0, 0, .5, .1, .1, .1, 1)
         BALL(.01, .02, 1, .08, 5),
     1.0, 2e-4},
    {"a ball on a rod that lies",
     FLOOR BODY(0, 0, .02) "<geom type='capsule' fromto='-.3 0 0 .3 0 0' size='.02' mass='1'/></body>" BALL(.2, 0, .3,
                                                                                                            .05, .3),
     1.0, 1e-7},
    {"legs with springs that give way",
     FLOOR "<body pos='0 0 .42' euler='0 0 20'><freejoint/><geom type='box' size='.2 .1 .05' mass='3'/>" FOOT(.15, .08)
         FOOT(.15, -.08) FOOT(-.15, .08) FOOT(-.15, -.08) "</body>",
     2.0, 2e-5},
};

static void what_bounces_beside_it_keeps_its_energy(void** state) {
    (void)state;
    for (size_t k = 0; k < sizeof lively / sizeof lively[0]; k++) {
        cal_model* model = read(lively[k].bodies);
        for (int loop = CAL_TIMEWARP; loop <= CAL_CONSERVATIVE; loop++) {
            cal_world* world = open_world(model, loop, 0.0, 0.0);
            cal_test_advance(world, 0.0);
            const double before = energy_of(world), off = lively[k].off * before;
            cal_test_advance(world, lively[k].time);
            cal_test_expect_below(fabs(energy_of(world) - before), off, "energy", lively[k].name);
            cal_test_expect_below(cal_test_report(world).penetration, 1e-6, "an overlap", lively[k].name);
            cal_world_destroy(world);
        }
        cal_model_destroy(model);
    }
}

// A passive robot without dampers falls over: dozens of impacts of links, some while others touch the floor.
static void an_elastic_fall_keeps_its_energy(void** state) {
    (void)state;
    cal_model *dressed = cal_test_model("stickman:floor=1"), *model = NULL;
    cal_sim_def def = cal_default_sim_def();
    cal_world_def events = cal_default_world_def();
    cal_sim* sim = NULL;
    cal_error error = {CAL_OK, ""};
    events.restitution = 1.0, events.friction = 0.0;
    def.events = &events;
    if (cal_model_variant(dressed, CAL_PART_DAMPER, CAL_NONE, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    if (cal_sim_create(model, &def, &sim, &error) != CAL_OK) fail_msg("%s", error.text);
    const double before = energy_of(cal_sim_world(sim));
    if (cal_sim_advance(sim, 1.0, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_test_expect_below(fabs(energy_of(cal_sim_world(sim)) / before - 1.0), 1e-6, "energy", "a stickman");
    assert_true(cal_test_report(cal_sim_world(sim)).collisions > 20);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    cal_model_destroy(dressed);
}

// A row of balls on a floor, the first of which slides at the others: what it brings comes out at the end.
static void a_cradle_that_lies_hands_on(void** state) {
    (void)state;
    enum { BALLS = 5 };
    cal_world_def def = cal_default_world_def();
    def.restitution = 1.0, def.friction = 0.0;
    cal_world* world = cal_test_world(&def);
    cal_test_add_floor(world);
    cal_body_id balls[BALLS];
    for (int i = 0; i < BALLS; i++) {
        cal_world_body_def ball = cal_default_world_body_def();
        ball.position[0] = 0.2 * i - (i == 0 ? 0.5 : 0.0), ball.position[2] = 0.1;
        ball.velocity[0] = i == 0 ? 1.0 : 0.0;
        balls[i] = cal_test_add(world, &ball, CAL_SPHERE, 0.1, 0.0, 0.0);
    }
    cal_test_advance(world, 1.5);
    for (int i = 0; i < BALLS; i++) {
        double u[3];
        cal_world_get_body(world, balls[i], NULL, NULL, u, NULL);
        cal_test_expect_below(fabs(u[0] - (i == BALLS - 1 ? 1.0 : 0.0)), 1e-9, "speed", "a ball");
    }
    cal_world_destroy(world);
}

// Of three boxes on each other only two are elastic towards each other: all stay.
static void some_of_a_stack_are_elastic(void** state) {
    (void)state;
    cal_world* world = cal_test_world(NULL);
    cal_error error = {CAL_OK, ""};
    cal_test_add_floor(world);
    cal_body_id top = {-1, 0};
    for (int i = 0; i < 3; i++) {
        cal_world_body_def def = cal_default_world_body_def();
        cal_shape_def box = cal_default_shape_def();
        def.position[2] = 0.1 + 0.2 * i;
        box.kind = CAL_BOX, box.size[0] = box.size[1] = box.size[2] = 0.1;
        box.restitution = i == 1 ? 1.0 : 0.3;
        assert_int_equal(cal_world_add_body(world, &def, &top, &error), CAL_OK);
        assert_int_equal(cal_world_add_shape(world, top, &box, NULL, &error), CAL_OK);
    }
    double position[3];
    cal_test_advance(world, 1.0);
    cal_world_get_body(world, top, position, NULL, NULL, NULL);
    cal_test_expect_below(fabs(position[2] - 0.5), 1e-6, "height", "the upper box");
    cal_world_destroy(world);
}

// A wall: who rests on others joins them at once, and only what is at the foot has collided.
static void a_wall_is_one_group_at_once(void** state) {
    (void)state;
    enum { FOOT = 6, ROWS = 6 };
    uint64_t hash = 0;
    for (int run = 0; run < 2; run++) {
        cal_world_def def = cal_default_world_def();
        def.restitution = 1.0, def.friction = 0.5, def.forced_rollbacks = 0.3 * run;
        cal_world* world = cal_test_world(&def);
        cal_test_add_floor(world);
        cal_test_add_wall(world, FOOT, ROWS);
        cal_test_advance(world, 0.2);
        const cal_world_report report = cal_test_report(world);
        int collisions = 0;
        for (cal_world_event event; cal_world_next_event(world, &event);) collisions++;
        if (run == 0) hash = report.hash;
        assert_true(report.hash == hash);
        assert_int_equal(collisions, FOOT);
        assert_true(report.kinetic < 1e-9);
        cal_world_destroy(world);
    }
}

static void no_rollback_changes_it(void** state) {
    (void)state;
    for (size_t k = 1; k < sizeof lively / sizeof lively[0]; k++) {
        cal_model* model = read(lively[k].bodies);
        uint64_t hash = 0;
        for (int run = 0; run < 2; run++) {
            cal_world* world = open_world(model, CAL_TIMEWARP, 0.5, 0.2 * run);
            cal_test_advance(world, 0.4);
            if (run == 0) hash = cal_test_report(world).hash;
            assert_true(cal_test_report(world).hash == hash);
            cal_world_destroy(world);
        }
        cal_model_destroy(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_rests_on_an_elastic_floor_stays),
        cmocka_unit_test(some_of_a_stack_are_elastic),
        cmocka_unit_test(what_bounces_beside_it_keeps_its_energy),
        cmocka_unit_test(an_elastic_fall_keeps_its_energy),
        cmocka_unit_test(a_cradle_that_lies_hands_on),
        cmocka_unit_test(a_wall_is_one_group_at_once),
        cmocka_unit_test(no_rollback_changes_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
