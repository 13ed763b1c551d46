// Instances in lockstep (ensemble.h): W of them side by side are one wide model, a forest of W equal trees whose columns hold an
// instance per lane. The kernels are those of a single model, and so are the bits. A unit is a *group* of W instances.
//
// The solvers have fixed steps, so all lanes of a group are in the same stage at the same time, whatever their times are. An
// instance that begins anew (its state was set, its forces changed) has a *clock* of its own from then on: when its steps end and
// what its polynomial is asked for, as a simulation by itself would have it.
//
//     clock 0   ──┼───────┼───────┼──▾────┼      two steps, and the state at ▾ inside the second
//     clock 1        ·┼───────┼──────▾┼          begun at ·
//
// The first evaluation of a clock writes dy/dt at y into every lane; those of other clocks have it already, to the bit. Where one
// clock needs a step more than another, the other's lanes are put back afterwards.
//
// What a group keeps between advances are the first four vectors of a one-step solver (solver/vectors.h): y and dy/dt at both ends
// of the last step. The stages' vectors are the worker's.
#include "base/memory.h"
#include "ensemble/image.h"
#include "plan/plan.h"
#include "solver/vectors.h"

enum { KEPT = CAL_LANE_KEPT, STAGES = CAL_LANE_STAGES };

typedef struct group {
    cal_step_clock* clocks; // as many as lanes
    double* vectors[KEPT];
    double *tau, *control;
    int8_t clock_of[CAL_MAX_LANES];
    uint32_t begins; // lanes that begin anew with the next job, as bits
} group;

typedef struct worker {
    cal_state* state; // of one group
    bool one_force;   // the model has no joint forces: the state's forces are tau itself
    double* own_tau;
    double *stages, *sample, *saved; // STAGES, one and KEPT vectors
} worker;

struct cal_lockstep {
    cal_plan* plan;
    int lanes;
    size_t stride; // doubles from one vector to the next
    group* groups;
    worker* workers;
    double *vectors, *drives;
    cal_step_clock* clocks;
    cal_lane_flows* flows; // NULL: no accounts are kept
};

bool cal_lockstep_takes(const cal_solver_ops* ops) {
    return ops && ops->fixed_step && ops->vector_count <= KEPT + STAGES && ops->down_count <= CAL_CLOCK_DOWN &&
           ops->control_size <= CAL_CLOCK_NUMBERS * sizeof(double);
}

// --- Making one --------------------------------------------------------------------------------------------------------

static void destroy(cal_ensemble* ensemble) {
    struct cal_lockstep* own = ensemble->lockstep;
    if (!own) return;
    for (int i = 0; own->workers && i < ensemble->workers; i++) {
        cal_state_destroy(own->workers[i].state);
        cal_free(own->workers[i].stages);
    }
    cal_lane_flows_destroy(own->flows);
    cal_plan_destroy(own->plan);
    cal_free(own->groups);
    cal_free(own->workers);
    cal_free(own->vectors);
    cal_free(own->drives);
    cal_free(own->clocks);
    cal_free(own);
}

static cal_status create_worker(const struct cal_lockstep* own, worker* out) {
    const cal_status status = cal_state_create(own->plan, &out->state);
    if (status) return status;
    const cal_context* context = &out->state->context;
    out->own_tau = context->tau;
    out->one_force = context->force == context->tau;
    out->stages = cal_allocate((STAGES + 1 + KEPT) * own->stride, sizeof(double));
    if (!out->stages) return CAL_NO_MEMORY;
    out->sample = out->stages + STAGES * own->stride;
    out->saved = out->sample + own->stride;
    return CAL_OK;
}

// All lanes at the model's start, those without an instance too: they are computed, and nobody looks at them.
static void fill_group(const cal_ensemble* ensemble, int unit) {
    const struct cal_lockstep* own = ensemble->lockstep;
    const cal_layout* layout = own->plan->layout;
    const size_t lanes = (size_t)own->lanes, controls = lanes * (size_t)ensemble->model->actuator_count;
    const cal_state* state = own->workers[0].state;
    group* g = &own->groups[unit];
    for (size_t i = 0; i < KEPT; i++) g->vectors[i] = own->vectors + ((size_t)unit * KEPT + i) * own->stride;
    g->clocks = own->clocks + (size_t)unit * lanes;
    g->tau = own->drives + (size_t)unit * (layout->v_size + controls);
    g->control = g->tau + layout->v_size;
    g->begins = UINT32_MAX;
    memcpy(g->vectors[CAL_ONE_STEP_Y], state->context.y, layout->y_size * sizeof(double));
    memcpy(g->control, state->context.control, controls * sizeof(double));
}

