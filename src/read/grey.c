// See grey.h. Rows of a PNG file have a byte that names a filter, and then each byte less a prediction from its neighbours: what is left (a), above (b),
// and above that one (c).
#include "read/grey.h"

#include "base/memory.h"
#include "model/png.h"
#include "read/inflate.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNATURE = 8, AROUND = 12 };

typedef struct picture {
    int width, height, depth, kind;
    const uint8_t* palette;
    size_t palette_size, packed_size;
} picture;

static uint32_t read_word(const uint8_t* at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

// The file is whole (cal_png_trouble). Packed pixels of all chunks go to `packed`, where that is not NULL.
static void read_chunks(const uint8_t* bytes, size_t size, picture* p, uint8_t* packed) {
    p->packed_size = 0;
    for (size_t at = SIGNATURE; at + AROUND <= size;) {
        const size_t length = read_word(bytes + at);
        const uint8_t *name = bytes + at + 4, *data = name + 4;
        if (memcmp(name, "PLTE", 4) == 0) p->palette = data, p->palette_size = length;
        if (memcmp(name, "IDAT", 4) == 0) {
            if (packed != NULL) memcpy(packed + p->packed_size, data, length);
            p->packed_size += length;
        }
        if (memcmp(name, "IEND", 4) == 0) return;
        at += AROUND + length;
    }
}

static int predict(int filter, int a, int b, int c) {
    if (filter == 1) return a;
    if (filter == 2) return b;
    if (filter == 3) return (a + b) / 2;
    if (filter != 4) return 0;
    const int p = a + b - c, pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);
    return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

static bool undo_filters(uint8_t* raw, size_t row, int rows, size_t pixel) {
    for (int y = 0; y < rows; y++) {
        uint8_t *here = raw + (size_t)y * (row + 1) + 1, *above = y > 0 ? here - (row + 1) : NULL;
        const int filter = here[-1];
        if (filter > 4) return false;
        for (size_t i = 0; i < row; i++) {
            const int a = i >= pixel ? here[i - pixel] : 0, b = above != NULL ? above[i] : 0;
            const int c = i >= pixel && above != NULL ? above[i - pixel] : 0;
            here[i] = (uint8_t)(here[i] + predict(filter, a, b, c));
        }
    }
    return true;
}

static int level_at(const picture* p, const uint8_t* row, int x, int channels) {
    if (p->depth >= 8) {
        const int value = row[(size_t)x * (size_t)channels * (size_t)(p->depth / 8)];
        return p->kind != 3 ? value : 3 * (size_t)value < p->palette_size ? p->palette[3 * value] : 0;
    }
    const int most = (1 << p->depth) - 1, per_byte = 8 / p->depth;
    const int value = row[x / per_byte] >> (8 - p->depth * (x % per_byte + 1)) & most;
    if (p->kind == 3) return 3 * (size_t)value < p->palette_size ? p->palette[3 * value] : 0;
    return value * 255 / most;
}

const char* cal_png_grey(const uint8_t* bytes, size_t size, int64_t most, int* width, int* height, uint8_t** levels) {
    static const int channels_of[7] = {1, 0, 3, 1, 2, 0, 4};
    const char* trouble = cal_png_trouble(bytes, size);
    if (trouble != NULL) return trouble;
    const uint8_t* head = bytes + SIGNATURE + 8;
    picture p = {.width = (int)read_word(head), .height = (int)read_word(head + 4), .depth = head[8], .kind = head[9]};
    if (head[12] != 0) return "its picture is interlaced, which is not read";
    if ((int64_t)p.width * p.height > most) return "its picture has too many pixels";
    const int channels = channels_of[p.kind];
    const size_t row = ((size_t)p.width * (size_t)channels * (size_t)p.depth + 7) / 8;
    const size_t pixel = (size_t)channels * (size_t)p.depth < 8 ? 1 : (size_t)channels * (size_t)p.depth / 8;
    const size_t count = (row + 1) * (size_t)p.height;
    read_chunks(bytes, size, &p, NULL);
    uint8_t *packed = cal_allocate(p.packed_size + 1, 1), *raw = cal_allocate(count, 1);
    uint8_t* out = cal_allocate((size_t)p.width * (size_t)p.height, 1);
    if (packed == NULL || raw == NULL || out == NULL)
        trouble = "there is no memory for its picture";
    else {
        read_chunks(bytes, size, &p, packed);
        trouble = cal_inflate(packed, p.packed_size, raw, count);
    }
    if (trouble == NULL && !undo_filters(raw, row, p.height, pixel))
        trouble = "its pixels have a filter that there is not";
    for (int y = 0; trouble == NULL && y < p.height; y++)
        for (int x = 0; x < p.width; x++)
            out[(size_t)y * (size_t)p.width + (size_t)x] =
                (uint8_t)level_at(&p, raw + (size_t)y * (row + 1) + 1, x, channels);
    cal_free(packed);
    cal_free(raw);
    *width = p.width, *height = p.height;
    if (trouble == NULL)
        *levels = out;
    else
        cal_free(out);
    return trouble;
}
