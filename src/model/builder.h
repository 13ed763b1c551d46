// How a builder becomes a model, step by step; cal_builder_finish runs these in order.
#pragma once
#include "base/finite.h"
#include "model/model.h"

// `body "arm"`, or `body 12` when it has no name; returns text.
const char* cal_describe(const char* noun, const char* name, int number, char* text, size_t capacity);

// Euclidean length, without overflow.
double cal_length(const double* values, int count);

// Checks every definition by itself (validate.c).
cal_status cal_model_validate(const cal_model* model, cal_error* error);
// The same for constraints, shapes and meshes (attachments.c).
cal_status cal_model_validate_attached(const cal_model* model, cal_error* error);
// Takes the parts out that model->disabled names (variant.c).
void cal_model_leave_out(cal_model* model);
// Checks what is kept, and puts the start values to the keyframe that model->start names (variant.c).
cal_status cal_model_start(cal_model* model, cal_error* error);
// The model's start values will be those of this keyframe; CAL_NONE: of the joints' definitions.
void cal_builder_start_at(cal_builder* builder, int keyframe);
// Rigid stops of a joint of the builder have the stiffness that was chosen where the whole model starts, wherever this part of it does.
void cal_builder_keep_stop(cal_builder* builder, int joint, double stiffness);
// Finds whether any two shapes of the compiled model may touch (touch.c).
cal_status cal_model_find_touch(cal_model* model, cal_error* error);
// Makes the tables of names, which must be unique (given_names.c).
cal_status cal_model_index_names(cal_model* model, cal_error* error);
// Makes nodes, mounts and start values from valid definitions (compile.c).
cal_status cal_model_compile(cal_model* model, cal_error* error);
// Whether a constraint welds the halves of a body that a loop joint moves (loop_joint.c).
static inline bool cal_is_loop_joint(const cal_constraint_def* def) {
    return def->kind == CAL_WELD && def->closes != CAL_NONE;
}
// Puts loop joints to where their bodies start (loop_joint.c).
cal_status cal_model_start_loop_joints(cal_model* model, cal_error* error);
// Gives half of a body's mass away: `half` is what it is now, and what was given. False: it is not there, has no mass, or no memory.
bool cal_builder_halve_body(cal_builder* builder, int body, cal_body_def* half);
// Remembers what is wrong with something that was to be added; CAL_NONE.
int cal_builder_refuse(cal_builder* builder, const char* what, const char* why);
// Turns the frames of one-degree nodes about their axes so that their second moments have no xy entry (node_axes.c).
void cal_model_turn_nodes(cal_model* model);
// Checks that everything that can move has inertia along its motion, and chooses the stiffness of stops (inertia.c).
cal_status cal_model_weigh(cal_model* model, cal_error* error);
#define CAL_STOP_FREQUENCY 10.0 // Hz, of stops whose stiffness is chosen
// Checks tendons (tendons.c).
cal_status cal_model_validate_tendons(const cal_model* model, cal_error* error);
// cal_model_weigh, and what tendons leave open: lengths of springs and the stiffness of stops (tendons.c).
cal_status cal_model_settle_tendons(cal_model* model, cal_error* error);