static cal_status create(cal_ensemble* ensemble, cal_error* error) {
    struct cal_lockstep* own = ensemble->lockstep = cal_allocate(1, sizeof *own);
    if (!own) return CAL_NO_MEMORY;
    const int lanes = own->lanes = ensemble->engine->lanes;
    const size_t units = (size_t)(ensemble->end - ensemble->first + lanes - 1) / (size_t)lanes;
    ensemble->unit_count = (int)units;
    const cal_plan_def def = {
        .model = ensemble->model, .program = &cal_program_aba, .machine = ensemble->engine, .copies = lanes};
    cal_status status = cal_plan_create_def(&def, &own->plan, error);
    if (status) return status;
    const cal_layout* layout = own->plan->layout;
    const size_t controls = (size_t)lanes * (size_t)ensemble->model->actuator_count;
    // As in a simulation: an odd number of cache lines.
    own->stride = 8 * ((layout->y_size + 7) / 8 | 1);
    own->workers = cal_allocate((size_t)ensemble->workers, sizeof *own->workers);
    own->groups = cal_allocate(units, sizeof *own->groups);
    own->vectors = cal_allocate(units * KEPT, own->stride * sizeof(double));
    own->drives = cal_allocate(units, (layout->v_size + controls) * sizeof(double));
    own->clocks = cal_allocate(units * (size_t)lanes, sizeof *own->clocks);
    if (!own->workers || !own->groups || !own->vectors || !own->drives || !own->clocks) return CAL_NO_MEMORY;
    for (int i = 0; i < ensemble->workers && !status; i++) status = create_worker(own, &own->workers[i]);
    if (!status && ensemble->accounts)
        status = cal_lane_flows_create(ensemble->model, ensemble->unit_count, lanes, ensemble->workers, &own->flows);
    for (int i = 0; i < ensemble->unit_count && !status; i++) fill_group(ensemble, i);
    return status;
}

// --- Changing instances ------------------------------------------------------------------------------------------------

static group* group_of(const cal_ensemble* ensemble, int instance, int* lane) {
    const struct cal_lockstep* own = ensemble->lockstep;
    *lane = (instance - ensemble->first) % own->lanes;
    return &own->groups[(instance - ensemble->first) / own->lanes];
}

static cal_status start(cal_ensemble* ensemble, int instance, const double* q, const double* v, bool projects,
                        cal_error* error) {
    (void)projects, (void)error; // there are no constraints
    int lane;
    group* g = group_of(ensemble, instance, &lane);
    cal_ensemble_show(ensemble, instance, q, v);
    g->begins = g->begins | 1u << lane;
    if (ensemble->lockstep->flows)
        cal_lane_flows_forget(ensemble->lockstep->flows, (int)(g - ensemble->lockstep->groups), lane);
    return CAL_OK;
}

static cal_status drive(cal_ensemble* ensemble, int instance, const double* tau, const double* control,
                        cal_error* error) {
    (void)error;
    const cal_layout* layout = ensemble->lockstep->plan->layout;
    const int v_count = ensemble->model->v_count, actuators = ensemble->model->actuator_count;
    int lane;
    group* g = group_of(ensemble, instance, &lane);
    const int32_t* position = layout->tau_position + (size_t)lane * (size_t)v_count;
    for (int i = 0; tau && i < v_count; i++) g->tau[position[i]] = tau[i];
    if (tau && ensemble->lockstep->flows)
        cal_lane_flows_drive(ensemble->lockstep->flows, (int)(g - ensemble->lockstep->groups));
    if (control) memcpy(g->control + (size_t)lane * (size_t)actuators, control, (size_t)actuators * sizeof(double));
    g->begins = g->begins | 1u << lane;
    return CAL_OK;
}

// --- Steps of a group --------------------------------------------------------------------------------------------------

