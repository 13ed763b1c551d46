// Packs of constraints (loop_pack.h), W lanes of them at a time from lane `at` on. Include after pass/constraint_rows_body.h and
// pass/mass_rows_body.h, once a width.
#define gather_lanes LANE(cal_gather_lanes)
#define load_pack LANE(cal_load_pack)
#define store_pack LANE(cal_store_pack)

#if CAL_LANES >= 4
// Four by four numbers, turned over.
#define turn_fours LANE(cal_turn_fours)
LANE_INLINE void turn_fours(const cal_four in[4], cal_four out[4]) {
    const cal_four low = CAL_SHUFFLE(in[0], in[1], 0, 4, 2, 6), high = CAL_SHUFFLE(in[0], in[1], 1, 5, 3, 7),
                   low_next = CAL_SHUFFLE(in[2], in[3], 0, 4, 2, 6), high_next = CAL_SHUFFLE(in[2], in[3], 1, 5, 3, 7);
    out[0] = CAL_SHUFFLE(low, low_next, 0, 1, 4, 5), out[1] = CAL_SHUFFLE(high, high_next, 0, 1, 4, 5);
    out[2] = CAL_SHUFFLE(low, low_next, 2, 3, 6, 7), out[3] = CAL_SHUFFLE(high, high_next, 2, 3, 6, 7);
}
#endif
// Four lanes of W, from `first` on; and W of fours.
#undef FOUR_OF
#undef LANES_OF
#if CAL_LANES == 8
#define FOUR_OF(x, first)                                                                                              \
    ((first) == 0 ? (cal_four)CAL_SHUFFLE((x), (x), 0, 1, 2, 3) : (cal_four)CAL_SHUFFLE((x), (x), 4, 5, 6, 7))
#define LANES_OF(fours, i) CAL_SHUFFLE((fours)[0][i], (fours)[1][i], 0, 1, 2, 3, 4, 5, 6, 7)
#elif CAL_LANES == 4
#define FOUR_OF(x, first) (x)
#define LANES_OF(fours, i) (fours)[0][i]
#endif

// Numbers of W nodes, one after the other in memory, as lanes: four of four nodes at a time, turned over.
LANE_INLINE void gather_lanes(const double* const* from, int count, lane* out) {
    const int fours = CAL_LANES >= 4 ? count & ~3 : 0;
#if CAL_LANES >= 4
    for (int done = 0; done < fours; done += 4) {
        cal_four turned[CAL_LANES / 4][4];
        for (int l = 0; l < CAL_LANES; l += 4) {
            const cal_four in[4] = {cal_load_four(from[l] + done), cal_load_four(from[l + 1] + done),
                                    cal_load_four(from[l + 2] + done), cal_load_four(from[l + 3] + done)};
            turn_fours(in, turned[l / 4]);
        }
        for (int i = 0; i < 4; i++) out[done + i] = LANES_OF(turned, i);
    }
#endif
    double* packed = (double*)(void*)out;
    for (int l = 0; l < CAL_LANES; l++)
        for (size_t i = (size_t)fours; i < (size_t)count; i++) packed[i * CAL_LANES + (size_t)l] = from[l][i];
}

// The other way round, of the lanes that are used: four numbers at a time, then two.
#define scatter_lanes LANE(cal_scatter_lanes)
LANE_INLINE void scatter_lanes(const lane* from, int count, int used, double* const* to) {
    int done = 0;
#if CAL_LANES >= 4
    for (; used == CAL_LANES && done + 4 <= count; done += 4)
        for (int l = 0; l < CAL_LANES; l += 4) {
            const cal_four in[4] = {FOUR_OF(from[done], l), FOUR_OF(from[done + 1], l), FOUR_OF(from[done + 2], l),
                                    FOUR_OF(from[done + 3], l)};
            cal_four out[4];
            turn_fours(in, out);
            for (int i = 0; i < 4; i++) cal_store_four(out[i], to[l + i] + done);
        }
    for (; used == CAL_LANES && done + 2 <= count; done += 2)
        for (int l = 0; l < CAL_LANES; l += 4) {
            const cal_four a = FOUR_OF(from[done], l), b = FOUR_OF(from[done + 1], l);
            const cal_four even = CAL_SHUFFLE(a, b, 0, 4, 2, 6), odd = CAL_SHUFFLE(a, b, 1, 5, 3, 7);
            const cal_two pairs[4] = {CAL_SHUFFLE(even, even, 0, 1), CAL_SHUFFLE(odd, odd, 0, 1),
                                      CAL_SHUFFLE(even, even, 2, 3), CAL_SHUFFLE(odd, odd, 2, 3)};
            for (int i = 0; i < 4; i++) memcpy(to[l + i] + done, &pairs[i], sizeof pairs[i]);
        }
#endif
    for (int l = 0; l < CAL_LANES && l < used; l++)
        for (int i = done; i < count; i++) to[l][i] = LANE_AT(from[i], l);
}

