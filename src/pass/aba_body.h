// The articulated-body algorithm of one node, W nodes at a time: the mechanics, without columns or memory management.
// Include after math/lanes.h, math/lane_algebra.h and math/lane_memory.h, once a width; no libc call is in it.
//
// Notation (Jung, Appendix I; Featherstone). All vectors have the world's axes and each body's own origin, so that moving
// from child to parent is a translation by d (child's origin as seen from the parent's) and needs no rotation:
//
//   E            rotation, node's axes to the world's              z        axis of the joint, = third column of E
//   ω, α, a      angular velocity; angular and linear acceleration of the origin *if every q̈ were zero* (a starts from −g)
//   A            [α]× + ω ωᵀ − |ω|² 1: the acceleration of a point x of the body is a + A x
//   m, h, Σ      mass, ∫x dm, ∫x xᵀ dm                              Θ = tr(Σ) 1 − Σ is the inertia about the origin
//   n, f         torque about the origin, force
//
// With accelerations counted from those at q̈ = 0, the motion is δα, δa, and no velocity-product term is left in the
// recursion: what (1) and (3) of Jung call c and I^A c is in α and a already. The force that the joint's parent must
// apply to a node (and all that hangs below) to give it δα, δa is
//
//   n = Θ δα + H δa + n⁰,   f = Hᵀ δα + M δa + f⁰,       for a rigid body: H = [h]×, M = m 1,
//   f⁰ = m a + A h,   n⁰ = h × a + ε:(A Σ)
//
// Jung's equation (2) for one node: U = I^A s, D = sᵀU + armature, I^a = I^A − U D⁻¹ Uᵀ; (3): u = τ − sᵀp, p^a = p + U D⁻¹ u;
// (5): q̈ = D⁻¹ (u − Uᵀ [δα, δa]). Inertia and U are moved to the parent's origin before the rank-one update, so that the
// division overlaps the move.
#include "pass/aba.h"

#define motion LANE(cal_motion)
#define articulated LANE(cal_articulated)

// What an outbound column carries.
typedef struct motion {
    m3 E;
    v3 w, al, a;
    m3 A;
} motion;

// What an inbound column carries: articulated inertia Θ, H (columns), M and bias n, f.
typedef struct articulated {
    s3 T;
    m3 H;
    s3 M;
    v3 n, f;
} articulated;

// What a node keeps between the walks, by kind. One degree: aba.h.
// Ball: d, E, k, G = U D⁻¹ (torque columns, force columns). Free: E, δα, δa.
enum { LANE(RECORD_Z) = CAL_ABA_Z, LANE(RECORD_D) = CAL_ABA_D, LANE(RECORD_G) = CAL_ABA_G, LANE(RECORD_K) = CAL_ABA_K };
enum { LANE(BALL_D) = 0, LANE(BALL_E) = 3, LANE(BALL_K) = 12, LANE(BALL_N) = 15, LANE(BALL_F) = 24 };
enum { LANE(FREE_E) = 0, LANE(FREE_AL) = 9, LANE(FREE_A) = 12 };
// What it keeps from the way down to the way up: Θ, h, n⁰, f⁰.
enum { LANE(SCRATCH_T) = 0, LANE(SCRATCH_H) = 6, LANE(SCRATCH_N) = 9, LANE(SCRATCH_F) = 12 };

#define spin_matrix LANE(cal_spin_matrix)
LANE_INLINE m3 spin_matrix(v3 w, v3 al) {
    const lane xx = w.x * w.x, yy = w.y * w.y, zz = w.z * w.z;
    return (m3){{-(yy + zz), lane_fma(w.x, w.y, al.z), lane_fms(w.x, w.z, al.y)},
                {lane_fms(w.x, w.y, al.z), -(xx + zz), lane_fma(w.y, w.z, al.x)},
                {lane_fma(w.x, w.z, al.y), lane_fms(w.y, w.z, al.x), -(xx + yy)}};
}

// (1): rotation of a revolute node in its parent's axes; the part that does not recur.
#define turned_rotation LANE(cal_turned_rotation)
LANE_INLINE m3 turned_rotation(m3 R, lane s, lane c) { // by an angle of that sine and cosine
    return (m3){v3_fma_scale(R.y, s, v3_scale(R.x, c)),
                (v3){lane_fnma(R.x.x, s, R.y.x * c), lane_fnma(R.x.y, s, R.y.y * c), lane_fnma(R.x.z, s, R.y.z * c)},
                R.z};
}
#define revolute_rotation LANE(cal_revolute_rotation)
LANE_INLINE m3 revolute_rotation(m3 R, lane q) {
    lane s, c;
    lane_sincos(q, &s, &c);
    return turned_rotation(R, s, c);
}

