// `calder bench solvers`: the paper's four sessions (Jung, tables IV to VII), each cell beside the paper's number.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "plot.h"
#include "progress.h"
#include "result.h"
#include "solver_sessions.h"

#define MOST_SESSIONS 4
// Session B has two curves per solver: the variants share the case's number and differ in the word after it.
#define MOST_PANELS 8
#define PANEL_SERIES (2 * CAL_SESSION_SOLVERS)

typedef struct session_result {
    char letter;
    int case_count;
    cal_session_case cases[CAL_SESSION_CASES];
    cal_session_cell cells[CAL_SESSION_CASES][CAL_SESSION_SOLVERS];
} session_result;

static const char* session_choice(int index) {
    static const char* const sessions[] = {"A", "B", "C", "D", "all", NULL};
    return sessions[index];
}

static bool has_result(const cal_session_cell* cell) { return cell->available && cell->stable; }

static void print_session(const session_result* s) {
    bool with_reference = false;
    for (int c = 0; c < s->case_count; c++)
        for (int i = 0; i < CAL_SESSION_SOLVERS; i++) with_reference |= s->cells[c][i].reference > 0;
    printf("session %c: %s\nevaluations per second / paper%s; (highest over any frame at the best tolerance)\n\n%-11s",
           s->letter, cal_session_title(s->letter), with_reference ? " / reference" : "", "");
    for (int i = 0; i < CAL_SESSION_SOLVERS; i++) printf(" %-19s", cal_session_solver_names[i]);
    printf("\n");
    for (int c = 0; c < s->case_count; c++) {
        char upper[CAL_SESSION_SOLVERS][64], lower[CAL_SESSION_SOLVERS][64];
        for (int i = 0; i < CAL_SESSION_SOLVERS; i++) {
            const cal_session_cell* cell = &s->cells[c][i];
            char reference[24] = "";
            if (cell->reference > 0) snprintf(reference, sizeof reference, "/%.4g", cell->reference);
            lower[i][0] = '\0';
            if (has_result(cell)) {
                snprintf(upper[i], sizeof upper[i], "%.4g/%.4g%s", cell->evaluations_per_second, cell->paper,
                         reference);
                snprintf(lower[i], sizeof lower[i], "(%.4g at %.0e)", cell->maximum, cell->tolerance);
            } else {
                snprintf(upper[i], sizeof upper[i], "%s/%.4g%s", cell->available ? "unstable" : "-", cell->paper,
                         reference);
            }
        }
        printf("%-11s", s->cases[c].label);
        for (int i = 0; i < CAL_SESSION_SOLVERS; i++) printf(" %-19s", upper[i]);
        printf("\n%-11s", "");
        for (int i = 0; i < CAL_SESSION_SOLVERS; i++) printf(" %-19s", lower[i]);
        printf("\n");
    }
    printf("\n");
}

static void write_positive(cal_json* json, const char* key, double number) {
    cal_json_number(json, key, number > 0 ? number : NAN);
}

static void print_json(const session_result* sessions, int count) {
    cal_json json = cal_result_open("bench solvers");
    cal_json_open(&json, "rows", '[');
    for (int k = 0; k < count; k++) {
        for (int c = 0; c < sessions[k].case_count; c++) {
            const char letter[] = {sessions[k].letter, '\0'};
            cal_json_open(&json, NULL, '{');
            cal_json_text(&json, "session", letter);
            cal_json_text(&json, "case", sessions[k].cases[c].label);
            cal_json_text(&json, "model", sessions[k].cases[c].specification);
            cal_json_open(&json, "solvers", '{');
            for (int i = 0; i < CAL_SESSION_SOLVERS; i++) {
                const cal_session_cell* cell = &sessions[k].cells[c][i];
                if (!cell->available) continue;
                cal_json_open(&json, cal_session_solver_names[i], '{');
                cal_json_boolean(&json, "stable", cell->stable);
                write_positive(&json, "evaluations_per_second", cell->evaluations_per_second);
                write_positive(&json, "maximum", cell->maximum);
                write_positive(&json, "tol", cell->tolerance);
                write_positive(&json, "paper", cell->paper);
                write_positive(&json, "reference", cell->reference);
                cal_json_close(&json, '}');
            }
            cal_json_close(&json, '}');
            cal_json_close(&json, '}');
        }
    }
    cal_json_close(&json, ']');
    cal_json_close(&json, '}');
}

// The word after the number in a label, "" without one.
static const char* variant_of(const cal_session_case* c) {
    const char* space = strchr(c->label, ' ');
    return space ? space + 1 : "";
}

// One panel's data: the cases of one variant along x, a pair of curves per solver.
typedef struct panel_data {
    char title[128];
    char names[PANEL_SERIES][32];
    double x[CAL_SESSION_CASES];
    double y[PANEL_SERIES][CAL_SESSION_CASES];
    cal_plot_series series[PANEL_SERIES];
} panel_data;

