// Polytopes: the topologies of boxes and prisms, and those of hulls from their triangles.
//
// A hull comes as triangles with exact signs (model/hull.h); a flat side of a mesh is many of them, and not quite flat where
// the mesh was rounded. For contact manifolds they are put together to faces: from the largest triangle on, all neighbours that
// lie in its plane to a millionth of the hull's size. Distances know nothing of this: they see vertices only.
#include "base/memory.h"
#include "collide/convex.h"
#include "model/hull.h"

static const double flatness = 1e-6; // of the hull's size

static const int32_t box_first[7] = {0, 4, 8, 12, 16, 20, 24};
static const int32_t box_loops[24] = {0, 4, 6, 2, 1, 3, 7, 5, 0, 1, 5, 4, 2, 6, 7, 3, 0, 2, 3, 1, 4, 5, 7, 6};
static const int32_t box_edges[6] = {0, 1, 0, 2, 0, 4};
const cal_topology cal_box_topology = {
    .face_count = 6, .edge_count = 3, .face_first = box_first, .face_vertices = box_loops, .edges = box_edges};
const double cal_box_normals[18] = {-1, 0, 0, 1, 0, 0, 0, -1, 0, 0, 1, 0, 0, 0, -1, 0, 0, 1};

// Vertices 0, 1, 2 on top, 3, 4, 5 below them; the walls are upright.
static const int32_t prism_first[6] = {0, 3, 6, 10, 14, 18};
static const int32_t prism_loops[18] = {0, 1, 2, 5, 4, 3, 0, 3, 4, 1, 1, 4, 5, 2, 2, 5, 3, 0};
static const int32_t prism_edges[14] = {0, 1, 1, 2, 2, 0, 3, 4, 4, 5, 5, 3, 0, 3};
const cal_topology cal_prism_topology = {
    .face_count = 5, .edge_count = 7, .face_first = prism_first, .face_vertices = prism_loops, .edges = prism_edges};

typedef struct merger {
    const double* points;
    const cal_hull* hull;
    const double* normals; // of triangles, zero where there is none
    double tolerance;
    int32_t* face_of; // triangle; −1: none yet
    int32_t* order;   // triangles, the largest first
    int32_t* members; // triangles of the face that is being made
    int32_t member_count;
    double* area;
} merger;

static const double* corner(const merger* m, int32_t triangle, int k) {
    return m->points + 3 * (size_t)m->hull->triangles[3 * (size_t)triangle + (size_t)k];
}

static bool lies_in(const merger* m, int32_t triangle, const double normal[3], double offset) {
    for (int k = 0; k < 3; k++)
        if (fabs(cal_dot3(normal, corner(m, triangle, k)) - offset) > m->tolerance) return false;
    // A triangle without a normal of its own is where its corners are.
    const double* own = m->normals + 3 * (size_t)triangle;
    return cal_dot3(own, own) == 0.0 || cal_dot3(own, normal) > 0.5;
}

static void flood(merger* m, int32_t seed, int32_t number) {
    const double* normal = m->normals + 3 * (size_t)seed;
    const double offset = cal_dot3(normal, corner(m, seed, 0));
    m->member_count = 1;
    m->members[0] = seed;
    m->face_of[seed] = number;
    for (int32_t done = 0; done < m->member_count; done++)
        for (size_t k = 0; k < 3; k++) {
            const int32_t next = m->hull->neighbors[3 * (size_t)m->members[done] + k];
            if (m->face_of[next] >= 0 || !lies_in(m, next, normal, offset)) continue;
            m->face_of[next] = number;
            m->members[m->member_count++] = next;
        }
}

// The outline of the face that was just made as a loop of points' numbers, from its first triangle on; returns its length, 0
// where it is not one loop.
static int outline(const merger* m, int32_t face, int32_t* loop) {
    int count = 0, edges = 0;
    int32_t triangle = -1;
    size_t k = 0;
    for (int32_t member = 0; member < m->member_count; member++) {
        const int32_t t = m->members[member];
        for (size_t i = 3; i-- > 0;)
            if (m->face_of[m->hull->neighbors[3 * (size_t)t + i]] != face) {
                edges++;
                if (triangle < 0 || t <= triangle) triangle = t, k = i;
            }
    }
    const int32_t start = triangle;
    const size_t start_k = k;
    if (start < 0) return 0;
    do {
        loop[count++] = m->hull->triangles[3 * (size_t)triangle + k];
        // The next edge of the outline starts where this one ends: turn about that corner through the face.
        k = (k + 1) % 3;
        for (int32_t next; (next = m->hull->neighbors[3 * (size_t)triangle + k]), m->face_of[next] == face;) {
            const int32_t at = m->hull->triangles[3 * (size_t)triangle + k];
            triangle = next;
            for (k = 0; m->hull->triangles[3 * (size_t)triangle + k] != at;) k++;
        }
    } while (count < edges && (triangle != start || k != start_k));
    return count == edges && triangle == start && k == start_k ? count : 0;
}

