// The preconditioner's articulated bodies of one node, W nodes at a time: the mechanics, without columns or memory
// management. In the notation and the frames of pass/aba_body.h, whose functions it uses: the world's axes, each body's
// own origin. Include after math/lanes.h, math/lane_algebra.h and math/lane_memory.h, once a width.
//
// Inbound, a node has the masses below it at its children's joints, ρ = h + ∑ m_c d_c, and adds γ² times the second
// moment of its hanging weight, κ ρρᵀ with κ = g·ρ / |ρ|² (0 where it stands upright), to its own inertia; γ D + γ² k are
// added to its armature. Eliminating its degrees of freedom leaves g = U D⁻¹ and D⁻¹ for the solutions:
//
//   outbound  α = α_p + S x                              n = −κ (|ρ|² α − ρ (ρ · α)) , f = 0
//   inbound   u = D r_v + k x − Sᵀ (n, f) ,  k = D⁻¹ u    (n, f)_p += (n + d × f, f) + g u
//   outbound  w = k − gᵀ (δα, δa)_p                       z_v = r_v − γ w ,  z_q = r_q + γ z_v
#include "pass/aba_body.h"

// Records begin as those of forward dynamics and go on with D⁻¹, ρ and κ; a free body, which has nobody above it, keeps
// M⁻¹, X = M⁻¹Hᵀ and (Θ − H X)⁻¹.
enum { LANE(ONE_DI) = 13, LANE(ONE_WEIGHT) = 14, LANE(ONE_COUNT) = 18 };
enum { LANE(THREE_DI) = 33, LANE(THREE_WEIGHT) = 39, LANE(THREE_COUNT) = 43 };
enum { LANE(SIX_MI) = 15, LANE(SIX_X) = 21, LANE(SIX_SI) = 30, LANE(SIX_WEIGHT) = 36, LANE(SIX_COUNT) = 40 };
_Static_assert((int)LANE(ONE_COUNT) <= 2 * CAL_STIFF_RECORD && (int)LANE(THREE_COUNT) <= 7 * CAL_STIFF_RECORD &&
                   (int)LANE(SIX_COUNT) <= 13 * CAL_STIFF_RECORD,
               "records fit");
// Scratch of a solution, from the way down to the way up: n, and D r_v + k x.
enum { LANE(STIFF_N) = 0, LANE(STIFF_JOINT) = 3 };

#define weight_of LANE(cal_weight_of)
LANE_INLINE int weight_of(int kind) {
    return kind == CAL_FREE ? LANE(SIX_WEIGHT) : kind == CAL_BALL ? LANE(THREE_WEIGHT) : LANE(ONE_WEIGHT);
}

// What the factorization carries inbound: inertia; mass of all below, and ∑ m d of those that hang here.
#define hanging LANE(cal_hanging)
typedef struct hanging {
    articulated I;
    v3 below;
    lane mass;
} hanging;

