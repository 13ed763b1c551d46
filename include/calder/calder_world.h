/// \file calder_world.h
/// Worlds: many bodies that collide, each with a clock of its own (Mirtich's timewarp), and the two loops that it is
/// compared with.
///
/// A world holds bodies (free, fixed or driven along a given path), multibodies (models of calder.h), the shapes with which
/// they touch, and callbacks. All of them come and go at any time but in callbacks: what was added is taken in by the next
/// cal_world_advance (to cal_world_time, for instance), at the world's time, and what is removed is gone at once. Until it was taken
/// in, something new is only a definition: it is seen where it was put, and touches nothing. Units, quaternions and errors are
/// as in calder.h.
///
/// What a world shows is final: cal_world_advance returns when nothing up to its time can change any more.
#pragma once
#include "calder/calder.h"

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default) // what is declared here is all that a shared library shows
#endif

/// Bodies that collide, their callbacks and their history.
typedef struct cal_world cal_world;

/// A body of a world: a small value, to be copied. One that is stale (the body was removed) or another world's is an error
/// where it is used; forks of a simulation share the ids of what they share.
typedef struct cal_body_id {
    int32_t index;
    uint32_t generation;
} cal_body_id;
/// A multibody of a world.
typedef struct cal_multibody_id {
    int32_t index;
    uint32_t generation;
} cal_multibody_id;

/// How time goes on.
typedef enum cal_world_loop {
    CAL_TIMEWARP,    ///< each body at its own pace, rolled back where it must be
    CAL_RETROACTIVE, ///< all bodies in steps of one size, all backed up to each collision
    CAL_CONSERVATIVE ///< all bodies together to the earliest time at which anything might happen
} cal_world_loop;

/// How a world behaves; from cal_default_world_def.
typedef struct cal_world_def {
    cal_world_loop loop;
    double step;            ///< of the retroactive loop, s; 0.01
    double gravity[3];      ///< m/s²; (0, 0, -9.81)
    double tolerance;       ///< of multibodies, relative; 1e-8
    double group_tolerance; ///< of contact groups, relative; 1e-4
    const char* group;      ///< integrator of contact groups: "implicit" (stacks rest) or "penalty" (the paper's)
    /// Checks of a contact group per second, and more where bodies are so small that gravity moves them by a twentieth of their size
    /// between two; 0, the default: 100, or fewer where all bodies are so large, and gravity so weak, that these do.
    double group_rate;
    /// A collision after which bodies part at less than this joins them into a contact group, m/s; 0: what gravity gives
    /// in one interval of group checks, and without gravity what parts the smallest one in it by less than group_tolerance of
    /// its size. Elastic collisions (restitution 1) join only where a bounce
    /// goes no further than a millionth of the size.
    double contact_speed;
    double restitution; ///< of every collision; negative: the larger one of the two shapes
    double friction;    ///< of every contact; negative: the larger one of the two shapes
    bool separate; ///< move bodies apart that overlap at the start, instead of refusing; those that cannot pass through
        ///< each other. Overlaps of up to a millionth of the smaller body, as worlds have themselves, are parted anyway
    /// For finding mistakes: after an event, with this probability, a component goes back to a time at random. What is
    /// committed stays the same to the bit.
    double forced_rollbacks;
    uint64_t seed;    ///< of the forced rollbacks
    bool check_rules; ///< run every callback twice and fail where the two differ: it used what it may not
    /// How multibodies are advanced between events: solver, algorithm and its schedule, machine, step, largest step and order, and
    /// how constraints stay closed; copied, but for the machine. Its tolerances are not read. NULL: solver "auto" on one core, an
    /// explicit method, and an implicit one where joint forces are stiff.
    const struct cal_sim_def* systems;
    /// Whether an advance shall end early, at the time of the last event, or with the present window where several processors have
    /// parts of the world; NULL: none does. Of ranks each of which has all of it nobody is asked.
    cal_interrupt_callback* interrupt;
    void* interrupt_user;
    uint32_t cookie;
} cal_world_def;
cal_world_def cal_default_world_def(void);
/// The tolerance of systems between events that goes with one of contact groups: 1e-4 times that, from 1e-12 to 1e-6. A run has
/// thousands of their steps, and a collision makes an error grow.
double cal_flight_tolerance(double group_tolerance);

