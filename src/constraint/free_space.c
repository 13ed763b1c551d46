// Reflections, their basis, and what a quadratic form is on it (free_space.h).
#include "constraint/free_space.h"
#include "base/wide.h"
#include <math.h>
#include <string.h>

enum { TILE = 64 }; // columns of S at a time: what is read again for each line of B stays in the caches

// The squares of what columns have left from line k on.
CAL_WIDE static void free_space_measure(const double* columns, int m, int k, int n, double* left) {
    memset(left + k, 0, (size_t)(m - k) * sizeof *left);
    for (int r = k; r < n; r++) {
        const double* line = columns + (size_t)r * (size_t)m;
        CAL_INDEPENDENT
        for (int i = k; i < m; i++) left[i] += line[i] * line[i];
    }
}

// x ← (1 − factor w wᵀ) x of the columns from `first` on; w begins with w_k = 1.
CAL_WIDE static void free_space_reflect(double factor, const double* w, int k, int n, int first, int m, double* columns,
                                        double* sums) {
    double* head = columns + (size_t)k * (size_t)m;
    memset(sums + first, 0, (size_t)(m - first) * sizeof *sums);
    for (int r = k + 1; r < n; r++) {
        const double* line = columns + (size_t)r * (size_t)m;
        CAL_INDEPENDENT
        for (int i = first; i < m; i++) sums[i] += w[r] * line[i];
    }
    CAL_INDEPENDENT
    for (int i = first; i < m; i++) {
        sums[i] = factor * (head[i] + sums[i]);
        head[i] -= sums[i];
    }
    for (int r = k + 1; r < n; r++) {
        double* line = columns + (size_t)r * (size_t)m;
        CAL_INDEPENDENT
        for (int i = first; i < m; i++) line[i] -= sums[i] * w[r];
    }
}

static void swap_columns(cal_free_space* space, int k, int other) {
    if (k == other) return;
    for (int r = 0; r < space->n; r++) {
        double *line = space->columns + (size_t)r * (size_t)space->m, here = line[k];
        line[k] = line[other], line[other] = here;
    }
    const int32_t row = space->order[k];
    space->order[k] = space->order[other], space->order[other] = row;
}

static void read_reflection(const cal_free_space* space, int k) {
    for (int r = k + 1; r < space->n; r++) space->line[r] = space->columns[(size_t)r * (size_t)space->m + (size_t)k];
}

void cal_free_space_factor(cal_free_space* space, double threshold) {
    const int n = space->n, m = space->m;
    space->rank = 0;
    for (int k = 0; k < m && k < n; k++) {
        // What a row has left is computed anew each time: sums that are only reduced lose their digits just where ranks are decided.
        free_space_measure(space->columns, m, k, n, space->sums);
        int pivot = k;
        for (int i = k + 1; i < m; i++)
            if (space->sums[i] > space->sums[pivot]) pivot = i;
        const double length = sqrt(fmax(space->sums[pivot], 0.0));
        if (!(length > threshold)) break;
        swap_columns(space, k, pivot);
        double* first = space->columns + (size_t)k * (size_t)m + (size_t)k;
        const double diagonal = *first > 0.0 ? -length : length, head = *first - diagonal;
        space->factor[k] = -head / diagonal;
        space->diagonal[k] = diagonal;
        for (int r = k + 1; r < n; r++) space->columns[(size_t)r * (size_t)m + (size_t)k] /= head;
        space->rank = k + 1;
        read_reflection(space, k);
        free_space_reflect(space->factor[k], space->line, k, n, k + 1, m, space->columns, space->sums);
    }
}

static void turn(cal_free_space* space, int count, double* columns) {
    for (int k = space->rank - 1; k >= 0; k--) {
        read_reflection(space, k);
        free_space_reflect(space->factor[k], space->line, k, space->n, 0, count, columns, space->sums);
    }
}

void cal_free_space_turn(cal_free_space* space, double* x) { turn(space, 1, x); }

void cal_free_space_find_basis(cal_free_space* space) {
    const int free = space->n - space->rank;
    memset(space->basis, 0, (size_t)space->n * (size_t)free * sizeof(double));
    for (int c = 0; c < free; c++) space->basis[(size_t)(space->rank + c) * (size_t)free + (size_t)c] = 1.0;
    if (free > 0) turn(space, free, space->basis);
}

