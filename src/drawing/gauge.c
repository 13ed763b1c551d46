// Readings of a simulation for plots.
#include "drawing/gauge.h"

#include <math.h>

#include "drawing/drawing.h"

enum { KINETIC, POTENTIAL, TOTAL, DRIFT, STEP, ORDER, EVALUATIONS, CONSTRAINT };

const cal_channel cal_gauge_channels[CAL_GAUGE_CHANNELS] = {
    [KINETIC] = {"kinetic", "J", "Energy", false},
    [POTENTIAL] = {"potential", "J", "Energy", false},
    [TOTAL] = {"total", "J", "Energy", false},
    [DRIFT] = {"drift", "of the largest kinetic energy", "Energy drift", true},
    [STEP] = {"step", "s", "Step size", true},
    [ORDER] = {"order", "", "Order", false},
    [EVALUATIONS] = {"evaluations", "1/s", "Evaluations a simulated second", false},
    [CONSTRAINT] = {"constraint error", "m or rad", "Constraint error", true},
};

cal_gauge cal_gauge_for(const cal_model* model) {
    return (cal_gauge){.channel_count = cal_model_constraint_count(model) > 0 ? CAL_GAUGE_CHANNELS : CONSTRAINT};
}

void cal_channels_write_json(const cal_channel* channels, int count, FILE* file) {
    fputc('[', file);
    for (int i = 0; i < count; i++) {
        fputs(i ? ",{\"name\":" : "{\"name\":", file);
        cal_write_json_text(file, channels[i].name);
        fputs(",\"unit\":", file);
        cal_write_json_text(file, channels[i].unit);
        fputs(",\"plot\":", file);
        cal_write_json_text(file, channels[i].plot);
        fprintf(file, ",\"logarithmic\":%s}", channels[i].logarithmic ? "true" : "false");
    }
    fputc(']', file);
}

void cal_gauge_mark(cal_gauge* gauge) { gauge->marked = false; }

cal_status cal_gauge_read(cal_gauge* gauge, cal_sim* sim, bool pulled, double values[CAL_GAUGE_CHANNELS]) {
    cal_sim_report report;
    cal_sim_get_report(sim, &report);
    const cal_status status = cal_sim_energy(sim, &values[KINETIC], &values[POTENTIAL]);
    if (status) return status;
    values[TOTAL] = values[KINETIC] + values[POTENTIAL];
    if (!gauge->marked || pulled) {
        gauge->marked = true;
        gauge->reference = values[TOTAL];
        gauge->largest_kinetic = 0;
    }
    gauge->largest_kinetic = fmax(gauge->largest_kinetic, values[KINETIC]);
    const double change = fabs(values[TOTAL] - gauge->reference);
    values[DRIFT] = pulled || !(gauge->largest_kinetic > 0) ? NAN : change / gauge->largest_kinetic;
    values[STEP] = report.step;
    values[ORDER] = report.order;
    const double passed = report.time - gauge->time;
    // A simulation that was made anew counts from zero.
    const int64_t spent = report.evaluations - (report.evaluations < gauge->evaluations ? 0 : gauge->evaluations);
    if (passed > 0) {
        const double weight = fmin(1, 4 * passed);
        gauge->rate += weight * ((double)spent / passed - gauge->rate);
    }
    if (passed != 0) {
        gauge->time = report.time;
        gauge->evaluations = report.evaluations;
    }
    values[EVALUATIONS] = gauge->rate;
    if (gauge->channel_count <= CONSTRAINT) return CAL_OK;
    cal_constraint_report constraints;
    const cal_status known = cal_sim_constraints(sim, &constraints);
    values[CONSTRAINT] = known ? NAN : constraints.error;
    return known;
}
