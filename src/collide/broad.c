// The broad phase: boxes in a hierarchy of grids (grid.c), with a line of 64 bytes each. A look finds those in the grids that may matter, and
// then decides by their boxes. Below the level of a box it goes through as many blocks as the box covers; where these are more than the boxes of
// that level, those are looked at instead. A level is looked at even if it is nearly empty, so a box goes a level higher than it must where that is
// more crowded.
//
// Boxes without end are in a list of their own, and so are half spaces: those are overlapped by what is not clear of their
// plane, or everything in a room would be a partner of each of its walls. Who overlaps whom is decided by the boxes alone, and lists are in order
// of ids, so nothing depends on how the hash lies in memory. So nobody keeps a list of partners, either: those of a box that moves are
// compared with where it was and where it is, in one look at both.
//
// Ids are those of all bodies of a world, of which a domain has a few: boxes have slots, and only the table of these is as long as there
// are ids. Cells, levels and members are lists of slots; what is found are ids.
#include "base/memory.h"
#include "collide/collide.h"
#include "collide/grid.h"
#include <string.h>

enum { LOWEST = CAL_GRID_LOWEST, LEVELS = CAL_GRID_LEVELS, ENDLESS = LEVELS };

typedef cal_broad_ids id_list;

// What a look at a box needs, 64 bytes.
typedef struct entry {
    cal_box box;
    uint32_t place; // in the grid; of a slot that is not in use: 1 + the next such one, 0: none
    int32_t id;
    int32_t level;  // 0 … LEVELS − 1, ENDLESS, or −1: not there
    int32_t member; // in the level's list
} entry;

// What an endless box is cut to: n·x ≤ h; no box is clear of it where h is infinite.
typedef struct half_space {
    double normal[3], height;
} half_space;

struct cal_broad {
    entry* entries;
    int32_t* slots; // of ids, + 1; 0: not there
    int capacity, slot_count, id_capacity;
    uint32_t unused; // 1 + the first of a chain of slots; 0: none
    cal_grid grid;
    id_list members[LEVELS + 1]; // in no order
    half_space* spaces;          // of the members of ENDLESS
    int space_capacity;
    int levels[LEVELS + 1]; // those that have members
    int level_count;
    cal_broad_scratch scratch; // what may be near, and what was found
    id_list began, ceased;
};

// --- Lists of ids -----------------------------------------------------------------------------------------------------

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

// --- Levels -----------------------------------------------------------------------------------------------------------

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

