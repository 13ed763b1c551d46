// Mobiles on several processors, for Jung's tables: what crosses between links, and what an evaluation takes.
#pragma once
#include "calder/calder.h"

enum { CAL_MOST_PASSES = 8 };

// A simulation whose solver rides in the passes (Table IX), or one with a solver on the first processor alone (Table VIII).
typedef struct cal_mobile_run {
    int joints, processors; // processors that have joints
    int pass_count;
    cal_pass_traffic sent[CAL_MOST_PASSES];      // in all executions
    cal_pass_traffic predicted[CAL_MOST_PASSES]; // in one
    int64_t evaluations;
    int64_t spread,
        gathered;   // of the central solver: numbers per evaluation of q and v to the others, of accelerations back
    double seconds; // per evaluation
    uint64_t hash;  // of the final q and v, where the caller asks for it
} cal_mobile_run;

// Whether what was sent is what was predicted, in every pass.
bool cal_mobile_run_agrees(const cal_mobile_run* run);

// Gear's method, or with a step > 0 rk4, distributed over the processors of the machine by a placement; to a time. q and v: the final
// state, may be NULL.
cal_status cal_run_distributed(const cal_model* model, cal_machine* machine, const int32_t* placement, double step,
                               double time, double* q, double* v, cal_mobile_run* out, cal_error* error);
// rk4 on the first processor: it sends q and v to all, they compute the accelerations and send them back. For joints of one degree.
cal_status cal_run_central(const cal_model* model, cal_machine* machine, const int32_t* placement, double step,
                           double time, double* q, double* v, cal_mobile_run* out, cal_error* error);
