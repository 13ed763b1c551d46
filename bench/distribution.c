// `calder bench distribution`: Jung's tables of what crosses between links, and his figures of the time of an evaluation.
//
//   Table IX     Gear's method inside the passes: messages and numbers per pass, sent beside predicted
//   Table VIII   a central solver, which sends q and q̇ of all joints out and gets q̈ of all back, beside the same solver (rk4)
//                inside the passes
//   Figure 8     depth of mobiles over their joints: the logarithm
//   Figure 9     time of an evaluation over joints, estimated by his algorithm for twenty processors and for any number, with his times;
//                and on this machine, measured beside predicted
//   Figure 10    speed-up over processors for his two mobiles
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "distribution_run.h"
#include "plot.h"
#include "progress.h"
#include "quantities.h"
#include "result.h"

static const char mobile[] = "mobile:s=%d,l=5,o=9,plateau=printed,start=0.8";
static const double COMPUTE = 0.4e-3, MESSAGE = 1.5e-3; // on MANNA, s (III.E)
static const double CENTRAL_STEP = 1e-3;
enum {
    TWENTY = 20,
    UNLIMITED = 100000,
    STAGES = 5,
    RUN_STAGES = 4,
    CURVES = 2,
    SINGLY = 32,
    MOST_POINTS = SINGLY + 30,
    PASSES = 4
};

static const struct {
    const char *towards, *central, *distributed; // what the paper sends: Tables VIII and IX
    int central_joints, central_more, numbers;   // numbers: n · joints + more; of Table IX
} paper[PASSES] = {
    {"leaves", "q, q̇, v̂: 2n+6", "v̂, h, order: 8", 2, 6, 8},
    {"root", "p̂, Î: 33", "p̂, Î: 33", 0, 33, 33},
    {"leaves", "â: 6", "â: 6", 0, 6, 6},
    {"root", "q̈: n", "sums: 5", 1, 0, 5},
};

typedef struct size_row {
    int joints, depth;
    double twenty, unlimited;   // s, estimated with the paper's times
    double measured, predicted; // s, on this machine; 0: not run
    int used;                   // processors of it
    cal_mobile_run run;
} size_row;

typedef struct curve {
    int joints, count;
    double processors[MOST_POINTS], speedup[MOST_POINTS];
} curve;

typedef struct distribution_bench {
    const char* machine_name;
    double time;
    cal_machine* machine;
    int processors;
    bool timed;      // there is a core for each
    cal_costs costs; // of this machine
    int joints, used;
    cal_mobile_run gear, central, inside; // inside: rk4 in the passes
    double difference;                    // of the final q and v of the last two, the largest
    size_row sizes[STAGES];
    curve curves[CURVES];
} distribution_bench;

static cal_status make_mobile(int stages, cal_model** out, cal_error* error) {
    char text[96];
    snprintf(text, sizeof text, mobile, stages);
    return cal_model_generate(text, out, error);
}

// --- Tables VIII and IX -----------------------------------------------------------------------------------------------

static cal_status run_tables(distribution_bench* b, cal_error* error) {
    cal_model* model = NULL;
    const cal_costs costs = {.compute = COMPUTE, .message = MESSAGE};
    cal_status status = make_mobile(3, &model, error);
    if (status != CAL_OK) return status;
    const size_t n = (size_t)cal_model_joint_count(model);
    int32_t* placement = calloc(n, sizeof *placement);
    double* states = calloc(4 * n, sizeof *states);
    b->joints = (int)n;
    status = placement && states
                 ? cal_distribute(model, CAL_JUNG, b->processors, &costs, placement, &b->used, NULL, error)
                 : CAL_NO_MEMORY;
    if (status == CAL_OK)
        status = cal_run_distributed(model, b->machine, placement, 0, b->time, NULL, NULL, &b->gear, error);
    if (status == CAL_OK)
        status = cal_run_distributed(model, b->machine, placement, CENTRAL_STEP, b->time, states, states + n,
                                     &b->inside, error);
    if (status == CAL_OK)
        status = cal_run_central(model, b->machine, placement, CENTRAL_STEP, b->time, states + 2 * n, states + 3 * n,
                                 &b->central, error);
    for (size_t i = 0; status == CAL_OK && i < 2 * n; i++)
        b->difference = fmax(b->difference, fabs(states[i] - states[2 * n + i]));
    free(placement);
    free(states);
    cal_model_destroy(model);
    return status;
}

