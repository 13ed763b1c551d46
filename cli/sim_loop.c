// The loop of `calder sim`, for every kind of run.
//
// Frames and checkpoints have clocks of their own: tick k is at k / rate. A run that was resumed ticks at the same times, so
// that what it writes is what the run without a pause would have written. All ranks go through all of it together; only the
// first one writes files.
#define _POSIX_C_SOURCE 200809L
#include "sim_loop.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calder/calder_record.h"
#include "facts.h"
#include "plot.h"
#include "progress.h"
#include "sim_constraints.h"

enum { KINETIC, POTENTIAL, TOTAL, WORK, LOSS, BALANCE, ENERGY_COUNT };

// Everything that the loop holds; zero is empty, and release takes any stage of it.
typedef struct loop {
    const cal_sim_options* options;
    cal_opened* opened;
    cal_run* run;
    cal_events events;
    cal_recording recording;
    unsigned columns;
    cal_whole_file* plot; // NULL: standard output, or none
    FILE* plot_file;      // its stream
    double* history;      // time and energies of each frame, for the plot: 1 + ENERGY_COUNT rows of capacity numbers
    size_t frames, capacity;
    double from;    // where the run begins
    double fps;     // frames per simulated second
    double spacing; // of frames, s
    double saved;   // time of the last checkpoint
    double energy_start, energy_end, kinetic_largest;
    bool balances; // where the energy goes is known
    cal_energy_balance balance;
    double misfit; // largest that --check has seen
    char note[256];
    bool interrupted, stopped; // stopped: an advance failed, and the last good state is kept
} loop;

static volatile sig_atomic_t interrupt_seen;

static void note_interrupt(int signal_number) {
    (void)signal_number;
    interrupt_seen = 1;
}

// An advance ends where it is.
static bool is_interrupted(void* user) {
    (void)user;
    return interrupt_seen;
}

static void release(loop* l) {
    if (l->plot_file && !l->plot) fclose(l->plot_file);
    cal_whole_file_close(l->plot, false, NULL);
    cal_csv_close(l->recording.csv, NULL);
    cal_csv_close(l->recording.events, NULL);
    cal_glb_close(l->recording.glb, NULL);
    cal_html_close(l->recording.html, NULL);
    free(l->history);
    cal_events_free(&l->events);
}

// --- Before ---------------------------------------------------------------------------------------------------------------------

// The last tick of a clock at or before a time.
static int64_t last_tick(double time, double rate) {
    int64_t tick = (int64_t)floor(time * rate);
    while ((double)tick / rate > time) tick--;
    while ((double)(tick + 1) / rate <= time) tick++;
    return tick;
}

// Frames are where looking changes nothing.
static double find_spacing(const cal_run* run, double fps) {
    const double grain = cal_run_grain(run);
    if (!(grain > 0)) return 1 / fps;
    return isinf(grain) ? INFINITY : grain * fmax(1, ceil(1 / (fps * grain) - 1e-9));
}

// The time of a frame; the last one is at the end even when the frame rate does not divide the time.
static double frame_time(const loop* l, int64_t frame) {
    const double time = cal_run_grain(l->run) > 0 ? (double)frame * l->spacing : (double)frame / l->fps;
    return time > l->options->time * (1 - 1e-12) ? l->options->time : time;
}

static int resume(loop* l) {
    cal_error error = {CAL_OK, ""};
    error.status = cal_run_restore(l->run, l->options->resume, &error);
    if (error.status != CAL_OK) return cal_complain_error(&error);
    l->from = cal_run_time(l->run);
    if (l->from > l->options->time)
        return cal_complain(CAL_EXIT_MISTAKE, "the checkpoint '%s' is at %g s already; give a --time after that",
                            l->options->resume, l->from);
    cal_events_skip(&l->events, l->from);
    return CAL_EXIT_DONE;
}

// Events at the very start come before the start is looked at.
static int begin(loop* l) {
    cal_error error = {CAL_OK, ""};
    const int status = cal_events_apply(&l->events, l->run);
    if (status != CAL_EXIT_DONE) return status;
    error.status = cal_run_begin(l->run, l->opened->options->project, l->note, &error);
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain(CAL_EXIT_MISTAKE, "%s", error.text);
}

