// What machines share: walking a plan, waiting for each other. What a machine is: plan/machine_ops.h.
#pragma once
#include "base/parts.h"
#include "plan/distribution.h"
#include "plan/machine_ops.h"

// Fills in what all machines have, and checks lanes (0: the best).
CAL_FOR_PARTS cal_status cal_machine_begin(cal_machine* machine, const cal_machine_ops* ops, int lanes, int processors,
                                           cal_error* error);

// How processors wait for each other at edges of trees (pass/tree.h) that another processor has the other end of.
typedef struct cal_exchange {
    // A stage begins; up: its pass that goes up, or NULL where it is left out.
    void (*begin)(struct cal_exchange* exchange, const cal_stage* stage, const cal_pass* up);
    void (*wait)(struct cal_exchange* exchange, int edge, bool down);
    void (*post)(struct cal_exchange* exchange, int edge, bool down);
    // Optional, of one thread that runs several parts in turn: whether a stage may begin, and whether it need not wait.
    bool (*may_begin)(struct cal_exchange* exchange, const cal_stage* stage);
    bool (*is_there)(struct cal_exchange* exchange, int edge, bool down);
} cal_exchange;

// How far a processor is in its part; all zero at its begin.
typedef struct cal_walk {
    int stage, step;
    bool begun;
} cal_walk;

// Runs a plan of one processor, or a swept one, on the calling thread.
CAL_FOR_PARTS void cal_execute_alone(const cal_plan* plan, cal_state* state, bool prepared);

// One processor's part of all stages of a walked plan; exchange: NULL where it has the only part.
CAL_FOR_PARTS void cal_run_stages(const cal_plan* plan, const cal_state* state, int processor, bool prepared,
                                  cal_exchange* exchange);
// The same until it would have to wait for something that is not there yet (is_there); true: it is over.
bool cal_walk_stages(const cal_plan* plan, const cal_state* state, int processor, bool prepared, cal_exchange* exchange,
                     cal_walk* at);
// For tests: before each execution of a machine of threads chance says whether one thread runs all parts; 0: the clock does.
void cal_machine_vary(cal_machine* machine, uint64_t seed);
