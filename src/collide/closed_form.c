// Distances with a closed form: points and segments (spheres and capsules) among each other, a point and a box or a
// cylinder, anything and a half space.
//
// A vanishing normal in the result says that any will do (two points that coincide); the caller picks one.
#include "collide/convex.h"

static const double meeting = 1e-14; // distance over length of segments that meet: its direction is rounding

// Fills in the result from a's and b's points where they are apart, or leaves the normal zero.
static void set_from_points(const double point_a[3], const double point_b[3], cal_core_separation* out) {
    memcpy(out->point_a, point_a, sizeof out->point_a);
    memcpy(out->point_b, point_b, sizeof out->point_b);
    cal_subtract3(point_a, point_b, out->normal);
    out->distance = sqrt(cal_dot3(out->normal, out->normal));
    if (out->distance > 0.0)
        for (int i = 0; i < 3; i++) out->normal[i] /= out->distance;
}

static void swap_bodies(cal_core_separation* s) {
    for (int i = 0; i < 3; i++) {
        const double point = s->point_a[i];
        s->point_a[i] = s->point_b[i], s->point_b[i] = point;
        s->normal[i] = -s->normal[i];
    }
}

// The point of a segment (centre c, half vector h) nearest to p, as c + t h.
static double segment_parameter(const double c[3], const double h[3], const double p[3]) {
    double d[3];
    cal_subtract3(p, c, d);
    const double length = cal_dot3(h, h), t = length > 0.0 ? cal_dot3(d, h) / length : 0.0;
    return t < -1.0 ? -1.0 : t > 1.0 ? 1.0 : t;
}

static void along(const double c[3], const double h[3], double t, double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = c[i] + t * h[i];
}

// The least of the four distances from an end to the other segment, and of the one between two inner points, where the
// common perpendicular meets both. Points have h = 0.
static void segment_segment(const double c[3], const double h[3], const double d[3], const double k[3],
                            cal_core_separation* out) {
    double p[3], q[3];
    cal_core_separation trial;
    out->distance = INFINITY;
    for (int side = -1; side <= 1; side += 2) {
        along(d, k, side, q);
        along(c, h, segment_parameter(c, h, q), p);
        set_from_points(p, q, &trial);
        if (trial.distance < out->distance) *out = trial;
        along(c, h, side, p);
        along(d, k, segment_parameter(d, k, p), q);
        set_from_points(p, q, &trial);
        if (trial.distance < out->distance) *out = trial;
    }
    double n[3], r[3];
    cal_cross3(h, k, n);
    const double area = cal_dot3(n, n);
    if (!(area > 0.0)) return;
    cal_subtract3(d, c, r);
    double rk[3], rh[3];
    cal_cross3(r, k, rk);
    cal_cross3(r, h, rh);
    const double s = cal_dot3(rk, n) / area, t = cal_dot3(rh, n) / area;
    if (!(fabs(s) <= 1.0 && fabs(t) <= 1.0)) return;
    const double gap = cal_dot3(n, r) / sqrt(area), distance = fabs(gap);
    if (!(distance < out->distance)) return;
    out->distance = distance;
    cal_normalize3(n);
    for (int i = 0; i < 3; i++) out->normal[i] = gap > 0.0 ? -n[i] : n[i];
    along(c, h, s, out->point_a);
    along(d, k, t, out->point_b);
    for (int i = 0; i < 3; i++) {
        const double middle = 0.5 * (out->point_a[i] + out->point_b[i]);
        out->point_a[i] = middle + 0.5 * distance * out->normal[i];
        out->point_b[i] = middle - 0.5 * distance * out->normal[i];
    }
}

