#include "change.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PLACES = 4096, LONGEST = 512 };

size_t fuzz_below(fuzz_random* random, size_t n) {
    random->state = random->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return n > 0 ? (size_t)(random->state >> 33) % n : 0;
}

size_t fuzz_number(fuzz_random* random, char* out, size_t room) {
    static const char* const ordinary[] = {"0",    "1",    "-1", "0.5", "0.1",  "2",
                                           "0.01", "-0.3", "3",  "10",  "1e-3", "1.5707963267948966"};
    static const char* const far[] = {"1e-6",       "1e6",        "1e-9",  "1e9",    "1e-20", "1e20",
                                      "1e-300",     "1e300",      "1e308", "-1e308", "nan",   "-inf",
                                      "2147483647", "4294967296", "-0",    "5e-324"};
    const size_t kind = fuzz_below(random, 8);
    int length;
    if (kind < 4)
        length = snprintf(out, room, "%s", ordinary[fuzz_below(random, sizeof ordinary / sizeof ordinary[0])]);
    else if (kind < 7)
        length = snprintf(out, room, "%.3g", ((double)fuzz_below(random, 2001) - 1000) / 500);
    else
        length = snprintf(out, room, "%s", far[fuzz_below(random, sizeof far / sizeof far[0])]);
    return (size_t)length;
}

// A run of bytes in a text.
typedef struct place {
    size_t at, count;
} place;

typedef struct text {
    char* bytes;
    size_t count, room;
    fuzz_random random;
} text;

static size_t below(text* t, size_t n) { return fuzz_below(&t->random, n); }

// Puts bytes in the place of others; where there is no room nothing changes.
static void replace(text* t, place p, const char* bytes, size_t count) {
    if (t->count - p.count + count > t->room) return;
    memmove(t->bytes + p.at + count, t->bytes + p.at + p.count, t->count - p.at - p.count);
    memcpy(t->bytes + p.at, bytes, count);
    t->count = t->count - p.count + count;
}

static bool is_name_letter(char c) { return isalnum((unsigned char)c) || c == '_' || c == '-' || c == ':' || c == '.'; }

// What there is of one kind, of which one is taken at random.
typedef struct places {
    place all[MOST_PLACES];
    size_t count;
} places;

static void note(places* list, size_t at, size_t count) {
    if (list->count < MOST_PLACES) list->all[list->count++] = (place){at, count};
}

static const place* any(text* t, const places* list) {
    return list->count > 0 ? &list->all[below(t, list->count)] : NULL;
}

// Whole attributes with the blank before them, their names, what is between the quotes, and values that others refer to.
typedef struct found {
    places attributes, keys, values, names, tags;
} found;

static void find_attributes(const text* t, size_t at, size_t end, found* f) {
    while (at < end) {
        while (at < end && !is_name_letter(t->bytes[at])) at++;
        const size_t key = at;
        while (at < end && is_name_letter(t->bytes[at])) at++;
        const size_t key_end = at;
        if (at + 1 >= end || t->bytes[at] != '=' || (t->bytes[at + 1] != '"' && t->bytes[at + 1] != '\'')) continue;
        const char quote = t->bytes[at + 1];
        const size_t value = at + 2;
        for (at = value; at < end && t->bytes[at] != quote;) at++;
        note(&f->keys, key, key_end - key);
        note(&f->values, value, at - value);
        if (key_end - key == 4 && memcmp(t->bytes + key, "name", 4) == 0) note(&f->names, value, at - value);
        if (at < end) note(&f->attributes, key, at + 1 - key);
        at++;
    }
}

static void find(const text* t, found* f) {
    f->attributes.count = f->keys.count = f->values.count = f->names.count = f->tags.count = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (t->bytes[i] != '<') continue;
        size_t end = i;
        while (end < t->count && t->bytes[end] != '>') end++;
        note(&f->tags, i, (end < t->count ? end + 1 : end) - i);
        if (i + 1 < t->count && t->bytes[i + 1] != '/') find_attributes(t, i + 1, end, f);
        i = end;
    }
}

