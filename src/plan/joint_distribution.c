// Distributions as the user sees them: processors of joints instead of owners of nodes.
//
// Each joint is one node, so both are the same array in two orders: owner[joints[j].node] = processor_of_joint[j].
#include "base/memory.h"
#include "plan/distribution.h"

static int32_t* allocate_owners(const cal_model* model, cal_error* error) {
    int32_t* owner = cal_allocate((size_t)model->node_count, sizeof *owner);
    if (!owner) cal_explain(error, CAL_NO_MEMORY, "no memory for the owners of %d joints", model->joint_count);
    return owner;
}

cal_status cal_distribute(const cal_model* model, cal_distribution distribution, int processors, const cal_costs* costs,
                          int32_t* processor_of_joint, int* used, double* seconds, cal_error* error) {
    if (distribution != CAL_BALANCED && distribution != CAL_JUNG)
        return cal_fail(error, CAL_BAD_ARGUMENT, "there is no distribution %d; use CAL_BALANCED or CAL_JUNG",
                        (int)distribution);
    int32_t* owner = allocate_owners(model, error);
    if (!owner) return CAL_NO_MEMORY;
    const cal_status status = distribution == CAL_JUNG
                                  ? cal_distribute_jung(model, processors, costs, owner, used, seconds, error)
                                  : cal_distribute_balanced(model, processors, costs, owner, used, seconds, error);
    if (status == CAL_OK)
        for (int j = 0; j < model->joint_count; j++) processor_of_joint[j] = owner[model->joints[j].node];
    cal_free(owner);
    return status;
}

cal_status cal_price(const cal_model* model, const int32_t* processor_of_joint, const cal_costs* costs, int processors,
                     double* seconds, double* busy, cal_error* error) {
    int32_t* owner = allocate_owners(model, error);
    if (!owner) return CAL_NO_MEMORY;
    for (int j = 0; j < model->joint_count; j++) owner[model->joints[j].node] = processor_of_joint[j];
    const cal_status status = cal_price_owners(model, owner, costs, processors, seconds, busy, error);
    cal_free(owner);
    return status;
}
