// Joins: two elements become one, and one becomes two again, W of them at a time (assembly.c has the equations). Include after
// math/lanes.h, math/lane_algebra.h and math/lane_memory.h, once a width.
//
// An element's numbers are those of its base: I (21), p (6), then for each of its columns E (6), c (1), and Λ by its lower rows.
// Everything is dense and small: six by six, and six for each open joint. Component i of lane l is at i · CAL_LANES + l, so that
// with one lane, as of a device's thread, the numbers are worked on where they are.
#define element_view LANE(cal_element_view)
#define look_at LANE(cal_look_at)
#define load LANE(cal_join_load)
#define keep LANE(cal_join_keep)
#define grow LANE(cal_join_grow)
#define entry LANE(cal_join_entry)
#define unpack6 LANE(cal_unpack6)
#define multiply6 LANE(cal_multiply6)
#define dot6 LANE(cal_dot6)
#define load6 LANE(cal_load6)
#define above LANE(cal_above)
#define choose LANE(cal_choose)
#define root_of LANE(cal_root_of)
#define tip_block LANE(cal_tip_block)

typedef struct element_view {
    double *I, *p, *E, *c, *L;
    int count; // columns
} element_view;

LANE_INLINE element_view look_at(double* numbers, int columns) {
    double* E = numbers + CAL_ELEMENT_COLUMNS * CAL_LANES;
    return (element_view){
        numbers, numbers + CAL_ELEMENT_BIAS * CAL_LANES, E, E + 6 * columns * CAL_LANES, E + 7 * columns * CAL_LANES,
        columns};
}

LANE_INLINE lane load(const double* p, int i) { return *(const memory*)(p + i * CAL_LANES); }
LANE_INLINE void keep(double* p, int i, lane value) { *(memory*)(p + i * CAL_LANES) = value; }
LANE_INLINE void grow(double* p, int i, lane value) { keep(p, i, load(p, i) + value); }
LANE_INLINE lane entry(const double* packed, int i, int j) {
    return load(packed, (int)cal_packed((size_t)i, (size_t)j));
}

LANE_INLINE void load6(const double* p, int first, lane out[6]) {
    for (int i = 0; i < 6; i++) out[i] = load(p, first + i);
}

LANE_INLINE void unpack6(const double* packed, lane out[6][6]) {
    for (int i = 0, at = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) out[i][j] = out[j][i] = load(packed, at++);
}

LANE_INLINE lane dot6(const lane* a, const lane* b) {
    lane sum = a[0] * b[0];
    for (int i = 1; i < 6; i++) sum = lane_fma(a[i], b[i], sum);
    return sum;
}

LANE_INLINE void multiply6(lane m[6][6], const lane* x, lane out[6]) {
    for (int i = 0; i < 6; i++) out[i] = dot6(m[i], x);
}

// Where a > b: all bits of the lane.
LANE_INLINE lane_bits above(lane a, lane b) {
#if CAL_LANES == 1
    return a > b ? UINT64_MAX : 0;
#else
    return (lane_bits)(a > b);
#endif
}

LANE_INLINE lane choose(lane_bits mask, lane where, lane elsewhere) {
    union {
        lane value;
        lane_bits bits;
    } a = {where}, b = {elsewhere};
    a.bits = (a.bits & mask) | (b.bits & ~mask);
    return a.value;
}

LANE_INLINE lane root_of(lane x) {
#if CAL_LANES == 1
    return __builtin_sqrt(x);
#else
    lane out;
    for (int l = 0; l < CAL_LANES; l++) out[l] = __builtin_sqrt(x[l]);
    return out;
#endif
}

