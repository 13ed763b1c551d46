/// \file calder_run.h
/// What is advanced and watched: a simulation, a world of colliding bodies, an ensemble, a randomized simulation. Recorders,
/// checkpoints, the viewer and the command know only this noun.
///
/// A function that a kind of run does not have gives #CAL_NOT_AVAILABLE and one line that says so; cal_run_can tells before.
#pragma once
#include "calder/calder_world.h"

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default) // what is declared here is all that a shared library shows
#endif

/// Something that is advanced and watched.
typedef struct cal_run cal_run;

// --- Making one ---------------------------------------------------------------------------------------------------------

/// A run of a simulation or a world that stays the caller's, and must outlive it. The caller may go on advancing it.
cal_status cal_run_of_sim(cal_sim* sim, cal_run** out, cal_error* error);
cal_status cal_run_of_world(cal_world* world, cal_run** out, cal_error* error);

/// A run with a simulation of its own, which can be pulled by hand and whose settings can change; from
/// cal_default_run_sim_def.
typedef struct cal_run_sim_def {
    cal_sim_def sim; ///< force is called beside the hand's; a machine that is given must outlive the run
    const char*
        machine; ///< "serial", "threads[:N][,pinned]": made where sim.machine is NULL, and shown; NULL: "serial"
    int lanes;   ///< of machines that the run makes
    bool rests;  ///< cal_run_approach may return before its time, so that its caller can answer somebody meanwhile
    bool hand;   ///< it can be pulled by hand, which costs a look at q and v per evaluation; true
    uint32_t cookie;
} cal_run_sim_def;
cal_run_sim_def cal_default_run_sim_def(void);
/// The model must outlive the run.
cal_status cal_run_create_sim(const cal_model* model, const cal_run_sim_def* def, cal_run** out, cal_error* error);

/// Makes a world that was not advanced yet, the same one every time.
typedef cal_status cal_world_function(void* user, cal_world** out, cal_error* error);
/// A run with a world of its own; make is called now and whenever the run starts anew.
cal_status cal_run_create_world(cal_world_function* make, void* user, cal_run** out, cal_error* error);

/// An ensemble; what is sampled is the first instance. From cal_default_run_ensemble_def. Model and machines must outlive the run.
typedef struct cal_run_ensemble_def {
    cal_ensemble_def ensemble;
    /// Changes an instance's start, which comes as the ensemble has it; NULL: not. Also called when the run starts anew.
    void (*start)(void* user, int instance, double* q, double* v);
    void* user;
    uint32_t cookie;
} cal_run_ensemble_def;
cal_run_ensemble_def cal_default_run_ensemble_def(void);
cal_status cal_run_create_ensemble(const cal_model* model, const cal_run_ensemble_def* def, cal_run** out,
                                   cal_error* error);
/// Randomized parallel simulation; what is sampled is the elected solution. Model and machine must outlive the run.
cal_status cal_run_create_randomized(const cal_model* model, const cal_rps_def* def, cal_run** out, cal_error* error);

void cal_run_destroy(cal_run* run); ///< NULL is allowed

// --- What it can do ------------------------------------------------------------------------------------------------------

/// What only some kinds of runs have.
typedef enum cal_run_ability {
    CAL_RUN_STATE,     ///< q and v: cal_run_q, cal_run_v
    CAL_RUN_SET,       ///< cal_run_set
    CAL_RUN_ENERGY,    ///< cal_run_energy
    CAL_RUN_BALANCE,   ///< cal_run_balance
    CAL_RUN_FORCES,    ///< cal_run_joint_forces
    CAL_RUN_EVENTS,    ///< cal_run_keep_events, cal_run_next_event
    CAL_RUN_SAVE,      ///< cal_run_save, cal_run_restore
    CAL_RUN_CHANGE,    ///< cal_run_change
    CAL_RUN_RESET,     ///< cal_run_reset
    CAL_RUN_GRAB,      ///< cal_run_grab, cal_run_drag, cal_run_drop
    CAL_RUN_CONNECT,   ///< cal_run_connect, cal_run_disconnect
    CAL_RUN_PROJECT,   ///< a start can be moved onto its constraints: cal_run_begin
    CAL_RUN_CHECK,     ///< cal_run_check
    CAL_RUN_DESCRIBE,  ///< cal_run_describe
    CAL_RUN_CONTACTS,  ///< cal_run_contacts
    CAL_RUN_INSTANCES, ///< cal_run_show: it has several instances of its model, one of which is shown
    CAL_RUN_DRIVE,     ///< cal_run_drive
    CAL_RUN_ABILITIES
} cal_run_ability;
bool cal_run_can(const cal_run* run, cal_run_ability ability);
const char* cal_run_kind(const cal_run* run); ///< "a simulation", "a world", "an ensemble", "a randomized simulation"

