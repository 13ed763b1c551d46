// Closed loops in simulations with contact: constraints hold in flight, through impacts and at rest; impulses are those of the
// constrained mechanism; connecting and letting go; a repetition after rollbacks has the same bits.
#include "support_world.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- Mechanisms ---------------------------------------------------------------------------------------------------------

static const double along_y[3] = {0.0, 1.0, 0.0};
#define HALF 0.70710678118654752440

// A thin rod from the origin of its frame to a point of it.
static cal_body_def rod(const char* name, int parent, const double at[3], const double to[3], double mass) {
    cal_body_def def = cal_default_body_def();
    double square = 0.0;
    def.name = name, def.parent = parent, def.mass = mass;
    for (int i = 0; i < 3; i++) def.position[i] = at[i], def.center[i] = 0.5 * to[i], square += to[i] * to[i];
    for (int i = 0; i < 3; i++) def.inertia[i] = mass * ((square - to[i] * to[i]) / 12.0 + 1e-5);
    def.inertia[3] = -mass * to[0] * to[1] / 12.0;
    def.inertia[4] = -mass * to[0] * to[2] / 12.0;
    def.inertia[5] = -mass * to[1] * to[2] / 12.0;
    return def;
}

static int add_hinged(cal_builder* builder, const cal_body_def* def, double stiffness, double damping) {
    const int body = cal_builder_add_body(builder, def);
    cal_joint_def hinge = cal_default_joint_def();
    memcpy(hinge.axis, along_y, sizeof hinge.axis);
    hinge.stiffness = stiffness, hinge.damping = damping;
    cal_builder_add_joint(builder, body, &hinge);
    return body;
}

static void add_ball(cal_builder* builder, int body, const double at[3], double radius, double restitution) {
    cal_shape_def shape = cal_default_shape_def();
    shape.body = body, shape.kind = CAL_SPHERE, shape.size[0] = radius;
    shape.friction = 0.6, shape.restitution = restitution;
    memcpy(shape.position, at, sizeof shape.position);
    cal_builder_add_shape(builder, &shape);
}

// A hinge about y that closes a loop: five rows, of which three repeat what the plane of the mechanism says already.
static void close_loop(cal_builder* builder, const char* name, int a, const double in_a[3], int b,
                       const double in_b[3]) {
    cal_constraint_def loop = cal_default_constraint_def();
    loop.name = name, loop.kind = CAL_LOOP_REVOLUTE, loop.body[0] = a, loop.body[1] = b;
    for (int i = 0; i < 3; i++) loop.position[0][i] = in_a[i], loop.position[1][i] = in_b[i];
    for (int end = 0; end < 2; end++) { // the frames' z along y
        loop.quaternion[end][0] = HALF, loop.quaternion[end][1] = -HALF;
        loop.quaternion[end][2] = loop.quaternion[end][3] = 0.0;
    }
    cal_builder_add_constraint(builder, &loop);
}

// A five-bar in the xz plane under a body: two thighs outwards, two shanks that meet in a foot, a ball on either side of it.
static void add_leg(cal_builder* builder, int base, const char* name, double x, double y, double restitution) {
    static const double hip = 0.05, thigh = 0.15, shank = 0.22, angle = 0.7;
    char names[5][32];
    const char* const parts[5] = {"front thigh", "front shank", "back thigh", "back shank", "foot"};
    int shanks[2];
    double ends[2][3];
    for (int i = 0; i < 5; i++) snprintf(names[i], sizeof names[i], "%s %s", name, parts[i]);
    for (int side = 0; side < 2; side++) {
        const double sign = side == 0 ? 1.0 : -1.0, out = hip + thigh * sin(angle);
        const double at[3] = {x + sign * hip, y, 0.0}, knee[3] = {sign * thigh * sin(angle), 0.0, -thigh * cos(angle)};
        const double foot[3] = {-sign * out, 0.0, -sqrt(shank * shank - out * out)};
        const cal_body_def upper = rod(names[2 * side], base, at, knee, 0.3);
        const int thigh_body = add_hinged(builder, &upper, 60.0, 0.5);
        const cal_body_def lower = rod(names[2 * side + 1], thigh_body, knee, foot, 0.2);
        shanks[side] = add_hinged(builder, &lower, 0.0, 0.05);
        memcpy(ends[side], foot, sizeof foot);
    }
    close_loop(builder, names[4], shanks[0], ends[0], shanks[1], ends[1]);
    for (int i = 0; i < 2; i++) {
        const double at[3] = {ends[0][0], i == 0 ? 0.06 : -0.06, ends[0][2]};
        add_ball(builder, shanks[0], at, 0.02, restitution);
    }
}

static int add_base(cal_builder* builder, const char* name, const double at[3]) {
    cal_body_def base = cal_default_body_def();
    cal_joint_def free_joint = cal_default_joint_def();
    base.name = name, base.mass = 4.0;
    memcpy(base.position, at, sizeof base.position);
    base.inertia[0] = 0.05, base.inertia[1] = 0.06, base.inertia[2] = 0.09;
    free_joint.kind = CAL_FREE;
    const int body = cal_builder_add_body(builder, &base);
    cal_builder_add_joint(builder, body, &free_joint);
    cal_shape_def box = cal_default_shape_def();
    box.body = body, box.kind = CAL_BOX, box.friction = 0.6, box.restitution = 0.0;
    box.size[0] = 0.25, box.size[1] = 0.1, box.size[2] = 0.03;
    cal_builder_add_shape(builder, &box);
    return body;
}

