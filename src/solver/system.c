// Systems: making them, changing them, looking at them. How they advance is in system_advance.c.
#include "base/error.h"
#include "base/finite.h"
#include "base/memory.h"
#include "machine/machine.h"
#include "model/coordinates.h"
#include "model/resting.h"
#include "pass/armstrong.h"
#include "pass/joint_law.h"
#include "solver/system_data.h"
#include <float.h>
#include <stdio.h>
#include <string.h>

static const uint32_t COOKIE = 0x53494d31;
static const double HORIZON = 1.0; // s: a constant, so that a run's bits do not depend on how often it is looked at

cal_sim_def cal_default_sim_def(void) {
    return (cal_sim_def){.solver = "auto",
                         .algorithm = "aba",
                         .relative = 1e-4,
                         .step = 1e-3,
                         .stabilize = "projection",
                         .gain = 20.0,
                         .constraint_form = "lagrange",
                         .contact = true,
                         .cookie = COOKIE};
}

// --- Making one ------------------------------------------------------------------------------------------------------

static cal_status check_solver(const cal_sim_def* def, cal_error* error) {
    if (!def->solver) return cal_fail(error, CAL_BAD_ARGUMENT, "solver must be a name, not NULL");
    if (strcmp(def->solver, "bdf") == 0) {
        if (cal_bdf_available()) return CAL_OK;
        return cal_fail(error, CAL_NOT_AVAILABLE,
                        "solver bdf was left out of this build: install SUNDIALS (libsundials-dev) and "
                        "build again, or use gear");
    }
    if (cal_find_solver(def->solver)) return CAL_OK;
    char names[128] = "";
    for (int i = 0; cal_solver_name(i); i++) {
        if (i > 0) strncat(names, ", ", sizeof names - strlen(names) - 1);
        strncat(names, cal_solver_name(i), sizeof names - strlen(names) - 1);
    }
    return cal_fail(error, CAL_BAD_ARGUMENT, "unknown solver '%.40s'; there are %s", def->solver, names);
}

cal_status cal_system_check_def(const cal_sim_def* def, cal_error* error) {
    if (def->cookie != COOKIE)
        return cal_fail(error, CAL_BAD_ARGUMENT, "the simulation's definition must come from cal_default_sim_def()");
    const cal_status status = check_solver(def, error);
    if (status) return status;
    const cal_program* program = def->algorithm ? cal_find_program(def->algorithm) : NULL;
    if (!program || !program->walked)
        return cal_fail(error, CAL_BAD_ARGUMENT, "algorithm '%.40s' cannot advance a simulation; use aba",
                        def->algorithm ? def->algorithm : "NULL");
    // Two values that differ by less are the same number, or next to each other.
    if (def->relative > 0.0 && def->relative < 4.0 * DBL_EPSILON)
        return cal_fail(error, CAL_BAD_ARGUMENT, "relative tolerance %g is below rounding: it must be at least %.2g",
                        def->relative, 4.0 * DBL_EPSILON);
    if (!(def->relative > 0.0 && def->relative <= 0.1))
        return cal_fail(error, CAL_BAD_ARGUMENT, "relative tolerance must be above 0 and at most 0.1, not %g",
                        def->relative);
    if (!(def->absolute >= 0.0 && def->absolute <= 0.1))
        return cal_fail(error, CAL_BAD_ARGUMENT, "absolute tolerance must be 0 (as the relative one) to 0.1, not %g",
                        def->absolute);
    if (!(def->step > 0.0 && isfinite(def->step)))
        return cal_fail(error, CAL_BAD_ARGUMENT, "step must be above 0 s, not %g", def->step);
    if (!(def->largest_step >= 0.0 && isfinite(def->largest_step)))
        return cal_fail(error, CAL_BAD_ARGUMENT, "largest step must be 0 (no bound) or more s, not %g",
                        def->largest_step);
    const int largest = strcmp(def->solver, "bdf") == 0 ? CAL_BDF_MAX_ORDER : CAL_MAX_ORDER;
    if (def->largest_order < 0 || def->largest_order > largest)
        return cal_fail(error, CAL_BAD_ARGUMENT, "largest order of %s must be 0 (its own) to %d, not %d", def->solver,
                        largest, def->largest_order);
    const bool banded = program && program->keeps && cal_solver_has_fixed_step(def->solver);
    if (def->slow_band < 0 || (def->slow_band > 1 && !banded))
        return cal_fail(
            error, CAL_BAD_ARGUMENT,
            "a slow band of %d steps: it must not be negative, and above 1 it is for algorithm armstrong with "
            "solver rk4 or euler",
            def->slow_band);
    if (def->evaluation_limit < 0)
        return cal_fail(error, CAL_BAD_ARGUMENT, "evaluation limit must be 0 (none) or more, not %lld",
                        (long long)def->evaluation_limit);
    return CAL_OK;
}

