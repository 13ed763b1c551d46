#include "pass/tree.h"

#include "base/memory.h"

cal_status cal_steps_write(cal_tree* tree, int processors, cal_emit_steps* emit, const void* argument) {
    const size_t count = (size_t)processors;
    int32_t* next = cal_allocate(count, sizeof *next);
    tree->first_step = cal_allocate(count + 1, sizeof *tree->first_step);
    cal_status status = next && tree->first_step ? CAL_OK : CAL_NO_MEMORY;
    if (status == CAL_OK) {
        cal_step_writer writer = {.tree = tree, .next = next};
        emit(&writer, argument);
        for (size_t p = 0; p < count; p++) {
            tree->first_step[p + 1] = tree->first_step[p] + next[p];
            next[p] = tree->first_step[p];
        }
        tree->steps = cal_allocate((size_t)tree->first_step[count], sizeof *tree->steps);
        writer.writes = true;
        if (tree->steps)
            emit(&writer, argument);
        else
            status = CAL_NO_MEMORY;
    }
    cal_free(next);
    return status;
}

void cal_steps_clear(cal_tree* tree) {
    cal_free(tree->steps);
    cal_free(tree->first_step);
    cal_free(tree->edges);
}
