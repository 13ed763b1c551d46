// Where the energy of a system goes: powers at each evaluation, what flowed, and the account of it (flows.h, account.h).
//
// Passes sum up what joint forces do. What all processors know beside that is added here: constraints, whose forces are among the
// joints', and pushes.
#include "base/memory.h"
#include "math/power.h"
#include "base/random.h"
#include "model/coordinates.h"
#include "pass/joint_law.h"
#include "solver/system_data.h"
#include <math.h>
#include <string.h>

// --- Powers ----------------------------------------------------------------------------------------------------------

// Whether joint forces, but for those of constraints, may work or lose.
static bool joints_flow(const cal_system* system) {
    return system->has_powers || system->driven || system->def.force || system->friction.count > 0;
}

bool cal_system_can_flow(const cal_system* system) {
    return joints_flow(system) || system->push_count > 0 || (system->constraints && system->constraints->moved);
}

bool cal_system_needs_powers(const cal_system* system) {
    return joints_flow(system) && (system->ops || system->flow.memory.points == 0);
}

// Those of the constraints' forces, over the mean velocity of an implicit solver's Euler step; work: of prescribed motions, apart.
static cal_status find_closing(cal_system* system, double* power, double* work) {
    const cal_model* model = system->model;
    const bool implicit = system->ops && system->ops->implicit > 0;
    const double half = implicit ? 0.5 * system->down[CAL_DOWN_IMPLICIT_STEP] : 0.0;
    cal_status status = CAL_OK;
    *power = *work = 0.0;
    if (system->accelerated) *work = system->moved, *power = system->closing - system->moved;
    if (!system->held) return CAL_OK;
    if (implicit) status = cal_state_bring(system->state, CAL_HELD_YDOT);
    if (implicit && !status) status = cal_plan_gather(system->plan, system->state->context.ydot, NULL, system->qdd);
    for (int i = 0; !status && i < model->v_count; i++)
        *power += system->forces[i] * (system->evaluated_v[i] + (implicit ? half * system->qdd[i] : 0.0));
    // What moves joints as it is prescribed works; without multipliers it is all that there is but for errors.
    if (!status && system->constraints->moved) *work = system->minimal ? *power : system->moved;
    *power -= *work;
    return status;
}

static cal_status add_pushes(cal_system* system, double* work) {
    const cal_state* state = system->state;
    double power = 0.0;
    if (state->push_count == 0) return CAL_OK;
    const cal_status status = cal_push_power(&system->paths, system->model, state->pushes, state->push_count,
                                             system->evaluated_q, system->evaluated_v, &power);
    *work += power;
    return status;
}

// The forces that depend on several joints, as the last evaluation found them, over the mean velocity of an implicit solver's Euler
// step.
static cal_status add_coupled(cal_system* system, double power[CAL_FLOW_KINDS]) {
    const cal_state* state = system->state;
    const bool implicit = system->ops && system->ops->implicit > 0;
    if (!state->coupled) return CAL_OK;
    double *mean = state->coupled->v, *a = state->coupled->gradient;
    if (implicit) {
        const double half = 0.5 * system->down[CAL_DOWN_IMPLICIT_STEP];
        cal_status status = cal_state_bring(state, CAL_HELD_YDOT);
        if (!status) status = cal_plan_gather(system->plan, state->context.ydot, NULL, a);
        if (status) return status;
        for (int i = 0; i < system->model->v_count; i++) mean[i] += half * a[i];
    }
    power[CAL_FLOW_WORK] += cal_coupled_power(state->coupled, CAL_COUPLED_WORK, mean);
    power[CAL_FLOW_LOSS] -= cal_coupled_power(state->coupled, CAL_COUPLED_LOSS, mean);
    // At the end of that step a medium's forces are less by what they resist.
    if (implicit) power[CAL_FLOW_LOSS] += cal_coupled_resisted_power(state->coupled, a);
    return CAL_OK;
}

