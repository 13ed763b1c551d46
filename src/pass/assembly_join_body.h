// Joins: two elements become one, and one becomes two again, W of them at a time (assembly.c has the equations). Include after
// math/lanes.h, math/lane_algebra.h and math/lane_memory.h, once a width.
//
// An element's numbers are those of its base: I (21), p (6), then for each of its columns E (6), c (1), and Λ by its lower rows.
// Everything is dense and small: six by six, and six for each open joint. Component i of lane l is at i · CAL_LANES + l, so that
// with one lane the numbers are worked on where they are. On a device a warp has a join, and its threads share the entries of
// matrices (team.h).
#define element_view LANE(cal_element_view)
#define look_at LANE(cal_look_at)
#define load LANE(cal_join_load)
#define keep LANE(cal_join_keep)
#define entry LANE(cal_join_entry)
#define row6 LANE(cal_row6)
#define dot6 LANE(cal_dot6)
#define above LANE(cal_above)
#define choose LANE(cal_choose)
#define winner LANE(cal_winner)
#define find_winner LANE(cal_find_winner)
#define pick LANE(cal_pick)
#define apply LANE(cal_apply)
#define load6 LANE(cal_join_load6)
#define stiffness_room LANE(cal_stiffness_room)
#define join_room LANE(cal_join_room)

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
LANE_INLINE lane entry(const double* packed, int i, int j) {
    return load(packed, (int)cal_packed((size_t)i, (size_t)j));
}

LANE_INLINE lane dot6(const lane* a, const lane* b) {
    lane sum = a[0] * b[0];
    for (int i = 1; i < 6; i++) sum = lane_fma(a[i], b[i], sum);
    return sum;
}

// The same with six numbers in memory.
LANE_INLINE lane row6(const lane* a, const double* p, int first) {
    lane sum = a[0] * load(p, first);
    for (int i = 1; i < 6; i++) sum = lane_fma(a[i], load(p, first + i), sum);
    return sum;
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
#if CAL_LANES == 1
    return mask ? where : elsewhere;
#else
    union {
        lane value;
        lane_bits bits;
    } a = {where}, b = {elsewhere};
    a.bits = (a.bits & mask) | (b.bits & ~mask);
    return a.value;
#endif
}

// Which of six numbers is the largest, the first one of equals: who wins of the first two, of the next two, of the last two; of the first
// four; of all.
typedef struct winner {
    lane_bits of[5];
} winner;
LANE_INLINE lane pick(const winner* w, const lane* x) {
    const lane a = choose(w->of[0], x[1], x[0]), b = choose(w->of[1], x[3], x[2]), c = choose(w->of[2], x[5], x[4]);
    return choose(w->of[4], c, choose(w->of[3], b, a));
}
LANE_INLINE winner find_winner(const lane* x) {
    winner w = {{above(x[1], x[0]), above(x[3], x[2]), above(x[5], x[4])}};
    const lane a = choose(w.of[0], x[1], x[0]), b = choose(w.of[1], x[3], x[2]), c = choose(w.of[2], x[5], x[4]);
    w.of[3] = above(b, a);
    w.of[4] = above(c, choose(w.of[3], b, a));
    return w;
}

// What a join works with, and what its members leave for each other.
typedef struct stiffness_room {
    lane column[6][6], next[6][6]; // of M and of S, as they are eliminated
    lane F[6][6];                  // Λ L
    lane W[6][6];
    lane size[6], diagonal[6];
} stiffness_room;

typedef struct join_room {
    lane M[2][6][6]; // I and Λ of the tip
    lane X[2][6][6]; // J and K
    lane E[6][6], turned[6][6];
    lane c[6], p[6], asked[6], w[6], x[6];
    lane none[6]; // zeros, of what is not there
    stiffness_room side[2];
} join_room;

