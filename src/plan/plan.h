// The inside of plans and states.
#pragma once
#include "pass/arrangement.h"
#include "pass/coupled_force.h"
#include "pass/solver_ops.h"
#include "plan/pace.h"
#include <stdalign.h>

// A walk of a tree: the passes that go down it and up it, either of which may be NULL.
typedef struct cal_stage {
    const cal_tree* tree;
    int first_edge; // of the tree's edges, among those of all trees
    const cal_pass *down, *up;
    bool meets; // begins when all processors have finished the stage before
} cal_stage;
enum { CAL_MOST_STAGES = 8 };

struct cal_plan {
    const cal_model* model;
    const cal_model* whole; // the user's: of programs with an arrangement, model is another one
    const cal_program* program;
    struct cal_machine* machine;
    cal_layout* layout;
    cal_arrangement* arrangement; // NULL: the program has none; else model is its model
    cal_tree columns; // one depth-first walk of the layout's columns; no steps in programs that are not spread
    cal_stage stages[CAL_MOST_STAGES]; // what the program's passes are on this model
    int stage_count;
    int variant;                 // of the kernels: pass.h
    int used;                    // processors that have columns: 0 … used - 1, unless the caller chose the owners
    size_t record_size;          // doubles
    bool streams;                // some columns are brief
    struct cal_traffic* traffic; // of machines that send messages
    struct cal_device_plan* on_device; // of devices: what the plan is in their memory
};

// What a processor's neighbours have sent to it, or it to them, in one direction of a stage.
typedef struct cal_count {
    int64_t messages, numbers;
} cal_count;
enum { CAL_COUNTS = 2 * CAL_MOST_STAGES }; // of a processor: stage by stage, up and then down

// What pushes a body, wherever its numbers are: force and torque in the world's axes, the point in the body's frame.
typedef struct cal_outer_force {
    int body;
    double force[3], torque[3], point[3]; // as of cal_sim_push
} cal_outer_force;

struct cal_state {
    const cal_plan* plan;
    cal_context context;
    struct cal_signal* signals; // of machines with several processors: edges of trees say here how far they are
    cal_count* counts;          // CAL_COUNTS of each processor of the machine; each writes its own
    alignas(64) double time;    // what is written in every execution has cache lines of its own
    cal_pace pace;              // of machines with several processors that share memory
    unsigned walk;              // machines with several processors count stages here
    int64_t executions, ridden; // so far, and those with a solver's follow-up
    int unmet;                  // the constraint that the last execution could not meet; CAL_NONE: none
    cal_coupled* coupled;       // of models that have forces which depend on several joints; else NULL
    double* resisting;          // context.resisting of implicit solvers, where there is a medium; else NULL
    double* wrench;             // context.wrench while something pushes; kept for the next push
    cal_outer_force* pushes;    // since the last release, on every process
    int push_count, push_capacity;
    // Where processes have parts of a state: who is asked whether an advance shall end (cal_sim_def), and what the first process said
    // when the last sums were shared.
    cal_interrupt_callback* interrupt;
    void* interrupt_user;
    bool interrupted;
    int refused; // 1 + the body of a push that was not finite, since the last release; 0: none
    // Of devices, whose memory has arrays of its own: which of the host's (CAL_HELD_…) were changed since the device has seen
    // them, and which are older than the device's.
    unsigned changed, behind;
    bool forced; // whether tau was ever set to something else than zeros, which it begins with
    struct cal_device_state* on_device;
};

// Hands what a medium resists by in an implicit step to the context, from state->coupled; copy: of the instance that it is of.
void cal_state_resist(cal_state* state, int copy);
// Executions of aba leave what the mass matrix is factored with (pass.h, responses), from now on.
cal_status cal_state_keep_responses(cal_state* state);

// A state's arrays of which a device has its own.
enum {
    CAL_HELD_Y = 1,
    CAL_HELD_YDOT = 2,
    CAL_HELD_TAU = 4,
    CAL_HELD_CONTROL = 8,
    CAL_HELD_WRENCH = 16,
    CAL_HELD_FIRST = 32,   // the solver's vectors[0]
    CAL_HELD_VECTORS = 64, // all of its vectors
    CAL_HELD_SCALE = 128,
    CAL_HELD_MOTION = CAL_HELD_Y | CAL_HELD_YDOT
};
// Before the host reads arrays, or writes a part of them: they are what the device's are. After it has written: says so.
cal_status cal_state_bring(const cal_state* state, unsigned what);
static inline void cal_state_changed(cal_state* state, unsigned what) {
    state->changed |= what;
    state->behind &= ~what;
}

// What an edge carries in a pass of the plan.
static inline cal_crossing cal_plan_crossing(const cal_plan* plan, const cal_pass* pass, int edge) {
    if (pass->crossing) return pass->crossing(plan->arrangement, edge);
    const cal_column* column = &plan->layout->columns[edge];
    return (cal_crossing){pass->direction == CAL_OUTBOUND ? column->end_slot
                          : pass->for_solver              ? column->sum_slot
                                                          : column->up_slot,
                          pass->crosses * column->lanes};
}

