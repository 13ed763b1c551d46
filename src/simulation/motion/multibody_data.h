// What the files about multibodies share.
#pragma once
#include "constraint/constraint.h"
#include "constraint/projector.h"
#include "model/activation.h"
#include "simulation/motion/multibody.h"
#include "solver/push_power.h"
#include "solver/system.h"

enum { CAL_FLIGHT_EXPLICIT, CAL_FLIGHT_IMPLICIT, CAL_FLIGHT_SYSTEMS };

// A joint with rigid stops.
typedef struct cal_stopped_joint {
    int body, position, degree; // where its q and v are
    bool turns;
    double range[2], hardness;
} cal_stopped_joint;

// What all multibodies of one model share (multibody_model.c). One caller at a time.
typedef struct cal_multibody_model {
    const cal_model* given; // the user's
    cal_model* pulled;      // the same with the world's gravity, in the axes of the model; NULL: it is the model's own
    const cal_model* user;  // one of these, with rigid stops
    const cal_model* model; // the same without them, or itself: stops are events in flight, and rows in a contact group
    cal_model* own;         // that copy; NULL: there are no such stops
    cal_stopped_joint* stops;
    int stop_count;
    double* stop_numbers; // of each degree of freedom: what cal_system_set_stops takes
    int references;
    cal_system* systems[CAL_FLIGHT_SYSTEMS]; // the second one: NULL, or for where joint forces are stiff
    int terms;                               // of their curves, at most
    size_t memory;                           // doubles of their memory, at most
    const cal_multibody* current; // whose motion a system holds, and after which of its states; NULL: nobody's
    int64_t current_number;
    cal_machine* machine; // of what follows: one core
    cal_plan *aba, *inertial, *kinematics, *energy;
    cal_state *aba_state, *inertial_state, *kinematics_state, *energy_state;
    cal_push_paths paths;
    int q_count, v_count, body_count;
    int* path;                // of a node, from it to the root
    double *poses, *placed_q; // 7 a body, of the last kinematics, and its q
    double* weighed_q;        // of the last mass matrix
    bool placed, weighed;
    double* jacobian;      // 6 × v
    double *mass, *factor; // v × v each
    double* work;          // 12 (q + v)
    double* scale;         // of errors of q and v
    int* length_at;        // of each of q, and of v: whose scale in q its lengths have, −1: an angle
    // Of a model with constraints: those that the state at hand says are active, and their rows there (multibody_loops.c).
    int constraint_count;
    cal_constraints* constraints; // NULL: the model has none
    cal_projector projector;
    double *rows, *noise, *bias, *projector_memory;
    cal_constraints* inertia; // for the factored mass matrix; NULL where there is no second system to choose
    bool pushed;              // aba_state has forces from outside
    double *drive,
        *inputs; // of who uses it; what its motors take at the time of the last accelerations (model/activation.h)
} cal_multibody_model;

// Where links are, and what that is computed from.
typedef enum cal_links_source {
    CAL_LINKS_UNKNOWN,
    CAL_LINKS_ALONE,  // the multibody's own state at a time
    CAL_LINKS_BETWEEN // two states of a group: numbers are where between them, q, v, and q and v of the second one
} cal_links_source;
// So many are kept; of a multibody of very many links, whose numbers they would multiply, two.
enum { CAL_KNOWN_LINKS = 8, CAL_MANY_LINKS = 256 };
typedef struct cal_links {
    cal_links_source source;
    double time;
    double* numbers;
    double *q, *v;                  // at which they are
    cal_motion* links;              // those that somebody asked for
    struct cal_world_motion* nodes; // on their paths from the root
    bool* found;                    // links, then nodes
} cal_links;

// Where the numbers of a state are (multibody_flight.c).
typedef struct cal_multibody_places {
    int v, tau, slots, active, control, step, system, running, repeats, flows, memory, length, end, degree, rows,
        bounds, stride;
} cal_multibody_places;

struct cal_multibody {
    cal_world* world;
    cal_multibody_model* engine;
    cal_multibody_model* home; // the engine in the whole world, where this is one of a domain; NULL: it is `engine`
    double position[3], quaternion[4]; // of the model's world in the world
    int slots;
    cal_multibody_places at;
    cal_outer_force* pushes; // since the committed time
    int push_count, push_capacity;
    double start_moved; // how far constraints that were open at the start moved a link, m
    cal_member_stage stage;
    uint32_t reuses; // of this place in the list
    bool of_model;   // of the model that a simulation is of: it stays
    double* start;   // q and v that it begins with; NULL: the model's
    bool touches_itself;
    int component;
    int first_callback; // a place in its chain of periodic callbacks (event/callbacks.h); 0: none
    int first_body;
    int ground;  // the body with what the model has on the ground, −1: none
    int* bodies; // the world's body for each of the model's bodies
    // The last kinematics that were computed: boxes and searches go from one time to another and back, and a box in a domain covers
    // all pieces of the motion since GVT, link after link.
    cal_links known[CAL_KNOWN_LINKS];
    int known_count, newest;
    const double* extras; // of a unit that is being integrated: joint forces
};

