// The account of energy where bodies touch: impacts, contacts, bodies that are moved, pulls, callbacks; after rollbacks too.
#include "support_world.h"
#include <math.h>
#include <string.h>

static const double G = 9.81;

static cal_energy_balance balance_at(cal_world* world, double time) {
    cal_energy_balance balance;
    cal_test_advance(world, time);
    assert_int_equal(cal_world_balance(world, &balance), CAL_OK);
    return balance;
}

static double mass_of(double x, double y, double z) { return 1000.0 * 8.0 * x * y * z; }

// --- Closed forms ----------------------------------------------------------------------------------------------------

// A ball falls from h on a floor and bounces with e: each impact takes 1 − e² of what there is, at its own time.
static void a_ball_loses_at_each_bounce_what_restitution_says(void** state) {
    (void)state;
    cal_world* world = cal_test_world(NULL);
    cal_test_add_floor(world);
    const double r = 0.1, h = 1.0, e = 0.5, mass = 1000.0 * 4.0 / 3.0 * 3.14159265358979323846 * r * r * r;
    cal_world_body_def def = cal_default_world_body_def();
    def.position[2] = h + r;
    cal_test_add(world, &def, CAL_SPHERE, r, 0.0, 0.0);
    const double fall = sqrt(2.0 * h / G);
    double impact = fall, left = mass * G * h;
    for (int bounce = 0; bounce < 3; bounce++) {
        cal_energy_balance b = balance_at(world, impact - 1e-3);
        cal_test_expect_below(fabs(mass * G * h - b.loss - left), 1e-9 * mass * G * h, "loss before", "bounce");
        left *= e * e;
        b = balance_at(world, impact + 1e-3);
        cal_test_expect_below(fabs(mass * G * h - b.loss - left), 1e-9 * mass * G * h, "loss after", "bounce");
        cal_test_expect_below(fabs(b.error), 1e-9 * mass * G * h, "balance", "bounce");
        assert_true(b.work == 0.0);
        impact += 2.0 * fall * pow(e, bounce + 1);
    }
    cal_world_destroy(world);
}

// Nothing is exchanged but what rounds, collision after collision, and that is no error.
static void a_gas_of_balls_balances_to_rounding(void** state) {
    (void)state;
    cal_world* world = cal_test_scene("atoms:n=300", NULL);
    const cal_energy_balance balance = balance_at(world, 1.0);
    assert_true(balance.error != 0.0 && balance.relative == 0.0);
    cal_world_destroy(world);
}

// A block with speed v on a floor: friction takes μ m g x, and when it stands all of m v²/2 is lost.
static void a_block_that_slides_to_rest_loses_its_energy(void** state) {
    (void)state;
    cal_world* world = cal_test_world(NULL);
    cal_test_add_floor(world);
    const double v = 2.0, mu = 0.5, mass = mass_of(0.2, 0.2, 0.05), all = 0.5 * mass * v * v;
    cal_world_body_def def = cal_default_world_body_def();
    def.position[2] = 0.05, def.velocity[0] = v;
    cal_body_id block = cal_test_add(world, &def, CAL_BOX, 0.2, 0.2, 0.05);
    for (int i = 1; i <= 4; i++) {
        const double t = 0.077 * i;
        double x[3];
        const cal_energy_balance b = balance_at(world, t);
        cal_world_get_body(world, block, x, NULL, NULL, NULL);
        cal_test_expect_below(fabs(b.loss - mu * mass * G * (v * t - 0.5 * mu * G * t * t)), 1e-3 * all, "loss",
                              "sliding");
        cal_test_expect_below(fabs(b.error), 1e-3 * all, "balance", "sliding");
    }
    const cal_energy_balance rest = balance_at(world, 1.5);
    cal_test_expect_below(fabs(rest.loss - all), 1e-3 * all, "loss", "at rest");
    cal_test_expect_below(fabs(rest.relative), 1e-3, "balance", "at rest");
    assert_true(rest.kinetic == 0.0 && !rest.exploded); // asleep
    cal_world_destroy(world);
}

// A lift rises as ½ h (1 − cos πt), and a block stands on it; then it falls asleep up there or stays awake: m g h.
static void rise(double time, double position[3], double quaternion[4], double velocity[3], double angular[3],
                 void* user) {
    const double pi = 3.14159265358979323846, t = fmin(time, 1.0), *h = user;
    memset(position, 0, 3 * sizeof *position);
    memset(velocity, 0, 3 * sizeof *velocity);
    memset(angular, 0, 3 * sizeof *angular);
    quaternion[0] = 1.0, quaternion[1] = quaternion[2] = quaternion[3] = 0.0;
    position[2] = 0.5 * *h * (1.0 - cos(pi * t)) - 0.1;
    velocity[2] = t < 1.0 ? 0.5 * *h * pi * sin(pi * t) : 0.0;
}

