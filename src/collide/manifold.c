// Contact manifolds: where two pieces lie on each other, the corners of what they share.
//
//          ╱‾‾‾‾‾‾╱  incident face          The signed distance gives the normal n. Each piece shows the feature that
//      ┌──╱──────╱┐                         faces the other one: a face, a line or a point. If one is a face that
//      │ ╳──────╳ │  reference face         n is nearly perpendicular to, it is the reference: the other's feature is
//      │╱______╱  │                         clipped by the planes through its sides, and what remains is measured against
//      └──────────┘                         its plane along n.
//
// Two lines that are nearly parallel share a stretch, whose points are measured from the other line, as round as the two are: across n, too,
// since where lines cross, only the crossing touches. Everything else touches in the nearest points alone. "Nearly" is
// generous: points too far from the other body are left out by the margin anyway, and a body about to topple needs the
// points that it is about to stand on.
#include "collide/outline.h"

static const double face_cosine = 0.985; // ten degrees
static const double line_sine = 0.17;
// Of a size: what the deepest point may be deeper than those of the outline. A round face has eight of them, and the deepest one of its rim is
// between two. A group leaves a millionth (contact/group_work.h).
static const double unseen = 2e-7;

// 1 − cos of half the angle between two of the eight. A face that leans so much that this is seen shows the deepest point and seven others, which go round
// with it: it rolls. One that lies flat shows points that stay.
static const double between_corners = 0.0761;

// Normals whose cosine is so near to one are the same.
static const double alike = 1e-6;

static void add_corner(const cal_view* view, const double local[3], int id, cal_feature* out) {
    cal_view_point(view, local, out->corners[out->count].p);
    out->corners[out->count].edge = (uint32_t)id & 0x7fff;
    out->corners[out->count++].id = (uint32_t)id;
}

// The edge that is furthest out towards d: from the furthest corner to the furthest of its neighbours, since whoever has no neighbour further
// out is the furthest. The face that leans least need not have it: a keel lies between steep sides, and the stem leans less.
static void find_edge(const cal_convex* piece, const double local[3], int first, int32_t ends[2]) {
    const cal_topology* t = piece->topology;
    double p[3], furthest = -INFINITY;
    const int corner_at = cal_support_local(piece, local, p);
    const double own = cal_dot3(p, local);
    for (int n = 0; n < t->face_count; n++) {
        const int f = n == 0       ? first
                      : n <= first ? n - 1
                                   : n; // of faces that share an edge the first one says where it begins
        const int32_t begin = t->face_first[f], length = t->face_first[f + 1] - begin;
        for (int32_t k = 0; k < length; k++) {
            const int32_t i = t->face_vertices[begin + k], j = t->face_vertices[begin + (k + 1) % length];
            if (i != corner_at && j != corner_at) continue;
            cal_vertex(piece, i == corner_at ? j : i, p);
            const double along = own + cal_dot3(p, local);
            if (along > furthest) furthest = along, ends[0] = i, ends[1] = j;
        }
    }
}

static void show_polytope(const cal_view* view, const double local[3], cal_feature* out) {
    const cal_convex* piece = view->piece;
    const cal_topology* t = piece->topology;
    double p[3];
    int best = 0;
    double most = -2.0;
    for (int f = 0; f < t->face_count; f++) {
        const double along = cal_dot3(piece->normals + 3 * (size_t)f, local);
        if (along > most) most = along, best = f;
    }
    const int32_t first = t->face_first[best], length = t->face_first[best + 1] - first;
    if (most >= face_cosine) {
        const int32_t stride = (length + CAL_OUTLINE_CORNERS - 1) / CAL_OUTLINE_CORNERS;
        for (int32_t k = 0; k < length; k += stride) {
            const int32_t vertex = t->face_vertices[first + k];
            cal_vertex(piece, vertex, p);
            add_corner(view, p, vertex, out);
        }
        cal_view_direction(view, piece->normals + 3 * (size_t)best, out->normal);
        out->alignment = most;
        return;
    }
    // No face: the edge that is furthest out, if it is nearly perpendicular to d.
    int32_t ends[2] = {0, 0};
    find_edge(piece, local, best, ends);
    double from[3], to[3], edge[3];
    cal_vertex(piece, ends[0], from);
    cal_vertex(piece, ends[1], to);
    cal_subtract3(to, from, edge);
    if (fabs(cal_dot3(edge, local)) > line_sine * sqrt(cal_dot3(edge, edge))) return;
    add_corner(view, from, ends[0], out);
    add_corner(view, to, ends[1], out);
}

