// What `calder sim` was asked for; shared by its single run and its batch.
#pragma once
#include "command.h"
#include "json.h"
#include "options.h"

typedef struct cal_sim_options {
    const char* model_name; // as the user wrote it
    const char* solver;
    const char* algorithm;
    const char* schedule; // of assembly; NULL: its own choice
    const char* machine;  // NULL: serial, or what a placement wants
    const char* lanes;
    const char* placement;
    cal_texts out;
    const char* plot;
    const char* checkpoint;
    const char* resume;
    const char* stabilize; // NULL: the library's own choice
    const char* form;      // of the constraints' equations; NULL: the library's own choice
    const char* at;        // timed events; NULL: none
    double time, tol, step, fps, spread, every;
    int64_t batch, slow_band;
    // Of --rps.
    int64_t rps, seed, interval, hypotheses;
    const char* method;
    double position_radius, velocity_radius, alpha, beta, forcing, deadline;
    bool normal, adapt;
    bool check, project, forces, json;
} cal_sim_options;

// Many instances at once, `--batch`.
int cal_sim_run_batch(const cal_sim_options* options, const cal_model* model);
// Randomized parallel simulation, `--rps`.
int cal_sim_run_rps(const cal_sim_options* options, const cal_model* model);
// A run of one instance.
int cal_sim_run_single(const cal_sim_options* options, const cal_model* model);
// What both say about the model, the algorithm and the machine, inside an open object.
void cal_sim_describe(cal_json* json, const cal_sim_options* options, const cal_model* model, const char* machine,
                      int processors, int lanes);
void cal_sim_describe_model(const cal_sim_options* options, const cal_model* model); // a line of the summary
// The algorithms that can advance a simulation; NULL past the last one.
const char* cal_sim_algorithm_choice(int index);

// The run of a world's scene, which has options of its own.
int cal_sim_run_world(int argc, char** argv);

// From the first call on, Ctrl-C no longer ends the process; returns whether it was pressed.
bool cal_interrupted(void);
