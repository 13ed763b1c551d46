// Kinematics: where every node is in the world, and how fast it moves.
//
//   A_i = A_p R_i                        rotation, node's axes to the world's
//   x_i = x_p + A_p r_i                  position of the node's origin
//   ω_i = ω_p + A_i (S_i q̇_i)_ω
//   v_i = v_p + ω_p × (x_i − x_p) + A_i (S_i q̇_i)_v
//
// with (R, r) and S of body_frames.h; the ground has A = 1 and rests at the origin.
#include "pass/body_frames.h"

static const cal_world_motion ground = {.rotation = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}};

void cal_move_node(const cal_node* node, const cal_world_motion* parent, const double* q, const double* v,
                   cal_world_motion* own) {
    double rotation[9], arm[3], swing[3];
    if (!parent) parent = &ground;
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

void cal_world_motion_column(const cal_context* context, int column, int node_doubles) {
    const cal_column* run = &context->layout->columns[column];
    for (int n = run->first_block; n < run->first_block + run->block_count; n++) {
        const cal_node* node = &context->model->nodes[n];
        cal_move_node(node, node->parent < 0 ? NULL : cal_node_workspace(context, node->parent, node_doubles),
                      cal_node_q(context, n), cal_node_v(context, n), cal_node_workspace(context, n, node_doubles));
    }
}

static void move(const cal_context* context, int column) {
    cal_world_motion_column(context, column, CAL_DOUBLES(cal_world_motion));
}

static const cal_pass passes[] = {{
    .name = "kinematics.motion",
    .direction = CAL_OUTBOUND,
    .kernels = {move},
    .crosses = CAL_DOUBLES(cal_world_motion),
    .cost = {.flops = 166, .bytes = sizeof(cal_node) + 2 * sizeof(cal_world_motion)},
}};

const cal_program cal_program_kinematics = {
    .name = "kinematics",
    .help = "poses and velocities of all bodies in the world",
    .spreads = true,
    .node_doubles = CAL_DOUBLES(cal_world_motion),
    .fields = 1u << CAL_Q | 1u << CAL_V | 1u << CAL_POSE | 1u << CAL_TENDON,
    .passes = passes,
    .pass_count = 1,
};
