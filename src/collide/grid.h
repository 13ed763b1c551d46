// Boxes in a hierarchy of grids, by which the broad phase finds those near a box (grid.c).
#pragma once
#include "collide/collide.h"

enum { CAL_GRID_LOWEST = -60, CAL_GRID_LEVELS = 121 }; // a cell of level i has an edge of 2^(i + lowest)

typedef struct cal_grid_bucket cal_grid_bucket;
typedef struct cal_grid_link cal_grid_link;

// From zeros.
typedef struct cal_grid {
    cal_grid_bucket* buckets;
    cal_grid_link* links; // open addressing; power of two
    int bucket_count, bucket_capacity, block_count;
    int32_t unused; // 1 + the first of a chain of buckets; 0: none
    uint32_t link_capacity;
} cal_grid;

void cal_grid_destroy(cal_grid* grid);
// Makes room for one more box; false: no memory.
bool cal_grid_reserve(cal_grid* grid);
// Puts a box into a level on which no edge of it is longer than a cell's; room is there. number: what a look finds. Returns its place.
uint32_t cal_grid_add(cal_grid* grid, int level, const cal_box* box, int32_t number);
void cal_grid_remove(cal_grid* grid, uint32_t place);
// A box becomes another one of the same level; room is there. Returns its place.
uint32_t cal_grid_move(cal_grid* grid, uint32_t place, int level, const cal_box* box, int32_t number);
// Writes the numbers of all boxes of a level that may overlap a box, in no order, without those that are sure to overlap another one (inside;
// NULL: none). Boxes are compared by more than they are: some do not. looked: the box covers no more than `most` blocks; nothing is
// written otherwise. False: no memory.
bool cal_grid_look(const cal_grid* grid, int level, const cal_box* box, const cal_box* inside, int most,
                   cal_broad_ids* out, bool* looked);
// Makes room for so many ids; false: no memory.
bool cal_broad_ids_reserve(cal_broad_ids* list, int needed);
