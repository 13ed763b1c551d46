// Inverse dynamics by the recursive Newton-Euler algorithm, in body frames
// (Featherstone, Rigid Body Dynamics Algorithms, 2008, table 5.1).
//
//   v_i = X v_p + S_i q̇_i
//   a_i = X a_p + S_i q̈_i + v_i × S_i q̇_i + S̊_i q̇_i          a_ground = −gravity
//   f_i = I_i a_i + v_i ×* I_i v_i − f_i^external + ∑ over children X* f_c
//   τ_i = S_iᵀ f_i + armature_i q̈_i
//
// S̊ q̇ is zero but for a free joint, whose linear velocity is given in the world's axes: S = (0, Rᵀ) turns with the body,
// S̊ q̇ = (0, −ω × Rᵀ q̇_linear). The result is what the user must add to the dampers, springs, stops and motors:
// τ less their force.
//
// External forces: with F and T in the world's axes and P = ∑ point ⊗ F (point in the node's frame), the force in the
// node's axes is Aᵀ F, and its moment about the origin is Aᵀ T + ε : (P A), A the node's rotation to the world.
#include "pass/body_frames.h"
#include "pass/joint_force.h"

static cal_spatial external_force(const double wrench[15], const double world[9]) {
    cal_spatial out;
    double lever[9];
    cal_unrotate3(world, wrench, out.linear);
    cal_unrotate3(world, wrench + 3, out.angular);
    cal_multiply33(wrench + 6, world, lever);
    out.angular[0] += lever[5] - lever[7];
    out.angular[1] += lever[6] - lever[2];
    out.angular[2] += lever[1] - lever[3];
    return out;
}

// a × b of two motions, added to sum.
static void add_motion_cross(const cal_spatial* a, const cal_spatial* b, cal_spatial* sum) {
    double term[3];
    cal_cross3(a->angular, b->angular, term);
    for (int i = 0; i < 3; i++) sum->angular[i] += term[i];
    cal_cross3(a->linear, b->angular, term);
    for (int i = 0; i < 3; i++) sum->linear[i] += term[i];
    cal_cross3(a->angular, b->linear, term);
    for (int i = 0; i < 3; i++) sum->linear[i] += term[i];
}

// v ×* p of a motion and a force, added to sum.
static void add_force_cross(const cal_spatial* v, const cal_spatial* p, cal_spatial* sum) {
    double term[3];
    cal_cross3(v->angular, p->angular, term);
    for (int i = 0; i < 3; i++) sum->angular[i] += term[i];
    cal_cross3(v->linear, p->linear, term);
    for (int i = 0; i < 3; i++) sum->angular[i] += term[i];
    cal_cross3(v->angular, p->linear, term);
    for (int i = 0; i < 3; i++) sum->linear[i] += term[i];
}

