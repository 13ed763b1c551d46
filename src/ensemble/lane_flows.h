// The energy of instances side by side (lockstep.c): what flows in and out of each, and its account.
//
// As in a system by itself (solver/flows.h) a power is the acceleration of a joint that is in no model, and the solver of the motion
// integrates it. Here that joint has a lane per instance, as all others have: a group has two of them, for work and for loss.
//
//     block      work                loss
//     q          ∫∫  lane 0 … W−1    ∫∫  lane 0 … W−1
//     v          ∫ P dt   …          …
#pragma once
#include "ensemble/ensemble.h"
#include "solver/account.h"
#include "solver/vectors.h"

enum { CAL_LANE_KEPT = CAL_ONE_STEP_OWN, CAL_LANE_STAGES = 3, CAL_LANE_VECTORS = CAL_LANE_KEPT + CAL_LANE_STAGES };

typedef struct cal_lane_flows cal_lane_flows;

// For `groups` of `lanes` instances, and so many workers.
cal_status cal_lane_flows_create(const cal_model* model, int groups, int lanes, int workers, cal_lane_flows** out);
void cal_lane_flows_destroy(cal_lane_flows* flows);

// An instance is somewhere else: its account begins anew with the next advance.
void cal_lane_flows_forget(cal_lane_flows* flows, int group, int lane);
// Joint forces of one of a group's instances work from now on.
void cal_lane_flows_drive(cal_lane_flows* flows, int group);
// The solver begins in a lane, where the row of its instance is.
cal_status cal_lane_flows_begin(cal_lane_flows* flows, int worker, int group, int lane, const cal_ensemble* ensemble,
                                int instance);

// An instance's part of an image (image.h), in words: what has flowed, its account and its row's balance. The first word says whether
// there is an account: without flows (NULL) there is none.
size_t cal_lane_flows_image_size(void);
void cal_lane_flows_store(const cal_lane_flows* flows, int group, int lane, const cal_ensemble* ensemble, int instance,
                          double* image);
bool cal_lane_flows_are_sound(const double* image);
void cal_lane_flows_load(cal_lane_flows* flows, int group, int lane, const cal_ensemble* ensemble, int instance,
                         const double* image);

// Around an evaluation of a group, with what a clock sends down.
void cal_lane_flows_prepare(cal_lane_flows* flows, int worker, int group, const cal_solver_ops* ops,
                            const double* down);
void cal_lane_flows_follow_up(cal_lane_flows* flows, int worker, int group, const cal_solver_ops* ops,
                              const cal_context* context);
// A step of these lanes was accepted.
void cal_lane_flows_accept(cal_lane_flows* flows, int group, unsigned lanes);
// Keeps what a group has, and puts these lanes back.
void cal_lane_flows_save(cal_lane_flows* flows, int worker, int group);
void cal_lane_flows_put_back(cal_lane_flows* flows, int worker, int group, unsigned lanes);
// The instance's row shows where it came to, by its clock's polynomial at the job's time or at the end of its steps: what flowed to
// there goes into its account, and the balance into its row.
cal_status cal_lane_flows_show(cal_lane_flows* flows, int worker, int group, int lane, const cal_ensemble_job* job,
                               const void* control, const cal_ensemble* ensemble, int instance);
