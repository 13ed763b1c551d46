// Packs the nodes of a model into columns of blocks of W lanes: layout.h explains the picture.
//
// Columns are found depth first with a stack of their first blocks, so that no recursion follows the depth of the tree.
#include "layout/workshop.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void* cal_workshop_grow(cal_workshop* shop, void* old, int* capacity, int needed, size_t size) {
    if (needed <= *capacity) return old;
    int wanted = *capacity < 16 ? 16 : *capacity;
    while (wanted < needed) wanted = wanted > 0x3fffffff ? needed : 2 * wanted;
    void* fresh = cal_allocate((size_t)wanted, size);
    if (!fresh) {
        shop->out_of_memory = true;
        return old;
    }
    if (old) memcpy(fresh, old, (size_t)*capacity * size);
    cal_free(old);
    *capacity = wanted;
    return fresh;
}

// A block with a single live lane costs more than a step along a chain.
enum { FEWEST_LANES = 2 };

static int live_lanes(const int32_t* nodes, int width) {
    int live = 0;
    for (int lane = 0; lane < width; lane++) live += nodes[lane] >= 0;
    return live;
}

static int first_child(const cal_layout* layout, int node) {
    const int n = layout->model->node_count, copy = node / n, own = node % n;
    return own + 1 < layout->model->nodes[own].end ? copy * n + own + 1 : -1;
}

static int next_child(const cal_layout* layout, int node, int child) {
    const int n = layout->model->node_count, copy = node / n;
    const int next = layout->model->nodes[child % n].end;
    return next < layout->model->nodes[node % n].end ? copy * n + next : -1;
}

static int kind_of(const cal_layout* layout, int node) {
    return layout->model->nodes[node % layout->model->node_count].kind;
}

static int owner_of(const cal_workshop* shop, int node) {
    return shop->owners ? shop->owners[node % shop->layout->model->node_count] : 0;
}

static int last_of(const cal_workshop* shop, int node) {
    return shop->lasts ? shop->lasts[node % shop->layout->model->node_count] : owner_of(shop, node);
}

static int32_t* newest_of(const cal_workshop* shop, int owner, int last) {
    return &shop->newest[owner == last ? owner : shop->layout->processors + owner];
}

int32_t* cal_workshop_add_block(cal_workshop* shop) {
    cal_layout* layout = shop->layout;
    const int width = layout->width;
    layout->block_nodes = cal_workshop_grow(shop, layout->block_nodes, &shop->block_capacity, layout->block_count + 1,
                                            (size_t)width * sizeof *layout->block_nodes);
    if (shop->out_of_memory) return NULL;
    int32_t* nodes = layout->block_nodes + (size_t)layout->block_count++ * (size_t)width;
    for (int lane = 0; lane < width; lane++) nodes[lane] = -1;
    return nodes;
}

cal_column* cal_workshop_add_column(cal_workshop* shop) {
    cal_layout* layout = shop->layout;
    layout->columns =
        cal_workshop_grow(shop, layout->columns, &shop->column_capacity, layout->column_count + 1, sizeof(cal_column));
    if (shop->out_of_memory) return NULL;
    cal_column* column = &layout->columns[layout->column_count++];
    *column = (cal_column){.first_block = layout->block_count, .source = -1, .signal = -1};
    return column;
}

static void add_candidate(cal_workshop* shop, int node, int lane, int rank) {
    shop->candidates = cal_workshop_grow(shop, shop->candidates, &shop->candidate_capacity, shop->candidate_count + 1,
                                         sizeof(cal_candidate));
    if (shop->out_of_memory) return;
    shop->candidates[shop->candidate_count++] = (cal_candidate){node, kind_of(shop->layout, node), rank, lane};
}

static void add_seed(cal_workshop* shop, const cal_seed* block) {
    shop->seeds = cal_workshop_grow(shop, shop->seeds, &shop->seed_capacity, shop->seed_count + 1, sizeof(cal_seed));
    if (!shop->out_of_memory) shop->seeds[shop->seed_count++] = *block;
}

// Moves the live lanes of a sparse block into its first half.
static void squeeze(cal_seed* block, int lanes, int width) {
    int free = 0;
    for (int lane = lanes; lane < width; lane++) {
        if (block->nodes[lane] < 0) continue;
        while (block->nodes[free] >= 0) free++;
        block->nodes[free] = block->nodes[lane];
        block->parent_lane[free] = block->parent_lane[lane];
        block->rank[free] = block->rank[lane];
        block->nodes[lane] = -1;
        block->parent_lane[lane] = -1;
    }
}

// A block too sparse for lanes becomes one seed a node, in the order in which the parents add them.
static void add_seeds(cal_workshop* shop, cal_seed* block) {
    const int width = shop->layout->width;
    const int live = live_lanes(block->nodes, width);
    if (live == 0) return;
    if (width == 1 || live >= FEWEST_LANES) {
        squeeze(block, cal_worked_lanes(live, width), width);
        add_seed(shop, block);
        return;
    }
    for (int rank = 0; rank < width; rank++)
        for (int lane = 0; lane < width; lane++) {
            if (block->nodes[lane] < 0 || block->rank[lane] != rank) continue;
            cal_seed alone = {.parent = block->parent, .kind = block->kind, .owner = block->owner, .last = block->last};
            for (int i = 0; i < width; i++) alone.nodes[i] = alone.parent_lane[i] = -1;
            alone.nodes[0] = block->nodes[lane];
            alone.parent_lane[0] = block->parent_lane[lane];
            add_seed(shop, &alone);
        }
}

