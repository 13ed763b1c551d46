// The inside of an ensemble: what all instances share, and the ways to advance them.
//
// Every process knows a *row* per instance: its time, state and counts, as they are shown to the user. Behind the rows of its own
// share a process keeps what advances them, one of these tables of functions (cal_ensemble_ops):
//
//     lockstep   W instances side by side in lanes: trees with a fixed step, nothing that looks at one instance alone
//     resident   the same on a device: all instances side by side in its memory, and with variable steps each has its own (steered.c)
//     held       resident ones with constraints, with a fixed step (resident_held.c)
//     separate   instances as simulations, one after the other: everything else
//
// Either divides its instances into *units* (W instances, or one) that need nothing of each other. Workers take units from a
// counter; a unit's result does not depend on who takes it or when, and so neither does the ensemble's.
//
//     machine    serial            threads                          ranks
//     share      all instances     all instances                    a contiguous part per rank
//     units      in turn           taken by workers from a counter  in turn
//     rows       —                 —                                gathered at the end of every advance
#pragma once
#include "base/advancing.h"
#include "base/parts.h"
#include "machine/machine.h"
#include "solver/solver.h"

// A row: these numbers, then q and v, and where accounts are kept the balance. Counts are exact below 2⁵³.
enum {
    CAL_ROW_TIME,
    CAL_ROW_STATUS, // of the instance: a cal_status
    CAL_ROW_STEPS,
    CAL_ROW_REJECTED,
    CAL_ROW_EVALUATIONS,
    CAL_ROW_JACOBIAN,
    CAL_ROW_TOLD, // 1: every process knows the line that says why it failed
    CAL_ROW_HEAD
};
enum { CAL_ROW_BALANCE = (sizeof(cal_energy_balance) + sizeof(double) - 1) / sizeof(double) }; // numbers of it

// What workers do with units: advance to a time, take steps, or evaluate once.
typedef struct cal_ensemble_job {
    double time;               // to advance to
    int64_t steps;             // to take instead; negative: advance to `time`
    const cal_solver_ops* ops; // of fixed steps
    double step;
    // Forward dynamics instead, where qdd is not NULL: the user's rows.
    const double *q, *v, *tau;
    double* qdd;
} cal_ensemble_job;

// One way to advance the instances of a share.
typedef struct cal_ensemble_ops {
    // Makes what advances the share; ensemble->unit_count.
    cal_status (*create)(cal_ensemble* ensemble, cal_error* error);
    void (*destroy)(cal_ensemble* ensemble);
    // The instance begins anew at the ensemble's time, at q and v (either may be NULL: kept), which its row then shows. projects: the
    // nearest state that its constraints allow. On an error nothing is changed.
    cal_status (*start)(cal_ensemble* ensemble, int instance, const double* q, const double* v, bool projects,
                        cal_error* error);
    // Joint forces and controls from now on; either may be NULL: kept. Finite numbers.
    cal_status (*drive)(cal_ensemble* ensemble, int instance, const double* tau, const double* control,
                        cal_error* error);
    // Whether the instance is where constraints do not say which way it goes (cal_constraint_report); NULL: there are none.
    bool (*is_undecided)(const cal_ensemble* ensemble, int instance);
    // Does the job for a unit and writes the rows of its instances.
    cal_status (*run)(cal_ensemble* ensemble, int worker, int unit, const cal_ensemble_job* job);
    // Writes the states that forward dynamics was asked for into the rows of the share: a row is far away for one evaluation.
    void (*show_kept)(const cal_ensemble* ensemble);
    bool takes_steps; // whether jobs may be steps and forward dynamics
    // Images of all instances of the share, one after the other (image.h), of so many words each; 0: there are none, or an instance is a
    // simulation of its own. Only those that are sound are loaded.
    size_t (*image_size)(const cal_ensemble* ensemble);
    bool (*depends_on_lanes)(
        const cal_ensemble* ensemble); // whether they are of the engine's lanes alone; NULL: they are not
    cal_status (*store)(cal_ensemble* ensemble, double* images);
    bool (*is_sound)(const cal_ensemble* ensemble, const double* image, const double* row); // of one instance
    cal_status (*load)(cal_ensemble* ensemble, const double* images);
    cal_sim* (*sim)(const cal_ensemble* ensemble, int instance);
} cal_ensemble_ops;
extern const cal_ensemble_ops cal_ensemble_lockstep, cal_ensemble_resident, cal_ensemble_held, cal_ensemble_separate;
// Of an ensemble on a device: its plan of W instances, and where they are; NULL: it is on no device. And what was written there
// becomes the instances' state: all begin anew from it.
CAL_FOR_PARTS const cal_plan* cal_ensemble_on_device(const cal_ensemble* ensemble, cal_batch** batch);
CAL_FOR_PARTS cal_status cal_ensemble_adopt(cal_ensemble* ensemble);
// Brings states, joint forces and controls there that were changed here; the next job would.
CAL_FOR_PARTS cal_status cal_ensemble_send_states(cal_ensemble* ensemble);
// Brings joint forces and controls there that were changed here.
CAL_FOR_PARTS cal_status cal_ensemble_send_drives(cal_ensemble* ensemble);
// Whether a solver's steps can be taken side by side: fixed ones, with what a group has room for.
bool cal_lockstep_takes(const cal_solver_ops* ops);