// Σ in the world's axes. With Σ_xy = 0 in the node's axes x, y, z (columns of E): Σ = λ 1 + x pᵀ + p xᵀ + y rᵀ + r yᵀ,
// λ = Σ_zz, p = ½(Σ_xx − λ) x + Σ_xz z, r = ½(Σ_yy − λ) y + Σ_yz z.
#define second_moment LANE(cal_second_moment)
LANE_INLINE s3 second_moment(int kind, m3 E, const double* constants) {
    const s3 S = load_symmetric(constants, CAL_CONSTANT_SECOND);
    if (kind == CAL_BALL || kind == CAL_FREE) return s3_congruent(E, S);
    const v3 x = E.x, y = E.y, p = v3_fma_scale(E.z, S.xz, v3_scale(x, S.xx)),
             r = v3_fma_scale(E.z, S.yz, v3_scale(y, S.yy));
#define HALF(i) lane_fma(y.i, r.i, (x.i) * (p.i))
#define ENTRY(i, j) lane_fma(r.i, y.j, lane_fma(y.i, r.j, lane_fma(p.i, x.j, (x.i) * (p.j))))
    const lane xx = HALF(x), yy = HALF(y), zz = HALF(z);
    const s3 out = {S.zz + (xx + xx), S.zz + (yy + yy), S.zz + (zz + zz), ENTRY(x, y), ENTRY(x, z), ENTRY(y, z)};
#undef HALF
#undef ENTRY
    return out;
}

// f⁰, n⁰, Θ and h of a node from its motion; external: 15 components or NULL.
#define bias LANE(cal_bias)
LANE_INLINE void bias(int kind, m3 E, m3 A, v3 a, const double* constants, const double* external, double* scratch) {
    const v3 h = m3_times(E, load3(constants, CAL_CONSTANT_MOMENT));
    const s3 S = second_moment(kind, E, constants);
    v3 f = m3_fma_times(A, h, v3_scale(a, LOAD(constants, CAL_CONSTANT_MASS)));
    v3 n = v3_cross(h, a);
    // ε:(AΣ): x = (AΣ)_zy − (AΣ)_yz and so on round.
    n.x = lane_fma(A.x.z, S.xy, lane_fma(A.y.z, S.yy, lane_fma(A.z.z, S.yz, n.x)));
    n.x = lane_fnma(A.x.y, S.xz, lane_fnma(A.y.y, S.yz, lane_fnma(A.z.y, S.zz, n.x)));
    n.y = lane_fma(A.x.x, S.xz, lane_fma(A.y.x, S.yz, lane_fma(A.z.x, S.zz, n.y)));
    n.y = lane_fnma(A.x.z, S.xx, lane_fnma(A.y.z, S.xy, lane_fnma(A.z.z, S.xz, n.y)));
    n.z = lane_fma(A.x.y, S.xx, lane_fma(A.y.y, S.xy, lane_fma(A.z.y, S.xz, n.z)));
    n.z = lane_fnma(A.x.x, S.xy, lane_fnma(A.y.x, S.yy, lane_fnma(A.z.x, S.yz, n.z)));
    if (external) {
        const m3 G = {{LOAD(external, 6), LOAD(external, 9), LOAD(external, 12)},
                      {LOAD(external, 7), LOAD(external, 10), LOAD(external, 13)},
                      {LOAD(external, 8), LOAD(external, 11), LOAD(external, 14)}};
        const m3 B = m3_product(E, G); // ∑ (E point) ⊗ force
        const v3 t = load3(external, 3);
        f = v3_sub(f, load3(external, 0));
        n.x = n.x - (t.x + (B.z.y - B.y.z));
        n.y = n.y - (t.y + (B.x.z - B.z.x));
        n.z = n.z - (t.z + (B.y.x - B.x.y));
    }
    store_symmetric(scratch, LANE(SCRATCH_T), (s3){S.yy + S.zz, S.xx + S.zz, S.xx + S.yy, -S.xy, -S.xz, -S.yz});
    store3(scratch, LANE(SCRATCH_H), h);
    store3(scratch, LANE(SCRATCH_N), n);
    store3(scratch, LANE(SCRATCH_F), f);
}

