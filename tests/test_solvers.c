// Solvers against closed forms: the pendulum (Jacobi's elliptic functions), the symmetric top, the thrown mass.
#include "base/memory.h"
#include "support.h"
#include <math.h>
#include <string.h>

// --- Closed forms ----------------------------------------------------------------------------------------------------

enum { SCALE_STEPS = 12 };

// Jacobi's amplitude am(u, k) by the arithmetic-geometric mean; quarter: the quarter period K(k).
static double amplitude(double u, double k, double* quarter) {
    double a[SCALE_STEPS + 1] = {1.0}, c[SCALE_STEPS + 1] = {k}, b = sqrt(1.0 - k * k), scale = 1.0;
    for (int n = 1; n <= SCALE_STEPS; n++) {
        a[n] = 0.5 * (a[n - 1] + b);
        c[n] = 0.5 * (a[n - 1] - b);
        b = sqrt(a[n - 1] * b);
        scale *= 2.0;
    }
    *quarter = acos(-1.0) / (2.0 * a[SCALE_STEPS]);
    double phi = scale * a[SCALE_STEPS] * u;
    for (int n = SCALE_STEPS; n > 0; n--) phi = 0.5 * (phi + asin(c[n] / a[n] * sin(phi)));
    return phi;
}

// A pendulum of 1 m released at rest: sin(θ/2) = k sn(ω t + K, k), k = sin(θ₀/2).
static void pendulum_at(double start, double time, double* angle, double* speed) {
    const double omega = sqrt(9.81), k = sin(0.5 * start);
    double quarter = 0.0;
    amplitude(0.0, k, &quarter);
    const double phi = amplitude(omega * time + quarter, k, &quarter);
    *angle = 2.0 * asin(k * sin(phi));
    *speed = 2.0 * k * omega * cos(phi);
}

static const double START = 1.5;

static cal_sim* open_sim(const cal_model* model, const cal_sim_def* def) { return cal_test_create_sim(model, def); }

static double pendulum_error(const cal_sim_def* def, double time) {
    cal_model* model = cal_test_model("pendulum:start=1.5");
    cal_sim* sim = open_sim(model, def);
    double angle, speed;
    cal_test_advance_sim(sim, time);
    pendulum_at(START, time, &angle, &speed);
    const double error = fmax(fabs(cal_sim_q(sim)[0] - angle), fabs(cal_sim_v(sim)[0] - speed));
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    return error;
}

static bool has_solver(const char* name) {
    for (int i = 0; cal_solver_name(i); i++)
        if (strcmp(cal_solver_name(i), name) == 0) return true;
    return false;
}

// --- Orders ----------------------------------------------------------------------------------------------------------

// A loose tolerance and a bound on the step make the variable-step methods take that step; the fixed ones take it
// anyway.
static void test_observed_order(void** state) {
    (void)state;
    // Step doubling extrapolates, which adds an order.
    static const struct {
        const char* solver;
        double order, step;
    } methods[] = {{"euler", 1.0, 0.001}, {"iec", 3.0, 0.02}, {"rki", 3.0, 0.02}, {"rk4", 4.0, 0.02},
                   {"rkg", 5.0, 0.08},    {"rkf", 5.0, 0.08}, {"rkck", 5.0, 0.08}};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        cal_sim_def def = cal_default_sim_def();
        def.solver = methods[i].solver;
        def.relative = 0.1;
        double errors[2];
        for (int half = 0; half < 2; half++) {
            def.step = def.largest_step = methods[i].step / (half + 1);
            errors[half] = pendulum_error(&def, 3.2);
        }
        const double order = log2(errors[0] / errors[1]);
        if (!(fabs(order - methods[i].order) < 0.45))
            fail_msg("%s: observed order %.2f, not %.0f (errors %.3g, %.3g)", methods[i].solver, order,
                     methods[i].order, errors[0], errors[1]);
    }
}

static void test_error_follows_tolerance(void** state) {
    (void)state;
    static const char* const solvers[] = {"gear", "rki", "rkg", "rkf", "rkck", "implicit", "bdf"};
    for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++) {
        if (!has_solver(solvers[i])) continue;
        cal_sim_def def = cal_default_sim_def();
        def.solver = solvers[i];
        def.relative = 1e-4;
        const double loose = pendulum_error(&def, 5.0);
        def.relative = 1e-8;
        const double tight = pendulum_error(&def, 5.0), slope = log10(loose / tight) / 4.0;
        // Methods that go on with the higher of two orders do better than asked, by up to the ratio of the orders.
        if (!(slope > 0.6 && slope < 1.8 && tight < 1e-5))
            fail_msg("%s: errors %.3g at 1e-4 and %.3g at 1e-8", solvers[i], loose, tight);
    }
}