// Lanes anywhere in memory, as one load or store: compilers make two of memcpy.
#define loose LANE(cal_loose_lanes)
typedef lane loose __attribute__((aligned(8), may_alias));
LANE_INLINE void load_pack(const cal_loop_pack* pack, int at, int first, int count, lane* out) {
    for (int i = 0; i < count; i++) out[i] = *(const loose*)(pack->numbers + (first + i) * CAL_PACK_LANES + at);
}
LANE_INLINE void store_pack(cal_loop_pack* pack, int at, int first, int count, const lane* from) {
    for (int i = 0; i < count; i++) *(loose*)(pack->numbers + (first + i) * CAL_PACK_LANES + at) = from[i];
}

#define find_motion LANE(cal_find_motion)
LANE_INLINE void find_motion(const cal_loop_pack* pack, int at, int which, bool grounded,
                             const cal_node_motion* motions, moving* out) {
    static const cal_node_motion ground = {.rotation = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}};
    const double* own[CAL_LANES];
    for (int l = 0; l < CAL_LANES; l++) own[l] = (grounded ? &ground : &motions[pack->node[which][at + l]])->rotation;
    _Static_assert(sizeof(cal_node_motion) == 24 * sizeof(double) && sizeof(moving) == 24 * sizeof(lane),
                   "nothing but numbers");
    gather_lanes(own, 24, out->rotation);
}

// A row of the pack: what kernels of Y read of it, and the caller's rows. used: lanes that are; on: b, a where they are not the ground.
#define put_pack_row LANE(cal_put_pack_row)
LANE_INLINE void put_pack_row(cal_loop_pack* pack, int at, int used, int r, const bool on[2], const moving* a,
                              const moving* b, const row_numbers* row, cal_row* rows) {
    const lane* wrench[2] = {row->on_b, row->on_a};
    const int count = on[0] + on[1];
    lane speed = lane_set(-0.0); // as one by one: without a prescribed motion
    lane moments[6], forces[6];
    double *moment[CAL_LANES] = {0}, *force[CAL_LANES] = {0}, *numbers[CAL_LANES] = {0};
    if (on[0]) speed += dot_3(row->on_b, b->angular) + dot_3(row->on_b + 3, b->linear);
    if (on[1]) speed += dot_3(row->on_a, a->angular) + dot_3(row->on_a + 3, a->linear);
    store_pack(pack, at, CAL_PACK_WRENCH + 12 * r, 6, row->on_b);
    store_pack(pack, at, CAL_PACK_WRENCH + 12 * r + 6, 6, row->on_a);
    store_pack(pack, at, CAL_PACK_BIAS + r, 1, &row->bias);
    for (int side = 0, n = 0; side < 2; side++)
        for (int i = 0; i < 3 && on[side]; i++, n++) moments[n] = wrench[side][i], forces[n] = wrench[side][3 + i];
    for (int l = 0; l < CAL_LANES && l < used; l++) {
        cal_row* out = &rows[pack->first_row[at + l] + r];
        // One number after the other, of all its nodes.
        moment[l] = (double*)(void*)((char*)out + offsetof(cal_row, moment));
        force[l] = (double*)(void*)((char*)out + offsetof(cal_row, force));
        numbers[l] = (double*)(void*)((char*)out + offsetof(cal_row, error));
    }
    const lane others[4] = {row->error, speed, row->bias, lane_set(0.0)};
    _Static_assert(offsetof(cal_row, rate) == offsetof(cal_row, error) + 3 * sizeof(double), "one after the other");
    scatter_lanes(moments, 3 * count, used, moment);
    scatter_lanes(forces, 3 * count, used, force);
    scatter_lanes(others, 4, used, numbers);
}

