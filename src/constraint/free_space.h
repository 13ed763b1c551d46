// What the rows of a matrix leave free, dense: Householder's reflections with pivoting.
//
//     Aᵀ P = (Q₁ S) (R; 0)      the columns of S are an orthonormal basis of the x with A x = 0
//
// A row whose pivot is below a threshold depends on those before it and is left out. Matrices are kept so that what is done to all
// columns alike lies side by side: Aᵀ has a line per number of x and a column per row of A, S a line per number of x. Sums have the order
// of the numbers of x, whatever instructions are taken.
#pragma once
#include <stdint.h>

typedef struct cal_free_space {
    int n, m; // numbers of x; rows of A
    int rank; // S has n − rank columns
    double*
        columns; // Aᵀ, n lines of m; then R above its diagonal, and below it the reflections, whose first number is one
    int32_t* order;      // P: which row of A became column k; to begin with 0, 1, …
    double* diagonal;    // of R
    double* factor;      // of each reflection
    double* basis;       // S, n lines of n − rank
    double *line, *sums; // room for max(n, m) each
} cal_free_space;

void cal_free_space_factor(cal_free_space* space, double threshold);
// After that: S.
void cal_free_space_find_basis(cal_free_space* space);
// x ← (1 − factor w wᵀ) x of all reflections, the last one first: Q x.
void cal_free_space_turn(cal_free_space* space, double* x);
// The shortest x with A x = right, of the rows that count: Q₁ R⁻ᵀ Pᵀ right.
void cal_free_space_solve(cal_free_space* space, const double* right, double* x);

// Of a symmetric matrix B, n lines of n: out = B x.
void cal_free_space_multiply(const double* matrix, int n, const double* x, double* out);
// Lᵀ, of the root of Sᵀ B S = L Lᵀ. product: room for n (n − rank) numbers.
void cal_free_space_reduce(cal_free_space* space, const double* matrix, double* product, double* root);
// x ← x + S w, with the w of which xᵀ B x is least: w = −(Sᵀ B S)⁻¹ Sᵀ force, with force = B x.
void cal_free_space_relax(cal_free_space* space, const double* root, const double* force, double* x);
