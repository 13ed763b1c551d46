// `calder bench scale`: one model (or with --weak one that grows) on 1, 2, … processors, measured beside predicted.
//
// Two things are timed on each number of processors p, both as time per evaluation:
//   forward      executing the plan of forward dynamics, again and again at the model's start
//   simulation   Gear's method from the start to --time: its vector work, sums and control ride in the evaluations
// Joints are placed by the balanced distribution. Its costs: per joint what one processor needs, per cut edge what
// cal_machine_measure finds. The prediction for p is the price of that placement; nothing of the run with p goes into it.
//
// On threads a third thing is timed, the machine's ceiling: p cores that evaluate a copy of the model each, with nothing
// between them. Cores that share power or a processor with others do less than p times the work of one alone; no way of
// sharing one model's work can do more. Predictions count with what such copies take that wait for each other after each
// evaluation, as those do who share one.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "copies.h"
#include "plot.h"
#include "progress.h"
#include "quantities.h"
#include "result.h"
#include "scale_world.h"
#include "timing.h"
#include "world_price.h"

enum { MOST_SAMPLES = 200, LEAST_SAMPLES = 7, MOST_RUNS = CAL_SCALE_RUNS };
static const double SAMPLE_SECONDS = 1e-3, FORWARD_SECONDS = 0.2;
static const double JOINTS_PER_RUN = 1e6, LEAST_EVALUATIONS = 20,
                    MOST_EVALUATIONS = 400;                // of the simulation, when chosen
static const double FIRST_TIME = 1e-3, LONGEST_TIME = 100; // s
static const char weak_model[] = "mobile:s=3,l=5,o=%d,plateau=light,taper=0.1,start=0.8";
enum { WEAK_CHAINS = 20 }; // o of the weak model for one processor

typedef struct times {
    double forward, simulation; // s per evaluation
} times;

typedef struct scale_row {
    int processors, used, joints;
    int trunk;                        // joints that every processor computes which has something below them
    times measured, predicted, alone; // alone: of one processor
    double ceiling;                   // speed-up of copies that have nothing to do with each other; 0: not measured
    double crowding;                  // how much longer copies take that wait for the slowest of them; 0: not measured
    double time;                      // that a run simulates
    uint64_t hash;
    bool same;
} scale_row;

typedef struct scale {
    const char *model_name, *processors, *machine, *lanes, *plot, *read;
    double time, tol; // time 0: chosen for the model
    int64_t runs;
    bool weak, json, ranks, world;
    int* counts;
    int count;
    scale_row* rows;
    cal_machine* shared; // ranks are always all there
    cal_costs exchange;  // compute is the model's
} scale;

// --- Timing -----------------------------------------------------------------------------------------------------------

// All ranks must do as many calls: as the first one finds right, since a rank without work would find time for millions.
static int of_first_rank(int count) { return cal_ranks_agree(cal_is_first_rank() ? count : 0); }

static cal_status time_forward(cal_machine* machine, const cal_model* model, const int32_t* placement, double* seconds,
                               int* used, cal_error* error) {
    cal_plan* plan = NULL;
    cal_state* state = NULL;
    double samples[MOST_SAMPLES], started = 0, estimate = 0;
    cal_status status = cal_plan_create_placed(model, "aba", machine, placement, &plan, error);
    if (status == CAL_OK) status = cal_state_create(plan, &state);
    for (int i = 0; i < 6 && status == CAL_OK; i++) {
        if (i == 3) started = cal_wall_seconds(); // the first ones touch memory for the first time
        status = cal_plan_execute(plan, state, error);
    }
    estimate = (cal_wall_seconds() - started) / 3 + 1e-9;
    const int calls = of_first_rank((int)fmin(1e6, ceil(SAMPLE_SECONDS / estimate)));
    const int fit = of_first_rank((int)fmin(MOST_SAMPLES, FORWARD_SECONDS / (estimate * calls)));
    const int count = fit < LEAST_SAMPLES ? LEAST_SAMPLES : fit;
    for (int i = 0; i < count && status == CAL_OK; i++) {
        started = cal_wall_seconds();
        for (int call = 0; call < calls && status == CAL_OK; call++) status = cal_plan_execute(plan, state, error);
        samples[i] = (cal_wall_seconds() - started) / calls;
    }
    if (status == CAL_OK) {
        *seconds = cal_median(samples, count);
        *used = cal_plan_processors(plan);
    }
    cal_state_destroy(state);
    cal_plan_destroy(plan);
    return status;
}