// J = (1 + I Λ)⁻¹ I = L (D⁻¹ + Lᵀ Λ L)⁻¹ Lᵀ with I = L D Lᵀ; with I and Λ exchanged it is K = Λ (1 + I Λ)⁻¹. What is inverted is positive and
// symmetric: links whose masses are far apart scale its rows and columns alike, which costs no digits. (Of 1 + I Λ it scales rows
// against columns, and elimination loses as many digits as the masses are apart.)
//
// Elimination of I, or Λ, which are positive or semidefinite: the row of which most is left, in the size of its diagonal, comes next:
// whatever the units, and without growth where the matrix is singular (Higham, Accuracy and Stability, theorem 10.14). A column of
// which only rounding is left is zero, and 1 stands for its D⁻¹: of a diagonal entry, after six differences, this much is rounding.
// Pivots of lanes differ, so rows stay where they are.
//
// There is no square root, and what one step waits for of another is one quotient: products a_k a_l of a column's entries are known
// before 1 / d is, and are symmetric as they are. A member has a row, and of all columns, diagonals and L whatever it needs of them.
LANE_FUNCTION void LANE(cal_stiffness)(join_room* room, int s) {
    const lane rounding = lane_set(16.0 * DBL_EPSILON), none = lane_set(0.0), one = lane_set(1.0);
    lane(*M)[6] = room->M[s], (*other)[6] = room->M[1 - s];
    stiffness_room* own = &room->side[s];
    // Of the member's rows, and of all.
    lane A[CAL_SIDE_ROWS][6], own_L[CAL_SIDE_ROWS][6], own_W[CAL_SIDE_ROWS][6];
    lane L[6][6], N[6][6], diagonal[6], size[6], compliance[6], inverse[6];
    CAL_OWN_ROWS(r, i) {
        const lane d = M[i][i];
        CAL_UNROLL for (int j = 0; j < 6; j++) A[r][j] = M[i][j];
        own->size[i] = choose(above(d, none), one / choose(above(d, none), d, one), none);
    }
    CAL_TEAM_WAIT();
    CAL_UNROLL for (int k = 0; k < 6; k++) size[k] = own->size[k], diagonal[k] = M[k][k];
    // I = L D Lᵀ
    CAL_UNROLL for (int t = 0; t < 6; t++) {
        lane share[6], column[6];
        CAL_UNROLL for (int k = 0; k < 6; k++) share[k] = diagonal[k] * size[k];
        const winner pivot = find_winner(share);
        CAL_OWN_ROWS(r, i) {
            if (CAL_ALONE) A[r][i] = diagonal[i];
            own->column[t][i] = pick(&pivot, A[r]);
        }
        CAL_TEAM_WAIT();
        const lane_bits kept = above(pick(&pivot, share), rounding);
        compliance[t] = one / choose(kept, pick(&pivot, diagonal), one);
        inverse[t] = choose(kept, compliance[t], none);
        CAL_UNROLL for (int k = 0; k < 6; k++) column[k] = own->column[t][k];
        CAL_UNROLL for (int k = 0; k < 6; k++) {
            L[k][t] = column[k] * inverse[t];
            diagonal[k] = lane_fnma(column[k] * column[k], inverse[t], diagonal[k]);
        }
        CAL_OWN_ROWS(r, i) {
            const lane a = own->column[t][i];
            own_L[r][t] = a * inverse[t];
            CAL_UNROLL for (int l = 0; l < CAL_ROW_END(i); l++) {
                A[r][l] = lane_fnma(a * column[l], inverse[t], A[r][l]);
                CAL_MIRROR(A, r, l);
            }
        }
    }
    // S = D⁻¹ + Lᵀ Λ L, of which the lower rows are needed
    CAL_OWN_ROWS(r, i) {
        lane row[6], sum[6];
        CAL_UNROLL for (int k = 0; k < 6; k++) row[k] = other[i][k];
        CAL_UNROLL for (int j = 0; j < 6; j++) {
            sum[j] = row[0] * L[0][j];
            CAL_UNROLL for (int k = 1; k < 6; k++) sum[j] = lane_fma(row[k], L[k][j], sum[j]);
        }
        CAL_UNROLL for (int j = 0; j < 6; j++) own->F[i][j] = sum[j];
    }
    CAL_TEAM_WAIT();
    CAL_OWN_ROWS(r, i) {
        lane column[6];
        CAL_UNROLL for (int k = 0; k < 6; k++) column[k] = own->F[k][i];
        CAL_UNROLL for (int j = 0; j < CAL_ROW_END(i + 1); j++) {
            A[r][j] = i == j ? compliance[j] : none;
            CAL_UNROLL for (int k = 0; k < 6; k++) A[r][j] = lane_fma(column[k], L[k][j], A[r][j]);
        }
        CAL_UNROLL for (int j = 0; j < 6; j++) if (i == j) own->diagonal[j] = A[r][j];
    }
    CAL_TEAM_WAIT();
    CAL_UNROLL for (int k = 0; k < 6; k++) diagonal[k] = own->diagonal[k];
    // S = N D Nᵀ
    CAL_UNROLL for (int t = 0; t < 6; t++) {
        lane column[6];
        CAL_OWN_ROWS(r, i) own->next[t][i] = A[r][t];
        CAL_TEAM_WAIT();
        inverse[t] = one / diagonal[t];
        CAL_UNROLL for (int k = t + 1; k < 6; k++) column[k] = own->next[t][k];
        CAL_UNROLL for (int k = t + 1; k < 6; k++) {
            N[k][t] = column[k] * inverse[t];
            diagonal[k] = lane_fnma(column[k] * column[k], inverse[t], diagonal[k]);
        }
        CAL_OWN_ROWS(r, i) {
            const lane a = A[r][t];
            CAL_UNROLL for (int l = t + 1; l < CAL_ROW_END(i); l++) A[r][l] =
                lane_fnma(a * column[l], inverse[t], A[r][l]);
        }
    }
    // W = N⁻¹ Lᵀ, J = Wᵀ D⁻¹ W
    CAL_OWN_ROWS(r, i) {
        CAL_UNROLL for (int t = 0; t < 6; t++) {
            own_W[r][t] = own_L[r][t];
            CAL_UNROLL for (int k = 0; k < t; k++) own_W[r][t] = lane_fnma(N[t][k], own_W[r][k], own_W[r][t]);
        }
        CAL_UNROLL for (int t = 0; t < 6; t++) own->W[i][t] = own_W[r][t];
    }
    CAL_TEAM_WAIT();
    CAL_OWN_ROWS(r, i) {
        lane sum[6];
        CAL_UNROLL for (int t = 0; t < 6; t++) own_W[r][t] = own_W[r][t] * inverse[t];
        CAL_UNROLL for (int j = 0; j < CAL_ROW_END(i + 1); j++) {
            sum[j] = own_W[r][0] * own->W[j][0];
            CAL_UNROLL for (int t = 1; t < 6; t++) sum[j] = lane_fma(own_W[r][t], own->W[j][t], sum[j]);
        }
        CAL_UNROLL for (int j = 0; j < CAL_ROW_END(i + 1); j++) if (j <= i) room->X[s][i][j] = room->X[s][j][i] =
            sum[j];
    }
}

