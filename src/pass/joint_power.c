// Powers of joint forces, for any width: −c v² and τ v on all lanes of a block, then one by one the rare ones.
//
// An explicit solver has them at y, force times velocity. An Euler step of an implicit one (solver_ops.h) takes forces at its end,
// as far as they fall by D and K, and moves by its mean velocity:
//
//     v⁺ = v + h a,    F = f − D (v⁺ − v) − K h v⁺,    power  F · (v + v⁺)/2
//
// so that powers add up to exactly what the step does to the kinetic energy, however stiff a damper is. F of all kinds together is
// force − (h D + h² K) a. What is not a spring's, a stop's elastic part, a motor's or the user's is lost.
#include "pass/joint_power.h"

#include "pass/joint_law.h"
#include "pass/solver_ops.h"

// One degree of freedom in the step: h = 0 for explicit solvers.
typedef struct motion {
    double h, v, end, mean;
} motion;

static motion motion_of(const cal_context* context, int v_in_y, double h) {
    const double v = context->y[v_in_y], change = h > 0.0 ? h * context->ydot[v_in_y] : 0.0;
    return (motion){h, v, v + change, v + 0.5 * change};
}

// A force at the end of the step.
static double at_end(double force, cal_slopes slopes, const motion* m) {
    return force - (slopes.damping * (m->end - m->v) + slopes.stiffness * (m->h * m->end));
}

// What a rare force adds. Explicit steps count what is lost; implicit ones have all forces together among the losses, so that what
// is not lost is taken out again.
static void add_extra(const cal_context* context, const cal_nonlinear_force* extra, double h, double* work,
                      double* loss) {
    const cal_model* model = context->model;
    const int width = context->layout->width;
    const double* y = context->y;
    const motion m = motion_of(context, extra->v_in_y, h);
    switch (extra->kind) {
    case CAL_NONLINEAR_LIMIT: {
        const cal_joint* joint = &model->joints[extra->index];
        const double elastic = cal_stop_elastic_force(joint, y[extra->y]);
        const cal_slopes slopes = {.stiffness = elastic != 0.0 ? joint->limit_stiffness : 0.0};
        if (h > 0.0)
            *loss += at_end(elastic, slopes, &m) * m.mean;
        else
            *loss += (elastic - cal_stop_force(joint, y[extra->y], m.v)) * m.v;
        break;
    }
    case CAL_NONLINEAR_ACTUATOR: {
        const cal_actuator_def* motor = &model->actuators[extra->index];
        const double control = context->control[extra->copy * model->actuator_count + extra->index];
        const double q = cal_motor_position(model, motor, y + extra->y, width);
        const double force = cal_motor_force(motor, control, q, m.v);
        const double power =
            h > 0.0 ? at_end(force, cal_motor_slopes(motor, control, q, m.v), &m) * m.mean : force * m.v;
        *work += power;
        if (h > 0.0) *loss += power;
        break;
    }
    case CAL_NONLINEAR_FRICTION: {
        const cal_joint_def* joint = model->joints[extra->index].def;
        for (int i = 0; h == 0.0 && i < cal_joint_v_count(joint->kind); i++) {
            const double v = y[extra->v_in_y + i * width];
            *loss -= cal_friction_force(joint->friction_loss, v) * v;
        }
        break;
    }
    default: {
        const cal_joint_def* joint = model->joints[extra->index].def;
        const double q[4] = {y[extra->y], y[extra->y + width], y[extra->y + 2 * width], y[extra->y + 3 * width]};
        double torque[3];
        if (h == 0.0) return;
        cal_ball_spring_force(joint->stiffness, q, torque);
        for (int i = 0; i < 3; i++) {
            const motion each = motion_of(context, extra->v_in_y + i * width, h);
            *loss += at_end(torque[i], (cal_slopes){.stiffness = joint->stiffness}, &each) * each.mean;
        }
        break;
    }
    }
}

