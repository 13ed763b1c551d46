// Clocks of instances that are advanced together (clock.h).
#include "ensemble/clock.h"
#include "plan/plan.h"
#include <stdio.h>

void cal_clock_start(cal_step_clock* clock, const cal_ensemble_job* job, double time) {
    const cal_solver_settings settings = {.step = job->step, .horizon = job->step, .component_count = 1};
    *clock = (cal_step_clock){0};
    job->ops->start(clock->memory, &settings, time, clock->down, &clock->decision);
}

cal_status cal_clock_control(cal_step_clock* clock, const cal_ensemble_job* job) {
    static const double quiet[CAL_MAX_SUMS] = {0};
    clock->evaluations++;
    const cal_status status = job->ops->control(clock->memory, quiet, clock->down, &clock->decision);
    clock->interpolates = clock->decision.accepted;
    if (clock->decision.accepted) clock->steps++;
    return status;
}

bool cal_clock_arrives(const cal_step_clock* clock, const cal_ensemble_job* job) {
    return job->steps < 0 && clock->decision.evaluation_time >= job->time;
}

bool cal_clock_has_arrived(const cal_step_clock* clock, const cal_ensemble_job* job) {
    if (job->steps >= 0) return clock->steps >= job->steps;
    return clock->interpolates && clock->decision.time >= job->time;
}

void cal_clock_fail(const cal_step_clock* clock, const cal_ensemble_job* job, cal_ensemble* ensemble, int instance,
                    cal_status status) {
    char text[200];
    snprintf(text, sizeof text, "steps of %g s do not get past t = %g s; the state at t = %g s is kept", job->step,
             clock->decision.time, cal_ensemble_row(ensemble, instance)[CAL_ROW_TIME]);
    cal_ensemble_fail(ensemble, instance, status, text);
}

void cal_clock_show(const cal_step_clock* clock, const cal_ensemble_job* job, cal_ensemble* ensemble, int instance,
                    const cal_layout* layout, int lane, const double* y, int node) {
    double* row = cal_ensemble_row(ensemble, instance);
    row[CAL_ROW_STEPS] += (double)clock->steps;
    row[CAL_ROW_EVALUATIONS] += (double)clock->evaluations;
    if (node >= 0) {
        char name[80], text[256];
        snprintf(text, sizeof text,
                 "body '%s' became infinite or not a number before t = %g s; the state at t = %g s is kept: use a "
                 "smaller step, or check the forces",
                 cal_model_body_name(ensemble->model, ensemble->model->nodes[node].body, name, sizeof name), job->time,
                 row[CAL_ROW_TIME]);
        cal_ensemble_fail(ensemble, instance, CAL_NOT_FINITE, text);
        return;
    }
    cal_layout_gather(layout, lane, y, cal_ensemble_q(ensemble, instance), cal_ensemble_v(ensemble, instance));
    row[CAL_ROW_TIME] = job->time;
}
