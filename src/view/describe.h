// What a page knows of bodies beside their poses: names, parents, masses, joints, actuators, keyframes.
#pragma once
#include "record/drawing.h"

// Members of a JSON object, each behind a comma; false when there is no memory.
//
//     described  a row per drawn body: name, parent, mass, centre of mass, then joints as arrays: kind, name, number, first q,
//                first v, axis, anchor, and where it is limited the range
//     actuators  rows of name, joint, range of the control, start
//     keyframes  their names
//     gravity
//
// Of a run without a model: listed, a name and how it moves per body.
bool cal_describe_bodies(const cal_drawing* drawing, const cal_run* run, FILE* file);