static void add_extra_of(const cal_context* context, const cal_nonlinear_force* extra, int block, double h,
                         double* powers) {
    const int width = context->layout->width, lane = (extra->v - context->layout->block_v[block]) % width;
    add_extra(context, extra, h, &powers[CAL_POWER_WORK * width + lane], &powers[CAL_POWER_LOSS * width + lane]);
}

// τ v, and c v² where the column has dampers.
static void add_block(const cal_context* context, const cal_column* column, int block, double* powers) {
    const cal_layout* layout = context->layout;
    const int width = layout->width, v_size = cal_kind_v(column->kind) * width, first = layout->block_v[block];
    const double* v = context->y + layout->block_y[block] + cal_kind_q(column->kind) * width;
    double *work = powers + CAL_POWER_WORK * width, *loss = powers + CAL_POWER_LOSS * width;
    for (int i = 0; i < v_size; i += width)
        for (int l = 0; l < width; l++) work[l] += context->tau[first + i + l] * v[i + l];
    if (!column->has_passive) return;
    const double* damping = layout->passive + first;
    for (int i = 0; i < v_size; i += width)
        for (int l = 0; l < width; l++) loss[l] += damping[i + l] * v[i + l] * v[i + l];
}

// The same of an implicit solver: all forces but the user's, less those of springs.
static void add_block_implicitly(const cal_context* context, const cal_column* column, int block, double h,
                                 double* powers) {
    const cal_layout* layout = context->layout;
    const int width = layout->width, v_size = cal_kind_v(column->kind) * width, first = layout->block_v[block];
    const int q_first = layout->block_y[block], v_first = q_first + cal_kind_q(column->kind) * width;
    const bool springs = column->has_passive && v_size == width;
    double *work = powers + CAL_POWER_WORK * width, *loss = powers + CAL_POWER_LOSS * width;
    for (int i = 0; i < v_size; i++) {
        const motion m = motion_of(context, v_first + i, h);
        const double tau = context->tau[first + i];
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): implicit solvers have it
        double rest = context->force[first + i] - context->implicit[v_first + i] * context->ydot[v_first + i] - tau;
        if (context->coupled) rest -= context->coupled[first + i]; // counted by itself
        if (springs) {
            const double *stiffness = layout->passive + layout->v_size, *slack = stiffness + layout->v_size;
            const double spring =
                cal_spring_force(0.0, stiffness[first + i], slack[first + i], context->y[q_first + i]);
            rest -= at_end(spring, (cal_slopes){.stiffness = stiffness[first + i]}, &m);
        }
        work[i % width] += tau * m.mean;
        loss[i % width] -= rest * m.mean;
    }
}

void cal_joint_powers_of_block(const cal_context* context, const cal_column* column, int block, int* extra,
                               double* powers) {
    const cal_layout* layout = context->layout;
    const int width = layout->width;
    // Where a solver begins it asks for the accelerations themselves, by a step of no length.
    const double h =
        context->implicit && context->force != context->tau ? context->solver->down[CAL_DOWN_IMPLICIT_STEP] : 0.0;
    for (int i = 0; i < (int)CAL_POWERS * width; i++) powers[i] = 0.0;
    if (h > 0.0)
        add_block_implicitly(context, column, block, h, powers);
    else
        add_block(context, column, block, powers);
    // Those of a block follow each other, last block first; on a device those of a lane do.
    if (!layout->lane_extras) {
        for (; *extra > column->first_extra && layout->extras[*extra - 1].v >= layout->block_v[block]; --*extra)
            add_extra_of(context, &layout->extras[*extra - 1], block, h, powers);
        return;
    }
    const int32_t* lanes = layout->lane_extras + (column - layout->columns) * width;
    for (int lane = 0; lane < width; lane++)
        for (int i = lanes[lane + 1] - 1; i >= lanes[lane] && layout->extras[i].v >= layout->block_v[block]; i--)
            if (layout->extras[i].v < layout->block_v[block + 1])
                add_extra_of(context, &layout->extras[i], block, h, powers);
}
