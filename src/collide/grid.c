// A hierarchical spatial hash.
//
//     level 3  ┌───────────────┐        A box lives in one cell: its level is a power of two not under its longest edge, its
//              │   ┌───┐       │        cell the one that holds its centre. So it sticks out of its cell by at most half a
//     level 1  │ ┌─┼─┐ │ box   │        cell, and those that may touch a given box on a level are in the cells that
//              │ └─┼─┘ │       │        the box, grown by half a cell, meets.
//              │   └───┘       │
//              └───────────────┘
//
// What a look costs among many boxes is what it misses in the caches. So cells are kept in blocks of 2 × 2 × 2, and of a box only what it
// covers of its block is looked at first, in bytes, sixteen boxes to a bucket of three lines: 64 steps to a cell, from one cell before the
// block to one after it.
//
//     line 0   low ends along x, sixteen bytes; 255 less high ends; the same along y
//     line 1   the same along z; whose block it is; which places are taken; the next bucket of the block
//     line 2   numbers of the boxes
//
// Low ends are rounded down and high ends up, so a box that does not overlap in bytes does not overlap. Where they overlap by more than
// the rounding of both, the boxes do, too: who is known to overlap where a box was and where it is needs no second look. A box overlaps
// along an axis where its low end is not above the high end that is asked for, and 255 less its high end not above 255 less the low one: one
// comparison of 32 bytes.
#include "collide/grid.h"
#include "base/memory.h"
#include "base/wide.h"
#include <string.h>

enum { PLACES = 16, CHUNK = 4, STEPS = 64, LAST_STEP = 255 };
static const double last_cell = 0x1p30; // cells beyond are one

struct cal_grid_bucket {
    _Alignas(64) uint8_t ends[3][2][PLACES];
    int32_t level;
    uint32_t at[3]; // cells / 2
    uint32_t used;  // a bit for each place that is taken
    int32_t next;   // 1 + the next bucket of the block, or of those that are not in use; 0: none
    uint32_t spare[2];
    int32_t numbers[PLACES];
};

struct cal_grid_link {
    uint32_t tag;   // the hash of the block
    int32_t bucket; // 1 + its first bucket; 0: there is none
};

// --- Cells ------------------------------------------------------------------------------------------------------------

// One over the edge of a cell.
static double inverse_of(int level) {
    const uint64_t bits = (uint64_t)(1023 - (level + (int)CAL_GRID_LOWEST)) << 52;
    double out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

// Cells are numbered from 0, so that halves are what they are on either side of the origin.
static uint32_t cell_of(double x, double inverse) {
    const double cell = x * inverse;
    if (!(cell > -last_cell)) return 0;
    if (cell >= last_cell) return UINT32_C(1) << 31;
    const int32_t whole = (int32_t)cell;
    return (uint32_t)(whole - (whole > cell) + (INT32_C(1) << 30));
}

// The hash of a block, from what each of its coordinates adds to it.
static uint64_t hash_along(int axis, uint32_t at) {
    static const uint64_t factors[3] = {UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xc2b2ae3d27d4eb4f),
                                        UINT64_C(0x165667b19e3779f9)};
    return at * factors[axis];
}
static uint32_t hash_from(int level, uint64_t x, uint64_t y, uint64_t z) {
    const uint64_t h = x ^ y ^ z ^ (uint64_t)(uint32_t)level << 32;
    return (uint32_t)((h ^ h >> 32) * UINT64_C(0xbf58476d1ce4e5b9) >> 32);
}
static uint32_t hash_of(int level, const uint32_t at[3]) {
    return hash_from(level, hash_along(0, at[0]), hash_along(1, at[1]), hash_along(2, at[2]));
}

// The block that holds the centre of a box.
static void find_block(double inverse, const cal_box* box, uint32_t at[3]) {
    for (int i = 0; i < 3; i++) at[i] = cell_of(0.5 * box->low[i] + 0.5 * box->high[i], inverse) >> 1;
}

static bool is_block(const cal_grid_bucket* b, int level, const uint32_t at[3]) {
    return b->level == level && b->at[0] == at[0] && b->at[1] == at[1] && b->at[2] == at[2];
}

