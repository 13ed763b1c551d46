// Avalanche: convex rocks that tumble down a gully, over stones that stick in it and between boulders. The gully is a height field of
// 32 × 8 cells, 512 prisms; with it, the stones and the boulders the scene has the paper's 824 bodies. It keeps its rocks: its sides
// rise to over 50°, and it ends in a basin.
//
//      rocks  ◦°◦                                       ╲       ╱
//            ◦◦°◦ ╲ .                                    ╲  ◦  ╱  across
//                  ╲  . ● boulders, . stones              ╲___╱
//                   ╲ .                  ╱
//                    ╲_._____.___ basin ╱
#include "base/memory.h"
#include "scenes/scene.h"
#include <stdio.h>
#include <string.h>

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    INTEGER(n, 300, 1, 100000, "rocks")                                                                                \
    INTEGER(boulders, 12, 0, 1000, "fixed ones in the gully, 1.5 to 3 m")                                              \
    INTEGER(stones, 511, 0, 100000, "fixed ones in the gully, 0.3 to 1.2 m")                                           \
    NUMBER(length, 320, 60, 10000, "of the gully, m; the last 30 m are a basin")                                       \
    NUMBER(slope, 33, 0, 60, "of the upper part, degrees")                                                             \
    INTEGER(seed, 1, 0, 1000000000, "of shapes and places")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

enum { ALONG = 32, ACROSS = 8, COLUMNS = ALONG + 1, ROWS = ACROSS + 1, FEWEST_CORNERS = 12, MOST_CORNERS = 32 };
#define WIDTH 24.0   // m
#define DEPTH 8.0    // m: of the gully; its sides are a parabola
#define RUN_OUT 30.0 // m: the last ones of the length
#define END_WALL 8.0 // m: how high the basin's end is

static void prepare(const double* values, cal_world_def* def) {
    (void)values;
    def->restitution = 0.3;
    def->friction = 0.6;
    def->group_rate = 100.0;
}

typedef struct mountain {
    double grade; // tangent of the slope
    double length;
    double heights[ROWS * COLUMNS];
} mountain;

// The tangent of an angle in degrees, from its sine and cosine by series: few digits are enough, the same everywhere.
static double tangent(double degrees) {
    const double x = degrees * 0.017453292519943295, z = x * x;
    const double sine = x * (1.0 - z / 6.0 * (1.0 - z / 20.0 * (1.0 - z / 42.0 * (1.0 - z / 72.0))));
    const double cosine = 1.0 - z / 2.0 * (1.0 - z / 12.0 * (1.0 - z / 30.0 * (1.0 - z / 56.0 * (1.0 - z / 90.0))));
    return sine / cosine;
}

static double smooth_height(const mountain* m, double x) {
    const double steep = m->length - RUN_OUT;
    if (x <= steep) return -m->grade * x;
    const double beyond = (x - steep) / RUN_OUT;
    return -m->grade * (steep + RUN_OUT * (beyond - 0.5 * beyond * beyond));
}

static cal_status add_slope(cal_world* world, mountain* m, cal_random* random, cal_error* error) {
    double* vertices = cal_allocate(3 * ROWS * COLUMNS, sizeof *vertices);
    int32_t* triangles = cal_allocate(6 * ALONG * ACROSS, sizeof *triangles);
    if (vertices == NULL || triangles == NULL) {
        cal_free(vertices);
        cal_free(triangles);
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for a slope");
    }
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++) {
            double* vertex = vertices + 3 * (row * COLUMNS + column);
            vertex[0] = m->length * column / ALONG;
            vertex[1] = WIDTH * ((double)row / ACROSS - 0.5);
            const double side = 2.0 * vertex[1] / WIDTH;
            vertex[2] = smooth_height(m, vertex[0]) + DEPTH * side * side + cal_random_between(random, -0.3, 0.3);
            if (column == 0 || column == ALONG) vertex[2] += END_WALL;
            m->heights[row * COLUMNS + column] = vertex[2];
        }
    for (int row = 0, t = 0; row < ACROSS; row++)
        for (int column = 0; column < ALONG; column++) {
            const int32_t a = row * COLUMNS + column, b = a + 1, c = a + COLUMNS, d = c + 1;
            const int32_t corners[6] = {a, b, d, a, d, c};
            memcpy(triangles + t, corners, sizeof corners);
            t += 6;
        }
    cal_mesh_def mesh = cal_default_mesh_def();
    mesh.vertices = vertices;
    mesh.triangles = triangles;
    mesh.vertex_count = ROWS * COLUMNS;
    mesh.triangle_count = 2 * ALONG * ACROSS;
    mesh.columns = COLUMNS;
    cal_world_body_def def = cal_default_world_body_def();
    def.name = "slope";
    def.motion = CAL_FIXED;
    cal_shape_def shape = cal_default_shape_def();
    shape.kind = CAL_HEIGHT_FIELD;
    cal_body_id body;
    cal_status status = cal_world_add_body(world, &def, &body, error);
    if (status == CAL_OK) status = cal_world_add_shape(world, body, &shape, &mesh, error);
    cal_free(vertices);
    cal_free(triangles);
    return status;
}

