// Checkpoints: everything that a continuation needs, in one file, independent of the machine and its lanes.
//
// The file (words.h) holds
//
//     identity │ moment │ q, v │ tau │ control │ pushes │ who is connected │ directions │ control's memory │ flows │ the solver's vectors
//
// *identity* says what the numbers belong to: the model, the solver and its settings; a simulation must match it. Vectors
// are in the user's order of q and v.
//
// Two things cannot be written, CVODE's inside and the slow band in a state's records: saving makes both begin afresh, so
// that the simulation that saved and the one that loads still agree.
//
// A simulation with events is written as a snapshot of it (simulation/snapshot.h).
//
// Where memory is not shared, processor 0 alone reads and writes; the others take part in gathering, and are told what was
// read.
#include "base/error.h"
#include "base/finite.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/sound.h"
#include "constraint/directions.h"
#include "machine/machine.h"
#include "record/checkpoint_buffer.h"
#include "simulation/sim.h"
#include "simulation/snapshot.h"
#include "solver/system_data.h"
#include "solver/vectors.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WORD = CAL_WORD, TEXT = 32, PUSH = 10 }; // PUSH: words of one

// Only words, so that it can be moved as it is; texts are padded with zeros.
typedef struct identity {
    char version[TEXT], solver[TEXT], algorithm[TEXT];
    double relative, absolute, step, largest_step;
    int64_t largest_order, slow_band;
    int64_t bodies, joints, q_count, v_count, actuators, constraints;
    int64_t law, projects; // how constraints stay closed
    double gain;
    uint64_t model;
    int64_t vectors, control_size; // of the solver's inside
} identity;

// The numbers of a simulation that come one by one; only words.
typedef struct moment {
    double time, step, previous, reached, last_step, evaluation_time;
    int64_t order, last_order, accepted, rejected, running, interpolates;
    int64_t steps, rejections, evaluations, jacobian_evaluations;
    int64_t pushes;
    double error_max, error_sum; // of constraints
    int64_t error_steps;
    double progress;
    int64_t attempts, singularities;
    double due; // an event in the last step
    int64_t due_constraint;
    double direction_time, direction_distance; // of those that constraints keep (constraint/directions.h)
    int64_t directed;
    double down[CAL_MAX_DOWN];
    cal_flow_memory flow;
    cal_account account;
} moment;
_Static_assert(sizeof(identity) % CAL_WORD == 0 && sizeof(moment) % CAL_WORD == 0, "words are moved whole");

static size_t words_of(size_t bytes) { return (bytes + WORD - 1) / WORD; }

// --- What a checkpoint belongs to -----------------------------------------------------------------------------------

static identity identify(const cal_system* system) {
    const cal_model* model = system->model;
    const cal_solver_settings* settings = &system->settings;
    identity own = {.relative = system->def.relative,
                    .absolute = system->def.absolute > 0.0 ? system->def.absolute : system->def.relative,
                    .step = settings->step,
                    .largest_step = settings->largest_step,
                    .largest_order = settings->largest_order,
                    .slow_band = system->def.slow_band > 1 ? system->def.slow_band : 1,
                    .bodies = model->body_count,
                    .joints = model->joint_count,
                    .q_count = model->q_count,
                    .v_count = model->v_count,
                    .actuators = model->actuator_count,
                    .constraints = model->constraint_count,
                    .law = model->constraint_count > 0 ? (int64_t)system->law : 0,
                    .projects = model->constraint_count > 0 && system->projects,
                    .gain = model->constraint_count > 0 ? system->def.gain : 0.0,
                    .model = cal_model_hash(model),
                    .vectors = system->ops ? system->ops->vector_count : 0,
                    .control_size = system->ops ? (int64_t)system->ops->control_size : 0};
    snprintf(own.version, TEXT, "%s", cal_version());
    snprintf(own.solver, TEXT, "%s", system->ops ? system->ops->name : "bdf");
    // Another schedule is another order of sums.
    snprintf(own.algorithm, TEXT, "%s%s%s%s", system->plan->program->name, system->schedule[0] ? " " : "",
             system->schedule, system->minimal ? " minimal" : "");
    return own;
}