// What recurs along a chain of revolute nodes: from the parent's motion to the node's but for A, whose use waits. L: the node's
// rotation in its parent, r: its origin there; d: the same in the world's axes.
#define turn_motion LANE(cal_turn_motion)
LANE_INLINE void turn_motion(motion* m, m3 L, v3 r, lane v, v3* d) {
    *d = m3_times(m->E, r);
    m->E = m3_product(m->E, L);
    const v3 zv = v3_scale(m->E.z, v);
    m->a = v3_add(m->a, m3_times(m->A, *d));
    m->al = v3_add(m->al, v3_cross(m->w, zv));
    m->w = v3_add(m->w, zv);
}

// Of a node with one degree of freedom, what does not recur along a chain: its rotation in its parent and its origin there, but for what a
// prismatic joint adds; position and velocity.
#define joint_turn LANE(cal_joint_turn)
#define find_turn LANE(cal_find_turn)
typedef struct joint_turn {
    m3 L;
    v3 r;
    lane q, v;
} joint_turn;
#define turn_constants LANE(cal_turn_constants)
#define load_turn_constants LANE(cal_load_turn_constants)
#define turn_joint LANE(cal_turn_joint)
typedef struct turn_constants {
    m3 R;
    v3 r;
} turn_constants;
LANE_INLINE turn_constants load_turn_constants(const double* constants) {
    return (turn_constants){load_rows(constants, CAL_CONSTANT_ROTATION), load3(constants, CAL_CONSTANT_OFFSET)};
}
LANE_INLINE joint_turn turn_joint(int kind, lane q, lane v, const turn_constants* own) {
    return (joint_turn){.L = kind == CAL_REVOLUTE ? revolute_rotation(own->R, q) : own->R, .r = own->r, .q = q, .v = v};
}
LANE_INLINE joint_turn find_turn(int kind, lane q, lane v, const double* constants) {
    const turn_constants own = load_turn_constants(constants);
    return turn_joint(kind, q, v, &own);
}

// Its axes from its parent's, and its origin d as seen from the parent's.
#define turn_axes LANE(cal_turn_axes)
LANE_INLINE void turn_axes(int kind, m3* E, const joint_turn* turn, v3* d) {
    *d = m3_times(*E, turn->r);
    *E = m3_product(*E, turn->L);
    if (kind == CAL_PRISMATIC) *d = v3_fma_scale(E->z, turn->q, *d);
}

// The same of its motion.
#define move_on LANE(cal_move_on)
LANE_INLINE void move_on(int kind, motion* m, const joint_turn* turn, v3* d) {
    if (kind == CAL_REVOLUTE) {
        turn_motion(m, turn->L, turn->r, turn->v, d);
    } else {
        turn_axes(kind, &m->E, turn, d);
        const v3 zv = v3_scale(m->E.z, turn->v + turn->v);
        m->a = v3_fma_cross(m->w, zv, v3_add(m->a, m3_times(m->A, *d)));
    }
    m->A = spin_matrix(m->w, m->al);
}

// One step outbound: from the parent's motion to the node's. q and v are the block's components in y.
#define outbound LANE(cal_outbound)
LANE_INLINE void outbound(int kind, motion* m, const double* y, const double* constants, const double* external,
                          double* record, double* scratch) {
    if (kind == CAL_REVOLUTE || kind == CAL_PRISMATIC) {
        const joint_turn turn = find_turn(kind, LOAD(y, 0), LOAD(y, 1), constants);
        v3 d;
        move_on(kind, m, &turn, &d);
        store3_once(record, LANE(RECORD_Z), m->E.z);
        store3_once(record, LANE(RECORD_D), d);
    } else if (kind == CAL_BALL) {
        const m3 L = m3_product(load_rows(constants, CAL_CONSTANT_ROTATION),
                                m3_quaternion(LOAD(y, 0), LOAD(y, 1), LOAD(y, 2), LOAD(y, 3)));
        const v3 d = m3_times(m->E, load3(constants, CAL_CONSTANT_OFFSET));
        m->E = m3_product(m->E, L);
        const v3 relative = m3_times(m->E, load3(y, 4));
        m->a = v3_add(m->a, m3_times(m->A, d));
        m->al = v3_add(m->al, v3_cross(m->w, relative));
        m->w = v3_add(m->w, relative);
        m->A = spin_matrix(m->w, m->al);
        store3(record, LANE(BALL_D), d);
        store_columns(record, LANE(BALL_E), m->E);
    } else {
        // On the ground, which does not turn: the position plays no part, and α = 0, a = −g stay.
        m->E = m3_quaternion(LOAD(y, 3), LOAD(y, 4), LOAD(y, 5), LOAD(y, 6));
        m->w = m3_times(m->E, load3(y, 10));
        m->A = spin_matrix(m->w, m->al);
        store_columns(record, LANE(FREE_E), m->E);
    }
    bias(kind, m->E, m->A, m->a, constants, external, scratch);
}

