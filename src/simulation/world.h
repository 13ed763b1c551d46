// What a world is made of, for the files of this room.
//
//     bodies        what collides: free, fixed, driven, or a link of a multibody
//     components    what is advanced as one: a free body, a multibody, a contact group. Each has a queue of states
//     junctions     states that one event made together, in several queues: the state graph's links
//     pairs         two bodies whose swept boxes overlap, and when they may collide
//     events        boxes that end, group checks, callbacks, pairs; one queue in a total order
//
// A queue holds states in the order of time, from the last one before GVT to the newest. A SEGMENT begins a new motion (the
// start, a collision, a callback); a STEP continues one where its series ends; FUSED says that a group is in charge from here
// on; ENDED closes a group. The motion after a state is a function of that state alone, whoever asks for it and when: so what
// is computed again after a rollback has the same bits.
//
//     body A   ○──────●┄┄┄┄┄┄○───      ○ SEGMENT   ● FUSED    │ junction
//     body B   ○──○───●┄┄┄┄┄┄○──○─
//                 │   │      │  │
//     group AB    │   ■──■──■◇  │      ■ SEGMENT, STEP   ◇ ENDED
//     body C   ○──○─────────────○─
#pragma once
#include "base/error.h"
#include "base/random.h"
#include "calder/calder_world.h"
#include "collide/collide.h"
#include "simulation/event/events.h"
#include "simulation/contact/group.h"

// --- States -------------------------------------------------------------------------------------------------------------

typedef enum cal_saved_state_kind { CAL_SEGMENT, CAL_STEP, CAL_FUSED, CAL_ENDED } cal_saved_state_kind;

typedef struct cal_saved_state {
    double time;
    int32_t kind;
    int32_t junction; // −1: none
    int32_t callback; // that made this state, −1: none; and its tick
    int32_t group;    // of CAL_FUSED: the component in charge
    int64_t tick;
} cal_saved_state;

// A ring of states, numbered on and on: head … tail − 1 are there. Each is a knot and `stride` numbers, of which a new state
// begins with the first `copied` ones of the one before (all, unless somebody says otherwise). They begin at cache lines.
typedef struct cal_queue {
    unsigned char* states;
    int64_t head, tail;
    int capacity, size; // states, bytes of one
    int stride, copied;
} cal_queue;

static inline cal_saved_state* cal_saved_state_at(const cal_queue* queue, int64_t number) {
    return (cal_saved_state*)(void*)(queue->states +
                                     ((size_t)number & (size_t)(queue->capacity - 1)) * (size_t)queue->size);
}
static inline double* cal_data_at(const cal_queue* queue, int64_t number) {
    return (double*)(void*)(cal_saved_state_at(queue, number) + 1);
}

typedef struct cal_state_ref {
    int component;
    int64_t number;
} cal_state_ref;

typedef struct cal_junction {
    cal_state_ref* links;
    int count, capacity;
    int references; // states that name it; unused when there are none
} cal_junction;

// Numbers of a free body's state; slots and then the series follow.
enum {
    CAL_AT_POSITION = 0,      // of the centre of mass
    CAL_AT_VELOCITY = 3,      // of the centre of mass
    CAL_AT_QUATERNION = 6,    // of the principal axes
    CAL_AT_ANGULAR = 10,      // principal axes
    CAL_AT_ACCELERATION = 13, // gravity and the user's force
    CAL_AT_TORQUE = 16,       // principal axes
    CAL_AT_SLOTS = 19
};
enum { CAL_SERIES = 20 }; // order of the Taylor series of rotation

// --- Bodies -------------------------------------------------------------------------------------------------------------

// How a body is at a time: its centre of mass and principal axes; w in the world's axes.
typedef struct cal_motion {
    cal_pose pose;
    double quaternion[4];
    double u[3], w[3];
} cal_motion;

// What has a quick way to a time of impact.
typedef enum cal_form {
    CAL_FORM_NONE,   // no shape
    CAL_FORM_BALLS,  // a few balls
    CAL_FORM_PLANE,  // one plane
    CAL_FORM_BLOCK,  // one box
    CAL_FORM_GENERAL // anything else
} cal_form;

