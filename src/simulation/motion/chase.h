// Two bodies that are followed until they touch: what search.c and search_balls.c share.
#pragma once
#include "simulation/body.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/free_body.h"
#include "simulation/motion/search.h"

#define CAL_TOUCH_BALLS 4e-15   // what counts as touching, relative to sizes and distances from the origin
#define CAL_TOUCH_GENERAL 1e-11 // of other shapes, relative to the reach of the smaller one

// Where they are, `until` and what comes with it is filled in by a look: searches are many, and short.
typedef struct cal_chase {
    cal_world* world;
    const cal_pair* pair;
    const cal_sim_body* part[2];
    cal_motion at[2];
    cal_free_view view[2];
    bool placed[2]; // of a fixed body: it is where it is
    cal_motion_bounds limits[2];
    double begin, until;    // the piece of their motions that is looked at (search.c), in which bounds hold
    double acceleration[3]; // of the first one's centre, seen from the other's
    double slack;           // how far it may be from that
    double relative;        // its length, at most
    double size;            // reach of the smaller one
    cal_distance_cache warm;
} cal_chase;

// What a look at two bodies says.
typedef struct cal_sight {
    double step;   // nothing happens before, from now on
    double speed;  // of approach, of those that touch, or else of those that the step is for
    bool touching; // and approaching
    // Of balls: the two that the step is for, and before when they touch, and nobody else does; infinite: that is not sure.
    double latest;
    int balls[2];
} cal_sight;

// Where both are at a time (search.c).
cal_status cal_chase_move(cal_chase* c, double time);
// How fast what can be seen of a body turns now, world's axes.
void cal_chase_turning(const cal_chase* c, int which, double w[3]);
// What time can resolve near a time, with room for the rounding of what is added to it.
double cal_time_resolution(const cal_world* world, double time);
// How far from a time of impact rounding may say either: what times are rounded to, and what that of places makes of a time.
double cal_hit_rounding(const cal_chase* c, const cal_hit* hit);

// Of balls against balls, a plane or a block (search_balls.c). The soonest that any ball can touch, as far as that is within a time from now
// on, and whether one does now, to a share of sizes and distances from the origin:
void cal_look_at_balls(const cal_chase* c, double horizon, cal_sight* out);
// Whether any ball overlaps the other body and approaches it.
bool cal_balls_touch(const cal_chase* c);
// When the two balls of a look at a time, which is sure that they do, touch: to rounding. False: it did not come to that.
cal_status cal_close_in(cal_chase* c, double time, const cal_sight* sight, cal_hit* out, bool* found);
