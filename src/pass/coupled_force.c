// See coupled_force.h.
#include "pass/coupled_force.h"
#include "base/memory.h"
#include "pass/body_frames.h"
#include "pass/drag.h"
#include "pass/joint_law.h"
#include "math/rotation_vector.h"
#include <string.h>

// --- Memory ------------------------------------------------------------------------------------------------------------------

static size_t count_parts(const cal_model* model) {
    size_t parts = 0;
    for (int i = 0; i < model->kept.tendon_count; i++) parts += (size_t)model->kept.tendons[i].part_count;
    return parts;
}

cal_coupled* cal_coupled_create(const cal_model* model) {
    const size_t nodes = (size_t)model->node_count, tendons = (size_t)model->kept.tendon_count;
    const size_t q_count = (size_t)model->q_count, v_count = (size_t)model->v_count;
    const size_t spatial = nodes * (size_t)CAL_DOUBLES(cal_spatial);
    cal_coupled* c = cal_allocate(1, sizeof *c);
    if (c == NULL) return NULL;
    c->model = model;
    const size_t total = q_count + (6 + CAL_COUPLED_KINDS) * v_count + (2 + CAL_COUPLED_KINDS) * tendons +
                         nodes * (size_t)CAL_DOUBLES(cal_world_motion) + (1 + CAL_COUPLED_KINDS) * spatial;
    const size_t resisting = cal_model_has_drag(model) ? nodes : 0;
    double* next = c->q = cal_allocate(total + 1, sizeof *next);
    c->resistances = cal_allocate(resisting + 1, sizeof *c->resistances);
    c->resisting = cal_allocate(CAL_RESISTING * resisting + 1, sizeof *c->resisting);
    c->resisted = cal_allocate(resisting + 1, sizeof *c->resisted);
    c->pulls = cal_allocate((size_t)CAL_PULLS * count_parts(model) + 1, sizeof *c->pulls);
    c->first_pull = cal_allocate(tendons + 1, sizeof *c->first_pull);
    if (next == NULL || c->pulls == NULL || c->first_pull == NULL || c->resistances == NULL || c->resisting == NULL ||
        c->resisted == NULL) {
        cal_coupled_destroy(c);
        return NULL;
    }
    next += q_count;
    c->v = next, next += v_count;
    c->gradient = next, next += v_count;
    c->damping = next, next += v_count;
    c->stiffness = next, next += v_count;
    c->taken = next, next += v_count;
    c->share = next, next += v_count;
    for (int k = 0; k < CAL_COUPLED_KINDS; k++) {
        c->tau[k] = next, next += v_count;
        c->forces[k] = next, next += tendons;
        c->wrenches[k] = (cal_spatial*)next, next += spatial;
    }
    c->own = (cal_spatial*)next, next += spatial;
    c->lengths = next, next += tendons;
    c->rates = next, next += tendons;
    c->motions = (cal_world_motion*)next;
    return c;
}

void cal_coupled_destroy(cal_coupled* c) {
    if (c == NULL) return;
    cal_free(c->q);
    cal_free(c->pulls);
    cal_free(c->first_pull);
    cal_free(c->resistances);
    cal_free(c->resisting);
    cal_free(c->resisted);
    cal_free(c);
}

// --- Lengths -----------------------------------------------------------------------------------------------------------------

static void velocity_of(const cal_world_motion* motion, const double point[3], double out[3]) {
    double arm[3];
    for (int i = 0; i < 3; i++) arm[i] = point[i] - motion->position[i];
    cal_cross3(motion->angular, arm, out);
    for (int i = 0; i < 3; i++) out[i] += motion->linear[i];
}

static double pull_rate(const cal_tendon_end* pull, const cal_world_motion* motion) {
    double velocity[3];
    velocity_of(motion, pull->point, velocity);
    return cal_dot3(pull->direction, velocity);
}

static void keep_pull(void* user, const cal_tendon_end* pull) {
    cal_coupled* c = user;
    c->pulls[c->pull_count++] = *pull;
}