// What every event reads comes first, in a cache line: of ten thousand bodies little fits into a cache.
typedef struct cal_sim_body {
    _Alignas(64) int component; // −1: fixed or driven
    int link;                   // of the component: which of its bodies; of a multibody: the model's body
    int multibody;              // −1: none
    cal_form form;
    uint32_t category, mask; // of all its shapes together
    bool round;              // all moments are equal
    bool spinning;           // turning matters: it is no ball about its centre
    int ball_count;
    double reach;
    double box_end; // until when its swept box holds it
    int box_event;
    int pair_count, pair_capacity;
    int first_collision_callback; // −1: none
    int* pairs;
    double (*balls)[4]; // centre and radius; of a fixed plane: normal and height in the world
    double mass, inertia[3];
    int series;             // of a free body: where the series is in a state's numbers
    cal_geometry* geometry; // in the frame of the principal axes; NULL: none

    double offset[3], turn[4]; // the centre of mass and the principal axes in the body's frame
    cal_pose block;            // of CAL_FORM_BLOCK and CAL_FORM_PLANE: in the frame of the principal axes
    double half[3];
    cal_motion at; // of a fixed body

    char* name;
    cal_world_body_def def;
    cal_shape_def* shapes;
    cal_mesh_def* meshes; // of the shapes, with arrays of their own
    int shape_count, shape_capacity;
    uint32_t generation;
    double hit_at; // time of its last collision, and how many there were at that time
    int hits_at_time;
} cal_sim_body;

// --- Components ---------------------------------------------------------------------------------------------------------

typedef enum cal_component_kind { CAL_UNUSED, CAL_FREE_BODY, CAL_MULTIBODY, CAL_GROUP } cal_component_kind;

typedef struct cal_multibody cal_multibody;
typedef struct cal_contact_group cal_contact_group;

typedef struct cal_component {
    _Alignas(64) cal_component_kind kind;
    const struct cal_component_ops* ops; // what it can do (component.h); NULL: unused
    int body;                            // of a free body
    int weight;                          // moving bodies
    double local_time;                   // how far it was asked for
    cal_queue queue;
    cal_multibody* multibody;
    cal_contact_group* group;
} cal_component;

// --- Pairs --------------------------------------------------------------------------------------------------------------

typedef enum cal_pair_kind {
    CAL_PAIR_BALLS,      // two balls in free flight under one acceleration: the root of a quadratic
    CAL_PAIR_BALL_PLANE, // a ball in free flight and a fixed plane: the root of a quadratic
    CAL_PAIR_ROUNDED,    // balls against balls, a plane or a block: second-order steps that never pass a root
    CAL_PAIR_GENERAL     // first-order steps
} cal_pair_kind;

typedef struct cal_pair {
    int body[2];  // ascending
    int place[2]; // in the bodies' lists
    int32_t kind;
    int event; // −1: the pair is not in use
    bool hit;  // the event is a collision, not the end of what was searched
    bool off;  // they touch in a group, which is in charge of the two
} cal_pair;

typedef struct cal_pair_table {
    cal_pair* pairs;
    int32_t* cells; // open addressing: a pair's number + 1
    int32_t* free;
    int pair_count, free_count, capacity, cell_count;
} cal_pair_table;

// --- Callbacks, events ----------------------------------------------------------------------------------------------------

typedef struct cal_collision_hook {
    int body, next;
    cal_collision_callback* callback;
    void* user;
} cal_collision_hook;

enum { CAL_VIEW_BODIES = 16 };

typedef struct cal_periodic_hook {
    int bodies[CAL_VIEW_BODIES];
    int count, event;
    double first, period;
    int64_t tick; // the next one
    cal_periodic_callback* callback;
    void* user;
} cal_periodic_hook;

typedef struct cal_event_log {
    cal_world_event* events;
    int32_t* junctions; // by which a rollback finds them
    int64_t head, tail; // taken and made
    int capacity;
    bool keep;
} cal_event_log;

// --- The world ------------------------------------------------------------------------------------------------------------

typedef struct cal_change {
    int component;
    double time;
} cal_change;

// Two bodies that overlap at the start, and so pass through each other: links of one multibody, or held by the ground.
typedef struct cal_ignored_overlap {
    int body[2];
    double depth;
} cal_ignored_overlap;

enum { CAL_SYSTEM_NAMES = 5 };

