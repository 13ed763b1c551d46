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

// Moves a column's slots to its parent's, lane by lane; a port has one way up, so nothing is added.
static void pull_slots(const cal_context* context, const cal_column* column, int index) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_slots *own = &assembly->slots->columns[index], *above = &assembly->slots->columns[column->parent];
    const double* from = assembly->area + own->area;
    double* to = assembly->area + above->area;
    const size_t K = 6 * (size_t)own->count, N = 6 * (size_t)above->count;
    for (int l = 0; l < column->lanes; l++) {
        if (column->parent_lane[l] < 0) continue;
        const int up = column->parent_lane[l];
        const int32_t* port = assembly->slots->table + own->table + l;
        const int8_t* slot = assembly->slots->pulls + own->pull + l;
        for (size_t s = 0; s < (size_t)own->count; s++) {
            if (port[s * CAL_WIDTH] < 0) continue;
            const size_t first = 6 * (size_t)slot[s * CAL_WIDTH];
            for (size_t i = 0; i < 36; i++)
                to[(6 * first + i) * CAL_WIDTH + (size_t)up] = from[(36 * s + i) * CAL_WIDTH + (size_t)l];
            for (size_t i = 0; i < 6; i++)
                to[(6 * N + first + i) * CAL_WIDTH + (size_t)up] = from[(6 * K + 6 * s + i) * CAL_WIDTH + (size_t)l];
            for (size_t t = 0; t < (size_t)own->count; t++) {
                if (port[t * CAL_WIDTH] < 0) continue;
                const size_t second = 6 * (size_t)slot[t * CAL_WIDTH];
                for (size_t i = 0; i < 6; i++)
                    for (size_t j = 0; j < 6; j++)
                        to[(7 * N + cal_packed(first + i, second + j)) * CAL_WIDTH + (size_t)up] =
                            from[(7 * K + cal_packed(6 * s + i, 6 * t + j)) * CAL_WIDTH + (size_t)l];
            }
        }
    }
}

// Adds what a column left in its slot to the sums at its parent's end, as aba's; and carries its ports' forces on.
void KERNEL(cal_assembly_pull)(const cal_context* context, int index) {
    const cal_column* column = &context->layout->columns[index];
    if (column->parent < 0) return;
    KERNEL(cal_aba_pull)(context, index);
    if (cal_assembly_of(context)->slots->columns[index].count > 0) pull_slots(context, column, index);
}
