// Piles: what is dense, what touches from the start, what hardly moves. Bodies do not sink into each other, energy does not grow,
// rollbacks change no bit, and only what cannot move sleeps.
#include "support_world.h"
#include <math.h>
#include <string.h>

static const double pull = 9.81;

static double noise(uint64_t* state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 33) / 2147483648.0;
}

// Balls of radius 5 cm that fall into a bowl of a floor and eight boxes.
static cal_world* pour(int count, const cal_world_def* def) {
    cal_world* world = cal_test_world(def);
    const double pi = acos(-1.0);
    cal_test_add_floor(world);
    for (int i = 0; i < 8; i++) {
        cal_world_body_def wall = cal_default_world_body_def();
        wall.motion = CAL_FIXED;
        wall.position[0] = 0.4 * cos(pi / 4 * i), wall.position[1] = 0.4 * sin(pi / 4 * i), wall.position[2] = 0.4;
        wall.quaternion[0] = cos(pi / 8 * i), wall.quaternion[3] = sin(pi / 8 * i);
        cal_test_add(world, &wall, CAL_BOX, 0.1, 0.2, 0.4);
    }
    uint64_t seed = 1;
    for (int i = 0; i < count; i++) {
        cal_world_body_def ball = cal_default_world_body_def();
        ball.position[0] = 0.12 * (i % 3 - 1) + 0.01 * noise(&seed);
        ball.position[1] = 0.12 * (i / 3 % 3 - 1) + 0.01 * noise(&seed);
        ball.position[2] = 0.1 + 0.13 * (i / 9);
        cal_test_add(world, &ball, CAL_SPHERE, 0.05, 0, 0);
    }
    return world;
}

static void poured_balls_do_not_sink_in_and_gain_nothing(void** unused) {
    (void)unused;
    cal_world_def def = cal_default_world_def();
    def.restitution = 0.3;
    cal_world* world = pour(CAL_TEST_SANITIZED ? 9 : 54, &def);
    double energy = INFINITY;
    for (int i = 1; i <= 50; i++) {
        cal_test_advance(world, 0.02 * i);
        const cal_world_report report = cal_test_report(world);
        cal_test_expect_below(report.kinetic + report.potential, energy * (1.0 + 1e-9), "energy", "balls");
        energy = fmin(energy, report.kinetic + report.potential);
        cal_test_expect_below(report.penetration, 1e-6 * 0.05, "overlap", "balls");
    }
    cal_world_destroy(world);
}

// Looked at inside of steps too, where bodies are on the way from one state to the next.
static void tumbling_boxes_gain_nothing(void** unused) {
    (void)unused;
    for (uint64_t seed = 1; seed <= (CAL_TEST_SANITIZED ? 1 : 6); seed++) {
        cal_world_def def = cal_default_world_def();
        cal_world* world = cal_test_world(&def);
        uint64_t random = seed;
        cal_test_add_floor(world);
        for (int i = 0; i < 8; i++) {
            cal_world_body_def box = cal_default_world_body_def();
            for (int k = 0; k < 4; k++) box.quaternion[k] = noise(&random) - 0.5;
            for (int k = 0; k < 3; k++) box.angular_velocity[k] = 4 * noise(&random) - 2;
            box.position[0] = 0.05 * noise(&random), box.position[1] = 0.05 * noise(&random);
            box.position[2] = 0.3 + 0.25 * i;
            cal_test_add(world, &box, CAL_BOX, 0.1, 0.07, 0.05);
        }
        double last = INFINITY;
        for (int i = 1; i <= 800; i++) {
            cal_test_advance(world, 0.0025 * i);
            const cal_world_report report = cal_test_report(world);
            const double energy = report.kinetic + report.potential;
            cal_test_expect_below(energy - last, 1e-4 * energy, "gain", "boxes");
            last = energy;
        }
        cal_world_destroy(world);
    }
}

