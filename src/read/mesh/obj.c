// OBJ files: vertices, faces, and where every face has them coordinates of a texture; everything else (normals, materials, lines) has no
// weight and is skipped.
//
// A face names its corners by number, from 1 on, or backwards from the latest with −1; each as v, v/vt, v//vn or v/vt/vn. A
// convex face of four corners is cut along its shorter diagonal, as MuJoCo does: the four need not lie in one plane, and
// then the cut decides about the volume.
//
//     3-------2        3-------2
//     | \     |        |     / |       |1−3| ≤ |0−2|: left, else right
//     |   \   |        |   /   |
//     |     \ |        | /     |
//     0-------1        0-------1
//
// Other faces with more than three corners are cut by clipping ears: a corner that bulges, and whose triangle contains none
// of the other corners, goes first.
//
// For MJCF all faces are cut as MuJoCo's reader (tinyobjloader) does it, since the cut decides about the mass: of corners that are not in one
// plane, and of concave faces where triangles weigh whatever way they face (mesh inertia "legacy"). Four corners are cut along the shorter
// diagonal even where that lies outside; of more corners ears are clipped by a measure that holds for some faces only, and what no ear is
// found in is left open.
//
// `o` and `g` begin an object. Of several, the first that has faces is the mesh, as in MuJoCo, and the faces of the others
// are only checked; the vertices of all of them belong to the mesh, and so to its convex hull.
#include "read/mesh/mesh_build.h"
#include "base/memory.h"
#include "math/vector.h"
#include "read/xml.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum {
    MOST_CORNERS = 100000, // of one face
    MOST_CLIPPED = 500     // larger faces are cut as fans, since clipping takes the square of their corners and more
};

typedef struct reader {
    cal_mesh_build* build;
    size_t line;
    int* number; // of each v: its vertex
    int number_count, number_capacity;
    int* corners; // of the present face
    int corner_count, corner_capacity;
    int* mapped; // of each corner: its coordinates; -1: none
    int mapped_count, mapped_capacity;
    float* points; // coordinates of textures, 2 each
    int point_count, point_capacity;
    int coordinate_capacity; // triangles
    bool unmapped;           // some triangle has none
    bool has_faces, is_over; // the object that is the mesh: has begun, has ended
} reader;

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
static bool is_end(char c) { return c == '\0' || c == '\n'; }

static bool push(cal_mesh_build* build, int** items, int* count, int* capacity, int value) {
    if (*count == *capacity) {
        const int grown_capacity = 2 * *capacity + 64;
        int* grown = cal_allocate((size_t)grown_capacity, sizeof *grown);
        if (grown == NULL) {
            cal_mesh_complain(build, CAL_NO_MEMORY, 0, "out of memory for %d numbers", grown_capacity);
            return false;
        }
        if (*count > 0) memcpy(grown, *items, (size_t)*count * sizeof *grown);
        cal_free(*items);
        *items = grown;
        *capacity = grown_capacity;
    }
    (*items)[(*count)++] = value;
    return true;
}

// Blanks, and a backslash at the end of a line, which continues it.
static const char* skip_blanks(reader* r, const char* p) {
    for (;;) {
        if (is_blank(*p))
            p++;
        else if (p[0] == '\\' && (p[1] == '\n' || (p[1] == '\r' && p[2] == '\n'))) {
            p += p[1] == '\n' ? 2 : 3;
            r->line++;
        } else
            return p;
    }
}

static cal_status read_vertex(reader* r, const char** text) {
    const char* p = *text;
    double point[3];
    for (int i = 0; i < 3; i++) {
        p = skip_blanks(r, p);
        if (!cal_read_number(&p, &point[i]))
            return cal_mesh_complain(r->build, CAL_BAD_MODEL, r->line, "a vertex needs three numbers");
    }
    *text = p;
    if (r->number_count >= CAL_MESH_VERTEX_LIMIT)
        return cal_mesh_complain(r->build, CAL_BAD_MODEL, r->line, "it has more than %d vertices",
                                 (int)CAL_MESH_VERTEX_LIMIT);
    const int vertex = cal_mesh_add_vertex(r->build, point, "line", r->line);
    if (vertex < 0 || !push(r->build, &r->number, &r->number_count, &r->number_capacity, vertex))
        return r->build->status;
    return CAL_OK;
}

