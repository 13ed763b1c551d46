// `calder bench precision`: what error a tolerance gives, and what it costs, for every solver that has one, beside SUNDIALS'.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "model_file.h"
#include "plot.h"
#include "precision_peers.h"
#include "progress.h"
#include "result.h"

enum { SAMPLES = 20, MOST_SOLVERS = 16, MOST_TOLERANCES = 12, COLORS = 6 };
static const char REFERENCE[] = "rkf", SECOND_REFERENCE[] = "gear";
static const double REFERENCE_TOLERANCE = 1e-13;
static const double REFERENCE_MARGIN = 10.0; // times the references' difference: an error below that says nothing

typedef struct cell {
    bool done; // the run came to its end
    double error, cpu;
    int64_t evaluations;
} cell;

typedef struct table {
    const cal_model* model;
    const char* specification;
    double time;
    int least, most; // tolerances 10^−least … 10^−most
    int64_t limit;   // evaluations
    int number_count;
    double *reference, *numbers; // SAMPLES rows of q and v
    double uncertainty;
    int solver_count, peer_from;
    const char* solvers[MOST_SOLVERS];
    cell cells[MOST_SOLVERS][MOST_TOLERANCES];
} table;

static double tolerance_at(const table* t, int i) {
    static const double tolerances[MOST_TOLERANCES] = {1e-1, 1e-2, 1e-3, 1e-4,  1e-5,  1e-6,
                                                       1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12};
    return tolerances[t->least + i - 1];
}

static double cpu_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// The largest error of any number in any sample by its weight, 1 + |y|: the tolerance's own measure. A quaternion and its opposite are
// one rotation, but all runs begin with the same one.
static double find_error(const table* t, const double* numbers) {
    double worst = 0.0;
    for (int i = 0; i < SAMPLES * t->number_count; i++) {
        const double error = fabs(numbers[i] - t->reference[i]) / (1.0 + fabs(t->reference[i]));
        if (!(error <= worst)) worst = error;
    }
    return worst;
}

static cal_status run_own(const table* t, const char* solver, double tolerance, double* numbers, int64_t* evaluations,
                          cal_error* error) {
    cal_sim_def def = cal_default_sim_def();
    def.solver = solver;
    def.relative = tolerance;
    def.contact = false;
    def.evaluation_limit = t->limit;
    cal_sim* sim = NULL;
    cal_sim_report report = {0};
    const int q_count = cal_model_q_count(t->model), v_count = cal_model_v_count(t->model);
    cal_status status = cal_sim_create(t->model, &def, &sim, error);
    for (int k = 1; k <= SAMPLES && !status; k++) {
        status = cal_sim_advance(sim, t->time * k / SAMPLES, error);
        double* row = numbers + (size_t)(k - 1) * (size_t)t->number_count;
        memcpy(row, cal_sim_q(sim), (size_t)q_count * sizeof *row);
        memcpy(row + q_count, cal_sim_v(sim), (size_t)v_count * sizeof *row);
    }
    if (sim) cal_sim_get_report(sim, &report);
    *evaluations = report.evaluations;
    cal_sim_destroy(sim);
    return status;
}

static void run_cell(table* t, int solver, int at, cal_error* error) {
    cell* c = &t->cells[solver][at];
    const double begin = cpu_now(), tolerance = tolerance_at(t, at);
    const cal_status status = solver < t->peer_from
                                  ? run_own(t, t->solvers[solver], tolerance, t->numbers, &c->evaluations, error)
                                  : cal_precision_peer_run(solver - t->peer_from, t->model, tolerance, t->time, SAMPLES,
                                                           t->numbers, &c->evaluations, error);
    c->cpu = cpu_now() - begin;
    c->done = status == CAL_OK;
    if (c->done) c->error = find_error(t, t->numbers);
}

// The truth is Fehlberg's method at 1e-13; how far it is from Gear's at the same tolerance says how true.
static int find_reference(table* t) {
    cal_error error = {CAL_OK, ""};
    int64_t evaluations = 0;
    table unlimited = *t;
    unlimited.limit = 0;
    cal_status status = run_own(&unlimited, REFERENCE, REFERENCE_TOLERANCE, t->reference, &evaluations, &error);
    if (!status) status = run_own(&unlimited, SECOND_REFERENCE, REFERENCE_TOLERANCE, t->numbers, &evaluations, &error);
    if (status)
        return cal_complain(CAL_EXIT_FAILED, "no reference: %s", error.text[0] ? error.text : cal_status_text(status));
    t->uncertainty = find_error(t, t->numbers);
    return CAL_EXIT_DONE;
}

static void list_solvers(table* t) {
    for (int i = 0; cal_solver_name(i) && t->solver_count < MOST_SOLVERS; i++)
        if (strcmp(cal_solver_name(i), "auto") != 0 && !cal_solver_has_fixed_step(cal_solver_name(i)))
            t->solvers[t->solver_count++] = cal_solver_name(i);
    t->peer_from = t->solver_count;
    const bool is_tree = cal_model_constraint_count(t->model) == 0;
    for (int i = 0; is_tree && cal_precision_peer_name(i) && t->solver_count < MOST_SOLVERS; i++)
        t->solvers[t->solver_count++] = cal_precision_peer_name(i);
}

