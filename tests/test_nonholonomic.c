// Constraints on velocities alone, in both forms: a knife edge on an incline and a rolling disk on their closed forms, and
// wheels that do not slip in a hundred seconds.
#include "support.h"
#include <math.h>
#include <stdio.h>

static const char* const forms[] = {"lagrange", "minimal"};

static cal_sim* open_sim(const cal_model* model, const char* solver, const char* form, double tolerance) {
    cal_sim_def def = cal_default_sim_def();
    def.solver = solver;
    def.relative = tolerance;
    def.constraint_form = form;
    return cal_test_create_sim(model, &def);
}

// A body that may do anything, but not move along its y; gravity along x is what an incline leaves of it.
static cal_model* make_edge(double pull, double turn) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error;
    const double gravity[3] = {pull, 0.0, 0.0};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, gravity);
    cal_body_def body = cal_default_body_def();
    body.mass = 2.0;
    for (int i = 0; i < 3; i++) body.inertia[i] = 0.1 * (i + 1);
    cal_joint_def joint = cal_default_joint_def();
    joint.kind = CAL_FREE;
    joint.initial_v[5] = turn;
    cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &joint);
    cal_constraint_def edge = cal_default_constraint_def();
    edge.kind = CAL_KNIFE_EDGE;
    edge.body[0] = CAL_GROUND, edge.body[1] = 0;
    cal_builder_add_constraint(builder, &edge);
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

// Neimark and Fufaev's skate: turning steadily it does not run down the incline but across it, on a cycloid,
// x = a sin²ωt, y = a (ωt − ½ sin 2ωt), a = g/2ω².
static void a_knife_edge_on_an_incline_draws_a_cycloid(void** state) {
    (void)state;
    const double pull = 3.0, turn = 2.0, a = 0.5 * pull / (turn * turn);
    for (int form = 0; form < 2; form++) {
        cal_model* model = make_edge(pull, turn);
        cal_sim* sim = open_sim(model, "rkf", forms[form], 1e-9);
        for (int k = 1; k <= 100; k++) {
            const double phase = turn * 0.1 * k, sine = sin(phase);
            cal_test_advance_sim(sim, 0.1 * k);
            const double *q = cal_sim_q(sim), *v = cal_sim_v(sim);
            cal_test_expect_below(fabs(q[0] - a * sine * sine), 1e-7, "down", forms[form]);
            cal_test_expect_below(fabs(q[1] - a * (phase - 0.5 * sin(2.0 * phase))), 1e-7, "across", forms[form]);
            cal_test_expect_below(fabs(q[2]), 1e-12, "height", forms[form]);
            cal_test_expect_below(fabs(v[1] * cos(phase) - v[0] * sine), 1e-8, "slip", forms[form]);
        }
        cal_constraint_report report;
        assert_int_equal(cal_sim_constraints(sim, &report), CAL_OK);
        cal_test_expect_below(report.speed, 1e-14, "slip", forms[form]);
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
}

// The velocity of the axle across the heading, and how far the pin is off its rail.
static void a_cart_never_slips_sideways(void** state) {
    (void)state;
    for (int form = 0; form < 2; form++) {
        cal_model* model = cal_test_model("cart:gravity=3");
        cal_sim* sim = open_sim(model, "gear", forms[form], 1e-6);
        for (int k = 1; k <= 1000; k++) {
            cal_test_advance_sim(sim, 0.1 * k);
            const double *q = cal_sim_q(sim), *v = cal_sim_v(sim);
            const double heading = q[2] + 1.5707963267948966; // it starts along y
            cal_test_expect_below(fabs(v[1] * cos(heading) - v[0] * sin(heading)), 1e-12, "slip", forms[form]);
            const double x = q[0] + 0.3 * cos(heading), y = q[1] + 0.3 * sin(heading);
            cal_test_expect_below(fabs(hypot(x, y) - 1.0), 1e-12, "pin", forms[form]);
        }
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
}

// A nearly upright disk, leaning by θ and turning with Ω. Of what test_constraints.c has for steady rolling, small θ leaves
// (A + R²) θ̈ = R g θ − Ω (C + R²) w and A Ω̇ = C w θ̇, w = v/R. From θ₀ and Ω = 0, with e = (C + R²) C w²/A − R g,
//
//     θ = θ₀ (1 + R g/e (1 − cos p t)),  p² = e/(A + R²)          stable for e > 0: v² > g R/3
static void a_fast_disk_wobbles_and_a_slow_one_falls(void** state) {
    (void)state;
    const double R = 0.5, g = 9.81, A = 0.25 * R * R, C = 0.5 * R * R, start = 1e-4;
    static const double speeds[] = {2.0, 1.4, 1.2}; // the limit is at 1.28
    for (int k = 0; k < 3; k++) {
        const double w = speeds[k] / R, e = (C + R * R) * C * w * w / A - R * g, square = e / (A + R * R);
        char name[96];
        snprintf(name, sizeof name, "rolling-disk:radius=0.5,tilt=%g,speed=%g", start, speeds[k]);
        cal_model* model = cal_test_model(name);
        cal_sim* sim = open_sim(model, "rkf", forms[k % 2], 1e-11);
        for (int i = 1; i <= 20; i++) {
            const double t = 0.1 * i, wave = square > 0.0 ? cos(sqrt(square) * t) : cosh(sqrt(-square) * t);
            cal_test_advance_sim(sim, t);
            // The disk's axis is (0, cos, −sin) of the lean at the start, and (0, 0, 1) in the body.
            const double* u = cal_sim_q(sim) + 3;
            const double lean = -(1.0 - 2.0 * (u[1] * u[1] + u[2] * u[2])) / start;
            const double expected = 1.0 + R * g / e * (1.0 - wave);
            cal_test_expect_below(fabs(lean / expected - 1.0), 1e-3, "lean", name); // what is left is of order θ²
        }
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_knife_edge_on_an_incline_draws_a_cycloid),
        cmocka_unit_test(a_cart_never_slips_sideways),
        cmocka_unit_test(a_fast_disk_wobbles_and_a_slow_one_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
