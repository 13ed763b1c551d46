// What machines share: walking a plan, waiting for each other. What a machine is: plan/machine_ops.h.
#pragma once
#include "base/parts.h"
#include "plan/distribution.h"
#include "plan/machine_ops.h"

// The variant of the kernels that this processor should run for a number of lanes; -1 when it cannot.
int cal_processor_variant(int lanes);
// Fills in what all machines have, and checks lanes (0: the best).
CAL_FOR_PARTS cal_status cal_machine_begin(cal_machine* machine, const cal_machine_ops* ops, int lanes, int processors,
                                           cal_error* error);

// How processors wait for each other at edges of trees (pass/tree.h) that another processor has the other end of.
typedef struct cal_exchange {
    // A stage begins; up: its pass that goes up, or NULL where it is left out.
    void (*begin)(struct cal_exchange* exchange, const cal_stage* stage, const cal_pass* up);
    void (*wait)(struct cal_exchange* exchange, int edge, bool down);
    void (*post)(struct cal_exchange* exchange, int edge, bool down);
} cal_exchange;

// Runs a plan of one processor, or a swept one, on the calling thread.
CAL_FOR_PARTS void cal_execute_alone(const cal_plan* plan, cal_state* state, bool prepared);

// One processor's part of all stages of a walked plan; exchange: NULL where it has the only part.
CAL_FOR_PARTS void cal_run_stages(const cal_plan* plan, const cal_state* state, int processor, bool prepared,
                                  cal_exchange* exchange);
