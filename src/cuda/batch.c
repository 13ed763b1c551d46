// Many instances in a device's memory (plan/machine_ops.h): groups of 32, a thread per instance, one launch for the solver's
// preparation, one for both walks; where instances have steps of their own, one for its follow-up and one for control. The host
// sends what an evaluation needs and does not wait for it.
#include "base/error.h"
#include "base/memory.h"
#include "cuda/device_held.h"
#include "pass/aba.h"
#include "solver/vectors.h"
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
    const cal_solver_ops* steered; // whose clocks are here; NULL: there are none
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

// What begins: a clock, control's memory, and what that sends down.
static size_t beginning_size(const cal_device_work* work) {
    return sizeof(cal_batch_clock) + work->control_bytes + CAL_MAX_DOWN * sizeof(double);
}

static void take_clocks(cal_batch* batch, const cal_solver_ops* ops) {
    cal_device_work* work = &batch->work;
    const size_t instances = (size_t)batch->groups * CAL_DEVICE_LANES;
    batch->steered = ops;
    work->control_bytes = (ops->control_size + sizeof(double) - 1) / sizeof(double) * sizeof(double);
    work->clocks = cal_device_take(batch->device, &batch->memory, instances * sizeof *work->clocks);
    work->controls = cal_device_take(batch->device, &batch->memory, instances * work->control_bytes);
    work->downs = take(batch, instances * CAL_MAX_DOWN);
    work->sums = take(batch, instances * CAL_MAX_SUMS);
    work->begins = cal_device_take(batch->device, &batch->memory, beginning_size(work));
    work->moving = cal_device_take(batch->device, &batch->memory, sizeof *work->moving);
    work->moves = batch->chosen;
}

