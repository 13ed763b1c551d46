// What the scalar passes share: a joint's place and motion, and spatial vectors in the node's own frame.
//
// A node's frame sits in its parent's at (R, r): x_parent = R x + r. With R₀, r₀ from the model,
//
//   revolute   R = R₀ Rot_z(q)     r = r₀            S = (ẑ, 0)
//   prismatic  R = R₀              r = r₀ + R₀ ẑ q   S = (0, ẑ)
//   ball       R = R₀ Rot(q)       r = r₀            S = (1, 0)
//   free       R = Rot(q₃…q₆)      r = (q₀…q₂)       S = (0, Rᵀ), (1, 0): linear velocity in the world, angular in the body
//
// Spatial vectors are Featherstone's (Rigid Body Dynamics Algorithms, 2008, chapter 2) about the node's origin, in the
// node's axes: motions (ω, v), forces (n, f). The articulated-body kernels work in world-aligned frames instead, so that
// the two share no formula and check each other.
#pragma once
#include "pass/pass.h"
#include <string.h>
#define CAL_LANES 1
#include "math/lanes.h"

typedef struct cal_spatial {
    double angular[3]; // ω, or the moment about the origin
    double linear[3];  // velocity of the origin, or the force
} cal_spatial;

enum { CAL_SPATIAL_DOUBLES = 6 };

// The world's view of a node: what "kinematics" leaves, and the first doubles of a node's workspace in "energy" too.
typedef struct cal_world_motion {
    double rotation[9]; // rows: node's axes to the world's
    double position[3];
    double angular[3]; // world's axes
    double linear[3];  // of the node's origin, world's axes
} cal_world_motion;

// One node of the recursive Newton-Euler algorithm; the first doubles of a node's workspace in "rnea" and "crba".
typedef struct cal_newton_euler {
    double rotation[9], offset[3]; // R and r above
    double world[9];               // rows: node's axes to the world's
    cal_spatial velocity, acceleration;
    cal_spatial force; // that the joint carries: the subtree's, in this node's frame
} cal_newton_euler;

#define CAL_DOUBLES(type) ((int)(sizeof(type) / sizeof(double)))

static inline void* cal_node_workspace(const cal_context* context, int node, int node_doubles) {
    return context->workspace + (size_t)node * (size_t)node_doubles;
}
static inline const double* cal_node_q(const cal_context* context, int node) {
    return context->y + context->layout->block_y[node];
}
static inline const double* cal_node_v(const cal_context* context, int node) {
    return cal_node_q(context, node) + cal_kind_q(context->model->nodes[node].kind);
}
static inline double* cal_node_qdd(const cal_context* context, int node) {
    return context->ydot + context->layout->block_y[node] + cal_kind_q(context->model->nodes[node].kind);
}

// R and r of a node.
CAL_DEVICE static inline void cal_place_node(const cal_node* node, const double* q, double rotation[9],
                                             double offset[3]) {
    const double* fixed = node->rotation;
    memcpy(offset, node->offset, 3 * sizeof(double));
    switch (node->kind) {
    case CAL_REVOLUTE: {
        double s, c;
        cal_lane_sincos_1(q[0], &s, &c);
        for (int i = 0; i < 9; i += 3) {
            rotation[i] = c * fixed[i] + s * fixed[i + 1];
            rotation[i + 1] = c * fixed[i + 1] - s * fixed[i];
            rotation[i + 2] = fixed[i + 2];
        }
        break;
    }
    case CAL_PRISMATIC:
        memcpy(rotation, fixed, 9 * sizeof(double));
        for (int i = 0; i < 3; i++) offset[i] += fixed[3 * i + 2] * q[0];
        break;
    case CAL_BALL: {
        double turn[9];
        cal_quaternion_matrix(q, turn);
        cal_multiply33(fixed, turn, rotation);
        break;
    }
    default: cal_quaternion_matrix(q + 3, rotation); memcpy(offset, q, 3 * sizeof(double));
    }
}

