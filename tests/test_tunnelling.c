// Nothing passes through anything: first impacts against closed forms, and against a dense sampling of the signed distance on
// motions without the obstacle.
#include "calder/calder_read.h"
#include "support_collide.h"
#include "support_world.h"
#include <math.h>
#include <string.h>

static const cal_world_loop loops[] = {CAL_TIMEWARP, CAL_RETROACTIVE, CAL_CONSERVATIVE};
enum { LOOPS = 3 };

static cal_world_def weightless(cal_world_loop loop) {
    cal_world_def def = cal_default_world_def();
    memset(def.gravity, 0, sizeof def.gravity);
    def.loop = loop;
    return def;
}

static cal_body_id add_wall(cal_world* world, cal_shape_kind kind, double x, double y, const double size[3]) {
    cal_world_body_def def = cal_default_world_body_def();
    def.name = "wall";
    def.motion = CAL_FIXED;
    def.position[0] = x, def.position[1] = y;
    return cal_test_add(world, &def, kind, size[0], size[1], size[2]);
}

static double first_time(cal_world* world) {
    cal_world_event event;
    return cal_world_next_event(world, &event) ? event.time : INFINITY;
}

// A model of one body on one joint with a motor, and a capsule or a box on it.
static cal_model* one_joint(cal_joint_kind kind, double effort, const cal_shape_def* shape, double center,
                            double inertia) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, (const double[]){0, 0, 0});
    cal_body_def body = cal_default_body_def();
    body.name = "link";
    body.parent = CAL_GROUND;
    body.mass = 1.0;
    body.center[0] = center;
    body.inertia[0] = body.inertia[1] = body.inertia[2] = inertia;
    assert_int_equal(cal_builder_add_body(builder, &body), 0);
    cal_joint_def joint = cal_default_joint_def();
    joint.kind = kind;
    joint.axis[0] = kind == CAL_PRISMATIC, joint.axis[1] = 0.0, joint.axis[2] = kind == CAL_REVOLUTE;
    assert_int_equal(cal_builder_add_joint(builder, 0, &joint), 0);
    cal_actuator_def motor = cal_default_actuator_def();
    motor.joint = 0;
    motor.initial_control = effort;
    assert_true(cal_builder_add_actuator(builder, &motor) >= 0);
    assert_true(cal_builder_add_shape(builder, shape) >= 0);
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

static void a_bead_on_a_slider_is_stopped_by_a_wall(void** state) {
    (void)state;
    static const double pushes[] = {80.0, 200.0, 1000.0};
    for (int loop = 0; loop < LOOPS; loop++)
        for (int i = 0; i < 3; i++)
            for (int boxed = 0; boxed < 2; boxed++) {
                cal_shape_def shape = cal_default_shape_def();
                shape.body = 0;
                shape.kind = boxed ? CAL_BOX : CAL_SPHERE;
                shape.size[0] = shape.size[1] = shape.size[2] = 0.01;
                cal_model* model = one_joint(CAL_PRISMATIC, pushes[i], &shape, 0.0, 1e-4);
                cal_world_def def = weightless(loops[loop]);
                cal_world* world = cal_test_world(&def);
                add_wall(world, CAL_BOX, 1.0, 0.0, (const double[]){0.005, 0.5, 0.5});
                cal_multibody_id id;
                assert_int_equal(cal_world_add_multibody(world, model, NULL, NULL, 0, &id, NULL), CAL_OK);
                const double wanted = sqrt(2.0 * (1.0 - 0.015) / pushes[i]);
                for (int k = 1; k <= 50; k++) {
                    cal_test_advance(world, 0.04 * k * wanted);
                    double x[3];
                    assert_int_equal(cal_world_get_body(world, cal_world_link(world, id, 0), x, NULL, NULL, NULL),
                                     CAL_OK);
                    if (!(x[0] < 0.985 + 1e-4)) fail_msg("%g m/s²: the bead is at %.9g m", pushes[i], x[0]);
                }
                cal_test_expect_near(first_time(world), wanted, 1e-9 * wanted, "first impact of a bead");
                cal_world_destroy(world);
                cal_model_destroy(model);
            }
}

// An arm of a metre from the joint on, along x.
static cal_shape_def rod(void) {
    cal_shape_def shape = cal_default_shape_def();
    shape.body = 0;
    shape.kind = CAL_CAPSULE;
    shape.position[0] = 0.5;
    shape.quaternion[0] = shape.quaternion[2] = sqrt(0.5), shape.quaternion[1] = shape.quaternion[3] = 0.0;
    shape.size[0] = 0.02, shape.size[1] = 0.48;
    return shape;
}

