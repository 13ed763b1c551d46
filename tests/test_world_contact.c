// Contact in worlds: what comes to rest, what slides, what falls, what is asleep; callbacks and bad input.
#include "simulation/event/loops.h"
#include "simulation/world.h"
#include "support_world.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static cal_body_id add_ball(cal_world* world, double x, double z, double speed, int slots) {
    cal_world_body_def def = cal_default_world_body_def();
    def.position[0] = x, def.position[2] = z;
    def.velocity[0] = speed;
    def.slots = slots;
    return cal_test_add(world, &def, CAL_SPHERE, 0.1, 0, 0);
}

// A bouncing ball: tₙ₊₁ − tₙ = 2 eⁿ⁺¹ √(2h/g), infinitely many bounces in a finite time; then it rests and sleeps.
static void test_zeno_ends_in_fusion(void** state) {
    (void)state;
    cal_world* world = cal_test_world(NULL);
    cal_test_add_floor(world);
    const cal_body_id ball = add_ball(world, 0, 1.1, 0, 0);
    cal_test_advance(world, 5.0);
    double fall = sqrt(2.0 / 9.81), expected = fall, flight = fall;
    cal_world_event event;
    bool fused = false;
    int bounces = 0;
    for (; cal_world_next_event(world, &event); bounces++) {
        cal_test_expect_below(fabs(event.time - expected), 1e-11, "time of a bounce", "ball");
        flight *= 0.5;
        expected += 2.0 * flight;
        fused |= event.fusion;
    }
    assert_true(fused && bounces >= 5 && bounces < 12);
    double x[3];
    cal_world_get_body(world, ball, x, NULL, NULL, NULL);
    cal_test_expect_below(fabs(x[2] - 0.1), 1e-5, "height", "ball at rest");
    assert_true(cal_world_is_asleep(world, ball));
    cal_world_destroy(world);
}

// A block of half sizes a, c that tips over its lower edge: θ̈ = 3 g / (4 r) sin(θ − φ), r² = a² + c², tan φ = a / c. It stands on a plate
// that is too heavy to move, alone or beside others that rest there: who is in its contact group changes nothing.
static void test_a_block_tips_in_company(void** state) {
    (void)state;
    const double a = 0.05, c = 0.2, r = sqrt(a * a + c * c), phi = atan2(a, c), push = 1.9, h = 1e-4;
    double angle = 0.0, rate = push;
    for (int i = 0; i < 4000; i++) { // Störmer's method, good to h²
        rate += 0.5 * h * 0.75 * 9.81 / r * sin(angle - phi);
        angle += h * rate;
        rate += 0.5 * h * 0.75 * 9.81 / r * sin(angle - phi);
    }
    for (int others = 0; others < 3; others++) {
        cal_world* world = cal_test_world(NULL);
        cal_test_add_floor(world);
        cal_world_body_def def = cal_default_world_body_def();
        def.position[2] = 0.1, def.density = 1e7;
        cal_test_add(world, &def, CAL_BOX, 2.0, 2.0, 0.1);
        def.density = 1e3;
        for (int i = 0; i < others; i++) {
            def.position[1] = 0.8 * (i + 1), def.position[2] = 0.3;
            cal_test_add(world, &def, CAL_BOX, 0.1, 0.1, 0.1);
        }
        def.position[1] = 0.0, def.position[2] = 0.2 + c;
        def.angular_velocity[1] = push, def.velocity[0] = push * c, def.velocity[2] = push * a;
        const cal_body_id block = cal_test_add(world, &def, CAL_BOX, a, 0.1, c);
        cal_test_advance(world, 0.4);
        assert_int_equal(cal_test_report(world).largest_group, 2 + others);
        double q[4];
        cal_world_get_body(world, block, NULL, q, NULL, NULL);
        cal_test_expect_below(fabs(2.0 * atan2(q[2], q[0]) - angle), 1e-5, "angle", "a block that tips");
        cal_world_destroy(world);
    }
}

