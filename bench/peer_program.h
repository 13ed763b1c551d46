// Other engines on the same models: programs calder-peer-NAME, each of which prints one line of JSON.
#pragma once
#include <stdbool.h>

typedef struct cal_peer_result {
    char engine[64];
    int joints;
    double us_per_call, ns_per_joint;
} cal_peer_result;

// The peers' names, "mujoco", …; NULL past the last one.
const char* cal_peer_name(int index);
// Finds a peer's program beside this one, or in ../libexec/calder from there; false when it is not installed.
bool cal_peer_find(const char* name, char* path, int capacity);
// Has a peer time forward dynamics of a model, for a minute at most. On failure reason says why, in a few words.
bool cal_peer_time(const char* path, const char* model, cal_peer_result* result, char* reason, int capacity);