static void a_driven_arm_is_stopped_by_a_post(void** state) {
    (void)state;
    static const double torques[] = {3.0, 30.0, 300.0};
    const double inertia = 0.1, about = inertia + 0.25, angle = 2.0 * M_PI / 3.0, far = 0.8;
    for (int loop = 0; loop < LOOPS; loop++)
        for (int i = 0; i < 3; i++) {
            const cal_shape_def shape = rod();
            cal_model* model = one_joint(CAL_REVOLUTE, torques[i], &shape, 0.5, inertia);
            cal_world_def def = weightless(loops[loop]);
            cal_world* world = cal_test_world(&def);
            add_wall(world, CAL_CYLINDER, far * cos(angle), far * sin(angle), (const double[]){0.02, 0.5, 0.0});
            cal_multibody_id id;
            assert_int_equal(cal_world_add_multibody(world, model, NULL, NULL, 0, &id, NULL), CAL_OK);
            const double hit = angle - asin(0.04 / far), wanted = sqrt(2.0 * hit * about / torques[i]);
            for (int k = 1; k <= 50; k++) {
                cal_test_advance(world, 0.04 * k * wanted);
                double q[4];
                assert_int_equal(cal_world_get_body(world, cal_world_link(world, id, 0), NULL, q, NULL, NULL), CAL_OK);
                const double turned = 2.0 * atan2(q[3], q[0]);
                if (!(turned < hit + 1e-3)) fail_msg("%g N m: the arm is at %.9g rad", torques[i], turned);
            }
            cal_test_expect_near(first_time(world), wanted, 1e-8 * wanted, "first impact of an arm");
            cal_world_destroy(world);
            cal_model_destroy(model);
        }
}

// An arm that turns past a post below it, and would do so 10⁶ times in the longest step of its motion: it is looked at as far as time comes, and goes on
// as it does alone. It ended with a line.
static void an_arm_whirls_past_a_post(void** state) {
    (void)state;
    const double torque = 3e9, about = 0.35;
    const cal_shape_def shape = rod();
    cal_model* model = one_joint(CAL_REVOLUTE, torque, &shape, 0.5, 0.1);
    for (int loop = 0; loop < LOOPS; loop++) {
        cal_world_def def = weightless(loops[loop]);
        def.step = 1e-4;
        cal_world* world = cal_test_world(&def);
        cal_world_body_def post = cal_default_world_body_def();
        post.motion = CAL_FIXED;
        post.position[0] = -0.8, post.position[2] = -0.53;
        cal_test_add(world, &post, CAL_CYLINDER, 0.02, 0.5, 0.0);
        cal_multibody_id id;
        assert_int_equal(cal_world_add_multibody(world, model, NULL, NULL, 0, &id, NULL), CAL_OK);
        for (int k = 1; k <= 5; k++) {
            double q;
            cal_test_advance(world, 2e-5 * k);
            assert_int_equal(cal_world_multibody_state(world, id, &q, NULL), CAL_OK);
            const double wanted = 0.5 * torque / about * 4e-10 * k * k;
            cal_test_expect_near(q, wanted, 1e-9 * wanted, "angle of an arm");
        }
        assert_true(isinf(first_time(world)));
        assert_int_equal(cal_test_report(world).fusions, 0);
        cal_world_destroy(world);
    }
    cal_model_destroy(model);
}

static void a_thin_capsule_at_2_km_per_second_meets_a_thin_wall(void** state) {
    (void)state;
    for (int loop = 0; loop < LOOPS; loop++) {
        cal_world_def def = weightless(loops[loop]);
        cal_world* world = cal_test_world(&def);
        add_wall(world, CAL_BOX, 0.0, 0.0, (const double[]){5e-5, 0.5, 0.5});
        cal_world_body_def body = cal_default_world_body_def();
        body.position[0] = -1.0;
        body.velocity[0] = 2000.0;
        const cal_body_id id = cal_test_add(world, &body, CAL_CAPSULE, 2e-4, 1e-3, 0.0);
        cal_test_advance(world, 1e-3);
        double x[3];
        assert_int_equal(cal_world_get_body(world, id, x, NULL, NULL, NULL), CAL_OK);
        assert_true(x[0] < 0.0);
        cal_test_expect_near(first_time(world), (1.0 - 2.5e-4) / 2000.0, 1e-12, "first impact of a bullet");
        cal_world_destroy(world);
    }
}