// What rolls over what is not round is lifted by its own motion and by no force; and what turns about no axis of its own keeps its energy.
// Whatever the tolerance is, contacts take energy and give none.
static void tumbling_shapes_balance(void** unused) {
    (void)unused;
    static const double sizes[][3] = {{0.1, 0.1, 0.15}, {0.1, 0.15, 0.25}, {0.2, 0.2, 0.05}};
    static const double tolerances[] = {1e-4, 1e-6};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < (CAL_TEST_SANITIZED ? 1 : 2); k++) {
            cal_world_def def = cal_default_world_def();
            def.group_tolerance = tolerances[k];
            cal_world* world = cal_test_world(&def);
            uint64_t random = 7;
            cal_test_add_floor(world);
            for (int n = 0; n < 5; n++) {
                cal_world_body_def body = cal_default_world_body_def();
                for (int d = 0; d < 4; d++) body.quaternion[d] = noise(&random) - 0.5;
                body.position[0] = 0.1 * noise(&random), body.position[1] = 0.1 * noise(&random);
                body.position[2] = 0.4 + 0.55 * n;
                cal_test_add(world, &body, CAL_ELLIPSOID, sizes[i][0], sizes[i][1], sizes[i][2]);
            }
            cal_test_advance(world, 3.0);
            cal_energy_balance balance;
            assert_int_equal(cal_world_balance(world, &balance), CAL_OK);
            cal_test_expect_below(fabs(balance.relative), 1e-5, "balance", "ellipsoids");
            cal_world_destroy(world);
        }
}

static void rollbacks_of_piles_end_and_change_no_bit(void** unused) {
    (void)unused;
    uint64_t hash = 0;
    for (int run = 0; run < 3; run++) {
        cal_world_def def = cal_default_world_def();
        def.restitution = 0.3;
        def.forced_rollbacks = 0.25 * run, def.seed = (uint64_t)run;
        cal_world* world = pour(CAL_TEST_SANITIZED ? 9 : 27, &def);
        for (int i = 0; i < 2; i++) { // and boxes that tumble among them
            cal_world_body_def box = cal_default_world_body_def();
            box.position[2] = 0.7 + 0.3 * i, box.quaternion[1] = 0.3, box.quaternion[2] = 0.2 * i;
            box.angular_velocity[0] = 3.0, box.angular_velocity[1] = -2.0;
            cal_test_add(world, &box, CAL_BOX, 0.08, 0.06, 0.04);
        }
        cal_test_advance(world, 0.6);
        const cal_world_report report = cal_test_report(world);
        if (run == 0) hash = report.hash;
        assert_true(report.hash == hash);
        assert_true(run == 0 || report.forced > 0);
        cal_world_destroy(world);
    }
}

// A group of more than 128, which looks around before each of its steps, and what falls on it.
static void rollbacks_of_large_groups_change_no_bit(void** unused) {
    (void)unused;
    const int side = CAL_TEST_SANITIZED ? 3 : 12;
    uint64_t hash = 0;
    for (int run = 0; run < 2; run++) {
        cal_world_def def = cal_default_world_def();
        def.restitution = 0.3;
        def.forced_rollbacks = 0.02 * run, def.seed = 7;
        cal_world* world = cal_test_world(&def);
        cal_test_add_floor(world);
        uint64_t random = 1;
        for (int i = 0; i < side * side; i++) {
            cal_world_body_def ball = cal_default_world_body_def();
            ball.position[0] = 0.1 * (i % side), ball.position[1] = 0.1 * (i / side), ball.position[2] = 0.05;
            cal_test_add(world, &ball, CAL_SPHERE, 0.05, 0, 0);
        }
        for (int i = 0; i < 2 * side; i++) {
            cal_world_body_def ball = cal_default_world_body_def();
            for (int k = 0; k < 2; k++) ball.position[k] = 0.1 * (side - 1) * noise(&random);
            ball.position[2] = 0.2 + 0.11 * i;
            cal_test_add(world, &ball, CAL_SPHERE, 0.05, 0, 0);
        }
        cal_test_advance(world, 0.5);
        const cal_world_report report = cal_test_report(world);
        if (run == 0) hash = report.hash;
        assert_true(report.hash == hash);
        assert_true(CAL_TEST_SANITIZED || report.largest_group > 128);
        assert_true(run == 0 || report.forced > 0);
        cal_world_destroy(world);
    }
}

