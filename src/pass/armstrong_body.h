// Armstrong's algorithm for one link, W links at a time: the mechanics, without columns or memory management. Include
// after math/lanes.h, math/lane_algebra.h and math/lane_memory.h, once a width; no libc call is in it.
//
// Notation (Armstrong, Marsland, Olafsson, Schaeffer, equations (1)-(24)). A link is a node; vectors are in the link's
// own axes, about its proximal hinge, unless said otherwise:
//
//   R, R_I    link's axes to the parent's, to the inertial frame's      ω, ω̇   angular velocity; rate of its components
//   m, c, J   mass, centre of mass, inertia about the hinge; h = m c    a      acceleration of the hinge
//   l         from the parent's hinge to this one, parent's axes        f, g   force and torque on the parent
//   a_c       ω × (ω × l) of the parent's ω, parent's axes              ~      v~ w = v × w
//
// A link answers the acceleration of its hinge linearly: (7) ω̇ = K a + d, (8) f = M a + f′.
//
// Here a link does the work that its parent does in the paper: (10), (11), (17) and its terms of the sums in (12)-(14),
// (18)-(20) are turned into the parent's axes by the child, W children at a time, and the parent adds up:
//
//   J* = J + ∑ W l~     C = −h~ + ∑ W     M* = −m 1 + ∑ Q     g* = g¹_Σ + ∑ (R g + l × f″)     f* = f_Σ + ∑ f″
//
// with Q = R M Rᵀ, W = l~ Q, f″ = R f′ + Q a_c (the paper's f″ and Q a_c never occur apart). Then, τ = −g being the
// hinge's torque on the link,
//
//   (12) T = J*⁻¹   (13) K = T C   (14) M = M* + Cᵀ K   (19) d = T (g* + τ)   (20) f′ = f* + Cᵀ d = f* + Kᵀ (g* + τ)
//
// where Cᵀ = h~ + ∑ −Q l~ has been used.
//
// Armature is not in the paper. A rotor A in the hinge resists the relative motion, g = −τ + A u̇, where u = ω − Rᵀω_p
// is our velocity and u̇ = ω̇ − β + u × ω, β = Rᵀ ω̇_p. So the answers depend on the parent's ω̇, too:
//
//   T = (J* + A)⁻¹    ω̇ = K a + A T β + d    d = T (g* + τ − A u × ω)
//   f = M a + A Kᵀ β + f′    g = A K a + A (A T − 1) β + g′    g′ = −τ + A (d + u × ω)
//
// and with Y = A R K Rᵀ, P = A R (A T − 1) Rᵀ the parent's sums get (symmetric, since Y l~ is added with its transpose)
//
//   J* += W l~ + Y l~ + (Y l~)ᵀ − P    C += W + Y    g* += R g′ + l × f″ + Y a_c
//
// Functions come in the paper's bands: those whose results the paper lets grow old for ν steps are marked slow. Their
// results live in the records where they are kept for the fast band (CAL_REUSE_KEEP, CAL_REUSE_KEPT), or else only as long
// as they are needed.

#define posture LANE(cal_posture)
#define answers LANE(cal_answers)
#define response LANE(cal_response)

// What an outbound column carries.
typedef struct posture {
    m3 R_I;
    v3 w;
} posture;

// What an inbound column carries: a link's sums, as above.
typedef struct answers {
    s3 J;
    m3 C;
    s3 M;
    v3 g, f;
} answers;

// What the slow band leaves to the fast one: T, K, M in the link's axes, Q a_c and Y a_c in the parent's.
typedef struct response {
    s3 T;
    m3 K;
    s3 M;
    v3 Qa, Ya;
} response;

