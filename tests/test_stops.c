// Stops whose stiffness nobody gave: they do not give way. (Those with a stiffness: test_energy_balance.c, test_dynamics.c.)
#define _DEFAULT_SOURCE
#include "support.h"
#include <math.h>
#include <string.h>

static const double MASS = 2.0, GRAVITY = 10.0;
static const char* const solvers[] = {"gear", "rkf", "rk4", "bdf", "implicit"};
enum { SOLVERS = 5 };

// Masses one above the other on a line along z, a stop at zero below each and `height` above it at the start.
static cal_model* masses(int count, const double* height, double hardness, double stiffness, double friction) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, (double[]){0.0, 0.0, -GRAVITY});
    for (int i = 0; i < count; i++) {
        cal_body_def body = cal_default_body_def();
        cal_joint_def line = cal_default_joint_def();
        body.parent = i - 1, body.mass = MASS;
        line.kind = CAL_PRISMATIC, line.initial_q[0] = height[i], line.friction_loss = friction;
        line.limited = true, line.range[1] = 100.0;
        line.limit_damping = hardness, line.limit_stiffness = stiffness;
        cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &line);
    }
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

// The speed w after an impact with u: c u − ln(1 + c u) = −c w − ln(1 − c w), whatever the stiffness.
static double speed_after(double c, double u) {
    double w = 0.5 / c;
    const double goal = c * u - log1p(c * u);
    for (int i = 0; i < 100; i++) w -= (-c * w - log1p(-c * w) - goal) * (1.0 - c * w) / (c * c * w);
    return w;
}

static void a_mass_bounces_as_the_law_of_stops_says(void** state) {
    (void)state;
    const double height = 0.45, c = 0.2, u = sqrt(2.0 * GRAVITY * height), w = speed_after(c, u),
                 w2 = speed_after(c, w);
    cal_model *model = masses(1, &height, c, 0.0, 0.0), *spring = masses(1, &height, c, 2e9, 0.0);
    for (int i = 0; i < SOLVERS; i++) {
        if (!cal_solver_help(solvers[i])) continue;
        cal_sim* sim = cal_test_open_sim(model, solvers[i], 1e-8, NULL, 0.0);
        const double first = u / GRAVITY, second = first + 2.0 * w / GRAVITY;
        cal_test_advance_sim(sim, first + w / GRAVITY);
        cal_test_expect_below(fabs(cal_sim_q(sim)[0] - 0.5 * w * w / GRAVITY), 1e-6, "height", solvers[i]);
        cal_test_advance_sim(sim, second + w2 / GRAVITY);
        cal_test_expect_below(fabs(cal_sim_q(sim)[0] - 0.5 * w2 * w2 / GRAVITY), 1e-6, "second", solvers[i]);
        cal_test_expect_balanced(sim, solvers[i]);
        cal_sim_destroy(sim);
    }
    // A spring that was told to be stiff has the same limit: its way in is u √(m/k) deep, and as long as that over u.
    cal_sim* sim = cal_test_open_sim(spring, "rkf", 1e-9, NULL, 0.0);
    cal_test_advance_sim(sim, (u + w) / GRAVITY);
    cal_test_expect_below(fabs(cal_sim_q(sim)[0] - 0.5 * w * w / GRAVITY), 10.0 * u * sqrt(MASS / 2e9), "height",
                          "spring");
    cal_sim_destroy(sim);
    cal_model_destroy(model), cal_model_destroy(spring);
}

