#define _POSIX_C_SOURCE 200809L
#include "view/upload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The folder's files, and those of the folders below it: their paths are bounded, and so is the depth.
static void measure(cal_upload_sum* sum, const char* folder) {
    DIR* open = opendir(folder);
    for (const struct dirent* entry; open && (entry = readdir(open));) {
        char path[4096];
        struct stat status;
        const int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (length < 0 || (size_t)length >= sizeof path || lstat(path, &status) != 0) continue;
        if (S_ISDIR(status.st_mode)) {
            measure(sum, path);
        } else {
            sum->files++;
            sum->bytes += (size_t)status.st_size;
        }
    }
    if (open) closedir(open);
}

void cal_upload_measure(cal_upload_sum* sum) {
    sum->files = 0;
    sum->bytes = 0;
    if (sum->folder) measure(sum, sum->folder);
}

bool cal_upload_path_is_good(const char* path) {
    const size_t length = strlen(path);
    if (length == 0 || length > CAL_UPLOAD_PATH || path[length - 1] == '/') return false;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)path[i];
        if (c < ' ' || c == 127 || c == '\\') return false;
        // Every name begins with something else than a dot or a slash: no "..", nothing hidden, nothing absolute.
        if ((i == 0 || path[i - 1] == '/') && (c == '.' || c == '/')) return false;
    }
    return true;
}

// Makes the folders of a path, and opens the file. The folder is this process's own, so there are no links in it.
static FILE* create(const char* folder, const char* path) {
    char whole[4096];
    const int length = snprintf(whole, sizeof whole, "%s/%s", folder, path);
    if (length < 0 || (size_t)length >= sizeof whole) return NULL;
    for (char* slash = whole + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        const bool made = mkdir(whole, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!made) return NULL;
    }
    const int descriptor = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE* file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    if (descriptor >= 0 && !file) close(descriptor);
    return file;
}

void cal_upload_take(cal_upload* upload, cal_upload_sum* sum, const void* bytes, size_t size) {
    const char* text = bytes;
    size_t at = 0;
    sum->bytes += size;
    if (sum->bytes > CAL_UPLOAD_BYTES) upload->failed = true;
    for (; !upload->named && !upload->failed && at < size; at++) {
        if (text[at] != '\n') {
            if (upload->length == CAL_UPLOAD_PATH || text[at] == '\0')
                upload->failed = true;
            else
                upload->path[upload->length++] = text[at];
            continue;
        }
        upload->named = true;
        const bool good = cal_upload_path_is_good(upload->path) && sum->folder && ++sum->files <= CAL_UPLOAD_FILES;
        upload->file = good ? create(sum->folder, upload->path) : NULL;
        upload->failed = !upload->file;
    }
    if (upload->file && !upload->failed && at < size && fwrite(text + at, 1, size - at, upload->file) != size - at)
        upload->failed = true;
}

bool cal_upload_end(cal_upload* upload) {
    const bool closed = upload->file && fclose(upload->file) == 0;
    const bool good = closed && !upload->failed;
    *upload = (cal_upload){.failed = false};
    return good;
}
