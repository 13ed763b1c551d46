// Mechanics: the algorithms agree with each other, with differences of energy and position, and with closed forms.
//
// The articulated-body passes and the body-frame passes (rnea, crba) share no formula, so their agreement on random trees
// of every joint type checks both; energy against power and Jacobians against displacements check what they have in
// common, the model's meaning.
#include "math/vector.h"
#include "support.h"
#include <stdlib.h>

static void get(const cal_test_engine* engine, cal_field field, double* out) {
    assert_int_equal(cal_state_get(engine->state, field, out), CAL_OK);
}

// Executes an algorithm at a motion with the pushes of a seed (0: none) and reads one field.
static void evaluate(const cal_model* model, const char* algorithm, const cal_test_motion* motion, uint64_t pushes,
                     cal_field field, double* out) {
    cal_test_engine engine = cal_test_open(model, algorithm, 0);
    cal_test_load(&engine, motion);
    if (pushes) cal_test_push(&engine, pushes);
    cal_test_execute(&engine);
    get(&engine, field, out);
    cal_test_close(&engine);
}

// --- The algorithms agree ---------------------------------------------------------------------------------------------

static void check_dense(const cal_model* model, const char* name) {
    const size_t size = (size_t)cal_model_v_count(model);
    double *articulated = cal_test_numbers(size), *dense = cal_test_numbers(size);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        cal_test_motion motion = cal_test_random_motion(model, seed);
        evaluate(model, "aba", &motion, seed - 1, CAL_QDD, articulated);
        evaluate(model, "crba", &motion, seed - 1, CAL_QDD, dense);
        cal_test_expect_below(cal_test_largest_difference(articulated, dense, size),
                              1e-10 * cal_test_largest(dense, size), "aba - crba", name);
        cal_test_motion_free(&motion);
    }
    free(articulated), free(dense);
}
static void test_articulated_bodies_equal_dense_solve(void** unused) {
    (void)unused;
    cal_test_on_every_model(check_dense);
}

// |RNEA(ABA(τ)) − τ|, relative to the largest joint force that balances gravity and centrifugal forces.
static double newton_euler_residual(const cal_model* model, uint64_t seed, uint64_t pushes) {
    const size_t size = (size_t)cal_model_v_count(model);
    double *bias = cal_test_numbers(size), *tau = cal_test_numbers(size);
    cal_test_motion motion = cal_test_random_motion(model, seed);
    evaluate(model, "rnea", &motion, pushes, CAL_TAU, bias);
    evaluate(model, "aba", &motion, pushes, CAL_QDD, motion.qdd);
    evaluate(model, "rnea", &motion, pushes, CAL_TAU, tau);
    const double scale = fmax(cal_test_largest(bias, size), cal_test_largest(motion.tau, size));
    const double residual = cal_test_largest_difference(tau, motion.tau, size) / scale;
    cal_test_motion_free(&motion);
    free(bias), free(tau);
    return residual;
}

static void check_inverse(const cal_model* model, const char* name) {
    for (uint64_t seed = 11; seed <= 13; seed++)
        cal_test_expect_below(newton_euler_residual(model, seed, seed - 11), 1e-10, "rnea(aba) - identity", name);
}
static void test_inverse_undoes_forward(void** unused) {
    (void)unused;
    cal_test_on_every_model(check_inverse);
}

static void test_long_chains_keep_newton_and_euler(void** unused) {
    (void)unused;
    static const char* const names[] = {"chain:n=1000", "chain:n=20000", "random:n=2000,seed=6"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cal_model* model = cal_test_model(names[i]);
        cal_test_expect_below(newton_euler_residual(model, 21, 1), 1e-9, "rnea(aba) - identity", names[i]);
        cal_model_destroy(model);
    }
}

// --- Energy, momentum, Jacobians --------------------------------------------------------------------------------------

