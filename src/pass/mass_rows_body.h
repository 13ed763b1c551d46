// The y of a constraint's rows (mass_factor.h), a row per lane, and the way back outbound. Include after math/lanes.h and pass/wrench_body.h, once a width.
#define take_rows LANE(cal_take_rows)
#define put_rows LANE(cal_put_rows)
#define pull_rows LANE(cal_pull_rows)
#define share_rows LANE(cal_share_rows)
#define act_rows LANE(cal_act_rows)
#define row_of_lane LANE(cal_row_of_lane)

#if CAL_LANES == 1
LANE_INLINE void put_rows(lane* x, int l, double value) {
    (void)l;
    *x = value;
}
LANE_INLINE double row_of_lane(const lane* x, int l) {
    (void)l;
    return *x;
}
#else
LANE_INLINE void put_rows(lane* x, int l, double value) { (*x)[l] = value; }
LANE_INLINE double row_of_lane(const lane* x, int l) { return (*x)[l]; }
#endif

// given: the width of who has lent the numbers, zero: they are in the arrays.
#define arm_of LANE(cal_arm_of)
LANE_INLINE void arm_of(const cal_mass_factor* tree, int child, size_t given, lane* s) {
    const double* arm = given ? tree->joints[child].record + CAL_ABA_D * given : tree->arm + 3 * (size_t)child;
    const size_t next = given ? given : 1;
    for (size_t i = 0; i < 3; i++) s[i] = lane_set(arm[i * next]);
}
// Adds what a child passes on to its parent's wrenches; or makes these of it.
#define carry_rows LANE(cal_carry_rows)
LANE_INLINE void carry_rows(const cal_mass_factor* tree, int child, size_t given, const lane* passed, lane* wrench) {
    lane s[3];
    arm_of(tree, child, given, s);
    pull_wrench(passed, s, wrench);
}
#define lift_rows LANE(cal_lift_rows)
LANE_INLINE void lift_rows(const cal_mass_factor* tree, int child, size_t given, lane* f) {
    lane s[3];
    arm_of(tree, child, given, s);
    f[0] += s[1] * f[5] - s[2] * f[4];
    f[1] += s[2] * f[3] - s[0] * f[5];
    f[2] += s[0] * f[4] - s[1] * f[3];
}
LANE_INLINE void pull_rows(const cal_mass_factor* tree, int child, size_t given, lane* wrench) {
    lane passed[SIX];
    memcpy(passed, tree->inertia + SQUARE * (size_t)child, sizeof passed);
    carry_rows(tree, child, given, passed, wrench);
}

// y of one node, or Sᵀ f where numbers are lent; its wrenches then hold what goes on.
LANE_INLINE void share_rows(const cal_mass_factor* tree, int n, int kind, size_t given, lane* wrench, lane* y) {
    const cal_node* node = &tree->model->nodes[n];
    const size_t first = (size_t)(SIX * node->first_v);
    const int degrees = cal_kind_v(kind);
    if (given) { // of joints with one degree of freedom
        const cal_joint_numbers* from = &tree->joints[n];
        lane z[3], U[SIX];
        for (int i = 0; i < 3; i++) z[i] = lane_set(from->record[(size_t)(CAL_ABA_Z + i) * given]);
        for (int i = 0; i < SIX; i++) U[i] = lane_set(from->response[(size_t)i * given]);
        pass_wrench(kind, z, U, lane_set(from->response[CAL_ABA_OVER * given]), wrench, y);
        return;
    }
    lane S[SQUARE], V[SQUARE], C[SQUARE];
    for (int i = 0; i < SIX * degrees; i++)
        S[i] = lane_set(tree->axes[first + (size_t)i]), V[i] = lane_set(tree->response[first + (size_t)i]);
    for (int i = 0; i < degrees * degrees; i++) C[i] = lane_set(tree->root[first + (size_t)i]);
    share_wrench(kind, S, V, C, wrench, y);
}

