// The factored mass matrix (mass_factor_body.h) of whole columns. Include once a width.
//
// What nodes are and what becomes of them is in the order of the model (mass_factor.h), where rows of constraints read it; lanes
// without a node repeat another one and write nothing.
#define put_lane LANE(cal_put_lane)
#define load_lanes LANE(cal_load_lanes)
#define load_node LANE(cal_load_node)
#define store_node LANE(cal_store_node)
#define add_children LANE(cal_add_children)

// Numbers of one lane, beside those of the others; and all lanes of them.
LANE_INLINE void put_lane(double* packed, int l, const double* numbers, int count) {
    for (int i = 0; i < count; i++) packed[i * CAL_LANES + l] = numbers[i];
}
LANE_INLINE void load_lanes(const double* packed, int count, lane* out) {
    for (int i = 0; i < count; i++) memcpy(&out[i], packed + i * CAL_LANES, sizeof out[i]);
}

LANE_INLINE void load_node(int kind, const cal_context* context, const cal_column* column, int step,
                           const int32_t* nodes, factored* w) {
    enum { ROTATION = 0, ARM = 9, ARMATURE = 12, COUNT = 18 };
    const cal_mass_factor* tree = (const cal_mass_factor*)context->own;
    const double* constants = find_place(context, column, kind, 0, step).constants;
    double packed[COUNT * CAL_LANES] __attribute__((aligned(CAL_LANES * sizeof(double)))); // read as lanes
    for (int l = 0; l < CAL_LANES; l++) {
        put_lane(packed + ROTATION * CAL_LANES, l, tree->motions[nodes[l]].rotation, 9);
        put_lane(packed + ARM * CAL_LANES, l, tree->motions[nodes[l]].arm, 3);
        if (tree->added)
            put_lane(packed + ARMATURE * CAL_LANES, l, tree->added + tree->model->nodes[nodes[l]].first_v,
                     cal_kind_v(kind));
    }
    lane own[COUNT];
    load_lanes(packed, ARMATURE, own);
    if (tree->added) load_lanes(packed + ARMATURE * CAL_LANES, cal_kind_v(kind), own + ARMATURE);
    w->arm = (v3){own[ARM], own[ARM + 1], own[ARM + 2]};
    for (int i = 0; i < cal_kind_v(kind); i++) {
        w->armature[i] = LOAD(constants, CAL_CONSTANT_ARMATURE);
        if (tree->added) w->armature[i] = w->armature[i] + own[ARMATURE + i];
    }
    find_axes(kind, own + ROTATION, w->S);
    w->I = own_inertia(kind, own + ROTATION, constants);
}

LANE_INLINE void store_node(int kind, bool ends, const cal_mass_factor* tree, const int32_t* nodes, const bool* lives,
                            factored* w) {
    const lane* entries = list_inertia(&w->I);
    const int degrees = cal_kind_v(kind);
    for (int l = 0; l < CAL_LANES; l++) {
        if (!lives[l]) continue;
        const size_t first = (size_t)(6 * tree->model->nodes[nodes[l]].first_v), n = (size_t)nodes[l];
        for (int i = 0; i < 6 * degrees; i++) {
            tree->axes[first + (size_t)i] = get_lane(&w->S[i], l);
            tree->response[first + (size_t)i] = get_lane(&w->V[i], l);
        }
        for (int i = 0; i < degrees; i++)
            for (int j = 0; j <= i; j++)
                tree->root[first + (size_t)(i * degrees + j)] = get_lane(&w->C[i * degrees + j], l);
        tree->arm[3 * n] = get_lane(&w->arm.x, l), tree->arm[3 * n + 1] = get_lane(&w->arm.y, l);
        tree->arm[3 * n + 2] = get_lane(&w->arm.z, l);
        for (int i = 0; i < CAL_MASS_FACTOR_INERTIA && ends; i++)
            tree->inertia[36 * n + (size_t)i] = get_lane(&entries[i], l);
    }
}