// The node's own inertia and bias added to what came from below.
#define add_body LANE(cal_add_body)
LANE_INLINE void add_body(articulated* I, s3 T, v3 h, lane mass, v3 n, v3 f) {
    I->T = s3_add(T, I->T);
    I->H.x.y = h.z + I->H.x.y, I->H.x.z = -h.y + I->H.x.z;
    I->H.y.x = -h.z + I->H.y.x, I->H.y.z = h.x + I->H.y.z;
    I->H.z.x = h.y + I->H.z.x, I->H.z.y = -h.x + I->H.z.y;
    I->M.xx = mass + I->M.xx, I->M.yy = mass + I->M.yy, I->M.zz = mass + I->M.zz;
    I->n = v3_add(n, I->n);
    I->f = v3_add(f, I->f);
}
#define add_own LANE(cal_add_own)
LANE_INLINE void add_own(articulated* I, const double* constants, const double* scratch) {
    add_body(I, load_symmetric(scratch, LANE(SCRATCH_T)), load3(scratch, LANE(SCRATCH_H)),
             LOAD(constants, CAL_CONSTANT_MASS), load3(scratch, LANE(SCRATCH_N)), load3(scratch, LANE(SCRATCH_F)));
}

// What a medium adds to it in an implicit step (pass.h).
#define add_resisting LANE(cal_add_resisting)
LANE_INLINE void add_resisting(articulated* I, const double* resisting) {
    const m3 H = load_columns(resisting, 6);
    I->T = s3_add(I->T, load_symmetric(resisting, 0));
    I->H = (m3){v3_add(I->H.x, H.x), v3_add(I->H.y, H.y), v3_add(I->H.z, H.z)};
    I->M = s3_add(I->M, load_symmetric(resisting, 15));
}

// Moves an inertia by d: H′ = H + [d]× M, Θ′ = Θ − H [d]× + [d]× H′ᵀ, n′ = n + d × f.
#define move LANE(cal_move)
LANE_INLINE void move(articulated* I, v3 d) {
    const m3 H = I->H;
    const s3 M = I->M;
    const m3 K = {v3_fma_cross(d, (v3){M.xx, M.xy, M.xz}, H.x), v3_fma_cross(d, (v3){M.xy, M.yy, M.yz}, H.y),
                  v3_fma_cross(d, (v3){M.xz, M.yz, M.zz}, H.z)};
    s3* T = &I->T;
    T->xx = lane_fma(d.y, H.z.x + K.z.x, lane_fnma(d.z, H.y.x + K.y.x, T->xx));
    T->yy = lane_fma(d.z, H.x.y + K.x.y, lane_fnma(d.x, H.z.y + K.z.y, T->yy));
    T->zz = lane_fma(d.x, H.y.z + K.y.z, lane_fnma(d.y, H.x.z + K.x.z, T->zz));
    T->xy = lane_fma(d.z, H.x.x, lane_fnma(d.x, H.z.x, lane_fma(d.y, K.z.y, lane_fnma(d.z, K.y.y, T->xy))));
    T->xz = lane_fma(d.x, H.y.x, lane_fnma(d.y, H.x.x, lane_fma(d.y, K.z.z, lane_fnma(d.z, K.y.z, T->xz))));
    T->yz = lane_fma(d.x, H.y.y, lane_fnma(d.y, H.x.y, lane_fma(d.z, K.x.z, lane_fnma(d.x, K.z.z, T->yz))));
    I->H = K;
    I->n = v3_fma_cross(d, I->f, I->n);
}

