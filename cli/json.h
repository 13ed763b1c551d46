// A small writer of JSON: keeps track of commas and nesting, escapes texts, writes numbers that read back to the same bits.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cal_json {
    FILE* file;
    int depth;
    bool empty; // nothing written since the last opening bracket
} cal_json;

// key is NULL inside arrays and for the outermost value.
void cal_json_open(cal_json* json, const char* key, char bracket); // '{' or '['
void cal_json_close(cal_json* json, char bracket);                 // '}' or ']'; ends the line after the outermost one
void cal_json_text(cal_json* json, const char* key, const char* text);
void cal_json_number(cal_json* json, const char* key, double number); // null when it is not finite
void cal_json_integer(cal_json* json, const char* key, int64_t number);
void cal_json_boolean(cal_json* json, const char* key, bool value);
void cal_json_numbers(cal_json* json, const char* key, const double* numbers, size_t count);
void cal_json_hash(cal_json* json, const char* key, uint64_t hash); // a text of 16 hexadecimal digits
