// The factored mass matrix in lanes: mass_factor_body.h's mechanics run along columns. Compiled once for each width (aba_lanes.c
// says how).
#include "pass/mass_factor.h"
#include <stddef.h>
#include <string.h>

#define CAL_BODY "pass/mass_factor_body.h"
#define CAL_COLUMNS "pass/mass_factor_columns.h"
#include "pass/each_width.h"
#if CAL_WIDTH > 1
#include "pass/mass_factor_chain.h"
#endif

void KERNEL(cal_mass_factor_kernel)(const cal_context* context, int index) {
    const cal_column* column = &context->layout->columns[index];
#if CAL_WIDTH > 1
    if (column->is_long && column->kind == CAL_REVOLUTE && column->node_count > 2) {
        WIDE(chain_factor)(context, column);
        return;
    }
#endif
    RUN(factor_column, context, column);
}
