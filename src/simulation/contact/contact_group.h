// Contact groups: bodies that are advanced together while they touch.
//
// A group has fixed members; when they change, a new group takes over. So all that a rollback needs is in the state graph: a
// group's states, and the junctions at which it began and ended. What touches what among its members, and the fixed and driven
// bodies that it knows, is a matter of its steps: impacts inside of a group are no events. But links, bodies with callbacks
// at collisions and elastic pairs collide by events also there, but for elastic ones that rest, and stay in touch in a list of pairs, which is fixed too.
//
//     fusion    two components touch softly: their members make a new group, old groups end
//     joining   before a step: what touches the group, or comes near enough to touch it in the next interval, becomes part of it
//     check     at a fixed rate: what is no longer connected (over moving bodies) becomes groups and isolated bodies of its own
//               (fission); what cannot move falls asleep
//     step      the integrator advances the group to its next check; each of its own steps ends in a state, and between two
//               states bodies follow cubics, or straight lines where forces jumped
//
// A state's numbers: q, v, the bow of the way to it (group.h), what the integrator remembers, numbers about rest and the interval between checks that the state is
// in, and for each member what the user set. Then how it was come to: q, v, bow and what the integrator remembered as the step before it gave them, which
// an impulse at this state does not change, and bounds of the motion of all members in that step.
#pragma once
#include "base/error.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/group.h"

// Two bodies of a group that may come near, and what the last search found for them: the same as long as both stay where they are and
// the margin is the same, or one of margins[0] ≤ m < margins[1].
typedef struct cal_near_pair {
    int place[2];     // in `bodies`
    int first, count; // of its contacts
    double margin, margins[2];
    cal_separation measured; // where both are, if they stay; piece_a is negative: not known
    double apart; // there is no contact as long as the ways of both since then and the margin are less together
} cal_near_pair;

// What one of several workers has found for such a pair; more contacts than these are looked for again.
enum { CAL_LOOK_CONTACTS = 16 };
typedef struct cal_group_look {
    int near, count;
    cal_group_contact contacts[CAL_LOOK_CONTACTS];
} cal_group_look;

typedef struct cal_contact_group {
    cal_group group; // what the integrator sees
    cal_group_member* units;
    int* members;       // components, in the order of their first bodies; one a unit
    int* extras;        // where each member's own numbers are in a state
    const double* used; // the state's numbers whose they are now
    int* bodies;        // the world's bodies: of the units, in their order, then those that do not move by themselves
    int* unit_of_body;  // for the integrator
    int (*pairs)
        [2]; // of the world's bodies, ascending: those that collide by events, and what tells of fixed and driven ones
    int pair_count;
    int other_count; // bodies that do not move by themselves: the last ones, ascending
    // Which pairs of bodies (places in `bodies`) may come near, from poses at which they were looked for: all that are within
    // `near_margin` as long as no point went further than half of `near_skin`. Nothing but time depends on it.
    cal_near_pair* near;
    int near_count, near_capacity;
    double near_margin, near_skin;
    double* near_poses;
    cal_pose* placed;     // of all bodies, for the present search
    double* search_poses; // of the last search, and who has not moved since
    bool* stays;
    double* ways;                // how far bodies have gone from search to search, at most, at any of their points
    cal_group_contact* found[2]; // contacts of the present search, and of the last one
    int found_capacity[2];
    bool searched; // there was one with these pairs
    cal_group_look* looks;
    int look_capacity;
    size_t memory_count;
    int at_v, at_bow, at_memory, at_rest; // in a state
    int at_arrival,
        at_bounds; // the end of the curve that leads to a state: q, v, bow, memory, times; bounds of the motion on it
    int check_event, step_event;
    int last_contacts;
    bool restless; // touches something that is driven, or has joints that are
    double size;
    // What speeds between two states are multiplied with where they are shown, for the last time that was asked for (group_shown.c).
    struct {
        bool known;
        int64_t number, tail;
        double begin, end, time, factor;
    } shown;
} cal_contact_group;

// Two neighbouring states of a group about a time, and where between them it is.
typedef struct cal_group_span {
    const double *from, *to; // q and v at both ends, and the bow between; to is NULL after the last state
    const double* bounds;    // of all members between them
    int64_t number;          // of the first
    double start;            // when it is
    double length, t, end;   // of the curve; when the second one is, where that was cut short
    bool straight;           // free bodies go at constant speeds
} cal_group_span;
cal_group_span cal_group_span_at(const cal_world* world, int component, double time);
// What a unit sees of it; and which of its unit's bodies a body is.
cal_member_span cal_group_member_span(const cal_contact_group* group, int unit, const cal_group_span* span);
int cal_group_body_of_unit(const cal_world* world, int body);

