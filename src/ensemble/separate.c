// Instances as simulations of their own (ensemble.h): every solver, loops, the user's forces. A unit is one instance.
#include "base/memory.h"
#include "calder/calder_world.h"
#include "ensemble/ensemble.h"

// What the user's callback is called with: it may ask whose forces it shall give.
typedef struct caller {
    const cal_ensemble* ensemble;
    int instance;
} caller;

struct cal_separate {
    cal_sim** sims; // of the share
    caller* callers;
};

static cal_sim* sim_of(const cal_ensemble* ensemble, int instance) {
    return ensemble->separate->sims[instance - ensemble->first];
}

static void call_back(cal_force_context* context, void* user) {
    const caller* own = user;
    context->instance = own->instance;
    own->ensemble->def.sim.force(context, own->ensemble->def.sim.user);
}

static void destroy(cal_ensemble* ensemble) {
    struct cal_separate* own = ensemble->separate;
    if (!own) return;
    for (int i = 0; own->sims && i < ensemble->end - ensemble->first; i++) cal_sim_destroy(own->sims[i]);
    cal_free(own->sims);
    cal_free(own->callers);
    cal_free(own);
}

static cal_status create(cal_ensemble* ensemble, cal_error* error) {
    const int share = ensemble->end - ensemble->first;
    struct cal_separate* own = ensemble->separate = cal_allocate(1, sizeof *own);
    if (!own) return CAL_NO_MEMORY;
    own->sims = cal_allocate((size_t)share, sizeof *own->sims);
    own->callers = cal_allocate((size_t)share, sizeof *own->callers);
    if (!own->sims || !own->callers) return CAL_NO_MEMORY;
    ensemble->unit_count = share;
    cal_sim_def def = ensemble->def.sim;
    cal_world_def events = def.events ? *def.events : cal_default_world_def();
    def.interrupt = events.interrupt = NULL; // the ensemble is asked
    if (def.events) def.events = &events;
    if (!def.machine) def.machine = ensemble->engine;
    if (def.force) def.force = call_back;
    cal_status status = CAL_OK;
    for (int i = 0; i < share && !status; i++) {
        own->callers[i] = (caller){ensemble, ensemble->first + i};
        if (def.force) def.user = &own->callers[i];
        status = cal_sim_create(ensemble->model, &def, &own->sims[i], error);
    }
    return status;
}

static void show(cal_ensemble* ensemble, int instance) {
    const cal_model* model = ensemble->model;
    const cal_sim* sim = sim_of(ensemble, instance);
    cal_ensemble_row(ensemble, instance)[CAL_ROW_TIME] = cal_sim_time(sim);
    memcpy(cal_ensemble_q(ensemble, instance), cal_sim_q(sim), (size_t)model->q_count * sizeof(double));
    memcpy(cal_ensemble_v(ensemble, instance), cal_sim_v(sim), (size_t)model->v_count * sizeof(double));
}

static cal_status start(cal_ensemble* ensemble, int instance, const double* q, const double* v, bool projects,
                        cal_error* error) {
    cal_sim* sim = sim_of(ensemble, instance);
    cal_status status = cal_sim_set(sim, ensemble->time, q, v, error);
    if (!status && projects && ensemble->model->constraint_count > 0) status = cal_sim_project(sim, error);
    show(ensemble, instance);
    return status;
}

static bool is_undecided(const cal_ensemble* ensemble, int instance) {
    cal_sim* sim = sim_of(ensemble, instance);
    cal_constraint_report report;
    // Without forces the first step says why there are none.
    return !cal_sim_world(sim) && cal_sim_constraints(sim, &report) == CAL_OK && report.undecided;
}

static cal_status drive(cal_ensemble* ensemble, int instance, const double* tau, const double* control) {
    return cal_sim_drive(sim_of(ensemble, instance), tau, control, NULL);
}

static cal_status run(cal_ensemble* ensemble, int worker, int unit, const cal_ensemble_job* job) {
    (void)worker;
    const int instance = ensemble->first + unit;
    if (cal_ensemble_has_failed(ensemble, instance)) return CAL_OK;
    cal_sim* sim = sim_of(ensemble, instance);
    cal_error error = {CAL_OK, ""};
    cal_sim_report report;
    const cal_status status = cal_sim_advance(sim, job->time, &error);
    cal_sim_get_report(sim, &report);
    double* row = cal_ensemble_row(ensemble, instance);
    row[CAL_ROW_STEPS] = (double)report.steps;
    row[CAL_ROW_REJECTED] = (double)report.rejected;
    row[CAL_ROW_EVALUATIONS] = (double)report.evaluations;
    row[CAL_ROW_JACOBIAN] = (double)report.jacobian_evaluations;
    if (status)
        cal_ensemble_fail(ensemble, instance, status, error.text);
    else
        show(ensemble, instance);
    if (status || !ensemble->accounts) return CAL_OK;
    cal_energy_balance balance;
    const cal_status read = cal_sim_balance(sim, &balance);
    if (!read) cal_ensemble_show_balance(ensemble, instance, &balance);
    return read;
}

const cal_ensemble_ops cal_ensemble_separate = {
    .create = create, .destroy = destroy, .start = start, .is_undecided = is_undecided, .drive = drive, .run = run};