// Where a tip that would move with c meets what needs a force p to stay where it is: its acceleration and the force on the tip,
//
//     x = c − K (I c + p) = Zᵀ c − K p,   w = −(I x + p) = −J c − Z p
//
// K I has no entry above one in the size of accelerations: x is as exact as c and what p does to the inertia alone. (J Λ, which has
// the same trace, multiplies what a heavy b resists by what a light a gives way; their product is a difference.)
LANE_FUNCTION void LANE(cal_meet)(join_room* room) {
    CAL_ENTRIES(i, 6) room->asked[i] = dot6(room->M[0][i], room->c) + room->p[i];
    CAL_TEAM_WAIT();
    CAL_ENTRIES(i, 6) room->x[i] = room->c[i] - dot6(room->X[1][i], room->asked);
    CAL_TEAM_WAIT();
    CAL_ENTRIES(i, 6) room->w[i] = -(dot6(room->M[0][i], room->x) + room->p[i]);
    CAL_TEAM_WAIT();
}

// v Q, row by row.
LANE_INLINE void apply(const lane* v, lane (*Q)[6], lane* out) {
    CAL_UNROLL for (int k = 0; k < 6; k++) out[k] = v[0] * Q[0][k];
    CAL_UNROLL for (int m = 1; m < 6; m++) CAL_UNROLL for (int k = 0; k < 6; k++) out[k] =
        lane_fma(v[m], Q[m][k], out[k]);
}
LANE_INLINE void load6(const double* p, int first, lane* out) {
    CAL_UNROLL for (int k = 0; k < 6; k++) out[k] = load(p, first + k);
}

// Λ between two columns of the joined element, each of a's, of b's or of both: rows that both have meet from both sides.
LANE_INLINE lane LANE(cal_join_pair)(const element_view* a, const element_view* b, const int32_t* row,
                                     const int32_t* column, const double* force, const double* response) {
    const int after = a->count;
    lane sum = lane_set(0.0), own[6];
    if (row[0] >= 0 && column[0] >= 0) {
        const int i = row[0] > column[0] ? row[0] : column[0], j = row[0] > column[0] ? column[0] : row[0];
        load6(response, 6 * i, own);
        sum = sum + (entry(a->L, i, j) + row6(own, force, 6 * j));
    }
    if (row[1] >= 0 && column[1] >= 0) {
        const int i = row[1] > column[1] ? row[1] : column[1], j = row[1] > column[1] ? column[1] : row[1];
        load6(b->E, 6 * i, own);
        sum = sum + (entry(b->L, i, j) + row6(own, response, 6 * (after + j)));
    }
    if (row[1] >= 0 && column[0] >= 0) {
        load6(force, 6 * (after + row[1]), own);
        sum = sum + row6(own, response, 6 * column[0]);
    }
    if (row[0] >= 0 && column[1] >= 0) {
        load6(force, 6 * (after + column[1]), own);
        sum = sum + row6(own, response, 6 * row[0]);
    }
    return sum;
}

