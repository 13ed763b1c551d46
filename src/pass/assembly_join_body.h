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
#define root_of LANE(cal_root_of)
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

// What a join works with, and what its members leave for each other.
typedef struct stiffness_room {
    lane A[6][6]; // what is left of the matrix; then S
    lane G[6][6], C[6][6];
    lane F[6][6];             // Λ G; then C⁻¹ Gᵀ
    lane size[6], inverse[6]; // of diagonals
} stiffness_room;

typedef struct join_room {
    lane M[2][6][6]; // I and Λ of the tip
    lane X[2][6][6]; // J and K
    lane E[6][6], turned[6][6];
    lane c[6], p[6], asked[6], w[6], x[6];
    stiffness_room side[2];
} join_room;

// G of A = G Gᵀ for two matrices that are positive or semidefinite, column by column. The row of which most is left, in the size of
// its diagonal, comes next: whatever the units, and without growth where the matrix is singular (Higham, Accuracy and Stability,
// theorem 10.14). A column of which only rounding is left is zero: of a diagonal entry, after six differences, this much is
// rounding. Pivots of lanes differ, so rows stay where they are.
LANE_FUNCTION void LANE(cal_square_roots)(join_room* room) {
    const lane rounding = lane_set(16.0 * DBL_EPSILON), none = lane_set(0.0), one = lane_set(1.0);
    CAL_SIDE_ENTRIES(s, i, 6) {
        const lane d = room->M[s][i][i];
        room->side[s].size[i] = choose(above(d, none), one / choose(above(d, none), d, one), none);
        for (int j = 0; j < 6; j++) room->side[s].A[i][j] = room->M[s][i][j];
    }
    CAL_TEAM_WAIT();
    for (int t = 0; t < 6; t++) {
        CAL_SIDES(s) {
            stiffness_room* own = &room->side[s];
            lane pivot = own->A[0][0], best = own->A[0][0] * own->size[0];
            lane_bits larger[6];
            CAL_UNROLL for (int i = 1; i < 6; i++) {
                const lane share = own->A[i][i] * own->size[i];
                larger[i] = above(share, best);
                best = choose(larger[i], share, best);
                pivot = choose(larger[i], own->A[i][i], pivot);
            }
            const lane_bits kept = above(best, rounding);
            const lane inverse = choose(kept, one / root_of(choose(kept, pivot, one)), none);
            CAL_OF_SIDE(k, 6) {
                lane entry = own->A[k][0];
                CAL_UNROLL for (int i = 1; i < 6; i++) entry = choose(larger[i], own->A[k][i], entry);
                own->G[k][t] = entry * inverse;
            }
        }
        CAL_TEAM_WAIT();
        CAL_SIDE_ENTRIES(s, k, 6) {
            stiffness_room* own = &room->side[s];
            CAL_UNROLL for (int l = 0; l < CAL_ROW_END(k); l++) {
                own->A[k][l] = lane_fnma(own->G[k][t], own->G[l][t], own->A[k][l]);
                if (CAL_ALONE) own->A[l][k] = own->A[k][l];
            }
        }
        CAL_TEAM_WAIT();
    }
}

// C of S = C Cᵀ, for eigenvalues of one and more; what is left of S is where it was.
LANE_FUNCTION void LANE(cal_choleskys)(join_room* room) {
    for (int j = 0; j < 6; j++) {
        CAL_SIDES(s) {
            stiffness_room* own = &room->side[s];
            const lane root = root_of(own->A[j][j]), inverse = lane_set(1.0) / root;
            CAL_OF_SIDE(i, 6) {
                if (i == j) own->inverse[j] = inverse;
                if (i > j) own->C[i][j] = own->A[i][j] * inverse;
            }
        }
        CAL_TEAM_WAIT();
        CAL_SIDE_ENTRIES(s, i, 6) {
            stiffness_room* own = &room->side[s];
            for (int l = j + 1; l <= i; l++) own->A[i][l] = lane_fnma(own->C[i][j], own->C[l][j], own->A[i][l]);
        }
        CAL_TEAM_WAIT();
    }
}