// S x, for x the joint's velocity or acceleration.
CAL_DEVICE static inline cal_spatial cal_joint_motion(const cal_node* node, const double rotation[9], const double* x) {
    cal_spatial motion = {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
    switch (node->kind) {
    case CAL_REVOLUTE: motion.angular[2] = x[0]; break;
    case CAL_PRISMATIC: motion.linear[2] = x[0]; break;
    case CAL_BALL: memcpy(motion.angular, x, 3 * sizeof(double)); break;
    default: cal_unrotate3(rotation, x, motion.linear); memcpy(motion.angular, x + 3, 3 * sizeof(double));
    }
    return motion;
}

// Sᵀ f: the share of a spatial force that the joint's own degrees of freedom feel.
static inline void cal_joint_share(const cal_node* node, const double rotation[9], const cal_spatial* force,
                                   double* out) {
    switch (node->kind) {
    case CAL_REVOLUTE: out[0] = force->angular[2]; break;
    case CAL_PRISMATIC: out[0] = force->linear[2]; break;
    case CAL_BALL: memcpy(out, force->angular, 3 * sizeof(double)); break;
    default: cal_rotate3(rotation, force->linear, out); memcpy(out + 3, force->angular, 3 * sizeof(double));
    }
}

// A parent's motion as the child's frame sees it: (Rᵀ ω, Rᵀ (v + ω × r)).
static inline cal_spatial cal_motion_to_child(const double rotation[9], const double offset[3],
                                              const cal_spatial* motion) {
    cal_spatial out;
    cal_cross3(motion->angular, offset, out.linear);
    for (int i = 0; i < 3; i++) out.linear[i] += motion->linear[i];
    cal_unrotate3(rotation, out.linear, out.linear);
    cal_unrotate3(rotation, motion->angular, out.angular);
    return out;
}

// A child's force as its parent's frame sees it: (R n + r × R f, R f).
static inline cal_spatial cal_force_to_parent(const double rotation[9], const double offset[3],
                                              const cal_spatial* force) {
    cal_spatial out;
    double turned[3];
    cal_rotate3(rotation, force->linear, out.linear);
    cal_rotate3(rotation, force->angular, turned);
    cal_cross3(offset, out.linear, out.angular);
    for (int i = 0; i < 3; i++) out.angular[i] += turned[i];
    return out;
}

static inline void cal_spatial_add(cal_spatial* sum, const cal_spatial* term) {
    for (int i = 0; i < 3; i++) sum->angular[i] += term->angular[i], sum->linear[i] += term->linear[i];
}

// I s for a body with mass m, moment h = ∫ x dm and second moment Σ = ∫ x xᵀ dm: with J = tr Σ − Σ,
// (J ω + h × v, m v − h × ω). A momentum of a velocity, a force of an acceleration.
CAL_DEVICE static inline cal_spatial cal_inertia_times(double mass, const double h[3], const double sigma[6],
                                                       const cal_spatial* s) {
    const double* w = s->angular;
    const double xx = sigma[1] + sigma[2], yy = sigma[0] + sigma[2], zz = sigma[0] + sigma[1];
    cal_spatial out;
    double hv[3], hw[3];
    cal_cross3(h, s->linear, hv);
    cal_cross3(h, w, hw);
    out.angular[0] = xx * w[0] - sigma[3] * w[1] - sigma[4] * w[2] + hv[0];
    out.angular[1] = yy * w[1] - sigma[3] * w[0] - sigma[5] * w[2] + hv[1];
    out.angular[2] = zz * w[2] - sigma[4] * w[0] - sigma[5] * w[1] + hv[2];
    for (int i = 0; i < 3; i++) out.linear[i] = mass * s->linear[i] - hw[i];
    return out;
}

// The motion of a node in the world, from its parent's (not looked at where that is the ground) and its own q and v.
//
//   A_i = A_p R_i                        rotation, node's axes to the world's
//   x_i = x_p + A_p r_i                  position of the node's origin
//   ω_i = ω_p + A_i (S_i q̇_i)_ω
//   v_i = v_p + ω_p × (x_i − x_p) + A_i (S_i q̇_i)_v
//
// with (R, r) and S above; the ground has A = 1 and rests at the origin.
CAL_DEVICE static inline void cal_move_node(const cal_node* node, const cal_world_motion* parent, const double* q,
                                            const double* v, cal_world_motion* own) {
    static const cal_world_motion ground = {.rotation = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}};
    double rotation[9], arm[3], swing[3];
    if (node->parent < 0) parent = &ground;
    cal_place_node(node, q, rotation, arm);
    cal_multiply33(parent->rotation, rotation, own->rotation);
    cal_rotate3(parent->rotation, arm, arm);
    cal_cross3(parent->angular, arm, swing);
    cal_spatial joint = cal_joint_motion(node, rotation, v);
    cal_rotate3(own->rotation, joint.angular, joint.angular);
    cal_rotate3(own->rotation, joint.linear, joint.linear);
    for (int i = 0; i < 3; i++) {
        own->position[i] = parent->position[i] + arm[i];
        own->angular[i] = parent->angular[i] + joint.angular[i];
        own->linear[i] = parent->linear[i] + swing[i] + joint.linear[i];
    }
}

