// BDF solves (1 − γ J) z = r with J = ∂f/∂y. What makes a mechanism stiff is in
//
//   J ≈ [ 0  1 ; −M⁻¹K  −M⁻¹D ]      D dampers, K springs and the weight of what hangs below a joint
//
// and leaves one system of the size of v, with H = M + γ D + γ² K:
//
//   z_v = r_v − γ H⁻¹ (D r_v + K (r_q + γ r_v)) ,   z_q = r_q + γ z_v
//
// The articulated-body algorithm solves H x = τ in linear time, since D and K look like inertia to it. D and the
// springs are rotors (armature). The weight: the potential energy is −∑ g · R_n ρ_n over the nodes, with ρ_n the
// node's own mass moment and the masses below each of its children at that child's joint. Its second variation under a
// rotation of node n is s (1 − ρ̂ρ̂ᵀ) where ρ hangs along gravity, s = g · R ρ: a second moment s ρ̂ρ̂ᵀ. What stands
// upright (s < 0) is left out.
//
// So: two copies of the model at rest without gravity. One has the inertia of H, and "aba" solves with it; the other
// has the inertia of K alone, and "rnea" multiplies with it.
#include "solver/bdf_preconditioner.h"
#include "base/memory.h"
#include "model/builder.h"
#include "pass/body_frames.h"
#include "plan/plan.h"

struct cal_preconditioner {
    const cal_model* model;
    double gamma;
    cal_machine* machine;
    cal_joint* joints; // without stops and springs, for both copies
    cal_joint_def* joint_defs;
    cal_model whole, stiff; // H and K
    cal_plan *whole_plan, *stiff_plan;
    cal_state *whole_state, *stiff_state;
    double *damping, *stiffness; // of each degree of freedom
    double* subtree_mass;        // of each node
    double* q;
    double *right, *product; // v_count numbers
};

static void destroy_whole(cal_preconditioner* p) {
    cal_state_destroy(p->whole_state);
    cal_plan_destroy(p->whole_plan);
    p->whole_state = NULL;
    p->whole_plan = NULL;
}

void cal_preconditioner_destroy(cal_preconditioner* p) {
    if (!p) return;
    destroy_whole(p);
    cal_state_destroy(p->stiff_state);
    cal_plan_destroy(p->stiff_plan);
    cal_machine_destroy(p->machine);
    void* arrays[] = {p->joints,    p->joint_defs,   p->whole.nodes, p->stiff.nodes, p->damping,
                      p->stiffness, p->subtree_mass, p->q,           p->right,       p->product};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
    cal_free(p);
}

// A model of the same joints that nothing acts on. It has no bodies: nobody asks for their poses.
static bool copy_model(cal_preconditioner* p, cal_model* copy) {
    *copy = *p->model;
    copy->joints = p->joints;
    copy->body_count = copy->actuator_count = 0;
    for (int i = 0; i < 3; i++) copy->gravity[i] = 0.0;
    copy->nodes = cal_allocate((size_t)copy->node_count, sizeof *copy->nodes);
    return copy->nodes != NULL;
}

// Nodes as in the model, without dampers and springs.
static void reset_nodes(const cal_model* model, cal_model* copy) {
    for (int i = 0; i < model->node_count; i++) {
        copy->nodes[i] = model->nodes[i];
        copy->nodes[i].damping = copy->nodes[i].stiffness = 0.0;
    }
}

static cal_status fill(cal_preconditioner* p) {
    const cal_model* model = p->model;
    const size_t v_count = (size_t)model->v_count;
    p->joints = cal_allocate((size_t)model->joint_count, sizeof *p->joints);
    p->joint_defs = cal_allocate((size_t)model->joint_def_count, sizeof *p->joint_defs);
    p->damping = cal_allocate(v_count, sizeof(double));
    p->stiffness = cal_allocate(v_count, sizeof(double));
    p->right = cal_allocate(v_count, sizeof(double));
    p->product = cal_allocate(v_count, sizeof(double));
    p->q = cal_allocate((size_t)model->q_count, sizeof(double));
    p->subtree_mass = cal_allocate((size_t)model->node_count, sizeof(double));
    const bool copied = copy_model(p, &p->whole) && copy_model(p, &p->stiff);
    if (!copied || !p->joints || !p->joint_defs || !p->damping || !p->stiffness || !p->right || !p->product || !p->q ||
        !p->subtree_mass)
        return CAL_NO_MEMORY;
    p->whole.joints = p->stiff.joints = p->joints;
    for (int i = 0; i < model->joint_def_count; i++) {
        p->joint_defs[i] = model->joint_defs[i];
        p->joint_defs[i].limited = false;
        p->joint_defs[i].stiffness = p->joint_defs[i].damping = 0.0;
    }
    for (int i = 0; i < model->joint_count; i++) {
        p->joints[i] = model->joints[i];
        p->joints[i].def = &p->joint_defs[p->joints[i].def - model->joint_defs];
    }
    for (int i = model->node_count - 1; i >= 0; i--) {
        const cal_node* node = &model->nodes[i];
        p->subtree_mass[i] += node->mass;
        if (node->parent >= 0) p->subtree_mass[node->parent] += p->subtree_mass[i];
    }
    reset_nodes(model, &p->stiff);
    cal_status status = cal_machine_serial(0, &p->machine, NULL);
    if (!status) status = cal_plan_create(&p->stiff, "rnea", p->machine, &p->stiff_plan, NULL);
    return status ? status : cal_state_create(p->stiff_plan, &p->stiff_state);
}

