// A PNG file as grey levels, 0 … 255, row by row from its top.
#pragma once
#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

// Of a coloured picture its red, as MuJoCo has it for height fields; of 16 bits the upper 8. The caller frees *levels. NULL: it went well; otherwise what is
// wrong with the file. `most`: pixels that are allowed.
const char* cal_png_grey(const uint8_t* bytes, size_t size, int64_t most, int* width, int* height, uint8_t** levels);
