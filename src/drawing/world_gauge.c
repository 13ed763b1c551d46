// Readings of a world for plots.
#include "drawing/world_gauge.h"

#include <math.h>

enum { KINETIC, POTENTIAL, TOTAL, DISCONTINUITIES, ROLLBACKS, GROUPS, ASLEEP };

const cal_channel cal_world_channels[CAL_WORLD_CHANNELS] = {
    [KINETIC] = {"kinetic", "J", "Energy", false},
    [POTENTIAL] = {"potential", "J", "Energy", false},
    [TOTAL] = {"total", "J", "Energy", false},
    [DISCONTINUITIES] = {"discontinuities", "1/s", "Discontinuities a simulated second", false},
    [ROLLBACKS] = {"rollbacks", "1/s", "Rollbacks a simulated second", false},
    [GROUPS] = {"groups", "", "Contact groups and sleeping bodies", false},
    [ASLEEP] = {"asleep", "", "Contact groups and sleeping bodies", false},
};

cal_world_gauge cal_world_gauge_for(const cal_world* world) { return (cal_world_gauge){.time = cal_world_time(world)}; }

static void follow(cal_rate* rate, int64_t count, double passed) {
    if (passed > 0) rate->value += fmin(1, 4 * passed) * ((double)(count - rate->count) / passed - rate->value);
    rate->count = count;
}

void cal_world_gauge_read(cal_world_gauge* gauge, cal_world* world, double values[CAL_WORLD_CHANNELS]) {
    cal_world_report report;
    cal_world_get_report(world, &report);
    const double passed = report.time - gauge->time;
    follow(&gauge->discontinuities, report.discontinuities, passed);
    follow(&gauge->rollbacks, report.rollbacks, passed);
    gauge->time = report.time;
    values[KINETIC] = report.kinetic;
    values[POTENTIAL] = report.potential;
    values[TOTAL] = report.kinetic + report.potential;
    values[DISCONTINUITIES] = gauge->discontinuities.value;
    values[ROLLBACKS] = gauge->rollbacks.value;
    values[GROUPS] = report.groups_now;
    values[ASLEEP] = report.asleep;
}
