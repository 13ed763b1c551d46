// What a mesh weighs.
//
// A triangle with corners a, b, c and a point o make a tetrahedron of volume V = (a − o) · ((b − o) × (c − o)) / 6, negative when
// o sees the triangle's front; all of them together are the enclosed volume whatever o is. Over a tetrahedron with a corner
// in the origin,
//
//     ∫ x xᵀ dV = V/20 (2 (a aᵀ + b bᵀ + c cᵀ) + a bᵀ + b aᵀ + a cᵀ + c aᵀ + b cᵀ + c bᵀ),
//
// over a triangle of area A the same with A/12. First the centre is found, seen from the centroid of the surface; then mass and
// inertia, seen from the centre. For the legacy kind, which counts |V|, that order is part of the definition.
#include "read/mesh/mesh.h"
#include "base/memory.h"
#include "math/vector.h"
#include "model/hull.h"
#include "model/symmetric.h"
#include <stdlib.h>

static const double smallest_extent = 1e-15; // m³ or m², as MuJoCo has it
static const double inertia_tolerance = 1e-6;

// What is integrated over: the mesh's triangles, or its hull's.
typedef struct surface {
    const double* vertices;
    const int32_t* triangles;
    int triangle_count;
    cal_mesh_inertia kind;
} surface;

static void corners_of(const surface* s, int triangle, const double origin[3], double corners[3][3]) {
    for (size_t k = 0; k < 3; k++) {
        const double* v = s->vertices + 3 * (size_t)s->triangles[3 * (size_t)triangle + k];
        for (int i = 0; i < 3; i++) corners[k][i] = v[i] - origin[i];
    }
}

static double area_of(const double corners[3][3]) {
    double u[3], v[3], cross[3];
    for (int i = 0; i < 3; i++) u[i] = corners[1][i] - corners[0][i], v[i] = corners[2][i] - corners[0][i];
    cal_cross3(u, v, cross);
    return 0.5 * sqrt(cal_dot3(cross, cross));
}

// Volume of the tetrahedron, or area of the triangle, as the kind counts it.
static double extent_of(const surface* s, const double corners[3][3]) {
    if (s->kind == CAL_INERTIA_SHELL) return area_of(corners);
    double cross[3];
    cal_cross3(corners[1], corners[2], cross);
    const double volume = cal_dot3(corners[0], cross) / 6.0;
    return s->kind == CAL_INERTIA_LEGACY ? fabs(volume) : volume;
}

static double surface_centroid(const surface* s, double centroid[3]) {
    double total = 0.0, sum[3] = {0.0, 0.0, 0.0};
    const double origin[3] = {0.0, 0.0, 0.0};
    for (int t = 0; t < s->triangle_count; t++) {
        double c[3][3];
        corners_of(s, t, origin, c);
        const double area = area_of((const double(*)[3])c);
        total += area;
        for (int i = 0; i < 3; i++) sum[i] += area * (c[0][i] + c[1][i] + c[2][i]) / 3.0;
    }
    for (int i = 0; i < 3; i++) centroid[i] = sum[i] / total;
    return total;
}

static double center_of(const surface* s, const double centroid[3], double center[3]) {
    const double share = s->kind == CAL_INERTIA_SHELL ? 1.0 / 3.0 : 0.25;
    double total = 0.0, sum[3] = {0.0, 0.0, 0.0};
    for (int t = 0; t < s->triangle_count; t++) {
        double c[3][3];
        corners_of(s, t, centroid, c);
        const double extent = extent_of(s, (const double(*)[3])c);
        total += extent;
        for (int i = 0; i < 3; i++) sum[i] += extent * share * (c[0][i] + c[1][i] + c[2][i]);
    }
    for (int i = 0; i < 3; i++) center[i] = centroid[i] + sum[i] / total;
    return total;
}

static cal_solid integrate(const surface* s, const double center[3]) {
    cal_solid out = {.center = {center[0], center[1], center[2]}};
    double second[6] = {0.0};
    const double share = s->kind == CAL_INERTIA_SHELL ? 1.0 / 12.0 : 1.0 / 20.0;
    for (int t = 0; t < s->triangle_count; t++) {
        double c[3][3];
        corners_of(s, t, center, c);
        const double extent = extent_of(s, (const double(*)[3])c);
        out.mass += extent;
        // 2 Σ x xᵀ + Σ x yᵀ over pairs is Σ x xᵀ + (Σ x) (Σ x)ᵀ.
        for (int i = 0; i < 6; i++) {
            const size_t p = cal_symmetric_row[i], q = cal_symmetric_column[i];
            second[i] += extent * share *
                         (c[0][p] * c[0][q] + c[1][p] * c[1][q] + c[2][p] * c[2][q] +
                          (c[0][p] + c[1][p] + c[2][p]) * (c[0][q] + c[1][q] + c[2][q]));
        }
    }
    const double trace = second[0] + second[1] + second[2];
    for (int i = 0; i < 3; i++) out.inertia[i] = trace - second[i], out.inertia[i + 3] = -second[i + 3];
    return out;
}

