// The inside of a system (system.h), for what advances it (system*.c) and what writes it down (record/checkpoint.c).
#pragma once
#include "constraint/minimal.h"
#include "model/activation.h"
#include "plan/plan.h"
#include "solver/account.h"
#include "solver/bdf.h"
#include "solver/flows.h"
#include "solver/push_power.h"
#include "solver/solver.h"
#include "solver/system.h"

// A step over a singular position (system_singular.c), as what is inside of it needs it. With s the time since it began,
//     v(s) = v + s a + s² (b − a) / 2h,   q moved by   s v + s² a / 2 + s³ (b − a) / 6h
typedef struct cal_step_over {
    bool valid;      // it is the last accepted step
    double previous; // end of the step before
    double from, step;
    double* numbers; // q, v, a at its begin, b at its end; NULL without constraints
} cal_step_over;
enum { CAL_STEP_OVER_DEGREE = 3 };

// A passage of a singular position that is on (system_passage.c).
typedef struct cal_passage {
    bool near, open;       // an evaluation of this step was near one; one of the steps before
    double time, distance; // where it was nearest so far
    double energy;         // before
    int steps;             // over it
} cal_passage;

// Constraints that wait for their gap to close (system_watch.c).
typedef struct cal_watch {
    bool* waits;  // of each constraint; NULL: the model has none
    double* gaps; // of those that wait, at the last look
    double due;   // when the first closes, in the last accepted step; infinite: none does
    int constraint;
    int caught;
    double caught_time;
    cal_node_motion* motions; // room
    double* numbers;          // q and v
} cal_watch;

// Joints with dry friction, and with stops that do not give way (system_friction.c, system_stops.c).
typedef struct cal_friction {
    cal_model* model; // the system's own; NULL: nothing sticks, and it is the user's
    int first, count; // of the constraints that keep joints at rest
    double* limit;    // of each: the largest friction, or zero
    int32_t* degree;  // where its v is
    // Stops, where any joint has some: where q is, the range (infinite without), what impacts lose (limit_damping), and the force that is
    // none, of a joint that rests on its stop.
    bool stops;
    int32_t* position;
    double *lowest, *highest, *hardness, *nothing, *looks;
    double *room,
        *slow; // how near counts as the end of the range, and leaving how slowly as resting; zero: as the tolerance says
    bool* calm; // it has hit its stop, and does not leave it by more than the tolerance
    // Those that are slow where the solver begins: their accelerations without friction, their answers to it, and what becomes of them.
    int resting;
    int32_t *candidate, *side;
    bool* spare; // of each candidate: those before it hold it as well, through loops
    double *free, *force, *answer, *matrix, *acceleration;
    double *low, *high, *beyond; // of each candidate: between which forces it rests, and how far beyond it does not
    double* base;                // v_count: accelerations without any of these forces
    double *tau, *sum;           // v_count: of those that slide; and room
    double when;                 // of the last event, and how many came without time going on
    int repeats;
} cal_friction;

// A second plan that looks at the state: poses and energy, or its accelerations again.
typedef struct cal_system_query {
    cal_machine* machine;
    cal_plan* plan;
    cal_state* state;
    bool current; // has been executed at the system's time
} cal_system_query;

struct cal_system {
    const cal_model* model;
    cal_sim_def def;
    cal_resting rests;        // in which ways joints come to rest
    cal_machine* own_machine; // NULL: the user's
    cal_plan* plan;
    // Of models with constraints, where a solver is not BDF: its follow-up alone; NULL on a device. And, where constraints join an
    // execution, what is before and what is after that.
    cal_plan *following, *first_part, *last_part;
    cal_state* state;
    // Of a device: when the sample in its memory is of, and whether that is the system's q and v.
    double sample_time;
    bool sampled;
    cal_system_query energy_query, residual_query, constraint_query, joint_force_query;
    char schedule[16];     // as the definition had it
    double* accelerations; // v_count, for cal_system_joint_forces
    double time;
    double *q, *v;                     // at `time`, the user's order, v after q in one block
    double *evaluated_q, *evaluated_v; // at an evaluation, for the force callback
    double *tau, *control;             // what the user set: control is a drive (model/activation.h)
    double *changed_tau,
        *changed_control; // what the callback made of it at an evaluation, with activations in the place of controls
    bool activates;       // there are activations
    cal_outer_force* pushes;
    int push_count, push_capacity;