static int open_recording(loop* l) {
    const cal_sim_options* o = l->options;
    // At the end of the run there is a row whether the frame rate divides the time or not.
    const double last = l->from < o->time ? (double)last_tick(l->from, l->fps) / l->fps : l->from;
    if (l->columns == 0 && o->forces) l->columns = cal_csv_default_columns(l->run);
    if (o->forces) l->columns |= CAL_COLUMN_FORCE;
    return cal_recording_open(&l->recording, l->run, l->opened->name, o->events, o->resume != NULL, last, l->columns);
}

static int open_plot(loop* l) {
    const cal_sim_options* o = l->options;
    if (!o->plot) return CAL_EXIT_DONE;
    const int copy = strcmp(o->plot, "-") == 0 ? dup(STDOUT_FILENO) : -1;
    cal_error error = {CAL_OK, ""};
    if (strcmp(o->plot, "-") != 0 && cal_whole_file_create(o->plot, &l->plot, &error) != CAL_OK)
        return cal_complain_error(&error);
    l->plot_file = l->plot ? cal_whole_file_stream(l->plot) : copy >= 0 ? fdopen(copy, "w") : NULL;
    if (!l->plot_file) return cal_complain(CAL_EXIT_MISTAKE, "cannot write '%s': %s", o->plot, strerror(errno));
    l->capacity = (size_t)fmin(o->time / l->spacing, 1e12) + 2;
    l->history = calloc(l->capacity, (1 + ENERGY_COUNT) * sizeof *l->history);
    if (l->history) return CAL_EXIT_DONE;
    return cal_complain(CAL_EXIT_FAILED, "no memory to plot %zu frames; lower --fps or --time", l->capacity);
}

// Where nothing is recorded a frame is a look at the state and its energy, one after the other over all joints: a million of them per
// simulated second are enough, and one frame every ten seconds. A look at a body among others takes some 0.3 µs, and its share of the
// events of a second in a gas some ten: a hundred thousand are enough.
static double choose_fps(const loop* l) {
    const cal_sim_options* o = l->options;
    const cal_opened* r = l->opened;
    if (!isnan(o->fps)) return o->fps;
    const double usual = r->kind == CAL_KIND_WORLD || r->kind == CAL_KIND_SCENE ? 30 : 60;
    if (o->out.count > 0 || o->plot || o->check) return usual;
    if (!r->model) return fmin(usual, fmax(0.1, 1e5 / (1 + cal_run_body_count(l->run))));
    const double joints = cal_model_joint_count(r->model) * fmax(1, (double)r->options->batch);
    return fmin(usual, fmax(0.1, 1e6 / joints));
}

// Armstrong's fastband_check: the accelerations must satisfy every link's equations of motion.
static int check_frame(loop* l) {
    const double allowed = 1e-8; // rounding gives 1e-15 per operation; a wrong term is of the size of its equation
    double misfit;
    int body;
    char name[64];
    cal_error error = {CAL_OK, ""};
    error.status = cal_run_check(l->run, &misfit, &body, &error);
    if (error.status == CAL_BAD_MODEL)
        return cal_complain(CAL_EXIT_MISTAKE, "--check is for models of ball and free joints");
    if (error.status != CAL_OK) return cal_complain_error(&error);
    l->misfit = fmax(l->misfit, misfit);
    if (misfit <= allowed) return CAL_EXIT_DONE;
    return cal_complain(CAL_EXIT_FAILED, "the equations of motion of body '%s' miss by %.2g of their terms at t = %g s",
                        cal_run_body_name(l->run, body, name, sizeof name), misfit, cal_run_time(l->run));
}

