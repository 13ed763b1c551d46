// Closing what has opened of a system's constraints: before an evaluation, of what a solver goes on from inside a step, at a step's end.
//
// Of solvers that compare the results of several chains of steps (implicit_euler.c) each step's result is closed: they begin at a y that is, and
// the differences between that and results that are open by h² would have no expansion in h. What they extrapolate must be a smooth function of where a
// step begins, so that corrections end at rounding, and each velocity is corrected along directions of its own place (cal_constraints.smooth).
#include "base/finite.h"
#include "constraint/closing.h"
#include "solver/system_data.h"
#include <math.h>
#include <string.h>

void cal_system_project_before(cal_system* system) {
    if (!system->projects || !cal_all_finite(system->evaluated_q, system->model->q_count + system->model->v_count))
        return;
    system->constraints->time = system->state->time;
    cal_system_project_step(system, CAL_ALONG_KEPT, system->evaluated_q, system->evaluated_v);
    cal_layout_scatter(system->plan->layout, 0, system->evaluated_q, system->evaluated_v, system->state->context.y);
    cal_state_changed(system->state, CAL_HELD_Y);
}

// What is closed in system->raw becomes what the solver goes on from.
static void correct_column(void* argument, const cal_column* column) {
    cal_system* system = argument;
    const cal_layout* layout = system->plan->layout;
    const double *q = system->raw, *v = q + system->model->q_count;
    double* y = system->state->context.y;
    const size_t first = (size_t)layout->block_y[column->first_block],
                 end = (size_t)layout->block_y[column->first_block + column->block_count];
    memcpy(y + first, system->vectors[system->ops->reached] + first, (end - first) * sizeof *y); // lanes without a node
    cal_layout_scatter_column(layout, column, q, v, y);
    system->ops->correct(&system->context, column);
}

cal_status cal_system_close_reached(cal_system* system) {
    const cal_solver_ops* ops = system->ops;
    if (!cal_system_holds(system) || !system->projects || !cal_system_goes_on(system) || !ops->goes_on(system->down))
        return CAL_OK;
    double *q = system->raw, *v = q + system->model->q_count;
    cal_status status = cal_state_bring(system->state, CAL_HELD_VECTORS);
    if (!status) status = cal_plan_gather(system->plan, system->vectors[ops->reached], q, v);
    // What is not finite is left to the solver.
    if (status || !cal_all_finite(q, system->model->q_count) || !cal_all_finite(v, system->model->v_count))
        return status;
    system->constraints->time = system->state->time + system->down[CAL_DOWN_IMPLICIT_STEP];
    cal_system_project_step(system, CAL_ALONG_KEPT, q, v);
    status = cal_system_each_column(system, correct_column, system);
    cal_state_changed(system->state, CAL_HELD_Y | CAL_HELD_VECTORS);
    return status;
}

cal_status cal_system_project_after(cal_system* system, double time, double* q, double* v, bool counts) {
    cal_constraints* set = system->constraints;
    set->time = time;
    const int count = system->model->q_count;
    if (!cal_all_finite(q, count) || !cal_all_finite(v, system->model->v_count)) return CAL_NOT_FINITE;
    if (system->projects)
        cal_system_project_step(system, CAL_ALONG_NOW, q, v);
    else
        cal_constraints_evaluate(set, q, v);
    const cal_violation left = cal_constraints_violation(set, CAL_NONE);
    if (counts) {
        system->error_max = fmax(system->error_max, left.error);
        system->error_sum += left.squares;
        system->error_steps++;
    }
    if (!system->projects || cal_closing_holds(set, left.error)) return CAL_OK;
    system->opened = left.error_of;
    return CAL_NOT_CONVERGED;
}

// The energy where the constraints are evaluated, on the way to a projection or behind it.
static cal_status find_energy_at(cal_system* system, const double* q, const double* v, double* out) {
    if (!cal_model_has_coupled_forces(system->model)) {
        *out = cal_constraints_energy(system->constraints, q, v);
        return CAL_OK;
    }
    double energy[2] = {0.0, 0.0};
    const cal_status status = cal_system_find_energy(system, q, v, energy);
    *out = energy[0] + energy[1];
    return status;
}

// system->closed: what closing changes of the energy; nothing where everything is closed, as a rule with small steps.
cal_status cal_system_close_step(cal_system* system, double time, double* q, double* v) {
    double before = 0.0, after = 0.0;
    cal_status status = CAL_OK;
    system->closed = 0.0;
    system->constraints->time = time;
    const bool finite = cal_all_finite(q, system->model->q_count) && cal_all_finite(v, system->model->v_count);
    const bool open = system->projects && finite && cal_system_is_open(system, q, v);
    if (open) status = find_energy_at(system, q, v, &before);
    if (!status) status = cal_system_project_after(system, time, q, v, true);
    if (!status && open) status = find_energy_at(system, q, v, &after);
    if (!status) system->closed = after - before;
    return status ? status : cal_system_follow_passage(system, q, v);
}
