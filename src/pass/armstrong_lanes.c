// Armstrong's kernels of one width: armstrong_body.h's mechanics run along columns. Compiled once for each width, with
// CAL_WIDTH (lanes in a block) and CAL_KERNEL_SUFFIX defined, and with the instructions that the width needs.
//
// Columns in which a hinge has armature run the longer formulas. Where there is none those add zeros, so the choice
// does not change a number.
#include "pass/armstrong.h"
#include "pass/joint_force.h"

static bool has_rotors(const cal_context* context, const cal_column* column) {
    const cal_layout* layout = context->layout;
    const int32_t* nodes = layout->block_nodes + (size_t)column->first_block * CAL_WIDTH;
    const double* armature = layout->constants + column->constants + CAL_CONSTANT_ARMATURE * CAL_WIDTH;
    for (size_t block = 0; block < (size_t)column->block_count; block++) {
        for (size_t l = 0; l < CAL_WIDTH; l++)
            if (armature[block * CAL_CONSTANT_COUNT * CAL_WIDTH + l] != 0.0 && nodes[block * CAL_WIDTH + l] >= 0)
                return true;
    }
    return false;
}

#define CAL_BODY "pass/armstrong_body.h"
#define CAL_COLUMNS "pass/armstrong_columns.h"
#include "pass/each_width.h"

void KERNEL(cal_armstrong_control)(const cal_context* context, int index) {
    if (context->force != context->tau) cal_joint_forces(context, index);
    RUN(control_column, context, &context->layout->columns[index]);
}

void KERNEL(cal_armstrong_coefficients)(const cal_context* context, int index) {
    RUN(coefficients_column, context, &context->layout->columns[index]);
}

void KERNEL(cal_armstrong_acceleration)(const cal_context* context, int index) {
    RUN(advance_column, context, &context->layout->columns[index]);
}
