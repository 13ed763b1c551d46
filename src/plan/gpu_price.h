// What prices of a GPU have in common (gpu_price.c): the algorithms are priced from layouts of 32 lanes, level by level.
#pragma once
#include "layout/layout.h"
#include "pass/pass.h"

enum { CAL_GPU_WIDTH = 32, CAL_GPU_PASSES = 3 }; // of columns with children: down, up, down again

// Of the columns with children of each level, and of limbs, which are none: the longest in blocks (of a chain in joints), and the most children
// that a lane has.
typedef struct cal_gpu_level {
    int32_t longest, children, columns, limbs;
    bool shared;
} cal_gpu_level;

cal_status cal_gpu_check(const cal_model* model, int instances, const cal_gpu_def* gpu, cal_error* error);
cal_status cal_gpu_layout(const cal_model* model, int copies, cal_layout** out, cal_error* error);
// What the columns move and compute in an evaluation; constant_passes: how many of the program's passes read a joint's constants.
void cal_gpu_add_columns(const cal_layout* layout, const cal_program* program, int constant_passes, cal_gpu_price* out);
// limbs: of all levels together; NULL: each is one of its level. NULL: no memory.
cal_gpu_level* cal_gpu_find_levels(const cal_layout* layout, int* count, cal_gpu_level* limbs);
double
cal_gpu_recurs(void); // what is left of a joint's time where teams of warps share what does not recur along a column
// Times, from what is known of bytes, operations and launches.
void cal_gpu_add_up(const cal_gpu_def* gpu, cal_gpu_price* out);
