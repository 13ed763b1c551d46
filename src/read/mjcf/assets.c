// Meshes, height fields, materials, and other models to attach from. A file is read when something needs it, and once.
#include "base/memory.h"
#include "read/grey.h"
#include "read/mjcf/mjcf.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MODEL_TEXT = 64 << 20, FIELD_FILE = 256 << 20, HEIGHTS = 10000000 };

// A file's name without folder and ending: what an asset without a name is called.
static const char* name_of_file(cal_xml_document* document, const char* file) {
    const char* slash = strrchr(file, '/');
    const char* start = slash != NULL ? slash + 1 : file;
    const char* dot = strrchr(start, '.');
    const size_t length = dot != NULL && dot != start ? (size_t)(dot - start) : strlen(start);
    char* name = cal_xml_allocate(document, length + 1, 1);
    if (name != NULL) snprintf(name, length + 1, "%s", start);
    return name;
}

static cal_status asset_name(mjcf_source* source, cal_xml_node* node, const char* file, const char** out,
                             cal_error* error) {
    *out = cal_xml_text(node, "name");
    if (*out != NULL) return CAL_OK;
    if (file == NULL) return cal_xml_fail(node, error, CAL_BAD_MODEL, "it needs a name or a file");
    *out = name_of_file(source->document, file);
    return *out != NULL ? CAL_OK : mjcf_no_memory(node, error);
}

static cal_status read_mesh(mjcf_source* source, cal_xml_node* node, cal_error* error) {
    const mjcf_class* class;
    MJCF_TRY(mjcf_class_of(source, node, "class", mjcf_main_class(source), &class, error));
    mjcf_mesh mesh = class->mesh;
    mesh.file = NULL;
    if (!mesh.inertia_given) mesh.inertia = source->compiler.mesh_inertia;
    MJCF_TRY(mjcf_read_mesh(node, &mesh, error));
    MJCF_TRY(asset_name(source, node, mesh.file, &mesh.name, error));
    mesh.node = node;
    mjcf_mesh* place = mjcf_add(&source->meshes, sizeof *place);
    if (place == NULL) return mjcf_no_memory(node, error);
    *place = mesh;
    return CAL_OK;
}

static cal_status read_material(mjcf_source* source, cal_xml_node* node, cal_error* error) {
    const mjcf_class* class;
    MJCF_TRY(mjcf_class_of(source, node, "class", mjcf_main_class(source), &class, error));
    mjcf_material material = class->material;
    MJCF_TRY(mjcf_read_material(node, &material, error));
    material.name = cal_xml_text(node, "name");
    mjcf_material* place = material.name != NULL ? mjcf_add(&source->materials, sizeof *place) : NULL;
    if (place == NULL)
        return material.name != NULL ? mjcf_no_memory(node, error)
                                     : cal_xml_fail(node, error, CAL_BAD_MODEL, "it needs a name");
    *place = material;
    return CAL_OK;
}

static cal_status read_field(mjcf_source* source, cal_xml_node* node, cal_error* error) {
    const char* name;
    MJCF_TRY(asset_name(source, node, cal_xml_text(node, "file"), &name, error));
    mjcf_field* place = mjcf_add(&source->fields, sizeof *place);
    if (place == NULL) return mjcf_no_memory(node, error);
    *place = (mjcf_field){name, node, CAL_NONE, false};
    return CAL_OK;
}

static bool exists(const char* path) {
    FILE* file = fopen(path, "rb");
    if (file != NULL) fclose(file);
    return file != NULL;
}

// `folder` inside `inside`, unless it is absolute.
static void join_folders(const char* inside, const char* folder, char out[CAL_PATH]) {
    const bool beside = folder[0] != '/' && inside[0] != '\0';
    snprintf(out, CAL_PATH, "%s%s%s", beside ? inside : "", beside && folder[0] != '\0' ? "/" : "", folder);
}

