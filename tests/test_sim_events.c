// A simulation of a model whose shapes can touch: one noun, with the model's own q and v, forces and controls.
#include "calder/calder_world.h"
#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static cal_sim* make(const cal_model* model, bool contact) {
    cal_sim_def def = cal_default_sim_def();
    def.contact = contact;
    def.relative = 1e-6;
    def.solver = "rkf";
    return cal_test_create_sim(model, &def);
}

// A box on a floor, an arm with a motor beside it, and a body that is fixed.
static cal_model* make_yard(double height) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error = {0};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def box = cal_default_body_def(), pole = cal_default_body_def(), arm = cal_default_body_def();
    box.name = "box";
    box.mass = 2.0;
    box.center[0] = 0.01;
    for (int i = 0; i < 3; i++) box.inertia[i] = 0.02;
    box.position[2] = height;
    pole.name = "pole";
    pole.position[0] = 2.0, pole.position[2] = 1.0;
    arm.name = "arm";
    arm.parent = 1;
    arm.mass = 1.0;
    arm.center[2] = -0.25;
    for (int i = 0; i < 3; i++) arm.inertia[i] = 0.02;
    cal_builder_add_body(builder, &box);
    cal_builder_add_body(builder, &pole);
    cal_builder_add_body(builder, &arm);
    cal_joint_def free = cal_default_joint_def(), hinge = cal_default_joint_def();
    free.name = "float";
    free.kind = CAL_FREE;
    free.initial_v[0] = 0.1, free.initial_v[4] = 0.5;
    hinge.name = "hinge";
    hinge.axis[1] = 1.0, hinge.axis[2] = 0.0;
    hinge.initial_q[0] = 0.3;
    cal_builder_add_joint(builder, 0, &free);
    const int joint = cal_builder_add_joint(builder, 2, &hinge);
    cal_actuator_def motor = cal_default_actuator_def();
    motor.joint = joint;
    cal_builder_add_actuator(builder, &motor);
    cal_shape_def floor = cal_default_shape_def(), shape = cal_default_shape_def(), ball = cal_default_shape_def();
    floor.kind = CAL_PLANE;
    cal_builder_add_shape(builder, &floor);
    shape.kind = CAL_BOX;
    shape.body = 0;
    for (int i = 0; i < 3; i++) shape.size[i] = 0.1;
    cal_builder_add_shape(builder, &shape);
    ball.body = 2;
    ball.size[0] = 0.05;
    ball.position[2] = -0.5;
    cal_builder_add_shape(builder, &ball);
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

static void expect_same(const double* a, const double* b, int count, double bound) {
    for (int i = 0; i < count; i++)
        if (!(fabs(a[i] - b[i]) <= bound)) fail_msg("number %d: %.17g and %.17g", i, a[i], b[i]);
}

// Before anything touches, it moves as the system does that nothing can touch, whatever is in it.
static void test_flight_is_that_of_the_model(void** state) {
    (void)state;
    cal_model* model = make_yard(3.0);
    cal_sim *with = make(model, true), *without = make(model, false);
    assert_non_null(cal_sim_world(with));
    assert_null(cal_sim_world(without));
    const int q_count = cal_model_q_count(model), v_count = cal_model_v_count(model);
    double poses[2][21], kinetic[2], potential[2];
    for (int step = 0; step <= 5; step++) {
        cal_test_advance_sim(with, 0.1 * step);
        cal_test_advance_sim(without, 0.1 * step);
        expect_same(cal_sim_q(with), cal_sim_q(without), q_count, 2e-6);
        expect_same(cal_sim_v(with), cal_sim_v(without), v_count, 2e-5);
        assert_int_equal(cal_sim_poses(with, poses[0]), CAL_OK);
        assert_int_equal(cal_sim_poses(without, poses[1]), CAL_OK);
        expect_same(poses[0], poses[1], 21, 2e-6);
        assert_int_equal(cal_sim_energy(with, &kinetic[0], &potential[0]), CAL_OK);
        assert_int_equal(cal_sim_energy(without, &kinetic[1], &potential[1]), CAL_OK);
        expect_same(kinetic, kinetic + 1, 1, 1e-3);
        expect_same(potential, potential + 1, 1, 1e-3);
    }
    cal_sim_destroy(with);
    cal_sim_destroy(without);
    cal_model_destroy(model);
}