static void show_cylinder(const cal_view* view, const double local[3], cal_feature* out) {
    const double r = view->piece->size[0], h = view->piece->size[1],
                 rho = sqrt(local[0] * local[0] + local[1] * local[1]);
    if (fabs(local[2]) >= face_cosine) {
        const double s = 0.70710678118654752, up = local[2] < 0.0 ? -1.0 : 1.0;
        const double circle[CAL_ROUND_CORNERS][2] = {{1, 0},  {s, s},   {0, 1},  {-s, s},
                                                     {-1, 0}, {-s, -s}, {0, -1}, {s, -s}};
        const bool rolls = r * rho * between_corners > unseen * view->piece->reach;
        const double c = rolls ? local[0] / rho : 1.0, d = rolls ? local[1] / rho : 0.0;
        for (int k = 0; k < CAL_ROUND_CORNERS; k++) {
            const int at = up > 0.0 ? k : CAL_ROUND_CORNERS - 1 - k;
            const double *on = circle[at], p[3] = {r * (c * on[0] - d * on[1]), r * (d * on[0] + c * on[1]), up * h};
            add_corner(view, p, rolls ? CAL_ROUND_CORNERS + at : at, out);
        }
        const double normal[3] = {0.0, 0.0, up}, middle[3] = {0.0, 0.0, up * h};
        cal_view_direction(view, normal, out->normal);
        cal_view_point(view, middle, out->center);
        out->rim = r;
        out->alignment = fabs(local[2]);
    } else if (fabs(local[2]) <= line_sine)
        for (int end = 0; end < 2; end++) {
            const double p[3] = {r * local[0] / rho, r * local[1] / rho, end ? h : -h};
            add_corner(view, p, end, out);
        }
}

// count is 0 where the piece touches in one point.
static void show(const cal_view* view, const double d[3], cal_feature* out) {
    double local[3];
    out->count = 0, out->alignment = -2.0, out->rim = 0.0;
    cal_view_to_local(view, d, local);
    switch (view->piece->core) {
    case CAL_CORE_BOX:
    case CAL_CORE_HULL: show_polytope(view, local, out); break;
    case CAL_CORE_CYLINDER: show_cylinder(view, local, out); break;
    case CAL_CORE_SEGMENT:
        for (int end = 0; end < 2 && fabs(local[2]) <= line_sine; end++) {
            double p[3];
            cal_vertex(view->piece, end, p);
            add_corner(view, p, end, out);
        }
        break;
    default: break;
    }
}

// Pieces that are near each other along a normal which leans too far over a wall inside a height field.
typedef struct blocked_pair {
    int a, b;
    double distance, normal[3];
} blocked_pair;
enum { MOST_LEFT_OUT = 8 };

typedef struct collector {
    const cal_geometry *a, *b;
    const cal_pose *pose_a, *pose_b;
    double margin;
    double limit; // beyond which nobody asks how far pieces are apart
    cal_contact* out;
    int capacity, count;
    bool blocked_too; // takes contacts against walls inside height fields
    int blocked_a, blocked_b;
    double blocked; // the deepest of those that were left out
    blocked_pair left_out[MOST_LEFT_OUT];
    int left_count;
    double taken; // and of those that were not
    // Of all distances that the margin was compared with: the largest that is within it, and the smallest that is not.
    double within, beyond;
    cal_separation* distance; // NULL, or that of the only pieces
} collector;

static bool is_within(collector* c, double distance) {
    if (distance <= c->margin) {
        c->within = fmax(c->within, distance);
        return true;
    }
    c->beyond = fmin(c->beyond, distance);
    return false;
}