// alike: a compiler knows that nothing sits on the ground, and rows are two displacements.
#define make_rows LANE(cal_make_rows)
LANE_INLINE void make_rows(cal_loop_pack* pack, int at, int used, bool alike, const cal_node_motion* motions,
                           cal_row* rows) {
    const cal_pack_shape* shape = pack->shape;
    const bool turns = !alike && shape->turns, on[2] = {alike || !shape->grounded[1], alike || !shape->grounded[0]};
    moving a, b;
    lane frame[9], offsets[6], length;
    find_motion(pack, at, 0, !on[1], motions, &a);
    find_motion(pack, at, 1, !on[0], motions, &b);
    load_pack(pack, at, CAL_PACK_OFFSET, 6, offsets);
    load_pack(pack, at, CAL_PACK_LENGTH, 1, &length);
    pair p; // no more of it is set than is read
    p.node[0] = on[1] ? 0 : -1, p.node[1] = on[0] ? 0 : -1;
    p.a = &a, p.b = &b;
    // One by one: compilers make a copy of a loop, byte by byte.
#define OF(i) (*(const loose*)(pack->numbers + (CAL_PACK_ROTATION + (i)) * CAL_PACK_LANES + at))
    const lane of_a[9] = {OF(0), OF(1), OF(2), OF(3), OF(4), OF(5), OF(6), OF(7), OF(8)};
#undef OF
    if (turns || !on[0]) load_pack(pack, at, CAL_PACK_ROTATION + 9, 9, frame);
    const lane *const rotation[2] = {of_a, frame}, *const offset[2] = {offsets, offsets + 3};
    find_pair(rotation, offset, turns, &p);
    for (int r = 0; r < (alike ? 2 : shape->row_count); r++) {
        row_numbers row;
        const cal_pack_row* how = &shape->rows[r];
        if (alike || how->kind == CAL_PACK_DISPLACEMENT)
            displacement_numbers(&p, how->axis, &row);
        else if (how->kind == CAL_PACK_TURN)
            free_turn_numbers(&p, how->axis, how->free, &row);
        else
            distance_numbers(&p, length, &row);
        put_pack_row(pack, at, used, r, on, &a, &b, &row, rows);
    }
}

