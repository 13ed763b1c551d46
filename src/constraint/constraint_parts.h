// A set of constraints as memory: what all instances of a model share, and what each has of its own. For machines on which many instances have
// a set each (cuda/device_held.c).
#pragma once
#include "base/parts.h"
#include "constraint/constraint.h"

typedef struct cal_constraint_part {
    size_t field; // of cal_constraints: where the address is
    size_t bytes; // what it leads to
    bool own;     // each instance has its own
} cal_constraint_part;
enum { CAL_CONSTRAINT_PARTS = 80 };

// Whether one instance per thread can have them: one triangle, no functions of the user's. What is
// in the way, for "ensembles with …"; NULL: nothing.
const char* cal_constraints_find_obstacle(const cal_model* model);
// The constraints one by one, none in lanes (loop_packs.h).
void cal_constraints_single_out(cal_constraints* set);
// Returns how many parts there are. Paths (set->paths) have addresses themselves, which lead to what is shared; so has the model.
CAL_FOR_PARTS int cal_constraints_list_parts(const cal_constraints* set, cal_constraint_part out[CAL_CONSTRAINT_PARTS]);
