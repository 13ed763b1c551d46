// Plans in a device's memory: the layout's arrays, what joint forces read of the model, and the columns by level.
#include "cuda/device_plan.h"
#include "base/error.h"
#include "base/memory.h"
#include <string.h>

void* cal_device_take(cal_device* device, cal_device_memory_list* list, size_t bytes) {
    const int most = (int)(sizeof list->parts / sizeof list->parts[0]);
    void* memory = list->count < most ? cal_device_allocate(device, bytes) : NULL;
    if (memory)
        list->parts[list->count++] = memory;
    else
        list->failed = true;
    return memory;
}

void* cal_device_copy(cal_device* device, cal_device_memory_list* list, const void* from, size_t bytes) {
    if (!from) return NULL;
    void* memory = cal_device_take(device, list, bytes);
    if (memory) cal_device_write(device, memory, from, bytes);
    return memory;
}

void cal_device_give_back(cal_device* device, cal_device_memory_list* list) {
    for (int i = 0; i < list->count; i++) cal_device_free(device, list->parts[i]);
    *list = (cal_device_memory_list){0};
}

const cal_device_solver* cal_device_find_solver(const cal_solver_ops* ops) {
    static const struct {
        const char* name;
        const cal_device_solver* kernels;
    } known[] = {
        {"gear", &cal_device_gear},       {"iec", &cal_device_runge_kutta}, {"rki", &cal_device_runge_kutta},
        {"rkg", &cal_device_runge_kutta}, {"rkf", &cal_device_runge_kutta}, {"rkck", &cal_device_runge_kutta},
        {"rk4", &cal_device_rk4},         {"euler", &cal_device_euler},     {"implicit", &cal_device_implicit}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, ops->name) == 0 && ops->vector_count <= CAL_DEVICE_VECTORS) return known[i].kernels;
    return NULL;
}

// Joints with their definitions, and actuators: what the laws of joint forces read.
static void copy_model(cal_device_plan* own, const cal_model* model) {
    cal_model* const kept = own->model = cal_allocate(1, sizeof *kept);
    if (!kept) {
        own->memory.failed = true;
        return;
    }
    *kept = (cal_model){.actuator_count = model->actuator_count, .joint_count = model->joint_count};
    memcpy(kept->gravity, model->gravity, sizeof kept->gravity);
    const size_t joints = (size_t)model->joint_count;
    cal_joint_def* defs = cal_device_copy(own->device, &own->memory, model->joint_defs,
                                          (size_t)model->joint_def_count * sizeof *model->joint_defs);
    cal_joint* moved = cal_allocate(joints + 1, sizeof *moved);
    if (!moved || !defs) {
        own->memory.failed = true;
        cal_free(moved);
        return;
    }
    for (size_t i = 0; i < joints; i++) {
        moved[i] = model->joints[i];
        moved[i].def = defs + (model->joints[i].def - model->joint_defs);
        moved[i].name = NULL;
    }
    kept->joints = cal_device_copy(own->device, &own->memory, moved, joints * sizeof *moved);
    kept->actuators = cal_device_copy(own->device, &own->memory, model->actuators,
                                      (size_t)model->actuator_count * sizeof *model->actuators);
    own->work.context.model = cal_device_copy(own->device, &own->memory, kept, sizeof *kept);
    (void)cal_device_wait(own->device); // `moved` goes
    cal_free(moved);
}

cal_status cal_device_plan_bring_nodes(cal_device_plan* own, const cal_plan* plan) {
    const cal_layout* layout = plan->layout;
    const size_t lanes = (size_t)layout->block_count * (size_t)layout->width;
    if (own->energy_model) return CAL_OK;
    cal_model copy = *own->model;
    own->block_nodes =
        cal_device_copy(own->device, &own->memory, layout->block_nodes, lanes * sizeof *layout->block_nodes);
    copy.nodes = cal_device_copy(own->device, &own->memory, plan->model->nodes,
                                 (size_t)plan->model->node_count * sizeof *copy.nodes);
    own->energy_model = cal_device_copy(own->device, &own->memory, &copy, sizeof copy);
    const cal_status status = cal_device_wait(own->device); // `copy` goes
    if (own->memory.failed) own->energy_model = NULL;
    return own->memory.failed ? CAL_NO_MEMORY : status;
}

cal_status cal_device_plan_bring_positions(cal_device_plan* own, const cal_plan* plan) {
    const size_t q = (size_t)plan->model->q_count, v = (size_t)plan->model->v_count;
    if (own->positions) return CAL_OK;
    int32_t* positions = cal_device_take(own->device, &own->memory, (q + v) * sizeof *positions);
    if (!positions) return CAL_NO_MEMORY;
    cal_device_write(own->device, positions, plan->layout->q_position, q * sizeof *positions);
    cal_device_write(own->device, positions + q, plan->layout->v_position, v * sizeof *positions);
    own->positions = positions;
    return cal_device_wait(own->device);
}

