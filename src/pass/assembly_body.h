// The mechanics of assembly, W nodes at a time: articulated bodies (aba_body.h), and what forces on ports do to them.
// assembly.c has the mathematics. Include after math/lanes.h, math/lane_algebra.h and math/lane_memory.h, once a width.
#include "pass/aba_body.h"

#define placing LANE(cal_lane_placing)
#define displace LANE(cal_displace)
#define displace_joint LANE(cal_displace_joint)
#define displace_turning LANE(cal_displace_turning)
#define v3_fnma_scale LANE(cal_v3_fnma_scale)
#define push_column LANE(cal_push_column)
#define push_slots LANE(cal_push_slots)
#define sum_slots LANE(cal_sum_slots)
#define inbound_part LANE(cal_inbound_part)
#define answer_part LANE(cal_answer_part)

// How a node moves, seen from its part's base.
typedef struct placing {
    motion m;
    v3 r, u; // position and velocity of its origin
} placing;

// A step outbound to a node that turns by L in its parent and has its origin at r there. turns: with which velocity in its own axes; NULL:
// with `rate` about its z.
LANE_INLINE void displace_turning(placing* p, m3 L, v3 r, lane rate, const v3* turns) {
    motion* m = &p->m;
    const v3 d = m3_times(m->E, r);
    m->a = v3_add(m->a, m3_times(spin_matrix(m->w, m->al), d));
    p->u = v3_fma_cross(m->w, d, p->u);
    p->r = v3_add(p->r, d);
    m->E = m3_product(m->E, L);
    const v3 turn = turns ? m3_times(m->E, *turns) : v3_scale(m->E.z, rate);
    m->al = v3_add(m->al, v3_cross(m->w, turn));
    m->w = v3_add(m->w, turn);
}

// One step outbound: aba_body.h's motion, with position and velocity. Of a node with one degree of freedom, and of any.
LANE_INLINE void displace_joint(int kind, placing* p, const joint_turn* turn) {
    if (kind == CAL_REVOLUTE) {
        displace_turning(p, turn->L, turn->r, turn->v, NULL);
        return;
    }
    motion* m = &p->m;
    v3 d;
    turn_axes(kind, &m->E, turn, &d);
    const v3 slide = v3_scale(m->E.z, turn->v);
    m->a = v3_fma_cross(m->w, v3_add(slide, slide), v3_add(m->a, m3_times(spin_matrix(m->w, m->al), d)));
    p->u = v3_add(p->u, v3_fma_cross(m->w, d, slide));
    p->r = v3_add(p->r, d);
}
LANE_INLINE void displace(int kind, placing* p, const double* y, const double* constants) {
    if (kind == CAL_REVOLUTE || kind == CAL_PRISMATIC) {
        const joint_turn turn = find_turn(kind, LOAD(y, 0), LOAD(y, 1), constants);
        displace_joint(kind, p, &turn);
    } else if (kind == CAL_BALL) {
        const m3 L = m3_product(load_rows(constants, CAL_CONSTANT_ROTATION),
                                m3_quaternion(LOAD(y, 0), LOAD(y, 1), LOAD(y, 2), LOAD(y, 3)));
        const v3 turns = load3(y, 4);
        displace_turning(p, L, load3(constants, CAL_CONSTANT_OFFSET), lane_set(0.0), &turns);
    } else {
        p->m.E = m3_quaternion(LOAD(y, 3), LOAD(y, 4), LOAD(y, 5), LOAD(y, 6));
        p->m.w = m3_times(p->m.E, load3(y, 10));
        p->r = load3(y, 0);
        p->u = load3(y, 7);
    }
}

// σ of one column's forces, and what goes on of them.
LANE_INLINE v3 v3_fnma_scale(v3 g, lane s, v3 f) {
    return (v3){lane_fnma(g.x, s, f.x), lane_fnma(g.y, s, f.y), lane_fnma(g.z, s, f.z)};
}
LANE_INLINE lane push_column(bool turns, v3 z, v3 d, v3 gn, v3 gf, v3* n, v3* f) {
    const lane s = turns ? v3_dot(z, *n) : v3_dot(z, *f);
    *n = v3_fma_cross(d, *f, *n);
    *n = v3_fnma_scale(gn, s, *n);
    *f = v3_fnma_scale(gf, s, *f);
    return s;
}

