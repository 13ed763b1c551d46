// The inside of a simulation, for what advances it (sim.c) and what writes it down (record/checkpoint.c).
#pragma once
#include "plan/plan.h"
#include "solver/bdf.h"

typedef struct cal_push {
    int body;
    double force[3], torque[3], point[3];
} cal_push;

// A second plan that looks at the state: poses and energy, or its accelerations again.
typedef struct cal_observer {
    cal_machine* machine;
    cal_plan* plan;
    cal_state* state;
    bool current; // has been executed at the simulation's time
} cal_observer;

struct cal_sim {
    const cal_model* model;
    cal_sim_def def;
    cal_machine* own_machine; // NULL: the user's
    cal_plan* plan;
    cal_state* state;
    cal_observer observer, checker;
    double time;
    double *q, *v;                                         // at `time`, the user's order, v after q in one block
    double *seen_q, *seen_v;                               // at an evaluation, for the force callback
    double *tau, *control, *changed_tau, *changed_control; // what the user set; what the callback made of it
    cal_push* pushes;
    int push_count, push_capacity;

    cal_solver_settings settings;
    const cal_solver_ops* ops; // NULL: BDF
    cal_bdf* bdf;
    cal_solver_context context;
    void* memory; // control's
    double* block;
    size_t stride; // doubles from one vector of the block to the next
    double** vectors;
    double* sample; // y-shaped, where the polynomial is evaluated
    double down[CAL_MAX_DOWN], sums[CAL_MAX_SUMS];
    cal_verdict verdict;
    bool running;      // the solver has begun
    bool slow_band;    // the state's records hold one
    bool interpolates; // nothing was executed since the last accepted step
    int64_t spent;     // evaluations of this advance
    cal_sim_report report;
    cal_bdf_report before; // BDF's own counts are since it was made: what a checkpoint adds to them
};

// Hands what pushes and drives to the state, as a solver that begins does.
cal_status cal_sim_apply(cal_sim* sim);
