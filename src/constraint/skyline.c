// Triangles with a skyline (skyline.h): George and Heath's way to find R.
#include "constraint/skyline.h"
#include <math.h>
#include <stdbool.h>
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

// √(a² + b²). Squares of numbers below 1e-154 are zero, and those above 1e154 infinite: there the larger is taken out.
static inline double length_of(double a, double b) {
    static const double least = 1e-140, most = 1e140;
    const double x = fabs(a), y = fabs(b), large = x > y ? x : y, small = x > y ? y : x;
    if (small == 0.0) return large; // as √ would, which waits
    if (large > least && large < most) return sqrt(large * large + small * small);
    const double ratio = small / large;
    return large * sqrt(1.0 + ratio * ratio);
}

static double* entry(const cal_skyline* m, int row, int column) {
    return m->root + m->start[row] + (size_t)(column - m->begin[row]);
}

void cal_skyline_clear(cal_skyline* m) {
    if (m->count == 0) return;
    const int end = m->count - 1;
    memset(m->root, 0, (m->start[end] + (size_t)(m->last[end] - m->begin[end] + 1)) * sizeof *m->root);
    for (int i = 0; i < m->count; i++) m->column[i] = i;
}

// (a, b) ← (c a + s b, c b − s a), with what makes b's first number zero.
static void rotate(double* restrict a, double* restrict b, int width) {
    const double r = length_of(a[0], b[0]), c = a[0] / r, s = b[0] / r;
    a[0] = r, b[0] = 0.0;
    for (int j = 1; j < width; j++) {
        const double above = a[j], below = b[j];
        a[j] = c * above + s * below;
        b[j] = c * below - s * above;
    }
}

void cal_skyline_add(cal_skyline* m, int first) {
    for (int k = first, end = m->last[first]; k <= end; k++) {
        double *row = m->row + k, *root = entry(m, k, k);
        if (row[0] == 0.0) continue;
        const int width = m->last[k] - k + 1;
        if (root[0] == 0.0) {
            // Nothing has come this far yet: the row of R is this one.
            memcpy(root, row, (size_t)width * sizeof *root);
            memset(row, 0, (size_t)width * sizeof *row);
            return;
        }
        rotate(root, row, width);
        end = m->last[k];
    }
}

// --- Order inside a group --------------------------------------------------------------------------------------------------

// What is left of a column in rows from `row` on.
static double length_left(const cal_skyline* m, int row, int end, int column) {
    double length = 0.0;
    for (int i = row; i < end; i++) length = length_of(length, *entry(m, i, column));
    return length;
}

// The next pivot; −1: none.
static int find_pivot(const cal_skyline* m, int first, int count, int row, const bool* taken,
                      const cal_skyline_choice* how, double* left) {
    int best = -1;
    double most = 0.0;
    for (int c = 0; c < count; c++) {
        if (taken[c]) continue;
        const double length = length_left(m, row, first + count, first + c);
        if (!(length > how->least[c]) || !(length * how->weight[c] > most)) continue;
        most = length * how->weight[c];
        best = c;
        *left = length;
    }
    return best;
}

// Makes `column` zero in the rows of the group after `row`. Columns that are taken are zero there already.
static void eliminate(cal_skyline* m, int row, int end, int column) {
    const int begin = m->begin[row], width = m->last[row] - begin + 1;
    double* a = entry(m, row, begin);
    for (int i = row + 1; i < end; i++) {
        double *b = entry(m, i, begin), *const pivot = a + (column - begin), *const own = b + (column - begin);
        if (*own == 0.0) continue;
        const double r = length_of(*pivot, *own), c = *pivot / r, s = *own / r;
        for (int j = 0; j < width; j++) {
            const double above = a[j], below = b[j];
            a[j] = c * above + s * below;
            b[j] = c * below - s * above;
        }
        *pivot = r, *own = 0.0;
    }
}

// What the rows without a pivot hold of later columns goes there.
static void fold(cal_skyline* m, int row, int end) {
    for (int i = row; i < end; i++) {
        const int width = m->last[i] - end + 1;
        double* rest = entry(m, i, m->begin[i]);
        if (width > 0) {
            memcpy(m->row + end, rest + (end - m->begin[i]), (size_t)width * sizeof *rest);
            cal_skyline_add(m, end);
        }
        memset(rest, 0, (size_t)(m->last[i] - m->begin[i] + 1) * sizeof *rest);
    }
}

int cal_skyline_reveal(cal_skyline* m, int first, int count, const cal_skyline_choice* how) {
    bool taken[CAL_SKYLINE_GROUP] = {false};
    const int end = first + count;
    int row = first;
    for (; row < end; row++) {
        double left;
        const int c = find_pivot(m, first, count, row, taken, how, &left);
        if (c < 0) break;
        taken[c] = true;
        m->column[row] = first + c;
        m->left[first + c] = left;
        eliminate(m, row, end, first + c);
        m->over[row] = 1.0 / *entry(m, row, first + c);
    }
    const int kept = row - first;
    for (int c = 0, at = row; c < count; c++) {
        if (taken[c]) continue;
        m->left[first + c] = -length_left(m, row, end, first + c);
        m->column[at++] = first + c;
    }
    fold(m, row, end);
    return kept;
}

// --- Solving ---------------------------------------------------------------------------------------------------------------

// x ← R⁻ᵀ x of the columns that are kept; from the others what the rows of R make of it is subtracted.
static void forward(const cal_skyline* m, double* x) {
    for (int i = 0; i < m->count; i++) {
        const int begin = m->begin[i], own = m->column[i];
        if (!(m->left[own] > 0.0)) continue;
        const double *row = m->root + m->start[i], value = x[own] * m->over[i];
        for (int j = 0; j <= m->last[i] - begin; j++) x[begin + j] -= row[j] * value;
        x[own] = value;
    }
}

// x ← R⁻¹ (x − R x of the columns that were dropped), of the columns that are kept.
static void backward(const cal_skyline* m, double* x) {
    for (int i = m->count - 1; i >= 0; i--) {
        const int begin = m->begin[i], own = m->column[i];
        if (!(m->left[own] > 0.0)) continue;
        const double *row = m->root + m->start[i], value = x[own];
        x[own] = 0.0; // the row is zero at the group's columns that came before it
        x[own] = (value - dot(row, x + begin, m->last[i] - begin + 1)) * m->over[i];
    }
}

static void clear_columns(const cal_skyline* m, double* x, bool dropped) {
    for (int i = 0; i < m->count; i++)
        if ((m->left[i] > 0.0) != dropped) x[i] = 0.0;
}

void cal_skyline_solve(const cal_skyline* m, double* x) {
    forward(m, x);
    clear_columns(m, x, true);
    backward(m, x);
}

void cal_skyline_depend(const cal_skyline* m, double* x) {
    forward(m, x);
    clear_columns(m, x, false);
    backward(m, x);
}