// I^A − U D⁻¹ Uᵀ and p + U k, with U = (n, f) and g = D⁻¹ U; everything at one origin.
#define eliminate LANE(cal_eliminate)
LANE_INLINE void eliminate(articulated* I, v3 un, v3 uf, v3 gn, v3 gf, lane k) {
    I->T.xx = lane_fnma(gn.x, un.x, I->T.xx), I->T.yy = lane_fnma(gn.y, un.y, I->T.yy),
    I->T.zz = lane_fnma(gn.z, un.z, I->T.zz);
    I->T.xy = lane_fnma(gn.x, un.y, I->T.xy), I->T.xz = lane_fnma(gn.x, un.z, I->T.xz),
    I->T.yz = lane_fnma(gn.y, un.z, I->T.yz);
    I->H.x = (v3){lane_fnma(un.x, gf.x, I->H.x.x), lane_fnma(un.y, gf.x, I->H.x.y), lane_fnma(un.z, gf.x, I->H.x.z)};
    I->H.y = (v3){lane_fnma(un.x, gf.y, I->H.y.x), lane_fnma(un.y, gf.y, I->H.y.y), lane_fnma(un.z, gf.y, I->H.y.z)};
    I->H.z = (v3){lane_fnma(un.x, gf.z, I->H.z.x), lane_fnma(un.y, gf.z, I->H.z.y), lane_fnma(un.z, gf.z, I->H.z.z)};
    I->M.xx = lane_fnma(gf.x, uf.x, I->M.xx), I->M.yy = lane_fnma(gf.y, uf.y, I->M.yy),
    I->M.zz = lane_fnma(gf.z, uf.z, I->M.zz);
    I->M.xy = lane_fnma(gf.x, uf.y, I->M.xy), I->M.xz = lane_fnma(gf.x, uf.z, I->M.xz),
    I->M.yz = lane_fnma(gf.y, uf.z, I->M.yz);
    I->n = v3_fma_scale(un, k, I->n);
    I->f = v3_fma_scale(uf, k, I->f);
}

#define column_of LANE(cal_column_of)
LANE_INLINE v3 column_of(s3 m, int i) {
    return i == 0 ? (v3){m.xx, m.xy, m.xz} : i == 1 ? (v3){m.xy, m.yy, m.yz} : (v3){m.xz, m.yz, m.zz};
}

// E diag(x) Eᵀ of three numbers in the node's axes, added.
#define add_turned LANE(cal_add_turned)
LANE_INLINE void add_turned(s3* m, m3 E, const double* x) {
    const lane zero = lane_set(0.0);
    *m = s3_add(*m, s3_congruent(E, (s3){LOAD(x, 0), LOAD(x, 1), LOAD(x, 2), zero, zero, zero}));
}

// A ball: U = [Θ; Hᵀ], D = Θ + armature, three columns at once.
#define inbound_ball LANE(cal_inbound_ball)
LANE_FUNCTION void inbound_ball(articulated* I, const double* force, const double* constants, const double* implicit,
                                double* record) {
    const v3 d = load3(record, LANE(BALL_D));
    const lane armature = LOAD(constants, CAL_CONSTANT_ARMATURE);
    s3 D = I->T;
    D.xx = D.xx + armature, D.yy = D.yy + armature, D.zz = D.zz + armature;
    if (implicit) add_turned(&D, load_columns(record, LANE(BALL_E)), implicit);
    const s3 Di = s3_inverse(D);
    const v3 u = v3_sub(m3_times(load_columns(record, LANE(BALL_E)), load3(force, 0)), I->n);
    const v3 k = s3_times(Di, u);
    // Row i of H is the force part of column i of U; moved to the parent's origin its torque gains d × force.
    const m3 uf = {{I->H.x.x, I->H.y.x, I->H.z.x}, {I->H.x.y, I->H.y.y, I->H.z.y}, {I->H.x.z, I->H.y.z, I->H.z.z}};
    const m3 un = {v3_fma_cross(d, uf.x, column_of(I->T, 0)), v3_fma_cross(d, uf.y, column_of(I->T, 1)),
                   v3_fma_cross(d, uf.z, column_of(I->T, 2))};
    const m3 gn = {m3_times(un, column_of(Di, 0)), m3_times(un, column_of(Di, 1)), m3_times(un, column_of(Di, 2))};
    const m3 gf = {m3_times(uf, column_of(Di, 0)), m3_times(uf, column_of(Di, 1)), m3_times(uf, column_of(Di, 2))};
    move(I, d);
    eliminate(I, un.x, uf.x, gn.x, gf.x, k.x);
    eliminate(I, un.y, uf.y, gn.y, gf.y, k.y);
    eliminate(I, un.z, uf.z, gn.z, gf.z, k.z);
    store3(record, LANE(BALL_K), k);
    store_columns(record, LANE(BALL_N), gn);
    store_columns(record, LANE(BALL_F), gf);
}

