#include "base/radix.h"

// Counting takes a thousand additions whatever there is to sort.
static void insert_sort(cal_keyed* items, int count) {
    for (int i = 1; i < count; i++) {
        const cal_keyed item = items[i];
        int at = i;
        for (; at > 0 && items[at - 1].key > item.key; at--) items[at] = items[at - 1];
        items[at] = item;
    }
}

void cal_radix_sort(cal_keyed* items, cal_keyed* room, int count) {
    enum { BITS = 8, VALUES = 1 << BITS, FEW = 32 };
    if (count <= FEW) {
        insert_sort(items, count);
        return;
    }
    cal_keyed *from = items, *to = room;
    for (int shift = 0; count > 0 && shift < 64; shift += BITS) {
        int first[VALUES + 1] = {0};
        for (int i = 0; i < count; i++) first[(from[i].key >> shift & (VALUES - 1)) + 1]++;
        if (first[(from[0].key >> shift & (VALUES - 1)) + 1] == count) continue; // all have the same
        for (int i = 0; i < VALUES; i++) first[i + 1] += first[i];
        for (int i = 0; i < count; i++) to[first[from[i].key >> shift & (VALUES - 1)]++] = from[i];
        cal_keyed* const sorted = to;
        to = from, from = sorted;
    }
    if (from != items && count > 0) memcpy(items, from, (size_t)count * sizeof *items);
}