static void check_mass_matrix(const cal_model* model, const char* name) {
    const size_t size = (size_t)cal_model_v_count(model);
    double *mass = cal_test_numbers(size * size), energy[2], kinetic = 0.0, asymmetry = 0.0;
    cal_test_motion motion = cal_test_random_motion(model, 31);
    evaluate(model, "crba", &motion, 0, CAL_MASS, mass);
    evaluate(model, "energy", &motion, 0, CAL_ENERGY, energy);
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++) {
            kinetic += 0.5 * motion.v[i] * mass[i * size + j] * motion.v[j];
            asymmetry = fmax(asymmetry, fabs(mass[i * size + j] - mass[j * size + i]));
        }
    cal_test_expect_below(fabs(kinetic - energy[0]), 1e-12 * energy[0], "½ v M v - kinetic energy", name);
    cal_test_expect_below(asymmetry, 0.0, "asymmetry of M", name);
    cal_test_motion_free(&motion);
    free(mass);
}
static void test_mass_matrix_gives_kinetic_energy(void** unused) {
    (void)unused;
    cal_test_on_every_model(check_mass_matrix);
}

// A field of "energy" at a time before or after a motion with the accelerations qdd, to first order.
static void energy_at(const cal_model* model, const cal_test_motion* now, double time, cal_field field, double* out) {
    cal_test_motion then = cal_test_random_motion(model, 1);
    cal_test_displace(model, now->q, now->v, time, then.q);
    for (int i = 0; i < cal_model_v_count(model); i++) then.v[i] = now->v[i] + time * now->qdd[i];
    evaluate(model, "energy", &then, 0, field, out);
    cal_test_motion_free(&then);
}

// Richardson's extrapolation of central differences: fourth order.
static void energy_rate(const cal_model* model, const cal_test_motion* motion, cal_field field, int count,
                        double* rate) {
    const double h = 1e-4;
    double near[2][6], far[2][6];
    for (int side = 0; side < 2; side++) {
        energy_at(model, motion, side ? h : -h, field, near[side]);
        energy_at(model, motion, side ? 2.0 * h : -2.0 * h, field, far[side]);
    }
    for (int i = 0; i < count; i++) rate[i] = (8.0 * (near[1][i] - near[0][i]) - (far[1][i] - far[0][i])) / (12.0 * h);
}

// What a motor measures: q, or of a ball one part of the angle times the axis of the shorter turn.
static double motor_position(const cal_joint_def* joint, int axis, const double* q) {
    if (joint->kind != CAL_BALL) return q[0];
    const double sine = sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]), sign = q[0] < 0.0 ? -1.0 : 1.0;
    return sine > 0.0 ? sign * 2.0 * atan2(sine, fabs(q[0])) / sine * q[1 + axis] : 0.0;
}

// What joints add to the energy a second: τ v less what dampers, motors and the damping of stops take, which inverse dynamics of
// resting springs would hide; so from the model's own definitions.
static double joint_power(const cal_model* model, const cal_test_motion* motion) {
    double power = 0.0;
    for (int i = 0; i < cal_model_joint_count(model); i++) {
        cal_joint_def joint;
        int first_q, first_v;
        cal_model_joint(model, i, &joint, NULL, &first_q, &first_v);
        for (int k = first_v; k < first_v + cal_joint_v_count(joint.kind); k++)
            power += (motion->tau[k] - joint.damping * motion->v[k]) * motion->v[k];
        if (!joint.limited) continue;
        const double q = motion->q[first_q], v = motion->v[first_v];
        const double above = q - joint.range[1], below = joint.range[0] - q;
        if (above > 0.0) power -= joint.limit_stiffness * above * (fmax(0.0, 1.0 + joint.limit_damping * v) - 1.0) * v;
        if (below > 0.0) power += joint.limit_stiffness * below * (fmax(0.0, 1.0 - joint.limit_damping * v) - 1.0) * v;
    }
    for (int i = 0; i < cal_model_actuator_count(model); i++) {
        cal_actuator_def motor;
        int first_q, first_v;
        cal_model_actuator(model, i, &motor);
        cal_joint_def joint;
        cal_model_joint(model, motor.joint, &joint, NULL, &first_q, &first_v);
        const double* c = motor.control_range;
        const double* f = motor.force_range;
        const double q = motor_position(&joint, motor.axis, motion->q + first_q), v = motion->v[first_v + motor.axis];
        double control = motion->control[i];
        if (c[0] < c[1]) control = fmin(fmax(control, c[0]), c[1]);
        double force =
            motor.gain * control + motor.bias[0] + motor.bias[1] * motor.gear * q + motor.bias[2] * motor.gear * v;
        if (f[0] < f[1]) force = fmin(fmax(force, f[0]), f[1]);
        power += motor.gear * force * v;
    }
    return power;
}

