// Names to paths, and paths to bytes.
#include "read/files.h"
#include "base/memory.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// Removes ".", ".." and double slashes of a path in place. `up` says how many ".." were left over at the beginning of a
// relative path; those of an absolute path stay at the root.
static void simplify(char* path, int* up) {
    const bool absolute = path[0] == '/';
    char* start = path + (absolute ? 1 : 0);
    char* out = start;
    *up = 0;
    for (const char* p = start; *p != '\0';) {
        const char* end = strchr(p, '/');
        const size_t length = end != NULL ? (size_t)(end - p) : strlen(p);
        const bool parent = length == 2 && p[0] == '.' && p[1] == '.';
        if (parent && out > start &&
            !(out - start >= 2 && out[-1] == '.' && out[-2] == '.' && (out - start == 2 || out[-3] == '/'))) {
            while (out > start && out[-1] != '/') out--;
            if (out > start) out--;
        } else if (length > 0 && !(length == 1 && p[0] == '.') && !(parent && absolute)) {
            if (parent) (*up)++;
            if (out > start) *out++ = '/';
            memmove(out, p, length);
            out += length;
        }
        p += length;
        if (*p == '/') p++;
    }
    *out = '\0';
}

cal_status cal_files_resolve(const cal_files* files, const char* inside, const char* name, const cal_xml_node* node,
                             char out[CAL_PATH], cal_error* error) {
    if (files->folder == NULL)
        return cal_xml_fail(node, error, CAL_BAD_MODEL,
                            "it names the file '%.60s', but a model from memory has no folder; give one in the options",
                            name);
    if (name[0] == '\0') return cal_xml_fail(node, error, CAL_BAD_MODEL, "it names a file without a name");
    char relative[CAL_PATH];
    int used;
    if (name[0] == '/')
        used = snprintf(relative, sizeof relative, "%s", name);
    else
        used = snprintf(relative, sizeof relative, "%s%s%s", inside, inside[0] != '\0' ? "/" : "", name);
    if (used >= CAL_PATH)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "it names a file with a path of %d bytes", used);
    int up;
    simplify(relative, &up);
    const bool absolute = relative[0] == '/';
    if ((absolute || up > 0) && !files->allow_outside)
        return cal_xml_fail(node, error, CAL_BAD_MODEL,
                            "the file '%.80s' is outside the model's folder; --allow-outside permits that", name);
    if (absolute || files->folder[0] == '\0')
        used = snprintf(out, CAL_PATH, "%s", relative);
    else
        used = snprintf(out, CAL_PATH, "%s/%s", files->folder, relative);
    if (used >= CAL_PATH)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "it names a file with a path of %d bytes", used);
    return CAL_OK;
}

static cal_status refuse_size(const char* path, size_t limit, const cal_xml_node* node, cal_error* error) {
    return cal_xml_fail(node, error, CAL_BAD_MODEL, "'%.120s' has more than %zu MB", path, limit >> 20);
}

// Also what has no size beforehand, such as a pipe, so it is read until it ends.
static cal_status read_all(FILE* file, const char* path, size_t limit, const cal_xml_node* node, char** bytes,
                           size_t* size, cal_error* error) {
    size_t capacity = 1 << 16;
    struct stat about;
    if (fstat(fileno(file), &about) == 0) {
        if (S_ISDIR(about.st_mode)) return cal_xml_fail(node, error, CAL_BAD_MODEL, "'%.120s' is a folder", path);
        if (about.st_size > 0 && (uint64_t)about.st_size > limit) return refuse_size(path, limit, node, error);
        if (about.st_size > 0) capacity = (size_t)about.st_size + 1;
    }
    char* data = NULL;
    size_t used = 0;
    for (;;) {
        char* grown = cal_allocate(capacity + 1, 1);
        if (grown == NULL) {
            cal_free(data);
            return cal_xml_fail(node, error, CAL_NO_MEMORY, "out of memory for '%.120s'", path);
        }
        if (used > 0) memcpy(grown, data, used);
        cal_free(data);
        data = grown;
        used += fread(data + used, 1, capacity - used, file);
        if (used < capacity || used > limit) break;
        capacity *= 2;
    }
    if (used > limit || ferror(file)) {
        cal_free(data);
        if (used > limit) return refuse_size(path, limit, node, error);
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "cannot read '%.120s': %s", path, strerror(errno));
    }
    data[used] = '\0';
    *bytes = data;
    *size = used;
    return CAL_OK;
}

cal_status cal_file_read(const char* path, size_t limit, const cal_xml_node* node, char** bytes, size_t* size,
                         cal_error* error) {
    FILE* file = fopen(path, "rb");
    if (file == NULL)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "cannot open '%.120s': %s", path, strerror(errno));
    const cal_status status = read_all(file, path, limit, node, bytes, size, error);
    fclose(file);
    return status;
}
