// How many of a machine's workers an execution is worth, from how long the last ones took.
//
// All workers wait for each other: where something else keeps a core busy, one that is not running keeps all others, for a time slice of the
// operating system, which is thousands of exchanges. Where that happens all the time one of them alone is faster; where it happens now
// and then all together still are. Bits do not depend on it.
//
//     alone ── a try: a round of all, which ends when it has taken longer than a round alone ──▸ shorter: all together
//       ▴                                                                                              │
//       └── what it has saved so far (at most CREDIT) is lost again ────────────────────────────────────┘
//
// Begins alone, so that a try has something to be compared with; with a try where the price of an execution alone is longer than a time
// slice, so that somebody who is not running keeps the others no longer than that. The next one, of whatever plan, comes when what the last
// one has cost is a hundredth of the time since then.
#pragma once
#include <stdbool.h>

// What all plans of a machine know of its cores: s of executions since the last try, and what that has cost.
typedef struct cal_pace_tries {
    double since, cost;
} cal_pace_tries;

typedef struct cal_pace {
    double all, alone; // s of an execution, in the last round; 0: not known
    double elapsed;    // of this round, and how many executions it has
    int count;
    double credit; // what all together have saved, s
    bool together; // all workers work
    bool trying;
} cal_pace;

// Before the first execution: what one worker alone is expected to take, s.
void cal_pace_begin(cal_pace* pace, double alone);
// Whether the next execution is for one worker.
static inline bool cal_pace_is_alone(const cal_pace* pace) { return !pace->together; }
// How long it took, s.
void cal_pace_note(cal_pace* pace, cal_pace_tries* tries, double seconds);