// One step outbound of the factorization: from the parent's rotation to the node's.
#define place_node LANE(cal_place_node_lanes)
LANE_INLINE void place_node(int kind, m3* E, const double* y, const double* constants, double* record,
                            double* scratch) {
    const v3 zero = {lane_set(0.0), lane_set(0.0), lane_set(0.0)};
    const m3 parent = *E;
    if (kind == CAL_FREE) {
        *E = m3_quaternion(LOAD(y, 3), LOAD(y, 4), LOAD(y, 5), LOAD(y, 6));
        store_columns(record, LANE(FREE_E), *E);
    } else {
        v3 d = m3_times(parent, load3(constants, CAL_CONSTANT_OFFSET));
        if (kind == CAL_REVOLUTE) {
            *E = m3_product(parent, revolute_rotation(load_rows(constants, CAL_CONSTANT_ROTATION), LOAD(y, 0)));
        } else {
            *E = m3_product(parent, load_rows(constants, CAL_CONSTANT_ROTATION));
            if (kind == CAL_BALL)
                *E = m3_product(*E, m3_quaternion(LOAD(y, 0), LOAD(y, 1), LOAD(y, 2), LOAD(y, 3)));
            else
                d = v3_fma_scale(E->z, LOAD(y, 0), d);
        }
        if (kind == CAL_BALL) {
            store3(record, LANE(BALL_D), d);
            store_columns(record, LANE(BALL_E), *E);
        } else {
            store3(record, LANE(RECORD_Z), E->z);
            store3(record, LANE(RECORD_D), d);
        }
    }
    const s3 S = second_moment(kind, *E, constants);
    store_symmetric(scratch, LANE(SCRATCH_T), (s3){S.yy + S.zz, S.xx + S.zz, S.xx + S.yy, -S.xy, -S.xz, -S.yz});
    store3(scratch, LANE(SCRATCH_H), m3_times(*E, load3(constants, CAL_CONSTANT_MOMENT)));
    store3(scratch, LANE(SCRATCH_N), zero);
    store3(scratch, LANE(SCRATCH_F), zero);
}

// κ = s / |ρ|² where s > 0.
#define hangs LANE(cal_hangs)
LANE_INLINE lane hangs(lane s, lane square) {
#if CAL_LANES == 1
    return s > 0.0 ? s / square : 0.0;
#else
    lane out;
    for (int l = 0; l < CAL_LANES; l++) out[l] = s[l] > 0.0 ? s[l] / square[l] : 0.0;
    return out;
#endif
}

// κ (|ρ|² 1 − ρρᵀ), and what it makes of a rotation.
#define weigh LANE(cal_weigh)
LANE_INLINE s3 weigh(v3 rho, lane kappa) {
    const v3 k = v3_scale(rho, kappa);
    const lane xx = k.x * rho.x, yy = k.y * rho.y, zz = k.z * rho.z;
    return (s3){yy + zz, xx + zz, xx + yy, -(k.x * rho.y), -(k.x * rho.z), -(k.y * rho.z)};
}

#define add_scaled LANE(cal_add_scaled)
LANE_INLINE s3 add_scaled(s3 a, lane factor, s3 b) {
    return (s3){lane_fma(factor, b.xx, a.xx), lane_fma(factor, b.yy, a.yy), lane_fma(factor, b.zz, a.zz),
                lane_fma(factor, b.xy, a.xy), lane_fma(factor, b.xz, a.xz), lane_fma(factor, b.yz, a.yz)};
}

#define add_diagonal LANE(cal_add_diagonal)
LANE_INLINE s3 add_diagonal(s3 a, lane b) { return (s3){a.xx + b, a.yy + b, a.zz + b, a.xy, a.xz, a.yz}; }

#define transpose LANE(cal_transpose_lanes)
LANE_INLINE m3 transpose(m3 a) { return (m3){{a.x.x, a.y.x, a.z.x}, {a.x.y, a.y.y, a.z.y}, {a.x.z, a.y.z, a.z.z}}; }

#define factor_ball LANE(cal_factor_ball)
LANE_INLINE void factor_ball(articulated* I, lane armature, double* record) {
    const v3 d = load3(record, LANE(BALL_D));
    const lane zero = lane_set(0.0);
    const s3 Di = s3_inverse(add_diagonal(I->T, armature));
    const m3 uf = transpose(I->H);
    const m3 un = {v3_fma_cross(d, uf.x, column_of(I->T, 0)), v3_fma_cross(d, uf.y, column_of(I->T, 1)),
                   v3_fma_cross(d, uf.z, column_of(I->T, 2))};
    const m3 gn = {m3_times(un, column_of(Di, 0)), m3_times(un, column_of(Di, 1)), m3_times(un, column_of(Di, 2))};
    const m3 gf = {m3_times(uf, column_of(Di, 0)), m3_times(uf, column_of(Di, 1)), m3_times(uf, column_of(Di, 2))};
    move(I, d);
    eliminate(I, un.x, uf.x, gn.x, gf.x, zero);
    eliminate(I, un.y, uf.y, gn.y, gf.y, zero);
    eliminate(I, un.z, uf.z, gn.z, gf.z, zero);
    store_columns(record, LANE(BALL_N), gn);
    store_columns(record, LANE(BALL_F), gf);
    store_symmetric(record, LANE(THREE_DI), Di);
}

