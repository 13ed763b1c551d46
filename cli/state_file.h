// A state as a file: {"time": 0, "q": […], "v": […], "tau": […], "control": […], "activation": […], "qdd": […]};
// missing parts keep the model's defaults.
#pragma once
#include "command.h"

typedef struct cal_state_values {
    double time;
    double* q;
    double* v;
    double* tau;
    double* qdd;
    double* control;
    double* activation; // a number per actuator, 0 for those that have none
    double* inputs;     // cal_state_values_find_inputs
} cal_state_values;

// The model's start values and zero forces and accelerations; false when there is no memory.
bool cal_state_values_create(const cal_model* model, cal_state_values* values);
// What enters the laws of motors, a number per actuator: its control, or its activation. False: no memory.
bool cal_state_values_find_inputs(cal_state_values* values, const cal_model* model);
void cal_state_values_destroy(cal_state_values* values);
// Reads a file over the values; returns CAL_EXIT_DONE or complains. Without jansson in the build it always complains.
int cal_state_values_read(cal_state_values* values, const cal_model* model, const char* path);
// Writes time, q, v, and, where they are not NULL, controls as such a file; returns CAL_EXIT_DONE or complains.
int cal_state_write(const char* path, const cal_model* model, double time, const double* q, const double* v,
                    const double* control);
