// Turns the frames of one-degree nodes about their own axis until the second moment's xy entry is zero.
//
// A node's z is its joint's axis; where its x points is free, since turning about z commutes with the joint's own motion.
// With Σ_xy = 0 the kernels need a third less work to turn Σ to the world's axes (aba_body.h).
#include "model/builder.h"

static bool turns(const cal_node* node) {
    return (node->kind == CAL_REVOLUTE || node->kind == CAL_PRISMATIC) && node->second_moment[3] != 0.0;
}

// The turn Rz(φ) that makes the xy entry of R_zᵀ Σ R_z vanish: Jacobi's, t = tan φ the smaller root of t² − 2 θ t − 1 = 0.
static void find_turn(const double second[6], double R[9]) {
    const double theta = (second[1] - second[0]) / (2.0 * second[3]);
    const double t = copysign(1.0 / (fabs(theta) + sqrt(theta * theta + 1.0)), -theta);
    const double c = 1.0 / sqrt(1.0 + t * t), s = t * c;
    const double turn[9] = {c, -s, 0, s, c, 0, 0, 0, 1};
    for (int i = 0; i < 9; i++) R[i] = turn[i];
}

// Σ ← RᵀΣR for a turn about z; xy is zero by the choice of R.
static void turn_second(const double R[9], double second[6]) {
    const double c = R[0], s = R[3], xx = second[0], yy = second[1], xy = second[3], xz = second[4], yz = second[5];
    second[0] = c * c * xx + 2.0 * c * s * xy + s * s * yy;
    second[1] = s * s * xx - 2.0 * c * s * xy + c * c * yy;
    second[3] = 0.0;
    second[4] = c * xz + s * yz;
    second[5] = -s * xz + c * yz;
}

// A frame given in a node's axes, after the node's axes turned by R.
static void follow_turn(const double R[9], double rotation[9], double offset[3]) {
    double turned[9];
    cal_transpose_multiply33(R, rotation, turned);
    for (int i = 0; i < 9; i++) rotation[i] = turned[i];
    cal_unrotate3(R, offset, offset);
}

void cal_model_turn_nodes(cal_model* model) {
    double R[9];
    // Mounts and children read their node's second moment before it is turned: mounts first, nodes from the last.
    for (int i = 0; i < model->body_count; i++) {
        cal_mount* mount = &model->mounts[i];
        if (mount->node < 0 || !turns(&model->nodes[mount->node])) continue;
        find_turn(model->nodes[mount->node].second_moment, R);
        follow_turn(R, mount->rotation, mount->offset);
    }
    for (int i = model->node_count - 1; i >= 0; i--) {
        cal_node* node = &model->nodes[i];
        if (node->parent >= 0 && turns(&model->nodes[node->parent])) {
            find_turn(model->nodes[node->parent].second_moment, R);
            follow_turn(R, node->rotation, node->offset);
        }
        if (!turns(node)) continue;
        double turned[9];
        find_turn(node->second_moment, R);
        cal_multiply33(node->rotation, R, turned);
        for (int j = 0; j < 9; j++) node->rotation[j] = turned[j];
        cal_unrotate3(R, node->moment, node->moment);
        turn_second(R, node->second_moment);
    }
}
