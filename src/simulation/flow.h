// Where energy goes in a simulation with events, component by component.
//
// What flowed into and out of a component (solver/flows.h) is among its states' numbers, so that it goes when a state is rolled back,
// and is in snapshots:
//
//     free body       work of the forces on it: F·Δx, and of a torque what it adds to the energy of turning; in closed form
//     multibody       its system's flows
//     contact group   work of its members' motors and forces, and of bodies that are moved and touch it; what else its energy loses in a
//                     step is lost. A gain that nobody worked for is an error, and shows in the balance. Where bodies overlap
//                     and are moved apart, that is closing. When it ends, the group or the member that comes first takes over
//                     what flowed.
//     impact          kinetic energy before less after, with the work of a body that is moved; exact
//     callback        what it does to velocities is work
//     falling asleep  the last of the kinetic energy is lost
//
// The sum is taken in the order of bodies, at the time that is shown: each component at its first body, and then the group that is in
// charge of it, if that body is the group's first. Which places groups have among components depends on how a world is divided
// (domain/domain.h).
#pragma once
#include "simulation/body.h"
#include "solver/flows.h"

struct cal_member_span;
struct cal_group;

// The account begins, if it has not yet; what comes and goes while it runs takes its energy along.
cal_status cal_world_begin_account(cal_world* world, cal_error* error);
cal_status cal_world_admit_energy(cal_world* world); // of new bodies
cal_status cal_world_remove_energy(cal_world* world, int component);

// The energy of what some bodies belong to, each once, in the newest states that hold at a time.
cal_status cal_bodies_energy(cal_world* world, const int* bodies, int count, double time, double* out);
// Work and a loss at the newest state of the first of them that has one.
void cal_bodies_flow(cal_world* world, const int* bodies, int count, double time, double work, double loss);

// Of a group: energy of a state's numbers, and of q and v; the work of its members' forces on a way from q and v to others.
cal_status cal_group_energy(cal_world* world, int component, const double* data, double* out);
cal_status cal_group_energy_at(const struct cal_group* group, const double* q, const double* v, double* out);
cal_status cal_group_find_work(const struct cal_group* group, double time, const double* q, const double* v,
                               const double* to_q, const double* to_v, double length, double* out);
// Adds what flowed in a group that has ended, once.
void cal_group_take_flows(const cal_world* world, int ended, cal_flows* out);
