// XML as a small tree of our own that remembers files and lines; the readers see nothing else of expat.
//
// Everything (nodes, names, values) lives in the document's own blocks of memory and is freed with it at once. Nodes of one
// document may be linked below those of another (include): keep both until the end.
//
// What a document may cost is bounded: its size, its depth and its number of nodes. A DOCTYPE is skipped; entities of one's
// own, which can grow without bounds, are refused. Tolerated, because files that people have contain it: a byte-order mark,
// blanks before the declaration, NUL bytes after the end.
#pragma once
#include "base/error.h"

enum {
    CAL_XML_LARGEST = 128 << 20, // bytes
    CAL_XML_DEEPEST = 100000,    // elements in elements: do not recurse along children
    CAL_XML_MOST = 8000000       // elements
};

typedef struct cal_xml_attribute {
    const char* name;
    const char* value;
    bool used; // somebody asked for it (cal_xml_find, cal_xml_text and on); see cal_xml_next_unused
} cal_xml_attribute;

typedef struct cal_xml_node {
    const char* name;
    const char* file; // as the user knows it
    int line;
    int attribute_count;
    cal_xml_attribute* attributes;
    const char* text; // between its tags, without blanks at both ends; "" when it has children
    struct cal_xml_node *parent, *first, *last, *next; // children are first, first->next, … last
    bool used, linked;                                 // for readers that tick off what they understood
} cal_xml_node;

typedef struct cal_xml_document cal_xml_document;

// Parses `size` bytes; `file` is the name for complaints. The root of a document that parsed is never NULL.
cal_status cal_xml_parse(const char* bytes, size_t size, const char* file, cal_xml_document** out, cal_error* error);
void cal_xml_destroy(cal_xml_document* document); // NULL is allowed
cal_xml_node* cal_xml_root(const cal_xml_document* document);

// Memory, zeroed, that lives as long as the document; NULL when there is none.
void* cal_xml_allocate(cal_xml_document* document, size_t count, size_t size);
// A copy of a text that lives as long as the document; NULL when there is no memory.
const char* cal_xml_copy(cal_xml_document* document, const char* text);

// Whether the element has this name.
bool cal_xml_is(const cal_xml_node* node, const char* name);
// The first child of this name, and the next sibling of this name; NULL when there is none. name NULL: any.
cal_xml_node* cal_xml_child(const cal_xml_node* node, const char* name);
cal_xml_node* cal_xml_next(const cal_xml_node* node, const char* name);

// An attribute's text, NULL when it is not there. Marks it as used.
const char* cal_xml_text(cal_xml_node* node, const char* name);
// An attribute's numbers: at least `least`, at most `most` of them, into out; *count (may be NULL) says how many, 0 when the
// attribute is not there or blank, and then out stays as it was. Infinite numbers are allowed, NaN is not.
cal_status cal_xml_numbers(cal_xml_node* node, const char* name, int least, int most, double* out, int* count,
                           cal_error* error);
// Exactly one number; out stays as it was when the attribute is not there.
cal_status cal_xml_number(cal_xml_node* node, const char* name, double* out, cal_error* error);
// The next attribute at or after *index that nobody asked for; NULL when there is none. Advances *index.
const cal_xml_attribute* cal_xml_next_unused(const cal_xml_node* node, int* index);

// Numbers of a text separated by blanks: writes at most `most`; returns how many the text has, or -1 when something in it is no
// number. The point is a point whatever the locale says, and the result is correctly rounded.
int cal_read_numbers(const char* text, int most, double* out);
// The number at *text, and moves past it; false (and *text stays) when there is none.
bool cal_read_number(const char** text, double* out);

// Fills in error with `FILE:LINE: <element name="…">: …`; cal_xml_fail is the same as a value.
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
void cal_xml_explain(const cal_xml_node* node, cal_error* error, cal_status status, const char* format, ...);
#define cal_xml_fail(node, error, status, ...)                                                                         \
    (cal_xml_explain((node), (error), (status), __VA_ARGS__), (cal_status)(status))
