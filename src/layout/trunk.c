// The trunk of a tree that several processors share, a copy for each of them.
//
// Columns are laid out once, each for a run of processors, owner … last; a parent's run holds those of its children. Here the list of
// columns becomes one list per processor, one after the other:
//
//     laid out         trunk (0 … 2)  a (0)  b (1)  c (2)
//
//     processor 0      trunk          a      [b]    [c]        [b]: a stand-in for b, which has no blocks and is only pulled
//     processor 1      trunk, a copy  [a]    b      [c]
//     processor 2      trunk, a copy  [a]    [b]    c
//
// Mixed columns, which are below private ones, follow all others as they were laid out.
//
// Where memory is not shared, only this processor's copies and stand-ins are made, beside everybody's own columns. Sums on the ground are
// pulled by the processor that has the ground: 0, and where memory is not shared each.
#include "base/memory.h"
#include "layout/workshop.h"

#include <stdlib.h>
#include <string.h>

typedef struct copier {
    cal_layout* layout;
    const cal_column* old; // as they were laid out
    const int32_t* old_nodes;
    int old_count, packed;    // of them, those that are not mixed, which come first
    int32_t *end, *home, *at; // per old column: one past its subtree; its first copy; its copy of the processor at hand
    int32_t* shows;           // per processor: the last of its columns whose slots others pull, or -1
    int columns, blocks, twins;
    bool writes;
} copier;

static bool takes_part(const cal_column* column, int processor) {
    return column->owner <= processor && processor <= column->last;
}

static void add_copy(copier* k, int c, int processor) {
    cal_layout* layout = k->layout;
    const cal_column* old = &k->old[c];
    const bool first = old->owner == processor, shared = old->owner < old->last;
    k->at[c] = k->columns;
    if (first) k->home[c] = k->columns;
    if (!first && layout->keep == CAL_KEEP_ALL) k->twins += old->block_count;
    if (k->writes) {
        cal_column* fresh = &layout->columns[k->columns];
        const size_t width = (size_t)layout->width;
        const bool here = layout->keep == CAL_KEEP_ALL || layout->keep == processor;
        *fresh = *old;
        fresh->first_block = k->blocks;
        fresh->owner = processor;
        fresh->parent = old->parent < 0 ? -1 : here && !old->mixed ? k->at[old->parent] : k->home[old->parent];
        fresh->shared = shared;
        fresh->repeated = !first;
        memcpy(layout->block_nodes + (size_t)k->blocks * width, k->old_nodes + (size_t)old->first_block * width,
               (size_t)old->block_count * width * sizeof *layout->block_nodes);
        const int from = layout->columns[k->home[c]].first_block;
        for (int i = 0; !first && layout->keep == CAL_KEEP_ALL && i < old->block_count; i++)
            layout->twins[layout->twin_count++] = (cal_twin){from + i, k->blocks + i};
        if (!old->mixed && cal_column_is_shown(layout, fresh)) k->shows[processor] = k->columns;
    }
    k->columns++;
    k->blocks += old->block_count;
}

static void add_stand_in(copier* k, int c, int processor) {
    if (k->writes) {
        cal_column* fresh = &k->layout->columns[k->columns];
        *fresh = k->old[c];
        fresh->source = k->home[c];
        fresh->owner = processor;
        fresh->parent = k->old[c].parent < 0 ? -1 : k->at[k->old[c].parent];
        fresh->first_block = k->blocks;
        fresh->block_count = fresh->node_count = fresh->child_count = 0;
        fresh->gathers = false;
    }
    k->columns++;
}

static void go_through(copier* k) {
    const int keep = k->layout->keep;
    k->columns = k->blocks = k->twins = 0;
    for (int p = 0; p < k->layout->processors; p++) {
        const bool here = keep == CAL_KEEP_ALL || keep == p, has_ground = keep == CAL_KEEP_ALL ? p == 0 : here;
        for (int c = 0; c < k->packed;) {
            const cal_column* column = &k->old[c];
            if (takes_part(column, p)) {
                if (here || column->owner == p) add_copy(k, c, p);
                c++;
                continue;
            }
            if (here && (column->parent >= 0 || has_ground)) add_stand_in(k, c, p);
            c = k->end[c];
        }
    }
    for (int c = k->packed; c < k->old_count; c++) add_copy(k, c, k->old[c].owner);
}

