// A body's numbers for whoever has selected it: name, joints, where it is, how it moves, what acts on it.
//
// The force that a body's joint carries is what its subtree needs beyond gravity and the hand, from Newton's second law on
// the subtree's centre of mass: F = M (c̈ − g) − f, with c̈ from the centres of the last three frames.
#pragma once
#include "run/path.h"
#include <stdio.h>

typedef struct cal_inspector {
    const cal_model* model;
    int body; // that is watched; CAL_NONE: none
    cal_path* path;
    uint8_t* member; // of each body: whether it is in the subtree
    double mass;     // of the subtree
    int sample_count;
    double time[3], center[3][3]; // of the last frames, the newest last
} cal_inspector;

cal_status cal_inspector_create(cal_inspector* inspector, const cal_model* model, cal_error* error);
void cal_inspector_destroy(cal_inspector* inspector);
// Takes a frame's poses, 7 numbers a body.
void cal_inspector_watch(cal_inspector* inspector, double time, const double* poses);
// Members of a JSON object; force is the hand's on this body.
void cal_inspector_describe(cal_inspector* inspector, int body, const double* q, const double* v, const double force[3],
                            FILE* file);
