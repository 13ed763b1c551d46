// Where the numbers of a model's columns are: frames, vectors. layout.h explains the picture; pack.c and mixed.c
// find the columns.
#include "layout/workshop.h"

#include "base/memory.h"

#include <string.h>

static void find_shared(cal_layout* layout, bool lasting) {
    layout->ground_shared = lasting;
    for (int i = 0; lasting && i < layout->column_count; i++) layout->columns[i].shared = true;
    for (int i = layout->column_count - 1; i >= 0; i--) {
        const cal_column* column = &layout->columns[i];
        cal_column* parent = column->parent < 0 ? NULL : &layout->columns[column->parent];
        if (column->shared || column->owner != (parent ? parent->owner : 0)) {
            if (parent)
                parent->shared = true;
            else
                layout->ground_shared = true;
        }
    }
}

static size_t slot_size(const cal_layout* layout) {
    return (size_t)(CAL_UP_COUNT + (layout->repeats ? CAL_MAX_SUMS : 0)) * (size_t)layout->width;
}

// Doubles of a frame after its blocks' scratch.
static size_t frame_size(const cal_layout* layout, bool shared, int children) {
    return (size_t)(CAL_DOWN_COUNT + CAL_UP_COUNT) * (size_t)layout->width +
           (size_t)(shared ? children : 1) * slot_size(layout);
}

// The rows that a column's children read are done with when it goes up, and leaves rows of its own there, where its parents are in its group.
static void place_frame(const cal_layout* layout, cal_column* column, size_t* top, size_t* lasting) {
    const size_t width = (size_t)layout->width;
    const bool rows = column->gathers && !layout->by_lane, own = column->mixed && !column->hangs;
    column->scratch = *top;
    column->end_slot = *top + (size_t)column->block_count * CAL_SCRATCH_COUNT * width;
    *top = column->end_slot;
    if (rows) {
        column->row_slot = *top;
        *top += (own ? CAL_UP_ROW : CAL_DOWN_ROW) * width;
    } else if (column->gathers) {
        *top += (CAL_DOWN_COUNT + CAL_UP_COUNT) * width;
    } else if (!column->mixed || column->child_count > 0) {
        *top += frame_size(layout, column->shared, column->child_count);
    }
    const size_t brief = column->end_slot + (size_t)column->block_count * CAL_BRIEF_SCRATCH * width;
    if (cal_column_can_be_brief(layout, column) && *top < brief) *top = brief;
    if (!column->mixed) return;
    // Its parents gather what it leaves.
    size_t* place = own ? top : lasting;
    column->up_slot = rows && own ? column->row_slot : *place;
    if (!rows || !own) *place += CAL_UP_ROW * width;
}

// Where columns leave what is pulled: in the frames above them. Stand-ins have the slot of their source, where that is in this memory;
// what a copy of the trunk would leave on the ground nobody pulls, and it has a slot of its own for it.
static void place_slots(cal_layout* layout, size_t* total) {
    for (int i = 0; i < layout->column_count; i++) {
        cal_column* column = &layout->columns[i];
        const cal_column* parent = column->parent >= 0 ? &layout->columns[column->parent] : NULL;
        const bool shared = parent ? parent->shared : layout->ground_shared;
        if (!column->mixed)
            column->up_slot = (parent ? parent->end_slot : 0) +
                              (size_t)(CAL_DOWN_COUNT + CAL_UP_COUNT) * (size_t)layout->width +
                              (shared ? (size_t)column->child_index * slot_size(layout) : 0);
        if (!parent && column->repeated && layout->keep == CAL_KEEP_ALL) {
            column->up_slot = *total;
            *total += slot_size(layout);
        }
        column->sum_slot = column->up_slot + (layout->repeats && shared ? CAL_UP_COUNT * (size_t)layout->width : 0);
    }
    for (int i = 0; layout->keep == CAL_KEEP_ALL && i < layout->column_count; i++) {
        cal_column* column = &layout->columns[i];
        if (column->source < 0) continue;
        column->up_slot = layout->columns[column->source].up_slot;
        column->sum_slot = layout->columns[column->source].sum_slot;
    }
}