static void triangle_normal(const merger* m, int32_t triangle, double out[3], double* area) {
    double e[3], f[3];
    cal_subtract3(corner(m, triangle, 1), corner(m, triangle, 0), e);
    cal_subtract3(corner(m, triangle, 2), corner(m, triangle, 0), f);
    cal_cross3(e, f, out);
    *area = sqrt(cal_dot3(out, out));
    const double longest = fmax(cal_dot3(e, e), cal_dot3(f, f));
    if (!(*area > 1e-13 * longest) || !cal_normalize3(out)) out[0] = out[1] = out[2] = 0.0;
}

// Shell's sort by falling area, then by number.
static void sort_by_area(const double* area, int32_t* order, int32_t count) {
    int32_t gap = 1;
    while (gap < count / 3) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (int32_t i = gap; i < count; i++) {
            const int32_t item = order[i];
            int32_t k = i;
            for (; k >= gap; k -= gap) {
                const int32_t other = order[k - gap];
                if (area[other] > area[item] || (area[other] == area[item] && other < item)) break;
                order[k] = other;
            }
            order[k] = item;
        }
}

// Faces of the hull as loops.
static void build(merger* m, cal_convex* out, const int32_t* new_number, double* face_normals, cal_topology* topology,
                  int32_t* first, int32_t* loops, int32_t* edges) {
    const int32_t triangles = m->hull->triangle_count;
    int32_t faces = 0, used = 0;
    for (int32_t i = 0; i < triangles; i++) m->face_of[i] = -1, m->order[i] = i;
    sort_by_area(m->area, m->order, triangles);
    for (int32_t i = 0; i < triangles; i++) {
        const int32_t seed = m->order[i];
        const double* normal = m->normals + 3 * (size_t)seed;
        if (m->face_of[seed] >= 0 || cal_dot3(normal, normal) == 0.0) continue;
        flood(m, seed, faces);
        const int length = outline(m, faces, loops + used);
        if (length == 0) { // not one loop: the seed alone will do, for what else there is
            for (int k = 0; k < 3; k++) loops[used + k] = m->hull->triangles[3 * (size_t)seed + (size_t)k];
        }
        first[faces] = used;
        used += length == 0 ? 3 : length;
        memcpy(face_normals + 3 * (size_t)faces, normal, 3 * sizeof *normal);
        faces++;
    }
    first[faces] = used;
    for (int32_t i = 0; i < used; i++) loops[i] = new_number[loops[i]];
    int32_t edge_count = 0;
    for (int32_t t = 0; t < triangles; t++)
        for (size_t k = 0; k < 3; k++) {
            const int32_t from = m->hull->triangles[3 * (size_t)t + k];
            const int32_t to = m->hull->triangles[3 * (size_t)t + (k + 1) % 3];
            if (from > to) continue;
            edges[2 * edge_count] = new_number[from];
            edges[2 * edge_count + 1] = new_number[to];
            edge_count++;
        }
    *topology = (cal_topology){
        .face_count = faces, .edge_count = edge_count, .face_first = first, .face_vertices = loops, .edges = edges};
    out->topology = topology;
    out->normals = face_normals;
}