static bool allocate_motion(cal_system* system) {
    const size_t q_count = (size_t)system->model->q_count, v_count = (size_t)system->model->v_count;
    const size_t actuators = (size_t)system->model->actuator_count, drive = (size_t)cal_drive_count(system->model);
    system->activates = cal_model_has_activations(system->model);
    system->q = cal_allocate(q_count + v_count, sizeof(double));
    system->evaluated_q = cal_allocate(q_count + v_count, sizeof(double));
    system->tau = cal_allocate(v_count, sizeof(double));
    system->changed_tau = cal_allocate(v_count, sizeof(double));
    system->accelerations = cal_allocate(v_count, sizeof(double));
    system->control = cal_allocate(drive, sizeof(double));
    system->changed_control = cal_allocate(actuators, sizeof(double));
    const bool samples = system->plan->machine->ops->sample != NULL; // a device has it
    system->sample = cal_allocate(samples ? 1 : system->plan->layout->y_size, sizeof(double));
    if (!system->q || !system->evaluated_q || !system->tau || !system->changed_tau || !system->accelerations ||
        !system->control || !system->changed_control || !system->sample)
        return false;
    system->v = system->q + q_count;
    system->evaluated_v = system->evaluated_q + q_count;
    return true;
}

// Where a device copies q and v from and to.
static void each_motion(const cal_system* system, void (*act)(cal_machine* machine, void* memory, size_t bytes)) {
    const size_t bytes = ((size_t)system->model->q_count + (size_t)system->model->v_count) * sizeof(double);
    if (!act || !system->q || !system->evaluated_q) return;
    act(system->plan->machine, system->q, bytes);
    act(system->plan->machine, system->evaluated_q, bytes);
}

static bool allocate_solver(cal_system* system) {
    const cal_solver_ops* ops = system->ops;
    const size_t count = (size_t)ops->vector_count;
    // An odd number of cache lines, so that one component of all vectors does not fall into one set of the cache.
    system->stride = 8 * ((system->plan->layout->y_size + 7) / 8 | 1);
    system->memory = cal_allocate(1, ops->control_size);
    system->vectors = cal_allocate(count, sizeof(double*));
    system->block = cal_allocate(count * system->stride, sizeof(double));
    if (!system->memory || !system->vectors || !system->block) return false;
    for (size_t i = 0; i < count; i++) system->vectors[i] = system->block + i * system->stride;
    // Dead lanes keep what the fresh state gives them.
    memcpy(system->vectors[0], system->state->context.y, system->plan->layout->y_size * sizeof(double));
    system->context = (cal_solver_context){.layout = system->plan->layout,
                                           .y = system->state->context.y,
                                           .ydot = system->state->context.ydot,
                                           .vectors = system->vectors,
                                           .down = system->down,
                                           .relative = system->settings.relative,
                                           .absolute = system->settings.absolute,
                                           .scale = system->scale};
    return cal_system_create_probe(system);
}

