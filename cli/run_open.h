// From a command line to a run: the options that every command on runs shares, which kind of run they ask for, what goes with
// what, and the run itself.
#pragma once
#include "calder/calder_run.h"
#include "command.h"
#include "machine.h"
#include "model_file.h"
#include "options.h"
#include "state_file.h"

// What a model or a scene is simulated as.
typedef enum cal_kind {
    CAL_KIND_MODEL,
    CAL_KIND_WORLD,
    CAL_KIND_SCENE,
    CAL_KIND_BATCH,
    CAL_KIND_RPS,
    CAL_KINDS
} cal_kind;

typedef struct cal_run_options {
    cal_model_options models;
    const char *solver, *algorithm, *schedule, *machine, *lanes, *placement, *stabilize, *form, *start, *hold;
    double tol, step;
    int64_t slow_band, seed;
    bool project;
    // Of worlds.
    const char *loop, *group;
    double restitution, friction, rollbacks;
    bool separate, check_rules;
    // Of a batch.
    int64_t batch;
    double spread;
    // Of randomized simulation.
    int64_t rps, interval, hypotheses;
    const char* method;
    double position_radius, velocity_radius, alpha, beta, forcing, deadline;
    bool normal, everywhere, adapt;
} cal_run_options;

// An option table that grows, and which of its options were given.
typedef struct cal_option_table {
    cal_option rows[CAL_MOST_OPTIONS];
    bool given[CAL_MOST_OPTIONS];
    size_t count;
} cal_option_table;
void cal_option_table_add(cal_option_table* table, const cal_option* rows, size_t count);

cal_run_options cal_default_run_options(void);
// Adds the rows of all of them.
void cal_run_options_add(cal_run_options* options, cal_option_table* table);

typedef struct cal_opened {
    cal_interrupt_callback* interrupt; // of the run; NULL: none
    const char* name;                  // as the user wrote it
    const cal_run_options* options;
    const struct cal_option_table* table; // which of them were given
    cal_kind kind;
    int scene;  // -1: it is a model
    bool rests; // an advance may rest on its way
    cal_run* run;
    cal_model* model;
    cal_read_report* read;
    cal_machine* machine;
    cal_placement placement;
    cal_world_def world;
    cal_sim_def systems;    // of a scene
    cal_state_values start; // of --start
    bool started;
} cal_opened;

// Decides which kind of run an argument and the options mean, and complains about an option that goes with other kinds only.
int cal_run_decide(const char* argument, const cal_run_options* options, const cal_option_table* table,
                   cal_opened* out);
// Makes the run; returns CAL_EXIT_DONE or complains. To be released in any case.
int cal_run_open(cal_opened* opened);
void cal_run_release(cal_opened* opened);
// Adds what the command line says about the run, and what the run says about itself.
void cal_run_open_report(const cal_opened* opened, cal_facts* report);

// The scene that an argument names, as cal_scene_name counts; -1: none.
int cal_scene_of(const char* argument);
// A list of the scenes, for a command's help.
void cal_print_scenes(void);