// The folder of the file that a node is from, relative to the main model's; "" when it is the same.
static void folder_of_node(const cal_files* files, const cal_xml_node* node, char out[CAL_PATH]) {
    const char* path = node->file;
    const char* folder = files->folder != NULL ? files->folder : "";
    const size_t length = strlen(folder);
    if (length > 0 && strncmp(path, folder, length) == 0 && path[length] == '/') path += length + 1;
    snprintf(out, CAL_PATH, "%s", path);
    char* slash = strrchr(out, '/');
    if (slash != NULL)
        *slash = '\0';
    else
        out[0] = '\0';
}

cal_status mjcf_resolve_file(const mjcf_source* source, const char* folder, const char* file, const cal_xml_node* node,
                             char out[CAL_PATH], cal_error* error) {
    const cal_files* files = &source->reader->files;
    char inside[CAL_PATH], around[CAL_PATH], other[CAL_PATH];
    join_folders(source->inside, folder, inside);
    const cal_status status = cal_files_resolve(files, inside, file, node, out, error);
    if (files->folder == NULL || (status == CAL_OK && exists(out))) return status;
    folder_of_node(files, node, around);
    join_folders(around, folder, inside);
    if (cal_files_resolve(files, inside, file, node, other, NULL) != CAL_OK || !exists(other)) return status;
    memcpy(out, other, CAL_PATH);
    return CAL_OK;
}

// A model of its own, in its own folder.
static cal_status read_model(mjcf_source* source, cal_xml_node* node, int depth, cal_error* error) {
    char path[CAL_PATH];
    const char* file = cal_xml_text(node, "file");
    if (file == NULL) return cal_xml_fail(node, error, CAL_BAD_MODEL, "it names no file");
    if (depth >= MJCF_SOURCE_DEPTH)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "models are attached more than %d deep", MJCF_SOURCE_DEPTH);
    MJCF_TRY(mjcf_resolve_file(source, "", file, node, path, error));
    char* bytes;
    size_t size;
    MJCF_TRY(cal_file_read(path, MODEL_TEXT, node, &bytes, &size, error));
    cal_xml_document* document;
    mjcf_model* model = source->model;
    cal_status status = mjcf_count_file(model, size, node, error);
    if (status == CAL_OK) status = cal_xml_parse(bytes, size, path, &document, error);
    cal_free(bytes);
    MJCF_TRY(status);
    cal_xml_document** kept = mjcf_add(&model->documents, sizeof *kept);
    if (kept == NULL) {
        cal_xml_destroy(document);
        return mjcf_no_memory(node, error);
    }
    *kept = document;
    if (!cal_xml_is(cal_xml_root(document), "mujoco"))
        return cal_xml_fail(cal_xml_root(document), error, CAL_BAD_MODEL, "only MJCF can be attached");
    char inside[CAL_PATH];
    const char* slash = strrchr(file, '/');
    snprintf(inside, sizeof inside, "%s%s%.*s", source->inside, source->inside[0] != '\0' && slash != NULL ? "/" : "",
             slash != NULL ? (int)(slash - file) : 0, file);
    const char* kept_inside = cal_xml_copy(document, inside);
    if (kept_inside == NULL) return mjcf_no_memory(node, error);
    mjcf_source* opened;
    MJCF_TRY(mjcf_open_source(model, document, kept_inside, depth + 1, &opened, error));
    const char* name = cal_xml_text(node, "name");
    if (name == NULL) name = cal_xml_text(opened->root, "model");
    opened->name = name != NULL ? name : "MuJoCo Model";
    return CAL_OK;
}

// Names of items that start with their name; the first one of several counts, as a repeated asset is harmless.
static cal_name_table* index_items(const mjcf_list* list, size_t size) {
    cal_name_table* table = cal_names_create((size_t)list->count);
    for (int i = 0; table != NULL && i < list->count; i++)
        cal_names_add(table, *(const char* const*)((const char*)list->items + (size_t)i * size), i);
    return table;
}

