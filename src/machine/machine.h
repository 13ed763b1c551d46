// A machine runs plans. A small table of functions, only at this level: no indirect call inside a kernel.
#pragma once
#include "plan/plan.h"

typedef struct cal_machine_ops {
    const char* name;
    // Runs the plan's program once on the state; the context's solver, where set, rides along.
    cal_status (*execute)(struct cal_machine* machine, const cal_plan* plan, cal_state* state, bool prepared);
    void (*destroy)(struct cal_machine* machine);
} cal_machine_ops;

struct cal_machine {
    const cal_machine_ops* ops;
    int lanes;
    int variant; // of the kernels: pass.h
};

// The variant of the kernels that this processor should run for a number of lanes; -1 when it cannot.
int cal_processor_variant(int lanes);