// The rows' own wrenches on a node.
LANE_INLINE void act_rows(const cal_row* rows, int count, int node, lane* wrench) {
    for (int r = 0; r < count; r++)
        for (int k = 0; k < rows[r].node_count; k++)
            for (int d = 0; d < 3 && rows[r].node[k] == node; d++) {
                put_rows(&wrench[d], r, rows[r].moment[k][d]);
                put_rows(&wrench[3 + d], r, rows[r].force[k][d]);
            }
}

// Whether all that a node of the list passes on is taken up by the place before it, and nobody else passes anything there: along a
// chain wrenches stay in registers.
#define goes_straight LANE(cal_goes_straight)
LANE_INLINE bool goes_straight(const cal_node* all, const int32_t* nodes, int node_count, int i, int after) {
    return i > 0 && nodes[i - 1] == all[nodes[i]].parent &&
           (after == node_count || nodes[after] >= all[nodes[i - 1]].end);
}

// Goes on from place `i` as long as it is straight, over revolute joints that no row acts on: what is passed on stays in registers. Returns
// the last place that it came to. touched: the next node that rows act on; y: behind those of the next place.
#define climb_rows LANE(cal_climb_rows)
LANE_INLINE int climb_rows(const cal_mass_factor* tree, const int32_t* nodes, int node_count, int i, int touched,
                           int count, size_t given, lane* passed, double* y, size_t stride) {
    const cal_node* all = tree->model->nodes;
    const int32_t below = tree->after[i];
    lane own[SIX];
    memcpy(own, passed, sizeof own);
    while (goes_straight(all, nodes, node_count, i, below) && all[nodes[i - 1]].kind == CAL_REVOLUTE &&
           nodes[i - 1] != touched) {
        lane share[SIX];
        lift_rows(tree, nodes[i], given, own);
        i--, y--;
        share_rows(tree, nodes[i], CAL_REVOLUTE, given, own, share);
        for (int r = 0; r < count; r++) y[(size_t)r * stride] = row_of_lane(&share[0], r);
        tree->after[i] = below;
    }
    memcpy(passed, own, sizeof own);
    return i;
}

// count: rows, not more than lanes; y: of the first one, those of the others `stride` further each.
LANE_INLINE void take_rows(cal_mass_factor* tree, const cal_row* rows, int count, const int32_t* nodes, int node_count,
                           size_t given, double* y, size_t stride) {
    const cal_node* all = tree->model->nodes;
    int32_t* after = tree->after; // per place in the list: where what hangs below the node ends in it
    int32_t touched[CAL_ROW_NODES * CAL_LANES];
    int touched_count = find_touched(rows, count, touched);
    size_t at = stride;
    bool straight = false;
    lane passed[SIX];
    for (int i = node_count - 1; i >= 0; i--) {
        const int n = nodes[i];
        const cal_node* node = &all[n];
        lane wrench[SIX], share[SIX];
        int below = i + 1;
        for (int d = 0; d < SIX; d++) wrench[d] = share[d] = lane_set(0.0); // gcc cannot see that it is set
        const bool acts = touched_count > 0 && touched[touched_count - 1] == n;
        if (acts) {
            act_rows(rows, count, n, wrench);
            touched_count--;
        }
        if (straight) {
            if (acts) {
                carry_rows(tree, nodes[below], given, passed, wrench);
            } else {
                lift_rows(tree, nodes[below], given, passed);
                memcpy(wrench, passed, sizeof wrench);
            }
            below = after[below];
        }
        for (; !straight && below < node_count && nodes[below] < node->end; below = after[below])
            pull_rows(tree, nodes[below], given, wrench);
        after[i] = below;
        const int degrees = cal_kind_v(node->kind);
        if (node->kind == CAL_REVOLUTE)
            share_rows(tree, n, CAL_REVOLUTE, given, wrench, share);
        else if (node->kind == CAL_PRISMATIC)
            share_rows(tree, n, CAL_PRISMATIC, given, wrench, share);
        else
            share_rows(tree, n, node->kind, given, wrench, share);
        at -= (size_t)degrees;
        for (int k = 0; k < degrees; k++)
            for (int r = 0; r < count; r++) y[(size_t)r * stride + at + (size_t)k] = row_of_lane(&share[k], r);
        memcpy(passed, wrench, sizeof wrench);
        straight = goes_straight(all, nodes, node_count, i, below);
        if (straight) {
            const int from = i, next = touched_count > 0 ? touched[touched_count - 1] : -1;
            i = climb_rows(tree, nodes, node_count, i, next, count, given, passed, y + at, stride);
            at -= (size_t)(from - i);
            straight = goes_straight(all, nodes, node_count, i, below);
        }
        if (!straight) memcpy(tree->inertia + SQUARE * (size_t)nodes[i], passed, sizeof passed);
    }
}

