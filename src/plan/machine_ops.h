// A machine as plans see it: a small table of functions, only at this level: no indirect call inside a kernel.
#pragma once
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
