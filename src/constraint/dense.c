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

// A number that is found is taken off all others at once: lanes again, and nothing waits for a sum. Columns are where the factor has copied them.
CAL_WIDE static void lower_dense(const double* restrict L, int n, double* restrict x) {
    for (int k = 0; k < n; k++) {
        const double* column = L + k * n;
        x[k] /= column[k];
        const double factor = x[k];
        for (int i = k + 1; i < n; i++) x[i] -= factor * column[i];
    }
}

CAL_WIDE static void upper_dense(const double* restrict L, int n, double* restrict x) {
    for (int k = n - 1; k >= 0; k--) {
        const double* row = L + k * n;
        x[k] /= row[k];
        const double factor = x[k];
        for (int i = 0; i < k; i++) x[i] -= factor * row[i];
    }
}

void cal_dense_lower(const double* L, int n, double* x) { lower_dense(L, n, x); }

void cal_dense_upper(const double* L, int n, double* x) { upper_dense(L, n, x); }

void cal_dense_solve(const double* L, int n, double* x) {
    cal_dense_lower(L, n, x);
    cal_dense_upper(L, n, x);
}
