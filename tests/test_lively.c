// Bodies and models that come and go while a world runs: closed forms for those that come, nothing left of those that went, the
// same bits whatever is rolled back, and one line for what cannot be.
#include "base/memory.h"
#include "calder/calder_read.h"
#include "support_world.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double G = 9.81;

static cal_body_id add_ball(cal_world* world, const char* name, double x, double z, double radius) {
    cal_world_body_def def = cal_default_world_body_def();
    def.name = name;
    def.position[0] = x, def.position[2] = z;
    return cal_test_add(world, &def, CAL_SPHERE, radius, 0, 0);
}

static cal_body_id add_box(cal_world* world, const char* name, double x, double z, double half) {
    cal_world_body_def def = cal_default_world_body_def();
    def.name = name;
    def.position[0] = x, def.position[2] = z;
    return cal_test_add(world, &def, CAL_BOX, half, half, half);
}

static double height(const cal_world* world, cal_body_id body) {
    double position[3];
    assert_int_equal(cal_world_get_body(world, body, position, NULL, NULL, NULL), CAL_OK);
    return position[2];
}

static void remove_body(cal_world* world, cal_body_id body) {
    cal_error error = {CAL_OK, ""};
    if (cal_world_remove_body(world, body, &error) != CAL_OK) fail_msg("%s", error.text);
}

static void expect_line(cal_status status, const cal_error* error, const char* part) {
    assert_int_not_equal(status, CAL_OK);
    if (strstr(error->text, part) == NULL) fail_msg("\"%s\" does not say \"%s\"", error->text, part);
}

// --- Coming -----------------------------------------------------------------------------------------------------------------

// From a height h above the floor, added at 1 s: it lands at 1 + √(2 h / g).
static void lands_when_it_must(void** state) {
    (void)state;
    for (int loop = CAL_TIMEWARP; loop <= CAL_CONSERVATIVE; loop++) {
        cal_world_def def = cal_default_world_def();
        def.loop = (cal_world_loop)loop;
        cal_world* world = cal_test_world(&def);
        cal_world_event event;
        cal_test_add_floor(world);
        const cal_body_id first = add_ball(world, "first", 5.0, 0.1, 0.1);
        cal_test_advance(world, 1.0);
        while (cal_world_next_event(world, &event)) continue;
        const cal_body_id ball = add_ball(world, "ball", 0.0, 2.1, 0.1);
        assert_true(fabs(height(world, ball) - 2.1) == 0.0); // it is there, and does not move yet
        const double lands = 1.0 + sqrt(2.0 * 2.0 / G);
        cal_test_advance(world, 2.0);
        bool landed = false;
        while (cal_world_next_event(world, &event)) {
            const bool is_ball = event.body[0].index == ball.index || event.body[1].index == ball.index;
            if (!is_ball || landed) continue;
            landed = true;
            cal_test_expect_below(fabs(event.time - lands), 1e-11, "time of landing", "a ball that was added");
        }
        assert_true(landed);
        assert_true(height(world, first) > 0.099);
        cal_world_destroy(world);
    }
}

static const char* const robot_text =
    "<mujoco model='walker'><worldbody><body name='trunk' pos='0 0 0.6'><freejoint/>"
    "<geom type='box' size='0.2 0.1 0.05' mass='3'/>"
    "<body name='front' pos='0.2 0 0'><joint name='hip' axis='0 1 0' damping='0.5' stiffness='20'/>"
    "<geom type='capsule' fromto='0 0 0 0 0 -0.4' size='0.03' mass='0.5'/></body>"
    "<body name='rear' pos='-0.2 0 0'><joint name='tail' axis='0 1 0' damping='0.5' stiffness='20'/>"
    "<geom type='capsule' fromto='0 0 0 0 0 -0.4' size='0.03' mass='0.5'/></body></body></worldbody>"
    "<actuator><motor joint='hip' gear='1'/></actuator></mujoco>";

static cal_multibody_id add_robot(cal_world* world, const cal_model* model, double x) {
    cal_multibody_id robot;
    cal_error error = {CAL_OK, ""};
    const double at[3] = {x, 0.0, 0.0};
    if (cal_world_add_multibody(world, model, at, NULL, 0, &robot, &error) != CAL_OK) fail_msg("%s", error.text);
    return robot;
}

static void read_robot(const cal_world* world, cal_multibody_id robot, double numbers[17]) {
    assert_int_equal(cal_world_multibody_state(world, robot, numbers, numbers + 9), CAL_OK);
}

