// Dynamics of a model from one place: the numbers agree with each other, and with differences.
#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static cal_model* make_model(int* site) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error = {0};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    for (int i = 0; i < 3; i++) {
        cal_body_def body = cal_default_body_def();
        cal_joint_def joint = cal_default_joint_def();
        body.parent = i - 1;
        body.position[0] = i > 0 ? 0.3 : 0.0;
        body.mass = 1.0;
        body.center[0] = 0.15, body.center[1] = 0.02;
        for (int k = 0; k < 3; k++) body.inertia[k] = 0.01 + 0.002 * k;
        joint.axis[0] = i == 1 ? 1.0 : 0.0, joint.axis[1] = i == 2 ? 1.0 : 0.0, joint.axis[2] = i == 0 ? 1.0 : 0.0;
        cal_builder_add_body(builder, &body);
        cal_builder_add_joint(builder, i, &joint);
    }
    cal_site_def tip = cal_default_site_def();
    tip.name = "tip";
    tip.body = 2;
    tip.position[0] = 0.3, tip.position[2] = 0.1;
    *site = cal_builder_add_site(builder, &tip);
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

static void everything_agrees(void** state) {
    (void)state;
    int site;
    cal_model* model = make_model(&site);
    cal_dynamics* dynamics = NULL;
    assert_int_equal(cal_dynamics_create(model, &dynamics, NULL), CAL_OK);
    const double q[3] = {0.3, -0.7, 0.4}, v[3] = {1.0, 0.5, -2.0}, tau[3] = {0.1, -0.2, 0.3};
    double qdd[3], back[3], mass[9], energy[2], pose[7], moved[7], jacobian[18];
    assert_int_equal(cal_dynamics_forward(dynamics, q, v, tau, NULL, qdd), CAL_OK);
    assert_int_equal(cal_dynamics_inverse(dynamics, q, v, qdd, back), CAL_OK);
    for (int i = 0; i < 3; i++) assert_true(fabs(back[i] - tau[i]) < 1e-12);
    assert_int_equal(cal_dynamics_mass(dynamics, q, mass), CAL_OK);
    assert_int_equal(cal_dynamics_energy(dynamics, q, v, energy), CAL_OK);
    double kinetic = 0.0;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) kinetic += 0.5 * v[i] * mass[3 * i + k] * v[k];
    assert_true(fabs(kinetic - energy[0]) < 1e-12);
    // The site's velocity, by differences of its place.
    const double h = 1e-6;
    double ahead[3], behind[3], before[7];
    for (int i = 0; i < 3; i++) ahead[i] = q[i] + h * v[i], behind[i] = q[i] - h * v[i];
    assert_int_equal(cal_dynamics_site(dynamics, ahead, site, moved, NULL), CAL_OK);
    assert_int_equal(cal_dynamics_site(dynamics, behind, site, before, NULL), CAL_OK);
    assert_int_equal(cal_dynamics_site(dynamics, q, site, pose, jacobian), CAL_OK);
    for (int i = 0; i < 3; i++) {
        double rate = 0.0;
        for (int k = 0; k < 3; k++) rate += jacobian[3 * i + k] * v[k];
        assert_true(fabs(rate - (moved[i] - before[i]) / (2 * h)) < 1e-8);
    }
    assert_int_equal(cal_dynamics_site(dynamics, q, 7, pose, NULL), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_dynamics_forward(dynamics, NULL, v, tau, NULL, qdd), CAL_BAD_ARGUMENT);
    cal_dynamics_destroy(dynamics);
    cal_dynamics_destroy(NULL);
    cal_model_destroy(model);
}

// Masses may be as large as numbers; where their sum is none, nobody says where their centre is.
static void masses_that_are_too_large_have_no_center(void** state) {
    (void)state;
    cal_builder* builder = cal_test_builder(0.0);
    for (int i = 0; i < 2; i++) {
        cal_body_def body = cal_default_body_def();
        cal_joint_def joint = cal_default_joint_def();
        body.mass = 1.7e308;
        for (int k = 0; k < 3; k++) body.inertia[k] = 1.0;
        body.position[0] = 1.0 + i;
        joint.kind = CAL_FREE;
        assert_true(cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &joint) >= 0);
    }
    cal_model* model = cal_test_finish(builder);
    cal_dynamics* dynamics = NULL;
    double q[14], center[3];
    cal_model_initial(model, q, NULL, NULL);
    assert_int_equal(cal_dynamics_create(model, &dynamics, NULL), CAL_OK);
    assert_int_equal(cal_dynamics_center(dynamics, q, center, NULL), CAL_NOT_FINITE);
    cal_dynamics_destroy(dynamics);
    cal_model_destroy(model);
}

