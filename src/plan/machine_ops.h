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
    // Optional, with `gather`: the same, or, where that is faster, the caller alone does all of it, as CAL_EVERY_PROCESSOR. pace: of this task.
    void (*paced)(struct cal_machine* machine, cal_task* task, void* argument, int count, cal_pace* pace);
    // Optional, between the processors of such a task, or the processes where memory is not shared: shows to all the `count`
    // numbers that each has. all[p] is where processor p's are: its own memory, which must not change before its next
    // gather has returned, or in `room` (processors × count numbers), which machines that share memory do not need.
    cal_status (*gather)(struct cal_machine* machine, int processor, const double* own, int count, double* room,
                         const double** all);
    // Optional, where processes share memory after all: how many numbers a gather shows in place, without room, 0: none. Of so many each may show as
    // many as it likes: the first ones say how many there are.
    int (*board)(const struct cal_machine* machine);
    // Optional, with such a board: memory for so many numbers of each processor, which others may look at whenever they like; all ask for it at the same time, with
    // the same count. What was there before may be lost. all[p]: where processor p's are, until the next call.
    cal_status (*deposit)(struct cal_machine* machine, size_t count, double*** all);
    // Optional, for machines whose memory is not shared: sends so many numbers to each processor, and takes so many from each, which
    // is what that one sends.
    cal_status (*deliver)(struct cal_machine* machine, const double* const* out, const int* out_counts,
                          double* const* in, const int* in_counts);
    // Optional, for machines whose memory is not shared. Before a plan is made: whether all agree on the model.
    cal_status (*agree)(struct cal_machine* machine, const cal_model* model, cal_error* error);
    // What a machine adds to a plan (plan->traffic), and takes away again.
    cal_status (*attach)(struct cal_machine* machine, cal_plan* plan, cal_error* error);
    void (*detach)(cal_plan* plan);
    // Gives every processor the numbers that processor 0 has.
    cal_status (*share)(struct cal_machine* machine, double* values, int count);
    // Gives every processor all components of a vector in the user's order, of which each has those of its own nodes.
    cal_status (*collect)(struct cal_machine* machine, const cal_plan* plan, double* q, double* v);
    // Of devices, whose memory has its own arrays of a state (plan.h, CAL_HELD_…): brings them to the host, all in `what`; frees
    // them; runs the solver's prepare alone; its follow-up alone; and finds q and v, in the user's order, by its interpolate:
    // CAL_NOT_FINITE where they are not.
    cal_status (*bring)(struct cal_machine* machine, cal_state* state, unsigned what);
    void (*forget)(cal_state* state);
    // Takes memory for a state and the solver in its context, and brings what is known of them.
    cal_status (*ready)(struct cal_machine* machine, const cal_plan* plan, cal_state* state);
    cal_status (*prepare)(struct cal_machine* machine, const cal_plan* plan, cal_state* state);
    cal_status (*follow)(struct cal_machine* machine, const cal_plan* plan, cal_state* state);
    cal_status (*sample)(struct cal_machine* machine, const cal_plan* plan, cal_state* state, const void* control,
                         double time, double* q, double* v);
    // The way back: the solver's first vector from q and v.
    cal_status (*place)(struct cal_machine* machine, const cal_plan* plan, cal_state* state, const double* q,
                        const double* v);
    // Of devices: memory of the host that copies come from and go to again and again, until it is let go of. Both may fail: copies take longer.
    void (*pin)(struct cal_machine* machine, void* memory, size_t bytes);
    void (*unpin)(struct cal_machine* machine, void* memory, size_t bytes);
    // Of devices, optional: energy and momentum (pass/energy_body.h) at what was sampled last; CAL_NOT_AVAILABLE: the host looks.
    cal_status (*energy)(struct cal_machine* machine, const cal_plan* plan, cal_state* state, double* out);
    const struct cal_batch_ops* batch; // optional: many instances in a device's memory
} cal_machine_ops;

