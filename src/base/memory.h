// All memory is taken here: 64-byte aligned, zeroed, with overflow checks, and with a way for tests to make it fail.
#pragma once
#include "base/per_lane.h"
#include "base/parts.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// count × size zeroed bytes, aligned for the widest lanes; NULL when there are none. count = 0 gives a valid pointer.
CAL_FOR_PARTS void* cal_allocate(size_t count, size_t size);
CAL_FOR_PARTS void cal_free(void* memory);
// Makes room for one more in a list that grows by doubling; false: no memory.
bool cal_grow(void** list, int* capacity, int count, size_t size);
// The same for many lists that mostly have one element.
bool cal_grow_few(void** list, int* capacity, int count, size_t size);
// A copy of a text; NULL when there is no memory.
CAL_FOR_PARTS char* cal_copy_text(const char* text);

// Whether two runs of numbers are the same to the bit: 0 and −0 are not, two equal NaNs are.
CAL_DEVICE static inline bool cal_same_bits(const void* a, const void* b, size_t size) {
#ifdef __CUDA_ARCH__
    for (size_t i = 0; i < size; i++)
        if (((const char*)a)[i] != ((const char*)b)[i]) return false;
    return true;
#else
    return memcmp(a, b, size) == 0;
#endif
}

// Makes the allocation after the next `after` ones fail (and all later ones), for tests; a negative number: never.
void cal_fail_allocation(int64_t after);
// Allocations that are not freed yet, for tests.
int64_t cal_live_allocations(void);
