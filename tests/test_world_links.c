// Links of one multibody that touch each other: against the mechanics of a planar chain written out here, against what is
// conserved, and against statics.
#include "support_world.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINKS = 3 };
static const double length[LINKS] = {1.0, 0.8, 0.7}, mass[LINKS] = {2.0, 0.7, 0.4}, moment[LINKS] = {0.2, 0.05, 0.02};

// A chain in the plane y = 0, hinges about y; the centres of mass are in the middle of the links. A ball on the first link, one
// at the tip of the last.
static cal_model* make_chain(bool free_root, const double q[LINKS], const double v[LINKS]) {
    cal_builder* builder = NULL;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, (const double[]){0, 0, 0});
    for (int i = 0; i < LINKS; i++) {
        cal_body_def body = cal_default_body_def();
        char name[16];
        snprintf(name, sizeof name, "link%d", i);
        body.name = name;
        body.parent = i == 0 ? CAL_GROUND : i - 1;
        body.position[0] = i == 0 ? 0.0 : length[i - 1];
        body.mass = mass[i];
        body.center[0] = 0.5 * length[i];
        body.inertia[0] = 0.5 * moment[i], body.inertia[1] = body.inertia[2] = moment[i];
        assert_int_equal(cal_builder_add_body(builder, &body), i);
        cal_joint_def joint = cal_default_joint_def();
        const bool floats = i == 0 && free_root;
        joint.kind = floats ? CAL_FREE : CAL_REVOLUTE;
        joint.axis[0] = joint.axis[2] = 0.0, joint.axis[1] = 1.0;
        if (!floats) joint.initial_q[0] = q[i];
        joint.initial_v[floats ? 4 : 0] = v[i];
        assert_true(cal_builder_add_joint(builder, i, &joint) >= 0);
        cal_shape_def ball = cal_default_shape_def();
        ball.body = i;
        ball.size[0] = 0.1;
        ball.position[0] = i == 0 ? 0.5 : length[i];
        ball.friction = 0.4;
        if (i != 1) assert_true(cal_builder_add_shape(builder, &ball) >= 0);
    }
    cal_model* model = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

static cal_world* make_world(const cal_model* model, cal_world_def def, bool touch) {
    cal_world* world = cal_test_world(&def);
    cal_multibody_id multibody;
    cal_error error = {CAL_OK, ""};
    if (cal_world_add_multibody(world, model, NULL, NULL, 0, &multibody, &error) != CAL_OK) fail_msg("%s", error.text);
    if (touch && cal_world_let_links_touch(world, multibody, &error) != CAL_OK) fail_msg("%s", error.text);
    return world;
}

static cal_world_def plain(double restitution, double friction) {
    cal_world_def def = cal_default_world_def();
    memset(def.gravity, 0, sizeof def.gravity);
    def.restitution = restitution;
    def.friction = friction;
    return def;
}

// Folded so far that the tip is about to hit the first link's ball.
static const double folded[LINKS] = {0.3, 2.2, 1.9}, folding[LINKS] = {0.1, -0.2, 3.0};

// --- Impulses --------------------------------------------------------------------------------------------------------------------

// Absolute angles (about y, from x towards −z) and rates of the links.
static void read_links(const cal_world* world, double angle[LINKS], double rate[LINKS]) {
    for (int i = 0; i < LINKS; i++) {
        double quaternion[4], w[3];
        cal_world_get_body(world, cal_world_body(world, i), NULL, quaternion, NULL, w);
        angle[i] = 2.0 * atan2(quaternion[2], quaternion[0]);
        rate[i] = w[1];
    }
}

// Velocity (x, z) of a point at a distance along a link for unit rates of each absolute angle.
static void point_rows(const double angle[LINKS], int link, double along, double rows[2][LINKS]) {
    memset(rows, 0, sizeof(double[2][LINKS]));
    for (int i = 0; i <= link; i++) {
        const double arm = i == link ? along : length[i];
        rows[0][i] = -arm * sin(angle[i]);
        rows[1][i] = -arm * cos(angle[i]);
    }
}

