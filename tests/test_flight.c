// Multibodies between events: every solver advances them, with the machine and the algorithm that the user names, and rollbacks,
// snapshots and implicit steps with constraints change nothing.
#include "calder/calder_world.h"
#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static cal_sim* open_sim(const cal_model* model, const cal_sim_def* def) { return cal_test_create_sim(model, def); }

// A rod of 2 kg on a hinge about y, 1 m along an axis (±1: x, ±3: z) from a height, with a ball at its end; and something fixed.
static cal_model* make_rod(int along, double height, double angle, cal_shape_def fixed) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error = {0};
    const int axis = abs(along) - 1;
    const double way = along > 0 ? 1.0 : -1.0;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def rod = cal_default_body_def();
    rod.mass = 2.0;
    rod.position[2] = height;
    rod.center[axis] = 0.5 * way;
    for (int i = 0; i < 3; i++) rod.inertia[i] = i == axis ? 0.01 : 0.2;
    cal_builder_add_body(builder, &rod);
    cal_joint_def hinge = cal_default_joint_def();
    hinge.axis[1] = 1.0, hinge.axis[2] = 0.0;
    hinge.initial_q[0] = angle;
    cal_builder_add_joint(builder, 0, &hinge);
    cal_shape_def ball = cal_default_shape_def();
    ball.body = 0;
    ball.size[0] = 0.1;
    ball.position[axis] = way;
    ball.restitution = fixed.restitution;
    ball.friction = fixed.friction = 0.0;
    cal_builder_add_shape(builder, &ball);
    cal_builder_add_shape(builder, &fixed);
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

// It hangs, and its ball meets a post once a swing, when the rod hangs down.
static cal_model* make_knocker(double angle, double restitution) {
    cal_shape_def post = cal_default_shape_def();
    post.kind = CAL_BOX;
    post.size[0] = 0.05, post.size[1] = post.size[2] = 0.3;
    post.position[0] = 0.15, post.position[2] = 1.0;
    post.restitution = restitution;
    return make_rod(-3, 2.0, angle, post);
}

// The rod's equation alone, to 1e-13: θ̈ = −(m g c / I) sin θ, by Runge-Kutta steps of 10 µs, until θ comes back to zero.
static double half_swing(double angle) {
    const double k = 2.0 * 9.81 * 0.5 / (0.2 + 2.0 * 0.25), h = 1e-5;
    double q = angle, v = 0.0, t = 0.0;
    for (;;) {
        const double a1 = -k * sin(q), v2 = v + 0.5 * h * a1, a2 = -k * sin(q + 0.5 * h * v);
        const double v3 = v + 0.5 * h * a2, a3 = -k * sin(q + 0.5 * h * v2), v4 = v + h * a3, a4 = -k * sin(q + h * v3);
        const double next = q + h * (v + 2.0 * v2 + 2.0 * v3 + v4) / 6.0;
        if ((next > 0.0) != (q > 0.0)) return t + h * q / (q - next);
        q = next;
        v += h * (a1 + 2.0 * a2 + 2.0 * a3 + a4) / 6.0;
        t += h;
    }
}

