// What a solver adds to the passes: prepare / follow-up / control (Jung, III.C).
//
// One evaluation of the right-hand side is one execution of a plan. A solver rides in it:
//
//   prepare     in the first outbound pass, column by column: writes y, where to evaluate, from each component's own
//               history and from a few numbers that control sent down (`down`)
//   follow_up   in the last inbound pass, block by block: reads ydot, updates each component's history, and gives its
//               share of the sums; the sums are added up the tree, node by node in the order of the tree
//   control     at the root: sees only the sums, never a vector; decides step size, order, accept or repeat, and writes
//               the numbers that go down with the next execution
//
// So a solver does not know where its vectors live, and one solver serves every machine with the same bits. Everything
// is component-wise over y-shaped vectors (layout.h): component c of lane l of block b is at block_y[b] + c · W + l,
// and the components of a block are its q (1, 1, 4 or 7) and then its v (1, 1, 3 or 6). Dead lanes hold zeros (and
// unit quaternions), and stay so.
//
// Unit quaternions. dq/dt = ½ q ∘ ω is linear in q, so scaling a quaternion's whole history by 1/|q| gives exactly the
// history of the scaled solution: solvers do that after each accepted step, which keeps unit length and the method's
// order.
//
// Implicit solvers. With D and K what joint forces fall by with v and q (joint_law.h), diagonal, a solver may ask for
// (M + h D + h² K)⁻¹ (M a − h K v) in the place of the acceleration a: the articulated-body algorithm with h D + h² K
// on the armatures and − h K v on the joint forces. It names two of its vectors for these, and sends h down, and
// whether D and K are to be taken anew at the y of this evaluation.
#pragma once
#include "pass/pass.h"

typedef struct cal_solver_context {
    const cal_layout* layout;
    double* y;          // prepare writes it
    const double* ydot; // follow_up reads it
    double** vectors;   // the solver's own y-shaped vectors; vectors[0] holds y at the start (set by the simulation)
    const double* down; // what control sent
    double relative, absolute;
    const double* scale; // y-shaped: what the absolute tolerance is of, component by component; NULL: of 1
    bool powers;         // those of joint forces (joint_power.h) are summed after the solver's own sums
} cal_solver_context;

typedef void cal_prepare(const cal_solver_context* context, const cal_column* column);
// shares: sum_count × W, to be written (not added to): the block's lanes' own shares of the sums.
typedef void cal_follow_up(const cal_solver_context* context, const cal_column* column, int block, double* shares);

// What control decided.
typedef struct cal_step_decision {
    bool accepted;         // a step is complete: [previous, time] can be interpolated until the next execution
    bool rejected;         // an attempt was thrown away
    double previous, time; // the last accepted step
    double step;           // its size
    int order;
    double evaluation_time; // where the next execution evaluates
} cal_step_decision;

typedef struct cal_solver_settings {
    double relative, absolute, step, largest_step, horizon; // horizon: about how far the user wants to go, > 0
    double first_step;                                      // a one-step method begins with; 0: its own choice
    int largest_order;
    bool historic;       // as Jung's sessions need it (cal_sim_def)
    int component_count; // live components of y, for root mean squares
} cal_solver_settings;

// Whether a solver that chooses its steps gets on. One that moves time by less than the least part of its horizon in so many
// evaluations does not: the horizon would take 1e11 evaluations, weeks of the fastest ones. What counts is the end of accepted steps,
// not how far attempts reach. Steps of fixed size are as small as the user wants them.
enum { CAL_HEADWAY_EVALUATIONS = 10000 };
#define CAL_LEAST_HEADWAY 1e-7
typedef struct cal_headway {
    double reached; // the end of the last accepted step
    double from;    // and what it was at the begin of the watch
    int count;      // evaluations since
    bool lost;
} cal_headway;
// Before an evaluation.
CAL_DEVICE static inline bool cal_headway_gets_on(cal_headway* h, double horizon) {
    const double moved = h->reached > h->from ? h->reached - h->from : h->from - h->reached;
    if (h->count == 0 || !(moved < CAL_LEAST_HEADWAY * horizon)) h->from = h->reached, h->count = 0;
    h->lost = ++h->count > CAL_HEADWAY_EVALUATIONS;
    return !h->lost;
}

