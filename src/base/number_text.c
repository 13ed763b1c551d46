// Numbers as text with a point for the fraction. printf and strtod have the locale's, and a library must not change that of its host.
#include "base/number_text.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void cal_put_point(char* text) {
    char* end = text;
    for (const char* p = text; *p != '\0'; p++) {
        const bool plain = (*p >= '0' && *p <= '9') || *p == '-' || *p == '+' || *p == 'e';
        if (plain)
            *end++ = *p;
        else if (end == text || end[-1] != '.')
            *end++ = '.';
    }
    *end = '\0';
}

void cal_write_number(FILE* file, int digits, double value) {
    char text[64];
    snprintf(text, sizeof text, "%.*g", digits, isfinite(value) ? value : 0.0);
    cal_put_point(text);
    fputs(text, file);
}

void cal_write_numbers(FILE* file, int digits, const double* values, int count) {
    for (int i = 0; i < count; i++) {
        if (i > 0) fputc(',', file);
        cal_write_number(file, digits, values[i]);
    }
}

double cal_number_from_text(const char* text, char** end) {
    enum { LONGEST = 600 };
    const char* point = localeconv()->decimal_point;
    if (strcmp(point, ".") == 0) return strtod(text, end);
    // The number's own characters, with the locale's point in place of ours. What has the locale's point itself ends there.
    char copy[LONGEST], *stop;
    const size_t length = strlen(point);
    size_t used = 0, before = 0, after = 0; // of copy; in front of the point
    bool has_point = false;
    for (const char* p = text; *p != '\0' && used + length + 1 < sizeof copy; p++) {
        if (!has_point && *p == '.') {
            before = used;
            memcpy(copy + used, point, length);
            used += length;
            after = used;
            has_point = true;
        } else if (*p == point[0] || *p == '.')
            break;
        else
            copy[used++] = *p;
    }
    copy[used] = '\0';
    const double value = strtod(copy, &stop);
    size_t taken = (size_t)(stop - copy);
    if (has_point && taken > before) taken = taken >= after ? taken - length + 1 : before;
    if (end != NULL) *end = (char*)(uintptr_t)(text + taken);
    return value;
}
