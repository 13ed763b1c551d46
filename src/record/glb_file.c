// Writing a glTF file from the frames of a run.
#define _POSIX_C_SOURCE 200809L
#include "record/glb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/number_text.h"
#include "base/memory.h"
#include "math/power.h"
#include "math/vector.h"

// --- What is in the file --------------------------------------------------------------------------------------------------

static bool is_textured_plane(const cal_drawn* instance) {
    return instance->kind == CAL_PLANE && instance->texture != CAL_NONE;
}

static bool gather_surfaces(cal_glb* glb) {
    const cal_drawing* drawing = glb->drawing;
    const int units = CAL_UNIT_COUNT + drawing->mesh_count;
    int count = units;
    for (int i = 0; i < drawing->instance_count; i++) count += is_textured_plane(&drawing->instances[i]);
    glb->surfaces = cal_allocate((size_t)count, sizeof *glb->surfaces);
    glb->used = cal_allocate((size_t)count, sizeof *glb->used);
    if (!glb->surfaces || !glb->used) return false;
    glb->surface_count = count;
    for (int i = 0, next = units; i < drawing->instance_count; i++)
        if (is_textured_plane(&drawing->instances[i]) &&
            !cal_surface_textured_plane(&glb->surfaces[next++], &drawing->instances[i]))
            return false;
    for (int i = 0; i < units; i++) {
        if (!(i < CAL_UNIT_COUNT ? cal_surface_unit(&glb->surfaces[i], (cal_unit)i)
                                 : cal_surface_mesh(&glb->surfaces[i], &glb->drawing->meshes[i - CAL_UNIT_COUNT])))
            return false;
    }
    return true;
}

static bool are_equal(const float* a, const float* b, int count) {
    for (int i = 0; i < count; i++)
        if (a[i] != b[i]) return false;
    return true;
}

// The number of a surface in a colour.
static int find_mesh(cal_glb* glb, int surface, const float color[4], int texture) {
    for (int i = 0; i < glb->mesh_count; i++)
        if (glb->meshes[i].surface == surface && are_equal(glb->meshes[i].color, color, 4) &&
            glb->meshes[i].texture == texture)
            return i;
    cal_painted* mesh = &glb->meshes[glb->mesh_count];
    mesh->surface = surface;
    mesh->texture = texture;
    if (texture != CAL_NONE && glb->images[texture] == CAL_NONE) glb->images[texture] = glb->image_count++;
    memcpy(mesh->color, color, sizeof mesh->color);
    glb->used[surface] = true;
    return glb->mesh_count++;
}

// Solids in the order of their bodies; false when there is no memory.
static bool gather_solids(cal_glb* glb) {
    const cal_drawing* drawing = glb->drawing;
    const size_t most = 3 * (size_t)drawing->instance_count;
    const int bodies = drawing->body_count;
    glb->meshes = cal_allocate(most, sizeof *glb->meshes);
    glb->solids = cal_allocate(most, sizeof *glb->solids);
    glb->first = cal_allocate((size_t)bodies + 3, sizeof *glb->first);
    const int textures = drawing->model ? cal_model_texture_count(drawing->model) : 0;
    glb->images = cal_allocate((size_t)textures + 1, sizeof *glb->images);
    if (!glb->meshes || !glb->solids || !glb->first || !glb->images) return false;
    for (int i = 0; i < textures; i++) glb->images[i] = CAL_NONE;
    // Counted, summed, and put in place: first[1 + b] runs from where body b's begin to where they end.
    for (int pass = 0; pass < 2; pass++) {
        int plane = CAL_UNIT_COUNT + drawing->mesh_count;
        for (int i = 0; i < drawing->instance_count; i++) {
            const cal_drawn* instance = &drawing->instances[i];
            cal_solid parts[3];
            const int count = cal_drawn_split(instance, parts), owner = instance->body < 0 ? 0 : 1 + instance->body;
            if (is_textured_plane(instance)) parts[0].surface = plane++;
            for (int k = 0; k < count; k++) {
                if (glb->surfaces[parts[k].surface].index_count == 0) continue;
                if (pass == 0)
                    glb->first[owner + 2]++;
                else
                    glb->solids[glb->first[owner + 1]++] = (cal_placed){
                        instance, parts[k], find_mesh(glb, parts[k].surface, instance->color, instance->texture)};
            }
        }
        for (int i = 2; i < bodies + 3 && pass == 0; i++) glb->first[i] += glb->first[i - 1];
    }
    return true;
}

