// The paper's four sessions: tables/jung_sessions.csv.
#include "solver_sessions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char* const cal_session_solver_names[CAL_SESSION_SOLVERS] = {"iec", "rki", "rkg", "rkf", "gear", "bdf"};
enum { TOLERANCES = 5 };
static const double tolerances[TOLERANCES] = {1e-2, 1e-3, 1e-4, 1e-5, 1e-6};

enum { FRAMES_PER_SECOND = 30, SECONDS = 10 };
static const int64_t EVALUATIONS_PER_FRAME = 20000; // far beyond every entry of the tables

typedef struct row {
    const char *session, *label, *parameters;
    double paper[CAL_SESSION_SOLVERS], reference[CAL_SESSION_SOLVERS]; // 0: none
} row;

enum { IEC, RKI, RKG, RKF, GEAR, BDF }; // columns
static const row rows[] = {
#include "tables/jung_sessions.inc"
};

// Row number `index` of a session; NULL past the last one.
static const row* find_row(char letter, int index) {
    for (size_t i = 0; index >= 0 && i < sizeof rows / sizeof rows[0]; i++) {
        const char own = rows[i].session[0];
        if ((letter == own || letter == own - 'A' + 'a') && index-- == 0) return &rows[i];
    }
    return NULL;
}

static void write_case(const row* from, cal_session_case* out) {
    snprintf(out->label, sizeof out->label, "%s", from->label);
    snprintf(out->specification, sizeof out->specification, "mobile:a=0.2,b=0.3,c=0.2,rho=2,%s", from->parameters);
}

int cal_session_cases(char letter, cal_session_case cases[CAL_SESSION_CASES]) {
    int count = 0;
    for (; count < CAL_SESSION_CASES && find_row(letter, count); count++)
        write_case(find_row(letter, count), &cases[count]);
    return count;
}

const char* cal_session_title(char letter) {
    static const char* const titles[] = {"links", "chains", "start elongation", "viscous damping"};
    const row* first = find_row(letter, 0);
    return first ? titles[first->session[0] - 'A'] : NULL;
}

static cal_status total_energy(cal_sim* sim, double* energy) {
    double kinetic = 0.0, potential = 0.0;
    const cal_status status = cal_sim_energy(sim, &kinetic, &potential);
    *energy = kinetic + potential;
    return status;
}

// The energy at the start, and how much of it the swing has: the start above the rest at q = 0.
static cal_status measure_start(const cal_model* model, cal_sim* sim, double* energy, double* swing) {
    double rest = 0.0;
    double* numbers = calloc((size_t)(cal_model_q_count(model) + 2 * cal_model_v_count(model)) + 1, sizeof *numbers);
    if (!numbers) return CAL_NO_MEMORY;
    double *q = numbers, *v = q + cal_model_q_count(model), *zero = v + cal_model_v_count(model);
    cal_model_initial(model, q, v, NULL);
    cal_status status = total_energy(sim, energy);
    // A mobile has revolute joints only: as many q as v.
    if (!status) status = cal_sim_set(sim, 0.0, zero, zero, NULL);
    if (!status) status = total_energy(sim, &rest);
    if (!status) status = cal_sim_set(sim, 0.0, q, v, NULL);
    *swing = *energy - rest;
    free(numbers);
    return status;
}

// One run; stable is false for one that gains energy or cannot go on.
static cal_status run(const cal_model* model, const char* solver, double tolerance, bool* stable, double* average,
                      double* maximum, cal_error* error) {
    cal_sim_def def = cal_default_sim_def();
    def.solver = solver;
    def.relative = tolerance;
    def.historic = true;
    def.evaluation_limit = EVALUATIONS_PER_FRAME;
    cal_sim* sim = NULL;
    double start = 0.0, swing = 0.0;
    int64_t before = 0, most = 0;
    cal_sim_report report = {0};
    *stable = false;
    cal_status status = cal_sim_create(model, &def, &sim, error);
    if (status) return status;
    status = measure_start(model, sim, &start, &swing);
    bool good = true;
    for (int frame = 1; !status && good && frame <= SECONDS * FRAMES_PER_SECOND; frame++) {
        double energy = 0.0;
        good = cal_sim_advance(sim, (double)frame / FRAMES_PER_SECOND, NULL) == CAL_OK;
        if (!good) break;
        status = total_energy(sim, &energy);
        good = energy - start <= 0.5 * swing;
        cal_sim_get_report(sim, &report);
        if (report.evaluations - before > most) most = report.evaluations - before;
        before = report.evaluations;
    }
    cal_sim_destroy(sim);
    *stable = good;
    *average = (double)report.evaluations / SECONDS;
    *maximum = (double)most * FRAMES_PER_SECOND;
    return status;
}

static bool solver_available(const char* name) {
    for (int i = 0; cal_solver_name(i); i++)
        if (strcmp(cal_solver_name(i), name) == 0) return true;
    return false;
}

cal_status cal_session_run_cell(char letter, int case_index, int solver, cal_session_cell* cell, cal_error* error) {
    const row* entry = find_row(letter, case_index);
    if (!entry || solver < 0 || solver >= CAL_SESSION_SOLVERS) return CAL_BAD_ARGUMENT;
    *cell = (cal_session_cell){.available = solver_available(cal_session_solver_names[solver]),
                               .paper = entry->paper[solver],
                               .reference = entry->reference[solver]};
    if (!cell->available) return CAL_OK;
    cal_session_case own = {0};
    cal_model* model = NULL;
    write_case(entry, &own);
    cal_status status = cal_model_generate(own.specification, &model, error);
    for (int i = 0; !status && i < TOLERANCES; i++) {
        bool stable = false;
        double average = 0.0, maximum = 0.0;
        status = run(model, cal_session_solver_names[solver], tolerances[i], &stable, &average, &maximum, error);
        if (status || !stable || (cell->stable && average >= cell->evaluations_per_second)) continue;
        cell->stable = true;
        cell->tolerance = tolerances[i];
        cell->evaluations_per_second = average;
        cell->maximum = maximum;
    }
    cal_model_destroy(model);
    return status;
}
