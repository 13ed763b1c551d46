// Systems: a model, a plan and a solver that advance a state. A tree, with or without loops: its constraints belong to it.
//
// The solver steps as far as it likes. A system that nothing can touch is asked for times (advance); one in a simulation
// with events is asked for steps, and for states inside the last one (step, sample):
//
//          from               to            ← the last accepted step
//        ────┼──────────────────┼────
//                     ▲ asked for           q, v from the solver's own polynomial: no evaluation
//
// Both ways have the same bits: what is looked at does not change where the solver steps.
//
// Functions whose names are those of the public cal_sim_… do what calder.h says of them. Their messages name the public
// functions, since it is a user who reads them.
#pragma once
#include "calder/calder.h"
#include "constraint/constraint.h"
#include "model/resting.h"
#include "plan/plan.h"
#include "solver/flows.h"

typedef struct cal_system cal_system;

// Whether numbers and names are such that there could be a system of them.
cal_status cal_system_check_def(const cal_sim_def* def, cal_error* error);
// What a solver of a system by that definition works with.
cal_solver_settings cal_system_settings(const cal_model* model, const cal_sim_def* def, const cal_solver_ops* ops);
// At the model's start values and time 0. The model, and the definition's machine, must outlive it.
cal_status cal_system_create(const cal_model* model, const cal_sim_def* def, cal_system** out, cal_error* error);
const char* cal_system_solver(const cal_system* system); // what "auto" has become
// Whether "auto" is implicit from the start: joint forces, and not errors, would keep explicit steps small.
bool cal_system_is_stiff(const cal_model* model);
// The same with joints that come to rest in these ways (all of them where it is advanced directly): that takes events of its own. An
// implicit solver, which stops joints by itself, has no dry friction that sticks.
cal_status cal_system_create_as(const cal_model* model, const cal_sim_def* def, cal_resting rests, cal_system** out,
                                cal_error* error);
void cal_system_destroy(cal_system* system); // NULL is allowed
// What `stabilize` of a definition says; false: it is unknown.
bool cal_find_stabilization(const char* stabilize, cal_stabilization* law, bool* projects);

// --- Advancing -------------------------------------------------------------------------------------------------------

cal_status cal_system_advance(cal_system* system, double time, cal_error* error);

// A new motion from there; q or v may be NULL: as they are. The largest step and all other settings are the definition's.
cal_status cal_system_begin(cal_system* system, double time, const double* q, const double* v, cal_error* error);
// Before a begin: the size of the first step of a one-step method, and the largest step from then on; 0: the definition's.
void cal_system_limit(cal_system* system, double first_step, double largest_step);
// Of joints with rigid stops, for each degree of freedom: how near to the end of its range is at it, and how slowly a joint leaves a stop
// that it has hit and yet rests there, being pressed; zero: as the tolerance says.
void cal_system_set_stops(cal_system* system, const double* room, const double* slow);
// Before anything else: what the absolute tolerance is of, for each number of q and of v (not for BDF).
cal_status cal_system_set_scales(cal_system* system, const double* q, const double* v);
// Goes on until one more step is accepted. Steps follow each other without gaps: `from` is the last one's `to`, or the time
// of the begin. Time, q and v are then those of the end. A step ends where a joint comes to its stop, or begins to rest or to move
// there: *to is earlier than the solver's own end then.
cal_status cal_system_step(cal_system* system, double* from, double* to, cal_error* error);
// Whether the last step ended so; then joints at their stops are hit, which changes v, and the solver begins anew.
cal_status cal_system_end_step(cal_system* system, bool* hit, cal_error* error);
// A state from which something shall begin: joints that are at their stops and go into them are hit. v is then the system's.
cal_status cal_system_hit(cal_system* system, double time, const double* q, const double* v, cal_error* error);
// The part of its speed with which a joint leaves a rigid stop, which it has hit with that speed; hardness: limit_damping.
double cal_stop_restitution(double hardness, double speed);
// q and v inside the last accepted step, projected where constraints project; the system's own time, q and v stay. Until a
// step, an advance or a change follows. No evaluation (but for BDF after a load).
cal_status cal_system_sample(cal_system* system, double time, double* q, double* v, cal_error* error);
// The same with the constraints as the solver's polynomial has them, open by the step's error.
cal_status cal_system_sample_open(cal_system* system, double time, double* q, double* v);
// The degree in time of the last step's polynomial, at most CAL_MAX_DEGREE: of each number of q and v before quaternions are
// made unit and constraints are closed. Angular velocities of ball and free joints may follow from the quaternions'
// polynomials instead of having their own.
int cal_system_degree(const cal_system* system);

int cal_system_largest_degree(const cal_system* system); // of any step

