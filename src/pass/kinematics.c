// Kinematics: where every node is in the world, and how fast it moves (cal_move_node); or where it is alone.
#include "pass/body_frames.h"

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

static void place(const cal_context* context, int column) {
    const cal_column* run = &context->layout->columns[column];
    const int doubles = CAL_DOUBLES(cal_world_motion);
    for (int n = run->first_block; n < run->first_block + run->block_count; n++) {
        const cal_node* node = &context->model->nodes[n];
        cal_move_node_there(node, node->parent < 0 ? NULL : cal_node_workspace(context, node->parent, doubles),
                            cal_node_q(context, n), cal_node_workspace(context, n, doubles));
    }
}

static const cal_pass place_passes[] = {{
    .name = "places.motion",
    .direction = CAL_OUTBOUND,
    .kernels = {place},
    .crosses = CAL_DOUBLES(cal_world_motion),
    .cost = {.flops = 93, .bytes = sizeof(cal_node) + 2 * sizeof(cal_world_motion)},
}};

const cal_program cal_program_places = {
    .name = "places",
    .help = "poses of all bodies in the world, to the bits of kinematics",
    .spreads = true,
    .node_doubles = CAL_DOUBLES(cal_world_motion),
    .fields = 1u << CAL_Q | 1u << CAL_POSE,
    .passes = place_passes,
    .pass_count = 1,
};
