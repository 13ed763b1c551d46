// Files that appear whole or not at all: written beside their place, renamed over it. What is at the place and no plain file (a device,
// a pipe) cannot be replaced, and is written as it is.
#pragma once
#include <stdbool.h>
#include <stdio.h>

// *partial: the name beside; NULL: the place itself is written. Returns NULL where it cannot be opened, and errno says why.
FILE* cal_beside_open(const char* path, char** partial);
// Closes the file, and where `keep` is true and nothing has failed puts it into its place; lasting: so that it outlives a power
// failure. Frees `partial`. Returns 0, or the errno of the first failure.
int cal_beside_close(FILE* file, const char* path, char* partial, bool keep, bool lasting);
// The same in two steps, for files that belong together: all are complete before the first one takes its place.
int cal_beside_complete(FILE* file, const char* partial, bool lasting);
int cal_beside_place(const char* path, char* partial, bool keep, bool lasting);
