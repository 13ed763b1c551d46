// What the programs calder-peer-… share: their command line, the models taken apart, random states, timing, output.
//
//   calder-peer-X time MODEL          median time of one forward dynamics over random states, as one JSON line
//   calder-peer-X eval MODEL STATE    accelerations in the state q v tau (numbers in a text file; -: standard input)
//
// An engine is a table of functions; peer_main does the rest.
#pragma once
#include "calder/calder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct peer_joint {
    cal_joint_def def;
    int body, first_q, first_v;
    int next; // joint of the same body, away from the parent; -1: the last one
} peer_joint;

typedef struct peer_body {
    cal_body_def def;
    int first_joint; // next to the parent; -1: the body is fixed
} peer_body;

// A model, taken apart for translation into another engine.
typedef struct peer_tree {
    const cal_model* model;
    int body_count, joint_count, q_count, v_count;
    peer_body* bodies;
    peer_joint* joints;
    int* order; // bodies depth first: parents before children
    double gravity[3];
} peer_tree;

cal_status peer_tree_create(const cal_model* model, peer_tree* tree);
void peer_tree_destroy(peer_tree* tree);

// A body's principal moments of inertia, and its principal axes as the columns of a rotation (rows).
void peer_principal_axes(const cal_body_def* def, double moments[3], double axes[9]);

// A state that depends on nothing but the model and the seed: joints with limits are within them.
void peer_random_state(const peer_tree* tree, uint64_t seed, double* q, double* v, double* tau);
// tau and what dampers and springs add, for engines that have none of their own.
void peer_joint_forces(const peer_tree* tree, const double* q, const double* v, const double* tau, double* force);
// Whether peer_joint_forces is all that an engine without rotors and motors lacks; the error says what else.
cal_status peer_check_plain(const peer_tree* tree, const char* engine, cal_error* error);

typedef struct peer_engine {
    const char* name; // with its version
    // exact: the accelerations matter, so refuse what cannot be translated; otherwise only the time does.
    cal_status (*create)(const peer_tree* tree, bool exact, void** out, cal_error* error);
    void (*destroy)(void* engine);
    // In Calder's order and meaning.
    void (*set)(void* engine, const double* q, const double* v, const double* tau);
    void (*evaluate)(void* engine);
    void (*get)(void* engine, double* qdd);
} peer_engine;

int peer_main(const peer_engine* engine, int argc, char** argv);

#ifdef __cplusplus
}
#endif
