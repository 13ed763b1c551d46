// One core: runs a walked program as depth-first walks, a swept one pass by pass.
#include "base/error.h"
#include "base/memory.h"
#include "machine/machine.h"

static void run(const cal_pass* pass, int variant, const cal_context* context, int column) {
    cal_kernel* kernel = pass->kernels[variant] ? pass->kernels[variant] : pass->kernels[0];
    kernel(context, column);
}

static void walk(const cal_plan* plan, const cal_context* context, const cal_pass* down, const cal_pass* up, bool prepares) {
    const int variant = plan->variant;
    const cal_solver_ops* solver = prepares ? context->solver_ops : NULL;
    for (int i = 0; i < plan->step_count; i++) {
        const cal_step step = plan->steps[i];
        switch (step.kind) {
        case CAL_STEP_DOWN:
            if (solver) solver->prepare(context->solver, &plan->layout->columns[step.column]);
            down->kernels[variant](context, step.column);
            break;
        case CAL_STEP_UP:
            if (up) up->kernels[variant](context, step.column);
            break;
        default:
            if (up) up->pulls[variant](context, step.column);
            break;
        }
    }
}

static void sweep(const cal_plan* plan, const cal_context* context, const cal_pass* pass) {
    const int count = plan->layout->column_count;
    for (int i = 0; i < count; i++)
        run(pass, plan->variant, context, pass->direction == CAL_OUTBOUND ? i : count - 1 - i);
}

static cal_status execute(cal_machine* machine, const cal_plan* plan, cal_state* state, bool prepared) {
    (void)machine;
    const cal_program* program = plan->program;
    const cal_context* context = &state->context;
    for (int i = 0; i < program->pass_count; i++) {
        const cal_pass* pass = &program->passes[i];
        if (!program->walked) {
            sweep(plan, context, pass);
            continue;
        }
        // Walked programs alternate: outbound, inbound.
        const cal_pass* up = &program->passes[++i];
        walk(plan, context, pass, up->for_solver && !context->solver ? NULL : up, i == 1 && context->solver && !prepared);
    }
    return CAL_OK;
}

static void destroy(cal_machine* machine) { cal_free(machine); }

static const cal_machine_ops serial_ops = {.name = "serial", .execute = execute, .destroy = destroy};

cal_status cal_machine_serial(int lanes, cal_machine** out, cal_error* error) {
    *out = NULL;
    if (lanes == 0) lanes = cal_best_lanes();
    if (lanes != 1 && lanes != 2 && lanes != 4 && lanes != 8)
        return cal_fail(error, CAL_BAD_ARGUMENT, "lanes must be 0 (automatic), 1, 2, 4 or 8, not %d", lanes);
    const int variant = cal_processor_variant(lanes);
    if (variant < 0)
        return cal_fail(error, CAL_NOT_AVAILABLE, "this processor cannot run %d lanes; at most %d", lanes, cal_best_lanes());
    cal_machine* machine = cal_allocate(1, sizeof *machine);
    if (!machine) return cal_fail(error, CAL_NO_MEMORY, "no memory for a machine");
    *machine = (cal_machine){.ops = &serial_ops, .lanes = lanes, .variant = variant};
    *out = machine;
    return CAL_OK;
}
