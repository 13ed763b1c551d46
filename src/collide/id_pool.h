// Many short lists of ids in few blocks of memory: a list that grows leaves its place to others, and all of them go at once.
#pragma once
#include "collide/collide.h"

enum { CAL_ID_POOL_SIZES = 26 };

typedef struct cal_id_pool {
    struct cal_id_block* blocks;        // the last one first
    int32_t* next;                      // what is left of the last one that lists share
    int left, block_size;               // ids
    int32_t* unused[CAL_ID_POOL_SIZES]; // chains of places of 8 · 2ᵏ ids
} cal_id_pool;

// Room for so many ids in a list of a pool; false: no memory.
bool cal_id_pool_reserve(cal_id_pool* pool, cal_broad_ids* list, int needed);
void cal_id_pool_free(cal_id_pool* pool);
