// Roots and powers of our own, against long doubles: as exact as their header says, at every exponent.
#include "math/power.h"
#include "support.h"
#include <math.h>

static const double UNIT = 0x1p-53;

static void test_roots_are_exact_to_four_units(void** state) {
    (void)state;
    for (int n = 1; n <= 14; n++)
        for (int exponent = -1070; exponent <= 1020; exponent += 7)
            for (int k = 0; k < 8; k++) {
                const double x = ldexp(1.0 + k / 8.3, exponent), y = cal_root(x, n);
                const long double right = powl(x, 1.0L / n);
                if (!(fabsl(y - right) <= 4.0L * UNIT * right)) fail_msg("root %d of %a is not %a", n, x, y);
            }
    assert_true(cal_root(0.0, 5) == 0.0 && cal_root(1.0, 7) == 1.0 && cal_root(1024.0, 10) == 2.0);
    assert_true(isinf(cal_root((double)INFINITY, 3)) && isnan(cal_root((double)NAN, 3)));
}

static void test_powers_are_as_exact_as_said(void** state) {
    (void)state;
    static const double powers[] = {1.6075, 1.0 / 1.6075, 2.4, -0.5, 7.25, 40.0};
    for (size_t i = 0; i < sizeof powers / sizeof powers[0]; i++)
        for (int k = -400; k <= 400; k++) {
            const double x = ldexp(1.0 + fabs(sin((double)k)), k / 20), p = powers[i], y = cal_power(x, p);
            const long double right = powl(x, p), bound = (4.0L + 2.0L * fabsl(p * logl(x))) * UNIT;
            if (!(fabsl(y - right) <= bound * right)) fail_msg("%a to the power %g is not %a", x, p, y);
        }
    assert_true(cal_power(1.0, 3.7) == 1.0);
}

static void test_exponentials_are_exact_to_two_units(void** state) {
    (void)state;
    for (int k = -7000; k <= 7000; k++) {
        const double z = 0.1 * k + 0.037 * sin((double)k), y = cal_exponential(z);
        const long double right = expl(z), bound = (2.0L + fabsl(z)) * UNIT;
        if (!(fabsl(y - right) <= bound * right)) fail_msg("exp %a is not %a", z, y);
    }
    assert_true(cal_exponential(0.0) == 1.0 && cal_exponential(-1e6) == 0.0 && isinf(cal_exponential(1e6)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roots_are_exact_to_four_units),
        cmocka_unit_test(test_powers_are_as_exact_as_said),
        cmocka_unit_test(test_exponentials_are_exact_to_two_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
