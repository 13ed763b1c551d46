// Systems: how they advance.
//
// An evaluation is one execution of the plan with the solver riding along. A force callback needs q and v before the
// forces, and so do constraints: then the solver's preparation runs alone first.
//
// An advance or a step that fails changes nothing: time, q and v stay those of the last good one, and the next one starts
// there.
#include "base/error.h"
#include "base/finite.h"
#include "constraint/directions.h"
#include "plan/machine_ops.h"
#include "solver/system_data.h"
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

// --- Evaluations -----------------------------------------------------------------------------------------------------

// Whether the advance shall end after the step that was just accepted; of ranks, what all of them were told with the step's last sums.
static bool is_interrupted(const cal_system* system) {
    const cal_sim_def* def = &system->def;
    if (def->interrupt == NULL) return false;
    return system->plan->machine->ops->share != NULL ? system->state->interrupted : def->interrupt(def->interrupt_user);
}

static bool gets_on(cal_system* system) {
    return (system->ops && system->ops->fixed_step) || cal_headway_gets_on(&system->headway, system->settings.horizon);
}

static cal_status evaluate(cal_system* system, double time, const cal_solver_ops* ops, cal_solver_context* context,
                           double* sums) {
    double all[CAL_MAX_SUMS];
    bool prepared = false;
    if (!gets_on(system)) return CAL_NOT_CONVERGED;
    if (system->def.evaluation_limit > 0 && system->spent >= system->def.evaluation_limit) return CAL_NOT_CONVERGED;
    system->spent++;
    system->report.evaluations++;
    system->state->time = time;
    system->interpolates = system->last.valid = false;
    if (system->def.slow_band > 1) {
        const bool anew = !system->slow_band || system->report.steps % system->def.slow_band == 0;
        system->state->context.reuse = anew ? CAL_REUSE_KEEP : CAL_REUSE_KEPT;
        system->slow_band = true;
    }
    cal_flow_prepare(&system->flow);
    system->held = system->accelerated = system->joined = false;
    const bool powers = cal_system_needs_powers(system);
    if (context->powers) context->powers = false; // not written where it stays: other cores have it
    if (system->def.force || cal_system_holds(system) || system->push_count > 0 || system->friction.count > 0) {
        cal_status status = cal_plan_prepare(system->plan, system->state, ops, context);
        if (!status) status = cal_system_apply_motion_forces(system);
        if (status) return status;
        prepared = true;
    } else if (system->activates) {
        const cal_status status = cal_state_set(system->state, CAL_CONTROL, cal_system_inputs(system, time));
        if (status) return status;
    }
    if (powers) context->powers = true;
    const cal_plan* part = system->joined ? system->last_part : system->following;
    const cal_status status = system->accelerated
                                  ? cal_plan_follow(system->plan, part, system->state, ops, context, all)
                                  : cal_plan_run(system->plan, system->state, ops, context, prepared, all);
    if (status) return status;
    memcpy(sums, all, (size_t)ops->sum_count * sizeof *sums);
    const cal_status followed = cal_system_follow_flows(system, context->powers ? all + ops->sum_count : NULL, sums);
    return followed ? followed : cal_system_close_reached(system);
}

cal_status cal_system_evaluate_bdf(void* user, double time, const cal_solver_ops* ops, cal_solver_context* context,
                                   double* sums) {
    return evaluate(user, time, ops, context, sums);
}

// --- Advancing -------------------------------------------------------------------------------------------------------

static void read_bdf_report(cal_system* system) {
    cal_bdf_report report;
    cal_bdf_get_report(system->bdf, &report);
    system->report.steps = system->before.steps + report.steps;
    system->report.rejected = system->before.rejected + report.rejected;
    system->report.jacobian_evaluations = system->before.jacobian_evaluations + report.jacobian_evaluations;
    system->report.step = report.step;
    system->report.order = report.order;
}

// One step of BDF, and what flowed in it.
static cal_status take_bdf_step(cal_system* system, double* from, double* to) {
    cal_system_bound_bdf(system);
    cal_status status = cal_bdf_step(system->bdf, from, to);
    if (!status) status = cal_bdf_sample(system->bdf, *to, system->evaluated_q, system->evaluated_v);
    if (!status) system->headway.reached = *to;
    return status ? status : cal_system_accept_bdf(system, *to);
}