// One group on one worker.
typedef struct run_of_group {
    cal_ensemble* ensemble;
    const struct cal_lockstep* own;
    const cal_ensemble_job* job;
    group* g;
    worker* w;
    int number, unit;                 // of the worker and of the group
    int first;                        // instance of lane 0
    unsigned live;                    // lanes that have an instance which has not failed, as bits
    unsigned lanes_of[CAL_MAX_LANES]; // of these, each clock's
    int clock_count;                  // those after it have no lanes
    double* vectors[KEPT + STAGES];
    cal_solver_context context;
} run_of_group;

static run_of_group begin_run(cal_ensemble* ensemble, int number, int unit, const cal_ensemble_job* job) {
    const struct cal_lockstep* own = ensemble->lockstep;
    worker* w = &own->workers[number];
    run_of_group r = {.ensemble = ensemble,
                      .own = own,
                      .job = job,
                      .g = &own->groups[unit],
                      .w = w,
                      .number = number,
                      .unit = unit,
                      .first = ensemble->first + unit * own->lanes};
    for (size_t i = 0; i < KEPT; i++) r.vectors[i] = r.g->vectors[i];
    for (size_t i = 0; i < STAGES; i++) r.vectors[KEPT + i] = w->stages + i * own->stride;
    cal_context* context = &w->state->context;
    context->tau = r.g->tau;
    context->control = r.g->control;
    if (w->one_force) context->force = context->tau;
    r.context = (cal_solver_context){.layout = own->plan->layout, .y = context->y, .ydot = context->ydot};
    return r;
}

static void find_lanes(run_of_group* r) {
    for (int lane = 0; lane < r->own->lanes; lane++) {
        const int clock = r->g->clock_of[lane];
        if (!(r->live & 1u << lane)) continue;
        r->lanes_of[clock] |= 1u << lane;
        if (clock >= r->clock_count) r->clock_count = clock + 1;
    }
}

static cal_status evaluate(run_of_group* r, cal_step_clock* leader) {
    double sums[CAL_MAX_SUMS];
    cal_lane_flows* flows = r->own->flows;
    r->context.down = leader->down;
    r->context.vectors = r->vectors;
    if (flows) cal_lane_flows_prepare(flows, r->number, r->unit, r->job->ops, leader->down);
    const cal_status status = cal_plan_run(r->own->plan, r->w->state, r->job->ops, &r->context, false, sums);
    if (!status && flows) cal_lane_flows_follow_up(flows, r->number, r->unit, r->job->ops, &r->w->state->context);
    return status;
}

static void fail_clock(run_of_group* r, int clock, cal_status status) {
    const unsigned lanes = r->lanes_of[clock];
    for (int lane = 0; lane < r->own->lanes; lane++) {
        if (!(lanes & 1u << lane)) continue;
        cal_clock_fail(&r->g->clocks[clock], r->job, r->ensemble, r->first + lane, status);
    }
    r->live &= ~lanes;
    r->lanes_of[clock] = 0;
}

// A clock for the lanes that begin anew: one that no other lane has. They are all at the ensemble's time.
static cal_status begin_clock(run_of_group* r) {
    const unsigned beginning = r->g->begins & r->live, lanes = (unsigned)r->own->lanes;
    unsigned used = 0;
    int number = 0;
    if (!beginning) {
        find_lanes(r);
        return CAL_OK;
    }
    for (unsigned lane = 0; lane < lanes; lane++)
        if (r->live & ~beginning & 1u << lane) used |= 1u << r->g->clock_of[lane];
    while (used & 1u << number) number++;
    for (unsigned lane = 0; lane < lanes; lane++) {
        if (!(beginning & 1u << lane)) continue;
        const int some = r->first + (int)lane;
        r->g->clock_of[lane] = (int8_t)number;
        cal_layout_scatter(r->own->plan->layout, (int)lane, cal_ensemble_q(r->ensemble, some),
                           cal_ensemble_v(r->ensemble, some), r->g->vectors[CAL_ONE_STEP_Y]);
        const cal_status status =
            r->own->flows ? cal_lane_flows_begin(r->own->flows, r->number, r->unit, (int)lane, r->ensemble, some)
                          : CAL_OK;
        if (status) return status;
    }
    r->g->begins = r->g->begins & ~beginning;
    cal_step_clock* clock = &r->g->clocks[number];
    cal_clock_start(clock, r->job, r->ensemble->time);
    find_lanes(r);
    const cal_status status = evaluate(r, clock);
    if (!status) {
        const cal_status own = cal_clock_control(clock, r->job);
        if (own) fail_clock(r, number, own);
    }
    return status;
}

