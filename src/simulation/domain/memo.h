// What one rank has computed and others need not: results of long computations, by what they were computed from.
//
// Steps of contact groups and of multibodies are functions of states. Ranks have the same world each. In a run every rank takes the events of
// its own domains and keeps such results; then it takes those of the others' domains, with the results that these have kept (ranks.c). What
// is not found is computed: so who keeps what has no influence on results.
#pragma once
#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Who asks, from when on, and a hash of all numbers that the result depends on.
typedef struct cal_memo_key {
    double who, start;
    uint64_t hash;
} cal_memo_key;

// Entries one after the other: the key, the number of words, words.
typedef struct cal_memo {
    double* words;
    size_t count, capacity;
    size_t* cells; // of what is looked up: 1 + where an entry begins, open addressing; NULL: results are kept
    size_t cell_count;
} cal_memo;

struct cal_world;
// Of numbers, by their bits.
cal_memo_key cal_memo_key_of(int who, double start, const double* numbers, size_t count);
// The words of a result that another rank has kept, so many or any number of them; NULL: it is to be computed.
const double* cal_memo_find(const struct cal_world* world, const cal_memo_key* key, size_t count);
const double* cal_memo_find_any(const struct cal_world* world, const cal_memo_key* key);
// Room for the words of a result that was computed; NULL: nobody wants it, or there is no memory, and others compute it again.
double* cal_memo_keep(struct cal_world* world, const cal_memo_key* key, size_t count);
// Words that bytes take.
static inline size_t cal_memo_words(size_t bytes) { return (bytes + sizeof(double) - 1) / sizeof(double); }

bool cal_memo_reserve(cal_memo* memo, size_t words); // room for so many in all; false: no memory
// Entries, `parts` lists of at most `room` words each one after the other, become ones to be looked up; false: no memory.
bool cal_memo_index(cal_memo* memo, int parts, size_t room, const double* const* lists, const double* lengths);
void cal_memo_free(cal_memo* memo);
