// Quickhull (Barber, Dobkin, Huhdanpaa 1996) with exact signs.
//
// A tetrahedron grows. Every facet keeps a list of points that are strictly outside its plane; the one furthest out becomes
// a corner: the facets that it sees are taken away, and the hole's rim, the *horizon*, is joined to it.
//
//            p                         The facets that p sees strictly are one patch without holes, even when p is
//          / | \        horizon ═══    in the plane of others: all triangles of one flat face give the same exact sign,
//        ╱╱══╪══╲╲                     and around a corner the facets seen follow each other. So each corner of the
//       ║    |    ║                    horizon starts one edge of it, and the new facets find their neighbours by that.
//        ╲╲═════╱╱                     An edge in line with p has both facets in p's plane or seen, so is never on
//         hull so far                  the horizon, and no new facet is flat.
//
// Which outside point is taken next is decided in plain arithmetic: any choice gives a hull.
//
// Numbers are scaled by a power of two to at most 1, and those below 2⁻²⁰⁰ become 0, so that the exact arithmetic meets neither
// overflow nor underflow.
#include "model/hull.h"
#include "base/memory.h"
#include "math/vector.h"
#include "model/orientation.h"
#include <string.h>

typedef struct facet {
    int32_t corner[3];
    int32_t neighbor[3];     // beyond the edge from corner i to i + 1
    int32_t first, furthest; // of the points outside; -1: none
    double distance;         // of the furthest one, in units of this facet's own
    double normal[3];        // not normalised, and rounded
    bool alive, seen;
} facet;

typedef struct horizon_edge {
    int32_t from, to, beyond;
} horizon_edge;

typedef struct work {
    double* points; // scaled
    int count;
    facet* facets;
    int32_t facet_count, facet_capacity;
    int32_t* next;      // of each point: the next in its facet's list
    int32_t* rim_facet; // of each point: the new facet whose horizon edge starts there; -1
    int32_t* patch;     // facets that the new corner sees
    horizon_edge* horizon;
    int32_t* free_facets; // to be used again
    int32_t free_count, patch_capacity, horizon_capacity, free_capacity;
} work;

static const double* at(const work* w, int32_t point) { return w->points + 3 * (size_t)point; }

// Room for `needed` items of a growing array; false when there is no memory.
static bool reserve(void** items, int32_t* capacity, int32_t needed, size_t size) {
    if (needed <= *capacity) return true;
    const int32_t grown_capacity = needed > (INT32_MAX - 64) / 2 ? needed : 2 * needed + 64;
    void* grown = cal_allocate((size_t)grown_capacity, size);
    if (grown == NULL) return false;
    if (*items != NULL) memcpy(grown, *items, (size_t)*capacity * size);
    cal_free(*items);
    *items = grown;
    *capacity = grown_capacity;
    return true;
}

static bool is_outside(const work* w, const facet* f, int32_t point) {
    return cal_side_of_plane(at(w, f->corner[0]), at(w, f->corner[1]), at(w, f->corner[2]), at(w, point)) > 0;
}

static double height(const work* w, const facet* f, int32_t point) {
    const double *a = at(w, f->corner[0]), *p = at(w, point);
    const double d[3] = {p[0] - a[0], p[1] - a[1], p[2] - a[2]};
    return cal_dot3(f->normal, d);
}

// Whether a point comes later when points are sorted by x, then y, then z. Of points equally far out the last one is a corner
// of what they span, and so of the hull; the others need never be looked at.
static bool is_later(const work* w, int32_t a, int32_t b) {
    const double *p = at(w, a), *q = at(w, b);
    return p[0] != q[0] ? p[0] > q[0] : p[1] != q[1] ? p[1] > q[1] : p[2] > q[2];
}

static void put_outside(work* w, facet* f, int32_t point) {
    const double distance = height(w, f, point);
    w->next[point] = f->first;
    f->first = point;
    if (f->furthest < 0 || distance > f->distance || (distance == f->distance && is_later(w, point, f->furthest)))
        f->furthest = point, f->distance = distance;
}

