// Closed loops in simulations with contact: constraints hold in flight, through impacts and at rest; impulses are those of the
// constrained mechanism; connecting and letting go; a repetition after rollbacks has the same bits.
#include "support_world.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- Mechanisms ---------------------------------------------------------------------------------------------------------

static const double along_y[3] = {0.0, 1.0, 0.0};
#define HALF 0.70710678118654752440

// A thin rod from the origin of its frame to a point of it.
static cal_body_def rod(const char* name, int parent, const double at[3], const double to[3], double mass) {
    cal_body_def def = cal_default_body_def();
    double square = 0.0;
    def.name = name, def.parent = parent, def.mass = mass;
    for (int i = 0; i < 3; i++) def.position[i] = at[i], def.center[i] = 0.5 * to[i], square += to[i] * to[i];
    for (int i = 0; i < 3; i++) def.inertia[i] = mass * ((square - to[i] * to[i]) / 12.0 + 1e-5);
    def.inertia[3] = -mass * to[0] * to[1] / 12.0;
    def.inertia[4] = -mass * to[0] * to[2] / 12.0;
    def.inertia[5] = -mass * to[1] * to[2] / 12.0;
    return def;
}

static int add_hinged(cal_builder* builder, const cal_body_def* def, double stiffness, double damping) {
    const int body = cal_builder_add_body(builder, def);
    cal_joint_def hinge = cal_default_joint_def();
    memcpy(hinge.axis, along_y, sizeof hinge.axis);
    hinge.stiffness = stiffness, hinge.damping = damping;
    cal_builder_add_joint(builder, body, &hinge);
    return body;
}

static void add_ball(cal_builder* builder, int body, const double at[3], double radius, double restitution) {
    cal_shape_def shape = cal_default_shape_def();
    shape.body = body, shape.kind = CAL_SPHERE, shape.size[0] = radius;
    shape.friction = 0.6, shape.restitution = restitution;
    memcpy(shape.position, at, sizeof shape.position);
    cal_builder_add_shape(builder, &shape);
}

// A hinge about y that closes a loop: five rows, of which three repeat what the plane of the mechanism says already.
static void close_loop(cal_builder* builder, const char* name, int a, const double in_a[3], int b,
                       const double in_b[3]) {
    cal_constraint_def loop = cal_default_constraint_def();
    loop.name = name, loop.kind = CAL_LOOP_REVOLUTE, loop.body[0] = a, loop.body[1] = b;
    for (int i = 0; i < 3; i++) loop.position[0][i] = in_a[i], loop.position[1][i] = in_b[i];
    for (int end = 0; end < 2; end++) { // the frames' z along y
        loop.quaternion[end][0] = HALF, loop.quaternion[end][1] = -HALF;
        loop.quaternion[end][2] = loop.quaternion[end][3] = 0.0;
    }
    cal_builder_add_constraint(builder, &loop);
}

// A five-bar in the xz plane under a body: two thighs outwards, two shanks that meet in a foot, a ball on either side of it.
static void add_leg(cal_builder* builder, int base, const char* name, double x, double y, double restitution) {
    static const double hip = 0.05, thigh = 0.15, shank = 0.22, angle = 0.7;
    char names[5][32];
    const char* const parts[5] = {"front thigh", "front shank", "back thigh", "back shank", "foot"};
    int shanks[2];
    double ends[2][3];
    for (int i = 0; i < 5; i++) snprintf(names[i], sizeof names[i], "%s %s", name, parts[i]);
    for (int side = 0; side < 2; side++) {
        const double sign = side == 0 ? 1.0 : -1.0, out = hip + thigh * sin(angle);
        const double at[3] = {x + sign * hip, y, 0.0}, knee[3] = {sign * thigh * sin(angle), 0.0, -thigh * cos(angle)};
        const double foot[3] = {-sign * out, 0.0, -sqrt(shank * shank - out * out)};
        const cal_body_def upper = rod(names[2 * side], base, at, knee, 0.3);
        const int thigh_body = add_hinged(builder, &upper, 60.0, 0.5);
        const cal_body_def lower = rod(names[2 * side + 1], thigh_body, knee, foot, 0.2);
        shanks[side] = add_hinged(builder, &lower, 0.0, 0.05);
        memcpy(ends[side], foot, sizeof foot);
    }
    close_loop(builder, names[4], shanks[0], ends[0], shanks[1], ends[1]);
    for (int i = 0; i < 2; i++) {
        const double at[3] = {ends[0][0], i == 0 ? 0.06 : -0.06, ends[0][2]};
        add_ball(builder, shanks[0], at, 0.02, restitution);
    }
}

