// EPA, the expanding polytope algorithm (van den Bergen 2001): with the origin inside C = A − B, the face of C nearest to it.
//
// A tetrahedron in C grows: its face nearest to the origin is pushed out to the support point along its normal, until there
// is none further out. The faces that the new point sees go, the rim of the hole is joined to the new point.
//
//             w               A tetrahedron may touch the origin with a corner, edge or face (bodies that just touch): faces
//         ____╱╲____          are turned outwards by the tetrahedron itself, not by the origin, so that this is no
//        ╱ ╲ hole╱  ╲         special case. Faces are ranked by the distance of the triangle, not of its plane, so
//       ╱   ╲  ╱     ╲        that a sliver with a poor normal does no harm.
//       ╲    ○       ╱
//
// Where rounding breaks the surface, or it grows too large, the best face so far is given back, and the caller has other means.
#include "base/memory.h"
#include "collide/convex.h"
#include <float.h>

enum { MOST_POINTS = 192, MOST_FACES = 2 * MOST_POINTS, MOST_RIM = 128 };
static const double rounding = 4e-15;      // of what is measured, relative to the pair's size
static const double curved_gap = 1e-10;    // where curved surfaces are left to the final solve
static const double thin_triangle = 1e-12; // least height over length of a triangle with a normal

typedef struct face {
    int16_t corner[3], neighbor[3]; // neighbor beyond the edge from corner k to k + 1
    double normal[3];               // outwards
    double plane;                   // normal · corner
    double rank;                    // distance of the triangle from the origin
    bool alive, seen;
} face;

typedef struct surface {
    const cal_view *a, *b;
    double scale;
    cal_difference points[MOST_POINTS];
    face faces[MOST_FACES];
    int point_count, face_count;
    struct {
        int16_t from, to, beyond;
    } rim[MOST_RIM];
    int rim_count;
} surface;

// The support point of C along u.
static void support(surface* s, const double u[3], cal_difference* out) {
    const double n[3] = {-u[0], -u[1], -u[2]};
    cal_gap_along(s->a, s->b, n, out);
}

static double segment_distance(const double p[3], const double q[3]) {
    double e[3], v[3];
    cal_subtract3(q, p, e);
    const double length = cal_dot3(e, e);
    double t = length > 0.0 ? -cal_dot3(p, e) / length : 0.0;
    t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
    for (int i = 0; i < 3; i++) v[i] = p[i] + t * e[i];
    return sqrt(cal_dot3(v, v));
}

// False: the triangle has no normal.
static bool shape_face(surface* s, face* f) {
    const double *p = s->points[f->corner[0]].w, *q = s->points[f->corner[1]].w, *r = s->points[f->corner[2]].w;
    double e[3], g[3], h[3];
    cal_subtract3(q, p, e);
    cal_subtract3(r, p, g);
    cal_subtract3(r, q, h);
    cal_cross3(e, g, f->normal);
    const double longest = fmax(cal_dot3(e, e), fmax(cal_dot3(g, g), cal_dot3(h, h)));
    if (!(cal_dot3(f->normal, f->normal) > thin_triangle * thin_triangle * longest * longest)) return false;
    cal_normalize3(f->normal);
    f->plane = (cal_dot3(f->normal, p) + cal_dot3(f->normal, q) + cal_dot3(f->normal, r)) / 3.0;
    bool inside = true;
    for (int k = 0; k < 3; k++) {
        double c[3];
        cal_cross3(s->points[f->corner[k]].w, s->points[f->corner[(k + 1) % 3]].w, c);
        inside = inside && cal_dot3(f->normal, c) >= 0.0;
    }
    f->rank =
        inside ? fabs(f->plane) : fmin(segment_distance(p, q), fmin(segment_distance(q, r), segment_distance(r, p)));
    return true;
}

static int find_free(const surface* s) {
    for (int i = 0; i < s->face_count; i++)
        if (!s->faces[i].alive) return i;
    return s->face_count < MOST_FACES ? s->face_count : -1;
}

// The faces that a point sees, depth first and in turn, so that the rim comes in order round the hole.
static bool find_rim(surface* s, int number, int entered, const double w[3], double tolerance) {
    face* f = &s->faces[number];
    f->seen = true;
    for (int i = 0; i < 3; i++) {
        const int k = (entered + i) % 3, beyond = f->neighbor[k];
        face* other = &s->faces[beyond];
        if (other->seen) continue;
        if (cal_dot3(other->normal, w) - other->plane > tolerance) {
            int across = 0;
            while (other->neighbor[across] != number) across++;
            if (!find_rim(s, beyond, across, w, tolerance)) return false;
        } else {
            if (s->rim_count == MOST_RIM) return false;
            s->rim[s->rim_count].from = f->corner[k];
            s->rim[s->rim_count].to = f->corner[(k + 1) % 3];
            s->rim[s->rim_count++].beyond = (int16_t)beyond;
        }
    }
    return true;
}

