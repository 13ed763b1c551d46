// What a fuzz target is: libFuzzer calls it with bytes, and so does replay.c with every file of a corpus.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count);

// Gives the library so many bytes of memory in all, so that inputs which ask for more than anybody has are refused, as they are
// without memory. Every block must have been given back when it is called again.
void fuzz_limit_memory(size_t bytes);
// A copy with a zero behind it, and none inside: it ends at the first one. To be freed with free.
char* fuzz_text(const uint8_t* bytes, size_t count);
// Writes bytes to a file of this process alone, and returns its path.
const char* fuzz_file(const uint8_t* bytes, size_t count);
// Whether a text has a number above `most`, or one with an exponent: what it asks for might take longer than a fuzzer waits.
bool fuzz_is_large(const char* text, double most);
// Sends what the command says nowhere.
void fuzz_silence(void);
