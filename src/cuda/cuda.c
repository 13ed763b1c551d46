// One NVIDIA GPU: programs run there level by level (work.h); solvers ride along, and their control stays on the host, which
// sends at most CAL_MAX_DOWN numbers before an evaluation and gets at most CAL_MAX_SUMS after it.
//
// Which of a state's arrays are newer, the host's or the device's, is in the state (plan.h, CAL_HELD_…): an execution brings what
// the host has changed, and leaves the rest where it is until somebody looks.
#include "calder/calder_cuda.h"
#include "base/error.h"
#include "base/memory.h"
#include "cuda/device_plan.h"
#include "pass/coupled_force.h"
#include "pass/energy_body.h"
#include <assert.h>
#include <string.h>

// A state in the device's memory.
typedef struct cal_device_state {
    cal_device* device;
    cal_device_memory_list memory;
    double *y, *ydot, *tau, *force, *control, *wrench, *records, *scratch;
    uint32_t* flags;              // of a descent (work.h)
    cal_assembly assembly;        // device_assembly.c
    const cal_solver_ops* solver; // whose vectors are here; NULL: none yet
    cal_device_memory_list solver_memory;
    double *vectors[CAL_DEVICE_VECTORS], *scale, *down, *sample;
    double* gathered; // what was sampled, in the user's order
    double* const* host_vectors;
    void* settings; // of the solver's control, for interpolate
    // Of the host: what goes down, then the sums that come up, which kernels write there themselves.
    double *numbers, *sums;
    cal_device_work work; // of the last recording
    cal_device_graph* graph;
    bool recorded_prepare, recorded_follow;
} cal_device_state;

static cal_device* device_of(const cal_plan* plan) { return ((cal_cuda_machine*)plan->machine)->device; }

// --- States ------------------------------------------------------------------------------------------------------------

static void forget(cal_state* state) {
    cal_device_state* own = state->on_device;
    if (!own) return;
    cal_device_graph_free(own->graph);
    cal_device_give_back(own->device, &own->solver_memory);
    cal_device_give_back(own->device, &own->memory);
    cal_device_free_host(own->numbers);
    cal_free(own);
    state->on_device = NULL;
}

static size_t control_count(const cal_plan* plan) {
    return (size_t)plan->layout->copies * (size_t)plan->model->actuator_count;
}

static cal_status hold(const cal_plan* plan, cal_state* state) {
    if (state->on_device) return CAL_OK;
    const cal_layout* layout = plan->layout;
    cal_device* device = device_of(plan);
    cal_device_state* own = state->on_device = cal_allocate(1, sizeof *own);
    if (!own) return CAL_NO_MEMORY;
    cal_device_memory_list* memory = &own->memory;
    const bool has_forces = state->context.force != state->context.tau;
    own->device = device;
    own->y = cal_device_take(device, memory, layout->y_size * sizeof(double));
    own->ydot = cal_device_take(device, memory, layout->y_size * sizeof(double));
    own->tau = cal_device_take(device, memory, layout->v_size * sizeof(double));
    own->force = has_forces ? cal_device_take(device, memory, layout->v_size * sizeof(double)) : own->tau;
    own->control = cal_device_take(device, memory, control_count(plan) * sizeof(double));
    own->records = cal_device_take(device, memory, plan->record_size * sizeof(double));
    const size_t ports = plan->on_device->schedule ? plan->on_device->schedule->port_count : 0;
    own->scratch = cal_device_take(device, memory, (layout->scratch_size + 24 * ports) * sizeof(double));
    own->down = cal_device_take(device, memory, CAL_MAX_DOWN * sizeof(double));
    own->flags = cal_device_take(device, memory, (size_t)layout->column_count * sizeof *own->flags);
    if (plan->on_device->schedule && own->scratch)
        own->assembly = cal_device_schedule_begin(plan->on_device, memory, own->scratch);
    own->numbers = cal_device_allocate_host((CAL_MAX_DOWN + CAL_MAX_SUMS) * sizeof(double));
    if (memory->failed || !own->numbers) {
        forget(state);
        return CAL_NO_MEMORY;
    }
    own->sums = own->numbers + CAL_MAX_DOWN;
    // The ground, which the state has at the bottom of its stack; that of parts, which have places of their own.
    const size_t ground = plan->on_device->schedule ? layout->scratch_size : CAL_DOWN_COUNT;
    cal_device_write(device, own->scratch, state->context.scratch, ground * sizeof(double));
    // Vectors of a solver are zeros here and there until somebody says that they were changed.
    state->changed |= ~(unsigned)CAL_HELD_VECTORS;
    return CAL_OK;
}