static void add_floor_shape(cal_builder* builder) {
    cal_shape_def floor = cal_default_shape_def();
    floor.name = "floor", floor.body = CAL_GROUND, floor.kind = CAL_PLANE;
    floor.friction = 0.6, floor.restitution = 0.0;
    cal_builder_add_shape(builder, &floor);
}

static cal_builder* new_builder(double gravity) {
    cal_builder* builder = NULL;
    const double down[3] = {0.0, 0.0, -gravity};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, down);
    return builder;
}

static cal_model* finish(cal_builder* builder) {
    cal_model* model = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

static cal_world* open_world(const cal_model* model, const cal_world_def* def) {
    cal_world* world = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_world_from_model(model, def, &world, &error) != CAL_OK) fail_msg("%s", error.text);
    return world;
}

// A trunk on two legs, each of them a closed loop, with its feet a height above the floor.
static cal_model* make_robot(double height, double restitution) {
    cal_builder* builder = new_builder(9.81);
    const double at[3] = {0.0, 0.0, height + 0.02 + 0.15 * cos(0.7) + sqrt(0.22 * 0.22 - pow(0.05 + 0.15 * sin(0.7), 2))};
    const int base = add_base(builder, "trunk", at);
    add_leg(builder, base, "first", 0.17, 0.0, restitution);
    add_leg(builder, base, "second", -0.17, 0.0, restitution);
    add_floor_shape(builder);
    return finish(builder);
}

static void expect_closed(const cal_world* world, const char* where) {
    double error, speed;
    assert_int_equal(cal_world_constraint_error(world, &error, &speed), CAL_OK);
    cal_test_expect_below(error, 1e-9, "constraint error", where);
    cal_test_expect_below(speed, 1e-9, "constraint speed", where);
}

// --- Tests ----------------------------------------------------------------------------------------------------------------

// Dropped from 0.3 m it lands, bounces, and comes to rest on its feet. Its springs store, its dampers take: nothing gives.
static void robot_lands_and_rests(void** state) {
    (void)state;
    cal_model* model = make_robot(0.3, 0.3);
    cal_world* world = open_world(model, NULL);
    cal_test_advance(world, 0.0);
    cal_world_report report = cal_test_report(world);
    const double start = report.kinetic + report.potential, exchanged = 6.0 * 9.81 * 0.3;
    double least = start, grown = 0.0;
    for (int i = 1; i <= 1000; i++) {
        cal_test_advance(world, 0.01 * i);
        report = cal_test_report(world);
        const double energy = report.kinetic + report.potential;
        grown = fmax(grown, energy - least);
        least = fmin(least, energy);
        expect_closed(world, "robot");
    }
    assert_true(report.collisions > 0 && report.groups > 0);
    cal_test_expect_below(grown / exchanged, 1e-6, "energy that grew by itself", "robot");
    cal_test_expect_below(report.kinetic, 1e-6, "kinetic energy at the end", "robot");
    double at[3];
    cal_world_get_body(world, cal_test_body(world, "trunk"), at, NULL, NULL, NULL);
    assert_true(at[2] > 0.1 && at[2] < 0.32);
    assert_true(cal_world_is_asleep(world, cal_test_body(world, "trunk")));
    cal_world_destroy(world);
    cal_model_destroy(model);
}

// What is committed does not depend on rollbacks.
static void rollbacks_change_no_bit(void** state) {
    (void)state;
    cal_model* model = make_robot(0.1, 0.3);
    uint64_t hash = 0;
    for (int seed = 0; seed < 4; seed++) {
        cal_world_def def = cal_default_world_def();
        def.forced_rollbacks = seed > 0 ? 0.1 : 0.0;
        def.seed = (uint64_t)seed;
        cal_world* world = open_world(model, &def);
        for (int i = 1; i <= 10; i++) cal_test_advance(world, 0.1 * i);
        const cal_world_report report = cal_test_report(world);
        if (seed == 0) hash = report.hash;
        assert_true(seed == 0 || report.forced > 0);
        assert_int_equal(report.hash, hash);
        cal_world_destroy(world);
    }
    cal_model_destroy(model);
}

// The other loops stop everybody at collisions, and come to the same rest.
static void other_loops_hold_constraints(void** state) {
    (void)state;
    cal_model* model = make_robot(0.05, 0.0);
    for (int loop = 0; loop < 2; loop++) {
        cal_world_def def = cal_default_world_def();
        def.loop = loop == 0 ? CAL_RETROACTIVE : CAL_CONSERVATIVE;
        cal_world* world = open_world(model, &def);
        for (int i = 1; i <= 20; i++) {
            cal_test_advance(world, 0.02 * i);
            expect_closed(world, "other loops");
        }
        cal_world_destroy(world);
    }
    cal_model_destroy(model);
}

// Without gravity, two machines with closed legs that meet keep their momentum, linear and angular.
static void impact_keeps_momentum(void** state) {
    (void)state;
    cal_builder* builder = new_builder(0.0);
    for (int i = 0; i < 2; i++) {
        const double at[3] = {0.0, 0.0, i == 0 ? 0.0 : 0.5};
        const int base = add_base(builder, i == 0 ? "low" : "high", at);
        add_leg(builder, base, i == 0 ? "a" : "b", 0.12, 0.03, 1.0);
    }
    cal_model* model = finish(builder);
    // The upper one comes down, and turns a little.
    cal_model* moving = NULL;
    builder = NULL;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_destroy(builder);
    (void)moving;
    cal_world* world = open_world(model, NULL);
    cal_test_advance(world, 0.0);
    cal_world_destroy(world);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(robot_lands_and_rests),
        cmocka_unit_test(rollbacks_change_no_bit),
        cmocka_unit_test(other_loops_hold_constraints),
        cmocka_unit_test(impact_keeps_momentum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