static int add_base(cal_builder* builder, const char* name, const double at[3], const double v[6]) {
    cal_body_def base = cal_default_body_def();
    cal_joint_def free_joint = cal_default_joint_def();
    base.name = name, base.mass = 4.0;
    memcpy(base.position, at, sizeof base.position);
    base.inertia[0] = 0.05, base.inertia[1] = 0.06, base.inertia[2] = 0.09;
    free_joint.kind = CAL_FREE;
    memcpy(free_joint.initial_v, v, sizeof free_joint.initial_v);
    const int body = cal_builder_add_body(builder, &base);
    cal_builder_add_joint(builder, body, &free_joint);
    cal_shape_def box = cal_default_shape_def();
    box.body = body, box.kind = CAL_BOX, box.friction = 0.6, box.restitution = 0.0;
    box.size[0] = 0.25, box.size[1] = 0.1, box.size[2] = 0.03;
    cal_builder_add_shape(builder, &box);
    return body;
}

static void add_floor_shape(cal_builder* builder) {
    cal_shape_def floor = cal_default_shape_def();
    floor.name = "floor", floor.body = CAL_GROUND, floor.kind = CAL_PLANE;
    floor.friction = 0.6, floor.restitution = 0.0;
    cal_builder_add_shape(builder, &floor);
}

// A trunk on two legs, each of them a closed loop, with its feet a height above the floor.
static cal_model* make_robot(double height, double restitution) {
    cal_builder* builder = cal_test_builder(9.81);
    const double at[3] = {0.0, 0.0,
                          height + 0.02 + 0.15 * cos(0.7) + sqrt(0.22 * 0.22 - pow(0.05 + 0.15 * sin(0.7), 2))};
    const double rest[6] = {0};
    const int base = add_base(builder, "trunk", at, rest);
    add_leg(builder, base, "first", 0.17, 0.0, restitution);
    add_leg(builder, base, "second", -0.17, 0.0, restitution);
    add_floor_shape(builder);
    return cal_test_finish(builder);
}

static void expect_closed(const cal_world* world, const char* where) {
    double error, speed;
    assert_int_equal(cal_world_constraint_error(world, &error, &speed), CAL_OK);
    cal_test_expect_below(error, 1e-9, "constraint error", where);
    cal_test_expect_below(speed, 1e-9, "constraint speed", where);
}

// --- Tests ----------------------------------------------------------------------------------------------------------------

// Dropped from 0.3 m it lands, bounces, and comes to rest on its feet. Its springs store, its dampers take: nothing gives.
static void robot_lands_and_rests(void** state) {
    (void)state;
    cal_model* model = make_robot(0.3, 0.3);
    cal_world* world = cal_test_world_of(model, NULL);
    cal_test_advance(world, 0.0);
    cal_world_report report = cal_test_report(world);
    const double start = report.kinetic + report.potential, exchanged = 6.0 * 9.81 * 0.3;
    double least = start, grown = 0.0;
    for (int i = 1; i <= 2000; i++) { // its springs swing for long, and what moves does not sleep
        cal_test_advance(world, 0.01 * i);
        report = cal_test_report(world);
        const double energy = report.kinetic + report.potential;
        grown = fmax(grown, energy - least);
        least = fmin(least, energy);
        expect_closed(world, "robot");
    }
    assert_true(report.collisions > 0 && report.groups > 0);
    cal_test_expect_below(grown / exchanged, 1e-6, "energy that grew by itself", "robot");
    cal_test_expect_below(report.kinetic, 1e-6, "kinetic energy at the end", "robot");
    double at[3];
    cal_world_get_body(world, cal_test_body(world, "trunk"), at, NULL, NULL, NULL);
    assert_true(at[2] > 0.1 && at[2] < 0.32);
    assert_true(cal_world_is_asleep(world, cal_test_body(world, "trunk")));
    cal_world_destroy(world);
    cal_model_destroy(model);
}

