// Armstrong's figure with muscles: servos on ball joints, feet on a floor. It stands, takes a push, crouches, and falls without them.
#include "support.h"
#include <math.h>
#include <string.h>

enum { MOST = 64 };

// --- Servos on balls ------------------------------------------------------------------------------------------------------

// A tree of balls, either with springs and dampers, or with servos of the same stiffness and damping on all axes.
static cal_model* make_tree(bool servos, double stiffness, double damping) {
    cal_model *tree = cal_test_model("tree:height=3,fanout=2,joint=ball"), *out = NULL;
    cal_builder* builder = cal_test_same_bodies(tree);
    cal_error error;
    for (int i = 0; i < cal_model_joint_count(tree); i++) {
        cal_joint_def joint;
        int body;
        cal_model_joint(tree, i, &joint, &body, NULL, NULL);
        if (!servos) joint.stiffness = stiffness, joint.damping = damping;
        cal_builder_add_joint(builder, body, &joint);
        for (int axis = 0; servos && axis < 3; axis++) {
            cal_actuator_def servo = cal_default_actuator_def();
            servo.joint = i, servo.axis = axis;
            servo.gain = stiffness, servo.bias[1] = -stiffness, servo.bias[2] = -damping;
            cal_builder_add_actuator(builder, &servo);
        }
    }
    if (cal_builder_finish(builder, &out, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    cal_model_destroy(tree);
    return out;
}

// With the control r a servo's torque is that of a spring and a damper, and k r more: the spring's reference has moved.
static void a_servo_is_a_spring_whose_reference_moves(void** state) {
    (void)state;
    static const char* const algorithms[] = {"aba", "armstrong", "assembly", "crba"};
    const double k = 7.0, c = 0.3;
    cal_model *servos = make_tree(true, k, c), *springs = make_tree(false, k, c);
    const int n = cal_model_v_count(springs);
    cal_test_motion at = cal_test_random_motion(servos, 5);
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
        double qdd[2][MOST];
        for (int i = 0; i < 2; i++) {
            cal_test_engine engine = cal_test_open(i ? springs : servos, algorithms[a], 0);
            cal_test_motion own = at;
            double tau[MOST];
            for (int j = 0; j < n; j++) tau[j] = at.tau[j] + (i ? k * at.control[j] : 0.0);
            own.tau = tau;
            cal_test_load(&engine, &own);
            cal_test_execute(&engine);
            assert_int_equal(cal_state_get(engine.state, CAL_QDD, qdd[i]), CAL_OK);
            cal_test_close(&engine);
        }
        for (int j = 0; j < n; j++)
            cal_test_expect_below(fabs(qdd[0][j] - qdd[1][j]), 1e-9 * (1.0 + fabs(qdd[1][j])), "acceleration",
                                  algorithms[a]);
    }
    cal_test_motion_free(&at);
    cal_model_destroy(servos);
    cal_model_destroy(springs);
}

// --- The figure -----------------------------------------------------------------------------------------------------------

typedef struct figure {
    cal_model* model;
    cal_sim* sim;
    int torso, head;
} figure;

static figure make_figure(const char* specification, uint32_t without) {
    cal_model* model = cal_test_model(specification);
    cal_error error;
    figure f = {0};
    cal_sim_def def = cal_default_sim_def();
    def.algorithm = "armstrong";
    if (cal_model_variant(model, without, CAL_NONE, &f.model, &error)) fail_msg("%s", error.text);
    if (cal_sim_create(f.model, &def, &f.sim, &error)) fail_msg("%s", error.text);
    f.torso = cal_model_find_body(f.model, "torso");
    f.head = cal_model_find_body(f.model, "head");
    cal_model_destroy(model);
    return f;
}

static void destroy(figure* f) {
    cal_sim_destroy(f->sim);
    cal_model_destroy(f->model);
}

static void advance(figure* f, double time) {
    cal_error error;
    if (cal_sim_advance(f->sim, time, &error)) fail_msg("%s", error.text);
}

static void place_of(figure* f, int body, double out[3]) {
    double poses[7 * MOST];
    assert_int_equal(cal_sim_poses(f->sim, poses), CAL_OK);
    memcpy(out, poses + 7 * body, 3 * sizeof *out);
}

static double distance(const double a[3], const double b[3]) {
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

// The error of the energy's balance, of what was exchanged.
static double imbalance(figure* f) {
    cal_energy_balance balance;
    assert_int_equal(cal_sim_balance(f->sim, &balance), CAL_OK);
    return fabs(balance.relative);
}

// It starts with every hinge bent by 0.02 rad, sways and comes to rest. The work of its muscles is what they take out of it: none of it
// is made. The head is 0.62 m above the torso's hinge, and that 1.1 m high when it stands straight.
static void it_stands_for_five_seconds(void** state) {
    (void)state;
    figure f = make_figure("stickman:muscles=3,start=0.02", 0);
    const double upright[3] = {0.0, 0.0, 1.72};
    double at[2][3];
    for (int i = 1; i <= 10; i++) {
        memcpy(at[0], at[1], sizeof at[0]);
        advance(&f, 0.5 * i);
        place_of(&f, f.head, at[1]);
        cal_test_expect_below(distance(at[1], upright), 0.15, "sway", "stickman");
    }
    cal_test_expect_below(distance(at[1], upright), 0.06, "lean", "at rest");
    cal_test_expect_below(distance(at[0], at[1]), 1e-5, "half a second's way", "at rest");
    cal_test_expect_below(imbalance(&f), 0.01, "balance of energy", "standing");
    destroy(&f);
}

static void it_falls_without_muscles(void** state) {
    (void)state;
    figure f = make_figure("stickman:muscles=3,start=0.02", CAL_PART_ACTUATION);
    double at[3];
    advance(&f, 2.0);
    place_of(&f, f.head, at);
    cal_test_expect_below(at[2], 0.5, "height of the head", "without muscles");
    cal_test_expect_below(imbalance(&f), 0.05, "balance of energy", "falling");
    destroy(&f);
}

// For 0.2 s at 0.2 m above the torso's hinge: 20 N s move it by less than a centimetre and it is back after a second; with 60 N s the
// figure, of 76.4 kg and feet that reach 0.17 m forward, tips over. As a rigid body it tips where I ω²/2 > m g (√(h² + 0.17²) − h), with
// ω = 20 N s · 1.4 m / I, I ≈ 100 kg m², h ≈ 1.05 m: 28²/200 = 4 J against 10 J; with 60 N s it is 35 J.
static void it_takes_a_push_and_tumbles_from_a_hard_one(void** state) {
    (void)state;
    static const double forces[] = {100.0, 300.0};
    for (int i = 0; i < 2; i++) {
        figure f = make_figure("stickman:muscles=4,start=0", 0);
        const double upright[3] = {0.0, 0.0, 1.72}, force[3] = {forces[i], 0.0, 0.0}, point[3] = {0.0, 0.0, 0.2};
        double at[3];
        assert_int_equal(cal_sim_push(f.sim, f.torso, force, NULL, point), CAL_OK);
        advance(&f, 0.2);
        assert_int_equal(cal_sim_release(f.sim), CAL_OK);
        advance(&f, 1.7);
        place_of(&f, f.head, at);
        if (i == 0)
            cal_test_expect_below(distance(at, upright), 0.005, "way of the head", "a push");
        else
            cal_test_expect_below(at[2], 0.5, "height of the head", "a hard push");
        cal_test_expect_below(imbalance(&f), 0.01, "balance of energy", "pushed");
        destroy(&f);
    }
}

// A controller moves the reference of a shoulder by r = 1 rad. The arm, stretched, comes to rest where the spring s M (r − θ) holds the
// weight's moment M sin θ, M the same in both: s (r − θ) = sin θ. The elbow, whose own weight is held alike, gives way by a little more.
static void a_controller_raises_its_arm(void** state) {
    (void)state;
    figure f = make_figure("stickman:muscles=4,start=0", 0);
    const int muscle = cal_model_find_actuator(f.model, "left_upper_arm_x"),
              arm = cal_model_find_body(f.model, "left_upper_arm"),
              hand = cal_model_find_body(f.model, "left_lower_arm");
    double control[MOST] = {0.0}, shoulder[3], elbow[3], angle = 1.0;
    cal_error error;
    assert_int_equal(cal_model_actuator_count(f.model), 33);
    control[muscle] = 1.0;
    if (cal_sim_drive(f.sim, NULL, control, &error)) fail_msg("%s", error.text);
    advance(&f, 3.0);
    place_of(&f, arm, shoulder);
    place_of(&f, hand, elbow);
    for (int i = 0; i < 50; i++) angle = 1.0 - sin(angle) / 4.0;
    const double found = atan2(elbow[1] - shoulder[1], shoulder[2] - elbow[2]);
    cal_test_expect_below(fabs(found - angle), 0.02, "angle of the arm", "raised");
    cal_test_expect_below(fabs(elbow[0] - shoulder[0]), 0.01, "to the front", "raised");
    destroy(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_servo_is_a_spring_whose_reference_moves),
        cmocka_unit_test(it_stands_for_five_seconds),
        cmocka_unit_test(it_falls_without_muscles),
        cmocka_unit_test(it_takes_a_push_and_tumbles_from_a_hard_one),
        cmocka_unit_test(a_controller_raises_its_arm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