// Takes BDF's steps again that were taken when the system was stored. They do not count a second time.
static cal_status replay(cal_system* system) {
    const cal_sim_report report = system->report;
    const double error_max = system->error_max, error_sum = system->error_sum;
    const int64_t error_steps = system->error_steps;
    cal_status status = CAL_OK;
    double from, to;
    for (int64_t i = 0; i < system->replay_steps && !status; i++) {
        system->spent = 0;
        status = take_bdf_step(system, &from, &to);
        if (!status && i + 1 < system->replay_steps && is_interrupted(system)) status = CAL_INTERRUPTED;
    }
    system->spent = 0;
    system->report = report;
    system->error_max = error_max, system->error_sum = error_sum, system->error_steps = error_steps;
    cal_system_count_from(system, &report);
    return status;
}

void cal_system_count_from(cal_system* system, const cal_sim_report* report) {
    cal_bdf_report counts;
    cal_bdf_get_report(system->bdf, &counts);
    system->before =
        (cal_bdf_report){.steps = report->steps - counts.steps,
                         .rejected = report->rejected - counts.rejected,
                         .jacobian_evaluations = report->jacobian_evaluations - counts.jacobian_evaluations};
}

static cal_status start_bdf(cal_system* system) {
    const size_t q_count = (size_t)system->model->q_count, v_count = (size_t)system->model->v_count;
    if (!system->replays) {
        system->begin_time = system->time;
        memcpy(system->begin, system->q, (q_count + v_count) * sizeof(double));
        system->flow.memory.begin = system->flow.memory.now;
    }
    const cal_flows now = system->flow.memory.now;
    system->flow.memory.now = system->flow.memory.begin;
    cal_flow_start(&system->flow);
    system->flow.memory.now = now;
    cal_status status = cal_bdf_start(system->bdf, system->begin_time, system->begin, system->begin + q_count);
    if (!status && system->replays) status = replay(system);
    if (!status) system->replays = false;
    return status;
}

static void place_column(void* argument, const cal_column* column) {
    const cal_system* system = argument;
    cal_layout_scatter_column(system->plan->layout, column, system->q, system->v, system->vectors[0]);
}

static cal_status start(cal_system* system) {
    cal_status status = cal_system_apply(system);
    if (status) return status;
    cal_system_begin_passages(system);
    const double due = system->watch.due; // in the step that a replay ends with
    cal_system_begin_watch(system);
    if (system->replays) system->watch.due = due;
    system->headway = (cal_headway){.reached = system->replays ? system->begin_time : system->time};
    system->calm_reach = 0.0;
    if (system->constraints) cal_directions_forget(system->constraints);
    if (system->ops) {
        const bool places = system->plan->machine->ops->place != NULL;
        status = places
                     ? cal_plan_place(system->plan, system->state, system->ops, &system->context, system->q, system->v)
                     : cal_system_each_column(system, place_column, system);
        if (status) return status;
        if (!places) cal_state_changed(system->state, CAL_HELD_FIRST);
        cal_flow_start(&system->flow);
        system->ops->start(system->memory, &system->settings, system->time, system->down, &system->decision);
    } else {
        status = start_bdf(system);
        if (status) return status;
    }
    system->running = true;
    system->interpolates = system->last.valid = false;
    return CAL_OK;
}

static cal_status fail_interrupted(const cal_system* system, double time, cal_error* error) {
    return cal_fail(error, CAL_INTERRUPTED, "interrupted at t = %g s, on the way to t = %g s", system->time, time);
}

