// Machines by name, for settings that change while the viewer runs.
#pragma once
#include "calder/calder.h"

// "serial", "threads", "threads:4", either of the latter with ",pinned".
cal_status cal_machine_from_text(const char* text, int lanes, cal_machine** out, cal_error* error);
