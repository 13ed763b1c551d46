// calder-peer-mujoco: forward dynamics by MuJoCo's composite rigid bodies and sparse factorisation.
#include <stdio.h>

#include "mjcf.h"

static cal_status create(const peer_tree* tree, bool exact, void** out, cal_error* error) {
    (void)exact;
    peer_mujoco* peer = NULL;
    const cal_status status = peer_mujoco_create(tree, &peer, error);
    *out = peer;
    return status;
}

static void destroy(void* engine) { peer_mujoco_destroy(engine); }
static void set(void* engine, const double* q, const double* v, const double* tau) {
    peer_mujoco_set(engine, q, v, tau);
}
static void evaluate(void* engine) { peer_mujoco_evaluate(engine); }
static void get(void* engine, double* qdd) { peer_mujoco_get(engine, qdd); }

int main(int argc, char** argv) {
    char name[64];
    snprintf(name, sizeof name, "MuJoCo %s", mj_versionString());
    const peer_engine engine = {name, create, destroy, set, evaluate, get};
    return peer_main(&engine, argc, argv);
}
