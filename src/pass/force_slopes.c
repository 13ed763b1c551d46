// How the forces of joints, motors and what is coupled change.
//
// A ball's spring and motors act along its rotation vector φ; a turn about the body's axes changes φ by
//   J = 1 + ½ [φ] + (1/θ² − cot(θ/2)/(2θ)) [φ]²      [φ] x = φ × x, θ = |φ|
// What is clamped does not change with what it is clamped by; at a corner it is what holds inside.
#include "pass/force_slopes.h"
#include "base/memory.h"
#include "pass/joint_law.h"
#define CAL_LANES 1
#include "math/lanes.h"
#include "math/vector.h"

#include <math.h>
#include <string.h>

// --- Joints ------------------------------------------------------------------------------------------------------------------------

// J, rows.
static void rotation_vector_slopes(const double q[4], double out[9]) {
    double phi[3], s, c;
    cal_rotation_vector(q, phi);
    const double angle2 = cal_dot3(phi, phi), angle = sqrt(angle2);
    cal_lane_sincos_1(0.5 * angle, &s, &c);
    // Below 0.01 the next term of the series, θ⁴ / 30240, is beyond the last digit.
    const double square = angle < 0.01 ? 1.0 / 12.0 + angle2 / 720.0 : 1.0 / angle2 - c / (2.0 * angle * s);
    const double cross[9] = {0.0, -phi[2], phi[1], phi[2], 0.0, -phi[0], -phi[1], phi[0], 0.0};
    cal_multiply33(cross, cross, out);
    for (int i = 0; i < 9; i++) out[i] = (i % 4 == 0 ? 1.0 : 0.0) + 0.5 * cross[i] + square * out[i];
}

static void add_passive(const cal_joint* joint, size_t count, const double* q, const double* v,
                        const cal_force_slopes* out) {
    const cal_joint_def* def = joint->def;
    const size_t at = (size_t)joint->first_v, degrees = (size_t)cal_joint_v_count(def->kind);
    for (size_t k = at; out->by_v && k < at + degrees; k++) {
        const double s2 = cal_friction_speed * cal_friction_speed, all = v[k] * v[k] + s2;
        out->by_v[k * count + k] -= def->damping + def->friction_loss * s2 / (all * sqrt(all));
    }
    if (def->kind == CAL_BALL && def->stiffness != 0.0 && out->by_q) {
        double turns[9];
        rotation_vector_slopes(q + joint->first_q, turns);
        for (size_t i = 0; i < 9; i++) out->by_q[(at + i / 3) * count + at + i % 3] -= def->stiffness * turns[i];
    }
    if (degrees != 1) return;
    if (out->by_q) out->by_q[at * count + at] -= def->stiffness;
    if (!def->limited || cal_stop_force(joint, q[joint->first_q], v[at]) == 0.0) return;
    const cal_slopes stop = cal_stop_slopes(joint, q[joint->first_q], v[at]);
    if (out->by_q) out->by_q[at * count + at] -= stop.stiffness;
    if (out->by_v) out->by_v[at * count + at] -= stop.damping;
}

// --- Motors of joints --------------------------------------------------------------------------------------------------------------

static double clamped_slope(double value, const double range[2], double slope) {
    return cal_clamp(value, range) == value ? slope : 0.0;
}

// A muscle's curves are parabolas, of which differences are exact within a piece.
static void muscle_slopes(const cal_muscle* m, double activation, double length, double rate, double slopes[3]) {
    const double step = 1e-6 * (m->length_range[1] - m->length_range[0]);
    slopes[0] =
        (cal_muscle_force(m, activation, length + step, rate) - cal_muscle_force(m, activation, length - step, rate)) /
        (2.0 * step);
    slopes[1] =
        (cal_muscle_force(m, activation, length, rate + step) - cal_muscle_force(m, activation, length, rate - step)) /
        (2.0 * step);
    slopes[2] = cal_muscle_force(m, 1.0, length, rate) - cal_muscle_force(m, 0.0, length, rate);
}