static cal_status compare(const identity* theirs, const identity* own, const char* path, cal_error* error) {
    const struct {
        const char* name;
        double theirs, own;
    } numbers[] = {{"relative tolerance", theirs->relative, own->relative},
                   {"absolute tolerance", theirs->absolute, own->absolute},
                   {"step", theirs->step, own->step},
                   {"largest step", theirs->largest_step, own->largest_step},
                   {"largest order", (double)theirs->largest_order, (double)own->largest_order},
                   {"slow band", (double)theirs->slow_band, (double)own->slow_band}};
    if (strcmp(theirs->version, own->version) != 0)
        return cal_fail(error, CAL_BAD_ARGUMENT, CAL_FROM_FILE "was written by Calder %s; this is %s", path,
                        theirs->version, own->version);
    if (theirs->bodies != own->bodies || theirs->joints != own->joints || theirs->q_count != own->q_count ||
        theirs->v_count != own->v_count || theirs->actuators != own->actuators)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        CAL_FROM_FILE
                        "is of another model: %lld bodies, %lld joints, %lld motors; this one has %lld, %lld, %lld",
                        path, (long long)theirs->bodies, (long long)theirs->joints, (long long)theirs->actuators,
                        (long long)own->bodies, (long long)own->joints, (long long)own->actuators);
    if (theirs->constraints != own->constraints)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        CAL_FROM_FILE "is of another model: it has %lld constraints; this one has %lld", path,
                        (long long)theirs->constraints, (long long)own->constraints);
    if (theirs->law != own->law || theirs->projects != own->projects || theirs->gain != own->gain)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        CAL_FROM_FILE "is of a simulation that keeps its constraints closed in another way", path);
    if (theirs->model != own->model)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        CAL_FROM_FILE
                        "is of another model: as many bodies, but other masses, frames, joints, motors or gravity",
                        path);
    if (strcmp(theirs->solver, own->solver) != 0)
        return cal_fail(error, CAL_BAD_ARGUMENT, CAL_FROM_FILE "is of solver '%s'; this simulation uses '%s'", path,
                        theirs->solver, own->solver);
    if (strcmp(theirs->algorithm, own->algorithm) != 0)
        return cal_fail(error, CAL_BAD_ARGUMENT, CAL_FROM_FILE "is of algorithm '%s'; this simulation uses '%s'", path,
                        theirs->algorithm, own->algorithm);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].theirs != numbers[i].own)
            return cal_fail(error, CAL_BAD_ARGUMENT, CAL_FROM_FILE "has the %s %.10g; this simulation has %.10g", path,
                            numbers[i].name, numbers[i].theirs, numbers[i].own);
    if (theirs->vectors != own->vectors || theirs->control_size != own->control_size)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        CAL_FROM_FILE "was written by another build of Calder, for another processor", path);
    return CAL_OK;
}

// --- The solver's inside --------------------------------------------------------------------------------------------

