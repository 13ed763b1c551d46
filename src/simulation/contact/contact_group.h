// Contact groups: bodies that are advanced together while they touch.
//
// A group has fixed members and a fixed list of pairs that touch in it; when either changes, a new group takes over. So all
// that a rollback needs is in the state graph: a group's states, and the junctions at which it began and ended.
//
//     fusion    two components touch softly: their members and pairs make a new group, old groups end
//     check     at a fixed rate: pairs that parted are dropped; what is no longer connected (over moving bodies) becomes
//               groups and isolated bodies of its own (fission); what has been still for long enough falls asleep
//     step      the integrator advances the group to its next check; each of its own steps ends in a state, and between two
//               states bodies follow cubics
//
// A state's numbers: q, v, what the integrator remembers, numbers about rest and the interval between checks that the state is
// in, and for each member what the user set. Then how it was come to: q and v as the step before it gave them, which an impulse at this state does not change, and bounds of
// the motion of all members in that step.
#pragma once
#include "base/error.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/group.h"

typedef struct cal_contact_group {
    cal_group group; // what the integrator sees
    cal_group_member* units;
    int* members;      // components, in the order of their first bodies; one a unit
    int* extras;       // where each member's own numbers are in a state
    int* bodies;       // the world's bodies: of the units, in their order, then those that do not move by themselves
    int* unit_of_body; // for the integrator
    int (*pairs)[2];   // of the world's bodies, ascending
    int pair_count;
    size_t memory_count;
    int at_v, at_memory, at_rest; // in a state
    int at_arrival, at_bounds;
    int check_event, step_event;
    int last_contacts;
    bool restless; // rows something that is driven
    double size;
} cal_contact_group;

// Numbers of a state from at_rest on. BEGIN and END: between which times its steps go; the check is due at END, and a state that is
// not before it has no interval yet. CHECKED: of a state at END.
enum { CAL_REST_QUIET, CAL_REST_ASLEEP, CAL_REST_CHECKED, CAL_REST_BEGIN, CAL_REST_END, CAL_REST_NUMBERS };

cal_status cal_group_motion(cal_world* world, int component, int body, double time, cal_motion* out);
// q and v of the multibody that a member belongs to.
cal_status cal_group_numbers(const cal_world* world, int component, int body, double time, double* q, double* v);
// q and v of all members at a time.
cal_status cal_group_state(const cal_world* world, int component, double time, double* out);
cal_status cal_group_limits(cal_world* world, int component, int body, double from, double until,
                            cal_motion_bounds* out);
// After a step to the newest state of a group: its end and the bounds of motions in it are kept with that state.
void cal_group_arrive(cal_world* world, int component);
// A new motion from a time on, with the numbers that hold there.
cal_status cal_group_begin(cal_world* world, int component, double time, cal_error* error);
cal_status cal_group_changed(cal_world* world, int component, double time, cal_error* error);
// The two bodies of a pair stay in contact from a time on, at which both have a new motion already.
cal_status cal_fuse(cal_world* world, int pair, double time, int junction, cal_error* error);
// A group check, and the step after it.
cal_status cal_group_check(cal_world* world, int component, double time, cal_error* error);
cal_status cal_group_step(cal_world* world, int component, cal_error* error);
// Before the integrator is asked for anything: what the user set is that of a state's numbers, which must stay where they are.
void cal_group_use(cal_contact_group* group, const double* numbers);

// A group of some components that touch in some pairs, from a time on, made of their newest states; pairs are sorted here.
// Its first state, the members' FUSED states and the ENDED ones of old groups join the junction.
cal_status cal_group_create(cal_world* world, const int* members, int member_count, int (*pairs)[2], int pair_count,
                            double time, int junction, int* out, cal_error* error);
// The group alone, without a component: how many numbers its states have is in stride. NULL: no memory.
cal_contact_group* cal_group_make(cal_world* world, const int* members, int member_count, int (*pairs)[2],
                                  int pair_count, int* stride, cal_error* error);
void cal_group_free(cal_contact_group* group); // NULL is allowed
void cal_group_destroy(cal_world* world, int component);
// The world's numbers, for a group's integrator.
void cal_group_describe(cal_world* world, cal_contact_group* group);
// Some bodies that follow each other are about to go, at the committed time: a group that they touch in ends there, and the rest
// goes on as groups and bodies of its own. To be settled by the caller.
cal_status cal_group_part_with(cal_world* world, int component, int first_body, int count, cal_error* error);
// After the list of bodies went to another place in memory.
void cal_groups_follow_bodies(cal_world* world);
// Destroys groups that ended, at the committed time or before, and that had a member.
void cal_groups_forget(cal_world* world, int member);
// Destroys groups that ended before GVT.
void cal_groups_clear(cal_world* world);

bool cal_group_is_asleep(const cal_world* world, int component);
double cal_group_horizon(const cal_world* world, int component); // until when its motion is computed
// Where the numbers of a body are in a state of its group: q and v (a free body's: centre in the world's axes, angular in its
// own), and what the user set: acceleration and torque, or joint forces; slots follow.
cal_state_numbers cal_group_locate(const cal_world* world, int component, int body, double* data);
// Contacts of all pairs of a group at given poses, and their number.
cal_status cal_group_contacts(const cal_group* group, double time, const double* poses, double margin,
                              cal_group_contact* out, int capacity, int* count);

// A free body as a unit (units.c).
cal_status cal_free_body_member(const cal_world* world, int component, cal_group_member* out, cal_error* error);
// What a unit of a free body reads: its part, and what the user set.
typedef struct cal_free_member {
    const cal_sim_body* part;
    const double* extras;
} cal_free_member;