static void find_lengths(cal_coupled* c) {
    const cal_model* model = c->model;
    const cal_placed at = {(const double*)c->motions, (size_t)CAL_DOUBLES(cal_world_motion), c->q, NULL};
    c->pull_count = 0;
    for (int t = 0; t < model->kept.tendon_count; t++) {
        const cal_tendon_def* def = &model->kept.tendons[t];
        c->first_pull[t] = c->pull_count;
        c->lengths[t] = cal_tendon_trace(model, t, &at, keep_pull, c);
        c->rates[t] = 0.0;
        for (int i = 0; i < def->part_count; i++)
            if (def->parts[i].kind == CAL_TENDON_JOINT)
                c->rates[t] += def->parts[i].factor * c->v[model->joints[def->parts[i].joint].first_v];
        for (int i = c->first_pull[t]; i < c->pull_count; i++)
            c->rates[t] += pull_rate(&c->pulls[i], &c->motions[c->pulls[i].node]);
    }
    c->first_pull[model->kept.tendon_count] = c->pull_count;
}

// --- The laws of tendons -------------------------------------------------------------------------------------------------------

// How far the spring is stretched: below zero where it is too short.
static double stretch_of(const cal_tendon_def* def, double length) {
    return length > def->spring_length[1]   ? length - def->spring_length[1]
           : length < def->spring_length[0] ? length - def->spring_length[0]
                                            : 0.0;
}

static double tendon_energy(const cal_model* model, int tendon, double length) {
    const cal_tendon_def* def = &model->kept.tendons[tendon];
    const double stretch = stretch_of(def, length);
    return 0.5 * def->stiffness * stretch * stretch + cal_stop_energy(&model->tendon_laws[tendon].joint, length);
}

static void find_motor_forces(cal_coupled* c, const double* control) {
    const cal_model* model = c->model;
    memset(c->forces[CAL_COUPLED_WORK], 0, (size_t)model->kept.tendon_count * sizeof(double));
    for (int i = 0; i < model->actuator_count; i++) {
        const cal_actuator_def* motor = &model->actuators[i];
        if (motor->tendon < 0) continue;
        c->forces[CAL_COUPLED_WORK][motor->tendon] +=
            cal_motor_force(motor, control[i], c->lengths[motor->tendon], c->rates[motor->tendon]);
    }
}

static void find_tendon_forces(cal_coupled* c, const double* control) {
    const cal_model* model = c->model;
    find_motor_forces(c, control);
    for (int t = 0; t < model->kept.tendon_count; t++) {
        const cal_tendon_def* def = &model->kept.tendons[t];
        const cal_joint* law = &model->tendon_laws[t].joint;
        const double length = c->lengths[t], rate = c->rates[t];
        const double elastic = def->limited ? cal_stop_elastic_force(law, length) : 0.0;
        c->forces[CAL_COUPLED_ENERGY][t] = elastic - def->stiffness * stretch_of(def, length);
        c->forces[CAL_COUPLED_LOSS][t] = cal_friction_force(def->friction_loss, rate) - def->damping * rate +
                                         (def->limited ? cal_stop_force(law, length, rate) - elastic : 0.0);
    }
}

// --- On nodes and joints -------------------------------------------------------------------------------------------------------

static void push(cal_coupled* c, cal_coupled_kind kind, int node, const double point[3], const double force[3]) {
    double arm[3], moment[3];
    for (int i = 0; i < 3; i++) arm[i] = point[i] - c->motions[node].position[i];
    cal_cross3(arm, force, moment);
    cal_spatial* wrench = &c->wrenches[kind][node];
    for (int i = 0; i < 3; i++) wrench->angular[i] += moment[i], wrench->linear[i] += force[i];
}

static void apply_tendons(cal_coupled* c) {
    const cal_model* model = c->model;
    for (int kind = 0; kind < CAL_COUPLED_KINDS; kind++)
        for (int t = 0; t < model->kept.tendon_count; t++) {
            const double force = c->forces[kind][t];
            if (force == 0.0) continue;
            cal_tendon_add_joints(model, t, force, c->tau[kind]);
            for (int i = c->first_pull[t]; i < c->first_pull[t + 1]; i++) {
                const cal_tendon_end* pull = &c->pulls[i];
                double along[3];
                for (int k = 0; k < 3; k++) along[k] = force * pull->direction[k];
                push(c, (cal_coupled_kind)kind, pull->node, pull->point, along);
            }
        }
}

