// Shapes and meshes for the MJCF writer.
//
// Meshes become binary STL files in a folder beside the model, MODEL_meshes/ for MODEL.xml: in the model itself they would be
// most of its text. STL has single precision, as meshes from files do.
#define _POSIX_C_SOURCE 200809L
#include "read/mjcf/write_mjcf.h"
#include "base/memory.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_CAPACITY = 1200 };

// MODEL_meshes, with or without the folder that the model is in.
static void folder_of(const char* path, bool whole, char* out, size_t capacity) {
    const char* slash = strrchr(path, '/');
    const char* base = slash != NULL ? slash + 1 : path;
    const char* dot = strrchr(base, '.');
    const int before = whole ? (int)(base - path) : 0;
    const int length = (int)(dot != NULL && dot != base ? (size_t)(dot - base) : strlen(base));
    snprintf(out, capacity, "%.*s%.*s_meshes", before, path, length, base);
}

static void mesh_name(int number, char* out, size_t capacity) { snprintf(out, capacity, "mesh%d", number); }

static void put_word(unsigned char* at, uint32_t word) {
    for (int i = 0; i < 4; i++) at[i] = (unsigned char)(word >> (8 * i));
}

static void put_float(unsigned char* at, double value) {
    union {
        float value;
        uint32_t bits;
    } word = {(float)value};
    put_word(at, word.bits);
}

static cal_status write_stl(const cal_mesh_def* mesh, const char* path, cal_text* file, cal_error* error) {
    unsigned char header[84] = "mesh of a model", record[50] = {0};
    cal_text_create(file, path);
    put_word(header + 80, (uint32_t)mesh->triangle_count);
    cal_text_bytes(file, header, sizeof header);
    for (size_t t = 0; t < (size_t)mesh->triangle_count; t++) {
        for (size_t k = 0; k < 3; k++)
            for (size_t i = 0; i < 3; i++)
                put_float(record + 12 + 12 * k + 4 * i, mesh->vertices[3 * (size_t)mesh->triangles[3 * t + k] + i]);
        cal_text_bytes(file, record, sizeof record);
    }
    return cal_text_complete(file, error);
}

