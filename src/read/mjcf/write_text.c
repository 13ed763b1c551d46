// Elements and attributes as text (write_text.h).
#define _POSIX_C_SOURCE 200809L
#include "read/mjcf/write_text.h"
#include "base/beside.h"
#include "base/memory.h"
#include "calder/calder_record.h"
#include <errno.h>
#include <string.h>

// Deeper elements are not moved further to the right: the blanks of a long chain would outweigh its bodies.
enum { DEEPEST_INDENT = 20 };

static void note_problem(cal_text* text) {
    if (text->problem == 0) text->problem = errno != 0 ? errno : EIO;
}

void cal_text_create(cal_text* text, const char* path) {
    *text = (cal_text){.path = path};
    text->file = cal_beside_open(path, &text->partial);
    if (text->file == NULL) note_problem(text);
}

cal_status cal_text_complete(cal_text* text, cal_error* error) {
    if (text->file != NULL) {
        errno = cal_beside_complete(text->file, text->partial, false);
        if (errno != 0) note_problem(text);
    }
    text->file = NULL;
    return text->problem == 0 ? CAL_OK : cal_fail_write(error, text->path, text->problem);
}

cal_status cal_text_place(cal_text* text, bool keep, cal_error* error) {
    const int problem = cal_beside_place(text->path, text->partial, keep, false);
    text->partial = NULL;
    return problem == 0 ? CAL_OK : cal_fail_write(error, text->path, problem);
}

void cal_text_bytes(cal_text* text, const void* bytes, size_t count) {
    if (text->problem != 0 || count == 0) return;
    errno = 0;
    if (fwrite(bytes, 1, count, text->file) != count) note_problem(text);
}

static void put(cal_text* text, const char* characters) { cal_text_bytes(text, characters, strlen(characters)); }

static void indent(cal_text* text) {
    for (int i = 0; i < text->depth && i < DEEPEST_INDENT; i++) put(text, "  ");
}

void cal_text_start(cal_text* text, const char* element) {
    if (text->open) put(text, ">\n");
    indent(text);
    put(text, "<");
    put(text, element);
    text->open = true;
    text->depth++;
}

void cal_text_end(cal_text* text, const char* element) {
    text->depth--;
    if (text->open)
        put(text, "/>\n");
    else {
        indent(text);
        put(text, "</");
        put(text, element);
        put(text, ">\n");
    }
    text->open = false;
}

static void put_escaped(cal_text* text, const char* value) {
    for (const char* p = value; *p != '\0'; p++) switch (*p) {
        case '&': put(text, "&amp;"); break;
        case '<': put(text, "&lt;"); break;
        case '>': put(text, "&gt;"); break;
        case '"': put(text, "&quot;"); break;
        case '\t': put(text, "&#9;"); break;
        case '\n': put(text, "&#10;"); break;
        case '\r': put(text, "&#13;"); break;
        default: cal_text_bytes(text, p, 1);
        }
}

void cal_text_word(cal_text* text, const char* name, const char* value) {
    put(text, " ");
    put(text, name);
    put(text, "=\"");
    put_escaped(text, value);
    put(text, "\"");
}

void cal_text_numbers(cal_text* text, const char* name, const double* values, int count) {
    char number[CAL_NUMBER_CAPACITY];
    put(text, " ");
    put(text, name);
    put(text, "=\"");
    for (int i = 0; i < count; i++) {
        if (i > 0) put(text, " ");
        put(text, cal_number_text(values[i] + 0.0, number));
    }
    put(text, "\"");
}

void cal_text_number(cal_text* text, const char* name, double value) { cal_text_numbers(text, name, &value, 1); }

void cal_text_unless(cal_text* text, const char* name, const double* values, int count, double usual) {
    for (int i = 0; i < count; i++)
        if (values[i] != usual) {
            cal_text_numbers(text, name, values, count);
            return;
        }
}

// How many bytes follow the first one of a character, -1 when none may begin with it.
static int bytes_after(unsigned char first) {
    if (first < 0x80) return 0;
    if (first >= 0xc2 && first < 0xe0) return 1;
    if (first >= 0xe0 && first < 0xf0) return 2;
    return first >= 0xf0 && first < 0xf5 ? 3 : -1;
}

bool cal_text_can_hold(const char* name) {
    for (const unsigned char* p = (const unsigned char*)name; *p != '\0'; p++) {
        if (*p < 0x20 && *p != '\t' && *p != '\n' && *p != '\r') return false;
        const unsigned char first = *p;
        int after = bytes_after(first);
        if (after < 0) return false;
        for (int i = 0; i < after; i++) {
            p++;
            // Not overlong, no halves of surrogates, nothing beyond the last character, not U+FFFE and U+FFFF.
            const unsigned char least = i > 0 ? 0x80 : first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
            const unsigned char most = i > 0 ? 0xbf : first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
            if (*p < least || *p > most) return false;
            if (first == 0xef && i == 1 && p[-1] == 0xbf && *p >= 0xbe) return false;
        }
    }
    return true;
}
