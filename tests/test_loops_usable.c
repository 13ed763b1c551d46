// What a user does with loops: joints that close them and have springs, dampers, stops and motors of their own; motions that are
// prescribed; constraints that are caught when their gap closes; starts with some joints held; forces of chosen motors.
#define _DEFAULT_SOURCE
#include "place.h"
#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double GRAVITY = 9.81;

// --- Loop joints -----------------------------------------------------------------------------------------------------

static int add_rod(cal_builder* builder, int parent, double x, double y, double mass) {
    cal_body_def rod = cal_default_body_def();
    rod.parent = parent, rod.mass = mass, rod.position[0] = x, rod.position[1] = y;
    rod.center[0] = 0.4, rod.inertia[0] = 0.01, rod.inertia[1] = rod.inertia[2] = mass / 12.0;
    return cal_builder_add_body(builder, &rod);
}

static cal_joint_def dressed(void) {
    cal_joint_def joint = cal_default_joint_def();
    joint.name = "pin", joint.stiffness = 3.0, joint.spring_reference = 0.2, joint.damping = 0.05,
    joint.armature = 0.02;
    joint.limited = true, joint.range[0] = -0.9, joint.range[1] = 2.0, joint.limit_stiffness = 400.0;
    return joint;
}

// Ground ── a ── b ── c ── ground: four hinges about z, that between b and c dressed. `cut`: there, with a loop joint; else at the last.
static cal_model* four_bar(bool cut) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, (double[]){0.0, -GRAVITY, 0.0});
    cal_joint_def hinge = cal_default_joint_def();
    const cal_joint_def pin = dressed();
    // At the start a points up, b to the right, and c, whose origin is at b's end, down.
    hinge.initial_q[0] = hinge.zero = 0.0;
    const double turn = sqrt(0.5);
    const int a = add_rod(builder, CAL_GROUND, 0.0, 0.0, 1.0);
    cal_joint_def first = hinge;
    first.initial_q[0] = 1.5707963267948966, first.initial_v[0] = 1.0;
    cal_builder_add_joint(builder, a, &first);
    const int b = add_rod(builder, a, 1.0, 0.0, 2.0);
    cal_joint_def second = hinge;
    second.initial_q[0] = -1.5707963267948966, second.initial_v[0] = -1.0;
    cal_builder_add_joint(builder, b, &second);
    cal_body_def last = cal_default_body_def();
    last.mass = 1.5, last.center[0] = 0.4, last.inertia[0] = 0.01, last.inertia[1] = last.inertia[2] = 0.125;
    cal_constraint_def loop = cal_default_constraint_def();
    loop.name = "pin", loop.kind = CAL_LOOP_REVOLUTE;
    if (cut) {
        // c hangs from the ground by its far end; frame b of the loop is where a tree would have its origin.
        last.position[0] = 1.0;
        last.center[0] = 0.6;
        cal_joint_def far = hinge;
        far.initial_q[0] = 1.5707963267948966, far.initial_v[0] = 1.0;
        const int c = cal_builder_add_body(builder, &last);
        cal_builder_add_joint(builder, c, &far);
        loop.body[0] = b, loop.body[1] = c;
        loop.position[0][0] = 1.0, loop.position[1][0] = 1.0;
        // As the tree's c is turned: half a turn from this one's, a quarter from b.
        loop.quaternion[0][0] = turn, loop.quaternion[0][3] = -turn;
        loop.quaternion[1][0] = 0.0, loop.quaternion[1][3] = 1.0;
        assert_true(cal_builder_add_loop_joint(builder, &loop, &pin) >= 0);
    } else {
        last.parent = b, last.position[0] = 1.0, last.quaternion[0] = turn, last.quaternion[3] = -turn;
        cal_joint_def own = pin;
        own.initial_v[0] = 1.0;
        const int c = cal_builder_add_body(builder, &last);
        cal_builder_add_joint(builder, c, &own);
        loop.body[1] = c, loop.position[0][0] = 1.0, loop.position[1][0] = 1.0;
        cal_builder_add_constraint(builder, &loop);
    }
    cal_actuator_def motor = cal_default_actuator_def();
    motor.name = "motor", motor.joint = cut ? 3 : 2, motor.gain = 2.0, motor.bias[2] = -0.1,
    motor.initial_control = 1.0;
    cal_builder_add_actuator(builder, &motor);
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