// G of A = G Gᵀ for a matrix that is positive or semidefinite, column by column. The row of which most is left, in the size of its
// diagonal, comes next: whatever the units, and without growth where the matrix is singular (Higham, Accuracy and
// Stability, theorem 10.14). A column of which only rounding is left is zero: of a diagonal entry, after six differences, this
// much is rounding. Pivots of lanes differ, so rows stay where they are.
LANE_FUNCTION void LANE(cal_square_root)(lane full[6][6], lane G[6][6]) {
    const lane rounding = lane_set(16.0 * DBL_EPSILON), none = lane_set(0.0), one = lane_set(1.0);
    lane A[6][6], size[6];
    for (int i = 0; i < 6; i++) {
        size[i] = choose(above(full[i][i], none), one / choose(above(full[i][i], none), full[i][i], one), none);
        for (int j = 0; j < 6; j++) A[i][j] = full[i][j];
    }
    for (int t = 0; t < 6; t++) {
        lane column[6], pivot = A[0][0], best = A[0][0] * size[0];
        for (int k = 0; k < 6; k++) column[k] = A[k][0];
        for (int i = 1; i < 6; i++) {
            const lane share = A[i][i] * size[i];
            const lane_bits larger = above(share, best);
            best = choose(larger, share, best);
            pivot = choose(larger, A[i][i], pivot);
            for (int k = 0; k < 6; k++) column[k] = choose(larger, A[k][i], column[k]);
        }
        const lane_bits kept = above(best, rounding);
        const lane r = choose(kept, one / root_of(choose(kept, pivot, one)), none);
        for (int k = 0; k < 6; k++) G[k][t] = column[k] * r;
        for (int k = 0; k < 6; k++)
            for (int l = 0; l <= k; l++) A[k][l] = A[l][k] = lane_fnma(G[k][t], G[l][t], A[k][l]);
    }
}

// C of S = C Cᵀ, for eigenvalues of one and more.
LANE_FUNCTION void LANE(cal_cholesky)(lane S[6][6], lane C[6][6]) {
    for (int j = 0; j < 6; j++) {
        lane pivot = S[j][j];
        for (int k = 0; k < j; k++) pivot = lane_fnma(C[j][k], C[j][k], pivot);
        C[j][j] = root_of(pivot);
        const lane r = lane_set(1.0) / C[j][j];
        for (int i = j + 1; i < 6; i++) {
            lane sum = S[i][j];
            for (int k = 0; k < j; k++) sum = lane_fnma(C[i][k], C[j][k], sum);
            C[i][j] = sum * r;
        }
    }
}

// J = (1 + I Λ)⁻¹ I = G (1 + Gᵀ Λ G)⁻¹ Gᵀ with I = G Gᵀ; with I and Λ exchanged it is K = Λ (1 + I Λ)⁻¹. What is inverted is positive with
// eigenvalues of one and more, and symmetric: links whose masses are far apart scale its rows and columns alike, which costs
// no digits. (Of 1 + I Λ it scales rows against columns, and elimination loses as many digits as the masses are apart.)
LANE_FUNCTION void LANE(cal_stiffness)(lane I[6][6], lane L[6][6], lane x[6][6]) {
    lane G[6][6], turned[6][6], S[6][6], C[6][6], F[6][6]; // turned = Λ G, F = C⁻¹ Gᵀ; S and C are lower triangles
    LANE(cal_square_root)(I, G);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            lane sum = L[i][0] * G[0][j];
            for (int k = 1; k < 6; k++) sum = lane_fma(L[i][k], G[k][j], sum);
            turned[i][j] = sum;
        }
    for (int i = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) {
            lane sum = lane_set(i == j ? 1.0 : 0.0);
            for (int k = 0; k < 6; k++) sum = lane_fma(G[k][i], turned[k][j], sum);
            S[i][j] = sum;
        }
    LANE(cal_cholesky)(S, C);
    for (int i = 0; i < 6; i++) {
        const lane r = lane_set(1.0) / C[i][i];
        for (int j = 0; j < 6; j++) {
            lane sum = G[j][i];
            for (int k = 0; k < i; k++) sum = lane_fnma(C[i][k], F[k][j], sum);
            F[i][j] = sum * r;
        }
    }
    for (int i = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) {
            lane sum = F[0][i] * F[0][j];
            for (int k = 1; k < 6; k++) sum = lane_fma(F[k][i], F[k][j], sum);
            x[i][j] = x[j][i] = sum;
        }
}

