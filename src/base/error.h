// Errors are values: a status, and one line of text where the caller gave room for it.
#pragma once
#include "base/parts.h"
#include "calder/calder.h"

// Fills in error; NULL is allowed.
CAL_FOR_PARTS void cal_explain(cal_error* error, cal_status status, const char* format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

// The same as a value, so that a function can `return cal_fail(error, …)`; a macro, so that whoever reads the code, tools
// too, sees which.
#define cal_fail(error, status, ...) (cal_explain((error), (status), __VA_ARGS__), (status))

// "cannot write PATH: why" of an errno: CAL_NOT_WRITTEN where the disk or the other end failed, CAL_NO_MEMORY of ENOMEM, CAL_BAD_ARGUMENT
// where the path is wrong.
CAL_FOR_PARTS cal_status cal_fail_write(cal_error* error, const char* path, int problem);
