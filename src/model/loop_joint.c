// Loop joints with a coordinate of their own: the loop is cut through a body instead of through the joint.
//
//      a ──(joint)── b ── …            a ──(joint)── half of b          b's frame b coincides with that of its other half,
//                                                                       to which it is welded
//                                      … ── half of b
//
// Both halves move as one body, so that their masses and inertias may be shared out between them in any way. The joint is one of the
// tree then: it has a q, springs, dampers, stops, motors and friction, and counts turns, as any other.
//
// Where it starts follows from where its bodies do. With X the places of bodies' frames in the world, N and M the node's frame in its
// parent and the half's frame in the node (model.h), and J(q) the joint,
//
//     X_a N J(q) M = X_b F       J(q) = (X_a N)⁻¹ X_b F M⁻¹            F: frame b in its body
#include "base/memory.h"
#include "math/rotation_vector.h"
#include "model/angle.h"
#include "model/builder.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 128 };

// A frame that moves: its axes and origin in the world, its angular velocity and the velocity of its origin.
typedef struct placed {
    double rotation[9], origin[3], angular[3], linear[3];
} placed;

static const placed ground = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};

// --- Adding one ----------------------------------------------------------------------------------------------------------

// Half of a body as its frame b sees it.
static cal_body_def half_of(const cal_body_def* whole, const cal_constraint_def* loop) {
    cal_body_def half = cal_default_body_def();
    double R[9], turned[9], arm[3], quaternion[4];
    memcpy(quaternion, loop->quaternion[1], sizeof quaternion);
    cal_quaternion_normalize(quaternion);
    cal_quaternion_matrix(quaternion, R);
    half.parent = loop->body[0];
    memcpy(half.position, loop->position[0], sizeof half.position);
    memcpy(half.quaternion, loop->quaternion[0], sizeof half.quaternion);
    half.mass = whole->mass;
    for (int i = 0; i < 3; i++) arm[i] = whole->center[i] - loop->position[1][i];
    cal_unrotate3(R, arm, half.center);
    const double* I = whole->inertia;
    const double inertia[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]};
    cal_transpose_multiply33(R, inertia, turned);
    double own[9];
    cal_multiply33(turned, R, own);
    const double six[6] = {own[0], own[4], own[8], own[1], own[2], own[5]};
    memcpy(half.inertia, six, sizeof half.inertia);
    return half;
}

static const char* check_loop(const cal_constraint_def* loop, const cal_joint_def* joint) {
    const cal_joint_kind kind = joint->kind;
    const bool fits = (loop->kind == CAL_LOOP_REVOLUTE && kind == CAL_REVOLUTE) ||
                      (loop->kind == CAL_LOOP_PRISMATIC && kind == CAL_PRISMATIC) ||
                      (loop->kind == CAL_LOOP_BALL && kind == CAL_BALL);
    if (!fits) return "its loop and its joint are not of one kind: revolute, prismatic or ball";
    if (loop->body[1] < 0) return "its body b must be one that was added before, not the ground: exchange a and b";
    if (!(cal_length(loop->quaternion[1], 4) > 0.0) || !cal_all_finite(loop->quaternion[1], 4) ||
        !cal_all_finite(loop->position[1], 3))
        return "its frame b is not finite, or its quaternion is zero";
    return loop->body[0] == loop->body[1] ? "it holds a body to itself" : NULL;
}

int cal_builder_add_loop_joint(cal_builder* builder, const cal_constraint_def* loop, const cal_joint_def* joint) {
    cal_body_def whole;
    if (!builder) return CAL_NONE;
    const char* wrong = loop == NULL || joint == NULL ? "its definitions must not be NULL" : check_loop(loop, joint);
    if (wrong == NULL && !cal_builder_halve_body(builder, loop->body[1], &whole))
        wrong = "its body b is not there yet, or has no mass of its own to share out";
    if (wrong != NULL) return cal_builder_refuse(builder, "loop joint", wrong);
    cal_body_def half = half_of(&whole, loop);
    char name[NAME];
    if (loop->name != NULL) {
        snprintf(name, sizeof name, "%.100s (half)", loop->name);
        half.name = name;
    }
    cal_joint_def own = *joint;
    const double z[3] = {0.0, 0.0, 1.0};
    memcpy(own.axis, z, sizeof own.axis);
    memset(own.anchor, 0, sizeof own.anchor);
    if (own.name == NULL) own.name = loop->name;
    const int body = cal_builder_add_body(builder, &half);
    const int number = cal_builder_add_joint(builder, body, &own);
    cal_constraint_def weld = *loop;
    weld.kind = CAL_WELD;
    weld.body[0] = body;
    memset(weld.position[0], 0, sizeof weld.position[0]);
    const double none[4] = {1.0, 0.0, 0.0, 0.0};
    memcpy(weld.quaternion[0], none, sizeof none);
    weld.closes = number;
    // As bodies that a joint of the tree connects do not touch.
    if (loop->body[0] != CAL_GROUND) cal_builder_add_exclusion(builder, loop->body[0], loop->body[1]);
    return cal_builder_add_constraint(builder, &weld) == CAL_NONE ? CAL_NONE : number;
}

// --- Where it starts -------------------------------------------------------------------------------------------------------

// A frame at a fixed place of another.
static placed fixed_in(const placed* base, const double rotation[9], const double offset[3]) {
    placed out = *base;
    double arm[3], swing[3];
    cal_multiply33(base->rotation, rotation, out.rotation);
    cal_rotate3(base->rotation, offset, arm);
    cal_cross3(base->angular, arm, swing);
    for (int i = 0; i < 3; i++) out.origin[i] += arm[i], out.linear[i] += swing[i];
    return out;
}