#define factor_free LANE(cal_factor_free)
LANE_INLINE void factor_free(articulated* I, lane armature, double* record) {
    const s3 T = add_diagonal(I->T, armature), Mi = s3_inverse(add_diagonal(I->M, armature));
    const m3 Ht = transpose(I->H);
    const m3 X = {s3_times(Mi, Ht.x), s3_times(Mi, Ht.y), s3_times(Mi, Ht.z)};
    const s3 S = {T.xx - v3_dot(Ht.x, X.x), T.yy - v3_dot(Ht.y, X.y), T.zz - v3_dot(Ht.z, X.z),
                  T.xy - v3_dot(Ht.x, X.y), T.xz - v3_dot(Ht.x, X.z), T.yz - v3_dot(Ht.y, X.z)};
    store_symmetric(record, LANE(SIX_MI), Mi);
    store_columns(record, LANE(SIX_X), X);
    store_symmetric(record, LANE(SIX_SI), s3_inverse(S));
}

// One step inbound of the factorization: from what the node has, its own part included, to what its parent adds.
#define factor_node LANE(cal_factor_node)
LANE_INLINE void factor_node(int kind, double step, v3 gravity, hanging* w, const double* damping,
                             const double* stiffness, const double* constants, double* record, const double* scratch) {
    articulated* I = &w->I;
    const lane gamma = lane_set(step), square = gamma * gamma;
    const v3 rho = v3_add(load3(scratch, LANE(SCRATCH_H)), w->below);
    const lane kappa = hangs(v3_dot(gravity, rho), v3_dot(rho, rho));
    const lane armature =
        LOAD(constants, CAL_CONSTANT_ARMATURE) + lane_fma(square, LOAD(stiffness, 0), gamma * LOAD(damping, 0));
    I->T = add_scaled(I->T, square, weigh(rho, kappa));
    store3(record, weight_of(kind), rho);
    STORE(record, weight_of(kind) + 3, kappa);
    if (kind == CAL_FREE) {
        factor_free(I, armature, record);
        return;
    }
    w->below = v3_scale(load3(record, kind == CAL_BALL ? LANE(BALL_D) : LANE(RECORD_D)), w->mass);
    if (kind == CAL_BALL) {
        factor_ball(I, armature, record);
        return;
    }
    const v3 z = load3(record, LANE(RECORD_Z)), d = load3(record, LANE(RECORD_D));
    const bool turns = kind == CAL_REVOLUTE;
    const v3 n = turns ? s3_times(I->T, z) : m3_times(I->H, z);
    const v3 uf = turns ? m3_transpose_times(I->H, z) : s3_times(I->M, z);
    const lane Di = lane_set(1.0) / (v3_dot(z, turns ? n : uf) + armature);
    move(I, d);
    const v3 un = v3_fma_cross(d, uf, n);
    const v3 gn = v3_scale(un, Di), gf = v3_scale(uf, Di);
    eliminate(I, un, uf, gn, gf, lane_set(0.0));
    store3(record, LANE(RECORD_G), gn);
    store3(record, LANE(RECORD_G) + 3, gf);
    STORE(record, LANE(ONE_DI), Di);
}

// A change dq of the quaternion at component q as a rotation: the vector part of 2 q̄ ∘ dq.
#define rotation_of LANE(cal_rotation_of)
LANE_INLINE v3 rotation_of(const double* y, const double* change, int q) {
    const v3 e = load3(y, q + 1), de = load3(change, q + 1);
    const v3 half = v3_fma_cross(de, e, v3_sub(v3_scale(de, LOAD(y, q)), v3_scale(e, LOAD(change, q))));
    return v3_add(half, half);
}

