// What a fuzz target is: libFuzzer calls it with bytes, and so does replay.c with every file of a corpus.
#pragma once
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count);
