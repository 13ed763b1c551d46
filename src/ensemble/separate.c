// Instances as simulations (ensemble.h): every solver, loops, the user's forces. A unit is one instance.
//
// A simulation that nothing can touch is one system, all of which that goes on is its memory (solver/system.h): a few kilobytes beside a
// plan, a state, factors of constraints and their room, which are alike for all instances. So each worker has one simulation, on which
// instances take turns:
//
//     memory of instance 17 ── load ──▸ worker's simulation ── advance ── store ──▸ memory of instance 17, row 17
//
// With events, with BDF, whose memory is all steps so far, and on a machine of its own each instance has a simulation instead.
#include "base/error.h"
#include "base/memory.h"
#include "calder/calder_world.h"
#include "ensemble/ensemble.h"
#include "ensemble/image.h"
#include "simulation/sim.h"

// What the user's callback is called with: it may ask whose forces it shall give.
typedef struct caller {
    const cal_ensemble* ensemble;
    int instance;
} caller;

struct cal_separate {
    cal_sim** sims; // of workers, or of the share's instances
    caller* callers;
    int sim_count;
    size_t size;    // words of a memory; 0: nobody takes turns
    double* memory; // of the share's instances; then one of each worker
};

static bool takes_turns(const cal_ensemble* ensemble) { return ensemble->separate->size > 0; }

static double* memory_of(const cal_ensemble* ensemble, int instance) {
    return ensemble->separate->memory + (size_t)(instance - ensemble->first) * ensemble->separate->size;
}

// The simulation that is this instance until another one enters; NULL: its memory is none, or there is none for the state's pushes.
static cal_sim* enter(const cal_ensemble* ensemble, int worker, int instance) {
    const struct cal_separate* own = ensemble->separate;
    if (!takes_turns(ensemble)) return own->sims[instance - ensemble->first];
    cal_sim* sim = own->sims[worker];
    own->callers[worker].instance = instance;
    const size_t bytes = own->size * sizeof(double);
    return cal_system_load(sim->system, memory_of(ensemble, instance), bytes) ? NULL : sim;
}

static void leave(const cal_ensemble* ensemble, const cal_sim* sim, int instance) {
    if (takes_turns(ensemble)) cal_system_store(sim->system, memory_of(ensemble, instance));
}

// After a failure some numbers may be such that no load takes them: then the memory stays what it was before.
static void leave_failed(const cal_ensemble* ensemble, const cal_sim* sim, int worker, int instance) {
    const struct cal_separate* own = ensemble->separate;
    if (!takes_turns(ensemble)) return;
    const size_t bytes = own->size * sizeof(double);
    double* after = memory_of(ensemble, ensemble->end) + (size_t)worker * own->size;
    cal_system_store(sim->system, after);
    if (cal_system_load(sim->system, after, bytes) == CAL_OK) memcpy(memory_of(ensemble, instance), after, bytes);
}

static void call_back(cal_force_context* context, void* user) {
    const caller* own = user;
    context->instance = own->instance;
    own->ensemble->def.sim.force(context, own->ensemble->def.sim.user);
}

static void destroy(cal_ensemble* ensemble) {
    struct cal_separate* own = ensemble->separate;
    if (!own) return;
    for (int i = 0; own->sims && i < own->sim_count; i++) cal_sim_destroy(own->sims[i]);
    cal_free(own->sims);
    cal_free(own->callers);
    cal_free(own->memory);
    cal_free(own);
}

// Simulation i, of a worker or an instance.
static cal_status create_sim(cal_ensemble* ensemble, int i, cal_error* error) {
    struct cal_separate* own = ensemble->separate;
    cal_sim_def def = ensemble->def.sim;
    cal_world_def events = def.events ? *def.events : cal_default_world_def();
    def.interrupt = events.interrupt = NULL; // the ensemble is asked
    if (def.events) def.events = &events;
    if (!def.machine) def.machine = ensemble->engine;
    own->callers[i] = (caller){ensemble, ensemble->first + i};
    if (def.force) def.force = call_back, def.user = &own->callers[i];
    return cal_sim_create(ensemble->model, &def, &own->sims[i], error);
}