// A node for each body of which something is drawn, and whether it moves.
static bool gather_nodes(cal_glb* glb) {
    const int bodies = glb->drawing->body_count;
    const size_t size = CAL_GLB_POSE * (size_t)bodies;
    glb->nodes = cal_allocate((size_t)bodies, sizeof *glb->nodes);
    glb->moves = cal_allocate((size_t)bodies, sizeof *glb->moves);
    if (!glb->nodes || !glb->moves) return false;
    for (int body = 0; body < bodies; body++) {
        if (glb->first[body + 2] == glb->first[body + 1]) continue;
        glb->nodes[body] = ++glb->node_count;
        if (glb->frame_count == 0) continue;
        const float* first = glb->frames + CAL_GLB_POSE * (size_t)body;
        for (size_t frame = 1; frame < glb->frame_count && !glb->moves[body]; frame++)
            glb->moves[body] = !are_equal(first, first + frame * size, CAL_GLB_POSE);
        glb->moving_count += glb->moves[body];
    }
    return true;
}

// --- JSON -----------------------------------------------------------------------------------------------------------------

static void write_list(FILE* file, const char* key, const double* values, int count) {
    fprintf(file, "\"%s\":[", key);
    cal_write_numbers(file, 9, values, count);
    fputc(']', file);
}

// glTF writes quaternions with w last.
static void write_place(FILE* file, const double position[3], const double quaternion[4]) {
    double q[4] = {quaternion[1], quaternion[2], quaternion[3], quaternion[0]};
    cal_quaternion_normalize(q);
    write_list(file, "translation", position, 3);
    fputc(',', file);
    write_list(file, "rotation", q, 4);
}

static void write_children(const cal_glb* glb, int owner, bool* some, FILE* file) {
    for (int i = glb->first[owner]; i < glb->first[owner + 1]; i++) {
        fprintf(file, *some ? ",%d" : "%d", 1 + glb->node_count + i);
        *some = true;
    }
}

// The quaternion that takes up to y.
static void find_turn(const double up[3], double turn[4]) {
    double R[9], from[9], to[9];
    cal_rotation_to_axis(up, from);
    cal_rotation_to_axis((const double[3]){0, 1, 0}, to);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) R[3 * i + j] = cal_dot3(to + 3 * i, from + 3 * j);
    cal_matrix_quaternion(R, turn);
}

// Nodes: 0 the model, turned so that up is y; then the bodies; then the solids.
static void write_nodes(const cal_glb* glb, FILE* file) {
    const cal_drawing* drawing = glb->drawing;
    const int bodies = drawing->body_count;
    double turn[4];
    bool some = glb->node_count > 0;
    find_turn(drawing->up, turn);
    fputs("\"nodes\":[{\"name\":", file);
    cal_write_json_text(file, glb->title);
    fputc(',', file);
    write_place(file, (const double[3]){0, 0, 0}, turn);
    fputs(",\"children\":[", file);
    for (int i = 0; i < glb->node_count; i++) fprintf(file, i ? ",%d" : "%d", 1 + i);
    write_children(glb, 0, &some, file);
    fputs("]}", file);
    for (int body = 0; body < bodies; body++) {
        if (glb->nodes[body] == 0) continue;
        char name[96];
        double pose[CAL_GLB_POSE] = {0, 0, 0, 1};
        for (int k = 0; k < CAL_GLB_POSE && glb->frame_count > 0; k++) pose[k] = glb->frames[CAL_GLB_POSE * body + k];
        fputs(",{\"name\":", file);
        cal_write_json_text(file, cal_run_body_name(glb->run, body, name, sizeof name));
        fputc(',', file);
        write_place(file, pose, pose + 3);
        bool any = false;
        fputs(",\"children\":[", file);
        write_children(glb, body + 1, &any, file);
        fputs("]}", file);
    }
    for (int i = 0; i < glb->first[bodies + 1]; i++) {
        const cal_placed* part = &glb->solids[i];
        fprintf(file, ",{\"mesh\":%d,", part->mesh);
        write_place(file, part->solid.position, part->instance->quaternion);
        fputc(',', file);
        write_list(file, "scale", part->solid.scale, 3);
        fputc('}', file);
    }
    fputs("],", file);
}