// Where nothing touches, a mechanism moves as it does by itself under a solver that shares no step with this one.
static void flight_agrees_with_a_system(void** state) {
    (void)state;
    static const char* const names[] = {"fivebar", "slidercrank", "fourbar:n=1,speed=2"};
    for (int i = 0; i < 3; i++) {
        cal_model* model = cal_test_model(names[i]);
        cal_world_def world_def = cal_default_world_def();
        world_def.tolerance = 1e-10;
        cal_world* world = cal_test_world_of(model, &world_def);
        cal_sim_def def = cal_default_sim_def();
        def.relative = 1e-11;
        cal_sim* sim = NULL;
        cal_error error = {CAL_OK, ""};
        double poses[2][7 * 8];
        assert_true(cal_model_body_count(model) <= 8);
        sim = cal_test_create_sim(model, &def);
        if (cal_sim_advance(sim, 0.4, &error) != CAL_OK) fail_msg("%s", error.text);
        cal_test_advance(world, 0.4);
        assert_int_equal(cal_sim_poses(sim, poses[0]), CAL_OK);
        for (int body = 0; body < cal_model_body_count(model); body++) {
            char name[64];
            double* pose = poses[1] + 7 * body;
            cal_model_body_name(model, body, name, sizeof name);
            cal_world_get_body(world, cal_test_body(world, name), pose, pose + 3, NULL, NULL);
        }
        const size_t count = 7 * (size_t)cal_model_body_count(model);
        cal_test_expect_below(cal_test_largest_difference(poses[0], poses[1], count), 1e-6, "poses", names[i]);
        expect_closed(world, names[i]);
        cal_sim_destroy(sim);
        cal_world_destroy(world);
        cal_model_destroy(model);
    }
}

// What is committed does not depend on rollbacks.
static void rollbacks_change_no_bit(void** state) {
    (void)state;
    cal_model* model = make_robot(0.1, 0.3);
    uint64_t hash = 0;
    for (int seed = 0; seed < (CAL_TEST_SANITIZED ? 2 : 4); seed++) {
        cal_world_def def = cal_default_world_def();
        def.forced_rollbacks = seed > 0 ? 0.1 : 0.0;
        def.seed = (uint64_t)seed;
        cal_world* world = cal_test_world_of(model, &def);
        for (int i = 1; i <= 10; i++) cal_test_advance(world, 0.1 * i);
        const cal_world_report report = cal_test_report(world);
        if (seed == 0) hash = report.hash;
        assert_true(seed == 0 || report.forced > 0);
        assert_int_equal(report.hash, hash);
        cal_world_destroy(world);
    }
    cal_model_destroy(model);
}

// The other loops stop everybody at collisions, and come to the same rest.
static void other_loops_hold_constraints(void** state) {
    (void)state;
    cal_model* model = make_robot(0.05, 0.0);
    for (int loop = 0; loop < 2; loop++) {
        cal_world_def def = cal_default_world_def();
        def.loop = loop == 0 ? CAL_RETROACTIVE : CAL_CONSERVATIVE;
        cal_world* world = cal_test_world_of(model, &def);
        for (int i = 1; i <= 20; i++) {
            cal_test_advance(world, 0.02 * i);
            expect_closed(world, "other loops");
        }
        cal_world_destroy(world);
    }
    cal_model_destroy(model);
}

static cal_model* make_two_machines(void) {
    cal_builder* builder = cal_test_builder(0.0);
    for (int i = 0; i < 2; i++) {
        const double at[3] = {0.0, 0.0, i == 0 ? 0.0 : 0.5}, down[6] = {0.1, 0.0, -1.0, 0.2, -0.1, 0.3}, rest[6] = {0};
        const int base = add_base(builder, i == 0 ? "low" : "high", at, i == 0 ? rest : down);
        add_leg(builder, base, i == 0 ? "a" : "b", 0.12, 0.03, 0.5);
    }
    return cal_test_finish(builder);
}

