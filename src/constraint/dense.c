// See dense.h.
#include "constraint/dense.h"
#include "base/wide.h"
#include <math.h>

enum { PANEL = 4, WIDEST = 8 };

// A row of a panel, left of the diagonal: what the panel's columns before leave of each of its numbers, over their diagonal.
CAL_WIDE_INLINE void finish_row(const double* top, int n, int count, double* left) {
    for (int j = 0; j < count; j++) {
        double rest = left[j];
        for (int k = 0; k < j; k++) rest -= left[k] * top[k * n + j];
        left[j] = rest / top[j * n + j];
    }
}

// The rows of a panel themselves; false: not positive definite. Rows above the diagonal get a copy of the columns.
CAL_WIDE_INLINE bool factor_top(double* top, int n, int count) {
    for (int i = 0; i < count; i++) {
        double* left = top + i * n;
        finish_row(top, n, i, left);
        for (int k = 0; k < i; k++) top[k * n + i] = left[k], left[i] -= left[k] * left[k];
        if (!(left[i] > 0.0)) return false;
        left[i] = sqrt(left[i]);
    }
    return true;
}

// Columns are finished and taken off what is left of the matrix four in one go, each number one after the other: lanes of numbers that do not
// wait for each other. For that each column is copied to the row above the diagonal.
CAL_WIDE static bool factor_dense(double* A, int n) {
    for (int k = 0; k < n; k += PANEL) {
        double* top = A + k * n + k;
        if (n - k < PANEL) return factor_top(top, n, n - k);
        if (!factor_top(top, n, PANEL)) return false;
        const double *a = A + k * n, *b = a + n, *c = b + n, *d = c + n;
        for (int i = k + PANEL; i < n; i++) {
            double* left = A + i * n;
            finish_row(top, n, PANEL, left + k);
            for (int m = 0; m < PANEL; m++) A[(k + m) * n + i] = left[k + m];
            const double f = left[k], g = left[k + 1], h = left[k + 2], e = left[k + 3];
            // To the end of a lane: what is above the diagonal is copied there later.
            const int whole = (i / WIDEST + 1) * WIDEST, end = whole < n ? whole : n;
            CAL_INDEPENDENT
            for (int j = k + PANEL; j < end; j++) left[j] = left[j] - f * a[j] - g * b[j] - h * c[j] - e * d[j];
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

void cal_dense_lower(const double* L, int n, double* x) { lower_dense(L, n, x); }

// Each sum is a chain; those of all vectors go side by side.
static inline void upper_of(const double* L, int n, int count, double* x) {
    for (int i = n - 1; i >= 0; i--) {
        const double* column = L + i * n;
        double sum[CAL_DENSE_VECTORS];
        for (int m = 0; m < count; m++) sum[m] = x[m * n + i];
        for (int k = i + 1; k < n; k++)
            for (int m = 0; m < count; m++) sum[m] -= column[k] * x[m * n + k];
        for (int m = 0; m < count; m++) x[m * n + i] = sum[m] / column[i];
    }
}

void cal_dense_upper(const double* L, int n, double* x) { upper_of(L, n, 1, x); }

void cal_dense_solve(const double* L, int n, double* x) {
    cal_dense_lower(L, n, x);
    cal_dense_upper(L, n, x);
}

// The same of all vectors, whose divisions do not wait for each other.
CAL_WIDE static void lower_vectors(const double* restrict L, int n, double* restrict x) {
    for (int k = 0; k < n; k++) {
        const double* column = L + k * n;
        double factor[CAL_DENSE_VECTORS];
        for (int m = 0; m < CAL_DENSE_VECTORS; m++) factor[m] = x[m * n + k] /= column[k];
        for (int m = 0; m < CAL_DENSE_VECTORS; m++) {
            double* restrict own = x + m * n;
            const double f = factor[m];
            for (int i = k + 1; i < n; i++) own[i] -= f * column[i];
        }
    }
}

void cal_dense_solve_vectors(const double* L, int n, double* x) {
    lower_vectors(L, n, x);
    upper_of(L, n, CAL_DENSE_VECTORS, x);
}