// σ, η and what goes on of the forces of all columns, for a joint of one degree: g = D⁻¹U at the parent's origin, k = D⁻¹u.
LANE_INLINE void push_slots(int slots, bool turns, v3 z, v3 d, v3 gn, v3 gf, lane Di, lane k, double* area,
                            double* answer) {
    const int columns = 6 * slots;
    double* c = area + (size_t)(6 * columns) * CAL_WIDTH;
    double* L = c + (size_t)columns * CAL_WIDTH;
    lane sigma[6 * CAL_SCHEDULE_MOST_TIPS];
    int at = 0;
    for (int i = 0; i < columns; i++) {
        v3 n = load3(area, 6 * i), f = load3(area, 6 * i + 3);
        const lane s = push_column(turns, z, d, gn, gf, &n, &f), eta = s * Di;
        store3(area, 6 * i, n);
        store3(area, 6 * i + 3, f);
        STORE(answer, i, eta);
        STORE(c, i, lane_fma(s, k, LOAD(c, i)));
        sigma[i] = s;
        for (int j = 0; j <= i; j++, at++) STORE(L, at, lane_fma(sigma[j], eta, LOAD(L, at)));
    }
}

// Adds σ_j · η_i to Λ and σ_i · k to c: joints of several degrees.
LANE_INLINE void sum_slots(int i, int degrees, const lane* sigma, const lane* eta, const lane* k, double* c,
                           double* L) {
    lane acceleration = LOAD(c, i);
    for (int m = 0; m < degrees; m++) acceleration = lane_fma(sigma[i * degrees + m], k[m], acceleration);
    STORE(c, i, acceleration);
    for (int j = 0; j <= i; j++) {
        const int at = i * (i + 1) / 2 + j;
        lane sum = LOAD(L, at);
        for (int m = 0; m < degrees; m++) sum = lane_fma(sigma[j * degrees + m], eta[m], sum);
        STORE(L, at, sum);
    }
}

LANE_FUNCTION void LANE(cal_push_ball)(int slots, const articulated* I, const double* force, const double* constants,
                                       const double* record, double* area, double* answer) {
    const int columns = 6 * slots;
    double* c = area + (size_t)(6 * columns) * CAL_WIDTH;
    double* L = c + (size_t)columns * CAL_WIDTH;
    const lane armature = LOAD(constants, CAL_CONSTANT_ARMATURE);
    s3 D = I->T;
    D.xx = D.xx + armature, D.yy = D.yy + armature, D.zz = D.zz + armature;
    const s3 Di = s3_inverse(D);
    const v3 k = s3_times(Di, v3_sub(m3_times(load_columns(record, LANE(BALL_E)), load3(force, 0)), I->n));
    const v3 d = load3(record, LANE(BALL_D));
    const m3 uf = {{I->H.x.x, I->H.y.x, I->H.z.x}, {I->H.x.y, I->H.y.y, I->H.z.y}, {I->H.x.z, I->H.y.z, I->H.z.z}};
    const m3 un = {v3_fma_cross(d, uf.x, column_of(I->T, 0)), v3_fma_cross(d, uf.y, column_of(I->T, 1)),
                   v3_fma_cross(d, uf.z, column_of(I->T, 2))};
    lane sigma[18 * CAL_SCHEDULE_MOST_TIPS];
    for (int i = 0; i < columns; i++) {
        const v3 n = load3(area, 6 * i), f = load3(area, 6 * i + 3), h = s3_times(Di, n);
        const lane eta[3] = {h.x, h.y, h.z}, rate[3] = {k.x, k.y, k.z};
        store3(area, 6 * i, v3_sub(v3_fma_cross(d, f, n), m3_times(un, h)));
        store3(area, 6 * i + 3, v3_sub(f, m3_times(uf, h)));
        store3(answer, 3 * i, h);
        sigma[3 * i] = n.x, sigma[3 * i + 1] = n.y, sigma[3 * i + 2] = n.z;
        sum_slots(i, 3, sigma, eta, rate, c, L);
    }
}

