// Joints whose motion is prescribed, and bodies that are driven, where others touch them: closed forms, one hash, and the energy that they give.
#include "math/vector.h"
#include "support_world.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double none[3] = {0.0, 0.0, 0.0}, up[3] = {0.0, 0.0, 1.0}, forth[3] = {1.0, 0.0, 0.0};

// A body with a joint; its number, and the joint's. v: the joint's, as many as it has.
static int add_body(cal_builder* builder, const char* name, int parent, const double at[3], double mass,
                    cal_joint_kind kind, const double axis[3], const double* v, int* joint) {
    cal_body_def body = cal_default_body_def();
    body.name = name, body.parent = parent, body.mass = mass;
    memcpy(body.position, at, sizeof body.position);
    for (int i = 0; i < 3; i++) body.inertia[i] = 0.004 * mass; // of a ball of 0.1 m
    const int number = cal_builder_add_body(builder, &body);
    cal_joint_def def = cal_default_joint_def();
    def.kind = kind;
    if (axis != NULL) memcpy(def.axis, axis, sizeof def.axis);
    if (v != NULL) memcpy(def.initial_v, v, (kind == CAL_FREE ? 6 : 1) * sizeof *v);
    const int added = cal_builder_add_joint(builder, number, &def);
    if (joint != NULL) *joint = added;
    return number;
}

static void add_shape(cal_builder* builder, int body, cal_shape_kind kind, const double at[3], double x, double y,
                      double z, double restitution) {
    cal_shape_def shape = cal_default_shape_def();
    shape.body = body, shape.kind = kind;
    shape.size[0] = x, shape.size[1] = y, shape.size[2] = z;
    shape.friction = 0.5, shape.restitution = restitution;
    memcpy(shape.position, at, sizeof shape.position);
    cal_builder_add_shape(builder, &shape);
}

static void add_motion(cal_builder* builder, int joint, const cal_wave* wave) {
    cal_constraint_def motion = cal_default_constraint_def();
    motion.name = "motion", motion.kind = CAL_COUPLING, motion.joint[0] = joint;
    motion.motion = cal_wave_motion, motion.user = (void*)wave;
    cal_builder_add_constraint(builder, &motion);
}

static void place_of(const cal_world* world, const char* name, double at[3], double v[3]) {
    cal_world_get_body(world, cal_test_body(world, name), at, NULL, v, NULL);
}

static void expect_kept(const cal_world* world, const char* where) {
    double error, speed;
    assert_int_equal(cal_world_constraint_error(world, &error, &speed), CAL_OK);
    cal_test_expect_below(error, 1e-9, "error of the motion", where);
    cal_test_expect_below(speed, 1e-9, "error of its speed", where);
}

// --- A ball on a turntable ----------------------------------------------------------------------------------------------------

// A ball that rolls without slipping on a table which turns at Ω goes on a circle, at 2/7 Ω whatever its radius and speed are (a solid ball).
static const cal_wave turntable = {.rate = 3.0};
enum {
    SPIN = 12
}; // rad/s: the ball's lowest point is as fast as the table at 0.5 m, 1.5 m/s, where its centre has 0.3

static void expect_circle(cal_world* world, double bound, const char* where) {
    const double turn = 2.0 / 7.0 * turntable.rate, radius = 0.3 / turn;
    double most = 0.0;
    for (int i = 1; i <= (CAL_TEST_SANITIZED ? 10 : 50); i++) {
        double at[3];
        cal_test_advance(world, 0.1 * i);
        place_of(world, "ball", at, NULL);
        const double x = 0.5 - radius * (1.0 - cos(turn * 0.1 * i)), y = radius * sin(turn * 0.1 * i);
        most = fmax(most, hypot(at[0] - x, at[1] - y));
    }
    cal_test_expect_below(most, bound, "way from the circle", where);
}

