// expat's events into a tree.
#include "read/xml.h"
#include "base/memory.h"
#include "base/number_text.h"
#include <expat.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALLEST_BLOCK = 4 << 10, LARGEST_BLOCK = 1 << 20, CHUNK = 1 << 20, SHOWN_PATH = 80 };

// Memory is taken in blocks that double in size, and given back all at once.
typedef struct block {
    struct block* next;
    size_t size, used; // of the bytes behind this record
} block;

struct cal_xml_document {
    block* blocks; // the newest first
    const char* file;
    cal_xml_node* root;
};

typedef struct parsing {
    XML_Parser parser;
    cal_xml_document* document;
    cal_xml_node* open; // innermost element whose end was not seen yet
    int depth, nodes, line_offset;
    char* text; // character data since the last tag
    size_t text_size, text_capacity;
    cal_status status;
    cal_error* error;
} parsing;

// --- Memory -------------------------------------------------------------------------------------------------------------

static const size_t record_size = (sizeof(block) + 15) & ~(size_t)15;

void* cal_xml_allocate(cal_xml_document* document, size_t count, size_t size) {
    if (size != 0 && count > (SIZE_MAX / 2) / size) return NULL;
    const size_t wanted = (count * size + 15) & ~(size_t)15;
    block* newest = document->blocks;
    if (newest == NULL || newest->size - newest->used < wanted) {
        size_t room = newest == NULL ? SMALLEST_BLOCK : newest->size < LARGEST_BLOCK ? 2 * newest->size : LARGEST_BLOCK;
        if (room < wanted) room = wanted;
        block* fresh = cal_allocate(1, record_size + room);
        if (fresh == NULL) return NULL;
        *fresh = (block){newest, room, 0};
        document->blocks = newest = fresh;
    }
    char* memory = (char*)newest + record_size + newest->used;
    newest->used += wanted;
    return memory;
}

static const char* copy_bytes(cal_xml_document* document, const char* bytes, size_t size) {
    char* copy = cal_xml_allocate(document, size + 1, 1);
    if (copy != NULL) memcpy(copy, bytes, size);
    return copy;
}

const char* cal_xml_copy(cal_xml_document* document, const char* text) {
    return copy_bytes(document, text, strlen(text));
}

void cal_xml_destroy(cal_xml_document* document) {
    if (document == NULL) return;
    for (block* b = document->blocks; b != NULL;) {
        block* next = b->next;
        cal_free(b);
        b = next;
    }
    cal_free(document);
}

cal_xml_node* cal_xml_root(const cal_xml_document* document) { return document->root; }

// --- Parsing ------------------------------------------------------------------------------------------------------------

static void append(cal_xml_node* parent, cal_xml_node* node) {
    node->parent = parent;
    if (parent == NULL) return;
    if (parent->last == NULL)
        parent->first = node;
    else
        parent->last->next = node;
    parent->last = node;
}

static int line_of(const parsing* p) {
    const XML_Size line = XML_GetCurrentLineNumber(p->parser);
    return (line > INT_MAX / 2 ? INT_MAX / 2 : (int)line) + p->line_offset;
}

// A path whose beginning is left out when it is long: the end says more.
static const char* shown(const char* path, const char** dots) {
    const size_t length = strlen(path);
    *dots = length > SHOWN_PATH ? "…" : "";
    return length > SHOWN_PATH ? path + (length - SHOWN_PATH) : path;
}

static void stop(parsing* p, cal_status status, const char* why) {
    if (p->status == CAL_OK) {
        const char* dots;
        const char* file = shown(p->document->file, &dots);
        p->status = cal_fail(p->error, status, "%s%s:%d: %s", dots, file, line_of(p), why);
    }
    XML_StopParser(p->parser, XML_FALSE);
}

