// States: one block of memory that holds every array a run writes, in walking order.
#include "base/hash.h"
#include "base/memory.h"
#include "model/activation.h"
#include "pass/aba.h"
#include "plan/machine_ops.h"

#include <string.h>

enum { WRENCH = 15 }; // numbers that push a node (pass.h)

// Dead lanes of ball and free joints hold the unit quaternion.
static void fill_dead_lanes(const cal_layout* layout, double* y) {
    const int width = layout->width;
    for (int c = 0; c < layout->column_count; c++) {
        const int kind = layout->columns[c].kind;
        if ((kind != CAL_BALL && kind != CAL_FREE) || !cal_layout_keeps(layout, &layout->columns[c])) continue;
        for (int b = layout->columns[c].first_block;
             b < layout->columns[c].first_block + layout->columns[c].block_count; b++)
            for (int lane = 0; lane < width; lane++)
                y[layout->block_y[b] + (kind == CAL_FREE ? 3 : 0) * width + lane] = 1.0;
    }
}

// What the roots of a walk see of the ground: E = 1, at rest, accelerated against gravity.
static void fill_ground(const cal_model* model, double* slot) {
    for (int i = 0; i < 3; i++) {
        slot[4 * i] = 1.0;
        slot[15 + i] = -model->gravity[i];
    }
}

static size_t result_size(const cal_plan* plan) {
    const size_t n = (size_t)plan->model->v_count;
    return plan->program->fields & 1u << CAL_MASS ? 2 * n * n : plan->program->fields & 1u << CAL_ENERGY ? 8 : 0;
}

enum {
    SIGNAL_DOUBLES = 16, // of struct cal_signal: two cache lines
    COUNT_DOUBLES = CAL_COUNTS * sizeof(cal_count) / sizeof(double)
};

cal_status cal_state_hold(cal_state* state, double error, double speed) {
    if (!state || !(error >= 0.0 && speed >= 0.0) || !isfinite(error) || !isfinite(speed)) return CAL_BAD_ARGUMENT;
    const cal_arrangement* arrangement = state->plan->arrangement;
    const cal_hold how = {.held = true, .error = error, .speed = speed};
    return arrangement && arrangement->ops->hold(&state->context, &how) ? CAL_OK : CAL_NOT_AVAILABLE;
}

cal_status cal_state_bring(const cal_state* state, unsigned what) {
    struct cal_machine* machine = state->plan->machine;
    if (!(state->behind & what)) return CAL_OK;
    return machine->ops->bring(machine, (cal_state*)state, state->behind & what);
}

