// Wrenches, motions and inertias of fronts (loop_factor.h): in space, and in a plane where all joints are hinges parallel to one axis of
// the world, n, with a and b the two after it. There bodies turn about n and are displaced along a and b, whatever acts on them. What is
// not along these three is left out: where n is z, the bits are the same as with it.
//
//     wrench   space: moment, 0, force, 0          plane: moment about n, force along a, along b, 0
//     motion   the same: turn, displacement
//
// `wide`, the numbers of a wrench, is a constant where these are called.
#pragma once
#include "constraint/loop_factor.h"
#include "math/four.h"

// Of a node in a plane, in `own`: how its origin is displaced by a turn of its parent, (0, −b, a, 0) of its arm; its first moments
// along a and b; the sign of its axis.
enum { LEVER = 0, MOMENT = 4, SIGN = 6 };

// --- Wrenches and motions ----------------------------------------------------------------------------------------------------

typedef struct spatial {
    cal_four turn, force; // in a plane all is in the first
} spatial;

CAL_WIDE_INLINE double dot3(const double* a, const double* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

CAL_WIDE_INLINE spatial load_spatial(int wide, const double* from) {
    spatial out = {cal_load_four(from), {0.0}};
    if (wide == CAL_LOOP_SPACE) out.force = cal_load_four(from + 4);
    return out;
}
CAL_WIDE_INLINE void store_spatial(int wide, const spatial* from, double* to) {
    cal_store_four(from->turn, to);
    if (wide == CAL_LOOP_SPACE) cal_store_four(from->force, to + 4);
}
// to += factor · a
CAL_WIDE_INLINE void add_spatial(int wide, spatial* to, double factor, const double* a) {
    to->turn += cal_load_four(a) * factor;
    if (wide == CAL_LOOP_SPACE) to->force += cal_load_four(a + 4) * factor;
}
CAL_WIDE_INLINE void add_to_spatial(int wide, double* to, double factor, const double* a) {
    spatial sum = load_spatial(wide, to);
    add_spatial(wide, &sum, factor, a);
    store_spatial(wide, &sum, to);
}
// Of a motion along a wrench.
CAL_WIDE_INLINE double work_of(int wide, const double* wrench, const spatial* motion) {
    cal_four product = cal_load_four(wrench) * motion->turn;
    if (wide == CAL_LOOP_PLANE) return product[1] + product[2] + product[0];
    product += cal_load_four(wrench + 4) * motion->force;
    return product[0] + product[1] + product[2];
}

// Adds a wrench at a child's origin to one at its parent's. arm: the child's, in a plane its lever.
CAL_WIDE_INLINE void carry(int wide, const double* arm, const double* wrench, spatial* to) {
    spatial own = load_spatial(wide, wrench);
    if (wide == CAL_LOOP_PLANE) {
        own.turn[0] += arm[2] * wrench[2] + arm[1] * wrench[1];
        to->turn += own.turn;
        return;
    }
    to->turn += own.turn + cal_cross_four(cal_load_four(arm), own.force);
    to->force += own.force;
}
// From the motion of a parent to that of its child's origin before the child's joint moves.
CAL_WIDE_INLINE void swing(int wide, const double* arm, spatial* a) {
    if (wide == CAL_LOOP_PLANE)
        a->turn += cal_load_four(arm) * a->turn[0];
    else
        a->force += cal_cross_four(a->turn, cal_load_four(arm));
}

// --- Inertias ----------------------------------------------------------------------------------------------------------------

// A symmetric matrix ((J, Gᵀ), (G, M)) of three by three blocks, column by column, three numbers in four lanes each. What makes J and M differ
// from their transposes is rounding. In a plane it has J, Ga, Gb, Maa, Mab, Mbb.
enum { PLANE_J, PLANE_GA, PLANE_GB, PLANE_MAA, PLANE_MAB, PLANE_MBB, PLANE_COUNT };
typedef struct inertia {
    cal_four J[3], G[3], M[3];
    double plane[PLANE_COUNT];
} inertia;

CAL_WIDE_INLINE void store_inertia(int wide, const inertia* I, double* to) {
    for (int i = 0; i < PLANE_COUNT && wide == CAL_LOOP_PLANE; i++) to[i] = I->plane[i];
    for (int j = 0; j < 3 && wide == CAL_LOOP_SPACE; j++) {
        cal_store_four(I->J[j], to + 4 * j);
        cal_store_four(I->G[j], to + 12 + 4 * j);
        cal_store_four(I->M[j], to + 24 + 4 * j);
    }
}

CAL_WIDE_INLINE void transpose(const cal_four* from, cal_four* to) {
    const cal_four low = CAL_SHUFFLE(from[0], from[1], 0, 4, 1, 5), high = CAL_SHUFFLE(from[0], from[1], 2, 6, 3, 7);
    to[0] = CAL_SHUFFLE(low, from[2], 0, 1, 4, 7), to[1] = CAL_SHUFFLE(low, from[2], 2, 3, 5, 7);
    to[2] = CAL_SHUFFLE(high, from[2], 0, 1, 6, 7);
}

// Columns a times three numbers.
CAL_WIDE_INLINE cal_four combine(const cal_four* a, double x, double y, double z) {
    return a[0] * x + a[1] * y + a[2] * z;
}

// J = R Θ Rᵀ, Gᵀ = h×, M = m in the world's axes, Θ = tr Σ − Σ with Σ and h the body's second and first moments. own: J and h are kept there.
CAL_WIDE_INLINE void own_spatial_inertia(const cal_node* node, const double* R, inertia* I, double* own) {
    const double *s = node->second_moment, *m = node->moment;
    const cal_four rows[3] = {cal_load_four(R), cal_load_four(R + 3), cal_load_four(R + 6)};
    cal_four axes[3];
    transpose(rows, axes);
    const cal_four turned[3] = {combine(axes, s[1] + s[2], -s[3], -s[4]), combine(axes, -s[3], s[0] + s[2], -s[5]),
                                combine(axes, -s[4], -s[5], s[0] + s[1])};
    const cal_four h = combine(axes, m[0], m[1], m[2]);
    for (int j = 0; j < 3; j++) {
        I->J[j] = combine(turned, R[3 * j], R[3 * j + 1], R[3 * j + 2]);
        cal_store_four(I->J[j], own + 4 * j);
    }
    cal_store_four(h, own + 12);
    const cal_four x = {0.0, -1.0, 1.0, 0.0}, y = {1.0, 0.0, -1.0, 0.0}, z = {-1.0, 1.0, 0.0, 0.0};
    I->G[0] = x * CAL_SHUFFLE(h, h, 0, 2, 1, 3), I->G[1] = y * CAL_SHUFFLE(h, h, 2, 1, 0, 3);
    I->G[2] = z * CAL_SHUFFLE(h, h, 1, 0, 2, 3);
    for (int j = 0; j < 3; j++) I->M[j] = (cal_four){0.0}, I->M[j][j] = node->mass;
}
// The same in a plane, of which Ra and Rb are the rows: J about n does not change with q.
CAL_WIDE_INLINE void own_plane_inertia(const cal_node* node, const double* Ra, const double* Rb, inertia* I,
                                       double* own) {
    const double ha = Ra[0] * node->moment[0] + Ra[1] * node->moment[1],
                 hb = Rb[0] * node->moment[0] + Rb[1] * node->moment[1];
    own[MOMENT] = ha, own[MOMENT + 1] = hb;
    I->plane[PLANE_J] = node->second_moment[0] + node->second_moment[1];
    I->plane[PLANE_GA] = -hb, I->plane[PLANE_GB] = ha;
    I->plane[PLANE_MAA] = I->plane[PLANE_MBB] = node->mass, I->plane[PLANE_MAB] = 0.0;
}

// I += what a medium adds to it in an implicit step (mass_factor.h): Θ, H by columns, M; Gᵀ is H. axes: of a plane (loop_factor.h).
CAL_WIDE_INLINE void add_resisting(int wide, const int* axes, const double* own, inertia* I) {
    static const int symmetric[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
    const double *H = own + 6, *M = own + 15;
    if (wide == CAL_LOOP_PLANE) {
        const int n = axes[0], a = axes[1], b = axes[2];
        I->plane[PLANE_J] += own[n];
        I->plane[PLANE_GA] += H[3 * a + n], I->plane[PLANE_GB] += H[3 * b + n];
        I->plane[PLANE_MAA] += M[a], I->plane[PLANE_MBB] += M[b], I->plane[PLANE_MAB] += M[symmetric[a][b]];
        return;
    }
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) {
            I->J[j][i] += own[symmetric[i][j]];
            I->G[j][i] += H[3 * i + j];
            I->M[j][i] += M[symmetric[i][j]];
        }
}

// I += Xᵀ I_child X with X = ((1, 0), (−s×, 1)), s the child's arm: M, G' = G − M s×, J + s× G' − Gᵀ s×.
CAL_WIDE_INLINE void pull_spatial_inertia(const double* child, const double* s, inertia* I) {
    cal_four J[3], G[3], M[3], rows[3];
    for (int j = 0; j < 3; j++) {
        J[j] = cal_load_four(child + 4 * j), G[j] = cal_load_four(child + 12 + 4 * j);
        M[j] = cal_load_four(child + 24 + 4 * j);
    }
    transpose(G, rows);
    const cal_four arm = cal_load_four(s);
    for (int j = 0; j < 3; j++) {
        const int k = (j + 1) % 3, l = (j + 2) % 3; // column j of s×: s_l along k, −s_k along l
        const cal_four moved = G[j] - (M[k] * s[l] - M[l] * s[k]);
        I->J[j] += J[j] + (cal_cross_four(arm, moved) - (rows[k] * s[l] - rows[l] * s[k]));
        I->G[j] += moved;
        I->M[j] += M[j];
    }
}
CAL_WIDE_INLINE void pull_plane_inertia(const double* child, const double* lever, inertia* I) {
    const double sa = lever[2], sb = -lever[1], Ga = child[PLANE_GA], Gb = child[PLANE_GB];
    const double moved_a = Ga - (child[PLANE_MAA] * sb - child[PLANE_MAB] * sa),
                 moved_b = Gb - (child[PLANE_MAB] * sb - child[PLANE_MBB] * sa);
    I->plane[PLANE_J] += child[PLANE_J] + ((sa * moved_b - sb * moved_a) - (Ga * sb - Gb * sa));
    I->plane[PLANE_GA] += moved_a, I->plane[PLANE_GB] += moved_b;
    for (int i = PLANE_MAA; i <= PLANE_MBB; i++) I->plane[i] += child[i];
}
CAL_WIDE_INLINE void pull_inertia(int wide, const double* child, const double* arm, inertia* I) {
    if (wide == CAL_LOOP_PLANE)
        pull_plane_inertia(child, arm, I);
    else
        pull_spatial_inertia(child, arm, I);
}

// I ± a aᵀ
CAL_WIDE_INLINE void add_square(int wide, inertia* I, bool adds, const double* a) {
    if (wide == CAL_LOOP_PLANE) {
        const double square[PLANE_COUNT] = {a[0] * a[0], a[1] * a[0], a[2] * a[0],
                                            a[1] * a[1], a[2] * a[1], a[2] * a[2]};
        for (int i = 0; i < PLANE_COUNT; i++) I->plane[i] = adds ? I->plane[i] + square[i] : I->plane[i] - square[i];
        return;
    }
    const cal_four turn = cal_load_four(a), force = cal_load_four(a + 4);
    for (int j = 0; j < 3; j++) {
        const cal_four J = turn * a[j], G = force * a[j], M = force * a[4 + j];
        I->J[j] = adds ? I->J[j] + J : I->J[j] - J;
        I->G[j] = adds ? I->G[j] + G : I->G[j] - G;
        I->M[j] = adds ? I->M[j] + M : I->M[j] - M;
    }
}

// What I makes of a turn, and of a displacement, which is added.
CAL_WIDE_INLINE void find_turn(const inertia* I, const double* w, double* out) {
    const cal_four turn = combine(I->J, w[0], w[1], w[2]), force = combine(I->G, w[0], w[1], w[2]);
    cal_store_four(turn, out);
    cal_store_four(force, out + 4);
}
CAL_WIDE_INLINE void add_displacement(const inertia* I, const double* v, double* out) {
    const cal_four force = combine(I->M, v[0], v[1], v[2]);
    for (int i = 0; i < 3; i++) {
        out[i] += I->G[i][0] * v[0] + I->G[i][1] * v[1] + I->G[i][2] * v[2];
        out[4 + i] += force[i];
    }
}

// --- Joints ------------------------------------------------------------------------------------------------------------------

// Of a wrench along an axis, which has six numbers; in a plane its sign.
CAL_WIDE_INLINE double along(int wide, int kind, const double* S, const double* wrench) {
    if (wide == CAL_LOOP_PLANE) return *S * *wrench;
    const double turn = dot3(S, wrench);
    return kind == CAL_REVOLUTE ? turn : turn + dot3(S + 3, wrench + 4);
}

// V = I S of a joint, a wrench per degree of freedom.
CAL_WIDE_INLINE void respond(int wide, const inertia* I, int kind, int degrees, const double* S, double* V) {
    if (wide == CAL_LOOP_PLANE) {
        cal_store_four((cal_four){*S * I->plane[PLANE_J], *S * I->plane[PLANE_GA], *S * I->plane[PLANE_GB], 0.0}, V);
        return;
    }
    if (kind == CAL_PRISMATIC) {
        for (int i = 0; i < CAL_LOOP_SPACE; i++) V[i] = 0.0;
        add_displacement(I, S + 3, V);
        return;
    }
    for (int d = 0; d < degrees; d++) {
        find_turn(I, S + 6 * d, V + CAL_LOOP_SPACE * d);
        if (kind == CAL_FREE) add_displacement(I, S + 6 * d + 3, V + CAL_LOOP_SPACE * d);
    }
}

// The joint moves: a += S rate, one degree of freedom.
CAL_WIDE_INLINE void add_axis(int wide, int kind, const double* S, double rate, spatial* a) {
    if (wide == CAL_LOOP_PLANE) {
        a->turn += (cal_four){*S * rate, 0.0, 0.0, 0.0};
        return;
    }
    a->turn += cal_load_four(S) * rate;
    if (kind != CAL_REVOLUTE) a->force += cal_load_three(S + 3) * rate;
}

// --- Loads -------------------------------------------------------------------------------------------------------------------

// What rigid bodies' motions ask for about their origins: f⁰ = m a + α × h + ω × (ω × h), n⁰ = h × a + J α + ω × J ω.
CAL_WIDE_INLINE void load_spatial_node(const cal_node* node, const double* own, cal_four gravity, const double* speed,
                                       const double* faster, double* p) {
    const cal_four J[3] = {cal_load_four(own), cal_load_four(own + 4), cal_load_four(own + 8)};
    const cal_four h = cal_load_four(own + 12), w = cal_load_four(speed), al = cal_load_four(faster),
                   beside = cal_load_four(faster + 2), a = CAL_SHUFFLE(beside, beside, 1, 2, 3, 0) - gravity;
    const cal_four turn = combine(J, speed[0], speed[1], speed[2]), spin = combine(J, faster[0], faster[1], faster[2]);
    cal_store_four(cal_cross_four(h, a) + spin + cal_cross_four(w, turn), p);
    cal_store_four(a * node->mass + cal_cross_four(al, h) + cal_cross_four(w, cal_cross_four(w, h)), p + 4);
}
// speed: ω along n; turn, a, b: the acceleration, less gravity.
CAL_WIDE_INLINE void load_plane_node(const cal_node* node, const double* own, double speed, double turn, double a,
                                     double b, double* p) {
    const double J = node->second_moment[0] + node->second_moment[1], ha = own[MOMENT], hb = own[MOMENT + 1];
    p[0] = (ha * b - hb * a) + J * turn;
    p[1] = a * node->mass - turn * hb - speed * (speed * ha);
    p[2] = b * node->mass + turn * ha - speed * (speed * hb);
    p[3] = 0.0;
}