static void ball_circles_on_a_turntable(void** state) {
    (void)state;
    static const double at[3] = {0.5, 0.0, 0.15}, v[6] = {0.0, 0.3, 0.0, SPIN, 0.0, 0.0};
    for (int tight = 0; tight < 2; tight++) {
        int joint;
        cal_builder* builder = cal_test_builder(9.81);
        const double rate = turntable.rate;
        const int table = add_body(builder, "table", CAL_GROUND, none, 50.0, CAL_REVOLUTE, up, &rate, &joint);
        add_shape(builder, table, CAL_CYLINDER, none, 2.0, 0.05, 0.0, 0.0);
        const int ball = add_body(builder, "ball", CAL_GROUND, at, 1.0, CAL_FREE, NULL, v, NULL);
        add_shape(builder, ball, CAL_SPHERE, none, 0.1, 0.0, 0.0, 0.0);
        add_motion(builder, joint, &turntable);
        cal_model* model = cal_test_finish(builder);
        cal_world_def def = cal_default_world_def();
        if (tight) def.group_tolerance = 1e-8;
        cal_world* world = cal_test_world_of(model, &def);
        expect_circle(world, tight ? 1e-9 : 1e-8, "a joint that is moved");
        expect_kept(world, "turntable");
        cal_energy_balance balance;
        assert_int_equal(cal_world_balance(world, &balance), CAL_OK);
        // It gave the ball what that has more now than at the start; nothing slipped.
        cal_test_expect_below(fabs(balance.loss), 1e-8, "loss, J", "turntable");
        cal_test_expect_below(fabs(balance.work - (balance.kinetic - 0.5 * 0.3 * 0.3 - 0.5 * 0.004 * SPIN * SPIN -
                                                   0.5 * 0.2 * rate * rate)),
                              1e-8, "work, J", "turntable");
        cal_world_destroy(world);
        cal_model_destroy(model);
    }
}

static void turn_path(double time, double position[3], double quaternion[4], double velocity[3],
                      double angular_velocity[3], void* user) {
    (void)user;
    memset(position, 0, 3 * sizeof *position);
    memset(velocity, 0, 3 * sizeof *velocity);
    quaternion[0] = cos(0.5 * turntable.rate * time), quaternion[3] = sin(0.5 * turntable.rate * time);
    quaternion[1] = quaternion[2] = angular_velocity[0] = angular_velocity[1] = 0.0;
    angular_velocity[2] = turntable.rate;
}

static void ball_circles_on_a_driven_table(void** state) {
    (void)state;
    cal_world* world = cal_test_world(NULL);
    cal_world_body_def def = cal_default_world_body_def();
    def.name = "table", def.motion = CAL_DRIVEN, def.path = turn_path;
    def.path_speed = 2.01 * turntable.rate, def.path_acceleration = 2.01 * turntable.rate * turntable.rate;
    cal_test_add(world, &def, CAL_CYLINDER, 2.0, 0.05, 0.0);
    def = cal_default_world_body_def();
    def.name = "ball", def.position[0] = 0.5, def.position[2] = 0.15, def.velocity[1] = 0.3;
    def.angular_velocity[0] = SPIN;
    cal_test_add(world, &def, CAL_SPHERE, 0.1, 0.0, 0.0);
    expect_circle(world, 1e-8, "a driven body");
    cal_world_destroy(world);
}

// --- Others -------------------------------------------------------------------------------------------------------------------

// A block that is laid onto a running belt slides until it is as fast; half of what the belt gives is lost.
static void belt_takes_a_block_along(void** state) {
    (void)state;
    static const cal_wave run = {.rate = 2.0};
    static const double at[3] = {0.0, 0.0, 0.2};
    int joint;
    cal_builder* builder = cal_test_builder(10.0);
    const int belt = add_body(builder, "belt", CAL_GROUND, none, 5.0, CAL_PRISMATIC, forth, &run.rate, &joint);
    add_shape(builder, belt, CAL_BOX, none, 20.0, 1.0, 0.1, 0.0);
    const int block = add_body(builder, "block", CAL_GROUND, at, 2.0, CAL_FREE, NULL, NULL, NULL);
    add_shape(builder, block, CAL_BOX, none, 0.1, 0.1, 0.1, 0.0);
    add_motion(builder, joint, &run);
    cal_model* model = cal_test_finish(builder);
    cal_world* world = cal_test_world_of(model, NULL);
    for (int i = 1; i <= 10; i++) {
        const double time = 0.1 * i, x = time < 0.4 ? 2.5 * time * time : 0.4 + 2.0 * (time - 0.4);
        double place[3];
        cal_test_advance(world, time);
        place_of(world, "block", place, NULL);
        cal_test_expect_below(fabs(place[0] - x), 1e-4 * 0.17, "way, m", "belt"); // the tolerance, of the block's size
    }
    cal_energy_balance balance;
    assert_int_equal(cal_world_balance(world, &balance), CAL_OK);
    cal_test_expect_below(fabs(balance.work - 8.0), 1e-3, "work, J", "belt");
    cal_test_expect_below(fabs(balance.loss - 4.0), 1e-3, "loss, J", "belt");
    expect_kept(world, "belt");
    cal_world_destroy(world);
    cal_model_destroy(model);
}

