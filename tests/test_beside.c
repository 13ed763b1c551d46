// What spins beside something without coming nearer is followed, however small the gap: the bounds of a search see that it does not come nearer, and do
// not take each turn for a fall. Nothing is hit, and everything goes on as if it were alone.
#include "support_world.h"
#include <math.h>
#include <string.h>

static const double gaps[] = {0.0, 1e-12, 1e-9};
enum { GAPS = 3 };

static cal_world* empty(cal_world_loop loop) {
    cal_world_def def = cal_default_world_def();
    memset(def.gravity, 0, sizeof def.gravity);
    def.loop = loop, def.restitution = 0.5;
    cal_world* world = cal_test_world(&def);
    cal_world_keep_events(world, true);
    return world;
}

static void expect_no_collision(cal_world* world, double time) {
    cal_test_advance(world, time);
    assert_int_equal(cal_test_report(world).collisions, 0);
    cal_world_destroy(world);
}

// Two balls at the ends of a rod, which go round a ball that spins, and all of it flies.
static void go_round(cal_world_loop loop, double gap, double rate, const double velocity[3]) {
    cal_world* world = empty(loop);
    cal_world_body_def def = cal_default_world_body_def();
    cal_error error;
    cal_body_id rod;
    cal_shape_def ball = cal_default_shape_def();
    memcpy(def.velocity, velocity, sizeof def.velocity);
    def.angular_velocity[2] = rate;
    assert_int_equal(cal_world_add_body(world, &def, &rod, &error), CAL_OK);
    ball.size[0] = 0.25;
    for (int side = -1; side <= 1; side += 2) {
        ball.position[0] = 0.75 * side;
        assert_int_equal(cal_world_add_shape(world, rod, &ball, NULL, &error), CAL_OK);
    }
    def.angular_velocity[1] = 3.0, def.angular_velocity[2] = 0.0;
    cal_test_add(world, &def, CAL_SPHERE, 0.5 - gap, 0, 0);
    expect_no_collision(world, 0.3);
}

static void balls_go_round_a_ball(void** unused) {
    (void)unused;
    static const double rates[] = {10.0, 1e3, 1e5}, still[3] = {0}, flies[3] = {3.0, -2.0, 7.0};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < GAPS; k++) go_round(CAL_TIMEWARP, gaps[k], rates[i], still);
    go_round(CAL_TIMEWARP, 1e-9, 1e3, flies);
    go_round(CAL_CONSERVATIVE, 0.0, 1e3, still);
    go_round(CAL_RETROACTIVE, 0.0, 1e3, still);
}

static void shapes_spin_on_a_plane(void** unused) {
    (void)unused;
    static const cal_shape_kind kinds[] = {CAL_BOX, CAL_ELLIPSOID, CAL_CYLINDER};
    for (int i = 0; i < 3; i++)
        for (int ground = 0; ground < 2; ground++)
            for (int k = 0; k < GAPS; k++) {
                cal_world* world = empty(CAL_TIMEWARP);
                cal_world_body_def def = cal_default_world_body_def();
                def.motion = CAL_FIXED, def.position[2] = ground == 0 ? 0.0 : -1.0;
                cal_test_add(world, &def, ground == 0 ? CAL_PLANE : CAL_BOX, 2, 2, 1);
                def.motion = CAL_MOVING, def.position[2] = 0.25 + gaps[k], def.angular_velocity[2] = 1e3;
                cal_test_add(world, &def, kinds[i], 0.25, 0.25, 0.25);
                expect_no_collision(world, 0.3);
            }
}

static void a_rod_of_balls_spins_on_a_plane(void** unused) {
    (void)unused;
    for (int k = 0; k < GAPS; k++) {
        cal_world* world = empty(CAL_TIMEWARP);
        cal_world_body_def def = cal_default_world_body_def();
        cal_error error;
        cal_body_id rod;
        cal_shape_def ball = cal_default_shape_def();
        cal_test_add_floor(world);
        def.position[2] = 0.25 + gaps[k], def.angular_velocity[2] = 1e3;
        assert_int_equal(cal_world_add_body(world, &def, &rod, &error), CAL_OK);
        ball.size[0] = 0.25;
        for (int side = -1; side <= 1; side += 2) {
            ball.position[0] = 0.75 * side;
            assert_int_equal(cal_world_add_shape(world, rod, &ball, NULL, &error), CAL_OK);
        }
        expect_no_collision(world, 0.3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(balls_go_round_a_ball),
                                       cmocka_unit_test(shapes_spin_on_a_plane),
                                       cmocka_unit_test(a_rod_of_balls_spins_on_a_plane)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