// Numbers of a state from at_rest on. BEGIN and END: between which times its steps go; the check is due at END, and a state that is
// not before it has no interval yet. CHECKED: of a state at END.
// STRAIGHT: free bodies came to it at constant speeds.
enum {
    CAL_REST_QUIET,
    CAL_REST_ASLEEP,
    CAL_REST_CHECKED,
    CAL_REST_BEGIN,
    CAL_REST_END,
    CAL_REST_STRAIGHT,
    CAL_REST_FLOWS, // what flowed (simulation/flow.h)
    CAL_REST_FLOWS_END = CAL_REST_FLOWS + (int)(sizeof(cal_flows) / sizeof(double)) - 1,
    CAL_REST_NUMBERS
};

// Numbers of how a state was come to, after those up to at_rest: when, and between which times the step went.
enum { CAL_ARRIVAL_TIME, CAL_ARRIVAL_BEGIN, CAL_ARRIVAL_END, CAL_ARRIVAL_NUMBERS };

// turning: how it is turned matters.
cal_status cal_group_motion(cal_world* world, int component, int body, double from, double time, bool turning,
                            cal_motion* out);
// q and v of the multibody that a member belongs to.
cal_status cal_group_numbers(const cal_world* world, int component, int body, double time, double* q, double* v);
// q and v of all members at a time.
cal_status cal_group_state(const cal_world* world, int component, double time, double* out);
// Where a state of a free body's group is at a time, the speeds of that state, and not those on the way from it.
cal_status cal_group_own_speeds(const cal_world* world, int body, double time, cal_motion* motion);
// The speeds that users see; and what they need of all groups at a time, before several threads ask for them.
cal_status cal_group_shown_speeds(const cal_world* world, int body, double time, cal_motion* motion);
cal_status cal_groups_prepare_shown(cal_world* world, double time);
// Whether free bodies go at constant speeds at a time.
bool cal_group_goes_straight(const cal_world* world, int component, double time);
cal_status cal_group_limits(cal_world* world, int component, int body, double from, double until,
                            cal_motion_bounds* out);
// After a step to the newest state of a group: its end and the bounds of motions in it are kept with that state.
void cal_group_arrive(cal_world* world, int component);
// What flowed: in a state, and up to a time.
cal_flows* cal_group_flows(const cal_world* world, int component, double* data);
cal_status cal_group_flowed(cal_world* world, int component, double time, cal_flows* out);
// The smaller reach of two, of those that move.
double cal_group_pair_size(const cal_world* world, int a, int b);
// Two bodies that part more slowly after a collision stay in contact: where the bounce loses speed, since it ends before the next check; where it is
// elastic, and would go on for ever, since it goes no further than a gap that is none of a size, m, under gravity or until the next check.
double cal_group_rest_speed(const cal_world* world, double restitution, double size);
// A new motion from a time on, with the numbers that hold there.
cal_status cal_group_begin(cal_world* world, int component, double time, cal_error* error);
// The same where forces change, from outside, and nothing else: who is near whom, checks and what the integrator knows stay as they are.
cal_status cal_group_begin_forced(cal_world* world, int component, double time, cal_error* error);
cal_status cal_group_changed(cal_world* world, int component, double time, cal_error* error);
// The two bodies of a pair stay in contact from a time on, at which both have a new motion already; and those of other pairs of the same
// multibodies with what does not move by itself.
cal_status cal_fuse(cal_world* world, const int* pairs, int count, double time, int junction, cal_error* error);
// A group check, and the step after it.
cal_status cal_group_check(cal_world* world, int component, double time, cal_error* error);
cal_status cal_group_step(cal_world* world, int component, cal_error* error);
// One step of the integrator from a state's numbers over a part of an interval, whose time moves on; trial: room for a state, the numbers after
// it (group_step.c). Room for the integrator, false: no memory.
cal_status cal_group_take_step(cal_world* world, int component, const double* numbers, cal_group_interval* interval,
                               double* trial, cal_group_report* out, cal_error* error);