// What a link keeps between the walks. Ball: R, a_c, u × ω, K, d, and A T where there are rotors. Free: R_I, K, d, M,
// f′. And for the fast band alone: g¹_Σ and f_Σ, T, Q a_c and Y a_c.
enum {
    LANE(LINK_R) = 0,
    LANE(LINK_AC) = 9,
    LANE(LINK_TURN) = 12,
    LANE(LINK_K) = 15,
    LANE(LINK_D) = 24,
    LANE(LINK_ROTOR) = 27,
    LANE(LINK_BURDEN) = 33,
    LANE(LINK_T) = 39,
    LANE(LINK_QA) = 45,
    LANE(LINK_YA) = 48,
    LANE(ROOT_R) = 0,
    LANE(ROOT_K) = 9,
    LANE(ROOT_D) = 18,
    LANE(ROOT_M) = 21,
    LANE(ROOT_F) = 27,
    LANE(ROOT_BURDEN) = 30,
    LANE(ROOT_T) = 36
};
// g¹_Σ and f_Σ: kept from the way down to the way up only, unless for the fast band.
enum { LANE(BURDEN_G) = 0, LANE(BURDEN_F) = 3 };
#define find_burden LANE(cal_find_burden)
LANE_INLINE double* find_burden(int kind, cal_reuse reuse, double* record, double* scratch) {
    const int kept = kind == CAL_BALL ? LANE(LINK_BURDEN) : LANE(ROOT_BURDEN);
    return reuse == CAL_REUSE_NONE ? scratch : record + kept * CAL_WIDTH;
}

// --- Control, outbound -----------------------------------------------------------------------------------------------

// Slow: R and R_I.
#define orient LANE(cal_orient)
LANE_INLINE void orient(int kind, posture* p, const double* y, const double* constants, double* record) {
    if (kind == CAL_BALL) {
        const m3 R = m3_product(load_rows(constants, CAL_CONSTANT_ROTATION),
                                m3_quaternion(LOAD(y, 0), LOAD(y, 1), LOAD(y, 2), LOAD(y, 3)));
        p->R_I = m3_product(p->R_I, R);
        store_columns(record, LANE(LINK_R), R);
    } else {
        p->R_I = m3_quaternion(LOAD(y, 3), LOAD(y, 4), LOAD(y, 5), LOAD(y, 6));
        store_columns(record, LANE(ROOT_R), p->R_I);
    }
}

// Slow, (6): a_c from the parent's ω.
#define center LANE(cal_center)
LANE_INLINE void center(v3 parent_w, const double* constants, double* record) {
    const v3 l = load3(constants, CAL_CONSTANT_OFFSET);
    store3(record, LANE(LINK_AC), v3_cross(parent_w, v3_cross(parent_w, l)));
}

// ω and u × ω.
#define spin LANE(cal_spin)
LANE_INLINE void spin(int kind, posture* p, const double* y, double* record) {
    if (kind == CAL_BALL) {
        const v3 u = load3(y, 4);
        p->w = v3_add(m3_transpose_times(load_columns(record, LANE(LINK_R)), p->w), u);
        store3(record, LANE(LINK_TURN), v3_cross(u, p->w));
    } else {
        p->w = load3(y, 10);
    }
}

// J = tr(Σ) 1 − Σ.
#define link_inertia LANE(cal_link_inertia)
LANE_INLINE s3 link_inertia(const double* constants) {
    const s3 S = load_symmetric(constants, CAL_CONSTANT_SECOND);
    return (s3){S.yy + S.zz, S.xx + S.zz, S.xx + S.yy, -S.xy, -S.xz, -S.yz};
}

// Slow, (15), (16): what acts on the link apart from its hinges. external: 15 components or NULL.
#define burden LANE(cal_burden)
LANE_INLINE void burden(const posture* p, v3 gravity, const double* constants, const double* external, double* out) {
    const v3 w = p->w, h = load3(constants, CAL_CONSTANT_MOMENT), weight = m3_transpose_times(p->R_I, gravity);
    v3 g = v3_fma_cross(h, weight, v3_cross(s3_times(link_inertia(constants), w), w));
    v3 f = v3_fma_cross(v3_cross(w, h), w, v3_scale(weight, LOAD(constants, CAL_CONSTANT_MASS)));
    if (external) {
        const m3 B = m3_product(load_rows(external, 6), p->R_I); // ∑ p_E ⊗ R_Iᵀ f_E
        const v3 t = m3_transpose_times(p->R_I, load3(external, 3));
        f = v3_add(f, m3_transpose_times(p->R_I, load3(external, 0)));
        g.x = g.x + (t.x + (B.z.y - B.y.z));
        g.y = g.y + (t.y + (B.x.z - B.z.x));
        g.z = g.z + (t.z + (B.y.x - B.x.y));
    }
    store3(out, LANE(BURDEN_G), g);
    store3(out, LANE(BURDEN_F), f);
}

