// Energy and momentum for reports (energy.c).
#pragma once
#include "simulation/body.h"

// What a body adds to the sums of a report, term by term: sums are taken in the order of bodies, whoever found the terms.
typedef struct cal_energy_terms {
    double kinetic[3], fall[3], momentum[6];
} cal_energy_terms;

void cal_find_energy(const cal_world* world, const cal_sim_body* part, const cal_motion* at, cal_energy_terms* out);
void cal_add_energy(const cal_energy_terms* terms, cal_world_report* r);
// What the joints of a multibody add at the world's time.
cal_status cal_add_joint_energy(cal_world* world, int component, cal_world_report* r);