static void add_joint_share(const cal_node* node, const double rotation[9], const cal_spatial* wrench, double* out) {
    cal_spatial turned;
    cal_unrotate3(rotation, wrench->angular, turned.angular);
    cal_unrotate3(rotation, wrench->linear, turned.linear);
    switch (node->kind) {
    case CAL_REVOLUTE: out[0] += turned.angular[2]; break;
    case CAL_PRISMATIC: out[0] += turned.linear[2]; break;
    case CAL_BALL:
        for (int i = 0; i < 3; i++) out[i] += turned.angular[i];
        break;
    default:
        for (int i = 0; i < 3; i++) out[i] += wrench->linear[i], out[3 + i] += turned.angular[i];
    }
}

// From the leaves to the ground: what acts on a node acts on all joints that it hangs from.
static void sum_up(cal_coupled* c) {
    const cal_model* model = c->model;
    for (int n = 0; n < model->node_count; n++) {
        c->own[n] = c->wrenches[0][n];
        for (int kind = 1; kind < CAL_COUPLED_KINDS; kind++) cal_spatial_add(&c->own[n], &c->wrenches[kind][n]);
    }
    for (int kind = 0; kind < CAL_COUPLED_KINDS; kind++)
        for (int n = model->node_count - 1; n >= 0; n--) {
            const cal_node* node = &model->nodes[n];
            const cal_spatial* own = &c->wrenches[kind][n];
            add_joint_share(node, c->motions[n].rotation, own, c->tau[kind] + node->first_v);
            if (node->parent < 0) continue;
            cal_spatial* above = &c->wrenches[kind][node->parent];
            double arm[3], moment[3];
            for (int i = 0; i < 3; i++) arm[i] = c->motions[n].position[i] - c->motions[node->parent].position[i];
            cal_cross3(arm, own->linear, moment);
            for (int i = 0; i < 3; i++)
                above->angular[i] += own->angular[i] + moment[i], above->linear[i] += own->linear[i];
        }
}

// --- On bodies -----------------------------------------------------------------------------------------------------------------

// A frame of a body in the world; its node, −1: the body does not move, or is the ground.
static int place_frame(const cal_coupled* c, int body, const double position[3], const double quaternion[4],
                       double rotation[9], double origin[3]) {
    const cal_placed at = {(const double*)c->motions, (size_t)CAL_DOUBLES(cal_world_motion), c->q, NULL};
    double own[9], mounted[9];
    const int node = cal_place_point(c->model, &at, body, position, origin);
    cal_quaternion_matrix(quaternion, own);
    if (body == CAL_GROUND)
        memcpy(mounted, own, sizeof own);
    else
        cal_multiply33(c->model->mounts[body].rotation, own, mounted);
    if (node < 0)
        memcpy(rotation, mounted, sizeof mounted);
    else
        cal_multiply33(c->motions[node].rotation, mounted, rotation);
    return node;
}

// Angular velocity, and that of the frame's origin less the medium's, in the frame's axes.
static void find_velocity(const cal_world_motion* motion, const double rotation[9], const double origin[3],
                          const double wind[3], double out[6]) {
    double linear[3];
    velocity_of(motion, origin, linear);
    for (int i = 0; i < 3; i++) linear[i] -= wind[i];
    cal_unrotate3(rotation, motion->angular, out);
    cal_unrotate3(rotation, linear, out + 3);
}

static void push_frame(cal_coupled* c, cal_coupled_kind kind, int node, const double rotation[9],
                       const double origin[3], const double torque[3], const double force[3]) {
    double turned[3], pushed[3];
    cal_rotate3(rotation, force, pushed);
    cal_rotate3(rotation, torque, turned);
    push(c, kind, node, origin, pushed);
    for (int i = 0; i < 3; i++) c->wrenches[kind][node].angular[i] += turned[i];
}

// What carries the weight of bodies.
static void carry_weights(cal_coupled* c) {
    const cal_model* model = c->model;
    const cal_placed at = {(const double*)c->motions, (size_t)CAL_DOUBLES(cal_world_motion), c->q, NULL};
    for (int b = 0; b < model->body_count; b++) {
        const cal_body_def* def = model->bodies[b].def;
        double center[3], force[3];
        if (def->weightless == 0.0) continue;
        const int node = cal_place_point(model, &at, b, def->center, center);
        for (int i = 0; i < 3; i++) force[i] = -(def->mass * def->weightless) * model->gravity[i];
        if (node >= 0) push(c, CAL_COUPLED_ENERGY, node, center, force);
    }
}