// What a solver works with of a tolerance (NULL: BDF), not below 1e-12, where rounding begins to count.
static double part_of_tolerance(double tolerance, const cal_solver_ops* ops) {
    const double share = !ops ? CAL_BDF_TOLERANCE_SHARE : ops->tolerance_share > 0.0 ? ops->tolerance_share : 1.0;
    return fmin(tolerance, fmax(share * tolerance, 1e-12));
}

cal_solver_settings cal_system_settings(const cal_model* model, const cal_sim_def* def, const cal_solver_ops* ops) {
    const int components = model->q_count + model->v_count;
    cal_solver_settings settings = {.relative = def->relative,
                                    .historic = def->historic,
                                    .absolute = def->absolute > 0.0 ? def->absolute : def->relative,
                                    .step = def->step,
                                    .largest_step = def->largest_step,
                                    .horizon = HORIZON,
                                    .largest_order = def->largest_order,
                                    .component_count = components > 0 ? components : 1};
    if (!def->historic) {
        settings.relative = part_of_tolerance(settings.relative, ops);
        settings.absolute = part_of_tolerance(settings.absolute, ops);
    }
    return settings;
}

static cal_status fill(cal_system* system, cal_error* error) {
    const cal_sim_def* def = &system->def;
    cal_status status = CAL_OK;
    const cal_model* const user = system->model;
    if (cal_model_rests(user, system->rests)) {
        status = cal_model_create_resting(user, system->rests, &system->friction.model, error);
        if (status) return status;
        system->model = system->friction.model;
        if (!cal_system_create_friction(system, user))
            return cal_fail(error, CAL_NO_MEMORY, "no memory for joints that rest");
    }
    if (!system->def.machine) {
        status = cal_machine_serial(0, &system->own_machine, error);
        if (status) return status;
        system->def.machine = system->own_machine;
    }
    if (system->def.machine->device && strcmp(def->solver, "bdf") == 0)
        return cal_fail(error, CAL_NOT_AVAILABLE,
                        "solver bdf does not run on machine %s: use another solver or machine",
                        cal_machine_name(system->def.machine));
    status = cal_plan_create_scheduled(system->model, def->algorithm, def->schedule, def->machine,
                                       def->processor_of_joint, &system->plan, error);
    const char* schedule = cal_plan_schedule(cal_find_program(def->algorithm), def->machine, def->schedule);
    if (schedule) snprintf(system->schedule, sizeof system->schedule, "%s", schedule);
    // What is the caller's memory is not looked at again.
    system->def.processor_of_joint = NULL;
    system->def.schedule = NULL;
    system->ops = cal_find_solver(def->solver);
    system->def.solver = system->ops ? system->ops->name : "bdf";
    system->def.algorithm = cal_find_program(def->algorithm)->name;
    if (status) return status;
    status = cal_state_create(system->plan, &system->state);
    if (!status) system->state->interrupt = def->interrupt, system->state->interrupt_user = def->interrupt_user;
    if (status) return cal_fail(error, status, "no memory for the simulation's state");
    const int components = system->model->q_count + system->model->v_count;
    system->settings = cal_system_settings(system->model, def, system->ops);
    if (!allocate_motion(system)) return cal_fail(error, CAL_NO_MEMORY, "no memory for the simulation");
    each_motion(system, system->plan->machine->ops->pin);
    // Memory is given by the system when it is touched, which need not wait for the start.
    if (def->machine->device) memset(system->tau, 0, (size_t)system->model->v_count * sizeof(double));
    cal_flow_create(&system->flow, system->ops, system->down);
    system->has_powers = cal_joints_have_powers(system->model);
    cal_model_initial(system->model, system->q, system->v, NULL);
    cal_drive_start(system->model, 0.0, system->control);
    status = cal_system_create_constraints(system, error);
    if (status) return status;
    if (system->ops) {
        status = allocate_solver(system) ? cal_plan_ready(system->plan, system->state, system->ops, &system->context)
                                         : CAL_NO_MEMORY;
        return status ? cal_fail(error, status, "no memory for solver %s", def->solver) : CAL_OK;
    }
    system->begin = cal_allocate((size_t)components, sizeof(double));
    if (!system->begin) return cal_fail(error, CAL_NO_MEMORY, "no memory for solver bdf");
    status =
        cal_bdf_create(system->plan, system->state, &system->settings, cal_system_evaluate_bdf, system, &system->bdf);
    if (status) return cal_fail(error, status, "solver bdf could not be made: %s", cal_status_text(status));
    cal_system_project_bdf(system);
    return CAL_OK;
}

