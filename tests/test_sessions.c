// The paper's sessions A, C and D: every solver needs about as many evaluations as an independent implementation.
#include "../cli/bench_solvers_run.h"
#include "support.h"
#include <math.h>
#include <string.h>

// Gear within a quarter, the others within a half of the reference.
static void expect_session(char session) {
    bench_case cases[BENCH_MAX_CASES];
    const int count = bench_session_cases(session, cases);
    int compared = 0;
    for (int i = 0; i < count; i++)
        for (int solver = 0; solver < BENCH_SOLVER_COUNT; solver++) {
            bench_cell cell;
            cal_error error = {0};
            if (bench_session_cell(session, i, solver, &cell, &error)) fail_msg("%s", error.text);
            if (!cell.available) continue;
            if (!cell.stable)
                fail_msg("session %c, %s: %s has no stable run", session, cases[i].label, bench_solver_names[solver]);
            if (!(cell.maximum >= cell.evaluations_per_second))
                fail_msg("session %c, %s: the maximum is below the average", session, cases[i].label);
            if (!(cell.reference > 0.0)) continue;
            const double bound = strcmp(bench_solver_names[solver], "gear") == 0 ? 0.25 : 0.5;
            const double ratio = cell.evaluations_per_second / cell.reference;
            if (!(fabs(ratio - 1.0) <= bound))
                fail_msg("session %c, %s: %s needs %.1f evaluations a second, the reference %.1f", session,
                         cases[i].label, bench_solver_names[solver], cell.evaluations_per_second, cell.reference);
            compared++;
        }
    assert_true(compared >= 15);
}

static void test_session_a(void** state) {
    (void)state;
    expect_session('A');
}

static void test_session_c(void** state) {
    (void)state;
    expect_session('C');
}

static void test_session_d(void** state) {
    (void)state;
    expect_session('D');
}

static void test_unknown_session(void** state) {
    (void)state;
    bench_case cases[BENCH_MAX_CASES];
    assert_int_equal(bench_session_cases('E', cases), 0);
    assert_null(bench_session_title('E'));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session_a),
        cmocka_unit_test(test_session_c),
        cmocka_unit_test(test_session_d),
        cmocka_unit_test(test_unknown_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
