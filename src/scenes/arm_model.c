// An arm as a model: eight links, their masses and shapes.
#include "base/error.h"
#include "scenes/generate.h"
#include "scenes/arm.h"
#include <string.h>

#define FINGER_LENGTH (CAL_ARM_PALM + CAL_ARM_TIP)
#define HAND_LENGTH (CAL_ARM_GRIP - CAL_ARM_PALM) // from the wrist to where the fingers begin

const double cal_arm_home[CAL_ARM_JOINTS] = {0.0, 0.0, 1.9, 0.0, 1.2415926535897932, 0.0};

static const float steel[4] = {0.55F, 0.58F, 0.62F, 1.0F}, orange[4] = {0.95F, 0.5F, 0.1F, 1.0F},
                   dark[4] = {0.2F, 0.2F, 0.24F, 1.0F};

static void solid_box(cal_body_def* def, double mass, const double half[3], double z) {
    def->mass = mass;
    def->center[2] = z;
    for (int i = 0; i < 3; i++) {
        const double a = half[(i + 1) % 3], b = half[(i + 2) % 3];
        def->inertia[i] = mass / 3.0 * (a * a + b * b);
    }
}

static void add_capsule(cal_builder* builder, int body, double from, double to, double radius, const float color[4]) {
    cal_shape_def shape = cal_default_shape_def();
    shape.body = body;
    shape.kind = CAL_CAPSULE;
    shape.size[0] = radius, shape.size[1] = 0.5 * (to - from);
    shape.position[2] = 0.5 * (from + to);
    shape.friction = 0.3;
    memcpy(shape.color, color, sizeof shape.color);
    cal_builder_add_shape(builder, &shape);
}

static void add_box(cal_builder* builder, int body, const double half[3], double y, double z, double friction,
                    const float color[4]) {
    cal_shape_def shape = cal_default_shape_def();
    shape.body = body;
    shape.kind = CAL_BOX;
    memcpy(shape.size, half, sizeof shape.size);
    shape.position[1] = y, shape.position[2] = z;
    shape.friction = friction;
    memcpy(shape.color, color, sizeof shape.color);
    cal_builder_add_shape(builder, &shape);
}

// The next link of the chain: it turns about its own axis 1 (y) or 2 (z), at a height above its parent's origin.
static void add_link(cal_builder* builder, int body, cal_body_def* def, const char* name, double height, int axis) {
    static const char* const joints[CAL_ARM_JOINTS] = {"turn",         "shoulder", "elbow",
                                                       "forearm roll", "wrist",    "hand roll"};
    def->name = name;
    def->parent = body - 1; // CAL_GROUND for the first
    def->position[2] = height;
    cal_builder_add_body(builder, def);
    cal_joint_def joint = cal_default_joint_def();
    joint.name = joints[body];
    joint.initial_q[0] = cal_arm_home[body];
    for (int i = 0; i < 3; i++) joint.axis[i] = i == axis ? 1.0 : 0.0;
    cal_builder_add_joint(builder, body, &joint);
}

static void add_finger(cal_builder* builder, const char* name, const char* slide, double side) {
    const double half[3] = {0.5 * CAL_ARM_FINGER_WIDTH, 0.5 * CAL_ARM_THICK, 0.5 * FINGER_LENGTH};
    cal_body_def def = cal_default_body_def();
    def.name = name;
    def.parent = CAL_ARM_HAND;
    def.position[2] = HAND_LENGTH + 0.5 * FINGER_LENGTH;
    solid_box(&def, 0.15, half, 0.0);
    def.center[1] = side * half[1];
    const int body = cal_builder_add_body(builder, &def);
    cal_joint_def joint = cal_default_joint_def();
    joint.name = slide;
    joint.kind = CAL_PRISMATIC;
    joint.axis[1] = side, joint.axis[2] = 0.0;
    joint.initial_q[0] = CAL_ARM_OPEN;
    joint.armature = 1.5; // of a spindle: with the damping, fingers close at no more than a quarter of a metre a second
    joint.damping = 150.0;
    cal_builder_add_joint(builder, body, &joint);
    add_box(builder, body, half, side * half[1], 0.0, 1.0, dark);
}

static void add_links(cal_builder* builder, double load) {
    const double zero[3] = {0.0}, elbow[3] = {0.0, 0.0, CAL_ARM_LENGTH}, middle[3] = {0.0, 0.0, 0.6 * CAL_ARM_LENGTH},
                 below[3] = {0.0, 0.0, -0.12}, tip[3] = {0.0, 0.0, 0.04};
    cal_body_def def = cal_default_body_def();
    cal_shape_capsule(&def, below, zero, 0.09, 8.0);
    add_link(builder, 0, &def, "turret", CAL_ARM_SHOULDER, 2);
    add_capsule(builder, 0, -0.12, 0.0, 0.09, steel);
    def = cal_default_body_def();
    cal_shape_capsule(&def, zero, elbow, 0.06, 6.0);
    add_link(builder, 1, &def, "upper arm", 0.0, 1);
    add_capsule(builder, 1, 0.0, CAL_ARM_LENGTH, 0.06, orange);
    def = cal_default_body_def();
    cal_shape_capsule(&def, zero, middle, 0.05, 3.0);
    add_link(builder, 2, &def, "elbow", CAL_ARM_LENGTH, 1);
    add_capsule(builder, 2, 0.0, 0.6 * CAL_ARM_LENGTH, 0.05, orange);
    def = cal_default_body_def();
    const double start[3] = {0.0, 0.0, 0.55 * CAL_ARM_LENGTH};
    cal_shape_capsule(&def, start, elbow, 0.04, 1.5);
    add_link(builder, 3, &def, "forearm", 0.0, 2);
    add_capsule(builder, 3, 0.55 * CAL_ARM_LENGTH, CAL_ARM_LENGTH, 0.04, steel);
    def = cal_default_body_def();
    cal_shape_capsule(&def, zero, tip, 0.035, 1.0);
    add_link(builder, 4, &def, "wrist", CAL_ARM_LENGTH, 1);
    add_capsule(builder, 4, 0.0, 0.04, 0.035, dark);
    const double palm[3] = {0.025, 0.5 * CAL_ARM_PALM_WIDTH, 0.015};
    def = cal_default_body_def();
    solid_box(&def, 0.8, palm, HAND_LENGTH - palm[2]);
    if (load > 0.0) { // a point in the grip; a box's own moments are a thousandth of the arm's
        const double whole = def.mass + load, center = (def.mass * def.center[2] + load * CAL_ARM_GRIP) / whole;
        const double apart = CAL_ARM_GRIP - def.center[2], moment = def.mass * load / whole * apart * apart;
        def.inertia[0] += moment, def.inertia[1] += moment;
        def.mass = whole, def.center[2] = center;
    }
    add_link(builder, 5, &def, "hand", 0.0, 2);
    add_box(builder, 5, palm, 0.0, HAND_LENGTH - palm[2], 0.3, orange);
    add_finger(builder, "left finger", "left slide", 1.0);
    add_finger(builder, "right finger", "right slide", -1.0);
}

cal_status cal_arm_model(double load, cal_model** out, cal_error* error) {
    cal_builder* builder;
    if (cal_builder_create(&builder) != CAL_OK) return cal_fail(error, CAL_NO_MEMORY, "out of memory for an arm");
    cal_builder_set_name(builder, "arm");
    add_links(builder, load);
    const cal_status status = cal_builder_finish(builder, out, error);
    cal_builder_destroy(builder);
    return status;
}
