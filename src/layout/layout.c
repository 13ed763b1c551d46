// Packs the nodes of a model into columns of blocks of W lanes: layout.h explains the picture.
//
// Columns are found depth first with a stack of their first blocks, so that no recursion follows the depth of the tree.
#include "layout/layout.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

// The first block of a column that is still to be laid out.
typedef struct seed {
    int32_t parent, kind, owner;
    int taken; // lanes
    int32_t nodes[CAL_MAX_LANES];
    int8_t parent_lane[CAL_MAX_LANES];
    int8_t rank[CAL_MAX_LANES]; // of each lane among those with its parent
} seed;

// A child of a column's end that waits for a lane.
typedef struct candidate {
    int32_t node, kind, rank;
    int32_t lane; // its parent's
} candidate;

typedef struct workshop {
    cal_layout* layout;
    const int32_t* owners;
    int32_t* newest; // of each processor: its last seed among those of the parent at hand, or -1
    seed* open;      // seeds of the parent at hand
    int open_count, open_capacity;
    int column_capacity, block_capacity;
    seed* seeds;
    int seed_count, seed_capacity;
    candidate* candidates;
    int candidate_count, candidate_capacity;
    int root_count; // columns on the ground
    bool out_of_memory;
} workshop;

static void* grow(workshop* shop, void* old, int* capacity, int needed, size_t size) {
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

// How many lanes kernels work on when so many are alive.
static int worked_lanes(int live, int width) { return width == 1 ? 1 : width == 8 && live <= 4 ? 4 : width; }

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

static int owner_of(const workshop* shop, int node) {
    return shop->owners ? shop->owners[node % shop->layout->model->node_count] : 0;
}

static int32_t* add_block(workshop* shop) {
    cal_layout* layout = shop->layout;
    const int width = layout->width;
    layout->block_nodes = grow(shop, layout->block_nodes, &shop->block_capacity, layout->block_count + 1,
                               (size_t)width * sizeof *layout->block_nodes);
    if (shop->out_of_memory) return NULL;
    int32_t* nodes = layout->block_nodes + (size_t)layout->block_count++ * (size_t)width;
    for (int lane = 0; lane < width; lane++) nodes[lane] = -1;
    return nodes;
}

static void add_candidate(workshop* shop, int node, int lane, int rank) {
    shop->candidates =
        grow(shop, shop->candidates, &shop->candidate_capacity, shop->candidate_count + 1, sizeof(candidate));
    if (shop->out_of_memory) return;
    shop->candidates[shop->candidate_count++] = (candidate){node, kind_of(shop->layout, node), rank, lane};
}

static void add_seed(workshop* shop, const seed* block) {
    shop->seeds = grow(shop, shop->seeds, &shop->seed_capacity, shop->seed_count + 1, sizeof(seed));
    if (!shop->out_of_memory) shop->seeds[shop->seed_count++] = *block;
}

// Moves the live lanes of a sparse block into its first half.
static void squeeze(seed* block, int lanes, int width) {
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
static void add_seeds(workshop* shop, seed* block) {
    const int width = shop->layout->width;
    const int live = live_lanes(block->nodes, width);
    if (live == 0) return;
    if (width == 1 || live >= FEWEST_LANES) {
        squeeze(block, worked_lanes(live, width), width);
        add_seed(shop, block);
        return;
    }
    for (int rank = 0; rank < width; rank++)
        for (int lane = 0; lane < width; lane++) {
            if (block->nodes[lane] < 0 || block->rank[lane] != rank) continue;
            seed alone = {.parent = block->parent, .kind = block->kind, .owner = block->owner};
            for (int i = 0; i < width; i++) alone.nodes[i] = alone.parent_lane[i] = -1;
            alone.nodes[0] = block->nodes[lane];
            alone.parent_lane[0] = block->parent_lane[lane];
            add_seed(shop, &alone);
        }
}

static int compare_candidates(const void* left, const void* right) {
    const candidate *a = left, *b = right;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return a->lane < b->lane ? -1 : a->lane > b->lane;
}

// The seed among the open ones that a candidate may join. A parent adds its children seed by seed, so a child must not
// join a seed that comes before its elder sibling's.
static seed* find_seed(workshop* shop, int parent, const candidate* next, const int* eldest) {
    const int owner = owner_of(shop, next->node), newest = shop->newest[owner];
    if (shop->open && newest >= 0 && newest >= eldest[next->lane]) {
        seed* found = &shop->open[newest];
        if (found->kind == next->kind && found->taken < shop->layout->width) return found;
    }
    shop->open = grow(shop, shop->open, &shop->open_capacity, shop->open_count + 1, sizeof(seed));
    if (shop->out_of_memory) return NULL;
    seed* fresh = &shop->open[shop->open_count];
    *fresh = (seed){.parent = parent, .kind = next->kind, .owner = owner};
    memset(fresh->nodes, 0xff, sizeof fresh->nodes);
    memset(fresh->parent_lane, 0xff, sizeof fresh->parent_lane);
    shop->newest[owner] = shop->open_count++;
    return fresh;
}

// Packs the candidates into seeds: kind by kind, rank by rank, in the order of their parents' lanes.
static void pack_candidates(workshop* shop, int parent) {
    const int first = shop->seed_count;
    int eldest[CAL_MAX_LANES] = {0};
    if (shop->candidate_count > 1)
        qsort(shop->candidates, (size_t)shop->candidate_count, sizeof(candidate), compare_candidates);
    shop->open_count = 0;
    for (int i = 0; i < shop->candidate_count; i++) {
        const candidate* next = &shop->candidates[i];
        seed* block = find_seed(shop, parent, next, eldest);
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
        shop->newest[shop->open[i].owner] = -1;
        add_seeds(shop, &shop->open[i]);
    }
    // The stack is last in, first out: turn the new seeds round so that they are taken in order.
    for (int i = first, j = shop->seed_count - 1; i < j; i++, j--) {
        const seed swap = shop->seeds[i];
        shop->seeds[i] = shop->seeds[j];
        shop->seeds[j] = swap;
    }
    shop->candidate_count = 0;
}

static void gather_children(workshop* shop, int node, int lane) {
    int rank = 0, kind = -1;
    for (int child = first_child(shop->layout, node); child >= 0; child = next_child(shop->layout, node, child)) {
        rank = kind_of(shop->layout, child) == kind ? rank + 1 : 0;
        kind = kind_of(shop->layout, child);
        add_candidate(shop, child, lane, rank);
    }
}

// The only child of a node, when it can continue the node's column; -1 otherwise.
static int only_child(const workshop* shop, const cal_column* column, int node) {
    const int child = first_child(shop->layout, node);
    if (child < 0 || next_child(shop->layout, node, child) >= 0) return -1;
    return kind_of(shop->layout, child) == column->kind && owner_of(shop, child) == column->owner ? child : -1;
}

static void lay_long(workshop* shop, cal_column* column, int node) {
    const int width = shop->layout->width;
    column->is_long = true;
    column->lanes = 1;
    for (;;) {
        int32_t* nodes = add_block(shop);
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

static void lay_wide(workshop* shop, cal_column* column, const int32_t* first) {
    const int width = shop->layout->width;
    int32_t lanes[CAL_MAX_LANES];
    memcpy(lanes, first, sizeof lanes);
    column->lanes = (int8_t)worked_lanes(live_lanes(first, width), width);
    for (;;) {
        int32_t* nodes = add_block(shop);
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
            (width > 1 && (live < FEWEST_LANES || worked_lanes(live, width) < column->lanes))) {
            for (int lane = 0; lane < width; lane++)
                if (lanes[lane] >= 0) gather_children(shop, lanes[lane], lane);
            return;
        }
        memcpy(lanes, below, sizeof lanes);
    }
}

static void lay_column(workshop* shop, const seed* start) {
    cal_layout* layout = shop->layout;
    const int width = layout->width, index = layout->column_count;
    layout->columns = grow(shop, layout->columns, &shop->column_capacity, index + 1, sizeof(cal_column));
    if (shop->out_of_memory) return;
    layout->column_count++;
    cal_column* column = &layout->columns[index];
    *column = (cal_column){.first_block = layout->block_count,
                           .kind = start->kind,
                           .owner = start->owner,
                           .parent = start->parent,
                           .aligned = true};
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
    if (!shop->out_of_memory) pack_candidates(shop, index);
}

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

// Doubles of a frame after its blocks' scratch.
static size_t frame_size(size_t width, bool shared, int children) {
    return (size_t)(CAL_DOWN_COUNT + CAL_UP_COUNT * (1 + (shared ? children : 1))) * width;
}

static void place_frame(cal_column* column, size_t width, size_t* top) {
    column->scratch = *top;
    column->end_slot = *top + (size_t)column->block_count * CAL_SCRATCH_COUNT * width;
    *top = column->end_slot + frame_size(width, column->shared, column->child_count);
}

// Gives every kept column its frame: shared ones for good, private ones on their owner's stack; and, where memory is not
// shared, columns above kept ones a frame that only messages fill.
static cal_status place_frames(cal_layout* layout, int root_count) {
    const size_t width = (size_t)layout->width;
    size_t* height = cal_allocate((size_t)layout->processors, sizeof *height);
    // Where the frame above a column's own begins, counted from the bottom of its owner's stack.
    size_t* top = cal_allocate((size_t)layout->column_count, sizeof *top);
    bool* placed = cal_allocate((size_t)layout->column_count, sizeof *placed);
    cal_status status = height && top && placed ? CAL_OK : CAL_NO_MEMORY;
    size_t total = frame_size(width, layout->ground_shared, root_count);
    for (int i = 0; status == CAL_OK && i < layout->column_count; i++) {
        cal_column* column = &layout->columns[i];
        if (!cal_layout_keeps(layout, column)) continue;
        if (column->shared) {
            place_frame(column, width, &total);
        } else {
            top[i] = column->parent >= 0 && !layout->columns[column->parent].shared ? top[column->parent] : 0;
            place_frame(column, width, &top[i]);
            if (top[i] > height[column->owner]) height[column->owner] = top[i];
        }
        cal_column* parent = column->parent >= 0 ? &layout->columns[column->parent] : NULL;
        if (!parent || cal_layout_keeps(layout, parent) || placed[column->parent]) continue;
        placed[column->parent] = true;
        parent->end_slot = total;
        total += frame_size(width, true, parent->child_count);
    }
    for (int p = 0; status == CAL_OK && p < layout->processors; p++) {
        const size_t own = height[p];
        height[p] = total;
        total += own;
    }
    for (int i = 0; status == CAL_OK && i < layout->column_count; i++) {
        cal_column* column = &layout->columns[i];
        if (!column->shared && cal_layout_keeps(layout, column))
            column->scratch += height[column->owner], column->end_slot += height[column->owner];
        const cal_column* parent = column->parent >= 0 ? &layout->columns[column->parent] : NULL;
        const bool shared = parent ? parent->shared : layout->ground_shared;
        column->up_slot = (parent ? parent->end_slot : 0) +
                          (size_t)(CAL_DOWN_COUNT + CAL_UP_COUNT * (1 + (shared ? column->child_index : 0))) * width;
    }
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
    const bool kept = cal_layout_keeps(layout, column);
    if (node < 0) return;
    const int copy = node / model->node_count;
    const cal_node* n = &model->nodes[node % model->node_count];
    const int q_count = cal_kind_q(n->kind), v_count = cal_kind_v(n->kind);
    const size_t q_first = (size_t)copy * (size_t)model->q_count + (size_t)n->first_q;
    const size_t v_first = (size_t)copy * (size_t)model->v_count + (size_t)n->first_v;
    for (int i = 0; i < q_count; i++)
        layout->q_position[q_first + (size_t)i] = kept ? layout->block_y[block] + i * width + lane : -1;
    for (int i = 0; i < v_count; i++) {
        layout->v_position[v_first + (size_t)i] = kept ? layout->block_y[block] + (q_count + i) * width + lane : -1;
        layout->tau_position[v_first + (size_t)i] = kept ? layout->block_v[block] + i * width + lane : -1;
    }
    if (!kept || !node_is_passive(n)) return;
    column->has_passive = true;
    for (int i = 0; i < v_count; i++) {
        double* passive = layout->passive + layout->block_v[block] + i * width + lane;
        passive[0] = n->damping;
        if (v_count == 1) passive[layout->v_size] = n->stiffness, passive[2 * layout->v_size] = n->spring_reference;
    }
}

static void count_extras(const cal_model* model, const int32_t* actuator_count, const cal_node* node, int* count) {
    const cal_joint_def* joint = model->joints[node->joint].def;
    *count += joint->limited;
    *count += joint->friction_loss != 0.0;
    *count += node->kind == CAL_BALL && node->stiffness != 0.0;
    *count += actuator_count ? actuator_count[node->joint + 1] - actuator_count[node->joint] : 0;
}

static void add_extra(cal_layout* layout, cal_column* column, int kind, int block, int lane, int index) {
    const int width = layout->width, node = layout->block_nodes[(size_t)block * (size_t)width + (size_t)lane];
    const int y = layout->block_y[block] + lane;
    layout->extras[layout->extra_count++] = (cal_nonlinear_force){.kind = kind,
                                                                  .y = y,
                                                                  .v = layout->block_v[block] + lane,
                                                                  .v_in_y = y + cal_kind_q(column->kind) * width,
                                                                  .index = index,
                                                                  .copy = node / layout->model->node_count};
    column->extra_count++;
}

// A motor's own degree, which of a ball is one of three; its y stays that of the whole quaternion.
static void add_motor(cal_layout* layout, cal_column* column, int block, int lane, int actuator) {
    add_extra(layout, column, CAL_NONLINEAR_ACTUATOR, block, lane, actuator);
    cal_nonlinear_force* extra = &layout->extras[layout->extra_count - 1];
    extra->v += layout->model->actuators[actuator].axis * layout->width;
    extra->v_in_y += layout->model->actuators[actuator].axis * layout->width;
}

// Actuators sorted by joint: those of joint j are order[first[j]] … order[first[j + 1] - 1].
static cal_status sort_actuators(const cal_model* model, int32_t** first, int32_t** order) {
    *first = cal_allocate((size_t)model->joint_count + 2, sizeof **first);
    *order = cal_allocate((size_t)model->actuator_count, sizeof **order);
    if (!*first || !*order) return CAL_NO_MEMORY;
    // Those that act on tendons are among the coupled forces.
    for (int i = 0; i < model->actuator_count; i++)
        if (model->actuators[i].joint >= 0) (*first)[model->actuators[i].joint + 2]++;
    for (int j = 0; j <= model->joint_count; j++) (*first)[j + 1] += (*first)[j];
    for (int i = 0; i < model->actuator_count; i++)
        if (model->actuators[i].joint >= 0) (*order)[(*first)[model->actuators[i].joint + 1]++] = i;
    return CAL_OK;
}

// The rare forces of one node.
static void add_extras(cal_layout* layout, cal_column* column, int block, int lane, const int32_t* first,
                       const int32_t* order) {
    const cal_model* model = layout->model;
    const int node = layout->block_nodes[(size_t)block * (size_t)layout->width + (size_t)lane];
    if (node < 0) return;
    const cal_node* n = &model->nodes[node % model->node_count];
    if (model->joints[n->joint].def->limited) add_extra(layout, column, CAL_NONLINEAR_LIMIT, block, lane, n->joint);
    if (model->joints[n->joint].def->friction_loss != 0.0)
        add_extra(layout, column, CAL_NONLINEAR_FRICTION, block, lane, n->joint);
    if (n->kind == CAL_BALL && n->stiffness != 0.0)
        add_extra(layout, column, CAL_NONLINEAR_BALL_SPRING, block, lane, n->joint);
    for (int i = first[n->joint]; i < first[n->joint + 1]; i++) add_motor(layout, column, block, lane, order[i]);
}

static cal_status fill_extras(cal_layout* layout, bool by_lane) {
    const cal_model* model = layout->model;
    const size_t lanes = (size_t)layout->column_count * (size_t)layout->width;
    int32_t *first = NULL, *order = NULL;
    cal_status status = sort_actuators(model, &first, &order);
    int total = 0;
    for (int i = 0; status == CAL_OK && i < model->node_count; i++)
        count_extras(model, first, &model->nodes[i], &total);
    if (status == CAL_OK) {
        layout->extras = cal_allocate((size_t)total * (size_t)layout->copies, sizeof(cal_nonlinear_force));
        if (by_lane) layout->lane_extras = cal_allocate(lanes + 1, sizeof *layout->lane_extras);
        if (!layout->extras || (by_lane && !layout->lane_extras)) status = CAL_NO_MEMORY;
    }
    for (int c = 0; status == CAL_OK && c < layout->column_count; c++) {
        cal_column* column = &layout->columns[c];
        column->first_extra = layout->extra_count;
        const int blocks = total > 0 && cal_layout_keeps(layout, column) ? column->block_count : 0;
        for (int block = 0; !by_lane && block < blocks; block++)
            for (int lane = 0; lane < layout->width; lane++)
                add_extras(layout, column, column->first_block + block, lane, first, order);
        for (int lane = 0; by_lane && lane < layout->width; lane++) {
            for (int block = 0; block < blocks; block++)
                add_extras(layout, column, column->first_block + block, lane, first, order);
            layout->lane_extras[(size_t)c * (size_t)layout->width + (size_t)lane + 1] = layout->extra_count;
        }
    }
    cal_free(first);
    cal_free(order);
    return status;
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
    if (def->constants && cal_layout_fill_constants(layout) != CAL_OK) return CAL_NO_MEMORY;
    return fill_extras(layout, def->by_lane);
}

cal_status cal_layout_create(const cal_layout_def* def, cal_layout** out, cal_error* error) {
    *out = NULL;
    const cal_model* model = def->model;
    workshop shop = {.owners = def->owners, .layout = cal_allocate(1, sizeof(cal_layout))};
    shop.newest = cal_allocate((size_t)def->processors, sizeof *shop.newest);
    cal_layout* layout = shop.layout;
    shop.out_of_memory = !layout || !shop.newest;
    if (!shop.out_of_memory) {
        layout->model = model;
        layout->width = def->width;
        layout->copies = def->copies;
        layout->processors = def->processors;
        layout->keep = def->keep;
        layout->uniform = def->by_lane && def->copies == def->width;
        for (int p = 0; p < def->processors; p++) shop.newest[p] = -1;
        int rank = 0;
        for (int node = 0; node < model->node_count; node = model->nodes[node].end)
            for (int copy = 0; copy < def->copies; copy++)
                add_candidate(&shop, copy * model->node_count + node, 0, rank++);
    }
    if (!shop.out_of_memory) pack_candidates(&shop, -1);
    while (shop.seed_count > 0 && !shop.out_of_memory) {
        const seed next = shop.seeds[--shop.seed_count];
        lay_column(&shop, &next);
    }
    cal_free(shop.seeds);
    cal_free(shop.open);
    cal_free(shop.newest);
    cal_free(shop.candidates);
    cal_status status = shop.out_of_memory ? CAL_NO_MEMORY : CAL_OK;
    if (status == CAL_OK) {
        find_shared(layout, def->lasting);
        status = place_frames(layout, shop.root_count);
    }
    if (status == CAL_OK) status = fill(layout, def, error);
    if (status != CAL_OK) {
        cal_layout_destroy(layout);
        return status == CAL_NO_MEMORY
                   ? cal_fail(error, status, "no memory for a layout of %d bodies", model->body_count)
                   : status;
    }
    *out = layout;
    return CAL_OK;
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
    cal_free(layout);
}
