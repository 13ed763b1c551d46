// The broad phase: a hierarchical spatial hash.
//
//     level 3  ┌───────────────┐        A box lives in one cell: its level is the smallest power of two not under its longest
//              │   ┌───┐       │        edge, its cell the one that holds its centre. So it sticks out of its cell by
//     level 1  │ ┌─┼─┐ │ box   │        at most half a cell, and those that may touch a given box on a level are in
//              │ └─┼─┘ │       │        the cells that the box, grown by half a cell, meets: 27 at its own level, 8 and
//              │   └───┘       │        fewer above. Below, it is as many as it covers; where these are more than
//              └───────────────┘        the boxes of that level, those are looked at instead.
//
// Boxes without end (planes) are in a list of their own. Only the levels in use are looked at. A bucket of the hash is a
// chain of boxes; whose cell is another one are skipped. Who overlaps whom is decided by the boxes alone, and lists are in
// order of ids, so nothing depends on how the hash lies in memory.
#include "base/memory.h"
#include "collide/collide.h"
#include <string.h>

enum { LOWEST = -60, LEVELS = 121, ENDLESS = LEVELS };
static const double last_cell = 0x1p30; // cells beyond are one

typedef struct id_list {
    int32_t* ids; // ascending
    int count, capacity;
} id_list;

typedef struct entry {
    cal_box box;
    id_list partners;
    int32_t level; // 0 … LEVELS − 1, ENDLESS, or −1: not there
    int32_t cell[3];
    int32_t next, previous;             // of the bucket; −1: the end, −2 − bucket: the head
    int32_t level_next, level_previous; // of the level
} entry;

struct cal_broad {
    entry* entries;
    int32_t* buckets; // heads; power of two
    int capacity, count;
    uint32_t bucket_count;
    int32_t level_head[LEVELS + 1], level_count[LEVELS + 1];
    id_list found, began, ceased;
};

// --- Lists of ids -----------------------------------------------------------------------------------------------------

static bool reserve(id_list* list, int needed) {
    if (needed <= list->capacity) return true;
    const int capacity = needed < 8 ? 8 : needed + needed / 2;
    int32_t* grown = cal_allocate((size_t)capacity, sizeof *grown);
    if (grown == NULL) return false;
    if (list->count > 0) memcpy(grown, list->ids, (size_t)list->count * sizeof *grown);
    cal_free(list->ids);
    list->ids = grown;
    list->capacity = capacity;
    return true;
}