// Sliding down a slope of angle α with friction μ: at rest for tan α < μ, else a = g (sin α − μ cos α).
static void test_slope(void** state) {
    (void)state;
    cal_world* world = cal_test_scene("stack:kind=slope,angle=25,friction=0.5", NULL);
    double start[3], end[3];
    cal_world_get_body(world, cal_world_body(world, 1), start, NULL, NULL, NULL);
    cal_test_advance(world, 3.0);
    cal_world_get_body(world, cal_world_body(world, 1), end, NULL, NULL, NULL);
    cal_test_expect_below(cal_test_largest_difference(start, end, 3), 1e-4, "creep", "slope below the friction angle");
    assert_true(cal_world_is_asleep(world, cal_world_body(world, 1)));
    cal_world_destroy(world);
    world = cal_test_scene("stack:kind=slope,angle=35,friction=0.5", NULL);
    cal_world_get_body(world, cal_world_body(world, 1), start, NULL, NULL, NULL);
    cal_test_advance(world, 1.0);
    cal_world_get_body(world, cal_world_body(world, 1), end, NULL, NULL, NULL);
    double square = 0.0;
    for (int i = 0; i < 3; i++) square += (end[i] - start[i]) * (end[i] - start[i]);
    const double angle = 35.0 * acos(-1.0) / 180.0, a = 9.81 * (sin(angle) - 0.5 * cos(angle));
    cal_test_expect_below(fabs(sqrt(square) - 0.5 * a), 2e-3, "distance", "slope above the friction angle");
    cal_world_destroy(world);
}

static void test_tower_stands_and_sleeps(void** state) {
    (void)state;
    cal_world* world = cal_test_scene("stack:kind=pyramid,n=3", NULL);
    double before[6][3];
    for (int i = 0; i < 6; i++) cal_world_get_body(world, cal_world_body(world, i + 1), before[i], NULL, NULL, NULL);
    cal_test_advance(world, 5.0);
    for (int i = 0; i < 6; i++) {
        double after[3];
        cal_world_get_body(world, cal_world_body(world, i + 1), after, NULL, NULL, NULL);
        cal_test_expect_below(cal_test_largest_difference(before[i], after, 3), 1e-3, "drift", "pyramid");
    }
    assert_int_equal(cal_test_report(world).asleep, 6);
    cal_world_destroy(world);
}

static void test_same_bits_with_contact(void** state) {
    (void)state;
    uint64_t hash = 0;
    for (int run = 0; run < 4; run++) {
        cal_world_def def = cal_default_world_def();
        def.forced_rollbacks = run == 0 ? 0.0 : 0.1;
        def.seed = (uint64_t)run;
        cal_world* world = cal_test_world(&def);
        cal_test_add_floor(world);
        for (int i = 0; i < 3; i++) {
            cal_world_body_def box = cal_default_world_body_def();
            box.position[2] = 0.12 + 0.21 * i;
            box.position[0] = 0.01 * i;
            cal_test_add(world, &box, CAL_BOX, 0.1, 0.1, 0.1);
        }
        add_ball(world, -1.0, 0.3, 2.0, 0);
        cal_test_advance(world, 1.5);
        const cal_world_report report = cal_test_report(world);
        if (run == 0) hash = report.hash;
        assert_int_equal(report.hash, hash);
        assert_true(report.fusions > 2);
        cal_world_destroy(world);
    }
}

static void test_same_bits_in_scenes(void** state) {
    (void)state;
    const struct {
        const char* scene;
        double time;
    } runs[] = {{"avalanche:n=10", 1.2}, {"cars:cars=1,rows=2", 0.3}, {"stack:kind=wall,n=3", 0.7}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        uint64_t hash = 0;
        for (int run = 0; run < 3; run++) {
            cal_world_def def = cal_default_world_def();
            def.forced_rollbacks = run == 0 ? 0.0 : 0.1;
            def.seed = (uint64_t)run;
            cal_world* world = cal_test_scene(runs[i].scene, &def);
            cal_test_advance(world, runs[i].time);
            const cal_world_report report = cal_test_report(world);
            if (run == 0) hash = report.hash;
            assert_int_equal(report.hash, hash);
            assert_true(run == 0 || report.forced > 0);
            cal_world_destroy(world);
        }
    }
}