    cal_constraints* constraints; // NULL: the model has none
    cal_minimal* minimal;         // of the form without multipliers; NULL: it is the other one
    bool* connected;              // while a checkpoint is read: what it says; else NULL
    double* shares;               // of friction: the same
    cal_stabilization law;
    bool projects;
    double *raw, *qdd;    // q and v before a projection, twice; accelerations without constraints, and two more such
    double* forces;       // v_count: of the constraints; then what system_singular.c needs
    cal_solver_ops probe; // of an implicit solver: its accelerations without anything else of it
    double* added;        // v_count: what it adds to the diagonal of the mass matrix
    double error_max, error_sum; // largest error, and sum of mean squares, over the steps so far
    int64_t error_steps;
    int opened;                   // the constraint that came apart, or CAL_NONE
    double progress;              // the last time from which the solver has moved on by a hop
    int attempts, singularities;  // since then: evaluations, steps over singular positions
    double calm_time, calm_reach; // so long before and after a time constraints pass no singular position; 0: not known
    cal_passage passage;
    double* kept; // q and v at the end of the last step; NULL without constraints
    int singular_count;
    cal_singular_position singular[CAL_SINGULAR_SHOWN];
    cal_headway headway;
    cal_watch watch;
    cal_friction friction;
    bool stepped_over; // one of these reached the time that was asked for: evaluated_q and evaluated_v are there

    cal_solver_settings settings;
    const cal_solver_ops* ops; // NULL: BDF
    cal_bdf* bdf;
    cal_solver_context context;
    void* memory; // control's
    double* block;
    size_t stride; // doubles from one vector of the block to the next
    double** vectors;
    double* sample; // y-shaped, where the polynomial is evaluated
    double* scale;  // y-shaped, what the absolute tolerance is of; NULL: of 1
    double down[CAL_MAX_DOWN], sums[CAL_MAX_SUMS];
    cal_step_decision decision;
    bool running;       // the solver has begun
    bool slow_band;     // the state's records hold one
    bool interpolates;  // nothing was executed since the last accepted step
    int64_t spent;      // evaluations of this advance
    cal_step_over last; // the last accepted step, where it went over a singular position
    // BDF's motion so far, to be taken again after a load.
    double begin_time;
    double* begin; // q and v there; NULL: another solver
    bool replays;  // before anything else the solver begins there and takes so many steps
    int64_t replay_steps;
    double longest_step; // that the work of prescribed motions allows
    // Where energy goes (system_flows.c).
    cal_flow_integrator flow;
    cal_push_paths paths;
    bool has_powers; // joints have what works or loses
    bool driven;     // some joint force of the user is not zero
    bool held;       // the last evaluation's joint forces are those of constraints, too: system->forces
    bool
        accelerated; // it has what constraints add to accelerations in ydot instead, and the solver is still to follow;
    bool joined;     // or will have it by the last walk, which the solver rides along with
    double closing;  // then: the power of the constraints' forces
    double moved;    // the power of prescribed motions at the last evaluation
    double closed;   // what the last projection of a step's end has added to the energy
    cal_account account; // of a system that is advanced directly
    cal_sim_report report;
    cal_bdf_report before; // BDF's own counts are since it was made: what a checkpoint adds to them
};

// Hands what pushes and drives to the state, as a solver that begins does.
cal_status cal_system_apply(cal_system* system);
// Hands pushes to a state, and joint forces and controls.
cal_status cal_system_apply_pushes(const cal_system* system, cal_state* state);
cal_status cal_system_apply_forces(const cal_system* system, cal_state* state, const double* tau,
                                   const double* control);
// What motors take at a time: controls, or activations, which are in changed_control then.
const double* cal_system_inputs(cal_system* system, double time);
// Asks the user's callback for the forces at q and v: changed_tau and changed_control, and pushes on the state.
void cal_system_call_back(cal_system* system, cal_state* state, double time, const double* q, const double* v);
// What depends on q and v as a whole, at the state's y: the callback's forces, then the constraints', and what pushes do.
cal_status cal_system_apply_motion_forces(cal_system* system);
// What a callback gave that is not finite, for an error; false: all is.
bool cal_system_find_bad_force(const cal_system* system, char* text, size_t capacity);

