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
// cells, one cache line each: the 27 cells of a look are in 8 lines. A box has one line too, with the next one of its cell. A look asks
// for all lines of blocks, then for the first boxes of all cells, then for those after them, so that it waits three times and not fifty.
// A level is looked at even if it is nearly empty, so a box goes a level higher than it must where that is more crowded.
//
// Boxes without end are in a list of their own, and so are half spaces: those are overlapped by what is not clear of their
// plane, or everything in a room would be a partner of each of its walls. Who overlaps whom is decided by the boxes alone, and lists are in order
// of ids, so nothing depends on how the hash lies in memory. So nobody keeps a list of partners, either: those of a box that moves are
// compared with where it was and where it is, in one look at both.
//
// Ids are those of all bodies of a world, of which a domain has a few: boxes have slots, and only the table of these is as long as there
// are ids. Cells, levels and members are lists of slots; what is found are ids.
#include "base/fetch.h"
#include "base/memory.h"
#include "collide/collide.h"
#include <string.h>

enum { LOWEST = -60, LEVELS = 121, ENDLESS = LEVELS };
static const double last_cell = 0x1p30; // cells beyond are one

typedef cal_broad_ids id_list;

// What a look at a box needs, 64 bytes. Its cell follows from its box and its level.
typedef struct entry {
    cal_box box;
    int32_t next; // in the same cell; −1: the end; of a slot that is not in use: the next such one
    int32_t id;
    int32_t level;  // 0 … LEVELS − 1, ENDLESS, or −1: not there
    int32_t member; // in the level's list
} entry;

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
    id_list began, ceased;
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

// The cell that holds the centre of a box.
static void find_cell(const cal_broad* broad, int level, const cal_box* box, uint32_t cell[3]) {
    const double inverse = 1.0 / broad->sizes[level];
    for (int i = 0; i < 3; i++) cell[i] = cell_of(0.5 * box->low[i] + 0.5 * box->high[i], inverse);
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
    b->heads[index] = slot;
    b->used |= UINT32_C(1) << index;
}

static void unlink_cell(cal_broad* broad, int32_t slot) {
    const entry* e = &broad->entries[slot];
    uint32_t cell[3];
    find_cell(broad, e->level, &e->box, cell);
    block* b = block_of(broad, e->level, cell);
    const uint32_t index = index_of(cell);
    int32_t* link = &b->heads[index];
    while (*link != slot) link = &broad->entries[*link].next;
    *link = e->next;
    if (b->heads[index] >= 0) return;
    b->used &= ~(UINT32_C(1) << index);
    if (b->used == 0) remove_block(broad, b);
}

// --- Levels -----------------------------------------------------------------------------------------------------------

static void leave(cal_broad* broad, int32_t slot) {
    entry* e = &broad->entries[slot];
    if (e->level < 0) return;
    if (e->level != ENDLESS) unlink_cell(broad, slot);
    id_list* members = &broad->members[e->level];
    const int32_t last = members->ids[--members->count];
    members->ids[e->member] = last;
    broad->entries[last].member = e->member;
    if (e->level == ENDLESS) broad->spaces[e->member] = broad->spaces[members->count];
    for (int i = 0; members->count == 0 && i < broad->level_count; i++)
        if (broad->levels[i] == e->level) broad->levels[i--] = broad->levels[--broad->level_count];
    e->level = -1;
}

// Room is there.
static void enter(cal_broad* broad, int32_t slot, int level) {
    entry* e = &broad->entries[slot];
    id_list* members = &broad->members[level];
    if (members->count == 0) broad->levels[broad->level_count++] = level;
    e->level = level;
    e->member = members->count;
    members->ids[members->count++] = slot;
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
    if (entries == NULL) return false;
    if (broad->capacity > 0) memcpy(entries, broad->entries, (size_t)broad->capacity * sizeof *entries);
    for (int slot = broad->capacity; slot < capacity; slot++) entries[slot].level = -1;
    cal_free(broad->entries);
    broad->entries = entries;
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
    broad->entries[slot].id = id;
    return slot;
}