// What "auto" is. An explicit step is no longer than a few times what the fastest damper, spring, servo or drag of a medium takes: of those that are faster than
// this one, in 1/s, it would take a hundred times as many as errors ask for.
static const double WHEN_STIFF = 1e5;

bool cal_system_is_stiff(const cal_model* model) { return model->fastest_rate > WHEN_STIFF; }

static const char* choose_solver(const cal_model* model, const cal_sim_def* def) {
    const cal_program* program = cal_find_program(def->algorithm);
    // Without multipliers there is no implicit one.
    const bool minimal =
        model->constraint_count > 0 && def->constraint_form && strcmp(def->constraint_form, "minimal") == 0;
    const bool stiff = cal_system_is_stiff(model) && program && program->implicit && !def->historic && !minimal;
    return stiff && strcmp(def->solver, "auto") == 0 ? cal_solver_implicit.name : def->solver;
}

const char* cal_system_solver(const cal_system* system) { return system->def.solver; }

cal_status cal_system_create(const cal_model* model, const cal_sim_def* def, cal_system** out, cal_error* error) {
    return cal_system_create_as(model, def, CAL_REST_ALL, out, error);
}

cal_status cal_system_create_as(const cal_model* model, const cal_sim_def* def, cal_resting rests, cal_system** out,
                                cal_error* error) {
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_create: out must not be NULL");
    *out = NULL;
    if (!model || !def) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_create: model and def must not be NULL");
    cal_status status = cal_system_check_def(def, error);
    if (!status) status = cal_solver_check(cal_find_solver(def->solver), def->algorithm, error);
    if (status) return status;
    cal_system* system = cal_allocate(1, sizeof *system);
    if (!system) return cal_fail(error, CAL_NO_MEMORY, "no memory for a simulation");
    system->model = model;
    system->rests = rests;
    system->def = *def;
    system->def.solver = choose_solver(model, def);
    status = fill(system, error);
    if (status) {
        cal_system_destroy(system);
        return status;
    }
    *out = system;
    return CAL_OK;
}

static void close_query(cal_system_query* energy_query) {
    cal_state_destroy(energy_query->state);
    cal_plan_destroy(energy_query->plan);
    cal_machine_destroy(energy_query->machine);
}

void cal_system_destroy(cal_system* system) {
    if (!system) return;
    cal_bdf_destroy(system->bdf);
    close_query(&system->energy_query);
    close_query(&system->residual_query);
    close_query(&system->constraint_query);
    close_query(&system->joint_force_query);
    cal_push_paths_destroy(&system->paths);
    cal_constraints_destroy(system->constraints);
    cal_system_destroy_watch(system);
    cal_minimal_destroy(system->minimal);
    cal_state_destroy(system->state);
    if (system->plan) each_motion(system, system->plan->machine->ops->unpin);
    cal_plan_destroy_part(system->following);
    cal_plan_destroy_part(system->first_part);
    cal_plan_destroy_part(system->last_part);
    cal_plan_destroy(system->plan);
    cal_machine_destroy(system->own_machine);
    void* arrays[] = {system->q,           system->evaluated_q,  system->tau,
                      system->changed_tau, system->control,      system->changed_control,
                      system->pushes,      system->memory,       system->block,
                      system->vectors,     system->sample,       system->raw,
                      system->qdd,         system->forces,       system->accelerations,
                      system->begin,       system->last.numbers, system->added,
                      system->scale,       system->kept};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
    cal_system_destroy_friction(system);
    cal_free(system);
}

