// Arms that pick up boxes and throw them: inverse kinematics against the model's own, a throw against the parabola, and what
// must hold for every scene (the rules of callbacks, the same bits whatever is rolled back, three loops that agree).
#include "base/random.h"
#include "calder/calder_world.h"
#include "math/vector.h"
#include "support.h"
#include "scenes/arm_control.h"
#include <math.h>
#include <string.h>

static cal_world* make(const char* specification, const cal_world_def* def) {
    cal_world* world = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_world_generate(specification, def, &world, &error) != CAL_OK) fail_msg("%s: %s", specification, error.text);
    return world;
}

static void advance(cal_world* world, double time) {
    cal_error error = {CAL_OK, ""};
    if (cal_world_advance(world, time, &error) != CAL_OK) fail_msg("advance to %g: %s", time, error.text);
}

static cal_body_id find(const cal_world* world, const char* name) {
    char own[64];
    for (int i = 0; i < cal_world_body_count(world); i++) {
        const cal_body_id body = cal_world_body(world, i);
        if (strcmp(cal_world_body_name(world, body, own, sizeof own), name) == 0) return body;
    }
    fail_msg("there is no %s", name);
    return (cal_body_id){-1, 0};
}

// --- Inverse kinematics -------------------------------------------------------------------------------------------------------

static void random_pose(cal_random* random, cal_arm_pose* out) {
    double R[9], quaternion[4];
    for (int i = 0; i < 4; i++) quaternion[i] = cal_random_between(random, -1.0, 1.0);
    cal_quaternion_matrix(quaternion, R);
    for (int i = 0; i < 3; i++) {
        out->grip[i] = cal_random_between(random, -0.9, 0.9) + (i == 2 ? CAL_ARM_SHOULDER : 0.0);
        out->open[i] = R[3 * i + 1], out->along[i] = R[3 * i + 2];
    }
}

static void test_inverse_kinematics(void** state) {
    (void)state;
    cal_model* model = NULL;
    assert_int_equal(cal_arm_model(0.0, &model, NULL), CAL_OK);
    cal_test_engine engine = cal_test_open(model, "kinematics", 1);
    cal_random random = {7};
    int reached = 0;
    double worst = 0.0;
    for (int k = 0; k < 400; k++) {
        cal_arm_pose pose;
        random_pose(&random, &pose);
        if (k % 8 == 0) { // as when a box is picked up: the hand points down
            pose.along[0] = pose.along[1] = pose.open[2] = 0.0, pose.along[2] = -1.0;
            const double length = sqrt(cal_dot3(pose.open, pose.open));
            for (int i = 0; i < 3; i++) pose.open[i] /= length;
        }
        double q[CAL_ARM_FREEDOMS] = {0}, wrist[3], far = 0.0, poses[7 * CAL_ARM_FREEDOMS], R[9];
        for (int i = 0; i < 3; i++) {
            wrist[i] = pose.grip[i] - CAL_ARM_GRIP * pose.along[i] - (i == 2 ? CAL_ARM_SHOULDER : 0.0);
            far += wrist[i] * wrist[i];
        }
        const bool reach = cal_arm_reach(&pose, 0.0, q);
        if (sqrt(far) > 2.0 * CAL_ARM_LENGTH) assert_false(reach);
        if (sqrt(far) < 1.9 * CAL_ARM_LENGTH && sqrt(far) > 0.6 * CAL_ARM_LENGTH) assert_true(reach);
        if (!reach) continue;
        reached++;
        assert_int_equal(cal_state_set(engine.state, CAL_Q, q), CAL_OK);
        cal_test_execute(&engine);
        assert_int_equal(cal_state_get(engine.state, CAL_POSE, poses), CAL_OK);
        const double* hand = poses + 7 * CAL_ARM_HAND;
        cal_quaternion_matrix(hand + 3, R);
        double same = 0.0; // the fingers may be the other way round
        for (int i = 0; i < 3; i++) same += R[3 * i + 1] * pose.open[i];
        for (int i = 0; i < 3; i++) {
            worst = fmax(worst, fabs(R[3 * i + 2] - pose.along[i]));
            worst = fmax(worst, fabs(R[3 * i + 1] - (same < 0.0 ? -1.0 : 1.0) * pose.open[i]));
            worst = fmax(worst, fabs(hand[i] + CAL_ARM_GRIP * R[3 * i + 2] - pose.grip[i]));
        }
        assert_true(fabs(q[5]) <= 0.5 * acos(-1.0) + 1e-9 && fabs(q[3]) <= 0.5 * acos(-1.0) + 1e-9);
    }
    assert_true(reached > 150);
    cal_test_expect_below(worst, 1e-13, "pose", "inverse kinematics");
    cal_test_close(&engine);
    cal_model_destroy(model);
}

// --- Picking up and throwing --------------------------------------------------------------------------------------------------