// The same of where it is, and nothing of how fast.
static inline void cal_move_node_there(const cal_node* node, const cal_world_motion* parent, const double* q,
                                       cal_world_motion* own) {
    static const cal_world_motion ground = {.rotation = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}};
    double rotation[9], arm[3];
    if (node->parent < 0) parent = &ground;
    cal_place_node(node, q, rotation, arm);
    cal_multiply33(parent->rotation, rotation, own->rotation);
    cal_rotate3(parent->rotation, arm, arm);
    for (int i = 0; i < 3; i++) own->position[i] = parent->position[i] + arm[i];
}

// The frame of a body in the world, from the motion of the node that carries it; NULL: the ground does.
static inline void cal_mounted_pose(const cal_mount* mount, const cal_world_motion* carrier, double pose[7]) {
    if (carrier == NULL) {
        memcpy(pose, mount->offset, sizeof mount->offset);
        cal_matrix_quaternion(mount->rotation, pose + 3);
        return;
    }
    double rotation[9];
    cal_rotate3(carrier->rotation, mount->offset, pose);
    for (int i = 0; i < 3; i++) pose[i] += carrier->position[i];
    cal_multiply33(carrier->rotation, mount->rotation, rotation);
    cal_matrix_quaternion(rotation, pose + 3);
}

// A point of a body in the world.
static inline void cal_mounted_point(const cal_mount* mount, const cal_world_motion* carrier, const double point[3],
                                     double x[3]) {
    cal_rotate3(mount->rotation, point, x);
    for (int i = 0; i < 3; i++) x[i] += mount->offset[i];
    cal_rotate3(carrier->rotation, x, x);
    for (int i = 0; i < 3; i++) x[i] += carrier->position[i];
}

// Its velocity, and the body's angular velocity.
static inline void cal_mounted_velocity(const cal_mount* mount, const cal_world_motion* carrier, const double point[3],
                                        double velocity[6]) {
    memset(velocity, 0, 6 * sizeof *velocity);
    if (carrier == NULL) return;
    double x[3];
    cal_mounted_point(mount, carrier, point, x);
    for (int i = 0; i < 3; i++) x[i] -= carrier->position[i];
    cal_cross3(carrier->angular, x, velocity);
    for (int i = 0; i < 3; i++) velocity[i] += carrier->linear[i], velocity[3 + i] = carrier->angular[i];
}

// The kernels that two programs share; node_doubles is the program's, of which the struct above is the beginning.
// Writes cal_world_motion of the column's nodes, outbound.
void cal_world_motion_column(const cal_context* context, int column, int node_doubles);
// Writes all of cal_newton_euler but what the children add to force, outbound; the v part of ydot is the acceleration.
void cal_newton_euler_motion(const cal_context* context, int column, int node_doubles);
// Adds the children's forces to one node's, inbound, and gives its share S^T f + armature · acceleration.
void cal_newton_euler_force(const cal_context* context, int node, int node_doubles, double share[6]);