struct cal_ensemble {
    const cal_model* model;
    cal_advancing advancing;
    cal_ensemble_def def; // its texts are the caller's, and not looked at after the making
    const cal_ensemble_ops* ops;
    const cal_solver_ops* solver; // of fixed steps
    cal_machine* machine;         // whose processors take units; NULL: the caller's thread alone
    cal_machine* device;          // in whose memory the share's instances live; NULL: they live here
    cal_machine* engine;          // one core, on which a unit runs
    int count, workers;           // instances in all; workers in this process
    int first, end;               // this process' share
    int unit_count;               // of the share
    double time;                  // of all instances that have not failed
    double stretch;               // of an advance that may be interrupted, s; 0: the first one comes
    double* rows;                 // count × row_size
    size_t row_size;              // doubles: whole cache lines
    char** texts;           // one line for each instance that has failed; NULL: it has not, or there was no memory
    double* messages;       // of processes: two for what this one shows, in turn, and room for what all show
    size_t message_size;    // doubles
    unsigned message_count; // so far
    bool accounts;          // rows have a balance
    uint64_t settings;      // a hash of what checkpoints must agree in
    struct cal_lockstep* lockstep;
    struct cal_resident* resident;
    struct cal_separate* separate;
    // Poses and energy of one instance, for who asks.
    cal_machine* query_machine;
    cal_plan* query_plan;
    cal_state* query_state;
    bool behind;     // forward dynamics has kept states that the rows do not show yet
    bool any_failed; // some instance has
    int queried;     // the instance that it holds, or CAL_NONE
};

static inline double* cal_ensemble_row(const cal_ensemble* ensemble, int instance) {
    return ensemble->rows + (size_t)instance * ensemble->row_size;
}
static inline double* cal_ensemble_q(const cal_ensemble* ensemble, int instance) {
    return cal_ensemble_row(ensemble, instance) + CAL_ROW_HEAD;
}
static inline double* cal_ensemble_v(const cal_ensemble* ensemble, int instance) {
    return cal_ensemble_q(ensemble, instance) + ensemble->model->q_count;
}
static inline bool cal_ensemble_has_failed(const cal_ensemble* ensemble, int instance) {
    return cal_ensemble_row(ensemble, instance)[CAL_ROW_STATUS] != (double)CAL_OK;
}
// And the balance of energy of an instance whose account is kept.
static inline double* cal_ensemble_balance_row(const cal_ensemble* ensemble, int instance) {
    return cal_ensemble_v(ensemble, instance) + ensemble->model->v_count;
}
void cal_ensemble_show_balance(const cal_ensemble* ensemble, int instance, const cal_energy_balance* balance);
// Shows another state: positions with quaternions of unit length, as a simulation has them.
void cal_ensemble_show(cal_ensemble* ensemble, int instance, const double* q, const double* v);
// As cal_ensemble_set; projects: the instance is then moved to where its constraints hold.
cal_status cal_ensemble_start(cal_ensemble* ensemble, int instance, const double* q, const double* v, bool projects,
                              cal_error* error);
// How many instances are where constraints do not say which way they go, and the first of them (CAL_NONE). All processes ask together.
cal_status cal_ensemble_find_undecided(cal_ensemble* ensemble, int* count, int* first);
// The instance is well again, at the ensemble's time.
void cal_ensemble_revive(cal_ensemble* ensemble, int instance);
// The instance rests from now on, with the row as it is.
void cal_ensemble_fail(cal_ensemble* ensemble, int instance, cal_status status, const char* text);

// --- Processors (share.c) ----------------------------------------------------------------------------------------------

enum { CAL_ENSEMBLE_PROCESSES = 1024 }; // at most

// Which instances are this process', and how many workers it has.
void cal_ensemble_divide(cal_ensemble* ensemble);
// Memory for messages, once row_size is known.
cal_status cal_ensemble_create_messages(cal_ensemble* ensemble);
// Runs a job on all units of the share. An error is not one of an instance: the worst of all units and processes.
cal_status cal_ensemble_run(cal_ensemble* ensemble, const cal_ensemble_job* job);
// Gives every process all of `count` × `size` numbers, a run of `size` (at most row_size) per instance, of which each has those of
// its share.
cal_status cal_ensemble_collect(cal_ensemble* ensemble, double* numbers, size_t size);
// Gives every process all rows, and the lines of instances that failed.
cal_status cal_ensemble_collect_rows(cal_ensemble* ensemble);
// The worst status of all processes.
cal_status cal_ensemble_agree(const cal_ensemble* ensemble, cal_status status);