// One step outbound: from the parent's posture to the link's.
#define control LANE(cal_control)
LANE_INLINE void control(int kind, cal_reuse reuse, posture* p, v3 gravity, const double* y, const double* constants,
                         const double* external, double* record, double* scratch) {
    if (reuse != CAL_REUSE_KEPT) orient(kind, p, y, constants, record);
    if (reuse != CAL_REUSE_KEPT && kind == CAL_BALL) center(p->w, constants, record);
    spin(kind, p, y, record);
    if (reuse != CAL_REUSE_KEPT) burden(p, gravity, constants, external, find_burden(kind, reuse, record, scratch));
}

// --- Coefficients, inbound -------------------------------------------------------------------------------------------

// The link's own terms added to what came from below.
#define begin_answers LANE(cal_begin_answers)
LANE_INLINE void begin_answers(int kind, cal_reuse reuse, answers* s, const double* constants, double* record,
                               double* scratch) {
    const double* own = find_burden(kind, reuse, record, scratch);
    s->g = v3_add(load3(own, LANE(BURDEN_G)), s->g);
    s->f = v3_add(load3(own, LANE(BURDEN_F)), s->f);
    if (reuse == CAL_REUSE_KEPT) return;
    const s3 J = link_inertia(constants);
    const v3 h = load3(constants, CAL_CONSTANT_MOMENT);
    const lane mass = LOAD(constants, CAL_CONSTANT_MASS);
    s->J = (s3){J.xx + s->J.xx, J.yy + s->J.yy, J.zz + s->J.zz, J.xy + s->J.xy, J.xz + s->J.xz, J.yz + s->J.yz};
    s->C.x.y = s->C.x.y - h.z, s->C.x.z = h.y + s->C.x.z;
    s->C.y.x = h.z + s->C.y.x, s->C.y.z = s->C.y.z - h.x;
    s->C.z.x = s->C.z.x - h.y, s->C.z.y = h.x + s->C.z.y;
    s->M.xx = s->M.xx - mass, s->M.yy = s->M.yy - mass, s->M.zz = s->M.zz - mass;
}

// The entries on and above the diagonal of X l~, and those below it.
#define upper_cross LANE(cal_upper_cross)
LANE_INLINE s3 upper_cross(m3 X, v3 l) {
    return (s3){lane_fms(X.y.x, l.z, X.z.x * l.y), lane_fms(X.z.y, l.x, X.x.y * l.z),
                lane_fms(X.x.z, l.y, X.y.z * l.x), lane_fms(X.z.x, l.x, X.x.x * l.z),
                lane_fms(X.x.x, l.y, X.y.x * l.x), lane_fms(X.x.y, l.y, X.y.y * l.x)};
}
#define lower_cross LANE(cal_lower_cross)
LANE_INLINE s3 lower_cross(m3 X, v3 l) {
    return (s3){lane_fms(X.y.x, l.z, X.z.x * l.y), lane_fms(X.z.y, l.x, X.x.y * l.z),
                lane_fms(X.x.z, l.y, X.y.z * l.x), lane_fms(X.y.y, l.z, X.z.y * l.y),
                lane_fms(X.y.z, l.z, X.z.z * l.y), lane_fms(X.z.z, l.x, X.x.z * l.z)};
}

// Slow, (12)-(14): T, K, M.
#define respond LANE(cal_respond)
LANE_INLINE response respond(const answers* s, const double* constants) {
    const lane A = LOAD(constants, CAL_CONSTANT_ARMATURE);
    const s3 J = {s->J.xx + A, s->J.yy + A, s->J.zz + A, s->J.xy, s->J.xz, s->J.yz};
    const m3 C = s->C;
    response r;
    r.T = s3_inverse(J);
    r.K = (m3){s3_times(r.T, C.x), s3_times(r.T, C.y), s3_times(r.T, C.z)};
    r.M = (s3){s->M.xx + v3_dot(C.x, r.K.x), s->M.yy + v3_dot(C.y, r.K.y), s->M.zz + v3_dot(C.z, r.K.z),
               s->M.xy + v3_dot(C.x, r.K.y), s->M.xz + v3_dot(C.x, r.K.z), s->M.yz + v3_dot(C.y, r.K.z)};
    return r;
}