static int32_t add_facet(work* w, int32_t a, int32_t b, int32_t c) {
    int32_t number;
    if (w->free_count > 0)
        number = w->free_facets[--w->free_count];
    else {
        void* facets = w->facets;
        const bool ok = reserve(&facets, &w->facet_capacity, w->facet_count + 1, sizeof *w->facets);
        w->facets = facets;
        if (!ok) return -1;
        number = w->facet_count++;
    }
    facet* f = &w->facets[number];
    *f = (facet){.corner = {a, b, c}, .neighbor = {-1, -1, -1}, .first = -1, .furthest = -1, .alive = true};
    double u[3], v[3];
    for (int i = 0; i < 3; i++) u[i] = at(w, b)[i] - at(w, a)[i], v[i] = at(w, c)[i] - at(w, a)[i];
    cal_cross3(u, v, f->normal);
    return number;
}

// Four points that are not in one plane, or false. Far apart ones make the first tetrahedron a good one.
static bool find_start(const work* w, int32_t start[4]) {
    int32_t low = 0, high = 0;
    double best = -1.0;
    for (int axis = 0; axis < 3; axis++) {
        int32_t least = 0, most = 0;
        for (int32_t i = 1; i < w->count; i++) {
            const double here = at(w, i)[axis], low_end = at(w, least)[axis], high_end = at(w, most)[axis];
            if (here < low_end || (here == low_end && is_later(w, i, least))) least = i;
            if (here > high_end || (here == high_end && is_later(w, i, most))) most = i;
        }
        const double extent = at(w, most)[axis] - at(w, least)[axis];
        if (extent > best) best = extent, low = least, high = most;
    }
    if (!(best > 0.0)) return false;
    const double* a = at(w, low);
    double u[3], normal[3] = {0.0, 0.0, 0.0};
    for (int i = 0; i < 3; i++) u[i] = at(w, high)[i] - a[i];
    int32_t third = -1;
    best = 0.0;
    for (int32_t i = 0; i < w->count; i++) {
        double v[3], cross[3];
        for (int k = 0; k < 3; k++) v[k] = at(w, i)[k] - a[k];
        cal_cross3(u, v, cross);
        const double size = cal_dot3(cross, cross);
        if (size > best || (size == best && third >= 0 && is_later(w, i, third))) {
            best = size, third = i;
            memcpy(normal, cross, sizeof normal);
        }
    }
    if (third < 0) return false;
    int32_t fourth = -1;
    best = -1.0;
    for (int32_t i = 0; i < w->count; i++) {
        double v[3];
        for (int k = 0; k < 3; k++) v[k] = at(w, i)[k] - a[k];
        const double distance = fabs(cal_dot3(normal, v));
        const bool further = distance > best || (distance == best && is_later(w, i, fourth));
        if (further && cal_side_of_plane(a, at(w, high), at(w, third), at(w, i)) != 0) best = distance, fourth = i;
    }
    if (fourth < 0) return false;
    const bool above = cal_side_of_plane(a, at(w, high), at(w, third), at(w, fourth)) > 0;
    const int32_t ordered[4] = {low, above ? third : high, above ? high : third, fourth};
    memcpy(start, ordered, sizeof ordered);
    return true;
}

// Facets of the first tetrahedron: start[3] is below the plane of the other three.
static bool make_start(work* w, const int32_t start[4]) {
    static const int corners[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}};
    static const int neighbors[4][3] = {{1, 2, 3}, {3, 2, 0}, {1, 3, 0}, {2, 1, 0}};
    for (int i = 0; i < 4; i++) {
        const int32_t f = add_facet(w, start[corners[i][0]], start[corners[i][1]], start[corners[i][2]]);
        if (f < 0) return false;
        for (int k = 0; k < 3; k++) w->facets[f].neighbor[k] = neighbors[i][k];
    }
    for (int32_t p = 0; p < w->count; p++)
        for (int i = 0; i < 4; i++)
            if (is_outside(w, &w->facets[i], p)) {
                put_outside(w, &w->facets[i], p);
                break;
            }
    return true;
}

