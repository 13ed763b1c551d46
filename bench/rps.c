// `calder bench rps`: the figures of Bicchi's paper on randomized parallel simulation.
//
//   3      four processors from close up: rps_runs.c
//   4, 6   accuracy over the gain K_p for 1, 5, 10 … processors: the cart on its rail, and the five-bar
//   5, 7   time for a fixed accuracy: the largest step, with the smallest gain, that reaches it
//
// Accuracy is the root of the mean square of the constraints' error over a run and over the seeds. On the rail it is that of
// C = r² − R², as in the paper; the rows of the library are (r² − R²) / 2R. Time is that of one processor: every instance
// has its own. What randomization costs is in rps_cost.c.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "plot.h"
#include "progress.h"
#include "quantities.h"
#include "result.h"
#include "rps_cost.h"
#include "rps_runs.h"
#include "timing.h"

enum { MOST_GAINS = 9, MOST_TARGETS = 4, MOST_STEPS = 8, MOST_PROCESSORS = 8, MOST_SETTINGS = 5, COLORS = 6 };
static const double gains[MOST_GAINS] = {0, 10, 50, 100, 150, 250, 350, 500, 1000};
static const double targets[MOST_TARGETS] = {6e-3, 1e-3, 3e-4, 1e-4};
// Of --sensitivity.
static const double radii[MOST_SETTINGS] = {0.25, 0.5, 1, 2, 4};
static const int intervals[MOST_SETTINGS] = {5, 10, 20, 40, 80};

// Figure 4: an independent computation with the same settings, and what the paper's figure shows.
static const struct {
    int processors;
    double gain, expected, paper; // 0: none
} known[] = {
#include "tables/bicchi_figure4.inc"
};

typedef struct outcome {
    double rms, lower, median, upper; // over the seeds; quartiles
    double evaluation;
} outcome;

typedef struct bench {
    int64_t figure, seeds;
    const char *processors, *plot, *machine_name, *stabilize;
    double time, radius, alpha;
    int64_t interval;
    bool json, cost, sensitivity;
    cal_texts models;
    const char* model_name;
    cal_model* model;
    cal_machine* machine;
    double factor; // from the library's rows to the paper's C
    int counts[MOST_PROCESSORS], count;
    outcome accuracy[MOST_PROCESSORS][MOST_GAINS];
    outcome of_radius[MOST_SETTINGS][MOST_GAINS], of_interval[MOST_SETTINGS][MOST_GAINS];
    double steps[MOST_PROCESSORS][MOST_TARGETS]; // largest step, 0: none reached the target
    double gain[MOST_PROCESSORS][MOST_TARGETS];
    double evaluation; // s, of one instance
} bench;

static int measure(const bench* b, int processors, double gain, double step, int seeds, outcome* out) {
    double values[64], squares = 0;
    cal_error error = {CAL_OK, ""};
    *out = (outcome){0};
    if (seeds > 64) seeds = 64;
    for (int seed = 1; seed <= seeds; seed++) {
        cal_rps_def def = cal_default_rps_def();
        cal_rps* rps = NULL;
        cal_rps_report report;
        def.instances = processors;
        def.machine = b->machine;
        def.step = step;
        def.interval = (int)b->interval;
        // The radii belong to a step of 5e-4.
        def.position_radius *= b->radius * step / 5e-4;
        def.velocity_radius *= b->radius * step / 5e-4;
        def.everywhere = true; // as the paper's instances are
        def.alpha = b->alpha;
        def.stabilize = b->stabilize;
        def.gain = gain;
        def.seed = (uint64_t)seed;
        error.status = cal_rps_create(b->model, &def, &rps, &error);
        if (error.status != CAL_OK) return cal_complain_error(&error);
        const cal_status status = cal_rps_advance(rps, b->time, &error);
        cal_rps_get_report(rps, &report);
        cal_rps_destroy(rps);
        if (status != CAL_OK && status != CAL_NOT_FINITE) return cal_complain_error(&error);
        const double value = status == CAL_OK ? b->factor * report.error_rms : (double)INFINITY;
        values[seed - 1] = value;
        squares += value * value;
        out->evaluation = report.steps > 0 ? report.wall / (double)report.steps / processors : 0;
        if (processors == 1) {
            // Nothing is random about one.
            *out = (outcome){value, value, value, value, out->evaluation};
            return CAL_EXIT_DONE;
        }
    }
    out->rms = sqrt(squares / seeds);
    out->median = cal_median(values, seeds); // and they are sorted
    out->lower = values[(seeds - 1) / 4];
    out->upper = values[seeds - 1 - (seeds - 1) / 4];
    return CAL_EXIT_DONE;
}

