// What all distributions share, and the simplest of them: Armstrong's paths.
#include "plan/distribution.h"

#include <math.h>

cal_status cal_check_costs(int processors, const cal_costs* costs, cal_error* error) {
    if (processors < 1)
        return cal_fail(error, CAL_BAD_ARGUMENT, "%d processors cannot compute anything: ask for at least 1",
                        processors);
    if (!(costs->compute >= 0.0) || !isfinite(costs->compute))
        return cal_fail(error, CAL_BAD_ARGUMENT, "the time per joint is %g s: it must be finite and not negative",
                        costs->compute);
    if (!(costs->message >= 0.0) || !isfinite(costs->message))
        return cal_fail(error, CAL_BAD_ARGUMENT, "the time per message is %g s: it must be finite and not negative",
                        costs->message);
    if (!(costs->send >= 0.0) || costs->send > costs->message)
        return cal_fail(error, CAL_BAD_ARGUMENT, "the time for sending is %g s: it is a part of the %g s of a message",
                        costs->send, costs->message);
    return CAL_OK;
}

int cal_distribute_paths(const cal_model* model, int32_t* owner) {
    int used = 0;
    for (int node = 0; node < model->node_count; node++) {
        const int parent = model->nodes[node].parent;
        owner[node] = parent >= 0 && node == parent + 1 ? owner[parent] : used++;
    }
    return used;
}