static bool is_blocked(const collector* c, const cal_convex* p, const cal_convex* q, const double n[3]) {
    double out[3];
    if (p->prism) {
        const double opposite[3] = {-n[0], -n[1], -n[2]};
        cal_unrotate3(c->pose_a->rotation, opposite, out);
        if (cal_prism_blocks(p, out)) return true;
    }
    if (!q->prism) return false;
    cal_unrotate3(c->pose_b->rotation, n, out);
    return cal_prism_blocks(q, out);
}

// A point with what it measured, in the working frame.
typedef struct measured {
    double middle[3], separation;
    uint32_t id;
} measured;

// Keeps the deepest point and those that are furthest from all kept ones, in their order.
static int thin_out(measured* points, int count) {
    if (count <= CAL_MANIFOLD_POINTS) return count;
    bool kept[CAL_OUTLINE_CLIPPED] = {false};
    int deepest = 0;
    for (int i = 1; i < count; i++)
        if (points[i].separation < points[deepest].separation) deepest = i;
    kept[deepest] = true;
    for (int n = 1; n < CAL_MANIFOLD_POINTS; n++) {
        int best = -1;
        double most = -1.0;
        for (int i = 0; i < count; i++) {
            double least = INFINITY, d[3];
            for (int k = 0; k < count; k++) {
                if (!kept[k]) continue;
                cal_subtract3(points[i].middle, points[k].middle, d);
                least = fmin(least, cal_dot3(d, d));
            }
            if (!kept[i] && least > most) most = least, best = i;
        }
        if (best < 0) break; // numbers that are none are no distance
        kept[best] = true;
    }
    int left = 0;
    for (int i = 0; i < count; i++)
        if (kept[i]) points[left++] = points[i];
    return left;
}

// Names of points, the same whichever of the two pieces is the reference: which one is, rounding decides where faces lie flat on
// each other, and what is remembered of a point must not depend on it.
enum { CORNER_OF_A = 1, CORNER_OF_B = 2, CROSSING = 3, NAME_BITS = 15, NAMES = 0x7fff };

static uint32_t name_of(uint32_t id, const cal_feature* reference, bool first) {
    const uint32_t own = first ? CORNER_OF_B : CORNER_OF_A, other = first ? CORNER_OF_A : CORNER_OF_B;
    if (!(id & 0x800000u)) return own << 2 * NAME_BITS | (id & NAMES);
    const uint32_t sides = (uint32_t)reference->count, plane = id >> 16 & 0x7f, edge = id & NAMES;
    const uint32_t name = reference->corners[plane].id & NAMES;
    if (sides == 2) return other << 2 * NAME_BITS | name; // planes are at its ends
    if (!(id & 0x8000u))
        return (uint32_t)CROSSING << 2 * NAME_BITS | (first ? name << NAME_BITS | edge : edge << NAME_BITS | name);
    // Two sides of the reference: their common corner. NOLINTNEXTLINE(clang-analyzer-core.DivideZero): what is cut has at least two sides
    return other << 2 * NAME_BITS | ((edge + 1) % sides == plane ? name : reference->corners[edge].id & NAMES);
}

// How much further than t along n a point is from a line, `aside` of which it is across n, with the roundness of the cylinders that the lines
// are on, or of none.
static double add_aside(double t, double aside, const cal_convex* a, const cal_convex* b) {
    double axes = t; // from axis to axis
    if (a->core == CAL_CORE_CYLINDER) axes += a->size[0];
    if (b->core == CAL_CORE_CYLINDER) axes += b->size[0];
    const double square = aside * aside;
    return square > 0.0 ? t + square / (sqrt(axes * axes + square) + fabs(axes)) : t;
}

