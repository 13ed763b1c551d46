// Is there inertia along every motion? And how stiff should stops be?
//
// The mass matrix at the start position is positive definite exactly if every pivot of its factorisation is, and the
// articulated-body recursion is that factorisation (Jung's equation (2)), inbound: with L the articulated inertia of a
// node and s a degree of freedom,
//
//     D = sᵀ L s + armature,  L ← L − L s sᵀ L / D  for each s of the joint,  then moved to the parent and added there.
//
// D vanishes where a motion carries no mass: a massless leaf, a point mass on its own axis, two joints on one line. In
// floating point it vanishes by cancellation, so it is compared with sᵀ F s, where F is the inertia before the
// children's joints were eliminated, plus the trace of the node's own J, from which rounding leaves something about any
// axis. Massless nodes hand on their F instead of their L, so that cancellation over several is seen.
//
// Inertias are 6 × 6 with angular components first: torque = J α + H a, force = Hᵀ α + M a. For a rigid body M = m 1,
// H = [m c]×, J = tr Σ 1 − Σ.
//
// D is the inertia that a damper, a spring, a servo or a motor in the joint moves, too, and what a medium holds a node by, which tells how fast they are.
//
// Stops: a joint with limits but no limit_stiffness gets k = (2π · 10 Hz)² times the inertia of all that hangs below
// it, taken as one rigid body at the start position, along the joint.
#include "base/memory.h"
#include "model/angle.h"
#include "model/builder.h"
#include "model/drag_slopes.h"
#include "model/servo.h"
#include <string.h>

static const double smallest_pivot = 1e-13; // relative to what was there before the elimination

// J, H, M: 3 × 3, rows.
typedef struct inertia {
    double J[9], H[9], M[9];
} inertia;

// What all actuators of a joint do: how much their forces fall, and how large they are at most.
typedef struct motors {
    cal_slopes slopes;
    double force;
} motors;

// What the children of one node have left for it.
typedef struct arrival {
    inertia left, full, rigid;
    int32_t depth; // of the children
} arrival;

// Arrivals that wait for their parents. Nodes are visited in reverse walking order, so the deepest is always on top,
// and a chain needs one at a time, however long.
typedef struct stack {
    arrival* items;
    size_t count, capacity;
} stack;

static void set_cross(const double v[3], double out[9]) {
    const double matrix[9] = {0.0, -v[2], v[1], v[2], 0.0, -v[0], -v[1], v[0], 0.0};
    memcpy(out, matrix, sizeof matrix);
}

static inertia rigid_inertia(const cal_node* node) {
    const double* s = node->second_moment;
    inertia out = {.J = {s[1] + s[2], -s[3], -s[4], -s[3], s[0] + s[2], -s[5], -s[4], -s[5], s[0] + s[1]},
                   .M = {node->mass, 0, 0, 0, node->mass, 0, 0, 0, node->mass}};
    set_cross(node->moment, out.H);
    return out;
}

static void add(inertia* sum, const inertia* term) {
    for (int i = 0; i < 9; i++) {
        sum->J[i] += term->J[i];
        sum->H[i] += term->H[i];
        sum->M[i] += term->M[i];
    }
}

// R B Rᵀ
static void turn(const double R[9], const double B[9], double out[9]) {
    double RB[9];
    cal_multiply33(R, B, RB);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++) out[3 * i + j] = cal_dot3(&RB[3 * i], &R[3 * j]);
}

// The same inertia seen from the parent: R turns into its axes, r is the node's origin there.
// M′ = M,  H′ = H + [r] M,  J′ = J + [r] Hᵀ − H′ [r]
static inertia move(const inertia* I, const double R[9], const double r[3]) {
    inertia out;
    double cross[9], H[9], term[9];
    set_cross(r, cross);
    turn(R, I->M, out.M);
    turn(R, I->H, H);
    turn(R, I->J, out.J);
    cal_multiply33(cross, out.M, term);
    for (int i = 0; i < 9; i++) out.H[i] = H[i] + term[i];
    cal_multiply33(out.H, cross, term);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++) out.J[3 * i + j] += cal_dot3(&cross[3 * i], &H[3 * j]) - term[3 * i + j];
    return out;
}

static double diagonal(const inertia* I, int degree) {
    const double* block = degree < 3 ? I->J : I->M;
    const size_t i = (size_t)degree % 3;
    return block[4 * i];
}

