// The table behind calder_run.h. Each kind of run fills one in run_NAME.c; run.c checks what is absent, and says so.
#pragma once
#include "base/advancing.h"
#include "calder/calder_run.h"
#include <stdio.h>

typedef struct cal_run_ops {
    const char* kind; // with its article
    // Of every run.
    void (*destroy)(cal_run* run);
    double (*time)(const cal_run* run);
    cal_status (*advance)(cal_run* run, double time, bool* reached, cal_error* error);
    uint64_t (*hash)(cal_run* run);
    const char* (*body_name)(const cal_run* run, int body, char* text, size_t capacity);
    bool (*shapes)(const cal_run* run, cal_shape_visitor* visit, void* user);
    cal_status (*poses)(cal_run* run, double* poses);
    cal_status (*read)(cal_run* run, double* values); // of the channels
    void (*report)(cal_run* run, cal_facts* report);
    // Of some, NULL for the others. Without a begin every start is good, without a motion every body moves.
    cal_status (*begin)(cal_run* run, bool project, char* note, size_t capacity, cal_error* error);
    cal_body_motion (*motion)(const cal_run* run, int body);
    const double* (*q)(const cal_run* run);
    const double* (*v)(const cal_run* run);
    cal_status (*energy)(cal_run* run, double energy[2]);
    cal_status (*balance)(cal_run* run, cal_energy_balance* out, cal_error* error);
    cal_status (*joint_forces)(cal_run* run, double* forces);
    cal_status (*sensor)(cal_run* run, int sensor, double* values, cal_error* error);
    void (*keep_events)(cal_run* run);
    bool (*next_event)(cal_run* run, cal_run_event* out);
    cal_status (*set)(cal_run* run, double time, const double* q, const double* v, cal_error* error);
    cal_status (*drive)(cal_run* run, const double* tau, const double* control, cal_error* error);
    cal_status (*connect)(cal_run* run, int constraint, cal_connection how, cal_error* error);
    cal_status (*disconnect)(cal_run* run, int constraint, cal_error* error);
    cal_status (*wait)(cal_run* run, int constraint, cal_error* error);
    cal_status (*hold)(cal_run* run, const bool* held, cal_error* error);
    cal_status (*save)(cal_run* run, const char* path, cal_error* error);
    cal_status (*restore)(cal_run* run, const char* path, cal_error* error);
    cal_status (*reset)(cal_run* run, cal_error* error);
    cal_status (*check)(cal_run* run, double* residual, int* body);
    void (*settings)(const cal_run* run, cal_run_settings* out);
    cal_status (*change)(cal_run* run, const cal_run_settings* settings, cal_error* error);
    cal_status (*grab)(cal_run* run, int body, const double point[3], cal_error* error);
    void (*drag)(cal_run* run, const double target[3]);
    void (*drop)(cal_run* run);
    void (*pull)(const cal_run* run, cal_run_pull* out);
    void (*describe)(cal_run* run, int body, FILE* file);
    cal_status (*contacts)(cal_run* run, cal_contact_point* out, int capacity, int* count, cal_error* error);
    void (*advise)(const cal_run* run, double pace, FILE* file);
    int (*instances)(const cal_run* run);
    void (*show)(cal_run* run, int instance);
} cal_run_ops;

// The head of every kind's own structure.
struct cal_run {
    const cal_run_ops* ops;
    cal_advancing advancing;
    const cal_model* model; // of q and v; NULL: there is no such
    int body_count;
    const cal_channel* channels;
    int channel_count;
    // The program's own channels, after the kind's; `all` has both.
    int own_count;
    cal_channel all[CAL_RUN_CHANNELS];
    struct {
        cal_channel_function* read;
        void* user;
    } own[CAL_RUN_CHANNELS];
    double grain;
    double wall;
    bool can_project;
};

// A count as a rate per simulated second, smoothed over about a quarter of a second.
typedef struct cal_rate {
    double time; // of the last reading
    int64_t count;
    double value;
} cal_rate;
double cal_rate_follow(cal_rate* rate, double time, int64_t count);

// The first channels of a run with a balance: kinetic, potential and total energy, work, loss, and the error over what was exchanged.
enum { CAL_BALANCE_CHANNELS = 6 };
void cal_run_read_balance(const cal_energy_balance* balance, double* values);
// What a balance that has exploded is called: an error with the times of the state that shows it and of the one that is kept.
cal_status cal_run_fail_balance(const cal_energy_balance* balance, double time, double kept, cal_error* error);

// A note about a start that constraints say nothing about (cal_constraint_report).
extern const char cal_run_undecided[];
// One about a start that is off its constraints, and is moved onto them or not; false: it is on them.
bool cal_run_note_off(const cal_model* model, const cal_constraint_report* report, bool moves, char* note,
                      size_t capacity);

// Keeps joint forces or controls for what is made later; NULL: as they were. False: no memory.
bool cal_run_keep(double** kept, const double* numbers, int count);

// What runs of one model share.
const char* cal_run_model_body_name(const cal_run* run, int body, char* text, size_t capacity);
bool cal_run_model_shapes(const cal_run* run, cal_shape_visitor* visit, void* user);
// The facts about its size, and who computes.
void cal_run_report_model(cal_facts* report, const cal_model* model);
void cal_run_report_machine(cal_facts* report, const cal_machine* machine, int processors);
// What its constraints did, where there are some. form: how they are held; NULL: that is the caller's.
void cal_run_report_constraints(cal_sim* sim, const char* form, cal_facts* report);
// Singular positions that were passed: how many, and those that changed the energy most.
void cal_run_report_singular(cal_sim* sim, cal_facts* report);
