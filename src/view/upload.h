// A folder with a model that somebody drops onto the page, file by file, into a private folder of this machine.
//
// A request's body is a path inside the folder, a newline, and the file. Paths have at most CAL_UPLOAD_PATH bytes and name plain
// files below: no "..", nothing hidden, no backslash or control character.
#pragma once
#include "calder/calder.h"
#include <stdio.h>

enum { CAL_UPLOAD_PATH = 255, CAL_UPLOAD_FILES = 4000, CAL_UPLOAD_BYTES = 512 << 20 };

// One file that is being received.
typedef struct cal_upload {
    char path[CAL_UPLOAD_PATH + 1];
    size_t length; // of the path so far
    bool named, failed;
    FILE* file;
} cal_upload;

// What a viewer has received in all.
typedef struct cal_upload_sum {
    const char* folder; // must exist; NULL: nothing is taken
    int files;
    size_t bytes;
} cal_upload_sum;

// Counts what is in the folder already, so that one viewer after the other takes no more than one would.
void cal_upload_measure(cal_upload_sum* sum);
// Whether a path is one that may be written or opened.
bool cal_upload_path_is_good(const char* path);
// The next bytes of a request.
void cal_upload_take(cal_upload* upload, cal_upload_sum* sum, const void* bytes, size_t size);
// Its end; whether the file is there.
bool cal_upload_end(cal_upload* upload);