// Memory for the vectors of a solver; a probe of it (solver/system_constraints.c) has the same.
static cal_status hold_solver(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver) {
    cal_device_state* own = state->on_device;
    const size_t bytes = plan->layout->y_size * sizeof(double);
    if (own->solver && strcmp(own->solver->name, solver->name) == 0) return CAL_OK;
    cal_device_give_back(own->device, &own->solver_memory);
    own->solver = NULL;
    for (int i = 0; i < solver->vector_count; i++)
        own->vectors[i] = cal_device_take(own->device, &own->solver_memory, bytes);
    own->sample = cal_device_take(own->device, &own->solver_memory, bytes);
    own->gathered = cal_device_take(own->device, &own->solver_memory,
                                    ((size_t)plan->model->q_count + (size_t)plan->model->v_count) * sizeof(double));
    own->scale = cal_device_take(own->device, &own->solver_memory, bytes);
    own->settings = cal_device_take(own->device, &own->solver_memory, solver->control_size);
    if (own->solver_memory.failed) {
        cal_device_give_back(own->device, &own->solver_memory);
        return CAL_NO_MEMORY;
    }
    own->solver = solver;
    state->changed |= CAL_HELD_FIRST | CAL_HELD_SCALE;
    return CAL_OK;
}

static cal_status bring_wrench(const cal_plan* plan, cal_state* state) {
    cal_device_state* own = state->on_device;
    const size_t bytes = (size_t)plan->layout->block_count * 15 * (size_t)plan->layout->width * sizeof(double);
    if (!state->context.wrench) return CAL_OK;
    if (!own->wrench) own->wrench = cal_device_take(own->device, &own->memory, bytes);
    if (!own->wrench) return CAL_NO_MEMORY;
    cal_device_write(own->device, own->wrench, state->context.wrench, bytes);
    return CAL_OK;
}

// Gives the device what the host has changed.
static cal_status send_changes(const cal_plan* plan, cal_state* state) {
    cal_device_state* own = state->on_device;
    cal_device* device = own->device;
    const cal_context* context = &state->context;
    const cal_solver_context* solver = context->solver;
    const size_t y = plan->layout->y_size * sizeof(double), v = plan->layout->v_size * sizeof(double);
    if (state->changed & CAL_HELD_Y) cal_device_write(device, own->y, context->y, y);
    if (state->changed & CAL_HELD_YDOT) cal_device_write(device, own->ydot, context->ydot, y);
    if (state->changed & CAL_HELD_TAU) cal_device_write(device, own->tau, context->tau, v);
    if (state->changed & CAL_HELD_CONTROL)
        cal_device_write(device, own->control, context->control, control_count(plan) * sizeof(double));
    if (state->changed & CAL_HELD_WRENCH) {
        const cal_status status = bring_wrench(plan, state);
        if (status) return status;
    }
    unsigned sent = CAL_HELD_Y | CAL_HELD_YDOT | CAL_HELD_TAU | CAL_HELD_CONTROL | CAL_HELD_WRENCH;
    if (solver) {
        const bool all = state->changed & CAL_HELD_VECTORS;
        const int count = all ? context->solver_ops->vector_count : state->changed & CAL_HELD_FIRST ? 1 : 0;
        for (int i = 0; i < count; i++) cal_device_write(device, own->vectors[i], solver->vectors[i], y);
        if (state->changed & CAL_HELD_SCALE && solver->scale) cal_device_write(device, own->scale, solver->scale, y);
        sent |= CAL_HELD_FIRST | CAL_HELD_VECTORS | CAL_HELD_SCALE;
    }
    state->changed &= ~sent;
    return CAL_OK;
}