static int compare_candidates(const void* left, const void* right) {
    const cal_candidate *a = left, *b = right;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return a->lane < b->lane ? -1 : a->lane > b->lane;
}

// The seed among the open ones that a candidate may join. A parent adds its children seed by seed, so a child must not
// join a seed that comes before its elder sibling's.
static cal_seed* find_seed(cal_workshop* shop, int parent, const cal_candidate* next, const int* eldest) {
    const int owner = owner_of(shop, next->node), last = last_of(shop, next->node);
    int32_t* newest = newest_of(shop, owner, last);
    if (shop->open && *newest >= 0 && *newest >= eldest[next->lane]) {
        cal_seed* found = &shop->open[*newest];
        if (found->kind == next->kind && found->last == last && found->taken < shop->layout->width) return found;
    }
    shop->open = cal_workshop_grow(shop, shop->open, &shop->open_capacity, shop->open_count + 1, sizeof(cal_seed));
    if (shop->out_of_memory) return NULL;
    cal_seed* fresh = &shop->open[shop->open_count];
    *fresh = (cal_seed){.parent = parent, .kind = next->kind, .owner = owner, .last = last};
    memset(fresh->nodes, 0xff, sizeof fresh->nodes);
    memset(fresh->parent_lane, 0xff, sizeof fresh->parent_lane);
    *newest = shop->open_count++;
    return fresh;
}

// Packs the candidates into seeds: kind by kind, rank by rank, in the order of their parents' lanes.
static void pack_candidates(cal_workshop* shop, int parent) {
    const int first = shop->seed_count;
    int eldest[CAL_MAX_LANES] = {0};
    if (shop->candidate_count > 1)
        qsort(shop->candidates, (size_t)shop->candidate_count, sizeof(cal_candidate), compare_candidates);
    shop->open_count = 0;
    for (int i = 0; i < shop->candidate_count; i++) {
        const cal_candidate* next = &shop->candidates[i];
        cal_seed* block = find_seed(shop, parent, next, eldest);
        if (!block) return;
        int lane = next->lane, rank = 0;
        for (int other = 0; other < shop->layout->width; other++)
            rank += block->nodes[other] >= 0 && block->parent_lane[other] == next->lane;
        if (block->nodes[lane] >= 0)
            for (lane = 0; block->nodes[lane] >= 0;) lane++;
        block->nodes[lane] = next->node;
        block->parent_lane[lane] = (int8_t)next->lane;
        block->rank[lane] = (int8_t)rank;
        block->taken++;
        eldest[next->lane] = (int)(block - shop->open);
    }
    for (int i = 0; i < shop->open_count; i++) {
        *newest_of(shop, shop->open[i].owner, shop->open[i].last) = -1;
        add_seeds(shop, &shop->open[i]);
    }
    // The stack is last in, first out: turn the new seeds round so that they are taken in order.
    for (int i = first, j = shop->seed_count - 1; i < j; i++, j--) {
        const cal_seed swap = shop->seeds[i];
        shop->seeds[i] = shop->seeds[j];
        shop->seeds[j] = swap;
    }
    shop->candidate_count = 0;
}

static void gather_children(cal_workshop* shop, int node, int lane) {
    int rank = 0, kind = -1;
    for (int child = first_child(shop->layout, node); child >= 0; child = next_child(shop->layout, node, child)) {
        rank = kind_of(shop->layout, child) == kind ? rank + 1 : 0;
        kind = kind_of(shop->layout, child);
        add_candidate(shop, child, lane, rank);
    }
}

// The only child of a node, when it can continue the node's column; -1 otherwise.
static int only_child(const cal_workshop* shop, const cal_column* column, int node) {
    const int child = first_child(shop->layout, node);
    if (child < 0 || next_child(shop->layout, node, child) >= 0) return -1;
    return kind_of(shop->layout, child) == column->kind && owner_of(shop, child) == column->owner &&
                   last_of(shop, child) == column->last
               ? child
               : -1;
}

static void lay_long(cal_workshop* shop, cal_column* column, int node) {
    const int width = shop->layout->width;
    column->is_long = true;
    column->lanes = 1;
    for (;;) {
        int32_t* nodes = cal_workshop_add_block(shop);
        if (!nodes) return;
        column->block_count++;
        for (int lane = 0; lane < width; lane++) {
            nodes[lane] = node;
            column->node_count++;
            const int next = only_child(shop, column, node);
            if (next < 0) {
                gather_children(shop, node, 0);
                return;
            }
            node = next;
        }
    }
}