// What a body that rests leaves in the scalar part of a quaternion in each of the solver's vectors: one where a vector holds
// places, zero where it holds slopes. Found by letting the solver advance such a body for a while.
static bool find_rest(const cal_system* system, double* rest) {
    enum { EVALUATIONS = 64, COMPONENTS = 7 };
    const cal_solver_ops* ops = system->ops;
    const size_t count = (size_t)ops->vector_count;
    void* control = cal_allocate(1, ops->control_size);
    double* block = cal_allocate(count, COMPONENTS * sizeof(double));
    double** vectors = cal_allocate(count, sizeof *vectors);
    const bool good = control && block && vectors;
    if (good) {
        int32_t block_y[] = {0, COMPONENTS};
        const cal_column column = {.block_count = 1, .node_count = 1, .kind = CAL_BALL, .parent = -1, .lanes = 1};
        const cal_layout layout = {.width = 1, .copies = 1, .block_count = 1, .block_y = block_y, .y_size = COMPONENTS};
        double y[COMPONENTS] = {0}, ydot[COMPONENTS] = {0}, down[CAL_MAX_DOWN] = {0}, sums[CAL_MAX_SUMS] = {0};
        cal_step_decision decision = {0};
        for (size_t i = 0; i < count; i++) vectors[i] = block + i * COMPONENTS;
        vectors[0][0] = 1.0;
        const cal_solver_context context = {.layout = &layout,
                                            .y = y,
                                            .ydot = ydot,
                                            .vectors = vectors,
                                            .down = down,
                                            .relative = system->settings.relative,
                                            .absolute = system->settings.absolute};
        ops->start(control, &system->settings, 0.0, down, &decision);
        cal_status status = CAL_OK;
        for (int i = 0; i < EVALUATIONS && !status; i++) {
            ops->prepare(&context, &column);
            ops->follow_up(&context, &column, 0, sums);
            status = ops->control(control, sums, down, &decision);
        }
        for (size_t i = 0; i < count; i++) rest[i] = vectors[i][0];
    }
    cal_free(control), cal_free(block), cal_free(vectors);
    return good;
}

// Dead lanes are not in the file: in a fresh block they rest.
static bool fill_dead_lanes(const cal_system* system) {
    const cal_layout* layout = system->plan->layout;
    const int width = layout->width;
    double* rest = cal_allocate((size_t)system->ops->vector_count, sizeof *rest);
    const bool good = rest && find_rest(system, rest);
    for (int c = 0; good && c < layout->column_count; c++) {
        const cal_column* column = &layout->columns[c];
        const int component = cal_joint_quaternion(column->kind);
        if (component < 0 || !cal_layout_keeps(layout, column)) continue;
        for (int b = column->first_block; b < column->first_block + column->block_count; b++)
            for (int lane = 0; lane < width; lane++) {
                if (layout->block_nodes[b * width + lane] >= 0) continue;
                double* first = system->block + layout->block_y[b] + component * width + lane;
                for (int i = 0; i < system->ops->vector_count; i++) first[(size_t)i * system->stride] = rest[i];
            }
    }
    cal_free(rest);
    return good;
}

// --- The whole ------------------------------------------------------------------------------------------------------

static moment moment_of(const cal_system* system) {
    moment m = {.time = system->time,
                .step = system->decision.step,
                .previous = system->decision.previous,
                .reached = system->decision.time,
                .last_step = system->report.step,
                .evaluation_time = system->decision.evaluation_time,
                .order = system->decision.order,
                .last_order = system->report.order,
                .accepted = system->decision.accepted,
                .rejected = system->decision.rejected,
                .running = system->running,
                .interpolates = system->interpolates,
                .steps = system->report.steps,
                .rejections = system->report.rejected,
                .evaluations = system->report.evaluations,
                .jacobian_evaluations = system->report.jacobian_evaluations,
                .pushes = system->push_count,
                .error_max = system->error_max,
                .error_sum = system->error_sum,
                .error_steps = system->error_steps,
                .progress = system->progress,
                .attempts = system->attempts,
                .singularities = system->singularities,
                .due = system->watch.due,
                .due_constraint = system->watch.constraint,
                .flow = system->flow.memory,
                .account = system->account};
    if (system->constraints) {
        m.direction_time = system->constraints->directions.time;
        m.direction_distance = system->constraints->directions.distance;
        m.directed = system->constraints->directions.held;
    }
    memcpy(m.down, system->down, sizeof m.down);
    return m;
}