// Of an instance of a batch that has steps of its own.
typedef struct cal_batch_clock {
    cal_step_decision decision;
    cal_headway headway;
    double evaluated;                     // time of the last evaluation
    int64_t steps, rejected, evaluations; // since it began
    int32_t status;                       // a cal_status; what is not well moves no more
    bool interpolates;                    // a step was just accepted
} cal_batch_clock;

// Sums are a solver's own and, where the account of energy is kept, the powers of joint forces (joint_power.h): of the user's tau and
// of motors; and what dampers, dry friction and stops take (joint_law.h).
enum { CAL_POWER_WORK, CAL_POWER_LOSS, CAL_POWERS };
enum { CAL_MAX_DOWN = 48 };                                  // CAL_MAX_SUMS: layout.h, where they have their places
enum { CAL_MAX_ORDER = 12, CAL_MAX_DEGREE = CAL_MAX_ORDER }; // of a step, and of its polynomial
// The first numbers that an implicit solver sends down.
enum { CAL_DOWN_IMPLICIT_STEP, CAL_DOWN_FREEZE, CAL_DOWN_IMPLICIT_COUNT };

typedef struct cal_solver_ops {
    const char* name;
    const char* help; // one line
    int vector_count, sum_count, down_count;
    int max_count; // the first max_count of the sums are combined by maximum instead of by addition
    double
        tolerance_share; // the part of the tolerance that it works with, so that all solvers' results have errors alike; 0: all
    bool fixed_step;      // steps have the size that the settings name
    double reach;         // of explicit ones with fixed steps: stable on the negative real axis to reach / step; else 0
    int degree;           // of interpolate's polynomial in time, before quaternions are made unit; 0: the step's order
    bool keeps_end;       // at an accepted decision vectors[0] is y at the end of the step (else: at its beginning)
    int implicit, slopes; // implicit solvers: the vectors that passes use for it (cal_context); 0: not implicit
    size_t control_size;  // bytes of memory for control: plain numbers, no addresses, since checkpoints hold them
    // Begins at `time` with y in vectors[0]: fills control's memory and the first numbers to send down.
    void (*start)(void* control, const cal_solver_settings* settings, double time, double* down,
                  cal_step_decision* decision);
    cal_prepare* prepare;
    // Optional, of brief columns: brings what prepare will read of some numbers of y-shaped vectors near, from a position on.
    void (*fetch)(const cal_solver_context* context, size_t first, int count);
    cal_follow_up* follow_up; // NULL: of a copy that only looks on, without sums (cal_system_create_probe)
    // Optional: into which vector follow_up copies ydot, where that is all it does for what was sent down: a device evaluates there at once.
    int (*derivative)(const double* down);
    // Optional, of those who go on from what an evaluation has reached: whether they do so, and one column of it becomes context->y, as do sums
    // that it is in. For constraints, which close it (solver/system_closing.c).
    bool (*goes_on)(const double* down);
    void (*correct)(const cal_solver_context* context, const cal_column* column);
    int reached; // the vector
    cal_status (*control)(void* control, const double* sums, double* down, cal_step_decision* decision);
    // Writes y at a time inside the last accepted step into `out` (y-shaped), one column. Costs no evaluation.
    // Between an accepted decision and the next execution. A solver whose polynomial needs the derivative at the end of
    // its step accepts the step only when that derivative is known: it is the first evaluation of the next step.
    void (*interpolate)(const void* control, const cal_solver_context* context, const cal_column* column, double time,
                        double* out);
    // Optional: what was sent down says afterwards that nobody interpolates the step that it completes, if it completes one.
    void (*unseen)(double* down);
    // Whether control's memory and what it sends down, both from a file, are such that the functions above stay inside their vectors.
    bool (*sound)(const void* control, const double* down);
} cal_solver_ops;

// Where a brief column (layout.h) leaves ydot for the follow-up, which comes next and is all that reads it: on the stack, which stays in the
// caches. NULL: among the state's, as all others; implicit solvers read it later. After such an execution ydot is not that of brief columns.
static inline double* cal_brief_rates(const cal_context* context, const cal_column* column) {
    const bool follows = context->solver && context->solver_ops && context->solver_ops->follow_up;
    return column->brief && follows && !context->implicit ? context->scratch + column->end_slot : NULL;
}

// How many sums go up the tree.
static inline int cal_sums_count(const cal_solver_ops* ops, const cal_solver_context* solver) {
    return ops->sum_count + (solver->powers ? (int)CAL_POWERS : 0);
}