static cal_status bring(cal_machine* machine, cal_state* state, unsigned what) {
    cal_device_state* own = state->on_device;
    const cal_context* context = &state->context;
    const size_t y = state->plan->layout->y_size * sizeof(double);
    (void)machine;
    if (!own) return CAL_OK;
    if (what & CAL_HELD_Y) cal_device_read(own->device, context->y, own->y, y);
    if (what & CAL_HELD_YDOT) cal_device_read(own->device, context->ydot, own->ydot, y);
    // The first of them may be newer than the others.
    if (what & CAL_HELD_VECTORS && own->solver)
        for (int i = state->changed & CAL_HELD_FIRST ? 1 : 0; i < own->solver->vector_count; i++)
            cal_device_read(own->device, own->host_vectors[i], own->vectors[i], y);
    state->behind &= ~what;
    return cal_device_wait(own->device);
}

// --- Executions --------------------------------------------------------------------------------------------------------

// Bytes are copied, those between members too: works are compared as a whole.
static void find_work(const cal_plan* plan, const cal_state* state, cal_device_work* work) {
    const cal_device_state* own = state->on_device;
    const cal_context* host = &state->context;
    memcpy(work, &plan->on_device->work, sizeof *work);
    cal_context* context = &work->context;
    context->y = own->y;
    context->ydot = own->ydot;
    context->tau = own->tau;
    context->force = own->force;
    context->control = own->control;
    context->wrench = host->wrench ? own->wrench : NULL;
    context->records = own->records;
    context->scratch = own->scratch;
    work->flags = own->flags;
    work->assembly = own->assembly;
    work->sums = own->sums;
    work->down = work->fetched = own->down;
    work->sent = own->numbers;
    if (!host->solver) return;
    memcpy(work->vectors, own->vectors, sizeof work->vectors);
    const bool implicit = host->implicit != NULL;
    context->implicit = implicit ? own->vectors[host->solver_ops->implicit] : NULL;
    context->slopes = implicit ? own->vectors[host->solver_ops->slopes] : NULL;
    work->relative = host->solver->relative;
    work->absolute = host->solver->absolute;
    work->scale = host->solver->scale ? own->scale : NULL;
}

static void launch(cal_device_launch* kernel, cal_device* device, cal_device_work* work, int first, int count) {
    if (count <= 0) return;
    work->first = first;
    work->count = count;
    kernel(device, work, count);
}

static void launch_reversed(cal_device_launch* kernel, cal_device* device, cal_device_work* work, int first,
                            int count) {
    work->reversed = true;
    launch(kernel, device, work, first, count);
    work->reversed = false;
}

// What control sends down.
static void fetch(const cal_device_state* own, const cal_device_work* work) {
    cal_device_fetch(own->device, work, (CAL_MAX_DOWN + CAL_DEVICE_LANES - 1) / CAL_DEVICE_LANES);
}

// A walk of assembly's tree of joins, up and down again.
static void walk_joins(const cal_device_bands* bands, cal_device* device, cal_device_work* work,
                       const cal_device_joins* joins) {
    work->schedule.order = bands->order;
    work->starts = bands->starts;
    work->placings = bands->steps;
    for (int i = 0; i < 2 * bands->count; i++) {
        const bool up = i < bands->count;
        const cal_device_band* band = &bands->bands[up ? i : 2 * bands->count - 1 - i];
        if (band->of.turns && !up) continue;
        work->heights = band->of.heights;
        work->turn = up ? band->of.heights : 0;
        work->phase_count = band->of.turns ? 2 * band->of.heights : band->of.heights;
        if (band->of.wide)
            launch(!up            ? joins->wide_down
                   : band->chains ? joins->pairs_up
                                  : joins->wide_up,
                   device, work, band->first_element, band->elements);
        else
            launch(band->of.turns ? joins->last
                   : up           ? joins->up
                                  : joins->down,
                   device, work, band->first_start, band->groups);
    }
}

// A solver's last part in an evaluation.
static void issue_follow_up(const cal_device_plan* plan, const cal_device_state* own, cal_device_work* work,
                            const cal_device_solver* solver) {
    launch(solver->follow, own->device, work, 0, plan->column_count);
    // What columns keep of their own blocks is there before the second launch of sums begins.
    work->settled = false;
    for (int i = plan->level_count - 1; i >= work->sum_levels; i--) {
        launch(solver->sums, own->device, work, plan->level[i], plan->inner[i]);
        if (plan->inner[i] > 0) work->settled = true;
    }
    solver->end_sums(own->device, work, work->ground_pulls);
}