// Coordinates of a texture, from the bottom to the top in the file.
static cal_status read_point(reader* r, const char** text) {
    const char* p = *text;
    double point[2] = {0.0, 0.0};
    for (int i = 0; i < 2; i++) {
        p = skip_blanks(r, p);
        if (!cal_read_number(&p, &point[i])) break; // one number is enough
    }
    *text = p;
    if (r->point_count >= CAL_MESH_VERTEX_LIMIT)
        return cal_mesh_complain(r->build, CAL_BAD_MODEL, r->line, "it has more than %d coordinates of textures",
                                 (int)CAL_MESH_VERTEX_LIMIT);
    if (r->point_count == r->point_capacity) {
        const int capacity = 2 * r->point_capacity + 64;
        float* grown = cal_allocate(2 * (size_t)capacity, sizeof *grown);
        if (grown == NULL) return cal_mesh_complain(r->build, CAL_NO_MEMORY, 0, "out of memory");
        if (r->point_count > 0) memcpy(grown, r->points, 2 * (size_t)r->point_count * sizeof *grown);
        cal_free(r->points);
        r->points = grown;
        r->point_capacity = capacity;
    }
    r->points[2 * (size_t)r->point_count] = (float)point[0];
    r->points[2 * (size_t)r->point_count++ + 1] = (float)(1.0 - point[1]);
    return CAL_OK;
}

// The number of coordinates behind a slash, as 3/7; -1: there are none, or no such.
static int read_mapped(const reader* r, const char* p) {
    if (*p != '/') return -1;
    const bool backwards = p[1] == '-';
    int64_t index = 0;
    const char* digits = p + (backwards ? 2 : 1);
    for (p = digits; *p >= '0' && *p <= '9'; p++)
        if (index <= CAL_MESH_VERTEX_LIMIT) index = 10 * index + (*p - '0');
    const int64_t number = backwards ? r->point_count - index : index - 1;
    return p > digits && number >= 0 && number < r->point_count ? (int)number : -1;
}

// One corner's vertex, and its coordinates.
static cal_status read_corner(reader* r, const char** text) {
    const char* p = *text;
    const bool backwards = *p == '-';
    int64_t index = 0;
    if (backwards) p++;
    const char* digits = p;
    for (; *p >= '0' && *p <= '9'; p++)
        if (index <= CAL_MESH_VERTEX_LIMIT) index = 10 * index + (*p - '0');
    const bool any = p > digits;
    const int mapped = read_mapped(r, p);
    while (!is_blank(*p) && !is_end(*p) && (*p == '/' || *p == '-' || (*p >= '0' && *p <= '9'))) p++;
    if (!any || !(is_blank(*p) || is_end(*p) || *p == '\\'))
        return cal_mesh_complain(r->build, CAL_BAD_MODEL, r->line, "a face's corner must be a number, as 3 or 3/1/2");
    const int64_t number = backwards ? r->number_count - index : index - 1;
    if (number < 0 || number >= r->number_count)
        return cal_mesh_complain(r->build, CAL_BAD_MODEL, r->line,
                                 "a face names vertex %s%lld, but there are %d so far", backwards ? "-" : "",
                                 (long long)index, r->number_count);
    if (r->corner_count >= MOST_CORNERS)
        return cal_mesh_complain(r->build, CAL_BAD_MODEL, r->line, "a face with more than %d corners",
                                 (int)MOST_CORNERS);
    *text = p;
    return push(r->build, &r->corners, &r->corner_count, &r->corner_capacity, r->number[number]) &&
                   push(r->build, &r->mapped, &r->mapped_count, &r->mapped_capacity, mapped)
               ? CAL_OK
               : r->build->status;
}

