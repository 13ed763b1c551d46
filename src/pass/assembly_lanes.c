// The kernels of assembly, of one width: assembly_body.h's mechanics run along the columns of a forest of parts. The
// velocities are the articulated-body algorithm's own pass. Compiled once for each width (aba_lanes.c says how).
#include "pass/assembly.h"
#include "pass/aba.h"

#define CAL_BODY "pass/assembly_body.h"
#define CAL_COLUMNS "pass/assembly_columns.h"
#include "pass/each_width.h"

#include <string.h>

void KERNEL(cal_assembly_place)(const cal_context* context, int index) {
    const cal_slots* slots = &cal_assembly_of(context)->slots->columns[index];
    // Parts without ports wait until they know where they hang.
    if (slots->count == 0) return;
    // Below its port a slot carries nothing.
    memset(cal_assembly_of(context)->area + slots->area, 0,
           cal_area_doubles(slots->count) * CAL_WIDTH * sizeof(double));
    RUN(place_column, context, &context->layout->columns[index]);
}

void KERNEL(cal_assembly_inertia)(const cal_context* context, int index) {
    RUN(inbound_column, context, &context->layout->columns[index]);
}

void KERNEL(cal_assembly_acceleration)(const cal_context* context, int index) {
    RUN(accelerate_column, context, &context->layout->columns[index]);
}

// Adds what a column left in its slot to the sums at its parent's end, as aba's; and carries its ports' forces on.
void KERNEL(cal_assembly_pull)(const cal_context* context, int index) {
    const cal_column* column = &context->layout->columns[index];
    if (column->parent < 0) return;
    KERNEL(cal_aba_pull)(context, index);
    for (int l = 0; l < column->lanes; l++) carry_slots(context, column, l);
}