static bool is_known(const table* t, const cell* c) { return c->done && c->error > REFERENCE_MARGIN * t->uncertainty; }

static void print_table(const table* t) {
    const int count = t->most - t->least + 1;
    printf(
        "%s, %g s, on %s\nerror: largest of |y − right| / (1 + |right|) in %d samples; right: %s at %g, %.1e from %s\n"
        "each cell: error / evaluations; '<': below what the reference can tell; '-': not within %lld evaluations a "
        "sample\n\n%-12s",
        t->specification, t->time, cal_host_text(), (int)SAMPLES, REFERENCE, REFERENCE_TOLERANCE, t->uncertainty,
        SECOND_REFERENCE, (long long)t->limit, "");
    for (int i = 0; i < count; i++) printf(" %-17.0e", tolerance_at(t, i));
    printf("\n");
    for (int s = 0; s < t->solver_count; s++) {
        printf("%-12s", t->solvers[s]);
        for (int i = 0; i < count; i++) {
            const cell* c = &t->cells[s][i];
            char text[40] = "-";
            if (c->done)
                snprintf(text, sizeof text, "%s%.1e / %lld", is_known(t, c) ? "" : "<",
                         is_known(t, c) ? c->error : REFERENCE_MARGIN * t->uncertainty, (long long)c->evaluations);
            printf(" %-17s", text);
        }
        printf("\n");
    }
}

// Evaluations for an error, between the two tolerances around it, as powers; NAN: outside of what was run.
static double evaluations_for(const table* t, int solver, double error) {
    for (int i = 0; i < t->most - t->least; i++) {
        const cell *a = &t->cells[solver][i], *b = a + 1;
        if (!is_known(t, a) || !is_known(t, b) || !(a->error >= error && error >= b->error)) continue;
        const double part = a->error > b->error ? log(a->error / error) / log(a->error / b->error) : 0.0;
        return exp(log((double)a->evaluations) * (1.0 - part) + log((double)b->evaluations) * part);
    }
    return NAN;
}

static void print_equal_errors(const table* t) {
    printf("\nevaluations for an error, between the two runs around it\n\n%-12s", "");
    for (int k = 2; k <= 9; k++) printf(" 1e-%02d  ", k);
    printf("\n");
    for (int s = 0; s < t->solver_count; s++) {
        printf("%-12s", t->solvers[s]);
        for (int k = 2; k <= 9; k++) {
            const double count = evaluations_for(t, s, exp(-k * log(10.0)));
            if (isnan(count))
                printf(" %-7s", "-");
            else
                printf(" %-7.0f", count);
        }
        printf("\n");
    }
}

static void print_json(const table* t) {
    cal_json json = cal_result_open("bench precision");
    cal_json_text(&json, "model", t->specification);
    cal_json_number(&json, "time", t->time);
    cal_json_integer(&json, "samples", SAMPLES);
    cal_json_number(&json, "reference_error", t->uncertainty);
    cal_json_open(&json, "rows", '[');
    for (int s = 0; s < t->solver_count; s++)
        for (int i = 0; i <= t->most - t->least; i++) {
            const cell* c = &t->cells[s][i];
            cal_json_open(&json, NULL, '{');
            cal_json_text(&json, "solver", t->solvers[s]);
            cal_json_number(&json, "tol", tolerance_at(t, i));
            cal_json_number(&json, "error", c->done ? c->error : NAN);
            cal_json_integer(&json, "evaluations", c->evaluations);
            cal_json_number(&json, "cpu_s", c->cpu);
            cal_json_close(&json, '}');
        }
    cal_json_close(&json, ']');
    cal_json_close(&json, '}');
}

// Evaluations, and CPU time, against the number of digits that are right; peers dashed.
static int draw(const table* t, const char* path) {
    static double digits[MOST_SOLVERS][MOST_TOLERANCES], values[2][MOST_SOLVERS][MOST_TOLERANCES];
    static cal_plot_series series[2][MOST_SOLVERS];
    cal_plot_panel panels[2];
    char titles[2][160];
    if (!path) return CAL_EXIT_DONE;
    for (int k = 0; k < 2; k++) {
        for (int s = 0; s < t->solver_count; s++) {
            for (int i = 0; i <= t->most - t->least; i++) {
                const cell* c = &t->cells[s][i];
                digits[s][i] = is_known(t, c) ? -log10(c->error) : NAN;
                values[k][s][i] = !is_known(t, c) ? NAN : k == 0 ? (double)c->evaluations : c->cpu;
            }
            series[k][s] = (cal_plot_series){t->solvers[s], digits[s],   values[k][s], (size_t)(t->most - t->least + 1),
                                             s % COLORS,    s >= COLORS, true};
        }
        snprintf(titles[k], sizeof titles[k], "%s of %.80s, %g s", k == 0 ? "Evaluations" : "CPU time, s,",
                 t->specification, t->time);
        panels[k] = (cal_plot_panel){titles[k], "digits that are right", k == 0 ? "evaluations" : "CPU s", true,
                                     series[k], t->solver_count};
    }
    return cal_plot_save(path, panels, 2);
}