// x with A x = b by Gauss's elimination.
static void solve(double A[LINKS][LINKS], const double b[LINKS], double x[LINKS]) {
    double work[LINKS][LINKS + 1];
    for (int i = 0; i < LINKS; i++) {
        memcpy(work[i], A[i], sizeof A[i]);
        work[i][LINKS] = b[i];
    }
    for (int k = 0; k < LINKS; k++)
        for (int i = 0; i < LINKS; i++) {
            if (i == k) continue;
            const double factor = work[i][k] / work[k][k];
            for (int j = k; j <= LINKS; j++) work[i][j] -= factor * work[k][j];
        }
    for (int i = 0; i < LINKS; i++) x[i] = work[i][LINKS] / work[i][i];
}

// M = Σ m JᵀJ + I over the centres of mass, J of the contact's relative velocity: without friction the rates change by
// M⁻¹ Jᵀ n P, P = −(1 + e) n·J ω / (n·J M⁻¹ Jᵀ n).
static void expect_impulse(const cal_world_event* event, const double angle[LINKS], const double before[LINKS],
                           const double after[LINKS], double restitution) {
    double M[LINKS][LINKS] = {0}, rows[2][LINKS], J[LINKS] = {0}, x[LINKS], answer = 0.0, approach = 0.0;
    for (int i = 0; i < LINKS; i++) {
        point_rows(angle, i, 0.5 * length[i], rows);
        for (int a = 0; a < LINKS; a++)
            for (int b = 0; b < LINKS; b++) M[a][b] += mass[i] * (rows[0][a] * rows[0][b] + rows[1][a] * rows[1][b]);
        M[i][i] += moment[i];
    }
    // The normal is from the second body to the first; the point is where the balls touch, on both.
    const int first = event->body[0].index, second = event->body[1].index;
    for (int side = 0; side < 2; side++) {
        const int link = side == 0 ? first : second;
        double origin[2] = {0, 0};
        for (int i = 0; i < link; i++) {
            origin[0] += length[i] * cos(angle[i]);
            origin[1] -= length[i] * sin(angle[i]);
        }
        // A point off the link's axis moves as the arm turned by a quarter.
        point_rows(angle, link, 0.0, rows);
        rows[0][link] = event->point[2] - origin[1];
        rows[1][link] = -(event->point[0] - origin[0]);
        for (int i = 0; i < LINKS; i++)
            J[i] += (side == 0 ? 1.0 : -1.0) * (event->normal[0] * rows[0][i] + event->normal[2] * rows[1][i]);
    }
    solve(M, J, x);
    for (int i = 0; i < LINKS; i++) answer += J[i] * x[i], approach -= J[i] * before[i];
    assert_true(approach > 0.1);
    const double P = (1.0 + restitution) * approach / answer;
    cal_test_expect_below(fabs(event->impulse - P), 1e-6 * P, "impulse", "of links");
    for (int i = 0; i < LINKS; i++)
        cal_test_expect_below(fabs(before[i] + P * x[i] - after[i]), 1e-6, "rate", "of a link after a collision");
}

static void impulses_go_through_the_whole_chain(void** unused) {
    (void)unused;
    for (int loop = 0; loop < 3; loop++) {
        cal_model* model = make_chain(false, folded, folding);
        cal_world_def def = plain(0.6, 0.0);
        def.loop = (cal_world_loop)loop;
        cal_world* world = make_world(model, def, true);
        cal_world_event event;
        cal_test_advance(world, 1.0);
        assert_true(cal_world_next_event(world, &event));
        cal_world_destroy(world);
        double angle[LINKS], before[LINKS], ignored[LINKS], after[LINKS];
        world = make_world(model, def, true);
        cal_test_advance(world, event.time - 1e-8);
        read_links(world, angle, before);
        cal_test_advance(world, event.time + 1e-8);
        read_links(world, ignored, after);
        expect_impulse(&event, angle, before, after, 0.6);
        cal_world_destroy(world);
        cal_model_destroy(model);
    }
}

