// Roots and powers whose bits do not depend on the C library: additions, multiplications and divisions in a fixed order, and
// frexp and ldexp, which are exact.
#pragma once
#include "base/per_lane.h"
#include <math.h>

// x^(1/n) for x ≥ 0 and n from 1 to 64, to a relative error below 4 · 2⁻⁵³ (tests/test_power.c); infinity and NaN stay as they are.
//
// x = m · 2^(n k) with 1 ≤ m < 2ⁿ, whose root is from 1 to 2. Newton's method for yⁿ = m from above,
//
//   y ← y − (y − m / yⁿ⁻¹) / n ,
//
// falls to the root and stops where rounding keeps it from falling. What is left: the quotient has n roundings, a share of 1/n of
// which counts, and there are the last division and subtraction.
CAL_DEVICE static inline double cal_root(double x, int n) {
    if (!(x > 0.0) || x > 1.7976931348623157e308) return x;
    int exponent = 0;
    const double fraction = frexp(x, &exponent); // from ½ to 1
    int whole = (exponent - 1) / n, rest = (exponent - 1) % n;
    if (rest < 0) rest += n, whole--;
    const double m = ldexp(2.0 * fraction, rest);
    double y = 2.0;
    for (;;) {
        double power = 1.0;
        for (int i = 1; i < n; i++) power *= y;
        const double next = y - (y - m / power) / n;
        if (!(next < y)) break;
        y = next;
    }
    return ldexp(y, whole);
}

// exp(high + low), where low is small against high and the two together are z; to a relative error below (2 + |z|) · 2⁻⁵³
// (tests/test_power.c):
//
//   exp z = 2ᵏ (1 + r + r²/2 + …) ,            r = z − k ln 2, |r| < 0.347: 14 terms
//
// ln 2 is taken in two parts, the first with 32 bits, so that k times it is exact.
static const double cal_ln2_high = 0x1.62e42ffp-1, cal_ln2_low = -0x1.718432a1b0e26p-35;
static inline double cal_exponential_of_sum(double high, double low) {
    static const double LN2 = 0.69314718055994530942;
    const double k = floor((high + low) / LN2 + 0.5);
    const double r = (high - k * cal_ln2_high) + (low - k * cal_ln2_low);
    double e = 0.0;
    for (int i = 14; i >= 1; i--) e = (e + 1.0) * (r / i);
    return k > 1100.0 ? (double)INFINITY : k < -1100.0 ? 0.0 : ldexp(1.0 + e, (int)k);
}
static inline double cal_exponential(double z) { return cal_exponential_of_sum(z, 0.0); }

// ln x for x > 0: the exponent's part, and the rest with what is beside it.
//
//   ln x = e ln 2 + 2 (s + s³/3 + s⁵/5 + …) ,  s = (m − 1) / (m + 1) ,  m from √½ to √2, so that |s| < 0.172: 11 terms
static inline double cal_logarithm_parts(double x, double* high) {
    static const double ROOT_HALF = 0.70710678118654752440;
    int exponent = 0;
    double m = frexp(x, &exponent);
    if (m < ROOT_HALF) m *= 2.0, exponent--;
    const double s = (m - 1.0) / (m + 1.0), square = s * s;
    double sum = 0.0;
    for (int i = 21; i >= 3; i -= 2) sum = (sum + 1.0 / i) * square;
    *high = exponent * cal_ln2_high;
    return exponent * cal_ln2_low + (2.0 * s + 2.0 * s * sum);
}
static inline double cal_logarithm(double x) {
    double high;
    const double low = cal_logarithm_parts(x, &high);
    return high + low;
}

// x^p for x > 0, to a relative error below (4 + 2 |p ln x|) · 2⁻⁵³ (tests/test_power.c), by ln and exp.
static inline double cal_power(double x, double p) {
    double high;
    const double low = cal_logarithm_parts(x, &high);
    return cal_exponential_of_sum(p * high, p * low);
}
