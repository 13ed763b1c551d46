// The account of energy: every flow against a closed form, with every solver, and the same bits everywhere.
#include "place.h"
#include "solver/flows.h"
#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- Models and runs -------------------------------------------------------------------------------------------------

typedef struct setting {
    const char* solver;
    double tolerance, step;
    double share; // of the exchanged energy: how far flows may be off
} setting;

// Steps of a fixed size err by their own order; the others by tens of tolerances over some hundred steps.
static const setting settings[] = {{"gear", 1e-8, 0, 2e-6},     {"rkf", 1e-9, 0, 1e-7}, {"rkck", 1e-8, 0, 1e-6},
                                   {"iec", 1e-7, 0, 1e-6},      {"rki", 1e-6, 0, 1e-5}, {"rkg", 1e-8, 0, 1e-6},
                                   {"implicit", 1e-8, 0, 2e-6}, {"bdf", 1e-9, 0, 2e-4}, {"rk4", 0, 1e-3, 1e-8},
                                   {"euler", 0, 1e-4, 1e-3}};
enum { SETTINGS = sizeof settings / sizeof settings[0] };

static cal_sim* open_sim(const cal_model* model, const setting* s, cal_force_callback* force, cal_machine* machine) {
    cal_sim_def def = cal_default_sim_def();
    def.solver = s->solver, def.force = force, def.machine = machine;
    if (s->tolerance > 0.0) def.relative = s->tolerance;
    if (s->step > 0.0) def.step = s->step;
    return cal_test_create_sim(model, &def);
}

static bool is_here(const char* solver) {
    for (int i = 0; cal_solver_name(i); i++)
        if (strcmp(cal_solver_name(i), solver) == 0) return true;
    return false;
}

static cal_energy_balance advance(cal_sim* sim, double time) {
    cal_error error = {0};
    cal_energy_balance balance;
    if (cal_sim_advance(sim, time, &error)) fail_msg("%s", error.text);
    assert_int_equal(cal_sim_balance(sim, &balance), CAL_OK);
    return balance;
}

// One body of 2 kg on one joint, with its centre at a place in its frame.
enum { MASS = 2 };
static cal_model* one_joint(const cal_joint_def* joint, double center, double gravity, const cal_actuator_def* motor) {
    cal_builder* builder = NULL;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    const double pull[3] = {0.0, 0.0, gravity};
    cal_builder_set_gravity(builder, pull);
    cal_body_def body = cal_default_body_def();
    body.mass = MASS, body.center[0] = center;
    for (int i = 0; i < 3; i++) body.inertia[i] = 0.1;
    cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), joint);
    if (motor) cal_builder_add_actuator(builder, motor);
    return cal_test_finish(builder);
}

// --- Closed forms ----------------------------------------------------------------------------------------------------

