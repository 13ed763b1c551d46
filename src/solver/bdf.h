// Stiff systems: backward differentiation formulas by SUNDIALS' CVODE, in the user's order of q and v.
//
// Not one of cal_solver_ops: CVODE keeps its vectors to itself. Without SUNDIALS in the build (CALDER_HAVE_SUNDIALS)
// cal_bdf_available says no and everything else is CAL_NOT_AVAILABLE.
#pragma once
#include "solver/solver.h"

typedef struct cal_bdf cal_bdf;

// dy/dt at y = (q, v). A status other than CAL_OK ends the advance with that status, but for CAL_NOT_FINITE: CVODE then
// tries a smaller step first.
typedef cal_status cal_bdf_function(void* user, double time, const double* y, double* ydot);

typedef struct cal_bdf_report {
    double step;
    int order;
    int64_t steps, rejected, jacobian_evaluations; // since cal_bdf_create
} cal_bdf_report;

bool cal_bdf_available(void);
extern const char cal_bdf_help[];

cal_status cal_bdf_create(const cal_model* model, const cal_solver_settings* settings, cal_bdf_function* function,
                          void* user, cal_bdf** out);
void cal_bdf_destroy(cal_bdf* bdf); // NULL is allowed
// Moves y = (q, v), which has unit quaternions, to where constraints hold; every step ends there.
typedef cal_status cal_bdf_projection(void* user, double* y);
void cal_bdf_set_projection(cal_bdf* bdf, cal_bdf_projection* projection); // with the function's user
// Begins at y = (q, v).
cal_status cal_bdf_start(cal_bdf* bdf, double time, const double* y);
// Steps to `time` or beyond and writes y at exactly that time.
cal_status cal_bdf_advance(cal_bdf* bdf, double time, double* y);
void cal_bdf_get_report(const cal_bdf* bdf, cal_bdf_report* out);