struct cal_world {
    cal_world_def def;
    cal_sim_def systems; // how multibodies are advanced; its names are in system_names
    char system_names[CAL_SYSTEM_NAMES][16];
    char group_name[32];
    const cal_group_ops* group_ops;
    cal_sim_body* bodies;
    int body_count, body_capacity;
    cal_component* components;
    int component_count, component_capacity;
    int* ended; // groups that ended and that GVT has not passed yet
    int ended_count, ended_capacity;
    int* unused_components;
    int unused_count, unused_capacity;
    cal_multibody* multibodies;
    int multibody_count, multibody_capacity;
    cal_junction* junctions;
    int* unused_junctions;
    int junction_count, junction_capacity, unused_junction_count;
    cal_pair_table table;
    uint64_t* ignored; // sorted keys of pairs that may not collide
    int ignored_count, ignored_capacity;
    cal_ignored_overlap* ignored_overlaps;
    int ignored_overlap_count, ignored_overlap_capacity;
    cal_event_queue events;
    cal_broad* broad;
    cal_collision_hook* collision_hooks;
    int collision_hook_count, collision_hook_capacity;
    cal_periodic_hook* periodic_hooks;
    int periodic_hook_count, periodic_hook_capacity;
    cal_event_log log;
    cal_change* changes; // components whose motion changed and that were not settled yet
    int change_count, change_capacity;
    cal_state_ref* stack; // of a rollback
    int stack_count, stack_capacity;
    int32_t* partners; // scratch for the broad phase's answers
    int partner_capacity;
    double* scratch; // of the group integrator
    size_t scratch_count;
    cal_random random; // of the forced rollbacks
    double time;       // committed
    double now;        // of the event being processed
    double gvt;        // nothing before it can change
    double lag;        // how far behind `now` that is: only what forces rollbacks needs more than zero
    double window;     // searches begin at multiples of it, or where a motion does
    double contact_speed;
    double
        slow; // what gravity gives between two group checks, or without gravity a little of a size: slower is at rest
    void* owned;                  // what a scene's callbacks read; freed with the world
    void (*release)(void* owned); // before that; NULL: nothing to do
    cal_model** models;           // those that live as long as the world
    int model_count, model_capacity;
    bool started;
    bool placing;      // bodies are being moved apart: pairs are known, but nobody looks ahead yet
    cal_status failed; // a world that failed half way stays failed
    cal_error trouble; // what a multibody that could not go on has said
    cal_world_report report;
    int64_t states;
};

// --- Queues and the state graph (graph.c) ---------------------------------------------------------------------------------

bool cal_queue_create(cal_queue* queue, int stride);
bool cal_queue_reserve(cal_queue* queue, int64_t count); // room for so many states; false: no memory
void cal_queue_destroy(cal_queue* queue);
// A new state at the end, with the numbers of the one before that are copied (zeros for the first); NULL: no memory.
cal_saved_state* cal_queue_push(cal_world* world, int component, cal_saved_state_kind kind, double time);
// The newest state that is not after a time, −1: there is none.
int64_t cal_queue_find(const cal_queue* queue, double time);
// A junction of newly made states; −1: no memory.
int cal_junction_create(cal_world* world);
bool cal_junction_add(cal_world* world, int junction, int component, int64_t number);
// Deletes states from a number on, everything that may have come from them, and so on. What went back is noted; cal_world_update_changed
// then moves its events.
cal_status cal_rollback(cal_world* world, int component, int64_t number, cal_error* error);
// Deletes what a component has after a time.
cal_status cal_rollback_to(cal_world* world, int component, double time, cal_error* error);
// Notes that a component's motion changes from a time on.
cal_status cal_note_change(cal_world* world, int component, double time, cal_error* error);
// Gives everything that changed its new boxes, predictions and events.
cal_status cal_world_update_changed(cal_world* world, cal_error* error);
// Moves a component's own clock, and counts what that took.
void cal_component_mark_used(cal_world* world, int component, double time);

// --- Motion (trajectory.c) ------------------------------------------------------------------------------------------------