int cal_system_processors(const cal_system* system) { return cal_plan_processors(system->plan); }
double cal_system_time(const cal_system* system) { return system->time; }
const double* cal_system_q(const cal_system* system) { return system->q; }
const double* cal_system_v(const cal_system* system) { return system->v; }
const double* cal_system_control(const cal_system* system) { return system->control; }

// --- Changing things -------------------------------------------------------------------------------------------------

void cal_system_restart(cal_system* system) { system->running = system->replays = false; }

void cal_system_moved(cal_system* system) {
    cal_system_forget_energy(system);
    cal_system_restart(system);
}

cal_status cal_system_set(cal_system* system, double time, const double* q, const double* v, cal_error* error) {
    if (!isfinite(time)) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_set: t = %g s is not a finite time", time);
    if (q && !cal_all_finite(q, system->model->q_count))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_set: q must be finite numbers");
    if (v && !cal_all_finite(v, system->model->v_count))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_set: v must be finite numbers");
    const cal_joint* bad = q ? cal_model_find_bad_quaternion(system->model, q) : NULL;
    if (bad) {
        char name[80];
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_set: the quaternion of joint '%s' has no length",
                        cal_model_joint_name(system->model, (int)(bad - system->model->joints), name, sizeof name));
    }
    if (q) memcpy(system->q, q, (size_t)system->model->q_count * sizeof(double));
    if (q) cal_model_normalize(system->model, system->q);
    if (v) memcpy(system->v, v, (size_t)system->model->v_count * sizeof(double));
    system->time = time;
    system->account.begun = 0;
    cal_system_moved(system);
    return CAL_OK;
}

cal_status cal_system_drive(cal_system* system, const double* tau, const double* control, cal_error* error) {
    if (tau && !cal_all_finite(tau, system->model->v_count))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_drive: joint forces must be finite numbers");
    if (control && !cal_all_finite(control, system->model->actuator_count))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_drive: controls must be finite numbers");
    if (tau) memcpy(system->tau, tau, (size_t)system->model->v_count * sizeof(double));
    cal_drive_change(system->model, system->time, control, system->control);
    cal_system_restart(system);
    return CAL_OK;
}

void cal_system_activate(cal_system* system, const double* activations) {
    cal_drive_activate(system->model, system->time, activations, system->control);
    cal_system_restart(system);
}

void cal_system_carry_activations(cal_system* system, double from) {
    cal_drive_move(system->model, from, system->time, system->control);
}

const double* cal_system_inputs(cal_system* system, double time) {
    if (!system->activates) return system->control;
    cal_drive_inputs(system->model, system->control, time, system->changed_control);
    return system->changed_control;
}

bool cal_system_reserve_pushes(cal_system* system, int count) {
    if (count <= system->push_capacity) return true;
    const int capacity = 2 * count + 6;
    cal_outer_force* pushes = cal_allocate((size_t)capacity, sizeof *pushes);
    if (!pushes) return false;
    if (system->push_count > 0) memcpy(pushes, system->pushes, (size_t)system->push_count * sizeof *pushes);
    cal_free(system->pushes);
    system->pushes = pushes;
    system->push_capacity = capacity;
    return true;
}