static void test_gear_uses_high_orders(void** state) {
    (void)state;
    int64_t evaluations[2];
    cal_model* model = cal_test_model("pendulum:start=1.5");
    for (int bounded = 0; bounded < 2; bounded++) {
        cal_sim_def def = cal_default_sim_def();
        def.relative = 1e-11;
        def.largest_order = bounded ? 3 : 0;
        cal_sim* sim = open_sim(model, &def);
        cal_sim_report report;
        cal_test_advance_sim(sim, 5.0);
        cal_sim_get_report(sim, &report);
        evaluations[bounded] = report.evaluations;
        if (bounded)
            assert_in_range(report.order, 1, 3);
        else
            assert_in_range(report.order, 7, 12);
        cal_sim_destroy(sim);
    }
    assert_true(evaluations[1] > 4 * evaluations[0]);
    cal_model_destroy(model);
}

// --- Dense output ----------------------------------------------------------------------------------------------------

static void test_samples_are_as_good_as_steps_and_free(void** state) {
    (void)state;
    cal_model* model = cal_test_model("pendulum:start=1.5");
    for (int i = 0; cal_solver_name(i); i++) {
        cal_sim_def def = cal_default_sim_def();
        def.solver = cal_solver_name(i);
        def.relative = 1e-7;
        cal_sim *sampled = open_sim(model, &def), *straight = open_sim(model, &def);
        double worst = 0.0;
        for (int k = 1; k <= 1000; k++) {
            double angle, speed;
            cal_test_advance_sim(sampled, 0.004 * k);
            pendulum_at(START, 0.004 * k, &angle, &speed);
            worst = fmax(worst, fmax(fabs(cal_sim_q(sampled)[0] - angle), fabs(cal_sim_v(sampled)[0] - speed)));
        }
        cal_test_advance_sim(straight, 0.004 * 1000);
        cal_sim_report with, without;
        cal_sim_get_report(sampled, &with);
        cal_sim_get_report(straight, &without);
        cal_test_expect_below(worst, strcmp(def.solver, "euler") == 0 ? 0.05 : 2e-5, "samples", def.solver);
        if (with.evaluations != without.evaluations)
            fail_msg("%s: %lld evaluations with samples, %lld without", def.solver, (long long)with.evaluations,
                     (long long)without.evaluations);
        assert_true(cal_sim_hash(sampled) == cal_sim_hash(straight));
        cal_sim_destroy(sampled);
        cal_sim_destroy(straight);
    }
    cal_model_destroy(model);
}

// The largest error inside of any single step, by its weight, up to a time: against a run that starts where the step
// does.
static double error_inside_steps(const cal_model* model, const char* solver, double tolerance, double until) {
    cal_sim_def def = cal_default_sim_def();
    def.solver = solver, def.relative = tolerance;
    cal_sim* sim = open_sim(model, &def);
    def.solver = "rkf", def.relative = 1e-12;
    cal_sim* exact = open_sim(model, &def);
    const int q_count = cal_model_q_count(model), v_count = cal_model_v_count(model);
    double end = 0.0, worst = 0.0;
    while (end < until) {
        cal_sim_report report;
        const double begin = end, just_after = begin * (1.0 + 1e-15) + 1e-14;
        cal_test_advance_sim(sim, just_after); // makes the solver take one step
        cal_sim_get_report(sim, &report);
        end += report.step;
        assert_int_equal(cal_sim_set(exact, just_after, cal_sim_q(sim), cal_sim_v(sim), NULL), CAL_OK);
        for (int k = 1; k < 12; k++) {
            const double time = begin + (end - begin) * k / 12.0;
            if (time <= just_after) continue;
            cal_test_advance_sim(sim, time), cal_test_advance_sim(exact, time);
            const double *numbers[] = {cal_sim_q(sim), cal_sim_v(sim)}, *right[] = {cal_sim_q(exact), cal_sim_v(exact)};
            for (int i = 0; i < q_count + v_count; i++) {
                const int part = i >= q_count, at = part ? i - q_count : i;
                const double error = fabs(numbers[part][at] - right[part][at]);
                worst = fmax(worst, error / (1.0 + fabs(right[part][at])));
            }
        }
    }
    cal_sim_destroy(sim);
    cal_sim_destroy(exact);
    return worst;
}

static void test_polynomials_are_as_good_as_the_error_control(void** state) {
    (void)state;
    static const char* const models[] = {"chain:n=3,start=0.8", "pendulum:start=1.5", "chain:n=2,joint=ball,start=0.8"};
    for (int i = 0; i < 3; i++) {
        cal_model* model = cal_test_model(models[i]);
        cal_test_expect_below(error_inside_steps(model, "rkck", 1e-8, 0.5), 1e-7, "rkck inside of steps", models[i]);
        cal_test_expect_below(error_inside_steps(model, "implicit", 1e-8, 0.5), 2e-8, "implicit inside of steps",
                              models[i]);
        cal_model_destroy(model);
    }
}