// Colours are written as numbers that are proportional to light.
static double linear(double value) {
    return value <= 0.04045 ? value / 12.92 : cal_power((value + 0.055) / 1.055, 2.4);
}

static bool has_coordinates(const cal_glb* glb) {
    for (int i = 0; i < glb->surface_count; i++)
        if (glb->used[i] && glb->surfaces[i].coordinates) return true;
    return false;
}

// Views of the bytes: corners, indices, coordinates; then those of the animation and the pictures.
static int count_geometry_views(const cal_glb* glb) { return glb->mesh_count == 0 ? 0 : has_coordinates(glb) ? 3 : 2; }

// A mesh and a material for each surface in a colour. The accessors of a surface begin at `order`: positions, normals, indices, and
// coordinates where it has some.
static void write_meshes(const cal_glb* glb, const int* order, FILE* file) {
    if (glb->mesh_count == 0) return;
    fputs("\"meshes\":[", file);
    for (int i = 0; i < glb->mesh_count; i++) {
        const int at = order[glb->meshes[i].surface];
        char mapped[32] = "";
        if (glb->surfaces[glb->meshes[i].surface].coordinates)
            snprintf(mapped, sizeof mapped, ",\"TEXCOORD_0\":%d", at + 3);
        fprintf(
            file,
            "%s{\"primitives\":[{\"attributes\":{\"POSITION\":%d,\"NORMAL\":%d%s},\"indices\":%d,\"material\":%d}]}",
            i ? "," : "", at, at + 1, mapped, at + 2, i);
    }
    fputs("],\"materials\":[", file);
    for (int i = 0; i < glb->mesh_count; i++) {
        const float* color = glb->meshes[i].color;
        const int texture = glb->meshes[i].texture, surface = glb->meshes[i].surface;
        const bool plane = surface == CAL_UNIT_PLANE || surface >= CAL_UNIT_COUNT + glb->drawing->mesh_count;
        const double factors[] = {linear(color[0]), linear(color[1]), linear(color[2]), (double)color[3]};
        fprintf(file, "%s{\"pbrMetallicRoughness\":{\"baseColorFactor\":[", i ? "," : "");
        cal_write_numbers(file, 6, factors, 4);
        fputc(']', file);
        if (texture != CAL_NONE) fprintf(file, ",\"baseColorTexture\":{\"index\":%d}", glb->images[texture]);
        fprintf(file, ",\"metallicFactor\":0,\"roughnessFactor\":0.6}%s%s}",
                color[3] < 1 ? ",\"alphaMode\":\"BLEND\"" : "", plane ? ",\"doubleSided\":true" : "");
    }
    fputs("],", file);
    if (glb->image_count == 0) return;
    fputs("\"samplers\":[{\"wrapS\":10497,\"wrapT\":10497}],\"textures\":[", file);
    for (int i = 0; i < glb->image_count; i++) fprintf(file, "%s{\"sampler\":0,\"source\":%d}", i ? "," : "", i);
    fputs("],\"images\":[", file);
    const int first = count_geometry_views(glb) + (glb->moving_count > 0 ? 1 : 0);
    for (int i = 0; i < glb->image_count; i++)
        fprintf(file, "%s{\"mimeType\":\"image/png\",\"bufferView\":%d}", i ? "," : "", first + i);
    fputs("],", file);
}

