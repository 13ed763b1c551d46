// XML as text into a file that is whole or not there.
//
// A file is written beside its place and renamed when it is complete. Problems are remembered and told at the end, so that
// whoever writes need not look at every call.
#pragma once
#include "base/error.h"
#include <stdio.h>

typedef struct cal_text {
    FILE* file;
    const char* path;
    char* partial; // the file's name while it is written
    int problem;   // errno of the first failure
    int depth;     // of open elements
    bool open;     // the last start tag waits for its end
} cal_text;

// Begins a file; path must outlive it.
void cal_text_create(cal_text* text, const char* path);
// Completes the file, beside its place; fails where something went wrong with it.
cal_status cal_text_complete(cal_text* text, cal_error* error);
// Then: renames it to its path, or takes it away.
cal_status cal_text_place(cal_text* text, bool keep, cal_error* error);

void cal_text_start(cal_text* text, const char* element); // <element
void cal_text_end(cal_text* text, const char* element);   // /> or </element>
// Attributes of the element that was started last. Numbers are written so that reading gives the same bits.
void cal_text_word(cal_text* text, const char* name, const char* value);
void cal_text_numbers(cal_text* text, const char* name, const double* values, int count);
void cal_text_number(cal_text* text, const char* name, double value);
// The same unless all of them are `usual`.
void cal_text_unless(cal_text* text, const char* name, const double* values, int count, double usual);
// Bytes as they are, for files that are no XML.
void cal_text_bytes(cal_text* text, const void* bytes, size_t count);

// Whether XML can hold a name: UTF-8 without control characters.
bool cal_text_can_hold(const char* name);
