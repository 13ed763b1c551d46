// The clock of instances that are advanced together by fixed steps (lockstep.c, resident.c): those that began at the same time share
// one, and with it the solver's control. When their steps end and what their polynomial is asked for is then as a simulation by
// itself would have it.
#pragma once
#include "ensemble/ensemble.h"
#include "layout/layout.h"

enum { CAL_CLOCK_NUMBERS = 8, CAL_CLOCK_DOWN = 4 };

typedef struct cal_step_clock {
    double memory[CAL_CLOCK_NUMBERS]; // of the solver's control
    double down[CAL_CLOCK_DOWN];
    cal_step_decision decision;
    bool interpolates;          // a step has been accepted
    bool moves;                 // has not arrived yet
    int64_t steps, evaluations; // of this job
    int lives;                  // where they are counted: instances that have it and have not failed
} cal_step_clock;

void cal_clock_start(cal_step_clock* clock, const cal_ensemble_job* job, double time);
// After an evaluation. Its sums, which would stop everybody, are not shown to control: each instance is looked at when it has arrived.
cal_status cal_clock_control(cal_step_clock* clock, const cal_ensemble_job* job);
// Whether it has arrived when the next evaluation completes a step, so that its polynomial will be asked for.
bool cal_clock_arrives(const cal_step_clock* clock, const cal_ensemble_job* job);
bool cal_clock_has_arrived(const cal_step_clock* clock, const cal_ensemble_job* job);
// Time does not get on for an instance, since the step is too small for it.
void cal_clock_fail(const cal_step_clock* clock, const cal_ensemble_job* job, cal_ensemble* ensemble, int instance,
                    cal_status status);
// What an instance comes to at the end of a job: the lane of y that has it, or, where a node is not finite (-1: all are), its failure.
void cal_clock_show(const cal_step_clock* clock, const cal_ensemble_job* job, cal_ensemble* ensemble, int instance,
                    const cal_layout* layout, int lane, const double* y, int node);
