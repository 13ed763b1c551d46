// Poses of bodies from the motions of nodes that "kinematics" or "energy" left; the Jacobian of a point of a body, ẋ = J_v q̇, ω = J_ω q̇;
// and its velocity.
//
// With A, x₀ the rotation and origin of an ancestor's node (the body's own included), and e a world axis that one of its
// degrees of freedom turns about or slides along, its column is (e × (x − x₀), e) or (e, 0). e is a column of A, but for a
// free joint's linear velocity, which is given in the world's own axes.
#include "pass/body_frames.h"
#include "plan/plan.h"

static void write_turn(const double A[9], int axis, const double arm[3], double* column, size_t stride) {
    const double e[3] = {A[axis], A[3 + axis], A[6 + axis]};
    double swing[3];
    cal_cross3(e, arm, swing);
    for (size_t i = 0; i < 3; i++) column[i * stride] = swing[i], column[(3 + i) * stride] = e[i];
}

// The motion of the node that carries a body; NULL: the ground does. *ready: the state was executed, without which it has no
// rotations.
static const cal_world_motion* carrier_of(const cal_state* state, int body, bool* ready) {
    const int node = state->plan->model->mounts[body].node;
    *ready = true;
    if (node < 0) return NULL;
    const cal_world_motion* carrier = cal_node_workspace(&state->context, node, state->plan->program->node_doubles);
    *ready = cal_dot3(carrier->rotation, carrier->rotation) != 0.0;
    return carrier;
}

static bool has_body(const cal_state* state, int body) {
    return state->plan->program->fields & 1u << CAL_POSE && body >= 0 && body < state->plan->model->body_count;
}

void cal_state_body_pose(const cal_state* state, int body, double pose[7]) {
    const cal_mount* mount = &state->plan->model->mounts[body];
    const int doubles = state->plan->program->node_doubles;
    cal_mounted_pose(mount, mount->node < 0 ? NULL : cal_node_workspace(&state->context, mount->node, doubles), pose);
}

cal_status cal_state_velocity(const cal_state* state, int body, const double point[3], double velocity[6]) {
    if (!state || !point || !velocity || !has_body(state, body)) return CAL_BAD_ARGUMENT;
    bool ready;
    const cal_world_motion* carrier = carrier_of(state, body, &ready);
    if (!ready) return CAL_BAD_ARGUMENT;
    cal_mounted_velocity(&state->plan->model->mounts[body], carrier, point, velocity);
    return CAL_OK;
}

cal_status cal_state_jacobian(const cal_state* state, int body, const double point[3], double* jacobian) {
    if (!state || !point || !jacobian || !has_body(state, body)) return CAL_BAD_ARGUMENT;
    const cal_model* model = state->plan->model;
    const cal_program* program = state->plan->program;
    const size_t size = (size_t)model->v_count;
    bool ready;
    const cal_world_motion* carrier = carrier_of(state, body, &ready);
    if (!ready) return CAL_BAD_ARGUMENT;
    memset(jacobian, 0, 6 * size * sizeof(double));
    if (!carrier) return CAL_OK;
    double x[3];
    cal_mounted_point(&model->mounts[body], carrier, point, x);
    for (int n = model->mounts[body].node; n >= 0; n = model->nodes[n].parent) {
        const cal_node* node = &model->nodes[n];
        const cal_world_motion* at = cal_node_workspace(&state->context, n, program->node_doubles);
        const double arm[3] = {x[0] - at->position[0], x[1] - at->position[1], x[2] - at->position[2]};
        double* column = jacobian + node->first_v;
        switch (node->kind) {
        case CAL_REVOLUTE: write_turn(at->rotation, 2, arm, column, size); break;
        case CAL_PRISMATIC:
            for (size_t i = 0; i < 3; i++) column[i * size] = at->rotation[3 * i + 2];
            break;
        case CAL_BALL:
            for (int k = 0; k < 3; k++) write_turn(at->rotation, k, arm, column + k, size);
            break;
        default:
            for (size_t k = 0; k < 3; k++) column[k * size + k] = 1.0;
            for (int k = 0; k < 3; k++) write_turn(at->rotation, k, arm, column + 3 + k, size);
        }
    }
    return CAL_OK;
}
