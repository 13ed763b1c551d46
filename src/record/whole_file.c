// Files that appear whole or not at all: written beside their place, renamed over it.
#define _POSIX_C_SOURCE 200809L
#include "base/error.h"
#include "base/memory.h"
#include "calder/calder_record.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct cal_whole_file {
    FILE* file;
    char *path, *partial; // partial NULL: what is at the path is no plain file, and is written as it is
};

static void release(cal_whole_file* w) {
    cal_free(w->path);
    cal_free(w->partial);
    cal_free(w);
}

// A device, a pipe or a link to one cannot be replaced.
static bool is_plain(const char* path) {
    struct stat facts;
    return stat(path, &facts) != 0 || S_ISREG(facts.st_mode);
}

// The place itself may not be writable though its folder is: then nobody may replace it either.
static FILE* open_beside(const cal_whole_file* w) {
    if (access(w->path, F_OK) == 0 && access(w->path, W_OK) != 0) return NULL;
    unlink(w->partial); // of a process that was killed
    const int descriptor = open(w->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE* file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    if (!file && descriptor >= 0) close(descriptor);
    return file;
}

cal_status cal_whole_file_create(const char* path, cal_whole_file** out, cal_error* error) {
    if (!path || !out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_whole_file_create: path and out must not be NULL");
    *out = NULL;
    const bool plain = is_plain(path);
    const size_t capacity = strlen(path) + 40;
    cal_whole_file* w = cal_allocate(1, sizeof *w);
    if (w) {
        w->path = cal_copy_text(path);
        w->partial = plain ? cal_allocate(capacity, 1) : NULL;
    }
    if (!w || !w->path || (plain && !w->partial)) {
        if (w) release(w);
        return cal_fail(error, CAL_NO_MEMORY, "no memory to write '%.100s'", path);
    }
    if (plain) snprintf(w->partial, capacity, "%s.%ld.partial", path, (long)getpid());
    errno = 0;
    w->file = plain ? open_beside(w) : fopen(path, "wb");
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
    errno = 0;
    bool good = fflush(w->file) == 0 && !ferror(w->file);
    int problem = good ? 0 : errno;
    if (fclose(w->file) != 0 && good) good = false, problem = errno;
    if (good && keep && w->partial && rename(w->partial, w->path) != 0) good = false, problem = errno;
    if (w->partial && !(good && keep)) unlink(w->partial);
    cal_status status = CAL_OK;
    if (!good && keep)
        status = cal_fail(error, CAL_NOT_WRITTEN, "cannot write '%.100s': %s", w->path,
                          problem ? strerror(problem) : "unknown error");
    release(w);
    return status;
}