static void give_slot_back(cal_broad* broad, int32_t slot) {
    broad->slots[broad->entries[slot].id] = 0;
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
    cal_free(broad->slots);
    for (int i = 0; i <= LEVELS; i++) cal_free(broad->members[i].ids);
    cal_free(broad->entries);
    cal_free(broad->blocks);
    cal_free(broad->spaces);
    cal_broad_scratch_free(&broad->scratch);
    cal_free(broad->began.ids);
    cal_free(broad->ceased.ids);
    cal_free(broad);
}

// --- Looking ----------------------------------------------------------------------------------------------------------

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

// A box, cut to a half space where there is one.
typedef struct region {
    const cal_box* box; // NULL: nothing
    const half_space* space;
} region;

static bool meets(const cal_broad* broad, const region* r, const entry* e) {
    if (r->box == NULL || !cal_box_overlap(&e->box, r->box)) return false;
    if (e->level == ENDLESS && is_clear(&broad->spaces[e->member], r->box)) return false;
    return r->space == NULL || !is_clear(r->space, &e->box);
}

// Who is looked for: those that overlap where a box is now and did not before, and the other way round; NULL: not these.
typedef struct looking {
    region now, before;
    int32_t self; // a slot; −1: none
    id_list *began, *ceased;
} looking;

static bool note(const cal_broad* broad, const looking* l, int32_t slot) {
    const entry* e = &broad->entries[slot];
    if (slot == l->self) return true;
    const bool now = meets(broad, &l->now, e), before = meets(broad, &l->before, e);
    id_list* list = now ? l->began : l->ceased;
    if (now == before || list == NULL) return true;
    if (!reserve(list, list->count + 1)) return false;
    list->ids[list->count++] = e->id;
    return true;
}

// box: where all that is looked for is.
static bool look_at_all(const cal_broad* broad, const looking* l, int level, const cal_box* box) {
    const id_list* members = &broad->members[level];
    for (int i = 0; i < members->count; i++) {
        if (level == ENDLESS && is_clear(&broad->spaces[i], box)) continue;
        if (!note(broad, l, members->ids[i])) return false;
    }
    return true;
}

// Which of the two cells of a block along one axis are within a range: the bits of those, given the bits of the lower ones.
static uint32_t cells_within(uint32_t at, uint32_t low, uint32_t high, uint32_t lower) {
    return (low <= 2 * at ? lower : 0) | (2 * at + 1 <= high ? ~lower : 0);
}

// The blocks of a level within a range are asked for, one after the other; the next ones are on their way.
CAL_FETCH void fetch_blocks(const cal_broad* broad, int level, const uint32_t low[3], const uint32_t high[3]) {
    for (uint32_t z = low[2] >> 1; z <= high[2] >> 1; z++)
        for (uint32_t y = low[1] >> 1; y <= high[1] >> 1; y++)
            for (uint32_t x = low[0] >> 1; x <= high[0] >> 1; x++)
                __builtin_prefetch(&broad->blocks[home_of(broad, level, x, y, z)]);
}

// Notes the first boxes of all cells of a level within a range that are not empty; the boxes are on their way into the cache
// while the next cells are looked for.
static bool gather(const cal_broad* broad, id_list* heads, int level, const uint32_t low[3], const uint32_t high[3]) {
    heads->count = 0;
    for (uint32_t z = low[2] >> 1; z <= high[2] >> 1; z++) {
        const uint32_t z_mask = cells_within(z, low[2], high[2], 0x0f);
        for (uint32_t y = low[1] >> 1; y <= high[1] >> 1; y++) {
            const uint32_t y_mask = z_mask & cells_within(y, low[1], high[1], 0x33);
            for (uint32_t x = low[0] >> 1; x <= high[0] >> 1; x++) {
                const block* b = find_block(broad, level, x, y, z);
                if (b->level < 0) continue;
                if (!reserve(heads, heads->count + 8)) return false;
                for (uint32_t mask = b->used & y_mask & cells_within(x, low[0], high[0], 0x55); mask != 0;
                     mask &= mask - 1) {
                    const int32_t head = b->heads[__builtin_ctz(mask)];
                    heads->ids[heads->count++] = head;
                    __builtin_prefetch(&broad->entries[head]);
                }
            }
        }
    }
    return true;
}

