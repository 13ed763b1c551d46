// The outbound pass along a revolute chain (a long column), W joints at a time. Include after aba_columns.h, with
// CAL_LANES = CAL_WIDTH > 1.
//
// Of a joint's outbound work only four things recur along the chain: the product of rotations E, and the running sums
// ω = ∑ z q̇, α = ∑ ω × z q̇ and a = ∑ A d. Those run joint by joint; all else is done for a block of W joints at once:
//
//    lanes   sine and cosine, rotation in the parent          L_0 … L_7
//    scalar  E_j = E_(j−1) L_j
//    lanes   axes z, offsets d = E_(j−1) r, z q̇
//    scalar  ω_j = ω_(j−1) + (z q̇)_j
//    lanes   ω_(j−1) × (z q̇)_j
//    scalar  α_j
//    lanes   A_(j−1) d_j
//    scalar  a_j
//    lanes   moments, inertia, bias forces
//
// A row of `trail` holds what recurs: the value before the block in column W − 1, the block's in columns W … 2 W − 1.
// So a lane's own value and its parent's are loads that are one double apart.

typedef lane LANE(cal_unaligned) __attribute__((may_alias, aligned(8)));
#define before3 LANE(cal_before3)
LANE_INLINE v3 before3(double (*rows)[2 * CAL_WIDTH]) {
    return (v3){*(const LANE(cal_unaligned)*)&rows[0][CAL_WIDTH - 1],
                *(const LANE(cal_unaligned)*)&rows[1][CAL_WIDTH - 1],
                *(const LANE(cal_unaligned)*)&rows[2][CAL_WIDTH - 1]};
}
#define here3 LANE(cal_here3)
LANE_INLINE v3 here3(double (*rows)[2 * CAL_WIDTH]) {
    return (v3){*(const memory*)&rows[0][CAL_WIDTH], *(const memory*)&rows[1][CAL_WIDTH],
                *(const memory*)&rows[2][CAL_WIDTH]};
}
// Replaces the block's columns by the running sums that begin with column W − 1.
#define run_sums LANE(cal_run_sums)
LANE_INLINE void run_sums(double (*rows)[2 * CAL_WIDTH], v3 terms) {
    *(memory*)&rows[0][CAL_WIDTH] = terms.x, *(memory*)&rows[1][CAL_WIDTH] = terms.y,
    *(memory*)&rows[2][CAL_WIDTH] = terms.z;
    double x = rows[0][CAL_WIDTH - 1], y = rows[1][CAL_WIDTH - 1], z = rows[2][CAL_WIDTH - 1];
    for (int j = CAL_WIDTH; j < 2 * CAL_WIDTH; j++) {
        rows[0][j] = x = x + rows[0][j];
        rows[1][j] = y = y + rows[1][j];
        rows[2][j] = z = z + rows[2][j];
    }
}
// Moves the last column to W − 1, where the next block looks for what came before it.
#define advance_rows LANE(cal_advance_rows)
LANE_INLINE void advance_rows(double (*rows)[2 * CAL_WIDTH], int count) {
    for (int i = 0; i < count; i++) rows[i][CAL_WIDTH - 1] = rows[i][2 * CAL_WIDTH - 1];
}

