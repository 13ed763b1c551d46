// Dynamics of a model from one place: the numbers agree with each other, and with differences.
#include "support.h"
#include <math.h>
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything_agrees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