cal_status mjcf_read_assets(mjcf_source* source, int depth, cal_error* error) {
    for (cal_xml_node* section = cal_xml_child(source->root, "asset"); section != NULL;
         section = cal_xml_next(section, "asset"))
        for (cal_xml_node* node = section->first; node != NULL; node = node->next) {
            if (cal_xml_is(node, "mesh")) MJCF_TRY(read_mesh(source, node, error));
            if (cal_xml_is(node, "material")) MJCF_TRY(read_material(source, node, error));
            if (cal_xml_is(node, "texture")) MJCF_TRY(mjcf_read_texture(source, node, error));
            if (cal_xml_is(node, "hfield")) MJCF_TRY(read_field(source, node, error));
            if (cal_xml_is(node, "model")) MJCF_TRY(read_model(source, node, depth, error));
        }
    source->mesh_names = index_items(&source->meshes, sizeof(mjcf_mesh));
    source->material_names = index_items(&source->materials, sizeof(mjcf_material));
    source->field_names = index_items(&source->fields, sizeof(mjcf_field));
    source->texture_names = index_items(&source->textures, sizeof(mjcf_texture));
    if (source->mesh_names == NULL || source->material_names == NULL || source->field_names == NULL ||
        source->texture_names == NULL)
        return mjcf_no_memory(source->root, error);
    return CAL_OK;
}

const mjcf_material* mjcf_find_material(const mjcf_source* source, const char* name) {
    const int number = cal_names_find(source->material_names, name);
    return number != CAL_NONE ? &((mjcf_material*)source->materials.items)[number] : NULL;
}

mjcf_mesh* mjcf_find_mesh(mjcf_source* source, const char* name) {
    const int number = cal_names_find(source->mesh_names, name);
    return number != CAL_NONE ? &((mjcf_mesh*)source->meshes.items)[number] : NULL;
}

// --- Meshes -------------------------------------------------------------------------------------------------------------

// All numbers of an attribute, however many; the caller frees them.
static cal_status all_numbers(cal_xml_node* node, const char* name, double** out, int* count, cal_error* error) {
    const char* text = cal_xml_text(node, name);
    *count = text != NULL ? cal_read_numbers(text, 0, NULL) : 0;
    if (*count < 0) return cal_xml_fail(node, error, CAL_BAD_MODEL, "%s is not made of numbers", name);
    *out = cal_allocate((size_t)*count, sizeof **out);
    if (*out == NULL) return mjcf_no_memory(node, error);
    if (text != NULL) cal_read_numbers(text, *count, *out);
    return CAL_OK;
}

static cal_status inline_mesh(mjcf_mesh* mesh, cal_error* error) {
    cal_xml_node* node = mesh->node;
    double *vertices = NULL, *faces = NULL;
    int32_t* triangles = NULL;
    int numbers = 0, corners = 0;
    cal_error inner = {CAL_OK, ""};
    cal_status status = all_numbers(node, "vertex", &vertices, &numbers, error);
    if (status == CAL_OK) status = all_numbers(node, "face", &faces, &corners, error);
    if (status == CAL_OK && (numbers == 0 || numbers % 3 != 0 || corners % 3 != 0))
        status =
            cal_xml_fail(node, error, CAL_BAD_MODEL, "its %s are not threes", numbers % 3 != 0 ? "vertices" : "faces");
    if (status == CAL_OK) {
        triangles = cal_allocate((size_t)corners, sizeof *triangles);
        if (triangles == NULL) status = mjcf_no_memory(node, error);
    }
    for (int i = 0; status == CAL_OK && i < corners; i++) {
        const int vertex_count = numbers / 3;
        if (!(faces[i] >= 0.0 && faces[i] < vertex_count))
            status = cal_xml_fail(node, error, CAL_BAD_MODEL, "a face has vertex %g, but there are %d", faces[i],
                                  vertex_count);
        else
            triangles[i] = (int32_t)faces[i];
    }
    if (status == CAL_OK) {
        status =
            cal_mesh_from_arrays(mesh->name, vertices, numbers / 3, triangles, corners / 3, &mesh->triangles, &inner);
        if (status != CAL_OK) cal_xml_explain(node, error, status, "%s", inner.text);
    }
    cal_free(vertices);
    cal_free(faces);
    cal_free(triangles);
    return status;
}