static void set_moment(cal_system* system, const moment* m) {
    system->time = m->time;
    system->decision = (cal_step_decision){.accepted = m->accepted != 0,
                                           .rejected = m->rejected != 0,
                                           .previous = m->previous,
                                           .time = m->reached,
                                           .step = m->step,
                                           .order = (int)m->order,
                                           .evaluation_time = m->evaluation_time};
    system->report = (cal_sim_report){.step = m->last_step,
                                      .order = (int)m->last_order,
                                      .steps = m->steps,
                                      .rejected = m->rejections,
                                      .evaluations = m->evaluations,
                                      .jacobian_evaluations = m->jacobian_evaluations};
    system->running = m->running != 0;
    system->slow_band = false;
    system->interpolates = m->interpolates != 0;
    system->push_count = system->push_capacity = (int)m->pushes;
    system->error_max = m->error_max;
    system->error_sum = m->error_sum;
    system->error_steps = m->error_steps;
    system->progress = m->progress;
    system->attempts = (int)m->attempts;
    system->singularities = (int)m->singularities;
    system->watch.due = m->due;
    system->watch.constraint = (int)m->due_constraint;
    memcpy(system->down, m->down, sizeof m->down);
    system->flow.memory = m->flow;
    system->account = m->account;
}

static void move_pushes(cal_checkpoint_buffer* s, cal_outer_force* pushes, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        double words[PUSH] = {0};
        cal_outer_force* p = pushes ? &pushes[i] : NULL;
        if (s->writes && p) {
            words[0] = p->body;
            memcpy(words + 1, p->force, sizeof p->force);
            memcpy(words + 4, p->torque, sizeof p->torque);
            memcpy(words + 7, p->point, sizeof p->point);
        }
        cal_checkpoint_buffer_move(s, words, PUSH);
        if (s->writes || !p) continue;
        p->body = cal_is_index(words[0], INT32_MAX - 1) ? (int)words[0] : CAL_NONE;
        memcpy(p->force, words + 1, sizeof p->force);
        memcpy(p->torque, words + 4, sizeof p->torque);
        memcpy(p->point, words + 7, sizeof p->point);
    }
}

// Three words a constraint, who is connected, who waits, and what friction does, kept in system->connected and system->shares until the whole
// file was read.
static void move_connections(cal_checkpoint_buffer* s, cal_system* system) {
    const int count = system->model->constraint_count;
    for (int i = 0; i < 3 * count; i++) {
        const int k = i % count;
        double word = 0.0;
        if (s->writes)
            word = i >= 2 * count ? cal_system_friction_of(system, k)
                   : (i < count ? system->constraints->active : system->watch.waits)[k] ? 1.0
                                                                                        : 0.0;
        cal_checkpoint_buffer_move(s, &word, 1);
        if (!s->writes && i < 2 * count && system->connected) system->connected[i] = word != 0.0;
        if (!s->writes && i >= 2 * count && system->shares) system->shares[k] = word;
    }
}

// Where directions that constraints keep are of; kept aside until the whole file was read.
static void move_directions(cal_checkpoint_buffer* s, const cal_system* system) {
    if (!system->constraints || !system->constraints->directions.q) return;
    cal_directions* d = &system->constraints->directions;
    d->found = d->found && s->writes;
    cal_checkpoint_buffer_move(s, s->writes ? d->q : d->found_q, (size_t)system->model->q_count);
}

static size_t motion_count(const cal_system* system) {
    return (size_t)system->model->q_count + (size_t)system->model->v_count;
}

// All arrays of a simulation but control's memory and the vectors. Any of them may be NULL when reading.
static void move_arrays(cal_checkpoint_buffer* s, cal_system* system) {
    const cal_model* model = system->model;
    cal_checkpoint_buffer_move(s, system->q, motion_count(system));
    cal_checkpoint_buffer_move(s, system->tau, (size_t)model->v_count);
    cal_checkpoint_buffer_move(s, system->control, (size_t)cal_drive_count(model));
    move_pushes(s, system->pushes, system->push_count);
    move_connections(s, system);
    move_directions(s, system);
}

// --- Saving ---------------------------------------------------------------------------------------------------------

static void put_solver(cal_checkpoint_buffer* s, cal_system* system) {
    // Control holds doubles, so its size is a whole number of words.
    if (s->file && !s->problem) cal_checkpoint_buffer_move(s, system->memory, words_of(system->ops->control_size));
    cal_checkpoint_buffer_move(s, system->flow.block, cal_flow_block_size(&system->flow) / WORD);
    if (!s->status) s->status = cal_state_bring(system->state, CAL_HELD_VECTORS);
    for (int i = 0; i < system->ops->vector_count && !s->status; i++) {
        s->status = cal_plan_gather(system->plan, system->vectors[i], system->evaluated_q, system->evaluated_v);
        if (!s->status) cal_checkpoint_buffer_move(s, system->evaluated_q, motion_count(system));
    }
}