// x = x₀ e^(−γt) (cos ωt + γ/ω sin ωt): all that is missing is in the damper.
static void a_damper_loses_what_an_oscillator_has_lost(void** state) {
    (void)state;
    cal_joint_def slide = cal_default_joint_def();
    const double k = 50.0, c = 3.0, x0 = 0.4, rate = c / (2.0 * MASS), w = sqrt(k / MASS - rate * rate);
    slide.kind = CAL_PRISMATIC, slide.stiffness = k, slide.damping = c, slide.initial_q[0] = x0;
    cal_model* model = one_joint(&slide, 0.0, 0.0, NULL);
    for (int i = 0; i < SETTINGS; i++) {
        if (!is_here(settings[i].solver)) continue;
        cal_sim* sim = open_sim(model, &settings[i], NULL, NULL);
        for (int frame = 1; frame <= 4; frame++) {
            const double t = 0.37 * frame, decay = x0 * exp(-rate * t), start = 0.5 * k * x0 * x0;
            const double x = decay * (cos(w * t) + rate / w * sin(w * t)), v = -decay * (k / MASS) / w * sin(w * t);
            const cal_energy_balance b = advance(sim, t);
            const double lost = start - 0.5 * k * x * x - 0.5 * MASS * v * v;
            cal_test_expect_below(fabs(b.loss - lost), settings[i].share * start, "loss", settings[i].solver);
            cal_test_expect_below(fabs(b.relative), settings[i].share, "balance", settings[i].solver);
            assert_true(b.work == 0.0 && b.flows && !b.exploded);
        }
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// A constant force F lifts a weight: F x, x = (F/m − g) t²/2.
static void a_motor_that_lifts_does_force_times_way(void** state) {
    (void)state;
    cal_joint_def slide = cal_default_joint_def();
    cal_actuator_def motor = cal_default_actuator_def();
    const double F = 30.0, g = 9.81;
    slide.kind = CAL_PRISMATIC, slide.axis[0] = 0.0, slide.axis[2] = 1.0;
    motor.joint = 0, motor.gain = F, motor.initial_control = 1.0;
    cal_model* model = one_joint(&slide, 0.0, -g, &motor);
    for (int i = 0; i < SETTINGS; i++) {
        if (!is_here(settings[i].solver)) continue;
        cal_sim* sim = open_sim(model, &settings[i], NULL, NULL);
        for (int frame = 1; frame <= 3; frame++) {
            const double t = 0.31 * frame, work = F * 0.5 * (F / MASS - g) * t * t;
            const cal_energy_balance b = advance(sim, t);
            const double bound = settings[i].share * work + 10.0 * settings[i].tolerance +
                                 20.0 * F * settings[i].step * t * settings[i].share;
            cal_test_expect_below(fabs(b.work - work),
                                  bound + (strcmp(settings[i].solver, "euler") == 0 ? F * 1e-4 * t * 3.0 : 0.0), "work",
                                  settings[i].solver);
            assert_true(b.loss == 0.0 && b.exchanged >= fabs(b.work) * (1.0 - 1e-6));
        }
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// What a stop of Hunt and Crossley leaves of a speed: v/c − ln(1 + c v)/c² is the same before and after.
static double speed_after_stop(double c, double v) {
    const double kept = v / c - log1p(c * v) / (c * c);
    double after = -0.9 * v;
    for (int i = 0; i < 60; i++) {
        const double value = after / c - log1p(c * after) / (c * c) - kept;
        after -= value * (1.0 + c * after) / after;
    }
    return after;
}

static void a_stop_loses_what_its_law_says(void** state) {
    (void)state;
    cal_joint_def hinge = cal_default_joint_def();
    const double c = 0.3, v = 1.5, inertia = 0.1 + MASS * 0.25;
    hinge.axis[0] = 0.0, hinge.axis[1] = 1.0;
    hinge.limited = true, hinge.range[0] = -2.0, hinge.range[1] = 0.5;
    hinge.limit_stiffness = 800.0, hinge.limit_damping = c, hinge.initial_v[0] = v;
    cal_model* model = one_joint(&hinge, 0.5, 0.0, NULL);
    const double after = speed_after_stop(c, v), lost = 0.5 * inertia * (v * v - after * after);
    for (int i = 0; i < SETTINGS; i++) {
        if (!is_here(settings[i].solver)) continue;
        cal_sim* sim = open_sim(model, &settings[i], NULL, NULL);
        // Inside the stop its energy is there, half way through.
        const cal_energy_balance inside = advance(sim, 0.37);
        assert_true(inside.potential > lost && inside.loss > 0.5 * lost);
        const cal_energy_balance b = advance(sim, 0.8);
        // A force that begins to change within a step: steps of a fixed size are of the second order there.
        const double share = fmax(20.0 * settings[i].share, 20.0 * settings[i].step * settings[i].step);
        cal_test_expect_below(fabs(cal_sim_v(sim)[0] - after), share, "speed", settings[i].solver);
        cal_test_expect_below(fabs(b.loss - lost), share * lost, "loss", settings[i].solver);
        cal_test_expect_below(fabs(inside.relative), share, "balance", settings[i].solver);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// On a mass m at rest, A cos Ωt as a joint force and B cos Ωt as a push along the slide: v = (A + B) sin Ωt / (m Ω).
static const double A = 7.0, B = 4.0, OMEGA = 5.0;
static void shake(cal_force_context* context, void* user) {
    (void)user;
    const double force[3] = {B * cos(OMEGA * context->time), 3.0, 0.0}, torque[3] = {1.0, 2.0, 3.0}, point[3] = {0};
    context->tau[0] += A * cos(OMEGA * context->time);
    assert_int_equal(cal_state_push(context->state, 0, force, torque, point), CAL_OK);
}

static void a_callback_s_forces_do_their_work(void** state) {
    (void)state;
    cal_joint_def slide = cal_default_joint_def();
    slide.kind = CAL_PRISMATIC, slide.axis[0] = 1.0, slide.axis[2] = 0.0;
    cal_model* model = one_joint(&slide, 0.0, 0.0, NULL);
    for (int i = 0; i < SETTINGS; i++) {
        if (!is_here(settings[i].solver)) continue;
        cal_sim* sim = open_sim(model, &settings[i], shake, NULL);
        const double most = (A + B) * (A + B) / (2.0 * MASS * OMEGA * OMEGA);
        for (int frame = 1; frame <= 4; frame++) {
            const double t = 0.29 * frame, swing = sin(OMEGA * t);
            const cal_energy_balance b = advance(sim, t);
            cal_test_expect_below(fabs(b.work - most * swing * swing), 5.0 * settings[i].share * most, "work",
                                  settings[i].solver);
            cal_test_expect_below(fabs(b.relative), 5.0 * settings[i].share, "balance", settings[i].solver);
        }
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// A constant force at a point of the last link of a chain in space, and a torque about one axis of the world on the first one, which
// turns about that axis: F·Δx + T Δφ. Then it is let go, and nothing flows.
static void a_push_does_force_times_way(void** state) {
    (void)state;
    cal_model* model = cal_test_model("chain:n=3,start=0.7");
    const int bodies = cal_model_body_count(model);
    const double force[3] = {3.0, -2.0, 5.0}, none[3] = {0}, point[3] = {0.1, 0.05, -0.2};
    for (int i = 0; i < SETTINGS; i++) {
        if (!is_here(settings[i].solver)) continue;
        cal_sim* sim = open_sim(model, &settings[i], NULL, NULL);
        double *poses = cal_test_numbers(7 * (size_t)bodies), way[2] = {0}, angle = 0.0;
        assert_int_equal(cal_sim_push(sim, bodies - 1, force, none, point), CAL_OK);
        cal_energy_balance b = {0};
        for (int end = 0; end < 2; end++) {
            if (end == 1) b = advance(sim, 0.43);
            assert_int_equal(cal_sim_poses(sim, poses), CAL_OK);
            const double *x = poses + 7 * (size_t)(bodies - 1), *q = x + 3;
            // The point in the world, turned by the quaternion: p + 2 w (u × p) + 2 u × (u × p).
            double once[3], twice[3];
            for (int k = 0; k < 3; k++)
                once[k] = q[1 + (k + 1) % 3] * point[(k + 2) % 3] - q[1 + (k + 2) % 3] * point[(k + 1) % 3];
            for (int k = 0; k < 3; k++)
                twice[k] = q[1 + (k + 1) % 3] * once[(k + 2) % 3] - q[1 + (k + 2) % 3] * once[(k + 1) % 3];
            for (int k = 0; k < 3; k++) way[end] += force[k] * (x[k] + point[k] + 2.0 * (q[0] * once[k] + twice[k]));
        }
        (void)angle;
        const double scale = b.exchanged * 20.0 * settings[i].share;
        cal_test_expect_below(fabs(b.work - (way[1] - way[0])), scale, "work", settings[i].solver);
        cal_test_expect_below(fabs(b.error), scale, "balance", settings[i].solver);
        assert_int_equal(cal_sim_release(sim), CAL_OK);
        const cal_energy_balance later = advance(sim, 0.6);
        assert_true(later.work == b.work && later.flows);
        free(poses);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// Two bars, and a coupler that a constraint holds to the second; a damper in the first one's hinge. What is lost is also the damper's
// moment over its turn, by Simpson's rule over samples of the solver's own polynomial.
static void a_loop_with_a_damper_balances(void** state) {
    (void)state;
    cal_builder* builder = NULL;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_joint_def hinge = cal_default_joint_def();
    hinge.axis[0] = hinge.axis[2] = 0.0, hinge.axis[1] = 1.0, hinge.damping = 0.3;
    cal_body_def bar = cal_default_body_def();
    bar.mass = 1.0, bar.center[2] = -0.5, bar.inertia[0] = bar.inertia[1] = 1.0 / 12.0, bar.inertia[2] = 1e-3;
    hinge.initial_q[0] = 0.9;
    const int first = cal_builder_add_body(builder, &bar);
    cal_builder_add_joint(builder, first, &hinge);
    bar.position[0] = 1.3;
    const int second = cal_builder_add_body(builder, &bar);
    hinge.damping = 0.0;
    cal_builder_add_joint(builder, second, &hinge);
    cal_body_def coupler = cal_default_body_def();
    coupler.parent = first, coupler.position[2] = -1.0, coupler.mass = 0.5, coupler.center[0] = 0.65;
    coupler.inertia[0] = 1e-3, coupler.inertia[1] = coupler.inertia[2] = 0.07;
    hinge.initial_q[0] = -0.9;
    cal_builder_add_joint(builder, cal_builder_add_body(builder, &coupler), &hinge);
    cal_constraint_def loop = cal_default_constraint_def();
    loop.kind = CAL_ROWS, loop.rows = CAL_ROW_X | CAL_ROW_Z;
    loop.body[0] = second, loop.body[1] = 2, loop.position[0][2] = -1.0, loop.position[1][0] = 1.3;
    cal_builder_add_constraint(builder, &loop);
    cal_model* model = cal_test_finish(builder);
    for (int i = 0; i < SETTINGS; i++) {
        if (!is_here(settings[i].solver)) continue;
        cal_sim* sim = open_sim(model, &settings[i], NULL, NULL);
        cal_energy_balance b = {0};
        enum { SAMPLES = 400 };
        double lost = 0.0;
        for (int k = 0; k <= SAMPLES; k++) {
            if (k > 0) b = advance(sim, 1.2 * k / SAMPLES);
            const double weight = k == 0 || k == SAMPLES ? 1.0 : k % 2 == 1 ? 4.0 : 2.0, v = cal_sim_v(sim)[0];
            lost += 1.2 / SAMPLES / 3.0 * weight * 0.3 * v * v;
        }
        const double bound = 30.0 * settings[i].share * b.exchanged;
        cal_test_expect_below(fabs(b.loss - lost), bound, "loss", settings[i].solver);
        cal_test_expect_below(fabs(b.error), bound, "balance", settings[i].solver);
        cal_test_expect_below(fabs(b.closing), bound, "what projections add", settings[i].solver);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// --- Everywhere the same ---------------------------------------------------------------------------------------------

static void push_and_shake(cal_force_context* context, void* user) {
    (void)user;
    const double force[3] = {1.0, 2.0 * cos(3.0 * context->time), -1.0}, none[3] = {0}, point[3] = {0.1, 0.0, 0.2};
    for (int i = 0; i < cal_model_v_count(context->model); i += 3) context->tau[i] += 0.2 * sin(context->time + i);
    for (int i = 0; i < cal_model_body_count(context->model); i += 4)
        assert_int_equal(cal_state_push(context->state, i, force, none, point), CAL_OK);
}

// What moves steadily exchanges nothing: rounding of its energy is no explosion, nor beyond what fixed steps justify. What does explode is
// seen all the same, also beside something fast.
static void steady_motion_does_not_explode(void** state) {
    (void)state;
    static const struct {
        const char* model;
        double step;
        bool explodes;
    } runs[] = {{"cart", 5e-4, false}, {"cart", 1e-3, false}, {"track:n=24", 5e-4, false}, {"governor", 1e-3, true}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        cal_model* model = cal_test_model(runs[i].model);
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim = NULL;
        cal_error error;
        cal_energy_balance b = {0};
        bool well = true;
        def.solver = "rk4", def.step = runs[i].step;
        sim = cal_test_create_sim(model, &def);
        for (int frame = 1; frame <= 12 && well; frame++) {
            well = cal_sim_advance(sim, frame / 60.0, &error) == CAL_OK && cal_sim_balance(sim, &b) == CAL_OK &&
                   !b.exploded;
            if (!runs[i].explodes) cal_test_expect_below(fabs(b.relative), b.justified, "balance", runs[i].model);
        }
        assert_int_equal(well, !runs[i].explodes);
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
}

// Steps of what moves steadily are alike, and their errors add up.
static void steady_motion_within_its_tolerance_does_not_explode(void** state) {
    (void)state;
    static const struct {
        const char *model, *solver;
        double tolerance, time;
    } runs[] = {{"rail", "gear", 1e-4, 30.0}, {"rail", "gear", 1e-8, 10.0}, {"cart", "rkf", 1e-4, 3.0}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        cal_model* model = cal_test_model(runs[i].model);
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim = NULL;
        cal_error error;
        cal_energy_balance b;
        def.solver = runs[i].solver, def.relative = def.absolute = runs[i].tolerance;
        sim = cal_test_create_sim(model, &def);
        for (int frame = 1; frame <= 60; frame++) {
            if (cal_sim_advance(sim, runs[i].time * frame / 60.0, &error)) fail_msg("%s", error.text);
            assert_int_equal(cal_sim_balance(sim, &b), CAL_OK);
            assert_false(b.exploded);
        }
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
}

static void the_balance_has_the_same_bits_on_lanes_and_threads(void** state) {
    (void)state;
    cal_model *plain = cal_test_model("tree:fanout=3,height=3"), *model = cal_test_dress(plain, 5);
    const setting some[] = {{"gear", 1e-6, 0, 0}, {"rkck", 1e-6, 0, 0}, {"implicit", 1e-4, 0, 0}, {"bdf", 1e-6, 0, 0}};
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        if (!is_here(some[i].solver)) continue;
        cal_energy_balance first = {0};
        for (int lanes = 1; lanes <= 16; lanes *= 2) {
            cal_machine* machine = NULL;
            cal_threads_def threads = cal_default_threads_def();
            threads.workers = 2;
            if (lanes < 16 && lanes > cal_best_lanes()) continue;
            assert_int_equal(lanes < 16 ? cal_machine_serial(lanes, &machine, NULL)
                                        : cal_machine_threads(&threads, &machine, NULL),
                             CAL_OK);
            cal_sim* sim = open_sim(model, &some[i], push_and_shake, machine);
            const cal_energy_balance b = advance(sim, 0.02);
            if (lanes == 1) first = b;
            assert_true(b.work != 0.0 && b.loss > 0.0);
            assert_memory_equal(&b.work, &first.work, sizeof(double));
            assert_memory_equal(&b.loss, &first.loss, sizeof(double));
            assert_memory_equal(&b.exchanged, &first.exchanged, sizeof(double));
            cal_test_expect_below(fabs(b.relative), b.justified, "balance", some[i].solver);
            cal_sim_destroy(sim);
            cal_machine_destroy(machine);
        }
    }
    cal_model_destroy(plain);
    cal_model_destroy(model);
}

// A snapshot, and a checkpoint in a file: what went on from them has the bits of what was left alone. BDF begins anew with a file.
static void the_balance_survives_snapshots_and_checkpoints(void** state) {
    (void)state;
    cal_model *plain = cal_test_model("tree:fanout=2,height=3"), *model = cal_test_dress(plain, 3);
    char path[CAL_TEST_PATH];
    cal_test_path(path, "balance");
    for (int i = 0; i < SETTINGS; i++) {
        if (!is_here(settings[i].solver)) continue;
        const setting coarse = {settings[i].solver, settings[i].tolerance > 0 ? 1e-4 : 0, settings[i].step, 0};
        cal_error error = {0};
        cal_snapshot* here = NULL;
        cal_sim *sim = open_sim(model, &coarse, push_and_shake, NULL),
                *other = open_sim(model, &coarse, push_and_shake, NULL);
        advance(sim, 0.011);
        assert_int_equal(cal_sim_snapshot(sim, &here, &error), CAL_OK);
        if (cal_sim_save(sim, path, &error)) fail_msg("%s", error.text);
        const cal_energy_balance whole = advance(sim, 0.023);
        if (cal_sim_load(other, path, &error)) fail_msg("%s", error.text);
        const cal_energy_balance loaded = advance(other, 0.023);
        assert_memory_equal(&loaded, &whole, sizeof whole);
        assert_int_equal(cal_sim_restore(sim, here, &error), CAL_OK);
        const cal_energy_balance again = advance(sim, 0.023);
        if (strcmp(coarse.solver, "bdf") != 0) assert_memory_equal(&again, &whole, sizeof whole);
        cal_snapshot_destroy(here);
        cal_sim_destroy(sim);
        cal_sim_destroy(other);
    }
    unlink(path);
    cal_model_destroy(plain);
    cal_model_destroy(model);
}

// --- Bad input -------------------------------------------------------------------------------------------------------

static double bad_after;
static void turn_bad(cal_force_context* context, void* user) {
    const double force[3] = {0.0, (double)NAN, 0.0};
    if (context->time <= bad_after) return;
    if (user)
        (void)cal_state_push(context->state, 1, force, NULL, NULL);
    else
        context->tau[1] = (double)NAN;
}

// A callback that returns what is not a number, and a tolerance that doubles do not have: one line each, and the last good state.
static void bad_numbers_give_a_line_and_keep_the_state(void** state) {
    (void)state;
    cal_model* model = cal_test_model("chain:n=2,start=1");
    cal_error error = {0};
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    for (int i = 0; i < 2 * SETTINGS; i++) {
        const setting* s = &settings[i / 2];
        if (!is_here(s->solver)) continue;
        def = cal_default_sim_def();
        def.solver = s->solver, def.force = turn_bad, def.user = i % 2 == 0 ? NULL : &bad_after;
        bad_after = 0.1;
        sim = cal_test_create_sim(model, &def);
        if (cal_sim_advance(sim, 0.05, &error)) fail_msg("%s", error.text);
        const uint64_t good = cal_sim_hash(sim);
        assert_int_equal(cal_sim_advance(sim, 0.5, &error), CAL_NOT_FINITE);
        if (!strstr(error.text, i % 2 == 0 ? "the force callback gave a force on joint" : "a push on body"))
            fail_msg("%s: %s", s->solver, error.text);
        assert_true(cal_sim_hash(sim) == good && cal_sim_time(sim) == 0.05);
        bad_after = 1.0; // it goes on from there
        if (cal_sim_advance(sim, 0.2, &error)) fail_msg("%s: %s", s->solver, error.text);
        cal_sim_destroy(sim);
    }
    def = cal_default_sim_def();
    def.relative = 1e-17;
    assert_int_equal(cal_sim_create(model, &def, &sim, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "below rounding"));
    cal_model_destroy(model);
}

// Where work is tested, control must see that it is no number, though a maximum over shares passes it by.
static void work_that_is_no_number_is_seen(void** state) {
    (void)state;
    double down[CAL_MAX_DOWN] = {1.0}, sums[CAL_MAX_SUMS] = {0.0};
    cal_flow_integrator* flow = calloc(1, sizeof *flow);
    assert_non_null(flow);
    cal_flow_create(flow, &cal_solver_gear, down);
    cal_flow_start(flow);
    cal_flow_test(flow, 1e-8, 1.0);
    cal_flow_follow_up(flow, (double[CAL_FLOW_KINDS]){NAN, 0.0, 0.0}, sums);
    assert_true(cal_solver_gear.max_count > 0 && isnan(sums[0]));
    free(flow);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damper_loses_what_an_oscillator_has_lost),
        cmocka_unit_test(a_motor_that_lifts_does_force_times_way),
        cmocka_unit_test(a_stop_loses_what_its_law_says),
        cmocka_unit_test(a_callback_s_forces_do_their_work),
        cmocka_unit_test(a_push_does_force_times_way),
        cmocka_unit_test(a_loop_with_a_damper_balances),
        cmocka_unit_test(steady_motion_does_not_explode),
        cmocka_unit_test(steady_motion_within_its_tolerance_does_not_explode),
        cmocka_unit_test(the_balance_has_the_same_bits_on_lanes_and_threads),
        cmocka_unit_test(the_balance_survives_snapshots_and_checkpoints),
        cmocka_unit_test(bad_numbers_give_a_line_and_keep_the_state),
        cmocka_unit_test(work_that_is_no_number_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
