// Triangles of unit shapes and meshes.
#include "record/surface.h"

#include <math.h>

#include "base/memory.h"
#include "math/vector.h"
#include "model/angle.h"

enum { AROUND = 24, ALONG = 14 };
static const double ENDLESS = 100; // m, half the edge of a plane without end

static bool make_room(cal_surface* s, int vertices, int indices) {
    *s = (cal_surface){.positions = cal_allocate(3 * (size_t)vertices, sizeof(float)),
                       .normals = cal_allocate(3 * (size_t)vertices, sizeof(float)),
                       .indices = cal_allocate((size_t)indices, sizeof(uint32_t))};
    return s->positions && s->normals && s->indices;
}

void cal_surface_release(cal_surface* s) {
    cal_free(s->positions);
    cal_free(s->normals);
    cal_free(s->indices);
    cal_free(s->coordinates);
}

static uint32_t add_vertex(cal_surface* s, const double position[3], const double normal[3]) {
    for (int i = 0; i < 3; i++) {
        s->positions[3 * s->vertex_count + i] = (float)position[i];
        s->normals[3 * s->vertex_count + i] = (float)normal[i];
    }
    return (uint32_t)s->vertex_count++;
}

static void add_triangle(cal_surface* s, uint32_t a, uint32_t b, uint32_t c) {
    s->indices[s->index_count++] = a;
    s->indices[s->index_count++] = b;
    s->indices[s->index_count++] = c;
}

static bool make_sphere(cal_surface* s) {
    if (!make_room(s, (AROUND + 1) * (ALONG + 1), 6 * AROUND * ALONG)) return false;
    for (int row = 0; row <= ALONG; row++)
        for (int column = 0; column <= AROUND; column++) {
            double sine, cosine, x, y;
            cal_sine_cosine(CAL_PI * row / ALONG, &sine, &cosine);
            cal_sine_cosine(2 * CAL_PI * column / AROUND, &y, &x);
            const double at[3] = {sine * x, sine * y, cosine};
            add_vertex(s, at, at);
        }
    for (uint32_t row = 0; row < ALONG; row++)
        for (uint32_t column = 0; column < AROUND; column++) {
            const uint32_t a = row * (AROUND + 1) + column, below = a + AROUND + 1;
            // The rows at the poles are points.
            if (row > 0) add_triangle(s, a, below, a + 1);
            if (row < ALONG - 1) add_triangle(s, a + 1, below, below + 1);
        }
    return true;
}

static bool make_cylinder(cal_surface* s) {
    if (!make_room(s, 4 * (AROUND + 1) + 2, 12 * AROUND)) return false;
    for (int column = 0; column <= AROUND; column++) {
        double x, y;
        cal_sine_cosine(2 * CAL_PI * column / AROUND, &y, &x);
        const double out[3] = {x, y, 0}, up[3] = {0, 0, 1}, down[3] = {0, 0, -1};
        add_vertex(s, (const double[3]){x, y, -1}, out);
        add_vertex(s, (const double[3]){x, y, 1}, out);
        add_vertex(s, (const double[3]){x, y, -1}, down);
        add_vertex(s, (const double[3]){x, y, 1}, up);
    }
    const uint32_t low = add_vertex(s, (const double[3]){0, 0, -1}, (const double[3]){0, 0, -1});
    const uint32_t high = add_vertex(s, (const double[3]){0, 0, 1}, (const double[3]){0, 0, 1});
    for (uint32_t column = 0; column < AROUND; column++) {
        const uint32_t a = 4 * column, b = a + 4;
        add_triangle(s, a, b, b + 1);
        add_triangle(s, a, b + 1, a + 1);
        add_triangle(s, b + 2, a + 2, low);
        add_triangle(s, a + 3, b + 3, high);
    }
    return true;
}

// The square at `normal`, seen from outside.
static void add_square(cal_surface* s, const double normal[3], const double side[3]) {
    double other[3];
    uint32_t corner[4];
    cal_cross3(normal, side, other);
    for (int i = 0; i < 4; i++) {
        const double u = i == 0 || i == 3 ? -1 : 1, v = i < 2 ? -1 : 1;
        double at[3];
        for (int k = 0; k < 3; k++) at[k] = normal[k] + u * side[k] + v * other[k];
        corner[i] = add_vertex(s, at, normal);
    }
    add_triangle(s, corner[0], corner[1], corner[2]);
    add_triangle(s, corner[0], corner[2], corner[3]);
}

static bool make_box(cal_surface* s) {
    if (!make_room(s, 24, 36)) return false;
    for (int axis = 0; axis < 3; axis++)
        for (int sign = -1; sign <= 1; sign += 2) {
            double normal[3] = {0, 0, 0}, side[3] = {0, 0, 0};
            normal[axis] = sign;
            side[(axis + 1) % 3] = 1;
            add_square(s, normal, side);
        }
    return true;
}

