// Worlds that nothing was tuned to: bodies of a tenth of a millimetre, gravity of any strength, mass ratios of a million, chains on heaps.
#include "calder/calder_read.h"
#include "constraint/constraint.h"
#include "support_collide.h"
#include "support_world.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t random_state;

static double number(double low, double high) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (double)(random_state >> 33) / 2147483648.0;
}

static cal_world* make_world(double gravity) {
    cal_world_def def = cal_default_world_def();
    def.gravity[2] = -gravity;
    def.restitution = def.friction = -1.0;
    return cal_test_world(&def);
}

static cal_body_id add(cal_world* world, const cal_world_body_def* def, cal_shape_kind kind, const double size[3],
                       double friction, double restitution) {
    cal_body_id body;
    cal_error error;
    cal_shape_def shape = cal_default_shape_def();
    shape.kind = kind;
    memcpy(shape.size, size, sizeof shape.size);
    shape.friction = friction, shape.restitution = restitution;
    if (cal_world_add_body(world, def, &body, &error) != CAL_OK ||
        cal_world_add_shape(world, body, &shape, NULL, &error) != CAL_OK)
        fail_msg("%s", error.text);
    return body;
}

static cal_body_id add_floor(cal_world* world, double friction, double restitution) {
    cal_world_body_def def = cal_default_world_body_def();
    def.motion = CAL_FIXED;
    return add(world, &def, CAL_PLANE, (double[]){0, 0, 0}, friction, restitution);
}