// Sums of products with the numbers that are known, for all that wait for them.
CAL_WIDE static void free_space_add(double number, const double* line, int first, int end, double* sums) {
    CAL_INDEPENDENT
    for (int i = first; i < end; i++) sums[i] += line[i] * number;
}

void cal_free_space_solve(cal_free_space* space, const double* right, double* x) {
    const size_t m = (size_t)space->m;
    memset(x, 0, (size_t)space->n * sizeof *x);
    memset(space->sums, 0, (size_t)space->rank * sizeof(double));
    for (int k = 0; k < space->rank; k++) { // line k of R: ∑ⱼ Rⱼₖ xⱼ = right_k
        x[k] = (right[space->order[k]] - space->sums[k]) / space->diagonal[k];
        free_space_add(x[k], space->columns + (size_t)k * m, k + 1, space->rank, space->sums);
    }
    cal_free_space_turn(space, x);
}

void cal_free_space_multiply(const double* matrix, int n, const double* x, double* out) {
    memset(out, 0, (size_t)n * sizeof *out);
    for (int i = 0; i < n; i++) free_space_add(x[i], matrix + (size_t)i * (size_t)n, 0, n, out);
}

// out = B S, of the columns from `first` to `end`.
CAL_WIDE static void free_space_map(const double* matrix, int n, const double* basis, int free, int first, int end,
                                    double* out) {
    for (int i = 0; i < n; i++) {
        double* to = out + (size_t)i * (size_t)free;
        for (int c = first; c < end; c++) to[c] = 0.0;
        for (int j = 0; j < n; j++) {
            const double number = matrix[(size_t)i * (size_t)n + (size_t)j];
            const double* line = basis + (size_t)j * (size_t)free;
            CAL_INDEPENDENT
            for (int c = first; c < end; c++) to[c] += number * line[c];
        }
    }
}

// Line j of Sᵀ (B S), from its diagonal on.
CAL_WIDE static void free_space_form(const double* basis, const double* product, int n, int free, int j, double* to) {
    memset(to + j, 0, (size_t)(free - j) * sizeof *to);
    for (int k = 0; k < n; k++) {
        const double number = basis[(size_t)k * (size_t)free + (size_t)j], *line = product + (size_t)k * (size_t)free;
        CAL_INDEPENDENT
        for (int i = j; i < free; i++) to[i] += number * line[i];
    }
}

void cal_free_space_reduce(cal_free_space* space, const double* matrix, double* product, double* root) {
    const int n = space->n, free = space->n - space->rank;
    const size_t width = (size_t)free;
    for (int first = 0; first < free; first += TILE)
        free_space_map(matrix, n, space->basis, free, first, first + TILE < free ? first + TILE : free, product);
    // Cholesky's method, line after line of Lᵀ: B is positive, and S has independent columns.
    for (int j = 0; j < free; j++) {
        double* line = root + (size_t)j * width;
        free_space_form(space->basis, product, n, free, j, line);
        memset(space->sums + j, 0, (size_t)(free - j) * sizeof(double));
        for (int k = 0; k < j; k++)
            free_space_add(root[(size_t)k * width + (size_t)j], root + (size_t)k * width, j, free, space->sums);
        line[j] = sqrt(line[j] - space->sums[j]);
        for (int i = j + 1; i < free; i++) line[i] = (line[i] - space->sums[i]) / line[j];
    }
}

void cal_free_space_relax(cal_free_space* space, const double* root, const double* force, double* x) {
    const int n = space->n, free = space->n - space->rank;
    const size_t width = (size_t)free;
    double *w = space->line, *sums = space->sums;
    memset(w, 0, width * sizeof *w), memset(sums, 0, width * sizeof *sums);
    for (int k = 0; k < n; k++) free_space_add(force[k], space->basis + (size_t)k * width, 0, free, w);
    for (int i = 0; i < free; i++) {
        const double* line = root + (size_t)i * width;
        w[i] = (-w[i] - sums[i]) / line[i];
        free_space_add(w[i], line, i + 1, free, sums);
    }
    for (int i = free - 1; i >= 0; i--) {
        const double* line = root + (size_t)i * width;
        for (int j = i + 1; j < free; j++) w[i] -= line[j] * w[j];
        w[i] /= line[i];
    }
    for (int k = 0; k < n; k++)
        for (int i = 0; i < free; i++) x[k] += space->basis[(size_t)k * width + (size_t)i] * w[i];
}