// The link of a block, or the empty one where it would be.
static cal_grid_link* find_link(const cal_grid* grid, uint32_t hash, int level, const uint32_t at[3]) {
    const uint32_t mask = grid->link_capacity - 1;
    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        cal_grid_link* link = &grid->links[i];
        if (link->bucket == 0) return link;
        if (link->tag == hash && is_block(&grid->buckets[link->bucket - 1], level, at)) return link;
    }
}

// Open addressing without tombstones: what follows in the run moves up.
static void remove_link(cal_grid* grid, cal_grid_link* gone) {
    const uint32_t mask = grid->link_capacity - 1;
    uint32_t hole = (uint32_t)(gone - grid->links);
    gone->bucket = 0;
    for (uint32_t i = (hole + 1) & mask; grid->links[i].bucket != 0; i = (i + 1) & mask) {
        if (((i - grid->links[i].tag) & mask) < ((i - hole) & mask)) continue;
        grid->links[hole] = grid->links[i];
        grid->links[i].bucket = 0;
        hole = i;
    }
}

// --- Ends in bytes ----------------------------------------------------------------------------------------------------

// The step that byte 0 of a block is for. Steps are counted through all cells, and exactly, as cells are powers of two.
static int64_t first_step(uint32_t at) { return (2 * (int64_t)at - (INT64_C(1) << 30) - 1) * (int64_t)STEPS; }

static int byte_of(int step) { return step < 0 ? 0 : step > LAST_STEP ? LAST_STEP : step; }

// Steps of a block that are cut off to one beyond its bytes.
static int step_of(double steps) {
    const double most = (double)(LAST_STEP + 1);
    return (int)(steps < -1.0 ? -1.0 : steps < most ? steps : most);
}

static void write_ends(cal_grid_bucket* b, int place, double inverse, const cal_box* box) {
    const double scale = (double)STEPS * inverse;
    for (int i = 0; i < 3; i++) {
        const double first = (double)first_step(b->at[i]);
        const double low = scale * box->low[i] - first, high = scale * box->high[i] - first;
        const int down = step_of(low), up = step_of(high);
        b->ends[i][0][place] = (uint8_t)byte_of(down - (down > low));
        b->ends[i][1][place] = (uint8_t)(LAST_STEP - byte_of(up + (up < high)));
    }
}

// --- Buckets ----------------------------------------------------------------------------------------------------------

void cal_grid_destroy(cal_grid* grid) {
    cal_free(grid->buckets);
    cal_free(grid->links);
    *grid = (cal_grid){0};
}

static bool grow_buckets(cal_grid* grid) {
    if (grid->unused != 0 || grid->bucket_count < grid->bucket_capacity) return true;
    const int capacity = grid->bucket_count < 8 ? 8 : grid->bucket_count + grid->bucket_count / 2;
    cal_grid_bucket* buckets = cal_allocate((size_t)capacity, sizeof *buckets);
    if (buckets == NULL) return false;
    if (grid->bucket_count > 0) memcpy(buckets, grid->buckets, (size_t)grid->bucket_count * sizeof *buckets);
    cal_free(grid->buckets);
    grid->buckets = buckets;
    grid->bucket_capacity = capacity;
    return true;
}

static bool grow_links(cal_grid* grid) {
    if (2 * (uint32_t)(grid->block_count + 1) <= grid->link_capacity) return true;
    const uint32_t capacity = grid->link_capacity == 0 ? 32 : 2 * grid->link_capacity, mask = capacity - 1;
    cal_grid_link* links = cal_allocate(capacity, sizeof *links);
    if (links == NULL) return false;
    for (uint32_t i = 0; i < grid->link_capacity; i++) {
        if (grid->links[i].bucket == 0) continue;
        uint32_t at = grid->links[i].tag & mask;
        while (links[at].bucket != 0) at = (at + 1) & mask;
        links[at] = grid->links[i];
    }
    cal_free(grid->links);
    grid->links = links;
    grid->link_capacity = capacity;
    return true;
}

bool cal_grid_reserve(cal_grid* grid) { return grow_buckets(grid) && grow_links(grid); }