// Of the joint's force, by what the motor calls q, v and control.
static void motor_slopes(const cal_actuator_def* motor, double control, double q, double v, double slopes[3]) {
    const double length = motor->gear * q, rate = motor->gear * v;
    const bool free = motor->activation != CAL_ACTIVATION_NONE;
    const double given = free ? control : cal_clamp(control, motor->control_range);
    if (motor->is_muscle) {
        muscle_slopes(&motor->muscle, given, length, rate, slopes);
    } else {
        slopes[0] = motor->gain_slope[0] * given + motor->bias[1];
        slopes[1] = motor->gain_slope[1] * given + motor->bias[2];
        slopes[2] = motor->gain + (motor->gain_slope[0] * length + motor->gain_slope[1] * rate);
    }
    if (!free) slopes[2] = clamped_slope(control, motor->control_range, slopes[2]);
    const double wish = cal_motor_wish(motor, control, q, v);
    for (int i = 0; i < 3; i++)
        slopes[i] =
            clamped_slope(wish, motor->force_range, slopes[i]) * (i < 2 ? motor->gear * motor->gear : motor->gear);
}

static void add_motor(const cal_model* model, int index, const double* q, const double* v, const double* control,
                      const cal_force_slopes* out) {
    const cal_actuator_def* motor = &model->actuators[index];
    const cal_joint* joint = &model->joints[motor->joint];
    const size_t count = (size_t)model->v_count, own = (size_t)(joint->first_v + motor->axis);
    double slopes[3], turns[9];
    const double at = cal_motor_position(model, motor, q + joint->first_q, 1);
    motor_slopes(motor, control[index], at, v[own], slopes);
    if (out->by_v) out->by_v[own * count + own] += slopes[1];
    if (out->by_control) out->by_control[own * (size_t)model->actuator_count + (size_t)index] += slopes[2];
    if (!out->by_q) return;
    if (joint->def->kind != CAL_BALL) {
        out->by_q[own * count + own] += slopes[0];
        return;
    }
    rotation_vector_slopes(q + joint->first_q, turns);
    for (size_t i = 0; i < 3; i++)
        out->by_q[own * count + (size_t)joint->first_v + i] += slopes[0] * turns[3 * (size_t)motor->axis + i];
}

void cal_joint_force_slopes(const cal_model* model, const double* q, const double* v, const double* control,
                            const cal_force_slopes* out) {
    for (int i = 0; i < model->joint_count; i++) add_passive(&model->joints[i], (size_t)model->v_count, q, v, out);
    for (int i = 0; i < model->actuator_count; i++)
        if (model->actuators[i].joint >= 0) add_motor(model, i, q, v, control, out);
}

// --- What is coupled -----------------------------------------------------------------------------------------------------------------

typedef enum cal_changed { CHANGED_Q, CHANGED_V, CHANGED_CONTROL } cal_changed;

typedef struct differences {
    cal_coupled* coupled;
    const double *q, *v, *control;
    double *moved_q, *moved_v, *moved_control; // room
    double* sum;                               // v_count
} differences;

// Adds a factor times the forces where one number is another.
static void add_forces(const differences* d, cal_changed what, int index, double change, double factor) {
    const cal_model* model = d->coupled->model;
    const double *q = d->q, *v = d->v, *control = d->control;
    if (what == CHANGED_Q) {
        memset(d->moved_v, 0, (size_t)model->v_count * sizeof(double));
        memcpy(d->moved_q, q, (size_t)model->q_count * sizeof(double));
        d->moved_v[index] = 1.0;
        cal_model_displace(model, d->moved_v, change, d->moved_q);
        q = d->moved_q;
    } else if (what == CHANGED_V) {
        memcpy(d->moved_v, v, (size_t)model->v_count * sizeof(double));
        d->moved_v[index] += change;
        v = d->moved_v;
    } else {
        memcpy(d->moved_control, control, (size_t)model->actuator_count * sizeof(double));
        d->moved_control[index] = change;
        control = d->moved_control;
    }
    cal_coupled_evaluate_at(d->coupled, control, q, v);
    for (int i = 0; i < model->v_count; i++)
        for (int kind = 0; kind < CAL_COUPLED_KINDS; kind++) d->sum[i] += factor * d->coupled->tau[kind][i];
}