bool cal_group_reserve_scratch(cal_world* world, size_t count);
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
// Whether what is listed as ended has: a rollback may have revived it, or undone it.
bool cal_group_is_over(const cal_world* world, int component);
// Destroys groups that ended, at the committed time or before, and that had a member.
void cal_groups_forget(cal_world* world, int member);
// Destroys groups that ended before GVT.
void cal_groups_clear(cal_world* world);

// Whether a group is in charge of what two bodies do to each other: one of them is a member, and the other one too, or without a
// component.
bool cal_group_holds(const cal_world* world, int component, int a, int b);
// Whether a component is a group that another one is a member of. A state of one that was a member long ago may name a place that
// another group has by now.
bool cal_group_has(const cal_world* world, int component, int member);
// Whether two bodies are among the pairs that the group was made with.
bool cal_group_lists(const cal_contact_group* group, int a, int b);
// Whether one of two bodies, of which one at least moves, may join a group of the other one by being near (joining.c).
bool cal_group_may_join(const cal_world* world, int a, int b);
// Whether they do not collide by events while they are in one group, either: what is not elastic.
bool cal_group_is_inner(const cal_world* world, int a, int b);
// Whether a group decides at a state who joins it, before it goes on: at the beginning of an interval; a large one at every state.
enum { CAL_GROUP_LARGE = 128 };
bool cal_group_decides(const cal_contact_group* group, const double* data, double time);
bool cal_group_is_asleep(const cal_world* world, int component);
bool cal_group_sleeps_at(const cal_world* world, int component, double time);
double cal_group_horizon(const cal_world* world, int component); // until when its motion is computed
// Where the numbers of a body are in a state of its group: q and v (a free body's: centre in the world's axes, angular in its
// own), and what the user set: acceleration and torque, or joint forces; slots follow.
cal_state_numbers cal_group_locate(const cal_world* world, int component, int body, double* data);
// Contacts of all pairs of a group at given poses, and their number (group_contacts.c).
cal_status cal_group_contacts(const cal_group* group, double time, const double* poses, double margin,
                              cal_group_contact* out, int capacity, int* count);
// The same of two bodies.
int cal_group_pair_contacts(const cal_group* group, const int bodies[2], const double poses[2][7], double margin,
                            cal_group_contact* out);

// The place of a body among a group's bodies; body_count: it is not there.
int cal_group_place(const cal_world* world, const cal_contact_group* group, int body);
int cal_group_unit(const cal_world* world, const cal_contact_group* group, int body); // of a member's body
// What a search for contacts needs, and gives back (group_contacts.c); false: no memory.
bool cal_group_search_begin(cal_contact_group* group);
void cal_group_search_end(cal_contact_group* group);
// What another group, which ends at a time, knows of members that go on in this one; it knows nothing after that.
cal_status cal_group_search_take(cal_world* world, cal_contact_group* group, cal_contact_group* from, double time);
// Before a step from a group's newest state: what touches it, or will in the next interval, joins. *made: another group that goes on; −1:
// nobody joins (joining.c).
cal_status cal_group_join(cal_world* world, int component, int* made, cal_error* error);
// Whether a body that is not in a group joins at a time because of one that is: the decision of cal_group_join about one pair.
cal_status cal_group_attracts(cal_world* world, int body, int other, double time, bool* out, cal_error* error);
// Whether two bodies touch at a time or come near enough to touch within an interval of group checks (joining.c).
cal_status cal_group_will_touch(cal_world* world, int a, int b, double time, bool* out);

// Lists from which a group is made (fusion.c).
typedef struct cal_group_merge {
    int* members;
    int (*pairs)[2];
    int member_count, pair_count, member_capacity, pair_capacity;
} cal_group_merge;
cal_status cal_merge_add(const cal_world* world, cal_group_merge* merge, int component, cal_error* error);
cal_status cal_merge_add_pair(cal_group_merge* merge, int a, int b, cal_error* error);
// Sorts the lists and makes the group.
cal_status cal_merge_create(cal_world* world, cal_group_merge* merge, double time, int junction, int* out,
                            cal_error* error);
void cal_merge_free(cal_group_merge* merge);
int cal_order_of_pair(const void* a, const void* b); // of two ints each

// A free body as a unit (units.c).
extern const cal_group_member_ops cal_free_member_ops;
cal_status cal_free_body_member(const cal_world* world, int component, cal_group_member* out, cal_error* error);