static void check_power(const cal_model* model, const char* name) {
    double rate[2], energy[2];
    cal_test_motion motion = cal_test_random_motion(model, 41);
    evaluate(model, "aba", &motion, 0, CAL_QDD, motion.qdd);
    evaluate(model, "energy", &motion, 0, CAL_ENERGY, energy);
    energy_rate(model, &motion, CAL_ENERGY, 2, rate);
    const double scale = fabs(rate[0]) + fabs(rate[1]) + fabs(energy[0]) + fabs(energy[1]);
    cal_test_expect_below(fabs(rate[0] + rate[1] - joint_power(model, &motion)), 1e-7 * scale, "dE/dt - power", name);
    cal_test_motion_free(&motion);
}
static void test_energy_changes_by_the_power_of_the_joints(void** unused) {
    (void)unused;
    cal_test_on_every_model(check_power);
}

static void test_only_gravity_changes_momentum_of_what_floats(void** unused) {
    (void)unused;
    static const char* const names[] = {"stickman", "figure:dof=48", "humanoid"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cal_model* model = cal_test_model(names[i]);
        cal_test_motion motion = cal_test_random_motion(model, 51);
        double rate[6], gravity[3], weight[3];
        cal_joint_def root;
        int first_v = 0;
        cal_model_joint(model, 0, &root, NULL, NULL, &first_v);
        assert_int_equal(root.kind, CAL_FREE);
        for (int k = 0; k < 6; k++) motion.tau[first_v + k] = 0.0;
        evaluate(model, "aba", &motion, 0, CAL_QDD, motion.qdd);
        energy_rate(model, &motion, CAL_MOMENTUM, 6, rate);
        cal_model_gravity(model, gravity);
        for (int k = 0; k < 3; k++) weight[k] = cal_model_mass(model) * gravity[k];
        const double scale = cal_test_largest(weight, 3);
        cal_test_expect_below(cal_test_largest_difference(rate, weight, 3), 1e-7 * scale, "dp/dt - weight", names[i]);
        cal_test_expect_below(fabs(cal_dot3(rate + 3, gravity)) / 9.81, 1e-7 * scale, "moment about the vertical",
                              names[i]);
        cal_test_motion_free(&motion);
        cal_model_destroy(model);
    }
}

// A point of a body in the world, and the body's rotation.
static void place(const double* pose, const double point[3], double x[3], double R[9]) {
    cal_quaternion_matrix(pose + 3, R);
    cal_rotate3(R, point, x);
    for (int i = 0; i < 3; i++) x[i] += pose[i];
}

static void check_jacobian(const cal_model* model, const char* name) {
    const size_t size = (size_t)cal_model_v_count(model), bodies = (size_t)cal_model_body_count(model);
    const double point[3] = {0.3, -0.2, 0.5}, h = 1e-5;
    double *jacobian = cal_test_numbers(6 * size),
           *poses[2] = {cal_test_numbers(7 * bodies), cal_test_numbers(7 * bodies)};
    cal_test_motion motion = cal_test_random_motion(model, 61), moved = cal_test_random_motion(model, 61);
    cal_test_engine engine = cal_test_open(model, "kinematics", 0);
    cal_test_load(&engine, &motion);
    cal_test_execute(&engine);
    for (int side = 0; side < 2; side++) {
        cal_test_displace(model, motion.q, motion.v, side ? h : -h, moved.q);
        evaluate(model, "kinematics", &moved, 0, CAL_POSE, poses[side]);
    }
    for (size_t b = 0; b < bodies; b++) {
        double velocity[6] = {0.0}, measured[6], x[2][3], R[2][9], turned[9];
        assert_int_equal(cal_state_jacobian(engine.state, (int)b, point, jacobian), CAL_OK);
        for (size_t i = 0; i < 6; i++)
            for (size_t j = 0; j < size; j++) velocity[i] += jacobian[i * size + j] * motion.v[j];
        assert_int_equal(cal_state_velocity(engine.state, (int)b, point, measured), CAL_OK);
        cal_test_expect_below(cal_test_largest_difference(velocity, measured, 6),
                              1e-12 * (1.0 + cal_test_largest(velocity, 6)), "velocity - J v", name);
        for (int side = 0; side < 2; side++) place(poses[side] + 7 * b, point, x[side], R[side]);
        for (int i = 0; i < 3; i++) measured[i] = (x[1][i] - x[0][i]) / (2.0 * h);
        double before[9];
        for (int i = 0; i < 9; i++) before[i] = R[0][i % 3 * 3 + i / 3];
        cal_multiply33(R[1], before, turned);
        measured[3] = (turned[7] - turned[5]) / (4.0 * h);
        measured[4] = (turned[2] - turned[6]) / (4.0 * h);
        measured[5] = (turned[3] - turned[1]) / (4.0 * h);
        const double scale = 1.0 + cal_test_largest(velocity, 6) * cal_test_largest(velocity, 6);
        cal_test_expect_below(cal_test_largest_difference(velocity, measured, 6), 1e-8 * scale, "J v - velocity", name);
    }
    cal_test_close(&engine);
    cal_test_motion_free(&motion), cal_test_motion_free(&moved);
    free(jacobian), free(poses[0]), free(poses[1]);
}
static void test_jacobian_is_the_velocity_of_a_point(void** unused) {
    (void)unused;
    cal_test_on_every_model(check_jacobian);
}

