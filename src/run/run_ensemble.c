// Runs of an ensemble: all instances advance by fixed steps, and the first one is shown.
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "run/query.h"
#include "run/run.h"

static const uint32_t COOKIE = 0x52554e45;

enum { KINETIC, POTENTIAL, TOTAL, CHANNELS };
static const cal_channel channels[CHANNELS] = {
    [KINETIC] = {"kinetic", "J", "Energy of the first instance", false},
    [POTENTIAL] = {"potential", "J", "Energy of the first instance", false},
    [TOTAL] = {"total", "J", "Energy of the first instance", false},
};

typedef struct ensemble_run {
    cal_run base;
    cal_ensemble* ensemble;
    cal_run_ensemble_def def;
    char solver[16];
    cal_query query;
    int64_t steps;
    double *q, *v;         // of the first instance
    double *any_q, *any_v; // of any other
} ensemble_run;

static void destroy(cal_run* run) {
    ensemble_run* r = (ensemble_run*)run;
    cal_query_release(&r->query);
    cal_ensemble_destroy(r->ensemble);
    cal_free(r->q);
    cal_free(r);
}

static double time_of(const cal_run* run) {
    const ensemble_run* r = (const ensemble_run*)run;
    return (double)r->steps * r->def.step;
}

// To the step next to the time.
static cal_status advance(cal_run* run, double time, bool* reached, cal_error* error) {
    ensemble_run* r = (ensemble_run*)run;
    if (!(time >= time_of(run) - 0.5 * r->def.step))
        return cal_fail(error, CAL_BAD_ARGUMENT, "an ensemble at %g s cannot go back to %g s", time_of(run), time);
    const int64_t steps = llround(time / r->def.step) - r->steps;
    cal_status status = CAL_OK;
    if (steps > 0) status = cal_ensemble_step(r->ensemble, r->solver, r->def.step, steps, error);
    if (steps > 0) r->steps += steps;
    *reached = status == CAL_OK;
    const cal_status got = cal_ensemble_get(r->ensemble, 0, r->q, r->v);
    return status ? status : got;
}

// One number over the states of all instances, in their order.
static uint64_t hash(cal_run* run) {
    ensemble_run* r = (ensemble_run*)run;
    uint64_t sum = 0, one = 0;
    for (int i = 0; i < r->def.instances; i++) {
        if (cal_ensemble_get(r->ensemble, i, r->any_q, r->any_v) != CAL_OK ||
            cal_query_hash(&r->query, time_of(run), r->any_q, r->any_v, &one) != CAL_OK)
            return 0;
        sum = sum * UINT64_C(0x9e3779b97f4a7c15) + one;
    }
    return sum;
}

static const double* q(const cal_run* run) { return ((const ensemble_run*)run)->q; }
static const double* v(const cal_run* run) { return ((const ensemble_run*)run)->v; }

static cal_status poses(cal_run* run, double* poses) {
    ensemble_run* r = (ensemble_run*)run;
    return cal_query_look(&r->query, r->q, r->v, poses, NULL);
}

static cal_status read_channels(cal_run* run, double* values) {
    ensemble_run* r = (ensemble_run*)run;
    const cal_status status = cal_query_look(&r->query, r->q, r->v, NULL, values);
    values[TOTAL] = values[KINETIC] + values[POTENTIAL];
    return status;
}

static void report(cal_run* run, cal_facts* report) {
    ensemble_run* r = (ensemble_run*)run;
    const int lanes = cal_ensemble_lanes(r->ensemble), instances = r->def.instances;
    const double rate = run->wall > 0 ? (double)r->steps * instances / run->wall : 0;
    cal_run_report_model(report, run->model);
    cal_facts_text(report, "algorithm", "aba");
    cal_facts_text(report, "solver", r->solver);
    cal_facts_text(report, "machine", "serial");
    cal_facts_integer(report, "processors", 1);
    cal_facts_integer(report, "lanes", lanes);
    cal_facts_integer(report, "batch", instances);
    cal_facts_line(report, "batch", "%d instances, lanes of %d", instances, lanes);
    cal_facts_number(report, "step", r->def.step);
    cal_facts_line(report, "solver", "%s, step %g s", r->solver, r->def.step);
    cal_facts_integer(report, "steps", r->steps);
    cal_facts_integer(report, "rejected", 0);
    cal_facts_number(report, "instance_steps_per_second", rate);
    cal_facts_line(report, "steps", "%lld each, %.4g instance-steps per second", (long long)r->steps, rate);
}

static cal_status reset(cal_run* run, cal_error* error) {
    ensemble_run* r = (ensemble_run*)run;
    for (int i = 0; i < r->def.instances; i++) {
        cal_model_initial(run->model, r->any_q, r->any_v, NULL);
        if (r->def.start) r->def.start(r->def.user, i, r->any_q, r->any_v);
        const cal_status status = cal_ensemble_set(r->ensemble, i, r->any_q, r->any_v);
        if (status) return cal_fail(error, status, "the start of instance %d failed: %s", i, cal_status_text(status));
    }
    r->steps = 0;
    return cal_ensemble_get(r->ensemble, 0, r->q, r->v);
}

static const cal_run_ops ops = {.kind = "an ensemble",
                                .destroy = destroy,
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
                                .reset = reset};

cal_run_ensemble_def cal_default_run_ensemble_def(void) {
    return (cal_run_ensemble_def){.instances = 1, .solver = "rk4", .step = 0.001, .cookie = COOKIE};
}

static cal_status check(const cal_model* model, const cal_run_ensemble_def* def, cal_error* error) {
    if (!model || !def || def->cookie != COOKIE || !def->solver)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "an ensemble needs a model, and a definition that comes from cal_default_run_ensemble_def()");
    if (!cal_solver_has_fixed_step(def->solver))
        return cal_fail(error, CAL_BAD_ARGUMENT, "solver '%.40s' cannot advance an ensemble; allowed: rk4, euler",
                        def->solver);
    if (!(def->step > 0 && isfinite(def->step)))
        return cal_fail(error, CAL_BAD_ARGUMENT, "a step of %g s is none", def->step);
    return CAL_OK;
}

cal_status cal_run_create_ensemble(const cal_model* model, const cal_run_ensemble_def* def, cal_run** out,
                                   cal_error* error) {
    *out = NULL;
    cal_status status = check(model, def, error);
    if (status) return status;
    const size_t q_count = (size_t)cal_model_q_count(model), v_count = (size_t)cal_model_v_count(model);
    ensemble_run* r = cal_allocate(1, sizeof *r);
    if (!r) return cal_fail(error, CAL_NO_MEMORY, "no memory for a run");
    r->base = (cal_run){.ops = &ops,
                        .model = model,
                        .body_count = cal_model_body_count(model),
                        .channels = channels,
                        .channel_count = CHANNELS,
                        .grain = def->step};
    r->def = *def;
    snprintf(r->solver, sizeof r->solver, "%s", def->solver);
    r->q = cal_allocate(2 * (q_count + v_count) + 1, sizeof *r->q);
    if (r->q) {
        r->v = r->q + q_count;
        r->any_q = r->v + v_count;
        r->any_v = r->any_q + q_count;
    } else {
        status = cal_fail(error, CAL_NO_MEMORY, "no memory for a run");
    }
    if (!status) status = cal_ensemble_create(model, def->instances, def->lanes, &r->ensemble, error);
    if (!status) status = cal_query_create(&r->query, model, error);
    if (!status) status = reset(&r->base, error);
    if (status)
        destroy(&r->base);
    else
        *out = &r->base;
    return status;
}