// False: the surface would break.
static bool expand(surface* s, int from, const cal_difference* point) {
    s->rim_count = 0;
    for (int i = 0; i < s->face_count; i++) s->faces[i].seen = false;
    if (s->point_count == MOST_POINTS || !find_rim(s, from, 0, point->w, rounding * s->scale)) return false;
    for (int i = 0; i < s->rim_count; i++)
        if (s->rim[i].to != s->rim[(i + 1) % s->rim_count].from) return false;
    const int corner = s->point_count;
    s->points[s->point_count++] = *point;
    int16_t made[MOST_RIM];
    face fresh[MOST_RIM];
    for (int i = 0; i < s->rim_count; i++) {
        fresh[i] = (face){.corner = {s->rim[i].from, s->rim[i].to, (int16_t)corner}, .alive = true};
        if (!shape_face(s, &fresh[i])) return false;
    }
    for (int i = 0; i < s->face_count; i++)
        if (s->faces[i].seen) s->faces[i].alive = false;
    for (int i = 0; i < s->rim_count; i++) {
        const int number = find_free(s);
        if (number < 0) return false;
        if (number == s->face_count) s->face_count++;
        s->faces[number] = fresh[i];
        made[i] = (int16_t)number;
        face* other = &s->faces[s->rim[i].beyond];
        for (int k = 0; k < 3; k++)
            if (other->corner[k] == s->rim[i].to) other->neighbor[k] = (int16_t)number;
    }
    for (int i = 0; i < s->rim_count; i++) {
        const int after = (i + 1) % s->rim_count, before = (i + s->rim_count - 1) % s->rim_count;
        face* f = &s->faces[made[i]];
        f->neighbor[0] = s->rim[i].beyond, f->neighbor[1] = made[after], f->neighbor[2] = made[before];
    }
    return true;
}

// How far a point is from the hull of the first `count` points (a point, a line, a plane; up to a factor that is the same for
// all), and directions in which to look for a better one.
static double spread(const surface* s, const double w[3]) {
    double d[3], e[3], f[3], normal[3];
    cal_subtract3(w, s->points[0].w, d);
    if (s->point_count == 1) return sqrt(cal_dot3(d, d));
    cal_subtract3(s->points[1].w, s->points[0].w, e);
    if (s->point_count == 2) {
        cal_cross3(e, d, normal);
        return sqrt(cal_dot3(normal, normal) / cal_dot3(e, e));
    }
    cal_subtract3(s->points[2].w, s->points[0].w, f);
    cal_cross3(e, f, normal);
    return fabs(cal_dot3(normal, d)) / sqrt(cal_dot3(normal, normal));
}

// Adds the support point that is furthest from what is there. False: there is none, C is flat.
static bool widen(surface* s) {
    double directions[8][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    int count = 6;
    if (s->point_count == 2) {
        double e[3], R[9];
        cal_subtract3(s->points[1].w, s->points[0].w, e);
        cal_normalize3(e);
        cal_rotation_to_axis(e, R);
        const double sixth[6][2] = {{1, 0},  {0.5, 0.8660254037844386},   {-0.5, 0.8660254037844386},
                                    {-1, 0}, {-0.5, -0.8660254037844386}, {0.5, -0.8660254037844386}};
        for (int k = 0; k < 6; k++)
            for (int i = 0; i < 3; i++) directions[k][i] = sixth[k][0] * R[3 * i] + sixth[k][1] * R[3 * i + 1];
    } else if (s->point_count == 3) {
        double e[3], f[3];
        cal_subtract3(s->points[1].w, s->points[0].w, e);
        cal_subtract3(s->points[2].w, s->points[0].w, f);
        cal_cross3(e, f, directions[0]);
        cal_normalize3(directions[0]);
        for (int i = 0; i < 3; i++) directions[1][i] = -directions[0][i];
        count = 2;
    }
    double best = rounding * s->scale;
    cal_difference point;
    bool found = false;
    for (int k = 0; k < count; k++) {
        support(s, directions[k], &point);
        const double far = spread(s, point.w);
        if (!(far > best)) continue;
        best = far, found = true;
        s->points[s->point_count] = point;
    }
    s->point_count += found;
    return found;
}

static bool make_start(surface* s, const cal_simplex* start) {
    for (int k = 0; k < start->count; k++) {
        // What is in line or in plane with the others already would make a tetrahedron without volume.
        if (k > 0 && !(spread(s, start->points[k].w) > 1e-9 * s->scale)) continue;
        s->points[s->point_count++] = start->points[k];
    }
    while (s->point_count < 4)
        if (!widen(s)) return false;
    static const int16_t corners[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}};
    static const int16_t neighbors[4][3] = {{1, 2, 3}, {3, 2, 0}, {1, 3, 0}, {2, 1, 0}};
    double e[3], f[3], g[3], normal[3];
    cal_subtract3(s->points[1].w, s->points[0].w, e);
    cal_subtract3(s->points[2].w, s->points[0].w, f);
    cal_subtract3(s->points[3].w, s->points[0].w, g);
    cal_cross3(e, f, normal);
    if (cal_dot3(normal, g) > 0.0) { // point 3 belongs below the plane of the other three
        const cal_difference swap = s->points[1];
        s->points[1] = s->points[2];
        s->points[2] = swap;
    }
    s->face_count = 4;
    for (int i = 0; i < 4; i++) {
        face* face_i = &s->faces[i];
        *face_i = (face){.alive = true};
        memcpy(face_i->corner, corners[i], sizeof corners[i]);
        memcpy(face_i->neighbor, neighbors[i], sizeof neighbors[i]);
        if (!shape_face(s, face_i)) return false;
    }
    return true;
}

