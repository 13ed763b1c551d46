// A bar with a percentage and the time left, on standard error when that is a terminal and nowhere otherwise.
#pragma once
#include <stdbool.h>

typedef struct cal_progress {
    const char* label;
    double started, shown; // wall clock, s
    bool visible;
} cal_progress;

cal_progress cal_progress_start(const char* label);
void cal_progress_show(cal_progress* progress, double fraction); // redraws ten times a second at most
void cal_progress_end(cal_progress* progress);                   // wipes the bar