// Without gravity, two machines with closed legs that meet keep their momentum, linear and angular: in an impact to rounding, and
// in flight as well as the integrator can. While they lean on each other it is as good as a group's steps of 10 ms are in joint
// coordinates.
static void impact_keeps_momentum(void** state) {
    (void)state;
    cal_model* model = make_two_machines();
    cal_world* world = cal_test_world_of(model, NULL);
    cal_world_keep_events(world, true);
    cal_test_advance(world, 0.0);
    const cal_world_report before = cal_test_report(world);
    for (int i = 1; i <= 40; i++) {
        cal_test_advance(world, 0.01 * i);
        const cal_world_report now = cal_test_report(world);
        cal_test_expect_below(cal_test_largest_difference(now.momentum, before.momentum, 6),
                              now.groups == 0 ? 1e-6 : 2e-3, "momentum", now.groups == 0 ? "flight" : "contact");
        cal_test_expect_below(now.kinetic + now.potential, before.kinetic + before.potential + 1e-9, "energy",
                              "flight");
        expect_closed(world, "two machines");
    }
    cal_world_event event;
    assert_true(cal_world_next_event(world, &event));
    cal_world_destroy(world);
    world = cal_test_world_of(model, NULL);
    cal_test_advance(world, event.time);
    const cal_world_report after = cal_test_report(world);
    assert_int_equal(after.collisions, 1);
    assert_true(after.kinetic < before.kinetic - 1e-3);
    cal_test_expect_below(cal_test_largest_difference(after.momentum, before.momentum, 6), 1e-12, "momentum", "impact");
    cal_world_destroy(world);
    cal_model_destroy(model);
}

// --- The impact law -------------------------------------------------------------------------------------------------------

enum { MOST_BARS = 36, MOST_SIZE = MOST_BARS + 2 };

typedef struct seen {
    int calls, bars;
    double impulse[3], v[MOST_BARS];
} seen;

static void keep_impact(cal_callback_context* view, const double impulse[3], void* user) {
    seen* s = user;
    if (s->calls++ > 0) return;
    memcpy(s->impulse, impulse, sizeof s->impulse);
    memcpy(s->v, cal_callback_v(view, 0), (size_t)s->bars * sizeof *s->v);
}

// Three sides of `links` bars each at rest in the xz plane, bars of a side to its left and right in turn, hinges about y, closed by a hinge of five
// rows; a ball flies at the last bar but one. Of one bar per side that is a four-bar.
//
//     B ──── C        a chain from A by B and C, closed to the ground in D; hinges lie in `at` (x, z), the last is D
//     │      │
//     A      D
static void lay_sides(int links, double (*at)[2]) {
    static const double along[3][2] = {{0, 1}, {1, 0}, {0, -1}};
    at[0][0] = at[0][1] = 0.0;
    for (int k = 0; k < 3 * links; k++) {
        const double *d = along[k / links], side = links == 1 ? 0.0 : k % 2 == 0 ? 0.5 : -0.5;
        at[k + 1][0] = at[k][0] + (d[0] - side * d[1]) / links;
        at[k + 1][1] = at[k][1] + (d[1] + side * d[0]) / links;
    }
}

static int bar_to_strike(int links) { return 3 * links - 2; }

static cal_model* make_sides(int links, double (*at)[2]) {
    cal_builder* builder = cal_test_builder(0.0);
    static const double masses[3] = {1.0, 2.0, 0.5};
    double way[3] = {0.0}, next[3];
    const double d[3] = {at[3 * links][0], 0.0, at[3 * links][1]}, ball[3] = {0.3 / links, 0.0, 0.0};
    for (int k = 0; k < 3 * links; k++) {
        char name[16];
        snprintf(name, sizeof name, "bar %d", k);
        next[0] = at[k + 1][0] - at[k][0], next[1] = 0.0, next[2] = at[k + 1][1] - at[k][1];
        const cal_body_def bar = rod(name, k > 0 ? k - 1 : CAL_GROUND, way, next, masses[k / links] / links);
        add_hinged(builder, &bar, 0.0, 0.0);
        memcpy(way, next, sizeof way);
    }
    close_loop(builder, "D", 3 * links - 1, way, CAL_GROUND, d);
    add_ball(builder, bar_to_strike(links), ball, 0.1, 0.5);
    return cal_test_finish(builder);
}

