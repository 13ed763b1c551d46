// `calder bench assembly`: Yamane and Nakamura's Tables 1 and 2 (measured, modelled, the paper's), operations of schedules,
// a long chain on 1, 2, … cores beside articulated bodies on one, and the logarithm.
//
// Modelled, both on the paper's machine, where a link takes its share of the time on one processor:
//   its form   the paper's equations: a joint of a subchain with two open joints takes `ratio` times as long as one with
//              one open joint, and a join between processors takes the time of a joint and a message. ratio and message
//              are fitted to Table 1; the starred split is the one with which the longest part is shortest
//   ours       our schedules and operations (schedule/schedule.h) with the same message
// Parts of even length are the paper's plain rows, parts of even work its starred one.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "plot.h"
#include "progress.h"
#include "quantities.h"
#include "result.h"
#include "timing.h"

enum { DECADES = 5, CORES_LISTED = 64 };

typedef struct paper_row {
    int table;
    const char *model, *schedule;
    int processors;
    bool even_work; // the paper's star
    double milliseconds;
} paper_row;
static const paper_row paper[] = {
#include "tables/yamane_tables.inc"
};
enum { ROWS = sizeof paper / sizeof paper[0] };

typedef struct chain_row {
    int processors, used;
    double seconds;
} chain_row;

typedef struct assembly_bench {
    int64_t chain;
    const char *processors, *lanes, *plot, *schedule;
    bool json;
    double time_limit;
    double message, ratio; // of the paper's machine and equations
    double form[ROWS], modelled[ROWS], measured[ROWS];
    int middle[ROWS]; // links of the middle parts in the paper's form
    cal_schedule_report reports[ROWS];
    double aba; // s, the chain on one core
    chain_row* chains;
    int chain_count;
    double lengths[DECADES], log_seconds[DECADES];
} assembly_bench;

// --- Measuring --------------------------------------------------------------------------------------------------------------

typedef struct subject {
    cal_plan* plan;
    cal_state* state;
} subject;

static cal_status execute(void* context, cal_error* error) {
    subject* s = context;
    return cal_plan_execute(s->plan, s->state, error);
}

