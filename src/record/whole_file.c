// Files that appear whole or not at all: written beside their place, renamed over it.
#include "base/beside.h"
#include "base/error.h"
#include "base/memory.h"
#include "calder/calder_record.h"
#include <errno.h>
#include <string.h>

struct cal_whole_file {
    FILE* file;
    char *path, *partial; // partial NULL: what is at the path is no plain file, and is written as it is
};

static void release(cal_whole_file* w) {
    cal_free(w->path);
    cal_free(w->partial);
    cal_free(w);
}

cal_status cal_whole_file_create(const char* path, cal_whole_file** out, cal_error* error) {
    if (!path || !out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_whole_file_create: path and out must not be NULL");
    *out = NULL;
    cal_whole_file* w = cal_allocate(1, sizeof *w);
    if (w) w->path = cal_copy_text(path);
    if (!w || !w->path) {
        if (w) release(w);
        return cal_fail(error, CAL_NO_MEMORY, "no memory to write '%.100s'", path);
    }
    w->file = cal_beside_open(path, &w->partial);
    if (!w->file) {
        const int problem = errno;
        release(w);
        return cal_fail_write(error, path, problem);
    }
    *out = w;
    return CAL_OK;
}

FILE* cal_whole_file_stream(cal_whole_file* w) { return w ? w->file : NULL; }

cal_status cal_whole_file_close(cal_whole_file* w, bool keep, cal_error* error) {
    if (!w) return CAL_OK;
    const int problem = cal_beside_close(w->file, w->path, w->partial, keep, false);
    w->partial = NULL;
    cal_status status = CAL_OK;
    if (problem != 0 && keep)
        status = cal_fail(error, CAL_NOT_WRITTEN, "cannot write '%.100s': %s", w->path, strerror(problem));
    release(w);
    return status;
}
