// The factored mass matrix (mass_factor.h) of one node, W nodes at a time: the mechanics, without columns. Matrices are rows of
// six; a multiply-add is rounded twice. Include after math/lanes.h, once a width.
#define factored LANE(cal_factored)
#define get_lane LANE(cal_get_lane)
#define set_lane LANE(cal_set_lane)
#define cross_lanes LANE(cal_cross_lanes)
#define dot_six LANE(cal_dot_six)
#define root_of LANE(cal_root_of)

// One step of a column: the joint's axes S and U = I S (6 a degree of freedom), C, the arm from the parent's origin, and I, which
// becomes what the parent adds.
typedef struct factored {
    lane S[36], U[36], C[36], I[36], arm[3], armature[6];
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

LANE_INLINE void cross_lanes(const lane* a, const lane* b, lane* out) {
    out[0] = a[1] * b[2] - a[2] * b[1], out[1] = a[2] * b[0] - a[0] * b[2], out[2] = a[0] * b[1] - a[1] * b[0];
}

LANE_INLINE lane dot_six(const lane* a, const lane* b) {
    return ((a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])) + (a[4] * b[4] + a[5] * b[5]);
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

// ((tr Σ − Σ, h×), (−h×, m)) in the world's axes; s: Σ as xx, yy, zz, xy, xz, yz; moment: node's axes.
#define own_inertia LANE(cal_own_inertia)
LANE_INLINE void own_inertia(const lane* R, const lane* s, const lane* moment, lane mass, lane* I) {
    const lane zero = lane_set(0.0), sigma[9] = {s[0], s[3], s[4], s[3], s[1], s[5], s[4], s[5], s[2]};
    lane turned[9], world[9], h[3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            turned[3 * i + j] = R[3 * i] * sigma[j] + R[3 * i + 1] * sigma[3 + j] + R[3 * i + 2] * sigma[6 + j];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            world[3 * i + j] =
                turned[3 * i] * R[3 * j] + turned[3 * i + 1] * R[3 * j + 1] + turned[3 * i + 2] * R[3 * j + 2];
    const lane trace = world[0] + world[4] + world[8];
    for (int i = 0; i < 3; i++) h[i] = R[3 * i] * moment[0] + R[3 * i + 1] * moment[1] + R[3 * i + 2] * moment[2];
    const lane cross[9] = {zero, -h[2], h[1], h[2], zero, -h[0], -h[1], h[0], zero};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            I[6 * i + j] = (i == j ? trace : zero) - world[3 * i + j];
            I[6 * i + 3 + j] = cross[3 * i + j];
            I[6 * (3 + i) + j] = -cross[3 * i + j];
            I[6 * (3 + i) + 3 + j] = i == j ? mass : zero;
        }
}

// D = C Cᵀ, in place, lower half. The model was weighed: D is positive.
#define find_root LANE(cal_find_root)
LANE_INLINE void find_root(lane* D, int degrees) {
    for (int i = 0; i < degrees; i++)
        for (int j = 0; j <= i; j++) {
            lane sum = D[i * degrees + j];
            for (int k = 0; k < j; k++) sum = sum - D[i * degrees + k] * D[j * degrees + k];
            D[i * degrees + j] = i == j ? root_of(sum) : sum / D[j * degrees + j];
        }
}

// x ← C⁻ᵀ C⁻¹ x
#define divide_twice LANE(cal_divide_twice)
LANE_INLINE void divide_twice(const lane* C, int degrees, lane* x) {
    for (int i = 0; i < degrees; i++) {
        for (int k = 0; k < i; k++) x[i] = x[i] - C[i * degrees + k] * x[k];
        x[i] = x[i] / C[i * degrees + i];
    }
    for (int i = degrees - 1; i >= 0; i--) {
        for (int k = i + 1; k < degrees; k++) x[i] = x[i] - C[k * degrees + i] * x[k];
        x[i] = x[i] / C[i * degrees + i];
    }
}

// U, C, and I − U D⁻¹ Uᵀ where there is a parent.
#define factor_node LANE(cal_factor_node)
LANE_INLINE void factor_node(int kind, bool has_parent, factored* w) {
    const int degrees = cal_kind_v(kind);
    for (int k = 0; k < degrees; k++)
        for (int i = 0; i < 6; i++) w->U[6 * k + i] = dot_six(w->I + 6 * i, w->S + 6 * k);
    for (int i = 0; i < degrees; i++)
        for (int j = 0; j <= i; j++)
            w->C[i * degrees + j] = dot_six(w->S + 6 * i, w->U + 6 * j) + (i == j ? w->armature[i] : lane_set(0.0));
    find_root(w->C, degrees);
    for (int i = 0; has_parent && i < 6; i++) {
        lane row[6];
        for (int k = 0; k < degrees; k++) row[k] = w->U[6 * k + i];
        divide_twice(w->C, degrees, row);
        for (int j = 0; j < 6; j++)
            for (int k = 0; k < degrees; k++) w->I[6 * i + j] = w->I[6 * i + j] - row[k] * w->U[6 * k + j];
    }
}

// I += Xᵀ I_child X with X = ((1, 0), (−s×, 1)), s the child's arm; in lanes that have a child.
#define pull_inertia LANE(cal_pull_inertia)
LANE_INLINE void pull_inertia(lane* I, const lane* child, const lane* s, const bool* lives) {
    lane B[36];
    for (int i = 0; i < 36; i++) B[i] = child[i];
    // Column j of −s× is e_j × s.
    for (int i = 0; i < 6; i++) {
        lane moment[3]; // row · (−s×) = (s × fᵀ)ᵀ
        cross_lanes(s, child + 6 * i + 3, moment);
        for (int j = 0; j < 3; j++) B[6 * i + j] = B[6 * i + j] + moment[j];
    }
    for (int j = 0; j < 6; j++) {
        const lane f[3] = {B[6 * 3 + j], B[6 * 4 + j], B[6 * 5 + j]};
        lane moment[3];
        cross_lanes(s, f, moment);
        for (int i = 0; i < 3; i++) B[6 * i + j] = B[6 * i + j] + moment[i];
    }
    // What is added to −0 changes it, but for −0.
    for (int l = 0; l < CAL_LANES; l++)
        for (int i = 0; i < 36 && !lives[l]; i++) set_lane(&B[i], l, -0.0);
    for (int i = 0; i < 36; i++) I[i] = I[i] + B[i];
}
