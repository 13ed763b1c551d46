// The triangle of constraints' rows: solutions of least squares' equations, whatever the number of rows that a group's front has, and
// columns that follow from others are found.
#include "constraint/skyline.h"
#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 7, MOST = 3 * GROUPS, ROWS = 400 };

typedef struct problem {
    cal_skyline triangle;
    int32_t last[MOST], begin[MOST], column[MOST], sizes[GROUPS], first[GROUPS + 1];
    size_t start[MOST];
    double root[MOST * MOST], over[MOST], row[MOST], left[MOST], *front;
    double Y[ROWS][MOST]; // what was added
    int rows;
} problem;

static double next_number(uint64_t* state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 4503599627370496.0 - 1.0;
}

// Groups of one to three columns; rows that begin in a group reach to the end of the next one.
static void begin(problem* p, uint64_t* state) {
    memset(p, 0, sizeof *p);
    for (int g = 0; g < GROUPS; g++) {
        p->sizes[g] = 1 + (int)(fabs(next_number(state)) * 2.999);
        p->first[g + 1] = p->first[g] + p->sizes[g];
    }
    size_t total = 0;
    int widest = 0;
    for (int g = 0; g < GROUPS; g++)
        for (int i = p->first[g]; i < p->first[g + 1]; i++) {
            p->begin[i] = p->first[g], p->last[i] = p->first[g + 1 < GROUPS ? g + 2 : g + 1] - 1, p->start[i] = total;
            const int width = p->last[i] - p->begin[i] + 1;
            widest = width > widest ? width : widest;
            total += cal_skyline_row_size(width);
        }
    const int stride = (widest + 3) & ~3;
    p->front = calloc(cal_skyline_front_size(stride), sizeof(double));
    assert_non_null(p->front);
    p->triangle = (cal_skyline){.count = p->first[GROUPS],
                                .last = p->last,
                                .begin = p->begin,
                                .start = p->start,
                                .root = p->root,
                                .over = p->over,
                                .front = p->front,
                                .row = p->row,
                                .stride = stride,
                                .column = p->column,
                                .left = p->left};
    cal_skyline_clear(&p->triangle, 0, p->triangle.count);
}

// Rows that begin in a group; the column `copy` is what the one before it is, −1: none.
static void add_rows(problem* p, int group, int count, int copy, uint64_t* state) {
    const int first = p->first[group];
    for (int r = 0; r < count; r++) {
        double *to = cal_skyline_begin_row(&p->triangle, first), *own = p->Y[p->rows++];
        for (int j = first; j <= p->last[first]; j++) own[j] = next_number(state);
        if (copy > first && copy <= p->last[first]) own[copy] = own[copy - 1];
        memcpy(to, own + first, (size_t)(p->last[first] - first + 1) * sizeof *to);
    }
}

// copy: a column that follows from the one before it, which is in its group, −1: none.
static void check(uint64_t seed, int rows_of_group, int copy_group) {
    problem p;
    uint64_t state = seed;
    begin(&p, &state);
    const int copy = copy_group >= 0 && p.sizes[copy_group] > 1 ? p.first[copy_group] + 1 : -1;
    int kept = 0;
    for (int g = 0; g < GROUPS; g++) {
        double weight[CAL_SKYLINE_GROUP], least[CAL_SKYLINE_GROUP];
        for (int i = 0; i < p.sizes[g]; i++) weight[i] = 1.0, least[i] = 1e-20;
        const cal_skyline_choice how = {weight, least};
        add_rows(&p, g, rows_of_group, copy, &state);
        kept += cal_skyline_reveal(&p.triangle, p.first[g], p.sizes[g], &how);
    }
    const int count = p.first[GROUPS];
    assert_int_equal(kept, copy >= 0 ? count - 1 : count);
    double b[MOST], x[MOST], largest = 0.0;
    for (int i = 0; i < count; i++) b[i] = x[i] = next_number(&state);
    cal_skyline_forward(&p.triangle, x, 0, count);
    cal_skyline_backward(&p.triangle, x, 0, count, false);
    for (int i = 0; i < count; i++) {
        double sum = 0.0;
        for (int r = 0; r < p.rows; r++) {
            double product = 0.0;
            for (int j = 0; j < count; j++) product += p.Y[r][j] * x[j];
            sum += p.Y[r][i] * product;
        }
        if (p.left[i] > 0.0)
            largest = fmax(largest, fabs(sum - b[i]));
        else
            assert_true(x[i] == 0.0 && (i == copy || i == copy - 1));
    }
    cal_test_expect_below(largest, 1e-9, "what is left of the right side", "triangle");
    free(p.front);
}

static void solutions_are_those_of_least_squares(void** unused) {
    (void)unused;
    // Fewer rows than columns a group, a front, and more than a front holds.
    static const int rows[] = {3, 5, CAL_SKYLINE_FRONT, CAL_SKYLINE_FRONT + 1, 3 * CAL_SKYLINE_FRONT};
    for (uint64_t seed = 1; seed <= 60; seed++)
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) check(seed, rows[i], -1);
}

static void columns_that_follow_from_others_are_dropped(void** unused) {
    (void)unused;
    for (uint64_t seed = 1; seed <= 60; seed++)
        for (int group = 0; group < GROUPS; group++) {
            check(seed, 5, group);
            check(seed, CAL_SKYLINE_FRONT + 3, group);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(solutions_are_those_of_least_squares),
                                       cmocka_unit_test(columns_that_follow_from_others_are_dropped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
