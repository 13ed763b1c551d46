// Simulations with events: what sim.c asks of them. Functions do what calder.h says of those of the same name.
#pragma once
#include "simulation/sim.h"

cal_status cal_events_create(cal_sim* sim, const cal_sim_def* def, cal_error* error);
cal_status cal_events_advance(cal_sim* sim, double time, cal_error* error);
// Brings q and v up to date.
cal_status cal_events_look(cal_sim* sim);
cal_status cal_events_set(cal_sim* sim, double time, const double* q, const double* v, cal_error* error);
cal_status cal_events_drive(cal_sim* sim, const double* tau, const double* control, cal_error* error);
cal_status cal_events_activate(cal_sim* sim, const double* activations, cal_error* error);
cal_status cal_events_push(cal_sim* sim, int body, const double force[3], const double torque[3],
                           const double point[3]);
cal_status cal_events_connect(cal_sim* sim, int constraint, cal_connection how, cal_error* error);
cal_status cal_events_disconnect(cal_sim* sim, int constraint, cal_error* error);
bool cal_events_connected(const cal_sim* sim, int constraint);
cal_status cal_events_constraints(cal_sim* sim, cal_constraint_report* out);
void cal_events_report(const cal_sim* sim, cal_sim_report* out);
uint64_t cal_events_hash(const cal_sim* sim);
// The whole model as one system at the present time, with the forces in contacts as forces from outside: accelerations, joint
// forces and constraint forces are asked of it. CAL_NOT_AVAILABLE for a world that was made by hand.
cal_status cal_events_whole(cal_sim* sim, cal_system** out);