// A bat that nothing slows down: what it hits at a speed c leaves it at e c, and takes (1 + e) m c² of work, of which (1 − e²) m c² / 2 are lost.
static void bat_hits_a_ball(void** state) {
    (void)state;
    static const cal_wave swing = {.rate = 2.0};
    static const double at[3] = {0.8, 0.5, 0.0}, middle[3] = {0.5, 0.0, 0.0};
    int joint;
    cal_builder* builder = cal_test_builder(0.0);
    const int bat = add_body(builder, "bat", CAL_GROUND, none, 1.0, CAL_REVOLUTE, up, &swing.rate, &joint);
    add_shape(builder, bat, CAL_BOX, middle, 0.5, 0.03, 0.03, 0.5);
    const int ball = add_body(builder, "ball", CAL_GROUND, at, 0.15, CAL_FREE, NULL, NULL, NULL);
    add_shape(builder, ball, CAL_SPHERE, none, 0.05, 0.0, 0.0, 0.5);
    add_motion(builder, joint, &swing);
    cal_model* model = cal_test_finish(builder);
    cal_world_def def = cal_default_world_def();
    def.friction = 0.0;
    cal_world* world = cal_test_world_of(model, &def);
    cal_test_advance(world, 0.4);
    double place[3], v[3];
    place_of(world, "ball", place, v);
    // The centre of the ball is 0.08 m from the bat's axis when they meet.
    const double closing = swing.rate * sqrt(0.8 * 0.8 + 0.5 * 0.5 - 0.08 * 0.08), left = sqrt(cal_dot3(v, v));
    cal_test_expect_below(fabs(left - 1.5 * closing), 1e-9, "speed of the ball, m/s", "bat");
    cal_energy_balance balance;
    assert_int_equal(cal_world_balance(world, &balance), CAL_OK);
    cal_test_expect_below(fabs(balance.work - 1.5 * 0.15 * closing * closing), 1e-9, "work, J", "bat");
    cal_test_expect_below(fabs(balance.loss - 0.5 * 0.75 * 0.15 * closing * closing), 1e-9, "loss, J", "bat");
    expect_kept(world, "bat");
    cal_world_destroy(world);
    cal_model_destroy(model);
}

// An arm whose first joint swings as prescribed, and whose others hang from it, among boxes: a motion that is not all of the multibody's.
static cal_model* make_arm(const cal_wave* swing) {
    static const double shoulder[3] = {0.0, 0.0, 0.25}, elbow[3] = {0.5, 0.0, 0.0}, upper[3] = {0.25, 0.0, 0.0},
                        lower[3] = {0.2, 0.0, 0.0};
    int joint;
    cal_builder* builder = cal_test_builder(9.81);
    const int first = add_body(builder, "upper", CAL_GROUND, shoulder, 1.0, CAL_REVOLUTE, up, NULL, &joint);
    add_shape(builder, first, CAL_BOX, upper, 0.25, 0.03, 0.03, 0.2);
    const int second = add_body(builder, "lower", first, elbow, 0.5, CAL_REVOLUTE, up, NULL, NULL);
    add_shape(builder, second, CAL_BOX, lower, 0.2, 0.02, 0.2, 0.2);
    static const double boxes[][3] = {{0.7, 0.25, 0.1}, {0.7, 0.25, 0.302}, {0.6, -0.3, 0.1}, {0.2, 0.45, 0.101}};
    for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++) {
        const int box = add_body(builder, NULL, CAL_GROUND, boxes[i], 0.4, CAL_FREE, NULL, NULL, NULL);
        add_shape(builder, box, CAL_BOX, none, 0.08, 0.08, 0.1, 0.2);
    }
    add_shape(builder, CAL_GROUND, CAL_PLANE, none, 0.0, 0.0, 0.0, 0.2);
    add_motion(builder, joint, swing);
    return cal_test_finish(builder);
}

