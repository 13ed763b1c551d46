// Derivatives of inverse and forward dynamics: against differences of the dynamics themselves, and closed forms.
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum side { INVERSE, FORWARD } side;
typedef enum argument { POSITION, VELOCITY, THIRD, CONTROL } argument;

typedef struct asked {
    const cal_model* model;
    cal_dynamics* dynamics;
    cal_test_motion at;
    side of;
} asked;

static void answer(const asked* a, const cal_test_motion* at, double* out) {
    if (a->of == INVERSE)
        assert_int_equal(cal_dynamics_inverse(a->dynamics, at->q, at->v, at->qdd, out), CAL_OK);
    else
        assert_int_equal(cal_dynamics_forward(a->dynamics, at->q, at->v, at->tau, at->control, out), CAL_OK);
}

// The column of one number by differences of fourth order.
static void difference(const asked* a, argument by, int index, double h, double* column) {
    static const double offsets[4] = {-2.0, -1.0, 1.0, 2.0}, factors[4] = {1.0, -8.0, 8.0, -1.0};
    const int n = cal_model_v_count(a->model), positions = cal_model_q_count(a->model);
    double *q = cal_test_numbers((size_t)positions), *along = cal_test_numbers((size_t)n),
           *out = cal_test_numbers((size_t)n);
    memset(column, 0, (size_t)n * sizeof *column);
    for (int i = 0; i < 4; i++) {
        cal_test_motion moved = a->at;
        double* third = a->of == INVERSE ? moved.qdd : moved.tau;
        double* number = by == VELOCITY ? &moved.v[index] : by == THIRD ? &third[index] : &moved.control[index];
        const double before = by == POSITION ? 0.0 : *number;
        if (by == POSITION) {
            along[index] = 1.0;
            cal_test_displace(a->model, a->at.q, along, offsets[i] * h, q);
            moved.q = q;
        } else {
            *number += offsets[i] * h;
        }
        answer(a, &moved, out);
        if (by != POSITION) *number = before;
        for (int k = 0; k < n; k++) column[k] += factors[i] * out[k] / (12.0 * h);
    }
    free(q), free(along), free(out);
}

// The best of three steps: long ones cross the corner of dry friction, short ones have the rounding of ill-conditioned masses.
static void compare(const asked* a, argument by, int columns, const double* found, const char* name) {
    static const char* const parts[] = {"by q", "by v", "by the third", "by control"};
    static const double steps[3] = {1e-3, 2e-4, 2e-5};
    const int n = cal_model_v_count(a->model);
    double* column = cal_test_numbers((size_t)n);
    char what[96];
    snprintf(what, sizeof what, "%s %s", a->of == INVERSE ? "inverse" : "forward", parts[by]);
    const double scale = 1.0 + cal_test_largest(found, (size_t)n * (size_t)columns);
    for (int k = 0; k < columns; k++) {
        double best = INFINITY;
        for (int s = 0; s < 3; s++) {
            double worst = 0.0;
            difference(a, by, k, steps[s], column);
            for (int i = 0; i < n; i++) worst = fmax(worst, fabs(column[i] - found[i * columns + k]));
            best = fmin(best, worst);
        }
        cal_test_expect_below(best / scale, 5e-8, what, name);
    }
    free(column);
}