// --- Rotations -------------------------------------------------------------------------------------------------------

static const double I1 = 2.0, I3 = 0.7, SPIN[3] = {1.1, -0.4, 2.3};

static cal_model* top_model(cal_joint_kind kind) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error = {0};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, (const double[3]){0.0, 0.0, 0.0});
    cal_body_def body = cal_default_body_def();
    body.mass = 3.0;
    body.inertia[0] = body.inertia[1] = I1, body.inertia[2] = I3;
    cal_joint_def joint = cal_default_joint_def();
    joint.kind = kind;
    for (int i = 0; i < 7; i++) joint.initial_q[i] = 0.0;
    joint.initial_q[kind == CAL_FREE ? 3 : 0] = 1.0;
    for (int i = 0; i < 3; i++) joint.initial_v[(kind == CAL_FREE ? 3 : 0) + i] = SPIN[i];
    cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &joint);
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

static void quaternion_product(const double a[4], const double b[4], double out[4]) {
    out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    out[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    out[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    out[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
}

static void rotation_by(const double vector[3], double out[4]) {
    const double angle = sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]);
    out[0] = cos(0.5 * angle);
    for (int i = 0; i < 3; i++) out[1 + i] = angle > 0.0 ? sin(0.5 * angle) * vector[i] / angle : 0.0;
}

// ω = L/I₁ + (1 − I₃/I₁) ω₃ e₃: a steady turn about L in space after a steady turn about the body's own axis.
static void top_at(double time, double q[4], double w[3]) {
    const double L[3] = {I1 * SPIN[0] / I1 * time, I1 * SPIN[1] / I1 * time, I3 * SPIN[2] / I1 * time};
    const double rate = (1.0 - I3 / I1) * SPIN[2], own[3] = {0.0, 0.0, rate * time};
    double space[4], body[4];
    rotation_by(L, space);
    rotation_by(own, body);
    quaternion_product(space, body, q);
    w[0] = cos(rate * time) * SPIN[0] + sin(rate * time) * SPIN[1];
    w[1] = -sin(rate * time) * SPIN[0] + cos(rate * time) * SPIN[1];
    w[2] = SPIN[2];
}

static double top_error(cal_joint_kind kind, const cal_sim_def* def, double time, double* length_error) {
    cal_model* model = top_model(kind);
    cal_sim* sim = open_sim(model, def);
    cal_test_advance_sim(sim, time);
    const double *q = cal_sim_q(sim) + (kind == CAL_FREE ? 3 : 0), *v = cal_sim_v(sim) + (kind == CAL_FREE ? 3 : 0);
    double exact[4], w[3], error = 0.0, dot = 0.0, length = 0.0;
    top_at(time, exact, w);
    for (int i = 0; i < 4; i++) dot += q[i] * exact[i], length += q[i] * q[i];
    for (int i = 0; i < 4; i++) error = fmax(error, fabs(q[i] - (dot < 0.0 ? -exact[i] : exact[i])));
    for (int i = 0; i < 3; i++) error = fmax(error, fabs(v[i] - w[i]));
    *length_error = fabs(sqrt(length) - 1.0);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    return error;
}

static void test_top_keeps_unit_quaternions_and_accuracy(void** state) {
    (void)state;
    static const cal_joint_kind kinds[] = {CAL_BALL, CAL_FREE};
    for (int i = 0; cal_solver_name(i); i++)
        for (int k = 0; k < 2; k++) {
            cal_sim_def def = cal_default_sim_def();
            def.solver = cal_solver_name(i);
            def.relative = 1e-8;
            double length = 0.0;
            const double error = top_error(kinds[k], &def, 7.77, &length);
            cal_test_expect_below(error, strcmp(def.solver, "euler") == 0 ? 0.05 : 1e-5, "top", def.solver);
            cal_test_expect_below(length, strcmp(def.solver, "bdf") == 0 ? 1e-8 : 1e-14, "length of the quaternion",
                                  def.solver);
        }
}

static void test_rotations_keep_the_order(void** state) {
    (void)state;
    static const struct {
        const char* solver;
        double order, step;
    } methods[] = {{"euler", 1.0, 0.001}, {"iec", 3.0, 0.02}, {"rki", 3.0, 0.02}, {"rk4", 4.0, 0.05},
                   {"rkg", 5.0, 0.1},     {"rkf", 5.0, 0.1},  {"rkck", 5.0, 0.1}, {"implicit", 6.0, 0.1}};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        cal_sim_def def = cal_default_sim_def();
        def.solver = methods[i].solver;
        def.relative = 0.1;
        double errors[2], length = 0.0;
        for (int half = 0; half < 2; half++) {
            def.step = def.largest_step = methods[i].step / (half + 1);
            errors[half] = top_error(CAL_BALL, &def, 4.0, &length);
        }
        const double order = log2(errors[0] / errors[1]);
        if (!(order > methods[i].order - 0.45))
            fail_msg("%s: observed order %.2f, not %.0f (errors %.3g, %.3g)", methods[i].solver, order,
                     methods[i].order, errors[0], errors[1]);
    }
}