// A robot that falls onto its feet: the same from 0 s on as from 2 s on, beside another one that was there before.
static void a_robot_is_the_same_later(void** state) {
    (void)state;
    cal_model* model = cal_test_read(robot_text, "test");
    cal_world *early = cal_test_world(NULL), *late = cal_test_world(NULL);
    const double push = 0.4;
    double a[17], b[17];
    cal_error error = {CAL_OK, ""};
    cal_test_add_floor(early);
    cal_test_add_floor(late);
    const cal_multibody_id one = add_robot(early, model, 0.0);
    add_robot(late, model, 3.0);
    cal_test_advance(early, 0.0);
    cal_test_advance(late, 2.0);
    const cal_multibody_id other = add_robot(late, model, 0.0);
    expect_line(cal_world_drive(late, other, NULL, &push, &error), &error, "has not begun");
    cal_test_advance(late, 2.0);
    assert_int_equal(cal_world_drive(early, one, NULL, &push, &error), CAL_OK);
    assert_int_equal(cal_world_drive(late, other, NULL, &push, &error), CAL_OK);
    for (int i = 1; i <= 8; i++) {
        cal_test_advance(early, 0.125 * i);
        cal_test_advance(late, 2.0 + 0.125 * i);
        read_robot(early, one, a);
        read_robot(late, other, b);
        cal_test_expect_below(cal_test_largest_difference(a, b, 17), 1e-9, "q and v", "a robot that came later");
    }
    assert_true(cal_test_report(late).groups > 0);
    // And it goes, with its links.
    const cal_body_id trunk = cal_world_link(late, other, 0);
    assert_int_equal(cal_world_remove_multibody(late, other, &error), CAL_OK);
    assert_int_equal(cal_world_link(late, other, 0).index, -1);
    assert_int_equal(cal_world_get_body(late, trunk, NULL, NULL, NULL, NULL), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_test_report(late).moving, 3);
    cal_test_advance(late, 4.0);
    cal_world_destroy(early);
    cal_world_destroy(late);
    cal_model_destroy(model);
}

// A start of its own, before it was taken in.
static void a_robot_begins_elsewhere(void** state) {
    (void)state;
    cal_model* model = cal_test_read(robot_text, "test");
    cal_world* world = cal_test_world(NULL);
    cal_error error = {CAL_OK, ""};
    double numbers[17], q[9], v[8];
    cal_test_advance(world, 1.0);
    const cal_multibody_id robot = add_robot(world, model, 0.0);
    assert_int_equal(cal_world_multibody_state(world, robot, q, v), CAL_OK);
    q[2] = 7.0, v[0] = 2.0;
    assert_int_equal(cal_world_start_multibody(world, robot, q, v, &error), CAL_OK);
    cal_test_advance(world, 1.5);
    read_robot(world, robot, numbers);
    cal_test_expect_below(fabs(numbers[0] - 1.0), 1e-9, "way", "a robot that is thrown");
    cal_test_expect_below(fabs(numbers[2] - (7.0 - 0.5 * G * 0.25)), 1e-9, "fall", "a robot that is thrown");
    expect_line(cal_world_start_multibody(world, robot, q, v, &error), &error, "start behind it");
    cal_world_destroy(world);
    cal_model_destroy(model);
}

// --- Going ------------------------------------------------------------------------------------------------------------------

// A box at rest on a block falls by g t² / 2 when the block goes, whether the group is awake or asleep.
static void falls_when_its_support_goes(void** state) {
    (void)state;
    for (int loop = CAL_TIMEWARP; loop <= CAL_CONSERVATIVE; loop++)
        for (int k = 0; k < 2; k++) {
            cal_world_def def = cal_default_world_def();
            def.loop = (cal_world_loop)loop;
            cal_world* world = cal_test_world(&def);
            cal_world_body_def block = cal_default_world_body_def();
            block.motion = CAL_FIXED;
            const cal_body_id support = cal_test_add(world, &block, CAL_BOX, 0.5, 0.5, 0.5);
            const cal_body_id box = add_box(world, "box", 0.0, 0.61, 0.1);
            const double when = k == 0 ? 0.4 : 3.0;
            cal_test_advance(world, when);
            assert_true(cal_world_is_asleep(world, box) == (k == 1));
            const double before = height(world, box);
            remove_body(world, support);
            assert_int_equal(cal_test_report(world).groups_now, 0);
            cal_test_advance(world, when + 0.5);
            const double fallen = before - height(world, box);
            cal_test_expect_below(fabs(fallen - 0.5 * G * 0.25), 1e-6, "way", "a box without support");
            cal_world_destroy(world);
        }
}

// Three boxes on each other: the middle one goes, the upper one falls onto the lower one, which has not moved.
static void the_middle_of_a_group_goes(void** state) {
    (void)state;
    cal_world* world = cal_test_world(NULL);
    cal_error error = {CAL_OK, ""};
    cal_test_add_floor(world);
    const cal_body_id low = add_box(world, "low", 0.0, 0.1, 0.1), middle = add_box(world, "middle", 0.0, 0.3001, 0.1),
                      high = add_box(world, "high", 0.0, 0.5002, 0.1);
    cal_test_advance(world, 0.5);
    assert_int_equal(cal_test_report(world).groups_now, 1);
    remove_body(world, middle);
    assert_int_equal(cal_test_report(world).groups_now, 1); // the lower one and the floor
    assert_int_equal(cal_test_report(world).moving, 2);
    cal_test_advance(world, 0.6);
    cal_test_expect_below(fabs(height(world, high) - (0.5 - 0.5 * G * 0.01)), 1e-4, "fall", "the upper box");
    cal_test_advance(world, 3.0);
    cal_test_expect_below(fabs(height(world, low) - 0.1), 1e-6, "height", "the lower box");
    cal_test_expect_below(fabs(height(world, high) - 0.3), 1e-4, "height", "the upper box");
    cal_contact_point points[32];
    int count = 0;
    assert_int_equal(cal_world_contacts(world, points, 32, &count, &error), CAL_OK);
    for (int i = 0; i < count; i++)
        assert_true(points[i].body[0].index != middle.index && points[i].body[1].index != middle.index);
    cal_world_destroy(world);
}

