// A machine that one does not have: plans are laid out for it and priced from its costs; executing one moves its clock on
// by that price and touches no state.
//
// The price of a program is that of the walks of forward dynamics (plan/price.c), for swept programs too: those that do not
// spread have a single processor and take every joint's time once.
#include "base/error.h"
#include "base/memory.h"
#include "machine/machine.h"

typedef struct modelled_machine {
    cal_machine base;
    double clock; // s
} modelled_machine;

// What this machine keeps with a plan, in the place of other machines' messages.
typedef struct price {
    double seconds;
} price;

static cal_status attach(cal_machine* base, cal_plan* plan, cal_error* error) {
    const cal_layout* layout = plan->layout;
    const cal_model* model = plan->model;
    price* own = cal_allocate(1, sizeof *own);
    int32_t* owner = cal_allocate((size_t)model->node_count, sizeof *owner);
    cal_status status = CAL_OK;
    if (own && owner) {
        for (int c = 0; c < layout->column_count; c++) {
            const cal_column* column = &layout->columns[c];
            const int first = column->first_block * layout->width, count = column->block_count * layout->width;
            for (int i = first; i < first + count; i++)
                if (layout->block_nodes[i] >= 0)
                    owner[layout->block_nodes[i] % model->node_count] =
                        layout->repeats && column->shared ? CAL_EVERY_PROCESSOR : column->owner;
        }
        own->seconds = plan->arrangement ? plan->arrangement->ops->price(plan->arrangement, &base->costs) : -1.0;
        if (own->seconds < 0.0)
            status = cal_price_owners(model, owner, &base->costs, base->processors, &own->seconds, NULL, error);
        own->seconds *= layout->copies;
    } else {
        status = cal_fail(error, CAL_NO_MEMORY, "no memory for pricing a plan of %d joints", model->joint_count);
    }
    cal_free(owner);
    plan->traffic = (struct cal_traffic*)own;
    return status;
}

static void detach(cal_plan* plan) {
    cal_free(plan->traffic);
    plan->traffic = NULL;
}

static cal_status execute(cal_machine* base, const cal_plan* plan, cal_state* state, bool prepared) {
    (void)prepared;
    // A solver would decide on sums that nobody has computed.
    if (state->context.solver) return CAL_NOT_AVAILABLE;
    ((modelled_machine*)base)->clock += ((const price*)plan->traffic)->seconds;
    return CAL_OK;
}

static void destroy(cal_machine* base) { cal_free(base); }

static const cal_machine_ops modelled_ops = {
    .name = "modelled", .execute = execute, .destroy = destroy, .attach = attach, .detach = detach};

cal_status cal_machine_modelled(const cal_costs* costs, int processors, cal_machine** out, cal_error* error) {
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_machine_modelled: out must not be NULL");
    *out = NULL;
    cal_status status = cal_check_costs(processors, costs, error);
    if (status != CAL_OK) return status;
    modelled_machine* machine = cal_allocate(1, sizeof *machine);
    if (!machine) return cal_fail(error, CAL_NO_MEMORY, "no memory for a machine");
    status = cal_machine_begin(&machine->base, &modelled_ops, 1, processors, error);
    machine->base.costs = *costs;
    if (status == CAL_OK)
        *out = &machine->base;
    else
        cal_free(machine);
    return status;
}

double cal_machine_virtual_time(const cal_machine* machine) {
    if (!machine) return 0.0;
    return machine->ops == &modelled_ops ? ((const modelled_machine*)machine)->clock : 0.0;
}