// All of an evaluation, in order. follows: the solver does, and does not only look on.
static void issue(const cal_device_plan* plan, const cal_device_state* own, cal_device_work* work,
                  const cal_device_solver* solver, bool prepares, bool follows) {
    cal_device* device = own->device;
    const cal_device_mechanics *mechanics = plan->mechanics, *aba = &cal_device_aba;
    const bool joins = plan->schedule && plan->schedule->joining.count > 0;
    const int columns = plan->column_count, limbs = plan->limb_count;
    const int *level = plan->level, last = plan->level_count - 1;
    // What implicit solvers send down is read by the joint forces, through the solver's context on the device.
    if (solver) fetch(own, work);
    // The first levels leave a device idle: the other blocks are prepared beside them. Joint forces are of all blocks.
    const int blocks = plan->work.layout.block_count;
    const bool beside = solver && prepares && work->descent_count > 0 && work->context.force == work->context.tau;
    if (solver && prepares) launch_reversed(solver->prepare, device, work, 0, beside ? plan->descent_blocks : blocks);
    if (work->context.force != work->context.tau) launch(aba->forces, device, work, 0, columns);
    for (int i = 0; joins && i <= last; i++) launch(mechanics->ports, device, work, level[i], level[i + 1] - level[i]);
    if (joins) walk_joins(&plan->schedule->placing, device, work, &cal_device_placing);
    const int trunk = work->trunk_levels;
    if (beside) cal_device_announce(device);
    if (work->descent_count > 0) mechanics->descent(device, work, work->descent_count);
    if (beside) {
        cal_device_fork(device);
        launch_reversed(solver->prepare, device, work, plan->descent_blocks, blocks - plan->descent_blocks);
        cal_device_rejoin(device);
        cal_device_join(device);
    }
    // Limbs of all levels come at once, on their way down and up and with their accelerations: the other columns wait for each other
    // level by level, and nobody waits for limbs but those.
    const bool apart = !plan->schedule && last > 0;
    for (int i = 0; i <= last; i++) {
        const int inner = plan->inner[i];
        if (i >= plan->descent_levels) launch(aba->velocity, device, work, level[i], inner);
        if (!apart) launch(mechanics->limb, device, work, level[i] + inner, level[i + 1] - level[i] - inner);
    }
    if (apart) launch(mechanics->limb, device, work, columns, limbs);
    for (int i = last; i >= trunk; i--) launch(mechanics->inertia, device, work, level[i], plan->inner[i]);
    if (joins) walk_joins(&plan->schedule->joining, device, work, &cal_device_joining);
    work->settled = limbs > 0 || last >= trunk;
    if (trunk > 0) mechanics->trunk_turn(device, work, plan->trunk_teams);
    for (int i = trunk; i <= last; i++) {
        work->settled = i > 0;
        launch_reversed(mechanics->acceleration, device, work, level[i],
                        apart ? plan->inner[i] : level[i + 1] - level[i]);
    }
    if (apart) {
        work->settled = true;
        launch_reversed(mechanics->acceleration, device, work, columns, limbs);
    }
    if (follows) issue_follow_up(plan, own, work, solver);
}

static bool follows_up(const cal_state* state, const cal_device_solver* solver) {
    return solver && state->context.solver_ops->follow_up;
}

// The same as one request to the driver instead of dozens, recorded where it has not been.
static void record(const cal_plan* plan, cal_state* state, const cal_device_solver* solver, bool prepares) {
    cal_device_state* own = state->on_device;
    cal_device_work work, trial;
    const bool follows = follows_up(state, solver);
    find_work(plan, state, &work);
    memcpy(&trial, &work, sizeof work);
    if (own->graph && (!cal_same_bits(&own->work, &work, sizeof work) || own->recorded_prepare != prepares ||
                       own->recorded_follow != follows)) {
        cal_device_graph_free(own->graph);
        own->graph = NULL;
    }
    if (own->graph || !cal_device_record(own->device)) return;
    issue(plan->on_device, own, &trial, solver, prepares, follows);
    own->graph = cal_device_record_end(own->device);
    memcpy(&own->work, &work, sizeof work);
    own->recorded_prepare = prepares, own->recorded_follow = follows;
}

