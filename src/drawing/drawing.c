// The list of what is drawn, and how it is told to a page.
#include "drawing/drawing.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

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

static bool add_shapes(cal_drawing* drawing, bool* shown) {
    for (int i = 0; i < cal_model_shape_count(drawing->model); i++) {
        cal_shape_def def;
        cal_model_shape(drawing->model, i, &def);
        if (!def.visible || def.color[3] <= 0 || def.body >= drawing->body_count) continue;
        const bool meshed = def.kind == CAL_MESH || def.kind == CAL_HEIGHT_FIELD;
        cal_drawn instance = {.body = def.body, .mesh = meshed ? def.mesh : -1, .kind = def.kind};
        memcpy(instance.position, def.position, sizeof instance.position);
        memcpy(instance.quaternion, def.quaternion, sizeof instance.quaternion);
        memcpy(instance.size, def.size, sizeof instance.size);
        memcpy(instance.color, def.color, sizeof instance.color);
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
    bool* shown = cal_allocate((size_t)bodies, sizeof *shown);
    bool made = drawing && shown;
    if (made) {
        drawing->model = model;
        drawing->body_count = bodies < CAL_DRAWN_BODIES_LIMIT ? bodies : CAL_DRAWN_BODIES_LIMIT;
        find_up(drawing);
        made = add_shapes(drawing, shown) && cal_drawing_add_defaults(drawing, shown);
    }
    cal_free(shown);
    *out = made ? drawing : NULL;
    if (made) return CAL_OK;
    cal_drawing_destroy(drawing);
    return cal_fail(error, CAL_NO_MEMORY, "no memory to draw %d bodies", bodies);
}

void cal_drawing_destroy(cal_drawing* drawing) {
    if (!drawing) return;
    cal_free(drawing->instances);
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

static void write_mesh(const cal_drawing* drawing, int number, FILE* file) {
    cal_mesh_def mesh;
    cal_model_mesh(drawing->model, number, &mesh);
    fputs("{\"vertices\":[", file);
    for (int i = 0; i < 3 * mesh.vertex_count; i++) write_number(file, mesh.vertices[i], i == 0);
    fputs("],\"triangles\":[", file);
    for (int i = 0; i < 3 * mesh.triangle_count; i++) fprintf(file, i ? ",%d" : "%d", mesh.triangles[i]);
    fputs("]}", file);
}

void cal_drawing_write_json(const cal_drawing* drawing, FILE* file) {
    const cal_model* model = drawing->model;
    fprintf(file, "\"bodies\":%d,\"drawn\":%d,\"joints\":%d,\"degrees\":%d,\"mass\":%.6g,\"up\":[%.9g,%.9g,%.9g],",
            cal_model_body_count(model), drawing->body_count, cal_model_joint_count(model), cal_model_v_count(model),
            cal_model_mass(model), drawing->up[0], drawing->up[1], drawing->up[2]);
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
    fputs("],\"meshes\":[", file);
    for (int i = 0; i < cal_model_mesh_count(model); i++) {
        if (i) fputc(',', file);
        write_mesh(drawing, i, file);
    }
    fputc(']', file);
}