// Whether a column has a frame for good. Where columns are mixed only the groups' frames are used again, by one group after the other.
static bool frame_lasts(const cal_layout* layout, const cal_column* column) {
    return column->shared || (layout->mixes && column->group <= CAL_GROUP_TOP);
}

// Gives every kept column its frame: shared ones for good, private ones on their owner's stack; and, where memory is not
// shared, columns above kept ones a frame that only messages fill.
static cal_status place_frames(cal_layout* layout, int root_count) {
    const cal_column* before = NULL; // in the same group
    size_t open = 0;                 // where the frames of that group's bundles begin
    size_t* height = cal_allocate((size_t)layout->processors, sizeof *height);
    // Where the frame above a column's own begins, counted from the bottom of its owner's stack.
    size_t* top = cal_allocate((size_t)layout->column_count, sizeof *top);
    bool* placed = cal_allocate((size_t)layout->column_count, sizeof *placed);
    cal_status status = height && top && placed ? CAL_OK : CAL_NO_MEMORY;
    size_t total = frame_size(layout, layout->ground_shared, root_count);
    for (int i = 0; status == CAL_OK && i < layout->column_count; i++) {
        cal_column* column = &layout->columns[i];
        if (!cal_layout_keeps(layout, column) || column->source >= 0) continue;
        if (frame_lasts(layout, column)) {
            place_frame(layout, column, &total, &total);
        } else {
            if (!before || before->group != column->group || before->owner != column->owner) open = 0;
            if (layout->mixes)
                top[i] = column->mixed ? open : top[column->parent];
            else
                top[i] = column->parent >= 0 && !layout->columns[column->parent].shared ? top[column->parent] : 0;
            before = column;
            place_frame(layout, column, &top[i], &total);
            if (column->bundle == 0) open = top[i];
            if (top[i] > height[column->owner]) height[column->owner] = top[i];
        }
        cal_column* parent = column->parent >= 0 ? &layout->columns[column->parent] : NULL;
        if (!parent || cal_layout_keeps(layout, parent) || placed[column->parent]) continue;
        placed[column->parent] = true;
        parent->end_slot = total;
        total += frame_size(layout, true, parent->child_count);
    }
    for (int p = 0; status == CAL_OK && p < layout->processors; p++) {
        const size_t own = height[p];
        height[p] = total;
        total += own;
    }
    for (int i = 0; status == CAL_OK && i < layout->column_count; i++) {
        cal_column* column = &layout->columns[i];
        if (!frame_lasts(layout, column) && cal_layout_keeps(layout, column)) {
            column->scratch += height[column->owner], column->end_slot += height[column->owner];
            column->row_slot += height[column->owner];
            if (column->mixed && !column->hangs) column->up_slot += height[column->owner];
        }
    }
    if (status == CAL_OK) place_slots(layout, &total);
    layout->scratch_size = total;
    cal_free(height);
    cal_free(top);
    cal_free(placed);
    return status;
}

static bool node_is_passive(const cal_node* node) {
    return node->damping != 0.0 ||
           (node->stiffness != 0.0 && (node->kind == CAL_REVOLUTE || node->kind == CAL_PRISMATIC));
}

static void fill_positions(cal_layout* layout, cal_column* column, int block, int lane) {
    const cal_model* model = layout->model;
    const int width = layout->width, node = layout->block_nodes[(size_t)block * (size_t)width + (size_t)lane];
    // Of the copies of a trunk column in this memory the first one counts.
    const bool counts = !column->repeated || layout->keep != CAL_KEEP_ALL;
    if (node < 0 || !cal_layout_keeps(layout, column)) return;
    const int copy = node / model->node_count;
    const cal_node* n = &model->nodes[node % model->node_count];
    const int q_count = cal_kind_q(n->kind), v_count = cal_kind_v(n->kind);
    const size_t q_first = (size_t)copy * (size_t)model->q_count + (size_t)n->first_q;
    const size_t v_first = (size_t)copy * (size_t)model->v_count + (size_t)n->first_v;
    for (int i = 0; counts && i < q_count; i++)
        layout->q_position[q_first + (size_t)i] = layout->block_y[block] + i * width + lane;
    for (int i = 0; counts && i < v_count; i++) {
        layout->v_position[v_first + (size_t)i] = layout->block_y[block] + (q_count + i) * width + lane;
        layout->tau_position[v_first + (size_t)i] = layout->block_v[block] + i * width + lane;
    }
    if (!node_is_passive(n)) return;
    column->has_passive = true;
    for (int i = 0; i < v_count; i++) {
        double* passive = layout->passive + layout->block_v[block] + i * width + lane;
        passive[0] = n->damping;
        if (v_count == 1) passive[layout->v_size] = n->stiffness, passive[2 * layout->v_size] = n->spring_reference;
    }
}