cal_status cal_system_push(cal_system* system, int body, const double force[3], const double torque[3],
                           const double point[3]) {
    static const double none[3] = {0.0, 0.0, 0.0};
    if (body < 0 || body >= system->model->body_count) return CAL_BAD_ARGUMENT;
    force = force ? force : none, torque = torque ? torque : none, point = point ? point : none;
    if (!cal_all_finite(force, 3) || !cal_all_finite(torque, 3) || !cal_all_finite(point, 3)) return CAL_BAD_ARGUMENT;
    if (!cal_system_reserve_pushes(system, system->push_count + 1)) return CAL_NO_MEMORY;
    cal_outer_force* p = &system->pushes[system->push_count++];
    p->body = body;
    memcpy(p->force, force, sizeof p->force);
    memcpy(p->torque, torque, sizeof p->torque);
    memcpy(p->point, point, sizeof p->point);
    cal_system_restart(system);
    return CAL_OK;
}

void cal_system_release(cal_system* system) {
    system->push_count = 0;
    cal_system_restart(system);
}

cal_status cal_system_act(cal_system* system, const double* tau, const double* control, const double* active,
                          const cal_outer_force* pushes, int push_count) {
    if (!cal_system_reserve_pushes(system, push_count)) return CAL_NO_MEMORY;
    const cal_model* model = system->model;
    memcpy(system->tau, tau, (size_t)model->v_count * sizeof *tau);
    memcpy(system->control, control, (size_t)cal_drive_count(model) * sizeof *control);
    if (push_count > 0) memcpy(system->pushes, pushes, (size_t)push_count * sizeof *pushes);
    system->push_count = push_count;
    for (int i = 0; i < cal_system_own_constraints(system); i++)
        if ((active[i] != 0.0) != system->constraints->active[i])
            cal_constraints_activate(system->constraints, i, active[i] != 0.0);
    cal_system_moved(system);
    return CAL_OK;
}

void cal_system_limit(cal_system* system, double first_step, double largest_step) {
    system->settings.first_step = first_step;
    system->settings.largest_step = largest_step > 0.0 ? largest_step : system->def.largest_step;
}

cal_status cal_system_set_scales(cal_system* system, const double* q, const double* v) {
    if (!system->ops) return CAL_OK;
    const size_t size = system->plan->layout->y_size;
    if (!system->scale) system->scale = cal_allocate(size, sizeof *system->scale);
    if (!system->scale) return CAL_NO_MEMORY;
    for (size_t i = 0; i < size; i++) system->scale[i] = 1.0; // of dead lanes
    cal_layout_scatter(system->plan->layout, 0, q, v, system->scale);
    system->context.scale = system->scale;
    cal_state_changed(system->state, CAL_HELD_SCALE);
    return CAL_OK;
}

// --- Looking at it ---------------------------------------------------------------------------------------------------

// Of a model on a device: from so many joints on all cores of the host look at it, which takes about a millisecond on one.
enum { MANY_JOINTS = 20000 };

static cal_status open_host(const cal_system* system, const cal_program* program, cal_machine** out) {
    const bool many = system->def.machine->device && program->spreads && system->model->joint_count >= MANY_JOINTS;
    cal_threads_def def = cal_default_threads_def();
    def.lanes = 1;
    return many ? cal_machine_threads(&def, out, NULL) : cal_machine_serial(1, out, NULL);
}

// Columns in equal parts.
typedef struct host_columns {
    const cal_layout* layout;
    cal_column_function* function;
    void* argument;
    int processors;
} host_columns;

static void do_columns(void* argument, int processor) {
    const host_columns* work = argument;
    const int64_t count = work->layout->column_count;
    const int first = (int)(count * processor / work->processors),
              end = (int)(count * (processor + 1) / work->processors);
    for (int i = first; i < end; i++) work->function(work->argument, &work->layout->columns[i]);
}

cal_status cal_system_each_column(cal_system* system, cal_column_function* function, void* argument) {
    cal_system_query* o = &system->energy_query; // whose cores these are
    if (!system->def.machine->device || system->model->joint_count < MANY_JOINTS)
        return cal_plan_each(system->plan, function, argument);
    cal_status status = o->machine ? CAL_OK : open_host(system, &cal_program_energy, &o->machine);
    if (status) return status;
    if (!o->machine->ops->together) return cal_plan_each(system->plan, function, argument);
    host_columns work = {system->plan->layout, function, argument, o->machine->processors};
    return o->machine->ops->together(o->machine, do_columns, &work, work.processors);
}