static void copy_layout(cal_device_plan* own, const cal_layout* layout) {
    cal_device* device = own->device;
    cal_device_memory_list* memory = &own->memory;
    const size_t columns = (size_t)layout->column_count, blocks = (size_t)layout->block_count;
    cal_layout copy = *layout;
    copy.model = NULL;
    copy.block_nodes = copy.q_position = copy.v_position = copy.tau_position = NULL;
    cal_device_constants_create(own, layout, &copy);
    copy.parents =
        cal_device_copy(device, memory, layout->parents, (size_t)layout->parent_count * sizeof *copy.parents);
    copy.parent_columns = cal_device_copy(device, memory, layout->parent_columns,
                                          (size_t)layout->parent_count * sizeof *copy.parent_columns);
    copy.pulls = NULL;
    copy.block_y = cal_device_copy(device, memory, layout->block_y, (blocks + 1) * sizeof *copy.block_y);
    copy.block_v = cal_device_copy(device, memory, layout->block_v, (blocks + 1) * sizeof *copy.block_v);
    copy.passive = cal_device_copy(device, memory, layout->passive, 3 * layout->v_size * sizeof(double));
    copy.extras = cal_device_copy(device, memory, layout->extra_count > 0 ? layout->extras : NULL,
                                  (size_t)layout->extra_count * sizeof *copy.extras);
    copy.lane_extras = cal_device_copy(device, memory, layout->lane_extras,
                                       (columns * (size_t)layout->width + 1) * sizeof *copy.lane_extras);
    uint8_t* kinds = cal_allocate(blocks + 1, sizeof *kinds);
    for (size_t i = 0; kinds && i < columns; i++)
        for (int b = 0; b < layout->columns[i].block_count; b++)
            kinds[layout->columns[i].first_block + b] = (uint8_t)layout->columns[i].kind;
    own->work.block_kind = cal_device_copy(device, memory, kinds, (blocks + 1) * sizeof *kinds);
    (void)cal_device_wait(device); // `kinds` go
    if (!kinds) memory->failed = true;
    cal_free(kinds);
    own->work.layout = copy;
}

// Whether a column's way up, and its sums, can follow at once what goes down.
static bool is_limb(const cal_column* column) { return column->child_count == 0 && !column->is_long; }

// Whether a team's warps share what does not recur along a column (team_walks.h).
static bool has_team(const cal_column* column) {
    const int steps = column->is_long ? column->node_count : column->block_count;
    return column->kind == CAL_REVOLUTE && steps <= CAL_TEAM_STEPS;
}

// The levels that go down in one launch (work.h). One alone has nothing to wait for. order: of all columns.
static void find_descent(cal_device_plan* own, const cal_layout* layout, const int32_t* order) {
    int levels = 0, columns = 0;
    for (; levels < own->level_count; levels++) {
        const int first = own->level[levels], count = own->inner[levels];
        bool shared = count > 0 && columns + count <= cal_device_teams(own->device);
        for (int i = first; shared && i < first + count; i++) shared = has_team(&layout->columns[order[i]]);
        if (!shared) break;
        columns += count;
    }
    if (levels < 2 || !own->mechanics->descent) return;
    own->descent_levels = levels;
    own->work.descent_first = own->column_count + own->limb_count;
    own->work.descent_count = columns;
}

// Blocks, those of the descent first. order: as sort_columns has it.
static cal_status sort_blocks(cal_device_plan* own, const cal_layout* layout, const int32_t* order) {
    const size_t blocks = (size_t)layout->block_count;
    int32_t* sorted = cal_allocate(blocks + 1, sizeof *sorted);
    uint8_t* first = cal_allocate(blocks + 1, sizeof *first);
    const bool good = sorted && first;
    int count = 0;
    for (int i = 0; good && i < own->work.descent_count; i++) {
        const cal_column* column = &layout->columns[order[own->work.descent_first + i]];
        for (int b = column->first_block; b < column->first_block + column->block_count; b++)
            first[b] = 1, sorted[count++] = b;
    }
    own->descent_blocks = count;
    for (size_t b = 0; good && b < blocks; b++)
        if (!first[b]) sorted[count++] = (int32_t)b;
    if (good) own->work.blocks = cal_device_copy(own->device, &own->memory, sorted, (blocks + 1) * sizeof *sorted);
    const cal_status status = cal_device_wait(own->device); // they go
    cal_free(sorted);
    cal_free(first);
    return good ? status : CAL_NO_MEMORY;
}