// --- Figures 8 to 10 --------------------------------------------------------------------------------------------------

static cal_status estimate(const cal_model* model, int processors, int32_t* placement, double* seconds,
                           cal_error* error) {
    const cal_costs costs = {.compute = COMPUTE, .message = MESSAGE};
    return cal_distribute(model, CAL_JUNG, processors, &costs, placement, NULL, seconds, error);
}

// On this machine, with its own times: Jung's distribution, priced and run.
static cal_status run_here(distribution_bench* b, const cal_model* model, int32_t* placement, size_row* row,
                           cal_error* error) {
    cal_mobile_run alone;
    cal_costs costs = b->costs;
    memset(placement, 0, (size_t)row->joints * sizeof *placement);
    cal_status status = cal_run_distributed(model, b->machine, placement, 0, b->time / 4, NULL, NULL, &alone, error);
    cal_ranks_tell(&alone.seconds, 1);
    costs.compute = alone.seconds / row->joints;
    if (status == CAL_OK)
        status = cal_distribute(model, CAL_JUNG, b->processors, &costs, placement, &row->used, NULL, error);
    if (status == CAL_OK) status = cal_price(model, placement, &costs, row->used, &row->predicted, NULL, error);
    if (status == CAL_OK)
        status = cal_run_distributed(model, b->machine, placement, 0, b->time / 4, NULL, NULL, &row->run, error);
    row->measured = row->run.seconds;
    return status;
}

static cal_status run_sizes(distribution_bench* b, cal_error* error) {
    cal_status status = CAL_OK;
    for (int stages = 1; stages <= STAGES && status == CAL_OK; stages++) {
        size_row* row = &b->sizes[stages - 1];
        cal_model* model = NULL;
        status = make_mobile(stages, &model, error);
        if (status != CAL_OK) break;
        row->joints = cal_model_joint_count(model);
        row->depth = cal_model_depth(model);
        int32_t* placement = calloc((size_t)row->joints, sizeof *placement);
        status = placement ? estimate(model, TWENTY, placement, &row->twenty, error) : CAL_NO_MEMORY;
        if (status == CAL_OK) status = estimate(model, UNLIMITED, placement, &row->unlimited, error);
        if (status == CAL_OK && stages <= RUN_STAGES && b->timed) status = run_here(b, model, placement, row, error);
        for (int i = 0; stages >= 3 && stages < 3 + CURVES && i < MOST_POINTS && status == CAL_OK; i++) {
            curve* c = &b->curves[stages - 3];
            // One after the other at first, then six to a doubling.
            const int processors = i < SINGLY ? i + 1 : (int)lround(SINGLY * pow(2, (i + 1.0 - SINGLY) / 6));
            double seconds;
            status = estimate(model, processors, placement, &seconds, error);
            c->joints = row->joints;
            c->processors[c->count] = processors;
            c->speedup[c->count++] = row->joints * COMPUTE / seconds;
        }
        free(placement);
        cal_model_destroy(model);
    }
    return status;
}

// --- Saying it ----------------------------------------------------------------------------------------------------------

static double per(int64_t count, int64_t of) { return of > 0 ? (double)count / (double)of : 0; }

static void print_pass(const cal_mobile_run* run, int pass, const char* said) {
    const cal_pass_traffic *sent = &run->sent[pass], *plan = &run->predicted[pass];
    printf("%-18s %-8s %s", sent->pass, paper[pass].towards, said);
    int width = 0; // a letter takes several bytes, and an accent above it no room
    for (size_t i = 0; said[i]; i++) {
        const unsigned char byte = (unsigned char)said[i];
        const bool accent = byte == 0xcc || byte == 0xcd;
        width += (byte & 0xc0) != 0x80 && !accent;
    }
    printf("%*s %10.6g %10lld %12.6g %10.6g\n", width < 18 ? 18 - width : 0, "", per(sent->messages, sent->executions),
           (long long)plan->messages, per(sent->numbers, sent->messages), per(plan->numbers, plan->messages));
}

