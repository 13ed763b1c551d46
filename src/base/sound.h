// Whether numbers from a file are what they must be before they are used as one.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// A byte that is 0 or 1: any other one is no bool.
static inline bool cal_is_flag(const bool* flag) {
    unsigned char byte;
    memcpy(&byte, flag, sizeof byte);
    return byte <= 1;
}

// How often something happened, which can happen again.
static inline bool cal_is_count(int64_t count) { return count >= 0 && count < INT32_MAX; }

// A whole number from 0 to `most`.
static inline bool cal_is_index(double number, int most) {
    return number >= 0.0 && number <= most && number == (double)(int)number;
}
