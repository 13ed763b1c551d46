// Accelerations at the system's time, and what joints carry: with these, Newton and Euler's equations from the leaves to
// the ground.
#include "base/memory.h"
#include "machine/machine.h"
#include "pass/body_frames.h"
#include "solver/system_data.h"
#include <string.h>

// What is about to begin settles who rests, and hits stops. A look sees that, and leaves the state as it is: forces and controls may change before an
// advance begins. kept: what the state was, NULL: it goes on.
cal_status cal_system_begin_look(cal_system* system, void** kept) {
    *kept = NULL;
    if (system->running || system->replays || system->friction.count == 0) return CAL_OK;
    *kept = cal_allocate(1, cal_system_motion_size(system));
    if (!*kept) return CAL_NO_MEMORY;
    cal_system_store_motion(system, *kept);
    return cal_system_settle_friction(system);
}

cal_status cal_system_end_look(cal_system* system, void* kept, cal_status looked) {
    const cal_status status = kept ? cal_system_load_motion(system, kept) : CAL_OK;
    cal_free(kept);
    return looked ? looked : status;
}

static cal_status open_observer(const cal_system* system, cal_system_query* o, const char* algorithm) {
    cal_status status = CAL_OK;
    if (!o->machine) status = cal_machine_serial(1, &o->machine, NULL);
    if (!status && !o->plan) status = cal_plan_create(system->model, algorithm, o->machine, &o->plan, NULL);
    if (!status && !o->state) status = cal_state_create(o->plan, &o->state);
    if (!status) status = cal_state_set(o->state, CAL_Q, system->q);
    if (!status) status = cal_state_set(o->state, CAL_V, system->v);
    return status ? status : cal_system_apply_pushes(system, o->state);
}

// Accelerations of the whole, with the constraints' forces. With multipliers: these and the rows stay in system->constraints.
static cal_status find_accelerations(cal_system* system, bool multipliers, double* qdd) {
    cal_system_query* o = &system->constraint_query;
    const double *tau = system->tau, *control = cal_system_inputs(system, system->time);
    cal_status status = open_observer(system, o, system->def.algorithm);
    if (status) return status;
    if (system->def.force) {
        cal_system_call_back(system, o->state, system->time, system->q, system->v);
        tau = system->changed_tau, control = system->changed_control;
    }
    status = cal_system_apply_forces(system, o->state, tau, control);
    if (!status) status = cal_plan_execute(o->plan, o->state, NULL);
    if (!status) status = cal_state_get(o->state, CAL_QDD, qdd);
    if (status || !cal_system_holds(system)) return status;
    if (tau != system->changed_tau) memcpy(system->changed_tau, tau, (size_t)system->model->v_count * sizeof(double));
    system->constraints->time = system->time;
    if (multipliers) {
        cal_constraints_hold(system->constraints, system->q, system->v, qdd, system->law, system->def.gain,
                             system->projects ? CAL_SHIFT_CLOSED : CAL_SHIFT_OPEN, system->changed_tau);
        cal_constraints_share(system->constraints);
    } else
        status = cal_system_add_forces(system, system->q, system->v, qdd, system->changed_tau);
    if (!status) status = cal_system_apply_forces(system, o->state, system->changed_tau, control);
    if (!status) status = cal_plan_execute(o->plan, o->state, NULL);
    return status ? status : cal_state_get(o->state, CAL_QDD, qdd);
}

cal_status cal_system_accelerations(cal_system* system, double* qdd) {
    if (!qdd) return CAL_BAD_ARGUMENT;
    void* kept;
    cal_status status = cal_system_begin_look(system, &kept);
    if (!status) status = find_accelerations(system, false, qdd);
    return cal_system_end_look(system, kept, status);
}

static cal_status push_rows(const cal_system* system, cal_state* state) {
    cal_status status = CAL_OK;
    for (int i = 0; cal_system_holds(system) && i < system->constraints->row_count; i++) {
        const cal_row* row = &system->constraints->rows[i];
        // Friction, couplings and prescribed motions act across their joints: they are these joints' own.
        if (system->model->constraints[row->constraint].kind == CAL_COUPLING) continue;
        for (int n = 0; n < row->node_count && !status; n++) {
            double force[3], moment[3];
            for (int k = 0; k < 3; k++) {
                force[k] = system->constraints->lambda[i] * row->force[n][k];
                moment[k] = system->constraints->lambda[i] * row->moment[n][k];
            }
            status = cal_state_push_node(state, row->node[n], force, moment);
        }
    }
    return status;
}

// What tendons pull bodies with.
static cal_status push_coupled(const cal_system* system, cal_state* state) {
    const cal_coupled* c = system->constraint_query.state->coupled;
    cal_status status = CAL_OK;
    for (int n = 0; c && n < system->model->node_count && !status; n++)
        status = cal_state_push_node(state, n, c->own[n].linear, c->own[n].angular);
    return status;
}

static cal_status find_joint_forces(cal_system* system, double* forces) {
    cal_system_query* o = &system->joint_force_query;
    cal_status status = open_observer(system, o, "rnea");
    if (!status) status = find_accelerations(system, true, system->accelerations);
    if (status) return status;
    if (system->def.force) cal_system_call_back(system, o->state, system->time, system->q, system->v); // for its pushes
    status = push_rows(system, o->state);
    if (!status) status = push_coupled(system, o->state);
    if (!status) status = cal_state_set(o->state, CAL_QDD, system->accelerations);
    if (!status) status = cal_plan_execute(o->plan, o->state, NULL);
    for (int j = 0; j < system->model->joint_count && !status; j++) {
        const cal_newton_euler* node =
            cal_node_workspace(&o->state->context, system->model->joints[j].node, CAL_DOUBLES(cal_newton_euler));
        cal_rotate3(node->world, node->force.linear, forces + 6 * (size_t)j);
        cal_rotate3(node->world, node->force.angular, forces + 6 * (size_t)j + 3);
    }
    return status;
}

cal_status cal_system_joint_forces(cal_system* system, double* forces) {
    if (!forces) return CAL_BAD_ARGUMENT;
    void* kept;
    cal_status status = cal_system_begin_look(system, &kept);
    if (!status) status = find_joint_forces(system, forces);
    return cal_system_end_look(system, kept, status);
}
