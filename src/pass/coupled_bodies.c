// Coupled forces on bodies: what carries their weight, a medium, and motors, alone or against another body.
#include "math/rotation_vector.h"
#include "pass/coupled_inner.h"
#include "pass/drag.h"

#include <string.h>

int cal_coupled_place(const cal_coupled* c, int body, const double position[3], const double quaternion[4],
                      double rotation[9], double origin[3]) {
    const cal_placed at = {(const double*)c->motions, (size_t)CAL_DOUBLES(cal_world_motion), c->q, NULL};
    double own[9], mounted[9];
    const int node = cal_place_point(c->model, &at, body, position, origin);
    cal_quaternion_matrix(quaternion, own);
    if (body == CAL_GROUND)
        memcpy(mounted, own, sizeof own);
    else
        cal_multiply33(c->model->mounts[body].rotation, own, mounted);
    if (node < 0)
        memcpy(rotation, mounted, sizeof mounted);
    else
        cal_multiply33(c->motions[node].rotation, mounted, rotation);
    return node;
}

void cal_coupled_velocity(const cal_world_motion* motion, const double rotation[9], const double origin[3],
                          const double wind[3], double out[6]) {
    double linear[3];
    cal_motion_at(motion, origin, linear);
    for (int i = 0; i < 3; i++) linear[i] -= wind[i];
    cal_unrotate3(rotation, motion->angular, out);
    cal_unrotate3(rotation, linear, out + 3);
}

static void push_frame(cal_coupled* c, cal_coupled_kind kind, int node, const double rotation[9],
                       const double origin[3], const double torque[3], const double force[3]) {
    double turned[3], pushed[3];
    cal_rotate3(rotation, force, pushed);
    cal_rotate3(rotation, torque, turned);
    cal_coupled_push(c, kind, node, origin, pushed);
    for (int i = 0; i < 3; i++) c->wrenches[kind][node].angular[i] += turned[i];
}

void cal_coupled_carry(cal_coupled* c) {
    const cal_model* model = c->model;
    const cal_placed at = {(const double*)c->motions, (size_t)CAL_DOUBLES(cal_world_motion), c->q, NULL};
    for (int b = 0; b < model->body_count; b++) {
        const cal_body_def* def = model->bodies[b].def;
        double center[3], force[3];
        if (def->weightless == 0.0) continue;
        const int node = cal_place_point(model, &at, b, def->center, center);
        for (int i = 0; i < 3; i++) force[i] = -(def->mass * def->weightless) * model->gravity[i];
        if (node >= 0) cal_coupled_push(c, CAL_COUPLED_ENERGY, node, center, force);
    }
}

void cal_coupled_drag(cal_coupled* c) {
    const cal_model* model = c->model;
    const cal_medium* medium = &model->kept.medium;
    const bool still = medium->wind[0] == 0.0 && medium->wind[1] == 0.0 && medium->wind[2] == 0.0;
    for (int i = 0; i < model->kept.drag_count; i++) {
        const cal_drag_def* def = &model->kept.drags[i];
        double rotation[9], origin[3], velocity[6], force[6];
        const int node = cal_coupled_place(c, def->body, def->position, def->quaternion, rotation, origin);
        if (node < 0) continue;
        cal_coupled_velocity(&c->motions[node], rotation, origin, medium->wind, velocity);
        cal_drag_force(def, medium, velocity, force);
        push_frame(c, still ? CAL_COUPLED_LOSS : CAL_COUPLED_WORK, node, rotation, origin, force, force + 3);
    }
}

// What both hang from; children have higher numbers than their parents.
static int common_node(const cal_model* model, int a, int b) {
    while (a != b) {
        int* lower = a > b ? &a : &b;
        *lower = model->nodes[*lower].parent;
    }
    return a;
}

// Velocity of a point of a node, and the node's angular velocity, seen from another node.
static void relative_velocity(const cal_coupled* c, int node, int from, const double point[3], double linear[3],
                              double angular[3]) {
    memset(linear, 0, 3 * sizeof *linear);
    memset(angular, 0, 3 * sizeof *angular);
    for (int end = 0; end < 2; end++) {
        const int n = end == 0 ? node : from;
        double velocity[3];
        if (n < 0) continue;
        cal_motion_at(&c->motions[n], point, velocity);
        for (int i = 0; i < 3; i++) {
            linear[i] += end == 0 ? velocity[i] : -velocity[i];
            angular[i] += end == 0 ? c->motions[n].angular[i] : -c->motions[n].angular[i];
        }
    }
}

void cal_coupled_find_thrust(const cal_coupled* c, const cal_actuator_def* motor, cal_thrust* out) {
    double rotation[9], other[9], linear[3], angular[3];
    *out = (cal_thrust){.common = -1, .node = {-1, -1}};
    out->node[0] = cal_coupled_place(c, motor->body, motor->position, motor->quaternion, rotation, out->origin[0]);
    const bool alone = motor->reference == CAL_NONE;
    if (!alone) {
        double apart[3], offset[3], relative[9], turn[4], vector[3];
        out->node[1] = cal_coupled_place(c, motor->reference, motor->reference_position, motor->reference_quaternion,
                                         other, out->origin[1]);
        out->common = common_node(c->model, out->node[0], out->node[1]);
        for (int i = 0; i < 3; i++) apart[i] = out->origin[0][i] - out->origin[1][i];
        cal_unrotate3(other, apart, offset);
        cal_transpose_multiply33(other, rotation, relative);
        cal_matrix_quaternion(relative, turn);
        cal_rotation_vector(turn, vector);
        out->length = cal_dot3(motor->wrench, offset) + cal_dot3(motor->wrench + 3, vector);
    }
    cal_rotate3(alone ? rotation : other, motor->wrench, out->force);
    cal_rotate3(alone ? rotation : other, motor->wrench + 3, out->torque);
    for (int end = 0; end < (alone ? 1 : 2); end++) {
        relative_velocity(c, out->node[end], out->common, out->origin[end], linear, angular);
        const double along = cal_dot3(out->force, linear) + cal_dot3(out->torque, angular);
        out->rate += end == 0 ? along : -along;
    }
}

void cal_coupled_body_motor(const cal_coupled* c, const cal_actuator_def* motor, double* length, double* rate) {
    cal_thrust own;
    cal_coupled_find_thrust(c, motor, &own);
    *length = own.length;
    *rate = own.rate;
}

void cal_coupled_push_bodies(cal_coupled* c, const double* control) {
    const cal_model* model = c->model;
    for (int i = 0; i < model->actuator_count; i++) {
        const cal_actuator_def* motor = &model->actuators[i];
        cal_thrust own;
        if (motor->body == CAL_NONE) continue;
        cal_coupled_find_thrust(c, motor, &own);
        const double strength = cal_motor_force(motor, control[i], own.length, own.rate);
        for (int end = 0; end < 2; end++) {
            const double sign = end == 0 ? strength : -strength;
            if (own.node[end] == own.common) continue; // the ground, or what both hang from
            // Onto the node, and off what it shares with the other end.
            for (int k = 0; k < 2; k++) {
                const int node = k == 0 ? own.node[end] : own.common;
                if (node < 0) continue;
                double force[3];
                for (int j = 0; j < 3; j++) force[j] = (k == 0 ? sign : -sign) * own.force[j];
                cal_coupled_push(c, CAL_COUPLED_WORK, node, own.origin[end], force);
                for (int j = 0; j < 3; j++)
                    c->wrenches[CAL_COUPLED_WORK][node].angular[j] += (k == 0 ? sign : -sign) * own.torque[j];
            }
        }
    }
}