// --- Random throws --------------------------------------------------------------------------------------------------------------

static uint64_t seed;
static double between(double low, double high) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (double)(seed >> 11) * 0x1p-53;
}
static double decades(double low, double high) { return pow(10.0, between(low, high)); }

enum { POINTS = 12 };

// A body thrown down at a wall whose upper face is z = 0; T is about the time that it needs.
typedef struct toss {
    cal_shape_def shape;
    double vertices[3 * POINTS];
    cal_world_body_def body;
    double gravity, thickness, size, time;
} toss;

static toss random_toss(cal_shape_kind kind) {
    toss t = {.shape = cal_default_shape_def(), .body = cal_default_world_body_def()};
    t.size = decades(-2.0, 0.5);
    t.thickness = decades(-3.0, 0.0);
    t.gravity = decades(-3.0, 5.0);
    const double speed = decades(-3.0, 5.0), above = t.size * between(2.0, 6.0);
    t.shape.kind = kind;
    for (int i = 0; i < 3; i++) t.shape.size[i] = t.size * between(0.1, 0.5);
    for (int i = 0; i < POINTS; i++) {
        double* p = t.vertices + 3 * i;
        double square = 0.0;
        for (int k = 0; k < 3; k++) p[k] = between(-1.0, 1.0), square += p[k] * p[k];
        for (int k = 0; k < 3; k++) p[k] *= t.shape.size[k] / sqrt(square);
    }
    t.time = 2.0 * above / (speed + sqrt(speed * speed + 2.0 * t.gravity * above));
    t.body.position[2] = above;
    for (int i = 0; i < 2; i++) t.body.velocity[i] = between(-0.5, 0.5) * speed;
    t.body.velocity[2] = -speed;
    const double spin = decades(-2.0, 1.5) / t.time;
    for (int i = 0; i < 3; i++) t.body.angular_velocity[i] = between(-1.0, 1.0) * spin;
    for (int i = 0; i < 4; i++) t.body.quaternion[i] = between(-1.0, 1.0);
    return t;
}

static cal_mesh_def mesh_of(const toss* t) {
    cal_mesh_def mesh = cal_default_mesh_def();
    mesh.vertices = t->vertices;
    mesh.vertex_count = POINTS;
    return mesh;
}

static double wall_half(const toss* t) { return 200.0 * t->size; }

static cal_world* toss_world(const toss* t, cal_world_loop loop, bool wall, cal_body_id* out) {
    cal_world_def def = weightless(loop);
    def.gravity[2] = -t->gravity;
    def.group_rate = 20.0 / t->time;
    def.step = t->time / 13.0;
    cal_world* world = cal_test_world(&def);
    cal_error error = {CAL_OK, ""};
    const cal_mesh_def mesh = mesh_of(t);
    assert_int_equal(cal_world_add_body(world, &t->body, out, &error), CAL_OK);
    if (cal_world_add_shape(world, *out, &t->shape, t->shape.kind == CAL_MESH ? &mesh : NULL, &error) != CAL_OK)
        fail_msg("%s", error.text);
    if (!wall) return world;
    cal_world_body_def fixed = cal_default_world_body_def();
    fixed.motion = CAL_FIXED;
    fixed.position[2] = -0.5 * t->thickness;
    cal_test_add(world, &fixed, CAL_BOX, wall_half(t), wall_half(t), 0.5 * t->thickness);
    return world;
}

typedef struct sampler {
    cal_geometry *body, *wall;
    cal_pose wall_pose;
} sampler;

static double distance_at(const sampler* s, cal_world* world, cal_body_id id) {
    double x[3], q[4];
    assert_int_equal(cal_world_get_body(world, id, x, q, NULL, NULL), CAL_OK);
    const cal_pose pose = cal_pose_make(x, q);
    cal_separation gap;
    cal_distance(s->body, &pose, s->wall, &s->wall_pose, NULL, &gap);
    return gap.distance;
}

// The first of many times in (from, to] at which they overlap, in the world without a wall; low: the time before it.
static double first_overlap(const sampler* s, const toss* t, double from, double to, int samples, double* low) {
    cal_body_id id;
    cal_world* world = toss_world(t, CAL_TIMEWARP, false, &id);
    double found = INFINITY;
    *low = from;
    for (int i = 1; i <= samples; i++) {
        const double time = from + (to - from) * i / samples;
        cal_test_advance(world, time);
        if (distance_at(s, world, id) <= 0.0) {
            found = time;
            break;
        }
        *low = time;
    }
    cal_world_destroy(world);
    return found;
}

