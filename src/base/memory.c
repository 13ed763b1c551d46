// Aligned, zeroed memory with overflow checks. The two counters are the library's only shared variables: they exist for
// tests (failure injection, leak checks) and are atomic, so that threads may allocate at the same time.
#include "base/memory.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static _Atomic int64_t allocations_until_failure = -1;
static _Atomic int64_t live_allocations = 0;

static bool should_fail(void) {
    int64_t left = atomic_load_explicit(&allocations_until_failure, memory_order_relaxed);
    while (left > 0)
        if (atomic_compare_exchange_weak_explicit(&allocations_until_failure, &left, left - 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return false;
    return left == 0;
}

void* cal_allocate(size_t count, size_t size) {
    if (size != 0 && count > (SIZE_MAX - ALIGNMENT) / size) return NULL;
    if (should_fail()) return NULL;
    const size_t bytes = count * size > 0 ? (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    void* memory = aligned_alloc(ALIGNMENT, bytes);
    if (memory == NULL) return NULL;
    memset(memory, 0, bytes);
    atomic_fetch_add_explicit(&live_allocations, 1, memory_order_relaxed);
    return memory;
}

void cal_free(void* memory) {
    if (memory == NULL) return;
    atomic_fetch_sub_explicit(&live_allocations, 1, memory_order_relaxed);
    free(memory);
}

char* cal_copy_text(const char* text) {
    const size_t length = strlen(text) + 1;
    char* copy = cal_allocate(length, 1);
    if (copy != NULL) memcpy(copy, text, length);
    return copy;
}

void cal_fail_allocation(int64_t after) {
    atomic_store_explicit(&allocations_until_failure, after < 0 ? -1 : after, memory_order_relaxed);
}

int64_t cal_live_allocations(void) { return atomic_load_explicit(&live_allocations, memory_order_relaxed); }
