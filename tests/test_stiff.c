// Stiff joints: what joint forces fall by, and the solver that takes it at the end of its steps.
#include "base/random.h"
#include "calder/calder_world.h"
#include "pass/joint_law.h"
#include "support.h"
#include <math.h>
#include <string.h>

static cal_sim* open_sim(const cal_model* model, const char* solver, double tolerance, cal_machine* machine) {
    cal_sim_def def = cal_default_sim_def();
    def.solver = solver, def.relative = tolerance, def.machine = machine;
    return cal_test_create_sim(model, &def);
}

// A swinging arm of 1 m and 1 kg, and at its end a link of 0.1 m and 10 g whose servo (kp = 1e4 N m/rad) keeps it at an
// angle. Damping ratio 1 for the link alone: both of its rates are about 1.8e4 1/s.
static cal_model* servo_model(void) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error = {0};
    const double stiffness = 1e4, own = 0.01 * 0.1 * 0.1 / 12.0, inertia = own + 0.01 * 0.05 * 0.05;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def arm = cal_default_body_def(), link = cal_default_body_def();
    arm.mass = 1.0, arm.center[0] = 0.5;
    for (int i = 0; i < 3; i++) arm.inertia[i] = 1.0 / 12.0, link.inertia[i] = own;
    link.mass = 0.01, link.center[0] = 0.05, link.position[0] = 1.0;
    cal_joint_def hinge = cal_default_joint_def();
    hinge.axis[0] = hinge.axis[2] = 0.0, hinge.axis[1] = 1.0;
    link.parent = cal_builder_add_body(builder, &arm);
    cal_builder_add_joint(builder, link.parent, &hinge);
    const int wrist = cal_builder_add_joint(builder, cal_builder_add_body(builder, &link), &hinge);
    cal_actuator_def servo = cal_default_actuator_def();
    servo.joint = wrist, servo.gain = stiffness, servo.initial_control = 0.3;
    servo.bias[1] = -stiffness, servo.bias[2] = -2.0 * sqrt(stiffness * inertia);
    cal_builder_add_actuator(builder, &servo);
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

// --- The laws --------------------------------------------------------------------------------------------------------

// A hinge with everything.
static cal_model* dressed_hinge(void) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error = {0};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def body = cal_default_body_def();
    body.mass = 1.0;
    for (int i = 0; i < 3; i++) body.inertia[i] = 0.1;
    cal_joint_def joint = cal_default_joint_def();
    joint.damping = 0.7, joint.stiffness = 30.0, joint.spring_reference = 0.1;
    joint.limited = true, joint.range[0] = -1.0, joint.range[1] = 1.0;
    joint.limit_stiffness = 500.0, joint.limit_damping = 0.4;
    const int hinge = cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &joint);
    cal_actuator_def servo = cal_default_actuator_def();
    servo.joint = hinge, servo.gear = 2.0, servo.gain = 40.0, servo.bias[1] = -40.0, servo.bias[2] = -3.0;
    servo.force_range[0] = -200.0, servo.force_range[1] = 200.0;
    cal_builder_add_actuator(builder, &servo);
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

static void slopes_are_the_derivatives_of_forces(void** state) {
    (void)state;
    cal_model* model = dressed_hinge();
    static const double places[] = {0.2, 1.3, -1.2}, speeds[] = {0.5, -0.8}, control = 0.7, e = 1e-5;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) {
            const double q = places[i], v = speeds[k];
            double damping, stiffness;
            assert_true(cal_joint_slopes(model, &control, &q, &v, &damping, &stiffness));
            const double by_q =
                cal_joint_force(model, 0, &control, q + e, v) - cal_joint_force(model, 0, &control, q - e, v);
            const double by_v =
                cal_joint_force(model, 0, &control, q, v + e) - cal_joint_force(model, 0, &control, q, v - e);
            cal_test_expect_below(fabs(-by_q / (2.0 * e) - stiffness), 1e-5, "stiffness", "hinge");
            cal_test_expect_below(fabs(-by_v / (2.0 * e) - damping), 1e-5, "damping", "hinge");
        }
    cal_model_destroy(model);
}

