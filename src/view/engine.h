// What the viewer can show: something that advances in time and has bodies with poses. The server and its thread know no
// more than this table, so that an engine of another kind (a world of colliding bodies) is one more file.
#pragma once
#include "calder/calder_view.h"
#include "drawing/drawing.h"
#include "drawing/gauge.h"
#include <stdio.h>

// What can be changed while it runs.
typedef struct cal_view_settings {
    char solver[16], algorithm[16], machine[32];
    double tolerance;
    double step; // of rk4 and euler, 0: the model's, or 0.001 s; largest step of the others, 0: no bound
    int lanes, slow_band;
    const char* stabilize; // as of cal_sim_def; NULL: its own
    double gain;
    bool project; // move the start onto the constraints
} cal_view_settings;

// The pull as it is drawn.
typedef struct cal_view_pull {
    int body; // CAL_NONE: there is none
    double position[3], target[3], force[3];
} cal_view_pull;

typedef struct cal_view_engine cal_view_engine;

typedef struct cal_view_engine_ops {
    void (*destroy)(cal_view_engine* engine);
    // Advances towards a time; *reached is false when it took a rest on the way, to be called again.
    cal_status (*advance)(cal_view_engine* engine, double time, bool* reached, cal_error* error);
    double (*time)(const cal_view_engine* engine);
    uint64_t (*hash)(const cal_view_engine* engine);
    cal_status (*reset)(cal_view_engine* engine, cal_error* error);
    // On an error the settings of before go on.
    cal_status (*change)(cal_view_engine* engine, const cal_view_settings* settings, cal_error* error);
    // Poses of the drawn bodies, 7 numbers a body, and values of the channels.
    cal_status (*sample)(cal_view_engine* engine, float* poses, double* channels, cal_view_pull* pull);
    cal_status (*grab)(cal_view_engine* engine, int body, const double point[3], cal_error* error);
    void (*drag)(cal_view_engine* engine, const double target[3]);
    void (*drop)(cal_view_engine* engine);
    // Members of a JSON object with a body's numbers.
    void (*describe)(cal_view_engine* engine, int body, FILE* file);
    // What could be changed when so many simulated seconds a second are too few, as a sentence.
    void (*advise)(const cal_view_engine* engine, double pace, FILE* file);
} cal_view_engine_ops;

struct cal_view_engine {
    const cal_view_engine_ops* ops;
    int body_count, drawn_count;
    const cal_channel* channels;
    int channel_count;
};

// A simulation of one model, which must outlive it.
cal_status cal_view_engine_sim(const cal_model* model, int drawn_count, const cal_view_settings* settings,
                               cal_view_engine** out, cal_error* error);
// A world of colliding bodies, and the drawing of it.
cal_status cal_view_engine_world(cal_world_function* make, void* user, cal_drawing** drawing, cal_view_engine** out,
                                 cal_error* error);