static bool look_at_level(const cal_broad* broad, id_list* heads, const looking* l, int level, const cal_box* box) {
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
    if (!(cells <= broad->members[level].count)) return look_at_all(broad, l, level, box);
    fetch_blocks(broad, level, low, high);
    if (!gather(broad, heads, level, low, high)) return false;
    // The next ones of each cell take the places of those before them.
    while (heads->count > 0) {
        int left = 0;
        for (int i = 0; i < heads->count; i++) {
            const int32_t slot = heads->ids[i], next = broad->entries[slot].next;
            if (next >= 0) __builtin_prefetch(&broad->entries[heads->ids[left++] = next]);
            if (cal_box_overlap(&broad->entries[slot].box, box) && !note(broad, l, slot)) return false;
        }
        heads->count = left;
    }
    return true;
}

// Notes all that may meet a box; NULL: nothing. False: no memory.
static bool look_at(const cal_broad* broad, id_list* heads, const looking* l, const cal_box* box) {
    if (box == NULL) return true;
    const bool endless = !isfinite(longest_edge(box));
    for (int i = 0; i < broad->level_count; i++) {
        const int level = broad->levels[i];
        const bool ok = level == ENDLESS || endless ? look_at_all(broad, l, level, box)
                                                    : look_at_level(broad, heads, l, level, box);
        if (!ok) return false;
    }
    return true;
}

static cal_box join(const cal_box* a, const cal_box* b) {
    cal_box out;
    for (int i = 0; i < 3; i++) {
        out.low[i] = a->low[i] < b->low[i] ? a->low[i] : b->low[i];
        out.high[i] = a->high[i] > b->high[i] ? a->high[i] : b->high[i];
    }
    return out;
}

// How a box changes what it overlaps: one look at where it was and where it is, or two where these are far from each other.
static bool look_at_both(cal_broad* broad, looking* l) {
    broad->began.count = broad->ceased.count = 0;
    l->began = &broad->began, l->ceased = &broad->ceased;
    id_list* heads = &broad->scratch.heads;
    if (l->now.box == NULL || l->before.box == NULL)
        return look_at(broad, heads, l, l->now.box != NULL ? l->now.box : l->before.box);
    const cal_box both = join(l->now.box, l->before.box);
    if (longest_edge(&both) <= longest_edge(l->now.box) + longest_edge(l->before.box) || !isfinite(longest_edge(&both)))
        return look_at(broad, heads, l, &both);
    l->ceased = NULL;
    if (!look_at(broad, heads, l, l->now.box)) return false;
    l->began = NULL, l->ceased = &broad->ceased;
    return look_at(broad, heads, l, l->before.box);
}

// What is in a slot.
static region region_of(const cal_broad* broad, int32_t slot) {
    const entry* e = &broad->entries[slot];
    if (e->level < 0) return (region){0};
    return (region){&e->box, e->level == ENDLESS ? &broad->spaces[e->member] : NULL};
}

static bool is_box(const cal_box* box) {
    for (int i = 0; i < 3; i++)
        if (!(box->low[i] <= box->high[i])) return false;
    return true;
}

static void report(const cal_broad* broad, cal_broad_changes* changes) {
    sort_ids(broad->began.ids, broad->began.count);
    sort_ids(broad->ceased.ids, broad->ceased.count);
    *changes = (cal_broad_changes){broad->began.ids, broad->ceased.ids, broad->began.count, broad->ceased.count};
}

// Makes room for one more box on a level, so that nothing can fail half way.
static bool reserve_level(cal_broad* broad, int level) {
    const int count = broad->members[level].count + 1;
    return grow_blocks(broad, broad->block_count + 1) && reserve(&broad->members[level], count) &&
           (level != ENDLESS || grow_spaces(broad, count));
}