static void leave(cal_broad* broad, int32_t slot) {
    entry* e = &broad->entries[slot];
    if (e->level < 0) return;
    if (e->level != ENDLESS) cal_grid_remove(&broad->grid, e->place);
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
    if (broad->unused != 0) {
        slot = (int32_t)(broad->unused - 1);
        broad->unused = broad->entries[slot].place;
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
    broad->entries[slot].place = broad->unused;
    broad->unused = (uint32_t)slot + 1;
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
    if (!grow_ids(broad, capacity)) {
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
    cal_grid_destroy(&broad->grid);
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
    const cal_box* both; // who overlaps that overlaps both; NULL: there is none
    int32_t self;        // a slot; −1: none
    id_list *began, *ceased;
} looking;

static bool note(const cal_broad* broad, const looking* l, int32_t slot) {
    const entry* e = &broad->entries[slot];
    if (slot == l->self) return true;
    const bool now = meets(broad, &l->now, e), before = meets(broad, &l->before, e);
    id_list* list = now ? l->began : l->ceased;
    if (now == before || list == NULL) return true;
    if (!cal_broad_ids_reserve(list, list->count + 1)) return false;
    list->ids[list->count++] = e->id;
    return true;
}

// box: where all that is looked for is.
static bool look_at_all(const cal_broad* broad, const looking* l, int level, const cal_box* box) {
    const id_list* members = &broad->members[level];
    for (int i = 0; i < members->count; i++) {
        const int32_t slot = members->ids[i];
        const bool far =
            level == ENDLESS ? is_clear(&broad->spaces[i], box) : !cal_box_overlap(&broad->entries[slot].box, box);
        if (!far && !note(broad, l, slot)) return false;
    }
    return true;
}

static bool look_at_level(const cal_broad* broad, id_list* near, const looking* l, int level, const cal_box* box) {
    // A block costs about as much as a few boxes.
    const int most = broad->members[level].count / 4;
    bool looked = false;
    if (most > 0 && !cal_grid_look(&broad->grid, level, box, l->both, most, near, &looked)) return false;
    if (!looked) return look_at_all(broad, l, level, box);
    for (int i = 0; i < near->count; i++) __builtin_prefetch(&broad->entries[near->ids[i]]);
    for (int i = 0; i < near->count; i++)
        if (!note(broad, l, near->ids[i])) return false;
    return true;
}

// Notes all that may meet a box; NULL: nothing. False: no memory.
static bool look_at(const cal_broad* broad, id_list* near, const looking* l, const cal_box* box) {
    if (box == NULL) return true;
    const bool endless = !isfinite(longest_edge(box));
    for (int i = 0; i < broad->level_count; i++) {
        const int level = broad->levels[i];
        const bool ok =
            level == ENDLESS || endless ? look_at_all(broad, l, level, box) : look_at_level(broad, near, l, level, box);
        if (!ok) return false;
    }
    return true;
}

// What two boxes share; false: nothing.
static bool meet(const cal_box* a, const cal_box* b, cal_box* out) {
    for (int i = 0; i < 3; i++) {
        out->low[i] = a->low[i] > b->low[i] ? a->low[i] : b->low[i];
        out->high[i] = a->high[i] < b->high[i] ? a->high[i] : b->high[i];
        if (out->low[i] > out->high[i]) return false;
    }
    return true;
}

// How a box changes what it overlaps: one look at where it was and where it is, or two where these are far from each other.
static bool look_at_both(cal_broad* broad, looking* l) {
    broad->began.count = broad->ceased.count = 0;
    l->began = &broad->began, l->ceased = &broad->ceased;
    id_list* near = &broad->scratch.near;
    if (l->now.box == NULL || l->before.box == NULL)
        return look_at(broad, near, l, l->now.box != NULL ? l->now.box : l->before.box);
    const cal_box either = cal_box_join(l->now.box, l->before.box);
    cal_box both;
    if (longest_edge(&either) <= longest_edge(l->now.box) + longest_edge(l->before.box) ||
        !isfinite(longest_edge(&either))) {
        if (l->now.space == NULL && l->before.space == NULL && meet(l->now.box, l->before.box, &both)) l->both = &both;
        return look_at(broad, near, l, &either);
    }
    l->ceased = NULL;
    if (!look_at(broad, near, l, l->now.box)) return false;
    l->began = NULL, l->ceased = &broad->ceased;
    return look_at(broad, near, l, l->before.box);
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
    return cal_grid_reserve(&broad->grid) && cal_broad_ids_reserve(&broad->members[level], count) &&
           (level != ENDLESS || grow_spaces(broad, count));
}

// Where a box is from now on; room is there.
static void put(cal_broad* broad, int32_t slot, const cal_box* box, int level) {
    entry* e = &broad->entries[slot];
    const bool stays = e->level == level;
    if (!stays) leave(broad, slot);
    if (level != ENDLESS)
        e->place = stays ? cal_grid_move(&broad->grid, e->place, level, box, slot)
                         : cal_grid_add(&broad->grid, level, box, slot);
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
    const bool reserved = reserve_level(broad, level); // before anything is pointed to
    looking l = {.now = {box, space}, .before = region_of(broad, slot), .self = slot};
    if (!reserved || (changes != NULL && !look_at_both(broad, &l))) {
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
    cal_free(scratch->near.ids);
    cal_free(scratch->found.ids);
    *scratch = (cal_broad_scratch){0};
}

// Everyone in a region, ascending; −1: no memory.
static int find(const cal_broad* broad, region r, int32_t self, cal_broad_scratch* scratch, const int32_t** out) {
    const looking l = {.now = r, .self = self, .began = &scratch->found};
    scratch->found.count = 0;
    if (!look_at(broad, &scratch->near, &l, r.box)) return -1;
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
