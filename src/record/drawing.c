// The list of what is drawn, and how it is told to a page.
#include "record/drawing.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/number_text.h"
#include "base/memory.h"
#include "math/vector.h"
#include "model/hull.h"

bool cal_drawing_add(cal_drawing* drawing, const cal_drawn* instance, bool contact) {
    const int count = drawing->instance_count + drawing->contact_count;
    if (count == drawing->capacity) {
        const int capacity = 2 * drawing->capacity + 64;
        cal_drawn* more = cal_allocate((size_t)capacity, sizeof *more);
        if (!more) return false;
        if (count > 0) memcpy(more, drawing->instances, (size_t)count * sizeof *more);
        cal_free(drawing->instances);
        drawing->instances = more;
        drawing->capacity = capacity;
    }
    drawing->instances[count] = *instance;
    (*(contact ? &drawing->contact_count : &drawing->instance_count))++;
    return true;
}

bool cal_drawing_takes_mesh(cal_drawing* drawing, const cal_mesh_def* mesh) {
    if (drawing->triangles + mesh->triangle_count > CAL_DRAWN_TRIANGLES_LIMIT) return false;
    drawing->triangles += mesh->triangle_count;
    return true;
}

void cal_drawn_become_box(cal_drawn* instance, const cal_mesh_def* mesh) {
    double middle[3], moved[3], R[9];
    for (int k = 0; k < 3; k++) {
        double least = 0, most = 0;
        for (int i = 0; i < mesh->vertex_count; i++) {
            const double at = mesh->vertices[3 * i + k];
            least = i == 0 ? at : fmin(least, at);
            most = i == 0 ? at : fmax(most, at);
        }
        middle[k] = 0.5 * (least + most);
        instance->size[k] = 0.5 * (most - least);
    }
    cal_quaternion_matrix(instance->quaternion, R);
    cal_rotate3(R, middle, moved);
    for (int k = 0; k < 3; k++) instance->position[k] += moved[k];
    instance->kind = CAL_BOX;
    instance->mesh = -1;
}

// --- Which shapes are drawn --------------------------------------------------------------------------------------------------

// What becomes of a mesh: a copy, or the box around it because there are too many triangles.
enum { UNKNOWN, DRAWN, BOXED };

// A drawing while it is made. Visitors go over the shapes three times: what there is, how much that is, and then the copies.
typedef struct maker {
    cal_drawing* drawing;
    bool* dressed;     // bodies that have meshes for the eye
    bool* shown;       // bodies that have shapes
    uint8_t* fates;    // of meshes
    int64_t triangles; // of all meshes that are drawn, before any is made coarser
    bool* counted;     // of meshes
} maker;

static bool is_seen(const maker* m, const cal_shape_def* shape) {
    return shape->visible && shape->color[3] > 0 && shape->body < m->drawing->body_count;
}

// Files often give a body two sets of shapes: meshes for the eye, that touch nothing, and plain ones for contact. Where there
// are the former, the others would only cover them, and so would plain ones that one can see through, which mark something.
static bool is_drawn(const maker* m, const cal_shape_def* shape) {
    const bool marks = shape->kind != CAL_MESH && shape->color[3] < 1;
    return is_seen(m, shape) && !(shape->body >= 0 && m->dressed[shape->body] && (shape->collides || marks));
}

static bool survey_shape(void* user, const cal_shape_def* shape, const cal_mesh_def* mesh) {
    maker* m = user;
    if (mesh && shape->mesh >= m->drawing->mesh_count) m->drawing->mesh_count = shape->mesh + 1;
    if (shape->body >= 0 && shape->kind == CAL_MESH && is_seen(m, shape) && !shape->collides)
        m->dressed[shape->body] = true;
    return true;
}

static bool count_triangles(void* user, const cal_shape_def* shape, const cal_mesh_def* mesh) {
    maker* m = user;
    if (!mesh || !is_drawn(m, shape) || m->counted[shape->mesh]) return true;
    m->counted[shape->mesh] = true;
    m->triangles += mesh->triangle_count;
    return true;
}

static const void* copy(const void* from, size_t count, size_t size) {
    void* to = cal_allocate(count + 1, size);
    if (to && count > 0) memcpy(to, from, count * size);
    return to;
}

