// A pool keeps equal things once: big models are built of few different parts.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct cal_pool {
    void* items; // count of them, one after the other; moves as the pool grows
    size_t count, capacity, item_size;
    int32_t* slots; // item + 1; 0: free
    size_t mask;    // number of slots − 1; 0: none yet
} cal_pool;

// The number of an item with these bytes (a multiple of eight, padding included), added where there is none yet; -1 when there
// is no memory, and nothing has changed.
int32_t cal_pool_put(cal_pool* pool, const void* item, size_t item_size);
void cal_pool_free(cal_pool* pool);
