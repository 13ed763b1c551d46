// What forward dynamics costs on a GPU, without one: kernels by level as src/cuda issues them, each with its bytes, its operations and the
// joints that follow each other in it.
//
//   time = ∑ over kernels (launch + longest column · joint + the larger of bytes / bandwidth and operations / peak)
//
// Waiting and moving are added, since a kernel begins and ends with joints whose memory nobody hides; the joint's time is of all three
// passes, so that it is counted once per level. Many instances are one kernel, in which a thread goes along all joints.
#include "base/error.h"
#include "base/memory.h"
#include "layout/layout.h"
#include "pass/pass.h"
#include <math.h>

enum { WIDTH = 32, PASSES = 3 }; // kernels per level: down, up, down again
static const uint32_t COOKIE = 0x47505531;

// One H200, as bench/results/README.md says.
cal_gpu_def cal_default_gpu_def(void) {
    return (cal_gpu_def){
        .bandwidth = 3.9e12, .peak = 33e12, .launch = 0.57e-6, .trip = 11e-6, .joint = 2.9e-6, .cookie = COOKIE};
}

static cal_status check(const cal_model* model, int instances, const cal_gpu_def* gpu, cal_error* error) {
    if (!model || !gpu) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_price_gpu: model and gpu must not be NULL");
    if (gpu->cookie != COOKIE)
        return cal_fail(error, CAL_BAD_ARGUMENT, "the GPU's definition must come from cal_default_gpu_def()");
    if (instances < 1)
        return cal_fail(error, CAL_BAD_ARGUMENT, "a GPU is priced for at least one instance, not %d", instances);
    if (!(gpu->bandwidth > 0.0 && gpu->peak > 0.0 && gpu->launch >= 0.0 && gpu->trip >= 0.0 && gpu->joint >= 0.0 &&
          isfinite(gpu->bandwidth + gpu->peak + gpu->launch + gpu->trip + gpu->joint)))
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "a GPU's bandwidth and peak must be above 0, and its times 0 or more, all of them finite");
    return CAL_OK;
}

// Bytes and operations of a degree of freedom in all passes of the algorithm.
static void find_costs(double* bytes, double* flops) {
    *bytes = *flops = 0.0;
    for (int i = 0; i < cal_program_aba.pass_count; i++) {
        if (cal_program_aba.passes[i].for_solver) continue;
        *bytes += cal_program_aba.passes[i].cost.bytes;
        *flops += cal_program_aba.passes[i].cost.flops;
    }
}

// The longest column of each level, in blocks (or, of a long one, in joints), and how many levels there are.
static int32_t* find_levels(const cal_layout* layout, int* count) {
    const size_t columns = (size_t)layout->column_count;
    int32_t *depth = cal_allocate(columns + 1, sizeof *depth), *longest = cal_allocate(columns + 1, sizeof *longest);
    *count = 0;
    for (size_t i = 0; depth && longest && i < columns; i++) {
        const cal_column* column = &layout->columns[i];
        const int32_t length = column->is_long ? column->node_count : column->block_count;
        depth[i] = column->parent < 0 ? 0 : depth[column->parent] + 1;
        if (length > longest[depth[i]]) longest[depth[i]] = length;
        if (depth[i] >= *count) *count = depth[i] + 1;
    }
    const bool good = depth && longest;
    cal_free(depth);
    if (good) return longest;
    cal_free(longest);
    return NULL;
}

static cal_status price_model(const cal_model* model, const cal_gpu_def* gpu, cal_gpu_price* out, cal_error* error) {
    const cal_layout_def def = {.model = model,
                                .width = WIDTH,
                                .copies = 1,
                                .processors = 1,
                                .keep = CAL_KEEP_ALL,
                                .by_lane = true,
                                .lasting = true};
    cal_layout* layout = NULL;
    cal_status status = cal_layout_create(&def, &layout, error);
    if (status) return status;
    int32_t* longest = find_levels(layout, &out->levels);
    if (!longest) status = cal_fail(error, CAL_NO_MEMORY, "no memory for pricing %d joints", model->joint_count);
    for (int i = 0; longest && i < out->levels; i++) out->waiting += longest[i] * gpu->joint;
    // The last level goes down and up in one kernel.
    out->launches = PASSES * out->levels - (out->levels > 0 ? 1 : 0);
    const double lanes = (double)layout->block_count * WIDTH;
    out->filled = lanes > 0.0 ? model->node_count / lanes : 1.0;
    cal_free(longest);
    cal_layout_destroy(layout);
    return status;
}

cal_status cal_price_gpu(const cal_model* model, int instances, const cal_gpu_def* gpu, cal_gpu_price* out,
                         cal_error* error) {
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_price_gpu: out must not be NULL");
    *out = (cal_gpu_price){.filled = 1.0};
    cal_status status = check(model, instances, gpu, error);
    if (status) return status;
    double bytes, flops;
    find_costs(&bytes, &flops);
    out->bytes = bytes * model->v_count * instances;
    out->operations = flops * model->v_count * instances;
    if (instances == 1)
        status = price_model(model, gpu, out, error);
    else {
        out->levels = out->launches = 1;
        out->waiting = model->node_count * gpu->joint;
        out->filled = instances / ((double)WIDTH * ceil((double)instances / WIDTH));
    }
    out->moving = out->bytes / gpu->bandwidth;
    out->computing = fmax(0.0, out->operations / gpu->peak - out->moving);
    out->launching = out->launches * gpu->launch;
    out->seconds = out->moving + out->computing + out->waiting + out->launching;
    return status;
}
