// Which nodes rows act on. Compiled for the host and for devices.
#pragma once
#include "base/per_lane.h"
#include "pass/mass_factor.h"

// The nodes that rows act on, rising, each once.
CAL_DEVICE static inline int find_touched(const cal_row* rows, int count, int32_t* out) {
    int found = 0;
    for (int r = 0; r < count; r++)
        for (int k = 0; k < rows[r].node_count; k++) {
            const int node = rows[r].node[k];
            int at = found;
            while (at > 0 && out[at - 1] >= node) at--;
            if (at < found && out[at] == node) continue;
            for (int i = found; i > at; i--) out[i] = out[i - 1];
            out[at] = node;
            found++;
        }
    return found;
}
