// A file of words of 8 bytes, little-endian, whole or not there:
//
//     magic │ words … │ checksum over all bytes before it
//
// A new file is written beside the old one and renamed over it when it is whole and on the disk. Where memory is not
// shared, all processors make the same calls: processor 0 alone has the file, the others are told what it read.
#pragma once
#include "machine/machine.h"
#include <stdio.h>

enum { CAL_WORD = 8 };
#define CAL_FROM_FILE "'%.100s' "

typedef struct cal_words {
    cal_machine* machine;
    const char* path;
    char* partial; // the file's name while it is written
    FILE* file;    // NULL: another processor's, or it could not be opened
    bool writes;
    uint64_t checksum;
    int problem;       // errno of the first failure of the file
    cal_status status; // of the machine
} cal_words;

// Begins a file; a failure is told by cal_words_close. path must outlive it.
void cal_words_create(cal_words* words, const char* path, cal_machine* machine);
// Opens a file that is whole, at its first word; otherwise there is nothing to close.
cal_status cal_words_open(cal_words* words, const char* path, cal_machine* machine, cal_error* error);
// Writes or reads `count` words. Reading to NULL drops them, so that a processor without memory keeps step with the others.
void cal_words_move(cal_words* words, void* memory, size_t count);
// Whether everything went well so far, on all processors.
cal_status cal_words_check(cal_words* words, cal_error* error);
// Ends the file. On an error a file that was there before is untouched.
cal_status cal_words_close(cal_words* words, cal_error* error);
