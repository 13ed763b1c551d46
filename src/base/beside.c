#define _POSIX_C_SOURCE 200809L
#include "base/beside.h"
#include "base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_plain(const char* path) {
    struct stat facts;
    return stat(path, &facts) != 0 || S_ISREG(facts.st_mode);
}

// The place itself may not be writable though its folder is: then nobody may replace it either.
static FILE* open_new(const char* path, const char* partial) {
    if (access(path, F_OK) == 0 && access(path, W_OK) != 0) return NULL;
    unlink(partial); // of a process that was killed
    const int descriptor = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE* file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    if (!file && descriptor >= 0) close(descriptor);
    return file;
}

FILE* cal_beside_open(const char* path, char** partial) {
    *partial = NULL;
    errno = 0;
    if (!is_plain(path)) return fopen(path, "wb");
    const size_t capacity = strlen(path) + 40;
    char* name = cal_allocate(capacity, 1);
    if (!name) {
        errno = ENOMEM;
        return NULL;
    }
    (void)snprintf(name, capacity, "%s.%ld.partial", path, (long)getpid());
    FILE* file = open_new(path, name);
    const int problem = errno;
    if (file)
        *partial = name;
    else
        cal_free(name);
    errno = problem;
    return file;
}

// So that the new name outlives a power failure. The file is whole under either name: a folder that cannot be
// synchronised is no failure.
static void synchronize_folder(const char* path) {
    const char* slash = strrchr(path, '/');
    char* folder = cal_copy_text(slash ? path : ".");
    if (!folder) return;
    if (slash) folder[slash == path ? 1 : slash - path] = '\0';
    const int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)fsync(descriptor);
        close(descriptor);
    }
    cal_free(folder);
}

static int own_problem(void) { return errno != 0 ? errno : EIO; }

// Why a file that is taken away anyway could not be written: errno of the failure itself is gone, one more byte finds it again.
static void ask_why(FILE* file) {
    clearerr(file);
    errno = 0;
    (void)fputc('\n', file);
    (void)fflush(file);
}

int cal_beside_complete(FILE* file, const char* partial, bool lasting) {
    int problem = 0;
    errno = 0;
    if (fflush(file) != 0 || ferror(file) != 0) {
        if (errno == 0 && partial) ask_why(file);
        problem = own_problem();
    }
    if (problem == 0 && lasting && partial && fsync(fileno(file)) != 0) problem = own_problem();
    if (fclose(file) != 0 && problem == 0) problem = own_problem();
    return problem;
}

int cal_beside_place(const char* path, char* partial, bool keep, bool lasting) {
    int problem = 0;
    if (!partial) return 0;
    if (keep && rename(partial, path) != 0) problem = own_problem();
    if (!keep || problem != 0) unlink(partial);
    if (keep && problem == 0 && lasting) synchronize_folder(path);
    cal_free(partial);
    return problem;
}

int cal_beside_close(FILE* file, const char* path, char* partial, bool keep, bool lasting) {
    const int problem = cal_beside_complete(file, partial, lasting);
    const int placing = cal_beside_place(path, partial, keep && problem == 0, lasting);
    return problem != 0 ? problem : placing;
}
