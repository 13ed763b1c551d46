// What is plotted beside a motion: channels with a name, a unit and the plot they belong to, read from a simulation.
#pragma once
#include "calder/calder.h"
#include <stdio.h>

typedef struct cal_channel {
    const char* name;
    const char* unit;
    const char* plot;
    bool logarithmic;
} cal_channel;

// Writes channels as a JSON array.
void cal_channels_write_json(const cal_channel* channels, int count, FILE* file);

enum { CAL_GAUGE_CHANNELS = 8 }; // at most
extern const cal_channel cal_gauge_channels[CAL_GAUGE_CHANNELS];

// Follows a simulation: energies, their drift since the last mark, the solver's step and order, its evaluations a second,
// and, last, the error of the constraints where the model has some.
typedef struct cal_gauge {
    int channel_count;
    bool marked;
    double reference, largest_kinetic; // J, since the mark
    double time;                       // of the last reading
    int64_t evaluations;
    double rate; // evaluations a simulated second, smoothed
} cal_gauge;

// A gauge for simulations of a model, with as many channels, the first ones of cal_gauge_channels, as it has something for.
cal_gauge cal_gauge_for(const cal_model* model);
// From now on the drift counts from the next reading's energy: after a pull, a reset, another solver.
void cal_gauge_mark(cal_gauge* gauge);
// Reads its channels at the simulation's time; the drift is NaN while `pulled`, since work is done then.
cal_status cal_gauge_read(cal_gauge* gauge, cal_sim* sim, bool pulled, double values[CAL_GAUGE_CHANNELS]);