// Which domino falls when must not depend on how they are numbered.
static void test_dominoes_fall_in_order(void** state) {
    (void)state;
    double first_hits[2][5];
    for (int order = 0; order < 2; order++) {
        cal_world* world =
            cal_test_scene(order == 0 ? "stack:kind=dominoes,n=6" : "stack:kind=dominoes,n=6,order=backward", NULL);
        for (int i = 0; i < 5; i++) first_hits[order][i] = INFINITY;
        cal_test_advance(world, 2.0);
        cal_world_event event;
        char a[32], b[32];
        while (cal_world_next_event(world, &event)) {
            cal_world_body_name(world, event.body[0], a, sizeof a);
            cal_world_body_name(world, event.body[1], b, sizeof b);
            if (strncmp(a, "box", 3) != 0 || strncmp(b, "box", 3) != 0) continue;
            const int low = atoi(a + 4) < atoi(b + 4) ? atoi(a + 4) : atoi(b + 4);
            first_hits[order][low] = fmin(first_hits[order][low], event.time);
        }
        for (int i = 1; i < 5; i++) assert_true(first_hits[order][i] > first_hits[order][i - 1]);
        assert_true(isfinite(first_hits[order][4]));
        cal_world_destroy(world);
    }
    for (int i = 0; i < 5; i++)
        cal_test_expect_below(fabs(first_hits[0][i] - first_hits[1][i]), 1e-3, "time of a hit", "dominoes");
}

// --- Callbacks ------------------------------------------------------------------------------------------------------------------

static void count_collision(cal_callback_context* view, const double impulse[3], void* user) {
    (void)impulse;
    (void)user;
    cal_callback_slots(view, 0)[0] += 1.0;
}

static void push_up(cal_callback_context* view, void* user) {
    (void)user;
    double x[3], v[3];
    cal_callback_body(view, 0, x, NULL, v, NULL);
    // Holds the ball at a height of 2 m: m (g + k (2 − z) − d v).
    const double mass = 4.0 / 3.0 * acos(-1.0) * 0.001 * 1000.0;
    const double force[3] = {0, 0, mass * (9.81 + 25.0 * (2.0 - x[2]) - 10.0 * v[2])}, torque[3] = {0};
    cal_callback_set_force(view, 0, force, torque);
}

static void test_callbacks_and_slots(void** state) {
    (void)state;
    for (int run = 0; run < 2; run++) {
        cal_world_def def = cal_default_world_def();
        def.forced_rollbacks = 0.2 * run;
        def.check_rules = true;
        cal_world* world = cal_test_world(&def);
        cal_test_add_floor(world);
        const cal_body_id ball = add_ball(world, 0, 1.1, 0, 2), held = add_ball(world, 3, 1.5, 0, 0);
        assert_int_equal(cal_world_on_collision(world, ball, count_collision, NULL, NULL), CAL_OK);
        assert_int_equal(cal_world_on_period(world, &held, 1, 0.0, 0.01, push_up, NULL, NULL), CAL_OK);
        cal_test_advance(world, 3.0);
        cal_world_event event;
        int collisions = 0;
        while (cal_world_next_event(world, &event)) collisions += event.body[1].index == ball.index;
        assert_true(collisions > 4);
        // A rollback takes back what a callback counted.
        assert_int_equal((int)cal_world_slots(world, ball)[0], collisions);
        double x[3];
        cal_world_get_body(world, held, x, NULL, NULL, NULL);
        cal_test_expect_below(fabs(x[2] - 2.0), 1e-2, "height", "held ball");
        cal_world_destroy(world);
    }
}