static void test_a_box_is_thrown(void** state) {
    (void)state;
    cal_world_def def = cal_default_world_def();
    def.check_rules = true;
    cal_world* world = make("robots:n=2,boxes=1", &def);
    const cal_body_id boxes[2] = {find(world, "box 0"), find(world, "box 1")};
    const cal_body_id arms[2] = {find(world, "arm.0.turret"), find(world, "arm.1.turret")};
    double start[2][3], x[3], u[3], highest = 0.0;
    for (int i = 0; i < 2; i++) cal_world_get_body(world, boxes[i], start[i], NULL, NULL, NULL);
    while (cal_world_slots(world, arms[0]) == NULL || cal_world_slots(world, arms[0])[CAL_ARM_AT_THROWS] == 0.0) {
        advance(world, cal_world_time(world) + 0.05);
        assert_true(cal_world_time(world) < 4.0);
    }
    // In flight it is a free body on a parabola, which goes to the other table.
    const double* slots = cal_world_slots(world, arms[0]);
    assert_true(slots[CAL_ARM_AT_ORDERS] == 1.0 && slots[CAL_ARM_AT_GRASPS] == 1.0);
    advance(world, cal_world_time(world) + 0.05);
    cal_world_get_body(world, boxes[0], x, NULL, u, NULL);
    assert_true(x[2] > 1.1 && u[0] > 1.0 && u[2] > 1.0);
    const double fall = x[2] - 0.34, flight = (u[2] + sqrt(u[2] * u[2] + 2.0 * 9.81 * fall)) / 9.81;
    // Where it comes down, in the other table's axes; it was aimed at most 0.6 of the half width from near the middle.
    cal_test_expect_below(fabs(x[0] + flight * u[0] - 2.0), 0.27, "landing", "robots");
    cal_test_expect_below(fabs(x[1] + flight * u[1] + 0.65), 0.27, "landing", "robots");
    const double from = cal_world_time(world);
    while (cal_world_time(world) < from + 1.2) {
        advance(world, cal_world_time(world) + 0.1);
        cal_world_get_body(world, boxes[0], x, NULL, NULL, NULL);
        highest = fmax(highest, x[2]);
    }
    assert_true(highest > 1.2);
    // Each lies on the other one's table.
    for (int i = 0; i < 2; i++) {
        cal_world_get_body(world, boxes[i], x, NULL, NULL, NULL);
        assert_true(fabs(x[0] - start[i][0]) > 1.0 && x[2] > 0.32 && x[2] < 0.6);
    }
    cal_world_destroy(world);
}

static void test_same_bits_after_rollbacks(void** state) {
    (void)state;
    uint64_t hash = 0;
    for (int run = 0; run < 2; run++) {
        cal_world_def def = cal_default_world_def();
        def.forced_rollbacks = run == 0 ? 0.0 : 0.1;
        cal_world* world = make("robots:n=2,boxes=2", &def);
        advance(world, 1.9); // they sleep, are gripped, lifted
        cal_world_report report;
        cal_world_get_report(world, &report);
        if (run == 0) hash = report.hash;
        assert_true(report.hash == hash);
        assert_true(run == 0 || report.forced > 20);
        assert_true(cal_world_slots(world, find(world, "arm.0.turret"))[CAL_ARM_AT_GRASPS] == 1.0);
        cal_world_destroy(world);
    }
}

static void test_loops_agree(void** state) {
    (void)state;
    double hands[3][3], boxes[3][3];
    for (int loop = 0; loop < 3; loop++) {
        cal_world_def def = cal_default_world_def();
        def.loop = (cal_world_loop)loop;
        cal_world* world = make("robots:n=2,boxes=1", &def);
        advance(world, 1.6); // the box is between the fingers, above the table
        cal_world_get_body(world, find(world, "arm.1.hand"), hands[loop], NULL, NULL, NULL);
        cal_world_get_body(world, find(world, "box 1"), boxes[loop], NULL, NULL, NULL);
        assert_true(boxes[loop][2] > 0.4);
        cal_world_destroy(world);
        for (int i = 0; i < 3; i++) {
            cal_test_expect_below(fabs(hands[loop][i] - hands[0][i]), 1e-5, "hand", "robots");
            cal_test_expect_below(fabs(boxes[loop][i] - boxes[0][i]), 1e-3, "box", "robots");
        }
    }
}

static void test_the_papers_numbers_and_bad_ones(void** state) {
    (void)state;
    cal_world* world = make("robots", NULL);
    cal_world_report report;
    advance(world, 0.0);
    cal_world_get_report(world, &report);
    assert_int_equal(report.moving, 240);
    assert_int_equal(report.bodies, 430);
    cal_world_destroy(world);
    const char* const wrong[] = {"robots:n=3", "robots:n=0", "robots:boxes=9", "robots:arms=2", "robots:n="};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cal_error error = {CAL_OK, ""};
        assert_int_equal(cal_world_generate(wrong[i], NULL, &world, &error), CAL_BAD_ARGUMENT);
        assert_null(world);
        assert_true(strlen(error.text) > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inverse_kinematics),
        cmocka_unit_test(test_a_box_is_thrown),
        cmocka_unit_test(test_same_bits_after_rollbacks),
        cmocka_unit_test(test_loops_agree),
        cmocka_unit_test(test_the_papers_numbers_and_bad_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