static void a_lift_does_the_work_of_lifting(void** state) {
    (void)state;
    cal_world* world = cal_test_world(NULL);
    double h = 0.8;
    cal_world_body_def lift = cal_default_world_body_def(), def = cal_default_world_body_def();
    lift.motion = CAL_DRIVEN, lift.path = rise, lift.user = &h;
    lift.path_speed = 2.0 * h, lift.path_acceleration = 6.0 * h, lift.position[2] = -0.1;
    cal_test_add(world, &lift, CAL_BOX, 1.0, 1.0, 0.1);
    def.position[2] = 0.05;
    const cal_body_id block = cal_test_add(world, &def, CAL_BOX, 0.1, 0.1, 0.05);
    const double mass = mass_of(0.1, 0.1, 0.05);
    for (int i = 1; i <= 6; i++) {
        double x[3], v[3];
        const cal_energy_balance b = balance_at(world, 0.21 * i);
        cal_world_get_body(world, block, x, NULL, v, NULL);
        const double gained = mass * (G * (x[2] - 0.05) + 0.5 * v[2] * v[2]);
        cal_test_expect_below(fabs(b.work - gained), 0.01 * mass * G * h, "work", "lift");
        cal_test_expect_below(fabs(b.error), 1e-3 * mass * G * h, "balance", "lift");
        cal_test_expect_below(fabs(b.loss), 0.01 * mass * G * h, "loss", "lift");
    }
    cal_world_destroy(world);
}

// A force and a torque on a free body: F·Δx, and for a torque about a principal axis T φ.
static void a_pull_on_a_free_body_does_force_times_way(void** state) {
    (void)state;
    cal_world_def world_def = cal_default_world_def();
    memset(world_def.gravity, 0, sizeof world_def.gravity);
    cal_world* world = cal_test_world(&world_def);
    cal_world_body_def def = cal_default_world_body_def();
    const cal_body_id body = cal_test_add(world, &def, CAL_BOX, 0.1, 0.2, 0.3);
    const double mass = mass_of(0.1, 0.2, 0.3), inertia = mass / 3.0 * (0.1 * 0.1 + 0.2 * 0.2);
    const double force[3] = {40.0, 0.0, 10.0}, torque[3] = {0.0, 0.0, 2.0}, none[3] = {0};
    cal_test_advance(world, 0.0);
    assert_int_equal(cal_world_push(world, body, force, torque, none, NULL), CAL_OK);
    for (int i = 1; i <= 3; i++) {
        const double t = 0.7 * i, way = 0.5 * t * t / mass * (40.0 * 40.0 + 10.0 * 10.0),
                     turn = 0.5 * t * t / inertia * 2.0;
        const cal_energy_balance b = balance_at(world, t);
        cal_test_expect_below(fabs(b.work - (way + 2.0 * turn)), 1e-9 * way, "work", "pull");
        cal_test_expect_below(fabs(b.error), 1e-9 * way, "balance", "pull");
    }
    assert_int_equal(cal_world_release(world, NULL), CAL_OK);
    const cal_energy_balance before = balance_at(world, 2.1), after = balance_at(world, 3.0);
    assert_true(after.work == before.work);
    cal_world_destroy(world);
}

// Bodies that come and go take their energy along.
static void what_comes_and_goes_changes_no_balance(void** state) {
    (void)state;
    cal_world* world = cal_test_world(NULL);
    cal_test_add_floor(world);
    cal_world_body_def def = cal_default_world_body_def();
    def.position[2] = 0.6;
    const cal_body_id first = cal_test_add(world, &def, CAL_SPHERE, 0.1, 0.0, 0.0);
    cal_energy_balance b = balance_at(world, 0.4);
    assert_true(b.loss > 0.0);
    def.position[0] = 1.0, def.velocity[0] = 3.0;
    cal_test_add(world, &def, CAL_BOX, 0.1, 0.1, 0.1);
    const cal_energy_balance more = balance_at(world, 0.41);
    cal_test_expect_below(fabs(more.loss - b.loss), 1e-9 * b.loss, "loss", "a body came");
    cal_test_expect_below(fabs(more.error), 1e-6, "balance", "a body came");
    b = balance_at(world, 0.6);
    assert_int_equal(cal_world_remove_body(world, first, NULL), CAL_OK);
    const cal_energy_balance less = balance_at(world, 0.6);
    cal_test_expect_below(fabs(less.loss - b.loss), 1e-9 * b.loss, "loss", "a body went");
    cal_test_expect_below(fabs(less.error - b.error), 1e-6, "balance", "a body went");
    cal_world_destroy(world);
}