static void put_all(cal_checkpoint_buffer* s, cal_system* system) {
    identity own = identify(system);
    moment now = moment_of(system);
    cal_checkpoint_buffer_move(s, &own, sizeof own / WORD);
    cal_checkpoint_buffer_move(s, &now, sizeof now / WORD);
    move_arrays(s, system);
    if (system->ops) put_solver(s, system);
}

static cal_status save(cal_system* system, const char* path, cal_error* error) {
    if (!system->ops) cal_system_restart(system);
    system->slow_band = false; // not in the file: this run and a resumed one compute it anew
    cal_checkpoint_buffer words;
    cal_checkpoint_buffer_create(&words, path, system->def.machine);
    put_all(&words, system);
    return cal_checkpoint_buffer_close(&words, error);
}

// With events: the words of a snapshot.
static cal_status save_events(cal_sim* sim, const char* path, cal_error* error) {
    cal_snapshot* snapshot = NULL;
    const cal_status status = cal_sim_snapshot(sim, &snapshot, error);
    if (status) return status;
    cal_checkpoint_buffer words;
    cal_checkpoint_buffer_create(&words, path, NULL);
    cal_checkpoint_buffer_move(&words, snapshot->image.words, snapshot->image.count);
    cal_snapshot_destroy(snapshot);
    return cal_checkpoint_buffer_close(&words, error);
}

cal_status cal_sim_save(cal_sim* sim, const char* path, cal_error* error) {
    if (!sim || !path) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_save: sim and path must not be NULL");
    const cal_status still = cal_sim_check_still(sim, "cal_sim_save", error);
    if (still) return still;
    return sim->system ? save(sim->system, path, error) : save_events(sim, path, error);
}

// --- Loading --------------------------------------------------------------------------------------------------------

static void free_arrays(const cal_system* system) {
    void* arrays[] = {system->q,      system->tau,   system->control,   system->pushes,
                      system->memory, system->block, system->connected, system->shares};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
}

// Gives a copy of a simulation arrays of its own. Without memory some stay NULL.
static bool allocate_arrays(cal_system* copy) {
    const cal_model* model = copy->model;
    const cal_solver_ops* ops = copy->ops;
    copy->q = cal_allocate(motion_count(copy), sizeof(double));
    copy->v = copy->q ? copy->q + model->q_count : NULL;
    copy->tau = cal_allocate((size_t)model->v_count, sizeof(double));
    copy->control = cal_allocate((size_t)cal_drive_count(model), sizeof(double));
    copy->pushes = cal_allocate((size_t)copy->push_count, sizeof *copy->pushes);
    copy->memory = ops ? cal_allocate(words_of(ops->control_size), WORD) : NULL;
    copy->block = ops ? cal_allocate((size_t)ops->vector_count * copy->stride, sizeof(double)) : NULL;
    copy->connected = cal_allocate(2 * (size_t)model->constraint_count, sizeof *copy->connected);
    copy->shares = cal_allocate((size_t)model->constraint_count, sizeof *copy->shares);
    return copy->connected && copy->shares && copy->q && copy->tau && copy->control && copy->pushes &&
           (!ops || (copy->memory && copy->block && fill_dead_lanes(copy)));
}

static void get_solver(cal_checkpoint_buffer* s, cal_system* copy) {
    cal_checkpoint_buffer_move(s, copy->memory, words_of(copy->ops->control_size));
    cal_checkpoint_buffer_move(s, copy->flow.block, cal_flow_block_size(&copy->flow) / WORD);
    for (int i = 0; i < copy->ops->vector_count; i++) {
        cal_checkpoint_buffer_move(s, copy->evaluated_q, motion_count(copy));
        if (copy->block)
            cal_layout_scatter(copy->plan->layout, 0, copy->evaluated_q, copy->evaluated_v,
                               copy->block + (size_t)i * copy->stride);
    }
}

