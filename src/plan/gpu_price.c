// What forward dynamics costs on a GPU, without one: kernels by level as src/cuda/cuda.c issues them, each with its bytes, its operations and the
// joints that follow each other in it.
//
//   time = ∑ over kernels (launch + longest column · joint + most children · child + the larger of bytes / bandwidth and operations / peak)
//
// Waiting and moving are added, since a kernel begins and ends with joints whose memory nobody hides; the joint's time is of all three
// passes, so that it is counted once per level, and once for the limbs of all levels. Where a level has few columns, teams of warps share what does not recur along them
// (src/cuda/team_walks.h), which leaves RECURS of a joint's time; a long column has all of its numbers near, and one whose lanes have
// parents of their own waits for where these are. Many instances are one kernel,
// in which a thread goes along all joints.
//
// Bytes are those of whole blocks of 32 lanes, dead ones too: what passes read and write of a joint but its constants; constants once,
// since equal columns share them; what columns leave for each other; and the scratch of columns that have children, which goes out of the
// cache between the way down and the way up. That of others, and of instances, which go down and up at once, does not.
#include "plan/gpu_price.h"
#include "base/error.h"
#include "base/memory.h"
#include <math.h>

enum { WIDTH = CAL_GPU_WIDTH };
enum { TEAMS = 264, TEAM_LENGTH = 16 }; // as many columns have teams at most, and so many steps (src/cuda/kernel.h)
static const double RECURS = 0.39;      // 1.04 of 2.64 µs, from mobile:s=3,l=15,o=9 beside s=3,l=8,o=12 on an H200
static const uint32_t COOKIE = 0x47505531;

// One H200, as bench/results/README.md says.
cal_gpu_def cal_default_gpu_def(void) {
    return (cal_gpu_def){.bandwidth = 3.9e12,
                         .peak = 33e12,
                         .launch = 2.6e-6,
                         .trip = 11e-6,
                         .joint = 2.64e-6,
                         .child = 0.096e-6,
                         .cookie = COOKIE};
}

double cal_gpu_recurs(void) { return RECURS; }

cal_status cal_gpu_check(const cal_model* model, int instances, const cal_gpu_def* gpu, cal_error* error) {
    if (!model || !gpu) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_price_gpu: model and gpu must not be NULL");
    if (gpu->cookie != COOKIE)
        return cal_fail(error, CAL_BAD_ARGUMENT, "the GPU's definition must come from cal_default_gpu_def()");
    if (instances < 1)
        return cal_fail(error, CAL_BAD_ARGUMENT, "a GPU is priced for at least one instance, not %d", instances);
    if (!(gpu->bandwidth > 0.0 && gpu->peak > 0.0 && gpu->launch >= 0.0 && gpu->trip >= 0.0 && gpu->joint >= 0.0 &&
          gpu->child >= 0.0 &&
          isfinite(gpu->bandwidth + gpu->peak + gpu->launch + gpu->trip + gpu->joint + gpu->child)))
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "a GPU's bandwidth and peak must be above 0, and its times 0 or more, all of them finite");
    return CAL_OK;
}

// Bytes and operations of a joint in all passes of the algorithm, without its constants.
static void find_costs(const cal_program* program, int constant_passes, double* bytes, double* flops) {
    *bytes = -8.0 * CAL_CONSTANT_COUNT * constant_passes;
    *flops = 0.0;
    for (int i = 0; i < program->pass_count; i++) {
        if (program->passes[i].for_solver) continue;
        *bytes += program->passes[i].cost.bytes;
        *flops += program->passes[i].cost.flops;
    }
}

void cal_gpu_add_columns(const cal_layout* layout, const cal_program* program, int constant_passes,
                         cal_gpu_price* out) {
    double bytes, flops, constants = 0.0, numbers = 0.0;
    find_costs(program, constant_passes, &bytes, &flops);
    for (int i = 0; i < layout->column_count; i++) {
        const cal_column* column = &layout->columns[i];
        const double blocks = column->block_count;
        const bool limb = column->child_count == 0 && !column->is_long;
        // Left by it and pulled; left by its parent and read; left for its children.
        numbers += 2.0 * CAL_UP_COUNT + CAL_DOWN_COUNT + (limb ? 0.0 : CAL_DOWN_COUNT);
        if (!limb && layout->copies == 1) numbers += 2.0 * CAL_SCRATCH_COUNT * blocks;
        constants = fmax(constants, (double)column->constants + CAL_CONSTANT_COUNT * WIDTH * blocks);
    }
    if (layout->copies > 1) constants = 0.0; // of one instance, for all
    const double lanes = (double)layout->block_count * WIDTH;
    out->bytes = bytes * lanes + 8.0 * (WIDTH * numbers + constants);
    out->operations = flops * lanes;
    out->filled = lanes > 0.0 ? (double)layout->copies * layout->model->node_count / lanes : 1.0;
}

static double wait_for(const cal_gpu_level* own, const cal_gpu_def* gpu) {
    const bool teams = own->shared && own->columns <= TEAMS;
    return own->longest * gpu->joint * (teams ? RECURS : 1.0) + own->children * gpu->child;
}