static double exhaustive_hit(const toss* t, double horizon) {
    const cal_mesh_def mesh = mesh_of(t);
    cal_piece_def piece = cal_default_piece_def();
    piece.kind = t->shape.kind;
    memcpy(piece.size, t->shape.size, sizeof piece.size);
    piece.vertices = mesh.vertices, piece.vertex_count = mesh.vertex_count;
    sampler s = {.body = cal_test_geometry(&piece, 1),
                 .wall = cal_test_shape(CAL_BOX, wall_half(t), wall_half(t), 0.5 * t->thickness),
                 .wall_pose = {.position = {0.0, 0.0, -0.5 * t->thickness}, .rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}}};
    double low = 0.0, high = first_overlap(&s, t, 0.0, horizon, 3000, &low);
    for (int level = 0; level < 8 && isfinite(high); level++) high = first_overlap(&s, t, low, high, 32, &low);
    cal_geometry_destroy(s.body);
    cal_geometry_destroy(s.wall);
    return high;
}

static const cal_shape_kind kinds[] = {CAL_SPHERE, CAL_CAPSULE, CAL_ELLIPSOID, CAL_CYLINDER, CAL_BOX, CAL_MESH};
enum { KINDS = 6, THROWS = CAL_TEST_SANITIZED ? 5 : 25, ENCOUNTERS = CAL_TEST_SANITIZED ? 1 : 3 };

static void every_shape_at_every_speed_meets_every_wall(void** state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < THROWS; i++) {
            seed = (uint64_t)(1000 * kind + i);
            const toss t = random_toss(kinds[kind]);
            const double wanted = exhaustive_hit(&t, 1.5 * t.time);
            assert_true(isfinite(wanted));
            for (int loop = 0; loop < LOOPS; loop++) {
                cal_body_id id;
                cal_world* world = toss_world(&t, loops[loop], true, &id);
                cal_test_advance(world, 1.5 * t.time);
                double x[3];
                assert_int_equal(cal_world_get_body(world, id, x, NULL, NULL, NULL), CAL_OK);
                const double found = first_time(world);
                if (!(x[2] > 0.0) || !(fabs(found - wanted) < 1e-9 * t.time))
                    fail_msg("%s %d, loop %d: z = %g m at the end; first impact at %.15g s, by sampling %.15g s, of %g",
                             cal_shape_kind_name(kinds[kind]), i, loop, x[2], found, wanted, t.time);
                cal_world_destroy(world);
            }
        }
}

// --- Two bodies -----------------------------------------------------------------------------------------------------------------

// Two tosses towards each other under one gravity, which may miss; no walls.
typedef struct encounter {
    toss part[2];
} encounter;

static encounter random_encounter(cal_shape_kind a, cal_shape_kind b) {
    encounter e = {{random_toss(a), random_toss(b)}};
    toss *p = &e.part[0], *q = &e.part[1];
    const double ratio = p->size / q->size;
    for (int i = 0; i < 3; i++) q->shape.size[i] *= ratio; // about as large
    for (int i = 0; i < 3 * POINTS; i++) q->vertices[i] *= ratio;
    const double speed = decades(-3.0, 4.0), apart = 3.0 * p->size;
    p->time = q->time = apart / speed;
    for (int k = 0; k < 2; k++) {
        toss* t = &e.part[k];
        const double spin = decades(-2.0, 1.5) / t->time;
        for (int i = 0; i < 3; i++) {
            t->body.position[i] = i == 2 ? (k == 0 ? 0.0 : apart) : 0.4 * p->size * between(-0.5, 0.5);
            t->body.velocity[i] = speed * (i == 2 ? (k == 0 ? 0.6 : -0.4) : between(-0.05, 0.05));
            t->body.angular_velocity[i] = spin * between(-1.0, 1.0);
        }
    }
    return e;
}

