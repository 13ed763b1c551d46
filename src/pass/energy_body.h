// Energy and momentum of one node.
//
// With a node's velocity in its own axes, ω and v = (velocity of its origin), and J = tr Σ − Σ:
//
//   p = m v + ω × h,   l = J ω + h × v               momentum, and its moment about the node's origin
//   kinetic   ½ (ω · l + v · p) + ½ armature q̇²
//   potential −(m x + A h) · gravity + ½ k (q − q₀)²  zero at the world's origin; a ball's spring ½ k θ², θ its angle;
//             and of a stop ½ k x², x beyond the range
//   momentum  A p, and about the world's origin A l + x × A p
#pragma once
#include "pass/body_frames.h"
#include "pass/joint_law.h"

enum {
    CAL_SUM_KINETIC,
    CAL_SUM_POTENTIAL,
    CAL_SUM_LINEAR,
    CAL_SUM_ANGULAR = CAL_SUM_LINEAR + 3,
    CAL_ENERGY_SUMS = CAL_SUM_ANGULAR + 3
};

// Kinetic and potential energy, and the momentum in the node's axes. A: rotation; x: position of its origin.
CAL_DEVICE static inline cal_spatial cal_node_energies(const cal_model* model, const cal_node* node, const double* A,
                                                       const double* x, const double* angular, const double* linear,
                                                       const double* q, const double* q_dot, double* sums) {
    cal_spatial velocity;
    cal_unrotate3(A, angular, velocity.angular);
    cal_unrotate3(A, linear, velocity.linear);
    const cal_spatial momentum = cal_inertia_times(node->mass, node->moment, node->second_moment, &velocity);

    double center[3]; // times the mass
    cal_rotate3(A, node->moment, center);
    for (int i = 0; i < 3; i++) center[i] += node->mass * x[i];
    sums[CAL_SUM_KINETIC] =
        0.5 * (cal_dot3(velocity.angular, momentum.angular) + cal_dot3(velocity.linear, momentum.linear));
    for (int i = 0; i < cal_kind_v(node->kind); i++)
        sums[CAL_SUM_KINETIC] += 0.5 * node->armature * q_dot[i] * q_dot[i];
    sums[CAL_SUM_POTENTIAL] = cal_node_energy(model, node, q) - cal_dot3(center, model->gravity);
    return momentum;
}

CAL_DEVICE static inline void cal_node_sums(const cal_model* model, const cal_node* node,
                                            const cal_world_motion* motion, const double* q, const double* q_dot,
                                            double sums[CAL_ENERGY_SUMS]) {
    const double *A = motion->rotation, *x = motion->position;
    const cal_spatial momentum = cal_node_energies(model, node, A, x, motion->angular, motion->linear, q, q_dot, sums);
    double about_origin[3], spin[3];
    cal_rotate3(A, momentum.linear, sums + CAL_SUM_LINEAR);
    cal_rotate3(A, momentum.angular, spin);
    cal_cross3(x, sums + CAL_SUM_LINEAR, about_origin);
    for (int i = 0; i < 3; i++) sums[CAL_SUM_ANGULAR + i] = spin[i] + about_origin[i];
}