// Many instances of a model in a device's memory, for ensembles: groups of W, an instance per lane, as a plan with W copies lays
// them out. Every vector holds all groups, one after the other.
typedef struct cal_batch cal_batch;
// Why an instance with constraints has ended in a device's memory.
typedef enum cal_batch_end_reason {
    CAL_BATCH_GOES_ON,
    CAL_BATCH_BEGAN_OPEN, // a constraint is open by a length, or by a speed, where the instance begins
    CAL_BATCH_BEGAN_FAST,
    CAL_BATCH_CAME_APART,
    CAL_BATCH_SINGULAR, // it came so near to a singular position that its motion must be looked at from both sides
    CAL_BATCH_NOT_FINITE
} cal_batch_end_reason;
typedef struct cal_batch_end {
    int32_t reason, constraint;
    double time, value;
} cal_batch_end;
struct cal_constraints;
struct cal_closing;
// What a step leaves for the constraints of the next (closing.h, directions.h): what is closed enough; when there was headway, and attempts since;
// since when and for how long no singular position is near; whether directions are kept, of when, and how far from a singular position; q there; then the directions.
enum {
    CAL_LEFT_CLOSED,
    CAL_LEFT_PROGRESS,
    CAL_LEFT_ATTEMPTS,
    CAL_LEFT_CALM_TIME,
    CAL_LEFT_CALM_REACH,
    CAL_LEFT_DIRECTED,
    CAL_LEFT_TIME,
    CAL_LEFT_DISTANCE,
    CAL_LEFT_PLACE
};
enum {
    CAL_BATCH_TAU = -1,
    CAL_BATCH_CONTROL = -2,
    CAL_BATCH_YDOT = -3,
    CAL_BATCH_Y = -4
}; // beside the solver's vectors 0, 1 …
typedef struct cal_batch_ops {
    // Whether instances can be advanced with a solver, each by steps of its own.
    bool (*steers)(const cal_solver_ops* solver);
    // steered: the solver with which each instance has steps of its own; NULL: there are fixed steps alone.
    cal_status (*create)(struct cal_machine* machine, const cal_plan* plan, int groups, int vectors,
                         const cal_solver_ops* steered, cal_batch** out, cal_error* error);
    void (*destroy)(cal_batch* batch);
    // Copies a vector of all groups from or to the host. y-shaped ones, v-shaped ones, controls: W × actuators a group.
    cal_status (*write)(cal_batch* batch, int vector, const double* values);
    cal_status (*read)(cal_batch* batch, int vector, double* values);
    // Memory of the host that is read and written often: copies take a tenth of the time. Optional.
    void (*pin)(void* memory, size_t bytes);
    void (*unpin)(void* memory);
    // Where a vector is in the device's memory.
    double* (*address)(cal_batch* batch, int vector);
    // Which instances what follows is about: a byte each, groups × W; NULL: all.
    cal_status (*choose)(cal_batch* batch, const uint8_t* chosen);
    // One evaluation with a solver of fixed steps riding along (NULL: of vector 0 alone), of the chosen instances; returns before it is done.
    // time: of the evaluation, and of the end of the last step accepted before it; for constraints.
    cal_status (*evaluate)(cal_batch* batch, const cal_solver_ops* solver, const double* down, double time,
                           double accepted);
    cal_status (*wait)(cal_batch* batch);
    // Instances whose constraints hold, with a solver of fixed steps: before anything else, once. Every instance has a copy of the set, which holds
    // what cal_constraints_find_obstacle allows.
    cal_status (*hold)(cal_batch* batch, const struct cal_constraints* set, const struct cal_closing* closing,
                       cal_error* error);
    // The chosen ones begin there: what is open in vector 0 is closed. After an interpolation: what is open in y. And how all of them are.
    cal_status (*begin_held)(cal_batch* batch, double time);
    cal_status (*close)(cal_batch* batch, double time);
    cal_status (*read_ends)(cal_batch* batch, cal_batch_end* ends);
    // Steps of its own for each instance. The chosen ones begin at a time, with y in vector 0.
    cal_status (*begin)(cal_batch* batch, const cal_solver_settings* settings, double time);
    // The chosen ones, by name, which have begun, go on until the last accepted step of each reaches that time; which are chosen is
    // unknown afterwards.
    cal_status (*advance)(cal_batch* batch, double time);
    cal_status (*read_clocks)(cal_batch* batch, cal_batch_clock* clocks); // of all
    // What instances with steps of their own go on from, of all: clocks, control's memory (each in whole doubles), and what it sends down. Written
    // with the settings that `begin` is given.
    cal_status (*read_steps)(cal_batch* batch, cal_batch_clock* clocks, double* controls, double* downs);
    cal_status (*write_steps)(cal_batch* batch, const cal_solver_settings* settings, const cal_batch_clock* clocks,
                              const double* controls, const double* downs);
    // What a step leaves for the constraints of the next, of all: CAL_LEFT_PLACE + q_count + cal_directions_size numbers each.
    cal_status (*read_held)(cal_batch* batch, double* numbers);
    cal_status (*write_held)(cal_batch* batch, const double* numbers);
    // The solver's interpolate into y, for the chosen instances; control NULL: each by its own.
    cal_status (*interpolate)(cal_batch* batch, const cal_solver_ops* solver, const void* control, double time);
} cal_batch_ops;

struct cal_machine {
    const cal_machine_ops* ops;
    int lanes;
    int variant; // of the kernels: pass.h
    int processors;
    int far_nodes; // of so many per processor on the numbers are in memory, not in caches: columns are brief there (layout.h)
    bool steady;  // all processors work, whatever else their cores do: measurements, and where a core each is promised
    bool crowded; // processors share cores: one that waits for another one waits for its turn
    bool owned;   // a device that is the `nested` of another machine
    bool device;  // a thread has a lane, and numbers live in a memory of its own (machine/cuda)
    int keep;     // the processor that this process is, where memory is not shared; else CAL_KEEP_ALL
    void* depositor;                      // whose numbers lie where others look at them; NULL: nobody's
    void (*before_lost)(void* depositor); // called before another one's take their place
    cal_costs costs;                      // for choosing owners
    struct cal_machine* nested; // the device of this process, where instances live (cal_machine_nest); NULL: none
    char name[24];              // of both
};
