// What benchmarks share.
#define _GNU_SOURCE
#include "timing.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_numbers(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

double cal_median(double* values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare_numbers);
    return values[count / 2];
}

const char* cal_processor_name(char* text, size_t capacity) {
    snprintf(text, capacity, "unknown");
    FILE* file = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        const char* colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        snprintf(text, capacity, "%s", colon + 2);
        text[strcspn(text, "\n")] = '\0';
        break;
    }
    if (file) fclose(file);
    return text;
}

const char* cal_compiler_name(void) {
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

int cal_core_count(void) {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}