// The inverse of [Θ H; Hᵀ M] of a free body, on its forces: nothing is left for the ground.
LANE_FUNCTION void LANE(cal_push_free)(int slots, const articulated* I, const double* force, const double* constants,
                                       const double* record, double* area, double* answer) {
    const int columns = 6 * slots;
    double* c = area + (size_t)(6 * columns) * CAL_WIDTH;
    double* L = c + (size_t)columns * CAL_WIDTH;
    const lane armature = LOAD(constants, CAL_CONSTANT_ARMATURE);
    s3 M = I->M, T = I->T;
    M.xx = M.xx + armature, M.yy = M.yy + armature, M.zz = M.zz + armature;
    T.xx = T.xx + armature, T.yy = T.yy + armature, T.zz = T.zz + armature;
    const s3 Mi = s3_inverse(M);
    const m3 Ht = {{I->H.x.x, I->H.y.x, I->H.z.x}, {I->H.x.y, I->H.y.y, I->H.z.y}, {I->H.x.z, I->H.y.z, I->H.z.z}};
    const m3 X = {s3_times(Mi, Ht.x), s3_times(Mi, Ht.y), s3_times(Mi, Ht.z)};
    const s3 S = s3_inverse((s3){T.xx - v3_dot(Ht.x, X.x), T.yy - v3_dot(Ht.y, X.y), T.zz - v3_dot(Ht.z, X.z),
                                 T.xy - v3_dot(Ht.x, X.y), T.xz - v3_dot(Ht.x, X.z), T.yz - v3_dot(Ht.y, X.z)});
    const v3 own_f = v3_sub(load3(force, 0), I->f);
    const v3 own_n = v3_sub(m3_times(load_columns(record, LANE(FREE_E)), load3(force, 3)), I->n);
    const v3 own_al = s3_times(S, v3_sub(own_n, m3_transpose_times(X, own_f)));
    const v3 own_a = v3_sub(s3_times(Mi, own_f), m3_times(X, own_al));
    const lane k[6] = {own_al.x, own_al.y, own_al.z, own_a.x, own_a.y, own_a.z};
    lane sigma[36 * CAL_SCHEDULE_MOST_TIPS];
    for (int i = 0; i < columns; i++) {
        const v3 n = load3(area, 6 * i), f = load3(area, 6 * i + 3), zero = {0};
        const v3 al = s3_times(S, v3_sub(n, m3_transpose_times(X, f))), a = v3_sub(s3_times(Mi, f), m3_times(X, al));
        const lane eta[6] = {al.x, al.y, al.z, a.x, a.y, a.z}, own[6] = {n.x, n.y, n.z, f.x, f.y, f.z};
        for (int m = 0; m < 6; m++) sigma[6 * i + m] = own[m];
        store3(answer, 6 * i, al), store3(answer, 6 * i + 3, a);
        store3(area, 6 * i, zero), store3(area, 6 * i + 3, zero);
        sum_slots(i, 6, sigma, eta, k, c, L);
    }
}

// One step inbound, with the column's slots; aba_body.h's inbound where there are none.
LANE_INLINE void inbound_part(int kind, int slots, articulated* I, const double* force, const double* constants,
                              double* record, double* area, double* answer) {
    if (slots == 0) {
        inbound(kind, I, force, constants, NULL, record, NULL);
    } else if (kind == CAL_BALL || kind == CAL_FREE) {
        (kind == CAL_BALL ? LANE(cal_push_ball) : LANE(cal_push_free))(slots, I, force, constants, record, area,
                                                                       answer);
        inbound(kind, I, force, constants, NULL, record, NULL);
    } else {
        const bool turns = kind == CAL_REVOLUTE;
        const v3 z = load3(record, LANE(RECORD_Z)), d = load3(record, LANE(RECORD_D));
        joint_response own;
        eliminate_joint(kind, I, z, d, LOAD(force, 0), LOAD(constants, CAL_CONSTANT_ARMATURE), &own);
        keep_response(record, &own);
        // The parts of a chain have one slot; a number that the compiler knows keeps its columns in registers.
        if (slots == 1)
            push_slots(1, turns, z, d, own.gn, own.gf, own.Di, own.k, area, answer);
        else
            push_slots(slots, turns, z, d, own.gn, own.gf, own.Di, own.k, area, answer);
    }
}

// ∑ η λ over the column's slots.
LANE_INLINE void answer_part(int slots, int degrees, const lane* lambda, const double* answer, lane* out) {
    for (int m = 0; m < degrees; m++) out[m] = lane_set(0.0);
    for (int i = 0; i < 6 * slots; i++)
        for (int m = 0; m < degrees; m++) out[m] = lane_fma(LOAD(answer, i * degrees + m), lambda[i], out[m]);
}
