// The signed distance of two convex pieces.
//
//     cores with a closed form                              ▸ closed.c
//     else GJK (gjk.c)  apart     ▸ n = v/|v|               ▸ refined (refine.c)
//                       touching  ▸ EPA (epa.c), or every    ▸ refined, or the better of both
//                                   direction where few
//
// then rounding radii, and back to the world.
#include "collide/convex.h"

enum { FEW_DIRECTIONS = 40, MANY_DIRECTIONS = 20000 };
static const double thinnest = 1e-4; // width over size below which EPA's triangles are slivers

void cal_working_frame(const cal_convex* a, const cal_pose* pose_a, cal_pose* out) {
    cal_multiply33(pose_a->rotation, a->frame.rotation, out->rotation);
    cal_rotate3(pose_a->rotation, a->frame.position, out->position);
    for (int i = 0; i < 3; i++) out->position[i] += pose_a->position[i];
}

void cal_view_make(const cal_convex* a, const cal_pose* pose_a, const cal_convex* b, const cal_pose* pose_b,
                   cal_view* out) {
    double Ra[9], Rb[9], offset_a[3], offset_b[3], d[3];
    cal_multiply33(pose_a->rotation, a->frame.rotation, Ra);
    cal_multiply33(pose_b->rotation, b->frame.rotation, Rb);
    cal_rotate3(pose_a->rotation, a->frame.position, offset_a);
    cal_rotate3(pose_b->rotation, b->frame.position, offset_b);
    // The difference of the large numbers first: nothing is lost far from the world's origin.
    for (int i = 0; i < 3; i++) d[i] = (pose_b->position[i] - pose_a->position[i]) + (offset_b[i] - offset_a[i]);
    *out = (cal_view){.piece = b};
    cal_transpose_multiply33(Ra, Rb, out->rotation);
    cal_unrotate3(Ra, d, out->position);
}

// Largest extent of a core.
static double core_size(const cal_convex* piece) {
    switch (piece->core) {
    case CAL_CORE_SEGMENT: return piece->size[0];
    case CAL_CORE_CYLINDER: return piece->size[0] + piece->size[1];
    case CAL_CORE_BOX:
    case CAL_CORE_ELLIPSOID: return piece->size[0] + piece->size[1] + piece->size[2];
    case CAL_CORE_HULL: return piece->reach;
    default: return 0.0;
    }
}

// Whether a core has only one point furthest along a direction near which the features' vertices touch.
static bool is_strict(const cal_view* view, const cal_simplex* features, bool first_of_pair, const double n[3]) {
    if (view->piece->core == CAL_CORE_ELLIPSOID) return true;
    if (view->piece->core == CAL_CORE_CYLINDER) {
        double local[3];
        cal_view_to_local(view, n, local);
        return fabs(local[2]) > 1e-12 && local[0] * local[0] + local[1] * local[1] > 1e-24;
    }
    for (int k = 1; k < features->count; k++) {
        const cal_difference *first = &features->points[0], *other = &features->points[k];
        if (first_of_pair ? first->index_a != other->index_a : first->index_b != other->index_b) return false;
    }
    return true;
}

static void find_points(const cal_view* a, const cal_view* b, const cal_simplex* features,
                        const cal_difference* support, cal_core_separation* out) {
    const double *n = out->normal, distance = out->distance;
    // Where a face is flat against the other body, the support along n is any of its corners: the features know which.
    const double* single_a = cal_is_polytope(a->piece) ? features->points[0].a : support->a;
    const double* single_b = cal_is_polytope(b->piece) ? features->points[0].b : support->b;
    if (is_strict(a, features, true, n))
        for (int i = 0; i < 3; i++) {
            out->point_a[i] = single_a[i];
            out->point_b[i] = single_a[i] - distance * n[i];
        }
    else if (is_strict(b, features, false, n))
        for (int i = 0; i < 3; i++) {
            out->point_b[i] = single_b[i];
            out->point_a[i] = single_b[i] + distance * n[i];
        }
    else {
        double p[3] = {0}, q[3] = {0};
        for (int k = 0; k < features->count; k++)
            for (int i = 0; i < 3; i++) {
                p[i] += features->weights[k] * features->points[k].a[i];
                q[i] += features->weights[k] * features->points[k].b[i];
            }
        // The sum is good to GJK's tolerance; the plane of contact is known better.
        const double middle_n = 0.5 * (cal_dot3(support->a, n) + cal_dot3(support->b, n));
        double middle[3];
        for (int i = 0; i < 3; i++) middle[i] = 0.5 * (p[i] + q[i]);
        const double off = middle_n - cal_dot3(middle, n);
        for (int i = 0; i < 3; i++) {
            out->point_a[i] = middle[i] + (off + 0.5 * distance) * n[i];
            out->point_b[i] = middle[i] + (off - 0.5 * distance) * n[i];
        }
    }
}

// Overlapping bodies: n and the distance are known. Drawn apart along n, they have their nearest points where they are to
// be parted.
static void find_points_inside(const cal_view* a, const cal_view* b, double scale, cal_core_separation* out) {
    const double apart = scale - out->distance;
    cal_view moved = *b;
    if (moved.at_home) {
        moved.at_home = false;
        static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
        memcpy(moved.rotation, identity, sizeof identity);
    }
    for (int i = 0; i < 3; i++) moved.position[i] -= apart * out->normal[i];
    cal_simplex features;
    cal_gjk(a, &moved, out->normal, scale, INFINITY, &features);
    cal_difference support;
    cal_gap_along(a, b, out->normal, &support);
    for (int k = 0; k < features.count; k++)
        for (int i = 0; i < 3; i++) features.points[k].b[i] += apart * out->normal[i];
    find_points(a, b, &features, &support, out);
}