// A wind works; a medium at rest only takes.
static void drag_bodies(cal_coupled* c) {
    const cal_model* model = c->model;
    const cal_medium* medium = &model->kept.medium;
    const bool still = medium->wind[0] == 0.0 && medium->wind[1] == 0.0 && medium->wind[2] == 0.0;
    for (int i = 0; i < model->kept.drag_count; i++) {
        const cal_drag_def* def = &model->kept.drags[i];
        double rotation[9], origin[3], velocity[6], force[6];
        const int node = place_frame(c, def->body, def->position, def->quaternion, rotation, origin);
        if (node < 0) continue;
        find_velocity(&c->motions[node], rotation, origin, medium->wind, velocity);
        cal_drag_force(def, medium, velocity, force);
        push_frame(c, still ? CAL_COUPLED_LOSS : CAL_COUPLED_WORK, node, rotation, origin, force, force + 3);
    }
}

// What a motor on a body pushes: end 0 is the body's frame, end 1 the reference's, which has the node −1 where there is none.
typedef struct thrust {
    int node[2], common; // −1: the ground
    double origin[2][3];
    double force[3], torque[3]; // that a force of 1 is at end 0, world's axes
    double length, rate;
} thrust;

// What both hang from; children have higher numbers than their parents.
static int common_node(const cal_model* model, int a, int b) {
    while (a != b) {
        int* lower = a > b ? &a : &b;
        *lower = model->nodes[*lower].parent;
    }
    return a;
}

// Velocity of a point of a node, and the node's angular velocity, seen from another node.
static void relative_velocity(const cal_coupled* c, int node, int from, const double point[3], double linear[3],
                              double angular[3]) {
    memset(linear, 0, 3 * sizeof *linear);
    memset(angular, 0, 3 * sizeof *angular);
    for (int end = 0; end < 2; end++) {
        const int n = end == 0 ? node : from;
        double velocity[3];
        if (n < 0) continue;
        velocity_of(&c->motions[n], point, velocity);
        for (int i = 0; i < 3; i++) {
            linear[i] += end == 0 ? velocity[i] : -velocity[i];
            angular[i] += end == 0 ? c->motions[n].angular[i] : -c->motions[n].angular[i];
        }
    }
}

static void find_thrust(const cal_coupled* c, const cal_actuator_def* motor, thrust* out) {
    double rotation[9], other[9], linear[3], angular[3];
    *out = (thrust){.common = -1, .node = {-1, -1}};
    out->node[0] = place_frame(c, motor->body, motor->position, motor->quaternion, rotation, out->origin[0]);
    const bool alone = motor->reference == CAL_NONE;
    if (!alone) {
        double apart[3], offset[3], relative[9], turn[4], vector[3];
        out->node[1] = place_frame(c, motor->reference, motor->reference_position, motor->reference_quaternion, other,
                                   out->origin[1]);
        out->common = common_node(c->model, out->node[0], out->node[1]);
        for (int i = 0; i < 3; i++) apart[i] = out->origin[0][i] - out->origin[1][i];
        cal_unrotate3(other, apart, offset);
        cal_transpose_multiply33(other, rotation, relative);
        cal_matrix_quaternion(relative, turn);
        cal_rotation_vector(turn, vector);
        out->length = cal_dot3(motor->wrench, offset) + cal_dot3(motor->wrench + 3, vector);
    }
    cal_rotate3(alone ? rotation : other, motor->wrench, out->force);
    cal_rotate3(alone ? rotation : other, motor->wrench + 3, out->torque);
    for (int end = 0; end < (alone ? 1 : 2); end++) {
        relative_velocity(c, out->node[end], out->common, out->origin[end], linear, angular);
        const double along = cal_dot3(out->force, linear) + cal_dot3(out->torque, angular);
        out->rate += end == 0 ? along : -along;
    }
}

void cal_coupled_body_motor(const cal_coupled* c, const cal_actuator_def* motor, double* length, double* rate) {
    thrust own;
    find_thrust(c, motor, &own);
    *length = own.length;
    *rate = own.rate;
}

