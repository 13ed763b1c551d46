// Forces in the joints, for any width: τ − c q̇ − k (q − q₀) on all lanes of a column, then one by one the rare ones:
//
//   stop      x beyond the end of the range, ẋ into it:  −k x (1 + c ẋ), never pulling (Hunt and Crossley): no jump at x = 0
//   dry friction   −f q̇ / √(q̇² + s²) with a speed s that is small: smooth, and within 1 % of f above 7 s
//   spring of a ball   −k θ e, with θ e the rotation vector of q
//   motor     gear · clamp(gain · clamp(control) + b₀ + b₁ gear q + b₂ gear q̇)
#include "pass/joint_force.h"

#include "math/rotation_vector.h"

static const double friction_speed = 0.01; // s

static double clamp(double value, const double range[2]) {
    if (range[0] == range[1]) return value;
    return value < range[0] ? range[0] : value > range[1] ? range[1] : value;
}

static double stop_force(const cal_joint* joint, double q, double v) {
    const double low = joint->def->range[0] - q, high = q - joint->def->range[1];
    const double x = low > 0.0 ? low : high, rate = low > 0.0 ? -v : v;
    if (!(x > 0.0)) return 0.0;
    const double force = joint->limit_stiffness * x * (1.0 + joint->def->limit_damping * rate);
    if (!(force > 0.0)) return 0.0;
    return low > 0.0 ? force : -force;
}

static double motor_force(const cal_actuator_def* motor, double control, double q, double v) {
    const double bias = motor->bias[0] + motor->bias[1] * (motor->gear * q) + motor->bias[2] * (motor->gear * v);
    return motor->gear * clamp(motor->gain * clamp(control, motor->control_range) + bias, motor->force_range);
}

static void add_extra(const cal_context* context, const cal_nonlinear_force* extra) {
    const cal_model* model = context->model;
    const int width = context->layout->width;
    const double* y = context->y;
    double* force = context->force;
    switch (extra->kind) {
    case CAL_NONLINEAR_LIMIT:
        force[extra->v] += stop_force(&model->joints[extra->index], y[extra->y], y[extra->v_in_y]);
        break;
    case CAL_NONLINEAR_ACTUATOR: {
        const double control = context->control[extra->copy * model->actuator_count + extra->index];
        force[extra->v] += motor_force(&model->actuators[extra->index], control, y[extra->y], y[extra->v_in_y]);
        break;
    }
    case CAL_NONLINEAR_FRICTION: {
        const cal_joint_def* joint = model->joints[extra->index].def;
        for (int i = 0; i < cal_joint_v_count(joint->kind); i++) {
            const double v = y[extra->v_in_y + i * width];
            force[extra->v + i * width] -= joint->friction_loss * v / sqrt(v * v + friction_speed * friction_speed);
        }
        break;
    }
    default: {
        const double q[4] = {y[extra->y], y[extra->y + width], y[extra->y + 2 * width], y[extra->y + 3 * width]};
        double turn[3];
        cal_rotation_vector(q, turn);
        const double stiffness = model->joints[extra->index].def->stiffness;
        for (int i = 0; i < 3; i++) force[extra->v + i * width] -= stiffness * turn[i];
        break;
    }
    }
}

void cal_joint_forces(const cal_context* context, int index) {
    const cal_layout* layout = context->layout;
    const cal_column* column = &layout->columns[index];
    const int end = column->first_block + column->block_count;
    if (context->force == context->tau) return;
    const int v_first = layout->block_v[column->first_block], v_end = layout->block_v[end];
    if (!column->has_passive) {
        for (int i = v_first; i < v_end; i++) context->force[i] = context->tau[i];
    } else {
        const int width = layout->width, q_size = cal_kind_q(column->kind) * width,
                  v_size = cal_kind_v(column->kind) * width;
        const double *damping = layout->passive, *stiffness = damping + layout->v_size,
                     *slack = stiffness + layout->v_size;
        for (int block = column->first_block; block < end; block++) {
            const double* q = context->y + layout->block_y[block];
            const double* v = q + q_size;
            const int first = layout->block_v[block];
            for (int i = 0; i < v_size; i++) {
                double force = context->tau[first + i] - damping[first + i] * v[i];
                if (v_size == width) force -= stiffness[first + i] * (q[i] - slack[first + i]);
                context->force[first + i] = force;
            }
        }
    }
    for (int i = 0; i < column->extra_count; i++) add_extra(context, &layout->extras[column->first_extra + i]);
}