static int prepare(loop* l) {
    const cal_sim_options* o = l->options;
    cal_error error = {CAL_OK, ""};
    int status = cal_recording_sort(&o->out, &l->recording);
    if (status != CAL_EXIT_DONE) return status;
    const size_t length = o->plot ? strlen(o->plot) : 0;
    if (o->plot && strcmp(o->plot, "-") != 0 && (length < 4 || strcmp(o->plot + length - 4, ".svg") != 0))
        return cal_complain(CAL_EXIT_MISTAKE, "--plot '%s': a plot is an .svg file, or - for standard output", o->plot);
    if ((o->forces || o->columns) && !l->recording.csv_path)
        return cal_complain(CAL_EXIT_MISTAKE, "--%s chooses columns of the CSV file of --out; name one",
                            o->forces ? "forces" : "columns");
    if (o->columns) error.status = cal_csv_columns(o->columns, &l->columns, &error);
    if (error.status != CAL_OK) return cal_complain(CAL_EXIT_MISTAKE, "--%s", error.text);
    status = cal_run_open(l->opened);
    if (status != CAL_EXIT_DONE) return status;
    l->run = l->opened->run;
    l->fps = choose_fps(l);
    l->spacing = find_spacing(l->run, l->fps);
    if (o->at.count > 0) status = cal_events_read(&o->at, l->opened->model, &l->events);
    if (status == CAL_EXIT_DONE) status = o->resume ? resume(l) : begin(l);
    // What is refused leaves the files of earlier runs as they are.
    if (status == CAL_EXIT_DONE && o->check) status = check_frame(l);
    if (status != CAL_EXIT_DONE || !cal_is_first_rank()) return status;
    status = open_recording(l);
    return status == CAL_EXIT_DONE ? open_plot(l) : status;
}

// --- Frames and checkpoints -----------------------------------------------------------------------------------------------------

// A run that explodes ends here.
static int measure_energy(loop* l) {
    double energy[2] = {0};
    cal_energy_balance* b = &l->balance;
    cal_error error = {CAL_OK, ""};
    l->balances = cal_run_can(l->run, CAL_RUN_BALANCE);
    error.status = l->balances ? cal_run_balance(l->run, b, &error) : cal_run_energy(l->run, energy, &error);
    l->stopped = l->balances && b->exploded;
    if (error.status != CAL_OK) return cal_complain_error(&error);
    if (l->balances) energy[0] = b->kinetic, energy[1] = b->potential;
    l->energy_end = energy[0] + energy[1];
    if (l->frames == 0) l->energy_start = l->balances ? b->start : l->energy_end;
    l->kinetic_largest = fmax(l->kinetic_largest, energy[0]);
    if (l->history && l->frames < l->capacity) {
        const double values[] = {cal_run_time(l->run), energy[0], energy[1], l->energy_end, b->work, b->loss,
                                 fabs(b->relative)};
        for (size_t row = 0; row < 1 + ENERGY_COUNT; row++) l->history[row * l->capacity + l->frames] = values[row];
    }
    return CAL_EXIT_DONE;
}

static int record_frame(loop* l, bool last) {
    int status = l->options->check ? check_frame(l) : CAL_EXIT_DONE;
    if (status == CAL_EXIT_DONE && cal_run_can(l->run, CAL_RUN_ENERGY)) status = measure_energy(l);
    if (status != CAL_EXIT_DONE) return status;
    l->frames++;
    return cal_is_first_rank() ? cal_recording_write(&l->recording, l->run, last) : CAL_EXIT_DONE;
}

// The rows of the CSV go to the disk first: a checkpoint promises that they are there.
static int save(loop* l) {
    cal_error error = {CAL_OK, ""};
    const int status = cal_ranks_agree(cal_recording_flush(&l->recording));
    if (status != CAL_EXIT_DONE) return status;
    error.status = cal_run_save(l->run, l->options->checkpoint, &error);
    if (error.status != CAL_OK) return cal_complain(CAL_EXIT_FAILED, "%s", error.text);
    l->saved = cal_run_time(l->run);
    return CAL_EXIT_DONE;
}

