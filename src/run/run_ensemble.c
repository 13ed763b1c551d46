// Runs of an ensemble: all instances advance together, and one of them is shown.
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "ensemble/ensemble.h"
#include "run/run.h"

static const uint32_t COOKIE = 0x52554e45;

enum { KINETIC, POTENTIAL, TOTAL, FAILED, CHANNELS };
static const cal_channel channels[CHANNELS] = {
    [KINETIC] = {"kinetic", "J", "Energy of the instance that is shown", false},
    [POTENTIAL] = {"potential", "J", "Energy of the instance that is shown", false},
    [TOTAL] = {"total", "J", "Energy of the instance that is shown", false},
    [FAILED] = {"failed", "", "Instances that failed", false},
};

typedef struct ensemble_run {
    cal_run base;
    cal_ensemble* ensemble;
    cal_run_ensemble_def def;
    char solver[16], algorithm[16], stabilize[16], form[16];
    double *q, *v;         // of one instance
    double *tau, *control; // that all are driven with; NULL: the model's
    char off[256];         // a note about a start that was moved onto its constraints
    int shown;
} ensemble_run;

static cal_ensemble* ensemble_of(const cal_run* run) { return ((const ensemble_run*)run)->ensemble; }

static void destroy(cal_run* run) {
    ensemble_run* r = (ensemble_run*)run;
    cal_ensemble_destroy(r->ensemble);
    cal_free(r->control);
    cal_free(r->tau);
    cal_free(r->q);
    cal_free(r);
}

static double time_of(const cal_run* run) { return cal_ensemble_time(ensemble_of(run)); }
static uint64_t hash(cal_run* run) { return cal_ensemble_hash(ensemble_of(run)); }

// An ensemble cannot go back: the instance that has exploded stays as it is.
static cal_status check_balances(const ensemble_run* r, cal_error* error) {
    cal_energy_balance b;
    const double time = cal_ensemble_time(r->ensemble);
    for (int i = 0; i < r->def.ensemble.count && cal_ensemble_balance(r->ensemble, i, &b) == CAL_OK; i++) {
        if (!b.exploded) continue;
        cal_error why = {CAL_OK, ""};
        const cal_status status = cal_run_fail_balance(&b, time, time, &why);
        return cal_fail(error, status, "instance %d: %s", i, why.text);
    }
    return CAL_OK;
}

static cal_status advance(cal_run* run, double time, bool* reached, cal_error* error) {
    cal_status status = cal_ensemble_advance(ensemble_of(run), time, error);
    if (!status) status = check_balances((const ensemble_run*)run, error);
    *reached = status == CAL_OK;
    return status;
}

static int shown(const cal_run* run) { return ((const ensemble_run*)run)->shown; }
static void show(cal_run* run, int instance) { ((ensemble_run*)run)->shown = instance; }
static int instances(const cal_run* run) { return cal_ensemble_count(ensemble_of(run)); }

// A field of an ensemble is a copy.
static const double* q(const cal_run* run) {
    const ensemble_run* r = (const ensemble_run*)run;
    return cal_ensemble_get(r->ensemble, r->shown, r->q, NULL) == CAL_OK ? r->q : NULL;
}

static const double* v(const cal_run* run) {
    const ensemble_run* r = (const ensemble_run*)run;
    return cal_ensemble_get(r->ensemble, r->shown, NULL, r->v) == CAL_OK ? r->v : NULL;
}

static cal_status poses(cal_run* run, double* poses) { return cal_ensemble_poses(ensemble_of(run), shown(run), poses); }

static cal_status read_channels(cal_run* run, double* values) {
    cal_ensemble_report report;
    cal_ensemble_get_report(ensemble_of(run), &report);
    values[FAILED] = report.failed;
    const cal_status status = cal_ensemble_energy(ensemble_of(run), shown(run), &values[KINETIC], &values[POTENTIAL]);
    values[TOTAL] = values[KINETIC] + values[POTENTIAL];
    return status;
}

// Sums over all instances, and the worst balance of one of them: errors of many might cancel.
static void report_balance(const ensemble_run* r, cal_facts* facts) {
    cal_energy_balance all = {0}, worst = {0}, one;
    int where = 0;
    for (int i = 0; i < r->def.ensemble.count; i++) {
        if (cal_ensemble_balance(r->ensemble, i, &one) != CAL_OK) {
            cal_facts_line(facts, "energy balance", "not known: no accounts are kept there");
            return;
        }
        all.start += one.start, all.kinetic += one.kinetic, all.potential += one.potential;
        all.work += one.work, all.loss += one.loss, all.closing += one.closing, all.exchanged += one.exchanged;
        all.flows |= one.flows;
        // What is not a number is the worst.
        if (i == 0 || !(fabs(one.relative) <= fabs(worst.relative))) worst = one, where = i;
    }
    const double end = all.kinetic + all.potential;
    cal_facts_number(facts, "energy_start", all.start);
    cal_facts_number(facts, "energy_end", end);
    cal_facts_number(facts, "energy_work", all.work);
    cal_facts_number(facts, "energy_loss", all.loss);
    cal_facts_number(facts, "energy_closing", all.closing);
    cal_facts_number(facts, "energy_exchanged", all.exchanged);
    cal_facts_number(facts, "energy_balance", worst.relative);
    cal_facts_number(facts, "energy_justified", worst.justified);
    cal_facts_line(facts, "energy", "%.6g J at the start, %.6g J at the end, of all instances together", all.start,
                   end);
    if (all.flows) cal_facts_line(facts, "energy flows", "%.6g J of work, %.6g J lost", all.work, all.loss);
    cal_facts_line(facts, "energy balance", "%.2e of the %.4g J that instance %d has exchanged, the worst%s",
                   worst.relative, worst.exchanged, where,
                   fabs(worst.relative) <= worst.justified ? "" : "; its tolerance or step justifies less");
}

