// What the files of coupled forces have in common: coupled_force.c evaluates, coupled_bodies.c has what acts on bodies,
// coupled_slopes.c what it all falls by.
#pragma once
#include "pass/body_frames.h"
#include "pass/coupled_force.h"
#include "pass/joint_law.h"

// Velocity of a point that moves with a node.
static inline void cal_motion_at(const cal_world_motion* motion, const double point[3], double out[3]) {
    double arm[3];
    for (int i = 0; i < 3; i++) arm[i] = point[i] - motion->position[i];
    cal_cross3(motion->angular, arm, out);
    for (int i = 0; i < 3; i++) out[i] += motion->linear[i];
}

// How far the spring is stretched: below zero where it is too short.
static inline double cal_tendon_stretch(const cal_tendon_def* def, double length) {
    return length > def->spring_length[1]   ? length - def->spring_length[1]
           : length < def->spring_length[0] ? length - def->spring_length[0]
                                            : 0.0;
}

// A force at a point, onto a node.
static inline void cal_coupled_push(cal_coupled* c, cal_coupled_kind kind, int node, const double point[3],
                                    const double force[3]) {
    double arm[3], moment[3];
    for (int i = 0; i < 3; i++) arm[i] = point[i] - c->motions[node].position[i];
    cal_cross3(arm, force, moment);
    cal_spatial* wrench = &c->wrenches[kind][node];
    for (int i = 0; i < 3; i++) wrench->angular[i] += moment[i], wrench->linear[i] += force[i];
}

// What a wrench does to a node's own joint.
static inline void cal_add_joint_share(const cal_node* node, const double rotation[9], const cal_spatial* wrench,
                                       double* out) {
    cal_spatial turned;
    cal_unrotate3(rotation, wrench->angular, turned.angular);
    cal_unrotate3(rotation, wrench->linear, turned.linear);
    switch (node->kind) {
    case CAL_REVOLUTE: out[0] += turned.angular[2]; break;
    case CAL_PRISMATIC: out[0] += turned.linear[2]; break;
    case CAL_BALL:
        for (int i = 0; i < 3; i++) out[i] += turned.angular[i];
        break;
    default:
        for (int i = 0; i < 3; i++) out[i] += wrench->linear[i], out[3 + i] += turned.angular[i];
    }
}

// --- An evaluation (coupled_force.c) -----------------------------------------------------------------------------------------

// Motions of all nodes at c->q and c->v.
void cal_coupled_move(cal_coupled* c);
void cal_coupled_clear(cal_coupled* c);
// From the leaves to the ground: what acts on a node acts on all joints that it hangs from.
void cal_coupled_sum_up(cal_coupled* c);

// --- On bodies (coupled_bodies.c) ----------------------------------------------------------------------------------------------

// A frame of a body in the world; its node, −1: the body does not move, or is the ground.
int cal_coupled_place(const cal_coupled* c, int body, const double position[3], const double quaternion[4],
                      double rotation[9], double origin[3]);
// Angular velocity, and that of the frame's origin less the medium's, in the frame's axes.
void cal_coupled_velocity(const cal_world_motion* motion, const double rotation[9], const double origin[3],
                          const double wind[3], double out[6]);
// What a motor on a body pushes: end 0 is the body's frame, end 1 the reference's, which has the node −1 where there is none.
typedef struct cal_thrust {
    int node[2], common; // −1: the ground
    double origin[2][3];
    double force[3], torque[3]; // that a force of 1 is at end 0, world's axes
    double length, rate;
} cal_thrust;

void cal_coupled_find_thrust(const cal_coupled* c, const cal_actuator_def* motor, cal_thrust* out);
// What carries the weight of bodies.
void cal_coupled_carry(cal_coupled* c);
// A wind works; a medium at rest only takes.
void cal_coupled_drag(cal_coupled* c);
// Motors on bodies.
void cal_coupled_push_bodies(cal_coupled* c, const double* control);