// How many children the lane above one has, with this one.
static int32_t count_child(const cal_layout* layout, const cal_column* column, int lane, int32_t* children) {
    const int above = column->mixed ? layout->parent_columns[column->first_parent + lane] : column->parent;
    return above < 0 ? 0 : ++children[(size_t)above * WIDTH + (size_t)column->parent_lane[lane]];
}

cal_gpu_level* cal_gpu_find_levels(const cal_layout* layout, int* count, cal_gpu_level* limbs) {
    const size_t columns = (size_t)layout->column_count;
    int32_t *depth = cal_allocate(columns + 1, sizeof *depth),
            *children = cal_allocate(columns * WIDTH + 1, sizeof *children);
    cal_gpu_level* levels = cal_allocate(columns + 1, sizeof *levels);
    *count = 0;
    const bool good = depth && children && levels;
    if (good) cal_layout_find_depths(layout, depth);
    for (size_t i = 0; good && i < columns; i++) {
        const cal_column* column = &layout->columns[i];
        const int32_t length = column->is_long ? column->node_count : column->block_count;
        const bool limb = column->child_count == 0 && !column->is_long;
        cal_gpu_level *own = &levels[depth[i]], *walked = limb && limbs ? limbs : own;
        walked->shared = (walked->shared || walked->columns == 0) && column->kind == CAL_REVOLUTE && !column->mixed &&
                         (column->is_long || length <= TEAM_LENGTH);
        if (limb && !limbs)
            own->limbs++;
        else
            walked->columns++;
        if (length > walked->longest) walked->longest = length;
        for (int k = 0; k < column->pull_count; k++) {
            const int32_t siblings = count_child(layout, column, column->pull_order[k], children);
            if (siblings > own->children) own->children = siblings;
        }
        if (depth[i] >= *count) *count = depth[i] + 1;
    }
    cal_free(depth);
    cal_free(children);
    if (good) return levels;
    cal_free(levels);
    return NULL;
}

// Kernels of columns with children, level by level. Where the first levels are one launch down, or up and down again, what a level waits for there,
// its team and the one above, takes as long.
static int count_launches(const cal_gpu_level* levels, int count) {
    int launches = 0;
    for (int i = 0; i < count; i++) launches += levels[i].columns > 0 ? CAL_GPU_PASSES : 0;
    return launches;
}

cal_status cal_gpu_layout(const cal_model* model, int copies, cal_layout** out, cal_error* error) {
    const cal_layout_def def = {.model = model,
                                .width = WIDTH,
                                .copies = copies,
                                .processors = 1,
                                .keep = CAL_KEEP_ALL,
                                .constants = true,
                                .by_lane = true,
                                .mixes = copies == 1,
                                .lasting = copies == 1};
    *out = NULL;
    return cal_layout_create(&def, out, error);
}

static cal_status price_layout(const cal_model* model, int copies, const cal_gpu_def* gpu, cal_gpu_price* out,
                               cal_error* error) {
    cal_layout* layout;
    cal_status status = cal_gpu_layout(model, copies, &layout, error);
    if (status) return status;
    cal_gpu_add_columns(layout, &cal_program_aba, 1, out);
    cal_gpu_level limbs = {0};
    cal_gpu_level* levels = cal_gpu_find_levels(layout, &out->levels, &limbs);
    if (!levels) status = cal_fail(error, CAL_NO_MEMORY, "no memory for pricing %d joints", model->joint_count);
    for (int i = 0; levels && i < out->levels; i++) out->waiting += wait_for(&levels[i], gpu);
    out->waiting += wait_for(&limbs, gpu);
    // Limbs of all levels go at once, down and up again, and so do their accelerations.
    if (levels) out->launches = count_launches(levels, out->levels) + (limbs.columns > 0 ? 2 : 0);
    cal_free(levels);
    cal_layout_destroy(layout);
    return status;
}

void cal_gpu_add_up(const cal_gpu_def* gpu, cal_gpu_price* out) {
    out->moving = out->bytes / gpu->bandwidth;
    out->computing = fmax(0.0, out->operations / gpu->peak - out->moving);
    out->launching = out->launches * gpu->launch;
    out->seconds = out->moving + out->computing + out->waiting + out->launching;
}

cal_status cal_price_gpu(const cal_model* model, int instances, const cal_gpu_def* gpu, cal_gpu_price* out,
                         cal_error* error) {
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_price_gpu: out must not be NULL");
    *out = (cal_gpu_price){.filled = 1.0};
    cal_status status = cal_gpu_check(model, instances, gpu, error);
    if (status) return status;
    status = price_layout(model, instances == 1 ? 1 : WIDTH, gpu, out, error);
    if (instances > 1) {
        const double groups = ceil((double)instances / WIDTH);
        out->levels = out->launches = 1;
        out->waiting = model->node_count * gpu->joint;
        out->bytes *= groups;
        out->operations *= groups;
        out->filled = instances / (WIDTH * groups);
    }
    cal_gpu_add_up(gpu, out);
    return status;
}
