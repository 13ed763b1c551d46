// Errors are values: a status, and one line of text where the caller gave room for it.
#pragma once
#include "calder/calder.h"

// Fills in error (NULL is allowed) and returns status, so that a function can `return cal_fail(error, …)`.
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
cal_status
cal_fail(cal_error* error, cal_status status, const char* format, ...);
