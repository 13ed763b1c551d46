// The paper's sessions A, C and D: every solver needs about as many evaluations as an independent implementation.
#include "solver_sessions.h"
#include "support.h"
#include <math.h>
#include <string.h>

// Gear within a quarter, the others within a half of the reference.
static void expect_session(char session) {
    cal_session_case cases[CAL_SESSION_CASES];
    const int count = cal_session_cases(session, cases);
    int compared = 0;
    for (int i = 0; i < count; i++)
        for (int solver = 0; solver < CAL_SESSION_SOLVERS; solver++) {
            cal_session_cell cell;
            cal_error error = {0};
            if (cal_session_run_cell(session, i, solver, &cell, &error)) fail_msg("%s", error.text);
            if (!cell.available) continue;
            if (!cell.stable)
                fail_msg("session %c, %s: %s has no stable run", session, cases[i].label,
                         cal_session_solver_names[solver]);
            if (!(cell.maximum >= cell.evaluations_per_second))
                fail_msg("session %c, %s: the maximum is below the average", session, cases[i].label);
            if (!(cell.reference > 0.0)) continue;
            const double bound = strcmp(cal_session_solver_names[solver], "gear") == 0 ? 0.25 : 0.5;
            const double ratio = cell.evaluations_per_second / cell.reference;
            if (!(fabs(ratio - 1.0) <= bound))
                fail_msg("session %c, %s: %s needs %.1f evaluations per second, the reference %.1f", session,
                         cases[i].label, cal_session_solver_names[solver], cell.evaluations_per_second, cell.reference);
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
    cal_session_case cases[CAL_SESSION_CASES];
    assert_int_equal(cal_session_cases('E', cases), 0);
    assert_null(cal_session_title('E'));
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