// Says where and why an advance to a time ended, or a step (to infinity).
static cal_status fail(cal_system* system, cal_status status, double time, cal_error* error) {
    char name[80];
    // While steps of BDF are taken again that had come to the present state.
    if (status == CAL_INTERRUPTED) return fail_interrupted(system, time, error);
    const bool limited = system->def.evaluation_limit > 0 && system->spent >= system->def.evaluation_limit;
    if (limited && status == CAL_NOT_CONVERGED && isinf(time))
        return cal_fail(error, status, "%s needs more than evaluation_limit = %lld evaluations for a step at t = %g s",
                        system->def.solver, (long long)system->def.evaluation_limit, system->state->time);
    if (limited && status == CAL_NOT_CONVERGED)
        return cal_fail(error, status,
                        "%s needs more than evaluation_limit = %lld evaluations to reach t = %g s; it is at t = %g s",
                        system->def.solver, (long long)system->def.evaluation_limit, time, system->state->time);
    system->running = false;
    const bool near = system->passage.near || system->passage.open;
    char why[96] = "";
    if (near)
        snprintf(why, sizeof why, ", next to a singular position of the constraints (condition %.2g)",
                 1.0 / fmax(system->passage.distance, DBL_EPSILON));
    cal_solver_failure failure = {.solver = system->def.solver,
                                  .tolerance = system->def.relative,
                                  .horizon = system->settings.horizon,
                                  .at = system->state->time,
                                  .kept = system->time,
                                  .headway = &system->headway,
                                  .near = why};
    if (system->headway.lost) return cal_solver_fail(&failure, status, error);
    if (system->minimal && status == CAL_NOT_AVAILABLE) return cal_system_explain_form(system, error);
    if (system->opened != CAL_NONE) {
        cal_model_constraint_name(system->model, system->opened, name, sizeof name);
        system->opened = CAL_NONE;
        return cal_fail(
            error, status,
            "constraint '%s' came apart at t = %g s%s; the state at t = %g s is kept: use a smaller step or "
            "tolerance, or check whether constraints contradict each other",
            name, system->state->time, why, system->time);
    }
    char bad[192];
    if (status == CAL_NOT_FINITE && cal_system_find_bad_force(system, bad, sizeof bad))
        return cal_fail(error, status,
                        "the force callback gave %s that is not a number at t = %g s; the state at t = %g s is kept",
                        bad, system->state->time, system->time);
    // A solver that rode along has left no ydot of brief columns.
    if (status == CAL_NOT_FINITE && system->plan->streams)
        (void)cal_plan_run(system->plan, system->state, NULL, NULL, true, NULL);
    if (status == CAL_NOT_FINITE && cal_state_bring(system->state, CAL_HELD_MOTION) == CAL_OK) {
        const int node =
            cal_layout_find_not_finite(system->plan->layout, 0, system->state->context.y, system->state->context.ydot);
        if (node >= 0)
            failure.body = cal_model_body_name(system->model, system->model->nodes[node].body, name, sizeof name);
    }
    return cal_solver_fail(&failure, status, error);
}

// One column's numbers of a sample, in the user's order.
typedef struct sampling {
    cal_system* system;
    atomic_bool finite;
} sampling;

static void sample_column(void* argument, const cal_column* column) {
    sampling* at = argument;
    cal_system* system = at->system;
    const cal_layout* layout = system->plan->layout;
    const int first = layout->block_y[column->first_block];
    if (!cal_all_finite(system->sample + first, layout->block_y[column->first_block + column->block_count] - first))
        atomic_store_explicit(&at->finite, false, memory_order_relaxed);
    cal_layout_gather_column(layout, column, system->sample, system->evaluated_q, system->evaluated_v);
}

static cal_status take_sample(cal_system* system, double time) {
    sampling at = {system, true};
    system->sample_time = time;
    system->sampled = false;
    if (system->plan->machine->ops->sample)
        return cal_plan_sample(system->plan, system->state, system->ops, system->memory, &system->context, time,
                               system->evaluated_q, system->evaluated_v);
    cal_status status = cal_plan_interpolate(system->plan, system->state, system->ops, system->memory, &system->context,
                                             time, system->sample);
    if (!status) status = cal_system_each_column(system, sample_column, &at);
    if (!status) status = cal_plan_collect(system->plan, system->evaluated_q, system->evaluated_v);
    return status ? status : atomic_load(&at.finite) ? CAL_OK : CAL_NOT_FINITE;
}

