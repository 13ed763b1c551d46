// The final solve: n on the features that touch, to rounding.
//
// GJK and EPA end with an n that is good to a part in 10⁸ or so, and with points of C that tell which features touch. There,
// F is smooth but for kinks: along an edge direction e of a polytope that lies flat on the other body, F falls off on both
// sides of n·e = 0. So n is the maximum of a smooth function on the unit sphere under none, one or two conditions n·e = 0:
//
//     two     n = e₁ × e₂ (also: a face is two of its edges)
//     one     Newton on the circle perpendicular to e, with t = e × n:     δ = t·w / (t·H t + F)
//     none    Newton on the sphere, in the tangent plane:                  (H + F) δ = w − F n
//
// then n ← (n + δ) / |n + δ|, or shorter by what F's bounds at both ends say. H is the sum of the two supports' derivatives: 0 at corners, where one step is exact. Since any
// n gives a lower bound, all combinations may be tried and the largest F wins; nothing rests on the guess of features.
#include "collide/convex.h"

enum { MOST_TOUCHED = 6, MOST_EDGES = 2 * MOST_TOUCHED, MOST_ROUNDS = 6, NEWTON_STEPS = 16 };
static const double enough = 2e-16;    // of the pair's size
static const double near_side = 0.05;  // |n · axis| of a cylinder that may lie on its side
static const double near_cap = 0.05;   // |n × axis| of a cylinder that may stand on its cap
static const double near_face = 0.999; // n · normal of a face that may lie on a curved body

// Adds the derivative of the support point along d (unit, working frame) to H.
static void add_curvature(const cal_view* view, const double d[3], double H[9]) {
    const cal_convex* piece = view->piece;
    double u[3], local[9] = {0};
    cal_view_to_local(view, d, u);
    if (piece->core == CAL_CORE_CYLINDER) {
        const double rho = sqrt(u[0] * u[0] + u[1] * u[1]);
        if (!(rho > 0.0)) return;
        const double scale = piece->size[0] / (rho * rho * rho);
        local[0] = scale * u[1] * u[1], local[4] = scale * u[0] * u[0];
        local[1] = local[3] = -scale * u[0] * u[1];
    } else if (piece->core == CAL_CORE_ELLIPSOID) {
        double scaled[3], s[3];
        for (int i = 0; i < 3; i++) scaled[i] = piece->size[i] * u[i];
        const double length = sqrt(cal_dot3(scaled, scaled));
        for (int i = 0; i < 3; i++) s[i] = piece->size[i] * scaled[i] / length;
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++)
                local[3 * i + k] = ((i == k ? piece->size[i] * piece->size[i] : 0.0) - s[i] * s[k]) / length;
    } else
        return;
    if (view->at_home) {
        for (int i = 0; i < 9; i++) H[i] += local[i];
        return;
    }
    double turned[9];
    cal_multiply33(view->rotation, local, turned);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) H[3 * i + k] += cal_dot3(turned + 3 * i, view->rotation + 3 * k);
}

// Vertices of a polytope that touch, or were met on the way.
typedef struct touched {
    int count, index[MOST_TOUCHED];
} touched;

static void touch(touched* t, int index) {
    for (int i = 0; i < t->count; i++)
        if (t->index[i] == index) return;
    if (t->count < MOST_TOUCHED) t->index[t->count++] = index;
}

typedef struct search {
    const cal_view *a, *b;
    double noise; // of F
    double apart; // the distance where it is known already, else 0
    double best, n[3];
    bool solved; // n solves the conditions, and does not just have the largest F, which is flat there
    cal_difference support;
    touched touched_a, touched_b;
} search;

static double attempt(search* s, const double n[3], bool solved, cal_difference* support) {
    const double gap = cal_gap_along(s->a, s->b, n, support);
    const double least = s->solved == solved ? s->best : s->solved ? s->best + s->noise : s->best - s->noise;
    if (gap > least) {
        s->best = gap;
        s->solved = solved;
        memcpy(s->n, n, sizeof s->n);
        s->support = *support;
    }
    return gap;
}