// Bodies that are gone have no events, contacts, rays and energy.
static void nothing_is_left(void** state) {
    (void)state;
    cal_world* world = cal_test_world(NULL);
    cal_error error = {CAL_OK, ""};
    cal_body_id balls[5];
    cal_world_event event;
    cal_test_add_floor(world);
    for (int i = 0; i < 5; i++) balls[i] = add_ball(world, NULL, 0.21 * i, 1.0 + 0.05 * i, 0.1);
    cal_test_advance(world, 0.7);
    for (int i = 0; i < 5; i++) remove_body(world, balls[i]);
    while (cal_world_next_event(world, &event)) assert_true(event.time <= 0.7);
    const cal_world_report before = cal_test_report(world);
    assert_int_equal(before.moving, 0);
    assert_int_equal(before.bodies, 1);
    assert_int_equal(before.states, 0);
    assert_true(before.kinetic == 0.0 && before.potential == 0.0);
    cal_test_advance(world, 5.0);
    assert_false(cal_world_next_event(world, &event));
    assert_true(cal_test_report(world).events == before.events); // nothing was due
    cal_ray_result hit;
    const double from[3] = {0.0, 0.0, 5.0}, down[3] = {0.0, 0.0, -1.0};
    assert_int_equal(cal_world_cast_ray(world, from, down, 10.0, (cal_body_id){-1, 0}, &hit, &error), CAL_OK);
    assert_true(fabs(hit.distance - 5.0) < 1e-12);
    cal_world_destroy(world);
}

// --- Ids --------------------------------------------------------------------------------------------------------------------

static void on_period(cal_callback_context* view, void* user) { (void)view, (void)user; }
static void on_collision(cal_callback_context* view, const double impulse[3], void* user) {
    (void)view, (void)impulse, (void)user;
}

// Every function that takes an id, with one that is of nothing in the world.
static void expect_refused(cal_world* world, cal_body_id id, cal_multibody_id robot) {
    cal_error error = {CAL_OK, ""};
    const double none[3] = {0, 0, 0}, up[3] = {0, 0, 1};
    const cal_shape_def shape = cal_default_shape_def();
    cal_shape_def out;
    cal_mesh_def mesh;
    cal_ray_result hit;
    char text[64];
    expect_line(cal_world_add_shape(world, id, &shape, NULL, &error), &error, "no such body");
    expect_line(cal_world_remove_body(world, id, &error), &error, "no such body");
    expect_line(cal_world_push(world, id, up, none, none, &error), &error, "no such body");
    expect_line(cal_world_on_collision(world, id, on_collision, NULL, &error), &error, "no such body");
    expect_line(cal_world_on_period(world, &id, 1, 100.0, 1.0, on_period, NULL, &error), &error, "no such body");
    expect_line(cal_world_cast_ray(world, none, up, 1.0, id.index < 0 ? (cal_body_id){1000, 1} : id, &hit, &error),
                &error, "no such body");
    assert_int_equal(cal_world_ignore_pair(world, id, cal_world_body(world, 0)), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_world_get_body(world, id, NULL, NULL, NULL, NULL), CAL_BAD_ARGUMENT);
    assert_string_equal(cal_world_body_name(world, id, text, sizeof text), "nobody");
    assert_int_equal(cal_world_body_motion(world, id), CAL_FIXED);
    assert_false(cal_world_get_shape(world, id, 0, &out, &mesh));
    assert_null(cal_world_slots(world, id));
    assert_false(cal_world_is_asleep(world, id));
    expect_line(cal_world_remove_multibody(world, robot, &error), &error, "no such multibody");
    expect_line(cal_world_let_links_touch(world, robot, &error), &error, "no such multibody");
    expect_line(cal_world_start_multibody(world, robot, NULL, NULL, &error), &error, "no such multibody");
    expect_line(cal_world_drive(world, robot, NULL, NULL, &error), &error, "no such multibody");
    expect_line(cal_world_connect(world, robot, 0, CAL_CONNECT_SMOOTH, &error), &error, "no such multibody");
    expect_line(cal_world_disconnect(world, robot, 0, &error), &error, "no such multibody");
    assert_false(cal_world_connected(world, robot, 0));
    assert_int_equal(cal_world_multibody_state(world, robot, NULL, NULL), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_world_link(world, robot, 0).index, -1);
}

static void stale_and_foreign_ids_are_errors(void** state) {
    (void)state;
    cal_model* model = cal_test_read(robot_text, "test");
    cal_world *world = cal_test_world(NULL), *other = cal_test_world(NULL);
    cal_error error = {CAL_OK, ""};
    cal_test_add_floor(world);
    cal_test_add_floor(other);
    const cal_body_id ball = add_ball(world, "ball", 0.0, 1.0, 0.1), foreign = add_ball(other, "ball", 0.0, 1.0, 0.1);
    const cal_multibody_id robot = add_robot(world, model, 3.0), theirs = add_robot(other, model, 3.0);
    cal_test_advance(world, 0.3);
    expect_refused(world, foreign, theirs);
    expect_refused(world, (cal_body_id){-1, 0}, (cal_multibody_id){-1, 0});
    expect_refused(world, (cal_body_id){77, ball.generation}, (cal_multibody_id){77, robot.generation});
    remove_body(world, ball);
    assert_int_equal(cal_world_remove_multibody(world, robot, &error), CAL_OK);
    expect_refused(world, ball, robot);
    // Their places are used again, and the old ids do not mean the new bodies.
    const cal_body_id again = add_ball(world, "again", 0.0, 1.0, 0.1);
    const cal_multibody_id anew = add_robot(world, model, 3.0);
    assert_int_equal(again.index, ball.index);
    assert_int_equal(anew.index, robot.index);
    expect_refused(world, ball, robot);
    cal_test_advance(world, 0.5);
    expect_refused(world, ball, robot);
    // A link goes with its multibody only.
    expect_line(cal_world_remove_body(world, cal_world_link(world, anew, 1), &error), &error, "part of a multibody");
    cal_world_destroy(world);
    cal_world_destroy(other);
    cal_model_destroy(model);
}

