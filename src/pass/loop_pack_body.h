// Packs of constraints (loop_pack.h), W lanes of them at a time from lane `at` on. Include after pass/constraint_rows_body.h and
// pass/mass_rows_body.h, once a width.
#define gather_lanes LANE(cal_gather_lanes)
#define load_pack LANE(cal_load_pack)
#define store_pack LANE(cal_store_pack)

// Numbers of W nodes, one after the other in memory, as lanes.
LANE_INLINE void gather_lanes(const double* const* from, int count, lane* out) {
    double* packed = (double*)(void*)out;
    for (int l = 0; l < CAL_LANES; l++)
        for (int i = 0; i < count; i++) packed[i * CAL_LANES + l] = from[l][i];
}

LANE_INLINE void load_pack(const cal_loop_pack* pack, int at, int first, int count, lane* out) {
    for (int i = 0; i < count; i++) memcpy(&out[i], pack->numbers + (first + i) * CAL_PACK_LANES + at, sizeof *out);
}
LANE_INLINE void store_pack(cal_loop_pack* pack, int at, int first, int count, const lane* from) {
    for (int i = 0; i < count; i++) memcpy(pack->numbers + (first + i) * CAL_PACK_LANES + at, &from[i], sizeof *from);
}

#define find_motion LANE(cal_find_motion)
LANE_INLINE void find_motion(const cal_loop_pack* pack, int at, int which, const cal_node_motion* motions,
                             moving* out) {
    static const cal_node_motion ground = {.rotation = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}};
    const double *place[CAL_LANES], *speed[CAL_LANES];
    for (int l = 0; l < CAL_LANES; l++) {
        const cal_node_motion* own = pack->shape->grounded[which] ? &ground : &motions[pack->node[which][at + l]];
        place[l] = own->rotation, speed[l] = own->angular;
    }
    // Rotation, base and origin follow each other, and so do velocities; the arm is not asked for.
    _Static_assert(sizeof(cal_node_motion) == 24 * sizeof(double) &&
                       offsetof(cal_node_motion, arm) == 15 * sizeof(double),
                   "nothing but numbers");
    gather_lanes(place, 15, out->rotation);
    gather_lanes(speed, 6, out->angular);
}

// A row of the pack: what kernels of Y read of it, and the caller's rows.
#define put_pack_row LANE(cal_put_pack_row)
LANE_INLINE void put_pack_row(cal_loop_pack* pack, int at, int r, const moving* a, const moving* b,
                              const row_numbers* row, cal_row* rows) {
    const bool *grounded = pack->shape->grounded, on[2] = {!grounded[1], !grounded[0]};
    const lane* wrench[2] = {row->on_b, row->on_a};
    lane speed = lane_set(-0.0); // as one by one: without a prescribed motion
    if (on[0]) speed += dot_3(row->on_b, b->angular) + dot_3(row->on_b + 3, b->linear);
    if (on[1]) speed += dot_3(row->on_a, a->angular) + dot_3(row->on_a + 3, a->linear);
    store_pack(pack, at, CAL_PACK_WRENCH + 12 * r, 6, row->on_b);
    store_pack(pack, at, CAL_PACK_WRENCH + 12 * r + 6, 6, row->on_a);
    for (int l = 0; l < CAL_LANES && at + l < pack->count; l++) {
        cal_row* out = &rows[pack->first_row[at + l] + r];
        int count = 0;
        for (int side = 0; side < 2; side++) {
            if (!on[side]) continue;
            out->node[count] = pack->node[1 - side][at + l];
            for (int i = 0; i < 3; i++) {
                out->moment[count][i] = LANE_AT(wrench[side][i], l);
                out->force[count][i] = LANE_AT(wrench[side][3 + i], l);
            }
            count++;
        }
        out->constraint = pack->constraint[at + l], out->node_count = count, out->holonomic = true;
        out->error = LANE_AT(row->error, l), out->bias = LANE_AT(row->bias, l), out->speed = LANE_AT(speed, l);
        out->rate = out->change = 0.0;
    }
}

static void LANE(make_pack_rows)(cal_loop_pack* pack, int at, const cal_node_motion* motions, cal_row* rows) {
    const cal_pack_shape* shape = pack->shape;
    moving a, b;
    lane frames[18], offsets[6], length;
    find_motion(pack, at, 0, motions, &a);
    find_motion(pack, at, 1, motions, &b);
    load_pack(pack, at, CAL_PACK_ROTATION, 18, frames);
    load_pack(pack, at, CAL_PACK_OFFSET, 6, offsets);
    load_pack(pack, at, CAL_PACK_LENGTH, 1, &length);
    pair p = {.node = {shape->grounded[0] ? -1 : 0, shape->grounded[1] ? -1 : 0}, .a = &a, .b = &b};
    const lane *const rotation[2] = {frames, frames + 9}, *const offset[2] = {offsets, offsets + 3};
    find_pair(rotation, offset, shape->turns, &p);
    for (int r = 0; r < shape->row_count; r++) {
        row_numbers row;
        const cal_pack_row* how = &shape->rows[r];
        if (how->kind == CAL_PACK_DISPLACEMENT)
            displacement_numbers(&p, how->axis, &row);
        else if (how->kind == CAL_PACK_TURN)
            free_turn_numbers(&p, how->axis, how->free, &row);
        else
            distance_numbers(&p, length, &row);
        put_pack_row(pack, at, r, &a, &b, &row, rows);
    }
}

