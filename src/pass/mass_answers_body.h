// What is done with the factored mass matrix (mass_factor.h) for one constraint or one answer. Compiled for the host (mass_factor.c) and for devices.
#pragma once
#include "base/everywhere.h"
#include "base/wide.h"
#include "math/four.h"
#include "math/root.h"
#include "pass/aba.h"
#include "pass/mass_factor.h"
#include <string.h>

enum { SIX = 6, SQUARE = 36 };

// --- Factors of an execution of aba --------------------------------------------------------------------------------------

CAL_EVERYWHERE void cal_mass_factor_lent_accelerations(const cal_mass_factor* tree, int node, double out[6]) {
    const size_t width = (size_t)tree->given->layout->width;
    const double* response = tree->joints[node].response;
    for (size_t i = 0; i < 3; i++) {
        out[i] = response[(CAL_ABA_ALPHA + i) * width];
        out[3 + i] = response[(CAL_ABA_A + i) * width] + tree->model->gravity[i];
    }
}

// --- Solving ---------------------------------------------------------------------------------------------------------

CAL_WIDE_INLINE double dot6(const double* a, const double* b) {
    return ((a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])) + (a[4] * b[4] + a[5] * b[5]);
}

CAL_WIDE_INLINE void find_rates(cal_mass_factor* tree, const double* share, int n, int degrees, double* out) {
    const cal_node* node = &tree->model->nodes[n];
    const size_t first = (size_t)(SIX * node->first_v);
    double motion[SIX] = {0.0}, *rate = out + node->first_v;
    if (node->parent >= 0) {
        const double *above = tree->motion + SIX * (size_t)node->parent, *s = tree->arm + 3 * (size_t)n;
        for (int i = 0; i < 3; i++) motion[i] = above[i];
        motion[3] = above[3] + (above[1] * s[2] - above[2] * s[1]);
        motion[4] = above[4] + (above[2] * s[0] - above[0] * s[2]);
        motion[5] = above[5] + (above[0] * s[1] - above[1] * s[0]);
    }
    for (int k = 0; k < degrees; k++)
        rate[k] = share[node->first_v + k] - dot6(tree->response + first + SIX * k, motion);
    cal_root_divide_transposed(tree->root + first, degrees, rate);
    for (int k = 0; k < degrees; k++)
        for (int i = 0; i < SIX; i++) motion[i] += tree->axes[first + (size_t)(SIX * k + i)] * rate[k];
    memcpy(tree->motion + SIX * (size_t)n, motion, sizeof motion);
}

CAL_WIDE static void find_mass_rates(cal_mass_factor* tree, const double* share, double* out) {
    const cal_model* model = tree->model;
    for (int n = 0; n < model->node_count; n++) {
        const int degrees = cal_kind_v(model->nodes[n].kind);
        if (degrees == 1)
            find_rates(tree, share, n, 1, out);
        else
            find_rates(tree, share, n, degrees, out);
    }
}

// What is compiled several times is not called from other files (base/wide.h).
CAL_EVERYWHERE void cal_mass_factor_outbound(cal_mass_factor* tree, const double* share, double* out) {
    find_mass_rates(tree, share, out);
}

// S in the world's axes, 6 numbers a degree of freedom.
CAL_DEVICE static void list_axes(const cal_node* node, const double rotation[9], double* out) {
    const int degrees = cal_kind_v(node->kind);
    memset(out, 0, (size_t)(SIX * degrees) * sizeof *out);
    switch (node->kind) {
    case CAL_REVOLUTE:
        for (int i = 0; i < 3; i++) out[i] = rotation[3 * i + 2];
        break;
    case CAL_PRISMATIC:
        for (int i = 0; i < 3; i++) out[3 + i] = rotation[3 * i + 2];
        break;
    default: {
        const int first = node->kind == CAL_FREE ? 3 : 0;
        for (int k = 0; k < first; k++) out[SIX * k + 3 + k] = 1.0;
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < 3; i++) out[SIX * (first + k) + i] = rotation[3 * i + k];
    }
    }
}

