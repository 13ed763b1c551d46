// Where the names of files in a URDF lead.
//
//     package://NAME/rest, model://NAME/rest   into the package NAME: a folder NAME in one of the package paths, a package path
//                                              that ends with NAME, or the package that the model lies in
//     file:///path, /path                      outside the model's folder: only with the caller's permission
//     path                                     in the model's folder; with "..", in the package that the model lies in
//
// A package is a folder with a package.xml. The rest of a package's name must stay inside the package.
#define _DEFAULT_SOURCE
#include "read/urdf/parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool exists(const char* path) {
    struct stat about;
    return stat(path, &about) == 0;
}

// The last part of a path, without slashes at its end.
static bool last_part_is(const char* path, const char* name, size_t length) {
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/') start--;
    return end - start == length && memcmp(path + start, name, length) == 0;
}

void cal_urdf_find_package(urdf* u) {
    const char* folder = u->reader->files.folder;
    u->package[0] = u->inside[0] = '\0';
    char* whole = folder != NULL ? realpath(folder[0] != '\0' ? folder : ".", NULL) : NULL;
    if (whole == NULL || strlen(whole) >= sizeof u->package) {
        free(whole);
        return;
    }
    for (size_t length = strlen(whole); length > 1;) {
        char manifest[CAL_PATH + 16];
        snprintf(manifest, sizeof manifest, "%.*s/package.xml", (int)length, whole);
        if (exists(manifest)) {
            snprintf(u->package, sizeof u->package, "%.*s", (int)length, whole);
            snprintf(u->inside, sizeof u->inside, "%s", whole[length] == '/' ? whole + length + 1 : "");
            break;
        }
        while (length > 0 && whole[length - 1] != '/') length--;
        if (length > 0) length--;
    }
    free(whole);
}

// Whether "…/.." occurs in a name.
static bool climbs(const char* name) {
    for (const char* p = name; (p = strstr(p, "..")) != NULL; p += 2)
        if ((p == name || p[-1] == '/') && (p[2] == '/' || p[2] == '\0')) return true;
    return false;
}

// folder/rest, when there is such a file.
static bool try_folder(const char* folder, size_t folder_length, const char* name, size_t name_length, const char* rest,
                       char out[CAL_PATH]) {
    const int used = name_length > 0 ? snprintf(out, CAL_PATH, "%.*s/%.*s/%s", (int)folder_length, folder,
                                                (int)name_length, name, rest)
                                     : snprintf(out, CAL_PATH, "%.*s/%s", (int)folder_length, folder, rest);
    return used > 0 && used < CAL_PATH && exists(out);
}

static cal_status resolve_package(urdf* u, cal_xml_node* node, const char* name, char out[CAL_PATH], bool* found,
                                  cal_error* error) {
    while (*name == '/') name++;
    const char* rest = strchr(name, '/');
    if (rest == NULL)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "'%.80s' names a package but no file in it", name);
    const size_t length = (size_t)(rest - name);
    rest++;
    if (climbs(name))
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "'%.80s' leads out of its package with '..'", name);
    bool known = false; // the package is there, even if the file is not
    for (int i = 0; i < u->reader->options->package_path_count; i++) {
        const char* path = u->reader->options->package_paths[i];
        *found = try_folder(path, strlen(path), name, length, rest, out);
        if (!*found && last_part_is(path, name, length)) {
            *found = try_folder(path, strlen(path), "", 0, rest, out);
            known = true;
        }
        if (*found) return CAL_OK;
        char package[CAL_PATH];
        known |= try_folder(path, strlen(path), name, length, "", package);
    }
    if (u->package[0] != '\0' && last_part_is(u->package, name, length)) {
        *found = try_folder(u->package, strlen(u->package), "", 0, rest, out);
        known = true;
        if (*found) return CAL_OK;
    }
    if (known)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "the package '%.*s' has no file '%.100s'",
                            (int)(length > 60 ? 60 : length), name, rest);
    *found = false;
    return CAL_OK;
}

cal_status cal_urdf_resolve(urdf* u, cal_xml_node* node, const char* name, char out[CAL_PATH], bool* found,
                            cal_error* error) {
    *found = true;
    if (strncmp(name, "package://", 10) == 0) return resolve_package(u, node, name + 10, out, found, error);
    if (strncmp(name, "model://", 8) == 0) return resolve_package(u, node, name + 8, out, found, error);
    const char* plain = strncmp(name, "file://", 7) == 0 ? name + 7 : name;
    if (strstr(plain, "://") != NULL)
        return cal_xml_fail(node, error, CAL_BAD_MODEL,
                            "'%.80s' is no name of a file here; package://, model:// and file:// are read", name);
    if (plain[0] != '/' && climbs(plain) && u->package[0] != '\0' && !u->reader->files.allow_outside) {
        const cal_files package = {.folder = u->package};
        return cal_files_resolve(&package, u->inside, plain, node, out, error);
    }
    return cal_files_resolve(&u->reader->files, "", plain, node, out, error);
}