/// How a body moves.
typedef enum cal_body_motion {
    CAL_MOVING, ///< freely, by its mass
    CAL_FIXED,  ///< not at all
    CAL_DRIVEN  ///< as its path says, whatever it meets
} cal_body_motion;

const char* cal_body_motion_name(cal_body_motion motion); ///< "free", "fixed", "driven"

/// Where a driven body is at a time, and how fast: of its frame, everything in the world's axes. Must depend on nothing but
/// its arguments, and the velocities must be the derivatives.
typedef void cal_path_function(double time, double position[3], double quaternion[4], double velocity[3],
                               double angular_velocity[3], void* user);

/// A body of a world.
typedef struct cal_world_body_def {
    const char* name; ///< NULL: named by its number; need not be unique; copied
    cal_body_motion motion;
    double position[3];         ///< of its frame
    double quaternion[4];       ///< need not be normalised
    double velocity[3];         ///< of its centre of mass, world's axes
    double angular_velocity[3]; ///< world's axes
    double density;             ///< kg/m³: mass, centre and inertia come from the shapes; 0: from what follows
    double mass;                ///< kg
    double center[3];           ///< centre of mass in the body's frame
    double inertia[6];          ///< about the centre of mass, body's axes: xx, yy, zz, xy, xz, yz
    cal_path_function* path;    ///< of a driven body
    void* user;                 ///< of the path
    double path_speed;          ///< of a driven body: no point of it is ever faster, m/s
    double path_acceleration;   ///< of a driven body: no point of it is ever accelerated more, m/s²
    int slots;                  ///< numbers for callbacks to keep with the body's state; zero at the start
    uint32_t cookie;
} cal_world_body_def;
cal_world_body_def cal_default_world_body_def(void); ///< a moving body of water's density at rest in the origin

cal_status cal_world_create(const cal_world_def* def, cal_world** out, cal_error* error);
void cal_world_destroy(cal_world* world); ///< NULL is allowed
/// Adds a body, as new. In a running world the next advance takes it in: CAL_BAD_MODEL where it overlaps others and the world may
/// not `separate` them (then only what is new is moved), or neither can be moved, or it has no mass; the world is as it was then,
/// and what is new is still new, until it is removed. Adding and removing keeps to the bits: the same calls at the same times give
/// the same hash.
cal_status cal_world_add_body(cal_world* world, const cal_world_body_def* def, cal_body_id* out, cal_error* error);
/// Adds a shape to a body: shape->body is not used, position and quaternion are in the body's frame. mesh: of CAL_MESH and
/// CAL_HEIGHT_FIELD, NULL otherwise; copied. Only to a body that is new.
cal_status cal_world_add_shape(cal_world* world, cal_body_id body, const cal_shape_def* shape, const cal_mesh_def* mesh,
                               cal_error* error);
/// Adds what a model describes, with its shapes, at its start values; several multibodies may share a model, which must
/// outlive the world. The world's gravity acts on it, not the model's. Bodies of the ground become one fixed body. slots: as for a body.
/// Constraints hold from the start: where they are open there, the multibody is projected onto them (cal_world_report.start_moved).
cal_status cal_world_add_multibody(cal_world* world, const cal_model* model, const double position[3],
                                   const double quaternion[4], int slots, cal_multibody_id* out, cal_error* error);
/// The q and v that a new multibody begins with, instead of the model's; each may be NULL.
cal_status cal_world_start_multibody(cal_world* world, cal_multibody_id multibody, const double* q, const double* v,
                                     cal_error* error);