static const char* without_folder(const mjcf_source* source, const char* file) {
    if (!source->compiler.strip_path) return file;
    const char* slash = strrchr(file, '/');
    const char* other = strrchr(file, '\\');
    if (other > slash) slash = other;
    return slash != NULL ? slash + 1 : file;
}

static cal_status mesh_from_file(mjcf_source* source, mjcf_mesh* mesh, bool* available, cal_error* error) {
    char path[CAL_PATH];
    char* bytes;
    size_t size;
    const char* file = without_folder(source, mesh->file);
    MJCF_TRY(mjcf_resolve_file(source, source->compiler.mesh_folder, file, mesh->node, path, error));
    MJCF_TRY(cal_file_read(path, CAL_MESH_FILE_LIMIT, mesh->node, &bytes, &size, error));
    cal_error inner = {CAL_OK, ""};
    const cal_status status = cal_mesh_parse_as_mujoco(file, bytes, size, &mesh->triangles, &inner);
    cal_free(bytes);
    if (status == CAL_NOT_AVAILABLE) {
        *available = false;
        cal_report_add(source->reader->report, mesh->node, CAL_ISSUE_NOT_SIMULATED, "mesh file",
                       "files of this kind are not read; their geoms are left out");
        return CAL_OK;
    }
    if (status != CAL_OK) return cal_xml_fail(mesh->node, error, status, "%s", inner.text);
    if (mesh->triangles.left_out > 0)
        cal_report_add(source->reader->report, mesh->node, CAL_ISSUE_NOTE, "mesh file",
                       "has several objects: the first is the mesh, the faces of the others are left out");
    if (mesh->triangles.open > 0)
        cal_report_add(source->reader->report, mesh->node, CAL_ISSUE_NOTE, "mesh file",
                       "has faces of many corners that are cut as in MuJoCo, which leaves %d of them open",
                       mesh->triangles.open);
    return CAL_OK;
}

cal_status mjcf_load_mesh(mjcf_source* source, mjcf_mesh* mesh, bool* available, cal_error* error) {
    *available = true;
    if (mesh->loaded) {
        *available = mesh->triangles.vertex_count > 0;
        return CAL_OK;
    }
    mesh->loaded = true;
    if (mesh->file != NULL) {
        MJCF_TRY(mesh_from_file(source, mesh, available, error));
    } else if (cal_xml_text(mesh->node, "vertex") != NULL) {
        MJCF_TRY(inline_mesh(mesh, error));
    } else {
        *available = false;
        cal_report_add(source->reader->report, mesh->node, CAL_ISSUE_NOT_SIMULATED, "mesh builtin",
                       "meshes from a formula are not made; their geoms are left out");
    }
    if (!*available) return CAL_OK;
    cal_mesh_transform(&mesh->triangles, mesh->scale, mesh->reference_position, mesh->reference_quaternion);
    return CAL_OK;
}

cal_status mjcf_weigh_mesh(mjcf_mesh* mesh, cal_error* error) {
    if (mesh->weighed) return CAL_OK;
    cal_error inner = {CAL_OK, ""};
    const cal_status status = cal_mesh_weigh(&mesh->triangles, mesh->inertia, mesh->name, &mesh->solid, &inner);
    mesh->weighed = status == CAL_OK;
    return status == CAL_OK ? CAL_OK : cal_xml_fail(mesh->node, error, status, "%s", inner.text);
}

