// The paper's four sessions (Jung, tables IV to VII). What is fixed: a = 0.2, b = 0.3, c = 0.2, rho = 2, start 0.8, 10
// s.
#include "bench_solvers_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char* const bench_solver_names[BENCH_SOLVER_COUNT] = {"iec", "rki", "rkg", "rkf", "gear", "bdf"};
static const double tolerances[BENCH_TOLERANCE_COUNT] = {1e-2, 1e-3, 1e-4, 1e-5, 1e-6};

enum { FRAMES_PER_SECOND = 30, SECONDS = 10 };
static const int64_t EVALUATIONS_A_FRAME = 20000; // far beyond every entry of the tables

typedef struct row {
    const char* label;
    const char* parameters;
    double paper[BENCH_SOLVER_COUNT], reference[BENCH_SOLVER_COUNT];
} row;

typedef struct session {
    char letter;
    const char* title;
    int count;
    row rows[BENCH_MAX_CASES];
} session;

// Paper: tables IV, V, VI, VII. Reference: an independent computation.
static const session sessions[] = {
    {'A',
     "links",
     6,
     {{"2", "s=1,l=2,h=5", {63.4, 90.0, 85.6, 58.8, 15.4, 27.1}, {46, 76, 43, 27, 13.0, 22}},
      {"4", "s=1,l=4,h=2.5", {108.2, 301.2, 109.6, 120.6, 34.1, 79.2}, {118, 303, 84, 90, 28.2, 60}},
      {"6", "s=1,l=6,h=1.6666666666666667", {135.0, 498.6, 155.6, 165.0, 46.4, 108.6}, {146, 542, 128, 136, 41.0, 115}},
      {"8", "s=1,l=8,h=1.25", {179.8, 680.4, 168.4, 210.0, 64.7, 161.6}, {162, 618, 144, 157, 52.6, 142}},
      {"10", "s=1,l=10,h=1", {215.0, 903.6, 187.6, 252.6, 81.1, 229.2}, {176, 946, 192, 212, 63.8, 154}},
      {"12",
       "s=1,l=12,h=0.83333333333333333",
       {234.4, 1046.1, 200.0, 296.4, 91.6, 203.3},
       {181, 1164, 203, 261, 80.5, 183}}}},
    {'B',
     "chains",
     10,
     {{"3 printed",
       "s=2,l=3,h=1,p=3,o=3,plateau=printed",
       {186.8, 784.8, 197.2, 211.2, 59.6, 395.4},
       {0, 0, 0, 0, 117, 0}},
      {"5 printed", "s=2,l=3,h=1,p=3,o=5,plateau=printed", {189.6, 836.7, 195.2, 218.4, 61.3, 460.7}, {0}},
      {"7 printed", "s=2,l=3,h=1,p=3,o=7,plateau=printed", {197.2, 820.5, 187.6, 217.2, 54.5, 437.5}, {0}},
      {"9 printed", "s=2,l=3,h=1,p=3,o=9,plateau=printed", {245.6, 1137.6, 202.8, 280.2, 65.0, 1062.0}, {0}},
      {"11 printed",
       "s=2,l=3,h=1,p=3,o=11,plateau=printed",
       {310.4, 1692.9, 271.2, 388.2, 85.2, 1584.1},
       {0, 0, 0, 0, 364, 0}},
      {"3 leaf", "s=2,l=3,h=1,p=3,o=3,plateau=leaf", {186.8, 784.8, 197.2, 211.2, 59.6, 395.4}, {0, 0, 0, 0, 59, 0}},
      {"5 leaf", "s=2,l=3,h=1,p=3,o=5,plateau=leaf", {189.6, 836.7, 195.2, 218.4, 61.3, 460.7}, {0, 0, 0, 0, 62, 0}},
      {"7 leaf", "s=2,l=3,h=1,p=3,o=7,plateau=leaf", {197.2, 820.5, 187.6, 217.2, 54.5, 437.5}, {0, 0, 0, 0, 75, 0}},
      {"9 leaf", "s=2,l=3,h=1,p=3,o=9,plateau=leaf", {245.6, 1137.6, 202.8, 280.2, 65.0, 1062.0}, {0, 0, 0, 0, 88, 0}},
      {"11 leaf",
       "s=2,l=3,h=1,p=3,o=11,plateau=leaf",
       {310.4, 1692.9, 271.2, 388.2, 85.2, 1584.1},
       {0, 0, 0, 0, 94, 0}}}},
    {'C',
     "start elongation",
     5,
     {{"0.1", "s=1,l=4,h=1,start=0.1", {125.8, 263.4, 108.8, 133.2, 44.5, 62.4}, {64, 211, 55, 85, 36.5, 58}},
      {"0.5", "s=1,l=4,h=1,start=0.5", {128.6, 438.0, 127.2, 160.8, 46.5, 79.1}, {0}},
      {"0.9", "s=1,l=4,h=1,start=0.9", {171.4, 591.6, 174.8, 185.4, 50.6, 156.2}, {232, 782, 191, 194, 59.8, 157}},
      {"1.3", "s=1,l=4,h=1,start=1.3", {209.4, 963.0, 233.2, 237.0, 71.8, 266.8}, {0}},
      {"1.7", "s=1,l=4,h=1,start=1.7", {214.2, 1189.2, 325.6, 298.2, 82.7, 361.7}, {298, 1112, 239, 255, 72.2, 260}}}},
    {'D',
     "viscous damping",
     5,
     {{"0", "s=1,l=4,h=1,damping=0", {158.0, 505.5, 157.2, 174.6, 48.1, 120.2}, {218, 714, 170, 175, 48.6, 141}},
      {"2.5", "s=1,l=4,h=1,damping=2.5", {310.4, 318.0, 416.4, 380.4, 371.6, 27.3}, {0}},
      {"5", "s=1,l=4,h=1,damping=5", {582.2, 640.8, 985.2, 702.6, 766.5, 30.5}, {689, 635, 1090, 748, 823, 15}},
      {"7.5", "s=1,l=4,h=1,damping=7.5", {954.4, 946.8, 1557.2, 1026.6, 1227.7, 30.4}, {0}},
      {"10",
       "s=1,l=4,h=1,damping=10",
       {1110.0, 1260.9, 2040.0, 1369.2, 1609.0, 26.5},
       {1376, 1164, 2261, 1499, 1832, 14}}}},
};

