// What benchmarks share: medians, and what they ran on.
#pragma once
#include <stddef.h>

// The middle one of the values, which are sorted.
double cal_median(double* values, int count);
// The processor's name, "unknown" where the system does not tell; returns the text.
const char* cal_processor_name(char* text, size_t capacity);
const char* cal_compiler_name(void);
int cal_core_count(void); // that this process may use
