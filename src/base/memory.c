// Aligned, zeroed memory with overflow checks. The two counters, and where memory comes from, are the library's only shared
// variables. The counters exist for tests (failure injection, leak checks) and are atomic, so that threads may allocate at the same
// time: each counts in a place that few others use, so that cores do not wait for each other's cache lines. The source changes only while nothing is allocated.
#define _DEFAULT_SOURCE
#include "base/memory.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"

enum { ALIGNMENT = 64, LARGE_PAGE = 2 << 20, COUNTERS = 64 };

typedef struct counter {
    _Alignas(ALIGNMENT) _Atomic int64_t count;
} counter;

static _Alignas(ALIGNMENT) _Atomic int64_t allocations_until_failure = -1;
static counter live_allocations[COUNTERS]; // their sum counts
static _Alignas(ALIGNMENT) atomic_uint next_counter;

static void count_live(int64_t change) {
    static _Thread_local unsigned own; // 1 + the thread's counter
    if (own == 0) own = 1 + atomic_fetch_add_explicit(&next_counter, 1, memory_order_relaxed) % COUNTERS;
    atomic_fetch_add_explicit(&live_allocations[own - 1].count, change, memory_order_relaxed);
}

static void* take_zeroed(size_t size, void* user) {
    (void)user;
    return calloc(1, size);
}
static void give_back(void* memory, void* user) {
    (void)user;
    free(memory);
}
static cal_allocator source = {take_zeroed, give_back, NULL};

cal_status cal_set_allocator(const cal_allocator* allocator, cal_error* error) {
    if (allocator != NULL && (allocator->allocate == NULL || allocator->release == NULL))
        return cal_fail(error, CAL_BAD_ARGUMENT, "an allocator needs both functions, allocate and release");
    const int64_t live = cal_live_allocations();
    if (live != 0)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "%lld blocks are still in use: choose an allocator before anything else is made, or after "
                        "everything is destroyed",
                        (long long)live);
    source = allocator != NULL ? *allocator : (cal_allocator){take_zeroed, give_back, NULL};
    return CAL_OK;
}

static bool should_fail(void) {
    int64_t left = atomic_load_explicit(&allocations_until_failure, memory_order_relaxed);
    while (left > 0)
        if (atomic_compare_exchange_weak_explicit(&allocations_until_failure, &left, left - 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return false;
    return left == 0;
}

// What the source gave, kept in front of the aligned memory that the caller sees. Calloc leaves big blocks untouched, so that a
// vector that is never used takes no memory; a user's memory is zeroed here.
void* cal_allocate(size_t count, size_t size) {
    if (size != 0 && count > (SIZE_MAX - 2 * LARGE_PAGE) / size) return NULL;
    if (should_fail()) return NULL;
    // Passes over big models stream through dozens of arrays at once: large pages, where the system has them, spare them
    // the misses of the address cache.
    const bool own = source.allocate == take_zeroed;
    const bool large = own && count * size >= (size_t)LARGE_PAGE;
    const size_t alignment = large ? LARGE_PAGE : ALIGNMENT;
    char* block = source.allocate(count * size + alignment + sizeof(void*), source.user);
    if (block == NULL) return NULL;
    const uintptr_t first = (uintptr_t)block + sizeof(void*);
    char* memory = block + (size_t)((first + alignment - 1) / alignment * alignment - (uintptr_t)block);
    memcpy(memory - sizeof(void*), &block, sizeof(void*));
    if (!own) memset(memory, 0, count * size);
#ifdef MADV_HUGEPAGE
    if (large)
        madvise(memory, count * size / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE); // only a wish: nothing depends on it
#endif
    count_live(1);
    return memory;
}

void cal_free(void* memory) {
    if (memory == NULL) return;
    count_live(-1);
    void* block;
    memcpy(&block, (char*)memory - sizeof(void*), sizeof(void*));
    source.release(block, source.user);
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

int64_t cal_live_allocations(void) {
    int64_t live = 0;
    for (int i = 0; i < COUNTERS; i++) live += atomic_load_explicit(&live_allocations[i].count, memory_order_relaxed);
    return live;
}

static bool grow(void** list, int* capacity, int count, size_t size, int first) {
    if (count < *capacity) return true;
    const int more = *capacity == 0 ? first : 2 * *capacity;
    void* grown = cal_allocate((size_t)more, size);
    if (grown == NULL) return false;
    if (*list != NULL) memcpy(grown, *list, (size_t)count * size);
    cal_free(*list);
    *list = grown;
    *capacity = more;
    return true;
}

bool cal_grow(void** list, int* capacity, int count, size_t size) { return grow(list, capacity, count, size, 8); }

bool cal_grow_few(void** list, int* capacity, int count, size_t size) { return grow(list, capacity, count, size, 1); }