static void push_bodies(cal_coupled* c, const double* control) {
    const cal_model* model = c->model;
    for (int i = 0; i < model->actuator_count; i++) {
        const cal_actuator_def* motor = &model->actuators[i];
        thrust own;
        if (motor->body == CAL_NONE) continue;
        find_thrust(c, motor, &own);
        const double strength = cal_motor_force(motor, control[i], own.length, own.rate);
        for (int end = 0; end < 2; end++) {
            const double sign = end == 0 ? strength : -strength;
            if (own.node[end] == own.common) continue; // the ground, or what both hang from
            // Onto the node, and off what it shares with the other end.
            for (int k = 0; k < 2; k++) {
                const int node = k == 0 ? own.node[end] : own.common;
                if (node < 0) continue;
                double force[3];
                for (int j = 0; j < 3; j++) force[j] = (k == 0 ? sign : -sign) * own.force[j];
                push(c, CAL_COUPLED_WORK, node, own.origin[end], force);
                for (int j = 0; j < 3; j++)
                    c->wrenches[CAL_COUPLED_WORK][node].angular[j] += (k == 0 ? sign : -sign) * own.torque[j];
            }
        }
    }
}

// Whether anything acts on bodies, and not on joints alone.
static bool acts_on_bodies(const cal_model* model) {
    if (cal_model_has_weightless(model) || cal_model_has_drag(model)) return true;
    for (int i = 0; i < model->actuator_count; i++)
        if (model->actuators[i].body != CAL_NONE) return true;
    for (int i = 0; i < model->kept.tendon_count; i++)
        if (model->kept.tendons[i].parts[0].kind != CAL_TENDON_JOINT) return true;
    return false;
}

static void move_nodes(cal_coupled* c) {
    for (int n = 0; n < c->model->node_count; n++) {
        const cal_node* node = &c->model->nodes[n];
        cal_move_node(node, node->parent < 0 ? NULL : &c->motions[node->parent], c->q + node->first_q,
                      c->v + node->first_v, &c->motions[n]);
    }
}

void cal_coupled_find_lengths(cal_coupled* c) {
    move_nodes(c);
    find_lengths(c);
}

static void clear(cal_coupled* c) {
    for (int kind = 0; kind < CAL_COUPLED_KINDS; kind++) {
        memset(c->tau[kind], 0, (size_t)c->model->v_count * sizeof(double));
        memset(c->wrenches[kind], 0, (size_t)c->model->node_count * sizeof *c->wrenches[kind]);
    }
}

// What all motors do to joints as work, and what carries weights as energy.
static void sum_motors(cal_coupled* c, const double* control) {
    const cal_model* model = c->model;
    cal_coupled_find_lengths(c);
    clear(c);
    for (int kind = 0; kind < CAL_COUPLED_KINDS; kind++)
        memset(c->forces[kind], 0, (size_t)model->kept.tendon_count * sizeof(double));
    find_motor_forces(c, control);
    apply_tendons(c);
    if (cal_model_has_weightless(model)) carry_weights(c);
    push_bodies(c, control);
    sum_up(c);
    for (int i = 0; i < model->actuator_count; i++) {
        const cal_actuator_def* motor = &model->actuators[i];
        if (motor->joint < 0) continue;
        const cal_joint* joint = &model->joints[motor->joint];
        const double q = cal_motor_position(model, motor, c->q + joint->first_q, 1);
        c->tau[CAL_COUPLED_WORK][joint->first_v + motor->axis] +=
            cal_motor_force(motor, control[i], q, c->v[joint->first_v + motor->axis]);
    }
}

// Of joints whose motors have a range: what these do, and what the range takes from it.
static void clamp_motors(cal_coupled* c) {
    const cal_model* model = c->model;
    memset(c->taken, 0, (size_t)model->v_count * sizeof *c->taken);
    for (int i = 0; i < model->joint_count; i++) {
        const cal_joint_def* def = model->joints[i].def;
        const int v = model->joints[i].first_v;
        if (def->motor_carries) c->tau[CAL_COUPLED_WORK][v] += c->tau[CAL_COUPLED_ENERGY][v];
        if (!cal_model_limits_motors(model, def)) continue;
        const double sum = c->tau[CAL_COUPLED_WORK][v];
        const double given = (model->disabled & CAL_PART_ACTUATION) != 0 ? 0.0 : cal_clamp(sum, def->motor_range);
        c->taken[v] = given - sum;
        c->share[v] = given == sum ? 1.0 : cal_positive(given / sum); // as cal_motor_slopes has it
        c->tau[CAL_COUPLED_WORK][v] = given;
    }
}

const double* cal_coupled_motor_forces(cal_coupled* c, const double* control) {
    sum_motors(c, control);
    clamp_motors(c);
    return c->tau[CAL_COUPLED_WORK];
}