// L ← L − U Uᵀ / D, with U the column of a degree of freedom.
static void eliminate(inertia* L, int degree, double D) {
    double torque[3], force[3];
    for (int i = 0; i < 3; i++) {
        torque[i] = degree < 3 ? L->J[3 * i + degree] : L->H[3 * i + degree - 3];
        force[i] = degree < 3 ? L->H[3 * degree + i] : L->M[3 * i + degree - 3];
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            L->J[3 * i + j] -= torque[i] * torque[j] / D;
            L->H[3 * i + j] -= torque[i] * force[j] / D;
            L->M[3 * i + j] -= force[i] * force[j] / D;
        }
}

// Which of the six degrees of freedom, in the node's axes, a joint allows.
static void degrees_of(int kind, int* first, int* count) {
    *first = kind == CAL_REVOLUTE ? 2 : kind == CAL_PRISMATIC ? 5 : 0;
    *count = cal_joint_v_count((cal_joint_kind)kind);
}

// drag: a medium's, for each of six degrees of freedom, NULL: there is none. fastest: at least what it, servos, a damper or a spring make of the
// inertia, 1/s; push: the same of springs and motors (cal_model.push).
static bool eliminate_joint(const cal_node* node, const inertia* own, inertia* left, const inertia* full,
                            const motors* servo, const double* drag, double* fastest, cal_model_push* push) {
    int first, count;
    degrees_of(node->kind, &first, &count);
    for (int degree = first; degree < first + count; degree++) {
        const double size = degree < 3 ? own->J[0] + own->J[4] + own->J[8] : 0.0;
        const double D = diagonal(left, degree) + node->armature;
        if (!(D > smallest_pivot * (diagonal(full, degree) + node->armature + size))) return false;
        eliminate(left, degree, D);
        const double damping = node->damping + servo->slopes.damping + (drag != NULL ? drag[degree] : 0.0),
                     stiffness = node->stiffness + servo->slopes.stiffness;
        *fastest = fmax(*fastest, fmax(damping / D, sqrt(stiffness / D)));
        push->springs = fmax(push->springs, stiffness / D);
        push->motors[degree / 3] = fmax(push->motors[degree / 3], servo->force / D);
    }
    return true;
}

