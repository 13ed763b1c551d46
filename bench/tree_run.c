// Real dynamics on real processors.
//
// An evaluation is Armstrong's three passes: control outwards, coefficients inwards, accelerations outwards. It is repeated at one
// state, whose accelerations are compared with those of one core. As on the paper's machine one evaluation follows the other without
// a pause: on ranks the root begins the next one while leaves still work on the last.
#define _GNU_SOURCE
#include "tree_run.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"
#include "timing.h"

enum { MOST_SAMPLES = 201, LEAST_SAMPLES = 5, WARM_UPS = 6, MOST_PROCESSES = 1024 };
static const double SAMPLE_SECONDS = 5e-4; // far longer than reading the clock, far shorter than a scheduler's slice

int cal_tree_lab_open(const char* machine, const char* lanes, double seconds, cal_tree_lab* out) {
    *out = (cal_tree_lab){.ranks = strcmp(machine, "mpi") == 0,
                          .processes = MOST_PROCESSES,
                          .cores = cal_core_count(),
                          .seconds = seconds,
                          .lanes = (int)strtol(lanes, NULL, 10)};
    if (!out->ranks) return CAL_EXIT_DONE;
    const int status = cal_machine_open("mpi", lanes, NULL, &out->shared);
    if (status == CAL_EXIT_DONE) out->processes = cal_machine_processors(out->shared);
    // mpirun binds ranks to cores; together they have those of the computer.
    out->cores = cal_ranks_agree((int)sysconf(_SC_NPROCESSORS_ONLN));
    return status;
}

void cal_tree_lab_close(cal_tree_lab* lab) { cal_machine_destroy(lab->shared); }

// The n-th core that this process may use, or, where it may use fewer, the last.
static int core_at(const cpu_set_t* allowed, int n) {
    int core = 0;
    for (int i = 0, seen = 0; i < CPU_SETSIZE && seen <= n; i++)
        if (CPU_ISSET((size_t)i, allowed)) core = i, seen++;
    return core;
}

// All ranks must do as many calls: as the first one finds right.
static int of_first_rank(int count) { return cal_ranks_agree(cal_is_first_rank() ? count : 0); }

// A velocity for each degree of freedom, so that all terms of the equations are there.
static cal_status set_motion(cal_state* state, const cal_model* model) {
    const int n = cal_model_v_count(model);
    double* v = calloc((size_t)n + 1, sizeof *v);
    if (!v) return CAL_NO_MEMORY;
    for (int i = 0; i < n; i++) v[i] = 0.1 * (i * 7 % 11 - 5);
    const cal_status status = cal_state_set(state, CAL_V, v);
    free(v);
    return status;
}

static cal_status repeat(const cal_plan* plan, cal_state* state, int calls, double* seconds, cal_error* error) {
    cal_status status = CAL_OK;
    const double started = cal_wall_seconds();
    for (int i = 0; i < calls && status == CAL_OK; i++) status = cal_plan_execute(plan, state, error);
    *seconds = (cal_wall_seconds() - started) / calls;
    return status;
}

typedef struct times {
    double median, quiet; // of an evaluation, s; quiet: a quarter of the samples is shorter
} times;

// Of many samples; all ranks that a plan has do the same number of them.
static cal_status time_plan(const cal_tree_lab* lab, const cal_plan* plan, cal_state* state, bool together, times* out,
                            cal_error* error) {
    double samples[MOST_SAMPLES], estimate;
    cal_status status = repeat(plan, state, WARM_UPS, &estimate, error);
    int calls = (int)fmin(1e6, ceil(SAMPLE_SECONDS / (estimate + 1e-9)));
    int count = (int)fmin(MOST_SAMPLES, lab->seconds / (estimate * calls + 1e-9));
    if (together) calls = of_first_rank(calls), count = of_first_rank(count);
    if (count < LEAST_SAMPLES) count = LEAST_SAMPLES;
    for (int i = 0; i < count && status == CAL_OK; i++) status = repeat(plan, state, calls, &samples[i], error);
    if (status == CAL_OK) out->median = cal_median(samples, count), out->quiet = samples[count / 4]; // sorted
    return status;
}

// One core alone: accelerations, and the time of an evaluation where it is asked for. Of ranks the first takes the time.
static cal_status run_alone(const cal_tree_lab* lab, const cal_model* model, bool timed, double* qdd, times* out,
                            cal_error* error) {
    cal_machine* machine = NULL;
    cal_plan* plan = NULL;
    cal_state* state = NULL;
    cal_status status = cal_machine_serial(lab->lanes, &machine, error);
    if (status == CAL_OK) status = cal_plan_create(model, "armstrong", machine, &plan, error);
    if (status == CAL_OK) status = cal_state_create(plan, &state);
    if (status == CAL_OK) status = set_motion(state, model);
    if (status == CAL_OK) status = cal_plan_execute(plan, state, error);
    if (status == CAL_OK) status = cal_state_get(state, CAL_QDD, qdd);
    if (status == CAL_OK && timed && cal_is_first_rank()) status = time_plan(lab, plan, state, false, out, error);
    cal_state_destroy(state);
    cal_plan_destroy(plan);
    cal_machine_destroy(machine);
    return status;
}