// How far to simulate: some evaluations, fewer of large models. Depends on no clock, so that ranks agree.
static cal_status choose_time(cal_sim* sim, int joints, double* time, cal_error* error) {
    const double wanted = fmin(MOST_EVALUATIONS, fmax(LEAST_EVALUATIONS, JOINTS_PER_RUN / (joints + 1.0)));
    cal_sim_report report;
    cal_status status = CAL_OK;
    *time = FIRST_TIME;
    for (;; *time *= 2) {
        status = cal_sim_advance(sim, *time, error);
        cal_sim_get_report(sim, &report);
        if (status != CAL_OK || (double)report.evaluations >= wanted || *time > LONGEST_TIME) return status;
    }
}

static cal_status run_simulation(cal_sim* sim, const double* q, const double* v, double time, double* seconds,
                                 cal_error* error) {
    cal_sim_report before, after;
    cal_energy_balance balance;
    cal_status status = cal_sim_set(sim, 0, q, v, error);
    // The account of the energy, which begins with ten looks at it, is no part of an evaluation.
    if (status == CAL_OK) status = cal_sim_balance(sim, &balance);
    cal_sim_get_report(sim, &before);
    const double started = cal_wall_seconds();
    if (status == CAL_OK) status = cal_sim_advance(sim, time, error);
    const double wall = cal_wall_seconds() - started;
    cal_sim_get_report(sim, &after);
    *seconds = wall / fmax(1, (double)(after.evaluations - before.evaluations));
    return status;
}

static cal_status time_simulation(const scale* s, cal_machine* machine, const cal_model* model,
                                  const int32_t* placement, scale_row* r, cal_error* error) {
    double samples[MOST_RUNS];
    double* q = calloc((size_t)cal_model_q_count(model) + 1, sizeof *q);
    double* v = calloc((size_t)cal_model_v_count(model) + 1, sizeof *v);
    cal_sim* sim = NULL;
    cal_sim_def def = cal_default_sim_def();
    def.machine = machine;
    def.processor_of_joint = placement;
    def.relative = s->tol;
    cal_status status = q && v ? cal_sim_create(model, &def, &sim, error) : CAL_NO_MEMORY;
    if (status == CAL_OK) cal_model_initial(model, q, v, NULL);
    if (status == CAL_OK && r->time == 0) status = choose_time(sim, cal_model_joint_count(model), &r->time, error);
    for (int i = -1; i < s->runs && status == CAL_OK; i++) // one to warm up
        status = run_simulation(sim, q, v, r->time, &samples[i < 0 ? 0 : i], error);
    if (status == CAL_OK) {
        r->measured.simulation = cal_median(samples, (int)s->runs);
        r->hash = cal_sim_hash(sim);
    }
    cal_sim_destroy(sim);
    free(q);
    free(v);
    return status;
}

static cal_status time_both(const scale* s, cal_machine* machine, const cal_model* model, const int32_t* placement,
                            scale_row* r, cal_error* error) {
    const cal_status status = time_forward(machine, model, placement, &r->measured.forward, &r->used, error);
    return status == CAL_OK ? time_simulation(s, machine, model, placement, r, error) : status;
}

// --- One row ----------------------------------------------------------------------------------------------------------

// A machine of so many processors; ranks are always all there.
static int open_machine(scale* s, int processors, cal_machine** out) {
    char text[64];
    if (s->ranks) {
        *out = s->shared;
        return CAL_EXIT_DONE;
    }
    snprintf(text, sizeof text, "threads:%d%s", processors, strcmp(s->machine, "threads,pinned") == 0 ? ",pinned" : "");
    return cal_machine_open(text, s->lanes, NULL, out);
}

static void close_machine(const scale* s, cal_machine* machine) {
    if (machine != s->shared) cal_machine_destroy(machine);
}

static int open_model(const scale* s, int processors, cal_model** out) {
    char text[128];
    // Joints grow as o², so that each processor keeps its share.
    snprintf(text, sizeof text, weak_model, (int)lround(WEAK_CHAINS * sqrt(processors)));
    return cal_model_from_argument(s->weak ? text : s->model_name, out);
}

