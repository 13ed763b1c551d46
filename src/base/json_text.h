// Texts and numbers as JSON.
#pragma once
#include "base/parts.h"
#include <stdio.h>

// A JSON text with its quotes; it may stand inside a page's script element.
CAL_FOR_PARTS void cal_write_json_text(FILE* file, const char* text);
// ,"key":[…] with seven digits; 0 for what is not finite.
void cal_write_json_numbers(FILE* file, const char* key, const double* values, int count);
