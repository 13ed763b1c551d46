// The laws of joints (joint_law.h).
#include "pass/joint_law.h"
#include "model/activation.h"

#include <string.h>

// --- All of a model --------------------------------------------------------------------------------------------------

static double control_of(const cal_model* model, const double* control, int actuator) {
    return control ? control[actuator] : cal_motor_start(&model->actuators[actuator]);
}

double cal_joint_force(const cal_model* model, int joint, const double* control, double q, double v) {
    const cal_joint* own = &model->joints[joint];
    const cal_joint_def* def = own->def;
    double force = cal_spring_force(cal_damper_force(0.0, def->damping, v), def->stiffness, def->spring_reference, q);
    if (def->limited) force += cal_stop_force(own, q, v);
    force += cal_friction_force(def->friction_loss, v);
    for (int i = 0; i < model->actuator_count; i++) {
        const cal_actuator_def* motor = &model->actuators[i];
        if (motor->joint == joint) force += cal_motor_force(motor, control_of(model, control, i), q, v);
    }
    return force;
}

// Of the degrees of one joint.
static double joint_loss(const cal_joint* joint, const double* q, const double* v) {
    const cal_joint_def* def = joint->def;
    double loss = 0.0;
    for (int k = 0; k < cal_joint_v_count(def->kind); k++)
        loss += (def->damping * v[k] - cal_friction_force(def->friction_loss, v[k])) * v[k];
    if (def->limited) loss += (cal_stop_elastic_force(joint, q[0]) - cal_stop_force(joint, q[0], v[0])) * v[0];
    return loss;
}

cal_powers cal_joint_powers(const cal_model* model, const double* tau, const double* control, const double* q,
                            const double* v) {
    cal_powers powers = {0.0, 0.0};
    for (int i = 0; tau && i < model->v_count; i++) powers.work += tau[i] * v[i];
    for (int i = 0; i < model->joint_count; i++)
        powers.loss += joint_loss(&model->joints[i], q + model->joints[i].first_q, v + model->joints[i].first_v);
    for (int i = 0; i < model->actuator_count; i++) {
        if (model->actuators[i].joint < 0) continue;
        const cal_actuator_def* motor = &model->actuators[i];
        const cal_joint* joint = &model->joints[motor->joint];
        const double at = cal_motor_position(model, motor, q + joint->first_q, 1);
        const double rate = v[joint->first_v + motor->axis];
        powers.work += cal_motor_force(motor, control_of(model, control, i), at, rate) * rate;
    }
    return powers;
}

bool cal_joints_have_powers(const cal_model* model) {
    bool any = model->actuator_count > 0 || cal_model_has_coupled_forces(model);
    for (int i = 0; i < model->joint_count && !any; i++) {
        const cal_joint_def* def = model->joints[i].def;
        any = def->damping != 0.0 || def->friction_loss != 0.0 || def->limited;
    }
    return any;
}

static void add(cal_slopes slopes, double* damping, double* stiffness) {
    *damping += slopes.damping;
    *stiffness += slopes.stiffness;
}

bool cal_joint_slopes(const cal_model* model, const double* control, const double* q, const double* v, double* damping,
                      double* stiffness) {
    const size_t size = (size_t)model->v_count * sizeof *damping;
    memset(damping, 0, size);
    memset(stiffness, 0, size);
    for (int i = 0; i < model->joint_count; i++) {
        const cal_joint* joint = &model->joints[i];
        const int at = joint->first_v;
        for (int k = 0; k < cal_joint_v_count(joint->def->kind); k++) {
            add(cal_passive_slopes(joint->def), &damping[at + k], &stiffness[at + k]);
            damping[at + k] += cal_friction_damping(joint->def->friction_loss, v[at + k]);
        }
        add(cal_stop_slopes(joint, q[joint->first_q], v[at]), &damping[at], &stiffness[at]);
    }
    for (int i = 0; i < model->actuator_count; i++) {
        if (model->actuators[i].joint < 0) continue;
        const cal_actuator_def* motor = &model->actuators[i];
        const cal_joint* joint = &model->joints[motor->joint];
        const int own = joint->first_v + motor->axis;
        const double at = cal_motor_position(model, motor, q + joint->first_q, 1);
        add(cal_motor_slopes(motor, control_of(model, control, i), at, v[own]), &damping[own], &stiffness[own]);
    }
    bool any = false;
    for (int i = 0; i < model->v_count; i++) any |= damping[i] > 0.0 || stiffness[i] > 0.0;
    return any;
}