static void break_the_rules(cal_callback_context* view, const double impulse[3], void* user) {
    (void)impulse;
    cal_callback_slots(view, 0)[0] = (double)++*(int*)user;
}

static void test_broken_rules_are_found(void** state) {
    (void)state;
    cal_world_def def = cal_default_world_def();
    def.check_rules = true;
    cal_world* world = cal_test_world(&def);
    cal_test_add_floor(world);
    int calls = 0;
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_world_on_collision(world, add_ball(world, 0, 1, 0, 1), break_the_rules, &calls, NULL), CAL_OK);
    assert_int_equal(cal_world_advance(world, 1.0, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "slots"));
    assert_int_equal(cal_world_advance(world, 2.0, &error), CAL_BAD_ARGUMENT);
    cal_world_destroy(world);
}

static void throw_back(cal_callback_context* view, const double impulse[3], void* user) {
    (void)impulse, (void)user;
    for (int i = 0; i < 2; i++) {
        double position[3];
        cal_callback_body(view, i, position, NULL, NULL, NULL);
        if (position[2] > 0.01) cal_callback_set_velocity(view, i, (const double[3]){0, 0, -1}, (const double[3]){0});
    }
}

// Time does not get past a ball that is thrown at the floor at each collision: that is said.
static void test_endless_collisions_end(void** state) {
    (void)state;
    for (int loop = CAL_TIMEWARP; loop <= CAL_CONSERVATIVE; loop++) {
        cal_world_def def = cal_default_world_def();
        def.loop = (cal_world_loop)loop;
        def.restitution = 1.0;
        cal_world* world = cal_test_world(&def);
        cal_world_keep_events(world, false);
        cal_test_add_floor(world);
        cal_error error = {CAL_OK, ""};
        assert_int_equal(cal_world_on_collision(world, add_ball(world, 0, 1, 0, 0), throw_back, NULL, NULL), CAL_OK);
        assert_int_equal(cal_world_advance(world, 1.0, &error), CAL_NOT_CONVERGED);
        assert_non_null(strstr(error.text, "collides for ever at t = 0."));
        cal_world_destroy(world);
    }
}

// Events that come ever closer to a time, of which a domain with others needs more to see that: what is said is the same.
static void what_does_not_get_on_says_when(void** state) {
    (void)state;
    enum { MOST = 1 << 22 };
    char said[2][sizeof((cal_error*)0)->text];
    for (int run = 0; run < 2; run++) {
        cal_world_def def = cal_default_world_def();
        cal_world* world = cal_test_world(&def);
        for (int i = 0; i < (run == 0 ? 3 : 40); i++) add_ball(world, 3.0 * i, 1, 0, 0);
        cal_test_advance(world, 0.0);
        cal_error error = {CAL_OK, ""};
        cal_status status = CAL_OK;
        double ahead = 0.25;
        world->now = 0.5;
        cal_progress_begin(world);
        for (int k = 0; status == CAL_OK && k < MOST; k++, ahead *= 0.9995) {
            world->now = 0.75123456789 - ahead;
            status = cal_progress_check(world, NULL, world->window, &error);
        }
        assert_int_equal(status, CAL_NOT_CONVERGED);
        memcpy(said[run], error.text, sizeof said[run]);
        cal_world_destroy(world);
    }
    assert_string_equal(said[0], said[1]);
    assert_non_null(strstr(said[0], "t = 0.75123")); // no more than is known, and not less
}

// --- Multibodies ----------------------------------------------------------------------------------------------------------------