static bool make_plane(cal_surface* s) {
    if (!make_room(s, 4, 6)) return false;
    add_square(s, (const double[3]){0, 0, 1}, (const double[3]){1, 0, 0});
    for (int i = 0; i < 4; i++) s->positions[3 * i + 2] = 0;
    return true;
}

bool cal_surface_textured_plane(cal_surface* surface, const cal_drawn* instance) {
    if (!make_plane(surface)) return false;
    surface->coordinates = cal_allocate(8, sizeof(float));
    if (!surface->coordinates) return false;
    // A corner of the picture's middle is at the plane's.
    for (int i = 0; i < 8; i++) {
        const double half = instance->size[i % 2] > 0 ? instance->size[i % 2] : ENDLESS;
        const double at = surface->positions[3 * (i / 2) + i % 2] * half * instance->texture_repeat[i % 2];
        surface->coordinates[i] = (float)(i % 2 == 0 ? at - 0.5 : 0.5 - at);
    }
    return true;
}

bool cal_surface_unit(cal_surface* surface, cal_unit unit) {
    switch (unit) {
    case CAL_UNIT_SPHERE: return make_sphere(surface);
    case CAL_UNIT_CYLINDER: return make_cylinder(surface);
    case CAL_UNIT_BOX: return make_box(surface);
    default: return make_plane(surface);
    }
}

bool cal_surface_mesh(cal_surface* s, const cal_mesh_def* mesh) {
    if (!make_room(s, 3 * mesh->triangle_count, 3 * mesh->triangle_count)) return false;
    if (mesh->coordinates) s->coordinates = cal_allocate(6 * (size_t)mesh->triangle_count, sizeof(float));
    if (mesh->coordinates && !s->coordinates) return false;
    for (int i = 0; i < mesh->triangle_count; i++) {
        const double* corner[3];
        double a[3], b[3], normal[3];
        for (int k = 0; k < 3; k++) corner[k] = mesh->vertices + 3 * (size_t)mesh->triangles[3 * i + k];
        for (int k = 0; k < 3; k++) a[k] = corner[1][k] - corner[0][k], b[k] = corner[2][k] - corner[0][k];
        cal_cross3(a, b, normal);
        const double length = sqrt(cal_dot3(normal, normal));
        if (!(length > 0)) continue; // a triangle without area
        for (int k = 0; k < 3; k++) normal[k] /= length;
        uint32_t first = 0;
        for (int k = 0; k < 3; k++) {
            const uint32_t vertex = add_vertex(s, corner[k], normal);
            if (k == 0) first = vertex;
            for (int c = 0; s->coordinates && mesh->coordinates && c < 2; c++)
                s->coordinates[2 * vertex + (uint32_t)c] = mesh->coordinates[6 * (size_t)i + 2 * (size_t)k + (size_t)c];
        }
        add_triangle(s, first, first + 1, first + 2);
    }
    return true;
}

static cal_solid place(const cal_drawn* instance, int surface, double x, double y, double z, double along) {
    cal_solid solid = {surface, {0, 0, along}, {x, y, z}};
    double R[9];
    cal_quaternion_matrix(instance->quaternion, R);
    cal_rotate3(R, solid.position, solid.position);
    for (int i = 0; i < 3; i++) solid.position[i] += instance->position[i];
    return solid;
}

int cal_drawn_split(const cal_drawn* instance, cal_solid solids[3]) {
    const double *size = instance->size, r = size[0];
    switch (instance->kind) {
    case CAL_SPHERE: solids[0] = place(instance, CAL_UNIT_SPHERE, r, r, r, 0); return 1;
    case CAL_ELLIPSOID: solids[0] = place(instance, CAL_UNIT_SPHERE, r, size[1], size[2], 0); return 1;
    case CAL_CYLINDER: solids[0] = place(instance, CAL_UNIT_CYLINDER, r, r, size[1], 0); return 1;
    case CAL_BOX: solids[0] = place(instance, CAL_UNIT_BOX, r, size[1], size[2], 0); return 1;
    case CAL_CAPSULE:
        solids[0] = place(instance, CAL_UNIT_CYLINDER, r, r, size[1], 0);
        solids[1] = place(instance, CAL_UNIT_SPHERE, r, r, r, size[1]);
        solids[2] = place(instance, CAL_UNIT_SPHERE, r, r, r, -size[1]);
        return 3;
    case CAL_PLANE:
        solids[0] = place(instance, CAL_UNIT_PLANE, r > 0 ? r : ENDLESS, size[1] > 0 ? size[1] : ENDLESS, 1, 0);
        return 1;
    case CAL_MESH:
    case CAL_HEIGHT_FIELD: solids[0] = place(instance, CAL_UNIT_COUNT + instance->mesh, 1, 1, 1, 0); return 1;
    }
    return 0;
}