// Columns sorted by level, in each those that are no limbs first; then all limbs again; then all others again.
static cal_status sort_columns(cal_device_plan* own, const cal_layout* layout) {
    const int columns = layout->column_count;
    int32_t *depth = cal_allocate((size_t)columns + 1, sizeof *depth),
            *order = cal_allocate(2 * (size_t)columns + 1, sizeof *order);
    cal_status status = depth && order ? CAL_OK : CAL_NO_MEMORY;
    if (!status) cal_layout_find_depths(layout, depth);
    for (int i = 0; !status && i < columns; i++)
        if (depth[i] >= own->level_count) own->level_count = depth[i] + 1;
    own->level = cal_allocate(2 * (size_t)own->level_count + 2, sizeof *own->level);
    if (!own->level) status = CAL_NO_MEMORY;
    if (!status) {
        own->inner = own->level + own->level_count + 1;
        // Twice as many places as levels: inner ones, then limbs.
        int32_t* next = cal_allocate(2 * (size_t)own->level_count + 1, sizeof *next);
        if (!next) status = CAL_NO_MEMORY;
        for (int i = 0; next && i < columns; i++) next[2 * depth[i] + (is_limb(&layout->columns[i])) + 1]++;
        for (int i = 0; next && i < own->level_count; i++) own->inner[i] = next[2 * i + 1];
        for (int i = 0; next && i < 2 * own->level_count; i++) next[i + 1] += next[i];
        for (int i = 0; next && i <= own->level_count; i++) own->level[i] = next[2 * i];
        for (int i = 0; next && i < columns; i++) order[next[2 * depth[i] + (is_limb(&layout->columns[i]))]++] = i;
        for (int i = 0; next && i < columns; i++)
            if (is_limb(&layout->columns[order[i]])) order[columns + own->limb_count++] = order[i];
        int end = columns + own->limb_count;
        for (int i = 0; next && i < columns; i++)
            if (!is_limb(&layout->columns[order[i]])) order[end++] = order[i];
        cal_free(next);
    }
    own->column_count = columns;
    if (!status && layout->copies == 1) find_descent(own, layout, order);
    if (!status) {
        own->work.order = cal_device_copy(own->device, &own->memory, order, (2 * (size_t)columns + 1) * sizeof *order);
        status = cal_device_wait(own->device);
    }
    if (!status) status = sort_blocks(own, layout, order);
    cal_free(depth);
    cal_free(order);
    return status;
}

// The levels whose sums one team adds up (work.h): a column for each of its warps.
enum { MOST_SUMMED = CAL_TEAM_WARPS };
static void find_sum_levels(cal_device_plan* own) {
    int* levels = &own->work.sum_levels;
    while (*levels < own->level_count && *levels < CAL_TRUNK_LEVELS && own->inner[*levels] <= MOST_SUMMED) {
        own->work.sum_first[*levels] = own->level[*levels];
        own->work.sum_count[*levels] = own->inner[*levels];
        ++*levels;
    }
}

// The levels of which one launch does all (work.h). One alone has nothing to wait for.
static void find_trunk(cal_device_plan* own) {
    int levels = 0;
    while (levels < own->level_count && levels < CAL_TRUNK_LEVELS) {
        const int columns = own->level[levels + 1] - own->level[levels], all = own->level[levels + 1] - own->level[0];
        if (all > CAL_TRUNK_TEAMS || own->inner[levels] < columns) break;
        levels++;
    }
    if (levels < 2 || !own->mechanics->trunk_turn || !cal_device_overlaps(own->device)) return;
    own->work.trunk_levels = levels;
    own->trunk_teams = own->level[levels] - own->level[0];
    for (int i = 0; i <= levels; i++) own->work.trunk[i] = own->level[i];
}

// The list of pulls that what a column's lane leaves is in: its parent's.
static size_t pull_list(const cal_layout* layout, int place) {
    const int width = layout->width, lane = place % width;
    const cal_column* column = &layout->columns[place / width];
    const int above = column->mixed ? layout->parent_columns[column->first_parent + lane] : column->parent;
    return (size_t)width * (size_t)(above + 1) + (size_t)column->parent_lane[lane];
}