// In free flight nothing that links do to each other changes the momentum; without loss the energy stays as well.
static void free_flight_keeps_what_it_must(void** unused) {
    (void)unused;
    cal_model* model = make_chain(true, folded, folding);
    for (int rough = 0; rough < 2; rough++) {
        cal_world* world = make_world(model, plain(rough ? 0.5 : 1.0, rough ? 0.7 : 0.0), true);
        cal_test_advance(world, 0.0);
        const cal_world_report start = cal_test_report(world);
        cal_test_advance(world, 1.5);
        const cal_world_report end = cal_test_report(world);
        assert_true(end.collisions > 0);
        cal_test_expect_below(cal_test_largest_difference(start.momentum, end.momentum, 6), 1e-6, "momentum",
                              "a chain");
        if (rough)
            assert_true(end.kinetic < start.kinetic);
        else
            cal_test_expect_below(fabs(end.kinetic - start.kinetic), 1e-6, "energy", "a chain");
        cal_world_destroy(world);
    }
    cal_model_destroy(model);
}

static void links_pass_through_each_other_unless_told(void** unused) {
    (void)unused;
    cal_model* model = make_chain(false, folded, folding);
    cal_world* world = make_world(model, plain(0.5, 0.0), false);
    cal_test_advance(world, 1.0);
    assert_int_equal(cal_test_report(world).collisions, 0);
    cal_world_destroy(world);
    cal_error error = {CAL_OK, ""};
    world = make_world(model, plain(0.5, 0.0), true);
    assert_int_equal(cal_world_ignore_pair(world, cal_world_body(world, 0), cal_world_body(world, 2)), CAL_OK);
    assert_int_equal(cal_world_let_links_touch(world, (cal_multibody_id){1, 1}, &error), CAL_BAD_ARGUMENT);
    cal_test_advance(world, 1.0);
    assert_int_equal(cal_test_report(world).collisions, 0);
    assert_int_equal(cal_world_let_links_touch(world, (cal_multibody_id){0, 1}, &error), CAL_BAD_ARGUMENT);
    cal_world_destroy(world);
    cal_model_destroy(model);
}

// --- Rest ------------------------------------------------------------------------------------------------------------------------

typedef struct part {
    const char* name;
    int parent;
    double at[3], center[3], mass, stiffness, damping;
    cal_shape_kind kind;
    double size[3], place[3];
} part;