static int place_of(const id_list* list, int32_t id) {
    int low = 0, high = list->count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (list->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert_id(id_list* list, int32_t id) {
    const int at = place_of(list, id);
    memmove(list->ids + at + 1, list->ids + at, (size_t)(list->count - at) * sizeof *list->ids);
    list->ids[at] = id;
    list->count++;
}

static void remove_id(id_list* list, int32_t id) {
    const int at = place_of(list, id);
    list->count--;
    memmove(list->ids + at, list->ids + at + 1, (size_t)(list->count - at) * sizeof *list->ids);
}

static void sort_ids(int32_t* ids, int count) {
    int gap = 1;
    while (gap < count / 3) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (int i = gap; i < count; i++) {
            const int32_t item = ids[i];
            int k = i;
            for (; k >= gap && ids[k - gap] > item; k -= gap) ids[k] = ids[k - gap];
            ids[k] = item;
        }
}

// --- Cells ------------------------------------------------------------------------------------------------------------

static int level_of(const cal_box* box) {
    double longest = 0.0;
    for (int i = 0; i < 3; i++) longest = fmax(longest, box->high[i] - box->low[i]);
    if (!isfinite(longest)) return ENDLESS;
    int exponent = LOWEST;
    if (longest > 0.0) {
        const double mantissa = frexp(longest, &exponent);
        if (mantissa == 0.5) exponent--;
    }
    return exponent < LOWEST ? 0 : exponent - LOWEST >= LEVELS ? ENDLESS : exponent - LOWEST;
}

static int32_t cell_of(double x, double inverse) {
    const double cell = floor(x * inverse);
    return (int32_t)(cell < -last_cell ? -last_cell : cell > last_cell ? last_cell : cell);
}

static uint32_t bucket_of(const cal_broad* broad, int level, const int32_t cell[3]) {
    uint64_t h = (uint64_t)(uint32_t)level * UINT64_C(0x9e3779b97f4a7c15);
    for (int i = 0; i < 3; i++) {
        h ^= (uint64_t)(uint32_t)cell[i];
        h *= UINT64_C(0xbf58476d1ce4e5b9);
        h ^= h >> 29;
    }
    return (uint32_t)(h >> 20) & (broad->bucket_count - 1);
}

static void link_bucket(cal_broad* broad, int32_t id) {
    entry* e = &broad->entries[id];
    const uint32_t bucket = bucket_of(broad, e->level, e->cell);
    e->next = broad->buckets[bucket];
    e->previous = -2 - (int32_t)bucket;
    if (e->next >= 0) broad->entries[e->next].previous = id;
    broad->buckets[bucket] = id;
}

static void unlink_bucket(cal_broad* broad, int32_t id) {
    const entry* e = &broad->entries[id];
    if (e->next >= 0) broad->entries[e->next].previous = e->previous;
    if (e->previous >= 0)
        broad->entries[e->previous].next = e->next;
    else
        broad->buckets[-2 - e->previous] = e->next;
}

static void leave(cal_broad* broad, int32_t id) {
    entry* e = &broad->entries[id];
    if (e->level < 0) return;
    if (e->level != ENDLESS) unlink_bucket(broad, id);
    if (e->level_next >= 0) broad->entries[e->level_next].level_previous = e->level_previous;
    if (e->level_previous >= 0)
        broad->entries[e->level_previous].level_next = e->level_next;
    else
        broad->level_head[e->level] = e->level_next;
    broad->level_count[e->level]--;
    broad->count--;
    e->level = -1;
}

static void enter(cal_broad* broad, int32_t id, int level, const int32_t cell[3]) {
    entry* e = &broad->entries[id];
    e->level = level;
    memcpy(e->cell, cell, sizeof e->cell);
    e->level_next = broad->level_head[level];
    e->level_previous = -1;
    if (e->level_next >= 0) broad->entries[e->level_next].level_previous = id;
    broad->level_head[level] = id;
    broad->level_count[level]++;
    broad->count++;
    if (level != ENDLESS) link_bucket(broad, id);
}

// --- Memory -----------------------------------------------------------------------------------------------------------

static bool grow_buckets(cal_broad* broad, int needed) {
    if (broad->buckets != NULL && (uint32_t)needed <= broad->bucket_count / 2) return true;
    uint32_t count = 64;
    while (count < 2 * (uint32_t)needed) count *= 2;
    int32_t* buckets = cal_allocate(count, sizeof *buckets);
    if (buckets == NULL) return false;
    memset(buckets, 0xff, count * sizeof *buckets);
    cal_free(broad->buckets);
    broad->buckets = buckets;
    broad->bucket_count = count;
    for (int32_t id = 0; id < broad->capacity; id++)
        if (broad->entries[id].level >= 0 && broad->entries[id].level != ENDLESS) link_bucket(broad, id);
    return true;
}

static bool grow_entries(cal_broad* broad, int needed) {
    if (needed <= broad->capacity) return true;
    const int capacity = needed > INT32_MAX / 2 ? needed : needed < 16 ? 16 : needed + needed / 2;
    entry* entries = cal_allocate((size_t)capacity, sizeof *entries);
    if (entries == NULL) return false;
    if (broad->capacity > 0) memcpy(entries, broad->entries, (size_t)broad->capacity * sizeof *entries);
    for (int id = broad->capacity; id < capacity; id++) entries[id].level = -1;
    cal_free(broad->entries);
    broad->entries = entries;
    broad->capacity = capacity;
    return true;
}

cal_status cal_broad_create(int capacity, cal_broad** out) {
    *out = NULL;
    if (capacity < 0 || capacity > INT32_MAX / 8) return CAL_BAD_ARGUMENT;
    cal_broad* broad = cal_allocate(1, sizeof *broad);
    if (broad == NULL) return CAL_NO_MEMORY;
    for (int i = 0; i <= LEVELS; i++) broad->level_head[i] = -1;
    if (!grow_entries(broad, capacity) || !grow_buckets(broad, capacity)) {
        cal_broad_destroy(broad);
        return CAL_NO_MEMORY;
    }
    *out = broad;
    return CAL_OK;
}

void cal_broad_destroy(cal_broad* broad) {
    if (broad == NULL) return;
    for (int id = 0; id < broad->capacity; id++) cal_free(broad->entries[id].partners.ids);
    cal_free(broad->entries);
    cal_free(broad->buckets);
    cal_free(broad->found.ids);
    cal_free(broad->began.ids);
    cal_free(broad->ceased.ids);
    cal_free(broad);
}

// --- Looking ----------------------------------------------------------------------------------------------------------

static bool note(cal_broad* broad, const cal_box* box, int32_t id, int32_t self) {
    if (id == self || !cal_box_overlap(&broad->entries[id].box, box)) return true;
    if (!reserve(&broad->found, broad->found.count + 1)) return false;
    broad->found.ids[broad->found.count++] = id;
    return true;
}

static bool look_at_all(cal_broad* broad, int level, const cal_box* box, int32_t self) {
    for (int32_t id = broad->level_head[level]; id >= 0; id = broad->entries[id].level_next)
        if (!note(broad, box, id, self)) return false;
    return true;
}

static bool look_at_level(cal_broad* broad, int level, const cal_box* box, int32_t self) {
    const double inverse = ldexp(1.0, -(level + LOWEST)), half = ldexp(0.5, level + LOWEST);
    int32_t low[3], high[3], cell[3];
    double cells = 1.0;
    for (int i = 0; i < 3; i++) {
        // A rounding wider than half a cell: the centre was rounded too.
        const double slack = half + 1e-15 * (fabs(box->low[i]) + fabs(box->high[i]));
        low[i] = cell_of(box->low[i] - slack, inverse);
        high[i] = cell_of(box->high[i] + slack, inverse);
        cells *= 1.0 + high[i] - low[i];
    }
    if (!(cells <= broad->level_count[level])) return look_at_all(broad, level, box, self);
    for (cell[2] = low[2]; cell[2] <= high[2]; cell[2]++)
        for (cell[1] = low[1]; cell[1] <= high[1]; cell[1]++)
            for (cell[0] = low[0]; cell[0] <= high[0]; cell[0]++)
                for (int32_t id = broad->buckets[bucket_of(broad, level, cell)]; id >= 0;) {
                    const entry* e = &broad->entries[id];
                    if (e->level == level && memcmp(e->cell, cell, sizeof cell) == 0 && !note(broad, box, id, self))
                        return false;
                    id = e->next;
                }
    return true;
}

static bool look_everywhere(cal_broad* broad, const cal_box* box, int32_t self) {
    broad->found.count = 0;
    const bool endless = level_of(box) == ENDLESS;
    for (int level = 0; level <= LEVELS; level++) {
        if (broad->level_count[level] == 0) continue;
        const bool ok =
            level == ENDLESS || endless ? look_at_all(broad, level, box, self) : look_at_level(broad, level, box, self);
        if (!ok) return false;
    }
    sort_ids(broad->found.ids, broad->found.count);
    return true;
}

static bool is_box(const cal_box* box) {
    for (int i = 0; i < 3; i++)
        if (!(box->low[i] <= box->high[i])) return false;
    return true;
}

// What is in one ascending list and not in the other; room is there.
static void difference(const id_list* in, const id_list* not_in, id_list* out) {
    out->count = 0;
    for (int i = 0, k = 0; i < in->count; i++) {
        while (k < not_in->count && not_in->ids[k] < in->ids[i]) k++;
        if (k == not_in->count || not_in->ids[k] != in->ids[i]) out->ids[out->count++] = in->ids[i];
    }
}

static void report(const cal_broad* broad, cal_broad_changes* changes) {
    if (changes == NULL) return;
    *changes = (cal_broad_changes){broad->began.ids, broad->ceased.ids, broad->began.count, broad->ceased.count};
}

cal_status cal_broad_move(cal_broad* broad, int id, const cal_box* box, cal_broad_changes* changes) {
    if (changes != NULL) *changes = (cal_broad_changes){0};
    if (id < 0 || id > INT32_MAX / 8 || !is_box(box)) return CAL_BAD_ARGUMENT;
    if (!grow_entries(broad, id + 1) || !grow_buckets(broad, broad->count + 1)) return CAL_NO_MEMORY;
    if (!look_everywhere(broad, box, id)) return CAL_NO_MEMORY;
    entry* e = &broad->entries[id];
    if (!reserve(&broad->began, broad->found.count) || !reserve(&broad->ceased, e->partners.count) ||
        !reserve(&e->partners, broad->found.count))
        return CAL_NO_MEMORY;
    difference(&broad->found, &e->partners, &broad->began);
    difference(&e->partners, &broad->found, &broad->ceased);
    for (int i = 0; i < broad->began.count; i++) {
        id_list* others = &broad->entries[broad->began.ids[i]].partners;
        if (!reserve(others, others->count + 1)) return CAL_NO_MEMORY;
    }
    for (int i = 0; i < broad->began.count; i++) insert_id(&broad->entries[broad->began.ids[i]].partners, id);
    for (int i = 0; i < broad->ceased.count; i++) remove_id(&broad->entries[broad->ceased.ids[i]].partners, id);
    e->partners.count = broad->found.count;
    if (e->partners.count > 0)
        memcpy(e->partners.ids, broad->found.ids, (size_t)e->partners.count * sizeof *e->partners.ids);
    const int level = level_of(box);
    int32_t cell[3] = {0, 0, 0};
    if (level != ENDLESS) {
        const double inverse = ldexp(1.0, -(level + LOWEST));
        for (int i = 0; i < 3; i++) cell[i] = cell_of(0.5 * box->low[i] + 0.5 * box->high[i], inverse);
    }
    e->box = *box;
    if (e->level != level || memcmp(e->cell, cell, sizeof cell) != 0) {
        leave(broad, id);
        enter(broad, id, level, cell);
    }
    report(broad, changes);
    return CAL_OK;
}

void cal_broad_remove(cal_broad* broad, int id, cal_broad_changes* changes) {
    if (changes != NULL) *changes = (cal_broad_changes){0};
    if (!cal_broad_has(broad, id)) return;
    entry* e = &broad->entries[id];
    for (int i = 0; i < e->partners.count; i++) remove_id(&broad->entries[e->partners.ids[i]].partners, id);
    leave(broad, id);
    // The list that goes is the report; the next one starts with the memory of the last.
    const id_list old = broad->ceased;
    broad->ceased = e->partners;
    e->partners = old;
    e->partners.count = 0;
    broad->began.count = 0;
    report(broad, changes);
}

bool cal_broad_has(const cal_broad* broad, int id) {
    return id >= 0 && id < broad->capacity && broad->entries[id].level >= 0;
}

const cal_box* cal_broad_box(const cal_broad* broad, int id) {
    return cal_broad_has(broad, id) ? &broad->entries[id].box : NULL;
}

int cal_broad_partners(const cal_broad* broad, int id, const int32_t** out) {
    *out = NULL;
    if (!cal_broad_has(broad, id)) return 0;
    *out = broad->entries[id].partners.ids;
    return broad->entries[id].partners.count;
}

int cal_broad_query(cal_broad* broad, const cal_box* box, const int32_t** out) {
    *out = NULL;
    if (!is_box(box)) return 0;
    if (!look_everywhere(broad, box, -1)) return -1;
    *out = broad->found.ids;
    return broad->found.count;
}