static void write_animation(const cal_glb* glb, int first_accessor, FILE* file) {
    if (glb->moving_count == 0) return;
    fputs("\"animations\":[{\"name\":\"run\",\"samplers\":[", file);
    for (int i = 0; i < 2 * glb->moving_count; i++)
        fprintf(file, "%s{\"input\":%d,\"output\":%d}", i ? "," : "", first_accessor, first_accessor + 1 + i);
    fputs("],\"channels\":[", file);
    for (int body = 0, sampler = 0; body < glb->drawing->body_count; body++) {
        if (!glb->moves[body]) continue;
        for (int path = 0; path < 2; path++, sampler++)
            fprintf(file, "%s{\"sampler\":%d,\"target\":{\"node\":%d,\"path\":\"%s\"}}", sampler ? "," : "", sampler,
                    glb->nodes[body], path == 0 ? "translation" : "rotation");
    }
    fputs("]}],", file);
}

static void write_bounds(const float* positions, int count, FILE* file) {
    for (int most = 0; most < 2; most++) {
        fprintf(file, ",\"%s\":[", most ? "max" : "min");
        for (int k = 0; k < 3; k++) {
            float bound = positions[k];
            for (int i = 1; i < count; i++)
                bound = most ? fmaxf(bound, positions[3 * i + k]) : fminf(bound, positions[3 * i + k]);
            if (k > 0) fputc(',', file);
            cal_write_number(file, 9, (double)bound);
        }
        fputc(']', file);
    }
}

// Where things are among the bytes.
typedef struct lengths {
    size_t vertices, indices, coordinates, animation, pictures;
} lengths;

static size_t padded(size_t bytes) { return (bytes + 3) / 4 * 4; }

// The texture that is the file's picture of this number.
static cal_texture_def picture(const cal_glb* glb, int image) {
    cal_texture_def def = {0};
    for (int i = 0; i < cal_model_texture_count(glb->drawing->model); i++)
        if (glb->images[i] == image) cal_model_texture(glb->drawing->model, i, &def);
    return def;
}

static lengths measure(const cal_glb* glb) {
    lengths l = {0};
    for (int i = 0; i < glb->surface_count; i++) {
        if (!glb->used[i]) continue;
        l.vertices += 6 * sizeof(float) * (size_t)glb->surfaces[i].vertex_count;
        l.indices += sizeof(uint32_t) * (size_t)glb->surfaces[i].index_count;
        if (glb->surfaces[i].coordinates) l.coordinates += 2 * sizeof(float) * (size_t)glb->surfaces[i].vertex_count;
    }
    for (int i = 0; i < glb->image_count; i++) l.pictures += padded(picture(glb, i).size);
    if (glb->moving_count > 0)
        l.animation = sizeof(float) * glb->frame_count * (1 + CAL_GLB_POSE * (size_t)glb->moving_count);
    return l;
}

// Returns how many it wrote.
static int write_geometry_accessors(const cal_glb* glb, FILE* file) {
    size_t vertices = 0, indices = 0, coordinates = 0;
    int count = 0;
    for (int i = 0; i < glb->surface_count; i++) {
        const cal_surface* s = &glb->surfaces[i];
        if (!glb->used[i]) continue;
        const size_t block = 3 * sizeof(float) * (size_t)s->vertex_count;
        for (int kind = 0; kind < 2; kind++) {
            fprintf(file,
                    "%s{\"bufferView\":0,\"byteOffset\":%zu,\"componentType\":5126,\"count\":%d,\"type\":\"VEC3\"",
                    count++ ? "," : "", vertices, s->vertex_count);
            if (kind == 0) write_bounds(s->positions, s->vertex_count, file);
            fputc('}', file);
            vertices += block;
        }
        fprintf(file, ",{\"bufferView\":1,\"byteOffset\":%zu,\"componentType\":5125,\"count\":%d,\"type\":\"SCALAR\"}",
                indices, s->index_count);
        indices += sizeof(uint32_t) * (size_t)s->index_count;
        count++;
        if (!s->coordinates) continue;
        fprintf(file, ",{\"bufferView\":2,\"byteOffset\":%zu,\"componentType\":5126,\"count\":%d,\"type\":\"VEC2\"}",
                coordinates, s->vertex_count);
        coordinates += 2 * sizeof(float) * (size_t)s->vertex_count;
        count++;
    }
    return count;
}

