// COLLADA files: the triangles of all geometries that the scene shows, where it shows them.
//
//     COLLADA ─┬─ asset ── unit meter="0.01"                     everything is scaled by it
//              ├─ library_geometries ── geometry ── mesh ─┬─ source ── float_array, accessor
//              │                                          ├─ vertices ── input POSITION
//              │                                          └─ triangles, polylist, polygons, tristrips, trifans
//              ├─ library_nodes ── node                          for instance_node
//              └─ library_visual_scenes ── visual_scene ── node ─┬─ matrix, translate, rotate, scale: one after the other
//                                                                └─ instance_geometry url="#…"
//
// Faces with more than three corners are cut as fans. `up_axis` is ignored, as by RViz: links are modelled in the axes that the URDF gives
// them. A file without a scene shows all of its geometries.
#include "base/memory.h"
#include "math/vector.h"
#include "model/angle.h"
#include "read/mesh/mesh_build.h"
#include "read/xml.h"
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64, MOST_INSTANCES = 100000, MOST_CORNERS = 100000 };

typedef struct reader {
    cal_mesh_build* build;
    cal_xml_node* root;
    double unit;
    int instances;
} reader;

// x' = m x, rows of 3 × 4.
typedef struct transform {
    double m[12];
} transform;
static const transform identity = {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};

static transform compose(const transform* a, const transform* b) {
    transform out;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++) {
            out.m[4 * i + k] = k == 3 ? a->m[4 * i + 3] : 0.0;
            for (int n = 0; n < 3; n++) out.m[4 * i + k] += a->m[4 * i + n] * b->m[4 * n + k];
        }
    return out;
}

static cal_status complain(const reader* r, const cal_xml_node* node, const char* why) {
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): who complains has an element
    return cal_mesh_complain(r->build, CAL_BAD_MODEL, (size_t)node->line, "<%.40s>: %s", node->name, why);
}

// --- References ------------------------------------------------------------------------------------------------------------

// The element `name` in the libraries `library` whose id a reference "#id" names; NULL when there is none.
static cal_xml_node* find(const reader* r, const char* library, const char* name, const char* reference) {
    if (reference == NULL || reference[0] != '#') return NULL;
    for (cal_xml_node* list = cal_xml_child(r->root, library); list != NULL; list = cal_xml_next(list, library))
        for (cal_xml_node* node = cal_xml_child(list, name); node != NULL; node = cal_xml_next(node, name)) {
            const char* id = cal_xml_text(node, "id");
            if (id != NULL && strcmp(id, reference + 1) == 0) return node;
        }
    return NULL;
}

static cal_xml_node* find_in(const cal_xml_node* mesh, const char* name, const char* reference) {
    if (reference == NULL || reference[0] != '#') return NULL;
    for (cal_xml_node* node = cal_xml_child(mesh, name); node != NULL; node = cal_xml_next(node, name)) {
        const char* id = cal_xml_text(node, "id");
        if (id != NULL && strcmp(id, reference + 1) == 0) return node;
    }
    return NULL;
}

static cal_xml_node* find_input(const cal_xml_node* node, const char* semantic) {
    for (cal_xml_node* input = cal_xml_child(node, "input"); input != NULL; input = cal_xml_next(input, "input")) {
        const char* own = cal_xml_text(input, "semantic");
        if (own != NULL && strcmp(own, semantic) == 0) return input;
    }
    return NULL;
}

// --- Vertices --------------------------------------------------------------------------------------------------------------

typedef struct points {
    int* numbers; // of the mesh's vertices
    int count;
} points;

