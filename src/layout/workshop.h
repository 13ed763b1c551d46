// What a layout's columns are made with. Private to layout/.
#pragma once
#include "layout/layout.h"

// The first block of a column that is still to be laid out.
typedef struct cal_seed {
    int32_t parent, kind, owner, last;
    int taken; // lanes
    int32_t nodes[CAL_MAX_LANES];
    int8_t parent_lane[CAL_MAX_LANES];
    int8_t rank[CAL_MAX_LANES]; // of each lane among those with its parent
} cal_seed;

// A child of a column's end that waits for a lane.
typedef struct cal_candidate {
    int32_t node, kind, rank;
    int32_t lane; // its parent's
} cal_candidate;

// A node whose branch is left to mixed columns, and where its parent is.
typedef struct cal_hanging {
    int32_t node, column, lane;
} cal_hanging;

typedef struct cal_workshop {
    cal_layout* layout;
    const int32_t *owners, *lasts;
    int32_t* newest; // of each processor: its last seed among those of the parent at hand, or -1; then of the trunk's
    cal_seed* open;  // seeds of the parent at hand
    int open_count, open_capacity;
    int column_capacity, block_capacity;
    cal_seed* seeds;
    int seed_count, seed_capacity;
    cal_candidate* candidates;
    int candidate_count, candidate_capacity;
    int root_count; // columns on the ground
    bool mixes;     // what hangs on columns that are not shared is left to mixed.c
    bool bundles;   // where it does: branches of one shape are bundled (bundles.c)
    bool* cut;      // where it does: of each node, whether something below belongs to another processor
    cal_hanging* hanging;
    int hanging_count, hanging_capacity;
    cal_hanging* origins; // of mixed columns' lanes: a node and where its parent is
    int origin_count, origin_capacity;
    cal_hanging* heads; // of each node that begins a mixed column's lane: where
    bool out_of_memory;
} cal_workshop;

// How many lanes kernels work on when so many are alive.
static inline int cal_worked_lanes(int live, int width) { return width == 1 ? 1 : width == 8 && live <= 4 ? 4 : width; }

// `old` with room for `needed` items; sets out_of_memory when there is none.
void* cal_workshop_grow(cal_workshop* shop, void* old, int* capacity, int needed, size_t size);
// A block of dead lanes, and a column without blocks.
int32_t* cal_workshop_add_block(cal_workshop* shop);
cal_column* cal_workshop_add_column(cal_workshop* shop);
// All columns; of a workshop that mixes, those above what is mixed.
void cal_pack_columns(cal_workshop* shop);
// Columns for what hangs on others; then, once frames are placed, what their lanes read and gather.
void cal_mix_columns(cal_workshop* shop);
cal_status cal_place_mixed(const cal_workshop* shop);
// Packs the candidates, children of a column of a mixed layout, and all that is below them, into columns that are not mixed.
void cal_pack_below(cal_workshop* shop, int parent);

// Of each node, whether it is in a bundle (bundles.c).
typedef uint8_t cal_bundled;
enum { CAL_NOT_BUNDLED, CAL_BUNDLE_ROOT, CAL_BUNDLED_BELOW };
// The shapes of all nodes; NULL: no memory.
uint64_t* cal_find_shapes(const cal_model* model);
// Chooses bundles of `width` branches of one shape each among those that hang below the roots; false: no memory.
bool cal_choose_bundles(const cal_model* model, const uint64_t* shapes, const cal_hanging* roots, int root_count,
                        int width, cal_bundled* bundled);

// Copies the trunk's columns to all processors that compute them, with stand-ins for columns that others have below them (trunk.c), before
// anything has a place.
cal_status cal_workshop_copy_trunk(cal_workshop* shop);
// Whether so many lanes are dead that mixed columns may be faster; how long an evaluation takes, relative to other columns of the model.
bool cal_workshop_is_sparse(const cal_workshop* shop);
double cal_workshop_price(const cal_workshop* shop);