static cal_world* encounter_world(const encounter* e, cal_world_loop loop, bool meet, cal_body_id ids[2]) {
    const toss* t = &e->part[0];
    cal_world_def def = weightless(loop);
    def.gravity[2] = -fmin(t->gravity, 10.0 * t->size / (t->time * t->time));
    def.group_rate = 20.0 / t->time;
    def.step = t->time / 13.0;
    cal_world* world = cal_test_world(&def);
    cal_error error = {CAL_OK, ""};
    for (int k = 0; k < 2; k++) {
        const cal_mesh_def mesh = mesh_of(&e->part[k]);
        const cal_shape_def* shape = &e->part[k].shape;
        assert_int_equal(cal_world_add_body(world, &e->part[k].body, &ids[k], &error), CAL_OK);
        if (cal_world_add_shape(world, ids[k], shape, shape->kind == CAL_MESH ? &mesh : NULL, &error) != CAL_OK)
            fail_msg("%s", error.text);
    }
    if (!meet) assert_int_equal(cal_world_ignore_pair(world, ids[0], ids[1]), CAL_OK);
    return world;
}

static cal_geometry* geometry_of(const toss* t) {
    cal_piece_def piece = cal_default_piece_def();
    piece.kind = t->shape.kind;
    memcpy(piece.size, t->shape.size, sizeof piece.size);
    piece.vertices = t->vertices, piece.vertex_count = POINTS;
    return cal_test_geometry(&piece, 1);
}

// As first_overlap; least: the least distance that was seen.
static double first_meeting(const encounter* e, cal_geometry* const shapes[2], double from, double to, int samples,
                            double* low, double* least) {
    cal_body_id ids[2];
    cal_world* world = encounter_world(e, CAL_TIMEWARP, false, ids);
    double found = INFINITY;
    *low = from;
    for (int i = 1; i <= samples && isinf(found); i++) {
        const double time = from + (to - from) * i / samples;
        cal_test_advance(world, time);
        cal_pose poses[2];
        for (int k = 0; k < 2; k++) {
            double x[3], q[4];
            assert_int_equal(cal_world_get_body(world, ids[k], x, q, NULL, NULL), CAL_OK);
            poses[k] = cal_pose_make(x, q);
        }
        cal_separation gap;
        cal_distance(shapes[0], &poses[0], shapes[1], &poses[1], NULL, &gap);
        *least = fmin(*least, gap.distance);
        if (gap.distance <= 0.0)
            found = time;
        else
            *low = time;
    }
    cal_world_destroy(world);
    return found;
}

static void any_two_shapes_meet_when_they_first_touch(void** state) {
    (void)state;
    int hits = 0;
    for (int pair = 0; pair < ENCOUNTERS * KINDS * KINDS; pair++) {
        seed = (uint64_t)(50000 + pair);
        const encounter e = random_encounter(kinds[pair % KINDS], kinds[pair / KINDS % KINDS]);
        const double span = 1.5 * e.part[0].time;
        cal_geometry* const shapes[2] = {geometry_of(&e.part[0]), geometry_of(&e.part[1])};
        double low, least = INFINITY, unused = INFINITY,
                    wanted = first_meeting(&e, shapes, 0.0, span, 2000, &low, &least);
        for (int level = 0; level < 8 && isfinite(wanted); level++)
            wanted = first_meeting(&e, shapes, low, wanted, 32, &low, &unused);
        hits += isfinite(wanted);
        for (int loop = 0; loop < LOOPS; loop++) {
            cal_body_id ids[2];
            cal_world* world = encounter_world(&e, loops[loop], true, ids);
            cal_test_advance(world, isfinite(wanted) ? fmin(1.001 * wanted, span) : span);
            const double found = first_time(world);
            double near = INFINITY;
            if (found < wanted - 1e-9 * span) // between two samples: they must touch there, to rounding
                first_meeting(&e, shapes, found, found * (1.0 + 1e-15), 1, &low, &near);
            if (!(fabs(found - wanted) < 1e-9 * span) && !(isinf(found) && isinf(wanted)) &&
                !(near < 1e-10 * e.part[0].size))
                fail_msg("encounter %d (%s, %s), loop %d: first impact at %.15g s, by sampling %.15g s, of %g", pair,
                         cal_shape_kind_name(e.part[0].shape.kind), cal_shape_kind_name(e.part[1].shape.kind), loop,
                         found, wanted, span);
            cal_world_destroy(world);
        }
        for (int k = 0; k < 2; k++) cal_geometry_destroy(shapes[k]);
    }
    assert_true(hits > ENCOUNTERS * KINDS * KINDS / 4);
}

// --- Molecules ------------------------------------------------------------------------------------------------------------------

