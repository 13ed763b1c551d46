// Deflated bytes (RFC 1951) in zlib's wrapping (RFC 1950), as PNG files have them.
#pragma once
#include <stddef.h>
#include <stdint.h>

// NULL: exactly `out_size` bytes were unpacked; otherwise what is wrong. Reads nothing beyond `size`, writes nothing beyond `out_size`.
const char* cal_inflate(const uint8_t* bytes, size_t size, uint8_t* out, size_t out_size);
