// See coupled_force.h.
#include "base/memory.h"
#include "pass/coupled_inner.h"

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

static double pull_rate(const cal_tendon_end* pull, const cal_world_motion* motion) {
    double velocity[3];
    cal_motion_at(motion, pull->point, velocity);
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

static double tendon_energy(const cal_model* model, int tendon, double length) {
    const cal_tendon_def* def = &model->kept.tendons[tendon];
    const double stretch = cal_tendon_stretch(def, length);
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
        c->forces[CAL_COUPLED_ENERGY][t] = elastic - def->stiffness * cal_tendon_stretch(def, length);
        c->forces[CAL_COUPLED_LOSS][t] = cal_friction_force(def->friction_loss, rate) - def->damping * rate +
                                         (def->limited ? cal_stop_force(law, length, rate) - elastic : 0.0);
    }
}

// --- On nodes and joints -------------------------------------------------------------------------------------------------------

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
                cal_coupled_push(c, (cal_coupled_kind)kind, pull->node, pull->point, along);
            }
        }
}

void cal_coupled_sum_up(cal_coupled* c) {
    const cal_model* model = c->model;
    for (int n = 0; n < model->node_count; n++) {
        c->own[n] = c->wrenches[0][n];
        for (int kind = 1; kind < CAL_COUPLED_KINDS; kind++) cal_spatial_add(&c->own[n], &c->wrenches[kind][n]);
    }
    for (int kind = 0; kind < CAL_COUPLED_KINDS; kind++)
        for (int n = model->node_count - 1; n >= 0; n--) {
            const cal_node* node = &model->nodes[n];
            const cal_spatial* own = &c->wrenches[kind][n];
            cal_add_joint_share(node, c->motions[n].rotation, own, c->tau[kind] + node->first_v);
            if (node->parent < 0) continue;
            cal_spatial* above = &c->wrenches[kind][node->parent];
            double arm[3], moment[3];
            for (int i = 0; i < 3; i++) arm[i] = c->motions[n].position[i] - c->motions[node->parent].position[i];
            cal_cross3(arm, own->linear, moment);
            for (int i = 0; i < 3; i++)
                above->angular[i] += own->angular[i] + moment[i], above->linear[i] += own->linear[i];
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

void cal_coupled_move(cal_coupled* c) {
    for (int n = 0; n < c->model->node_count; n++) {
        const cal_node* node = &c->model->nodes[n];
        cal_move_node(node, node->parent < 0 ? NULL : &c->motions[node->parent], c->q + node->first_q,
                      c->v + node->first_v, &c->motions[n]);
    }
}

void cal_coupled_find_lengths(cal_coupled* c) {
    cal_coupled_move(c);
    find_lengths(c);
}

void cal_coupled_clear(cal_coupled* c) {
    for (int kind = 0; kind < CAL_COUPLED_KINDS; kind++) {
        memset(c->tau[kind], 0, (size_t)c->model->v_count * sizeof(double));
        memset(c->wrenches[kind], 0, (size_t)c->model->node_count * sizeof *c->wrenches[kind]);
    }
}

// What all motors do to joints as work, and what carries weights as energy.
static void sum_motors(cal_coupled* c, const double* control) {
    const cal_model* model = c->model;
    cal_coupled_find_lengths(c);
    cal_coupled_clear(c);
    for (int kind = 0; kind < CAL_COUPLED_KINDS; kind++)
        memset(c->forces[kind], 0, (size_t)model->kept.tendon_count * sizeof(double));
    find_motor_forces(c, control);
    apply_tendons(c);
    if (cal_model_has_weightless(model)) cal_coupled_carry(c);
    cal_coupled_push_bodies(c, control);
    cal_coupled_sum_up(c);
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
    if (bodies) cal_coupled_move(c);
    cal_coupled_clear(c);
    find_lengths(c);
    find_tendon_forces(c, control);
    apply_tendons(c);
    if (bodies) {
        if (cal_model_has_weightless(model)) cal_coupled_carry(c);
        if (cal_model_has_drag(model)) cal_coupled_drag(c);
        cal_coupled_push_bodies(c, control);
        cal_coupled_sum_up(c);
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
    cal_coupled_move(c);
    return find_energy(c->model, &at);
}