// The facets that a point sees, from one of them on, and their rim. -1 when there is no memory; else the rim's length.
static int32_t find_horizon(work* w, int32_t from, int32_t point, int32_t* patch_count) {
    int32_t found = 1, edges = 0;
    void *patch = w->patch, *horizon = w->horizon;
    bool ok = reserve(&patch, &w->patch_capacity, 1, sizeof *w->patch);
    w->patch = patch;
    if (!ok) return -1;
    w->patch[0] = from;
    w->facets[from].seen = true;
    for (int32_t done = 0; done < found; done++) {
        const int32_t number = w->patch[done];
        for (int i = 0; i < 3; i++) {
            const facet* f = &w->facets[number];
            const int32_t beyond = f->neighbor[i];
            facet* other = &w->facets[beyond];
            if (other->seen) continue;
            if (is_outside(w, other, point)) {
                ok = reserve(&patch, &w->patch_capacity, found + 1, sizeof *w->patch);
                w->patch = patch;
                if (!ok) return -1;
                other->seen = true;
                w->patch[found++] = beyond;
            } else {
                ok = reserve(&horizon, &w->horizon_capacity, edges + 1, sizeof *w->horizon);
                w->horizon = horizon;
                if (!ok) return -1;
                w->horizon[edges++] = (horizon_edge){f->corner[i], f->corner[(i + 1) % 3], beyond};
            }
        }
    }
    *patch_count = found;
    return edges;
}

// Joins the horizon to the new corner; the new facets are rim_facet of the points where the horizon's edges start.
static bool join(work* w, int32_t edges, int32_t point) {
    for (int32_t i = 0; i < edges; i++) {
        const horizon_edge edge = w->horizon[i];
        const int32_t number = add_facet(w, edge.from, edge.to, point);
        if (number < 0) return false;
        w->rim_facet[edge.from] = number;
        w->facets[number].neighbor[0] = edge.beyond;
        facet* other = &w->facets[edge.beyond];
        for (int k = 0; k < 3; k++)
            if (other->corner[k] == edge.to) other->neighbor[k] = number;
    }
    for (int32_t i = 0; i < edges; i++) {
        const int32_t number = w->rim_facet[w->horizon[i].from], after = w->rim_facet[w->horizon[i].to];
        w->facets[number].neighbor[1] = after;
        w->facets[after].neighbor[2] = number;
    }
    return true;
}

// Gives the points outside the patch to the new facets; those that no new facet sees are inside for good.
static bool hand_over(work* w, int32_t patch_count, int32_t edges, int32_t corner) {
    for (int32_t i = 0; i < patch_count; i++) {
        facet* old = &w->facets[w->patch[i]];
        for (int32_t p = old->first; p >= 0;) {
            const int32_t following = w->next[p];
            for (int32_t k = 0; p != corner && k < edges; k++) {
                facet* f = &w->facets[w->rim_facet[w->horizon[k].from]];
                if (!is_outside(w, f, p)) continue;
                put_outside(w, f, p);
                break;
            }
            p = following;
        }
        old->alive = false;
        old->first = -1;
        void* list = w->free_facets;
        const bool ok = reserve(&list, &w->free_capacity, w->free_count + 1, sizeof *w->free_facets);
        w->free_facets = list;
        if (!ok) return false;
        w->free_facets[w->free_count++] = w->patch[i];
    }
    return true;
}

// Facets that were made take numbers of those that went, so a sweep is repeated until none has points outside.
static bool grow(work* w) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t number = 0; number < w->facet_count; number++)
            while (w->facets[number].alive && w->facets[number].first >= 0) {
                const int32_t corner = w->facets[number].furthest;
                int32_t patch_count = 0;
                const int32_t edges = find_horizon(w, number, corner, &patch_count);
                if (edges < 0 || !join(w, edges, corner) || !hand_over(w, patch_count, edges, corner)) return false;
                changed = true;
            }
    }
    return true;
}

