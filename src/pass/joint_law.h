// The laws of joints and actuators, each once: force, how it falls with q and v, energy.
//
//   spring, damper   −k (q − q₀) − c q̇, of a ball −k θ e, with θ e the rotation vector of q
//                    energy ½ k (q − q₀)², ½ k θ²
//   stop      x beyond the end of the range, ẋ into it:  −k x (1 + c ẋ), never pulling (Hunt and Crossley):
//             no jump at x = 0
//   dry friction   −f q̇ / √(q̇² + s²) with a speed s that is small: smooth, and within 1 % of f above 7 s
//   motor     gear · clamp((g₀ + g₁ gear q + g₂ gear q̇) clamp(control) + b₀ + b₁ gear q + b₂ gear q̇), or a muscle's force
//             of a ball q is one part of θ e, q̇ of ω; an activation, where there is one, takes the place of clamp(control)
//
// Springs and the elastic part of stops, −k x, have energies; what all other forces do is work or a loss:
//
//   work      motors, and what the user sets
//   loss      dampers c q̇², dry friction f q̇² / √(q̇² + s²), and of a stop what it differs from −k x by, k c x ẋ²
//             (or −k x ẋ, where ẋ < −1/c and the stop has let go): none of them is below zero
//
// How forces fall is what a step must take at its end, and not at its beginning, where a light link hangs on a strong
// damper or motor:
//
//   spring, damper      k, c
//   stop                k (1 + c ẋ), k c x
//   dry friction        f / √(q̇² + s²)     the secant to q̇ = 0: a step may stop a joint, and never throws it back
//   motor               −gear² b₁, −gear² b₂   of a servo; less by as much as its force is clamped
//
// Only what falls counts. Where a number here is not the derivative, a step is less accurate, and smaller for that; it
// goes to the same limit.
#pragma once
#include "base/per_lane.h"
#include "math/rotation_vector.h"
#include "model/model.h"
#include "model/servo.h"

#define cal_friction_speed 0.01 // s, as calder.h says

CAL_DEVICE static inline double cal_clamp(double value, const double range[2]) {
    if (range[0] == range[1]) return value;
    return value < range[0] ? range[0] : value > range[1] ? range[1] : value;
}

// Damper and spring of one degree, with the user's force.
CAL_DEVICE static inline double cal_damper_force(double tau, double damping, double v) { return tau - damping * v; }
CAL_DEVICE static inline double cal_spring_force(double tau, double stiffness, double reference, double q) {
    return tau - stiffness * (q - reference);
}
CAL_DEVICE static inline void cal_ball_spring_force(double stiffness, const double q[4], double out[3]) {
    double turn[3];
    cal_rotation_vector(q, turn);
    for (int i = 0; i < 3; i++) out[i] = -(stiffness * turn[i]);
}

// Spring and damper of a joint, for each of its degrees.
CAL_DEVICE static inline cal_slopes cal_passive_slopes(const cal_joint_def* joint) {
    return (cal_slopes){.damping = joint->damping, .stiffness = joint->kind == CAL_FREE ? 0.0 : joint->stiffness};
}

// --- Stops -----------------------------------------------------------------------------------------------------------

// How far a joint is beyond its range, and how fast that grows; false: it is inside.
typedef struct cal_overrun {
    double x, rate;
    bool low;
} cal_overrun;

CAL_DEVICE static inline bool cal_is_beyond(const cal_joint* joint, double q, double v, cal_overrun* out) {
    const double low = joint->def->range[0] - q, high = q - joint->def->range[1];
    *out = (cal_overrun){.x = low > 0.0 ? low : high, .rate = low > 0.0 ? -v : v, .low = low > 0.0};
    return out->x > 0.0;
}

CAL_DEVICE static inline double cal_stop_force(const cal_joint* joint, double q, double v) {
    cal_overrun over;
    if (!cal_is_beyond(joint, q, v, &over)) return 0.0;
    const double force = joint->limit_stiffness * over.x * (1.0 + joint->def->limit_damping * over.rate);
    if (!(force > 0.0)) return 0.0;
    return over.low ? force : -force;
}

// Its elastic part alone, the force of the energy ½ k x²; and that energy.
CAL_DEVICE static inline double cal_stop_elastic_force(const cal_joint* joint, double q) {
    cal_overrun over;
    if (!cal_is_beyond(joint, q, 0.0, &over)) return 0.0;
    return over.low ? joint->limit_stiffness * over.x : -(joint->limit_stiffness * over.x);
}

CAL_DEVICE static inline double cal_stop_energy(const cal_joint* joint, double q) {
    cal_overrun over;
    if (!joint->def->limited || !cal_is_beyond(joint, q, 0.0, &over)) return 0.0;
    return 0.5 * joint->limit_stiffness * over.x * over.x;
}

// Of the spring and the stop of a node, of whatever kind; q is the node's own. Where there is no spring, no square of a large q becomes
// infinite.
CAL_DEVICE static inline double cal_node_energy(const cal_model* model, const cal_node* node, const double* q) {
    double stretch[3] = {0.0, 0.0, 0.0};
    const bool sprung = node->stiffness != 0.0;
    if (sprung && node->kind == CAL_BALL)
        cal_rotation_vector(q, stretch);
    else if (sprung && node->kind != CAL_FREE)
        stretch[0] = q[0] - node->spring_reference;
    return 0.5 * node->stiffness * cal_dot3(stretch, stretch) + cal_stop_energy(&model->joints[node->joint], q[0]);
}