static void a_loop_joint_is_a_joint_like_those_of_the_tree(void** state) {
    (void)state;
    cal_model *tree = four_bar(false), *loop = four_bar(true);
    cal_sim *a = cal_test_open_sim(tree, "gear", 1e-10, NULL, 0.0),
            *b = cal_test_open_sim(loop, "gear", 1e-10, NULL, 0.0);
    const int own = cal_model_find_joint(loop, "pin"), other = cal_model_find_joint(tree, "pin");
    int q_own, q_other;
    double forces[2][24];
    cal_model_joint(loop, own, &(cal_joint_def){0}, NULL, &q_own, NULL);
    cal_model_joint(tree, other, &(cal_joint_def){0}, NULL, &q_other, NULL);
    for (int k = 0; k <= 20; k++) {
        cal_test_advance_sim(a, 0.1 * k), cal_test_advance_sim(b, 0.1 * k);
        cal_test_expect_below(cal_test_largest_difference(cal_sim_q(a), cal_sim_q(b), 2), 1e-6, "bars", "loop joint");
        cal_test_expect_below(fabs(cal_sim_q(a)[q_other] - cal_sim_q(b)[q_own]), 1e-6, "its coordinate", "loop joint");
        assert_int_equal(cal_sim_joint_forces(a, forces[0]), CAL_OK);
        assert_int_equal(cal_sim_joint_forces(b, forces[1]), CAL_OK);
        // The plane's: others follow from redundant rows, and are shared out in one of many ways.
        const int in_plane[] = {0, 1, 5};
        for (int i = 0; i < 3; i++)
            cal_test_expect_below(fabs(forces[0][6 * other + in_plane[i]] - forces[1][6 * own + in_plane[i]]), 1e-4,
                                  "what it carries", "loop joint");
    }
    cal_test_expect_balanced(a, "tree"), cal_test_expect_balanced(b, "loop joint");
    cal_sim_destroy(a), cal_sim_destroy(b);
    cal_model_destroy(tree), cal_model_destroy(loop);
}

// --- Prescribed motions ----------------------------------------------------------------------------------------------

enum { CART_MASS = 2, BOB_MASS = 3 };
static const double LENGTH = 0.8;
static const cal_wave WAVE = {.rate = 0.3, .amplitude = 0.2, .frequency = 1.1, .phase = 0.4};

// A particle on a massless rod under a cart that moves along x.
static cal_model* moved_pendulum(void) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def cart = cal_default_body_def(), bob = cal_default_body_def();
    cart.mass = CART_MASS;
    const int base = cal_builder_add_body(builder, &cart);
    cal_joint_def line = cal_default_joint_def(), hinge = cal_default_joint_def();
    line.name = "line", line.kind = CAL_PRISMATIC, line.axis[0] = 1.0, line.axis[2] = 0.0;
    double velocity, acceleration;
    cal_wave_motion(0.0, &line.initial_q[0], &velocity, &acceleration, (void*)&WAVE);
    line.initial_v[0] = velocity;
    cal_builder_add_joint(builder, base, &line);
    bob.parent = base, bob.mass = BOB_MASS, bob.center[2] = -LENGTH;
    hinge.axis[1] = -1.0, hinge.axis[2] = 0.0, hinge.initial_q[0] = 0.5;
    cal_builder_add_joint(builder, cal_builder_add_body(builder, &bob), &hinge);
    cal_constraint_def motion = cal_default_constraint_def();
    motion.name = "motion", motion.kind = CAL_COUPLING, motion.joint[0] = 0;
    motion.motion = cal_wave_motion, motion.user = (void*)&WAVE;
    cal_builder_add_constraint(builder, &motion);
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

// L θ̈ = −g sin θ − ẍ cos θ
static double swing(double time, double theta) {
    double x, v, a;
    cal_wave_motion(time, &x, &v, &a, (void*)&WAVE);
    return (-GRAVITY * sin(theta) - a * cos(theta)) / LENGTH;
}

static void integrate(double end, double* theta, double* rate) {
    const int steps = 20000;
    const double h = end / steps;
    for (int i = 0; i < steps; i++) {
        const double t = h * i, k1 = *rate, l1 = swing(t, *theta);
        const double k2 = *rate + 0.5 * h * l1, l2 = swing(t + 0.5 * h, *theta + 0.5 * h * k1);
        const double k3 = *rate + 0.5 * h * l2, l3 = swing(t + 0.5 * h, *theta + 0.5 * h * k2);
        const double k4 = *rate + h * l3, l4 = swing(t + h, *theta + h * k3);
        *theta += h * (k1 + 2.0 * k2 + 2.0 * k3 + k4) / 6.0;
        *rate += h * (l1 + 2.0 * l2 + 2.0 * l3 + l4) / 6.0;
    }
}

