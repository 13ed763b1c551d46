// What calls its user back while it is advanced. A callback may look at it, but neither advance, change nor save it: it is between two
// states. What a callback destroys goes when the advance returns.
#pragma once
#include "base/error.h"
#include <stdbool.h>

typedef struct cal_advancing {
    bool now;    // an advance has not returned
    bool doomed; // one of its callbacks has destroyed it
} cal_advancing;

static inline cal_status cal_check_not_advancing(const cal_advancing* advancing, const char* function,
                                                 cal_error* error) {
    if (!advancing->now) return CAL_OK;
    return cal_fail(error, CAL_BAD_ARGUMENT,
                    "%s: a callback may not advance, change or save what calls it, which is between two states; do it "
                    "after the advance",
                    function);
}

// Of an advance that returns, when what was advanced has been destroyed.
static inline cal_status cal_fail_destroyed(cal_error* error) {
    return cal_fail(error, CAL_INTERRUPTED, "destroyed by one of its callbacks, on its way");
}