static cal_status read_points(const reader* r, const cal_xml_node* mesh, const cal_xml_node* primitive,
                              const transform* place, points* out) {
    cal_xml_node* input = find_input(primitive, "VERTEX");
    cal_xml_node* vertices = input != NULL ? find_in(mesh, "vertices", cal_xml_text(input, "source")) : NULL;
    cal_xml_node* position = vertices != NULL ? find_input(vertices, "POSITION") : NULL;
    cal_xml_node* source = position != NULL ? find_in(mesh, "source", cal_xml_text(position, "source")) : NULL;
    const cal_xml_node* array = source != NULL ? cal_xml_child(source, "float_array") : NULL;
    if (array == NULL) return complain(r, primitive, "its vertices have no positions");
    int stride = 3;
    cal_xml_node* common = cal_xml_child(source, "technique_common");
    cal_xml_node* accessor = common != NULL ? cal_xml_child(common, "accessor") : NULL;
    const char* steps = accessor != NULL ? cal_xml_text(accessor, "stride") : NULL;
    if (steps != NULL) stride = atoi(steps);
    const int numbers = cal_read_numbers(array->text, 0, NULL);
    if (numbers < 0 || stride < 3 || numbers % stride != 0) return complain(r, array, "it is not made of points");
    double* values = cal_allocate((size_t)numbers + 1, sizeof *values);
    out->count = numbers / stride;
    out->numbers = cal_allocate((size_t)out->count + 1, sizeof *out->numbers);
    if (values == NULL || out->numbers == NULL) {
        cal_free(values);
        return cal_mesh_complain(r->build, CAL_NO_MEMORY, 0, "out of memory for %d points", out->count);
    }
    cal_read_numbers(array->text, numbers, values);
    for (int i = 0; i < out->count && r->build->status == CAL_OK; i++) {
        const double* p = values + (size_t)i * (size_t)stride;
        double placed[3];
        for (int k = 0; k < 3; k++) placed[k] = r->unit * (cal_dot3(place->m + 4 * k, p) + place->m[4 * k + 3]);
        out->numbers[i] = cal_mesh_add_vertex(r->build, placed, "point", (size_t)i);
    }
    cal_free(values);
    return r->build->status;
}

// --- Faces -----------------------------------------------------------------------------------------------------------------

// Numbers between a node's tags, as whole numbers; the caller frees them.
static cal_status read_indices(const reader* r, const cal_xml_node* node, int** out, int* count) {
    *count = cal_read_numbers(node->text, 0, NULL);
    *out = NULL;
    if (*count < 0) return complain(r, node, "it is not made of numbers");
    double* values = cal_allocate((size_t)*count + 1, sizeof *values);
    int* numbers = cal_allocate((size_t)*count + 1, sizeof *numbers);
    if (values == NULL || numbers == NULL) {
        cal_free(values);
        cal_free(numbers);
        return cal_mesh_complain(r->build, CAL_NO_MEMORY, 0, "out of memory for %d numbers", *count);
    }
    cal_read_numbers(node->text, *count, values);
    for (int i = 0; i < *count; i++) numbers[i] = values[i] >= 0.0 && values[i] < 2e9 ? (int)values[i] : -1;
    cal_free(values);
    *out = numbers;
    return CAL_OK;
}

typedef struct corners {
    const points* points;
    const int* numbers;
    int count, stride, offset; // numbers; of a corner; where its vertex is
} corners;

static int corner(const corners* c, int index) {
    const long at = (long)index * c->stride + c->offset;
    const int number = at < c->count ? c->numbers[at] : -1;
    return number >= 0 && number < c->points->count ? c->points->numbers[number] : -1;
}

static cal_status add_triangle(const reader* r, const cal_xml_node* node, const corners* c, int i, int j, int k) {
    const int a = corner(c, i), b = corner(c, j), d = corner(c, k);
    if (a < 0 || b < 0 || d < 0) return complain(r, node, "it names points that are not there");
    cal_mesh_add_triangle(r->build, a, b, d);
    return r->build->status;
}

// A face of corners first … first + count − 1, as a fan; or a strip of triangles.
static cal_status add_face(const reader* r, const cal_xml_node* node, const corners* c, int first, int count,
                           bool strip) {
    cal_status status = CAL_OK;
    if (count > MOST_CORNERS) return complain(r, node, "it has a face with too many corners");
    for (int i = 2; i < count && status == CAL_OK; i++) {
        const int odd = strip ? i % 2 : 0;
        status = add_triangle(r, node, c, strip ? first + i - 2 + odd : first, first + i - 1 - odd, first + i);
    }
    return status;
}