// Whether a direction that solves its conditions has come to where nothing is larger: a point of C that is as near, one that GJK has found or the
// support itself, is what F never goes beyond.
static bool has_met(const search* s) {
    const double* w = s->support.w;
    if (!s->solved || !(s->apart > 0.0)) return false;
    return fmin(s->apart, sqrt(cal_dot3(w, w))) - s->best <= s->noise;
}

static double quadratic(const double H[9], const double x[3], const double y[3]) {
    double Hy[3];
    cal_rotate3(H, y, Hy);
    return cal_dot3(x, Hy);
}

// Newton's step from n, where the support is known; false: F has no maximum there.
static bool newton_step(const search* s, const double n[3], const double* e, double F, const double w[3],
                        double delta[3]) {
    // Next to contact F may be below zero still while the distance is not.
    const double distance = F < 0.0 && s->apart > 0.0 ? s->apart : F;
    const double opposite[3] = {-n[0], -n[1], -n[2]};
    double H[9] = {0};
    add_curvature(s->a, opposite, H);
    add_curvature(s->b, n, H);
    if (e != NULL) {
        double t[3];
        cal_cross3(e, n, t);
        if (!cal_normalize3(t)) return false;
        const double h = quadratic(H, t, t) + distance;
        for (int i = 0; i < 3; i++) delta[i] = cal_dot3(t, w) / h * t[i];
        return h > 0.0;
    }
    double R[9], x[3], y[3];
    cal_rotation_to_axis(n, R);
    for (int i = 0; i < 3; i++) x[i] = R[3 * i], y[i] = R[3 * i + 1];
    const double xx = quadratic(H, x, x) + distance, yy = quadratic(H, y, y) + distance, xy = quadratic(H, x, y);
    const double gx = cal_dot3(x, w), gy = cal_dot3(y, w), D = xx * yy - xy * xy;
    const double p = (yy * gx - xy * gy) / D, q = (xx * gy - xy * gx) / D;
    for (int i = 0; i < 3; i++) delta[i] = p * x[i] + q * y[i];
    return xx > 0.0 && D > 0.0;
}

// A step from a direction that went too far, as a share of delta: to where the largest F is by the points of C that were found at both its ends, since F(x)
// is no more than x · w for any point w of C; or a quarter, where that is less. 0: nothing on the way is larger than the best by more than rounding; F(n) is
// F(x) over the length of x, which goes from 1 to that at the end.
static double shorter_step(const search* s, const double from[3], const double delta[3], const double w[3],
                           const double to_w[3]) {
    const double F = cal_dot3(from, w), rate = cal_dot3(delta, w), to_F = cal_dot3(from, to_w),
                 to_rate = cal_dot3(delta, to_w), meet = (to_F - F) / (rate - to_rate);
    if (!(rate > to_rate)) return 0.25;
    const double most = F + fmin(fmax(meet, 0.0), 1.0) * rate;
    const double longest = most < 0.0 ? sqrt(1.0 + cal_dot3(delta, delta)) : 1.0;
    if (most <= (s->best + s->noise) * longest) return 0.0;
    return meet > 0.0 ? fmin(meet, 0.25) : 0.25;
}