enum { MOLECULES = 2, MOST_BALLS = 4, TRIALS = 150, SAMPLES = 3000 };

// Balls about the origin: centres and radii.
typedef struct molecule {
    double balls[MOST_BALLS][4];
    int count;
    cal_world_body_def def;
} molecule;

// Two that fly towards each other, and miss now and then; the second one is a single ball or does not move in some.
static void make_molecules(molecule m[MOLECULES], double size, double speed) {
    for (int k = 0; k < MOLECULES; k++) {
        m[k].count = 1 + (int)between(k == 0 ? 1.0 : 0.0, (double)MOST_BALLS);
        m[k].def = cal_default_world_body_def();
        for (int i = 0; i < m[k].count; i++) {
            for (int d = 0; d < 3; d++) m[k].balls[i][d] = size * between(-1.0, 1.0);
            m[k].balls[i][3] = size * between(0.2, 0.7);
        }
        for (int d = 0; d < 3; d++) {
            m[k].def.position[d] = d == 0 ? (k == 0 ? -3.0 : 3.0) * size : between(-1.0, 1.0) * size;
            m[k].def.velocity[d] = speed * (d == 0 ? (k == 0 ? 1.0 : between(-0.5, 0.0)) : between(-0.3, 0.3));
            m[k].def.angular_velocity[d] = between(-3.0, 3.0) * speed / size;
        }
    }
}

static cal_world* world_of_molecules(const molecule m[MOLECULES], cal_world_loop loop, bool touch,
                                     cal_body_id ids[MOLECULES]) {
    cal_world_def def = weightless(loop);
    def.restitution = 1.0;
    def.group_rate = 100.0 * m[0].def.velocity[0] / m[0].balls[0][3];
    cal_world* world = cal_test_world(&def);
    for (int k = 0; k < MOLECULES; k++) {
        cal_error error = {CAL_OK, ""};
        assert_int_equal(cal_world_add_body(world, &m[k].def, &ids[k], &error), CAL_OK);
        for (int i = 0; i < m[k].count; i++) {
            cal_shape_def ball = cal_default_shape_def();
            memcpy(ball.position, m[k].balls[i], sizeof ball.position);
            ball.size[0] = m[k].balls[i][3];
            if (!touch) ball.mask = 0;
            assert_int_equal(cal_world_add_shape(world, ids[k], &ball, NULL, &error), CAL_OK);
        }
    }
    return world;
}

// The least gap between balls of the two where they are.
static double gap_of(cal_world* world, const molecule m[MOLECULES], const cal_body_id ids[MOLECULES]) {
    double centers[MOLECULES][MOST_BALLS][3], least = INFINITY;
    for (int k = 0; k < MOLECULES; k++) {
        double position[3], quaternion[4];
        assert_int_equal(cal_world_get_body(world, ids[k], position, quaternion, NULL, NULL), CAL_OK);
        const cal_pose pose = cal_pose_make(position, quaternion);
        for (int i = 0; i < m[k].count; i++) {
            cal_rotate3(pose.rotation, m[k].balls[i], centers[k][i]);
            for (int d = 0; d < 3; d++) centers[k][i][d] += position[d];
        }
    }
    for (int i = 0; i < m[0].count; i++)
        for (int j = 0; j < m[1].count; j++) {
            double away[3];
            for (int d = 0; d < 3; d++) away[d] = centers[0][i][d] - centers[1][j][d];
            least = fmin(least, sqrt(cal_dot3(away, away)) - m[0].balls[i][3] - m[1].balls[j][3]);
        }
    return least;
}