// Whether the first W of `count` positions, the next W and so on follow each other.
static bool come_in_runs(const int32_t* position, size_t count, size_t width) {
    for (size_t i = 0; i < count / width * width; i++)
        if (position[i] < 0 || position[i] != position[i / width * width] + (int32_t)(i % width)) return false;
    return true;
}

// Which lane of a column each lane of its parent adds in each round, in the order of the parents' children; only counts where `rounds` is NULL.
static int find_rounds(const cal_column* column, int width, int8_t* rounds) {
    int taken[CAL_MAX_LANES] = {0}, count = 0;
    for (int k = 0; k < column->pull_count; k++) {
        const int lane = column->pull_order[k], above = column->parent_lane[lane];
        if (rounds) rounds[taken[above] * width + above] = (int8_t)lane;
        if (++taken[above] > count) count = taken[above];
    }
    return count;
}

// Columns whose lanes are pulled all at a time though they do not hang under their own (pass/pull_columns.h).
static cal_status fill_rounds(cal_layout* layout) {
    size_t size = 0;
    int round = 0;
    for (int i = 0; i < layout->column_count; i++) {
        cal_column* column = &layout->columns[i];
        const bool aligned = column->aligned && column->parent_lanes == column->lanes;
        if (column->mixed || aligned || column->parent < 0 || column->parent_lanes == 1 ||
            column->lanes < column->parent_lanes || layout->by_lane)
            continue;
        column->round_count = (int8_t)find_rounds(column, layout->width, NULL);
        size += (size_t)column->round_count * (size_t)layout->width;
    }
    if (size == 0) return CAL_OK;
    layout->rounds = cal_allocate(size, sizeof *layout->rounds);
    if (!layout->rounds) return CAL_NO_MEMORY;
    memset(layout->rounds, 0xff, size * sizeof *layout->rounds);
    for (int i = 0; i < layout->column_count; i++) {
        cal_column* column = &layout->columns[i];
        if (column->round_count == 0) continue;
        column->first_round = round;
        find_rounds(column, layout->width, layout->rounds + (size_t)round * (size_t)layout->width);
        round += column->round_count;
    }
    return CAL_OK;
}

