// Mobiles on several processors: the solver inside the passes, and a central one.
#include "distribution_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

bool cal_mobile_run_agrees(const cal_mobile_run* run) {
    bool agrees = true;
    for (int i = 0; i < run->pass_count; i++) {
        const cal_pass_traffic *sent = &run->sent[i], *said = &run->predicted[i];
        agrees &= sent->messages == said->messages * sent->executions;
        agrees &= sent->numbers == said->numbers * sent->executions;
    }
    return agrees;
}

cal_status cal_run_distributed(const cal_model* model, cal_machine* machine, const int32_t* placement, double step,
                               double time, double* q, double* v, cal_mobile_run* out, cal_error* error) {
    cal_sim* sim = NULL;
    cal_sim_report report;
    cal_sim_def def = cal_default_sim_def();
    def.solver = step > 0 ? "rk4" : "gear";
    if (step > 0) def.step = step;
    def.machine = machine;
    def.processor_of_joint = placement;
    *out = (cal_mobile_run){.joints = cal_model_joint_count(model)};
    cal_status status = cal_sim_create(model, &def, &sim, error);
    const double started = cal_wall_seconds();
    if (status == CAL_OK) status = cal_sim_advance(sim, time, error);
    const double wall = cal_wall_seconds() - started;
    if (status == CAL_OK) {
        cal_sim_get_report(sim, &report);
        out->evaluations = report.evaluations;
        out->seconds = wall / (double)(report.evaluations > 0 ? report.evaluations : 1);
        out->hash = cal_sim_hash(sim);
        if (q) memcpy(q, cal_sim_q(sim), (size_t)cal_model_q_count(model) * sizeof *q);
        if (v) memcpy(v, cal_sim_v(sim), (size_t)cal_model_v_count(model) * sizeof *v);
    }
    while (status == CAL_OK && out->pass_count < CAL_MOST_PASSES &&
           cal_sim_traffic(sim, out->pass_count, &out->sent[out->pass_count], &out->predicted[out->pass_count]) ==
               CAL_OK)
        out->pass_count++;
    cal_sim_destroy(sim);
    return status;
}

// --- A central solver -----------------------------------------------------------------------------------------------------

typedef struct center {
    const cal_plan* plan;
    cal_state* state;
    size_t n;
    double* y; // q and v one after the other, the first processor's
} center;

// Accelerations at y: q and v go to all processors, q̈ comes back (Table VIII, passes 1 and 4; 2 and 3 are between links).
static cal_status evaluate(center* c, double* qdd, cal_error* error) {
    cal_ranks_tell(c->y, 2 * c->n);
    cal_status status = cal_state_set(c->state, CAL_Q, c->y);
    if (status == CAL_OK) status = cal_state_set(c->state, CAL_V, c->y + c->n);
    if (status == CAL_OK) status = cal_plan_execute(c->plan, c->state, error);
    return status == CAL_OK ? cal_state_get(c->state, CAL_QDD, qdd) : status;
}

// A step of the classical Runge-Kutta method; k: four slopes of q and v, and the state where it began.
static cal_status take_step(center* c, double step, double* k, cal_error* error) {
    static const double reach[] = {0.5, 0.5, 1.0}, weight[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    const size_t n = c->n;
    double* begin = k + 8 * n;
    memcpy(begin, c->y, 2 * n * sizeof *begin);
    for (int stage = 0; stage < 4; stage++) {
        double* slope = k + 2 * (size_t)stage * n;
        memcpy(slope, c->y + n, n * sizeof *slope);
        const cal_status status = evaluate(c, slope + n, error);
        if (status != CAL_OK) return status;
        for (size_t i = 0; i < 2 * n && stage < 3; i++) c->y[i] = begin[i] + step * reach[stage] * slope[i];
    }
    for (size_t i = 0; i < 2 * n; i++) {
        double sum = 0;
        for (size_t stage = 0; stage < 4; stage++) sum += weight[stage] * k[2 * stage * n + i];
        c->y[i] = begin[i] + step * sum;
    }
    return CAL_OK;
}

static cal_status read_traffic(const center* c, cal_mobile_run* out) {
    cal_status status = CAL_OK;
    while (status == CAL_OK && out->pass_count < CAL_MOST_PASSES) {
        status = cal_plan_traffic(c->plan, out->pass_count, 0, &out->predicted[out->pass_count]);
        if (status == CAL_OK) status = cal_state_traffic(c->state, out->pass_count, &out->sent[out->pass_count]);
        if (status == CAL_OK) out->pass_count++;
    }
    return status == CAL_BAD_ARGUMENT ? CAL_OK : status; // past the last pass
}

cal_status cal_run_central(const cal_model* model, cal_machine* machine, const int32_t* placement, double step,
                           double time, double* q, double* v, cal_mobile_run* out, cal_error* error) {
    cal_plan* plan = NULL;
    center c = {.n = (size_t)cal_model_v_count(model)};
    const long steps = lround(time / step);
    double* memory = calloc(12 * c.n + 1, sizeof *memory);
    *out = (cal_mobile_run){.joints = cal_model_joint_count(model)};
    cal_status status = memory ? cal_plan_create_placed(model, "aba", machine, placement, &plan, error) : CAL_NO_MEMORY;
    if (status == CAL_OK) status = cal_state_create(plan, &c.state);
    c.plan = plan, c.y = memory;
    if (status == CAL_OK) cal_model_initial(model, c.y, c.y + c.n, NULL);
    const double started = cal_wall_seconds();
    for (long i = 0; i < steps && status == CAL_OK; i++) status = take_step(&c, step, memory + 2 * c.n, error);
    out->evaluations = 4 * steps;
    out->seconds = (cal_wall_seconds() - started) / (double)(steps > 0 ? 4 * steps : 1);
    if (status == CAL_OK) status = read_traffic(&c, out);
    if (status == CAL_OK) {
        const int others = cal_plan_processors(plan) - 1;
        out->processors = others + 1;
        out->spread = 2 * (int64_t)c.n * others;
        out->gathered = (int64_t)c.n * others;
        memcpy(q, c.y, c.n * sizeof *q);
        memcpy(v, c.y + c.n, c.n * sizeof *v);
    }
    cal_state_destroy(c.state);
    cal_plan_destroy(plan);
    free(memory);
    return status;
}