bool cal_epa(const cal_view* a, const cal_view* b, const cal_simplex* start, double scale, cal_simplex* out,
             double normal[3]) {
    const bool curved = !cal_is_polytope(a->piece) || !cal_is_polytope(b->piece);
    surface s;
    s.a = a, s.b = b, s.scale = scale, s.point_count = 0, s.face_count = 0;
    *out = *start;
    memset(normal, 0, 3 * sizeof *normal);
    if (!make_start(&s, start)) return false;
    double best = -DBL_MAX; // F of the best face so far
    for (;;) {
        int nearest = -1;
        for (int i = 0; i < s.face_count; i++)
            if (s.faces[i].alive && (nearest < 0 || s.faces[i].rank < s.faces[nearest].rank)) nearest = i;
        if (nearest < 0) return false; // rounding let a point see all of them
        const face* f = &s.faces[nearest];
        cal_difference point;
        support(&s, f->normal, &point);
        const double most = cal_dot3(f->normal, point.w);
        if (-most > best) {
            best = -most;
            out->count = 3;
            for (int k = 0; k < 3; k++) out->points[k] = s.points[f->corner[k]];
            for (int i = 0; i < 3; i++) normal[i] = -f->normal[i];
        }
        if (most - f->plane <= (rounding + (curved ? curved_gap : 0.0)) * scale) return true;
        for (int k = 0; k < 3; k++)
            if (cal_same_bits(s.points[f->corner[k]].w, point.w, sizeof point.w)) return true;
        if (!expand(&s, nearest, &point)) return false;
    }
}

// --- Every direction that there is ----------------------------------------------------------------------------------------

static int edge_count(const cal_convex* piece) {
    return piece->core == CAL_CORE_SEGMENT ? 1
           : piece->core == CAL_CORE_BOX   ? 3
           : piece->topology               ? piece->topology->edge_count
                                           : 0;
}
static int face_count(const cal_convex* piece) { return piece->core == CAL_CORE_BOX ? 3 : piece->facet_count; }

static void edge_direction(const cal_view* view, int edge, double out[3]) {
    const cal_convex* piece = view->piece;
    double local[3] = {0.0, 0.0, 0.0};
    if (piece->core == CAL_CORE_SEGMENT)
        local[2] = 1.0;
    else if (piece->core == CAL_CORE_BOX)
        local[edge] = 1.0;
    else {
        const int32_t* ends = piece->topology->edges + 2 * (size_t)edge;
        double from[3], to[3];
        cal_vertex(piece, ends[0], from);
        cal_vertex(piece, ends[1], to);
        cal_subtract3(to, from, local);
    }
    cal_view_direction(view, local, out);
}

static void face_normal(const cal_view* view, int face_number, double out[3]) {
    const double box[3] = {face_number == 0, face_number == 1, face_number == 2};
    const double* local = view->piece->core == CAL_CORE_BOX ? box : view->piece->facets + 3 * (size_t)face_number;
    cal_view_direction(view, local, out);
}

int cal_exhaustive_cost(const cal_view* a, const cal_view* b) {
    const int64_t products = (int64_t)edge_count(a->piece) * edge_count(b->piece);
    const int64_t cost = products + face_count(a->piece) + face_count(b->piece);
    return cost < INT32_MAX ? (int)cost : INT32_MAX;
}

static void try_both_ways(const cal_view* a, const cal_view* b, const double n[3], double* best, double normal[3]) {
    for (int sign = -1; sign <= 1; sign += 2) {
        const double m[3] = {sign * n[0], sign * n[1], sign * n[2]};
        cal_difference ignored;
        const double gap = cal_gap_along(a, b, m, &ignored);
        if (gap > *best) {
            *best = gap;
            memcpy(normal, m, sizeof m);
        }
    }
}

double cal_exhaustive_normal(const cal_view* a, const cal_view* b, double normal[3]) {
    double best = -DBL_MAX, n[3];
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < face_count((k ? b : a)->piece); i++) {
            face_normal(k ? b : a, i, n);
            try_both_ways(a, b, n, &best, normal);
        }
    const int edges_a = edge_count(a->piece), edges_b = edge_count(b->piece);
    for (int i = 0; i < edges_a; i++) {
        double e[3];
        edge_direction(a, i, e);
        for (int k = 0; k < edges_b; k++) {
            double f[3];
            edge_direction(b, k, f);
            cal_cross3(e, f, n);
            if (!(cal_dot3(n, n) > 1e-24 * cal_dot3(e, e) * cal_dot3(f, f))) continue;
            cal_normalize3(n);
            try_both_ways(a, b, n, &best, normal);
        }
    }
    return best;
}
