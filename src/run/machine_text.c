// Machines by name.
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "calder/calder_run.h"

enum { MOST_THREADS = 1024 };

cal_status cal_machine_from_text(const char* text, int lanes, cal_machine** out, cal_error* error) {
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_machine_from_text: out must not be NULL");
    *out = NULL;
    if (!text) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_machine_from_text: text must not be NULL");
    if (strcmp(text, "serial") == 0) return cal_machine_serial(lanes, out, error);
    const size_t length = strlen("threads");
    cal_threads_def def = cal_default_threads_def();
    def.lanes = lanes;
    bool known = strncmp(text, "threads", length) == 0;
    const char* rest = known ? text + length : "";
    if (known && *rest == ':') {
        char* end;
        const long count = rest[1] >= '0' && rest[1] <= '9' ? strtol(rest + 1, &end, 10) : 0;
        known = count >= 1 && count <= MOST_THREADS;
        if (known) def.workers = (int)count, rest = end;
    }
    def.pinned = strcmp(rest, ",pinned") == 0;
    if (known && (def.pinned || *rest == '\0')) return cal_machine_threads(&def, out, error);
    return cal_fail(error, CAL_BAD_ARGUMENT,
                    "machine '%.40s' is not known; allowed: serial, threads, threads:N with N from 1 to %d, and "
                    "threads with ',pinned'",
                    text, MOST_THREADS);
}
