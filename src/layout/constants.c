// What never changes of the nodes, laid out for the lanes of columns.
//
// Big models are built of equal parts: of the 250,000 columns of a mobile of a million joints a few hundred differ. Equal
// columns share their constants, which then stay in the caches: memory's speed is what a large model lacks.
#include "base/hash.h"
#include "base/memory.h"
#include "layout/layout.h"

#include <string.h>

// The constants so far, and a table that finds a column by the hash of its own.
typedef struct shelf {
    cal_layout* layout;
    double* values;
    size_t size, capacity;
    int32_t* columns; // column + 1; 0: free
    uint64_t* hashes; // of the columns in the table
    size_t mask;
} shelf;

static void write_lane(const cal_layout* layout, int block, int lane, double* out) {
    const int width = layout->width, node = layout->block_nodes[(size_t)block * (size_t)width + (size_t)lane];
    double values[CAL_CONSTANT_COUNT] = {[0] = 1.0, [4] = 1.0, [8] = 1.0, [CAL_CONSTANT_ARMATURE] = 1.0};
    if (node >= 0) {
        const cal_node* n = &layout->model->nodes[node % layout->model->node_count];
        memcpy(values + CAL_CONSTANT_ROTATION, n->rotation, sizeof n->rotation);
        memcpy(values + CAL_CONSTANT_OFFSET, n->offset, sizeof n->offset);
        values[CAL_CONSTANT_MASS] = n->mass;
        memcpy(values + CAL_CONSTANT_MOMENT, n->moment, sizeof n->moment);
        memcpy(values + CAL_CONSTANT_SECOND, n->second_moment, sizeof n->second_moment);
        if (cal_kind_v(n->kind) == 1) {
            values[CAL_CONSTANT_SECOND] = 0.5 * (n->second_moment[0] - n->second_moment[2]);
            values[CAL_CONSTANT_SECOND + 1] = 0.5 * (n->second_moment[1] - n->second_moment[2]);
        }
        values[CAL_CONSTANT_ARMATURE] = n->armature;
    }
    for (int i = 0; i < CAL_CONSTANT_COUNT; i++) out[i * width + lane] = values[i];
}

static bool reserve(shelf* s, size_t count) {
    if (s->values && s->capacity - s->size >= count) return true;
    const size_t capacity = 2 * s->capacity + count;
    double* values = cal_allocate(capacity, sizeof *values);
    if (!values) return false;
    if (s->size > 0) memcpy(values, s->values, s->size * sizeof *values);
    cal_free(s->values);
    s->values = values;
    s->capacity = capacity;
    return true;
}

// Writes a column's constants behind the others, and counts them only when no column before it has the same.
static bool put(shelf* s, int index) {
    cal_layout* layout = s->layout;
    cal_column* column = &layout->columns[index];
    const size_t a_block = CAL_CONSTANT_COUNT * (size_t)layout->width, count = a_block * (size_t)column->block_count;
    if (!reserve(s, count)) return false;
    double* fresh = s->values + s->size;
    for (int block = 0; block < column->block_count; block++)
        for (int lane = 0; lane < layout->width; lane++)
            write_lane(layout, column->first_block + block, lane, fresh + (size_t)block * a_block);
    const uint64_t hash = cal_hash_doubles(CAL_HASH_START, fresh, count);
    size_t slot = (size_t)hash & s->mask;
    for (; s->columns[slot] > 0; slot = (slot + 1) & s->mask) {
        const cal_column* other = &layout->columns[s->columns[slot] - 1];
        if (s->hashes[slot] != hash || other->block_count != column->block_count ||
            memcmp(s->values + other->constants, fresh, count * sizeof *fresh) != 0)
            continue;
        column->constants = other->constants;
        return true;
    }
    s->columns[slot] = index + 1;
    s->hashes[slot] = hash;
    column->constants = s->size;
    s->size += count;
    return true;
}

cal_status cal_layout_fill_constants(cal_layout* layout) {
    size_t slots = 16;
    while (slots < 2 * (size_t)layout->column_count) slots *= 2;
    shelf s = {.layout = layout,
               .columns = cal_allocate(slots, sizeof *s.columns),
               .hashes = cal_allocate(slots, sizeof *s.hashes),
               .mask = slots - 1};
    bool good = s.columns && s.hashes;
    for (int i = 0; i < layout->column_count && good; i++)
        if (cal_layout_keeps(layout, &layout->columns[i]) && layout->columns[i].block_count > 0) good = put(&s, i);
    // What was reserved and not needed goes back.
    if (good) layout->constants = cal_allocate(s.size, sizeof(double));
    good = good && layout->constants;
    if (good && s.size > 0) memcpy(layout->constants, s.values, s.size * sizeof(double));
    cal_free(s.values);
    cal_free(s.columns);
    cal_free(s.hashes);
    return good ? CAL_OK : CAL_NO_MEMORY;
}
