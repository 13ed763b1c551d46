// The factored mass matrix in lanes: mass_factor_body.h's mechanics run along columns. Compiled once for each width (aba_lanes.c
// says how).
#include "pass/mass_factor.h"
#include <stddef.h>

#define CAL_BODY "pass/mass_factor_body.h"
#define CAL_COLUMNS "pass/mass_factor_columns.h"
#include "pass/each_width.h"

void KERNEL(cal_mass_factor_kernel)(const cal_context* context, int index) {
    RUN(factor_column, context, &context->layout->columns[index]);
}