static cal_status predict(const scale* s, const cal_model* model, const int32_t* placement, scale_row* r,
                          cal_error* error) {
    const double joints = r->joints > 0 ? r->joints : 1;
    cal_costs costs = s->exchange;
    // Cores that compute at once are slower than one alone; that is the machine's own, and no part of this run.
    bool shared = false;
    for (int i = 1; i < r->joints; i++) shared |= placement[i] != placement[0];
    const double crowding = shared ? fmax(1, r->crowding) : 1;
    const int lanes = (int)strtol(s->lanes, NULL, 10);
    costs.lanes = lanes > 0 ? lanes : cal_best_lanes();
    costs.compute = crowding * r->alone.forward / joints;
    cal_status status = cal_price(model, placement, &costs, r->processors, &r->predicted.forward, NULL, error);
    costs.compute = crowding * r->alone.simulation / joints;
    if (status == CAL_OK)
        status = cal_price(model, placement, &costs, r->processors, &r->predicted.simulation, NULL, error);
    return status;
}

// Times one number of processors; first: the row of one processor, or NULL when this is it.
static int measure_row(scale* s, int processors, const cal_model* model, const scale_row* first, scale_row* r) {
    cal_machine* machine = NULL;
    const int joints = cal_model_joint_count(model);
    *r = (scale_row){.processors = processors, .joints = joints, .time = first ? first->time : s->time};
    int32_t* placement = calloc((size_t)joints + 1, sizeof *placement);
    if (!placement) return cal_complain(CAL_EXIT_FAILED, "no memory for a placement of %d joints", joints);
    int status = open_machine(s, processors, &machine);
    cal_error error = {CAL_OK, ""};
    if (status == CAL_EXIT_DONE && first) {
        r->alone = first->measured;
        const int lanes = (int)strtol(s->lanes, NULL, 10);
        if (!s->ranks) r->ceiling = r->alone.forward * cal_copies_rate(model, lanes, processors);
        if (!s->ranks) r->crowding = cal_copies_crowding(model, lanes, processors);
        cal_costs costs = s->exchange;
        costs.compute = r->alone.simulation / (joints > 0 ? joints : 1);
        error.status = cal_distribute(model, CAL_BALANCED, processors, &costs, placement, NULL, NULL, &error);
        for (int i = 0; i < joints; i++) r->trunk += placement[i] == CAL_EVERY_PROCESSOR;
        if (error.status == CAL_OK) error.status = predict(s, model, placement, r, &error);
    }
    if (status == CAL_EXIT_DONE && error.status == CAL_OK)
        error.status = time_both(s, machine, model, placement, r, &error);
    if (!first) r->alone = r->predicted = r->measured;
    r->same = !first || r->hash == first->hash;
    free(placement);
    close_machine(s, machine);
    if (status != CAL_EXIT_DONE) return status;
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

// Ranks must place alike, so they must have the same numbers: those of the first.
static void share(double* seconds) {
    const double nanoseconds = fmin(*seconds * 1e9, 2e9);
    *seconds = 1e-9 * cal_ranks_agree(cal_is_first_rank() ? (int)ceil(nanoseconds) : 0);
}

static int measure_exchange(scale* s) {
    cal_model* model = NULL;
    cal_machine* machine = NULL;
    int status = open_machine(s, s->counts[s->count - 1], &machine);
    if (status == CAL_EXIT_DONE) status = cal_model_from_argument("chain:n=8", &model);
    if (status == CAL_EXIT_DONE) {
        cal_error error = {CAL_OK, ""};
        error.status = cal_machine_measure(machine, model, &s->exchange, &error);
        if (error.status != CAL_OK) status = cal_complain_error(&error);
    }
    if (status == CAL_EXIT_DONE && s->read && !cal_duration_parse(s->read, &s->exchange.read))
        status = cal_complain(CAL_EXIT_MISTAKE, "--read '%s' is not a duration, as 0.2us", s->read);
    cal_model_destroy(model);
    close_machine(s, machine);
    return status;
}

static int measure_all(scale* s) {
    cal_progress progress = cal_progress_start("timing");
    cal_model* model = NULL;
    scale_row first = {0};
    int status = s->counts[s->count - 1] > 1 ? measure_exchange(s) : CAL_EXIT_DONE;
    for (int i = 0; i < s->count && status == CAL_EXIT_DONE; i++) {
        if (!model || s->weak) {
            cal_model_destroy(model);
            model = NULL;
            status = open_model(s, s->counts[i], &model);
            if (status == CAL_EXIT_DONE) status = measure_row(s, 1, model, NULL, &first);
            if (s->ranks) {
                share(&first.measured.forward);
                share(&first.measured.simulation);
                first.alone = first.predicted = first.measured;
            }
        }
        if (status != CAL_EXIT_DONE) break;
        if (s->counts[i] == 1)
            s->rows[i] = first;
        else
            status = measure_row(s, s->counts[i], model, &first, &s->rows[i]);
        cal_progress_show(&progress, (i + 1.0) / s->count);
    }
    cal_progress_end(&progress);
    cal_model_destroy(model);
    return status;
}

// --- Saying it ----------------------------------------------------------------------------------------------------------

static double deviation(double measured, double predicted) {
    return predicted > 0 ? 100 * (measured / predicted - 1) : 0;
}
static double speedup(const scale_row* r) { return r->alone.simulation / r->measured.simulation; }

static bool all_same(const scale* s) {
    bool same = true;
    for (int i = 0; i < s->count; i++) same &= s->rows[i].same;
    return same;
}

static void print_json_times(cal_json* json, const char* key, double measured, double predicted, double alone,
                             int processors) {
    cal_json_open(json, key, '{');
    cal_json_number(json, "time_s", measured);
    cal_json_number(json, "speedup", alone / measured);
    cal_json_number(json, "efficiency", alone / measured / processors);
    cal_json_number(json, "predicted_s", predicted);
    cal_json_number(json, "deviation_percent", deviation(measured, predicted));
    cal_json_close(json, '}');
}

static void print_json(const scale* s) {
    cal_json json = cal_result_open("bench scale");
    cal_json_text(&json, "model", s->weak ? weak_model : s->model_name);
    cal_json_boolean(&json, "weak", s->weak);
    cal_json_text(&json, "machine", s->machine);
    cal_json_number(&json, "tol", s->tol);
    cal_json_number(&json, "message_s", s->exchange.message);
    cal_json_number(&json, "send_s", s->exchange.send);
    cal_json_number(&json, "read_s", s->exchange.read);
    cal_json_boolean(&json, "same_state", all_same(s));
    cal_json_open(&json, "rows", '[');
    for (int i = 0; i < s->count; i++) {
        const scale_row* r = &s->rows[i];
        cal_json_open(&json, NULL, '{');
        cal_json_integer(&json, "processors", r->processors);
        cal_json_integer(&json, "used", r->used);
        cal_json_integer(&json, "trunk", r->trunk);
        cal_json_integer(&json, "joints", r->joints);
        cal_json_number(&json, "time", r->time);
        if (r->ceiling > 0) cal_json_number(&json, "ceiling", r->ceiling);
        print_json_times(&json, "forward", r->measured.forward, r->predicted.forward, r->alone.forward, r->processors);
        print_json_times(&json, "simulation", r->measured.simulation, r->predicted.simulation, r->alone.simulation,
                         r->processors);
        cal_json_hash(&json, "state_hash", r->hash);
        cal_json_boolean(&json, "same_state", r->same);
        cal_json_close(&json, '}');
    }
    cal_json_close(&json, ']');
    cal_json_close(&json, '}');
}

static void print_table(const scale* s) {
    char text[3][32];
    printf("%s on %s of %s\n", s->weak ? "a mobile that grows with the processors" : s->model_name,
           s->ranks ? "ranks" : "threads", cal_host_text());
    printf("simulation: gear, tolerance %g; microseconds per evaluation; a cut costs %s, %s of it the sender's, what "
           "others read %s\n\n",
           s->tol, cal_duration_text(s->exchange.message, text[0], sizeof text[0]),
           cal_duration_text(s->exchange.send, text[1], sizeof text[1]),
           cal_duration_text(s->exchange.read, text[2], sizeof text[2]));
    printf("%27s %8s  %s%39s  %s\n", "", "", "forward dynamics", "", "simulation");
    printf("%10s %5s %5s %8s  %9s %9s %8s %6s %7s   %9s %9s %8s %6s %6s  state\n", "processors", "used", "trunk",
           "joints", "measured", "predicted", "off by", "times", "ceiling", "measured", "predicted", "off by", "times",
           "eff.");
    for (int i = 0; i < s->count; i++) {
        const scale_row* r = &s->rows[i];
        char ceiling[16] = "";
        if (r->ceiling > 0) snprintf(ceiling, sizeof ceiling, "%.2f", r->ceiling);
        printf("%10d %5d %5d %8d  %9.2f %9.2f %6.0f %% %6.2f %7s   %9.2f %9.2f %6.0f %% %6.2f %4.0f %%  %s\n",
               r->processors, r->used, r->trunk, r->joints, 1e6 * r->measured.forward, 1e6 * r->predicted.forward,
               deviation(r->measured.forward, r->predicted.forward), r->alone.forward / r->measured.forward, ceiling,
               1e6 * r->measured.simulation, 1e6 * r->predicted.simulation,
               deviation(r->measured.simulation, r->predicted.simulation), speedup(r), 100 * speedup(r) / r->processors,
               r->same ? "same" : "differs");
    }
    if (!s->weak) printf("\nstate hash %016llx\n", (unsigned long long)s->rows[0].hash);
}

static int draw(const scale* s) {
    if (!s->plot) return CAL_EXIT_DONE;
    enum { PROCESSORS, MEASURED, PREDICTED, IDEAL, COLUMNS };
    const size_t count = (size_t)s->count;
    double* data = calloc(COLUMNS * count, sizeof *data);
    if (!data) return cal_complain(CAL_EXIT_FAILED, "no memory for '%s'", s->plot);
    for (size_t i = 0; i < count; i++) {
        const scale_row* r = &s->rows[i];
        const double p = r->processors;
        data[PROCESSORS * count + i] = p;
        // On a model that grows, what counts is how much of it is done in the time that one processor had for its share.
        data[MEASURED * count + i] = speedup(r) / (s->weak ? p : 1);
        data[PREDICTED * count + i] = r->alone.simulation / r->predicted.simulation / (s->weak ? p : 1);
        data[IDEAL * count + i] = s->weak ? 1 : p;
    }
    const cal_plot_series series[] = {
        {"measured", data, data + MEASURED * count, count, 0, false, true},
        {"predicted", data, data + PREDICTED * count, count, 1, true, false},
        {"ideal", data, data + IDEAL * count, count, 2, true, false},
    };
    char title[192];
    snprintf(title, sizeof title, "%s of %s, %s", s->weak ? "Weak scaling" : "Speed-up",
             s->weak ? "growing mobiles" : s->model_name, s->machine);
    const cal_plot_panel panel = {title, "processors", s->weak ? "efficiency" : "speed-up", false, series, 3};
    const int status = cal_plot_save(s->plot, &panel, 1);
    free(data);
    return status;
}

static void print_details(void) {
    printf(
        "\nWithout MODEL: mobile:s=4,l=5,o=9,plateau=printed,start=0.8, of 4100 joints. forward: executing forward "
        "dynamics at the model's\n"
        "start, nothing else. simulation: Gear's method from the start to --time, its own work included. Both are\n"
        "times of one evaluation, medians after a warm-up. ceiling: how many times more copies of the model the\n"
        "cores evaluate than one alone, with nothing between them: what the machine itself can give. Predictions\n"
        "come from the time of one processor, what copies take that wait for the slowest of them, and the cost of a "
        "cut\n"
        "edge, measured beforehand with all. trunk: joints that every processor computes which has something below "
        "them, where that is cheaper "
        "than\n"
        "handing over (--read 0s: never). All rows must end in the same state to the last bit; the exit status is 1 "
        "when one does not.\n"
        "--weak: %s with o = %d √p.\n"
        "Of a world (a scene, or with --world a model whose shapes touch) a run to --time is timed; its prediction is\n"
        "that of 'calder plan' times what the ceiling takes.\n",
        "mobiles of three stages", WEAK_CHAINS);
}

// The machine by its name, the processors by the list or else all that there are.
static int prepare(scale* s) {
    char all[32];
    s->ranks = strcmp(s->machine, "mpi") == 0;
    if (!s->ranks && strcmp(s->machine, "threads") != 0 && strcmp(s->machine, "threads,pinned") != 0)
        return cal_complain(CAL_EXIT_MISTAKE,
                            "--machine '%s' does not scale; allowed: threads, 'threads,pinned' and mpi", s->machine);
    if (s->ranks) {
        const int status = cal_machine_open(s->machine, s->lanes, NULL, &s->shared);
        if (status != CAL_EXIT_DONE) return status;
    }
    const int cores = cal_core_count(); // before a thread is pinned
    const int there = s->ranks ? cal_machine_processors(s->shared) : cores;
    snprintf(all, sizeof all, "1..%d", there);
    s->count = cal_processors_parse(s->processors ? s->processors : all, &s->counts);
    if (s->count == 0)
        return cal_complain(CAL_EXIT_MISTAKE,
                            "--processors '%s' is not a rising list of whole numbers, as 1..8 or 1,2,4", s->processors);
    const int most = s->counts[s->count - 1];
    if (s->ranks && most > there)
        return cal_complain(CAL_EXIT_MISTAKE,
                            "--processors '%s' is more than the %d ranks; start them with 'mpirun -n %d'",
                            s->processors, there, most);
    if (most > there)
        cal_complain(CAL_EXIT_DONE, "note: %d threads share %d cores, so that speed-up is not to be expected", most,
                     there);
    s->rows = calloc((size_t)s->count, sizeof *s->rows);
    return s->rows ? CAL_EXIT_DONE : cal_complain(CAL_EXIT_FAILED, "no memory for %d rows", s->count);
}

static int run_world(scale* s) {
    if (s->ranks)
        return cal_complain(
            CAL_EXIT_MISTAKE,
            "--machine 'mpi' is for a model; a world is timed on threads ('calder sim' says what ranks gain)");
    if (s->plot) return cal_complain(CAL_EXIT_MISTAKE, "--plot is for a model; '%s' is a world here", s->model_name);
    cal_scale_world world = {.name = s->model_name,
                             .lanes = s->lanes,
                             .counts = s->counts,
                             .count = s->count,
                             .runs = (int)s->runs,
                             .time = s->time,
                             .pinned = strcmp(s->machine, "threads,pinned") == 0,
                             .json = s->json};
    return cal_bench_scale_world(&world);
}

static int run_model(scale* s) {
    int status = measure_all(s);
    if (status != CAL_EXIT_DONE) return status;
    if (s->json)
        print_json(s);
    else
        print_table(s);
    status = draw(s);
    if (status == CAL_EXIT_DONE) status = cal_finish_output(status);
    if (status == CAL_EXIT_DONE && !all_same(s))
        status = cal_complain(CAL_EXIT_FAILED, "the state is not the same on all numbers of processors");
    return status;
}

static int run(int argc, char** argv) {
    scale s = {.machine = "threads", .lanes = "0", .time = 0, .tol = 1e-4, .runs = 5};
    const cal_option options[] = {
        CAL_OPTION_LINE_PROCESSORS(&s.processors, "how many: 1..8, or 1,2,4; without it all there are"),
        CAL_OPTION_LINE_MACHINE(&s.machine, "threads, 'threads,pinned', or mpi under mpirun"),
        CAL_OPTION_LINE_LANES(&s.lanes),
        {"weak", CAL_OPTION_FLAG, &s.weak, NULL, "a mobile that grows with the processors, instead of MODEL", 0, 0,
         NULL},
        {"time", CAL_OPTION_NUMBER, &s.time, "S",
         "seconds that are simulated in a run; 0: for some evaluations, or events", 0, 1e6, NULL},
        {"world", CAL_OPTION_FLAG, &s.world, NULL, "of a model whose shapes touch: its world, as that of a scene", 0, 0,
         NULL},
        {"read", CAL_OPTION_TEXT, &s.read, "TIME",
         "what another processor's joint costs its reader [as measured]; 0s: cuts are handed over", 0, 0, NULL},
        {"tol", CAL_OPTION_NUMBER, &s.tol, "E", "tolerance of the simulation", 1e-14, 0.1, NULL},
        {"runs", CAL_OPTION_COUNT, &s.runs, "N", "runs, of which the median counts", 1, MOST_RUNS, NULL},
        CAL_OPTION_LINE_PLOT(&s.plot, "draw the speed-up as an SVG file"),
        CAL_OPTION_LINE_JSON(&s.json),
    };
    const cal_usage usage = {
        "bench scale",
        "[MODEL|WORLD]",
        "Times a model or a world on 1, 2, … processors, beside what the plan predicts.",
        print_details,
        "calder bench scale mobile:s=4,l=5,o=9,plateau=printed,start=0.8 --processors 1..4 --plot scale.svg",
        0,
        1};
    int count = 0;
    int status = cal_options_parse(&usage, options, CAL_ARRAY_COUNT(options), argc, argv, &count);
    if (status != CAL_OPTIONS_PARSED) return status;
    if (s.weak && count > 0)
        return cal_complain(CAL_EXIT_MISTAKE, "--weak has its own models; leave out '%s'", argv[1]);
    s.model_name = count > 0 ? argv[1] : "mobile:s=4,l=5,o=9,plateau=printed,start=0.8";
    status = cal_ranks_agree(cal_plot_check(s.plot));
    if (status == CAL_EXIT_DONE) status = prepare(&s);
    if (status == CAL_EXIT_DONE) status = cal_is_world(s.model_name, s.world) ? run_world(&s) : run_model(&s);
    cal_machine_destroy(s.shared);
    free(s.counts);
    free(s.rows);
    return status;
}

const cal_benchmark cal_bench_scale = {"scale", "one model on 1, 2, … processors, measured beside predicted", run};
