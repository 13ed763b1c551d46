// Joints that rest: by dry friction, or on stops that do not give way.
#pragma once
#include "model/model.h"

// Whether a joint can stick.
static inline bool cal_sticks(const cal_joint_def* joint) {
    return joint->friction_loss > 0.0 && (joint->kind == CAL_REVOLUTE || joint->kind == CAL_PRISMATIC);
}
// In which ways joints come to rest at events.
typedef enum cal_resting {
    CAL_REST_NONE,     // in none: friction is smooth, stops are springs
    CAL_REST_ON_STOPS, // on rigid stops; friction is smooth
    CAL_REST_ALL       // and by dry friction
} cal_resting;
// Whether a joint has a stop that does not give way, and whether any joint of a model has (CAL_PART_STICTION).
bool cal_joint_has_rigid_stop(const cal_model* model, int joint);
bool cal_model_has_rigid_stops(const cal_model* model);
// Whether a joint may rest in these ways, and whether any joint of a model may.
bool cal_joint_rests(const cal_model* model, int joint, cal_resting how);
bool cal_model_rests(const cal_model* model, cal_resting how);
// The same model without dry friction and without rigid stops in the joints that may rest so, and with a constraint for each of them, in
// their order after its own, that keeps its velocity at zero; inactive.
cal_status cal_model_create_resting(const cal_model* model, cal_resting how, cal_model** out, cal_error* error);
// The same model without its rigid stops, and nothing in their place.
cal_status cal_model_create_unstopped(const cal_model* model, cal_model** out, cal_error* error);