static void become(cal_system* system, const cal_system* other) {
    *system = *other;
    for (int i = 0; system->ops && i < system->ops->vector_count; i++)
        system->vectors[i] = system->block + (size_t)i * system->stride;
}

// Whether all processors have succeeded: each marks the numbers of its own nodes.
static cal_status agree(cal_system* system, cal_status own) {
    cal_machine* machine = system->def.machine;
    if (machine->keep == CAL_KEEP_ALL) return own;
    for (int i = 0; i < system->model->v_count; i++) system->evaluated_v[i] = own ? 1.0 : 0.0;
    const cal_status status = machine->ops->collect(machine, system->plan, NULL, system->evaluated_v);
    for (int i = 0; i < system->model->v_count && !own; i++)
        if (system->evaluated_v[i] != 0.0) own = CAL_NO_MEMORY;
    return own ? own : status;
}

static cal_status fail_unsound(const char* path, cal_error* error) {
    return cal_fail(error, CAL_BAD_ARGUMENT, CAL_FROM_FILE "holds numbers that no simulation has", path);
}

// Whether the numbers that come one by one fit into what a simulation has for them, and pushes into what is left of the file.
static bool is_sound(const moment* m, size_t left) {
    const int64_t narrow[] = {m->order, m->last_order, m->attempts, m->singularities};
    bool good = cal_is_count(m->pushes) && (uint64_t)m->pushes <= left / PUSH && isfinite(m->direction_time) &&
                isfinite(m->direction_distance) && m->due_constraint >= INT32_MIN && m->due_constraint <= INT32_MAX;
    for (size_t i = 0; i < sizeof narrow / sizeof narrow[0]; i++) good = good && cal_is_count(narrow[i]);
    return good;
}

static bool are_sound(const cal_system* copy) {
    const bool found = copy->constraints && copy->constraints->directions.q;
    for (int i = 0; i < copy->model->constraint_count; i++)
        if (!(copy->shares[i] >= 0.0 && copy->shares[i] <= 1.0)) return false;
    return (!found || cal_all_finite(copy->constraints->directions.found_q, copy->model->q_count)) &&
           cal_system_is_sound(copy, copy->connected + copy->model->constraint_count);
}

// Reads what follows the identity into a copy of the simulation, and lets the simulation become it.
static cal_status get_all(cal_checkpoint_buffer* s, cal_system* system, const char* path, cal_error* error) {
    cal_system copy = *system;
    moment then = {0};
    cal_checkpoint_buffer_move(s, &then, sizeof then / WORD);
    cal_status read = cal_checkpoint_buffer_check(s, error);
    if (!read && !is_sound(&then, s->left)) read = fail_unsound(path, error);
    if (read) return read;
    set_moment(&copy, &then);
    if (!system->ops) cal_system_count_from(&copy, &copy.report);
    copy.last.valid = copy.replays = false;
    cal_system_forget_energy(&copy);
    copy.slow_band = false;
    bool good = allocate_arrays(&copy);
    move_arrays(s, &copy);
    if (system->ops) get_solver(s, &copy);
    read = cal_checkpoint_buffer_check(s, error);
    if (!read && good && !are_sound(&copy)) read = fail_unsound(path, error);
    if (read) {
        free_arrays(&copy);
        return read;
    }
    cal_system old = *system;
    if (good) become(system, &copy);
    cal_state_changed(system->state, CAL_HELD_VECTORS);
    const cal_status status = agree(system, good ? cal_system_apply(system) : CAL_NO_MEMORY);
    if (status && good) {
        become(system, &old);
        (void)cal_system_apply(system); // as before: needs no memory
    }
    const int count = system->model->constraint_count;
    for (int i = 0; !status && i < count; i++) {
        cal_constraints_activate(system->constraints, i, copy.connected[i]);
        system->watch.waits[i] = copy.connected[count + i];
        cal_system_set_friction(system, i, copy.shares[i]);
    }
    if (!status && system->constraints)
        cal_directions_restore(system->constraints, then.directed != 0, then.direction_time, then.direction_distance);
    if (!status) cal_system_resume_watch(system);
    if (!status && system->friction.count > 0) (void)cal_system_apply(system); // with friction; needs no memory
    if (!status) {
        old.connected = copy.connected, old.shares = copy.shares; // have served
        system->connected = NULL;
        system->shares = NULL;
    }
    free_arrays(status ? &copy : &old);
    return status ? cal_fail(error, status, "no memory to continue from '%.100s'", path) : CAL_OK;
}

