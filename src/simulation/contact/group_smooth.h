// Steps of small groups in which no contact begins, ends, or changes between sticking and sliding: the equations of motion with the
// contacts as constraints, by an explicit Runge-Kutta pair of order 5(4) (group_smooth.c).
#pragma once
#include "simulation/contact/contact_problem.h"

enum { CAL_SMOOTH_ROWS = 48, CAL_SMOOTH_CONTACTS = 48 };

// A contact that presses, and what it does.
typedef struct cal_held_contact {
    uint64_t key;
    int body[2];
    double gap;
    bool slides;
    double
        along[3]; // of what begins to slide: its friction goes there, as long as it hardly does; zero: it slid before
} cal_held_contact;

typedef struct cal_smooth {
    const cal_group* group;
    cal_problem* problem;
    cal_contact_cache* cache;
    cal_arena rest;
    cal_held_contact held[CAL_SMOOTH_CONTACTS];
    int count;
    int found[CAL_SMOOTH_CONTACTS];     // the rows of these, in the problem as it was filled last
    double *rates[7], *changes[7];      // dq/dt and dv/dt of the stages
    const bool* rests; // for the caller to set: units that stay where they are, as fixed bodies do; NULL: none
    double (*turned)[3]; // of free bodies: the sum of ω in the step, in their axes
    double *q, *v, *near_q, *force, *sum, *matrix, *right, *rows[2];
    double powers[7],
        work;           // of bodies that are driven and of motions that are prescribed: in the stages, and in the step
    int pulls;          // the held contact that would pull most; negative: none would
    int strains;        // the one that would need most friction beyond its limit to stick, negative: none would;
    double friction[3]; // and where that goes, in the world's axes
    double slow;        // what moves across more slowly has no direction
    double least;       // for the caller to set: when something begins to slide need not be known better
    double landed;      // for the caller to set: what is not held may overlap by so much at the end
    bool hits;          // it overlaps by more
    double slips[CAL_SMOOTH_CONTACTS][3]; // of what slides, where the step begins
    // The share of the step after which something that slides has stopped, and turned back; 1: nothing does.
    double stops;
} cal_smooth;

// Doubles that it needs, and their place in memory; false: not enough. Groups that are too large need none.
bool cal_smooth_takes(const cal_group* group);
size_t cal_smooth_count(const cal_group* group);
bool cal_smooth_begin(cal_smooth* s, const cal_group* group, cal_arena* arena);
// The longest step that joint forces allow an explicit method, by and large: (h D + h² K) / M is one.
double cal_smooth_longest(const cal_problem* problem);
// Whether the contacts of a solution press or are apart, and nothing in between; they are held from now on. The problem, the cache
// and the memory that a look may take are the caller's. touching: what touches and does not part is held, whatever the solution says.
bool cal_smooth_hold(cal_smooth* s, cal_problem* problem, cal_contact_cache* cache, cal_arena rest, const double* v,
                     bool touching);
// Whether none of the contacts that are held shares both of its bodies with others: each has its force by the motion alone.
bool cal_smooth_is_simple(const cal_smooth* s);
// A step of size h from (q, v); results are in s->q, s->v and s->work. *miss: an estimate of its error, over the tolerance; infinite where a
// contact did what it may not.
cal_status cal_smooth_step(cal_smooth* s, double time, const double* q, const double* v, double h, double tolerance,
                           double* miss, cal_error* error);
