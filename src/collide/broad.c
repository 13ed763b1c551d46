// The broad phase: a hierarchical spatial hash.
//
//     level 3  ┌───────────────┐        A box lives in one cell: its level is a power of two not under its longest edge, its
//              │   ┌───┐       │        cell the one that holds its centre. So it sticks out of its cell by at most half a
//     level 1  │ ┌─┼─┐ │ box   │        cell, and those that may touch a given box on a level are in the cells that
//              │ └─┼─┘ │       │        the box, grown by half a cell, meets: 27 at its own level, 8 and fewer above.
//              │   └───┘       │        Below, it is as many as it covers; where these are more than the boxes of that
//              └───────────────┘        level, those are looked at instead.
//
// What this costs among many boxes is what it misses in the caches. So the hash does not hold cells but blocks of 2 × 2 × 2
// cells, one cache line each: the 27 cells of a look are in 8 lines. A box has one line too, with the next one of its cell.
// A level is looked at even if it is nearly empty, so a box goes a level higher than it must where that is more crowded.
//
// Boxes without end are in a list of their own, and so are half spaces: those are overlapped by what is not clear of their
// plane, or everything in a room would be a partner of each of its walls. Who overlaps whom is decided by the boxes alone, and lists are in order
// of ids, so nothing depends on how the hash lies in memory.
//
// Ids are those of all bodies of a world, of which a domain has a few: boxes have slots, and only the table of these is as long as there
// are ids. Cells, levels and members are lists of slots; partners, and what is found, are ids.
#include "base/memory.h"
#include "collide/collide.h"
#include "collide/id_pool.h"
#include <string.h>

enum { LOWEST = -60, LEVELS = 121, ENDLESS = LEVELS };
static const double last_cell = 0x1p30; // cells beyond are one

typedef cal_broad_ids id_list;

// What a look at a box needs, 64 bytes.
typedef struct entry {
    cal_box box;
    int32_t next; // in the same cell; −1: the end; of a slot that is not in use: the next such one
    uint32_t cell[3];
} entry;

typedef struct place {
    id_list partners; // ascending; in the pool
    int32_t level;    // 0 … LEVELS − 1, ENDLESS, or −1: not there
    int32_t member;   // in the level's list
    int32_t id;
} place;

// 2 × 2 × 2 cells of a level, 64 bytes.
typedef struct block {
    int32_t level;     // −1: there is none
    uint32_t at[3];    // cells / 2
    uint32_t used;     // a bit for each cell that is not empty
    int32_t heads[11]; // of the cells' boxes; eight are used
} block;

// What an endless box is cut to: n·x ≤ h; no box is clear of it where h is infinite.
typedef struct half_space {
    double normal[3], height;
} half_space;