// Heights row by row, from the last row to the first, between 0 and 1; the size says where that is.
static cal_status write_field(cal_mjcf_writer* w, int number, const char* name, cal_error* error) {
    const cal_mesh_def* mesh = &w->model->meshes[number];
    const int rows = mesh->vertex_count / mesh->columns, columns = mesh->columns;
    double low[3], high[3];
    for (size_t i = 0; i < 3; i++) low[i] = high[i] = mesh->vertices[i];
    for (size_t v = 0; v < (size_t)mesh->vertex_count; v++)
        for (size_t i = 0; i < 3; i++) {
            low[i] = fmin(low[i], mesh->vertices[3 * v + i]);
            high[i] = fmax(high[i], mesh->vertices[3 * v + i]);
        }
    if (low[2] != 0.0 || low[0] != -high[0] || low[1] != -high[1] || !(high[0] > 0.0) || !(high[1] > 0.0))
        return cal_fail(error, CAL_BAD_MODEL,
                        "mesh %d: MJCF's height fields are centred and their lowest point is at 0; this one is not",
                        number);
    const double size[4] = {high[0], high[1], high[2] > 0.0 ? high[2] : 1.0, 1.0};
    double* heights = cal_allocate((size_t)mesh->vertex_count, sizeof *heights);
    if (heights == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for %d heights", mesh->vertex_count);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            heights[(rows - 1 - r) * columns + c] = mesh->vertices[3 * ((size_t)r * (size_t)columns + (size_t)c) + 2];
    cal_text_start(&w->text, "hfield");
    cal_text_word(&w->text, "name", name);
    cal_text_number(&w->text, "nrow", rows);
    cal_text_number(&w->text, "ncol", columns);
    cal_text_numbers(&w->text, "size", size, 4);
    cal_text_numbers(&w->text, "elevation", heights, mesh->vertex_count);
    cal_text_end(&w->text, "hfield");
    cal_free(heights);
    return CAL_OK;
}

static bool path_of(const char* folder, int number, char out[PATH_CAPACITY]) {
    char name[40];
    mesh_name(number, name, sizeof name);
    return snprintf(out, PATH_CAPACITY, "%s/%s.stl", folder, name) < PATH_CAPACITY;
}

static cal_status write_mesh(cal_mjcf_writer* w, int number, const char* folder, const char* inside, cal_error* error) {
    char name[40], path[PATH_CAPACITY];
    mesh_name(number, name, sizeof name);
    if (w->model->meshes[number].columns > 0) return write_field(w, number, name, error);
    if (!path_of(folder, number, path))
        return cal_fail(error, CAL_BAD_ARGUMENT, "the path '%.60s…' is too long", w->path);
    if (mkdir(folder, 0777) == 0)
        w->made_folder = true;
    else if (errno != EEXIST)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cannot make the folder '%.120s': %s", folder, strerror(errno));
    const cal_status status = write_stl(&w->model->meshes[number], path, &w->meshes[number], error);
    snprintf(path, sizeof path, "%s/%s.stl", inside, name);
    cal_text_start(&w->text, "mesh");
    cal_text_word(&w->text, "name", name);
    cal_text_word(&w->text, "file", path);
    cal_text_end(&w->text, "mesh");
    return status;
}

cal_status cal_mjcf_write_meshes(cal_mjcf_writer* w, cal_error* error) {
    w->shape_names = cal_names_create((size_t)w->model->shape_count);
    w->paired = cal_allocate((size_t)w->model->shape_count, sizeof *w->paired);
    w->meshes = cal_allocate((size_t)w->model->mesh_count, sizeof *w->meshes);
    if (w->shape_names == NULL || w->paired == NULL || w->meshes == NULL)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for the names of shapes");
    for (int i = 0; i < w->model->shape_count; i++)
        if (w->model->shapes[i].name != NULL) cal_names_add(w->shape_names, w->model->shapes[i].name, i);
    for (int i = 0; i < w->model->kept.pair_count; i++)
        for (int k = 0; k < 2; k++) w->paired[w->model->kept.pairs[i].shape[k]] = true;
    if (w->model->mesh_count == 0) return CAL_OK;
    char folder[PATH_CAPACITY - 100], inside[300];
    folder_of(w->path, true, folder, sizeof folder);
    folder_of(w->path, false, inside, sizeof inside);
    cal_status status = CAL_OK;
    cal_text_start(&w->text, "asset");
    for (int i = 0; i < w->model->mesh_count && status == CAL_OK; i++) status = write_mesh(w, i, folder, inside, error);
    cal_text_end(&w->text, "asset");
    return status;
}

cal_status cal_mjcf_place_meshes(cal_mjcf_writer* w, bool keep, cal_error* error) {
    char folder[PATH_CAPACITY - 100], path[PATH_CAPACITY];
    cal_status status = CAL_OK;
    folder_of(w->path, true, folder, sizeof folder);
    for (int i = 0; w->meshes != NULL && i < w->model->mesh_count; i++) {
        if (w->meshes[i].partial == NULL) continue;
        (void)path_of(folder, i, path);
        w->meshes[i].path = path;
        const cal_status placed = cal_text_place(&w->meshes[i], keep && status == CAL_OK, error);
        if (status == CAL_OK) status = placed;
    }
    if (w->made_folder && (!keep || status != CAL_OK)) (void)rmdir(folder);
    cal_free(w->meshes);
    return status;
}

static void write_size(cal_text* text, const cal_shape_def* def) {
    switch (def->kind) {
    case CAL_SPHERE: cal_text_numbers(text, "size", def->size, 1); break;
    case CAL_CAPSULE:
    case CAL_CYLINDER: cal_text_numbers(text, "size", def->size, 2); break;
    case CAL_ELLIPSOID:
    case CAL_BOX: cal_text_numbers(text, "size", def->size, 3); break;
    case CAL_PLANE: {
        const double size[3] = {def->size[0], def->size[1], def->size[2] > 0.0 ? def->size[2] : 1.0};
        cal_text_numbers(text, "size", size, 3);
        break;
    }
    default: break;
    }
}

// Its own name when it is the first of that name; one made from its number when a pair needs one.
static void write_shape_name(cal_mjcf_writer* w, const char* attribute, int number) {
    const char* given = w->model->shapes[number].name;
    if (given != NULL && cal_names_find(w->shape_names, given) == number) {
        cal_text_word(&w->text, attribute, given);
        return;
    }
    if (!w->paired[number]) return;
    char made[80];
    snprintf(made, sizeof made, "shape%d", number);
    for (int k = 2; cal_names_find(w->shape_names, made) != CAL_NONE; k++)
        snprintf(made, sizeof made, "shape%d_%d", number, k);
    cal_text_word(&w->text, attribute, made);
}

void cal_mjcf_write_contacts(cal_mjcf_writer* w) {
    const cal_model_extras* kept = &w->model->kept;
    if (kept->pair_count == 0 && kept->exclusion_count == 0) return;
    cal_text_start(&w->text, "contact");
    for (int i = 0; i < kept->pair_count; i++) {
        cal_text_start(&w->text, "pair");
        write_shape_name(w, "geom1", kept->pairs[i].shape[0]);
        write_shape_name(w, "geom2", kept->pairs[i].shape[1]);
        cal_text_number(&w->text, "friction", kept->pairs[i].friction);
        cal_text_end(&w->text, "pair");
    }
    for (int i = 0; i < kept->exclusion_count; i++) {
        cal_text_start(&w->text, "exclude");
        cal_mjcf_write_body_name(w, "body1", kept->exclusions[i].body[0]);
        cal_mjcf_write_body_name(w, "body2", kept->exclusions[i].body[1]);
        cal_text_end(&w->text, "exclude");
    }
    cal_text_end(&w->text, "contact");
}

void cal_mjcf_write_shape(cal_mjcf_writer* w, int number) {
    static const char* const types[] = {"sphere", "capsule", "ellipsoid", "cylinder", "box", "plane", "mesh", "hfield"};
    const cal_shape_def* def = &w->model->shapes[number];
    cal_text* text = &w->text;
    cal_text_start(text, "geom");
    write_shape_name(w, "name", number);
    cal_text_word(text, "type", types[def->kind]);
    write_size(text, def);
    if (def->kind == CAL_MESH || def->kind == CAL_HEIGHT_FIELD) {
        char name[40];
        mesh_name(def->mesh, name, sizeof name);
        cal_text_word(text, def->kind == CAL_MESH ? "mesh" : "hfield", name);
    }
    cal_text_unless(text, "pos", def->position, 3, 0.0);
    if (def->quaternion[0] != 1.0) cal_text_numbers(text, "quat", def->quaternion, 4);
    cal_text_number(text, "friction", def->friction);
    // Bits of an int, as they are read: -1 is all of them.
    const double category = def->collides ? (double)(int32_t)def->category : 0.0,
                 mask = def->collides ? (double)(int32_t)def->mask : 0.0;
    cal_text_unless(text, "contype", &category, 1, 1.0);
    cal_text_unless(text, "conaffinity", &mask, 1, 1.0);
    const double group = def->group, priority = def->priority;
    cal_text_unless(text, "group", &group, 1, 0.0);
    cal_text_unless(text, "priority", &priority, 1, 0.0);
    // What is hidden by its group keeps its colour.
    const bool clear = !def->visible && def->group < 3;
    const double color[4] = {(double)def->color[0], (double)def->color[1], (double)def->color[2],
                             clear ? 0.0 : (double)def->color[3]};
    cal_text_numbers(text, "rgba", color, 4);
    cal_text_end(text, "geom");
}