static int simulate(loop* l) {
    const cal_sim_options* o = l->options;
    const double rate = 1 / o->every; // of checkpoints
    int64_t frame = l->from > 0 ? last_tick(l->from, l->fps) + 1 : 1, checkpoint = last_tick(l->from, rate) + 1;
    double now = l->from;
    l->saved = -1;
    int status = cal_ranks_agree(record_frame(l, now >= o->time));
    l->interrupted = cal_ranks_agree(interrupt_seen);
    cal_progress progress = cal_progress_start("simulating");
    // A run of fixed steps ends at the one next to the time, so what counts is the time that was asked for.
    while (status == CAL_EXIT_DONE && !l->interrupted && now < o->time) {
        const double next = frame_time(l, frame), due = o->checkpoint ? (double)checkpoint / rate : (double)INFINITY;
        const double time = fmin(fmin(next, due), cal_events_due(&l->events));
        cal_error error = {CAL_OK, ""};
        error.status = cal_run_advance(l->run, time, &error);
        if (error.status == CAL_INTERRUPTED) {
            // All ranks are at the same state. It has no row in a recording, whose rows are those of the run that goes on from here.
            l->interrupted = true;
            if (cal_run_can(l->run, CAL_RUN_ENERGY)) status = cal_ranks_agree(measure_energy(l));
            break;
        }
        if (error.status == CAL_OK) {
            now = time;
            status = cal_events_apply(&l->events, l->run);
            if (time == next && status == CAL_EXIT_DONE) status = record_frame(l, now >= o->time), frame++;
        } else {
            cal_progress_end(&progress);
            status = cal_complain_error(&error);
            l->stopped = true;
        }
        cal_progress_show(&progress, time / o->time);
        status = cal_ranks_agree(status);
        if (status == CAL_EXIT_DONE && time == due) status = save(l), checkpoint++;
        l->interrupted = cal_ranks_agree(interrupt_seen);
    }
    // After a failure the last good state is written, where the run is back in one.
    const bool good =
        status == CAL_EXIT_DONE || (l->stopped && cal_run_can(l->run, CAL_RUN_SET) && cal_run_q(l->run) != NULL);
    if (good && o->checkpoint && cal_run_time(l->run) > l->saved) {
        const int saved = save(l);
        if (status == CAL_EXIT_DONE) status = saved;
    }
    cal_progress_end(&progress);
    return status;
}

// --- After ----------------------------------------------------------------------------------------------------------------------

static int write_plot(loop* l) {
    if (!l->plot_file) return CAL_EXIT_DONE;
    const char* const names[] = {"kinetic", "potential", "total", "work", "lost", "balance error"};
    cal_plot_series series[ENERGY_COUNT];
    const size_t count = l->frames < l->capacity ? l->frames : l->capacity;
    for (int i = 0; i < ENERGY_COUNT; i++)
        series[i] = (cal_plot_series){.name = names[i],
                                      .x = l->history,
                                      .count = count,
                                      .color = i < BALANCE ? i : 0,
                                      .dashed = i == WORK || i == LOSS,
                                      .y = l->history + (size_t)(1 + i) * l->capacity};
    char title[256];
    snprintf(title, sizeof title, "Energy of %s", l->opened->name);
    const cal_plot_panel panels[] = {
        {title, "time, s", "energy, J", false, series, l->balances ? BALANCE : WORK},
        {"Energy balance", "time, s", "of the energy exchanged", true, series + BALANCE, 1}};
    cal_error error = {CAL_OK, ""};
    bool written = cal_plot_write(l->plot_file, panels, l->balances ? 2 : 1);
    if (!l->plot && fclose(l->plot_file) != 0) written = false;
    l->plot_file = NULL;
    cal_whole_file* plot = l->plot;
    l->plot = NULL;
    if (plot && cal_whole_file_close(plot, true, &error) != CAL_OK) return cal_complain_error(&error);
    if (written) return CAL_EXIT_DONE;
    return cal_complain(CAL_EXIT_FAILED, "cannot write '%s': %s", l->options->plot, strerror(errno));
}