static bool copy_attributes(parsing* p, cal_xml_node* node, const char** pairs) {
    int count = 0;
    while (pairs[2 * count] != NULL) count++;
    node->attributes = cal_xml_allocate(p->document, (size_t)count, sizeof *node->attributes);
    if (node->attributes == NULL) return false;
    node->attribute_count = count;
    for (int i = 0; i < count; i++) {
        cal_xml_attribute* attribute = &node->attributes[i];
        attribute->name = cal_xml_copy(p->document, pairs[2 * i]);
        attribute->value = cal_xml_copy(p->document, pairs[2 * i + 1]);
        if (attribute->name == NULL || attribute->value == NULL) return false;
    }
    return true;
}

static void XMLCALL start_element(void* user, const char* name, const char** pairs) {
    parsing* p = user;
    if (p->status != CAL_OK) return;
    p->text_size = 0;
    if (p->depth >= CAL_XML_DEEPEST) {
        stop(p, CAL_BAD_MODEL, "elements are nested more than 100000 deep");
        return;
    }
    if (p->nodes >= CAL_XML_MOST) {
        stop(p, CAL_BAD_MODEL, "more than 8 million elements");
        return;
    }
    cal_xml_node* node = cal_xml_allocate(p->document, 1, sizeof *node);
    if (node != NULL) {
        *node = (cal_xml_node){
            .name = cal_xml_copy(p->document, name), .file = p->document->file, .line = line_of(p), .text = ""};
    }
    if (node == NULL || node->name == NULL || !copy_attributes(p, node, pairs)) {
        stop(p, CAL_NO_MEMORY, "out of memory");
        return;
    }
    append(p->open, node);
    if (p->document->root == NULL) p->document->root = node;
    p->open = node;
    p->depth++;
    p->nodes++;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static void XMLCALL end_element(void* user, const char* name) {
    (void)name;
    parsing* p = user;
    if (p->status != CAL_OK) return;
    const char* text = p->text;
    size_t size = p->text_size;
    while (size > 0 && is_blank(text[size - 1])) size--;
    while (size > 0 && is_blank(*text)) text++, size--;
    if (size > 0 && p->open->first == NULL) {
        p->open->text = copy_bytes(p->document, text, size);
        if (p->open->text == NULL) stop(p, CAL_NO_MEMORY, "out of memory");
    }
    p->text_size = 0;
    p->open = p->open->parent;
    p->depth--;
}

static void XMLCALL character_data(void* user, const char* text, int length) {
    parsing* p = user;
    if (p->status != CAL_OK) return;
    const size_t wanted = p->text_size + (size_t)length;
    if (wanted > p->text_capacity) {
        const size_t capacity = wanted < 256 ? 256 : 2 * wanted;
        char* grown = cal_allocate(capacity, 1);
        if (grown == NULL) {
            stop(p, CAL_NO_MEMORY, "out of memory");
            return;
        }
        if (p->text_size > 0) memcpy(grown, p->text, p->text_size);
        cal_free(p->text);
        p->text = grown;
        p->text_capacity = capacity;
    }
    memcpy(p->text + p->text_size, text, (size_t)length);
    p->text_size = wanted;
}

static void XMLCALL entity_declaration(void* user, const char* name, int is_parameter, const char* value, int length,
                                       const char* base, const char* system, const char* public, const char* notation) {
    (void)name, (void)is_parameter, (void)value, (void)length, (void)base, (void)system, (void)public, (void)notation;
    stop(user, CAL_BAD_MODEL, "the file declares entities of its own; write their texts out");
}

static void run(parsing* p, const char* bytes, size_t size) {
    XML_SetUserData(p->parser, p);
    XML_SetElementHandler(p->parser, start_element, end_element);
    XML_SetCharacterDataHandler(p->parser, character_data);
    XML_SetEntityDeclHandler(p->parser, entity_declaration);
    for (size_t done = 0, step; p->status == CAL_OK; done += step) {
        step = size - done < CHUNK ? size - done : CHUNK;
        const bool last = done + step == size;
        const enum XML_Status parsed = XML_Parse(p->parser, bytes + done, (int)step, last);
        if (parsed != XML_STATUS_OK && p->status == CAL_OK) {
            const enum XML_Error code = XML_GetErrorCode(p->parser);
            char why[120];
            snprintf(why, sizeof why, "this is not XML: %s", XML_ErrorString(code));
            stop(p, code == XML_ERROR_NO_MEMORY ? CAL_NO_MEMORY : CAL_BAD_MODEL, why);
        }
        if (last) break;
    }
}

cal_status cal_xml_parse(const char* bytes, size_t size, const char* file, cal_xml_document** out, cal_error* error) {
    const char* dots;
    const char* short_file = shown(file, &dots);
    *out = NULL;
    if (size > CAL_XML_LARGEST)
        return cal_fail(error, CAL_BAD_MODEL, "%s%s: %zu MB are too many; a model file has 128 at most", dots,
                        short_file, size >> 20);
    parsing p = {.error = error};
    if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) bytes += 3, size -= 3;
    while (size > 0 && is_blank(*bytes)) {
        p.line_offset += *bytes == '\n';
        bytes++, size--;
    }
    const bool wide = size >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0);
    while (!wide && size > 0 && bytes[size - 1] == '\0') size--;
    if (size == 0) return cal_fail(error, CAL_BAD_MODEL, "%s%s:1: the file is empty", dots, short_file);
    p.document = cal_allocate(1, sizeof *p.document);
    p.parser = p.document != NULL ? XML_ParserCreate(NULL) : NULL;
    if (p.parser != NULL) p.document->file = cal_xml_copy(p.document, file);
    if (p.parser == NULL || p.document->file == NULL)
        p.status = cal_fail(error, CAL_NO_MEMORY, "%s%s: out of memory", dots, short_file);
    else
        run(&p, bytes, size);
    if (p.parser != NULL) XML_ParserFree(p.parser);
    cal_free(p.text);
    if (p.status != CAL_OK) {
        cal_xml_destroy(p.document);
        return p.status;
    }
    *out = p.document;
    return CAL_OK;
}