// Thirty links fall on a floor and come to rest there: limbs hit, roll and swing fast, and contacts give none of the energy back.
static void a_figure_that_falls_gains_no_energy(void** state) {
    (void)state;
    cal_model* model = cal_test_model("humanoid:drop=0.5");
    cal_sim_def def = cal_default_sim_def();
    cal_energy_balance balance;
    cal_sim* sim = NULL;
    cal_error error = {0};
    if (cal_sim_create(model, &def, &sim, &error) || cal_sim_advance(sim, 1.5, &error)) fail_msg("%s", error.text);
    assert_int_equal(cal_sim_balance(sim, &balance), CAL_OK);
    assert_true(balance.loss > 900.0);
    cal_test_expect_below(fabs(balance.relative), 10.0 * def.relative, "balance", "a figure that falls");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// --- Rollbacks and snapshots -----------------------------------------------------------------------------------------

// Robots with motors and dampers, boxes and balls: what is shown is final, so that events that were undone do not count.
static void forced_rollbacks_and_snapshots_change_no_flow(void** state) {
    (void)state;
    const char* const scenes[] = {"avalanche:n=6", "robots:n=2"};
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        cal_energy_balance end[3];
        for (int round = 0; round < 2; round++) {
            cal_world_def def = cal_default_world_def();
            def.forced_rollbacks = round == 0 ? 0.0 : 0.2, def.seed = 7;
            cal_world* world = cal_test_scene(scenes[i], &def);
            cal_test_advance(world, 0.5);
            if (round == 1) assert_true(cal_test_report(world).rollbacks > 0);
            end[round] = balance_at(world, 1.0);
            cal_world_destroy(world);
        }
        cal_sim* sim = NULL;
        cal_snapshot* here = NULL;
        cal_error error = {0};
        assert_int_equal(cal_sim_of_world(cal_test_scene(scenes[i], NULL), &sim, &error), CAL_OK);
        if (cal_sim_advance(sim, 0.5, &error) || cal_sim_snapshot(sim, &here, &error) ||
            cal_sim_advance(sim, 0.8, &error) || cal_sim_restore(sim, here, &error) ||
            cal_sim_advance(sim, 1.0, &error))
            fail_msg("%s: %s", scenes[i], error.text);
        assert_int_equal(cal_sim_balance(sim, &end[2]), CAL_OK);
        // Looking changes nothing, wherever.
        cal_world *seen = cal_test_scene(scenes[i], NULL), *alone = cal_test_scene(scenes[i], NULL);
        for (int k = 1; k < 60; k++) balance_at(seen, (k - 0.3) / 60.0);
        cal_test_advance(seen, 1.0);
        cal_test_advance(alone, 1.0);
        assert_true(cal_test_report(seen).hash == cal_test_report(alone).hash);
        cal_world_destroy(seen);
        cal_world_destroy(alone);
        for (int k = 1; k < 3; k++) {
            assert_memory_equal(&end[k].work, &end[0].work, sizeof(double));
            assert_memory_equal(&end[k].loss, &end[0].loss, sizeof(double));
            assert_memory_equal(&end[k].error, &end[0].error, sizeof(double));
        }
        cal_test_expect_below(fabs(end[0].relative), 0.01, "balance", scenes[i]);
        cal_snapshot_destroy(here);
        cal_sim_destroy(sim);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ball_loses_at_each_bounce_what_restitution_says),
        cmocka_unit_test(a_gas_of_balls_balances_to_rounding),
        cmocka_unit_test(a_block_that_slides_to_rest_loses_its_energy),
        cmocka_unit_test(a_lift_does_the_work_of_lifting),
        cmocka_unit_test(a_pull_on_a_free_body_does_force_times_way),
        cmocka_unit_test(what_comes_and_goes_changes_no_balance),
        cmocka_unit_test(a_figure_that_falls_gains_no_energy),
        cmocka_unit_test(forced_rollbacks_and_snapshots_change_no_flow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
