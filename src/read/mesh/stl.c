// STL files, binary and text.
//
// A binary file is 80 bytes of anything, the number of triangles, and 50 bytes a triangle: normal and corners as single
// precision, little endian, and two bytes of attributes. Many of them begin with "solid", as texts do; so what counts first is
// whether the size fits the number. Normals are not used: corners say which side is outside.
#include "read/mesh/mesh_build.h"
#include "read/xml.h"
#include <string.h>

enum { HEADER = 84, RECORD = 50 };

static uint32_t word_at(const unsigned char* p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static double float_at(const unsigned char* p) {
    union {
        uint32_t bits;
        float value;
    } word = {word_at(p)};
    return (double)word.value;
}

static cal_status parse_binary(cal_mesh_build* build, const unsigned char* bytes, size_t count) {
    const uint32_t triangles = word_at(bytes + 80);
    const size_t whole = (count - HEADER) / RECORD;
    if (triangles > whole)
        return cal_mesh_complain(build, CAL_BAD_MODEL, 0,
                                 "it announces %u triangles but has bytes for %zu only: the file is cut off, or no STL",
                                 (unsigned)triangles, whole);
    if (triangles == 0) return cal_mesh_complain(build, CAL_BAD_MODEL, 0, "it has no triangles");
    for (uint32_t t = 0; t < triangles; t++) {
        const unsigned char* record = bytes + HEADER + (size_t)t * RECORD;
        int corners[3];
        for (size_t k = 0; k < 3; k++) {
            double point[3];
            for (size_t i = 0; i < 3; i++) point[i] = float_at(record + 12 + 12 * k + 4 * i);
            corners[k] = cal_mesh_add_vertex(build, point, "triangle", t);
            if (corners[k] < 0) return build->status;
        }
        if (!cal_mesh_add_triangle(build, corners[0], corners[1], corners[2])) return build->status;
    }
    return CAL_OK;
}

// --- Text ---------------------------------------------------------------------------------------------------------------

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f'; }

typedef struct cursor {
    const char* at;
    size_t line;
} cursor;

static void skip_blanks(cursor* c) {
    for (; is_blank(*c->at); c->at++) c->line += *c->at == '\n';
}

static void skip_line(cursor* c) {
    while (*c->at != '\0' && *c->at != '\n') c->at++;
}

// The length of the word at the cursor.
static size_t word_length(const cursor* c) {
    size_t length = 0;
    while (c->at[length] != '\0' && !is_blank(c->at[length])) length++;
    return length;
}

static bool word_is(const cursor* c, size_t length, const char* word) {
    if (length != strlen(word)) return false;
    for (size_t i = 0; i < length; i++) {
        const char p = c->at[i];
        if ((p >= 'A' && p <= 'Z' ? p - 'A' + 'a' : p) != word[i]) return false;
    }
    return true;
}

static cal_status read_vertex(cal_mesh_build* build, cursor* c, int* out) {
    double point[3];
    for (int i = 0; i < 3; i++) {
        skip_blanks(c);
        if (!cal_read_number(&c->at, &point[i]) || !(is_blank(*c->at) || *c->at == '\0'))
            return cal_mesh_complain(build, CAL_BAD_MODEL, c->line, "a vertex needs three numbers, not '%.*s'",
                                     (int)(word_length(c) > 20 ? 20 : word_length(c)), c->at);
    }
    *out = cal_mesh_add_vertex(build, point, "line", c->line);
    return *out < 0 ? build->status : CAL_OK;
}

static cal_status parse_words(cal_mesh_build* build, const char* text) {
    cursor c = {text, 1};
    int first = -1, last = -1, corners = 0;
    bool open = false;
    for (skip_blanks(&c); *c.at != '\0'; skip_blanks(&c)) {
        const size_t length = word_length(&c);
        if (word_is(&c, length, "vertex")) {
            int vertex = -1;
            c.at += length;
            const cal_status status = read_vertex(build, &c, &vertex);
            if (status != CAL_OK) return status;
            // Loops of more than three corners are against the rules, and exist.
            if (corners >= 2 && !cal_mesh_add_triangle(build, first, last, vertex)) return build->status;
            if (corners == 0) first = vertex;
            last = vertex;
            corners++;
        } else if (word_is(&c, length, "endloop")) {
            if (corners < 3)
                return cal_mesh_complain(build, CAL_BAD_MODEL, c.line, "a triangle with %d corners", corners);
            corners = 0;
            c.at += length;
        } else if (word_is(&c, length, "solid") || word_is(&c, length, "endsolid")) {
            open = *c.at == 's' || *c.at == 'S';
            skip_line(&c);
        } else if (word_is(&c, length, "facet"))
            skip_line(&c);
        else if (word_is(&c, length, "outer") || word_is(&c, length, "loop") || word_is(&c, length, "endfacet"))
            c.at += length;
        else
            return cal_mesh_complain(build, CAL_BAD_MODEL, c.line, "'%.*s' has no meaning in an STL file",
                                     (int)(length > 20 ? 20 : length), c.at);
    }
    if (open || corners > 0)
        return cal_mesh_complain(build, CAL_BAD_MODEL, c.line, "the file is cut off: 'endsolid' is missing");
    if (build->mesh.triangle_count == 0) return cal_mesh_complain(build, CAL_BAD_MODEL, 0, "it has no triangles");
    return CAL_OK;
}

cal_status cal_mesh_parse_stl(cal_mesh_build* build, const char* bytes, size_t count) {
    const unsigned char* data = (const unsigned char*)bytes;
    if (count >= HEADER && count == HEADER + (size_t)word_at(data + 80) * RECORD)
        return parse_binary(build, data, count);
    cursor c = {bytes, 1};
    skip_blanks(&c);
    const bool text = word_is(&c, word_length(&c), "solid") && memchr(bytes, 0, count) == NULL;
    if (text) return parse_words(build, bytes);
    if (count < HEADER)
        return cal_mesh_complain(build, CAL_BAD_MODEL, 0, "%zu bytes are neither a text nor a binary STL file", count);
    return parse_binary(build, data, count);
}