static void check_at(const cal_model* model, const char* name, uint64_t seed) {
    const int n = cal_model_v_count(model), motors = cal_model_actuator_count(model);
    const size_t size = (size_t)n * (size_t)n;
    asked a = {.model = model, .at = cal_test_random_motion(model, seed)};
    double *by_q = cal_test_numbers(size), *by_v = cal_test_numbers(size), *third = cal_test_numbers(size),
           *by_control = cal_test_numbers((size_t)n * (size_t)motors + 1);
    assert_int_equal(cal_dynamics_create(model, &a.dynamics, NULL), CAL_OK);
    for (int i = 0; i < n; i++) a.at.qdd[i] = a.at.tau[n - 1 - i];
    assert_int_equal(cal_dynamics_inverse_derivatives(a.dynamics, a.at.q, a.at.v, a.at.qdd, by_q, by_v, third), CAL_OK);
    compare(&a, POSITION, n, by_q, name);
    compare(&a, VELOCITY, n, by_v, name);
    compare(&a, THIRD, n, third, name);
    a.of = FORWARD;
    assert_int_equal(cal_dynamics_forward_derivatives(a.dynamics, a.at.q, a.at.v, a.at.tau, a.at.control, by_q, by_v,
                                                      third, by_control),
                     CAL_OK);
    compare(&a, POSITION, n, by_q, name);
    compare(&a, VELOCITY, n, by_v, name);
    compare(&a, THIRD, n, third, name);
    if (motors > 0) compare(&a, CONTROL, motors, by_control, name);
    // What is asked for alone is the same.
    assert_int_equal(
        cal_dynamics_forward_derivatives(a.dynamics, a.at.q, a.at.v, a.at.tau, a.at.control, NULL, third, NULL, NULL),
        CAL_OK);
    assert_memory_equal(third, by_v, size * sizeof *third);
    cal_dynamics_destroy(a.dynamics);
    cal_test_motion_free(&a.at);
    free(by_q), free(by_v), free(third), free(by_control);
}

static void check_model(const cal_model* model, const char* name) {
    if (cal_model_v_count(model) <= 60) check_at(model, name, 5);
}

static void every_model_agrees_with_differences(void** state) {
    (void)state;
    cal_test_on_every_model(check_model);
}

// Springs and motors of balls, muscles, clamps, tendons, motors between bodies, weights that are carried, a medium.
static void forces_agree_with_differences(void** state) {
    (void)state;
    cal_model* model = cal_test_read(
        "<mujoco><option density='30' viscosity='0.2' wind='0.3 -0.2 0.1'/><worldbody>"
        "<site name='hook' pos='0.2 0.1 0.5'/>"
        "<body name='a' gravcomp='0.4'><freejoint/><geom type='box' size='0.2 0.1 0.05'/><site name='s' pos='0.1 0 0'/>"
        "<body name='b' pos='0.3 0 0'><joint name='ball' type='ball' stiffness='3' damping='0.2'/>"
        "<geom type='capsule' fromto='0 0 0 0.2 0.1 0' size='0.03'/>"
        "<body name='c' pos='0.2 0.1 0'><joint name='h' axis='0 1 1' stiffness='2' springref='0.3' frictionloss='0.4'/>"
        "<joint name='p' type='slide' axis='1 0 0.2' damping='0.7'/>"
        "<geom type='ellipsoid' size='0.05 0.08 0.1'/><site name='t' pos='0 0 0.1'/></body></body></body></worldbody>"
        "<tendon><spatial name='rope' stiffness='40' springlength='0.1' damping='0.5'><site site='hook'/>"
        "<site site='s'/><site site='t'/></spatial>"
        "<fixed name='sum'><joint joint='h' coef='1'/><joint joint='p' coef='-2'/></fixed></tendon>"
        "<actuator><motor joint='ball' gear='0 0.5 0'/><position joint='h' kp='7' kv='0.3' forcerange='-9 9'/>"
        "<general joint='p' gainprm='2 0.5 0.3' gaintype='affine' biasprm='0.1 -3 -0.2' biastype='affine' gear='2'/>"
        "<motor tendon='rope' gear='1.5'/><muscle joint='h' lengthrange='-3 3' force='12'/>"
        "<motor tendon='sum' ctrllimited='true' ctrlrange='-0.1 0.1'/>"
        "<general site='s' refsite='hook' gear='1 0.5 0 0 0.2 0' gainprm='1' biastype='affine' biasprm='0 -2 -0.3'/>"
        "</actuator></mujoco>",
        "forces.xml");
    for (uint64_t seed = 1; seed <= 6; seed++) check_at(model, "forces.xml", seed);
    uint32_t bits;
    for (int part = 0; cal_part_name(part, &bits); part++) {
        cal_model* less = NULL;
        assert_int_equal(cal_model_variant(model, bits, CAL_NONE, &less, NULL), CAL_OK);
        check_at(less, cal_part_name(part, &bits), 7);
        cal_model_destroy(less);
    }
    cal_model_destroy(model);
}