// Λ of a tip with itself.
LANE_INLINE void tip_block(const element_view* a, int first, lane out[6][6]) {
    for (int i = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) out[i][j] = out[j][i] = entry(a->L, first + i, first + j);
}

// Λ between all columns that are left: of a's with each other, of b's, and of both. Two columns of one row, one of each element,
// meet on the diagonal from both sides.
LANE_FUNCTION void LANE(cal_join_pairs)(const element_view* a, const element_view* b, const int32_t* map, double* L,
                                        const double* force, const double* response) {
    const int after = a->count;
    lane own[6], other[6];
    for (int i = 0, at = 0; i < after; i++) {
        load6(response, 6 * i, own);
        for (int j = 0; j <= i; j++, at++) {
            if (map[i] < 0 || map[j] < 0) continue;
            load6(force, 6 * j, other);
            grow(L, (int)cal_packed((size_t)map[i], (size_t)map[j]), load(a->L, at) + dot6(own, other));
        }
    }
    for (int i = 0, at = 0; i < b->count; i++) {
        const int row = map[after + i];
        load6(b->E, 6 * i, own);
        for (int j = 0; j <= i; j++, at++) {
            load6(response, 6 * (after + j), other);
            grow(L, (int)cal_packed((size_t)row, (size_t)map[after + j]), load(b->L, at) + dot6(own, other));
        }
        load6(force, 6 * (after + i), own);
        for (int j = 0; j < after; j++) {
            if (map[j] < 0) continue;
            load6(response, 6 * j, other);
            const lane value = dot6(own, other);
            grow(L, (int)cal_packed((size_t)row, (size_t)map[j]), row == map[j] ? value + value : value);
        }
    }
}

// The columns of both elements in the joined one: the force u that each puts on the tip, and what that does there; −J Λ and Λ of a's
// own, Z e and K e of b's, Z = (1 + I Λ)⁻¹ = 1 − I K. work: 12 numbers a column.
LANE_FUNCTION void LANE(cal_join_columns)(const element_view* a, const element_view* b, int first, const int32_t* map,
                                          const element_view* out, lane E[6][6], lane I[6][6], lane J[6][6],
                                          lane K[6][6], const lane* w, const lane* x, double* work) {
    const int after = a->count, all = a->count + b->count;
    double *force = work, *response = work + 6 * all * CAL_LANES;
    lane own[6], u[6];
    for (int i = 0; i < all; i++) {
        if (map[i] < 0) continue;
        if (i < after) {
            for (int k = 0; k < 6; k++) own[k] = entry(a->L, first + k, i);
            multiply6(J, own, u);
            for (int k = 0; k < 6; k++) u[k] = -u[k];
            for (int m = 0; m < 6; m++) grow(out->E, 6 * map[i] + m, load(a->E, 6 * i + m));
            grow(out->c, map[i], load(a->c, i) + dot6(own, w));
        } else {
            lane e[6];
            load6(b->E, 6 * (i - after), e);
            multiply6(K, e, own);
            multiply6(I, own, u);
            for (int k = 0; k < 6; k++) u[k] = e[k] - u[k];
            grow(out->c, map[i], load(b->c, i - after) + dot6(e, x));
        }
        for (int k = 0; k < 6; k++) keep(force, 6 * i + k, u[k]), keep(response, 6 * i + k, own[k]);
        for (int m = 0; m < 6; m++) {
            lane sum = load(out->E, 6 * map[i] + m);
            for (int k = 0; k < 6; k++) sum = lane_fma(E[k][m], u[k], sum);
            keep(out->E, 6 * map[i] + m, sum);
        }
    }
    LANE(cal_join_pairs)(a, b, map, out->L, force, response);
}