// What the columns below a column's last nodes left, child by child in the order of the tree.
LANE_INLINE void add_children(const cal_mass_factor* tree, const int32_t* nodes, const bool* lives, articulated* I) {
    int child[CAL_LANES];
    bool has[CAL_LANES], any = false;
    for (int l = 0; l < CAL_LANES; l++) {
        child[l] = lives[l] ? cal_first_child(tree->model, nodes[l]) : -1;
        any = any || child[l] >= 0;
    }
    while (any) {
        // Read as lanes.
        double packed[CAL_MASS_FACTOR_INERTIA * CAL_LANES] __attribute__((aligned(CAL_LANES * sizeof(double))));
        articulated below;
        any = false;
        for (int l = 0; l < CAL_LANES; l++) {
            has[l] = child[l] >= 0;
            const size_t n = (size_t)(has[l] ? child[l] : nodes[l]);
            put_lane(packed, l, tree->inertia + 36 * n, CAL_MASS_FACTOR_INERTIA);
            if (has[l]) child[l] = cal_next_child(tree->model, nodes[l], child[l]);
            any = any || child[l] >= 0;
        }
        load_lanes(packed, CAL_MASS_FACTOR_INERTIA, list_inertia(&below));
        add_inertia(I, &below, has);
    }
}

// What a medium adds to nodes in an implicit step.
#define resist LANE(cal_resist)
LANE_INLINE void resist(const cal_mass_factor* tree, const int32_t* nodes, articulated* I) {
    double packed[CAL_MASS_FACTOR_INERTIA * CAL_LANES] __attribute__((aligned(CAL_LANES * sizeof(double))));
    lane own[CAL_MASS_FACTOR_INERTIA], *to = list_inertia(I);
    for (int l = 0; l < CAL_LANES; l++)
        put_lane(packed, l, tree->resisting + CAL_MASS_FACTOR_INERTIA * (size_t)nodes[l], CAL_MASS_FACTOR_INERTIA);
    load_lanes(packed, CAL_MASS_FACTOR_INERTIA, own);
    for (int i = 0; i < CAL_MASS_FACTOR_INERTIA; i++) to[i] = to[i] + own[i];
}

#define factor_run LANE(cal_mass_factor_run)
LANE_INLINE void factor_run(int kind, const cal_context* context, const cal_column* column) {
    const cal_mass_factor* tree = (const cal_mass_factor*)context->own;
    const int32_t* blocks = context->layout->block_nodes + (size_t)column->first_block * CAL_WIDTH;
    const int count = step_count(column);
    factored steps[2];
    bool lives[2][CAL_LANES];
    for (int i = count - 1; i >= 0; i--) {
        const step_place of = find_step(column, i);
        const int32_t* own = blocks + (size_t)of.block * CAL_WIDTH + (size_t)of.lane;
        factored *w = &steps[i % 2], *below = &steps[1 - i % 2];
        bool* live = lives[i % 2];
        int32_t nodes[CAL_LANES], any = 0;
        for (int l = 0; l < CAL_LANES; l++)
            if (own[l] >= 0) any = own[l];
        for (int l = 0; l < CAL_LANES; l++) live[l] = own[l] >= 0, nodes[l] = live[l] ? own[l] : any;
        load_node(kind, context, column, i, nodes, w);
        if (i == count - 1)
            add_children(tree, nodes, live, &w->I);
        else
            add_inertia(&w->I, &below->I, lives[1 - i % 2]);
        if (tree->resisting) resist(tree, nodes, &w->I);
        factor_node(kind, column->parent >= 0 || i > 0, w);
        store_node(kind, i == 0, tree, nodes, live, w);
    }
}

LANE_FUNCTION void LANE(factor_column)(const cal_context* context, const cal_column* column) {
    BY_KIND(factor_run, context, column);
}