// A crank that turns at a constant rate needs a force that does not stay constant: the motion is a straight line in time, which a solver follows with any
// step, and its work is what it lifts.
static void the_work_of_a_prescribed_motion_is_followed(void** state) {
    (void)state;
    static const cal_wave steady = {.rate = 2.0};
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def bob = cal_default_body_def();
    cal_joint_def hinge = cal_default_joint_def();
    bob.mass = BOB_MASS, bob.center[2] = -LENGTH;
    hinge.axis[1] = -1.0, hinge.axis[2] = 0.0, hinge.initial_v[0] = steady.rate;
    cal_builder_add_joint(builder, cal_builder_add_body(builder, &bob), &hinge);
    cal_constraint_def motion = cal_default_constraint_def();
    motion.kind = CAL_COUPLING, motion.joint[0] = 0;
    motion.motion = cal_wave_motion, motion.user = (void*)&steady;
    cal_builder_add_constraint(builder, &motion);
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    for (int i = 0; cal_solver_name(i); i++) {
        const char* solver = cal_solver_name(i);
        if (cal_solver_has_fixed_step(solver)) continue;
        cal_sim* sim = cal_test_open_sim(model, solver, 1e-8, NULL, 0.0);
        cal_energy_balance balance;
        for (int k = 1; k <= 10; k++) {
            cal_test_advance_sim(sim, 0.2 * k);
            assert_int_equal(cal_sim_balance(sim, &balance), CAL_OK);
            const double lifted = BOB_MASS * GRAVITY * LENGTH * (1.0 - cos(steady.rate * 0.2 * k));
            cal_test_expect_below(fabs(balance.work - lifted), 1e-5, "work", solver);
            assert_false(balance.exploded);
        }
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// A parallelogram whose crank turns at a constant rate, through both of its flat positions: the energy is that of the closed form at all
// times, whatever the solver makes of a straight line in time, and wherever inside of a step one looks.
static void a_crank_turns_a_parallelogram_through_its_flat_positions(void** state) {
    (void)state;
    static const cal_wave steady = {.offset = 0.7, .rate = 3.0};
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def rod = cal_default_body_def();
    cal_joint_def hinge = cal_default_joint_def();
    rod.mass = 1.0, rod.center[0] = 0.5, rod.inertia[1] = rod.inertia[2] = 1.0 / 12.0;
    hinge.axis[1] = -1.0, hinge.axis[2] = 0.0;
    hinge.initial_q[0] = steady.offset, hinge.initial_v[0] = steady.rate;
    const int crank = cal_builder_add_body(builder, &rod);
    cal_builder_add_joint(builder, crank, &hinge);
    rod.position[0] = 2.0;
    const int rocker = cal_builder_add_body(builder, &rod);
    cal_builder_add_joint(builder, rocker, &hinge);
    rod.parent = crank, rod.position[0] = 1.0, rod.mass = 2.0, rod.center[0] = 1.0;
    hinge.initial_q[0] = -steady.offset, hinge.initial_v[0] = -steady.rate;
    const int coupler = cal_builder_add_body(builder, &rod);
    cal_builder_add_joint(builder, coupler, &hinge);
    cal_constraint_def loop = cal_default_constraint_def();
    loop.kind = CAL_LOOP_REVOLUTE, loop.body[0] = coupler, loop.body[1] = rocker;
    loop.position[0][0] = 2.0, loop.position[1][0] = 1.0;
    for (int side = 0; side < 2; side++) loop.quaternion[side][0] = loop.quaternion[side][1] = sqrt(0.5);
    cal_builder_add_constraint(builder, &loop);
    cal_constraint_def motion = cal_default_constraint_def();
    motion.kind = CAL_COUPLING, motion.joint[0] = 0;
    motion.motion = cal_wave_motion, motion.user = (void*)&steady;
    cal_builder_add_constraint(builder, &motion);
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    static const double tolerances[] = {1e-4, 1e-8};
    for (int i = 0; cal_solver_name(i); i++)
        for (int t = 0; t < 2; t++) {
            const char* solver = cal_solver_name(i);
            if (cal_solver_has_fixed_step(solver)) continue;
            cal_sim* sim = cal_test_open_sim(model, solver, tolerances[t], NULL, 0.0);
            cal_energy_balance balance;
            for (int k = 1; k <= 20; k++) {
                const double angle = steady.offset + steady.rate * 0.15 * k;
                cal_test_advance_sim(sim, 0.15 * k);
                assert_int_equal(cal_sim_balance(sim, &balance), CAL_OK);
                // Kinetic energy is constant; both bars' middles rise by half of it, the coupler by all.
                const double lifted = (1.0 + 2.0) * GRAVITY * (sin(angle) - sin(steady.offset));
                cal_test_expect_below(fabs(balance.work - lifted), 300.0 * tolerances[t], "work", solver);
                assert_false(balance.exploded);
            }
            cal_sim_destroy(sim);
        }
    cal_model_destroy(model);
}

static void a_prescribed_motion_moves_the_rest_and_says_its_force(void** state) {
    (void)state;
    static const char* const solvers[] = {"gear", "rkf", "rk4", "bdf"};
    cal_model* model = moved_pendulum();
    const double end = 2.0;
    double theta = 0.5, rate = 0.0, x, v, a;
    integrate(end, &theta, &rate);
    cal_wave_motion(end, &x, &v, &a, (void*)&WAVE);
    const double turn = swing(end, theta);
    // Of cart and particle together, whose x is x + L sin θ.
    const double force =
        (CART_MASS + BOB_MASS) * a + BOB_MASS * LENGTH * (turn * cos(theta) - rate * rate * sin(theta));
    for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++) {
        if (!cal_solver_help(solvers[i])) continue; // this build has no BDF
        for (int minimal = 0; minimal < 2; minimal++) {
            cal_sim_def def = cal_default_sim_def();
            cal_sim* sim = NULL;
            double row;
            def.solver = solvers[i], def.relative = 1e-9, def.constraint_form = minimal ? "minimal" : "lagrange";
            sim = cal_test_create_sim(model, &def);
            cal_test_advance_sim(sim, end);
            cal_test_expect_below(fabs(cal_sim_q(sim)[0] - x), 1e-12, "the motion", solvers[i]);
            cal_test_expect_below(fabs(cal_sim_v(sim)[0] - v), 1e-12, "its velocity", solvers[i]);
            cal_test_expect_below(fabs(cal_sim_q(sim)[1] - theta), 1e-6, "what hangs from it", solvers[i]);
            assert_int_equal(cal_sim_constraint_forces(sim, 0, &row, NULL), CAL_OK);
            cal_test_expect_below(fabs(row - force), 1e-4, "its force", solvers[i]);
            cal_test_expect_balanced(sim, solvers[i]);
            cal_sim_destroy(sim);
        }
    }
    cal_model_destroy(model);
}

// --- Catching --------------------------------------------------------------------------------------------------------

// A particle in the xz plane, and a string of length one to the origin that holds when it is caught.
static void a_string_is_caught_when_it_is_taut(void** state) {
    (void)state;
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error;
    const double x0 = 0.2, z0 = 0.3, vx = 0.9, vz = 0.5, mass = 2.0;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def body = cal_default_body_def();
    body.mass = mass;
    const int particle = cal_builder_add_body(builder, &body);
    for (int i = 0; i < 2; i++) {
        cal_joint_def line = cal_default_joint_def();
        line.kind = CAL_PRISMATIC, line.axis[0] = i == 0, line.axis[2] = i == 1;
        line.initial_q[0] = i == 0 ? x0 : z0, line.initial_v[0] = i == 0 ? vx : vz;
        cal_builder_add_joint(builder, particle, &line);
    }
    cal_constraint_def string = cal_default_constraint_def();
    string.name = "string", string.kind = CAL_DISTANCE, string.body[1] = particle, string.length = 1.0;
    string.inactive = true;
    cal_builder_add_constraint(builder, &string);
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    // When the parabola meets the circle, by halving.
    double from = 0.0, to = 1.0;
    for (int i = 0; i < 200; i++) {
        const double t = 0.5 * (from + to), x = x0 + vx * t, z = z0 + vz * t - 0.5 * GRAVITY * t * t;
        *(x * x + z * z < 1.0 ? &from : &to) = t;
    }
    const double x = x0 + vx * to, z = z0 + vz * to - 0.5 * GRAVITY * to * to,
                 radial = vx * x + (vz - GRAVITY * to) * z;
    static const char* const solvers[] = {"gear", "rkf", "rk4"};
    for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++) {
        cal_sim* sim = cal_test_open_sim(model, solvers[i], 1e-9, NULL, 0.0);
        cal_constraint_report report;
        cal_energy_balance balance;
        assert_int_equal(cal_sim_catch(sim, 0, &error), CAL_OK);
        cal_test_advance_sim(sim, 0.5 * to);
        assert_false(cal_sim_connected(sim, 0));
        cal_sim* fork = NULL; // who waits goes with the state, also into a file
        assert_int_equal(cal_sim_fork(sim, &fork, &error), CAL_OK);
        cal_sim* read = cal_test_open_sim(model, solvers[i], 1e-9, NULL, 0.0);
        char path[CAL_TEST_PATH];
        cal_test_path(path, "waiting");
        if (cal_sim_save(sim, path, &error) || cal_sim_load(read, path, &error)) fail_msg("%s", error.text);
        unlink(path);
        cal_test_advance_sim(sim, to + 0.3), cal_test_advance_sim(fork, to + 0.3), cal_test_advance_sim(read, to + 0.3);
        assert_true(cal_sim_hash(sim) == cal_sim_hash(read));
        cal_sim_destroy(read);
        assert_true(cal_sim_connected(sim, 0));
        assert_true(cal_sim_hash(sim) == cal_sim_hash(fork));
        assert_int_equal(cal_sim_constraints(sim, &report), CAL_OK);
        assert_int_equal(report.caught, 1);
        cal_test_expect_below(fabs(report.caught_time - to), 1e-9, "when", solvers[i]);
        const double* q = cal_sim_q(sim);
        cal_test_expect_below(fabs(q[0] * q[0] + q[1] * q[1] - 1.0), 1e-12, "length", solvers[i]);
        assert_int_equal(cal_sim_balance(sim, &balance), CAL_OK);
        cal_test_expect_below(fabs(balance.loss - 0.5 * mass * radial * radial), 1e-7, "the impact's loss", solvers[i]);
        cal_test_expect_balanced(sim, solvers[i]);
        cal_sim_destroy(sim), cal_sim_destroy(fork);
    }
    cal_model_destroy(model);
}

