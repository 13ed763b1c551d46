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

// Whether what a column leaves is for anybody: the ground takes sums alone.
static bool arrives(const cal_plan* plan, const cal_pass* up, int column) {
    return up && (up->for_solver || plan->layout->columns[column].parent >= 0);
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
            if (arrives(plan, up, step.column)) exchange->wait_up(exchange, step.column);
            break;
        case CAL_STEP_PULL:
            if (pull_kernel) pull_kernel(context, step.column);
            break;
        case CAL_STEP_UP:
            if (up) up_kernel(context, step.column);
            break;
        default:
            if (arrives(plan, up, step.column)) exchange->post_up(exchange, step.column);
            break;
        }
    }
}

// What a batch needs of others, or they of it: inbound the two elements of each join, and its own for its parent; outbound its
// own from its parent, and the two elements'.
static void exchange_batch(const cal_schedule* s, const cal_batch* batch, int processor, bool outbound, bool wait,
                           cal_exchange* exchange) {
    for (int i = batch->first; i < batch->first + batch->count; i++) {
        const cal_element* e = &s->elements[s->order[i]];
        if (outbound == wait) {
            if (e->crossing >= 0) (wait ? exchange->wait_join : exchange->post_join)(exchange, s->order[i], outbound);
            continue;
        }
        const int32_t joined[2] = {e->a, e->b};
        for (int k = 0; k < 2 && joined[k] >= 0; k++)
            if (s->elements[joined[k]].processor != processor)
                (wait ? exchange->wait_join : exchange->post_join)(exchange, joined[k], outbound);
    }
}

cal_status cal_join_batches(const cal_plan* plan, const cal_context* context, int walk, int processor,
                            cal_exchange* exchange) {
    const cal_schedule* s = plan->schedule;
    const int first = s->first_batch[processor], count = s->first_batch[processor + 1] - first;
    cal_status status = CAL_OK;
    for (int step = 0; step < 2 * count; step++) {
        const bool outbound = step >= count;
        const int batch = first + (outbound ? 2 * count - 1 - step : step);
        if (exchange) exchange_batch(s, &s->batches[batch], processor, outbound, true, exchange);
        const cal_status joined = plan->program->join(context, walk, outbound, batch);
        if (joined != CAL_OK) status = joined;
        if (exchange) exchange_batch(s, &s->batches[batch], processor, outbound, false, exchange);
    }
    return status;
}
