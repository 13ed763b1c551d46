// Energy and momentum for reports (energy.c).
#pragma once
#include "simulation/body.h"

void cal_add_energy(const cal_world* world, const cal_sim_body* part, const cal_motion* at, cal_world_report* r);
// What the joints of a multibody add at the world's time.
cal_status cal_add_joint_energy(cal_world* world, int component, cal_world_report* r);