// Points shared by the features, measured along n (working frame, from b to a).
static int share(const cal_view* a, const cal_view* b, const double n[3], measured* out) {
    const double opposite[3] = {-n[0], -n[1], -n[2]}, ra = a->piece->radius, rb = b->piece->radius;
    cal_feature fa, fb;
    show(a, opposite, &fa);
    show(b, n, &fb);
    const bool plane_a = a->piece->core == CAL_CORE_HALF_SPACE, plane_b = b->piece->core == CAL_CORE_HALF_SPACE;
    if (plane_a) fa.alignment = 2.0, memcpy(fa.normal, opposite, sizeof opposite);
    if (plane_b) fb.alignment = 2.0, memcpy(fb.normal, n, sizeof fb.normal);
    if ((fa.count == 0 && !plane_a) || (fb.count == 0 && !plane_b)) return 0;
    const bool lines = fa.count == 2 && fb.count == 2;
    const bool first = fa.alignment >= fb.alignment - 1e-6; // a is the reference
    const cal_feature *reference = first ? &fa : &fb, *incident = first ? &fb : &fa;
    if (reference->alignment < -1.0 && !lines) return 0;
    if (lines) {
        double e[3], f[3], c[3];
        cal_subtract3(fa.corners[1].p, fa.corners[0].p, e);
        cal_subtract3(fb.corners[1].p, fb.corners[0].p, f);
        cal_cross3(e, f, c);
        if (cal_dot3(c, c) > line_sine * line_sine * cal_dot3(e, e) * cal_dot3(f, f)) return 0;
    }
    cal_corner corners[CAL_OUTLINE_CLIPPED];
    int count = incident->count;
    memcpy(corners, incident->corners, (size_t)count * sizeof *corners);
    // What two faces share is the same whichever measures it.
    const cal_feature* round = reference->rim > 0.0                          ? reference
                               : incident->rim > 0.0 && !plane_a && !plane_b ? incident
                                                                             : NULL;
    const bool named_first = round == NULL ? first : (round == &fa);
    if (round != NULL)
        count =
            cal_outline_clip_by_rim(round, round == reference ? incident : reference, n, round == incident, corners);
    else if (!plane_a && !plane_b)
        count = cal_outline_clip(reference, first ? opposite : n, corners, count);
    double r[3], line[3] = {0}, square = 0.0;
    if (plane_a || plane_b) {
        static const double zero[3] = {0.0, 0.0, 0.0};
        cal_view_point(plane_a ? a : b, zero, r);
    } else
        memcpy(r, reference->corners[0].p, sizeof r);
    if (lines) {
        cal_subtract3(reference->corners[1].p, r, line);
        square = cal_dot3(line, line);
    }
    for (int k = 0; k < count; k++) {
        const double* p = corners[k].p;
        double d[3], t;
        cal_subtract3(p, r, d);
        if (lines) {
            const double along = cal_dot3(d, line) / square;
            for (int i = 0; i < 3; i++) d[i] -= along * line[i];
            t = (first ? -1.0 : 1.0) * cal_dot3(n, d);
            double aside[3];
            for (int i = 0; i < 3; i++) aside[i] = d[i] - cal_dot3(n, d) * n[i];
            t = add_aside(t, sqrt(cal_dot3(aside, aside)), a->piece, b->piece);
        } else
            t = fabs(cal_dot3(reference->normal, n)) > 0.0
                    ? cal_dot3(reference->normal, d) / fabs(cal_dot3(reference->normal, n))
                    : 0.0;
        out[k].separation = t - ra - rb;
        // Half way between the surfaces: from p, on the incident core, across its rounding towards the other body.
        const double shift = first ? 0.5 * (rb + t - ra) : -0.5 * (ra + t - rb);
        for (int i = 0; i < 3; i++) out[k].middle[i] = p[i] + shift * n[i];
        out[k].id = name_of(corners[k].id, round != NULL ? round : reference, named_first);
    }
    return count;
}

static void emit(collector* c, const measured* point, const cal_pose* frame, const double n[3], int i, int k) {
    if (c->count < c->capacity) {
        cal_contact* out = &c->out[c->count];
        *out = (cal_contact){.separation = point->separation, .piece_a = i, .piece_b = k, .feature = point->id};
        memcpy(out->normal, n, sizeof out->normal);
        cal_rotate3(frame->rotation, point->middle, out->point);
        for (int m = 0; m < 3; m++) out->point[m] += frame->position[m];
    }
    c->count++;
}

