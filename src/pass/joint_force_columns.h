// Forces in the joints, for any width: τ, dampers and springs on all lanes of a column (or on the thread's own:
// base/per_lane.h), then one by one the rare ones. What each force is: joint_law.h.
#include "base/per_lane.h"
#include "pass/joint_law.h"
#include "pass/pass.h"
#include "pass/solver_ops.h"

// The rare forces of a column, or of the thread's lane of it.
#ifdef CAL_THREAD_PER_LANE
#define CAL_EACH_EXTRA(i, layout, column)                                                                              \
    for (int of_lane = (int)((column) - (layout)->columns) * CAL_WIDTH + CAL_OWN_LANE,                                 \
             i = (layout)->lane_extras[of_lane];                                                                       \
         i < (layout)->lane_extras[of_lane + 1]; i++)
#else
#define CAL_EACH_EXTRA(i, layout, column)                                                                              \
    for (int i = (column)->first_extra; i < (column)->first_extra + (column)->extra_count; i++)
#endif

CAL_DEVICE static void add_extra(const cal_context* context, const cal_nonlinear_force* extra) {
    const cal_model* model = context->model;
    const int width = context->layout->width;
    const double* y = context->y;
    double* force = context->force;
    switch (extra->kind) {
    case CAL_NONLINEAR_LIMIT:
        force[extra->v] += cal_stop_force(&model->joints[extra->index], y[extra->y], y[extra->v_in_y]);
        break;
    case CAL_NONLINEAR_ACTUATOR: {
        const double control = context->control[extra->copy * model->actuator_count + extra->index];
        const cal_actuator_def* motor = &model->actuators[extra->index];
        const double q = cal_motor_position(model, motor, y + extra->y, width);
        force[extra->v] += cal_motor_force(motor, control, q, y[extra->v_in_y]);
        break;
    }
    case CAL_NONLINEAR_FRICTION: {
        const cal_joint_def* joint = model->joints[extra->index].def;
        for (int i = 0; i < cal_kind_v((int)joint->kind); i++) {
            const double v = y[extra->v_in_y + i * width];
            force[extra->v + i * width] += cal_friction_force(joint->friction_loss, v);
        }
        break;
    }
    default: {
        const double q[4] = {y[extra->y], y[extra->y + width], y[extra->y + 2 * width], y[extra->y + 3 * width]};
        double torque[3];
        cal_ball_spring_force(model->joints[extra->index].def->stiffness, q, torque);
        for (int i = 0; i < 3; i++) force[extra->v + i * width] += torque[i];
        break;
    }
    }
}

// --- Implicit solvers (solver_ops.h) ---------------------------------------------------------------------------------

// What a rare force falls by at y, added to D and K of its degrees.
CAL_DEVICE static void add_extra_slopes(const cal_context* context, const cal_nonlinear_force* extra) {
    const cal_model* model = context->model;
    const int width = context->layout->width;
    const double* y = context->y;
    double *damping = context->slopes + extra->v_in_y, *stiffness = context->slopes + extra->y;
    cal_slopes slopes = {0};
    switch (extra->kind) {
    case CAL_NONLINEAR_LIMIT:
        slopes = cal_stop_slopes(&model->joints[extra->index], y[extra->y], y[extra->v_in_y]);
        break;
    case CAL_NONLINEAR_ACTUATOR: {
        const double control = context->control[extra->copy * model->actuator_count + extra->index];
        const cal_actuator_def* motor = &model->actuators[extra->index];
        const double q = cal_motor_position(model, motor, y + extra->y, width);
        slopes = cal_motor_slopes(motor, control, q, y[extra->v_in_y]);
        stiffness += motor->axis * width;
        break;
    }
    case CAL_NONLINEAR_FRICTION: {
        const cal_joint_def* joint = model->joints[extra->index].def;
        for (int i = 0; i < cal_kind_v((int)joint->kind); i++)
            damping[i * width] += cal_friction_damping(joint->friction_loss, y[extra->v_in_y + i * width]);
        return;
    }
    default:
        for (int i = 0; i < 3; i++)
            stiffness[i * width] += cal_passive_slopes(model->joints[extra->index].def).stiffness;
        return;
    }
    *damping += slopes.damping;
    *stiffness += slopes.stiffness;
}

