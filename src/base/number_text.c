// Numbers as text with a point for the fraction. printf and strtod have the locale's, and a library must not change that of its host.
#include "base/number_text.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

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

// By a locale of the thread's own: the program's may be changed by another thread at any time.
double cal_number_from_text(const char* text, char** end) {
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(plain);
    const double value = strtod(text, end);
    uselocale(before);
    if (plain != (locale_t)0) freelocale(plain);
    return value;
}
