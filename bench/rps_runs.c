// Figure 3 of Bicchi's paper (rps_runs.h): where four processors take the cart from 20 T to 22 T.
//
//     20 T ──∘──∘──∘── 21 T    the elected one's way is the run's; all others end there
//                        ╲∘──∘──∘── 22 T    around its end all of them begin again
#include "rps_runs.h"
#include "bench.h"
#include "plot.h"
#include "result.h"
#include <calder/calder_run.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INSTANCES = 4, FIRST = 20, SHOWN = 2, SERIES = INSTANCES + 1 }; // the last series is the run itself

// x and y of all steps, series by series, interval by interval; behind each interval something that is no number, where lines end.
typedef struct record {
    int steps;
    double *x, *y;
    int elected[SHOWN];
    double residual[SHOWN];
} record;

static size_t first_of(const record* r, int interval, int series) {
    return ((size_t)series * SHOWN + (size_t)interval) * ((size_t)r->steps + 2);
}

// The cart and the particle are at their first two joints' values.
static void watch(int64_t interval, int instance, int step, const double* q, const double* v, void* user) {
    (void)v;
    record* r = user;
    if (interval < FIRST || interval >= FIRST + SHOWN) return;
    const size_t at = first_of(r, (int)interval - FIRST, instance) + (size_t)step;
    r->x[at] = q[0], r->y[at] = q[1];
}

static int simulate(const cal_rps_runs* runs, record* r) {
    cal_rps_def def = cal_default_rps_def();
    cal_rps* rps = NULL;
    cal_error error = {CAL_OK, ""};
    def.instances = INSTANCES;
    def.machine = runs->machine;
    def.interval = runs->interval;
    def.position_radius *= runs->radius;
    def.velocity_radius *= runs->radius;
    def.everywhere = true; // as the paper's instances are
    def.stabilize = runs->stabilize;
    def.seed = runs->seed;
    cal_status status = cal_rps_create(runs->model, &def, &rps, &error);
    cal_rps_watch(rps, watch, r);
    for (int i = 0; i < SHOWN && !status; i++) {
        cal_rps_report report;
        status = cal_rps_advance(rps, (FIRST + i + 1) * def.interval * def.step, &error);
        if (status) break;
        cal_rps_get_report(rps, &report);
        r->elected[i] = report.elected;
        r->residual[i] = report.residual;
    }
    cal_rps_destroy(rps);
    return status ? cal_complain_error(&error) : CAL_EXIT_DONE;
}

static double distance(const record* r, size_t a, size_t b) {
    return sqrt((r->x[a] - r->x[b]) * (r->x[a] - r->x[b]) + (r->y[a] - r->y[b]) * (r->y[a] - r->y[b]));
}

// How far an instance begins from where the elected one of the interval before has ended; nothing is known of the first.
static double begins_off(const record* r, int interval, int instance) {
    if (interval == 0) return (double)NAN;
    return distance(r, first_of(r, interval, instance),
                    first_of(r, interval - 1, r->elected[interval - 1]) + (size_t)r->steps);
}

static void print(const cal_rps_runs* runs, const record* r) {
    printf("%s, %d processors, explicit Euler with steps of 5e-4 s, T = %d steps\n\n", runs->model_name, INSTANCES,
           runs->interval);
    printf("%12s %10s %14s %24s\n", "interval", "processor", "begins off, m", "ends at x, y");
    for (int i = 0; i < SHOWN; i++)
        for (int j = 0; j < INSTANCES; j++) {
            const size_t end = first_of(r, i, j) + (size_t)r->steps;
            char off[32] = "";
            if (i > 0) snprintf(off, sizeof off, "%.2e", begins_off(r, i, j));
            printf("%5d T … %d T %10d %14s %12.6f %11.6f%s\n", FIRST + i, FIRST + i + 1, j + 1, off, r->x[end],
                   r->y[end], j == r->elected[i] ? "  elected" : "");
        }
}

static void print_json(const cal_rps_runs* runs, const record* r) {
    cal_json json = cal_result_open("bench rps");
    cal_json_integer(&json, "figure", 3);
    cal_json_text(&json, "model", runs->model_name);
    cal_json_integer(&json, "interval", runs->interval);
    cal_json_open(&json, "rows", '[');
    for (int i = 0; i < SHOWN; i++)
        for (int j = 0; j < INSTANCES; j++) {
            const size_t end = first_of(r, i, j) + (size_t)r->steps;
            cal_json_open(&json, NULL, '{');
            cal_json_integer(&json, "interval", FIRST + i);
            cal_json_integer(&json, "processor", j);
            cal_json_boolean(&json, "elected", j == r->elected[i]);
            if (i > 0) cal_json_number(&json, "begins_off", begins_off(r, i, j));
            cal_json_number(&json, "x", r->x[end]);
            cal_json_number(&json, "y", r->y[end]);
            cal_json_close(&json, '}');
        }
    cal_json_close(&json, ']');
    cal_json_close(&json, '}');
}

static int draw(const cal_rps_runs* runs, const record* r) {
    static const char* const names[SERIES] = {"processor 1", "processor 2", "processor 3", "processor 4", "elected"};
    cal_plot_series series[SERIES];
    for (int j = 0; j < SERIES; j++)
        series[j] = (cal_plot_series){.name = names[j],
                                      .x = r->x + first_of(r, 0, j),
                                      .y = r->y + first_of(r, 0, j),
                                      .count = first_of(r, 0, 1) - 1,
                                      .color = j,
                                      .dashed = j < INSTANCES,
                                      .marked = j < INSTANCES};
    const cal_plot_panel panel = {"Figure 3: four processors from 20 T to 22 T", "x, m", "y, m", false, series, SERIES};
    return cal_plot_save(runs->plot, &panel, 1);
}

int cal_bench_rps_runs(const cal_rps_runs* runs) {
    record r = {.steps = runs->interval};
    const size_t points = first_of(&r, 0, SERIES), block = (size_t)r.steps + 1;
    r.x = calloc(points, sizeof *r.x);
    r.y = calloc(points, sizeof *r.y);
    for (size_t i = 0; r.x && r.y && i < points; i++) r.x[i] = r.y[i] = (double)NAN;
    int status = r.x && r.y ? simulate(runs, &r) : cal_complain(CAL_EXIT_FAILED, "no memory for %zu points", points);
    if (status == CAL_EXIT_DONE && r.x && r.y) {
        for (int i = 0; i < SHOWN; i++) {
            const size_t from = first_of(&r, i, r.elected[i]), to = first_of(&r, i, INSTANCES);
            memcpy(r.x + to, r.x + from, block * sizeof *r.x);
            memcpy(r.y + to, r.y + from, block * sizeof *r.y);
        }
        if (runs->json)
            print_json(runs, &r);
        else
            print(runs, &r);
        status = draw(runs, &r);
    }
    free(r.x), free(r.y);
    return status;
}
