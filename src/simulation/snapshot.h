// Snapshots: the state of a simulation in memory, as an image (state/image.h).
//
//     kind │ how many words │ version │ identity │ the state
//
// identity says what the numbers belong to; a simulation must match it.
#pragma once
#include "simulation/sim.h"
#include "simulation/state/image.h"

struct cal_snapshot {
    cal_image image;
};

enum { CAL_SNAPSHOT_HEAD = 2 }; // words: the kind, and how many words there are, these two included
// Whether a word begins the image of a simulation with events.
bool cal_snapshot_has_events(uint64_t word);
// As cal_sim_restore; what: how errors name the snapshot, "the snapshot" or a file's name.
cal_status cal_snapshot_restore(cal_sim* sim, cal_image* image, const char* what, cal_error* error);
