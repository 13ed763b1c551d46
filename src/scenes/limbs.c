// Turns a table of segments into bodies. The right side mirrors the left: positions (x, −y, z), axes of rotation (−x,
// y, −z), so that equal joint angles are mirror images.
//
// Every segment is drawn as the capsule that it is. A limb is a paired segment on one that is not, and all that hangs
// from it; the others are the trunk. Limbs overlap where they begin, so a segment touches neither its own limb nor, of
// a limb, the trunk: the floor has bit 0, the trunk bit 1, and every limb a bit of its own above them.
#include "scenes/limbs.h"
#include "model/angle.h"
#include <stdio.h>
#include <string.h>

enum { LEFT, RIGHT, SIDES, MOST_SEGMENTS = 32, TRUNK = 0 };
// All bits are those that MJCF can write: it has signed numbers.
enum { FLOOR_BIT = 1, TRUNK_BIT = 2, ALL_BITS = 0x7fffffff };

// Where a segment's body is at the start, and its limb: TRUNK, or 1, 2, …
typedef struct placed {
    int body, limb;
    double rotation[9], origin[3];
} placed;

typedef struct figure_builder {
    cal_builder* builder;
    const cal_figure* figure;
    const cal_feet* feet;
    placed segments[MOST_SEGMENTS][SIDES];
    int limbs;
    double lowest; // point of all capsules, in z
} figure_builder;

static int find_segment(const cal_segment* segments, const char* name) {
    int i = 0;
    while (strcmp(segments[i].name, name) != 0) i++;
    return i;
}

static cal_joint_def make_joint(const cal_segment* segment, const char* name, int side, double start) {
    cal_joint_def joint = cal_default_joint_def();
    joint.name = name;
    joint.kind = segment->kind;
    joint.axis[2] = 0.0;
    joint.axis[segment->axis == 'x'   ? 0
               : segment->axis == 'y' ? 1
                                      : 2] = side == RIGHT && segment->axis != 'y' ? -1.0 : 1.0;
    if (segment->kind == CAL_BALL)
        cal_axis_quaternion((const double[3]){0.0, 1.0, 0.0}, start, joint.initial_q);
    else if (segment->kind != CAL_FREE)
        joint.initial_q[0] = start;
    return joint;
}

// The body's frame in the world at the start; the parent's is known. NULL: the ground.
static void place(const placed* parent, const double position[3], const cal_joint_def* joint, placed* out) {
    double turn[4] = {1.0, 0.0, 0.0, 0.0}, own[9];
    if (joint->kind == CAL_BALL) memcpy(turn, joint->initial_q, sizeof turn);
    if (joint->kind == CAL_REVOLUTE) cal_axis_quaternion(joint->axis, joint->initial_q[0], turn);
    cal_quaternion_matrix(turn, own);
    memcpy(out->rotation, own, sizeof own);
    memcpy(out->origin, position, sizeof out->origin);
    if (parent == NULL) return;
    cal_multiply33(parent->rotation, own, out->rotation);
    cal_rotate3(parent->rotation, position, out->origin);
    for (int k = 0; k < 3; k++) out->origin[k] += parent->origin[k];
}

// Bits of what a limb touches: the floor, and all limbs but itself. The trunk touches the floor alone.
static void sort_limb(int limb, cal_shape_def* shape) {
    const uint32_t own = (uint32_t)TRUNK_BIT << limb;
    shape->category = own;
    shape->mask = limb == TRUNK ? FLOOR_BIT : ALL_BITS & ~(own | (uint32_t)TRUNK_BIT);
}

// A capsule from the body's origin to its tip.
static void add_capsule(figure_builder* f, const placed* at, const double tip[3], double radius) {
    static const float colors[][4] = {{0.93F, 0.92F, 0.88F, 1},
                                      {0.84F, 0.16F, 0.14F, 1},
                                      {0.84F, 0.16F, 0.14F, 1},
                                      {0.14F, 0.35F, 0.65F, 1},
                                      {0.14F, 0.35F, 0.65F, 1}};
    const double length = sqrt(cal_dot3(tip, tip));
    cal_shape_def shape = cal_default_shape_def();
    shape.body = at->body;
    shape.kind = CAL_CAPSULE;
    shape.size[0] = radius;
    shape.size[1] = 0.5 * length;
    shape.collides = f->figure->floor;
    sort_limb(at->limb, &shape);
    memcpy(shape.color, colors[at->limb % (int)(sizeof colors / sizeof *colors)], sizeof shape.color);
    double axis[3], R[9], end[3];
    for (int k = 0; k < 3; k++) {
        shape.position[k] = 0.5 * tip[k];
        axis[k] = tip[k] / length;
    }
    cal_rotation_to_axis(axis, R);
    cal_matrix_quaternion(R, shape.quaternion);
    cal_builder_add_shape(f->builder, &shape);
    cal_rotate3(at->rotation, tip, end);
    f->lowest = fmin(f->lowest, at->origin[2] + fmin(0.0, end[2]) - radius);
}