static int32_t take_bucket(cal_grid* grid, int level, const uint32_t at[3]) {
    int32_t number = grid->unused;
    if (number != 0)
        grid->unused = grid->buckets[number - 1].next;
    else
        number = ++grid->bucket_count;
    grid->buckets[number - 1] = (cal_grid_bucket){.level = level, .at = {at[0], at[1], at[2]}};
    return number;
}

static uint32_t add_to_block(cal_grid* grid, int level, const uint32_t at[3], const cal_box* box, int32_t number) {
    enum { FULL = (1 << PLACES) - 1 };
    const uint32_t hash = hash_of(level, at);
    cal_grid_link* link = find_link(grid, hash, level, at);
    int32_t bucket = link->bucket;
    while (bucket != 0 && grid->buckets[bucket - 1].used == (uint32_t)FULL) bucket = grid->buckets[bucket - 1].next;
    if (bucket == 0) {
        bucket = take_bucket(grid, level, at);
        if (link->bucket == 0) {
            *link = (cal_grid_link){hash, bucket};
            grid->block_count++;
        } else {
            cal_grid_bucket* first = &grid->buckets[link->bucket - 1];
            grid->buckets[bucket - 1].next = first->next;
            first->next = bucket;
        }
    }
    cal_grid_bucket* b = &grid->buckets[bucket - 1];
    const int place = __builtin_ctz(~b->used);
    b->used |= UINT32_C(1) << place;
    b->numbers[place] = number;
    write_ends(b, place, inverse_of(level), box);
    return (uint32_t)(bucket - 1) * (uint32_t)PLACES + (uint32_t)place;
}

uint32_t cal_grid_add(cal_grid* grid, int level, const cal_box* box, int32_t number) {
    uint32_t at[3];
    find_block(inverse_of(level), box, at);
    return add_to_block(grid, level, at, box, number);
}

void cal_grid_remove(cal_grid* grid, uint32_t place) {
    const int32_t bucket = (int32_t)(place / (uint32_t)PLACES) + 1;
    cal_grid_bucket* b = &grid->buckets[bucket - 1];
    b->used &= ~(UINT32_C(1) << place % (uint32_t)PLACES);
    if (b->used != 0) return;
    const uint32_t hash = hash_of(b->level, b->at);
    cal_grid_link* link = find_link(grid, hash, b->level, b->at);
    int32_t* from = &link->bucket;
    while (*from != bucket) from = &grid->buckets[*from - 1].next;
    *from = b->next;
    b->level = -1;
    b->next = grid->unused;
    grid->unused = bucket;
    if (link->bucket != 0) return;
    remove_link(grid, link);
    grid->block_count--;
}

uint32_t cal_grid_move(cal_grid* grid, uint32_t place, int level, const cal_box* box, int32_t number) {
    cal_grid_bucket* b = &grid->buckets[place / (uint32_t)PLACES];
    const double inverse = inverse_of(level);
    uint32_t at[3];
    find_block(inverse, box, at);
    if (is_block(b, level, at)) {
        write_ends(b, (int)(place % (uint32_t)PLACES), inverse, box);
        return place;
    }
    cal_grid_remove(grid, place);
    return add_to_block(grid, level, at, box, number);
}

// --- Looking ----------------------------------------------------------------------------------------------------------

