// How benchmarks measure: repetitions and their medians.
#pragma once
#include "calder/calder.h"

// The middle one of the values, which are sorted.
double cal_median(double* values, int count);

// Calls are timed in repetitions of about 2 ms, after a warm-up: at least three, and on until the time is used up.
typedef struct cal_timing_def {
    double seconds;        // of the whole measurement
    double warm_up_share;  // of them, before the first repetition
    int64_t warm_up_calls; // at least
    int most_repetitions;  // CAL_MOST_REPETITIONS at most
} cal_timing_def;
enum { CAL_MOST_REPETITIONS = 400 };

typedef struct cal_timing {
    double median, quietest; // s per call, of the repetitions' means
} cal_timing;

cal_status cal_time_calls(const cal_timing_def* def, cal_status (*call)(void* context, cal_error* error), void* context,
                          cal_timing* out, cal_error* error);
