// Turns a table of segments into bodies. The right side mirrors the left: positions (x, −y, z), axes of rotation (−x,
// y, −z), so that equal joint angles are mirror images.
#include "scenes/limbs.h"
#include "model/angle.h"
#include <stdio.h>
#include <string.h>

enum { LEFT, RIGHT, SIDES, MOST_SEGMENTS = 32 };

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

void cal_add_segments(cal_builder* builder, const cal_segment* segments, int count, bool detailed, double start,
                      double gravity) {
    int bodies[MOST_SEGMENTS][SIDES] = {{0}};
    cal_builder_set_gravity(builder, (double[3]){0.0, 0.0, -gravity});
    for (int i = 0; i < count; i++) {
        if (segments[i].detail && !detailed) continue;
        double position[3];
        memcpy(position, segments[i].position, sizeof position);
        int parent = segments[i].parent != NULL ? find_segment(segments, segments[i].parent) : CAL_GROUND;
        while (parent >= 0 && segments[parent].detail && !detailed) {
            for (int k = 0; k < 3; k++) position[k] += segments[parent].position[k];
            parent = find_segment(segments, segments[parent].parent);
        }
        for (int side = LEFT; side < (segments[i].paired ? SIDES : RIGHT); side++) {
            const double mirror = side == RIGHT ? -1.0 : 1.0;
            const double from[3] = {0.0, 0.0, 0.0};
            const double to[3] = {segments[i].tip[0], mirror * segments[i].tip[1], segments[i].tip[2]};
            char name[64];
            snprintf(name, sizeof name, "%s%s",
                     !segments[i].paired ? ""
                     : side == LEFT      ? "left_"
                                         : "right_",
                     segments[i].name);
            cal_body_def body = cal_default_body_def();
            body.name = name;
            body.parent = parent >= 0 ? bodies[parent][side] : CAL_GROUND;
            body.position[0] = position[0], body.position[1] = mirror * position[1], body.position[2] = position[2];
            cal_shape_capsule(&body, from, to, segments[i].radius, segments[i].mass);
            const cal_joint_def joint = make_joint(&segments[i], name, side, start);
            bodies[i][side] = cal_builder_add_body(builder, &body);
            if (!segments[i].paired) bodies[i][RIGHT] = bodies[i][LEFT];
            cal_builder_add_joint(builder, bodies[i][side], &joint);
        }
    }
}
