// How forces in joints fall with position and velocity: what a step must take at its end, and not at its beginning, where a
// light link hangs on a strong damper or motor.
//
//     spring, damper      k, c
//     stop                k (1 + c ẋ), k c x       x beyond the end of the range (calder.h: limit_stiffness, limit_damping)
//     dry friction        f / √(v² + s²)           the secant to v = 0: a step may stop a joint, and never throws it back
//     motor               −gear² b₁, −gear² b₂     of a servo; less by as much as its force is clamped
//
// Only what falls counts. Where a number here is not the derivative, a step is less accurate, and smaller for that; it goes to
// the same limit.
#include "simulation/motion/multibody_data.h"
#include <string.h>

static const double friction_speed = 0.01; // s, of calder.h

static double clamp(double value, const double range[2]) {
    if (range[0] == range[1]) return value;
    return fmin(fmax(value, range[0]), range[1]);
}

static void add_stop(const cal_joint_def* joint, double q, double v, double* damping, double* stiffness) {
    const double low = joint->range[0] - q, high = q - joint->range[1];
    const double x = fmax(low, high), rate = low > high ? -v : v;
    if (!joint->limited || !(x > 0.0)) return;
    *stiffness += joint->limit_stiffness * fmax(0.0, 1.0 + joint->limit_damping * rate);
    *damping += joint->limit_stiffness * joint->limit_damping * x;
}

static void add_motor(const cal_actuator_def* motor, double q, double v, double* damping, double* stiffness) {
    const double drive = motor->gain * clamp(motor->initial_control, motor->control_range) + motor->bias[0];
    const double wanted = drive + motor->gear * (motor->bias[1] * q + motor->bias[2] * v);
    const double given = clamp(wanted, motor->force_range);
    const double share = given == wanted ? 1.0 : fmax(0.0, given / wanted), square = motor->gear * motor->gear;
    *stiffness += fmax(0.0, -share * square * motor->bias[1]);
    *damping += fmax(0.0, -share * square * motor->bias[2]);
}

bool cal_joint_slopes(const cal_model* model, const double* q, const double* v, double* damping, double* stiffness) {
    const size_t size = (size_t)cal_model_v_count(model) * sizeof *damping;
    memset(damping, 0, size);
    memset(stiffness, 0, size);
    bool any = false;
    for (int i = 0; i < cal_model_joint_count(model); i++) {
        cal_joint_def joint;
        int at_q, at_v;
        cal_model_joint(model, i, &joint, NULL, &at_q, &at_v);
        for (int k = 0; k < cal_joint_v_count(joint.kind); k++) {
            const double rate = v[at_v + k];
            damping[at_v + k] = joint.damping;
            if (joint.friction_loss > 0.0)
                damping[at_v + k] += joint.friction_loss / sqrt(rate * rate + friction_speed * friction_speed);
            if (joint.kind != CAL_FREE) stiffness[at_v + k] = joint.stiffness;
        }
        add_stop(&joint, q[at_q], v[at_v], &damping[at_v], &stiffness[at_v]);
    }
    for (int i = 0; i < cal_model_actuator_count(model); i++) {
        cal_actuator_def motor;
        cal_joint_def joint;
        int at_q, at_v;
        cal_model_actuator(model, i, &motor);
        cal_model_joint(model, motor.joint, &joint, NULL, &at_q, &at_v);
        add_motor(&motor, q[at_q], v[at_v], &damping[at_v], &stiffness[at_v]);
    }
    for (int i = 0; i < cal_model_v_count(model); i++) any |= damping[i] > 0.0 || stiffness[i] > 0.0;
    return any;
}