// Where a tip that would move with y meets what needs a force b to stay where it is: its acceleration and the force on the tip,
//
//     x = y − K (I y + b) = Zᵀ y − K b,   w = −(I x + b) = −J y − Z b
//
// K I has no entry above one in the size of accelerations: x is as exact as y and what b does to the inertia alone. (J Λ, which has
// the same trace, multiplies what a heavy b resists by what a light a gives way; their product is a difference.)
LANE_FUNCTION void LANE(cal_meet)(lane I[6][6], lane K[6][6], const lane* y, const lane* b, lane* w, lane* x) {
    lane asked[6], given[6];
    multiply6(I, y, asked);
    for (int i = 0; i < 6; i++) asked[i] = asked[i] + b[i];
    multiply6(K, asked, given);
    for (int i = 0; i < 6; i++) x[i] = y[i] - given[i];
    multiply6(I, x, w);
    for (int i = 0; i < 6; i++) w[i] = -(w[i] + b[i]);
}

LANE_FUNCTION void LANE(cal_join_below)(const element_view* a, const element_view* b, int tip, const int32_t* map,
                                        const element_view* out, double* join, double* work) {
    const int first = 6 * tip;
    lane I[6][6], L[6][6], J[6][6], K[6][6], E[6][6], c[6], p[6], w[6], x[6];
    unpack6(b->I, I);
    tip_block(a, first, L);
    LANE(cal_stiffness)(I, L, J);
    LANE(cal_stiffness)(L, I, K);
    for (int i = 0, at = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) keep(join, at++, K[i][j]);
    // What the tip does while nothing else acts.
    load6(a->c, first, c);
    load6(b->p, 0, p);
    LANE(cal_meet)(I, K, c, p, w, x);
    for (int k = 0; k < 6; k++) load6(a->E, 6 * (first + k), E[k]);
    // I + E J Eᵀ, p − E w
    for (int i = 0, at = 0; i < 6; i++) {
        lane turned[6];
        for (int k = 0; k < 6; k++) {
            lane sum = E[0][i] * J[0][k];
            for (int m = 1; m < 6; m++) sum = lane_fma(E[m][i], J[m][k], sum);
            turned[k] = sum;
        }
        for (int j = 0; j <= i; j++, at++) {
            lane sum = load(a->I, at);
            for (int k = 0; k < 6; k++) sum = lane_fma(turned[k], E[k][j], sum);
            keep(out->I, at, sum);
        }
        lane bias = load(a->p, i);
        for (int k = 0; k < 6; k++) bias = lane_fnma(E[k][i], w[k], bias);
        keep(out->p, i, bias);
    }
    // Columns of a row that both have are added up.
    const int left = 7 * out->count + out->count * (out->count + 1) / 2;
    for (int i = 0; i < left; i++) keep(out->E, i, lane_set(0.0));
    LANE(cal_join_columns)(a, b, first, map, out, E, I, J, K, w, x, work);
}

// The force w on the tip and the acceleration of what hangs there; known: the forces on a's columns and on b's.
LANE_FUNCTION void LANE(cal_part_below)(const element_view* a, const element_view* b, int tip, const double* join,
                                        const double* base, const double* a_force, const double* b_force, double* w_out,
                                        double* x_out) {
    const int first = 6 * tip;
    lane I[6][6], K[6][6], y[6], bias[6], still[6], w[6], x[6];
    unpack6(b->I, I);
    unpack6(join, K);
    load6(base, 0, still);
    for (int i = 0; i < 6; i++) {
        lane e[6];
        load6(a->E, 6 * (first + i), e);
        y[i] = load(a->c, first + i) + dot6(e, still);
        bias[i] = load(b->p, i);
    }
    for (int k = 0; k < a->count; k++) {
        if (k >= first && k < first + 6) continue;
        const lane force = load(a_force, k);
        for (int i = 0; i < 6; i++) y[i] = lane_fma(entry(a->L, first + i, k), force, y[i]);
    }
    for (int k = 0; k < b->count; k++) {
        const lane force = load(b_force, k);
        for (int i = 0; i < 6; i++) bias[i] = lane_fnma(load(b->E, 6 * k + i), force, bias[i]);
    }
    LANE(cal_meet)(I, K, y, bias, w, x);
    for (int i = 0; i < 6; i++) keep(w_out, i, w[i]), keep(x_out, i, x[i]);
}