static int compare_edges(const void* left, const void* right) {
    const uint64_t a = *(const uint64_t*)left, b = *(const uint64_t*)right;
    return (a > b) - (a < b);
}

// Two triangles that run along an edge in the same direction face different ways: the volume between them means nothing.
// Slivers are left out, as in MuJoCo: files have them folded over.
static cal_status check_orientation(const surface* s, const char* name, cal_error* error) {
    uint64_t* edges = cal_allocate(3 * (size_t)s->triangle_count, sizeof *edges);
    if (edges == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for %d triangles", s->triangle_count);
    size_t count = 0;
    const double origin[3] = {0.0, 0.0, 0.0};
    for (int t = 0; t < s->triangle_count; t++) {
        double c[3][3];
        corners_of(s, t, origin, c);
        if (area_of((const double(*)[3])c) <= sqrt(smallest_extent)) continue;
        const int32_t* v = s->triangles + 3 * (size_t)t;
        for (int k = 0; k < 3; k++) edges[count++] = (uint64_t)v[k] << 32 | (uint64_t)v[(k + 1) % 3];
    }
    qsort(edges, count, sizeof *edges, compare_edges);
    uint64_t twice = UINT64_MAX;
    for (size_t i = 1; i < count && twice == UINT64_MAX; i++)
        if (edges[i] == edges[i - 1]) twice = edges[i];
    cal_free(edges);
    if (twice == UINT64_MAX) return CAL_OK;
    return cal_fail(
        error, CAL_BAD_MODEL,
        "mesh '%.80s': triangles at vertices %u and %u face different ways, so that no volume is enclosed; repair "
        "the mesh, or use inertia=\"convex\" or \"shell\"",
        name, (unsigned)(twice >> 32), (unsigned)(twice & UINT32_MAX));
}

static cal_status weigh_surface(const surface* s, const char* name, cal_solid* out, cal_error* error) {
    double centroid[3], center[3];
    const double area = surface_centroid(s, centroid);
    if (!(area >= smallest_extent) || !isfinite(area))
        return cal_fail(error, CAL_BAD_MODEL, "mesh '%.80s': its surface is %g m²; check its scale", name, area);
    const double extent = center_of(s, centroid, center);
    if (extent < 0.0)
        return cal_fail(
            error, CAL_BAD_MODEL,
            "mesh '%.80s': its volume is negative, %g m³: its triangles face inwards; turn them over, or use "
            "inertia=\"convex\" or \"shell\"",
            name, extent);
    if (!(extent >= smallest_extent) || !isfinite(extent))
        return cal_fail(error, CAL_BAD_MODEL, "mesh '%.80s': its volume is %g m³; use inertia=\"shell\" for a flat one",
                        name, extent);
    *out = integrate(s, center);
    char why[120];
    for (int i = 0; i < 6; i++)
        if (!isfinite(out->inertia[i]))
            return cal_fail(error, CAL_BAD_MODEL, "mesh '%.80s': its inertia is not finite; check its scale", name);
    if (!cal_inertia_possible(out->inertia, inertia_tolerance, why, sizeof why))
        return cal_fail(error, CAL_BAD_MODEL,
                        "mesh '%.80s': no body has the inertia that it encloses, %s; use inertia=\"convex\"", name,
                        why);
    return CAL_OK;
}

cal_status cal_mesh_weigh(const cal_triangles* mesh, cal_mesh_inertia kind, const char* name, cal_solid* out,
                          cal_error* error) {
    *out = (cal_solid){0};
    surface s = {mesh->vertices, mesh->triangles, mesh->triangle_count, kind};
    if (kind == CAL_INERTIA_EXACT) {
        const cal_status status = check_orientation(&s, name, error);
        if (status != CAL_OK) return status;
    }
    if (kind != CAL_INERTIA_CONVEX) return weigh_surface(&s, name, out, error);
    cal_hull hull;
    cal_error why;
    cal_status status = cal_hull_create(mesh->vertices, mesh->vertex_count, &hull, &why);
    if (status != CAL_OK)
        return cal_fail(error, status, "mesh '%.80s': %s; use inertia=\"shell\" for a flat one", name, why.text);
    s.triangles = hull.triangles;
    s.triangle_count = hull.triangle_count;
    status = weigh_surface(&s, name, out, error);
    cal_hull_destroy(&hull);
    return status;
}
