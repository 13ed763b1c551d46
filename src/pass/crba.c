// The mass matrix by the composite rigid body algorithm, and forward dynamics by a dense solve: the check of the
// articulated-body passes, with nothing in common with them (Featherstone 2008, tables 5.1 and 6.2).
//
//   I_i^c = I_i + ∑ over children X* I_c X           composite inertia of the subtree, in the node's frame
//   F = I_i^c S_i,  M_ii = S_iᵀ F + armature_i,  then for each ancestor j:  F ← X* F,  M_ij = S_jᵀ F
//   M q̈ = force − bias                               bias: what inverse dynamics gives for q̈ = 0 (rnea.c)
//
// The composite inertia is kept as mass m, moment h and second moment Σ, which move to the parent's frame as
//   h' = R h + m r,   Σ' = R Σ Rᵀ + (R h) rᵀ + r (R h)ᵀ + m r rᵀ.
//
// M is in the user's order, rows. M = L Lᵀ; L is kept behind M. A dense solve knows no tree: the first column, which is
// the last one of an inbound pass and the first one of an outbound pass, does it for all.
#include "pass/body_frames.h"
#include "pass/joint_force.h"

typedef struct composite {
    cal_newton_euler motion;
    double mass, moment[3], second[6];
} composite;

static void move(const cal_context* context, int column) {
    const cal_column* run = &context->layout->columns[column];
    for (int n = run->first_block; n < run->first_block + run->block_count; n++)
        memset(cal_node_qdd(context, n), 0, (size_t)cal_kind_v(run->kind) * sizeof(double));
    cal_newton_euler_motion(context, column, CAL_DOUBLES(composite));
}

static void add_child(composite* own, const composite* child) {
    const double *R = child->motion.rotation, *r = child->motion.offset, m = child->mass, *s = child->second;
    const double sigma[9] = {s[0], s[3], s[4], s[3], s[1], s[5], s[4], s[5], s[2]};
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    double h[3], turned[9];
    cal_rotate3(R, child->moment, h);
    cal_multiply33(R, sigma, turned);
    for (int k = 0; k < 6; k++) {
        const int i = row[k], j = col[k];
        own->second[k] += cal_dot3(turned + 3 * i, R + 3 * j) + h[i] * r[j] + r[i] * h[j] + m * r[i] * r[j];
    }
    for (int i = 0; i < 3; i++) own->moment[i] += h[i] + m * r[i];
    own->mass += m;
}

// One degree of freedom's row of M, and its mirror image: from the node itself up to its root.
static void write_row(const cal_context* context, int n, int degree) {
    const cal_model* model = context->model;
    const size_t size = (size_t)model->v_count, row = (size_t)model->nodes[n].first_v + (size_t)degree;
    const composite* own = cal_node_workspace(context, n, CAL_DOUBLES(composite));
    double unit[6] = {0.0};
    unit[degree] = 1.0;
    const cal_spatial s = cal_joint_motion(&model->nodes[n], own->motion.rotation, unit);
    cal_spatial force = cal_inertia_times(own->mass, own->moment, own->second, &s);
    for (int a = n; a >= 0; a = model->nodes[a].parent) {
        const cal_node* node = &model->nodes[a];
        const composite* ancestor = cal_node_workspace(context, a, CAL_DOUBLES(composite));
        double share[6];
        cal_joint_share(node, ancestor->motion.rotation, &force, share);
        if (a == n) share[degree] += node->armature;
        for (int k = 0; k < cal_kind_v(node->kind); k++) {
            const size_t other = (size_t)node->first_v + (size_t)k;
            context->result[row * size + other] = context->result[other * size + row] = share[k];
        }
        force = cal_force_to_parent(ancestor->motion.rotation, ancestor->motion.offset, &force);
    }
}

// The composite inertia of a node, and its rows of M.
static void compose_node(const cal_context* context, int n) {
    const cal_model* model = context->model;
    const cal_node* node = &model->nodes[n];
    composite* own = cal_node_workspace(context, n, CAL_DOUBLES(composite));
    own->mass = node->mass;
    memcpy(own->moment, node->moment, sizeof own->moment);
    memcpy(own->second, node->second_moment, sizeof own->second);
    for (int c = cal_first_child(model, n); c >= 0; c = cal_next_child(model, n, c))
        add_child(own, cal_node_workspace(context, c, CAL_DOUBLES(composite)));
    for (int k = 0; k < cal_kind_v(node->kind); k++) write_row(context, n, k);
}

static void compose(const cal_context* context, int column) {
    const cal_layout* layout = context->layout;
    const cal_column* run = &layout->columns[column];
    cal_joint_forces(context, column);
    for (int n = run->first_block + run->block_count - 1; n >= run->first_block; n--) {
        double bias[6], *right_side = cal_node_qdd(context, n);
        cal_newton_euler_force(context, n, CAL_DOUBLES(composite), bias);
        compose_node(context, n);
        for (int k = 0; k < cal_kind_v(context->model->nodes[n].kind); k++)
            right_side[k] = context->force[layout->block_v[n] + k] - bias[k];
    }
}