cal_status mjcf_use_mesh(mjcf_source* source, mjcf_mesh* mesh, int* number, cal_error* error) {
    bool available;
    *number = CAL_NONE;
    MJCF_TRY(mjcf_load_mesh(source, mesh, &available, error));
    if (!available) return CAL_OK;
    if (mesh->number == CAL_NONE) {
        cal_mesh_def def = cal_default_mesh_def();
        def.name = mesh->name;
        def.vertices = mesh->triangles.vertices;
        def.triangles = mesh->triangles.triangles;
        def.vertex_count = mesh->triangles.vertex_count;
        def.triangle_count = mesh->triangles.triangle_count;
        def.coordinates = mesh->triangles.coordinates;
        mesh->number = cal_builder_add_mesh(source->reader->builder, &def);
        if (mesh->number == CAL_NONE) return mjcf_no_memory(mesh->node, error);
    }
    *number = mesh->number;
    return CAL_OK;
}

// --- Height fields ------------------------------------------------------------------------------------------------------

// A grid over [−rx, rx] × [−ry, ry], heights from 0 to rz. The text's rows are from top to bottom, ours from −y to y.
static cal_status build_field(mjcf_source* source, mjcf_field* field, int rows, int columns, const double size[4],
                              const double* heights, int given, cal_error* error) {
    const int64_t vertices = (int64_t)rows * columns, triangles = 2 * (int64_t)(rows - 1) * (columns - 1);
    double* points = cal_allocate((size_t)(3 * vertices), sizeof *points);
    int32_t* corners = cal_allocate((size_t)(3 * triangles), sizeof *corners);
    if (points == NULL || corners == NULL) {
        cal_free(points);
        cal_free(corners);
        return mjcf_no_memory(field->node, error);
    }
    double least = given > 0 ? heights[0] : 0.0, most = least;
    for (int i = 0; i < given; i++) {
        least = fmin(least, heights[i]);
        most = fmax(most, heights[i]);
    }
    const double range = most - least > 0.0 ? most - least : 1.0;
    int32_t* corner = corners;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) {
            const int32_t here = r * columns + c;
            double* point = points + 3 * (size_t)here;
            point[0] = size[0] * (2.0 * c / (columns - 1) - 1.0);
            point[1] = size[1] * (2.0 * r / (rows - 1) - 1.0);
            point[2] = given > 0 ? size[2] * (heights[(rows - 1 - r) * columns + c] - least) / range : 0.0;
            if (r + 1 == rows || c + 1 == columns) continue;
            const int32_t both[6] = {here, here + 1, here + columns + 1, here, here + columns + 1, here + columns};
            memcpy(corner, both, sizeof both);
            corner += 6;
        }
    cal_mesh_def def = cal_default_mesh_def();
    def.name = field->name;
    def.vertices = points;
    def.triangles = corners;
    def.vertex_count = (int)vertices;
    def.triangle_count = (int)triangles;
    def.columns = columns;
    field->number = cal_builder_add_mesh(source->reader->builder, &def);
    cal_free(points);
    cal_free(corners);
    return field->number != CAL_NONE ? CAL_OK : mjcf_no_memory(field->node, error);
}

// MuJoCo's own format: numbers of rows and columns (int32), then rows of heights (float32) from the lowest y on; little-endian.
static const char* read_heights(const uint8_t* bytes, size_t size, int* rows, int* columns, double** out) {
    uint32_t head[2] = {0, 0};
    for (int i = 0; size >= 8 && i < 8; i++) head[i / 4] |= (uint32_t)bytes[i] << (8 * (i % 4));
    if (head[0] < 2 || head[1] < 2 || head[0] > HEIGHTS || head[1] > HEIGHTS || (int64_t)head[0] * head[1] > HEIGHTS ||
        size != 8 + 4 * (size_t)head[0] * head[1])
        return "it is neither a PNG file nor a field of heights";
    *rows = (int)head[0], *columns = (int)head[1];
    *out = cal_allocate((size_t)head[0] * head[1], sizeof **out);
    if (*out == NULL) return "there is no memory for it";
    for (int r = 0; r < *rows; r++)
        for (int c = 0; c < *columns; c++) {
            const uint8_t* at = bytes + 8 + 4 * ((size_t)r * head[1] + (size_t)c);
            const uint32_t bits = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
            float height;
            memcpy(&height, &bits, sizeof height);
            if (!isfinite(height)) return "one of its heights is not finite";
            (*out)[(size_t)(*rows - 1 - r) * head[1] + (size_t)c] = (double)height;
        }
    return NULL;
}