// What the controls ask for decides whether a servo is clamped, and a clamped one holds nothing.
static void a_clamped_servo_is_less_stiff(void** state) {
    (void)state;
    cal_model* model = dressed_hinge();
    const double q = 0.0, v = 0.0, mild = 0.5, strong = 50.0;
    double damping, free_stiffness, clamped_stiffness;
    cal_joint_slopes(model, &mild, &q, &v, &damping, &free_stiffness);
    cal_joint_slopes(model, &strong, &q, &v, &damping, &clamped_stiffness);
    cal_test_expect_below(fabs(free_stiffness - (30.0 + 4.0 * 40.0)), 1e-12, "stiffness", "servo");
    cal_test_expect_below(fabs(clamped_stiffness - (30.0 + 0.1 * 4.0 * 40.0)), 1e-12, "stiffness", "clamped servo");
    cal_model_destroy(model);
}

// --- The solver ------------------------------------------------------------------------------------------------------

// The largest error with steps of one size, at their ends and inside of them.
static double error_with_steps(const cal_model* model, double step, double time) {
    enum { SAMPLES = 37 };
    cal_sim_def def = cal_default_sim_def();
    cal_sim *sim = NULL, *exact = open_sim(model, "rkck", 1e-12, NULL);
    def.solver = "implicit", def.relative = def.absolute = 0.1, def.largest_step = step;
    assert_int_equal(cal_sim_create(model, &def, &sim, NULL), CAL_OK);
    double worst = 0.0;
    for (int i = 1; i <= SAMPLES; i++) {
        cal_test_advance_sim(sim, time * i / SAMPLES), cal_test_advance_sim(exact, time * i / SAMPLES);
        worst = fmax(worst, cal_test_state_difference(sim, exact, model));
    }
    cal_sim_destroy(sim), cal_sim_destroy(exact);
    return worst;
}

// With these steps the error falls by more than that. Constraints, of whatever kind, leave it so: loops in the plane, in space, with rows that follow
// from others, one that is a pendulum, wheels.
static void it_has_order_six(void** state) {
    (void)state;
    static const struct {
        const char* name;
        double step, time;
    } runs[] = {{"pendulum:start=1.5,damping=0.3", 0.16, 3.2},
                {"pendulum:form=distance", 0.1, 1.0},
                {"fourbar:n=1", 0.2, 0.4},
                {"fivebar", 0.025, 0.3},
                {"bricard", 0.1, 0.5},
                {"delta", 0.0125, 0.3},
                {"sarrus", 0.1, 0.4},
                {"tower:n=3", 0.025, 0.4},
                {"cart", 0.025, 1.0}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        cal_model* model = cal_test_model(runs[i].name);
        const double whole = error_with_steps(model, runs[i].step, runs[i].time),
                     half = error_with_steps(model, 0.5 * runs[i].step, runs[i].time), order = log2(whole / half);
        if (!(order > 5.5 && whole < 1e-5))
            fail_msg("%s: observed order %.2f (errors %.3g, %.3g)", runs[i].name, order, whole, half);
        cal_model_destroy(model);
    }
}

// A five-bar takes not many more evaluations than an open chain of as many joints: 3800, 164,000 where only ends of steps are closed.
static void loops_are_as_cheap_as_trees(void** state) {
    (void)state;
    cal_model* model = cal_test_model("fivebar");
    cal_sim *expected = open_sim(model, "rkck", 1e-11, NULL), *sim = open_sim(model, "implicit", 1e-8, NULL);
    cal_sim_report report;
    cal_test_advance_sim(sim, 1.0), cal_test_advance_sim(expected, 1.0);
    cal_test_expect_below(cal_test_state_difference(sim, expected, model), 1e-7, "difference to rkck", "fivebar");
    cal_test_advance_sim(sim, 2.0);
    cal_sim_get_report(sim, &report);
    if (!(report.evaluations < 8000)) fail_msg("%lld evaluations", (long long)report.evaluations);
    cal_sim_destroy(sim), cal_sim_destroy(expected);
    cal_model_destroy(model);
}