// A free body has nobody above it: solve [Θ H; Hᵀ M] [δα; δa] = [τ; force] − [n⁰; f⁰] here.
#define inbound_free LANE(cal_inbound_free)
LANE_FUNCTION void inbound_free(articulated* I, const double* force, const double* constants, const double* implicit,
                                double* record) {
    const lane armature = LOAD(constants, CAL_CONSTANT_ARMATURE);
    s3 M = I->M, T = I->T;
    M.xx = M.xx + armature, M.yy = M.yy + armature, M.zz = M.zz + armature;
    T.xx = T.xx + armature, T.yy = T.yy + armature, T.zz = T.zz + armature;
    if (implicit) {
        M.xx = M.xx + LOAD(implicit, 0), M.yy = M.yy + LOAD(implicit, 1), M.zz = M.zz + LOAD(implicit, 2);
        add_turned(&T, load_columns(record, LANE(FREE_E)), implicit + 3 * CAL_WIDTH);
    }
    const s3 Mi = s3_inverse(M);
    const v3 f = v3_sub(load3(force, 0), I->f);
    const v3 n = v3_sub(m3_times(load_columns(record, LANE(FREE_E)), load3(force, 3)), I->n);
    const m3 Ht = {{I->H.x.x, I->H.y.x, I->H.z.x}, {I->H.x.y, I->H.y.y, I->H.z.y}, {I->H.x.z, I->H.y.z, I->H.z.z}};
    const m3 X = {s3_times(Mi, Ht.x), s3_times(Mi, Ht.y), s3_times(Mi, Ht.z)}; // M⁻¹ Hᵀ
    const s3 S = {T.xx - v3_dot(Ht.x, X.x), T.yy - v3_dot(Ht.y, X.y), T.zz - v3_dot(Ht.z, X.z),
                  T.xy - v3_dot(Ht.x, X.y), T.xz - v3_dot(Ht.x, X.z), T.yz - v3_dot(Ht.y, X.z)};
    const v3 al = s3_times(s3_inverse(S), v3_sub(n, m3_transpose_times(X, f)));
    const v3 a = v3_sub(s3_times(Mi, f), m3_times(X, al));
    store3(record, LANE(FREE_AL), al);
    store3(record, LANE(FREE_A), a);
    *I = (articulated){0};
}

// What a node with one degree of freedom answers with: U at its origin, g = D⁻¹ U at its parent's, D⁻¹, k = D⁻¹ u.
#define joint_response LANE(cal_joint_response)
typedef struct joint_response {
    v3 n, uf, gn, gf;
    lane Di, k;
} joint_response;

// One step inbound of such a node; force: the joint's, armature: with what a solver adds to it.
#define eliminate_joint LANE(cal_eliminate_joint)
LANE_INLINE void eliminate_joint(int kind, articulated* I, v3 z, v3 d, lane force, lane armature, joint_response* out) {
    const bool turns = kind == CAL_REVOLUTE;
    out->n = turns ? s3_times(I->T, z) : m3_times(I->H, z);
    out->uf = turns ? m3_transpose_times(I->H, z) : s3_times(I->M, z);
    const lane D = v3_dot(z, turns ? out->n : out->uf) + armature;
    const lane u = force - v3_dot(z, turns ? I->n : I->f);
    out->Di = lane_set(1.0) / D;
    move(I, d);
    const v3 un = v3_fma_cross(d, out->uf, out->n);
    out->gn = v3_scale(un, out->Di), out->gf = v3_scale(out->uf, out->Di);
    out->k = u * out->Di;
    eliminate(I, un, out->uf, out->gn, out->gf, out->k);
}

