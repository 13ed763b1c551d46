// What acts on a system from outside: pushes, joint forces, controls, and a user's callback.
#include "base/finite.h"
#include "plan/machine_ops.h"
#include "solver/system_data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

cal_status cal_system_apply_pushes(const cal_system* system, cal_state* state) {
    cal_state_release(state);
    for (int i = 0; i < system->push_count; i++) {
        const cal_outer_force* p = &system->pushes[i];
        const cal_status status = cal_state_push(state, p->body, p->force, p->torque, p->point);
        if (status) return status;
    }
    return CAL_OK;
}

cal_status cal_system_apply_forces(const cal_system* system, cal_state* state, const double* tau,
                                   const double* control) {
    cal_status status = cal_state_set(state, CAL_TAU, cal_system_with_friction(system, tau));
    if (!status && system->model->actuator_count > 0) status = cal_state_set(state, CAL_CONTROL, control);
    return status;
}

cal_status cal_system_apply(cal_system* system) {
    const cal_status status = cal_system_apply_pushes(system, system->state);
    system->driven = false;
    for (int i = 0; i < system->model->v_count; i++) system->driven |= system->tau[i] != 0.0;
    if (status) return status;
    return cal_system_apply_forces(system, system->state, system->tau, cal_system_inputs(system, system->time));
}

void cal_system_call_back(cal_system* system, cal_state* state, double time, const double* q, const double* v) {
    memcpy(system->changed_tau, system->tau, (size_t)system->model->v_count * sizeof(double));
    cal_drive_inputs(system->model, system->control, time, system->changed_control);
    cal_force_context context = {.model = system->model,
                                 .time = time,
                                 .q = q,
                                 .v = v,
                                 .tau = system->changed_tau,
                                 .control = system->changed_control,
                                 .state = state};
    system->def.force(&context, system->def.user);
    // A push that was refused is not just left out: the solver finds what is not a number, and tries elsewhere or says so.
    if (state->refused > 0 && system->model->v_count > 0) system->changed_tau[0] = (double)NAN;
}

bool cal_system_find_bad_force(const cal_system* system, char* text, size_t capacity) {
    const cal_model* model = system->model;
    char name[64];
    if (!system->def.force) return false;
    if (system->state->refused > 0) {
        cal_model_body_name(model, system->state->refused - 1, name, sizeof name);
        snprintf(text, capacity, "a push on body '%s'", name);
        return true;
    }
    for (int i = 0; i < model->joint_count; i++)
        if (!cal_all_finite(system->changed_tau + model->joints[i].first_v,
                            cal_joint_v_count(model->joints[i].def->kind))) {
            char body[64];
            snprintf(text, capacity, "a force on joint '%s' of body '%s'",
                     cal_model_joint_name(model, i, name, sizeof name),
                     cal_model_body_name(model, model->joints[i].body, body, sizeof body));
            return true;
        }
    for (int i = 0; i < model->actuator_count; i++)
        if (!isfinite(system->changed_control[i])) {
            snprintf(text, capacity, "the control of '%s'", cal_model_actuator_name(model, i, name, sizeof name));
            return true;
        }
    return false;
}

cal_status cal_system_apply_motion_forces(cal_system* system) {
    const double *tau = system->tau, *control = cal_system_inputs(system, system->state->time);
    cal_status status = cal_state_bring(system->state, CAL_HELD_Y);
    if (!status)
        status = cal_plan_gather(system->plan, system->state->context.y, system->evaluated_q, system->evaluated_v);
    if (status) return status;
    if (cal_system_holds(system)) cal_system_project_before(system);
    if (system->def.force) {
        status = cal_system_apply_pushes(system, system->state);
        if (status) return status;
        cal_system_call_back(system, system->state, system->state->time, system->evaluated_q, system->evaluated_v);
        tau = system->changed_tau, control = system->changed_control;
    }
    status = cal_system_apply_forces(system, system->state, tau, control);
    return status || !cal_system_holds(system) ? status : cal_system_add_constraint_forces(system, tau, control);
}