// --- Time ----------------------------------------------------------------------------------------------------------------

/// Checks the start, once, before the first advance: a start off its constraints is moved onto them where `project`, else it
/// is an error, or, where the stabilisation can close it, a note. note (may be NULL) gets what the user should know, or "".
cal_status cal_run_begin(cal_run* run, bool project, char note[256], cal_error* error);
/// Advances to a time. On an error the last good state is kept.
cal_status cal_run_advance(cal_run* run, double time, cal_error* error);
/// The same, but it may return on its way (cal_run_sim_def.rests): *reached is false then, and it is to be called again.
cal_status cal_run_approach(cal_run* run, double time, bool* reached, cal_error* error);
double cal_run_time(const cal_run* run);
double cal_run_wall(const cal_run* run); ///< seconds of the clock in advances so far
/// Advances should end at multiples of this, s, so that looking changes nothing; 0: anywhere; infinite: at the end only.
double cal_run_grain(const cal_run* run);
uint64_t cal_run_hash(cal_run* run); ///< over the bits of time and the state

// --- What there is to see ------------------------------------------------------------------------------------------------

/// The one model that q and v belong to; NULL: there is none.
const cal_model* cal_run_model(const cal_run* run);
int cal_run_body_count(const cal_run* run);
const char* cal_run_body_name(const cal_run* run, int body, char* text, size_t capacity);
cal_body_motion cal_run_body_motion(const cal_run* run, int body);
void cal_run_up(const cal_run* run, double up[3]); ///< against gravity; z where there is none
/// Calls back with every shape: its body (or CAL_GROUND, with its place in the world), and of meshes a number of its own in
/// shape->mesh and the mesh, else NULL. Stops and returns false where the callback does.
typedef bool cal_shape_visitor(void* user, const cal_shape_def* shape, const cal_mesh_def* mesh);
bool cal_run_shapes(const cal_run* run, cal_shape_visitor* visit, void* user);

/// How many instances of its model the run has: 1 but for an ensemble. Poses, q, v and channels are of the one that is shown, at first
/// instance 0.
int cal_run_instances(const cal_run* run);
cal_status cal_run_show(cal_run* run, int instance, cal_error* error);

/// Position and quaternion of every body's frame, 7 numbers each.
cal_status cal_run_poses(cal_run* run, double* poses, cal_error* error);
/// Valid until the next call; NULL where there are none.
const double* cal_run_q(const cal_run* run);
const double* cal_run_v(const cal_run* run);
/// Kinetic and potential energy, J.
cal_status cal_run_energy(cal_run* run, double energy[2], cal_error* error);
/// The balance of energy (calder.h). CAL_NOT_CONVERGED: the run has exploded; out tells how, and a run that can begin from another q and
/// v is back in the state in which this was asked for last and was well.
cal_status cal_run_balance(cal_run* run, cal_energy_balance* out, cal_error* error);
/// As cal_sim_joint_forces.
cal_status cal_run_joint_forces(cal_run* run, double* forces, cal_error* error);

/// As cal_sim_sensor.
cal_status cal_run_sensor(cal_run* run, int sensor, double* values, cal_error* error);