static int run_accuracy(bench* b) {
    cal_progress progress = cal_progress_start("running");
    int status = CAL_EXIT_DONE;
    for (int p = 0; p < b->count && status == CAL_EXIT_DONE; p++)
        for (int k = 0; k < MOST_GAINS && status == CAL_EXIT_DONE; k++) {
            status = measure(b, b->counts[p], gains[k], 5e-4, (int)b->seeds, &b->accuracy[p][k]);
            cal_progress_show(&progress, (p * MOST_GAINS + k + 1.0) / (b->count * MOST_GAINS));
        }
    cal_progress_end(&progress);
    return status;
}

// The last number of processors, with other radii, and with other intervals.
static int run_sensitivity(bench* b) {
    cal_progress progress = cal_progress_start("running");
    int status = CAL_EXIT_DONE;
    for (int s = 0; s < 2 * MOST_SETTINGS; s++)
        for (int k = 0; k < MOST_GAINS && status == CAL_EXIT_DONE; k++) {
            bench other = *b;
            const bool of_radius = s < MOST_SETTINGS;
            if (of_radius)
                other.radius = radii[s];
            else
                other.interval = intervals[s - MOST_SETTINGS];
            status = measure(&other, b->counts[b->count - 1], gains[k], 5e-4, (int)b->seeds,
                             of_radius ? &b->of_radius[s][k] : &b->of_interval[s - MOST_SETTINGS][k]);
            cal_progress_show(&progress, (s * MOST_GAINS + k + 1.0) / (2 * MOST_SETTINGS * MOST_GAINS));
        }
    cal_progress_end(&progress);
    return status;
}

static bool all_reached(const bench* b, int p) {
    for (int t = 0; t < MOST_TARGETS; t++)
        if (b->steps[p][t] == 0) return false;
    return true;
}

static int run_time(bench* b) {
    cal_progress progress = cal_progress_start("running");
    int status = CAL_EXIT_DONE;
    for (int p = 0; p < b->count; p++) {
        double step = 4e-3;
        for (int s = 0; s < MOST_STEPS && status == CAL_EXIT_DONE && !all_reached(b, p); s++, step /= 2) {
            const double limit = cal_rps_limit(b->stabilize, "euler", step);
            for (int k = 1; k < MOST_GAINS && status == CAL_EXIT_DONE && gains[k] < limit; k++) {
                outcome out;
                status = measure(b, b->counts[p], gains[k], step, b->seeds < 3 ? (int)b->seeds : 3, &out);
                if (b->counts[p] == 1) b->evaluation = out.evaluation;
                for (int t = 0; t < MOST_TARGETS; t++)
                    if (b->steps[p][t] == 0 && out.rms <= targets[t]) b->steps[p][t] = step, b->gain[p][t] = gains[k];
            }
            cal_progress_show(&progress, (p * MOST_STEPS + s + 1.0) / (b->count * MOST_STEPS));
        }
    }
    cal_progress_end(&progress);
    return status;
}

// --- Output ------------------------------------------------------------------------------------------------------------

// Of its own settings alone.
static double find_known(const bench* b, int processors, double gain) {
    const bool same = b->figure == 4 && strcmp(b->model_name, "rail") == 0 && b->time == 10 && b->radius == 1 &&
                      b->interval == 20 && b->alpha == 1 && strcmp(b->stabilize, "literal") == 0;
    for (size_t i = 0; same && i < sizeof known / sizeof known[0]; i++)
        if (known[i].processors == processors && known[i].gain == gain) return known[i].expected;
    return 0;
}

static void print_paper(void) {
    printf("\nThe paper's figure shows");
    for (size_t i = 0, shown = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].paper > 0)
            printf("%s%g at K_p %g (N = %d)", shown++ > 0 ? ", " : " ", known[i].paper, known[i].gain,
                   known[i].processors);
    printf(".\nOne processor settles at C = 2 v² step whatever K_p is; below K_p 150 seeds differ by a factor of ten "
           "and more.\n");
}

