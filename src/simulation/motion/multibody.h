// Multibodies: one queue for all links.
#pragma once
#include "base/error.h"
#include "simulation/body.h"
#include "simulation/contact/group.h"
#include "simulation/flow.h"

typedef struct cal_multibody cal_multibody;

cal_status cal_multibody_motion(cal_world* world, int component, int link, double from, double time, cal_motion* out);
cal_status cal_multibody_limits(cal_world* world, int component, int link, double from, double until,
                                cal_motion_bounds* out);
// A new motion from a time on, with the numbers that hold there.
cal_status cal_multibody_begin(cal_world* world, int component, double time, cal_error* error);
cal_status cal_multibody_changed(cal_world* world, int component, double time, cal_error* error);
// After a state's numbers were changed: what continues from it is computed anew.
cal_status cal_multibody_refresh(cal_world* world, int component, cal_error* error);
// What flowed (simulation/flow.h), energy and work.
cal_flows* cal_multibody_flows(const cal_world* world, int component, double* data);
cal_status cal_multibody_flowed(cal_world* world, int component, double time, cal_flows* out);
cal_status cal_multibody_energy(cal_world* world, int component, const double* q, const double* v, double* out);
cal_status cal_multibody_work(cal_world* world, int component, const struct cal_member_span* span, double* out);
// As cal_body_response and cal_body_apply, for a link; also where a group is in charge.
cal_status cal_multibody_response(cal_world* world, int body, int other, double time, const double point[3],
                                  double K[9], cal_error* error);
cal_status cal_multibody_apply(cal_world* world, int body, int other, double time, const double point[3],
                               const double impulse[3], double* work, cal_error* error);
// Where the numbers of a multibody are in a state of its own; slots follow tau, and then which constraints are active.
double* cal_multibody_q(const cal_world* world, int body, double* data);
double* cal_multibody_v(const cal_world* world, int body, double* data);
double* cal_multibody_tau(const cal_world* world, int body, double* data);
int cal_multibody_degrees(const cal_world* world, int body);
int cal_multibody_extras(const cal_world* world, int component); // numbers from tau on: with slots, constraints
// A unit for a contact group.
cal_group_member cal_multibody_member(const cal_world* world, int component);
// When the next callback that may change its motion comes; infinite when there is none.
double cal_multibody_next_callback(const cal_world* world, int component);
// How far ahead it is worth computing: not beyond the next callback, nor beyond when it is likely to be changed from outside.
double cal_multibody_room(const cal_world* world, int component, double time);
// How much of a length from a time on is worth computing before anybody comes to it: not more steps than can be kept.
double cal_multibody_ahead(cal_world* world, int component, double time, double length);
// Between two states of a group (cal_member_span): q and v there, and a link; and bounds of all links (CAL_BODY_BOUNDS each).
cal_status cal_multibody_numbers(struct cal_multibody* m, const struct cal_member_span* span, double* at_q,
                                 double* at_v);
cal_status cal_multibody_between(struct cal_multibody* m, int link, const struct cal_member_span* span,
                                 cal_motion* out);
// The speeds that are shown on a bowed way (contact/group.h): v, and those of a link.
cal_status cal_multibody_shown_numbers(struct cal_multibody* m, const struct cal_member_span* span, double* q,
                                       double* v);
cal_status cal_multibody_shown_speeds(struct cal_multibody* m, int link, const struct cal_member_span* span,
                                      struct cal_motion* motion);
void cal_multibody_bounds_between(const struct cal_multibody* m, const struct cal_member_span* span, double* out);
// For moving bodies apart before the start: the mass that a link takes along, 0 when it hangs from the ground, and the move.
double cal_multibody_loose_mass(const cal_world* world, int body);
cal_status cal_multibody_shift(cal_world* world, int body, const double by[3], cal_error* error);
// Whether links of the multibody that a body belongs to touch each other (links.c).
bool cal_multibody_touches_itself(const cal_world* world, int body);
// Two bodies that overlap at the start by a depth pass through each other from now on; their pair ends (links.c).
cal_status cal_world_ignore_overlap(cal_world* world, int pair, double depth, cal_error* error);
// Constraints of all multibodies at the world's time: error, speed, rows, rank; error_rms is the sum of squares (multibody_loops.c).
cal_status cal_loops_look(const cal_world* world, cal_constraint_report* out);
double cal_multibodies_stop_room(const cal_world* world); // how near to its stop a joint of any of them is at it
int cal_multibodies_processors(const cal_world* world);   // how many have work
cal_status cal_multibodies_prepare(cal_world* world, cal_error* error);
void cal_multibodies_destroy(cal_world* world);
