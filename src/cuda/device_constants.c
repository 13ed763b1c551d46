// Columns and their constants in a device's memory. Big models are built of equal parts: most columns have the same constants in all of
// their lanes. Those are kept once, and packed: the rows of a block of constants have a column's blocks in their lanes,
//
//     row 0    block 0, 1, 2 …     first number of their constants
//     row 1    block 0, 1, 2 …     second number …
//
// which takes as many lines of a cache as there are rows, where a block of a column would take as many by itself.
#include "base/memory.h"
#include "cuda/device_plan.h"
#include <string.h>

enum { WIDTH = CAL_DEVICE_LANES, A_BLOCK = CAL_CONSTANT_COUNT * WIDTH };

// Whether all lanes have the same ones, dead ones too.
static bool is_alike(const double* constants, int blocks) {
    const size_t count = (size_t)blocks * A_BLOCK;
    for (size_t i = 0; i < count; i++)
        if (!cal_same_bits(&constants[i], &constants[i / WIDTH * WIDTH], sizeof *constants)) return false;
    return true;
}

typedef struct packing {
    const cal_layout* layout;
    int32_t*
        place;   // of each block of constants, that of its packed copy; NONE: not looked at; DIFFERENT: its lanes are
    double* all; // those of the layout, then the packed ones
    size_t plain, packed;
} packing;
enum { NONE = -1, DIFFERENT = -2 };

static void pack(packing* p, cal_column* column) {
    const double* from = p->layout->constants + column->constants;
    int32_t* place = &p->place[column->constants / A_BLOCK];
    if (*place == NONE) {
        *place = DIFFERENT;
        if (p->layout->uniform || is_alike(from, column->block_count)) {
            *place = (int32_t)p->packed;
            for (int b = 0; b < column->block_count; b++, p->packed++) {
                double* to = p->all + p->plain + p->packed / WIDTH * A_BLOCK + p->packed % WIDTH;
                for (int i = 0; i < CAL_CONSTANT_COUNT; i++)
                    to[i * WIDTH] = from[(size_t)b * A_BLOCK + (size_t)i * WIDTH];
            }
        }
    }
    if (*place == DIFFERENT) return;
    column->alike = true;
    column->constants = p->plain + (size_t)*place / WIDTH * A_BLOCK + (size_t)*place % WIDTH;
}

void cal_device_constants_create(cal_device_plan* own, const cal_layout* layout, cal_layout* copy) {
    const size_t columns = (size_t)layout->column_count;
    size_t blocks = 0;
    for (size_t i = 0; i < columns; i++) {
        const size_t end = layout->columns[i].constants / A_BLOCK + (size_t)layout->columns[i].block_count;
        if (end > blocks) blocks = end;
    }
    packing p = {.layout = layout, .plain = blocks * A_BLOCK};
    const size_t most = p.plain + (blocks / WIDTH + 1) * A_BLOCK;
    cal_column* moved = cal_allocate(columns + 1, sizeof *moved);
    p.place = cal_allocate(blocks + 1, sizeof *p.place);
    p.all = cal_allocate(most, sizeof *p.all);
    if (moved && p.place && p.all) {
        memcpy(moved, layout->columns, columns * sizeof *moved);
        memcpy(p.all, layout->constants, p.plain * sizeof *p.all);
        for (size_t i = 0; i < blocks; i++) p.place[i] = NONE;
        for (size_t i = 0; i < columns; i++) pack(&p, &moved[i]);
        copy->columns = cal_device_copy(own->device, &own->memory, moved, columns * sizeof *moved);
        copy->constants = cal_device_copy(own->device, &own->memory, p.all, most * sizeof *p.all);
        (void)cal_device_wait(own->device); // both go
    } else {
        own->memory.failed = true;
    }
    cal_free(moved);
    cal_free(p.place);
    cal_free(p.all);
}