/// Removes a body at cal_world_time. What it touched goes on without it: a contact group that it is in ends, and the rest forms new
/// ones; callbacks that see it end. Other bodies keep their numbers and ids. Its own number may be used again, with another
/// id. CAL_BAD_ARGUMENT: it is a part of a multibody, or belongs to the model of a simulation.
cal_status cal_world_remove_body(cal_world* world, cal_body_id body, cal_error* error);
/// The same for a multibody with all its links, and the body of what its model has on the ground.
cal_status cal_world_remove_multibody(cal_world* world, cal_multibody_id multibody, cal_error* error);
/// Makes a world of a model, such as a file describes (calder_read.h), at the model's start: a tree whose only joint is a free
/// one becomes a body, any other tree a multibody, trees that a constraint connects (also one that is inactive) one multibody
/// together, and each shape of what does not move a fixed body. Of def (may be NULL)
/// everything but gravity is used, which is the model's; where restitution or friction is negative, the model's numbers of
/// these names hold for all contacts, and else those of the shapes. The model need not outlive the world. CAL_BAD_MODEL: it has
/// something that a world cannot do (a plane that moves). Links of a multibody touch each other, but for those that
/// a joint, or a loop joint that is active, connects; categories and masks, exclusions and contact pairs hold.
cal_status cal_world_from_model(const cal_model* model, const cal_world_def* def, cal_world** out, cal_error* error);
/// The body of the world that a multibody's body is.
cal_body_id cal_world_link(const cal_world* world, cal_multibody_id multibody, int body);
/// Two bodies pass through each other. All may collide at first, but for those that do not move, the bodies of one multibody,
/// and shapes whose categories and masks say otherwise. One of the two must be new.
cal_status cal_world_ignore_pair(cal_world* world, cal_body_id a, cal_body_id b);
/// Lets the bodies of a multibody touch each other, but for two that a joint connects, or that are fixed to each other. Those
/// that overlap at the start pass through each other (cal_world_ignored_overlap). Only of one that is new.
cal_status cal_world_let_links_touch(cal_world* world, cal_multibody_id multibody, cal_error* error);
/// After the first advance: two bodies that pass through each other because they overlap at the start, and how deep: links of
/// one multibody, and with `separate` also what joints hold to the ground. False past the last one.
bool cal_world_ignored_overlap(const cal_world* world, int index, cal_body_id pair[2], double* depth);

// --- Callbacks ----------------------------------------------------------------------------------------------------------

/// What a callback sees: the event's time and the states of its bodies at that time. It may use nothing else (no variable of
/// its own, no clock, no other body): what it must remember goes into slots, which are saved and restored with the state.
/// It may be called for things that are undone later.
typedef struct cal_callback_context cal_callback_context;

/// Called at a collision of a body, after the impulse; 0 and 1 are the two bodies.
typedef void cal_collision_callback(cal_callback_context* view, const double impulse[3], void* user);
/// Called at times of its own for the bodies it was registered with, 0 … count − 1.
typedef void cal_periodic_callback(cal_callback_context* view, void* user);

double cal_callback_time(const cal_callback_context* view);
/// Position and quaternion of the frame of a body of the view; velocities of its centre of mass, world's axes. Each may be
/// NULL.
void cal_callback_body(const cal_callback_context* view, int which, double position[3], double quaternion[4],
                       double velocity[3], double angular_velocity[3]);
double* cal_callback_slots(cal_callback_context* view, int which); ///< NULL when the body has none
/// Which body of the world this is.
cal_body_id cal_callback_id(const cal_callback_context* view, int which);
/// Changes the velocity of a moving body.
void cal_callback_set_velocity(cal_callback_context* view, int which, const double velocity[3],
                               const double angular_velocity[3]);
/// A force (world's axes, at the centre of mass) and a torque (body's axes) from now on, in place of the ones before.
void cal_callback_set_force(cal_callback_context* view, int which, const double force[3], const double torque[3]);
/// Of the multibody that a body belongs to: its q, v, and its joint forces from now on. NULL for other bodies.
const double* cal_callback_q(const cal_callback_context* view, int which);
const double* cal_callback_v(const cal_callback_context* view, int which);
double* cal_callback_tau(cal_callback_context* view, int which);

/// Calls back at each collision of a body, which must be new.
cal_status cal_world_on_collision(cal_world* world, cal_body_id body, cal_collision_callback* callback, void* user,
                                  cal_error* error);
