// Avalanche: convex rocks that tumble down a mountainside between boulders. The slope is a height field of 16 × 16 cells, 512
// prisms, steep above and running out below.
//
//      rocks  ◦°◦
//            ◦◦°◦ ╲
//                  ╲   ● boulders
//                   ╲___
//                       ╲_______  run-out
#include "base/memory.h"
#include "scenes/scene.h"
#include <stdio.h>
#include <string.h>

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    INTEGER(n, 300, 1, 100000, "rocks")                                                                                \
    INTEGER(boulders, 12, 0, 1000, "fixed ones on the slope")                                                          \
    NUMBER(length, 64, 40, 10000, "of the mountainside, m; the last 20 m run out")                                     \
    NUMBER(slope, 33, 0, 60, "of the upper part, degrees")                                                             \
    INTEGER(seed, 1, 0, 1000000000, "of shapes and places")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

enum { CELLS = 16, VERTICES = CELLS + 1, FEWEST_CORNERS = 12, MOST_CORNERS = 32 };
#define WIDTH 32.0   // m
#define RUN_OUT 20.0 // m: the last ones of the length

static void prepare(const double* values, cal_world_def* def) {
    (void)values;
    def->restitution = 0.3;
    def->friction = 0.6;
    def->group_rate = 100.0;
}

typedef struct mountain {
    double grade; // tangent of the slope
    double length;
    double heights[VERTICES * VERTICES];
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
    double* vertices = cal_allocate(3 * VERTICES * VERTICES, sizeof *vertices);
    int32_t* triangles = cal_allocate(6 * CELLS * CELLS, sizeof *triangles);
    if (vertices == NULL || triangles == NULL) {
        cal_free(vertices);
        cal_free(triangles);
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for a slope");
    }
    for (int row = 0; row < VERTICES; row++)
        for (int column = 0; column < VERTICES; column++) {
            double* vertex = vertices + 3 * (row * VERTICES + column);
            vertex[0] = m->length * column / CELLS;
            vertex[1] = WIDTH * ((double)row / CELLS - 0.5);
            // A gully in the middle and some roughness.
            const double side = 2.0 * vertex[1] / WIDTH;
            vertex[2] = smooth_height(m, vertex[0]) + 3.0 * side * side + cal_random_between(random, -0.3, 0.3);
            m->heights[row * VERTICES + column] = vertex[2];
        }
    for (int row = 0, t = 0; row < CELLS; row++)
        for (int column = 0; column < CELLS; column++) {
            const int32_t a = row * VERTICES + column, b = a + 1, c = a + VERTICES, d = c + 1;
            const int32_t corners[6] = {a, b, d, a, d, c};
            memcpy(triangles + t, corners, sizeof corners);
            t += 6;
        }
    cal_mesh_def mesh = cal_default_mesh_def();
    mesh.vertices = vertices;
    mesh.triangles = triangles;
    mesh.vertex_count = VERTICES * VERTICES;
    mesh.triangle_count = 2 * CELLS * CELLS;
    mesh.columns = VERTICES;
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

// The highest corner of the cell under a point.
static double height_at(const mountain* m, double x, double y) {
    int column = (int)(x / m->length * CELLS), row = (int)((y / WIDTH + 0.5) * CELLS);
    column = column < 0 ? 0 : column >= CELLS ? CELLS - 1 : column;
    row = row < 0 ? 0 : row >= CELLS ? CELLS - 1 : row;
    const double* h = m->heights + row * VERTICES + column;
    return fmax(fmax(h[0], h[1]), fmax(h[VERTICES], h[VERTICES + 1]));
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
    for (int i = 0; status == CAL_OK && i < (int)values[at_boulders]; i++) {
        const double x = cal_random_between(&random, 20.0, m->length - 14.0),
                     y = cal_random_between(&random, -8.0, 8.0);
        const double position[3] = {x, y, height_at(m, x, y) - 0.3};
        snprintf(name, sizeof name, "boulder %d", i);
        status = add_rock(world, name, position, cal_random_between(&random, 1.5, 3.0), true, &random, error);
    }
    // Rows of rocks above the top, a metre and a bit apart, layer over layer.
    for (int i = 0; status == CAL_OK && i < (int)values[at_n]; i++) {
        const int across = i % 10, along = i / 10 % 10, layer = i / 100;
        const double x = 2.0 + 1.3 * along, y = 1.3 * (across - 4.5);
        const double position[3] = {x, y, height_at(m, x, y) + 1.0 + 1.3 * layer};
        snprintf(name, sizeof name, "rock %d", i);
        status = add_rock(world, name, position, cal_random_between(&random, 0.2, 1.0), false, &random, error);
    }
    cal_free(m);
    return status;
}

CAL_DEFINE_SCENE(avalanche, PARAMETERS, 45.0, "convex rocks that tumble down a mountainside between boulders")