static void write_animation_accessors(const cal_glb* glb, bool first, FILE* file) {
    const size_t frames = glb->frame_count;
    const int view = count_geometry_views(glb);
    if (glb->moving_count == 0) return;
    fprintf(file, "%s{\"bufferView\":%d,\"componentType\":5126,\"count\":%zu,\"type\":\"SCALAR\",\"min\":[",
            first ? "" : ",", view, frames);
    cal_write_number(file, 9, (double)glb->times[0]);
    fputs("],\"max\":[", file);
    cal_write_number(file, 9, (double)glb->times[frames - 1]);
    fputs("]}", file);
    size_t offset = sizeof(float) * frames;
    for (int i = 0; i < 2 * glb->moving_count; i++) {
        fprintf(file, ",{\"bufferView\":%d,\"byteOffset\":%zu,\"componentType\":5126,\"count\":%zu,\"type\":\"%s\"}",
                view, offset, frames, i % 2 ? "VEC4" : "VEC3");
        offset += (i % 2 ? 4 : 3) * sizeof(float) * frames;
    }
}

static void write_buffers(const cal_glb* glb, const lengths* l, FILE* file) {
    const size_t geometry = l->vertices + l->indices + l->coordinates;
    size_t at = geometry + l->animation;
    if (at == 0) return;
    const char* separator = "";
    fputs("\"bufferViews\":[", file);
    if (glb->mesh_count > 0) {
        fprintf(file,
                "{\"buffer\":0,\"byteLength\":%zu,\"byteStride\":12,\"target\":34962},"
                "{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu,\"target\":34963}",
                l->vertices, l->vertices, l->indices);
        separator = ",";
    }
    if (l->coordinates > 0)
        fprintf(file, ",{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu,\"byteStride\":8,\"target\":34962}",
                l->vertices + l->indices, l->coordinates);
    if (l->animation > 0)
        fprintf(file, "%s{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu}", separator, geometry, l->animation);
    for (int i = 0; i < glb->image_count; i++) {
        const size_t size = picture(glb, i).size;
        fprintf(file, ",{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu}", at, size);
        at += padded(size);
    }
    fprintf(file, "],\"buffers\":[{\"byteLength\":%zu}],", at);
}

static void write_json(const cal_glb* glb, const int* order, const lengths* l, FILE* file) {
    fprintf(file,
            "{\"asset\":{\"version\":\"2.0\",\"generator\":\"calder %s\"},\"scene\":0,\"scenes\":[{\"nodes\":[0]}],",
            cal_version());
    write_nodes(glb, file);
    write_meshes(glb, order, file);
    if (glb->mesh_count > 0 || glb->moving_count > 0) {
        fputs("\"accessors\":[", file);
        const int count = write_geometry_accessors(glb, file);
        write_animation_accessors(glb, count == 0, file);
        fputs("],", file);
        write_animation(glb, count, file);
    }
    write_buffers(glb, l, file);
    fputs("\"extras\":{\"units\":\"metres, seconds\"}}", file);
}

// --- Bytes ------------------------------------------------------------------------------------------------------------------

static void write_u32(FILE* file, uint32_t value) {
    const unsigned char bytes[4] = {(unsigned char)value, (unsigned char)(value >> 8), (unsigned char)(value >> 16),
                                    (unsigned char)(value >> 24)};
    fwrite(bytes, 1, 4, file);
}

static void write_float(FILE* file, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    write_u32(file, bits);
}