static void arm_pushes_boxes(void** state) {
    (void)state;
    static const cal_wave swing = {.amplitude = 0.9, .frequency = 1.0};
    cal_model* model = make_arm(&swing);
    uint64_t hash = 0;
    for (int seed = 0; seed < (CAL_TEST_SANITIZED ? 2 : 4); seed++) {
        cal_world_def def = cal_default_world_def();
        def.forced_rollbacks = 0.1 * seed;
        def.seed = (uint64_t)seed;
        cal_world* world = cal_test_world_of(model, &def);
        for (int i = 1; i <= (CAL_TEST_SANITIZED ? 5 : 20); i++) {
            cal_test_advance(world, 0.1 * i);
            expect_kept(world, "arm");
        }
        const cal_world_report report = cal_test_report(world);
        assert_true(report.collisions > 0 && report.groups > 0 && (seed == 0 || report.forced > 0));
        if (seed == 0) hash = report.hash;
        assert_int_equal(report.hash, hash);
        cal_energy_balance balance;
        assert_int_equal(cal_world_balance(world, &balance), CAL_OK);
        cal_test_expect_below(fabs(balance.relative), 1e-2, "energy balance", "arm");
        cal_world_destroy(world);
    }
    cal_model_destroy(model);
}

// A drum with balls: all of its motion is prescribed, and to a large group it is as a driven body. They never get out, nor into each other.
static void drum_turns_balls_over(void** state) {
    (void)state;
    static const cal_wave turn = {.rate = 2.5};
    static const double round[3] = {0.0, 1.0, 0.0};
    int joint;
    cal_builder* builder = cal_test_builder(9.81);
    const int drum = add_body(builder, "drum", CAL_GROUND, none, 20.0, CAL_REVOLUTE, round, &turn.rate, &joint);
    const double sides[6][2] = {{0.4, 0.0}, {-0.4, 0.0}, {0.0, 0.4}, {0.0, -0.4}, {0.0, 0.0}, {0.0, 0.0}};
    for (int i = 0; i < 6; i++) {
        const double at[3] = {sides[i][0], i < 4 ? 0.0 : i == 4 ? 0.17 : -0.17, sides[i][1]};
        add_shape(builder, drum, CAL_BOX, at, i < 2 ? 0.05 : 0.45, i < 4 ? 0.2 : 0.05, i == 2 || i == 3 ? 0.05 : 0.45,
                  0.2);
    }
    for (int i = 0; i < 20; i++) {
        const double at[3] = {0.12 * (i % 4) - 0.17, i / 4 % 2 == 0 ? 0.05 : -0.05, 0.12 * (i / 4) - 0.24};
        char name[32];
        snprintf(name, sizeof name, "ball %d", i);
        const int ball = add_body(builder, name, CAL_GROUND, at, 0.1, CAL_FREE, NULL, NULL, NULL);
        add_shape(builder, ball, CAL_SPHERE, none, 0.05, 0.0, 0.0, 0.2);
    }
    add_motion(builder, joint, &turn);
    cal_model* model = cal_test_finish(builder);
    uint64_t hash = 0;
    for (int seed = 0; seed < 2; seed++) {
        cal_world_def def = cal_default_world_def();
        def.forced_rollbacks = 0.05 * seed;
        cal_world* world = cal_test_world_of(model, &def);
        for (int i = 1; i <= (CAL_TEST_SANITIZED ? 2 : 10); i++) cal_test_advance(world, 0.1 * i);
        expect_kept(world, "drum");
        for (int i = 0; i < 20; i++) {
            char name[32];
            double at[3];
            snprintf(name, sizeof name, "ball %d", i);
            place_of(world, name, at, NULL);
            assert_true(hypot(at[0], at[2]) < sqrt(2.0) * 0.31 && fabs(at[1]) < 0.0701);
        }
        const cal_world_report report = cal_test_report(world);
        if (seed == 0) hash = report.hash;
        assert_int_equal(report.hash, hash);
        cal_energy_balance balance;
        assert_int_equal(cal_world_balance(world, &balance), CAL_OK);
        cal_test_expect_below(fabs(balance.relative), 1e-3, "energy balance", "drum");
        cal_world_destroy(world);
    }
    cal_model_destroy(model);
}

