// Stiff systems: backward differentiation formulas by SUNDIALS' CVODE, on vectors of ours over the machine.
//
// Not one of cal_solver_ops: CVODE owns the loop. Without SUNDIALS in the build (CALDER_HAVE_SUNDIALS)
// cal_bdf_available says no and everything else is CAL_NOT_AVAILABLE.
#pragma once
#include "plan/plan.h"

typedef struct cal_bdf cal_bdf;
enum { CAL_BDF_MAX_ORDER = 5 };
#define CAL_BDF_TOLERANCE_SHARE 0.01 // as cal_solver_ops.tolerance_share

// One execution of the plan at a time, with ops and context riding along: they bring y and take dy/dt away. A status other
// than CAL_OK ends the advance with that status.
typedef cal_status cal_bdf_function(void* user, double time, const cal_solver_ops* ops, cal_solver_context* context,
                                    double* sums);

typedef struct cal_bdf_report {
    double step;
    int order;
    int64_t steps, rejected, jacobian_evaluations; // since cal_bdf_create
} cal_bdf_report;

bool cal_bdf_available(void);
extern const char cal_bdf_help[];

// plan and state: those that function executes.
cal_status cal_bdf_create(const cal_plan* plan, cal_state* state, const cal_solver_settings* settings,
                          cal_bdf_function* function, void* user, cal_bdf** out);
void cal_bdf_destroy(cal_bdf* bdf); // NULL is allowed
// Moves a y-shaped vector with unit quaternions to where constraints hold; every step ends there.
typedef cal_status cal_bdf_projection(void* user, double time, double* y);
void cal_bdf_set_projection(cal_bdf* bdf, cal_bdf_projection* projection); // with the function's user
// Begins at q and v, in the user's order.
cal_status cal_bdf_start(cal_bdf* bdf, double time, const double* q, const double* v);
// Takes one step more; its begin is where the last one ended. What is inside of it can then be sampled without evaluation.
cal_status cal_bdf_step(cal_bdf* bdf, double* from, double* to);
cal_status cal_bdf_sample(cal_bdf* bdf, double time, double* q, double* v);
// Calls the function at a time inside the last step, as steps do, of models whose motions are prescribed.
cal_status cal_bdf_look(cal_bdf* bdf, double time);
// Whichever step is chosen next is no longer than that, beside what the settings say. The one that comes is chosen already but for the first.
void cal_bdf_bound(cal_bdf* bdf, double longest);
double cal_bdf_next_step(const cal_bdf* bdf); // 0: not chosen
// The last step, and how many there were since the start.
int64_t cal_bdf_last_step(const cal_bdf* bdf, double* from, double* to);
void cal_bdf_get_report(const cal_bdf* bdf, cal_bdf_report* out);
