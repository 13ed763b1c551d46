// Forces in the joints: the user's, dampers, springs, stops and motors.
#pragma once
#include "pass/pass.h"

// Writes context->force of one column: tau + dampers + springs + stops + motors, from y.
void cal_joint_forces(const cal_context* context, int column);
