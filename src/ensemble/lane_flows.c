// See lane_flows.h.
#include "ensemble/lane_flows.h"
#include "base/memory.h"
#include "base/sound.h"
#include "pass/joint_law.h"
#include "pass/joint_power.h"
#include "plan/plan.h"
#include <math.h>
#include <string.h>

// Of an instance.
typedef struct lane_account {
    cal_account account;
    double flowed[CAL_POWERS]; // to where its row is
    double moved;              // |work|, summed over steps
} lane_account;

typedef struct lane_worker {
    cal_plan* plan; // of the energy, one instance at a time
    cal_state* state;
    double* numbers; // stages, y, ydot, a sample, and what is saved of a group
    const double* down;
} lane_worker;

struct cal_lane_flows {
    const cal_model* model;
    int lanes, groups, workers;
    size_t size; // numbers of a vector
    cal_layout layout;
    cal_column column;
    int32_t block_y[CAL_POWERS + 1];
    cal_machine* machine; // one lane
    bool has_powers;      // of the model
    bool* driven;         // per group
    double* kept;         // CAL_LANE_KEPT vectors per group
    lane_account* accounts;
    lane_worker* worker;
};

// --- Making one --------------------------------------------------------------------------------------------------------

void cal_lane_flows_destroy(cal_lane_flows* f) {
    if (!f) return;
    for (int i = 0; f->worker && i < f->workers; i++) {
        cal_state_destroy(f->worker[i].state);
        cal_plan_destroy(f->worker[i].plan);
        cal_free(f->worker[i].numbers);
    }
    cal_machine_destroy(f->machine);
    cal_free(f->driven);
    cal_free(f->kept);
    cal_free(f->accounts);
    cal_free(f->worker);
    cal_free(f);
}

static cal_status create_worker(cal_lane_flows* f, lane_worker* w) {
    cal_status status = cal_plan_create(f->model, "energy", f->machine, &w->plan, NULL);
    if (!status) status = cal_state_create(w->plan, &w->state);
    if (!status) w->numbers = cal_allocate((CAL_LANE_VECTORS + 3) * f->size, sizeof(double));
    return status ? status : w->numbers ? CAL_OK : CAL_NO_MEMORY;
}

cal_status cal_lane_flows_create(const cal_model* model, int groups, int lanes, int workers, cal_lane_flows** out) {
    cal_lane_flows* f = *out = cal_allocate(1, sizeof *f);
    if (!f) return CAL_NO_MEMORY;
    f->model = model, f->groups = groups, f->lanes = lanes, f->workers = workers;
    f->has_powers = cal_joints_have_powers(model);
    for (int i = 0; i <= CAL_POWERS; i++) f->block_y[i] = 2 * lanes * i;
    f->size = (size_t)f->block_y[CAL_POWERS];
    f->column = (cal_column){.block_count = CAL_POWERS, .kind = CAL_PRISMATIC, .parent = -1, .lanes = (int8_t)lanes};
    f->layout = (cal_layout){.width = lanes,
                             .copies = 1,
                             .column_count = 1,
                             .columns = &f->column,
                             .block_count = CAL_POWERS,
                             .block_y = f->block_y,
                             .y_size = f->size};
    f->driven = cal_allocate((size_t)groups, sizeof *f->driven);
    f->kept = cal_allocate((size_t)groups * CAL_LANE_KEPT, f->size * sizeof(double));
    f->accounts = cal_allocate((size_t)groups * (size_t)lanes, sizeof *f->accounts);
    f->worker = cal_allocate((size_t)workers, sizeof *f->worker);
    cal_status status = f->driven && f->kept && f->accounts && f->worker ? CAL_OK : CAL_NO_MEMORY;
    if (!status) status = cal_machine_serial(1, &f->machine, NULL);
    for (int i = 0; i < workers && !status; i++) status = create_worker(f, &f->worker[i]);
    if (!status) return CAL_OK;
    cal_lane_flows_destroy(f);
    *out = NULL;
    return status;
}

// --- Places ------------------------------------------------------------------------------------------------------------

static lane_account* account_of(const cal_lane_flows* f, int group, int lane) {
    return &f->accounts[(size_t)group * (size_t)f->lanes + (size_t)lane];
}

static double* vector_of(const cal_lane_flows* f, int group, size_t vector) {
    return f->kept + ((size_t)group * CAL_LANE_KEPT + vector) * f->size;
}

// What has flowed of a kind is a velocity.
static size_t place_of(const cal_lane_flows* f, int kind, int lane) {
    return (size_t)((2 * kind + 1) * f->lanes + lane);
}

static bool flows(const cal_lane_flows* f, int group) { return f->has_powers || f->driven[group]; }