// Principle of virtual power: holding still against a push takes −Jᵀ (force, torque) more.
static void check_push(const cal_model* model, const char* name) {
    const size_t size = (size_t)cal_model_v_count(model);
    const double force[3] = {3.0, -2.0, 1.0}, torque[3] = {-1.0, 0.5, 2.0}, point[3] = {0.1, 0.7, -0.4};
    double *jacobian = cal_test_numbers(6 * size), *before = cal_test_numbers(size), *after = cal_test_numbers(size);
    cal_test_motion motion = cal_test_random_motion(model, 71);
    cal_test_engine poses = cal_test_open(model, "energy", 0), inverse = cal_test_open(model, "rnea", 0);
    cal_test_load(&poses, &motion), cal_test_load(&inverse, &motion);
    cal_test_execute(&poses), cal_test_execute(&inverse);
    get(&inverse, CAL_TAU, before);
    for (int body = 0; body < cal_model_body_count(model); body++) {
        assert_int_equal(cal_state_jacobian(poses.state, body, point, jacobian), CAL_OK);
        assert_int_equal(cal_state_push(inverse.state, body, force, torque, point), CAL_OK);
        cal_test_execute(&inverse);
        get(&inverse, CAL_TAU, after);
        cal_state_release(inverse.state);
        for (size_t j = 0; j < size; j++)
            for (size_t i = 0; i < 3; i++)
                after[j] += jacobian[i * size + j] * force[i] + jacobian[(3 + i) * size + j] * torque[i];
        const double scale = 1.0 + cal_test_largest(before, size) + cal_test_largest(jacobian, 6 * size);
        cal_test_expect_below(cal_test_largest_difference(before, after, size), 1e-12 * scale, "push - Jᵀ f", name);
    }
    cal_test_close(&poses), cal_test_close(&inverse);
    cal_test_motion_free(&motion);
    free(jacobian), free(before), free(after);
}
static void test_push_acts_through_the_jacobian(void** unused) {
    (void)unused;
    cal_test_on_every_model(check_push);
}

static void test_jacobian_needs_poses(void** unused) {
    (void)unused;
    const double point[3] = {0.0, 0.0, 0.0};
    double jacobian[6 * 3];
    cal_model* model = cal_test_model("chain:n=3");
    cal_test_engine forward = cal_test_open(model, "aba", 0), poses = cal_test_open(model, "kinematics", 0);
    cal_test_execute(&forward);
    assert_int_equal(cal_state_jacobian(forward.state, 0, point, jacobian), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_state_jacobian(poses.state, 0, point, jacobian), CAL_BAD_ARGUMENT);
    cal_test_execute(&poses);
    assert_int_equal(cal_state_jacobian(poses.state, 3, point, jacobian), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_state_jacobian(poses.state, 2, point, jacobian), CAL_OK);
    cal_test_close(&forward), cal_test_close(&poses);
    cal_model_destroy(model);
}

// --- Closed forms -----------------------------------------------------------------------------------------------------

static cal_model* one_body(const cal_body_def* body, const cal_joint_def* joint) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_add_joint(builder, cal_builder_add_body(builder, body), joint);
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

static cal_sim* simulate(const cal_model* model) {
    cal_sim_def def = cal_default_sim_def();
    def.relative = def.absolute = 1e-11;
    return cal_test_create_sim(model, &def);
}

enum { PENDULUM_MASS = 2 };
static const double pendulum_length = 0.7, pendulum_inertia = 0.05;