// Closes the constraints at the end of the step that was just accepted. The correction is as small as the step's error, so the
// solver's history goes on with its value moved and its derivatives as they are: vectors[0], whether it holds the value at
// the end of the step or at its beginning.
static cal_status close_step(cal_system* system) {
    const cal_layout* layout = system->plan->layout;
    const cal_model* model = system->model;
    const size_t count = (size_t)model->q_count + (size_t)model->v_count;
    // A polynomial made of derivatives has the projected velocities already: what is to be corrected are the solver's own.
    cal_status status = cal_state_bring(system->state, CAL_HELD_VECTORS);
    if (!status)
        status = system->ops->keeps_end
                     ? cal_plan_gather(system->plan, system->vectors[0], system->evaluated_q, system->evaluated_v)
                     : take_sample(system, system->decision.time);
    if (status) return status;
    memcpy(system->raw, system->evaluated_q, count * sizeof(double));
    status = cal_system_close_step(system, system->decision.time, system->evaluated_q, system->evaluated_v);
    if (status || !system->projects) return status;
    double* y = system->vectors[0];
    const double *raw_q = system->raw, *raw_v = system->raw + model->q_count;
    for (int i = 0; i < model->q_count; i++)
        if (layout->q_position[i] >= 0) y[layout->q_position[i]] += system->evaluated_q[i] - raw_q[i];
    for (int i = 0; i < model->v_count; i++)
        if (layout->v_position[i] >= 0) y[layout->v_position[i]] += system->evaluated_v[i] - raw_v[i];
    cal_layout_repeat_y(layout, y);
    cal_state_changed(system->state, CAL_HELD_FIRST);
    return CAL_OK;
}

// One evaluation, and what control makes of it. Does not go over singular positions beyond `time`.
static cal_status attempt(cal_system* system, double time) {
    cal_status status = evaluate(system, system->decision.evaluation_time, system->ops, &system->context, system->sums);
    if (status) return status;
    status = system->ops->control(system->memory, system->sums, system->down, &system->decision);
    system->report.steps += system->decision.accepted ? 1 : 0;
    system->report.rejected += system->decision.rejected ? 1 : 0;
    system->interpolates = system->decision.accepted;
    system->closed = 0.0;
    if (!status && system->decision.accepted && cal_system_holds(system)) {
        cal_directions_keep(system->constraints);
        status = close_step(system);
    }
    if (!status && system->decision.accepted)
        cal_flow_accept(&system->flow, system->memory, system->decision.time, system->closed);
    if (cal_system_holds(system) && cal_system_stuck(system, status))
        status = cal_system_step_over_singularity(system, time, status);
    system->headway.reached = system->decision.time;
    return status;
}

static bool find_last_step(const cal_system* system, double* from, double* to);

// Whether something happens in the step that was just accepted.
static cal_status watch(cal_system* system) {
    double from, to;
    if ((cal_system_waiting(system) == 0 && system->friction.count == 0) || !find_last_step(system, &from, &to))
        return CAL_OK;
    return cal_system_watch_step(system, from, to);
}

// *end: where it shall end, earlier where it is interrupted: at the end of a step.
static cal_status step_to(cal_system* system, double time, double* end) {
    cal_status status = CAL_OK;
    while (!status && !system->stepped_over &&
           (system->decision.time < fmin(time, system->watch.due) || !system->interpolates)) {
        status = attempt(system, time);
        if (!status) status = watch(system);
        const bool inside =
            system->interpolates && !system->stepped_over && system->decision.time < fmin(time, system->watch.due);
        if (!status && inside && is_interrupted(system)) {
            *end = system->decision.time;
            return CAL_OK;
        }
    }
    *end = fmin(time, system->watch.due);
    return status;
}

static void read_decision(cal_system* system) {
    system->report.step = system->decision.step;
    system->report.order = system->decision.order;
}

static cal_status advance_ops(cal_system* system, double time, double* end) {
    // The polynomial reaches back to the start of the last step, and only until something else was evaluated.
    if (system->running &&
        (time < system->decision.previous || (time <= system->decision.time && !system->interpolates)))
        system->running = false;
    cal_status status = system->running ? CAL_OK : start(system);
    system->stepped_over = false;
    if (!status) status = step_to(system, time, end);
    if (!status && !system->stepped_over) status = take_sample(system, *end);
    if (!status) read_decision(system);
    return status;
}