double cal_system_time(const cal_system* system);
const double* cal_system_q(const cal_system* system); // at that time, the user's order; valid until the next call
const double* cal_system_v(const cal_system* system);
const double* cal_system_control(const cal_system* system); // as the user set them: a drive (model/activation.h)

// --- Its memory ------------------------------------------------------------------------------------------------------

// All that the continuation needs: after a load the next steps have the same bits as if nothing had happened since the
// store. Time, q, v, joint forces and controls, pushes, who is connected, the solver's inside, the report; not the errors of
// constraints so far, nor what a force callback remembers.
//
// What CVODE knows cannot be copied. The memory of a system with BDF holds where its motion began (the last begin, set, push
// or whatever else restarts a solver) and how many steps it has taken since; the first step, advance or sample after a load
// takes them again, with the same bits. A rollback then costs as much as the motion since it began.
//
// The size depends on how many pushes there are at present. Memory can be loaded into the system that it is from, or into
// another of the same model, definition and kind of machine.
size_t cal_system_memory_size(const cal_system* system); // bytes
void cal_system_store(const cal_system* system, void* memory);
// CAL_NO_MEMORY for pushes, only in another system; CAL_BAD_ARGUMENT: these bytes are not what a system has stored. After either it
// must be loaded again before it is used.
cal_status cal_system_load(cal_system* system, const void* memory, size_t size);
// The same without pushes, so that the size is always one: those that the system has when it is loaded hold from then on.
size_t cal_system_motion_size(const cal_system* system); // bytes
void cal_system_store_motion(const cal_system* system, void* memory);
cal_status cal_system_load_motion(cal_system* system, const void* memory);
// Whether numbers from outside are those of a simulation. What is wrong here would lead out of an array, or a loop into eternity; vectors
// may hold what they like, and a solver finds out. waits: of each constraint.
bool cal_system_is_sound(const cal_system* system, const bool* waits);

// --- Changing it -----------------------------------------------------------------------------------------------------

cal_status cal_system_set(cal_system* system, double time, const double* q, const double* v, cal_error* error);
cal_status cal_system_drive(cal_system* system, const double* tau, const double* control, cal_error* error);
cal_status cal_system_push(cal_system* system, int body, const double force[3], const double torque[3],
                           const double point[3]);
void cal_system_release(cal_system* system);
// Other activations from the system's time on; those of another time are those of the system's.
void cal_system_activate(cal_system* system, const double* activations);
void cal_system_carry_activations(cal_system* system, double from);
// All that acts from outside at once, for a motion that begins or is loaded next; control is a drive; active: not zero where a
// constraint holds.
cal_status cal_system_act(cal_system* system, const double* tau, const double* control, const double* active,
                          const cal_outer_force* pushes, int push_count);
void cal_system_restart(cal_system* system);
cal_status cal_system_connect(cal_system* system, int constraint, cal_connection how, cal_error* error);
cal_status cal_system_catch(cal_system* system, int constraint, cal_error* error);
cal_status cal_system_disconnect(cal_system* system, int constraint, cal_error* error);
bool cal_system_connected(const cal_system* system, int constraint);
cal_status cal_system_project(cal_system* system, const bool* held, cal_error* error); // held: NULL: none

// --- Looking at it ---------------------------------------------------------------------------------------------------

int cal_system_processors(const cal_system* system);
cal_status cal_system_energy(cal_system* system, double* kinetic, double* potential);
cal_status cal_system_balance(cal_system* system, cal_energy_balance* out);
// What flowed since the system was made, to its time; and to a time inside the last accepted step, as cal_system_sample.
cal_flows cal_system_flows(const cal_system* system);
cal_flows cal_system_sample_flows(const cal_system* system, double time);
// The same from a number that the caller keeps: before a begin.
void cal_system_set_flows(cal_system* system, const cal_flows* flows);
cal_status cal_system_poses(cal_system* system, double* poses);
cal_status cal_system_joint_forces(cal_system* system, double* forces);
cal_status cal_system_accelerations(cal_system* system, double* qdd);
cal_status cal_system_check(cal_system* system, double* residual, int* body);
// As cal_sim_traffic.
cal_status cal_system_traffic(const cal_system* system, int pass, cal_pass_traffic* sent, cal_pass_traffic* predicted);
cal_status cal_system_constraints(cal_system* system, cal_constraint_report* out);
cal_status cal_system_constraint_forces(cal_system* system, int constraint, double* rows, double wrench[6]);
cal_status cal_system_minimal(cal_system* system, int* freedom, double* basis, double* mass);
uint64_t cal_system_hash(const cal_system* system);
void cal_system_get_report(const cal_system* system, cal_sim_report* out);