// Everything whose size is known once the columns are.
static cal_status fill(cal_layout* layout, const cal_layout_def* def, cal_error* error) {
    const cal_model* model = layout->model;
    const size_t blocks = (size_t)layout->block_count, width = (size_t)layout->width, copies = (size_t)layout->copies;
    layout->block_y = cal_allocate(blocks + 1, sizeof *layout->block_y);
    layout->block_v = cal_allocate(blocks + 1, sizeof *layout->block_v);
    layout->q_position = cal_allocate(copies * (size_t)model->q_count, sizeof *layout->q_position);
    layout->v_position = cal_allocate(copies * (size_t)model->v_count, sizeof *layout->v_position);
    layout->tau_position = cal_allocate(copies * (size_t)model->v_count, sizeof *layout->tau_position);
    if (!layout->block_y || !layout->block_v || !layout->q_position || !layout->v_position || !layout->tau_position)
        return CAL_NO_MEMORY;
    // What is not in this memory has no place.
    memset(layout->q_position, 0xff, copies * (size_t)model->q_count * sizeof *layout->q_position);
    memset(layout->v_position, 0xff, copies * (size_t)model->v_count * sizeof *layout->v_position);
    memset(layout->tau_position, 0xff, copies * (size_t)model->v_count * sizeof *layout->tau_position);
    for (int c = 0; c < layout->column_count; c++) {
        const cal_column* column = &layout->columns[c];
        const size_t v = (size_t)cal_kind_v(column->kind) * width, y = (size_t)cal_kind_q(column->kind) * width + v;
        for (int block = column->first_block; block < column->first_block + column->block_count; block++) {
            layout->block_y[block] = (int32_t)layout->y_size, layout->block_v[block] = (int32_t)layout->v_size;
            if (cal_layout_keeps(layout, column)) layout->y_size += y, layout->v_size += v;
        }
        if (layout->y_size > INT32_MAX)
            return cal_fail(error, CAL_BAD_MODEL, "the model is too large: at most about 100 million joints");
    }
    layout->block_y[blocks] = (int32_t)layout->y_size, layout->block_v[blocks] = (int32_t)layout->v_size;
    for (int i = 0; i < model->node_count && !layout->passive; i++)
        if (node_is_passive(&model->nodes[i])) {
            layout->passive = cal_allocate(3 * layout->v_size, sizeof(double));
            if (!layout->passive) return CAL_NO_MEMORY;
        }
    for (int c = 0; c < layout->column_count; c++) {
        cal_column* column = &layout->columns[c];
        for (int block = column->first_block; block < column->first_block + column->block_count; block++)
            for (int lane = 0; lane < layout->width; lane++) fill_positions(layout, column, block, lane);
    }
    layout->runs = copies == 1 && come_in_runs(layout->q_position, (size_t)model->q_count, width) &&
                   come_in_runs(layout->v_position, (size_t)model->v_count, width);
    if (fill_rounds(layout) != CAL_OK) return CAL_NO_MEMORY;
    if (def->constants && cal_layout_fill_constants(layout) != CAL_OK) return CAL_NO_MEMORY;
    return cal_layout_fill_extras(layout);
}

// Of each node, whether something below it belongs to another processor.
static cal_status find_cuts(cal_workshop* shop) {
    const cal_model* model = shop->layout->model;
    if (!shop->owners) return CAL_OK;
    shop->cut = cal_allocate((size_t)model->node_count, sizeof *shop->cut);
    if (!shop->cut) return CAL_NO_MEMORY;
    for (int node = model->node_count - 1; node >= 0; node--) {
        const int parent = model->nodes[node].parent;
        if (shop->lasts && shop->owners[node] < shop->lasts[node]) shop->cut[node] = true; // the trunk
        if (parent >= 0 && (shop->cut[node] || shop->owners[node] != shop->owners[parent])) shop->cut[parent] = true;
    }
    return CAL_OK;
}

// Finds the columns.
static void lay_columns(const cal_layout_def* def, bool mixes, bool bundles, cal_workshop* shop) {
    *shop = (cal_workshop){.owners = def->owners,
                           .lasts = def->lasts,
                           .mixes = mixes,
                           .bundles = bundles,
                           .layout = cal_allocate(1, sizeof(cal_layout))};
    shop->newest = cal_allocate(2 * (size_t)def->processors, sizeof *shop->newest);
    cal_layout* layout = shop->layout;
    shop->out_of_memory = !layout || !shop->newest;
    if (shop->out_of_memory) return;
    layout->model = def->model;
    layout->width = def->width;
    layout->copies = def->copies;
    layout->processors = def->processors;
    layout->keep = def->keep;
    layout->mixes = mixes;
    layout->by_lane = def->by_lane;
    layout->uniform = def->by_lane && def->copies == def->width;
    for (int p = 0; p < 2 * def->processors; p++) shop->newest[p] = -1;
    if (mixes && find_cuts(shop) != CAL_OK) shop->out_of_memory = true;
    if (!shop->out_of_memory) cal_pack_columns(shop);
    if (!shop->out_of_memory && mixes) cal_mix_columns(shop);
}