cal_bdf_function cal_system_evaluate_bdf; // the user is the system
// BDF counts since it was made: from now on, on top of a report.
void cal_system_count_from(cal_system* system, const cal_sim_report* report);
bool cal_system_reserve_pushes(cal_system* system, int count); // makes room
// After q, v or time were changed: what was looked up there is not valid, and the solver begins anew.
void cal_system_moved(cal_system* system);
// What was found of the energy is no longer that of q and v.
static inline void cal_system_forget_energy(cal_system* system) {
    system->energy_query.current = system->sampled = false;
}
// Calls a function for every column: on the plan's machine, or, where that is a device and the model is large, on all of the host's cores.
cal_status cal_system_each_column(cal_system* system, cal_column_function* function, void* argument);

// --- Where energy goes (system_flows.c) ------------------------------------------------------------------------------

// Whether passes sum up powers at the next evaluation.
bool cal_system_needs_powers(const cal_system* system);
// After an evaluation: powers are the passes' (NULL: none were asked for), sums the solver's.
cal_status cal_system_follow_flows(cal_system* system, const double* powers, double* sums);
// After an accepted step of BDF, which ended at evaluated_q and evaluated_v.
cal_status cal_system_accept_bdf(cal_system* system, double time);
// Before a step of BDF: where motions are prescribed, how long the work that they do allows it to be.
void cal_system_bound_bdf(cal_system* system);
// What flowed to a time in the last step.
cal_flows cal_system_flows_in_step(const cal_system* system, double time);
// Kinetic and potential energy at q and v (system.c).
cal_status cal_system_find_energy(cal_system* system, const double* q, const double* v, double energy[2]);
// The account begins, if it has not yet.
cal_status cal_system_begin_account(cal_system* system);

// --- Constraints (system_constraints.c) ------------------------------------------------------------------------------

static inline bool cal_system_holds(const cal_system* system) {
    return system->constraints && system->constraints->row_count > 0;
}
// Whether the solver goes on inside a step from what constraints have closed.
static inline bool cal_system_goes_on(const cal_system* system) { return system->ops && system->ops->correct; }
cal_status cal_system_create_constraints(cal_system* system, cal_error* error);
// How constraints' forces ride in evaluations: the probe of an implicit solver, the follow-up alone of others; false: no memory.
bool cal_system_create_probe(cal_system* system);
void cal_system_project_bdf(cal_system* system); // tells BDF, once it is there
// Before the solver begins: whether the constraints hold at q and v, which are then projected.
cal_status cal_system_check_start(cal_system* system, cal_error* error);
// Projects the state's y, which evaluated_q and evaluated_v hold, before an evaluation.
void cal_system_project_before(cal_system* system);
// Closes what the last evaluation has reached, of solvers that go on from there inside a step.
cal_status cal_system_close_reached(cal_system* system);
// At the state's y, which evaluated_q and evaluated_v hold, with the forces applied: adds the constraints'.
cal_status cal_system_add_constraint_forces(cal_system* system, const double* tau, const double* control);
// Which form the constraints' equations have, and the joint forces that follow from it: added to tau (system_minimal.c).
cal_status cal_system_create_form(cal_system* system, cal_error* error);
// The line for masses that are too far apart for the minimal form.
cal_status cal_system_explain_form(const cal_system* system, cal_error* error);
cal_status cal_system_add_forces(cal_system* system, const double* q, const double* v, const double* qdd, double* tau);
// After an accepted step that ends at raw, or with a sample there: closes what has opened, in place; counts what is left of
// a step's error.
cal_status cal_system_project_after(cal_system* system, double time, double* q, double* v, bool counts);
// The same at the end of a step, with what that does to the energy (system->closed), and with passages.
cal_status cal_system_close_step(cal_system* system, double time, double* q, double* v);
// The constraints' joint forces at q and v, and the accelerations with them (may be NULL), on one core.
cal_status cal_system_find_forces(cal_system* system, double time, const double* q, const double* v, double* forces,
                                  double* accelerations);

// --- Events (system_watch.c) ------------------------------------------------------------------------------------------

bool cal_system_create_watch(cal_system* system); // false: no memory
void cal_system_destroy_watch(cal_system* system);
int cal_system_waiting(const cal_system* system);
void cal_system_begin_watch(cal_system* system);  // where the solver begins
void cal_system_resume_watch(cal_system* system); // where a file was read: gaps at the end of the last step
// Looks whether something happens in the step that was just accepted: watch.due.
cal_status cal_system_watch_step(cal_system* system, double from, double to);
// What was due, at the system's time.
cal_status cal_system_take_event(cal_system* system, cal_error* error);

// --- Stops (system_stops.c) ------------------------------------------------------------------------------------------