// The element that begins with this tag, with all that is in it.
static place whole_element(const text* t, const found* f, size_t tag) {
    int depth = 0;
    for (size_t i = tag; i < f->tags.count; i++) {
        const place p = f->tags.all[i];
        const bool closes = p.count > 1 && t->bytes[p.at + 1] == '/',
                   empty = p.count > 2 && t->bytes[p.at + p.count - 2] == '/';
        depth += closes ? -1 : !empty;
        if (depth <= 0) return (place){f->tags.all[tag].at, p.at + p.count - f->tags.all[tag].at};
    }
    return f->tags.all[tag];
}

static size_t list_length(const char* const* list) {
    size_t n = 0;
    while (list[n] != NULL) n++;
    return n;
}

static const char* any_of(text* t, const char* const* list) { return list[below(t, list_length(list))]; }

// A value: a number or some, a name of the file, a word of the format, or what another attribute has.
static size_t make_value(text* t, const found* f, const fuzz_format* format, char* out) {
    const size_t kind = below(t, 8);
    const place* other = kind == 0 ? any(t, &f->names) : kind == 1 ? any(t, &f->values) : NULL;
    size_t count = 0;
    if (other != NULL && other->count < LONGEST) {
        memcpy(out, t->bytes + other->at, other->count);
        return other->count;
    }
    if (kind == 2) return (size_t)snprintf(out, LONGEST, "%s", any_of(t, format->words));
    static const size_t lengths[] = {1, 1, 2, 3, 3, 4, 6, 7};
    for (size_t k = lengths[below(t, 8)]; k > 0; k--) {
        count += fuzz_number(&t->random, out + count, LONGEST - count);
        if (k > 1) out[count++] = ' ';
    }
    return count;
}

// One of the numbers in a value becomes another one, or so many times as large.
static void change_number(text* t, place value) {
    size_t starts[64], n = 0;
    for (size_t i = value.at; i < value.at + value.count && n < 64; i++)
        if (!isspace((unsigned char)t->bytes[i]) && (i == value.at || isspace((unsigned char)t->bytes[i - 1])))
            starts[n++] = i;
    if (n == 0) return;
    place p = {starts[below(t, n)], 0};
    while (p.at + p.count < value.at + value.count && !isspace((unsigned char)t->bytes[p.at + p.count])) p.count++;
    char number[64] = "", made[64];
    memcpy(number, t->bytes + p.at, p.count < 63 ? p.count : 63);
    char* end;
    const double old = strtod(number, &end);
    static const double factors[] = {-1, 0.5, 2, 0.1, 10, 0.9, 1.1, 1e-3, 1e3, 1e-6, 1e6, 0};
    size_t length;
    if (end != number && below(t, 4) != 0)
        length =
            (size_t)snprintf(made, sizeof made, "%.17g", old * factors[below(t, sizeof factors / sizeof factors[0])]);
    else
        length = fuzz_number(&t->random, made, sizeof made);
    replace(t, p, made, length);
}

// An element of the format's list, its names and numbers filled in.
static size_t make_element(text* t, const found* f, const fuzz_format* format, char* out, size_t room) {
    size_t count = 0;
    for (const char* c = any_of(t, format->elements); *c != '\0' && count + 256 < room; c++) {
        if (*c != '%') {
            out[count++] = *c;
            continue;
        }
        const place* name = any(t, &f->names);
        switch (*++c) {
        case 'n':
            if (name == NULL || name->count > 100) break;
            memcpy(out + count, t->bytes + name->at, name->count);
            count += name->count;
            break;
        case 'v':
            for (int k = 0; k < 3; k++) {
                count += fuzz_number(&t->random, out + count, 64);
                if (k < 2) out[count++] = ' ';
            }
            break;
        default: count += fuzz_number(&t->random, out + count, 64);
        }
    }
    return count;
}