// --- Starts and forces -----------------------------------------------------------------------------------------------

static void joints_that_are_held_stay_where_they_are(void** state) {
    (void)state;
    static const char* const names[] = {"fivebar", "tower:n=30"};
    for (int k = 0; k < 2; k++) { // as one triangle, and in the order of the tree
        cal_model* model = cal_test_model(names[k]);
        cal_sim* sim = cal_test_open_sim(model, "gear", 1e-8, NULL, 0.0);
        const size_t count = (size_t)cal_model_v_count(model), bytes = count * sizeof(double);
        double *q = cal_test_numbers(count), *v = cal_test_numbers(count);
        bool* held = calloc(count, sizeof *held);
        cal_error error;
        cal_constraint_report report;
        memcpy(q, cal_sim_q(sim), bytes);
        q[0] += 0.3, v[0] = 1.5;
        assert_int_equal(cal_sim_set(sim, 0.0, q, v, &error), CAL_OK);
        held[0] = true;
        if (cal_sim_project_holding(sim, held, &error)) fail_msg("%s: %s", names[k], error.text);
        assert_true(cal_sim_q(sim)[0] == q[0] && cal_sim_v(sim)[0] == 1.5);
        assert_int_equal(cal_sim_constraints(sim, &report), CAL_OK);
        cal_test_expect_below(report.error, 1e-12, "what stays open", names[k]);
        // With all of them held nothing can close.
        assert_int_equal(cal_sim_set(sim, 0.0, q, v, &error), CAL_OK);
        for (size_t i = 0; i < count; i++) held[i] = true;
        assert_int_equal(cal_sim_project_holding(sim, held, &error), CAL_NOT_CONVERGED);
        assert_memory_equal(cal_sim_q(sim), q, bytes);
        free(q), free(v), free(held);
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
}

static void chosen_motors_give_the_accelerations(void** state) {
    (void)state;
    cal_model* model = cal_test_model("fivebar");
    cal_dynamics* dynamics = NULL;
    cal_error error;
    assert_int_equal(cal_dynamics_create(model, &dynamics, &error), CAL_OK);
    double q[4], v[4], tau[4] = {1.0, -2.0, 3.0, 0.5}, qdd[4], needed[4], again[4];
    cal_model_initial(model, q, v, NULL);
    assert_int_equal(cal_dynamics_forward(dynamics, q, v, tau, NULL, qdd), CAL_OK);
    assert_int_equal(cal_loops_forward(model, 0.0, q, v, qdd, &error), CAL_OK);
    static const bool sets[3][4] = {{true, false, true, false}, {true, true, false, true}, {true, false, false, false}};
    for (int k = 0; k < 3; k++) {
        assert_int_equal(cal_dynamics_inverse(dynamics, q, v, qdd, needed), CAL_OK);
        const cal_status status = cal_loops_inverse(model, 0.0, q, v, qdd, sets[k], needed, &error);
        if (k == 2) { // two degrees of freedom are left, and one motor does not do
            assert_int_equal(status, CAL_BAD_ARGUMENT);
            continue;
        }
        if (status) fail_msg("%s", error.text);
        for (int i = 0; i < 4; i++) assert_true(sets[k][i] || needed[i] == 0.0);
        assert_int_equal(cal_dynamics_forward(dynamics, q, v, needed, NULL, again), CAL_OK);
        assert_int_equal(cal_loops_forward(model, 0.0, q, v, again, &error), CAL_OK);
        cal_test_expect_below(cal_test_largest_difference(qdd, again, 4), 1e-9, "accelerations", "fivebar");
    }
    cal_dynamics_destroy(dynamics);
    cal_model_destroy(model);
}

// Three links in gravity whose loop a ball closes, of any size, end at the same angles: at 10¹² m rounding opens the loop by more than anything may be open
// that has not come apart.
static void a_loop_is_closed_at_any_size(void** state) {
    (void)state;
    static const double ways[3][2] = {{1.0, 0.0}, {0.0, 1.0}, {-1.0, 0.0}};
    double expected[3] = {0.0};
    for (int k = 0; k < 3; k++) {
        const double size = k == 0 ? 1.0 : k == 1 ? 1e-12 : 1e12, gravity[3] = {0.0, 0.0, -GRAVITY * size};
        cal_builder* builder = NULL;
        cal_model* model = NULL;
        cal_error error;
        cal_joint_def hinge = cal_default_joint_def();
        cal_constraint_def loop = cal_default_constraint_def();
        assert_int_equal(cal_builder_create(&builder), CAL_OK);
        cal_builder_set_gravity(builder, gravity);
        for (int i = 0; i < 3; i++) {
            cal_body_def link = cal_default_body_def();
            link.parent = i - 1, link.mass = 0.05 / (1 + i);
            link.position[0] = i == 1 ? size : 0.0, link.position[2] = i == 2 ? size : 0.0;
            link.center[0] = 0.5 * size * ways[i][0], link.center[2] = 0.5 * size * ways[i][1];
            for (int d = 0; d < 3; d++) link.inertia[d] = 0.01 * link.mass * size * size;
            for (int d = 0; d < 3; d++) hinge.axis[d] = d == 1;
            cal_builder_add_joint(builder, cal_builder_add_body(builder, &link), &hinge);
        }
        loop.kind = CAL_LOOP_BALL, loop.body[0] = 2, loop.body[1] = CAL_GROUND;
        loop.position[0][0] = -size, loop.position[1][2] = size;
        cal_builder_add_constraint(builder, &loop);
        if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
        cal_builder_destroy(builder);
        cal_sim* sim = cal_test_open_sim(model, "auto", 1e-8, NULL, 0.0);
        if (cal_sim_advance(sim, 0.5, &error)) fail_msg("%g m: %s", size, error.text);
        if (k == 0) memcpy(expected, cal_sim_q(sim), sizeof expected);
        cal_test_expect_below(cal_test_largest_difference(cal_sim_q(sim), expected, 3), 1e-7, "angles", "any size");
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_joint_is_a_joint_like_those_of_the_tree),
        cmocka_unit_test(a_prescribed_motion_moves_the_rest_and_says_its_force),
        cmocka_unit_test(the_work_of_a_prescribed_motion_is_followed),
        cmocka_unit_test(a_crank_turns_a_parallelogram_through_its_flat_positions),
        cmocka_unit_test(a_string_is_caught_when_it_is_taut),
        cmocka_unit_test(joints_that_are_held_stay_where_they_are),
        cmocka_unit_test(chosen_motors_give_the_accelerations),
        cmocka_unit_test(a_loop_is_closed_at_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