// --- Adversaries --------------------------------------------------------------------------------------------------------------

typedef struct culprit {
    cal_world* world;
    cal_body_id victim;
    cal_status removed, added, advanced, pushed;
} culprit;

static void remove_within(cal_callback_context* view, void* user) {
    (void)view;
    culprit* c = user;
    cal_world_body_def def = cal_default_world_body_def();
    const double none[3] = {0, 0, 0};
    c->removed = cal_world_remove_body(c->world, c->victim, NULL);
    c->added = cal_world_add_body(c->world, &def, NULL, NULL);
    c->advanced = cal_world_advance(c->world, 10.0, NULL);
    c->pushed = cal_world_push(c->world, c->victim, none, none, none, NULL);
}

static void a_callback_may_not(void** state) {
    (void)state;
    cal_world* world = cal_test_world(NULL);
    cal_error error = {CAL_OK, ""};
    cal_test_add_floor(world);
    const cal_body_id ball = add_ball(world, "ball", 0.0, 5.0, 0.1);
    culprit c = {.world = world, .victim = ball};
    assert_int_equal(cal_world_on_period(world, &ball, 1, 0.1, 0.1, remove_within, &c, &error), CAL_OK);
    cal_test_advance(world, 0.5);
    assert_int_equal(c.removed, CAL_BAD_ARGUMENT);
    assert_int_equal(c.added, CAL_BAD_ARGUMENT);
    assert_int_equal(c.advanced, CAL_BAD_ARGUMENT);
    assert_int_equal(c.pushed, CAL_BAD_ARGUMENT);
    cal_test_expect_below(fabs(height(world, ball) - (5.0 - 0.5 * G * 0.25)), 1e-12, "fall", "a ball");
    // After the advance it may go, and the callback ends.
    const int64_t calls = cal_test_report(world).callbacks;
    remove_body(world, ball);
    cal_test_advance(world, 1.0);
    assert_true(cal_test_report(world).callbacks == calls);
    cal_world_destroy(world);
}

static void inside_another_it_is_refused(void** state) {
    (void)state;
    cal_world* world = cal_test_world(NULL);
    cal_error error = {CAL_OK, ""};
    cal_test_add_floor(world);
    const cal_body_id box = add_box(world, "box", 0.0, 0.5, 0.5);
    cal_test_advance(world, 1.0);
    const uint64_t hash = cal_test_report(world).hash;
    const cal_body_id ball = add_ball(world, "ball", 0.2, 0.5, 0.1);
    for (int i = 0; i < 2; i++) { // it stays new, and the world as it was
        expect_line(cal_world_advance(world, 2.0, &error), &error, "ball");
        expect_line(CAL_BAD_MODEL, &error, "overlaps in 1 pair of bodies");
        assert_true(cal_test_report(world).hash == hash);
        assert_true(cal_world_time(world) == 1.0);
    }
    remove_body(world, ball);
    cal_test_advance(world, 2.0);
    cal_test_expect_below(fabs(height(world, box) - 0.5), 1e-6, "height", "the box");
    // Massless is refused in the same way.
    cal_world_body_def def = cal_default_world_body_def();
    cal_body_id nothing;
    def.density = 0.0;
    assert_int_equal(cal_world_add_body(world, &def, &nothing, &error), CAL_OK);
    expect_line(cal_world_advance(world, 3.0, &error), &error, "no mass");
    remove_body(world, nothing);
    cal_test_advance(world, 3.0);
    cal_world_destroy(world);
}

// What worlds commit overlaps by up to a millionth of a size, and so may a start, with nothing said about moving: a ball on a floor, one on that, and
// one that comes later. What is deeper is refused.
static void a_slight_overlap_is_a_start(void** state) {
    (void)state;
    static const double depths[] = {1e-14, 1e-11, 1e-9, 1e-8, 0.9e-7};
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        cal_world* world = cal_test_world(NULL);
        cal_test_add_floor(world);
        const cal_body_id low = add_ball(world, "low", 0.0, 0.1 - depths[i], 0.1),
                          high = add_ball(world, "high", 0.0, 0.3 - 2.0 * depths[i], 0.1);
        cal_test_advance(world, 1.0);
        cal_test_expect_below(fabs(height(world, low) - 0.1), 1.1e-7, "height", "a ball on a floor");
        cal_test_expect_below(fabs(height(world, high) - 0.3), 4e-7, "height", "a ball on a ball");
        const cal_body_id late = add_ball(world, "late", 1.0, 0.1 - depths[i], 0.1);
        cal_test_advance(world, 2.0);
        cal_test_expect_below(fabs(height(world, late) - 0.1), 1.1e-7, "height", "a ball that comes later");
        cal_test_expect_below(fabs(height(world, low) - 0.1), 1.1e-7, "height", "a ball on a floor");
        cal_world_destroy(world);
    }
    cal_world* world = cal_test_world(NULL);
    cal_error error = {CAL_OK, ""};
    cal_test_add_floor(world);
    add_ball(world, "slight", 0.0, 0.1 - 1e-8, 0.1);
    add_ball(world, "deep", 1.0, 0.1 - 2e-7, 0.1);
    expect_line(cal_world_advance(world, 1.0, &error), &error, "1 pair of bodies overlaps at the start: ");
    assert_null(strstr(error.text, "slight"));
    cal_world_destroy(world);
}

