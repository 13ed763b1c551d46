// Geometry, materials and meshes of a URDF.
//
// <visual> becomes a shape that is seen, <collision> one that touches; of a link without <visual>, or of which no
// <visual> can be read, the collision geometry is seen too. A mesh that is in a kind of file, or in a package, that
// cannot be read is reported and left out: motion does not depend on it, since masses are given. A mesh that should be
// there and is not, or is broken, is an error.
#include "read/urdf/parts.h"
#include "base/memory.h"
#include "math/vector.h"
#include "read/mesh/mesh.h"
#include <string.h>

static const double water = 1000.0; // kg/m³

// --- Materials ----------------------------------------------------------------------------------------------------------

static cal_status read_color(cal_xml_node* material, float color[4], bool* found, cal_error* error) {
    cal_xml_node* node;
    double rgba[4] = {0.0, 0.0, 0.0, 1.0};
    cal_status status = cal_urdf_only_child(material, "color", &node, error);
    *found = node != NULL;
    if (status != CAL_OK || node == NULL) return status;
    status = cal_urdf_numbers(node, "rgba", 4, rgba, true, error);
    for (int i = 0; i < 4; i++) color[i] = (float)(rgba[i] < 0.0 ? 0.0 : rgba[i] > 1.0 ? 1.0 : rgba[i]);
    return status;
}

static void note_texture(const urdf* u, cal_xml_node* material) {
    cal_xml_node* texture = cal_xml_child(material, "texture");
    if (texture == NULL) return;
    texture->used = true;
    cal_xml_text(texture, "filename");
    cal_report_add(u->reader->report, texture, CAL_ISSUE_NOTE, "<texture>", "is not drawn");
}

static cal_status define_material(urdf* u, cal_xml_node* material, cal_error* error) {
    const char* name = cal_xml_text(material, "name");
    float color[4];
    bool found;
    const cal_status status = read_color(material, color, &found, error);
    if (status != CAL_OK || !found || name == NULL || name[0] == '\0') return status;
    // The first definition of a name holds.
    if (cal_names_add(u->material_names, name, u->material_count) != u->material_count) return CAL_OK;
    urdf_material* out = &u->materials[u->material_count++];
    out->name = name;
    memcpy(out->color, color, sizeof color);
    return CAL_OK;
}

// A material may be defined at the top, or where it is used first.
cal_status cal_urdf_read_materials(urdf* u, cal_error* error) {
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            u->materials = cal_allocate(count, sizeof *u->materials);
            u->material_names = cal_names_create(count);
            if (u->materials == NULL || u->material_names == NULL)
                return cal_xml_fail(u->robot, error, CAL_NO_MEMORY, "out of memory for %zu materials", count);
        }
        for (cal_xml_node* node = cal_xml_child(u->robot, NULL); node != NULL; node = cal_xml_next(node, NULL)) {
            cal_xml_node* visual = cal_xml_is(node, "link") ? cal_xml_child(node, "visual") : NULL;
            cal_xml_node* material = cal_xml_is(node, "material") ? node : NULL;
            while (visual != NULL || material != NULL) {
                if (visual != NULL) material = cal_xml_child(visual, "material");
                if (material != NULL) {
                    count++;
                    material->used = true;
                    const cal_status status = pass == 1 ? define_material(u, material, error) : CAL_OK;
                    if (status != CAL_OK) return status;
                    if (pass == 1) note_texture(u, material);
                }
                material = NULL;
                if (visual != NULL) visual = cal_xml_next(visual, "visual");
            }
        }
    }
    return CAL_OK;
}

static cal_status paint(const urdf* u, cal_xml_node* visual, float color[4], cal_error* error) {
    cal_xml_node* material = cal_xml_child(visual, "material");
    bool found;
    if (material == NULL) return CAL_OK;
    for (cal_xml_node* more = cal_xml_next(material, "material"); more != NULL; more = cal_xml_next(more, "material")) {
        more->used = true;
        cal_report_add(u->reader->report, more, CAL_ISSUE_NOTE, "<material>",
                       "a shape is drawn in the first of its materials");
    }
    const cal_status status = read_color(material, color, &found, error);
    if (status != CAL_OK || found) return status;
    const char* name = cal_xml_text(material, "name");
    const int number = name != NULL ? cal_names_find(u->material_names, name) : CAL_NONE;
    if (number >= 0)
        memcpy(color, u->materials[number].color, 4 * sizeof *color);
    else if (cal_xml_child(material, "texture") == NULL)
        cal_report_add(u->reader->report, material, CAL_ISSUE_NOTE, "<material>", "is defined nowhere; drawn in grey");
    return CAL_OK;
}

// --- Meshes -------------------------------------------------------------------------------------------------------------