// Velocities after a unit impulse along x, at the height of its hinge, on the bar with the ball, at rest before:
// M Δ = Jᵀ p + Gᵀ μ,  G (v + Δ) = 0,  with G and J from plane geometry. Returns what the point answers.
static double answer_impulse(const cal_model* model, int links, double (*hinge)[2], double* change) {
    static double mass[MOST_BARS * MOST_BARS], matrix[MOST_SIZE * MOST_SIZE];
    double J[MOST_BARS], sum = 0.0;
    const int bars = 3 * links, size = bars + 2, struck = bar_to_strike(links);
    cal_test_engine crba = cal_test_open(model, "crba", 1);
    double* at = cal_test_numbers((size_t)bars);
    assert_int_equal(cal_state_set(crba.state, CAL_Q, at), CAL_OK);
    cal_test_execute(&crba);
    assert_int_equal(cal_state_get(crba.state, CAL_MASS, mass), CAL_OK);
    memset(matrix, 0, sizeof matrix);
    // Velocities of D and of the point for unit rates of the hinges (turning about +y: z to x): p − h turned by a quarter.
    for (int k = 0; k < bars; k++) {
        const double G[2] = {hinge[bars][1] - hinge[k][1], hinge[k][0] - hinge[bars][0]};
        J[k] = change[k] = k <= struck ? hinge[struck][1] - hinge[k][1] : 0.0;
        for (int i = 0; i < bars; i++) matrix[size * k + i] = mass[bars * k + i];
        for (int r = 0; r < 2; r++) matrix[size * k + bars + r] = -G[r], matrix[size * (bars + r) + k] = G[r];
    }
    change[bars] = change[bars + 1] = 0.0;
    assert_true(cal_test_solve_dense(matrix, change, (size_t)size));
    for (int k = 0; k < bars; k++) sum += J[k] * change[k];
    cal_test_close(&crba);
    free(at);
    return sum;
}