static void general(const cal_view* a, const cal_view* b, const double* direction, bool points, double limit,
                    cal_core_separation* out) {
    const double scale = core_size(a->piece) + core_size(b->piece);
    points |= !cal_have_corners(a->piece, b->piece);
    if (cal_boxes_overlap(a, b, out)) {
        if (points) find_points_inside(a, b, scale, out);
        return;
    }
    double first[3];
    cal_simplex features;
    if (direction != NULL)
        memcpy(first, direction, sizeof first);
    else {
        double middle[3];
        cal_view_point(b, b->piece->middle, middle);
        cal_subtract3(a->piece->middle, middle, first);
        if (cal_dot3(first, first) == 0.0) first[0] = 1.0;
    }
    const cal_gjk_end end = cal_gjk(a, b, first, scale, limit, &features);
    cal_difference support;
    if (end == CAL_GJK_BEYOND) {
        memcpy(out->normal, features.nearest, sizeof out->normal);
        out->distance = sqrt(cal_dot3(features.nearest, features.nearest));
        return;
    }
    if (end == CAL_GJK_APART) {
        memcpy(out->normal, features.nearest, sizeof out->normal);
        cal_normalize3(out->normal);
        out->distance = cal_refine(a, b, &features, scale, out->normal, &support);
        if (out->distance > 0.0) {
            find_points(a, b, &features, &support, out);
            return;
        }
    } else
        out->distance = -INFINITY;
    // Touching or overlapping. What GJK found is still a candidate where it found something.
    const bool polytopes = cal_is_polytope(a->piece) && cal_is_polytope(b->piece);
    const int directions = polytopes ? cal_exhaustive_cost(a, b) : INT32_MAX;
    double normal[3];
    bool complete = false;
    const bool thin = fmin(a->piece->width, b->piece->width) < thinnest * scale;
    if (directions > FEW_DIRECTIONS && !(thin && directions <= MANY_DIRECTIONS)) {
        cal_simplex face;
        complete = cal_epa(a, b, &features, scale, &face, normal);
        memset(face.nearest, 0, sizeof face.nearest);
        if (cal_dot3(normal, normal) > 0.0) {
            const double distance = cal_refine(a, b, &face, scale, normal, &support);
            if (distance > out->distance) {
                out->distance = distance;
                memcpy(out->normal, normal, sizeof normal);
            }
        }
    }
    if (!complete && directions <= MANY_DIRECTIONS) {
        const double distance = cal_exhaustive_normal(a, b, normal);
        if (distance > out->distance) {
            out->distance = distance;
            memcpy(out->normal, normal, sizeof normal);
        }
    }
    // Of two that GJK has found to touch, a candidate may part them by a rounding: cal_points_are_known knows the distance alone.
    if (points || out->distance > 0.0) find_points_inside(a, b, scale, out);
}

static void measure(const cal_convex* a, const cal_pose* pose_a, const cal_convex* b, const cal_pose* pose_b,
                    const double* direction, bool points, double limit, cal_separation* out) {
    if (a->core == CAL_CORE_HALF_SPACE && b->core == CAL_CORE_HALF_SPACE) {
        *out = (cal_separation){.distance = INFINITY, .normal = {0.0, 0.0, 1.0}};
        return;
    }
    const cal_view view_a = {.piece = a, .at_home = true};
    cal_view view_b;
    cal_view_make(a, pose_a, b, pose_b, &view_b);
    cal_pose frame;
    cal_working_frame(a, pose_a, &frame);
    cal_core_separation core = {0};
    if (!cal_closed_form(&view_a, &view_b, &core)) {
        double local[3];
        if (direction != NULL) cal_unrotate3(frame.rotation, direction, local);
        general(&view_a, &view_b, direction != NULL ? local : NULL, points, limit + a->radius + b->radius, &core);
    }
    out->distance = core.distance - a->radius - b->radius;
    cal_rotate3(frame.rotation, core.normal, out->normal);
    if (!cal_normalize3(out->normal)) out->normal[2] = 1.0;
    cal_rotate3(frame.rotation, core.point_a, out->point_a);
    cal_rotate3(frame.rotation, core.point_b, out->point_b);
    for (int i = 0; i < 3; i++) {
        out->point_a[i] += frame.position[i] - a->radius * out->normal[i];
        out->point_b[i] += frame.position[i] + b->radius * out->normal[i];
    }
}

void cal_piece_distance(const cal_convex* a, const cal_pose* pose_a, const cal_convex* b, const cal_pose* pose_b,
                        const double* direction, cal_separation* out) {
    measure(a, pose_a, b, pose_b, direction, true, INFINITY, out);
}

void cal_piece_normal(const cal_convex* a, const cal_pose* pose_a, const cal_convex* b, const cal_pose* pose_b,
                      double limit, cal_separation* out) {
    measure(a, pose_a, b, pose_b, NULL, false, limit, out);
}