static void print_accuracy(const bench* b) {
    printf("accuracy over K_p, explicit Euler with steps of 5e-4 s, %g s, rms over %lld seeds (in brackets the "
           "median)\n\n",
           b->time, (long long)b->seeds);
    printf("%8s", "K_p");
    for (int p = 0; p < b->count; p++)
        printf("  %9s N = %-2d%9s", "", b->counts[p], find_known(b, b->counts[p], 50) > 0 ? "expected" : "");
    printf("\n");
    for (int k = 0; k < MOST_GAINS; k++) {
        printf("%8g", gains[k]);
        for (int p = 0; p < b->count; p++) {
            const double expected = find_known(b, b->counts[p], gains[k]);
            printf("  %8.1e (%7.1e)", b->accuracy[p][k].rms, b->accuracy[p][k].median);
            if (expected > 0)
                printf(" %7.1e", expected);
            else
                printf(" %7s", "");
        }
        printf("\n");
    }
    if (b->figure == 4) print_paper();
}

static void print_sensitivity(const bench* b) {
    printf("%s, %d processors: rms accuracy over %lld seeds for other radii and other intervals; figure %lld has "
           "radius × 1 "
           "and T = 20 steps\n\n%8s",
           b->model_name, b->counts[b->count - 1], (long long)b->seeds, (long long)b->figure, "K_p");
    for (int s = 0; s < MOST_SETTINGS; s++) printf("   × %-5g", radii[s]);
    printf("  ");
    for (int s = 0; s < MOST_SETTINGS; s++) printf("   T = %-3d", intervals[s]);
    printf("\n");
    for (int k = 0; k < MOST_GAINS; k++) {
        printf("%8g", gains[k]);
        for (int s = 0; s < MOST_SETTINGS; s++) printf("  %7.1e", b->of_radius[s][k].rms);
        printf("  ");
        for (int s = 0; s < MOST_SETTINGS; s++) printf("  %7.1e", b->of_interval[s][k].rms);
        printf("\n");
    }
}

static void print_time(const bench* b) {
    printf(
        "%s: time of one processor for %g s, explicit Euler, the largest step that reaches an accuracy and its K_p\n\n",
        b->model_name, b->time);
    printf("%10s", "accuracy");
    for (int p = 0; p < b->count; p++) printf("  %16s N = %-2d", "", b->counts[p]);
    printf("\n");
    for (int t = 0; t < MOST_TARGETS; t++) {
        printf("%10.0e", targets[t]);
        for (int p = 0; p < b->count; p++) {
            char text[32];
            if (b->steps[p][t] == 0)
                printf("  %22s", "not reached");
            else
                printf("  %7s (%.2g s, %4g)",
                       cal_duration_text(b->time / b->steps[p][t] * b->evaluation, text, sizeof text), b->steps[p][t],
                       b->gain[p][t]);
        }
        printf("\n");
    }
}

static void print_outcome(cal_json* json, const outcome* out) {
    cal_json_number(json, "accuracy", out->rms);
    cal_json_number(json, "lower", out->lower);
    cal_json_number(json, "median", out->median);
    cal_json_number(json, "upper", out->upper);
}

static void print_json_rows(const bench* b, cal_json* json) {
    const bool accuracy = b->figure % 2 == 0;
    for (int p = 0; p < b->count; p++)
        for (int k = 0; k < (accuracy ? MOST_GAINS : MOST_TARGETS); k++) {
            cal_json_open(json, NULL, '{');
            cal_json_integer(json, "processors", b->counts[p]);
            if (accuracy) {
                cal_json_number(json, "gain", gains[k]);
                print_outcome(json, &b->accuracy[p][k]);
                const double expected = find_known(b, b->counts[p], gains[k]);
                if (expected > 0) cal_json_number(json, "expected", expected);
            } else {
                cal_json_number(json, "accuracy", targets[k]);
                cal_json_boolean(json, "reached", b->steps[p][k] > 0);
                cal_json_number(json, "step", b->steps[p][k]);
                cal_json_number(json, "gain", b->gain[p][k]);
                cal_json_number(json, "seconds", b->steps[p][k] > 0 ? b->time / b->steps[p][k] * b->evaluation : 0);
            }
            cal_json_close(json, '}');
        }
}