bool cal_broad_ids_reserve(cal_broad_ids* list, int needed) {
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

typedef uint8_t places __attribute__((vector_size(PLACES)));
typedef uint8_t bytes __attribute__((vector_size(2 * PLACES)));

// What is asked of the boxes of a block along one axis, as they have their ends: who overlaps is not above `near`, and who surely overlaps what
// is inside not above `sure`.
typedef struct question {
    _Alignas(32) places near[2], sure[2];
    uint64_t hash;
} question;

// low … high, in bytes.
CAL_WIDE_INLINE void ask_for(int low, int high, places out[2]) {
    out[0] = (places){0} + (uint8_t)high;
    out[1] = (places){0} + (uint8_t)(LAST_STEP - low);
}

// What is asked of all blocks of a chunk, from `first` on, `count` along each axis.
CAL_WIDE_INLINE void ask(double inverse, const uint32_t first[3], const uint32_t count[3], const cal_box* box,
                         const cal_box* inside, question q[3][CHUNK]) {
    enum { LOW, HIGH, INSIDE_LOW, INSIDE_HIGH, ENDS };
    // Steps from the first block on, as far as any of the chunk has bytes for, and one to each side.
    const double scale = (double)STEPS * inverse, most = (double)(2 * CHUNK * STEPS + LAST_STEP);
    double from[3 * ENDS];
    int32_t steps[3 * ENDS], down[3 * ENDS], up[3 * ENDS];
    for (int i = 0; i < 3; i++) {
        const double before = (double)first_step(first[i]);
        from[(int)ENDS * i + LOW] = scale * box->low[i] - before;
        from[(int)ENDS * i + HIGH] = scale * box->high[i] - before;
        from[(int)ENDS * i + INSIDE_LOW] = scale * inside->low[i] - before;
        from[(int)ENDS * i + INSIDE_HIGH] = scale * inside->high[i] - before;
    }
    for (int i = 0; i < 3 * ENDS; i++) {
        const double above = from[i] > -1.0 ? from[i] : -1.0;
        steps[i] = (int32_t)(above < most ? above : most);
    }
    // What was cut off.
    for (int i = 0; i < 3 * ENDS; i++) {
        const double whole = steps[i];
        down[i] = steps[i] - (whole > from[i] ? 1 : 0);
        up[i] = steps[i] + (whole < from[i] ? 1 : 0);
    }
    for (int i = 0; i < 3; i++) {
        // Low ends of boxes are less than a step above their bytes, and high ends less than one below.
        const int at = (int)ENDS * i, inner_low = up[at + INSIDE_LOW] + 1, inner_high = down[at + INSIDE_HIGH] - 1;
        for (uint32_t k = 0; k < count[i]; k++) {
            const int before = 2 * (int)STEPS * (int)k, low = inner_low - before, high = inner_high - before;
            const bool any = low <= LAST_STEP && high >= 0;
            ask_for(byte_of(down[at + LOW] - before), byte_of(up[at + HIGH] - before), q[i][k].near);
            // No box has the ends 0 and 255.
            ask_for(any ? byte_of(low) : LAST_STEP, any ? byte_of(high) : 0, q[i][k].sure);
            q[i][k].hash = hash_along(i, first[i] + k);
        }
    }
}

// A bit for each of sixteen bytes that is not zero, of which all bits are set.
CAL_WIDE_INLINE uint32_t bits_of(const places* set) {
#ifdef __SSE2__
    typedef char signed_places __attribute__((vector_size(PLACES)));
    return (uint32_t)__builtin_ia32_pmovmskb128((signed_places)*set);
#else
    uint64_t halves[2];
    uint32_t out = 0;
    memcpy(halves, set, sizeof halves);
    for (int i = 0; i < 2; i++) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        halves[i] = __builtin_bswap64(halves[i]);
#endif
        out |= (uint32_t)((halves[i] & UINT64_C(0x8040201008040201)) * UINT64_C(0x0101010101010101) >> 56) << 8 * i;
    }
    return out;
#endif
}

// Which boxes of a bucket answer.
CAL_WIDE_INLINE uint32_t answers_of_bucket(const cal_grid_bucket* b, const question* x, const question* y,
                                           const question* z) {
    const question* const q[3] = {x, y, z};
    bytes near = ~(bytes){0}, sure = ~(bytes){0};
    for (int i = 0; i < 3; i++) {
        bytes ends, asked[2];
        memcpy(&ends, b->ends[i], sizeof ends);
        memcpy(&asked[0], q[i]->near, sizeof asked[0]);
        memcpy(&asked[1], q[i]->sure, sizeof asked[1]);
        near &= (bytes)(ends <= asked[0]);
        sure &= (bytes)(ends <= asked[1]);
    }
    places n[2], s[2];
    memcpy(n, &near, sizeof n);
    memcpy(s, &sure, sizeof s);
    const places found = n[0] & n[1] & ~(s[0] & s[1]);
    return bits_of(&found) & b->used;
}

