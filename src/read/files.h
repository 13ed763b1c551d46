// Which files a model may name, and their bytes.
//
// A model's own folder is its world: names that lead out of it, absolute or with "..", are refused unless the caller allows
// them, so that a file from a stranger cannot ask for /etc/passwd. Names are judged as they are written; a link that
// somebody put into the folder is followed.
#pragma once
#include "calder/calder_read.h"
#include "read/xml.h"

enum { CAL_PATH = 1024 };

typedef struct cal_files {
    const char* folder; // the model's; "" is the present one; NULL: the model is from memory and no folder was given
    bool allow_outside;
} cal_files;

// Joins folder and name (or takes an absolute name as it is), removes "." and "..", and checks that it stays inside
// files->folder. node is where the name was read, for complaints. `inside` is relative to files->folder and may be "".
cal_status cal_files_resolve(const cal_files* files, const char* inside, const char* name, const cal_xml_node* node,
                             char out[CAL_PATH], cal_error* error);

// All bytes of a file, and a NUL after them; at most `limit`. node (may be NULL) is where the file was named.
cal_status cal_file_read(const char* path, size_t limit, const cal_xml_node* node, char** bytes, size_t* size,
                         cal_error* error);
