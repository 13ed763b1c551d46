// Texts and numbers as JSON.
#include "base/json_text.h"

#include "base/number_text.h"
#include "base/utf8.h"

void cal_write_json_text(FILE* file, const char* text) {
    fputc('"', file);
    while (*text) {
        const unsigned char c = (unsigned char)*text;
        const int size = cal_utf8_size(text);
        // "<" too: it could end a page's script.
        if (c == '"' || c == '\\' || c < ' ' || c == '<' || c == 127)
            fprintf(file, "\\u%04x", c);
        else if (size > 0)
            fwrite(text, 1, (size_t)size, file);
        else
            fputs("\\ufffd", file); // what is not UTF-8 would make all of it something else than JSON
        text += size > 0 ? size : 1;
    }
    fputc('"', file);
}

void cal_write_json_numbers(FILE* file, const char* key, const double* values, int count) {
    fprintf(file, ",\"%s\":[", key);
    cal_write_numbers(file, 7, values, count);
    fputc(']', file);
}
