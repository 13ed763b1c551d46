// Skyline matrices (skyline.h): Jennings' variant of Cholesky's method, row by row.
#include "constraint/skyline.h"
#include <math.h>

// ∑ a_k b_k in four interleaved sums, so that the compiler may use vectors and the bits stay the same.
static double dot(const double* a, const double* b, int count) {
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    int k = 0;
    for (; k + 4 <= count; k += 4)
        for (int l = 0; l < 4; l++) sum[l] += a[k + l] * b[k + l];
    for (int l = 0; k < count; k++, l++) sum[l] += a[k] * b[k];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

int cal_skyline_factor(cal_skyline* m, double shift, double threshold) {
    int rank = 0;
    for (int i = 0; i < m->count; i++) {
        const double* from = m->values + m->start[i];
        double* row = m->root + m->start[i];
        const int first = m->first[i];
        for (int j = first; j < i; j++) {
            const double* other = m->root + m->start[j];
            const int begin = m->first[j] > first ? m->first[j] : first;
            const double known = dot(row + (begin - first), other + (begin - m->first[j]), j - begin);
            row[j - first] = (from[j - first] - known) / other[j - m->first[j]];
        }
        const double pivot = from[i - first] + shift - dot(row, row, i - first);
        rank += pivot > threshold ? 1 : 0;
        // Rounding may leave less than the shift.
        row[i - first] = sqrt(pivot > shift ? pivot : shift);
    }
    return rank;
}

void cal_skyline_solve(const cal_skyline* m, double* x) {
    for (int i = 0; i < m->count; i++) {
        const double* row = m->root + m->start[i];
        const int first = m->first[i];
        x[i] = (x[i] - dot(row, x + first, i - first)) / row[i - first];
    }
    for (int i = m->count - 1; i >= 0; i--) {
        const double* row = m->root + m->start[i];
        const int first = m->first[i];
        x[i] /= row[i - first];
        for (int j = first; j < i; j++) x[j] -= row[j - first] * x[i];
    }
}

void cal_skyline_multiply(const cal_skyline* m, const double* x, double* out) {
    for (int i = 0; i < m->count; i++) {
        const double* row = m->values + m->start[i];
        const int first = m->first[i];
        out[i] = dot(row, x + first, i - first + 1);
        for (int j = first; j < i; j++) out[j] += row[j - first] * x[i];
    }
}
