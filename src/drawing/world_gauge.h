// What is plotted beside a world.
#pragma once
#include "calder/calder_world.h"
#include "drawing/gauge.h"

enum { CAL_WORLD_CHANNELS = 7 };
extern const cal_channel cal_world_channels[CAL_WORLD_CHANNELS];

// A count as a rate, smoothed over about a quarter of a second.
typedef struct cal_rate {
    int64_t count;
    double value;
} cal_rate;

// Follows a world: energies, discontinuities and rollbacks a simulated second, contact groups, sleeping bodies.
typedef struct cal_world_gauge {
    double time; // of the last reading
    cal_rate discontinuities, rollbacks;
} cal_world_gauge;

// A gauge of a world that is at its start.
cal_world_gauge cal_world_gauge_for(const cal_world* world);
void cal_world_gauge_read(cal_world_gauge* gauge, cal_world* world, double values[CAL_WORLD_CHANNELS]);