// A floor is there without being asked for.
static void test_the_floor_holds(void** state) {
    (void)state;
    cal_model* model = make_yard(0.5);
    cal_sim* sim = make(model, true);
    cal_test_advance_sim(sim, 4.0);
    assert_true(fabs(cal_sim_q(sim)[2] - 0.1) < 1e-4);
    cal_world_report report;
    cal_world_get_report(cal_sim_world(sim), &report);
    assert_true(report.collisions > 0);
    // A body by its name, what is below it, and what a probe would touch.
    cal_world* world = cal_sim_world(sim);
    const cal_body_id box = cal_world_find_body(world, "box");
    assert_int_equal(cal_sim_body_of(sim, box), 0);
    assert_int_equal(cal_world_find_body(world, "nobody").index, -1);
    const double above[3] = {cal_sim_q(sim)[0], cal_sim_q(sim)[1], 2.0}, down[3] = {0.0, 0.0, -3.0};
    cal_ray_result hit;
    cal_error error = {0};
    assert_int_equal(cal_world_cast_ray(world, above, down, 10.0, (cal_body_id){-1, 0}, &hit, &error), CAL_OK);
    assert_int_equal(hit.body.index, box.index);
    assert_true(fabs(hit.distance - 1.8) < 1e-3 && hit.normal[2] > 0.999);
    assert_int_equal(cal_world_cast_ray(world, above, down, 10.0, box, &hit, &error), CAL_OK);
    assert_true(fabs(hit.distance - 2.0) < 1e-12);
    cal_shape_def probe = cal_default_shape_def();
    cal_overlap near[4];
    int count = 0;
    memcpy(probe.position, above, sizeof above);
    probe.position[2] = 0.25;
    probe.size[0] = 0.1;
    assert_int_equal(cal_world_overlaps(world, &probe, NULL, 0.0, near, 4, &count, &error), CAL_OK);
    assert_int_equal(count, 1);
    assert_int_equal(near[0].body.index, box.index);
    assert_true(fabs(near[0].distance + 0.05) < 1e-3);
    assert_int_equal(cal_world_cast_ray(world, above, (const double[3]){0}, 1.0, box, &hit, &error), CAL_BAD_ARGUMENT);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// Controls, joint forces and pushes act from when they are set: against Newton's law.
static void test_forces_from_outside(void** state) {
    (void)state;
    cal_model* model = make_yard(3.0);
    cal_sim *with = make(model, true), *without = make(model, false);
    cal_sim* const both[] = {with, without};
    const double control = 4.0, force[3] = {0.0, 3.0, 25.0}, none[3] = {0}, center[3] = {0.01, 0.0, 0.0};
    for (int i = 0; i < 2; i++) {
        cal_error error = {0};
        cal_test_advance_sim(both[i], 0.1);
        assert_int_equal(cal_sim_drive(both[i], NULL, &control, &error), CAL_OK);
        assert_int_equal(cal_sim_push(both[i], 0, force, none, center), CAL_OK);
        cal_test_advance_sim(both[i], 0.4);
        assert_int_equal(cal_sim_release(both[i]), CAL_OK);
        cal_test_advance_sim(both[i], 0.5);
    }
    expect_same(cal_sim_q(with), cal_sim_q(without), cal_model_q_count(model), 5e-6);
    expect_same(cal_sim_v(with), cal_sim_v(without), cal_model_v_count(model), 5e-5);
    cal_sim_destroy(with);
    cal_sim_destroy(without);
    cal_model_destroy(model);
}

// Another state, at another time: the run that follows is that of a simulation that began there.
static void test_set(void** state) {
    (void)state;
    cal_model* model = make_yard(0.5);
    cal_sim *first = make(model, true), *second = make(model, true);
    cal_error error = {0};
    double q[8], v[7];
    assert_int_equal(cal_model_q_count(model), 8);
    memcpy(q, cal_sim_q(second), sizeof q);
    memcpy(v, cal_sim_v(second), sizeof v);
    cal_test_advance_sim(first, 1.0);
    if (cal_sim_set(first, 0.0, q, v, &error)) fail_msg("%s", error.text);
    assert_true(cal_sim_time(first) == 0.0);
    cal_test_advance_sim(first, 2.0);
    cal_test_advance_sim(second, 2.0);
    assert_true(cal_sim_hash(first) == cal_sim_hash(second));
    // Later in time, it is the same motion.
    if (cal_sim_set(second, 7.5, q, v, &error)) fail_msg("%s", error.text);
    cal_test_advance_sim(second, 9.5);
    expect_same(cal_sim_q(first), cal_sim_q(second), 8, 1e-6);
    cal_sim_destroy(first);
    cal_sim_destroy(second);
    cal_model_destroy(model);
}

// A generator's figure lands on its floor and stays above it.
static void test_humanoid_lands(void** state) {
    (void)state;
    cal_model* model = NULL;
    cal_error error = {0};
    if (cal_model_generate("humanoid", &model, &error)) fail_msg("%s", error.text);
    assert_true(cal_model_can_touch(model));
    cal_sim* sim = make(model, true);
    cal_test_advance_sim(sim, CAL_TEST_SANITIZED ? 0.7 : 2.0); // the first contacts, or all of the fall
    double* poses = calloc(7 * (size_t)cal_model_body_count(model), sizeof *poses);
    assert_int_equal(cal_sim_poses(sim, poses), CAL_OK);
    double floor[7] = {0};
    for (int i = 0; i < cal_model_shape_count(model); i++) {
        cal_shape_def shape;
        cal_model_shape(model, i, &shape);
        if (shape.kind == CAL_PLANE) memcpy(floor, shape.position, 3 * sizeof *floor);
    }
    for (int i = 0; i < cal_model_body_count(model); i++) {
        double height = 0.0, gravity[3], square = 0.0;
        cal_model_gravity(model, gravity);
        for (int k = 0; k < 3; k++) square += gravity[k] * gravity[k];
        for (int k = 0; k < 3; k++) height -= (poses[7 * i + k] - floor[k]) * gravity[k] / sqrt(square);
        assert_true(height > -1e-3);
    }
    free(poses);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// Friction is that of the shape with the higher priority: v² / (2 μ g) to rest.
static void test_priority(void** state) {
    (void)state;
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error = {0};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def box = cal_default_body_def();
    box.mass = 2.0;
    for (int i = 0; i < 3; i++) box.inertia[i] = 0.02;
    box.position[2] = 0.1;
    cal_joint_def joint = cal_default_joint_def();
    joint.kind = CAL_FREE;
    joint.initial_v[0] = 1.0;
    cal_builder_add_body(builder, &box);
    cal_builder_add_joint(builder, 0, &joint);
    cal_shape_def floor = cal_default_shape_def(), shape = cal_default_shape_def();
    floor.kind = CAL_PLANE;
    shape.kind = CAL_BOX;
    shape.body = 0;
    shape.friction = 0.1;
    shape.priority = 1;
    for (int i = 0; i < 3; i++) shape.size[i] = 0.1;
    cal_builder_add_shape(builder, &floor);
    cal_builder_add_shape(builder, &shape);
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    cal_sim* sim = make(model, true);
    cal_test_advance_sim(sim, 3.0);
    assert_true(fabs(cal_sim_q(sim)[0] - 1.0 / (2.0 * 0.1 * 9.81)) < 2e-3);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// What is not a number is refused where it comes in, and one that a callback makes in a contact group ends the run.
static void poison(cal_callback_context* context, void* user) {
    (void)user;
    cal_callback_set_force(context, 0, (const double[3]){NAN, 0.0, 0.0}, NULL);
}

static void test_numbers_that_are_none(void** state) {
    (void)state;
    cal_model* model = make_yard(0.1);
    cal_sim* sim = make(model, true);
    cal_error error = {0};
    const double bad[3] = {NAN, 0.0, 0.0}, good[3] = {0}, infinite = (double)INFINITY;
    cal_test_advance_sim(sim, 0.2);
    const uint64_t hash = cal_sim_hash(sim);
    assert_int_equal(cal_sim_push(sim, 0, bad, good, good), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_sim_push(sim, 2, good, good, bad), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_sim_drive(sim, NULL, &infinite, &error), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_sim_set(sim, NAN, NULL, NULL, &error), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_sim_advance(sim, NAN, &error), CAL_BAD_ARGUMENT);
    assert_true(cal_sim_hash(sim) == hash);
    cal_sim_destroy(sim);
    cal_world* world = NULL;
    if (cal_world_from_model(model, NULL, &world, &error)) fail_msg("%s", error.text);
    const cal_body_id box = cal_world_find_body(world, "box");
    if (cal_world_on_period(world, &box, 1, 0.3, 1.0, poison, NULL, &error)) fail_msg("%s", error.text);
    assert_int_not_equal(cal_world_advance(world, 1.0, &error), CAL_OK);
    assert_true(strlen(error.text) > 0);
    cal_world_destroy(world);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_flight_is_that_of_the_model),
                                       cmocka_unit_test(test_the_floor_holds),
                                       cmocka_unit_test(test_forces_from_outside),
                                       cmocka_unit_test(test_set),
                                       cmocka_unit_test(test_humanoid_lands),
                                       cmocka_unit_test(test_priority),
                                       cmocka_unit_test(test_numbers_that_are_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