static void print_tables(const distribution_bench* b) {
    char text[3][32];
    printf("%d joints on %d of %d processors (%s), Jung's distribution with %s per joint and %s per message\n\n",
           b->joints, b->used, b->processors, b->machine_name, cal_duration_text(COMPUTE, text[0], sizeof text[0]),
           cal_duration_text(MESSAGE, text[1], sizeof text[1]));
    printf(
        "Table IX: Gear's method inside the passes, %lld evaluations; messages per evaluation, numbers per message\n",
        (long long)b->gear.evaluations);
    static const char head[] = "%-18s %-8s %-18s %10s %10s %12s %10s\n";
    printf(head, "pass", "towards", "the paper", "messages", "predicted", "numbers", "predicted");
    for (int i = 0; i < b->gear.pass_count && i < PASSES; i++) print_pass(&b->gear, i, paper[i].distributed);
    printf("%s\n", cal_mobile_run_agrees(&b->gear) ? "All that was sent was predicted." : "SENT AND PREDICTED DIFFER.");
    printf("\nTable VIII: a central solver (rk4), %lld evaluations\n", (long long)b->central.evaluations);
    printf(head, "pass", "towards", "the paper", "messages", "predicted", "numbers", "predicted");
    for (int i = 0; i + 1 < PASSES && i < b->central.pass_count; i++) print_pass(&b->central, i, paper[i].central);
    printf("beside them, per evaluation: %lld numbers of q and q̇ to the %d other processors, %lld of q̈ back\n",
           (long long)b->central.spread, b->central.processors - 1, (long long)b->central.gathered);
    printf("central %s per evaluation, inside the passes %s; their final states differ by %.1e\n",
           cal_duration_text(b->central.seconds, text[0], sizeof text[0]),
           cal_duration_text(b->inside.seconds, text[1], sizeof text[1]), b->difference);
}

static void print_figures(const distribution_bench* b) {
    char text[4][32];
    printf("\nFigures 8 and 9: mobiles of 5-link chains, 9 to a fork; estimated with the paper's times");
    if (b->timed) printf(", and here with %s a message", cal_duration_text(b->costs.message, text[0], sizeof text[0]));
    printf("\n");
    printf("%8s %6s %14s %14s %12s %12s %6s\n", "joints", "depth", "20 processors", "any number", "here", "predicted",
           "used");
    for (int i = 0; i < STAGES; i++) {
        const size_row* r = &b->sizes[i];
        const char* here = r->measured > 0 ? cal_duration_text(r->measured, text[2], sizeof text[2]) : "";
        const char* said = r->measured > 0 ? cal_duration_text(r->predicted, text[3], sizeof text[3]) : "";
        printf("%8d %6d %14s %14s %*s %*s", r->joints, r->depth, cal_duration_text(r->twenty, text[0], sizeof text[0]),
               cal_duration_text(r->unlimited, text[1], sizeof text[1]), strstr(here, "µ") ? 13 : 12, here,
               strstr(said, "µ") ? 13 : 12, said);
        if (r->used > 0) printf(" %6d", r->used);
        printf("\n");
    }
    printf("\nFigure 10: speed-up over processors, estimated\n%10s", "processors");
    for (int c = 0; c < CURVES; c++) printf(" %5d joints", b->curves[c].joints);
    printf("\n");
    for (int i = 0; i < b->curves[0].count; i++) {
        const int p = (int)b->curves[0].processors[i];
        if (i + 1 < b->curves[0].count && (p & (p - 1)) != 0 && p != TWENTY) continue;
        printf("%10d", p);
        for (int c = 0; c < CURVES; c++) printf(" %12.2f", b->curves[c].speedup[i]);
        printf("\n");
    }
}

static void json_passes(cal_json* json, const char* key, const cal_mobile_run* run, bool central) {
    cal_json_open(json, key, '[');
    for (int i = 0; i < run->pass_count && i < PASSES; i++) {
        if (central && i + 1 == PASSES) break;
        cal_json_open(json, NULL, '{');
        cal_json_text(json, "pass", run->sent[i].pass);
        cal_json_text(json, "towards", paper[i].towards);
        cal_json_integer(json, "paper_numbers",
                         central ? paper[i].central_joints * run->joints + paper[i].central_more : paper[i].numbers);
        cal_json_integer(json, "executions", run->sent[i].executions);
        cal_json_integer(json, "sent_messages", run->sent[i].messages);
        cal_json_integer(json, "predicted_messages", run->predicted[i].messages * run->sent[i].executions);
        cal_json_integer(json, "sent_numbers", run->sent[i].numbers);
        cal_json_integer(json, "predicted_numbers", run->predicted[i].numbers * run->sent[i].executions);
        cal_json_number(json, "numbers_per_message", per(run->sent[i].numbers, run->sent[i].messages));
        cal_json_close(json, '}');
    }
    cal_json_close(json, ']');
}

