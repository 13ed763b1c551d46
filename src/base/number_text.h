// Numbers as text with a point for the fraction, whatever locale the host program has chosen.
#pragma once
#include "base/parts.h"
#include <stdbool.h>
#include <stdio.h>

// Puts a point in place of the locale's, which may have several bytes, in the text of one number.
void cal_put_point(char* text);
// As many numbers with so many digits, and commas between them; 0 for what is not finite.
CAL_FOR_PARTS void cal_write_numbers(FILE* file, int digits, const double* values, int count);
CAL_FOR_PARTS void cal_write_number(FILE* file, int digits, double value);
// The fewest digits, from `least` to `most` (1 to 17), that read back to a number; `most` of them where none does: as "%.*g" writes these in the C locale, in at
// most 24 bytes. False: only printf knows, as of numbers below 1e-11 and beyond 1e15.
CAL_FOR_PARTS bool cal_exact_text(double value, int least, int most, char* text);
// As strtod in the C locale.
double cal_number_from_text(const char* text, char** end);