// --- Polygons to triangles ----------------------------------------------------------------------------------------------

static const double* at(const reader* r, int corner) {
    return r->build->mesh.vertices + 3 * (size_t)r->corners[corner];
}

// Twice the polygon's area, as a vector along its normal (Newell).
static void polygon_normal(const reader* r, double normal[3]) {
    normal[0] = normal[1] = normal[2] = 0.0;
    for (int i = 0; i < r->corner_count; i++) {
        double cross[3];
        cal_cross3(at(r, i), at(r, (i + 1) % r->corner_count), cross);
        for (int k = 0; k < 3; k++) normal[k] += cross[k];
    }
}

// Twice the area of a triangle of corners, seen from the normal's tip.
static double turn(const reader* r, const double normal[3], int a, int b, int c) {
    double u[3], v[3], cross[3];
    for (int k = 0; k < 3; k++) u[k] = at(r, b)[k] - at(r, a)[k], v[k] = at(r, c)[k] - at(r, b)[k];
    cal_cross3(u, v, cross);
    return cal_dot3(cross, normal);
}

static bool is_ear(const reader* r, const double normal[3], int before, int i, int after) {
    if (turn(r, normal, before, i, after) <= 0.0) return false;
    for (int k = 0; k < r->corner_count; k++) {
        if (k == before || k == i || k == after) continue;
        if (turn(r, normal, before, i, k) >= 0.0 && turn(r, normal, i, after, k) >= 0.0 &&
            turn(r, normal, after, before, k) >= 0.0 && r->corners[k] != r->corners[before] &&
            r->corners[k] != r->corners[i] && r->corners[k] != r->corners[after])
            return false;
    }
    return true;
}

static void drop_corner(reader* r, int i) {
    memmove(r->corners + i, r->corners + i + 1, (size_t)(r->corner_count - i - 1) * sizeof *r->corners);
    memmove(r->mapped + i, r->mapped + i + 1, (size_t)(r->corner_count - i - 1) * sizeof *r->mapped);
    r->corner_count--;
}

// The coordinates of the triangle that was added last.
static bool map_triangle(reader* r, const int corners[3]) {
    cal_triangles* mesh = &r->build->mesh;
    for (int k = 0; k < 3; k++) r->unmapped |= r->mapped[corners[k]] < 0;
    if (r->unmapped) return true;
    if (mesh->triangle_count > r->coordinate_capacity) {
        const int capacity = 2 * mesh->triangle_count + 64;
        float* grown = cal_allocate(6 * (size_t)capacity, sizeof *grown);
        if (grown == NULL) {
            cal_mesh_complain(r->build, CAL_NO_MEMORY, 0, "out of memory");
            return false;
        }
        const size_t before = (size_t)(mesh->triangle_count - 1);
        if (mesh->coordinates != NULL) memcpy(grown, mesh->coordinates, 6 * before * sizeof *grown);
        cal_free(mesh->coordinates);
        mesh->coordinates = grown;
        r->coordinate_capacity = capacity;
    }
    float* own = mesh->coordinates + 6 * (size_t)(mesh->triangle_count - 1);
    for (int k = 0; k < 3; k++) memcpy(own + 2 * k, r->points + 2 * (size_t)r->mapped[corners[k]], 2 * sizeof *own);
    return true;
}

static bool add_triangle(reader* r, int a, int b, int c) {
    const int before = r->build->mesh.triangle_count;
    if (!cal_mesh_add_triangle(r->build, r->corners[a], r->corners[b], r->corners[c])) return false;
    return r->build->mesh.triangle_count == before || map_triangle(r, (const int[3]){a, b, c});
}

static bool is_convex(const reader* r, const double normal[3]) {
    const int n = r->corner_count;
    for (int i = 0; i < n; i++)
        if (turn(r, normal, i, (i + 1) % n, (i + 2) % n) <= 0.0) return false;
    return true;
}