// --- Asking -------------------------------------------------------------------------------------------------------------

bool cal_xml_is(const cal_xml_node* node, const char* name) { return strcmp(node->name, name) == 0; }

static cal_xml_node* first_named(cal_xml_node* node, const char* name) {
    while (node != NULL && name != NULL && strcmp(node->name, name) != 0) node = node->next;
    return node;
}

cal_xml_node* cal_xml_child(const cal_xml_node* node, const char* name) { return first_named(node->first, name); }
cal_xml_node* cal_xml_next(const cal_xml_node* node, const char* name) { return first_named(node->next, name); }

const char* cal_xml_text(cal_xml_node* node, const char* name) {
    for (int i = 0; i < node->attribute_count; i++)
        if (strcmp(node->attributes[i].name, name) == 0) {
            node->attributes[i].used = true;
            return node->attributes[i].value;
        }
    return NULL;
}

const cal_xml_attribute* cal_xml_next_unused(const cal_xml_node* node, int* index) {
    while (*index < node->attribute_count) {
        const cal_xml_attribute* attribute = &node->attributes[(*index)++];
        if (!attribute->used) return attribute;
    }
    return NULL;
}

cal_status cal_xml_numbers(cal_xml_node* node, const char* name, int least, int most, double* out, int* count,
                           cal_error* error) {
    if (count != NULL) *count = 0;
    const char* text = cal_xml_text(node, name);
    if (text == NULL) return CAL_OK;
    double few[16];
    double* values = most <= 16 ? few : out; // so that out stays as it was on an error
    const int found = cal_read_numbers(text, most, values);
    if (found < 0) return cal_xml_fail(node, error, CAL_BAD_MODEL, "%s=\"%.40s\" is not made of numbers", name, text);
    if (found == 0) return CAL_OK; // nothing but blanks
    if (found < least || found > most) {
        if (least == most)
            return cal_xml_fail(node, error, CAL_BAD_MODEL, "%s has %d numbers, but needs %d", name, found, least);
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "%s has %d numbers, but needs %d to %d", name, found, least,
                            most);
    }
    if (values == few) memcpy(out, few, (size_t)found * sizeof *out);
    if (count != NULL) *count = found;
    return CAL_OK;
}

