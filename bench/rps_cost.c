// `calder bench rps --cost`: a step of one instance alone, a step of N instances on N cores, and where the difference goes.
//
//     poll   from when the last instance is done until all run again: ballots are exchanged, one is elected, and all are put around
//            it
//     wait   what the first processor waits besides: for instances that take longer, and processors that are busy otherwise
//
// Runs alternate, so that both see the same machine; of each the median counts.
#include "rps_cost.h"

#include <stdio.h>
#include <string.h>

#include "machine.h"
#include "quantities.h"
#include "result.h"
#include "timing.h"

enum { MOST_RUNS = 64 };

typedef struct row {
    const char* model;
    int dof, instances, processors;
    double alone, step; // s, medians
    double poll, wait;  // shares of the time, medians
} row;

static int run_once(const cal_rps_cost* cost, const cal_model* model, cal_machine* machine, int instances, int seed,
                    cal_rps_report* out) {
    cal_rps_def def = cal_default_rps_def();
    cal_rps* rps = NULL;
    cal_error error = {CAL_OK, ""};
    def.instances = instances;
    def.machine = machine;
    def.interval = cost->interval;
    def.stabilize = cost->stabilize;
    def.seed = (uint64_t)seed;
    error.status = cal_rps_create(model, &def, &rps, &error);
    if (error.status == CAL_OK) error.status = cal_rps_advance(rps, cost->time, &error);
    if (error.status == CAL_OK) cal_rps_get_report(rps, out);
    cal_rps_destroy(rps);
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

static int measure(const cal_rps_cost* cost, const cal_model* model, cal_machine* machine, row* out) {
    double alone[MOST_RUNS], step[MOST_RUNS], poll[MOST_RUNS], wait[MOST_RUNS];
    int status = CAL_EXIT_DONE;
    for (int k = 0; k < cost->runs && status == CAL_EXIT_DONE; k++) {
        cal_rps_report one = {0}, many = {0};
        // One rank alone; the others wait for it.
        if (cal_is_first_rank()) status = run_once(cost, model, NULL, 1, k + 1, &one);
        status = cal_ranks_agree(status);
        if (status == CAL_EXIT_DONE) status = run_once(cost, model, machine, out->instances, k + 1, &many);
        if (status != CAL_EXIT_DONE) break;
        alone[k] = one.steps > 0 ? one.wall / (double)one.steps : 0;
        step[k] = many.wall / (double)many.steps;
        poll[k] = many.poll_wall / many.wall;
        wait[k] = many.wait_wall / many.wall;
    }
    if (status != CAL_EXIT_DONE) return status;
    out->alone = cal_median(alone, cost->runs);
    out->step = cal_median(step, cost->runs);
    out->poll = cal_median(poll, cost->runs);
    out->wait = cal_median(wait, cost->runs);
    return CAL_EXIT_DONE;
}

static void print_head(const cal_rps_cost* cost) {
    printf("cost of a step: explicit Euler, polls every %d steps; median of %d runs of %g s; %s\n\n", cost->interval,
           cost->runs, cost->time, cal_host_text());
    printf("%-16s %4s  %12s  %-28s %8s %8s %8s\n", "model", "dof", "one alone", "N instances", "ratio", "polling",
           "waiting");
}

static void print_row(const row* r, const cal_machine* machine) {
    char one[32], many[32], who[64], text[96];
    snprintf(text, sizeof text, "%d on %s: %s", r->instances,
             cal_machine_describe(machine, r->processors, who, sizeof who),
             cal_duration_text(r->step, many, sizeof many));
    printf("%-16s %4d  %12s  %-28s %8.2f %7.2f%% %7.2f%%\n", r->model, r->dof,
           cal_duration_text(r->alone, one, sizeof one), text, r->step / r->alone, 100 * r->poll, 100 * r->wait);
}

static void print_json_row(cal_json* json, const row* r, const cal_machine* machine) {
    cal_json_open(json, NULL, '{');
    cal_json_text(json, "model", r->model);
    cal_json_integer(json, "dof", r->dof);
    cal_json_integer(json, "instances", r->instances);
    cal_json_text(json, "machine", cal_machine_name(machine));
    cal_json_integer(json, "processors", r->processors);
    cal_json_number(json, "alone_s", r->alone);
    cal_json_number(json, "step_s", r->step);
    cal_json_number(json, "ratio", r->step / r->alone);
    cal_json_number(json, "poll_share", r->poll);
    cal_json_number(json, "wait_share", r->wait);
    cal_json_close(json, '}');
}

static int run_model(const cal_rps_cost* cost, const char* name, cal_json* json) {
    cal_model* model = NULL;
    int status = cal_model_from_argument(name, &model);
    for (int i = 0; i < cost->count && status == CAL_EXIT_DONE; i++) {
        char text[32];
        cal_machine* machine = NULL;
        row r = {.model = name, .dof = cal_model_v_count(model), .instances = cost->instances[i]};
        if (r.instances == 1) continue;
        snprintf(text, sizeof text, "threads:%d", r.instances);
        status = cal_machine_open(cost->machine ? cost->machine : text, "1", NULL, &machine);
        if (status == CAL_EXIT_DONE) {
            const int all = cal_machine_processors(machine);
            r.processors = all < r.instances ? all : r.instances;
            status = measure(cost, model, machine, &r);
        }
        if (status == CAL_EXIT_DONE && cost->json) print_json_row(json, &r, machine);
        if (status == CAL_EXIT_DONE && !cost->json) print_row(&r, machine);
        cal_machine_destroy(machine);
    }
    cal_model_destroy(model);
    return status;
}

int cal_bench_rps_cost(const cal_rps_cost* cost) {
    static const cal_texts usual = {{"rail", "fivebar", "rolling-disk", "ring:n=8"}, 4};
    const cal_texts* models = cost->models.count > 0 ? &cost->models : &usual;
    cal_json json = {.file = stdout};
    int status = CAL_EXIT_DONE;
    if (cost->json) {
        json = cal_result_open("bench rps --cost");
        cal_json_integer(&json, "interval", cost->interval);
        cal_json_number(&json, "time", cost->time);
        cal_json_integer(&json, "runs", cost->runs);
        cal_json_open(&json, "rows", '[');
    } else
        print_head(cost);
    for (int i = 0; i < models->count && status == CAL_EXIT_DONE; i++)
        status = run_model(cost, models->items[i], &json);
    if (cost->json) {
        cal_json_close(&json, ']');
        cal_json_close(&json, '}');
    }
    return cal_finish_output(status);
}