// A body that spins steadily about a main axis is exact for any step of the exponential map.
static void test_steady_spin_is_exact_for_fixed_steps(void** state) {
    (void)state;
    static const char* const solvers[] = {"euler", "rk4"};
    cal_model* model = top_model(CAL_FREE);
    for (int i = 0; i < 2; i++) {
        cal_sim_def def = cal_default_sim_def();
        def.solver = solvers[i];
        def.step = 0.25;
        cal_sim* sim = open_sim(model, &def);
        const double v[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 3.0};
        assert_int_equal(cal_sim_set(sim, 0.0, NULL, v, NULL), CAL_OK);
        cal_test_advance_sim(sim, 2.0);
        const double* q = cal_sim_q(sim) + 3;
        cal_test_expect_below(fmax(fabs(q[0] - cos(3.0)), fabs(q[3] - sin(3.0))), 1e-13, "spin", solvers[i]);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// --- Long runs, jumps, forces ----------------------------------------------------------------------------------------

static void test_gear_keeps_the_energy_of_a_mobile(void** state) {
    (void)state;
    cal_model* model = cal_test_model("mobile:s=1,l=12,h=0.8333333333333333,a=0.2,b=0.3,c=0.2,rho=2,start=0.8");
    cal_sim_def def = cal_default_sim_def();
    def.relative = 1e-8;
    cal_sim* sim = open_sim(model, &def);
    double kinetic, potential, largest = 0.0, worst = 0.0;
    assert_int_equal(cal_sim_energy(sim, &kinetic, &potential), CAL_OK);
    const double start = kinetic + potential;
    for (int k = 1; k <= 1000; k++) {
        cal_test_advance_sim(sim, 0.1 * k);
        assert_int_equal(cal_sim_energy(sim, &kinetic, &potential), CAL_OK);
        largest = fmax(largest, kinetic);
        worst = fmax(worst, fabs(kinetic + potential - start));
    }
    cal_test_expect_below(worst / largest, 1e-6, "energy drift over 100 s", "mobile of 12 links");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// A body of 3 kg that floats, and is pushed.
static void test_restart_where_the_force_jumps(void** state) {
    (void)state;
    cal_model* model = top_model(CAL_FREE);
    for (int i = 0; cal_solver_name(i); i++) {
        cal_sim_def def = cal_default_sim_def();
        def.solver = cal_solver_name(i);
        cal_sim* sim = open_sim(model, &def);
        const double still[6] = {0.0}, centre[3] = {0.0}, none[3] = {0.0}, up[3] = {0.0, 0.0, 6.0},
                     tau[6] = {0.0, 0.0, -12.0};
        assert_int_equal(cal_sim_set(sim, 0.0, NULL, still, NULL), CAL_OK);
        assert_int_equal(cal_sim_push(sim, 0, up, none, centre), CAL_OK);
        cal_test_advance_sim(sim, 1.0);
        assert_int_equal(cal_sim_drive(sim, tau, NULL, NULL), CAL_OK);
        cal_test_advance_sim(sim, 2.0);
        assert_int_equal(cal_sim_release(sim), CAL_OK);
        cal_test_advance_sim(sim, 3.0);
        // Accelerations 2, −2, −4 m/s² for a second each: z = 1 + 1 + (0 − 2), v = 2 − 2 − 4.
        const double bound = strcmp(def.solver, "euler") == 0 ? 0.02 : 2e-3;
        cal_test_expect_below(fabs(cal_sim_q(sim)[2] - (1.0 + 1.0 - 2.0)), bound, "height", def.solver);
        cal_test_expect_below(fabs(cal_sim_v(sim)[2] + 4.0), bound, "speed", def.solver);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// 3 kg that are pushed with 6 N until 0.37 s, and with −9 N after it; the solver is not told.
static void turn_the_push(cal_force_context* context, void* user) {
    (void)user;
    context->tau[2] = context->time < 0.37 ? 6.0 : -9.0;
}

// Accelerations 2 and −3 m/s².
static void pushed_at(double time, double* z, double* speed) {
    const double late = time - 0.37;
    *z = late < 0.0 ? time * time : 0.37 * 0.37 + 2.0 * 0.37 * late - 1.5 * late * late;
    *speed = late < 0.0 ? 2.0 * time : 2.0 * 0.37 - 3.0 * late;
}

// What is left of a jump is at most 200 times the tolerance for any of them: formulas that are compared differ by as little as a part of
// the error that a jump makes in one. Steps of fixed size are off by half a step's share of it.
static void test_every_solver_gets_over_a_jump(void** state) {
    (void)state;
    cal_model* model = top_model(CAL_FREE);
    for (int i = 0; cal_solver_name(i); i++)
        for (int tight = 0; tight < 2; tight++) {
            cal_sim_def def = cal_default_sim_def();
            def.solver = cal_solver_name(i), def.relative = tight ? 1e-9 : 1e-4, def.force = turn_the_push;
            cal_sim* sim = open_sim(model, &def);
            const double still[6] = {0.0};
            double worst = 0.0;
            assert_int_equal(cal_sim_set(sim, 0.0, NULL, still, NULL), CAL_OK);
            // Samples closer and closer to the jump from both sides, where steps are as small as the tolerance.
            for (int k = 0; k < 400; k++) {
                const double time = k < 200 ? 0.37 - 0.3 * pow(0.9, k) : 0.37 + 0.6 * pow(0.9, 399 - k);
                double z, speed;
                cal_test_advance_sim(sim, time);
                pushed_at(time, &z, &speed);
                worst = fmax(worst, fmax(fabs(cal_sim_q(sim)[2] - z), fabs(cal_sim_v(sim)[2] - speed)));
            }
            cal_test_expect_below(worst, cal_solver_has_fixed_step(def.solver) ? 5.0 * def.step : 200.0 * def.relative,
                                  "error over a jump", def.solver);
            cal_sim_destroy(sim);
        }
    cal_model_destroy(model);
}

// A body that nothing acts on takes longer and longer steps, until it meets a spring that begins at a wall: it comes back as fast as
// it went. Walls are at many places in a step.
static void test_no_solver_steps_through_a_stop(void** state) {
    (void)state;
    const double speed = 0.5;
    for (int i = 0; cal_solver_name(i); i++)
        for (int k = 0; k < 16; k++) {
            cal_builder* builder = NULL;
            cal_model* model = NULL;
            cal_body_def body = cal_default_body_def();
            cal_joint_def slide = cal_default_joint_def();
            const double none[3] = {0.0}, wall = 0.05 * pow(1.3, k);
            body.mass = 2.0, body.inertia[0] = body.inertia[1] = body.inertia[2] = 0.1;
            slide.kind = CAL_PRISMATIC, slide.initial_v[0] = speed;
            slide.limited = true, slide.range[0] = -1e6, slide.range[1] = wall;
            slide.limit_stiffness = 800.0, slide.limit_damping = 1e-6;
            assert_int_equal(cal_builder_create(&builder), CAL_OK);
            cal_builder_set_gravity(builder, none);
            cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &slide);
            assert_int_equal(cal_builder_finish(builder, &model, NULL), CAL_OK);
            cal_builder_destroy(builder);
            cal_sim_def def = cal_default_sim_def();
            def.solver = cal_solver_name(i), def.relative = k % 2 == 0 ? 1e-8 : 1e-5;
            if (cal_solver_has_fixed_step(def.solver)) def.step = 1e-3;
            cal_sim* sim = open_sim(model, &def);
            cal_test_advance_sim(sim, wall / speed + 1.0);
            cal_test_expect_below(fabs(cal_sim_v(sim)[0] + speed),
                                  cal_solver_has_fixed_step(def.solver) ? 10.0 * def.step : 1000.0 * def.relative,
                                  "speed after a stop", def.solver);
            cal_sim_destroy(sim);
            cal_model_destroy(model);
        }
}

// A callback that is not a number from a time on ends the run with a line, and the last good state is kept.
static void spoil_the_push(cal_force_context* context, void* user) {
    (void)user;
    if (context->time > 0.5) context->tau[2] = (double)NAN;
}

static void test_a_callback_that_is_not_a_number_keeps_the_last_state(void** state) {
    (void)state;
    cal_model* model = top_model(CAL_FREE);
    for (int i = 0; cal_solver_name(i); i++) {
        cal_sim_def def = cal_default_sim_def();
        cal_error error = {0};
        def.solver = cal_solver_name(i), def.force = spoil_the_push;
        cal_sim* sim = open_sim(model, &def);
        cal_test_advance_sim(sim, 0.4);
        const uint64_t hash = cal_sim_hash(sim);
        const cal_status status = cal_sim_advance(sim, 1.0, &error);
        if (status != CAL_NOT_FINITE || !error.text[0] || cal_sim_hash(sim) != hash)
            fail_msg("%s: status %d, '%s'", def.solver, (int)status, error.text);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

static void add_damping(cal_force_context* context, void* user) {
    const double damping = *(const double*)user;
    for (int i = 0; i < cal_model_v_count(context->model); i++) context->tau[i] -= damping * context->v[i];
}

static void test_callback_acts_like_the_model(void** state) {
    (void)state;
    double damping = 0.3;
    cal_model* inside = cal_test_model("pendulum:start=1.5,damping=0.3");
    cal_model* outside = cal_test_model("pendulum:start=1.5");
    for (int i = 0; cal_solver_name(i); i++) {
        cal_sim_def def = cal_default_sim_def();
        def.solver = cal_solver_name(i);
        cal_sim* model_damped = open_sim(inside, &def);
        def.force = add_damping;
        def.user = &damping;
        cal_sim* callback_damped = open_sim(outside, &def);
        cal_test_advance_sim(model_damped, 2.0);
        cal_test_advance_sim(callback_damped, 2.0);
        // One solver takes the model's damper at the end of its steps, and the callback's at the beginning.
        cal_test_expect_below(fabs(cal_sim_q(model_damped)[0] - cal_sim_q(callback_damped)[0]),
                              strcmp(def.solver, "implicit") == 0 ? 1e-4 : 1e-10, "damping", def.solver);
        cal_sim_destroy(model_damped);
        cal_sim_destroy(callback_damped);
    }
    cal_model_destroy(inside);
    cal_model_destroy(outside);
}

static void push_upwards(cal_force_context* context, void* user) {
    const double up[3] = {0.0, 0.0, 6.0}, none[3] = {0.0};
    (void)user;
    (void)cal_state_push(context->state, 0, up, none, none);
}

static void test_callback_pushes_last_one_evaluation(void** state) {
    (void)state;
    cal_model* model = top_model(CAL_FREE);
    cal_sim_def def = cal_default_sim_def();
    def.force = push_upwards;
    cal_sim* sim = open_sim(model, &def);
    cal_test_advance_sim(sim, 1.0);
    cal_test_expect_below(fabs(cal_sim_v(sim)[2] - 2.0), 1e-3, "speed", "free body");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

static void test_bits_do_not_depend_on_lanes(void** state) {
    (void)state;
    static const char* const models[] = {"mobile:s=2,l=3,o=5,h=1,plateau=leaf,start=0.8", "stickman"};
    for (int m = 0; m < 2; m++) {
        cal_model* model = cal_test_model(models[m]);
        for (int i = 0; cal_solver_name(i); i++) {
            uint64_t first = 0;
            for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) {
                cal_machine* machine = NULL;
                assert_int_equal(cal_machine_serial(lanes, &machine, NULL), CAL_OK);
                cal_sim_def def = cal_default_sim_def();
                def.solver = cal_solver_name(i);
                def.machine = machine;
                cal_sim* sim = open_sim(model, &def);
                cal_test_advance_sim(sim, 0.3);
                if (lanes == 1) first = cal_sim_hash(sim);
                if (cal_sim_hash(sim) != first)
                    fail_msg("%s on %s: other bits with %d lanes", def.solver, models[m], lanes);
                cal_sim_destroy(sim);
                cal_machine_destroy(machine);
            }
        }
        cal_model_destroy(model);
    }
}

// --- Stiffness -------------------------------------------------------------------------------------------------------

static double difference_between(const char* specification, double tolerance, double time) {
    cal_model* model = cal_test_model(specification);
    cal_sim_def def = cal_default_sim_def();
    def.relative = tolerance;
    cal_sim* gear = open_sim(model, &def);
    def.solver = "bdf";
    cal_sim* bdf = open_sim(model, &def);
    cal_test_advance_sim(gear, time);
    cal_test_advance_sim(bdf, time);
    const double difference =
        cal_test_largest_difference(cal_sim_q(gear), cal_sim_q(bdf), (size_t)cal_model_q_count(model));
    cal_sim_destroy(gear);
    cal_sim_destroy(bdf);
    cal_model_destroy(model);
    return difference;
}

static void test_bdf_agrees_with_gear(void** state) {
    (void)state;
    if (!has_solver("bdf")) skip();
    static const char* const models[] = {
        "mobile:s=1,l=4,h=1,damping=1,start=0.8", "mobile:s=3,l=5,o=9,h=1,plateau=leaf,damping=1,start=0.8",
        "tree:height=4,fanout=4,joint=ball,damping=0.5", "random:n=60,passive=1,seed=3"};
    const double time = CAL_TEST_SANITIZED ? 0.05 : 0.3; // slow there
    for (int i = 0; i < 4; i++)
        cal_test_expect_below(difference_between(models[i], 1e-6, time), 2e-4, "bdf against gear", models[i]);
}

// The target for stiff systems of many joints: linear cost, flat in the damping.
static void test_bdf_needs_few_evaluations_for_many_damped_joints(void** state) {
    (void)state;
    if (!has_solver("bdf")) skip();
    static const char* const models[] = {"mobile:s=3,l=5,o=9,h=1,plateau=leaf,damping=5,start=0.8",
                                         "mobile:s=3,l=5,o=9,h=1,plateau=leaf,damping=10,start=0.8"};
    for (int i = 0; i < 2; i++) {
        cal_model* model = cal_test_model(models[i]);
        cal_sim_def def = cal_default_sim_def();
        def.solver = "bdf";
        def.relative = 1e-2;
        def.historic = true; // the whole tolerance, as in Jung's session D
        cal_sim* sim = open_sim(model, &def);
        cal_sim_report report;
        cal_test_advance_sim(sim, 10.0);
        cal_sim_get_report(sim, &report);
        cal_test_expect_below((double)report.evaluations / 10.0, 30.0, "evaluations a second", models[i]);
        assert_true(report.jacobian_evaluations > 0 && report.jacobian_evaluations < report.evaluations);
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
}

// --- Errors ----------------------------------------------------------------------------------------------------------

static void expect_refused(cal_sim_def def, const char* part) {
    cal_model* model = cal_test_model("pendulum");
    cal_sim* sim = NULL;
    cal_error error = {0};
    assert_int_equal(cal_sim_create(model, &def, &sim, &error), CAL_BAD_ARGUMENT);
    assert_null(sim);
    if (!strstr(error.text, part)) fail_msg("'%s' does not say '%s'", error.text, part);
    cal_model_destroy(model);
}

static void test_bad_definitions_are_refused(void** state) {
    (void)state;
    cal_sim_def def = cal_default_sim_def();
    def.solver = "simpson";
    expect_refused(def, "gear, iec, rki, rkg, rkf, rkck, implicit, rk4, euler");
    def = cal_default_sim_def(), def.relative = 0.0;
    expect_refused(def, "relative tolerance");
    def = cal_default_sim_def(), def.relative = (double)NAN;
    expect_refused(def, "relative tolerance");
    def = cal_default_sim_def(), def.absolute = -1.0;
    expect_refused(def, "absolute tolerance");
    def = cal_default_sim_def(), def.step = 0.0;
    expect_refused(def, "step");
    def = cal_default_sim_def(), def.largest_step = (double)INFINITY;
    expect_refused(def, "largest step");
    def = cal_default_sim_def(), def.largest_order = 13;
    expect_refused(def, "largest order");
    def = cal_default_sim_def(), def.algorithm = "energy";
    expect_refused(def, "algorithm");
    def = cal_default_sim_def(), def.cookie = 0;
    expect_refused(def, "cal_default_sim_def");
}

static void test_steps_that_cannot_be_counted_are_refused(void** state) {
    (void)state;
    static const char* const solvers[] = {"rk4", "euler"};
    cal_model* model = cal_test_model("pendulum");
    for (int i = 0; i < 4; i++) {
        cal_error error = {0};
        cal_sim_def def = cal_default_sim_def();
        def.solver = solvers[i % 2], def.step = 1e-300;
        if (i < 2) {
            cal_sim* sim = open_sim(model, &def);
            assert_int_equal(cal_sim_advance(sim, 1.0, &error), CAL_BAD_ARGUMENT);
            assert_true(cal_sim_time(sim) == 0.0);
            cal_sim_destroy(sim);
        } else {
            cal_ensemble_def many = cal_default_ensemble_def();
            cal_ensemble* ensemble = NULL;
            many.sim = def;
            assert_int_equal(cal_ensemble_create_def(model, &many, &ensemble, NULL), CAL_OK);
            assert_int_equal(cal_ensemble_advance(ensemble, 1.0, &error), CAL_BAD_ARGUMENT);
            cal_ensemble_destroy(ensemble);
        }
        assert_non_null(strstr(error.text, "1e-300"));
    }
    cal_model_destroy(model);
}

static void test_time_goes_forward(void** state) {
    (void)state;
    cal_model* model = cal_test_model("pendulum");
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = open_sim(model, &def);
    cal_error error = {0};
    cal_test_advance_sim(sim, 1.0);
    const uint64_t hash = cal_sim_hash(sim);
    assert_int_equal(cal_sim_advance(sim, 0.5, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "cal_sim_set"));
    assert_int_equal(cal_sim_advance(sim, (double)NAN, &error), CAL_BAD_ARGUMENT);
    assert_true(cal_sim_hash(sim) == hash);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

static void explode_after_one(cal_force_context* context, void* user) {
    (void)user;
    if (context->time > 1.0) context->tau[0] = (double)NAN;
}

static void test_not_finite_is_reported_and_the_last_state_kept(void** state) {
    (void)state;
    cal_model* model = cal_test_model("pendulum");
    for (int i = 0; cal_solver_name(i); i++) {
        cal_sim_def def = cal_default_sim_def();
        def.solver = cal_solver_name(i);
        def.force = explode_after_one;
        cal_sim* sim = open_sim(model, &def);
        cal_error error = {0};
        cal_test_advance_sim(sim, 0.5);
        const uint64_t hash = cal_sim_hash(sim);
        const cal_status status = cal_sim_advance(sim, 2.0, &error);
        if (status != CAL_NOT_FINITE) fail_msg("%s: status %d, %s", def.solver, (int)status, error.text);
        if (!strstr(error.text, "'bob'")) fail_msg("%s: '%s' does not name the body", def.solver, error.text);
        assert_true(cal_sim_hash(sim) == hash);
        // It goes on from there as far as it can.
        cal_test_advance_sim(sim, 0.75);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

static void test_evaluation_limit(void** state) {
    (void)state;
    cal_model* model = cal_test_model("pendulum");
    for (int i = 0; cal_solver_name(i); i++) {
        cal_sim_def def = cal_default_sim_def();
        def.solver = cal_solver_name(i);
        def.evaluation_limit = 30;
        cal_sim* sim = open_sim(model, &def);
        cal_error error = {0};
        assert_int_equal(cal_sim_advance(sim, 1000.0, &error), CAL_NOT_CONVERGED);
        assert_non_null(strstr(error.text, "evaluation_limit"));
        assert_true(cal_sim_time(sim) == 0.0);
        cal_test_advance_sim(sim, 1e-3);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

static void test_set_refuses_what_is_not_a_state(void** state) {
    (void)state;
    cal_model* model = top_model(CAL_BALL);
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = open_sim(model, &def);
    const uint64_t hash = cal_sim_hash(sim);
    const double flat[4] = {0.0}, wrong[4] = {1.0, (double)NAN, 0.0, 0.0}, twice[4] = {0.0, 2.0, 0.0, 0.0};
    assert_int_equal(cal_sim_set(sim, 0.0, flat, NULL, NULL), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_sim_set(sim, 0.0, wrong, NULL, NULL), CAL_BAD_ARGUMENT);
    assert_true(cal_sim_hash(sim) == hash);
    assert_int_equal(cal_sim_set(sim, 3.0, twice, NULL, NULL), CAL_OK);
    assert_true(cal_sim_q(sim)[1] == 1.0 && cal_sim_time(sim) == 3.0);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

static void test_running_out_of_memory_is_a_status(void** state) {
    (void)state;
    cal_model* model = cal_test_model("mobile:s=3,l=5,o=9,h=1,plateau=leaf,start=0.8");
    const int64_t before = cal_live_allocations();
    for (int i = 0; cal_solver_name(i); i++) {
        cal_status status = CAL_NO_MEMORY;
        for (int count = 0; status; count++) {
            cal_sim_def def = cal_default_sim_def();
            def.solver = cal_solver_name(i);
            cal_sim* sim = NULL;
            double kinetic, potential;
            cal_fail_allocation(count);
            status = cal_sim_create(model, &def, &sim, NULL);
            if (!status) status = cal_sim_advance(sim, 0.01, NULL);
            if (!status) status = cal_sim_energy(sim, &kinetic, &potential);
            cal_fail_allocation(-1);
            cal_sim_destroy(sim);
            if (status && status != CAL_NO_MEMORY) fail_msg("%s: status %d", def.solver, (int)status);
            assert_true(cal_live_allocations() == before);
        }
    }
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_observed_order),
        cmocka_unit_test(test_error_follows_tolerance),
        cmocka_unit_test(test_gear_uses_high_orders),
        cmocka_unit_test(test_samples_are_as_good_as_steps_and_free),
        cmocka_unit_test(test_polynomials_are_as_good_as_the_error_control),
        cmocka_unit_test(test_top_keeps_unit_quaternions_and_accuracy),
        cmocka_unit_test(test_rotations_keep_the_order),
        cmocka_unit_test(test_steady_spin_is_exact_for_fixed_steps),
        cmocka_unit_test(test_gear_keeps_the_energy_of_a_mobile),
        cmocka_unit_test(test_restart_where_the_force_jumps),
        cmocka_unit_test(test_every_solver_gets_over_a_jump),
        cmocka_unit_test(test_no_solver_steps_through_a_stop),
        cmocka_unit_test(test_a_callback_that_is_not_a_number_keeps_the_last_state),
        cmocka_unit_test(test_callback_acts_like_the_model),
        cmocka_unit_test(test_callback_pushes_last_one_evaluation),
        cmocka_unit_test(test_bits_do_not_depend_on_lanes),
        cmocka_unit_test(test_bdf_agrees_with_gear),
        cmocka_unit_test(test_bdf_needs_few_evaluations_for_many_damped_joints),
        cmocka_unit_test(test_bad_definitions_are_refused),
        cmocka_unit_test(test_steps_that_cannot_be_counted_are_refused),
        cmocka_unit_test(test_time_goes_forward),
        cmocka_unit_test(test_not_finite_is_reported_and_the_last_state_kept),
        cmocka_unit_test(test_evaluation_limit),
        cmocka_unit_test(test_set_refuses_what_is_not_a_state),
        cmocka_unit_test(test_running_out_of_memory_is_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
