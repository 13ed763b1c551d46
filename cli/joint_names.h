// Joints that an option names.
#pragma once
#include "command.h"

// The degrees of freedom of the joints in a list with commas: v_count booleans, which the caller frees; NULL where a name is unknown,
// which is complained about, or memory is.
bool* cal_degrees_of(const cal_model* model, const char* option, const char* list);
// The joint of a name of so many letters, or of a number; CAL_NONE.
int cal_joint_named(const cal_model* model, const char* name, size_t length);
