// Rays: where a half line first enters a geometry.
//
// In the frame of each piece the ray is o + t d, t ≥ 0. Every core has a closed form:
//
//     point, segment, cylinder, ellipsoid    roots of quadratics
//     box, hull                              the ray clipped by the planes of the faces: the last entry before the first exit
//     half space                             one root
//
// A ray that begins inside a piece hits it at once, at t = 0, with a normal against the ray.
#include "collide/convex.h"

typedef struct ray {
    double origin[3], direction[3]; // in the piece's frame; the direction has unit length
} ray;

// The interval in which a ray is inside something convex, and the normal where it enters.
typedef struct crossing {
    double enter, leave;
    double normal[3];
} crossing;

static void along(const ray* r, double t, double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = r->origin[i] + t * r->direction[i];
}

// Clips by n·x ≤ height; false: nothing is left.
static bool clip(const ray* r, const double n[3], double height, crossing* c) {
    const double gap = cal_dot3(n, r->origin) - height, speed = cal_dot3(n, r->direction);
    if (speed == 0.0) return gap <= 0.0;
    const double t = -gap / speed;
    if (speed > 0.0) {
        if (t < c->leave) c->leave = t;
    } else if (t > c->enter) {
        c->enter = t;
        memcpy(c->normal, n, sizeof c->normal);
    }
    return c->enter <= c->leave;
}

// Where a t² + 2 b t + c ≤ 0 for a > 0; false: nowhere. The stable form of the smaller root.
static bool solve(double a, double b, double c, double* low, double* high) {
    const double square = b * b - a * c;
    if (!(square >= 0.0)) return false;
    const double q = b >= 0.0 ? -(b + sqrt(square)) : sqrt(square) - b;
    const double first = q / a, second = q != 0.0 ? c / q : first;
    *low = first < second ? first : second;
    *high = first < second ? second : first;
    return true;
}

static bool cross_ball(const ray* r, const double center[3], double radius, crossing* c) {
    double o[3];
    cal_subtract3(r->origin, center, o);
    if (!solve(1.0, cal_dot3(o, r->direction), cal_dot3(o, o) - radius * radius, &c->enter, &c->leave)) return false;
    double point[3];
    along(r, c->enter, point);
    cal_subtract3(point, center, c->normal);
    return cal_normalize3(c->normal);
}

static bool cross_ellipsoid(const ray* r, const double size[3], crossing* c) {
    double o[3], d[3];
    for (int i = 0; i < 3; i++) o[i] = r->origin[i] / size[i], d[i] = r->direction[i] / size[i];
    if (!solve(cal_dot3(d, d), cal_dot3(o, d), cal_dot3(o, o) - 1.0, &c->enter, &c->leave)) return false;
    along(r, c->enter, c->normal);
    for (int i = 0; i < 3; i++) c->normal[i] /= size[i] * size[i];
    return cal_normalize3(c->normal);
}

// A cylinder about z of a radius, without its ends.
static bool cross_side(const ray* r, double radius, crossing* c) {
    const double *o = r->origin, *d = r->direction;
    const double a = d[0] * d[0] + d[1] * d[1], rest = o[0] * o[0] + o[1] * o[1] - radius * radius;
    *c = (crossing){-(double)INFINITY, (double)INFINITY, {0.0, 0.0, 0.0}};
    if (a == 0.0) return rest <= 0.0;
    if (!solve(a, o[0] * d[0] + o[1] * d[1], rest, &c->enter, &c->leave)) return false;
    along(r, c->enter, c->normal);
    c->normal[2] = 0.0;
    return cal_normalize3(c->normal);
}

static bool cross_cylinder(const ray* r, double radius, double half, crossing* c) {
    static const double up[3] = {0.0, 0.0, 1.0}, down[3] = {0.0, 0.0, -1.0};
    return cross_side(r, radius, c) && clip(r, up, half, c) && clip(r, down, half, c);
}

// The union of a cylinder and two balls, which is convex: the first entry and the last exit.
static bool cross_capsule(const ray* r, double radius, double half, crossing* c) {
    crossing part;
    bool any = cross_cylinder(r, radius, half, c);
    for (int end = -1; end <= 1; end += 2) {
        const double center[3] = {0.0, 0.0, end * half};
        if (!cross_ball(r, center, radius, &part)) continue;
        if (!any || part.enter < c->enter) {
            const double leave = any ? fmax(c->leave, part.leave) : part.leave;
            *c = part;
            c->leave = leave;
        } else {
            c->leave = fmax(c->leave, part.leave);
        }
        any = true;
    }
    return any;
}

static bool cross_faces(const ray* r, const cal_convex* piece, crossing* c) {
    *c = (crossing){-(double)INFINITY, (double)INFINITY, {0.0, 0.0, 0.0}};
    if (piece->core == CAL_CORE_BOX) {
        for (int i = 0; i < 6; i++) {
            double n[3] = {0.0, 0.0, 0.0};
            n[i / 2] = i % 2 == 0 ? 1.0 : -1.0;
            if (!clip(r, n, piece->size[i / 2], c)) return false;
        }
        return true;
    }
    const cal_topology* t = piece->topology;
    for (int f = 0; f < t->face_count; f++) {
        const double* n = piece->normals + 3 * (size_t)f;
        const double* vertex = piece->vertices + 3 * (size_t)t->face_vertices[t->face_first[f]];
        if (!clip(r, n, cal_dot3(n, vertex), c)) return false;
    }
    return true;
}

static bool cross_piece(const ray* r, const cal_convex* piece, crossing* c) {
    static const double origin[3] = {0.0, 0.0, 0.0}, up[3] = {0.0, 0.0, 1.0};
    switch (piece->core) {
    case CAL_CORE_POINT: return cross_ball(r, origin, piece->radius, c);
    case CAL_CORE_SEGMENT: return cross_capsule(r, piece->radius, piece->size[0], c);
    case CAL_CORE_CYLINDER: return cross_cylinder(r, piece->size[0], piece->size[1], c);
    case CAL_CORE_ELLIPSOID: return cross_ellipsoid(r, piece->size, c);
    case CAL_CORE_HALF_SPACE:
        *c = (crossing){-(double)INFINITY, (double)INFINITY, {0.0, 0.0, 0.0}};
        return clip(r, up, 0.0, c);
    case CAL_CORE_BOX:
    case CAL_CORE_HULL: break;
    }
    return cross_faces(r, piece, c);
}

bool cal_geometry_cast(const cal_geometry* geometry, const cal_pose* pose, const double origin[3],
                       const double direction[3], double limit, cal_ray_hit* out) {
    out->distance = limit;
    out->piece = -1;
    for (int i = 0; i < geometry->piece_count; i++) {
        const cal_convex* piece = &geometry->pieces[i];
        cal_pose frame;
        cal_working_frame(piece, pose, &frame);
        ray r;
        double away[3];
        cal_subtract3(origin, frame.position, away);
        cal_unrotate3(frame.rotation, away, r.origin);
        cal_unrotate3(frame.rotation, direction, r.direction);
        crossing c;
        if (!cross_piece(&r, piece, &c) || c.leave < 0.0 || c.enter > out->distance) continue;
        if (out->piece >= 0 && c.enter == out->distance) continue; // the first piece of two
        out->piece = i;
        if (c.enter > 0.0) {
            out->distance = c.enter;
            cal_rotate3(frame.rotation, c.normal, out->normal);
        } else {
            out->distance = 0.0;
            for (int k = 0; k < 3; k++) out->normal[k] = -direction[k];
        }
    }
    return out->piece >= 0;
}