// With `separate` what is new moves, and what was there does not; a wall through something that moves is refused.
static void or_moved_apart(void** state) {
    (void)state;
    cal_world_def def = cal_default_world_def();
    cal_error error = {CAL_OK, ""};
    def.separate = true;
    cal_world* world = cal_test_world(&def);
    cal_test_add_floor(world);
    const cal_body_id box = add_box(world, "box", 0.0, 0.5, 0.5);
    cal_test_advance(world, 1.0);
    double before[3], after[3];
    cal_world_get_body(world, box, before, NULL, NULL, NULL);
    const cal_body_id ball = add_ball(world, "ball", 0.0, 1.05, 0.1);
    cal_test_advance(world, 1.0);
    cal_world_get_body(world, box, after, NULL, NULL, NULL);
    assert_memory_equal(before, after, sizeof before);
    cal_test_expect_below(fabs(height(world, ball) - 1.1), 1e-5, "height", "a ball that was moved");
    assert_int_equal(cal_test_report(world).start_overlaps, 1);
    cal_world_body_def wall = cal_default_world_body_def();
    wall.motion = CAL_FIXED;
    wall.position[2] = 0.5;
    const cal_body_id stake = cal_test_add(world, &wall, CAL_BOX, 0.01, 0.01, 2.0);
    expect_line(cal_world_advance(world, 2.0, &error), &error, "still new");
    remove_body(world, stake);
    cal_test_advance(world, 2.0);
    cal_world_destroy(world);
}

// Before the first advance everything is as it was, and what is removed was never there.
static void before_the_first_advance(void** state) {
    (void)state;
    cal_model* model = cal_test_read(robot_text, "test");
    uint64_t hashes[2];
    for (int k = 0; k < 2; k++) {
        cal_world* world = cal_test_world(NULL);
        cal_error error = {CAL_OK, ""};
        cal_test_add_floor(world);
        if (k == 1) {
            const cal_body_id ball = add_ball(world, "gone", 0.0, 1.0, 0.5);
            const cal_multibody_id robot = add_robot(world, model, 0.0);
            remove_body(world, ball);
            assert_int_equal(cal_world_remove_multibody(world, robot, &error), CAL_OK);
        }
        add_ball(world, "ball", 0.0, 1.0, 0.1);
        add_robot(world, model, 3.0);
        cal_test_advance(world, 0.0);
        add_ball(world, "at zero", 1.0, 1.0, 0.1);
        cal_test_advance(world, 1.5);
        hashes[k] = cal_test_report(world).hash;
        cal_world_destroy(world);
    }
    assert_true(hashes[0] == hashes[1]);
    cal_model_destroy(model);
}

// --- The same bits --------------------------------------------------------------------------------------------------------------

// A pile to which boxes, balls and robots are added, and of which others go, every 0.15 s.
static uint64_t rain(const cal_model* model, const cal_world_def* def, int64_t* forced) {
    cal_world* world = cal_test_world(def);
    cal_error error = {CAL_OK, ""};
    cal_body_id bodies[10];
    cal_multibody_id robots[3];
    cal_test_add_floor(world);
    for (int i = 0; i < 10; i++) {
        cal_test_advance(world, 0.15 * i);
        const double x = 0.22 * (i % 3);
        bodies[i] =
            i % 3 == 0 ? add_ball(world, NULL, x, 1.2, 0.1) : add_box(world, NULL, x, 1.2 + 0.01 * (i % 5), 0.1);
        if (i % 4 == 1) robots[i / 4] = add_robot(world, model, 1.05 + 0.15 * i);
        if (i >= 4 && i % 2 == 0) remove_body(world, bodies[i - 3]);
        if (i == 8) assert_int_equal(cal_world_remove_multibody(world, robots[0], &error), CAL_OK);
    }
    cal_test_advance(world, 1.6);
    const cal_world_report report = cal_test_report(world);
    *forced = report.forced;
    cal_world_destroy(world);
    return report.hash;
}

static void rollbacks_change_nothing(void** state) {
    (void)state;
    cal_model* model = cal_test_read(robot_text, "test");
    cal_world_def def = cal_default_world_def();
    int64_t forced;
    def.separate = true;
    const uint64_t hash = rain(model, &def, &forced);
    assert_true(rain(model, &def, &forced) == hash);
    def.forced_rollbacks = 0.3;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        def.seed = seed;
        if (rain(model, &def, &forced) != hash) fail_msg("seed %d: another history", (int)seed);
        assert_true(forced > 50);
    }
    cal_model_destroy(model);
}

