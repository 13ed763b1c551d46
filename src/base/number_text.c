// Numbers as text with a point for the fraction. printf and strtod have the locale's, and a library must not change that of its host.
#include "base/number_text.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// --- Digits -----------------------------------------------------------------------------------------------------------------------
//
// printf takes some 3000 instructions for a number of 17 digits, and as many to see whether 15 or 16 of them would have done. Where numbers are not very small or
// large, whole numbers of 128 bits have them exactly:
//
//     x = m 2^e,   m < 2^53        x 10^k = m 5^k 2^(e+k) = P / 2^s       10^16 ≤ x 10^k < 10^17
//
// P < 2^116 for k ≤ 27 (5^27 < 2^63). What reads back to x is nearer to it than half of what the last bit of m is worth, 5^k / 2 in units of P; below a power of two,
// half of that.

enum { DIGITS = 17, MOST_POWER = 27, MANTISSA = 52 };

__extension__ typedef unsigned __int128 wide;

static const uint64_t tens[] = {UINT64_C(1),
                                UINT64_C(10),
                                UINT64_C(100),
                                UINT64_C(1000),
                                UINT64_C(10000),
                                UINT64_C(100000),
                                UINT64_C(1000000),
                                UINT64_C(10000000),
                                UINT64_C(100000000),
                                UINT64_C(1000000000),
                                UINT64_C(10000000000),
                                UINT64_C(100000000000),
                                UINT64_C(1000000000000),
                                UINT64_C(10000000000000),
                                UINT64_C(100000000000000),
                                UINT64_C(1000000000000000),
                                UINT64_C(10000000000000000),
                                UINT64_C(100000000000000000)};

// P and s as above, with 5^k, m, the first 17 digits, and the power of ten of the first of them.
typedef struct decimal {
    wide scaled;
    uint64_t five, mantissa, digits;
    int shift, power;
} decimal;

static uint64_t power_of_five(int k) {
    uint64_t five = 1;
    for (uint64_t base = 5; k > 0; k >>= 1, base *= base)
        if (k & 1) five *= base;
    return five;
}

static bool scale(double x, decimal* d) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int exponent = (int)(bits >> MANTISSA) - 1023; // of a number that is positive and not tiny
    d->mantissa = (bits & ((UINT64_C(1) << MANTISSA) - 1)) | UINT64_C(1) << MANTISSA;
    if (exponent < -40 || exponent > 52) return false;
    // log10(2) 2^18, rounded down: of so few exponents the power is right, or one too low. 64 more are shifted: what is below zero is not.
    d->power = ((exponent * 78913 + (64 << 18)) >> 18) - 64;
    for (;; d->power++) {
        const int k = DIGITS - 1 - d->power;
        d->shift = MANTISSA - exponent - k;
        if (k < 0 || k > MOST_POWER || d->shift < 1) return false;
        d->five = power_of_five(k);
        d->scaled = (wide)d->mantissa * d->five;
        d->digits = (uint64_t)(d->scaled >> d->shift);
        if (d->digits < tens[DIGITS]) return true;
    }
}

// So many digits, rounded to the nearest, and to an even one half-way.
static uint64_t round_to(const decimal* d, int count) {
    const wide unit = (wide)tens[DIGITS - count] << d->shift,
               rest = d->scaled - (d->digits / tens[DIGITS - count]) * unit;
    const uint64_t digits = d->digits / tens[DIGITS - count];
    return digits + (2 * rest > unit || (2 * rest == unit && digits % 2 == 1));
}

static bool reads_back(const decimal* d, uint64_t digits, int count) {
    const wide text = (wide)(digits * tens[DIGITS - count]) << d->shift;
    const bool below = text < d->scaled, narrow = below && d->mantissa == UINT64_C(1) << MANTISSA;
    const wide off = (below ? d->scaled - text : text - d->scaled) * (narrow ? 4 : 2);
    return off < d->five || (off == d->five && d->mantissa % 2 == 0);
}

// As "%.*g" does, without the zeros at the end.
static void put_digits(uint64_t digits, int count, int power, char* text) {
    char plain[DIGITS];
    for (int i = count - 1; i >= 0; i--, digits /= 10) plain[i] = (char)('0' + digits % 10);
    int kept = count;
    while (kept > 1 && plain[kept - 1] == '0') kept--;
    const bool scientific = power < -4 || power >= count;
    const int whole = scientific ? 1 : power + 1; // digits before the point
    if (whole <= 0) {
        *text++ = '0', *text++ = '.';
        for (int i = whole; i < 0; i++) *text++ = '0';
    }
    for (int i = 0; i < kept || i < whole; i++) {
        if (i > 0 && i == whole) *text++ = '.';
        *text++ = i < kept ? plain[i] : '0';
    }
    if (scientific) {
        const int size = abs(power);
        *text++ = 'e', *text++ = power < 0 ? '-' : '+';
        *text++ = (char)('0' + size / 10), *text++ = (char)('0' + size % 10);
    }
    *text = '\0';
}

bool cal_exact_text(double value, int least, int most, char* text) {
    if (signbit(value)) *text++ = '-', value = -value;
    if (value == 0.0) {
        memcpy(text, "0", 2);
        return true;
    }
    decimal d;
    if (!isfinite(value) || !scale(value, &d)) return false;
    uint64_t digits = round_to(&d, least);
    while (least < most && !reads_back(&d, digits, least)) digits = round_to(&d, ++least);
    if (digits == tens[least]) digits /= 10, d.power++;
    put_digits(digits, least, d.power, text);
    return true;
}

// --- Text -------------------------------------------------------------------------------------------------------------------------

void cal_put_point(char* text) {
    char* end = text;
    for (const char* p = text; *p != '\0'; p++) {
        const bool plain = (*p >= '0' && *p <= '9') || *p == '-' || *p == '+' || *p == 'e';
        if (plain)
            *end++ = *p;
        else if (end == text || end[-1] != '.')
            *end++ = '.';
    }
    *end = '\0';
}

void cal_write_number(FILE* file, int digits, double value) {
    char text[64];
    if (!isfinite(value)) value = 0.0;
    if (digits < 1 || digits > DIGITS || !cal_exact_text(value, digits, digits, text)) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        cal_put_point(text);
    }
    fputs(text, file);
}

void cal_write_numbers(FILE* file, int digits, const double* values, int count) {
    for (int i = 0; i < count; i++) {
        if (i > 0) fputc(',', file);
        cal_write_number(file, digits, values[i]);
    }
}

// By a locale of the thread's own: the program's may be changed by another thread at any time.
double cal_number_from_text(const char* text, char** end) {
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(plain);
    const double value = strtod(text, end);
    uselocale(before);
    if (plain != (locale_t)0) freelocale(plain);
    return value;
}
