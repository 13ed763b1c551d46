// Newton's cradle of hinged balls that touch without a gap: what hits one end comes out at the other, again and again, nothing in
// between moves, no energy is lost, and no rollback changes a bit.
#include "calder/calder_world.h"
#include "support.h"
#include <math.h>

enum { BALLS = 5, SWINGS = 4 };
static const double RADIUS = 0.05, ARM = 0.5, LIFT = 0.5;

static cal_model* build(void) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error = {0};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    for (int i = 0; i < BALLS; i++) {
        cal_body_def body = cal_default_body_def();
        cal_joint_def joint = cal_default_joint_def();
        cal_shape_def ball = cal_default_shape_def();
        body.parent = CAL_GROUND;
        body.position[0] = 2.0 * RADIUS * i;
        body.mass = 1.0;
        body.center[2] = -ARM;
        for (int k = 0; k < 3; k++) body.inertia[k] = 1e-3;
        joint.axis[1] = 1.0, joint.axis[2] = 0.0;
        if (i == 0) joint.initial_q[0] = LIFT;
        ball.body = i;
        ball.size[0] = RADIUS;
        ball.position[2] = -ARM;
        cal_builder_add_body(builder, &body);
        cal_builder_add_joint(builder, i, &joint);
        cal_builder_add_shape(builder, &ball);
    }
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

static cal_sim* swing(const cal_model* model, double rollbacks, uint64_t seed, double time) {
    cal_world_def events = cal_default_world_def();
    cal_sim_def def = cal_default_sim_def();
    cal_error error = {0};
    events.restitution = 1.0, events.friction = 0.0;
    events.forced_rollbacks = rollbacks, events.seed = seed;
    def.events = &events;
    cal_sim* sim = cal_test_create_sim(model, &def);
    if (cal_sim_advance(sim, time, &error)) fail_msg("%s", error.text);
    return sim;
}

// A quarter of a period at an amplitude: of a pendulum of length l, sqrt(l/g) K(sin(a/2)), by the arithmetic-geometric mean.
static double quarter(void) {
    const double inertia = ARM * ARM + 1e-3, length = inertia / ARM;
    double a = 1.0, b = cos(0.5 * LIFT);
    for (int i = 0; i < 10; i++) {
        const double mean = 0.5 * (a + b);
        b = sqrt(a * b), a = mean;
    }
    return sqrt(length / 9.81) * acos(-1.0) / (2.0 * a);
}

static void ends_swing_in_turn(void** state) {
    (void)state;
    cal_model* model = build();
    for (int i = 1; i <= SWINGS; i++) {
        // At the end of a swing one ball rests for a moment at the amplitude, and all others hang.
        cal_sim* sim = swing(model, 0.0, 0, 2.0 * i * quarter());
        for (int k = 0; k < BALLS; k++) {
            const bool out = k == (i % 2 == 0 ? 0 : BALLS - 1);
            const double wanted = !out ? 0.0 : k == 0 ? LIFT : -LIFT;
            cal_test_expect_below(fabs(cal_sim_q(sim)[k] - wanted), 1e-6, "angle of a ball", "cradle");
            cal_test_expect_below(fabs(cal_sim_v(sim)[k]), 1e-5, "speed of a ball", "cradle");
        }
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

static void no_rollback_changes_it(void** state) {
    (void)state;
    cal_model* model = build();
    cal_sim* sim = swing(model, 0.0, 0, 3.0);
    const uint64_t wanted = cal_sim_hash(sim);
    cal_sim_destroy(sim);
    for (uint64_t seed = 1; seed <= 12; seed++) {
        sim = swing(model, seed % 2 == 0 ? 0.05 : 0.3, seed, 3.0);
        assert_int_equal(cal_sim_hash(sim), wanted);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ends_swing_in_turn), cmocka_unit_test(no_rollback_changes_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
