// A run of one instance: frames from dense output, energy at each, CSV and plot as they were asked for, a summary.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calder/calder_record.h"
#include "plot.h"
#include "progress.h"
#include "sim.h"

enum { KINETIC, POTENTIAL, TOTAL, ENERGY_COUNT };

// Everything that a run holds; zero is empty, and release takes any stage of it.
typedef struct run {
    const cal_sim_options* options;
    const cal_model* model;
    cal_machine* machine;
    cal_sim* sim;
    cal_csv* csv;
    FILE* plot_file;
    double* history; // time and energies of each frame, for the plot: 1 + ENERGY_COUNT rows of capacity numbers
    size_t frames, capacity;
    double energy_start, energy_end, kinetic_largest;
    double wall;
    bool interrupted;
} run;

static void release(run* r) {
    if (r->plot_file) fclose(r->plot_file);
    cal_csv_close(r->csv, NULL);
    cal_sim_destroy(r->sim);
    cal_machine_destroy(r->machine);
    free(r->history);
}

static int prepare(run* r) {
    const cal_sim_options* options = r->options;
    cal_error error = {CAL_OK, ""};
    error.status = cal_machine_serial(atoi(options->lanes), &r->machine, &error);
    if (error.status != CAL_OK) return cal_complain_error(&error);
    cal_sim_def def = cal_default_sim_def();
    def.solver = options->solver;
    def.algorithm = options->algorithm;
    def.machine = r->machine;
    def.relative = options->tol;
    if (options->step > 0) {
        if (cal_solver_is_fixed_step(options->solver))
            def.step = options->step;
        else
            def.largest_step = options->step;
    }
    error.status = cal_sim_create(r->model, &def, &r->sim, &error);
    if (error.status != CAL_OK) return cal_complain_error(&error);
    if (options->out) {
        error.status = cal_csv_create(options->out, r->model, &r->csv, &error);
        if (error.status != CAL_OK) return cal_complain_error(&error);
    }
    if (options->plot) {
        r->plot_file = fopen(options->plot, "w");
        if (!r->plot_file)
            return cal_complain(CAL_EXIT_MISTAKE, "cannot write '%s': %s", options->plot, strerror(errno));
        r->capacity = (size_t)fmin(options->time * options->fps, 1e12) + 2;
        r->history = calloc(r->capacity, (1 + ENERGY_COUNT) * sizeof *r->history);
        if (!r->history)
            return cal_complain(CAL_EXIT_FAILED, "no memory to plot %zu frames; lower --fps or --time", r->capacity);
    }
    return CAL_EXIT_DONE;
}

static int record_frame(run* r) {
    double kinetic, potential;
    cal_error error = {CAL_OK, ""};
    error.status = cal_sim_energy(r->sim, &kinetic, &potential);
    if (error.status != CAL_OK) return cal_complain_error(&error);
    r->energy_end = kinetic + potential;
    if (r->frames == 0) r->energy_start = r->energy_end;
    r->kinetic_largest = fmax(r->kinetic_largest, kinetic);
    if (r->history && r->frames < r->capacity) {
        const double values[] = {cal_sim_time(r->sim), kinetic, potential, kinetic + potential};
        for (size_t row = 0; row < 1 + ENERGY_COUNT; row++) r->history[row * r->capacity + r->frames] = values[row];
    }
    r->frames++;
    if (r->csv && cal_csv_write(r->csv, r->sim, &error) != CAL_OK)
        return cal_complain(CAL_EXIT_FAILED, "%s", error.text);
    return CAL_EXIT_DONE;
}

static int simulate(run* r) {
    const cal_sim_options* options = r->options;
    int status = record_frame(r);
    r->interrupted = cal_interrupted();
    cal_progress progress = cal_progress_start("simulating");
    for (int64_t frame = 1; status == CAL_EXIT_DONE && !r->interrupted && cal_sim_time(r->sim) < options->time;
         frame++) {
        // The last frame is at the end even when the frame rate does not divide the time.
        double time = (double)frame / options->fps;
        if (time > options->time * (1 - 1e-12)) time = options->time;
        cal_error error = {CAL_OK, ""};
        double started = cal_wall_seconds();
        error.status = cal_sim_advance(r->sim, time, &error);
        r->wall += cal_wall_seconds() - started;
        if (error.status == CAL_OK)
            status = record_frame(r);
        else {
            cal_progress_end(&progress);
            status = cal_complain(CAL_EXIT_FAILED, "%s", error.text[0] ? error.text : cal_status_text(error.status));
        }
        cal_progress_show(&progress, time / options->time);
        r->interrupted = cal_interrupted();
    }
    cal_progress_end(&progress);
    return status;
}