cal_status cal_preconditioner_create(const cal_model* model, cal_preconditioner** out) {
    *out = NULL;
    cal_preconditioner* p = cal_allocate(1, sizeof *p);
    if (!p) return CAL_NO_MEMORY;
    p->model = model;
    const cal_status status = fill(p);
    if (status) {
        cal_preconditioner_destroy(p);
        return status;
    }
    *out = p;
    return CAL_OK;
}

// Dampers, springs, servos and stops that are touched, as numbers of each degree of freedom.
static void collect_diagonal(cal_preconditioner* p, const double* y) {
    const cal_model* model = p->model;
    for (int i = 0; i < model->node_count; i++) {
        const cal_node* node = &model->nodes[i];
        const cal_joint_def* def = model->joints[node->joint].def;
        for (int c = 0; c < cal_kind_v(node->kind); c++) {
            p->damping[node->first_v + c] = node->damping;
            p->stiffness[node->first_v + c] = def->stiffness;
        }
        const double q = y[node->first_q];
        if (def->limited && (q < def->range[0] || q > def->range[1])) {
            const double depth = q < def->range[0] ? def->range[0] - q : q - def->range[1];
            p->stiffness[node->first_v] += model->joints[node->joint].limit_stiffness;
            p->damping[node->first_v] += model->joints[node->joint].limit_stiffness * def->limit_damping * depth;
        }
    }
    for (int i = 0; i < model->actuator_count; i++) {
        const cal_actuator_def* motor = &model->actuators[i];
        const int v = model->joints[motor->joint].first_v;
        p->stiffness[v] += fmax(0.0, -motor->gear * motor->gear * motor->bias[1]);
        p->damping[v] += fmax(0.0, -motor->gear * motor->gear * motor->bias[2]);
    }
}

// s ρ̂ρ̂ᵀ of every node, as the second moments of the stiff copy.
static void collect_weight(cal_preconditioner* p) {
    const cal_model* model = p->model;
    const cal_context* context = &p->stiff_state->context;
    const int stride = p->stiff_plan->program->node_doubles;
    for (int i = 0; i < model->node_count; i++) {
        cal_node* node = &p->stiff.nodes[i];
        const cal_newton_euler* place = cal_node_workspace(context, i, stride);
        double rho[3] = {model->nodes[i].moment[0], model->nodes[i].moment[1], model->nodes[i].moment[2]}, down[3];
        for (int c = cal_first_child(model, i); c >= 0; c = cal_next_child(model, i, c)) {
            const cal_newton_euler* child = cal_node_workspace(context, c, stride);
            for (int k = 0; k < 3; k++) rho[k] += p->subtree_mass[c] * child->offset[k];
        }
        cal_unrotate3(place->world, model->gravity, down);
        const double length2 = cal_dot3(rho, rho), s = cal_dot3(rho, down), factor = s > 0.0 ? s / length2 : 0.0;
        const double second[6] = {rho[0] * rho[0], rho[1] * rho[1], rho[2] * rho[2],
                                  rho[0] * rho[1], rho[0] * rho[2], rho[1] * rho[2]};
        for (int k = 0; k < 6; k++) node->second_moment[k] = factor * second[k];
        node->mass = node->armature = 0.0;
        for (int k = 0; k < 3; k++) node->moment[k] = 0.0;
    }
}