// A pendulum with damper and spring: θ̈ = −(g l m sin θ + k θ + c ω) / (m l²).
static void a_pendulum_has_its_closed_form(void** state) {
    (void)state;
    cal_model* model =
        cal_test_read("<mujoco><worldbody><body><joint name='hinge' axis='0 1 0' stiffness='0.7' damping='0.3'/>"
                      "<inertial pos='0 0 -0.8' mass='2' diaginertia='1e-9 1e-9 1e-9'/></body></worldbody>"
                      "<actuator><motor gear='3' joint='hinge'/></actuator></mujoco>",
                      "pendulum.xml");
    cal_dynamics* dynamics = NULL;
    assert_int_equal(cal_dynamics_create(model, &dynamics, NULL), CAL_OK);
    const double q = 0.9, v = -1.3, inertia = 2.0 * 0.64 + 1e-9;
    double by_q, by_v, by_tau, by_control;
    assert_int_equal(cal_dynamics_forward_derivatives(dynamics, &q, &v, NULL, NULL, &by_q, &by_v, &by_tau, &by_control),
                     CAL_OK);
    assert_true(fabs(by_q + (9.81 * 0.8 * 2.0 * cos(q) + 0.7) / inertia) < 1e-13);
    assert_true(fabs(by_v + 0.3 / inertia) < 1e-14);
    assert_true(fabs(by_tau - 1.0 / inertia) < 1e-14);
    assert_true(fabs(by_control - 3.0 / inertia) < 1e-14);
    assert_int_equal(cal_dynamics_inverse_derivatives(dynamics, &q, &v, NULL, &by_q, &by_v, &by_tau), CAL_OK);
    assert_true(fabs(by_q - (9.81 * 0.8 * 2.0 * cos(q) + 0.7)) < 1e-13);
    assert_true(fabs(by_tau - inertia) < 1e-14);
    cal_dynamics_destroy(dynamics);
    cal_model_destroy(model);
}

// A free body: I ω̇ = −ω × I ω, and nothing else depends on anything.
static void a_free_body_has_eulers_equations(void** state) {
    (void)state;
    cal_model* model = cal_test_read("<mujoco><worldbody><body><freejoint/><inertial pos='0 0 0' mass='2' "
                                     "diaginertia='1 2 2.5'/></body></worldbody></mujoco>",
                                     "free.xml");
    cal_dynamics* dynamics = NULL;
    assert_int_equal(cal_dynamics_create(model, &dynamics, NULL), CAL_OK);
    const double q[7] = {1e5, -2e5, 3e4, 0.5, 0.5, -0.5, 0.5}, v[6] = {30.0, -2.0, 1.0, 0.3, -0.8, 1.1};
    const double I[3] = {1.0, 2.0, 2.5};
    double by_q[36], by_v[36];
    assert_int_equal(cal_dynamics_forward_derivatives(dynamics, q, v, NULL, NULL, by_q, by_v, NULL, NULL), CAL_OK);
    for (int i = 0; i < 36; i++) assert_true(fabs(by_q[i]) < 1e-14);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++) {
            const int a = i - 3, b = (a + 1) % 3, c = (a + 2) % 3, l = k - 3;
            const double right = a < 0 || l < 0 || l == a ? 0.0 : (I[b] - I[c]) / I[a] * v[3 + (l == b ? c : b)];
            assert_true(fabs(by_v[6 * i + k] - right) < 1e-14);
        }
    cal_dynamics_destroy(dynamics);
    cal_model_destroy(model);
}

