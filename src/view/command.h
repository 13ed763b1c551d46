// What a page may ask for: small JSON messages, checked strictly.
//
//     {"do": "run"}  {"do": "pause"}  {"do": "step"}  {"do": "reset"}  {"do": "speed", "speed": 0.5}
//     {"do": "watch", "body": 12}     body -1: no longer
//     {"do": "grab", "body": 12, "point": [x, y, z]}   point in the body's frame
//     {"do": "drag", "target": [x, y, z]}              in the world
//     {"do": "drop"}
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
    CAL_VIEW_SET
} cal_view_verb;

typedef struct cal_view_command {
    cal_view_verb verb;
    int client; // who asks; filled in by the server
    int body;
    double vector[3]; // point or target
    double speed;
    // Of a set: empty texts and 0 keep what there is.
    char solver[16], algorithm[16], machine[32];
    double tolerance;
} cal_view_command;

// Reads a message; false, with a line for the sender, when it is anything else than one of the above.
bool cal_view_command_parse(const char* text, size_t length, int body_count, cal_view_command* out, cal_error* error);