// All instances are what the first simulation is.
static cal_status create_memories(cal_ensemble* ensemble) {
    struct cal_separate* own = ensemble->separate;
    const size_t share = (size_t)(ensemble->end - ensemble->first), workers = (size_t)ensemble->workers;
    own->size = cal_system_memory_size(own->sims[0]->system) / sizeof(double); // whole ones
    own->memory = cal_allocate(share + workers, own->size * sizeof(double));
    if (!own->memory) return CAL_NO_MEMORY;
    for (int i = ensemble->first; i < ensemble->end; i++) leave(ensemble, own->sims[0], i);
    return CAL_OK;
}

static cal_status create(cal_ensemble* ensemble, cal_error* error) {
    const int share = ensemble->unit_count = ensemble->end - ensemble->first;
    struct cal_separate* own = ensemble->separate = cal_allocate(1, sizeof *own);
    if (!own) return CAL_NO_MEMORY;
    const cal_sim_def* def = &ensemble->def.sim;
    const bool events = def->contact && cal_model_can_touch(ensemble->model);
    const bool alike = !events && !def->machine && cal_find_solver(def->solver);
    // A process without an instance has one simulation, too: it says what a memory is.
    const int turns = ensemble->workers < share || share < 1 ? ensemble->workers : share;
    own->sim_count = alike ? turns : share;
    own->sims = cal_allocate((size_t)own->sim_count, sizeof *own->sims);
    own->callers = cal_allocate((size_t)own->sim_count, sizeof *own->callers);
    if (!own->sims || !own->callers) return CAL_NO_MEMORY;
    cal_status status = CAL_OK;
    for (int i = 0; i < own->sim_count && !status; i++) status = create_sim(ensemble, i, error);
    return !status && alike ? create_memories(ensemble) : status;
}

// With events a look at q and v takes memory.
static cal_status show(cal_ensemble* ensemble, const cal_sim* sim, int instance) {
    const cal_model* model = ensemble->model;
    const double *q = cal_sim_q(sim), *v = cal_sim_v(sim);
    if (!q || !v) return CAL_NO_MEMORY;
    cal_ensemble_row(ensemble, instance)[CAL_ROW_TIME] = cal_sim_time(sim);
    memcpy(cal_ensemble_q(ensemble, instance), q, (size_t)model->q_count * sizeof *q);
    memcpy(cal_ensemble_v(ensemble, instance), v, (size_t)model->v_count * sizeof *v);
    return CAL_OK;
}

static cal_status start(cal_ensemble* ensemble, int instance, const double* q, const double* v, bool projects,
                        cal_error* error) {
    cal_sim* sim = enter(ensemble, 0, instance);
    if (!sim) return CAL_NO_MEMORY;
    cal_status status = cal_sim_set(sim, ensemble->time, q, v, error);
    if (!status && projects && ensemble->model->constraint_count > 0) status = cal_sim_project(sim, error);
    const cal_status shown = show(ensemble, sim, instance);
    leave(ensemble, sim, instance);
    return status ? status : shown;
}

static bool is_undecided(const cal_ensemble* ensemble, int instance) {
    cal_sim* sim = enter(ensemble, 0, instance);
    cal_constraint_report report;
    // Without forces the first step says why there are none.
    return sim && !cal_sim_world(sim) && cal_sim_constraints(sim, &report) == CAL_OK && report.undecided;
}

static cal_status drive(cal_ensemble* ensemble, int instance, const double* tau, const double* control,
                        cal_error* error) {
    cal_sim* sim = enter(ensemble, 0, instance);
    if (!sim) return cal_fail(error, CAL_NO_MEMORY, "no memory for an instance's simulation");
    const cal_status status = cal_sim_drive(sim, tau, control, error);
    if (!status) leave(ensemble, sim, instance);
    return status;
}

