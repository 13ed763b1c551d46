// Collisions that the user has not taken yet (log.c).
#pragma once
#include "base/error.h"
#include "calder/calder_world.h"

typedef struct cal_event_log {
    cal_world_event* events;
    int32_t* junctions; // by which a rollback finds them
    int64_t head, tail; // taken and made
    int capacity;
    bool keep;
} cal_event_log;

// Writes a collision down, with the junction of the states that it made.
cal_status cal_log_add(cal_event_log* log, const cal_world_event* event, int junction, cal_error* error);
// Takes back what a junction made at a time, or within the step to it from the state before.
void cal_log_forget(cal_event_log* log, int junction, double before, double time);