void cal_newton_euler_motion(const cal_context* context, int column, int node_doubles) {
    const cal_column* run = &context->layout->columns[column];
    const double* gravity = context->model->gravity;
    const cal_newton_euler ground = {
        .world = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0},
        .acceleration.linear = {-gravity[0], -gravity[1], -gravity[2]},
    };
    for (int n = run->first_block; n < run->first_block + run->block_count; n++) {
        const cal_node* node = &context->model->nodes[n];
        cal_newton_euler* own = cal_node_workspace(context, n, node_doubles);
        const cal_newton_euler* parent =
            node->parent < 0 ? &ground : cal_node_workspace(context, node->parent, node_doubles);
        cal_place_node(node, cal_node_q(context, n), own->rotation, own->offset);
        cal_multiply33(parent->world, own->rotation, own->world);

        const cal_spatial joint = cal_joint_motion(node, own->rotation, cal_node_v(context, n));
        own->velocity = cal_motion_to_child(own->rotation, own->offset, &parent->velocity);
        cal_spatial_add(&own->velocity, &joint);

        const cal_spatial thrust = cal_joint_motion(node, own->rotation, cal_node_qdd(context, n));
        own->acceleration = cal_motion_to_child(own->rotation, own->offset, &parent->acceleration);
        cal_spatial_add(&own->acceleration, &thrust);
        add_motion_cross(&own->velocity, &joint, &own->acceleration);
        if (node->kind == CAL_FREE) {
            double turning[3];
            cal_cross3(joint.angular, joint.linear, turning);
            for (int i = 0; i < 3; i++) own->acceleration.linear[i] -= turning[i];
        }

        const cal_spatial momentum = cal_inertia_times(node->mass, node->moment, node->second_moment, &own->velocity);
        own->force = cal_inertia_times(node->mass, node->moment, node->second_moment, &own->acceleration);
        add_force_cross(&own->velocity, &momentum, &own->force);
        if (context->wrench) {
            const cal_spatial external = external_force(context->wrench + 15 * (size_t)n, own->world);
            for (int i = 0; i < 3; i++) {
                own->force.angular[i] -= external.angular[i];
                own->force.linear[i] -= external.linear[i];
            }
        }
    }
}

void cal_newton_euler_force(const cal_context* context, int n, int node_doubles, double share[6]) {
    const cal_node* node = &context->model->nodes[n];
    cal_newton_euler* own = cal_node_workspace(context, n, node_doubles);
    for (int c = cal_first_child(context->model, n); c >= 0; c = cal_next_child(context->model, n, c)) {
        const cal_newton_euler* child = cal_node_workspace(context, c, node_doubles);
        const cal_spatial force = cal_force_to_parent(child->rotation, child->offset, &child->force);
        cal_spatial_add(&own->force, &force);
    }
    cal_joint_share(node, own->rotation, &own->force, share);
    const double* qdd = cal_node_qdd(context, n);
    for (int i = 0; i < cal_kind_v(node->kind); i++) share[i] += node->armature * qdd[i];
}

static void move(const cal_context* context, int column) {
    cal_newton_euler_motion(context, column, CAL_DOUBLES(cal_newton_euler));
}

static void sum_forces(const cal_context* context, int column) {
    const cal_layout* layout = context->layout;
    const int first = layout->columns[column].first_block, end = first + layout->columns[column].block_count;
    for (int i = layout->block_v[first]; i < layout->block_v[end]; i++) context->tau[i] = 0.0;
    cal_joint_forces(context, column);
    for (int n = end - 1; n >= first; n--) {
        double share[6];
        cal_newton_euler_force(context, n, CAL_DOUBLES(cal_newton_euler), share);
        for (int i = layout->block_v[n]; i < layout->block_v[n + 1]; i++)
            context->tau[i] = share[i - layout->block_v[n]] - context->force[i];
    }
}

static const cal_pass passes[] = {
    {
        .name = "rnea.motion",
        .direction = CAL_OUTBOUND,
        .kernels = {move},
        .crosses = 9 + 2 * CAL_SPATIAL_DOUBLES,
        .cost = {.flops = 358, .bytes = sizeof(cal_node) + 2 * sizeof(cal_newton_euler)},
    },
    {
        .name = "rnea.force",
        .direction = CAL_INBOUND,
        .kernels = {sum_forces},
        .crosses = CAL_SPATIAL_DOUBLES,
        .cost = {.flops = 51, .bytes = 2 * sizeof(cal_newton_euler)},
    },
};

const cal_program cal_program_rnea = {
    .name = "rnea",
    .help = "inverse dynamics: the joint forces of given accelerations, by the recursive Newton-Euler algorithm",
    .solves = true,
    .node_doubles = CAL_DOUBLES(cal_newton_euler),
    .fields = 1u << CAL_Q | 1u << CAL_V | 1u << CAL_TAU | 1u << CAL_QDD | 1u << CAL_CONTROL,
    .passes = passes,
    .pass_count = 2,
};