static cal_status run(cal_ensemble* ensemble, int worker, int unit, const cal_ensemble_job* job) {
    const int instance = ensemble->first + unit;
    if (cal_ensemble_has_failed(ensemble, instance)) return CAL_OK;
    cal_sim* sim = enter(ensemble, worker, instance);
    if (!sim) return CAL_NO_MEMORY;
    cal_error error = {CAL_OK, ""};
    cal_sim_report report;
    const cal_status status = cal_sim_advance(sim, job->time, &error);
    cal_sim_get_report(sim, &report);
    double* row = cal_ensemble_row(ensemble, instance);
    row[CAL_ROW_STEPS] = (double)report.steps;
    row[CAL_ROW_REJECTED] = (double)report.rejected;
    row[CAL_ROW_EVALUATIONS] = (double)report.evaluations;
    row[CAL_ROW_JACOBIAN] = (double)report.jacobian_evaluations;
    if (status) {
        cal_ensemble_fail(ensemble, instance, status, error.text);
        leave_failed(ensemble, sim, worker, instance);
        return CAL_OK;
    }
    cal_energy_balance balance;
    cal_status read = show(ensemble, sim, instance);
    if (!read && ensemble->accounts) read = cal_sim_balance(sim, &balance);
    if (!read && ensemble->accounts) cal_ensemble_show_balance(ensemble, instance, &balance);
    leave(ensemble, sim, instance);
    return read;
}

// --- Images --------------------------------------------------------------------------------------------------------------

static size_t image_size(const cal_ensemble* ensemble) { return ensemble->separate->size; }

static size_t share_words(const cal_ensemble* ensemble) {
    return (size_t)(ensemble->end - ensemble->first) * ensemble->separate->size;
}

static cal_status store(cal_ensemble* ensemble, double* images) {
    memcpy(images, ensemble->separate->memory, share_words(ensemble) * sizeof *images);
    return CAL_OK;
}

bool cal_ensemble_memory_is_sound(cal_sim* sim, const double* image, size_t words, const double* row) {
    if (cal_system_load(sim->system, image, words * sizeof *image)) return false;
    return row[CAL_ROW_STATUS] != (double)CAL_OK || cal_sim_time(sim) == row[CAL_ROW_TIME];
}

// Of a worker: whoever is next enters it anew.
static bool is_sound(const cal_ensemble* ensemble, const double* image, const double* row) {
    const struct cal_separate* own = ensemble->separate;
    return cal_ensemble_memory_is_sound(own->sims[0], image, own->size, row);
}

static cal_status load(cal_ensemble* ensemble, const double* images) {
    memcpy(ensemble->separate->memory, images, share_words(ensemble) * sizeof *images);
    for (int i = ensemble->first; ensemble->accounts && i < ensemble->end; i++) {
        cal_energy_balance balance;
        cal_sim* sim = enter(ensemble, 0, i);
        const cal_status status = sim ? cal_sim_balance(sim, &balance) : CAL_NO_MEMORY;
        if (!status) cal_ensemble_show_balance(ensemble, i, &balance);
        // A device keeps no accounts: what comes from there has none from then on.
        if (status == CAL_NOT_AVAILABLE) ensemble->accounts = false;
    }
    return CAL_OK;
}

static bool depends_on_lanes(const cal_ensemble* ensemble) { return takes_turns(ensemble); }

static cal_sim* sim_of(const cal_ensemble* ensemble, int instance) {
    return takes_turns(ensemble) ? NULL : ensemble->separate->sims[instance - ensemble->first];
}

const cal_ensemble_ops cal_ensemble_separate = {.create = create,
                                                .destroy = destroy,
                                                .start = start,
                                                .is_undecided = is_undecided,
                                                .drive = drive,
                                                .run = run,
                                                .image_size = image_size,
                                                .depends_on_lanes = depends_on_lanes,
                                                .store = store,
                                                .is_sound = is_sound,
                                                .load = load,
                                                .sim = sim_of};
