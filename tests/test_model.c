// Models: what the builder refuses and why, the tree that it makes, and that it survives size and lack of memory.
#include "base/memory.h"
#include "model/model.h"
#include "model/symmetric.h"
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- Refusals --------------------------------------------------------------------------------------------------------

enum { MOST = 8 };

// Definitions that make a valid model of two hinged links, until a test spoils them.
typedef struct scene {
    cal_body_def bodies[MOST];
    cal_joint_def joints[MOST];
    int joint_bodies[MOST];
    cal_actuator_def actuator;
    double gravity[3];
    int body_count, joint_count;
} scene;

static scene make_scene(void) {
    scene s = {.body_count = 2, .joint_count = 2, .gravity = {0.0, 0.0, -9.81}};
    for (int i = 0; i < MOST; i++) {
        s.bodies[i] = cal_default_body_def();
        s.bodies[i].parent = i > 0 ? i - 1 : CAL_GROUND;
        s.bodies[i].position[0] = 1.0;
        s.bodies[i].mass = 1.0;
        s.bodies[i].center[0] = 0.5;
        for (int k = 0; k < 3; k++) s.bodies[i].inertia[k] = 0.1;
        s.joints[i] = cal_default_joint_def();
        s.joint_bodies[i] = i;
    }
    s.actuator = cal_default_actuator_def();
    s.actuator.joint = 1;
    return s;
}

static cal_status finish_scene(const scene* s, cal_model** model, cal_error* error) {
    cal_builder* builder = NULL;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, s->gravity);
    for (int i = 0; i < s->body_count; i++) cal_builder_add_body(builder, &s->bodies[i]);
    for (int i = 0; i < s->joint_count; i++) cal_builder_add_joint(builder, s->joint_bodies[i], &s->joints[i]);
    cal_builder_add_actuator(builder, &s->actuator);
    const cal_status status = cal_builder_finish(builder, model, error);
    cal_builder_destroy(builder);
    return status;
}

static cal_model* accept(const scene* s) {
    cal_model* model = NULL;
    cal_error error = {0};
    if (finish_scene(s, &model, &error) != CAL_OK) fail_msg("refused: %s", error.text);
    return model;
}

static void refuse(const scene* s, const char* where, const char* why) {
    cal_model* model = NULL;
    cal_error error = {0};
    const int64_t live = cal_live_allocations();
    const cal_status status = finish_scene(s, &model, &error);
    if (status == CAL_OK) fail_msg("accepted, but expected: %s", why);
    assert_null(model);
    assert_int_equal(error.status, status);
    if (strstr(error.text, where) == NULL || strstr(error.text, why) == NULL)
        fail_msg("\"%s\" does not say \"%s\" and \"%s\"", error.text, where, why);
    assert_int_equal(cal_live_allocations(), live);
}