// Heights as `elevation` has them: from the highest y on.
static cal_status read_field_file(mjcf_source* source, cal_xml_node* node, const char* file, int* rows, int* columns,
                                  double** out, cal_error* error) {
    char path[CAL_PATH], *bytes = NULL;
    uint8_t* levels = NULL;
    size_t size;
    MJCF_TRY(mjcf_resolve_file(source, source->compiler.mesh_folder, file, node, path, error));
    MJCF_TRY(cal_file_read(path, FIELD_FILE, node, &bytes, &size, error));
    const bool is_png = size > 4 && memcmp(bytes, "\x89PNG", 4) == 0;
    const char* why = is_png ? cal_png_grey((const uint8_t*)bytes, size, HEIGHTS, columns, rows, &levels)
                             : read_heights((const uint8_t*)bytes, size, rows, columns, out);
    cal_free(bytes);
    if (why == NULL && is_png) {
        const size_t count = (size_t)*rows * (size_t)*columns;
        *out = cal_allocate(count, sizeof **out);
        for (size_t i = 0; *out != NULL && i < count; i++) (*out)[i] = levels[i];
        if (*out == NULL) why = "there is no memory for it";
    }
    cal_free(levels);
    return why == NULL ? CAL_OK : cal_xml_fail(node, error, CAL_BAD_MODEL, "'%.200s': %s", file, why);
}

static cal_status load_field(mjcf_source* source, mjcf_field* field, cal_error* error) {
    cal_xml_node* node = field->node;
    const char* file = cal_xml_text(node, "file");
    field->loaded = true;
    double size[4] = {0.0, 0.0, 0.0, 0.0};
    int rows = 0, columns = 0, given = 0;
    MJCF_TRY(mjcf_integer(node, "nrow", &rows, error));
    MJCF_TRY(mjcf_integer(node, "ncol", &columns, error));
    MJCF_TRY(cal_xml_numbers(node, "size", 4, 4, size, NULL, error));
    double* heights = NULL;
    cal_status status = CAL_OK;
    if (file != NULL) {
        status = read_field_file(source, node, file, &rows, &columns, &heights, error);
        given = rows * columns;
    }
    if (status == CAL_OK && (rows < 2 || columns < 2 || (int64_t)rows * columns > HEIGHTS))
        status =
            cal_xml_fail(node, error, CAL_BAD_MODEL, "%d rows of %d heights are too few or too many", rows, columns);
    if (status == CAL_OK && file == NULL) status = all_numbers(node, "elevation", &heights, &given, error);
    if (status == CAL_OK && given != 0 && given != rows * columns)
        status = cal_xml_fail(node, error, CAL_BAD_MODEL, "it has %d heights, but %d rows of %d", given, rows, columns);
    if (status == CAL_OK) status = build_field(source, field, rows, columns, size, heights, given, error);
    cal_free(heights);
    return status;
}

cal_status mjcf_use_field(mjcf_source* source, const char* name, const cal_xml_node* node, int* number,
                          cal_error* error) {
    const int place = cal_names_find(source->field_names, name);
    *number = CAL_NONE;
    if (place == CAL_NONE) return cal_xml_fail(node, error, CAL_BAD_MODEL, "there is no hfield \"%.60s\"", name);
    mjcf_field* field = &((mjcf_field*)source->fields.items)[place];
    if (!field->loaded) MJCF_TRY(load_field(source, field, error));
    *number = field->number;
    return CAL_OK;
}