// The solver's view of a group; vectors: room for their pointers.
static cal_solver_context view(const cal_lane_flows* f, int worker, int group, double** vectors) {
    const lane_worker* w = &f->worker[worker];
    for (size_t i = 0; i < CAL_LANE_VECTORS; i++)
        vectors[i] = i < CAL_LANE_KEPT ? vector_of(f, group, i) : w->numbers + (i - CAL_LANE_KEPT) * f->size;
    double* own = w->numbers + CAL_LANE_STAGES * f->size;
    return (cal_solver_context){.layout = &f->layout,
                                .y = own,
                                .ydot = own + f->size,
                                .vectors = vectors,
                                .down = w->down,
                                .relative = 1.0,
                                .absolute = 1.0};
}

static double* sample_of(const cal_lane_flows* f, int worker) {
    return f->worker[worker].numbers + (CAL_LANE_STAGES + 2) * f->size;
}

// --- Integrating -------------------------------------------------------------------------------------------------------

void cal_lane_flows_forget(cal_lane_flows* f, int group, int lane) { account_of(f, group, lane)->account.begun = 0; }

void cal_lane_flows_drive(cal_lane_flows* f, int group) { f->driven[group] = true; }

void cal_lane_flows_prepare(cal_lane_flows* f, int worker, int group, const cal_solver_ops* ops, const double* down) {
    double* vectors[CAL_LANE_VECTORS];
    f->worker[worker].down = down;
    if (!flows(f, group)) return;
    const cal_solver_context context = view(f, worker, group, vectors);
    ops->prepare(&context, &f->column);
}

void cal_lane_flows_follow_up(cal_lane_flows* f, int worker, int group, const cal_solver_ops* ops,
                              const cal_context* motion) {
    double shares[CAL_MAX_SUMS * CAL_MAX_LANES], powers[CAL_POWERS * CAL_MAX_LANES];
    double* vectors[CAL_LANE_VECTORS];
    if (!flows(f, group)) return;
    const cal_solver_context context = view(f, worker, group, vectors);
    double* ydot = f->worker[worker].numbers + (CAL_LANE_STAGES + 1) * f->size; // the context's
    for (int kind = 0; kind < CAL_POWERS; kind++)
        for (int lane = 0; lane < f->lanes; lane++) {
            ydot[f->block_y[kind] + lane] = context.y[place_of(f, kind, lane)];
            ydot[place_of(f, kind, lane)] = 0.0;
        }
    for (int c = motion->layout->column_count - 1; c >= 0; c--) {
        const cal_column* column = &motion->layout->columns[c];
        int extra = column->first_extra + column->extra_count;
        for (int block = column->first_block + column->block_count - 1; block >= column->first_block; block--) {
            cal_joint_powers_of_block(motion, column, block, &extra, powers);
            for (int kind = 0; kind < CAL_POWERS; kind++)
                for (int lane = 0; lane < f->lanes; lane++)
                    ydot[place_of(f, kind, lane)] += powers[kind * f->lanes + lane];
        }
    }
    for (int block = 0; block < CAL_POWERS; block++) ops->follow_up(&context, &f->column, block, shares);
}

void cal_lane_flows_accept(cal_lane_flows* f, int group, unsigned lanes) {
    const double *now = vector_of(f, group, CAL_ONE_STEP_Y), *before = vector_of(f, group, CAL_ONE_STEP_PREVIOUS);
    if (!flows(f, group)) return;
    for (int lane = 0; lane < f->lanes; lane++) {
        const size_t at = place_of(f, CAL_POWER_WORK, lane);
        if (lanes & 1u << lane) account_of(f, group, lane)->moved += fabs(now[at] - before[at]);
    }
}

void cal_lane_flows_save(cal_lane_flows* f, int worker, int group) {
    memcpy(sample_of(f, worker) + f->size, vector_of(f, group, 0), CAL_LANE_KEPT * f->size * sizeof(double));
}

void cal_lane_flows_put_back(cal_lane_flows* f, int worker, int group, unsigned lanes) {
    const double* saved = sample_of(f, worker) + f->size;
    double* kept = vector_of(f, group, 0);
    for (size_t i = 0; i < CAL_LANE_KEPT * f->size; i++)
        if (lanes >> i % (size_t)f->lanes & 1u) kept[i] = saved[i];
}

// --- The account -------------------------------------------------------------------------------------------------------

static cal_status read_row(const cal_lane_flows* f, int worker, int group, const lane_account* a,
                           const cal_ensemble_job* job, const cal_ensemble* ensemble, int instance, cal_reading* out) {
    const lane_worker* w = &f->worker[worker];
    const double* row = cal_ensemble_row(ensemble, instance);
    double energy[2];
    cal_status status = cal_state_set(w->state, CAL_Q, cal_ensemble_q(ensemble, instance));
    if (!status) status = cal_state_set(w->state, CAL_V, cal_ensemble_v(ensemble, instance));
    if (!status) status = cal_plan_execute(w->plan, w->state, NULL);
    if (!status) status = cal_state_get(w->state, CAL_ENERGY, energy);
    if (status) return status;
    *out = (cal_reading){
        .time = row[CAL_ROW_TIME],
        .kinetic = energy[0],
        .potential = energy[1],
        .flows = {.work = a->flowed[CAL_POWER_WORK], .loss = a->flowed[CAL_POWER_LOSS], .moved = a->moved},
        .steps = (int64_t)row[CAL_ROW_STEPS],
        .step = job ? job->step : ensemble->def.sim.step,
        .can_flow = flows(f, group)};
    return CAL_OK;
}

