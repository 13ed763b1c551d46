// A tree cut at its forks: a *branch* is a chain of nodes from below one fork to the next. Chains have no breadth, so
// nothing is gained by cutting them; distributions deal in branches.
//
// Branch 0 is the ground: no nodes, and the roots' branches as its children. Branches are in walking order, as nodes are.
#pragma once
#include "model/model.h"

typedef struct cal_branch {
    int32_t first;  // node
    int32_t length; // nodes first … first + length − 1 are the chain
    int32_t end;    // one past the last node of the subtree
    int32_t parent; // branch; -1 for the ground
    int32_t next;   // one past the last branch of the subtree; the first child, where there is one, is the branch after
    int32_t child_count; // 0, or at least 2; the ground's may be 1
} cal_branch;

typedef struct cal_branches {
    int count;
    cal_branch* at;
} cal_branches;

// CAL_NO_MEMORY. Free with cal_branches_free.
cal_status cal_branches_create(const cal_model* model, cal_branches* out, cal_error* error);
void cal_branches_free(cal_branches* branches);