/// Calls back at first, first + period, first + 2 period, … for some bodies (at most 16). Control is such a callback that
/// sets forces. Its bodies must be new; it ends when one of them is removed.
cal_status cal_world_on_period(cal_world* world, const cal_body_id* bodies, int count, double first, double period,
                               cal_periodic_callback* callback, void* user, cal_error* error);

// --- Running ------------------------------------------------------------------------------------------------------------

/// Advances to a time not before the last one. The first call checks the world: CAL_BAD_MODEL names the bodies that overlap
/// and how deep, or what is massless. A world that fails has ended: later calls, and cal_world_get_body, give the same status.
/// A change that finds no memory (a push, a drive, a removal) may end it, too.
cal_status cal_world_advance(cal_world* world, double time, cal_error* error);
double cal_world_time(const cal_world* world);

/// q and v of a multibody at cal_world_time; each may be NULL.
cal_status cal_world_multibody_state(const cal_world* world, cal_multibody_id multibody, double* q, double* v);
/// Joint forces and controls of a multibody from cal_world_time on; each may be NULL: kept.
cal_status cal_world_drive(cal_world* world, cal_multibody_id multibody, const double* tau, const double* control,
                           cal_error* error);

/// Lets a constraint of a multibody (a number of its model) hold from cal_world_time on; as cal_sim_connect: its gap must be below
/// #CAL_CONNECT_TOLERANCE, and with CAL_CONNECT_SMOOTH its speed; else CAL_BAD_ARGUMENT, and nothing changes. Its motion begins
/// anew, and that of the contact group that it is in. Not before the first advance (to time 0, for instance).
cal_status cal_world_connect(cal_world* world, cal_multibody_id multibody, int constraint, cal_connection how,
                             cal_error* error);
/// Lets go of a constraint. One that does not hold is CAL_OK.
cal_status cal_world_disconnect(cal_world* world, cal_multibody_id multibody, int constraint, cal_error* error);
bool cal_world_connected(const cal_world* world, cal_multibody_id multibody, int constraint);
/// The constraint of a name: which multibody has it, and its number there; false: there is none.
bool cal_world_find_constraint(const cal_world* world, const char* name, cal_multibody_id* multibody, int* constraint);
/// How far the active constraints of all multibodies are open at cal_world_time: the largest error (m, rad) and the largest speed
/// (m/s, rad/s) of their rows. Either may be NULL.
cal_status cal_world_constraint_error(const cal_world* world, double* error, double* speed);

/// Adds a force and a torque (world's axes) at a point of a body (body's frame) to what acts on it from cal_world_time on, until
/// cal_world_release. On a free body the torque about its centre stays what it is now, in the body's axes: renew it where it
/// turns. Without effect on a body that does not move. Each may be NULL: zero.
cal_status cal_world_push(cal_world* world, cal_body_id body, const double force[3], const double torque[3],
                          const double point[3], cal_error* error);
cal_status cal_world_release(cal_world* world, cal_error* error); ///< forgets all pushes, and what callbacks set

int cal_world_body_count(const cal_world* world); ///< numbers that are or were in use: those of removed bodies count
/// 0 … cal_world_body_count − 1; index −1: it was removed.
cal_body_id cal_world_body(const cal_world* world, int index);
const char* cal_world_body_name(const cal_world* world, cal_body_id body, char* text, size_t capacity);
cal_body_id cal_world_find_body(const cal_world* world, const char* name); ///< the first of that name; index −1: none
cal_body_motion cal_world_body_motion(const cal_world* world, cal_body_id body);
/// At cal_world_time, as cal_callback_body.
cal_status cal_world_get_body(const cal_world* world, cal_body_id body, double position[3], double quaternion[4],
                              double velocity[3], double angular_velocity[3]);
/// Positions and quaternions of the frames of all bodies, 7 numbers each, in the order of cal_world_body; zeros and no turn where
/// one was removed.
cal_status cal_world_poses(const cal_world* world, double* poses);
/// The shapes of a body, for drawing; index 0 …; false past the last one. mesh->vertices is the world's.
bool cal_world_get_shape(const cal_world* world, cal_body_id body, int index, cal_shape_def* out, cal_mesh_def* mesh);
/// Slots of a body at cal_world_time; NULL when it has none. Valid until the next advance.
const double* cal_world_slots(const cal_world* world, cal_body_id body);
bool cal_world_is_asleep(const cal_world* world, cal_body_id body);