// What a primitive's <p> hold: one list of triangles, one of faces whose corners <vcount> counts, or a face (a strip) each.
static cal_status read_primitive(const reader* r, const cal_xml_node* mesh, cal_xml_node* node,
                                 const transform* place) {
    points all = {0};
    corners c = {.points = &all};
    cal_status status = read_points(r, mesh, node, place, &all);
    for (cal_xml_node* input = cal_xml_child(node, "input"); input != NULL; input = cal_xml_next(input, "input")) {
        const char *offset = cal_xml_text(input, "offset"), *semantic = cal_xml_text(input, "semantic");
        const int own = offset != NULL ? atoi(offset) : 0;
        if (own < 0 || own > 100) status = complain(r, input, "its offset is wrong");
        if (own + 1 > c.stride) c.stride = own + 1;
        if (semantic != NULL && strcmp(semantic, "VERTEX") == 0) c.offset = own;
    }
    const bool lists = cal_xml_is(node, "polylist"), triangles = cal_xml_is(node, "triangles");
    const cal_xml_node* vcount = cal_xml_child(node, "vcount");
    int *sizes = NULL, size_count = 0, *numbers = NULL;
    if (status == CAL_OK && lists && vcount != NULL) status = read_indices(r, vcount, &sizes, &size_count);
    for (cal_xml_node* p = cal_xml_child(node, "p"); status == CAL_OK && p != NULL; p = cal_xml_next(p, "p")) {
        status = read_indices(r, p, &numbers, &c.count);
        c.numbers = numbers;
        const int corner_count = c.stride > 0 ? c.count / c.stride : 0;
        if (triangles)
            for (int i = 0; status == CAL_OK && i + 2 < corner_count; i += 3) status = add_face(r, p, &c, i, 3, false);
        else if (lists)
            for (int i = 0, at = 0; status == CAL_OK && i < size_count; at += sizes[i++]) {
                if (sizes[i] < 0 || sizes[i] > corner_count - at)
                    status = complain(r, p, "vcount counts more corners than there are");
                else
                    status = add_face(r, p, &c, at, sizes[i], false);
            }
        else
            status = add_face(r, p, &c, 0, corner_count, cal_xml_is(node, "tristrips"));
        cal_free(numbers);
    }
    cal_free(sizes);
    cal_free(all.numbers);
    return status;
}

static cal_status show_geometry(reader* r, const cal_xml_node* geometry, const transform* place) {
    static const char* const kinds[] = {"triangles", "polylist", "polygons", "tristrips", "trifans"};
    const cal_xml_node* mesh = cal_xml_child(geometry, "mesh");
    cal_status status = CAL_OK;
    if (++r->instances > MOST_INSTANCES) return complain(r, geometry, "it is shown too often");
    for (cal_xml_node* node = mesh != NULL ? mesh->first : NULL; status == CAL_OK && node != NULL; node = node->next)
        for (size_t i = 0; status == CAL_OK && i < sizeof kinds / sizeof kinds[0]; i++)
            if (cal_xml_is(node, kinds[i])) status = read_primitive(r, mesh, node, place);
    return status;
}

// --- The scene -------------------------------------------------------------------------------------------------------------

static bool read_step(const cal_xml_node* node, transform* out) {
    double v[16];
    *out = identity;
    const int count = cal_read_numbers(node->text, 16, v);
    if (cal_xml_is(node, "matrix") && count == 16)
        memcpy(out->m, v, sizeof out->m);
    else if (cal_xml_is(node, "translate") && count == 3)
        for (int i = 0; i < 3; i++) out->m[4 * i + 3] = v[i];
    else if (cal_xml_is(node, "scale") && count == 3)
        for (int i = 0; i < 3; i++) out->m[5 * i] = v[i];
    else if (cal_xml_is(node, "rotate") && count == 4) {
        const double length = sqrt(cal_dot3(v, v));
        double quaternion[4], R[9];
        if (!(length > 0.0)) return true;
        for (int i = 0; i < 3; i++) v[i] /= length;
        cal_axis_quaternion(v, v[3] / 180.0 * CAL_PI, quaternion);
        cal_quaternion_matrix(quaternion, R);
        for (int i = 0; i < 9; i++) out->m[i / 3 * 4 + i % 3] = R[i];
    } else
        return !(cal_xml_is(node, "matrix") || cal_xml_is(node, "translate") || cal_xml_is(node, "scale") ||
                 cal_xml_is(node, "rotate"));
    return true;
}