// J = (1 + I Λ)⁻¹ I = G (1 + Gᵀ Λ G)⁻¹ Gᵀ with I = G Gᵀ; with I and Λ exchanged it is K = Λ (1 + I Λ)⁻¹. What is inverted is positive with
// eigenvalues of one and more, and symmetric: links whose masses are far apart scale its rows and columns alike, which costs
// no digits. (Of 1 + I Λ it scales rows against columns, and elimination loses as many digits as the masses are apart.)
LANE_FUNCTION void LANE(cal_stiffnesses)(join_room* room) {
    LANE(cal_square_roots)(room);
    CAL_SIDE_ENTRIES(s, i, 6) {
        stiffness_room* own = &room->side[s];
        lane(*L)[6] = room->M[1 - s];
        CAL_UNROLL for (int j = 0; j < 6; j++) {
            lane sum = L[i][0] * own->G[0][j];
            CAL_UNROLL for (int k = 1; k < 6; k++) sum = lane_fma(L[i][k], own->G[k][j], sum);
            own->F[i][j] = sum;
        }
    }
    CAL_TEAM_WAIT();
    CAL_SIDE_ENTRIES(s, i, 6) {
        stiffness_room* own = &room->side[s];
        CAL_UNROLL for (int j = 0; j < CAL_ROW_END(i); j++) {
            lane sum = lane_set(i == j ? 1.0 : 0.0);
            CAL_UNROLL for (int k = 0; k < 6; k++) sum = lane_fma(own->G[k][i], own->F[k][j], sum);
            if (j <= i) own->A[i][j] = sum;
        }
    }
    CAL_TEAM_WAIT();
    LANE(cal_choleskys)(room);
    CAL_SIDE_ENTRIES(s, j, 6) {
        stiffness_room* own = &room->side[s];
        lane column[6];
        CAL_UNROLL for (int i = 0; i < 6; i++) {
            lane sum = own->G[j][i];
            CAL_UNROLL for (int k = 0; k < i; k++) sum = lane_fnma(own->C[i][k], column[k], sum);
            column[i] = sum * own->inverse[i];
        }
        CAL_UNROLL for (int i = 0; i < 6; i++) own->F[i][j] = column[i];
    }
    CAL_TEAM_WAIT();
    CAL_SIDE_ENTRIES(s, i, 6) {
        stiffness_room* own = &room->side[s];
        CAL_UNROLL for (int j = 0; j < CAL_ROW_END(i); j++) {
            lane sum = own->F[0][i] * own->F[0][j];
            CAL_UNROLL for (int k = 1; k < 6; k++) sum = lane_fma(own->F[k][i], own->F[k][j], sum);
            if (j <= i) room->X[s][i][j] = room->X[s][j][i] = sum;
        }
    }
    CAL_TEAM_WAIT();
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

// Λ between two columns of the joined element: of a's with each other, of b's, and of both. Columns of a row that both have meet from both
// sides, and those on the diagonal with themselves.
LANE_INLINE lane LANE(cal_join_pair)(const element_view* a, const element_view* b, const int32_t* row,
                                     const int32_t* column, const double* force, const double* response) {
    const int after = a->count;
    lane sum = lane_set(0.0), own[6];
    if (row[0] >= 0 && column[0] >= 0) {
        const int i = row[0] > column[0] ? row[0] : column[0], j = row[0] > column[0] ? column[0] : row[0];
        for (int k = 0; k < 6; k++) own[k] = load(response, 6 * i + k);
        sum = sum + (entry(a->L, i, j) + row6(own, force, 6 * j));
    }
    // What b's columns bring, the earlier one first.
    for (int turn = 0; turn < 2; turn++) {
        const int32_t* now = (row[1] < column[1]) == (turn == 0) ? row : column;
        const int32_t* other = now == row ? column : row;
        if (now[1] < 0 || (row == column && turn == 1)) continue;
        if (other[1] >= 0 && other[1] <= now[1]) {
            for (int k = 0; k < 6; k++) own[k] = load(b->E, 6 * now[1] + k);
            sum = sum + (entry(b->L, now[1], other[1]) + row6(own, response, 6 * (after + other[1])));
        }
        if (other[0] >= 0) {
            for (int k = 0; k < 6; k++) own[k] = load(force, 6 * (after + now[1]) + k);
            const lane value = row6(own, response, 6 * other[0]);
            sum = sum + (row == column ? value + value : value);
        }
    }
    return sum;
}

// The columns of both elements in the joined one: the force u that each puts on the tip, and what that does there; −J Λ and Λ of a's
// own, Z e and K e of b's, Z = (1 + I Λ)⁻¹ = 1 − I K. inverse: of each column of the joined element, which of a's and which of b's it
// is; -1: none. work: 12 numbers a column.
LANE_FUNCTION void LANE(cal_join_columns)(const element_view* a, const element_view* b, int first, const int32_t* map,
                                          const int32_t* inverse, const element_view* out, join_room* room,
                                          double* work) {
    const int after = a->count, all = a->count + b->count;
    double *force = work, *response = work + 6 * all * CAL_LANES;
    CAL_ENTRIES(i, all) {
        CAL_UNROLL for (int k = 0; k < 6; k++) {
            if (i >= after)
                keep(response, 6 * i + k, row6(room->X[1][k], b->E, 6 * (i - after)));
            else if (map[i] >= 0)
                keep(response, 6 * i + k, entry(a->L, first + k, i));
        }
        CAL_UNROLL for (int k = 0; k < 6; k++) {
            if (i >= after)
                keep(force, 6 * i + k, load(b->E, 6 * (i - after) + k) - row6(room->M[0][k], response, 6 * i));
            else if (map[i] >= 0)
                keep(force, 6 * i + k, -row6(room->X[0][k], response, 6 * i));
        }
    }
    CAL_TEAM_WAIT();
    CAL_ENTRIES(o, out->count) {
        const int32_t* of = inverse + 2 * o;
        CAL_UNROLL for (int m = 0; m < 6; m++) {
            lane sum = lane_set(0.0);
            if (of[0] >= 0) sum = sum + load(a->E, 6 * of[0] + m);
            for (int side = 0; side < 2; side++) {
                if (of[side] < 0) continue;
                const int i = of[side] + (side ? after : 0);
                CAL_UNROLL for (int k = 0; k < 6; k++) sum = lane_fma(room->E[k][m], load(force, 6 * i + k), sum);
            }
            keep(out->E, 6 * o + m, sum);
        }
    }
    CAL_ENTRIES(o, out->count) {
        const int32_t* of = inverse + 2 * o;
        lane sum = lane_set(0.0), own[6];
        if (of[0] >= 0) {
            for (int k = 0; k < 6; k++) own[k] = load(response, 6 * of[0] + k);
            sum = sum + (load(a->c, of[0]) + dot6(own, room->w));
        }
        if (of[1] >= 0) {
            for (int k = 0; k < 6; k++) own[k] = load(b->E, 6 * of[1] + k);
            sum = sum + (load(b->c, of[1]) + dot6(own, room->x));
        }
        keep(out->c, o, sum);
    }
    CAL_ENTRIES2(o, out->count, n, out->count) {
        if (n <= o)
            keep(out->L, (int)cal_packed((size_t)o, (size_t)n),
                 LANE(cal_join_pair)(a, b, inverse + 2 * o, inverse + 2 * n, force, response));
    }
    CAL_TEAM_WAIT();
}

LANE_FUNCTION void LANE(cal_join_below)(const element_view* a, const element_view* b, int tip, const int32_t* map,
                                        const element_view* out, double* join, join_room* room, double* work) {
    const int first = 6 * tip;
    CAL_ENTRIES_LOWER(s, 2, i, j) {
        room->M[s][i][j] = room->M[s][j][i] = s == 0 ? entry(b->I, i, j) : entry(a->L, first + i, first + j);
    }
    CAL_ENTRIES2(k, 6, m, 6) room->E[k][m] = load(a->E, 6 * (first + k) + m);
    CAL_ENTRIES(i, 6) room->c[i] = load(a->c, first + i), room->p[i] = load(b->p, i);
    CAL_TEAM_WAIT();
    LANE(cal_stiffnesses)(room);
    // What the tip does while nothing else acts.
    LANE(cal_meet)(room);
    // I + E J Eᵀ, p − E w
    CAL_ENTRIES(i, 6) {
        CAL_UNROLL for (int k = 0; k < 6; k++) {
            lane sum = room->E[0][i] * room->X[0][0][k];
            CAL_UNROLL for (int m = 1; m < 6; m++) sum = lane_fma(room->E[m][i], room->X[0][m][k], sum);
            room->turned[i][k] = sum;
        }
    }
    CAL_TEAM_WAIT();
    CAL_ENTRIES_LOWER(one, 1, i, j) {
        (void)one;
        const int at = (int)cal_packed((size_t)i, (size_t)j);
        lane sum = load(a->I, at);
        for (int k = 0; k < 6; k++) sum = lane_fma(room->turned[i][k], room->E[k][j], sum);
        keep(out->I, at, sum);
        keep(join, at, room->X[1][i][j]);
    }
    CAL_ENTRIES(i, 6) {
        lane bias = load(a->p, i);
        for (int k = 0; k < 6; k++) bias = lane_fnma(room->E[k][i], room->w[k], bias);
        keep(out->p, i, bias);
    }
    LANE(cal_join_columns)(a, b, first, map, map + a->count + b->count, out, room, work);
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