// A humanoid has a free joint and balls. What is displaced by v is at a difference of v, and its centre moves as momentum says.
static void positions_move_as_velocities_say(void** state) {
    (void)state;
    cal_model* model = cal_test_model("stickman");
    const int bodies = cal_model_body_count(model), n = cal_model_v_count(model);
    assert_true(cal_model_q_count(model) > n);
    cal_test_motion motion = cal_test_random_motion(model, 11);
    double *moved = cal_test_numbers((size_t)cal_model_q_count(model)), *back = cal_test_numbers((size_t)n),
           *other = cal_test_numbers((size_t)cal_model_q_count(model)), *jacobian = cal_test_numbers(3 * (size_t)n);
    memcpy(moved, motion.q, (size_t)cal_model_q_count(model) * sizeof *moved);
    cal_model_displace(model, motion.v, 0.5, moved);
    cal_test_displace(model, motion.q, motion.v, 0.5, other);
    assert_true(cal_test_largest_difference(moved, other, (size_t)cal_model_q_count(model)) < 1e-15 * bodies);
    cal_model_difference(model, motion.q, moved, back);
    for (int i = 0; i < n; i++) assert_true(fabs(back[i] - 0.5 * motion.v[i]) < 1e-14 * bodies);
    cal_dynamics* dynamics = NULL;
    assert_int_equal(cal_dynamics_create(model, &dynamics, NULL), CAL_OK);
    const double h = 1e-5;
    double center[3], ahead[3], behind[3], momentum[6];
    assert_int_equal(cal_dynamics_center(dynamics, motion.q, center, jacobian), CAL_OK);
    memcpy(moved, motion.q, (size_t)cal_model_q_count(model) * sizeof *moved);
    cal_model_displace(model, motion.v, h, moved);
    assert_int_equal(cal_dynamics_center(dynamics, moved, ahead, NULL), CAL_OK);
    cal_model_displace(model, motion.v, -2.0 * h, moved);
    assert_int_equal(cal_dynamics_center(dynamics, moved, behind, NULL), CAL_OK);
    cal_test_engine engine = cal_test_open(model, "energy", 1);
    cal_test_load(&engine, &motion);
    cal_test_execute(&engine);
    assert_int_equal(cal_state_get(engine.state, CAL_MOMENTUM, momentum), CAL_OK);
    for (int i = 0; i < 3; i++) {
        double rate = 0.0;
        for (int k = 0; k < n; k++) rate += jacobian[n * i + k] * motion.v[k];
        assert_true(fabs(rate - momentum[i] / cal_model_mass(model)) < 1e-13);
        assert_true(fabs(rate - (ahead[i] - behind[i]) / (2.0 * h)) < 1e-8);
    }
    cal_test_close(&engine);
    cal_dynamics_destroy(dynamics);
    free(moved), free(other), free(back), free(jacobian);
    cal_test_motion_free(&motion);
    cal_model_destroy(model);
}

// What has no name is found by the one that is made for it, and one that was given counts first.
static void names_are_found(void** state) {
    (void)state;
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    char text[32];
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def body = cal_default_body_def();
    body.mass = 1.0;
    for (int i = 0; i < 3; i++) body.inertia[i] = 1.0;
    const cal_joint_def joint = cal_default_joint_def();
    cal_builder_add_body(builder, &body);
    cal_builder_add_joint(builder, 0, &joint);
    for (int i = 0; i < 3; i++) {
        cal_actuator_def motor = cal_default_actuator_def();
        cal_sensor_def sensor = cal_default_sensor_def();
        motor.joint = 0;
        motor.name = i == 2 ? "actuator1" : NULL;
        sensor.kind = CAL_SENSOR_CLOCK;
        sensor.name = i == 1 ? "clock" : NULL;
        cal_builder_add_actuator(builder, &motor);
        cal_builder_add_sensor(builder, &sensor);
    }
    assert_int_equal(cal_builder_finish(builder, &model, NULL), CAL_OK);
    cal_builder_destroy(builder);
    assert_string_equal(cal_model_actuator_name(model, 0, text, sizeof text), "actuator0");
    assert_string_equal(cal_model_actuator_name(model, 3, text, sizeof text), "");
    assert_int_equal(cal_model_find_actuator(model, "actuator0"), 0);
    assert_int_equal(cal_model_find_actuator(model, "actuator1"), 2);
    assert_int_equal(cal_model_find_sensor(model, "clock"), 1);
    assert_int_equal(cal_model_find_sensor(model, "sensor2"), 2);
    assert_int_equal(cal_model_find_sensor(model, "sensor1"), CAL_NONE);
    assert_int_equal(cal_model_find_tendon(model, "tendon0"), CAL_NONE);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_agrees), cmocka_unit_test(masses_that_are_too_large_have_no_center),
        cmocka_unit_test(positions_move_as_velocities_say), cmocka_unit_test(names_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