// One spoiled number each: what is done to a valid scene, who the error must name, and what it must say.
#define SPOILED(X)                                                                                                     \
    X(s->bodies[0].parent = 1, "body", "hangs from itself")                                                            \
    X(s->bodies[1].parent = 1, "body 1", "hangs from itself")                                                          \
    X(s->bodies[1].parent = 2, "body 1", "parent is body 2")                                                           \
    X(s->bodies[1].parent = -7, "body 1", "parent is body -7")                                                         \
    X(s->joint_bodies[1] = 2, "joint 1", "on body 2")                                                                  \
    X(s->joint_bodies[1] = CAL_NONE, "joint 1", "on body -2")                                                          \
    X(s->joint_count = 0, "actuator", "drives joint")                                                                  \
    X(s->joints[1].axis[2] = 0.0, "joint 1", "axis is zero")                                                           \
    X(s->joints[1].axis[1] = NAN, "joint 1", "axis is not finite")                                                     \
    X(s->joints[0].anchor[0] = INFINITY, "joint 0", "not finite")                                                      \
    X(s->joints[0].damping = -1.0, "joint 0", "damping is -1")                                                         \
    X(s->joints[0].stiffness = NAN, "joint 0", "stiffness")                                                            \
    X(s->joints[0].armature = -1.0, "joint 0", "armature is -1")                                                       \
    X(s->joints[0].initial_v[0] = NAN, "joint 0", "start velocity")                                                    \
    X(s->joints[0].kind = (cal_joint_kind)9, "joint 0", "kind is 9")                                                   \
    X((s->joints[0].limited = true, s->joints[0].range[0] = 1.0), "joint 0", "range is 1 to 0")                        \
    X((s->joints[0].kind = CAL_BALL, s->joints[0].limited = true), "joint 0", "ball joint cannot be limited")          \
    X((s->joints[0].kind = CAL_FREE, s->joints[0].limited = true), "joint 0", "free joint cannot be limited")          \
    X((s->joints[0].kind = CAL_BALL, s->joints[0].zero = 1.0), "joint 0", "no zero")                                   \
    X((s->joints[0].kind = CAL_BALL, s->joints[0].spring_reference = 1.0), "joint 0", "no spring_reference")           \
    X((s->joints[0].kind = CAL_FREE, s->joints[0].stiffness = 1.0), "joint 0", "no spring")                            \
    X((s->joints[0].kind = CAL_FREE, s->joints[0].anchor[1] = 1.0), "joint 0", "no anchor")                            \
    X((s->actuator.joint = 0, s->joints[1].kind = CAL_FREE), "body 1", "free joint but hangs from body 0")             \
    X((s->joints[0].kind = CAL_FREE, s->joint_bodies[1] = 0), "body 0", "must be alone")                               \
    X(s->bodies[0].position[1] = NAN, "body 0", "position is not finite")                                              \
    X(s->bodies[0].quaternion[0] = 0.0, "body 0", "quaternion is zero")                                                \
    X(s->bodies[0].quaternion[3] = INFINITY, "body 0", "quaternion is not finite")                                     \
    X(s->bodies[0].mass = -1.0, "body 0", "mass is -1")                                                                \
    X(s->bodies[0].mass = INFINITY, "body 0", "mass is not finite")                                                    \
    X(s->bodies[0].center[2] = NAN, "body 0", "centre of mass is not finite")                                          \
    X(s->bodies[0].inertia[4] = NAN, "body 0", "inertia is not finite")                                                \
    X(s->bodies[0].inertia[1] = 0.21, "body 0", "triangle inequality")                                                 \
    X(s->bodies[0].inertia[3] = 0.06, "body 0", "triangle inequality")                                                 \
    X(s->bodies[0].inertia[3] = 0.11, "body 0", "negative principal moment")                                           \
    X(s->bodies[0].inertia[2] = -0.1, "body 0", "negative principal moment")                                           \
    X(s->actuator.joint = 2, "actuator 0", "drives joint 2")                                                           \
    X((s->joints[1].kind = CAL_BALL, s->actuator.axis = 3), "actuator 0", "axis is 3")                                 \
    X(s->actuator.gear = NAN, "actuator 0", "not finite")                                                              \
    X(s->actuator.force_range[0] = 1.0, "actuator 0", "reversed")                                                      \
    X(s->gravity[0] = NAN, "gravity", "not finite")                                                                    \
    X((s->bodies[0].name = "arm", s->bodies[1].name = "arm"), "bodies 0 and 1", "\"arm\"")                             \
    X((s->joints[0].name = "elbow", s->joints[1].name = "elbow"), "joints 0 and 1", "\"elbow\"")                       \
    X((s->bodies[1].name = "hand", s->bodies[1].mass = -1.0), "body \"hand\"", "mass is -1")                           \
    X(s->bodies[1].cookie = 0, "body 1", "cal_default_")                                                               \
    X(s->joints[1].cookie = 0, "joint 1", "cal_default_")                                                              \
    X(s->actuator.cookie = 0, "actuator 0", "cal_default_")

static void a_spoiled_definition_is_refused_by_name(void** state) {
    (void)state;
    const scene valid = make_scene();
    cal_model_destroy(accept(&valid));
#define REFUSE(spoil, where, why)                                                                                      \
    {                                                                                                                  \
        scene changed = make_scene(), *s = &changed;                                                                   \
        (void)(spoil);                                                                                                 \
        refuse(s, where, why);                                                                                         \
    }
    SPOILED(REFUSE)
}