// A ball hits a rod that hangs from a hinge: momentum about the hinge is what the ball brings, and energy is kept.
static void test_ball_hits_pendulum(void** state) {
    (void)state;
    cal_builder* builder;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    const double none[3] = {0};
    cal_builder_set_gravity(builder, none);
    cal_body_def rod = cal_default_body_def();
    rod.mass = 2.0;
    rod.center[2] = -0.5;
    rod.inertia[0] = rod.inertia[1] = 2.0 / 12.0, rod.inertia[2] = 1e-3;
    const int body = cal_builder_add_body(builder, &rod);
    cal_joint_def hinge = cal_default_joint_def();
    hinge.axis[1] = 1.0, hinge.axis[2] = 0.0;
    cal_builder_add_joint(builder, body, &hinge);
    cal_shape_def shape = cal_default_shape_def();
    shape.body = body;
    shape.kind = CAL_BOX;
    shape.size[0] = 0.05, shape.size[1] = 0.05, shape.size[2] = 0.5;
    shape.position[2] = -0.5;
    cal_builder_add_shape(builder, &shape);
    cal_model* model;
    cal_error error = {CAL_OK, ""};
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    cal_world_def def = cal_default_world_def();
    memset(def.gravity, 0, sizeof def.gravity);
    def.restitution = 1.0;
    def.friction = 0.0;
    cal_world* world = cal_test_world(&def);
    cal_multibody_id arm;
    if (cal_world_add_multibody(world, model, NULL, NULL, 0, &arm, &error) != CAL_OK) fail_msg("%s", error.text);
    const cal_body_id ball = add_ball(world, -1.0, -0.8, 1.0, 0), link = cal_world_link(world, arm, 0);
    cal_test_advance(world, 0.0);
    const double start = cal_test_report(world).kinetic;
    cal_test_advance(world, 1.5);
    const cal_world_report end = cal_test_report(world);
    assert_true(end.collisions == 1);
    cal_test_expect_below(fabs(end.kinetic / start - 1.0), 1e-7, "energy", "ball and pendulum");
    // m v r = m v' r + J ω and v' − ω r = −v, with J about the hinge.
    const double mass = 4.0 / 3.0 * acos(-1.0), J = 2.0 / 12.0 + 2.0 * 0.25, r = 0.8;
    const double omega = 2.0 * mass * r / (J + mass * r * r);
    double v[3], w[3];
    cal_world_get_body(world, ball, NULL, NULL, v, NULL);
    cal_world_get_body(world, link, NULL, NULL, NULL, w);
    cal_test_expect_below(fabs(v[0] - (omega * r - 1.0)), 1e-7, "velocity", "ball");
    cal_test_expect_below(fabs(fabs(w[1]) - omega), 1e-6, "angular velocity", "pendulum");
    cal_world_destroy(world);
    cal_model_destroy(model);
}

// --- Bad input ------------------------------------------------------------------------------------------------------------------

static void test_overlaps_are_named_or_parted(void** state) {
    (void)state;
    for (int separate = 0; separate < 2; separate++) {
        cal_world_def def = cal_default_world_def();
        def.separate = separate == 1;
        cal_world* world = cal_test_world(&def);
        cal_test_add_floor(world);
        add_ball(world, 0.0, 1.0, 0, 0);
        add_ball(world, 0.15, 1.0, 0, 0);
        cal_error error = {CAL_OK, ""};
        const cal_status status = cal_world_advance(world, 0.1, &error);
        assert_int_equal(status, separate ? CAL_OK : CAL_BAD_MODEL);
        if (!separate) {
            assert_non_null(strstr(error.text, "body 1 and body 2"));
            assert_non_null(strstr(error.text, "0.05 m"));
        }
        cal_world_destroy(world);
    }
}