// Against where they are without each other: apart until they meet, touching then, and apart all the time where they do not meet.
static void molecules_meet_when_balls_of_theirs_first_touch(void** state) {
    (void)state;
    int hits = 0;
    for (int trial = 0; trial < (CAL_TEST_SANITIZED ? TRIALS / 10 : TRIALS); trial++) {
        molecule m[MOLECULES];
        cal_body_id ids[MOLECULES];
        seed = (uint64_t)(901 + trial);
        const double size = pow(10.0, between(-3.0, 2.0)), speed = size * pow(10.0, between(-2.0, 3.0));
        const double span = 8.0 * size / speed;
        make_molecules(m, size, speed);
        double met = INFINITY;
        for (int loop = 0; loop < LOOPS; loop++) {
            cal_world* world = world_of_molecules(m, loops[loop], true, ids);
            cal_test_advance(world, span);
            const double time = first_time(world);
            if (loop == 0)
                met = time;
            else if (time != met && !(fabs(time - met) < 1e-9 * span))
                fail_msg("trial %d: loop %d meets at %.17g s, the first at %.17g s", trial, loop, time, met);
            cal_world_destroy(world);
        }
        cal_world* alone = world_of_molecules(m, CAL_TIMEWARP, false, ids);
        for (int i = 0; i < SAMPLES; i++) {
            const double time = span * i / SAMPLES;
            if (time >= met) break;
            cal_test_advance(alone, time);
            const double gap = gap_of(alone, m, ids);
            if (!(gap > -1e-9 * size))
                fail_msg("trial %d: a gap of %g sizes at %.17g s, met at %.17g s", trial, gap / size, time, met);
        }
        if (met < INFINITY) {
            cal_test_advance(alone, met);
            cal_test_expect_below(fabs(gap_of(alone, m, ids)) / size, 1e-9, "the gap where they meet", "in sizes");
            hits++;
        }
        cal_world_destroy(alone);
    }
    assert_true(hits > TRIALS / (CAL_TEST_SANITIZED ? 30 : 3));
}

// --- Units ----------------------------------------------------------------------------------------------------------------------

// Bodies of all kinds that meet each other and a floor, in units of length that are `scale` metres to the metre.
static int events_of(double scale, double times[], int capacity) {
    cal_world_def def = cal_default_world_def();
    def.gravity[2] = -9.8125 * scale;
    cal_world* world = cal_test_world(&def);
    cal_test_add_floor(world);
    for (int i = 0; i < 2 * KINDS; i++) {
        seed = (uint64_t)(77 + i);
        cal_world_body_def body = cal_default_world_body_def();
        for (int k = 0; k < 3; k++) {
            body.position[k] = scale * (k == 2 ? 1.0 + 0.75 * i : 0.125 * (i % 3));
            body.velocity[k] = scale * between(-0.5, 0.5);
            body.angular_velocity[k] = between(-5.0, 5.0);
        }
        const cal_shape_kind kind = kinds[i % (KINDS - 1)]; // all but meshes
        cal_test_add(world, &body, kind, 0.25 * scale, 0.1875 * scale, 0.125 * scale);
    }
    cal_test_advance(world, 0.75);
    int count = 0;
    cal_world_event event;
    while (count < capacity && cal_world_next_event(world, &event)) times[count++] = event.time;
    cal_world_destroy(world);
    return count;
}

static void a_scene_in_other_units_has_the_same_history(void** state) {
    (void)state;
    enum { MOST = 1000 };
    static double times[MOST], other[MOST];
    static const double scales[] = {1024.0, 1.0 / 1024.0, 1000.0, 1e-3};
    const int count = events_of(1.0, times, MOST);
    assert_true(count > 5);
    for (int i = 0; i < 4; i++) {
        const int found = events_of(scales[i], other, MOST);
        const bool exact = i < 2; // powers of two change exponents only
        if (found != count) fail_msg("scale %g: %d events, %d in metres", scales[i], found, count);
        for (int k = 0; k < count; k++)
            if (exact ? other[k] != times[k] : !(fabs(other[k] - times[k]) < 1e-7))
                fail_msg("scale %g: event %d of %d is at %.17g s, in metres %.17g s", scales[i], k, count, other[k],
                         times[k]);
    }
}

// A fall along a wall that is touched comes no nearer to it: it is looked at a few times, whatever the acceleration, and the fall is free.
static void a_fall_along_a_wall_costs_a_few_looks(void** state) {
    (void)state;
    static const cal_shape_kind falling[] = {CAL_SPHERE, CAL_CAPSULE, CAL_BOX};
    for (int loop = 0; loop < LOOPS; loop++)
        for (int kind = 0; kind < 3; kind++) {
            cal_world_def world_def = weightless(loops[loop]);
            world_def.gravity[2] = -1e4;
            cal_world* world = cal_test_world(&world_def);
            add_wall(world, CAL_BOX, -1.0, 0.0, (const double[]){1.0, 1.0, 1e5});
            cal_world_body_def def = cal_default_world_body_def();
            def.name = "falls";
            def.position[0] = 0.125;
            const cal_body_id body = cal_test_add(world, &def, falling[kind], 0.125, 0.125, 0.125);
            cal_test_advance(world, 1.0);
            const cal_world_report report = cal_test_report(world);
            double at[3];
            assert_int_equal(cal_world_get_body(world, body, at, NULL, NULL, NULL), CAL_OK);
            cal_test_expect_below(fabs(at[2] / 5e3 + 1.0), 1e-12, "the fall", "along a wall");
            assert_true(at[0] == 0.125);
            assert_int_equal(report.collisions, 0);
            if (report.checks > 20000) fail_msg("%lld looks", (long long)report.checks);
            cal_world_destroy(world);
        }
}