// Keeps the nearest ones, of equal ones those of the first pieces.
static void leave_out(collector* c, int i, int k, const cal_separation* nearest) {
    int at = c->left_count < MOST_LEFT_OUT ? c->left_count++ : MOST_LEFT_OUT;
    const blocked_pair item = {i, k, nearest->distance, {nearest->normal[0], nearest->normal[1], nearest->normal[2]}};
    for (; at > 0; at--) {
        const blocked_pair* before = &c->left_out[at - 1];
        const bool first = before->a != i ? before->a < i : before->b < k;
        if (before->distance < item.distance || (before->distance == item.distance && first)) break;
        if (at < MOST_LEFT_OUT) c->left_out[at] = *before;
    }
    if (at < MOST_LEFT_OUT) c->left_out[at] = item;
}

static void collect(void* user, int i, int k, double* limit) {
    (void)limit;
    collector* c = user;
    const cal_convex *p = &c->a->pieces[i], *q = &c->b->pieces[k];
    if (p->core == CAL_CORE_HALF_SPACE && q->core == CAL_CORE_HALF_SPACE) return;
    cal_separation nearest;
    const bool known = c->distance != NULL && c->distance->piece_a >= 0;
    if (known)
        nearest = *c->distance;
    else
        cal_piece_normal(p, c->pose_a, q, c->pose_b, c->limit, &nearest);
    if (c->distance != NULL && !known) {
        *c->distance = nearest;
        c->distance->piece_a = i, c->distance->piece_b = k;
    }
    if (!is_within(c, nearest.distance)) return;
    if (!c->blocked_too && is_blocked(c, p, q, nearest.normal)) {
        if (nearest.distance < c->blocked || (nearest.distance == c->blocked && i < c->blocked_a))
            c->blocked = nearest.distance, c->blocked_a = i, c->blocked_b = k;
        leave_out(c, i, k, &nearest);
        return;
    }
    c->taken = fmin(c->taken, nearest.distance);
    const cal_view view_a = {.piece = p, .at_home = true};
    cal_view view_b;
    cal_view_make(p, c->pose_a, q, c->pose_b, &view_b);
    cal_pose frame;
    cal_working_frame(p, c->pose_a, &frame);
    double n[3];
    cal_unrotate3(frame.rotation, nearest.normal, n);
    measured points[CAL_OUTLINE_CLIPPED];
    int count = share(&view_a, &view_b, n, points), kept = 0;
    double least = INFINITY;
    for (int m = 0; m < count; m++) {
        if (!is_within(c, points[m].separation)) continue;
        least = fmin(least, points[m].separation);
        points[kept++] = points[m];
    }
    count = thin_out(points, kept);
    const double size = fmin(p->reach, q->reach);
    if (least > nearest.distance + unseen * size) {
        measured point = {.separation = nearest.distance, .id = 0};
        double middle[3];
        if (!cal_points_are_known(p, q, nearest.distance))
            cal_piece_distance(p, c->pose_a, q, c->pose_b, NULL, &nearest);
        for (int m = 0; m < 3; m++) middle[m] = 0.5 * (nearest.point_a[m] + nearest.point_b[m]) - frame.position[m];
        cal_unrotate3(frame.rotation, middle, point.middle);
        emit(c, &point, &frame, nearest.normal, i, k);
    }
    for (int m = 0; m < count; m++) emit(c, &points[m], &frame, nearest.normal, i, k);
}

// Whether a contact that was left out is all that there is, or tells of what no other does: a body is in a height field by at least as much
// as it is in any of its prisms. Where it slides over a wall, it is in both prisms there, by depths along normals of which one may be half as
// steep.
static bool is_blocked_missed(const collector* c) {
    if (c->blocked_a < 0) return false;
    const double size = fmin(c->a->pieces[c->blocked_a].reach, c->b->pieces[c->blocked_b].reach);
    return c->count == 0 || c->blocked < 2.0 * fmin(c->taken, 0.0) - 1e-6 * size;
}

// The normal of its prism's own top for a pair that was left out; false: there is no valley.
static bool find_side(const collector* c, const blocked_pair* pair, double out[3]) {
    const cal_convex *p = &c->a->pieces[pair->a], *q = &c->b->pieces[pair->b];
    const cal_pose* pose = p->prism ? c->pose_a : c->pose_b;
    const double sign = p->prism ? -1.0 : 1.0; // normals are from b to a, and out of the prism
    double n[3];
    if (p->prism && q->prism) return false;
    for (int i = 0; i < 3; i++) n[i] = sign * pair->normal[i];
    cal_unrotate3(pose->rotation, n, n);
    if (!cal_prism_in_valley(p->prism ? p : q, n, n)) return false;
    cal_rotate3(pose->rotation, n, n);
    for (int i = 0; i < 3; i++) out[i] = sign * n[i];
    return true;
}