static void LANE(make_pack_rows)(cal_loop_pack* pack, int at, const cal_node_motion* motions, cal_row* rows) {
    const cal_pack_shape* shape = pack->shape;
    const bool pins = shape->row_count == 2 && shape->rows[0].kind == CAL_PACK_DISPLACEMENT &&
                      shape->rows[1].kind == CAL_PACK_DISPLACEMENT && !shape->grounded[0] && !shape->grounded[1];
    const int left = pack->count - at;
    if (left < CAL_LANES)
        make_rows(pack, at, left, false, motions, rows);
    else if (pins)
        make_rows(pack, at, CAL_LANES, true, motions, rows);
    else
        make_rows(pack, at, CAL_LANES, false, motions, rows);
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

// Where the joints of W nodes have numbers that are lent; together: lanes of one block, side by side.
#define lent LANE(cal_lent_joints)
typedef struct lent {
    const double *record[CAL_LANES], *response[CAL_LANES];
    bool together;
} lent;
#define find_lent LANE(cal_find_lent)
LANE_INLINE void find_lent(const int32_t* nodes, const cal_mass_factor* tree, lent* out) {
    out->together = true;
    for (int l = 0; l < CAL_LANES; l++) {
        const cal_joint_numbers* own = &tree->joints[nodes[l]];
        out->record[l] = own->record, out->response[l] = own->response;
        out->together = out->together && own->record == out->record[0] + l;
    }
}
#define load_lent LANE(cal_load_lent)
LANE_INLINE void load_lent(const double* const* from, bool together, int first, int count, size_t width, lane* out) {
    for (int i = 0; i < count && together; i++) out[i] = *(const loose*)(from[0] + (size_t)(first + i) * width);
    for (int i = 0; i < count && !together; i++)
        for (int l = 0; l < CAL_LANES; l++) LANE_AT(out[i], l) = from[l][(size_t)(first + i) * width];
}

// The same numbers per joint as in load_paths, but z, U, D⁻¹, k and the arm are what there is.
enum { LANE(LENT_U) = 3, LANE(LENT_OVER) = 9, LANE(LENT_K) = 10, LANE(LENT_ARM) = 13 };
#define load_lent_paths LANE(cal_load_lent_paths)
LANE_INLINE void load_lent_paths(const cal_loop_pack* pack, int at, const cal_mass_factor* tree, int nodes,
                                 size_t width, lane* out, lane (*accelerations)[6]) {
    const cal_pack_shape* shape = pack->shape;
    for (int i = 0; i < nodes; i++, out += 16) {
        lent joint;
        find_lent(pack->nodes[i] + at, tree, &joint);
        load_lent(joint.record, joint.together, CAL_ABA_Z, 3, width, out);
        load_lent(joint.response, joint.together, 0, CAL_ABA_OVER + 1, width, out + LANE(LENT_U));
        load_lent(joint.record, joint.together, CAL_ABA_K, 1, width, out + LANE(LENT_K));
        load_lent(joint.record, joint.together, CAL_ABA_D, 3, width, out + LANE(LENT_ARM));
        for (int side = 0; side < 2; side++) {
            if (shape->touched[side] != i) continue;
            load_lent(joint.response, joint.together, CAL_ABA_ALPHA, 6, width, accelerations[side]);
            for (int d = 0; d < 3; d++) accelerations[side][3 + d] += lane_set(tree->model->gravity[d]);
        }
    }
}

// ∑ a b in the order of constraint/constraint_matrix.c's sums: eight of them, interleaved.
#define dot_lanes LANE(cal_dot_lanes)
LANE_INLINE lane dot_lanes(const lane* a, const lane* b, int count, int stride) {
    const int sums = count; // no more of them have anything; that is never −0, so that zeros need not be added
    lane sum[8];
    for (int i = 0; i < 8; i++) sum[i] = lane_set(0.0);
    for (; count > 0; count -= 8, a += 8, b += 8 * stride)
        for (int i = 0; i < 8; i++) {
            if (i == count) break;
            sum[i] += a[i] * b[i * stride];
        }
    for (int i = 0; i < 4 && i + 4 < sums; i++) sum[i] += sum[i + 4];
    for (int i = 0; i < 2 && i + 2 < sums; i++) sum[i] += sum[i + 2];
    return sum[0] + sum[1];
}

// Sᵀ f of one row along all paths, leaves to roots, where numbers are lent.
#define walk_lent_paths LANE(cal_walk_lent_paths)
LANE_INLINE void walk_lent_paths(const cal_pack_shape* shape, int nodes, bool hinges, const lane* joints,
                                 const lane* wrenches, lane* y) {
    const lane none[6] = {lane_set(0.0), lane_set(0.0), lane_set(0.0), lane_set(0.0), lane_set(0.0), lane_set(0.0)};
    lane passed[CAL_PACK_PLACES][6];
    for (int i = nodes - 1; i >= 0; i--) {
        const lane *own = joints + 16 * i, *from = shape->touched[1] == i   ? wrenches
                                                   : shape->touched[0] == i ? wrenches + 6
                                                                            : none;
        lane* wrench = passed[i];
        for (int d = 0; d < 6; d++) wrench[d] = from[d];
        for (int c = i + 1; c < nodes; c++)
            if (shape->parent[c] == i) pull_wrench(passed[c], joints + 16 * c + LANE(LENT_ARM), wrench);
        pass_wrench(hinges ? CAL_REVOLUTE : shape->joint[i], own, own + LANE(LENT_U), own[LANE(LENT_OVER)], wrench,
                    y + i);
    }
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
        lane wrench[6];
        for (int d = 0; d < 6; d++)
            wrench[d] = shape->touched[1] == i ? wrenches[d] : shape->touched[0] == i ? wrenches[6 + d] : lane_set(0.0);
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
        for (int d = 0; d < 6; d++) passed[i][d] = wrench[d];
    }
}

// What a compiler may know of a pack's lanes: how many are used, of how many rows, nodes and degrees of freedom, and that all joints turn.
#define extent LANE(cal_pack_extent)
typedef struct extent {
    int used, rows, nodes, degrees;
    bool hinges;
    size_t width; // of blocks that are lent
} extent;

// A number per row of each constraint.
#define put_numbers LANE(cal_put_numbers)
LANE_INLINE void put_numbers(const cal_loop_pack* pack, int at, int used, int r, lane from, double* out) {
    for (int l = 0; l < CAL_LANES && l < used; l++) out[pack->first_row[at + l] + r] = LANE_AT(from, l);
}

// Squares of a row's wrenches on what is not the ground, moments as forces at a length, in the order of constraint/constraint_matrix.c.
#define size_wrenches LANE(cal_size_wrenches)
LANE_INLINE lane size_wrenches(const cal_pack_shape* shape, double length, const lane* wrenches) {
    lane moments = lane_set(0.0), forces = lane_set(0.0);
    for (int side = 1; side >= 0; side--, wrenches += 6) {
        if (shape->grounded[side]) continue;
        moments += dot_3(wrenches, wrenches);
        forces += dot_3(wrenches + 3, wrenches + 3);
    }
    return moments / lane_set(length * length) + forces;
}

