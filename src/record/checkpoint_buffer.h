// A file of words of 8 bytes, little-endian, whole or not there:
//
//     magic │ words … │ checksum over all bytes before it
//
// The magic says on which kind of processor it was written; one of another kind says so, and does not read it.
//
// A new file is written beside the old one and renamed over it when it is whole and on the disk. Where memory is not
// shared, all processors make the same calls: processor 0 alone has the file, the others are told what it read.
#pragma once
#include "machine/machine.h"
#include <stdio.h>

enum { CAL_WORD = 8 };
// The first word of an ensemble's (ensemble_checkpoint.c).
#define CAL_ENSEMBLE_WORD "ensemble"
#define CAL_FROM_FILE "'%.100s' "

typedef struct cal_checkpoint_buffer {
    cal_machine* machine; // NULL: one processor
    const char* path;
    char* partial; // the file's name while it is written
    FILE* file;    // NULL: another processor's, or it could not be opened
    bool writes;
    uint64_t checksum;
    size_t
        left; // words of a file that is read, on all processors: what a file says of its own size is compared with it
    int problem;       // errno of the first failure of the file
    cal_status status; // of the machine
} cal_checkpoint_buffer;

// Begins a file; a failure is told by cal_checkpoint_buffer_close. path must outlive it.
void cal_checkpoint_buffer_create(cal_checkpoint_buffer* words, const char* path, cal_machine* machine);
// Opens a file that is whole, at its first word; otherwise there is nothing to close.
cal_status cal_checkpoint_buffer_open(cal_checkpoint_buffer* words, const char* path, cal_machine* machine,
                                      cal_error* error);
// Writes or reads `count` words. Reading to NULL drops them, so that a processor without memory keeps step with the others.
void cal_checkpoint_buffer_move(cal_checkpoint_buffer* words, void* memory, size_t count);
// Whether everything went well so far, on all processors.
cal_status cal_checkpoint_buffer_check(cal_checkpoint_buffer* words, cal_error* error);
// Ends the file. On an error a file that was there before is untouched.
cal_status cal_checkpoint_buffer_close(cal_checkpoint_buffer* words, cal_error* error);