// --- Inbound -----------------------------------------------------------------------------------------------------------------

// S, V, C and the arm of a joint of all paths: 12 k + k² + 3 numbers.
#define load_joints LANE(cal_load_joints)
LANE_INLINE void load_joints(int kind, const int32_t* nodes, const cal_mass_factor* tree, lane* out) {
    const int k = cal_kind_v(kind), slides = kind == CAL_PRISMATIC ? 3 : 0;
    const double *S[CAL_LANES], *V[CAL_LANES], *C[CAL_LANES], *arm[CAL_LANES];
    for (int l = 0; l < CAL_LANES; l++) {
        const size_t n = (size_t)nodes[l], first = 6 * (size_t)tree->model->nodes[n].first_v;
        S[l] = tree->axes + first + slides, V[l] = tree->response + first, C[l] = tree->root + first;
        arm[l] = tree->arm + 3 * n;
    }
    // Of one degree of freedom the half of S that is not zero is enough.
    gather_lanes(S, k == 1 ? 3 : 6 * k, out + slides);
    gather_lanes(V, 6 * k, out + 6 * k);
    gather_lanes(C, k * k, out + 12 * k);
    gather_lanes(arm, 3, out + 12 * k + k * k);
}

#define load_paths LANE(cal_load_paths)
LANE_INLINE void load_paths(const cal_loop_pack* pack, int at, const cal_mass_factor* tree, lane* out) {
    const cal_pack_shape* shape = pack->shape;
    for (int i = 0; i < shape->node_count; i++) {
        const int kind = shape->joint[i], k = cal_kind_v(kind);
        if (kind == CAL_REVOLUTE)
            load_joints(CAL_REVOLUTE, pack->nodes[i] + at, tree, out);
        else
            load_joints(kind, pack->nodes[i] + at, tree, out);
        out += 12 * k + k * k + 3;
    }
}

// ∑ y² in the order of constraint/constraint_matrix.c's sums: eight of them, interleaved.
#define square_lanes LANE(cal_square_lanes)
LANE_INLINE lane square_lanes(const lane* y, int count) {
    lane sum[8];
    for (int i = 0; i < 8; i++) sum[i] = lane_set(0.0);
    for (; count > 8; count -= 8, y += 8)
        for (int i = 0; i < 8; i++) sum[i] += y[i] * y[i];
    for (int i = 0; i < count; i++) sum[i] += y[i] * y[i];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

// y of one row along all paths, leaves to roots.
#define walk_paths LANE(cal_walk_paths)
LANE_INLINE void walk_paths(const cal_pack_shape* shape, const lane* joints, const lane* wrenches, lane* y) {
    lane passed[CAL_PACK_PLACES][6];
    const lane* own[CAL_PACK_PLACES];
    int at = shape->degrees;
    for (int i = 0; i < shape->node_count; i++) {
        const int k = cal_kind_v(shape->joint[i]);
        own[i] = joints;
        joints += 12 * k + k * k + 3;
    }
    for (int i = shape->node_count - 1; i >= 0; i--) {
        const int kind = shape->joint[i], k = cal_kind_v(kind);
        lane* wrench = passed[i];
        for (int d = 0; d < 6; d++) wrench[d] = lane_set(0.0);
        for (int side = 0; side < 2; side++)
            for (int d = 0; d < 6 && shape->touched[side] == i; d++) wrench[d] = wrenches[side == 1 ? d : 6 + d];
        for (int c = i + 1; c < shape->node_count; c++)
            if (shape->parent[c] == i) {
                const int e = cal_kind_v(shape->joint[c]);
                pull_wrench(passed[c], own[c] + 12 * e + e * e, wrench);
            }
        at -= k;
        if (kind == CAL_REVOLUTE)
            share_wrench(CAL_REVOLUTE, own[i], own[i] + 6, own[i] + 12, wrench, y + at);
        else
            share_wrench(kind, own[i], own[i] + 6 * k, own[i] + 12 * k, wrench, y + at);
    }
}

static void LANE(take_pack_inbound)(const cal_loop_pack* pack, int at, const cal_mass_factor* tree, double* y,
                                    double* squares) {
    const cal_pack_shape* shape = pack->shape;
    lane joints[CAL_PACK_NUMBERS], wrenches[12], own[6 * CAL_PACK_PLACES];
    load_paths(pack, at, tree, joints);
    for (int r = 0; r < shape->row_count; r++) {
        load_pack(pack, at, CAL_PACK_WRENCH + 12 * r, 12, wrenches);
        walk_paths(shape, joints, wrenches, own);
        const lane square = square_lanes(own, shape->degrees);
        for (int l = 0; l < CAL_LANES && at + l < pack->count; l++) {
            double* out = y + pack->first_y[at + l] + (size_t)(r * shape->degrees);
            // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): walk_paths has written `degrees` of them
            for (int k = 0; k < shape->degrees; k++) out[k] = LANE_AT(own[k], l);
            squares[pack->first_row[at + l] + r] = LANE_AT(square, l);
        }
    }
}
