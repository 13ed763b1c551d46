// Meshes from files and arrays (mesh.h): what all kinds of files have in common.
#include "read/mesh/mesh_build.h"
#include "base/hash.h"
#include "base/memory.h"
#include "math/vector.h"
#include "model/hull.h"
#include "read/files.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

cal_status cal_mesh_complain(cal_mesh_build* build, cal_status status, size_t line, const char* format, ...) {
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    // The end of a long name says more than its beginning.
    const size_t length = strlen(build->name);
    const char* name = length > 80 ? build->name + (length - 80) : build->name;
    build->status = status;
    return line > 0 ? cal_fail(build->error, status, "%s:%zu: %s", name, line, text)
                    : cal_fail(build->error, status, "%s: %s", name, text);
}

static bool no_memory(cal_mesh_build* build) {
    cal_mesh_complain(build, CAL_NO_MEMORY, 0, "out of memory for a mesh of %d vertices", build->mesh.vertex_count);
    return false;
}

// --- Vertices -----------------------------------------------------------------------------------------------------------

static size_t slot_of(const cal_mesh_build* build, const double point[3]) {
    size_t slot = (size_t)cal_hash_doubles(CAL_HASH_START, point, 3) & (build->table_size - 1);
    while (build->table[slot] >= 0 && build->mesh.vertices != NULL &&
           !cal_same_bits(build->mesh.vertices + 3 * (size_t)build->table[slot], point, 3 * sizeof *point))
        slot = (slot + 1) & (build->table_size - 1);
    return slot;
}

// The table is kept at most half full.
static bool grow_table(cal_mesh_build* build) {
    const size_t size = build->table_size == 0 ? 256 : 2 * build->table_size;
    int32_t* table = cal_allocate(size, sizeof *table);
    if (table == NULL) return no_memory(build);
    memset(table, 0xff, size * sizeof *table);
    cal_free(build->table);
    build->table = table;
    build->table_size = size;
    for (int i = 0; i < build->mesh.vertex_count; i++) table[slot_of(build, build->mesh.vertices + 3 * (size_t)i)] = i;
    return true;
}

// Room for one more row of three; false when there is no memory.
static bool reserve_row(void** rows, int count, int* capacity, size_t size) {
    if (count < *capacity) return true;
    const int grown_capacity = 2 * count + 64;
    void* grown = cal_allocate((size_t)grown_capacity, size);
    if (grown == NULL) return false;
    if (count > 0) memcpy(grown, *rows, (size_t)count * size);
    cal_free(*rows);
    *rows = grown;
    *capacity = grown_capacity;
    return true;
}

int cal_mesh_add_vertex(cal_mesh_build* build, const double point[3], const char* unit, size_t where) {
    double rounded[3];
    for (int i = 0; i < 3; i++) {
        // Adding 0 makes −0 and 0 the same bits.
        rounded[i] = fabs(point[i]) <= 3.4028234663852886e38 ? (double)(float)point[i] + 0.0 : NAN;
        if (isnan(rounded[i])) {
            cal_mesh_complain(build, CAL_BAD_MODEL, 0, "a vertex of %s %zu is not finite", unit, where);
            return -1;
        }
    }
    cal_triangles* mesh = &build->mesh;
    if (2 * ((size_t)mesh->vertex_count + 1) > build->table_size && !grow_table(build)) return -1;
    const size_t slot = slot_of(build, rounded);
    if (build->table[slot] >= 0) return build->table[slot];
    if (mesh->vertex_count >= CAL_MESH_VERTEX_LIMIT) {
        cal_mesh_complain(build, CAL_BAD_MODEL, 0, "it has more than %d vertices", (int)CAL_MESH_VERTEX_LIMIT);
        return -1;
    }
    void* rows = mesh->vertices;
    const bool ok = reserve_row(&rows, mesh->vertex_count, &build->vertex_capacity, sizeof rounded);
    mesh->vertices = rows;
    if (!ok) return no_memory(build) ? 0 : -1;
    memcpy(mesh->vertices + 3 * (size_t)mesh->vertex_count, rounded, sizeof rounded);
    build->table[slot] = mesh->vertex_count;
    return mesh->vertex_count++;
}

