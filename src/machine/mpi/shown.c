// What the ranks of a plan show each other where the trunk is repeated: the numbers of their private subtrees, all at once.
#include "base/memory.h"
#include "machine/mpi/messages.h"

#include <string.h>

void cal_shown_destroy(cal_shown* shown) {
    if (!shown) return;
    cal_free(shown->own);
    cal_free(shown->others);
    cal_free(shown->packed);
    cal_free(shown->room);
    cal_free(shown->all);
    cal_free(shown);
}

// before: per column, how many lanes its rank shows before it, without those on the ground and with them; lanes: of each rank.
static void list(cal_shown* shown, const cal_layout* layout, int32_t (*before)[2], int32_t (*lanes)[2]) {
    for (int i = 0; i < layout->column_count; i++) {
        const cal_column* column = &layout->columns[i];
        if (!cal_column_is_shown(layout, column)) continue;
        for (int sums = 0; sums < 2; sums++) {
            before[i][sums] = lanes[column->owner][sums];
            if (sums || column->parent >= 0) lanes[column->owner][sums] += column->lanes;
            if (lanes[column->owner][sums] > shown->most[sums]) shown->most[sums] = lanes[column->owner][sums];
        }
        if (column->owner == layout->keep) shown->own[shown->own_count++] = i;
    }
    for (int i = 0; i < layout->column_count; i++) {
        const int32_t source = layout->columns[i].source;
        if (source < 0) continue;
        shown->others[shown->other_count++] =
            (struct cal_shown_by){i, layout->columns[source].owner, {before[source][0], before[source][1]}};
    }
}

cal_shown* cal_shown_create(const cal_plan* plan) {
    const cal_layout* layout = plan->layout;
    const size_t columns = (size_t)layout->column_count, ranks = (size_t)layout->processors;
    cal_shown* shown = cal_allocate(1, sizeof *shown);
    if (!shown) return NULL;
    int32_t(*before)[2] = cal_allocate(columns, sizeof *before);
    int32_t(*lanes)[2] = cal_allocate(ranks, sizeof *lanes);
    shown->own = cal_allocate(columns, sizeof *shown->own);
    shown->others = cal_allocate(columns, sizeof *shown->others);
    shown->all = cal_allocate(ranks, sizeof *shown->all);
    bool good = before && lanes && shown->own && shown->others && shown->all;
    if (good) {
        list(shown, layout, before, lanes);
        const size_t cross = (size_t)CAL_UP_COUNT * (size_t)shown->most[0],
                     sums = (size_t)CAL_MAX_SUMS * (size_t)shown->most[1] + 1, most = cross > sums ? cross : sums;
        shown->packed = cal_allocate(most, sizeof(double));
        shown->room = cal_allocate(most * ranks, sizeof(double));
        good = shown->packed && shown->room;
    }
    cal_free(before);
    cal_free(lanes);
    if (good) return shown;
    cal_shown_destroy(shown);
    return NULL;
}

int cal_shown_pack(const cal_shown* shown, const cal_layout* layout, const double* scratch, bool sums, int crosses) {
    double* to = shown->packed;
    for (int i = 0; i < shown->own_count; i++) {
        const cal_column* column = &layout->columns[shown->own[i]];
        const size_t count = (size_t)(crosses * column->lanes);
        if (!sums && column->parent < 0) continue;
        memcpy(to, scratch + (sums ? column->sum_slot : column->up_slot), count * sizeof *to);
        to += count;
    }
    return (int)(to - shown->packed);
}

void cal_shown_unpack(const cal_shown* shown, const cal_layout* layout, double* scratch, bool sums, int crosses) {
    for (int i = 0; i < shown->other_count; i++) {
        const struct cal_shown_by* by = &shown->others[i];
        const cal_column* column = &layout->columns[by->column];
        if (!sums && column->parent < 0) continue;
        memcpy(scratch + (sums ? column->sum_slot : column->up_slot), shown->all[by->rank] + by->at[sums] * crosses,
               (size_t)(crosses * column->lanes) * sizeof(double));
    }
}
