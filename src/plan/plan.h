// The inside of plans and states.
#pragma once
#include "pass/pass.h"
#include "schedule/schedule.h"
#include "pass/solver_ops.h"

// A processor's part of a walk, in three stretches: its shared columns down; its private subtrees, each down and up; its
// shared columns up, children before parents.
//
//     processor 0   down trunk ─ down a ─┬─ (subtrees of a, down and up) ─┬─ up a ─ up trunk
//                                        │                                │
//     processor 1                        └─ (other subtrees of a) ────────┘
//
// The parts of all processors together, stretch by stretch, are one order in which everything comes after what it needs;
// each keeps that order, so none can wait for something that will not come.
typedef enum cal_step_kind {
    CAL_STEP_WAIT_DOWN, // until the end of the column's parent, another processor's, is there
    CAL_STEP_DOWN,
    CAL_STEP_POST_DOWN, // the column's end is there, for other processors' columns below it
    CAL_STEP_WAIT_UP,   // until what the column, another processor's, leaves for its parent is there
    CAL_STEP_PULL,
    CAL_STEP_UP,
    CAL_STEP_POST_UP // what the column leaves for its parent, another processor's, is there
} cal_step_kind;
typedef struct cal_step {
    int32_t kind;
    int32_t column;
} cal_step;

struct cal_plan {
    const cal_model* model;
    const cal_program* program;
    struct cal_machine* machine;
    cal_layout* layout;
    cal_step* steps;             // walked programs: one depth-first walk, processor by processor
    int32_t* first_step;         // processors + 1
    int variant;                 // of the kernels: pass.h
    int used;                    // processors that have columns: 0 … used - 1, unless the caller chose the owners
    size_t record_size;          // doubles
    struct cal_traffic* traffic; // of machines that send messages
    // Programs that join: model is the schedule's forest.
    cal_schedule* schedule;
    cal_slot_layout* slots;
};

struct cal_state {
    const cal_plan* plan;
    cal_context context;
    double time;
    unsigned walk;              // machines with several processors count walks here …
    struct cal_signal* signals; // … and columns, then elements at crossings, say here how far they are
    double* wrench;             // context.wrench while something pushes; kept for the next push
};

// Whether there is something to do between walks.
static inline bool cal_plan_joins(const cal_plan* plan) {
    return plan->program->join && plan->schedule->port_count > 0;
}

// The pass to begin with: where nothing was cut there are no bases to be found.
static inline int cal_plan_first_pass(const cal_plan* plan) {
    return plan->program->join && plan->schedule->port_count == 0 ? CAL_JOINED_WALK : 0;
}

// What to plan. owners: a processor for each node, or NULL: the machine's own choice.
typedef struct cal_plan_def {
    const cal_model* model;
    const cal_program* program;
    struct cal_machine* machine;
    int copies; // instances side by side (ensembles); else 1
    const int32_t* owners;
    cal_schedule_choice schedule; // of programs that join
} cal_plan_def;
cal_status cal_plan_create_def(const cal_plan_def* def, cal_plan** out, cal_error* error);

// Executes with a solver riding along (NULL: none); sums: sum_count numbers for solver, may be NULL without one.
// prepared: y has been written already (cal_plan_prepare), so that prepare is not run again.
cal_status cal_plan_run(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver,
                        cal_solver_context* solver_context, bool prepared, double* sums);
// Runs the solver's prepare alone on every column.
void cal_plan_prepare(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver,
                      cal_solver_context* solver_context);

// Moves numbers between the user's order and a y-shaped vector of instance `copy`; q and v may be NULL.
void cal_layout_scatter(const cal_layout* layout, int copy, const double* q, const double* v, double* y);
void cal_layout_gather(const cal_layout* layout, int copy, const double* y, double* q, double* v);

// Scatters q and v, on all cores that have columns.
cal_status cal_plan_scatter(const cal_plan* plan, const double* q, const double* v, double* y);
// Gathers q and v of a y-shaped vector (either may be NULL), from all processors where memory is not shared.
cal_status cal_plan_gather(const cal_plan* plan, const double* y, double* q, double* v);

// The same for the numbers of one column, of instance 0.
void cal_layout_gather_column(const cal_layout* layout, const cal_column* column, const double* y, double* q,
                              double* v);
void cal_layout_scatter_column(const cal_layout* layout, const cal_column* column, const double* q, const double* v,
                               double* y);
// Gives every process all of q and v, where each has gathered its own part.
cal_status cal_plan_collect(const cal_plan* plan, double* q, double* v);

// Calls a function for every column whose numbers are here, each on its owner's core.
typedef void cal_column_function(void* argument, const cal_column* column);
cal_status cal_plan_each(const cal_plan* plan, cal_column_function* function, void* argument);

// Finds the first node, in the order of the tree, whose y or ydot is not finite; -1 when all are.
int cal_state_find_not_finite(const cal_state* state, const double* y, const double* ydot);
// As cal_state_hold, for those constraints that are active (the caller's memory), and a gain for what slips; false when the
// plan's program does not close loops.
bool cal_state_hold_active(cal_state* state, const bool* active, double error, double speed, double slips);
// A force and a moment about the node's origin, world's axes, from outside.
cal_status cal_state_push_node(cal_state* state, int node, const double force[3], const double moment[3]);
// The constraint that the last execution of a program that joins could not meet; CAL_NONE: all were.
int cal_state_inconsistent(const cal_state* state);
void cal_state_set_inconsistent(cal_state* state, int constraint);
// Of programs that join: where the numbers of elements are (cal_element).
double* cal_state_elements(const cal_state* state);
uint64_t cal_hash_motion(double time, const double* q, int q_count, const double* v, int v_count);