// A point p against a box or cylinder in its own frame; the normal points to p.
static void point_box(const double p[3], const double size[3], cal_core_separation* out) {
    double q[3];
    bool inside = true;
    for (int i = 0; i < 3; i++) {
        q[i] = p[i] < -size[i] ? -size[i] : p[i] > size[i] ? size[i] : p[i];
        inside = inside && fabs(p[i]) <= size[i];
    }
    if (!inside) {
        set_from_points(p, q, out);
        return;
    }
    int axis = 0;
    for (int i = 1; i < 3; i++)
        if (fabs(p[i]) - size[i] > fabs(p[axis]) - size[axis]) axis = i;
    *out = (cal_core_separation){.distance = fabs(p[axis]) - size[axis]};
    out->normal[axis] = p[axis] < 0.0 ? -1.0 : 1.0;
    q[axis] = copysign(size[axis], out->normal[axis]);
    memcpy(out->point_a, p, 3 * sizeof *p);
    memcpy(out->point_b, q, sizeof q);
}

static void point_cylinder(const double p[3], const double size[3], cal_core_separation* out) {
    const double rho = sqrt(p[0] * p[0] + p[1] * p[1]), round = rho - size[0], flat = fabs(p[2]) - size[1];
    const double u[2] = {rho > 0.0 ? p[0] / rho : 1.0, rho > 0.0 ? p[1] / rho : 0.0};
    const double up = p[2] < 0.0 ? -1.0 : 1.0;
    memcpy(out->point_a, p, 3 * sizeof *p);
    if (round > 0.0 && flat > 0.0) {
        const double rim[3] = {size[0] * u[0], size[0] * u[1], up * size[1]};
        set_from_points(p, rim, out);
    } else if (round > flat) {
        out->distance = round;
        out->normal[0] = u[0], out->normal[1] = u[1], out->normal[2] = 0.0;
        out->point_b[0] = size[0] * u[0], out->point_b[1] = size[0] * u[1], out->point_b[2] = p[2];
    } else {
        out->distance = flat;
        out->normal[0] = 0.0, out->normal[1] = 0.0, out->normal[2] = up;
        out->point_b[0] = p[0], out->point_b[1] = p[1], out->point_b[2] = up * size[1];
    }
}

// a: any bounded core; b: a half space.
static void any_half_space(const cal_view* a, const cal_view* b, cal_core_separation* out) {
    static const double up[3] = {0.0, 0.0, 1.0};
    double n[3], opposite[3], offset[3];
    cal_view_direction(b, up, n);
    for (int i = 0; i < 3; i++) opposite[i] = -n[i];
    cal_support(a, opposite, out->point_a);
    static const double zero[3] = {0.0, 0.0, 0.0};
    double origin[3];
    cal_view_point(b, zero, origin);
    cal_subtract3(out->point_a, origin, offset);
    out->distance = cal_dot3(n, offset);
    for (int i = 0; i < 3; i++) {
        out->normal[i] = n[i];
        out->point_b[i] = out->point_a[i] - out->distance * n[i];
    }
}

static void segment_of(const cal_view* view, double c[3], double h[3]) {
    static const double zero[3] = {0.0, 0.0, 0.0};
    const double half[3] = {0.0, 0.0, view->piece->core == CAL_CORE_SEGMENT ? view->piece->size[0] : 0.0};
    cal_view_point(view, zero, c);
    cal_view_direction(view, half, h);
}

// A point against a box or a cylinder.
static void point_solid(const cal_view* point, const cal_view* solid, cal_core_separation* out) {
    static const double zero[3] = {0.0, 0.0, 0.0};
    double p[3], q[3], d[3], origin[3];
    cal_view_point(point, zero, p);
    cal_view_point(solid, zero, origin);
    cal_subtract3(p, origin, d);
    cal_view_to_local(solid, d, q);
    if (solid->piece->core == CAL_CORE_BOX)
        point_box(q, solid->piece->size, out);
    else
        point_cylinder(q, solid->piece->size, out);
    double normal[3], b[3];
    cal_view_direction(solid, out->normal, normal);
    cal_view_point(solid, out->point_b, b);
    memcpy(out->normal, normal, sizeof normal);
    memcpy(out->point_a, p, sizeof p);
    memcpy(out->point_b, b, sizeof b);
}

