// The solvers, and what they share; what a solver is: pass/solver_ops.h.
#pragma once
#include "pass/solver_ops.h"

extern const cal_solver_ops cal_solver_gear, cal_solver_iec, cal_solver_rki, cal_solver_rkg, cal_solver_rkf,
    cal_solver_rkck, cal_solver_implicit, cal_solver_rk4, cal_solver_euler;

// NULL when there is none of that name (BDF is not one of these: bdf.h).
const cal_solver_ops* cal_find_solver(const char* name);

// Whether a solver (NULL: BDF) goes with an algorithm.
cal_status cal_solver_check(const cal_solver_ops* solver, const char* algorithm, cal_error* error);

// By how much the next step is larger, after one whose error was `size` times what is allowed and grows with the given
// power of the step: 0.9 size^(−1/power), from 0.2 to 5; after a failure not above 1, and after size > 1 not above 0.9.
double cal_step_ratio(double size, int power, bool failed);

// Whether steps of a fixed size can be counted from a time to another: numbers below 2⁵² are exact, and have a next one.
cal_status cal_solver_check_steps(const cal_solver_ops* solver, double step, double from, double to, cal_error* error);

// A step as small as time can tell: four units in its last place. Where a force jumps, an error that is left in such a step cannot be
// made smaller, and is accepted.
double cal_smallest_step(double time);

// The size of a first step (LSODE's) that changes a component by about √tolerance: norm is that of dy/dt by the
// weights.
double cal_first_step(const cal_solver_settings* settings, double norm);
// The same for a one-step method, which may begin with the size that the settings name.
double cal_first_step_named(const cal_solver_settings* settings, double norm);

// Divides the quaternions of a y-shaped vector's column by their lengths.
#ifndef CAL_THREAD_PER_LANE
void cal_normalize_column(const cal_layout* layout, const cal_column* column, double* y);
#endif
