// Joints that rest: by dry friction, or on stops that do not give way.
#pragma once
#include "model/model.h"

// Whether a joint can stick.
static inline bool cal_sticks(const cal_joint_def* joint) {
    return joint->friction_loss > 0.0 && (joint->kind == CAL_REVOLUTE || joint->kind == CAL_PRISMATIC);
}
// Whether a joint may rest, in either way, and whether any joint of a model may (CAL_PART_STICTION).
bool cal_joint_rests(const cal_model* model, int joint);
bool cal_model_rests(const cal_model* model);
// The same model without dry friction and without rigid stops in these joints, and with a constraint for each of them, in their order after
// its own, that keeps its velocity at zero; inactive.
cal_status cal_model_create_resting(const cal_model* model, cal_model** out, cal_error* error);
