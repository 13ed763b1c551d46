// Solving with the root C of a small matrix C Cᵀ, rows, whose diagonal is inverted: x ← C⁻¹ x, x ← C⁻ᵀ x.
#pragma once
#include "base/wide.h"

CAL_WIDE_INLINE void cal_root_divide(const double* C, int size, double* x) {
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < i; k++) x[i] -= C[i * size + k] * x[k];
        x[i] *= C[i * size + i];
    }
}

CAL_WIDE_INLINE void cal_root_divide_transposed(const double* C, int size, double* x) {
    for (int i = size - 1; i >= 0; i--) {
        for (int k = i + 1; k < size; k++) x[i] -= C[k * size + i] * x[k];
        x[i] *= C[i * size + i];
    }
}