static void print_json_sensitivity(const bench* b, cal_json* json) {
    for (int s = 0; s < 2 * MOST_SETTINGS; s++)
        for (int k = 0; k < MOST_GAINS; k++) {
            const bool of_radius = s < MOST_SETTINGS;
            cal_json_open(json, NULL, '{');
            cal_json_integer(json, "processors", b->counts[b->count - 1]);
            cal_json_number(json, "radius", of_radius ? radii[s] : b->radius);
            cal_json_integer(json, "interval", of_radius ? b->interval : intervals[s - MOST_SETTINGS]);
            cal_json_number(json, "gain", gains[k]);
            print_outcome(json, of_radius ? &b->of_radius[s][k] : &b->of_interval[s - MOST_SETTINGS][k]);
            cal_json_close(json, '}');
        }
}

static void print_json(const bench* b) {
    cal_json json = cal_result_open("bench rps");
    cal_json_integer(&json, "figure", b->figure);
    cal_json_text(&json, "model", b->model_name);
    cal_json_integer(&json, "seeds", b->seeds);
    cal_json_number(&json, "time", b->time);
    cal_json_number(&json, "radius", b->radius);
    cal_json_integer(&json, "interval", b->interval);
    cal_json_text(&json, "stabilize", b->stabilize);
    cal_json_open(&json, "rows", '[');
    if (b->sensitivity)
        print_json_sensitivity(b, &json);
    else
        print_json_rows(b, &json);
    cal_json_close(&json, ']');
    cal_json_close(&json, '}');
}

// What a plot needs while it is written.
enum { MOST_SERIES = 2 * MOST_PROCESSORS };
typedef struct drawing {
    char names[MOST_SERIES][48], title[2][200];
    double x[MOST_TARGETS], known[MOST_SERIES][MOST_GAINS], y[MOST_SERIES][MOST_GAINS];
    cal_plot_series series[MOST_SERIES];
    cal_plot_panel panels[2];
} drawing;

static void draw_figure(const bench* b, drawing* d) {
    const bool accuracy = b->figure % 2 == 0;
    for (int t = 0; t < MOST_TARGETS; t++) d->x[t] = log10(targets[t]);
    for (int p = 0; p < b->count; p++) {
        snprintf(d->names[p], sizeof d->names[p], b->counts[p] == 1 ? "1 processor" : "%d processors", b->counts[p]);
        for (int k = 0; k < (accuracy ? MOST_GAINS : MOST_TARGETS); k++)
            d->y[p][k] = accuracy             ? b->accuracy[p][k].rms
                         : b->steps[p][k] > 0 ? b->time / b->steps[p][k] * b->evaluation
                                              : (double)NAN;
        d->series[p] = (cal_plot_series){.name = d->names[p],
                                         .x = accuracy ? gains : d->x,
                                         .y = d->y[p],
                                         .count = accuracy ? MOST_GAINS : MOST_TARGETS,
                                         .color = p % COLORS,
                                         .marked = true};
    }
    int count = b->count;
    for (int p = 0; p < b->count && b->figure == 4; p++) {
        if (find_known(b, b->counts[p], 50) == 0) continue;
        snprintf(d->names[count], sizeof d->names[count], "%d, expected", b->counts[p]);
        size_t points = 0;
        for (int k = 0; k < MOST_GAINS; k++) {
            const double expected = find_known(b, b->counts[p], gains[k]);
            if (expected > 0) d->known[count][points] = gains[k], d->y[count][points++] = expected;
        }
        d->series[count] = d->series[p];
        d->series[count].x = d->known[count];
        d->series[count].count = points;
        d->series[count].name = d->names[count];
        d->series[count].y = d->y[count];
        d->series[count].marked = false;
        d->series[count++].dashed = true;
    }
    if (accuracy)
        snprintf(d->title[0], sizeof d->title[0], "Figure %lld: accuracy of %s over the gain, rms over %lld seed%s",
                 (long long)b->figure, b->model_name, (long long)b->seeds, b->seeds == 1 ? "" : "s");
    else
        snprintf(d->title[0], sizeof d->title[0], "Figure %lld: time of one processor for %g s of %s",
                 (long long)b->figure, b->time, b->model_name);
    d->panels[0] = (cal_plot_panel){d->title[0],
                                    accuracy ? "K_p" : "log10 of the accuracy that is wanted: finer to the left",
                                    accuracy ? "rms error of the constraint" : "time, s; no dot: not reached",
                                    true,
                                    d->series,
                                    count};
}