static cal_model* build(const part* parts, int count, const cal_actuator_def* motor) {
    cal_builder* builder = NULL;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    for (int i = 0; i < count; i++) {
        cal_body_def body = cal_default_body_def();
        body.name = parts[i].name;
        body.parent = parts[i].parent;
        body.mass = parts[i].mass;
        memcpy(body.position, parts[i].at, sizeof body.position);
        memcpy(body.center, parts[i].center, sizeof body.center);
        for (int k = 0; k < 3; k++) body.inertia[k] = 0.02 * parts[i].mass;
        assert_int_equal(cal_builder_add_body(builder, &body), i);
        cal_joint_def joint = cal_default_joint_def();
        joint.kind = parts[i].stiffness < 0.0 ? CAL_FREE : CAL_REVOLUTE;
        joint.axis[0] = joint.axis[2] = 0.0, joint.axis[1] = 1.0;
        joint.stiffness = fmax(parts[i].stiffness, 0.0);
        joint.damping = parts[i].damping;
        assert_true(cal_builder_add_joint(builder, i, &joint) >= 0);
        cal_shape_def shape = cal_default_shape_def();
        shape.body = i;
        shape.kind = parts[i].kind;
        shape.friction = 0.5;
        memcpy(shape.size, parts[i].size, sizeof shape.size);
        memcpy(shape.position, parts[i].place, sizeof shape.position);
        assert_true(cal_builder_add_shape(builder, &shape) >= 0);
    }
    if (motor != NULL) assert_true(cal_builder_add_actuator(builder, motor) >= 0);
    cal_model* model = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

// A boom on a spring carries an arm of two parts; the last one comes to lie on the boom's shelf. Whatever the parts do to each
// other, the spring holds the weight of all: k θ = Σ m g x.
static const part shelf[] = {
    {"boom", CAL_GROUND, {0, 0, 0}, {0.5, 0, 0}, 1.0, 200.0, 25.0, CAL_BOX, {0.6, 0.2, 0.05}, {0.6, 0, -0.1}},
    {"upper", 0, {0.2, 0, 0.4}, {0.2, 0, 0}, 0.5, 30.0, 5.0, CAL_SPHERE, {0.05}, {0.2, 0, 0}},
    {"lower", 1, {0.4, 0, 0}, {0.2, 0, 0}, 0.8, 0.0, 1.0, CAL_SPHERE, {0.08}, {0.4, 0, 0}},
};

static void a_shelf_carries_the_lower_link(void** unused) {
    (void)unused;
    static const char* const groups[] = {"implicit", "penalty"};
    cal_model* model = build(shelf, 3, NULL);
    for (int g = 0; g < 2; g++) {
        cal_world_def def = cal_default_world_def();
        def.group = groups[g];
        cal_world* world = make_world(model, def, true);
        cal_test_advance(world, 5.0);
        assert_true(cal_test_report(world).fusions > 0);
        double turning = 0.0, angle = 0.0, gap = 0.0;
        for (int i = 0; i < 3; i++) {
            double position[3], quaternion[4], w[3];
            cal_world_get_body(world, cal_world_body(world, i), position, quaternion, NULL, w);
            const double turned = 2.0 * atan2(quaternion[2], quaternion[0]);
            const double c = cos(turned), s = sin(turned);
            turning += 9.81 * shelf[i].mass * (position[0] + c * shelf[i].center[0]);
            cal_test_expect_below(fabs(w[1]), g == 0 ? 1e-4 : 1e-2, "rate", groups[g]);
            if (i == 0) angle = turned;
            // Height of the lower link's ball over the boom's upper side, in the boom's frame.
            const double ball[2] = {position[0] + c * 0.4, position[2] - s * 0.4};
            if (i == 2) gap = ball[0] * sin(angle) + ball[1] * cos(angle) + 0.05 - 0.08;
        }
        cal_test_expect_below(fabs(turning - 200.0 * angle), g == 0 ? 1e-3 : 0.05, "moment", groups[g]);
        cal_test_expect_below(fabs(gap), g == 0 ? 1e-5 : 1e-3, "gap", groups[g]);
        cal_world_destroy(world);
    }
    cal_model_destroy(model);
}

// A body with a leg and an arm falls on a floor; the arm falls on the leg, and all of it comes to rest and sleeps. The same bits
// from timewarp however often it is thrown back, and the same rest from the other loops.
static const part doll[] = {
    {"trunk", CAL_GROUND, {0, 0, 0.4}, {0, 0, 0}, 5.0, -1.0, 0.0, CAL_BOX, {0.3, 0.2, 0.1}, {0, 0, 0}},
    {"leg", 0, {0.35, 0, 0}, {0.2, 0, 0}, 1.0, 0.0, 0.5, CAL_BOX, {0.2, 0.1, 0.05}, {0.25, 0, 0}},
    {"arm", 0, {0.1, 0, 0.4}, {0.2, 0, 0}, 0.3, 2.0, 0.3, CAL_SPHERE, {0.02}, {0.2, 0, 0}},
    {"hand", 2, {0.4, 0, 0}, {0.1, 0, 0}, 0.4, 0.0, 0.2, CAL_SPHERE, {0.06}, {0.25, 0, 0}},
};

static void an_arm_rests_on_its_own_leg(void** unused) {
    (void)unused;
    cal_model* model = build(doll, 4, NULL);
    uint64_t hash = 0;
    for (int run = 0; run < 4; run++) {
        cal_world_def def = cal_default_world_def();
        def.loop = run < 2 ? CAL_TIMEWARP : (cal_world_loop)(run - 1);
        def.forced_rollbacks = run == 1 ? 0.1 : 0.0;
        cal_world* world = make_world(model, def, true);
        cal_test_add_floor(world);
        cal_test_advance(world, 9.0); // after 4 s its joints still turn, by a third of a millimetre a second
        cal_world_event event;
        bool met = false;
        while (cal_world_next_event(world, &event))
            met |= event.body[0].index == 1 && event.body[1].index == 3; // leg and hand
        assert_true(met);
        const cal_world_report report = cal_test_report(world);
        assert_int_equal(report.asleep, 4);
        double leg[3], hand[3], turn[4];
        cal_world_get_body(world, cal_world_body(world, 1), leg, NULL, NULL, NULL);
        cal_world_get_body(world, cal_world_body(world, 3), hand, turn, NULL, NULL);
        const double tip = hand[2] - 0.25 * sin(2.0 * atan2(turn[2], turn[0]));
        assert_true(tip > leg[2] + 0.05);
        if (run == 0) hash = report.hash;
        if (run == 1) assert_true(report.hash == hash && report.forced > 0);
        cal_world_destroy(world);
    }
    cal_model_destroy(model);
}

// --- Strong motors --------------------------------------------------------------------------------------------------------------

// A light hand on a servo a thousand times stronger than its inertia: the arm hangs from the ground without a spring, the hand's
// ball comes to lie on a floor without friction. The floor's force N turns the whole back by as much as its weight turns
// it, N x = Σ m g x_i; the servo holds what N and the hand's weight do about its joint.
static void a_strong_servo_holds_in_contact(void** unused) {
    (void)unused;
    enum { KP = 500, KV = 5 };
    const part parts[] = {
        {"arm", CAL_GROUND, {0, 0, 0.3}, {0.2, 0, 0}, 1.0, 0.0, 0.5, CAL_SPHERE, {0.02}, {0.2, 0, 0}},
        {"hand", 0, {0.4, 0, 0}, {0.05, 0, 0}, 0.01, 0.0, 0.0, CAL_SPHERE, {0.02}, {0.1, 0, 0}},
    };
    cal_actuator_def servo = cal_default_actuator_def();
    servo.joint = 1;
    servo.gain = KP, servo.bias[1] = -KP, servo.bias[2] = -KV;
    cal_model* model = build(parts, 2, &servo);
    cal_world_def def = cal_default_world_def();
    def.friction = def.restitution = 0.0;
    cal_world* world = make_world(model, def, false);
    cal_test_add_floor(world);
    cal_test_advance(world, 3.0);
    assert_true(cal_test_report(world).fusions > 0);
    double weight = 0.0, x[2], angle[2], tip = 0.0, own = 0.0;
    for (int i = 0; i < 2; i++) {
        double position[3], quaternion[4];
        cal_world_get_body(world, cal_world_body(world, i), position, quaternion, NULL, NULL);
        angle[i] = 2.0 * atan2(quaternion[2], quaternion[0]);
        x[i] = position[0];
        own = 9.81 * parts[i].mass * parts[i].center[0] * cos(angle[i]);
        weight += 9.81 * parts[i].mass * x[i] + own;
        tip = x[i] + parts[i].place[0] * cos(angle[i]);
    }
    const double N = weight / tip, bent = (own - N * (tip - x[1])) / KP;
    cal_test_expect_below(fabs(angle[1] - angle[0] - bent), 1e-4 * fabs(bent), "bend", "a hand on a servo");
    cal_world_destroy(world);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impulses_go_through_the_whole_chain),
        cmocka_unit_test(free_flight_keeps_what_it_must),
        cmocka_unit_test(links_pass_through_each_other_unless_told),
        cmocka_unit_test(a_shelf_carries_the_lower_link),
        cmocka_unit_test(an_arm_rests_on_its_own_leg),
        cmocka_unit_test(a_strong_servo_holds_in_contact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
