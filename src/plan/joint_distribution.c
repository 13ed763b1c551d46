// Distributions as the user sees them: processors of joints instead of owners of nodes.
//
// Each joint is one node, so both are the same array in two orders: owner[joints[j].node] = processor_of_joint[j].
#include "base/memory.h"
#include "plan/distribution.h"

#include <math.h>

static int32_t* allocate_owners(const cal_model* model, cal_error* error) {
    int32_t* owner = cal_allocate((size_t)model->node_count, sizeof *owner);
    if (!owner) cal_explain(error, CAL_NO_MEMORY, "no memory for the owners of %d joints", model->joint_count);
    return owner;
}

// Both distributions decide step by step, and where messages cost little, ties lead them astray: what is decided as if messages
// took so many times what a joint does may then be better. The best by its price counts.
static const double dearer[] = {0.0, 0.25, 1.0, 4.0};

typedef struct attempt {
    int used;
    double seconds, price;
} attempt;

static cal_status try_costs(const cal_model* model, cal_distribution distribution, int processors,
                            const cal_costs* decide, const cal_costs* costs, int32_t* owner, attempt* out,
                            cal_error* error) {
    cal_status status =
        distribution == CAL_JUNG
            ? cal_distribute_jung_by(model, processors, decide, costs, owner, &out->used, &out->seconds, error)
            : cal_distribute_balanced(model, processors, decide, owner, &out->used, NULL, error);
    if (status == CAL_OK) status = cal_price_owners(model, owner, costs, out->used, &out->price, NULL, error);
    if (status == CAL_OK && distribution == CAL_BALANCED) out->seconds = out->price;
    return status;
}

cal_status cal_distribute(const cal_model* model, cal_distribution distribution, int processors, const cal_costs* costs,
                          int32_t* processor_of_joint, int* used, double* seconds, cal_error* error) {
    if (distribution != CAL_BALANCED && distribution != CAL_JUNG)
        return cal_fail(error, CAL_BAD_ARGUMENT, "there is no distribution %d; use CAL_BALANCED or CAL_JUNG",
                        (int)distribution);
    if (!model || !costs || !processor_of_joint)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "cal_distribute: model, costs and room for processors must not be NULL");
    int32_t* owner = allocate_owners(model, error);
    if (!owner) return CAL_NO_MEMORY;
    cal_status status = CAL_OK;
    attempt best = {.price = (double)INFINITY};
    for (size_t i = 0; i < sizeof dearer / sizeof dearer[0] && status == CAL_OK; i++) {
        cal_costs decide = *costs;
        if (i > 0 && !(dearer[i] * costs->compute > costs->message)) continue;
        if (i > 0) decide.message = dearer[i] * costs->compute;
        attempt own = {0};
        status = try_costs(model, distribution, processors, &decide, costs, owner, &own, error);
        if (status != CAL_OK || !(own.price < best.price * (1.0 - 1e-9))) continue;
        best = own;
        for (int j = 0; j < model->joint_count; j++) processor_of_joint[j] = owner[model->joints[j].node];
    }
    if (used) *used = best.used;
    if (seconds) *seconds = best.seconds;
    cal_free(owner);
    return status;
}

cal_status cal_price(const cal_model* model, const int32_t* processor_of_joint, const cal_costs* costs, int processors,
                     double* seconds, double* busy, cal_error* error) {
    if (!model || !processor_of_joint || !costs || !seconds)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_price: only busy and error may be NULL");
    int32_t* owner = allocate_owners(model, error);
    if (!owner) return CAL_NO_MEMORY;
    for (int j = 0; j < model->joint_count; j++) owner[model->joints[j].node] = processor_of_joint[j];
    const cal_status status = cal_price_owners(model, owner, costs, processors, seconds, busy, error);
    cal_free(owner);
    return status;
}
