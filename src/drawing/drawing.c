// The list of what is drawn, and how it is told to a page.
#include "drawing/drawing.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "math/vector.h"

bool cal_drawing_add(cal_drawing* drawing, const cal_drawn* instance) {
    if (drawing->instance_count == drawing->capacity) {
        const int capacity = 2 * drawing->capacity + 64;
        cal_drawn* more = cal_allocate((size_t)capacity, sizeof *more);
        if (!more) return false;
        if (drawing->instance_count > 0)
            memcpy(more, drawing->instances, (size_t)drawing->instance_count * sizeof *more);
        cal_free(drawing->instances);
        drawing->instances = more;
        drawing->capacity = capacity;
    }
    drawing->instances[drawing->instance_count++] = *instance;
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

// Which meshes are drawn, and which are boxes because there are too many triangles.
enum { UNKNOWN, DRAWN, BOXED };

static void choose_mesh(cal_drawing* drawing, uint8_t* fates, cal_drawn* instance) {
    const cal_mesh_def* mesh = &drawing->meshes[instance->mesh];
    uint8_t* fate = &fates[instance->mesh];
    if (*fate == UNKNOWN) *fate = cal_drawing_takes_mesh(drawing, mesh) ? DRAWN : BOXED;
    if (*fate == BOXED) cal_drawn_become_box(instance, mesh);
}

static bool is_seen(const cal_drawing* drawing, const cal_shape_def* shape) {
    return shape->visible && shape->color[3] > 0 && shape->body < drawing->body_count;
}

// Files often give a body two sets of shapes: meshes for the eye, that touch nothing, and plain ones for contact. Where there
// are the former, the others would only cover them, and so would plain ones that one can see through, which mark something.
// Finds bodies that have meshes for the eye.
static void find_dressed(const cal_drawing* drawing, bool* dressed) {
    for (int i = 0; i < cal_model_shape_count(drawing->model); i++) {
        cal_shape_def def;
        cal_model_shape(drawing->model, i, &def);
        if (def.body >= 0 && def.kind == CAL_MESH && is_seen(drawing, &def) && !def.collides) dressed[def.body] = true;
    }
}

static bool is_drawn(const cal_drawing* drawing, const bool* dressed, const cal_shape_def* shape) {
    const bool marks = shape->kind != CAL_MESH && shape->color[3] < 1;
    return is_seen(drawing, shape) && !(shape->body >= 0 && dressed[shape->body] && (shape->collides || marks));
}

// Makes meshes coarser, all by the same share, where they have too many triangles together. One that cannot be becomes a box
// later.
static void coarsen_meshes(cal_drawing* drawing, const bool* dressed) {
    int64_t total = 0;
    bool* used = cal_allocate((size_t)drawing->mesh_count + 1, sizeof *used);
    if (!used) return;
    for (int i = 0; i < cal_model_shape_count(drawing->model); i++) {
        cal_shape_def def;
        cal_model_shape(drawing->model, i, &def);
        if ((def.kind != CAL_MESH && def.kind != CAL_HEIGHT_FIELD) || !is_drawn(drawing, dressed, &def)) continue;
        if (!used[def.mesh]) total += drawing->meshes[def.mesh].triangle_count;
        used[def.mesh] = true;
    }
    for (int i = 0; i < drawing->mesh_count && total > CAL_DRAWN_TRIANGLES_LIMIT; i++) {
        const double wanted = (double)drawing->meshes[i].triangle_count * CAL_DRAWN_TRIANGLES_LIMIT / (double)total;
        cal_mesh_def coarse;
        if (!used[i] || !cal_mesh_coarsen(&drawing->meshes[i], (int)wanted, &coarse)) continue;
        drawing->meshes[i] = coarse;
        drawing->owned[i] = true;
    }
    cal_free(used);
}

static bool add_shapes(cal_drawing* drawing, bool* shown, uint8_t* fates, const bool* dressed) {
    for (int i = 0; i < cal_model_shape_count(drawing->model); i++) {
        cal_shape_def def;
        cal_model_shape(drawing->model, i, &def);
        if (!is_drawn(drawing, dressed, &def)) continue;
        const bool meshed = def.kind == CAL_MESH || def.kind == CAL_HEIGHT_FIELD;
        cal_drawn instance = {.body = def.body, .mesh = meshed ? def.mesh : -1, .kind = def.kind};
        memcpy(instance.position, def.position, sizeof instance.position);
        memcpy(instance.quaternion, def.quaternion, sizeof instance.quaternion);
        memcpy(instance.size, def.size, sizeof instance.size);
        memcpy(instance.color, def.color, sizeof instance.color);
        if (instance.mesh >= 0) choose_mesh(drawing, fates, &instance);
        if (!cal_drawing_add(drawing, &instance)) return false;
        if (def.body >= 0) shown[def.body] = true;
    }
    return true;
}

static void find_up(cal_drawing* drawing) {
    double gravity[3];
    cal_model_gravity(drawing->model, gravity);
    const double length = sqrt(gravity[0] * gravity[0] + gravity[1] * gravity[1] + gravity[2] * gravity[2]);
    for (int i = 0; i < 3; i++) drawing->up[i] = length > 0 ? -gravity[i] / length : i == 2;
}

cal_status cal_drawing_create(const cal_model* model, cal_drawing** out, cal_error* error) {
    const int bodies = cal_model_body_count(model);
    cal_drawing* drawing = cal_allocate(1, sizeof *drawing);
    const int meshes = cal_model_mesh_count(model);
    bool* shown = cal_allocate(2 * (size_t)bodies + 1, sizeof *shown);
    uint8_t* fates = cal_allocate((size_t)meshes + 1, sizeof *fates);
    if (drawing) drawing->meshes = cal_allocate((size_t)meshes + 1, sizeof *drawing->meshes);
    if (drawing) drawing->owned = cal_allocate((size_t)meshes + 1, sizeof *drawing->owned);
    bool made = drawing && drawing->meshes && drawing->owned && shown && fates;
    if (made) {
        drawing->model = model;
        drawing->all_bodies = bodies;
        drawing->mesh_count = meshes;
        for (int i = 0; i < meshes; i++) cal_model_mesh(model, i, &drawing->meshes[i]);
        drawing->body_count = bodies < CAL_DRAWN_BODIES_LIMIT ? bodies : CAL_DRAWN_BODIES_LIMIT;
        find_up(drawing);
        bool* dressed = shown + bodies;
        find_dressed(drawing, dressed);
        coarsen_meshes(drawing, dressed);
        made = add_shapes(drawing, shown, fates, dressed) && cal_drawing_add_defaults(drawing, shown);
    }
    cal_free(shown);
    cal_free(fates);
    *out = made ? drawing : NULL;
    if (made) return CAL_OK;
    cal_drawing_destroy(drawing);
    return cal_fail(error, CAL_NO_MEMORY, "no memory to draw %d bodies", bodies);
}

void cal_drawing_destroy(cal_drawing* drawing) {
    if (!drawing) return;
    for (int i = 0; drawing->owned && drawing->meshes && i < drawing->mesh_count; i++) {
        if (!drawing->owned[i]) continue;
        cal_free((void*)(uintptr_t)drawing->meshes[i].vertices);
        cal_free((void*)(uintptr_t)drawing->meshes[i].triangles);
    }
    cal_free(drawing->instances);
    cal_free(drawing->meshes);
    cal_free(drawing->owned);
    cal_free(drawing);
}

// --- JSON ---------------------------------------------------------------------------------------------------------------

void cal_write_json_text(FILE* file, const char* text) {
    fputc('"', file);
    for (const unsigned char* p = (const unsigned char*)text; *p; p++) {
        // "<" too: the text may stand inside a page's script element.
        if (*p == '"' || *p == '\\' || *p < ' ' || *p == '<' || *p == 127)
            fprintf(file, "\\u%04x", *p);
        else
            fputc(*p, file);
    }
    fputc('"', file);
}

// Six digits are finer than a pixel.
static void write_number(FILE* file, double value, bool first) {
    fprintf(file, first ? "%.6g" : ",%.6g", isfinite(value) ? value : 0.0);
}

static void write_mesh(const cal_mesh_def* mesh, FILE* file) {
    fputs("{\"vertices\":[", file);
    for (int i = 0; i < 3 * mesh->vertex_count; i++) write_number(file, mesh->vertices[i], i == 0);
    fputs("],\"triangles\":[", file);
    for (int i = 0; i < 3 * mesh->triangle_count; i++) fprintf(file, i ? ",%d" : "%d", mesh->triangles[i]);
    fputs("]}", file);
}

static void write_meshes(const cal_drawing* drawing, FILE* file) {
    // Where there is no memory to know which ones are used, all are written.
    bool* used = cal_allocate((size_t)drawing->mesh_count + 1, sizeof *used);
    for (int i = 0; used && i < drawing->instance_count; i++)
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
    if (model)
        fprintf(file, "\"joints\":%d,\"degrees\":%d,\"mass\":%.6g,\"floats\":%d,", cal_model_joint_count(model),
                cal_model_v_count(model), cal_model_mass(model), floating_body(model));
    else
        fprintf(file, "\"moving\":%d,", drawing->moving);
}

void cal_drawing_write_json(const cal_drawing* drawing, FILE* file) {
    write_counts(drawing, file);
    fprintf(file, "\"up\":[%.9g,%.9g,%.9g],", drawing->up[0], drawing->up[1], drawing->up[2]);
    fputs("\"instances\":[", file);
    // A row: body, kind, mesh, position, quaternion, size, colour.
    for (int i = 0; i < drawing->instance_count; i++) {
        const cal_drawn* instance = &drawing->instances[i];
        fprintf(file, "%s[%d,\"%s\",%d", i ? "," : "", instance->body, cal_shape_kind_name(instance->kind),
                instance->mesh);
        for (int k = 0; k < 3; k++) write_number(file, instance->position[k], false);
        for (int k = 0; k < 4; k++) write_number(file, instance->quaternion[k], false);
        for (int k = 0; k < 3; k++) write_number(file, instance->size[k], false);
        for (int k = 0; k < 4; k++) write_number(file, instance->color[k], false);
        fputc(']', file);
    }
    fputs("],", file);
    write_meshes(drawing, file);
}