cal_status cal_lane_flows_begin(cal_lane_flows* f, int worker, int group, int lane, const cal_ensemble* ensemble,
                                int instance) {
    lane_account* a = account_of(f, group, lane);
    double* y = vector_of(f, group, CAL_ONE_STEP_Y);
    for (int kind = 0; kind < CAL_POWERS; kind++) {
        y[f->block_y[kind] + lane] = 0.0;
        y[place_of(f, kind, lane)] = a->flowed[kind];
    }
    if (a->account.begun) return CAL_OK;
    cal_reading now;
    const cal_status status = read_row(f, worker, group, a, NULL, ensemble, instance, &now);
    if (!status) cal_account_begin(&a->account, &now, 0.0, 0.0);
    return status;
}

cal_status cal_lane_flows_show(cal_lane_flows* f, int worker, int group, int lane, const cal_ensemble_job* job,
                               const void* control, const cal_ensemble* ensemble, int instance) {
    lane_account* a = account_of(f, group, lane);
    const double* shown = vector_of(f, group, CAL_ONE_STEP_Y);
    double* vectors[CAL_LANE_VECTORS];
    if (flows(f, group) && job->steps < 0) {
        const cal_solver_context context = view(f, worker, group, vectors);
        job->ops->interpolate(control, &context, &f->column, job->time, sample_of(f, worker));
        shown = sample_of(f, worker);
    }
    for (int kind = 0; kind < CAL_POWERS; kind++) a->flowed[kind] = shown[place_of(f, kind, lane)];
    cal_reading now;
    const cal_status status = read_row(f, worker, group, a, job, ensemble, instance, &now);
    if (status) return status;
    cal_energy_balance balance;
    cal_account_read(&a->account, &now, &balance);
    cal_ensemble_show_balance(ensemble, instance, &balance);
    return CAL_OK;
}

// --- Images ------------------------------------------------------------------------------------------------------------

// kept, driven │ account │ flows of each vector │ balance
enum {
    ACCOUNT_WORDS = (sizeof(lane_account) + sizeof(double) - 1) / sizeof(double),
    FLOW_WORDS = CAL_LANE_KEPT * CAL_POWERS * 2
};

size_t cal_lane_flows_image_size(void) {
    return 2 + (size_t)ACCOUNT_WORDS + (size_t)FLOW_WORDS + (size_t)CAL_ROW_BALANCE;
}

// The number of an instance in the kept vectors of its group, of FLOW_WORDS.
static double* flow_of(const cal_lane_flows* f, int group, int lane, int i) {
    return vector_of(f, group, (size_t)i / (2 * CAL_POWERS)) + i % (2 * CAL_POWERS) * f->lanes + lane;
}

void cal_lane_flows_store(const cal_lane_flows* f, int group, int lane, const cal_ensemble* ensemble, int instance,
                          double* image) {
    memset(image, 0, cal_lane_flows_image_size() * sizeof *image);
    if (!f) return;
    image[0] = 1.0;
    image[1] = f->driven[group];
    memcpy(image += 2, account_of(f, group, lane), sizeof(lane_account));
    image += ACCOUNT_WORDS;
    for (int i = 0; i < FLOW_WORDS; i++) image[i] = *flow_of(f, group, lane, i);
    memcpy(image + FLOW_WORDS, cal_ensemble_balance_row(ensemble, instance), sizeof(cal_energy_balance));
}

bool cal_lane_flows_are_sound(const double* image) {
    lane_account account;
    cal_energy_balance balance;
    memcpy(&account, image + 2, sizeof account);
    memcpy(&balance, image + 2 + ACCOUNT_WORDS + FLOW_WORDS, sizeof balance);
    return cal_is_index(image[0], 1) && cal_is_index(image[1], 1) && account.account.steps >= 0 &&
           account.account.steps < INT64_MAX / 2 && cal_is_flag(&balance.flows) && cal_is_flag(&balance.exploded);
}

void cal_lane_flows_load(cal_lane_flows* f, int group, int lane, const cal_ensemble* ensemble, int instance,
                         const double* image) {
    if (image[1] != 0.0) f->driven[group] = true;
    memcpy(account_of(f, group, lane), image += 2, sizeof(lane_account));
    image += ACCOUNT_WORDS;
    for (int i = 0; i < FLOW_WORDS; i++) *flow_of(f, group, lane, i) = image[i];
    memcpy(cal_ensemble_balance_row(ensemble, instance), image + FLOW_WORDS, sizeof(cal_energy_balance));
}