// Newton from n, with shorter steps where F falls; e: a direction to which n stays perpendicular, NULL: none.
static void climb(search* s, const double start[3], const double* e) {
    double n[3], from[3], delta[3] = {0.0, 0.0, 0.0}, last = -INFINITY;
    memcpy(n, start, sizeof n);
    if (e != NULL) {
        const double along = cal_dot3(n, e) / cal_dot3(e, e);
        for (int i = 0; i < 3; i++) n[i] -= along * e[i];
        if (!cal_normalize3(n)) return;
    }
    memcpy(from, n, sizeof from);
    cal_difference last_support = {0};
    for (int step = 0; step < NEWTON_STEPS; step++) {
        cal_difference support;
        const double F = attempt(s, n, false, &support);
        touch(&s->touched_a, support.index_a);
        touch(&s->touched_b, support.index_b);
        if (F < last - s->noise) {
            const double share = shorter_step(s, from, delta, last_support.w, support.w);
            if (share == 0.0) return;
            for (int i = 0; i < 3; i++) delta[i] *= share;
        } else {
            last = F;
            last_support = support;
            memcpy(from, n, sizeof from);
            if (!newton_step(s, n, e, F, support.w, delta)) return;
        }
        for (int i = 0; i < 3; i++) n[i] = from[i] + delta[i];
        cal_normalize3(n);
        if (cal_dot3(delta, delta) < 1e-28) {
            attempt(s, n, true, &support);
            return;
        }
    }
}

// Differences of the vertices that touch: edges, or sides of a face.
static int polytope_edges(const cal_view* view, const touched* vertices, double (*out)[3]) {
    double first[3], other[3], local[3];
    cal_vertex(view->piece, vertices->index[0], first);
    for (int k = 1; k < vertices->count; k++) {
        cal_vertex(view->piece, vertices->index[k], other);
        cal_subtract3(other, first, local);
        cal_view_direction(view, local, out[k - 1]);
    }
    return vertices->count - 1;
}

// The face whose normal is nearest to n, if it is near: a curved body may lie on it with few of its corners named.
static void find_face(const cal_view* view, bool first_of_pair, const double n[3], double (*normals)[3],
                      int* normal_count) {
    const cal_topology* t = view->piece->topology;
    if (t == NULL) return;
    double local[3], sign = first_of_pair ? -1.0 : 1.0, most = near_face;
    int best = -1;
    cal_view_to_local(view, n, local);
    for (int f = 0; f < t->face_count; f++) {
        const double along = sign * cal_dot3(local, view->piece->normals + 3 * (size_t)f);
        if (along > most) most = along, best = f;
    }
    if (best < 0) return;
    double* out = normals[(*normal_count)++];
    cal_view_direction(view, view->piece->normals + 3 * (size_t)best, out);
    for (int i = 0; i < 3; i++) out[i] *= sign;
}

static int find_edges(const cal_view* view, const touched* vertices, bool first_of_pair, bool curved, const double n[3],
                      double (*edges)[3], double (*normals)[3], int* normal_count) {
    if (cal_is_polytope(view->piece)) {
        if (curved) find_face(view, first_of_pair, n, normals, normal_count);
        return polytope_edges(view, vertices, edges);
    }
    if (view->piece->core != CAL_CORE_CYLINDER) return 0;
    static const double local[3] = {0.0, 0.0, 1.0};
    double axis[3], across[3];
    cal_view_direction(view, local, axis);
    cal_cross3(axis, n, across);
    if (cal_dot3(across, across) < near_cap * near_cap) {
        const double sign = cal_dot3(axis, n) >= 0.0 ? 1.0 : -1.0;
        for (int i = 0; i < 3; i++) normals[*normal_count][i] = sign * axis[i];
        ++*normal_count;
    }
    if (fabs(cal_dot3(axis, n)) >= near_side) return 0;
    memcpy(edges[0], axis, sizeof axis);
    return 1;
}

