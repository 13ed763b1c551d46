// Rows of a constraint on their way inbound with the articulated inertias of aba, joint by joint, where they act on one chain that stands on
// the ground: what mass_factor.h does with them in a walk of their own, with the same bits. There each joint waits for the one below it;
// here that is while its inertia is found.
//
// A row's wrench f leaves Sᵀ f at a joint, and f − U D⁻¹ Sᵀ f goes on.
#pragma once
#include <stddef.h>

enum {
    CAL_RIDERS = 6,
    CAL_RIDERS_ROOM = 8,
    CAL_RIDERS_TOUCHED = 2
}; // rows, rounded up to whole lanes; joints that they act on

typedef struct cal_riders {
    int column; // of the layout; they pass its joints from step `last` to the first one
    int last, count;
    int touched_count, touched[CAL_RIDERS_TOUCHED]; // steps of the joints that they act on, falling
    double wrench[CAL_RIDERS_TOUCHED][6]
                 [CAL_RIDERS_ROOM]; // moment and force on each, a row per lane; zeros after the last row
    double *shares, *root, *kept; // of each row, `stride` apart, and of the joint, step by step: Sᵀ f; √D⁻¹, k = D⁻¹ u
    size_t stride;
} cal_riders;
