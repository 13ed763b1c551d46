// How benchmarks measure.
#include "timing.h"

#include <stdlib.h>

#include "command.h"

static const double REPETITION_SECONDS =
    2e-3; // far longer than reading the clock, far shorter than a scheduler's slice

static int compare_numbers(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

double cal_median(double* values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare_numbers);
    return values[count / 2];
}

cal_status cal_time_calls(const cal_timing_def* def, cal_status (*call)(void* context, cal_error* error), void* context,
                          cal_timing* out, cal_error* error) {
    double samples[CAL_MOST_REPETITIONS];
    cal_status status = CAL_OK;
    const double started = cal_wall_seconds();
    double warm = 0;
    int64_t calls = 0;
    for (; status == CAL_OK && (calls < def->warm_up_calls || warm < def->warm_up_share * def->seconds); calls++) {
        status = call(context, error);
        warm = cal_wall_seconds() - started;
    }
    const int64_t repeat = warm > 0 ? (int64_t)((double)calls * REPETITION_SECONDS / warm) + 1 : 1000;
    int count = 0;
    while (status == CAL_OK && count < def->most_repetitions &&
           (count < 3 || cal_wall_seconds() - started < def->seconds)) {
        const double before = cal_wall_seconds();
        for (int64_t i = 0; i < repeat && status == CAL_OK; i++) status = call(context, error);
        samples[count++] = (cal_wall_seconds() - before) / (double)repeat;
    }
    if (status != CAL_OK) return status;
    out->median = cal_median(samples, count);
    out->quietest = samples[0];
    return CAL_OK;
}