// Where a box is from now on; room is there.
static void put(cal_broad* broad, int32_t slot, const cal_box* box, int level) {
    entry* e = &broad->entries[slot];
    uint32_t cell[3], old[3];
    const bool stays = e->level == level;
    if (!stays) leave(broad, slot);
    if (level != ENDLESS) {
        find_cell(broad, level, box, cell);
        if (stays) find_cell(broad, level, &e->box, old);
        const bool same = stays && memcmp(old, cell, sizeof cell) == 0;
        if (stays && !same) unlink_cell(broad, slot);
        if (!same) link_cell(broad, slot, level, cell);
    }
    e->box = *box;
    if (!stays) enter(broad, slot, level);
}

static cal_status move(cal_broad* broad, int id, const cal_box* box, const half_space* space,
                       cal_broad_changes* changes) {
    if (changes != NULL) *changes = (cal_broad_changes){0};
    if (id < 0 || id > INT32_MAX / 8 || !is_box(box)) return CAL_BAD_ARGUMENT;
    const int32_t slot = make_slot(broad, id);
    if (slot < 0) return CAL_NO_MEMORY;
    const int level = level_for(broad, box);
    looking l = {.now = {box, space}, .before = region_of(broad, slot), .self = slot};
    if (!reserve_level(broad, level) || (changes != NULL && !look_at_both(broad, &l))) {
        if (broad->entries[slot].level < 0) give_slot_back(broad, slot);
        return CAL_NO_MEMORY;
    }
    put(broad, slot, box, level);
    if (level == ENDLESS)
        broad->spaces[broad->entries[slot].member] = space != NULL ? *space : (half_space){{0}, (double)INFINITY};
    if (changes != NULL) report(broad, changes);
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

cal_status cal_broad_remove(cal_broad* broad, int id, cal_broad_changes* changes) {
    if (changes != NULL) *changes = (cal_broad_changes){0};
    if (!cal_broad_has(broad, id)) return CAL_OK;
    const int32_t slot = slot_of(broad, id);
    looking l = {.before = region_of(broad, slot), .self = slot};
    if (changes != NULL && !look_at_both(broad, &l)) return CAL_NO_MEMORY;
    leave(broad, slot);
    give_slot_back(broad, slot);
    if (changes != NULL) report(broad, changes);
    return CAL_OK;
}

bool cal_broad_has(const cal_broad* broad, int id) { return slot_of(broad, id) >= 0; }

const cal_box* cal_broad_box(const cal_broad* broad, int id) {
    return cal_broad_has(broad, id) ? &broad->entries[slot_of(broad, id)].box : NULL;
}

void cal_broad_scratch_free(cal_broad_scratch* scratch) {
    cal_free(scratch->heads.ids);
    cal_free(scratch->found.ids);
    *scratch = (cal_broad_scratch){0};
}

// Everyone in a region, ascending; −1: no memory.
static int find(const cal_broad* broad, region r, int32_t self, cal_broad_scratch* scratch, const int32_t** out) {
    const looking l = {.now = r, .self = self, .began = &scratch->found};
    scratch->found.count = 0;
    if (!look_at(broad, &scratch->heads, &l, r.box)) return -1;
    sort_ids(scratch->found.ids, scratch->found.count);
    *out = scratch->found.ids;
    return scratch->found.count;
}

void cal_broad_fetch(const cal_broad* broad, int id) {
    if (cal_broad_has(broad, id)) __builtin_prefetch(&broad->entries[slot_of(broad, id)]);
}

int cal_broad_look(const cal_broad* broad, const cal_box* box, cal_broad_scratch* scratch, const int32_t** out) {
    *out = NULL;
    return is_box(box) ? find(broad, (region){.box = box}, -1, scratch, out) : 0;
}

int cal_broad_query(cal_broad* broad, const cal_box* box, const int32_t** out) {
    return cal_broad_look(broad, box, &broad->scratch, out);
}

int cal_broad_partners(cal_broad* broad, int id, const int32_t** out) {
    *out = NULL;
    const int32_t slot = slot_of(broad, id);
    return slot >= 0 ? find(broad, region_of(broad, slot), slot, &broad->scratch, out) : 0;
}
