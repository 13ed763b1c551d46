// The factored mass matrix (mass_factor.h) of one node, W nodes at a time: the mechanics, without columns. Inertias are those of
// pass/aba_body.h, whose functions it uses, without biases. Include after math/lanes.h, math/lane_algebra.h and math/lane_memory.h,
// once a width.
#include "pass/aba_body.h"
#include <assert.h>

#define factored LANE(cal_factored)
#define get_lane LANE(cal_get_lane)
#define set_lane LANE(cal_set_lane)
#define dot_axis LANE(cal_dot_axis)
#define root_of LANE(cal_root_of)

// One step of a column: the joint's axes S and V = I S C⁻ᵀ (6 a degree of freedom), C with its diagonal inverted, the arm from the
// parent's origin, and I, which becomes what the parent adds, at the parent's origin.
typedef struct factored {
    lane S[36], V[36], C[36];
    articulated I;
    v3 arm;
    lane armature[6];
} factored;

#if CAL_LANES == 1
LANE_INLINE double get_lane(const lane* x, int l) {
    (void)l;
    return *x;
}
LANE_INLINE void set_lane(lane* x, int l, double value) {
    (void)l;
    *x = value;
}
#else
LANE_INLINE double get_lane(const lane* x, int l) { return (*x)[l]; }
LANE_INLINE void set_lane(lane* x, int l, double value) { (*x)[l] = value; }
#endif

// An axis of a joint times a wrench: a joint that turns has no displacement, one that slides no turn.
LANE_INLINE lane dot_axis(int kind, const lane* axis, const lane* wrench) {
    const lane turn = axis[0] * wrench[0] + axis[1] * wrench[1] + axis[2] * wrench[2],
               slide = axis[3] * wrench[3] + axis[4] * wrench[4] + axis[5] * wrench[5];
    return kind == CAL_PRISMATIC ? slide : kind == CAL_FREE ? turn + slide : turn;
}

LANE_INLINE lane root_of(lane x) {
    for (int l = 0; l < CAL_LANES; l++) set_lane(&x, l, sqrt(get_lane(&x, l)));
    return x;
}

// S in the world's axes.
#define find_axes LANE(cal_find_axes)
LANE_INLINE void find_axes(int kind, const lane* R, lane* S) {
    for (int i = 0; i < 6 * cal_kind_v(kind); i++) S[i] = lane_set(0.0);
    if (kind == CAL_REVOLUTE || kind == CAL_PRISMATIC) {
        for (int i = 0; i < 3; i++) S[(kind == CAL_REVOLUTE ? 0 : 3) + i] = R[3 * i + 2];
        return;
    }
    const int first = kind == CAL_FREE ? 3 : 0;
    for (int k = 0; k < first; k++) S[6 * k + 3 + k] = lane_set(1.0);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) S[6 * (first + k) + i] = R[3 * i + k];
}

// Θ = tr Σ − Σ, H = h×, M = m in the world's axes.
#define own_inertia LANE(cal_own_inertia)
LANE_INLINE articulated own_inertia(int kind, const lane* R, const double* constants) {
    const m3 E = {{R[0], R[3], R[6]}, {R[1], R[4], R[7]}, {R[2], R[5], R[8]}};
    const s3 S = second_moment(kind, E, constants);
    const v3 h = m3_times(E, load3(constants, CAL_CONSTANT_MOMENT));
    const lane zero = lane_set(0.0), mass = LOAD(constants, CAL_CONSTANT_MASS);
    return (articulated){.T = {S.yy + S.zz, S.xx + S.zz, S.xx + S.yy, -S.xy, -S.xz, -S.yz},
                         .H = {{zero, h.z, -h.y}, {-h.z, zero, h.x}, {h.y, -h.x, zero}},
                         .M = {mass, mass, mass, zero, zero, zero}};
}

// D = C Cᵀ, in place, lower half, with the diagonal inverted. The model was weighed: D is positive.
#define find_root LANE(cal_find_root)
LANE_INLINE void find_root(lane* D, int degrees) {
    for (int i = 0; i < degrees; i++)
        for (int j = 0; j <= i; j++) {
            lane sum = D[i * degrees + j];
            for (int k = 0; k < j; k++) sum = sum - D[i * degrees + k] * D[j * degrees + k];
            D[i * degrees + j] = i == j ? lane_set(1.0) / root_of(sum) : sum * D[j * degrees + j];
        }
}