// Which clocks still move, and the lanes of those that have arrived; false when all have.
static bool find_moving(run_of_group* r, unsigned* arrived) {
    bool some = false;
    *arrived = 0;
    for (int i = 0; i < r->clock_count; i++) {
        cal_step_clock* clock = &r->g->clocks[i];
        const unsigned lanes = r->lanes_of[i];
        clock->moves = lanes && !cal_clock_has_arrived(clock, r->job);
        if (clock->moves)
            some = true;
        else
            *arrived |= lanes;
    }
    return some;
}

static cal_step_clock* first_moving(const run_of_group* r) {
    for (int i = 0; i < r->clock_count; i++)
        if (r->g->clocks[i].moves) return &r->g->clocks[i];
    return NULL;
}

// All stages of a step, on all lanes, for the clocks that move.
static cal_status take_step(run_of_group* r) {
    for (cal_step_clock* leader = first_moving(r); leader; leader = first_moving(r)) {
        const cal_status status = evaluate(r, leader);
        if (status) return status;
        for (int i = 0; i < r->clock_count; i++) {
            cal_step_clock* clock = &r->g->clocks[i];
            const cal_status own = clock->moves ? cal_clock_control(clock, r->job) : CAL_OK;
            if (r->own->flows && clock->moves && !own && clock->decision.accepted)
                cal_lane_flows_accept(r->own->flows, r->unit, r->lanes_of[i]);
            if (!own) continue;
            clock->moves = false;
            fail_clock(r, i, own);
        }
        leader = first_moving(r);
        if (leader && leader->decision.accepted) return CAL_OK;
    }
    return CAL_OK;
}

// Instances fill every lane of every block, so a number's lane is its place modulo the width.
static void put_back(const run_of_group* r, unsigned lanes) {
    const size_t width = (size_t)r->own->lanes;
    for (size_t i = 0; i < KEPT; i++)
        for (size_t k = 0; k < r->own->plan->layout->y_size; k++)
            if (lanes >> k % width & 1u) r->vectors[i][k] = r->w->saved[i * r->own->stride + k];
}

static cal_status take_steps(run_of_group* r) {
    unsigned arrived;
    while (find_moving(r, &arrived)) {
        for (size_t i = 0; arrived && i < KEPT; i++)
            memcpy(r->w->saved + i * r->own->stride, r->vectors[i], r->own->plan->layout->y_size * sizeof(double));
        if (arrived && r->own->flows) cal_lane_flows_save(r->own->flows, r->number, r->unit);
        const cal_status status = take_step(r);
        if (status) return status;
        if (arrived) put_back(r, arrived);
        if (arrived && r->own->flows) cal_lane_flows_put_back(r->own->flows, r->number, r->unit, arrived);
    }
    return CAL_OK;
}

// --- What comes of it --------------------------------------------------------------------------------------------------

static void show_lane(run_of_group* r, int lane, const double* y) {
    cal_clock_show(&r->g->clocks[r->g->clock_of[lane]], r->job, r->ensemble, r->first + lane, r->own->plan->layout,
                   lane, y, cal_layout_find_not_finite(r->own->plan->layout, lane, y, r->vectors[CAL_ONE_STEP_F]));
}

// Each lane at the job's time, by its clock's polynomial; or at the end of its steps.
static cal_status show(run_of_group* r) {
    const cal_layout* layout = r->own->plan->layout;
    int sampled = -1;
    cal_status status = CAL_OK;
    for (int lane = 0; lane < r->own->lanes; lane++) {
        if (!(r->live & 1u << lane)) continue;
        const int number = r->g->clock_of[lane];
        for (int c = 0; r->job->steps < 0 && number != sampled && c < layout->column_count; c++)
            r->job->ops->interpolate(r->g->clocks[number].memory, &r->context, &layout->columns[c], r->job->time,
                                     r->w->sample);
        sampled = number;
        show_lane(r, lane, r->job->steps < 0 ? r->w->sample : r->vectors[CAL_ONE_STEP_Y]);
        if (r->own->flows && !status && !cal_ensemble_has_failed(r->ensemble, r->first + lane))
            status = cal_lane_flows_show(r->own->flows, r->number, r->unit, lane, r->job, r->g->clocks[number].memory,
                                         r->ensemble, r->first + lane);
    }
    return status;
}

