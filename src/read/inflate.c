// See inflate.h. A stream is blocks: stored bytes, or symbols of Huffman codes.
//
//     symbol   0 … 255 a byte, 256 the end of the block, 257 … 285 a length, after which comes a distance
//     code     canonical: symbols of one length follow each other, so counts of lengths and the sorted symbols are all of it
#include "read/inflate.h"

#include <stdbool.h>
#include <string.h>

enum { LONGEST = 15, SYMBOLS = 288, DISTANCES = 30, ORDER = 19 };

typedef struct stream {
    const uint8_t *at, *end;
    uint32_t held; // bits that are read and not used, the next one lowest
    int held_count;
    uint8_t* out;
    size_t written, room;
    const char* trouble; // the first
} stream;

typedef struct code {
    uint16_t count[LONGEST + 1], symbol[SYMBOLS];
} code;

static uint32_t take(stream* s, int count) {
    while (s->held_count < count) {
        if (s->at == s->end) {
            s->trouble = "its pixels are cut off";
            return 0;
        }
        s->held |= (uint32_t)*s->at++ << s->held_count;
        s->held_count += 8;
    }
    const uint32_t value = s->held & ((1u << count) - 1);
    s->held >>= count;
    s->held_count -= count;
    return value;
}

static void put(stream* s, uint8_t byte) {
    if (s->written == s->room)
        s->trouble = "it has more pixels than it says";
    else
        s->out[s->written++] = byte;
}

// False: more codes of some length than there can be, or fewer than there must be (one single code is allowed).
static bool make_code(code* c, const uint8_t* lengths, int count) {
    uint16_t next[LONGEST + 1];
    int left = 1, used = 0;
    memset(c->count, 0, sizeof c->count);
    for (int i = 0; i < count; i++) c->count[lengths[i]]++;
    used = count - c->count[0];
    c->count[0] = 0;
    next[1] = 0;
    for (int length = 1; length <= LONGEST; length++) {
        left = 2 * left - c->count[length];
        if (left < 0) return false;
        if (length < LONGEST) next[length + 1] = (uint16_t)(next[length] + c->count[length]);
    }
    for (int i = 0; i < count; i++)
        if (lengths[i] != 0) c->symbol[next[lengths[i]]++] = (uint16_t)i;
    return left == 0 || used <= 1;
}

static int decode(stream* s, const code* c) {
    int value = 0, first = 0, index = 0;
    for (int length = 1; length <= LONGEST && s->trouble == NULL; length++) {
        value |= (int)take(s, 1);
        const int count = c->count[length];
        if (value - first < count) return c->symbol[index + value - first];
        index += count;
        first = 2 * (first + count);
        value *= 2;
    }
    if (s->trouble == NULL) s->trouble = "its pixels are damaged: a code that there is not";
    return -1;
}