bool cal_mesh_add_triangle(cal_mesh_build* build, int a, int b, int c) {
    cal_triangles* mesh = &build->mesh;
    // A triangle with two corners in one point has neither area nor sides.
    if (a == b || b == c || c == a) return true;
    if (mesh->triangle_count >= CAL_MESH_TRIANGLE_LIMIT) {
        cal_mesh_complain(build, CAL_BAD_MODEL, 0, "it has more than %d triangles", (int)CAL_MESH_TRIANGLE_LIMIT);
        return false;
    }
    const int32_t corners[3] = {a, b, c};
    void* rows = mesh->triangles;
    const bool ok = reserve_row(&rows, mesh->triangle_count, &build->triangle_capacity, sizeof corners);
    mesh->triangles = rows;
    if (!ok) return no_memory(build);
    memcpy(mesh->triangles + 3 * (size_t)mesh->triangle_count++, corners, sizeof corners);
    return true;
}

// --- Files --------------------------------------------------------------------------------------------------------------

// Points alone stand for their hull.
static cal_status add_hull(cal_mesh_build* build) {
    cal_hull hull;
    cal_error why;
    const cal_status status = cal_hull_create(build->mesh.vertices, build->mesh.vertex_count, &hull, &why);
    if (status != CAL_OK)
        return cal_mesh_complain(build, status, 0, "it has no triangles, and of its vertices %s", why.text);
    for (size_t i = 0; i < (size_t)hull.triangle_count && build->status == CAL_OK; i++)
        cal_mesh_add_triangle(build, hull.triangles[3 * i], hull.triangles[3 * i + 1], hull.triangles[3 * i + 2]);
    cal_hull_destroy(&hull);
    return build->status;
}

static cal_status finish(cal_mesh_build* build, cal_triangles* out) {
    if (build->status == CAL_OK && build->mesh.triangle_count == 0) add_hull(build);
    cal_free(build->table);
    if (build->status != CAL_OK) cal_mesh_free(&build->mesh);
    *out = build->mesh;
    return build->status;
}

// Whether a name ends with a dot and this ending, in any case.
static bool ends_with(const char* name, const char* ending) {
    const size_t length = strlen(name), count = strlen(ending);
    if (length <= count || name[length - count - 1] != '.') return false;
    for (size_t i = 0; i < count; i++) {
        const char c = name[length - count + i];
        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != ending[i]) return false;
    }
    return true;
}

typedef cal_status parser(cal_mesh_build* build, const char* text, size_t count);
static const struct {
    const char* ending;
    parser* parse;
} kinds[] = {{"stl", cal_mesh_parse_stl}, {"obj", cal_mesh_parse_obj}, {"dae", cal_mesh_parse_dae}};

// The reader of a file with this name; NULL: there is none.
static parser* find_parser(const char* name) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (ends_with(name, kinds[i].ending)) return kinds[i].parse;
    return NULL;
}

bool cal_mesh_is_known(const char* name) { return find_parser(name) != NULL; }

static cal_status refuse_kind(const char* name, cal_error* error) {
    const char* dot = strrchr(name, '.');
    return cal_fail(error, CAL_NOT_AVAILABLE, "%.120s: meshes of kind '%.20s' are not read; STL, OBJ and DAE are", name,
                    dot != NULL ? dot : "");
}

// text ends with a NUL that is not counted.
static cal_status parse_text(const char* name, const char* text, size_t count, bool as_mujoco, cal_triangles* out,
                             cal_error* error) {
    cal_mesh_build build = {.name = name, .error = error, .as_mujoco = as_mujoco};
    build.status = find_parser(name)(&build, text, count);
    return finish(&build, out);
}

