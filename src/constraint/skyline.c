// Triangles with a skyline (skyline.h): George and Heath's way to find R.
#include "constraint/skyline.h"
#include <math.h>
#include <string.h>

// ∑ a_k b_k in four interleaved sums, so that the compiler may use vectors and the bits stay the same.
static double dot(const double* a, const double* b, int count) {
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    int k = 0;
    for (; k + 4 <= count; k += 4)
        for (int l = 0; l < 4; l++) sum[l] += a[k + l] * b[k + l];
    for (int l = 0; k < count; k++, l++) sum[l] += a[k] * b[k];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

void cal_skyline_clear(cal_skyline* m) {
    if (m->count == 0) return;
    const int end = m->count - 1;
    memset(m->root, 0, (m->start[end] + 1) * sizeof *m->root);
}

void cal_skyline_add(cal_skyline* m, int first) {
    for (int k = first, end = m->last[first]; k <= end; k++) {
        double* restrict row = m->row + k, * restrict root = m->root + m->start[k];
        const double a = root[0], b = row[0];
        if (b == 0.0) continue;
        const int width = m->last[k] - k + 1;
        if (a == 0.0) {
            // Nothing has come this far yet: the row of R is this one.
            memcpy(root, row, (size_t)width * sizeof *root);
            memset(row, 0, (size_t)width * sizeof *row);
            return;
        }
        const double r = sqrt(a * a + b * b), c = a / r, s = b / r;
        root[0] = r, row[0] = 0.0;
        for (int j = 1; j < width; j++) {
            const double above = root[j], below = row[j];
            root[j] = c * above + s * below;
            row[j] = c * below - s * above;
        }
        end = m->last[k];
    }
}

int cal_skyline_finish(cal_skyline* m, double least, double threshold) {
    int rank = 0;
    for (int i = 0; i < m->count; i++) {
        double* diagonal = m->root + m->start[i];
        if (!(fabs(*diagonal) > least)) *diagonal = least;
        rank += *diagonal * *diagonal > threshold ? 1 : 0;
    }
    return rank;
}

void cal_skyline_solve(const cal_skyline* m, double* x) {
    for (int i = 0; i < m->count; i++) {
        const double* row = m->root + m->start[i];
        x[i] /= row[0];
        for (int j = 1; j <= m->last[i] - i; j++) x[i + j] -= row[j] * x[i];
    }
    for (int i = m->count - 1; i >= 0; i--) {
        const double* row = m->root + m->start[i];
        x[i] = (x[i] - dot(row + 1, x + i + 1, m->last[i] - i)) / row[0];
    }
}