// Writes the steps of the plan's columns; part of making a plan.
cal_status cal_columns_write_steps(cal_plan* plan);
// Those of a plan whose trunk is repeated (trunk_steps.c): the columns' lists of children are those of
// cal_layout_link_children. An emitter of cal_steps_write.
typedef struct cal_column_tree {
    const cal_layout* layout;
    int32_t *first, *next;
} cal_column_tree;
void cal_trunk_emit_steps(cal_step_writer* writer, const void* tree);
// The steps of private columns, in either form.
void cal_columns_visit_private(cal_step_writer* writer, const cal_layout* layout);

// Finds the stages of the plan's program; part of making a plan. false: it has more than CAL_MOST_STAGES.
bool cal_plan_find_stages(cal_plan* plan);

// What to plan. owners: a processor for each node, or NULL: the machine's own choice.
typedef struct cal_plan_def {
    const cal_model* model;
    const cal_program* program;
    struct cal_machine* machine;
    int copies; // instances side by side (ensembles); else 1
    const int32_t* owners;
    const char* schedule; // of programs with an arrangement: the user's words for it; NULL: its own choice
} cal_plan_def;
// What the user asks for, or else what the program does on such a machine; NULL: its own choice.
const char* cal_plan_schedule(const cal_program* program, const struct cal_machine* machine, const char* schedule);
cal_status cal_plan_create_def(const cal_plan_def* def, cal_plan** out, cal_error* error);

// How many sums an execution of the state sends up the tree: those of the solver that rides along, if any.
CAL_FOR_PARTS int cal_state_sums(const cal_state* state);
// What this process has to say of an interruption, 1: the advance shall end. Only the first one is asked.
CAL_FOR_PARTS double cal_state_ask(const cal_state* state);
// Executes with a solver riding along (NULL: none); sums: cal_sums_count numbers, may be NULL without a solver.
// prepared: y has been written already (cal_plan_prepare), so that prepare is not run again.
cal_status cal_plan_run(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver,
                        cal_solver_context* solver_context, bool prepared, double* sums);
// The forces of joints alone, of all of them, in the user's order: for those who find accelerations by themselves. The host's y is read.
cal_status cal_plan_find_forces(const cal_plan* plan, cal_state* state, double* out);
// Parts of an execution, for those who change something in between: all but the last walk; the last walk; the solver's follow-up alone,
// whose ydot may have been changed. Made of a plan, which must live longer; NULL on a device.
typedef enum cal_plan_part { CAL_PART_FIRST, CAL_PART_LAST, CAL_PART_SUMS } cal_plan_part;
cal_status cal_plan_create_part(const cal_plan* plan, cal_plan_part what, cal_plan** out);
void cal_plan_destroy_part(cal_plan* part); // NULL is allowed
// Runs the last walk, or the follow-up alone (also on a device, which needs no part), after what is before it.
cal_status cal_plan_follow(const cal_plan* plan, const cal_plan* part, cal_state* state, const cal_solver_ops* solver,
                           cal_solver_context* solver_context, double* sums);
// What need not wait for the first execution with a solver: memory is touched by the cores that work with it, or taken on a device, and filled
// with what is known. After that the solver's vectors, but for the first, are zeros.
cal_status cal_plan_ready(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver,
                          cal_solver_context* context);
// Writes y at a time inside the last accepted step into `out` (y-shaped), on all columns whose numbers are here.
cal_status cal_plan_interpolate(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver,
                                const void* control, cal_solver_context* solver_context, double time, double* out);
// The same in the user's order on a machine that samples (machine_ops.h).
cal_status cal_plan_sample(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver, const void* control,
                           cal_solver_context* solver_context, double time, double* q, double* v);
// On a machine that places (machine_ops.h): the solver's first vector becomes q and v.
cal_status cal_plan_place(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver,
                          cal_solver_context* solver_context, const double* q, const double* v);
// Runs the solver's prepare alone on every column.
cal_status cal_plan_prepare(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver,
                            cal_solver_context* solver_context);

// Scatters q and v, on all cores that have columns.
cal_status cal_plan_scatter(const cal_plan* plan, const double* q, const double* v, double* y);
// Gathers q and v of a y-shaped vector (either may be NULL), from all processors where memory is not shared.
cal_status cal_plan_gather(const cal_plan* plan, const double* y, double* q, double* v);

// Gives every process all of q and v, where each has gathered its own part.
cal_status cal_plan_collect(const cal_plan* plan, double* q, double* v);

// Calls a function for every column whose numbers are here, each on its owner's core.
typedef void cal_column_function(void* argument, const cal_column* column);
cal_status cal_plan_each(const cal_plan* plan, cal_column_function* function, void* argument);

// Where a body is, from the motion of the node that carries it (jacobian.c).
void cal_state_body_pose(const cal_state* state, int body, double pose[7]);
// A force and a moment about the node's origin, world's axes, from outside.
cal_status cal_state_push_node(cal_state* state, int node, const double force[3], const double moment[3]);
uint64_t cal_hash_motion(double time, const double* q, int q_count, const double* v, int v_count);