// y = C⁻¹ Sᵀ f, of which D⁻¹ = C⁻² is known; and what the row accelerates by: its bias, its nodes at q̈ = 0, what biases leave at joints.
#define join_row LANE(cal_join_row)
LANE_INLINE lane join_row(const cal_loop_pack* pack, int at, int r, int degrees, const lane* joints, const lane* roots,
                          lane (*accelerations)[6], const lane* wrenches, lane* y) {
    const cal_pack_shape* shape = pack->shape;
    lane sum;
    load_pack(pack, at, CAL_PACK_BIAS + r, 1, &sum);
    for (int side = 1; side >= 0; side--, wrenches += 6)
        if (!shape->grounded[side])
            sum += dot_3(wrenches, accelerations[side]) + dot_3(wrenches + 3, accelerations[side] + 3);
    sum += dot_lanes(y, joints + LANE(LENT_K), degrees, 16);
    for (int k = 0; k < degrees; k++) y[k] = y[k] * roots[k];
    return sum;
}

#define take_all_rows LANE(cal_take_all_rows)
LANE_INLINE void take_all_rows(const cal_loop_pack* pack, int at, const cal_mass_factor* tree, bool is_lent, extent e,
                               const cal_pack_inbound_rows* out) {
    const cal_pack_shape* shape = pack->shape;
    lane joints[CAL_PACK_NUMBERS], wrenches[12], own[6 * CAL_PACK_PLACES], accelerations[2][6];
    lane roots[CAL_PACK_PLACES];
    if (is_lent) {
        for (int d = 0; d < 6; d++) accelerations[0][d] = accelerations[1][d] = lane_set(0.0);
        load_lent_paths(pack, at, tree, e.nodes, e.width, joints, accelerations);
        for (int i = 0; i < e.nodes; i++)
            for (int l = 0; l < CAL_LANES; l++)
                LANE_AT(roots[i], l) = sqrt(LANE_AT(joints[16 * i + LANE(LENT_OVER)], l));
    } else {
        load_paths(pack, at, tree, joints);
    }
    for (int r = 0; r < e.rows; r++) {
        load_pack(pack, at, CAL_PACK_WRENCH + 12 * r, 12, wrenches);
        if (is_lent) {
            walk_lent_paths(shape, e.nodes, e.hinges, joints, wrenches, own);
            put_numbers(pack, at, e.used, r,
                        join_row(pack, at, r, e.degrees, joints, roots, accelerations, wrenches, own), out->drift);
        } else {
            walk_paths(shape, joints, wrenches, own);
        }
        const lane square = dot_lanes(own, own, e.degrees, 1);
        lane scale = square;
        for (int l = 0; l < CAL_LANES; l++) LANE_AT(scale, l) = sqrt(LANE_AT(scale, l));
        scale = lane_set(1.0) / scale;
        // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): walk_paths has written `degrees` of them
        for (int k = 0; k < e.degrees; k++) own[k] = own[k] * scale;
        put_numbers(pack, at, e.used, r, square, out->squares);
        put_numbers(pack, at, e.used, r, size_wrenches(shape, out->length, wrenches), out->sizes);
        double* to[CAL_LANES];
        for (int l = 0; l < CAL_LANES; l++) to[l] = out->y + pack->first_y[at + l] + (size_t)(r * e.degrees);
        scatter_lanes(own, e.degrees, e.used, to);
    }
}

// With the sizes of four-bars, that a compiler knows.
static void LANE(take_pack_inbound)(const cal_loop_pack* pack, int at, const cal_mass_factor* tree,
                                    const cal_pack_inbound_rows* out) {
    const cal_pack_shape* shape = pack->shape;
    const int left = pack->count - at;
    const extent e = {left < CAL_LANES ? left : CAL_LANES,
                      shape->row_count,
                      shape->node_count,
                      shape->degrees,
                      false,
                      tree->given ? (size_t)tree->given->layout->width : 0};
    const extent four_bars = {CAL_LANES, 2, 3, 3, true, CAL_LANES};
    if (!tree->given)
        take_all_rows(pack, at, tree, false, e, out);
    else if (e.used == CAL_LANES && e.rows == 2 && e.nodes == 3 && shape->hinges && e.width == CAL_LANES)
        take_all_rows(pack, at, tree, true, four_bars, out);
    else
        take_all_rows(pack, at, tree, true, e, out);
}
