// Instances with constraints in the memory of a device (resident.c): what the host does for them. Each has a set of constraints there, and is
// evaluated, closed and watched there (cuda/loops.cu); one that cannot go on rests, and its line says why.
#include "constraint/closing.h"
#include "constraint/constraint_parts.h"
#include "ensemble/resident.h"
#include "base/memory.h"
#include "simulation/sim.h"
#include "solver/system.h"
#include <float.h>
#include <stdio.h>

static cal_status hold(cal_ensemble* ensemble, cal_error* error) {
    struct cal_resident* own = ensemble->resident;
    const cal_sim_def* def = &ensemble->def.sim;
    const cal_solver_settings settings = cal_system_settings(ensemble->model, def, ensemble->solver);
    cal_closing closing = {.gain = def->gain, .relative = settings.relative, .absolute = settings.absolute};
    if (!cal_find_stabilization(def->stabilize, &closing.law, &closing.projects)) return CAL_BAD_ARGUMENT;
    cal_constraints* set;
    cal_status status = cal_constraints_create(ensemble->model, &set);
    if (status) return status;
    cal_constraints_single_out(set);
    set->joins = cal_mass_factor_is_shared(ensemble->model);
    status = cal_resident_batch(ensemble)->hold(own->batch, set, &closing, error);
    cal_constraints_destroy(set);
    return status;
}

cal_status cal_resident_create_held(cal_ensemble* ensemble, cal_error* error) {
    struct cal_resident* own = ensemble->resident;
    own->ends = cal_allocate((size_t)own->groups * (size_t)own->lanes + 1, sizeof *own->ends);
    return own->ends ? hold(ensemble, error) : CAL_NO_MEMORY;
}

cal_status cal_resident_project(cal_ensemble* ensemble, int instance, const double* q, const double* v,
                                cal_error* error) {
    cal_sim* sim = ensemble->resident->host;
    const cal_model* model = ensemble->model;
    double *own_q = cal_ensemble_q(ensemble, instance), *own_v = cal_ensemble_v(ensemble, instance);
    cal_status status = cal_sim_set(sim, ensemble->time, q ? q : own_q, v ? v : own_v, error);
    if (!status) status = cal_sim_project(sim, error);
    memcpy(own_q, cal_sim_q(sim), (size_t)model->q_count * sizeof *own_q);
    memcpy(own_v, cal_sim_v(sim), (size_t)model->v_count * sizeof *own_v);
    return status;
}

bool cal_resident_is_undecided(const cal_ensemble* ensemble, int instance) {
    struct cal_resident* own = ensemble->resident;
    const int v_count = ensemble->model->v_count, actuators = ensemble->model->actuator_count;
    int lane;
    const double* group = own->tau + cal_resident_group(ensemble, instance, &lane) * own->v_stride;
    const int32_t* position = own->plan->layout->tau_position + (size_t)lane * (size_t)v_count;
    double* tau = cal_allocate((size_t)v_count, sizeof *tau);
    if (!tau) return false; // the first step says why
    for (int i = 0; i < v_count; i++) tau[i] = group[position[i]];
    const double* control = own->control + (size_t)(instance - ensemble->first) * (size_t)actuators;
    cal_constraint_report report;
    const bool found = cal_sim_set(own->host, ensemble->time, cal_ensemble_q(ensemble, instance),
                                   cal_ensemble_v(ensemble, instance), NULL) == CAL_OK &&
                       cal_sim_drive(own->host, tau, actuators > 0 ? control : NULL, NULL) == CAL_OK &&
                       cal_sim_constraints(own->host, &report) == CAL_OK && report.undecided;
    cal_free(tau);
    return found;
}

cal_status cal_resident_evaluate_held(cal_resident_job* r) {
    const struct cal_resident* own = r->own;
    int moving = 0;
    cal_status status = CAL_OK;
    for (int c = 0; c < own->clock_count; c++) moving += own->clocks[c].moves ? 1 : 0;
    for (int c = 0; c < own->clock_count && !status; c++) {
        const cal_step_clock* clock = &own->clocks[c];
        if (!clock->moves) continue;
        double down[CAL_CLOCK_DOWN];
        memcpy(down, clock->down, sizeof down);
        if (!cal_clock_arrives(clock, r->job) && r->job->ops->unseen) r->job->ops->unseen(down);
        if (moving > 1) status = cal_resident_choose_clock(r, c); // else it is
        if (!status)
            status =
                cal_resident_batch(r->ensemble)
                    ->evaluate(own->batch, r->job->ops, down, clock->decision.evaluation_time, clock->decision.time);
    }
    return status;
}

// --- Ends --------------------------------------------------------------------------------------------------------------

static cal_status explain(const cal_ensemble* ensemble, const cal_batch_end* end, double kept, char* text,
                          size_t size) {
    char name[80];
    if (end->constraint != CAL_NONE) cal_model_constraint_name(ensemble->model, end->constraint, name, sizeof name);
    switch (end->reason) {
    case CAL_BATCH_BEGAN_OPEN:
        snprintf(text, size,
                 "constraint '%s' is open by %g at t = %g s; begin where it holds, or let a spread find such a place",
                 name, end->value, end->time);
        return CAL_BAD_ARGUMENT;
    case CAL_BATCH_BEGAN_FAST:
        snprintf(text, size,
                 "constraint '%s' is broken by a speed of %g at t = %g s; begin with velocities that it allows", name,
                 end->value, end->time);
        return CAL_BAD_ARGUMENT;
    case CAL_BATCH_CAME_APART:
        snprintf(text, size,
                 "constraint '%s' came apart at t = %g s; the state at t = %g s is kept: use a smaller step, or check "
                 "whether constraints contradict each other",
                 name, end->time, kept);
        return CAL_NOT_CONVERGED;
    case CAL_BATCH_SINGULAR:
        snprintf(
            text, size,
            "next to a singular position of the constraints (condition %.2g) at t = %g s; the state at t = %g s is "
            "kept: machine threads goes through such positions",
            1.0 / fmax(end->value, DBL_EPSILON), end->time, kept);
        return CAL_NOT_CONVERGED;
    default:
        snprintf(text, size,
                 "the motion became infinite or not a number at t = %g s; the state at t = %g s is kept: use a smaller "
                 "step, or check the forces",
                 end->time, kept);
        return CAL_NOT_FINITE;
    }
}

cal_status cal_resident_take_ends(cal_resident_job* r) {
    struct cal_resident* own = r->own;
    const cal_status status = cal_resident_batch(r->ensemble)->read_ends(own->batch, own->ends);
    for (int i = 0; !status && i < r->count; i++) {
        const int instance = r->ensemble->first + i;
        if (!cal_resident_is_live(r, i) || own->ends[i].reason == CAL_BATCH_GOES_ON) continue;
        char text[256];
        const cal_status failed = explain(r->ensemble, &own->ends[i],
                                          cal_ensemble_row(r->ensemble, instance)[CAL_ROW_TIME], text, sizeof text);
        cal_ensemble_fail(r->ensemble, instance, failed, text);
    }
    return status;
}
