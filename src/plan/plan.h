// The inside of plans and states.
#pragma once
#include "pass/pass.h"
#include "solver/solver.h"

// A walk's steps, in order: what a serial machine does, and what a threaded one cuts into pieces.
typedef enum cal_step_kind { CAL_STEP_DOWN, CAL_STEP_UP, CAL_STEP_PULL } cal_step_kind;
typedef struct cal_step {
    int32_t kind;
    int32_t column;
} cal_step;

struct cal_plan {
    const cal_model* model;
    const cal_program* program;
    struct cal_machine* machine;
    cal_layout* layout;
    cal_step* steps; // walked programs: one depth-first walk
    int step_count;
    int variant;        // of the kernels: pass.h
    size_t record_size; // doubles
};

struct cal_state {
    const cal_plan* plan;
    cal_context context;
    double time;
    bool has_forces;  // context.force is memory of its own
    double* wrench;   // context.wrench while something pushes; kept for the next push
};

// Plans for `copies` instances side by side (ensembles).
cal_status cal_plan_create_copies(const cal_model* model, const cal_program* program, struct cal_machine* machine, int copies,
                                  cal_plan** out, cal_error* error);

// Executes with a solver riding along (NULL: none); sums: sum_count numbers for solver, may be NULL without one.
// prepared: y has been written already (cal_plan_prepare), so that prepare is not run again.
cal_status cal_plan_run(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver, cal_solver_context* solver_context,
                        bool prepared, double* sums);
// Runs the solver's prepare alone on every column.
void cal_plan_prepare(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver, cal_solver_context* solver_context);

// Moves numbers between the user's order and a y-shaped vector of instance `copy`; q and v may be NULL.
void cal_layout_scatter(const cal_layout* layout, int copy, const double* q, const double* v, double* y);
void cal_layout_gather(const cal_layout* layout, int copy, const double* y, double* q, double* v);

// Finds the first node, in the order of the tree, whose y or ydot is not finite; -1 when all are.
int cal_state_find_not_finite(const cal_state* state, const double* y, const double* ydot);
uint64_t cal_hash_motion(double time, const double* q, int q_count, const double* v, int v_count);
