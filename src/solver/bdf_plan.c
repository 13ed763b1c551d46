#include "solver/bdf_plan.h"

#include "base/memory.h"
#include "machine/machine.h"
#include "solver/vectors.h"

cal_status cal_bdf_plan_create(const cal_plan* plan, const cal_program* program, size_t record_size, cal_plan** out) {
    *out = NULL;
    cal_plan* own = cal_allocate(1, sizeof *own);
    if (!own) return CAL_NO_MEMORY;
    *own = *plan;
    own->program = program;
    own->record_size = record_size;
    own->arrangement = NULL; // none of these programs' own
    own->traffic = NULL;
    const cal_machine_ops* ops = plan->machine->ops;
    cal_status status = cal_plan_find_stages(own) ? CAL_OK : CAL_BAD_ARGUMENT;
    if (!status && ops->attach) status = ops->attach(plan->machine, own, NULL);
    if (status) {
        cal_bdf_plan_destroy(own);
        return status;
    }
    *out = own;
    return CAL_OK;
}

void cal_bdf_plan_destroy(cal_plan* plan) {
    if (!plan) return;
    if (plan->machine->ops->detach) plan->machine->ops->detach(plan);
    cal_free(plan);
}

void cal_bdf_copy_column(const cal_layout* layout, const cal_column* column, const double* from, double* to) {
    const int W = layout->width;
    for (int block = column->first_block; block < column->first_block + column->block_count; block++) {
        const int first = layout->block_y[block], end = layout->block_y[block + 1];
        bool full = true;
        for (int l = 0; l < W; l++) full = full && cal_bdf_lane_lives(layout, block, l);
        if (full) {
            cal_range_copy(to, from, first, end);
            continue;
        }
        for (int l = 0; l < W; l++)
            for (int i = first + l; cal_bdf_lane_lives(layout, block, l) && i < end; i += W) to[i] = from[i];
    }
}