static cal_status create(cal_machine* machine, const cal_plan* plan, int groups, int vectors,
                         const cal_solver_ops* steered, cal_batch** out, cal_error* error) {
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
    work->rates = true;
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
    if (steered) take_clocks(batch, steered);
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

// Joint forces, and forward dynamics.
static void walk(cal_batch* batch, const cal_device_work* work) {
    const int parts = batch->groups * batch->plan->layout->column_count;
    if (work->context.force != work->context.tau) cal_device_aba.batch_forces(batch->device, work, parts);
    cal_device_aba.batch_walk(batch->device, work, batch->groups);
}

// With constraints: all in one launch (loops.cu).
static cal_status evaluate_held(cal_batch* batch, const cal_solver_ops* ops, const double* down, double time,
                                double accepted) {
    const cal_device_solver* solver = ops ? cal_device_find_solver(ops) : NULL;
    if (!solver || !solver->batch_held || ops->vector_count > batch->vector_count) return CAL_NOT_AVAILABLE;
    cal_device_work work = batch->work;
    memcpy(work.numbers, down, (size_t)ops->down_count * sizeof(double));
    work.time = time;
    work.accepted = accepted;
    solver->batch_held(batch->device, &work, batch->groups);
    return CAL_OK;
}

// Fixed steps: the state is evaluated where it is, and the derivative goes where it is kept; at stages between two states rates of
// positions are not (batch_steps.cu).
static cal_status evaluate(cal_batch* batch, const cal_solver_ops* ops, const double* down, double time,
                           double accepted) {
    if (batch->work.held) return evaluate_held(batch, ops, down, time, accepted);
    const cal_device_solver* solver = ops ? cal_device_find_solver(ops) : NULL;
    if (ops && (!solver || !solver->batch_step || ops->vector_count > batch->vector_count)) return CAL_NOT_AVAILABLE;
    cal_device_work work = batch->work;
    const int kept = ops ? ops->derivative(down) : -1;
    const bool between = ops && kept != CAL_ONE_STEP_F;
    work.downs = NULL;                                                             // one `down` is everybody's
    if (ops) memcpy(work.numbers, down, (size_t)ops->down_count * sizeof(double)); // travels with the kernels
    if (solver) solver->batch_step(batch->device, &work, batch->groups);
    if (!between) work.context.y = work.vectors[CAL_ONE_STEP_Y];
    if (ops) work.context.ydot = work.vectors[kept];
    work.rates = !between;
    walk(batch, &work);
    return CAL_OK;
}

// --- Constraints -------------------------------------------------------------------------------------------------------

// Nodes of lanes, each as that of its own instance.
static cal_status bring_nodes(cal_batch* batch) {
    const cal_layout* layout = batch->plan->layout;
    const size_t lanes = (size_t)layout->block_count * (size_t)layout->width;
    int32_t* nodes = cal_allocate(lanes + 1, sizeof *nodes);
    if (!nodes) return CAL_NO_MEMORY;
    for (size_t i = 0; i < lanes; i++) nodes[i] = layout->block_nodes[i] % layout->model->node_count; // −1 stays
    batch->work.layout.block_nodes = cal_device_copy(batch->device, &batch->memory, nodes, lanes * sizeof *nodes);
    const cal_status status = cal_device_wait(batch->device); // they go
    cal_free(nodes);
    return status;
}

static cal_status hold(cal_batch* batch, const struct cal_constraints* set, const struct cal_closing* closing,
                       cal_error* error) {
    cal_device_plan* plan = batch->plan->on_device;
    const cal_layout* layout = batch->plan->layout;
    cal_device_work* work = &batch->work;
    cal_status status = cal_device_plan_bring_positions(plan, batch->plan);
    if (!status) status = bring_nodes(batch);
    const size_t responses = (size_t)layout->block_count * CAL_ABA_RESPONSE * CAL_DEVICE_LANES;
    const cal_held_image image = {.closing = *closing,
                                  .places = plan->positions,
                                  .responses = take(batch, responses * (size_t)batch->groups),
                                  .response_stride = responses};
    if (!status && batch->memory.failed) status = CAL_NO_MEMORY;
    if (!status) status = cal_device_held_create(batch->device, &batch->memory, work, set, &image);
    work->left_stride = CAL_LEFT_PLACE + (size_t)batch->plan->model->q_count + cal_directions_size(set);
    work->out = take(batch, (size_t)batch->groups * CAL_DEVICE_LANES * work->left_stride); // more than ends need
    if (!status && batch->memory.failed) status = CAL_NO_MEMORY;
    if (!status) cal_device_held_make(batch->device, work, batch->groups);
    if (!status) status = cal_device_wait(batch->device);
    return status ? cal_fail(error, status, "the device has no memory for the constraints of %d instances",
                             batch->groups * CAL_DEVICE_LANES)
                  : CAL_OK;
}

static cal_status begin_held(cal_batch* batch, double time) {
    cal_device_work work = batch->work;
    work.time = time;
    cal_device_held_begin(batch->device, &work, batch->groups);
    return CAL_OK;
}

static cal_status close_held(cal_batch* batch, double time) {
    cal_device_work work = batch->work;
    work.time = time;
    cal_device_held_close(batch->device, &work, batch->groups);
    return CAL_OK;
}

static cal_status read_ends(cal_batch* batch, cal_batch_end* ends) {
    const size_t instances = (size_t)batch->groups * CAL_DEVICE_LANES;
    cal_device_held_ends(batch->device, &batch->work, batch->groups);
    cal_device_read(batch->device, ends, batch->work.out, instances * sizeof *ends);
    return cal_device_wait(batch->device);
}

static size_t left_bytes(const cal_batch* batch) {
    return (size_t)batch->groups * CAL_DEVICE_LANES * batch->work.left_stride * sizeof(double);
}

static cal_status read_held(cal_batch* batch, double* numbers) {
    cal_device_held_leave(batch->device, &batch->work, batch->groups);
    cal_device_read(batch->device, numbers, batch->work.out, left_bytes(batch));
    return cal_device_wait(batch->device);
}

static cal_status write_held(cal_batch* batch, const double* numbers) {
    cal_device_write(batch->device, batch->work.out, numbers, left_bytes(batch));
    cal_device_held_take(batch->device, &batch->work, batch->groups);
    return cal_device_wait(batch->device);
}

// --- Steps of their own ------------------------------------------------------------------------------------------------

static bool steers(const cal_solver_ops* ops) {
    const cal_device_solver* solver = ops ? cal_device_find_solver(ops) : NULL;
    return solver && solver->batch_steer;
}

static void settle(cal_device_work* work, const cal_solver_settings* settings) {
    work->relative = settings->relative;
    work->absolute = settings->absolute;
    work->horizon = settings->horizon;
}

static cal_status begin(cal_batch* batch, const cal_solver_settings* settings, double time) {
    cal_device_work* work = &batch->work;
    const cal_solver_ops* ops = batch->steered;
    if (!ops) return CAL_NOT_AVAILABLE;
    char* beginning = cal_allocate(beginning_size(work), 1);
    if (!beginning) return CAL_NO_MEMORY;
    cal_batch_clock* clock = (cal_batch_clock*)(void*)beginning;
    char* control = beginning + sizeof *clock;
    clock->headway.reached = time;
    ops->start(control, settings, time, (double*)(void*)(control + work->control_bytes), &clock->decision);
    settle(work, settings);
    cal_device_write(batch->device, (char*)work->begins, beginning, beginning_size(work));
    cal_device_find_solver(ops)->batch_begin(batch->device, work, batch->groups);
    const cal_status status = cal_device_wait(batch->device);
    cal_free(beginning);
    return status;
}

// An evaluation of those that move, and control of each.
static void advance_once(cal_batch* batch) {
    const cal_device_solver* solver = cal_device_find_solver(batch->steered);
    const int groups = batch->groups, parts = groups * batch->plan->layout->column_count;
    solver->batch_prepare(batch->device, &batch->work, parts);
    if (batch->work.held)
        cal_device_held_steered(batch->device, &batch->work, groups);
    else
        walk(batch, &batch->work);
    solver->batch_sums(batch->device, &batch->work, groups);
    solver->batch_steer(batch->device, &batch->work, groups);
    if (!batch->work.held) return;
    cal_device_work work = batch->work;
    work.chosen = NULL; // those that have arrived, too
    work.at_ends = true;
    if (!batch->steered->keeps_end) solver->batch_interpolate(batch->device, &work, parts);
    (batch->steered->keeps_end ? cal_device_held_close_kept : cal_device_held_close_sampled)(batch->device, &work,
                                                                                             groups);
}

// Rounds are asked for without waiting; whether some instance still moves is looked at now and then, each time after more of them.
static cal_status advance(cal_batch* batch, double time) {
    enum { FIRST_ROUNDS = 4, MOST_ROUNDS = 32 };
    const int32_t none = 0;
    int32_t moving = 1;
    if (!batch->steered || !batch->work.chosen) return CAL_BAD_ARGUMENT; // kernels say there who moves no more
    batch->work.time = time;
    for (int rounds = FIRST_ROUNDS; moving; rounds = rounds < MOST_ROUNDS ? 2 * rounds : rounds) {
        for (int i = 0; i < rounds; i++) {
            if (i == rounds - 1) cal_device_write(batch->device, batch->work.moving, &none, sizeof none);
            advance_once(batch);
        }
        cal_device_read(batch->device, &moving, batch->work.moving, sizeof moving);
        const cal_status status = cal_device_wait(batch->device);
        if (status) return status;
    }
    return CAL_OK;
}

static cal_status read_clocks(cal_batch* batch, cal_batch_clock* clocks) {
    const size_t instances = (size_t)batch->groups * CAL_DEVICE_LANES;
    if (!batch->steered) return CAL_BAD_ARGUMENT;
    cal_device_read(batch->device, clocks, batch->work.clocks, instances * sizeof *clocks);
    return cal_device_wait(batch->device);
}

static cal_status read_steps(cal_batch* batch, cal_batch_clock* clocks, double* controls, double* downs) {
    const size_t instances = (size_t)batch->groups * CAL_DEVICE_LANES;
    if (!batch->steered) return CAL_BAD_ARGUMENT;
    cal_device_read(batch->device, controls, batch->work.controls, instances * batch->work.control_bytes);
    cal_device_read(batch->device, downs, batch->work.downs, instances * CAL_MAX_DOWN * sizeof *downs);
    return read_clocks(batch, clocks);
}

static cal_status write_steps(cal_batch* batch, const cal_solver_settings* settings, const cal_batch_clock* clocks,
                              const double* controls, const double* downs) {
    cal_device_work* work = &batch->work;
    const size_t instances = (size_t)batch->groups * CAL_DEVICE_LANES;
    if (!batch->steered) return CAL_BAD_ARGUMENT;
    settle(work, settings);
    cal_device_write(batch->device, work->clocks, clocks, instances * sizeof *clocks);
    cal_device_write(batch->device, work->controls, controls, instances * work->control_bytes);
    cal_device_write(batch->device, work->downs, downs, instances * CAL_MAX_DOWN * sizeof *downs);
    return cal_device_wait(batch->device);
}

static cal_status wait(cal_batch* batch) { return cal_device_wait(batch->device); }

static cal_status interpolate(cal_batch* batch, const cal_solver_ops* ops, const void* control, double time) {
    const cal_device_solver* solver = cal_device_find_solver(ops);
    if (!solver || (control && ops->control_size > CONTROL_BYTES)) return CAL_NOT_AVAILABLE;
    cal_device_work work = batch->work;
    if (control) {
        cal_device_write(batch->device, batch->control, control, ops->control_size);
        work.controls = NULL; // one is everybody's
    } else if (batch->steered != ops)
        return CAL_BAD_ARGUMENT;
    work.time = time;
    solver->batch_interpolate(batch->device, &work, batch->groups * batch->plan->layout->column_count);
    return CAL_OK;
}

const cal_batch_ops cal_cuda_batch = {.steers = steers,
                                      .begin = begin,
                                      .advance = advance,
                                      .read_clocks = read_clocks,
                                      .create = create,
                                      .destroy = destroy,
                                      .write = write,
                                      .read = read,
                                      .pin = cal_device_pin,
                                      .unpin = cal_device_unpin,
                                      .address = address,
                                      .choose = choose,
                                      .evaluate = evaluate,
                                      .hold = hold,
                                      .begin_held = begin_held,
                                      .close = close_held,
                                      .read_ends = read_ends,
                                      .read_held = read_held,
                                      .write_held = write_held,
                                      .read_steps = read_steps,
                                      .write_steps = write_steps,
                                      .wait = wait,
                                      .interpolate = interpolate};
