// A run of one instance: frames from dense output, energy at each, CSV and plot as they were asked for, a summary.
//
// Frames and checkpoints have clocks of their own: tick k is at k / rate. A run that was resumed ticks at the same times, so
// that what it writes is what the run without a pause would have written.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"
#include "plot.h"
#include "progress.h"
#include "recording.h"
#include "sim.h"
#include "sim_constraints.h"

enum { KINETIC, POTENTIAL, TOTAL, ENERGY_COUNT };

// Everything that a run holds; zero is empty, and release takes any stage of it.
typedef struct run {
    const cal_sim_options* options;
    const cal_model* model;
    cal_machine* machine;
    cal_placement placement;
    cal_sim* sim;
    cal_events events;
    cal_recording recording;
    FILE* plot_file;
    double* history; // time and energies of each frame, for the plot: 1 + ENERGY_COUNT rows of capacity numbers
    size_t frames, capacity;
    double from;  // where the run begins
    double saved; // time of the last checkpoint
    double energy_start, energy_end, kinetic_largest;
    double misfit; // largest that --check has seen
    double wall;
    bool interrupted;
} run;

static void release(run* r) {
    if (r->plot_file) fclose(r->plot_file);
    cal_csv_close(r->recording.csv, NULL);
    cal_glb_close(r->recording.glb, NULL);
    cal_html_close(r->recording.html, NULL);
    cal_sim_destroy(r->sim);
    cal_machine_destroy(r->machine);
    cal_placement_free(&r->placement);
    free(r->history);
    cal_events_free(&r->events);
}

static int open_machine(run* r) {
    const cal_sim_options* options = r->options;
    if (options->placement) {
        int status = cal_placement_read(options->placement, r->model, &r->placement);
        if (status != CAL_EXIT_DONE) return status;
    }
    return cal_machine_open(options->machine, options->lanes, &r->placement, &r->machine);
}

// The last tick of a clock at or before a time.
static int64_t last_tick(double time, double rate) {
    int64_t tick = (int64_t)floor(time * rate);
    while ((double)tick / rate > time) tick--;
    while ((double)(tick + 1) / rate <= time) tick++;
    return tick;
}

static int resume(run* r) {
    const cal_sim_options* options = r->options;
    cal_error error = {CAL_OK, ""};
    error.status = cal_sim_load(r->sim, options->resume, &error);
    if (error.status != CAL_OK) return cal_complain_error(&error);
    r->from = cal_sim_time(r->sim);
    if (r->from > options->time)
        return cal_complain(CAL_EXIT_MISTAKE, "the checkpoint '%s' is at %g s already; give a --time after that",
                            options->resume, r->from);
    return CAL_EXIT_DONE;
}

// Events at the very start, and a start that the constraints allow.
static int close_start(run* r) {
    cal_error error = {CAL_OK, ""};
    int status = cal_events_apply(&r->events, r->sim);
    if (status != CAL_EXIT_DONE) return status;
    if (r->options->project) error.status = cal_sim_project(r->sim, &error);
    if (error.status != CAL_OK) return cal_complain(CAL_EXIT_MISTAKE, "%s", error.text);
    if (r->options->stabilize && strncmp(r->options->stabilize, "projection", 10) != 0)
        cal_sim_warn_violation(r->sim, r->model);
    return CAL_EXIT_DONE;
}

static int open_recording(run* r) {
    const cal_sim_options* options = r->options;
    // At the end of the run there is a row whether the frame rate divides the time or not.
    const double last = r->from < options->time ? (double)last_tick(r->from, options->fps) / options->fps : r->from;
    return cal_recording_open(&r->recording, r->model, options->model_name, options->resume != NULL, last,
                              options->forces ? CAL_CSV_FORCES : 0);
}

