// One processor's part of a walk. Serial, threads and ranks run the same steps; they differ in how they wait.
#include "machine/machine.h"

bool cal_next_walk(const cal_program* program, const cal_context* context, int* i, const cal_pass** down,
                   const cal_pass** up) {
    *down = *up = NULL;
    if (*i >= program->pass_count) return false;
    if (program->passes[*i].direction == CAL_OUTBOUND) *down = &program->passes[(*i)++];
    if (*i < program->pass_count && program->passes[*i].direction == CAL_INBOUND) *up = &program->passes[(*i)++];
    if (*up && (*up)->for_solver && !context->solver) *up = NULL;
    return true;
}

void cal_walk(const cal_plan* plan, const cal_context* context, int processor, const cal_pass* down, const cal_pass* up,
              bool prepares, cal_exchange* exchange) {
    cal_kernel* const down_kernel = down ? down->kernels[plan->variant] : NULL;
    cal_kernel* const up_kernel = up ? up->kernels[plan->variant] : NULL;
    cal_kernel* const pull_kernel = up ? up->pulls[plan->variant] : NULL;
    const int end = plan->first_step[processor + 1];
    for (int i = plan->first_step[processor]; i < end; i++) {
        const cal_step step = plan->steps[i];
        switch (step.kind) {
        case CAL_STEP_WAIT_DOWN:
            if (down) exchange->wait_down(exchange, step.column);
            break;
        case CAL_STEP_DOWN:
            if (prepares) context->solver_ops->prepare(context->solver, &plan->layout->columns[step.column]);
            if (down) down_kernel(context, step.column);
            break;
        case CAL_STEP_POST_DOWN:
            if (down) exchange->post_down(exchange, step.column);
            break;
        case CAL_STEP_WAIT_UP:
            if (up) exchange->wait_up(exchange, step.column);
            break;
        case CAL_STEP_PULL:
            if (pull_kernel) pull_kernel(context, step.column);
            break;
        case CAL_STEP_UP:
            if (up) up_kernel(context, step.column);
            break;
        default:
            if (up) exchange->post_up(exchange, step.column);
            break;
        }
    }
}