// A point on two turning links: velocity by the Jacobian, and acceleration by differences of velocity along the motion.
static void points_move_as_differences_say(void** state) {
    (void)state;
    for (int m = 0; cal_test_zoo(m); m++) {
        cal_model* model = cal_test_model(cal_test_zoo(m));
        const int n = cal_model_v_count(model), positions = cal_model_q_count(model);
        cal_test_motion at = cal_test_random_motion(model, 3);
        cal_dynamics* dynamics = NULL;
        const double point[3] = {0.3, -0.2, 0.1}, h = 1e-5;
        double *J = cal_test_numbers(6 * (size_t)n), *q = cal_test_numbers((size_t)positions),
               *v = cal_test_numbers((size_t)n), velocity[6], acceleration[6], moved[2][6];
        assert_int_equal(cal_dynamics_create(model, &dynamics, NULL), CAL_OK);
        for (int i = 0; i < n; i++) at.qdd[i] = at.tau[i];
        for (int body = 0; body < cal_model_body_count(model); body += 1 + cal_model_body_count(model) / 3) {
            assert_int_equal(cal_dynamics_motion(dynamics, at.q, at.v, at.qdd, body, point, velocity, acceleration),
                             CAL_OK);
            assert_int_equal(cal_dynamics_jacobian(dynamics, at.q, body, point, J), CAL_OK);
            for (int end = 0; end < 2; end++) {
                const double step = end == 0 ? -h : h;
                // Along v + step/2 · qdd on average, so that positions are right to second order.
                for (int i = 0; i < n; i++) v[i] = at.v[i] + 0.5 * step * at.qdd[i];
                cal_test_displace(model, at.q, v, step, q);
                for (int i = 0; i < n; i++) v[i] = at.v[i] + step * at.qdd[i];
                assert_int_equal(cal_dynamics_motion(dynamics, q, v, NULL, body, point, moved[end], NULL), CAL_OK);
            }
            for (int i = 0; i < 6; i++) {
                double rate = 0.0;
                for (int k = 0; k < n; k++) rate += J[i * n + k] * at.v[k];
                const double size = 1.0 + cal_test_largest(velocity, 6) + cal_test_largest(acceleration, 6);
                cal_test_expect_below(fabs(rate - velocity[i]) / size, 1e-12, "velocity", cal_test_zoo(m));
                cal_test_expect_below(fabs((moved[1][i] - moved[0][i]) / (2.0 * h) - acceleration[i]) / size, 1e-7,
                                      "acceleration", cal_test_zoo(m));
            }
        }
        cal_dynamics_destroy(dynamics);
        cal_test_motion_free(&at);
        free(J), free(q), free(v);
        cal_model_destroy(model);
    }
}

static void wrong_arguments_are_refused(void** state) {
    (void)state;
    cal_model* model = cal_test_model("chain:n=2");
    cal_dynamics* dynamics = NULL;
    double q[2] = {0.0}, out[4];
    assert_int_equal(cal_dynamics_create(model, &dynamics, NULL), CAL_OK);
    assert_int_equal(cal_dynamics_forward_derivatives(NULL, q, NULL, NULL, NULL, out, NULL, NULL, NULL),
                     CAL_BAD_ARGUMENT);
    assert_int_equal(cal_dynamics_forward_derivatives(dynamics, NULL, NULL, NULL, NULL, out, NULL, NULL, NULL),
                     CAL_BAD_ARGUMENT);
    assert_int_equal(cal_dynamics_inverse_derivatives(NULL, q, NULL, NULL, out, NULL, NULL), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_dynamics_inverse_derivatives(dynamics, NULL, NULL, NULL, out, NULL, NULL), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_dynamics_forward_derivatives(dynamics, q, NULL, NULL, NULL, NULL, NULL, NULL, NULL), CAL_OK);
    assert_int_equal(cal_dynamics_motion(dynamics, q, NULL, NULL, 2, out, NULL, NULL), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_dynamics_motion(dynamics, q, NULL, NULL, -1, out, NULL, NULL), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_dynamics_motion(dynamics, q, NULL, NULL, 0, NULL, NULL, NULL), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_dynamics_motion(dynamics, q, NULL, NULL, 1, out, NULL, NULL), CAL_OK);
    q[1] = NAN;
    assert_int_not_equal(cal_dynamics_forward_derivatives(dynamics, q, NULL, NULL, NULL, out, NULL, NULL, NULL),
                         CAL_OK);
    assert_int_not_equal(cal_dynamics_inverse_derivatives(dynamics, q, NULL, NULL, out, NULL, NULL), CAL_OK);
    cal_dynamics_destroy(dynamics);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_agrees_with_differences), cmocka_unit_test(forces_agree_with_differences),
        cmocka_unit_test(a_pendulum_has_its_closed_form),      cmocka_unit_test(a_free_body_has_eulers_equations),
        cmocka_unit_test(points_move_as_differences_say),      cmocka_unit_test(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
