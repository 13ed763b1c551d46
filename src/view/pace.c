// Windows of a quarter of a second; a few in a row decide.
#include "view/pace.h"

static const double WINDOW = 0.25;                // s
static const double SLOW = 0.85, KEEPS_UP = 0.95; // of what is asked for
enum { PATIENCE = 12 };                           // windows

void cal_pace_start(cal_pace* pace, double wall, double time) { *pace = (cal_pace){.began = wall, .began_time = time}; }

bool cal_pace_measure(cal_pace* pace, double wall, double time, double asked) {
    const double window = wall - pace->began, passed = time - pace->began_time;
    if (!(window > WINDOW)) return false;
    pace->began = wall;
    pace->began_time = time;
    // Time that went back is a start anew.
    pace->factor = passed >= 0 ? passed / window : 0;
    const bool against = pace->slow ? asked == 0 || pace->factor > KEEPS_UP * asked
                                    : asked > 0 && passed >= 0 && pace->factor < SLOW * asked;
    pace->windows = against ? pace->windows + 1 : 0;
    if (pace->windows < PATIENCE) return false;
    pace->windows = 0;
    pace->slow = !pace->slow;
    return true;
}
