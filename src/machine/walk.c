// One processor's part of a program. Serial, threads and ranks run the same steps; they differ in how they wait.
#include "machine/machine.h"

// One processor's part of one stage.
static void walk(const cal_plan* plan, const cal_context* context, const cal_stage* stage, const cal_pass* up,
                 int processor, bool prepares, cal_exchange* exchange) {
    const cal_pass* down = stage->down;
    const cal_tree* tree = stage->tree;
    cal_kernel* const down_kernel = down ? down->kernels[plan->variant] : NULL;
    cal_kernel* const up_kernel = up ? up->kernels[plan->variant] : NULL;
    cal_kernel* const pull_kernel = up ? up->pulls[plan->variant] : NULL;
    const bool sums = up && up->for_solver;
    if (!down && !up) return;
    const int end = tree->first_step[processor + 1];
    for (int i = tree->first_step[processor]; i < end; i++) {
        const cal_step step = tree->steps[i];
        switch (step.kind) {
        case CAL_STEP_WAIT_DOWN:
            if (down) exchange->wait(exchange, step.index, true);
            break;
        case CAL_STEP_DOWN:
            if (prepares) context->solver_ops->prepare(context->solver, &plan->layout->columns[step.index]);
            if (down) down_kernel(context, step.index);
            break;
        case CAL_STEP_POST_DOWN:
            if (down) exchange->post(exchange, step.index, true);
            break;
        case CAL_STEP_PULL:
        case CAL_STEP_PULL_COPY:
            if (pull_kernel && (step.kind == CAL_STEP_PULL || !sums)) pull_kernel(context, step.index);
            break;
        case CAL_STEP_UP:
            if (up) up_kernel(context, step.index);
            break;
        case CAL_STEP_WAIT_COPY:
            if (up && !sums) exchange->wait(exchange, step.index, false);
            break;
        case CAL_STEP_WAIT_UP:
        case CAL_STEP_WAIT_SUMS:
            if (step.kind == CAL_STEP_WAIT_UP ? up != NULL : sums) exchange->wait(exchange, step.index, false);
            break;
        default:
            if (step.kind == CAL_STEP_POST_UP ? up != NULL : sums) exchange->post(exchange, step.index, false);
            break;
        }
    }
}

// Who has the only part waits for nobody.
static void begin_alone(cal_exchange* exchange, const cal_stage* stage, const cal_pass* up) {
    (void)exchange, (void)stage, (void)up;
}
static void need_nobody(cal_exchange* exchange, int edge, bool down) { (void)exchange, (void)edge, (void)down; }

void cal_run_stages(const cal_plan* plan, const cal_state* state, int processor, bool prepared,
                    cal_exchange* exchange) {
    const cal_context* context = &state->context;
    cal_exchange alone = {begin_alone, need_nobody, need_nobody};
    const bool waits = exchange != NULL;
    if (!exchange) exchange = &alone;
    for (int i = 0; i < plan->stage_count; i++) {
        const cal_stage* stage = &plan->stages[i];
        const cal_pass* up = stage->up && stage->up->for_solver && !context->solver ? NULL : stage->up;
        exchange->begin(exchange, stage, up);
        walk(plan, context, stage, up, processor, i == 0 && context->solver && !prepared, exchange);
        // Others wait for what comes of a stage, also after one that failed.
        if (!waits && state->unmet != CAL_NONE) return;
    }
}
