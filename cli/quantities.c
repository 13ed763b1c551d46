// Durations and lists of processors.
#include "quantities.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char* name;
    double seconds;
} units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"µs", 1e-6}, {"μs", 1e-6}, {"ns", 1e-9}};

enum { UNIT_COUNT = sizeof units / sizeof *units, MOST_PROCESSORS = 1000000 };

bool cal_duration_parse(const char* text, double* seconds) {
    char* end;
    const double number = strtod(text, &end);
    if (end == text || !isfinite(number) || number < 0) return false;
    while (*end == ' ') end++;
    for (int i = 0; i < UNIT_COUNT; i++) {
        if (strcmp(end, units[i].name) != 0) continue;
        *seconds = number * units[i].seconds;
        return true;
    }
    return false;
}

const char* cal_duration_text(double seconds, char* text, size_t capacity) {
    const char* const names[] = {"s", "ms", "µs", "ns"};
    int i = 0;
    double number = seconds;
    for (; i < 3 && number < 0.9995; i++) number *= 1e3;
    snprintf(text, capacity, "%.4g %s", seconds > 0 ? number : 0, seconds > 0 ? names[i] : "s");
    return text;
}

static bool parse_count(const char** text, int least, int* out) {
    if (**text < '0' || **text > '9') return false;
    char* end;
    const long number = strtol(*text, &end, 10);
    *text = end;
    *out = (int)number;
    return number >= least && number <= MOST_PROCESSORS;
}

int cal_processors_parse(const char* text, int** out) {
    int* list = NULL;
    int count = 0;
    for (int last = 0;;) {
        int first, end;
        if (!parse_count(&text, last + 1, &first)) break;
        end = first;
        if (strncmp(text, "..", 2) == 0) {
            text += 2;
            if (!parse_count(&text, first, &end)) break;
        }
        int* longer = realloc(list, (size_t)(count + end - first + 1) * sizeof *list);
        if (!longer) break;
        list = longer;
        for (int i = first; i <= end; i++) list[count++] = i;
        last = end;
        if (*text == '\0') {
            *out = list;
            return count;
        }
        if (*text++ != ',') break;
    }
    free(list);
    *out = NULL;
    return 0;
}
