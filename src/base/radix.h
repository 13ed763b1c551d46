// Sorting by 64-bit keys, a byte after the other: quicker than comparing where there are hundreds of keys.
#pragma once
#include <stdint.h>
#include <string.h>

typedef struct cal_keyed {
    uint64_t key;
    int64_t number;
} cal_keyed;

// Ascending; those with equal keys stay in their order. room: for as many.
void cal_radix_sort(cal_keyed* items, cal_keyed* room, int count);

// A key that is the larger the larger a number is; zeros are alike.
static inline uint64_t cal_key_of_number(double x) {
    const uint64_t sign = UINT64_C(1) << 63;
    const double positive = x + 0.0;
    uint64_t bits;
    memcpy(&bits, &positive, sizeof bits);
    return bits & sign ? ~bits : bits | sign;
}
