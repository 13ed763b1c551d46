// Numbers as text with a point for the fraction, whatever locale the host program has chosen.
#pragma once
#include "base/parts.h"
#include <stdio.h>

// Puts a point in place of the locale's, which may have several bytes, in the text of one number.
void cal_put_point(char* text);
// As many numbers with so many digits, and commas between them; 0 for what is not finite.
CAL_FOR_PARTS void cal_write_numbers(FILE* file, int digits, const double* values, int count);
CAL_FOR_PARTS void cal_write_number(FILE* file, int digits, double value);
// As strtod in the C locale.
double cal_number_from_text(const char* text, char** end);
