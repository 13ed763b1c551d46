// The projection onto what constraints leave free, in the sense of a mass matrix: with A (rows × count) and M = L Lᵀ,
//
//     P = 1 − M⁻¹ Aᵀ (A M⁻¹ Aᵀ)⁺ A        P M⁻¹ = M⁻¹ Pᵀ,  A P = 0,  P P = P
//
// For the columns y = L⁻¹ a of A's rows an orthonormal basis Q is made (Gram and Schmidt, twice; the row of which most is left,
// relative to its length, comes next). That is the pivoted Cholesky factor of A M⁻¹ Aᵀ with ones on the diagonal, without the
// squares that lose half of the digits. With z = L⁻ᵀ q and w = L q for each q of it (w·z = 1, others 0),
//
//     P x = x − Σ z (w·x)      J P = J − Σ (J·z) wᵀ
//
// A row counts as held by others already where no more of it is left than rounding: the error of y is at most |L⁻¹| (n ε |L||y| +
// noise), component by component (Higham, Accuracy and Stability, theorem 8.5), and what is subtracted from it brings its own
// error along. So redundant rows of any number are allowed, and so are rows that nothing can move.
#pragma once
#include <stdint.h>
#include <stddef.h>

typedef struct cal_projector {
    int rows, count, rank;
    const double* A; // the caller's
    double *z, *w;   // rank × count
    double* corner;  // rank × rank, lower triangle: A's row `pivot[i]` times z of k
    int32_t* pivot;
    double *rest, *basis;   // rows × count: y, and Q
    double *length, *error; // of each row: |y| at first, and its error
    double* work;           // 2 × count
} cal_projector;

// Doubles of memory that a projector needs.
size_t cal_projector_size(int rows, int count);
// Makes the projector of A for a mass matrix that is factored (dense.h). noise: of each row, how far its entries may be off. A must
// stay where it is; L need not.
void cal_projector_make(cal_projector* p, const double* A, const double* noise, int rows, const double* L, int count,
                        double* memory);
void cal_projector_apply(const cal_projector* p, double* x);       // x ← P x
void cal_projector_apply_row(const cal_projector* p, double* row); // row ← row P; of which only rounding is left: zero
// The least change, by mass, after which A x = right, as far as that can be.
void cal_projector_correct(const cal_projector* p, const double* right, double* x);
