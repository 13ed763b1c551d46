// See memo.h.
#include "simulation/domain/memo.h"
#include "base/hash.h"
#include "base/memory.h"
#include "simulation/world.h"
#include <string.h>

enum { KEY_WORDS = 3, HEAD_WORDS = KEY_WORDS + 1 };

void cal_memo_free(cal_memo* memo) {
    cal_free(memo->words);
    cal_free(memo->cells);
    *memo = (cal_memo){0};
}

bool cal_memo_reserve(cal_memo* memo, size_t words) {
    if (words <= memo->capacity) return true;
    const size_t capacity = words + words / 2 + 64;
    double* grown = cal_allocate(capacity, sizeof *grown);
    if (grown == NULL) return false;
    if (memo->count > 0) memcpy(grown, memo->words, memo->count * sizeof *grown);
    cal_free(memo->words);
    memo->words = grown;
    memo->capacity = capacity;
    return true;
}

cal_memo_key cal_memo_key_of(int who, double start, const double* numbers, size_t count) {
    return (cal_memo_key){who, start, cal_hash_words(CAL_HASH_START, numbers, count)};
}

static void write_key(const cal_memo_key* key, double* words) {
    words[0] = key->who;
    words[1] = key->start;
    memcpy(words + 2, &key->hash, sizeof key->hash);
}

double* cal_memo_keep(cal_world* world, const cal_memo_key* key, size_t count) {
    cal_memo* memo = world->memo;
    if (memo == NULL || memo->cells != NULL || !cal_memo_reserve(memo, memo->count + HEAD_WORDS + count)) return NULL;
    double* entry = memo->words + memo->count;
    write_key(key, entry);
    entry[KEY_WORDS] = (double)count;
    memo->count += HEAD_WORDS + count;
    return entry + HEAD_WORDS;
}

// The cell of an entry, or the empty one where it would be.
static size_t cell_of(const cal_memo* memo, const double* key) {
    size_t cell = (size_t)cal_hash_words(CAL_HASH_START, key, KEY_WORDS) & (memo->cell_count - 1);
    while (memo->cells[cell] != 0 && !cal_same_bits(memo->words + memo->cells[cell] - 1, key, KEY_WORDS * sizeof *key))
        cell = (cell + 1) & (memo->cell_count - 1);
    return cell;
}

static const double* find_entry(const cal_world* world, const cal_memo_key* key) {
    const cal_memo* memo = world->memo;
    if (memo == NULL || memo->cells == NULL) return NULL;
    double words[KEY_WORDS];
    write_key(key, words);
    const size_t at = memo->cells[cell_of(memo, words)];
    return at > 0 ? memo->words + at - 1 : NULL;
}

const double* cal_memo_find_any(const cal_world* world, const cal_memo_key* key) {
    const double* entry = find_entry(world, key);
    return entry != NULL ? entry + HEAD_WORDS : NULL;
}

const double* cal_memo_find(const cal_world* world, const cal_memo_key* key, size_t count) {
    const double* entry = find_entry(world, key);
    return entry != NULL && entry[KEY_WORDS] == (double)count ? entry + HEAD_WORDS : NULL;
}

bool cal_memo_index(cal_memo* memo, int parts, size_t room, const double* const* lists, const double* lengths) {
    memo->count = 0;
    if (!cal_memo_reserve(memo, (size_t)parts * room + 1)) return false;
    size_t entries = 0;
    for (int p = 0; p < parts; p++) {
        const size_t length = (size_t)lengths[p], first = memo->count;
        if (length > 0) memcpy(memo->words + first, lists[p], length * sizeof *memo->words);
        memo->count += length;
        for (size_t at = first; at < memo->count; at += HEAD_WORDS + (size_t)memo->words[at + KEY_WORDS]) entries++;
    }
    size_t cells = 16;
    while (cells < 2 * entries) cells *= 2;
    if (cells > memo->cell_count) {
        cal_free(memo->cells);
        memo->cells = cal_allocate(cells, sizeof *memo->cells);
        memo->cell_count = memo->cells != NULL ? cells : 0;
        if (memo->cells == NULL) return false;
    } else {
        memset(memo->cells, 0, memo->cell_count * sizeof *memo->cells);
    }
    for (size_t at = 0; at < memo->count; at += HEAD_WORDS + (size_t)memo->words[at + KEY_WORDS])
        memo->cells[cell_of(memo, memo->words + at)] = at + 1;
    return true;
}