static int prepare(run* r) {
    const cal_sim_options* options = r->options;
    cal_error error = {CAL_OK, ""};
    int status = cal_recording_sort(&options->out, &r->recording);
    if (status == CAL_EXIT_DONE) status = open_machine(r);
    if (status != CAL_EXIT_DONE) return status;
    cal_sim_def def = cal_default_sim_def();
    def.solver = options->solver;
    def.algorithm = options->algorithm;
    def.schedule = options->schedule;
    def.machine = r->machine;
    def.processor_of_joint = r->placement.processor_of_joint;
    def.relative = options->tol;
    def.slow_band = (int)options->slow_band;
    if (options->step > 0) {
        if (cal_solver_has_fixed_step(options->solver))
            def.step = options->step;
        else
            def.largest_step = options->step;
    }
    if (options->form) def.constraint_form = options->form;
    status = cal_sim_read_stabilize(options->stabilize, &def);
    if (status == CAL_EXIT_DONE) status = cal_events_read(options->at, r->model, &r->events);
    if (status != CAL_EXIT_DONE) return status;
    error.status = cal_sim_create(r->model, &def, &r->sim, &error);
    if (error.status != CAL_OK) return cal_complain_error(&error);
    if (options->resume)
        status = resume(r);
    else if (cal_model_constraint_count(r->model) > 0)
        status = close_start(r);
    if (status == CAL_EXIT_DONE && cal_is_first_rank()) status = open_recording(r);
    if (status != CAL_EXIT_DONE) return status;
    if (options->plot && cal_is_first_rank()) {
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

// Armstrong's fastband_check: the accelerations must satisfy every link's equations of motion.
static int check_frame(run* r) {
    const double allowed = 1e-8;
    double misfit;
    int body;
    cal_error error = {CAL_OK, ""};
    error.status = cal_sim_check(r->sim, &misfit, &body);
    if (error.status == CAL_BAD_MODEL)
        return cal_complain(CAL_EXIT_MISTAKE, "--check is for models of ball and free joints");
    if (error.status != CAL_OK) return cal_complain_error(&error);
    r->misfit = fmax(r->misfit, misfit);
    char name[64];
    if (misfit <= allowed) return CAL_EXIT_DONE;
    return cal_complain(CAL_EXIT_FAILED, "the equations of motion of body '%s' miss by %.2g of their terms at t = %g s",
                        cal_model_body_name(r->model, body, name, sizeof name), misfit, cal_sim_time(r->sim));
}

static int record_frame(run* r) {
    int checked = r->options->check ? check_frame(r) : CAL_EXIT_DONE;
    if (checked != CAL_EXIT_DONE) return checked;
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
    if (!cal_is_first_rank()) return CAL_EXIT_DONE;
    return cal_recording_write(&r->recording, r->sim, cal_sim_time(r->sim) >= r->options->time);
}

// The rows of the CSV go to the disk first: a checkpoint promises that they are there.
static int save(run* r) {
    cal_error error = {CAL_OK, ""};
    int status = cal_ranks_agree(cal_recording_flush(&r->recording));
    if (status != CAL_EXIT_DONE) return status;
    error.status = cal_sim_save(r->sim, r->options->checkpoint, &error);
    if (error.status != CAL_OK) return cal_complain(CAL_EXIT_FAILED, "%s", error.text);
    r->saved = cal_sim_time(r->sim);
    return CAL_EXIT_DONE;
}

static int simulate(run* r) {
    const cal_sim_options* options = r->options;
    const double rate = 1 / options->every; // of checkpoints
    int64_t frame = last_tick(r->from, options->fps) + 1, checkpoint = last_tick(r->from, rate) + 1;
    r->saved = -1;
    if (options->resume) cal_events_skip(&r->events, r->from);
    int status = cal_ranks_agree(record_frame(r));
    r->interrupted = cal_ranks_agree(cal_interrupted());
    cal_progress progress = cal_progress_start("simulating");
    while (status == CAL_EXIT_DONE && !r->interrupted && cal_sim_time(r->sim) < options->time) {
        // The last frame is at the end even when the frame rate does not divide the time.
        double next = (double)frame / options->fps;
        if (next > options->time * (1 - 1e-12)) next = options->time;
        const double due = options->checkpoint ? (double)checkpoint / rate : INFINITY;
        const double time = fmin(fmin(next, due), cal_events_due(&r->events));
        cal_error error = {CAL_OK, ""};
        double started = cal_wall_seconds();
        error.status = cal_sim_advance(r->sim, time, &error);
        r->wall += cal_wall_seconds() - started;
        if (error.status == CAL_OK) {
            status = cal_events_apply(&r->events, r->sim);
            if (time == next && status == CAL_EXIT_DONE) status = record_frame(r), frame++;
        } else {
            cal_progress_end(&progress);
            const int exit_status = error.status == CAL_BAD_ARGUMENT ? CAL_EXIT_MISTAKE : CAL_EXIT_FAILED;
            status = cal_complain(exit_status, "%s", error.text[0] ? error.text : cal_status_text(error.status));
        }
        cal_progress_show(&progress, time / options->time);
        status = cal_ranks_agree(status);
        if (status == CAL_EXIT_DONE && time == due) status = save(r), checkpoint++;
        r->interrupted = cal_ranks_agree(cal_interrupted());
    }
    if (status == CAL_EXIT_DONE && options->checkpoint && cal_sim_time(r->sim) > r->saved) status = save(r);
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

static double ratio(double above, double below) { return below > 0 ? above / below : 0; }

static size_t row_count(const run* r) { return cal_is_first_rank() ? cal_recording_frames(&r->recording) : r->frames; }

static double energy_drift(const run* r) { return ratio(fabs(r->energy_end - r->energy_start), r->kinetic_largest); }

static void print_json(const run* r, const cal_sim_report* report) {
    const cal_sim_options* options = r->options;
    double time = cal_sim_time(r->sim);
    cal_json json = {.file = stdout};
    cal_json_open(&json, NULL, '{');
    cal_sim_describe(&json, options, r->model, cal_machine_name(r->machine), cal_sim_processors(r->sim),
                     cal_machine_lanes(r->machine));
    cal_json_number(&json, "tol", options->tol);
    cal_json_number(&json, "time", time);
    if (options->resume) cal_json_number(&json, "resumed_from", r->from);
    cal_json_integer(&json, "frames", (int64_t)row_count(r));
    cal_json_integer(&json, "steps", report->steps);
    cal_json_integer(&json, "rejected", report->rejected);
    cal_json_integer(&json, "evaluations", report->evaluations);
    cal_json_number(&json, "evaluations_per_second", ratio((double)report->evaluations, time));
    cal_json_number(&json, "wall_s", r->wall);
    cal_json_number(&json, "realtime_factor", ratio(time - r->from, r->wall));
    cal_json_number(&json, "energy_start", r->energy_start);
    cal_json_number(&json, "energy_end", r->energy_end);
    cal_json_number(&json, "energy_drift", energy_drift(r));
    if (options->check) cal_json_number(&json, "misfit", r->misfit);
    if (cal_model_constraint_count(r->model) > 0) {
        cal_json_text(&json, "constraint_form", r->options->form ? r->options->form : "lagrange");
        cal_sim_json_constraints(&json, r->sim);
    }
    cal_json_hash(&json, "state_hash", cal_sim_hash(r->sim));
    cal_json_boolean(&json, "interrupted", r->interrupted);
    cal_json_close(&json, '}');
}

static void print_summary(const run* r, const cal_sim_report* report) {
    const cal_sim_options* options = r->options;
    double time = cal_sim_time(r->sim);
    cal_sim_describe_model(options, r->model);
    printf("%-13s %s, ", "solver", options->solver);
    if (cal_solver_has_fixed_step(options->solver))
        printf("step %g s", report->step);
    else
        printf("tolerance %g", options->tol);
    char who[64];
    printf("; %s on %s, lanes of %d\n", options->algorithm,
           cal_machine_describe(r->machine, cal_sim_processors(r->sim), who, sizeof who),
           cal_machine_lanes(r->machine));
    double factor = ratio(time - r->from, r->wall);
    if (options->resume) printf("%-13s %s, at %g s\n", "resumed", options->resume, r->from);
    printf("%-13s %g s in %.3g s, %.*f × real time\n", "simulated", time - r->from, r->wall, factor < 10 ? 2 : 0,
           factor);
    printf("%-13s %lld, and %lld rejected\n", "steps", (long long)report->steps, (long long)report->rejected);
    printf("%-13s %lld, %.4g a simulated second\n", "evaluations", (long long)report->evaluations,
           ratio((double)report->evaluations, time));
    printf("%-13s %.6g J at the start, %.6g J at the end\n", "energy", r->energy_start, r->energy_end);
    printf("%-13s %.2e of the largest kinetic energy, %.4g J\n", "energy drift", energy_drift(r), r->kinetic_largest);
    if (options->check) printf("%-13s equations of motion hold to %.1e of their terms\n", "check", r->misfit);
    if (cal_model_constraint_count(r->model) > 0) cal_sim_print_constraints(r->sim);
    printf("%-13s %016llx\n", "state hash", (unsigned long long)cal_sim_hash(r->sim));
    for (int i = 0; i < options->out.count; i++) {
        printf("%-13s %s", i ? "" : "written", options->out.items[i]);
        // The page takes only as many as it needs.
        if (options->out.items[i] == r->recording.html_path)
            printf("\n");
        else
            printf(", %zu frames\n", row_count(r));
    }
    if (options->plot) printf("%-13s %s\n", options->out.count > 0 ? "" : "written", options->plot);
}

int cal_sim_run_single(const cal_sim_options* options, const cal_model* model) {
    run r = {.options = options, .model = model};
    int status = cal_ranks_agree(prepare(&r));
    if (status == CAL_EXIT_DONE) {
        status = simulate(&r);
        // After a failure or Ctrl-C too, what there is gets written.
        int recorded = status == CAL_EXIT_DONE ? cal_recording_close(&r.recording) : status;
        int plot_status = write_plot(&r);
        if (status == CAL_EXIT_DONE) status = recorded != CAL_EXIT_DONE ? recorded : plot_status;
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