static void print_json(const distribution_bench* b) {
    cal_json json = cal_result_open("bench distribution");
    cal_json_text(&json, "machine", b->machine_name);
    cal_json_integer(&json, "processors", b->processors);
    cal_json_integer(&json, "used", b->used);
    cal_json_integer(&json, "joints", b->joints);
    cal_json_boolean(&json, "sent_as_predicted",
                     cal_mobile_run_agrees(&b->gear) && cal_mobile_run_agrees(&b->central) &&
                         cal_mobile_run_agrees(&b->inside));
    cal_json_number(&json, "central_s", b->central.seconds);
    cal_json_number(&json, "inside_s", b->inside.seconds);
    cal_json_number(&json, "central_difference", b->difference);
    cal_json_integer(&json, "central_numbers_out", b->central.spread);
    cal_json_integer(&json, "central_numbers_back", b->central.gathered);
    cal_json_number(&json, "message_s", b->costs.message);
    json_passes(&json, "passes", &b->gear, false);
    json_passes(&json, "central_passes", &b->central, true);
    cal_json_open(&json, "figure9", '[');
    for (int i = 0; i < STAGES; i++) {
        const size_row* r = &b->sizes[i];
        cal_json_open(&json, NULL, '{');
        cal_json_integer(&json, "joints", r->joints);
        cal_json_integer(&json, "depth", r->depth);
        cal_json_number(&json, "twenty_s", r->twenty);
        cal_json_number(&json, "unlimited_s", r->unlimited);
        if (r->measured > 0) cal_json_number(&json, "measured_s", r->measured);
        if (r->measured > 0) cal_json_number(&json, "predicted_s", r->predicted);
        if (r->measured > 0) cal_json_integer(&json, "used", r->used);
        cal_json_close(&json, '}');
    }
    cal_json_close(&json, ']');
    cal_json_open(&json, "figure10", '[');
    for (int c = 0; c < CURVES; c++)
        for (int i = 0; i < b->curves[c].count; i++) {
            cal_json_open(&json, NULL, '{');
            cal_json_integer(&json, "joints", b->curves[c].joints);
            cal_json_integer(&json, "processors", (int64_t)b->curves[c].processors[i]);
            cal_json_number(&json, "speedup", b->curves[c].speedup[i]);
            cal_json_close(&json, '}');
        }
    cal_json_close(&json, ']');
    cal_json_close(&json, '}');
}

static int draw(const distribution_bench* b, const char* path) {
    double x[STAGES], depth[STAGES], line[STAGES], twenty[STAGES], unlimited[STAGES], here[STAGES], said[STAGES];
    for (int i = 0; i < STAGES; i++) {
        const size_row* r = &b->sizes[i];
        x[i] = log10(r->joints);
        depth[i] = r->depth;
        line[i] = 5 * log(1 + r->joints * 8 / 5.0) / log(9); // l log_o (1 + n (o − 1) / l)
        twenty[i] = 1e3 * r->twenty, unlimited[i] = 1e3 * r->unlimited;
        here[i] = r->measured > 0 ? 1e6 * r->measured : NAN;
        said[i] = r->measured > 0 ? 1e6 * r->predicted : NAN;
    }
    const cal_plot_series depths[] = {{"mobiles", x, depth, STAGES, 0, false, true},
                                      {"logarithm", x, line, STAGES, 0, true, false}};
    const cal_plot_series times[] = {{"20 processors", x, twenty, STAGES, 0, false, true},
                                     {"any number", x, unlimited, STAGES, 1, false, true}};
    const cal_plot_series heres[] = {{"measured", x, here, STAGES, 2, false, true},
                                     {"predicted", x, said, STAGES, 2, true, false}};
    char names[CURVES][32];
    cal_plot_series speedups[CURVES];
    for (int c = 0; c < CURVES; c++) {
        snprintf(names[c], sizeof names[c], "%d joints", b->curves[c].joints);
        speedups[c] = (cal_plot_series){
            names[c], b->curves[c].processors, b->curves[c].speedup, (size_t)b->curves[c].count, c, false, false};
    }
    const cal_plot_panel panels[] = {
        {"Depth of mobiles (Figure 8)", "log₁₀ of joints", "depth", false, depths, 2},
        {"Time of an evaluation on MANNA, estimated (Figure 9)", "log₁₀ of joints", "ms", true, times, 2},
        {"Time of an evaluation on this machine", "log₁₀ of joints", "µs", true, heres, 2},
        {"Speed-up, estimated (Figure 10)", "processors", "speed-up", false, speedups, CURVES}};
    return cal_plot_save(path, panels, (int)CAL_ARRAY_COUNT(panels));
}

