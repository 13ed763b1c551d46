// Accelerations of closed mechanisms by a dense solve of Lagrange's equations in extended precision.
//
// The reference knows nothing of the engine's algorithms: from the definitions of bodies, joints and constraints it finds, in long double,
// every body's Jacobian, M = Σ Jᵀ diag(m, I) J and the terms of velocity, and solves
//
//     M  −Jcᵀ   q̈     τ − h           h: what M q̈ misses of the forces of inertia and gravity
//     Jc   0    λ  =  −b              Jc q̈ + b: second derivatives of the constraints
//
// with M = L Lᵀ, and the rows in its metric, L⁻¹ Jcᵀ, made orthogonal with pivots, so that masses may be far apart; rows that depend on others (Bennett, Bricard, Sarrus
// have some) are dropped: accelerations are unique all the same.
#pragma once
#include <calder/calder.h>

typedef long double cal_test_real;

typedef struct cal_test_solution {
    cal_test_real* accelerations; // v_count
    cal_test_real* efforts;       // of each constraint, v_count: its forces as joint forces, Jcᵀ λ
    cal_test_real*
        levers; // of each constraint, 6 × v_count: what its force and its torque on b, at frame b, are as joint forces
    int rows, rank; // forces are unique where these are equal
} cal_test_solution;

// At time 0. lever: of the mechanism, m. Rows that move no joint by more than 1e-9 of what they would with it are not rows: what numbers of geometry are
// rounded by. Zero: all are. A surface is a sphere about its user's point, three doubles in a's frame.
cal_test_solution cal_test_solve(const cal_model* model, const double* q, const double* v, double lever);
void cal_test_solution_free(cal_test_solution* solution);
// The accelerations alone; the caller frees them.
cal_test_real* cal_test_lagrange(const cal_model* model, const double* q, const double* v, double lever);
