// What bodies add to a report and to the account of energy, found by the ranks that have them.
//
// A rank that is asked finds it for its own bodies, leaves it beside the states that it has deposited (showing.c), and reads what others have left there. So all
// are done with it after a share of the work, and have the same sums in the same order of bodies. Nobody has to ask: a rank that others do not follow waits
// for as long as it would take to find everything by itself, and then does that. Of worlds of free bodies that are in no contact group.
#pragma once
#include "simulation/energy.h"
#include "simulation/flow.h"

typedef struct cal_body_terms {
    cal_measured measured;
    cal_flows flows;
} cal_body_terms;

enum { CAL_SHARING_RANKS = 64 };

// A walk through all bodies that move, in their order.
typedef struct cal_shared_terms {
    const int8_t* owners; // of bodies: ranks
    int body, count;
    const cal_body_terms* next[CAL_SHARING_RANKS]; // of each rank
} cal_shared_terms;

// False: there is nothing that is shared.
bool cal_rank_measure(cal_world* world, cal_shared_terms* out);
const cal_body_terms* cal_next_terms(cal_shared_terms* walk); // NULL: that was the last one