// With a width that a compiler knows.
#define take_any_rows LANE(cal_take_any_rows)
LANE_FUNCTION void take_any_rows(cal_mass_factor* tree, const cal_row* rows, int count, const int32_t* nodes,
                                 int node_count, double* y, size_t stride) {
    const size_t given = tree->given ? (size_t)tree->given->layout->width : 0;
    if (given == 0)
        take_rows(tree, rows, count, nodes, node_count, 0, y, stride);
    else if (given == CAL_WIDTH)
        take_rows(tree, rows, count, nodes, node_count, CAL_WIDTH, y, stride);
    else
        take_rows(tree, rows, count, nodes, node_count, given, y, stride);
}

// A node's S, V, C and arm where numbers are lent: V = U C, C = √D⁻¹.
#define lent_factors LANE(cal_lent_factors)
typedef struct lent_factors {
    double S[SIX], V[SIX], C, arm[3];
} lent_factors;
#define take_lent LANE(cal_take_lent)
LANE_INLINE void take_lent(const cal_mass_factor* tree, int n, int kind, size_t given, lent_factors* out) {
    const cal_joint_numbers* from = &tree->joints[n];
    const int slides = kind == CAL_PRISMATIC ? 3 : 0;
    out->C = sqrt(from->response[CAL_ABA_OVER * given]);
    for (int i = 0; i < 3; i++) {
        out->S[slides + i] = from->record[(size_t)(CAL_ABA_Z + i) * given], out->S[3 - slides + i] = 0.0;
        out->arm[i] = from->record[(size_t)(CAL_ABA_D + i) * given];
    }
    for (int i = 0; i < SIX; i++) out->V[i] = from->response[(size_t)i * given] * out->C;
}

// Rates of one node's joint, from its parent's motion, which becomes its own. given: as above.
#define rates_of LANE(cal_rates_of)
LANE_INLINE void rates_of(const cal_mass_factor* tree, int n, int kind, size_t given, const double* share,
                          size_t stride, lane* motion, double* out) {
    const cal_node* node = &tree->model->nodes[n];
    const size_t first = (size_t)(SIX * node->first_v);
    const int degrees = given ? 1 : cal_kind_v(kind);
    const double *V = tree->response + first, *S = tree->axes + first, *C = tree->root + first,
                 *arm = tree->arm + 3 * (size_t)n;
    lane rate[SIX];
    lent_factors lent;
    if (given) {
        take_lent(tree, n, kind, given, &lent);
        V = lent.V, S = lent.S, C = &lent.C, arm = lent.arm;
    }
    if (node->parent >= 0) {
        const lane s[3] = {lane_set(arm[0]), lane_set(arm[1]), lane_set(arm[2])};
        motion[3] += motion[1] * s[2] - motion[2] * s[1];
        motion[4] += motion[2] * s[0] - motion[0] * s[2];
        motion[5] += motion[0] * s[1] - motion[1] * s[0];
    }
    for (int k = 0; k < degrees; k++, V += SIX) {
        memcpy(&rate[k], share + (size_t)(node->first_v + k) * stride, sizeof rate[k]);
        const lane turned = (V[0] * motion[0] + V[1] * motion[1]) + V[2] * motion[2],
                   slid = (V[3] * motion[3] + V[4] * motion[4]) + V[5] * motion[5];
        rate[k] -= turned + slid;
    }
    for (int k = degrees - 1; k >= 0; k--) {
        for (int e = k + 1; e < degrees; e++) rate[k] -= C[e * degrees + k] * rate[e];
        rate[k] *= C[k * degrees + k];
        memcpy(out + (size_t)(node->first_v + k) * stride, &rate[k], sizeof rate[k]);
    }
    for (int k = 0; k < degrees; k++, S += SIX) {
        for (int i = 0; i < 3 && kind != CAL_PRISMATIC; i++) motion[i] += S[i] * rate[k];
        for (int i = 3; i < SIX && (kind == CAL_PRISMATIC || kind == CAL_FREE); i++) motion[i] += S[i] * rate[k];
    }
}