static void run(const cal_plan* plan, cal_state* state, const cal_device_solver* solver, bool prepares) {
    cal_device_state* own = state->on_device;
    record(plan, state, solver, prepares);
    if (own->graph) {
        cal_device_replay(own->device, own->graph);
        return;
    }
    cal_device_work work;
    find_work(plan, state, &work);
    issue(plan->on_device, own, &work, solver, prepares, follows_up(state, solver));
}

// Everything that an execution needs is on the device afterwards; what it writes before it reads it is not sent.
static cal_status begin(const cal_plan* plan, cal_state* state, unsigned written, const cal_device_solver** solver) {
    const cal_context* context = &state->context;
    cal_status status = hold(plan, state);
    state->changed &= ~written;
    *solver = NULL;
    if (!status && context->solver) {
        *solver = cal_device_find_solver(context->solver_ops);
        if (!*solver) return CAL_NOT_AVAILABLE;
        if (!status) status = hold_solver(plan, state, context->solver_ops);
        if (!status) state->on_device->host_vectors = context->solver->vectors;
    }
    if (!status) status = send_changes(plan, state);
    if (!status && *solver) {
        const size_t down = (size_t)context->solver_ops->down_count;
        memcpy(state->on_device->numbers, context->solver->down, down * sizeof(double));
    }
    return status;
}

// Whether energies can be found there.
static bool has_energy(const cal_plan* plan) {
    return !plan->on_device->schedule && plan->layout->copies == 1 && !cal_model_has_coupled_forces(plan->model);
}

static cal_status ready(cal_machine* machine, const cal_plan* plan, cal_state* state) {
    (void)machine;
    const cal_device_solver* solver = NULL;
    cal_status status = begin(plan, state, 0, &solver);
    if (status == CAL_NOT_AVAILABLE) return CAL_OK; // who executes it is told
    if (!status) status = cal_device_plan_bring_positions(plan->on_device, plan);
    // Where there is no room for them the host looks.
    if (!status && has_energy(plan)) (void)cal_device_plan_bring_nodes(plan->on_device, plan);
    if (!status && solver) record(plan, state, solver, true);
    return status ? status : cal_device_wait(state->on_device->device);
}

// Where the host's passes would have left them.
static void show_sums(const cal_plan* plan, cal_state* state) {
    memcpy(state->context.scratch + CAL_DOWN_COUNT * (size_t)plan->layout->width, state->on_device->sums,
           CAL_MAX_SUMS * sizeof(double));
}

static cal_status execute(cal_machine* machine, const cal_plan* plan, cal_state* state, bool prepared) {
    (void)machine;
    if (!plan->program->walked) {
        cal_execute_alone(plan, state, prepared);
        return CAL_OK;
    }
    const cal_device_solver* solver;
    const bool prepares = state->context.solver && !prepared;
    cal_status status = begin(plan, state, prepares ? CAL_HELD_Y | CAL_HELD_YDOT : CAL_HELD_YDOT, &solver);
    if (status) return status;
    run(plan, state, solver, solver && !prepared);
    status = cal_device_wait(state->on_device->device);
    state->behind |= solver ? CAL_HELD_MOTION | CAL_HELD_VECTORS : CAL_HELD_YDOT;
    if (!status && solver) show_sums(plan, state);
    return status;
}

// For what only a solver asks of a device.
static cal_status begin_solver(const cal_plan* plan, cal_state* state, const cal_device_solver** solver,
                               cal_device_work* work) {
    const cal_status status = begin(plan, state, 0, solver);
    if (status) return status;
    if (!*solver) return CAL_BAD_ARGUMENT;
    find_work(plan, state, work);
    return CAL_OK;
}

static cal_status prepare(cal_machine* machine, const cal_plan* plan, cal_state* state) {
    (void)machine;
    const cal_device_solver* solver = NULL;
    cal_device_work work;
    const cal_status status = begin_solver(plan, state, &solver, &work);
    if (status) return status;
    cal_device_state* own = state->on_device;
    fetch(own, &work);
    launch(solver->prepare, own->device, &work, 0, work.layout.block_count);
    state->behind |= CAL_HELD_Y | CAL_HELD_VECTORS;
    return cal_device_wait(own->device);
}

