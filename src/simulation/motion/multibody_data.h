// What the two files about multibodies share.
#pragma once
#include "constraint/constraint.h"
#include "constraint/projector.h"
#include "simulation/motion/multibody.h"

// What all multibodies of one model share: plans, states and room for numbers. One caller at a time.
typedef struct cal_multibody_model {
    const cal_model* model;
    int references;
    cal_machine* machine;
    cal_plan *aba, *crba, *kinematics;
    cal_state *aba_state, *crba_state, *kinematics_state;
    int q_count, v_count, body_count;
    double* poses;         // 7 a body, of the last kinematics
    double* jacobian;      // 6 × v
    double *mass, *factor; // v × v each
    double* work;          // for integration
    double* scale;         // of errors of q and v
    // Of a model with constraints: those that the state at hand says are active, and their rows there (multibody_loops.c).
    int constraint_count;
    cal_constraints* constraints; // NULL: the model has none
    cal_projector projector;
    double *rows, *noise, *bias, *right, *projector_memory;
    bool pushed; // aba_state has forces from outside
} cal_multibody_model;

// Where all links are, and what that was computed from.
typedef enum cal_links_source {
    CAL_LINKS_UNKNOWN,
    CAL_LINKS_ALONE,  // the multibody's own state at a time
    CAL_LINKS_BETWEEN // two states of a group: numbers are where between them, q, v, and q and v of the second one
} cal_links_source;
typedef struct cal_links {
    cal_links_source source;
    double time;
    double* numbers;
    cal_motion* links;
} cal_links;

// A force and a torque (axes of the model's world) at a point of a link (its frame), from outside.
typedef struct cal_link_push {
    int link;
    double force[3], torque[3], point[3];
} cal_link_push;

struct cal_multibody {
    cal_world* world;
    cal_multibody_model* engine;
    double position[3], quaternion[4]; // of the model's world in the world
    int slots;
    cal_link_push* pushes; // since the committed time
    int push_count, push_capacity;
    double start_moved; // how far constraints that were open at the start moved a link, m
    bool touches_itself;
    int component;
    int first_body;
    int* bodies; // the world's body for each of the model's bodies
    // The last kinematics that were computed: boxes and searches go from one time to another and back.
    cal_links known[2];
    int newest;
    double* links_jacobian; // 6 × v a body
    const double* extras;   // of a unit that is being integrated: joint forces
};

// q and v at a time into numbers of the caller.
cal_status cal_multibody_state(cal_world* world, int component, double time, double* q, double* v, int64_t* number);
// The same, whoever is in charge of the multibody then.
cal_status cal_multibody_at(cal_world* world, const cal_multibody* m, double time, double* q, double* v);
// Poses, velocities and Jacobians of all links for given q and v.
cal_status cal_multibody_links(cal_world* world, cal_multibody* m, const double* q, const double* v, cal_motion* links,
                               double* jacobians);
cal_status cal_multibody_model_mass(cal_multibody_model* e, const double* q, double* out); // v × v
// One attempt of a step of size h from a state's numbers, for what is stiff: next gets q and v; with accelerations at the end,
// and the error relative to the tolerance (multibody_stiff.c).
cal_status cal_stiff_attempt(cal_multibody_model* e, double time, double h, const double* data, const double* tau,
                             double tolerance, double* next, double* last_acceleration, double* error);
// Accelerations of the tree, and those that its active constraints leave of them.
cal_status cal_multibody_model_acceleration(cal_multibody_model* e, double time, const double* q, const double* v,
                                            const double* tau, double* out);
cal_status cal_multibody_held_acceleration(cal_multibody_model* e, double time, const double* q, const double* v,
                                           const double* tau, double* out);
// Constraints (multibody_loops.c). active: a number for each constraint, as states have them; zero: it does not hold.
cal_status cal_loops_create(cal_multibody_model* e);
void cal_loops_destroy(cal_multibody_model* e);
void cal_loops_activate(cal_multibody_model* e, const double* active);
// Before the shared plans are asked for anything about a multibody: its numbers from `active` on (constraints, then controls).
void cal_multibody_use(cal_multibody* m, const double* active);
// The controls among the numbers of a state that begin with tau.
double* cal_multibody_control(const cal_multibody* m, double* tau);
// Moves q and v to the nearest, by mass, that the active constraints allow; CAL_NOT_CONVERGED: one stays open by more than
// CAL_LOOP_TOLERANCE (m, rad, m/s, rad/s).
#define CAL_LOOP_TOLERANCE 1e-9
cal_status cal_loops_project(cal_multibody_model* e, double* q, double* v, cal_projection what);
// The rows of the active constraints at q and v, and their projector for a factored mass matrix; false: none is active.
bool cal_loops_make_projector(cal_multibody_model* e, const double* q, const double* v, const double* L);
// Velocities that v changes to in a step of size h whose rows were made at its beginning: A v = −h Ȧ v₀.
void cal_loops_bend(cal_multibody_model* e, double h, double* v);
// At the start: onto the constraints, with how far links went.
cal_status cal_loops_start(cal_world* world, cal_multibody* m, double* q, double* v, cal_error* error);
// Whether constraints of a multibody leave it loose from the ground.
bool cal_loops_are_loose(const cal_multibody_model* e);
// Links of which it is not known any more where they are: to be computed anew.
cal_links* cal_multibody_forgotten(cal_multibody* m);
// The multibody's own state has changed.
void cal_multibody_forget(cal_multibody* m);