// b below a tip of a, in steps in which nobody waits for another:
//
//     T = Eᵀ J,  K e of b's columns,             q = I c + p
//     I + T E,   the forces u of all columns,    x = c − K q
//                                                w = −(I x + p)
//     p − Eᵀ w;  Eᵀ u, c and Λ of the joined element's columns
//
// Each but the last is a vector times a matrix, added to or taken from another: members do the same with different numbers. A column's
// force on the tip is u = e − I K e where it is b's, and −J Λ where it is a's own, which moves the tip by Λ; x and w are what the tip does while
// nothing else acts (cal_meet). map: of a's columns and b's, what they are of the joined element's, -1: nothing, it is joined; then
// of each column of the joined element, which of a's and which of b's it is; -1: none. work: 12 numbers a column.
// plain: a has one tip, and the joined element has the columns of b, as in a chain; no map is needed.
LANE_INLINE void LANE(cal_join_below)(const element_view* a, const element_view* b, int tip, bool plain,
                                      const int32_t* map, const element_view* out, double* join, join_room* room,
                                      double* work) {
    const int first = 6 * tip, after = a->count, all = a->count + b->count;
    const int32_t* inverse = map + all;
    const int begin = plain ? 7 - after : 7,
              end = plain ? 7 + b->count : 7 + all; // of columns, behind six rows and the tip
    double *force = work, *response = work + 6 * all * CAL_LANES, *none = (double*)room->none;
    const lane one = lane_set(1.0);
    CAL_ENTRIES_LOWER(s, 2, i, j) {
        room->M[s][i][j] = room->M[s][j][i] = s == 0 ? entry(b->I, i, j) : entry(a->L, first + i, first + j);
    }
    CAL_ENTRIES2(k, 6, m, 6) room->E[k][m] = load(a->E, 6 * (first + k) + m);
    CAL_ENTRIES(i, 6) {
        room->c[i] = load(a->c, first + i), room->p[i] = load(b->p, i);
        room->none[i] = lane_set(0.0);
    }
    CAL_TEAM_WAIT();
    CAL_SIDES(s) LANE(cal_stiffness)(room, s);
    CAL_TEAM_WAIT();
    CAL_ENTRIES(i, end) {
        const int column = i - begin, of_b = column - after;
        const bool row = i < 6, meets = i == 6;
        if (i > 6 && of_b < 0) {
            for (int k = 0; k < 6 && map[column] >= 0; k++)
                keep(response, 6 * column + k, entry(a->L, first + k, column));
            continue;
        }
        const double *from = row     ? (double*)&room->E[0][i]
                             : meets ? (double*)room->c
                                     : b->E + 6 * of_b * CAL_LANES,
                     *add = meets ? (double*)room->p : none;
        double* to = row ? (double*)room->turned[i] : meets ? (double*)room->asked : response + 6 * column * CAL_LANES;
        lane v[6], result[6];
        CAL_UNROLL for (int k = 0; k < 6; k++) v[k] = load(from, row ? 6 * k : k);
        apply(v, row ? room->X[0] : meets ? room->M[0] : room->X[1], result);
        CAL_UNROLL for (int k = 0; k < 6; k++) result[k] = load(add, k) + result[k];
        CAL_UNROLL for (int k = 0; k < 6; k++) keep(to, k, result[k]);
    }
    CAL_TEAM_WAIT();
    CAL_ENTRIES(i, end) {
        const int column = i - begin, of_b = column - after, at = i * (i + 1) / 2; // where row i of six begins
        const bool row = i < 6, meets = i == 6;
        if (i > 6 && of_b < 0 && map[column] < 0) continue;
        const double *from = row     ? (double*)room->turned[i]
                             : meets ? (double*)room->asked
                                     : response + 6 * column * CAL_LANES,
                     *add = row        ? a->I + at * CAL_LANES
                            : meets    ? (double*)room->c
                            : of_b < 0 ? none
                                       : b->E + 6 * of_b * CAL_LANES;
        double* to = row ? out->I + at * CAL_LANES : meets ? (double*)room->x : force + 6 * column * CAL_LANES;
        const lane sign = row ? one : -one;
        lane v[6], result[6];
        CAL_UNROLL for (int k = 0; k < 6; k++) v[k] = load(from, k);
        apply(v, row ? room->E : meets ? room->X[1] : of_b < 0 ? room->X[0] : room->M[0], result);
        CAL_UNROLL for (int k = 0; k < 6; k++) result[k] = lane_fma(sign, result[k], load(add, k));
        CAL_UNROLL for (int k = 0; k < 6; k++) if (!row || k <= i) keep(to, k, result[k]);
    }
    CAL_TEAM_WAIT();
    CAL_ENTRIES(i, 6) room->w[i] = -(dot6(room->M[0][i], room->x) + room->p[i]);
    CAL_ENTRIES_LOWER(once, 1, i, j) {
        (void)once;
        keep(join, (int)cal_packed((size_t)i, (size_t)j), room->X[1][i][j]);
    }
    CAL_TEAM_WAIT();
    CAL_ENTRIES(i, 1 + out->count) {
        const int o = i - 1, of_a = i == 0 || plain ? -1 : inverse[2 * o],
                  of_b = i == 0  ? -1
                         : plain ? o
                                 : inverse[2 * o + 1];
        const double *from = i == 0      ? (double*)room->w
                             : of_a >= 0 ? force + 6 * of_a * CAL_LANES
                                         : none,
                     *also = of_b >= 0 ? force + 6 * (after + of_b) * CAL_LANES : none,
                     *add = i == 0      ? a->p
                            : of_a >= 0 ? a->E + 6 * of_a * CAL_LANES
                                        : none;
        double* to = i == 0 ? out->p : out->E + 6 * o * CAL_LANES;
        lane v[6], result[6];
        CAL_UNROLL for (int k = 0; k < 6; k++) v[k] = load(from, k) + load(also, k);
        apply(v, room->E, result);
        CAL_UNROLL for (int k = 0; k < 6; k++) result[k] = lane_fma(i == 0 ? -one : one, result[k], load(add, k));
        CAL_UNROLL for (int k = 0; k < 6; k++) keep(to, k, result[k]);
    }
    CAL_ENTRIES(o, out->count) {
        const int of_a = plain ? -1 : inverse[2 * o], of_b = plain ? o : inverse[2 * o + 1];
        const double *moves = of_a >= 0 ? response + 6 * of_a * CAL_LANES : none,
                     *e = of_b >= 0 ? b->E + 6 * of_b * CAL_LANES : none,
                     *c = of_a >= 0 ? a->c + of_a * CAL_LANES : none,
                     *more = of_b >= 0 ? b->c + of_b * CAL_LANES : none;
        keep(out->c, o, (load(c, 0) + row6(room->w, moves, 0)) + (load(more, 0) + row6(room->x, e, 0)));
    }
    CAL_ENTRIES_TRIANGLE(o, n, out->count) {
        const int32_t row[2] = {plain ? -1 : inverse[2 * o], plain ? o : inverse[2 * o + 1]},
                      column[2] = {plain ? -1 : inverse[2 * n], plain ? n : inverse[2 * n + 1]};
        keep(out->L, (int)cal_packed((size_t)o, (size_t)n), LANE(cal_join_pair)(a, b, row, column, force, response));
    }
    CAL_TEAM_WAIT();
}