// x and D r_v + k x of three components; r_q is x so far.
#define stretch LANE(cal_stretch)
LANE_INLINE v3 stretch(lane gamma, v3 r_q, v3 r_v, const double* damping, const double* stiffness, double* joint) {
    const v3 x = v3_fma_scale(r_v, gamma, r_q);
    store3(joint, 0, v3_fma_scale(x, LOAD(stiffness, 0), v3_scale(r_v, LOAD(damping, 0))));
    return x;
}

// One step outbound: the rotation that x makes of the node, and the torque that its weight asks for.
#define turn_node LANE(cal_turn_node)
LANE_INLINE void turn_node(int kind, double step, v3* al, const double* y, const double* r, const double* damping,
                           const double* stiffness, const double* record, double* scratch) {
    const lane gamma = lane_set(step);
    double* joint = scratch + LANE(STIFF_JOINT) * CAL_WIDTH;
    if (kind == CAL_BALL) {
        const v3 x = stretch(gamma, rotation_of(y, r, 0), load3(r, 4), damping, stiffness, joint);
        *al = m3_fma_times(load_columns(record, LANE(BALL_E)), x, *al);
    } else if (kind == CAL_FREE) {
        (void)stretch(gamma, load3(r, 0), load3(r, 7), damping, stiffness, joint);
        const v3 x = stretch(gamma, rotation_of(y, r, 3), load3(r, 10), damping, stiffness, joint + 3 * CAL_WIDTH);
        *al = m3_times(load_columns(record, LANE(FREE_E)), x);
    } else {
        const lane r_v = LOAD(r, 1), x = lane_fma(r_v, gamma, LOAD(r, 0));
        STORE(joint, 0, lane_fma(x, LOAD(stiffness, 0), r_v * LOAD(damping, 0)));
        if (kind == CAL_REVOLUTE) *al = v3_fma_scale(load3(record, LANE(RECORD_Z)), x, *al);
    }
    const s3 torque = weigh(load3(record, weight_of(kind)), LOAD(record, weight_of(kind) + 3));
    const v3 n = s3_times(torque, *al);
    store3(scratch, LANE(STIFF_N), (v3){-n.x, -n.y, -n.z});
}

// One step inbound: the joint's force, and what the parent feels of it.
#define force_node LANE(cal_force_node)
LANE_INLINE void force_node(int kind, v3* n, v3* f, const double* scratch, double* record) {
    const double* joint = scratch + LANE(STIFF_JOINT) * CAL_WIDTH;
    if (kind == CAL_BALL) {
        const v3 u = v3_sub(m3_times(load_columns(record, LANE(BALL_E)), load3(joint, 0)), *n);
        store3(record, LANE(BALL_K), s3_times(load_symmetric(record, LANE(THREE_DI)), u));
        *n = m3_fma_times(load_columns(record, LANE(BALL_N)), u, v3_fma_cross(load3(record, LANE(BALL_D)), *f, *n));
        *f = m3_fma_times(load_columns(record, LANE(BALL_F)), u, *f);
    } else if (kind == CAL_FREE) {
        const v3 force = v3_sub(load3(joint, 0), *f);
        const v3 torque = v3_sub(m3_times(load_columns(record, LANE(FREE_E)), load3(joint, 3)), *n);
        const m3 X = load_columns(record, LANE(SIX_X));
        const v3 al = s3_times(load_symmetric(record, LANE(SIX_SI)), v3_sub(torque, m3_transpose_times(X, force)));
        store3(record, LANE(FREE_AL), al);
        store3(record, LANE(FREE_A), v3_sub(s3_times(load_symmetric(record, LANE(SIX_MI)), force), m3_times(X, al)));
    } else {
        const v3 z = load3(record, LANE(RECORD_Z));
        const lane u = LOAD(joint, 0) - v3_dot(z, kind == CAL_REVOLUTE ? *n : *f);
        STORE(record, LANE(RECORD_K), u * LOAD(record, LANE(ONE_DI)));
        *n = v3_fma_scale(load3(record, LANE(RECORD_G)), u, v3_fma_cross(load3(record, LANE(RECORD_D)), *f, *n));
        *f = v3_fma_scale(load3(record, LANE(RECORD_G) + 3), u, *f);
    }
}