// An elastic knock reverses the swing: at the end of the second quarter the rod is where it began, for every solver.
static void every_solver_meets_the_post_in_time(void** state) {
    (void)state;
    const double start = 0.9, quarter = half_swing(start);
    cal_model* model = make_knocker(start, 1.0);
    // Under a sanitizer every fifth: auto, rkf, euler.
    for (int i = 0; cal_solver_name(i); i += CAL_TEST_SANITIZED ? 5 : 1) {
        cal_sim_def def = cal_default_sim_def();
        def.solver = cal_solver_name(i);
        def.relative = 1e-6;
        def.step = 1e-4;
        cal_sim* sim = open_sim(model, &def);
        const double allowed = strcmp(def.solver, "euler") == 0 ? 1e-3 : 1e-6;
        cal_test_advance_sim(sim, 2.0 * quarter);
        if (!(fabs(cal_sim_q(sim)[0] - start) < allowed && fabs(cal_sim_v(sim)[0]) < 5.0 * allowed))
            fail_msg("%s: %.12g at %.12g", def.solver, cal_sim_q(sim)[0], cal_sim_v(sim)[0]);
        cal_world_report report;
        cal_world_get_report(cal_sim_world(sim), &report);
        assert_int_equal(report.collisions, 1);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

static uint64_t hash_of(const cal_model* model, const cal_sim_def* def) {
    cal_sim* sim = open_sim(model, def);
    cal_test_advance_sim(sim, 0.45);
    const uint64_t hash = cal_sim_hash(sim);
    cal_sim_destroy(sim);
    return hash;
}

static void rollbacks_snapshots_and_machines_change_no_bit(void** state) {
    (void)state;
    cal_model* model = cal_test_model("stickman:floor=1");
    cal_machine* threads = NULL;
    cal_threads_def two = cal_default_threads_def();
    two.workers = 2;
    assert_int_equal(cal_machine_threads(&two, &threads, NULL), CAL_OK);
    // Under a sanitizer every fifth: auto, rkf, euler.
    for (int i = 0; cal_solver_name(i); i += CAL_TEST_SANITIZED ? 5 : 1) {
        cal_sim_def def = cal_default_sim_def();
        cal_world_def events = cal_default_world_def();
        events.separate = true;
        def.solver = cal_solver_name(i);
        def.events = &events;
        const uint64_t wanted = hash_of(model, &def);
        events.forced_rollbacks = 0.05;
        if (hash_of(model, &def) != wanted) fail_msg("%s: forced rollbacks", def.solver);
        events.forced_rollbacks = 0.0;
        def.machine = threads;
        if (hash_of(model, &def) != wanted) fail_msg("%s: threads", def.solver);
        def.machine = NULL;
        cal_sim* sim = open_sim(model, &def);
        cal_snapshot* snapshot = NULL;
        cal_test_advance_sim(sim, 0.2);
        assert_int_equal(cal_sim_snapshot(sim, &snapshot, NULL), CAL_OK);
        cal_test_advance_sim(sim, 0.4);
        assert_int_equal(cal_sim_restore(sim, snapshot, NULL), CAL_OK);
        cal_test_advance_sim(sim, 0.45);
        if (cal_sim_hash(sim) != wanted) fail_msg("%s: snapshot", def.solver);
        cal_snapshot_destroy(snapshot);
        cal_sim_destroy(sim);
    }
    cal_machine_destroy(threads);
    cal_model_destroy(model);
}

// The same accelerations by another algorithm.
static void algorithms_agree(void** state) {
    (void)state;
    cal_model* model = make_knocker(0.9, 0.5);
    double q[2];
    for (int i = 0; i < 2; i++) {
        cal_sim_def def = cal_default_sim_def();
        def.algorithm = i == 0 ? "aba" : "assembly";
        def.relative = 1e-6;
        cal_sim* sim = open_sim(model, &def);
        cal_test_advance_sim(sim, 3.0);
        q[i] = cal_sim_q(sim)[0];
        cal_sim_destroy(sim);
    }
    assert_true(fabs(q[0] - q[1]) < 1e-9);
    cal_model_destroy(model);
}

// Closed loops with dampers that no explicit method likes: implicit steps against BDF, and the loop stays closed.
static void implicit_steps_hold_constraints(void** state) {
    (void)state;
    cal_model* plain = cal_test_model("fourbar:n=2");
    cal_builder* builder = cal_test_same_bodies(plain);
    cal_model* model = NULL;
    cal_error error = {0};
    for (int i = 0; i < cal_model_joint_count(plain); i++) {
        cal_joint_def def;
        int body;
        cal_model_joint(plain, i, &def, &body, NULL, NULL);
        def.damping = 2000.0;
        def.stiffness = 1e5;
        def.spring_reference = def.initial_q[0] + 0.05;
        cal_builder_add_joint(builder, body, &def);
    }
    for (int i = 0; i < cal_model_constraint_count(plain); i++) {
        cal_constraint_def def;
        cal_model_constraint(plain, i, &def);
        cal_builder_add_constraint(builder, &def);
    }
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    cal_sim_def def = cal_default_sim_def();
    def.relative = 1e-8;
    def.solver = "implicit";
    cal_sim* sim = open_sim(model, &def);
    def.solver = "bdf";
    def.relative = 1e-10;
    cal_sim* expected = cal_solver_help("bdf") ? open_sim(model, &def) : NULL;
    cal_test_advance_sim(sim, 0.5);
    if (expected) cal_test_advance_sim(expected, 0.5);
    for (int i = 0; expected && i < cal_model_q_count(model); i++)
        if (!(fabs(cal_sim_q(sim)[i] - cal_sim_q(expected)[i]) < 1e-7))
            fail_msg("q %d: %.12g, expected %.12g", i, cal_sim_q(sim)[i], cal_sim_q(expected)[i]);
    cal_constraint_report closed;
    cal_sim_report steps;
    assert_int_equal(cal_sim_constraints(sim, &closed), CAL_OK);
    cal_sim_get_report(sim, &steps);
    assert_true(closed.error < 1e-12 && closed.speed < 1e-9);
    if (!(steps.steps < 300)) fail_msg("%lld steps", (long long)steps.steps);
    cal_sim_destroy(sim);
    cal_sim_destroy(expected);
    cal_model_destroy(model);
    cal_model_destroy(plain);
}

// A level rod on a hinge whose other end rests on a floor: hinge and floor carry half of its weight each.
static void joints_carry_what_contacts_leave(void** state) {
    (void)state;
    cal_shape_def floor = cal_default_shape_def();
    floor.kind = CAL_PLANE;
    cal_model* model = make_rod(1, 0.1, 0.0, floor);
    const cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = open_sim(model, &def);
    double forces[6], qdd[1];
    cal_test_advance_sim(sim, 0.5);
    assert_int_equal(cal_sim_joint_forces(sim, forces), CAL_OK);
    assert_int_equal(cal_sim_accelerations(sim, qdd), CAL_OK);
    if (!(fabs(forces[2] - 9.81) < 1e-4 && fabs(qdd[0]) < 1e-4))
        fail_msg("the hinge carries %.9g N, and turns at %.3g rad/s²", forces[2], qdd[0]);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

static void what_means_nothing_is_said(void** state) {
    (void)state;
    cal_model* model = make_knocker(0.9, 0.5);
    cal_sim_def def = cal_default_sim_def();
    cal_error error = {0};
    cal_sim* sim = NULL;
    def.solver = "newton";
    assert_int_equal(cal_sim_create(model, &def, &sim, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "unknown solver 'newton'"));
    const char** const names[] = {&def.solver, &def.algorithm, &def.stabilize, &def.constraint_form};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        def = cal_default_sim_def();
        *names[i] = NULL;
        assert_int_equal(cal_sim_create(model, &def, &sim, &error), CAL_BAD_ARGUMENT);
    }
    // Of a world it is said before anything is in it.
    cal_world_def events = cal_default_world_def();
    cal_world* world = NULL;
    def = cal_default_sim_def();
    def.solver = "a name that is longer than any solver has";
    events.systems = &def;
    assert_int_equal(cal_world_create(&events, &world, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "longer than any"));
    memset(&def, 0, sizeof def);
    assert_int_equal(cal_world_create(&events, &world, &error), CAL_BAD_ARGUMENT);
    const int32_t placement[1] = {0};
    def = cal_default_sim_def();
    def.processor_of_joint = placement;
    assert_int_equal(cal_sim_create(model, &def, &sim, &error), CAL_NOT_AVAILABLE);
    assert_non_null(strstr(error.text, "without events"));
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_solver_meets_the_post_in_time),
        cmocka_unit_test(rollbacks_snapshots_and_machines_change_no_bit),
        cmocka_unit_test(algorithms_agree),
        cmocka_unit_test(implicit_steps_hold_constraints),
        cmocka_unit_test(joints_carry_what_contacts_leave),
        cmocka_unit_test(what_means_nothing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
