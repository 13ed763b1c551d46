// The solvers, and what they share; what a solver is: pass/solver_ops.h.
#pragma once
#include "pass/solver_ops.h"

// All solvers but BDF (bdf.h), in the order in which they are listed.
#define CAL_SOLVERS(X) X(gear) X(iec) X(rki) X(rkg) X(rkf) X(rkck) X(implicit) X(rk4) X(euler)
#define CAL_DECLARE_SOLVER(name) extern const cal_solver_ops cal_solver_##name;
CAL_SOLVERS(CAL_DECLARE_SOLVER)

// NULL when there is none of that name.
const cal_solver_ops* cal_find_solver(const char* name);

// Whether a solver (NULL: BDF) goes with an algorithm.
cal_status cal_solver_check(const cal_solver_ops* solver, const char* algorithm, cal_error* error);

// Whether steps of a fixed size can be counted from a time to another: numbers below 2⁵² are exact, and have a next one.
cal_status cal_solver_check_steps(const cal_solver_ops* solver, double step, double from, double to, cal_error* error);

// Whether settings from a checkpoint are some. What its numbers lead to a solver finds out.
bool cal_solver_settings_sound(const cal_solver_settings* settings);

// Where and why a solver that chooses its steps came to an end.
typedef struct cal_solver_failure {
    const char* solver;
    double tolerance, horizon;
    double at, kept; // time of the last evaluation, and of the state that is kept
    const cal_headway* headway;
    const char* body; // that is not finite; NULL: none is, or it is not known
    const char* near; // more about the place, after its time; ""
} cal_solver_failure;
cal_status cal_solver_fail(const cal_solver_failure* failure, cal_status status, cal_error* error);

// Divides the quaternions of a y-shaped vector's column by their lengths.
#ifndef CAL_THREAD_PER_LANE
void cal_normalize_column(const cal_layout* layout, const cal_column* column, double* y);
#endif
