// What a page may ask for: small JSON messages, checked strictly.
//
//     {"do": "run"}  {"do": "pause"}  {"do": "step"}  {"do": "reset"}  {"do": "speed", "speed": 0.5}
//     {"do": "watch", "body": 12}     body -1: no longer
//     {"do": "grab", "body": 12, "point": [x, y, z]}   point in the body's frame
//     {"do": "drag", "target": [x, y, z]}              in the world
//     {"do": "drop"}
//     {"do": "pose", "index": 3, "value": 0.5}         q[3], while it is paused
//     {"do": "control", "index": 0, "value": 0.5}      of an actuator
//     {"do": "key", "index": 0}                        start anew from a keyframe
//     {"do": "probe", "kind": "q", "index": 3}         q, v or force (of a joint) in every frame; again: no longer
//     {"do": "show", "kind": "contacts", "index": 1}   in every frame: contacts (points and forces), or q; 0: no longer
//     {"do": "open", "index": 2}                       a card of the gallery
//     {"do": "load", "file": "robot/scene.xml"}        a model that was dropped before
//     {"do": "set", "solver": "gear", "tolerance": 1e-6, "algorithm": "aba", "machine": "threads"}   any of them
#pragma once
#include "calder/calder.h"

enum { CAL_VIEW_MESSAGE_LIMIT = 1024 }; // bytes

typedef enum cal_view_verb {
    CAL_VIEW_RUN,
    CAL_VIEW_PAUSE,
    CAL_VIEW_STEP,
    CAL_VIEW_RESET,
    CAL_VIEW_SPEED,
    CAL_VIEW_WATCH,
    CAL_VIEW_GRAB,
    CAL_VIEW_DRAG,
    CAL_VIEW_DROP,
    CAL_VIEW_SET,
    CAL_VIEW_POSE,
    CAL_VIEW_CONTROL,
    CAL_VIEW_KEY,
    CAL_VIEW_PROBE,
    CAL_VIEW_SHOW,
    CAL_VIEW_OPEN,
    CAL_VIEW_LOAD
} cal_view_verb;

typedef struct cal_view_command {
    cal_view_verb verb;
    int client; // who asks; filled in by the server
    int body;
    double vector[3]; // point or target
    double speed, value;
    int index;
    char kind[16];
    char file[256];
    // Of a set: empty texts and 0 keep what there is.
    char solver[16], algorithm[16], machine[32];
    double tolerance;
} cal_view_command;

// Reads a message; false, with a line for the sender, when it is anything else than one of the above.
bool cal_view_command_parse(const char* text, size_t length, int body_count, cal_view_command* out, cal_error* error);