static void seven_degrees_of_freedom_on_a_body_are_refused(void** state) {
    (void)state;
    scene s = make_scene();
    s.joint_count = 8;
    for (int i = 1; i < 8; i++) s.joint_bodies[i] = 1;
    refuse(&s, "body 1", "7 degrees of freedom");
}

static void rounded_inertias_of_flat_bodies_are_accepted(void** state) {
    (void)state;
    scene s = make_scene();
    const double plate[3] = {0.0333333, 0.0666666, 0.100000};
    memcpy(s.bodies[0].inertia, plate, sizeof plate);
    cal_model_destroy(accept(&s));
}

// --- Inertia along every motion --------------------------------------------------------------------------------------

static void make_massless(cal_body_def* body) {
    body->mass = 0.0;
    memset(body->inertia, 0, sizeof body->inertia);
}

static void motion_without_inertia_is_refused(void** state) {
    (void)state;
    const char* why = "no inertia along its motion";
    scene s = make_scene();
    make_massless(&s.bodies[1]);
    refuse(&s, "joint 1 of body 1", why);
    s.joints[1].kind = CAL_PRISMATIC;
    refuse(&s, "joint 1 of body 1", why);
    s.joints[1].armature = 1e-3;
    cal_model_destroy(accept(&s));

    // A point mass on the axis of its hinge, in general position.
    s = make_scene();
    memset(s.bodies[1].inertia, 0, sizeof s.bodies[1].inertia);
    const double axis[3] = {0.3, -0.7, 1.1}, anchor[3] = {0.1, 0.2, 0.3};
    for (int k = 0; k < 3; k++) {
        s.joints[1].axis[k] = axis[k];
        s.joints[1].anchor[k] = anchor[k];
        s.bodies[1].center[k] = anchor[k] + 2.0 * axis[k];
    }
    refuse(&s, "joint 1 of body 1", why);

    // The same off the axis is a pendulum; on a ball it can still spin about the line to the centre.
    s.bodies[1].center[0] += 0.5;
    cal_model_destroy(accept(&s));
    s.joints[1].kind = CAL_BALL;
    s.actuator.joint = 0;
    refuse(&s, "joint 1 of body 1", why);

    // A whole subtree without mass.
    s = make_scene();
    s.body_count = s.joint_count = 4;
    make_massless(&s.bodies[2]);
    make_massless(&s.bodies[3]);
    refuse(&s, "joint 3 of body 3", why);

    // Two hinges on one line: on one body, and with a massless body between, directly and with another hinge in
    // between.
    s = make_scene();
    s.joint_count = 3;
    s.joint_bodies[2] = 1;
    refuse(&s, "of body 1", why);
    s = make_scene();
    make_massless(&s.bodies[0]);
    s.bodies[1].position[0] = 0.0;
    refuse(&s, "joint 0 of body 0", why);
    s.body_count = s.joint_count = 3;
    s.bodies[2].position[0] = 0.0;
    make_massless(&s.bodies[1]);
    s.joints[1].axis[0] = 1.0, s.joints[1].axis[2] = 0.0;
    refuse(&s, "joint 0 of body 0", why);
    // Turned away, the first and the last axis differ.
    s.joints[1].initial_q[0] = 1.0;
    cal_model_destroy(accept(&s));
}

static void massless_links_inside_a_tree_are_accepted(void** state) {
    (void)state;
    scene s = make_scene();
    s.body_count = s.joint_count = 4;
    make_massless(&s.bodies[0]);
    make_massless(&s.bodies[2]);
    cal_model_destroy(accept(&s));
    // A gimbal: three hinges on one body.
    s = make_scene();
    s.joint_count = 4;
    for (int i = 1; i < 4; i++) {
        s.joint_bodies[i] = 1;
        for (int k = 0; k < 3; k++) s.joints[i].axis[k] = k == i - 1;
    }
    cal_model_destroy(accept(&s));
    // In gimbal lock the first and the last axis are one.
    s.joints[2].initial_q[0] = asin(1.0);
    refuse(&s, "of body 1", "start elsewhere");
}

