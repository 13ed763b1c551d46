// First looks at the pairs of what is new: those of free and fixed bodies by all processors of the world's machine.
#pragma once
#include "base/error.h"
#include "calder/calder_world.h"
#include "collide/collide.h"
#include "simulation/event/pairs.h"

// What a look at a pair has found, where somebody has looked, and what that adds to the report.
typedef struct cal_first_look {
    cal_prediction prediction; // when they collide
    double depth;              // how deep they are in each other
    int checks, predictions;
    bool done;
} cal_first_look;

// How deep two bodies are in each other at the world's time, 0: they are not; with the size of the smaller one.
cal_status cal_find_overlap(cal_world* world, const cal_pair* pair, cal_separation* gap, double* depth, double* size,
                            cal_error* error);
// Looks at a pair: how deep they are in each other, or (predicts, in the timewarp loop) when they collide. Not done where that asks for more
// than states that are there.
void cal_look_at_pair(cal_world* world, const cal_pair* pair, bool predicts, cal_first_look* out);
// Looks at all pairs, by their numbers: how deep they are in each other, or (predicts) when they collide. Pairs that ask for more than
// states that are there are left out. NULL: on one core, or where little is new, pairs are looked at one by one; or there is no memory. To be freed.
cal_first_look* cal_look_first(cal_world* world, bool predicts);
// Somebody has used what a look has found.
void cal_take_look(cal_world* world, const cal_first_look* look);
