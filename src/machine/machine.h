// What machines share: walking a plan, waiting for each other. What a machine is: plan/machine_ops.h.
#pragma once
#include "plan/distribution.h"
#include "plan/machine_ops.h"

// The variant of the kernels that this processor should run for a number of lanes; -1 when it cannot.
int cal_processor_variant(int lanes);
// Fills in what all machines have, and checks lanes (0: the best).
cal_status cal_machine_begin(cal_machine* machine, const cal_machine_ops* ops, int lanes, int processors,
                             cal_error* error);

// How processors wait for each other at cut edges; called with the column of the step (plan.h), or, between walks, with the
// element at a crossing (plan/schedule.h).
typedef struct cal_exchange {
    void (*wait_down)(struct cal_exchange* exchange, int column);
    void (*post_down)(struct cal_exchange* exchange, int column);
    void (*wait_up)(struct cal_exchange* exchange, int column);
    void (*post_up)(struct cal_exchange* exchange, int column);
    void (*wait_join)(struct cal_exchange* exchange, int element, bool outbound);
    void (*post_join)(struct cal_exchange* exchange, int element, bool outbound);
} cal_exchange;

// Runs a plan of one processor, or a swept one, on the calling thread.
cal_status cal_execute_alone(const cal_plan* plan, cal_state* state, bool prepared);

// One processor's part of one walk: an outbound pass, and the inbound one after it; either may be NULL.
void cal_walk(const cal_plan* plan, const cal_context* context, int processor, const cal_pass* down, const cal_pass* up,
              bool prepares, cal_exchange* exchange);

// One processor's joins after the walk that begins with pass `walk`. All of them are done, also after one that failed: others
// wait for what comes of them.
cal_status cal_join_batches(const cal_plan* plan, const cal_context* context, int walk, int processor,
                            cal_exchange* exchange);

// The walks of a program, one after the other. i counts passes from 0 and is moved on; false when there are no more.
bool cal_next_walk(const cal_program* program, const cal_context* context, int* i, const cal_pass** down,
                   const cal_pass** up);