static void stops_are_as_stiff_as_what_hangs_below_asks(void** state) {
    (void)state;
    scene s = make_scene();
    s.joints[0].limited = s.joints[1].limited = true;
    s.joints[0].range[1] = s.joints[1].range[1] = 1.0;
    s.joints[0].armature = 0.25;
    s.joints[1].limit_stiffness = 7.0;
    cal_model* model = accept(&s);
    cal_joint_def def;
    cal_model_joint(model, 0, &def, NULL, NULL, NULL);
    const double inertia = (0.1 + 0.25) + (0.1 + 1.5 * 1.5) + 0.25, rate = 20.0 * acos(-1.0);
    assert_true(fabs(def.limit_stiffness / (rate * rate * inertia) - 1.0) < 1e-12);
    cal_model_joint(model, 1, &def, NULL, NULL, NULL);
    assert_true(def.limit_stiffness == 7.0);
    cal_model_destroy(model);
}

// --- The tree --------------------------------------------------------------------------------------------------------

static int height_of(const cal_model* model, int node) {
    int deepest = model->nodes[node].depth;
    for (int i = node; i < model->nodes[node].end; i++)
        if (model->nodes[i].depth > deepest) deepest = model->nodes[i].depth;
    return deepest - model->nodes[node].depth;
}

static void check_walking_order(const cal_model* model, const char* name) {
    (void)name;
    for (int i = 0; i < model->node_count; i++) {
        const cal_node* node = &model->nodes[i];
        assert_true(node->parent < i && node->end > i);
        assert_int_equal(node->depth, node->parent < 0 ? 0 : model->nodes[node->parent].depth + 1);
        if (node->parent >= 0) assert_true(node->end <= model->nodes[node->parent].end);
        // A subtree is the nodes after it that are deeper, up to the first that is not.
        for (int k = i + 1; k < node->end; k++) assert_true(model->nodes[k].depth > node->depth);
        if (node->end == model->node_count) continue;
        const cal_node* next = &model->nodes[node->end];
        assert_true(next->depth <= node->depth);
        if (next->parent != node->parent) continue;
        const int height = height_of(model, i), next_height = height_of(model, node->end);
        assert_true(
            node->kind < next->kind ||
            (node->kind == next->kind && (height > next_height || (height == next_height && node->body < next->body))));
    }
    // A body's joints are the nodes that end with its mount's, in the order in which they were added.
    for (int b = 0; b < model->body_count; b++)
        for (int k = 1; k < model->bodies[b].joint_count; k++) {
            const int node = model->mounts[b].node - k;
            assert_int_equal(model->nodes[node].body, b);
            assert_true(model->nodes[node].joint < model->nodes[node + 1].joint);
        }
}

static void nodes_are_in_walking_order(void** state) {
    (void)state;
    cal_test_on_every_model(check_walking_order);
    for (int seed = 0; seed < 20; seed++) {
        char specification[64];
        snprintf(specification, sizeof specification, "random:n=200,seed=%d", seed);
        cal_model* model = cal_test_model(specification);
        check_walking_order(model, specification);
        cal_model_destroy(model);
    }
}

static void q_and_v_follow_the_bodies_whatever_the_order_of_joints(void** state) {
    (void)state;
    scene s = make_scene();
    s.body_count = 3;
    s.joint_count = 4;
    s.bodies[0].parent = 2; // a parent that is added later
    s.bodies[2].parent = CAL_GROUND;
    const int bodies[4] = {2, 1, 0, 1};
    const cal_joint_kind kinds[4] = {CAL_FREE, CAL_REVOLUTE, CAL_BALL, CAL_PRISMATIC};
    for (int i = 0; i < 4; i++) {
        s.joint_bodies[i] = bodies[i];
        s.joints[i].kind = kinds[i];
    }
    cal_model* model = accept(&s);
    const int first_q[4] = {6, 4, 0, 5}, first_v[4] = {5, 3, 0, 4};
    for (int i = 0; i < 4; i++) {
        int body, q, v;
        cal_model_joint(model, i, NULL, &body, &q, &v);
        assert_int_equal(body, bodies[i]);
        assert_int_equal(q, first_q[i]);
        assert_int_equal(v, first_v[i]);
    }
    assert_int_equal(cal_model_q_count(model), 13);
    assert_int_equal(cal_model_v_count(model), 11);
    assert_int_equal(cal_model_depth(model), 4);
    cal_model_destroy(model);
}