/// A number to plot.
typedef struct cal_channel {
    const char* name;
    const char* unit;
    const char* plot; ///< title of the plot that it belongs to
    bool logarithmic;
} cal_channel;
enum { CAL_RUN_CHANNELS = 16 }; ///< at most
const cal_channel* cal_run_channels(const cal_run* run, int* count);
/// Their values at cal_run_time; rates are smoothed over a quarter of a second. NaN: has none now.
cal_status cal_run_read(cal_run* run, double values[CAL_RUN_CHANNELS], cal_error* error);
/// A channel of the program's own, read with the run's; the function is called where the run is read (in the viewer's thread where
/// that advances the run), with the run at cal_run_time. Before recorders and viewers are made. The channel's texts must outlive
/// the run. #CAL_BAD_ARGUMENT: there are #CAL_RUN_CHANNELS already.
typedef double cal_channel_function(void* user, cal_run* run);
cal_status cal_run_add_channel(cal_run* run, const cal_channel* channel, cal_channel_function* read, void* user,
                               cal_error* error);
/// As cal_sim_contacts: where bodies that stay in contact touch, and the forces. Where only one of the two moves, it is the first.
cal_status cal_run_contacts(cal_run* run, cal_contact_point* out, int capacity, int* count, cal_error* error);
/// Numbers of a body as members of a JSON object, for the viewer; returns the length it needs, as snprintf; 0: nobody knows.
size_t cal_run_describe(cal_run* run, int body, char* text, size_t capacity);
/// What could be changed where a run is too slow, as a sentence; pace: simulated seconds per second that it reaches. Returns the length
/// that it needs, as snprintf.
size_t cal_run_advise(const cal_run* run, double pace, char* text, size_t capacity);

/// Something that happened and that no rollback takes back.
typedef struct cal_run_event {
    double time;
    const char* kind; ///< "bounce", "fusion"
    int body[2];      ///< of the run; CAL_GROUND: a shape of what does not move
    char name[2][64]; ///< of the two bodies, or shapes of the ground
    double impulse;   ///< N s
} cal_run_event;
cal_status cal_run_keep_events(cal_run* run, cal_error* error); ///< from now on; they are not kept unless asked for
/// Takes the next one, in the order of time; false when there is none (yet).
bool cal_run_next_event(cal_run* run, cal_run_event* out);

// --- Changing it ----------------------------------------------------------------------------------------------------------

/// Goes on from another state, and at another time where the kind of run has that. Each array may be NULL: kept.
cal_status cal_run_set(cal_run* run, double time, const double* q, const double* v, cal_error* error);
/// Joint forces and controls from now on, as cal_sim_drive; of an ensemble: those of all instances.
cal_status cal_run_drive(cal_run* run, const double* tau, const double* control, cal_error* error);
/// As cal_sim_connect.
cal_status cal_run_connect(cal_run* run, int constraint, cal_connection how, cal_error* error);
/// As cal_sim_disconnect.
cal_status cal_run_disconnect(cal_run* run, int constraint, cal_error* error);
/// As cal_sim_catch. Part of #CAL_RUN_CONNECT.
cal_status cal_run_catch(cal_run* run, int constraint, cal_error* error);
/// As cal_sim_project_holding, before cal_run_begin. Part of #CAL_RUN_CONNECT.
cal_status cal_run_project_holding(cal_run* run, const bool* held, cal_error* error);
/// Writes a checkpoint, as cal_sim_save.
cal_status cal_run_save(cal_run* run, const char* path, cal_error* error);
/// Continues from a checkpoint, to the same bits, as cal_sim_load.
cal_status cal_run_restore(cal_run* run, const char* path, cal_error* error);
cal_status cal_run_reset(cal_run* run, cal_error* error); ///< back to the start
/// As cal_sim_check.
cal_status cal_run_check(cal_run* run, double* residual, int* body, cal_error* error);