// What I makes of a joint's axis.
#define respond_to LANE(cal_respond_to)
LANE_INLINE void respond_to(const articulated* I, int kind, const lane* S, lane* U) {
    const v3 w = {S[0], S[1], S[2]}, u = {S[3], S[4], S[5]};
    v3 n, f;
    if (kind == CAL_PRISMATIC) {
        n = m3_times(I->H, u), f = s3_times(I->M, u);
    } else {
        n = s3_times(I->T, w), f = m3_transpose_times(I->H, w);
        if (kind == CAL_FREE) n = v3_add(n, m3_times(I->H, u)), f = v3_add(f, s3_times(I->M, u));
    }
    U[0] = n.x, U[1] = n.y, U[2] = n.z, U[3] = f.x, U[4] = f.y, U[5] = f.z;
}

// V = U C⁻ᵀ, a column per degree of freedom: V Vᵀ is what the joint takes off I.
#define divide_columns LANE(cal_divide_columns)
LANE_INLINE void divide_columns(const lane* C, int degrees, lane* V) {
    for (int d = 0; d < degrees; d++)
        for (int i = 0; i < 6; i++) {
            for (int e = 0; e < d; e++) V[6 * d + i] = V[6 * d + i] - C[d * degrees + e] * V[6 * e + i];
            V[6 * d + i] = V[6 * d + i] * C[d * degrees + d];
        }
}

// V, C, and I − U D⁻¹ Uᵀ at the parent's origin, where there is a parent. Of one degree of freedom U and D⁻¹ U take it off: the root is
// not waited for.
#define factor_node LANE(cal_factor_node)
LANE_INLINE void factor_node(int kind, bool has_parent, factored* w) {
    const int degrees = cal_kind_v(kind);
    const lane zero = lane_set(0.0);
    for (int k = 0; k < degrees; k++) respond_to(&w->I, kind, w->S + 6 * k, w->V + 6 * k);
    for (int i = 0; i < degrees; i++)
        for (int j = 0; j <= i; j++)
            w->C[i * degrees + j] = dot_axis(kind, w->S + 6 * i, w->V + 6 * j) + (i == j ? w->armature[i] : zero);
    const lane over = lane_set(1.0) / w->C[0]; // of one degree of freedom: D⁻¹
    find_root(w->C, degrees);
    if (degrees > 1) divide_columns(w->C, degrees, w->V);
    if (has_parent) {
        move(&w->I, w->arm);
        for (int d = 0; d < degrees; d++) {
            const lane* u = w->V + 6 * d;
            const v3 f = {u[3], u[4], u[5]}, n = v3_fma_cross(w->arm, f, (v3){u[0], u[1], u[2]});
            if (degrees > 1)
                eliminate(&w->I, n, f, n, f, zero);
            else
                eliminate(&w->I, n, f, v3_scale(n, over), v3_scale(f, over), zero);
        }
    }
    if (degrees == 1) divide_columns(w->C, degrees, w->V);
}

// The numbers of an inertia, one after the other: Θ, H, M.
#define list_inertia LANE(cal_list_inertia)
LANE_INLINE lane* list_inertia(articulated* I) {
    static_assert(offsetof(articulated, n) == CAL_MASS_FACTOR_INERTIA * sizeof(lane), "nothing is between them");
    return (lane*)(void*)I;
}

// I += what a child left; in lanes that have a child. What is added to −0 changes it, but for −0.
#define add_inertia LANE(cal_add_inertia)
LANE_INLINE void add_inertia(articulated* I, articulated* child, const bool* lives) {
    lane *to = list_inertia(I), *from = list_inertia(child);
    for (int l = 0; l < CAL_LANES; l++)
        for (int i = 0; i < CAL_MASS_FACTOR_INERTIA && !lives[l]; i++) set_lane(&from[i], l, -0.0);
    for (int i = 0; i < CAL_MASS_FACTOR_INERTIA; i++) to[i] = to[i] + from[i];
}
