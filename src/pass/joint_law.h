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
#include "model/model.h"

// How much a force falls: with velocity and with position, neither below zero.
typedef struct cal_slopes {
    double damping, stiffness;
} cal_slopes;

// Damper and spring of one degree, with the user's force.
static inline double cal_damper_force(double tau, double damping, double v) { return tau - damping * v; }
static inline double cal_spring_force(double tau, double stiffness, double reference, double q) {
    return tau - stiffness * (q - reference);
}
void cal_ball_spring_force(double stiffness, const double q[4], double out[3]);
// Of the spring and the stop of a node, of whatever kind; q is the node's own.
double cal_node_energy(const cal_model* model, const cal_node* node, const double* q);
// Spring and damper of a joint, for each of its degrees.
cal_slopes cal_passive_slopes(const cal_joint_def* joint);

double cal_stop_force(const cal_joint* joint, double q, double v);
// Its elastic part alone, the force of the energy ½ k x²; and that energy.
double cal_stop_elastic_force(const cal_joint* joint, double q);
double cal_stop_energy(const cal_joint* joint, double q);
cal_slopes cal_stop_slopes(const cal_joint* joint, double q, double v);

// Of one degree.
double cal_friction_force(double friction_loss, double v);
double cal_friction_damping(double friction_loss, double v);

double cal_motor_force(const cal_actuator_def* motor, double control, double q, double v);
cal_slopes cal_motor_slopes(const cal_actuator_def* motor, double control, double q, double v);
// The same while its force is not clamped.
cal_slopes cal_servo_slopes(const cal_actuator_def* motor);

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