// Who is around each vertex: every edge of a triangle starts at one and ends at another, and comes once in each direction.
static void find_around(const cal_convex* piece, cal_topology* topology, int32_t* first, int32_t* around,
                        int32_t* seeds) {
    for (int32_t i = 0; i < 3 * piece->triangle_count; i++) first[piece->triangles[i] + 1]++;
    for (int32_t i = 0; i < piece->vertex_count; i++) first[i + 1] += first[i];
    for (int32_t i = 0; i < 3 * piece->triangle_count; i++)
        around[first[piece->triangles[i]]++] = piece->triangles[i % 3 == 2 ? i - 2 : i + 1];
    for (int32_t i = piece->vertex_count; i > 0; i--) first[i] = first[i - 1];
    first[0] = 0;
    topology->around_first = first;
    topology->around = around;
    for (int seed = 0; seed < CAL_SEEDS; seed++) {
        const int at[3] = {seed / 9 - 1, seed / 3 % 3 - 1, seed % 3 - 1};
        const double d[3] = {at[0], at[1], at[2]};
        seeds[seed] = cal_climb(piece, d, 0);
    }
    topology->seeds = seeds;
}

cal_status cal_hull_piece(const double* points, int count, cal_convex* out, void* owned[2], const char* prefix,
                          cal_error* error) {
    cal_hull hull;
    cal_error inner = {0};
    owned[0] = owned[1] = NULL;
    if (cal_hull_create(points, count, &hull, &inner) != CAL_OK)
        return cal_fail(error, inner.status == CAL_NO_MEMORY ? CAL_NO_MEMORY : CAL_BAD_ARGUMENT, "%s: %s", prefix,
                        inner.text);
    const size_t vertices = (size_t)hull.vertex_count, triangles = (size_t)hull.triangle_count;
    double* numbers = cal_allocate(3 * (vertices + 2 * triangles), sizeof *numbers);
    const bool many = hull.vertex_count > CAL_MANY_VERTICES;
    const size_t index_count = 10 * triangles + 1 + (many ? vertices + 1 + 3 * triangles + CAL_SEEDS : 0);
    char* block = cal_allocate(1, sizeof(cal_topology) + index_count * sizeof(int32_t));
    int32_t* new_number = cal_allocate((size_t)count, sizeof *new_number);
    double* triangle_normals = cal_allocate(4 * triangles, sizeof *triangle_normals);
    int32_t* work = cal_allocate(3 * triangles, sizeof *work);
    const bool ok = numbers != NULL && block != NULL && new_number != NULL && triangle_normals != NULL && work != NULL;
    if (ok) {
        double size = 0.0;
        for (size_t i = 0; i < vertices; i++) {
            memcpy(numbers + 3 * i, points + 3 * (size_t)hull.vertices[i], 3 * sizeof *numbers);
            new_number[hull.vertices[i]] = (int32_t)i;
            double d[3];
            cal_subtract3(numbers + 3 * i, numbers, d);
            size = fmax(size, sqrt(cal_dot3(d, d)));
        }
        merger m = {.points = points, .hull = &hull, .normals = triangle_normals, .tolerance = flatness * size};
        m.face_of = work, m.order = work + triangles, m.members = work + 2 * triangles;
        m.area = triangle_normals + 3 * triangles;
        double *face_normals = numbers + 3 * vertices, *facets = numbers + 3 * (vertices + triangles);
        for (int32_t t = 0; t < hull.triangle_count; t++) {
            double* normal = triangle_normals + 3 * (size_t)t;
            triangle_normal(&m, t, normal, &m.area[t]);
            if (cal_dot3(normal, normal) == 0.0) continue;
            memcpy(facets + 3 * (size_t)out->facet_count++, normal, 3 * sizeof *normal);
        }
        cal_topology* topology = (cal_topology*)(void*)block;
        int32_t* indices = (int32_t*)(void*)(block + sizeof *topology);
        out->core = CAL_CORE_HULL;
        out->vertices = numbers;
        out->vertex_count = hull.vertex_count;
        out->facets = facets;
        build(&m, out, new_number, face_normals, topology, indices, indices + triangles + 1,
              indices + 4 * triangles + 1);
        int32_t* copied = indices + 7 * triangles + 1;
        for (size_t i = 0; i < 3 * triangles; i++) copied[i] = new_number[hull.triangles[i]];
        out->triangles = copied;
        out->triangle_count = hull.triangle_count;
        int32_t* first = copied + 3 * triangles;
        if (many) find_around(out, topology, first, first + vertices + 1, first + vertices + 1 + 3 * triangles);
        owned[0] = numbers, owned[1] = block;
    } else {
        cal_free(numbers);
        cal_free(block);
    }
    cal_free(new_number);
    cal_free(triangle_normals);
    cal_free(work);
    cal_hull_destroy(&hull);
    return ok ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "%s: out of memory for its convex hull", prefix);
}
