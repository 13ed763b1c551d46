#include "base/pool.h"
#include "base/hash.h"
#include "base/memory.h"

#include <stdbool.h>
#include <string.h>

enum { FIRST_CAPACITY = 16 };

static void* item_at(const cal_pool* pool, size_t index) { return (char*)pool->items + index * pool->item_size; }

static size_t find_slot(const cal_pool* pool, const void* item) {
    size_t slot = (size_t)cal_hash_words(CAL_HASH_START, item, pool->item_size / sizeof(uint64_t)) & pool->mask;
    while (pool->slots[slot] > 0 && memcmp(item_at(pool, (size_t)pool->slots[slot] - 1), item, pool->item_size) != 0)
        slot = (slot + 1) & pool->mask;
    return slot;
}

static bool grow(cal_pool* pool) {
    const size_t capacity = pool->capacity == 0 ? FIRST_CAPACITY : 2 * pool->capacity;
    void* items = cal_allocate(capacity, pool->item_size);
    int32_t* slots = cal_allocate(2 * capacity, sizeof *slots);
    if (!items || !slots) {
        cal_free(items);
        cal_free(slots);
        return false;
    }
    if (pool->count > 0) memcpy(items, pool->items, pool->count * pool->item_size);
    cal_free(pool->items);
    cal_free(pool->slots);
    pool->items = items;
    pool->slots = slots;
    pool->capacity = capacity;
    pool->mask = 2 * capacity - 1;
    for (size_t i = 0; i < pool->count; i++) pool->slots[find_slot(pool, item_at(pool, i))] = (int32_t)i + 1;
    return true;
}

int32_t cal_pool_put(cal_pool* pool, const void* item, size_t item_size) {
    pool->item_size = item_size;
    if (pool->count == pool->capacity && !grow(pool)) return -1;
    const size_t slot = find_slot(pool, item);
    if (pool->slots[slot] == 0) {
        memcpy(item_at(pool, pool->count), item, item_size);
        pool->slots[slot] = (int32_t)++pool->count;
    }
    return pool->slots[slot] - 1;
}

void cal_pool_free(cal_pool* pool) {
    cal_free(pool->items);
    cal_free(pool->slots);
    *pool = (cal_pool){0};
}