// Whether a constraint of the user's prescribes a motion; those of joints that rest do no work.
static bool is_prescribed(const cal_system* system) {
    if (!system->constraints || !system->constraints->moved) return false;
    for (int i = 0; i < cal_system_own_constraints(system); i++)
        if (system->model->constraints[i].motion && system->constraints->active[i]) return true;
    return false;
}

cal_status cal_system_follow_flows(cal_system* system, const double* powers, double* sums) {
    double power[CAL_FLOW_KINDS] = {0.0};
    if (powers) power[CAL_FLOW_WORK] = powers[CAL_POWER_WORK], power[CAL_FLOW_LOSS] = powers[CAL_POWER_LOSS];
    if (!system->ops && system->flow.memory.points > 0) return CAL_OK;
    double moved;
    cal_status status = find_closing(system, &power[CAL_FLOW_CLOSING], &moved);
    // Joint forces may have those of constraints among them.
    power[CAL_FLOW_WORK] += powers && !system->accelerated ? -power[CAL_FLOW_CLOSING] : moved;
    const double rubbed = cal_system_friction_loss(system, system->evaluated_v);
    power[CAL_FLOW_WORK] += rubbed;
    power[CAL_FLOW_LOSS] += rubbed;
    if (!status) status = add_pushes(system, &power[CAL_FLOW_WORK]);
    if (!status) status = add_coupled(system, power);
    if (status) return status;
    cal_flow_test(&system->flow, system->context.relative, is_prescribed(system) ? system->account.unit : 0.0);
    cal_flow_follow_up(&system->flow, power, sums);
    if (!system->ops) cal_flow_accept_bdf(&system->flow, system->state->time, 0, power, 0.0);
    return CAL_OK;
}

// The powers at a time, with the forces that were evaluated last, and the motion in evaluated_q and evaluated_v.
static cal_status find_powers(cal_system* system, double time, double power[CAL_FLOW_KINDS]) {
    const bool changed = system->def.force || cal_system_holds(system);
    const double *tau = changed ? system->changed_tau : system->tau,
                 *control = system->def.force ? system->changed_control : cal_system_inputs(system, time);
    cal_powers own = {0.0, 0.0};
    if (joints_flow(system))
        own = cal_joint_powers(system->model, tau, control, system->evaluated_q, system->evaluated_v);
    power[CAL_FLOW_WORK] = own.work, power[CAL_FLOW_LOSS] = own.loss;
    double moved;
    cal_status status = find_closing(system, &power[CAL_FLOW_CLOSING], &moved);
    power[CAL_FLOW_WORK] += joints_flow(system) ? -power[CAL_FLOW_CLOSING] : moved;
    power[CAL_FLOW_LOSS] += cal_system_friction_loss(system, system->evaluated_v);
    if (!status) status = add_pushes(system, &power[CAL_FLOW_WORK]);
    if (system->state->coupled)
        cal_coupled_evaluate_at(system->state->coupled, control, system->evaluated_q, system->evaluated_v);
    return status ? status : add_coupled(system, power);
}

static bool tests_bdf(const cal_system* system) { return is_prescribed(system) && system->account.unit > 0.0; }

void cal_system_bound_bdf(cal_system* system) {
    const double next = cal_bdf_next_step(system->bdf);
    if (!tests_bdf(system)) return;
    // Before anything is known a step errs by its square.
    if (next == 0.0) system->longest_step = sqrt(system->settings.relative) * system->settings.horizon;
    cal_bdf_bound(system->bdf, next == 0.0 ? system->longest_step : fmin(system->longest_step, 2.0 * next));
}