cal_status cal_xml_number(cal_xml_node* node, const char* name, double* out, cal_error* error) {
    return cal_xml_numbers(node, name, 1, 1, out, NULL, error);
}

// --- Numbers ------------------------------------------------------------------------------------------------------------

static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// What strtod says of a token of `length` bytes.
static bool long_way(const char* token, size_t length, double* out) {
    char copy[600], *end;
    if (length >= sizeof copy) return false;
    memcpy(copy, token, length);
    copy[length] = '\0';
    *out = cal_number_from_text(copy, &end);
    return *end == '\0';
}

// Letters of "inf" and "infinity", which stand for limits that are none.
static bool is_infinity(const char* text, size_t length) {
    static const char word[] = "infinity";
    if (length != 3 && length != 8) return false;
    for (size_t i = 0; i < length; i++)
        if ((text[i] | 32) != word[i]) return false;
    return true;
}

bool cal_read_number(const char** text, double* out) {
    const char* start = *text;
    const char* p = start;
    const bool negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    uint64_t mantissa = 0;
    int digits = 0, significant = 0, exponent = 0;
    bool fraction = false;
    for (;; p++) {
        if (*p == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (!is_digit(*p)) break;
        digits++;
        if (significant > 0 || *p != '0') significant++;
        if (significant <= 19) mantissa = 10 * mantissa + (uint64_t)(*p - '0');
        if (fraction) exponent--;
    }
    if (digits == 0) {
        size_t length = 0;
        while (p[length] != '\0' && !is_blank(p[length])) length++;
        if (!is_infinity(p, length)) return false;
        *out = negative ? -HUGE_VAL : HUGE_VAL;
        *text = p + length;
        return true;
    }
    if ((*p == 'e' || *p == 'E') && (is_digit(p[1]) || ((p[1] == '-' || p[1] == '+') && is_digit(p[2])))) {
        const bool down = p[1] == '-';
        int power = 0;
        for (p += is_digit(p[1]) ? 1 : 2; is_digit(*p); p++)
            if (power < 100000) power = 10 * power + (*p - '0');
        exponent += down ? -power : power;
    }
    // Both exact, so that one operation rounds correctly (Clinger 1990).
    if (significant <= 19 && mantissa <= (UINT64_C(1) << 53) && exponent >= -22 && exponent <= 22) {
        const double value = (double)mantissa;
        const double scaled = exponent < 0 ? value / powers[-exponent] : value * powers[exponent];
        *out = negative ? -scaled : scaled;
    } else if (!long_way(start, (size_t)(p - start), out)) {
        return false;
    }
    *text = p;
    return true;
}

int cal_read_numbers(const char* text, int most, double* out) {
    int count = 0;
    for (;;) {
        while (is_blank(*text)) text++;
        if (*text == '\0') return count;
        double value;
        if (!cal_read_number(&text, &value) || !(is_blank(*text) || *text == '\0') || count == INT_MAX) return -1;
        if (count < most) out[count] = value;
        count++;
    }
}

// --- Complaints ---------------------------------------------------------------------------------------------------------

void cal_xml_explain(const cal_xml_node* node, cal_error* error, cal_status status, const char* format, ...) {
    char text[256];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (node == NULL) {
        cal_explain(error, status, "%s", text);
        return;
    }
    const char *dots, *file = shown(node->file, &dots), *name = NULL;
    for (int i = 0; i < node->attribute_count && name == NULL; i++)
        if (strcmp(node->attributes[i].name, "name") == 0) name = node->attributes[i].value;
    if (name != NULL)
        cal_explain(error, status, "%s%s:%d: <%.30s name=\"%.40s\">: %s", dots, file, node->line, node->name, name,
                    text);
    else
        cal_explain(error, status, "%s%s:%d: <%.30s>: %s", dots, file, node->line, node->name, text);
}