static cal_status follow(cal_machine* machine, const cal_plan* plan, cal_state* state) {
    (void)machine;
    const cal_device_solver* solver = NULL;
    cal_device_work work;
    cal_status status = begin_solver(plan, state, &solver, &work);
    if (status) return status;
    cal_device_state* own = state->on_device;
    fetch(own, &work);
    issue_follow_up(plan->on_device, own, &work, solver);
    state->behind |= CAL_HELD_VECTORS;
    status = cal_device_wait(own->device);
    if (!status) show_sums(plan, state);
    return status;
}

// What is known of where numbers are in the user's order, and room for these.
static cal_status begin_user_order(const cal_plan* plan, cal_state* state, const cal_device_solver** solver,
                                   cal_device_work* work) {
    cal_status status = begin_solver(plan, state, solver, work);
    if (!status) status = cal_device_plan_bring_positions(plan->on_device, plan);
    if (status) return status;
    work->positions = plan->on_device->positions;
    work->gathered = state->on_device->gathered;
    return CAL_OK;
}

static void launch_numbers(cal_device_launch* kernel, const cal_plan* plan, const cal_device_state* own,
                           cal_device_work* work) {
    work->count = plan->model->q_count + plan->model->v_count;
    kernel(own->device, work, (work->count + CAL_DEVICE_LANES - 1) / CAL_DEVICE_LANES);
}

static cal_status place(cal_machine* machine, const cal_plan* plan, cal_state* state, const double* q,
                        const double* v) {
    (void)machine;
    const cal_device_solver* solver = NULL;
    cal_device_work work;
    const cal_status status = begin_user_order(plan, state, &solver, &work);
    if (status) return status;
    cal_device_state* own = state->on_device;
    const size_t q_count = (size_t)plan->model->q_count, v_count = (size_t)plan->model->v_count;
    cal_device_write(own->device, own->gathered, q, q_count * sizeof *q);
    cal_device_write(own->device, own->gathered + q_count, v, v_count * sizeof *v);
    work.out = own->vectors[0];
    launch_numbers(cal_device_place, plan, own, &work);
    state->behind |= CAL_HELD_VECTORS;
    return cal_device_wait(own->device);
}

static cal_status sample(cal_machine* machine, const cal_plan* plan, cal_state* state, const void* control, double time,
                         double* q, double* v) {
    (void)machine;
    const cal_device_solver* solver = NULL;
    cal_device_work work;
    cal_status status = begin_user_order(plan, state, &solver, &work);
    if (status) return status;
    cal_device_state* own = state->on_device;
    const size_t q_count = (size_t)plan->model->q_count, v_count = (size_t)plan->model->v_count;
    work.control = own->settings;
    work.time = time;
    work.out = own->sample;
    cal_device_write(own->device, own->settings, control, own->solver->control_size);
    fetch(own, &work);
    launch(solver->interpolate, own->device, &work, 0, work.layout.block_count);
    *own->sums = 0.0;
    launch_numbers(cal_device_gather, plan, own, &work);
    cal_device_read(own->device, q, own->gathered, q_count * sizeof *q);
    cal_device_read(own->device, v, own->gathered + q_count, v_count * sizeof *v);
    status = cal_device_wait(own->device);
    return status ? status : *own->sums != 0.0 ? CAL_NOT_FINITE : CAL_OK;
}

static_assert((int)CAL_ENERGY_SUMS == (int)CAL_MAX_SUMS, "energy and momentum come up as sums do");

// At what was sampled last.
static cal_status energy(cal_machine* machine, const cal_plan* plan, cal_state* state, double* out) {
    (void)machine;
    cal_device_state* own = state->on_device;
    cal_device_plan* there = plan->on_device;
    if (!own || !own->solver || !there || !has_energy(plan)) return CAL_NOT_AVAILABLE;
    cal_status status = cal_device_plan_bring_nodes(there, plan);
    if (status) return status == CAL_NO_MEMORY ? CAL_NOT_AVAILABLE : status;
    cal_device_work work;
    find_work(plan, state, &work);
    work.out = own->sample;
    work.layout.block_nodes = there->block_nodes;
    work.context.model = there->energy_model;
    const int *level = there->level, last = there->level_count - 1;
    for (int i = 0; i <= last; i++)
        launch(cal_device_energies.down, own->device, &work, level[i], level[i + 1] - level[i]);
    for (int i = last; i >= 0; i--)
        launch(cal_device_energies.up, own->device, &work, level[i], level[i + 1] - level[i]);
    cal_device_energies.end(own->device, &work, 1);
    status = cal_device_wait(own->device);
    memcpy(out, own->sums, CAL_MAX_SUMS * sizeof(double));
    return status;
}

