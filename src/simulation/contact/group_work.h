// What the implicit integrator of contact groups works with (group_implicit.c), in eight files: the forces that it remembers
// (group_memory.c), the contact problem of one configuration (group_solve.c), who is left out of it (group_quiet.c), what is hit in a step
// (group_impacts.c), energy (group_energy.c), steps (group_trial.c, group_whole.c), and intervals.
#pragma once
#include "base/radix.h"
#include "simulation/contact/contact_problem.h"
#include "simulation/contact/group_smooth.h"

// Memory: the next step's size, how many steps go by before a smooth one is tried again, and how many that were the last time (of pairs)
// or how many in a row were not smooth (of larger groups), whether nothing was come to at the end of the last step, how many brief steps it has had lately (group_trial.c), how many forces, and for each the contact's key and the force on its second body, by key; at the end for each unit in how many steps it
// was calm (group_quiet.c).
enum {
    CAL_WORK_NEXT_STEP,
    CAL_WORK_PAUSE,
    CAL_WORK_LAST_PAUSE,
    CAL_WORK_GOES_ON,
    CAL_WORK_BRIEF,
    CAL_WORK_FORCE_COUNT,
    CAL_WORK_FORCES
};

// Of the group's tolerance: that of what adds up over thousands of steps.
#define CAL_WORK_FOLLOWS 1e-4
// Of the root of the tolerance: a step that moves nothing further is not repeated in halves.
#define CAL_WORK_QUIET 1e-3
enum { CAL_QUIET_SIZE = 6 }; // velocities of a unit that may be left out, at most

#define CAL_WORK_SLACK 1e-3 // of the length: contacts are looked for at least this far

typedef struct cal_group_work {
    const cal_group* group;
    cal_problem problem;
    cal_arena rest; // behind the problem's masses: taken anew for each configuration
    // Contacts at one end of a step, and at the other: where it begins and where it would end, and after it was taken the other way round.
    cal_contact_cache cache, far;
    cal_contact_cache last;                             // a look at a way
    double *force, *free_change;                        // M⁻¹ f
    double *target, *whole, *first, *second, *middle_q; // velocities of the three solves
    double *next_q, *predicted;
    double *start_q, *start_v;   // before the step
    double (*body_speeds)[2][6]; // of bodies: where it begins and where it ends (find_bow)
    // Pairs of bodies with contacts at the ends of a way or on it, with room for as many again (group_way.c).
    cal_keyed* pairs;
    int pair_count, pair_capacity;
    bool pair_missed;    // there was no room for one
    bool unsure;         // of one at least
    bool halved;         // contacts in `cache` are not those of its begin,
    bool begin_known;    // but these are in `far`
    double margin;       // of the last look: contacts were looked for so far
    double* impulses;    // each body
    double* reach;       // each unit: how far away from it contacts matter
    double* memory;      // may be NULL: nothing is written down
    const double* known; // what it holds at the start, or NULL
    // For the forces that are written down, which are sorted: room.
    cal_keyed* force_order;
    double* force_copy;
    // Of contacts: the forces that are known, on their second bodies, in the world's axes.
    double (*known_force)[3];
    // Of units: left out of the step; must not be; and for those that are woken how many contacts away. Rounds of waking.
    bool *quiet, *awake;
    // Of a large group of which few move in a step: who stays where it is, and is a fixed body to them (group_few.c); whether that is so.
    bool *rests, few;
    int32_t* ring;
    int rings;
    double* balance; // what acts on quiet units
    bool leaves_out; // quiet units are looked for
    double close; // how far the law of contact may put positions off in a step, m; 0: as little as there are bits for
    cal_smooth smooth;
    double*
        turned; // each unit: by how much it turned in the step, as its axes were (3); of what is followed without spin
    double nutation;   // how fast the fastest of these nutates: steps that are not smooth must resolve it
    double interval;   // the length of the interval that the step is in
    double wished;     // how long the step would have been, but for what lands and is hit
    bool asked;        // whether something is hit where the step begins
    int struck;        // impacts before the step
    double jolt;       // by how much they changed the speed of any point, at most; 0: there were none
    int landings;      // how often it was made shorter for a joint that comes to its stop, or a contact that closes
    bool lands;        // contacts that close end the step, and are hit: of small groups of free bodies
    bool elastic;      // some contact of the last look is
    bool follows;      // the group is one that smooth steps are for
    double event_step; // of multibodies: so short, a step with a change of contacts is within the tolerance
    // What bodies that are moved do in the whole step and in its halves.
    double whole_work, first_work, second_work;
    double extrapolated; // how much of the extrapolation the last smooth step has
    bool varies;         // some unit does: a step must not be long for it
    cal_group_report* report;
} cal_group_work;