// Other children than the first one ask for a node's motion later.
#define keep_motion LANE(cal_keep_motion)
LANE_INLINE void keep_motion(cal_mass_factor* tree, int n, const lane* motion) {
    const cal_node* all = tree->model->nodes;
    if (n + 1 < all[n].end && all[n + 1].end < all[n].end)
        memcpy(tree->inertia + SQUARE * (size_t)n, motion, SIX * sizeof *motion);
}

// As rates_of, for a revolute node and the chain of such below it: its motion stays in registers. Returns the first node that is not of it.
#define run_rates LANE(cal_run_rates)
LANE_INLINE int run_rates(cal_mass_factor* tree, int n, size_t given, const double* share, size_t stride, lane* motion,
                          double* out) {
    const cal_model* model = tree->model;
    lane own[SIX];
    memcpy(own, motion, sizeof own);
    do {
        rates_of(tree, n, CAL_REVOLUTE, given, share, stride, own, out);
        keep_motion(tree, n, own);
        n++;
    } while (n < model->node_count && model->nodes[n].parent == n - 1 && model->nodes[n].kind == CAL_REVOLUTE);
    memcpy(motion, own, sizeof own);
    return n;
}

// As cal_mass_factor_outbound, for a share per lane.
#define give_all_rates LANE(cal_give_all_rates)
LANE_INLINE void give_all_rates(cal_mass_factor* tree, size_t given, const double* share, size_t stride, double* out) {
    const cal_model* model = tree->model;
    const cal_node* all = model->nodes;
    lane motion[SIX];
    for (int n = 0; n < model->node_count;) {
        const cal_node* node = &all[n];
        if (node->parent < 0)
            for (int i = 0; i < SIX; i++) motion[i] = lane_set(0.0);
        else if (node->parent != n - 1) // else it is what the last turn left
            memcpy(motion, tree->inertia + SQUARE * (size_t)node->parent, sizeof motion);
        if (node->kind == CAL_REVOLUTE) {
            n = run_rates(tree, n, given, share, stride, motion, out);
        } else {
            rates_of(tree, n, node->kind, given, share, stride, motion, out);
            keep_motion(tree, n, motion);
            n++;
        }
    }
}

// With a width that a compiler knows.
#define give_rates LANE(cal_give_rates)
LANE_FUNCTION void give_rates(cal_mass_factor* tree, const double* share, size_t stride, double* out) {
    const size_t given = tree->given ? (size_t)tree->given->layout->width : 0;
    if (given == 0)
        give_all_rates(tree, 0, share, stride, out);
    else if (given == CAL_WIDTH)
        give_all_rates(tree, CAL_WIDTH, share, stride, out);
    else
        give_all_rates(tree, given, share, stride, out);
}
