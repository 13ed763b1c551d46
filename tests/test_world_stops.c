// Joints with rigid stops where shapes touch: in flight they are hit at events, in a contact group they are rows beside the contacts.
#define _DEFAULT_SOURCE
#include "support.h"
#include "calder/calder_world.h"
#include <math.h>
#include <string.h>

static const double GRAVITY = 9.81, HARDNESS = 0.5, END = 0.5, FLOOR = -2.0;

static cal_builder* new_builder(double floor) {
    cal_builder* builder = NULL;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, (double[]){0.0, 0.0, -GRAVITY});
    cal_shape_def plane = cal_default_shape_def();
    plane.body = CAL_GROUND, plane.kind = CAL_PLANE, plane.position[2] = floor, plane.friction = 1.0;
    cal_builder_add_shape(builder, &plane);
    return builder;
}

// A ball with a small radius, which touches.
static void add_ball(cal_builder* builder, int body, double x, double z, double radius) {
    cal_shape_def ball = cal_default_shape_def();
    ball.body = body, ball.kind = CAL_SPHERE, ball.size[0] = radius, ball.friction = 1.0;
    ball.position[0] = x, ball.position[2] = z;
    cal_builder_add_shape(builder, &ball);
}

// A rod of 1 kg and 1 m along x, on a hinge about y: falls from −1/2 rad onto its stop at 1/2.
static void add_arm(cal_builder* builder, int parent, double z) {
    cal_body_def arm = cal_default_body_def();
    cal_joint_def hinge = cal_default_joint_def();
    arm.parent = parent, arm.mass = 1.0, arm.center[0] = 0.5, arm.position[2] = z;
    arm.inertia[0] = 1e-3, arm.inertia[1] = arm.inertia[2] = 1.0 / 12.0;
    const int body = cal_builder_add_body(builder, &arm);
    hinge.axis[1] = 1.0, hinge.axis[2] = 0.0, hinge.initial_q[0] = -END;
    hinge.limited = true, hinge.range[0] = -3.0, hinge.range[1] = END, hinge.limit_damping = HARDNESS;
    cal_builder_add_joint(builder, body, &hinge);
    add_ball(builder, body, 0.9, 0.0, 0.02);
}

static cal_sim* open_sim(const cal_model* model, const char* solver, double rollbacks, cal_machine* machine) {
    cal_sim_def def = cal_default_sim_def();
    cal_world_def events = cal_default_world_def();
    def.solver = solver, def.machine = machine;
    events.forced_rollbacks = rollbacks, events.group_tolerance = 1e-5, events.separate = true;
    def.events = &events;
    return cal_test_create_sim(model, &def);
}

static double loss_of(cal_sim* sim) {
    cal_energy_balance balance;
    assert_int_equal(cal_sim_balance(sim, &balance), CAL_OK);
    return balance.loss;
}

// What is left of u after an impact: c u − ln(1 + c u) = −c w − ln(1 − c w).
static double speed_after(double c, double u) {
    double low = 0.0, high = 1.0 / c;
    const double goal = c * u - log1p(c * u);
    for (int i = 0; i < 100; i++) {
        const double w = 0.5 * (low + high);
        *(-c * w - log1p(-c * w) < goal ? &low : &high) = w;
    }
    return low;
}

// Energy that the first impact of the arm takes: its inertia about the hinge is 1/3.
static double first_loss(void) {
    const double fallen = 0.5 * GRAVITY * 2.0 * sin(END), u = sqrt(6.0 * fallen), w = speed_after(HARDNESS, u);
    return (u * u - w * w) / 6.0;
}