// Without gravity what is slow goes by the smallest body: one that is smaller than all others changes that, and everybody begins
// anew.
static void sizes_change_nothing(void** state) {
    (void)state;
    uint64_t hashes[3];
    for (int k = 0; k < 3; k++) {
        cal_world_def def = cal_default_world_def();
        memset(def.gravity, 0, sizeof def.gravity);
        def.forced_rollbacks = k == 0 ? 0.0 : 0.3;
        def.seed = (uint64_t)k;
        cal_world* world = cal_test_world(&def);
        cal_body_id last = {-1, 0};
        for (int i = 0; i < 6; i++) {
            cal_world_body_def body = cal_default_world_body_def();
            // no two of them meet at the same time
            body.position[0] = 0.25 * i + 0.003 * i * i, body.velocity[0] = 1.0 - 0.3 * i;
            body.position[1] = 0.01 * (i % 3), body.angular_velocity[1] = 0.2 * i;
            last = cal_test_add(world, &body, CAL_SPHERE, 0.1, 0, 0);
        }
        cal_test_advance(world, 0.5);
        cal_world_body_def tiny = cal_default_world_body_def();
        tiny.position[0] = -1.0, tiny.velocity[0] = 1.5;
        cal_test_add(world, &tiny, CAL_SPHERE, 0.03, 0, 0);
        cal_test_advance(world, 1.0);
        remove_body(world, last);
        cal_test_advance(world, 2.0);
        hashes[k] = cal_test_report(world).hash;
        cal_world_destroy(world);
    }
    assert_true(hashes[0] == hashes[1] && hashes[0] == hashes[2]);
}

static void a_thousand_come_and_go(void** state) {
    (void)state;
    cal_model* model = cal_test_read(robot_text, "test");
    cal_world* world = cal_test_world(NULL);
    cal_error error = {CAL_OK, ""};
    cal_world_event event;
    cal_test_add_floor(world);
    add_box(world, "box", 0.0, 0.1, 0.1);
    int64_t live = 0;
    int places = 0;
    for (int i = 0; i < 1000; i++) {
        const double time = 0.05 * i;
        cal_test_advance(world, time);
        const cal_body_id ball = add_ball(world, "ball", 0.0, 0.32, 0.1);
        const cal_multibody_id robot = i % 20 == 0 ? add_robot(world, model, 1.0) : (cal_multibody_id){-1, 0};
        assert_int_equal(cal_world_on_collision(world, ball, on_collision, NULL, &error), CAL_OK);
        assert_int_equal(cal_world_on_period(world, &ball, 1, time, 0.01, on_period, NULL, &error), CAL_OK);
        cal_test_advance(world, time + 0.045);
        remove_body(world, ball);
        if (robot.index >= 0) assert_int_equal(cal_world_remove_multibody(world, robot, &error), CAL_OK);
        while (cal_world_next_event(world, &event)) continue;
        if (i == 100) live = cal_live_allocations(), places = cal_world_body_count(world);
    }
    assert_int_equal(cal_world_body_count(world), places);
    assert_true(cal_live_allocations() <= live + 4); // a queue or two may be in use that was not then
    assert_true(cal_test_report(world).states < 100);
    assert_true(fabs(height(world, cal_test_body(world, "box")) - 0.1) < 1e-5);
    cal_world_destroy(world);
    cal_model_destroy(model);
}

// --- Simulations of a model -----------------------------------------------------------------------------------------------------

static const char* const table_text = "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/>"
                                      "<body name='cart' pos='0 0 1'><joint type='slide' axis='1 0 0' damping='1'/>"
                                      "<geom type='box' size='0.2 0.2 0.1' mass='2'/></body>"
                                      "<body name='crate' pos='3 0 0.2'><freejoint/>"
                                      "<geom type='box' size='0.2 0.2 0.2' mass='1'/></body></worldbody></mujoco>";

static cal_sim* open_sim(const cal_model* model, double rollbacks) {
    cal_sim_def def = cal_default_sim_def();
    cal_world_def events = cal_default_world_def();
    events.separate = true;
    events.forced_rollbacks = rollbacks;
    def.events = &events;
    return cal_test_create_sim(model, &def);
}

static void advance_sim(cal_sim* sim, double time) {
    cal_error error = {CAL_OK, ""};
    if (cal_sim_advance(sim, time, &error) != CAL_OK) fail_msg("%s", error.text);
}

// A ball that is thrown at the cart from outside of the model.
static cal_body_id throw_ball(cal_sim* sim) {
    cal_world* world = cal_sim_world(sim);
    cal_world_body_def def = cal_default_world_body_def();
    def.name = "missile";
    def.position[0] = -1.0, def.position[2] = 1.2, def.velocity[0] = 4.0, def.velocity[2] = 0.3;
    return cal_test_add(world, &def, CAL_SPHERE, 0.05, 0, 0);
}