// Looked at between the states of a group: dominoes that turn about their edges do not go into the floor or each other on the way.
static void falling_dominoes_do_not_overlap_between_states(void** unused) {
    (void)unused;
    const double size = 0.224;
    static cal_contact_point points[1000];
    cal_world_def def = cal_default_world_def();
    def.restitution = -1.0, def.friction = -1.0;
    cal_world* world = NULL;
    assert_int_equal(cal_world_generate("stack:kind=dominoes,n=20", &def, &world, NULL), CAL_OK);
    for (int i = 1; i <= (CAL_TEST_SANITIZED ? 240 : 720); i++) {
        int count = 0;
        cal_test_advance(world, 0.00417 * i);
        assert_int_equal(cal_world_contacts(world, points, 1000, &count, NULL), CAL_OK);
        for (int k = 0; k < count && k < 1000; k++)
            cal_test_expect_below(-points[k].gap, 1.05e-6 * size, "overlap", "dominoes");
    }
    cal_world_destroy(world);
}

// Ellipsoids that tumble into a bowl turn by a third of a radian in a step: they do not go into each other on the way, either.
static void tumbling_ellipsoids_do_not_overlap_between_states(void** unused) {
    (void)unused;
    const double size = 0.05;
    static cal_contact_point points[1000];
    cal_world_def def = cal_default_world_def();
    def.restitution = 0.3, def.friction = 0.4;
    cal_world* world = pour(0, &def);
    uint64_t seed = 1;
    for (int i = 0; i < (CAL_TEST_SANITIZED ? 6 : 20); i++) {
        cal_world_body_def body = cal_default_world_body_def();
        for (int k = 0; k < 4; k++) body.quaternion[k] = noise(&seed) - 0.5;
        for (int k = 0; k < 2; k++) body.position[k] = 0.3 * (noise(&seed) - 0.5);
        body.position[2] = 0.1 + 0.12 * i;
        cal_test_add(world, &body, CAL_ELLIPSOID, size, 0.03, 0.02);
    }
    for (int i = 1; i <= 300; i++) {
        int count = 0;
        cal_test_advance(world, 0.005 * i);
        assert_int_equal(cal_world_contacts(world, points, 1000, &count, NULL), CAL_OK);
        for (int k = 0; k < count && k < 1000; k++)
            cal_test_expect_below(-points[k].gap, 1.05e-6 * size, "overlap", "ellipsoids");
    }
    cal_world_destroy(world);
}

// Sixteen balls side by side, each touching its neighbours and the floor from the start.
static void touching_balls_rest(void** unused) {
    (void)unused;
    cal_world* world = cal_test_world(NULL);
    cal_test_add_floor(world);
    for (int i = 0; i < 16; i++) {
        cal_world_body_def ball = cal_default_world_body_def();
        ball.position[0] = 0.1 * (i % 4), ball.position[1] = 0.1 * (i / 4), ball.position[2] = 0.05;
        cal_test_add(world, &ball, CAL_SPHERE, 0.05, 0, 0);
    }
    cal_test_advance(world, 1.0);
    const cal_world_report report = cal_test_report(world);
    assert_int_equal(report.asleep, 16);
    assert_true(report.events < 2000 && report.group_steps < 500);
    for (int i = 0; i < 16; i++) {
        double x[3], expected[3] = {0.1 * (i % 4), 0.1 * (i / 4), 0.05};
        cal_world_get_body(world, cal_world_body(world, 1 + i), x, NULL, NULL, NULL);
        cal_test_expect_below(cal_test_largest_difference(x, expected, 3), 1e-8, "position", "touching balls");
    }
    cal_world_destroy(world);
}

// --- What hardly moves ----------------------------------------------------------------------------------------------------------

static cal_world* slope(double angle) {
    cal_world_def def = cal_default_world_def();
    def.gravity[0] = pull * sin(angle), def.gravity[1] = 0.0, def.gravity[2] = -pull * cos(angle);
    cal_world* world = cal_test_world(&def);
    cal_test_add_floor(world);
    return world;
}

static double way_of(cal_world* world, cal_body_id body, double time) {
    double x[3];
    cal_test_advance(world, time);
    cal_world_get_body(world, body, x, NULL, NULL, NULL);
    return x[0];
}