static int run_all(table* t) {
    const size_t count = (size_t)SAMPLES * (size_t)t->number_count + 1;
    const int tolerances = t->most - t->least + 1;
    t->reference = calloc(count, sizeof *t->reference);
    t->numbers = calloc(count, sizeof *t->numbers);
    if (!t->reference || !t->numbers) return cal_complain(CAL_EXIT_FAILED, "no memory");
    int status = find_reference(t);
    list_solvers(t);
    cal_progress progress = cal_progress_start("running");
    for (int s = 0; s < t->solver_count && status == CAL_EXIT_DONE; s++)
        for (int i = 0; i < tolerances; i++) {
            cal_error error = {CAL_OK, ""};
            run_cell(t, s, i, &error);
            cal_progress_show(&progress, ((double)s * tolerances + i + 1) / (t->solver_count * tolerances));
        }
    cal_progress_end(&progress);
    return status;
}

static void print_details(void) {
    printf("\nEvery solver that keeps a tolerance runs with each of them; so do SUNDIALS' CVODE (Adams, BDF) and\n"
           "ARKODE (explicit Runge-Kutta of order 5) where the build has them and the model is a tree. What is\n"
           "wrong is measured against %s at %g. Evaluations count those for Jacobians.\n",
           REFERENCE, REFERENCE_TOLERANCE);
}

static int run(int argc, char** argv) {
    table* t = calloc(1, sizeof *t);
    if (!t) return cal_complain(CAL_EXIT_FAILED, "no memory");
    *t = (table){.time = 2.0, .specification = "mobile:s=2,l=3,o=4"};
    const char* plot = NULL;
    bool as_json = false;
    int64_t least = 2, most = 9;
    cal_model_options files = {0};
    t->limit = 200000;
    const cal_option options[] = {
        {"time", CAL_OPTION_NUMBER, &t->time, "S", "simulated seconds", 1e-3, 1e4, NULL},
        {"from", CAL_OPTION_COUNT, &least, "N", "the largest tolerance: 1e-N", 1, MOST_TOLERANCES, NULL},
        {"to", CAL_OPTION_COUNT, &most, "N", "the smallest tolerance: 1e-N", 1, MOST_TOLERANCES, NULL},
        {"limit", CAL_OPTION_COUNT, &t->limit, "N",
         "evaluations between two samples; a run that needs more is left out", 1, 1e12, NULL},
        CAL_OPTION_LINE_PLOT(&plot, "draw evaluations and CPU time against the error as an SVG file"),
        CAL_OPTION_LINE_JSON(&as_json),
        CAL_MODEL_FILE_OPTIONS(files),
    };
    const cal_usage usage = {"bench precision",
                             "[MODEL]",
                             "What error a tolerance gives and what it costs, for all solvers and SUNDIALS'.",
                             print_details,
                             "calder bench precision mobile:s=2,l=3,o=4 --time 2 --plot precision.svg",
                             0,
                             1};
    int count = 0;
    int status = cal_options_parse(&usage, options, CAL_ARRAY_COUNT(options), argc, argv, &count);
    cal_model* model = NULL;
    cal_read_report* report = NULL;
    if (status == CAL_OPTIONS_PARSED) {
        t->least = (int)least, t->most = (int)most;
        if (count > 0) t->specification = argv[1];
        status = most < least ? cal_complain(CAL_EXIT_MISTAKE, "--to %lld is a larger tolerance than --from %lld",
                                             (long long)most, (long long)least)
                              : cal_plot_check(plot);
        if (status == CAL_EXIT_DONE) status = cal_model_open(t->specification, &files, &model, &report);
        if (status == CAL_EXIT_DONE) {
            t->model = model;
            t->number_count = cal_model_q_count(model) + cal_model_v_count(model);
            status = run_all(t);
        }
        if (status == CAL_EXIT_DONE) status = draw(t, plot);
        if (status == CAL_EXIT_DONE && as_json) print_json(t);
        if (status == CAL_EXIT_DONE && !as_json) print_table(t), print_equal_errors(t);
        if (status == CAL_EXIT_DONE) status = cal_finish_output(CAL_EXIT_DONE);
    }
    cal_read_report_destroy(report);
    cal_model_destroy(model);
    free(t->reference);
    free(t->numbers);
    free(t);
    return status;
}

const cal_benchmark cal_bench_precision = {"precision",
                                           "what error a tolerance gives and what it costs, beside SUNDIALS'", run};