static void test_bad_input(void** state) {
    (void)state;
    cal_error error = {CAL_OK, ""};
    cal_world* world = NULL;
    cal_world_def def = cal_default_world_def();
    def.restitution = 2.0;
    assert_int_equal(cal_world_create(&def, &world, &error), CAL_BAD_ARGUMENT);
    def = cal_default_world_def();
    def.group = "glue";
    assert_int_equal(cal_world_create(&def, &world, &error), CAL_BAD_ARGUMENT);
    def.cookie = 0;
    assert_int_equal(cal_world_create(&def, &world, &error), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_world_generate("sand", NULL, &world, &error), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_world_generate("atoms:n=0", NULL, &world, &error), CAL_BAD_ARGUMENT);

    world = cal_test_world(NULL);
    cal_world_body_def body = cal_default_world_body_def();
    cal_body_id id, foreign = {7, 1}, stale = {0, 99};
    body.density = 0.0;
    body.name = "ghost";
    assert_int_equal(cal_world_add_body(world, &body, &id, &error), CAL_OK);
    assert_int_equal(cal_world_advance(world, 1.0, &error), CAL_BAD_MODEL);
    assert_non_null(strstr(error.text, "ghost"));
    assert_int_equal(cal_world_get_body(world, foreign, NULL, NULL, NULL, NULL), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_world_get_body(world, stale, NULL, NULL, NULL, NULL), CAL_BAD_ARGUMENT);
    cal_world_destroy(world);

    world = cal_test_world(NULL);
    body = cal_default_world_body_def();
    body.velocity[1] = NAN;
    assert_int_equal(cal_world_add_body(world, &body, &id, &error), CAL_BAD_ARGUMENT);
    body = cal_default_world_body_def();
    body.motion = CAL_DRIVEN;
    assert_int_equal(cal_world_add_body(world, &body, &id, &error), CAL_BAD_ARGUMENT);
    add_ball(world, 0, 0, 0, 0);
    cal_test_advance(world, 1.0);
    assert_int_equal(cal_world_advance(world, 0.5, &error), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_world_advance(world, NAN, &error), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_world_add_body(world, &body, &id, &error), CAL_BAD_ARGUMENT);
    cal_world_destroy(world);
}

// A small box on a round table, beside the rim.
static void test_rests_beside_a_rim(void** state) {
    (void)state;
    cal_world_def def = cal_default_world_def();
    def.restitution = 0.0, def.friction = 0.5;
    for (int k = 0; k < 3; k++) {
        cal_world* world = cal_test_world(&def);
        cal_world_body_def table = cal_default_world_body_def(), box = cal_default_world_body_def();
        const double angle = 0.3927 + 0.2 * k;
        double x[3];
        table.motion = CAL_FIXED;
        cal_test_add(world, &table, CAL_CYLINDER, 1.0, 0.5, 0.0);
        box.position[0] = 0.955 * cos(angle), box.position[1] = 0.955 * sin(angle), box.position[2] = 0.521;
        const cal_body_id id = cal_test_add(world, &box, CAL_BOX, 0.02, 0.02, 0.02);
        cal_test_advance(world, 1.0);
        cal_world_get_body(world, id, x, NULL, NULL, NULL);
        for (int i = 0; i < 2; i++) cal_test_expect_below(fabs(x[i] - box.position[i]), 1e-9, "a way", "a box");
        assert_int_equal(cal_test_report(world).asleep, 1);
        cal_world_destroy(world);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zeno_ends_in_fusion),
        cmocka_unit_test(test_slope),
        cmocka_unit_test(test_tower_stands_and_sleeps),
        cmocka_unit_test(test_rests_beside_a_rim),
        cmocka_unit_test(test_same_bits_with_contact),
        cmocka_unit_test(test_same_bits_in_scenes),
        cmocka_unit_test(test_dominoes_fall_in_order),
        cmocka_unit_test(test_a_block_tips_in_company),
        cmocka_unit_test(test_callbacks_and_slots),
        cmocka_unit_test(what_does_not_get_on_says_when),
        cmocka_unit_test(test_broken_rules_are_found),
        cmocka_unit_test(test_endless_collisions_end),
        cmocka_unit_test(test_ball_hits_pendulum),
        cmocka_unit_test(test_overlaps_are_named_or_parted),
        cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
