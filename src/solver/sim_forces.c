// Accelerations at the simulation's time, and what joints carry: with these, Newton and Euler's equations from the leaves to
// the ground.
#include "base/error.h"
#include "machine/machine.h"
#include "pass/body_frames.h"
#include "solver/sim.h"
#include <string.h>

static cal_status open_observer(const cal_sim* sim, cal_sim_query* o, const char* algorithm) {
    cal_status status = CAL_OK;
    if (!o->machine) status = cal_machine_serial(1, &o->machine, NULL);
    if (!status && !o->plan) status = cal_plan_create(sim->model, algorithm, o->machine, &o->plan, NULL);
    if (!status && !o->state) status = cal_state_create(o->plan, &o->state);
    if (!status) status = cal_state_set(o->state, CAL_Q, sim->q);
    if (!status) status = cal_state_set(o->state, CAL_V, sim->v);
    return status ? status : cal_sim_apply_pushes(sim, o->state);
}

// Accelerations of the whole, with the constraints' forces. With multipliers: these and the rows stay in sim->constraints.
static cal_status find_accelerations(cal_sim* sim, bool multipliers, double* qdd) {
    cal_sim_query* o = &sim->constraint_query;
    const double *tau = sim->tau, *control = sim->control;
    cal_status status = open_observer(sim, o, sim->def.algorithm);
    if (status) return status;
    if (sim->def.force) {
        cal_sim_call_back(sim, o->state, sim->time, sim->q, sim->v);
        tau = sim->changed_tau, control = sim->changed_control;
    }
    status = cal_sim_apply_forces(sim, o->state, tau, control);
    if (!status) status = cal_plan_execute(o->plan, o->state, NULL);
    if (!status) status = cal_state_get(o->state, CAL_QDD, qdd);
    if (status || !cal_sim_holds(sim)) return status;
    if (tau != sim->changed_tau) memcpy(sim->changed_tau, tau, (size_t)sim->model->v_count * sizeof(double));
    if (multipliers)
        cal_constraints_hold(sim->constraints, sim->q, sim->v, qdd, sim->law, sim->def.gain,
                             sim->projects ? CAL_SHIFT_CLOSED : CAL_SHIFT_OPEN, sim->changed_tau);
    else
        status = cal_sim_add_forces(sim, sim->q, sim->v, qdd, sim->changed_tau);
    if (!status) status = cal_sim_apply_forces(sim, o->state, sim->changed_tau, control);
    if (!status) status = cal_plan_execute(o->plan, o->state, NULL);
    return status ? status : cal_state_get(o->state, CAL_QDD, qdd);
}

cal_status cal_sim_accelerations(cal_sim* sim, double* qdd) {
    return sim && qdd ? find_accelerations(sim, false, qdd) : CAL_BAD_ARGUMENT;
}

static cal_status push_rows(const cal_sim* sim, cal_state* state) {
    cal_status status = CAL_OK;
    for (int i = 0; cal_sim_holds(sim) && i < sim->constraints->row_count; i++) {
        const cal_row* row = &sim->constraints->rows[i];
        for (int n = 0; n < row->node_count && !status; n++) {
            double force[3], moment[3];
            for (int k = 0; k < 3; k++) {
                force[k] = sim->constraints->lambda[i] * row->force[n][k];
                moment[k] = sim->constraints->lambda[i] * row->moment[n][k];
            }
            status = cal_state_push_node(state, row->node[n], force, moment);
        }
    }
    return status;
}

cal_status cal_sim_joint_forces(cal_sim* sim, double* forces) {
    if (!sim || !forces) return CAL_BAD_ARGUMENT;
    cal_sim_query* o = &sim->joint_force_query;
    cal_status status = open_observer(sim, o, "rnea");
    if (!status) status = find_accelerations(sim, true, sim->accelerations);
    if (status) return status;
    if (sim->def.force) cal_sim_call_back(sim, o->state, sim->time, sim->q, sim->v); // for its pushes
    status = push_rows(sim, o->state);
    if (!status) status = cal_state_set(o->state, CAL_QDD, sim->accelerations);
    if (!status) status = cal_plan_execute(o->plan, o->state, NULL);
    for (int j = 0; j < sim->model->joint_count && !status; j++) {
        const cal_newton_euler* node =
            cal_node_workspace(&o->state->context, sim->model->joints[j].node, CAL_DOUBLES(cal_newton_euler));
        cal_rotate3(node->world, node->force.linear, forces + 6 * (size_t)j);
        cal_rotate3(node->world, node->force.angular, forces + 6 * (size_t)j + 3);
    }
    return status;
}