// D and K of a column at y.
CAL_DEVICE static void freeze_slopes(const cal_context* context, const cal_column* column) {
    const cal_layout* layout = context->layout;
    const int width = layout->width, q_size = cal_kind_q(column->kind) * width,
              v_size = cal_kind_v(column->kind) * width;
    for (int block = column->first_block; block < column->first_block + column->block_count; block++) {
        double *stiffness = context->slopes + layout->block_y[block], *damping = stiffness + q_size;
        const double* passive = column->has_passive ? layout->passive + layout->block_v[block] : NULL;
        CAL_EACH(i, 0, v_size) {
            damping[i] = passive ? passive[i] : 0.0;
            stiffness[i] = passive && v_size == width ? passive[layout->v_size + (size_t)i] : 0.0;
        }
        if (!context->coupled) continue;
        const double* slopes = context->coupled_slopes + layout->block_v[block];
        CAL_EACH(i, 0, v_size) {
            damping[i] += slopes[i];
            stiffness[i] += slopes[layout->v_size + (size_t)i];
        }
    }
    CAL_EACH_EXTRA(i, layout, column) add_extra_slopes(context, &layout->extras[i]);
}

// h D + h² K for the armatures, − h K v for the forces.
CAL_DEVICE static void take_implicitly(const cal_context* context, const cal_column* column) {
    const cal_layout* layout = context->layout;
    const int width = layout->width, q_size = cal_kind_q(column->kind) * width,
              v_size = cal_kind_v(column->kind) * width;
    const double h = context->solver->down[CAL_DOWN_IMPLICIT_STEP];
    if (context->solver->down[CAL_DOWN_FREEZE] != 0.0) freeze_slopes(context, column);
    for (int block = column->first_block; block < column->first_block + column->block_count; block++) {
        const int at = layout->block_y[block];
        const double *stiffness = context->slopes + at, *damping = stiffness + q_size, *v = context->y + at + q_size;
        double *added = context->implicit + at + q_size, *force = context->force + layout->block_v[block];
        CAL_EACH(i, 0, v_size) {
            added[i] = h * (damping[i] + h * stiffness[i]);
            force[i] -= h * stiffness[i] * v[i];
        }
    }
}

// context->force of one column: tau + dampers + springs + stops + motors, from y.
CAL_DEVICE static void find_joint_forces(const cal_context* context, const cal_column* column) {
    const cal_layout* layout = context->layout;
    const int end = column->first_block + column->block_count;
    if (context->force == context->tau) return;
    const int v_first = layout->block_v[column->first_block], v_end = layout->block_v[end];
    if (!column->has_passive) {
        CAL_EACH(i, v_first, v_end) context->force[i] = context->tau[i];
    } else {
        const int width = layout->width, q_size = cal_kind_q(column->kind) * width,
                  v_size = cal_kind_v(column->kind) * width;
        const double *damping = layout->passive, *stiffness = damping + layout->v_size,
                     *slack = stiffness + layout->v_size;
        for (int block = column->first_block; block < end; block++) {
            const double* q = context->y + layout->block_y[block];
            const double* v = q + q_size;
            const int first = layout->block_v[block];
            CAL_EACH(i, 0, v_size) {
                double force = cal_damper_force(context->tau[first + i], damping[first + i], v[i]);
                if (v_size == width) force = cal_spring_force(force, stiffness[first + i], slack[first + i], q[i]);
                context->force[first + i] = force;
            }
        }
    }
    CAL_EACH_EXTRA(i, layout, column) add_extra(context, &layout->extras[i]);
    if (context->coupled) {
        CAL_EACH(i, v_first, v_end) context->force[i] += context->coupled[i];
    }
    if (context->implicit) take_implicitly(context, column);
}