static void clear(cal_workshop* shop) {
    cal_free(shop->seeds);
    cal_free(shop->open);
    cal_free(shop->newest);
    cal_free(shop->candidates);
    cal_free(shop->cut);
    cal_free(shop->hanging);
    cal_free(shop->origins);
    cal_free(shop->heads);
    cal_layout_destroy(shop->layout);
}

// Whether most blocks are in columns that can be brief, which bundles' roots and what hangs on them cannot.
static bool is_mostly_brief(const cal_layout* layout) {
    int64_t brief = 0;
    for (int i = 0; i < layout->column_count; i++)
        if (cal_column_can_be_brief(layout, &layout->columns[i])) brief += layout->columns[i].block_count;
    return 2 * brief > layout->block_count;
}

// Lays columns out again, mixed, and takes what is faster. Prices are right to 15 %: bundles must save more than that in the place of columns
// that can be brief.
static void try_mixed(const cal_layout_def* def, bool bundles, cal_workshop* shop) {
    cal_workshop mixed;
    lay_columns(def, true, bundles, &mixed);
    const double share = bundles && is_mostly_brief(shop->layout) ? 0.85 : 1.0;
    const bool better = mixed.out_of_memory || cal_workshop_price(&mixed) < share * cal_workshop_price(shop);
    cal_workshop* worse = better ? shop : &mixed;
    clear(worse);
    if (better) *shop = mixed;
}

cal_status cal_layout_create(const cal_layout_def* def, cal_layout** out, cal_error* error) {
    *out = NULL;
    const cal_model* model = def->model;
    cal_workshop shop;
    lay_columns(def, false, false, &shop);
    if (!shop.out_of_memory && def->mixes && cal_workshop_is_sparse(&shop)) {
        try_mixed(def, false, &shop);
        if (!shop.out_of_memory && !def->by_lane) try_mixed(def, true, &shop);
    }
    cal_layout* layout = shop.layout;
    cal_status status = shop.out_of_memory ? CAL_NO_MEMORY : CAL_OK;
    if (status == CAL_OK && def->lasts)
        status = cal_workshop_copy_trunk(&shop);
    else if (status == CAL_OK)
        find_shared(layout, def->lasting);
    if (status == CAL_OK) status = place_frames(layout, shop.root_count);
    if (status == CAL_OK && layout->mixes) status = cal_place_mixed(&shop);
    if (status == CAL_OK) status = fill(layout, def, error);
    if (status == CAL_OK) *out = layout, shop.layout = NULL;
    clear(&shop);
    return status == CAL_NO_MEMORY ? cal_fail(error, status, "no memory for a layout of %d bodies", model->body_count)
                                   : status;
}

void cal_layout_find_depths(const cal_layout* layout, int32_t* depth) {
    for (int i = 0; i < layout->column_count; i++) {
        const cal_column* column = &layout->columns[i];
        depth[i] = column->parent < 0 ? 0 : depth[column->parent] + 1;
        for (int l = 0; column->mixed && l < column->pull_count; l++) {
            const int above = layout->parent_columns[column->first_parent + l];
            if (depth[above] >= depth[i]) depth[i] = depth[above] + 1;
        }
    }
}

void cal_layout_link_children(const cal_layout* layout, int32_t* first, int32_t* next) {
    for (int i = 0; i <= layout->column_count; i++) first[i] = -1;
    for (int i = layout->column_count - 1; i >= 0; i--) {
        const int parent = layout->columns[i].parent;
        next[i] = first[parent + 1];
        first[parent + 1] = i;
    }
}

void cal_layout_destroy(cal_layout* layout) {
    if (!layout) return;
    cal_free(layout->columns);
    cal_free(layout->parents);
    cal_free(layout->parent_columns);
    cal_free(layout->pulls);
    cal_free(layout->rounds);
    cal_free(layout->block_nodes);
    cal_free(layout->block_y);
    cal_free(layout->block_v);
    cal_free(layout->extras);
    cal_free(layout->lane_extras);
    cal_free(layout->constants);
    cal_free(layout->passive);
    cal_free(layout->q_position);
    cal_free(layout->v_position);
    cal_free(layout->tau_position);
    cal_free(layout->twins);
    cal_free(layout);
}