static void change_once(text* t, const fuzz_format* format) {
    static found f;
    static char made[1 << 16];
    find(t, &f);
    const place* p;
    size_t length;
    switch (below(t, 12)) {
    case 0:
    case 1:
    case 2:
    case 3: // a number
        if ((p = any(t, &f.values)) != NULL) change_number(t, *p);
        break;
    case 4: // a value
        if ((p = any(t, &f.values)) == NULL) break;
        length = make_value(t, &f, format, made);
        replace(t, *p, made, length);
        break;
    case 5: // another attribute with the same value
        if ((p = any(t, &f.keys)) == NULL) break;
        length = (size_t)snprintf(made, LONGEST, "%s", any_of(t, format->attributes));
        replace(t, *p, made, length);
        break;
    case 6: // one more attribute
        if ((p = any(t, &f.attributes)) == NULL) break;
        length = (size_t)snprintf(made, LONGEST, "%s=\"", any_of(t, format->attributes));
        length += make_value(t, &f, format, made + length);
        made[length++] = '"';
        made[length++] = ' ';
        replace(t, (place){p->at, 0}, made, length);
        break;
    case 7: // without one
        if ((p = any(t, &f.attributes)) != NULL) replace(t, *p, "", 0);
        break;
    case 8: // without an element
        if (f.tags.count > 0) replace(t, whole_element(t, &f, below(t, f.tags.count)), "", 0);
        break;
    case 9: // an element once more, somewhere else
        if (f.tags.count == 0) break;
        place from = whole_element(t, &f, below(t, f.tags.count));
        if (from.count > sizeof made) break;
        memcpy(made, t->bytes + from.at, from.count);
        replace(t, (place){any(t, &f.tags)->at, 0}, made, from.count);
        break;
    default: // a new one, before a tag
        if (f.tags.count == 0) break;
        length = make_element(t, &f, format, made, sizeof made);
        replace(t, (place){any(t, &f.tags)->at, 0}, made, length);
    }
}

size_t fuzz_change_xml(uint8_t* bytes, size_t count, size_t room, unsigned seed, const fuzz_format* format) {
    text t = {.bytes = (char*)bytes, .count = count, .room = room, .random = {seed}};
    if (count == 0 || below(&t, 8) == 0) return LLVMFuzzerMutate(bytes, count, room);
    for (size_t k = 1 + below(&t, 4); k > 0; k--) change_once(&t, format);
    return t.count;
}

size_t fuzz_change_list(uint8_t* bytes, size_t count, size_t room, unsigned seed, const char* separators,
                        const char* const* words) {
    text t = {.bytes = (char*)bytes, .count = count, .room = room, .random = {seed}};
    if (count == 0 || below(&t, 6) == 0) return LLVMFuzzerMutate(bytes, count, room);
    for (size_t k = 1 + below(&t, 3); k > 0 && t.count > 0; k--) {
        static places found_words;
        found_words.count = 0;
        for (size_t i = 0, from = 0; i <= t.count; i++) {
            if (i < t.count && (t.bytes[i] == '\0' || strchr(separators, t.bytes[i]) == NULL)) continue;
            note(&found_words, from, i - from);
            from = i + 1;
        }
        const place p = *any(&t, &found_words);
        char made[LONGEST];
        const size_t kind = below(&t, 8);
        size_t length = kind < 3 ? fuzz_number(&t.random, made, sizeof made)
                                 : (size_t)snprintf(made, sizeof made, "%s", any_of(&t, words));
        if (kind == 7) { // left out, with its separator
            replace(&t, (place){p.at, p.at + p.count < t.count ? p.count + 1 : p.count}, "", 0);
        } else if (kind >= 5) { // put in
            made[length++] = separators[below(&t, strlen(separators))];
            replace(&t, (place){p.at, 0}, made, length);
        } else
            replace(&t, p, made, length);
    }
    return t.count;
}
