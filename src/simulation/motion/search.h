// Times of impact, and distances (search.c, closed_forms.c, distance.c).
#pragma once
#include "base/error.h"
#include "simulation/body.h"
#include "simulation/event/pairs.h"

typedef struct cal_hit {
    double time;
    double speed; // of approach
} cal_hit;

// When two bodies collide from a time on and before `to`; time is infinite when they do not. It is rounded up, and may be after `to` by that. The first
// that touch and approach at one of the times that are looked at, which follow from the motions alone where `from` is the beginning of a piece.
// clear (may be NULL): a long search may end before `to`, at this time, which is then the beginning of a piece; nothing happens before it.
cal_status cal_find_hit(cal_world* world, const cal_pair* pair, double from, double to, cal_hit* out, double* clear,
                        cal_error* error);
// The beginning of the piece of two motions that holds at a time: what a search from there finds does not depend on who asked for it when.
double cal_search_start(cal_world* world, const cal_pair* pair, double time);
// Whether a closed formula gives the collision of two bodies in the motions that hold at a time.
bool cal_has_formula(const cal_world* world, const cal_pair* pair, double time);
// Two bodies that fly, or one and a fixed plane, from their newest states on, which hold at a time: what a look at them finds.
typedef enum cal_flight_look {
    CAL_NO_FLIGHT,       // it is something else, or more is known of what follows
    CAL_FLIGHT_OF_BALLS, // when they collide
    CAL_OTHER_FLIGHT     // when the balls about them overlap, as cal_reach_interval has it
} cal_flight_look;
cal_flight_look cal_look_at_flight(const cal_world* world, const cal_pair* pair, double time, cal_hit* hit,
                                   double overlap[2]);
// A time before which they do not collide, and whether they touch and approach now: a step of conservative advancement.
cal_status cal_bound_hit(cal_world* world, const cal_pair* pair, double time, double* bound, bool* touching);
cal_pair_kind cal_classify(const cal_world* world, int a, int b);
// Where two bodies touch that collide: the pieces that approach fastest of those that touch, or the nearest.
void cal_world_contact(cal_world* world, const cal_pair* pair, const cal_motion at[2], cal_separation* out);
// The signed distance of two bodies in given motions.
void cal_world_distance(cal_world* world, int a, const cal_motion* at_a, int b, const cal_motion* at_b, double limit,
                        cal_distance_cache* warm, cal_separation* out);

// --- What the files about them share --------------------------------------------------------------------------------------------

// The collision of two bodies by a closed formula; false where none applies (closed_forms.c).
bool cal_closed_hit(const cal_world* world, const cal_pair* pair, double from, cal_hit* out);
// When the balls about two bodies overlap, from a time on: nothing happens before, and after. The end is infinite where it is not known,
// and the beginning where they never do (closed_forms.c).
void cal_reach_interval(const cal_world* world, const cal_pair* pair, double from, double out[2]);
// Where the centre of a body's ball is.
static inline void cal_place_ball(const cal_sim_body* part, const cal_motion* at, int ball, double out[3]) {
    const double *c = part->balls[ball], *x = at->pose.position;
    if (part->spinning) {
        cal_rotate3(at->pose.rotation, c, out);
        for (int i = 0; i < 3; i++) out[i] += x[i];
    } else {
        out[0] = x[0], out[1] = x[1], out[2] = x[2];
    }
}
// Where the plane or the block of a body is; the distance of a point from it, the normal (towards the point), and the nearest point on it
// (distance.c).
void cal_solid_pose(const cal_sim_body* part, const cal_motion* at, cal_pose* out);
double cal_from_solid(const cal_sim_body* part, const cal_pose* pose, const double point[3], double normal[3],
                      double nearest[3]);