// A motion that is let go goes on by itself, and a table that stands still for a while takes along what lies on it when it begins to turn.
static void begin_late(double time, double* value, double* velocity, double* acceleration, void* user) {
    (void)user;
    const double t = fmax(time - 1.0, 0.0);
    *value = 0.25 * t * t, *velocity = 0.5 * t, *acceleration = t > 0.0 ? 0.5 : 0.0;
}

static void table_begins_and_is_let_go(void** state) {
    (void)state;
    static const double at[3] = {0.1, 0.0, 0.15};
    int joint, constraint;
    cal_multibody_id multibody;
    cal_builder* builder = cal_test_builder(9.81);
    const int table = add_body(builder, "table", CAL_GROUND, none, 50.0, CAL_REVOLUTE, up, NULL, &joint);
    add_shape(builder, table, CAL_CYLINDER, none, 1.0, 0.05, 0.0, 0.0);
    const int box = add_body(builder, "box", CAL_GROUND, at, 1.0, CAL_FREE, NULL, NULL, NULL);
    add_shape(builder, box, CAL_BOX, none, 0.1, 0.1, 0.1, 0.0);
    cal_constraint_def motion = cal_default_constraint_def();
    motion.name = "motion", motion.kind = CAL_COUPLING, motion.joint[0] = joint, motion.motion = begin_late;
    cal_builder_add_constraint(builder, &motion);
    cal_model* model = cal_test_finish(builder);
    cal_world* world = cal_test_world_of(model, NULL);
    for (int i = 1; i <= 15; i++) cal_test_advance(world, 0.2 * i);
    double place[3];
    place_of(world, "box", place, NULL);
    // It has turned by 1 rad, with the box on it; friction holds that.
    cal_test_expect_below(hypot(place[0] - 0.1 * cos(1.0), place[1] - 0.1 * sin(1.0)), 1e-4, "way, m", "late table");
    cal_error error = {CAL_OK, ""};
    assert_true(cal_world_find_constraint(world, "motion", &multibody, &constraint));
    if (cal_world_disconnect(world, multibody, constraint, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_test_advance(world, 4.0);
    place_of(world, "box", place, NULL);
    cal_test_expect_below(hypot(place[0] - 0.1 * cos(2.0), place[1] - 0.1 * sin(2.0)), 1e-3, "way, m", "free table");
    cal_world_destroy(world);
    cal_model_destroy(model);
}

// What is prescribed to go through what does not move is an error, with a line that says so.
static void impossible_motion_is_told(void** state) {
    (void)state;
    static const cal_wave swing = {.rate = 2.0};
    static const double middle[3] = {0.5, 0.0, 0.0}, post[3] = {0.8, 0.5, 0.0};
    int joint;
    cal_builder* builder = cal_test_builder(9.81);
    const int bat = add_body(builder, "bat", CAL_GROUND, none, 1.0, CAL_REVOLUTE, up, &swing.rate, &joint);
    add_shape(builder, bat, CAL_BOX, middle, 0.5, 0.03, 0.03, 0.0);
    add_shape(builder, CAL_GROUND, CAL_BOX, post, 0.1, 0.1, 0.1, 0.0);
    add_motion(builder, joint, &swing);
    cal_model* model = cal_test_finish(builder);
    cal_world* world = cal_test_world_of(model, NULL);
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_world_advance(world, 1.0, &error), CAL_NOT_CONVERGED);
    assert_non_null(strstr(error.text, "drives bodies into each other"));
    cal_world_destroy(world);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ball_circles_on_a_turntable),
        cmocka_unit_test(ball_circles_on_a_driven_table),
        cmocka_unit_test(belt_takes_a_block_along),
        cmocka_unit_test(bat_hits_a_ball),
        cmocka_unit_test(arm_pushes_boxes),
        cmocka_unit_test(drum_turns_balls_over),
        cmocka_unit_test(table_begins_and_is_let_go),
        cmocka_unit_test(impossible_motion_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