void cal_coupled_evaluate(cal_coupled* c, const double* control) {
    const cal_model* model = c->model;
    const bool bodies = acts_on_bodies(model), ranges = cal_model_has_motor_ranges(model);
    if (ranges) cal_coupled_motor_forces(c, control);
    if (bodies) move_nodes(c);
    clear(c);
    find_lengths(c);
    find_tendon_forces(c, control);
    apply_tendons(c);
    if (bodies) {
        if (cal_model_has_weightless(model)) carry_weights(c);
        if (cal_model_has_drag(model)) drag_bodies(c);
        push_bodies(c, control);
        sum_up(c);
    }
    for (int i = 0; ranges && i < model->v_count; i++) c->tau[CAL_COUPLED_WORK][i] += c->taken[i];
}

void cal_coupled_evaluate_at(cal_coupled* c, const double* control, const double* q, const double* v) {
    memcpy(c->q, q, (size_t)c->model->q_count * sizeof *q);
    memcpy(c->v, v, (size_t)c->model->v_count * sizeof *v);
    cal_coupled_evaluate(c, control);
}

double cal_coupled_power(const cal_coupled* c, cal_coupled_kind kind, const double* v) {
    double power = 0.0;
    for (int i = 0; i < c->model->v_count; i++) power += c->tau[kind][i] * v[i];
    return power;
}

// --- Slopes --------------------------------------------------------------------------------------------------------------------

static cal_slopes tendon_slopes(const cal_coupled* c, int tendon, const double* control) {
    const cal_model* model = c->model;
    const cal_tendon_def* def = &model->kept.tendons[tendon];
    const double length = c->lengths[tendon], rate = c->rates[tendon];
    cal_slopes slopes = cal_stop_slopes(&model->tendon_laws[tendon].joint, length, rate);
    slopes.damping += def->damping + cal_friction_damping(def->friction_loss, rate);
    slopes.stiffness += stretch_of(def, length) != 0.0 ? def->stiffness : 0.0;
    for (int i = 0; i < model->actuator_count; i++) {
        if (model->actuators[i].tendon != tendon) continue;
        const cal_slopes motor = cal_motor_slopes(&model->actuators[i], control[i], length, rate);
        slopes.damping += motor.damping;
        slopes.stiffness += motor.stiffness;
    }
    return slopes;
}

// What a force of 1 of a motor on a body is for joints, into the gradient.
static void find_thrust_gradient(cal_coupled* c, const thrust* own) {
    memset(c->gradient, 0, (size_t)c->model->v_count * sizeof(double));
    for (int end = 0; end < 2; end++)
        for (int n = own->node[end]; n >= 0 && n != own->common; n = c->model->nodes[n].parent) {
            cal_spatial wrench;
            double arm[3];
            for (int i = 0; i < 3; i++) arm[i] = own->origin[end][i] - c->motions[n].position[i];
            cal_cross3(arm, own->force, wrench.angular);
            for (int i = 0; i < 3; i++) {
                wrench.angular[i] = (end == 0 ? 1.0 : -1.0) * (wrench.angular[i] + own->torque[i]);
                wrench.linear[i] = (end == 0 ? 1.0 : -1.0) * own->force[i];
            }
            add_joint_share(&c->model->nodes[n], c->motions[n].rotation, &wrench,
                            c->gradient + c->model->nodes[n].first_v);
        }
}

// g gᵀ times the slopes, as a diagonal.
static void add_slopes(cal_coupled* c, cal_slopes slopes) {
    double sum = 0.0;
    for (int i = 0; i < c->model->v_count; i++) sum += fabs(c->gradient[i]);
    for (int i = 0; i < c->model->v_count; i++) {
        c->damping[i] += slopes.damping * fabs(c->gradient[i]) * sum;
        c->stiffness[i] += slopes.stiffness * fabs(c->gradient[i]) * sum;
    }
}

static void find_thrust_slopes(cal_coupled* c, const double* control) {
    for (int i = 0; i < c->model->actuator_count; i++) {
        const cal_actuator_def* motor = &c->model->actuators[i];
        thrust own;
        if (motor->body == CAL_NONE) continue;
        find_thrust(c, motor, &own);
        cal_slopes slopes = cal_motor_slopes(motor, control[i], own.length, own.rate);
        if (motor->reference == CAL_NONE) slopes.stiffness = 0.0; // it has no length
        if (slopes.damping == 0.0 && slopes.stiffness == 0.0) continue;
        find_thrust_gradient(c, &own);
        add_slopes(c, slopes);
    }
}

