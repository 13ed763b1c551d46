// Energy and momentum, summed up the tree.
//
// The roots are added up in the end, and what tendons have, and what carries weights, is added there.
#include "base/wide.h"
#include "math/four.h"
#include "pass/constraint_rows.h"
#include "pass/coupled_force.h"
#include "pass/energy_body.h"

typedef struct energetic {
    cal_world_motion motion;
    double sums[CAL_ENERGY_SUMS]; // of the subtree
} energetic;

static void move(const cal_context* context, int column) {
    cal_world_motion_column(context, column, CAL_DOUBLES(energetic));
}

// The kinetic and potential energy of nodes as in cal_node_energies, with three numbers of a vector in four lanes, which are added up
// in the end.
CAL_WIDE_INLINE double sum_nodes(const cal_model* model, const cal_node_motion* motions, const double* q,
                                 const double* v) {
    const double* gravity = model->gravity;
    const cal_four down = cal_load_three(gravity);
    cal_four total = {0.0};
    double joints = 0.0;
    for (int n = 0; n < model->node_count; n++) {
        const cal_node* node = &model->nodes[n];
        const cal_node_motion* m = &motions[n];
        const cal_four x = cal_load_four(m->rotation), y = cal_load_four(m->rotation + 3),
                       z = cal_load_four(m->rotation + 6), h = cal_load_four(node->moment);
        const cal_four position = cal_load_four(m->base) + cal_load_four(m->origin);
        const cal_four w = x * m->angular[0] + y * m->angular[1] + z * m->angular[2],
                       u = x * m->linear[0] + y * m->linear[1] + z * m->linear[2],
                       g = x * gravity[0] + y * gravity[1] + z * gravity[2];
        // J = tr Σ − Σ: of Σ the diagonal, and what is beside it.
        const cal_four diagonal = cal_load_four(node->second_moment), beside = cal_load_four(node->second_moment + 3);
        const cal_four J = CAL_SHUFFLE(diagonal, diagonal, 1, 0, 0, 3) + CAL_SHUFFLE(diagonal, diagonal, 2, 2, 1, 3);
        const cal_four spin = J * w - CAL_SHUFFLE(beside, beside, 0, 0, 1, 3) * CAL_SHUFFLE(w, w, 1, 0, 0, 3) -
                              CAL_SHUFFLE(beside, beside, 1, 2, 2, 3) * CAL_SHUFFLE(w, w, 2, 2, 1, 3);
        const cal_four angular = spin + cal_cross_four(h, u), linear = node->mass * u - cal_cross_four(h, w);
        total += 0.5 * (w * angular + u * linear) - (g * h + node->mass * (down * position));
        for (int i = 0; i < cal_kind_v(node->kind); i++)
            joints += 0.5 * node->armature * v[node->first_v + i] * v[node->first_v + i];
        joints += cal_node_energy(model, node, q + node->first_q);
    }
    return (total[0] + total[1]) + (total[2] + joints);
}

// Functions of several sets of instructions pass no vectors by value: what does so is called by them.
CAL_WIDE static double sum_motions(const cal_model* model, const cal_node_motion* motions, const double* q,
                                   const double* v) {
    return sum_nodes(model, motions, q, v);
}

double cal_motions_energy(const cal_model* model, const cal_node_motion* motions, const double* q, const double* v) {
    return sum_motions(model, motions, q, v);
}

static void sum_energy(const cal_context* context, int column) {
    const cal_model* model = context->model;
    const cal_column* run = &context->layout->columns[column];
    for (int n = run->first_block + run->block_count - 1; n >= run->first_block; n--) {
        energetic* own = cal_node_workspace(context, n, CAL_DOUBLES(energetic));
        cal_node_sums(model, &model->nodes[n], &own->motion, cal_node_q(context, n), cal_node_v(context, n), own->sums);
        for (int c = cal_first_child(model, n); c >= 0; c = cal_next_child(model, n, c)) {
            const energetic* child = cal_node_workspace(context, c, CAL_DOUBLES(energetic));
            for (int i = 0; i < CAL_ENERGY_SUMS; i++) own->sums[i] += child->sums[i];
        }
    }
}

static void add_roots(const cal_context* context) {
    const cal_model* model = context->model;
    memset(context->result, 0, CAL_ENERGY_SUMS * sizeof(double));
    for (int root = 0; root < model->node_count; root = model->nodes[root].end) {
        const energetic* tree = cal_node_workspace(context, root, CAL_DOUBLES(energetic));
        for (int i = 0; i < CAL_ENERGY_SUMS; i++) context->result[i] += tree->sums[i];
    }
    if (cal_model_has_coupled_forces(model))
        context->result[CAL_SUM_POTENTIAL] += cal_coupled_energy(context, CAL_DOUBLES(energetic));
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
        .crosses = CAL_ENERGY_SUMS,
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