static void write_geometry(const cal_glb* glb) {
    for (int i = 0; i < glb->surface_count; i++) {
        const cal_surface* s = &glb->surfaces[i];
        if (!glb->used[i]) continue;
        for (int k = 0; k < 3 * s->vertex_count; k++) write_float(glb->file, s->positions[k]);
        for (int k = 0; k < 3 * s->vertex_count; k++) write_float(glb->file, s->normals[k]);
    }
    for (int i = 0; i < glb->surface_count; i++)
        for (int k = 0; glb->used[i] && k < glb->surfaces[i].index_count; k++)
            write_u32(glb->file, glb->surfaces[i].indices[k]);
    for (int i = 0; i < glb->surface_count; i++)
        for (int k = 0; glb->used[i] && glb->surfaces[i].coordinates && k < 2 * glb->surfaces[i].vertex_count; k++)
            write_float(glb->file, glb->surfaces[i].coordinates[k]);
}

static void write_pictures(const cal_glb* glb) {
    for (int i = 0; i < glb->image_count; i++) {
        const cal_texture_def def = picture(glb, i);
        fwrite(def.bytes, 1, def.size, glb->file);
        for (size_t k = def.size; k < padded(def.size); k++) fputc(0, glb->file);
    }
}

static void write_frames(const cal_glb* glb) {
    static const int component[CAL_GLB_POSE] = {0, 1, 2, 4, 5, 6, 3};
    const size_t size = CAL_GLB_POSE * (size_t)glb->drawing->body_count;
    if (glb->moving_count == 0) return;
    for (size_t frame = 0; frame < glb->frame_count; frame++) write_float(glb->file, glb->times[frame]);
    for (int body = 0; body < glb->drawing->body_count; body++) {
        if (!glb->moves[body]) continue;
        for (int path = 0; path < 2; path++)
            for (size_t frame = 0; frame < glb->frame_count; frame++)
                for (int k = path == 0 ? 0 : 3; k < (path == 0 ? 3 : CAL_GLB_POSE); k++)
                    write_float(glb->file,
                                glb->frames[frame * size + CAL_GLB_POSE * (size_t)body + (size_t)component[k]]);
    }
}

static cal_status write_all(cal_glb* glb, int* order, cal_error* error) {
    char* text = NULL;
    size_t length = 0;
    for (int i = 0, next = 0; i < glb->surface_count; i++) {
        order[i] = next;
        if (glb->used[i]) next += glb->surfaces[i].coordinates ? 4 : 3;
    }
    const lengths l = measure(glb);
    FILE* memory = open_memstream(&text, &length);
    if (memory) write_json(glb, order, &l, memory);
    if (!memory || fclose(memory) != 0) {
        free(text);
        return cal_fail(error, CAL_NO_MEMORY, "no memory to write '%s'", glb->path);
    }
    const size_t padding = (4 - length % 4) % 4,
                 bytes = l.vertices + l.indices + l.coordinates + l.animation + l.pictures;
    fputs("glTF", glb->file);
    write_u32(glb->file, 2);
    write_u32(glb->file, (uint32_t)(12 + 8 + length + padding + (bytes > 0 ? 8 + bytes : 0)));
    write_u32(glb->file, (uint32_t)(length + padding));
    fputs("JSON", glb->file);
    fwrite(text, 1, length, glb->file);
    for (size_t i = 0; i < padding; i++) fputc(' ', glb->file);
    free(text);
    if (bytes > 0) {
        write_u32(glb->file, (uint32_t)bytes);
        fwrite("BIN\0", 1, 4, glb->file);
        write_geometry(glb);
        write_frames(glb);
        write_pictures(glb);
    }
    cal_whole_file* whole = glb->whole;
    glb->whole = NULL;
    return cal_whole_file_close(whole, true, error);
}

cal_status cal_glb_write_file(cal_glb* glb, cal_error* error) {
    int* order = NULL;
    if (gather_surfaces(glb) && gather_solids(glb) && gather_nodes(glb))
        order = cal_allocate((size_t)glb->surface_count, sizeof *order);
    if (!order) return cal_fail(error, CAL_NO_MEMORY, "no memory to write '%s'", glb->path);
    const cal_status status = write_all(glb, order, error);
    cal_free(order);
    return status;
}