// Slow, (10), (11): the link's terms in its parent's sums J*, C, M*. rotors: whether there is armature.
#define hand_over LANE(cal_hand_over)
LANE_INLINE void hand_over(bool rotors, answers* s, response* r, const double* constants, double* record) {
    const m3 R = load_columns(record, LANE(LINK_R));
    const v3 l = load3(constants, CAL_CONSTANT_OFFSET), ac = load3(record, LANE(LINK_AC));
    const s3 Q = s3_congruent(R, r->M);
    s->M = Q;
    s->C = (m3){v3_cross(l, (v3){Q.xx, Q.xy, Q.xz}), v3_cross(l, (v3){Q.xy, Q.yy, Q.yz}),
                v3_cross(l, (v3){Q.xz, Q.yz, Q.zz})};
    r->Qa = s3_times(Q, ac);
    if (!rotors) {
        s->J = upper_cross(s->C, l);
        return;
    }
    const lane A = LOAD(constants, CAL_CONSTANT_ARMATURE);
    const s3 AT = {A * r->T.xx, A * r->T.yy, A * r->T.zz, A * r->T.xy, A * r->T.xz, A * r->T.yz};
    const s3 P = s3_congruent(R, AT);
    const m3 RK = m3_product(R, (m3){v3_scale(r->K.x, A), v3_scale(r->K.y, A), v3_scale(r->K.z, A)});
    const m3 Y = {m3_times(RK, (v3){R.x.x, R.y.x, R.z.x}), m3_times(RK, (v3){R.x.y, R.y.y, R.z.y}),
                  m3_times(RK, (v3){R.x.z, R.y.z, R.z.z})};
    const s3 below = lower_cross(Y, l);
    s->C = (m3){v3_add(s->C.x, Y.x), v3_add(s->C.y, Y.y), v3_add(s->C.z, Y.z)};
    const s3 J = upper_cross(s->C, l);
    s->J = (s3){J.xx + below.xx + lane_fnma(A, P.xx, A),
                J.yy + below.yy + lane_fnma(A, P.yy, A),
                J.zz + below.zz + lane_fnma(A, P.zz, A),
                J.xy + below.xy - A * P.xy,
                J.xz + below.xz - A * P.xz,
                J.yz + below.yz - A * P.yz};
    r->Ya = m3_times(Y, ac);
    store_symmetric(record, LANE(LINK_ROTOR), AT);
}

// Fast, (17)-(20): d, f′ and the link's terms in its parent's sums g*, f*.
#define settle LANE(cal_settle)
LANE_INLINE void settle(bool rotors, answers* s, const response* r, const double* force, const double* constants,
                        double* record) {
    const m3 R = load_columns(record, LANE(LINK_R));
    const v3 l = load3(constants, CAL_CONSTANT_OFFSET), torque = load3(force, 0);
    v3 sum = v3_add(s->g, torque), g = {-torque.x, -torque.y, -torque.z};
    if (rotors) sum = v3_fma_scale(load3(record, LANE(LINK_TURN)), -LOAD(constants, CAL_CONSTANT_ARMATURE), sum);
    const v3 d = s3_times(r->T, sum);
    if (rotors) g = v3_fma_scale(v3_add(d, load3(record, LANE(LINK_TURN))), LOAD(constants, CAL_CONSTANT_ARMATURE), g);
    store3(record, LANE(LINK_D), d);
    s->f = m3_fma_times(R, v3_add(s->f, m3_transpose_times(r->K, sum)), r->Qa);
    s->g = v3_fma_cross(l, s->f, m3_times(R, g));
    if (rotors) s->g = v3_add(s->g, r->Ya);
}

// A free root: nobody is above it. Its armature A resists ω̇ and a themselves: (8) with f = −R_Iᵀ force + A a, so A
// goes to M.
#define settle_root LANE(cal_settle_root)
LANE_INLINE void settle_root(answers* s, const response* r, const double* force, double* record) {
    const v3 sum = v3_add(s->g, load3(force, 3));
    const v3 push = m3_transpose_times(load_columns(record, LANE(ROOT_R)), load3(force, 0));
    store3(record, LANE(ROOT_D), s3_times(r->T, sum));
    store3(record, LANE(ROOT_F), v3_add(v3_add(s->f, push), m3_transpose_times(r->K, sum)));
    *s = (answers){0};
}