// Whether a unit's mass and forces stay as they are where it stays.
bool cal_work_is_plain(const cal_group_member* unit);

size_t cal_work_memory_count(const cal_group* group);
bool cal_work_memory_sound(const cal_group* group, const double* memory);
// Doubles that sorting needs; false: there are not as many.
size_t cal_work_sort_count(const cal_group* group);
bool cal_work_sort_begin(cal_group_work* work, cal_arena* arena);
// The forces of the last solve, which was for a step of size h; what is remembered of the contacts that were found; and the same for the
// rows of a problem.
void cal_work_remember(cal_group_work* work, double h);
void cal_work_know(cal_group_work* work);
double* cal_work_calm_steps(const cal_group_work* work);
void cal_work_recall(cal_group_work* work);
// As cal_group_ops.add_memory.
void cal_work_add_memory(const cal_group* group, const cal_group* other, const double* from, double* memory);

// Largest speed of any point, as a bound.
double cal_group_speed(const cal_group* group, const double* v);
// The same of any point of a surface, where it is going: spin of bodies of revolution left out.
double cal_group_sweep(const cal_group* group, const double* v);
// Units of which spin matters to nothing are followed without it from here on (unspun.h), turn by so much in a step of size h along a velocity, and
// are as they were after it; the step has failed where there is no q.
void cal_work_unspin(cal_group_work* work, double* q, double* v);
void cal_work_take_turns(cal_group_work* work, const double* along, double h);
void cal_work_respin(const cal_group_work* work, double* q, double* v);
// Moves q along v for h to a time, onto what the units' constraints allow then; and velocities at q as they allow them.
cal_status cal_group_displace(const cal_group* group, double time, const double* q, const double* v, double h,
                              double* out, cal_error* error);
cal_status cal_group_project(const cal_group* group, double time, double* q, double* v, cal_error* error);
// Contacts, masses and forces at a configuration, for steps up to h; again: those that were quiet before are, and others are not.
cal_status cal_work_look(cal_group_work* work, double time, const double* q, const double* v, double h, bool again,
                         cal_error* error);
// Which units are left out, or what acts on them now; their forces become zero. Masses, forces and known forces are there.
cal_status cal_work_find_quiet(cal_group_work* work, double time, const double* q, const double* v, double h,
                               bool again, cal_error* error);
// Whether all that moves at a contact is left out: the force in it is the known one.
bool cal_work_leaves_out(const cal_group_work* work, const cal_group_contact* contact);
// Whether the last solve, for a step of size h at q, moves units that were left out: the step must be begun again with them.
bool cal_work_wake(cal_group_work* work, const double* q, double h);
// Units that are at most w->rings contacts away from those in ring 1 are awake, beside those that are already.
void cal_work_spread(cal_group_work* work);
// Velocities of units that have come to rest become zero, at the end of a step of size h from the velocities `before`, whose last solve
// was of size `solved`.
void cal_work_calm(cal_group_work* work, const double* before, double h, double solved, double* v);
// How far units are, in a step of size h from q, from the cubics between its ends by motions that are prescribed.
double cal_work_strays(const cal_group_work* work, double time, double h, const double* q);
// v⁺ of a step of size h from the configuration that was looked at; out holds a guess.
// parts: of the step, in which gyroscopic terms are found (group.h).
void cal_work_solve(cal_group_work* work, const double* v, double h, bool bounces, int parts, double* out);
// What bodies that are moved have done to the group in the last solve: impulses act on both sides of a contact, and over the
// velocity that such a body adds they are work that comes from outside.
double cal_work_driven(const cal_group_work* work);
// After a whole solution, which may be a rough one: of a large group, how many move; where they are few, smooth steps and impacts at times of their own
// are for them, as in a small group. And whether the last step ended where something of such closed, so that this one begins with an impact of all (group_few.c).
int cal_work_count_moving(cal_group_work* work, const double* v, double h, bool roughly);
// After that impact: what rested before it, and has no more speed than impacts are solved to, rests.
void cal_work_rest_after_hit(const cal_group_work* work, double* v);
void cal_work_keep_landing(cal_group_work* work);
bool cal_work_has_landed(const cal_group_work* work);
// Whether a contact ends the step where it closes, and is hit there: any in small groups of free bodies, and elsewhere those that are elastic, which lose
// nothing.
static inline bool cal_work_ends_step(const cal_group_work* work, double restitution) {
    return work->lands || restitution >= 1.0;
}
// Adds what the last solve gave to each body.
void cal_work_add_impulses(const cal_group_work* work, double* out);
// When within a step of size h, whose whole solution is there, the first joint comes to a stop that it bounces from: to half of what
// counts as no gap before it, with the acceleration of the step, (v⁺ − v) / h; or, of small groups of free bodies, a contact closes. h where
// none does (group_impacts.c).
double cal_work_find_landing(const cal_group_work* work, const double* v, double h);
// What rows need to know of others of the same two bodies: where they touch already, further points are left to steps as long as they close so
// slowly that nothing bounces. Steps that are not smooth open gaps between what rolls, or slides along an edge.
void cal_work_know_pairs(cal_group_work* work);
// The same by the contacts where a step of size h begins and ends: how long it has to be so that none that was apart overlaps at its end.
double cal_work_find_overshoot(const cal_group_work* work, const cal_contact_cache* begin, const cal_contact_cache* end,
                               double h);