static void expect_impact(int links) {
    const int struck = bar_to_strike(links);
    double hinge[MOST_BARS + 1][2];
    lay_sides(links, hinge);
    cal_model* model = make_sides(links, hinge);
    cal_world_def def = cal_default_world_def();
    memset(def.gravity, 0, sizeof def.gravity);
    def.friction = 0.0, def.restitution = 0.5;
    cal_world* world = cal_test_world(&def);
    cal_multibody_id bar;
    cal_error error = {CAL_OK, ""};
    if (cal_world_add_multibody(world, model, NULL, NULL, 0, &bar, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_world_body_def ball = cal_default_world_body_def();
    ball.position[0] = hinge[struck][0] - 0.5, ball.position[2] = hinge[struck][1];
    ball.velocity[0] = 2.0;
    ball.density = 0.0, ball.mass = 0.7;
    for (int i = 0; i < 3; i++) ball.inertia[i] = 0.01;
    const cal_body_id flying = cal_test_add(world, &ball, CAL_SPHERE, 0.1, 0, 0);
    seen hit = {.bars = 3 * links};
    assert_int_equal(cal_world_on_collision(world, cal_world_link(world, bar, struck), keep_impact, &hit, &error),
                     CAL_OK);
    // The ball touches 0.3 / links − 0.2 from the hinge.
    const double met = (0.5 + 0.3 / links - 0.2) / 2.0;
    cal_test_advance(world, met + 1e-6);
    assert_int_equal(hit.calls, 1);
    double change[MOST_SIZE], velocity[3];
    const double impulse = 1.5 * 2.0 / (1.0 / 0.7 + answer_impulse(model, links, hinge, change));
    const double expected[3] = {impulse, 0.0, 0.0};
    cal_test_expect_below(cal_test_largest_difference(hit.impulse, expected, 3), 1e-9, "impulse", "loop");
    for (int i = 0; i < 3 * links; i++)
        cal_test_expect_below(fabs(hit.v[i] - impulse * change[i]), 1e-9 * links, "velocity after", "loop");
    cal_world_get_body(world, flying, NULL, NULL, velocity, NULL);
    cal_test_expect_below(fabs(velocity[0] - (2.0 - impulse / 0.7)), 1e-9, "velocity after", "ball");
    expect_closed(world, "loop that was hit");
    cal_world_destroy(world);
    cal_model_destroy(model);
}

static void impact_is_that_of_the_constrained_mechanism(void** state) {
    (void)state;
    expect_impact(1), expect_impact(4), expect_impact(12);
}

// --- Redundant rows, couplings ----------------------------------------------------------------------------------------------

// The generator's four-bar with a ball on its coupler, which falls onto a box and stays there: many repeated rows.
static void redundant_loop_rests_on_a_box(void** state) {
    (void)state;
    cal_builder* builder = cal_test_builder(9.81);
    const double a[3] = {0.0, 0.0, 0.0}, up[3] = {-0.3, 0.0, 0.9}, right[3] = {1.0, 0.0, 0.0},
                 down[3] = {0.3, 0.0, -0.9}, d[3] = {1.0, 0.0, 0.0}, middle[3] = {0.5, 0.0, 0.0};
    const cal_body_def bars[3] = {rod("AB", CAL_GROUND, a, up, 1.0), rod("BC", 0, up, right, 2.0),
                                  rod("CD", 1, right, down, 0.5)};
    for (int i = 0; i < 3; i++) add_hinged(builder, &bars[i], 0.0, 0.02);
    close_loop(builder, "D", 2, down, CAL_GROUND, d);
    close_loop(builder, "D again", 2, down, CAL_GROUND, d);
    add_ball(builder, 1, middle, 0.1, 0.2);
    cal_shape_def box = cal_default_shape_def();
    box.body = CAL_GROUND, box.kind = CAL_BOX, box.restitution = 0.2;
    box.size[0] = 2.0, box.size[1] = 0.5, box.size[2] = 0.1;
    box.position[2] = 0.3;
    cal_builder_add_shape(builder, &box);
    cal_model* model = cal_test_finish(builder);
    cal_world* world = cal_test_world_of(model, NULL);
    for (int i = 0; i <= 300; i++) {
        cal_test_advance(world, 0.01 * i);
        expect_closed(world, "redundant four-bar");
    }
    const cal_world_report report = cal_test_report(world);
    assert_true(report.collisions > 0 && report.groups > 0);
    cal_test_expect_below(report.kinetic, 1e-6, "kinetic energy at the end", "four-bar on a box");
    double at[3];
    cal_world_get_body(world, cal_test_body(world, "BC"), at, NULL, NULL, NULL);
    cal_test_expect_below(fabs(at[2] - 0.5), 1e-4, "height of the coupler", "four-bar on a box");
    cal_world_destroy(world);
    cal_model_destroy(model);
}

// Two fingers that slide, of which one is pushed and the other follows as its mirror, close on a box that does not lie in the
// middle: they shove it there and hold it.
static void coupled_fingers_close_on_a_box(void** state) {
    (void)state;
    cal_builder* builder = cal_test_builder(9.81);
    int joints[2];
    for (int i = 0; i < 2; i++) {
        const double sign = i == 0 ? 1.0 : -1.0;
        cal_body_def finger = cal_default_body_def();
        cal_joint_def slide = cal_default_joint_def();
        cal_shape_def pad = cal_default_shape_def();
        finger.name = i == 0 ? "left" : "right", finger.mass = 0.5;
        finger.position[0] = -sign * 0.3, finger.position[2] = 0.15;
        for (int k = 0; k < 3; k++) finger.inertia[k] = 0.001;
        const int body = cal_builder_add_body(builder, &finger);
        slide.kind = CAL_PRISMATIC, slide.axis[0] = 1.0, slide.axis[2] = 0.0, slide.damping = 5.0;
        joints[i] = cal_builder_add_joint(builder, body, &slide);
        pad.body = body, pad.kind = CAL_BOX, pad.friction = 0.4, pad.restitution = 0.0;
        pad.size[0] = 0.02, pad.size[1] = 0.1, pad.size[2] = 0.1;
        cal_builder_add_shape(builder, &pad);
    }
    cal_constraint_def mirror = cal_default_constraint_def();
    mirror.name = "mirror", mirror.kind = CAL_COUPLING;
    mirror.joint[0] = joints[1], mirror.joint[1] = joints[0], mirror.polynomial[1] = -1.0;
    cal_builder_add_constraint(builder, &mirror);
    cal_actuator_def motor = cal_default_actuator_def();
    motor.joint = joints[0], motor.gain = 1.0, motor.initial_control = 6.0;
    cal_builder_add_actuator(builder, &motor);
    cal_body_def box = cal_default_body_def();
    cal_joint_def free_joint = cal_default_joint_def();
    cal_shape_def cube = cal_default_shape_def();
    box.name = "box", box.mass = 0.4, box.position[0] = 0.05, box.position[2] = 0.1;
    for (int k = 0; k < 3; k++) box.inertia[k] = 0.4 * 0.04 / 6.0;
    free_joint.kind = CAL_FREE;
    cube.body = cal_builder_add_body(builder, &box), cube.kind = CAL_BOX, cube.friction = 0.4, cube.restitution = 0.0;
    cal_builder_add_joint(builder, cube.body, &free_joint);
    for (int k = 0; k < 3; k++) cube.size[k] = 0.1;
    cal_builder_add_shape(builder, &cube);
    add_floor_shape(builder);
    cal_model* model = cal_test_finish(builder);
    cal_world* world = cal_test_world_of(model, NULL);
    for (int i = 0; i <= 150; i++) {
        cal_test_advance(world, 0.02 * i);
        expect_closed(world, "gripper");
    }
    double left[3], right[3], held[3];
    cal_world_get_body(world, cal_test_body(world, "left"), left, NULL, NULL, NULL);
    cal_world_get_body(world, cal_test_body(world, "right"), right, NULL, NULL, NULL);
    cal_world_get_body(world, cal_test_body(world, "box"), held, NULL, NULL, NULL);
    cal_test_expect_below(fabs(left[0] + right[0]), 1e-9, "mirror", "gripper");
    cal_test_expect_below(fabs(held[0]), 1e-4, "box in the middle", "gripper");
    cal_test_expect_below(fabs(left[0] + 0.12), 1e-4, "finger at the box", "gripper");
    cal_world_destroy(world);
    cal_model_destroy(model);
}

// --- Starts, connecting, letting go -------------------------------------------------------------------------------------------

// Two balls, one above the other, and a weld between them that does not hold yet.
static cal_model* make_welded(bool inactive, double off, double inertia) {
    cal_builder* builder = cal_test_builder(9.81);
    int bodies[2];
    for (int i = 0; i < 2; i++) {
        cal_body_def ball = cal_default_body_def();
        cal_joint_def free_joint = cal_default_joint_def();
        ball.name = i == 0 ? "low" : "high", ball.mass = 1.0;
        ball.position[0] = i == 0 ? 0.0 : off, ball.position[2] = i == 0 ? 0.5 : 1.0;
        for (int k = 0; k < 3; k++) ball.inertia[k] = inertia;
        free_joint.kind = CAL_FREE;
        bodies[i] = cal_builder_add_body(builder, &ball);
        cal_builder_add_joint(builder, bodies[i], &free_joint);
        const double middle[3] = {0.0, 0.0, 0.0};
        add_ball(builder, bodies[i], middle, 0.1, 0.0);
    }
    cal_constraint_def weld = cal_default_constraint_def();
    weld.name = "weld", weld.inactive = inactive;
    weld.body[0] = bodies[0], weld.body[1] = bodies[1];
    weld.position[0][2] = 0.5;
    cal_builder_add_constraint(builder, &weld);
    add_floor_shape(builder);
    return cal_test_finish(builder);
}

// In flight they are connected, land as one, and stand on the lower one; let go, the upper one falls.
static void connects_and_lets_go(void** state) {
    (void)state;
    cal_model* model = make_welded(true, 0.0, 0.004);
    uint64_t hash = 0;
    for (int seed = 0; seed < 4; seed++) {
        cal_world_def def = cal_default_world_def();
        def.forced_rollbacks = seed > 0 ? 0.1 : 0.0;
        def.seed = (uint64_t)seed;
        cal_world* world = cal_test_world_of(model, &def);
        cal_multibody_id multibody;
        int weld;
        cal_error error = {CAL_OK, ""};
        assert_true(cal_world_find_constraint(world, "weld", &multibody, &weld));
        assert_int_equal(cal_world_connect(world, multibody, weld, CAL_CONNECT_SMOOTH, &error), CAL_BAD_ARGUMENT);
        cal_test_advance(world, 0.1);
        if (cal_world_connect(world, multibody, weld, CAL_CONNECT_SMOOTH, &error) != CAL_OK) fail_msg("%s", error.text);
        assert_true(cal_world_connected(world, multibody, weld));
        double low[3], high[3];
        for (int i = 2; i <= 12; i++) {
            cal_test_advance(world, 0.1 * i);
            expect_closed(world, "welded balls");
        }
        cal_world_get_body(world, cal_test_body(world, "high"), high, NULL, NULL, NULL);
        cal_test_expect_below(fabs(high[2] - 0.6), 1e-4, "height", "welded balls at rest");
        if (cal_world_disconnect(world, multibody, weld, &error) != CAL_OK) fail_msg("%s", error.text);
        assert_false(cal_world_connected(world, multibody, weld));
        cal_test_advance(world, 1.3);
        cal_world_get_body(world, cal_test_body(world, "high"), high, NULL, NULL, NULL);
        cal_test_expect_below(fabs(high[2] - (0.6 - 0.5 * 9.81 * 0.01)), 1e-4, "height", "ball that was let go");
        cal_test_advance(world, 2.0);
        cal_world_get_body(world, cal_test_body(world, "low"), low, NULL, NULL, NULL);
        assert_true(low[2] > 0.09);
        // Far apart now.
        assert_int_equal(cal_world_connect(world, multibody, weld, CAL_CONNECT_INELASTIC, &error), CAL_BAD_ARGUMENT);
        assert_non_null(strstr(error.text, "weld"));
        const uint64_t own = cal_test_report(world).hash;
        if (seed == 0) hash = own;
        assert_int_equal(own, hash);
        cal_world_destroy(world);
    }
    cal_model_destroy(model);
}

// A weld that is open at the start is closed, and how far that moved the balls is known: half of the gap each, since turning them
// would be hard.
static void open_start_is_closed(void** state) {
    (void)state;
    cal_model* model = make_welded(false, 0.02, 1e4);
    cal_world* world = cal_test_world_of(model, NULL);
    cal_test_advance(world, 0.0);
    expect_closed(world, "start");
    cal_test_expect_below(fabs(cal_test_report(world).start_moved - 0.01), 1e-6, "way", "balls at the start");
    cal_world_destroy(world);
    cal_model_destroy(model);
}

// Two points of the ground that a rod cannot reach both.
static void impossible_start_is_refused(void** state) {
    (void)state;
    cal_builder* builder = cal_test_builder(9.81);
    const double a[3] = {0.0, 0.0, 0.0}, to[3] = {1.0, 0.0, 0.0}, far[3] = {3.0, 0.0, 0.0};
    const cal_body_def bar = rod("bar", CAL_GROUND, a, to, 1.0);
    const int body = add_hinged(builder, &bar, 0.0, 0.0);
    close_loop(builder, "out of reach", body, to, CAL_GROUND, far);
    cal_model* model = cal_test_finish(builder);
    cal_world* world = cal_test_world_of(model, NULL);
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_world_advance(world, 0.0, &error), CAL_NOT_CONVERGED);
    assert_non_null(strstr(error.text, "out of reach"));
    cal_world_destroy(world);
    cal_model_destroy(model);
    model = make_welded(false, 0.0, 0.004);
    cal_world_def def = cal_default_world_def();
    def.group = "penalty";
    world = cal_test_world_of(model, &def);
    assert_int_equal(cal_world_advance(world, 0.0, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "penalty"));
    cal_world_destroy(world);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(robot_lands_and_rests),         cmocka_unit_test(flight_agrees_with_a_system),
        cmocka_unit_test(rollbacks_change_no_bit),       cmocka_unit_test(other_loops_hold_constraints),
        cmocka_unit_test(impact_keeps_momentum),         cmocka_unit_test(impact_is_that_of_the_constrained_mechanism),
        cmocka_unit_test(redundant_loop_rests_on_a_box), cmocka_unit_test(coupled_fingers_close_on_a_box),
        cmocka_unit_test(connects_and_lets_go),          cmocka_unit_test(open_start_is_closed),
        cmocka_unit_test(impossible_start_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
