// From the ground to one body, joint by joint. A joint about an anchor a of the body's frame (x, R), turning by Q:
//
//     pivot  p = x + R a        R' = R Q        x' = p − R' a        ω' = ω + R axis q̇        ẋ' = ẋ + ω × (p − x) + ω' × (x' − p)
//
// a slide moves x along R axis; a free joint says x', R', ẋ' itself and ω in the body's axes.
#include "run/path.h"

#include <string.h>

#include "base/memory.h"
#include "math/vector.h"
#include "model/angle.h"

typedef struct path_joint {
    cal_joint_def def;
    int first_q, first_v;
} path_joint;

typedef struct path_body {
    double position[3], quaternion[4];
    int first_joint, joint_count;
} path_body;

struct cal_path {
    int body_count, joint_count;
    path_body* bodies; // from the ground outwards
    path_joint* joints;
};

static int count_bodies(const cal_model* model, int body) {
    int count = 0;
    cal_body_def def;
    for (; body >= 0; body = def.parent, count++) cal_model_body(model, body, &def);
    return count;
}

// Numbers the bodies of the path; for others the number stays -1.
static void fill_bodies(const cal_model* model, int body, cal_path* path, int* number) {
    cal_body_def def;
    for (int i = path->body_count - 1; i >= 0; i--, body = def.parent) {
        cal_model_body(model, body, &def);
        memcpy(path->bodies[i].position, def.position, sizeof def.position);
        memcpy(path->bodies[i].quaternion, def.quaternion, sizeof def.quaternion);
        number[body] = i;
    }
}

// Counts the joints of the path's bodies, or fills them in where there is room for them.
static void fill_joints(const cal_model* model, cal_path* path, const int* number) {
    for (int i = 0; i < path->body_count; i++) path->bodies[i].joint_count = 0;
    for (int joint = 0; joint < cal_model_joint_count(model); joint++) {
        path_joint entry;
        int body;
        cal_model_joint(model, joint, &entry.def, &body, &entry.first_q, &entry.first_v);
        if (number[body] < 0) continue;
        path_body* owner = &path->bodies[number[body]];
        if (path->joints) path->joints[owner->first_joint + owner->joint_count] = entry;
        owner->joint_count++;
    }
    path->joint_count = 0;
    for (int i = 0; i < path->body_count; i++) {
        path->bodies[i].first_joint = path->joint_count;
        path->joint_count += path->bodies[i].joint_count;
    }
}

cal_path* cal_path_create(const cal_model* model, int body) {
    const int bodies = cal_model_body_count(model);
    cal_path* path = cal_allocate(1, sizeof *path);
    int* number = cal_allocate((size_t)bodies, sizeof *number);
    if (path && number) {
        for (int i = 0; i < bodies; i++) number[i] = -1;
        path->body_count = count_bodies(model, body);
        path->bodies = cal_allocate((size_t)path->body_count, sizeof *path->bodies);
    }
    if (path && number && path->bodies) {
        fill_bodies(model, body, path, number);
        fill_joints(model, path, number);
        path->joints = cal_allocate((size_t)path->joint_count, sizeof *path->joints);
        if (path->joints) fill_joints(model, path, number);
    }
    cal_free(number);
    if (path && path->joints) return path;
    cal_path_destroy(path);
    return NULL;
}

void cal_path_destroy(cal_path* path) {
    if (!path) return;
    cal_free(path->bodies);
    cal_free(path->joints);
    cal_free(path);
}

// Adds ω × arm to a velocity.
static void carry(const double angular[3], const double arm[3], double velocity[3]) {
    double change[3];
    cal_cross3(angular, arm, change);
    for (int i = 0; i < 3; i++) velocity[i] += change[i];
}

// Turns the frame about an anchor, with an angular velocity (world's axes) on top of its own.
static void turn(cal_body_course* m, const double anchor[3], const double by[4], const double rate[3]) {
    double R[9], arm[3], back[3];
    cal_quaternion_matrix(m->quaternion, R);
    cal_rotate3(R, anchor, arm);
    cal_quaternion_multiply(m->quaternion, by, m->quaternion);
    cal_quaternion_matrix(m->quaternion, R);
    cal_rotate3(R, anchor, back);
    carry(m->angular, arm, m->velocity);
    for (int i = 0; i < 3; i++) {
        m->angular[i] += rate[i];
        m->position[i] += arm[i] - back[i];
        back[i] = -back[i];
    }
    carry(m->angular, back, m->velocity);
}

static void slide(cal_body_course* m, const double axis[3], double by, double rate) {
    double arm[3];
    for (int i = 0; i < 3; i++) arm[i] = by * axis[i];
    carry(m->angular, arm, m->velocity);
    for (int i = 0; i < 3; i++) {
        m->position[i] += arm[i];
        m->velocity[i] += rate * axis[i];
    }
}

static void apply_joint(const path_joint* joint, const double* q, const double* v, cal_body_course* m) {
    const cal_joint_def* def = &joint->def;
    double R[9], axis[3], by[4], rate[3];
    switch (def->kind) {
    case CAL_REVOLUTE:
    case CAL_PRISMATIC:
        cal_quaternion_matrix(m->quaternion, R);
        cal_rotate3(R, def->axis, axis);
        if (def->kind == CAL_PRISMATIC) {
            slide(m, axis, q[0] - def->zero, v[0]);
            break;
        }
        cal_axis_quaternion(def->axis, q[0] - def->zero, by);
        for (int i = 0; i < 3; i++) rate[i] = v[0] * axis[i];
        turn(m, def->anchor, by, rate);
        break;
    case CAL_BALL:
        cal_quaternion_multiply(m->quaternion, q, by);
        cal_quaternion_matrix(by, R);
        cal_rotate3(R, v, rate);
        turn(m, def->anchor, q, rate);
        break;
    case CAL_FREE:
        memcpy(m->position, q, sizeof m->position);
        memcpy(m->quaternion, q + 3, sizeof m->quaternion);
        memcpy(m->velocity, v, sizeof m->velocity);
        cal_quaternion_matrix(m->quaternion, R);
        cal_rotate3(R, v + 3, m->angular);
        break;
    }
}

void cal_path_follow(const cal_path* path, const double* q, const double* v, cal_body_course* out) {
    static const double rest[6] = {0};
    *out = (cal_body_course){.quaternion = {1, 0, 0, 0}};
    for (int i = 0; i < path->body_count; i++) {
        const path_body* body = &path->bodies[i];
        double R[9], arm[3];
        cal_quaternion_matrix(out->quaternion, R);
        cal_rotate3(R, body->position, arm);
        carry(out->angular, arm, out->velocity);
        for (int k = 0; k < 3; k++) out->position[k] += arm[k];
        cal_quaternion_multiply(out->quaternion, body->quaternion, out->quaternion);
        for (int k = 0; k < body->joint_count; k++) {
            const path_joint* joint = &path->joints[body->first_joint + k];
            apply_joint(joint, q + joint->first_q, v ? v + joint->first_v : rest, out);
        }
        cal_quaternion_normalize(out->quaternion);
    }
}

void cal_body_course_at(const cal_body_course* motion, const double point[3], double position[3], double velocity[3]) {
    double R[9], arm[3];
    cal_quaternion_matrix(motion->quaternion, R);
    cal_rotate3(R, point, arm);
    for (int i = 0; i < 3; i++) position[i] = motion->position[i] + arm[i];
    if (!velocity) return;
    memcpy(velocity, motion->velocity, 3 * sizeof(double));
    carry(motion->angular, arm, velocity);
}
