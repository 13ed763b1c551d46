// Images: the numbers of a state as a row of words of 8 bytes, to be kept in memory or written to a file.
//
// One function per structure moves it in both directions, so that what is written is what is read: into the image while it
// `writes`, out of it otherwise. After a failure nothing is moved any more; whoever reads lists looks at the status before
// using them.
#pragma once
#include "base/error.h"

typedef struct cal_image {
    uint64_t* words;
    size_t count, capacity;
    size_t at; // the next word to be read
    bool writes;
    cal_status status; // CAL_NO_MEMORY; CAL_BAD_ARGUMENT: the words are not those of an image
} cal_image;

bool cal_image_reserve(cal_image* image, size_t count); // room for so many words in all; false: no memory
void cal_image_words(cal_image* image, void* words, size_t count);
void cal_image_numbers(cal_image* image, double* numbers, size_t count);
void cal_image_number(cal_image* image, double* number);
void cal_image_long(cal_image* image, int64_t* number);
void cal_image_int(cal_image* image, int* number);
void cal_image_ints(cal_image* image, int* numbers, size_t count);
void cal_image_bool(cal_image* image, bool* value);
// How many there are of something of which each takes a word or more: reading, that many words must be left.
void cal_image_count(cal_image* image, int* count);
// A count, and when reading memory for so many of a size, at least `least`; *capacity (may be NULL) is for how many. False:
// there is no list to move.
bool cal_image_list(cal_image* image, void** list, int* count, int* capacity, int least, size_t size);
// Whether what was read makes sense; else the image is not one.
bool cal_image_check(cal_image* image, bool sound);
void cal_image_free(cal_image* image);
