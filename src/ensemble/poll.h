// The poll of a randomized simulation: what instances say about an interval, and who is elected.
//
// An instance leaves a ballot. Every processor sees all of them and elects for itself; since all see the same numbers they
// need no master, and an interval costs one exchange (machine.h, gather):
//
//     processor 0   run 0, run 3 ─┐ gather ┌─ elect ─ run 0, run 3 ─┐
//     processor 1   run 1        ─┤        ├─ elect ─ run 1        ─┤ …
//     processor 2   run 2        ─┘        └─ elect ─ run 2        ─┘
//
// A block holds the ballots of one processor's instances, one after the other; instance j is ballot j / P of processor j mod P.
#pragma once
#include "calder/calder.h"
#include <stddef.h>

// A ballot: these numbers, then q and v.
enum {
    CAL_BALLOT_RESIDUAL, // infinite for an instance that failed
    CAL_BALLOT_SINGULAR, // 1: it was near a singular position
    CAL_BALLOT_SQUARES,  // of the rows' errors, summed over its steps
    CAL_BALLOT_LARGEST,  // of their norms
    CAL_BALLOT_STATUS,
    CAL_BALLOT_PAUSE, // how long its processor did not run instances after the last interval, s
    CAL_BALLOT_END,   // 1: its processor, the first one, says that the advance shall end
    CAL_BALLOT_HEAD
};

enum { CAL_MOST_HYPOTHESES = 16 };

typedef struct cal_solution {
    double *q, *v;
} cal_solution;

typedef struct cal_poll {
    const cal_model* model;
    const cal_rps_def* def;
    int processors;        // how many blocks there are
    int ballots;           // a block
    size_t size;           // of a ballot, in doubles: whole cache lines
    const double** blocks; // the processors'
    cal_solution solutions[CAL_MOST_HYPOTHESES], next[CAL_MOST_HYPOTHESES];
    double* memory; // theirs
    int solution_count;
    int64_t polls, steps;
    int interval; // steps to the next poll
    double mean_residual, squares, pauses;
    int elected, most_hypotheses;
    double residual, error_max;
} cal_poll;

// The definition is the caller's. Begins with the model's start.
cal_status cal_poll_create(const cal_model* model, const cal_rps_def* def, int processors, cal_poll* out);
void cal_poll_destroy(cal_poll* poll); // zeros are allowed
// Elects from poll->blocks after so many steps, and adapts the interval. CAL_NOT_FINITE where nobody can be elected, an
// instance's own error: the solutions stay as they were.
cal_status cal_poll_take(cal_poll* poll, int steps);