// Every kind of joint, with dampers, springs, stops, dry friction and motors.
static void it_agrees_with_explicit_methods(void** state) {
    (void)state;
    static const char* const names[] = {"stickman", "random:n=12,seed=4", "tree:height=3,fanout=2,joint=ball"};
    for (int i = 0; i < 3; i++) {
        cal_model *plain = cal_test_model(names[i]), *model = cal_test_dress(plain, 3 + (uint64_t)i);
        cal_sim *expected = open_sim(model, "rkck", 1e-11, NULL), *sim = open_sim(model, "implicit", 1e-8, NULL);
        cal_test_advance_sim(expected, 0.3), cal_test_advance_sim(sim, 0.3);
        cal_test_expect_below(cal_test_state_difference(sim, expected, model), 1e-5, "difference to rkck", names[i]);
        cal_sim_destroy(expected), cal_sim_destroy(sim);
        cal_model_destroy(model), cal_model_destroy(plain);
    }
}

static void a_servo_on_a_light_link_is_cheap(void** state) {
    (void)state;
    cal_model* model = servo_model();
    cal_sim *expected = open_sim(model, "rkf", 1e-9, NULL), *explicit = open_sim(model, "rkf", 1e-6, NULL);
    cal_sim* sim = open_sim(model, "implicit", 1e-6, NULL);
    cal_sim_report report, explicit_report;
    cal_test_advance_sim(explicit, 1.0);
    // Samples inside of steps are as good as their ends.
    double worst = 0.0;
    for (int k = 1; k <= 200; k++) {
        cal_test_advance_sim(sim, 0.005 * k), cal_test_advance_sim(expected, 0.005 * k);
        worst = fmax(worst, cal_test_state_difference(sim, expected, model));
    }
    cal_test_expect_below(worst, 2e-5, "difference to rkf", "servo");
    cal_sim_get_report(sim, &report);
    cal_sim_get_report(explicit, &explicit_report);
    if (!(10 * report.evaluations < explicit_report.evaluations))
        fail_msg("%lld evaluations, rkf %lld", (long long)report.evaluations, (long long)explicit_report.evaluations);
    cal_sim_destroy(expected), cal_sim_destroy(explicit), cal_sim_destroy(sim);
    cal_model_destroy(model);
}

static void push_and_pull(cal_force_context* context, void* user) {
    context->tau[0] += context->time < *(const double*)user ? 1.0 : -2.0;
}

// Wherever in a step it is: in the last sixth of it, too, where no Euler step begins.
static void a_force_that_jumps_is_seen(void** state) {
    (void)state;
    cal_model* model = cal_test_model("pendulum:start=1.5");
    for (int k = 0; k < 40; k++) {
        cal_sim* sims[2];
        double jump_at = 0.3 + 0.005 * k;
        for (int i = 0; i < 2; i++) {
            cal_sim_def def = cal_default_sim_def();
            def.solver = i == 0 ? "implicit" : "rkck", def.relative = i == 0 ? 1e-8 : 1e-12;
            def.force = push_and_pull, def.user = &jump_at;
            assert_int_equal(cal_sim_create(model, &def, &sims[i], NULL), CAL_OK);
            cal_test_advance_sim(sims[i], 0.6);
        }
        // 64 tolerances for the jump, and the weights of numbers up to 5.
        cal_test_expect_below(cal_test_state_difference(sims[0], sims[1], model), 64.0 * 1e-8 * 6.0, "error", "a jump");
        cal_sim_destroy(sims[0]), cal_sim_destroy(sims[1]);
    }
    cal_model_destroy(model);
}

// A horizontal rod of 1 m and 1 kg on a hinge at its end, with a servo there, or NULL.
static cal_model* rod_on(cal_joint_def* hinge, cal_actuator_def* servo) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error = {0};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def rod = cal_default_body_def();
    rod.mass = 1.0, rod.center[0] = 0.5;
    for (int i = 0; i < 3; i++) rod.inertia[i] = 1.0 / 12.0;
    hinge->axis[0] = hinge->axis[2] = 0.0, hinge->axis[1] = 1.0;
    const int joint = cal_builder_add_joint(builder, cal_builder_add_body(builder, &rod), hinge);
    if (servo != NULL) {
        servo->joint = joint;
        cal_builder_add_actuator(builder, servo);
    }
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