/// What can be changed while it runs.
typedef struct cal_run_settings {
    char solver[16], algorithm[16], machine[32];
    double tolerance;
} cal_run_settings;
void cal_run_get_settings(const cal_run* run, cal_run_settings* out); ///< empty texts where there are none
/// On an error the settings of before go on.
cal_status cal_run_change(cal_run* run, const cal_run_settings* settings, cal_error* error);

/// A hand on a body: a damped spring from a point of the body (body's frame) to a target in the world.
cal_status cal_run_grab(cal_run* run, int body, const double point[3], cal_error* error);
void cal_run_drag(cal_run* run, const double target[3]); ///< moves the target
void cal_run_drop(cal_run* run);                         ///< lets go
/// What the hand does now.
typedef struct cal_run_pull {
    int body;                                ///< CAL_NONE: nothing is pulled
    double position[3], target[3], force[3]; ///< of the point, of the hand, on the body; world's axes
} cal_run_pull;
void cal_run_get_pull(const cal_run* run, cal_run_pull* out);

// --- What is said about it -------------------------------------------------------------------------------------------------

/// What a value of a report is.
typedef enum cal_fact_kind {
    CAL_FACT_LINE, ///< a line for people: label and text; the others are values for programs
    CAL_FACT_TEXT,
    CAL_FACT_NUMBER,
    CAL_FACT_INTEGER,
    CAL_FACT_BOOLEAN,
    CAL_FACT_HASH,
    CAL_FACT_NUMBERS,
    CAL_FACT_OPEN, ///< text is the bracket, '{' or '[', that opens here
    CAL_FACT_CLOSE ///< or closes
} cal_fact_kind;
/// One entry of a report.
typedef struct cal_fact {
    cal_fact_kind kind;
    const char* key; ///< or label; NULL inside arrays. Not copied
    char text[160];
    double number;
    uint64_t bits; ///< of integers, booleans and hashes
    double* numbers;
    int count;
} cal_fact;

/// A list of facts, from which summaries and JSON are printed.
typedef struct cal_facts cal_facts;
cal_status cal_facts_create(cal_facts** out, cal_error* error);
void cal_facts_destroy(cal_facts* report); ///< NULL is allowed
int cal_facts_count(const cal_facts* report);
const cal_fact* cal_facts_get(const cal_facts* report, int index);
/// #CAL_NO_MEMORY when something was lost.
cal_status cal_facts_status(const cal_facts* report);
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
/// Adds a line for people.
void cal_facts_line(cal_facts* report, const char* label, const char* format, ...);
/// Adds a value for programs, as those that follow do.
void cal_facts_text(cal_facts* report, const char* key, const char* text);
void cal_facts_number(cal_facts* report, const char* key, double number);
void cal_facts_integer(cal_facts* report, const char* key, int64_t number);
void cal_facts_boolean(cal_facts* report, const char* key, bool value);
void cal_facts_hash(cal_facts* report, const char* key, uint64_t hash);
void cal_facts_numbers(cal_facts* report, const char* key, const double* numbers, int count);
/// What is added until cal_facts_close belongs to an object ('{') or an array ('[').
void cal_facts_open(cal_facts* report, const char* key, char bracket);
void cal_facts_close(cal_facts* report, char bracket); ///< '}' or ']'

/// Watches the instances of a randomized simulation: where each is put at the beginning of an interval (step 0), and where it is after each
/// of its steps. q and v are valid during the call. Instances of several processors call at the same time, ranks only for their own.
typedef void cal_rps_callback(int64_t interval, int instance, int step, const double* q, const double* v, void* user);
/// watch: NULL for nobody.
void cal_rps_watch(cal_rps* rps, cal_rps_callback* watch, void* user);
/// Makes the machine that a text names: "serial", "threads", "threads:4", either of the latter with ",pinned".
cal_status cal_machine_from_text(const char* text, int lanes, cal_machine** out, cal_error* error);
/// "one core", "4 cores", "3 of 8 ranks"; returns the text.
const char* cal_machine_text(const cal_machine* machine, int used, char* text, size_t capacity);
/// Adds what the run says about itself.
void cal_run_report(cal_run* run, cal_facts* report);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