static cal_status load(cal_system* system, const char* path, cal_error* error) {
    cal_checkpoint_buffer words;
    cal_status status = cal_checkpoint_buffer_open(&words, path, system->def.machine, error);
    if (status) return status;
    const identity own = identify(system);
    identity theirs;
    cal_checkpoint_buffer_move(&words, &theirs, sizeof theirs / WORD);
    status = cal_checkpoint_buffer_check(&words, error);
    // Whatever the file has, a text ends where its place does.
    theirs.version[TEXT - 1] = theirs.solver[TEXT - 1] = theirs.algorithm[TEXT - 1] = '\0';
    uint64_t first;
    memcpy(&first, &theirs, sizeof first);
    if (!status && cal_snapshot_has_events(first))
        status =
            cal_fail(error, CAL_BAD_ARGUMENT, CAL_FROM_FILE "is of a simulation with events; this one has none", path);
    if (!status && memcmp(&first, CAL_ENSEMBLE_WORD, sizeof first) == 0)
        status = cal_fail(error, CAL_BAD_ARGUMENT, CAL_FROM_FILE "is of an ensemble; this is one simulation", path);
    if (!status) status = compare(&theirs, &own, path, error);
    if (!status) status = get_all(&words, system, path, error);
    cal_checkpoint_buffer_close(&words, NULL);
    return status;
}

// Reads a snapshot's words behind its head.
static cal_status read_image(cal_checkpoint_buffer* words, const char* path, cal_image* image, cal_error* error) {
    uint64_t begin[CAL_SNAPSHOT_HEAD] = {0};
    cal_checkpoint_buffer_move(words, begin, CAL_SNAPSHOT_HEAD);
    cal_status status = cal_checkpoint_buffer_check(words, error);
    if (status) return status;
    if (!cal_snapshot_has_events(begin[0]))
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        CAL_FROM_FILE "is of a simulation without events; this one has them: its shapes can touch",
                        path);
    if (begin[1] < CAL_SNAPSHOT_HEAD || begin[1] - CAL_SNAPSHOT_HEAD > words->left) return fail_unsound(path, error);
    image->count = image->capacity = (size_t)begin[1];
    image->words = cal_allocate(image->count, WORD);
    if (!image->words) return cal_fail(error, CAL_NO_MEMORY, "no memory to continue from '%.100s'", path);
    memcpy(image->words, begin, sizeof begin);
    cal_checkpoint_buffer_move(words, image->words + CAL_SNAPSHOT_HEAD, image->count - CAL_SNAPSHOT_HEAD);
    return cal_checkpoint_buffer_check(words, error);
}

static cal_status load_events(cal_sim* sim, const char* path, cal_error* error) {
    cal_checkpoint_buffer words;
    cal_image image = {0};
    char name[128];
    cal_status status = cal_checkpoint_buffer_open(&words, path, NULL, error);
    if (status) return status;
    snprintf(name, sizeof name, "'%.100s'", path);
    status = read_image(&words, path, &image, error);
    if (!status) status = cal_snapshot_restore(sim, &image, name, error);
    cal_image_free(&image);
    cal_checkpoint_buffer_close(&words, NULL);
    return status;
}

cal_status cal_sim_load(cal_sim* sim, const char* path, cal_error* error) {
    if (!sim || !path) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_load: sim and path must not be NULL");
    const cal_status still = cal_sim_check_still(sim, "cal_sim_load", error);
    if (still) return still;
    return sim->system ? load(sim->system, path, error) : load_events(sim, path, error);
}