// A copy of a mesh. One without triangles is a set of points that stands for its convex hull; a flat one stays without any.
static bool copy_mesh(const cal_mesh_def* from, cal_mesh_def* to) {
    cal_hull hull = {0};
    *to = (cal_mesh_def){.vertex_count = from->vertex_count, .triangle_count = from->triangle_count};
    const int32_t* triangles = from->triangles;
    if (from->triangle_count == 0 && cal_hull_create(from->vertices, from->vertex_count, &hull, NULL) == CAL_OK) {
        triangles = hull.triangles;
        to->triangle_count = hull.triangle_count;
    }
    to->vertices = copy(from->vertices, 3 * (size_t)from->vertex_count, sizeof *from->vertices);
    to->triangles = copy(triangles, 3 * (size_t)to->triangle_count, sizeof *triangles);
    cal_hull_destroy(&hull);
    const bool mapped = from->coordinates != NULL && to->triangle_count == from->triangle_count;
    if (mapped) to->coordinates = copy(from->coordinates, 6 * (size_t)to->triangle_count, sizeof *to->coordinates);
    return to->vertices && to->triangles && (!mapped || to->coordinates);
}

// Where meshes have too many triangles together, each gives up the same share of its own; one that cannot becomes a box.
static bool choose_mesh(maker* m, int number, const cal_mesh_def* mesh) {
    cal_mesh_def* own = &m->drawing->meshes[number];
    if (m->fates[number] != UNKNOWN) return true;
    const double wanted = (double)mesh->triangle_count * CAL_DRAWN_TRIANGLES_LIMIT / (double)m->triangles;
    const bool coarse = m->triangles > CAL_DRAWN_TRIANGLES_LIMIT && cal_mesh_coarsen(mesh, (int)wanted, own);
    if (!coarse && !copy_mesh(mesh, own)) return false;
    m->fates[number] = cal_drawing_takes_mesh(m->drawing, own) ? DRAWN : BOXED;
    return true;
}

static bool add_instance(maker* m, const cal_shape_def* shape, const cal_mesh_def* mesh, bool contact) {
    cal_drawn instance = {.body = shape->body,
                          .mesh = mesh ? shape->mesh : -1,
                          .kind = shape->kind,
                          .touches = shape->collides,
                          .group = shape->group};
    memcpy(instance.position, shape->position, sizeof instance.position);
    memcpy(instance.quaternion, shape->quaternion, sizeof instance.quaternion);
    memcpy(instance.size, shape->size, sizeof instance.size);
    memcpy(instance.color, shape->color, sizeof instance.color);
    instance.texture = m->drawing->model && !contact ? shape->texture : CAL_NONE;
    memcpy(instance.texture_repeat, shape->texture_repeat, sizeof instance.texture_repeat);
    if (mesh && !choose_mesh(m, shape->mesh, mesh)) return false;
    if (mesh && m->fates[shape->mesh] == BOXED) cal_drawn_become_box(&instance, mesh);
    const bool mapped = instance.kind == CAL_PLANE ||
                        (instance.kind == CAL_MESH && m->drawing->meshes[instance.mesh].coordinates != NULL);
    if (!mapped) instance.texture = CAL_NONE;
    if (shape->body >= 0 && !contact) m->shown[shape->body] = true;
    return cal_drawing_add(m->drawing, &instance, contact);
}

static bool add_shape(void* user, const cal_shape_def* shape, const cal_mesh_def* mesh) {
    return !is_drawn(user, shape) || add_instance(user, shape, mesh, false);
}

// What touches and is hidden is shown in a colour of its own.
static bool add_contact(void* user, const cal_shape_def* shape, const cal_mesh_def* mesh) {
    const maker* m = user;
    const bool hidden = !shape->visible && shape->color[3] > 0; // as a whole group is
    if (is_drawn(m, shape) || !(shape->collides || hidden) || shape->body >= m->drawing->body_count) return true;
    cal_shape_def seen = *shape;
    if (shape->collides) memcpy(seen.color, (float[4]){0.95f, 0.55f, 0.2f, 1}, sizeof seen.color);
    return add_instance(user, &seen, mesh, true);
}

// --- The drawing ----------------------------------------------------------------------------------------------------------------