// M alone needs no velocities, forces or factors.
static void place(const cal_context* context, int column) {
    const cal_column* run = &context->layout->columns[column];
    for (int n = run->first_block; n < run->first_block + run->block_count; n++) {
        composite* own = cal_node_workspace(context, n, CAL_DOUBLES(composite));
        cal_place_node(&context->model->nodes[n], cal_node_q(context, n), own->motion.rotation, own->motion.offset);
    }
}

static void compose_alone(const cal_context* context, int column) {
    const cal_column* run = &context->layout->columns[column];
    for (int n = run->first_block + run->block_count - 1; n >= run->first_block; n--) compose_node(context, n);
}

// M = L Lᵀ, rows of L; false when M is not positive definite.
static bool factorize(const double* M, double* L, size_t size) {
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = M[i * size + j];
            for (size_t k = 0; k < j; k++) sum -= L[i * size + k] * L[j * size + k];
            if (i == j && !(sum > 0.0)) return false;
            L[i * size + j] = i == j ? sqrt(sum) : sum / L[j * size + j];
        }
    return true;
}

// Solves L Lᵀ x = b in place; x and b are scattered: the user's component i is at x[position[i]].
static void substitute(const double* L, size_t size, const int32_t* position, double* x) {
    for (size_t i = 0; i < size; i++) {
        double sum = x[position[i]];
        for (size_t k = 0; k < i; k++) sum -= L[i * size + k] * x[position[k]];
        x[position[i]] = sum / L[i * size + i];
    }
    for (size_t i = size; i-- > 0;) {
        double sum = x[position[i]];
        for (size_t k = i + 1; k < size; k++) sum -= L[k * size + i] * x[position[k]];
        x[position[i]] = sum / L[i * size + i];
    }
}

// ½ q ∘ (0, ω)
static void quaternion_rate(const double q[4], const double w[3], double out[4]) {
    const double half[4] = {0.0, 0.5 * w[0], 0.5 * w[1], 0.5 * w[2]};
    cal_quaternion_multiply(q, half, out);
}

static void solve(const cal_context* context, int column) {
    const cal_layout* layout = context->layout;
    const cal_column* run = &layout->columns[column];
    if (column == 0) {
        const size_t size = (size_t)context->model->v_count;
        double* L = context->result + size * size;
        if (factorize(context->result, L, size))
            substitute(L, size, layout->v_position, context->ydot);
        else
            for (size_t i = 0; i < size; i++) context->ydot[layout->v_position[i]] = NAN;
    }
    for (int n = run->first_block; n < run->first_block + run->block_count; n++) {
        const double *q = cal_node_q(context, n), *v = cal_node_v(context, n);
        double* rate = context->ydot + layout->block_y[n];
        switch (run->kind) {
        case CAL_BALL: quaternion_rate(q, v, rate); break;
        case CAL_FREE:
            memcpy(rate, v, 3 * sizeof(double));
            quaternion_rate(q + 3, v + 3, rate + 3);
            break;
        default: rate[0] = v[0];
        }
    }
}

// The composite pass costs 42 operations more for each ancestor, and the solve n²/3 + 2 n for each of n degrees of freedom.
static const cal_pass passes[] = {
    {
        .name = "crba.bias",
        .direction = CAL_OUTBOUND,
        .kernels = {move},
        .crosses = 9 + 2 * CAL_SPATIAL_DOUBLES,
        .cost = {.flops = 358, .bytes = sizeof(cal_node) + 2 * sizeof(composite)},
    },
    {
        .name = "crba.composite",
        .direction = CAL_INBOUND,
        .kernels = {compose},
        .crosses = CAL_SPATIAL_DOUBLES + 10,
        .cost = {.flops = 287, .bytes = 3 * sizeof(composite)},
    },
    {
        .name = "crba.solve",
        .direction = CAL_OUTBOUND,
        .kernels = {solve},
        .crosses = 1,
        .cost = {.flops = 0, .bytes = 4 * sizeof(double)},
    },
};

const cal_program cal_program_crba = {
    .name = "crba",
    .help = "mass matrix by composite rigid bodies, and forward dynamics by a dense solve",
    .solves = true,
    .node_doubles = CAL_DOUBLES(composite),
    .fields = 1u << CAL_Q | 1u << CAL_V | 1u << CAL_TAU | 1u << CAL_QDD | 1u << CAL_CONTROL | 1u << CAL_MASS,
    .passes = passes,
    .pass_count = 3,
};

static const cal_pass mass_passes[] = {
    {
        .name = "mass.place",
        .direction = CAL_OUTBOUND,
        .kernels = {place},
        .crosses = 1,
        .cost = {.flops = 45, .bytes = sizeof(cal_node) + 12 * sizeof(double)},
    },
    {
        .name = "mass.composite",
        .direction = CAL_INBOUND,
        .kernels = {compose_alone},
        .crosses = CAL_SPATIAL_DOUBLES + 10,
        .cost = {.flops = 236, .bytes = 3 * sizeof(composite)},
    },
};

const cal_program cal_program_mass = {
    .name = "mass",
    .help = "mass matrix by composite rigid bodies, to the bits of crba",
    .node_doubles = CAL_DOUBLES(composite),
    .fields = 1u << CAL_Q | 1u << CAL_MASS,
    .passes = mass_passes,
    .pass_count = 2,
};
