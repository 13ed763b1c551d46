// What coupled forces fall by with velocities and positions, for implicit steps.
#include "pass/coupled_inner.h"

#include <math.h>
#include <string.h>

static cal_slopes tendon_slopes(const cal_coupled* c, int tendon, const double* control) {
    const cal_model* model = c->model;
    const cal_tendon_def* def = &model->kept.tendons[tendon];
    const double length = c->lengths[tendon], rate = c->rates[tendon];
    cal_slopes slopes = cal_stop_slopes(&model->tendon_laws[tendon].joint, length, rate);
    slopes.damping += def->damping + cal_friction_damping(def->friction_loss, rate);
    slopes.stiffness += cal_tendon_stretch(def, length) != 0.0 ? def->stiffness : 0.0;
    for (int i = 0; i < model->actuator_count; i++) {
        if (model->actuators[i].tendon != tendon) continue;
        const cal_slopes motor = cal_motor_slopes(&model->actuators[i], control[i], length, rate);
        slopes.damping += motor.damping;
        slopes.stiffness += motor.stiffness;
    }
    return slopes;
}

// What a force of 1 of a motor on a body is for joints, into the gradient.
static void find_thrust_gradient(cal_coupled* c, const cal_thrust* own) {
    memset(c->gradient, 0, (size_t)c->model->v_count * sizeof(double));
    for (int end = 0; end < 2; end++)
        for (int n = own->node[end]; n >= 0 && n != own->common; n = c->model->nodes[n].parent) {
            cal_spatial wrench;
            double arm[3];
            for (int i = 0; i < 3; i++) arm[i] = own->origin[end][i] - c->motions[n].position[i];
            cal_cross3(arm, own->force, wrench.angular);
            for (int i = 0; i < 3; i++) {
                wrench.angular[i] = (end == 0 ? 1.0 : -1.0) * (wrench.angular[i] + own->torque[i]);
                wrench.linear[i] = (end == 0 ? 1.0 : -1.0) * own->force[i];
            }
            cal_add_joint_share(&c->model->nodes[n], c->motions[n].rotation, &wrench,
                                c->gradient + c->model->nodes[n].first_v);
        }
}

// g gᵀ times the slopes, as a diagonal.
static void add_slopes(cal_coupled* c, cal_slopes slopes) {
    double sum = 0.0;
    for (int i = 0; i < c->model->v_count; i++) sum += fabs(c->gradient[i]);
    for (int i = 0; i < c->model->v_count; i++) {
        c->damping[i] += slopes.damping * fabs(c->gradient[i]) * sum;
        c->stiffness[i] += slopes.stiffness * fabs(c->gradient[i]) * sum;
    }
}

static void find_thrust_slopes(cal_coupled* c, const double* control) {
    for (int i = 0; i < c->model->actuator_count; i++) {
        const cal_actuator_def* motor = &c->model->actuators[i];
        cal_thrust own;
        if (motor->body == CAL_NONE) continue;
        cal_coupled_find_thrust(c, motor, &own);
        cal_slopes slopes = cal_motor_slopes(motor, control[i], own.length, own.rate);
        if (motor->reference == CAL_NONE) slopes.stiffness = 0.0; // it has no length
        if (slopes.damping == 0.0 && slopes.stiffness == 0.0) continue;
        find_thrust_gradient(c, &own);
        add_slopes(c, slopes);
    }
}

// Of a medium's forces on all bodies of each node, in its axes.
static void find_resistances(cal_coupled* c) {
    const cal_model* model = c->model;
    memset(c->resistances, 0, (size_t)model->node_count * sizeof *c->resistances);
    for (int i = 0; i < model->kept.drag_count; i++) {
        const cal_drag_def* def = &model->kept.drags[i];
        double rotation[9], origin[3], velocity[6];
        const int node = cal_coupled_place(c, def->body, def->position, def->quaternion, rotation, origin);
        if (node < 0) continue;
        cal_coupled_velocity(&c->motions[node], rotation, origin, model->kept.medium.wind, velocity);
        cal_drag_add_slopes(model, def, velocity, &c->resistances[node]);
    }
}

void cal_coupled_resist(cal_coupled* c, double h) {
    static const int own[6] = {0, 4, 8, 1, 2, 5}; // xx, yy, zz, xy, xz, yz
    for (int n = 0; n < c->model->node_count; n++) {
        double* out = c->resisting + CAL_RESISTING * (size_t)n;
        cal_resistance turned;
        cal_resistance_turn(&c->resistances[n], c->motions[n].rotation, &turned);
        for (int i = 0; i < 6; i++) out[i] = h * turned.turning[own[i]], out[15 + i] = h * turned.moving[own[i]];
        for (int i = 0; i < 9; i++) out[6 + i] = h * turned.coupling[3 * (i % 3) + i / 3];
    }
}