// In single precision, since that decides in MuJoCo about diagonals that are almost equally long.
static float squared_distance(const reader* r, int a, int b) {
    float d[3];
    for (int k = 0; k < 3; k++) d[k] = (float)at(r, b)[k] - (float)at(r, a)[k];
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

static bool cut_four(reader* r) {
    if (squared_distance(r, 0, 2) < squared_distance(r, 1, 3))
        return add_triangle(r, 0, 1, 2) && add_triangle(r, 0, 2, 3);
    return add_triangle(r, 0, 1, 3) && add_triangle(r, 1, 2, 3);
}

static bool cut_face(reader* r) {
    double normal[3];
    polygon_normal(r, normal);
    if (r->corner_count == 4 && is_convex(r, normal)) return cut_four(r);
    // Corner 1 is tried first, so that convex faces become fans around corner 0.
    while (r->corner_count > 3 && r->corner_count <= MOST_CLIPPED) {
        const int n = r->corner_count;
        int ear = -1;
        for (int i = 1; i < n && ear < 0; i++)
            if (is_ear(r, normal, i - 1, i, (i + 1) % n)) ear = i;
        if (ear < 0) break;
        if (!add_triangle(r, ear - 1, ear, (ear + 1) % n)) return false;
        drop_corner(r, ear);
    }
    for (int i = 1; i + 1 < r->corner_count; i++)
        if (!add_triangle(r, 0, i, i + 1)) return false;
    return true;
}

// --- Polygons to MuJoCo's triangles ------------------------------------------------------------------------------------------

// Single precision decides in MuJoCo about corners that are almost in line and diagonals that are almost equally long.
typedef struct flat {
    float x, y;
} flat;

// The two coordinates in which a face is seen: without that along which the normal at the first corner that bends is longest.
static void find_axes(const reader* r, int axes[2]) {
    axes[0] = 1, axes[1] = 2;
    for (int i = 0; i < r->corner_count; i++) {
        float e[2][3], n[3];
        for (int side = 0; side < 2; side++)
            for (int k = 0; k < 3; k++)
                e[side][k] =
                    (float)at(r, (i + side + 1) % r->corner_count)[k] - (float)at(r, (i + side) % r->corner_count)[k];
        for (int k = 0; k < 3; k++)
            n[k] = fabsf(e[0][(k + 1) % 3] * e[1][(k + 2) % 3] - e[0][(k + 2) % 3] * e[1][(k + 1) % 3]);
        if (!(n[0] > FLT_EPSILON || n[1] > FLT_EPSILON || n[2] > FLT_EPSILON)) continue;
        if (n[0] > n[1] && n[0] > n[2]) return;
        axes[0] = 0;
        if (n[2] > n[0] && n[2] > n[1]) axes[1] = 1;
        return;
    }
}

static flat seen(const reader* r, const int axes[2], int corner) {
    const double* p = at(r, corner % r->corner_count);
    return (flat){(float)p[axes[0]], (float)p[axes[1]]};
}

// Whether a line from the point to the right crosses the triangle's edges an odd number of times.
static bool is_inside(const flat t[3], flat p) {
    bool inside = false;
    for (int i = 0, j = 2; i < 3; j = i++)
        if ((t[i].y > p.y) != (t[j].y > p.y) && p.x < (t[j].x - t[i].x) * (p.y - t[i].y) / (t[j].y - t[i].y) + t[i].x)
            inside = !inside;
    return inside;
}

// Whether the triangle of a corner and the next two may be cut off: it bends as its first edge turns about the origin, which is MuJoCo's
// measure, and no other corner is inside of it.
static bool is_mujoco_ear(const reader* r, const int axes[2], int first) {
    const flat t[3] = {seen(r, axes, first), seen(r, axes, first + 1), seen(r, axes, first + 2)};
    const float bend = (t[1].x - t[0].x) * (t[2].y - t[1].y) - (t[1].y - t[0].y) * (t[2].x - t[1].x);
    const float sweep = (t[0].x * t[1].y - t[0].y * t[1].x) * 0.5F;
    if (bend * sweep < 0.0F) return false;
    for (int k = 3; k < r->corner_count; k++)
        if (is_inside(t, seen(r, axes, first + k))) return false;
    return true;
}

static bool cut_as_mujoco(reader* r) {
    int axes[2], first = 0, before = r->corner_count, tries = before;
    if (r->corner_count == 4) return cut_four(r);
    find_axes(r, axes);
    // Tries are counted anew after an ear, but for one that the last try has found: then the rest stays open.
    while (r->corner_count > 3 && r->corner_count <= MOST_CLIPPED && tries > 0) {
        const int n = r->corner_count;
        tries = n != before ? n : tries - 1;
        before = n;
        first %= n;
        if (!is_mujoco_ear(r, axes, first)) {
            first++;
            continue;
        }
        if (!add_triangle(r, first, (first + 1) % n, (first + 2) % n)) return false;
        drop_corner(r, (first + 1) % n);
    }
    if (r->corner_count == 3) return add_triangle(r, 0, 1, 2);
    r->build->mesh.open++;
    return true;
}

static cal_status read_face(reader* r, const char** text) {
    const char* p = *text;
    r->corner_count = r->mapped_count = 0;
    for (p = skip_blanks(r, p); !is_end(*p) && *p != '#'; p = skip_blanks(r, p)) {
        const cal_status status = read_corner(r, &p);
        if (status != CAL_OK) return status;
    }
    *text = p;
    if (r->corner_count < 3)
        return cal_mesh_complain(r->build, CAL_BAD_MODEL, r->line, "a face with %d corners", r->corner_count);
    if (r->is_over) {
        r->build->mesh.left_out++;
        return CAL_OK;
    }
    r->has_faces = true;
    return (r->build->as_mujoco ? cut_as_mujoco(r) : cut_face(r)) ? CAL_OK : r->build->status;
}

// --- Lines --------------------------------------------------------------------------------------------------------------

static bool is_element(const char* p, char element) { return p[0] == element && is_blank(p[1]); }

// A letter without a name begins nothing.
static bool is_object(const char* p) { return (p[0] == 'o' || p[0] == 'g') && (p[1] == ' ' || p[1] == '\t'); }

static cal_status read_lines(reader* r, const char* text) {
    for (const char* p = text; *p != '\0'; r->line++) {
        while (is_blank(*p)) p++;
        cal_status status = CAL_OK;
        if (is_element(p, 'v') || is_element(p, 'f')) {
            const bool vertex = *p == 'v';
            p++;
            status = vertex ? read_vertex(r, &p) : read_face(r, &p);
        } else if (p[0] == 'v' && p[1] == 't' && is_blank(p[2])) {
            p += 2;
            status = read_point(r, &p);
        } else if (is_object(p))
            r->is_over = r->has_faces;
        if (status != CAL_OK) return status;
        while (!is_end(*p)) p++;
        if (*p == '\n') p++;
    }
    return CAL_OK;
}

cal_status cal_mesh_parse_obj(cal_mesh_build* build, const char* text, size_t count) {
    if (memchr(text, 0, count) != NULL)
        return cal_mesh_complain(build, CAL_BAD_MODEL, 0, "it contains NUL bytes: it is no text, and so no OBJ file");
    reader r = {.build = build, .line = 1};
    cal_status status = read_lines(&r, text);
    if (status == CAL_OK && build->mesh.vertex_count == 0)
        status = cal_mesh_complain(build, CAL_BAD_MODEL, 0, "it has no vertices");
    if (r.unmapped) {
        cal_free(build->mesh.coordinates);
        build->mesh.coordinates = NULL;
    }
    cal_free(r.number);
    cal_free(r.corners);
    cal_free(r.mapped);
    cal_free(r.points);
    return status;
}