// Of a medium's forces on all bodies of each node, in its axes.
static void find_resistances(cal_coupled* c) {
    const cal_model* model = c->model;
    memset(c->resistances, 0, (size_t)model->node_count * sizeof *c->resistances);
    for (int i = 0; i < model->kept.drag_count; i++) {
        const cal_drag_def* def = &model->kept.drags[i];
        double rotation[9], origin[3], velocity[6];
        const int node = place_frame(c, def->body, def->position, def->quaternion, rotation, origin);
        if (node < 0) continue;
        find_velocity(&c->motions[node], rotation, origin, model->kept.medium.wind, velocity);
        cal_drag_add_slopes(model, def, velocity, &c->resistances[node]);
    }
}

void cal_coupled_resist(cal_coupled* c, double h) {
    static const int own[6] = {0, 4, 8, 1, 2, 5}; // xx, yy, zz, xy, xz, yz
    for (int n = 0; n < c->model->node_count; n++) {
        double* out = c->resisting + CAL_RESISTING * (size_t)n;
        cal_resistance turned;
        cal_resistance_turn(&c->resistances[n], c->motions[n].rotation, &turned);
        for (int i = 0; i < 6; i++) out[i] = h * turned.turning[own[i]], out[15 + i] = h * turned.moving[own[i]];
        for (int i = 0; i < 9; i++) out[6 + i] = h * turned.coupling[3 * (i % 3) + i / 3];
    }
}

// What resists the motion of node n, as it is in c->motions.
static cal_spatial resisted(const cal_coupled* c, int n) {
    const double *R = c->resisting + CAL_RESISTING * (size_t)n, *w = c->motions[n].angular, *v = c->motions[n].linear;
    const double *T = R, *H = R + 6, *M = R + 15;
    cal_spatial out;
    out.angular[0] = T[0] * w[0] + T[3] * w[1] + T[4] * w[2], out.linear[0] = M[0] * v[0] + M[3] * v[1] + M[4] * v[2];
    out.angular[1] = T[3] * w[0] + T[1] * w[1] + T[5] * w[2], out.linear[1] = M[3] * v[0] + M[1] * v[1] + M[5] * v[2];
    out.angular[2] = T[4] * w[0] + T[5] * w[1] + T[2] * w[2], out.linear[2] = M[4] * v[0] + M[5] * v[1] + M[2] * v[2];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) out.angular[i] += H[3 * j + i] * v[j], out.linear[j] += H[3 * j + i] * w[i];
    return out;
}

void cal_coupled_find_resistance(cal_coupled* c, double* out) {
    const size_t count = (size_t)c->model->v_count;
    cal_coupled_resist(c, 1.0);
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < count; i++) c->v[i] = i == k ? 1.0 : 0.0;
        move_nodes(c);
        clear(c);
        for (int n = 0; n < c->model->node_count; n++) c->wrenches[CAL_COUPLED_LOSS][n] = resisted(c, n);
        sum_up(c);
        memcpy(out + k * count, c->tau[CAL_COUPLED_LOSS], count * sizeof *out);
    }
}

double cal_coupled_resisted_power(cal_coupled* c, const double* change) {
    double power = 0.0;
    if (!cal_model_has_drag(c->model)) return 0.0;
    move_nodes(c);
    for (int n = 0; n < c->model->node_count; n++) c->resisted[n] = resisted(c, n);
    memcpy(c->v, change, (size_t)c->model->v_count * sizeof *change);
    move_nodes(c);
    for (int n = 0; n < c->model->node_count; n++)
        power += cal_dot3(c->resisted[n].angular, c->motions[n].angular) +
                 cal_dot3(c->resisted[n].linear, c->motions[n].linear);
    return power;
}

// The slopes of joints' own motors are found elsewhere; here they become less where a range takes from them.
static void lessen_motor_slopes(cal_coupled* c, const double* control) {
    const cal_model* model = c->model;
    for (int i = 0; i < model->actuator_count; i++) {
        const cal_actuator_def* motor = &model->actuators[i];
        if (motor->joint < 0 || !cal_model_limits_motors(model, model->joints[motor->joint].def)) continue;
        const cal_joint* joint = &model->joints[motor->joint];
        const int v = joint->first_v;
        const cal_slopes own = cal_motor_slopes(motor, control[i], c->q[joint->first_q], c->v[v]);
        c->damping[v] -= (1.0 - c->share[v]) * own.damping;
        c->stiffness[v] -= (1.0 - c->share[v]) * own.stiffness;
    }
}