cal_status cal_state_create(const cal_plan* plan, cal_state** out) {
    if (!plan || !out) return CAL_BAD_ARGUMENT;
    *out = NULL;
    const cal_layout* layout = plan->layout;
    const cal_program* program = plan->program;
    const cal_model* model = plan->model;
    const bool has_forces = program->solves && cal_model_has_joint_forces(model);
    size_t total = (sizeof(cal_state) + 63) / 64 * 8;
    // Programs that only look at a motion have no accelerations and no forces.
    const bool moves = program->walked || program->solves || program->fields & (1u << CAL_QDD | 1u << CAL_TAU);
    const size_t y = cal_reserve(&total, layout->y_size), ydot = cal_reserve(&total, moves ? layout->y_size : 0);
    const size_t tau = cal_reserve(&total, moves ? layout->v_size : 0);
    const size_t force = has_forces ? cal_reserve(&total, layout->v_size) : tau;
    const bool has_coupled = program->solves && cal_model_has_coupled_forces(plan->whole);
    const size_t coupled = has_coupled ? cal_reserve(&total, 3 * layout->v_size) : 0;
    const size_t control = cal_reserve(&total, (size_t)layout->copies * (size_t)model->actuator_count);
    const size_t records = cal_reserve(&total, plan->record_size);
    const size_t scratch = cal_reserve(&total, program->walked ? layout->scratch_size : 0);
    const size_t workspace = cal_reserve(&total, (size_t)program->node_doubles * (size_t)model->node_count);
    const size_t result = cal_reserve(&total, result_size(plan));
    const cal_arrangement* arrangement = plan->arrangement;
    const size_t signal_count = (size_t)layout->column_count + (arrangement ? (size_t)arrangement->tree.edge_count : 0);
    const size_t signals = cal_reserve(&total, plan->used > 1 ? SIGNAL_DOUBLES * signal_count : 0);
    const size_t counts = cal_reserve(&total, plan->used > 1 ? COUNT_DOUBLES * (size_t)plan->machine->processors : 0);
    const size_t own = cal_reserve(&total, arrangement ? arrangement->state_size : 0);
    double* block = cal_allocate(total, sizeof(double));
    if (!block) return CAL_NO_MEMORY;
    cal_state* state = (cal_state*)block;
    state->plan = plan;
    state->unmet = CAL_NONE;
    state->changed = ~0u;
    if (plan->used > 1) cal_pace_begin(&state->pace, plan->machine->costs.compute * (double)model->node_count);
    state->signals = (struct cal_signal*)(block + signals);
    state->counts = (cal_count*)(block + counts);
    state->context = (cal_context){.layout = layout,
                                   .model = model,
                                   .y = block + y,
                                   .ydot = moves ? block + ydot : NULL,
                                   .tau = block + tau,
                                   .force = block + force,
                                   .coupled = has_coupled ? block + coupled : NULL,
                                   .coupled_slopes = has_coupled ? block + coupled + layout->v_size : NULL,
                                   .control = block + control,
                                   .records = block + records,
                                   .scratch = block + scratch,
                                   .workspace = block + workspace,
                                   .result = block + result,
                                   .unmet = &state->unmet};
    const bool resists = has_coupled && program->implicit && cal_model_has_drag(plan->whole);
    const size_t lanes = (size_t)layout->block_count * (size_t)layout->width;
    if ((has_coupled && !(state->coupled = cal_coupled_create(plan->whole))) ||
        (resists && !(state->resisting = cal_allocate(CAL_RESISTING * lanes, sizeof(double))))) {
        cal_coupled_destroy(state->coupled);
        cal_free(state);
        return CAL_NO_MEMORY;
    }
    fill_dead_lanes(layout, state->context.y);
    if (program->walked) fill_ground(model, state->context.scratch);
    if (arrangement && arrangement->ops->begin(arrangement, &state->context, block + own) != CAL_OK) {
        cal_state_destroy(state);
        return CAL_NO_MEMORY;
    }
    for (int copy = 0; copy < layout->copies; copy++) {
        cal_layout_scatter(layout, copy, model->initial_q, model->initial_v, state->context.y);
        for (int i = 0; i < model->actuator_count; i++)
            state->context.control[copy * model->actuator_count + i] = cal_motor_start(&model->actuators[i]);
    }
    *out = state;
    return CAL_OK;
}

cal_status cal_state_keep_responses(cal_state* state) {
    const cal_layout* layout = state->plan->layout;
    const size_t lanes = (size_t)layout->block_count * (size_t)layout->width;
    if (!state->context.responses) state->context.responses = cal_allocate(CAL_ABA_RESPONSE * lanes, sizeof(double));
    return state->context.responses ? CAL_OK : CAL_NO_MEMORY;
}

void cal_state_destroy(cal_state* state) {
    if (!state) return;
    cal_free(state->context.responses);
    if (state->on_device) state->plan->machine->ops->forget(state);
    if (state->plan->arrangement) state->plan->arrangement->ops->end(&state->context);
    cal_coupled_destroy(state->coupled);
    cal_free(state->resisting);
    cal_free(state->wrench);
    cal_free(state->pushes);
    cal_free(state);
}