bool cal_system_create_stops(cal_system* system, const cal_model* user); // false: no memory
void cal_system_destroy_stops(cal_system* system);
// Whether joint i of those that may rest is at its lower end, or its upper one: within a hundredth of the tolerance.
bool cal_system_at_stop(const cal_system* system, int i, const double* q, bool upper);
// Velocities after the impacts of joints that go into their stops; and who rests then.
cal_status cal_system_hit_stops(cal_system* system);
// What falls below zero when a joint goes into a stop.
double cal_system_stop_margin(const cal_system* system, int i, const double* q, const double* v);
// A time of the last step, between two looks, at which a joint turns round beyond its end; `to` where none does.
cal_status cal_system_find_turn(cal_system* system, double from, double to, double* turn);

// --- Dry friction (system_friction.c) --------------------------------------------------------------------------------

bool cal_system_create_friction(cal_system* system, const cal_model* user); // false: no memory
void cal_system_destroy_friction(cal_system* system);
// The accelerations of joints in friction.candidate without their forces (free; base: of all), and their answers to these: a = free + G λ.
cal_status cal_system_find_answers(cal_system* system);
// λ between low and high that keeps as many a at zero as it can: friction.force, and friction.side of those that are at a bound.
void cal_friction_find_sides(cal_friction* friction);
// Decides which joints rest, before the solver begins.
cal_status cal_system_settle_friction(cal_system* system);
// About a look at accelerations and forces of what may be about to begin (system_forces.c).
cal_status cal_system_begin_look(cal_system* system, void** kept);
cal_status cal_system_end_look(cal_system* system, void* kept, cal_status looked);
// Of joints that rest speeds or accelerations are zero, to the last digit; what is found of them has rounding.
void cal_system_keep_rests(const cal_system* system, double* v);
// tau and the friction of joints that slide.
const double* cal_system_with_friction(const cal_system* system, const double* tau);
// Its power, as a loss.
double cal_system_friction_loss(const cal_system* system, const double* v);
// Whether a joint begins or ceases to slide in the step that was just accepted: *due is made earlier.
cal_status cal_system_watch_friction(cal_system* system, double from, double to, double* due);
// Notes that it did; fails where time does not go on.
cal_status cal_system_take_friction(cal_system* system, cal_error* error);
// The friction of the joint of a constraint that does not hold it: 0 … 1, from its limit backward to that forward; zero for others. And the same again.
double cal_system_friction_of(const cal_system* system, int constraint);
void cal_system_set_friction(cal_system* system, int constraint, double share);
// Constraints of the user's.
static inline int cal_system_own_constraints(const cal_system* system) {
    return system->friction.model ? system->friction.first : system->model->constraint_count;
}

// --- Singular positions (system_singular.c) --------------------------------------------------------------------------

bool cal_system_create_singular(cal_system* system); // system->forces
// Projects q and v, unless rounding would spoil them.
void cal_system_project_step(cal_system* system, cal_along along, double* q, double* v);
// Whether it might change them.
bool cal_system_is_open(cal_system* system, const double* q, const double* v);
// Whether it has to be looked at whether σ changes so fast there that there is noise: not where that is known. And whether it does, with
// these accelerations; σ is looked at elsewhere, and constraints' rows and factors are those there.
bool cal_system_looks_near(const cal_system* system);
bool cal_system_changes_near(cal_system* system, const double* accelerations);
// At evaluated_q and evaluated_v, with changed_tau and changed_control what drives the model and system->forces the constraints': replaces
// these where rounding spoils them.
cal_status cal_system_interpolate_singular(cal_system* system, double time);
// Whether nothing moves, and constraints that were factored at q and v do not say which way it could; they are factored elsewhere then.
cal_status cal_system_look_beside(cal_system* system, bool* undecided);
// Whether the solver failed, or crawls, as it does where its error test meets rounding: next to a singular position.
bool cal_system_stuck(cal_system* system, cal_status status);
// Goes on over such a place by a thousandth of a turn or so, not beyond `time`, and starts the solver there.
cal_status cal_system_step_over_singularity(cal_system* system, double time, cal_status failed);
// What was noticed, and when; then at the end of each accepted step, with q and v there (system_passage.c).
void cal_system_note_near(cal_system* system, double time, double distance, int steps);
cal_status cal_system_follow_passage(cal_system* system, const double* q, const double* v);
void cal_system_begin_passages(cal_system* system); // where the solver begins
// q and v inside such a step, into evaluated_q and evaluated_v; not projected.
void cal_system_sample_step_over(cal_system* system, double time);