void cal_coupled_find_slopes(cal_coupled* c, const double* control) {
    const cal_model* model = c->model;
    const cal_placed at = {(const double*)c->motions, (size_t)CAL_DOUBLES(cal_world_motion), c->q, NULL};
    const size_t size = (size_t)model->v_count * sizeof(double);
    memset(c->damping, 0, size);
    memset(c->stiffness, 0, size);
    for (int t = 0; t < model->kept.tendon_count; t++) {
        const cal_slopes slopes = tendon_slopes(c, t, control);
        if (slopes.damping == 0.0 && slopes.stiffness == 0.0) continue;
        memset(c->gradient, 0, size);
        cal_tendon_add_joints(model, t, 1.0, c->gradient);
        for (int i = c->first_pull[t]; i < c->first_pull[t + 1]; i++)
            cal_tendon_end_add_gradient(model, &at, &c->pulls[i], 1.0, c->gradient);
        add_slopes(c, slopes);
    }
    find_thrust_slopes(c, control);
    if (cal_model_has_drag(model)) find_resistances(c);
    lessen_motor_slopes(c, control);
}

bool cal_coupled_add_slopes(cal_coupled* c, const double* control, const double* q, const double* v, double* damping,
                            double* stiffness) {
    bool any = false;
    if (c == NULL) return false;
    cal_coupled_evaluate_at(c, control, q, v);
    cal_coupled_find_slopes(c, control);
    for (int i = 0; i < c->model->v_count; i++) {
        any |= c->damping[i] != 0.0 || c->stiffness[i] != 0.0;
        damping[i] += c->damping[i];
        stiffness[i] += c->stiffness[i];
    }
    return any;
}

// --- For programs that look at a motion ------------------------------------------------------------------------------------------

static cal_placed placed_by(const cal_context* context, int node_doubles) {
    return (cal_placed){context->workspace, (size_t)node_doubles, context->y, context->layout->block_y};
}

typedef struct rate {
    const cal_context* context;
    int node_doubles;
    double sum;
} rate;

static void add_rate(void* user, const cal_tendon_end* pull) {
    rate* own = user;
    own->sum += pull_rate(pull, cal_node_workspace(own->context, pull->node, own->node_doubles));
}

void cal_tendon_motions(const cal_context* context, int node_doubles, double* out) {
    const cal_model* model = context->model;
    const cal_placed at = placed_by(context, node_doubles);
    for (int t = 0; t < model->kept.tendon_count; t++) {
        const cal_tendon_def* def = &model->kept.tendons[t];
        rate own = {context, node_doubles, 0.0};
        out[2 * t] = cal_tendon_trace(model, t, &at, add_rate, &own);
        for (int i = 0; i < def->part_count; i++)
            if (def->parts[i].kind == CAL_TENDON_JOINT)
                own.sum += def->parts[i].factor * *cal_node_v(context, model->joints[def->parts[i].joint].node);
        out[2 * t + 1] = own.sum;
    }
}

static double find_energy(const cal_model* model, const cal_placed* at) {
    double energy = 0.0;
    for (int t = 0; t < model->kept.tendon_count; t++)
        energy += tendon_energy(model, t, cal_tendon_trace(model, t, at, NULL, NULL));
    for (int b = 0; cal_model_has_weightless(model) && b < model->body_count; b++) {
        const cal_body_def* def = model->bodies[b].def;
        double center[3];
        if (def->weightless == 0.0 || cal_place_point(model, at, b, def->center, center) < 0) continue;
        energy += def->mass * def->weightless * cal_dot3(model->gravity, center);
    }
    return energy;
}

double cal_coupled_energy(const cal_context* context, int node_doubles) {
    const cal_placed at = placed_by(context, node_doubles);
    return find_energy(context->model, &at);
}

double cal_coupled_energy_at(cal_coupled* c, const double* q, const double* v) {
    const cal_placed at = {(const double*)c->motions, (size_t)CAL_DOUBLES(cal_world_motion), c->q, NULL};
    memcpy(c->q, q, (size_t)c->model->q_count * sizeof *q);
    memcpy(c->v, v, (size_t)c->model->v_count * sizeof *v);
    move_nodes(c);
    return find_energy(c->model, &at);
}