// --- The command ----------------------------------------------------------------------------------------------------------

static void print_details(void) {
    printf(
        "\nWhat crosses between links is counted where it is sent, and predicted from the plan; a status of 1 says "
        "that they\n"
        "differ. On threads a message is a hand-over between two cores; with 'mpirun -n 4 calder bench distribution\n"
        "--machine mpi' it is one of MPI. One joint per lane, so that numbers are those of an edge. Where there are "
        "more\n"
        "processors than cores nothing is timed but the tables' runs.\n");
}

static int run_all(distribution_bench* b) {
    cal_error error = {CAL_OK, ""};
    cal_model* chain = NULL;
    cal_progress progress = cal_progress_start("running");
    error.status = run_tables(b, &error);
    cal_progress_show(&progress, 0.4);
    if (error.status == CAL_OK) error.status = cal_model_generate("chain:n=8", &chain, &error);
    if (error.status == CAL_OK && b->processors > 1 && b->timed)
        error.status = cal_machine_measure(b->machine, chain, &b->costs, &error);
    cal_progress_show(&progress, 0.6);
    if (error.status == CAL_OK) error.status = run_sizes(b, &error);
    cal_progress_end(&progress);
    cal_model_destroy(chain);
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

static int run(int argc, char** argv) {
    distribution_bench* b = calloc(1, sizeof *b);
    if (!b) return cal_complain(CAL_EXIT_FAILED, "no memory for a benchmark");
    const char* plot = NULL;
    bool json = false;
    b->machine_name = "threads";
    b->time = 0.1;
    const cal_option options[] = {
        CAL_OPTION_LINE_MACHINE(&b->machine_name, "who computes: threads[:N][,pinned] or mpi"),
        {"time", CAL_OPTION_NUMBER, &b->time, "S", "how long the tables' runs simulate, s", 0.01, 100, NULL},
        CAL_OPTION_LINE_PLOT(&plot, "draw Figures 8 to 10 as an SVG file"),
        CAL_OPTION_LINE_JSON(&json),
    };
    const cal_usage usage = {
        "bench distribution",
        "",
        "Makes Jung's Tables VIII and IX and Figures 8 to 10: messages between links, sent beside predicted, and "
        "times of evaluations on many processors.",
        print_details,
        "calder bench distribution --machine threads:4 --plot distribution.svg",
        0,
        0};
    int count = 0;
    int status = cal_options_parse(&usage, options, CAL_ARRAY_COUNT(options), argc, argv, &count);
    if (status == CAL_OPTIONS_PARSED) {
        status = cal_plot_check(plot);
        if (status == CAL_EXIT_DONE) status = cal_machine_open(b->machine_name, "1", NULL, &b->machine);
        if (status == CAL_EXIT_DONE) {
            b->processors = cal_machine_processors(b->machine);
            b->timed = b->processors <= sysconf(_SC_NPROCESSORS_ONLN);
            status = run_all(b);
        }
        if (status == CAL_EXIT_DONE) {
            if (json) {
                print_json(b);
            } else {
                print_tables(b);
                print_figures(b);
            }
            status = draw(b, plot);
        }
        if (status == CAL_EXIT_DONE && !(cal_mobile_run_agrees(&b->gear) && cal_mobile_run_agrees(&b->central)))
            status = cal_complain(CAL_EXIT_FAILED, "messages that were sent are not those that were predicted");
        if (status == CAL_EXIT_DONE) status = cal_finish_output(status);
    }
    cal_machine_destroy(b->machine);
    free(b);
    return status;
}

const cal_benchmark cal_bench_distribution = {
    "distribution", "Jung's tables of messages and figures of times, sent beside predicted", run};