static int find_mesh(const urdf* u, const char* path, const double scale[3]) {
    for (int i = 0; i < u->mesh_count; i++)
        if (cal_same_bits(u->meshes[i].scale, scale, 3 * sizeof *scale) && strcmp(u->meshes[i].path, path) == 0)
            return u->meshes[i].number;
    return CAL_NONE;
}

static bool remember_mesh(urdf* u, const char* path, const double scale[3], int number) {
    if (u->mesh_count == u->mesh_capacity) {
        const int capacity = 2 * u->mesh_capacity + 16;
        urdf_mesh* grown = cal_allocate((size_t)capacity, sizeof *grown);
        if (grown == NULL) return false;
        if (u->mesh_count > 0) memcpy(grown, u->meshes, (size_t)u->mesh_count * sizeof *grown);
        cal_free(u->meshes);
        u->meshes = grown;
        u->mesh_capacity = capacity;
    }
    urdf_mesh* mesh = &u->meshes[u->mesh_count];
    mesh->path = cal_copy_text(path);
    if (mesh->path == NULL) return false;
    memcpy(mesh->scale, scale, sizeof mesh->scale);
    mesh->number = number;
    u->mesh_count++;
    return true;
}

// The file's name without its folder and ending.
static void mesh_name(const char* path, char* out, size_t capacity) {
    const char* slash = strrchr(path, '/');
    const char* base = slash != NULL ? slash + 1 : path;
    const char* dot = strrchr(base, '.');
    const size_t length = dot != NULL && dot != base ? (size_t)(dot - base) : strlen(base);
    const size_t used = length < capacity ? length : capacity - 1;
    memcpy(out, base, used);
    out[used] = '\0';
}

static cal_status load_mesh(urdf* u, cal_xml_node* node, const char* path, const double scale[3], int* number,
                            cal_error* error) {
    cal_triangles triangles;
    cal_error why;
    const cal_status status = cal_mesh_read(path, &triangles, &why);
    if (status != CAL_OK) return cal_xml_fail(node, error, status, "%s", why.text);
    if (triangles.left_out > 0)
        cal_report_add(u->reader->report, node, CAL_ISSUE_NOTE, "<mesh>",
                       "has several objects: the first is the mesh, the faces of the others are left out");
    cal_mesh_transform(&triangles, scale, NULL, NULL);
    char name[128];
    mesh_name(path, name, sizeof name);
    cal_mesh_def def = cal_default_mesh_def();
    def.name = name;
    def.vertices = triangles.vertices;
    def.triangles = triangles.triangles;
    def.vertex_count = triangles.vertex_count;
    def.triangle_count = triangles.triangle_count;
    *number = cal_builder_add_mesh(u->reader->builder, &def);
    cal_mesh_free(&triangles);
    if (*number < 0 || !remember_mesh(u, path, scale, *number))
        return cal_xml_fail(node, error, CAL_NO_MEMORY, "out of memory for the mesh '%.80s'", path);
    return CAL_OK;
}

// *number stays CAL_NONE for a mesh that was left out, and the report says why.
static cal_status read_mesh(urdf* u, cal_xml_node* node, int* number, cal_error* error) {
    const char* name = cal_xml_text(node, "filename");
    double scale[3] = {1.0, 1.0, 1.0};
    char path[CAL_PATH];
    bool found;
    *number = CAL_NONE;
    if (name == NULL || name[0] == '\0') return cal_xml_fail(node, error, CAL_BAD_MODEL, "it has no filename");
    cal_status status = cal_urdf_numbers(node, "scale", 3, scale, false, error);
    if (status != CAL_OK) return status;
    for (int i = 0; i < 3; i++)
        if (scale[i] == 0.0) return cal_xml_fail(node, error, CAL_BAD_MODEL, "its scale has a zero");
    if (!cal_mesh_is_known(name)) {
        const char* dot = strrchr(name, '.');
        cal_report_add(u->reader->report, node, CAL_ISSUE_NOT_SIMULATED, "<mesh>",
                       "meshes of kind '%.10s' are not read (STL, OBJ and DAE are): the shape is left out",
                       dot != NULL ? dot : "");
        return CAL_OK;
    }
    status = cal_urdf_resolve(u, node, name, path, &found, error);
    if (status != CAL_OK) return status;
    if (!found) {
        const char* package = strstr(name, "://") + 3;
        const size_t length = strcspn(package, "/");
        cal_report_add(u->reader->report, node, CAL_ISSUE_NOT_SIMULATED, "<mesh>",
                       "the package '%.*s' is in no package path (--package-path): the shape is left out",
                       (int)(length > 60 ? 60 : length), package);
        return CAL_OK;
    }
    *number = find_mesh(u, path, scale);
    return *number != CAL_NONE ? CAL_OK : load_mesh(u, node, path, scale, number, error);
}