// Seconds per evaluation, a median; the machine is closed. used may be NULL.
static int time_plan(assembly_bench* b, const cal_model* model, const char* algorithm, const char* schedule,
                     cal_machine* machine, double* seconds, int* used) {
    const cal_timing_def def = {b->time_limit, 0.2, 3, 25};
    cal_timing timing = {0};
    subject s = {0};
    cal_error error = {CAL_OK, ""};
    error.status = cal_plan_create_scheduled(model, algorithm, schedule, machine, NULL, &s.plan, &error);
    if (error.status == CAL_OK) error.status = cal_state_create(s.plan, &s.state);
    if (error.status == CAL_OK) error.status = cal_time_calls(&def, execute, &s, &timing, &error);
    *seconds = timing.median;
    if (error.status == CAL_OK && used) *used = cal_plan_processors(s.plan);
    cal_state_destroy(s.state);
    cal_plan_destroy(s.plan);
    cal_machine_destroy(machine);
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

static int open_cores(const assembly_bench* b, int cores, cal_machine** out) {
    cal_error error = {CAL_OK, ""};
    cal_threads_def def = cal_default_threads_def();
    def.workers = cores;
    def.lanes = atoi(b->lanes);
    error.status = cores == 1 ? cal_machine_serial(def.lanes, out, &error) : cal_machine_threads(&def, out, &error);
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

// --- The paper's tables -----------------------------------------------------------------------------------------------------

static int predict(const cal_model* model, const paper_row* row, double compute, double message,
                   cal_schedule_report* out) {
    const cal_costs costs = {.compute = compute, .message = message};
    cal_error error = {CAL_OK, ""};
    error.status = cal_schedule_predict(model, row->schedule, row->processors, &costs, out, &error);
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

// The paper's time for a joint of the model of a row: on one processor.
static double paper_compute(const paper_row* row, const cal_model* model) {
    const paper_row* alone = row;
    while (alone->processors > 1) alone--;
    return 1e-3 * alone->milliseconds / cal_model_joint_count(model);
}

// A chain in the paper's form: the longest part, then the joins. middle: links of a part between two others; it has the fewest
// with which no part takes longer than it must, or as many as all where the split is even.
static double paper_form(const paper_row* row, int links, double compute, double ratio, double message, int* middle) {
    const int parts = row->processors;
    if (parts <= 2) {
        *middle = links / parts;
        return compute * links / parts + (parts > 1 ? compute + message : 0);
    }
    double best = INFINITY;
    for (int m = row->even_work ? 1 : links / parts; m <= links / parts; m++) {
        const double ends = ceil((links - (parts - 2) * m) / 2.0), longest = fmax(ends, ratio * m);
        if (longest < best) best = longest, *middle = m;
    }
    return compute * best + log2(parts) * (ratio * compute + message);
}

// What makes the paper's form come nearest to its Table 1, in the mean square of the ratios.
static void fit_paper(assembly_bench* b, cal_model* const* models) {
    double best = INFINITY;
    for (int i = 0; i <= 60; i++)
        for (int k = 0; k <= 60; k++) {
            const double ratio = 1 + 0.05 * i, message = 1e-6 * pow(10, k / 20.0);
            double misfit = 0;
            for (int r = 0; r < ROWS && paper[r].table == 1; r++) {
                int middle;
                const double time = paper_form(&paper[r], cal_model_joint_count(models[r]),
                                               paper_compute(&paper[r], models[r]), ratio, message, &middle);
                misfit += pow(log(time / (1e-3 * paper[r].milliseconds)), 2);
            }
            if (misfit < best) best = misfit, b->ratio = ratio, b->message = message;
        }
    for (int r = 0; r < ROWS && paper[r].table == 1; r++)
        b->form[r] = paper_form(&paper[r], cal_model_joint_count(models[r]), paper_compute(&paper[r], models[r]),
                                b->ratio, b->message, &b->middle[r]);
}

static int bench_rows(assembly_bench* b) {
    cal_model* models[ROWS] = {NULL};
    int status = CAL_EXIT_DONE;
    cal_progress progress = cal_progress_start("tables");
    for (int i = 0; i < ROWS && status == CAL_EXIT_DONE; i++)
        status = cal_model_from_argument(paper[i].model, &models[i]);
    if (status == CAL_EXIT_DONE) fit_paper(b, models);
    for (int i = 0; i < ROWS && status == CAL_EXIT_DONE; i++) {
        cal_machine* machine = NULL;
        status = predict(models[i], &paper[i], paper_compute(&paper[i], models[i]), b->message, &b->reports[i]);
        b->modelled[i] = b->reports[i].seconds;
        if (status == CAL_EXIT_DONE) status = open_cores(b, paper[i].processors, &machine);
        if (status == CAL_EXIT_DONE)
            status = time_plan(b, models[i], "assembly", paper[i].schedule, machine, &b->measured[i], NULL);
        cal_progress_show(&progress, (i + 1.0) / ROWS);
    }
    cal_progress_end(&progress);
    for (int i = 0; i < ROWS; i++) cal_model_destroy(models[i]);
    return status;
}

// --- A long chain, and the logarithm ----------------------------------------------------------------------------------------

static int bench_chain(assembly_bench* b) {
    char name[64];
    int* counts = NULL;
    cal_model* model = NULL;
    cal_machine* machine = NULL;
    if (b->chain == 0) return CAL_EXIT_DONE;
    b->chain_count = cal_processors_parse(b->processors, &counts);
    if (b->chain_count == 0)
        return cal_complain(
            CAL_EXIT_MISTAKE,
            "--processors '%s' is not a rising list of whole numbers; allowed: 16, or 1..16, or 1,2,4,8",
            b->processors);
    snprintf(name, sizeof name, "chain:n=%lld", (long long)b->chain);
    b->chains = calloc((size_t)b->chain_count, sizeof *b->chains);
    if (!b->chains) {
        free(counts);
        return cal_complain(CAL_EXIT_FAILED, "no memory for %s", name);
    }
    int status = cal_model_from_argument(name, &model);
    if (status == CAL_EXIT_DONE) status = open_cores(b, 1, &machine);
    if (status == CAL_EXIT_DONE) status = time_plan(b, model, "aba", NULL, machine, &b->aba, NULL);
    for (int i = 0; i < b->chain_count && status == CAL_EXIT_DONE; i++) {
        chain_row* row = &b->chains[i];
        row->processors = counts[i];
        status = open_cores(b, counts[i], &machine);
        if (status == CAL_EXIT_DONE)
            status = time_plan(b, model, "assembly", b->schedule, machine, &row->seconds, &row->used);
    }
    cal_model_destroy(model);
    free(counts);
    return status;
}

// As many processors as links, a part each: the time of the longest path of joins.
static int bench_logarithm(assembly_bench* b) {
    cal_progress progress = cal_progress_start("logarithm");
    int status = CAL_EXIT_DONE;
    for (int i = 0; i < DECADES && status == CAL_EXIT_DONE; i++) {
        const int links = (int)(100 * pow(10, i) + 0.5);
        char name[32];
        cal_model* model = NULL;
        cal_schedule_report report;
        const cal_costs costs = {.compute = 45e-9, .message = 1e-6};
        cal_error error = {CAL_OK, ""};
        snprintf(name, sizeof name, "chain:n=%d", links);
        status = cal_model_from_argument(name, &model);
        if (status == CAL_EXIT_DONE)
            error.status = cal_schedule_predict(model, "balanced", links, &costs, &report, &error);
        if (error.status != CAL_OK) status = cal_complain_error(&error);
        if (status == CAL_EXIT_DONE) b->lengths[i] = links, b->log_seconds[i] = report.seconds;
        cal_model_destroy(model);
        cal_progress_show(&progress, (i + 1.0) / DECADES);
    }
    cal_progress_end(&progress);
    return status;
}

// --- Saying it ----------------------------------------------------------------------------------------------------------------

static void print_links(const cal_schedule_report* r) {
    for (int p = 0; p < r->parts && p < CAL_SCHEDULE_SHOWN; p++) printf("%s%d", p > 0 ? " " : "", r->links[p]);
}

static void print_text(const assembly_bench* b) {
    char text[3][32];
    printf("assembly and disassembly (Yamane and Nakamura), on %s\n", cal_host_text());
    for (int i = 0; i < ROWS; i++) {
        const paper_row* row = &paper[i];
        const cal_schedule_report* r = &b->reports[i];
        if (i == 0 || row->table != paper[i - 1].table) {
            printf("\n%s\n", row->table == 1 ? "Table 1: serial chains of balls" : "Table 2: human figures");
            printf("%-22s %10s %9s %10s %10s %11s %11s  %s\n", "model", "processors", "paper", "its form", "ours",
                   "measured", "operations", "joints of each part");
        }
        printf("%-22s %8d %c %6.3g ms ", row->model, row->processors, row->even_work ? '*' : ' ', row->milliseconds);
        if (row->table == 1)
            printf("%7.3g ms ", 1e3 * b->form[i]);
        else
            printf("%10s ", "");
        printf("%7.3g ms %8.3g µs %11.0f  ", 1e3 * b->modelled[i], 1e6 * b->measured[i], r->operations);
        print_links(r);
        if (row->even_work) printf("; its form: %d in the middle", b->middle[i]);
        printf("\n");
    }
    printf(
        "\n*: parts of even work, as the cost models have them, instead of even length. its form: the paper's "
        "equations on its\n"
        "machine, fitted: a joint between two open ones takes %.2f times as long, a message %s. ours: our schedules\n"
        "there, serial = the paper's time. Processors beyond the cores here share them.\n",
        b->ratio, cal_duration_text(b->message, text[0], sizeof text[0]));
    if (b->chain > 0) {
        printf("\nchain:n=%lld, aba on one core: %s, %.1f ns per joint\n", (long long)b->chain,
               cal_duration_text(b->aba, text[0], sizeof text[0]), 1e9 * b->aba / (double)b->chain);
        printf("%10s %6s %14s %12s %16s\n", "processors", "used", "assembly", "ns per joint", "aba / assembly");
        for (int i = 0; i < b->chain_count; i++) {
            const chain_row* row = &b->chains[i];
            const char* time = cal_duration_text(row->seconds, text[0], sizeof text[0]);
            printf("%10d %6d %*s %12.2f %16.2f\n", row->processors, row->used, strstr(time, "µ") ? 15 : 14, time,
                   1e9 * row->seconds / (double)b->chain, b->aba / row->seconds);
        }
    }
    printf("\nas many processors as links, modelled (45 ns per joint, 1 µs per message):\n");
    for (int i = 0; i < DECADES; i++)
        printf("%10.0f links %12s\n", b->lengths[i], cal_duration_text(b->log_seconds[i], text[1], sizeof text[1]));
}

static void print_json(const assembly_bench* b) {
    cal_json json = cal_result_open("bench assembly");
    cal_json_number(&json, "message_s", b->message);
    cal_json_number(&json, "two_open_ratio", b->ratio);
    cal_json_open(&json, "tables", '[');
    for (int i = 0; i < ROWS; i++) {
        const cal_schedule_report* r = &b->reports[i];
        cal_json_open(&json, NULL, '{');
        cal_json_text(&json, "model", paper[i].model);
        cal_json_text(&json, "schedule", paper[i].schedule);
        cal_json_integer(&json, "processors", paper[i].processors);
        cal_json_boolean(&json, "even_work", paper[i].even_work);
        cal_json_number(&json, "paper_s", 1e-3 * paper[i].milliseconds);
        if (paper[i].table == 1) cal_json_number(&json, "paper_form_s", b->form[i]);
        cal_json_number(&json, "modelled_s", b->modelled[i]);
        cal_json_number(&json, "measured_s", b->measured[i]);
        cal_json_number(&json, "operations", r->operations);
        cal_json_number(&json, "join_operations", r->join_operations);
        cal_json_open(&json, "joints", '[');
        for (int p = 0; p < r->parts && p < CAL_SCHEDULE_SHOWN; p++) cal_json_integer(&json, NULL, r->links[p]);
        cal_json_close(&json, ']');
        cal_json_close(&json, '}');
    }
    cal_json_close(&json, ']');
    if (b->chain > 0) {
        cal_json_open(&json, "chain", '{');
        cal_json_integer(&json, "links", b->chain);
        cal_json_number(&json, "aba_s", b->aba);
        cal_json_open(&json, "rows", '[');
        for (int i = 0; i < b->chain_count; i++) {
            cal_json_open(&json, NULL, '{');
            cal_json_integer(&json, "processors", b->chains[i].processors);
            cal_json_integer(&json, "used", b->chains[i].used);
            cal_json_number(&json, "assembly_s", b->chains[i].seconds);
            cal_json_close(&json, '}');
        }
        cal_json_close(&json, ']');
        cal_json_close(&json, '}');
    }
    cal_json_open(&json, "logarithm", '[');
    for (int i = 0; i < DECADES; i++) {
        cal_json_open(&json, NULL, '{');
        cal_json_number(&json, "links", b->lengths[i]);
        cal_json_number(&json, "modelled_s", b->log_seconds[i]);
        cal_json_close(&json, '}');
    }
    cal_json_close(&json, ']');
    cal_json_close(&json, '}');
}

static int draw(const assembly_bench* b) {
    double decades[DECADES], microseconds[DECADES], x[CORES_LISTED], y[CORES_LISTED];
    for (int i = 0; i < DECADES; i++) decades[i] = log10(b->lengths[i]), microseconds[i] = 1e6 * b->log_seconds[i];
    size_t count = 0;
    for (int i = 0; i < b->chain_count && count < CORES_LISTED; i++, count++)
        x[count] = b->chains[i].processors, y[count] = b->aba / b->chains[i].seconds;
    const cal_plot_series line = {"as many processors as links", decades, microseconds, DECADES, 0, false, true};
    const cal_plot_series speed = {"aba on one core / assembly", x, y, count, 1, false, true};
    char title[96];
    snprintf(title, sizeof title, "A chain of %lld links: how much faster than aba on one core", (long long)b->chain);
    const cal_plot_panel panels[] = {
        {"One evaluation of a chain, modelled", "logarithm of the number of links (base 10)", "time, µs", false, &line,
         1},
        {title, "processors", "ratio", false, &speed, 1},
    };
    return cal_plot_save(b->plot, panels, b->chain > 0 ? 2 : 1);
}

static void print_details(void) {
    printf(
        "\nThe paper's Tables 1 and 2 as it has them, as our schedules on its machine would come out, and as measured\n"
        "here. Then a long chain on so many cores, beside articulated bodies on one; and the time of a chain with as\n"
        "many processors as links, which grows with the logarithm of its length.\n");
}

static int run(int argc, char** argv) {
    assembly_bench b = {.chain = 10000, .processors = "1,2", .lanes = "0", .time_limit = 0.1};
    const cal_option options[] = {
        {"chain", CAL_OPTION_COUNT, &b.chain, "N", "links of the long chain; 0: none", 0, 10000000, NULL},
        CAL_OPTION_LINE_PROCESSORS(&b.processors, "cores for the long chain, as 1..16"),
        {"schedule", CAL_OPTION_TEXT, &b.schedule, "HOW",
         "of the long chain: auto, balanced, or a number of processors [auto]", 0, 0, NULL},
        CAL_OPTION_LINE_LANES(&b.lanes),
        {"time-limit", CAL_OPTION_NUMBER, &b.time_limit, "S", "seconds for each measurement", 0.001, 1000, NULL},
        CAL_OPTION_LINE_PLOT(&b.plot, "draw the logarithm and the chain as an SVG file"),
        CAL_OPTION_LINE_JSON(&b.json),
    };
    const cal_usage usage = {"bench assembly",
                             "",
                             "Times assembly and disassembly, beside the paper's tables and beside articulated bodies.",
                             print_details,
                             "calder bench assembly --chain 100000 --processors 1..16 --plot assembly.svg",
                             0,
                             0};
    int count = 0;
    int status = cal_options_parse(&usage, options, CAL_ARRAY_COUNT(options), argc, argv, &count);
    if (status != CAL_OPTIONS_PARSED) return status;
    status = cal_plot_check(b.plot);
    if (status == CAL_EXIT_DONE) status = bench_chain(&b);
    if (status == CAL_EXIT_DONE) status = bench_rows(&b);
    if (status == CAL_EXIT_DONE) status = bench_logarithm(&b);
    if (status == CAL_EXIT_DONE) {
        if (b.json)
            print_json(&b);
        else
            print_text(&b);
        status = draw(&b);
    }
    free(b.chains);
    return status == CAL_EXIT_DONE ? cal_finish_output(status) : status;
}

const cal_benchmark cal_bench_assembly = {
    "assembly", "assembly and disassembly of chains, beside the paper's numbers and articulated bodies", run};
