// Images of instances: all that one goes on from, as words, for checkpoints (record/ensemble_checkpoint.c).
//
// Of instances side by side with fixed steps an image is the same in lanes and in a device's memory, at every width:
//
//     begins anew │ clock │ y, dy/dt at both ends of the last step, each in the user's order │ τ │ controls │ flows and account
//
// Of instances that take turns it is the memory of a system (solver/system.h), which has the order of its lanes.
#pragma once
#include "ensemble/clock.h"
#include "ensemble/lane_flows.h"

enum { CAL_CLOCK_IMAGE = CAL_CLOCK_NUMBERS + CAL_CLOCK_DOWN + 8 };
void cal_clock_store(const cal_step_clock* clock, double* image);
// false: no clock of these steps has such numbers.
bool cal_clock_load(const double* image, const cal_solver_ops* ops, cal_step_clock* out);

// Whether images of two clocks have the same bits.
bool cal_clocks_are_alike(const double* image, const double* other);

// What an instance in lanes has, in an image: places of its parts, in words.
typedef struct cal_lane_image {
    size_t begins, clock, vectors, vector, tau, control, flows, size; // vector: words of one
} cal_lane_image;
cal_lane_image cal_lane_image_of(const cal_model* model);
// Whether it is one of an instance with such a row.
bool cal_lane_image_is_sound(const cal_ensemble* ensemble, const double* image, const double* row);
// The same of the memory of a system, which the simulation then has.
bool cal_ensemble_memory_is_sound(cal_sim* sim, const double* image, size_t words, const double* row);