static cal_status advance_bdf(cal_system* system, double time, double* end) {
    cal_status status = system->running ? CAL_OK : start(system);
    double from = 0.0, reached = 0.0;
    bool interrupted = false;
    if (!status) (void)cal_bdf_last_step(system->bdf, &from, &reached);
    while (!status && !interrupted && reached < fmin(time, system->watch.due)) {
        status = take_bdf_step(system, &from, &reached);
        if (!status) status = watch(system);
        interrupted = !status && reached < fmin(time, system->watch.due) && is_interrupted(system);
    }
    *end = interrupted ? reached : fmin(time, system->watch.due);
    if (!status) status = cal_bdf_sample(system->bdf, *end, system->evaluated_q, system->evaluated_v);
    if (!status && !cal_all_finite(system->evaluated_q, system->model->q_count + system->model->v_count))
        status = CAL_NOT_FINITE;
    read_bdf_report(system);
    if (status) system->running = false;
    return status;
}

// Time, q and v become those of evaluated_q and evaluated_v.
static void adopt(cal_system* system, double time) {
    system->flow.memory.now = cal_system_flows_in_step(system, time);
    double* const old = system->q;
    system->q = system->evaluated_q, system->evaluated_q = old;
    system->v = system->q + system->model->q_count, system->evaluated_v = old + system->model->q_count;
    system->time = time;
    system->energy_query.current = false;
    system->sampled = system->def.machine->device && system->ops && !cal_system_holds(system) &&
                      !system->stepped_over && system->sample_time == time;
}

// Whether the solver may begin, or goes on.
static cal_status check_start(cal_system* system, cal_error* error) {
    if (system->running || system->replays) return CAL_OK;
    const cal_status status = cal_system_settle_friction(system);
    return status ? cal_fail(error, status, "the forces of joints at rest at t = %g s: %s", system->time,
                             cal_status_text(status))
                  : cal_system_check_start(system, error);
}

cal_status cal_system_advance(cal_system* system, double time, cal_error* error) {
    if (!isfinite(time))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cannot advance to t = %g s: not a finite time", time);
    if (time < system->time)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cannot advance back to t = %g s from t = %g s; use cal_sim_set", time,
                        system->time);
    if (time == system->time) return CAL_OK;
    cal_status status = cal_solver_check_steps(system->ops, system->settings.step, system->time, time, error);
    system->spent = 0;
    if (!status) status = check_start(system, error);
    if (status) return status;
    status = cal_system_begin_account(system);
    if (status)
        return cal_fail(error, status, "no account of the energy at t = %g s: %s", system->time,
                        cal_status_text(status));
    while (system->time < time) {
        status = check_start(system, error);
        if (status) return status;
        double reached = time;
        status = system->ops ? advance_ops(system, time, &reached) : advance_bdf(system, time, &reached);
        if (!status && cal_system_holds(system))
            status = cal_system_project_after(system, reached, system->evaluated_q, system->evaluated_v, !system->ops);
        if (status) return fail(system, status, time, error);
        adopt(system, reached);
        if (reached < fmin(time, system->watch.due)) return fail_interrupted(system, time, error);
        if (system->watch.due <= time) status = cal_system_take_event(system, error);
        if (status) return status;
    }
    return CAL_OK;
}

// --- Step by step ----------------------------------------------------------------------------------------------------

cal_status cal_system_begin(cal_system* system, double time, const double* q, const double* v, cal_error* error) {
    cal_status status = cal_system_set(system, time, q, v, error);
    system->spent = 0;
    if (!status) status = check_start(system, error);
    if (status) return status;
    status = start(system);
    return status ? fail(system, status, time, error) : CAL_OK;
}

// The last accepted step; false: there is none, or its polynomial is gone.
static bool find_last_step(const cal_system* system, double* from, double* to) {
    if (!system->running) return false;
    if (!system->ops) return cal_bdf_last_step(system->bdf, from, to) > 0;
    const bool over = system->last.valid;
    *from = over ? system->last.previous : system->decision.previous;
    *to = over ? system->last.from + system->last.step : system->decision.time;
    return over || system->interpolates;
}

// The last step's polynomial into evaluated_q and evaluated_v.
static cal_status sample_open(cal_system* system, double time) {
    cal_status status = CAL_OK;
    if (!system->ops)
        status = cal_bdf_sample(system->bdf, time, system->evaluated_q, system->evaluated_v);
    else if (system->last.valid)
        cal_system_sample_step_over(system, time);
    else
        status = take_sample(system, time);
    if (!status && !cal_all_finite(system->evaluated_q, system->model->q_count + system->model->v_count))
        status = CAL_NOT_FINITE;
    return status;
}

