// The preconditioner's kernels of one width: bdf_preconditioner_body.h's mechanics run along columns. Compiled once for
// each width, with CAL_WIDTH (lanes in a block) and CAL_KERNEL_SUFFIX defined, and with the instructions that the width
// needs.
#include "solver/bdf_preconditioner_lanes.h"
#include <stddef.h>

#define CAL_BODY "solver/bdf_preconditioner_body.h"
#define CAL_COLUMNS "solver/bdf_preconditioner_columns.h"
#include "pass/each_width.h"

void KERNEL(cal_stiff_place)(const cal_context* context, int index) {
    const cal_column* column = &context->layout->columns[index];
    cal_stiff_prepare(context, column);
    RUN(place_column, context, column);
}

void KERNEL(cal_stiff_factor)(const cal_context* context, int index) {
    RUN(factor_column, context, &context->layout->columns[index]);
}

void KERNEL(cal_stiff_turn)(const cal_context* context, int index) {
    RUN(turn_column, context, &context->layout->columns[index]);
}

void KERNEL(cal_stiff_force)(const cal_context* context, int index) {
    RUN(force_column, context, &context->layout->columns[index]);
}

// Adds the torque and force that a column left in its slot to the sums at its parent's end, in the order of the parent's
// children.
void KERNEL(cal_stiff_pull)(const cal_context* context, int index) {
    const cal_column* column = &context->layout->columns[index];
    if (column->parent < 0) return;
    const cal_column* parent = &context->layout->columns[column->parent];
    const double* from = context->scratch + column->up_slot;
    double* to = context->scratch + parent->end_slot + CAL_DOWN_COUNT * CAL_WIDTH;
    for (int k = 0; k < column->pull_count; k++) {
        const int l = column->pull_order[k];
        double* own = to + column->parent_lane[l];
        for (int i = 0; i < 6; i++) own[i * parent->lanes] += from[i * column->lanes + l];
    }
}

void KERNEL(cal_stiff_accelerate)(const cal_context* context, int index) {
    RUN(stiff_column, context, &context->layout->columns[index]);
}