// A box at the tip of a segment that points down: its middle is level with the capsule's end, a third of its length is behind the tip.
static void add_sole(figure_builder* f, const placed* at, const double tip[3], const cal_segment* segment) {
    const double* half = f->feet->half;
    double middle[3] = {tip[0] + half[0] / 3.0, tip[1], tip[2] - segment->radius}, place[3];
    cal_shape_def shape = cal_default_shape_def();
    shape.body = at->body;
    shape.kind = CAL_BOX;
    shape.collides = f->figure->floor;
    memcpy(shape.size, half, sizeof shape.size);
    memcpy(shape.position, middle, sizeof middle);
    sort_limb(at->limb, &shape);
    memcpy(shape.color, (float[4]){0.2F, 0.2F, 0.22F, 1.0F}, sizeof shape.color);
    cal_builder_add_shape(f->builder, &shape);
    for (int corner = 0; corner < 8; corner++) {
        double point[3];
        for (int k = 0; k < 3; k++) point[k] = middle[k] + (corner >> k & 1 ? half[k] : -half[k]);
        cal_rotate3(at->rotation, point, place);
        f->lowest = fmin(f->lowest, at->origin[2] + place[2]);
    }
}

static void add_segment(figure_builder* f, const cal_segment* segment, int parent, const double position[3],
                        placed at[SIDES]) {
    for (int side = LEFT; side < (segment->paired ? SIDES : RIGHT); side++) {
        const double mirror = side == RIGHT ? -1.0 : 1.0;
        const double from[3] = {0.0, 0.0, 0.0};
        const double to[3] = {segment->tip[0], mirror * segment->tip[1], segment->tip[2]};
        char name[64];
        snprintf(name, sizeof name, "%s%s", !segment->paired ? "" : side == LEFT ? "left_" : "right_", segment->name);
        const placed* above = parent >= 0 ? &f->segments[parent][side] : NULL;
        cal_body_def body = cal_default_body_def();
        body.name = name;
        body.parent = above != NULL ? above->body : CAL_GROUND;
        body.position[0] = position[0], body.position[1] = mirror * position[1], body.position[2] = position[2];
        cal_shape_capsule(&body, from, to, segment->radius, segment->mass);
        const cal_joint_def joint = make_joint(segment, name, side, f->figure->start);
        placed* own = &at[side];
        own->body = cal_builder_add_body(f->builder, &body);
        own->limb = above != NULL ? above->limb : TRUNK;
        if (segment->paired && own->limb == TRUNK) own->limb = ++f->limbs;
        place(above, body.position, &joint, own);
        cal_builder_add_joint(f->builder, own->body, &joint);
        add_capsule(f, own, to, segment->radius);
        if (f->feet && strcmp(f->feet->segment, segment->name) == 0) add_sole(f, own, to, segment);
    }
    if (!segment->paired) at[RIGHT] = at[LEFT];
}

static void add_floor(const figure_builder* f) {
    cal_shape_def floor = cal_default_shape_def();
    floor.name = "floor";
    floor.kind = CAL_PLANE;
    floor.position[2] = f->lowest - f->figure->drop;
    floor.category = FLOOR_BIT;
    floor.mask = ALL_BITS & ~(uint32_t)FLOOR_BIT;
    memcpy(floor.color, (float[4]){0.8F, 0.8F, 0.8F, 1.0F}, sizeof floor.color);
    cal_builder_add_shape(f->builder, &floor);
}

void cal_add_segments(cal_builder* builder, const cal_segment* segments, int count, const cal_figure* figure,
                      const cal_feet* feet) {
    figure_builder f = {.builder = builder, .figure = figure, .feet = feet, .lowest = INFINITY};
    const bool detailed = figure->detailed;
    cal_builder_set_gravity(builder, (double[3]){0.0, 0.0, -figure->gravity});
    for (int i = 0; i < count; i++) {
        if (segments[i].detail && !detailed) continue;
        double position[3];
        memcpy(position, segments[i].position, sizeof position);
        int parent = segments[i].parent != NULL ? find_segment(segments, segments[i].parent) : CAL_GROUND;
        while (parent >= 0 && segments[parent].detail && !detailed) {
            for (int k = 0; k < 3; k++) position[k] += segments[parent].position[k];
            parent = find_segment(segments, segments[parent].parent);
        }
        add_segment(&f, &segments[i], parent, position, f.segments[i]);
    }
    if (figure->floor) add_floor(&f);
}