static cal_plot_panel fill_panel(panel_data* data, const session_result* s, const char* variant) {
    size_t count = 0;
    for (int c = 0; c < s->case_count; c++) {
        if (strcmp(variant_of(&s->cases[c]), variant) != 0) continue;
        data->x[count] = strtod(s->cases[c].label, NULL);
        for (int i = 0; i < CAL_SESSION_SOLVERS; i++) {
            const cal_session_cell* cell = &s->cells[c][i];
            size_t ours = 2 * (size_t)i;
            data->y[ours][count] = has_result(cell) ? cell->evaluations_per_second : NAN;
            data->y[ours + 1][count] = cell->paper > 0 ? cell->paper : NAN;
        }
        count++;
    }
    for (int i = 0; i < PANEL_SERIES; i++) {
        snprintf(data->names[i], sizeof data->names[i], "%s%s", cal_session_solver_names[i / 2],
                 i % 2 ? ", paper" : "");
        data->series[i] = (cal_plot_series){data->names[i], data->x, data->y[i], count, i / 2, i % 2 == 1, true};
    }
    snprintf(data->title, sizeof data->title, "Session %c: %s%s%s", s->letter, cal_session_title(s->letter),
             variant[0] ? ", plateaus: " : "", variant);
    return (cal_plot_panel){
        data->title, cal_session_title(s->letter), "evaluations per simulated second", true, data->series,
        PANEL_SERIES};
}

static int draw(const session_result* sessions, int count, const char* path) {
    if (!path) return CAL_EXIT_DONE;
    panel_data* data = calloc(MOST_PANELS, sizeof *data);
    if (!data) return cal_complain(CAL_EXIT_FAILED, "no memory for '%s'", path);
    cal_plot_panel panels[MOST_PANELS];
    int panel_count = 0;
    for (int k = 0; k < count; k++) {
        // Cases of one variant stand together, so a panel starts where the variant changes.
        for (int c = 0; c < sessions[k].case_count && panel_count < MOST_PANELS; c++) {
            const char* variant = variant_of(&sessions[k].cases[c]);
            if (c > 0 && strcmp(variant_of(&sessions[k].cases[c - 1]), variant) == 0) continue;
            panels[panel_count] = fill_panel(&data[panel_count], &sessions[k], variant);
            panel_count++;
        }
    }
    const int status = cal_plot_save(path, panels, panel_count);
    free(data);
    return status;
}

static int run_session(session_result* s, double done, double share, cal_progress* progress) {
    cal_error error = {CAL_OK, ""};
    for (int c = 0; c < s->case_count; c++) {
        for (int i = 0; i < CAL_SESSION_SOLVERS; i++) {
            error.status = cal_session_run_cell(s->letter, c, i, &s->cells[c][i], &error);
            if (error.status != CAL_OK)
                return cal_complain(CAL_EXIT_FAILED, "session %c, case %s, %s: %s", s->letter, s->cases[c].label,
                                    cal_session_solver_names[i],
                                    error.text[0] ? error.text : cal_status_text(error.status));
            double cells = (double)s->case_count * CAL_SESSION_SOLVERS;
            cal_progress_show(progress, done + share * (c * CAL_SESSION_SOLVERS + i + 1) / cells);
        }
    }
    return CAL_EXIT_DONE;
}

static void print_details(void) {
    printf("\nSessions:\n");
    for (int i = 0; i < MOST_SESSIONS; i++)
        printf("  %s  %s\n", session_choice(i), cal_session_title(session_choice(i)[0]));
    printf("\nEach solver swings each mobile for ten seconds with the tolerances 1e-2 … 1e-6. The cheapest run\n"
           "that is stable counts: its energy never rises by more than half the swing's. A cell holds its\n"
           "evaluations of the right-hand side per simulated second, the paper's number, an independent\n"
           "reference's where there is one, and below them the highest rate over any frame, the paper's second\n"
           "measure of interactivity. BDF needs SUNDIALS in the build.\n");
}

static int run(int argc, char** argv) {
    const char *session = "all", *plot = NULL;
    bool as_json = false;
    const cal_option options[] = {
        {"session", CAL_OPTION_CHOICE, &session, "NAME", "which session of the paper", 0, 0, session_choice},
        CAL_OPTION_LINE_PLOT(&plot, "draw ours and the paper's numbers as an SVG file"),
        CAL_OPTION_LINE_JSON(&as_json),
    };
    const cal_usage usage = {"bench solvers",
                             "",
                             "Repeats the paper's comparison of six solvers on mobiles.",
                             print_details,
                             "calder bench solvers --session A --plot solvers.svg",
                             0,
                             0};
    int count = 0;
    int status = cal_options_parse(&usage, options, CAL_ARRAY_COUNT(options), argc, argv, &count);
    if (status != CAL_OPTIONS_PARSED) return status;
    status = cal_plot_check(plot);
    session_result results[MOST_SESSIONS] = {0};
    bool all = strcmp(session, "all") == 0;
    count = all ? MOST_SESSIONS : 1;
    cal_progress progress = cal_progress_start("swinging");
    for (int k = 0; k < count && status == CAL_EXIT_DONE; k++) {
        results[k].letter = all ? session_choice(k)[0] : session[0];
        results[k].case_count = cal_session_cases(results[k].letter, results[k].cases);
        status = run_session(&results[k], (double)k / count, 1.0 / count, &progress);
    }
    cal_progress_end(&progress);
    if (status == CAL_EXIT_DONE) status = draw(results, count, plot);
    if (status != CAL_EXIT_DONE) return status;
    if (as_json) print_json(results, count);
    for (int k = 0; k < count && !as_json; k++) print_session(&results[k]);
    return cal_finish_output(CAL_EXIT_DONE);
}

const cal_benchmark cal_bench_solvers = {"solvers", "the paper's comparison of six solvers, beside the paper's numbers",
                                         run};