int cal_free_body_stride(const cal_sim_body* part);
// Makes the series of a free body's state; to be called when its numbers have changed.
void cal_free_body_begin(const cal_sim_body* part, double* data);
// A body at a time, in the newest motion that holds there. May compute further.
cal_status cal_body_at(cal_world* world, int body, double time, cal_motion* out);
// The component that is in charge of a body at a time; −1: fixed or driven.
int cal_body_component(const cal_world* world, int body, double time);
// The same without the orientation of balls about their centres, to which it does not matter.
cal_status cal_body_place_at(cal_world* world, int body, double time, cal_motion* out);
// When the newest motion of a body began; minus infinity for fixed and driven ones.
double cal_body_motion_start(const cal_world* world, int body);
// What the motion of a body after a time keeps to.
typedef struct cal_motion_bounds {
    double acceleration[3]; // of the centre, where it is constant
    double slack;           // how far the centre's acceleration may be from that
    double turn, twist;     // the largest turning rate and its largest derivative
    double until;           // these hold until then, not longer than was asked for
    bool loose;             // of a driven body: slack is of any of its points
} cal_motion_bounds;
cal_status cal_body_bounds(cal_world* world, int body, double from, double until, cal_motion_bounds* out);
// Velocity of a point of a body.
static inline void cal_point_velocity(const cal_motion* motion, const double point[3], double out[3]) {
    double arm[3];
    for (int i = 0; i < 3; i++) arm[i] = point[i] - motion->pose.position[i];
    cal_cross3(motion->w, arm, out);
    for (int i = 0; i < 3; i++) out[i] += motion->u[i];
}

// --- Collisions -----------------------------------------------------------------------------------------------------------

typedef struct cal_hit {
    double time;
    double speed; // of approach
} cal_hit;

// When two bodies collide in (from, to]; time is infinite when they do not (search.c).
cal_status cal_find_hit(cal_world* world, const cal_pair* pair, double from, double to, cal_hit* out, cal_error* error);
// Whether a closed formula gives the collision of two bodies in the motions that hold at a time (search.c).
bool cal_has_formula(const cal_world* world, const cal_pair* pair, double time);
// A time before which they do not collide, and whether they touch and approach now: a step of conservative advancement
// (search.c).
cal_status cal_bound_hit(cal_world* world, const cal_pair* pair, double time, double until, double* bound,
                         bool* touching);
cal_pair_kind cal_classify(const cal_world* world, int a, int b);
// Where two bodies touch that collide: the pieces that approach fastest of those that touch, or the nearest (search.c).
void cal_world_contact(cal_world* world, const cal_pair* pair, const cal_motion at[2], cal_separation* out);
// The signed distance of two bodies in given motions (search.c).
void cal_world_distance(cal_world* world, int a, const cal_motion* at_a, int b, const cal_motion* at_b, double limit,
                        cal_distance_cache* warm, cal_separation* out);
// Friction and restitution of a contact (impact.c).
void cal_material(const cal_world* world, int a, int piece_a, int b, int piece_b, double* friction,
                  double* restitution);

// The impulse on body a (body b gets the opposite) of Chatterjee and Ruina's law. K: velocity change of the contact point, a
// relative to b, for an impulse; relative: velocity of a's point relative to b's (impact.c).
void cal_impulse(const double K[9], const double normal[3], const double relative[3], double restitution,
                 double friction, double impulse[3]);
// Adds to K what an impulse on a free body does to one of its points (impact.c).
void cal_add_response(const cal_sim_body* part, const cal_motion* motion, const double point[3], double K[9]);

// What a collision over several points does to two bodies (impact_faces.c).
typedef struct cal_face_result {
    double u[2][3], w[2][3]; // velocities after, world's axes
    double impulse[3];       // on the first body, all points together
    double parting;          // the largest speed at which any point bodies
} cal_face_result;
// False where they meet in one point only, or one of them is a link.
bool cal_face_impulse(const cal_world* world, const int bodies[2], const cal_motion at[2], double margin,
                      cal_face_result* out);

// A component's motion begins anew at a time, with the numbers that hold there; what came after is rolled back. To be settled
// by the caller (segment.c).
cal_status cal_begin_segment(cal_world* world, int component, double time, cal_error* error);
// An integration step of a free body ends at a time, as in the loops that stop everybody: the state there is stored, and the
// motion goes on from it (segment.c).
cal_status cal_step_component(cal_world* world, int component, double time, cal_error* error);
// Adds to K how a point of a body answers to an impulse; its component's newest state is the one that holds (segment.c).
cal_status cal_world_response(cal_world* world, int body, double time, const cal_motion* motion, const double point[3],
                              double K[9], cal_error* error);
// Changes the newest state of a body's component by an impulse at a point (segment.c).
cal_status cal_world_apply_impulse(cal_world* world, int body, double time, const cal_motion* motion,
                                   const double point[3], const double impulse[3], cal_error* error);
// After the numbers of a component's newest state were changed (segment.c).
cal_status cal_world_refresh(cal_world* world, int component, cal_error* error);

// Processes a collision of a pair at a time: new states, junction, log, callbacks, perhaps a group (collision.c).
cal_status cal_world_collide(cal_world* world, int pair, double time, cal_error* error);

