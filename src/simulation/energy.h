// Energy and momentum for reports (energy.c).
#pragma once
#include "simulation/body.h"

// What a body adds to the sums of a report, term by term: sums are taken in the order of bodies, whoever found the terms.
typedef struct cal_energy_terms {
    double kinetic[3], fall[3], momentum[6];
} cal_energy_terms;

// What a report has of a body: positions, quaternion and velocities, as they are hashed, and what it adds to sums.
typedef struct cal_measured {
    double state[13];
    cal_energy_terms energy;
    bool asleep;
} cal_measured;

cal_status cal_measure_body(cal_world* world, int body, cal_measured* out); // at the world's time (world.c)
void cal_find_energy(const cal_world* world, const cal_sim_body* part, const cal_motion* at, cal_energy_terms* out);
void cal_add_energy(const cal_energy_terms* terms, cal_world_report* r);
// What the joints of a multibody add at the world's time.
cal_status cal_add_joint_energy(cal_world* world, int component, cal_world_report* r);
