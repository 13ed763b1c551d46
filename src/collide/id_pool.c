// Lists of ids from blocks: places of 8 · 2ᵏ ids, of which those that are not in use are chained.
#include "collide/id_pool.h"
#include "base/memory.h"
#include <string.h>

enum { SMALLEST = 8, FIRST_BLOCK = 256, LARGEST_BLOCK = 1 << 14 };

typedef struct cal_id_block {
    struct cal_id_block* next;
    _Alignas(32) int32_t ids[];
} id_block;

static int32_t* make_block(cal_id_pool* pool, int size) {
    id_block* made = cal_allocate(1, sizeof *made + (size_t)size * sizeof *made->ids);
    if (made == NULL) return NULL;
    made->next = pool->blocks;
    pool->blocks = made;
    return made->ids;
}

// A list that would take more than a part of a block has one of its own. What is left of a block when the next one begins is not used.
static int32_t* take(cal_id_pool* pool, int kind) {
    const int size = SMALLEST << kind;
    int32_t* found = pool->unused[kind];
    if (found != NULL) {
        memcpy(&pool->unused[kind], found, sizeof(int32_t*));
        return found;
    }
    if (size > LARGEST_BLOCK / 8) return make_block(pool, size);
    if (pool->left < size) {
        int length = pool->block_size == 0 ? FIRST_BLOCK : 2 * pool->block_size;
        while (length < 8 * size) length *= 2;
        if (length > LARGEST_BLOCK) length = LARGEST_BLOCK;
        int32_t* made = make_block(pool, length);
        if (made == NULL) return NULL;
        pool->next = made;
        pool->left = pool->block_size = length;
    }
    found = pool->next;
    pool->next += size;
    pool->left -= size;
    return found;
}

static void leave(cal_id_pool* pool, const cal_broad_ids* list) {
    if (list->ids == NULL) return;
    int kind = 0;
    while (SMALLEST << kind < list->capacity) kind++;
    memcpy(list->ids, &pool->unused[kind], sizeof(int32_t*));
    pool->unused[kind] = list->ids;
}

bool cal_id_pool_reserve(cal_id_pool* pool, cal_broad_ids* list, int needed) {
    if (needed <= list->capacity) return true;
    int kind = 0;
    while (kind < CAL_ID_POOL_SIZES && SMALLEST << kind < needed) kind++;
    int32_t* grown = kind < CAL_ID_POOL_SIZES ? take(pool, kind) : NULL;
    if (grown == NULL) return false;
    if (list->count > 0) memcpy(grown, list->ids, (size_t)list->count * sizeof *grown);
    leave(pool, list);
    list->ids = grown;
    list->capacity = SMALLEST << kind;
    return true;
}

void cal_id_pool_free(cal_id_pool* pool) {
    while (pool->blocks != NULL) {
        id_block* next = pool->blocks->next;
        cal_free(pool->blocks);
        pool->blocks = next;
    }
    *pool = (cal_id_pool){0};
}