CAL_DEVICE static inline cal_slopes cal_stop_slopes(const cal_joint* joint, double q, double v) {
    cal_overrun over;
    if (!joint->def->limited || !cal_is_beyond(joint, q, v, &over)) return (cal_slopes){0};
    return (cal_slopes){.damping = joint->limit_stiffness * joint->def->limit_damping * over.x,
                        .stiffness =
                            joint->limit_stiffness * cal_positive(1.0 + joint->def->limit_damping * over.rate)};
}

// --- Dry friction, of one degree -------------------------------------------------------------------------------------

CAL_DEVICE static inline double cal_friction_force(double friction_loss, double v) {
    return -(friction_loss * v / sqrt(v * v + cal_friction_speed * cal_friction_speed));
}

CAL_DEVICE static inline double cal_friction_damping(double friction_loss, double v) {
    return friction_loss / sqrt(v * v + cal_friction_speed * cal_friction_speed);
}

// --- Motors ----------------------------------------------------------------------------------------------------------

// A muscle (calder.h): parabolas that meet smoothly. The active force by length: zero at `shortest` and `longest`, 1 at 1.
CAL_DEVICE static inline double cal_muscle_by_length(const cal_muscle* m, double length) {
    const double low = 0.5 * (m->shortest + 1.0), high = 0.5 * (1.0 + m->longest);
    if (length < m->shortest || length > m->longest) return 0.0;
    const bool middle = length > low && length <= high;
    const double x = length <= low    ? (length - m->shortest) / (low - m->shortest)
                     : length <= 1.0  ? (1.0 - length) / (1.0 - low)
                     : length <= high ? (length - 1.0) / (high - 1.0)
                                      : (m->longest - length) / (m->longest - high);
    return middle ? 1.0 - 0.5 * x * x : 0.5 * x * x;
}

CAL_DEVICE static inline double cal_muscle_by_rate(const cal_muscle* m, double rate) {
    const double y = m->eccentric - 1.0;
    if (rate <= -1.0) return 0.0;
    if (rate <= 0.0) return (rate + 1.0) * (rate + 1.0);
    return rate <= y ? m->eccentric - (y - rate) * (y - rate) / y : m->eccentric;
}

CAL_DEVICE static inline double cal_muscle_force(const cal_muscle* m, double activation, double length, double rate) {
    const double optimal = (m->length_range[1] - m->length_range[0]) / (m->range[1] - m->range[0]);
    const double L = m->range[0] + (length - m->length_range[0]) / optimal, V = rate / (optimal * m->fastest);
    const double high = 0.5 * (1.0 + m->longest), x = (L - 1.0) / (high - 1.0);
    const double passive = L <= 1.0 ? 0.0 : m->passive * (L <= high ? 0.5 * x * x : x - 0.5);
    return -m->peak * (activation * cal_muscle_by_length(m, L) * cal_muscle_by_rate(m, V) + passive);
}

// What a motor calls q: of a ball the part of its rotation vector along the motor's axis. q is the joint's own, with a stride.
CAL_DEVICE static inline double cal_motor_position(const cal_model* model, const cal_actuator_def* motor,
                                                   const double* q, int stride) {
    if (model->joints[motor->joint].def->kind != CAL_BALL) return q[0];
    const double own[4] = {q[0], q[stride], q[2 * stride], q[3 * stride]};
    double turn[3];
    cal_rotation_vector(own, turn);
    return turn[motor->axis];
}

// Before the clamp, at the motor's side of its gear.
CAL_DEVICE static inline double cal_motor_wish(const cal_actuator_def* motor, double control, double q, double v) {
    const double length = motor->gear * q, rate = motor->gear * v;
    if (motor->activation == CAL_ACTIVATION_NONE) control = cal_clamp(control, motor->control_range);
    if (motor->is_muscle) return cal_muscle_force(&motor->muscle, control, length, rate);
    const double bias = motor->bias[0] + motor->bias[1] * length + motor->bias[2] * rate;
    const double gain = motor->gain + (motor->gain_slope[0] * length + motor->gain_slope[1] * rate);
    return gain * control + bias;
}

CAL_DEVICE static inline double cal_motor_force(const cal_actuator_def* motor, double control, double q, double v) {
    return motor->gear * cal_clamp(cal_motor_wish(motor, control, q, v), motor->force_range);
}

CAL_DEVICE static inline cal_slopes cal_motor_slopes(const cal_actuator_def* motor, double control, double q,
                                                     double v) {
    const double wish = cal_motor_wish(motor, control, q, v), given = cal_clamp(wish, motor->force_range);
    const double share = given == wish ? 1.0 : cal_positive(given / wish);
    const cal_slopes servo = cal_servo_slopes(motor);
    return (cal_slopes){.damping = share * servo.damping, .stiffness = share * servo.stiffness};
}

// --- All of a model --------------------------------------------------------------------------------------------------

/// All of it for a joint of one degree, with its actuators; control: one per actuator of the model, or NULL:
/// the initial ones.
double cal_joint_force(const cal_model* model, int joint, const double* control, double q, double v);
/// What joint forces do at q and v, W: the work of tau and of actuators, and what is lost. q, v and tau in the user's order, control as
/// above; tau may be NULL: none.
typedef struct cal_powers {
    double work, loss;
} cal_powers;
cal_powers cal_joint_powers(const cal_model* model, const double* tau, const double* control, const double* q,
                            const double* v);
/// Whether any joint has what works or loses.
bool cal_joints_have_powers(const cal_model* model);
/// The slopes of all joints, with their actuators, in the user's order of v; control as above. False: all are zero.
bool cal_joint_slopes(const cal_model* model, const double* control, const double* q, const double* v, double* damping,
                      double* stiffness);
