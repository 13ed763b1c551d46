// The motion of one node from its parent's (constraint_rows.h), any kind of joint. Compiled for the host and for devices.
#pragma once
#include "pass/body_frames.h"
#include "pass/constraint_rows.h"
#include <string.h>

// A node's frame in its parent's; s, c: sine and cosine of a revolute joint's angle.
CAL_DEVICE static inline void place_in_parent(const cal_node* node, const double* q, double s, double c,
                                              double rotation[9], double arm[3]) {
    if (node->kind != CAL_REVOLUTE) {
        cal_place_node(node, q, rotation, arm);
        return;
    }
    const double* fixed = node->rotation;
    for (int i = 0; i < 9; i += 3) {
        rotation[i] = c * fixed[i] + s * fixed[i + 1];
        rotation[i + 1] = c * fixed[i + 1] - s * fixed[i];
        rotation[i + 2] = fixed[i + 2];
    }
    memcpy(arm, node->offset, 3 * sizeof(double));
}

CAL_DEVICE static inline void place_motion(const cal_node* node, const cal_node_motion* parent, const double* q,
                                           double s, double c, cal_node_motion* own) {
    double rotation[9], arm[3];
    place_in_parent(node, q, s, c, rotation, arm);
    memcpy(own->base, parent->base, sizeof own->base);
    if (node->parent < 0 && node->kind != CAL_FREE) {
        memcpy(own->base, node->offset, sizeof own->base);
        const double along = node->kind == CAL_PRISMATIC ? q[0] : 0.0;
        for (int i = 0; i < 3; i++) arm[i] = node->rotation[3 * i + 2] * along;
    }
    cal_multiply33(parent->rotation, rotation, own->rotation);
    cal_rotate3(parent->rotation, arm, own->arm);
    for (int i = 0; i < 3; i++) own->origin[i] = parent->origin[i] + own->arm[i];
}

CAL_DEVICE static inline void find_node_velocity(const cal_node* node, const cal_node_motion* parent, const double* v,
                                                 cal_node_motion* own) {
    double angular[3] = {0.0, 0.0, 0.0}, linear[3] = {0.0, 0.0, 0.0}, swing[3];
    const double* R = own->rotation;
    cal_cross3(parent->angular, own->arm, swing);
    if (node->kind == CAL_REVOLUTE || node->kind == CAL_PRISMATIC) {
        double* along = node->kind == CAL_REVOLUTE ? angular : linear;
        for (int i = 0; i < 3; i++) along[i] = R[3 * i + 2] * v[0];
    } else {
        const cal_spatial joint = cal_joint_motion(node, R, v);
        cal_rotate3(R, joint.angular, angular);
        cal_rotate3(R, joint.linear, linear);
    }
    for (int i = 0; i < 3; i++) {
        own->angular[i] = parent->angular[i] + angular[i];
        own->linear[i] = parent->linear[i] + swing[i] + linear[i];
    }
}