// --- Geometry -----------------------------------------------------------------------------------------------------------

static cal_status read_round(cal_xml_node* node, cal_shape_def* shape, cal_error* error) {
    cal_status status = cal_urdf_numbers(node, "radius", 1, &shape->size[0], true, error);
    if (status == CAL_OK && shape->kind != CAL_SPHERE)
        status = cal_urdf_numbers(node, "length", 1, &shape->size[1], true, error);
    shape->size[1] *= 0.5;
    return status;
}

// Bullet's <plane normal="0 0 1"/>: turned so that its own z becomes the normal.
static cal_status read_plane(cal_xml_node* node, urdf_origin* origin, cal_error* error) {
    double normal[3] = {0.0, 0.0, 1.0}, R[9];
    const cal_status status = cal_urdf_numbers(node, "normal", 3, normal, false, error);
    if (status != CAL_OK) return status;
    const double length = sqrt(cal_dot3(normal, normal));
    if (!(length > 0.0)) return cal_xml_fail(node, error, CAL_BAD_MODEL, "its normal is zero");
    for (int i = 0; i < 3; i++) normal[i] /= length;
    urdf_origin turned = {.position = {0.0, 0.0, 0.0}};
    cal_rotation_to_axis(normal, R);
    cal_matrix_quaternion(R, turned.quaternion);
    *origin = cal_urdf_compose(origin, &turned);
    return CAL_OK;
}

// <origin> and the one element of <geometry>, as far as it is no mesh; *mesh is the mesh, else NULL. *known is false when it is
// something else, which is then left to the list of what was not understood.
static cal_status read_geometry(cal_xml_node* owner, cal_shape_def* shape, cal_xml_node** mesh, bool* known,
                                cal_error* error) {
    cal_xml_node* geometry;
    urdf_origin origin;
    *mesh = NULL;
    cal_status status = cal_urdf_only_child(owner, "geometry", &geometry, error);
    if (status == CAL_OK) status = cal_urdf_read_origin(owner, &origin, error);
    if (status != CAL_OK) return status;
    cal_xml_node* node = geometry != NULL ? cal_xml_child(geometry, NULL) : NULL;
    *known = node != NULL;
    if (!*known) return CAL_OK;
    memset(shape->size, 0, sizeof shape->size);
    int sizes = 0;
    node->used = true;
    if (cal_xml_is(node, "box")) {
        shape->kind = CAL_BOX;
        status = cal_urdf_numbers(node, "size", sizes = 3, shape->size, true, error);
        for (int i = 0; i < 3; i++) shape->size[i] *= 0.5;
    } else if (cal_xml_is(node, "sphere")) {
        shape->kind = CAL_SPHERE, sizes = 1;
        status = read_round(node, shape, error);
    } else if (cal_xml_is(node, "cylinder")) {
        shape->kind = CAL_CYLINDER, sizes = 2;
        status = read_round(node, shape, error);
    } else if (cal_xml_is(node, "capsule") || cal_xml_is(node, "drake:capsule")) {
        shape->kind = CAL_CAPSULE, sizes = 2;
        status = read_round(node, shape, error);
    } else if (cal_xml_is(node, "drake:ellipsoid")) {
        static const char* const names[3] = {"a", "b", "c"};
        shape->kind = CAL_ELLIPSOID, sizes = 3;
        for (int i = 0; i < 3 && status == CAL_OK; i++)
            status = cal_urdf_numbers(node, names[i], 1, &shape->size[i], true, error);
    } else if (cal_xml_is(node, "plane")) {
        shape->kind = CAL_PLANE;
        status = read_plane(node, &origin, error);
    } else if (cal_xml_is(node, "mesh")) {
        shape->kind = CAL_MESH;
        *mesh = node;
    } else
        *known = node->used = false;
    for (int i = 0; status == CAL_OK && i < sizes; i++)
        if (!(shape->size[i] > 0.0))
            status = cal_xml_fail(node, error, CAL_BAD_MODEL, "it has a size of %g; sizes must be above zero",
                                  shape->size[i]);
    memcpy(shape->position, origin.position, sizeof shape->position);
    memcpy(shape->quaternion, origin.quaternion, sizeof shape->quaternion);
    return status;
}

