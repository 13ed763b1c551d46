// Statuses and their texts, errors, the version.
#define _POSIX_C_SOURCE 200809L
#include "base/error.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char* cal_version(void) { return VERSION_TEXT(CAL_VERSION_MAJOR, CAL_VERSION_MINOR, CAL_VERSION_PATCH); }

const char* cal_status_text(cal_status status) {
#define STATUS_CASE(name, text)                                                                                        \
    case name: return text;
    switch (status) {
        CAL_STATUS_LIST(STATUS_CASE)
    case CAL_STATUS_COUNT: break;
    }
    return "not a status";
}

void cal_explain(cal_error* error, cal_status status, const char* format, ...) {
    if (error == NULL) return;
    error->status = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    // One line, also where a name in it has several.
    for (char* c = error->text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ') *c = ' ';
}

cal_status cal_fail_write(cal_error* error, const char* path, int problem) {
    static const int failures[] = {0, ENOSPC, EIO, EFBIG, EDQUOT, EPIPE, EINTR};
    cal_status status = problem == ENOMEM ? CAL_NO_MEMORY : CAL_BAD_ARGUMENT;
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++)
        if (problem == failures[i]) status = CAL_NOT_WRITTEN;
    return cal_fail(error, status, "cannot write '%.100s': %s", path, problem ? strerror(problem) : "unknown error");
}