// --- Forward dynamics --------------------------------------------------------------------------------------------------

// Numbers of a group's copies lie side by side: one position serves all. rows: the group's first instance's row of `count`
// numbers; NULL: zeros.
static void fill_lanes(const int32_t* position, int count, int live, const double* rows, double* out) {
    for (int i = 0; i < count; i++) {
        double* lanes = out + position[i];
        for (int copy = 0; copy < live; copy++)
            lanes[copy] = rows ? rows[(size_t)copy * (size_t)count + (size_t)i] : 0.0;
    }
}

static void read_lanes(const int32_t* position, int count, int live, const double* from, double* rows) {
    for (int i = 0; i < count; i++) {
        const double* lanes = from + position[i];
        for (int copy = 0; copy < live; copy++) rows[(size_t)copy * (size_t)count + (size_t)i] = lanes[copy];
    }
}

static cal_status forward(run_of_group* r) {
    const cal_layout* layout = r->own->plan->layout;
    cal_context* context = &r->w->state->context;
    const cal_ensemble_job* job = r->job;
    const int q_count = r->ensemble->model->q_count, v_count = r->ensemble->model->v_count;
    const int rest = r->ensemble->end - r->first, live = rest < r->own->lanes ? rest : r->own->lanes;
    const size_t v_first = (size_t)r->first * (size_t)v_count;
    double* const own_y = context->y;
    context->y = r->vectors[CAL_ONE_STEP_Y]; // where the states stay until somebody looks (show_kept)
    context->tau = r->w->own_tau;
    if (r->w->one_force) context->force = context->tau;
    fill_lanes(layout->q_position, q_count, live, job->q + (size_t)r->first * (size_t)q_count, context->y);
    fill_lanes(layout->v_position, v_count, live, job->v + v_first, context->y);
    fill_lanes(layout->tau_position, v_count, live, job->tau ? job->tau + v_first : NULL, context->tau);
    const cal_status status = cal_plan_run(r->own->plan, r->w->state, NULL, NULL, true, NULL);
    read_lanes(layout->v_position, v_count, live, context->ydot, job->qdd + v_first);
    context->y = own_y;
    r->g->begins = UINT32_MAX;
    return status;
}

static void show_kept(const cal_ensemble* ensemble) {
    const struct cal_lockstep* own = ensemble->lockstep;
    for (int i = ensemble->first; i < ensemble->end; i++) {
        int lane;
        const group* g = group_of(ensemble, i, &lane);
        cal_layout_gather(own->plan->layout, lane, g->vectors[CAL_ONE_STEP_Y], cal_ensemble_q(ensemble, i),
                          cal_ensemble_v(ensemble, i));
    }
}

static cal_status run(cal_ensemble* ensemble, int number, int unit, const cal_ensemble_job* job) {
    run_of_group r = begin_run(ensemble, number, unit, job);
    r.context.vectors = r.vectors; // which moved with r
    if (job->qdd) return forward(&r);
    for (int lane = 0; lane < r.own->lanes && r.first + lane < ensemble->end; lane++)
        if (!cal_ensemble_has_failed(ensemble, r.first + lane)) r.live |= 1u << lane;
    if (!r.live) return CAL_OK;
    if (job->steps >= 0) r.g->begins = UINT32_MAX;
    for (int i = 0; i < r.own->lanes; i++) r.g->clocks[i].steps = r.g->clocks[i].evaluations = 0;
    cal_status status = begin_clock(&r);
    if (!status) status = take_steps(&r);
    if (!status) status = show(&r);
    // Steps may have been another solver's; and what failed has left something half done.
    if (status || job->steps >= 0) r.g->begins = UINT32_MAX;
    return status;
}

// --- Images ------------------------------------------------------------------------------------------------------------

