// Texts of the command line that are more than a number: durations with a unit, lists of processors.
#pragma once
#include "command.h"

// "0.4ms", "1.5 us", "20ns", "3s": seconds; false unless it is a number that is not negative with one of the units s, ms,
// us, µs and ns.
bool cal_duration_parse(const char* text, double* seconds);
// "1.5 ms" in a fitting unit; returns the text.
const char* cal_duration_text(double seconds, char* text, size_t capacity);

// "16", "1,2,4,8", "1..128", "1..8,16,32": whole numbers from 1, rising. Returns their number and allocates *out, to be
// freed with free; 0 when the text is something else or there is no memory.
int cal_processors_parse(const char* text, int** out);