static void copy_back(stream* s, int symbol, const code* distances) {
    static const uint16_t length_base[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                             31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t length_bits[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                            2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const uint16_t distance_base[DISTANCES] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                                      33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                                      1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    const int which = symbol - 257;
    if (which >= 29) {
        s->trouble = "its pixels are damaged: a length that there is not";
        return;
    }
    const int length = length_base[which] + (int)take(s, length_bits[which]);
    const int far = decode(s, distances);
    if (far < 0) return;
    if (far >= DISTANCES) {
        s->trouble = "its pixels are damaged: a distance that there is not";
        return;
    }
    const size_t distance = distance_base[far] + take(s, far < 2 ? 0 : far / 2 - 1);
    if (distance > s->written) {
        s->trouble = "its pixels are damaged: a distance beyond the start";
        return;
    }
    for (int i = 0; i < length && s->trouble == NULL; i++) put(s, s->out[s->written - distance]);
}

static void read_symbols(stream* s, const code* lengths, const code* distances) {
    while (s->trouble == NULL) {
        const int symbol = decode(s, lengths);
        if (symbol < 0 || symbol == 256) return;
        if (symbol < 256)
            put(s, (uint8_t)symbol);
        else
            copy_back(s, symbol, distances);
    }
}

static void read_stored(stream* s) {
    s->held = 0, s->held_count = 0; // what is left of the byte
    if (s->end - s->at < 4) {
        s->trouble = "its pixels are cut off";
        return;
    }
    const size_t length = s->at[0] | (size_t)s->at[1] << 8, check = s->at[2] | (size_t)s->at[3] << 8;
    s->at += 4;
    if ((length ^ check) != 0xffff || length > (size_t)(s->end - s->at) || length > s->room - s->written) {
        s->trouble = "its pixels are damaged: a block of wrong length";
        return;
    }
    if (length > 0) memcpy(s->out + s->written, s->at, length);
    s->at += length;
    s->written += length;
}

static void read_fixed(stream* s) {
    uint8_t lengths[SYMBOLS];
    code symbols, distances;
    for (int i = 0; i < SYMBOLS; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    make_code(&symbols, lengths, SYMBOLS);
    memset(lengths, 5, 32);
    make_code(&distances, lengths, 32);
    read_symbols(s, &symbols, &distances);
}

// The lengths of both codes come as symbols of a third one, with repetitions.
static void read_dynamic(stream* s) {
    static const uint8_t order[ORDER] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[SYMBOLS + 32] = {0};
    code symbols, distances;
    const int symbol_count = 257 + (int)take(s, 5), distance_count = 1 + (int)take(s, 5), count = 4 + (int)take(s, 4);
    for (int i = 0; i < count; i++) lengths[order[i]] = (uint8_t)take(s, 3);
    bool fine =
        s->trouble == NULL && symbol_count <= 286 && distance_count <= DISTANCES && make_code(&symbols, lengths, ORDER);
    memset(lengths, 0, ORDER);
    for (int at = 0; fine && at < symbol_count + distance_count;) {
        const int symbol = decode(s, &symbols);
        if (symbol < 0) return;
        const int repeat = symbol < 16    ? 1
                           : symbol == 16 ? 3 + (int)take(s, 2)
                           : symbol == 17 ? 3 + (int)take(s, 3)
                                          : 11 + (int)take(s, 7);
        fine = at + repeat <= symbol_count + distance_count && (symbol != 16 || at > 0);
        const uint8_t length = symbol < 16 ? (uint8_t)symbol : symbol == 16 && at > 0 ? lengths[at - 1] : 0;
        for (int i = 0; fine && i < repeat; i++) lengths[at++] = length;
    }
    fine = fine && lengths[256] != 0 && make_code(&symbols, lengths, symbol_count) &&
           make_code(&distances, lengths + symbol_count, distance_count);
    if (fine)
        read_symbols(s, &symbols, &distances);
    else if (s->trouble == NULL)
        s->trouble = "its pixels are damaged: no code";
}

const char* cal_inflate(const uint8_t* bytes, size_t size, uint8_t* out, size_t out_size) {
    if (size < 6 || (bytes[0] & 15) != 8 || (256 * bytes[0] + bytes[1]) % 31 != 0 || (bytes[1] & 32) != 0)
        return "its pixels are packed in no way that PNG has";
    stream s = {.at = bytes + 2, .end = bytes + size, .out = out, .room = out_size};
    for (bool last = false; !last && s.trouble == NULL;) {
        last = take(&s, 1) == 1;
        const uint32_t kind = take(&s, 2);
        if (s.trouble != NULL) break;
        if (kind == 0)
            read_stored(&s);
        else if (kind == 1)
            read_fixed(&s);
        else if (kind == 2)
            read_dynamic(&s);
        else
            s.trouble = "its pixels are damaged: a block of no kind";
    }
    if (s.trouble != NULL) return s.trouble;
    if (s.written != out_size) return "it has fewer pixels than it says";
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < out_size; i++) a = (a + out[i]) % 65521, b = (b + a) % 65521;
    uint32_t sum = 0;
    s.held = 0, s.held_count = 0;
    for (int i = 0; i < 4; i++) sum = sum << 8 | take(&s, 8);
    return s.trouble != NULL ? s.trouble : sum != (b << 16 | a) ? "its pixels are damaged: a checksum is wrong" : NULL;
}