typedef struct pose {
    double r[3], q[4];
} pose;

static pose place(const pose* parent, const double offset[3], const double quaternion[4]) {
    pose out;
    double R[9];
    cal_quaternion_matrix(parent->q, R);
    cal_rotate3(R, offset, out.r);
    for (int i = 0; i < 3; i++) out.r[i] += parent->r[i];
    cal_quaternion_multiply(parent->q, quaternion, out.q);
    return out;
}

// A body's pose straight from the definitions: each joint moves the body's frame about its anchor, one after the other.
static pose pose_by_definition(const cal_model* model, int body, const double* q, const pose* poses) {
    const pose ground = {{0, 0, 0}, {1, 0, 0, 0}};
    cal_body_def def;
    cal_model_body(model, body, &def);
    pose p = place(def.parent == CAL_GROUND ? &ground : &poses[def.parent], def.position, def.quaternion);
    for (int j = 0; j < cal_model_joint_count(model); j++) {
        cal_joint_def joint;
        int owner, first_q;
        cal_model_joint(model, j, &joint, &owner, &first_q, NULL);
        if (owner != body) continue;
        const double *at = q + first_q, one[4] = {1, 0, 0, 0}, here[3] = {0, 0, 0};
        double turn[4] = {1, 0, 0, 0}, slide[3] = {0, 0, 0}, back[3];
        const double moved = at[0] - joint.zero;
        for (int k = 0; k < 3; k++) {
            back[k] = -joint.anchor[k];
            if (joint.kind == CAL_REVOLUTE) turn[k + 1] = sin(0.5 * moved) * joint.axis[k];
            if (joint.kind == CAL_PRISMATIC) slide[k] = moved * joint.axis[k];
        }
        if (joint.kind == CAL_REVOLUTE) turn[0] = cos(0.5 * moved);
        if (joint.kind == CAL_BALL) memcpy(turn, at, sizeof turn);
        if (joint.kind == CAL_FREE) {
            p = place(&ground, at, at + 3);
            continue;
        }
        p = place(&p, slide, one);
        p = place(&p, joint.anchor, one);
        p = place(&p, here, turn);
        p = place(&p, back, one);
    }
    return p;
}

// The same through the nodes, as the passes go.
static void node_frame(const cal_model* model, int node, const double* q, double R[9], double r[3]) {
    const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    memcpy(R, identity, sizeof identity);
    memset(r, 0, 3 * sizeof *r);
    for (int n = node; n >= 0; n = model->nodes[n].parent) {
        const cal_node* at = &model->nodes[n];
        const double* x = q + at->first_q;
        double own[9], turned[9], offset[3], shift[3] = {0, 0, at->kind == CAL_PRISMATIC ? x[0] : 0.0};
        const double about_z[4] = {cos(0.5 * x[0]), 0, 0, sin(0.5 * x[0])}, none[4] = {1, 0, 0, 0};
        if (at->kind == CAL_FREE) memcpy(shift, x, sizeof shift);
        cal_quaternion_matrix(at->kind == CAL_REVOLUTE ? about_z
                              : at->kind == CAL_BALL   ? x
                              : at->kind == CAL_FREE   ? x + 3
                                                       : none,
                              own);
        cal_multiply33(at->rotation, own, turned);
        cal_rotate3(at->rotation, shift, offset);
        double total[9];
        cal_rotate3(turned, r, r);
        for (int i = 0; i < 3; i++) r[i] += at->offset[i] + offset[i];
        cal_multiply33(turned, R, total);
        memcpy(R, total, sizeof total);
    }
}