#define keep_response LANE(cal_keep_response)
LANE_INLINE void keep_response(double* record, const joint_response* response) {
    store3_once(record, LANE(RECORD_G), response->gn);
    store3_once(record, LANE(RECORD_G) + 3, response->gf);
    STORE_ONCE(record, LANE(RECORD_K), response->k);
}

// The same with what it keeps; response: where it leaves U and D⁻¹, or NULL.
#define inbound_joint LANE(cal_inbound_joint)
LANE_INLINE void inbound_joint(int kind, articulated* I, v3 z, v3 d, lane force, lane armature, double* record,
                               double* response) {
    joint_response own;
    eliminate_joint(kind, I, z, d, force, armature, &own);
    keep_response(record, &own);
    if (response) {
        store3(response, 0, own.n);
        store3(response, 3, own.uf);
        STORE(response, CAL_ABA_OVER, own.Di);
    }
}

// One step inbound: from the node's articulated inertia (own part included) to what its parent adds. implicit: what a
// solver adds to the armature of each degree (pass.h), or NULL. response: of a node with one degree.
#define inbound LANE(cal_inbound)
LANE_INLINE void inbound(int kind, articulated* I, const double* force, const double* constants, const double* implicit,
                         double* record, double* response) {
    if (kind == CAL_BALL) {
        inbound_ball(I, force, constants, implicit, record);
    } else if (kind == CAL_FREE) {
        inbound_free(I, force, constants, implicit, record);
    } else {
        lane armature = LOAD(constants, CAL_CONSTANT_ARMATURE);
        if (implicit) armature = armature + LOAD(implicit, 0);
        inbound_joint(kind, I, load3_once(record, LANE(RECORD_Z)), load3_once(record, LANE(RECORD_D)), LOAD(force, 0),
                      armature, record, response);
    }
}

// (4), (5) of a node with one degree of freedom: q̈, and the accelerations of its origin from those of its parent's.
#define accelerate_joint LANE(cal_accelerate_joint)
LANE_INLINE lane accelerate_joint(int kind, v3* al, v3* a, v3 z, v3 d, v3 gn, v3 gf, lane k) {
    const lane turned = v3_dot(gn, *al), slid = v3_dot(gf, *a);
    const lane qdd = k - (turned + slid);
    *a = v3_fma_cross(*al, d, *a);
    if (kind == CAL_REVOLUTE)
        *al = v3_fma_scale(z, qdd, *al);
    else
        *a = v3_fma_scale(z, qdd, *a);
    return qdd;
}

// (4), (5): one step outbound with the accelerations of the parent's origin; writes dy/dt.
#define accelerate LANE(cal_accelerate)
LANE_INLINE void accelerate(int kind, v3* al, v3* a, const double* y, const double* record, double* ydot) {
    if (kind == CAL_REVOLUTE || kind == CAL_PRISMATIC) {
        const v3 z = load3_once(record, LANE(RECORD_Z)), d = load3_once(record, LANE(RECORD_D));
        const lane qdd = accelerate_joint(kind, al, a, z, d, load3_once(record, LANE(RECORD_G)),
                                          load3_once(record, LANE(RECORD_G) + 3), LOAD_ONCE(record, LANE(RECORD_K)));
        STORE(ydot, 0, LOAD(y, 1));
        STORE(ydot, 1, qdd);
        return;
    }
    const int q = kind == CAL_BALL ? 0 : 3, v = kind == CAL_BALL ? 4 : 10;
    if (kind == CAL_BALL) {
        const v3 turned = m3_transpose_times(load_columns(record, LANE(BALL_N)), *al);
        const v3 slid = m3_transpose_times(load_columns(record, LANE(BALL_F)), *a);
        const v3 x = v3_sub(load3(record, LANE(BALL_K)), v3_add(turned, slid));
        *a = v3_fma_cross(*al, load3(record, LANE(BALL_D)), *a);
        *al = v3_add(*al, x);
        store3(ydot, v, m3_transpose_times(load_columns(record, LANE(BALL_E)), x));
    } else {
        *al = load3(record, LANE(FREE_AL));
        *a = load3(record, LANE(FREE_A));
        store3(ydot, 0, load3(y, 7));
        store3(ydot, 7, *a);
        store3(ydot, v, m3_transpose_times(load_columns(record, LANE(FREE_E)), *al));
    }
    store_turning(y, q, v, ydot);
}
