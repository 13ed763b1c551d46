// Energy and momentum, summed up the tree.
//
// With a node's velocity in its own axes, ω and v = (velocity of its origin), and J = tr Σ − Σ:
//
//   p = m v + ω × h,   l = J ω + h × v               momentum, and its moment about the node's origin
//   kinetic   ½ (ω · l + v · p) + ½ armature q̇²
//   potential −(m x + A h) · gravity + ½ k (q − q₀)²  zero at the world's origin; a ball's spring ½ k θ², θ its angle;
//             and of a stop ½ k x², x beyond the range
//   momentum  A p, and about the world's origin A l + x × A p
//
// The roots are added up in the end, and what tendons have, and what carries weights, is added there.
#include "pass/body_frames.h"
#include "pass/coupled_force.h"
#include "pass/joint_law.h"

enum { KINETIC, POTENTIAL, LINEAR, ANGULAR = LINEAR + 3, SUM_COUNT = ANGULAR + 3 };

typedef struct energetic {
    cal_world_motion motion;
    double sums[SUM_COUNT]; // of the subtree
} energetic;

static void move(const cal_context* context, int column) {
    cal_world_motion_column(context, column, CAL_DOUBLES(energetic));
}

static void write_own(const cal_context* context, int n, energetic* own) {
    const cal_node* node = &context->model->nodes[n];
    const double *A = own->motion.rotation, *x = own->motion.position, *q_dot = cal_node_v(context, n);
    double* sums = own->sums;
    cal_spatial velocity;
    cal_unrotate3(A, own->motion.angular, velocity.angular);
    cal_unrotate3(A, own->motion.linear, velocity.linear);
    const cal_spatial momentum = cal_inertia_times(node->mass, node->moment, node->second_moment, &velocity);

    double center[3]; // times the mass
    cal_rotate3(A, node->moment, center);
    for (int i = 0; i < 3; i++) center[i] += node->mass * x[i];
    sums[KINETIC] = 0.5 * (cal_dot3(velocity.angular, momentum.angular) + cal_dot3(velocity.linear, momentum.linear));
    for (int i = 0; i < cal_kind_v(node->kind); i++) sums[KINETIC] += 0.5 * node->armature * q_dot[i] * q_dot[i];
    sums[POTENTIAL] =
        cal_node_energy(context->model, node, cal_node_q(context, n)) - cal_dot3(center, context->model->gravity);

    double about_origin[3], spin[3];
    cal_rotate3(A, momentum.linear, sums + LINEAR);
    cal_rotate3(A, momentum.angular, spin);
    cal_cross3(x, sums + LINEAR, about_origin);
    for (int i = 0; i < 3; i++) sums[ANGULAR + i] = spin[i] + about_origin[i];
}

static void sum_energy(const cal_context* context, int column) {
    const cal_model* model = context->model;
    const cal_column* run = &context->layout->columns[column];
    for (int n = run->first_block + run->block_count - 1; n >= run->first_block; n--) {
        energetic* own = cal_node_workspace(context, n, CAL_DOUBLES(energetic));
        write_own(context, n, own);
        for (int c = cal_first_child(model, n); c >= 0; c = cal_next_child(model, n, c)) {
            const energetic* child = cal_node_workspace(context, c, CAL_DOUBLES(energetic));
            for (int i = 0; i < SUM_COUNT; i++) own->sums[i] += child->sums[i];
        }
    }
}

static void add_roots(const cal_context* context) {
    const cal_model* model = context->model;
    memset(context->result, 0, SUM_COUNT * sizeof(double));
    for (int root = 0; root < model->node_count; root = model->nodes[root].end) {
        const energetic* tree = cal_node_workspace(context, root, CAL_DOUBLES(energetic));
        for (int i = 0; i < SUM_COUNT; i++) context->result[i] += tree->sums[i];
    }
    if (cal_model_has_coupled_forces(model))
        context->result[POTENTIAL] += cal_coupled_energy(context, CAL_DOUBLES(energetic));
}

static const cal_pass passes[] = {
    {
        .name = "energy.motion",
        .direction = CAL_OUTBOUND,
        .kernels = {move},
        .crosses = CAL_DOUBLES(cal_world_motion),
        .cost = {.flops = 166, .bytes = sizeof(cal_node) + 2 * sizeof(cal_world_motion)},
    },
    {
        .name = "energy.sum",
        .direction = CAL_INBOUND,
        .kernels = {sum_energy},
        .crosses = SUM_COUNT,
        .cost = {.flops = 176, .bytes = sizeof(cal_node) + 2 * sizeof(energetic)},
    },
};

const cal_program cal_program_energy = {
    .name = "energy",
    .help = "kinetic and potential energy, linear and angular momentum, and poses",
    .spreads = true,
    .node_doubles = CAL_DOUBLES(energetic),
    .fields = 1u << CAL_Q | 1u << CAL_V | 1u << CAL_POSE | 1u << CAL_ENERGY | 1u << CAL_MOMENTUM | 1u << CAL_TENDON,
    .passes = passes,
    .pass_count = 2,
    .finish = add_roots,
};
