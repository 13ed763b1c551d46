// Jacobian of a point of a body: ẋ = J_v q̇, ω = J_ω q̇, from the poses that "kinematics" or "energy" left.
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

cal_status cal_state_jacobian(const cal_state* state, int body, const double point[3], double* jacobian) {
    if (!state || !point || !jacobian) return CAL_BAD_ARGUMENT;
    const cal_model* model = state->plan->model;
    const cal_program* program = state->plan->program;
    const size_t size = (size_t)model->v_count;
    if (!(program->fields & 1u << CAL_POSE) || body < 0 || body >= model->body_count) return CAL_BAD_ARGUMENT;

    const cal_mount* mount = &model->mounts[body];
    if (mount->node < 0) {
        memset(jacobian, 0, 6 * size * sizeof(double));
        return CAL_OK;
    }
    const cal_world_motion* carrier = cal_node_workspace(&state->context, mount->node, program->node_doubles);
    // A state that was never executed has no rotations yet.
    if (cal_dot3(carrier->rotation, carrier->rotation) == 0.0) return CAL_BAD_ARGUMENT;
    memset(jacobian, 0, 6 * size * sizeof(double));
    double x[3];
    cal_rotate3(mount->rotation, point, x);
    for (int i = 0; i < 3; i++) x[i] += mount->offset[i];
    cal_rotate3(carrier->rotation, x, x);
    for (int i = 0; i < 3; i++) x[i] += carrier->position[i];

    for (int n = mount->node; n >= 0; n = model->nodes[n].parent) {
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
