// A Calder model in MuJoCo: as an MJCF text, and loaded with the numbers of both engines matched.
#pragma once
#include <mujoco/mujoco.h>

#include "peer.h"

typedef struct peer_mujoco {
    const peer_tree* tree;
    mjModel* model;
    mjData* data;
    int *q_address, *v_address; // of each joint's numbers in MuJoCo's qpos and qvel
    int* body;                  // MuJoCo's number of each body
} peer_mujoco;

cal_status peer_mujoco_create(const peer_tree* tree, peer_mujoco** out, cal_error* error);
void peer_mujoco_destroy(peer_mujoco* peer);
void peer_mujoco_set(peer_mujoco* peer, const double* q, const double* v, const double* tau);
// Forward dynamics without contacts and constraints; kinematics come with it.
void peer_mujoco_evaluate(peer_mujoco* peer);
void peer_mujoco_get(const peer_mujoco* peer, double* qdd);
// Position and quaternion of each body in Calder's order, as of the last evaluation.
void peer_mujoco_poses(const peer_mujoco* peer, double* poses);
void peer_mujoco_energy(peer_mujoco* peer, double* kinetic, double* potential);