static bool copy_result(const work* w, cal_hull* out) {
    int32_t* number = cal_allocate((size_t)w->facet_count, sizeof *number);
    int32_t* used = w->next; // no longer needed
    memset(used, 0, (size_t)w->count * sizeof *used);
    for (int32_t i = 0; i < w->facet_count; i++) {
        if (!w->facets[i].alive) continue;
        if (number != NULL) number[i] = out->triangle_count;
        out->triangle_count++;
        for (int k = 0; k < 3; k++) used[w->facets[i].corner[k]] = 1;
    }
    for (int32_t i = 0; i < w->count; i++) out->vertex_count += used[i];
    out->vertices = cal_allocate((size_t)out->vertex_count, sizeof *out->vertices);
    out->triangles = cal_allocate(3 * (size_t)out->triangle_count, sizeof *out->triangles);
    out->neighbors = cal_allocate(3 * (size_t)out->triangle_count, sizeof *out->neighbors);
    const bool ok = number != NULL && out->vertices != NULL && out->triangles != NULL && out->neighbors != NULL;
    for (int32_t i = 0, k = 0; ok && i < w->count; i++)
        if (used[i]) out->vertices[k++] = i;
    for (int32_t i = 0; ok && i < w->facet_count; i++) {
        if (!w->facets[i].alive) continue;
        const size_t first = 3 * (size_t)number[i];
        for (size_t k = 0; k < 3; k++) {
            out->triangles[first + k] = w->facets[i].corner[k];
            out->neighbors[first + k] = number[w->facets[i].neighbor[k]];
        }
    }
    cal_free(number);
    return ok;
}

static void scale_points(const double* points, int count, double largest, double* out) {
    int exponent;
    frexp(largest, &exponent);
    for (size_t i = 0; i < 3 * (size_t)count; i++) {
        const double x = ldexp(points[i], -exponent);
        out[i] = fabs(x) < 0x1p-200 ? 0.0 : x;
    }
}

cal_status cal_hull_create(const double* points, int count, cal_hull* out, cal_error* error) {
    *out = (cal_hull){0};
    if (count < 4) return cal_fail(error, CAL_BAD_MODEL, "a convex hull needs 4 points, not %d", count);
    double largest = 0.0;
    for (size_t i = 0; i < 3 * (size_t)count; i++) {
        if (!isfinite(points[i])) return cal_fail(error, CAL_BAD_MODEL, "point %zu is not finite", i / 3);
        largest = fmax(largest, fabs(points[i]));
    }
    work w = {.count = count};
    w.points = cal_allocate(3 * (size_t)count, sizeof *w.points);
    w.next = cal_allocate((size_t)count, sizeof *w.next);
    w.rim_facet = cal_allocate((size_t)count, sizeof *w.rim_facet);
    bool ok = w.points != NULL && w.next != NULL && w.rim_facet != NULL;
    cal_status status = CAL_OK;
    if (ok) {
        int32_t start[4];
        scale_points(points, count, largest, w.points);
        if (!find_start(&w, start))
            status =
                cal_fail(error, CAL_BAD_MODEL, "all points lie in one plane: they have no convex hull with volume");
        else
            ok = make_start(&w, start) && grow(&w) && copy_result(&w, out);
    }
    cal_free(w.points);
    cal_free(w.next);
    cal_free(w.rim_facet);
    cal_free(w.facets);
    cal_free(w.patch);
    cal_free(w.horizon);
    cal_free(w.free_facets);
    if (ok) return status;
    cal_hull_destroy(out);
    return cal_fail(error, CAL_NO_MEMORY, "out of memory for the convex hull of %d points", count);
}

void cal_hull_destroy(cal_hull* hull) {
    cal_free(hull->vertices);
    cal_free(hull->triangles);
    cal_free(hull->neighbors);
    *hull = (cal_hull){0};
}
