// Changes that know the form of what they change: an input that is only cut and bitten hardly gets past a parser. libFuzzer calls
// LLVMFuzzerCustomMutator of a target that has one, and so does replay.c; both have LLVMFuzzerMutate for the bytes themselves.
#pragma once
#include <stddef.h>
#include <stdint.h>

size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t count, size_t room, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t* bytes, size_t count, size_t room);

// What a format has: attributes, values that are words, and elements to put in, of which %n becomes a name of the file, %d a number and
// %v three numbers. Each ends with NULL.
typedef struct fuzz_format {
    const char* const* attributes;
    const char* const* words;
    const char* const* elements;
} fuzz_format;

// XML: numbers, names and words of attributes; attributes that are added, renamed, left out; elements that are put in, left out,
// copied elsewhere. Returns the new count, `room` at most.
size_t fuzz_change_xml(uint8_t* text, size_t count, size_t room, unsigned seed, const fuzz_format* format);
// A list with separators, as a specification or a command line is one: words of the list are replaced by others, left out, or put
// in; numbers are changed.
size_t fuzz_change_list(uint8_t* text, size_t count, size_t room, unsigned seed, const char* separators,
                        const char* const* words);

// For changes of a target's own: numbers that follow a seed.
typedef struct fuzz_random {
    uint64_t state;
} fuzz_random;
size_t fuzz_below(fuzz_random* random, size_t n); // 0 where n is 0
// A number as one writes it: of ordinary size mostly, sometimes without end, none, or at a limit. Returns its length.
size_t fuzz_number(fuzz_random* random, char* out, size_t room);
