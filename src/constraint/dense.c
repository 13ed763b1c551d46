// See dense.h.
#include "constraint/dense.h"
#include "base/wide.h"
#include <math.h>

// Column after column is taken off what is left of the matrix: sums that do not wait for each other, and a compiler can make
// lanes of them. For that each column is copied to the row above the diagonal.
CAL_WIDE static bool factor_dense(double* A, int n) {
    for (int k = 0; k < n; k++) {
        double* row = A + k * n;
        if (!(row[k] > 0.0)) return false;
        row[k] = sqrt(row[k]);
        for (int i = k + 1; i < n; i++) row[i] = A[i * n + k] /= row[k];
        for (int i = k + 1; i < n; i++) {
            double* left = A + i * n;
            const double factor = left[k];
            for (int j = k + 1; j <= i; j++) left[j] -= factor * row[j];
        }
    }
    return true;
}

bool cal_dense_factor(double* A, int n) { return factor_dense(A, n); }

void cal_dense_lower(const double* L, int n, double* x) {
    for (int i = 0; i < n; i++) {
        double sum = x[i];
        for (int k = 0; k < i; k++) sum -= L[i * n + k] * x[k];
        x[i] = sum / L[i * n + i];
    }
}

void cal_dense_upper(const double* L, int n, double* x) {
    for (int i = n - 1; i >= 0; i--) {
        double sum = x[i];
        for (int k = i + 1; k < n; k++) sum -= L[k * n + i] * x[k];
        x[i] = sum / L[i * n + i];
    }
}

void cal_dense_solve(const double* L, int n, double* x) {
    cal_dense_lower(L, n, x);
    cal_dense_upper(L, n, x);
}
