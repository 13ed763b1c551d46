// What the files about times of impact share.
#pragma once
#include "simulation/world.h"

// The collision of two bodies by a closed formula; false where none applies (closed_forms.c).
bool cal_closed_hit(const cal_world* world, const cal_pair* pair, double from, cal_hit* out);
// From when on the balls about two bodies overlap: nothing happens before. Infinite when they never do (closed_forms.c).
double cal_first_overlap(const cal_world* world, const cal_pair* pair, double from);
// Where the centre of a body's ball is (distance.c).
void cal_place_ball(const cal_sim_body* part, const cal_motion* at, int ball, double out[3]);
// Distance of a point from a plane or a block, the normal (towards the point), and the nearest point on it (distance.c).
double cal_from_solid(const cal_sim_body* part, const cal_motion* at, const double point[3], double normal[3],
                      double nearest[3]);
