// Instances with constraints on a device (loops.cu, device_held.c). Each has a cal_held, then its own numbers:
//
//     cal_held │ its set's arrays, one after the other (constraint_parts.h) │ q, v │ q, v, once more │ room
//
// What all share, and where an instance's arrays are, is in the image.
#pragma once
#include "constraint/closing.h"
#include "plan/machine_ops.h"

typedef struct cal_held {
    cal_constraints set;
    cal_progress progress;
    double calm_time, calm_reach; // looked at then, it is not near a singular position for so long
    cal_batch_end end;
    bool evaluated;    // with steps of its own: in this round
    double *now, *raw; // q and v
    double* room;      // for looking ahead: v_count and q_count
} cal_held;

// An address of a cal_held that leads to numbers of its own.
typedef struct cal_held_link {
    size_t field, at;
} cal_held_link;

typedef struct cal_held_image {
    cal_held held; // whose own addresses are none
    cal_closing closing;
    const cal_held_link* links;
    int link_count;
    const int32_t* places; // of the user's q, then v, in y: of lane 0
    double* responses;     // of executions (pass.h), and how many a group has
    size_t response_stride;
} cal_held_image;