// What lies in a valley touches both of its sides, also where its own edge crosses the bottom: seen from one of the two prisms, the shortest way out
// leads across the wall there, into the other one. Along its own top's normal it is one contact more, unless another one has that normal already.
static void add_left_out(collector* c) {
    for (int m = 0; m < c->left_count; m++) {
        const blocked_pair* pair = &c->left_out[m];
        double n[3];
        if ((c->blocked_too && pair->a == c->blocked_a && pair->b == c->blocked_b) || !find_side(c, pair, n)) continue;
        // What it is nearest to with a point below that top is beyond another valley.
        if (!(cal_dot3(pair->normal, n) > 0.0)) continue;
        bool known = false;
        for (int i = 0; !known && i < (c->count < c->capacity ? c->count : c->capacity); i++)
            known = cal_dot3(c->out[i].normal, n) > 1.0 - alike;
        if (known) continue;
        const cal_convex *p = &c->a->pieces[pair->a], *q = &c->b->pieces[pair->b];
        cal_separation nearest;
        cal_piece_distance(p, c->pose_a, q, c->pose_b, NULL, &nearest);
        if (c->count < c->capacity) {
            cal_contact* out = &c->out[c->count];
            *out = (cal_contact){
                .separation = pair->distance * cal_dot3(pair->normal, n), .piece_a = pair->a, .piece_b = pair->b};
            memcpy(out->normal, n, sizeof out->normal);
            for (int i = 0; i < 3; i++) out->point[i] = 0.5 * (nearest.point_a[i] + nearest.point_b[i]);
        }
        c->count++;
    }
}

int cal_contacts_for_margins(const cal_geometry* a, const cal_pose* pose_a, const cal_geometry* b,
                             const cal_pose* pose_b, double margin, double margins[2], cal_separation* distance,
                             cal_contact* out, int capacity) {
    const bool single = a->piece_count == 1 && b->piece_count == 1;
    // Of several pieces those that are further apart than the margin may not have been looked at.
    const bool all = a->piece_count - a->plane_count <= 1 && b->piece_count - b->plane_count <= 1;
    collector c = {.a = a,
                   .b = b,
                   .pose_a = pose_a,
                   .pose_b = pose_b,
                   .margin = margin,
                   .limit = all ? INFINITY : margin,
                   .out = out,
                   .capacity = capacity,
                   .blocked_a = -1,
                   .blocked_b = -1,
                   .blocked = INFINITY,
                   .taken = INFINITY,
                   .within = -INFINITY,
                   .beyond = INFINITY,
                   .distance = single ? distance : NULL};
    double limit = margin;
    cal_visit_pairs(a, pose_a, b, pose_b, &limit, collect, &c);
    if (is_blocked_missed(&c)) {
        c.blocked_too = true;
        collect(&c, c.blocked_a, c.blocked_b, &limit);
    }
    if (c.left_count > 0 && c.count > 0) add_left_out(&c);
    const int written = c.count < capacity ? c.count : capacity;
    for (int i = 1; i < written; i++) { // by pieces; stable
        const cal_contact item = out[i];
        int k = i;
        for (; k > 0; k--) {
            const cal_contact* other = &out[k - 1];
            if (other->piece_a < item.piece_a || (other->piece_a == item.piece_a && other->piece_b <= item.piece_b))
                break;
            out[k] = *other;
        }
        out[k] = item;
    }
    margins[0] = c.within, margins[1] = all ? c.beyond : margin;
    return c.count;
}

int cal_contacts(const cal_geometry* a, const cal_pose* pose_a, const cal_geometry* b, const cal_pose* pose_b,
                 double margin, cal_contact* out, int capacity) {
    double margins[2];
    return cal_contacts_for_margins(a, pose_a, b, pose_b, margin, margins, NULL, out, capacity);
}
