// One core: runs a walked program as depth-first walks, a swept one pass by pass.
#include "base/error.h"
#include "base/memory.h"
#include "machine/machine.h"

static void sweep(const cal_plan* plan, const cal_context* context, const cal_pass* pass) {
    const int count = plan->layout->column_count;
    cal_kernel* const kernel = pass->kernels[0];
    for (int i = 0; i < count; i++) kernel(context, pass->direction == CAL_OUTBOUND ? i : count - 1 - i);
}

void cal_execute_alone(const cal_plan* plan, cal_state* state, bool prepared) {
    const cal_program* program = plan->program;
    if (program->walked) {
        cal_run_stages(plan, state, 0, prepared, NULL);
        return;
    }
    for (int i = 0; i < program->pass_count; i++) sweep(plan, &state->context, &program->passes[i]);
    if (program->finish) program->finish(&state->context);
}

static cal_status execute(cal_machine* machine, const cal_plan* plan, cal_state* state, bool prepared) {
    (void)machine;
    cal_execute_alone(plan, state, prepared);
    return CAL_OK;
}

static void destroy(cal_machine* machine) { cal_free(machine); }

static const cal_machine_ops serial_ops = {.name = "serial", .execute = execute, .destroy = destroy};

cal_status cal_machine_serial(int lanes, cal_machine** out, cal_error* error) {
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_machine_serial: out must not be NULL");
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