// Where the node's frame is in its parent's at the start position.
static void start_frame(const cal_model* model, const cal_node* node, double R[9], double r[3]) {
    const double* q = model->initial_q + node->first_q;
    double turned[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, shift[3] = {0, 0, 0};
    if (node->kind == CAL_REVOLUTE) {
        cal_sine_cosine(q[0], &turned[3], &turned[0]);
        turned[1] = -turned[3], turned[4] = turned[0];
    } else if (node->kind == CAL_PRISMATIC)
        shift[2] = q[0];
    else if (node->kind == CAL_BALL)
        cal_quaternion_matrix(q, turned);
    cal_multiply33(node->rotation, turned, R);
    cal_rotate3(node->rotation, shift, r);
    for (int i = 0; i < 3; i++) r[i] += node->offset[i];
}

// The arrival of the children at `depth`, an empty one if they are the first; NULL when there is no memory.
static arrival* stack_top(stack* waiting, int32_t depth) {
    if (waiting->count > 0 && waiting->items[waiting->count - 1].depth == depth)
        return &waiting->items[waiting->count - 1];
    if (waiting->count == waiting->capacity) {
        const size_t capacity = waiting->capacity == 0 ? 16 : 2 * waiting->capacity;
        arrival* grown = cal_allocate(capacity, sizeof *grown);
        if (grown == NULL) return NULL;
        if (waiting->count > 0) memcpy(grown, waiting->items, waiting->count * sizeof *grown);
        cal_free(waiting->items);
        waiting->items = grown;
        waiting->capacity = capacity;
    }
    arrival* top = &waiting->items[waiting->count++];
    *top = (arrival){.depth = depth};
    return top;
}

static void choose_stop(const cal_model* model, cal_joint* joint, const cal_node* node, const inertia* rigid) {
    int degree, count;
    degrees_of(node->kind, &degree, &count);
    for (int i = 0; model->rigid_inertia != NULL && i < count; i++)
        model->rigid_inertia[node->first_v + i] =
            diagonal(rigid, (degree + i + (node->kind == CAL_FREE ? 3 : 0)) % 6) + node->armature;
    if (!joint->def->limited || joint->limit_stiffness != 0.0) return;
    const double rate = 2.0 * CAL_PI * CAL_STOP_FREQUENCY;
    joint->limit_stiffness = rate * rate * (diagonal(rigid, degree) + node->armature);
    joint->rigid = true;
}

static cal_status fail_massless(const cal_model* model, const cal_node* node, cal_error* error) {
    char joint[80], body[80];
    cal_describe("joint", model->joints[node->joint].name, node->joint, joint, sizeof joint);
    cal_describe("body", model->bodies[node->body].name, node->body, body, sizeof body);
    return cal_fail(
        error, CAL_BAD_MODEL,
        "%s of %s can move but has no inertia along its motion at the start: give what it moves mass or inertia, "
        "the joint armature, or start elsewhere",
        joint, body);
}

static double larger_end(const double range[2]) { return fmax(fabs(range[0]), fabs(range[1])); }

// The largest force of a motor whose joint rests at zero, whatever its control; infinite where that has no bound.
static double largest_force(const cal_actuator_def* motor) {
    const double gear = fabs(motor->gear);
    if (motor->force_range[0] != motor->force_range[1]) return gear * larger_end(motor->force_range);
    const bool plain = !motor->is_muscle && motor->activation == CAL_ACTIVATION_NONE && motor->gain_slope[0] == 0.0 &&
                       motor->gain_slope[1] == 0.0 && motor->bias[1] <= 0.0 && motor->bias[2] <= 0.0;
    if (!plain || (motor->gain != 0.0 && motor->control_range[0] == motor->control_range[1])) return (double)INFINITY;
    return gear * (fabs(motor->gain) * larger_end(motor->control_range) + fabs(motor->bias[0]));
}

// Of all actuators of each joint; of a ball those of all its axes. NULL: no memory.
static motors* add_servos(const cal_model* model) {
    motors* servos = cal_allocate((size_t)model->joint_count + 1, sizeof *servos);
    for (int i = 0; servos != NULL && i < model->actuator_count; i++) {
        const cal_actuator_def* motor = &model->actuators[i];
        if (motor->joint < 0) continue; // of a tendon or a site
        const cal_slopes own = cal_servo_slopes(motor);
        motors* sum = &servos[motor->joint];
        sum->slopes = (cal_slopes){sum->slopes.damping + own.damping, sum->slopes.stiffness + own.stiffness};
        sum->force += largest_force(motor);
    }
    return servos;
}

cal_status cal_model_weigh(cal_model* model, cal_error* error) {
    stack waiting = {0};
    motors* servos = model->actuator_count > 0 ? add_servos(model) : NULL;
    double* drags = cal_model_has_drag(model) ? cal_drag_damping_of_nodes(model) : NULL;
    if ((model->actuator_count > 0 && servos == NULL) || (cal_model_has_drag(model) && drags == NULL)) {
        cal_free(servos);
        cal_free(drags);
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for the check of inertias");
    }
    model->fastest_rate = 0.0;
    model->push = (cal_model_push){0};
    bool choosing = model->rigid_inertia != NULL;
    for (int i = 0; i < model->joint_count; i++)
        choosing |= model->joints[i].def->limited && model->joints[i].limit_stiffness == 0.0;
    cal_status status = CAL_OK;
    for (int i = model->node_count - 1; i >= 0 && status == CAL_OK; i--) {
        const cal_node* node = &model->nodes[i];
        const inertia own = rigid_inertia(node);
        inertia left = own, full = own, rigid = own;
        if (waiting.count > 0 && waiting.items[waiting.count - 1].depth == node->depth + 1) {
            const arrival* children = &waiting.items[--waiting.count];
            add(&left, &children->left);
            add(&full, &children->full);
            if (choosing) add(&rigid, &children->rigid);
        }
        if (choosing) choose_stop(model, &model->joints[node->joint], node, &rigid);
        const bool massless = node->mass == 0.0 && own.J[0] + own.J[4] + own.J[8] == 0.0;
        const inertia before = massless ? full : left;
        const motors servo = servos != NULL ? servos[node->joint] : (motors){0};
        const double* drag = drags != NULL ? drags + 6 * (size_t)i : NULL;
        if (!eliminate_joint(node, &own, &left, &full, &servo, drag, &model->fastest_rate, &model->push))
            status = fail_massless(model, node, error);
        if (node->parent < 0 || status != CAL_OK) continue;
        arrival* siblings = stack_top(&waiting, node->depth);
        if (siblings == NULL) {
            status = cal_fail(error, CAL_NO_MEMORY, "out of memory for the check of inertias");
            continue;
        }
        double R[9], r[3];
        start_frame(model, node, R, r);
        left = move(&left, R, r);
        full = move(&before, R, r);
        add(&siblings->left, &left);
        add(&siblings->full, &full);
        if (choosing) {
            rigid = move(&rigid, R, r);
            add(&siblings->rigid, &rigid);
        }
    }
    cal_free(waiting.items);
    cal_free(servos);
    cal_free(drags);
    return status;
}
