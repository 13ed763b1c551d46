// Numbers as text, beside what the C library writes and reads.
#include "base/number_text.h"
#include "calder/calder_record.h"
#include "support.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 5;
static uint64_t next_random(void) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return seed >> 11 ^ seed << 20;
}

// The shortest of 15, 16 and 17 digits, and 6, 7 and 9 of them.
static void expect_as_library(double value) {
    char wanted[64], found[CAL_NUMBER_CAPACITY];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(wanted, sizeof wanted, "%.*g", digits, value);
        if (strtod(wanted, NULL) == value) break;
    }
    assert_string_equal(cal_number_text(value, found), wanted);
    for (int digits = 1; digits <= 17; digits += digits == 7 ? 2 : 1) {
        if (!cal_exact_text(value, digits, digits, found)) continue;
        snprintf(wanted, sizeof wanted, "%.*g", digits, value);
        assert_string_equal(found, wanted);
    }
}

static void all_about(double value) {
    expect_as_library(value), expect_as_library(-value);
    expect_as_library(nextafter(value, INFINITY)), expect_as_library(nextafter(value, 0.0));
}

static void powers(void** state) {
    (void)state;
    for (int k = -30; k <= 30; k++)
        all_about(pow(10.0, k)), all_about(0.5 * pow(10.0, k)), all_about(9.5 * pow(10.0, k));
    for (int k = -1074; k < 1024; k++) all_about(ldexp(1.0, k));
    for (int i = 0; i < 2; i++) expect_as_library(i == 0 ? 0.0 : -0.0);
}

// Halves and quarters of what the last digit is worth are exact in binary.
static void ties(void** state) {
    (void)state;
    for (int i = 0; i < 20000; i++) {
        const uint64_t whole = next_random() % (UINT64_C(1) << 50);
        expect_as_library((double)whole + 0.5);
        expect_as_library((double)(whole >> 3) + 0.125);
        expect_as_library((double)(whole >> 13) + 0x1p-13);
        expect_as_library((double)(whole >> (next_random() % 50)) * ldexp(1.0, -(int)(next_random() % 60)));
    }
}

static void random_numbers(void** state) {
    (void)state;
    for (int i = 0; i < 40000; i++) {
        uint64_t bits = next_random();
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) expect_as_library(value); // of any size
        bits = (bits & ((UINT64_C(1) << 52) - 1)) | (UINT64_C(980) + next_random() % 100) << 52;
        memcpy(&value, &bits, sizeof value);
        expect_as_library(value);
        expect_as_library((double)(int64_t)(next_random() % 2000001 - 1000000) * pow(10.0, -(int)(next_random() % 12)));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(powers), cmocka_unit_test(ties),
                                       cmocka_unit_test(random_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