static const session* find_session(char letter) {
    for (size_t i = 0; i < sizeof sessions / sizeof sessions[0]; i++)
        if (letter == sessions[i].letter || letter == sessions[i].letter - 'A' + 'a') return &sessions[i];
    return NULL;
}

static void write_case(const row* from, bench_case* out) {
    snprintf(out->label, sizeof out->label, "%s", from->label);
    snprintf(out->specification, sizeof out->specification, "mobile:a=0.2,b=0.3,c=0.2,rho=2,%s", from->parameters);
}

int bench_session_cases(char letter, bench_case cases[BENCH_MAX_CASES]) {
    const session* from = find_session(letter);
    if (!from) return 0;
    for (int i = 0; i < from->count; i++) write_case(&from->rows[i], &cases[i]);
    return from->count;
}

const char* bench_session_title(char letter) {
    const session* from = find_session(letter);
    return from ? from->title : NULL;
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
    def.evaluation_limit = EVALUATIONS_A_FRAME;
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

cal_status bench_session_cell(char letter, int case_index, int solver, bench_cell* cell, cal_error* error) {
    const session* from = find_session(letter);
    if (!from || case_index < 0 || case_index >= from->count || solver < 0 || solver >= BENCH_SOLVER_COUNT)
        return CAL_BAD_ARGUMENT;
    const row* entry = &from->rows[case_index];
    *cell = (bench_cell){.available = solver_available(bench_solver_names[solver]),
                         .paper = entry->paper[solver],
                         .reference = entry->reference[solver]};
    if (!cell->available) return CAL_OK;
    bench_case own;
    cal_model* model = NULL;
    write_case(entry, &own);
    cal_status status = cal_model_generate(own.specification, &model, error);
    for (int i = 0; !status && i < BENCH_TOLERANCE_COUNT; i++) {
        bool stable = false;
        double average = 0.0, maximum = 0.0;
        status = run(model, bench_solver_names[solver], tolerances[i], &stable, &average, &maximum, error);
        if (status || !stable || (cell->stable && average >= cell->evaluations_per_second)) continue;
        cell->stable = true;
        cell->tolerance = tolerances[i];
        cell->evaluations_per_second = average;
        cell->maximum = maximum;
    }
    cal_model_destroy(model);
    return status;
}