// A compound pendulum about y that starts at an angle from hanging down.
static cal_model* pendulum(double angle) {
    cal_body_def body = cal_default_body_def();
    cal_joint_def joint = cal_default_joint_def();
    body.mass = PENDULUM_MASS;
    body.center[2] = -pendulum_length;
    body.inertia[0] = body.inertia[1] = body.inertia[2] = pendulum_inertia;
    joint.axis[0] = 0.0, joint.axis[1] = 1.0, joint.axis[2] = 0.0;
    joint.initial_q[0] = angle;
    return one_body(&body, &joint);
}
// ω₀² of small swings.
static double pendulum_stiffness(void) {
    const double moment = PENDULUM_MASS * pendulum_length;
    return moment * 9.81 / (pendulum_inertia + moment * pendulum_length);
}

static void test_pendulum_acceleration(void** unused) {
    (void)unused;
    cal_model* model = pendulum(1.1);
    cal_test_engine engine = cal_test_open(model, "aba", 0);
    double qdd;
    cal_test_execute(&engine);
    get(&engine, CAL_QDD, &qdd);
    assert_true(fabs(qdd + pendulum_stiffness() * sin(1.1)) < 1e-13);
    cal_test_close(&engine);
    cal_model_destroy(model);
}

static void test_pendulum_period(void** unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) {
        const double start = 0.01 + i;
        // T = 2π / (ω₀ · agm(1, cos(θ₀/2)))
        double a = 1.0, b = cos(0.5 * start);
        while (a - b > 1e-15) {
            const double mean = 0.5 * (a + b);
            b = sqrt(a * b), a = mean;
        }
        const double period = 2.0 * acos(-1.0) / (sqrt(pendulum_stiffness()) * a);
        cal_model* model = pendulum(start);
        cal_sim* sim = simulate(model);
        cal_test_advance_sim(sim, 0.25 * period);
        cal_test_expect_below(fabs(cal_sim_q(sim)[0]), 1e-8, "angle after a quarter period", "the pendulum");
        cal_test_advance_sim(sim, period);
        cal_test_expect_below(fabs(cal_sim_q(sim)[0] - start), 1e-8, "angle after a period", "the pendulum");
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
}

// A free body at the origin with the given moments of inertia and start velocity, in gravity.
static cal_model* top(const double moments[3], const double center[3], const double velocity[6]) {
    cal_body_def body = cal_default_body_def();
    cal_joint_def joint = cal_default_joint_def();
    body.mass = 1.5;
    for (int i = 0; i < 3; i++) body.inertia[i] = moments[i], body.center[i] = center[i];
    joint.kind = CAL_FREE;
    const double start[7] = {0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0};
    for (int i = 0; i < 7; i++) joint.initial_q[i] = start[i];
    for (int i = 0; i < 6; i++) joint.initial_v[i] = velocity[i];
    return one_body(&body, &joint);
}

