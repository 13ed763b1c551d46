// Rows that go with an execution of aba (riders.h).
#include "constraint/riders.h"
#include "base/memory.h"
#include "layout/layout.h"
#include <string.h>

void cal_riders_destroy(cal_constraints* set) {
    cal_free(set->joint_over), cal_free(set->joint_kept), cal_free(set->drift);
}

bool cal_riders_create(cal_constraints* set) {
    if (set->loops || !cal_mass_factor_is_shared(set->model)) return true;
    const size_t degrees = set->degree_start[set->model->constraint_count];
    set->joint_over = cal_allocate(degrees, sizeof(double));
    set->joint_kept = cal_allocate(degrees, sizeof(double));
    set->drift = cal_allocate((size_t)set->most_rows, sizeof(double));
    return set->joint_over && set->joint_kept && set->drift;
}

// The column of a layout that is the path of the only constraint's rows to the ground, and goes node by node; −1: there is none.
static int find_column(const cal_constraints* set, const cal_layout* layout) {
    const int nodes = set->support_start[1];
    for (int i = 0; i < layout->column_count && layout->copies == 1; i++) {
        const cal_column* column = &layout->columns[i];
        const int32_t* own = layout->block_nodes + (size_t)column->first_block * (size_t)layout->width;
        if (column->parent >= 0 || column->lanes != 1 || column->node_count < nodes) continue;
        int same = 0;
        while (same < nodes && own[same] == set->support[same]) same++;
        if (same == nodes) return i;
    }
    return -1;
}

// Adds the wrench of row r on a node, which is among those of the path.
static bool act(cal_constraints* set, int r, int node, const double* moment, const double* force) {
    cal_riders* riders = &set->riders;
    const int step = node - set->support[0]; // a column's nodes follow each other
    int at = 0;
    while (at < riders->touched_count && riders->touched[at] > step) at++;
    if (at == riders->touched_count || riders->touched[at] != step) {
        if (riders->touched_count == CAL_RIDERS_TOUCHED) return false;
        for (int i = riders->touched_count++; i > at; i--) {
            riders->touched[i] = riders->touched[i - 1];
            memcpy(riders->wrench[i], riders->wrench[i - 1], sizeof riders->wrench[i]);
        }
        riders->touched[at] = step;
        memset(riders->wrench[at], 0, sizeof riders->wrench[at]);
    }
    for (int k = 0; k < 3; k++) {
        riders->wrench[at][k][r] = moment[k];
        riders->wrench[at][3 + k][r] = force[k];
    }
    return true;
}

const cal_riders* cal_constraints_ride(cal_constraints* set, const double* q, const double* v,
                                       const cal_layout* layout) {
    cal_riders* riders = &set->riders;
    if (set->row_count > 0) cal_constraints_look(set, q, v);
    if (!set->joint_over || set->model->constraint_count != 1 || set->row_count == 0 || set->row_count > CAL_RIDERS)
        return NULL;
    if (set->riding_along != layout) {
        set->riding_along = layout;
        riders->column = find_column(set, layout);
        riders->last = set->support_start[1] - 1;
        riders->shares = set->y, riders->stride = (size_t)set->degrees[0];
        riders->root = set->joint_over, riders->kept = set->joint_kept;
    }
    if (riders->column < 0) return NULL;
    riders->count = set->row_count;
    riders->touched_count = 0;
    for (int r = 0; r < set->row_count; r++) {
        const cal_row* row = &set->rows[r];
        for (int k = 0; k < row->node_count; k++)
            if (!act(set, r, row->node[k], row->moment[k], row->force[k])) return NULL;
    }
    return riders;
}
