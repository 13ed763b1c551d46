// The drawing of a world.
//
// A mesh without triangles is a set of points that stands for its convex hull, so the hull is drawn. Moving bodies that
// nobody gave a colour get one each, so that they are told apart.
#include "drawing/world_drawing.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "math/vector.h"
#include "model/hull.h"

static const float palette[][4] = {{0.90f, 0.36f, 0.30f, 1}, {0.95f, 0.66f, 0.25f, 1}, {0.35f, 0.62f, 0.85f, 1},
                                   {0.40f, 0.72f, 0.50f, 1}, {0.66f, 0.50f, 0.82f, 1}, {0.85f, 0.80f, 0.62f, 1}};
enum { COLORS = sizeof palette / sizeof palette[0] };

static const void* copy(const void* from, size_t count, size_t size) {
    void* to = cal_allocate(count + 1, size);
    if (to && count > 0) memcpy(to, from, count * size);
    return to;
}

// A copy of a mesh, with the triangles of its hull where it has none; a flat set of points stays without any.
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
    return to->vertices && to->triangles;
}

static void paint(cal_drawn* instance, int body) {
    const cal_shape_def plain = cal_default_shape_def();
    if (cal_same_bits(instance->color, plain.color, sizeof plain.color))
        memcpy(instance->color, palette[body % COLORS], sizeof instance->color);
}

// Puts an instance on the ground where its body is, for good.
static void settle(const cal_world* world, cal_body_id body, cal_drawn* instance) {
    double place[3] = {0, 0, 0}, turn[4] = {1, 0, 0, 0}, R[9], moved[3], turned[4];
    cal_world_get_body(world, body, place, turn, NULL, NULL);
    cal_quaternion_matrix(turn, R);
    cal_rotate3(R, instance->position, moved);
    cal_quaternion_multiply(turn, instance->quaternion, turned);
    for (int k = 0; k < 3; k++) instance->position[k] = place[k] + moved[k];
    memcpy(instance->quaternion, turned, sizeof turned);
    instance->body = CAL_GROUND;
}

static bool add_shape(cal_drawing* drawing, const cal_world* world, int number, const cal_shape_def* shape,
                      const cal_mesh_def* mesh) {
    const cal_body_id body = cal_world_body(world, number);
    cal_drawn instance = {.body = number, .mesh = -1, .kind = shape->kind};
    memcpy(instance.position, shape->position, sizeof instance.position);
    memcpy(instance.quaternion, shape->quaternion, sizeof instance.quaternion);
    memcpy(instance.size, shape->size, sizeof instance.size);
    memcpy(instance.color, shape->color, sizeof instance.color);
    if (shape->kind == CAL_MESH || shape->kind == CAL_HEIGHT_FIELD) {
        cal_mesh_def* own = &drawing->meshes[drawing->mesh_count++];
        // Owned before it is whole, so that it is freed when it does not become so.
        drawing->owned[drawing->mesh_count - 1] = true;
        if (!copy_mesh(mesh, own)) return false;
        instance.mesh = drawing->mesh_count - 1;
        if (!cal_drawing_takes_mesh(drawing, own)) cal_drawn_become_box(&instance, own);
    }
    if (cal_world_body_motion(world, body) == CAL_FIXED)
        settle(world, body, &instance);
    else
        paint(&instance, number);
    return cal_drawing_add(drawing, &instance);
}

static bool add_body(cal_drawing* drawing, const cal_world* world, int number) {
    cal_shape_def shape;
    cal_mesh_def mesh;
    for (int i = 0; cal_world_get_shape(world, cal_world_body(world, number), i, &shape, &mesh); i++)
        if (shape.visible && shape.color[3] > 0 && !add_shape(drawing, world, number, &shape, &mesh)) return false;
    return true;
}

static size_t count_meshes(const cal_world* world, int bodies) {
    size_t count = 0;
    cal_shape_def shape;
    for (int body = 0; body < bodies; body++)
        for (int i = 0; cal_world_get_shape(world, cal_world_body(world, body), i, &shape, NULL); i++)
            count += shape.kind == CAL_MESH || shape.kind == CAL_HEIGHT_FIELD;
    return count;
}

cal_status cal_world_drawing_create(const cal_world* world, cal_drawing** out, cal_error* error) {
    const int bodies = cal_world_body_count(world);
    cal_drawing* drawing = cal_allocate(1, sizeof *drawing);
    bool made = drawing != NULL;
    if (made) {
        drawing->all_bodies = bodies;
        drawing->body_count = bodies < CAL_DRAWN_BODIES_LIMIT ? bodies : CAL_DRAWN_BODIES_LIMIT;
        drawing->up[2] = 1;
        const size_t meshes = count_meshes(world, drawing->body_count) + 1;
        drawing->meshes = cal_allocate(meshes, sizeof *drawing->meshes);
        drawing->owned = cal_allocate(meshes, sizeof *drawing->owned);
        made = drawing->meshes && drawing->owned;
    }
    for (int i = 0; made && i < bodies; i++)
        drawing->moving += cal_world_body_motion(world, cal_world_body(world, i)) != CAL_FIXED;
    for (int i = 0; made && i < drawing->body_count; i++) made = add_body(drawing, world, i);
    *out = made ? drawing : NULL;
    if (made) return CAL_OK;
    cal_drawing_destroy(drawing);
    return cal_fail(error, CAL_NO_MEMORY, "no memory to draw %d bodies", bodies);
}
