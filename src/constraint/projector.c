// See projector.h.
#include "constraint/projector.h"
#include "constraint/dense.h"
#include <float.h>
#include <math.h>
#include <string.h>

// Errors add up as they do in the worst case; twice that leaves room for the norms, whose own rounding is not counted.
static const double room = 2.0;

static double dot(const double* a, const double* b, int count) {
    double sum = 0.0;
    for (int i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

static void subtract(double* x, double factor, const double* y, int count) {
    for (int i = 0; i < count; i++) x[i] -= factor * y[i];
}

size_t cal_projector_size(int rows, int count) {
    const size_t r = (size_t)rows, n = (size_t)count;
    return n * n + 4 * r * n + r * r + 3 * r + 2 * n;
}

// |L⁻¹|, row by row. What bounds it in fewer operations, the inverse of the comparison matrix of L, grows three times per joint of a chain.
static void find_sizes(const double* L, int count, double* out) {
    const size_t n = (size_t)count;
    for (size_t i = 0; i < n; i++) {
        double* row = out + i * n;
        memset(row, 0, n * sizeof *row);
        row[i] = 1.0;
        for (size_t k = 0; k < i; k++) subtract(row, L[i * n + k], out + k * n, (int)k + 1);
        for (size_t k = 0; k <= i; k++) row[k] /= L[i * n + i];
    }
    for (size_t i = 0; i < n * n; i++) out[i] = fabs(out[i]);
}

// |L⁻¹| (n ε |L| |y| + noise): its length.
static double error_of(const double* L, const double* sizes, int count, const double* y, double noise, double* work) {
    double square = 0.0;
    for (int i = 0; i < count; i++) {
        double size = 0.0;
        for (int k = 0; k <= i; k++) size += fabs(L[i * count + k] * y[k]);
        work[i] = noise + count * DBL_EPSILON * size;
        const double error = dot(sizes + (size_t)i * (size_t)count, work, i + 1);
        square += error * error;
    }
    return sqrt(square);
}

// The row of which most is left, −1: none but rounding.
static int next_row(const cal_projector* p, double* left) {
    int best = -1;
    double most = 0.0;
    for (int i = 0; i < p->rows; i++) {
        const double* y = p->rest + (size_t)i * (size_t)p->count;
        const double length = sqrt(dot(y, y, p->count));
        if (!(p->length[i] > 0.0) || !(length > room * p->error[i]) || !(length > most * p->length[i])) continue;
        most = length / p->length[i];
        best = i;
        *left = length;
    }
    return best;
}

// Takes a row into the basis, and what it holds off the others.
static void take_row(cal_projector* p, int row, double left) {
    const int n = p->count, k = p->rank++;
    double *q = p->basis + (size_t)k * (size_t)n, *own = p->rest + (size_t)row * (size_t)n;
    memcpy(q, own, (size_t)n * sizeof *q);
    for (int j = 0; j < k; j++) {
        const double* other = p->basis + (size_t)j * (size_t)n;
        subtract(q, dot(other, q, n), other, n);
    }
    const double length = sqrt(dot(q, q, n));
    for (int i = 0; i < n; i++) q[i] /= length;
    const double error = p->error[row] / left;
    p->pivot[k] = row;
    p->length[row] = 0.0; // taken
    for (int i = 0; i < p->rows; i++) {
        if (!(p->length[i] > 0.0)) continue;
        double* y = p->rest + (size_t)i * (size_t)n;
        const double part = dot(q, y, n);
        subtract(y, part, q, n);
        p->error[i] += fabs(part) * (error + n * DBL_EPSILON);
    }
}

void cal_projector_make(cal_projector* p, const double* A, const double* noise, int rows, const double* L, int count,
                        double* memory) {
    const size_t size = (size_t)rows * (size_t)count, n = (size_t)count;
    *p = (cal_projector){.rows = rows, .count = count, .A = A};
    p->z = memory, p->w = p->z + size, p->rest = p->w + size, p->basis = p->rest + size;
    p->corner = p->basis + size, p->length = p->corner + (size_t)rows * (size_t)rows;
    p->error = p->length + rows, p->work = p->error + rows;
    double* sizes = p->work + 2 * n;
    p->pivot = (int32_t*)(void*)(sizes + n * n);
    find_sizes(L, count, sizes);
    memcpy(p->rest, A, size * sizeof *A);
    for (int i = 0; i < rows; i++) {
        double* y = p->rest + (size_t)i * n;
        cal_dense_lower(L, count, y);
        p->length[i] = sqrt(dot(y, y, count));
        p->error[i] = error_of(L, sizes, count, y, noise[i], p->work);
    }
    double left;
    for (int row = next_row(p, &left); row >= 0 && p->rank < count; row = next_row(p, &left)) take_row(p, row, left);
    for (int k = 0; k < p->rank; k++) {
        const double* q = p->basis + (size_t)k * n;
        double *z = p->z + (size_t)k * n, *w = p->w + (size_t)k * n;
        memcpy(z, q, n * sizeof *z);
        cal_dense_upper(L, count, z);
        for (int i = 0; i < count; i++) w[i] = dot(L + (size_t)i * n, q, i + 1);
    }
    for (int i = 0; i < p->rank; i++)
        for (int k = 0; k <= i; k++)
            p->corner[i * p->rank + k] = dot(A + (size_t)p->pivot[i] * n, p->z + (size_t)k * n, count);
}

// Twice: what the first time leaves is its own rounding.
void cal_projector_apply(const cal_projector* p, double* x) {
    const int n = p->count;
    for (int turn = 0; turn < 2; turn++)
        for (int k = 0; k < p->rank; k++)
            subtract(x, dot(p->w + (size_t)k * (size_t)n, x, n), p->z + (size_t)k * (size_t)n, n);
}

void cal_projector_apply_row(const cal_projector* p, double* row) {
    const int n = p->count;
    double size = 0.0, left = 0.0;
    double* sizes = p->work;
    for (int i = 0; i < n; i++) sizes[i] = fabs(row[i]);
    for (int turn = 0; turn < 2; turn++)
        for (int k = 0; k < p->rank; k++) {
            const double *z = p->z + (size_t)k * (size_t)n, *w = p->w + (size_t)k * (size_t)n, part = dot(row, z, n);
            subtract(row, part, w, n);
            double largest = 0.0;
            for (int i = 0; i < n; i++) largest += sizes[i] * fabs(z[i]);
            for (int i = 0; turn == 0 && i < n; i++) sizes[i] += largest * fabs(w[i]);
        }
    // Each entry is a sum of as many products as there are degrees of freedom, of sizes that add up to this.
    for (int i = 0; i < n; i++) size = fmax(size, sizes[i]), left = fmax(left, fabs(row[i]));
    if (left <= room * n * DBL_EPSILON * size) memset(row, 0, (size_t)n * sizeof *row);
}

void cal_projector_correct(const cal_projector* p, const double* right, double* x) {
    const int n = p->count;
    double* share = p->work; // rank ≤ count
    // A second time for what rounding left of the first.
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < p->rank; i++) {
            const int row = p->pivot[i];
            share[i] = right[row] - dot(p->A + (size_t)row * (size_t)n, x, n);
            for (int k = 0; k < i; k++) share[i] -= p->corner[i * p->rank + k] * share[k];
            share[i] /= p->corner[i * p->rank + i];
        }
        for (int i = 0; i < p->rank; i++) subtract(x, -share[i], p->z + (size_t)i * (size_t)n, n);
    }
}
