// What callers ask for by its number.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// Whether a list has an item, and there is room for it (where it needs some). If not, what is there of room is zeros, which is the
// definition of nothing.
static inline bool cal_has(int count, int index, void* out, size_t size) {
    if (index >= 0 && index < count && (out != NULL || size == 0)) return true;
    if (out != NULL) memset(out, 0, size);
    return false;
}
