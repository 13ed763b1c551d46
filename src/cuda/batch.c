// Many instances in a device's memory (plan/machine_ops.h): groups of 32, a thread per instance, one launch for the solver's
// preparation, one for both walks, one for its follow-up. The host sends what an evaluation needs and does not wait for it.
#include "base/error.h"
#include "base/memory.h"
#include "cuda/device_plan.h"
#include <string.h>

struct cal_batch {
    cal_device* device;
    const cal_plan* plan;
    cal_device_memory_list memory;
    cal_device_work work;
    size_t y_size, v_size, control_size; // doubles of all groups
    int groups, vector_count;
    uint8_t* chosen;
    void* control;
};

enum { CONTROL_BYTES = 256 }; // of fixed steps' control

static void destroy(cal_batch* batch) {
    if (!batch) return;
    (void)cal_device_wait(batch->device);
    cal_device_give_back(batch->device, &batch->memory);
    cal_free(batch);
}

// The ground's slots, at the bottom of every group's stack.
static bool fill_ground(cal_batch* batch, const cal_state* state) {
    const size_t stride = batch->work.scratch_stride;
    for (int g = 0; g < batch->groups; g++)
        cal_device_write(batch->device, batch->work.context.scratch + (size_t)g * stride, state->context.scratch,
                         CAL_DOWN_COUNT * sizeof(double));
    return cal_device_wait(batch->device) == CAL_OK;
}

static double* take(cal_batch* batch, size_t doubles) {
    return cal_device_take(batch->device, &batch->memory, doubles * sizeof(double));
}

static cal_status create(cal_machine* machine, const cal_plan* plan, int groups, int vectors, cal_batch** out,
                         cal_error* error) {
    const cal_layout* layout = plan->layout;
    cal_batch* batch = *out = cal_allocate(1, sizeof *batch);
    if (!batch) return cal_fail(error, CAL_NO_MEMORY, "no memory for a batch");
    cal_device_work* work = &batch->work;
    const size_t count = (size_t)groups;
    batch->device = ((cal_cuda_machine*)machine)->device;
    batch->plan = plan;
    batch->groups = groups;
    batch->vector_count = vectors;
    *work = plan->on_device->work;
    work->groups = groups;
    work->y_stride = layout->y_size;
    work->v_stride = layout->v_size;
    work->control_stride = (size_t)layout->copies * (size_t)plan->model->actuator_count;
    work->record_stride = plan->record_size;
    work->scratch_stride = layout->scratch_size;
    batch->y_size = count * work->y_stride;
    batch->v_size = count * work->v_stride;
    batch->control_size = count * work->control_stride;
    cal_context* context = &work->context;
    context->y = take(batch, batch->y_size);
    context->ydot = take(batch, batch->y_size);
    context->tau = take(batch, batch->v_size);
    context->force = cal_model_has_joint_forces(plan->model) ? take(batch, batch->v_size) : context->tau;
    context->control = take(batch, batch->control_size);
    context->records = take(batch, count * work->record_stride);
    context->scratch = take(batch, count * work->scratch_stride);
    for (int i = 0; i < vectors && i < CAL_DEVICE_VECTORS; i++) work->vectors[i] = take(batch, batch->y_size);
    batch->chosen = cal_device_take(batch->device, &batch->memory, count * CAL_DEVICE_LANES);
    batch->control = cal_device_take(batch->device, &batch->memory, CONTROL_BYTES);
    work->control = batch->control;
    cal_state* state = NULL;
    bool good = !batch->memory.failed && cal_state_create(plan, &state) == CAL_OK;
    good = good && fill_ground(batch, state);
    cal_state_destroy(state);
    if (good) return CAL_OK;
    destroy(batch);
    *out = NULL;
    return cal_fail(error, CAL_NO_MEMORY, "the device has no memory for %d instances of %d bodies",
                    groups * CAL_DEVICE_LANES, plan->model->body_count);
}

static double* address(cal_batch* batch, int vector) {
    const cal_context* context = &batch->work.context;
    switch (vector) {
    case CAL_BATCH_TAU: return context->tau;
    case CAL_BATCH_CONTROL: return context->control;
    case CAL_BATCH_YDOT: return context->ydot;
    case CAL_BATCH_Y: return context->y;
    default: return vector >= 0 && vector < batch->vector_count ? batch->work.vectors[vector] : NULL;
    }
}

static size_t size_of(const cal_batch* batch, int vector) {
    const size_t doubles = vector == CAL_BATCH_TAU       ? batch->v_size
                           : vector == CAL_BATCH_CONTROL ? batch->control_size
                                                         : batch->y_size;
    return doubles * sizeof(double);
}

static cal_status write(cal_batch* batch, int vector, const double* values) {
    cal_device_write(batch->device, address(batch, vector), values, size_of(batch, vector));
    return cal_device_wait(batch->device);
}

static cal_status read(cal_batch* batch, int vector, double* values) {
    cal_device_read(batch->device, values, address(batch, vector), size_of(batch, vector));
    return cal_device_wait(batch->device);
}

static cal_status choose(cal_batch* batch, const uint8_t* chosen) {
    batch->work.chosen = chosen ? batch->chosen : NULL;
    if (chosen) cal_device_write(batch->device, batch->chosen, chosen, (size_t)batch->groups * CAL_DEVICE_LANES);
    return CAL_OK;
}

static cal_status evaluate(cal_batch* batch, const cal_solver_ops* ops, const double* down) {
    const cal_device_solver* solver = ops ? cal_device_find_solver(ops) : NULL;
    const cal_context* context = &batch->work.context;
    const int parts = batch->groups * batch->plan->layout->column_count;
    if (ops && (!solver || ops->vector_count > batch->vector_count)) return CAL_NOT_AVAILABLE;
    double* const y = context->y;
    if (!ops) batch->work.context.y = batch->work.vectors[0];
    if (solver) {
        memcpy(batch->work.numbers, down, (size_t)ops->down_count * sizeof(double)); // travels with the kernels
        solver->batch_prepare(batch->device, &batch->work, parts);
    }
    if (context->force != context->tau) cal_device_aba.batch_forces(batch->device, &batch->work, parts);
    cal_device_aba.batch_walk(batch->device, &batch->work, batch->groups);
    if (solver) solver->batch_follow(batch->device, &batch->work, parts);
    batch->work.context.y = y;
    return CAL_OK;
}

static cal_status wait(cal_batch* batch) { return cal_device_wait(batch->device); }

static cal_status interpolate(cal_batch* batch, const cal_solver_ops* ops, const void* control, double time) {
    const cal_device_solver* solver = cal_device_find_solver(ops);
    if (!solver || ops->control_size > CONTROL_BYTES) return CAL_NOT_AVAILABLE;
    cal_device_write(batch->device, batch->control, control, ops->control_size);
    batch->work.time = time;
    solver->batch_interpolate(batch->device, &batch->work, batch->groups * batch->plan->layout->column_count);
    return CAL_OK;
}

const cal_batch_ops cal_cuda_batch = {.create = create,
                                      .destroy = destroy,
                                      .write = write,
                                      .read = read,
                                      .address = address,
                                      .choose = choose,
                                      .evaluate = evaluate,
                                      .wait = wait,
                                      .interpolate = interpolate};