// A rod of 1 m and 1 kg falls from the horizontal on a stop of 1e6 N m/rad, at five angles, and comes back.
static void a_stiff_stop_is_met(void** state) {
    (void)state;
    for (int k = 0; k < 5; k++) {
        cal_joint_def hinge = cal_default_joint_def();
        hinge.limited = true, hinge.range[0] = -3.0, hinge.range[1] = 0.6 + 0.01 * k;
        hinge.limit_stiffness = 1e6, hinge.limit_damping = 0.2;
        cal_model* model = rod_on(&hinge, NULL);
        cal_sim *expected = open_sim(model, "rkck", 1e-11, NULL), *sim = open_sim(model, "implicit", 1e-7, NULL);
        double worst = 0.0, back = 0.0;
        for (int i = 1; i <= 120; i++) {
            cal_test_advance_sim(sim, 0.005 * i), cal_test_advance_sim(expected, 0.005 * i);
            worst = fmax(worst, cal_test_state_difference(sim, expected, model));
            back = fmin(back, cal_sim_v(sim)[0]);
        }
        cal_test_expect_below(worst, 1e-4, "difference to rkck", "stop");
        assert_true(back < -0.5);
        cal_sim_destroy(expected), cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
}

static void machines_have_the_same_bits(void** state) {
    (void)state;
    static const char* const names[] = {"stickman", "chain:n=20", "random:n=30,seed=6", "andrews", "tower:n=5"};
    for (int i = 0; i < 5; i++) {
        cal_model *plain = cal_test_model(names[i]), *model = i < 3 ? cal_test_dress(plain, 5) : plain;
        uint64_t hash = 0;
        for (int k = 0; k < 6; k++) {
            cal_machine* machine = NULL;
            cal_threads_def threads = cal_default_threads_def();
            threads.workers = k - 2;
            if (k < 4 && 1 << k > cal_best_lanes()) continue;
            assert_int_equal(k < 4 ? cal_machine_serial(1 << k, &machine, NULL)
                                   : cal_machine_threads(&threads, &machine, NULL),
                             CAL_OK);
            cal_sim* sim = open_sim(model, "implicit", 1e-6, machine);
            cal_test_advance_sim(sim, i < 3 ? 0.1 : 0.01);
            if (k == 0) hash = cal_sim_hash(sim);
            if (cal_sim_hash(sim) != hash) fail_msg("%s: other bits on machine %d", names[i], k);
            cal_sim_destroy(sim);
            cal_machine_destroy(machine);
        }
        if (model != plain) cal_model_destroy(model);
        cal_model_destroy(plain);
    }
}

static void what_it_cannot_do_is_refused(void** state) {
    (void)state;
    cal_model *tree = cal_test_model("pendulum"), *loop = cal_test_model("fourbar:n=1");
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    cal_error error = {0};
    def.solver = "implicit", def.algorithm = "armstrong";
    assert_int_equal(cal_sim_create(tree, &def, &sim, &error), CAL_BAD_ARGUMENT);
    assert_string_equal(error.text, "solver implicit needs algorithm aba, not armstrong");
    def.algorithm = "aba", def.constraint_form = "minimal";
    assert_int_equal(cal_sim_create(loop, &def, &sim, &error), CAL_NOT_AVAILABLE);
    assert_non_null(strstr(error.text, "lagrange"));
    cal_model_destroy(tree), cal_model_destroy(loop);
}

// A damper, or a spring, of `rate` 1/s over the rod's inertia of 1/3; a servo's, through a gear of 2.
static cal_model* damped_rod(double rate, bool spring, bool by_servo) {
    cal_joint_def hinge = cal_default_joint_def();
    cal_actuator_def servo = cal_default_actuator_def();
    const double damping = spring ? 0.0 : rate / 3.0, stiffness = spring ? rate * rate / 3.0 : 0.0;
    if (!by_servo) hinge.damping = damping, hinge.stiffness = stiffness;
    servo.gear = 2.0, servo.bias[1] = -stiffness / 4.0, servo.bias[2] = -damping / 4.0;
    return rod_on(&hinge, by_servo ? &servo : NULL);
}

// Where nothing touches either: what is stiff is not left to an explicit method. A rod sinks at the speed at which its damper carries it,
// τ / D, and one on a spring hangs where that does, τ / K; a soft one swings as before.
static void auto_knows_what_is_stiff(void** state) {
    (void)state;
    const double torque = 0.5 * 9.81;
    for (int kind = 0; kind < 4; kind++)
        for (int stiff = 0; stiff < 2; stiff++) {
            const double rate = stiff ? 1e8 : 1e2;
            const bool spring = kind % 2 == 1, by_servo = kind >= 2;
            cal_model* model = damped_rod(rate, spring, by_servo);
            cal_sim *sim = open_sim(model, "auto", 1e-6, NULL),
                    *named = open_sim(model, stiff ? "implicit" : "gear", 1e-6, NULL);
            cal_test_advance_sim(sim, 1.0);
            cal_test_advance_sim(named, 1.0);
            cal_sim_report report;
            cal_sim_get_report(sim, &report);
            assert_true(cal_test_state_difference(sim, named, model) == 0.0);
            assert_true(report.evaluations < 100000);
            if (stiff && !spring)
                cal_test_expect_below(fabs(cal_sim_v(sim)[0] / (3.0 * torque / rate) - 1.0), 1e-5, "speed", "damper");
            if (stiff && spring)
                cal_test_expect_below(fabs(cal_sim_q(sim)[0] - 3.0 * torque / (rate * rate)), 1e-9, "angle", "spring");
            cal_sim_destroy(sim);
            cal_sim_destroy(named);
            cal_model_destroy(model);
        }
}

// A pendulum with a spring that nothing drives stays where it hangs, also above a floor that it might touch: no step leaves an oscillation that
// the next ones have to follow, a million of them in 20 ms.
static void a_stiff_spring_at_rest_stays_so_above_a_floor(void** state) {
    (void)state;
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error = {0};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def body = cal_default_body_def();
    body.mass = 1.0, body.position[2] = 1.0, body.center[2] = -0.3;
    for (int i = 0; i < 3; i++) body.inertia[i] = 4e-3;
    cal_joint_def hinge = cal_default_joint_def();
    hinge.axis[0] = 0.01, hinge.axis[1] = 1.0, hinge.axis[2] = 0.0, hinge.stiffness = 1e14;
    cal_shape_def floor = cal_default_shape_def(), ball = cal_default_shape_def();
    floor.kind = CAL_PLANE;
    ball.body = cal_builder_add_body(builder, &body), ball.size[0] = 0.1, ball.position[2] = -0.3;
    cal_builder_add_joint(builder, ball.body, &hinge);
    cal_builder_add_shape(builder, &floor);
    cal_builder_add_shape(builder, &ball);
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    cal_world_def events = cal_default_world_def();
    cal_sim_def def = cal_default_sim_def();
    def.events = &events;
    cal_sim* sim = cal_test_create_sim(model, &def);
    cal_test_advance_sim(sim, 0.0005);
    cal_world_report report;
    assert_int_equal(cal_world_get_report(cal_sim_world(sim), &report), CAL_OK);
    cal_test_expect_below((double)report.series, 100.0, "steps", "above a floor");
    cal_test_expect_below(fabs(cal_sim_v(sim)[0]), 1e-10, "speed", "above a floor");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_are_the_derivatives_of_forces),
        cmocka_unit_test(auto_knows_what_is_stiff),
        cmocka_unit_test(a_clamped_servo_is_less_stiff),
        cmocka_unit_test(it_has_order_six),
        cmocka_unit_test(it_agrees_with_explicit_methods),
        cmocka_unit_test(a_servo_on_a_light_link_is_cheap),
        cmocka_unit_test(machines_have_the_same_bits),
        cmocka_unit_test(what_it_cannot_do_is_refused),
        cmocka_unit_test(a_force_that_jumps_is_seen),
        cmocka_unit_test(a_stiff_stop_is_met),
        cmocka_unit_test(loops_are_as_cheap_as_trees),
        cmocka_unit_test(a_stiff_spring_at_rest_stays_so_above_a_floor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