// The height of the gully at a point: on the triangle there, of the two that a cell is cut into from its first to its last corner.
static double height_at(const mountain* m, double x, double y) {
    const double u = x / m->length * ALONG, v = (y / WIDTH + 0.5) * ACROSS;
    int column = (int)u, row = (int)v;
    column = column < 0 ? 0 : column >= ALONG ? ALONG - 1 : column;
    row = row < 0 ? 0 : row >= ACROSS ? ACROSS - 1 : row;
    const double *h = m->heights + row * COLUMNS + column, a = u - column, b = v - row;
    const double corner = a > b ? h[1] : h[COLUMNS], last = h[COLUMNS + 1];
    return a > b ? h[0] + a * (corner - h[0]) + b * (last - corner) : h[0] + b * (corner - h[0]) + a * (last - corner);
}

static cal_status add_rock(cal_world* world, const char* name, const double position[3], double size, bool fixed,
                           cal_random* random, cal_error* error) {
    double vertices[3 * MOST_CORNERS], stretch[3];
    const int count = FEWEST_CORNERS + cal_random_below(random, MOST_CORNERS - FEWEST_CORNERS + 1);
    for (int i = 0; i < 3; i++) stretch[i] = 0.5 * size * cal_random_between(random, 0.6, 1.0);
    for (int i = 0; i < count; i++) {
        cal_scene_direction(random, vertices + 3 * i);
        for (int k = 0; k < 3; k++) vertices[3 * i + k] *= stretch[k];
    }
    cal_mesh_def mesh = cal_default_mesh_def();
    mesh.vertices = vertices;
    mesh.vertex_count = count;
    cal_world_body_def def = cal_default_world_body_def();
    def.name = name;
    def.motion = fixed ? CAL_FIXED : CAL_MOVING;
    def.density = 2500.0;
    memcpy(def.position, position, sizeof def.position);
    cal_scene_rotation(random, def.quaternion);
    cal_shape_def shape = cal_default_shape_def();
    shape.kind = CAL_MESH;
    cal_body_id body;
    const cal_status status = cal_world_add_body(world, &def, &body, error);
    return status == CAL_OK ? cal_world_add_shape(world, body, &shape, &mesh, error) : status;
}

static cal_status build(const double* values, cal_world* world, cal_error* error) {
    mountain* m = cal_allocate(1, sizeof *m);
    if (m == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a slope");
    cal_random random = {(uint64_t)values[at_seed]};
    m->grade = tangent(values[at_slope]);
    m->length = values[at_length];
    char name[32];
    cal_status status = add_slope(world, m, &random, error);
    const int boulders = (int)values[at_boulders], fixed = boulders + (int)values[at_stones];
    for (int i = 0; status == CAL_OK && i < fixed; i++) {
        const bool large = i < boulders;
        const double x = cal_random_between(&random, 40.0, m->length - (large ? RUN_OUT : 10.0)),
                     y = cal_random_between(&random, -7.0, 7.0),
                     size = large ? cal_random_between(&random, 1.5, 3.0) : cal_random_between(&random, 0.3, 1.2);
        const double position[3] = {x, y, height_at(m, x, y)}; // half of it sticks in the ground
        snprintf(name, sizeof name, "%s %d", large ? "boulder" : "stone", large ? i : i - boulders);
        status = add_rock(world, name, position, size, true, &random, error);
    }
    // Rows of rocks above the top, a metre and a bit apart, layer over layer.
    for (int i = 0; status == CAL_OK && i < (int)values[at_n]; i++) {
        const int across = i % 10, along = i / 10 % 10, layer = i / 100;
        const double x = 24.0 - 1.3 * along, y = 1.3 * (across - 4.5);
        const double position[3] = {x, y, height_at(m, x, y) + 1.0 + 1.3 * layer};
        snprintf(name, sizeof name, "rock %d", i);
        status = add_rock(world, name, position, cal_random_between(&random, 0.2, 1.0), false, &random, error);
    }
    cal_free(m);
    return status;
}

CAL_DEFINE_SCENE(avalanche, PARAMETERS, 45.0, "convex rocks that tumble down a gully, over stones and between boulders")