static void report(cal_run* run, cal_facts* facts) {
    const ensemble_run* r = (const ensemble_run*)run;
    const cal_ensemble_def* d = &r->def.ensemble;
    const cal_machine* machine = d->machine;
    const int lanes = cal_ensemble_lanes(r->ensemble), processors = machine ? cal_machine_processors(machine) : 1;
    const bool fixed = cal_solver_has_fixed_step(r->solver);
    cal_ensemble_report s;
    char who[64] = "one core";
    cal_ensemble_get_report(r->ensemble, &s);
    const double rate = run->wall > 0 ? (double)s.steps / run->wall : 0;
    if (machine) cal_machine_text(machine, processors, who, sizeof who);
    cal_run_report_model(facts, run->model);
    cal_facts_text(facts, "algorithm", r->algorithm);
    cal_facts_text(facts, "solver", r->solver);
    cal_facts_text(facts, "machine", machine ? cal_machine_name(machine) : "serial");
    cal_facts_integer(facts, "processors", processors);
    cal_facts_integer(facts, "lanes", lanes);
    cal_facts_integer(facts, "batch", d->count);
    cal_facts_line(facts, "batch", "%d instances on %s, %d side by side", d->count, who, lanes);
    cal_facts_number(facts, fixed ? "step" : "tol", fixed ? d->sim.step : d->sim.relative);
    if (fixed)
        cal_facts_line(facts, "solver", "%s, step %g s", r->solver, d->sim.step);
    else
        cal_facts_line(facts, "solver", "%s, tolerance %g", r->solver, d->sim.relative);
    cal_facts_integer(facts, "steps", s.steps);
    cal_facts_integer(facts, "rejected", s.rejected);
    cal_facts_integer(facts, "evaluations", s.evaluations);
    cal_facts_integer(facts, "failed", s.failed);
    cal_facts_number(facts, "instance_steps_per_second", rate);
    cal_facts_line(facts, "steps", "%lld of all instances together, %.4g per second", (long long)s.steps, rate);
    report_balance(r, facts);
}

static bool projects(const ensemble_run* r) { return strcmp(r->stabilize, "projection") == 0; }

// Whether a start that is the model's for all instances is off constraints that projection keeps closed: then it is moved onto them.
// Where bodies touch, worlds do that.
static cal_status look_at_start(ensemble_run* r, cal_error* error) {
    const cal_model* model = r->base.model;
    r->off[0] = '\0';
    if (r->def.start || r->def.ensemble.spread > 0.0 || !projects(r) || cal_model_constraint_count(model) == 0)
        return CAL_OK;
    cal_sim* sim = NULL;
    cal_constraint_report report;
    const cal_status status = cal_sim_create(model, &r->def.ensemble.sim, &sim, error);
    if (!status && !cal_sim_world(sim) && cal_sim_constraints(sim, &report) == CAL_OK)
        cal_run_note_off(model, &report, true, r->off, sizeof r->off);
    cal_sim_destroy(sim);
    return status;
}

static cal_status place_one(ensemble_run* r, int instance, cal_error* error) {
    const bool starts = r->def.start, drives = r->tau || r->control;
    cal_status status = starts || r->off[0] ? cal_ensemble_get(r->ensemble, instance, r->q, r->v) : CAL_OK;
    if (status) return cal_fail(error, status, "instance %d has no start", instance);
    if (starts) r->def.start(r->def.user, instance, r->q, r->v);
    cal_error why = {CAL_OK, ""};
    if (starts || r->off[0]) status = cal_ensemble_start(r->ensemble, instance, r->q, r->v, projects(r), &why);
    if (!status && drives) status = cal_ensemble_drive(r->ensemble, instance, r->tau, r->control, &why);
    if (status)
        return cal_fail(error, status, "the start of instance %d failed: %s", instance,
                        why.text[0] ? why.text : cal_status_text(status));
    return CAL_OK;
}