static cal_status show_node(reader* r, const cal_xml_node* node, const transform* above, int depth) {
    transform place = *above;
    cal_status status = CAL_OK;
    if (depth > DEEPEST || ++r->instances > MOST_INSTANCES) return complain(r, node, "nodes are nested too deeply");
    for (cal_xml_node* part = node->first; status == CAL_OK && part != NULL; part = part->next) {
        transform step;
        if (!read_step(part, &step)) return complain(r, part, "it has the wrong count of numbers");
        place = compose(&place, &step);
        const cal_xml_node* named = NULL;
        if (cal_xml_is(part, "instance_geometry")) {
            named = find(r, "library_geometries", "geometry", cal_xml_text(part, "url"));
            status = named != NULL ? show_geometry(r, named, &place) : complain(r, part, "there is no such geometry");
        } else if (cal_xml_is(part, "instance_node")) {
            named = find(r, "library_nodes", "node", cal_xml_text(part, "url"));
            status =
                named != NULL ? show_node(r, named, &place, depth + 1) : complain(r, part, "there is no such node");
        } else if (cal_xml_is(part, "node"))
            status = show_node(r, part, &place, depth + 1);
    }
    return status;
}

static cal_status show_scene(reader* r) {
    cal_xml_node* scene = cal_xml_child(r->root, "scene");
    cal_xml_node* instance = scene != NULL ? cal_xml_child(scene, "instance_visual_scene") : NULL;
    const cal_xml_node* shown =
        instance != NULL ? find(r, "library_visual_scenes", "visual_scene", cal_xml_text(instance, "url")) : NULL;
    cal_status status = CAL_OK;
    if (shown != NULL) return show_node(r, shown, &identity, 0);
    for (cal_xml_node* list = cal_xml_child(r->root, "library_geometries"); status == CAL_OK && list != NULL;
         list = cal_xml_next(list, "library_geometries"))
        for (cal_xml_node* node = cal_xml_child(list, "geometry"); status == CAL_OK && node != NULL;
             node = cal_xml_next(node, "geometry"))
            status = show_geometry(r, node, &identity);
    return status;
}

cal_status cal_mesh_parse_dae(cal_mesh_build* build, const char* text, size_t count) {
    cal_xml_document* document = NULL;
    cal_status status = cal_xml_parse(text, count, build->name, &document, build->error);
    if (status != CAL_OK) {
        build->status = status;
        return status;
    }
    reader r = {.build = build, .root = cal_xml_root(document), .unit = 1.0};
    const cal_xml_node* asset = cal_xml_child(r.root, "asset");
    cal_xml_node* unit = asset != NULL ? cal_xml_child(asset, "unit") : NULL;
    if (!cal_xml_is(r.root, "COLLADA")) status = complain(&r, r.root, "it is no COLLADA file");
    if (status == CAL_OK && unit != NULL) {
        status = cal_xml_number(unit, "meter", &r.unit, build->error);
        if (status == CAL_OK && !(r.unit > 0.0 && isfinite(r.unit)))
            status = complain(&r, unit, "its unit has no length");
    }
    if (status == CAL_OK) status = show_scene(&r);
    if (status == CAL_OK && build->mesh.triangle_count == 0)
        status = cal_mesh_complain(build, CAL_BAD_MODEL, 0, "it shows no triangles");
    build->status = status;
    cal_xml_destroy(document);
    return status;
}