static int write_state(const loop* l) {
    const cal_opened* r = l->opened;
    if (!l->options->save || !cal_is_first_rank()) return CAL_EXIT_DONE;
    // Where bodies touch, an advance that failed leaves no state of the whole.
    if (!cal_run_q(l->run) || !cal_run_v(l->run)) return CAL_EXIT_DONE;
    cal_state_values plain;
    int status = CAL_EXIT_DONE;
    if (!cal_state_values_create(r->model, &plain))
        status = cal_complain(CAL_EXIT_FAILED, "no memory for a state");
    else
        status = cal_state_write(l->options->save, r->model, cal_run_time(l->run), cal_run_q(l->run), cal_run_v(l->run),
                                 r->started ? r->start.control : plain.control);
    cal_state_values_destroy(&plain);
    return status;
}

static double ratio(double above, double below) { return below > 0 ? above / below : 0; }

static size_t row_count(const loop* l) { return cal_is_first_rank() ? cal_recording_frames(&l->recording) : l->frames; }

// Where a table or a plot takes standard output, the summary goes to standard error.
static void yield_output(const loop* l) {
    const cal_sim_options* o = l->options;
    bool taken = (o->plot && strcmp(o->plot, "-") == 0) || (o->events && strcmp(o->events, "-") == 0);
    for (int i = 0; i < o->out.count; i++) taken = taken || strcmp(o->out.items[i], "-") == 0;
    if (!taken) return;
    fflush(stdout);
    dup2(STDERR_FILENO, STDOUT_FILENO);
}

// What flowed, and what is left when all of it is added up.
static void report_balance(const cal_energy_balance* b, cal_facts* report) {
    cal_facts_number(report, "energy_work", b->work);
    cal_facts_number(report, "energy_loss", b->loss);
    cal_facts_number(report, "energy_closing", b->closing);
    cal_facts_number(report, "energy_exchanged", b->exchanged);
    cal_facts_number(report, "energy_balance", b->relative);
    cal_facts_number(report, "energy_justified", b->justified);
    if (b->flows) cal_facts_line(report, "energy flows", "%.6g J of work, %.6g J lost", b->work, b->loss);
    // More than all of it is no share.
    if (fabs(b->relative) >= 1.0)
        cal_facts_line(report, "energy balance", "off by %.2g J, where next to nothing was exchanged (%.2g J)",
                       fabs(b->error), b->exchanged);
    else
        cal_facts_line(report, "energy balance", "%.2e of the %.4g J that were exchanged", b->relative, b->exchanged);
}

static void report_energy(const loop* l, cal_facts* report) {
    if (!cal_run_can(l->run, CAL_RUN_ENERGY)) return;
    cal_facts_number(report, "energy_start", l->energy_start);
    cal_facts_number(report, "energy_end", l->energy_end);
    cal_facts_line(report, "energy", "%.6g J at the start, %.6g J at the end", l->energy_start, l->energy_end);
    if (l->balances) report_balance(&l->balance, report);
    // Where something flows a change is no error, and where nobody knows it may be none.
    if (!l->balances || l->balance.flows) return;
    const double drift = ratio(fabs(l->energy_end - l->energy_start), l->kinetic_largest);
    cal_facts_number(report, "energy_drift", drift);
    cal_facts_line(report, "energy drift", "%.2e of the largest kinetic energy, %.4g J", drift, l->kinetic_largest);
}

static bool is_unjustified(const loop* l) {
    return l->balances && !(fabs(l->balance.relative) <= l->balance.justified);
}

static void report_files(const loop* l, cal_facts* report) {
    const cal_sim_options* o = l->options;
    const char* label = "written";
    for (int i = 0; i < o->out.count; i++, label = "") {
        // The page takes only as many as it needs.
        if (o->out.items[i] == l->recording.html_path)
            cal_facts_line(report, label, "%s", o->out.items[i]);
        else
            cal_facts_line(report, label, "%s, %zu frames", o->out.items[i], row_count(l));
    }
    const char* const others[] = {o->plot, o->events, o->save};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (others[i]) cal_facts_line(report, label, "%s", others[i]);
        if (others[i]) label = "";
    }
}