struct cal_broad {
    entry* entries;
    place* places;
    int32_t* slots; // of ids, + 1; 0: not there
    block* blocks;  // open addressing; power of two
    int capacity, slot_count, id_capacity, block_count;
    int32_t unused; // the first of a chain of slots; −1: none
    uint32_t block_capacity;
    id_list members[LEVELS + 1]; // in no order
    half_space* spaces;          // of the members of ENDLESS
    int space_capacity;
    int levels[LEVELS + 1]; // those that have members
    int level_count;
    double sizes[LEVELS];      // of a cell
    cal_broad_scratch scratch; // cells to look at, and what was found
    cal_id_pool pool;
    id_list began, ceased; // the second one in the pool
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

static int rank_of(const id_list* list, int32_t id) {
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
    const int at = rank_of(list, id);
    memmove(list->ids + at + 1, list->ids + at, (size_t)(list->count - at) * sizeof *list->ids);
    list->ids[at] = id;
    list->count++;
}

static void remove_id(id_list* list, int32_t id) {
    const int at = rank_of(list, id);
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

static double longest_edge(const cal_box* box) {
    double longest = 0.0;
    for (int i = 0; i < 3; i++) {
        const double edge = box->high[i] - box->low[i];
        if (edge > longest) longest = edge;
    }
    return longest;
}

// The lowest level that a box may be on.
static int level_of(const cal_box* box) {
    const double longest = longest_edge(box);
    if (!isfinite(longest)) return ENDLESS;
    int exponent = LOWEST;
    if (longest > 0.0) {
        const double mantissa = frexp(longest, &exponent);
        if (mantissa == 0.5) exponent--;
    }
    return exponent < LOWEST ? 0 : exponent - LOWEST >= LEVELS ? ENDLESS : exponent - LOWEST;
}

// Where it goes: there, or one higher where more are.
static int level_for(const cal_broad* broad, const cal_box* box) {
    const int level = level_of(box);
    if (level + 1 >= LEVELS) return level;
    return broad->members[level + 1].count > broad->members[level].count ? level + 1 : level;
}

// Cells are numbered from 0, so that halves are what they are on either side of the origin.
static uint32_t cell_of(double x, double inverse) {
    const double cell = x * inverse;
    if (!(cell > -last_cell)) return 0;
    if (cell >= last_cell) return UINT32_C(1) << 31;
    const int32_t whole = (int32_t)cell;
    return (uint32_t)(whole - (whole > cell) + (INT32_C(1) << 30));
}

static uint32_t home_of(const cal_broad* broad, int level, uint32_t x, uint32_t y, uint32_t z) {
    uint64_t h = x * UINT64_C(0x9e3779b97f4a7c15) ^ y * UINT64_C(0xc2b2ae3d27d4eb4f) ^
                 z * UINT64_C(0x165667b19e3779f9) ^ (uint64_t)(uint32_t)level << 32;
    h = (h ^ h >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(h >> 32) & (broad->block_capacity - 1);
}

// The block, or the empty place where it would be.
static block* find_block(const cal_broad* broad, int level, uint32_t x, uint32_t y, uint32_t z) {
    uint32_t at = home_of(broad, level, x, y, z);
    for (;; at = (at + 1) & (broad->block_capacity - 1)) {
        block* b = &broad->blocks[at];
        if (b->level < 0 || (b->level == level && b->at[0] == x && b->at[1] == y && b->at[2] == z)) return b;
    }
}

static block* block_of(const cal_broad* broad, int level, const uint32_t cell[3]) {
    return find_block(broad, level, cell[0] >> 1, cell[1] >> 1, cell[2] >> 1);
}

static uint32_t index_of(const uint32_t cell[3]) { return (cell[0] & 1) | (cell[1] & 1) << 1 | (cell[2] & 1) << 2; }

// Open addressing without tombstones: what follows in the run moves up.
static void remove_block(cal_broad* broad, block* gone) {
    const uint32_t mask = broad->block_capacity - 1;
    uint32_t hole = (uint32_t)(gone - broad->blocks);
    gone->level = -1;
    broad->block_count--;
    for (uint32_t i = (hole + 1) & mask; broad->blocks[i].level >= 0; i = (i + 1) & mask) {
        const block* b = &broad->blocks[i];
        const uint32_t home = home_of(broad, b->level, b->at[0], b->at[1], b->at[2]);
        if (((i - home) & mask) < ((i - hole) & mask)) continue;
        broad->blocks[hole] = *b;
        broad->blocks[i].level = -1;
        hole = i;
    }
}

static void link_cell(cal_broad* broad, int32_t slot, int level, const uint32_t cell[3]) {
    block* b = block_of(broad, level, cell);
    const uint32_t index = index_of(cell);
    if (b->level < 0) {
        *b = (block){.level = level, .at = {cell[0] >> 1, cell[1] >> 1, cell[2] >> 1}};
        broad->block_count++;
    }
    entry* e = &broad->entries[slot];
    e->next = b->used >> index & 1 ? b->heads[index] : -1;
    memcpy(e->cell, cell, sizeof e->cell);
    b->heads[index] = slot;
    b->used |= UINT32_C(1) << index;
}

static void unlink_cell(cal_broad* broad, int32_t slot) {
    const entry* e = &broad->entries[slot];
    block* b = block_of(broad, broad->places[slot].level, e->cell);
    const uint32_t index = index_of(e->cell);
    int32_t* link = &b->heads[index];
    while (*link != slot) link = &broad->entries[*link].next;
    *link = e->next;
    if (b->heads[index] >= 0) return;
    b->used &= ~(UINT32_C(1) << index);
    if (b->used == 0) remove_block(broad, b);
}

// --- Levels -----------------------------------------------------------------------------------------------------------

static void leave(cal_broad* broad, int32_t slot) {
    place* p = &broad->places[slot];
    if (p->level < 0) return;
    if (p->level != ENDLESS) unlink_cell(broad, slot);
    id_list* members = &broad->members[p->level];
    const int32_t last = members->ids[--members->count];
    members->ids[p->member] = last;
    broad->places[last].member = p->member;
    if (p->level == ENDLESS) broad->spaces[p->member] = broad->spaces[members->count];
    for (int i = 0; members->count == 0 && i < broad->level_count; i++)
        if (broad->levels[i] == p->level) broad->levels[i--] = broad->levels[--broad->level_count];
    p->level = -1;
}

// Room is there.
static void enter(cal_broad* broad, int32_t slot, int level, const uint32_t cell[3]) {
    place* p = &broad->places[slot];
    id_list* members = &broad->members[level];
    if (members->count == 0) broad->levels[broad->level_count++] = level;
    p->level = level;
    p->member = members->count;
    members->ids[members->count++] = slot;
    if (level != ENDLESS) link_cell(broad, slot, level, cell);
}

// --- Memory -----------------------------------------------------------------------------------------------------------

static bool grow_blocks(cal_broad* broad, int needed) {
    if (broad->blocks != NULL && (uint32_t)needed <= broad->block_capacity / 2) return true;
    uint32_t count = 32;
    while (count < 2 * (uint32_t)needed) count *= 2;
    block* blocks = cal_allocate(count, sizeof *blocks);
    if (blocks == NULL) return false;
    for (uint32_t i = 0; i < count; i++) blocks[i].level = -1;
    block* old = broad->blocks;
    const uint32_t old_count = broad->block_capacity;
    broad->blocks = blocks;
    broad->block_capacity = count;
    for (uint32_t i = 0; i < old_count; i++)
        if (old[i].level >= 0) *find_block(broad, old[i].level, old[i].at[0], old[i].at[1], old[i].at[2]) = old[i];
    cal_free(old);
    return true;
}

static bool grow_entries(cal_broad* broad, int needed) {
    if (needed <= broad->capacity) return true;
    const int capacity = needed > INT32_MAX / 2 ? needed : needed < 16 ? 16 : needed + needed / 2;
    entry* entries = cal_allocate((size_t)capacity, sizeof *entries);
    place* places = cal_allocate((size_t)capacity, sizeof *places);
    if (entries == NULL || places == NULL) {
        cal_free(entries);
        cal_free(places);
        return false;
    }
    if (broad->capacity > 0) {
        memcpy(entries, broad->entries, (size_t)broad->capacity * sizeof *entries);
        memcpy(places, broad->places, (size_t)broad->capacity * sizeof *places);
    }
    for (int slot = broad->capacity; slot < capacity; slot++) places[slot].level = -1;
    cal_free(broad->entries);
    cal_free(broad->places);
    broad->entries = entries;
    broad->places = places;
    broad->capacity = capacity;
    return true;
}

static bool grow_ids(cal_broad* broad, int needed) {
    if (needed <= broad->id_capacity) return true;
    const int capacity = needed > INT32_MAX / 2 ? needed : needed < 16 ? 16 : needed + needed / 2;
    int32_t* slots = cal_allocate((size_t)capacity, sizeof *slots);
    if (slots == NULL) return false;
    if (broad->id_capacity > 0) memcpy(slots, broad->slots, (size_t)broad->id_capacity * sizeof *slots);
    cal_free(broad->slots);
    broad->slots = slots;
    broad->id_capacity = capacity;
    return true;
}

// The slot of an id, −1: it has none.
static int32_t slot_of(const cal_broad* broad, int id) {
    return id >= 0 && id < broad->id_capacity ? broad->slots[id] - 1 : -1;
}

// The same, made where there is none; −1: no memory.
static int32_t make_slot(cal_broad* broad, int id) {
    int32_t slot = slot_of(broad, id);
    if (slot >= 0) return slot;
    if (!grow_ids(broad, id + 1)) return -1;
    slot = broad->unused;
    if (slot >= 0) {
        broad->unused = broad->entries[slot].next;
    } else {
        if (!grow_entries(broad, broad->slot_count + 1)) return -1;
        slot = broad->slot_count++;
    }
    broad->slots[id] = slot + 1;
    broad->places[slot].id = id;
    return slot;
}

static void give_slot_back(cal_broad* broad, int32_t slot) {
    broad->slots[broad->places[slot].id] = 0;
    broad->entries[slot].next = broad->unused;
    broad->unused = slot;
}

static bool grow_spaces(cal_broad* broad, int needed) {
    if (needed <= broad->space_capacity) return true;
    half_space* spaces = cal_allocate((size_t)(2 * needed), sizeof *spaces);
    if (spaces == NULL) return false;
    if (broad->space_capacity > 0) memcpy(spaces, broad->spaces, (size_t)broad->space_capacity * sizeof *spaces);
    cal_free(broad->spaces);
    broad->spaces = spaces;
    broad->space_capacity = 2 * needed;
    return true;
}

cal_status cal_broad_create(int capacity, cal_broad** out) {
    *out = NULL;
    if (capacity < 0 || capacity > INT32_MAX / 8) return CAL_BAD_ARGUMENT;
    cal_broad* broad = cal_allocate(1, sizeof *broad);
    if (broad == NULL) return CAL_NO_MEMORY;
    for (int i = 0; i < LEVELS; i++) broad->sizes[i] = ldexp(1.0, i + LOWEST);
    broad->unused = -1;
    if (!grow_ids(broad, capacity) || !grow_blocks(broad, 1)) {
        cal_broad_destroy(broad);
        return CAL_NO_MEMORY;
    }
    *out = broad;
    return CAL_OK;
}

void cal_broad_destroy(cal_broad* broad) {
    if (broad == NULL) return;
    cal_id_pool_free(&broad->pool);
    cal_free(broad->slots);
    for (int i = 0; i <= LEVELS; i++) cal_free(broad->members[i].ids);
    cal_free(broad->entries);
    cal_free(broad->places);
    cal_free(broad->blocks);
    cal_free(broad->spaces);
    cal_broad_scratch_free(&broad->scratch);
    cal_free(broad->began.ids);
    cal_free(broad);
}

// --- Looking ----------------------------------------------------------------------------------------------------------

static bool note(const cal_broad* broad, cal_broad_scratch* scratch, const cal_box* box, int32_t slot, int32_t self) {
    if (slot == self || !cal_box_overlap(&broad->entries[slot].box, box)) return true;
    if (!reserve(&scratch->found, scratch->found.count + 1)) return false;
    scratch->found.ids[scratch->found.count++] = broad->places[slot].id;
    return true;
}

// Whether a box is on the outer side of a half space, by more than rounding.
static bool is_clear(const half_space* space, const cal_box* box) {
    if (!(space->height < (double)INFINITY)) return false;
    double least = -space->height, size = fabs(space->height);
    for (int i = 0; i < 3; i++) {
        if (space->normal[i] == 0.0) continue;
        const double x = space->normal[i] * (space->normal[i] > 0.0 ? box->low[i] : box->high[i]);
        least += x;
        size += fabs(x);
    }
    return least > 1e-13 * size;
}

static bool look_at_all(const cal_broad* broad, cal_broad_scratch* scratch, int level, const cal_box* box,
                        int32_t self) {
    const id_list* members = &broad->members[level];
    for (int i = 0; i < members->count; i++) {
        if (level == ENDLESS && is_clear(&broad->spaces[i], box)) continue;
        if (!note(broad, scratch, box, members->ids[i], self)) return false;
    }
    return true;
}

// Which of the two cells of a block along one axis are within a range: the bits of those, given the bits of the lower ones.
static uint32_t cells_within(uint32_t at, uint32_t low, uint32_t high, uint32_t lower) {
    return (low <= 2 * at ? lower : 0) | (2 * at + 1 <= high ? ~lower : 0);
}

// Notes the first boxes of all cells of a level within a range that are not empty; the boxes are on their way into the cache
// while the next cells are looked for.
static bool gather(const cal_broad* broad, cal_broad_scratch* scratch, int level, const uint32_t low[3],
                   const uint32_t high[3]) {
    id_list* heads = &scratch->heads;
    heads->count = 0;
    for (uint32_t z = low[2] >> 1; z <= high[2] >> 1; z++) {
        const uint32_t z_mask = cells_within(z, low[2], high[2], 0x0f);
        for (uint32_t y = low[1] >> 1; y <= high[1] >> 1; y++) {
            const uint32_t y_mask = z_mask & cells_within(y, low[1], high[1], 0x33);
            for (uint32_t x = low[0] >> 1; x <= high[0] >> 1; x++) {
                const block* b = find_block(broad, level, x, y, z);
                if (b->level < 0) continue;
                const uint32_t mask = b->used & y_mask & cells_within(x, low[0], high[0], 0x55);
                if (!reserve(heads, heads->count + 8)) return false;
                for (int i = 0; i < 8; i++) {
                    if (!(mask >> i & 1)) continue;
                    heads->ids[heads->count++] = b->heads[i];
                    __builtin_prefetch(&broad->entries[b->heads[i]]);
                }
            }
        }
    }
    return true;
}

static bool look_at_level(const cal_broad* broad, cal_broad_scratch* scratch, int level, const cal_box* box,
                          int32_t self) {
    const double size = broad->sizes[level], inverse = 1.0 / size;
    uint32_t low[3], high[3];
    double cells = 1.0;
    for (int i = 0; i < 3; i++) {
        // A rounding wider than half a cell: the centre was rounded too.
        const double slack = 0.5 * size + 1e-15 * (fabs(box->low[i]) + fabs(box->high[i]));
        low[i] = cell_of(box->low[i] - slack, inverse);
        high[i] = cell_of(box->high[i] + slack, inverse);
        cells *= 1.0 + (high[i] - low[i]);
    }
    if (!(cells <= broad->members[level].count)) return look_at_all(broad, scratch, level, box, self);
    if (!gather(broad, scratch, level, low, high)) return false;
    for (int i = 0; i < scratch->heads.count; i++)
        for (int32_t slot = scratch->heads.ids[i]; slot >= 0; slot = broad->entries[slot].next)
            if (!note(broad, scratch, box, slot, self)) return false;
    return true;
}

// space: the box is cut to it; may be NULL.
static bool look_everywhere(const cal_broad* broad, cal_broad_scratch* scratch, const cal_box* box,
                            const half_space* space, int32_t self) {
    scratch->found.count = 0;
    const bool endless = !isfinite(longest_edge(box));
    for (int i = 0; i < broad->level_count; i++) {
        const int level = broad->levels[i];
        const bool ok = level == ENDLESS || endless ? look_at_all(broad, scratch, level, box, self)
                                                    : look_at_level(broad, scratch, level, box, self);
        if (!ok) return false;
    }
    if (space != NULL) {
        int kept = 0;
        for (int i = 0; i < scratch->found.count; i++)
            if (!is_clear(space, cal_broad_box(broad, scratch->found.ids[i])))
                scratch->found.ids[kept++] = scratch->found.ids[i];
        scratch->found.count = kept;
    }
    sort_ids(scratch->found.ids, scratch->found.count);
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

static id_list* partners_of(const cal_broad* broad, int id) { return &broad->places[slot_of(broad, id)].partners; }

// Makes room for what a move of a box does, so that nothing can fail half way.
static bool reserve_move(cal_broad* broad, int32_t slot, int level) {
    place* p = &broad->places[slot];
    if (!grow_blocks(broad, broad->block_count + 1)) return false;
    if (!reserve(&broad->members[level], broad->members[level].count + 1)) return false;
    if (level == ENDLESS && !grow_spaces(broad, broad->members[level].count + 1)) return false;
    if (!reserve(&broad->began, broad->scratch.found.count) ||
        !cal_id_pool_reserve(&broad->pool, &broad->ceased, p->partners.count) ||
        !cal_id_pool_reserve(&broad->pool, &p->partners, broad->scratch.found.count))
        return false;
    difference(&broad->scratch.found, &p->partners, &broad->began);
    difference(&p->partners, &broad->scratch.found, &broad->ceased);
    for (int i = 0; i < broad->began.count; i++) {
        id_list* others = partners_of(broad, broad->began.ids[i]);
        if (!cal_id_pool_reserve(&broad->pool, others, others->count + 1)) return false;
    }
    return true;
}

// Where a box is from now on; room is there.
static void put(cal_broad* broad, int32_t slot, const cal_box* box, int level) {
    const place* p = &broad->places[slot];
    uint32_t cell[3] = {0, 0, 0};
    for (int i = 0; level != ENDLESS && i < 3; i++)
        cell[i] = cell_of(0.5 * box->low[i] + 0.5 * box->high[i], 1.0 / broad->sizes[level]);
    entry* e = &broad->entries[slot];
    e->box = *box;
    if (p->level == level && memcmp(e->cell, cell, sizeof cell) == 0) return;
    leave(broad, slot);
    enter(broad, slot, level, cell);
}

static cal_status move(cal_broad* broad, int id, const cal_box* box, const half_space* space,
                       cal_broad_changes* changes) {
    if (changes != NULL) *changes = (cal_broad_changes){0};
    if (id < 0 || id > INT32_MAX / 8 || !is_box(box)) return CAL_BAD_ARGUMENT;
    const int32_t slot = make_slot(broad, id);
    if (slot < 0) return CAL_NO_MEMORY;
    const int level = level_for(broad, box);
    if (!look_everywhere(broad, &broad->scratch, box, space, slot) || !reserve_move(broad, slot, level)) {
        if (broad->places[slot].level < 0) give_slot_back(broad, slot);
        return CAL_NO_MEMORY;
    }
    for (int i = 0; i < broad->began.count; i++) insert_id(partners_of(broad, broad->began.ids[i]), id);
    for (int i = 0; i < broad->ceased.count; i++) remove_id(partners_of(broad, broad->ceased.ids[i]), id);
    place* p = &broad->places[slot];
    p->partners.count = broad->scratch.found.count;
    if (p->partners.count > 0)
        memcpy(p->partners.ids, broad->scratch.found.ids, (size_t)p->partners.count * sizeof *p->partners.ids);
    put(broad, slot, box, level);
    if (level == ENDLESS) broad->spaces[p->member] = space != NULL ? *space : (half_space){{0}, (double)INFINITY};
    report(broad, changes);
    return CAL_OK;
}

cal_status cal_broad_move(cal_broad* broad, int id, const cal_box* box, cal_broad_changes* changes) {
    return move(broad, id, box, NULL, changes);
}

cal_status cal_broad_move_plane(cal_broad* broad, int id, const double normal[3], double height,
                                cal_broad_changes* changes) {
    const double end = (double)INFINITY;
    const cal_box everything = {{-end, -end, -end}, {end, end, end}};
    const half_space space = {{normal[0], normal[1], normal[2]}, height};
    if (!isfinite(cal_dot3(normal, normal) + height)) return CAL_BAD_ARGUMENT;
    return move(broad, id, &everything, &space, changes);
}

void cal_broad_remove(cal_broad* broad, int id, cal_broad_changes* changes) {
    if (changes != NULL) *changes = (cal_broad_changes){0};
    if (!cal_broad_has(broad, id)) return;
    const int32_t slot = slot_of(broad, id);
    place* p = &broad->places[slot];
    for (int i = 0; i < p->partners.count; i++) remove_id(partners_of(broad, p->partners.ids[i]), id);
    leave(broad, slot);
    give_slot_back(broad, slot);
    // The list that goes is the report; the next one starts with the memory of the last.
    const id_list old = broad->ceased;
    broad->ceased = p->partners;
    p->partners = old;
    p->partners.count = 0;
    broad->began.count = 0;
    report(broad, changes);
}

bool cal_broad_has(const cal_broad* broad, int id) { return slot_of(broad, id) >= 0; }

const cal_box* cal_broad_box(const cal_broad* broad, int id) {
    return cal_broad_has(broad, id) ? &broad->entries[slot_of(broad, id)].box : NULL;
}

int cal_broad_partners(const cal_broad* broad, int id, const int32_t** out) {
    *out = NULL;
    if (!cal_broad_has(broad, id)) return 0;
    const id_list* partners = partners_of(broad, id);
    *out = partners->ids;
    return partners->count;
}

void cal_broad_scratch_free(cal_broad_scratch* scratch) {
    cal_free(scratch->heads.ids);
    cal_free(scratch->found.ids);
    *scratch = (cal_broad_scratch){0};
}

int cal_broad_look(const cal_broad* broad, const cal_box* box, cal_broad_scratch* scratch, const int32_t** out) {
    *out = NULL;
    if (!is_box(box)) return 0;
    if (!look_everywhere(broad, scratch, box, NULL, -1)) return -1;
    *out = scratch->found.ids;
    return scratch->found.count;
}

int cal_broad_query(cal_broad* broad, const cal_box* box, const int32_t** out) {
    return cal_broad_look(broad, box, &broad->scratch, out);
}