// Slow: what the fast band of this execution (T, Q a_c, Y a_c: of later ones) and the accelerations read.
#define keep LANE(cal_keep)
LANE_INLINE void keep(int kind, bool rotors, cal_reuse reuse, const response* r, const double* constants,
                      double* record) {
    if (kind == CAL_BALL) {
        store_columns(record, LANE(LINK_K), r->K);
        if (reuse == CAL_REUSE_NONE) return;
        store_symmetric(record, LANE(LINK_T), r->T);
        store3(record, LANE(LINK_QA), r->Qa);
        if (rotors) store3(record, LANE(LINK_YA), r->Ya);
    } else {
        const lane A = LOAD(constants, CAL_CONSTANT_ARMATURE);
        store_columns(record, LANE(ROOT_K), r->K);
        store_symmetric(record, LANE(ROOT_M), (s3){r->M.xx - A, r->M.yy - A, r->M.zz - A, r->M.xy, r->M.xz, r->M.yz});
        if (reuse != CAL_REUSE_NONE) store_symmetric(record, LANE(ROOT_T), r->T);
    }
}
#define recall LANE(cal_recall)
LANE_INLINE void recall(int kind, bool rotors, response* r, const double* record) {
    const bool ball = kind == CAL_BALL;
    r->T = load_symmetric(record, ball ? LANE(LINK_T) : LANE(ROOT_T));
    r->K = load_columns(record, ball ? LANE(LINK_K) : LANE(ROOT_K));
    if (ball) r->Qa = load3(record, LANE(LINK_QA));
    if (ball && rotors) r->Ya = load3(record, LANE(LINK_YA));
}

// One step inbound: from the link's sums (own terms included) to what its parent adds.
#define coefficients LANE(cal_coefficients)
LANE_INLINE void coefficients(int kind, bool rotors, cal_reuse reuse, answers* s, const double* force,
                              const double* constants, double* record) {
    response r;
    if (reuse == CAL_REUSE_KEPT) {
        recall(kind, rotors, &r, record);
    } else {
        r = respond(s, constants);
        if (kind == CAL_BALL) hand_over(rotors, s, &r, constants, record);
        keep(kind, rotors, reuse, &r, constants, record);
    }
    if (kind == CAL_BALL)
        settle(rotors, s, &r, force, constants, record);
    else
        settle_root(s, &r, force, record);
}

// --- Accelerations, outbound -----------------------------------------------------------------------------------------

// (21)-(23): from the parent's ω̇ and a (its axes) to the link's; writes dy/dt.
#define advance LANE(cal_advance)
LANE_INLINE void advance(int kind, bool rotors, v3* wd, v3* a, const double* y, const double* constants,
                         const double* record, double* ydot) {
    const int q = kind == CAL_BALL ? 0 : 3, v = kind == CAL_BALL ? 4 : 10;
    if (kind == CAL_BALL) {
        const m3 R = load_columns(record, LANE(LINK_R));
        const v3 l = load3(constants, CAL_CONSTANT_OFFSET), turn = m3_transpose_times(R, *wd);
        *a = m3_transpose_times(R, v3_fma_cross(*wd, l, v3_add(load3(record, LANE(LINK_AC)), *a)));
        *wd = m3_fma_times(load_columns(record, LANE(LINK_K)), *a, load3(record, LANE(LINK_D)));
        // Dead lanes have armature, and no mass: they follow their parents. T = 1 there.
        *wd = rotors ? v3_add(*wd, s3_times(load_symmetric(record, LANE(LINK_ROTOR)), turn))
                     : v3_fma_scale(turn, LOAD(constants, CAL_CONSTANT_ARMATURE), *wd);
        store3(ydot, v, v3_add(v3_sub(*wd, turn), load3(record, LANE(LINK_TURN))));
    } else {
        const s3 M = load_symmetric(record, LANE(ROOT_M));
        *a = s3_times(s3_inverse((s3){-M.xx, -M.yy, -M.zz, -M.xy, -M.xz, -M.yz}), load3(record, LANE(ROOT_F)));
        *wd = m3_fma_times(load_columns(record, LANE(ROOT_K)), *a, load3(record, LANE(ROOT_D)));
        store3(ydot, 0, load3(y, 7));
        store3(ydot, 7, m3_times(load_columns(record, LANE(ROOT_R)), *a));
        store3(ydot, v, *wd);
    }
    store_turning(y, q, v, ydot);
}