static void lay_wide(cal_workshop* shop, cal_column* column, const int32_t* first) {
    const int width = shop->layout->width;
    int32_t lanes[CAL_MAX_LANES];
    memcpy(lanes, first, sizeof lanes);
    column->lanes = (int8_t)cal_worked_lanes(live_lanes(first, width), width);
    for (;;) {
        int32_t* nodes = cal_workshop_add_block(shop);
        if (!nodes) return;
        column->block_count++;
        int32_t below[CAL_MAX_LANES];
        bool goes_on = true;
        for (int lane = 0; lane < width; lane++) {
            nodes[lane] = lanes[lane];
            below[lane] = -1;
            if (lanes[lane] < 0 || first_child(shop->layout, lanes[lane]) < 0) continue;
            below[lane] = only_child(shop, column, lanes[lane]);
            goes_on = goes_on && below[lane] >= 0;
        }
        const int live = live_lanes(below, width);
        if (!goes_on || live == 0 ||
            (width > 1 && (live < FEWEST_LANES || cal_worked_lanes(live, width) < column->lanes))) {
            for (int lane = 0; lane < width; lane++)
                if (lanes[lane] >= 0) gather_children(shop, lanes[lane], lane);
            return;
        }
        memcpy(lanes, below, sizeof lanes);
    }
}

// Whether something below the candidates' parents belongs to another processor.
static bool is_cut(const cal_workshop* shop) {
    const cal_node* nodes = shop->layout->model->nodes;
    for (int i = 0; shop->cut && i < shop->candidate_count; i++)
        if (shop->cut[nodes[shop->candidates[i].node].parent]) return true;
    return false;
}

// Leaves the candidates to mixed columns.
static void hang_candidates(cal_workshop* shop, int parent) {
    shop->hanging = cal_workshop_grow(shop, shop->hanging, &shop->hanging_capacity,
                                      shop->hanging_count + shop->candidate_count, sizeof *shop->hanging);
    for (int i = 0; i < shop->candidate_count && !shop->out_of_memory; i++)
        shop->hanging[shop->hanging_count++] =
            (cal_hanging){shop->candidates[i].node, parent, shop->candidates[i].lane};
    shop->layout->columns[parent].child_count = shop->candidate_count;
    shop->layout->columns[parent].gathers = shop->candidate_count > 0;
    shop->candidate_count = 0;
}

static void lay_column(cal_workshop* shop, const cal_seed* start) {
    cal_layout* layout = shop->layout;
    const int width = layout->width, index = layout->column_count;
    cal_column* column = cal_workshop_add_column(shop);
    if (shop->out_of_memory) return;
    column->kind = start->kind;
    column->owner = start->owner;
    column->last = start->last;
    column->parent = start->parent;
    column->aligned = true;
    memcpy(column->parent_lane, start->parent_lane, sizeof column->parent_lane);
    // A parent's children lie in lanes of rising rank; the ranks of different parents do not matter to each other.
    for (int rank = 0; rank < width; rank++)
        for (int lane = 0; lane < width; lane++)
            if (start->nodes[lane] >= 0 && start->rank[lane] == rank) {
                column->pull_order[column->pull_count++] = (int8_t)lane;
                if (column->parent_lane[lane] != lane) column->aligned = false;
            }
    column->parent_lanes = start->parent >= 0 ? layout->columns[start->parent].lanes : 1;
    if (start->parent >= 0) {
        column->child_index = layout->columns[start->parent].child_count++;
    } else {
        column->child_index = shop->root_count++;
    }
    if (width > 1 && live_lanes(start->nodes, width) == 1)
        lay_long(shop, column, start->nodes[0]);
    else
        lay_wide(shop, column, start->nodes);
    if (shop->out_of_memory) return;
    if (shop->mixes && !is_cut(shop))
        hang_candidates(shop, index);
    else
        pack_candidates(shop, index);
}

static void lay_seeds(cal_workshop* shop) {
    while (shop->seed_count > 0 && !shop->out_of_memory) {
        const cal_seed next = shop->seeds[--shop->seed_count];
        lay_column(shop, &next);
    }
}

void cal_pack_below(cal_workshop* shop, int parent) {
    const bool mixes = shop->mixes;
    const cal_column* column = &shop->layout->columns[parent];
    const int width = shop->layout->width;
    const size_t last = (size_t)(column->first_block + column->block_count - 1) * (size_t)width;
    for (int lane = 0; lane < width && !shop->out_of_memory; lane++) {
        const int node = shop->layout->block_nodes[last + (size_t)lane];
        if (node >= 0) gather_children(shop, node, lane);
    }
    shop->mixes = false;
    if (!shop->out_of_memory) pack_candidates(shop, parent);
    lay_seeds(shop);
    shop->mixes = mixes;
}

void cal_pack_columns(cal_workshop* shop) {
    const cal_layout* layout = shop->layout;
    const cal_model* model = layout->model;
    int rank = 0;
    for (int node = 0; node < model->node_count; node = model->nodes[node].end)
        for (int copy = 0; copy < layout->copies; copy++)
            add_candidate(shop, copy * model->node_count + node, 0, rank++);
    if (!shop->out_of_memory) pack_candidates(shop, -1);
    lay_seeds(shop);
}