cal_status cal_preconditioner_set(cal_preconditioner* p, const double* y, double gamma) {
    const cal_model* model = p->model;
    p->gamma = gamma;
    memcpy(p->q, y, (size_t)model->q_count * sizeof(double));
    collect_diagonal(p, y);
    memset(p->right, 0, (size_t)model->v_count * sizeof(double));
    cal_status status = cal_state_set(p->stiff_state, CAL_Q, y);
    if (!status) status = cal_state_set(p->stiff_state, CAL_V, p->right);
    if (!status) status = cal_state_set(p->stiff_state, CAL_QDD, p->right);
    if (!status) status = cal_plan_execute(p->stiff_plan, p->stiff_state, NULL);
    if (status) return status;
    collect_weight(p);

    destroy_whole(p);
    reset_nodes(model, &p->whole);
    for (int i = 0; i < model->node_count; i++) {
        cal_node* node = &p->whole.nodes[i];
        // A joint's degrees of freedom share their dampers and springs.
        node->armature += gamma * p->damping[node->first_v] + gamma * gamma * p->stiffness[node->first_v];
        for (int k = 0; k < 6; k++) node->second_moment[k] += gamma * gamma * p->stiff.nodes[i].second_moment[k];
    }
    cal_model_turn_nodes(&p->whole);
    status = cal_plan_create(&p->whole, "aba", p->machine, &p->whole_plan, NULL);
    if (!status) status = cal_state_create(p->whole_plan, &p->whole_state);
    if (!status) status = cal_state_set(p->whole_state, CAL_Q, y);
    if (!status) status = cal_state_set(p->whole_state, CAL_V, p->right);
    return status;
}

static int quaternion_offset(const cal_node* node) {
    return node->kind == CAL_FREE ? 3 : node->kind == CAL_BALL ? 0 : -1;
}

// What a change of q is in the directions of v, and back: δ = 2 q̄ ∘ dq, dq = ½ q ∘ δ for a quaternion.
static void tangent_of(const cal_preconditioner* p, const double* r_q, double* out) {
    for (int i = 0; i < p->model->node_count; i++) {
        const cal_node* node = &p->model->nodes[i];
        const int turn = quaternion_offset(node), plain = turn < 0 ? 1 : turn;
        for (int c = 0; c < plain; c++) out[node->first_v + c] = r_q[node->first_q + c];
        if (turn < 0) continue;
        const double *q = p->q + node->first_q + turn, conjugate[4] = {q[0], -q[1], -q[2], -q[3]};
        double product[4];
        cal_quaternion_multiply(conjugate, r_q + node->first_q + turn, product);
        for (int c = 0; c < 3; c++) out[node->first_v + plain + c] = 2.0 * product[1 + c];
    }
}

static void add_tangent(const cal_preconditioner* p, double factor, const double* z_v, double* z_q) {
    for (int i = 0; i < p->model->node_count; i++) {
        const cal_node* node = &p->model->nodes[i];
        const int turn = quaternion_offset(node), plain = turn < 0 ? 1 : turn;
        for (int c = 0; c < plain; c++) z_q[node->first_q + c] += factor * z_v[node->first_v + c];
        if (turn < 0) continue;
        const double* w = z_v + node->first_v + plain;
        const double rate[4] = {0.0, w[0], w[1], w[2]};
        double product[4];
        cal_quaternion_multiply(p->q + node->first_q + turn, rate, product);
        for (int c = 0; c < 4; c++) z_q[node->first_q + turn + c] += 0.5 * factor * product[c];
    }
}

cal_status cal_preconditioner_solve(cal_preconditioner* p, const double* r, double* z) {
    const int q_count = p->model->q_count, v_count = p->model->v_count;
    const double* r_v = r + q_count;
    double* z_v = z + q_count;
    tangent_of(p, r, p->right);
    for (int i = 0; i < v_count; i++) p->right[i] += p->gamma * r_v[i];
    cal_status status = cal_state_set(p->stiff_state, CAL_QDD, p->right);
    if (!status) status = cal_plan_execute(p->stiff_plan, p->stiff_state, NULL);
    if (!status) status = cal_state_get(p->stiff_state, CAL_TAU, p->product);
    if (status) return status;
    for (int i = 0; i < v_count; i++)
        p->right[i] = p->damping[i] * r_v[i] + p->stiffness[i] * p->right[i] + p->product[i];
    status = cal_state_set(p->whole_state, CAL_TAU, p->right);
    if (!status) status = cal_plan_execute(p->whole_plan, p->whole_state, NULL);
    if (!status) status = cal_state_get(p->whole_state, CAL_QDD, p->product);
    if (status) return status;
    for (int i = 0; i < v_count; i++) z_v[i] = r_v[i] - p->gamma * p->product[i];
    memcpy(z, r, (size_t)q_count * sizeof(double));
    add_tangent(p, p->gamma, z_v, z);
    return CAL_OK;
}