// --- Pairs and boxes (pairs.c, boxes.c) -----------------------------------------------------------------------------------

int cal_pair_find(const cal_world* world, int a, int b); // −1: none
cal_status cal_pair_add(cal_world* world, int a, int b, int* out, cal_error* error);
void cal_pair_remove(cal_world* world, int pair);
void cal_pair_table_destroy(cal_pair_table* table);
bool cal_pair_table_reserve(cal_pair_table* table, int count); // room for so many; false: no memory
void cal_pair_table_index(cal_pair_table* table);              // after pairs were written into an empty table
bool cal_may_collide(const cal_world* world, int a, int b);
bool cal_world_ignore(cal_world* world, int a, int b); // from now on they pass through each other; false: no memory
// Searches from a time on and schedules what comes of it.
cal_status cal_pair_predict(cal_world* world, int pair, double time, cal_error* error);
// A new swept box of a body from a time on, with what that does to its pairs.
cal_status cal_box_renew(cal_world* world, int body, double time, cal_error* error);
// Makes a body's box one about its way over an interval, with what that does to its pairs.
cal_status cal_box_sweep(cal_world* world, int body, double from, double to, cal_error* error);
// A box about a body's way over an interval.
cal_status cal_body_box(cal_world* world, int body, double from, double to, cal_box* out);
// After a new motion began: new box, all pairs searched again.
cal_status cal_body_changed(cal_world* world, int body, double time, cal_error* error);

// Where the numbers of a body are in the newest state that holds at a time (callbacks.c).
typedef struct cal_numbers {
    double *velocity, *angular;    // of a free body; angular in principal axes
    double *acceleration, *torque; // of a free body; torque in principal axes
    double *q, *v, *tau;           // of a multibody
    double* slots;
} cal_numbers;
cal_numbers cal_body_numbers(const cal_world* world, int body, double time);

// --- Reports (energy.c) ---------------------------------------------------------------------------------------------------

void cal_add_energy(const cal_world* world, const cal_sim_body* part, const cal_motion* at, cal_world_report* r);
// What the joints of a multibody add at the world's time.
void cal_add_joint_energy(cal_world* world, int multibody, cal_world_report* r);

// --- Callbacks (callbacks.c) ----------------------------------------------------------------------------------------------

cal_status cal_call_collision(cal_world* world, int a, int b, const double impulse[3], double time, cal_error* error);
cal_status cal_call_periodic(cal_world* world, int hook, cal_error* error);
void cal_schedule_periodic(cal_world* world, int hook);

// --- Loops ----------------------------------------------------------------------------------------------------------------

cal_status cal_world_start(cal_world* world, cal_error* error); // start.c
// Form, geometry and reach of a body whose offset and turn are known (start.c).
cal_status cal_body_prepare_shape(cal_world* world, int body, cal_error* error);
// A symmetric matrix (xx, yy, zz, xy, xz, yz) as moments about axes, which the quaternion turns to (start.c).
void cal_principal_axes(const double inertia[6], double moments[3], double quaternion[4]);
// Mass, centre, axes, form of a link (start.c).
cal_status cal_body_weigh_link(cal_world* world, int body, cal_error* error);
// Makes a model the world's own, to be destroyed with it; on failure at once.
cal_status cal_world_keep_model(cal_world* world, cal_model* model, cal_error* error);
// A component without states; −1: no memory (start.c).
int cal_component_add(cal_world* world, cal_component_kind kind, int stride);
cal_status cal_advance_timewarp(cal_world* world, double time, cal_error* error);
cal_status cal_advance_retroactive(cal_world* world, double time, cal_error* error);
cal_status cal_advance_conservative(cal_world* world, double time, cal_error* error);

// --- Small helpers --------------------------------------------------------------------------------------------------------

// Makes room for one more in a list that grows by doubling; false: no memory.
bool cal_grow(void** list, int* capacity, int count, size_t size);
static inline uint64_t cal_pair_key(int a, int b) {
    return a < b ? (uint64_t)a << 29 | (uint64_t)b : (uint64_t)b << 29 | (uint64_t)a;
}
// The body's own frame, as the user knows it; each may be NULL.
void cal_motion_to_frame(const cal_sim_body* part, const cal_motion* at, double position[3], double quaternion[4]);
const char* cal_body_name_at(const cal_world* world, int body, char* text, size_t capacity);
