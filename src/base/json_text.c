// Texts and numbers as JSON.
#include "base/json_text.h"

#include "base/number_text.h"

void cal_write_json_text(FILE* file, const char* text) {
    fputc('"', file);
    for (const unsigned char* p = (const unsigned char*)text; *p; p++) {
        // "<" too: it could end a page's script.
        if (*p == '"' || *p == '\\' || *p < ' ' || *p == '<' || *p == 127)
            fprintf(file, "\\u%04x", *p);
        else
            fputc(*p, file);
    }
    fputc('"', file);
}

void cal_write_json_numbers(FILE* file, const char* key, const double* values, int count) {
    fprintf(file, ",\"%s\":[", key);
    cal_write_numbers(file, 7, values, count);
    fputc(']', file);
}