// A chain of links with capsules: ball joints, or hinges about y, and a free root or none.
static cal_model* make_chain(int links, double length, cal_joint_kind kind, bool free) {
    cal_builder* builder;
    cal_model* model = NULL;
    cal_error error;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    for (int i = 0; i < links; i++) {
        cal_body_def body = cal_default_body_def();
        body.parent = i == 0 ? CAL_GROUND : i - 1;
        body.position[0] = i == 0 ? 0.0 : length;
        body.mass = 100.0 * length * length * length;
        body.center[0] = 0.5 * length;
        body.inertia[0] = 0.01 * body.mass * length * length;
        body.inertia[1] = body.inertia[2] = body.mass * length * length / 12.0;
        cal_builder_add_body(builder, &body);
        cal_joint_def joint = cal_default_joint_def();
        joint.kind = i == 0 && free ? CAL_FREE : kind;
        joint.axis[0] = joint.axis[2] = 0.0, joint.axis[1] = 1.0;
        cal_builder_add_joint(builder, i, &joint);
        cal_shape_def shape = cal_default_shape_def();
        shape.body = i, shape.kind = CAL_CAPSULE;
        shape.size[0] = 0.15 * length, shape.size[1] = 0.33 * length;
        shape.position[0] = 0.5 * length;
        shape.quaternion[0] = shape.quaternion[2] = sqrt(0.5);
        shape.friction = 0.3, shape.restitution = 0.0;
        cal_builder_add_shape(builder, &shape);
    }
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

// The world's gravity acts on what is in it, however the model stands and whatever gravity that has.
static void worlds_gravity_acts_on_multibodies(void** state) {
    (void)state;
    static const double gravities[] = {0.0, 1.62}, turns[][4] = {{1, 0, 0, 0}, {0.6, 0.8, 0, 0}, {0.5, 0.5, 0.5, 0.5}};
    cal_model* model = make_chain(3, 1.0, CAL_BALL, true);
    for (int g = 0; g < 2; g++)
        for (int k = 0; k < 3; k++) {
            cal_world* world = make_world(gravities[g]);
            cal_multibody_id chain;
            cal_error error;
            if (cal_world_add_multibody(world, model, (double[]){0, 0, 5}, turns[k], 0, &chain, &error) != CAL_OK)
                fail_msg("%s", error.text);
            cal_test_advance(world, 0.0);
            const cal_world_report before = cal_test_report(world);
            cal_test_advance(world, 1.0);
            const cal_world_report after = cal_test_report(world);
            double from[3], to[3];
            assert_int_equal(cal_world_get_body(world, cal_world_link(world, chain, 1), to, NULL, from, NULL), CAL_OK);
            cal_test_expect_near(from[2], -gravities[g], 1e-9, "speed of the fall");
            cal_test_expect_near(fabs(from[0]) + fabs(from[1]), 0.0, 1e-9, "speed across it");
            cal_test_expect_near(after.kinetic + after.potential, before.kinetic + before.potential, 1e-6, "energy");
            cal_world_destroy(world);
        }
    cal_model_destroy(model);
}

// A ball of a tenth of a millimetre bounces as a large one does.
static void small_balls_bounce(void** state) {
    (void)state;
    const double radius = 1e-4, height = 1e-3, restitution = 0.5, g = 9.81;
    cal_world* world = make_world(g);
    cal_world_body_def def = cal_default_world_body_def();
    add_floor(world, 0.5, restitution);
    def.position[2] = radius + height;
    const cal_body_id ball = add(world, &def, CAL_SPHERE, (double[]){radius, 0, 0}, 0.5, restitution);
    const double fall = sqrt(2.0 * height / g);
    double expected = height, time = fall;
    for (int bounce = 0; bounce < 3; bounce++) {
        expected *= restitution * restitution;
        const double rise = sqrt(2.0 * expected / g);
        double position[3];
        cal_test_advance(world, time + rise);
        assert_int_equal(cal_world_get_body(world, ball, position, NULL, NULL, NULL), CAL_OK);
        cal_test_expect_near(position[2] - radius, expected, 1e-9, "height of a bounce");
        time += 2.0 * rise;
    }
    cal_world_destroy(world);
}

// The deepest overlap of a free body with anything, over the size of the smaller one; sizes by their numbers, 0: it does not move.
static double find_overlap(cal_world* world, cal_body_id body, const double* sizes) {
    cal_shape_def shape;
    cal_mesh_def mesh;
    cal_overlap found[64];
    cal_error error;
    double deepest = 0.0;
    int count = 0;
    if (!cal_world_get_shape(world, body, 0, &shape, &mesh)) return 0.0;
    assert_int_equal(cal_world_get_body(world, body, shape.position, shape.quaternion, NULL, NULL), CAL_OK);
    if (cal_world_overlaps(world, &shape, NULL, 0.0, found, 64, &count, &error) != CAL_OK) fail_msg("%s", error.text);
    for (int i = 0; i < count && i < 64; i++)
        if (found[i].body.index != body.index) {
            const double own = sizes[body.index], other = sizes[found[i].body.index];
            deepest = fmax(deepest, -found[i].distance / (other > 0.0 ? fmin(own, other) : own));
        }
    return deepest;
}

static double reach_of(cal_shape_kind kind, const double size[3]) {
    if (kind == CAL_SPHERE) return size[0];
    if (kind == CAL_CAPSULE) return size[0] + size[1];
    if (kind == CAL_CYLINDER) return sqrt(size[0] * size[0] + size[1] * size[1]);
    if (kind == CAL_ELLIPSOID) return fmax(size[0], fmax(size[1], size[2]));
    return sqrt(size[0] * size[0] + size[1] * size[1] + size[2] * size[2]);
}

// Mixed bodies that fall on a floor, in worlds of any size and gravity: nothing overlaps by more than a millionth of its
// size, at whatever time, and no energy comes from nowhere.
static void small_and_large_heaps_hold(void** state) {
    (void)state;
    static const double lengths[] = {1.0, 1e-3, 1e-3, 1e3}, gravities[] = {9.81, 9.81, 100.0, 1.62};
    enum { BODIES = 8, LOOKS = 300 };
    for (int world_number = 0; world_number < 8; world_number++) {
        const double L = lengths[world_number % 4], g = gravities[world_number % 4], T = sqrt(0.1 * L / g);
        cal_world* world = make_world(g);
        cal_body_id bodies[BODIES];
        double z = 0.0, sizes[BODIES + 1] = {0.0};
        random_state = (uint64_t)(1000 + world_number);
        add_floor(world, 0.4, 0.0);
        for (int i = 0; i < BODIES; i++) {
            static const cal_shape_kind kinds[] = {CAL_CYLINDER, CAL_BOX, CAL_CAPSULE, CAL_ELLIPSOID, CAL_SPHERE};
            const cal_shape_kind kind = kinds[i % 5];
            const double size = 0.1 * L * number(0.3, 1.0);
            double dims[3] = {size * number(0.3, 0.7), size * number(0.1, 0.7), size * number(0.3, 0.7)};
            if (kind == CAL_SPHERE) dims[0] = size;
            cal_world_body_def def = cal_default_world_body_def();
            for (int k = 0; k < 4; k++) def.quaternion[k] = number(-1.0, 1.0);
            for (int k = 0; k < 3; k++) def.angular_velocity[k] = number(-6.0, 6.0) / T;
            z += 2.4 * size;
            def.position[0] = number(-0.05, 0.05) * L, def.position[1] = number(-0.05, 0.05) * L, def.position[2] = z;
            z += 0.4 * size;
            bodies[i] = add(world, &def, kind, dims, 0.4, 0.0);
            sizes[bodies[i].index] = reach_of(kind, dims);
        }
        double last = INFINITY, most = 0.0;
        for (int k = 0; k <= LOOKS; k++) {
            cal_test_advance(world, 12.0 * T * k / LOOKS);
            const cal_world_report r = cal_test_report(world);
            most = fmax(most, r.kinetic);
            cal_test_expect_below(r.kinetic + r.potential - last, 2e-5 * most, "energy", "a heap");
            last = r.kinetic + r.potential;
            for (int i = 0; i < BODIES; i++)
                cal_test_expect_below(find_overlap(world, bodies[i], sizes), 1.01e-6, "overlap", "a heap");
        }
        cal_world_destroy(world);
    }
}

// What is light between a floor and something heavy that falls on it is hit back and forth ever faster: the run gets past that.
static void light_bodies_between_heavy_ones(void** state) {
    (void)state;
    for (int k = 0; k < 6; k++) {
        const double density = k % 3 == 0   ? 5.0
                               : k % 3 == 1 ? 50.0
                                            : 500.0,
                     radius = 0.01,
                     restitution = k < 3 ? 0.7 : 0.5; // masses 1e4 to 1e6 times as large
        cal_world* world = make_world(9.81);
        cal_world_body_def def = cal_default_world_body_def();
        add_floor(world, 0.3, restitution);
        def.position[2] = radius + 1e-3;
        def.density = 1.0;
        def.velocity[2] = 1.0;
        add(world, &def, CAL_SPHERE, (double[]){radius, 0, 0}, 0.3, restitution);
        def.position[2] = 0.15;
        def.density = density;
        def.velocity[2] = -2.0;
        const cal_body_id heavy = add(world, &def, CAL_BOX, (double[]){0.1, 0.1, 0.1}, 0.3, restitution);
        double position[3], last = INFINITY;
        for (int i = 0; i <= 200; i++) {
            cal_test_advance(world, 0.001 * i);
            const cal_world_report r = cal_test_report(world);
            cal_test_expect_below(r.kinetic + r.potential - last, 1e-6 * (r.kinetic + r.potential), "energy",
                                  "light and heavy");
            last = r.kinetic + r.potential;
        }
        assert_int_equal(cal_world_get_body(world, heavy, position, NULL, NULL, NULL), CAL_OK);
        assert_true(position[2] > 0.1 && position[2] < 0.5);
        assert_true(cal_test_report(world).collisions < 2000);
        cal_world_destroy(world);
    }
}

// A chain that falls on a heap: its energy between two states of its group is not more than at both.
static void chains_on_heaps_gain_nothing(void** state) {
    (void)state;
    for (int k = 0; k < 3; k++) {
        cal_model* model = make_chain(5, 0.12, k == 0 ? CAL_REVOLUTE : CAL_BALL, true);
        cal_world* world = make_world(9.81);
        cal_multibody_id chain;
        cal_error error;
        random_state = (uint64_t)(77 + k);
        add_floor(world, 0.3, 0.0);
        for (int i = 0; i < 5; i++) {
            cal_world_body_def def = cal_default_world_body_def();
            def.position[0] = 0.08 * i - 0.1, def.position[1] = number(-0.02, 0.02);
            def.position[2] = 0.05;
            add(world, &def, i % 2 ? CAL_SPHERE : CAL_BOX, (double[]){0.035, 0.03, 0.04}, 0.3, 0.0);
        }
        if (cal_world_add_multibody(world, model, (double[]){-0.15, 0.0, 0.3}, (double[]){1.0, 0.1 * k, 0.1, 0.05}, 0,
                                    &chain, &error) != CAL_OK)
            fail_msg("%s", error.text);
        double last = INFINITY, most = 0.0;
        for (int i = 0; i <= 2000; i++) {
            cal_test_advance(world, 0.0005 * i);
            const cal_world_report r = cal_test_report(world);
            most = fmax(most, r.kinetic);
            cal_test_expect_below(r.kinetic + r.potential - last, 1e-5 * most, "energy", "a chain on a heap");
            last = r.kinetic + r.potential;
        }
        cal_world_destroy(world);
        cal_model_destroy(model);
    }
}

// The deepest point of a rim is between two of those that a round face has: it is told where they miss it by a fifth of a millionth.
static void rims_are_seen(void** state) {
    (void)state;
    cal_geometry *disk = cal_test_shape(CAL_CYLINDER, 0.1, 0.01, 0.0), *floor = cal_test_shape(CAL_PLANE, 0, 0, 0);
    const cal_pose ground = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    for (int k = 0; k < 16; k++) {
        const double about = 0.3926990816987241 * k, tilt = 1e-5, x = cos(about) * tilt, y = sin(about) * tilt;
        // A turn by (x, y, 0), to the first order.
        const cal_pose at = {.rotation = {1, 0, y, 0, 1, -x, -y, x, 1}, .position = {0, 0, 0.01}};
        cal_contact contacts[32];
        const int count = cal_contacts(disk, &at, floor, &ground, 1e-3, contacts, 32);
        double deepest = INFINITY;
        for (int i = 0; i < count && i < 32; i++) deepest = fmin(deepest, contacts[i].separation);
        cal_test_expect_near(deepest, -0.1 * tilt, 2.1e-8, "depth of a rim");
    }
    cal_geometry_destroy(disk);
    cal_geometry_destroy(floor);
}

// Rings of links on hinges, each closed by another hinge: planar loops, of whose five rows three say nothing new. Each is free, or in one
// tree the first link of each hangs on the third one of the ring before it.
typedef struct rings {
    int links, count;
    bool together;
} rings;

static cal_model* make_rings(const rings* r, double length) {
    cal_builder* builder;
    cal_model* model = NULL;
    cal_error error;
    const double turn = 3.14159265358979323846 / r->links;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    for (int i = 0; i < r->links * r->count; i++) {
        const int at = i % r->links, ring = i / r->links;
        const bool hangs = at == 0 && r->together && ring > 0;
        cal_body_def body = cal_default_body_def();
        body.parent = at > 0 ? i - 1 : hangs ? i - r->links + 2 : CAL_GROUND;
        body.position[0] = hangs ? 0.5 * length : 0.0;
        body.position[1] = at == 0 && !hangs ? 3.0 * ring * length : 0.0;
        if (at > 0) body.position[0] = length, body.quaternion[0] = cos(turn), body.quaternion[2] = -sin(turn);
        body.mass = 100.0 * length * length * length;
        body.center[0] = 0.5 * length;
        body.inertia[0] = 0.01 * body.mass * length * length;
        body.inertia[1] = body.inertia[2] = body.mass * length * length / 12.0;
        cal_builder_add_body(builder, &body);
        cal_joint_def joint = cal_default_joint_def();
        joint.kind = body.parent == CAL_GROUND ? CAL_FREE : CAL_REVOLUTE;
        joint.axis[0] = joint.axis[2] = 0.0, joint.axis[1] = 1.0;
        cal_builder_add_joint(builder, i, &joint);
    }
    for (int i = 0; i < r->count; i++) {
        cal_constraint_def pin = cal_default_constraint_def();
        pin.kind = CAL_LOOP_REVOLUTE;
        pin.body[0] = r->links * (i + 1) - 1, pin.body[1] = r->links * i;
        pin.position[0][0] = length;
        for (int k = 0; k < 2; k++) pin.quaternion[k][0] = sqrt(0.5), pin.quaternion[k][1] = -sqrt(0.5);
        cal_builder_add_constraint(builder, &pin);
    }
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

// Whether loops are closed in the order of the tree.
static bool closes_in_order(const cal_model* model) {
    cal_constraints* set = NULL;
    assert_int_equal(cal_constraints_create(model, &set), CAL_OK);
    const bool out = set->loops;
    cal_constraints_destroy(set);
    return out;
}

// Such rings of any size tumble alike.
static void expect_alike(const rings* r) {
    static const double lengths[] = {1.0, 1e-3, 1e-4, 1e-5, 1e3};
    enum { MOST = 100 };
    double q[MOST + 12], first[MOST] = {0.0};
    for (int k = 0; k < 5; k++) {
        const double L = lengths[k], T = sqrt(L / 9.81);
        cal_model* model = make_rings(r, L);
        const int q_count = cal_model_q_count(model), v_count = cal_model_v_count(model);
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim;
        cal_error error;
        double a[MOST], v[MOST] = {0.0};
        char what[64];
        assert_true(v_count <= MOST);
        assert_int_equal(closes_in_order(model), r->together);
        def.solver = "rkck", def.relative = 1e-8;
        snprintf(what, sizeof what, "%d rings of %d links of %g m%s", r->count, r->links, L,
                 r->together ? ", one tree" : "");
        sim = cal_test_create_sim(model, &def);
        memcpy(q, cal_sim_q(sim), (size_t)q_count * sizeof *q);
        const int each = r->together ? v_count : v_count / r->count;
        for (int i = 0; i < v_count; i += each) {
            v[i + 3] = 1.0 / T, v[i + 4] = 0.5 / T;
            for (int d = 6; d < each; d++) v[i + d] = (d % 2 == 0 ? 1.0 : -1.0) / T;
        }
        if (cal_sim_set(sim, 0.0, q, v, &error) != CAL_OK || cal_sim_project(sim, &error) != CAL_OK)
            fail_msg("%s: %s", what, error.text);
        assert_int_equal(cal_sim_accelerations(sim, a), CAL_OK);
        for (int i = 0; i < v_count; i++) {
            if (i % each < 3) continue; // of the base's place
            if (k == 0) first[i] = a[i] * T * T;
            cal_test_expect_near(a[i] * T * T, first[i], 1e-7 * fmax(1.0, fabs(first[i])), what);
        }
        if (cal_sim_advance(sim, (r->count > 1 ? 2.0 : 5.0) * T, &error) != CAL_OK)
            fail_msg("%s: %s", what, error.text);
        cal_constraint_report report;
        assert_int_equal(cal_sim_constraints(sim, &report), CAL_OK);
        assert_int_equal(report.rank, 2 * r->count);
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
}

// At 0.1 mm rows that nothing can move were taken for some that something moves, with rounding for forces, and no step got on; at 0.01 mm
// accelerations were wrong. So it was with several that are alike, and with those of one tree, each of which is found in another way.
static void rings_of_any_size_tumble_alike(void** state) {
    (void)state;
    for (int links = 4; links <= 6; links++) expect_alike(&(rings){links, 1, false});
}
static void rings_beside_each_other_tumble_alike(void** state) {
    (void)state;
    expect_alike(&(rings){4, 3, false});
    expect_alike(&(rings){5, 2, false});
}
static void rings_in_one_tree_tumble_alike(void** state) {
    (void)state;
    expect_alike(&(rings){5, 8, true});
    expect_alike(&(rings){6, 6, true});
}

// Spin about the axis of a body of revolution moves no point of its surface: a rod of micrometres that turns ten million radians about its own
// on the way to a wall is looked at a few thousand times, most of them after the impact, and hits as one that does not spin.
static void spin_about_its_own_axis_is_not_seen(void** state) {
    (void)state;
    static const cal_shape_kind kinds[] = {CAL_CAPSULE, CAL_CYLINDER, CAL_ELLIPSOID};
    static const double sizes[][3] = {{1e-6, 5e-6, 0}, {1e-6, 5e-6, 0}, {1e-6, 1e-6, 5e-6}};
    for (int k = 0; k < 6; k++) {
        cal_world* world = make_world(0.0);
        cal_world_body_def def = cal_default_world_body_def();
        cal_world_event event;
        const double along[3] = {0.6, 0.0, 0.8}, spin = 1e9, tumbles = k < 3 ? 0.0 : 30.0, speed = 0.1;
        cal_world_keep_events(world, true);
        def.motion = CAL_FIXED;
        add(world, &def, CAL_BOX, (double[]){1e-4, 1e-4, 1e-5}, 0.0, 1.0);
        def.motion = CAL_MOVING;
        def.position[2] = 1e-3, def.velocity[2] = -speed;
        def.quaternion[0] = 0.94868329805051377, def.quaternion[2] = 0.31622776601683794; // z of the body along `along`
        for (int i = 0; i < 3; i++) def.angular_velocity[i] = spin * along[i] + (i == 1 ? tumbles : 0.0);
        add(world, &def, kinds[k % 3], sizes[k % 3], 0.0, 1.0);
        cal_test_advance(world, 0.0099);
        assert_true(cal_world_next_event(world, &event));
        const double half = k % 3 == 0   ? 1e-6 + 5e-6 * along[2]
                            : k % 3 == 1 ? 1e-6 * along[0] + 5e-6 * along[2]
                                         : sqrt(0.36e-12 + 16e-12);
        if (k < 3) cal_test_expect_near(event.time, (1e-3 - 1e-5 - half) / speed, 1e-12, "time of the impact");
        cal_test_expect_below((double)cal_test_report(world).checks, 1e4, "looks", "a rod that spins");
        cal_world_destroy(world);
    }
}

// What rocks on a floor in long steps is moved apart from it, upwards: that takes from its speeds, and adds nothing.
static void what_is_moved_apart_gains_nothing(void** state) {
    (void)state;
    for (int k = 0; k < 12; k++) {
        cal_world* world = make_world(9.81);
        cal_world_body_def def = cal_default_world_body_def();
        random_state = (uint64_t)(300 + k);
        add_floor(world, 0.9, 0.8);
        for (int n = 0; n < 4; n++) def.quaternion[n] = number(-1.0, 1.0);
        for (int n = 0; n < 3; n++) def.angular_velocity[n] = number(-40.0, 40.0);
        def.position[2] = 0.12;
        add(world, &def, k % 2 ? CAL_ELLIPSOID : CAL_CAPSULE,
            (double[]){k % 2 ? 0.1 : 0.004, k % 2 ? 0.05 : 0.08, 0.004}, 0.9, 0.8);
        double last = INFINITY, most = 0.0;
        for (int i = 0; i <= 300; i++) {
            cal_test_advance(world, 0.01 * i);
            const cal_world_report r = cal_test_report(world);
            most = fmax(most, r.kinetic);
            // What rests may be lifted by a millionth of its size.
            cal_test_expect_below(r.kinetic + r.potential - last, 1e-6 * most, "energy", "what rocks on a floor");
            last = r.kinetic + r.potential;
        }
        cal_world_destroy(world);
    }
}

// What is about to rest, and has next to no speed to take from, is not lifted for nothing, either: a cylinder that a ball has left on another one.
static void what_barely_moves_is_not_lifted(void** state) {
    (void)state;
    static const double sizes[3][3] = {{4.4919692445401256e-09, 3.8763049922402707e-09, 0.0},
                                       {2.8965299118045792e-09, 3.1355538269424219e-09, 0.0},
                                       {4.2458146313791967e-09, 0.0, 0.0}},
                        places[3][3] = {{0, 0, 3.8802722075286693e-09},
                                        {0, 2.8258867127648752e-10, 1.1896125164395822e-08},
                                        {0, 2.8258867127648752e-10, 2.0152442173571324e-08}},
                        turned[3][4] = {{0.94979352373281034, 0.00041969919758955143, 0, 0.022783225936680473},
                                        {1, -0.74779159381020621, 0, -0.95379675565465205},
                                        {-0.13454210760349139, 0.53142947010946018, 0, 0}},
                        restitutions[] = {0.067602614406208072, 0.74804675928695286, 0},
                        frictions[] = {0.67212062628087244, 0.90066577807963888, 0.70815078436415901};
    cal_world* world = make_world(1000.0);
    cal_world_body_def fixed = cal_default_world_body_def();
    const cal_shape_def plain = cal_default_shape_def();
    fixed.motion = CAL_FIXED;
    add(world, &fixed, CAL_PLANE, plain.size, plain.friction, plain.restitution);
    double weight = 0.0, last = INFINITY, most = 0.0;
    for (int i = 0; i < 3; i++) {
        cal_world_body_def def = cal_default_world_body_def();
        def.density = 1000.0;
        memcpy(def.position, places[i], sizeof def.position);
        memcpy(def.quaternion, turned[i], sizeof def.quaternion);
        add(world, &def, i < 2 ? CAL_CYLINDER : CAL_SPHERE, sizes[i], frictions[i], restitutions[i]);
    }
    for (int i = 0; i <= 400; i++) {
        cal_test_advance(world, 5e-7 * i);
        const cal_world_report r = cal_test_report(world);
        if (i == 0) weight = r.potential; // times about half of the height
        most = fmax(most, r.kinetic);
        cal_test_expect_below(r.kinetic + r.potential - last, 1e-6 * weight + 1e-5 * most, "energy", "a cylinder");
        last = r.kinetic + r.potential;
    }
    cal_world_destroy(world);
}

// A heap comes to rest in its own time: as many steps of its group, and events, whether that is a second or an hour.
static void slow_worlds_take_no_more_steps(void** state) {
    (void)state;
    static const double lengths[] = {10.0, 100.0, 1e4}, gravities[] = {9.81, 1e-3, 1e-3};
    enum { BODIES = 6 };
    int64_t steps[3], events[3];
    for (int k = 0; k < 3; k++) {
        const double L = lengths[k], T = sqrt(L / gravities[k]);
        cal_world* world = make_world(gravities[k]);
        random_state = 5;
        add_floor(world, 0.4, 0.2);
        for (int i = 0; i < BODIES; i++) {
            static const cal_shape_kind kinds[] = {CAL_CYLINDER, CAL_BOX, CAL_SPHERE};
            cal_world_body_def def = cal_default_world_body_def();
            for (int n = 0; n < 4; n++) def.quaternion[n] = number(-1.0, 1.0);
            for (int n = 0; n < 3; n++) def.angular_velocity[n] = number(-1.0, 1.0) / T;
            def.position[0] = number(-0.2, 0.2) * L, def.position[2] = (2.0 + 2.5 * i) * L;
            add(world, &def, kinds[i % 3], (double[]){0.6 * L, 0.5 * L, 0.7 * L}, 0.4, 0.2);
        }
        cal_test_advance(world, 20.0 * T);
        steps[k] = cal_test_report(world).group_steps, events[k] = cal_test_report(world).events;
        cal_world_destroy(world);
    }
    for (int k = 1; k < 3; k++) {
        cal_test_expect_below((double)steps[k], 2.0 * (double)steps[0], "steps", "a slow world");
        cal_test_expect_below((double)events[k], 2.0 * (double)events[0], "events", "a slow world");
    }
}

// So do chains that fall on a heap: groups with multibodies were checked 100 times per second, however slow they were, and counted metres of their
// roots and slides as radians. Lengths and times go by powers of two, so that numbers are the same to the bit but for what is no ratio.
static void slow_chains_take_no_more_steps(void** state) {
    (void)state;
    static const double lengths[] = {16.0, 128.0, 8192.0}, gravities[] = {9.81, 9.81 * 0x1p-13, 9.81 * 0x1p-13};
    int64_t steps[3], events[3];
    for (int k = 0; k < 3; k++) {
        const double L = lengths[k], T = sqrt(L / gravities[k]);
        cal_model* model = make_chain(4, L, CAL_BALL, true);
        cal_world* world = make_world(gravities[k]);
        cal_multibody_id chain;
        cal_error error;
        add_floor(world, 0.3, 0.0);
        for (int i = 0; i < 2; i++) {
            cal_world_body_def def = cal_default_world_body_def();
            def.position[0] = (0.9 + 1.1 * i) * L, def.position[2] = 0.35 * L;
            add(world, &def, CAL_SPHERE, (double[]){0.35 * L, 0.0, 0.0}, 0.3, 0.0);
        }
        if (cal_world_add_multibody(world, model, (double[]){0.0, 0.05 * L, 1.2 * L}, (double[]){1.0, 0.05, 0.1, 0.05},
                                    0, &chain, &error) != CAL_OK)
            fail_msg("%s", error.text);
        cal_test_advance(world, 4.0 * T);
        steps[k] = cal_test_report(world).group_steps, events[k] = cal_test_report(world).events;
        assert_true(steps[k] > 0);
        cal_test_expect_below(cal_test_report(world).penetration, 1.05e-6 * L, "overlap", "a slow chain");
        cal_world_destroy(world);
        cal_model_destroy(model);
    }
    for (int k = 1; k < 3; k++) {
        cal_test_expect_below((double)steps[k], 1.05 * (double)steps[0], "steps", "a slow chain");
        cal_test_expect_below((double)events[k], 1.05 * (double)events[0], "events", "a slow chain");
    }
}

// So do arms that springs, servos or motors of a known force drive, against their stops and on what lies there: these were checked 100 times per
// second wherever they were.
static void slow_arms_take_no_more_steps(void** state) {
    (void)state;
    static const double lengths[] = {256.0, 2048.0, 16384.0}, gravities[] = {9.81, 9.81 * 0x1p-13, 9.81 * 0x1p-12};
    int64_t steps[3], events[3];
    for (int k = 0; k < 3; k++) {
        const double L = lengths[k], g = gravities[k], torque = g * L * L * L * L;
        char text[2000];
        cal_error error;
        cal_model* model = NULL;
        snprintf(text, sizeof text,
                 "<mujoco><option gravity='0 0 %.17g'/><worldbody><geom type='plane' size='0 0 1'/>"
                 "<body pos='0 0 %.17g'><joint name='a' type='hinge' axis='0 1 0' stiffness='%.17g' springref='.3'/>"
                 "<geom type='capsule' size='%.17g' fromto='0 0 0 %.17g 0 0' density='10'/>"
                 "<body pos='%.17g 0 0'><joint name='b' type='hinge' axis='0 1 0' range='-1 1' limited='true'/>"
                 "<geom type='capsule' size='%.17g' fromto='0 0 0 %.17g 0 0' density='10'/></body></body>"
                 "<body pos='%.17g 0 %.17g'><freejoint/><geom type='box' size='%.17g %.17g %.17g' density='10'/></body>"
                 "</worldbody><actuator><position joint='b' kp='%.17g' ctrlrange='-1 1'/>"
                 "<motor joint='a' gear='%.17g' ctrlrange='-1 1'/></actuator></mujoco>",
                 -g, 0.8 * L, 2.0 * torque, 0.1 * L, L, 1.05 * L, 0.1 * L, L, 1.6 * L, 0.3 * L, 0.3 * L, 0.3 * L,
                 0.3 * L, torque, 0.5 * torque);
        if (cal_model_read_memory(text, strlen(text), "arm.xml", NULL, &model, NULL, &error) != CAL_OK)
            fail_msg("%s", error.text);
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim = NULL;
        sim = cal_test_create_sim(model, &def);
        if (cal_sim_drive(sim, NULL, (double[]){0.8, 0.5}, &error) != CAL_OK ||
            cal_sim_advance(sim, 8.0 * sqrt(L / g), &error) != CAL_OK)
            fail_msg("%s", error.text);
        const cal_world_report report = cal_test_report(cal_sim_world(sim));
        steps[k] = report.group_steps, events[k] = report.events;
        assert_true(steps[k] > 0);
        cal_test_expect_below(report.penetration, 1.05e-6 * L, "overlap", "a slow arm");
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
    for (int k = 1; k < 3; k++) {
        cal_test_expect_below((double)steps[k], 1.25 * (double)steps[0], "steps", "a slow arm");
        cal_test_expect_below((double)events[k], 1.25 * (double)events[0], "events", "a slow arm");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_of_any_size_tumble_alike),
        cmocka_unit_test(rings_beside_each_other_tumble_alike),
        cmocka_unit_test(rings_in_one_tree_tumble_alike),
        cmocka_unit_test(worlds_gravity_acts_on_multibodies),
        cmocka_unit_test(small_balls_bounce),
        cmocka_unit_test(small_and_large_heaps_hold),
        cmocka_unit_test(light_bodies_between_heavy_ones),
        cmocka_unit_test(chains_on_heaps_gain_nothing),
        cmocka_unit_test(rims_are_seen),
        cmocka_unit_test(slow_worlds_take_no_more_steps),
        cmocka_unit_test(slow_chains_take_no_more_steps),
        cmocka_unit_test(slow_arms_take_no_more_steps),
        cmocka_unit_test(what_is_moved_apart_gains_nothing),
        cmocka_unit_test(what_barely_moves_is_not_lifted),
        cmocka_unit_test(spin_about_its_own_axis_is_not_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