// A node at the model's start, from its parent.
static placed start_of(const cal_node* node, const placed* parent, const double* q, const double* v) {
    placed out = fixed_in(parent, node->rotation, node->offset);
    double turn[9], R[9], along[3], spin[3] = {0.0};
    memcpy(R, out.rotation, sizeof R);
    switch (node->kind) {
    case CAL_REVOLUTE: {
        double s, c;
        cal_sine_cosine(q[0], &s, &c);
        const double about[9] = {c, -s, 0, s, c, 0, 0, 0, 1};
        cal_multiply33(R, about, out.rotation);
        spin[2] = v[0];
        break;
    }
    case CAL_PRISMATIC: {
        const double moved[3] = {0.0, 0.0, q[0]}, rate[3] = {0.0, 0.0, v[0]};
        static const double none[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
        out = fixed_in(&out, none, moved);
        cal_rotate3(R, rate, along);
        for (int i = 0; i < 3; i++) out.linear[i] += along[i];
        break;
    }
    case CAL_BALL:
        cal_quaternion_matrix(q, turn);
        cal_multiply33(R, turn, out.rotation);
        memcpy(spin, v, sizeof spin);
        break;
    default:
        cal_quaternion_matrix(q + 3, out.rotation);
        memcpy(out.origin, q, sizeof out.origin);
        memcpy(out.linear, v, sizeof out.linear);
        memcpy(spin, v + 3, sizeof spin);
        break;
    }
    cal_rotate3(out.rotation, spin, spin);
    for (int i = 0; i < 3; i++) out.angular[i] += spin[i];
    return out;
}

// The angle of a turn about z, the one next to where a definition has it.
static double find_angle(const double R[9], double near) {
    double quaternion[4], vector[3];
    cal_matrix_quaternion(R, quaternion);
    cal_rotation_vector(quaternion, vector);
    return vector[2] + 2.0 * CAL_PI * nearbyint((near - vector[2]) / (2.0 * CAL_PI));
}

static void start_joint(cal_model* model, const cal_constraint_def* weld, const placed* nodes) {
    const cal_joint* joint = &model->joints[weld->closes];
    const cal_node* node = &model->nodes[joint->node];
    const cal_mount *mount = weld->body[1] == CAL_GROUND ? NULL : &model->mounts[weld->body[1]],
                    *half = &model->mounts[weld->body[0]];
    double *q = model->initial_q + joint->first_q, *v = model->initial_v + joint->first_v, R[9];
    // Frame b, where the half has to be, and the node's frame that puts it there.
    placed goal = mount == NULL || mount->node < 0 ? ground : nodes[mount->node];
    if (mount != NULL) goal = fixed_in(&goal, mount->rotation, mount->offset);
    cal_quaternion_matrix(weld->quaternion[1], R);
    goal = fixed_in(&goal, R, weld->position[1]);
    double back[9], away[3];
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): bodies that a weld holds have mounts
    for (int i = 0; i < 9; i++) back[i] = half->rotation[3 * (i % 3) + i / 3];
    cal_rotate3(back, half->offset, away);
    for (int i = 0; i < 3; i++) away[i] = -away[i];
    goal = fixed_in(&goal, back, away);
    placed base = node->parent < 0 ? ground : nodes[node->parent];
    base = fixed_in(&base, node->rotation, node->offset);
    double turn[9], apart[3], swing[3], spin[3], slide[3];
    cal_transpose_multiply33(base.rotation, goal.rotation, turn);
    for (int i = 0; i < 3; i++) apart[i] = goal.origin[i] - base.origin[i];
    cal_cross3(base.angular, apart, swing);
    for (int i = 0; i < 3; i++) {
        spin[i] = goal.angular[i] - base.angular[i];
        slide[i] = goal.linear[i] - base.linear[i] - swing[i];
    }
    cal_unrotate3(base.rotation, apart, apart);
    cal_unrotate3(base.rotation, slide, slide);
    cal_unrotate3(goal.rotation, spin, spin);
    if (node->kind == CAL_REVOLUTE)
        q[0] = find_angle(turn, joint->def->initial_q[0]), v[0] = spin[2];
    else if (node->kind == CAL_PRISMATIC)
        q[0] = apart[2], v[0] = slide[2];
    else
        cal_matrix_quaternion(turn, q), memcpy(v, spin, sizeof spin);
}

cal_status cal_model_start_loop_joints(cal_model* model, cal_error* error) {
    int count = 0;
    for (int i = 0; i < model->constraint_count; i++) count += cal_is_loop_joint(&model->constraints[i]) ? 1 : 0;
    if (count == 0) return CAL_OK;
    placed* nodes = cal_allocate((size_t)model->node_count, sizeof *nodes);
    if (nodes == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for %d loop joints", count);
    for (int n = 0; n < model->node_count; n++) {
        const cal_node* node = &model->nodes[n];
        nodes[n] = start_of(node, node->parent < 0 ? &ground : &nodes[node->parent], model->initial_q + node->first_q,
                            model->initial_v + node->first_v);
    }
    for (int i = 0; i < model->constraint_count; i++)
        if (cal_is_loop_joint(&model->constraints[i])) start_joint(model, &model->constraints[i], nodes);
    cal_free(nodes);
    return CAL_OK;
}
