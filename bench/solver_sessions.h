// The paper's four sessions (Jung, tables IV to VII), run through the public interface.
//
// A session is a list of cases, a case is a mobile. Each solver swings it for ten seconds with the tolerances 1e-2 …
// 1e-6; the cheapest run that stays stable counts: energy never up by more than half the swing's energy.
#pragma once
#include "calder/calder.h"

enum { CAL_SESSION_SOLVERS = 6, CAL_SESSION_CASES = 10 };

// "iec", "rki", "rkg", "rkf", "gear", "bdf": the columns of the tables, in their order.
extern const char* const cal_session_solver_names[CAL_SESSION_SOLVERS];

typedef struct cal_session_cell {
    bool available; // false: this build does not have the solver
    bool stable;    // false: no tolerance gave a stable run; the numbers below are then zero
    double tolerance;
    double evaluations_per_second; // on average
    double maximum;                // over any frame interval of 1/30 s, as evaluations per second
    double paper, reference;       // the table's number and an independent computation's; 0: none
} cal_session_cell;

typedef struct cal_session_case {
    char label[32];          // as the table's first column: "2", "0.1", "3 printed"
    char specification[160]; // for cal_model_generate
} cal_session_case;

// The cases of session 'A', 'B', 'C' or 'D' (either letter case); their number, 0 for an unknown session. Session B
// comes twice, with the plateaus of the text ("3 printed") and of the size of leaves ("3 leaf").
int cal_session_cases(char session, cal_session_case cases[CAL_SESSION_CASES]);
// What varies in a session, for the table's heading; NULL for an unknown session.
const char* cal_session_title(char session);

// Runs one cell: a case with one solver at all tolerances. Costs seconds for the stiff ones.
cal_status cal_session_run_cell(char session, int case_index, int solver, cal_session_cell* cell, cal_error* error);
