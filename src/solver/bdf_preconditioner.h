// An approximate solution of BDF's linear systems in linear time: bdf_preconditioner.c says how.
#pragma once
#include "plan/plan.h"

typedef struct cal_preconditioner cal_preconditioner;

// Runs on the plan's machine, over the plan's columns; the plan must live longer. Vectors are y-shaped.
cal_status cal_preconditioner_create(const cal_plan* plan, cal_preconditioner** out);
void cal_preconditioner_destroy(cal_preconditioner* preconditioner); // NULL is allowed
// Makes ready for (1 − γ J) z = r about y.
cal_status cal_preconditioner_set(cal_preconditioner* preconditioner, const double* y, double gamma);
cal_status cal_preconditioner_solve(cal_preconditioner* preconditioner, const double* r, double* z);
