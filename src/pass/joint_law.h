// The laws of joints and actuators, each once: force, how it falls with q and v, energy.
//
//   spring, damper   −k (q − q₀) − c q̇, of a ball −k θ e, with θ e the rotation vector of q
//                    energy ½ k (q − q₀)², ½ k θ²
//   stop      x beyond the end of the range, ẋ into it:  −k x (1 + c ẋ), never pulling (Hunt and Crossley):
//             no jump at x = 0
//   dry friction   −f q̇ / √(q̇² + s²) with a speed s that is small: smooth, and within 1 % of f above 7 s
//   motor     gear · clamp(gain · clamp(control) + b₀ + b₁ gear q + b₂ gear q̇)
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

// How much a force falls: with velocity and with position, neither below zero.
typedef struct cal_slopes {
    double damping, stiffness;
} cal_slopes;

#define cal_friction_speed 0.01 // s, as calder.h says

CAL_DEVICE static inline double cal_clamp(double value, const double range[2]) {
    if (range[0] == range[1]) return value;
    return value < range[0] ? range[0] : value > range[1] ? range[1] : value;
}

CAL_DEVICE static inline double cal_positive(double value) { return value > 0.0 ? value : 0.0; }

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

// Of the spring and the stop of a node, of whatever kind; q is the node's own.
double cal_node_energy(const cal_model* model, const cal_node* node, const double* q);
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

// Before the clamp, at the motor's side of its gear.
CAL_DEVICE static inline double cal_motor_wish(const cal_actuator_def* motor, double control, double q, double v) {
    const double bias = motor->bias[0] + motor->bias[1] * (motor->gear * q) + motor->bias[2] * (motor->gear * v);
    return motor->gain * cal_clamp(control, motor->control_range) + bias;
}

CAL_DEVICE static inline double cal_motor_force(const cal_actuator_def* motor, double control, double q, double v) {
    return motor->gear * cal_clamp(cal_motor_wish(motor, control, q, v), motor->force_range);
}

CAL_DEVICE static inline cal_slopes cal_servo_slopes(const cal_actuator_def* motor) {
    const double square = motor->gear * motor->gear;
    return (cal_slopes){.damping = cal_positive(-square * motor->bias[2]),
                        .stiffness = cal_positive(-square * motor->bias[1])};
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
