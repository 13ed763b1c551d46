// One core: runs a walked program as depth-first walks, a swept one pass by pass.
#include "base/error.h"
#include "base/memory.h"
#include "machine/machine.h"

static void sweep(const cal_plan* plan, const cal_context* context, const cal_pass* pass) {
    const int count = plan->layout->column_count;
    cal_kernel* const kernel = pass->kernels[0];
    for (int i = 0; i < count; i++) kernel(context, pass->direction == CAL_OUTBOUND ? i : count - 1 - i);
}

cal_status cal_execute_alone(const cal_plan* plan, cal_state* state, bool prepared) {
    const cal_context* context = &state->context;
    if (!plan->program->walked) {
        for (int i = 0; i < plan->program->pass_count; i++) sweep(plan, context, &plan->program->passes[i]);
        if (plan->program->finish) plan->program->finish(context);
        return CAL_OK;
    }
    const cal_pass *down, *up;
    cal_status status = CAL_OK;
    const int first = cal_plan_first_pass(plan);
    for (int i = first; status == CAL_OK && cal_next_walk(plan->program, context, &i, &down, &up);) {
        cal_walk(plan, context, 0, down, up, i == first + 2 && context->solver && !prepared, NULL);
        if (cal_plan_joins(plan) && i < plan->program->pass_count)
            status = cal_join_batches(plan, context, i - 2, 0, NULL);
    }
    return status;
}

static cal_status execute(cal_machine* machine, const cal_plan* plan, cal_state* state, bool prepared) {
    (void)machine;
    return cal_execute_alone(plan, state, prepared);
}

static void destroy(cal_machine* machine) { cal_free(machine); }

static const cal_machine_ops serial_ops = {.name = "serial", .execute = execute, .destroy = destroy};

cal_status cal_machine_serial(int lanes, cal_machine** out, cal_error* error) {
    *out = NULL;
    cal_machine* machine = cal_allocate(1, sizeof *machine);
    if (!machine) return cal_fail(error, CAL_NO_MEMORY, "no memory for a machine");
    const cal_status status = cal_machine_begin(machine, &serial_ops, lanes, 1, error);
    if (status != CAL_OK)
        cal_free(machine);
    else
        *out = machine;
    return status;
}