// What every lane pulls (work.h), in the order of the tree: kind by kind, as siblings and columns on the ground are, node by node.
// head[node] is the column and lane that it begins, or -1.
static cal_status write_pulls(cal_device_plan* own, const cal_layout* layout, const int32_t* head, int32_t* first) {
    const size_t width = (size_t)layout->width, lists = ((size_t)layout->column_count + 1) * width;
    const int nodes = layout->model->node_count;
    // Counted two places on, so that the filling leaves every list's beginning where it belongs.
    for (int i = 0; i < nodes; i++)
        if (head[i] >= 0) first[pull_list(layout, head[i]) + 2]++;
    for (size_t i = 0; i + 1 < lists + 2; i++) first[i + 1] += first[i];
    uint32_t* pulls = cal_allocate((size_t)first[lists + 1] + 1, sizeof *pulls);
    if (!pulls) return CAL_NO_MEMORY;
    for (int kind = 0; kind <= CAL_FREE; kind++)
        for (int i = 0; i < nodes; i++)
            if (head[i] >= 0 && layout->model->nodes[i].kind == kind)
                pulls[first[pull_list(layout, head[i]) + 1]++] =
                    (uint32_t)(layout->columns[(size_t)head[i] / width].up_slot + (size_t)head[i] % width);
    own->work.first_pull = cal_device_copy(own->device, &own->memory, first, (lists + 1) * sizeof *first);
    own->work.ground_pulls = first[1];
    own->work.pulls = cal_device_copy(own->device, &own->memory, pulls, ((size_t)first[lists] + 1) * sizeof *pulls);
    const cal_status status = cal_device_wait(own->device);
    cal_free(pulls);
    return status;
}

static cal_status list_pulls(cal_device_plan* own, const cal_layout* layout, cal_error* error) {
    const size_t width = (size_t)layout->width, lists = ((size_t)layout->column_count + 1) * width;
    const int nodes = layout->model->node_count;
    if (layout->scratch_size > UINT32_MAX || (size_t)layout->column_count * width > INT32_MAX)
        return cal_fail(error, CAL_NOT_AVAILABLE,
                        "the model is too large for one device: its scratch memory has %zu numbers",
                        layout->scratch_size);
    int32_t *first = cal_allocate(lists + 2, sizeof *first), *head = cal_allocate((size_t)nodes, sizeof *head);
    cal_status status = first && head ? CAL_OK : CAL_NO_MEMORY;
    for (int i = 0; !status && i < nodes; i++) head[i] = -1;
    for (int c = 0; !status && c < layout->column_count; c++) {
        const cal_column* column = &layout->columns[c];
        for (int k = 0; k < column->pull_count; k++) {
            const int lane = column->pull_order[k];
            head[layout->block_nodes[(size_t)column->first_block * width + (size_t)lane]] =
                (int32_t)((size_t)c * width) + lane;
        }
    }
    if (!status) status = write_pulls(own, layout, head, first);
    cal_free(first);
    cal_free(head);
    return status;
}

static cal_status find_rows(cal_device_plan* own, const cal_layout* layout) {
    const int q_count = layout->model->q_count, v_count = layout->model->v_count, width = layout->width;
    own->rows = cal_allocate((size_t)q_count + 2 * (size_t)v_count + 1, sizeof *own->rows);
    if (!own->rows) return CAL_NO_MEMORY;
    for (int i = 0; i < q_count; i++) own->rows[i] = layout->q_position[i] / width;
    for (int i = 0; i < v_count; i++) own->rows[q_count + i] = layout->v_position[i] / width;
    for (int i = 0; i < v_count; i++) own->rows[q_count + v_count + i] = layout->tau_position[i] / width;
    return CAL_OK;
}

cal_status cal_device_plan_create(cal_device* device, const cal_plan* plan, cal_device_plan** out, cal_error* error) {
    const cal_layout* layout = plan->layout;
    cal_device_plan* own = *out = cal_allocate(1, sizeof *own);
    if (!own) return cal_fail(error, CAL_NO_MEMORY, "no memory for a plan");
    own->device = device;
    own->mechanics = plan->arrangement ? &cal_device_assembly : &cal_device_aba;
    copy_layout(own, layout);
    copy_model(own, plan->model);
    const int steps = plan->columns.first_step[1];
    own->work.walk_length = steps;
    own->work.steps = cal_device_copy(device, &own->memory, plan->columns.steps, (size_t)steps * sizeof(cal_step));
    cal_status status = sort_columns(own, layout);
    if (!status && layout->copies == 1) {
        find_trunk(own);
        find_sum_levels(own);
    }
    if (!status && layout->copies == 1) status = list_pulls(own, layout, error);
    if (!status) status = find_rows(own, layout);
    if (!status && plan->arrangement) status = cal_device_schedule_create(own, plan);
    if (!status) status = cal_device_wait(device);
    if (!status && own->memory.failed) status = CAL_NO_MEMORY;
    if (!status) return CAL_OK;
    cal_device_plan_destroy(own);
    *out = NULL;
    return cal_fail(error, status, "the device cannot hold a plan of %d joints: %s", plan->model->joint_count,
                    cal_status_text(status));
}

void cal_device_plan_destroy(cal_device_plan* own) {
    if (!own) return;
    cal_device_give_back(own->device, &own->memory);
    cal_device_schedule_destroy(own->schedule);
    cal_free(own->level);
    cal_free(own->rows);
    cal_free(own->model);
    cal_free(own);
}