/// A committed collision.
typedef struct cal_world_event {
    double time;
    cal_body_id body[2];
    double impulse;   ///< its length, N s
    double normal[3]; ///< from the second body to the first
    double point[3];
    bool fusion; ///< the two stay in contact
} cal_world_event;
/// Takes the next committed collision, in the order of time; false when there is none (yet).
bool cal_world_next_event(cal_world* world, cal_world_event* out);
void cal_world_keep_events(cal_world* world, bool keep); ///< not kept unless asked for

/// What was computed so far, with what rollbacks have taken back: what stays is in the log (cal_world_next_event). A discontinuity is a collision or a
/// change of a contact group; integrations are intervals given to an integrator, weighted with bodies where it says so.
typedef struct cal_world_report {
    double time;
    int moving; ///< bodies that have states: free ones and links
    int driven; ///< bodies on a path
    int bodies; ///< all
    int64_t discontinuities, collisions, fusions, fissions;
    int64_t checks;       ///< distances computed between two bodies
    int64_t predictions;  ///< times of impact from a closed formula
    int64_t events;       ///< taken from the queue
    int64_t series;       ///< Taylor series of rotations that were continued
    int64_t integrations; ///< of a component
    double intervals;     ///< s, summed over integrations: their average is intervals / integrations
    double integrated;    ///< s, summed over moving bodies
    double rolled_back;   ///< s, summed over moving bodies, with what was computed ahead and never used
    int64_t rollbacks;    ///< of a component, over time that it had been computed for
    int64_t undone;       ///< collisions and other joint events that a rollback took back
    int64_t forced;       ///< rollbacks for finding mistakes
    int64_t callbacks;
    int64_t group_steps;    ///< of the integrator of groups
    int64_t group_rejected; ///< steps that it tried and took back
    int64_t group_solves;   ///< contact problems that it solved
    int64_t group_newton;   ///< Newton steps of those
    double penetration;     ///< the deepest overlap at the end of any of its steps, m
    int64_t groups;         ///< made so far
    int groups_now, largest_group, largest_contacts, asleep;
    int64_t states, peak_states; ///< held now, and at most so far
    int cores;                   ///< of a machine that the world may be divided among; 0: it has one
    int domains;                 ///< that the world is divided into; 0: it is not
    int processors;              ///< that take domains in turn; 0: it is not divided
    int64_t windows;             ///< in which they ran side by side
    int64_t runs;                ///< of all of them: a window has another one where bodies of two domains meet
    int64_t handed_over;         ///< components that went to another domain
    double domains_s;            ///< processor time of all domains together, with that of processors that helped them
    double busiest_s;   ///< of the busiest processor of each run: what domains take with a core for each processor
    double largest_s;   ///< of the busiest component of each window, where the world was priced; otherwise 0
    double between_s;   ///< of what one core does between runs
    double border_s;    ///< of domains_s: not events, but looking for bodies of other domains, handing over, dividing
    double divide_s;    ///< of between_s: dividing the world
    double together_s;  ///< elapsed time of runs; what is more than busiest_s was waited for cores and for each other
    int start_overlaps; ///< pairs that overlapped at the start and were moved apart
    double start_depth; ///< the deepest of them, m
    double start_moved; ///< how far constraints that were open at the start moved the centre of any link, m
    double kinetic, potential; ///< energy of moving bodies
    double momentum[6];        ///< linear, and angular about the world's origin
    uint64_t hash;             ///< over the bits of time and all states
} cal_world_report;
/// Where energy came from and went since the first advance (as cal_sim_balance). What is added and removed takes its energy along. Inside
/// a step of a contact group, what is missing counts as lost.
cal_status cal_world_balance(cal_world* world, cal_energy_balance* out);
/// Counters are there in any case; energy, momentum and hash only where all bodies could be followed to the world's time.
cal_status cal_world_get_report(cal_world* world, cal_world_report* out);
/// What a world, advanced to a time, would take on so many processors, 1024 at most: it is divided among them, and they run one after
/// the other on the calling core. The report is of that advance. With a core each, where idle ones help, it would take busiest_s +
/// between_s; no number of processors goes below largest_s + between_s. domains is 0 where a world has too few bodies to divide, or
/// gains less than a tenth, and so stays on one core. Afterwards the world goes on as before.
cal_status cal_world_price(cal_world* world, int processors, double time, cal_world_report* out, cal_error* error);

