// GJK (Gilbert, Johnson, Keerthi 1988): the point of C = A − B nearest to the origin, by a simplex that walks towards it.
//
//        w ──── w       Each step adds the support point towards the origin and keeps the part of the simplex that has the
//         ╲    ╱        nearest point v in its inside. The sub-algorithm tries every face of the simplex that has the new
//          ╲ v╱         point and takes the nearest of those whose foot point is inside: a few operations more than Johnson's
//           ╲╱          recursion or regions of Voronoi, but no case in which rounding picks a wrong region.
//           w   ○
//
// It ends when the bound F(v/|v|) has met |v|, when nothing gets nearer any more (polytopes: exactly there), when the
// origin is inside, or when the bound is beyond what is asked for.
#include "base/memory.h"
#include "collide/convex.h"

enum { MOST_STEPS = 128 };
static const double rounding = 1e-15;     // of what is measured, relative to the pair's size
static const double curved_gap = 1e-12;   // where a curved surface is left to the final solve, relative to |v|
static const double sure = 1e-13;         // of the pair's size: what a bound may be off by
static const double flat_simplex = 1e-14; // height over size of a simplex that has none

// The foot point of the origin on the hull of some points; false: it is not inside that hull, or the hull is flat.
static bool find_foot(const cal_difference* const p[4], int count, double weights[4], double v[3]) {
    if (count == 1) {
        weights[0] = 1.0;
        memcpy(v, p[0]->w, 3 * sizeof *v);
        return true;
    }
    double e[3], f[3], normal[3];
    cal_subtract3(p[1]->w, p[0]->w, e);
    if (count == 2) {
        const double t = -cal_dot3(p[0]->w, e) / cal_dot3(e, e);
        if (!(t > 0.0 && t < 1.0)) return false;
        weights[0] = 1.0 - t, weights[1] = t;
        // From the end that is nearer to the foot, where less is lost.
        const int from = t > 0.5;
        for (int i = 0; i < 3; i++) v[i] = p[from]->w[i] + (from ? t - 1.0 : t) * e[i];
        return true;
    }
    if (count == 3) {
        cal_subtract3(p[2]->w, p[0]->w, f);
        cal_cross3(e, f, normal);
        const double area = cal_dot3(normal, normal);
        if (!(area > flat_simplex * flat_simplex * cal_dot3(e, e) * cal_dot3(f, f))) return false;
        double sum = 0.0;
        for (int k = 0; k < 3; k++) {
            double c[3];
            cal_cross3(p[(k + 1) % 3]->w, p[(k + 2) % 3]->w, c);
            weights[k] = cal_dot3(normal, c);
            if (!(weights[k] > 0.0)) return false;
            sum += weights[k];
        }
        for (int k = 0; k < 3; k++) weights[k] /= sum;
        const double along = cal_dot3(normal, p[0]->w) / area;
        for (int i = 0; i < 3; i++) v[i] = along * normal[i];
        return true;
    }
    // The origin against each side of the tetrahedron, on the scale where the opposite corner is 1.
    for (int k = 0; k < 4; k++) {
        const double *q = p[(k + 1) % 4]->w, *corner = p[k]->w;
        double up[3];
        cal_subtract3(p[(k + 2) % 4]->w, q, e);
        cal_subtract3(p[(k + 3) % 4]->w, q, f);
        cal_subtract3(corner, q, up);
        cal_cross3(e, f, normal);
        const double height = cal_dot3(normal, up);
        if (!(height * height > flat_simplex * flat_simplex * cal_dot3(normal, normal) * cal_dot3(up, up)))
            return false;
        weights[k] = -cal_dot3(normal, q) / height;
        if (!(weights[k] >= 0.0)) return false;
    }
    v[0] = v[1] = v[2] = 0.0;
    return true;
}

// Keeps the part of the simplex that has the nearest point inside; the last point is the new one. False: no part is nearer
// than `below` (squared).
static bool reduce(cal_simplex* s, double below) {
    const int newest = s->count - 1;
    const cal_difference* part[4];
    int best_bits = -1;
    double best = below, best_weights[4] = {0}, best_v[3] = {0};
    for (int bits = 0; bits < 1 << newest; bits++) {
        int count = 0;
        for (int k = 0; k < newest; k++)
            if (bits >> k & 1) part[count++] = &s->points[k];
        part[count++] = &s->points[newest];
        double weights[4], v[3];
        if (!find_foot(part, count, weights, v)) continue;
        const double size = cal_dot3(v, v);
        if (!(size < best)) continue;
        best = size, best_bits = bits;
        memcpy(best_weights, weights, sizeof weights);
        memcpy(best_v, v, sizeof v);
    }
    if (best_bits < 0) return false;
    int count = 0;
    for (int k = 0; k <= newest; k++)
        if (k == newest || (best_bits >> k & 1)) {
            s->weights[count] = best_weights[count];
            s->points[count++] = s->points[k];
        }
    s->count = count;
    memcpy(s->nearest, best_v, sizeof best_v);
    return true;
}

static bool is_known(const cal_simplex* s, const cal_difference* point) {
    for (int k = 0; k < s->count; k++)
        if (cal_same_bits(s->points[k].w, point->w, sizeof point->w)) return true;
    return false;
}

cal_gjk_end cal_gjk(const cal_view* a, const cal_view* b, const double direction[3], double scale, double beyond,
                    cal_simplex* out) {
    const bool curved = !cal_is_polytope(a->piece) || !cal_is_polytope(b->piece);
    cal_simplex s = {.count = 1, .weights = {1.0}};
    cal_gap_along(a, b, direction, &s.points[0]);
    memcpy(s.nearest, s.points[0].w, sizeof s.nearest);
    cal_gjk_end end = CAL_GJK_APART;
    for (int step = 0; step < MOST_STEPS; step++) {
        const double square = cal_dot3(s.nearest, s.nearest), size = sqrt(square);
        if (s.count == 4 || size <= rounding * scale) {
            end = CAL_GJK_TOUCHING;
            break;
        }
        cal_difference point;
        const double bound = cal_gap_along(a, b, s.nearest, &point) / size;
        if (bound - sure * scale > beyond) {
            end = CAL_GJK_BEYOND;
            break;
        }
        if (size - bound <= rounding * (scale + size) + (curved ? curved_gap * size : 0.0)) break;
        if (is_known(&s, &point)) break;
        cal_simplex larger = s;
        larger.points[larger.count++] = point;
        if (!reduce(&larger, square)) break;
        s = larger;
    }
    *out = s;
    return end;
}