// --- The machine -------------------------------------------------------------------------------------------------------

static cal_status attach(cal_machine* machine, cal_plan* plan, cal_error* error) {
    if (!plan->program->walked) return CAL_OK;
    if (strcmp(plan->program->name, "aba") != 0 && strcmp(plan->program->name, "assembly") != 0)
        return cal_fail(error, CAL_NOT_AVAILABLE, "machine cuda runs algorithms aba and assembly, not %s",
                        plan->program->name);
    if (plan->arrangement && plan->layout->copies > 1)
        return cal_fail(error, CAL_NOT_AVAILABLE, "machine cuda runs many instances with algorithm aba, not assembly");
    if (plan->arrangement && plan->arrangement->constrains)
        return cal_fail(error, CAL_NOT_AVAILABLE,
                        "machine cuda runs assembly of models without constraints; with them use algorithm aba");
    return cal_device_plan_create(((cal_cuda_machine*)machine)->device, plan, &plan->on_device, error);
}

static void detach(cal_plan* plan) {
    cal_device_plan_destroy(plan->on_device);
    plan->on_device = NULL;
}

// Less than that is copied as fast as it is, and may share its pages with others.
enum { LEAST_PINNED = 1 << 22 };
static void pin(cal_machine* machine, void* memory, size_t bytes) {
    (void)machine;
    if (bytes >= LEAST_PINNED) cal_device_pin(memory, bytes);
}
static void unpin(cal_machine* machine, void* memory, size_t bytes) {
    (void)machine;
    if (bytes >= LEAST_PINNED) cal_device_unpin(memory);
}

static void destroy(cal_machine* base) {
    cal_cuda_machine* machine = (cal_cuda_machine*)base;
    cal_device_close(machine->device);
    cal_free(machine);
}

static const cal_machine_ops cuda_ops = {.name = "cuda",
                                         .execute = execute,
                                         .destroy = destroy,
                                         .attach = attach,
                                         .detach = detach,
                                         .bring = bring,
                                         .forget = forget,
                                         .ready = ready,
                                         .prepare = prepare,
                                         .follow = follow,
                                         .sample = sample,
                                         .place = place,
                                         .pin = pin,
                                         .unpin = unpin,
                                         .energy = energy,
                                         .batch = &cal_cuda_batch};

static const uint32_t COOKIE = 0x43554441;

cal_cuda_def cal_default_cuda_def(void) { return (cal_cuda_def){.device = 0, .cookie = COOKIE}; }

cal_status cal_machine_cuda(const cal_cuda_def* def, cal_machine** out, cal_error* error) {
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_machine_cuda: out must not be NULL");
    *out = NULL;
    if (!def || def->cookie != COOKIE)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "cal_machine_cuda: the definition must come from "
                        "cal_default_cuda_def()");
    cal_cuda_machine* machine = cal_allocate(1, sizeof *machine);
    if (!machine) return cal_fail(error, CAL_NO_MEMORY, "no memory for a machine");
    const cal_status status = cal_device_open(def->device, &machine->device, error);
    if (status) {
        cal_free(machine);
        return status;
    }
    machine->base = (cal_machine){.ops = &cuda_ops,
                                  .lanes = CAL_DEVICE_LANES,
                                  .variant = -1,
                                  .processors = 1,
                                  .device = true,
                                  .keep = CAL_KEEP_ALL};
    machine->number = def->device;
    *out = &machine->base;
    return CAL_OK;
}

const char* cal_cuda_device_name(const cal_machine* machine) {
    return machine && machine->ops == &cuda_ops ? cal_device_name(((const cal_cuda_machine*)machine)->device) : NULL;
}

int cal_cuda_device_count(void) { return cal_device_count(); }
