// What all distributions share.
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
    if (!(costs->read >= 0.0) || !isfinite(costs->read))
        return cal_fail(error, CAL_BAD_ARGUMENT, "the time for reading is %g s: it must be finite and not negative",
                        costs->read);
    if (costs->lanes != 0 && costs->lanes != 1 && costs->lanes != 2 && costs->lanes != 4 && costs->lanes != 8)
        return cal_fail(error, CAL_BAD_ARGUMENT, "processors have 1, 2, 4 or 8 lanes, not %d", costs->lanes);
    return CAL_OK;
}

bool cal_find_runs(const cal_model* model, int processors, bool to_all, int32_t* owner, int32_t* last) {
    bool found = false;
    for (int node = 0; node < model->node_count && !found; node++) found = owner[node] == CAL_EVERY_PROCESSOR;
    if (!found) return false;
    for (int node = 0; node < model->node_count; node++) {
        last[node] = owner[node];
        if (owner[node] == CAL_EVERY_PROCESSOR) owner[node] = processors; // nobody so far
    }
    for (int node = model->node_count - 1; node >= 0; node--) {
        const int parent = model->nodes[node].parent;
        if (parent < 0) continue;
        if (owner[node] < owner[parent]) owner[parent] = owner[node];
        if (last[node] > last[parent]) last[parent] = last[node];
    }
    for (int node = 0; node < model->node_count; node++) {
        const int parent = model->nodes[node].parent;
        if (owner[node] > last[node]) { // nothing of anybody below: with the trunk
            owner[node] = parent < 0 ? 0 : owner[parent];
            last[node] = parent < 0 ? (to_all ? processors - 1 : 0) : last[parent];
        } else if (to_all && owner[node] < last[node]) {
            owner[node] = 0, last[node] = processors - 1;
        }
    }
    return true;
}

void cal_name_owners(const cal_model* model, int32_t* owner) {
    for (int node = model->node_count - 1; node >= 0; node--)
        if (owner[node] == CAL_EVERY_PROCESSOR && node + 1 < model->nodes[node].end) owner[node] = owner[node + 1];
    for (int node = 0; node < model->node_count; node++)
        if (owner[node] == CAL_EVERY_PROCESSOR)
            owner[node] = model->nodes[node].parent < 0 ? 0 : owner[model->nodes[node].parent];
}