// Along which of the 15 directions that can part two boxes (normals of faces, products of edges) they are furthest apart, or overlap least:
// F(n) = |n·t| − Σ a_i |n_i| − Σ b_i |n·e_i|, with t from one centre to the other and e the axes of b. The first one is in its own frame.
static double part_boxes(const cal_view* a, const cal_view* b, double normal[3]) {
    const double *R = b->rotation, *t = b->position, *size_a = a->piece->size, *size_b = b->piece->size;
    double best = -INFINITY;
    for (int k = 0; k < 15; k++) {
        const int i = k < 6 ? k % 3 : (k - 6) / 3, j = k < 6 ? k % 3 : (k - 6) % 3;
        double n[3] = {k == 0, k == 1, k == 2};
        if (k >= 3)
            for (int d = 0; d < 3; d++) n[d] = R[3 * d + j];
        if (k >= 6) {
            const double edge[3] = {i == 0, i == 1, i == 2}, other[3] = {n[0], n[1], n[2]};
            cal_cross3(edge, other, n);
            if (!(cal_dot3(n, n) > 1e-24)) continue;
            cal_normalize3(n);
        }
        const double along = cal_dot3(n, t);
        double gap = fabs(along);
        for (int d = 0; d < 3; d++)
            gap -= size_a[d] * fabs(n[d]) + size_b[d] * fabs(n[0] * R[d] + n[1] * R[3 + d] + n[2] * R[6 + d]);
        if (!(gap > best)) continue;
        best = gap;
        for (int d = 0; d < 3; d++) normal[d] = along > 0.0 ? -n[d] : n[d];
    }
    return best;
}

bool cal_boxes_overlap(const cal_view* a, const cal_view* b, cal_core_separation* out) {
    if (a->piece->core != CAL_CORE_BOX || b->piece->core != CAL_CORE_BOX || !a->at_home || b->at_home) return false;
    out->distance = part_boxes(a, b, out->normal);
    return out->distance <= 0.0;
}

static bool is_thin(const cal_view* view) { return view->piece->core <= CAL_CORE_SEGMENT; }
static bool is_solid(const cal_view* view) {
    return view->piece->core == CAL_CORE_BOX || view->piece->core == CAL_CORE_CYLINDER;
}

bool cal_closed_form(const cal_view* a, const cal_view* b, cal_core_separation* out) {
    *out = (cal_core_separation){0};
    if (b->piece->core == CAL_CORE_HALF_SPACE)
        any_half_space(a, b, out);
    else if (a->piece->core == CAL_CORE_HALF_SPACE) {
        any_half_space(b, a, out);
        swap_bodies(out);
    } else if (is_thin(a) && is_thin(b)) {
        double c[3], h[3], d[3], k[3];
        segment_of(a, c, h);
        segment_of(b, d, k);
        if (a->piece->core == CAL_CORE_POINT && b->piece->core == CAL_CORE_POINT)
            set_from_points(c, d, out);
        else
            segment_segment(c, h, d, k, out);
        const double length = sqrt(cal_dot3(h, h)) + sqrt(cal_dot3(k, k));
        if (length > 0.0 && out->distance <= meeting * length) { // pushed apart across both
            cal_cross3(h, k, out->normal);
            if (!(cal_dot3(out->normal, out->normal) > 1e-24 * cal_dot3(h, h) * cal_dot3(k, k))) {
                double axis[3], R[9];
                for (int i = 0; i < 3; i++) axis[i] = cal_dot3(h, h) > 0.0 ? h[i] : k[i];
                cal_normalize3(axis);
                cal_rotation_to_axis(axis, R);
                for (int i = 0; i < 3; i++) out->normal[i] = R[3 * i];
            }
            cal_normalize3(out->normal);
        }
    } else if (a->piece->core == CAL_CORE_POINT && is_solid(b))
        point_solid(a, b, out);
    else if (b->piece->core == CAL_CORE_POINT && is_solid(a)) {
        point_solid(b, a, out);
        swap_bodies(out);
    } else
        return false;
    return true;
}