/// Of a simulation of a model: the model's body that a body of its world is; CAL_GROUND: one that does not move.
int cal_sim_body_of(const cal_sim* sim, cal_body_id body);
/// And back: the body of the world that a body of the model moves with; index −1: it does not move, or there are no events.
cal_body_id cal_sim_world_body(const cal_sim* sim, int body);

// --- Questions ----------------------------------------------------------------------------------------------------------

/// Where a ray ends.
typedef struct cal_ray_result {
    cal_body_id body; ///< index −1: it meets nothing
    int shape;        ///< which of the body's shapes
    double distance;  ///< m; 0 where the ray begins inside; infinite where it meets nothing
    double point[3], normal[3];
} cal_ray_result;
/// The first colliding shape on a ray (direction of any length, limit in m; may be infinite) at the present time, but for those of
/// a body to be ignored (index −1: none).
cal_status cal_world_cast_ray(cal_world* world, const double origin[3], const double direction[3], double limit,
                              cal_body_id ignored, cal_ray_result* out, cal_error* error);

/// A body near a shape.
typedef struct cal_overlap {
    cal_body_id body;
    int shape;                  ///< which of the body's shapes is nearest
    double distance;            ///< signed, m; negative: they overlap by so much
    double point[3], normal[3]; ///< on the body; from the body to the shape
} cal_overlap;
/// All bodies that a shape (position and quaternion in the world, its category and mask) would touch, or be nearer to than margin,
/// at the present time, in the order of bodies. Writes at most capacity of them; *count: how many there are.
cal_status cal_world_overlaps(cal_world* world, const cal_shape_def* shape, const cal_mesh_def* mesh, double margin,
                              cal_overlap* out, int capacity, int* count, cal_error* error);

/// A point where two bodies of a contact group touch, at the present time.
typedef struct cal_contact_point {
    cal_body_id body[2];
    int shape[2];     ///< which of the bodies' shapes
    double point[3];  ///< half way between the two
    double normal[3]; ///< from the second body to the first
    double gap;       ///< m; negative: they overlap by so much
    double force[3];  ///< N, world's axes, on the first body; the second gets the opposite
} cal_contact_point;
/// All contacts of bodies that stay in contact, at cal_world_time, in the order of the pairs of bodies. Forces are those of a step
/// of an eighth of the interval between group checks from here on: at rest they carry the weight. Writes at most capacity of them
/// (out may be NULL where it is 0); *count: how many there are. CAL_NOT_AVAILABLE with the "penalty" integrator.
cal_status cal_world_contacts(cal_world* world, cal_contact_point* out, int capacity, int* count, cal_error* error);
/// The same of a simulation, whose bodies are the model's by cal_sim_body_of; one without events has none.
cal_status cal_sim_contacts(cal_sim* sim, cal_contact_point* out, int capacity, int* count, cal_error* error);

// --- Scenes -------------------------------------------------------------------------------------------------------------

/// Makes a world of a scene's specification, "name" or "name:key=value,…"; def may be NULL: the defaults. What the scene gives itself
/// (restitution, friction, the gravity of "atoms", the checks of "avalanche") stands in the place of what def has, but for a restitution
/// and a friction in def that are not negative.
cal_status cal_world_generate(const char* specification, const cal_world_def* def, cal_world** out, cal_error* error);
/// One scene's name; NULL past the last one.
const char* cal_scene_name(int index);
/// Its parameters with defaults and meanings, as text; NULL past the last one.
const char* cal_scene_help(int index);
/// How long the paper ran it, s; 0 past the last one.
double cal_scene_duration(int index);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
