// The factored mass matrix along a revolute chain (a long column). Include after mass_factor_columns.h, with CAL_LANES = CAL_WIDTH > 1.
//
// Own inertias and axes in the world's axes do not recur: they are found for a block of W joints at once, and what articulated
// inertias make of them joint by joint.

// What is found in lanes, a row per number: z, Θ, h, mass, arm, armature.
enum {
    LANE(CHAIN_Z) = 0,
    LANE(CHAIN_T) = 3,
    LANE(CHAIN_H) = 9,
    LANE(CHAIN_MASS) = 12,
    LANE(CHAIN_ARM) = 13,
    LANE(CHAIN_ARMATURE) = 16,
    LANE(CHAIN_ROWS) = 17
};

#define load_block LANE(cal_load_block)
LANE_INLINE void load_block(const cal_context* context, const cal_column* column, int block, const int32_t* nodes,
                            double (*rows)[CAL_WIDTH]) {
    factored w;
    load_node(CAL_REVOLUTE, context, column, block, nodes, &w);
    double* out = rows[0];
    store3(out, LANE(CHAIN_Z), (v3){w.S[0], w.S[1], w.S[2]});
    store_symmetric(out, LANE(CHAIN_T), w.I.T);
    store3(out, LANE(CHAIN_H), (v3){w.I.H.y.z, w.I.H.z.x, w.I.H.x.y});
    STORE(out, LANE(CHAIN_MASS), w.I.M.xx);
    store3(out, LANE(CHAIN_ARM), w.arm);
    STORE(out, LANE(CHAIN_ARMATURE), w.armature[0]);
}

// One joint of a block: its axis, its own inertia, its arm and what is beside D; the numbers that a column's step has in arrays, by name.
#define joint_of LANE(cal_joint_of)
typedef struct joint_of {
    cal_v3_1 axis, arm;
    double armature;
    cal_articulated_1 I;
} joint_of;

#define load_joint LANE(cal_load_joint)
LANE_INLINE joint_of load_joint(double (*rows)[CAL_WIDTH], int l) {
#define ROW(i, k) rows[LANE(i) + (k)][l]
    const double x = ROW(CHAIN_H, 0), y = ROW(CHAIN_H, 1), z = ROW(CHAIN_H, 2), mass = ROW(CHAIN_MASS, 0);
    return (joint_of){.axis = {ROW(CHAIN_Z, 0), ROW(CHAIN_Z, 1), ROW(CHAIN_Z, 2)},
                      .arm = {ROW(CHAIN_ARM, 0), ROW(CHAIN_ARM, 1), ROW(CHAIN_ARM, 2)},
                      .armature = ROW(CHAIN_ARMATURE, 0),
                      .I = {.T = {ROW(CHAIN_T, 0), ROW(CHAIN_T, 1), ROW(CHAIN_T, 2), ROW(CHAIN_T, 3), ROW(CHAIN_T, 4),
                                  ROW(CHAIN_T, 5)},
                            .H = {{0.0, z, -y}, {-z, 0.0, x}, {y, -x, 0.0}},
                            .M = {mass, mass, mass, 0.0, 0.0, 0.0}}};
#undef ROW
}

#define add_below LANE(cal_add_below)
LANE_INLINE void add_below(cal_articulated_1* I, const cal_articulated_1* below) {
    I->T = cal_s3_add_1(I->T, below->T), I->M = cal_s3_add_1(I->M, below->M);
    I->H = (cal_m3_1){cal_v3_add_1(I->H.x, below->H.x), cal_v3_add_1(I->H.y, below->H.y),
                      cal_v3_add_1(I->H.z, below->H.z)};
}

// The same operations as factor_node and store_node, for one joint that turns.
#define factor_joint LANE(cal_factor_joint)
LANE_INLINE void factor_joint(const cal_mass_factor* tree, int node, bool has_parent, joint_of* j) {
    const size_t first = 6 * (size_t)tree->model->nodes[node].first_v;
    double *S = tree->axes + first, *V = tree->response + first, *arm = tree->arm + 3 * (size_t)node;
    const cal_v3_1 z = j->axis, n = cal_s3_times_1(j->I.T, z), f = cal_m3_transpose_times_1(j->I.H, z);
    const double D = z.x * n.x + z.y * n.y + z.z * n.z + j->armature, over = 1.0 / D, C = 1.0 / sqrt(D);
    S[0] = z.x, S[1] = z.y, S[2] = z.z, S[3] = S[4] = S[5] = 0.0;
    V[0] = n.x * C, V[1] = n.y * C, V[2] = n.z * C, V[3] = f.x * C, V[4] = f.y * C, V[5] = f.z * C;
    arm[0] = j->arm.x, arm[1] = j->arm.y, arm[2] = j->arm.z;
    tree->root[first] = C;
    if (!has_parent) return;
    cal_move_1(&j->I, j->arm);
    const cal_v3_1 moved = cal_v3_fma_cross_1(j->arm, f, n);
    cal_eliminate_1(&j->I, moved, f, cal_v3_scale_1(moved, over), cal_v3_scale_1(f, over), 0.0);
}

static void LANE(chain_factor)(const cal_context* context, const cal_column* column) {
    const cal_mass_factor* tree = context->own;
    const int32_t* blocks = context->layout->block_nodes + (size_t)column->first_block * CAL_WIDTH;
    _Alignas(64) double rows[LANE(CHAIN_ROWS)][CAL_WIDTH];
    static const bool lives = true;
    cal_articulated_1 below = {0};
    for (int i = column->node_count - 1; i >= 0; i--) {
        const int block = i / CAL_WIDTH, l = i % CAL_WIDTH;
        const int32_t *own = blocks + (size_t)block * CAL_WIDTH, *node = own + l;
        if (i == column->node_count - 1 || l == CAL_WIDTH - 1) {
            int32_t nodes[CAL_WIDTH];
            for (int k = 0; k < CAL_WIDTH; k++) nodes[k] = own[k] >= 0 ? own[k] : *own;
            load_block(context, column, block, nodes, rows);
        }
        joint_of j = load_joint(rows, l);
        if (i == column->node_count - 1) {
            cal_articulated_1 last = j.I; // its address is taken: not that of what recurs
            cal_add_children_1(tree, node, &lives, &last);
            j.I = last;
        } else {
            add_below(&j.I, &below);
        }
        if (tree->resisting) {
            cal_articulated_1 all = j.I;
            cal_resist_1(tree, node, &all);
            j.I = all;
        }
        factor_joint(tree, *node, column->parent >= 0 || i > 0, &j);
        below = j.I;
    }
    // Left for the parent, where that is in another column.
    cal_articulated_1 left = below;
    memcpy(tree->inertia + 36 * (size_t)*blocks, cal_list_inertia_1(&left), CAL_MASS_FACTOR_INERTIA * sizeof(double));
}