static cal_status count_messages(const cal_plan* plan, const cal_state* state, cal_tree_result* out) {
    cal_status status = CAL_OK;
    for (int pass = 0; status == CAL_OK; pass++) {
        cal_pass_traffic sent = {0}, said = {0};
        status = cal_plan_traffic(plan, pass, 0, &said);
        if (status == CAL_OK) status = cal_state_traffic(state, pass, &sent);
        if (status != CAL_OK || sent.executions == 0) continue;
        out->messages += sent.messages / sent.executions;
        out->numbers += sent.numbers / sent.executions;
        out->predicted += said.messages;
        out->predicted_number += said.numbers;
        // What does not divide was not sent each time.
        if (sent.messages % sent.executions || sent.numbers % sent.executions) return CAL_MACHINE_FAILED;
    }
    return status == CAL_BAD_ARGUMENT ? CAL_OK : status; // past the last pass
}

static cal_status run_machine(const cal_tree_lab* lab, const cal_model* model, const cal_tree_assignment* assignment,
                              cal_machine* machine, bool timed, const double* expected, times* own,
                              cal_tree_result* out, cal_error* error) {
    cal_plan* plan = NULL;
    cal_state* state = NULL;
    const size_t n = (size_t)cal_model_v_count(model);
    double* qdd = calloc(n + 1, sizeof *qdd);
    cal_status status =
        qdd ? cal_plan_create_placed(model, "armstrong", machine, assignment->process_of_joint, &plan, error)
            : CAL_NO_MEMORY;
    if (status == CAL_OK) status = cal_state_create(plan, &state);
    if (status == CAL_OK) status = set_motion(state, model);
    if (status == CAL_OK && timed) status = time_plan(lab, plan, state, lab->ranks, own, error);
    if (status == CAL_OK) status = cal_plan_execute(plan, state, error);
    if (status == CAL_OK) status = cal_state_get(state, CAL_QDD, qdd);
    if (status == CAL_OK) status = count_messages(plan, state, out);
    out->same = status == CAL_OK && expected && memcmp(qdd, expected, n * sizeof *qdd) == 0;
    cal_state_destroy(state);
    cal_plan_destroy(plan);
    free(qdd);
    return status;
}

static cal_status run_assigned(const cal_tree_lab* lab, const cal_model* model, const cal_tree_assignment* assignment,
                               bool timed, const double* expected, times* own, cal_tree_result* out, cal_error* error) {
    if (lab->ranks) return run_machine(lab, model, assignment, lab->shared, timed, expected, own, out, error);
    int cores[MOST_PROCESSES];
    cpu_set_t before, now;
    sched_getaffinity(0, sizeof before, &before);
    for (int i = 0; i < assignment->processes; i++)
        cores[i] = core_at(&before, assignment->core_of_process ? assignment->core_of_process[i] : i);
    cal_machine* machine = NULL;
    cal_threads_def def = cal_default_threads_def();
    def.workers = assignment->processes;
    def.lanes = lab->lanes;
    // More processes than cores, and only to see whether they are right: wherever there is room.
    if (timed) def.cores = cores;
    cal_status status = cal_machine_threads(&def, &machine, error);
    if (status == CAL_OK) status = run_machine(lab, model, assignment, machine, timed, expected, own, out, error);
    cal_machine_destroy(machine);
    sched_getaffinity(0, sizeof now, &now);
    if (!CPU_EQUAL(&now, &before)) sched_setaffinity(0, sizeof before, &before);
    return status;
}

cal_status cal_tree_run(const cal_tree_lab* lab, const cal_model* model, const cal_tree_assignment* assignment,
                        bool timed, cal_tree_result* out, cal_error* error) {
    *out = (cal_tree_result){.run = assignment->processes <= lab->processes};
    if (!out->run) return CAL_OK;
    times alone = {0}, own = {0};
    double* expected = calloc((size_t)cal_model_v_count(model) + 1, sizeof *expected);
    cal_status status = expected ? run_alone(lab, model, timed, expected, &alone, error) : CAL_NO_MEMORY;
    if (cal_ranks_agree((int)status) == CAL_OK)
        status = run_assigned(lab, model, assignment, timed, expected, &own, out, error);
    free(expected);
    double numbers[] = {alone.median, own.median, own.quiet > 0 ? alone.quiet / own.quiet : 0};
    cal_ranks_tell(numbers, 3); // so that all decide alike
    out->alone = numbers[0], out->seconds = numbers[1], out->quiet = numbers[2];
    return status;
}