// z_v = r_v − γ w of three components at v; and z_q = r_q + γ ½ q ∘ z_v of the quaternion at q.
#define leave3 LANE(cal_leave3)
LANE_INLINE v3 leave3(lane gamma, v3 w, const double* r, int v, double* z) {
    const v3 r_v = load3(r, v);
    const v3 z_v = {lane_fnma(gamma, w.x, r_v.x), lane_fnma(gamma, w.y, r_v.y), lane_fnma(gamma, w.z, r_v.z)};
    store3(z, v, z_v);
    return z_v;
}

#define leave_turning LANE(cal_leave_turning)
LANE_INLINE void leave_turning(lane gamma, v3 z_v, const double* y, const double* r, int q, double* z) {
    const v3 e = load3(y, q + 1), half = v3_scale(z_v, lane_set(0.5) * gamma);
    STORE(z, q, LOAD(r, q) - v3_dot(e, half));
    store3(z, q + 1, v3_add(load3(r, q + 1), v3_fma_cross(e, half, v3_scale(half, LOAD(y, q)))));
}

// One step outbound with the accelerations of the parent's origin; writes z.
#define accelerate_node LANE(cal_accelerate_node)
LANE_INLINE void accelerate_node(int kind, double step, v3* al, v3* a, const double* y, const double* r,
                                 const double* record, double* z) {
    const lane gamma = lane_set(step);
    if (kind == CAL_BALL) {
        const v3 turn = m3_transpose_times(load_columns(record, LANE(BALL_N)), *al);
        const v3 slide = m3_transpose_times(load_columns(record, LANE(BALL_F)), *a);
        const v3 w = v3_sub(load3(record, LANE(BALL_K)), v3_add(turn, slide));
        *a = v3_fma_cross(*al, load3(record, LANE(BALL_D)), *a);
        *al = v3_add(*al, w);
        const v3 own = m3_transpose_times(load_columns(record, LANE(BALL_E)), w);
        leave_turning(gamma, leave3(gamma, own, r, 4, z), y, r, 0, z);
    } else if (kind == CAL_FREE) {
        *al = load3(record, LANE(FREE_AL));
        *a = load3(record, LANE(FREE_A));
        store3(z, 0, v3_fma_scale(leave3(gamma, *a, r, 7, z), gamma, load3(r, 0)));
        const v3 own = m3_transpose_times(load_columns(record, LANE(FREE_E)), *al);
        leave_turning(gamma, leave3(gamma, own, r, 10, z), y, r, 3, z);
    } else {
        const lane turn = v3_dot(load3(record, LANE(RECORD_G)), *al),
                   slide = v3_dot(load3(record, LANE(RECORD_G) + 3), *a);
        const lane w = LOAD(record, LANE(RECORD_K)) - (turn + slide), z_v = lane_fnma(gamma, w, LOAD(r, 1));
        *a = v3_fma_cross(*al, load3(record, LANE(RECORD_D)), *a);
        if (kind == CAL_REVOLUTE)
            *al = v3_fma_scale(load3(record, LANE(RECORD_Z)), w, *al);
        else
            *a = v3_fma_scale(load3(record, LANE(RECORD_Z)), w, *a);
        STORE(z, 0, lane_fma(gamma, z_v, LOAD(r, 0)));
        STORE(z, 1, z_v);
    }
}