static void check_frames(const cal_model* model, const char* name) {
    pose* poses = cal_allocate((size_t)model->body_count, sizeof *poses);
    bool* done = cal_allocate((size_t)model->body_count, sizeof *done);
    double* q = cal_test_numbers((size_t)model->q_count);
    cal_model_initial(model, q, NULL, NULL);
    for (int left = model->body_count; left > 0;)
        for (int b = 0; b < model->body_count; b++) {
            const int parent = model->bodies[b].parent;
            if (done[b] || (parent != CAL_GROUND && !done[parent])) continue;
            poses[b] = pose_by_definition(model, b, q, poses);
            done[b] = true;
            left--;
            double R[9], r[3], expected[9], total[9], origin[3];
            node_frame(model, model->mounts[b].node, q, R, r);
            cal_rotate3(R, model->mounts[b].offset, origin);
            for (int i = 0; i < 3; i++) origin[i] += r[i];
            cal_multiply33(R, model->mounts[b].rotation, total);
            cal_quaternion_matrix(poses[b].q, expected);
            cal_test_expect_below(cal_test_largest_difference(origin, poses[b].r, 3), 1e-12, "origin", name);
            cal_test_expect_below(cal_test_largest_difference(total, expected, 9), 1e-12, "axes", name);
        }
    free(q);
    cal_free(done);
    cal_free(poses);
}

static void nodes_place_bodies_where_their_definitions_say(void** state) {
    (void)state;
    cal_test_on_every_model(check_frames);
}

static void a_free_joint_starts_where_its_body_is_defined(void** state) {
    (void)state;
    scene s = make_scene();
    const double position[3] = {1.0, 2.0, 3.0}, quarter[4] = {3.0, 0.0, 0.0, 3.0};
    memcpy(s.bodies[0].position, position, sizeof position);
    memcpy(s.bodies[0].quaternion, quarter, sizeof quarter);
    s.joints[0].kind = CAL_FREE;
    s.joints[0].initial_q[0] = 5.0; // along the body's x, which is the world's y
    cal_model* model = accept(&s);
    double q[8];
    cal_model_initial(model, q, NULL, NULL);
    const double expected[7] = {1.0, 7.0, 3.0, sqrt(0.5), 0.0, 0.0, sqrt(0.5)};
    cal_test_expect_below(cal_test_largest_difference(q, expected, 7), 1e-15, "start", "free");
    cal_model_destroy(model);
}

// Mass, moment and second moments of the whole model about the world's origin.
static void sum_nodes(const cal_model* model, double sums[10]) {
    const size_t *rows = cal_symmetric_row, *columns = cal_symmetric_column;
    memset(sums, 0, 10 * sizeof *sums);
    for (int n = 0; n < model->node_count; n++) {
        const cal_node* node = &model->nodes[n];
        double R[9], r[3], h[3];
        node_frame(model, n, model->initial_q, R, r);
        cal_rotate3(R, node->moment, h);
        const double* s = node->second_moment;
        const double sigma[9] = {s[0], s[3], s[4], s[3], s[1], s[5], s[4], s[5], s[2]};
        double turned[9];
        cal_multiply33(R, sigma, turned);
        sums[0] += node->mass;
        for (int i = 0; i < 3; i++) sums[1 + i] += h[i] + node->mass * r[i];
        for (int i = 0; i < 6; i++)
            sums[4 + i] += cal_dot3(&turned[3 * rows[i]], &R[3 * columns[i]]) + h[rows[i]] * r[columns[i]] +
                           r[rows[i]] * h[columns[i]] + node->mass * r[rows[i]] * r[columns[i]];
    }
}

static void fixed_bodies_become_part_of_what_carries_them(void** state) {
    (void)state;
    // Four bodies of which two are fixed, and the same with the fixed ones hinged: at the start the masses are in one
    // place.
    scene s = make_scene();
    s.body_count = s.joint_count = 4;
    for (int i = 0; i < 4; i++) {
        s.bodies[i].quaternion[1] = 0.3 * (i + 1);
        s.bodies[i].center[1] = 0.1 * i;
        s.bodies[i].inertia[3] = 0.01;
    }
    cal_model* hinged = accept(&s);
    s.joint_count = 2;
    s.joint_bodies[1] = 2;
    cal_model* merged = accept(&s);
    double expected[10], found[10];
    sum_nodes(hinged, expected);
    sum_nodes(merged, found);
    assert_int_equal(merged->node_count, 2);
    cal_test_expect_below(cal_test_largest_difference(expected, found, 10), 1e-12, "masses", "merged");
    assert_true(cal_model_mass(merged) == 4.0);
    cal_model_destroy(hinged);
    cal_model_destroy(merged);
    // A body that is fixed to the ground does not move, and does not count.
    s.joint_bodies[0] = 1;
    cal_model* anchored = accept(&s);
    assert_true(cal_model_mass(anchored) == 3.0);
    assert_int_equal(anchored->mounts[0].node, -1);
    cal_model_destroy(anchored);
}