static void draw_sensitivity(const bench* b, drawing* d) {
    for (int s = 0; s < 2 * MOST_SETTINGS; s++) {
        const bool of_radius = s < MOST_SETTINGS;
        if (of_radius)
            snprintf(d->names[s], sizeof d->names[s], "radii × %g", radii[s]);
        else
            snprintf(d->names[s], sizeof d->names[s], "T = %d steps", intervals[s - MOST_SETTINGS]);
        for (int k = 0; k < MOST_GAINS; k++)
            d->y[s][k] = of_radius ? b->of_radius[s][k].rms : b->of_interval[s - MOST_SETTINGS][k].rms;
        d->series[s] = (cal_plot_series){.name = d->names[s],
                                         .x = gains,
                                         .y = d->y[s],
                                         .count = MOST_GAINS,
                                         .color = s % MOST_SETTINGS,
                                         .marked = true};
    }
    for (int i = 0; i < 2; i++) {
        snprintf(d->title[i], sizeof d->title[i], "%s, %d processors: accuracy for other %s", b->model_name,
                 b->counts[b->count - 1], i == 0 ? "radii, T = 20 steps" : "intervals T, radii × 1");
        d->panels[i] = (cal_plot_panel){
            d->title[i], "K_p", "rms error of the constraint", true, d->series + i * MOST_SETTINGS, MOST_SETTINGS};
    }
}

static int draw(const bench* b) {
    drawing d = {0};
    if (b->sensitivity)
        draw_sensitivity(b, &d);
    else
        draw_figure(b, &d);
    return cal_plot_save(b->plot, d.panels, b->sensitivity ? 2 : 1);
}

static int read_processors(bench* b) {
    int* counts = NULL;
    b->count = cal_processors_parse(b->processors, &counts);
    if (b->count < 1 || b->count > MOST_PROCESSORS) {
        free(counts);
        return cal_complain(CAL_EXIT_MISTAKE, "--processors '%s' must be one to %d rising numbers, as in 1,5,10",
                            b->processors, MOST_PROCESSORS);
    }
    memcpy(b->counts, counts, (size_t)b->count * sizeof *counts);
    free(counts);
    if (!b->cost && b->figure > 3 && b->figure % 2 == 1 && b->counts[0] != 1)
        return cal_complain(CAL_EXIT_MISTAKE, "--figure %lld needs one processor to measure with: --processors 1,…",
                            (long long)b->figure);
    return CAL_EXIT_DONE;
}

// The rail's figures may be those of the cart, whose C is its pin's.
static int choose_model(bench* b) {
    const bool rail = b->figure <= 5;
    b->model_name = b->figure == 3 ? "cart" : rail ? "rail" : "fivebar";
    b->factor = rail ? 2 : 1;
    if (b->figure == 3 && b->machine_name && strncmp(b->machine_name, "mpi", 3) == 0)
        return cal_complain(CAL_EXIT_MISTAKE, "--figure 3 needs a machine that sees all processors, not ranks");
    if (b->models.count == 0) return CAL_EXIT_DONE;
    const char* name = b->models.items[0];
    if (!rail || b->models.count > 1 || (strcmp(name, "rail") != 0 && strcmp(name, "cart") != 0))
        return cal_complain(CAL_EXIT_MISTAKE, "--model of a figure is rail or cart, and of --figure 3, 4 and 5 alone");
    b->model_name = name;
    return CAL_EXIT_DONE;
}

