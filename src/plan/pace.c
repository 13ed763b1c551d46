#include "plan/pace.h"
#include <math.h>

// A round has so many executions, or ends with the first one after CREDIT: where one takes long it says enough.
enum { ROUND = 16 };
// Tries cost one part in so many of the time.
static const double REPAID = 100.0;
// A round must be shorter by so much for a change, and a try ends when it is longer by so much: clocks and caches vary by less.
static const double SHORTER = 0.95, LONGER = 1.1;
// s: a time slice of the operating system.
static const double SLICE = 4e-3;
// s: of what was saved so much is kept in mind, five time slices. One that others take now and then is saved again before the next.
static const double CREDIT = 0.02;

static void begin_round(cal_pace* pace, bool together, bool trying) {
    pace->together = together;
    pace->trying = trying;
    pace->elapsed = 0.0;
    pace->count = 0;
}

void cal_pace_begin(cal_pace* pace, double alone) {
    *pace = (cal_pace){0};
    if (alone < SLICE) return;
    pace->alone = alone;
    begin_round(pace, true, true);
}

// Of a round alone: whether one of all follows.
static bool shall_try(const cal_pace* pace, const cal_pace_tries* tries) {
    return tries->since >= REPAID * tries->cost || (pace->all > 0.0 && pace->all < SHORTER * pace->alone);
}

void cal_pace_note(cal_pace* pace, cal_pace_tries* tries, double seconds) {
    seconds = fmax(seconds, 0.0); // clocks may go back
    pace->elapsed += seconds;
    tries->since += seconds;
    pace->count++;
    const bool fails = pace->trying && pace->elapsed > LONGER * ROUND * pace->alone;
    if (pace->count < ROUND && pace->elapsed < CREDIT && !fails) return;
    const double mean = pace->elapsed / pace->count, saved = pace->count * pace->alone - pace->elapsed;
    if (!pace->together) {
        pace->alone = mean;
        const bool tries_now = shall_try(pace, tries);
        if (tries_now) tries->since = 0.0;
        begin_round(pace, tries_now, tries_now);
        return;
    }
    const bool tried = pace->trying;
    pace->all = mean;
    pace->credit = tried ? fmax(saved, 0.0) : fmin(pace->credit + saved, CREDIT);
    const bool pays = tried ? mean < SHORTER * pace->alone : pace->credit >= 0.0;
    if (!pays) *tries = (cal_pace_tries){.cost = tried ? fmax(-saved, 0.0) : CREDIT};
    begin_round(pace, pays, false);
}
