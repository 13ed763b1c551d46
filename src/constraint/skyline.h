// Symmetric matrices with a skyline: row i is stored from its first entry to its diagonal, and factoring fills nothing
// outside of that.
//
//         x
//         x x              Rows that are not neighbours do not meet, so a chain of constraints costs linear time, and a
//           x x            handful that all meet is a dense matrix.
//         x x x x
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct cal_skyline {
    int count;
    int32_t* first; // of each row: its first column
    size_t* start;  // of each row: where its first entry is; entry (i, j) is at start[i] + j − first[i]
    double* values; // the matrix
    double* root;   // (matrix + shift) = L Lᵀ
} cal_skyline;

// L Lᵀ of the matrix with a shift on its diagonal, which must make it positive. Returns how many pivots are above
// `threshold`: the rank, where the matrix has ones on its diagonal and the shift is far below the threshold.
int cal_skyline_factor(cal_skyline* matrix, double shift, double threshold);
// x ← (matrix + shift)⁻¹ x
void cal_skyline_solve(const cal_skyline* matrix, double* x);
// out = matrix · x
void cal_skyline_multiply(const cal_skyline* matrix, const double* x, double* out);
