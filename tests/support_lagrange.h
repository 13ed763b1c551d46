// Accelerations of closed mechanisms by a dense solve of Lagrange's equations in extended precision.
//
// The reference knows nothing of the engine's algorithms: from the definitions of bodies, joints and constraints it finds, in long double,
// every body's Jacobian, M = Σ Jᵀ diag(m, I) J and the terms of velocity, and solves
//
//     M  −Jcᵀ   q̈     τ − h           h: what M q̈ misses of the forces of inertia and gravity
//     Jc   0    λ  =  −b              Jc q̈ + b: second derivatives of the constraints
//
// with complete pivots, dropping rows that depend on others (Bennett, Bricard, Sarrus have some): accelerations are unique all the same.
#pragma once
#include <calder/calder.h>

typedef long double cal_test_real;

// q̈, and λ after them; the caller frees them. lever: of the mechanism, m. Rows that move no joint by more than 1e-9 of what they would with it are not
// rows: what numbers of geometry are rounded by. Zero: all are.
cal_test_real* cal_test_lagrange(const cal_model* model, const double* q, const double* v, double lever);