static void a_model_keeps_its_numbers(void** state) {
    (void)state;
    cal_model* model = cal_test_read(table_text, "test");
    cal_sim *sim = open_sim(model, 0.0), *alone = open_sim(model, 0.0);
    cal_error error = {CAL_OK, ""};
    advance_sim(sim, 2.0); // the crate sleeps: nothing begins anew
    advance_sim(alone, 2.0);
    const uint64_t hash = cal_sim_hash(sim);
    const cal_body_id ball = throw_ball(sim);
    advance_sim(sim, 2.0);
    assert_true(cal_sim_hash(sim) == hash); // q and v are the model's
    assert_int_equal(cal_sim_body_of(sim, ball), CAL_GROUND);
    advance_sim(sim, 3.0);
    advance_sim(alone, 3.0);
    assert_true(cal_sim_q(sim)[0] > cal_sim_q(alone)[0] + 0.01);                       // the cart was hit
    assert_memory_equal(cal_sim_q(sim) + 1, cal_sim_q(alone) + 1, 7 * sizeof(double)); // the crate was not
    // What belongs to the model stays, and a state of the model would begin another world.
    cal_world* world = cal_sim_world(sim);
    for (int i = 0; i < cal_world_body_count(world); i++)
        if (i != ball.index) {
            const cal_status status = cal_world_remove_body(world, cal_world_body(world, i), &error);
            expect_line(status, &error, "belongs to the model");
        }
    expect_line(cal_sim_set(sim, 0.0, NULL, NULL, &error), &error, "were added");
    remove_body(world, ball);
    assert_int_equal(cal_sim_set(sim, 0.0, NULL, NULL, &error), CAL_OK);
    cal_sim_destroy(sim);
    cal_sim_destroy(alone);
    cal_model_destroy(model);
}

