// What drives a model: a control per actuator; and where an actuator has an activation that follows its control in time, the activations
// as they were at a time, and that time.
//
//   drive │ controls │ activations at t₀ │ t₀ │        the last two: only of models with activations
//
// Controls are constant between two changes, so that each activation is a function of time alone, in closed form: nothing is integrated,
// every solver evaluates it exactly at any time, and the drive is all there is to keep of it.
#pragma once
#include "model/model.h"

bool cal_model_has_activations(const cal_model* model);
int cal_drive_count(const cal_model* model); // doubles of a drive
// The model's start, at a time.
void cal_drive_start(const cal_model* model, double time, double* drive);
// Other controls from a time on; NULL: the same.
void cal_drive_change(const cal_model* model, double time, const double* control, double* drive);
// Other activations, a number per actuator, from a time on.
void cal_drive_activate(const cal_model* model, double time, const double* activations, double* drive);
// What was at a time is from now on at another one.
void cal_drive_move(const cal_model* model, double from, double to, double* drive);
// What enters the law of each motor at a time: its control, or its activation. A number per actuator.
void cal_drive_inputs(const cal_model* model, const double* drive, double time, double* out);
// The same for one motor, at the start.
static inline double cal_motor_start(const cal_actuator_def* def) {
    return def->activation == CAL_ACTIVATION_NONE ? def->initial_control : def->initial_activation;
}
// The activations alone; zero for actuators without one.
void cal_drive_activations(const cal_model* model, const double* drive, double time, double* out);
// A hash goes on over the activations at a time; models without any change nothing.
uint64_t cal_drive_hash(const cal_model* model, const double* drive, double time, uint64_t hash);