static cal_status parse_bytes(const char* name, const void* bytes, size_t count, bool as_mujoco, cal_triangles* out,
                              cal_error* error) {
    *out = (cal_triangles){0};
    if (!cal_mesh_is_known(name)) return refuse_kind(name, error);
    char* text = count <= CAL_MESH_FILE_LIMIT ? cal_allocate(count + 1, 1) : NULL;
    if (text == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a mesh of %zu bytes", count);
    if (count > 0) memcpy(text, bytes, count);
    const cal_status status = parse_text(name, text, count, as_mujoco, out, error);
    cal_free(text);
    return status;
}

cal_status cal_mesh_parse(const char* name, const void* bytes, size_t count, cal_triangles* out, cal_error* error) {
    return parse_bytes(name, bytes, count, false, out, error);
}

cal_status cal_mesh_parse_as_mujoco(const char* name, const void* bytes, size_t count, cal_triangles* out,
                                    cal_error* error) {
    return parse_bytes(name, bytes, count, true, out, error);
}

cal_status cal_mesh_read(const char* path, cal_triangles* out, cal_error* error) {
    *out = (cal_triangles){0};
    if (!cal_mesh_is_known(path)) return refuse_kind(path, error);
    char* text;
    size_t count;
    cal_status status = cal_file_read(path, CAL_MESH_FILE_LIMIT, NULL, &text, &count, error);
    if (status != CAL_OK) return status;
    status = parse_text(path, text, count, false, out, error);
    cal_free(text);
    return status;
}

cal_status cal_mesh_from_arrays(const char* name, const double* vertices, int vertex_count, const int32_t* triangles,
                                int triangle_count, cal_triangles* out, cal_error* error) {
    *out = (cal_triangles){0};
    cal_mesh_build build = {.name = name, .error = error};
    int* number = cal_allocate((size_t)vertex_count, sizeof *number);
    if (number == NULL) {
        no_memory(&build);
        return finish(&build, out);
    }
    for (int i = 0; i < vertex_count && build.status == CAL_OK; i++)
        number[i] = cal_mesh_add_vertex(&build, vertices + 3 * (size_t)i, "vertex", (size_t)i);
    for (int i = 0; i < triangle_count && build.status == CAL_OK; i++) {
        const int32_t* corners = triangles + 3 * (size_t)i;
        for (int k = 0; k < 3 && build.status == CAL_OK; k++)
            if (corners[k] < 0 || corners[k] >= vertex_count)
                cal_mesh_complain(&build, CAL_BAD_MODEL, 0, "face %d names vertex %d, but there are %d", i, corners[k],
                                  vertex_count);
        if (build.status == CAL_OK)
            cal_mesh_add_triangle(&build, number[corners[0]], number[corners[1]], number[corners[2]]);
    }
    cal_free(number);
    return finish(&build, out);
}

void cal_mesh_free(cal_triangles* mesh) {
    cal_free(mesh->vertices);
    cal_free(mesh->triangles);
    cal_free(mesh->coordinates);
    *mesh = (cal_triangles){0};
}

void cal_mesh_transform(cal_triangles* mesh, const double scale[3], const double refpos[3], const double refquat[4]) {
    double R[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    if (refquat != NULL) cal_quaternion_matrix(refquat, R);
    for (int i = 0; i < mesh->vertex_count; i++) {
        double* v = mesh->vertices + 3 * (size_t)i;
        for (int k = 0; refpos != NULL && k < 3; k++) v[k] -= refpos[k];
        if (refquat != NULL) cal_unrotate3(R, v, v);
        for (int k = 0; scale != NULL && k < 3; k++) v[k] *= scale[k];
    }
    const bool mirrored = scale != NULL && ((scale[0] < 0.0) != (scale[1] < 0.0)) != (scale[2] < 0.0);
    if (!mirrored) return;
    for (int i = 0; i < mesh->triangle_count; i++) {
        int32_t* corners = mesh->triangles + 3 * (size_t)i;
        const int32_t second = corners[1];
        corners[1] = corners[2];
        corners[2] = second;
        for (int k = 0; mesh->coordinates != NULL && k < 2; k++) {
            float* own = mesh->coordinates + 6 * (size_t)i;
            const float x = own[2 + k];
            own[2 + k] = own[4 + k];
            own[4 + k] = x;
        }
    }
}