// A processor posts its private subtrees together, with the last of them, which is its own signal.
static void find_signals(copier* k) {
    cal_layout* layout = k->layout;
    for (int p = 0; p < layout->processors; p++)
        if (k->shows[p] >= 0) layout->columns[k->shows[p]].signal = k->shows[p];
    for (int i = 0; i < layout->column_count; i++) {
        cal_column* column = &layout->columns[i];
        if (column->source < 0) continue;
        const cal_column* source = &layout->columns[column->source];
        column->signal = source->shared ? column->source : k->shows[source->owner];
    }
}

static int compare_twins(const void* left, const void* right) {
    const cal_twin *a = left, *b = right;
    return a->from != b->from ? (a->from < b->from ? -1 : 1) : a->to < b->to ? -1 : a->to > b->to;
}

static cal_status copy_all(copier* k) {
    cal_layout* layout = k->layout;
    for (int c = k->packed - 1; c >= 0; c--) {
        if (k->end[c] == 0) k->end[c] = c + 1;
        const int parent = k->old[c].parent;
        if (parent >= 0 && k->end[parent] == 0) k->end[parent] = k->end[c];
    }
    for (int p = 0; p < layout->processors; p++) k->shows[p] = -1;
    go_through(k);
    layout->columns = cal_allocate((size_t)k->columns, sizeof *layout->columns);
    layout->block_nodes = cal_allocate((size_t)k->blocks, (size_t)layout->width * sizeof *layout->block_nodes);
    layout->twins = cal_allocate((size_t)k->twins, sizeof *layout->twins);
    if (!layout->columns || !layout->block_nodes || !layout->twins) return CAL_NO_MEMORY;
    k->writes = true;
    go_through(k);
    layout->column_count = k->columns;
    layout->block_count = k->blocks;
    layout->repeats = layout->ground_shared = true;
    find_signals(k);
    if (layout->twin_count > 1) qsort(layout->twins, (size_t)layout->twin_count, sizeof *layout->twins, compare_twins);
    return CAL_OK;
}

cal_status cal_workshop_copy_trunk(cal_workshop* shop) {
    cal_layout* layout = shop->layout;
    const size_t count = (size_t)layout->column_count, processors = (size_t)layout->processors;
    int32_t* lists = cal_allocate(3 * count + processors, sizeof *lists);
    cal_column* old = layout->columns;
    int32_t* old_nodes = layout->block_nodes;
    copier k = {.layout = layout, .old = old, .old_nodes = old_nodes, .old_count = (int)count};
    if (!lists) return CAL_NO_MEMORY;
    while (k.packed < k.old_count && !old[k.packed].mixed) k.packed++;
    k.end = lists, k.home = k.end + count, k.at = k.home + count, k.shows = k.at + count;
    layout->columns = NULL;
    layout->block_nodes = NULL;
    const cal_status status = copy_all(&k);
    // Mixed columns and those that they hang on are one processor's each.
    for (int i = 0; i < shop->origin_count; i++) shop->origins[i].column = k.home[shop->origins[i].column];
    for (int i = 0; shop->heads && i < layout->model->node_count; i++)
        shop->heads[i].column = k.home[shop->heads[i].column];
    cal_free(old);
    cal_free(old_nodes);
    cal_free(lists);
    return status;
}

static void repeat(const cal_layout* layout, const int32_t* first, double* values) {
    for (int i = 0; i < layout->twin_count; i++) {
        const cal_twin* twin = &layout->twins[i];
        memcpy(values + first[twin->to], values + first[twin->from],
               (size_t)(first[twin->from + 1] - first[twin->from]) * sizeof *values);
    }
}

void cal_layout_repeat_y(const cal_layout* layout, double* y) { repeat(layout, layout->block_y, y); }
void cal_layout_repeat_v(const cal_layout* layout, double* v) { repeat(layout, layout->block_v, v); }