// A limit of evaluations is that of an advance, however often something is hit in it: of 60 no flight has 40.
static void impacts_count_in_a_limit_of_evaluations(void** state) {
    (void)state;
    const double height = 0.45;
    cal_model* model = masses(1, &height, 0.02, 0.0, 0.0);
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    cal_error error = {0};
    def.solver = "rk4", def.step = 0.1, def.evaluation_limit = 40;
    assert_int_equal(cal_sim_create(model, &def, &sim, &error), CAL_OK);
    assert_int_equal(cal_sim_advance(sim, 1.6, &error), CAL_NOT_CONVERGED);
    assert_non_null(strstr(error.text, "evaluation_limit = 40"));
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// It comes to rest on the stop, and leaves it when it is lifted: at m g = F t, and then by F (t − t₀)³ / 6 m.
static const double LIFT = 4.0;
static void lift(cal_force_context* context, void* user) {
    (void)user;
    context->tau[0] += context->time > 2.0 ? LIFT * (context->time - 2.0) : 0.0;
}

static void a_mass_rests_on_a_stop_until_it_is_lifted(void** state) {
    (void)state;
    const double height = 0.2;
    cal_model* model = masses(1, &height, 100.0, 0.0, 0.0);
    for (int i = 0; i < SOLVERS; i++) {
        if (!cal_solver_help(solvers[i])) continue;
        cal_sim* sim = cal_test_open_sim(model, solvers[i], 1e-8, lift, 0.0);
        const double leaves = 2.0 + MASS * GRAVITY / LIFT;
        for (int k = 0; k < 10; k++) {
            cal_test_advance_sim(sim, 2.0 + 0.09 * k * (leaves - 2.0));
            cal_test_expect_below(fabs(cal_sim_q(sim)[0]), 1e-9, "at rest", solvers[i]);
            cal_test_expect_below(fabs(cal_sim_v(sim)[0]), 1e-15, "speed at rest", solvers[i]);
        }
        cal_sim* fork = NULL;
        assert_int_equal(cal_sim_fork(sim, &fork, NULL), CAL_OK);
        cal_test_advance_sim(sim, leaves + 1.0), cal_test_advance_sim(fork, leaves + 1.0);
        if (cal_sim_hash(sim) != cal_sim_hash(fork))
            fail_msg("%s: a fork differs by %g", solvers[i], cal_sim_q(sim)[0] - cal_sim_q(fork)[0]);
        cal_test_expect_below(fabs(cal_sim_q(sim)[0] - LIFT / (6.0 * MASS)), 1e-6, "lifted", solvers[i]);
        cal_sim_destroy(sim), cal_sim_destroy(fork);
    }
    cal_model_destroy(model);
}

// The lower mass rests on the ground when the upper one falls on it: it stays there, and the upper one bounces.
static void a_stop_at_rest_holds_against_an_impact(void** state) {
    (void)state;
    const double height[2] = {0.0, 0.45}, c = 0.2, u = sqrt(2.0 * GRAVITY * height[1]), w = speed_after(c, u);
    cal_model* model = masses(2, height, c, 0.0, 0.0);
    cal_sim* sim = cal_test_open_sim(model, "rkf", 1e-8, NULL, 0.0);
    cal_test_advance_sim(sim, (u + w) / GRAVITY);
    cal_test_expect_below(fabs(cal_sim_q(sim)[0]), 1e-9, "the lower one", "rkf");
    cal_test_expect_below(fabs(cal_sim_q(sim)[1] - 0.5 * w * w / GRAVITY), 1e-6, "the upper one", "rkf");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    // In flight together they keep their momentum: without losses, and the same mass, they exchange velocities.
    const double apart[2] = {50.0, 1.0};
    model = masses(2, apart, 0.0, 0.0, 0.0);
    sim = cal_test_open_sim(model, "rkf", 1e-8, NULL, 0.0);
    assert_int_equal(cal_sim_set(sim, 0.0, NULL, (double[]){0.0, -2.0}, NULL), CAL_OK);
    cal_test_advance_sim(sim, 1.0); // they meet at 0.5 s
    cal_test_expect_below(fabs(cal_sim_v(sim)[0] + 2.0 + GRAVITY), 1e-7, "the lower one's speed", "rkf");
    cal_test_expect_below(fabs(cal_sim_v(sim)[1] - 2.0), 1e-7, "the upper one's speed", "rkf");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// A parallelogram of three equal rods falls between two stops of its crank and loses nothing: as one pendulum, whose inertia about the
// crank's axis is 1/3 + 1/3 + 1 and whose moment is 1/2 + 1/2 + 1, in rods.
static void a_loop_swings_between_stops(void** state) {
    (void)state;
    static const double length = 1.0, end = 0.4;
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, (double[]){0.0, -GRAVITY, 0.0});
    int body[3];
    for (int i = 0; i < 3; i++) { // crank and follower stand up, the coupler lies on the crank
        cal_body_def rod = cal_default_body_def();
        cal_joint_def hinge = cal_default_joint_def();
        const int along = i == 1 ? 0 : 1;
        rod.parent = i == 1 ? body[0] : CAL_GROUND, rod.mass = 1.0, rod.center[along] = 0.5 * length;
        for (int k = 0; k < 3; k++) rod.inertia[k] = k == along ? 1e-6 : length * length / 12.0;
        rod.position[i == 1 ? 1 : 0] = i == 0 ? 0.0 : length;
        if (i == 0) hinge.limited = true, hinge.range[0] = -end, hinge.range[1] = end, hinge.limit_damping = 0.0;
        hinge.initial_v[0] = i == 1 ? -0.5 : 0.5;
        body[i] = cal_builder_add_body(builder, &rod);
        cal_builder_add_joint(builder, body[i], &hinge);
    }
    cal_constraint_def loop = cal_default_constraint_def();
    loop.kind = CAL_ROWS, loop.rows = CAL_ROW_X | CAL_ROW_Y, loop.body[0] = body[2], loop.body[1] = body[1];
    loop.position[0][1] = length, loop.position[1][0] = length;
    cal_builder_add_constraint(builder, &loop);
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    const double inertia = 5.0 / 3.0, moment = 2.0 * GRAVITY;
    for (int i = 0; i < SOLVERS; i++) {
        if (!cal_solver_help(solvers[i])) continue;
        cal_sim* sim = cal_test_open_sim(model, solvers[i], 1e-8, NULL, 0.0);
        double turned = 0.0;
        for (int k = 1; k <= 100; k++) {
            cal_test_advance_sim(sim, 0.02 * k);
            const double q = cal_sim_q(sim)[0], v = cal_sim_v(sim)[0];
            cal_test_expect_below(fabs(q) - end, 1e-8, "beyond", solvers[i]);
            cal_test_expect_below(fabs(0.5 * inertia * v * v + moment * cos(q) - 0.125 * inertia - moment), 1e-5,
                                  "energy", solvers[i]);
            turned += v < 0.0 ? 1.0 : 0.0;
        }
        assert_true(turned > 20.0 && turned < 80.0); // it went back and forth
        cal_test_expect_balanced(sim, solvers[i]);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mass_bounces_as_the_law_of_stops_says),
        cmocka_unit_test(impacts_count_in_a_limit_of_evaluations),
        cmocka_unit_test(a_mass_rests_on_a_stop_until_it_is_lifted),
        cmocka_unit_test(a_stop_at_rest_holds_against_an_impact),
        cmocka_unit_test(a_loop_swings_between_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