static bool make(maker* m, const cal_run* run) {
    cal_drawing* drawing = m->drawing;
    const size_t bodies = (size_t)drawing->all_bodies + 1;
    m->dressed = cal_allocate(bodies, sizeof *m->dressed);
    m->shown = cal_allocate(bodies, sizeof *m->shown);
    if (!m->dressed || !m->shown || !cal_run_shapes(run, survey_shape, m)) return false;
    const size_t meshes = (size_t)drawing->mesh_count + 1;
    m->fates = cal_allocate(meshes, sizeof *m->fates);
    m->counted = cal_allocate(meshes, sizeof *m->counted);
    drawing->meshes = cal_allocate(meshes, sizeof *drawing->meshes);
    if (!m->fates || !m->counted || !drawing->meshes) return false;
    return cal_run_shapes(run, count_triangles, m) && cal_run_shapes(run, add_shape, m) &&
           (!drawing->model || cal_drawing_add_defaults(drawing, m->shown)) && cal_run_shapes(run, add_contact, m);
}

cal_status cal_drawing_create(const cal_run* run, cal_drawing** out, cal_error* error) {
    maker m = {.drawing = cal_allocate(1, sizeof(cal_drawing))};
    cal_drawing* drawing = m.drawing;
    bool made = drawing != NULL;
    if (made) {
        const int bodies = cal_run_body_count(run);
        drawing->model = cal_run_model(run);
        drawing->all_bodies = bodies;
        drawing->body_count = bodies < CAL_DRAWN_BODIES_LIMIT ? bodies : CAL_DRAWN_BODIES_LIMIT;
        for (int i = 0; i < bodies; i++) drawing->moving += cal_run_body_motion(run, i) != CAL_FIXED;
        cal_run_up(run, drawing->up);
        made = make(&m, run);
    }
    cal_free(m.dressed);
    cal_free(m.shown);
    cal_free(m.fates);
    cal_free(m.counted);
    *out = made ? drawing : NULL;
    if (made) return CAL_OK;
    cal_drawing_destroy(drawing);
    return cal_fail(error, CAL_NO_MEMORY, "no memory to draw %d bodies", cal_run_body_count(run));
}

void cal_drawing_destroy(cal_drawing* drawing) {
    if (!drawing) return;
    for (int i = 0; drawing->meshes && i < drawing->mesh_count; i++) {
        cal_free((void*)(uintptr_t)drawing->meshes[i].vertices);
        cal_free((void*)(uintptr_t)drawing->meshes[i].triangles);
        cal_free((void*)(uintptr_t)drawing->meshes[i].coordinates);
    }
    cal_free(drawing->instances);
    cal_free(drawing->meshes);
    cal_free(drawing);
}

// --- JSON ---------------------------------------------------------------------------------------------------------------

// Six digits are finer than a pixel.
static void write_number(FILE* file, double value, bool first) {
    if (!first) fputc(',', file);
    cal_write_number(file, 6, value);
}

static void write_mesh(const cal_mesh_def* mesh, FILE* file) {
    fputs("{\"vertices\":[", file);
    for (int i = 0; i < 3 * mesh->vertex_count; i++) write_number(file, mesh->vertices[i], i == 0);
    fputs("],\"triangles\":[", file);
    for (int i = 0; i < 3 * mesh->triangle_count; i++) fprintf(file, i ? ",%d" : "%d", mesh->triangles[i]);
    if (mesh->coordinates) fputs("],\"coordinates\":[", file);
    for (int i = 0; mesh->coordinates && i < 6 * mesh->triangle_count; i++)
        write_number(file, (double)mesh->coordinates[i], i == 0);
    fputs("]}", file);
}

// PNG files in base 64; null for those that no instance uses.
static void write_textures(const cal_drawing* drawing, FILE* file) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const int count = drawing->model ? cal_model_texture_count(drawing->model) : 0;
    fputs(",\"textures\":[", file);
    for (int i = 0; i < count; i++) {
        bool used = false;
        for (int k = 0; k < drawing->instance_count; k++) used = used || drawing->instances[k].texture == i;
        fputs(i ? "," : "", file);
        if (!used) {
            fputs("null", file);
            continue;
        }
        cal_texture_def def;
        cal_model_texture(drawing->model, i, &def);
        fputc('"', file);
        for (size_t at = 0; at < def.size; at += 3) {
            const size_t left = def.size - at;
            const unsigned word = (unsigned)def.bytes[at] << 16 | (left > 1 ? (unsigned)def.bytes[at + 1] << 8 : 0) |
                                  (left > 2 ? def.bytes[at + 2] : 0);
            const char four[4] = {digits[word >> 18 & 63], digits[word >> 12 & 63],
                                  left > 1 ? digits[word >> 6 & 63] : '=', left > 2 ? digits[word & 63] : '='};
            fwrite(four, 1, 4, file);
        }
        fputc('"', file);
    }
    fputc(']', file);
}

