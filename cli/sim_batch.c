// `calder sim --batch N`: many instances of one model at once, each from a slightly different start.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "progress.h"
#include "sim.h"

#define DEFAULT_STEP 0.001

// One number over the states of all instances, in their order.
static int hash_instances(const cal_ensemble* ensemble, const cal_model* model, int count, double time,
                          uint64_t* hash) {
    cal_machine* machine = NULL;
    cal_plan* plan = NULL;
    cal_state* state = NULL;
    cal_error error = {CAL_OK, ""};
    double* q = calloc((size_t)cal_model_q_count(model) + 1, sizeof *q);
    double* v = calloc((size_t)cal_model_v_count(model) + 1, sizeof *v);
    if (!q || !v) error.status = CAL_NO_MEMORY;
    if (error.status == CAL_OK) error.status = cal_machine_serial(1, &machine, &error);
    if (error.status == CAL_OK) error.status = cal_plan_create(model, "kinematics", machine, &plan, &error);
    if (error.status == CAL_OK) error.status = cal_state_create(plan, &state);
    *hash = 0;
    for (int i = 0; error.status == CAL_OK && i < count; i++) {
        error.status = cal_ensemble_get(ensemble, i, q, v);
        if (error.status == CAL_OK) error.status = cal_state_set(state, CAL_Q, q);
        if (error.status == CAL_OK) error.status = cal_state_set(state, CAL_V, v);
        if (error.status != CAL_OK) break;
        cal_state_set_time(state, time);
        *hash = *hash * UINT64_C(0x9e3779b97f4a7c15) + cal_state_hash(state);
    }
    cal_state_destroy(state);
    cal_plan_destroy(plan);
    cal_machine_destroy(machine);
    free(q);
    free(v);
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

// Instance i is scattered by a seed of its own, so that it starts alike in batches of any size.
static int scatter_instances(cal_ensemble* ensemble, const cal_model* model, const cal_sim_options* options) {
    double* q = calloc((size_t)cal_model_q_count(model) + 1, sizeof *q);
    double* v = calloc((size_t)cal_model_v_count(model) + 1, sizeof *v);
    cal_error error = {q && v ? CAL_OK : CAL_NO_MEMORY, ""};
    for (int i = 0; error.status == CAL_OK && i < (int)options->batch; i++) {
        uint64_t seed = (uint64_t)i << 32;
        cal_model_initial(model, q, v, NULL);
        cal_scatter(model, &seed, options->spread, q, v);
        error.status = cal_ensemble_set(ensemble, i, q, v);
    }
    free(q);
    free(v);
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

typedef struct batch_result {
    double step, time, wall;
    int64_t steps;
    uint64_t hash;
    bool interrupted;
} batch_result;

static void print_json(const cal_sim_options* options, const cal_model* model, int lanes, const batch_result* result) {
    double instance_steps = (double)result->steps * (double)options->batch;
    cal_json json = {.file = stdout};
    cal_json_open(&json, NULL, '{');
    cal_sim_describe(&json, options, model, "serial", 1, lanes);
    cal_json_integer(&json, "batch", options->batch);
    cal_json_number(&json, "spread", options->spread);
    cal_json_number(&json, "step", result->step);
    cal_json_number(&json, "time", result->time);
    cal_json_integer(&json, "steps", result->steps);
    cal_json_integer(&json, "rejected", 0);
    cal_json_number(&json, "wall_s", result->wall);
    cal_json_number(&json, "realtime_factor", result->wall > 0 ? result->time / result->wall : 0);
    cal_json_number(&json, "instance_steps_per_second", result->wall > 0 ? instance_steps / result->wall : 0);
    cal_json_hash(&json, "state_hash", result->hash);
    cal_json_boolean(&json, "interrupted", result->interrupted);
    cal_json_close(&json, '}');
}

static void print_summary(const cal_sim_options* options, const cal_model* model, int lanes,
                          const batch_result* result) {
    double instance_steps = (double)result->steps * (double)options->batch;
    cal_sim_describe_model(options, model);
    printf("%-13s %lld instances, starts ±%g apart, lanes of %d\n", "batch", (long long)options->batch, options->spread,
           lanes);
    printf("%-13s %s, step %g s\n", "solver", options->solver, result->step);
    printf("%-13s %g s in %.3g s\n", "simulated", result->time, result->wall);
    printf("%-13s %lld each, %.4g instance-steps a second\n", "steps", (long long)result->steps,
           result->wall > 0 ? instance_steps / result->wall : 0);
    printf("%-13s %016llx over all instances\n", "state hash", (unsigned long long)result->hash);
}

static int step_instances(cal_ensemble* ensemble, const cal_sim_options* options, batch_result* result) {
    int64_t wanted = (int64_t)llround(options->time / result->step);
    int64_t chunk = (int64_t)fmax(1, 1 / (options->fps * result->step));
    cal_progress progress = cal_progress_start("simulating");
    cal_error error = {CAL_OK, ""};
    result->interrupted = cal_interrupted();
    while (result->steps < wanted && error.status == CAL_OK && !result->interrupted) {
        int64_t steps = wanted - result->steps < chunk ? wanted - result->steps : chunk;
        double started = cal_wall_seconds();
        error.status = cal_ensemble_step(ensemble, options->solver, result->step, steps, &error);
        result->wall += cal_wall_seconds() - started;
        result->steps += steps;
        cal_progress_show(&progress, (double)result->steps / (double)wanted);
        result->interrupted = cal_interrupted();
    }
    cal_progress_end(&progress);
    result->time = (double)result->steps * result->step;
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

int cal_sim_run_batch(const cal_sim_options* options, const cal_model* model) {
    cal_ensemble* ensemble = NULL;
    cal_error error = {CAL_OK, ""};
    error.status = cal_ensemble_create(model, (int)options->batch, atoi(options->lanes), &ensemble, &error);
    if (error.status != CAL_OK) return cal_complain_error(&error);
    batch_result result = {.step = options->step > 0 ? options->step : DEFAULT_STEP};
    int status = scatter_instances(ensemble, model, options);
    if (status == CAL_EXIT_DONE) status = step_instances(ensemble, options, &result);
    if (status == CAL_EXIT_DONE)
        status = hash_instances(ensemble, model, (int)options->batch, result.time, &result.hash);
    if (status == CAL_EXIT_DONE) {
        int lanes = cal_ensemble_lanes(ensemble);
        if (options->json)
            print_json(options, model, lanes, &result);
        else
            print_summary(options, model, lanes, &result);
        status = cal_finish_output(status);
        if (status == CAL_EXIT_DONE && result.interrupted)
            status = cal_complain(CAL_EXIT_FAILED, "interrupted at %g of %g s", result.time, options->time);
    }
    cal_ensemble_destroy(ensemble);
    return status;
}