static int write_plot(run* r) {
    if (!r->plot_file) return CAL_EXIT_DONE;
    const char* const names[] = {"kinetic", "potential", "total"};
    cal_plot_series series[ENERGY_COUNT];
    size_t count = r->frames < r->capacity ? r->frames : r->capacity;
    for (int i = 0; i < ENERGY_COUNT; i++)
        series[i] = (cal_plot_series){.name = names[i],
                                      .x = r->history,
                                      .count = count,
                                      .color = i,
                                      .y = r->history + (size_t)(1 + i) * r->capacity};
    char title[256];
    snprintf(title, sizeof title, "Energy of %s, solver %s", r->options->model_name, r->options->solver);
    const cal_plot_panel panel = {title, "time, s", "energy, J", false, series, ENERGY_COUNT};
    bool written = cal_plot_write(r->plot_file, &panel, 1);
    if (fclose(r->plot_file) != 0) written = false;
    r->plot_file = NULL;
    if (written) return CAL_EXIT_DONE;
    return cal_complain(CAL_EXIT_FAILED, "cannot write '%s': %s", r->options->plot, strerror(errno));
}

static int close_csv(run* r) {
    cal_error error = {CAL_OK, ""};
    cal_status status = cal_csv_close(r->csv, &error);
    r->csv = NULL;
    return status == CAL_OK ? CAL_EXIT_DONE : cal_complain(CAL_EXIT_FAILED, "%s", error.text);
}

static double ratio(double above, double below) { return below > 0 ? above / below : 0; }

static double energy_drift(const run* r) { return ratio(fabs(r->energy_end - r->energy_start), r->kinetic_largest); }

static void print_json(const run* r, const cal_sim_report* report) {
    const cal_sim_options* options = r->options;
    double time = cal_sim_time(r->sim);
    cal_json json = {.file = stdout};
    cal_json_open(&json, NULL, '{');
    cal_sim_describe(&json, options, r->model, cal_machine_lanes(r->machine));
    cal_json_number(&json, "tol", options->tol);
    cal_json_number(&json, "time", time);
    cal_json_integer(&json, "frames", (int64_t)r->frames);
    cal_json_integer(&json, "steps", report->steps);
    cal_json_integer(&json, "rejected", report->rejected);
    cal_json_integer(&json, "evaluations", report->evaluations);
    cal_json_number(&json, "evaluations_per_second", ratio((double)report->evaluations, time));
    cal_json_number(&json, "wall_s", r->wall);
    cal_json_number(&json, "realtime_factor", ratio(time, r->wall));
    cal_json_number(&json, "energy_start", r->energy_start);
    cal_json_number(&json, "energy_end", r->energy_end);
    cal_json_number(&json, "energy_drift", energy_drift(r));
    cal_json_hash(&json, "state_hash", cal_sim_hash(r->sim));
    cal_json_boolean(&json, "interrupted", r->interrupted);
    cal_json_close(&json, '}');
}

static void print_summary(const run* r, const cal_sim_report* report) {
    const cal_sim_options* options = r->options;
    double time = cal_sim_time(r->sim);
    cal_sim_describe_model(options, r->model);
    printf("%-13s %s, ", "solver", options->solver);
    if (cal_solver_is_fixed_step(options->solver))
        printf("step %g s", report->step);
    else
        printf("tolerance %g", options->tol);
    printf("; %s on one core, lanes of %d\n", options->algorithm, cal_machine_lanes(r->machine));
    double factor = ratio(time, r->wall);
    printf("%-13s %g s in %.3g s, %.*f × real time\n", "simulated", time, r->wall, factor < 10 ? 2 : 0, factor);
    printf("%-13s %lld, and %lld rejected\n", "steps", (long long)report->steps, (long long)report->rejected);
    printf("%-13s %lld, %.4g a simulated second\n", "evaluations", (long long)report->evaluations,
           ratio((double)report->evaluations, time));
    printf("%-13s %.6g J at the start, %.6g J at the end\n", "energy", r->energy_start, r->energy_end);
    printf("%-13s %.2e of the largest kinetic energy, %.4g J\n", "energy drift", energy_drift(r), r->kinetic_largest);
    printf("%-13s %016llx\n", "state hash", (unsigned long long)cal_sim_hash(r->sim));
    if (options->out) printf("%-13s %s, %zu frames\n", "written", options->out, r->frames);
    if (options->plot) printf("%-13s %s\n", options->out ? "" : "written", options->plot);
}

int cal_sim_run_single(const cal_sim_options* options, const cal_model* model) {
    run r = {.options = options, .model = model};
    int status = prepare(&r);
    if (status == CAL_EXIT_DONE) {
        status = simulate(&r);
        // After a failure or Ctrl-C too, what there is gets written.
        int csv_status = status == CAL_EXIT_DONE ? close_csv(&r) : status;
        int plot_status = write_plot(&r);
        if (status == CAL_EXIT_DONE) status = csv_status != CAL_EXIT_DONE ? csv_status : plot_status;
        cal_sim_report report;
        cal_sim_get_report(r.sim, &report);
        if (status == CAL_EXIT_DONE && options->json)
            print_json(&r, &report);
        else if (status == CAL_EXIT_DONE)
            print_summary(&r, &report);
        status = cal_finish_output(status);
        if (status == CAL_EXIT_DONE && r.interrupted)
            status = cal_complain(CAL_EXIT_FAILED, "interrupted at %g of %g s", cal_sim_time(r.sim), options->time);
    }
    release(&r);
    return status;
}