// Where a new multibody goes: negative numbers are found.
typedef struct cal_multibody_placing {
    double position[3], quaternion[4];
    int index, first_body, ground;
} cal_multibody_placing;
cal_status cal_multibody_add(cal_world* world, const cal_model* model, const cal_multibody_placing* at, int slots,
                             int* out, cal_error* error);
// Made where the first multibody of a model is, and released by each of them.
cal_status cal_multibody_model_create(const cal_world* world, const cal_model* model, cal_multibody_model** out,
                                      cal_error* error);
void cal_multibody_model_release(cal_multibody_model* e); // NULL is allowed
// What errors are relative to, beside the values of coordinates.
cal_status cal_multibody_set_scales(const cal_world* world, const cal_multibody* m);
cal_status cal_multibody_model_scale(cal_multibody_model* e); // its systems, by what it has of these
void cal_multibody_place(cal_multibody* m);
// Whether the piece of its motion that holds at a time `from` holds at a later one, and before its end.
bool cal_multibody_holds(const cal_world* world, int component, double from, double time);
// q and v at a time into numbers of the caller, in the piece that holds at `from`. moving: v is the rate of the q that are looked at; otherwise what the solver has
// for velocities.
cal_status cal_multibody_state(cal_world* world, int component, double from, double time, bool moving, double* q,
                               double* v);
// The same, whoever is in charge of the multibody then.
cal_status cal_multibody_at(cal_world* world, const cal_multibody* m, double time, double* q, double* v);
// Poses of all links at q.
cal_status cal_multibody_links(cal_multibody* m, const double* q, cal_motion* links);
// Of one, from that of its body in the model.
void cal_multibody_place_link(const cal_multibody* m, int link, const double pose[7], cal_motion* out);
// Where links are at one time, as far as somebody asked for them (link_frames.c). begin: q and v were written.
bool cal_link_frames_create(cal_links* at, const cal_multibody_model* e);
void cal_link_frames_destroy(cal_links* at);
void cal_link_frames_begin(const cal_multibody* m, cal_links* at);
const cal_motion* cal_link_frames_find(const cal_multibody* m, cal_links* at, int link);
// Poses of all bodies at q in e->poses, and the kinematics from which Jacobians follow; nothing to do where they are there already.
cal_status cal_multibody_model_place(cal_multibody_model* e, const double* q);
// Kinetic and potential energy.
cal_status cal_multibody_model_energy(cal_multibody_model* e, const double* q, const double* v, double out[2]);
cal_status cal_multibody_model_mass(cal_multibody_model* e, const double* q, double* out); // v × v
// Accelerations of the tree, without its constraints.
cal_status cal_multibody_model_acceleration(cal_multibody_model* e, double time, const double* q, const double* v,
                                            const double* tau, double* out);
// Constraints (multibody_loops.c). active: a number for each constraint, as states have them; zero: it does not hold.
cal_status cal_loops_create(cal_multibody_model* e);
void cal_loops_destroy(cal_multibody_model* e);
void cal_loops_activate(cal_multibody_model* e, const double* active);
// Before the shared plans are asked for anything about a multibody: its numbers from `active` on (constraints, then controls).
void cal_multibody_use(cal_multibody* m, const double* active);
// The controls among the numbers of a state that begin with tau.
double* cal_multibody_control(const cal_multibody* m, double* tau);
// Moves q and v to the nearest, by mass, that the active constraints allow at a time; CAL_NOT_CONVERGED: one stays open by more than
// CAL_LOOP_TOLERANCE (m, rad, m/s, rad/s).
#define CAL_LOOP_TOLERANCE 1e-9
cal_status cal_loops_project(cal_multibody_model* e, double time, double* q, double* v, cal_projection what);
// The rows of the active constraints at q and v, and their projector for a factored mass matrix; false: none is active.
bool cal_loops_make_projector(cal_multibody_model* e, const double* q, const double* v, const double* L);
// At the start: onto the constraints, with how far links went.
cal_status cal_loops_start(cal_world* world, cal_multibody* m, double* q, double* v, cal_error* error);
// Whether constraints of a multibody leave it loose from the ground.
bool cal_loops_are_loose(const cal_multibody_model* e);
// The nearer end of the range of a joint with rigid stops at q: how far away it is, and the sign of v when it leaves.
double cal_stopped_joint_gap(const cal_stopped_joint* joint, const double* q, double* sign);
// Links of which it is not known any more where they are: to be computed anew.
cal_links* cal_multibody_forgotten(cal_multibody* m);
// The multibody's own state has changed from a time on.
void cal_multibody_forget(cal_multibody* m, double from);
