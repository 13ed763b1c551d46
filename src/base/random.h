// Reproducible random numbers for generators and tests: Vigna's SplitMix64. One word of state, any seed will do.
#pragma once
#include <stdint.h>

typedef struct cal_random {
    uint64_t state;
} cal_random;

static inline uint64_t cal_random_bits(cal_random* random) {
    uint64_t z = (random->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

// As so many numbers later.
static inline void cal_random_skip(cal_random* random, uint64_t count) {
    random->state += count * UINT64_C(0x9e3779b97f4a7c15);
}

// Uniform in [low, high).
static inline double cal_random_between(cal_random* random, double low, double high) {
    return low + (high - low) * ((double)(cal_random_bits(random) >> 11) * 0x1p-53);
}

// 0 … count − 1.
static inline int cal_random_below(cal_random* random, int count) {
    return (int)(cal_random_bits(random) % (uint64_t)count);
}