// Evaluates inside of the last step and at its end.
static cal_status look_inside(cal_system* system) {
    static const double parts[CAL_FLOW_POINTS - 1] = {0.11747233803526763, 0.35738424175967748, 0.64261575824032252,
                                                      0.88252766196473237, 1.0};
    double powers[CAL_FLOW_POINTS - 1][CAL_FLOW_KINDS];
    const double to = system->flow.memory.times[0], from = system->flow.memory.times[1], closed = system->closed;
    cal_status status = CAL_OK;
    for (int i = 0; i < CAL_FLOW_POINTS - 1 && !status; i++) {
        const double time = i == CAL_FLOW_POINTS - 2 ? to : from + parts[i] * (to - from);
        status = cal_bdf_look(system->bdf, time);
        if (!status) status = find_powers(system, time, powers[i]);
    }
    system->closed = closed;
    if (!status) cal_flow_look_inside(&system->flow, parts, powers);
    return status ? status : cal_bdf_sample(system->bdf, to, system->evaluated_q, system->evaluated_v);
}

// Whether work and loss of the last step are as exact as y is; if not they are looked at inside of it.
static cal_status test_bdf(cal_system* system) {
    const cal_flow_memory* m = &system->flow.memory;
    const double step = m->times[0] - m->times[1];
    const double allowed = system->settings.relative * (system->account.unit + fabs(m->last[CAL_FLOW_WORK]));
    int power = 1;
    system->longest_step = (double)INFINITY;
    if (cal_flow_doubt(&system->flow, &power) <= allowed) return CAL_OK;
    const cal_status status = look_inside(system);
    const double doubt = cal_flow_doubt(&system->flow, &power);
    if (doubt > 0.0) system->longest_step = step * cal_root(allowed / doubt, power);
    return status;
}

cal_status cal_system_accept_bdf(cal_system* system, double time) {
    double power[CAL_FLOW_KINDS];
    cal_bdf_report report;
    cal_status status = find_powers(system, time, power);
    cal_bdf_get_report(system->bdf, &report);
    if (!status) cal_flow_accept_bdf(&system->flow, time, report.order, power, system->closed);
    if (!status && tests_bdf(system)) status = test_bdf(system);
    system->closed = 0.0;
    return status;
}

// --- What flowed -----------------------------------------------------------------------------------------------------

cal_flows cal_system_flows_in_step(const cal_system* system, double time) {
    const cal_flow_memory* m = &system->flow.memory;
    if (!system->ops || !(system->stepped_over || system->last.valid))
        return cal_flow_at(&system->flow, system->memory, time);
    // The solver begins at the end of a step over a singular position.
    const double left = system->stepped_over ? 0.0 : system->last.from + system->last.step - time;
    cal_flows flows = m->base;
    flows.work -= left * m->power[CAL_FLOW_WORK];
    flows.loss -= left * m->power[CAL_FLOW_LOSS];
    flows.closing -= left * m->power[CAL_FLOW_CLOSING];
    return flows;
}

cal_flows cal_system_flows(const cal_system* system) { return system->flow.memory.now; }
cal_flows cal_system_sample_flows(const cal_system* system, double time) {
    return cal_system_flows_in_step(system, time);
}
void cal_system_set_flows(cal_system* system, const cal_flows* flows) { system->flow.memory.now = *flows; }

// --- The account -----------------------------------------------------------------------------------------------------

static cal_status read_now(cal_system* system, cal_reading* out) {
    const bool fixed = system->ops && system->ops->fixed_step;
    *out = (cal_reading){.time = system->time,
                         .flows = system->flow.memory.now,
                         .steps = system->report.steps,
                         .tolerance = fixed ? 0.0 : system->def.relative,
                         .step = fixed ? system->settings.step : 0.0,
                         .can_flow = cal_system_can_flow(system)};
    return cal_system_energy(system, &out->kinetic, &out->potential);
}

// One of some ways at random, a sign for each degree of freedom times a speed, and the place a little along it.
typedef struct random_way {
    const cal_system* system;
    uint64_t seed;
    double speed, apart;
    double *q, *v;
} random_way;