// Two boxes fall side by side, at speeds that differ by a rounding: they would part in three million years, and a search that looked so far ahead ended the
// run with a line.
static void what_falls_side_by_side_falls_on(void** unused) {
    (void)unused;
    cal_world_def def = cal_default_world_def();
    cal_world* world = cal_test_world(&def);
    for (int i = 0; i < 2; i++) {
        cal_world_body_def body = cal_default_world_body_def();
        body.position[0] = 0.21 * i;
        body.velocity[0] = 1e-15 * i;
        cal_test_add(world, &body, CAL_BOX, 0.1, 0.1, 0.1);
    }
    cal_test_advance(world, 10.0);
    for (int i = 0; i < 2; i++) {
        double position[3];
        assert_int_equal(cal_world_get_body(world, cal_world_body(world, i), position, NULL, NULL, NULL), CAL_OK);
        cal_test_expect_near(position[0], 0.21 * i, 1e-12, "place of a box");
        cal_test_expect_near(position[2], 0.5 * def.gravity[2] * 100.0, 1e-9, "height of a box");
    }
    const cal_world_report report = cal_test_report(world);
    assert_int_equal(report.collisions, 0);
    assert_in_range(report.checks, 1, 1000);
    cal_world_destroy(world);
}

// An arm of 30 g whose motor gives up to 4 kN m hits a post: the first step that its contact group tries, as long as on the earth, leads to angles
// of 10¹⁹, where masses are no numbers, and is taken again, shorter. It ended with "no inertia along one of its motions", for eight of ten forces.
static void strong_motors_do_not_end_a_run(void** state) {
    (void)state;
    static const char text[] =
        "<mujoco><option gravity='0 0 0'/><custom><numeric name='friction' data='.5'/></custom><worldbody>"
        "<geom type='box' size='.006805 .006805 .03429' pos='.03667 .06426 0' euler='0 0 10.45'/>"
        "<body><joint name='a' type='hinge' axis='0 0 1'/><geom type='capsule' size='.002' fromto='0 0 0 .1714 0 0' "
        "mass='.0294'/>"
        "<body pos='.1714 0 0'><joint type='hinge' axis='0 0 1' damping='8.6e-6'/>"
        "<geom type='capsule' size='.002' fromto='0 0 0 .0857 0 0' mass='.0088'/></body></body></worldbody>"
        "<actuator><motor joint='a' gear='4000'/></actuator></mujoco>";
    cal_error error;
    cal_model* model = NULL;
    if (cal_model_read_memory(text, strlen(text), "arm.xml", NULL, &model, NULL, &error) != CAL_OK)
        fail_msg("%s", error.text);
    for (int i = 1; i <= 10; i++) {
        const double control = -0.1 * i;
        const cal_sim_def def = cal_default_sim_def();
        cal_sim* sim = NULL;
        if (cal_sim_create(model, &def, &sim, &error) != CAL_OK ||
            cal_sim_drive(sim, NULL, &control, &error) != CAL_OK || cal_sim_advance(sim, 0.006, &error) != CAL_OK)
            fail_msg("%g: %s", control, error.text);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_falls_side_by_side_falls_on),
                                       cmocka_unit_test(a_fall_along_a_wall_costs_a_few_looks),
                                       cmocka_unit_test(a_bead_on_a_slider_is_stopped_by_a_wall),
                                       cmocka_unit_test(a_driven_arm_is_stopped_by_a_post),
                                       cmocka_unit_test(an_arm_whirls_past_a_post),
                                       cmocka_unit_test(a_thin_capsule_at_2_km_per_second_meets_a_thin_wall),
                                       cmocka_unit_test(every_shape_at_every_speed_meets_every_wall),
                                       cmocka_unit_test(any_two_shapes_meet_when_they_first_touch),
                                       cmocka_unit_test(molecules_meet_when_balls_of_theirs_first_touch),
                                       cmocka_unit_test(a_scene_in_other_units_has_the_same_history),
                                       cmocka_unit_test(strong_motors_do_not_end_a_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