// Of the length: what overlaps by less at the end of a step has come to touch there.
#define CAL_WORK_LANDED 1e-7
// Where contacts that touch, or joints at their stops, are approached, all of them are hit at once, before the step: the convex problem without
// forces and time, of the last look, from v to v. Contacts of multibodies as plastic impacts: what bounces there was an event of its own. Whether
// something was hit; and the same with a look of its own.
bool cal_work_strike(cal_group_work* work, double time, double* v);
cal_status cal_work_look_and_strike(cal_group_work* work, double time, double* q, double* v, cal_error* error);
// Between states bodies follow cubics, which do not turn round at once: how long a step of size h to a time is after a hit, so that the next
// state comes before anything has gone further than what may overlap.
double cal_work_after_hit(const cal_group_work* work, double time, double h);
// Tells of contacts that began with a hit in the last solution, of size h from v: there was no force in them before, and they closed faster than
// what bounces.
void cal_work_report_impacts(cal_group_work* work, double time, const double* v, double h);
// Moves positions, and nothing else, where bodies overlap too deeply: along the contacts' normals, by little. Leaves the contacts
// at q as they were found; who was quiet is forgotten.
cal_status cal_work_part(cal_group_work* work, double time, double* q, double* v, cal_error* error);
// The energy at q and v, as far as the group knows it; and v of multibodies that is slower by what a step of length h, which ends at a time,
// has gained by nothing (group_energy.c).
cal_status cal_work_energy(const cal_group_work* work, double time, const double* q, const double* v, double* out,
                           cal_error* error);
cal_status cal_work_slow_down(cal_group_work* work, double time, double h, const double* q, double* v,
                              cal_error* error);
// A way of length h from start_q to q and v at a time, with its bow.
typedef struct cal_group_way {
    double time, h;
    const double *q, *v;
    double* bow;
} cal_group_way;
// Finds the bow of a way whose contacts are there, with those of its begin in `far`: what turns, rolls or is hit overlaps on the way, though
// not at its ends (group_bow.c). CAL_OK also where it is none.
cal_status cal_work_bow(cal_group_work* work, const cal_group_way* way, cal_error* error);
// Displacements half-way that part what overlaps at a time t on the way, where middle_q is and of which the contacts are in `far`, become more
// of the bow.
cal_status cal_way_bow_more(cal_group_work* work, const cal_group_way* way, double t, cal_error* error);
// Notes the pair of a contact, which was found at an end of the way or on it; unsure: it may overlap on the way, whatever cubics tell. One that
// is no other's is a stop's, and is left out.
void cal_way_note(cal_group_work* work, const cal_group_contact* contact, bool at_end, bool unsure);
// Looks at pairs that need it, and bows the way further so that none overlaps by more than is allowed, half-way or where that is; limit: what
// is left alone. report->overlaps: that was not enough (group_way.c).
cal_status cal_way_check(cal_group_work* work, const cal_group_way* way, double allowed, double limit,
                         cal_error* error);
// At a time t on the way: a body's pose and speeds; all units' q and v, in middle_q and `second`; and contacts, at a share s of it.
cal_status cal_way_motion(const cal_group_work* work, const cal_group_way* way, int body, double t, double pose[7],
                          double speeds[6], cal_error* error);
cal_status cal_way_place(cal_group_work* work, const cal_group_way* way, double t, cal_error* error);
cal_status cal_way_find(cal_group_work* work, const cal_group_way* way, cal_contact_cache* cache, double s,
                        cal_error* error);
// How fast the gap of a contact opens, with poses and speeds of its bodies.
double cal_way_rate(const cal_group_contact* contact, const double* const poses[2], const double* const speeds[2]);
// Displacements `first` of those that overlap at q deeper than allowed, and of those near them, that part them, deep ones by a share; the
// contacts there are in `cache`.
cal_status cal_work_find_parting(cal_group_work* work, double time, const double* q, const double* v, int round,
                                 double share, cal_error* error);
// Of the length: overlaps that are deeper are parted.
#define CAL_WORK_OVERLAP 1e-6
// And a step after which bodies overlap so deeply, since their ways are not straight, is too long.
#define CAL_WORK_BENT 1e-3