// A mesh's hull at a density; nothing when the mesh was left out, or is flat.
static cal_status weigh_mesh(urdf* u, cal_xml_node* node, cal_solid* out, cal_error* error) {
    int number;
    *out = (cal_solid){0};
    const cal_status status = read_mesh(u, node, &number, error);
    if (status != CAL_OK || number == CAL_NONE) return status;
    const urdf_mesh* mesh = u->meshes;
    while (mesh->number != number) mesh++;
    cal_triangles triangles;
    cal_error why;
    if (cal_mesh_read(mesh->path, &triangles, &why) != CAL_OK)
        return cal_xml_fail(node, error, why.status, "%s", why.text);
    cal_mesh_transform(&triangles, mesh->scale, NULL, NULL);
    const cal_status weighed = cal_mesh_weigh(&triangles, CAL_INERTIA_CONVEX, mesh->path, out, &why);
    cal_mesh_free(&triangles);
    if (weighed != CAL_OK) *out = (cal_solid){0};
    *out = cal_solid_scaled(out, water * out->mass);
    return CAL_OK;
}

cal_status cal_urdf_weigh_collision(urdf* u, urdf_link* link, cal_solid* out, cal_error* error) {
    *out = (cal_solid){0};
    for (cal_xml_node* node = cal_xml_child(link->node, "collision"); node != NULL;
         node = cal_xml_next(node, "collision")) {
        cal_shape_def shape = cal_default_shape_def();
        cal_xml_node* mesh;
        bool known;
        cal_status status = read_geometry(node, &shape, &mesh, &known, error);
        if (status != CAL_OK) return status;
        if (!known) continue;
        cal_solid solid = cal_solid_of_density(shape.kind, shape.size, false, water);
        if (mesh != NULL) status = weigh_mesh(u, mesh, &solid, error);
        if (status != CAL_OK) return status;
        solid = cal_solid_placed(&solid, shape.position, shape.quaternion);
        cal_solid_add(out, &solid);
    }
    return CAL_OK;
}

// Bullet's <contact>: what a link's collision geometry is made of. Other elements in it are left to the list of what was not
// understood.
static cal_status read_contact(urdf_link* link, cal_shape_def* shape, cal_error* error) {
    cal_xml_node *contact, *node;
    cal_status status = cal_urdf_only_child(link->node, "contact", &contact, error);
    if (status != CAL_OK || contact == NULL) return status;
    const struct {
        const char* name;
        double* value;
    } parts[] = {{"lateral_friction", &shape->friction}, {"restitution", &shape->restitution}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == CAL_OK; i++) {
        status = cal_urdf_only_child(contact, parts[i].name, &node, error);
        if (status == CAL_OK && node != NULL) status = cal_urdf_numbers(node, "value", 1, parts[i].value, true, error);
    }
    if (status != CAL_OK) return status;
    if (!(shape->friction >= 0.0 && shape->restitution >= 0.0 && shape->restitution <= 1.0))
        status = cal_xml_fail(contact, error, CAL_BAD_MODEL,
                              "friction must not be negative, and restitution must be from 0 to 1");
    return status;
}

// *added: whether the shape is in the model; it is left alone where not.
static cal_status read_shape(urdf* u, urdf_link* link, cal_xml_node* node, bool visual, bool visible, bool* added,
                             cal_error* error) {
    cal_shape_def shape = cal_default_shape_def();
    cal_xml_node* mesh;
    bool known;
    node->used = true;
    shape.name = cal_xml_text(node, "name");
    if (shape.name != NULL && shape.name[0] == '\0') shape.name = NULL;
    shape.body = link->body;
    shape.collides = !visual;
    shape.visible = visible;
    cal_status status = read_geometry(node, &shape, &mesh, &known, error);
    if (status == CAL_OK && visual) status = paint(u, node, shape.color, error);
    if (status == CAL_OK && !visual) status = read_contact(link, &shape, error);
    if (status == CAL_OK && mesh != NULL) status = read_mesh(u, mesh, &shape.mesh, error);
    if (status != CAL_OK) return status;
    if (!known)
        cal_report_add(u->reader->report, node, CAL_ISSUE_NOT_SIMULATED, node->name,
                       "its geometry is missing or not known: the shape is left out");
    if (!known || (mesh != NULL && shape.mesh == CAL_NONE)) return CAL_OK;
    *added = true;
    return cal_builder_add_shape(u->reader->builder, &shape) >= 0
               ? CAL_OK
               : cal_xml_fail(node, error, CAL_NO_MEMORY, "out of memory for a shape");
}

cal_status cal_urdf_read_shapes(urdf* u, urdf_link* link, cal_error* error) {
    cal_status status = CAL_OK;
    bool seen = false, added;
    for (cal_xml_node* node = cal_xml_child(link->node, "visual"); node != NULL && status == CAL_OK;
         node = cal_xml_next(node, "visual"))
        status = read_shape(u, link, node, true, true, &seen, error);
    for (cal_xml_node* node = cal_xml_child(link->node, "collision"); node != NULL && status == CAL_OK;
         node = cal_xml_next(node, "collision"))
        status = read_shape(u, link, node, false, !seen, &added, error);
    return status;
}