// Where every instance starts: as in a run of one, constraints that are kept closed by projection are closed first.
static cal_status place(ensemble_run* r, cal_error* error) {
    cal_status status = look_at_start(r, error);
    for (int i = 0; !status && i < r->def.ensemble.count; i++) status = place_one(r, i, error);
    return status;
}

static cal_status save(cal_run* run, const char* path, cal_error* error) {
    return cal_ensemble_save(ensemble_of(run), path, error);
}
static cal_status restore(cal_run* run, const char* path, cal_error* error) {
    return cal_ensemble_load(ensemble_of(run), path, error);
}

// An ensemble does not go back: another one takes its place when it has been made.
static cal_status reset(cal_run* run, cal_error* error) {
    ensemble_run* r = (ensemble_run*)run;
    cal_ensemble* before = r->ensemble;
    cal_status status = cal_ensemble_create_def(run->model, &r->def.ensemble, &r->ensemble, error);
    if (!status) status = place(r, error);
    if (status) {
        cal_ensemble_destroy(r->ensemble);
        r->ensemble = before;
        return status;
    }
    cal_ensemble_destroy(before);
    return CAL_OK;
}

static cal_status begin(cal_run* run, bool project, char* note, size_t capacity, cal_error* error) {
    (void)project; // where constraints are kept closed by projection, they were when instances were placed
    int count, first;
    const cal_status status = cal_ensemble_find_undecided(ensemble_of(run), &count, &first);
    if (status) return cal_fail(error, status, "the starts could not be looked at: %s", cal_status_text(status));
    if (count > 0)
        snprintf(note, capacity, "%d of %d instances, the first of them %d: %s", count,
                 ((const ensemble_run*)run)->def.ensemble.count, first, cal_run_undecided);
    else
        snprintf(note, capacity, "%s", ((const ensemble_run*)run)->off);
    return CAL_OK;
}

// All instances, also when the run starts anew.
static cal_status drive(cal_run* run, const double* tau, const double* control, cal_error* error) {
    ensemble_run* r = (ensemble_run*)run;
    if (!cal_run_keep(&r->tau, tau, cal_model_v_count(run->model)) ||
        !cal_run_keep(&r->control, control, cal_model_actuator_count(run->model)))
        return cal_fail(error, CAL_NO_MEMORY, "no memory for forces and controls");
    cal_status status = CAL_OK;
    for (int i = 0; !status && i < r->def.ensemble.count; i++)
        status = cal_ensemble_drive(r->ensemble, i, tau, control, error);
    return status;
}

static const cal_run_ops ops = {.kind = "an ensemble",
                                .destroy = destroy,
                                .begin = begin,
                                .time = time_of,
                                .advance = advance,
                                .hash = hash,
                                .body_name = cal_run_model_body_name,
                                .shapes = cal_run_model_shapes,
                                .poses = poses,
                                .read = read_channels,
                                .report = report,
                                .q = q,
                                .v = v,
                                .drive = drive,
                                .save = save,
                                .restore = restore,
                                .reset = reset,
                                .instances = instances,
                                .show = show};

cal_run_ensemble_def cal_default_run_ensemble_def(void) {
    return (cal_run_ensemble_def){.ensemble = cal_default_ensemble_def(), .cookie = COOKIE};
}

// The definition's texts are the caller's, and may go.
static void copy_text(char* to, const char** from) {
    snprintf(to, 16, "%s", *from ? *from : "");
    if (*from) *from = to;
}

cal_status cal_run_create_ensemble(const cal_model* model, const cal_run_ensemble_def* def, cal_run** out,
                                   cal_error* error) {
    if (!model || !out)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_create_ensemble: model and out must not be NULL");
    *out = NULL;
    if (!def || def->cookie != COOKIE)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "an ensemble needs a definition that comes from cal_default_run_ensemble_def()");
    const size_t q_count = (size_t)cal_model_q_count(model), v_count = (size_t)cal_model_v_count(model);
    ensemble_run* r = cal_allocate(1, sizeof *r);
    if (!r) return cal_fail(error, CAL_NO_MEMORY, "no memory for a run");
    r->base = (cal_run){.ops = &ops,
                        .model = model,
                        .body_count = cal_model_body_count(model),
                        .channels = channels,
                        .channel_count = CHANNELS};
    r->def = *def;
    copy_text(r->solver, &r->def.ensemble.sim.solver);
    copy_text(r->algorithm, &r->def.ensemble.sim.algorithm);
    copy_text(r->stabilize, &r->def.ensemble.sim.stabilize);
    copy_text(r->form, &r->def.ensemble.sim.constraint_form);
    r->q = cal_allocate(q_count + v_count + 1, sizeof *r->q);
    r->v = r->q ? r->q + q_count : NULL;
    cal_status status = CAL_NO_MEMORY;
    if (r->q)
        status = reset(&r->base, error);
    else
        cal_explain(error, status, "no memory for a run");
    if (status)
        destroy(&r->base);
    else
        *out = &r->base;
    return status;
}