size_t cal_state_size(const cal_state* state, cal_field field) {
    if (!state) return 0;
    const cal_model* model = state->plan->model;
    const size_t n = (size_t)model->v_count;
    if ((unsigned)field > CAL_TENDON || !(state->plan->program->fields & 1u << field)) return 0;
    switch (field) {
    case CAL_Q: return (size_t)model->q_count;
    case CAL_CONTROL: return (size_t)model->actuator_count;
    case CAL_MASS: return n * n;
    case CAL_POSE: return 7 * (size_t)model->body_count;
    case CAL_ENERGY: return 2;
    case CAL_MOMENTUM: return 6;
    case CAL_TENDON: return 2 * (size_t)model->kept.tendon_count;
    default: return n;
    }
}

// The array that a field is in.
static unsigned held_by(cal_field field) {
    return field == CAL_Q || field == CAL_V ? CAL_HELD_Y
           : field == CAL_QDD               ? CAL_HELD_YDOT
           : field == CAL_TAU               ? CAL_HELD_TAU
           : field == CAL_CONTROL           ? CAL_HELD_CONTROL
                                            : 0;
}

// No bit is set: -0 is none of these.
static bool all_zeros(const double* values, int count) {
    uint64_t bits = 0;
    for (int i = 0; i < count; i++) {
        uint64_t own;
        memcpy(&own, &values[i], sizeof own);
        bits |= own;
    }
    return bits == 0;
}

cal_status cal_state_set(cal_state* state, cal_field field, const double* values) {
    if (!state) return CAL_BAD_ARGUMENT;
    const cal_layout* layout = state->plan->layout;
    const cal_context* context = &state->context;
    if ((unsigned)field > CAL_TENDON || !(state->plan->program->fields & 1u << field)) return CAL_BAD_ARGUMENT;
    // Where nothing was ever driven there is nothing to take back: a million places, and as many numbers for a device.
    if (field == CAL_TAU && state->plan->program->solves && !state->forced) {
        state->forced = !all_zeros(values, layout->model->v_count);
        if (!state->forced) return CAL_OK;
    }
    const unsigned held = held_by(field);
    const cal_status status = cal_state_bring(state, held);
    if (status != CAL_OK) return status;
    cal_state_changed(state, held);
    switch (field) {
    case CAL_Q: cal_layout_scatter(layout, 0, values, NULL, context->y); return CAL_OK;
    case CAL_V: cal_layout_scatter(layout, 0, NULL, values, context->y); return CAL_OK;
    case CAL_QDD: cal_layout_scatter(layout, 0, NULL, values, context->ydot); return CAL_OK;
    case CAL_TAU:
        for (int i = 0; i < layout->model->v_count; i++)
            if (layout->tau_position[i] >= 0) context->tau[layout->tau_position[i]] = values[i];
        cal_layout_repeat_v(layout, context->tau);
        return CAL_OK;
    case CAL_CONTROL:
        for (int i = 0; i < layout->model->actuator_count; i++) context->control[i] = values[i];
        return CAL_OK;
    default: return CAL_BAD_ARGUMENT;
    }
}

cal_status cal_state_get(const cal_state* state, cal_field field, double* values) {
    if (!state) return CAL_BAD_ARGUMENT;
    const cal_layout* layout = state->plan->layout;
    const cal_context* context = &state->context;
    if ((unsigned)field > CAL_TENDON || !(state->plan->program->fields & 1u << field)) return CAL_BAD_ARGUMENT;
    const cal_status status = cal_state_bring(state, held_by(field));
    if (status != CAL_OK) return status;
    switch (field) {
    case CAL_Q: return cal_plan_gather(state->plan, context->y, values, NULL);
    case CAL_V: return cal_plan_gather(state->plan, context->y, NULL, values);
    case CAL_QDD: return cal_plan_gather(state->plan, context->ydot, NULL, values);
    case CAL_TAU:
        // Each process knows the forces of its own joints; where another has the rest they read as zero.
        for (int i = 0; i < layout->model->v_count; i++)
            values[i] = layout->tau_position[i] >= 0 ? context->tau[layout->tau_position[i]] : 0.0;
        break;
    case CAL_CONTROL:
        for (int i = 0; i < layout->model->actuator_count; i++) values[i] = context->control[i];
        break;
    case CAL_POSE:
        for (int body = 0; body < layout->model->body_count; body++)
            cal_state_body_pose(state, body, values + 7 * (size_t)body);
        break;
    case CAL_MOMENTUM: memcpy(values, context->result + 2, 6 * sizeof *values); break;
    case CAL_TENDON: cal_tendon_motions(context, state->plan->program->node_doubles, values); break;
    default: memcpy(values, context->result, cal_state_size(state, field) * sizeof *values); break;
    }
    return CAL_OK;
}