static void an_arm_hits_its_stop_above_a_floor_and_rests_on_it(void** state) {
    (void)state;
    static const char* const solvers[] = {"auto", "rkf", "gear", "implicit"};
    cal_builder* builder = new_builder(FLOOR);
    add_arm(builder, CAL_GROUND, 0.0);
    cal_model* model = cal_test_finish(builder);
    for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++) {
        double forces[6];
        cal_sim* sim = open_sim(model, solvers[i], 0.0, NULL);
        assert_non_null(cal_sim_world(sim));
        cal_test_advance_sim(sim, 0.45);
        cal_test_expect_below(fabs(loss_of(sim) - first_loss()), 1e-6, "loss of the first impact", solvers[i]);
        for (int k = 0; k < 60; k++) {
            cal_test_advance_sim(sim, 0.5 + 0.05 * k);
            cal_test_expect_below(cal_sim_q(sim)[0] - END, 1e-6, "beyond the stop", solvers[i]);
        }
        cal_test_expect_below(fabs(cal_sim_q(sim)[0] - END), 1e-6, "at the stop", solvers[i]);
        assert_true(cal_sim_v(sim)[0] == 0.0);
        assert_int_equal(cal_sim_joint_forces(sim, forces), CAL_OK);
        cal_test_expect_below(fabs(forces[2] - GRAVITY), 1e-9, "weight", solvers[i]);
        cal_test_expect_below(fabs(fabs(forces[4]) - 0.5 * GRAVITY * cos(END)), 1e-5, "moment of the stop", solvers[i]);
        cal_test_expect_balanced(sim, solvers[i]);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// The same arm on a block of a ton that stands on the floor: both are one contact group when the arm hits its stop.
static void a_stop_is_hit_in_a_contact_group(void** state) {
    (void)state;
    cal_builder* builder = new_builder(0.0);
    cal_body_def block = cal_default_body_def();
    cal_joint_def joint = cal_default_joint_def();
    block.mass = 1000.0, block.inertia[0] = block.inertia[1] = block.inertia[2] = 500.0, block.position[2] = 0.5;
    const int body = cal_builder_add_body(builder, &block);
    joint.kind = CAL_FREE;
    cal_builder_add_joint(builder, body, &joint);
    cal_shape_def box = cal_default_shape_def();
    box.body = body, box.kind = CAL_BOX, box.size[0] = box.size[1] = 1.0, box.size[2] = 0.5, box.friction = 1.0;
    cal_builder_add_shape(builder, &box);
    add_arm(builder, body, 1.5);
    cal_model* model = cal_test_finish(builder);
    cal_sim* sim = open_sim(model, "auto", 0.0, NULL);
    cal_world_report report;
    cal_test_advance_sim(sim, 0.45);
    cal_world_get_report(cal_sim_world(sim), &report);
    assert_true(report.groups > 0);
    // The block takes a thousandth of it, and the impact's speed has the group's error.
    const double loss = loss_of(sim);
    if (!(fabs(loss - first_loss()) < 1e-2 * first_loss())) fail_msg("%g J, and not %g", loss, first_loss());
    for (int k = 0; k < 100; k++) {
        cal_test_advance_sim(sim, 0.5 + 0.013 * k);
        cal_test_expect_below(cal_sim_q(sim)[7] - END, 1e-3, "beyond the stop", "block");
    }
    cal_test_advance_sim(sim, 6.0);
    cal_test_expect_below(fabs(cal_sim_q(sim)[7] - END), 2e-6, "at the stop", "block");
    cal_test_expect_below(fabs(cal_sim_v(sim)[6]), 1e-9, "speed at the stop", "block");
    cal_test_expect_balanced(sim, "block");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// --- A robot that kneels ------------------------------------------------------------------------------------------------------------

static const double TORSO = 5.0, LINK = 1.0, LENGTH = 0.5, RADIUS = 0.05, HIP = -0.4;

// A torso on a slide along z, a thigh and a shank with a foot. It falls on its foot, and its hip comes to its stop.
static cal_model* leg(void) {
    cal_builder* builder = new_builder(0.0);
    for (int i = 0; i < 3; i++) {
        cal_body_def body = cal_default_body_def();
        cal_joint_def joint = cal_default_joint_def();
        body.parent = i - 1, body.mass = i == 0 ? TORSO : LINK;
        body.position[2] = i == 0 ? 1.2 : i == 1 ? 0.0 : -LENGTH;
        body.center[2] = i == 0 ? 0.0 : -0.5 * LENGTH;
        body.inertia[0] = body.inertia[1] = 0.02, body.inertia[2] = 1e-3;
        const int number = cal_builder_add_body(builder, &body);
        if (i == 0) {
            joint.kind = CAL_PRISMATIC;
        } else {
            joint.axis[1] = 1.0, joint.axis[2] = 0.0, joint.initial_q[0] = i == 1 ? -0.3 : 0.5;
            joint.limited = true;
            joint.range[0] = i == 1 ? HIP : 0.0, joint.range[1] = i == 1 ? -HIP : 0.8;
        }
        cal_builder_add_joint(builder, number, &joint);
        if (i == 2) add_ball(builder, number, 0.0, -LENGTH, RADIUS);
    }
    return cal_test_finish(builder);
}

static void a_robot_kneels_on_its_stop(void** state) {
    (void)state;
    cal_model* model = leg();
    cal_sim* sim = open_sim(model, "auto", 0.0, NULL);
    double forces[18];
    cal_test_advance_sim(sim, 2.0);
    const double* q = cal_sim_q(sim);
    cal_test_expect_below(fabs(q[1] - HIP), 2e-6, "hip at its stop", "leg");
    for (int i = 0; i < 3; i++) cal_test_expect_below(fabs(cal_sim_v(sim)[i]), 1e-8, "speed", "leg");
    // Statics. No moment in the knee gives the friction at the foot; about the hip the stop carries the rest.
    const double a = q[1], b = q[1] + q[2], weight = (TORSO + 2.0 * LINK) * GRAVITY, link = LINK * GRAVITY;
    const double foot_x = -LENGTH * sin(b), foot_z = -LENGTH * cos(b) - RADIUS;
    const double across = (foot_x * weight - 0.5 * foot_x * link) / foot_z;
    const double knee_x = -LENGTH * sin(a), knee_z = -LENGTH * cos(a);
    const double moment =
        (knee_z + foot_z) * across - (knee_x + foot_x) * weight + 0.5 * knee_x * link + (knee_x + 0.5 * foot_x) * link;
    assert_int_equal(cal_sim_joint_forces(sim, forces), CAL_OK);
    cal_test_expect_below(fabs(fabs(forces[6 + 4]) - fabs(moment)), 1e-4 * fabs(moment), "moment of the stop", "leg");
    cal_test_expect_below(fabs(fabs(forces[12]) - fabs(across)), 1e-4 * fabs(across), "friction", "leg");
    cal_test_expect_below(fabs(forces[12 + 4]), 1e-5, "moment of the knee", "leg");
    // History does not depend on who was ahead, or on what was taken back.
    cal_machine* threads = NULL;
    cal_threads_def two = cal_default_threads_def();
    two.workers = 2;
    assert_int_equal(cal_machine_threads(&two, &threads, NULL), CAL_OK);
    for (int i = 0; i < 3; i++) {
        cal_sim* other = open_sim(model, "auto", i == 2 ? 0.0 : 0.2 + 0.2 * i, i == 2 ? threads : NULL);
        cal_test_advance_sim(other, 0.21), cal_test_advance_sim(other, 2.0);
        if (cal_sim_hash(other) != cal_sim_hash(sim)) fail_msg("run %d ends elsewhere", i);
        cal_sim_destroy(other);
    }
    cal_machine_destroy(threads);
    // A fork in the middle goes on as the other does.
    cal_sim *from = open_sim(model, "auto", 0.0, NULL), *fork = NULL;
    cal_test_advance_sim(from, 0.25);
    assert_int_equal(cal_sim_fork(from, &fork, NULL), CAL_OK);
    cal_test_advance_sim(fork, 2.0);
    assert_true(cal_sim_hash(fork) == cal_sim_hash(sim));
    cal_sim_destroy(from), cal_sim_destroy(fork), cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// Two links of a millimetre on hinges, each pressed into its stop by a torque. Alone the first one would leave its stop, since the second one's torque
// turns it away; but the second one rests on its stop, so both turn as one, into the first one's. It bounces ever lower there, and comes to rest.
static void a_joint_rests_where_another_one_holds_it(void** state) {
    (void)state;
    const double length = 1e-3, mass = 1e-6;
    cal_builder* builder = new_builder(FLOOR);
    cal_builder_set_gravity(builder, (double[]){0.0, 0.0, 0.0});
    for (int i = 0; i < 2; i++) {
        cal_body_def link = cal_default_body_def();
        cal_joint_def hinge = cal_default_joint_def();
        link.parent = i - 1, link.mass = mass, link.center[0] = 0.5 * length, link.position[0] = i * length;
        if (i == 0) link.parent = CAL_GROUND;
        link.inertia[0] = 1e-3 * mass * length * length;
        link.inertia[1] = link.inertia[2] = mass * length * length / 12.0;
        const int body = cal_builder_add_body(builder, &link);
        hinge.axis[1] = 1.0, hinge.axis[2] = 0.0;
        hinge.limited = true, hinge.range[0] = 0.0, hinge.range[1] = 1.0;
        hinge.initial_v[0] = i == 0 ? -2e-4 : 0.0;
        const int joint = cal_builder_add_joint(builder, body, &hinge);
        cal_actuator_def motor = cal_default_actuator_def();
        motor.joint = joint, motor.initial_control = (i == 0 ? -0.5e6 : -1e6) * mass * length * length;
        cal_builder_add_actuator(builder, &motor);
        add_ball(builder, body, length, 0.0, 0.1 * length);
    }
    cal_model* model = cal_test_finish(builder);
    cal_sim* sim = open_sim(model, "rkck", 0.0, NULL);
    cal_error error;
    if (cal_sim_advance(sim, 1e-3, &error)) fail_msg("%s", error.text);
    for (int i = 0; i < 2; i++) {
        cal_test_expect_below(fabs(cal_sim_q(sim)[i]), 1e-7, "distance from its stop", "a joint that rests");
        cal_test_expect_below(fabs(cal_sim_v(sim)[i]), 1e-7, "speed", "a joint that rests");
    }
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_joint_rests_where_another_one_holds_it),
        cmocka_unit_test(an_arm_hits_its_stop_above_a_floor_and_rests_on_it),
        cmocka_unit_test(a_stop_is_hit_in_a_contact_group),
        cmocka_unit_test(a_robot_kneels_on_its_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