static void difference(const differences* d, cal_changed what, int index, double step) {
    static const double factors[4] = {1.0 / 12.0, -8.0 / 12.0, 8.0 / 12.0, -1.0 / 12.0};
    memset(d->sum, 0, (size_t)d->coupled->model->v_count * sizeof(double));
    for (int i = 0; i < 4; i++) add_forces(d, what, index, (i < 2 ? i - 2 : i - 1) * step, factors[i] / step);
}

// Forces are linear in what enters the law of a motor, as far as nothing clamps.
static void difference_control(const differences* d, int index) {
    const cal_actuator_def* motor = &d->coupled->model->actuators[index];
    const double own = d->control[index], *range = motor->control_range, step = 1e-3 * (1.0 + fabs(own));
    double from = own - step, to = own + step;
    memset(d->sum, 0, (size_t)d->coupled->model->v_count * sizeof(double));
    if (motor->activation == CAL_ACTIVATION_NONE && range[0] != range[1]) {
        if (cal_clamp(own, range) != own) return;
        from = cal_clamp(from, range), to = cal_clamp(to, range);
    }
    add_forces(d, CHANGED_CONTROL, index, from, -1.0 / (to - from));
    add_forces(d, CHANGED_CONTROL, index, to, 1.0 / (to - from));
}

// How large bodies are: what a length is compared with.
static double size_of(const cal_model* model) {
    double size = 0.0;
    for (int n = 0; n < model->node_count; n++) {
        const cal_node* node = &model->nodes[n];
        const double* s = node->second_moment;
        const double round = node->mass > 0.0 ? sqrt((s[0] + s[1] + s[2]) / node->mass) : 0.0;
        size = fmax(size, fmax(round, node->parent < 0 ? 0.0 : sqrt(cal_dot3(node->offset, node->offset))));
    }
    return size > 0.0 ? size : 1.0;
}

static void add_column(const differences* d, int columns, int column, double* out) {
    for (size_t i = 0; i < (size_t)d->coupled->model->v_count; i++)
        out[i * (size_t)columns + (size_t)column] += d->sum[i];
}

static void find_differences(const differences* d, const cal_force_slopes* out) {
    const cal_model* model = d->coupled->model;
    const double size = size_of(model);
    for (int j = 0; j < model->joint_count; j++) {
        const cal_joint* joint = &model->joints[j];
        const cal_joint_kind kind = joint->def->kind;
        for (int k = 0; k < cal_joint_v_count(kind); k++) {
            const double unit = kind == CAL_PRISMATIC || (kind == CAL_FREE && k < 3) ? size : 1.0;
            const int index = joint->first_v + k;
            if (out->by_q)
                difference(d, CHANGED_Q, index, 1e-4 * unit), add_column(d, model->v_count, index, out->by_q);
            if (out->by_v)
                difference(d, CHANGED_V, index, 1e-5 * unit), add_column(d, model->v_count, index, out->by_v);
        }
    }
    for (int i = 0; out->by_control && i < model->actuator_count; i++)
        difference_control(d, i), add_column(d, model->actuator_count, i, out->by_control);
}

bool cal_coupled_force_slopes(cal_coupled* coupled, const double* q, const double* v, const double* control,
                              const cal_force_slopes* out) {
    const cal_model* model = coupled->model;
    const size_t positions = (size_t)model->q_count, degrees = (size_t)model->v_count;
    double* room = cal_allocate(positions + 2 * degrees + (size_t)model->actuator_count + 1, sizeof *room);
    if (!room) return false;
    const differences d = {
        .coupled = coupled,
        .q = q,
        .v = v,
        .control = control,
        .moved_q = room,
        .moved_v = room + positions,
        .sum = room + positions + degrees,
        .moved_control = room + positions + 2 * degrees,
    };
    find_differences(&d, out);
    cal_free(room);
    return true;
}
