// A machine runs plans. A small table of functions, only at this level: no indirect call inside a kernel.
#pragma once
#include "plan/distribution.h"
#include "plan/plan.h"

typedef void cal_task(void* argument, int processor);

typedef struct cal_machine_ops {
    const char* name;
    // Runs the plan's program once on the state; the context's solver, where set, rides along.
    cal_status (*execute)(struct cal_machine* machine, const cal_plan* plan, cal_state* state, bool prepared);
    void (*destroy)(struct cal_machine* machine);
    // Optional: calls a function for every column, each on its owner's core.
    cal_status (*each)(struct cal_machine* machine, const cal_plan* plan, cal_column_function* function,
                       void* argument);
    // Optional: runs a task for each of the first `count` processors at the same time, each on its own core.
    cal_status (*together)(struct cal_machine* machine, cal_task* task, void* argument, int count);
    // Optional, between the processors of such a task, or the processes where memory is not shared: shows to all the `count`
    // numbers that each has. all[p] is where processor p's are: its own memory, which must not change before its next
    // gather has returned, or in `room` (processors × count numbers), which machines that share memory do not need.
    cal_status (*gather)(struct cal_machine* machine, int processor, const double* own, int count, double* room,
                         const double** all);
    // Optional, for machines whose memory is not shared. Before a plan is made: whether all agree on the model.
    cal_status (*agree)(struct cal_machine* machine, const cal_model* model, cal_error* error);
    // What a machine adds to a plan (plan->traffic), and takes away again.
    cal_status (*attach)(struct cal_machine* machine, cal_plan* plan, cal_error* error);
    void (*detach)(cal_plan* plan);
    // Gives every processor the numbers that processor 0 has.
    cal_status (*share)(struct cal_machine* machine, double* values, int count);
    // Gives every processor all components of a vector in the user's order, of which each has those of its own nodes.
    cal_status (*collect)(struct cal_machine* machine, const cal_plan* plan, double* q, double* v);
} cal_machine_ops;

struct cal_machine {
    const cal_machine_ops* ops;
    int lanes;
    int variant; // of the kernels: pass.h
    int processors;
    int keep;        // the processor that this process is, where memory is not shared; else CAL_KEEP_ALL
    cal_costs costs; // for choosing owners
};

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