static void go_node(const random_way* way, int n) {
    const cal_node* node = &way->system->model->nodes[n];
    const int q_count = cal_kind_q(node->kind), v_count = cal_kind_v(node->kind);
    cal_random random = {way->seed};
    cal_random_skip(&random, (uint64_t)node->first_v);
    for (int i = 0; i < v_count; i++)
        way->v[node->first_v + i] = cal_random_below(&random, 2) == 0 ? -way->speed : way->speed;
    memcpy(way->q + node->first_q, way->system->q + node->first_q, (size_t)q_count * sizeof(double));
    cal_joint_displace(node->kind, way->v + node->first_v, way->apart, way->q + node->first_q);
}

static void go_column(void* argument, const cal_column* column) {
    const random_way* way = argument;
    const cal_layout* layout = way->system->plan->layout;
    const size_t width = (size_t)layout->width, end = (size_t)(column->first_block + column->block_count) * width;
    for (size_t i = (size_t)column->first_block * width; i < end && !column->repeated; i++)
        if (layout->block_nodes[i] >= 0) go_node(way, layout->block_nodes[i]);
}

// By all cores that have columns, where these are the model's own and all of them are here.
static cal_status go(cal_system* system, random_way* way) {
    const cal_plan* plan = system->plan;
    if (plan->model == system->model && plan->layout->keep == CAL_KEEP_ALL)
        return cal_system_each_column(system, go_column, way);
    for (int n = 0; n < system->model->node_count; n++) go_node(way, n);
    return CAL_OK;
}

// What absolute tolerances mean in energy (account.h): U, and G by Hutchinson's estimate of a norm. With signs σ at random the mean of
// (σ·g)² is |g|², and σ·g is the slope of the potential energy along σ.
static cal_status find_units(cal_system* system, double* unit, double* slope) {
    enum { SAMPLES = 4 };
    const double apart = 1e-4; // rad or m: rounding and curvature are both 1e-8 of the slope
    const cal_model* model = system->model;
    const size_t q_count = (size_t)model->q_count, v_count = (size_t)model->v_count;
    const double speed = system->def.absolute > 0.0 ? system->def.absolute / system->def.relative : 1.0;
    double *v = cal_allocate(v_count + q_count + 1, sizeof *v), energy[2][2] = {{0.0}}, squares = 0.0;
    if (!v) return CAL_NO_MEMORY;
    random_way way = {.system = system, .seed = (uint64_t)model->v_count, .speed = speed, .v = v, .q = v + v_count};
    cal_status status = CAL_OK;
    for (int sample = 0; sample < SAMPLES && !status; sample++) {
        for (int side = 0; side < 2 && !status; side++) {
            way.apart = side == 0 ? -apart : apart;
            status = go(system, &way);
            if (!status) status = cal_system_find_energy(system, way.q, way.v, energy[side]);
        }
        cal_random used = {way.seed};
        cal_random_skip(&used, v_count);
        way.seed = used.state;
        const double along = (energy[1][1] - energy[0][1]) / (2.0 * apart);
        squares += along * along / SAMPLES;
        *unit = fmax(*unit, energy[0][0]);
    }
    cal_free(v);
    *slope = sqrt((double)v_count * squares);
    return status;
}

cal_status cal_system_begin_account(cal_system* system) {
    cal_reading now;
    double unit = 0.0, slope = 0.0;
    if (system->account.begun) return CAL_OK;
    cal_status status = read_now(system, &now);
    if (!status) status = find_units(system, &unit, &slope);
    if (!status) cal_account_begin(&system->account, &now, unit, slope);
    return status;
}

cal_status cal_system_balance(cal_system* system, cal_energy_balance* out) {
    cal_reading now;
    if (!out) return CAL_BAD_ARGUMENT;
    if (system->account.begun == CAL_ACCOUNT_NONE) return CAL_NOT_AVAILABLE;
    cal_status status = cal_system_begin_account(system);
    if (!status) status = read_now(system, &now);
    if (!status) cal_account_read(&system->account, &now, out);
    return status;
}