// The force w on the tip and the acceleration of what hangs there; known: the forces on a's columns and on b's.
LANE_FUNCTION void LANE(cal_part_below)(const element_view* a, const element_view* b, int tip, const double* join,
                                        const double* base, const double* a_force, const double* b_force, double* w_out,
                                        double* x_out, join_room* room) {
    const int first = 6 * tip;
    CAL_ENTRIES_LOWER(s, 2, i, j) {
        lane(*out)[6] = s == 0 ? room->M[0] : room->X[1];
        out[i][j] = out[j][i] = entry(s == 0 ? b->I : join, i, j);
    }
    CAL_ENTRIES2(s, 2, i, 6) {
        lane sum;
        if (s == 0) {
            lane e[6];
            for (int k = 0; k < 6; k++) e[k] = load(a->E, 6 * (first + i) + k);
            sum = load(a->c, first + i) + row6(e, base, 0);
            for (int k = 0; k < a->count; k++)
                if (k < first || k >= first + 6) sum = lane_fma(entry(a->L, first + i, k), load(a_force, k), sum);
            room->c[i] = sum;
        } else {
            sum = load(b->p, i);
            for (int k = 0; k < b->count; k++) sum = lane_fnma(load(b->E, 6 * k + i), load(b_force, k), sum);
            room->p[i] = sum;
        }
    }
    CAL_TEAM_WAIT();
    LANE(cal_meet)(room);
    CAL_ENTRIES(i, 6) keep(w_out, i, room->w[i]), keep(x_out, i, room->x[i]);
}
