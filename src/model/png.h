// PNG files (ISO/IEC 15948): whether bytes are one, and one of plain pixels. Nothing is unpacked: pages and viewers of glTF do that.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { CAL_PNG_SIDE = 16384 }; // pixels, at most

// NULL: the bytes are a whole PNG file; otherwise what is wrong with them.
const char* cal_png_trouble(const uint8_t* bytes, size_t size);
// A file of rows of red, green and blue bytes, from top to bottom, without compression. NULL: no memory; the caller frees it.
uint8_t* cal_png_make(const uint8_t* pixels, int width, int height, size_t* size);
