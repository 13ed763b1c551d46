// One processor's part of a program. Serial, threads and ranks run the same steps; they differ in how they wait.
#include "machine/machine.h"

static bool wait_for(cal_exchange* exchange, int edge, bool down) {
    if (exchange->is_there && !exchange->is_there(exchange, edge, down)) return false;
    exchange->wait(exchange, edge, down);
    return true;
}

// One processor's part of one stage, from a step on; false: the step must wait.
static bool walk(const cal_plan* plan, const cal_context* context, const cal_stage* stage, const cal_pass* up,
                 int processor, bool prepares, cal_exchange* exchange, int* at) {
    const cal_pass* down = stage->down;
    const cal_tree* tree = stage->tree;
    cal_kernel* const down_kernel = down ? down->kernels[plan->variant] : NULL;
    cal_kernel* const up_kernel = up ? up->kernels[plan->variant] : NULL;
    cal_kernel* const pull_kernel = up ? up->pulls[plan->variant] : NULL;
    const bool sums = up && up->for_solver;
    if (!down && !up) return true;
    const int end = tree->first_step[processor + 1];
    for (int i = *at; i < end; i++) {
        const cal_step step = tree->steps[i];
        switch (step.kind) {
        case CAL_STEP_WAIT_DOWN:
            if (down && !wait_for(exchange, step.index, true)) return (void)(*at = i), false;
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
            if (up && !sums && !wait_for(exchange, step.index, false)) return (void)(*at = i), false;
            break;
        case CAL_STEP_WAIT_UP:
        case CAL_STEP_WAIT_SUMS:
            if ((step.kind == CAL_STEP_WAIT_UP ? up != NULL : sums) && !wait_for(exchange, step.index, false))
                return (void)(*at = i), false;
            break;
        default:
            if (step.kind == CAL_STEP_POST_UP ? up != NULL : sums) exchange->post(exchange, step.index, false);
            break;
        }
    }
    return true;
}

// Who has the only part waits for nobody.
static void begin_alone(cal_exchange* exchange, const cal_stage* stage, const cal_pass* up) {
    (void)exchange, (void)stage, (void)up;
}
static void need_nobody(cal_exchange* exchange, int edge, bool down) { (void)exchange, (void)edge, (void)down; }

// What brief columns have written past the caches (pass/aba_brief.h) is there for others before anything that is said to them.
static void settle(const cal_plan* plan) {
#ifdef __x86_64__
    if (plan->streams) __builtin_ia32_sfence();
#else
    (void)plan;
#endif
}

static bool walk_stages(const cal_plan* plan, const cal_state* state, int processor, bool prepared,
                        cal_exchange* exchange, bool waits, cal_walk* at) {
    const cal_context* context = &state->context;
    for (; at->stage < plan->stage_count; at->stage++, at->begun = false) {
        const cal_stage* stage = &plan->stages[at->stage];
        const bool follows = context->solver && (!context->solver_ops || context->solver_ops->follow_up);
        const cal_pass* up = stage->up && stage->up->for_solver && !follows ? NULL : stage->up;
        if (!at->begun) {
            if (exchange->may_begin && !exchange->may_begin(exchange, stage)) return false;
            exchange->begin(exchange, stage, up);
            at->begun = true;
            at->step = stage->tree->first_step[processor];
        }
        const bool prepares = at->stage == 0 && context->solver && context->solver_ops && !prepared;
        if (!walk(plan, context, stage, up, processor, prepares, exchange, &at->step)) return false;
        settle(plan);
        // Others wait for what comes of a stage, also after one that failed.
        if (!waits && state->unmet != CAL_NONE) return true;
    }
    return true;
}

bool cal_walk_stages(const cal_plan* plan, const cal_state* state, int processor, bool prepared, cal_exchange* exchange,
                     cal_walk* at) {
    return walk_stages(plan, state, processor, prepared, exchange, true, at);
}

void cal_run_stages(const cal_plan* plan, const cal_state* state, int processor, bool prepared,
                    cal_exchange* exchange) {
    cal_exchange alone = {.begin = begin_alone, .wait = need_nobody, .post = need_nobody};
    cal_walk at = {0};
    (void)walk_stages(plan, state, processor, prepared, exchange ? exchange : &alone, exchange != NULL, &at);
}
