// A step of the implicit integrator of contact groups (group_implicit.c), in two files: the solution of the whole step (group_whole.c), and
// how long and of which kind it is (group_trial.c).
#pragma once
#include "simulation/contact/group_work.h"

// What turns by itself turns alike in a whole step and in its halves, so that these differ by what contacts do.
enum { CAL_STEP_HALVES = 2 };
#define CAL_STEP_KINKED 0.125 // of the smallest step: a smooth one is not shorter,
// but where few are: what slides at 1e-6 of its speeds, which is the least that has a direction (group_smooth.c), turns so much faster than these change.
#define CAL_STEP_BRIEF 1e-6
#define CAL_STEP_USUAL 1e-4 // the tolerance that is the default
#define CAL_STEP_TURNED 1.0 // rad: no step turns anything free further

// Of what a step that is not smooth may be off by, and of how short it is made for that. Where all of a group's steps are such, they go with the root of
// the tolerance. In a small group of free bodies they are between smooth ones, and what they are off by counts beside what these are: from the
// usual tolerance on they go with the tolerance itself.
static inline double cal_work_rare_share(const cal_group_work* work) {
    return work->lands ? fmin(1.0, sqrt(work->group->tolerance / CAL_STEP_USUAL)) : 1.0;
}

// The largest of |a scale_a − b scale_b| over the units, as angles.
double cal_work_measure(const cal_group* group, const double* a, const double* b, double scale_a, double scale_b);

// The whole step, or a better solution of it, in `whole`. Impacts of several restitutions at once could make energy of nothing: then none of
// them bounces.
void cal_whole_solve(cal_group_work* work, const double* v, double h, bool again);
// By how much its velocities jump: what contacts changed that their forces before would not have. Leaves in `predicted` how the units move in
// it, as the head of group_implicit.c says.
double cal_whole_find_jump(cal_group_work* work, const double* v, double h);
// What it does beside velocities: work, impulses, impacts.
void cal_whole_take(cal_group_work* work, double time, const double* v, double h);
// How deep bodies overlap after it, since their ways are not straight.
cal_status cal_whole_find_depth(cal_group_work* work, double time, const double* q, double h, double* depth,
                                cal_error* error);
// The whole step again, with gaps as they are at its end. Returns whether it has taken no energy from nowhere.
bool cal_whole_solve_bent(cal_group_work* work, const double* v, double h);

// One step from a time, q and v, none of less than `smallest` but where something is come to: *h becomes its size, *next what to try after it.
cal_status cal_trial_run(cal_group_work* work, double time, double* q, double* v, double smallest, double* h,
                         double* next, cal_error* error);