// --- Names -----------------------------------------------------------------------------------------------------------

static void bodies_and_joints_are_found_by_name_or_number(void** state) {
    (void)state;
    scene s = make_scene();
    s.bodies[1].name = "arm";
    s.joints[0].name = "shoulder";
    cal_model* model = accept(&s);
    char text[32];
    assert_string_equal(cal_model_body_name(model, 1, text, sizeof text), "arm");
    assert_string_equal(cal_model_body_name(model, 0, text, sizeof text), "body0");
    assert_string_equal(cal_model_joint_name(model, 1, text, sizeof text), "joint1");
    assert_int_equal(cal_model_find_body(model, "arm"), 1);
    assert_int_equal(cal_model_find_body(model, "body0"), 0);
    assert_int_equal(cal_model_find_joint(model, "shoulder"), 0);
    assert_int_equal(cal_model_find_joint(model, "joint1"), 1);
    const char* strangers[] = {"", "leg", "body1", "body2", "body-1", "body", "body0x", "body99999999999999999999"};
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        assert_int_equal(cal_model_find_body(model, strangers[i]), CAL_NONE);
    cal_model_destroy(model);
}

// --- Size and memory -------------------------------------------------------------------------------------------------

static void a_chain_of_a_million_bodies_builds(void** state) {
    (void)state;
    cal_model* model = cal_test_model("chain:n=1000000");
    assert_int_equal(cal_model_depth(model), 1000000);
    assert_int_equal(model->nodes[0].end, 1000000);
    assert_int_equal(model->nodes[999999].parent, 999998);
    cal_model_destroy(model);
}

static void lack_of_memory_is_reported_and_nothing_leaks(void** state) {
    (void)state;
    const char* specifications[] = {"mobile:s=2,l=3,o=3", "humanoid", "random:n=40,passive=1", "chain:n=40"};
    for (size_t i = 0; i < sizeof specifications / sizeof *specifications; i++) {
        const int64_t live = cal_live_allocations();
        int failures = 0;
        for (cal_status status = CAL_NO_MEMORY; status != CAL_OK; failures++) {
            cal_model* model = NULL;
            cal_error error = {0};
            cal_fail_allocation(failures);
            status = cal_model_generate(specifications[i], &model, &error);
            cal_fail_allocation(-1);
            if (status != CAL_OK) {
                assert_int_equal(status, CAL_NO_MEMORY);
                assert_int_equal(error.status, CAL_NO_MEMORY);
                assert_non_null(strstr(error.text, "memory"));
                assert_null(model);
            }
            cal_model_destroy(model);
            assert_int_equal(cal_live_allocations(), live);
        }
        assert_true(failures > 10);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spoiled_definition_is_refused_by_name),
        cmocka_unit_test(seven_degrees_of_freedom_on_a_body_are_refused),
        cmocka_unit_test(rounded_inertias_of_flat_bodies_are_accepted),
        cmocka_unit_test(motion_without_inertia_is_refused),
        cmocka_unit_test(massless_links_inside_a_tree_are_accepted),
        cmocka_unit_test(stops_are_as_stiff_as_what_hangs_below_asks),
        cmocka_unit_test(nodes_are_in_walking_order),
        cmocka_unit_test(q_and_v_follow_the_bodies_whatever_the_order_of_joints),
        cmocka_unit_test(nodes_place_bodies_where_their_definitions_say),
        cmocka_unit_test(a_free_joint_starts_where_its_body_is_defined),
        cmocka_unit_test(fixed_bodies_become_part_of_what_carries_them),
        cmocka_unit_test(bodies_and_joints_are_found_by_name_or_number),
        cmocka_unit_test(a_chain_of_a_million_bodies_builds),
        cmocka_unit_test(lack_of_memory_is_reported_and_nothing_leaks),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