static int run(int argc, char** argv) {
    bench b = {.figure = 4,
               .seeds = 9,
               .processors = "1,5,10,20",
               .stabilize = "literal",
               .time = 10,
               .radius = 1,
               .alpha = 1,
               .interval = 20};
    const cal_option table[] = {
        {"figure", CAL_OPTION_COUNT, &b.figure, "N",
         "3: four processors from close up; 4 or 6: accuracy over K_p; 5 or 7: time; 3 the cart, 4, 5 the rail, 6, 7 "
         "the "
         "five-bar",
         3, 7, NULL},
        {"sensitivity", CAL_OPTION_FLAG, &b.sensitivity, NULL,
         "of --figure 4 and 6: how accuracy depends on the radii and on the interval, for the last of --processors", 0,
         0, NULL},
        {"cost", CAL_OPTION_FLAG, &b.cost, NULL,
         "instead of a figure: time of a step of one instance alone and of N on N cores, and the share of polls", 0, 0,
         NULL},
        {"model", CAL_OPTION_TEXTS, &b.models, "MODEL",
         "of --figure 3 to 5: rail or cart; of --cost: whose steps; several times [rail fivebar rolling-disk ring:n=8]",
         0, 0, NULL},
        CAL_OPTION_LINE_PROCESSORS(&b.processors, "numbers of instances"),
        {"seeds", CAL_OPTION_COUNT, &b.seeds, "N", "runs of each", 1, 64, NULL},
        {"time", CAL_OPTION_NUMBER, &b.time, "S", "seconds to simulate", 0.01, 1e6, NULL},
        {"radius", CAL_OPTION_NUMBER, &b.radius, "X", "times the radii of the perturbations", 0, 1000, NULL},
        {"interval", CAL_OPTION_COUNT, &b.interval, "N", "steps between polls", 1, 1e6, NULL},
        {"alpha", CAL_OPTION_NUMBER, &b.alpha, "X", "weight of speeds in the residual", 0, 1e6, NULL},
        {"stabilize", CAL_OPTION_TEXT, &b.stabilize, "LAW", "literal (the paper's) or baumgarte (critically damped)", 0,
         0, NULL},
        CAL_OPTION_LINE_MACHINE(&b.machine_name, CAL_MACHINE_HELP),
        CAL_OPTION_LINE_PLOT(&b.plot, "draw the figure as an SVG file"),
        CAL_OPTION_LINE_JSON(&b.json),
    };
    const cal_usage usage = {"bench rps",
                             "",
                             "The figures of Bicchi's paper on randomized parallel simulation.",
                             NULL,
                             "calder bench rps --figure 4 --plot figure4.svg",
                             0,
                             0};
    int count = 0;
    int status = cal_options_parse(&usage, table, CAL_ARRAY_COUNT(table), argc, argv, &count);
    if (status != CAL_OPTIONS_PARSED) return status;
    status = read_processors(&b);
    if (status == CAL_EXIT_DONE) status = cal_ranks_agree(cal_plot_check(b.plot));
    if (status != CAL_EXIT_DONE) return status;
    if (b.cost) {
        const cal_rps_cost cost = {.models = b.models,
                                   .instances = b.counts,
                                   .count = b.count,
                                   .machine = b.machine_name,
                                   .stabilize = b.stabilize,
                                   .time = b.time,
                                   .interval = (int)b.interval,
                                   .runs = (int)b.seeds,
                                   .json = b.json};
        return cal_bench_rps_cost(&cost);
    }
    if (b.sensitivity && b.figure % 2 == 1)
        return cal_complain(CAL_EXIT_MISTAKE, "--sensitivity is for --figure 4 or 6");
    status = choose_model(&b);
    if (status == CAL_EXIT_DONE) status = cal_model_from_argument(b.model_name, &b.model);
    if (status == CAL_EXIT_DONE) status = cal_machine_open(b.machine_name, "1", NULL, &b.machine);
    if (status == CAL_EXIT_DONE && b.figure == 3) {
        status = cal_bench_rps_runs(&(cal_rps_runs){.model = b.model,
                                                    .model_name = b.model_name,
                                                    .machine = b.machine,
                                                    .plot = b.plot,
                                                    .stabilize = b.stabilize,
                                                    .radius = b.radius,
                                                    .interval = (int)b.interval,
                                                    .seed = 1,
                                                    .json = b.json});
        cal_machine_destroy(b.machine);
        cal_model_destroy(b.model);
        return cal_finish_output(status);
    }
    if (status == CAL_EXIT_DONE)
        status = b.sensitivity ? run_sensitivity(&b) : b.figure % 2 == 0 ? run_accuracy(&b) : run_time(&b);
    if (status == CAL_EXIT_DONE) {
        if (b.json)
            print_json(&b);
        else if (b.sensitivity)
            print_sensitivity(&b);
        else if (b.figure % 2 == 0)
            print_accuracy(&b);
        else
            print_time(&b);
        status = draw(&b);
        status = cal_finish_output(status);
    }
    cal_machine_destroy(b.machine);
    cal_model_destroy(b.model);
    return status;
}

const cal_benchmark cal_bench_rps = {"rps", "Bicchi's randomized parallel simulation: the paper's figures 3 to 7", run};