// A corner and a cylinder's rim: next to contact the direction between them hangs on the last digits of both points, which
// Newton would have to find through n. In closed form there is nothing to find.
static void try_corners(search* s, const cal_view* cylinder, const cal_view* polytope, const touched* vertices,
                        bool cylinder_first) {
    if (cylinder->piece->core != CAL_CORE_CYLINDER || !cal_is_polytope(polytope->piece)) return;
    const double *size = cylinder->piece->size, zero[3] = {0.0, 0.0, 0.0};
    double origin[3], local[3], p[3], d[3], u[3], n[3];
    cal_view_point(cylinder, zero, origin);
    for (int k = 0; k < vertices->count; k++) {
        cal_vertex(polytope->piece, vertices->index[k], local);
        cal_view_point(polytope, local, p);
        cal_subtract3(p, origin, d);
        cal_view_to_local(cylinder, d, u);
        const double rho = sqrt(u[0] * u[0] + u[1] * u[1]);
        if (!(rho > size[0] && fabs(u[2]) > size[1])) continue;
        const double sign = cylinder_first ? -1.0 : 1.0;
        const double away[3] = {sign * u[0] * (1.0 - size[0] / rho), sign * u[1] * (1.0 - size[0] / rho),
                                sign * (u[2] - copysign(size[1], u[2]))};
        cal_view_direction(cylinder, away, n);
        cal_difference ignored;
        if (cal_normalize3(n)) attempt(s, n, true, &ignored);
    }
}

// One look at all combinations of what touches.
static void look(search* s, const double n[3], bool curved, bool apart) {
    double edges[MOST_EDGES][3], normals[2][3];
    int normal_count = 0;
    int edge_count = find_edges(s->a, &s->touched_a, true, curved, n, edges, normals, &normal_count);
    edge_count += find_edges(s->b, &s->touched_b, false, curved, n, edges + edge_count, normals, &normal_count);
    cal_difference ignored;
    for (int k = 0; k < normal_count; k++) attempt(s, normals[k], true, &ignored);
    for (int i = 0; i < edge_count; i++)
        for (int k = i + 1; k < edge_count; k++) {
            double c[3];
            cal_cross3(edges[i], edges[k], c);
            if (!(cal_dot3(c, c) > 1e-24 * cal_dot3(edges[i], edges[i]) * cal_dot3(edges[k], edges[k]))) continue;
            if (cal_dot3(c, n) < 0.0)
                for (int m = 0; m < 3; m++) c[m] = -c[m];
            cal_normalize3(c);
            attempt(s, c, true, &ignored);
        }
    if (!curved && !apart) return;
    try_corners(s, s->a, s->b, &s->touched_b, true);
    try_corners(s, s->b, s->a, &s->touched_a, false);
    // What GJK has found to touch first: mostly that is where it ends.
    for (int k = 0; k < edge_count && !has_met(s); k++) climb(s, n, edges[k]);
    if (!has_met(s)) climb(s, n, NULL);
}

double cal_refine(const cal_view* a, const cal_view* b, const cal_simplex* features, double scale, double n[3],
                  cal_difference* support) {
    search s = {.a = a, .b = b, .noise = 4.0 * enough * scale, .best = -INFINITY};
    const bool curved = !cal_is_polytope(a->piece) || !cal_is_polytope(b->piece);
    cal_difference ignored;
    attempt(&s, n, false, &ignored);
    const double apart = sqrt(cal_dot3(features->nearest, features->nearest));
    s.apart = apart;
    // Where the bounds have met, there is nothing to gain.
    const bool met = !curved && s.best > 0.0 && apart - s.best <= enough * (scale + apart);
    for (int k = 0; k < features->count; k++) {
        touch(&s.touched_a, features->points[k].index_a);
        touch(&s.touched_b, features->points[k].index_b);
    }
    for (int round = 0; round < MOST_ROUNDS && !met; round++) {
        const int count = s.touched_a.count + s.touched_b.count;
        const double before = s.best;
        double start[3];
        memcpy(start, s.n, sizeof start);
        look(&s, start, curved, apart > 0.0);
        // Newton may have crossed an edge that the features did not name, or have been slow.
        const bool same = s.touched_a.count + s.touched_b.count == count;
        if (!curved || has_met(&s) || (same && (round > 0 || apart == 0.0) && s.best - before <= s.noise)) break;
    }
    memcpy(n, s.n, sizeof s.n);
    *support = s.support;
    return s.best;
}