// And the constraints closed there.
static cal_status sample_last_step(cal_system* system, double time) {
    const cal_status status = sample_open(system, time);
    return status || !cal_system_holds(system)
               ? status
               : cal_system_project_after(system, time, system->evaluated_q, system->evaluated_v, false);
}

static cal_status step_ops(cal_system* system) {
    cal_status status = system->running ? CAL_OK : start(system);
    const double previous = system->decision.time;
    system->stepped_over = false;
    do
        if (!status) status = attempt(system, (double)INFINITY);
    while (!status && !system->interpolates && !system->last.valid);
    system->last.previous = previous;
    if (!status) read_decision(system);
    return status;
}

static cal_status step_bdf(cal_system* system, double* from, double* to) {
    cal_status status = system->running ? CAL_OK : start(system);
    if (!status) status = take_bdf_step(system, from, to);
    read_bdf_report(system);
    if (status) system->running = false;
    return status;
}

cal_status cal_system_step(cal_system* system, double* from, double* to, cal_error* error) {
    system->spent = 0;
    cal_status status = check_start(system, error);
    if (status) return status;
    status = system->ops ? step_ops(system) : step_bdf(system, from, to);
    if (!status && system->ops) (void)find_last_step(system, from, to);
    if (!status) status = watch(system);
    if (!status) *to = fmin(*to, system->watch.due);
    if (!status) status = sample_last_step(system, *to);
    if (status) return fail(system, status, (double)INFINITY, error);
    adopt(system, *to);
    return CAL_OK;
}

cal_status cal_system_end_step(cal_system* system, bool* hit, cal_error* error) {
    *hit = system->watch.due <= system->time;
    if (!*hit) return CAL_OK;
    system->watch.due = (double)INFINITY;
    cal_system_restart(system);
    return check_start(system, error);
}

cal_status cal_system_hit(cal_system* system, double time, const double* q, const double* v, cal_error* error) {
    const cal_status status = cal_system_set(system, time, q, v, error);
    return status ? status : check_start(system, error);
}

cal_status cal_system_sample(cal_system* system, double time, double* q, double* v, cal_error* error) {
    cal_status status = CAL_OK;
    double from = 0.0, to = 0.0;
    if (system->replays) status = start(system);
    if (status) return fail(system, status, (double)INFINITY, error);
    if (!find_last_step(system, &from, &to))
        return cal_fail(error, CAL_BAD_ARGUMENT, "no state at t = %g s: the solver has taken no step since it began",
                        time);
    if (!(time >= from && time <= to))
        return cal_fail(error, CAL_BAD_ARGUMENT, "no state at t = %g s: the last step is from %g to %g s", time, from,
                        to);
    status = sample_last_step(system, time);
    if (status) return fail(system, status, (double)INFINITY, error);
    memcpy(q, system->evaluated_q, (size_t)system->model->q_count * sizeof *q);
    memcpy(v, system->evaluated_v, (size_t)system->model->v_count * sizeof *v);
    return CAL_OK;
}

cal_status cal_system_sample_open(cal_system* system, double time, double* q, double* v) {
    const cal_status status = sample_open(system, time);
    if (status) return status;
    memcpy(q, system->evaluated_q, (size_t)system->model->q_count * sizeof *q);
    memcpy(v, system->evaluated_v, (size_t)system->model->v_count * sizeof *v);
    return CAL_OK;
}

int cal_system_largest_degree(const cal_system* system) {
    const int order = system->settings.largest_order;
    if (!system->ops) return CAL_BDF_MAX_ORDER;
    const int own = system->ops->degree > 0 ? system->ops->degree : order > 0 ? order : CAL_MAX_ORDER;
    return own > (int)CAL_STEP_OVER_DEGREE ? own : (int)CAL_STEP_OVER_DEGREE;
}

int cal_system_degree(const cal_system* system) {
    if (!system->ops) return system->report.order > 0 ? system->report.order : CAL_BDF_MAX_ORDER;
    if (system->last.valid) return CAL_STEP_OVER_DEGREE;
    return system->ops->degree > 0 ? system->ops->degree : system->decision.order;
}