// What the joint adds to its node's motion, for one number per degree of freedom.
CAL_DEVICE static inline void add_joint(const cal_node* node, const double* R, const double* rate,
                                        double* restrict out) {
    if (node->kind == CAL_REVOLUTE || node->kind == CAL_PRISMATIC) {
        double* along = node->kind == CAL_REVOLUTE ? out : out + 3;
        for (int i = 0; i < 3; i++) along[i] += R[3 * i + 2] * rate[0];
        return;
    }
    double axes[SQUARE];
    list_axes(node, R, axes);
    for (int k = 0; k < cal_kind_v(node->kind); k++)
        for (int i = 0; i < SIX; i++) out[i] += axes[SIX * k + i] * rate[k];
}

CAL_WIDE_INLINE void accelerate_node(const cal_node* node, const cal_node_motion* own, const cal_node_motion* parent,
                                     const double* above, const double* v, const double* qdd, double* restrict out) {
    double joint[SIX] = {0.0}, extra[SIX] = {0.0};
    add_joint(node, own->rotation, v, joint);
    add_joint(node, own->rotation, qdd, extra);
    double gyration[3], swing[3], inward[3], lever[3];
    cal_cross3(parent->angular, joint, gyration);
    cal_cross3(parent->angular, own->arm, swing);
    cal_cross3(parent->angular, swing, inward);
    cal_cross3(above, own->arm, lever);
    for (int i = 0; i < 3; i++) {
        out[i] = above[i] + gyration[i] + extra[i];
        out[3 + i] = above[3 + i] + lever[i] + inward[i];
    }
    if (node->kind == CAL_REVOLUTE || node->kind == CAL_BALL) return;
    double coriolis[3];
    cal_cross3(parent->angular, joint + 3, coriolis);
    for (int i = 0; i < 3; i++) out[3 + i] += 2.0 * coriolis[i] + extra[3 + i];
}

// The same of a revolute joint, three numbers in four lanes: from its parent's angular and linear acceleration to its own.
CAL_WIDE_INLINE void accelerate_revolute(const cal_node_motion* own, const cal_node_motion* parent, double v,
                                         double qdd, cal_four* angular, cal_four* linear) {
    const cal_four none = {0.0}, z = {own->rotation[2], own->rotation[5], own->rotation[8]};
    const cal_four joint = none + z * v, extra = none + z * qdd;
    const cal_four turn = cal_load_four(parent->angular), arm = cal_load_four(own->arm);
    const cal_four gyration = cal_cross_four(turn, joint), inward = cal_cross_four(turn, cal_cross_four(turn, arm)),
                   lever = cal_cross_four(*angular, arm);
    *angular = *angular + gyration + extra;
    *linear = *linear + lever + inward;
}

// By address: functions of several sets of instructions pass no vectors by value.
CAL_WIDE_INLINE void load_four_acceleration(const double* from, cal_four* angular, cal_four* linear) {
    *angular = cal_load_three(from), *linear = cal_load_three(from + 3);
}

CAL_WIDE_INLINE void store_four_acceleration(const cal_four* angular, const cal_four* linear, double* to) {
    cal_store_four(*angular, to);
    cal_store_three(*linear, to + 3);
}

CAL_WIDE static void accelerate_nodes(const cal_model* model, const cal_node_motion* motions, const double* v,
                                      const double* qdd, int first, int end, double* out) {
    static const cal_node_motion ground = {.rotation = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}};
    static const double rest[SIX] = {0.0};
    cal_four angular = {0.0}, linear = {0.0}; // of node `last`
    for (int n = first, last = -1; n < end; n++) {
        const cal_node* node = &model->nodes[n];
        const int parent = node->parent;
        const double *above = parent < 0 ? rest : out + SIX * (size_t)parent, *rate = v + node->first_v,
                     *faster = qdd + node->first_v;
        double* to = out + SIX * (size_t)n;
        if (node->kind != CAL_REVOLUTE) {
            accelerate_node(node, &motions[n], parent < 0 ? &ground : &motions[parent], above, rate, faster, to);
            continue;
        }
        if (parent < 0 || parent != last) load_four_acceleration(above, &angular, &linear);
        accelerate_revolute(&motions[n], parent < 0 ? &ground : &motions[parent], *rate, *faster, &angular, &linear);
        store_four_acceleration(&angular, &linear, to);
        last = n;
    }
}

CAL_EVERYWHERE void cal_node_accelerations(const cal_model* model, const cal_node_motion* motions, const double* v,
                                           const double* qdd, int first, int end, double* out) {
    accelerate_nodes(model, motions, v, qdd, first, end, out);
}
