// Small dense matrices, symmetric and positive definite: A = L Lᵀ.
#pragma once
#include <stdbool.h>

// L in place (lower triangle, rows of n, and its transpose above the diagonal); false: not positive definite.
bool cal_dense_factor(double* A, int n);
void cal_dense_solve(const double* L, int n, double* x); // x ← A⁻¹ x
enum { CAL_DENSE_VECTORS = 3 };
void cal_dense_solve_vectors(const double* L, int n, double* x); // the same of three, each after the other
void cal_dense_lower(const double* L, int n, double* x);         // x ← L⁻¹ x
void cal_dense_upper(const double* L, int n, double* x);         // x ← L⁻ᵀ x