static void LANE(chain_outbound)(const cal_context* context, const cal_column* column) {
    const int record = cal_aba_record(CAL_REVOLUTE);
    _Alignas(64) double trail[18][2 * CAL_WIDTH];
    _Alignas(64) double local[9][CAL_WIDTH];
    double(*turn)[2 * CAL_WIDTH] = trail, (*spin)[2 * CAL_WIDTH] = trail + 9;
    double(*swing)[2 * CAL_WIDTH] = trail + 12, (*pull)[2 * CAL_WIDTH] = trail + 15;
    cal_parent_slot_1 slot;
    cal_find_parent_1(context, column, CAL_DOWN_COUNT, &slot);
    for (int i = 0; i < CAL_DOWN_COUNT; i++) trail[i][CAL_WIDTH - 1] = cal_from_parent_1(&slot, i);
    place at = find_place(context, column, CAL_REVOLUTE, record, 0);
    for (int block = 0; block < column->block_count; block++) {
        at = find_place(context, column, CAL_REVOLUTE, record, block);
        store_columns(local[0], 0, revolute_rotation(load_rows(at.constants, CAL_CONSTANT_ROTATION), LOAD(at.y, 0)));
        cal_m3_1 E = {{turn[0][CAL_WIDTH - 1], turn[1][CAL_WIDTH - 1], turn[2][CAL_WIDTH - 1]},
                      {turn[3][CAL_WIDTH - 1], turn[4][CAL_WIDTH - 1], turn[5][CAL_WIDTH - 1]},
                      {turn[6][CAL_WIDTH - 1], turn[7][CAL_WIDTH - 1], turn[8][CAL_WIDTH - 1]}};
        for (int j = 0; j < CAL_WIDTH; j++) {
            const cal_m3_1 L = {{local[0][j], local[1][j], local[2][j]},
                                {local[3][j], local[4][j], local[5][j]},
                                {local[6][j], local[7][j], local[8][j]}};
            E = cal_m3_product_1(E, L);
            double* column_of_row = &turn[0][CAL_WIDTH + j];
            column_of_row[0 * 2 * CAL_WIDTH] = E.x.x, column_of_row[1 * 2 * CAL_WIDTH] = E.x.y;
            column_of_row[2 * 2 * CAL_WIDTH] = E.x.z, column_of_row[3 * 2 * CAL_WIDTH] = E.y.x;
            column_of_row[4 * 2 * CAL_WIDTH] = E.y.y, column_of_row[5 * 2 * CAL_WIDTH] = E.y.z;
            column_of_row[6 * 2 * CAL_WIDTH] = E.z.x, column_of_row[7 * 2 * CAL_WIDTH] = E.z.y;
            column_of_row[8 * 2 * CAL_WIDTH] = E.z.z;
        }
        const m3 above = {before3(turn), before3(turn + 3), before3(turn + 6)};
        const m3 own = {here3(turn), here3(turn + 3), here3(turn + 6)};
        const v3 d = m3_times(above, load3(at.constants, CAL_CONSTANT_OFFSET));
        const v3 zv = v3_scale(own.z, LOAD(at.y, 1));
        store3(at.record, LANE(RECORD_Z), own.z);
        store3(at.record, LANE(RECORD_D), d);
        run_sums(spin, zv);
        const v3 w_above = before3(spin);
        run_sums(swing, v3_cross(w_above, zv));
        run_sums(pull, m3_times(spin_matrix(w_above, before3(swing)), d));
        bias(CAL_REVOLUTE, own, spin_matrix(here3(spin), here3(swing)), here3(pull), at.constants, at.external,
             at.scratch);
        leave_accelerations(find_response(context, column, block), here3(swing), here3(pull));
        advance_rows(trail, CAL_DOWN_COUNT);
    }
    // Dead lanes repeat the last live one's motion (they turn and move by nothing), so column W − 1 is the chain's end.
    cal_motion_1 m = {.E = {{turn[0][CAL_WIDTH - 1], turn[1][CAL_WIDTH - 1], turn[2][CAL_WIDTH - 1]},
                            {turn[3][CAL_WIDTH - 1], turn[4][CAL_WIDTH - 1], turn[5][CAL_WIDTH - 1]},
                            {turn[6][CAL_WIDTH - 1], turn[7][CAL_WIDTH - 1], turn[8][CAL_WIDTH - 1]}},
                      .w = {spin[0][CAL_WIDTH - 1], spin[1][CAL_WIDTH - 1], spin[2][CAL_WIDTH - 1]},
                      .al = {swing[0][CAL_WIDTH - 1], swing[1][CAL_WIDTH - 1], swing[2][CAL_WIDTH - 1]},
                      .a = {pull[0][CAL_WIDTH - 1], pull[1][CAL_WIDTH - 1], pull[2][CAL_WIDTH - 1]}};
    const cal_place_1 last = cal_find_place_1(context, column, CAL_REVOLUTE, record, column->node_count - 1);
    cal_leave_end_1(context, column, &m, &last);
}
