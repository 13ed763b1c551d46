// Joins: two elements become one, and one becomes two again, W of them at a time (assembly.c has the equations). Include after
// math/lanes.h, math/lane_algebra.h and math/lane_memory.h, once a width.
//
// An element's numbers are those of its base: I (21), p (6), then for each of its columns E (6), c (1), and Λ by its lower rows.
// Everything is dense and small: six by six, and six for each open joint. Component i of lane l is at i · CAL_LANES + l, so that
// with one lane the numbers are worked on where they are.
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
#define exceeds LANE(cal_exceeds)
#define swap_where LANE(cal_swap_where)
#define lane_any LANE(cal_lane_any)
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

LANE_INLINE lane load(const double* p, int i) { return slot_load(p, i); }
LANE_INLINE void keep(double* p, int i, lane value) { slot_store(p, i, value); }
LANE_INLINE void grow(double* p, int i, lane value) { slot_store(p, i, slot_load(p, i) + value); }
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

// Where |a| > |b|: all bits of the lane.
LANE_INLINE lane_bits exceeds(lane a, lane b) {
    union {
        lane value;
        lane_bits bits;
    } left = {a}, right = {b};
    left.bits &= INT64_MAX;
    right.bits &= INT64_MAX;
#if CAL_LANES == 1
    return left.value > right.value ? UINT64_MAX : 0;
#else
    return (lane_bits)(left.value > right.value);
#endif
}

LANE_INLINE bool lane_any(lane_bits mask) {
#if CAL_LANES == 1
    return mask != 0;
#elif CAL_LANES == 4 && defined(__AVX2__) && !defined(CAL_PORTABLE_LANES)
    return _mm256_movemask_pd((__m256d)mask) != 0;
#elif CAL_LANES == 8 && defined(__AVX512DQ__) && !defined(CAL_PORTABLE_LANES)
    return _mm512_movepi64_mask((__m512i)mask) != 0;
#else
    uint64_t any = 0;
    for (int l = 0; l < CAL_LANES; l++) any |= mask[l];
    return any != 0;
#endif
}

LANE_INLINE void swap_where(lane_bits mask, lane* a, lane* b) {
    union {
        lane value;
        lane_bits bits;
    } left = {*a}, right = {*b};
    const lane_bits both = (left.bits ^ right.bits) & mask;
    left.bits ^= both, right.bits ^= both;
    *a = left.value, *b = right.value;
}

// J = (1 + I Λ)⁻¹ I, which is symmetric: by elimination with row pivots, for all columns at once.
static void LANE(cal_stiffness)(lane I[6][6], lane L[6][6], lane x[6][6]) {
    lane m[6][6];
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            lane sum = lane_set(i == j ? 1.0 : 0.0);
            for (int k = 0; k < 6; k++) sum = lane_fma(I[i][k], L[k][j], sum);
            m[i][j] = sum;
            x[i][j] = I[i][j];
        }
    for (int k = 0; k < 6; k++) {
        for (int i = k + 1; i < 6; i++) {
            const lane_bits larger = exceeds(m[i][k], m[k][k]);
            if (!lane_any(larger)) continue;
            for (int j = k; j < 6; j++) swap_where(larger, &m[k][j], &m[i][j]);
            for (int j = 0; j < 6; j++) swap_where(larger, &x[k][j], &x[i][j]);
        }
        const lane r = lane_set(1.0) / m[k][k];
        for (int i = k + 1; i < 6; i++) {
            const lane factor = m[i][k] * r;
            for (int j = k + 1; j < 6; j++) m[i][j] = lane_fnma(factor, m[k][j], m[i][j]);
            for (int j = 0; j < 6; j++) x[i][j] = lane_fnma(factor, x[k][j], x[i][j]);
        }
        m[k][k] = r;
    }
    for (int k = 5; k >= 0; k--) {
        for (int j = 0; j < 6; j++) x[k][j] = x[k][j] * m[k][k];
        for (int i = 0; i < k; i++)
            for (int j = 0; j < 6; j++) x[i][j] = lane_fnma(m[i][k], x[k][j], x[i][j]);
    }
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < i; j++) x[i][j] = x[j][i] = lane_set(0.5) * (x[i][j] + x[j][i]);
}

// Λ of a tip with itself.
LANE_INLINE void tip_block(const element_view* a, int first, lane out[6][6]) {
    for (int i = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) out[i][j] = out[j][i] = entry(a->L, first + i, first + j);
}

// Λ between all columns that are left: of a's with each other, of b's, and of both. Two columns of one row, one of each element,
// meet on the diagonal from both sides.
static void LANE(cal_join_pairs)(const element_view* a, const element_view* b, const int32_t* map, double* L,
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

// The columns of both elements in the joined one: the force u that each puts on the tip, and what that does there; −J Λ of a's
// own, Zᵀ e of b's. work: 12 numbers a column.
static void LANE(cal_join_columns)(const element_view* a, const element_view* b, int first, const int32_t* map,
                                   const element_view* out, lane E[6][6], lane J[6][6], lane L[6][6], const lane* w,
                                   const lane* x, double* work) {
    const int after = a->count, all = a->count + b->count;
    double *force = work, *response = work + 6 * all * CAL_LANES;
    lane own[6], turned[6], u[6];
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
            multiply6(L, e, turned);
            multiply6(J, turned, u);
            for (int k = 0; k < 6; k++) u[k] = e[k] - u[k];
            multiply6(L, u, own);
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

static void LANE(cal_join_below)(const element_view* a, const element_view* b, int tip, const int32_t* map,
                                 const element_view* out, double* join, double* work) {
    const int first = 6 * tip;
    lane I[6][6], L[6][6], J[6][6], E[6][6], free[6], c[6], p[6], w[6], x[6];
    unpack6(b->I, I);
    tip_block(a, first, L);
    LANE(cal_stiffness)(I, L, J);
    for (int i = 0, at = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) keep(join, at++, J[i][j]);
    // What the tip does while nothing else acts: w = −J (c − Λ p) − p, x = c + Λ w.
    load6(a->c, first, c);
    load6(b->p, 0, p);
    multiply6(L, p, free);
    for (int i = 0; i < 6; i++) free[i] = c[i] - free[i];
    multiply6(J, free, w);
    for (int i = 0; i < 6; i++) w[i] = -w[i] - p[i];
    multiply6(L, w, x);
    for (int i = 0; i < 6; i++) x[i] = x[i] + c[i];
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
    memset(out->E, 0, (size_t)(7 * out->count + out->count * (out->count + 1) / 2) * CAL_LANES * sizeof(double));
    LANE(cal_join_columns)(a, b, first, map, out, E, J, L, w, x, work);
}

// The force w on the tip and the acceleration of what hangs there; known: the forces on a's columns and on b's.
static void LANE(cal_part_below)(const element_view* a, const element_view* b, int tip, const double* join,
                                 const double* base, const double* a_force, const double* b_force, double* w_out,
                                 double* x_out) {
    const int first = 6 * tip;
    lane L[6][6], J[6][6], y[6], bias[6], rest[6], still[6], w[6];
    tip_block(a, first, L);
    unpack6(join, J);
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
    multiply6(L, bias, rest);
    for (int i = 0; i < 6; i++) rest[i] = y[i] - rest[i];
    multiply6(J, rest, w);
    for (int i = 0; i < 6; i++) w[i] = -w[i] - bias[i];
    multiply6(L, w, rest);
    for (int i = 0; i < 6; i++) keep(w_out, i, w[i]), keep(x_out, i, y[i] + rest[i]);
}
