// The articulated-body kernels of one width: aba_body.h's mechanics run along columns. Compiled once for each width, with
// CAL_WIDTH (lanes in a block) and CAL_KERNEL_SUFFIX defined, and with the instructions that the width needs.
//
// Wide columns run W nodes a step, their state in registers. Long columns run node by node; for revolute chains
// everything that does not recur is computed W nodes at a time along the chain (chain_outbound), and only the products
// of rotations, the running sums and the inbound recursion are scalar. The operations on each number are the same, in
// the same order, so both give the same bits.
#include "pass/aba.h"
#include "pass/joint_force.h"
#include <string.h>

#define CAL_BODY "pass/aba_body.h"
#define CAL_COLUMNS "pass/aba_columns.h"
#include "pass/each_width.h"
#if CAL_WIDTH > 1
#include "pass/aba_chain.h"
#endif
#define RIDERS 2
#include "pass/aba_riding.h"
#define RIDERS 4
#include "pass/aba_riding.h"
#define RIDERS 8
#include "pass/aba_riding.h"

void KERNEL(cal_aba_velocity)(const cal_context* context, int index) {
    const cal_column* column = &context->layout->columns[index];
    if (context->force != context->tau) cal_joint_forces(context, index);
#if CAL_WIDTH > 1
    if (column->is_long && column->kind == CAL_REVOLUTE && column->node_count > 2) {
        WIDE(chain_outbound)(context, column);
        return;
    }
#endif
    if (column->brief)
        RUN(brief_outbound, context, column);
    else
        RUN(outbound_column, context, column);
}

void KERNEL(cal_aba_inertia)(const cal_context* context, int index) {
    const cal_column* column = &context->layout->columns[index];
    if (context->riders && context->riders->column == index) {
        const int count = context->riders->count;
        (count <= 2 ? ride_column_2 : count <= 4 ? ride_column_4 : ride_column_8)(context, column);
        return;
    }
    if (column->brief)
        RUN(brief_inbound, context, column);
    else
        RUN(inbound_column, context, column);
}

void KERNEL(cal_aba_acceleration)(const cal_context* context, int index) {
    const cal_column* column = &context->layout->columns[index];
    if (column->brief)
        RUN(brief_accelerate, context, column);
    else
        RUN(accelerate_column, context, column);
}

// Adds what a column left in its slot to the sums at its parent's end, in the order of the parent's children.
void KERNEL(cal_aba_pull)(const cal_context* context, int index) {
    const cal_column* column = &context->layout->columns[index];
    if (column->parent < 0) return;
    RUN(pull_column, context, column);
}