static void write_meshes(const cal_drawing* drawing, FILE* file) {
    // Where there is no memory to know which ones are used, all are written.
    bool* used = cal_allocate((size_t)drawing->mesh_count + 1, sizeof *used);
    for (int i = 0; used && i < drawing->instance_count + drawing->contact_count; i++)
        if (drawing->instances[i].mesh >= 0) used[drawing->instances[i].mesh] = true;
    fputs("\"meshes\":[", file);
    for (int i = 0; i < drawing->mesh_count; i++) {
        if (i) fputc(',', file);
        if (!used || used[i])
            write_mesh(&drawing->meshes[i], file);
        else
            fputs("null", file);
    }
    fputc(']', file);
    cal_free(used);
}

// The body that takes the model with it where nothing holds it: one on the ground with a free joint; -1: there is none.
static int floating_body(const cal_model* model) {
    for (int i = 0; i < cal_model_joint_count(model); i++) {
        cal_joint_def joint;
        cal_body_def def;
        int body;
        cal_model_joint(model, i, &joint, &body, NULL, NULL);
        cal_model_body(model, body, &def);
        if (joint.kind == CAL_FREE && def.parent < 0) return body;
    }
    return -1;
}

static void write_counts(const cal_drawing* drawing, FILE* file) {
    const cal_model* model = drawing->model;
    fprintf(file, "\"bodies\":%d,\"drawn\":%d,", drawing->all_bodies, drawing->body_count);
    if (model) {
        fprintf(file, "\"joints\":%d,\"degrees\":%d,\"mass\":", cal_model_joint_count(model), cal_model_v_count(model));
        cal_write_number(file, 6, cal_model_mass(model));
        fprintf(file, ",\"floats\":%d,", floating_body(model));
    } else
        fprintf(file, "\"moving\":%d,", drawing->moving);
}

// Rows: body, kind, mesh, position, quaternion, size, colour, whether it touches others, group; and of those with a texture, that and how often it
// repeats along x and y.
static void write_instances(const cal_drawn* instances, int count, FILE* file) {
    fputc('[', file);
    for (int i = 0; i < count; i++) {
        const cal_drawn* instance = &instances[i];
        fprintf(file, "%s[%d,\"%s\",%d", i ? "," : "", instance->body, cal_shape_kind_name(instance->kind),
                instance->mesh);
        for (int k = 0; k < 3; k++) write_number(file, instance->position[k], false);
        for (int k = 0; k < 4; k++) write_number(file, instance->quaternion[k], false);
        for (int k = 0; k < 3; k++) write_number(file, instance->size[k], false);
        for (int k = 0; k < 4; k++) write_number(file, instance->color[k], false);
        fprintf(file, ",%d,%d", instance->touches, instance->group);
        if (instance->texture != CAL_NONE) {
            fprintf(file, ",%d", instance->texture);
            for (int k = 0; k < 2; k++) write_number(file, instance->texture_repeat[k], false);
        }
        fputc(']', file);
    }
    fputs("],", file);
}

void cal_drawing_write_json(const cal_drawing* drawing, FILE* file) {
    write_counts(drawing, file);
    fputs("\"up\":[", file);
    cal_write_numbers(file, 9, drawing->up, 3);
    fputs("],", file);
    fputs("\"instances\":", file);
    write_instances(drawing->instances, drawing->instance_count, file);
    fputs("\"contacts\":", file);
    write_instances(drawing->instances + drawing->instance_count, drawing->contact_count, file);
    write_meshes(drawing, file);
    write_textures(drawing, file);
}

void cal_channels_write_json(const cal_channel* channels, int count, FILE* file) {
    fputc('[', file);
    for (int i = 0; i < count; i++) {
        fputs(i ? ",{\"name\":" : "{\"name\":", file);
        cal_write_json_text(file, channels[i].name);
        fputs(",\"unit\":", file);
        cal_write_json_text(file, channels[i].unit);
        fputs(",\"plot\":", file);
        cal_write_json_text(file, channels[i].plot);
        fprintf(file, ",\"logarithmic\":%s}", channels[i].logarithmic ? "true" : "false");
    }
    fputc(']', file);
}