// What resists the motion of node n, as it is in c->motions.
static cal_spatial resisted(const cal_coupled* c, int n) {
    const double *R = c->resisting + CAL_RESISTING * (size_t)n, *w = c->motions[n].angular, *v = c->motions[n].linear;
    const double *T = R, *H = R + 6, *M = R + 15;
    cal_spatial out;
    out.angular[0] = T[0] * w[0] + T[3] * w[1] + T[4] * w[2], out.linear[0] = M[0] * v[0] + M[3] * v[1] + M[4] * v[2];
    out.angular[1] = T[3] * w[0] + T[1] * w[1] + T[5] * w[2], out.linear[1] = M[3] * v[0] + M[1] * v[1] + M[5] * v[2];
    out.angular[2] = T[4] * w[0] + T[5] * w[1] + T[2] * w[2], out.linear[2] = M[4] * v[0] + M[5] * v[1] + M[2] * v[2];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) out.angular[i] += H[3 * j + i] * v[j], out.linear[j] += H[3 * j + i] * w[i];
    return out;
}

void cal_coupled_find_resistance(cal_coupled* c, double* out) {
    const size_t count = (size_t)c->model->v_count;
    cal_coupled_resist(c, 1.0);
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < count; i++) c->v[i] = i == k ? 1.0 : 0.0;
        cal_coupled_move(c);
        cal_coupled_clear(c);
        for (int n = 0; n < c->model->node_count; n++) c->wrenches[CAL_COUPLED_LOSS][n] = resisted(c, n);
        cal_coupled_sum_up(c);
        memcpy(out + k * count, c->tau[CAL_COUPLED_LOSS], count * sizeof *out);
    }
}

double cal_coupled_resisted_power(cal_coupled* c, const double* change) {
    double power = 0.0;
    if (!cal_model_has_drag(c->model)) return 0.0;
    cal_coupled_move(c);
    for (int n = 0; n < c->model->node_count; n++) c->resisted[n] = resisted(c, n);
    memcpy(c->v, change, (size_t)c->model->v_count * sizeof *change);
    cal_coupled_move(c);
    for (int n = 0; n < c->model->node_count; n++)
        power += cal_dot3(c->resisted[n].angular, c->motions[n].angular) +
                 cal_dot3(c->resisted[n].linear, c->motions[n].linear);
    return power;
}

// The slopes of joints' own motors are found elsewhere; here they become less where a range takes from them.
static void lessen_motor_slopes(cal_coupled* c, const double* control) {
    const cal_model* model = c->model;
    for (int i = 0; i < model->actuator_count; i++) {
        const cal_actuator_def* motor = &model->actuators[i];
        if (motor->joint < 0 || !cal_model_limits_motors(model, model->joints[motor->joint].def)) continue;
        const cal_joint* joint = &model->joints[motor->joint];
        const int v = joint->first_v;
        const cal_slopes own = cal_motor_slopes(motor, control[i], c->q[joint->first_q], c->v[v]);
        c->damping[v] -= (1.0 - c->share[v]) * own.damping;
        c->stiffness[v] -= (1.0 - c->share[v]) * own.stiffness;
    }
}

void cal_coupled_find_slopes(cal_coupled* c, const double* control) {
    const cal_model* model = c->model;
    const cal_placed at = {(const double*)c->motions, (size_t)CAL_DOUBLES(cal_world_motion), c->q, NULL};
    const size_t size = (size_t)model->v_count * sizeof(double);
    memset(c->damping, 0, size);
    memset(c->stiffness, 0, size);
    for (int t = 0; t < model->kept.tendon_count; t++) {
        const cal_slopes slopes = tendon_slopes(c, t, control);
        if (slopes.damping == 0.0 && slopes.stiffness == 0.0) continue;
        memset(c->gradient, 0, size);
        cal_tendon_add_joints(model, t, 1.0, c->gradient);
        for (int i = c->first_pull[t]; i < c->first_pull[t + 1]; i++)
            cal_tendon_end_add_gradient(model, &at, &c->pulls[i], 1.0, c->gradient);
        add_slopes(c, slopes);
    }
    find_thrust_slopes(c, control);
    if (cal_model_has_drag(model)) find_resistances(c);
    lessen_motor_slopes(c, control);
}

bool cal_coupled_add_slopes(cal_coupled* c, const double* control, const double* q, const double* v, double* damping,
                            double* stiffness) {
    bool any = false;
    if (c == NULL) return false;
    cal_coupled_evaluate_at(c, control, q, v);
    cal_coupled_find_slopes(c, control);
    for (int i = 0; i < c->model->v_count; i++) {
        any |= c->damping[i] != 0.0 || c->stiffness[i] != 0.0;
        damping[i] += c->damping[i];
        stiffness[i] += c->stiffness[i];
    }
    return any;
}