static size_t image_size(const cal_ensemble* ensemble) { return cal_lane_image_of(ensemble->model).size; }

static cal_status store(cal_ensemble* ensemble, double* images) {
    const struct cal_lockstep* own = ensemble->lockstep;
    const cal_layout* layout = own->plan->layout;
    const cal_lane_image at = cal_lane_image_of(ensemble->model);
    const size_t v_count = (size_t)ensemble->model->v_count, actuators = (size_t)ensemble->model->actuator_count;
    for (int i = ensemble->first; i < ensemble->end; i++, images += at.size) {
        int lane;
        const group* g = group_of(ensemble, i, &lane);
        const int32_t* position = layout->tau_position + (size_t)lane * v_count;
        images[at.begins] = g->begins >> lane & 1u;
        cal_clock_store(&g->clocks[g->clock_of[lane]], images + at.clock);
        for (size_t k = 0; k < KEPT; k++) {
            double* q = images + at.vectors + k * at.vector;
            cal_layout_gather(layout, lane, g->vectors[k], q, q + ensemble->model->q_count);
        }
        for (size_t k = 0; k < v_count; k++) images[at.tau + k] = g->tau[position[k]];
        memcpy(images + at.control, g->control + (size_t)lane * actuators, actuators * sizeof(double));
        cal_lane_flows_store(own->flows, (int)(g - own->groups), lane, ensemble, i, images + at.flows);
    }
    return CAL_OK;
}

// Lanes whose clocks are alike share one, so that they are computed together.
static void take_clock(const cal_ensemble* ensemble, group* g, int lane, const double* image, size_t stride) {
    int number = 0;
    while (!cal_clocks_are_alike(image - (size_t)(lane - number) * stride, image)) number++;
    g->clock_of[lane] = (int8_t)number;
    if (number == lane) (void)cal_clock_load(image, ensemble->solver, &g->clocks[lane]);
}

static void load_lane(cal_ensemble* ensemble, group* g, int lane, const cal_lane_image* at, const double* image) {
    const struct cal_lockstep* own = ensemble->lockstep;
    const cal_layout* layout = own->plan->layout;
    const size_t v_count = (size_t)ensemble->model->v_count, actuators = (size_t)ensemble->model->actuator_count;
    const int32_t* position = layout->tau_position + (size_t)lane * v_count;
    g->begins = (g->begins & ~(1u << lane)) | (image[at->begins] != 0.0 ? 1u << lane : 0u);
    for (size_t k = 0; k < KEPT; k++) {
        const double* q = image + at->vectors + k * at->vector;
        cal_layout_scatter(layout, lane, q, q + ensemble->model->q_count, g->vectors[k]);
    }
    for (size_t k = 0; k < v_count; k++) g->tau[position[k]] = image[at->tau + k];
    memcpy(g->control + (size_t)lane * actuators, image + at->control, actuators * sizeof(double));
}

static cal_status load(cal_ensemble* ensemble, const double* images) {
    struct cal_lockstep* own = ensemble->lockstep;
    const cal_lane_image at = cal_lane_image_of(ensemble->model);
    // A device keeps no accounts: what comes from there has none from then on.
    if (own->flows && ensemble->end > ensemble->first && images[at.flows] == 0.0) {
        cal_lane_flows_destroy(own->flows);
        own->flows = NULL;
        ensemble->accounts = false;
    }
    for (int i = ensemble->first; i < ensemble->end; i++, images += at.size) {
        int lane;
        group* g = group_of(ensemble, i, &lane);
        take_clock(ensemble, g, lane, images + at.clock, at.size);
        load_lane(ensemble, g, lane, &at, images);
        if (own->flows) cal_lane_flows_load(own->flows, (int)(g - own->groups), lane, ensemble, i, images + at.flows);
    }
    return CAL_OK;
}

const cal_ensemble_ops cal_ensemble_lockstep = {.create = create,
                                                .destroy = destroy,
                                                .start = start,
                                                .drive = drive,
                                                .run = run,
                                                .show_kept = show_kept,
                                                .takes_steps = true,
                                                .image_size = image_size,
                                                .store = store,
                                                .is_sound = cal_lane_image_is_sound,
                                                .load = load};