static void what_can_move_does_not_sleep(void** unused) {
    (void)unused;
    const double friction = 0.5; // of cal_test_add
    for (int side = -1; side <= 1; side += 2) {
        const double angle = atan((1.0 + 0.005 * side) * friction);
        cal_world* world = slope(angle);
        cal_world_body_def block = cal_default_world_body_def();
        block.position[2] = 0.05;
        const cal_body_id id = cal_test_add(world, &block, CAL_BOX, 0.1, 0.1, 0.05);
        const double a = side > 0 ? pull * (sin(angle) - friction * cos(angle)) : 0.0, way = way_of(world, id, 4.0);
        cal_test_expect_below(fabs(way - 8.0 * a), 2e-5, "way", "block on a slope"); // it begins with a small bounce
        assert_true(cal_world_is_asleep(world, id) == (side < 0));
        cal_world_destroy(world);
    }
    const double angle = acos(-1.0) / 1800;
    cal_world_body_def ball = cal_default_world_body_def();
    ball.position[2] = 0.05;
    cal_world* world = slope(angle);
    const double rolled = way_of(world, cal_test_add(world, &ball, CAL_SPHERE, 0.05, 0, 0), 4.0);
    cal_test_expect_below(fabs(rolled - 8.0 * 5.0 / 7.0 * pull * sin(angle)), 1e-6, "way",
                          "ball on a tenth of a degree");
    cal_world_destroy(world);
    world = slope(0.0);
    ball.velocity[0] = 0.009, ball.angular_velocity[1] = 0.18;
    const double slow = way_of(world, cal_test_add(world, &ball, CAL_SPHERE, 0.05, 0, 0), 10.0);
    cal_test_expect_below(fabs(slow - 0.09), 1e-6, "way", "slow ball");
    cal_world_destroy(world);
}

static void a_capsule_that_leans_falls(void** unused) {
    (void)unused;
    cal_world* world = slope(0.0);
    cal_world_body_def capsule = cal_default_world_body_def();
    capsule.quaternion[0] = cos(0.5e-3), capsule.quaternion[2] = sin(0.5e-3);
    capsule.position[2] = 0.05 + 0.1 * cos(1e-3);
    const cal_body_id id = cal_test_add(world, &capsule, CAL_CAPSULE, 0.05, 0.1, 0);
    double x[3];
    cal_test_advance(world, 4.0);
    cal_world_get_body(world, id, x, NULL, NULL, NULL);
    cal_test_expect_below(x[2], 0.06, "height", "capsule");
    cal_world_destroy(world);
}

// Two rods that cross touch where they cross, at whatever angle: one whose centre is 5 cm from there tips over the other one. Below ten
// degrees it lay still, on all of its length.
static void what_lies_across_a_rod_tips(void** unused) {
    (void)unused;
    static const cal_shape_kind kinds[] = {CAL_CAPSULE, CAL_CYLINDER};
    static const double degrees[] = {2.0, 5.0, 8.0, 12.0};
    const double r = 0.02, beyond = 0.05;
    for (int kind = 0; kind < 2; kind++)
        for (int k = 0; k < 4; k++) {
            const double angle = degrees[k] * acos(-1.0) / 180.0, c = cos(0.5 * angle), s = sin(0.5 * angle);
            const double across[4] = {c, -s, c, s}; // from z to x, then about z
            cal_world* world = cal_test_world(NULL);
            cal_world_body_def rod = cal_default_world_body_def();
            double x[3];
            rod.motion = CAL_FIXED;
            rod.quaternion[2] = 1.0;
            cal_test_add(world, &rod, kinds[kind], r, 0.5, 0);
            rod.motion = CAL_MOVING;
            memcpy(rod.quaternion, across, sizeof across);
            rod.position[0] = beyond * cos(angle), rod.position[1] = beyond * sin(angle), rod.position[2] = 2.0 * r;
            const cal_body_id body = cal_test_add(world, &rod, kinds[kind], r, 0.1, 0);
            cal_test_advance(world, 0.3);
            cal_world_get_body(world, body, x, NULL, NULL, NULL);
            cal_test_expect_below(x[2], 2.0 * r - 2e-3, "height", "a rod across another one");
            cal_world_destroy(world);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poured_balls_do_not_sink_in_and_gain_nothing),
        cmocka_unit_test(tumbling_boxes_gain_nothing),
        cmocka_unit_test(tumbling_shapes_balance),
        cmocka_unit_test(rollbacks_of_piles_end_and_change_no_bit),
        cmocka_unit_test(rollbacks_of_large_groups_change_no_bit),
        cmocka_unit_test(falling_dominoes_do_not_overlap_between_states),
        cmocka_unit_test(tumbling_ellipsoids_do_not_overlap_between_states),
        cmocka_unit_test(touching_balls_rest),
        cmocka_unit_test(what_can_move_does_not_sleep),
        cmocka_unit_test(a_capsule_that_leans_falls),
        cmocka_unit_test(what_lies_across_a_rod_tips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
