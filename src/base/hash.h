// 64-bit hashes: of bytes (names), and of doubles by their bits, with -0 counted as 0.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CAL_HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t cal_hash_bytes(uint64_t hash, const void* bytes, size_t count) {
    const unsigned char* p = (const unsigned char*)bytes;
    for (size_t i = 0; i < count; i++) hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static inline uint64_t cal_hash_word(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

// Of memory that holds whole words.
static inline uint64_t cal_hash_words(uint64_t hash, const void* words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, (const char*)words + i * sizeof word, sizeof word);
        hash = cal_hash_word(hash, word);
    }
    return hash;
}

static inline uint64_t cal_hash_doubles(uint64_t hash, const double* values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        union {
            double value;
            uint64_t bits;
        } word = {values[i] + 0.0};
        hash = cal_hash_word(hash, word.bits);
    }
    return hash;
}