static void test_projectile(void** unused) {
    (void)unused;
    const double moments[3] = {0.1, 0.2, 0.25}, center[3] = {0.0, 0.3, 0.0},
                 velocity[6] = {1.0, -2.0, 5.0, 0.7, 2.0, -1.0};
    cal_model* model = top(moments, center, velocity);
    cal_sim* sim = simulate(model);
    double thrown[3];
    cal_cross3(velocity + 3, center, thrown);
    for (int i = 1; i <= 4; i++) {
        const double t = 0.5 * i;
        double pose[7], x[3], R[9], expected[3];
        cal_test_advance_sim(sim, t);
        assert_int_equal(cal_sim_poses(sim, pose), CAL_OK);
        place(pose, center, x, R);
        for (int k = 0; k < 3; k++) expected[k] = center[k] + (velocity[k] + thrown[k]) * t;
        expected[2] -= 0.5 * 9.81 * t * t;
        cal_test_expect_below(cal_test_largest_difference(x, expected, 3), 1e-8, "path of the centre", "a projectile");
    }
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

static void test_tumbling_body_keeps_energy_and_angular_momentum(void** unused) {
    (void)unused;
    // Close to the unstable middle axis, so that it tumbles.
    const double moments[3] = {0.1, 0.2, 0.25}, center[3] = {0.0, 0.0, 0.0},
                 velocity[6] = {0.0, 0.0, 0.0, 0.01, 3.0, 0.02};
    cal_model* model = top(moments, center, velocity);
    cal_sim* sim = simulate(model);
    double spin[3], first[3], R[9], pose[7], turned = 0.0;
    for (int i = 0; i <= 20; i++) {
        cal_test_advance_sim(sim, 0.5 * i);
        assert_int_equal(cal_sim_poses(sim, pose), CAL_OK);
        const double* w = cal_sim_v(sim) + 3;
        double kinetic = 0.0, start = 0.0;
        for (int k = 0; k < 3; k++) {
            spin[k] = moments[k] * w[k];
            kinetic += 0.5 * spin[k] * w[k];
            start += 0.5 * moments[k] * velocity[3 + k] * velocity[3 + k];
        }
        turned = fmax(turned, -w[1]);
        cal_quaternion_matrix(pose + 3, R);
        cal_rotate3(R, spin, spin);
        for (int k = 0; k < 3 && i == 0; k++) first[k] = spin[k];
        cal_test_expect_below(fabs(kinetic - start), 1e-8 * start, "energy of spin", "Euler's top");
        cal_test_expect_below(cal_test_largest_difference(spin, first, 3), 1e-8, "angular momentum", "Euler's top");
        const double* q = cal_sim_q(sim) + 3;
        cal_test_expect_below(fabs(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0), 1e-13,
                              "length of quaternion", "Euler's top");
    }
    assert_true(turned > 2.0);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

static void test_symmetric_top_precesses(void** unused) {
    (void)unused;
    // I₁ = I₂ = A, I₃ = C: in the body, ω turns about the axis at (C − A)/A ω₃; in the world, the axis about L at |L|/A.
    const double A = 0.2, C = 0.3, moments[3] = {A, A, C}, center[3] = {0.0, 0.0, 0.0};
    const double velocity[6] = {0.0, 0.0, 0.0, 0.8, 0.0, 2.5};
    cal_model* model = top(moments, center, velocity);
    cal_sim* sim = simulate(model);
    const double L[3] = {A * velocity[3], 0.0, C * velocity[5]}, length = sqrt(cal_dot3(L, L));
    const double along = L[2] / length, unit[3] = {L[0] / length, 0.0, along};
    for (int i = 1; i <= 10; i++) {
        const double t = 0.7 * i, phase = (C - A) / A * velocity[5] * t, angle = length / A * t;
        double pose[7], R[9], side[3], axis[3], expected[3];
        cal_test_advance_sim(sim, t);
        const double* w = cal_sim_v(sim) + 3;
        expected[0] = velocity[3] * cos(phase), expected[1] = velocity[3] * sin(phase), expected[2] = velocity[5];
        cal_test_expect_below(cal_test_largest_difference(w, expected, 3), 1e-8, "angular velocity", "a symmetric top");
        assert_int_equal(cal_sim_poses(sim, pose), CAL_OK);
        cal_quaternion_matrix(pose + 3, R);
        // Rodrigues: z turned about L by the angle.
        const double z[3] = {0.0, 0.0, 1.0};
        cal_cross3(unit, z, side);
        for (int k = 0; k < 3; k++) {
            expected[k] = z[k] * cos(angle) + side[k] * sin(angle) + unit[k] * along * (1.0 - cos(angle));
            axis[k] = R[3 * k + 2];
        }
        cal_test_expect_below(cal_test_largest_difference(axis, expected, 3), 1e-8, "axis", "a symmetric top");
    }
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_articulated_bodies_equal_dense_solve),
        cmocka_unit_test(test_inverse_undoes_forward),
        cmocka_unit_test(test_long_chains_keep_newton_and_euler),
        cmocka_unit_test(test_mass_matrix_gives_kinetic_energy),
        cmocka_unit_test(test_energy_changes_by_the_power_of_the_joints),
        cmocka_unit_test(test_only_gravity_changes_momentum_of_what_floats),
        cmocka_unit_test(test_jacobian_is_the_velocity_of_a_point),
        cmocka_unit_test(test_push_acts_through_the_jacobian),
        cmocka_unit_test(test_jacobian_needs_poses),
        cmocka_unit_test(test_pendulum_acceleration),
        cmocka_unit_test(test_pendulum_period),
        cmocka_unit_test(test_projectile),
        cmocka_unit_test(test_tumbling_body_keeps_energy_and_angular_momentum),
        cmocka_unit_test(test_symmetric_top_precesses),
    };
    return cmocka_run_group_tests_name("dynamics", tests, NULL, NULL);
}