// Snapshots from before, between and after; forks; files.
static void snapshots_know_who_came(void** state) {
    (void)state;
    cal_model *model = cal_test_read(table_text, "test"), *robot = cal_test_read(robot_text, "test");
    for (int k = 0; k < 2; k++) {
        cal_sim *sim = open_sim(model, k == 0 ? 0.0 : 0.3), *fork = NULL;
        cal_snapshot *before = NULL, *with = NULL, *after = NULL;
        cal_error error = {CAL_OK, ""};
        advance_sim(sim, 0.25);
        assert_int_equal(cal_sim_snapshot(sim, &before, &error), CAL_OK);
        cal_body_id ball = throw_ball(sim);
        cal_multibody_id walker = add_robot(cal_sim_world(sim), robot, 1.5);
        advance_sim(sim, 0.6);
        assert_int_equal(cal_sim_snapshot(sim, &with, &error), CAL_OK);
        // A fork has them too, by the same ids.
        if (cal_sim_fork(sim, &fork, &error) != CAL_OK) fail_msg("%s", error.text);
        advance_sim(sim, 1.4);
        advance_sim(fork, 1.4);
        const cal_world_report ours = cal_test_report(cal_sim_world(sim));
        assert_true(ours.hash == cal_test_report(cal_sim_world(fork)).hash);
        assert_true(height(cal_sim_world(fork), ball) == height(cal_sim_world(sim), ball));
        assert_int_equal(cal_world_remove_multibody(cal_sim_world(fork), walker, &error), CAL_OK);
        advance_sim(fork, 2.0);
        cal_sim_destroy(fork);
        // Back to where they were under way.
        if (cal_sim_restore(sim, with, &error) != CAL_OK) fail_msg("%s", error.text);
        advance_sim(sim, 1.4);
        assert_true(cal_test_report(cal_sim_world(sim)).hash == ours.hash);
        // A file, into a simulation that got the same.
        char path[64];
        snprintf(path, sizeof path, "lively-%d.cal", (int)getpid());
        assert_int_equal(cal_sim_save(sim, path, &error), CAL_OK);
        cal_sim* read = open_sim(model, k == 0 ? 0.0 : 0.3);
        expect_line(cal_sim_load(read, path, &error), &error, "not in this world");
        throw_ball(read);
        add_robot(cal_sim_world(read), robot, 1.5);
        advance_sim(read, 0.0);
        if (cal_sim_load(read, path, &error) != CAL_OK) fail_msg("%s", error.text);
        remove(path);
        advance_sim(read, 2.0);
        advance_sim(sim, 2.0);
        assert_true(cal_test_report(cal_sim_world(sim)).hash == cal_test_report(cal_sim_world(read)).hash);
        cal_sim_destroy(read);
        // Without the robot, and with the ball.
        assert_int_equal(cal_world_remove_multibody(cal_sim_world(sim), walker, &error), CAL_OK);
        assert_int_equal(cal_sim_snapshot(sim, &after, &error), CAL_OK);
        advance_sim(sim, 2.5);
        const uint64_t later = cal_test_report(cal_sim_world(sim)).hash;
        expect_line(cal_sim_restore(sim, with, &error), &error, "not in this world"); // the robot is gone for good
        assert_true(cal_test_report(cal_sim_world(sim)).hash == later);
        assert_int_equal(cal_sim_restore(sim, after, &error), CAL_OK);
        advance_sim(sim, 2.5);
        assert_true(cal_test_report(cal_sim_world(sim)).hash == later);
        // To before they came: they are gone, and what comes again is what came then.
        assert_int_equal(cal_sim_restore(sim, before, &error), CAL_OK);
        assert_int_equal(cal_world_get_body(cal_sim_world(sim), ball, NULL, NULL, NULL, NULL), CAL_BAD_ARGUMENT);
        const cal_body_id again = throw_ball(sim);
        add_robot(cal_sim_world(sim), robot, 1.5);
        assert_int_equal(again.index, ball.index);
        advance_sim(sim, 1.4);
        assert_true(cal_test_report(cal_sim_world(sim)).hash == ours.hash);
        cal_snapshot_destroy(before);
        cal_snapshot_destroy(with);
        cal_snapshot_destroy(after);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
    cal_model_destroy(robot);
}

// Whatever fails for want of memory, nothing is lost and nothing is written twice.
static cal_status come_and_go(const cal_model* model, cal_error* error) {
    cal_world* world = NULL;
    cal_body_id box = {-1, 0}, ball = {-1, 0};
    cal_multibody_id robot = {-1, 0};
    cal_world_body_def def = cal_default_world_body_def();
    cal_shape_def shape = cal_default_shape_def();
    cal_status status = cal_world_create(NULL, &world, error);
    if (status != CAL_OK) return status;
    shape.kind = CAL_BOX;
    for (int i = 0; i < 3; i++) shape.size[i] = 0.2;
    def.motion = CAL_FIXED;
    status = cal_world_add_body(world, &def, &box, error);
    if (status == CAL_OK) status = cal_world_add_shape(world, box, &shape, NULL, error);
    if (status == CAL_OK) status = cal_world_advance(world, 0.1, error);
    def.motion = CAL_MOVING;
    def.position[2] = 0.4;
    if (status == CAL_OK) status = cal_world_add_body(world, &def, &ball, error);
    if (status == CAL_OK) status = cal_world_add_shape(world, ball, &shape, NULL, error);
    if (status == CAL_OK) status = cal_world_add_multibody(world, model, NULL, NULL, 0, &robot, error);
    const double aside[17] = {4.0, 0.0, 0.6, 1.0};
    if (status == CAL_OK) status = cal_world_start_multibody(world, robot, aside, NULL, error);
    if (status == CAL_OK) status = cal_world_advance(world, 0.3, error);
    if (status == CAL_OK) status = cal_world_remove_body(world, box, error);
    if (status == CAL_OK) status = cal_world_remove_multibody(world, robot, error);
    if (status == CAL_OK) status = cal_world_advance(world, 0.4, error);
    cal_fail_allocation(-1);
    cal_world_destroy(world);
    return status;
}

static void without_memory(void** state) {
    (void)state;
    cal_model* model = cal_test_read(robot_text, "test");
    const int64_t live = cal_live_allocations();
    cal_status status = CAL_NO_MEMORY;
    for (int64_t after = 0; status != CAL_OK; after++) {
        cal_error error = {CAL_OK, ""};
        cal_fail_allocation(after);
        status = come_and_go(model, &error);
        cal_fail_allocation(-1);
        if (status != CAL_OK && status != CAL_NO_MEMORY) fail_msg("%s", error.text);
        if (cal_live_allocations() != live) fail_msg("%d allocations: memory is lost", (int)after);
    }
    cal_model_destroy(model);
}

static void rests_behind(double time, double position[3], double quaternion[4], double velocity[3],
                         double angular_velocity[3], void* user) {
    (void)time, (void)user;
    memset(position, 0, 3 * sizeof *position);
    memset(quaternion, 0, 4 * sizeof *quaternion);
    memset(velocity, 0, 3 * sizeof *velocity);
    memset(angular_velocity, 0, 3 * sizeof *angular_velocity);
    position[0] = 0.01, quaternion[0] = 1.0;
}

// A box flies by; then a fixed one, or a driven one that rests, comes to where it has been. It flies on: the other one was not there.
static void what_comes_later_was_not_there(void** state) {
    (void)state;
    for (int driven = 0; driven < 2; driven++) {
        cal_world_def def = cal_default_world_def();
        memset(def.gravity, 0, sizeof def.gravity);
        cal_world* world = cal_test_world(&def);
        cal_world_body_def flier = cal_default_world_body_def();
        flier.velocity[0] = 1.0;
        const cal_body_id flying = cal_test_add(world, &flier, CAL_BOX, 0.05, 0.05, 0.05);
        cal_test_advance(world, 0.1);
        cal_world_body_def later = cal_default_world_body_def();
        later.motion = driven ? CAL_DRIVEN : CAL_FIXED;
        later.position[0] = 0.01;
        later.path = rests_behind;
        (void)cal_test_add(world, &later, CAL_BOX, 0.03, 0.03, 0.03);
        cal_test_advance(world, 0.1);
        cal_test_advance(world, 1.0);
        double x[3];
        cal_world_event event;
        assert_int_equal(cal_world_get_body(world, flying, x, NULL, NULL, NULL), CAL_OK);
        assert_true(fabs(x[0] - 1.0) < 1e-12);
        assert_false(cal_world_next_event(world, &event));
        cal_world_destroy(world);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lands_when_it_must),
                                       cmocka_unit_test(what_comes_later_was_not_there),
                                       cmocka_unit_test(a_robot_is_the_same_later),
                                       cmocka_unit_test(a_robot_begins_elsewhere),
                                       cmocka_unit_test(falls_when_its_support_goes),
                                       cmocka_unit_test(the_middle_of_a_group_goes),
                                       cmocka_unit_test(nothing_is_left),
                                       cmocka_unit_test(stale_and_foreign_ids_are_errors),
                                       cmocka_unit_test(a_callback_may_not),
                                       cmocka_unit_test(inside_another_it_is_refused),
                                       cmocka_unit_test(a_slight_overlap_is_a_start),
                                       cmocka_unit_test(or_moved_apart),
                                       cmocka_unit_test(before_the_first_advance),
                                       cmocka_unit_test(rollbacks_change_nothing),
                                       cmocka_unit_test(sizes_change_nothing),
                                       cmocka_unit_test(a_thousand_come_and_go),
                                       cmocka_unit_test(a_model_keeps_its_numbers),
                                       cmocka_unit_test(snapshots_know_who_came),
                                       cmocka_unit_test(without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