// Executes an algorithm at q and v: on the cores of its machine where they share memory and the algorithm
// spreads over them, else on one; on those of the host where the machine is a device.
static cal_status look(cal_system* system, cal_system_query* o, const char* algorithm, const double* q,
                       const double* v) {
    cal_status status = CAL_OK;
    cal_machine* machine = system->def.machine;
    const cal_program* program = cal_find_program(algorithm);
    const bool spreads = machine->processors > 1 && machine->ops->each && program->spreads;
    if (!spreads && !o->machine) status = open_host(system, program, &o->machine);
    if (!spreads) machine = o->machine;
    if (!status && !o->plan) status = cal_plan_create(system->model, algorithm, machine, &o->plan, NULL);
    if (!status && !o->state) status = cal_state_create(o->plan, &o->state);
    if (!status) cal_state_changed(o->state, CAL_HELD_Y);
    if (!status) status = cal_plan_scatter(o->plan, q, v, o->state->context.y);
    if (!status && o->plan->program->solves) status = cal_state_set(o->state, CAL_TAU, system->tau);
    return status ? status : cal_plan_execute(o->plan, o->state, NULL);
}

static cal_status observe(cal_system* system) {
    if (system->energy_query.current) return CAL_OK;
    const cal_status status = look(system, &system->energy_query, "energy", system->q, system->v);
    system->energy_query.current = status == CAL_OK;
    return status;
}

cal_status cal_system_check(cal_system* system, double* residual, int* body) {
    if (!residual || !body) return CAL_BAD_ARGUMENT;
    // With a slow band accelerations are not those of the present state: what was computed last is checked, where it was computed.
    if (system->def.slow_band > 1 && system->slow_band)
        return cal_armstrong_check(&system->state->context, residual, body);
    const cal_status status = look(system, &system->residual_query, system->def.algorithm, system->q, system->v);
    return status ? status : cal_armstrong_check(&system->residual_query.state->context, residual, body);
}

cal_status cal_system_energy(cal_system* system, double* kinetic, double* potential) {
    if (!kinetic || !potential) return CAL_BAD_ARGUMENT;
    double energy[CAL_MAX_SUMS];
    const cal_machine_ops* ops = system->def.machine->ops;
    cal_status status = system->sampled && !system->energy_query.current && ops->energy
                            ? ops->energy(system->def.machine, system->plan, system->state, energy)
                            : CAL_NOT_AVAILABLE;
    if (status == CAL_NOT_AVAILABLE) {
        status = observe(system);
        if (!status) status = cal_state_get(system->energy_query.state, CAL_ENERGY, energy);
    }
    if (status) return status;
    *kinetic = energy[0];
    *potential = energy[1];
    return CAL_OK;
}

cal_status cal_system_find_energy(cal_system* system, const double* q, const double* v, double energy[2]) {
    system->energy_query.current = false;
    const cal_status status = look(system, &system->energy_query, "energy", q, v);
    return status ? status : cal_state_get(system->energy_query.state, CAL_ENERGY, energy);
}

cal_status cal_system_poses(cal_system* system, double* poses) {
    if (!poses) return CAL_BAD_ARGUMENT;
    const cal_status status = observe(system);
    return status ? status : cal_state_get(system->energy_query.state, CAL_POSE, poses);
}

uint64_t cal_system_hash(const cal_system* system) {
    const cal_model* model = system->model;
    return cal_drive_hash(model, system->control, system->time,
                          cal_hash_motion(system->time, system->q, model->q_count, system->v, model->v_count));
}

void cal_system_get_report(const cal_system* system, cal_sim_report* out) {
    *out = system->report;
    out->time = system->time;
}
