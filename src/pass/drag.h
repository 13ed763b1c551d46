// What a medium does to a body (calder.h: cal_drag_def), by MuJoCo's two models.
#pragma once
#include "model/model.h"

// velocity: angular and linear, relative to the medium, in the drag's own axes; force: torque and force, the same.
void cal_drag_force(const cal_drag_def* drag, const cal_medium* medium, const double velocity[6], double force[6]);
