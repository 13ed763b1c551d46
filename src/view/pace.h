// How fast a simulation goes on the wall's clock, and whether it has been too slow for so long that somebody should be told.
#pragma once
#include <stdbool.h>

typedef struct cal_pace {
    double factor;            // simulated seconds a second, over the last window
    double began, began_time; // the present window, on the wall and simulated
    int windows;              // that went against `slow`, in a row
    bool slow;                // has not kept up for a while, or has only just begun to
} cal_pace;

void cal_pace_start(cal_pace* pace, double wall, double time);
// Tells it where things are; asked is the factor that is wanted, 0 while it pauses. Returns whether `slow` changed.
bool cal_pace_measure(cal_pace* pace, double wall, double time, double asked);
