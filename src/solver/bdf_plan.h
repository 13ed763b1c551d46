// What BDF's vectors and preconditioner share: other programs over the columns of the simulation's own plan.
#pragma once
#include "plan/plan.h"

// A plan that runs another program over the same columns, owners and steps. It borrows them: the first plan must live
// longer. record_size: doubles that the program's kernels keep in a state's records, where they find their places
// themselves.
cal_status cal_bdf_plan_create(const cal_plan* plan, const cal_program* program, size_t record_size, cal_plan** out);
void cal_bdf_plan_destroy(cal_plan* plan); // NULL is allowed

// Copies a column of a y-shaped vector but for its dead lanes: kernels rely on what those hold.
void cal_bdf_copy_column(const cal_layout* layout, const cal_column* column, const double* from, double* to);

static inline bool cal_bdf_lane_lives(const cal_layout* layout, int block, int lane) {
    return layout->block_nodes[(size_t)block * (size_t)layout->width + (size_t)lane] >= 0;
}
