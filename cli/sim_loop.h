// The loop of `calder sim`: frames, checkpoints and timed events of any run, and what is said at its end.
#pragma once
#include "recording.h"
#include "run_open.h"

typedef struct cal_sim_options {
    double time, fps, every; // NaN: the kind's own time and frame rate
    cal_texts out, at;
    const char *columns, *plot, *events, *checkpoint, *resume, *save;
    bool check, forces, json;
} cal_sim_options;

// Runs what was opened to its end, and prints; returns the exit status.
int cal_sim_loop(cal_opened* opened, const cal_sim_options* options);
