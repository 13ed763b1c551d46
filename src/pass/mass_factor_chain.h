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

// One joint of a block, as a step of its own.
#define load_joint LANE(cal_load_joint)
LANE_INLINE void load_joint(double (*rows)[CAL_WIDTH], int l, cal_factored_1* w) {
#define ROW(i) rows[LANE(i)][l]
#define NEXT(i, k) rows[LANE(i) + (k)][l]
    const double x = ROW(CHAIN_H), y = NEXT(CHAIN_H, 1), z = NEXT(CHAIN_H, 2), mass = ROW(CHAIN_MASS);
    for (int i = 0; i < 3; i++) w->S[i] = NEXT(CHAIN_Z, i), w->S[3 + i] = 0.0;
    w->I.T = (cal_s3_1){ROW(CHAIN_T),     NEXT(CHAIN_T, 1), NEXT(CHAIN_T, 2),
                        NEXT(CHAIN_T, 3), NEXT(CHAIN_T, 4), NEXT(CHAIN_T, 5)};
    w->I.H = (cal_m3_1){{0.0, z, -y}, {-z, 0.0, x}, {y, -x, 0.0}};
    w->I.M = (cal_s3_1){mass, mass, mass, 0.0, 0.0, 0.0};
    w->arm = (cal_v3_1){ROW(CHAIN_ARM), NEXT(CHAIN_ARM, 1), NEXT(CHAIN_ARM, 2)};
    w->armature[0] = ROW(CHAIN_ARMATURE);
#undef ROW
#undef NEXT
}

static void LANE(chain_factor)(const cal_context* context, const cal_column* column) {
    const cal_mass_factor* tree = context->own;
    const int32_t* blocks = context->layout->block_nodes + (size_t)column->first_block * CAL_WIDTH;
    _Alignas(64) double rows[LANE(CHAIN_ROWS)][CAL_WIDTH];
    static const bool lives = true;
    cal_factored_1 steps[2];
    for (int i = column->node_count - 1; i >= 0; i--) {
        const int block = i / CAL_WIDTH, l = i % CAL_WIDTH;
        const int32_t *own = blocks + (size_t)block * CAL_WIDTH, *node = own + l;
        if (i == column->node_count - 1 || l == CAL_WIDTH - 1) {
            int32_t nodes[CAL_WIDTH];
            for (int k = 0; k < CAL_WIDTH; k++) nodes[k] = own[k] >= 0 ? own[k] : *own;
            load_block(context, column, block, nodes, rows);
        }
        cal_factored_1 *w = &steps[i % 2], *below = &steps[1 - i % 2];
        load_joint(rows, l, w);
        if (i == column->node_count - 1)
            cal_add_children_1(tree, node, &lives, &w->I);
        else
            cal_add_inertia_1(&w->I, &below->I, &lives);
        cal_factor_node_1(CAL_REVOLUTE, column->parent >= 0 || i > 0, w);
        cal_store_node_1(CAL_REVOLUTE, i == 0, tree, node, &lives, w);
    }
}
