// A small writer of JSON (RFC 8259).
#include "json.h"

#include <math.h>

#include "base/utf8.h"
#include "calder/calder_record.h"

static void write_text(FILE* file, const char* text) {
    fputc('"', file);
    while (*text) {
        const unsigned char c = (unsigned char)*text;
        const int size = cal_utf8_size(text);
        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c < ' ')
            fprintf(file, "\\u%04x", c);
        else if (size > 0)
            fwrite(text, 1, (size_t)size, file);
        else
            fputs("\\ufffd", file); // an argument of the command, or what is left of a name that was cut
        text += size > 0 ? size : 1;
    }
    fputc('"', file);
}

static void begin(cal_json* json, const char* key) {
    if (json->depth > 0 && !json->empty) fputs(", ", json->file);
    json->empty = false;
    if (!key) return;
    write_text(json->file, key);
    fputs(": ", json->file);
}

void cal_json_open(cal_json* json, const char* key, char bracket) {
    begin(json, key);
    fputc(bracket, json->file);
    json->depth++;
    json->empty = true;
}

void cal_json_close(cal_json* json, char bracket) {
    fputc(bracket, json->file);
    json->empty = false;
    if (--json->depth == 0) fputc('\n', json->file);
}

void cal_json_text(cal_json* json, const char* key, const char* text) {
    begin(json, key);
    write_text(json->file, text);
}

void cal_json_number(cal_json* json, const char* key, double number) {
    char text[CAL_NUMBER_CAPACITY];
    begin(json, key);
    fputs(isfinite(number) ? cal_number_text(number, text) : "null", json->file);
}

void cal_json_integer(cal_json* json, const char* key, int64_t number) {
    begin(json, key);
    fprintf(json->file, "%lld", (long long)number);
}

void cal_json_boolean(cal_json* json, const char* key, bool value) {
    begin(json, key);
    fputs(value ? "true" : "false", json->file);
}

void cal_json_numbers(cal_json* json, const char* key, const double* numbers, size_t count) {
    cal_json_open(json, key, '[');
    for (size_t i = 0; i < count; i++) cal_json_number(json, NULL, numbers[i]);
    cal_json_close(json, ']');
}

void cal_json_hash(cal_json* json, const char* key, uint64_t hash) {
    begin(json, key);
    fprintf(json->file, "\"%016llx\"", (unsigned long long)hash);
}