double cal_state_time(const cal_state* state) { return state ? state->time : 0.0; }

void cal_state_set_time(cal_state* state, double time) {
    if (!state) return;
    state->time = time;
}

// Where a node's numbers begin in an array that has `count` of them in each lane of each block.
static size_t find_numbers(const cal_layout* layout, int copy, int node, size_t count) {
    const cal_model* model = layout->model;
    // A node's tau sits at its lane of its block in v-shaped vectors; the block is found by bisection. Blocks of other
    // processors are empty there, and the last of equal positions is the full one.
    const int32_t position =
        layout->tau_position[(size_t)copy * (size_t)model->v_count + (size_t)model->nodes[node].first_v];
    int low = 0, high = layout->block_count;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (layout->block_v[middle] <= position)
            low = middle;
        else
            high = middle;
    }
    return (size_t)low * count * (size_t)layout->width + (size_t)(position - layout->block_v[low]);
}

// What is done to a node of the trunk is done to all of its copies: `at` is inside of the first one's block.
static void repeat_numbers(const cal_layout* layout, double* array, size_t at, size_t count) {
    const size_t size = count * (size_t)layout->width;
    const int32_t block = (int32_t)(at / size);
    int low = 0, high = layout->twin_count; // the first twin of that block or a later one
    while (low < high) {
        const int middle = (low + high) / 2;
        if (layout->twins[middle].from < block)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < layout->twin_count && layout->twins[low].from == block; low++)
        memcpy(array + (size_t)layout->twins[low].to * size, array + (size_t)block * size, size * sizeof(double));
}

void cal_state_resist(cal_state* state, int copy) {
    const cal_layout* layout = state->plan->layout;
    const cal_model* model = state->plan->whole;
    for (int i = 0; i < model->kept.drag_count; i++) {
        const int node = model->mounts[model->kept.drags[i].body].node;
        if (node < 0 || layout->tau_position[model->nodes[node].first_v] < 0)
            continue; // the ground, or another process's
        const size_t at = find_numbers(layout, copy, node, CAL_RESISTING);
        const double* from = state->coupled->resisting + CAL_RESISTING * (size_t)node;
        for (size_t k = 0; k < CAL_RESISTING; k++) state->resisting[at + k * (size_t)layout->width] = from[k];
        repeat_numbers(layout, state->resisting, at, CAL_RESISTING);
    }
}

// Memory for what pushes, which a state without pushes does not have.
static cal_status begin_pushing(cal_state* state) {
    const cal_layout* layout = state->plan->layout;
    if (!state->wrench) {
        state->wrench = cal_allocate((size_t)layout->block_count * WRENCH * (size_t)layout->width, sizeof(double));
        if (!state->wrench) return CAL_NO_MEMORY;
    }
    state->context.wrench = state->wrench;
    cal_state_changed(state, CAL_HELD_WRENCH);
    return CAL_OK;
}

cal_status cal_state_push_node(cal_state* state, int node, const double force[3], const double moment[3]) {
    const cal_layout* layout = state->plan->layout;
    if (layout->tau_position[state->plan->model->nodes[node].first_v] < 0) return CAL_OK; // another process's body
    const cal_status status = begin_pushing(state);
    if (status != CAL_OK) return status;
    const size_t at = find_numbers(layout, 0, node, WRENCH);
    double* out = state->wrench + at;
    for (int i = 0; i < 3; i++) {
        out[i * layout->width] += force[i];
        out[(3 + i) * layout->width] += moment[i];
    }
    repeat_numbers(layout, state->wrench, at, WRENCH);
    return CAL_OK;
}