static void report_run(const loop* l, cal_facts* report) {
    const cal_sim_options* o = l->options;
    const double time = cal_run_time(l->run), wall = cal_run_wall(l->run), factor = ratio(time - l->from, wall);
    const size_t rows = row_count(l);
    const uint64_t hash = cal_run_hash(l->run);
    cal_run_open_report(l->opened, report);
    cal_facts_number(report, "time", time);
    if (o->resume) cal_facts_number(report, "resumed_from", l->from);
    if (o->resume) cal_facts_line(report, "resumed", "%s, at %g s", o->resume, l->from);
    cal_facts_integer(report, "frames", (int64_t)rows);
    cal_facts_number(report, "wall_s", wall);
    cal_facts_number(report, "realtime_factor", factor);
    cal_facts_number(report, "frame_s", ratio(wall, (double)rows - 1));
    cal_facts_line(report, "simulated", "%g s in %.3g s, %.*f × real time", time - l->from, wall, factor < 10 ? 2 : 0,
                   factor);
    report_energy(l, report);
    if (o->check) cal_facts_number(report, "misfit", l->misfit);
    if (o->check) cal_facts_line(report, "check", "equations of motion hold to %.1e of their terms", l->misfit);
    cal_facts_hash(report, "state_hash", hash);
    cal_facts_line(report, "state hash", "%016llx", (unsigned long long)hash);
    report_files(l, report);
    cal_facts_boolean(report, "interrupted", l->interrupted);
    if (l->interrupted) cal_facts_line(report, "interrupted", "at t = %g s, of %g s", time, o->time);
}

static int print(const loop* l) {
    cal_facts* report = NULL;
    cal_error error = {CAL_OK, ""};
    error.status = cal_facts_create(&report, &error);
    if (error.status == CAL_OK) {
        report_run(l, report);
        error.status = cal_facts_status(report);
    }
    if (error.status == CAL_OK) cal_complain_as_json(false); // there is one object, and this is it
    if (error.status == CAL_OK && l->options->json)
        cal_facts_json(report);
    else if (error.status == CAL_OK)
        cal_facts_print(report);
    cal_facts_destroy(report);
    return error.status == CAL_OK ? cal_finish_output(CAL_EXIT_DONE) : cal_complain_error(&error);
}

int cal_sim_loop(cal_opened* opened, const cal_sim_options* options) {
    loop l = {.options = options, .opened = opened};
    cal_watch_ends(note_interrupt);
    opened->interrupt = is_interrupted;
    int status = cal_ranks_agree(prepare(&l));
    if (status == CAL_EXIT_DONE) {
        status = simulate(&l);
        // After a failure or Ctrl-C too, what there is gets written; of several complaints the first one stays.
        const int recorded = status == CAL_EXIT_DONE || l.stopped ? cal_recording_close(&l.recording) : status;
        const int plotted = write_plot(&l);
        const int written = status == CAL_EXIT_DONE || l.stopped ? write_state(&l) : status;
        if (status == CAL_EXIT_DONE) status = recorded != CAL_EXIT_DONE ? recorded : plotted;
        if (status == CAL_EXIT_DONE) status = written;
        yield_output(&l);
        if (status == CAL_EXIT_DONE) status = print(&l);
        if (status == CAL_EXIT_DONE && is_unjustified(&l))
            cal_complain(0,
                         "%s: the energy balance is off by %.2g of what was exchanged, and its tolerance or step "
                         "justifies %.2g: "
                         "use a smaller one, or another solver",
                         opened->name, fabs(l.balance.relative), l.balance.justified);
        if (status == CAL_EXIT_DONE && !l.interrupted && l.events.next < l.events.count)
            cal_complain(0, "--at: %d of %d events come after the end, %g s; the first of them at %g s",
                         l.events.count - l.events.next, l.events.count, options->time, cal_events_due(&l.events));
        if (status == CAL_EXIT_DONE && l.interrupted)
            status = cal_complain(CAL_EXIT_FAILED, "interrupted at %g of %g s", cal_run_time(l.run), options->time);
        if (status == CAL_EXIT_DONE) cal_mention_issues(opened->name, opened->read);
        if (status == CAL_EXIT_DONE && l.note[0]) cal_complain(0, "%s: %s", opened->name, l.note);
    }
    release(&l);
    return status;
}
