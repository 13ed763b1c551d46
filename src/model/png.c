// PNG files (png.h): a signature, then chunks.
//
//     length │ name │ bytes │ CRC of name and bytes        IHDR first, IDAT: a zlib stream, IEND last
//
// A zlib stream may consist of stored blocks of up to 65535 bytes: that is what is written here.
#include "model/png.h"
#include "base/memory.h"
#include <stdbool.h>
#include <string.h>

static const uint8_t SIGNATURE[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
enum { HEAD = 13, AROUND = 12, BLOCK = 65535, BLOCK_HEAD = 5 };

static uint32_t read_word(const uint8_t* at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void write_word(uint8_t* at, uint32_t value) {
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (24 - 8 * i));
}

static uint32_t find_crc(const uint8_t* bytes, size_t count) {
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; k++) crc = crc & 1 ? 0xedb88320u ^ crc >> 1 : crc >> 1;
    }
    return ~crc;
}

static const char* head_trouble(const uint8_t* head) {
    const uint32_t width = read_word(head), height = read_word(head + 4);
    if (width == 0 || height == 0 || width > CAL_PNG_SIDE || height > CAL_PNG_SIDE)
        return "its picture has no pixels, or more than 16384 a side";
    const int depth = head[8], kind = head[9];
    const bool deep = depth == 8 || depth == 16, shallow = depth == 1 || depth == 2 || depth == 4;
    const bool fits = kind == 0   ? deep || shallow
                      : kind == 3 ? depth == 8 || shallow
                                  : (kind == 2 || kind == 4 || kind == 6) && deep;
    return fits && head[10] == 0 && head[11] == 0 && head[12] <= 1 ? NULL : "its picture is of no kind that PNG has";
}

const char* cal_png_trouble(const uint8_t* bytes, size_t size) {
    if (bytes == NULL || size < sizeof SIGNATURE || memcmp(bytes, SIGNATURE, sizeof SIGNATURE) != 0)
        return "it is no PNG file";
    bool pixels = false;
    size_t at = sizeof SIGNATURE;
    for (int chunk = 0;; chunk++) {
        if (size - at < AROUND) return "its file is cut off";
        const size_t length = read_word(bytes + at);
        if (length > size - at - AROUND) return "its file is cut off";
        const uint8_t* name = bytes + at + 4;
        if (read_word(name + 4 + length) != find_crc(name, length + 4))
            return "its file is damaged: a checksum is wrong";
        const bool head = memcmp(name, "IHDR", 4) == 0;
        if (head != (chunk == 0) || (head && length != HEAD)) return "its file does not begin with one header";
        const char* why = head ? head_trouble(name + 4) : NULL;
        if (why != NULL) return why;
        if (memcmp(name, "IDAT", 4) == 0 && length > 0) pixels = true;
        at += AROUND + length;
        if (memcmp(name, "IEND", 4) == 0) break;
    }
    return pixels ? NULL : "its file has no pixels";
}

static uint8_t* put_chunk(uint8_t* at, const char* name, size_t length) {
    write_word(at, (uint32_t)length);
    memcpy(at + 4, name, 4);
    write_word(at + 8 + length, find_crc(at + 4, length + 4));
    return at + AROUND + length;
}

// A zlib stream of stored blocks; room: 2 + 5 per block + count + 4.
static void pack(const uint8_t* raw, size_t count, uint8_t* out) {
    uint32_t a = 1, b = 0;
    *out++ = 0x78, *out++ = 0x01;
    for (size_t i = 0; i < count; i++) a = (a + raw[i]) % 65521, b = (b + a) % 65521;
    for (size_t from = 0; from < count; from += BLOCK) {
        const size_t length = count - from < BLOCK ? count - from : BLOCK;
        *out++ = from + length == count;
        *out++ = (uint8_t)length, *out++ = (uint8_t)(length >> 8);
        *out++ = (uint8_t)~length, *out++ = (uint8_t)(~length >> 8);
        memcpy(out, raw + from, length);
        out += length;
    }
    write_word(out, b << 16 | a);
}

uint8_t* cal_png_make(const uint8_t* pixels, int width, int height, size_t* size) {
    const size_t row = 1 + 3 * (size_t)width, count = row * (size_t)height;
    const size_t packed = 2 + (count + BLOCK - 1) / BLOCK * BLOCK_HEAD + count + 4;
    uint8_t* raw = cal_allocate(count, 1);
    *size = sizeof SIGNATURE + 3 * AROUND + HEAD + packed;
    uint8_t* out = cal_allocate(*size, 1);
    if (raw != NULL && out != NULL) {
        for (int i = 0; i < height; i++) // each row begins with its filter: none
            memcpy(raw + (size_t)i * row + 1, pixels + 3 * (size_t)width * (size_t)i, 3 * (size_t)width);
        memcpy(out, SIGNATURE, sizeof SIGNATURE);
        uint8_t* at = out + sizeof SIGNATURE;
        const uint8_t kind[5] = {8, 2, 0, 0, 0};
        write_word(at + 8, (uint32_t)width);
        write_word(at + 12, (uint32_t)height);
        memcpy(at + 16, kind, sizeof kind);
        at = put_chunk(at, "IHDR", HEAD);
        pack(raw, count, at + 8);
        at = put_chunk(at, "IDAT", packed);
        put_chunk(at, "IEND", 0);
    } else {
        cal_free(out);
        out = NULL;
    }
    cal_free(raw);
    return out;
}