cal_status cal_state_push(cal_state* state, int body, const double force[3], const double torque[3],
                          const double point[3]) {
    if (!state) return CAL_BAD_ARGUMENT;
    const cal_model* model = state->plan->model;
    const cal_layout* layout = state->plan->layout;
    static const double none[3] = {0};
    if (!state->plan->program->solves || body < 0 || body >= model->body_count || layout->copies != 1)
        return CAL_BAD_ARGUMENT;
    force = force ? force : none, torque = torque ? torque : none, point = point ? point : none;
    for (int i = 0; i < 3; i++)
        if (!isfinite(force[i]) || !isfinite(torque[i]) || !isfinite(point[i])) {
            state->refused = 1 + body;
            return CAL_BAD_ARGUMENT;
        }
    const cal_mount* mount = &model->mounts[body];
    if (mount->node < 0) return CAL_OK; // the ground does not move
    if (!cal_grow((void**)&state->pushes, &state->push_capacity, state->push_count, sizeof *state->pushes))
        return CAL_NO_MEMORY;
    cal_outer_force* push = &state->pushes[state->push_count++];
    push->body = body;
    memcpy(push->force, force, sizeof push->force);
    memcpy(push->torque, torque, sizeof push->torque);
    memcpy(push->point, point, sizeof push->point);
    if (layout->tau_position[model->nodes[mount->node].first_v] < 0) return CAL_OK; // another process's body
    const cal_status status = begin_pushing(state);
    if (status != CAL_OK) {
        if (--state->push_count > 0) return status;
        // As if nobody had tried.
        cal_free(state->pushes);
        state->pushes = NULL;
        state->push_capacity = 0;
        return status;
    }
    const size_t at = find_numbers(layout, 0, mount->node, WRENCH);
    double* out = state->wrench + at;
    double arm[3];
    cal_rotate3(mount->rotation, point, arm);
    for (int i = 0; i < 3; i++) {
        out[i * layout->width] += force[i];
        out[(3 + i) * layout->width] += torque[i];
        for (int j = 0; j < 3; j++) out[(6 + 3 * i + j) * layout->width] += (arm[i] + mount->offset[i]) * force[j];
    }
    repeat_numbers(layout, state->wrench, at, WRENCH);
    return CAL_OK;
}

void cal_state_release(cal_state* state) {
    if (!state) return;
    if (state->context.wrench)
        memset(state->wrench, 0,
               (size_t)state->plan->layout->block_count * WRENCH * (size_t)state->plan->layout->width * sizeof(double));
    state->context.wrench = NULL;
    state->push_count = state->refused = 0;
}

uint64_t cal_hash_motion(double time, const double* q, int q_count, const double* v, int v_count) {
    uint64_t hash = cal_hash_doubles(CAL_HASH_START, &time, 1);
    hash = cal_hash_doubles(hash, q, (size_t)q_count);
    return cal_hash_doubles(hash, v, (size_t)v_count);
}

uint64_t cal_state_hash(const cal_state* state) {
    if (!state) return 0;
    const cal_layout* layout = state->plan->layout;
    uint64_t hash = cal_hash_doubles(CAL_HASH_START, &state->time, 1);
    if (cal_state_bring(state, CAL_HELD_Y) != CAL_OK) return 0;
    for (int i = 0; i < layout->model->q_count; i++)
        hash = cal_hash_doubles(hash, &state->context.y[layout->q_position[i]], 1);
    for (int i = 0; i < layout->model->v_count; i++)
        hash = cal_hash_doubles(hash, &state->context.y[layout->v_position[i]], 1);
    return hash;
}
