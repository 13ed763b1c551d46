// Simulations: a model, a plan and a solver advancing a state.
//
// The solver steps as far as it likes; what the user sees is its polynomial at the time that was asked for:
//
//          previous            time          ← the last accepted step
//        ────┼──────────────────┼────
//                     ▲ asked for            q, v
//
// An evaluation is one execution of the plan with the solver riding along. A force callback needs q and v before the
// forces: then the solver's preparation runs alone first.
//
// An advance that fails changes nothing: time, q and v stay those of the last good advance, and the next one starts
// there.
#include "solver/sim.h"
#include "pass/armstrong.h"
#include "base/error.h"
#include "base/memory.h"
#include "machine/machine.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const uint32_t COOKIE = 0x53494d31;
static const double HORIZON = 1.0; // a constant, so that a run's bits do not depend on how often it is looked at
enum { LARGEST_ORDER_GEAR = 12, LARGEST_ORDER_BDF = 5 };

cal_sim_def cal_default_sim_def(void) {
    return (cal_sim_def){.solver = "gear",
                         .algorithm = "aba",
                         .relative = 1e-4,
                         .step = 1e-3,
                         .stabilize = "projection",
                         .gain = 20.0,
                         .constraint_form = "lagrange",
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

static cal_status check_def(const cal_sim_def* def, cal_error* error) {
    if (def->cookie != COOKIE)
        return cal_fail(error, CAL_BAD_ARGUMENT, "the simulation's definition must come from cal_default_sim_def()");
    const cal_status status = check_solver(def, error);
    if (status) return status;
    const cal_program* program = def->algorithm ? cal_find_program(def->algorithm) : NULL;
    if (!program || !program->walked)
        return cal_fail(error, CAL_BAD_ARGUMENT, "algorithm '%.40s' cannot advance a simulation; use aba",
                        def->algorithm ? def->algorithm : "NULL");
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
    const int largest = strcmp(def->solver, "bdf") == 0 ? LARGEST_ORDER_BDF : LARGEST_ORDER_GEAR;
    if (def->largest_order < 0 || def->largest_order > largest)
        return cal_fail(error, CAL_BAD_ARGUMENT, "largest order of %s must be 0 (its own) to %d, not %d", def->solver,
                        largest, def->largest_order);
    const bool banded = strcmp(def->algorithm, "armstrong") == 0 &&
                        (strcmp(def->solver, "rk4") == 0 || strcmp(def->solver, "euler") == 0);
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

static cal_bdf_function bdf_function;

static bool allocate_motion(cal_sim* sim) {
    const size_t q_count = (size_t)sim->model->q_count, v_count = (size_t)sim->model->v_count;
    const size_t actuators = (size_t)sim->model->actuator_count;
    sim->q = cal_allocate(q_count + v_count, sizeof(double));
    sim->evaluated_q = cal_allocate(q_count + v_count, sizeof(double));
    sim->tau = cal_allocate(v_count, sizeof(double));
    sim->changed_tau = cal_allocate(v_count, sizeof(double));
    sim->accelerations = cal_allocate(v_count, sizeof(double));
    sim->control = cal_allocate(actuators, sizeof(double));
    sim->changed_control = cal_allocate(actuators, sizeof(double));
    sim->sample = cal_allocate(sim->plan->layout->y_size, sizeof(double));
    if (!sim->q || !sim->evaluated_q || !sim->tau || !sim->changed_tau || !sim->accelerations || !sim->control ||
        !sim->changed_control || !sim->sample)
        return false;
    sim->v = sim->q + q_count;
    sim->evaluated_v = sim->evaluated_q + q_count;
    return true;
}

static bool allocate_solver(cal_sim* sim) {
    const cal_solver_ops* ops = sim->ops;
    const size_t count = (size_t)ops->vector_count;
    // An odd number of cache lines, so that one component of all vectors does not fall into one set of the cache.
    sim->stride = 8 * ((sim->plan->layout->y_size + 7) / 8 | 1);
    sim->memory = cal_allocate(1, ops->control_size);
    sim->vectors = cal_allocate(count, sizeof(double*));
    sim->block = cal_allocate(count * sim->stride, sizeof(double));
    if (!sim->memory || !sim->vectors || !sim->block) return false;
    for (size_t i = 0; i < count; i++) sim->vectors[i] = sim->block + i * sim->stride;
    // Dead lanes keep what the fresh state gives them.
    memcpy(sim->vectors[0], sim->state->context.y, sim->plan->layout->y_size * sizeof(double));
    sim->context = (cal_solver_context){.layout = sim->plan->layout,
                                        .y = sim->state->context.y,
                                        .ydot = sim->state->context.ydot,
                                        .vectors = sim->vectors,
                                        .down = sim->down,
                                        .relative = sim->settings.relative,
                                        .absolute = sim->settings.absolute};
    return true;
}

static cal_status fill(cal_sim* sim, cal_error* error) {
    const cal_sim_def* def = &sim->def;
    cal_status status = CAL_OK;
    if (!sim->def.machine) {
        status = cal_machine_serial(0, &sim->own_machine, error);
        if (status) return status;
        sim->def.machine = sim->own_machine;
    }
    status = cal_plan_create_scheduled(sim->model, def->algorithm, def->schedule, def->machine, def->processor_of_joint,
                                       &sim->plan, error);
    if (def->schedule) snprintf(sim->schedule, sizeof sim->schedule, "%s", def->schedule);
    // What is the caller's memory is not looked at again.
    sim->def.processor_of_joint = NULL;
    sim->def.schedule = NULL;
    sim->ops = cal_find_solver(def->solver);
    sim->def.solver = sim->ops ? sim->ops->name : "bdf";
    sim->def.algorithm = cal_find_program(def->algorithm)->name;
    if (status) return status;
    status = cal_state_create(sim->plan, &sim->state);
    if (status) return cal_fail(error, status, "no memory for the simulation's state");
    const int components = sim->model->q_count + sim->model->v_count;
    sim->settings = (cal_solver_settings){.relative = def->relative,
                                          .absolute = def->absolute > 0.0 ? def->absolute : def->relative,
                                          .step = def->step,
                                          .largest_step = def->largest_step,
                                          .horizon = HORIZON,
                                          .largest_order = def->largest_order,
                                          .component_count = components > 0 ? components : 1};
    // These two test the error of a step, not that of a time; projections then keep what went wrong along the constraints.
    if (sim->model->constraint_count > 0 && (!sim->ops || sim->ops == &cal_solver_gear)) {
        sim->settings.relative = fmin(sim->settings.relative, fmax(0.1 * sim->settings.relative, 1e-12));
        sim->settings.absolute = fmin(sim->settings.absolute, fmax(0.1 * sim->settings.absolute, 1e-12));
    }
    if (!allocate_motion(sim)) return cal_fail(error, CAL_NO_MEMORY, "no memory for the simulation");
    cal_model_initial(sim->model, sim->q, sim->v, sim->control);
    status = cal_sim_create_constraints(sim, error);
    if (status) return status;
    if (sim->ops)
        return allocate_solver(sim) ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "no memory for solver %s", def->solver);
    status = cal_bdf_create(sim->plan, sim->state, &sim->settings, bdf_function, sim, &sim->bdf);
    if (status) return cal_fail(error, status, "solver bdf could not be made: %s", cal_status_text(status));
    cal_sim_project_bdf(sim);
    return CAL_OK;
}

cal_status cal_sim_create(const cal_model* model, const cal_sim_def* def, cal_sim** out, cal_error* error) {
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_create: out must not be NULL");
    *out = NULL;
    if (!model || !def) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_create: model and def must not be NULL");
    cal_status status = check_def(def, error);
    if (status) return status;
    cal_sim* sim = cal_allocate(1, sizeof *sim);
    if (!sim) return cal_fail(error, CAL_NO_MEMORY, "no memory for a simulation");
    sim->model = model;
    sim->def = *def;
    status = fill(sim, error);
    if (status) {
        cal_sim_destroy(sim);
        return status;
    }
    *out = sim;
    return CAL_OK;
}

static void close_query(cal_sim_query* energy_query) {
    cal_state_destroy(energy_query->state);
    cal_plan_destroy(energy_query->plan);
    cal_machine_destroy(energy_query->machine);
}

void cal_sim_destroy(cal_sim* sim) {
    if (!sim) return;
    cal_bdf_destroy(sim->bdf);
    close_query(&sim->energy_query);
    close_query(&sim->residual_query);
    close_query(&sim->constraint_query);
    close_query(&sim->joint_force_query);
    cal_constraints_destroy(sim->constraints);
    cal_minimal_destroy(sim->minimal);
    cal_state_destroy(sim->state);
    cal_plan_destroy(sim->plan);
    cal_machine_destroy(sim->own_machine);
    void* arrays[] = {sim->q,       sim->evaluated_q,     sim->tau,         sim->changed_tau,
                      sim->control, sim->changed_control, sim->pushes,      sim->memory,
                      sim->block,   sim->vectors,         sim->sample,      sim->raw,
                      sim->qdd,     sim->forces,          sim->none_active, sim->accelerations};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
    cal_free(sim);
}

static bool all_finite(const double* values, int count) {
    for (int i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

// --- Evaluations -----------------------------------------------------------------------------------------------------

cal_status cal_sim_apply_pushes(const cal_sim* sim, cal_state* state) {
    cal_state_release(state);
    for (int i = 0; i < sim->push_count; i++) {
        const cal_push* p = &sim->pushes[i];
        const cal_status status = cal_state_push(state, p->body, p->force, p->torque, p->point);
        if (status) return status;
    }
    return CAL_OK;
}

cal_status cal_sim_apply_forces(const cal_sim* sim, cal_state* state, const double* tau, const double* control) {
    cal_status status = cal_state_set(state, CAL_TAU, tau);
    if (!status && sim->model->actuator_count > 0) status = cal_state_set(state, CAL_CONTROL, control);
    return status;
}

cal_status cal_sim_apply(cal_sim* sim) {
    const cal_status status = cal_sim_apply_pushes(sim, sim->state);
    return status ? status : cal_sim_apply_forces(sim, sim->state, sim->tau, sim->control);
}

void cal_sim_call_back(cal_sim* sim, cal_state* state, double time, const double* q, const double* v) {
    memcpy(sim->changed_tau, sim->tau, (size_t)sim->model->v_count * sizeof(double));
    memcpy(sim->changed_control, sim->control, (size_t)sim->model->actuator_count * sizeof(double));
    cal_force_context context = {.model = sim->model,
                                 .time = time,
                                 .q = q,
                                 .v = v,
                                 .tau = sim->changed_tau,
                                 .control = sim->changed_control,
                                 .state = state};
    sim->def.force(&context, sim->def.user);
}

// Forces that depend on q and v as a whole, at the state's y: the user's callback's, then the constraints'.
static cal_status apply_motion_forces(cal_sim* sim) {
    const double *tau = sim->tau, *control = sim->control;
    cal_status status = cal_plan_gather(sim->plan, sim->state->context.y, sim->evaluated_q, sim->evaluated_v);
    if (status) return status;
    if (cal_sim_holds(sim)) cal_sim_project_before(sim);
    if (sim->def.force) {
        status = cal_sim_apply_pushes(sim, sim->state);
        if (status) return status;
        cal_sim_call_back(sim, sim->state, sim->state->time, sim->evaluated_q, sim->evaluated_v);
        tau = sim->changed_tau, control = sim->changed_control;
    }
    status = cal_sim_apply_forces(sim, sim->state, tau, control);
    return status || !cal_sim_holds(sim) ? status : cal_sim_add_constraint_forces(sim, tau, control);
}

static cal_status evaluate(cal_sim* sim, double time, const cal_solver_ops* ops, cal_solver_context* context,
                           double* sums) {
    bool prepared = false;
    if (sim->def.evaluation_limit > 0 && sim->spent >= sim->def.evaluation_limit) return CAL_NOT_CONVERGED;
    sim->spent++;
    sim->report.evaluations++;
    sim->state->time = time;
    sim->interpolates = false;
    if (sim->def.slow_band > 1) {
        const bool anew = !sim->slow_band || sim->report.steps % sim->def.slow_band == 0;
        sim->state->context.band = anew ? CAL_BAND_SLOW : CAL_BAND_FAST;
        sim->slow_band = true;
    }
    if (sim->def.force || cal_sim_holds(sim)) {
        cal_plan_prepare(sim->plan, sim->state, ops, context);
        const cal_status status = apply_motion_forces(sim);
        if (status) return status;
        prepared = true;
    }
    return cal_plan_run(sim->plan, sim->state, ops, context, prepared, sums);
}

static cal_status bdf_function(void* user, double time, const cal_solver_ops* ops, cal_solver_context* context,
                               double* sums) {
    return evaluate(user, time, ops, context, sums);
}

// --- Advancing -------------------------------------------------------------------------------------------------------

static cal_status start(cal_sim* sim) {
    cal_status status = cal_sim_apply(sim);
    if (status) return status;
    if (sim->ops) {
        cal_layout_scatter(sim->plan->layout, 0, sim->q, sim->v, sim->vectors[0]);
        sim->ops->start(sim->memory, &sim->settings, sim->time, sim->down, &sim->decision);
    } else {
        status = cal_bdf_start(sim->bdf, sim->time, sim->q, sim->v);
        if (status) return status;
    }
    sim->running = true;
    sim->interpolates = false;
    return CAL_OK;
}

// Says where and why an advance ended.
static cal_status fail(cal_sim* sim, cal_status status, double time, cal_error* error) {
    char name[80];
    if (sim->def.evaluation_limit > 0 && sim->spent >= sim->def.evaluation_limit && status == CAL_NOT_CONVERGED)
        return cal_fail(error, status,
                        "%s needs more than evaluation_limit = %lld evaluations to reach t = %g s; it is at t = %g s",
                        sim->def.solver, (long long)sim->def.evaluation_limit, time, sim->state->time);
    sim->running = false;
    if (sim->opened != CAL_NONE) {
        cal_model_constraint_name(sim->model, sim->opened, name, sizeof name);
        sim->opened = CAL_NONE;
        return cal_fail(error, status,
                        "constraint '%s' came apart at t = %g s; the state at t = %g s is kept: use a smaller step or "
                        "tolerance, or check whether constraints contradict each other",
                        name, sim->state->time, sim->time);
    }
    if (status == CAL_BAD_MODEL && cal_state_inconsistent(sim->state) >= 0)
        return cal_fail(error, status,
                        "constraint '%s' cannot be met together with the others at t = %g s: no motion keeps them all",
                        cal_model_constraint_name(sim->model, cal_state_inconsistent(sim->state), name, sizeof name),
                        sim->state->time);
    if (status == CAL_NOT_FINITE) {
        const int node = cal_state_find_not_finite(sim->state, sim->state->context.y, sim->state->context.ydot);
        if (node >= 0) cal_model_body_name(sim->model, sim->model->nodes[node].body, name, sizeof name);
        return cal_fail(error, status,
                        "body '%s' became infinite or not a number at t = %g s; the state at t = %g s is kept: use a "
                        "smaller step or tolerance, or check the forces",
                        node >= 0 ? name : "?", sim->state->time, sim->time);
    }
    if (status == CAL_NOT_CONVERGED)
        return cal_fail(error, status,
                        "%s cannot meet the tolerance %g at t = %g s; the state at t = %g s is kept: try another "
                        "tolerance or solver, or cal_sim_restart where forces jump",
                        sim->def.solver, sim->settings.relative, sim->state->time, sim->time);
    return cal_fail(error, status, "%s failed at t = %g s: %s", sim->def.solver, sim->state->time,
                    cal_status_text(status));
}

// The polynomial of one column's numbers, in the user's order.
typedef struct sampling {
    cal_sim* sim;
    double time;
    atomic_bool finite;
} sampling;

static void sample_column(void* argument, const cal_column* column) {
    sampling* at = argument;
    cal_sim* sim = at->sim;
    const cal_layout* layout = sim->plan->layout;
    sim->ops->interpolate(sim->memory, &sim->context, column, at->time, sim->sample);
    const int first = layout->block_y[column->first_block];
    if (!all_finite(sim->sample + first, layout->block_y[column->first_block + column->block_count] - first))
        atomic_store_explicit(&at->finite, false, memory_order_relaxed);
    cal_layout_gather_column(layout, column, sim->sample, sim->evaluated_q, sim->evaluated_v);
}

static cal_status take_sample(cal_sim* sim, double time) {
    sampling at = {sim, time, true};
    cal_status status = cal_plan_each(sim->plan, sample_column, &at);
    if (!status) status = cal_plan_collect(sim->plan, sim->evaluated_q, sim->evaluated_v);
    return status ? status : atomic_load(&at.finite) ? CAL_OK : CAL_NOT_FINITE;
}

// Closes the constraints at the end of the step that was just accepted. The correction is as small as the step's error, so the
// solver's history goes on with its value moved and its derivatives as they are: vectors[0], whether it holds the value at
// the end of the step or at its beginning.
static cal_status close_step(cal_sim* sim) {
    const cal_layout* layout = sim->plan->layout;
    const cal_model* model = sim->model;
    const size_t count = (size_t)model->q_count + (size_t)model->v_count;
    // A polynomial made of derivatives has the projected velocities already: what is to be corrected are the solver's own.
    cal_status status = sim->ops->keeps_end
                            ? cal_plan_gather(sim->plan, sim->vectors[0], sim->evaluated_q, sim->evaluated_v)
                            : take_sample(sim, sim->decision.time);
    if (status) return status;
    memcpy(sim->raw, sim->evaluated_q, count * sizeof(double));
    status = cal_sim_project_after(sim, sim->evaluated_q, sim->evaluated_v, true);
    if (status || !sim->projects) return status;
    double* y = sim->vectors[0];
    const double *raw_q = sim->raw, *raw_v = sim->raw + model->q_count;
    for (int i = 0; i < model->q_count; i++)
        if (layout->q_position[i] >= 0) y[layout->q_position[i]] += sim->evaluated_q[i] - raw_q[i];
    for (int i = 0; i < model->v_count; i++)
        if (layout->v_position[i] >= 0) y[layout->v_position[i]] += sim->evaluated_v[i] - raw_v[i];
    return CAL_OK;
}

static cal_status step_to(cal_sim* sim, double time) {
    while (sim->decision.time < time || !sim->interpolates) {
        cal_status status = evaluate(sim, sim->decision.evaluation_time, sim->ops, &sim->context, sim->sums);
        if (status) return status;
        status = sim->ops->control(sim->memory, sim->sums, sim->down, &sim->decision);
        sim->report.steps += sim->decision.accepted ? 1 : 0;
        sim->report.rejected += sim->decision.rejected ? 1 : 0;
        sim->interpolates = sim->decision.accepted;
        if (!status && sim->decision.accepted && cal_sim_holds(sim)) status = close_step(sim);
        if (cal_sim_holds(sim) && cal_sim_stuck(sim, status)) {
            status = cal_sim_step_over_singularity(sim, time);
            if (sim->stepped_over) return status;
        }
        if (status) return status;
    }
    return CAL_OK;
}

static cal_status advance_ops(cal_sim* sim, double time) {
    // The polynomial reaches back to the start of the last step, and only until something else was evaluated.
    if (sim->running && (time < sim->decision.previous || (time <= sim->decision.time && !sim->interpolates)))
        sim->running = false;
    cal_status status = sim->running ? CAL_OK : start(sim);
    sim->stepped_over = false;
    if (!status) status = step_to(sim, time);
    if (!status && !sim->stepped_over) status = take_sample(sim, time);
    if (status) return status;
    sim->report.step = sim->decision.step;
    sim->report.order = sim->decision.order;
    return CAL_OK;
}

static cal_status advance_bdf(cal_sim* sim, double time) {
    cal_bdf_report report;
    cal_status status = sim->running ? CAL_OK : start(sim);
    if (!status) status = cal_bdf_advance(sim->bdf, time, sim->evaluated_q, sim->evaluated_v);
    if (!status && !all_finite(sim->evaluated_q, sim->model->q_count + sim->model->v_count)) status = CAL_NOT_FINITE;
    cal_bdf_get_report(sim->bdf, &report);
    sim->report.steps = sim->before.steps + report.steps;
    sim->report.rejected = sim->before.rejected + report.rejected;
    sim->report.jacobian_evaluations = sim->before.jacobian_evaluations + report.jacobian_evaluations;
    sim->report.step = report.step;
    sim->report.order = report.order;
    if (status) sim->running = false;
    return status;
}

cal_status cal_sim_advance(cal_sim* sim, double time, cal_error* error) {
    if (!sim) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_advance: sim must not be NULL");
    if (!isfinite(time))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cannot advance to t = %g s: not a finite time", time);
    if (time < sim->time)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cannot advance back to t = %g s from t = %g s; use cal_sim_set", time,
                        sim->time);
    if (time == sim->time) return CAL_OK;
    sim->spent = 0;
    cal_status status = sim->running ? CAL_OK : cal_sim_check_start(sim, error);
    if (status) return status;
    status = sim->ops ? advance_ops(sim, time) : advance_bdf(sim, time);
    if (!status && cal_sim_holds(sim))
        status = cal_sim_project_after(sim, sim->evaluated_q, sim->evaluated_v, !sim->ops);
    if (status) return fail(sim, status, time, error);
    double* const old = sim->q;
    sim->q = sim->evaluated_q, sim->evaluated_q = old;
    sim->v = sim->q + sim->model->q_count, sim->evaluated_v = old + sim->model->q_count;
    sim->time = time;
    sim->energy_query.current = false;
    return CAL_OK;
}

int cal_sim_processors(const cal_sim* sim) { return cal_plan_processors(sim->plan); }
double cal_sim_time(const cal_sim* sim) { return sim->time; }
const double* cal_sim_q(const cal_sim* sim) { return sim->q; }
const double* cal_sim_v(const cal_sim* sim) { return sim->v; }

// --- Changing things -------------------------------------------------------------------------------------------------

// The first joint whose quaternion has no length; NULL when all have.
static const cal_joint* find_bad_quaternion(const cal_model* model, const double* q) {
    for (int i = 0; i < model->joint_count; i++) {
        const cal_joint* joint = &model->joints[i];
        if (joint->def->kind != CAL_BALL && joint->def->kind != CAL_FREE) continue;
        const double* p = q + joint->first_q + (joint->def->kind == CAL_FREE ? 3 : 0);
        const double length2 = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
        if (!(length2 > 0.0 && isfinite(length2))) return joint;
    }
    return NULL;
}

static void copy_position(const cal_model* model, const double* q, double* out) {
    memcpy(out, q, (size_t)model->q_count * sizeof(double));
    for (int i = 0; i < model->joint_count; i++) {
        const cal_joint* joint = &model->joints[i];
        if (joint->def->kind == CAL_BALL) cal_quaternion_normalize(out + joint->first_q);
        if (joint->def->kind == CAL_FREE) cal_quaternion_normalize(out + joint->first_q + 3);
    }
}

cal_status cal_sim_restart(cal_sim* sim) {
    if (!sim) return CAL_BAD_ARGUMENT;
    sim->running = false;
    return CAL_OK;
}

cal_status cal_sim_set(cal_sim* sim, double time, const double* q, const double* v, cal_error* error) {
    if (!sim) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_set: sim must not be NULL");
    if (!isfinite(time)) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_set: t = %g s is not a finite time", time);
    if (q && !all_finite(q, sim->model->q_count))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_set: q must be finite numbers");
    if (v && !all_finite(v, sim->model->v_count))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_set: v must be finite numbers");
    const cal_joint* bad = q ? find_bad_quaternion(sim->model, q) : NULL;
    if (bad) {
        char name[80];
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_set: the quaternion of joint '%s' has no length",
                        cal_model_joint_name(sim->model, (int)(bad - sim->model->joints), name, sizeof name));
    }
    if (q) copy_position(sim->model, q, sim->q);
    if (v) memcpy(sim->v, v, (size_t)sim->model->v_count * sizeof(double));
    sim->time = time;
    sim->energy_query.current = false;
    return cal_sim_restart(sim);
}

cal_status cal_sim_drive(cal_sim* sim, const double* tau, const double* control, cal_error* error) {
    if (!sim) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_drive: sim must not be NULL");
    if (tau && !all_finite(tau, sim->model->v_count))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_drive: joint forces must be finite numbers");
    if (control && !all_finite(control, sim->model->actuator_count))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_drive: controls must be finite numbers");
    if (tau) memcpy(sim->tau, tau, (size_t)sim->model->v_count * sizeof(double));
    if (control) memcpy(sim->control, control, (size_t)sim->model->actuator_count * sizeof(double));
    return cal_sim_restart(sim);
}

cal_status cal_sim_push(cal_sim* sim, int body, const double force[3], const double torque[3], const double point[3]) {
    if (!sim || !force || !torque || !point || body < 0 || body >= sim->model->body_count) return CAL_BAD_ARGUMENT;
    if (!all_finite(force, 3) || !all_finite(torque, 3) || !all_finite(point, 3)) return CAL_BAD_ARGUMENT;
    if (sim->push_count == sim->push_capacity) {
        const int capacity = 2 * sim->push_capacity + 8;
        cal_push* pushes = cal_allocate((size_t)capacity, sizeof *pushes);
        if (!pushes) return CAL_NO_MEMORY;
        if (sim->push_count > 0) memcpy(pushes, sim->pushes, (size_t)sim->push_count * sizeof *pushes);
        cal_free(sim->pushes);
        sim->pushes = pushes;
        sim->push_capacity = capacity;
    }
    cal_push* p = &sim->pushes[sim->push_count++];
    p->body = body;
    memcpy(p->force, force, sizeof p->force);
    memcpy(p->torque, torque, sizeof p->torque);
    memcpy(p->point, point, sizeof p->point);
    return cal_sim_restart(sim);
}

cal_status cal_sim_release(cal_sim* sim) {
    if (!sim) return CAL_BAD_ARGUMENT;
    sim->push_count = 0;
    return cal_sim_restart(sim);
}

// --- Looking at it ---------------------------------------------------------------------------------------------------

// Executes an algorithm at the simulation's q and v: on the cores of its machine where they share memory and the algorithm
// spreads over them, else on one.
static cal_status look(cal_sim* sim, cal_sim_query* o, const char* algorithm) {
    cal_status status = CAL_OK;
    cal_machine* machine = sim->def.machine;
    const bool spreads = machine->processors > 1 && machine->ops->each && cal_find_program(algorithm)->spreads;
    if (!spreads && !o->machine) status = cal_machine_serial(1, &o->machine, NULL);
    if (!spreads) machine = o->machine;
    if (!status && !o->plan) status = cal_plan_create(sim->model, algorithm, machine, &o->plan, NULL);
    if (!status && !o->state) status = cal_state_create(o->plan, &o->state);
    if (!status) status = cal_plan_scatter(o->plan, sim->q, sim->v, o->state->context.y);
    if (!status && o->plan->program->solves) status = cal_state_set(o->state, CAL_TAU, sim->tau);
    return status ? status : cal_plan_execute(o->plan, o->state, NULL);
}

static cal_status observe(cal_sim* sim) {
    if (sim->energy_query.current) return CAL_OK;
    const cal_status status = look(sim, &sim->energy_query, "energy");
    sim->energy_query.current = status == CAL_OK;
    return status;
}

cal_status cal_sim_check(cal_sim* sim, double* residual, int* body) {
    if (!sim || !residual || !body) return CAL_BAD_ARGUMENT;
    const cal_status status = look(sim, &sim->residual_query, sim->def.algorithm);
    return status ? status : cal_armstrong_check(sim->residual_query.state, residual, body);
}

cal_status cal_sim_energy(cal_sim* sim, double* kinetic, double* potential) {
    if (!sim || !kinetic || !potential) return CAL_BAD_ARGUMENT;
    double energy[2];
    cal_status status = observe(sim);
    if (!status) status = cal_state_get(sim->energy_query.state, CAL_ENERGY, energy);
    if (status) return status;
    *kinetic = energy[0];
    *potential = energy[1];
    return CAL_OK;
}

cal_status cal_sim_poses(cal_sim* sim, double* poses) {
    if (!sim || !poses) return CAL_BAD_ARGUMENT;
    const cal_status status = observe(sim);
    return status ? status : cal_state_get(sim->energy_query.state, CAL_POSE, poses);
}

uint64_t cal_sim_hash(const cal_sim* sim) {
    return cal_hash_motion(sim->time, sim->q, sim->model->q_count, sim->v, sim->model->v_count);
}

void cal_sim_get_report(const cal_sim* sim, cal_sim_report* out) {
    *out = sim->report;
    out->time = sim->time;
}
