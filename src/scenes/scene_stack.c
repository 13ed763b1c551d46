// Boxes on a floor: a wall, a pyramid, a slope, a row of dominoes. What must stand stands, and what must fall falls.
#include "scenes/scene.h"
#include <stdio.h>
#include <string.h>

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    CHOICE(kind, "wall|pyramid|dominoes|slope", "what is built")                                                       \
    INTEGER(n, 10, 1, 200, "boxes in a row of a wall or at the foot of a pyramid, dominoes")                           \
    NUMBER(angle, 20, 0, 80, "of the slope, degrees")                                                                  \
    NUMBER(friction, 0.5, 0, 100, "of all contacts")                                                                   \
    CHOICE(order, "forward|backward", "in which bodies are numbered")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

enum { WALL, PYRAMID, DOMINOES, SLOPE };
#define HALF 0.1 // of a box's edge, m

static void prepare(const double* values, cal_world_def* def) {
    def->restitution = 0.0;
    def->friction = values[at_friction];
}

static cal_status add_floor(cal_world* world, double angle, cal_error* error) {
    cal_shape_def floor = cal_default_shape_def();
    floor.kind = CAL_BOX;
    floor.size[0] = floor.size[1] = 50.0;
    floor.size[2] = 1.0;
    const double half = 0.5 * angle * 0.017453292519943295, z = half * half;
    floor.quaternion[0] = 1.0 - z / 2.0 * (1.0 - z / 12.0 * (1.0 - z / 30.0 * (1.0 - z / 56.0)));
    floor.quaternion[2] = half * (1.0 - z / 6.0 * (1.0 - z / 20.0 * (1.0 - z / 42.0 * (1.0 - z / 72.0))));
    // The surface goes through the origin.
    double R[9];
    cal_quaternion_matrix(floor.quaternion, R);
    for (int i = 0; i < 3; i++) floor.position[i] = -R[3 * i + 2];
    return cal_scene_fixed(world, "floor", &floor, error);
}

static cal_status add_box(cal_world* world, int number, const double position[3], const double half[3],
                          const double quaternion[4], double spin, cal_error* error) {
    char name[32];
    snprintf(name, sizeof name, "box %d", number);
    cal_world_body_def def = cal_default_world_body_def();
    def.name = name;
    memcpy(def.position, position, sizeof def.position);
    memcpy(def.quaternion, quaternion, sizeof def.quaternion);
    // About the edge at its foot.
    def.angular_velocity[1] = spin;
    def.velocity[0] = spin * half[2];
    def.velocity[2] = spin * half[0];
    cal_shape_def box = cal_default_shape_def();
    box.kind = CAL_BOX;
    memcpy(box.size, half, sizeof box.size);
    cal_body_id body;
    const cal_status status = cal_world_add_body(world, &def, &body, error);
    return status == CAL_OK ? cal_world_add_shape(world, body, &box, NULL, error) : status;
}

static cal_status build(const double* values, cal_world* world, cal_error* error) {
    const int kind = (int)values[at_kind], n = (int)values[at_n];
    const double cube[3] = {HALF, HALF, HALF}, upright[4] = {1.0, 0.0, 0.0, 0.0};
    cal_status status = add_floor(world, kind == SLOPE ? values[at_angle] : 0.0, error);
    if (kind == SLOPE && status == CAL_OK) {
        double at[3], turned[4], R[9];
        cal_world_get_body(world, cal_world_body(world, 0), at, turned, NULL, NULL);
        cal_quaternion_matrix(turned, R);
        for (int i = 0; i < 3; i++) at[i] = HALF * R[3 * i + 2];
        return add_box(world, 0, at, cube, turned, 0.0, error);
    }
    const int count = kind == WALL ? n * n : kind == PYRAMID ? n * (n + 1) / 2 : n;
    for (int k = 0; status == CAL_OK && k < count; k++) {
        const int i = values[at_order] == 0.0 ? k : count - 1 - k;
        if (kind == DOMINOES) {
            const double thin[3] = {0.02, 0.1, 0.2}, at[3] = {0.2 * i, 0.0, 0.2};
            status = add_box(world, i, at, thin, upright, i == 0 ? 1.0 : 0.0, error);
            continue;
        }
        int row = 0, column = i, length = n;
        while (column >= length) {
            column -= length;
            row++;
            if (kind == PYRAMID) length--;
        }
        // Every other row of a wall is shifted by a quarter of a box.
        const double shift = kind == PYRAMID ? HALF * row : row % 2 == 0 ? 0.0 : 0.5 * HALF;
        const double at[3] = {2.02 * HALF * (column - 0.5 * (n - 1)) + 1.01 * shift, 0.0, HALF * (2 * row + 1)};
        status = add_box(world, i, at, cube, upright, 0.0, error);
    }
    return status;
}

CAL_DEFINE_SCENE(stack, PARAMETERS, 60.0, "boxes: a wall, a pyramid, dominoes, or one on a slope")