// The blocks of a level that a look goes through.
typedef struct range {
    uint32_t low[3], high[3];
} range;

static range range_of(int level, const cal_box* box) {
    const double inverse = inverse_of(level), half = 0.5 / inverse;
    range out;
    for (int i = 0; i < 3; i++) {
        // A rounding wider than half a cell: the centre was rounded too.
        const double slack = half + 1e-15 * (fabs(box->low[i]) + fabs(box->high[i]));
        out.low[i] = cell_of(box->low[i] - slack, inverse) >> 1;
        out.high[i] = cell_of(box->high[i] + slack, inverse) >> 1;
    }
    return out;
}

// A block that is looked for: which one it is along each axis.
typedef struct probe {
    uint32_t hash;
    uint8_t x, y, z;
} probe;

// Blocks from `first` on, `count` along each axis: all links are asked for, then all buckets, and then these are looked at, so that a look
// waits twice and not for each of them.
CAL_WIDE static bool look_at_chunk(const cal_grid* grid, int level, const uint32_t first[3], const uint32_t count[3],
                                   const cal_box* box, const cal_box* inside, cal_broad_ids* out) {
    question q[3][CHUNK];
    probe probes[CHUNK * CHUNK * CHUNK];
    const double inverse = inverse_of(level);
    const uint32_t mask = grid->link_capacity - 1;
    int n = 0;
    ask(inverse, first, count, box, inside, q);
    for (uint8_t z = 0; z < count[2]; z++)
        for (uint8_t y = 0; y < count[1]; y++)
            for (uint8_t x = 0; x < count[0]; x++) {
                probes[n] = (probe){hash_from(level, q[0][x].hash, q[1][y].hash, q[2][z].hash), x, y, z};
                __builtin_prefetch(&grid->links[probes[n++].hash & mask]);
            }
    for (int i = 0; i < n; i++) {
        const int32_t bucket = grid->links[probes[i].hash & mask].bucket;
        if (bucket == 0) continue;
        __builtin_prefetch(&grid->buckets[bucket - 1]);
        __builtin_prefetch(&grid->buckets[bucket - 1].level);
    }
    for (int i = 0; i < n; i++) {
        const probe p = probes[i];
        const uint32_t at[3] = {first[0] + p.x, first[1] + p.y, first[2] + p.z};
        for (int32_t bucket = find_link(grid, p.hash, level, at)->bucket; bucket != 0;) {
            const cal_grid_bucket* b = &grid->buckets[bucket - 1];
            uint32_t found = answers_of_bucket(b, &q[0][p.x], &q[1][p.y], &q[2][p.z]);
            if (found != 0 && !cal_broad_ids_reserve(out, out->count + (int)PLACES)) return false;
            for (; found != 0; found &= found - 1) out->ids[out->count++] = b->numbers[__builtin_ctz(found)];
            bucket = b->next;
        }
    }
    return true;
}

bool cal_grid_look(const cal_grid* grid, int level, const cal_box* box, const cal_box* inside, int most,
                   cal_broad_ids* out, bool* looked) {
    // What is before everything and after it at the same time is overlapped by nothing.
    static const cal_box nothing = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    const range r = range_of(level, box);
    uint32_t first[3], count[3];
    double blocks = 1.0;
    for (int i = 0; i < 3; i++) blocks *= 1.0 + (r.high[i] - r.low[i]);
    out->count = 0;
    *looked = blocks <= most;
    if (!*looked) return true;
    for (first[2] = r.low[2]; first[2] <= r.high[2]; first[2] += CHUNK)
        for (first[1] = r.low[1]; first[1] <= r.high[1]; first[1] += CHUNK)
            for (first[0] = r.low[0]; first[0] <= r.high[0]; first[0] += CHUNK) {
                for (int i = 0; i < 3; i++) {
                    const uint32_t left = r.high[i] - first[i] + 1;
                    count[i] = left < CHUNK ? left : CHUNK;
                }
                if (!look_at_chunk(grid, level, first, count, box, inside != NULL ? inside : &nothing, out))
                    return false;
            }
    return true;
}
